/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue-pair engines: making and unmaking them, following the state of their
 * queue pair, and the way of packets to and from the link.
 */
#include "rdma/rdma_internal.h"

#include "fw/vport.h"
#include "obj/cong.h"
#include "obj/mcg.h"
#include "prm/prm.h"

/* IPv6 or GRH, UDP, BTH, the longest extended header, ICRC. */
#define HEADERS_BYTES (40 + 8 + 12 + 4 + 28 + 4)

/* QP numbers that mean something of their own in packets (IBA 3.5.5). */
#define QPN_GSI 1

void mlx5_rdma_new(Mlx5Func *func)
{
    Mlx5Rdma *rdma = g_new0(Mlx5Rdma, 1);

    rdma->gsi = g_ptr_array_new();
    rdma->local = mlx5_ranges_new();
    rdma->remote = mlx5_ranges_new();
    mlx5_odp_new(rdma);
    rdma->sig_failed = g_ptr_array_new();
    rdma->wire_waiters = g_hash_table_new(NULL, NULL);
    func->rdma = rdma;
    func->wire.go_on = mlx5_engine_wire_go_on;
}

void mlx5_rdma_reset(Mlx5Func *func)
{
    Mlx5Rdma *rdma = func->rdma;

    /* Queue pairs are gone by now, and with them their engines. */
    g_assert(rdma->gsi->len == 0);
    g_assert(g_queue_is_empty(&rdma->dcrs));
    rdma->dc_conns = 0;
    g_clear_pointer(&rdma->flat, g_free);
    memset(rdma->halves, 0, sizeof(rdma->halves));
    rdma->moved = 0;
    mlx5_odp_reset(rdma);
}

void mlx5_rdma_free(Mlx5Func *func)
{
    Mlx5Rdma *rdma = func->rdma;

    mlx5_odp_free(rdma);
    g_ptr_array_unref(rdma->gsi);
    mlx5_ranges_free(rdma->local);
    mlx5_ranges_free(rdma->remote);
    g_ptr_array_unref(rdma->sig_failed);
    mlx5_req_free_spare(rdma);
    g_hash_table_unref(rdma->wire_waiters);
    func->wire.go_on = NULL;
    g_free(rdma->flat);
    g_clear_pointer(&func->rdma, g_free);
}

void mlx5_rdma_set_link(Mlx5Func *func, Mlx5LinkSend send)
{
    func->rdma->link = send;
}

void mlx5_rdma_set_sq_doorbell(Mlx5Func *func, Mlx5SqDoorbell doorbell)
{
    func->rdma->sq_doorbell = doorbell;
}

/* IBA MTUs that fit a frame with the longest headers (driver: iboe_get_mtu). */
uint32_t mlx5_engine_port_mtu(Mlx5Func *func)
{
    uint32_t room = mlx5_vport(func)->mtu;
    uint32_t mtu = 4096;

    while (mtu > 256 && mtu + HEADERS_BYTES > room) {
        mtu /= 2;
    }
    return mtu;
}

/* qpc.st has eight bits; what is not here sends no packets. */
const uint8_t mlx5_engine_svcs[256] = {
    [MLX5_QP_ST_RC] = MLX5_SVC_RC,
    [MLX5_QP_ST_UC] = MLX5_SVC_UC,
    [MLX5_QP_ST_UD] = MLX5_SVC_UD,
    [MLX5_QP_ST_QP1] = MLX5_SVC_UD,
    [MLX5_QP_ST_XRC] = MLX5_SVC_XRC,
    [MLX5_QP_ST_DCI] = MLX5_SVC_DC,
    [MLX5_QP_ST_DCT] = MLX5_SVC_DC,
};

uint32_t mlx5_engine_wire_qpn(const Mlx5Qp *qp)
{
    uint32_t other = MLX5_GET(qpc, qp->qpc, deth_sqpn);

    if (qp->st == MLX5_QP_ST_QP1 || other == QPN_GSI) {
        return QPN_GSI;
    }
    return qp->o.id;
}

void mlx5_engine_send(Mlx5Qp *qp, Mlx5Pkt *pkt)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(qp);

    mlx5_pkt_trace(qp->o.func, "tx", pkt);
    if (rdma->link) {
        rdma->link(qp->o.func, pkt);
    }
    if (pkt->on_wire) {
        rdma->moved += pkt->len; /* a copy, too: it counts in budgets */
    }
}

void mlx5_engine_schedule(Mlx5Qp *qp, Mlx5Work *work)
{
    /* Whoever entered core runs the work queue before leaving (card.c). */
    mlx5_work_schedule(qp->o.func, work);
}

static Mlx5Qp *receiver(Mlx5Func *func, uint32_t qpn)
{
    GPtrArray *gsi = func->rdma->gsi;

    if (qpn == QPN_GSI) {
        return gsi->len ? g_ptr_array_index(gsi, gsi->len - 1) : NULL;
    }
    return mlx5_obj_get(func, MLX5_OBJ_QP, qpn);
}

/*
 * What a frame does not say of a packet, its receiver knows: how long packets
 * are that are not the last, and how many answers a read asks for. A packet
 * whose length can't be is left with one that is refused.
 */
static void complete_packet(const Mlx5Qp *qp, Mlx5Pkt *pkt)
{
    uint32_t mtu = mlx5_engine_mtu(qp);

    pkt->mtu_bytes = pkt->last && pkt->len <= mtu ? mtu : MAX(pkt->len, 1);
    if (pkt->op == MLX5_PKT_READ) {
        pkt->npsn = mlx5_psn_count(pkt->dma_len, mtu);
    }
}

void mlx5_engine_refuse(Mlx5Func *func, const Mlx5Pkt *pkt)
{
    func->stats.rx_roce_refused++;
    mlx5_pkt_trace(func, "drop", pkt);
}

static void deliver(Mlx5Func *func, Mlx5Qp *qp, Mlx5Pkt *pkt)
{
    if (!qp || !qp->engine || mlx5_engine_svc(qp) != pkt->svc) {
        mlx5_engine_refuse(func, pkt);
        return;
    }
    if (!pkt->mtu_bytes) {
        /* From the wire: anybody may say that it is an answer. */
        if (mlx5_pkt_is_response(pkt) &&
            !mlx5_path_from_peer(qp, &pkt->addr)) {
            mlx5_engine_refuse(func, pkt);
            return;
        }
        complete_packet(qp, pkt);
    }
    mlx5_pkt_trace(func, "rx", pkt);
    if (G_UNLIKELY((pkt->addr.tclass & MLX5_ECN_MASK) == MLX5_ECN_CE)) {
        mlx5_cnp_marked(qp->engine, pkt);
    }
    if (mlx5_pkt_is_response(pkt)) {
        mlx5_req_receive(qp->engine, pkt);
    } else {
        mlx5_resp_receive(qp->engine, pkt);
    }
}

/* A copy for each member; the limits of obj/mcg.c bound the work. */
static void deliver_all(Mlx5Func *func, Mlx5Pkt *pkt)
{
    const GPtrArray *qps = mlx5_mcg_members(func, pkt->addr.dgid);

    for (guint i = 0; qps && i < qps->len; i++) {
        Mlx5Qp *qp = g_ptr_array_index(qps, i);
        bool own = pkt->src == func && pkt->src_qpn == qp->o.id;

        if (!own || !pkt->block_lb) {
            deliver(func, qp, pkt);
        }
    }
}

void mlx5_rdma_receive(Mlx5Func *func, Mlx5Pkt *pkt)
{
    if (pkt->dqpn == MLX5_QPN_MULTICAST) {
        deliver_all(func, pkt);
    } else if (G_UNLIKELY(pkt->op == MLX5_PKT_CNP)) {
        mlx5_cnp_receive(func, receiver(func, pkt->dqpn), pkt);
    } else if (pkt->svc == MLX5_SVC_DC && !mlx5_pkt_is_response(pkt)) {
        mlx5_dct_receive(func, pkt);
    } else {
        deliver(func, receiver(func, pkt->dqpn), pkt);
    }
}

void mlx5_engine_make(Mlx5Qp *qp)
{
    Mlx5QpEngine *e = g_new0(Mlx5QpEngine, 1);

    e->qp = qp;
    qp->engine = e;
    mlx5_req_init(e);
    mlx5_resp_init(e);
    mlx5_flush_init(e);
}

static void reset(Mlx5QpEngine *e)
{
    g_hash_table_remove(mlx5_engine_rdma(e->qp)->wire_waiters, e);
    g_ptr_array_remove(mlx5_engine_rdma(e->qp)->gsi, e->qp);
    mlx5_odp_cancel(e, true);
    mlx5_tm_abort(e, true);
    mlx5_flush_stop(e);
    mlx5_cong_forget(e->qp);
    e->cnp_ns = 0;
    mlx5_req_reset(e);
    mlx5_resp_reset(e);
    mlx5_recv_reset(e->qp);
}

void mlx5_engine_unmake(Mlx5Qp *qp)
{
    Mlx5QpEngine *e = qp->engine;

    if (!e) {
        return;
    }
    g_ptr_array_remove(mlx5_engine_rdma(qp)->gsi, qp);
    g_hash_table_remove(mlx5_engine_rdma(qp)->wire_waiters, e);
    mlx5_odp_cancel(e, true);
    mlx5_tm_abort(e, false);
    mlx5_flush_stop(e);
    mlx5_req_free(e);
    mlx5_resp_free(e);
    g_free(e->faults);
    g_free(e->header);
    g_clear_pointer(&qp->engine, g_free);
}

static void ready_to_receive(Mlx5QpEngine *e)
{
    e->resp.epsn = MLX5_GET(qpc, e->qp->qpc, next_rcv_psn);
    if (e->qp->st == MLX5_QP_ST_QP1) {
        g_ptr_array_remove(mlx5_engine_rdma(e->qp)->gsi, e->qp);
        g_ptr_array_add(mlx5_engine_rdma(e->qp)->gsi, e->qp);
    }
}

static void ready_to_send(Mlx5QpEngine *e, Mlx5QpState from)
{
    if (from == MLX5_QP_STATE_RTR) {
        mlx5_req_start(e);
    }
    if (from == MLX5_QP_STATE_SQER) {
        mlx5_flush_stop(e);
        e->req.stalled = false;
        e->req.una = e->req.next_psn;
    }
    e->req.drained = false;
    mlx5_engine_schedule(e->qp, &e->req.work);
}

/* Nothing more is sent or received; what is posted will be flushed. */
static void failed(Mlx5QpEngine *e)
{
    Mlx5Responder *r = &e->resp;

    mlx5_req_stop(e);
    mlx5_odp_cancel(e, e->qp->state == MLX5_QP_STATE_ERR);
    if (e->qp->state == MLX5_QP_STATE_ERR) {
        mlx5_resp_pay(e);
        mlx5_work_cancel(e->qp->o.func, &r->work);
        r->head = r->tail;
        r->pending = r->again = 0;
        mlx5_tm_abort(e, true);
    }
    mlx5_flush_start(e);
}

static void state(Mlx5Qp *qp, Mlx5QpState from)
{
    Mlx5QpEngine *e = qp->engine;

    if (qp->st == MLX5_QP_ST_DCT) {
        mlx5_dct_peer_state(e);
        return;
    }
    switch (qp->state) {
    case MLX5_QP_STATE_RST:
        reset(e);
        break;
    case MLX5_QP_STATE_RTR:
        if (from != MLX5_QP_STATE_RTR) {
            ready_to_receive(e);
        }
        break;
    case MLX5_QP_STATE_RTS:
        ready_to_send(e, from);
        break;
    case MLX5_QP_STATE_SQD:
        mlx5_req_complete(e);
        break;
    case MLX5_QP_STATE_SQER:
    case MLX5_QP_STATE_ERR:
        failed(e);
        break;
    default:
        break;
    }
}

static Mlx5Work *work(Mlx5Qp *qp, bool responder)
{
    return responder ? &qp->engine->resp.work : &qp->engine->req.work;
}

static void query(Mlx5Qp *qp)
{
    const Mlx5Requester *r = &qp->engine->req;
    const Mlx5Responder *s = &qp->engine->resp;

    if (qp->state >= MLX5_QP_STATE_RTR) {
        MLX5_SET(qpc, qp->qpc, next_rcv_psn, s->epsn);
        MLX5_SET(qpc, qp->qpc, rmsn, s->msn);
        MLX5_SET(qpc, qp->qpc, hw_rq_counter, qp->rq_consumed);
    }
    if (qp->state >= MLX5_QP_STATE_RTS) {
        MLX5_SET(qpc, qp->qpc, next_send_psn, r->next_psn);
        MLX5_SET(qpc, qp->qpc, last_acked_psn,
                 mlx5_psn_add(r->una, MLX5_PSN_MASK));
        MLX5_SET(qpc, qp->qpc, hw_sq_wqebb_counter, r->fetched);
        MLX5_SET(qpc, qp->qpc, sw_sq_wqebb_counter, r->posted);
    }
}

const Mlx5EngineOps mlx5_rdma_engine = {
    .qp_created = mlx5_engine_make,
    .qp_state = state,
    .qp_destroyed = mlx5_engine_unmake,
    .qp_work = work,
    .qp_query = query,
    .dci_stream_reset = mlx5_dci_stream_reset,
    .dct_created = mlx5_dct_engine_created,
    .dct_drain = mlx5_dct_engine_drain,
    .dct_busy = mlx5_dct_engine_busy,
    .dct_destroyed = mlx5_dct_engine_destroyed,
    .sq_doorbell = mlx5_sq_doorbell,
};
