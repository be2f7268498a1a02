/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Responder: the place of a request in its sequence (IBA 9.7.4, 9.8.2).
 *
 * state -> sender -> sequence number -> resp_exec.c -> answer (resp_queue.c)
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

void mlx5_resp_init(Mlx5QpEngine *e)
{
    mlx5_work_init(&e->resp.work, mlx5_resp_run, e);
}

void mlx5_resp_free(Mlx5QpEngine *e)
{
    mlx5_work_cancel(e->qp->o.func, &e->resp.work);
    g_clear_pointer(&e->resp.queue, g_free);
    g_clear_pointer(&e->resp.atomics, g_free);
    g_clear_pointer(&e->resp.cqe_data, g_free);
    g_clear_pointer(&e->resp.recv, g_free);
}

void mlx5_resp_reset(Mlx5QpEngine *e)
{
    mlx5_resp_free(e);
    memset(&e->resp, 0, sizeof(e->resp));
    mlx5_resp_init(e);
}

/* Asked again what was done already (IBA 9.7.5.1.5). */
static void duplicate_atomic(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;

    for (uint32_t i = 0; r->atomics && i < MLX5_RESP_ATOMICS; i++) {
        if (r->atomics[i].valid && r->atomics[i].psn == pkt->psn) {
            Mlx5RespItem item = { .op = MLX5_PKT_ATOMIC_ACK, .psn = pkt->psn,
                                  .npsn = 1, .msn = r->msn,
                                  .value = r->atomics[i].value };

            mlx5_resp_push(e, &item);
            return;
        }
    }
}

/* @pkt begins with the expected sequence number. */
static void next_in_order(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    if (mlx5_odp_waits(e, MLX5_FAULT_REQUEST)) {
        mlx5_resp_put_off(e, pkt);
        return;
    }
    e->resp.nak_sent = e->resp.rnr_sent = false;
    if (e->resp.page_failed) {
        mlx5_resp_page_failed(e, pkt);
        return;
    }
    mlx5_resp_execute(e, pkt);
}

static void duplicate(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    uint32_t old = mlx5_psn_diff(r->epsn, pkt->psn);
    Mlx5Pkt rest = *pkt;

    mlx5_engine_count(e->qp, duplicate_request);
    if (pkt->op == MLX5_PKT_CMP_SWAP || pkt->op == MLX5_PKT_FETCH_ADD) {
        duplicate_atomic(e, pkt);
    } else if (pkt->op == MLX5_PKT_READ) {
        mlx5_resp_read_again(e, pkt);
    } else if (old < pkt->npsn) {
        /* Its first packets are old, the others are not. */
        rest.first = false;
        rest.psn = r->epsn;
        rest.npsn -= old;
        rest.skip += (uint64_t)old * pkt->mtu_bytes;
        rest.len -= (uint64_t)old * pkt->mtu_bytes;
        next_in_order(e, &rest);
    } else {
        Mlx5RespItem item = { .op = MLX5_PKT_ACK, .msn = r->msn, .npsn = 1,
                              .psn = mlx5_psn_add(r->epsn, MLX5_PSN_MASK),
                              .syndrome = MLX5_AETH_CREDITS_INVALID };

        mlx5_resp_push(e, &item);
    }
}

static void reliable(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    int32_t ahead = mlx5_psn_diff(pkt->psn, r->epsn);

    /* What follows a request that found no receive is no surprise. */
    if (ahead > 0 && !r->rnr_sent) {
        mlx5_engine_count(e->qp, out_of_sequence);
    }
    if (ahead < 0) {
        duplicate(e, pkt);
    } else if (ahead == 0) {
        next_in_order(e, pkt);
    } else if (!r->nak_sent) {
        Mlx5RespItem item = { .op = MLX5_PKT_ACK, .psn = r->epsn, .npsn = 1,
                              .msn = r->msn, .syndrome = MLX5_NAK_PSN_SEQ };

        /* Once, until the missing one arrives (IBA 9.7.5.2.8). */
        r->nak_sent = true;
        mlx5_resp_push(e, &item);
    }
}

/* What was lost is gone; a new message may begin anywhere (IBA 9.8.2.2.1). */
static void unreliable(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;

    if (pkt->op > MLX5_PKT_WRITE) {
        return;
    }
    if (pkt->psn != r->epsn || (pkt->first && r->busy)) {
        r->busy = false;
        r->epsn = pkt->psn;
    }
    if (!pkt->first && !r->busy) {
        r->epsn = mlx5_psn_add(pkt->psn, pkt->npsn);
        return;
    }
    mlx5_resp_execute(e, pkt);
}

static bool may_receive(const Mlx5Qp *qp)
{
    return qp->state >= MLX5_QP_STATE_RTR && qp->state <= MLX5_QP_STATE_SQD;
}

/* Data before the consumer was told of the connection (IBA 11.6.3.3). */
static void establish(Mlx5QpEngine *e)
{
    if (!e->resp.established && e->qp->state == MLX5_QP_STATE_RTR) {
        mlx5_event_raise_wq(e->qp->o.func, MLX5_EVENT_TYPE_COMM_EST,
                            e->qp->o.id, 0);
    }
    e->resp.established = true;
}

void mlx5_resp_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    if (!may_receive(e->qp) || e->resp.dying) {
        mlx5_engine_refuse(e->qp->o.func, pkt);
        return;
    }
    if (pkt->svc == MLX5_SVC_UD) {
        mlx5_ud_receive(e, pkt);
        return;
    }
    if (!mlx5_path_from_peer(e->qp, &pkt->addr)) {
        mlx5_engine_refuse(e->qp->o.func, pkt);
        return;
    }
    establish(e);
    if (pkt->svc == MLX5_SVC_UC) {
        unreliable(e, pkt);
    } else {
        reliable(e, pkt);
    }
}
