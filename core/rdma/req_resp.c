/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requester: answers and the lack of them (IBA 9.7.5 to 9.7.7).
 *
 * Nothing here sends. A handler settles what an answer settles, moves cur back
 * where something has to be sent again, and schedules the work item.
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

#define ATOMIC (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)

/* IBA table 45: the wait after an RNR NAK, in units of 10 us. */
static const uint32_t rnr_10us[32] = {
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
    16384, 24576, 32768, 49152,
};

/* The sequence number after the last one sent. */
static uint32_t sent_psn(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    const Mlx5SendReq *req;

    if (r->cur == r->tail) {
        return r->next_psn;
    }
    req = mlx5_req_at(r, r->cur);
    return mlx5_psn_add(req->psn, r->cur_off / mlx5_engine_mtu(e->qp));
}

static void made_progress(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    r->progress = true;
    r->gap = false;
    r->retries = MLX5_GET(qpc, e->qp->qpc, retry_count);
    r->rnr_retries = MLX5_GET(qpc, e->qp->qpc, rnr_retry);
}

/* Everything up to and with @psn arrived, as far as an ack can tell. */
static void acked_upto(Mlx5QpEngine *e, uint32_t psn)
{
    Mlx5Requester *r = &e->req;

    if (mlx5_psn_diff(psn, r->una) < 0) {
        return;
    }
    for (uint32_t i = r->head; i != r->tail; i++) {
        Mlx5SendReq *req = mlx5_req_at(r, i);

        if (!req->npsn || req->done) {
            continue;
        }
        if (req->response && mlx5_psn_diff(psn, req->psn) >= 0) {
            if (mlx5_psn_diff(psn, req->psn) >= (int64_t)req->npsn - 1) {
                /* What was to come before the ack was lost (IBA 9.7.5.2.2);
                 * the retransmission timer will ask again. */
                mlx5_engine_count(e->qp, implied_nak_seq_err);
            }
            /* Its data are still to come: the ack proves no more than that
             * they were asked for (IBA 9.7.5.1.2). */
            psn = mlx5_psn_add(mlx5_psn_diff(r->una, req->psn) > 0 ? r->una
                                                                  : req->psn,
                               MLX5_PSN_MASK);
            break;
        }
        if (mlx5_psn_diff(psn, mlx5_psn_add(req->psn, req->npsn - 1)) < 0) {
            break;
        }
        req->done = true;
    }
    if (mlx5_psn_diff(psn, r->una) >= 0) {
        r->una = mlx5_psn_add(psn, 1);
        made_progress(e);
    }
}

/* The unfinished request that @psn belongs to, and its place. */
static Mlx5SendReq *find(Mlx5Requester *r, uint32_t psn, uint32_t *at)
{
    for (uint32_t i = r->head; i != r->tail; i++) {
        Mlx5SendReq *req = mlx5_req_at(r, i);
        int32_t d = mlx5_psn_diff(psn, req->psn);

        if (req->npsn && d >= 0 && d < (int64_t)req->npsn) {
            *at = i;
            return req;
        }
    }
    return NULL;
}

/* Send again from @psn on. */
static void rewind_to(Mlx5QpEngine *e, uint32_t psn)
{
    Mlx5Requester *r = &e->req;
    uint32_t at;
    Mlx5SendReq *req = find(r, psn, &at);

    if (!req) {
        return;
    }
    r->cur = at;
    r->cur_off = (uint64_t)mlx5_psn_diff(psn, req->psn) *
                 mlx5_engine_mtu(e->qp);
    r->responses = 0;
    for (uint32_t i = r->head; i != at; i++) {
        r->responses += mlx5_req_at(r, i)->response &&
                        !mlx5_req_at(r, i)->done;
    }
    mlx5_engine_schedule(e->qp, &e->req.work);
}

static void fail_at(Mlx5QpEngine *e, uint32_t psn, Mlx5Vendor vendor)
{
    uint32_t at;
    Mlx5SendReq *req = find(&e->req, psn, &at);

    if (req && !req->done) {
        mlx5_req_fail(e, req, vendor);
    }
}

/* One retry less, or the end. Return: false if it is the end. */
static bool spend_retry(Mlx5QpEngine *e, uint32_t psn)
{
    Mlx5Requester *r = &e->req;

    if (r->retries == 0) {
        fail_at(e, psn, MLX5_VENDOR_RETRY_EXCEEDED);
        return false;
    }
    r->retries--;
    return true;
}

static void rnr_nak(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Requester *r = &e->req;
    uint32_t wait = rnr_10us[pkt->syndrome & MLX5_AETH_VALUE_MASK];

    if (pkt->paging) {
        /* The peer of this card waits for a page: no retry is spent. */
        made_progress(e);
    } else if (r->rnr_retries == 0) {
        fail_at(e, pkt->psn, MLX5_VENDOR_RNR_EXCEEDED);
        return;
    } else if (r->rnr_retries != 7) {
        r->rnr_retries--;
    }
    if (pkt->paging == MLX5_PAGING_HOLD) {
        return;
    }
    mlx5_engine_count(e->qp, rnr_nak_retry_err);
    rewind_to(e, pkt->psn);
    r->rnr_wait = true;
    mlx5_timer_arm(e->qp->o.func, &r->timer,
                   mlx5_clock_ns(e->qp->o.func) + wait * INT64_C(10000));
}

/* IBA table 49: what a NAK makes of the request it refuses. */
static void nak(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    static const Mlx5Vendor vendor[] = {
        [MLX5_NAK_INVALID_REQ - MLX5_AETH_NAK] = MLX5_VENDOR_REMOTE_INVAL,
        [MLX5_NAK_REMOTE_ACCESS - MLX5_AETH_NAK] = MLX5_VENDOR_REMOTE_ACCESS,
        [MLX5_NAK_REMOTE_OP - MLX5_AETH_NAK] = MLX5_VENDOR_REMOTE_OP,
    };
    uint32_t code = pkt->syndrome & MLX5_AETH_VALUE_MASK;

    if (pkt->syndrome == MLX5_NAK_PSN_SEQ) {
        if (spend_retry(e, pkt->psn)) {
            mlx5_engine_count(e->qp, packet_seq_err);
            rewind_to(e, pkt->psn);
        }
    } else if (code < G_N_ELEMENTS(vendor)) {
        fail_at(e, pkt->psn, vendor[code]);
    }
}

static void ack(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    uint8_t code = pkt->syndrome & MLX5_AETH_CODE_MASK;

    if (code == MLX5_AETH_ACK) {
        acked_upto(e, pkt->psn);
        return;
    }
    /* A NAK acknowledges what came before it (IBA 9.7.5.1.1). */
    acked_upto(e, mlx5_psn_add(pkt->psn, MLX5_PSN_MASK));
    if (code == MLX5_AETH_RNR_NAK) {
        rnr_nak(e, pkt);
    } else if (code == MLX5_AETH_NAK) {
        nak(e, pkt);
    }
}

/*
 * An answer came before the one that is expected, which was lost. It is asked
 * for again at once, and once: the timer sees to the rest (IBA 9.7.5.2.2).
 */
static void missed(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    if (r->gap || !spend_retry(e, r->una)) {
        return;
    }
    r->gap = true;
    mlx5_engine_count(e->qp, implied_nak_seq_err);
    rewind_to(e, r->una);
}

/* The request this data answers, if it is the one expected next. */
static Mlx5SendReq *expecting(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Requester *r = &e->req;
    uint32_t at;
    Mlx5SendReq *req;

    acked_upto(e, mlx5_psn_add(pkt->psn, MLX5_PSN_MASK));
    if (r->una != pkt->psn) {
        missed(e);
        return NULL;
    }
    req = find(r, pkt->psn, &at);
    return req && req->response && !req->done ? req : NULL;
}

static void answered(Mlx5QpEngine *e, Mlx5SendReq *req, uint32_t npsn)
{
    Mlx5Requester *r = &e->req;

    r->una = mlx5_psn_add(r->una, npsn);
    made_progress(e);
    if (mlx5_psn_diff(r->una, mlx5_psn_add(req->psn, req->npsn)) >= 0) {
        req->done = true;
        /* After a rewind the answer may come before it is asked again. */
        r->responses -= r->responses > 0;
    }
}

/* Does the whole answer come in the completion? Software copies it from there
 * for these operations alone (libmlx5: mlx5_copy_to_send_wqe). */
static bool into_cqe(Mlx5QpEngine *e, const Mlx5MkeyUser *user,
                     const Mlx5SendReq *req, const Mlx5Pkt *pkt)
{
    const Mlx5SendWqe *w = &req->wqe;

    return w->length <= e->qp->cs_req_bytes && pkt->len == w->length &&
           pkt->len && w->ce >= MLX5_WQE_CE_CQE &&
           (w->opcode == MLX5_OPCODE_RDMA_READ ||
            w->opcode == MLX5_OPCODE_ATOMIC_CS ||
            w->opcode == MLX5_OPCODE_ATOMIC_FA) &&
           mlx5_cqe_data_allowed(e->qp->o.func, user, w->data, w->num_data,
                                 w->length);
}

static Mlx5Payload keep(Mlx5QpEngine *e, Mlx5SendReq *req, uint64_t off,
                        const Mlx5Pkt *pkt)
{
    Mlx5MkeyUser user = req->kind == MLX5_REQ_WQE ? mlx5_engine_user(e->qp)
                                                  : mlx5_tm_user(e->qp);

    if (e->qp->cs_req_bytes && into_cqe(e, &user, req, pkt)) {
        req->cqe_bytes = pkt->len;
        return mlx5_cqe_data_read(pkt, req->cqe_data)
                   ? MLX5_PAYLOAD_OK : MLX5_PAYLOAD_MEMORY;
    }
    return mlx5_payload_scatter(e->qp->o.func, &user, req->wqe.data,
                                req->wqe.num_data, off, pkt);
}

/*
 * A page is missing where the answer goes. What came before it is kept; the
 * rest is dropped, and asked for again when the page is there.
 */
static bool scatter_waits(Mlx5QpEngine *e, Mlx5SendReq *req, uint64_t off,
                          uint32_t mtu)
{
    uint64_t part = mlx5_engine_rdma(e->qp)->part;
    Mlx5FaultWqe fault = {
        .type = MLX5_WQE_PF_TYPE_REQ_READ_OR_ATOMIC,
        .wq = e->qp->o.id,
        .index = req->wqe.index,
        .committed = off + part,
    };
    uint32_t at = 0;

    if (part) {
        answered(e, req, part / mtu);
    }
    if (mlx5_odp_waits(e, MLX5_FAULT_SCATTER)) {
        return true;
    }
    /* The caller found it just so. */
    find(&e->req, req->psn, &at);
    mlx5_odp_fault(e, MLX5_FAULT_SCATTER)->at = at;
    return mlx5_odp_raise_wqe(e, MLX5_FAULT_SCATTER, &fault);
}

void mlx5_req_scatter_resumed(Mlx5QpEngine *e, bool error)
{
    Mlx5Requester *r = &e->req;
    uint32_t at = mlx5_odp_fault(e, MLX5_FAULT_SCATTER)->at;

    if (error && at - r->head < r->tail - r->head &&
        !mlx5_req_at(r, at)->done) {
        mlx5_req_fail(e, mlx5_req_at(r, at), MLX5_VENDOR_SCATTER_PAGE);
        return;
    }
    rewind_to(e, r->una);
    mlx5_engine_schedule(e->qp, &r->work);
}

/* Keep what came back. Return: false if it was not kept, or not all. */
static bool store(Mlx5QpEngine *e, Mlx5SendReq *req, uint64_t off,
                  const Mlx5Pkt *pkt)
{
    Mlx5Payload result = keep(e, req, off, pkt);

    mlx5_sig_report(e, true);
    if (result == MLX5_PAYLOAD_FAULT) {
        if (req->kind == MLX5_REQ_WQE &&
            scatter_waits(e, req, off, pkt->mtu_bytes)) {
            return false;
        }
        result = MLX5_PAYLOAD_KEY;
    }
    if (result != MLX5_PAYLOAD_OK) {
        mlx5_req_fail(e, req, result == MLX5_PAYLOAD_KEY
                                  ? MLX5_VENDOR_SCATTER_KEY
                                  : MLX5_VENDOR_SCATTER_MEMORY);
    }
    return result == MLX5_PAYLOAD_OK;
}

static void bad_response(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    mlx5_req_fail(e, req, MLX5_VENDOR_BAD_RESPONSE);
}

/* The responder's path MTU is ours, or one packet is all (IBA 9.7.5.1.6). */
static bool answers_fit(const Mlx5Qp *qp, const Mlx5Pkt *pkt, uint64_t off)
{
    uint32_t mtu = mlx5_engine_mtu(qp);

    return pkt->mtu_bytes == mtu ||
           (!off && pkt->last && pkt->npsn == 1 && pkt->len <= mtu);
}

static void read_response(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5SendReq *req = expecting(e, pkt);
    const Mlx5SendWqe *w;
    uint64_t off;

    if (!req) {
        return;
    }
    w = &req->wqe;
    off = (uint64_t)mlx5_psn_diff(pkt->psn, req->psn) *
          mlx5_engine_mtu(e->qp);
    if (w->op->flags & ATOMIC || off > w->length ||
        pkt->len > w->length - off ||
        pkt->last != (off + pkt->len == w->length) ||
        !answers_fit(e->qp, pkt, off)) {
        bad_response(e, req);
    } else if (store(e, req, off, pkt)) {
        answered(e, req, pkt->npsn);
    }
}

static void atomic_ack(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5SendReq *req = expecting(e, pkt);
    uint8_t bytes[8];
    Mlx5Pkt data = { .bytes = bytes };

    if (!req) {
        return;
    }
    if (!(req->wqe.op->flags & ATOMIC)) {
        bad_response(e, req);
        return;
    }
    data.len = req->wqe.length;
    mlx5_atomic_store(e->qp, pkt->swap_add, data.len, bytes);
    if (store(e, req, 0, &data)) {
        answered(e, req, 1);
    }
}

void mlx5_req_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Requester *r = &e->req;
    Mlx5QpState state = e->qp->state;

    if ((state != MLX5_QP_STATE_RTS && state != MLX5_QP_STATE_SQD) ||
        r->head == r->tail) {
        return;
    }
    if (pkt->dc_conn != mlx5_req_at(r, r->head)->dc_conn) {
        return; /* DC: of a message that is over */
    }
    if (pkt->paging == MLX5_PAGING_GO) {
        if (r->rnr_wait) {
            r->rnr_wait = false;
            mlx5_timer_cancel(e->qp->o.func, &r->timer);
            mlx5_engine_schedule(e->qp, &r->work);
        }
        return;
    }
    /* Neither an old answer nor one to what was never sent (IBA 9.7.5). */
    if (mlx5_psn_diff(pkt->psn, r->una) < 0 ||
        mlx5_psn_diff(pkt->psn, sent_psn(e)) >= 0) {
        return;
    }
    switch (pkt->op) {
    case MLX5_PKT_READ_RESP:
        read_response(e, pkt);
        break;
    case MLX5_PKT_ATOMIC_ACK:
        atomic_ack(e, pkt);
        break;
    default:
        ack(e, pkt);
        break;
    }
    mlx5_req_complete(e);
    if (r->cur != r->tail || r->posted != r->fetched || r->draining ||
        mlx5_tm_rndv_waiting(e)) {
        mlx5_engine_schedule(e->qp, &r->work);
    }
}

void mlx5_req_timeout(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    if (r->una != sent_psn(e) && spend_retry(e, r->una)) {
        mlx5_engine_count(e->qp, local_ack_timeout_err);
        rewind_to(e, r->una);
    }
}

/*
 * The timer is left alone while answers come in: it runs out once, finds
 * progress, and begins anew. A real retransmission then takes between one and
 * two periods. On a wire a period is twice as long, which makes it the four that
 * IBA 9.7.6.1.3 allows at most: the peer may be an emulator on a busy machine.
 */
void mlx5_req_watch(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    const uint8_t *ads = MLX5_ADDR_OF(qpc, e->qp->qpc, primary_address_path);
    uint32_t timeout = MLX5_GET(ads, ads, ack_timeout);
    bool reliable = mlx5_engine_svc(e->qp) == MLX5_SVC_RC ||
                    mlx5_engine_svc(e->qp) == MLX5_SVC_XRC ||
                    mlx5_engine_svc(e->qp) == MLX5_SVC_DC;

    if (!reliable || !timeout || r->head == r->tail ||
        r->una == sent_psn(e) || mlx5_timer_armed(&r->timer) ||
        (e->qp->state != MLX5_QP_STATE_RTS &&
         e->qp->state != MLX5_QP_STATE_SQD)) {
        return;
    }
    r->progress = false;
    mlx5_timer_arm(e->qp->o.func, &r->timer,
                   mlx5_clock_ns(e->qp->o.func) +
                       (INT64_C(4096) << (timeout + r->wire)));
}

void mlx5_req_timer_fired(void *opaque)
{
    Mlx5QpEngine *e = opaque;
    Mlx5Requester *r = &e->req;

    if (r->rnr_wait) {
        r->rnr_wait = false;
    } else {
        /* Decided in the work item: what is queued before it, such as the
         * peer's answer on this card, gets its turn first. */
        r->expired = true;
    }
    mlx5_engine_schedule(e->qp, &r->work);
}
