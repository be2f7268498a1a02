/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RoCE packets as they look on a wire; see roce.h.
 *
 *   v2   Ethernet [VLAN] IPv4 or IPv6, UDP to 4791, BTH ... ICRC   (annex A17)
 *   v1   Ethernet [VLAN] GRH, BTH ... ICRC                         (annex A16)
 *
 * BTH and what follows: IBA 9.2 to 9.3. The ICRC covers everything from the
 * network header on, with what routers may change as ones, behind eight bytes
 * of ones in the LRH's place (A17.3.3).
 */
#include "net/roce_internal.h"

#include "eth/crc32.h"

enum { ETHERTYPE_ROCE = 0x8915, UDP_PORT_ROCE = 4791, PKEY = 0xffff,
       NEXT_IBA = 0x1b };
/* RoCE annex A17.9.3: a CNP, and its bit of BTH byte 4. */
enum { OPCODE_CNP = 0x81, BTH_BECN = 0x40 };
/* BTH byte 1: solicited event, migrated, pad count, version of the headers. */
enum { BTH_SE = 0x80, BTH_MIGRATED = 0x40, BTH_PAD_SHIFT = 4, BTH_TVER = 0xf };
#define BTH_ACKREQ 0x80000000u
#define QPN_MASK 0xffffffu
#define LRH_BYTES 8

/* What follows the BTH, in this order; services add DETH or XRCETH before. */
enum { RETH = 1, ATOMIC = 2, AETH = 4, ATOMIC_ACK = 8, IMM = 16, INV = 32,
       FIRST = 64, LAST = 128, ZEROES = 256 };
#define ONLY (FIRST | LAST)

/* BTH opcodes without the transport service (IBA table 38). */
typedef struct Kind {
    bool known;
    Mlx5PktOp op;
    uint16_t flags;
    uint8_t bytes;           /* of the headers that the flags name */
} Kind;

#define KIND(op, flags)                                                      \
    { true, MLX5_PKT_##op, (flags),                                          \
      ((flags) & RETH ? MLX5_RETH_BYTES : 0) +                               \
      ((flags) & ATOMIC ? MLX5_ATOMIC_ETH_BYTES : 0) +                       \
      ((flags) & AETH ? MLX5_AETH_BYTES : 0) +                               \
      ((flags) & ATOMIC_ACK ? MLX5_ATOMIC_ACK_BYTES : 0) +                   \
      ((flags) & ZEROES ? MLX5_CNP_BYTES : 0) +                              \
      ((flags) & (IMM | INV) ? MLX5_IMM_BYTES : 0) }

static const Kind kinds[32] = {
    [0x00] = KIND(SEND, FIRST),
    [0x01] = KIND(SEND, 0),
    [0x02] = KIND(SEND, LAST),
    [0x03] = KIND(SEND, LAST | IMM),
    [0x04] = KIND(SEND, ONLY),
    [0x05] = KIND(SEND, ONLY | IMM),
    [0x06] = KIND(WRITE, FIRST | RETH),
    [0x07] = KIND(WRITE, 0),
    [0x08] = KIND(WRITE, LAST),
    [0x09] = KIND(WRITE, LAST | IMM),
    [0x0a] = KIND(WRITE, ONLY | RETH),
    [0x0b] = KIND(WRITE, ONLY | RETH | IMM),
    [0x0c] = KIND(READ, ONLY | RETH),
    [0x0d] = KIND(READ_RESP, FIRST | AETH),
    [0x0e] = KIND(READ_RESP, 0),
    [0x0f] = KIND(READ_RESP, LAST | AETH),
    [0x10] = KIND(READ_RESP, ONLY | AETH),
    [0x11] = KIND(ACK, ONLY | AETH),
    [0x12] = KIND(ATOMIC_ACK, ONLY | AETH | ATOMIC_ACK),
    [0x13] = KIND(CMP_SWAP, ONLY | ATOMIC),
    [0x14] = KIND(FETCH_ADD, ONLY | ATOMIC),
    [0x16] = KIND(SEND, LAST | INV),
    [0x17] = KIND(SEND, ONLY | INV),
};

/* In a service of its own. */
static const Kind cnp = KIND(CNP, ONLY | ZEROES);

static const Kind *any_kind(uint8_t opcode)
{
    return opcode == OPCODE_CNP ? &cnp : &kinds[opcode & 0x1f];
}

/* Which operations a service has (IBA table 38; XRC: annex A14). */
static bool service_has(Mlx5PktService svc, const Kind *k)
{
    switch (svc) {
    case MLX5_SVC_RC:
    case MLX5_SVC_XRC:
        return true;
    case MLX5_SVC_CNP:
        return k == &cnp;
    case MLX5_SVC_UC:
        return k->op <= MLX5_PKT_WRITE && !(k->flags & INV);
    case MLX5_SVC_UD:
        return k->op == MLX5_PKT_SEND && (k->flags & ONLY) == ONLY &&
               !(k->flags & INV);
    default:
        return false;
    }
}

static const Kind *kind_of(uint8_t opcode)
{
    const Kind *k = any_kind(opcode);

    return k->known && service_has(opcode >> 5, k) ? k : NULL;
}

/* Has it payload? Then it may take several packets, else it is always one. */
static bool has_payload(Mlx5PktOp op)
{
    return op == MLX5_PKT_SEND || op == MLX5_PKT_WRITE ||
           op == MLX5_PKT_READ_RESP;
}

/* What tells the opcodes of an operation apart. */
#define FORM (ONLY | IMM | INV)
#define FORM_SHIFT 4

/*
 * kinds[] the other way round, for each operation and form: opcodes are asked
 * for with every packet, also inside the card. An operation without payload has
 * its one opcode in every form.
 */
static uint8_t opcodes[MLX5_PKT_OP_COUNT][1 << (8 - FORM_SHIFT)];

static G_GNUC_NO_INLINE void fill_opcodes(void)
{
    for (uint8_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const Kind *k = &kinds[i];

        if (k->known && has_payload(k->op)) {
            opcodes[k->op][(k->flags & FORM) >> FORM_SHIFT] = i;
        } else if (k->known) {
            memset(opcodes[k->op], i, sizeof(opcodes[k->op]));
        }
    }
}

static inline const uint8_t *opcodes_of(Mlx5PktOp op)
{
    static gsize filled;

    if (g_once_init_enter(&filled)) {
        fill_opcodes();
        g_once_init_leave(&filled, 1);
    }
    return opcodes[op];
}

static inline uint8_t opcode_of(const Mlx5Pkt *pkt, bool first, bool last)
{
    uint8_t form = (first ? FIRST : 0) | (last ? LAST : 0);

    if (G_UNLIKELY(pkt->op == MLX5_PKT_CNP)) {
        return OPCODE_CNP;
    }
    if (last && (pkt->has_imm || pkt->has_inv)) {
        form |= pkt->has_imm ? IMM : INV;
    }
    return pkt->svc << 5 | opcodes_of(pkt->op)[form >> FORM_SHIFT];
}

uint8_t mlx5_roce_opcode(const Mlx5Pkt *pkt, const Mlx5RoceRun *r)
{
    return opcode_of(pkt, r->first, r->last);
}

static uint32_t service_bytes(uint8_t opcode, const Kind *k)
{
    switch (opcode >> 5) {
    case MLX5_SVC_UD:
        return MLX5_DETH_BYTES;
    case MLX5_SVC_XRC:
        return k->op < MLX5_PKT_READ_RESP ? MLX5_XRCETH_BYTES : 0;
    default:
        return 0;
    }
}

static inline uint32_t ext_bytes(uint8_t opcode)
{
    const Kind *k = any_kind(opcode);

    return k->bytes + service_bytes(opcode, k);
}

uint32_t mlx5_roce_ext_bytes(const Mlx5Pkt *pkt, bool first, bool last)
{
    return ext_bytes(opcode_of(pkt, first, last));
}

/* Writing */

static uint8_t *put_ether(uint8_t *b, const Mlx5PktAddr *a)
{
    uint16_t type = !a->roce_version ? ETHERTYPE_ROCE
                    : a->ipv4        ? MLX5_ETHERTYPE_IPV4
                                     : MLX5_ETHERTYPE_IPV6;
    uint8_t *p = b + 12;

    memcpy(b, a->dmac, 6);
    memcpy(b + 6, a->smac, 6);
    if (a->vlan) {
        mlx5_put_be16(p, MLX5_ETHERTYPE_CVLAN);
        mlx5_put_be16(p + 2, a->tci);
        p += MLX5_VLAN_HLEN;
    }
    mlx5_put_be16(p, type);
    return p + 2;
}

static uint8_t *put_ipv4(uint8_t *p, const Mlx5PktAddr *a, uint32_t behind)
{
    p[0] = 0x45;
    p[1] = a->tclass;
    mlx5_put_be16(p + 2, MLX5_IPV4_BYTES + behind);
    mlx5_put_be16(p + 6, 0x4000); /* don't fragment */
    p[8] = a->hop_limit;
    p[9] = MLX5_IPPROTO_UDP;
    memcpy(p + 12, a->sgid + 12, 4);
    memcpy(p + 16, a->dgid + 12, 4);
    mlx5_put_be16(p + 10, ~mlx5_csum(p, MLX5_IPV4_BYTES));
    return p + MLX5_IPV4_BYTES;
}

/* IPv6, or a GRH: they are alike but for what follows. */
static uint8_t *put_ipv6(uint8_t *p, const Mlx5PktAddr *a, uint32_t behind)
{
    mlx5_put_be32(p, 6u << 28 | (uint32_t)a->tclass << 20 |
                     (a->flow_label & 0xfffff));
    mlx5_put_be16(p + 4, behind);
    p[6] = a->roce_version ? MLX5_IPPROTO_UDP : NEXT_IBA;
    p[7] = a->hop_limit;
    memcpy(p + 8, a->sgid, 16);
    memcpy(p + 24, a->dgid, 16);
    return p + MLX5_IPV6_BYTES;
}

static uint8_t *put_bth(uint8_t *p, const Mlx5Pkt *pkt, const Mlx5RoceRun *r)
{
    bool ackreq = pkt->ackreq && r->packets == 1;
    bool is_cnp = pkt->op == MLX5_PKT_CNP;

    p[0] = mlx5_roce_opcode(pkt, r);
    p[1] = (is_cnp ? 0 : BTH_MIGRATED) | (pkt->se && r->last ? BTH_SE : 0) |
           (-r->len & 3) << BTH_PAD_SHIFT;
    mlx5_put_be16(p + 2, PKEY);
    mlx5_put_be32(p + 4, pkt->dqpn);
    p[4] = is_cnp ? BTH_BECN : 0;
    mlx5_put_be32(p + 8, pkt->psn | (ackreq ? BTH_ACKREQ : 0));
    return p + MLX5_BTH_BYTES;
}

size_t mlx5_roce_put_headers(uint8_t b[MLX5_ROCE_MAX_HEADERS],
                             const Mlx5Pkt *pkt, const Mlx5RoceRun *r,
                             uint32_t behind)
{
    const Mlx5PktAddr *a = &pkt->addr;
    uint8_t *p;

    memset(b, 0, MLX5_ROCE_MAX_HEADERS);
    p = put_ether(b, a);
    behind += MLX5_BTH_BYTES;
    if (!a->roce_version) {
        p = put_ipv6(p, a, behind);
        return put_bth(p, pkt, r) - b;
    }
    behind += MLX5_UDP_HLEN;
    p = a->ipv4 ? put_ipv4(p, a, behind) : put_ipv6(p, a, behind);
    mlx5_put_be16(p, a->udp_sport);
    mlx5_put_be16(p + 2, UDP_PORT_ROCE);
    mlx5_put_be16(p + 4, behind);
    return put_bth(p + MLX5_UDP_HLEN, pkt, r) - b;
}

static uint8_t *put_be64(uint8_t *p, uint64_t v)
{
    mlx5_put_be32(p, v >> 32);
    mlx5_put_be32(p + 4, v);
    return p + 8;
}

static uint8_t *put_be32(uint8_t *p, uint32_t v)
{
    mlx5_put_be32(p, v);
    return p + 4;
}

static uint8_t *put_service(uint8_t *p, const Mlx5Pkt *pkt, const Kind *k)
{
    if (pkt->svc == MLX5_SVC_UD) {
        p = put_be32(p, pkt->qkey);
        return put_be32(p, pkt->src_qpn & QPN_MASK);
    }
    if (pkt->svc == MLX5_SVC_XRC && k->op < MLX5_PKT_READ_RESP) {
        return put_be32(p, pkt->srqn & QPN_MASK);
    }
    return p;
}

static uint8_t *put_extended(uint8_t *p, const Mlx5Pkt *pkt, const Kind *k)
{
    p = put_service(p, pkt, k);
    if (k->flags & RETH) {
        p = put_be64(p, pkt->va);
        p = put_be32(p, pkt->rkey);
        p = put_be32(p, pkt->dma_len);
    }
    if (k->flags & ATOMIC) {
        p = put_be64(p, pkt->va);
        p = put_be32(p, pkt->rkey);
        p = put_be64(p, pkt->swap_add);
        p = put_be64(p, pkt->compare);
    }
    if (k->flags & AETH) {
        p = put_be32(p, (uint32_t)pkt->syndrome << 24 |
                        (pkt->msn & QPN_MASK));
    }
    if (k->flags & ATOMIC_ACK) {
        p = put_be64(p, pkt->swap_add);
    }
    if (k->flags & ZEROES) {
        memset(p, 0, MLX5_CNP_BYTES);
        p += MLX5_CNP_BYTES;
    }
    return k->flags & (IMM | INV) ? put_be32(p, pkt->imm) : p;
}

/* Ones over what may change on the way, in a copy of network header to BTH. */
static void mask(uint8_t *ip, size_t ip_bytes, bool v2)
{
    uint8_t *bth = ip + ip_bytes + (v2 ? MLX5_UDP_HLEN : 0);

    if (ip_bytes == MLX5_IPV4_BYTES) {
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
    } else {
        ip[0] |= 0x0f;
        ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
    }
    if (v2) {
        ip[ip_bytes + 6] = ip[ip_bytes + 7] = 0xff;
    }
    bth[4] = 0xff;
}

/* @ip: the packet from its network header on, @len bytes before the ICRC. */
static uint32_t icrc(const uint8_t *ip, size_t len, size_t ip_bytes, bool v2)
{
    size_t masked = ip_bytes + (v2 ? MLX5_UDP_HLEN : 0) + MLX5_BTH_BYTES;
    uint8_t head[LRH_BYTES + MLX5_ROCE_MAX_HEADERS];
    uint32_t crc;

    memset(head, 0xff, LRH_BYTES);
    memcpy(head + LRH_BYTES, ip, masked);
    mask(head + LRH_BYTES, ip_bytes, v2);
    crc = mlx5_crc32(MLX5_CRC32_INIT, head, LRH_BYTES + masked);
    return mlx5_crc32(crc, ip + masked, len - masked);
}

static size_t ip_bytes(const Mlx5PktAddr *a)
{
    return a->roce_version && a->ipv4 ? MLX5_IPV4_BYTES : MLX5_IPV6_BYTES;
}

bool mlx5_roce_on_wire(const Mlx5Pkt *pkt)
{
    if (pkt->svc == MLX5_SVC_DC) {
        return false;
    }
    if (pkt->op == MLX5_PKT_CMP_SWAP || pkt->op == MLX5_PKT_FETCH_ADD) {
        uint64_t plain = pkt->op == MLX5_PKT_CMP_SWAP ? UINT64_MAX : 0;

        return pkt->atomic_bytes == 8 && pkt->swap_mask == plain &&
               pkt->compare_mask == plain;
    }
    return true;
}

/*
 * Over IPv4 none is allowed and none is needed, for the ICRC is better; IPv6
 * wants one (RFC 8200 8.1). The ICRC leaves it out.
 */
static void set_udp_checksum(uint8_t *frame, size_t len, const Mlx5PktAddr *a)
{
    Mlx5FrameInfo info;

    if (a->roce_version && !a->ipv4) {
        mlx5_frame_parse(frame, len, &info);
        mlx5_frame_set_l4_csum(frame, &info);
    }
}

/* The packet that frame @i is: one of those that @pkt stands for. */
static Mlx5Pkt nth(const Mlx5Pkt *pkt, uint32_t i)
{
    uint64_t off = (uint64_t)i * pkt->mtu_bytes;
    Mlx5Pkt one = *pkt;

    one.first = pkt->first && i == 0;
    one.last = pkt->last && i == mlx5_roce_frames(pkt) - 1;
    one.psn = mlx5_psn_add(pkt->psn, i);
    one.ackreq = pkt->ackreq && i == mlx5_roce_frames(pkt) - 1;
    if (pkt->len > off) {
        one.skip += off;
        one.len = MIN(pkt->len - off, pkt->mtu_bytes);
    }
    return one;
}

size_t mlx5_roce_encode(const Mlx5Pkt *pkt, uint32_t i,
                        uint8_t frame[MLX5_ROCE_MAX_FRAME])
{
    Mlx5Pkt one = nth(pkt, i);
    Mlx5RoceRun r = { one.first, one.last, 1, one.len };
    uint8_t opcode = mlx5_roce_opcode(&one, &r);
    uint32_t pad = -one.len & 3;
    uint32_t behind = ext_bytes(opcode) + one.len + pad +
                      MLX5_ICRC_BYTES;
    size_t bth_end = mlx5_roce_put_headers(frame, &one, &r, behind);
    const Mlx5PktAddr *a = &one.addr;
    uint8_t *ip = frame + MLX5_ETH_HLEN + (a->vlan ? MLX5_VLAN_HLEN : 0);
    uint8_t *p = put_extended(frame + bth_end, &one, any_kind(opcode));

    if (one.len && !mlx5_pkt_peek(&one, 0, p, one.len)) {
        return 0;
    }
    p += one.len;
    memset(p, 0, pad);
    p += pad;
    mlx5_crc32_put(p, icrc(ip, p - ip, ip_bytes(a), a->roce_version));
    p += MLX5_ICRC_BYTES;
    set_udp_checksum(frame, p - frame, a);
    return p - frame;
}

/* Reading */

/* Where things are in a frame that was found to be RoCE. */
typedef struct Layout {
    uint32_t ip, bth, end;   /* end: behind the ICRC */
} Layout;

static void from_ipv4(const uint8_t *ip, Mlx5PktAddr *a)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

    a->roce_version = 2;
    a->ipv4 = true;
    a->tclass = ip[1];
    a->hop_limit = ip[8];
    memcpy(a->sgid, prefix, 12);
    memcpy(a->sgid + 12, ip + 12, 4);
    memcpy(a->dgid, prefix, 12);
    memcpy(a->dgid + 12, ip + 16, 4);
}

static void from_ipv6(const uint8_t *ip, Mlx5PktAddr *a)
{
    uint32_t word = mlx5_get_be32(ip);

    a->tclass = word >> 20;
    a->flow_label = word & 0xfffff;
    a->hop_limit = ip[7];
    memcpy(a->sgid, ip + 8, 16);
    memcpy(a->dgid, ip + 24, 16);
}

/* RoCE v2: a whole, plain UDP datagram to its port. */
static bool layout_v2(const uint8_t *f, const Mlx5FrameInfo *info,
                      Mlx5PktAddr *a, Layout *l)
{
    uint32_t len;

    if (!info->udp || info->dport != UDP_PORT_ROCE) {
        return false;
    }
    if (info->ip_version == 4) {
        from_ipv4(f + info->l3_off, a);
    } else {
        a->roce_version = 2;
        from_ipv6(f + info->l3_off, a);
    }
    a->udp_sport = info->sport;
    len = mlx5_get_be16(f + info->l4_off + 4);
    l->ip = info->l3_off;
    l->bth = info->l4_off + MLX5_UDP_HLEN;
    l->end = info->l3_off + info->l3_len;
    /* Options and extension headers have no place in the ICRC's rule. */
    if (!info->l3_ok || l->end != info->l4_off + len ||
        info->l4_off - info->l3_off != ip_bytes(a)) {
        l->end = 0;
    }
    return true;
}

static bool layout_v1(const uint8_t *f, size_t len, const Mlx5FrameInfo *info,
                      Mlx5PktAddr *a, Layout *l)
{
    const uint8_t *grh = f + info->l3_off;

    if (info->ethertype != ETHERTYPE_ROCE ||
        len < info->l3_off + MLX5_GRH_BYTES || grh[0] >> 4 != 6 ||
        grh[6] != NEXT_IBA) {
        return false;
    }
    from_ipv6(grh, a);
    l->ip = info->l3_off;
    l->bth = info->l3_off + MLX5_GRH_BYTES;
    l->end = l->bth + mlx5_get_be16(grh + 4);
    if (l->end > len) {
        l->end = 0;
    }
    return true;
}

static bool lay_out(const uint8_t *f, size_t len, Mlx5PktAddr *a, Layout *l)
{
    Mlx5FrameInfo info;

    mlx5_frame_parse(f, len, &info);
    if (info.svlan || info.cvlan2 || info.svlan2) {
        return false;
    }
    memset(a, 0, sizeof(*a));
    memset(l, 0, sizeof(*l));
    if (!layout_v2(f, &info, a, l) && !layout_v1(f, len, &info, a, l)) {
        return false;
    }
    memcpy(a->dmac, f, 6);
    memcpy(a->smac, f + 6, 6);
    a->vlan = info.cvlan;
    a->tci = info.tci;
    return true;
}

static uint64_t take_be64(const uint8_t **p)
{
    uint64_t v = (uint64_t)mlx5_get_be32(*p) << 32 | mlx5_get_be32(*p + 4);

    *p += 8;
    return v;
}

static uint32_t take_be32(const uint8_t **p)
{
    uint32_t v = mlx5_get_be32(*p);

    *p += 4;
    return v;
}

static void take_service(const uint8_t **p, const Kind *k, Mlx5Pkt *pkt)
{
    if (pkt->svc == MLX5_SVC_UD) {
        pkt->qkey = take_be32(p);
        pkt->src_qpn = take_be32(p) & QPN_MASK;
    } else if (pkt->svc == MLX5_SVC_XRC && k->op < MLX5_PKT_READ_RESP) {
        pkt->srqn = take_be32(p) & QPN_MASK;
    }
}

static void take_atomic(const uint8_t **p, Mlx5Pkt *pkt)
{
    uint64_t all = pkt->op == MLX5_PKT_CMP_SWAP ? UINT64_MAX : 0;

    pkt->va = take_be64(p);
    pkt->rkey = take_be32(p);
    pkt->swap_add = take_be64(p);
    pkt->compare = take_be64(p);
    pkt->atomic_bytes = 8;
    pkt->swap_mask = pkt->compare_mask = all;
}

static void take_extended(const uint8_t *p, const Kind *k, Mlx5Pkt *pkt)
{
    take_service(&p, k, pkt);
    if (k->flags & RETH) {
        pkt->va = take_be64(&p);
        pkt->rkey = take_be32(&p);
        pkt->dma_len = take_be32(&p);
    }
    if (k->flags & ATOMIC) {
        take_atomic(&p, pkt);
    }
    if (k->flags & AETH) {
        uint32_t aeth = take_be32(&p);

        pkt->syndrome = aeth >> 24;
        pkt->msn = aeth & QPN_MASK;
    }
    if (k->flags & ATOMIC_ACK) {
        pkt->swap_add = take_be64(&p);
    }
    if (k->flags & (IMM | INV)) {
        pkt->imm = take_be32(&p);
    }
}

static void take_bth(const uint8_t *bth, const Kind *k, Mlx5Pkt *pkt)
{
    pkt->svc = bth[0] >> 5;
    pkt->op = k->op;
    pkt->first = k->flags & FIRST;
    pkt->last = k->flags & LAST;
    pkt->has_imm = k->flags & IMM;
    pkt->has_inv = k->flags & INV;
    pkt->se = bth[1] & BTH_SE;
    pkt->dqpn = mlx5_get_be32(bth + 4) & QPN_MASK;
    pkt->psn = mlx5_get_be32(bth + 8) & MLX5_PSN_MASK;
    pkt->ackreq = mlx5_get_be32(bth + 8) & BTH_ACKREQ;
    pkt->npsn = k->op == MLX5_PKT_READ ? 0 : 1;
}

/* Payload, which only some operations may have. */
static bool take_payload(const uint8_t *p, uint32_t len, uint32_t pad,
                         Mlx5Pkt *pkt)
{
    if (pad > len || (!has_payload(pkt->op) && len)) {
        return false;
    }
    pkt->bytes = p;
    pkt->len = len - pad;
    return true;
}

static bool icrc_ok(const uint8_t *frame, const Layout *l,
                    const Mlx5PktAddr *a)
{
    const uint8_t *ip = frame + l->ip;
    size_t covered = l->end - MLX5_ICRC_BYTES - l->ip;
    uint8_t crc[MLX5_ICRC_BYTES];

    mlx5_crc32_put(crc, icrc(ip, covered, ip_bytes(a), a->roce_version));
    return !memcmp(crc, ip + covered, MLX5_ICRC_BYTES);
}

/* @behind: bytes between BTH and ICRC. Return: whether they make sense. */
static bool take_transport(const uint8_t *bth, uint32_t behind, Mlx5Pkt *pkt)
{
    const Kind *k = kind_of(bth[0]);
    const uint8_t *p = bth + MLX5_BTH_BYTES;
    uint32_t extended;

    if (!k || bth[1] & BTH_TVER || mlx5_get_be16(bth + 2) != PKEY) {
        return false;
    }
    extended = ext_bytes(bth[0]);
    if (behind < extended) {
        return false;
    }
    take_bth(bth, k, pkt);
    take_extended(p, k, pkt);
    return take_payload(p + extended, behind - extended,
                        bth[1] >> BTH_PAD_SHIFT & 3, pkt);
}

Mlx5RoceFrame mlx5_roce_decode(const uint8_t *frame, size_t len, Mlx5Pkt *pkt)
{
    uint32_t behind_bth;
    Layout l;

    memset(pkt, 0, sizeof(*pkt));
    if (!lay_out(frame, len, &pkt->addr, &l)) {
        return MLX5_ROCE_NONE;
    }
    behind_bth = l.bth + MLX5_BTH_BYTES;
    if (l.end < behind_bth + MLX5_ICRC_BYTES) {
        return MLX5_ROCE_MALFORMED;
    }
    if (!icrc_ok(frame, &l, &pkt->addr)) {
        return MLX5_ROCE_BAD_ICRC;
    }
    return take_transport(frame + l.bth,
                          l.end - MLX5_ICRC_BYTES - behind_bth, pkt)
               ? MLX5_ROCE_GOOD : MLX5_ROCE_MALFORMED;
}
