/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a send WQE to frames (PRM: Ethernet send WQE; driver: en_tx.c):
 *
 *   ctrl 16 B | eth segment 16 B .. headers inlined at +14 | data segments
 *   ctrl      | eth segment             | a segment for each of many frames
 *
 * The frame is gathered whole, the offloads are done on it, it goes out. What
 * is in a tunnel is found by its headers, or the WQE tells where it is (software
 * parsing). Left out: inserted trailers (an error).
 */
#include "eth/eth_internal.h"

#include "bus/trace.h"
#include "fw/vport.h"

#define SEG_BYTES 16
#define INLINE_HDR_OFF 14        /* in the eth segment */
#define INLINE_HDR_FIRST 2       /* bytes that fit in the eth segment */
#define INLINE_SEG_BIT 0x80000000u
#define INLINE_SEG_MASK 0x3ffu

/* wqe_eth.cs_flags (driver: qp.h MLX5_ETH_WQE_*_CSUM). */
enum { CS_L3_INNER = 0x10, CS_L4_INNER = 0x20, CS_L3 = 0x40, CS_L4 = 0x80 };

/* wqe_eth.swp_flags (driver: qp.h MLX5_ETH_WQE_SWP_*). That of L4 is not looked
 * at: the header in front of it names the protocol. */
enum { SWP_INNER_L3_IPV6 = 1 << 0 };

/* wqe_eth.inline_hdr_size as insert.type: a VLAN tag instead of headers. */
enum { INSERT_VLAN = 1 << 15, INSERT_SVLAN = 1 << 0 };

/* A frame being gathered. */
typedef struct Gather {
    Mlx5Sq *sq;
    GByteArray *buf;
    size_t max;
} Gather;

static uint8_t add_bytes(Gather *g, const uint8_t *p, size_t len)
{
    if (g->buf->len + len > g->max) {
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    }
    g_byte_array_append(g->buf, p, len);
    return 0;
}

static uint8_t add_memory(Gather *g, uint32_t lkey, uint64_t va, uint32_t len)
{
    Mlx5Func *func = g->sq->o.func;
    Mlx5MkeyUser user = { mlx5_wq_pdn(&g->sq->wq), g->sq->o.id, g->sq->rlkey };
    g_autoptr(Mlx5Ranges) ranges = NULL;
    guint at = g->buf->len;

    if (g->buf->len + (uint64_t)len > g->max) {
        return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    }
    ranges = mlx5_ranges_new();
    if (mlx5_mkey_resolve(func, &user, lkey, va, len,
                          MLX5_ACCESS_LOCAL_READ, ranges) != MLX5_MKEY_OK) {
        return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
    }
    g_byte_array_set_size(g->buf, at + len);
    for (guint i = 0; i < ranges->len; i++) {
        Mlx5Range *r = &ranges->data[i];

        if (!mlx5_dma_read(func, r->addr, g->buf->data + at, r->len)) {
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        }
        at += r->len;
    }
    return 0;
}

/* A data segment at @p, or data inline. @at moves behind it. */
static uint8_t add_segment(Gather *g, const Mlx5EthWqe *wqe, uint32_t *at)
{
    const uint8_t *p = wqe->p + *at;
    uint32_t count = MLX5_GET(wqe_data, p, byte_count);

    if (count & INLINE_SEG_BIT) {
        uint32_t len = count & INLINE_SEG_MASK;
        uint32_t all = (4 + len + SEG_BYTES - 1) / SEG_BYTES * SEG_BYTES;

        if (all > wqe->len - *at) {
            return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
        }
        *at += all;
        return add_bytes(g, p + 4, len);
    }
    *at += SEG_BYTES;
    /* 0 means 2^31 bytes, which no frame has. */
    return count ? add_memory(g, MLX5_GET(wqe_data, p, lkey),
                              MLX5_GET(wqe_data, p, local_virtual_address),
                              count)
                 : MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
}

/* Headers that stand in the WQE. @at moves to the first data segment. */
static uint8_t add_inline_headers(Gather *g, const Mlx5EthWqe *wqe,
                                  uint32_t len, uint32_t *at)
{
    uint32_t rest = len > INLINE_HDR_FIRST ? len - INLINE_HDR_FIRST : 0;

    rest = (rest + SEG_BYTES - 1) / SEG_BYTES * SEG_BYTES;
    if (rest > wqe->len - 2 * SEG_BYTES) {
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    *at = 2 * SEG_BYTES + rest;
    return add_bytes(g, wqe->p + SEG_BYTES + INLINE_HDR_OFF, len);
}

static uint8_t gather(Gather *g, const Mlx5EthWqe *wqe, uint32_t inline_len)
{
    uint32_t at;
    uint8_t syndrome = add_inline_headers(g, wqe, inline_len, &at);

    while (!syndrome && at < wqe->len) {
        syndrome = add_segment(g, wqe, &at);
    }
    if (!syndrome && g->buf->len < MLX5_ETH_HLEN) {
        syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
    }
    return syndrome;
}

static void insert_vlan(GByteArray *buf, uint16_t type, uint16_t tci)
{
    uint8_t tag[MLX5_VLAN_HLEN];
    guint tail = buf->len - 12;

    mlx5_put_be16(tag, type & INSERT_SVLAN ? MLX5_ETHERTYPE_SVLAN
                                           : MLX5_ETHERTYPE_CVLAN);
    mlx5_put_be16(tag + 2, tci);
    g_byte_array_set_size(buf, buf->len + sizeof(tag));
    memmove(buf->data + 12 + sizeof(tag), buf->data + 12, tail);
    memcpy(buf->data + 12, tag, sizeof(tag));
}

/* Fields of the eth segment. */
typedef struct EthSeg {
    uint32_t cs_flags, mss, inline_len, insert, tci, metadata;
    Mlx5EthSwp swp;
} EthSeg;

bool mlx5_eth_find_inner(const Mlx5Sq *sq, const uint8_t *frame, size_t len,
                         const Mlx5FrameInfo *outer, const Mlx5EthSwp *swp,
                         Mlx5EthInner *inner)
{
    Mlx5Tunnel t;

    if (swp->inner_l3) {
        inner->off = swp->inner_l3;
        if (inner->off < len) {
            mlx5_frame_parse_l3(frame + inner->off, len - inner->off,
                                swp->ipv6 ? MLX5_ETHERTYPE_IPV6
                                          : MLX5_ETHERTYPE_IPV4,
                                &inner->info);
        }
        return inner->off < len && inner->info.ip_version;
    }
    mlx5_frame_parse_tunnel(frame, outer, &sq->o.func->eth->vxlan, &t);
    inner->off = t.inner_off;
    inner->info = t.inner;
    return t.has_inner && t.inner.ip_version;
}

static void set_some(uint8_t *frame, const Mlx5FrameInfo *info, bool l3, bool l4)
{
    if (l3) {
        mlx5_frame_set_l3_csum(frame, info);
    }
    if (l4) {
        mlx5_frame_set_l4_csum(frame, info);
    }
}

/* The inner ones first: the outer sum is over them too. */
static void set_checksums(const Mlx5Sq *sq, uint8_t *frame, size_t len,
                          const EthSeg *seg)
{
    uint32_t flags = seg->cs_flags;
    Mlx5FrameInfo info;
    Mlx5EthInner in;

    if (!(flags & (CS_L3 | CS_L4 | CS_L3_INNER | CS_L4_INNER))) {
        return;
    }
    mlx5_frame_parse(frame, len, &info);
    if ((flags & (CS_L3_INNER | CS_L4_INNER)) &&
        mlx5_eth_find_inner(sq, frame, len, &info, &seg->swp, &in)) {
        set_some(frame + in.off, &in.info, flags & CS_L3_INNER,
                 flags & CS_L4_INNER);
    }
    set_some(frame, &info, flags & CS_L3, flags & CS_L4);
}

/* Offsets count two bytes each. Return: false if the queue may not say so. */
static bool parse_swp(const Mlx5Sq *sq, const uint8_t *p, Mlx5EthSwp *swp)
{
    uint32_t flags = MLX5_GET(wqe_eth, p, swp_flags);

    swp->inner_l3 = sq->swp ? MLX5_GET(wqe_eth, p, swp_inner_l3_offset) * 2 : 0;
    swp->ipv6 = flags & SWP_INNER_L3_IPV6;
    return sq->swp || !flags;
}

static uint8_t parse_eth_seg(Mlx5Sq *sq, const Mlx5EthWqe *wqe, bool lso,
                             EthSeg *seg)
{
    const uint8_t *p = wqe->p + SEG_BYTES;
    uint32_t word;

    /* Without a TIS there is no transport domain to send from. */
    if (!sq->tis || wqe->len < 2 * SEG_BYTES) {
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    word = MLX5_GET(wqe_eth, p, inline_hdr_size);
    seg->cs_flags = MLX5_GET(wqe_eth, p, cs_flags);
    seg->mss = MLX5_GET(wqe_eth, p, mss);
    seg->metadata = MLX5_GET(wqe_eth, p, flow_table_metadata);
    seg->insert = word & INSERT_VLAN ? word : 0;
    seg->inline_len = word & INSERT_VLAN ? 0 : word;
    seg->tci = mlx5_get_be16(p + INLINE_HDR_OFF);
    if (!parse_swp(sq, p, &seg->swp) ||
        ((seg->cs_flags & (CS_L3_INNER | CS_L4_INNER)) &&
         !sq->o.func->props.tunnel) ||
        (lso && (!seg->inline_len || !seg->mss))) {
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    return 0;
}

/* A frame that was gathered: what the eth segment asks for, and out. Offsets in
 * it are those of the frame as it was posted. */
static void send(Mlx5Sq *sq, GByteArray *buf, const EthSeg *seg)
{
    set_checksums(sq, buf->data, buf->len, seg);
    if (seg->insert) {
        insert_vlan(buf, seg->insert, seg->tci);
    }
    mlx5_eth_send(sq, buf->data, buf->len, seg->metadata);
}

uint8_t mlx5_eth_tx_wqe(Mlx5Sq *sq, const Mlx5EthWqe *wqe, bool lso,
                        uint64_t *bytes)
{
    g_autoptr(GByteArray) buf = g_byte_array_new();
    Gather g = { sq, buf, lso ? 1u << MLX5_LOG_MAX_LSO : MLX5_ETH_MAX_FRAME };
    EthSeg seg;
    uint8_t syndrome = parse_eth_seg(sq, wqe, lso, &seg);

    if (!syndrome) {
        syndrome = gather(&g, wqe, seg.inline_len);
    }
    if (!syndrome && lso &&
        !mlx5_eth_lso(sq, buf->data, buf->len,
                      &(Mlx5EthCut){ seg.inline_len, seg.mss, seg.metadata,
                                     seg.swp })) {
        syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    if (syndrome) {
        mlx5_vport(sq->o.func)->counters.transmit_errors.packets++;
        return syndrome;
    }
    *bytes = buf->len;
    if (!lso) {
        send(sq, buf, &seg);
    }
    return 0;
}

uint8_t mlx5_eth_tx_multi(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes)
{
    g_autoptr(GByteArray) buf = g_byte_array_new();
    Gather g = { sq, buf, MLX5_ETH_MAX_FRAME };
    uint32_t at = 2 * SEG_BYTES;
    EthSeg seg;
    uint8_t syndrome = parse_eth_seg(sq, wqe, false, &seg);

    /* Not sqc.allow_multi_pkt_send_wqe: that is about the older opcode; mlx5e
     * doesn't set it (en_main.c mlx5e_create_sq). */
    if (!syndrome && (!sq->o.func->props.mpw || seg.inline_len ||
                      wqe->len == at)) {
        syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    while (!syndrome && at < wqe->len) {
        g_byte_array_set_size(buf, 0);
        syndrome = add_segment(&g, wqe, &at);
        if (!syndrome && buf->len < MLX5_ETH_HLEN) {
            syndrome = MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
        }
        if (!syndrome) {
            *bytes += buf->len;
            send(sq, buf, &seg);
        }
    }
    if (syndrome) {
        mlx5_vport(sq->o.func)->counters.transmit_errors.packets++;
    }
    return syndrome;
}
