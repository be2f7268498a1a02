/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requester: the send queue's work item (IBA 9.7.3, 10.8; driver: mlx5_ib
 * wr.c).
 *
 * doorbell -> read the send counter -> [fetch a work request -> send it, a
 * piece of MLX5_PKT_MAX_BYTES at a time]... until nothing is left, something
 * must be waited for, or the budget is spent. Answers: req_resp.c. Completion:
 * req_done.c.
 */
#include "rdma/rdma_internal.h"

#include "obj/limits.h"
#include "prm/prm.h"

/* Requests that nobody uses now and that are kept, of a function. One for a
 * sanitizer, which is to see who uses one that is over. */
#ifdef __SANITIZE_ADDRESS__
#define SPARE_MAX 1u
#else
#define SPARE_MAX 256u
#endif

static bool run(void *opaque, Mlx5Budget *budget);

void mlx5_req_init(Mlx5QpEngine *e)
{
    mlx5_work_init(&e->req.work, run, e);
    mlx5_timer_init(&e->req.timer, mlx5_req_timer_fired, e);
}

/*
 * A request of an idle queue pair takes no memory, and one that was used last
 * is still in the processor's cache: all queue pairs share what is free.
 */
static Mlx5SendReq *take(Mlx5Rdma *rdma)
{
    Mlx5SendReq *req = rdma->spare_reqs;

    if (G_UNLIKELY(!req)) {
        return g_new(Mlx5SendReq, 1);
    }
    rdma->spare_reqs = req->next_spare;
    rdma->num_spare_reqs--;
    return req;
}

void mlx5_req_slot_done(Mlx5QpEngine *e, uint32_t i)
{
    Mlx5SendReq **slot = &e->req.window[i % MLX5_REQ_WINDOW];
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);

    if (rdma->num_spare_reqs < SPARE_MAX) {
        (*slot)->next_spare = rdma->spare_reqs;
        rdma->spare_reqs = *slot;
        rdma->num_spare_reqs++;
    } else {
        g_free(*slot);
    }
    *slot = NULL;
}

void mlx5_req_free_spare(Mlx5Rdma *rdma)
{
    while (rdma->num_spare_reqs) {
        g_free(take(rdma));
    }
}

static void free_window(Mlx5QpEngine *e)
{
    for (uint32_t i = 0; e->req.window && i < MLX5_REQ_WINDOW; i++) {
        if (e->req.window[i]) {
            mlx5_req_slot_done(e, i);
        }
    }
    g_clear_pointer(&e->req.window, g_free);
}

void mlx5_req_stop(Mlx5QpEngine *e)
{
    Mlx5Func *func = e->qp->o.func;

    mlx5_work_cancel(func, &e->req.work);
    mlx5_timer_cancel(func, &e->req.timer);
    e->req.rnr_wait = false;
    e->req.expired = false;
}

void mlx5_req_reset(Mlx5QpEngine *e)
{
    mlx5_req_stop(e);
    free_window(e);
    memset(&e->req, 0, sizeof(e->req));
    mlx5_req_init(e);
}

void mlx5_req_free(Mlx5QpEngine *e)
{
    mlx5_req_stop(e);
    free_window(e);
}

void mlx5_req_start(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    r->next_psn = MLX5_GET(qpc, e->qp->qpc, next_send_psn);
    r->una = r->next_psn;
    r->retries = MLX5_GET(qpc, e->qp->qpc, retry_count);
    r->rnr_retries = MLX5_GET(qpc, e->qp->qpc, rnr_retry);
}

/* What a request is before anything is known of it: kind MLX5_REQ_WQE. */
static void clear(Mlx5SendReq *req, uint32_t psn)
{
    memset(req, 0, offsetof(Mlx5SendReq, cqe_data));
    req->psn = psn;
}

Mlx5SendReq *mlx5_req_slot(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    Mlx5SendReq **slot;

    if (r->tail - r->head == MLX5_REQ_WINDOW) {
        return NULL;
    }
    if (!r->window) {
        r->window = g_new0(Mlx5SendReq *, MLX5_REQ_WINDOW);
    }
    slot = &r->window[r->tail % MLX5_REQ_WINDOW];
    if (!*slot) {
        *slot = take(mlx5_engine_rdma(e->qp));
    }
    clear(*slot, r->next_psn);
    return *slot;
}

bool mlx5_req_read_posted(Mlx5QpEngine *e)
{
    Mlx5Qp *qp = e->qp;
    uint32_t counter;

    /* Word 1; the low 16 bits count (PRM: Doorbell Record). */
    if (!qp->has_sq || qp->dbr_less || !mlx5_dma_read_be32(qp->o.func, qp->dbr_gpa + 4,
                                           &counter)) {
        return false;
    }
    e->req.posted = counter;
    return true;
}

/*
 * Does the message exceed what the service carries (IBA 9.4.1, 9.8.3.1)? A
 * queue pair may ask for less than the device's log_max_msg. One that asks for
 * all of it, as the drivers do, gets what IBA allows, 2^31 bytes: drivers read
 * log_max_msg as 2^30 from every card, and applications send more.
 * Return: 0 if not.
 */
static uint8_t too_long(const Mlx5Qp *qp, const Mlx5SendWqe *wqe)
{
    uint32_t log_max = MLX5_GET(qpc, qp->qpc, log_msg_max);

    if (mlx5_engine_svc(qp) == MLX5_SVC_UD) {
        return wqe->length > mlx5_engine_port_mtu(qp->o.func)
                   ? MLX5_VENDOR_MSG_MTU : 0;
    }
    return log_max && log_max < MLX5_LOG_MAX_MSG &&
                   wqe->length > UINT64_C(1) << log_max
               ? MLX5_VENDOR_MSG_QP_MAX : 0;
}

/* What is wrong with the request just fetched. Return: 0 if nothing. */
static uint8_t verdict(const Mlx5Qp *qp, uint16_t avail, Mlx5WqeError error,
                       const Mlx5SendWqe *wqe)
{
    if (avail > 1u << qp->sq_log_size) {
        return MLX5_VENDOR_SQ_OVERFLOW;
    }
    if (error != MLX5_WQE_OK) {
        return mlx5_wqe_error_vendor(error);
    }
    if (wqe->length > MLX5_MSG_MAX_BYTES) { /* with signatures, it is */
        return MLX5_VENDOR_MSG_MAX;
    }
    return too_long(qp, wqe);
}

/* Sequence numbers a parsed request uses; local ones use none. */
static inline void number(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    const Mlx5SendWqe *w = &req->wqe;

    if (w->op->flags & MLX5_WQEF_LOCAL) {
        return;
    }
    req->response = w->op->flags & MLX5_WQEF_SCATTER;
    req->npsn = w->op->flags & (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)
                    ? 1
                    : mlx5_psn_count(w->length, mlx5_engine_mtu(e->qp));
    e->req.next_psn = mlx5_psn_add(e->req.next_psn, req->npsn);
}

/* The read and the FIN of a rendezvous. Return: false if there is no room. */
static bool fetch_rndv(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    if (r->tail - r->head > MLX5_REQ_WINDOW - 2) {
        return false;
    }
    for (Mlx5ReqKind kind = MLX5_REQ_RNDV_READ; kind <= MLX5_REQ_RNDV_FIN;
         kind++) {
        Mlx5SendReq *req = mlx5_req_slot(e);

        mlx5_tm_rndv_fill(e, req, kind);
        r->tail++;
        number(e, req);
    }
    return true;
}

/*
 * Make lengths those on the wire. An atomic's is what it works on, and can be
 * no other.
 */
static Mlx5WqeError count_signatures(Mlx5Func *func, Mlx5SendWqe *w)
{
    uint64_t before = w->length;

    mlx5_sig_lengths(func, w->data, w->num_data, &w->length);
    return w->length != before &&
                   w->op->flags & (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)
               ? MLX5_WQE_ERR_ATOMIC_SIZE : MLX5_WQE_OK;
}

/* Return: false if there is nothing to fetch, or no room or leave to. */
static bool fetch(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    Mlx5Qp *qp = e->qp;
    uint16_t avail = r->posted - r->fetched;
    Mlx5WqeError error;
    Mlx5SendReq *req;
    uint8_t vendor;

    if (qp->state != MLX5_QP_STATE_RTS || r->stalled) {
        return false;
    }
    if (G_UNLIKELY(mlx5_tm_rndv_waiting(e))) {
        return fetch_rndv(e);
    }
    if (!avail) {
        return false;
    }
    req = mlx5_req_slot(e);
    if (!req) {
        return false;
    }
    error = mlx5_wqe_fetch(qp, r->fetched, avail, &req->wqe,
                           &mlx5_engine_rdma(qp)->ahead);
    if (G_UNLIKELY(qp->o.func->sig_keys) && error == MLX5_WQE_OK) {
        error = count_signatures(qp->o.func, &req->wqe);
    }
    mlx5_wqe_trace(qp, &req->wqe, error, r->next_psn);
    req->wqe.index = r->fetched;
    r->fetched += MIN(avail, MAX(1u, mlx5_wqe_blocks(req->wqe.ds)));
    r->tail++;
    vendor = verdict(qp, avail, error, &req->wqe);
    if (!vendor && r->errored_streams &&
        mlx5_dci_stream_stopped(e, &req->wqe)) {
        vendor = MLX5_VENDOR_FLUSHED;
    }
    if (vendor) {
        mlx5_req_fail(e, req, vendor);
    } else {
        number(e, req);
    }
    return true;
}

/* One piece of a request. Return: false if there is nothing to do now. */
static bool step(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    Mlx5QpState state = e->qp->state;

    if ((state != MLX5_QP_STATE_RTS && state != MLX5_QP_STATE_SQD) ||
        r->rnr_wait || mlx5_req_waits_page(e)) {
        return false;
    }
    if (G_UNLIKELY(r->draining) &&
        (r->cur == r->tail || mlx5_sig_may_stop(mlx5_req_at(r, r->cur)))) {
        mlx5_sig_drain(e);
        return false;
    }
    if (r->cur == r->tail) {
        if (!fetch(e)) {
            return false;
        }
        if (r->cur == r->tail) {
            return true; /* refused, and completed as such */
        }
    }
    if (G_UNLIKELY(e->qp->req_pace) && !mlx5_pace_may(e->qp->req_pace)) {
        return false;
    }
    return mlx5_req_send(e);
}

static bool run(void *opaque, Mlx5Budget *budget)
{
    Mlx5QpEngine *e = opaque;
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);

    rdma->ahead.qp = NULL;
    if (e->req.expired) {
        e->req.expired = false;
        if (!e->req.progress && !mlx5_req_waits_page(e)) {
            mlx5_req_timeout(e);
        }
    }
    while (mlx5_budget_left(budget)) {
        uint64_t before = rdma->moved;

        if (!step(e)) {
            mlx5_req_watch(e);
            return false;
        }
        mlx5_budget_spend(budget, rdma->moved - before);
    }
    mlx5_req_watch(e);
    return true;
}

void mlx5_req_posted_to(Mlx5QpEngine *e, uint16_t counter)
{
    Mlx5Requester *r = &e->req;
    uint16_t avail = counter - r->fetched;

    if (avail > 1u << e->qp->sq_log_size ||
        avail <= (uint16_t)(r->posted - r->fetched)) {
        return;
    }
    r->posted = counter;
    mlx5_engine_schedule(e->qp, e->qp->state == MLX5_QP_STATE_ERR ||
                                        e->qp->state == MLX5_QP_STATE_SQER
                                    ? &e->flush.work : &r->work);
}

void mlx5_req_doorbell(Mlx5QpEngine *e)
{
    if (mlx5_req_read_posted(e)) {
        mlx5_engine_schedule(e->qp, &e->req.work);
    }
}
