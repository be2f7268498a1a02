/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every code of the RNR timer and of the local ACK timeout, every number of
 * retries, to the nanosecond on the manual clock; and sequence numbers that
 * wrap at every place of an exchange with loss.
 */
#include "net/link.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)

/* IBA table 45, in 10 us. */
static const uint32_t rnr_10us[32] = {
    [0] = 65536, [1] = 1, [2] = 2, [3] = 3, [4] = 4, [5] = 6, [6] = 8,
    [7] = 12, [8] = 16, [9] = 24, [10] = 32, [11] = 48, [12] = 64, [13] = 96,
    [14] = 128, [15] = 192, [16] = 256, [17] = 384, [18] = 512, [19] = 768,
    [20] = 1024, [21] = 1536, [22] = 2048, [23] = 3072, [24] = 4096,
    [25] = 6144, [26] = 8192, [27] = 12288, [28] = 16384, [29] = 24576,
    [30] = 32768, [31] = 49152,
};

/* A link that counts requests and loses those that @lose says. */
static struct {
    unsigned requests;
    unsigned packets;
    unsigned lose_from, lose_to; /* packets, from 1; to: first that passes */
} wire;

static void link_fn(Mlx5Func *func, Mlx5Pkt *pkt)
{
    wire.packets++;
    wire.requests += !mlx5_pkt_is_response(pkt);
    if (wire.packets < wire.lose_from || wire.packets >= wire.lose_to) {
        mlx5_link_send(func, pkt);
    }
}

static RTest *connected(uint32_t psn)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    memset(&wire, 0, sizeof(wire));
    mlx5_rdma_set_link(t->h->func, link_fn);
    r_connect(t, psn);
    r_fill(t->h, SRC, 65536, 3);
    return t;
}

START_TEST(rnr_codes)
{
    RTest *t = connected(0xffffff);
    int64_t wait = rnr_10us[_i] * INT64_C(10000);

    R_QPC(&t->b, min_rnr_nak, _i);
    r_send(t, 64);
    for (unsigned n = 1; n <= 3; n++) {
        ck_assert_uint_eq(wire.requests, n);
        fake_host_advance(t->h, wait - 1);
        ck_assert_uint_eq(wire.requests, n);
        fake_host_advance(t->h, 1);
    }
    r_recv(&t->b, DST, 64);
    fake_host_advance(t->h, wait);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    r_free(t);
}
END_TEST

/* 4.096 us * 2^code (IBA 9.7.6.1.3). */
START_TEST(ack_timeouts)
{
    RTest *t = connected(0xfffffe);
    uint8_t *ads = MLX5_ADDR_OF(qpc, t->a.qp->qpc, primary_address_path);
    int64_t period = INT64_C(4096) << _i;

    MLX5_SET(ads, ads, ack_timeout, _i);
    wire.lose_from = 1;
    wire.lose_to = 3;
    r_recv(&t->b, DST, 64);
    r_send(t, 64);
    for (unsigned n = 1; n <= 2; n++) {
        ck_assert_uint_eq(wire.requests, n);
        fake_host_advance(t->h, period - 1);
        ck_assert_uint_eq(wire.requests, n);
        fake_host_advance(t->h, 1);
    }
    ck_assert_uint_eq(wire.requests, 3);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    r_free(t);
}
END_TEST

/* retry_count times again after the first, then the error. */
START_TEST(retry_counts)
{
    RTest *t = connected(5);
    int64_t period = INT64_C(4096) << 14;

    R_QPC(&t->a, retry_count, _i);
    t->a.qp->engine->req.retries = _i;
    wire.lose_from = 1;
    wire.lose_to = UINT_MAX;
    r_send(t, 64);
    for (int n = 0; n < _i; n++) {
        fake_host_advance(t->h, period);
        r_quiet(&t->a);
    }
    ck_assert_uint_eq(wire.requests, 1 + _i);
    fake_host_advance(t->h, period);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    r_free(t);
}
END_TEST

/* rnr_retry times again; 7 is for ever. */
START_TEST(rnr_retry_counts)
{
    RTest *t = connected(5);
    int64_t wait = 64 * 10000;

    R_QPC(&t->a, rnr_retry, _i);
    t->a.qp->engine->req.rnr_retries = _i;
    r_send(t, 64);
    fake_host_advance(t->h, _i * wait);
    ck_assert_uint_eq(wire.requests, 1 + _i);
    if (_i == 7) {
        fake_host_advance(t->h, 100 * wait);
        r_quiet(&t->a);
    } else {
        r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR,
                 MLX5_VENDOR_RNR_EXCEEDED);
    }
    r_free(t);
}
END_TEST

/* --- sequence numbers that wrap --- */

static void post(RTest *t, uint8_t opcode, uint64_t off, uint32_t len)
{
    RWqe w = r_wqe(opcode);

    if (opcode != MLX5_OPCODE_SEND) {
        r_raddr(&w, opcode == MLX5_OPCODE_RDMA_READ ? SRC : DST + off, t->key);
    }
    if (opcode == MLX5_OPCODE_ATOMIC_FA) {
        r_atomic(&w, 1, 0);
    }
    r_data(&w, opcode == MLX5_OPCODE_RDMA_READ ||
               opcode == MLX5_OPCODE_ATOMIC_FA ? DST + off + 0x10000 : SRC,
           len, t->key);
    r_put(&t->a, &w);
}

/*
 * Four kinds of requests, 11 numbers, one packet lost: the numbers wrap at
 * each place in turn, before and after what is lost.
 */
static void exchange(uint32_t psn, unsigned lost)
{
    static const uint8_t opcode[] = {
        MLX5_OPCODE_SEND, MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_RDMA_WRITE,
        MLX5_OPCODE_ATOMIC_FA,
    };
    RTest *t = connected(psn & MLX5_PSN_MASK);
    uint64_t sum = 0;

    wire.lose_from = lost;
    wire.lose_to = lost + 1;
    r_recv(&t->b, DST, 3000);
    post(t, MLX5_OPCODE_SEND, 0, 3000);
    post(t, MLX5_OPCODE_RDMA_READ, 0x100000, 4000);
    post(t, MLX5_OPCODE_RDMA_WRITE, 0x200000, 2500);
    post(t, MLX5_OPCODE_ATOMIC_FA, 0x300000, 8);
    r_ring(&t->a);
    fake_host_work(t->h);
    fake_host_advance(t->h, INT64_C(5) * (4096 << 14));
    for (size_t i = 0; i < G_N_ELEMENTS(opcode); i++) {
        uint8_t cqe[64];

        ck_assert(r_poll(&t->a, &t->a.scq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, send_wqe_opcode), opcode[i]);
    }
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 3000);
    r_quiet(&t->b);
    ck_assert(r_same(t->h, SRC, DST, 3000));
    ck_assert(r_same(t->h, SRC, DST + 0x110000, 4000));
    ck_assert(r_same(t->h, SRC, DST + 0x200000, 2500));
    fake_mem_read(t->h, DST + 0x300000, &sum, 8);
    ck_assert_uint_eq(GUINT64_FROM_LE(sum), 1);
    ck_assert_uint_eq(t->a.qp->engine->req.una, (psn + 11) & MLX5_PSN_MASK);
    ck_assert_uint_eq(t->b.qp->engine->resp.epsn, (psn + 11) & MLX5_PSN_MASK);
    r_free(t);
}

START_TEST(psn_wraps)
{
    for (unsigned lost = 0; lost <= 9; lost++) {
        exchange(0x1000000 - _i, lost);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timers");
    TCase *tc = tcase_create("timers");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, rnr_codes, 0, 32);
    tcase_add_loop_test(tc, ack_timeouts, 1, 32);
    tcase_add_loop_test(tc, retry_counts, 0, 8);
    tcase_add_loop_test(tc, rnr_retry_counts, 0, 8);
    tcase_add_loop_test(tc, psn_wraps, 0, 12);
    return t_main(s);
}
