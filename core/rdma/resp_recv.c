/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Responder: receives, from taking one to completing it (IBA 10.7.3, 10.8.3).
 *
 * One receive is in hand at a time. What is taken stays in hand until it is
 * completed; a message that was given up leaves it to the next (IBA 9.8.2.2.1).
 */
#include "rdma/rdma_internal.h"

static Mlx5RecvResult fetch(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Srq *srq;

    if (pkt->svc != MLX5_SVC_XRC) {
        return mlx5_recv_fetch(e->qp, e->resp.recv);
    }
    srq = mlx5_obj_get(e->qp->o.func, MLX5_OBJ_SRQ, pkt->srqn);
    if (!srq || srq->kind != MLX5_SRQ_XRC || srq->xrcd != e->qp->xrcd) {
        return MLX5_RECV_BROKEN;
    }
    return mlx5_recv_fetch_srq(srq, e->resp.recv);
}

Mlx5RespRecv mlx5_resp_take_recv(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;

    if (r->have_recv) {
        return MLX5_RESP_RECV_OK;
    }
    if (!r->recv) {
        r->recv = g_new(Mlx5RecvWqe, 1);
    }
    switch (fetch(e, pkt)) {
    case MLX5_RECV_OK:
        r->have_recv = true;
        return MLX5_RESP_RECV_OK;
    case MLX5_RECV_EMPTY:
        return MLX5_RESP_RECV_NONE;
    default:
        return MLX5_RESP_RECV_BROKEN;
    }
}

void mlx5_resp_complete(Mlx5QpEngine *e, Mlx5CqeRecv *c)
{
    Mlx5Responder *r = &e->resp;

    /* Callers took one before; the guest cannot undo that. */
    g_assert(r->have_recv);
    r->have_recv = false;
    c->wqe_counter = r->recv->index;
    c->srq = r->recv->srq;
    mlx5_cqe_post_recv(e->qp, c);
}
