/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile peer on the wire, driven by bytes: packets of each operation and
 * service to queue pairs that live, with a right ICRC or a wrong one, headers
 * that end early, lengths that lie, tags, options and extension headers, keys
 * and ranges that are not allowed, answers to what was asked and what was not.
 *
 * Each frame counts once, and where it is known what is wrong with it in the
 * counter of that; nothing is written but where a key allows; what the card
 * sends is well-formed and goes to peers; afterwards it works.
 *
 * fuzz.h tells how to run it; left alone it does the same every time.
 */
#include <check.h>
#include <stdio.h>

#include "eth/crc32.h"
#include "eth/frame.h"
#include "net/roce.h"
#include "tests/fuzz/fuzz.h"
#include "tests/rdma/rdma_helper.h"

#define ACTIONS 200          /* in a round, at most */
#define PSN 0x100u
#define PEER_QPN 0x4321u
#define VLAN 77
#define MAX_ANSWERS 4096     /* frames that one frame may cause */

/* Memory behind keys, with more before, between and behind that no key of
 * peers covers. */
#define GUARDED R_DATA
#define RW_VA (GUARDED + 0x1000 + 123)
#define RW_BYTES 60000u
#define RO_VA (GUARDED + 0x12000)
#define RO_BYTES 0x4000u
#define FOREIGN_VA (GUARDED + 0x17000)
#define FOREIGN_BYTES 0x4000u
#define GUARDED_BYTES 0x1c000u
/* What local keys are used for: far from there. */
#define RECV (R_DATA + 0x1000000)
#define RECV_BYTES 2048u
#define LOCAL (R_DATA + 0x2000000)
#define SOURCE (R_DATA + 0x3000000)

const gint64 fuzz_default_ms = 0;
const uint64_t fuzz_default_seed = 1;
const unsigned fuzz_default_rounds = 60;

/* An address of the card, and the one that speaks to it. */
typedef struct Entry {
    uint8_t own[16], peer[16];
    uint8_t version, l3_type;
    uint16_t vlan;
} Entry;

static const Entry entries[] = {
    { { 0xfd, [15] = 1 }, { 0xfd, [15] = 2 }, MLX5_ROCE_VERSION_2,
      MLX5_ROCE_L3_TYPE_IPV6, 0 },
    { { [10] = 0xff, 0xff, 10, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 0, 0, 2 },
      MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV4, 0 },
    { { 0xfd, [14] = 1, 1 }, { 0xfd, [14] = 1, 2 }, MLX5_ROCE_VERSION_1,
      MLX5_ROCE_L3_TYPE_IPV6, 0 },
    { { [10] = 0xff, 0xff, 10, 0, 7, 1 }, { [10] = 0xff, 0xff, 10, 0, 7, 2 },
      MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV4, VLAN },
};

static const struct {
    Mlx5QpSt st;
    Mlx5PktService svc;
    uint8_t entry;
} qps[] = {
    { MLX5_QP_ST_RC, MLX5_SVC_RC, 1 }, { MLX5_QP_ST_RC, MLX5_SVC_RC, 0 },
    { MLX5_QP_ST_RC, MLX5_SVC_RC, 2 }, { MLX5_QP_ST_RC, MLX5_SVC_RC, 3 },
    { MLX5_QP_ST_UC, MLX5_SVC_UC, 1 }, { MLX5_QP_ST_UD, MLX5_SVC_UD, 1 },
};
#define NUM_QPS G_N_ELEMENTS(qps)

static const uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 1, 1 };
static const uint8_t group_mac[6] = { 1, 0, 0x5e, 1, 1, 1 };
static const uint8_t peer_mac[6] = { 0x52, 0x54, 0, 0, 0, 2 };

typedef struct Wire {
    FuzzBytes bytes;
    FakeHost *h;
    RTest *t;                /* its own two queue pairs stay in RST */
    RQp qp[NUM_QPS];
    unsigned posted[NUM_QPS];
    uint32_t rw, ro, foreign;
    GBytes *guards;
} Wire;

/* What has to become of a frame. */
typedef enum Verdict {
    ANY, GOOD, MALFORMED, BAD_ICRC, ETHERNET, NUM_VERDICTS
} Verdict;

typedef struct Frame {
    uint8_t b[MLX5_ROCE_MAX_FRAME + 256];
    size_t len;
    const Entry *e;
    Mlx5Pkt pkt;
    Verdict verdict;
    bool refused;            /* ... by who it is for, if GOOD */
} Frame;

static struct {
    uint64_t frames, verdict[NUM_VERDICTS], refused, answers, completions;
} seen;

static uint64_t take(Wire *w, unsigned bytes)
{
    return fuzz_take(&w->bytes, bytes);
}

static uint32_t below(Wire *w, uint32_t n)
{
    return fuzz_below(&w->bytes, n);
}

/* --- the layout of a frame that is whole --- */

static bool is_v2(const Entry *e)
{
    return e->version == MLX5_ROCE_VERSION_2;
}

static bool is_ipv4(const Entry *e)
{
    return e->l3_type == MLX5_ROCE_L3_TYPE_IPV4;
}

static size_t ip_off(const Entry *e)
{
    return MLX5_ETH_HLEN + (e->vlan ? MLX5_VLAN_HLEN : 0);
}

static size_t ip_bytes(const Entry *e)
{
    return is_ipv4(e) ? 20 : 40;
}

static size_t bth_off(const Entry *e)
{
    return ip_off(e) + ip_bytes(e) + (is_v2(e) ? MLX5_UDP_HLEN : 0);
}

static void fix_ipv4(Frame *f, size_t hlen)
{
    uint8_t *ip = f->b + ip_off(f->e);

    mlx5_put_be16(ip + 10, 0);
    mlx5_put_be16(ip + 10, ~mlx5_csum(ip, hlen));
}

/* Every length says what there is. */
static void fix_lengths(Frame *f)
{
    uint8_t *ip = f->b + ip_off(f->e);
    size_t len = f->len - ip_off(f->e);

    if (is_ipv4(f->e)) {
        mlx5_put_be16(ip + 2, len);
        fix_ipv4(f, 20);
    } else {
        mlx5_put_be16(ip + 4, len - 40);
    }
    if (is_v2(f->e)) {
        mlx5_put_be16(ip + ip_bytes(f->e) + 4, len - ip_bytes(f->e));
    }
}

/* By the words of annex A17.3.3; A16 for v1. */
static void fix_icrc(Frame *f)
{
    const Entry *e = f->e;
    size_t len = f->len - ip_off(e) - 4;
    g_autofree uint8_t *b = g_malloc(8 + len);
    uint8_t *ip = b + 8;

    memset(b, 0xff, 8);
    memcpy(ip, f->b + ip_off(e), len);
    if (is_ipv4(e)) {
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
    } else {
        ip[0] |= 0x0f;
        ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
    }
    if (is_v2(e)) {
        ip[ip_bytes(e) + 6] = ip[ip_bytes(e) + 7] = 0xff;
    }
    ip[bth_off(e) - ip_off(e) + 4] = 0xff;
    mlx5_crc32_put(f->b + f->len - 4, mlx5_crc32(MLX5_CRC32_INIT, b, 8 + len));
}

static void insert(Frame *f, size_t at, const void *bytes, size_t n)
{
    memmove(f->b + at + n, f->b + at, f->len - at);
    memcpy(f->b + at, bytes, n);
    f->len += n;
}

/* --- packets --- */

static void address(Frame *f)
{
    const Entry *e = f->e;
    Mlx5PktAddr *a = &f->pkt.addr;

    memcpy(a->sgid, e->peer, 16);
    memcpy(a->dgid, e->own, 16);
    memcpy(a->smac, peer_mac, 6);
    memcpy(a->dmac, r_mac, 6);
    a->roce_version = e->version;
    a->ipv4 = is_ipv4(e);
    a->hop_limit = 64;
    a->udp_sport = 0xc123;
    a->vlan = e->vlan != 0;
    a->tci = e->vlan;
}

static uint32_t psn(Wire *w, const Mlx5QpEngine *e, bool response)
{
    uint32_t expected = response ? e->req.una : e->resp.epsn;

    switch (below(w, 8)) {
    case 0:
        return take(w, 3);
    case 1:
        return mlx5_psn_add(expected, MLX5_PSN_MASK - below(w, 4));
    case 2:
        return mlx5_psn_add(expected, below(w, 4));
    default:
        return expected;
    }
}

static uint64_t va(Wire *w)
{
    static const uint64_t edges[] = {
        0, UINT64_MAX, UINT64_MAX - 7, RW_VA - 1, RW_VA, RW_VA + RW_BYTES - 8,
        RW_VA + RW_BYTES, RO_VA, FOREIGN_VA, RECV, RW_VA + 5, 0x1000000,
    };

    return below(w, 2) ? edges[below(w, G_N_ELEMENTS(edges))]
                       : (RW_VA + take(w, 2)) & ~(uint64_t)(below(w, 2) * 7);
}

static uint32_t key(Wire *w)
{
    const uint32_t keys[] = { w->rw, w->rw, w->rw, w->rw, w->ro, w->foreign,
                              w->t->key, w->rw ^ 1, 0, take(w, 4) };

    return keys[below(w, G_N_ELEMENTS(keys))];
}

static uint32_t dma_len(Wire *w, uint32_t len)
{
    static const uint32_t edges[] = { 0, 1, 4096, 60000, 0x7fffffff, 0x80000000,
                                      0x80000001, 0xffffffff };

    return below(w, 3) ? len + below(w, 2) * 1024 * below(w, 8)
                       : edges[below(w, G_N_ELEMENTS(edges))];
}

static uint32_t payload(Wire *w)
{
    static const uint32_t edges[] = { 0, 1, 2, 3, 4, 1023, 1024, 1024, 1024,
                                      1025, 2048, 4096 };

    return below(w, 2) ? edges[below(w, G_N_ELEMENTS(edges))] : below(w, 200);
}

static void transport(Wire *w, Frame *f, const Mlx5QpEngine *e)
{
    static uint8_t data[4096] = { 0xa5 };
    Mlx5Pkt *p = &f->pkt;
    bool many;

    p->op = below(w, MLX5_PKT_CNP);
    many = p->op == MLX5_PKT_SEND || p->op == MLX5_PKT_WRITE ||
           p->op == MLX5_PKT_READ_RESP;
    p->first = !many || below(w, 3);
    p->last = !many || below(w, 3);
    p->psn = psn(w, e, p->op >= MLX5_PKT_READ_RESP);
    p->npsn = 1;
    p->mtu_bytes = 4096;
    p->ackreq = below(w, 2);
    p->se = below(w, 2);
    p->len = many ? payload(w) : 0;
    p->bytes = data;
    p->va = va(w);
    p->rkey = key(w);
    p->dma_len = dma_len(w, p->len);
    p->swap_add = take(w, 8);
    p->compare = take(w, 1);
    p->syndrome = below(w, 3) ? 0x1f : take(w, 1);
    p->msn = take(w, 1);
    p->qkey = below(w, 4) ? R_QKEY : take(w, 4);
    p->src_qpn = PEER_QPN;
    if (p->last && p->op <= MLX5_PKT_WRITE) {
        p->has_imm = below(w, 3) == 0;
        p->has_inv = p->op == MLX5_PKT_SEND && !p->has_imm && !below(w, 3);
        p->imm = below(w, 2) ? w->rw : take(w, 4);
    }
}

/* One that slows its queue pair down, if the peer is the right one. */
static void notice(Frame *f)
{
    static const uint8_t none;
    Mlx5Pkt *p = &f->pkt;

    f->refused = p->svc == MLX5_SVC_UD || !is_v2(f->e);
    p->svc = MLX5_SVC_CNP;
    p->op = MLX5_PKT_CNP;
    p->first = p->last = true;
    p->has_imm = p->has_inv = p->se = p->ackreq = false;
    p->psn = p->len = 0;
    p->bytes = &none;
}

/* Has the service such a packet (IBA table 38)? */
static bool allowed(const Mlx5Pkt *p)
{
    switch (p->svc) {
    case MLX5_SVC_UC:
        return p->op <= MLX5_PKT_WRITE && !p->has_inv;
    case MLX5_SVC_UD:
        return p->op == MLX5_PKT_SEND && p->first && p->last && !p->has_inv;
    default:
        return true;
    }
}

/* For somebody who can't take it. */
static void misdirect(Wire *w, Frame *f)
{
    static const uint32_t nobody[] = { 0, 1, 2, 0x7fff00, 0xfffffe };
    Mlx5Pkt *p = &f->pkt;
    bool connected = p->svc != MLX5_SVC_UD;

    f->refused = true;
    switch (below(w, 4)) {
    case 0:
        p->dqpn = nobody[below(w, G_N_ELEMENTS(nobody))];
        break;
    case 1:
        p->svc = p->svc == MLX5_SVC_RC ? MLX5_SVC_UC : MLX5_SVC_RC;
        break;
    case 2:
        p->dqpn = w->t->a.qpn;
        p->svc = MLX5_SVC_RC;
        f->refused = p->op < MLX5_PKT_READ_RESP;
        break;
    default:
        p->addr.sgid[15] ^= 0x40;
        f->refused = connected;
        break;
    }
}

/* To a group, as it should be or not. */
static void to_group(Wire *w, Frame *f)
{
    Mlx5Pkt *p = &f->pkt;

    f->e = &entries[1];
    address(f);
    memcpy(p->addr.dgid, group, 16);
    memcpy(p->addr.dmac, group_mac, 6);
    p->dqpn = below(w, 3) ? MLX5_QPN_MULTICAST : p->dqpn;
    if (below(w, 3)) {
        p->svc = MLX5_SVC_UD;
        p->op = MLX5_PKT_SEND;
        p->first = p->last = true;
        p->has_inv = false;
    }
    if (p->dqpn != MLX5_QPN_MULTICAST || p->svc != MLX5_SVC_UD) {
        f->verdict = MALFORMED;
    }
    if (below(w, 4) == 0) {
        p->addr.dgid[15]++;
        f->verdict = ETHERNET;
    }
}

/* A frame that nothing is wrong with but what it asks for. */
static void make(Wire *w, Frame *f)
{
    unsigned i = below(w, NUM_QPS);

    memset(f, 0, sizeof(*f));
    f->e = &entries[qps[i].entry];
    f->verdict = GOOD;
    f->pkt.svc = qps[i].svc;
    f->pkt.dqpn = w->qp[i].qpn;
    address(f);
    transport(w, f, w->qp[i].qp->engine);
    if (f->pkt.svc == MLX5_SVC_UD && below(w, 2)) {
        f->pkt.op = MLX5_PKT_SEND;
        f->pkt.first = f->pkt.last = true;
        f->pkt.has_inv = false;
    }
    f->pkt.addr.tclass |= below(w, 4) ? 0 : MLX5_ECN_CE;
    if (below(w, 16) == 0) {
        notice(f);
    } else if (below(w, 8) == 0) {
        misdirect(w, f);
    } else if (below(w, 12) == 0) {
        to_group(w, f);
    } else if (below(w, 40) == 0) {
        f->pkt.dqpn = MLX5_QPN_MULTICAST;
        f->verdict = MALFORMED;
    }
    if (f->verdict == GOOD && !allowed(&f->pkt)) {
        f->verdict = MALFORMED;
    }
    f->len = mlx5_roce_encode(&f->pkt, 0, f->b);
}

/* --- what is wrong with a frame: each says what has to become of it --- */

static void nothing(Wire *w, Frame *f)
{
    (void)w;
    (void)f;
}

static void cut(Wire *w, Frame *f)
{
    f->len = below(w, f->len);
    f->verdict = ANY;
}

static void noise(Wire *w, Frame *f)
{
    for (unsigned n = 1 + below(w, 8); n; n--) {
        f->b[below(w, MIN(f->len, 256))] ^= 1 << below(w, 8);
    }
    f->verdict = ANY;
}

/* The peer knows the ICRC. */
static void lie(Wire *w, Frame *f)
{
    size_t bth = bth_off(f->e);

    for (unsigned n = 1 + below(w, 4); n; n--) {
        f->b[bth + below(w, MIN(f->len - 4 - bth, 44))] ^= 1 << below(w, 8);
    }
    fix_icrc(f);
    f->verdict = ANY;
}

static void wrong(Frame *f, Verdict verdict)
{
    if (f->verdict != ETHERNET) {
        f->verdict = verdict;
    }
}

static void bad_icrc(Wire *w, Frame *f)
{
    f->b[f->len - 1 - below(w, 4)] ^= 1 << below(w, 8);
    wrong(f, BAD_ICRC);
}

static void bad_bth(Wire *w, Frame *f)
{
    static const uint8_t opcodes[] = { 0x15, 0x18, 0x1f, 0x40, 0x80, 0x82, 0xc0,
                                       0xe4, 0x37, 0x2c, 0x60, 0x6c };
    uint8_t *bth = f->b + bth_off(f->e);

    switch (below(w, 3)) {
    case 0:
        bth[0] = opcodes[below(w, G_N_ELEMENTS(opcodes))];
        break;
    case 1:
        bth[1] |= 1 << below(w, 4);
        break;
    default:
        bth[2 + below(w, 2)] ^= 1 << below(w, 7);
        break;
    }
    fix_icrc(f);
    wrong(f, MALFORMED);
}

/* The headers behind the BTH are longer than the packet. */
static void no_room(Wire *w, Frame *f)
{
    static const uint8_t extended[MLX5_PKT_OP_COUNT] = {
        [MLX5_PKT_READ] = 16, [MLX5_PKT_CMP_SWAP] = 28,
        [MLX5_PKT_FETCH_ADD] = 28, [MLX5_PKT_ACK] = 4,
        [MLX5_PKT_ATOMIC_ACK] = 12, [MLX5_PKT_CNP] = 16,
    };
    uint32_t n = f->pkt.svc == MLX5_SVC_UD ? 8 : extended[f->pkt.op];

    if (n) {
        f->len = bth_off(f->e) + 12 + below(w, n) + 4;
        fix_lengths(f);
        fix_icrc(f);
        wrong(f, MALFORMED);
    }
}

static void lying_length(Wire *w, Frame *f)
{
    uint8_t *ip = f->b + ip_off(f->e);
    uint16_t more = 1 + below(w, 2000);

    if (is_v2(f->e) && below(w, 2)) {
        uint8_t *udp = ip + ip_bytes(f->e);

        mlx5_put_be16(udp + 4, below(w, 2) ? below(w, 12)
                                           : mlx5_get_be16(udp + 4) + more);
    } else {
        size_t at = is_ipv4(f->e) ? 2 : 4;

        mlx5_put_be16(ip + at, mlx5_get_be16(ip + at) + more);
    }
    if (is_ipv4(f->e)) {
        fix_ipv4(f, 20);
    }
    fix_icrc(f);
    wrong(f, MALFORMED);
}

static void bad_ip_checksum(Wire *w, Frame *f)
{
    if (is_ipv4(f->e)) {
        f->b[ip_off(f->e) + 10 + below(w, 2)] ^= 1 << below(w, 8);
        wrong(f, MALFORMED);
    }
}

/* Options have no place in the ICRC's rule: a card takes no such packet. */
static void options(Wire *w, Frame *f)
{
    uint8_t bytes[40] = { 1, 1, 1, 1 };
    uint8_t *ip = f->b + ip_off(f->e);
    size_t n = 4 * (1 + below(w, 10));

    insert(f, ip_off(f->e) + 20, bytes, n);
    ip[0] += n / 4;
    mlx5_put_be16(ip + 2, mlx5_get_be16(ip + 2) + n);
    fix_ipv4(f, 20 + n);
    fix_icrc(f);
    wrong(f, MALFORMED);
}

static void extension(Wire *w, Frame *f)
{
    static const uint8_t kinds[] = { 0, 43, 60, 44, 50, 51, 59, 135 };
    uint8_t bytes[64] = { 0 };
    uint8_t *ip = f->b + ip_off(f->e);
    unsigned kind = below(w, G_N_ELEMENTS(kinds));
    size_t n = kind < 3 ? 8 * (1 + below(w, 8)) : 8;

    bytes[0] = ip[6];
    bytes[1] = kind < 3 ? n / 8 - 1 : 0;
    insert(f, ip_off(f->e) + 40, bytes, n);
    ip[6] = kinds[kind];
    mlx5_put_be16(ip + 4, mlx5_get_be16(ip + 4) + n);
    fix_icrc(f);
    /* Of a GRH what follows is the transport, and nothing else. */
    wrong(f, kind < 3 && is_v2(f->e) ? MALFORMED : ETHERNET);
}

static void more_ip(Wire *w, Frame *f)
{
    if (is_ipv4(f->e)) {
        options(w, f);
    } else {
        extension(w, f);
    }
}

/* A fragment is for whom puts packets together. */
static void fragment(Wire *w, Frame *f)
{
    if (is_ipv4(f->e)) {
        mlx5_put_be16(f->b + ip_off(f->e) + 6, 1 << below(w, 14));
        fix_ipv4(f, 20);
        f->verdict = ETHERNET;
    }
}

/* A group is known by its address alone, whatever the MAC and the VLAN. */
static bool is_to_group(const Frame *f)
{
    return !memcmp(f->pkt.addr.dgid, group, sizeof(group));
}

/* One tag too many, or another one. */
static void tags(Wire *w, Frame *f)
{
    static const uint16_t types[] = { 0x8100, 0x88a8, 0x9100 };

    for (unsigned n = 1 + below(w, 3); n; n--) {
        uint8_t tag[4];

        mlx5_put_be16(tag, types[below(w, 3)]);
        mlx5_put_be16(tag + 2, take(w, 2));
        insert(f, 12, tag, 4);
    }
    f->verdict = is_to_group(f) ? ANY : ETHERNET;
}

static void not_ours(Wire *w, Frame *f)
{
    uint8_t *ip = f->b + ip_off(f->e);

    switch (below(w, 3)) {
    case 0:
        f->b[1 + below(w, 5)] ^= 1 << below(w, 8);
        break;
    case 1:
        ip[is_ipv4(f->e) ? 19 : 39] ^= 1 << (2 + below(w, 6));
        if (is_ipv4(f->e)) {
            fix_ipv4(f, 20);
        }
        break;
    default:
        if (is_v2(f->e)) {
            ip[ip_bytes(f->e) + 3] ^= 1 << below(w, 8);
        } else {
            f->b[12] ^= 1 << below(w, 8);
        }
        break;
    }
    f->verdict = is_to_group(f) ? ANY : ETHERNET;
}

/* Short frames are padded on a wire. */
static void padded(Wire *w, Frame *f)
{
    f->len += below(w, 46);
}

static void (*const mutations[])(Wire *w, Frame *f) = {
    nothing, nothing, nothing, nothing, nothing, nothing, lie, lie, lie, cut,
    noise, bad_icrc, bad_bth, no_room, lying_length, bad_ip_checksum, more_ip,
    fragment, tags, not_ours, padded,
};

/* --- what came of it --- */

typedef struct Counts {
    uint64_t all, of[NUM_VERDICTS], refused;
} Counts;

static Counts counts(const Wire *w)
{
    const Mlx5VportCounters *c = &mlx5_vport(w->h->func)->counters;
    const Mlx5Stats *s = &w->h->func->stats;
    Counts n = {
        .of = {
            [GOOD] = c->received_ib_unicast.packets +
                     c->received_ib_multicast.packets,
            [MALFORMED] = s->rx_roce_malformed,
            [BAD_ICRC] = s->rx_icrc_errors,
            [ETHERNET] = c->received_eth_unicast.packets +
                         c->received_eth_multicast.packets +
                         c->received_eth_broadcast.packets,
        },
        .refused = s->rx_roce_refused,
    };

    n.all = n.of[GOOD] + n.of[MALFORMED] + n.of[BAD_ICRC] + n.of[ETHERNET] +
            s->rx_errors + s->rx_oversize;
    return n;
}

/* What the card sends is for its peers, and nothing is wrong with it. */
static void look_at_answers(Wire *w)
{
    ck_assert_uint_le(w->h->frames->len, MAX_ANSWERS);
    for (guint i = 0; i < w->h->frames->len; i++) {
        gsize len;
        const uint8_t *b = g_bytes_get_data(w->h->frames->pdata[i], &len);
        bool known = false;
        Mlx5Pkt pkt;

        if (mlx5_roce_decode(b, len, &pkt) != MLX5_ROCE_GOOD) {
            for (gsize k = 0; k < MIN(len, 90); k++) {
                fprintf(stderr, "%02x ", b[k]);
            }
            fprintf(stderr, "of %zu\n", len);
            ck_abort_msg("the card sends what is no packet");
        }
        for (unsigned e = 0; e < G_N_ELEMENTS(entries); e++) {
            known |= !memcmp(pkt.addr.dgid, entries[e].peer, 16);
        }
        ck_assert(known);
        ck_assert_uint_eq(pkt.dqpn, PEER_QPN);
    }
    seen.answers += w->h->frames->len;
    g_ptr_array_set_size(w->h->frames, 0);
}

static void poll_all(Wire *w)
{
    uint8_t cqe[64];

    for (unsigned i = 0; i < NUM_QPS; i++) {
        while (r_poll(&w->qp[i], &w->qp[i].scq, cqe)) {
            seen.completions++;
        }
        while (r_poll(&w->qp[i], &w->qp[i].rcq, cqe)) {
            seen.completions++;
        }
    }
}

static void settle(Wire *w)
{
    fake_host_work(w->h);
    look_at_answers(w);
    poll_all(w);
}

static void feed(Wire *w, const Frame *f)
{
    /* Of its own, and no longer than it is: sanitizers look. */
    g_autofree uint8_t *b = g_memdup2(f->b, MAX(f->len, 1));
    struct iovec iov = { b, f->len };
    Counts before = counts(w), after;

    mlx5_card_frame_rx(w->h->card, &iov, 1);
    after = counts(w);
    ck_assert_uint_eq(after.all, before.all + 1);
    if (f->verdict != ANY) {
        ck_assert_uint_eq(after.of[f->verdict], before.of[f->verdict] + 1);
    }
    if (f->verdict == GOOD && f->refused) {
        ck_assert_uint_eq(after.refused, before.refused + 1);
    }
    seen.frames++;
    seen.verdict[f->verdict]++;
    seen.refused += after.refused - before.refused;
    settle(w);
}

/* --- the card at work --- */

static void revive(Wire *w, unsigned i)
{
    RQp *q = &w->qp[i];
    uint8_t *ads = MLX5_ADDR_OF(qpc, q->qp->qpc, primary_address_path);

    r_set_state(q, MLX5_QP_STATE_RST);
    fake_mem_set_be32(q->h, q->dbr, 0);
    fake_mem_set_be32(q->h, q->dbr + 4, 0);
    q->sq_pi = q->rq_pi = 0;
    w->posted[i] = 0;
    MLX5_SET(ads, ads, src_addr_index, qps[i].entry);
    memcpy(ads + MLX5_BYTE_OFF(ads, rgid_rip), entries[qps[i].entry].peer, 16);
    r_up(q, PEER_QPN, PSN, PSN);
}

static void do_frame(Wire *w)
{
    Frame f;

    make(w, &f);
    mutations[below(w, G_N_ELEMENTS(mutations))](w, &f);
    feed(w, &f);
    if (below(w, 8) == 0 && f.verdict != GOOD) {
        feed(w, &f);
    }
}

static void do_recv(Wire *w)
{
    unsigned i = below(w, NUM_QPS);
    RQp *q = &w->qp[i];

    if (q->qp->state != MLX5_QP_STATE_RTS || w->posted[i] > 24) {
        revive(w, i);
    }
    if ((uint16_t)(q->rq_pi - q->qp->rq_consumed) < 8) {
        r_recv(q, RECV + i * 0x10000, below(w, 4) ? RECV_BYTES : below(w, 50));
    }
}

/* Something that a peer has to answer. */
static void do_ask(Wire *w)
{
    static const uint8_t opcodes[] = {
        MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_SEND,
        MLX5_OPCODE_ATOMIC_FA,
    };
    unsigned i = below(w, 4); /* RC */
    uint8_t opcode = opcodes[below(w, G_N_ELEMENTS(opcodes))];
    bool atomic = opcode == MLX5_OPCODE_ATOMIC_FA;
    RWqe wqe = r_wqe(opcode);

    if (w->qp[i].qp->state != MLX5_QP_STATE_RTS || w->posted[i] > 24) {
        revive(w, i);
    }
    if (opcode != MLX5_OPCODE_SEND) {
        r_raddr(&wqe, RW_VA & ~UINT64_C(7), 0x1234);
    }
    if (atomic) {
        r_atomic(&wqe, 1, 0);
    }
    r_data(&wqe, LOCAL + i * 0x10000, atomic ? 8 : 1 + below(w, 4000),
           w->t->key);
    r_put(&w->qp[i], &wqe);
    r_ring(&w->qp[i]);
    w->posted[i]++;
    settle(w);
}

static void do_time(Wire *w)
{
    fake_host_advance(w->h, R_ACK_PERIOD_NS / 64 * below(w, 256));
    settle(w);
}

static void do_wire(Wire *w)
{
    w->h->wire_full = below(w, 4) == 0;
    mlx5_card_frame_ready(w->h->card);
    settle(w);
}

static void (*const actions[])(Wire *w) = {
    do_frame, do_frame, do_frame, do_frame, do_frame, do_frame, do_frame,
    do_frame, do_frame, do_recv, do_ask, do_ask, do_time, do_wire,
};

/* --- a round --- */

static uint32_t mtt_key(Wire *w, uint32_t pdn, uint64_t start, uint32_t bytes,
                        uint32_t access)
{
    uint64_t pages[32];
    uint32_t n = (start % 4096 + bytes + 4095) / 4096;

    for (uint32_t i = 0; i < n; i++) {
        pages[i] = (start & ~UINT64_C(4095)) + i * 4096;
    }
    return t_mkey_mtt(w->h, pdn, start, bytes, 12, access, pages, n);
}

static GBytes *guards(Wire *w)
{
    uint8_t *b = g_malloc(GUARDED_BYTES);

    fake_mem_read(w->h, GUARDED, b, GUARDED_BYTES);
    memset(b + (RW_VA - GUARDED), 0, RW_BYTES);
    return g_bytes_new_take(b, GUARDED_BYTES);
}

static void join(Wire *w, bool attach)
{
    TestCmd c = { 0 };

    MLX5_SET(attach_to_mcg_in, c.in, qpn, w->qp[NUM_QPS - 1].qpn);
    memcpy(MLX5_ADDR_OF(attach_to_mcg_in, c.in, multicast_gid), group, 16);
    t_ok(w->h, &c, attach ? mlx5_cmd_attach_to_mcg : mlx5_cmd_detach_from_mcg,
         MLX5_ST_SZ_BYTES(attach_to_mcg_in));
}

static void begin(Wire *w)
{
    uint32_t other;

    w->t = r_new(MLX5_QP_ST_RC);
    w->h = w->t->h;
    w->h->link = true;
    mlx5_card_set_link(w->h->card, true);
    for (unsigned i = 0; i < G_N_ELEMENTS(entries); i++) {
        r_gid_set_vlan(w->t, i, entries[i].own, entries[i].version,
                       entries[i].l3_type, entries[i].vlan);
    }
    r_fill(w->h, GUARDED, GUARDED_BYTES, 1);
    r_fill(w->h, SOURCE, 4096, 2);
    /* Queue pairs of a domain in which no key lets peers do everything. */
    other = w->t->pdn;
    w->t->pdn = t_alloc(w->h, mlx5_cmd_alloc_pd);
    w->t->key = t_mkey_pa(w->h, w->t->pdn, MLX5_ACCESS_LOCAL_READ |
                                           MLX5_ACCESS_LOCAL_WRITE);
    w->rw = mtt_key(w, w->t->pdn, RW_VA, RW_BYTES, T_ALL_ACCESS);
    w->ro = mtt_key(w, w->t->pdn, RO_VA, RO_BYTES, MLX5_ACCESS_REMOTE_READ);
    w->foreign = mtt_key(w, other, FOREIGN_VA, FOREIGN_BYTES, T_ALL_ACCESS);
    for (unsigned i = 0; i < NUM_QPS; i++) {
        r_qp(w->t, &w->qp[i], qps[i].st);
        revive(w, i);
    }
    join(w, true);
    w->guards = guards(w);
}

/* A message still arrives. */
static void works(Wire *w)
{
    uint64_t to = RECV + 0x100000;
    Frame f = { .e = &entries[qps[0].entry], .verdict = GOOD };
    uint8_t data[100], got[100];

    w->h->wire_full = false;
    mlx5_card_frame_ready(w->h->card);
    settle(w);
    revive(w, 0);
    r_recv(&w->qp[0], to, sizeof(data));
    fake_mem_read(w->h, SOURCE, data, sizeof(data));
    f.pkt = (Mlx5Pkt){ .op = MLX5_PKT_SEND, .first = true, .last = true,
                       .dqpn = w->qp[0].qpn, .psn = PSN, .npsn = 1,
                       .mtu_bytes = 1024, .bytes = data, .ackreq = true,
                       .len = sizeof(data) };
    address(&f);
    f.len = mlx5_roce_encode(&f.pkt, 0, f.b);
    w->h->link = true;
    {
        struct iovec iov = { f.b, f.len };

        mlx5_card_frame_rx(w->h->card, &iov, 1);
    }
    r_received(&w->qp[0], 0, MLX5_CQE_RESP_SEND, sizeof(data));
    fake_mem_read(w->h, to, got, sizeof(got));
    ck_assert_mem_eq(data, got, sizeof(data));
    ck_assert_uint_eq(w->h->frames->len, 1);
    settle(w);
}

static void end(Wire *w)
{
    g_autoptr(GBytes) now = guards(w);

    ck_assert(g_bytes_equal(now, w->guards));
    works(w);
    join(w, false);
    for (unsigned i = 0; i < NUM_QPS; i++) {
        r_destroy(&w->qp[i]);
    }
    g_bytes_unref(w->guards);
    r_free(w->t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Wire w = { .bytes = { data, size } };

    begin(&w);
    for (unsigned i = 0; i < ACTIONS && w.bytes.left; i++) {
        actions[below(&w, G_N_ELEMENTS(actions))](&w);
    }
    end(&w);
    return 0;
}

void fuzz_told(unsigned rounds)
{
    printf("%u rounds, %" G_GUINT64_FORMAT " frames: sure to be good %"
           G_GUINT64_FORMAT ", malformed %" G_GUINT64_FORMAT ", bad ICRC %"
           G_GUINT64_FORMAT ", Ethernet's %" G_GUINT64_FORMAT "; taken by "
           "nobody %" G_GUINT64_FORMAT "; %" G_GUINT64_FORMAT " answers, %"
           G_GUINT64_FORMAT " completions\n", rounds, seen.frames,
           seen.verdict[GOOD], seen.verdict[MALFORMED], seen.verdict[BAD_ICRC],
           seen.verdict[ETHERNET], seen.refused, seen.answers,
           seen.completions);
}

bool fuzz_got_somewhere(unsigned rounds)
{
    return rounds < 10 ||
           (seen.verdict[GOOD] && seen.verdict[MALFORMED] &&
            seen.verdict[BAD_ICRC] && seen.verdict[ETHERNET] && seen.refused &&
            seen.answers && seen.completions);
}
