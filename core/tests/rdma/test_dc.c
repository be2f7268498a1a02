/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DC: messages of every kind from initiators to targets, what fails alone and
 * what does not, streams, keys, draining with messages on their way.
 */
#include "obj/dct.h"
#include "tests/rdma/rdma_helper.h"

#define KEY UINT64_C(0xfeedfacecafe0001)
#define SRC R_DATA
#define DST (R_DATA + 0x1000000)
#define SRQ_LOG 4

typedef struct Target {
    Mlx5Dct *dct;
    uint32_t dctn;
    Mlx5Srq *srq;
    uint64_t ring, dbr;
    uint16_t posted;
    RCq cq;
} Target;

typedef struct Dc {
    RTest *t;
    Target x, y;
} Dc;

static void make_srq(RTest *t, Target *x)
{
    uint8_t pas[8];
    Mlx5Func *f = t->h->func;

    x->ring = r_new_ring(t);
    x->dbr = r_new_ring(t);
    mlx5_func_lock(f);
    x->srq = mlx5_obj_new(f, MLX5_OBJ_SRQ, sizeof(*x->srq), 0);
    x->srq->kind = MLX5_SRQ_RMP;
    x->srq->pd = mlx5_obj_get(f, MLX5_OBJ_PD, t->pdn);
    mlx5_obj_ref(x->srq->pd);
    x->srq->log_size = SRQ_LOG;
    x->srq->wqe_bytes = 64;
    x->srq->cyclic = true;
    x->srq->dbr_gpa = x->dbr;
    x->srq->user_index = 0xffffff;
    t_pas(pas, 0, x->ring, 1);
    ck_assert(mlx5_ring_init(&x->srq->ring, f, pas, 1, 12, 0, 1024));
    mlx5_func_unlock(f);
}

static void make_target(RTest *t, Target *x, uint32_t cs_res)
{
    TestCmd c = { 0 };
    uint8_t *dctc = c.in + MLX5_BYTE_OFF(create_dct_in, dct_context_entry);

    make_srq(t, x);
    x->cq = r_cq(t);
    MLX5_SET(dctc, dctc, pd, t->pdn);
    MLX5_SET(dctc, dctc, cqn, x->cq.cqn);
    MLX5_SET(dctc, dctc, srqn_xrqn, x->srq->o.id);
    MLX5_SET(dctc, dctc, dc_access_key, KEY);
    MLX5_SET(dctc, dctc, user_index, 0x5a5a);
    MLX5_SET(dctc, dctc, mtu, 3);
    MLX5_SET(dctc, dctc, port, 1);
    MLX5_SET(dctc, dctc, rre, 1);
    MLX5_SET(dctc, dctc, rwe, 1);
    MLX5_SET(dctc, dctc, rae, 1);
    MLX5_SET(dctc, dctc, min_rnr_nak, 12);
    MLX5_SET(dctc, dctc, hop_limit, 64);
    MLX5_SET(dctc, dctc, cs_res, cs_res);
    t_ok(t->h, &c, mlx5_cmd_create_dct, MLX5_ST_SZ_BYTES(create_dct_in));
    x->dctn = MLX5_GET(create_dct_out, c.out, dctn);
    x->dct = mlx5_obj_get(t->h->func, MLX5_OBJ_DCT, x->dctn);
}

static Dc setup_streams(uint32_t log_streams, uint32_t log_errored)
{
    Dc d = { .t = r_new(MLX5_QP_ST_DCI) };
    RQp *q[] = { &d.t->a, &d.t->b };

    make_target(d.t, &d.x, 0);
    make_target(d.t, &d.y, 0);
    for (int i = 0; i < 2; i++) {
        R_QPC(q[i], log_num_dci_stream_channels, log_streams);
        R_QPC(q[i], log_num_dci_errored_streams, log_errored);
        r_up(q[i], 0, 0, 0xfffff0 + i);
    }
    return d;
}

static Dc setup(void)
{
    return setup_streams(0, 0);
}

static void teardown(Dc *d)
{
    r_destroy(&d->t->a);
    r_destroy(&d->t->b);
    fake_host_free(d->t->h);
    g_free(d->t);
}

static void recv_key(Dc *d, Target *x, uint64_t addr, uint32_t len,
                     uint32_t key)
{
    uint8_t b[64] = { 0 };

    MLX5_SET(wqe_data, b + 16, byte_count, len);
    MLX5_SET(wqe_data, b + 16, lkey, key);
    MLX5_SET(wqe_data, b + 16, local_virtual_address, addr);
    MLX5_SET(wqe_data, b + 32, lkey, MLX5_INVALID_LKEY);
    fake_mem_write(d->t->h, x->ring + x->posted % 16 * 64, b, 64);
    fake_mem_set_be32(d->t->h, x->dbr, ++x->posted);
}

static void post_recv(Dc *d, Target *x, uint64_t addr, uint32_t len)
{
    recv_key(d, x, addr, len, d->t->key);
}

static RWqe wqe_to(uint8_t opcode, uint32_t dctn, uint64_t key)
{
    RWqe w = r_wqe(opcode);

    r_av(&w, dctn, 0);
    MLX5_SET(wqe_av, w.b + 16, q_key_or_dc_key, key);
    return w;
}

static RWqe send_wqe(Dc *d, const Target *x, uint32_t len)
{
    RWqe w = wqe_to(MLX5_OPCODE_SEND, x->dctn, KEY);

    r_data(&w, SRC, len, d->t->key);
    return w;
}

/* The next completion of the target is good. Return: its immediate field. */
static uint32_t received(Dc *d, Target *x, uint16_t index, uint8_t opcode,
                         uint32_t bytes)
{
    uint8_t cqe[64];

    ck_assert(r_poll(&d->t->a, &x->cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), opcode);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), x->dctn);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), index);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), bytes);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, srqn_user_index), 0x5a5a);
    return MLX5_GET(cqe64, cqe, immediate);
}

static void recv_failed(Dc *d, Target *x, uint8_t syndrome)
{
    uint8_t cqe[64];

    ck_assert(r_poll(&d->t->a, &x->cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_ERR);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome), syndrome);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, qpn), x->dctn);
}

static void no_recv(Dc *d, Target *x)
{
    uint8_t cqe[64];

    ck_assert(!r_poll(&d->t->a, &x->cq, cqe));
}

/* --- what works --- */

static const uint32_t lengths[] = { 0, 1, 64, 512, 513, 5000, 65536, 300001 };

START_TEST(send_message)
{
    Dc d = setup();
    uint32_t len = lengths[_i];
    RWqe w = wqe_to(MLX5_OPCODE_SEND, d.x.dctn, KEY);

    r_fill(d.t->h, SRC, len, 3);
    post_recv(&d, &d.x, DST, 400000);
    if (len) {
        r_data(&w, SRC, len, d.t->key);
    }
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_SEND);
    received(&d, &d.x, 0, MLX5_CQE_RESP_SEND, len);
    ck_assert(r_same(d.t->h, SRC, DST, len));
    teardown(&d);
}
END_TEST

START_TEST(send_imm)
{
    Dc d = setup();
    RWqe w = wqe_to(MLX5_OPCODE_SEND_IMM, d.x.dctn, KEY);

    post_recv(&d, &d.x, DST, 100);
    MLX5_SET(wqe_ctrl, w.b, general_id, 0x1234abcd);
    r_inline(&w, "hello", 5);
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_SEND_IMM);
    ck_assert_uint_eq(received(&d, &d.x, 0, MLX5_CQE_RESP_SEND_IMM, 5),
                      0x1234abcd);
    teardown(&d);
}
END_TEST

START_TEST(rdma_write)
{
    Dc d = setup();
    uint32_t len = lengths[_i];
    RWqe w = wqe_to(MLX5_OPCODE_RDMA_WRITE, d.x.dctn, KEY);

    r_fill(d.t->h, SRC, len, 3);
    r_raddr(&w, DST, d.t->key);
    if (len) {
        r_data(&w, SRC, len, d.t->key);
    }
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    no_recv(&d, &d.x);
    ck_assert(r_same(d.t->h, SRC, DST, len));
    teardown(&d);
}
END_TEST

START_TEST(write_imm)
{
    Dc d = setup();
    RWqe w = wqe_to(MLX5_OPCODE_RDMA_WRITE_IMM, d.x.dctn, KEY);

    r_fill(d.t->h, SRC, 900, 3);
    post_recv(&d, &d.x, DST + 0x10000, 100);
    MLX5_SET(wqe_ctrl, w.b, general_id, 0x77);
    r_raddr(&w, DST, d.t->key);
    r_data(&w, SRC, 900, d.t->key);
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_RDMA_WRITE_IMM);
    ck_assert_uint_eq(received(&d, &d.x, 0, MLX5_CQE_RESP_WR_IMM, 900), 0x77);
    ck_assert(r_same(d.t->h, SRC, DST, 900));
    teardown(&d);
}
END_TEST

START_TEST(rdma_read)
{
    Dc d = setup();
    uint32_t len = lengths[_i];
    RWqe w = wqe_to(MLX5_OPCODE_RDMA_READ, d.x.dctn, KEY);

    r_fill(d.t->h, DST, len, 9);
    r_raddr(&w, DST, d.t->key);
    if (len) {
        r_data(&w, SRC, len, d.t->key);
    }
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(d.t->h, SRC, DST, len));
    teardown(&d);
}
END_TEST

START_TEST(atomics)
{
    Dc d = setup();
    uint64_t v = GUINT64_TO_LE(40), out;

    fake_mem_write(d.t->h, DST, &v, 8);
    for (int i = 0; i < 3; i++) {
        RWqe w = wqe_to(MLX5_OPCODE_ATOMIC_FA, d.x.dctn, KEY);

        r_raddr(&w, DST, d.t->key);
        r_atomic(&w, 2, 0);
        r_data(&w, SRC, 8, d.t->key);
        r_post(&d.t->a, &w);
        r_sent(&d.t->a, i * 2, MLX5_OPCODE_ATOMIC_FA);
        fake_mem_read(d.t->h, SRC, &out, 8);
        /* Answers are big-endian; nobody asked for another order. */
        ck_assert_uint_eq(GUINT64_FROM_BE(out), 40 + 2 * i);
    }
    fake_mem_read(d.t->h, DST, &out, 8);
    ck_assert_uint_eq(GUINT64_FROM_LE(out), 46);
    teardown(&d);
}
END_TEST

/* Four bytes, as UCX adds: masked, without a field's boundary. */
START_TEST(atomics_of_4_bytes)
{
    Dc d = setup();
    RWqe w = wqe_to(MLX5_OPCODE_ATOMIC_MASKED_FA, d.x.dctn, KEY);
    uint64_t v = GUINT64_TO_LE(UINT64_C(0x11111111fffffffe));

    fake_mem_write(d.t->h, DST, &v, 8);
    MLX5_SET(wqe_ctrl, w.b, opc_mod, 8);
    r_raddr(&w, DST, d.t->key);
    mlx5_prm_set(w.b + w.len, 0, 32, 3);
    w.len += 16;
    r_data(&w, SRC, 4, d.t->key);
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_ATOMIC_MASKED_FA);
    ck_assert_uint_eq(fake_mem_be32(d.t->h, SRC), 0xfffffffe);
    fake_mem_read(d.t->h, DST, &v, 8);
    ck_assert_uint_eq(GUINT64_FROM_LE(v), UINT64_C(0x1111111100000001));
    teardown(&d);
}
END_TEST

/* Initiators and targets in any order: each message finds its own. */
START_TEST(many_to_many)
{
    Dc d = setup();
    Target *to[] = { &d.x, &d.y };
    RQp *from[] = { &d.t->a, &d.t->b };
    uint16_t sent[2] = { 0, 0 }, got[2] = { 0, 0 };
    uint8_t cqe[64];

    for (uint32_t i = 0; i < 60; i++) {
        uint32_t f = i * 7 / 3 & 1, x = i * 5 / 2 & 1;
        uint32_t len = 1 + i * 97;
        RWqe w;

        r_fill(d.t->h, SRC, len, i);
        post_recv(&d, to[x], DST, 10000);
        w = send_wqe(&d, to[x], len);
        r_post(from[f], &w);
        ck_assert(r_poll(from[f], &from[f]->scq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), sent[f]);
        sent[f] += 2;
        received(&d, to[x], got[x]++ % 16, MLX5_CQE_RESP_SEND, len);
        ck_assert(r_same(d.t->h, SRC, DST, len));
    }
    teardown(&d);
}
END_TEST

/* Several posted at once, to both targets in turn. */
START_TEST(batch)
{
    Dc d = setup();
    RWqe w;

    r_fill(d.t->h, SRC, 2000, 1);
    for (int i = 0; i < 12; i++) {
        Target *x = i & 1 ? &d.x : &d.y;

        post_recv(&d, x, DST + i * 0x1000, 2000);
        w = send_wqe(&d, x, 100 * (i + 1));
        r_put(&d.t->a, &w);
    }
    r_ring(&d.t->a);
    fake_host_work(d.t->h);
    for (int i = 0; i < 12; i++) {
        r_sent(&d.t->a, i * 2, MLX5_OPCODE_SEND);
        received(&d, i & 1 ? &d.x : &d.y, i / 2, MLX5_CQE_RESP_SEND,
                 100 * (i + 1));
        ck_assert(r_same(d.t->h, SRC, DST + i * 0x1000, 100 * (i + 1)));
    }
    teardown(&d);
}
END_TEST

START_TEST(into_the_completion)
{
    Dc d = setup();
    uint8_t e[64];
    RWqe w = wqe_to(MLX5_OPCODE_SEND, 0, KEY);
    Target z = { 0 };

    make_target(d.t, &z, 1);
    w = wqe_to(MLX5_OPCODE_SEND, z.dctn, KEY);
    post_recv(&d, &z, DST, 100);
    r_inline(&w, "in the entry", 12);
    r_post(&d.t->a, &w);
    fake_mem_read(d.t->h, z.cq.ring, e, 64);
    ck_assert_uint_eq(e[63] >> 2 & 3, 1);
    ck_assert_mem_eq(e, "in the entry", 12);
    teardown(&d);
}
END_TEST

/* No receive: it comes again until one is posted. */
START_TEST(receiver_not_ready)
{
    Dc d = setup();
    RWqe w = send_wqe(&d, &d.x, 700);

    r_fill(d.t->h, SRC, 700, 4);
    r_post(&d.t->a, &w);
    r_quiet(&d.t->a);
    fake_host_advance(d.t->h, INT64_C(50000000));
    r_quiet(&d.t->a);
    post_recv(&d, &d.x, DST, 700);
    fake_host_advance(d.t->h, INT64_C(50000000));
    r_sent(&d.t->a, 0, MLX5_OPCODE_SEND);
    received(&d, &d.x, 0, MLX5_CQE_RESP_SEND, 700);
    ck_assert(r_same(d.t->h, SRC, DST, 700));
    teardown(&d);
}
END_TEST

/* --- what fails --- */

START_TEST(wrong_key)
{
    Dc d = setup();
    TestCmd c;
    RQp *from[] = { &d.t->a, &d.t->b };
    uint8_t *dctc = c.out + MLX5_BYTE_OFF(query_dct_out, dct_context_entry);

    T_DESTROY(d.t->h, &c, mlx5_cmd_arm_dct, arm_dct_in, dct_number, d.x.dctn);
    ck_assert_uint_eq(c.c.status, MLX5_CMD_STAT_OK);
    post_recv(&d, &d.x, DST, 700);
    for (int i = 0; i < 2; i++) {
        RWqe w = wqe_to(MLX5_OPCODE_SEND, d.x.dctn, KEY ^ 1);

        r_data(&w, SRC, 8, d.t->key);
        r_post(from[i], &w);
        r_failed(from[i], &from[i]->scq, 0,
                 MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
                 MLX5_VENDOR_REMOTE_ACCESS);
        ck_assert_int_eq(from[i]->qp->state, MLX5_QP_STATE_ERR);
        /* Once for an arming. */
        ck_assert_uint_eq(r_event(d.t, MLX5_EVENT_TYPE_DCT_KEY_VIOLATION),
                          i ? 0 : d.x.dctn);
    }
    no_recv(&d, &d.x);
    T_DESTROY(d.t->h, &c, mlx5_cmd_query_dct, query_dct_in, dctn, d.x.dctn);
    ck_assert_uint_eq(MLX5_GET(dctc, dctc, dc_access_key_violation_count), 2);
    teardown(&d);
}
END_TEST

START_TEST(no_such_target)
{
    Dc d = setup();
    RWqe w = wqe_to(MLX5_OPCODE_SEND, d.y.dctn + 1, KEY);

    r_data(&w, SRC, 8, d.t->key);
    r_post(&d.t->a, &w);
    r_quiet(&d.t->a);
    fake_host_advance(d.t->h, INT64_C(3000000000));
    r_failed(&d.t->a, &d.t->a.scq, 0,
             MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    teardown(&d);
}
END_TEST

/* One initiator's mistake is its own: the target serves the other. */
static void other_is_served(Dc *d, uint16_t index)
{
    RWqe w = send_wqe(d, &d->x, 300);

    ck_assert_int_eq(d->t->a.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_int_eq(d->x.dct->state, MLX5_DCT_ACTIVE);
    post_recv(d, &d->x, DST, 300);
    r_post(&d->t->b, &w);
    r_sent(&d->t->b, 0, MLX5_OPCODE_SEND);
    received(d, &d->x, index, MLX5_CQE_RESP_SEND, 300);
}

START_TEST(bad_rkey)
{
    Dc d = setup();
    RWqe w = wqe_to(MLX5_OPCODE_RDMA_WRITE, d.x.dctn, KEY);

    r_raddr(&w, DST, d.t->key + 0x100);
    r_data(&w, SRC, 100, d.t->key);
    r_post(&d.t->a, &w);
    r_failed(&d.t->a, &d.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    ck_assert_uint_eq(r_event(d.t, MLX5_EVENT_TYPE_WQ_ACCESS_ERROR), 0);
    other_is_served(&d, 0);
    teardown(&d);
}
END_TEST

START_TEST(no_write_permission)
{
    Dc d = setup();
    RWqe w = wqe_to(MLX5_OPCODE_RDMA_WRITE, d.x.dctn, KEY);

    MLX5_SET(dctc, d.x.dct->dctc, rwe, 0);
    r_raddr(&w, DST, d.t->key);
    r_data(&w, SRC, 100, d.t->key);
    r_post(&d.t->a, &w);
    r_failed(&d.t->a, &d.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    other_is_served(&d, 0);
    teardown(&d);
}
END_TEST

START_TEST(receive_too_short)
{
    Dc d = setup();
    RWqe w = send_wqe(&d, &d.x, 100);

    post_recv(&d, &d.x, DST, 99);
    r_post(&d.t->a, &w);
    r_failed(&d.t->a, &d.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    recv_failed(&d, &d.x, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
    other_is_served(&d, 1);
    teardown(&d);
}
END_TEST

START_TEST(receive_bad_lkey)
{
    Dc d = setup();
    RWqe w = send_wqe(&d, &d.x, 100);

    recv_key(&d, &d.x, DST, 100, d.t->key + 0x100);
    r_post(&d.t->a, &w);
    r_failed(&d.t->a, &d.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_OP_ERR,
             MLX5_VENDOR_REMOTE_OP);
    recv_failed(&d, &d.x, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
    other_is_served(&d, 1);
    teardown(&d);
}
END_TEST

/* --- streams --- */

static void stream_send(Dc *d, uint16_t stream, bool good)
{
    RWqe w = wqe_to(MLX5_OPCODE_SEND, d->x.dctn, KEY);

    MLX5_SET(wqe_ctrl, w.b, dci_stream_channel_id, stream);
    r_data(&w, SRC, 16, d->t->key + (good ? 0 : 0x100));
    r_post(&d->t->a, &w);
}

static TestCmd stream_cmd(Dc *d, uint16_t stream)
{
    TestCmd c = { 0 };

    MLX5_SET(rts2rts_qp_in, c.in, qpn, d->t->a.qpn);
    mlx5_prm_set(c.in, 0x40, 1, 1);
    mlx5_prm_set(c.in, 0x840, 64, 1);
    mlx5_prm_set(c.in, 0x890, 16, stream);
    return c;
}

static void stream_reset(Dc *d, uint16_t stream)
{
    TestCmd c = stream_cmd(d, stream);

    t_ok(d->t->h, &c, mlx5_cmd_rts2rts_qp, 0x1d0);
}

static void stream_refused(Dc *d, TestCmd *c, uint32_t len, uint32_t syndrome)
{
    t_refused(d->t->h, c, mlx5_cmd_rts2rts_qp, len,
              MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
}

START_TEST(stream_stops_alone)
{
    Dc d = setup_streams(3, 2);
    RQp *a = &d.t->a;
    TestCmd c = stream_cmd(&d, 5);

    for (int i = 0; i < 3; i++) {
        post_recv(&d, &d.x, DST, 100);
    }
    stream_send(&d, 1, false);
    r_failed(a, &a->scq, 0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
             MLX5_VENDOR_GATHER_KEY);
    ck_assert_int_eq(a->qp->state, MLX5_QP_STATE_RTS);
    stream_send(&d, 2, true);
    r_sent(a, 2, MLX5_OPCODE_SEND);
    received(&d, &d.x, 0, MLX5_CQE_RESP_SEND, 16);
    /* The same stream again, by a number of the same channel, too. */
    stream_send(&d, 1, true);
    r_flushed(a, &a->scq, 4);
    stream_send(&d, 9, true);
    r_flushed(a, &a->scq, 6);
    stream_refused(&d, &c, 0x1d0, MLX5_SYND_QP_STREAM_GOOD);
    stream_reset(&d, 1);
    stream_send(&d, 1, true);
    r_sent(a, 8, MLX5_OPCODE_SEND);
    received(&d, &d.x, 1, MLX5_CQE_RESP_SEND, 16);
    stream_send(&d, 9, true);
    r_sent(a, 10, MLX5_OPCODE_SEND);
    ck_assert_int_eq(a->qp->state, MLX5_QP_STATE_RTS);
    teardown(&d);
}
END_TEST

/* What the target refuses stops the stream as well, in a batch. */
START_TEST(stream_remote_error_in_batch)
{
    Dc d = setup_streams(3, 2);
    RQp *a = &d.t->a;
    static const uint16_t stream[] = { 1, 2, 1, 3 };

    for (int i = 0; i < 4; i++) {
        RWqe w = wqe_to(MLX5_OPCODE_RDMA_WRITE, d.x.dctn, KEY);

        MLX5_SET(wqe_ctrl, w.b, dci_stream_channel_id, stream[i]);
        r_raddr(&w, DST + i * 0x100, d.t->key + (i ? 0 : 0x100));
        r_data(&w, SRC, 32, d.t->key);
        r_put(a, &w);
    }
    r_fill(d.t->h, SRC, 32, 1);
    r_ring(a);
    fake_host_work(d.t->h);
    r_failed(a, &a->scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    r_sent(a, 2, MLX5_OPCODE_RDMA_WRITE);
    r_flushed(a, &a->scq, 4);
    r_sent(a, 6, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(d.t->h, SRC, DST + 0x300, 32));
    teardown(&d);
}
END_TEST

/* 2^2 streams in error are too many. */
START_TEST(streams_errored_limit)
{
    Dc d = setup_streams(3, 2);
    RQp *a = &d.t->a;

    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(a->qp->state, MLX5_QP_STATE_RTS);
        stream_send(&d, i + 1, false);
        r_failed(a, &a->scq, 2 * i, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
                 MLX5_VENDOR_GATHER_KEY);
    }
    ck_assert_int_eq(a->qp->state, MLX5_QP_STATE_ERR);
    stream_send(&d, 7, true);
    r_flushed(a, &a->scq, 8);
    /* RST forgets them all. */
    r_set_state(a, MLX5_QP_STATE_RST);
    a->sq_pi = 0;
    fake_mem_set_be32(d.t->h, a->dbr + 4, 0);
    r_up(a, 0, 0, 5);
    post_recv(&d, &d.x, DST, 100);
    stream_send(&d, 1, true);
    r_sent(a, 0, MLX5_OPCODE_SEND);
    teardown(&d);
}
END_TEST

/* A work request that cannot be read says nothing of a stream. */
START_TEST(stream_malformed_ends_all)
{
    Dc d = setup_streams(3, 2);
    RQp *a = &d.t->a;
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_post(a, &w);
    ck_assert_int_eq(a->qp->state, MLX5_QP_STATE_ERR);
    teardown(&d);
}
END_TEST

START_TEST(stream_reset_refusals)
{
    Dc d = setup_streams(3, 2), e;
    TestCmd c = stream_cmd(&d, 1);

    stream_refused(&d, &c, 0x1cf, MLX5_SYND_QP_EXT_LENGTH);
    c = stream_cmd(&d, 1);
    mlx5_prm_set(c.in, 0x840, 64, 9);
    stream_refused(&d, &c, 0x1d0, MLX5_SYND_QP_EXT_MASK);
    c = stream_cmd(&d, 1);
    MLX5_SET(rts2rts_qp_in, c.in, opt_param_mask, 2);
    stream_refused(&d, &c, 0x1d0, MLX5_SYND_QP_EXT_MASK);
    teardown(&d);
    e = setup();
    c = stream_cmd(&e, 1);
    stream_refused(&e, &c, 0x1d0, MLX5_SYND_QP_STREAM_SERVICE);
    teardown(&e);
}
END_TEST

/* --- draining --- */

static void drain(Dc *d)
{
    TestCmd c;

    T_DESTROY(d->t->h, &c, mlx5_cmd_drain_dct, drain_dct_in, dctn, d->x.dctn);
    ck_assert_uint_eq(c.c.status, MLX5_CMD_STAT_OK);
}

static uint32_t destroy(Dc *d)
{
    TestCmd c;

    T_DESTROY(d->t->h, &c, mlx5_cmd_destroy_dct, destroy_dct_in, dctn,
              d->x.dctn);
    return c.c.syndrome;
}

static bool drained(Dc *d)
{
    return r_event(d->t, MLX5_EVENT_TYPE_DCT_DRAINED) == d->x.dctn;
}

START_TEST(drain_idle)
{
    Dc d = setup();
    RWqe w = send_wqe(&d, &d.x, 100);

    post_recv(&d, &d.x, DST, 100);
    r_post(&d.t->a, &w);
    r_sent(&d.t->a, 0, MLX5_OPCODE_SEND);
    drain(&d);
    ck_assert(drained(&d));
    ck_assert_int_eq(d.x.dct->state, MLX5_DCT_DRAINED);
    post_recv(&d, &d.x, DST, 100);
    w = send_wqe(&d, &d.x, 100);
    r_post(&d.t->a, &w);
    r_quiet(&d.t->a);
    ck_assert_uint_eq(destroy(&d), 0);
    fake_host_advance(d.t->h, INT64_C(3000000000));
    r_failed(&d.t->a, &d.t->a.scq, 2,
             MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    teardown(&d);
}
END_TEST

/* Half of a message is there: the budget of the ringing thread was spent. */
static void half_a_message(Dc *d)
{
    RWqe w = send_wqe(d, &d->x, 300000);

    r_fill(d->t->h, SRC, 300000, 8);
    post_recv(d, &d->x, DST, 300000);
    r_put(&d->t->a, &w);
    r_ring(&d->t->a);
    r_quiet(&d->t->a);
    ck_assert_uint_eq(destroy(d), MLX5_SYND_DCT_NOT_DRAINED);
}

START_TEST(drain_with_message_on_its_way)
{
    Dc d = setup();

    half_a_message(&d);
    drain(&d);
    ck_assert(!drained(&d));
    fake_host_work(d.t->h);
    r_sent(&d.t->a, 0, MLX5_OPCODE_SEND);
    received(&d, &d.x, 0, MLX5_CQE_RESP_SEND, 300000);
    ck_assert(r_same(d.t->h, SRC, DST, 300000));
    fake_host_advance(d.t->h, INT64_C(2000000));
    ck_assert(drained(&d));
    ck_assert_uint_eq(destroy(&d), 0);
    teardown(&d);
}
END_TEST

/* Its initiator is gone: the drain ends all the same. */
START_TEST(drain_cuts_off)
{
    Dc d = setup();

    half_a_message(&d);
    r_set_state(&d.t->a, MLX5_QP_STATE_ERR);
    fake_host_work(d.t->h);
    drain(&d);
    fake_host_advance(d.t->h, INT64_C(400000000));
    ck_assert(!drained(&d));
    fake_host_advance(d.t->h, INT64_C(200000000));
    ck_assert(drained(&d));
    recv_failed(&d, &d.x, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
    ck_assert_uint_eq(destroy(&d), 0);
    teardown(&d);
}
END_TEST

/* A message given up leaves its receive to the next. */
START_TEST(message_given_up)
{
    Dc d = setup();
    RQp *a = &d.t->a;
    RWqe w;

    half_a_message(&d);
    r_set_state(a, MLX5_QP_STATE_RST);
    a->sq_pi = 0;
    fake_mem_set_be32(d.t->h, a->dbr + 4, 0);
    r_up(a, 0, 0, 77);
    w = send_wqe(&d, &d.x, 500);
    r_post(a, &w);
    r_sent(a, 0, MLX5_OPCODE_SEND);
    received(&d, &d.x, 0, MLX5_CQE_RESP_SEND, 500);
    teardown(&d);
}
END_TEST

/* Everything goes at once, messages on their way. */
START_TEST(freed_with_message_on_its_way)
{
    Dc d = setup();

    half_a_message(&d);
    teardown(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dc");
    TCase *tc = tcase_create("dc");
    int n = G_N_ELEMENTS(lengths);

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, send_message, 0, n);
    tcase_add_test(tc, send_imm);
    tcase_add_loop_test(tc, rdma_write, 0, n);
    tcase_add_test(tc, write_imm);
    tcase_add_loop_test(tc, rdma_read, 0, n);
    tcase_add_test(tc, atomics);
    tcase_add_test(tc, atomics_of_4_bytes);
    tcase_add_test(tc, many_to_many);
    tcase_add_test(tc, batch);
    tcase_add_test(tc, into_the_completion);
    tcase_add_test(tc, receiver_not_ready);
    tcase_add_test(tc, wrong_key);
    tcase_add_test(tc, no_such_target);
    tcase_add_test(tc, bad_rkey);
    tcase_add_test(tc, no_write_permission);
    tcase_add_test(tc, receive_too_short);
    tcase_add_test(tc, receive_bad_lkey);
    tcase_add_test(tc, stream_stops_alone);
    tcase_add_test(tc, stream_remote_error_in_batch);
    tcase_add_test(tc, streams_errored_limit);
    tcase_add_test(tc, stream_malformed_ends_all);
    tcase_add_test(tc, stream_reset_refusals);
    tcase_add_test(tc, drain_idle);
    tcase_add_test(tc, drain_with_message_on_its_way);
    tcase_add_test(tc, drain_cuts_off);
    tcase_add_test(tc, message_given_up);
    tcase_add_test(tc, freed_with_message_on_its_way);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
