/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large send offload: one packet of up to 2^MLX5_LOG_MAX_LSO bytes cut into
 * frames of an MSS each (PRM: LSO; driver: en_tx.c). TCP segments go on with
 * sequence numbers, UDP datagrams (UDP_L4) get a length each; both get their
 * checksums whatever the WQE's flags say.
 *
 * In a tunnel it is the inner packet that is cut, and each frame has all
 * headers, with lengths and identification of its own. The sums of UDP and GRE
 * around it are made where there is one. That holds for what a driver has
 * prepared as well (GSO partial): there they come out as they were.
 *
 * The other end of the wire may take TCP frames of any length over IPv4
 * (Mlx5HostOps frame_max): then a frame has as many segments as an IP packet
 * can.
 */
#include "eth/eth_internal.h"

#include "bus/trace.h"

enum { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };

/* Where a segment stands in its packet. */
typedef struct Segment {
    uint32_t number;         /* from 0 */
    uint32_t offset;         /* payload before it */
    bool last;
} Segment;

static void fix_ipv4(uint8_t *ip, const Segment *s)
{
    mlx5_put_be16(ip + 4, mlx5_get_be16(ip + 4) + s->number);
}

static void fix_tcp(uint8_t *tcp, const Segment *s)
{
    mlx5_put_be32(tcp + 4, mlx5_get_be32(tcp + 4) + s->offset);
    if (!s->last) {
        tcp[13] &= ~(TCP_FIN | TCP_PSH);
    }
    /* The window was reduced once, at the first segment (RFC 3168 6.1.2). */
    if (s->number) {
        tcp[13] &= ~TCP_CWR;
    }
}

/* An IP packet with TCP or UDP in it, at @p or, if a frame is there, in that. */
static void fix_packet(uint8_t *p, const Mlx5FrameInfo *info, const Segment *s)
{
    if (info->ip_version == 4) {
        fix_ipv4(p + info->l3_off, s);
    }
    if (info->tcp) {
        fix_tcp(p + info->l4_off, s);
    } else if (info->udp) {
        mlx5_put_be16(p + info->l4_off + 4, info->l3_len - info->l3_hlen);
    }
    mlx5_frame_set_l3_csum(p, info);
    mlx5_frame_set_l4_csum(p, info);
}

/* GRE has a sum if it says so (RFC 2784 2.1). */
static void fix_gre(uint8_t *gre, uint32_t len)
{
    if (len >= 8 && (mlx5_get_be16(gre) & MLX5_GRE_C)) {
        mlx5_put_be16(gre + 4, 0);
        mlx5_put_be16(gre + 4, ~mlx5_csum(gre, len));
    }
}

/* The headers around a tunnel; what is inside is right already. */
static void fix_outer(uint8_t *frame, const Mlx5FrameInfo *info,
                      const Segment *s)
{
    uint32_t len = info->l3_len - info->l3_hlen;

    if (info->ip_version == 4) {
        fix_ipv4(frame + info->l3_off, s);
    }
    if (info->udp) {
        mlx5_put_be16(frame + info->l4_off + 4, len);
        if (mlx5_get_be16(frame + info->l4_off + 6)) {
            mlx5_frame_set_l4_csum(frame, info);
        }
    } else if (info->ip_protocol == MLX5_IPPROTO_GRE && !info->frag) {
        fix_gre(frame + info->l4_off, len);
    }
    mlx5_frame_set_l3_csum(frame, info);
}

/* What the headers of a packet are. */
typedef struct Headers {
    Mlx5FrameInfo outer;
    uint32_t inner_l3;       /* the IP header in a tunnel; 0: there is none */
    uint16_t inner_type;
} Headers;

static void fix_headers(uint8_t *frame, size_t len, const Headers *h,
                        const Segment *s)
{
    uint8_t *inner = frame + h->inner_l3;
    Mlx5FrameInfo info;

    mlx5_frame_fix_ip_len(frame, len);
    if (h->inner_l3) {
        mlx5_frame_set_ip_len(inner,
                              h->inner_type == MLX5_ETHERTYPE_IPV4 ? 4 : 6,
                              len - h->inner_l3);
        mlx5_frame_parse_l3(inner, len - h->inner_l3, h->inner_type, &info);
        fix_packet(inner, &info, s);
    }
    mlx5_frame_parse(frame, len, &info);
    if (h->inner_l3) {
        fix_outer(frame, &info, s);
    } else {
        fix_packet(frame, &info, s);
    }
}

/* Do the headers end with those of @info, which begin at @off? */
static bool end_at(const Mlx5FrameInfo *info, uint32_t off, size_t hdr_len)
{
    return (info->tcp || info->udp) &&
           off + info->l4_off + info->l4_hlen == hdr_len;
}

/* Are the headers whole, and of a kind that can be cut? */
static bool headers_ok(const Mlx5Sq *sq, const uint8_t *packet,
                       const Mlx5EthCut *cut, Headers *h)
{
    g_autofree uint8_t *copy = g_memdup2(packet, cut->hdr_len);
    Mlx5EthInner in;

    h->inner_l3 = 0;
    mlx5_frame_fix_ip_len(copy, cut->hdr_len);
    mlx5_frame_parse(copy, cut->hdr_len, &h->outer);
    if (end_at(&h->outer, 0, cut->hdr_len)) {
        return true;
    }
    if (!sq->o.func->props.tunnel || !h->outer.ip_version ||
        !mlx5_eth_find_inner(sq, copy, cut->hdr_len, &h->outer, &cut->swp,
                             &in) ||
        !end_at(&in.info, in.off, cut->hdr_len)) {
        return false;
    }
    h->inner_l3 = in.off + in.info.l3_off;
    h->inner_type = in.info.ethertype;
    return true;
}

/* Payload of a frame: an MSS, or several if such may go out. */
static uint32_t payload_of(const Mlx5Sq *sq, const uint8_t *packet,
                           const Mlx5EthCut *cut, const Mlx5FrameInfo *info)
{
    const Mlx5HostOps *ops = sq->o.func->ops;
    size_t hdr_len = cut->hdr_len;
    uint32_t mss = cut->mss;
    size_t most = info->tcp && info->ip_version == 4 && ops->frame_max
                      ? ops->frame_max(sq->o.func->host) : 0;

    most = MIN(most, info->l3_off + UINT16_MAX);
    if (most < hdr_len + 2 * (size_t)mss || !mlx5_eth_only_wire(sq, packet)) {
        return mss;
    }
    return (most - hdr_len) / mss * mss;
}

/* Send a segment, or a frame of several. */
static void emit(Mlx5Sq *sq, const uint8_t *frame, size_t part,
                 const Mlx5EthCut *cut)
{
    uint32_t n = (part + cut->mss - 1) / cut->mss;

    if (n <= 1) {
        mlx5_eth_send(sq, frame, cut->hdr_len + part, cut->metadata);
    } else {
        mlx5_eth_tx_large(sq->o.func, frame, cut->hdr_len + part,
                          (Mlx5Traffic){ n, n * cut->hdr_len + part });
    }
}

bool mlx5_eth_lso(Mlx5Sq *sq, const uint8_t *packet, size_t len,
                  const Mlx5EthCut *cut)
{
    const uint8_t *payload = packet + cut->hdr_len;
    size_t total = len - cut->hdr_len;
    g_autofree uint8_t *frame = NULL;
    Headers h;
    uint32_t step;

    if (cut->hdr_len + cut->mss > MLX5_ETH_MAX_FRAME ||
        !headers_ok(sq, packet, cut, &h)) {
        return false;
    }
    step = payload_of(sq, packet, cut, &h.outer);
    frame = g_malloc(cut->hdr_len + step);
    for (uint32_t off = 0; off < total; off += step) {
        size_t part = MIN(step, total - off);
        Segment s = { off / cut->mss, off, off + part == total };

        memcpy(frame, packet, cut->hdr_len);
        memcpy(frame + cut->hdr_len, payload + off, part);
        fix_headers(frame, cut->hdr_len + part, &h, &s);
        emit(sq, frame, part, cut);
    }
    return true;
}
