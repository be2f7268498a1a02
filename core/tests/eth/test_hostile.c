/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames from a hostile peer: every kind there is, cut short at each length,
 * with lengths that lie and bytes flipped. Each is parsed as deep as headers go,
 * and is accounted for.
 */
#include "obj/q_counter.h"
#include "tests/eth/eth_helper.h"

enum { ROUNDS = 4000 };

static Net n;
static uint32_t seed;

static void setup(void)
{
    n = net_new();
    seed = 1;
}

static void teardown(void)
{
    net_free(&n);
}

static uint32_t any(uint32_t below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % below;
}

/* What became of all frames so far. */
static uint64_t accounted(uint64_t delivered)
{
    const Mlx5Stats *s = &n.func->stats;

    return delivered + s->rx_errors + s->rx_oversize + s->rx_no_buffer +
           s->rx_steer_missed + s->rx_dropped_by_rule;
}

static uint64_t counted(void)
{
    const Mlx5VportCounters *c = &mlx5_vport(n.func)->counters;

    return c->received_eth_unicast.packets +
           c->received_eth_multicast.packets +
           c->received_eth_broadcast.packets + n.func->stats.rx_errors;
}

static void feed(const uint8_t *frame, size_t len)
{
    struct iovec iov[2] = { { (void *)frame, MIN(len, 5) },
                            { (void *)(frame + MIN(len, 5)),
                              len - MIN(len, 5) } };

    mlx5_card_frame_rx(n.h->card, iov, 2);
    fake_host_work(n.h);
}

static unsigned poll_all(NetQueue *q)
{
    uint8_t cqe[64];
    unsigned count = 0;

    while (fake_driver_poll_cq(n.d, &q->cq, cqe)) {
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
        ck_assert_uint_le(MLX5_GET(cqe64, cqe, byte_cnt) & 0xffff, NET_BUF);
        count++;
    }
    return count;
}

/* VXLAN, Geneve, GRE and IP in IP: where parsers go on inside. */
static void tunnel_header(NetFrame *f, unsigned kind)
{
    static const uint16_t ports[] = { 4789, 6081, 4790, 4791 };
    static const uint8_t protocols[] = { 47, 4, 41, 50, 51, 0, 43, 44, 60 };
    size_t l3 = net_l3(f->b);

    if (kind < G_N_ELEMENTS(ports)) {
        mlx5_put_be16(f->b + l3 + 22, ports[kind]);
    } else if (f->b[l3] >> 4 == 4) {
        f->b[l3 + 9] = protocols[kind % G_N_ELEMENTS(protocols)];
    } else {
        f->b[l3 + 6] = protocols[kind % G_N_ELEMENTS(protocols)];
    }
}

static NetFrame hostile(void)
{
    NetFrame f = net_make_frame(any(2) ? 4 : 6, any(2) ? 6 : 17,
                                any(3) ? -1 : (int)any(0x10000),
                                any(8) ? any(600) : any(4000));

    if (any(2)) {
        tunnel_header(&f, any(16));
    }
    for (uint32_t i = any(8); i; i--) {
        f.b[any(MIN(f.len, 90))] = seed >> 4;
    }
    /* Never our own control frames: those go no further, and rightly. */
    if (f.len >= 14 && mlx5_get_be16(f.b + 12) == 0x8808) {
        f.b[12] = 0;
    }
    if (any(2)) {
        f.len = any(f.len + 1);
    }
    return f;
}

START_TEST(each_is_accounted_for)
{
    uint64_t fed = 0, delivered = 0, posted = 0;

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    for (int i = 0; i < ROUNDS; i++) {
        NetFrame f = hostile();

        if (any(8) && posted - delivered < 1 << NET_LOG_RQ) {
            net_post_rx(&n, &n.rq, n.buf, NET_BUF);
            posted++;
        }
        feed(f.b, f.len);
        if (n.func->eth->backlogs->len && any(4)) {
            /* It waits for a receive, in vain. */
            fake_host_advance(n.h, 11000000);
        } else if (n.func->eth->backlogs->len) {
            net_post_rx(&n, &n.rq, n.buf, NET_BUF);
            posted++;
            fake_host_advance(n.h, 1000000);
        }
        fed++;
        delivered += poll_all(&n.rq);
        ck_assert_uint_eq(accounted(delivered), fed);
        ck_assert_uint_eq(counted(), fed);
    }
    ck_assert_uint_gt(delivered, ROUNDS / 3);
    ck_assert_uint_gt(n.func->stats.rx_errors, 0);
    ck_assert_uint_gt(n.func->stats.rx_oversize, 0);
}
END_TEST

/* Cut at each length: never a byte more than there is (sanitizers look). */
START_TEST(cut_at_each_length)
{
    for (unsigned kind = 0; kind < 16; kind++) {
        NetFrame f = net_make_frame(_i ? 6 : 4, kind % 2 ? 6 : 17, -1, 120);

        tunnel_header(&f, kind);
        for (size_t len = 0; len <= f.len; len++) {
            g_autofree uint8_t *b = g_memdup2(f.b, MAX(len, 1));

            feed(b, len);
        }
    }
    ck_assert_uint_eq(counted(), n.func->stats.rx_steer_missed +
                      n.func->stats.rx_errors);
}
END_TEST

/* Longer than the port takes. */
START_TEST(giants)
{
    g_autofree uint8_t *b = g_malloc0(70000);

    for (size_t len = MLX5_ETH_MAX_FRAME + 1; len < 70000; len += 9999) {
        feed(b, len);
    }
    ck_assert_uint_eq(n.func->stats.rx_oversize, 6);
    ck_assert_uint_eq(counted(), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth hostile");
    TCase *t = tcase_create("hostile");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, each_is_accounted_for);
    tcase_add_loop_test(t, cut_at_each_length, 0, 2);
    tcase_add_test(t, giants);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
