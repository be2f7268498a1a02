/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Atomic operations on 8 bytes (IBA 9.4.5, 10.7.2.3; PRM: Atomic Operations).
 *
 * Atomic also with respect to the guest's processors: done with the host's
 * atomic instructions on mapped memory. Operands are numbers; memory holds
 * them little-endian (capability atomic_req_8B_endianness_mode 1, the host's
 * order on the machines we serve).
 */
#include "rdma/rdma_internal.h"

/* Fields add without carrying into each other: a mask bit ends a field. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t mask)
{
    uint64_t carry_in = ~(mask << 1);
    uint64_t sum = 0, carry = 0;

    if (!mask) {
        return a + b;
    }
    for (int i = 0; i < 64; i++) {
        uint64_t bits = (a >> i & 1) + (b >> i & 1);

        bits += carry_in >> i & 1 ? carry : 0;
        sum |= (bits & 1) << i;
        carry = bits >> 1;
    }
    return sum;
}

static uint64_t result_of(const Mlx5Pkt *pkt, uint64_t old)
{
    if (pkt->op == MLX5_PKT_FETCH_ADD) {
        return add_fields(old, pkt->swap_add, pkt->swap_mask);
    }
    if ((old ^ pkt->compare) & pkt->compare_mask) {
        return old;
    }
    return (old & ~pkt->swap_mask) | (pkt->swap_add & pkt->swap_mask);
}

static uint64_t change(uint64_t old_le, const void *opaque)
{
    return GUINT64_TO_LE(result_of(opaque, GUINT64_FROM_LE(old_le)));
}

Mlx5Payload mlx5_atomic_execute(Mlx5QpEngine *e, const Mlx5Pkt *pkt,
                                uint64_t *original)
{
    Mlx5Qp *qp = e->qp;
    Mlx5Rdma *rdma = mlx5_engine_rdma(qp);
    Mlx5MkeyUser user = mlx5_resp_user(e);
    uint64_t addr, old_le;
    Mlx5MkeyResult result;

    g_array_set_size(rdma->local, 0);
    result = mlx5_mkey_resolve(qp->o.func, &user, pkt->rkey, pkt->va, 8,
                               MLX5_ACCESS_REMOTE_ATOMIC, rdma->local);
    if (result != MLX5_MKEY_OK) {
        return mlx5_payload_from_key(result);
    }
    if (rdma->local->len != 1) {
        return MLX5_PAYLOAD_KEY;
    }
    addr = g_array_index(rdma->local, Mlx5Range, 0).addr;
    if (!mlx5_dma_exchange64(qp->o.func, addr, change, pkt, &old_le)) {
        return MLX5_PAYLOAD_MEMORY;
    }
    *original = GUINT64_FROM_LE(old_le);
    return MLX5_PAYLOAD_OK;
}

void mlx5_atomic_store(Mlx5Qp *qp, uint64_t value, uint8_t bytes[8])
{
    (void)qp;
    value = GUINT64_TO_LE(value);
    memcpy(bytes, &value, sizeof(value));
}
