/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Responder: receives, from taking one to completing it (IBA 10.7.3, 10.8.3).
 *
 * One receive is in hand at a time. What is taken stays in hand until it is
 * completed; a message that was given up leaves it to the next (IBA 9.8.2.2.1).
 */
#include "rdma/rdma_internal.h"

Mlx5Srq *mlx5_resp_xrc_srq(const Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Srq *srq = mlx5_obj_get(e->qp->o.func, MLX5_OBJ_SRQ, pkt->srqn);

    return srq && srq->kind == MLX5_SRQ_XRC && srq->xrcd == e->qp->xrcd
               ? srq : NULL;
}

/* XRC: the packet names the queue. */
static Mlx5RespRecv fetch_xrc(Mlx5QpEngine *e, const Mlx5Pkt *pkt,
                              Mlx5RecvResult *result)
{
    Mlx5Srq *srq = mlx5_resp_xrc_srq(e, pkt);

    if (!srq) {
        return MLX5_RESP_RECV_INVALID;
    }
    *result = mlx5_recv_fetch_srq(srq, e->resp.recv);
    return MLX5_RESP_RECV_OK;
}

Mlx5RespRecv mlx5_resp_take_recv(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RecvResult result;

    if (r->have_recv) {
        return MLX5_RESP_RECV_OK;
    }
    if (!r->recv) {
        r->recv = g_new(Mlx5RecvWqe, 1);
    }
    if (pkt->svc != MLX5_SVC_XRC) {
        result = mlx5_recv_fetch(e->qp, r->recv);
    } else if (fetch_xrc(e, pkt, &result) != MLX5_RESP_RECV_OK) {
        return MLX5_RESP_RECV_INVALID;
    }
    r->have_recv = result == MLX5_RECV_OK;
    if (r->have_recv) {
        if (G_UNLIKELY(e->qp->o.func->sig_keys)) {
            mlx5_sig_lengths(e->qp->o.func, r->recv->data, r->recv->num_data,
                             &r->recv->length);
        }
        return MLX5_RESP_RECV_OK;
    }
    return result == MLX5_RECV_EMPTY ? MLX5_RESP_RECV_NONE
                                     : MLX5_RESP_RECV_BROKEN;
}

void mlx5_resp_check_recv(Mlx5QpEngine *e)
{
    Mlx5Responder *r = &e->resp;

    if (r->have_recv && !mlx5_recv_alive(e->qp->o.func, r->recv)) {
        r->have_recv = false;
        /* The rest of its message is out of order now. */
        r->busy = r->busy && r->busy_op != MLX5_PKT_SEND;
    }
}

/* Does the whole message come in the completion? */
static bool into_cqe(const Mlx5QpEngine *e, const Mlx5MkeyUser *user,
                     const Mlx5Pkt *pkt)
{
    const Mlx5RecvWqe *recv = e->resp.recv;

    return pkt->first && pkt->last && pkt->len &&
           pkt->len <= e->qp->cs_res_bytes &&
           mlx5_cqe_data_allowed(e->qp->o.func, user, recv->data,
                                 recv->num_data, pkt->len);
}

Mlx5Payload mlx5_resp_scatter(Mlx5QpEngine *e, uint64_t off,
                              const Mlx5Pkt *pkt)
{
    const Mlx5RecvWqe *recv = e->resp.recv;
    Mlx5MkeyUser user = mlx5_engine_user(e->qp);
    Mlx5Payload result;

    if (recv->srq && recv->srq->pd) {
        /* A shared queue's receives are in its own domain (IBA 10.2.9.2). */
        user.pdn = recv->srq->pd->id;
    }
    if (e->qp->cs_res_bytes && into_cqe(e, &user, pkt)) {
        e->resp.cqe_bytes = pkt->len;
        if (!e->resp.cqe_data) {
            e->resp.cqe_data = g_malloc(MLX5_CQE_DATA_MAX);
        }
        return mlx5_cqe_data_read(pkt, e->resp.cqe_data)
                   ? MLX5_PAYLOAD_OK : MLX5_PAYLOAD_MEMORY;
    }
    result = mlx5_payload_scatter(e->qp->o.func, &user, recv->data,
                                  recv->num_data, off, pkt);
    mlx5_sig_report(e, false);
    return result;
}

Mlx5Vendor mlx5_resp_scatter_vendor(Mlx5Payload result)
{
    return result == MLX5_PAYLOAD_MEMORY ? MLX5_VENDOR_RECV_MEMORY
                                         : MLX5_VENDOR_RECV_KEY;
}

void mlx5_resp_complete(Mlx5QpEngine *e, Mlx5CqeRecv *c)
{
    Mlx5Responder *r = &e->resp;

    /* Callers took one before; the guest cannot undo that. */
    g_assert(r->have_recv);
    r->have_recv = false;
    c->data = r->cqe_bytes ? r->cqe_data : NULL;
    r->cqe_bytes = 0;
    c->wqe_counter = r->recv->index;
    c->srq = r->recv->srq;
    mlx5_cqe_post_recv(e->qp, c);
}
