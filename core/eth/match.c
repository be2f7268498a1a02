/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What flow entries compare a frame by: the parts of a fte_match_param, each
 * made only when a table asks for it (PRM: Flow Table match parameters;
 * driver: mlx5_ifc.h fte_match_set_*).
 */
#include "eth/eth_internal.h"

/* fte_match_set_lyr_2_4.l4_type (driver: mlx5_ifc.h MLX5_PACKET_L4_TYPE_*). */
enum { L4_TYPE_NONE = 0, L4_TYPE_TCP = 1, L4_TYPE_UDP = 2 };

enum { ICMP = 1, ICMPV6 = 58, ETHERTYPE_MPLS = 0x8847, MPLS_UDP_PORT = 6635,
       ROCE_UDP_PORT = 4791, BTH_BYTES = 12 };

static void match_l2(uint8_t *m, const uint8_t *f, const Mlx5FrameInfo *i)
{
    MLX5_SET(fte_match_set_lyr_2_4, m, dmac_47_16, mlx5_get_be32(f));
    MLX5_SET(fte_match_set_lyr_2_4, m, dmac_15_0, mlx5_get_be16(f + 4));
    MLX5_SET(fte_match_set_lyr_2_4, m, smac_47_16, mlx5_get_be32(f + 6));
    MLX5_SET(fte_match_set_lyr_2_4, m, smac_15_0, mlx5_get_be16(f + 10));
    MLX5_SET(fte_match_set_lyr_2_4, m, ethertype, i->ethertype);
    MLX5_SET(fte_match_set_lyr_2_4, m, cvlan_tag, i->cvlan);
    MLX5_SET(fte_match_set_lyr_2_4, m, svlan_tag, i->svlan);
    MLX5_SET(fte_match_set_lyr_2_4, m, first_prio, i->tci >> 13);
    MLX5_SET(fte_match_set_lyr_2_4, m, first_cfi, i->tci >> 12 & 1);
    MLX5_SET(fte_match_set_lyr_2_4, m, first_vid, i->tci & 0xfff);
}

static void match_l3(uint8_t *m, const uint8_t *f, const Mlx5FrameInfo *i)
{
    const uint8_t *ip = f + i->l3_off;
    uint8_t *src = MLX5_ADDR_OF(fte_match_set_lyr_2_4, m, src_ipv4_src_ipv6);
    uint8_t *dst = MLX5_ADDR_OF(fte_match_set_lyr_2_4, m, dst_ipv4_dst_ipv6);

    MLX5_SET(fte_match_set_lyr_2_4, m, ip_version, i->ip_version);
    MLX5_SET(fte_match_set_lyr_2_4, m, ip_protocol, i->ip_protocol);
    MLX5_SET(fte_match_set_lyr_2_4, m, ip_dscp, i->tos >> 2);
    MLX5_SET(fte_match_set_lyr_2_4, m, ip_ecn, i->tos & 3);
    MLX5_SET(fte_match_set_lyr_2_4, m, frag, i->frag);
    MLX5_SET(fte_match_set_lyr_2_4, m, ttl_hoplimit, i->ttl);
    MLX5_SET(fte_match_set_lyr_2_4, m, ipv4_ihl, i->ihl);
    if (i->ip_version == 4) {
        /* An IPv4 address is the last four of the sixteen bytes. */
        memcpy(src + 12, ip + 12, 4);
        memcpy(dst + 12, ip + 16, 4);
    } else if (i->ip_version == 6) {
        memcpy(src, ip + 8, 16);
        memcpy(dst, ip + 24, 16);
    }
}

static void match_l4(uint8_t *m, const Mlx5FrameInfo *i)
{
    if (i->tcp) {
        MLX5_SET(fte_match_set_lyr_2_4, m, l4_type, L4_TYPE_TCP);
        MLX5_SET(fte_match_set_lyr_2_4, m, tcp_flags, i->tcp_flags);
        MLX5_SET(fte_match_set_lyr_2_4, m, tcp_sport, i->sport);
        MLX5_SET(fte_match_set_lyr_2_4, m, tcp_dport, i->dport);
    } else if (i->udp) {
        MLX5_SET(fte_match_set_lyr_2_4, m, l4_type, L4_TYPE_UDP);
        MLX5_SET(fte_match_set_lyr_2_4, m, udp_sport, i->sport);
        MLX5_SET(fte_match_set_lyr_2_4, m, udp_dport, i->dport);
    }
}

/* Headers of a frame, or of one that begins at its L3. */
static void fill_headers(uint8_t *m, const uint8_t *f, const Mlx5FrameInfo *i,
                         bool has_l2)
{
    if (has_l2) {
        match_l2(m, f, i);
    } else {
        /* Under GRE there may be no L2; its protocol field says as much. */
        MLX5_SET(fte_match_set_lyr_2_4, m, ethertype, i->ethertype);
    }
    match_l3(m, f, i);
    match_l4(m, i);
}

static uint32_t flow_label(const uint8_t *f, const Mlx5FrameInfo *i)
{
    return i->ip_version == 6 ? mlx5_get_be32(f + i->l3_off) & 0xfffff : 0;
}

/* The SPI of an ESP packet. */
static uint32_t esp_spi(const uint8_t *f, const Mlx5FrameInfo *i)
{
    return i->ip_version && !i->frag &&
                   i->ip_protocol == MLX5_IPPROTO_ESP &&
                   i->l3_len - i->l3_hlen >= 4
               ? mlx5_get_be32(f + i->l4_off) : 0;
}

static void misc_second_vlan(uint8_t *m, const Mlx5FrameInfo *o,
                             const Mlx5FrameInfo *i)
{
    MLX5_SET(fte_match_set_misc, m, outer_second_cvlan_tag, o->cvlan2);
    MLX5_SET(fte_match_set_misc, m, outer_second_svlan_tag, o->svlan2);
    MLX5_SET(fte_match_set_misc, m, outer_second_prio, o->tci2 >> 13);
    MLX5_SET(fte_match_set_misc, m, outer_second_cfi, o->tci2 >> 12 & 1);
    MLX5_SET(fte_match_set_misc, m, outer_second_vid, o->tci2 & 0xfff);
    MLX5_SET(fte_match_set_misc, m, inner_second_cvlan_tag, i->cvlan2);
    MLX5_SET(fte_match_set_misc, m, inner_second_svlan_tag, i->svlan2);
    MLX5_SET(fte_match_set_misc, m, inner_second_prio, i->tci2 >> 13);
    MLX5_SET(fte_match_set_misc, m, inner_second_cfi, i->tci2 >> 12 & 1);
    MLX5_SET(fte_match_set_misc, m, inner_second_vid, i->tci2 & 0xfff);
}

static void misc_gre(uint8_t *m, const uint8_t *gre, const Mlx5Tunnel *t)
{
    uint16_t flags = mlx5_get_be16(gre);
    uint32_t key_at = flags & MLX5_GRE_C ? 8 : 4;

    MLX5_SET(fte_match_set_misc, m, gre_c_present, !!(flags & MLX5_GRE_C));
    MLX5_SET(fte_match_set_misc, m, gre_k_present, !!(flags & MLX5_GRE_K));
    MLX5_SET(fte_match_set_misc, m, gre_s_present, !!(flags & MLX5_GRE_S));
    MLX5_SET(fte_match_set_misc, m, gre_protocol, t->protocol);
    if (flags & MLX5_GRE_K) {
        memcpy(MLX5_ADDR_OF(fte_match_set_misc, m, gre_key), gre + key_at, 4);
    }
}

static void misc_tunnel(uint8_t *m, const uint8_t *f, const Mlx5Tunnel *t)
{
    const uint8_t *h = f + t->off;

    switch (t->kind) {
    case MLX5_TUNNEL_GRE:
        misc_gre(m, h, t);
        break;
    case MLX5_TUNNEL_VXLAN:
        MLX5_SET(fte_match_set_misc, m, vxlan_vni, mlx5_get_be32(h + 4) >> 8);
        break;
    case MLX5_TUNNEL_GENEVE:
        MLX5_SET(fte_match_set_misc, m, geneve_vni,
                 mlx5_get_be32(h + 4) >> 8);
        MLX5_SET(fte_match_set_misc, m, geneve_oam, h[1] >> 7);
        MLX5_SET(fte_match_set_misc, m, geneve_opt_len, h[0] & 0x3f);
        MLX5_SET(fte_match_set_misc, m, geneve_protocol_type, t->protocol);
        break;
    default:
        break;
    }
}

/* RoCE: the base transport header behind UDP (IBA 9.2). */
static void misc_bth(uint8_t *m, const uint8_t *f, const Mlx5FrameInfo *i)
{
    const uint8_t *bth = f + i->l4_off + MLX5_UDP_HLEN;

    if (i->udp && i->dport == ROCE_UDP_PORT &&
        i->l3_len - i->l3_hlen >= MLX5_UDP_HLEN + BTH_BYTES) {
        MLX5_SET(fte_match_set_misc, m, bth_opcode, bth[0]);
        MLX5_SET(fte_match_set_misc, m, bth_dst_qp,
                 mlx5_get_be32(bth + 4) & 0xffffff);
    }
}

static void fill_misc(uint8_t *m, const Mlx5Packet *p, const Mlx5Tunnel *t)
{
    const uint8_t *f = p->data;
    const uint8_t *inner = f + t->inner_off;

    misc_second_vlan(m, &p->info, &t->inner);
    misc_tunnel(m, f, t);
    misc_bth(m, f, &p->info);
    MLX5_SET(fte_match_set_misc, m, source_sqn, p->from ? p->from->o.id : 0);
    MLX5_SET(fte_match_set_misc, m, outer_ipv6_flow_label,
             flow_label(f, &p->info));
    MLX5_SET(fte_match_set_misc, m, inner_ipv6_flow_label,
             flow_label(inner, &t->inner));
    MLX5_SET(fte_match_set_misc, m, outer_esp_spi, esp_spi(f, &p->info));
    MLX5_SET(fte_match_set_misc, m, inner_esp_spi, esp_spi(inner, &t->inner));
}

/* First label behind L2, GRE or UDP; all zero for other frames. */
static uint32_t label_at(const Mlx5Packet *p, bool is_mpls, uint64_t off)
{
    return is_mpls && off + 4 <= p->len ? mlx5_get_be32(p->data + off) : 0;
}

static void misc2_mpls(uint8_t *m, const Mlx5Packet *p, const Mlx5Tunnel *t)
{
    const Mlx5FrameInfo *o = &p->info, *i = &t->inner;
    bool udp = o->udp && o->dport == MPLS_UDP_PORT;
    bool gre = t->kind == MLX5_TUNNEL_GRE && t->protocol == ETHERTYPE_MPLS;
    uint32_t label[4] = {
        label_at(p, o->ethertype == ETHERTYPE_MPLS, o->l3_off),
        label_at(p, t->inner_l2 && i->ethertype == ETHERTYPE_MPLS,
                 (uint64_t)t->inner_off + i->l3_off),
        label_at(p, gre, t->inner_off),
        label_at(p, udp, (uint64_t)o->l4_off + MLX5_UDP_HLEN),
    };

    /* The four stand one behind the other, one word each. */
    for (int k = 0; k < 4; k++) {
        mlx5_put_be32(m + MLX5_BYTE_OFF(fte_match_set_misc2,
                                        outer_first_mpls) + 4 * k, label[k]);
    }
}

static void fill_misc2(uint8_t *m, const Mlx5Packet *p, const Mlx5Tunnel *t)
{
    misc2_mpls(m, p, t);
    MLX5_SET(fte_match_set_misc2, m, metadata_reg_a, p->reg[MLX5_REG_A]);
    /* Register c7 comes first. */
    for (int k = 0; k < 8; k++) {
        mlx5_put_be32(m + MLX5_BYTE_OFF(fte_match_set_misc2,
                                        metadata_reg_c_7) + 4 * k,
                      p->reg[MLX5_REG_C0 + 7 - k]);
    }
}

static void misc3_tcp(uint8_t *m, const Mlx5Packet *p, const Mlx5Tunnel *t)
{
    if (p->info.tcp) {
        const uint8_t *tcp = p->data + p->info.l4_off;

        MLX5_SET(fte_match_set_misc3, m, outer_tcp_seq_num,
                 mlx5_get_be32(tcp + 4));
        MLX5_SET(fte_match_set_misc3, m, outer_tcp_ack_num,
                 mlx5_get_be32(tcp + 8));
    }
    if (t->inner.tcp) {
        const uint8_t *tcp = p->data + t->inner_off + t->inner.l4_off;

        MLX5_SET(fte_match_set_misc3, m, inner_tcp_seq_num,
                 mlx5_get_be32(tcp + 4));
        MLX5_SET(fte_match_set_misc3, m, inner_tcp_ack_num,
                 mlx5_get_be32(tcp + 8));
    }
}

static void misc3_icmp(uint8_t *m, const Mlx5Packet *p)
{
    const Mlx5FrameInfo *i = &p->info;
    const uint8_t *h = p->data + i->l4_off;

    if (!i->ip_version || i->frag || i->l3_len - i->l3_hlen < 8) {
        return;
    }
    if (i->ip_version == 4 && i->ip_protocol == ICMP) {
        MLX5_SET(fte_match_set_misc3, m, icmp_type, h[0]);
        MLX5_SET(fte_match_set_misc3, m, icmp_code, h[1]);
        MLX5_SET(fte_match_set_misc3, m, icmp_header_data,
                 mlx5_get_be32(h + 4));
    } else if (i->ip_version == 6 && i->ip_protocol == ICMPV6) {
        MLX5_SET(fte_match_set_misc3, m, icmpv6_type, h[0]);
        MLX5_SET(fte_match_set_misc3, m, icmpv6_code, h[1]);
        MLX5_SET(fte_match_set_misc3, m, icmpv6_header_data,
                 mlx5_get_be32(h + 4));
    }
}

static void fill_misc3(uint8_t *m, const Mlx5Packet *p, const Mlx5Tunnel *t)
{
    misc3_tcp(m, p, t);
    misc3_icmp(m, p);
    if (t->kind == MLX5_TUNNEL_VXLAN_GPE) {
        const uint8_t *h = p->data + t->off;

        MLX5_SET(fte_match_set_misc3, m, outer_vxlan_gpe_flags, h[0]);
        MLX5_SET(fte_match_set_misc3, m, outer_vxlan_gpe_next_protocol, h[3]);
        MLX5_SET(fte_match_set_misc3, m, outer_vxlan_gpe_vni,
                 mlx5_get_be32(h + 4) >> 8);
    }
}

/* The parts behind the outer headers: rarely asked for, made together. */
static void fill_rest(Mlx5Packet *p)
{
    uint8_t *m = (uint8_t *)p->key.w;
    Mlx5Tunnel t;

    mlx5_frame_parse_tunnel(p->data, &p->info, &p->func->eth->vxlan, &t);
    memset(m + MLX5_MATCH_BYTES, 0, sizeof(p->key.w) - MLX5_MATCH_BYTES);
    fill_misc(m + MLX5_MATCH_MISC * MLX5_MATCH_BYTES, p, &t);
    fill_misc2(m + MLX5_MATCH_MISC2 * MLX5_MATCH_BYTES, p, &t);
    fill_misc3(m + MLX5_MATCH_MISC3 * MLX5_MATCH_BYTES, p, &t);
    if (t.has_inner) {
        fill_headers(m + MLX5_MATCH_INNER * MLX5_MATCH_BYTES,
                     p->data + t.inner_off, &t.inner, t.inner_l2);
    }
    p->key.have = (1u << MLX5_MATCH_PARTS) - 1;
}

void mlx5_match_fill_outer(Mlx5Packet *p)
{
    memset(p->key.w, 0, MLX5_MATCH_BYTES);
    fill_headers((uint8_t *)p->key.w, p->data, &p->info, true);
    p->key.have = 1u << MLX5_MATCH_OUTER;
}

void mlx5_match_need(Mlx5Packet *p, uint32_t parts)
{
    if (parts & ~p->key.have) {
        fill_rest(p);
    }
}
