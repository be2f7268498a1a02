/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RoCE packets as on a wire; see roce.h. (IBA 9.2, table 38: opcodes; RoCE
 * annexes A16 and A17: Ethernet, GRH or IP and UDP in front.)
 */
#include "net/roce.h"

#include "eth/eth.h"
#include "eth/frame.h"
#include "obj/flow_table.h"

enum { GRH_BYTES = 40, IPV4_BYTES = 20, IPV6_BYTES = 40, BTH_BYTES = 12,
       ICRC_BYTES = 4, DETH_BYTES = 8, XRCETH_BYTES = 4, IMM_BYTES = 4 };
enum { ETHERTYPE_ROCE = 0x8915, UDP_PORT_ROCE = 4791, PKEY = 0xffff };

#define MAX_HEADERS (MLX5_ETH_HLEN + IPV6_BYTES + MLX5_UDP_HLEN + BTH_BYTES)

/* BTH opcode without the transport service (IBA table 38). */
typedef struct Opcodes {
    uint8_t first, middle, last, only;
    uint8_t last_imm, only_imm, last_inv, only_inv;
    uint8_t extended;        /* bytes of extended headers (IBA table 39) */
    bool each;               /* each packet has them, not only the first */
} Opcodes;

static const Opcodes opcodes[MLX5_PKT_OP_COUNT] = {
    [MLX5_PKT_SEND] = { 0x00, 0x01, 0x02, 0x04, 0x03, 0x05, 0x16, 0x17 },
    [MLX5_PKT_WRITE] = { 0x06, 0x07, 0x08, 0x0a, 0x09, 0x0b, .extended = 16 },
    [MLX5_PKT_READ] = { .only = 0x0c, .extended = 16 },
    [MLX5_PKT_READ_RESP] = { 0x0d, 0x0e, 0x0f, 0x10, .extended = 4 },
    [MLX5_PKT_ACK] = { .only = 0x11, .extended = 4, .each = true },
    [MLX5_PKT_ATOMIC_ACK] = { .only = 0x12, .extended = 12, .each = true },
    [MLX5_PKT_CMP_SWAP] = { .only = 0x13, .extended = 28 },
    [MLX5_PKT_FETCH_ADD] = { .only = 0x14, .extended = 28 },
};

/* Packets that follow each other and have one opcode. */
typedef struct Run {
    bool first, last;        /* they begin, they end the message */
    uint32_t packets;
    uint64_t len;            /* of their payload */
} Run;

/* A read request counts the numbers of its responses. */
static uint32_t packets(const Mlx5Pkt *pkt)
{
    return pkt->op == MLX5_PKT_READ ? 1 : pkt->npsn;
}

/* What every packet of @pkt has beside payload. */
static uint64_t header_bytes(const Mlx5Pkt *pkt)
{
    uint64_t n = MLX5_ETH_HLEN + BTH_BYTES + ICRC_BYTES;

    if (pkt->addr.roce_version) {
        n += (pkt->addr.ipv4 ? IPV4_BYTES : IPV6_BYTES) + MLX5_UDP_HLEN;
    } else {
        n += GRH_BYTES;
    }
    n += pkt->svc == MLX5_SVC_UD ? DETH_BYTES : 0;
    return n + (pkt->svc == MLX5_SVC_XRC ? XRCETH_BYTES : 0);
}

static Mlx5Traffic run_traffic(const Mlx5Pkt *pkt, const Run *r)
{
    Mlx5Traffic t = { .packets = r->packets };

    t.octets = t.packets * header_bytes(pkt) + r->len;
    t.octets += r->first || opcodes[pkt->op].each ? opcodes[pkt->op].extended
                                                  : 0;
    t.octets += r->last && (pkt->has_imm || pkt->has_inv) ? IMM_BYTES : 0;
    return t;
}

Mlx5Traffic mlx5_roce_traffic(const Mlx5Pkt *pkt)
{
    Run all = { pkt->first, pkt->last, packets(pkt), pkt->len };

    return run_traffic(pkt, &all);
}

/* Return: how many; the one that has the last packet may be the only one. */
static uint32_t split(const Mlx5Pkt *pkt, Run run[3])
{
    Run rest = { pkt->first, pkt->last, packets(pkt), pkt->len };
    uint32_t n = 0;

    if (rest.first && rest.packets > 1) {
        run[n++] = (Run){ true, false, 1, pkt->mtu_bytes };
        rest = (Run){ false, rest.last, rest.packets - 1,
                      rest.len - pkt->mtu_bytes };
    }
    if (rest.last && rest.packets > 1) {
        uint64_t len = (uint64_t)pkt->mtu_bytes * (rest.packets - 1);

        run[n++] = (Run){ false, false, rest.packets - 1, len };
        rest = (Run){ false, true, 1, rest.len - len };
    }
    run[n++] = rest;
    return n;
}

static uint8_t bth_opcode(const Mlx5Pkt *pkt, const Run *r)
{
    const Opcodes *o = &opcodes[pkt->op];
    uint8_t base = pkt->svc << 5;

    if (!o->middle) {
        return base | o->only;
    }
    if (!r->last) {
        return base | (r->first ? o->first : o->middle);
    }
    if (pkt->has_imm) {
        return base | (r->first ? o->only_imm : o->last_imm);
    }
    if (pkt->has_inv) {
        return base | (r->first ? o->only_inv : o->last_inv);
    }
    return base | (r->first ? o->only : o->last);
}

/* Lengths are those of the headers alone: what is made here has no payload. */
static uint8_t *put_ip(uint8_t *p, const Mlx5PktAddr *a)
{
    if (a->ipv4) {
        p[0] = 0x45;
        p[1] = a->tclass;
        mlx5_put_be16(p + 2, IPV4_BYTES + MLX5_UDP_HLEN + BTH_BYTES);
        mlx5_put_be16(p + 6, 0x4000); /* don't fragment */
        p[8] = a->hop_limit;
        p[9] = MLX5_IPPROTO_UDP;
        memcpy(p + 12, a->sgid + 12, 4);
        memcpy(p + 16, a->dgid + 12, 4);
        return p + IPV4_BYTES;
    }
    mlx5_put_be32(p, 6u << 28 | (uint32_t)a->tclass << 20 |
                     (a->flow_label & 0xfffff));
    mlx5_put_be16(p + 4, MLX5_UDP_HLEN + BTH_BYTES);
    p[6] = MLX5_IPPROTO_UDP;
    p[7] = a->hop_limit;
    memcpy(p + 8, a->sgid, 16);
    memcpy(p + 24, a->dgid, 16);
    return p + IPV6_BYTES;
}

static uint8_t *put_bth(uint8_t *p, const Mlx5Pkt *pkt, const Run *r)
{
    p[0] = bth_opcode(pkt, r);
    mlx5_put_be16(p + 2, PKEY);
    mlx5_put_be32(p + 4, pkt->dqpn);
    mlx5_put_be32(p + 8, pkt->psn | (uint32_t)pkt->ackreq << 31);
    return p + BTH_BYTES;
}

/*
 * Ethernet to BTH. Behind a GRH (RoCE v1) nothing more is looked at, as flow
 * entries find a BTH by its UDP port.
 */
static size_t put_headers(uint8_t b[MAX_HEADERS], const Mlx5Pkt *pkt,
                          const Run *r)
{
    const Mlx5PktAddr *a = &pkt->addr;
    uint8_t *p = b + MLX5_ETH_HLEN;

    memset(b, 0, MAX_HEADERS);
    memcpy(b, a->dmac, 6);
    memcpy(b + 6, a->smac, 6);
    if (!a->roce_version) {
        mlx5_put_be16(b + 12, ETHERTYPE_ROCE);
        return MAX_HEADERS;
    }
    mlx5_put_be16(b + 12, a->ipv4 ? MLX5_ETHERTYPE_IPV4
                                  : MLX5_ETHERTYPE_IPV6);
    p = put_ip(p, a);
    mlx5_put_be16(p, a->udp_sport);
    mlx5_put_be16(p + 2, UDP_PORT_ROCE);
    mlx5_put_be16(p + 4, MLX5_UDP_HLEN + BTH_BYTES);
    return put_bth(p + MLX5_UDP_HLEN, pkt, r) - b;
}

bool mlx5_roce_passes(Mlx5Func *func, uint32_t type, const Mlx5Pkt *pkt)
{
    uint8_t headers[MAX_HEADERS];
    Run run[3];
    uint32_t n = split(pkt, run);
    bool passes = true;

    for (uint32_t i = 0; i < n; i++) {
        size_t len = put_headers(headers, pkt, &run[i]);

        passes &= mlx5_eth_steer_roce(func, type, headers, len,
                                      run_traffic(pkt, &run[i]));
    }
    return passes;
}
