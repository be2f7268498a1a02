/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large receive offload: TCP segments of one stream that follow each other
 * become one large packet in one completion (PRM: LRO; driver: en_rx.c
 * mlx5e_lro_update_hdr, which makes the headers right by the completion).
 *
 * A receive queue gathers one stream at a time. What does not continue it ends
 * it: another stream, a gap, a flag, other options, a segment that is longer.
 * So does one that is shorter or pushed, when it has been added; and the host,
 * when it has no more frames for now (mlx5_card_frames_end()), which is before
 * tirc.lro_timeout_period_usecs are over.
 *
 * unknown: how many streams hardware gathers at a time. Left out: what is in
 * tunnels; queues whose WQEs are not of strides, which take one frame each.
 */
#include "eth/eth_internal.h"

#include <string.h>

enum { TCP_PSH = 0x08, TCP_ACK = 0x10 };
enum { TCP_SEQ = 4, TCP_ACK_SEQ = 8, TCP_DOFF = 12, TCP_WIN = 14,
       TCP_OPTIONS = 20 };
#define MAX_SEGMENTS 255         /* cqe64.lro_num_seg */
#define MAX_FRAME UINT16_MAX     /* cqe64.byte_cnt beside strides */

struct Mlx5Lro {
    GByteArray *frame;       /* headers of the first, payload of all */
    Mlx5FrameInfo info;      /* of the first */
    uint32_t hdr_len, mss, max_len;
    uint32_t next_seq;
    Mlx5LroEnd end;
    /* What the completion says of the first. */
    uint32_t hash, flow_tag, reg_b;
    uint8_t hash_type;
    uint16_t csum;
};

static uint32_t hdr_len(const Mlx5FrameInfo *i)
{
    return i->l4_off + i->l4_hlen;
}

static uint32_t payload_len(const Mlx5FrameInfo *i)
{
    return i->l3_len - i->l3_hlen - i->l4_hlen;
}

/* Is it a segment of data with right sums, and nothing special about it? */
static bool is_plain(const Mlx5Packet *p)
{
    const Mlx5FrameInfo *i = &p->info;

    return i->tcp && i->l3_ok && p->l4_ok && !p->tunnel &&
           p->len == i->l3_off + i->l3_len &&
           i->l3_hlen == (i->ip_version == 4 ? 20 : 40) &&
           (i->tcp_flags & ~TCP_PSH) == TCP_ACK && payload_len(i);
}

/* Does this receiver merge such packets? */
static bool wanted(const Mlx5Tir *tir, const Mlx5Rq *rq, const Mlx5Packet *p)
{
    uint32_t bit = p->info.ip_version == 4 ? MLX5_TIRC_PACKET_MERGE_IPV4_LRO
                                           : MLX5_TIRC_PACKET_MERGE_IPV6_LRO;

    return (tir->merge & bit) && rq->wq.striding && !rq->scatter_fcs &&
           rq->state == MLX5_WQ_STATE_RDY && !p->from &&
           p->func->ops->frames_held;
}

/* Are the IP headers alike but for lengths, identification, TTL and sum? */
static bool same_ip(const uint8_t *a, const uint8_t *b, uint32_t version)
{
    if (version == 4) {
        return !memcmp(a, b, 2) && !memcmp(a + 6, b + 6, 2) &&
               a[9] == b[9] && !memcmp(a + 12, b + 12, 8);
    }
    return !memcmp(a, b, 4) && a[6] == b[6] && !memcmp(a + 8, b + 8, 32);
}

static bool same_tcp(const uint8_t *a, const uint8_t *b, uint32_t hlen)
{
    return !memcmp(a, b, TCP_SEQ) && a[TCP_DOFF] == b[TCP_DOFF] &&
           !memcmp(a + TCP_OPTIONS, b + TCP_OPTIONS, hlen - TCP_OPTIONS);
}

/* Is @p, a plain segment, the next one of what is gathered? */
static bool continues(const Mlx5Lro *s, const Mlx5Packet *p)
{
    const Mlx5FrameInfo *i = &p->info;
    const uint8_t *first = s->frame->data;
    uint32_t len = payload_len(i);

    return i->ip_version == s->info.ip_version &&
           i->l3_off == s->info.l3_off && hdr_len(i) == s->hdr_len &&
           len <= s->mss && s->frame->len + len <= s->max_len &&
           mlx5_get_be32(p->data + i->l4_off + TCP_SEQ) == s->next_seq &&
           p->reg[MLX5_REG_B] == s->reg_b &&
           !memcmp(first, p->data, i->l3_off) &&
           same_ip(first + i->l3_off, p->data + i->l3_off, i->ip_version) &&
           same_tcp(first + i->l4_off, p->data + i->l4_off, i->l4_hlen);
}

/* What the completion says of the last one. */
static void note_end(Mlx5Lro *s, const Mlx5Packet *p)
{
    const Mlx5FrameInfo *i = &p->info;
    const uint8_t *tcp = p->data + i->l4_off;

    s->end.segments++;
    s->end.min_ttl = MIN(s->end.min_ttl, i->ttl);
    s->end.psh |= !!(i->tcp_flags & TCP_PSH);
    s->end.ack_seq = mlx5_get_be32(tcp + TCP_ACK_SEQ);
    s->end.win = mlx5_get_be16(tcp + TCP_WIN);
    s->next_seq = mlx5_get_be32(tcp + TCP_SEQ) + payload_len(i);
}

/* How long a frame may be: what the driver says of IP, and a WQE's memory. */
static uint32_t max_len(const Mlx5Tir *tir, const Mlx5Rq *rq,
                        const Mlx5FrameInfo *i)
{
    uint64_t wqe = UINT64_C(1) << (rq->wq.log_strides +
                                   rq->wq.log_stride_bytes);

    return MIN(MIN(wqe, MAX_FRAME), hdr_len(i) + tir->merge_bytes);
}

static void begin(const Mlx5Tir *tir, Mlx5Rq *rq, const Mlx5Packet *p)
{
    Mlx5Lro *s = g_new0(Mlx5Lro, 1);

    s->info = p->info;
    s->hdr_len = hdr_len(&p->info);
    s->mss = payload_len(&p->info);
    s->max_len = max_len(tir, rq, &p->info);
    s->end.min_ttl = UINT8_MAX;
    s->hash = p->hash;
    s->hash_type = p->hash_type;
    s->flow_tag = p->flow_tag;
    s->reg_b = p->reg[MLX5_REG_B];
    s->csum = p->csum;
    s->frame = g_byte_array_sized_new(s->max_len);
    g_byte_array_append(s->frame, p->data, s->hdr_len + s->mss);
    note_end(s, p);
    rq->lro = s;
    g_ptr_array_add(rq->o.func->eth->gathering, rq);
    mlx5_held_note(rq->o.func);
}

static void add(Mlx5Lro *s, const Mlx5Packet *p)
{
    g_byte_array_append(s->frame, p->data + s->hdr_len,
                        payload_len(&p->info));
    note_end(s, p);
}

static Mlx5Lro *detach(Mlx5Rq *rq)
{
    Mlx5Lro *s = rq->lro;

    if (s) {
        rq->lro = NULL;
        g_ptr_array_remove_fast(rq->o.func->eth->gathering, rq);
    }
    return s;
}

static void free_lro(Mlx5Lro *s)
{
    g_byte_array_unref(s->frame);
    g_free(s);
}

void mlx5_eth_lro_forget(Mlx5Rq *rq)
{
    Mlx5Lro *s = detach(rq);

    if (s) {
        free_lro(s);
    }
}

/* The packet as if it had come like that. One segment is what it was. */
static void make_packet(const Mlx5Lro *s, Mlx5Func *func, Mlx5Packet *p)
{
    uint8_t *frame = s->frame->data;
    size_t len = s->frame->len;

    mlx5_packet_init(p, func, NULL, frame, len);
    p->csum = s->csum;
    if (s->end.segments > 1) {
        mlx5_frame_fix_ip_len(frame, len);
        p->csum = mlx5_csum(frame + s->hdr_len, len - s->hdr_len);
        p->lro = &s->end;
    }
    mlx5_frame_parse(frame, len, &p->info);
    p->info.l3_ok = p->checked = p->l4_ok = true;
    p->hash = s->hash;
    p->hash_type = s->hash_type;
    p->flow_tag = s->flow_tag;
    p->reg[MLX5_REG_B] = s->reg_b;
}

/* What @rq gathered, if anything, goes to the driver. */
static void close_lro(Mlx5Rq *rq)
{
    Mlx5Lro *s = detach(rq);
    Mlx5Packet p;

    if (s) {
        make_packet(s, rq->o.func, &p);
        mlx5_eth_rq_deliver(rq, &p);
        free_lro(s);
    }
}

bool mlx5_eth_lro_take(const Mlx5Tir *tir, Mlx5Rq *rq, const Mlx5Packet *p)
{
    bool takes = wanted(tir, rq, p) && is_plain(p);

    if (rq->lro && !(takes && continues(rq->lro, p))) {
        close_lro(rq);
    }
    if (!takes) {
        return false;
    }
    if (rq->lro) {
        add(rq->lro, p);
    } else {
        begin(tir, rq, p);
    }
    if (payload_len(&p->info) < rq->lro->mss || rq->lro->end.psh ||
        rq->lro->end.segments == MAX_SEGMENTS) {
        close_lro(rq);
    }
    return true;
}

void mlx5_eth_frames_end(Mlx5Func *func)
{
    GPtrArray *gathering = func->eth->gathering;

    while (gathering->len) {
        close_lro(g_ptr_array_index(gathering, 0));
    }
}
