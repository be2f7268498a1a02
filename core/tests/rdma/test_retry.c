/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that are lost, and receivers that are not ready, on the manual
 * clock: what is sent again, when, how often, and that nothing is done twice.
 */
#include "net/link.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)

/* A link that loses packets. */
static struct {
    unsigned sent;           /* packets offered */
    unsigned lose_at;        /* the n-th from 1, and ... */
    unsigned lose;           /* ... so many */
    unsigned one_in;         /* or one in so many, at random */
    uint32_t rng;
} wire;

static bool lose(void)
{
    wire.sent++;
    if (wire.one_in) {
        wire.rng = wire.rng * 1103515245 + 12345;
        return (wire.rng >> 16) % wire.one_in == 0;
    }
    return wire.lose_at && wire.sent >= wire.lose_at &&
           wire.sent < wire.lose_at + wire.lose;
}

static void lossy(Mlx5Func *func, Mlx5Pkt *pkt)
{
    if (!lose()) {
        mlx5_link_send(func, pkt);
    }
}

static RTest *connected(unsigned lose_at, unsigned n)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    memset(&wire, 0, sizeof(wire));
    wire.lose_at = lose_at;
    wire.lose = n;
    mlx5_rdma_set_link(t->h->func, lossy);
    r_connect(t, 0xfffffe);
    r_fill(t->h, SRC, 300000, 3);
    return t;
}

/* --- not ready --- */

START_TEST(rnr_then_ready)
{
    RTest *t = connected(0, 0);

    r_send(t, 5000);
    r_quiet(&t->a);
    fake_host_advance(t->h, R_RNR_WAIT_NS - 1000);
    ck_assert_uint_eq(wire.sent, 2);
    fake_host_advance(t->h, 1000);
    ck_assert_uint_eq(wire.sent, 4);
    r_recv(&t->b, DST, 5000);
    fake_host_advance(t->h, R_RNR_WAIT_NS);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 5000);
    ck_assert(r_same(t->h, SRC, DST, 5000));
    r_free(t);
}
END_TEST

START_TEST(rnr_exceeded)
{
    RTest *t = connected(0, 0);
    RWqe w = r_wqe(_i ? MLX5_OPCODE_RDMA_WRITE_IMM : MLX5_OPCODE_SEND);

    R_QPC(&t->a, rnr_retry, 2);
    t->a.qp->engine->req.rnr_retries = 2;
    if (_i) {
        r_raddr(&w, DST, t->key);
    }
    r_data(&w, SRC, 64, t->key);
    r_put(&t->a, &w);
    r_post(&t->a, &w);
    fake_host_advance(t->h, 2 * R_RNR_WAIT_NS - 1);
    r_quiet(&t->a);
    fake_host_advance(t->h, 1);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR,
             MLX5_VENDOR_RNR_EXCEEDED);
    r_flushed(&t->a, &t->a.scq, 1);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    r_free(t);
}
END_TEST

START_TEST(rnr_for_ever)
{
    RTest *t = connected(0, 0);

    r_send(t, 64);
    fake_host_advance(t->h, 1000 * R_RNR_WAIT_NS);
    r_quiet(&t->a);
    ck_assert_uint_ge(wire.sent, 2 * 990);
    r_recv(&t->b, DST, 64);
    fake_host_advance(t->h, R_RNR_WAIT_NS);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_free(t);
}
END_TEST

/* Only the message that found no receive waits; those before are done. */
START_TEST(rnr_in_the_middle)
{
    RTest *t = connected(0, 0);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_recv(&t->b, DST, 100);
    r_data(&w, SRC, 100, t->key);
    for (int i = 0; i < 4; i++) {
        r_put(&t->a, &w);
    }
    r_ring(&t->a);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 100);
    r_quiet(&t->a);
    for (int i = 1; i < 4; i++) {
        r_recv(&t->b, DST + i * 100, 100);
    }
    fake_host_advance(t->h, R_RNR_WAIT_NS);
    for (int i = 1; i < 4; i++) {
        r_sent(&t->a, i, MLX5_OPCODE_SEND);
        r_received(&t->b, i, MLX5_CQE_RESP_SEND, 100);
        ck_assert(r_same(t->h, SRC, DST + i * 100, 100));
    }
    r_quiet(&t->b);
    r_free(t);
}
END_TEST

/* --- lost --- */

/* The n-th packet of an exchange is lost; all comes right in the end. */
START_TEST(any_packet_lost)
{
    RTest *t = connected(_i + 1, 1);
    RWqe s = r_wqe(MLX5_OPCODE_SEND), w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    RWqe r = r_wqe(MLX5_OPCODE_RDMA_READ), f = r_wqe(MLX5_OPCODE_ATOMIC_FA);
    uint64_t v;

    r_recv(&t->b, DST, 200000);
    r_recv(&t->b, DST, 200000);
    r_data(&s, SRC, 200000, t->key);
    r_put(&t->a, &s);
    r_raddr(&w, DST + 0x100000, t->key);
    r_data(&w, SRC, 200000, t->key);
    r_put(&t->a, &w);
    r_raddr(&f, DST + 0x300000, t->key);
    r_atomic(&f, 5, 0);
    r_data(&f, DST + 0x300100, 8, t->key);
    r_put(&t->a, &f);
    r_raddr(&r, SRC, t->key);
    r_data(&r, DST + 0x200000, 200000, t->key);
    r_put(&t->a, &r);
    r_ring(&t->a);
    fake_host_work(t->h);
    fake_host_advance(t->h, 3 * R_ACK_PERIOD_NS);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&t->a, 2, MLX5_OPCODE_ATOMIC_FA);
    r_sent(&t->a, 3, MLX5_OPCODE_RDMA_READ);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 200000);
    r_quiet(&t->a);
    r_quiet(&t->b);
    ck_assert(r_same(t->h, SRC, DST, 200000));
    ck_assert(r_same(t->h, SRC, DST + 0x100000, 200000));
    ck_assert(r_same(t->h, SRC, DST + 0x200000, 200000));
    fake_mem_read(t->h, DST + 0x300000, &v, 8);
    ck_assert_uint_eq(GUINT64_FROM_LE(v), 5);
    fake_mem_read(t->h, DST + 0x300100, &v, 8);
    ck_assert_uint_eq(v, 0);
    ck_assert(wire.sent > (unsigned)_i);
    r_free(t);
}
END_TEST

/* Several reads are asked for again, none of which waits at the responder any
 * more: the answer to one must not take away that to another. */
START_TEST(any_read_lost)
{
    static const uint32_t len[] = { 200000, 1, 100000, 70000 };
    RTest *t = connected(_i + 1, 1);

    for (unsigned i = 0; i < G_N_ELEMENTS(len); i++) {
        RWqe r = r_wqe(MLX5_OPCODE_RDMA_READ);

        r_raddr(&r, SRC + i, t->key);
        r_data(&r, DST + i * 0x100000, len[i], t->key);
        r_put(&t->a, &r);
    }
    r_ring(&t->a);
    fake_host_work(t->h);
    fake_host_advance(t->h, 3 * R_ACK_PERIOD_NS);
    for (unsigned i = 0; i < G_N_ELEMENTS(len); i++) {
        r_sent(&t->a, i, MLX5_OPCODE_RDMA_READ);
        ck_assert(r_same(t->h, SRC + i, DST + i * 0x100000, len[i]));
    }
    r_quiet(&t->a);
    ck_assert(wire.sent > (unsigned)_i);
    r_free(t);
}
END_TEST

/* A peer that never answers: one try and retry_count more. */
START_TEST(retries_exceeded)
{
    RTest *t = connected(1, 1000);

    t->a.qp->engine->req.retries = 3;
    r_send(t, 10);
    r_send(t, 10);
    ck_assert_uint_eq(wire.sent, 2);
    fake_host_advance(t->h, 4 * R_ACK_PERIOD_NS - 1000);
    r_quiet(&t->a);
    fake_host_advance(t->h, 2000);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    r_flushed(&t->a, &t->a.scq, 1);
    ck_assert_uint_eq(wire.sent, 8);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_ERR);
    r_free(t);
}
END_TEST

/* ack_timeout 0 means for ever. */
START_TEST(no_timeout)
{
    RTest *t = connected(1, 1);
    uint8_t *ads = MLX5_ADDR_OF(qpc, t->a.qp->qpc, primary_address_path);

    MLX5_SET(ads, ads, ack_timeout, 0);
    r_send(t, 10);
    fake_host_advance(t->h, 1000 * R_ACK_PERIOD_NS);
    r_quiet(&t->a);
    ck_assert_uint_eq(wire.sent, 1);
    r_free(t);
}
END_TEST

/* Nothing outstanding: no timer, no cost. */
START_TEST(idle_costs_nothing)
{
    RTest *t = connected(0, 0);

    r_recv(&t->b, DST, 64);
    r_send(t, 64);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    ck_assert(!mlx5_timer_armed(&t->a.qp->engine->req.timer));
    ck_assert_uint_eq(t->h->func->timers.heap->len, 0);
    ck_assert(g_queue_is_empty(&t->h->func->work.queue));
    r_free(t);
}
END_TEST

START_TEST(peer_in_reset)
{
    RTest *t = connected(0, 0);

    r_set_state(&t->b, MLX5_QP_STATE_RST);
    r_send(t, 10);
    fake_host_advance(t->h, 20 * R_ACK_PERIOD_NS);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    r_free(t);
}
END_TEST

/* A packet whose source GID is not the peer's is nobody's. */
START_TEST(stranger)
{
    RTest *t = connected(0, 0);
    uint8_t *ads = MLX5_ADDR_OF(qpc, t->b.qp->qpc, primary_address_path);

    ads[MLX5_BYTE_OFF(ads, rgid_rip) + 8] ^= 1;
    r_recv(&t->b, DST, 64);
    r_send(t, 10);
    fake_host_advance(t->h, 20 * R_ACK_PERIOD_NS);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    r_quiet(&t->b);
    r_free(t);
}
END_TEST

/* Deleting the source GID: nothing leaves, retries run out. */
START_TEST(no_source_gid)
{
    RTest *t = connected(0, 0);
    TestCmd c = { 0 };

    MLX5_SET(set_roce_address_in, c.in, vhca_port_num, 1);
    t_ok(t->h, &c, mlx5_cmd_set_roce_address,
         MLX5_ST_SZ_BYTES(set_roce_address_in));
    r_send(t, 10);
    fake_host_advance(t->h, 20 * R_ACK_PERIOD_NS);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    ck_assert_uint_eq(wire.sent, 0);
    r_free(t);
}
END_TEST

static void post_random(RTest *t, uint32_t *rng)
{
    static const uint8_t ops[] = { MLX5_OPCODE_SEND, MLX5_OPCODE_RDMA_WRITE,
                                   MLX5_OPCODE_RDMA_READ,
                                   MLX5_OPCODE_RDMA_WRITE_IMM,
                                   MLX5_OPCODE_ATOMIC_FA };
    uint8_t op = ops[(*rng = *rng * 69069 + 1) % 5];
    RWqe w = r_wqe(op);
    uint32_t len = (*rng >> 8) % 150000;

    if (op != MLX5_OPCODE_SEND) {
        r_raddr(&w, op == MLX5_OPCODE_ATOMIC_FA ? DST + 0x800000 : DST,
                t->key);
    }
    if (op == MLX5_OPCODE_ATOMIC_FA) {
        r_atomic(&w, 1, 0);
        len = 8;
    }
    if (op == MLX5_OPCODE_SEND || op == MLX5_OPCODE_RDMA_WRITE_IMM) {
        r_recv(&t->b, DST + 0x400000, 150000);
    }
    if (len) {
        r_data(&w, op == MLX5_OPCODE_RDMA_READ || len == 8 ? SRC + 0x400000
                                                           : SRC, len,
               t->key);
    }
    r_post(&t->a, &w);
}

/* One in ten packets is lost, either way, with up to four operations on their
 * way: none fails or repeats. */
START_TEST(bad_weather)
{
    RTest *t = connected(0, 0);
    uint32_t rng = _i * 7919 + 1, adds = 0;
    uint64_t v;

    wire.one_in = 10;
    wire.rng = _i;
    for (int i = 0, posted = 0; i < 300; i++) {
        uint8_t cqe[64];
        int rounds = 0;

        for (int ahead = (rng >> 16) % 4;
             posted < 300 && posted <= i + ahead; posted++) {
            post_random(t, &rng);
        }
        while (!r_poll(&t->a, &t->a.scq, cqe)) {
            fake_host_advance(t->h, R_ACK_PERIOD_NS);
            ck_assert_int_lt(rounds++, 40);
        }
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
        adds += MLX5_GET(cqe64, cqe, send_wqe_opcode) ==
                MLX5_OPCODE_ATOMIC_FA;
        while (r_poll(&t->b, &t->b.rcq, cqe)) {
            ck_assert_uint_ne(MLX5_GET(cqe64, cqe, opcode),
                              MLX5_CQE_RESP_ERR);
        }
    }
    ck_assert_uint_eq(t->b.qp->rq_consumed, t->b.rq_pi);
    fake_mem_read(t->h, DST + 0x800000, &v, 8);
    ck_assert_uint_eq(GUINT64_FROM_LE(v), adds);
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("retry");
    TCase *tc = tcase_create("retry");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, rnr_then_ready);
    tcase_add_loop_test(tc, rnr_exceeded, 0, 2);
    tcase_add_test(tc, rnr_for_ever);
    tcase_add_test(tc, rnr_in_the_middle);
    tcase_add_loop_test(tc, any_packet_lost, 0, 16);
    tcase_add_loop_test(tc, any_read_lost, 0, 13);
    tcase_add_test(tc, retries_exceeded);
    tcase_add_test(tc, no_timeout);
    tcase_add_test(tc, idle_costs_nothing);
    tcase_add_test(tc, peer_in_reset);
    tcase_add_test(tc, stranger);
    tcase_add_test(tc, no_source_gid);
    tcase_add_loop_test(tc, bad_weather, 0, 6);
    return t_main(s);
}
