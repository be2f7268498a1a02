/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requester: from a work request to packets (IBA 9.4, 9.7.3).
 *
 * State moves on before a packet is handed to the link: its answer may come
 * back before the call returns (rdma_internal.h).
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"
#include "rdma/umr.h"

/* wqe_ctrl.fm (PRM: Fence Mode): from here on reads must be answered first. */
#define FENCE_READS 2

#define ATOMIC (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)

/* What packet an opcode makes; opcodes that stay in the card have none. */
static Mlx5PktOp packet_op(const Mlx5SendWqe *w)
{
    if (w->op->flags & ATOMIC) {
        return w->opcode == MLX5_OPCODE_ATOMIC_CS ||
                       w->opcode == MLX5_OPCODE_ATOMIC_MASKED_CS
                   ? MLX5_PKT_CMP_SWAP
                   : MLX5_PKT_FETCH_ADD;
    }
    if (w->op->flags & MLX5_WQEF_SCATTER) {
        return MLX5_PKT_READ;
    }
    return w->op->flags & MLX5_WQEF_RADDR ? MLX5_PKT_WRITE : MLX5_PKT_SEND;
}

/* Everything but payload, for a packet at @off of the message. */
static void fill(Mlx5QpEngine *e, Mlx5SendReq *req, uint64_t off, Mlx5Pkt *pkt)
{
    *pkt = mlx5_path_header(e)->pkt;
    req->begun = true;
    pkt->op = packet_op(&req->wqe);
    pkt->first = off == 0;
    pkt->psn = off ? mlx5_psn_add(req->psn, off / pkt->mtu_bytes) : req->psn;
    pkt->va = req->wqe.raddr;
    pkt->rkey = req->wqe.rkey;
    pkt->dma_len = req->wqe.length;
    pkt->srqn = req->wqe.xrc_srqn;
    if (pkt->svc == MLX5_SVC_DC) {
        mlx5_dci_fill(req, pkt);
    }
}

/* Where it goes, after fill(). Return: false if there is no way. */
static bool fill_path(Mlx5QpEngine *e, const Mlx5SendReq *req, Mlx5Pkt *pkt)
{
    return pkt->svc == MLX5_SVC_DC
               ? mlx5_path_datagram(e->qp, &req->wqe.av, pkt)
               : e->header->connected;
}

static bool is_acked(Mlx5PktService svc)
{
    return svc == MLX5_SVC_RC || svc == MLX5_SVC_XRC || svc == MLX5_SVC_DC;
}

/* What only the last packet of a message carries. */
static void fill_last(const Mlx5SendReq *req, Mlx5Pkt *pkt)
{
    uint32_t flags = req->wqe.op->flags;

    pkt->last = true;
    pkt->has_imm = flags & MLX5_WQEF_IMM;
    pkt->has_inv = flags & MLX5_WQEF_INVAL;
    pkt->imm = req->wqe.general_id;
    pkt->se = req->wqe.se;
    pkt->ackreq = is_acked(pkt->svc);
}

static void emit(Mlx5QpEngine *e, Mlx5Pkt *pkt)
{
    if (G_UNLIKELY(e->qp->req_pace)) {
        mlx5_pace_charge(e->qp->req_pace, pkt->len + (uint64_t)pkt->npsn *
                                          MLX5_PACE_ROCE_OVERHEAD);
    }
    mlx5_engine_send(e->qp, pkt);
    e->req.wire = pkt->on_wire;
}

/*
 * On a wire that may lose packets no more than this is sent without an answer:
 * what is lost must be sent again, with all that follows.
 */
#define WINDOW_BYTES (256u * 1024)

/* For longer messages their answer costs nothing beside their copy. */
#define MORE_BYTES 1024u

static bool window_full(const Mlx5QpEngine *e, const Mlx5SendReq *req)
{
    const Mlx5Requester *r = &e->req;
    uint32_t mtu = mlx5_engine_mtu(e->qp);
    uint32_t next = mlx5_psn_add(req->psn, r->cur_off / mtu);

    return mlx5_psn_diff(next, r->una) >= (int32_t)(WINDOW_BYTES / mtu);
}

/* Return: true if nothing may be sent now; somebody will say when. */
static bool wire_waits(Mlx5QpEngine *e, const Mlx5SendReq *req)
{
    if (G_LIKELY(!e->req.wire)) {
        return false;
    }
    return mlx5_engine_wire_busy(e) ||
           (is_acked(mlx5_engine_svc(e->qp)) && !req->response &&
            window_full(e, req));
}

static void advance(Mlx5Requester *r)
{
    r->cur++;
    r->cur_off = 0;
}

/* Unreliable services complete what they sent (IBA 9.8.2, 9.8.3). */
static void sent_unreliable(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    req->done = true;
    e->req.una = mlx5_psn_add(req->psn, req->npsn);
    mlx5_req_complete(e);
}

/*
 * The request at cur cannot be gathered from @off on: its key refuses, or a
 * page is missing. Return: false if it has to wait for that.
 */
static bool gather_failed(Mlx5QpEngine *e, Mlx5SendReq *req, uint64_t off,
                          Mlx5Payload why)
{
    Mlx5FaultWqe fault = {
        .type = MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE,
        .wq = e->qp->o.id,
        .index = req->wqe.index,
        .committed = off,
    };

    if (why == MLX5_PAYLOAD_FAULT &&
        mlx5_odp_raise_wqe(e, MLX5_FAULT_GATHER, &fault)) {
        mlx5_odp_fault(e, MLX5_FAULT_GATHER)->at = e->req.cur;
        return false;
    }
    mlx5_req_fail(e, req, MLX5_VENDOR_GATHER_KEY);
    return true;
}

void mlx5_req_gather_resumed(Mlx5QpEngine *e, bool error)
{
    Mlx5Requester *r = &e->req;
    uint32_t at = mlx5_odp_fault(e, MLX5_FAULT_GATHER)->at;

    /* Still there: nothing is completed while it is not sent. */
    if (error && at - r->head < r->tail - r->head &&
        !mlx5_req_at(r, at)->done) {
        mlx5_req_fail(e, mlx5_req_at(r, at), MLX5_VENDOR_GATHER_PAGE);
        return;
    }
    mlx5_engine_schedule(e->qp, &r->work);
}

/* Payload of one packet, of ours, at most. */
static uint64_t piece_max(const Mlx5Qp *qp)
{
    return G_LIKELY(!qp->req_pace)
               ? MLX5_PKT_MAX_BYTES
               : mlx5_pace_piece(qp->req_pace, mlx5_engine_mtu(qp),
                                 MLX5_PKT_MAX_BYTES);
}

static bool send_message(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    Mlx5Requester *r = &e->req;
    uint64_t total = req->wqe.length, off = r->cur_off;
    uint64_t len = MIN(total - off, piece_max(e->qp));
    bool last = off + len == total;
    Mlx5Payload result = MLX5_PAYLOAD_OK;
    Mlx5Pkt pkt;

    fill(e, req, off, &pkt);
    /* A long message is checked whole before its first packet leaves. */
    if (off == 0 && !last &&
        !mlx5_payload_check(e->qp, &req->wqe, MLX5_ACCESS_LOCAL_READ)) {
        result = MLX5_PAYLOAD_KEY;
    }
    if (result == MLX5_PAYLOAD_OK) {
        result = mlx5_payload_gather(e->qp, &req->wqe, off, len, &pkt);
        mlx5_sig_report(e, true);
    }
    if (result == MLX5_PAYLOAD_FAULT && pkt.len) {
        /* What comes before the missing page goes. */
        len = pkt.len;
        last = false;
    } else if (result != MLX5_PAYLOAD_OK) {
        return gather_failed(e, req, off, result);
    }
    pkt.npsn = mlx5_psn_count(len, pkt.mtu_bytes);
    r->cur_off += len;
    if (last) {
        fill_last(req, &pkt);
        advance(r);
        /* A DC target's next message may be another peer's. */
        pkt.more = len <= MORE_BYTES && pkt.svc != MLX5_SVC_DC &&
                   !e->qp->req_pace && !r->wire &&
                   (r->cur != r->tail || r->posted != r->fetched);
    } else {
        /* Held back, the message may take longer than the answer's timer; on
         * a wire the answer opens the window. */
        pkt.ackreq = (e->qp->req_pace || r->wire) && is_acked(pkt.svc);
    }
    if (fill_path(e, req, &pkt)) {
        emit(e, &pkt);
    }
    if (last && pkt.svc == MLX5_SVC_UC) {
        sent_unreliable(e, req);
    }
    return true;
}

static bool send_datagram(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    const Mlx5WqeAv *av = &req->wqe.av;
    uint32_t own_qkey = MLX5_GET(qpc, e->qp->qpc, q_key);
    Mlx5Payload result;
    Mlx5Pkt pkt;

    fill(e, req, 0, &pkt);
    result = mlx5_payload_gather(e->qp, &req->wqe, 0, req->wqe.length, &pkt);
    mlx5_sig_report(e, true);
    if (result != MLX5_PAYLOAD_OK) {
        return gather_failed(e, req, 0, result);
    }
    fill_last(req, &pkt);
    pkt.npsn = 1;
    pkt.dqpn = av->dqpn;
    pkt.src_qpn = mlx5_engine_wire_qpn(e->qp);
    pkt.block_lb = MLX5_GET(qpc, e->qp->qpc, block_lb_mc);
    /* A controlled Q_Key in the WQE stands for the queue's (IBA 10.2.5). */
    pkt.qkey = av->qkey & 0x80000000u ? own_qkey : av->qkey;
    advance(&e->req);
    if (mlx5_path_datagram(e->qp, av, &pkt)) {
        emit(e, &pkt);
    }
    sent_unreliable(e, req);
    return true;
}

/* A plain swap is a masked one of all bits; a plain add is one field. */
static void fill_atomic(const Mlx5SendWqe *w, Mlx5Pkt *pkt)
{
    bool masked = w->op->flags & MLX5_WQEF_MASKED;
    uint64_t all = pkt->op == MLX5_PKT_CMP_SWAP ? UINT64_MAX : 0;

    pkt->atomic_bytes = w->length;
    pkt->swap_add = w->swap_add;
    pkt->compare = w->compare;
    pkt->swap_mask = masked ? w->swap_add_mask : all;
    pkt->compare_mask = masked ? w->compare_mask : all;
}

/* Reads and atomics: as many at a time as the context allows. */
static bool send_request(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    Mlx5Requester *r = &e->req;
    uint64_t off = r->cur_off;
    Mlx5Pkt pkt;

    if (r->responses >= 1u << MLX5_GET(qpc, e->qp->qpc, log_sra_max)) {
        return false;
    }
    fill(e, req, off, &pkt);
    if (off == 0 && req->kind == MLX5_REQ_WQE &&
        !mlx5_payload_check(e->qp, &req->wqe, MLX5_ACCESS_LOCAL_WRITE)) {
        mlx5_req_fail(e, req, MLX5_VENDOR_SCATTER_KEY);
        return true;
    }
    fill_last(req, &pkt);
    pkt.first = true;
    pkt.va += off;
    pkt.dma_len -= off;
    pkt.npsn = req->npsn - off / pkt.mtu_bytes;
    fill_atomic(&req->wqe, &pkt);
    r->responses++;
    advance(r);
    if (fill_path(e, req, &pkt)) {
        emit(e, &pkt);
    }
    return true;
}

/* Return: 0 or why it failed (Mlx5Vendor). */
static uint8_t execute_local(Mlx5QpEngine *e, const Mlx5SendWqe *w)
{
    if (w->op->flags & MLX5_WQEF_UMR) {
        Mlx5UmrResult result = mlx5_umr_execute(e->qp, w);

        return result == MLX5_UMR_OK ? 0 : mlx5_umr_vendor(result);
    }
    if (w->op->flags & MLX5_WQEF_PSV) {
        return mlx5_sig_set_psv(e->qp, w) ? 0 : MLX5_VENDOR_PSV_UNKNOWN;
    }
    return w->op->flags & MLX5_WQEF_TM ? mlx5_tm_execute(e->qp, w) : 0;
}

/* NOP, UMR, SET_PSV, tag operations: done as soon as their turn comes. */
static bool run_local(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    uint8_t vendor = execute_local(e, &req->wqe);

    if (vendor) {
        mlx5_req_fail(e, req, vendor);
        return true;
    }
    advance(&e->req);
    req->done = true;
    mlx5_req_complete(e);
    return true;
}

bool mlx5_req_send(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    Mlx5SendReq *req = mlx5_req_at(r, r->cur);

    if (req->done) {
        /* Failed or answered already, and passed again after a rewind. */
        advance(r);
        return true;
    }
    if (req->wqe.fence >= FENCE_READS && r->responses) {
        return false;
    }
    if (req->wqe.op->flags & MLX5_WQEF_LOCAL) {
        return run_local(e, req);
    }
    if (wire_waits(e, req)) {
        return false;
    }
    if (mlx5_engine_svc(e->qp) == MLX5_SVC_UD) {
        return send_datagram(e, req);
    }
    if (e->qp->st == MLX5_QP_ST_DCI && !mlx5_dci_begin(e, req)) {
        return false;
    }
    return req->response ? send_request(e, req) : send_message(e, req);
}
