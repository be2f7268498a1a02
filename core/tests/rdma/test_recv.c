/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives: own rings in order, shared ones by their links, each once; limit
 * and catastrophic events; records and links that lie.
 */
#include "tests/rdma/wqe_helper.h"

static FakeHost *h;
static uint32_t pdn;
static Mlx5RecvWqe wqe;

static void setup(void)
{
    h = fake_host_new(NULL);
    pdn = t_alloc(h, mlx5_cmd_alloc_pd);
}

static void teardown(void)
{
    fake_host_free(h);
}

static void put_sge(uint64_t at, uint64_t va, uint32_t len, uint32_t lkey)
{
    uint8_t seg[16];

    t_klm(seg, len, lkey, va);
    fake_mem_write(h, at, seg, 16);
}

/* ---- own ring ---- */

#define RQ_LOG 2
#define RQ_BYTES 64u

static void rq_put(uint32_t n, uint32_t sges)
{
    uint64_t at = t_ring(0) + n % (1u << RQ_LOG) * RQ_BYTES;

    for (uint32_t i = 0; i < sges; i++) {
        put_sge(at + i * 16, 0x1000 * n + i, 10 + i, 0x100 * (n + 2));
    }
    if (sges < RQ_BYTES / 16) {
        put_sge(at + sges * 16, 0xbad, 0, MLX5_INVALID_LKEY);
    }
}

START_TEST(own_ring)
{
    Mlx5Qp qp;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, RQ_LOG, RQ_BYTES, 4);
    ck_assert_int_eq(mlx5_recv_peek(&qp), MLX5_RECV_EMPTY);
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_EMPTY);
    /* Past the wrap of the 16-bit counter. */
    qp.rq_consumed = 65530;
    for (uint32_t n = 65530; n < 65550; n++) {
        uint32_t sges = n % 5;

        rq_put(n, sges);
        fake_mem_set_be32(h, T_DBR, (n + 1) & 0xffff);
        ck_assert_int_eq(mlx5_recv_peek(&qp), MLX5_RECV_OK);
        ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_OK);
        ck_assert_ptr_null(wqe.srq);
        ck_assert_uint_eq(wqe.index, n & 0xffff);
        ck_assert_uint_eq(wqe.num_data, sges);
        for (uint32_t i = 0; i < sges; i++) {
            ck_assert_uint_eq(wqe.data[i].addr, 0x1000ull * n + i);
            ck_assert_uint_eq(wqe.data[i].len, 10 + i);
            ck_assert_uint_eq(wqe.data[i].lkey, 0x100 * (n + 2));
        }
        ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_EMPTY);
    }
    mlx5_recv_reset(&qp);
    ck_assert_uint_eq(qp.rq_consumed, 0);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

/* The record counts in 16 bits; its upper half is not the device's. */
START_TEST(own_ring_refuses)
{
    Mlx5Qp qp;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, RQ_LOG, RQ_BYTES, 4);
    fake_mem_set_be32(h, T_DBR, 0xffff0000);
    ck_assert_int_eq(mlx5_recv_peek(&qp), MLX5_RECV_EMPTY);
    fake_mem_set_be32(h, T_DBR, 5);
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_OVERRUN);
    fake_mem_set_be32(h, T_DBR, 0xffff);
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_OVERRUN);
    fake_mem_set_be32(h, T_DBR, 4);
    h->fail_after = 1;
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_FETCH);
    h->fail_after = 2;
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_FETCH);
    h->fail_after = 0;
    ck_assert_uint_eq(qp.rq_consumed, 0);
    qp.has_rq = false;
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_EMPTY);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

START_TEST(own_ring_reads_once)
{
    Mlx5Qp qp;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, RQ_LOG, RQ_BYTES, 4);
    rq_put(0, 4);
    fake_mem_set_be32(h, T_DBR, 1);
    h->trip_addr = t_ring(0);
    h->trip_len = RQ_BYTES;
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_OK);
    ck_assert_uint_eq(h->trip_hits, RQ_BYTES);
    ck_assert_uint_eq(wqe.num_data, 4);
    ck_assert_uint_eq(wqe.length, 10 + 11 + 12 + 13);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

/* A segment of no bytes under a real key stands for 2^31. */
START_TEST(length_zero)
{
    Mlx5Qp qp;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, RQ_LOG, RQ_BYTES, 4);
    rq_put(0, 2);
    put_sge(t_ring(0), 0, 0, 0x200);
    fake_mem_set_be32(h, T_DBR, 1);
    ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_OK);
    ck_assert_uint_eq(wqe.num_data, 2);
    ck_assert_uint_eq(wqe.length, (1ull << 31) + 11);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

/* ---- shared ---- */

#define SRQ_LOG 3
#define SRQ_N (1u << SRQ_LOG)
#define SRQ_BYTES 64u

static uint32_t eqn;
static const uint64_t eq_ring = 0x4000000;

static void srq_init(Mlx5Srq *srq)
{
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);
    uint8_t pas[8];

    eqn = t_eq(h, uar, 4, 1, eq_ring,
               1ull << MLX5_EVENT_TYPE_SRQ_RQ_LIMIT |
               1ull << MLX5_EVENT_TYPE_SRQ_CATAS_ERROR);
    memset(srq, 0, sizeof(*srq));
    srq->o.func = h->func;
    srq->o.id = 0x2b;
    srq->log_size = SRQ_LOG;
    srq->wqe_bytes = SRQ_BYTES;
    srq->dbr_gpa = T_DBR + 8;
    t_pas(pas, 0, t_ring(0), 1);
    ck_assert(mlx5_ring_init(&srq->ring, h->func, pas, 1, 12, 0,
                             SRQ_N * SRQ_BYTES));
    for (uint32_t i = 0; i < SRQ_N; i++) {
        uint8_t next[16] = { 0 };

        MLX5_SET(wqe_srq_next, next, next_wqe_index, (i + 1) % SRQ_N);
        fake_mem_write(h, t_ring(0) + i * SRQ_BYTES, next, 16);
        put_sge(t_ring(0) + i * SRQ_BYTES + 16, 0x1000 * i, i + 1, 0x200);
        put_sge(t_ring(0) + i * SRQ_BYTES + 32, 0, 0, MLX5_INVALID_LKEY);
    }
}

static void srq_link(uint32_t from, uint32_t to)
{
    uint8_t next[16] = { 0 };

    MLX5_SET(wqe_srq_next, next, next_wqe_index, to);
    fake_mem_write(h, t_ring(0) + from * SRQ_BYTES, next, 16);
}

/* Type and number of event @n of the EQ, if it was written. */
static bool event_is(uint32_t n, uint8_t type, uint32_t number)
{
    uint8_t eqe[64];

    fake_mem_read(h, eq_ring + n * 64, eqe, 64);
    return MLX5_GET(eqe, eqe, owner) == 0 &&
           MLX5_GET(eqe, eqe, event_type) == type &&
           MLX5_GET(eqe_qp_srq, MLX5_ADDR_OF(eqe, eqe, event_data),
                    qp_srq_n) == number;
}

START_TEST(shared_by_links)
{
    static const uint32_t order[SRQ_N] = { 0, 5, 2, 7, 1, 3, 6, 4 };
    Mlx5Srq srq;

    srq_init(&srq);
    for (uint32_t i = 0; i < SRQ_N; i++) {
        srq_link(order[i], order[(i + 1) % SRQ_N]);
    }
    srq.counter = 65533;
    fake_mem_set_be32(h, T_DBR + 8, (65533 + SRQ_N) & 0xffff);
    for (uint32_t i = 0; i < SRQ_N; i++) {
        ck_assert_int_eq(mlx5_recv_fetch_srq(&srq, &wqe), MLX5_RECV_OK);
        ck_assert_ptr_eq(wqe.srq, &srq);
        ck_assert_uint_eq(wqe.index, order[i]);
        ck_assert_uint_eq(wqe.num_data, 1);
        ck_assert_uint_eq(wqe.length, order[i] + 1);
    }
    ck_assert_int_eq(mlx5_recv_fetch_srq(&srq, &wqe), MLX5_RECV_EMPTY);
    mlx5_ring_clear(&srq.ring);
}
END_TEST

START_TEST(shared_cyclic)
{
    Mlx5Srq srq;
    Mlx5Qp qp = { .srq = &srq };

    srq_init(&srq);
    srq.cyclic = true;
    for (uint32_t i = 0; i < 3 * SRQ_N; i++) {
        srq_link(i % SRQ_N, 0xffff); /* nobody looks */
        ck_assert_int_eq(mlx5_recv_peek(&qp), MLX5_RECV_EMPTY);
        fake_mem_set_be32(h, T_DBR + 8, i + 1);
        ck_assert_int_eq(mlx5_recv_peek(&qp), MLX5_RECV_OK);
        ck_assert_int_eq(mlx5_recv_fetch(&qp, &wqe), MLX5_RECV_OK);
        ck_assert_uint_eq(wqe.index, i % SRQ_N);
    }
    mlx5_ring_clear(&srq.ring);
}
END_TEST

START_TEST(limit_event_once)
{
    Mlx5Srq srq;

    srq_init(&srq);
    srq.lwm = 3;
    fake_mem_set_be32(h, T_DBR + 8, SRQ_N);
    for (uint32_t i = 0; i < SRQ_N; i++) {
        mlx5_func_lock(h->func);
        ck_assert_int_eq(mlx5_recv_fetch_srq(&srq, &wqe), MLX5_RECV_OK);
        mlx5_func_unlock(h->func);
        /* Two are left after the sixth: fewer than three. */
        ck_assert(event_is(0, MLX5_EVENT_TYPE_SRQ_RQ_LIMIT, 0x2b) ==
                  (i >= 5));
        ck_assert_uint_eq(srq.lwm, i >= 5 ? 0 : 3);
    }
    ck_assert(!event_is(1, MLX5_EVENT_TYPE_SRQ_RQ_LIMIT, 0x2b));
    mlx5_ring_clear(&srq.ring);
}
END_TEST

static void broken(Mlx5Srq *srq, Mlx5RecvResult why)
{
    mlx5_func_lock(h->func);
    ck_assert_int_eq(mlx5_recv_fetch_srq(srq, &wqe), why);
    ck_assert_int_eq(mlx5_recv_fetch_srq(srq, &wqe), MLX5_RECV_FAILED);
    mlx5_func_unlock(h->func);
    ck_assert(event_is(0, MLX5_EVENT_TYPE_SRQ_CATAS_ERROR, 0x2b));
    ck_assert(!event_is(1, MLX5_EVENT_TYPE_SRQ_CATAS_ERROR, 0x2b));
    ck_assert_uint_eq(srq->counter, 0);
    mlx5_ring_clear(&srq->ring);
}

START_TEST(link_leaves_ring)
{
    Mlx5Srq srq;

    srq_init(&srq);
    srq_link(0, SRQ_N);
    fake_mem_set_be32(h, T_DBR + 8, 1);
    broken(&srq, MLX5_RECV_BROKEN);
}
END_TEST

START_TEST(record_too_high)
{
    Mlx5Srq srq;

    srq_init(&srq);
    fake_mem_set_be32(h, T_DBR + 8, SRQ_N + 1);
    broken(&srq, MLX5_RECV_OVERRUN);
}
END_TEST

START_TEST(ring_is_gone)
{
    Mlx5Srq srq;

    srq_init(&srq);
    fake_mem_set_be32(h, T_DBR + 8, 1);
    h->fail_after = 2;
    broken(&srq, MLX5_RECV_FETCH);
}
END_TEST

/* A list that runs in a circle gives as many receives as were posted. */
START_TEST(link_to_itself)
{
    Mlx5Srq srq;

    srq_init(&srq);
    srq_link(0, 0);
    fake_mem_set_be32(h, T_DBR + 8, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(mlx5_recv_fetch_srq(&srq, &wqe), MLX5_RECV_OK);
        ck_assert_uint_eq(wqe.index, 0);
    }
    ck_assert_int_eq(mlx5_recv_fetch_srq(&srq, &wqe), MLX5_RECV_EMPTY);
    mlx5_ring_clear(&srq.ring);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recv");
    TCase *tc = tcase_create("recv");

    tcase_set_timeout(tc, 60); /* a loaded machine under sanitizers */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, own_ring);
    tcase_add_test(tc, own_ring_refuses);
    tcase_add_test(tc, own_ring_reads_once);
    tcase_add_test(tc, length_zero);
    tcase_add_test(tc, shared_by_links);
    tcase_add_test(tc, shared_cyclic);
    tcase_add_test(tc, limit_event_once);
    tcase_add_test(tc, link_leaves_ring);
    tcase_add_test(tc, record_too_high);
    tcase_add_test(tc, ring_is_gone);
    tcase_add_test(tc, link_to_itself);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
