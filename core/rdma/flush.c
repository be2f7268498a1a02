/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue pairs in error: what is posted completes as flushed (IBA 10.3.1.8;
 * driver: mlx5_ib qp.c mlx5_ib_drain_sq, mlx5_ib_drain_rq).
 *
 * In ERR both queues are flushed, in SQER the send queue. Work requests posted
 * later are flushed as well: sends ring a doorbell; receives ring none, so the
 * doorbell record is looked at again and again, less often as time goes by.
 */
#include "rdma/rdma_internal.h"

/* Time to the next look: an eighth of the time since the last find. */
#define LOOK_MIN_NS INT64_C(1000000)
#define LOOK_MAX_NS INT64_C(500000000)

static void post_send(Mlx5QpEngine *e, uint8_t opcode, uint16_t counter)
{
    Mlx5CqeSend c = { .wqe_opcode = opcode, .wqe_counter = counter,
                      .vendor = MLX5_VENDOR_FLUSHED };

    mlx5_cqe_post_send(e->qp, &c);
}

/* What was fetched and did not complete. Return: false if there was none. */
static bool flush_window(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    const Mlx5SendReq *req;
    uint32_t at;

    if (r->head == r->tail) {
        return false;
    }
    at = r->head++;
    req = mlx5_req_at(r, at);
    r->cur = r->tail;
    r->cur_off = 0;
    /* A rendezvous ended when the queue pair stopped (mlx5_tm_abort()). */
    if (req->kind == MLX5_REQ_WQE) {
        post_send(e, req->wqe.opcode, req->wqe.index);
    }
    mlx5_req_slot_done(e, at);
    return true;
}

/* What was posted and not fetched. */
static bool flush_posted(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    uint16_t avail = r->posted - r->fetched;
    Mlx5SendReq *req;
    uint16_t at = r->fetched;

    if (!avail) {
        return false;
    }
    if (avail > 1u << e->qp->sq_log_size) {
        /* The record was overwritten; nothing of it can be believed. */
        r->fetched = r->posted;
        return false;
    }
    req = mlx5_req_slot(e);
    mlx5_wqe_fetch(e->qp, at, avail, &req->wqe,
                   &mlx5_engine_rdma(e->qp)->ahead);
    r->fetched += MIN(avail, MAX(1u, mlx5_wqe_blocks(req->wqe.ds)));
    post_send(e, req->wqe.opcode, at);
    return true;
}

static bool flush_recv(Mlx5QpEngine *e)
{
    static const Mlx5Pkt any = { .svc = MLX5_SVC_RC };
    Mlx5CqeRecv c = { .vendor = MLX5_VENDOR_FLUSHED };

    mlx5_resp_check_recv(e);
    /* A shared queue's receives belong to all (IBA 10.3.1.8, o10-8.2.1). */
    if (!e->resp.have_recv &&
        (!e->qp->has_rq || e->qp->srq ||
         mlx5_resp_take_recv(e, &any) != MLX5_RESP_RECV_OK)) {
        return false;
    }
    mlx5_resp_complete(e, &c);
    e->flush.since_ns = mlx5_clock_ns(e->qp->o.func);
    return true;
}

static void look_later(Mlx5QpEngine *e)
{
    Mlx5Func *func = e->qp->o.func;
    int64_t now = mlx5_clock_ns(func);
    int64_t wait = (now - e->flush.since_ns) / 8;

    if (e->qp->has_rq) {
        mlx5_timer_arm(func, &e->flush.timer,
                       now + CLAMP(wait, LOOK_MIN_NS, LOOK_MAX_NS));
    }
}

/* Nothing of this QP is in the shared queue any more (IBA 11.6.3.4). */
static void last_wqe(Mlx5QpEngine *e)
{
    if (e->qp->srq && !e->flush.last_wqe_raised) {
        e->flush.last_wqe_raised = true;
        mlx5_event_raise_wq(e->qp->o.func, MLX5_EVENT_TYPE_SRQ_LAST_WQE,
                            e->qp->o.id, 0);
    }
}

static bool run(void *opaque, Mlx5Budget *budget)
{
    Mlx5QpEngine *e = opaque;

    mlx5_engine_rdma(e->qp)->ahead.qp = NULL;
    mlx5_req_read_posted(e);
    while (mlx5_budget_left(budget)) {
        bool all = e->qp->state == MLX5_QP_STATE_ERR;

        mlx5_budget_spend(budget, 0);
        if (flush_window(e) || flush_posted(e) || (all && flush_recv(e))) {
            continue;
        }
        if (all) {
            last_wqe(e);
            look_later(e);
        }
        return false;
    }
    return true;
}

static void look(void *opaque)
{
    Mlx5QpEngine *e = opaque;

    mlx5_engine_schedule(e->qp, &e->flush.work);
}

void mlx5_flush_init(Mlx5QpEngine *e)
{
    mlx5_work_init(&e->flush.work, run, e);
    mlx5_timer_init(&e->flush.timer, look, e);
}

void mlx5_flush_start(Mlx5QpEngine *e)
{
    e->flush.since_ns = mlx5_clock_ns(e->qp->o.func);
    mlx5_engine_schedule(e->qp, &e->flush.work);
}

void mlx5_flush_stop(Mlx5QpEngine *e)
{
    mlx5_work_cancel(e->qp->o.func, &e->flush.work);
    mlx5_timer_cancel(e->qp->o.func, &e->flush.timer);
    e->flush.last_wqe_raised = false;
}
