/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing of Ethernet, VLAN, IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293)
 * and UDP (RFC 768) headers, and their checksums (RFC 1071); tunnels are in
 * tunnel.c. Every length is held against the frame's; a packet that says it is
 * longer than its frame is taken as far as it goes, so that rules on its
 * headers hit, and its checksums count as wrong. Left out: SCTP.
 */
#include "eth/frame.h"

#include <glib.h>
#include <string.h>

#include "eth/crc32.h"

#define IPV4_HLEN 20
#define IPV6_HLEN 40
#define TCP_HLEN 20
#define MAX_VLANS 2
/* Extension headers looked through; a longer chain has no L4 for us. */
#define MAX_EXT_HEADERS 8

enum { EXT_HOP_BY_HOP = 0, EXT_ROUTING = 43, EXT_FRAGMENT = 44,
       EXT_DEST_OPTIONS = 60 };

static uint16_t csum_fold(uint64_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* Most of it in words as they lie in memory: only the result's byte order
 * depends on that (RFC 1071 2(B)). */
static uint64_t csum_add(uint64_t sum, const uint8_t *p, size_t len)
{
    uint64_t native = 0;

    for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, p, sizeof(word));
        native += (word & UINT32_MAX) + (word >> 32);
        p += sizeof(word);
    }
    sum += GUINT16_FROM_BE(csum_fold(native));
    for (; len >= 2; len -= 2, p += 2) {
        sum += mlx5_get_be16(p);
    }
    return len ? sum + (p[0] << 8) : sum;
}

uint16_t mlx5_csum(const uint8_t *p, size_t len)
{
    return csum_fold(csum_add(0, p, len));
}

/* Return: offset behind the Ethernet header and up to two tags. */
static uint32_t parse_l2(const uint8_t *f, size_t len, Mlx5FrameInfo *info)
{
    uint32_t off = MLX5_ETH_HLEN;
    uint16_t type = mlx5_get_be16(f + 12);

    for (int i = 0; i < MAX_VLANS && (type == MLX5_ETHERTYPE_CVLAN ||
                                      type == MLX5_ETHERTYPE_SVLAN) &&
         off + MLX5_VLAN_HLEN <= len; i++) {
        if (i == 0) {
            info->cvlan = type == MLX5_ETHERTYPE_CVLAN;
            info->svlan = !info->cvlan;
            info->tci = mlx5_get_be16(f + off);
        } else {
            info->cvlan2 = type == MLX5_ETHERTYPE_CVLAN;
            info->svlan2 = !info->cvlan2;
            info->tci2 = mlx5_get_be16(f + off);
        }
        type = mlx5_get_be16(f + off + 2);
        off += MLX5_VLAN_HLEN;
    }
    info->ethertype = type;
    return off;
}

static void parse_ipv4(const uint8_t *ip, size_t len, Mlx5FrameInfo *info)
{
    uint32_t hlen, total;
    uint16_t frag;

    if (len < IPV4_HLEN || ip[0] >> 4 != 4) {
        return;
    }
    hlen = (ip[0] & 0xf) * 4;
    total = mlx5_get_be16(ip + 2);
    if (hlen < IPV4_HLEN || hlen > len || total < hlen) {
        return;
    }
    frag = mlx5_get_be16(ip + 6);
    info->ip_version = 4;
    info->ihl = ip[0] & 0xf;
    info->tos = ip[1];
    info->ttl = ip[8];
    info->ip_protocol = ip[9];
    info->l3_hlen = hlen;
    info->l3_len = total > len ? len : total;
    info->l3_short = total > len;
    info->frag = frag & 0x3fff; /* more fragments, or an offset */
    info->l3_ok = mlx5_csum(ip, hlen) == 0xffff && !info->l3_short;
}

/* Step over one extension header. Return: false when @next is none. */
static bool skip_ext(const uint8_t *ip, uint32_t end, uint32_t *off,
                     uint8_t *next, bool *frag)
{
    uint32_t size;

    if (*next != EXT_HOP_BY_HOP && *next != EXT_ROUTING &&
        *next != EXT_DEST_OPTIONS && *next != EXT_FRAGMENT) {
        return false;
    }
    if (*off + 8 > end) {
        return false;
    }
    size = *next == EXT_FRAGMENT ? 8 : (ip[*off + 1] + 1) * 8u;
    if (*off + size > end) {
        return false;
    }
    if (*next == EXT_FRAGMENT) {
        *frag = true;
    }
    *next = ip[*off];
    *off += size;
    return true;
}

static void parse_ipv6(const uint8_t *ip, size_t len, Mlx5FrameInfo *info)
{
    uint32_t off = IPV6_HLEN, want, end;
    uint8_t next;

    if (len < IPV6_HLEN || ip[0] >> 4 != 6) {
        return;
    }
    want = IPV6_HLEN + mlx5_get_be16(ip + 4);
    end = want > len ? len : want;
    next = ip[6];
    for (int i = 0; i < MAX_EXT_HEADERS; i++) {
        if (!skip_ext(ip, end, &off, &next, &info->frag)) {
            break;
        }
    }
    info->ip_version = 6;
    info->tos = mlx5_get_be16(ip) >> 4;
    info->ttl = ip[7];
    info->ip_protocol = next;
    info->l3_hlen = off;
    info->l3_len = end;
    info->l3_short = end < want;
    info->l3_ok = !info->l3_short;
}

static void parse_tcp(const uint8_t *l4, uint32_t len, Mlx5FrameInfo *info)
{
    uint32_t hlen;

    if (len < TCP_HLEN) {
        return;
    }
    hlen = (l4[12] >> 4) * 4;
    if (hlen < TCP_HLEN || hlen > len) {
        return;
    }
    info->tcp = true;
    info->l4_hlen = hlen;
    info->tcp_flags = mlx5_get_be16(l4 + 12) & 0x1ff;
}

static void parse_udp(uint32_t len, Mlx5FrameInfo *info)
{
    if (len >= MLX5_UDP_HLEN) {
        info->udp = true;
        info->l4_hlen = MLX5_UDP_HLEN;
    }
}

static void parse_l4(const uint8_t *f, Mlx5FrameInfo *info)
{
    uint32_t len = info->l3_len - info->l3_hlen;

    info->l4_off = info->l3_off + info->l3_hlen;
    if (info->ip_protocol == MLX5_IPPROTO_TCP) {
        parse_tcp(f + info->l4_off, len, info);
    } else if (info->ip_protocol == MLX5_IPPROTO_UDP) {
        parse_udp(len, info);
    }
    if (info->tcp || info->udp) {
        info->sport = mlx5_get_be16(f + info->l4_off);
        info->dport = mlx5_get_be16(f + info->l4_off + 2);
    }
}

/* L3 and L4 of a frame whose l3_off and ethertype are known. */
static void parse_l3(const uint8_t *frame, size_t len, Mlx5FrameInfo *info)
{
    if (info->ethertype == MLX5_ETHERTYPE_IPV4) {
        parse_ipv4(frame + info->l3_off, len - info->l3_off, info);
    } else if (info->ethertype == MLX5_ETHERTYPE_IPV6) {
        parse_ipv6(frame + info->l3_off, len - info->l3_off, info);
    }
    if (info->ip_version && !info->frag) {
        parse_l4(frame, info);
    }
}

void mlx5_frame_parse(const uint8_t *frame, size_t len, Mlx5FrameInfo *info)
{
    memset(info, 0, sizeof(*info));
    if (len >= MLX5_ETH_HLEN) {
        info->l3_off = parse_l2(frame, len, info);
        parse_l3(frame, len, info);
    }
}

void mlx5_frame_parse_l3(const uint8_t *packet, size_t len, uint16_t type,
                         Mlx5FrameInfo *info)
{
    memset(info, 0, sizeof(*info));
    info->ethertype = type;
    parse_l3(packet, len, info);
}

void mlx5_frame_set_ip_len(uint8_t *ip, uint32_t version, size_t len)
{
    if (version == 4) {
        mlx5_put_be16(ip + 2, len);
    } else {
        mlx5_put_be16(ip + 4, len - IPV6_HLEN);
    }
}

void mlx5_frame_fix_ip_len(uint8_t *frame, size_t len)
{
    Mlx5FrameInfo info = { 0 };
    uint32_t off;

    if (len < MLX5_ETH_HLEN) {
        return;
    }
    off = parse_l2(frame, len, &info);
    if (info.ethertype == MLX5_ETHERTYPE_IPV4 && len - off >= IPV4_HLEN) {
        mlx5_frame_set_ip_len(frame + off, 4, len - off);
    } else if (info.ethertype == MLX5_ETHERTYPE_IPV6 &&
               len - off >= IPV6_HLEN) {
        mlx5_frame_set_ip_len(frame + off, 6, len - off);
    }
}

/* Sum of the pseudo header (RFC 9293 3.1, RFC 8200 8.1). */
static uint64_t pseudo_sum(const uint8_t *frame, const Mlx5FrameInfo *info)
{
    const uint8_t *ip = frame + info->l3_off;
    uint64_t sum = info->ip_protocol + info->l3_len - info->l3_hlen;

    return info->ip_version == 4 ? csum_add(sum, ip + 12, 8)
                                 : csum_add(sum, ip + 8, 32);
}

static uint16_t l4_sum(const uint8_t *frame, const Mlx5FrameInfo *info)
{
    return csum_fold(csum_add(pseudo_sum(frame, info), frame + info->l4_off,
                              info->l3_len - info->l3_hlen));
}

/* Where in its header TCP or UDP has the checksum. */
static uint32_t l4_csum_off(const Mlx5FrameInfo *info)
{
    return info->l4_off + (info->tcp ? 16 : 6);
}

/* @payload: sum of all behind the IP header. */
static bool l4_ok(const uint8_t *frame, const Mlx5FrameInfo *info,
                  uint64_t payload)
{
    if ((!info->tcp && !info->udp) || info->l3_short) {
        return false;
    }
    if (info->udp && info->ip_version == 4 &&
        mlx5_get_be16(frame + l4_csum_off(info)) == 0) {
        return true;
    }
    return csum_fold(payload + pseudo_sum(frame, info)) == 0xffff;
}

static uint64_t payload_sum(const uint8_t *frame, const Mlx5FrameInfo *info)
{
    return csum_add(0, frame + info->l3_off + info->l3_hlen,
                    info->l3_len - info->l3_hlen);
}

bool mlx5_frame_l4_ok(const uint8_t *frame, const Mlx5FrameInfo *info)
{
    return l4_ok(frame, info, payload_sum(frame, info));
}

bool mlx5_frame_sums(const uint8_t *frame, const Mlx5FrameInfo *info,
                     uint16_t *csum)
{
    uint64_t payload = payload_sum(frame, info);

    /* An IP header is a whole number of words. */
    *csum = csum_fold(csum_add(payload, frame + info->l3_off, info->l3_hlen));
    return l4_ok(frame, info, payload);
}

void mlx5_frame_set_l3_csum(uint8_t *frame, const Mlx5FrameInfo *info)
{
    uint8_t *ip = frame + info->l3_off;

    if (info->ip_version == 4) {
        mlx5_put_be16(ip + 10, 0);
        mlx5_put_be16(ip + 10, ~mlx5_csum(ip, info->l3_hlen));
    }
}

void mlx5_frame_set_l4_csum(uint8_t *frame, const Mlx5FrameInfo *info)
{
    uint16_t csum;

    if (!info->tcp && !info->udp) {
        return;
    }
    mlx5_put_be16(frame + l4_csum_off(info), 0);
    csum = ~l4_sum(frame, info);
    /* UDP: zero would mean "none" (RFC 768). */
    mlx5_put_be16(frame + l4_csum_off(info), csum || info->tcp ? csum : 0xffff);
}

void mlx5_frame_fcs(const uint8_t *frame, size_t len,
                    uint8_t fcs[MLX5_FCS_BYTES])
{
    mlx5_crc32_put(fcs, mlx5_crc32(MLX5_CRC32_INIT, frame, len));
}
