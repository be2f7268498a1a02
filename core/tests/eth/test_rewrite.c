/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What flow entries make of frames: header changes, VLAN tags, tunnels, in
 * NIC receive and NIC transmit tables; refusals of their contexts.
 */
#include "tests/eth/flow_fixture.h"

/* --- changes ---------------------------------------------------------- */

static const struct {
    const char *name;
    int ip, proto, vlan;
    uint64_t actions[3];
    uint32_t at, bytes;      /* what changes, and to what */
    uint64_t want;
} changes[] = {
    { "smac hi", 4, 6, -1, { FLOW_SET(0x01, 0, 32, 0xa1a2a3a4) }, 6, 4,
      0xa1a2a3a4 },
    { "smac lo", 4, 6, -1, { FLOW_SET(0x02, 0, 16, 0xa5a6) }, 10, 2, 0xa5a6 },
    { "dmac hi", 4, 6, -1, { FLOW_SET(0x04, 0, 32, 0xa1a2a3a4) }, 0, 4,
      0xa1a2a3a4 },
    { "dmac lo", 4, 6, -1, { FLOW_SET(0x05, 4, 8, 0xff) }, 4, 2, 0x3ff6 },
    { "type", 4, 6, 5, { FLOW_SET(0x03, 0, 16, 0x1234) }, 16, 2, 0x1234 },
    { "vid", 4, 6, 0x7123, { FLOW_SET(0x17, 0, 12, 0x456) }, 14, 2, 0x7456 },
    { "dscp", 4, 6, -1, { FLOW_SET(0x06, 0, 6, 0x2a) }, 15, 1, 0xa8 },
    { "dscp 6", 6, 6, -1, { FLOW_SET(0x06, 0, 6, 0x2a) }, 14, 2, 0x6a80 },
    { "ttl", 4, 6, -1, { FLOW_ADD(0x0a, -1) }, 22, 1, 63 },
    { "ttl 6", 6, 6, -1, { FLOW_ADD(0x0a, -1) }, 21, 1, 63 },
    { "hop limit", 6, 17, -1, { FLOW_SET(0x47, 0, 8, 9) }, 21, 1, 9 },
    { "sipv4", 4, 17, -1, { FLOW_SET(0x15, 0, 32, 0x01020304) }, 26, 4,
      0x01020304 },
    { "dipv4", 4, 17, -1, { FLOW_SET(0x16, 8, 16, 0xffff) }, 30, 4,
      0x0affffff & ~1u },
    { "sipv6", 6, 17, -1, { FLOW_SET(0x10, 0, 32, 7) }, 34, 4, 7 },
    { "dipv6", 6, 17, -1, { FLOW_SET(0x11, 0, 32, 8) }, 38, 4, 8 },
    { "tcp sport", 4, 6, -1, { FLOW_SET(0x08, 0, 16, 99) }, 34, 2, 99 },
    { "tcp dport", 6, 6, -1, { FLOW_SET(0x09, 0, 16, 99) }, 56, 2, 99 },
    { "tcp flags", 4, 6, -1, { FLOW_SET(0x07, 0, 9, 0x102) }, 46, 2, 0x5102 },
    { "tcp seq", 4, 6, -1, { FLOW_ADD(0x59, 0x20) }, 38, 4, 0x10 },
    { "tcp ack", 4, 6, -1, { FLOW_SET(0x5b, 0, 32, 5) }, 42, 4, 5 },
    { "udp sport", 4, 17, -1, { FLOW_SET(0x0b, 0, 16, 99) }, 34, 2, 99 },
    { "udp dport", 4, 17, -1, { FLOW_ADD(0x0c, 1) }, 36, 2, 81 },
    { "copy", 4, 17, -1, { FLOW_COPY(0x0b, 4, 8, 0x0c, 8) }, 36, 2, 0x2350 },
    { "registers", 4, 17, -1,
      { FLOW_SET(0x51, 0, 32, 0xdeadbeef), FLOW_COPY(0x51, 0, 32, 0x58, 0),
        FLOW_COPY(0x58, 16, 16, 0x0c, 0) }, 36, 2, 0xdead },
    { "absent", 4, 17, -1, { FLOW_SET(0x08, 0, 16, 99) }, 36, 2, 80 },
};

/* The field changes, checksums stay right, all else stays. */
START_TEST(modify)
{
    NetFrame frame = good(changes[_i].ip, changes[_i].proto, changes[_i].vlan,
                          100);
    NetFrame want = frame;
    Mlx5FrameInfo info;
    uint32_t num = 0;
    Flow f = to_tir();

    while (num < 3 && changes[_i].actions[num]) {
        num++;
    }
    for (uint32_t i = 0; i < changes[_i].bytes; i++) {
        want.b[changes[_i].at + i] =
            changes[_i].want >> 8 * (changes[_i].bytes - 1 - i);
    }
    mlx5_frame_parse(want.b, want.len, &info);
    mlx5_frame_set_l3_csum(want.b, &info);
    mlx5_frame_set_l4_csum(want.b, &info);
    f.action |= ACT(MOD_HDR);
    f.modify = flow_make_modify(&n, 0, changes[_i].actions, num);
    flow_install(&n, &f);
    ck_assert_msg(arrives(&frame, &want), "%s", changes[_i].name);
}
END_TEST

/* A checksum that was wrong is not made right. */
START_TEST(modify_keeps_wrong)
{
    NetFrame frame = net_make_frame(4, 17, -1, 100), want = frame;
    uint64_t action = FLOW_SET(0x0c, 0, 16, 99);
    Flow f = to_tir();

    mlx5_put_be16(want.b + 36, 99);
    f.action |= ACT(MOD_HDR);
    f.modify = flow_make_modify(&n, 0, &action, 1);
    flow_install(&n, &f);
    ck_assert(arrives(&frame, &want));
}
END_TEST

/* A later table sees the frame as changed, and the registers. */
START_TEST(modify_then_match)
{
    NetFrame frame = net_make_frame(4, 17, -1, 100);
    uint64_t actions[2] = { FLOW_SET(0x52, 0, 32, 77),
                            FLOW_SET(0x02, 0, 16, 0x7777) };
    Flow second = to_tir(), first = { .action = ACT(FWD_DEST) | ACT(MOD_HDR),
                                      .num_dests = 1 };
    NetFrame want = frame;

    second.level = 2;
    second.enable = 1 << MLX5_MATCH_MISC2 | 1 << MLX5_MATCH_OUTER;
    mlx5_prm_set(second.mask + 3 * 64, 0x140, 32, 0xffffffff);
    mlx5_prm_set(second.value + 3 * 64, 0x140, 32, 77);
    mlx5_prm_set(second.mask, 0x20, 16, 0xffff);
    mlx5_prm_set(second.value, 0x20, 16, 0x7777);
    flow_install(&n, &second);
    first.modify = flow_make_modify(&n, 0, actions, 2);
    first.dests[0] = NET_TO_TABLE(second.table);
    flow_install(&n, &first);
    mlx5_put_be16(want.b + 10, 0x7777);
    ck_assert(arrives(&frame, &want));
}
END_TEST

/* What one destination table changes is not seen by the next destination. */
START_TEST(branches)
{
    NetFrame frame = net_make_frame(4, 17, -1, 100);
    uint64_t action = FLOW_SET(0x02, 0, 16, 0x7777);
    Flow second = to_tir(), first = { .action = ACT(FWD_DEST),
                                      .num_dests = 2 };
    uint8_t got[256], cqe[64];

    second.level = 2;
    second.action |= ACT(MOD_HDR);
    second.modify = flow_make_modify(&n, 0, &action, 1);
    flow_install(&n, &second);
    first.dests[0] = NET_TO_TABLE(second.table);
    first.dests[1] = NET_TO_TIR(tir);
    flow_install(&n, &first);
    net_post_rx(&n, &n.rq, n.buf, 4096);
    net_post_rx(&n, &n.rq, n.buf + 4096, 4096);
    net_rx(&n, frame.b, frame.len);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
    fake_mem_read(n.h, n.buf, got, frame.len);
    ck_assert_uint_eq(mlx5_get_be16(got + 10), 0x7777);
    fake_mem_read(n.h, n.buf + 4096, got, frame.len);
    ck_assert_mem_eq(got, frame.b, frame.len);
}
END_TEST

/* Register B goes to the CQE. */
START_TEST(metadata)
{
    NetFrame frame = net_make_frame(4, 17, -1, 100);
    uint64_t action = FLOW_SET(0x50, 0, 32, 0x12345678);
    Flow f = to_tir();
    uint8_t cqe[64];

    f.action |= ACT(MOD_HDR);
    f.modify = flow_make_modify(&n, 0, &action, 1);
    flow_install(&n, &f);
    net_post_rx(&n, &n.rq, n.buf, 4096);
    net_rx(&n, frame.b, frame.len);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, immediate), 0x12345678);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), 0x1234);
}
END_TEST

START_TEST(vlans)
{
    NetFrame plain = good(4, 17, -1, 100), tagged = good(4, 17, 0x7123, 100);
    NetFrame two = tagged;
    Flow f = to_tir();

    f.action |= ACT(VLAN_POP);
    flow_install(&n, &f);
    ck_assert(arrives(&tagged, &plain));
    /* A frame without a tag cannot lose one. */
    ck_assert(!arrives(&plain, NULL));

    f = to_tir();
    f.action |= ACT(VLAN_PUSH);
    f.vlan[0] = 0x81007123;
    flow_install(&n, &f);
    ck_assert(arrives(&plain, &tagged));

    f = to_tir();
    f.action |= ACT(VLAN_PUSH) | ACT(VLAN_PUSH_2);
    f.vlan[0] = 0x81007123;
    f.vlan[1] = 0x88a80009;
    memmove(two.b + 16, two.b + 12, two.len - 12);
    mlx5_put_be32(two.b + 12, 0x88a80009);
    two.len += 4;
    flow_install(&n, &f);
    ck_assert(arrives(&plain, &two));

    f = to_tir();
    f.action |= ACT(VLAN_POP) | ACT(VLAN_POP_2);
    flow_install(&n, &f);
    ck_assert(arrives(&two, &plain));
}
END_TEST

/* L2 tunnels end; what is no tunnel is dropped. */
START_TEST(decap)
{
    static const int kinds[] = { TUN_NVGRE, TUN_VXLAN, TUN_GPE, TUN_GENEVE };
    NetFrame inner = good(6, 6, 7, 100);
    NetFrame frame = tun_frame(kinds[_i], &inner);
    Flow f = to_tir();

    f.action |= ACT(DECAP);
    flow_install(&n, &f);
    ck_assert(arrives(&frame, &inner));
    ck_assert(!arrives(&inner, NULL));
    frame = tun_frame(TUN_GRE, &inner);
    ck_assert(!arrives(&frame, NULL));
}
END_TEST

/* L3 tunnels end in an L2 header of the context's. */
START_TEST(decap_l3)
{
    static const uint8_t l2[14] = { 2, 1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10 };
    NetFrame inner = good(4, 6, -1, 100), want = inner;
    NetFrame frame = tun_frame(_i ? TUN_IPIP : TUN_GRE, &inner);
    Flow f = to_tir();

    memcpy(want.b, l2, 12);
    f.action |= ACT(PACKET_REFORMAT);
    ck_assert(flow_try_reformat(&n, MLX5_REFORMAT_L3_TUNNEL_TO_L2, l2, 14,
                                &f.reformat));
    flow_install(&n, &f);
    ck_assert(arrives(&frame, &want));
    frame = tun_frame(TUN_VXLAN, &inner);
    ck_assert(!arrives(&frame, NULL));
}
END_TEST

/* Tunnels begin: lengths and the IPv4 checksum are filled in. */
START_TEST(encap)
{
    NetFrame inner = good(4, 6, -1, 100);
    int kind = _i ? TUN_GRE : TUN_VXLAN;
    NetFrame want = tun_frame(kind, &inner);
    uint8_t headers[128];
    size_t len = tun_headers(kind, inner.len, headers);
    Flow f = to_tir();

    mlx5_put_be16(headers + 16, 0);
    mlx5_put_be16(headers + 24, 0xdead);
    if (!_i) {
        mlx5_put_be16(headers + 38, 0);
    }
    f.action |= ACT(PACKET_REFORMAT);
    ck_assert(flow_try_reformat(&n, _i ? MLX5_REFORMAT_L2_TO_L3_TUNNEL
                                       : MLX5_REFORMAT_L2_TO_L2_TUNNEL,
                                headers, len, &f.reformat));
    flow_install(&n, &f);
    ck_assert(arrives(&inner, &want));
}
END_TEST

/* --- transmit --------------------------------------------------------- */

static void send_frame(const NetFrame *f, uint32_t metadata)
{
    uint8_t wqe[64] = { 0 };

    net_ctrl(&n.sq, wqe, 0x0a, 3, 2);
    MLX5_SET(wqe_eth, wqe + 16, flow_table_metadata, metadata);
    fake_mem_write(n.h, n.buf, f->b, f->len);
    net_data_seg(&n, wqe + 32, n.buf, f->len);
    net_post(&n, &n.sq, wqe, 48);
    net_ring(&n, &n.sq);
}

static void expect_sent(const NetFrame *want)
{
    size_t len;
    const uint8_t *out;

    ck_assert_uint_eq(n.h->frames->len, want != NULL);
    if (want) {
        out = net_frame(&n, 0, &len);
        ck_assert_uint_eq(len, want->len);
        ck_assert_mem_eq(out, want->b, len);
        g_ptr_array_set_size(n.h->frames, 0);
    }
}

START_TEST(transmit)
{
    NetFrame frame = good(4, 6, -1, 100), tagged = good(4, 6, 0x7123, 100);
    uint32_t tx = MLX5_FLOW_TABLE_TYPE_NIC_TX;
    Flow f = { .type = tx, .action = ACT(ALLOW) | ACT(VLAN_PUSH),
               .vlan = { 0x81007123 } };

    /* Allow, changed. */
    flow_install(&n, &f);
    send_frame(&frame, 0);
    expect_sent(&tagged);

    /* A miss goes out as it is; SQ number and metadata can be matched. */
    f.enable = 1 << MLX5_MATCH_MISC | 1 << MLX5_MATCH_MISC2;
    f.action = ACT(DROP);
    mlx5_prm_set(f.mask + 64, 8, 24, 0xffffff);
    mlx5_prm_set(f.value + 64, 8, 24, n.sq.number);
    mlx5_prm_set(f.mask + 3 * 64, 0x180, 32, 0xffffffff);
    mlx5_prm_set(f.value + 3 * 64, 0x180, 32, 0x99);
    flow_install(&n, &f);
    send_frame(&frame, 0x98);
    expect_sent(&frame);
    send_frame(&frame, 0x99);
    expect_sent(NULL);
    ck_assert_uint_eq(n.func->stats.tx_discards, 1);
}
END_TEST

/* To two tables: one drops, one counts and lets go. */
START_TEST(transmit_branches)
{
    NetFrame frame = good(4, 6, -1, 100);
    uint32_t tx = MLX5_FLOW_TABLE_TYPE_NIC_TX;
    Flow drop = { .type = tx, .level = 2, .action = ACT(DROP) };
    Flow pass = { .type = tx, .level = 3, .action = ACT(ALLOW) | ACT(COUNT),
                  .num_counters = 1, .counters = { flow_make_counter(&n, 0) } };
    Flow first = { .type = tx, .action = ACT(FWD_DEST), .num_dests = 2 };
    uint64_t count[2];

    flow_install(&n, &drop);
    flow_install(&n, &pass);
    first.dests[0] = NET_TO_TABLE(drop.table);
    first.dests[1] = NET_TO_TABLE(pass.table);
    flow_install(&n, &first);
    send_frame(&frame, 0);
    expect_sent(&frame);
    flow_query(&n, pass.counters[0], false, count);
    ck_assert_uint_eq(count[0], 1);
    ck_assert_uint_eq(count[1], frame.len);
}
END_TEST

/* --- refusals --------------------------------------------------------- */

static const struct { uint64_t action; uint32_t synd; } bad_changes[] = {
    { 0, MLX5_SYND_MH_TYPE },
    { UINT64_C(4) << 60, MLX5_SYND_MH_TYPE },
    { FLOW_SET(0x18, 0, 8, 0), MLX5_SYND_MH_FIELD },
    { FLOW_ADD(0, 1), MLX5_SYND_MH_FIELD },
    { FLOW_SET(0x02, 0, 17, 0), MLX5_SYND_MH_BITS },
    { FLOW_SET(0x01, 1, 32, 0), MLX5_SYND_MH_BITS },
    { FLOW_COPY(0x18, 0, 8, 0x01, 0), MLX5_SYND_MH_SRC },
    { FLOW_COPY(0x0b, 9, 8, 0x01, 0), MLX5_SYND_MH_SRC_BITS },
    { FLOW_COPY(0x0b, 0, 16, 0x0c, 1), MLX5_SYND_MH_BITS },
    { FLOW_COPY(0x0b, 0, 16, 0x18, 0), MLX5_SYND_MH_FIELD },
};

START_TEST(modify_refusals)
{
    uint8_t in[24] = { 0 }, out[16];
    uint64_t fine = FLOW_SET(0x01, 0, 32, 1);
    Flow f = to_tir();

    MLX5_SET(alloc_modify_header_context_in, in, opcode,
             MLX5_CMD_OP_ALLOC_MODIFY_HEADER_CONTEXT);
    MLX5_SET(alloc_modify_header_context_in, in, num_of_actions, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(bad_changes); i++) {
        mlx5_prm_set(in, 0x80, 64, bad_changes[i].action);
        ck_assert(!fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
        ck_assert_uint_eq(n.d->syndrome, bad_changes[i].synd);
    }
    mlx5_prm_set(in, 0x80, 64, fine);
    ck_assert(!fake_driver_cmd(n.d, in, 16, out, sizeof(out)));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_MH_IN_LEN);
    MLX5_SET(alloc_modify_header_context_in, in, table_type, 4);
    ck_assert(!fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_MH_TABLE_TYPE);
    MLX5_SET(alloc_modify_header_context_in, in, table_type, 0);
    for (int num = 0; num < 18; num += 17) {
        MLX5_SET(alloc_modify_header_context_in, in, num_of_actions, num);
        ck_assert(!fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
        ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_MH_COUNT);
    }
    REFUSED(DEALLOC_MODIFY_HEADER_CONTEXT, dealloc_modify_header_context,
            PUT(dealloc_modify_header_context, modify_header_id, 0),
            BAD_RES_ERR, MH_UNKNOWN_DEALLOC);
    f.action |= ACT(MOD_HDR);
    f.modify = flow_make_modify(&n, 0, &fine, 1);
    flow_install(&n, &f);
    REFUSED(DEALLOC_MODIFY_HEADER_CONTEXT, dealloc_modify_header_context,
            PUT(dealloc_modify_header_context, modify_header_id, f.modify),
            BAD_RES_STATE_ERR, MH_BUSY);
}
END_TEST

START_TEST(reformat_refusals)
{
    static const struct { uint32_t type, len, synd; } bad[] = {
        { 5, 20, MLX5_SYND_PR_TYPE }, { 15, 20, MLX5_SYND_PR_TYPE },
        { 2, 13, MLX5_SYND_PR_SIZE }, { 2, 257, MLX5_SYND_PR_SIZE },
        { 3, 16, MLX5_SYND_PR_SIZE }, { 4, 0, MLX5_SYND_PR_SIZE },
    };
    uint8_t data[600] = { 0 }, in[36] = { 0 }, out[16];
    Flow f = to_tir();
    uint32_t id;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        ck_assert(!flow_try_reformat(&n, bad[i].type, data, bad[i].len, &id));
        ck_assert_uint_eq(n.d->syndrome, bad[i].synd);
    }
    MLX5_SET(alloc_packet_reformat_context_in, in, opcode,
             MLX5_CMD_OP_ALLOC_PACKET_REFORMAT_CONTEXT);
    mlx5_prm_set(in, 0xe0, 8, 2);
    mlx5_prm_set(in, 0xe0 + 0x16, 10, 14);
    ck_assert(!fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_PR_IN_LEN);
    REFUSED(DEALLOC_PACKET_REFORMAT_CONTEXT, dealloc_packet_reformat_context,
            PUT(dealloc_packet_reformat_context, packet_reformat_id, 0),
            BAD_RES_ERR, PR_UNKNOWN_DEALLOC);
    f.action |= ACT(PACKET_REFORMAT);
    ck_assert(flow_try_reformat(&n, 2, data, 14, &f.reformat));
    flow_install(&n, &f);
    REFUSED(DEALLOC_PACKET_REFORMAT_CONTEXT, dealloc_packet_reformat_context,
            PUT(dealloc_packet_reformat_context, packet_reformat_id,
                f.reformat), BAD_RES_STATE_ERR, PR_BUSY);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth rewrite");
    TCase *tc = tcase_create("flow");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, modify, 0, G_N_ELEMENTS(changes));
    tcase_add_test(tc, modify_keeps_wrong);
    tcase_add_test(tc, modify_then_match);
    tcase_add_test(tc, branches);
    tcase_add_test(tc, metadata);
    tcase_add_test(tc, vlans);
    tcase_add_loop_test(tc, decap, 0, 4);
    tcase_add_loop_test(tc, decap_l3, 0, 2);
    tcase_add_loop_test(tc, encap, 0, 2);
    tcase_add_test(tc, transmit);
    tcase_add_test(tc, transmit_branches);
    tcase_add_test(tc, modify_refusals);
    tcase_add_test(tc, reformat_refusals);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
