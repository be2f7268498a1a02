/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames between queues of one function: who hears whom, and what still goes
 * to the wire.
 */
#include "tests/eth/eth_helper.h"

static Net n;

static void setup(void)
{
    n = net_new();
}

static void teardown(void)
{
    net_free(&n);
}

/* Send @f from the SQ, gathered from memory. */
static void send_frame(const NetFrame *f)
{
    uint8_t wqe[64] = { 0 };

    net_ctrl(&n.sq, wqe, 0x0a, 3, 2);
    fake_mem_write(n.h, n.buf, f->b, f->len);
    net_data_seg(&n, wqe + 32, n.buf, f->len);
    net_post(&n, &n.sq, wqe, 48);
    net_ring(&n, &n.sq);
}

/* Number of completions waiting in @q's CQ. */
static unsigned completions(NetQueue *q)
{
    uint8_t cqe[64];
    unsigned num = 0;

    while (fake_driver_poll_cq(n.d, &q->cq, cqe)) {
        num++;
    }
    return num;
}

/* A TIR of domain @td that hears @self_lb of its own, for everything. */
static void listen_all(uint32_t td, uint32_t self_lb)
{
    FAKE_BUFFERS(create_tir);
    uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, in, ctx);

    MLX5_SET(tirc, tirc, transport_domain, td);
    MLX5_SET(tirc, tirc, inline_rqn, n.rq.number);
    MLX5_SET(tirc, tirc, self_lb_block, self_lb);
    FAKE_CMD_OK(n.d, CREATE_TIR, create_tir, in, out);
    net_steer_all(&n, MLX5_GET(create_tir_out, out, tirn));
    net_post_rx(&n, &n.rq, n.buf + 0x10000, 4096);
}

enum { OURS, FOREIGN, MULTI };
/* The receiver's transport domain: another, the sender's, none. */
enum { OTHER_TD, SAME_TD, NO_TD };

static const struct {
    int to;
    bool off;                /* local loopback disabled for the kind */
    int td;
    uint32_t self_lb;
    bool loops, wire;
} cases[] = {
    { OURS, false, OTHER_TD, 0, true, false },
    { OURS, true, OTHER_TD, 0, false, true },
    { OURS, false, SAME_TD, 0, false, true },
    { OURS, false, SAME_TD, MLX5_SELF_LB_UNICAST, true, false },
    { OURS, false, SAME_TD, MLX5_SELF_LB_MULTICAST, false, true },
    { FOREIGN, false, OTHER_TD, 0, true, true },
    { FOREIGN, true, OTHER_TD, 3, false, true },
    { MULTI, false, OTHER_TD, 0, true, true },
    { MULTI, true, OTHER_TD, 3, false, true },
    { MULTI, false, SAME_TD, 0, false, true },
    { MULTI, false, SAME_TD, MLX5_SELF_LB_UNICAST, false, true },
    { MULTI, false, SAME_TD, MLX5_SELF_LB_MULTICAST, true, true },
    { OURS, false, NO_TD, 0, true, false },
    { MULTI, false, NO_TD, 0, true, true },
};

START_TEST(who_hears)
{
    Mlx5Vport *v = mlx5_vport(n.func);
    NetFrame f = net_make_frame(4, 17, -1, 100);
    Mlx5Traffic before = v->counters.local_loopback;
    uint8_t got[200];

    v->disable_uc_local_lb = cases[_i].to == MULTI ? true : cases[_i].off;
    v->disable_mc_local_lb = cases[_i].to == MULTI ? cases[_i].off : true;
    if (cases[_i].to == OURS) {
        memcpy(f.b, v->mac, 6);
    } else {
        f.b[0] = cases[_i].to == MULTI;
    }
    listen_all(cases[_i].td == NO_TD ? 0
               : cases[_i].td == SAME_TD ? n.td : net_alloc_td(&n),
               cases[_i].self_lb);
    send_frame(&f);
    ck_assert_uint_eq(completions(&n.sq), 1);
    ck_assert_uint_eq(completions(&n.rq), cases[_i].loops);
    ck_assert_uint_eq(n.h->frames->len, cases[_i].wire);
    ck_assert_uint_eq(v->counters.local_loopback.packets - before.packets,
                      cases[_i].loops);
    ck_assert_uint_eq(v->counters.local_loopback.octets - before.octets,
                      cases[_i].loops ? f.len : 0);
    fake_mem_read(n.h, n.buf + 0x10000, got, f.len);
    ck_assert(!memcmp(got, f.b, f.len) == cases[_i].loops);
}
END_TEST

/* An address of the vport's unicast list is ours as well. */
START_TEST(listed_address)
{
    Mlx5Vport *v = mlx5_vport(n.func);
    NetFrame f = net_make_frame(4, 17, -1, 100);
    FAKE_BUFFERS(modify_nic_vport_context);
    uint8_t *ctx = MLX5_ADDR_OF(modify_nic_vport_context_in, in,
                                nic_vport_context);
    uint8_t longer[sizeof(in) + 8] = { 0 };

    MLX5_SET(modify_nic_vport_context_in, in, opcode,
             MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT);
    MLX5_SET(modify_nic_vport_field_select,
             MLX5_ADDR_OF(modify_nic_vport_context_in, in, field_select),
             addresses_list, 1);
    MLX5_SET(nic_vport_context, ctx, allowed_list_size, 1);
    memcpy(longer, in, sizeof(in));
    memcpy(longer + sizeof(in) + 2, f.b, 6);
    ck_assert(fake_driver_cmd(n.d, longer, sizeof(longer), out, sizeof(out)));
    v->disable_uc_local_lb = false;
    listen_all(net_alloc_td(&n), 0);
    send_frame(&f);
    ck_assert_uint_eq(completions(&n.rq), 1);
    ck_assert_uint_eq(n.h->frames->len, 0);
}
END_TEST

/* MODIFY_TIR's self_lb_en, as a self test of the driver uses it. */
START_TEST(self_test)
{
    Mlx5Vport *v = mlx5_vport(n.func);
    NetFrame f = net_make_frame(4, 17, -1, 100);
    uint32_t tirn = net_create_tir_direct(&n, n.rq.number);

    v->disable_uc_local_lb = false;
    memcpy(f.b, v->mac, 6);
    net_steer_all(&n, tirn);
    for (uint32_t on = 0; on < 3; on++) {
        FAKE_BUFFERS(modify_tir);

        MLX5_SET(modify_tir_in, in, tirn, tirn);
        MLX5_SET(modify_tir_bitmask, MLX5_ADDR_OF(modify_tir_in, in, bitmask),
                 self_lb_en, 1);
        MLX5_SET(tirc, MLX5_ADDR_OF(modify_tir_in, in, ctx), self_lb_block,
                 on & 1);
        FAKE_CMD_OK(n.d, MODIFY_TIR, modify_tir, in, out);
        net_post_rx(&n, &n.rq, n.buf + 0x10000, 4096);
        send_frame(&f);
        ck_assert_uint_eq(completions(&n.rq), on & 1);
    }
    ck_assert_uint_eq(n.h->frames->len, 2);
}
END_TEST

/* Without a link, nothing moves; a miss inside is no miss of the port. */
START_TEST(no_link_no_rule)
{
    Mlx5Vport *v = mlx5_vport(n.func);
    NetFrame f = net_make_frame(4, 17, -1, 100);

    v->disable_uc_local_lb = false;
    memcpy(f.b, v->mac, 6);
    n.td = net_alloc_td(&n);
    net_create_tir_direct(&n, n.rq.number);
    send_frame(&f);
    ck_assert_uint_eq(n.h->frames->len, 1);
    ck_assert_uint_eq(n.func->stats.rx_steer_missed, 0);
    listen_all(n.td, 0);
    mlx5_card_set_link(n.h->card, false);
    send_frame(&f);
    ck_assert_uint_eq(completions(&n.rq), 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth loopback");
    TCase *tc = tcase_create("loopback");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, who_hears, 0, G_N_ELEMENTS(cases));
    tcase_add_test(tc, listed_address);
    tcase_add_test(tc, self_test);
    tcase_add_test(tc, no_link_no_rule);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
