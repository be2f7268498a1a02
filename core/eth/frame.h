/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ethernet frames: what their headers say, and the Internet checksum.
 */
#ifndef MLX5_ETH_FRAME_H
#define MLX5_ETH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MLX5_ETH_HLEN 14
#define MLX5_VLAN_HLEN 4
/** Shortest frame on a wire, without FCS (IEEE 802.3 4A.2.3.2.4). */
#define MLX5_ETH_ZLEN 60
/** Longest frame the port takes: 9978 bytes of payload (PMTU) and headers. */
#define MLX5_ETH_MAX_FRAME 10240
#define MLX5_UDP_HLEN 8

enum {
    MLX5_ETHERTYPE_IPV4 = 0x0800,
    MLX5_ETHERTYPE_IPV6 = 0x86dd,
    MLX5_ETHERTYPE_CVLAN = 0x8100,
    MLX5_ETHERTYPE_SVLAN = 0x88a8,
};

enum {
    MLX5_IPPROTO_TCP = 6,
    MLX5_IPPROTO_UDP = 17,
    MLX5_IPPROTO_ESP = 50,
    MLX5_IPPROTO_AH = 51,
};

/** What was understood of a frame; offsets from its first byte. */
typedef struct Mlx5FrameInfo {
    bool cvlan, svlan;       /* kind of the outermost VLAN tag */
    uint16_t tci;            /* of the outermost tag */
    uint16_t ethertype;      /* behind all tags */
    uint32_t l3_off;         /* behind the Ethernet header and tags */
    uint32_t ip_version;     /* 4, 6 or 0; below only if not 0 */
    uint32_t l3_len;         /* IP header and payload; inside the frame */
    uint32_t l3_hlen;        /* IP header with extension headers */
    uint8_t ip_protocol;     /* after extension headers */
    uint8_t tos, ttl, ihl;
    bool frag;               /* a fragment, the first one included */
    bool l3_short;           /* the frame ends before the packet would */
    bool l3_ok;              /* header checksum right, or none needed */
    bool tcp, udp;           /* not a fragment, and the header is whole */
    uint32_t l4_off;
    uint16_t sport, dport;
    uint16_t tcp_flags;      /* 9 bits */
    uint32_t l4_hlen;
} Mlx5FrameInfo;

/** Never fails: what is not understood stays zero. */
void mlx5_frame_parse(const uint8_t *frame, size_t len, Mlx5FrameInfo *info);

/**
 * Make the IP length field span the frame to its end: what a segment cut from
 * a longer packet needs before it can be parsed.
 */
void mlx5_frame_fix_ip_len(uint8_t *frame, size_t len);

/** Is the TCP or UDP checksum right (or left out, UDP over IPv4)? */
bool mlx5_frame_l4_ok(const uint8_t *frame, const Mlx5FrameInfo *info);
/** Write the IPv4 header checksum; nothing for other frames. */
void mlx5_frame_set_l3_csum(uint8_t *frame, const Mlx5FrameInfo *info);
/** Write the TCP or UDP checksum; nothing for other frames and fragments. */
void mlx5_frame_set_l4_csum(uint8_t *frame, const Mlx5FrameInfo *info);

/** One's complement sum of @len bytes, folded to 16 bits, not inverted. */
uint16_t mlx5_csum(const uint8_t *p, size_t len);

static inline uint16_t mlx5_get_be16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static inline void mlx5_put_be16(uint8_t *p, uint16_t v)
{
    p[0] = v >> 8;
    p[1] = v;
}

static inline uint32_t mlx5_get_be32(const uint8_t *p)
{
    return (uint32_t)mlx5_get_be16(p) << 16 | mlx5_get_be16(p + 2);
}

static inline void mlx5_put_be32(uint8_t *p, uint32_t v)
{
    mlx5_put_be16(p, v >> 16);
    mlx5_put_be16(p + 2, v);
}

#endif
