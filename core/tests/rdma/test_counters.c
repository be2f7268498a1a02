/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Q counters: what the engines count, where, and that nothing else moves.
 * Each side has a counter set of its own.
 */
#include "net/link.h"
#include "fw/vport.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)

static unsigned sent, lose_at;       /* the n-th packet from 1 is lost */

static void lossy(Mlx5Func *func, Mlx5Pkt *pkt)
{
    if (++sent != lose_at) {
        mlx5_link_send(func, pkt);
    }
}

static Mlx5QCounter *counter_set(RTest *t)
{
    return mlx5_q_counter_get(t->h->func,
                              t_alloc(t->h, mlx5_cmd_alloc_q_counter));
}

typedef struct Sets {
    RTest *t;
    Mlx5QCounter *a, *b;
} Sets;

static Sets connected(Mlx5QpSt st, unsigned lose)
{
    Sets s = { .t = r_new(st) };

    s.a = counter_set(s.t);
    s.b = counter_set(s.t);
    R_QPC(&s.t->a, counter_set_id, s.a->o.id);
    R_QPC(&s.t->b, counter_set_id, s.b->o.id);
    sent = 0;
    lose_at = lose;
    mlx5_rdma_set_link(s.t->h->func, lossy);
    r_connect(s.t, 0xfffffe);
    return s;
}

static void post(RTest *t, uint8_t opcode, uint32_t len, uint32_t lkey,
                 uint32_t rkey)
{
    const Mlx5WqeOp *op = mlx5_wqe_op(opcode);
    RWqe w = r_wqe(opcode);

    if (op->flags & MLX5_WQEF_RADDR) {
        r_raddr(&w, DST, rkey);
    }
    if (op->flags & MLX5_WQEF_ATOMIC) {
        r_atomic(&w, 1, 0);
        len = 8;
    }
    r_data(&w, SRC, len, lkey);
    r_post(&t->a, &w);
}

/* The set must hold these counts and no others: names and values by turns. */
static uint64_t total(const Mlx5QCounter *set)
{
    const uint32_t *p = &set->rx_write_requests;
    const uint32_t *end = (const uint32_t *)(set + 1);
    uint64_t sum = 0;

    while (p < end) {
        sum += *p++;
    }
    return sum;
}

#define ONLY1(set, f, n)                        \
    do {                                        \
        ck_assert_uint_eq((set)->f, n);         \
        ck_assert_uint_eq(total(set), n);       \
    } while (0)
#define ONLY2(set, f, n, g, m)                  \
    do {                                        \
        ck_assert_uint_eq((set)->f, n);         \
        ck_assert_uint_eq((set)->g, m);         \
        ck_assert_uint_eq(total(set), n + m);   \
    } while (0)

START_TEST(requests)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    post(s.t, MLX5_OPCODE_RDMA_WRITE, 200000, s.t->key, s.t->key);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 1, s.t->key, s.t->key);
    ONLY1(s.b, rx_write_requests, 2);
    post(s.t, MLX5_OPCODE_RDMA_READ, 200000, s.t->key, s.t->key);
    ONLY2(s.b, rx_write_requests, 2, rx_read_requests, 1);
    post(s.t, MLX5_OPCODE_ATOMIC_FA, 8, s.t->key, s.t->key);
    post(s.t, MLX5_OPCODE_ATOMIC_CS, 8, s.t->key, s.t->key);
    ck_assert_uint_eq(s.b->rx_atomic_requests, 2);
    ck_assert_uint_eq(total(s.b), 5);
    ck_assert_uint_eq(total(s.a), 0);
    r_free(s.t);
}
END_TEST

/* Packets and bytes of the port, as a wire would have them. */
START_TEST(port_traffic)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);
    Mlx5VportCounters *c = &mlx5_vport(s.t->h->func)->counters;
    /* Ethernet, IPv6, UDP, BTH, ICRC. */
    const uint64_t header = 14 + 40 + 8 + 12 + 4;
    uint64_t octets = 0;

    /* Five packets of a path MTU of 1024, and an acknowledgement. */
    r_recv(&s.t->b, DST, 5000);
    post(s.t, MLX5_OPCODE_SEND, 5000, s.t->key, 0);
    octets += 6 * header + 5000 + 4;
    ck_assert_uint_eq(c->transmitted_ib_unicast.packets, 6);
    ck_assert_uint_eq(c->transmitted_ib_unicast.octets, octets);
    /* One request, two responses, each with an AETH: the first, the last. */
    post(s.t, MLX5_OPCODE_RDMA_READ, 2000, s.t->key, s.t->key);
    octets += 3 * header + 16 + 2000 + 2 * 4;
    ck_assert_uint_eq(c->transmitted_ib_unicast.packets, 9);
    ck_assert_uint_eq(c->transmitted_ib_unicast.octets, octets);
    post(s.t, MLX5_OPCODE_ATOMIC_FA, 8, s.t->key, s.t->key);
    octets += 2 * header + 28 + 12;
    ck_assert_uint_eq(c->transmitted_ib_unicast.octets, octets);
    ck_assert_uint_eq(c->received_ib_unicast.packets, 11);
    ck_assert_uint_eq(c->received_ib_unicast.octets, octets);
    r_free(s.t);
}
END_TEST

START_TEST(not_ready)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    post(s.t, MLX5_OPCODE_SEND, 5000, s.t->key, 0);
    ONLY1(s.b, out_of_buffer, 1);
    ONLY1(s.a, rnr_nak_retry_err, 1);
    fake_host_advance(s.t->h, R_RNR_WAIT_NS);
    ONLY1(s.b, out_of_buffer, 2);
    ONLY1(s.a, rnr_nak_retry_err, 2);
    /* Two behind the one that waits: their arrival is nobody's surprise. */
    r_recv(&s.t->b, DST, 5000);
    fake_host_advance(s.t->h, R_RNR_WAIT_NS);
    r_sent(&s.t->a, 0, MLX5_OPCODE_SEND);
    ONLY1(s.b, out_of_buffer, 2);
    r_free(s.t);
}
END_TEST

START_TEST(rnr_exceeded)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    s.t->a.qp->engine->req.rnr_retries = 0;
    post(s.t, MLX5_OPCODE_SEND, 64, s.t->key, 0);
    ONLY1(s.b, out_of_buffer, 1);
    ONLY2(s.a, req_rnr_retries_exceeded, 1, req_cqe_error, 1);
    r_free(s.t);
}
END_TEST

/* Services that drop. */
START_TEST(dropped)
{
    Sets s = connected(_i ? MLX5_QP_ST_UD : MLX5_QP_ST_UC, 0);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    if (_i) {
        r_av(&w, s.t->b.qp->o.id, R_QKEY);
    }
    r_data(&w, SRC, 64, s.t->key);
    r_post(&s.t->a, &w);
    r_sent(&s.t->a, 0, MLX5_OPCODE_SEND);
    ONLY1(s.b, out_of_buffer, 1);
    ck_assert_uint_eq(total(s.a), 0);
    r_free(s.t);
}
END_TEST

/* The first of two writes is lost: the second is out of sequence. */
START_TEST(lost_request)
{
    Sets s = connected(MLX5_QP_ST_RC, 1);

    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    ONLY1(s.a, packet_seq_err, 1);
    ONLY2(s.b, out_of_sequence, 1, rx_write_requests, 2);
    r_free(s.t);
}
END_TEST

/* Its acknowledgement is lost: it is asked again, and known. */
START_TEST(lost_ack)
{
    Sets s = connected(MLX5_QP_ST_RC, 2);

    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    r_quiet(&s.t->a);
    fake_host_advance(s.t->h, 3 * R_ACK_PERIOD_NS);
    r_sent(&s.t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ONLY1(s.a, local_ack_timeout_err, 1);
    ONLY2(s.b, duplicate_request, 1, rx_write_requests, 1);
    r_free(s.t);
}
END_TEST

/* A read's data are lost; the ack of what follows tells (IBA 9.7.5.2.2). */
START_TEST(lost_read)
{
    Sets s = connected(MLX5_QP_ST_RC, 2);

    post(s.t, MLX5_OPCODE_RDMA_READ, 64, s.t->key, s.t->key);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    ONLY1(s.a, implied_nak_seq_err, 1);
    fake_host_advance(s.t->h, 3 * R_ACK_PERIOD_NS);
    r_sent(&s.t->a, 0, MLX5_OPCODE_RDMA_READ);
    r_sent(&s.t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    ONLY2(s.a, implied_nak_seq_err, 1, local_ack_timeout_err, 1);
    ck_assert_uint_eq(s.b->rx_read_requests, 1);
    ck_assert_uint_eq(s.b->rx_write_requests, 1);
    ck_assert_uint_eq(s.b->duplicate_request, 2);
    ck_assert_uint_eq(total(s.b), 4);
    r_free(s.t);
}
END_TEST

START_TEST(retries_exceeded)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    r_set_state(&s.t->b, MLX5_QP_STATE_RST);
    s.t->a.qp->engine->req.retries = 2;
    post(s.t, MLX5_OPCODE_SEND, 64, s.t->key, 0);
    fake_host_advance(s.t->h, 8 * R_ACK_PERIOD_NS);
    ck_assert_uint_eq(s.a->local_ack_timeout_err, 2);
    ck_assert_uint_eq(s.a->req_transport_retries_exceeded, 1);
    ck_assert_uint_eq(s.a->req_cqe_error, 1);
    ck_assert_uint_eq(total(s.a), 4);
    r_free(s.t);
}
END_TEST

START_TEST(refused)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    r_recv(&s.t->b, DST, 64);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, 0xabcd00);
    ONLY2(s.a, req_remote_access_errors, 1, req_cqe_error, 1);
    /* The receive that was posted is flushed. */
    ck_assert_uint_eq(s.b->resp_remote_access_errors, 1);
    ck_assert_uint_eq(s.b->resp_cqe_flush_error, 1);
    ck_assert_uint_eq(s.b->resp_cqe_error, 1);
    ck_assert_uint_eq(total(s.b), 3);
    post(s.t, MLX5_OPCODE_SEND, 64, s.t->key, 0);
    ck_assert_uint_eq(s.a->req_cqe_flush_error, 1);
    ck_assert_uint_eq(s.a->req_cqe_error, 2);
    r_free(s.t);
}
END_TEST

START_TEST(too_short)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    r_recv(&s.t->b, DST, 63);
    post(s.t, MLX5_OPCODE_SEND, 64, s.t->key, 0);
    ONLY2(s.a, req_remote_invalid_request, 1, req_cqe_error, 1);
    ONLY2(s.b, resp_local_length_error, 1, resp_cqe_error, 1);
    r_free(s.t);
}
END_TEST

START_TEST(not_enabled)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    R_QPC(&s.t->b, rwe, 0);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    ONLY2(s.a, req_remote_invalid_request, 1, req_cqe_error, 1);
    ONLY1(s.b, resp_remote_invalid_request, 1);
    r_free(s.t);
}
END_TEST

START_TEST(own_fault)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    post(s.t, MLX5_OPCODE_SEND, 64, 0xabcd00, 0);
    ONLY2(s.a, req_local_protection, 1, req_cqe_error, 1);
    ck_assert_uint_eq(total(s.b), 0);
    r_free(s.t);
}
END_TEST

/* Without a set, or with one that has gone, nothing is counted. */
START_TEST(no_set)
{
    Sets s = connected(MLX5_QP_ST_RC, 0);

    R_QPC(&s.t->b, counter_set_id, 0);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    R_QPC(&s.t->b, counter_set_id, 200);
    post(s.t, MLX5_OPCODE_RDMA_WRITE, 64, s.t->key, s.t->key);
    r_sent(&s.t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&s.t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    ck_assert_uint_eq(total(s.a) + total(s.b), 0);
    r_free(s.t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("counters");
    TCase *tc = tcase_create("counters");

    suite_add_tcase(s, tc);
    tcase_add_test(tc, requests);
    tcase_add_test(tc, port_traffic);
    tcase_add_test(tc, not_ready);
    tcase_add_test(tc, rnr_exceeded);
    tcase_add_loop_test(tc, dropped, 0, 2);
    tcase_add_test(tc, lost_request);
    tcase_add_test(tc, lost_ack);
    tcase_add_test(tc, lost_read);
    tcase_add_test(tc, retries_exceeded);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, too_short);
    tcase_add_test(tc, not_enabled);
    tcase_add_test(tc, own_fault);
    tcase_add_test(tc, no_set);
    return t_main(s);
}
