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
/** Room for the longest frame the port takes: 9978 bytes of payload, headers. */
#define MLX5_ETH_MAX_FRAME 10240
#define MLX5_UDP_HLEN 8

enum {
    MLX5_ETHERTYPE_IPV4 = 0x0800,
    MLX5_ETHERTYPE_TEB = 0x6558, /* a whole frame inside (RFC 7637) */
    MLX5_ETHERTYPE_IPV6 = 0x86dd,
    MLX5_ETHERTYPE_CVLAN = 0x8100,
    MLX5_ETHERTYPE_SVLAN = 0x88a8,
};

enum {
    MLX5_IPPROTO_TCP = 6,
    MLX5_IPPROTO_IPV4 = 4,
    MLX5_IPPROTO_IPV6 = 41,
    MLX5_IPPROTO_UDP = 17,
    MLX5_IPPROTO_GRE = 47,
    MLX5_IPPROTO_ESP = 50,
    MLX5_IPPROTO_AH = 51,
};

/** What was understood of a frame; offsets from its first byte. */
typedef struct Mlx5FrameInfo {
    bool cvlan, svlan;       /* kind of the outermost VLAN tag */
    bool cvlan2, svlan2;     /* the same of the second one */
    uint16_t tci, tci2;      /* of both */
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

typedef enum Mlx5TunnelKind {
    MLX5_TUNNEL_NONE, MLX5_TUNNEL_IP, MLX5_TUNNEL_GRE, MLX5_TUNNEL_VXLAN,
    MLX5_TUNNEL_VXLAN_GPE, MLX5_TUNNEL_GENEVE,
} Mlx5TunnelKind;

/** Flags in the first two bytes of a GRE header (RFC 2784, 2890). */
enum { MLX5_GRE_C = 0x8000, MLX5_GRE_K = 0x2000, MLX5_GRE_S = 0x1000 };

/** UDP ports that VXLAN comes on. */
#define MLX5_MAX_VXLAN_PORTS 8
typedef struct Mlx5VxlanPorts {
    uint32_t n;
    uint16_t port[MLX5_MAX_VXLAN_PORTS];
} Mlx5VxlanPorts;

/** A tunnel's header, and what it carries. */
typedef struct Mlx5Tunnel {
    Mlx5TunnelKind kind;
    uint32_t off;            /* of the tunnel's header in the frame */
    uint16_t protocol;       /* as an Ethernet type */
    bool has_inner;          /* a frame or an IP packet is inside ... */
    bool inner_l2;           /* ... which begins with its Ethernet header */
    uint32_t inner_off;      /* of that */
    Mlx5FrameInfo inner;     /* offsets from inner_off */
} Mlx5Tunnel;

/** Never fails: what is not understood stays zero. */
void mlx5_frame_parse(const uint8_t *frame, size_t len, Mlx5FrameInfo *info);
/** The same for what begins with its L3 header, of Ethernet type @type. */
void mlx5_frame_parse_l3(const uint8_t *packet, size_t len, uint16_t type,
                         Mlx5FrameInfo *info);
/** The tunnel in a frame that was parsed to @info; kind NONE if none is. */
void mlx5_frame_parse_tunnel(const uint8_t *frame, const Mlx5FrameInfo *info,
                             const Mlx5VxlanPorts *vxlan, Mlx5Tunnel *tunnel);

/** Make the length field of the IP header at @ip, which is whole, say @len bytes
 * in all. @version: 4 or 6. */
void mlx5_frame_set_ip_len(uint8_t *ip, uint32_t version, size_t len);

/**
 * Make the IP length field span the frame to its end: what a segment cut from
 * a longer packet needs before it can be parsed.
 */
void mlx5_frame_fix_ip_len(uint8_t *frame, size_t len);

/** Is the TCP or UDP checksum right (or left out, UDP over IPv4)? */
bool mlx5_frame_l4_ok(const uint8_t *frame, const Mlx5FrameInfo *info);
/** The same, and the sum over the IP packet, in one pass over the bytes. */
bool mlx5_frame_sums(const uint8_t *frame, const Mlx5FrameInfo *info,
                     uint16_t *csum);
/** Write the IPv4 header checksum; nothing for other frames. */
void mlx5_frame_set_l3_csum(uint8_t *frame, const Mlx5FrameInfo *info);
/** Write the TCP or UDP checksum; nothing for other frames and fragments. */
void mlx5_frame_set_l4_csum(uint8_t *frame, const Mlx5FrameInfo *info);

#define MLX5_FCS_BYTES 4
/** The FCS of a frame, as it follows on the wire (IEEE 802.3 3.2.9). */
void mlx5_frame_fcs(const uint8_t *frame, size_t len,
                    uint8_t fcs[MLX5_FCS_BYTES]);

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
