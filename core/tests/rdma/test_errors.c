/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every error completion at both ends: status, vendor code, states, events,
 * what is flushed, and that memory stayed as it was.
 */
#include "net/link.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)
#define BEHIND 3

typedef enum Key { GOOD, WILD, OTHER_PD, NO_WRITE, NO_READ, NO_ATOMIC, SHORT,
                   RESERVED, NO_MEMORY } Key;

typedef struct Case {
    const char *name;
    uint8_t opcode;
    Key lkey, rkey, recv_key;
    uint32_t len, recv_len;
    uint64_t remote_off;
    int far_mtu;             /* of the responder, as the context has it */
    int off;                 /* which of rre, rwe, rae is off: 'r' 'w' 'a' */
    uint8_t near, near_vendor;
    uint8_t far, far_vendor; /* of the first receive; 0 = not touched */
    uint8_t event;           /* at the responder */
} Case;

#define PROT MLX5_CQE_SYNDROME_LOCAL_PROT_ERR
#define NEAR(op, key, v) .opcode = MLX5_OPCODE_##op, .lkey = key, \
    .near = PROT, .near_vendor = MLX5_VENDOR_##v
#define ACCESS(op, key) .opcode = MLX5_OPCODE_##op, .rkey = key, \
    .near = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, \
    .near_vendor = MLX5_VENDOR_REMOTE_ACCESS, \
    .event = MLX5_EVENT_TYPE_WQ_ACCESS_ERROR
#define INVAL(op) .opcode = MLX5_OPCODE_##op, \
    .near = MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, \
    .near_vendor = MLX5_VENDOR_REMOTE_INVAL
#define REQ_EVENT .event = MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR
#define REMOTE_OP .near = MLX5_CQE_SYNDROME_REMOTE_OP_ERR, \
    .near_vendor = MLX5_VENDOR_REMOTE_OP

static const Case cases[] = {
    { "send lkey", NEAR(SEND, WILD, GATHER_KEY) },
    { "send lkey of another pd", NEAR(SEND, OTHER_PD, GATHER_KEY) },
    { "write lkey", NEAR(RDMA_WRITE, WILD, GATHER_KEY) },
    { "write local bounds", NEAR(RDMA_WRITE, SHORT, GATHER_KEY) },
    { "long write local bounds", NEAR(RDMA_WRITE, SHORT, GATHER_KEY),
      .len = 200000 },
    { "read lkey", NEAR(RDMA_READ, WILD, SCATTER_KEY) },
    { "read lkey without write", NEAR(RDMA_READ, NO_WRITE, SCATTER_KEY) },
    { "long read lkey", NEAR(RDMA_READ, NO_WRITE, SCATTER_KEY),
      .len = 200000 },
    { "atomic lkey", NEAR(ATOMIC_FA, WILD, SCATTER_KEY) },
    { "read where no memory is", NEAR(RDMA_READ, NO_MEMORY, SCATTER_MEMORY) },
    { "write rkey", ACCESS(RDMA_WRITE, WILD) },
    { "write rkey of another pd", ACCESS(RDMA_WRITE, OTHER_PD) },
    { "write rkey without write", ACCESS(RDMA_WRITE, NO_WRITE) },
    { "write remote bounds", ACCESS(RDMA_WRITE, SHORT) },
    { "long write remote bounds", ACCESS(RDMA_WRITE, SHORT), .len = 200000 },
    { "write the reserved lkey", ACCESS(RDMA_WRITE, RESERVED) },
    { "write imm rkey", ACCESS(RDMA_WRITE_IMM, WILD) },
    { "read rkey", ACCESS(RDMA_READ, WILD) },
    { "read rkey without read", ACCESS(RDMA_READ, NO_READ) },
    { "long read rkey", ACCESS(RDMA_READ, NO_READ), .len = 200000 },
    { "read remote bounds", ACCESS(RDMA_READ, SHORT) },
    { "atomic rkey", ACCESS(ATOMIC_CS, WILD) },
    { "atomic rkey without atomic", ACCESS(ATOMIC_FA, NO_ATOMIC) },
    { "atomic unaligned", INVAL(ATOMIC_FA), REQ_EVENT, .remote_off = 4 },
    { "write not enabled", INVAL(RDMA_WRITE), REQ_EVENT, .off = 'w' },
    { "read not enabled", INVAL(RDMA_READ), REQ_EVENT, .off = 'r' },
    { "atomic not enabled", INVAL(ATOMIC_CS), REQ_EVENT, .off = 'a' },
    { "receive too short", INVAL(SEND), .recv_len = 63,
      .far = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
      .far_vendor = MLX5_VENDOR_RECV_TOO_SHORT },
    { "long receive too short", INVAL(SEND), .len = 200000,
      .recv_len = 199999, .far = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
      .far_vendor = MLX5_VENDOR_RECV_TOO_SHORT },
    { "receive lkey", .opcode = MLX5_OPCODE_SEND, .recv_key = WILD, REMOTE_OP,
      .far = PROT, .far_vendor = MLX5_VENDOR_RECV_KEY },
    { "receive lkey without write", .opcode = MLX5_OPCODE_SEND,
      .recv_key = NO_WRITE, REMOTE_OP, .far = PROT,
      .far_vendor = MLX5_VENDOR_RECV_KEY },
    { "receive where no memory is", .opcode = MLX5_OPCODE_SEND,
      .recv_key = NO_MEMORY, REMOTE_OP, .far = PROT,
      .far_vendor = MLX5_VENDOR_RECV_MEMORY },
    { "write where no memory is", .opcode = MLX5_OPCODE_RDMA_WRITE,
      .rkey = NO_MEMORY, REMOTE_OP, .event = MLX5_EVENT_TYPE_WQ_CATAS_ERROR },
    { "atomic where no memory is", .opcode = MLX5_OPCODE_ATOMIC_FA,
      .rkey = NO_MEMORY, REMOTE_OP, .event = MLX5_EVENT_TYPE_WQ_CATAS_ERROR },
    { "one packet beyond the peer's path MTU", INVAL(SEND), REQ_EVENT,
      .far_mtu = 2, .len = 1000, .recv_len = 1000 },
    { "packets shorter than the peer's path MTU", INVAL(RDMA_WRITE), REQ_EVENT,
      .far_mtu = 4, .len = 5000 },
    { "one answer beyond the path MTU", .opcode = MLX5_OPCODE_RDMA_READ,
      .near = MLX5_CQE_SYNDROME_BAD_RESP_ERR,
      .near_vendor = MLX5_VENDOR_BAD_RESPONSE, .far_mtu = 4, .len = 2000 },
    { "invalidate a wild key", .opcode = MLX5_OPCODE_SEND_INVAL,
      .near = MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
      .near_vendor = MLX5_VENDOR_REMOTE_ACCESS, .far = PROT,
      .far_vendor = MLX5_VENDOR_INVALIDATE },
};

static uint32_t make_key(RTest *t, Key key)
{
    uint64_t page[16];
    uint32_t access = T_ALL_ACCESS;

    for (int i = 0; i < 16; i++) {
        page[i] = key == NO_MEMORY ? UINT64_C(1) << 41
                                   : SRC + i * 0x1000;
    }
    switch (key) {
    case GOOD:
        return t->key;
    case WILD:
        return 0xabcd00;
    case RESERVED:
        return MLX5_RESD_LKEY;
    case OTHER_PD:
        return t_mkey_pa(t->h, t_alloc(t->h, mlx5_cmd_alloc_pd), access);
    case NO_WRITE:
        access &= ~(MLX5_ACCESS_REMOTE_WRITE | MLX5_ACCESS_LOCAL_WRITE);
        return t_mkey_pa(t->h, t->pdn, access);
    case NO_READ:
        return t_mkey_pa(t->h, t->pdn, access & ~MLX5_ACCESS_REMOTE_READ);
    case NO_ATOMIC:
        return t_mkey_pa(t->h, t->pdn, access & ~MLX5_ACCESS_REMOTE_ATOMIC);
    case SHORT:
        return t_mkey_mtt(t->h, t->pdn, SRC, 63, 12, access, page, 1);
    default:
        return t_mkey_mtt(t->h, t->pdn, SRC, 0x10000, 12, access, page, 16);
    }
}

static bool is_atomic(const Case *c)
{
    return c->opcode == MLX5_OPCODE_ATOMIC_CS ||
           c->opcode == MLX5_OPCODE_ATOMIC_FA;
}

static RWqe bad_wqe(RTest *t, const Case *c)
{
    RWqe w = r_wqe(c->opcode);
    const Mlx5WqeOp *op = mlx5_wqe_op(c->opcode);
    bool by_range = c->rkey == SHORT || c->rkey == NO_MEMORY;
    uint64_t far = (by_range ? SRC : DST) + c->remote_off;

    MLX5_SET(wqe_ctrl, w.b, general_id, 0xabcd00);
    if (op->flags & MLX5_WQEF_RADDR) {
        r_raddr(&w, far, make_key(t, c->rkey));
    }
    if (is_atomic(c)) {
        r_atomic(&w, 1, 0);
    }
    r_data(&w, SRC, is_atomic(c) ? 8 : c->len ? c->len : 64,
           make_key(t, c->lkey));
    return w;
}

START_TEST(one_mistake)
{
    const Case *c = &cases[_i];
    RTest *t = r_new(MLX5_QP_ST_RC);
    bool remote = c->event || c->far;
    Mlx5WqeData recv = { .addr = c->recv_key == NO_MEMORY ? SRC : DST,
                         .len = c->recv_len ? c->recv_len : 64 };
    RWqe w;

    r_fill(t->h, SRC, 64, 1);
    R_QPC(&t->b, rre, c->off != 'r');
    R_QPC(&t->b, rwe, c->off != 'w');
    R_QPC(&t->b, rae, c->off != 'a');
    R_QPC(&t->b, rlky, 1);
    if (c->far_mtu) {
        R_QPC(&t->b, mtu, c->far_mtu);
    }
    r_connect(t, 0x10);
    recv.lkey = make_key(t, c->recv_key);
    r_recv_sg(&t->b, &recv, 1);
    r_recv(&t->b, DST, 64);
    r_recv(&t->b, DST, 64);
    w = bad_wqe(t, c);
    r_put(&t->a, &w);
    for (int i = 0; i < BEHIND; i++) {
        RWqe s = r_wqe(MLX5_OPCODE_SEND);

        MLX5_SET(wqe_ctrl, s.b, ce, 0);
        r_put(&t->a, &s);
    }
    r_ring(&t->a);
    fake_host_work(t->h);
    r_failed(&t->a, &t->a.scq, 0, c->near, c->near_vendor);
    for (int i = 0; i < BEHIND; i++) {
        r_flushed(&t->a, &t->a.scq, (w.len + 63) / 64 + i);
    }
    if (c->far) {
        r_failed(&t->b, &t->b.rcq, 0, c->far, c->far_vendor);
    }
    for (int i = !!c->far; remote && i < 3; i++) {
        r_flushed(&t->b, &t->b.rcq, i);
    }
    r_quiet(&t->a);
    r_quiet(&t->b);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_uint_eq(t->b.qp->state,
                      remote ? MLX5_QP_STATE_ERR : MLX5_QP_STATE_RTS);
    if (c->event) {
        ck_assert_uint_eq(r_event(t, c->event), t->b.qp->o.id);
    }
    if (c->far != MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR &&
        c->far_vendor != MLX5_VENDOR_INVALIDATE) {
        r_fill(t->h, SRC, 64, 1);
        for (int i = 0; i < 64; i++) {
            uint8_t b;

            fake_mem_read(t->h, DST + i, &b, 1);
            ck_assert_uint_eq(b, 0);
        }
    }
    r_free(t);
}
END_TEST

/* What is behind a long read may be done before its answers come: alone. */
START_TEST(answers_of_another_mtu)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);

    R_QPC(&t->b, mtu, _i);
    r_connect(t, 0x10);
    r_raddr(&w, DST, t->key);
    r_data(&w, SRC, 200000, t->key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_BAD_RESP_ERR,
             MLX5_VENDOR_BAD_RESPONSE);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    r_free(t);
}
END_TEST

/* A message of the peer's that breaks off leaves its receive to the flush. */
START_TEST(broken_off)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_connect(t, 0);
    r_recv(&t->b, DST, 1 << 20);
    r_data(&w, SRC, 1 << 20, t->key);
    r_put(&t->a, &w);
    r_ring(&t->a);           /* as much as the doorbell's budget allows */
    ck_assert(t->b.qp->engine->resp.busy);
    r_set_state(&t->b, MLX5_QP_STATE_ERR);
    fake_host_work(t->h);
    while (mlx5_func_work(t->h->func)) {
        /* what the command left */
    }
    r_flushed(&t->b, &t->b.rcq, 0);
    r_quiet(&t->b);
    r_free(t);
}
END_TEST

/* A read accepted, whose key goes away before its data went. */
START_TEST(key_goes_away)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint32_t key = t_mkey_pa(t->h, t->pdn, T_ALL_ACCESS);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);
    TestCmd c;

    r_connect(t, 0);
    r_raddr(&w, SRC, key);
    r_data(&w, DST, 1 << 20, t->key);
    r_put(&t->a, &w);
    r_ring(&t->a);
    ck_assert_uint_eq(t->b.qp->engine->resp.pending, 1);
    T_DESTROY(t->h, &c, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              key >> 8);
    ck_assert_uint_eq(c.c.status, MLX5_CMD_STAT_OK);
    fake_host_work(t->h);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_ERR);
    r_free(t);
}
END_TEST

/* An error's NAK waits for the answers owed before it. */
START_TEST(nak_after_reads)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_connect(t, 0);
    r_fill(t->h, SRC, 3 << 20, 4);
    for (int i = 0; i < 3; i++) {
        RWqe r = r_wqe(MLX5_OPCODE_RDMA_READ);

        r_raddr(&r, SRC + (i << 20), t->key);
        r_data(&r, DST + (i << 20), 1 << 20, t->key);
        r_put(&t->a, &r);
    }
    r_raddr(&w, DST, 0xabcd00);
    r_data(&w, SRC, 10, t->key);
    r_post(&t->a, &w);
    for (int i = 0; i < 3; i++) {
        r_sent(&t->a, i, MLX5_OPCODE_RDMA_READ);
    }
    r_failed(&t->a, &t->a.scq, 3, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    ck_assert(r_same(t->h, SRC, DST, 3 << 20));
    r_free(t);
}
END_TEST

static int spoil;

/* A link that makes an answer not fit its request. */
static void spoiling(Mlx5Func *func, Mlx5Pkt *pkt)
{
    if (pkt->op == MLX5_PKT_READ_RESP && spoil == 0) {
        pkt->len--;
    } else if (pkt->op == MLX5_PKT_READ_RESP && spoil == 1) {
        pkt->op = MLX5_PKT_ATOMIC_ACK;
    } else if (pkt->op == MLX5_PKT_ATOMIC_ACK && spoil == 2) {
        pkt->op = MLX5_PKT_READ_RESP;
    }
    mlx5_link_send(func, pkt);
}

START_TEST(bad_response)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(_i == 2 ? MLX5_OPCODE_ATOMIC_FA : MLX5_OPCODE_RDMA_READ);

    spoil = _i;
    mlx5_rdma_set_link(t->h->func, spoiling);
    r_connect(t, 0);
    r_raddr(&w, SRC, t->key);
    if (_i == 2) {
        r_atomic(&w, 1, 0);
    }
    r_data(&w, DST, 8, t->key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_BAD_RESP_ERR,
             MLX5_VENDOR_BAD_RESPONSE);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    r_free(t);
}
END_TEST

/* --- after the error --- */

/* Sends and receives posted on a queue pair in error come back. */
START_TEST(posted_in_error)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    r_connect(t, 0);
    r_recv(&t->a, DST, 64);
    r_set_state(&t->a, MLX5_QP_STATE_ERR);
    mlx5_func_timer(t->h->func);
    r_flushed(&t->a, &t->a.rcq, 0);
    for (uint16_t i = 0; i < 40; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_SEND);

        MLX5_SET(wqe_ctrl, w.b, ce, 0);
        r_post(&t->a, &w);
        r_flushed(&t->a, &t->a.scq, i);
        r_recv(&t->a, DST, 64);
        fake_host_advance(t->h, 2000000);
        r_flushed(&t->a, &t->a.rcq, i + 1);
    }
    r_quiet(&t->a);
    r_free(t);
}
END_TEST

/* Looking for receives costs less and less, and never ends. */
START_TEST(looks_back_off)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    int64_t gap;

    r_connect(t, 0);
    r_set_state(&t->a, MLX5_QP_STATE_ERR);
    mlx5_func_timer(t->h->func);
    fake_host_advance(t->h, INT64_C(60000000000));
    gap = t->h->timer_deadline_ns - t->h->now_ns;
    ck_assert(gap > 0 && gap <= 500000000);
    fake_host_advance(t->h, gap + 1);
    ck_assert(t->h->timer_deadline_ns - t->h->now_ns > 400000000);
    r_recv(&t->a, DST, 64);
    fake_host_advance(t->h, 600000000);
    r_flushed(&t->a, &t->a.rcq, 0);
    r_free(t);
}
END_TEST

/* RST forgets: nothing completes, and the timers are at rest. */
START_TEST(reset_forgets)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_connect(t, 0);
    for (int i = 0; i < 5; i++) {
        r_post(&t->a, &w);   /* nobody posted a receive: they wait */
        r_recv(&t->a, DST, 64);
    }
    r_set_state(&t->a, MLX5_QP_STATE_RST);
    fake_host_advance(t->h, INT64_C(10000000000));
    r_quiet(&t->a);
    /* And it can be used again, from the first index on. */
    t->a.sq_pi = t->a.rq_pi = 0;
    r_set_state(&t->b, MLX5_QP_STATE_RST);
    r_connect(t, 9);
    r_recv(&t->b, DST, 64);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 0);
    r_free(t);
}
END_TEST

/* --- work requests that lie --- */

/* Overwrite a field of the control segment in the ring. */
typedef enum Lie { NONE, DS, QPN, INDEX } Lie;

static void lie(RTest *t, RWqe *w, Lie what, uint32_t value, uint8_t vendor,
                uint8_t syndrome)
{
    uint64_t at = t->a.ring + t->a.qp->sq_base_bytes;
    uint8_t b[64];

    r_connect(t, 0);
    r_put(&t->a, w);
    fake_mem_read(t->h, at, b, 64);
    switch (what) {
    case DS:
        MLX5_SET(wqe_ctrl, b, ds, value);
        break;
    case QPN:
        MLX5_SET(wqe_ctrl, b, qpn, t->a.qp->o.id ^ value);
        break;
    case INDEX:
        MLX5_SET(wqe_ctrl, b, wqe_index, value);
        break;
    default:
        break;
    }
    fake_mem_write(t->h, at, b, 64);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_failed(&t->a, &t->a.scq, 0, syndrome, vendor);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    r_quiet(&t->a);
    r_quiet(&t->b);
    r_free(t);
}

#define OP_ERR MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR

static const struct {
    uint8_t opcode;
    Lie what;
    uint32_t value;
    uint8_t vendor;
} lie_rows[] = {
    { MLX5_OPCODE_SEND, DS, 0, MLX5_VENDOR_WQE_DS },
    { MLX5_OPCODE_SEND, DS, 63, MLX5_VENDOR_WQE_BEYOND },
    { MLX5_OPCODE_RDMA_WRITE, DS, 1, MLX5_VENDOR_WQE_TRUNCATED },
    { MLX5_OPCODE_RDMA_READ, DS, 1, MLX5_VENDOR_WQE_TRUNCATED },
    { MLX5_OPCODE_ATOMIC_CS, DS, 2, MLX5_VENDOR_WQE_TRUNCATED },
    { MLX5_OPCODE_UMR, DS, 2, MLX5_VENDOR_WQE_TRUNCATED },
    { 0xee, DS, 1, MLX5_VENDOR_WQE_OPCODE },
    { MLX5_OPCODE_SEND, QPN, 1, MLX5_VENDOR_WQE_QPN },
    { MLX5_OPCODE_SEND, QPN, 0x800000, MLX5_VENDOR_WQE_QPN },
    { MLX5_OPCODE_SEND, INDEX, 1, MLX5_VENDOR_WQE_INDEX },
    { MLX5_OPCODE_NOP, INDEX, 0xffff, MLX5_VENDOR_WQE_INDEX },
    /* The same slot, but of the ring's next round. */
    { MLX5_OPCODE_SEND, INDEX, 1u << R_LOG_SQ, MLX5_VENDOR_WQE_INDEX },
};

START_TEST(lies)
{
    RWqe w = r_wqe(lie_rows[_i].opcode);

    lie(r_new(MLX5_QP_ST_RC), &w, lie_rows[_i].what, lie_rows[_i].value,
        lie_rows[_i].vendor, OP_ERR);
}
END_TEST

/* Segments that do not go together. */
START_TEST(bad_segments)
{
    static const uint8_t vendor[] = {
        MLX5_VENDOR_WQE_INLINE, MLX5_VENDOR_WQE_INLINE_OP,
        MLX5_VENDOR_WQE_ATOMIC_SIZE,
    };
    static const uint8_t opcode[] = {
        MLX5_OPCODE_SEND, MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_FA,
    };
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(opcode[_i]);

    if (_i) {
        r_raddr(&w, DST, t->key);
    }
    if (_i == 2) {
        r_atomic(&w, 1, 0);
        r_data(&w, SRC, 7, t->key);
    } else {
        r_inline(&w, "x", 1);
        MLX5_SET(wqe_inline, w.b + 16, byte_count, 100);
    }
    lie(t, &w, NONE, 0, vendor[_i], OP_ERR);
}
END_TEST

START_TEST(too_long)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_data(&w, SRC, 0, t->key);  /* 2^31 */
    r_data(&w, SRC, 1, t->key);
    lie(t, &w, NONE, 0, MLX5_VENDOR_MSG_MAX,
        MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
}
END_TEST

START_TEST(longer_than_the_context_says)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    R_QPC(&t->a, log_msg_max, 10);
    r_data(&w, SRC, 1025, t->key);
    lie(t, &w, NONE, 0, MLX5_VENDOR_MSG_QP_MAX,
        MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
}
END_TEST

/* A counter beyond the ring: nothing of the ring can be believed. */
START_TEST(counter_beyond_ring)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_NOP);

    r_connect(t, 0);
    r_put(&t->a, &w);
    fake_mem_set_be32(t->h, t->a.dbr + 4, 0x8000);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_failed(&t->a, &t->a.scq, 0, OP_ERR, MLX5_VENDOR_SQ_OVERFLOW);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_ERR);
    r_free(t);
}
END_TEST

/* A WQE is read once: what changes after the first look is not seen. */
START_TEST(fetched_once)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_connect(t, 0);
    r_fill(t->h, SRC, 64, 1);
    r_raddr(&w, DST, t->key);
    r_data(&w, SRC, 64, t->key);
    t->h->trip_addr = t->a.ring + t->a.qp->sq_base_bytes;
    t->h->trip_len = 64;
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert_uint_eq(t->h->trip_hits, 64);
    ck_assert(r_same(t->h, SRC, DST, 64));
    r_free(t);
}
END_TEST

START_TEST(ring_not_readable)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_NOP);

    r_connect(t, 0);
    r_put(&t->a, &w);
    t->h->fail_after = 2;    /* the record can be read, the ring cannot */
    r_ring(&t->a);
    fake_host_work(t->h);
    r_failed(&t->a, &t->a.scq, 0, OP_ERR, MLX5_VENDOR_WQE_FETCH);
    r_free(t);
}
END_TEST

START_TEST(another_uar)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_NOP);
    uint32_t uar = t_alloc(t->h, mlx5_cmd_alloc_uar);

    r_connect(t, 0);
    r_put(&t->a, &w);
    mlx5_func_bar_write(t->h->func, (uint64_t)uar * 4096 + 0x800,
                        (uint64_t)t->a.qp->o.id << 8, 8);
    fake_host_work(t->h);
    r_quiet(&t->a);
    /* Nor at an address inside a register, nor of a number that is nobody's. */
    mlx5_func_bar_write(t->h->func, (uint64_t)t->uar * 4096 + 0x810,
                        (uint64_t)t->a.qp->o.id << 8, 8);
    mlx5_func_bar_write(t->h->func, (uint64_t)t->uar * 4096 + 0x800,
                        (uint64_t)0x7777 << 8, 8);
    fake_host_work(t->h);
    r_quiet(&t->a);
    /* Any half of any register does, in one write or two. */
    mlx5_func_bar_write(t->h->func, (uint64_t)t->uar * 4096 + 0xf04,
                        (uint64_t)t->a.qp->o.id << 8, 4);
    fake_host_work(t->h);
    r_sent(&t->a, 0, MLX5_OPCODE_NOP);
    r_free(t);
}
END_TEST

/* The self test of write combining: a completion only the copy asks for. */
START_TEST(blueflame_nop)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t at = (uint64_t)t->uar * 4096 + 0x900;
    RWqe w = r_wqe(MLX5_OPCODE_NOP);

    r_connect(t, 0);
    MLX5_SET(wqe_ctrl, w.b, ce, 0);
    r_put(&t->a, &w);
    mlx5_func_bar_write(t->h->func, at, (uint64_t)t->a.qp->o.id << 8, 8);
    r_quiet(&t->a);
    mlx5_func_bar_write(t->h->func, at + 8, UINT64_C(8) << 32, 8);
    r_sent(&t->a, 0, MLX5_OPCODE_NOP);
    mlx5_func_bar_write(t->h->func, at + 8, UINT64_C(8) << 32, 8);
    r_quiet(&t->a);
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("errors");
    TCase *tc = tcase_create("errors");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, one_mistake, 0, G_N_ELEMENTS(cases));
    tcase_add_loop_test(tc, answers_of_another_mtu, 1, 3);
    tcase_add_loop_test(tc, answers_of_another_mtu, 4, 6);
    tcase_add_test(tc, broken_off);
    tcase_add_test(tc, key_goes_away);
    tcase_add_test(tc, nak_after_reads);
    tcase_add_loop_test(tc, bad_response, 0, 3);
    tcase_add_test(tc, posted_in_error);
    tcase_add_test(tc, looks_back_off);
    tcase_add_test(tc, reset_forgets);
    tcase_add_loop_test(tc, lies, 0, G_N_ELEMENTS(lie_rows));
    tcase_add_loop_test(tc, bad_segments, 0, 3);
    tcase_add_test(tc, too_long);
    tcase_add_test(tc, longer_than_the_context_says);
    tcase_add_test(tc, counter_beyond_ring);
    tcase_add_test(tc, fetched_once);
    tcase_add_test(tc, ring_not_readable);
    tcase_add_test(tc, another_uar);
    tcase_add_test(tc, blueflame_nop);
    return t_main(s);
}
