/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send queues held back by a rate (ndo_set_tx_maxrate, raw packet queue pairs)
 * and by queue groups (HTB offload): frames that left, on the manual clock. At
 * 8 Mbit/s a frame of 1000 bytes takes a millisecond; a burst of four, and the
 * one after it, may go at once.
 */
#include "tests/eth/eth_helper.h"
#include "tests/obj/sched_helper.h"

#define MS 1000000
#define LEN 1000u
#define BURST 5u

static Net n;

static void setup(void)
{
    static const uint8_t frame[LEN] = { 0x52, 0x54, 0, 1, 2, 3, [12] = 0x88,
                                        0xb5 };

    n = net_new();
    fake_mem_write(n.h, n.buf, frame, sizeof(frame));
}

static void teardown(void)
{
    net_free(&n);
}

/* @count frames, all in memory. */
static void post(NetQueue *q, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t wqe[64] = { 0 };

        net_ctrl(q, wqe, 0x0a, 3, 2);
        net_data_seg(&n, wqe + 32, n.buf, LEN);
        net_post(&n, q, wqe, 64);
    }
    net_ring(&n, q);
}

static void modify(const NetQueue *q, uint64_t mask, uint32_t rate,
                   uint32_t group)
{
    FAKE_BUFFERS(modify_sq);
    uint8_t *sqc = MLX5_ADDR_OF(modify_sq_in, in, ctx);

    MLX5_SET(modify_sq_in, in, sqn, q->number);
    MLX5_SET(modify_sq_in, in, sq_state, MLX5_WQ_STATE_RDY);
    MLX5_SET(modify_sq_in, in, modify_bitmask, mask);
    MLX5_SET(sqc, sqc, state, MLX5_WQ_STATE_RDY);
    MLX5_SET(sqc, sqc, packet_pacing_rate_limit_index, rate);
    MLX5_SET(sqc, sqc, qos_queue_group_id, group);
    FAKE_CMD_OK(n.d, MODIFY_SQ, modify_sq, in, out);
}

/* One a millisecond after the burst, and the first that used it up. */
static void one_a_millisecond(unsigned sent, unsigned first, unsigned count)
{
    for (unsigned ms = 0; sent + ms < count; ms++) {
        ck_assert_uint_eq(n.h->frames->len, sent + first + ms);
        fake_host_advance(n.h, MS - 1);
        ck_assert_uint_eq(n.h->frames->len, sent + first + ms);
        fake_host_advance(n.h, 1);
        if (sent + first + ms + 1 == count) {
            break;
        }
    }
    ck_assert_uint_eq(n.h->frames->len, count);
}

START_TEST(rate)
{
    Mlx5Sq *sq = mlx5_obj_get(n.func, MLX5_OBJ_SQ, n.sq.number);

    t_rate(n.h, 3, 8000, 0);
    modify(&n.sq, 1, 3, 99); /* the group is not named: not looked at */
    fake_host_advance(n.h, 100 * MS);
    post(&n.sq, 16);
    one_a_millisecond(0, BURST, 16);
    /* No limit: as fast as it can. */
    modify(&n.sq, 1, 0, 0);
    ck_assert_ptr_null(sq->pace);
    post(&n.sq, 16);
    ck_assert_uint_eq(n.h->frames->len, 32);
}
END_TEST

/* What waits goes when the rate does. */
START_TEST(rate_is_released)
{
    t_rate(n.h, 3, 1, 0);
    modify(&n.sq, 1, 3, 0);
    post(&n.sq, 8);
    ck_assert_uint_eq(n.h->frames->len, 1);
    fake_host_advance(n.h, 7900 * INT64_C(1000000));
    ck_assert_uint_eq(n.h->frames->len, 1);
    modify(&n.sq, 1, 0, 0);
    fake_host_work(n.h);
    ck_assert_uint_eq(n.h->frames->len, 8);
}
END_TEST

START_TEST(group_of_creation)
{
    uint32_t group = t_group(n.h, t_node(n.h, 0, 0, 0), 1, 8);
    NetQueue q = net_queue_memory(&n);
    uint8_t in[NET_WQ_IN], out[16];
    TestCmd t;

    net_fill_sq(&n, in, &q);
    MLX5_SET(sqc, MLX5_ADDR_OF(create_sq_in, in, ctx), qos_queue_group_id,
             group);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    q.number = MLX5_GET(create_sq_out, out, sqn);
    net_modify_sq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    fake_host_advance(n.h, 100 * MS);
    post(&q, 12);
    one_a_millisecond(0, BURST, 12);
    /* The queue is in it until it is moved, or goes. */
    t_sched_name(&t, group);
    t_refused(n.h, &t, mlx5_cmd_destroy_scheduling_element, T_SCHED_ID_LEN,
              MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_SCHED_BUSY);
    modify(&q, 4, 0, 0);
    t_sched_destroy(n.h, group);
    post(&q, 8);
    ck_assert_uint_eq(n.h->frames->len, 20);
    net_destroy_sq(&n, &q);
}
END_TEST

/* A rate and a group: the slower one counts. */
START_TEST(both)
{
    uint32_t group = t_group(n.h, 0, 1, 16);

    t_rate(n.h, 3, 8000, LEN);
    modify(&n.sq, 5, 3, group);
    fake_host_advance(n.h, 100 * MS);
    post(&n.sq, 10);
    one_a_millisecond(0, 2, 10);
    fake_host_advance(n.h, 100 * MS);
    t_rate(n.h, 3, 16000000, 0);
    t_sched_limit(n.h, group, 8);
    post(&n.sq, 10);
    one_a_millisecond(10, BURST, 20);
}
END_TEST

/* Frames that wait are flushed when the queue fails; NOPs take no time. */
START_TEST(ends_while_waiting)
{
    uint32_t group = t_group(n.h, 0, 1, 1);

    modify(&n.sq, 4, 0, group);
    post(&n.sq, 8);
    ck_assert_uint_eq(n.h->frames->len, 1);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_ERR);
    fake_host_advance(n.h, 1000 * MS);
    ck_assert_uint_eq(n.h->frames->len, 1);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_ERR, MLX5_WQ_STATE_RST);
    net_destroy_sq(&n, &n.sq);
    t_sched_destroy(n.h, group);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth pace");
    TCase *tc = tcase_create("eth pace");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, rate);
    tcase_add_test(tc, rate_is_released);
    tcase_add_test(tc, group_of_creation);
    tcase_add_test(tc, both);
    tcase_add_test(tc, ends_while_waiting);
    return t_main(s);
}
