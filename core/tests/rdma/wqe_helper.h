/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send WQEs for tests, written segment by segment; and a queue pair with
 * rings in the fake host's memory, made without commands.
 */
#ifndef MLX5_TESTS_WQE_HELPER_H
#define MLX5_TESTS_WQE_HELPER_H

#include "rdma/recv.h"
#include "tests/obj/mkey_helper.h"

/** A WQE in the making. */
typedef struct TestWqe {
    uint8_t b[MLX5_WQE_MAX_BYTES + 64];
    uint32_t len;
} TestWqe;

#define T_QPN 0x77u

static inline uint8_t *t_wqe_room(TestWqe *w, uint32_t bytes)
{
    uint8_t *p = w->b + w->len;

    w->len += bytes;
    ck_assert_uint_le(w->len, sizeof(w->b));
    memset(p, 0, bytes);
    return p;
}

/** Write ds when all segments are there. */
static inline void t_wqe_end(TestWqe *w)
{
    MLX5_SET(wqe_ctrl, w->b, ds, w->len / 16);
}

static inline void t_wqe_ctrl(TestWqe *w, uint8_t opcode, uint16_t index,
                              uint32_t general_id)
{
    uint8_t *p;

    w->len = 0;
    p = t_wqe_room(w, 16);
    MLX5_SET(wqe_ctrl, p, opcode, opcode);
    MLX5_SET(wqe_ctrl, p, wqe_index, index);
    MLX5_SET(wqe_ctrl, p, qpn, T_QPN);
    MLX5_SET(wqe_ctrl, p, ce, 2);
    MLX5_SET(wqe_ctrl, p, se, 1);
    MLX5_SET(wqe_ctrl, p, fm, 4);
    MLX5_SET(wqe_ctrl, p, general_id, general_id);
    t_wqe_end(w);
}

static inline void t_wqe_raddr(TestWqe *w, uint64_t va, uint32_t rkey)
{
    uint8_t *p = t_wqe_room(w, 16);

    MLX5_SET(wqe_raddr, p, remote_virtual_address, va);
    MLX5_SET(wqe_raddr, p, rkey, rkey);
}

static inline void t_wqe_data(TestWqe *w, uint64_t va, uint32_t len,
                              uint32_t lkey)
{
    uint8_t *p = t_wqe_room(w, 16);

    MLX5_SET(wqe_data, p, byte_count, len);
    MLX5_SET(wqe_data, p, lkey, lkey);
    MLX5_SET(wqe_data, p, local_virtual_address, va);
}

/** Inline bytes @fill, @fill + 1, ... */
static inline void t_wqe_inline(TestWqe *w, uint32_t len, uint8_t fill)
{
    uint8_t *p = t_wqe_room(w, (4 + len + 15) & ~15u);

    MLX5_SET(wqe_inline, p, inline, 1);
    MLX5_SET(wqe_inline, p, byte_count, len);
    for (uint32_t i = 0; i < len; i++) {
        p[4 + i] = fill + i;
    }
}

static inline void t_wqe_av(TestWqe *w, uint32_t dqpn, uint32_t qkey)
{
    uint8_t *p = t_wqe_room(w, MLX5_ST_SZ_BYTES(wqe_av));

    MLX5_SET(wqe_av, p, q_key_or_dc_key, (uint64_t)qkey << 32);
    MLX5_SET(wqe_av, p, extended, 1);
    MLX5_SET(wqe_av, p, destination_qp_dct, dqpn);
    MLX5_SET(wqe_av, p, sl, 6);
    MLX5_SET(wqe_av, p, rlid_udp_sport, 0xc001);
    MLX5_SET(wqe_av, p, rmac_47_16, 0x02010203);
    MLX5_SET(wqe_av, p, rmac_15_0, 0x0405);
    MLX5_SET(wqe_av, p, tclass, 0x2a);
    MLX5_SET(wqe_av, p, hop_limit, 64);
    MLX5_SET(wqe_av, p, grh, 1);
    MLX5_SET(wqe_av, p, src_addr_index, 3);
    MLX5_SET(wqe_av, p, flow_label, 0xabcde);
    for (uint32_t i = 0; i < 16; i++) {
        MLX5_SET_IDX(wqe_av, p, rgid_rip, i, i + 1);
    }
}

/**
 * A queue pair of type @st: RQ of 2^@log_rq WQEs of @rq_bytes, then SQ of
 * 2^@log_sq blocks; the ring at t_ring(0), the doorbell record at T_DBR.
 */
#define T_DBR 0x8000u
static inline void t_qp_init(Mlx5Qp *qp, FakeHost *h, uint32_t pdn,
                             Mlx5QpSt st, uint32_t log_rq, uint32_t rq_bytes,
                             uint32_t log_sq)
{
    uint8_t pas[32 * 8];

    memset(qp, 0, sizeof(*qp));
    qp->o.func = h->func;
    qp->o.type = MLX5_OBJ_QP;
    qp->o.id = T_QPN;
    qp->st = st;
    qp->pd = mlx5_obj_get(h->func, MLX5_OBJ_PD, pdn);
    qp->has_rq = rq_bytes != 0;
    qp->has_sq = true;
    qp->rq_log_size = log_rq;
    qp->rq_wqe_bytes = rq_bytes;
    qp->sq_log_size = log_sq;
    qp->sq_base_bytes = (uint64_t)rq_bytes << log_rq;
    qp->dbr_gpa = T_DBR;
    t_pas(pas, 0, t_ring(0), 32);
    ck_assert(mlx5_ring_init(&qp->ring, h->func, pas, 32, 12, 0,
                             qp->sq_base_bytes + (64ull << log_sq)));
}

/** Put @w at basic block @index of the send queue, wrapping. */
static inline void t_qp_put(FakeHost *h, const Mlx5Qp *qp, const TestWqe *w,
                            uint32_t index)
{
    uint64_t size = 64ull << qp->sq_log_size;

    for (uint32_t i = 0; i < w->len; i++) {
        fake_mem_write(h, t_ring(0) + qp->sq_base_bytes +
                              (index * 64ull + i) % size, w->b + i, 1);
    }
}

#endif
