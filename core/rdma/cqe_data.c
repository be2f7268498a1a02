/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scatter to CQE: a little payload comes in the completion, and software
 * copies it to where the work request says (PRM: Scatter to CQE; driver:
 * mlx5_ib qp.c configure_requester_scat_cqe; libmlx5 qp.c copy_to_scat).
 *
 * The context asks for it (cs_req, cs_res), with a size that the completion
 * queue's entries have room for. It is the card's choice in each case: the
 * format of the entry says what was done. Memory is chosen where software
 * could not copy: under a key whose addresses are no pointers of its own.
 */
#include "rdma/rdma_internal.h"

/* No process has memory below (Linux: mmap_min_addr): an address there counts
 * from the beginning of a region. */
#define FIRST_POINTER 0x10000u

/* Addresses under @key are those that software uses itself. */
static bool is_plain(Mlx5Func *func, const Mlx5MkeyUser *user, uint32_t key)
{
    const Mlx5Mkey *mkey = mlx5_mkey_find(func, key);

    if (!mkey) {
        return user->rlkey && key == MLX5_RESD_LKEY;
    }
    return !mkey->sig_on &&
           (mkey->mode == MLX5_MKC_ACCESS_MODE_MTT ||
            mkey->mode == MLX5_MKC_ACCESS_MODE_PA) &&
           (mkey->length64 || mkey->start >= FIRST_POINTER);
}

bool mlx5_cqe_data_allowed(Mlx5Func *func, const Mlx5MkeyUser *user,
                           const Mlx5WqeData *data, uint32_t num, uint64_t len)
{
    for (uint32_t i = 0; i < num && len; i++) {
        uint64_t n = MIN(len, data[i].len);

        if (!is_plain(func, user, data[i].lkey) ||
            mlx5_mkey_check(func, user, data[i].lkey, data[i].addr, n,
                            MLX5_ACCESS_LOCAL_WRITE) != MLX5_MKEY_OK) {
            return false;
        }
        len -= n;
    }
    return len == 0;
}

bool mlx5_cqe_data_read(const Mlx5Pkt *pkt, uint8_t to[MLX5_CQE_DATA_MAX])
{
    /* Callers have compared it with what the entry has room for. */
    g_assert(pkt->len <= MLX5_CQE_DATA_MAX);
    return mlx5_pkt_peek(pkt, 0, to, pkt->len);
}
