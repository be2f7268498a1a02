/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tunnels in frames: GRE (RFC 2784, 2890), VXLAN (RFC 7348), VXLAN-GPE
 * (draft-ietf-nvo3-vxlan-gpe), Geneve (RFC 8926), IP in IP (RFC 2003, 2473).
 * Left out: GTP-U.
 */
#include "eth/frame.h"

#include <string.h>

enum { VXLAN_GPE_PORT = 4790, GENEVE_PORT = 6081 };
enum { GPE_IPV4 = 1, GPE_IPV6 = 2, GPE_ETHERNET = 3 };
enum { GRE_HLEN = 4, VXLAN_HLEN = 8, GENEVE_HLEN = 8, GRE_VERSION = 7 };

/* Length of the header; 0 if @len bytes do not hold it. */
static uint32_t parse_gre(const uint8_t *h, uint32_t len, Mlx5Tunnel *t)
{
    uint16_t flags;
    uint32_t size;

    if (len < GRE_HLEN) {
        return 0;
    }
    flags = mlx5_get_be16(h);
    size = GRE_HLEN + (flags & MLX5_GRE_C ? 4 : 0) +
           (flags & MLX5_GRE_K ? 4 : 0) + (flags & MLX5_GRE_S ? 4 : 0);
    t->kind = MLX5_TUNNEL_GRE;
    t->protocol = mlx5_get_be16(h + 2);
    return (flags & GRE_VERSION) || size > len ? 0 : size;
}

static uint32_t parse_vxlan(const uint8_t *h, uint32_t len, Mlx5Tunnel *t)
{
    (void)h;
    t->kind = MLX5_TUNNEL_VXLAN;
    t->protocol = MLX5_ETHERTYPE_TEB;
    return len < VXLAN_HLEN ? 0 : VXLAN_HLEN;
}

static uint32_t parse_gpe(const uint8_t *h, uint32_t len, Mlx5Tunnel *t)
{
    static const uint16_t types[] = {
        [GPE_IPV4] = MLX5_ETHERTYPE_IPV4, [GPE_IPV6] = MLX5_ETHERTYPE_IPV6,
        [GPE_ETHERNET] = MLX5_ETHERTYPE_TEB,
    };

    if (len < VXLAN_HLEN) {
        return 0;
    }
    t->kind = MLX5_TUNNEL_VXLAN_GPE;
    t->protocol = h[3] <= GPE_ETHERNET ? types[h[3]] : 0;
    return VXLAN_HLEN;
}

static uint32_t parse_geneve(const uint8_t *h, uint32_t len, Mlx5Tunnel *t)
{
    uint32_t size;

    if (len < GENEVE_HLEN) {
        return 0;
    }
    size = GENEVE_HLEN + (h[0] & 0x3f) * 4u;
    t->kind = MLX5_TUNNEL_GENEVE;
    t->protocol = mlx5_get_be16(h + 2);
    return size > len ? 0 : size;
}

static const struct {
    uint16_t port;
    uint32_t (*parse)(const uint8_t *h, uint32_t len, Mlx5Tunnel *t);
} over_udp[] = {
    { VXLAN_GPE_PORT, parse_gpe },
    { GENEVE_PORT, parse_geneve },
};

static uint32_t parse_over_udp(const uint8_t *h, uint32_t len, uint16_t port,
                               const Mlx5VxlanPorts *vxlan, Mlx5Tunnel *t)
{
    for (uint32_t i = 0; i < vxlan->n; i++) {
        if (vxlan->port[i] == port) {
            return parse_vxlan(h, len, t);
        }
    }
    for (size_t i = 0; i < sizeof(over_udp) / sizeof(over_udp[0]); i++) {
        if (over_udp[i].port == port) {
            return over_udp[i].parse(h, len, t);
        }
    }
    return 0;
}

/* The tunnel's header at t->off. Return: its length, 0 for none. */
static uint32_t parse_header(const uint8_t *frame, const Mlx5FrameInfo *info,
                             const Mlx5VxlanPorts *vxlan, Mlx5Tunnel *t)
{
    uint32_t end = info->l3_off + info->l3_len;

    t->off = info->l4_off;
    if (info->udp) {
        t->off += MLX5_UDP_HLEN;
        return parse_over_udp(frame + t->off, end - t->off, info->dport,
                              vxlan, t);
    }
    if (info->ip_protocol == MLX5_IPPROTO_GRE) {
        return parse_gre(frame + t->off, end - t->off, t);
    }
    return 0;
}

/* An IP packet is the payload itself, without a header of the tunnel. */
static bool parse_ip_in_ip(const Mlx5FrameInfo *info, Mlx5Tunnel *t)
{
    if (info->ip_protocol != MLX5_IPPROTO_IPV4 &&
        info->ip_protocol != MLX5_IPPROTO_IPV6) {
        return false;
    }
    t->kind = MLX5_TUNNEL_IP;
    t->protocol = info->ip_protocol == MLX5_IPPROTO_IPV4
                      ? MLX5_ETHERTYPE_IPV4 : MLX5_ETHERTYPE_IPV6;
    return true;
}

static void parse_inner(const uint8_t *frame, uint32_t end, Mlx5Tunnel *t)
{
    const uint8_t *inner = frame + t->inner_off;
    uint32_t len = end - t->inner_off;

    if (t->protocol == MLX5_ETHERTYPE_TEB) {
        t->inner_l2 = true;
        t->has_inner = len >= MLX5_ETH_HLEN;
        mlx5_frame_parse(inner, len, &t->inner);
    } else {
        mlx5_frame_parse_l3(inner, len, t->protocol, &t->inner);
        t->has_inner = t->inner.ip_version != 0;
    }
}

void mlx5_frame_parse_tunnel(const uint8_t *frame, const Mlx5FrameInfo *info,
                             const Mlx5VxlanPorts *vxlan, Mlx5Tunnel *tunnel)
{
    uint32_t size;

    memset(tunnel, 0, sizeof(*tunnel));
    /* What TCP carries is no tunnel; that is most of what comes. */
    if (!info->ip_version || info->frag || info->tcp) {
        return;
    }
    size = parse_header(frame, info, vxlan, tunnel);
    if (!size && !parse_ip_in_ip(info, tunnel)) {
        /* A header cut short is none. */
        tunnel->kind = MLX5_TUNNEL_NONE;
        return;
    }
    tunnel->inner_off = tunnel->off + size;
    parse_inner(frame, info->l3_off + info->l3_len, tunnel);
}
