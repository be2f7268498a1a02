/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue pairs held back by a rate and by queue groups: on the manual clock,
 * what left in a time is what the limit allows, and no less; a limit that
 * goes lets all of it go. At 8 Mbit/s a byte takes a microsecond.
 */
#include "net/link.h"
#include "tests/obj/sched_helper.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)
#define MS 1000000
#define KBPS 8000
#define MBPS 8
#define BURST (MLX5_PACE_BURST_NS / 1000) /* bytes at this rate */
#define MTU 1024u
/* The longest packet: what a burst has room for, with its headers. */
#define PIECE (BURST / MTU * (MTU + MLX5_PACE_ROCE_OVERHEAD))

/* Bytes by sender, as a line would see them. */
static struct {
    uint32_t a, b;
    uint64_t from_a, from_b;
} wire;

static void link_fn(Mlx5Func *func, Mlx5Pkt *pkt)
{
    uint64_t bytes = pkt->len + (uint64_t)pkt->npsn * MLX5_PACE_ROCE_OVERHEAD;

    if (pkt->op != MLX5_PKT_ACK) {
        *(pkt->src_qpn == wire.a ? &wire.from_a : &wire.from_b) += bytes;
    }
    mlx5_link_send(func, pkt);
}

static RTest *connected(Mlx5QpSt st)
{
    RTest *t = r_new(st);

    wire = (typeof(wire)){ .a = t->a.qpn, .b = t->b.qpn };
    mlx5_rdma_set_link(t->h->func, link_fn);
    r_connect(t, 100);
    r_fill(t->h, SRC, 1 << 20, 9);
    return t;
}

/* As after a command: handlers here are called without what runs the work. */
static void settle(RTest *t)
{
    while (mlx5_func_work(t->h->func)) {
    }
}

static void free_all(RTest *t)
{
    r_destroy(&t->a);
    r_destroy(&t->b);
    ck_assert_uint_eq(t->h->func->pacer->all.length, 0);
    fake_host_free(t->h);
    g_free(t);
}

/* --- commands --- */

static TestCmd rate_cmd(const RQp *q, uint32_t index)
{
    TestCmd c = { 0 };
    uint8_t *qpc = c.in + MLX5_BYTE_OFF(rts2rts_qp_in, qpc);

    MLX5_SET(rts2rts_qp_in, c.in, qpn, q->qpn);
    MLX5_SET(rts2rts_qp_in, c.in, opt_param_mask, 1 << 22);
    MLX5_SET(qpc, qpc, packet_pacing_rate_limit_index, index);
    return c;
}

static void set_rate(RQp *q, uint32_t index)
{
    TestCmd c = rate_cmd(q, index);

    t_ok(q->h, &c, mlx5_cmd_rts2rts_qp, 0x110);
}

/* As libmlx5 fills it in; in bits. */
static TestCmd groups_cmd(const RQp *q, uint32_t req, uint32_t resp)
{
    TestCmd c = { 0 };

    MLX5_SET(rts2rts_qp_in, c.in, qpn, q->qpn);
    mlx5_prm_set(c.in, 0x40, 1, 1);
    mlx5_prm_set(c.in, 0x840, 64, 2);
    mlx5_prm_set(c.in, 0x8a0, 32, req);
    mlx5_prm_set(c.in, 0x8c0, 32, resp);
    return c;
}

static void set_groups(RQp *q, uint32_t req, uint32_t resp)
{
    TestCmd c = groups_cmd(q, req, resp);

    t_ok(q->h, &c, mlx5_cmd_rts2rts_qp, 0x1d0);
}

static void refused(RQp *q, TestCmd *c, Mlx5Status status, uint32_t syndrome)
{
    t_refused(q->h, c, mlx5_cmd_rts2rts_qp, 0x1d0, status, syndrome);
}

/* --- work --- */

static void post(RQp *q, uint8_t opcode, uint64_t off, uint32_t len)
{
    RWqe w = r_wqe(opcode);
    bool read = opcode == MLX5_OPCODE_RDMA_READ;

    r_raddr(&w, read ? SRC : DST + off, q->t->key);
    r_data(&w, read ? DST + off : SRC, len, q->t->key);
    r_post(q, &w);
}

/* What left in @ns is what the limit of @mbps allows: no more, and no less. */
static void held(uint64_t bytes, int64_t ns, uint32_t mbps)
{
    uint64_t allowed = ns * mbps / 8000, burst = BURST * mbps / MBPS;

    ck_assert_msg(bytes <= allowed + burst + PIECE * mbps / MBPS &&
                  bytes + PIECE >= allowed,
                  "%u bytes left, %u allowed", (unsigned)bytes,
                  (unsigned)allowed);
}

START_TEST(rate_is_held)
{
    RTest *t = connected(MLX5_QP_ST_RC);

    t_rate(t->h, 5, KBPS, 0);
    set_rate(&t->a, 5);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 200000);
    for (int ms = 0; ms < 150; ms++) {
        held(wire.from_a, INT64_C(1) * ms * MS, MBPS);
        fake_host_advance(t->h, MS);
    }
    r_quiet(&t->a);
    fake_host_advance(t->h, 100 * MS);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, SRC, DST, 200000));
    free_all(t);
}
END_TEST

/* Each queue has the whole rate. */
START_TEST(rate_is_of_each)
{
    RTest *t = connected(MLX5_QP_ST_RC);

    t_rate(t->h, 5, KBPS, 0);
    set_rate(&t->a, 5);
    set_rate(&t->b, 5);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 200000);
    post(&t->b, MLX5_OPCODE_RDMA_WRITE, 0x100000, 200000);
    fake_host_advance(t->h, 100 * MS);
    held(wire.from_a, INT64_C(100) * MS, MBPS);
    held(wire.from_b, INT64_C(100) * MS, MBPS);
    free_all(t);
}
END_TEST

/* The driver clears the entry, or names none any more. */
START_TEST(rate_is_released)
{
    RTest *t = connected(MLX5_QP_ST_RC);

    for (unsigned i = 0; i < 2; i++) {
        t_rate(t->h, 5, 1, 0);
        set_rate(&t->a, 5);
        post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 100000);
        fake_host_advance(t->h, 1000 * MS);
        r_quiet(&t->a);
        if (i == 0) {
            t_rate(t->h, 5, 0, 0);
        } else {
            set_rate(&t->a, 0);
            ck_assert_ptr_null(t->a.qp->req_pace);
        }
        settle(t);
        r_sent(&t->a, i, MLX5_OPCODE_RDMA_WRITE);
        set_rate(&t->a, 0);
    }
    free_all(t);
}
END_TEST

/* A burst may go at once, and is made up for. */
START_TEST(burst)
{
    RTest *t = connected(MLX5_QP_ST_RC);

    t_rate(t->h, 5, KBPS, 50000);
    set_rate(&t->a, 5);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 300000);
    ck_assert_uint_ge(wire.from_a, 50000);
    ck_assert_uint_le(wire.from_a, 50000 + 49 * (MTU + 62));
    fake_host_advance(t->h, 200 * MS);
    ck_assert_uint_ge(wire.from_a, 200000);
    ck_assert_uint_le(wire.from_a, 250000 + 49 * (MTU + 62));
    free_all(t);
}
END_TEST

START_TEST(group_is_held_together)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t group = t_group(t->h, t_node(t->h, 0, 0, 0), 1, MBPS);

    set_groups(&t->a, group, 0);
    set_groups(&t->b, group, 0);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 150000);
    post(&t->b, MLX5_OPCODE_RDMA_WRITE, 0x100000, 150000);
    for (int ms = 0; ms < 200; ms++) {
        held(wire.from_a + wire.from_b, INT64_C(1) * ms * MS, MBPS);
        fake_host_advance(t->h, MS);
    }
    /* In turn. */
    ck_assert_uint_le(wire.from_a, wire.from_b + 2 * PIECE);
    ck_assert_uint_le(wire.from_b, wire.from_a + 2 * PIECE);
    fake_host_advance(t->h, 200 * MS);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&t->b, 0, MLX5_OPCODE_RDMA_WRITE);
    free_all(t);
}
END_TEST

/* Below a node with a limit, by weight; above, the lower of two limits. */
START_TEST(shares)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t node = t_node(t->h, 0, 0, MBPS);
    uint32_t one = t_group(t->h, node, 10, 100);
    uint32_t three = t_group(t->h, node, 30, 0);

    set_groups(&t->a, one, 0);
    set_groups(&t->b, three, 0);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 500000);
    post(&t->b, MLX5_OPCODE_RDMA_WRITE, 0x100000, 500000);
    fake_host_advance(t->h, 400 * MS);
    held(wire.from_a + wire.from_b, INT64_C(400) * MS, MBPS);
    ck_assert_uint_le(wire.from_b, 3 * wire.from_a + 4 * PIECE);
    ck_assert_uint_ge(wire.from_b + 4 * PIECE, 3 * wire.from_a);
    /* When the others are done, all of it is the last one's. */
    fake_host_advance(t->h, 1000 * MS);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&t->b, 0, MLX5_OPCODE_RDMA_WRITE);
    free_all(t);
}
END_TEST

/* One that was idle has not saved up turns. */
START_TEST(idle_saves_nothing)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t node = t_node(t->h, 0, 0, MBPS);
    uint64_t a, b;

    set_groups(&t->a, t_group(t->h, node, 1, 0), 0);
    set_groups(&t->b, t_group(t->h, node, 1, 0), 0);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 900000);
    fake_host_advance(t->h, 400 * MS);
    a = wire.from_a;
    post(&t->b, MLX5_OPCODE_RDMA_WRITE, 0x100000, 900000);
    fake_host_advance(t->h, 200 * MS);
    a = wire.from_a - a;
    b = wire.from_b;
    ck_assert_uint_le(b, a + 2 * PIECE);
    ck_assert_uint_le(a, b + 2 * PIECE);
    free_all(t);
}
END_TEST

START_TEST(group_limit_changes)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t node = t_node(t->h, 0, 0, 0), group = t_group(t->h, node, 1, 0);
    uint64_t before;

    set_groups(&t->a, group, 0);
    /* No limit: nothing waits. */
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 500000);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    t_sched_limit(t->h, node, 1);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 500000);
    before = wire.from_a;
    fake_host_advance(t->h, 80 * MS);
    held(wire.from_a - before, INT64_C(80) * MS, 1);
    t_sched_limit(t->h, node, MBPS);
    before = wire.from_a;
    fake_host_advance(t->h, 80 * MS);
    held(wire.from_a - before, INT64_C(80) * MS, MBPS);
    t_sched_limit(t->h, node, 0);
    settle(t);
    r_sent(&t->a, 1, MLX5_OPCODE_RDMA_WRITE);
    free_all(t);
}
END_TEST

/* Out of its group, a queue that waits goes on. */
START_TEST(group_is_left)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t group = t_group(t->h, 0, 1, 1);
    TestCmd c;

    set_groups(&t->a, group, 0);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 100000);
    fake_host_advance(t->h, 10 * MS);
    r_quiet(&t->a);
    t_sched_name(&c, group);
    t_refused(t->h, &c, mlx5_cmd_destroy_scheduling_element, T_SCHED_ID_LEN,
              MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_SCHED_BUSY);
    set_groups(&t->a, 0, 0);
    settle(t);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    t_sched_destroy(t->h, group);
    free_all(t);
}
END_TEST

/* What reads ask for is held back where it is answered. */
START_TEST(responder_is_held)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t group = t_group(t->h, 0, 1, MBPS);

    set_groups(&t->b, 0, group);
    ck_assert_ptr_null(t->b.qp->req_pace);
    post(&t->a, MLX5_OPCODE_RDMA_READ, 0, 200000);
    for (int ms = 0; ms < 150; ms++) {
        held(wire.from_b, INT64_C(1) * ms * MS, MBPS);
        fake_host_advance(t->h, MS);
    }
    fake_host_advance(t->h, 100 * MS);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(t->h, SRC, DST, 200000));
    /* A short read, too, waits for what was sent before it. */
    post(&t->a, MLX5_OPCODE_RDMA_READ, 0, 60000);
    post(&t->a, MLX5_OPCODE_RDMA_READ, 0, 16);
    fake_host_advance(t->h, 30 * MS);
    r_quiet(&t->a);
    fake_host_advance(t->h, 60 * MS);
    free_all(t);
}
END_TEST

START_TEST(other_services)
{
    static const Mlx5QpSt services[] = { MLX5_QP_ST_UC, MLX5_QP_ST_UD };
    RTest *t = connected(services[_i]);
    unsigned sent = 0;
    uint8_t cqe[64];
    TestCmd c;

    c = groups_cmd(&t->a, 0, t_group(t->h, 0, 1, MBPS));
    refused(&t->a, &c, MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_QP_QUEUE_GROUP_SERVICE);
    set_groups(&t->a, t_group(t->h, 0, 1, MBPS), 0);
    for (unsigned i = 0; i < 30; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_SEND);

        if (services[_i] == MLX5_QP_ST_UD) {
            r_av(&w, t->b.qpn, R_QKEY);
        }
        r_data(&w, SRC, 938, t->key);
        r_post(&t->a, &w);
    }
    /* A thousand bytes each: one in a millisecond, and the burst. */
    fake_host_advance(t->h, 20 * MS);
    held(wire.from_a, INT64_C(20) * MS, MBPS);
    while (r_poll(&t->a, &t->a.scq, cqe)) {
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
        sent++;
    }
    ck_assert_uint_ge(sent, 20);
    ck_assert_uint_le(sent, 25);
    free_all(t);
}
END_TEST

/* In INIT, before there is anything to hold back; it lasts through RST. */
START_TEST(set_in_init)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint32_t group = t_group(t->h, 0, 1, MBPS);
    TestCmd c = groups_cmd(&t->a, group, group);

    wire = (typeof(wire)){ .a = t->a.qpn };
    mlx5_rdma_set_link(t->h->func, link_fn);
    r_set_state(&t->a, MLX5_QP_STATE_INIT);
    t_ok(t->h, &c, mlx5_cmd_init2init_qp, 0x1d0);
    /* Streams are of RTS2RTS. */
    mlx5_prm_set(c.in, 0x840, 64, 1);
    t_refused(t->h, &c, mlx5_cmd_init2init_qp, 0x1d0,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QP_EXT_MASK);
    r_set_state(&t->a, MLX5_QP_STATE_RST);
    r_connect(t, 100);
    ck_assert_ptr_nonnull(t->a.qp->req_pace);
    ck_assert_ptr_nonnull(t->a.qp->resp_pace);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 100000);
    fake_host_advance(t->h, 50 * MS);
    held(wire.from_a, INT64_C(50) * MS, MBPS);
    free_all(t);
}
END_TEST

START_TEST(refusals)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t node = t_node(t->h, 0, 0, 0);
    TestCmd c = groups_cmd(&t->a, 999, 0);

    refused(&t->a, &c, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_QUEUE_GROUP);
    c = groups_cmd(&t->a, 0, node);
    refused(&t->a, &c, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_QUEUE_GROUP);
    c = groups_cmd(&t->a, 0, 0);
    mlx5_prm_set(c.in, 0x840, 64, 3);
    refused(&t->a, &c, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QP_EXT_MASK);
    c = groups_cmd(&t->a, 0, 0);
    t_refused(t->h, &c, mlx5_cmd_rts2rts_qp, 0x1cc,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QP_EXT_LENGTH);
    c = rate_cmd(&t->a, 7);
    refused(&t->a, &c, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_RATE_LIMIT);
    ck_assert_ptr_null(t->a.qp->req_pace);
    ck_assert_ptr_null(t->a.qp->resp_pace);
    free_all(t);
}
END_TEST

/* While it waits the queue fails, is destroyed, or the card is reset. */
START_TEST(ends_while_waiting)
{
    RTest *t = connected(MLX5_QP_ST_RC);
    uint32_t group = t_group(t->h, t_node(t->h, 0, 0, 1), 1, 0);

    t_rate(t->h, 5, 8, 0);
    set_rate(&t->b, 5);
    set_groups(&t->a, group, group);
    set_groups(&t->b, group, group);
    post(&t->a, MLX5_OPCODE_RDMA_WRITE, 0, 100000);
    post(&t->b, MLX5_OPCODE_RDMA_WRITE, 0, 100000);
    post(&t->b, MLX5_OPCODE_RDMA_READ, 0, 100000);
    fake_host_advance(t->h, 10 * MS);
    switch (_i) {
    case 0:
        r_set_state(&t->a, MLX5_QP_STATE_ERR);
        fake_host_advance(t->h, 1000 * MS);
        r_flushed(&t->a, &t->a.scq, 0);
        free_all(t);
        break;
    case 1:
        free_all(t);
        break;
    case 2:
        mlx5_func_reset(t->h->func);
        ck_assert_uint_eq(t->h->func->pacer->all.length, 0);
        fake_host_advance(t->h, 1000 * MS);
        fake_host_free(t->h);
        g_free(t);
        break;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pace");
    TCase *tc = tcase_create("pace");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, rate_is_held);
    tcase_add_test(tc, rate_is_of_each);
    tcase_add_test(tc, rate_is_released);
    tcase_add_test(tc, burst);
    tcase_add_test(tc, group_is_held_together);
    tcase_add_test(tc, shares);
    tcase_add_test(tc, idle_saves_nothing);
    tcase_add_test(tc, group_limit_changes);
    tcase_add_test(tc, group_is_left);
    tcase_add_test(tc, responder_is_held);
    tcase_add_loop_test(tc, other_services, 0, 2);
    tcase_add_test(tc, set_in_init);
    tcase_add_test(tc, refusals);
    tcase_add_loop_test(tc, ends_while_waiting, 0, 3);
    return t_main(s);
}
