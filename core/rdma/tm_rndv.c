/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag matching: rendezvous (rdma-core: Documentation/tag_matching.md; driver:
 * qpc.offload_type).
 *
 * The queue pair that received the request reads the data and then sends a
 * FIN: two requests of the card's own, put into the requester's window before
 * what the guest posted. They have sequence numbers, are sent again and time
 * out like all others; they complete towards the tag's queue and not the send
 * queue, which the queue pair need not have.
 *
 * unknown: what a card does with the tag when the read fails. Here it
 * completes as canceled, and the queue pair goes to error.
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

/* Inline bytes of FIN stand behind where a control segment would be. */
#define FIN_AT MLX5_ST_SZ_BYTES(wqe_ctrl)
#define FENCE_READS 2

void mlx5_tm_rndv_queue(Mlx5QpEngine *e, uint32_t index)
{
    Mlx5Requester *r = &e->req;
    Mlx5TmList *list = mlx5_tm_list(e->qp);

    /* Each waits in its tag; there are no more than tags. */
    list->entry[index].next = MLX5_TM_NONE;
    if (r->rndv_count++) {
        list->entry[r->rndv_last].next = index;
    } else {
        r->rndv_first = index;
    }
    r->rndv_last = index;
    mlx5_engine_schedule(e->qp, &r->work);
}

static uint32_t take_first(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;
    uint32_t index = r->rndv_first;

    r->rndv_first = mlx5_tm_list(e->qp)->entry[index].next;
    r->rndv_count--;
    return index;
}

static void fill_read(Mlx5SendWqe *w, const Mlx5TmEntry *tag)
{
    const uint8_t *rvh = tag->hdr + MLX5_ST_SZ_BYTES(tmh);

    w->opcode = MLX5_OPCODE_RDMA_READ;
    w->raddr = MLX5_GET(rvh, rvh, va);
    w->rkey = MLX5_GET(rvh, rvh, rkey);
    w->length = MLX5_GET(rvh, rvh, len);
    if (w->length) {
        w->num_data = 1;
        w->data[0] = (Mlx5WqeData){ .addr = tag->addr, .len = w->length,
                                    .lkey = tag->lkey };
    }
}

static void fill_fin(Mlx5SendWqe *w, const Mlx5TmEntry *tag)
{
    w->opcode = MLX5_OPCODE_SEND;
    w->fence = FENCE_READS;
    memcpy(w->raw + FIN_AT, tag->hdr, sizeof(tag->hdr));
    MLX5_SET(tmh, w->raw + FIN_AT, opcode, MLX5_TMH_FIN);
    w->length = sizeof(tag->hdr);
    w->num_data = 1;
    w->has_inline = true;
    w->data[0] = (Mlx5WqeData){ .len = sizeof(tag->hdr), .inline_at = FIN_AT };
}

void mlx5_tm_rndv_fill(Mlx5QpEngine *e, Mlx5SendReq *req, Mlx5ReqKind kind)
{
    Mlx5TmList *list = mlx5_tm_list(e->qp);
    Mlx5SendWqe *w = &req->wqe;

    mlx5_wqe_clear(w);
    req->kind = kind;
    if (kind == MLX5_REQ_RNDV_READ) {
        /* Off the list only with its FIN. */
        req->tag = e->req.rndv_first;
        fill_read(w, &list->entry[req->tag]);
    } else {
        req->tag = take_first(e);
        fill_fin(w, &list->entry[req->tag]);
    }
    w->op = mlx5_wqe_op(w->opcode);
}

void mlx5_tm_rndv_done(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    Mlx5CqeTm c = { .opcode = MLX5_CQE_RESP_SEND,
                    .app_op = MLX5_TM_APP_EXPECTED, .index = req->tag,
                    .byte_cnt = req->wqe.length };

    if (req->kind != MLX5_REQ_RNDV_READ) {
        return;
    }
    if (req->vendor) {
        mlx5_vendor_count(mlx5_q_counter_get(e->qp->o.func,
                                             mlx5_qp_counter(e->qp)),
                          req->vendor, true);
        mlx5_tm_cancel(e, req->tag);
        return;
    }
    mlx5_cqe_post_tm(e->qp, &c);
    mlx5_tm_list_release(mlx5_tm_list(e->qp), req->tag);
}

static void end(Mlx5QpEngine *e, uint32_t index, bool tell)
{
    if (tell) {
        mlx5_tm_cancel(e, index);
    } else {
        mlx5_tm_list_release(mlx5_tm_list(e->qp), index);
    }
}

void mlx5_tm_rndv_abort(Mlx5QpEngine *e, bool tell)
{
    Mlx5Requester *r = &e->req;

    for (uint32_t i = r->head; i != r->tail; i++) {
        Mlx5SendReq *req = mlx5_req_at(r, i);

        if (req->kind == MLX5_REQ_RNDV_READ) {
            end(e, req->tag, tell);
            /* What is left of the two in the window ends in silence. */
            req->kind = MLX5_REQ_RNDV_FIN;
        }
    }
    while (r->rndv_count) {
        end(e, take_first(e), tell);
    }
}
