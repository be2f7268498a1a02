/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups: attaching, detaching, and where datagrams arrive.
 */
#include "fw/fw.h"
#include "obj/limits.h"
#include "obj/mcg.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST_A (R_DATA + 0x10000000)
#define DST_B (R_DATA + 0x20000000)

static const uint8_t group[16] = { 0xff, 0x0e, [15] = 1 };
static const uint8_t group4[16] = { [10] = 0xff, 0xff, 239, 1, 1, 1 };

static void fill(TestCmd *c, uint32_t qpn, const uint8_t gid[16])
{
    memset(c, 0, sizeof(*c));
    MLX5_SET(attach_to_mcg_in, c->in, qpn, qpn);
    memcpy(MLX5_ADDR_OF(attach_to_mcg_in, c->in, multicast_gid), gid, 16);
}

static void attach(RQp *q, const uint8_t gid[16])
{
    TestCmd c;

    fill(&c, q->qpn, gid);
    t_ok(q->h, &c, mlx5_cmd_attach_to_mcg, MLX5_ST_SZ_BYTES(attach_to_mcg_in));
}

static void detach(RQp *q, const uint8_t gid[16])
{
    TestCmd c;

    fill(&c, q->qpn, gid);
    t_ok(q->h, &c, mlx5_cmd_detach_from_mcg,
         MLX5_ST_SZ_BYTES(detach_from_mcg_in));
}

static void refused(RTest *t, TestHandler *handler, uint32_t qpn,
                    const uint8_t gid[16], Mlx5Status status, uint32_t synd)
{
    TestCmd c;

    fill(&c, qpn, gid);
    t_refused(t->h, &c, handler, MLX5_ST_SZ_BYTES(attach_to_mcg_in), status,
              synd);
}

static RTest *datagram(void)
{
    static const uint8_t gid4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 7 };
    RTest *t = r_new(MLX5_QP_ST_UD);

    r_gid_set(t, 1, gid4, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV4);
    r_up(&t->a, 0, 0, 0);
    r_up(&t->b, 0, 0, 0);
    r_fill(t->h, SRC, 4096, 9);
    return t;
}

/* From @q to the group at QP number @dqpn. */
static void post(RQp *q, const uint8_t gid[16], uint32_t dqpn, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t *av = w.b + w.len;

    r_av(&w, dqpn, R_QKEY);
    memcpy(av + MLX5_BYTE_OFF(wqe_av, rgid_rip), gid, 16);
    MLX5_SET(wqe_av, av, src_addr_index, gid == group4);
    r_data(&w, SRC, len, q->t->key);
    r_post(q, &w);
}

static void arrived(RQp *q, uint64_t dst, uint32_t src_qpn, uint32_t len)
{
    uint8_t cqe[64];

    ck_assert(r_poll(q, &q->rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), 40 + len);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, src_qp), src_qpn);
    ck_assert(r_same(q->h, SRC, dst + 40, len));
}

static void nothing(RQp *q)
{
    uint8_t cqe[64];

    ck_assert(!r_poll(q, &q->rcq, cqe));
}

/* Every member gets a copy, the sender too. */
START_TEST(to_all_members)
{
    RTest *t = datagram();
    uint8_t h[40];

    attach(&t->a, group4);
    attach(&t->b, group4);
    r_recv(&t->a, DST_A, 2048);
    r_recv(&t->b, DST_B, 2048);
    post(&t->a, group4, MLX5_QPN_MULTICAST, 1000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    arrived(&t->a, DST_A, t->a.qpn, 1000);
    arrived(&t->b, DST_B, t->a.qpn, 1000);
    /* The group's address in the header of IPv4. */
    fake_mem_read(t->h, DST_B, h, 40);
    ck_assert(!memcmp(h + 36, group4 + 12, 4));
    detach(&t->a, group4);
    detach(&t->b, group4);
    r_free(t);
}
END_TEST

START_TEST(not_to_others)
{
    RTest *t = datagram();

    attach(&t->b, group);
    r_recv(&t->a, DST_A, 2048);
    r_recv(&t->b, DST_B, 2048);
    /* Another group; a member by its own number; the group's unicast. */
    post(&t->a, group4, MLX5_QPN_MULTICAST, 100);
    post(&t->a, group, t->b.qpn, 100);
    post(&t->a, r_gid, MLX5_QPN_MULTICAST, 100);
    nothing(&t->a);
    nothing(&t->b);
    post(&t->a, group, MLX5_QPN_MULTICAST, 100);
    arrived(&t->b, DST_B, t->a.qpn, 100);
    nothing(&t->a);
    detach(&t->b, group);
    r_recv(&t->b, DST_B, 2048);
    post(&t->a, group, MLX5_QPN_MULTICAST, 100);
    nothing(&t->b);
    r_free(t);
}
END_TEST

/* qpc.block_lb_mc: not to the sender itself. */
START_TEST(own_blocked)
{
    RTest *t = datagram();

    R_QPC(&t->a, block_lb_mc, 1);
    attach(&t->a, group);
    attach(&t->b, group);
    r_recv(&t->a, DST_A, 2048);
    r_recv(&t->b, DST_B, 2048);
    post(&t->a, group, MLX5_QPN_MULTICAST, 100);
    nothing(&t->a);
    arrived(&t->b, DST_B, t->a.qpn, 100);
    /* From another it comes. */
    post(&t->b, group, MLX5_QPN_MULTICAST, 200);
    arrived(&t->a, DST_A, t->b.qpn, 200);
    detach(&t->a, group);
    detach(&t->b, group);
    r_free(t);
}
END_TEST

/* A member without a receive loses its copy, the other does not. */
START_TEST(one_without_receive)
{
    RTest *t = datagram();

    attach(&t->a, group);
    attach(&t->b, group);
    r_recv(&t->b, DST_B, 2048);
    post(&t->a, group, MLX5_QPN_MULTICAST, 100);
    nothing(&t->a);
    arrived(&t->b, DST_B, t->a.qpn, 100);
    detach(&t->a, group);
    detach(&t->b, group);
    r_free(t);
}
END_TEST

START_TEST(other_function)
{
    RTest *t = datagram();
    FakeHost *h = fake_host_new_func(t->h->card, NULL);

    /* Nobody there is in the group: nothing happens to it. */
    attach(&t->b, group);
    r_recv(&t->b, DST_B, 2048);
    post(&t->a, group, MLX5_QPN_MULTICAST, 100);
    arrived(&t->b, DST_B, t->a.qpn, 100);
    ck_assert(!h->kicked);
    detach(&t->b, group);
    fake_host_free(h);
    r_free(t);
}
END_TEST

START_TEST(refuses)
{
    RTest *t = datagram();
    RQp rc;

    r_qp(t, &rc, MLX5_QP_ST_RC);
    refused(t, mlx5_cmd_attach_to_mcg, 0x9999, group,
            MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MCG_QP);
    refused(t, mlx5_cmd_attach_to_mcg, rc.qpn, group,
            MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCG_SERVICE);
    refused(t, mlx5_cmd_attach_to_mcg, t->a.qpn, r_gid,
            MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCG_GID);
    refused(t, mlx5_cmd_detach_from_mcg, 0x9999, group,
            MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MCG_DETACH_QP);
    refused(t, mlx5_cmd_detach_from_mcg, t->a.qpn, group,
            MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MCG_NOT_MEMBER);
    attach(&t->a, group);
    refused(t, mlx5_cmd_detach_from_mcg, t->b.qpn, group,
            MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MCG_NOT_MEMBER);
    ck_assert_uint_eq(mlx5_mcg_count(t->h->func), 1);
    detach(&t->a, group);
    ck_assert_uint_eq(mlx5_mcg_count(t->h->func), 0);
    r_destroy(&rc);
    r_free(t);
}
END_TEST

/* Attached twice is attached once; an attached queue pair refuses to die. */
START_TEST(twice_and_destroy)
{
    RTest *t = datagram();
    TestCmd c = { 0 };

    attach(&t->a, group);
    attach(&t->a, group);
    MLX5_SET(destroy_qp_in, c.in, qpn, t->a.qpn);
    t_run(t->h, &c, mlx5_cmd_destroy_qp, MLX5_ST_SZ_BYTES(destroy_qp_in), 0);
    ck_assert_uint_eq(c.c.syndrome, MLX5_SYND_QP_BUSY);
    detach(&t->a, group);
    refused(t, mlx5_cmd_detach_from_mcg, t->a.qpn, group,
            MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MCG_NOT_MEMBER);
    r_free(t);
}
END_TEST

START_TEST(limits)
{
    RTest *t = datagram();
    uint8_t gid[16] = { 0xff, 0x0e };

    for (uint32_t i = 0; i < 1u << MLX5_LOG_MAX_MCG; i++) {
        gid[14] = i >> 8;
        gid[15] = i;
        attach(&t->a, gid);
    }
    attach(&t->b, gid);
    gid[13] = 1;
    refused(t, mlx5_cmd_attach_to_mcg, t->a.qpn, gid,
            MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_MCG_FULL);
    /* Reset with all of them attached. */
    mlx5_func_reset(t->h->func);
    ck_assert_uint_eq(mlx5_mcg_count(t->h->func), 0);
    fake_host_free(t->h);
    g_free(t);
}
END_TEST

START_TEST(switched_off)
{
    Mlx5FuncProps props;
    FakeHost *h;
    TestCmd c;

    mlx5_func_props_default(&props);
    props.mcast = false;
    h = fake_host_new(&props);
    fill(&c, 0x40, group);
    t_refused(h, &c, mlx5_cmd_attach_to_mcg,
              MLX5_ST_SZ_BYTES(attach_to_mcg_in), MLX5_CMD_STAT_BAD_OP_ERR,
              MLX5_SYND_MCG_OFF);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, max_qp_mcg), 0);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, block_lb_mc), 0);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("multicast");
    TCase *tc = tcase_create("multicast");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, to_all_members);
    tcase_add_test(tc, not_to_others);
    tcase_add_test(tc, own_blocked);
    tcase_add_test(tc, one_without_receive);
    tcase_add_test(tc, other_function);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, twice_and_destroy);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, switched_off);
    return t_main(s);
}
