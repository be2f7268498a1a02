/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Atomic operations on 8 bytes (IBA 9.4.5, 10.7.2.3; PRM: Atomic Operations),
 * and the masked ones on 4 or 8.
 *
 * Atomic also with respect to the guest's processors: done with the host's
 * atomic instructions on mapped memory. Memory at the target holds numbers in
 * the order of the host, little-endian on the machines we serve. What the
 * requester gets back is big-endian, unless it asked for its own order with
 * atomic_req_8B_endianness_mode, which is about 8 bytes only.
 */
#include "rdma/rdma_internal.h"

#include "fw/fw.h"

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

static uint64_t change(uint64_t old, const void *opaque)
{
    return result_of(opaque, old);
}

Mlx5Payload mlx5_atomic_execute(Mlx5QpEngine *e, const Mlx5Pkt *pkt,
                                uint64_t *original)
{
    Mlx5Qp *qp = e->qp;
    Mlx5Rdma *rdma = mlx5_engine_rdma(qp);
    Mlx5MkeyUser user = mlx5_resp_user(e);
    uint64_t addr;
    Mlx5MkeyResult result;

    mlx5_ranges_clear(rdma->local);
    result = mlx5_mkey_resolve(qp->o.func, &user, pkt->rkey, pkt->va,
                               pkt->atomic_bytes, MLX5_ACCESS_REMOTE_ATOMIC,
                               rdma->local);
    if (result != MLX5_MKEY_OK) {
        return mlx5_payload_from_key(result);
    }
    if (rdma->local->len != 1) {
        return MLX5_PAYLOAD_KEY;
    }
    addr = rdma->local->data[0].addr;
    if (!mlx5_dma_exchange(qp->o.func, addr, pkt->atomic_bytes, change, pkt,
                           original)) {
        return MLX5_PAYLOAD_MEMORY;
    }
    return MLX5_PAYLOAD_OK;
}

void mlx5_atomic_store(Mlx5Qp *qp, uint64_t value, uint32_t size,
                       uint8_t bytes[8])
{
    bool host = size == 8 && mlx5_fw_atomic_host_order(qp->o.func);

    value = host ? GUINT64_TO_LE(value)
                 : GUINT64_TO_BE(value << (64 - size * 8));
    memcpy(bytes, &value, sizeof(value));
}
