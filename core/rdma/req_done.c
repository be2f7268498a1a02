/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requester: completing work requests, in order (IBA 10.8.5, 10.10.2).
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

static void post(Mlx5QpEngine *e, const Mlx5SendReq *req)
{
    e->req.nop_silent = false;
    if (req->vendor || req->wqe.ce >= MLX5_WQE_CE_CQE) {
        mlx5_cqe_post_send(e->qp, &(Mlx5CqeSend){
            .wqe_opcode = req->wqe.opcode,
            .wqe_counter = req->wqe.index,
            .byte_cnt = req->response ? req->wqe.length : 0,
            .data = req->cqe_bytes ? req->cqe_data : NULL,
            .vendor = req->vendor,
        });
    } else if (req->wqe.opcode == MLX5_OPCODE_NOP) {
        e->req.nop_silent = true;
        e->req.nop_index = req->wqe.index;
    }
}

void mlx5_req_complete_nop(Mlx5QpEngine *e)
{
    Mlx5CqeSend c = { .wqe_opcode = MLX5_OPCODE_NOP,
                      .wqe_counter = e->req.nop_index };

    if (e->req.nop_silent) {
        e->req.nop_silent = false;
        mlx5_cqe_post_send(e->qp, &c);
    }
}

/* Unreliable services keep receiving: only the send queue stops (10.3.1.7). */
static void go_to_error(Mlx5Qp *qp)
{
    bool reliable = qp->st != MLX5_QP_ST_UC && qp->st != MLX5_QP_ST_UD;

    mlx5_qp_set_state(qp, reliable ? MLX5_QP_STATE_ERR : MLX5_QP_STATE_SQER);
}

static void check_drained(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    if (e->qp->state == MLX5_QP_STATE_SQD && !r->drained) {
        r->drained = true;
        mlx5_event_raise_wq(e->qp->o.func, MLX5_EVENT_TYPE_SQ_DRAINED,
                            e->qp->o.id, 0);
    }
}

void mlx5_req_complete(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    while (r->head != r->tail && mlx5_req_at(r, r->head)->done) {
        uint32_t at = r->head++;
        Mlx5SendReq *req = mlx5_req_at(r, at);
        bool failed;

        if (r->cur == at) {
            r->cur++;
            r->cur_off = 0;
        }
        if (req->kind == MLX5_REQ_WQE) {
            post(e, req);
        } else {
            mlx5_tm_rndv_done(e, req);
        }
        failed = req->vendor && !mlx5_dci_absorb(e, req);
        mlx5_req_slot_done(e, at);
        if (failed) {
            go_to_error(e->qp);
            return;
        }
    }
    if (r->head == r->tail) {
        check_drained(e);
    }
}

void mlx5_req_fail(Mlx5QpEngine *e, Mlx5SendReq *req, Mlx5Vendor vendor)
{
    req->vendor = vendor;
    req->done = true;
    e->req.stalled = true;
    mlx5_req_complete(e);
}
