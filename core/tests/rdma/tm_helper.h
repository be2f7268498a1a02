/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of tag matching: A sends, B receives from an XRQ and has a send queue
 * through which tags are appended. Completions of B come to its receive CQ.
 */
#ifndef MLX5_TESTS_TM_HELPER_H
#define MLX5_TESTS_TM_HELPER_H

#include "tests/rdma/rdma_helper.h"

#define TM_LOG_LIST 3        /* tags */
#define TM_UIDX 0x4321u
#define TM_TAG_BUF (R_DATA + 0x1000000)   /* of tag 0; 1 MiB apart */
#define TM_RECV_BUF (R_DATA + 0x2000000)  /* of the shared queue's receives */
#define TM_SRC (R_DATA + 0x4000000)       /* what A sends */

typedef struct TmTest {
    RTest *r;
    Mlx5Srq *xrq;
    uint64_t ring, dbr;
    uint16_t recv_pi;        /* receives posted to the shared queue */
    uint32_t next;           /* tag that the next append fills */
} TmTest;

static inline void tm_xrq(TmTest *t)
{
    TestCmd c = { 0 };
    uint8_t *xrqc = MLX5_ADDR_OF(create_xrq_in, c.in, xrq_context);
    uint8_t *wq = MLX5_ADDR_OF(xrqc, xrqc, wq);
    uint8_t *tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);

    t->ring = r_new_ring(t->r);
    t->dbr = r_new_ring(t->r);
    MLX5_SET(xrqc, xrqc, topology, 1);
    MLX5_SET(xrqc, xrqc, offload, 1);
    MLX5_SET(xrqc, xrqc, user_index, TM_UIDX);
    MLX5_SET(xrqc, xrqc, cqn, t->r->b.rcq.cqn);
    MLX5_SET(tag_matching_topology_context, tm, log_matching_list_sz,
             TM_LOG_LIST);
    MLX5_SET(wq, wq, pd, t->r->pdn);
    MLX5_SET(wq, wq, log_wq_sz, 4);
    MLX5_SET(wq, wq, log_wq_stride, 6);
    MLX5_SET(wq, wq, dbr_addr, t->dbr);
    t_pas(c.in, MLX5_ST_SZ_BYTES(create_xrq_in), t->ring, 1);
    t_ok(t->r->h, &c, mlx5_cmd_create_xrq,
         MLX5_ST_SZ_BYTES(create_xrq_in) + 8);
    t->xrq = mlx5_obj_get(t->r->h->func, MLX5_OBJ_SRQ,
                          MLX5_GET(create_xrq_out, c.out, xrqn));
}

/** B does the reads of rendezvous only if @rndv. */
static inline TmTest *tm_new(bool rndv)
{
    TmTest *t = g_new0(TmTest, 1);
    Mlx5Qp *b;

    t->r = r_new(MLX5_QP_ST_RC);
    tm_xrq(t);
    b = t->r->b.qp;
    b->srq = t->xrq;
    b->has_rq = false;
    b->rndv = rndv;
    mlx5_obj_ref(b->srq);
    r_connect(t->r, 0xfffff0);
    return t;
}

static inline void tm_free(TmTest *t)
{
    r_free(t->r);
    g_free(t);
}

/** A receive of the shared queue: 1 KiB at TM_RECV_BUF + 64 KiB * n. */
static inline void tm_recv(TmTest *t, uint32_t len)
{
    uint32_t slot = t->recv_pi % 16;
    uint8_t b[64] = { 0 };

    MLX5_SET(wqe_srq_next, b, next_wqe_index, (slot + 1) % 16);
    MLX5_SET(wqe_data, b + 16, byte_count, len);
    MLX5_SET(wqe_data, b + 16, lkey, t->r->key);
    MLX5_SET(wqe_data, b + 16, local_virtual_address,
             TM_RECV_BUF + slot * 0x10000);
    MLX5_SET(wqe_data, b + 32, lkey, MLX5_INVALID_LKEY);
    fake_mem_write(t->r->h, t->ring + slot * 64, b, 64);
    fake_mem_set_be32(t->r->h, t->dbr, ++t->recv_pi);
}

/* --- operations on the list --- */

enum { TM_NOP, TM_APPEND, TM_REMOVE };
enum { TM_CQE = 1, TM_COUNT = 2 };

typedef struct TmOp {
    uint32_t op, flags, index;
    uint16_t sw_cnt;
    uint64_t tag, mask;
} TmOp;

static inline RWqe tm_wqe(const TmOp *op)
{
    RWqe w = r_wqe(MLX5_OPCODE_TAG_MATCHING);
    uint8_t *p = w.b + 16;

    MLX5_SET(wqe_ctrl, w.b, ce, 0);
    MLX5_SET(wqe_tm, p, opcode, op->op);
    MLX5_SET(wqe_tm, p, cqe_req, !!(op->flags & TM_CQE));
    MLX5_SET(wqe_tm, p, sw_cnt_valid, !!(op->flags & TM_COUNT));
    MLX5_SET(wqe_tm, p, sw_cnt, op->sw_cnt);
    MLX5_SET(wqe_tm, p, index, op->index);
    MLX5_SET(wqe_tm, p, append_tag, op->tag);
    MLX5_SET(wqe_tm, p, append_mask, op->mask);
    w.len += 32;
    return w;
}

static inline uint64_t tm_buf(uint32_t index)
{
    return TM_TAG_BUF + (uint64_t)index * 0x100000;
}

/** Append a tag with a buffer of @len bytes. Return: its number. */
static inline uint32_t tm_append(TmTest *t, uint64_t tag, uint64_t mask,
                                 uint32_t len)
{
    uint32_t index = t->next;
    TmOp op = { .op = TM_APPEND, .tag = tag, .mask = mask,
                .index = (index + 1) % (1u << TM_LOG_LIST) };
    RWqe w = tm_wqe(&op);

    if (len) {
        r_data(&w, tm_buf(index), len, t->r->key);
    } else {
        r_data(&w, 0, 0, MLX5_INVALID_LKEY);
    }
    r_post(&t->r->b, &w);
    t->next = op.index;
    ck_assert_int_eq(t->xrq->tm->entry[index].state, MLX5_TM_POSTED);
    return index;
}

static inline void tm_op(TmTest *t, TmOp op)
{
    RWqe w = tm_wqe(&op);

    r_post(&t->r->b, &w);
}

/* --- messages --- */

/** A message in A's memory: header(s), then bytes of a pattern. */
static inline void tm_message(TmTest *t, uint8_t opcode, uint64_t tag,
                              uint64_t len)
{
    uint8_t tmh[16] = { 0 };

    r_fill(t->r->h, TM_SRC, len, tag);
    MLX5_SET(tmh, tmh, opcode, opcode);
    MLX5_SET(tmh, tmh, app_ctx, 0xcafe0000 | (tag & 0xffff));
    MLX5_SET(tmh, tmh, tag, tag);
    fake_mem_write(t->r->h, TM_SRC, tmh, MIN(len, sizeof(tmh)));
}

static inline void tm_rvh(TmTest *t, uint64_t va, uint32_t rkey, uint32_t len)
{
    uint8_t rvh[16] = { 0 };

    MLX5_SET(rvh, rvh, va, va);
    MLX5_SET(rvh, rvh, rkey, rkey);
    MLX5_SET(rvh, rvh, len, len);
    fake_mem_write(t->r->h, TM_SRC + 16, rvh, 16);
}

static inline void tm_post(TmTest *t, uint64_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    if (len) {
        r_data(&w, TM_SRC, len, t->r->key);
    }
    r_post(&t->r->a, &w);
}

/** A sends what tm_message() made; it must arrive. */
static inline void tm_send(TmTest *t, uint8_t opcode, uint64_t tag,
                           uint64_t len)
{
    uint16_t at = t->r->a.sq_pi;

    tm_message(t, opcode, tag, len);
    tm_post(t, len);
    r_sent(&t->r->a, at, MLX5_OPCODE_SEND);
}

/** B's next completion: of tag matching, and of this kind. */
static inline void tm_cqe(TmTest *t, uint8_t cqe[64], uint8_t opcode,
                          uint8_t app_op, uint32_t index, uint32_t bytes)
{
    ck_assert(r_poll(&t->r->b, &t->r->b.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), opcode);
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, app), 1);
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, app_op), app_op);
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, app_info), index);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), bytes);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, srqn_user_index), TM_UIDX);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), t->r->b.qpn);
}

static inline void tm_no_cqe(TmTest *t)
{
    r_quiet(&t->r->b);
}

/** Does @cqe carry the header of @tag's message? */
static inline void tm_header(const uint8_t *cqe, uint64_t tag)
{
    ck_assert_uint_eq(MLX5_GET(tmh, cqe, tag), tag);
    ck_assert_uint_eq(MLX5_GET(tmh, cqe, app_ctx),
                      0xcafe0000 | (tag & 0xffff));
}

#endif
