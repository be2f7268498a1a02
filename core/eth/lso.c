/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large send offload: one packet of up to 2^MLX5_LOG_MAX_LSO bytes cut into
 * frames of an MSS each (PRM: LSO; driver: en_tx.c). TCP segments go on with
 * sequence numbers, UDP datagrams (UDP_L4) get a length each; both get their
 * checksums whatever the WQE's flags say.
 *
 * The other end of the wire may take TCP frames of any length (Mlx5HostOps
 * frame_max): then a frame has as many segments as an IP packet can.
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

static void fix_headers(uint8_t *frame, size_t len, const Segment *s)
{
    Mlx5FrameInfo info;

    mlx5_frame_fix_ip_len(frame, len);
    mlx5_frame_parse(frame, len, &info);
    if (info.ip_version == 4) {
        fix_ipv4(frame + info.l3_off, s);
    }
    if (info.tcp) {
        fix_tcp(frame + info.l4_off, s);
    } else if (info.udp) {
        mlx5_put_be16(frame + info.l4_off + 4, info.l3_len - info.l3_hlen);
    }
    mlx5_frame_set_l3_csum(frame, &info);
    mlx5_frame_set_l4_csum(frame, &info);
}

/* Are the headers whole, and of a kind that can be cut? */
static bool headers_ok(const uint8_t *packet, size_t hdr_len,
                       Mlx5FrameInfo *info)
{
    g_autofree uint8_t *copy = g_memdup2(packet, hdr_len);

    mlx5_frame_fix_ip_len(copy, hdr_len);
    mlx5_frame_parse(copy, hdr_len, info);
    return (info->tcp || info->udp) && info->l4_off + info->l4_hlen == hdr_len;
}

/* Payload of a frame: an MSS, or several if such may go out. */
static uint32_t payload_of(const Mlx5Sq *sq, const uint8_t *packet,
                           size_t hdr_len, const Mlx5FrameInfo *info,
                           uint32_t mss)
{
    const Mlx5HostOps *ops = sq->o.func->ops;
    size_t most = info->tcp && ops->frame_max ? ops->frame_max(sq->o.func->host)
                                              : 0;

    most = MIN(most, info->l3_off + UINT16_MAX);
    if (most < hdr_len + 2 * (size_t)mss || !mlx5_eth_only_wire(sq, packet)) {
        return mss;
    }
    return (most - hdr_len) / mss * mss;
}

/* Send a segment, or a frame of several. */
static void emit(Mlx5Sq *sq, const uint8_t *frame, size_t hdr_len, size_t part,
                 uint32_t mss, uint32_t metadata)
{
    uint32_t n = (part + mss - 1) / mss;

    if (n <= 1) {
        mlx5_eth_send(sq, frame, hdr_len + part, metadata);
    } else {
        mlx5_eth_tx_large(sq->o.func, frame, hdr_len + part,
                          (Mlx5Traffic){ n, n * hdr_len + part });
    }
}

bool mlx5_eth_lso(Mlx5Sq *sq, const uint8_t *packet, size_t len,
                  size_t hdr_len, uint32_t mss, uint32_t metadata)
{
    const uint8_t *payload = packet + hdr_len;
    size_t total = len - hdr_len;
    g_autofree uint8_t *frame = NULL;
    Mlx5FrameInfo info;
    uint32_t step;

    if (hdr_len + mss > MLX5_ETH_MAX_FRAME ||
        !headers_ok(packet, hdr_len, &info)) {
        return false;
    }
    step = payload_of(sq, packet, hdr_len, &info, mss);
    frame = g_malloc(hdr_len + step);
    for (uint32_t off = 0; off < total; off += step) {
        size_t part = MIN(step, total - off);
        Segment s = { off / mss, off, off + part == total };

        memcpy(frame, packet, hdr_len);
        memcpy(frame + hdr_len, payload + off, part);
        fix_headers(frame, hdr_len + part, &s);
        emit(sq, frame, hdr_len, part, mss, metadata);
    }
    return true;
}
