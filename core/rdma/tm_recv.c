/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag matching: messages (rdma-core: Documentation/tag_matching.md).
 *
 * A message meets its tag with its first packet; from then on the tag is its
 * own. One that meets none goes the way of every send (resp_exec.c), and only
 * its completion says what it was.
 *
 * unknown: how a card reports that an expected message does not fit its
 * buffer, or that the buffer's key refuses. Here the tag completes as
 * canceled, so that software gets it back, and the sender is refused as for
 * any other receive.
 *
 * Left out: buffers of tags in regions that are paged on demand.
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

#define TMH_BYTES MLX5_ST_SZ_BYTES(tmh)

/* What a message must bring for its opcode: bytes of headers. */
static const uint8_t header_bytes[] = {
    [MLX5_TMH_NO_TAG] = 1,
    [MLX5_TMH_RNDV] = MLX5_TM_HDR_BYTES,
    [MLX5_TMH_FIN] = TMH_BYTES,
    [MLX5_TMH_EAGER] = TMH_BYTES,
};

Mlx5MkeyUser mlx5_tm_user(const Mlx5Qp *qp)
{
    Mlx5MkeyUser user = mlx5_engine_user(qp);

    user.pdn = qp->srq->pd->id;
    user.rlkey = false;
    return user;
}

/* Return: the message's opcode, or -1 if its headers are not whole. */
static int read_header(Mlx5TmMsg *msg, const Mlx5Pkt *pkt)
{
    uint64_t n = MIN(pkt->len, sizeof(msg->hdr));
    uint32_t op;

    memset(msg->hdr, 0, sizeof(msg->hdr));
    if (!n || !mlx5_pkt_peek(pkt, 0, msg->hdr, n)) {
        return -1;
    }
    op = MLX5_GET(tmh, msg->hdr, opcode);
    if (op >= G_N_ELEMENTS(header_bytes) || n < header_bytes[op]) {
        return -1;
    }
    if (op == MLX5_TMH_RNDV &&
        (!pkt->last || pkt->len > MLX5_TM_RNDV_MAX_BYTES)) {
        return -1;
    }
    return op;
}

bool mlx5_tm_begin(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5TmMsg *msg = &e->resp.tm;
    int op;

    /* It comes again, for a page of its receive was missing. */
    if (msg->delivering && e->resp.have_recv) {
        return true;
    }
    op = read_header(msg, pkt);
    msg->matched = msg->delivering = false;
    msg->app_op = MLX5_TM_APP_NO_TAG;
    if (op < 0) {
        return false;
    }
    if (op == MLX5_TMH_EAGER || op == MLX5_TMH_RNDV) {
        msg->index = mlx5_tm_list_match(mlx5_tm_list(e->qp),
                                        MLX5_GET(tmh, msg->hdr, tag));
        msg->matched = msg->index != MLX5_TM_NONE;
        msg->app_op = MLX5_TM_APP_UNEXPECTED;
    }
    return true;
}

void mlx5_tm_delivering(Mlx5QpEngine *e)
{
    Mlx5TmMsg *msg = &e->resp.tm;

    if (!msg->delivering && msg->app_op == MLX5_TM_APP_UNEXPECTED) {
        mlx5_tm_list_unexpected(mlx5_tm_list(e->qp), 1);
    }
    msg->delivering = true;
}

void mlx5_tm_cancel(Mlx5QpEngine *e, uint32_t index)
{
    Mlx5CqeTm c = { .opcode = MLX5_CQE_RESP_SEND, .index = index,
                    .app_op = MLX5_TM_APP_CANCELED };

    mlx5_cqe_post_tm(e->qp, &c);
    mlx5_tm_list_release(mlx5_tm_list(e->qp), index);
}

/* The tag's message cannot go on; its sender is told @nak. */
static void fail(Mlx5QpEngine *e, const Mlx5Pkt *pkt, uint8_t nak)
{
    Mlx5Responder *r = &e->resp;

    r->tm.matched = false;
    r->busy = false;
    mlx5_tm_cancel(e, r->tm.index);
    mlx5_resp_refuse(e, pkt, nak, 0);
}

/* The payload of @pkt to byte @off of the tag's buffer. */
static bool place(Mlx5QpEngine *e, const Mlx5TmEntry *tag, uint64_t off,
                  const Mlx5Pkt *pkt, uint8_t *nak)
{
    Mlx5MkeyUser user = mlx5_tm_user(e->qp);
    Mlx5WqeData data = { .addr = tag->addr, .len = tag->len,
                         .lkey = tag->lkey };

    *nak = MLX5_NAK_INVALID_REQ;
    if (off + pkt->len > tag->len) {
        return false;
    }
    *nak = MLX5_NAK_REMOTE_OP;
    return !pkt->len ||
           mlx5_payload_scatter(e->qp->o.func, &user, &data, 1, off,
                                pkt) == MLX5_PAYLOAD_OK;
}

/* A tag was met, its data come later. */
static void post_consumed(Mlx5QpEngine *e)
{
    Mlx5CqeTm c = { .opcode = MLX5_CQE_NO_PACKET,
                    .app_op = MLX5_TM_APP_CONSUMED,
                    .index = e->resp.tm.index, .tmh = e->resp.tm.hdr };

    mlx5_cqe_post_tm(e->qp, &c);
}

/* The last packet is in memory: the tag is software's again. */
static void complete(Mlx5QpEngine *e, const Mlx5Pkt *pkt, Mlx5TmAppOp app_op,
                     uint64_t bytes)
{
    Mlx5Responder *r = &e->resp;
    Mlx5CqeTm c = { .opcode = mlx5_resp_cqe_opcode(pkt), .app_op = app_op,
                    .index = r->tm.index, .byte_cnt = bytes, .se = pkt->se };

    c.imm = pkt->has_imm || pkt->has_inv ? pkt->imm : 0;
    if (app_op != MLX5_TM_APP_EXPECTED) {
        c.tmh = r->tm.hdr;
    }
    r->tm.matched = false;
    mlx5_cqe_post_tm(e->qp, &c);
    mlx5_tm_list_release(mlx5_tm_list(e->qp), r->tm.index);
}

static void eager(Mlx5QpEngine *e, const Mlx5Pkt *pkt, Mlx5TmEntry *tag)
{
    Mlx5Responder *r = &e->resp;
    uint64_t off = pkt->first ? 0 : r->off - TMH_BYTES;
    bool single = pkt->first && pkt->last && pkt->npsn == 1;
    Mlx5Pkt body = *pkt;
    uint8_t nak;

    if (pkt->first) {
        body.skip += TMH_BYTES;
        body.len -= TMH_BYTES;
    }
    if (pkt->first && !single) {
        post_consumed(e);
    }
    if (!place(e, tag, off, &body, &nak)) {
        fail(e, pkt, nak);
        return;
    }
    if (pkt->last && pkt->has_inv && !mlx5_resp_invalidate(e, pkt->imm)) {
        fail(e, pkt, MLX5_NAK_REMOTE_ACCESS);
        return;
    }
    if (pkt->last) {
        complete(e, pkt, single ? MLX5_TM_APP_CONSUMED_MSG
                                : MLX5_TM_APP_EXPECTED, off + body.len);
    }
    mlx5_resp_accept(e, pkt);
}

/* Not ours to read: software gets the headers where the data should be. */
static void rndv_by_software(Mlx5QpEngine *e, const Mlx5Pkt *pkt,
                             Mlx5TmEntry *tag)
{
    uint8_t nak;

    if (!place(e, tag, 0, pkt, &nak)) {
        fail(e, pkt, nak);
        return;
    }
    complete(e, pkt, MLX5_TM_APP_CONSUMED_MSG_SW_RNDV, pkt->len);
    mlx5_resp_accept(e, pkt);
}

static void rndv(Mlx5QpEngine *e, const Mlx5Pkt *pkt, Mlx5TmEntry *tag)
{
    Mlx5TmMsg *msg = &e->resp.tm;
    const uint8_t *rvh = msg->hdr + TMH_BYTES;

    if (!e->qp->rndv || MLX5_GET(rvh, rvh, len) > tag->len) {
        rndv_by_software(e, pkt, tag);
        return;
    }
    memcpy(tag->hdr, msg->hdr, sizeof(tag->hdr));
    post_consumed(e);
    msg->matched = false;
    mlx5_tm_rndv_queue(e, msg->index);
    mlx5_resp_accept(e, pkt);
}

void mlx5_tm_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5TmMsg *msg = &e->resp.tm;
    Mlx5TmEntry *tag = &mlx5_tm_list(e->qp)->entry[msg->index];

    if (MLX5_GET(tmh, msg->hdr, opcode) == MLX5_TMH_RNDV) {
        rndv(e, pkt, tag);
    } else {
        eager(e, pkt, tag);
    }
}

void mlx5_tm_abort(Mlx5QpEngine *e, bool tell)
{
    Mlx5Responder *r = &e->resp;
    Mlx5TmList *list = mlx5_tm_list(e->qp);

    if (!list) {
        return;
    }
    mlx5_tm_rndv_abort(e, tell);
    if (r->tm.matched && tell) {
        mlx5_tm_cancel(e, r->tm.index);
    } else if (r->tm.matched) {
        mlx5_tm_list_release(list, r->tm.index);
    } else if (r->tm.delivering && r->tm.app_op == MLX5_TM_APP_UNEXPECTED) {
        /* Counted when it began; software will never handle it. */
        mlx5_tm_list_unexpected(list, -1);
    }
    r->tm = (Mlx5TmMsg){ 0 };
}
