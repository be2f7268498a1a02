/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow entries: each field beyond the outer headers hit and missed, counters
 * alone and in bulks, refusals; the hash of inner headers, the FCS.
 */
#include "tests/eth/flow_fixture.h"

#include "eth/rss.h"

/* --- matching --------------------------------------------------------- */

typedef struct Field {
    const char *name;
    int part;
    uint32_t off, bits;
    uint64_t value;
    int kind;                /* of tunnel */
    int ip, proto, vlan;     /* of the inner frame */
} Field;

#define F(part, layout, f, v, ...)                                \
    { #f, MLX5_MATCH_##part, MLX5_BIT_OFF(fte_match_set_##layout, f), \
      MLX5_BIT_SZ(fte_match_set_##layout, f), v, __VA_ARGS__ }
#define IN(f, v, ...) F(INNER, lyr_2_4, f, v, __VA_ARGS__)
#define M1(f, v, ...) F(MISC, misc, f, v, __VA_ARGS__)
#define M2(f, v, ...) F(MISC2, misc2, f, v, __VA_ARGS__)
#define M3(f, v, ...) F(MISC3, misc3, f, v, __VA_ARGS__)

static const Field fields[] = {
    IN(dmac_47_16, 0x52540012, TUN_VXLAN, 4, 6, -1),
    IN(dmac_15_0, 0x3456, TUN_GENEVE, 4, 6, -1),
    IN(smac_47_16, 0x02000000, TUN_NVGRE, 4, 6, -1),
    IN(smac_15_0, 1, TUN_GPE, 4, 6, -1),
    IN(ethertype, 0x86dd, TUN_VXLAN, 6, 17, 5),
    IN(ethertype, 0x0800, TUN_GRE, 4, 17, -1),
    IN(cvlan_tag, 1, TUN_VXLAN, 4, 6, 5),
    IN(first_vid, 0x123, TUN_VXLAN, 4, 6, 0x7123),
    IN(first_prio, 3, TUN_VXLAN, 4, 6, 0x7123),
    IN(first_cfi, 1, TUN_VXLAN, 4, 6, 0x7123),
    IN(ip_protocol, 6, TUN_GRE, 4, 6, -1),
    IN(ip_version, 6, TUN_VXLAN, 6, 6, -1),
    IN(ip_version, 4, TUN_IPIP, 4, 6, -1),
    IN(ip_dscp, 0, TUN_VXLAN, 4, 6, -1),
    IN(ip_ecn, 0, TUN_VXLAN, 4, 6, -1),
    IN(frag, 0, TUN_VXLAN, 4, 6, -1),
    IN(ttl_hoplimit, 64, TUN_VXLAN, 4, 6, -1),
    IN(ipv4_ihl, 5, TUN_VXLAN, 4, 6, -1),
    IN(l4_type, 1, TUN_VXLAN, 4, 6, -1),
    IN(tcp_flags, 0x10, TUN_VXLAN, 4, 6, -1),
    IN(tcp_sport, 0x1234, TUN_GRE, 4, 6, -1),
    IN(tcp_dport, 80, TUN_VXLAN, 6, 6, -1),
    IN(udp_sport, 0x1234, TUN_GENEVE, 4, 17, -1),
    IN(udp_dport, 80, TUN_GPE, 4, 17, -1),
    M1(gre_k_present, 1, TUN_GRE, 4, 6, -1),
    M1(gre_c_present, 0, TUN_GRE, 4, 6, -1),
    M1(gre_s_present, 0, TUN_GRE, 4, 6, -1),
    M1(gre_protocol, 0x6558, TUN_NVGRE, 4, 6, -1),
    M1(gre_key, 0xdeadbeef, TUN_GRE, 4, 6, -1),
    M1(vxlan_vni, TUN_VNI, TUN_VXLAN, 4, 6, -1),
    M1(geneve_vni, TUN_VNI, TUN_GENEVE, 4, 6, -1),
    M1(geneve_oam, 1, TUN_GENEVE, 4, 6, -1),
    M1(geneve_opt_len, 1, TUN_GENEVE, 4, 6, -1),
    M1(geneve_protocol_type, 0x6558, TUN_GENEVE, 4, 6, -1),
    M1(outer_ipv6_flow_label, 0, TUN_NONE, 6, 6, -1),
    M1(inner_ipv6_flow_label, 0, TUN_VXLAN, 6, 6, -1),
    M1(outer_second_cvlan_tag, 0, TUN_NONE, 6, 6, 3),
    M1(inner_second_cvlan_tag, 0, TUN_VXLAN, 6, 6, 3),
    M2(metadata_reg_c_0, 0, TUN_NONE, 4, 6, -1),
    M2(metadata_reg_c_7, 0, TUN_NONE, 4, 6, -1),
    M2(metadata_reg_a, 0, TUN_NONE, 4, 6, -1),
    M3(outer_tcp_seq_num, 0xfffffff0, TUN_NONE, 4, 6, -1),
    M3(outer_tcp_ack_num, 0, TUN_NONE, 4, 6, -1),
    M3(inner_tcp_seq_num, 0xfffffff0, TUN_VXLAN, 6, 6, -1),
    M3(inner_tcp_ack_num, 0, TUN_VXLAN, 6, 6, -1),
    M3(outer_vxlan_gpe_vni, TUN_VNI, TUN_GPE, 4, 6, -1),
    M3(outer_vxlan_gpe_next_protocol, 3, TUN_GPE, 4, 6, -1),
    M3(outer_vxlan_gpe_flags, 0x0c, TUN_GPE, 4, 6, -1),
};

static void expect_field(int part, uint32_t off, uint32_t bits, uint64_t value,
                         const NetFrame *frame, const char *name)
{
    for (int miss = 0; miss < 2; miss++) {
        Flow f = to_tir();

        f.enable = 1 << part;
        mlx5_prm_set(f.mask + part * MLX5_MATCH_BYTES, off, bits,
                     ~UINT64_C(0));
        mlx5_prm_set(f.value + part * MLX5_MATCH_BYTES, off, bits,
                     value ^ miss);
        flow_install(&n, &f);
        ck_assert_msg(arrives(frame, NULL) != miss, "%s: %s", name,
                      miss ? "hit" : "missed");
    }
}

START_TEST(match_field)
{
    const Field *fd = &fields[_i];
    NetFrame inner = net_make_frame(fd->ip, fd->proto, fd->vlan, 60);
    NetFrame frame = tun_frame(fd->kind, &inner);

    expect_field(fd->part, fd->off, fd->bits, fd->value, &frame, fd->name);
}
END_TEST

#define EXPECT(part, layout, f, v, frame) \
    expect_field(MLX5_MATCH_##part, MLX5_BIT_OFF(fte_match_set_##layout, f), \
                 MLX5_BIT_SZ(fte_match_set_##layout, f), v, frame, #f)

/* Fields of frames that net_make_frame() does not make. */
START_TEST(match_rare)
{
    NetFrame f = net_make_frame(4, 17, 0x7123, 100);

    /* A second tag. */
    memmove(f.b + 16, f.b + 12, f.len - 12);
    f.len += 4;
    mlx5_put_be16(f.b + 12, 0x88a8);
    mlx5_put_be16(f.b + 14, 9);
    EXPECT(OUTER, lyr_2_4, svlan_tag, 1, &f);
    EXPECT(OUTER, lyr_2_4, first_vid, 9, &f);
    EXPECT(MISC, misc, outer_second_cvlan_tag, 1, &f);
    EXPECT(MISC, misc, outer_second_svlan_tag, 0, &f);
    EXPECT(MISC, misc, outer_second_vid, 0x123, &f);
    EXPECT(MISC, misc, outer_second_prio, 3, &f);
    EXPECT(MISC, misc, outer_second_cfi, 1, &f);

    /* RoCE: opcode and destination QP. */
    f = net_make_frame(4, 17, -1, 64);
    mlx5_put_be16(f.b + 36, 4791);
    f.b[42] = 0x81;
    mlx5_put_be32(f.b + 46, 0xff012345);
    EXPECT(MISC, misc, bth_opcode, 0x81, &f);
    EXPECT(MISC, misc, bth_dst_qp, 0x012345, &f);

    /* ESP, ICMP. */
    f = net_make_frame(4, 17, -1, 64);
    f.b[23] = 50;
    mlx5_put_be32(f.b + 34, 0x11223344);
    EXPECT(MISC, misc, outer_esp_spi, 0x11223344, &f);
    f.b[23] = 1;
    mlx5_put_be32(f.b + 34, 0x08030000);
    mlx5_put_be32(f.b + 38, 0x55667788);
    EXPECT(MISC3, misc3, icmp_type, 8, &f);
    EXPECT(MISC3, misc3, icmp_code, 3, &f);
    EXPECT(MISC3, misc3, icmp_header_data, 0x55667788, &f);
    f = net_make_frame(6, 17, -1, 64);
    f.b[20] = 58;
    f.b[54] = 0x87;
    f.b[55] = 1;
    mlx5_put_be32(f.b + 58, 0x55667788);
    EXPECT(MISC3, misc3, icmpv6_type, 0x87, &f);
    EXPECT(MISC3, misc3, icmpv6_code, 1, &f);
    EXPECT(MISC3, misc3, icmpv6_header_data, 0x55667788, &f);
    mlx5_put_be32(f.b + 14, 0x600abcde);
    EXPECT(MISC, misc, outer_ipv6_flow_label, 0xabcde, &f);
}
END_TEST

/* First label of MPLS behind Ethernet, GRE and UDP. */
START_TEST(match_mpls)
{
    NetFrame f = net_make_frame(4, 17, -1, 100), g;

    memmove(f.b + 18, f.b + 14, f.len - 14);
    f.len += 4;
    mlx5_put_be16(f.b + 12, 0x8847);
    mlx5_put_be32(f.b + 14, 0x12345540);
    expect_field(MLX5_MATCH_MISC2, 0x0, 32, 0x12345540, &f, "outer");
    g = tun_frame(TUN_VXLAN, &f);
    expect_field(MLX5_MATCH_MISC2, 0x20, 32, 0x12345540, &g, "inner");
    g = net_make_frame(4, 17, -1, 100);
    mlx5_put_be16(g.b + 36, 6635);
    mlx5_put_be32(g.b + 42, 0x12345540);
    expect_field(MLX5_MATCH_MISC2, 0x60, 32, 0x12345540, &g, "udp");
    g.b[23] = 47;
    mlx5_put_be32(g.b + 34, 0x00008847);
    mlx5_put_be32(g.b + 38, 0x12345540);
    expect_field(MLX5_MATCH_MISC2, 0x40, 32, 0x12345540, &g, "gre");
}
END_TEST

/* Tunnels cut short anywhere are frames without one; nothing is overread. */
START_TEST(tunnels_cut)
{
    NetFrame inner = net_make_frame(4, 6, 7, 20);
    NetFrame f = tun_frame(_i, &inner);

    for (size_t len = MLX5_ETH_HLEN; len <= f.len; len++) {
        g_autofree uint8_t *copy = g_memdup2(f.b, len);
        Mlx5Packet p;

        mlx5_packet_init(&p, n.func, NULL, copy, len);
        mlx5_frame_parse(copy, len, &p.info);
        mlx5_match_fill_outer(&p);
        mlx5_match_need(&p, (1 << MLX5_MATCH_PARTS) - 1);
    }
}
END_TEST

START_TEST(tunnels_lie)
{
    uint32_t seed = _i + 7;

    for (int i = 0; i < 5000; i++) {
        NetFrame inner = net_make_frame(4, 6, -1, 20);
        NetFrame f = tun_frame(1 + i % TUN_IPIP, &inner);
        g_autofree uint8_t *copy = NULL;
        Mlx5Packet p;

        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245 + 12345;
            f.b[12 + (seed >> 8) % (f.len - 12)] = seed >> 20;
        }
        copy = g_memdup2(f.b, f.len);
        mlx5_packet_init(&p, n.func, NULL, copy, f.len);
        mlx5_frame_parse(copy, f.len, &p.info);
        mlx5_match_fill_outer(&p);
        mlx5_match_need(&p, (1 << MLX5_MATCH_PARTS) - 1);
    }
}
END_TEST

/* --- counters --------------------------------------------------------- */

START_TEST(counters)
{
    NetFrame frame = net_make_frame(4, 6, -1, 100);
    uint32_t one = flow_make_counter(&n, 0), bulk = flow_make_counter(&n, 2);
    uint64_t count[2];
    Flow f = to_tir();

    f.action |= ACT(COUNT);
    f.num_counters = 2;
    f.counters[0] = one;
    f.counters[1] = bulk + 255;
    flow_install(&n, &f);
    for (uint64_t i = 1; i < 4; i++) {
        ck_assert(arrives(&frame, NULL));
        flow_query(&n, one, false, count);
        ck_assert_uint_eq(count[0], i);
        ck_assert_uint_eq(count[1], i * frame.len);
    }
    flow_query(&n, bulk + 255, true, count);
    ck_assert_uint_eq(count[0], 3);
    flow_query(&n, bulk + 255, false, count);
    ck_assert_uint_eq(count[0] + count[1], 0);
    flow_query(&n, bulk, false, count);
    ck_assert_uint_eq(count[0], 0);
    ck_assert_uint_eq(n.func->flow_counters, 257);
}
END_TEST

/* What a drop rule swallows is counted, too. */
START_TEST(count_drops)
{
    NetFrame frame = net_make_frame(4, 6, -1, 100);
    Flow f = { .action = ACT(DROP) | ACT(COUNT), .num_counters = 1,
               .counters = { flow_make_counter(&n, 0) } };
    uint64_t count[2];

    flow_install(&n, &f);
    ck_assert(!arrives(&frame, NULL));
    flow_query(&n, f.counters[0], false, count);
    ck_assert_uint_eq(count[0], 1);
    ck_assert_uint_eq(n.func->stats.rx_dropped_by_rule, 1);
}
END_TEST

/* A range past its bulk's end reads zero; a bulk at once reads whole. */
START_TEST(query_bulk)
{
    uint32_t bulk = flow_make_counter(&n, 1);
    NetFrame frame = net_make_frame(4, 6, -1, 100);
    uint8_t in[MLX5_ST_SZ_BYTES(query_flow_counter_in)] = { 0 };
    uint8_t out[MLX5_ST_SZ_BYTES(query_flow_counter_out) + 132 * 16];
    Flow f = to_tir();

    f.action |= ACT(COUNT);
    f.num_counters = 1;
    f.counters[0] = bulk + 5;
    flow_install(&n, &f);
    ck_assert(arrives(&frame, NULL));
    memset(out, 0xee, sizeof(out));
    MLX5_SET(query_flow_counter_in, in, flow_counter_id, bulk);
    MLX5_SET(query_flow_counter_in, in, num_of_counters, 132);
    FAKE_CMD_OK(n.d, QUERY_FLOW_COUNTER, query_flow_counter, in, out);
    for (uint32_t i = 0; i < 132; i++) {
        ck_assert_uint_eq(mlx5_prm_get(out, 0x80 + i * 128, 64), i == 5);
    }
}
END_TEST

START_TEST(counter_refusals)
{
    uint32_t bulk = flow_make_counter(&n, 1);
    Flow f = to_tir();

    REFUSED(ALLOC_FLOW_COUNTER, alloc_flow_counter,
            PUT(alloc_flow_counter, flow_counter_bulk, 3), BAD_PARAM_ERR,
            FC_BULK);
    REFUSED(ALLOC_FLOW_COUNTER, alloc_flow_counter,
            PUT(alloc_flow_counter, flow_counter_bulk_log_size, 3),
            BAD_PARAM_ERR, FC_BULK_LOG);
    REFUSED(DEALLOC_FLOW_COUNTER, dealloc_flow_counter,
            PUT(dealloc_flow_counter, flow_counter_id, bulk + 1), BAD_RES_ERR,
            FC_NOT_FIRST);
    REFUSED(DEALLOC_FLOW_COUNTER, dealloc_flow_counter,
            PUT(dealloc_flow_counter, flow_counter_id, 0), BAD_RES_ERR,
            FC_UNKNOWN_DEALLOC);
    REFUSED(QUERY_FLOW_COUNTER, query_flow_counter,
            PUT(query_flow_counter, op_mod, 1), BAD_PARAM_ERR,
            FC_QUERY_OP_MOD);
    REFUSED(QUERY_FLOW_COUNTER, query_flow_counter,
            PUT(query_flow_counter, num_of_counters, 16385), BAD_PARAM_ERR,
            FC_QUERY_COUNT);
    REFUSED(QUERY_FLOW_COUNTER, query_flow_counter,
            PUT(query_flow_counter, flow_counter_id, bulk),
            BAD_OUTP_LEN_ERR, FC_OUT_LEN);
    {
        uint8_t in[MLX5_ST_SZ_BYTES(query_flow_counter_in)] = { 0 };
        uint8_t out[32];

        MLX5_SET(query_flow_counter_in, in, flow_counter_id, bulk + 128);
        FAKE_CMD_FAILS(n.d, QUERY_FLOW_COUNTER, query_flow_counter, in, out,
                       MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_FC_UNKNOWN_QUERY);
    }
    f.action |= ACT(COUNT);
    f.num_counters = 1;
    f.counters[0] = bulk + 7;
    flow_install(&n, &f);
    REFUSED(DEALLOC_FLOW_COUNTER, dealloc_flow_counter,
            PUT(dealloc_flow_counter, flow_counter_id, bulk),
            BAD_RES_STATE_ERR, FC_BUSY);
}
END_TEST

/* max_flow_counter holds, and what is freed can be had again. */
START_TEST(counter_limit)
{
    uint32_t first = 0;

    for (int i = 0; i < 64; i++) {
        uint32_t id = flow_make_counter(&n, 0x80);

        first = first ? first : id;
    }
    REFUSED(ALLOC_FLOW_COUNTER, alloc_flow_counter, (void)0, LIM_ERR,
            FC_TOTAL);
    {
        FAKE_BUFFERS(dealloc_flow_counter);

        MLX5_SET(dealloc_flow_counter_in, in, flow_counter_id, first);
        FAKE_CMD_OK(n.d, DEALLOC_FLOW_COUNTER, dealloc_flow_counter, in, out);
    }
    flow_make_counter(&n, 0x80);
}
END_TEST

/* --- refusals --------------------------------------------------------- */

/* @f, in a table of its type, must be refused with @synd. */
static void refuse(Flow f, uint32_t synd)
{
    uint8_t in[FLOW_FTE_IN], out[16];

    f.table = flow_make_table(&n, f.type, f.level ? f.level : 1);
    flow_make_group(&n, &f);
    ck_assert(!fake_driver_cmd(n.d, in, flow_fill(in, &f, 3), out,
                               sizeof(out)));
    ck_assert_msg(n.d->syndrome == synd, "0x%x (%s), not 0x%x", n.d->syndrome,
                  mlx5_syndrome_text(n.d->syndrome), synd);
}

START_TEST(entry_refusals)
{
    uint64_t action = FLOW_SET(0x01, 0, 32, 1);
    uint32_t tx = MLX5_FLOW_TABLE_TYPE_NIC_TX;
    uint8_t l2[14] = { 0 };
    Flow f = to_tir();

    f.type = tx;
    refuse(f, MLX5_SYND_FTE_DEST_TIR_TYPE);
    f.dests[0] = NET_TO_TABLE(flow_make_table(&n, 0, 9));
    refuse(f, MLX5_SYND_FTE_DEST_TABLE_TYPE);
    f.dests[0] = NET_TO_TABLE(flow_make_table(&n, tx, 1));
    refuse(f, MLX5_SYND_FTE_DEST_LEVEL);
    f = to_tir();
    f.action |= ACT(MOD_HDR);
    f.modify = flow_make_modify(&n, tx, &action, 1);
    refuse(f, MLX5_SYND_FTE_MODIFY_TYPE);
    f = to_tir();
    f.action |= ACT(PACKET_REFORMAT);
    f.reformat = 0;
    refuse(f, MLX5_SYND_FTE_REFORMAT);
    ck_assert(flow_try_reformat(&n, 3, l2, 14, &f.reformat));
    f.type = tx;
    f.num_dests = 0;
    f.action = ACT(ALLOW) | ACT(PACKET_REFORMAT);
    refuse(f, MLX5_SYND_FTE_REFORMAT_TYPE);
    f = to_tir();
    f.action |= ACT(COUNT);
    f.num_counters = 1;
    f.counters[0] = 5;
    refuse(f, MLX5_SYND_FTE_COUNTER);
    f = (Flow){ .type = tx, .action = ACT(ALLOW) | ACT(DECAP) };
    refuse(f, MLX5_SYND_FTE_ACTION);
    {
        FAKE_BUFFERS(create_flow_table);

        MLX5_SET(create_flow_table_in, in, table_type, tx);
        MLX5_SET(flow_table_context,
                 MLX5_ADDR_OF(create_flow_table_in, in, flow_table_context),
                 decap_en, 1);
        FAKE_CMD_FAILS(n.d, CREATE_FLOW_TABLE, create_flow_table, in, out,
                       MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_FT_DECAP);
    }
}
END_TEST

/* The hash of what is inside a tunnel is that of the packet without it. */
START_TEST(inner_hash)
{
    NetFrame inner = good(6, 6, 5, 100);
    NetFrame frame = tun_frame(_i, &inner);
    Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_TOEPLITZ,
                     .outer = { .fields = 3 },
                     .inner = { .fields = 0xf, .ipv6 = true } };
    Mlx5RxHash plain = { .fn = h.fn, .outer = h.inner };
    Mlx5FrameInfo info, inner_info;
    Mlx5Tunnel tunnel;
    uint8_t type, inner_type;
    uint32_t outer;

    for (int i = 0; i < MLX5_TOEPLITZ_KEY_BYTES; i++) {
        h.key[i] = plain.key[i] = i * 37 + 1;
    }
    mlx5_frame_parse(frame.b, frame.len, &info);
    mlx5_frame_parse_tunnel(frame.b, &info, &n.func->eth->vxlan, &tunnel);
    mlx5_frame_parse(inner.b, inner.len, &inner_info);
    ck_assert_uint_eq(mlx5_rss_hash(&h, frame.b, &info, &tunnel, &type),
                      mlx5_rss_hash(&plain, inner.b, &inner_info, NULL,
                                    &inner_type));
    ck_assert_uint_eq(type, inner_type);
    ck_assert_uint_ne(type, 0);
    h.inner.fields = 0;
    outer = mlx5_rss_hash(&h, frame.b, &info, &tunnel, &type);
    ck_assert_uint_eq(type, 0x07);
    ck_assert_uint_ne(outer, mlx5_rss_hash(&plain, inner.b, &inner_info, NULL,
                                           &type));
}
END_TEST

/* The FCS follows the frame, and is counted in its length. */
START_TEST(scatter_fcs)
{
    NetFrame frame = good(4, 17, -1, 100), want = frame;
    uint32_t crc = 0xffffffff;
    FAKE_BUFFERS(modify_rq);

    for (size_t i = 0; i < frame.len * 8; i++) {
        uint32_t bit = (crc >> 31) ^ (frame.b[i / 8] >> i % 8 & 1);

        crc = crc << 1 ^ (bit ? 0x04c11db7 : 0);
    }
    /* Most significant bit first, each byte turned round. */
    for (int i = 0; i < 32; i++) {
        want.b[want.len + i / 8] |= (~crc >> (31 - i) & 1) << i % 8;
    }
    want.len += 4;
    MLX5_SET(modify_rq_in, in, rqn, n.rq.number);
    MLX5_SET(modify_rq_in, in, rq_state, MLX5_WQ_STATE_RDY);
    MLX5_SET(modify_rq_in, in, modify_bitmask, 4);
    MLX5_SET(rqc, MLX5_ADDR_OF(modify_rq_in, in, ctx), state,
             MLX5_WQ_STATE_RDY);
    MLX5_SET(rqc, MLX5_ADDR_OF(modify_rq_in, in, ctx), scatter_fcs, 1);
    FAKE_CMD_OK(n.d, MODIFY_RQ, modify_rq, in, out);
    net_steer_all(&n, tir);
    ck_assert(arrives(&frame, &want));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth flow");
    TCase *tc = tcase_create("flow");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, match_field, 0, G_N_ELEMENTS(fields));
    tcase_add_test(tc, match_rare);
    tcase_add_test(tc, match_mpls);
    tcase_add_loop_test(tc, tunnels_cut, 1, TUN_IPIP + 1);
    tcase_add_loop_test(tc, tunnels_lie, 0, 4);
    tcase_add_test(tc, counters);
    tcase_add_test(tc, count_drops);
    tcase_add_test(tc, query_bulk);
    tcase_add_test(tc, counter_refusals);
    tcase_add_test(tc, counter_limit);
    tcase_add_test(tc, entry_refusals);
    tcase_add_loop_test(tc, inner_hash, TUN_NVGRE, TUN_GENEVE + 1);
    tcase_add_test(tc, scatter_fcs);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_ENV);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
