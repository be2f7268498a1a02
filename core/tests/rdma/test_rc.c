/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reliable connection between two queue pairs of a function: every operation,
 * sizes around the MTU and the page, rings that wrap, numbers that wrap.
 */
#include "fw/fw.h"
#include "tests/rdma/rdma_helper.h"

#define SRC (R_DATA + 123)
#define DST (R_DATA + 0x40000000 + 77)
#define BACK (R_DATA + 0x80000000 + 4001)

static RTest *connected(void)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    r_connect(t, 0x100);
    return t;
}

static void done(RTest *t)
{
    r_quiet(&t->a);
    r_quiet(&t->b);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_RTS);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    r_free(t);
}

static void write_at(RQp *q, uint64_t src, uint64_t dst, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    uint16_t counter = q->sq_pi;

    r_raddr(&w, dst, q->t->key);
    if (len) {
        r_data(&w, src, len, q->t->key);
    }
    r_post(q, &w);
    r_sent(q, counter, MLX5_OPCODE_RDMA_WRITE);
}

static void read_at(RQp *q, uint64_t dst, uint64_t src, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);
    uint16_t counter = q->sq_pi;

    r_raddr(&w, src, q->t->key);
    if (len) {
        r_data(&w, dst, len, q->t->key);
    }
    r_post(q, &w);
    r_sent(q, counter, MLX5_OPCODE_RDMA_READ);
}

static void send_to(RQp *from, RQp *to, uint64_t src, uint64_t dst,
                    uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint16_t counter = from->sq_pi, at = to->rq_pi;

    r_recv(to, dst, len + 1);
    if (len) {
        r_data(&w, src, len, from->t->key);
    }
    r_post(from, &w);
    r_sent(from, counter, MLX5_OPCODE_SEND);
    r_received(to, at, MLX5_CQE_RESP_SEND, len);
}

/* Around: nothing, one, the MTU (1024), the page, the packet. */
static const uint32_t sizes[] = {
    0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2049,
    4095, 4096, 4097, 8191, 8192, 8193, 9000, 65535, 65536, 65537, 131071,
    131072, 131073, 1000003,
};

START_TEST(all_sizes)
{
    RTest *t = connected();
    uint32_t len = sizes[_i];
    uint32_t psn = 0x100;

    r_fill(t->h, SRC, len, _i);
    write_at(&t->a, SRC, DST, len);
    ck_assert(r_same(t->h, SRC, DST, len));
    read_at(&t->a, BACK, DST, len);
    ck_assert(r_same(t->h, SRC, BACK, len));
    r_fill(t->h, SRC, len, _i + 100);
    send_to(&t->a, &t->b, SRC, DST, len);
    ck_assert(r_same(t->h, SRC, DST, len));
    send_to(&t->b, &t->a, DST, BACK, len);
    ck_assert(r_same(t->h, SRC, BACK, len));
    psn += 3 * MAX(1, (len + 1023) / 1024);
    ck_assert_uint_eq(t->a.qp->engine->req.next_psn, psn);
    ck_assert_uint_eq(t->a.qp->engine->req.una, psn);
    ck_assert_uint_eq(t->b.qp->engine->resp.epsn, psn);
    ck_assert_uint_eq(t->b.qp->engine->resp.msn, 3);
    done(t);
}
END_TEST

/* Sequence numbers count packets of the path MTU, whatever it is. */
START_TEST(every_mtu)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint32_t mtu = 128u << _i;

    R_QPC(&t->a, mtu, _i);
    R_QPC(&t->b, mtu, _i);
    r_connect(t, 0);
    r_fill(t->h, SRC, 100000, _i);
    write_at(&t->a, SRC, DST, 100000);
    ck_assert(r_same(t->h, SRC, DST, 100000));
    ck_assert_uint_eq(t->b.qp->engine->resp.epsn, (100000 + mtu - 1) / mtu);
    done(t);
}
END_TEST

/* A message of one packet at both ends does not tell that they differ. */
START_TEST(other_mtu_short)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    R_QPC(&t->a, mtu, 5);
    R_QPC(&t->b, mtu, 2);
    r_connect(t, 0);
    r_fill(t->h, SRC, 512, 1);
    write_at(&t->a, SRC, DST, 512);
    ck_assert(r_same(t->h, SRC, DST, 512));
    done(t);
}
END_TEST

START_TEST(immediate)
{
    RTest *t = connected();
    RWqe s = r_wqe(MLX5_OPCODE_SEND_IMM), w = r_wqe(MLX5_OPCODE_RDMA_WRITE_IMM);

    r_fill(t->h, SRC, 5000, 3);
    r_recv(&t->b, DST, 5000);
    r_recv(&t->b, DST, 0x10);
    MLX5_SET(wqe_ctrl, s.b, general_id, 0x01020304);
    r_data(&s, SRC, 5000, t->key);
    r_post(&t->a, &s);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_IMM);
    ck_assert_uint_eq(r_received(&t->b, 0, MLX5_CQE_RESP_SEND_IMM, 5000),
                      0x01020304);
    MLX5_SET(wqe_ctrl, w.b, general_id, 0xfffefdfc);
    r_raddr(&w, BACK, t->key);
    r_data(&w, SRC, 5000, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_WRITE_IMM);
    ck_assert_uint_eq(r_received(&t->b, 1, MLX5_CQE_RESP_WR_IMM, 5000),
                      0xfffefdfc);
    ck_assert(r_same(t->h, SRC, DST, 5000));
    ck_assert(r_same(t->h, SRC, BACK, 5000));
    done(t);
}
END_TEST

/* No bytes: neither key is looked at (IBA C9-88). */
START_TEST(empty_with_wild_key)
{
    RTest *t = connected();
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE), r = r_wqe(MLX5_OPCODE_RDMA_READ);

    r_raddr(&w, 0x1234, 0xdead00);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_raddr(&r, 0x1234, 0xdead00);
    r_post(&t->a, &r);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_READ);
    done(t);
}
END_TEST

START_TEST(many_pieces)
{
    RTest *t = connected();
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE), r = r_wqe(MLX5_OPCODE_RDMA_READ);
    uint64_t at = SRC, back = BACK;
    uint32_t total = 0;

    r_raddr(&w, DST, t->key);
    r_raddr(&r, DST, t->key);
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t len = 1 + i * 331;

        r_fill(t->h, at, len, i);
        r_data(&w, at, len, t->key);
        r_data(&r, back, len, t->key);
        at += len + 5000;
        back += len + 77;
        total += len;
    }
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_post(&t->a, &r);
    r_sent(&t->a, 8, MLX5_OPCODE_RDMA_READ);
    at = SRC;
    back = BACK;
    for (uint32_t i = 0, off = 0; i < 30; i++) {
        uint32_t len = 1 + i * 331;

        ck_assert(r_same(t->h, at, DST + off, len));
        ck_assert(r_same(t->h, at, back, len));
        at += len + 5000;
        back += len + 77;
        off += len;
    }
    ck_assert_uint_eq(total, 30 + 331 * 435);
    done(t);
}
END_TEST

/* Receives of several pieces, smaller than a packet. */
START_TEST(scattered_receive)
{
    RTest *t = connected();
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    Mlx5WqeData sg[4] = {
        { .addr = DST, .len = 100, .lkey = t->key },
        { .addr = DST + 0x10000, .len = 1, .lkey = t->key },
        { .addr = DST + 0x20000, .len = 9000, .lkey = t->key },
        { .addr = DST + 0x30000, .len = 70000, .lkey = t->key },
    };

    r_fill(t->h, SRC, 79101, 9);
    r_recv_sg(&t->b, sg, 4);
    r_data(&w, SRC, 79101, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 79101);
    ck_assert(r_same(t->h, SRC, DST, 100));
    ck_assert(r_same(t->h, SRC + 100, DST + 0x10000, 1));
    ck_assert(r_same(t->h, SRC + 101, DST + 0x20000, 9000));
    ck_assert(r_same(t->h, SRC + 9101, DST + 0x30000, 70000));
    done(t);
}
END_TEST

START_TEST(inline_data)
{
    RTest *t = connected();
    uint8_t bytes[900];
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    for (uint32_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = i * 5 + 1;
    }
    fake_mem_write(t->h, SRC, bytes, sizeof(bytes));
    r_raddr(&w, DST, t->key);
    r_inline(&w, bytes, sizeof(bytes));
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, SRC, DST, sizeof(bytes)));
    done(t);
}
END_TEST

START_TEST(inline_among_pointers)
{
    RTest *t = connected();
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_fill(t->h, SRC, 200000, 8);
    fake_mem_write(t->h, SRC + 70000, "hello, wire", 11);
    r_raddr(&w, DST, t->key);
    r_data(&w, SRC, 70000, t->key);
    r_inline(&w, "hello, wire", 11);
    r_data(&w, SRC + 70011, 100000, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, SRC, DST, 170011));
    done(t);
}
END_TEST

static uint64_t atomic(RTest *t, uint8_t opcode, uint64_t swap_add,
                       uint64_t compare)
{
    RWqe w = r_wqe(opcode);
    uint16_t counter = t->a.sq_pi;
    uint64_t got;

    r_raddr(&w, DST - 77, t->key);
    r_atomic(&w, swap_add, compare);
    r_data(&w, BACK, 8, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, counter, opcode);
    fake_mem_read(t->h, BACK, &got, 8);
    return GUINT64_FROM_BE(got); /* nobody asked for another order */
}

static uint64_t target(RTest *t)
{
    uint64_t v;

    fake_mem_read(t->h, DST - 77, &v, 8);
    return GUINT64_FROM_LE(v);
}

START_TEST(atomics)
{
    RTest *t = connected();
    uint64_t v = GUINT64_TO_LE(UINT64_C(0xfffffffffffffff0));

    fake_mem_write(t->h, DST - 77, &v, 8);
    ck_assert_uint_eq(atomic(t, MLX5_OPCODE_ATOMIC_FA, 0x20, 0),
                      UINT64_C(0xfffffffffffffff0));
    ck_assert_uint_eq(target(t), 0x10);
    ck_assert_uint_eq(atomic(t, MLX5_OPCODE_ATOMIC_CS, 0x77, 0x11), 0x10);
    ck_assert_uint_eq(target(t), 0x10);
    ck_assert_uint_eq(atomic(t, MLX5_OPCODE_ATOMIC_CS,
                             UINT64_C(0x1122334455667788), 0x10), 0x10);
    ck_assert_uint_eq(target(t), UINT64_C(0x1122334455667788));
    done(t);
}
END_TEST

static void masked(RTest *t, uint8_t opcode, uint64_t swap_add,
                   uint64_t compare, uint64_t swap_mask, uint64_t compare_mask)
{
    RWqe w = r_wqe(opcode);
    uint8_t *p;

    r_raddr(&w, DST - 77, t->key);
    p = w.b + w.len;
    MLX5_SET(wqe_masked_atomic, p, swap_or_add_data, swap_add);
    MLX5_SET(wqe_masked_atomic, p, compare_data, compare);
    MLX5_SET(wqe_masked_atomic, p, swap_or_add_mask, swap_mask);
    MLX5_SET(wqe_masked_atomic, p, compare_mask, compare_mask);
    w.len += 32;
    r_data(&w, BACK, 8, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, t->a.sq_pi - 2, opcode);
}

START_TEST(masked_atomics)
{
    RTest *t = connected();
    uint64_t v = GUINT64_TO_LE(UINT64_C(0x00ff00ff12345678));

    fake_mem_write(t->h, DST - 77, &v, 8);
    /* Compare the low half only; swap the top byte only. */
    masked(t, MLX5_OPCODE_ATOMIC_MASKED_CS, UINT64_C(0xab00000000000000),
           0x12345678, UINT64_C(0xff00000000000000), 0xffffffff);
    ck_assert_uint_eq(target(t), UINT64_C(0xabff00ff12345678));
    /* Bytes add without carrying into the next. */
    masked(t, MLX5_OPCODE_ATOMIC_MASKED_FA, UINT64_C(0x0101010101010101), 0,
           UINT64_C(0x8080808080808080), 0);
    ck_assert_uint_eq(target(t), UINT64_C(0xac00010013355779));
    done(t);
}
END_TEST

/* Each queue's completions show the clock that it asked for. */
START_TEST(time_stamps)
{
    RTest *t = connected();
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t cqe[64];

    t->b.qp->real_time = true;
    fake_host_advance(t->h, 5000);
    r_recv(&t->b, DST, 64);
    r_data(&w, SRC, 64, t->key);
    r_post(&t->a, &w);
    ck_assert(r_poll(&t->a, &t->a.scq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, timestamp), t->h->now_ns);
    ck_assert(r_poll(&t->b, &t->b.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, timestamp),
                      mlx5_fw_real_time(t->h->func));
    ck_assert_uint_ne(mlx5_fw_real_time(t->h->func), (uint64_t)t->h->now_ns);
    done(t);
}
END_TEST

/* Only what asks for a completion gets one; an index is a basic block's. */
START_TEST(unsignalled)
{
    RTest *t = connected();

    for (uint32_t i = 0; i < 10; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

        MLX5_SET(wqe_ctrl, w.b, ce, i == 9 ? 2 : 0);
        r_raddr(&w, DST, t->key);
        r_data(&w, SRC, 64, t->key);
        r_data(&w, SRC, 64, t->key);
        r_data(&w, SRC, 64, t->key);
        r_put(&t->a, &w);
    }
    r_ring(&t->a);
    fake_host_work(t->h);
    r_sent(&t->a, 18, MLX5_OPCODE_RDMA_WRITE);
    done(t);
}
END_TEST

START_TEST(nop)
{
    RTest *t = connected();

    for (uint32_t i = 0; i < 300; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_NOP);

        r_post(&t->a, &w);
        r_sent(&t->a, i, MLX5_OPCODE_NOP);
    }
    done(t);
}
END_TEST

/* WQEs of several blocks, round the ring's end, past 65535 blocks. */
START_TEST(rings_wrap)
{
    RTest *t = connected();

    r_fill(t->h, SRC, 4096, 5);
    for (uint32_t i = 0; i < 24000; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_SEND);
        uint16_t counter = t->a.sq_pi, at = t->b.rq_pi;

        for (uint32_t k = 0; k < 9; k++) {
            r_data(&w, SRC + k * 10, 10, t->key);
        }
        r_recv(&t->b, DST, 90);
        r_post(&t->a, &w);
        r_sent(&t->a, counter, MLX5_OPCODE_SEND);
        r_received(&t->b, at, MLX5_CQE_RESP_SEND, 90);
    }
    ck_assert(r_same(t->h, SRC, DST, 90));
    done(t);
}
END_TEST

START_TEST(sequence_wraps)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    r_connect(t, 0xfffff0);
    r_fill(t->h, SRC, 100000, 6);
    write_at(&t->a, SRC, DST, 10000);
    write_at(&t->a, SRC, DST, 100000);
    ck_assert(r_same(t->h, SRC, DST, 100000));
    ck_assert_uint_eq(t->a.qp->engine->req.next_psn, 0x5c);
    ck_assert_uint_eq(t->b.qp->engine->resp.epsn, 0x5c);
    done(t);
}
END_TEST

/* The largest message, through keys whose pages all are the same. */
START_TEST(two_gibibytes)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t src[128], dst[128];
    uint32_t skey, dkey;
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    for (int i = 0; i < 128; i++) {
        src[i] = R_DATA;
        dst[i] = R_DATA + 0x1000000;
    }
    skey = t_mkey_mtt(t->h, t->pdn, 0, UINT64_C(1) << 31, 24,
                      T_ALL_ACCESS, src, 128);
    dkey = t_mkey_mtt(t->h, t->pdn, 0, UINT64_C(1) << 31, 24,
                      T_ALL_ACCESS, dst, 128);
    r_connect(t, 1);
    r_fill(t->h, R_DATA, 1 << 24, 11);
    r_raddr(&w, 0, dkey);
    r_data(&w, 0, 0, skey);      /* a count of 0 is 2^31 */
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, R_DATA, R_DATA + 0x1000000, 1 << 24));
    ck_assert_uint_eq(t->a.qp->engine->req.next_psn, 1 + (1 << 21));
    done(t);
}
END_TEST

/* Many reads at once, then a write: answers come in order. */
START_TEST(reads_in_order)
{
    RTest *t = connected();

    r_fill(t->h, SRC, 3000000, 12);
    for (uint32_t i = 0; i < 20; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);

        r_raddr(&w, SRC + i * 100000, t->key);
        r_data(&w, BACK + i * 100000, 100000, t->key);
        r_put(&t->a, &w);
    }
    {
        RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

        r_raddr(&w, DST, t->key);
        r_data(&w, SRC, 1000, t->key);
        r_put(&t->a, &w);
    }
    r_ring(&t->a);
    fake_host_work(t->h);
    for (uint32_t i = 0; i < 20; i++) {
        r_sent(&t->a, i, MLX5_OPCODE_RDMA_READ);
    }
    r_sent(&t->a, 20, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, SRC, BACK, 2000000));
    ck_assert(r_same(t->h, SRC, DST, 1000));
    done(t);
}
END_TEST

/* A fenced request waits for the reads before it. */
START_TEST(fence)
{
    RTest *t = connected();
    RWqe r = r_wqe(MLX5_OPCODE_RDMA_READ), w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_fill(t->h, SRC, 400000, 13);
    r_raddr(&r, SRC, t->key);
    r_data(&r, BACK, 400000, t->key);
    r_put(&t->a, &r);
    /* Sends on what the read brings, which only a fence makes sure of. */
    MLX5_SET(wqe_ctrl, w.b, fm, 2);
    r_raddr(&w, DST, t->key);
    r_data(&w, BACK, 400000, t->key);
    r_put(&t->a, &w);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_READ);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, SRC, DST, 400000));
    done(t);
}
END_TEST

START_TEST(solicited)
{
    RTest *t = connected();
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t cqe[64];

    MLX5_SET(wqe_ctrl, w.b, se, 1);
    r_recv(&t->b, DST, 8);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    ck_assert(r_poll(&t->b, &t->b.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, se), 1);
    done(t);
}
END_TEST

START_TEST(send_invalidate)
{
    RTest *t = connected();
    TestCmd c = { 0 };
    uint32_t key;
    RWqe w = r_wqe(MLX5_OPCODE_SEND_INVAL);
    Mlx5Mkey *mkey;

    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_PA, t->pdn, 0, 0, T_ALL_ACCESS);
    MLX5_SET(mkc, T_MKC(&c), length64, 1);
    MLX5_SET(mkc, T_MKC(&c), en_rinval, 1);
    key = t_mkey_create(t->h, &c, t_mkey_len(&c, 0, 0));
    mkey = mlx5_mkey_find(t->h->func, key);
    ck_assert(mkey && !mkey->free);
    r_recv(&t->b, DST, 8);
    MLX5_SET(wqe_ctrl, w.b, general_id, key);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_INVAL);
    ck_assert_uint_eq(r_received(&t->b, 0, MLX5_CQE_RESP_SEND_INV, 0), key);
    ck_assert(mkey->free);
    done(t);
}
END_TEST

/* Both directions at once, from one ring of the doorbell. */
START_TEST(to_itself)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    r_up(&t->a, t->a.qp->o.id, 5, 5);
    r_up(&t->b, t->b.qp->o.id, 5, 5);
    r_fill(t->h, SRC, 200000, 14);
    write_at(&t->a, SRC, DST, 200000);
    read_at(&t->a, BACK, DST, 200000);
    ck_assert(r_same(t->h, SRC, BACK, 200000));
    done(t);
}
END_TEST

/* Data before the consumer moved the QP to RTS: told once. */
START_TEST(communication_established)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    r_up(&t->a, t->b.qp->o.id, 7, 7);
    R_QPC(&t->b, remote_qpn, t->a.qp->o.id);
    R_QPC(&t->b, next_rcv_psn, 7);
    r_set_state(&t->b, MLX5_QP_STATE_INIT);
    r_set_state(&t->b, MLX5_QP_STATE_RTR);
    write_at(&t->a, SRC, DST, 1);
    write_at(&t->a, SRC, DST, 1);
    ck_assert_uint_eq(r_event(t, MLX5_EVENT_TYPE_COMM_EST), t->b.qp->o.id);
    ck_assert_uint_eq(r_event(t, MLX5_EVENT_TYPE_COMM_EST), 0);
    r_set_state(&t->b, MLX5_QP_STATE_RTS);
    done(t);
}
END_TEST

START_TEST(queried)
{
    RTest *t = connected();

    write_at(&t->a, SRC, DST, 3000);
    mlx5_func_lock(t->h->func);
    t->h->func->engine->qp_query(t->a.qp);
    t->h->func->engine->qp_query(t->b.qp);
    mlx5_func_unlock(t->h->func);
    ck_assert_uint_eq(MLX5_GET(qpc, t->a.qp->qpc, next_send_psn), 0x103);
    ck_assert_uint_eq(MLX5_GET(qpc, t->a.qp->qpc, last_acked_psn), 0x102);
    ck_assert_uint_eq(MLX5_GET(qpc, t->a.qp->qpc, hw_sq_wqebb_counter), 1);
    ck_assert_uint_eq(MLX5_GET(qpc, t->b.qp->qpc, next_rcv_psn), 0x103);
    done(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rc");
    TCase *tc = tcase_create("rc");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, all_sizes, 0, G_N_ELEMENTS(sizes));
    tcase_add_loop_test(tc, every_mtu, 1, 6);
    tcase_add_test(tc, other_mtu_short);
    tcase_add_test(tc, immediate);
    tcase_add_test(tc, empty_with_wild_key);
    tcase_add_test(tc, many_pieces);
    tcase_add_test(tc, scattered_receive);
    tcase_add_test(tc, inline_data);
    tcase_add_test(tc, inline_among_pointers);
    tcase_add_test(tc, atomics);
    tcase_add_test(tc, masked_atomics);
    tcase_add_test(tc, time_stamps);
    tcase_add_test(tc, unsignalled);
    tcase_add_test(tc, nop);
    tcase_add_test(tc, rings_wrap);
    tcase_add_test(tc, sequence_wraps);
    tcase_add_test(tc, two_gibibytes);
    tcase_add_test(tc, reads_in_order);
    tcase_add_test(tc, fence);
    tcase_add_test(tc, solicited);
    tcase_add_test(tc, send_invalidate);
    tcase_add_test(tc, to_itself);
    tcase_add_test(tc, communication_established);
    tcase_add_test(tc, queried);
    return t_main(s);
}
