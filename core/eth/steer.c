/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steering of a received frame: from the root table through entries and miss
 * links to TIRs, and by the hash to a queue (PRM: Flow Table; driver:
 * fs_core.c).
 */
#include "eth/eth_internal.h"
#include "eth/rss.h"

#include "bus/trace.h"

/*
 * Entries may forward to several tables, and these again: what one frame may
 * cost is bounded here, not by the guest.
 */
#define MAX_TABLES 256
#define MAX_DELIVERIES 64

/* fte_match_set_lyr_2_4.l4_type (driver: mlx5_ifc.h MLX5_PACKET_L4_TYPE_*). */
enum { L4_TYPE_NONE = 0, L4_TYPE_TCP = 1, L4_TYPE_UDP = 2 };

static void match_l2(uint8_t *m, const uint8_t *f, const Mlx5FrameInfo *i)
{
    MLX5_SET(fte_match_set_lyr_2_4, m, dmac_47_16, mlx5_get_be32(f));
    MLX5_SET(fte_match_set_lyr_2_4, m, dmac_15_0, mlx5_get_be16(f + 4));
    MLX5_SET(fte_match_set_lyr_2_4, m, smac_47_16, mlx5_get_be32(f + 6));
    MLX5_SET(fte_match_set_lyr_2_4, m, smac_15_0, mlx5_get_be16(f + 10));
    MLX5_SET(fte_match_set_lyr_2_4, m, ethertype, i->ethertype);
    MLX5_SET(fte_match_set_lyr_2_4, m, cvlan_tag, i->cvlan);
    MLX5_SET(fte_match_set_lyr_2_4, m, svlan_tag, i->svlan);
    MLX5_SET(fte_match_set_lyr_2_4, m, first_prio, i->tci >> 13);
    MLX5_SET(fte_match_set_lyr_2_4, m, first_cfi, i->tci >> 12 & 1);
    MLX5_SET(fte_match_set_lyr_2_4, m, first_vid, i->tci & 0xfff);
}

static void match_l3(uint8_t *m, const uint8_t *f, const Mlx5FrameInfo *i)
{
    const uint8_t *ip = f + i->l3_off;
    uint8_t *src = MLX5_ADDR_OF(fte_match_set_lyr_2_4, m, src_ipv4_src_ipv6);
    uint8_t *dst = MLX5_ADDR_OF(fte_match_set_lyr_2_4, m, dst_ipv4_dst_ipv6);

    MLX5_SET(fte_match_set_lyr_2_4, m, ip_version, i->ip_version);
    MLX5_SET(fte_match_set_lyr_2_4, m, ip_protocol, i->ip_protocol);
    MLX5_SET(fte_match_set_lyr_2_4, m, ip_dscp, i->tos >> 2);
    MLX5_SET(fte_match_set_lyr_2_4, m, ip_ecn, i->tos & 3);
    MLX5_SET(fte_match_set_lyr_2_4, m, frag, i->frag);
    MLX5_SET(fte_match_set_lyr_2_4, m, ttl_hoplimit, i->ttl);
    MLX5_SET(fte_match_set_lyr_2_4, m, ipv4_ihl, i->ihl);
    if (i->ip_version == 4) {
        /* An IPv4 address is the last four of the sixteen bytes. */
        memcpy(src + 12, ip + 12, 4);
        memcpy(dst + 12, ip + 16, 4);
    } else if (i->ip_version == 6) {
        memcpy(src, ip + 8, 16);
        memcpy(dst, ip + 24, 16);
    }
}

static void match_l4(uint8_t *m, const Mlx5FrameInfo *i)
{
    if (i->tcp) {
        MLX5_SET(fte_match_set_lyr_2_4, m, l4_type, L4_TYPE_TCP);
        MLX5_SET(fte_match_set_lyr_2_4, m, tcp_flags, i->tcp_flags);
        MLX5_SET(fte_match_set_lyr_2_4, m, tcp_sport, i->sport);
        MLX5_SET(fte_match_set_lyr_2_4, m, tcp_dport, i->dport);
    } else if (i->udp) {
        MLX5_SET(fte_match_set_lyr_2_4, m, l4_type, L4_TYPE_UDP);
        MLX5_SET(fte_match_set_lyr_2_4, m, udp_sport, i->sport);
        MLX5_SET(fte_match_set_lyr_2_4, m, udp_dport, i->dport);
    }
}

void mlx5_eth_match_fill(Mlx5Match *match, const uint8_t *frame,
                         const Mlx5FrameInfo *info)
{
    uint8_t *m = (uint8_t *)match;

    memset(match, 0, sizeof(*match));
    match_l2(m, frame, info);
    match_l3(m, frame, info);
    match_l4(m, info);
}

typedef struct Walk {
    Mlx5Func *func;
    Mlx5RxFrame *frame;
    Mlx5Match match;
    uint32_t tables, deliveries;
} Walk;

/* Is the frame a self loopback that @tir does not take? */
static bool deaf(const Mlx5RxFrame *f, const Mlx5Tir *tir)
{
    return f->from && f->from->tis->td == &tir->td->o &&
           !(tir->self_lb & f->lb_bit);
}

static void deliver(Walk *w, const Mlx5Tir *tir, uint32_t tag)
{
    Mlx5RxFrame *f = w->frame;
    Mlx5Rq *rq = tir->rq;

    if (w->deliveries++ >= MAX_DELIVERIES || deaf(f, tir)) {
        return;
    }
    f->delivered = true;
    f->flow_tag = tag;
    f->hash = mlx5_rss_hash(&tir->hash, f->data, &f->info, &f->hash_type);
    if (!rq) {
        rq = tir->rqt->rqs[f->hash & (tir->rqt->size - 1)];
    }
    mlx5_trace(w->func, MLX5_TRACE_FRAME, "rx len=%zu tirn=0x%x rqn=0x%x "
               "hash=0x%08x", f->len, tir->o.id, rq->o.id, f->hash);
    mlx5_eth_rq_deliver(rq, f);
}

/* Recursion ends: a destination table has a higher level (flow_entry.c). */
static void walk(Walk *w, const Mlx5FlowTable *table)
{
    const Mlx5FlowEntry *e = NULL;

    while (table && !e && w->tables++ < MAX_TABLES) {
        e = mlx5_flow_table_lookup(table, &w->match);
        table = table->miss;
    }
    if (!e) {
        /* A frame that goes to the wire as well was not meant for us alone. */
        w->func->stats.rx_steer_missed += !w->frame->from;
    } else if (e->action == MLX5_FLOW_CONTEXT_ACTION_DROP) {
        w->func->stats.rx_dropped_by_rule++;
    } else {
        for (uint32_t i = 0; i < e->num_dests; i++) {
            if (e->dests[i].tir) {
                deliver(w, e->dests[i].tir, e->tag);
            } else {
                walk(w, e->dests[i].table);
            }
        }
    }
}

void mlx5_eth_steer(Mlx5Func *func, Mlx5RxFrame *frame)
{
    Walk w = { .func = func, .frame = frame };

    mlx5_eth_match_fill(&w.match, frame->data, &frame->info);
    walk(&w, func->nic_rx_root);
}
