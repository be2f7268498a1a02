/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DC targets: the responder's side (PRM: DC Transport).
 *
 * A target answers any initiator that knows its key. What a reliable responder
 * has to remember of its peer (the sequence number expected, the receive in
 * hand, answers owed) is kept in a peer, made when an initiator first sends:
 *
 *   dct --> peers, by (source GID, queue pair) --> a queue pair of no number of
 *           its own, whose engine is the responder of resp*.c
 *
 * Each message is a connection: it has a number, and every packet says at which
 * sequence number the connection begins. A packet of another connection than
 * the last lets the peer begin anew. What went wrong with a message ends its
 * connection, not the target.
 *
 * Peers are made by the guest's packets, so there is a bound to them; those at
 * rest make room.
 *
 * unknown: what a card answers to a wrong key; here a NAK that the initiator
 * completes with a remote access error.
 */
#include "rdma/rdma_internal.h"

#include "obj/dct.h"
#include "obj/limits.h"
#include "prm/prm.h"

/** Of all targets of a function. */
#define PEERS_MAX 4096u

/* A drain looks again after, and cuts off what takes longer than this: an
 * initiator that died in a message will never finish it. */
#define DRAIN_LOOK_NS INT64_C(1000000)
#define DRAIN_MAX_NS INT64_C(500000000)

typedef struct PeerKey {
    uint8_t gid[16];
    uint32_t qpn;
} PeerKey;

typedef struct Peer {
    PeerKey key;
    GList lru;               /* in Mlx5Rdma.dcrs, the oldest first */
    Mlx5DctEngine *owner;
    Mlx5Qp qp;
} Peer;

struct Mlx5DctEngine {
    Mlx5Dct *dct;
    GHashTable *peers;       /* PeerKey of the Peer -> Peer */
    Mlx5Work work;           /* first look of a drain */
    Mlx5Timer timer;         /* the others */
    int64_t drain_until_ns;
};

static guint key_hash(gconstpointer p)
{
    const PeerKey *k = p;
    guint h = k->qpn;

    for (size_t i = 0; i < sizeof(k->gid); i++) {
        h = h * 31 + k->gid[i];
    }
    return h;
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(PeerKey)) == 0;
}

static bool peer_idle(const Peer *peer)
{
    const Mlx5QpEngine *e = peer->qp.engine;
    const Mlx5Responder *r = &e->resp;

    return !r->busy && !r->have_recv && r->head == r->tail &&
           !mlx5_odp_waits(e, MLX5_FAULT_REQUEST) &&
           !mlx5_odp_waits(e, MLX5_FAULT_READ);
}

/* ---- peers ---- */

/* What lasts of the target's context, as a queue pair's. */
static void fill_context(const Mlx5Dct *dct, Mlx5Qp *qp)
{
    const uint8_t *dctc = dct->dctc;
    uint8_t *ads = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);

    MLX5_SET(qpc, qp->qpc, st, MLX5_QP_ST_DCT);
    MLX5_SET(qpc, qp->qpc, rre, MLX5_GET(dctc, dctc, rre));
    MLX5_SET(qpc, qp->qpc, rwe, MLX5_GET(dctc, dctc, rwe));
    MLX5_SET(qpc, qp->qpc, rae, MLX5_GET(dctc, dctc, rae));
    MLX5_SET(qpc, qp->qpc, atomic_mode, MLX5_GET(dctc, dctc, atomic_mode));
    MLX5_SET(qpc, qp->qpc, counter_set_id,
             MLX5_GET(dctc, dctc, counter_set_id));
    MLX5_SET(qpc, qp->qpc, min_rnr_nak, MLX5_GET(dctc, dctc, min_rnr_nak));
    MLX5_SET(qpc, qp->qpc, log_rra_max, MLX5_LOG_MAX_RA_QP);
    MLX5_SET(ads, ads, src_addr_index, MLX5_GET(dctc, dctc, my_addr_index));
    MLX5_SET(ads, ads, hop_limit, MLX5_GET(dctc, dctc, hop_limit));
    MLX5_SET(ads, ads, tclass, MLX5_GET(dctc, dctc, tclass));
    MLX5_SET(ads, ads, flow_label, MLX5_GET(dctc, dctc, flow_label));
}

static Peer *peer_new(Mlx5DctEngine *de, const PeerKey *key)
{
    Mlx5Dct *dct = de->dct;
    Peer *peer = g_new0(Peer, 1);
    Mlx5Qp *qp = &peer->qp;

    peer->key = *key;
    peer->owner = de;
    peer->lru.data = peer;
    qp->o = (Mlx5Obj){ .func = dct->o.func, .type = MLX5_OBJ_QP,
                       .id = dct->o.id, .uid = dct->o.uid };
    qp->st = MLX5_QP_ST_DCT;
    qp->state = MLX5_QP_STATE_RTS;
    /* The target holds the references. */
    qp->pd = dct->pd;
    qp->recv_cq = dct->cq;
    qp->srq = dct->srq;
    qp->cs_res_bytes = dct->cs_res_bytes;
    qp->user_index = MLX5_GET(dctc, dct->dctc, user_index);
    fill_context(dct, qp);
    mlx5_engine_make(qp);
    qp->engine->resp.established = true;
    g_hash_table_insert(de->peers, &peer->key, peer);
    g_queue_push_tail_link(&dct->o.func->rdma->dcrs, &peer->lru);
    return peer;
}

/* A receive in hand belongs to nobody else: it is given back as flushed. */
static void peer_free(Peer *peer)
{
    Mlx5CqeRecv c = { .vendor = MLX5_VENDOR_FLUSHED };
    Mlx5QpEngine *e = peer->qp.engine;

    if (e->resp.have_recv) {
        mlx5_resp_complete(e, &c);
    }
    g_hash_table_remove(peer->owner->peers, &peer->key);
    g_queue_unlink(&peer->qp.o.func->rdma->dcrs, &peer->lru);
    mlx5_engine_unmake(&peer->qp);
    g_free(peer);
}

/* Return: false if none of the function's peers is at rest. */
static bool make_room(Mlx5Func *func)
{
    GQueue *dcrs = &func->rdma->dcrs;

    if (dcrs->length < PEERS_MAX) {
        return true;
    }
    for (GList *l = dcrs->head; l; l = l->next) {
        if (peer_idle(l->data)) {
            peer_free(l->data);
            return true;
        }
    }
    return false;
}

/* The message before is over, whatever became of it; a receive that it took
 * stays in hand for this one. */
static void connect_peer(Peer *peer, const Mlx5Pkt *pkt)
{
    Mlx5Qp *qp = &peer->qp;
    Mlx5Responder *r = &qp->engine->resp;
    uint8_t *ads = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
    const uint8_t *mac = pkt->addr.smac;

    mlx5_odp_cancel(qp->engine, true);
    mlx5_work_cancel(qp->o.func, &r->work);
    r->head = r->tail;
    r->pending = r->again = 0;
    r->busy = r->nak_sent = r->rnr_sent = r->dying = false;
    g_clear_pointer(&r->atomics, g_free);
    r->epsn = pkt->dc_psn;
    r->msn = 0;
    r->dc_conn = pkt->dc_conn;
    /* The initiator's path MTU counts: it numbers the packets by it. */
    MLX5_SET(qpc, qp->qpc, mtu, g_bit_nth_msf(pkt->mtu_bytes, -1) - 7);
    qp->mtu_bytes = pkt->mtu_bytes; /* a path MTU: it is of this card */
    MLX5_SET(qpc, qp->qpc, remote_qpn, pkt->src_qpn);
    memcpy(ads + MLX5_BYTE_OFF(ads, rgid_rip), pkt->addr.sgid, 16);
    MLX5_SET(ads, ads, rmac_47_32, mac[0] << 8 | mac[1]);
    MLX5_SET(ads, ads, rmac_31_0, (uint32_t)mac[2] << 24 | mac[3] << 16 |
                                  mac[4] << 8 | mac[5]);
    mlx5_paths_changed(qp->o.func);
    mlx5_qp_set_state(qp, MLX5_QP_STATE_RTS);
}

/* The peer that this packet is for, connected. Return: NULL to drop it. */
static Peer *peer_of(Mlx5DctEngine *de, const Mlx5Pkt *pkt)
{
    PeerKey key = { .qpn = pkt->src_qpn };
    Peer *peer;

    memcpy(key.gid, pkt->addr.sgid, sizeof(key.gid));
    peer = g_hash_table_lookup(de->peers, &key);
    if (peer && peer->qp.engine->resp.dc_conn == pkt->dc_conn) {
        return peer;
    }
    if (de->dct->state != MLX5_DCT_ACTIVE) {
        return NULL;
    }
    if (!peer) {
        if (!make_room(de->dct->o.func)) {
            return NULL;
        }
        peer = peer_new(de, &key);
    }
    connect_peer(peer, pkt);
    return peer;
}

void mlx5_dct_peer_state(Mlx5QpEngine *e)
{
    Mlx5Responder *r = &e->resp;

    if (e->qp->state == MLX5_QP_STATE_ERR) {
        mlx5_odp_cancel(e, true);
        mlx5_work_cancel(e->qp->o.func, &r->work);
        r->head = r->tail;
        r->pending = r->again = 0;
        r->busy = false;
    }
}

/* ---- packets ---- */

static void refuse_key(Mlx5Dct *dct, const Mlx5Pkt *pkt)
{
    Mlx5Func *func = dct->o.func;
    Mlx5Pkt nak = {
        .svc = MLX5_SVC_DC, .op = MLX5_PKT_ACK, .first = true, .last = true,
        .dqpn = pkt->src_qpn, .src_qpn = dct->o.id, .psn = pkt->psn, .npsn = 1,
        .mtu_bytes = pkt->mtu_bytes, .syndrome = MLX5_NAK_REMOTE_ACCESS,
        .dc_conn = pkt->dc_conn, .addr = pkt->addr,
    };

    memcpy(nak.addr.sgid, pkt->addr.dgid, 16);
    memcpy(nak.addr.dgid, pkt->addr.sgid, 16);
    memcpy(nak.addr.smac, pkt->addr.dmac, 6);
    memcpy(nak.addr.dmac, pkt->addr.smac, 6);
    mlx5_dct_violation(dct);
    mlx5_pkt_trace(func, "tx", &nak);
    if (func->rdma->link) {
        func->rdma->link(func, &nak);
    }
}

void mlx5_dct_receive(Mlx5Func *func, const Mlx5Pkt *pkt)
{
    Mlx5Dct *dct = mlx5_obj_get(func, MLX5_OBJ_DCT, pkt->dqpn);
    GQueue *dcrs = &func->rdma->dcrs;
    Peer *peer;

    if (!dct || !dct->engine || dct->state == MLX5_DCT_DRAINED) {
        mlx5_pkt_trace(func, "drop", pkt);
        return;
    }
    if (pkt->dc_key != dct->key) {
        mlx5_pkt_trace(func, "drop", pkt);
        refuse_key(dct, pkt);
        return;
    }
    peer = peer_of(dct->engine, pkt);
    if (!peer) {
        mlx5_pkt_trace(func, "drop", pkt);
        return;
    }
    if (dcrs->tail != &peer->lru) {
        g_queue_unlink(dcrs, &peer->lru);
        g_queue_push_tail_link(dcrs, &peer->lru);
    }
    mlx5_pkt_trace(func, "rx", pkt);
    mlx5_resp_receive(peer->qp.engine, pkt);
}

/* ---- life ---- */

static bool all_idle(Mlx5DctEngine *de)
{
    GHashTableIter it;
    gpointer peer;

    g_hash_table_iter_init(&it, de->peers);
    while (g_hash_table_iter_next(&it, NULL, &peer)) {
        if (!peer_idle(peer)) {
            return false;
        }
    }
    return true;
}

static void free_peers(Mlx5DctEngine *de)
{
    GHashTableIter it;
    gpointer peer;

    /* Freeing takes it out of the table: begin anew each time. */
    for (;;) {
        g_hash_table_iter_init(&it, de->peers);
        if (!g_hash_table_iter_next(&it, NULL, &peer)) {
            return;
        }
        peer_free(peer);
    }
}

static void look(void *opaque)
{
    Mlx5DctEngine *de = opaque;
    Mlx5Func *func = de->dct->o.func;
    int64_t now = mlx5_clock_ns(func);

    if (!all_idle(de) && now < de->drain_until_ns) {
        mlx5_timer_arm(func, &de->timer, now + DRAIN_LOOK_NS);
        return;
    }
    free_peers(de);
    mlx5_dct_drained(de->dct);
}

static bool first_look(void *opaque, Mlx5Budget *budget)
{
    (void)budget;
    look(opaque);
    return false;
}

void mlx5_dct_engine_created(Mlx5Dct *dct)
{
    Mlx5DctEngine *de = g_new0(Mlx5DctEngine, 1);

    de->dct = dct;
    de->peers = g_hash_table_new(key_hash, key_equal);
    mlx5_work_init(&de->work, first_look, de);
    mlx5_timer_init(&de->timer, look, de);
    dct->engine = de;
}

void mlx5_dct_engine_drain(Mlx5Dct *dct)
{
    Mlx5DctEngine *de = dct->engine;

    de->drain_until_ns = mlx5_clock_ns(dct->o.func) + DRAIN_MAX_NS;
    /* The event comes after the command's answer (driver: qpc.c waits for it
     * when the command succeeded). */
    mlx5_work_hold(dct->o.func, &de->work);
}

bool mlx5_dct_engine_busy(Mlx5Dct *dct)
{
    return !all_idle(dct->engine);
}

void mlx5_dct_engine_destroyed(Mlx5Dct *dct)
{
    Mlx5DctEngine *de = dct->engine;

    if (!de) {
        return;
    }
    free_peers(de);
    mlx5_work_unhold(dct->o.func, &de->work);
    mlx5_timer_cancel(dct->o.func, &de->timer);
    g_hash_table_unref(de->peers);
    g_clear_pointer(&dct->engine, g_free);
}
