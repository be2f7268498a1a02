/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag matching: operations, messages, rendezvous; what each completion says;
 * and what a guest can get wrong.
 */
#include "tests/rdma/tm_helper.h"

/* ---- operations ---- */

START_TEST(operations_complete)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_op(t, (TmOp){ .op = TM_APPEND, .flags = TM_CQE, .index = 3, .tag = 1,
                     .mask = 0xff });
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_APPEND, 0, 0);
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, hw_phase_cnt), 0);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), 0);
    tm_op(t, (TmOp){ .op = TM_NOP, .flags = TM_CQE | TM_COUNT, .sw_cnt = 7 });
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_NOOP, 0, 0);
    ck_assert_uint_eq(t->xrq->tm->sw_cnt, 7);
    tm_op(t, (TmOp){ .op = TM_REMOVE, .flags = TM_CQE, .index = 0 });
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_REMOVE, 0, 0);
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, success), 1);
    /* Gone: no error, the completion says so. */
    tm_op(t, (TmOp){ .op = TM_REMOVE, .flags = TM_CQE, .index = 0 });
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_REMOVE, 0, 0);
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, success), 0);
    /* Unasked, in silence. */
    tm_op(t, (TmOp){ .op = TM_NOP });
    tm_op(t, (TmOp){ .op = TM_REMOVE, .index = 5 });
    tm_no_cqe(t);
    ck_assert_int_eq(t->r->b.qp->state, MLX5_QP_STATE_RTS);
    tm_free(t);
}
END_TEST

static const struct {
    TmOp op;
    uint8_t vendor;
} bad_ops[] = {
    { { .op = 3 }, MLX5_VENDOR_TM_OPCODE },
    { { .op = 15, .flags = TM_CQE }, MLX5_VENDOR_TM_OPCODE },
    { { .op = TM_APPEND, .index = 8 }, MLX5_VENDOR_TM_INDEX },
    { { .op = TM_APPEND, .index = 0xffff }, MLX5_VENDOR_TM_INDEX },
    { { .op = TM_REMOVE, .index = 8, .flags = TM_CQE },
      MLX5_VENDOR_TM_INDEX },
};

START_TEST(bad_operations)
{
    TmTest *t = tm_new(true);

    tm_op(t, bad_ops[_i].op);
    r_failed(&t->r->b, &t->r->b.scq, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
             bad_ops[_i].vendor);
    ck_assert_uint_eq(t->xrq->tm->first, MLX5_TM_NONE);
    tm_free(t);
}
END_TEST

/* The tag that was announced next is still in the list. */
START_TEST(append_to_a_posted_one)
{
    TmTest *t = tm_new(true);

    tm_op(t, (TmOp){ .op = TM_APPEND, .index = 0 });
    tm_op(t, (TmOp){ .op = TM_APPEND, .index = 1 });
    r_failed(&t->r->b, &t->r->b.scq, 1, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
             MLX5_VENDOR_TM_IN_USE);
    tm_free(t);
}
END_TEST

/* A has no tags to work on. */
START_TEST(no_queue)
{
    TmTest *t = tm_new(true);
    TmOp op = { .op = TM_NOP };
    RWqe w = tm_wqe(&op);

    r_post(&t->r->a, &w);
    r_failed(&t->r->a, &t->r->a.scq, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
             MLX5_VENDOR_TM_QUEUE);
    tm_free(t);
}
END_TEST

START_TEST(bad_segments)
{
    TmTest *t = tm_new(true);
    TmOp op = { .op = TM_APPEND, .index = 1 };
    RWqe w = tm_wqe(&op);

    if (_i) {
        w.len = 32;          /* half an operation */
    } else {
        r_inline(&w, "tag", 3);
    }
    r_post(&t->r->b, &w);
    r_failed(&t->r->b, &t->r->b.scq, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
             _i ? MLX5_VENDOR_WQE_TRUNCATED : MLX5_VENDOR_WQE_INLINE_OP);
    tm_free(t);
}
END_TEST

/* ---- eager ---- */

START_TEST(eager_of_one_packet)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];
    uint32_t i;

    tm_append(t, 0x11, UINT64_MAX, 4096);
    i = tm_append(t, 0x22, 0xff, 4096);
    tm_send(t, MLX5_TMH_EAGER, 0x22, 16 + 500);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CONSUMED_MSG, i, 500);
    tm_header(cqe, 0x22);
    ck_assert(r_same(t->r->h, tm_buf(i), TM_SRC + 16, 500));
    ck_assert_int_eq(t->xrq->tm->entry[i].state, MLX5_TM_FREE);
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, 0);
    ck_assert_uint_eq(t->xrq->counter, 0);
    tm_no_cqe(t);
    tm_free(t);
}
END_TEST

START_TEST(eager_of_no_payload)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_append(t, 5, 0xff, 0);
    tm_send(t, MLX5_TMH_EAGER, 5, 16);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CONSUMED_MSG, 0, 0);
    tm_header(cqe, 5);
    tm_free(t);
}
END_TEST

/* Matched with the first packet, complete with the last. */
START_TEST(eager_of_many_packets)
{
    static const uint32_t sizes[] = { 1024 - 16 + 1, 65536, 200001 };
    TmTest *t = tm_new(true);
    uint32_t len = sizes[_i];
    uint8_t cqe[64];

    tm_append(t, 9, UINT64_MAX, len);
    tm_send(t, MLX5_TMH_EAGER, 9, 16 + (uint64_t)len);
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 0, 0);
    tm_header(cqe, 9);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_EXPECTED, 0, len);
    ck_assert_uint_eq(MLX5_GET(tmh, cqe, tag), 0);
    ck_assert(r_same(t->r->h, tm_buf(0), TM_SRC + 16, len));
    tm_no_cqe(t);
    tm_free(t);
}
END_TEST

START_TEST(eager_with_immediate)
{
    TmTest *t = tm_new(true);
    RWqe w = r_wqe(MLX5_OPCODE_SEND_IMM);
    uint8_t cqe[64];

    MLX5_SET(wqe_ctrl, w.b, general_id, 0x12345678);
    tm_append(t, 3, 0xff, 64);
    tm_message(t, MLX5_TMH_EAGER, 3, 20);
    r_data(&w, TM_SRC, 20, t->r->key);
    r_post(&t->r->a, &w);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND_IMM, MLX5_TM_APP_CONSUMED_MSG, 0, 4);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, immediate), 0x12345678);
    tm_free(t);
}
END_TEST

/* Too long, or a key that refuses: the tag comes back, the sender fails. */
START_TEST(eager_that_fails)
{
    TmTest *t = tm_new(true);
    TmOp op = { .op = TM_APPEND, .index = 1, .mask = 0xff, .tag = 1 };
    RWqe w = tm_wqe(&op);
    bool many = _i & 2;
    uint8_t cqe[64];

    r_data(&w, tm_buf(0), _i & 1 ? 99 : 8192,
           t->r->key + (_i & 1 ? 0 : 0x100));
    r_post(&t->r->b, &w);
    tm_message(t, MLX5_TMH_EAGER, 1, 16 + (many ? 5000 : 100));
    tm_post(t, 16 + (many ? 5000 : 100));
    if (many) {
        tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 0, 0);
    }
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CANCELED, 0, 0);
    r_failed(&t->r->a, &t->r->a.scq, 0,
             _i & 1 ? MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR
                    : MLX5_CQE_SYNDROME_REMOTE_OP_ERR,
             _i & 1 ? MLX5_VENDOR_REMOTE_INVAL : MLX5_VENDOR_REMOTE_OP);
    ck_assert_int_eq(t->r->b.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_int_eq(t->xrq->tm->entry[0].state, MLX5_TM_FREE);
    tm_free(t);
}
END_TEST

/* ---- what meets no tag ---- */

START_TEST(unexpected_goes_to_the_shared_queue)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_append(t, 1, 0xff, 64);
    tm_recv(t, 4096);
    tm_send(t, MLX5_TMH_EAGER, 2, 300);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_UNEXPECTED, 0, 300);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), 0);
    ck_assert_uint_eq(MLX5_GET(tmh, cqe, tag), 0);
    /* Whole, headers and all. */
    ck_assert(r_same(t->r->h, TM_RECV_BUF, TM_SRC, 300));
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, 1);
    /* An unexpected rendezvous is software's to read. */
    tm_recv(t, 4096);
    tm_send(t, MLX5_TMH_RNDV, 2, 64);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_UNEXPECTED, 0, 64);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), 1);
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, 2);
    tm_no_cqe(t);
    tm_free(t);
}
END_TEST

/* NO_TAG may be as short as its opcode; neither it nor FIN is counted. */
START_TEST(no_tag_and_fin)
{
    static const struct { uint8_t op; uint32_t len; } m[] = {
        { MLX5_TMH_NO_TAG, 1 }, { MLX5_TMH_NO_TAG, 3000 },
        { MLX5_TMH_FIN, 16 }, { MLX5_TMH_FIN, 32 },
    };
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_append(t, 0, 0, 4096); /* would meet any tag */
    tm_recv(t, 4096);
    tm_send(t, m[_i].op, 0x77, m[_i].len);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_NO_TAG, 0, m[_i].len);
    ck_assert(r_same(t->r->h, TM_RECV_BUF, TM_SRC, m[_i].len));
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, 0);
    tm_free(t);
}
END_TEST

static const struct {
    uint8_t op;
    uint32_t len;
} bad_headers[] = {
    { MLX5_TMH_NO_TAG, 0 },   { MLX5_TMH_EAGER, 1 },  { MLX5_TMH_EAGER, 15 },
    { MLX5_TMH_FIN, 15 },     { MLX5_TMH_RNDV, 16 },  { MLX5_TMH_RNDV, 31 },
    { MLX5_TMH_RNDV, 65 },    { MLX5_TMH_RNDV, 9000 }, { 4, 64 },
    { 0xff, 64 },
};

START_TEST(bad_header)
{
    TmTest *t = tm_new(true);

    tm_append(t, 0, 0, 65536);
    tm_recv(t, 65536);
    tm_message(t, bad_headers[_i].op, 1, bad_headers[_i].len);
    tm_post(t, bad_headers[_i].len);
    r_failed(&t->r->a, &t->r->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    tm_no_cqe(t);
    ck_assert_int_eq(t->xrq->tm->entry[0].state, MLX5_TM_POSTED);
    tm_free(t);
}
END_TEST

/* No receive: it comes again, and is counted once. */
START_TEST(unexpected_waits_for_a_receive)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_message(t, MLX5_TMH_EAGER, 2, 40);
    tm_post(t, 40);
    r_quiet(&t->r->a);
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, 0);
    /* Now there is a tag for it, and no receive is needed. */
    if (_i) {
        tm_append(t, 2, 0xff, 64);
    } else {
        tm_recv(t, 64);
    }
    fake_host_advance(t->r->h, 2000 * 1000000ll);
    fake_host_work(t->r->h);
    r_sent(&t->r->a, 0, MLX5_OPCODE_SEND);
    if (_i) {
        tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CONSUMED_MSG, 0, 24);
    } else {
        tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_UNEXPECTED, 0, 40);
    }
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, !_i);
    tm_free(t);
}
END_TEST

/* A tag appended without knowing of an unexpected message matches nothing. */
START_TEST(late_tags)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_recv(t, 64);
    tm_recv(t, 64);
    tm_send(t, MLX5_TMH_EAGER, 1, 20);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_UNEXPECTED, 0, 20);
    tm_op(t, (TmOp){ .op = TM_APPEND, .flags = TM_CQE | TM_COUNT, .tag = 1,
                     .mask = 0xff, .index = 1 });
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_APPEND, 0, 0);
    /* libmlx5 compares this with what it counted. */
    ck_assert_uint_eq(MLX5_GET(cqe_tm, cqe, hw_phase_cnt), 1);
    tm_send(t, MLX5_TMH_EAGER, 1, 16);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_UNEXPECTED, 0, 16);
    tm_op(t, (TmOp){ .op = TM_NOP, .flags = TM_COUNT, .sw_cnt = 2 });
    tm_send(t, MLX5_TMH_EAGER, 1, 16);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CONSUMED_MSG, 0, 0);
    tm_free(t);
}
END_TEST

/* An unexpected message that its receive cannot hold: not counted. */
START_TEST(unexpected_that_fails)
{
    TmTest *t = tm_new(true);

    tm_recv(t, 100);
    tm_message(t, MLX5_TMH_EAGER, 2, 101);
    tm_post(t, 101);
    r_failed(&t->r->b, &t->r->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
             MLX5_VENDOR_RECV_TOO_SHORT);
    ck_assert_uint_eq(t->xrq->tm->hw_cnt, 0);
    tm_free(t);
}
END_TEST

/* ---- rendezvous ---- */

#define RNDV_SRC (TM_SRC + 0x1000000)

static void rndv_message(TmTest *t, uint32_t len, uint32_t rkey)
{
    tm_message(t, MLX5_TMH_RNDV, 0xd1, 64);
    tm_rvh(t, RNDV_SRC, rkey, len);
    r_fill(t->r->h, RNDV_SRC, len, 77);
}

/* B's queue pair may be one that cannot send anything of its own. */
static void no_send_queue(TmTest *t)
{
    Mlx5Qp *b = t->r->b.qp;

    mlx5_obj_unref(b->send_cq);
    b->send_cq = NULL;
    b->has_sq = false;
}

static void expect_fin(TmTest *t)
{
    uint8_t fin[32], msg[32];

    r_received(&t->r->a, 0, MLX5_CQE_RESP_SEND, 32);
    fake_mem_read(t->r->h, R_DATA, fin, 32);
    fake_mem_read(t->r->h, TM_SRC, msg, 32);
    ck_assert_uint_eq(fin[0], MLX5_TMH_FIN);
    ck_assert_mem_eq(fin + 1, msg + 1, 31);
}

START_TEST(rendezvous)
{
    static const uint32_t sizes[] = { 0, 1, 1024, 4097, 1 << 20 };
    TmTest *t = tm_new(true);
    uint32_t len = sizes[_i / 2];
    uint8_t cqe[64];

    tm_append(t, 0xd1, 0xff, 1 << 20);
    if (_i % 2) {
        no_send_queue(t);
    }
    r_recv(&t->r->a, R_DATA, 64);
    rndv_message(t, len, t->r->key);
    tm_post(t, 64);
    r_sent(&t->r->a, 0, MLX5_OPCODE_SEND);
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 0, 0);
    tm_header(cqe, 0xd1);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_EXPECTED, 0, len);
    ck_assert_uint_eq(MLX5_GET(tmh, cqe, tag), 0);
    ck_assert(r_same(t->r->h, tm_buf(0), RNDV_SRC, len));
    expect_fin(t);
    r_quiet(&t->r->a);
    r_quiet(&t->r->b);
    ck_assert_int_eq(t->xrq->tm->entry[0].state, MLX5_TM_FREE);
    ck_assert_uint_eq(t->r->b.qp->engine->req.head,
                      t->r->b.qp->engine->req.tail);
    tm_free(t);
}
END_TEST

/* Many at once, among work of the guest's own. */
START_TEST(many_rendezvous)
{
    TmTest *t = tm_new(true);
    uint32_t n = 1u << TM_LOG_LIST;
    uint8_t cqe[64];

    for (uint32_t i = 0; i < n; i++) {
        tm_append(t, 0xd1, 0xff, 65536);
    }
    for (uint32_t i = 0; i < n; i++) {
        r_recv(&t->r->a, R_DATA + i * 64, 64);
    }
    rndv_message(t, 65536, t->r->key);
    for (uint32_t i = 0; i < n; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_SEND), own = r_wqe(MLX5_OPCODE_RDMA_WRITE);

        r_data(&w, TM_SRC, 64, t->r->key);
        r_put(&t->r->a, &w);
        r_raddr(&own, R_DATA + 0x8000, t->r->key);
        r_data(&own, TM_SRC, 64, t->r->key);
        r_put(&t->r->b, &own);
    }
    r_ring(&t->r->a);
    r_ring(&t->r->b);
    fake_host_work(t->r->h);
    for (uint32_t i = 0; i < n; i++) {
        r_sent(&t->r->a, i, MLX5_OPCODE_SEND);
        r_sent(&t->r->b, n + i, MLX5_OPCODE_RDMA_WRITE);
        ck_assert(r_same(t->r->h, tm_buf(i), RNDV_SRC, 65536));
        r_received(&t->r->a, i, MLX5_CQE_RESP_SEND, 32);
    }
    for (uint32_t i = 0; i < 2 * n; i++) {
        ck_assert(r_poll(&t->r->b, &t->r->b.rcq, cqe));
    }
    r_quiet(&t->r->b);
    tm_free(t);
}
END_TEST

/* No offload on this queue pair, or no room: software reads. */
START_TEST(rendezvous_by_software)
{
    TmTest *t = tm_new(_i);
    uint8_t cqe[64];

    tm_append(t, 0xd1, 0xff, 4096);
    rndv_message(t, 5000, t->r->key);
    tm_post(t, 64);
    r_sent(&t->r->a, 0, MLX5_OPCODE_SEND);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CONSUMED_MSG_SW_RNDV, 0,
           64);
    tm_header(cqe, 0xd1);
    ck_assert(r_same(t->r->h, tm_buf(0), TM_SRC, 64));
    r_quiet(&t->r->b);
    tm_free(t);
}
END_TEST

START_TEST(rendezvous_by_software_without_room)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_append(t, 0xd1, 0xff, 40);
    rndv_message(t, 5000, t->r->key);
    tm_post(t, 64);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CANCELED, 0, 0);
    r_failed(&t->r->a, &t->r->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    tm_free(t);
}
END_TEST

/* The sender's key refuses the read, or the tag's refuses the data. */
START_TEST(rendezvous_that_fails)
{
    TmTest *t = tm_new(true);
    TmOp op = { .op = TM_APPEND, .index = 1, .mask = 0xff, .tag = 0xd1 };
    RWqe w = tm_wqe(&op);
    uint8_t cqe[64];

    r_data(&w, tm_buf(0), 8192, t->r->key + (_i ? 0x100 : 0));
    r_post(&t->r->b, &w);
    rndv_message(t, 5000, t->r->key + (_i ? 0 : 0x100));
    tm_post(t, 64);
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 0, 0);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CANCELED, 0, 0);
    ck_assert_int_eq(t->r->b.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_int_eq(t->xrq->tm->entry[0].state, MLX5_TM_FREE);
    /* Nothing was the guest's: nothing is flushed. */
    r_quiet(&t->r->b);
    tm_free(t);
}
END_TEST

/* The queue pair stops while reads wait or are under way. */
START_TEST(rendezvous_is_cut)
{
    static const Mlx5QpState to[] = { MLX5_QP_STATE_ERR, MLX5_QP_STATE_RST };
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_append(t, 0xd1, 0xff, 4096);
    tm_append(t, 0xd1, 0xff, 4096);
    no_send_queue(t);
    /* Answers stop: the read waits in the window. */
    R_QPC(&t->r->b, log_sra_max, 0);
    rndv_message(t, 4096, t->r->key);
    tm_post(t, 64);
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 0, 0);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_EXPECTED, 0, 4096);
    r_set_state(&t->r->b, MLX5_QP_STATE_SQD); /* takes no new work */
    tm_post(t, 64);
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 1, 0);
    tm_no_cqe(t);
    r_set_state(&t->r->b, to[_i]);
    fake_host_work(t->r->h);
    tm_cqe(t, cqe, MLX5_CQE_RESP_SEND, MLX5_TM_APP_CANCELED, 1, 0);
    tm_no_cqe(t);
    ck_assert_int_eq(t->xrq->tm->entry[1].state, MLX5_TM_FREE);
    tm_free(t);
}
END_TEST

/* Destroyed with a rendezvous waiting: the tag is free, nobody is told. */
START_TEST(rendezvous_dies_with_its_queue_pair)
{
    TmTest *t = tm_new(true);
    uint8_t cqe[64];

    tm_append(t, 0xd1, 0xff, 4096);
    r_set_state(&t->r->b, MLX5_QP_STATE_SQD);
    rndv_message(t, 4096, t->r->key);
    tm_post(t, 64);
    tm_cqe(t, cqe, MLX5_CQE_NO_PACKET, MLX5_TM_APP_CONSUMED, 0, 0);
    ck_assert_int_eq(t->xrq->tm->entry[0].state, MLX5_TM_BUSY);
    r_destroy(&t->r->b);
    ck_assert_int_eq(t->xrq->tm->entry[0].state, MLX5_TM_FREE);
    tm_no_cqe(t);
    r_destroy(&t->r->a);
    fake_host_free(t->r->h);
    g_free(t->r);
    g_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tm");
    TCase *tc = tcase_create("tm");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, operations_complete);
    tcase_add_loop_test(tc, bad_operations, 0, G_N_ELEMENTS(bad_ops));
    tcase_add_test(tc, append_to_a_posted_one);
    tcase_add_test(tc, no_queue);
    tcase_add_loop_test(tc, bad_segments, 0, 2);
    tcase_add_test(tc, eager_of_one_packet);
    tcase_add_test(tc, eager_of_no_payload);
    tcase_add_loop_test(tc, eager_of_many_packets, 0, 3);
    tcase_add_test(tc, eager_with_immediate);
    tcase_add_loop_test(tc, eager_that_fails, 0, 4);
    tcase_add_test(tc, unexpected_goes_to_the_shared_queue);
    tcase_add_loop_test(tc, no_tag_and_fin, 0, 4);
    tcase_add_loop_test(tc, bad_header, 0, G_N_ELEMENTS(bad_headers));
    tcase_add_loop_test(tc, unexpected_waits_for_a_receive, 0, 2);
    tcase_add_test(tc, late_tags);
    tcase_add_test(tc, unexpected_that_fails);
    tcase_add_loop_test(tc, rendezvous, 0, 10);
    tcase_add_test(tc, many_rendezvous);
    tcase_add_loop_test(tc, rendezvous_by_software, 0, 2);
    tcase_add_test(tc, rendezvous_by_software_without_room);
    tcase_add_loop_test(tc, rendezvous_that_fails, 0, 2);
    tcase_add_loop_test(tc, rendezvous_is_cut, 0, 2);
    tcase_add_test(tc, rendezvous_dies_with_its_queue_pair);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
