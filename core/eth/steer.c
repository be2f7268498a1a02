/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steering of a frame: from its type's root table through entries and miss
 * links (PRM: Flow Table; driver: fs_core.c).
 *
 *   received ... to TIRs, and by the hash to a queue; a miss drops
 *   sent ....... out: to the wire and receivers here; a miss sends
 *   RoCE ....... nowhere, they are only asked whether it may pass; a miss may
 */
#include "eth/eth_internal.h"
#include "eth/rss.h"

#include "bus/trace.h"

#define ACT(name) MLX5_FLOW_CONTEXT_ACTION_##name

/*
 * Entries may forward to several tables, and these again: what one frame may
 * cost is bounded here, not by the guest.
 */
#define MAX_TABLES 256
#define MAX_DELIVERIES 64

typedef struct Walk {
    Mlx5Sq *sq;              /* sender of a frame that leaves; NULL: receive */
    uint32_t roce;           /* RoCE packets that the frame stands for, or 0 */
    uint64_t octets;         /* of these together */
    bool delivered;
    bool dropped;            /* by an entry; asked of RoCE */
    uint32_t tables, deliveries;
} Walk;

/* Is the frame a self loopback that @tir does not take? */
static bool deaf(const Mlx5Packet *p, const Mlx5Tir *tir)
{
    return p->from && p->from->tis->td == (const Mlx5Obj *)tir->td &&
           !(tir->self_lb & p->lb_bit);
}

/* What the CQE says of checksums: found once, and again after a change. */
static void check_sums(Mlx5Packet *p)
{
    if (p->checked) {
        return;
    }
    p->checked = true;
    p->csum = 0;
    p->l4_ok = p->info.ip_version &&
               mlx5_frame_sums(p->data, &p->info, &p->csum);
}

/* Return: the tunnel in the frame, for a TIR that looks inside, or NULL. */
static const Mlx5Tunnel *look_inside(Mlx5Packet *p, const Mlx5Tir *tir,
                                     Mlx5Tunnel *t)
{
    p->tunnel = NULL;
    if (!tir->tunneled && !tir->hash.inner.fields) {
        return NULL;
    }
    mlx5_frame_parse_tunnel(p->data, &p->info, &p->func->eth->vxlan, t);
    if (!t->has_inner) {
        return NULL;
    }
    if (tir->tunneled) {
        p->tunnel = t;
        p->inner_l4_ok = mlx5_frame_l4_ok(p->data + t->inner_off, &t->inner);
    }
    return t;
}

static void deliver(Walk *w, Mlx5Packet *p, const Mlx5Tir *tir, uint32_t tag)
{
    Mlx5Rq *rq = tir->rq;
    Mlx5Tunnel t;

    if (w->deliveries++ >= MAX_DELIVERIES || deaf(p, tir)) {
        return;
    }
    w->delivered = true;
    check_sums(p);
    p->flow_tag = tag;
    p->hash = mlx5_rss_hash(&tir->hash, p->data, &p->info,
                            look_inside(p, tir, &t), &p->hash_type);
    if (!rq) {
        rq = tir->rqt->rqs[p->hash & (tir->rqt->size - 1)];
    }
    mlx5_trace(p->func, MLX5_TRACE_FRAME, "rx len=%zu tirn=0x%x rqn=0x%x "
               "hash=0x%08x", p->len, tir->o.id, rq->o.id, p->hash);
    if (!mlx5_eth_lro_take(tir, rq, p)) {
        mlx5_eth_rq_deliver(rq, p);
    }
    p->tunnel = NULL;
}

/* The frame goes the way it would go without an entry. */
static void miss(Walk *w, const Mlx5Packet *p)
{
    if (w->roce) {
        return;
    }
    if (w->sq) {
        if (w->deliveries++ < MAX_DELIVERIES) {
            mlx5_eth_out(w->sq, p->data, p->len);
        }
    } else {
        /* A frame that goes to the wire as well was not meant for us alone. */
        p->func->stats.rx_steer_missed += !p->from;
    }
}

static void drop(Walk *w, const Mlx5Packet *p)
{
    w->dropped = true;
    if (w->roce) {
        return;
    }
    if (w->sq) {
        p->func->stats.tx_discards++;
    } else {
        p->func->stats.rx_dropped_by_rule += !p->from;
    }
}

static void count(const Walk *w, const Mlx5FlowAct *act, const Mlx5Packet *p)
{
    uint64_t packets = w->roce ? w->roce : 1;

    for (uint32_t i = 0; i < act->num_counters; i++) {
        act->counters[i].count->packets += packets;
        act->counters[i].count->octets += w->roce ? w->octets : p->len;
    }
}

static void walk(Walk *w, Mlx5Packet *p, const Mlx5FlowTable *table);

/* What a table makes of the frame is nothing to the other destinations. */
static void branch(Walk *w, const Mlx5Packet *p, const Mlx5FlowTable *table)
{
    Mlx5Packet copy = *p;

    copy.own = NULL;
    walk(w, &copy, table);
    g_free(copy.own);
}

static void forward(Walk *w, Mlx5Packet *p, const Mlx5FlowAct *act)
{
    for (uint32_t i = 0; i < act->num_dests; i++) {
        const Mlx5FlowDest *d = &act->dests[i];

        if (d->tir) {
            deliver(w, p, d->tir, act->tag);
        } else if (act->num_dests == 1) {
            walk(w, p, d->table);
        } else {
            branch(w, p, d->table);
        }
    }
}

static void run(Walk *w, Mlx5Packet *p, const Mlx5FlowAct *act)
{
    count(w, act, p);
    if ((act->action & ACT(DROP)) ||
        ((act->action & MLX5_FLOW_ACTIONS_CHANGE) &&
         !mlx5_eth_rewrite(p, act))) {
        drop(w, p);
    } else if (act->action & ACT(ALLOW)) {
        miss(w, p);
    } else {
        forward(w, p, act);
    }
}

/* Recursion ends: a destination table has a higher level (flow_action.c). */
static void walk(Walk *w, Mlx5Packet *p, const Mlx5FlowTable *table)
{
    const Mlx5FlowEntry *e = NULL;
    bool switched = false;

    while (table && !e && w->tables++ < MAX_TABLES) {
        mlx5_match_need(p, table->parts);
        e = mlx5_flow_table_lookup(table, &p->key);
        switched = table->switch_domain;
        table = table->miss;
    }
    if (e) {
        run(w, p, &e->act);
    } else if (switched) {
        drop(w, p);
    } else {
        miss(w, p);
    }
}

bool mlx5_eth_steer_rx(Mlx5Packet *p)
{
    Walk w = { .sq = NULL };

    mlx5_match_fill_outer(p);
    walk(&w, p, p->func->flow_root[MLX5_FLOW_TABLE_TYPE_NIC_RX]);
    g_clear_pointer(&p->own, g_free);
    return w.delivered;
}

void mlx5_eth_steer_tx(Mlx5Sq *sq, const uint8_t *frame, size_t len,
                       uint32_t metadata)
{
    Walk w = { .sq = sq };
    Mlx5Packet p;

    mlx5_packet_init(&p, sq->o.func, sq, frame, len);
    p.reg[MLX5_REG_A] = metadata;
    mlx5_frame_parse(frame, len, &p.info);
    mlx5_match_fill_outer(&p);
    walk(&w, &p, p.func->flow_root[MLX5_FLOW_TABLE_TYPE_NIC_TX]);
    g_free(p.own);
}

bool mlx5_eth_steer_roce(Mlx5Func *func, uint32_t type, const uint8_t *headers,
                         size_t len, Mlx5Traffic stands_for)
{
    Walk w = { .roce = stands_for.packets, .octets = stands_for.octets };
    Mlx5Packet p;

    mlx5_packet_init(&p, func, NULL, headers, len);
    mlx5_frame_parse(headers, len, &p.info);
    mlx5_match_fill_outer(&p);
    walk(&w, &p, func->flow_root[type]);
    return !w.dropped;
}
