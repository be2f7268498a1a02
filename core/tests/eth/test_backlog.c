/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames for a receive queue without a WQE: they wait, in their order, for what
 * tells that there is one, and not longer nor more of them than they may.
 */
#include "tests/eth/eth_helper.h"

#define HOLD_NS INT64_C(10000000)
#define RETRY_NS INT64_C(500000)
#define BUFFER (256u * 1024)

static Net n;

/* A queue that had one receive, and used it. */
static void setup(void)
{
    NetFrame f = net_make_frame(4, 17, -1, 10);
    uint8_t cqe[64];

    n = net_new();
    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
}

static void teardown(void)
{
    net_free(&n);
}

/* Frame @i is known by its length. */
static void rx(unsigned i)
{
    NetFrame f = net_make_frame(4, 17, -1, 100 + i);

    net_rx(&n, f.b, f.len);
}

/* The next completions are of frames @first to @last. */
static void expect(unsigned first, unsigned last)
{
    uint8_t cqe[64];

    for (unsigned i = first; i <= last; i++) {
        NetFrame f = net_make_frame(4, 17, -1, 100 + i);
        g_autofree uint8_t *got = g_malloc(f.len);

        ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), f.len);
        fake_mem_read(n.h, n.buf + i * NET_BUF, got, f.len);
        ck_assert_mem_eq(got, f.b, f.len);
    }
    ck_assert(!fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
}

static void post(unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        net_post_rx(&n, &n.rq, n.buf + i * NET_BUF, NET_BUF);
    }
}

static void arm(void)
{
    fake_driver_arm_cq(n.d, &n.rq.cq, false);
    fake_host_work(n.h);
}

static void dropped(unsigned num)
{
    ck_assert_uint_eq(n.func->stats.rx_no_buffer, num);
}

START_TEST(armed)
{
    rx(0);
    rx(1);
    rx(2);
    expect(1, 0);
    arm();
    expect(1, 0);
    post(0, 1);
    expect(1, 0);
    arm();
    expect(0, 1);
    post(2, 2);
    arm();
    expect(2, 2);
    dropped(0);
    /* Nothing goes on when nothing waits. */
    ck_assert_int_eq(n.h->timer_deadline_ns < 0 ||
                     n.func->timers.heap->len == 1, true);
    fake_host_advance(n.h, HOLD_NS);
    ck_assert_uint_eq(n.func->timers.heap->len, 0);
}
END_TEST

/* A frame that comes then finds its place behind those that wait. */
START_TEST(next_frame)
{
    rx(0);
    post(0, 2);
    rx(1);
    expect(0, 1);
    rx(2);
    expect(2, 2);
    dropped(0);
}
END_TEST

START_TEST(time_passes)
{
    rx(0);
    fake_host_advance(n.h, RETRY_NS / 2);
    rx(1);
    post(0, 0);
    fake_host_advance(n.h, RETRY_NS / 2 + 1);
    expect(0, 0);
    dropped(0);
    fake_host_advance(n.h, HOLD_NS - 2 * RETRY_NS);
    dropped(0);
    fake_host_advance(n.h, 2 * RETRY_NS);
    dropped(1);
    post(2, 2);
    rx(2);
    expect(2, 2);
}
END_TEST

START_TEST(counter)
{
    Mlx5QCounter *qc = net_count_rq(&n);

    rx(0);
    ck_assert_uint_eq(qc->out_of_buffer, 0);
    fake_host_advance(n.h, HOLD_NS + RETRY_NS);
    ck_assert_uint_eq(qc->out_of_buffer, 1);
    dropped(1);
}
END_TEST

/* No more than the buffer holds; then at once. */
START_TEST(full)
{
    NetFrame f = net_make_frame(4, 17, -1, 9000);
    unsigned num = 0;

    while (!n.func->stats.rx_no_buffer) {
        ck_assert_uint_le(++num * f.len, BUFFER + f.len);
        net_rx(&n, f.b, f.len);
    }
    ck_assert_uint_ge(num * (f.len + 500), BUFFER);
    net_rx(&n, f.b, f.len);
    dropped(2);
    fake_host_advance(n.h, HOLD_NS + RETRY_NS);
    dropped(num + 1);
}
END_TEST

static void set_register(uint32_t id, const uint8_t *data, uint32_t bytes)
{
    uint8_t in[256] = { 0 }, out[256];

    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, register_id, id);
    memcpy(in + 16, data, bytes);
    ck_assert(fake_driver_cmd(n.d, in, 16 + bytes, out, 16 + bytes));
}

/* By its tag a frame has a priority, and by that a buffer of its own size. */
START_TEST(buffers)
{
    NetFrame f = net_make_frame(4, 17, 5 << 13 | 1, 1000);
    uint8_t pptb[12] = { 0 }, pbmc[MLX5_ST_SZ_BYTES(pbmc_reg)] = { 0 };
    uint8_t *b = MLX5_ADDR_OF(pbmc_reg, pbmc, buffer) +
                 3 * MLX5_ST_SZ_BYTES(bufferx_reg);

    MLX5_SET(pptb_reg, pptb, local_port, 1);
    MLX5_SET(pptb_reg, pptb, pm, 1 << 5);
    MLX5_SET(pptb_reg, pptb, prio_x_buff, 3 << 20);
    set_register(0x500b, pptb, sizeof(pptb));
    /* No room: at once. */
    net_rx(&n, f.b, f.len);
    dropped(1);
    MLX5_SET(pbmc_reg, pbmc, local_port, 1);
    MLX5_SET(bufferx_reg, b, size, 32);
    set_register(0x500c, pbmc, sizeof(pbmc));
    for (int i = 0; i < 4; i++) {
        net_rx(&n, f.b, f.len);
    }
    /* 4 KiB are three of these. Buffer 0 has none now, for the others. */
    dropped(2);
    rx(0);
    dropped(3);
    fake_host_advance(n.h, HOLD_NS + RETRY_NS);
    dropped(6);
}
END_TEST

/* The queue stops: what waits is dropped and counted. */
START_TEST(queue_stops)
{
    rx(0);
    rx(1);
    net_modify_rq(&n, n.rq.number, MLX5_WQ_STATE_RDY,
                  _i ? MLX5_WQ_STATE_ERR : MLX5_WQ_STATE_RST);
    dropped(2);
    post(0, 1);
    arm();
    fake_host_advance(n.h, HOLD_NS);
    dropped(2);
}
END_TEST

START_TEST(queue_goes)
{
    NetQueue q = net_create_rq(&n);
    NetFrame f = net_make_frame(4, 17, -1, 10);
    uint8_t cqe[64];

    net_modify_rq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    net_steer_all(&n, net_create_tir_direct(&n, q.number));
    net_post_rx(&n, &q, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    ck_assert(fake_driver_poll_cq(n.d, &q.cq, cqe));
    net_rx(&n, f.b, f.len);
    dropped(0);
    mlx5_func_reset(n.func);
    ck_assert_uint_eq(n.func->timers.heap->len, 0);
}
END_TEST

/* A receive that is wrong stops the queue, and with it all that waits. */
START_TEST(bad_wqe)
{
    uint8_t seg[16] = { 0 };

    rx(0);
    rx(1);
    rx(2);
    post(0, 0);
    net_data_seg(&n, seg, n.buf, NET_BUF);
    MLX5_SET(wqe_data, seg, lkey, 0x777700);
    post(1, 1);
    fake_mem_write(n.h, n.rq.ring + ((uint64_t)((n.rq.pi - 1) %
                   (1u << NET_LOG_RQ)) << NET_LOG_RQ_STRIDE), seg, 16);
    arm();
    ck_assert_uint_eq(n.func->stats.rx_errors, 1);
    dropped(1);
    fake_host_advance(n.h, HOLD_NS);
    dropped(1);
}
END_TEST

/* Where nothing was ever posted, nothing is waited for. */
START_TEST(drop_rq)
{
    NetQueue q = net_create_rq(&n);
    NetFrame f = net_make_frame(4, 17, -1, 10);

    net_modify_rq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    net_steer_all(&n, net_create_tir_direct(&n, q.number));
    net_rx(&n, f.b, f.len);
    dropped(1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backlog");
    TCase *t = tcase_create("backlog");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, armed);
    tcase_add_test(t, next_frame);
    tcase_add_test(t, time_passes);
    tcase_add_test(t, counter);
    tcase_add_test(t, full);
    tcase_add_test(t, buffers);
    tcase_add_loop_test(t, queue_stops, 0, 2);
    tcase_add_test(t, queue_goes);
    tcase_add_test(t, bad_wqe);
    tcase_add_test(t, drop_rq);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
