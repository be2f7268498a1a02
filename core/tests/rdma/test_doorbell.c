/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send queues without a doorbell record: the doorbell alone says how far. With
 * one: what of a BlueFlame copy counts, and what the thread that rings does.
 */
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x1000000)

static RTest *setup(void)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    t->a.qp->dbr_less = true;
    r_connect(t, 100);
    r_fill(t->h, SRC, 4096, 9);
    return t;
}

/* A work request in the ring, and no word of it in the record. */
static void put(RTest *t, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_raddr(&w, DST, t->key);
    r_data(&w, SRC, len, t->key);
    r_data(&w, SRC + len, 1, t->key);
    r_data(&w, SRC + len + 1, 1, t->key);
    r_put(&t->a, &w); /* two basic blocks */
    fake_mem_set_be32(t->h, t->a.dbr + 4, 0xdead);
}

static void ring_at(RTest *t, uint32_t offset, uint32_t index, uint32_t ds,
                    unsigned size)
{
    uint64_t value = (uint64_t)(index << 8 | MLX5_OPCODE_RDMA_WRITE) << 32 |
                     t->a.qpn << 8 | ds;

    mlx5_func_bar_write(t->h->func, (uint64_t)t->uar * 4096 + offset, value,
                        size);
    fake_host_work(t->h);
}

static void ring(RTest *t, uint32_t index, uint32_t ds)
{
    ring_at(t, MLX5_UAR_DBR_LESS, index, ds, 8);
}

/* The last work request's control segment: all up to its end is posted. */
START_TEST(by_last_request)
{
    RTest *t = setup();

    for (uint32_t i = 0; i < 3; i++) {
        put(t, 100);
    }
    ring(t, 4, 5);
    for (uint32_t i = 0; i < 3; i++) {
        r_sent(&t->a, 2 * i, MLX5_OPCODE_RDMA_WRITE);
    }
    r_quiet(&t->a);
    ck_assert(r_same(t->h, SRC, DST, 102));
    r_free(t);
}
END_TEST

/* A counter and no size, all around the ring and past 16 bits. */
START_TEST(by_counter)
{
    RTest *t = setup();

    t->a.sq_pi = t->a.qp->engine->req.fetched = 0xfff0;
    t->a.qp->engine->req.posted = 0xfff0;
    for (uint32_t i = 0; i < 100; i++) {
        uint16_t at = t->a.sq_pi;

        put(t, i + 1);
        ring(t, t->a.sq_pi, 0);
        r_sent(&t->a, at, MLX5_OPCODE_RDMA_WRITE);
        r_quiet(&t->a);
    }
    r_free(t);
}
END_TEST

/* Two processors ring, and the first one's doorbell arrives last. */
START_TEST(overtaken)
{
    RTest *t = setup();

    put(t, 10);
    put(t, 20);
    ring(t, 2, 5);
    ring(t, 0, 5);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&t->a, 2, MLX5_OPCODE_RDMA_WRITE);
    r_quiet(&t->a);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_RTS);
    put(t, 30);
    ring(t, 4, 5);
    r_sent(&t->a, 4, MLX5_OPCODE_RDMA_WRITE);
    r_free(t);
}
END_TEST

/* More than the queue holds: nothing of it can be meant. */
START_TEST(beyond_the_queue)
{
    RTest *t = setup();

    put(t, 10);
    ring(t, (1u << R_LOG_SQ) + 1, 0);
    ring(t, 0x7fff, 63);
    r_quiet(&t->a);
    ck_assert_uint_eq(t->a.qp->engine->req.posted, 0);
    ring(t, 2, 0);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_free(t);
}
END_TEST

/* Each kind of queue is rung at its own place, by its own kind of write. */
START_TEST(another_place)
{
    RTest *t = setup();
    RWqe w = r_wqe(MLX5_OPCODE_NOP);

    put(t, 10);
    ring_at(t, MLX5_UAR_BF, 0, 5, 8);
    ring_at(t, MLX5_UAR_DBR_LESS, 0, 5, 4);
    ring_at(t, MLX5_UAR_DBR_LESS + 8, 0, 5, 8);
    r_quiet(&t->a);
    ring(t, 0, 5);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);

    t->a.qp->dbr_less = false;
    t->a.qp->engine->req.fetched = t->a.qp->engine->req.posted = 2;
    r_put(&t->a, &w);
    ring(t, 2, 1);
    r_quiet(&t->a);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_sent(&t->a, 2, MLX5_OPCODE_NOP);
    r_free(t);
}
END_TEST

/* Not ready to send: forgotten. In error: flushed. */
START_TEST(by_state)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    t->a.qp->dbr_less = true;
    put(t, 10);
    ring(t, 0, 5);
    r_connect(t, 100);
    fake_host_work(t->h);
    r_quiet(&t->a);
    r_set_state(&t->a, MLX5_QP_STATE_ERR);
    fake_host_work(t->h);
    r_quiet(&t->a);
    ring(t, 0, 5);
    r_flushed(&t->a, &t->a.scq, 0);
    put(t, 10);
    ring(t, 4, 0);
    r_flushed(&t->a, &t->a.scq, 2);
    r_quiet(&t->a);
    r_free(t);
}
END_TEST

/* A write of one basic block, in the ring and in the record, not rung. */
static void post_one(RTest *t)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_raddr(&w, DST, t->key);
    r_data(&w, SRC, 8, t->key);
    r_put(&t->a, &w);
}

/* What hosts may leave out (mlx5_bar_write_is_idle) does nothing, whatever it
 * looks like: the next request waits for its own doorbell. */
START_TEST(rest_of_a_copy)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t page = (uint64_t)t->uar * 4096;
    unsigned idle = 0;

    r_connect(t, 100);
    post_one(t);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    post_one(t);
    for (uint32_t off = 0; off < 4096; off += 8) {
        if (mlx5_bar_write_is_idle(&t->h->func->props, page + off, 8)) {
            idle++;
            mlx5_func_bar_write(t->h->func, page + off,
                                (uint64_t)t->a.qpn << 8 | UINT64_C(8) << 32, 8);
        }
    }
    fake_host_work(t->h);
    ck_assert_uint_eq(idle, 8 * 30);
    r_quiet(&t->a);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    r_free(t);
}
END_TEST

/* Connected, and @n small messages posted that no doorbell told of. */
static RTest *with_list(uint32_t n)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    r_connect(t, 100);
    fake_host_work(t->h);
    for (uint32_t i = 0; i < n; i++) {
        post_one(t);
    }
    t->h->kicked = false;
    return t;
}

/* A list of small messages wakes nobody. */
START_TEST(list_on_the_ringing_thread)
{
    RTest *t = with_list(32);

    r_ring(&t->a);
    ck_assert(!t->h->kicked);
    for (uint32_t i = 0; i < 32; i++) {
        r_sent(&t->a, i, MLX5_OPCODE_RDMA_WRITE);
    }
    r_quiet(&t->a);
    r_free(t);
}
END_TEST

/* How often @what is in the trace. */
static unsigned traced(RTest *t, const char *what)
{
    unsigned n = 0;

    for (const char *p = t->h->trace->str; (p = strstr(p, what)); p++) {
        n++;
    }
    return n;
}

/* What a list writes is acknowledged once, by who received the last of it. */
START_TEST(list_is_acknowledged_once)
{
    RTest *t = with_list(32);

    t->h->trace_on = true;
    r_ring(&t->a);
    fake_host_work(t->h);
    ck_assert_uint_eq(traced(t, "tx RC WRITE_ONLY"), 32);
    ck_assert_uint_eq(traced(t, "tx RC ACK"), 1);
    ck_assert_uint_eq(traced(t, "psn 131+1 len 0 syndrome=0x1f msn=32"), 2);
    r_free(t);
}
END_TEST

/* A refusal does not swallow the answer to what came before it. */
START_TEST(list_that_is_refused)
{
    RTest *t = with_list(2);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    const char *first;

    r_raddr(&w, DST, t->key + 0x100);
    r_data(&w, SRC, 8, t->key);
    r_put(&t->a, &w);
    post_one(t);
    t->h->trace_on = true;
    r_ring(&t->a);
    fake_host_work(t->h);
    ck_assert_uint_eq(traced(t, "tx RC ACK"), 2);
    first = strstr(t->h->trace->str, "psn 101+1 len 0 syndrome=0x1f");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first, "psn 102+1 len 0 syndrome=0x62"));
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    r_failed(&t->a, &t->a.scq, 2, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    r_flushed(&t->a, &t->a.scq, 3);
    r_free(t);
}
END_TEST

/* The receiver stops before it has answered: what it took, it says. */
START_TEST(answer_of_a_receiver_that_stops)
{
    RTest *t = with_list(4);

    mlx5_func_lock(t->h->func);
    {
        Mlx5Budget budget = { INT64_MAX, 4 };

        mlx5_uar_write(t->h->func, t->uar, 0x800, (uint64_t)t->a.qpn << 8, 8);
        mlx5_work_run(t->h->func, &budget); /* two of four, and no answer */
    }
    ck_assert(t->b.qp->engine->resp.ack_owed);
    mlx5_qp_set_state(t->b.qp, MLX5_QP_STATE_ERR);
    mlx5_func_unlock(t->h->func);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("doorbell");
    TCase *tc = tcase_create("doorbell");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, by_last_request);
    tcase_add_test(tc, by_counter);
    tcase_add_test(tc, overtaken);
    tcase_add_test(tc, beyond_the_queue);
    tcase_add_test(tc, another_place);
    tcase_add_test(tc, by_state);
    tcase_add_test(tc, rest_of_a_copy);
    tcase_add_test(tc, list_on_the_ringing_thread);
    tcase_add_test(tc, list_is_acknowledged_once);
    tcase_add_test(tc, list_that_is_refused);
    tcase_add_test(tc, answer_of_a_receiver_that_stops);
    return t_main(s);
}
