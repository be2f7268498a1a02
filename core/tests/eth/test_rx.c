/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive: steering by tables, groups and entries, RSS over an RQT, CQE
 * fields, VLAN stripping, drops, hostile receive WQEs.
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

/* Correct checksums. */
static NetFrame good_frame(int ip, int proto, int vlan, size_t payload)
{
    NetFrame f = net_make_frame(ip, proto, vlan, payload);
    Mlx5FrameInfo info;

    mlx5_frame_parse(f.b, f.len, &info);
    mlx5_frame_set_l3_csum(f.b, &info);
    mlx5_frame_set_l4_csum(f.b, &info);
    return f;
}

static void expect_frame(NetQueue *q, const uint8_t *data, size_t len,
                         uint8_t cqe[64])
{
    g_autofree uint8_t *got = g_malloc(len);

    ck_assert(fake_driver_poll_cq(n.d, &q->cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), len);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, srqn_user_index), 0x4321);
    fake_mem_read(n.h, n.buf, got, len);
    ck_assert_mem_eq(got, data, len);
}

static void expect_nothing(NetQueue *q)
{
    uint8_t cqe[64];

    ck_assert(!fake_driver_poll_cq(n.d, &q->cq, cqe));
}

static const struct {
    int ip, proto, vlan;
    size_t payload;
    uint8_t hdr_type;
} kinds[] = {
    { 4, 6, -1, 1000, 0x48 }, { 4, 17, -1, 999, 0x28 }, { 6, 6, -1, 3, 0x44 },
    { 6, 17, -1, 64, 0x24 }, { 4, 6, -1, 0, 0x38 }, { 4, 17, 5, 11, 0x28 },
};

START_TEST(cqe_fields)
{
    NetFrame f = good_frame(kinds[_i].ip, kinds[_i].proto, kinds[_i].vlan,
                            kinds[_i].payload);
    size_t l3 = net_l3(f.b);
    uint8_t cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    for (int i = 0; i < 20; i++) {
        net_post_rx(&n, &n.rq, n.buf, NET_BUF);
        net_rx(&n, f.b, f.len);
        expect_frame(&n.rq, f.b, f.len, cqe);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), i);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 7);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, l4_l3_hdr_type),
                          kinds[_i].hdr_type);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, check_sum),
                          net_ref_sum(0, f.b + l3, f.len - l3));
    }
    ck_assert_uint_eq(mlx5_vport(n.func)->counters.received_eth_unicast
                      .packets, 20);
}
END_TEST

/* Padding behind the IP packet is no part of the checksum. */
START_TEST(padding)
{
    NetFrame f = good_frame(4, 17, -1, 2);
    uint8_t cqe[64];
    size_t l3_len = f.len - 14;

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    memset(f.b + f.len, 0xab, 60 - f.len);
    f.len = 60;
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, check_sum),
                      net_ref_sum(0, f.b + 14, l3_len));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 7);
}
END_TEST

START_TEST(bad_checksums)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    uint8_t cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    f.b[60] ^= 1;
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 3);
    f.b[60] ^= 1;
    f.b[24] ^= 1;
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 5);
}
END_TEST

START_TEST(vlan_strip)
{
    NetFrame f = good_frame(4, 6, 0x6123, 100);
    FAKE_BUFFERS(modify_rq);
    uint8_t *rqc = MLX5_ADDR_OF(modify_rq_in, in, ctx), cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    MLX5_SET(modify_rq_in, in, rqn, n.rq.number);
    MLX5_SET(modify_rq_in, in, rq_state, MLX5_WQ_STATE_RDY);
    MLX5_SET(modify_rq_in, in, modify_bitmask, 2);
    MLX5_SET(rqc, rqc, state, MLX5_WQ_STATE_RDY);
    FAKE_CMD_OK(n.d, MODIFY_RQ, modify_rq, in, out);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    memmove(f.b + 12, f.b + 16, f.len - 16);
    expect_frame(&n.rq, f.b, f.len - 4, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, vlan_info), 0x6123);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, l4_l3_hdr_type), 0x49);
}
END_TEST

/* A frame over several segments of one WQE. */
START_TEST(scatter)
{
    NetFrame f = good_frame(4, 6, -1, 700);
    uint8_t wqe[64] = { 0 }, got[1000], cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_data_seg(&n, wqe, n.buf + 0xff0, 100);
    net_data_seg(&n, wqe + 16, n.buf + 0x4000, 1);
    net_data_seg(&n, wqe + 32, n.buf + 0x5ffe, 3000);
    MLX5_SET(wqe_data, wqe + 48, lkey, MLX5_INVALID_LKEY);
    fake_mem_write(n.h, n.rq.ring, wqe, sizeof(wqe));
    fake_mem_set_be32(n.h, n.rq.dbr, 1);
    net_rx(&n, f.b, f.len);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
    fake_mem_read(n.h, n.buf + 0xff0, got, 100);
    fake_mem_read(n.h, n.buf + 0x4000, got + 100, 1);
    fake_mem_read(n.h, n.buf + 0x5ffe, got + 101, f.len - 101);
    ck_assert_mem_eq(got, f.b, f.len);
}
END_TEST

/* --- drops ------------------------------------------------------------ */

START_TEST(no_buffer)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    Mlx5QCounter *qc = net_count_rq(&n);
    uint8_t cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_rx(&n, f.b, f.len);
    net_rx(&n, f.b, f.len);
    expect_nothing(&n.rq);
    ck_assert_uint_eq(qc->out_of_buffer, 2);
    ck_assert_uint_eq(n.func->stats.rx_no_buffer, 2);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
}
END_TEST

/* Longer than the WQE: dropped, the WQE serves the next frame. */
START_TEST(oversize)
{
    NetFrame f = good_frame(4, 6, -1, 100), big = good_frame(4, 6, -1, 200);
    uint8_t cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, n.buf, f.len);
    net_rx(&n, big.b, big.len);
    expect_nothing(&n.rq);
    ck_assert_uint_eq(n.func->stats.rx_oversize, 1);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    /* Longer than any frame may be. */
    net_rx(&n, big.b, sizeof(big.b));
    ck_assert_uint_eq(n.func->stats.rx_oversize, 2);
}
END_TEST

START_TEST(dropped)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    uint32_t tir = net_create_tir_direct(&n, n.rq.number), table, group;
    NetRule r = { .action = MLX5_FLOW_CONTEXT_ACTION_DROP };

    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    /* No root. */
    net_rx(&n, f.b, f.len);
    ck_assert_uint_eq(n.func->stats.rx_steer_missed, 1);
    /* No entry. */
    table = net_create_table(&n, 3, NET_NO_MISS);
    net_set_root(&n, table);
    net_rx(&n, f.b, f.len);
    ck_assert_uint_eq(n.func->stats.rx_steer_missed, 2);
    /* An entry that says so. */
    group = net_create_group(&n, table, 2, 3, NULL);
    r.table = table;
    r.group = group;
    r.index = 2;
    net_set_rule(&n, &r);
    net_rx(&n, f.b, f.len);
    ck_assert_uint_eq(n.func->stats.rx_dropped_by_rule, 1);
    /* A runt. */
    net_rx(&n, f.b, 13);
    ck_assert_uint_eq(n.func->stats.rx_errors, 1);
    /* Link down. */
    net_steer_all(&n, tir);
    mlx5_card_set_link(n.h->card, false);
    net_rx(&n, f.b, f.len);
    expect_nothing(&n.rq);
}
END_TEST

/* --- steering --------------------------------------------------------- */

/* Fields of the match, and a frame that has them: one bit off is a miss. */
typedef struct Field {
    const char *name;
    uint32_t off, bits;
    uint64_t value;
    int ip, proto, vlan;
} Field;

#define F(f, v, ip, proto, vlan)                          \
    { #f, MLX5_BIT_OFF(fte_match_set_lyr_2_4, f),         \
      MLX5_BIT_SZ(fte_match_set_lyr_2_4, f), v, ip, proto, vlan }

static const Field fields[] = {
    F(dmac_47_16, 0x52540012, 4, 6, -1), F(dmac_15_0, 0x3456, 4, 6, -1),
    F(smac_47_16, 0x02000000, 4, 6, -1), F(smac_15_0, 1, 4, 6, -1),
    F(ethertype, 0x0800, 4, 6, -1), F(ethertype, 0x86dd, 6, 6, 5),
    F(cvlan_tag, 1, 4, 6, 5), F(cvlan_tag, 0, 4, 6, -1),
    F(svlan_tag, 0, 4, 6, 5), F(first_vid, 0x123, 4, 6, 0x7123),
    F(first_prio, 3, 4, 6, 0x7123), F(first_cfi, 1, 4, 6, 0x7123),
    F(ip_protocol, 6, 4, 6, -1), F(ip_protocol, 17, 6, 17, -1),
    F(ip_version, 4, 4, 6, -1), F(ip_version, 6, 6, 6, -1),
    F(frag, 0, 4, 6, -1), F(tcp_flags, 0x10, 4, 6, -1),
    F(tcp_sport, 0x1234, 4, 6, -1), F(tcp_dport, 80, 6, 6, 3),
    F(udp_sport, 0x1234, 4, 17, -1), F(udp_dport, 80, 6, 17, -1),
    F(ttl_hoplimit, 64, 4, 17, -1), F(ipv4_ihl, 5, 4, 17, -1),
    F(l4_type, 1, 4, 6, -1), F(l4_type, 2, 6, 17, -1),
    F(ip_dscp, 0, 4, 6, -1), F(ip_ecn, 0, 4, 6, -1),
};

START_TEST(match_field)
{
    const Field *fd = &fields[_i];
    NetFrame f = good_frame(fd->ip, fd->proto, fd->vlan, 100);
    uint8_t mask[64] = { 0 }, value[64] = { 0 }, cqe[64];
    uint32_t tir = net_create_tir_direct(&n, n.rq.number);
    uint32_t table = net_create_table(&n, 1, NET_NO_MISS);
    NetRule r = { .table = table, .index = 5, .tag = 0xabcdef, .value = value,
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST, .num_dests = 1,
                  .dests = { NET_TO_TIR(tir) } };
    FAKE_BUFFERS(delete_fte);

    mlx5_prm_set(mask, fd->off, fd->bits, ~UINT64_C(0));
    r.group = net_create_group(&n, table, 4, 7, mask);
    mlx5_prm_set(value, fd->off, fd->bits, fd->value);
    net_set_rule(&n, &r);
    net_set_root(&n, table);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), 0xabcdef);

    MLX5_SET(delete_fte_in, in, table_id, table);
    MLX5_SET(delete_fte_in, in, flow_index, 5);
    FAKE_CMD_OK(n.d, DELETE_FLOW_TABLE_ENTRY, delete_fte, in, out);
    mlx5_prm_set(value, fd->off, fd->bits, fd->value ^ 1);
    net_set_rule(&n, &r);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_nothing(&n.rq);
}
END_TEST

START_TEST(match_addresses)
{
    NetFrame f = good_frame(_i ? 6 : 4, 6, -1, 100);
    uint8_t mask[64] = { 0 }, value[64] = { 0 }, cqe[64];
    uint32_t table = net_create_table(&n, 1, NET_NO_MISS);
    NetRule r = { .table = table, .value = value, .num_dests = 1,
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };

    r.dests[0] = NET_TO_TIR(net_create_tir_direct(&n, n.rq.number));
    memset(mask + 0x20, 0xff, 0x20);
    if (_i) {
        memcpy(value + 0x20, f.b + 22, 32);
    } else {
        memcpy(value + 0x2c, f.b + 26, 4);
        memcpy(value + 0x3c, f.b + 30, 4);
    }
    r.group = net_create_group(&n, table, 0, 0, mask);
    net_set_rule(&n, &r);
    net_set_root(&n, table);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    f.b[_i ? 53 : 33] ^= 1;
    net_rx(&n, f.b, f.len);
    expect_nothing(&n.rq);
}
END_TEST

/* The lowest index wins, whatever the order of creation. */
START_TEST(priority)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    uint32_t table = net_create_table(&n, 1, NET_NO_MISS), i;
    uint8_t mask[64] = { 0 }, value[64] = { 0 }, cqe[64];
    uint32_t order[] = { 9, 3, 6, 1 }, group[2];
    NetRule r = { .table = table, .num_dests = 1,
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };

    MLX5_SET(fte_match_set_lyr_2_4, mask, ip_version, 0xf);
    MLX5_SET(fte_match_set_lyr_2_4, value, ip_version, 4);
    group[1] = net_create_group(&n, table, 5, 15, NULL);
    group[0] = net_create_group(&n, table, 0, 4, mask);
    r.dests[0] = NET_TO_TIR(net_create_tir_direct(&n, n.rq.number));
    net_set_root(&n, table);
    for (i = 0; i < 4; i++) {
        uint32_t lowest = order[0];

        r.index = order[i];
        r.tag = order[i];
        r.group = group[order[i] >= 5];
        r.value = order[i] >= 5 ? NULL : value;
        net_set_rule(&n, &r);
        for (uint32_t k = 0; k <= i; k++) {
            lowest = MIN(lowest, order[k]);
        }
        net_post_rx(&n, &n.rq, n.buf, NET_BUF);
        net_rx(&n, f.b, f.len);
        expect_frame(&n.rq, f.b, f.len, cqe);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), lowest);
    }
}
END_TEST

/* Miss links and forwarding from table to table; MODIFY changes both. */
START_TEST(chains)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    uint32_t last = net_create_table(&n, 60, NET_NO_MISS);
    uint32_t mid = net_create_table(&n, 10, last);
    uint32_t root = net_create_table(&n, 0, NET_NO_MISS);
    NetRule to_mid = { .table = root, .num_dests = 1,
                       .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
                       .dests = { NET_TO_TABLE(mid) } };
    NetRule to_tir = { .table = last, .num_dests = 1, .tag = 7,
                       .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };
    uint8_t cqe[64];

    to_tir.dests[0] = NET_TO_TIR(net_create_tir_direct(&n, n.rq.number));
    to_mid.group = net_create_group(&n, root, 0, 0, NULL);
    to_tir.group = net_create_group(&n, last, 0, 0, NULL);
    net_set_rule(&n, &to_mid);
    net_set_rule(&n, &to_tir);
    net_set_root(&n, root);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), 7);

    FAKE_BUFFERS(modify_flow_table);
    MLX5_SET(modify_flow_table_in, in, table_id, mid);
    MLX5_SET(modify_flow_table_in, in, modify_field_select, 1);
    FAKE_CMD_OK(n.d, MODIFY_FLOW_TABLE, modify_flow_table, in, out);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_nothing(&n.rq);

    /* Point the root's entry at the last table. */
    uint8_t fte[NET_FTE_IN];
    to_mid.dests[0] = NET_TO_TABLE(last);
    uint32_t len = net_fill_fte(fte, &to_mid);
    MLX5_SET(set_fte_in, fte, op_mod, 1);
    MLX5_SET(set_fte_in, fte, modify_enable_mask, 4);
    ck_assert(fake_driver_cmd(n.d, fte, len, out, sizeof(out)));
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
}
END_TEST

/* Two TIRs of one entry each get the frame. */
START_TEST(multi_destination)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    NetQueue other = net_create_rq(&n);
    uint32_t table = net_create_table(&n, 0, NET_NO_MISS);
    NetRule r = { .table = table, .num_dests = 2,
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };
    uint8_t cqe[64];

    net_modify_rq(&n, other.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    r.dests[0] = NET_TO_TIR(net_create_tir_direct(&n, n.rq.number));
    r.dests[1] = NET_TO_TIR(net_create_tir_direct(&n, other.number));
    r.group = net_create_group(&n, table, 0, 0, NULL);
    net_set_rule(&n, &r);
    net_set_root(&n, table);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_post_rx(&n, &other, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
    expect_frame(&other, f.b, f.len, cqe);
}
END_TEST

/* Tables that fan out at every level: the frame's cost stays bounded. */
START_TEST(fan_out)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    uint32_t next = net_create_table(&n, 40, NET_NO_MISS);
    uint32_t tir = net_create_tir_direct(&n, n.rq.number);

    for (int level = 40; level > 0; level--) {
        uint32_t table = level == 40 ? next
                                     : net_create_table(&n, level, NET_NO_MISS);
        uint64_t to = level == 40 ? NET_TO_TIR(tir) : NET_TO_TABLE(next);
        NetRule r = { .table = table, .num_dests = 4,
                      .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
                      .group = net_create_group(&n, table, 0, 0, NULL),
                      .dests = { to, to, to, to } };

        net_set_rule(&n, &r);
        next = table;
    }
    net_set_root(&n, next);
    net_rx(&n, f.b, f.len);
    ck_assert_uint_le(n.func->stats.rx_no_buffer, 64);
    ck_assert_uint_gt(n.func->stats.rx_no_buffer, 0);
}
END_TEST

/* Flows spread over the RQT by the hash; MODIFY_RQT redirects. */
START_TEST(rss)
{
    NetQueue q[4];
    uint32_t rqns[4], rqt, seen[4] = { 0 };
    FAKE_BUFFERS(create_tir);
    uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, in, ctx);
    uint8_t *sel = MLX5_ADDR_OF(tirc, tirc, rx_hash_field_selector_outer);

    for (int i = 0; i < 4; i++) {
        q[i] = net_create_rq(&n);
        net_modify_rq(&n, q[i].number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
        rqns[i] = q[i].number;
    }
    rqt = net_create_rqt(&n, rqns, 4);
    MLX5_SET(tirc, tirc, transport_domain, n.td);
    MLX5_SET(tirc, tirc, disp_type, MLX5_TIRC_DISP_TYPE_INDIRECT);
    MLX5_SET(tirc, tirc, indirect_table, rqt);
    MLX5_SET(tirc, tirc, rx_hash_fn, MLX5_RX_HASH_FN_TOEPLITZ);
    MLX5_SET(rx_hash_field_select, sel, selected_fields, 0xf);
    for (int i = 0; i < 40; i++) {
        MLX5_ADDR_OF(tirc, tirc, rx_hash_toeplitz_key)[i] = i * 37 + 11;
    }
    FAKE_CMD_OK(n.d, CREATE_TIR, create_tir, in, out);
    net_steer_all(&n, MLX5_GET(create_tir_out, out, tirn));
    for (int i = 0; i < 64; i++) {
        NetFrame f = good_frame(4, 6, -1, 20);
        uint8_t cqe[64];
        int hit = -1;

        mlx5_put_be16(f.b + 34, 1000 + i);
        for (int k = 0; k < 4; k++) {
            q[k].pi = 0;
            fake_mem_set_be32(n.h, q[k].dbr, seen[k]);
            q[k].pi = seen[k];
            net_post_rx(&n, &q[k], n.buf, NET_BUF);
        }
        net_rx(&n, f.b, f.len);
        for (int k = 0; k < 4; k++) {
            if (fake_driver_poll_cq(n.d, &q[k].cq, cqe)) {
                ck_assert_int_eq(hit, -1);
                hit = k;
                ck_assert_uint_eq(MLX5_GET(cqe64, cqe, rx_hash_result) & 3, k);
                ck_assert_uint_eq(MLX5_GET(cqe64, cqe, rx_hash_type), 0x77);
                seen[k]++;
            }
        }
        ck_assert_int_ge(hit, 0);
    }
    for (int k = 0; k < 4; k++) {
        ck_assert_uint_gt(seen[k], 4);
    }
}
END_TEST

/* --- WQEs and records that lie ---------------------------------------- */

START_TEST(bad_rx_wqe)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    Mlx5Rq *rq = mlx5_obj_get(n.func, MLX5_OBJ_RQ, n.rq.number);
    uint8_t cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, _i ? UINT64_C(1) << 60 : n.buf, NET_BUF);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    if (!_i) {
        fake_mem_set_be32(n.h, n.rq.ring + 4, 0x7777);
    }
    net_rx(&n, f.b, f.len);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, opcode), MLX5_CQE_RESP_ERR);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome),
                      MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome),
                      MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, wqe_counter), 1);
    ck_assert_uint_eq(rq->state, MLX5_WQ_STATE_ERR);
    /* In ERR frames are dropped; reset brings the queue back. */
    net_rx(&n, f.b, f.len);
    expect_nothing(&n.rq);
    net_modify_rq(&n, n.rq.number, MLX5_WQ_STATE_ERR, MLX5_WQ_STATE_RST);
    n.rq.pi = 0;
    fake_mem_set_be32(n.h, n.rq.dbr, 0);
    net_modify_rq(&n, n.rq.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    net_rx(&n, f.b, f.len);
    expect_frame(&n.rq, f.b, f.len, cqe);
}
END_TEST

START_TEST(record_lies)
{
    NetFrame f = good_frame(4, 6, -1, 100);
    Mlx5Rq *rq = mlx5_obj_get(n.func, MLX5_OBJ_RQ, n.rq.number);

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    fake_mem_set_be32(n.h, n.rq.dbr, (1 << NET_LOG_RQ) + 1);
    net_rx(&n, f.b, f.len);
    ck_assert_uint_eq(rq->state, MLX5_WQ_STATE_ERR);
    expect_nothing(&n.rq);
}
END_TEST

static bool taken(Mlx5Func *func, const uint8_t *frame, size_t len)
{
    (void)func;
    return len > 23 && frame[23] == 17;
}

/* net/ may take frames before steering sees them. */
START_TEST(tap)
{
    NetFrame udp = good_frame(4, 17, -1, 100), tcp = good_frame(4, 6, -1, 100);
    uint8_t cqe[64];

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    mlx5_eth_set_tap(n.func, taken);
    net_rx(&n, udp.b, udp.len);
    expect_nothing(&n.rq);
    net_rx(&n, tcp.b, tcp.len);
    expect_frame(&n.rq, tcp.b, tcp.len, cqe);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth rx");
    TCase *t = tcase_create("rx");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, cqe_fields, 0, G_N_ELEMENTS(kinds));
    tcase_add_test(t, padding);
    tcase_add_test(t, bad_checksums);
    tcase_add_test(t, vlan_strip);
    tcase_add_test(t, scatter);
    tcase_add_test(t, no_buffer);
    tcase_add_test(t, oversize);
    tcase_add_test(t, dropped);
    tcase_add_loop_test(t, match_field, 0, G_N_ELEMENTS(fields));
    tcase_add_loop_test(t, match_addresses, 0, 2);
    tcase_add_test(t, priority);
    tcase_add_test(t, chains);
    tcase_add_test(t, multi_destination);
    tcase_add_test(t, fan_out);
    tcase_add_test(t, rss);
    tcase_add_loop_test(t, bad_rx_wqe, 0, 2);
    tcase_add_test(t, record_lies);
    tcase_add_test(t, tap);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
