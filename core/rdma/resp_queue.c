/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Responder: answers leave in the order of their requests (IBA 9.7.5.1.2).
 *
 * Most leave at once. A read of more than a little is sent by the work item,
 * MLX5_PKT_MAX_BYTES at a time; whatever is answered later waits behind it.
 */
#include "rdma/rdma_internal.h"

#include "obj/sig.h"
#include "prm/prm.h"

/* A read up to here is answered in the asker's turn. */
#define READ_AT_ONCE 4096

static void answer(Mlx5QpEngine *e, const Mlx5RespItem *item, Mlx5Pkt *pkt)
{
    *pkt = mlx5_path_header(e)->pkt;
    pkt->op = item->op;
    pkt->first = true;
    pkt->last = true;
    pkt->psn = item->psn;
    pkt->npsn = item->npsn;
    pkt->syndrome = item->syndrome;
    pkt->paging = item->paging;
    pkt->msn = item->msn;
    pkt->swap_add = item->value;
    pkt->dc_conn = e->resp.dc_conn;
}

static void emit(Mlx5QpEngine *e, Mlx5Pkt *pkt)
{
    if (mlx5_path_header(e)->connected) {
        mlx5_engine_send(e->qp, pkt);
        e->resp.wire = pkt->on_wire;
    }
}

static void emit_ack(Mlx5QpEngine *e, const Mlx5RespItem *item)
{
    Mlx5Qp *qp = e->qp;
    Mlx5Pkt pkt;

    mlx5_resp_pay(e);
    answer(e, item, &pkt);
    emit(e, &pkt);
    if (item->fatal && qp->state != MLX5_QP_STATE_ERR) {
        mlx5_qp_set_state(qp, MLX5_QP_STATE_ERR);
        /* A DC target stays as it is; its peer alone fails. */
        if (item->event && qp->st != MLX5_QP_ST_DCT) {
            mlx5_event_raise_wq(qp->o.func, item->event, qp->o.id, 0);
        }
    }
}

/* A key that was good when the read was accepted is not any more. */
static void read_refused(Mlx5QpEngine *e, const Mlx5RespItem *item)
{
    Mlx5RespItem nak = {
        .op = MLX5_PKT_ACK, .npsn = 1, .msn = item->msn,
        .psn = mlx5_psn_add(item->psn, item->sent / mlx5_engine_mtu(e->qp)),
        .syndrome = MLX5_NAK_REMOTE_ACCESS, .fatal = true,
        .event = MLX5_EVENT_TYPE_WQ_ACCESS_ERROR,
    };

    emit_ack(e, &nak);
}

/* Bytes of a key with a signature; the scratch list stays empty. */
static Mlx5Payload locate_signed(Mlx5QpEngine *e, Mlx5Mkey *mkey,
                                 const Mlx5MkeyUser *user, uint64_t va,
                                 uint64_t *len)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);
    Mlx5Payload result;

    if (!rdma->flat) {
        rdma->flat = g_malloc(MLX5_PKT_MAX_BYTES);
    }
    result = mlx5_sig_read(mkey, user, va, *len, MLX5_ACCESS_REMOTE_READ,
                           rdma->flat);
    mlx5_sig_report(e, false);
    if (result == MLX5_PAYLOAD_FAULT) {
        *len = 0;
    }
    return result;
}

/*
 * Where the next @len bytes of a read are, left in the scratch list. After a
 * fault *@len is what can go before it, in whole packets.
 */
static Mlx5Payload locate(Mlx5QpEngine *e, const Mlx5RespItem *item,
                          uint64_t *len)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);
    Mlx5MkeyUser user = { .pdn = item->pdn, .qpn = e->qp->o.id };
    Mlx5Mkey *sig = mlx5_sig_key(e->qp->o.func, item->rkey);
    Mlx5MkeyResult result;

    mlx5_ranges_clear(rdma->remote);
    if (!*len) {
        return MLX5_PAYLOAD_OK;
    }
    if (sig) {
        return locate_signed(e, sig, &user, item->va + item->sent, len);
    }
    result = mlx5_mkey_resolve(e->qp->o.func, &user, item->rkey,
                               item->va + item->sent, *len,
                               MLX5_ACCESS_REMOTE_READ, rdma->remote);
    if (result == MLX5_MKEY_FAULT) {
        *len = mlx5_payload_part(rdma->remote, mlx5_engine_mtu(e->qp));
    }
    return mlx5_payload_from_key(result);
}

/* A page of a read is missing. Return: false if nobody can bring it. */
static bool read_waits(Mlx5QpEngine *e, const Mlx5RespItem *item)
{
    uint64_t rest = item->len - item->sent;
    Mlx5FaultRdma fault = {
        .rkey = item->rkey, .va = item->va, .len = item->len,
        .committed = item->sent,
        .packet_bytes = MIN(rest, mlx5_engine_mtu(e->qp)),
    };

    return mlx5_odp_raise_rdma(e, MLX5_FAULT_READ, &fault);
}

/* A located piece of a read; @item is a copy with sent as before the piece. */
static void emit_read(Mlx5QpEngine *e, const Mlx5RespItem *item, uint64_t len)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);
    Mlx5Pkt pkt;

    answer(e, item, &pkt);
    pkt.first = item->sent == 0;
    pkt.last = item->sent + len == item->len;
    pkt.psn = mlx5_psn_add(item->psn, item->sent / pkt.mtu_bytes);
    pkt.npsn = mlx5_psn_count(len, pkt.mtu_bytes);
    pkt.src = e->qp->o.func;
    pkt.ranges = rdma->remote->data;
    pkt.num_ranges = rdma->remote->len;
    if (len && !pkt.num_ranges) {
        pkt.bytes = rdma->flat; /* locate_signed */
    }
    pkt.len = len;
    if (G_UNLIKELY(e->qp->resp_pace)) {
        mlx5_pace_charge(e->qp->resp_pace, len + (uint64_t)pkt.npsn *
                                           MLX5_PACE_ROCE_OVERHEAD);
    }
    emit(e, &pkt);
}

static Mlx5RespItem *at(Mlx5Responder *r, uint32_t i)
{
    return &r->queue[i % MLX5_RESP_QUEUE];
}

/* @item leaves the queue. */
static void uncount(Mlx5Responder *r, const Mlx5RespItem *item)
{
    r->pending -= item->op == MLX5_PKT_READ_RESP;
    r->again -= item->again;
}

static void pop(Mlx5Responder *r)
{
    uncount(r, at(r, r->head));
    r->head++;
}

/* Payload of one packet, of ours, at most. */
static uint64_t piece_max(const Mlx5Qp *qp)
{
    return G_LIKELY(!qp->resp_pace)
               ? MLX5_PKT_MAX_BYTES
               : mlx5_pace_piece(qp->resp_pace, mlx5_engine_mtu(qp),
                                 MLX5_PKT_MAX_BYTES);
}

/* One packet of a read. Return: false if it has to wait for a page. */
static bool step_read(Mlx5QpEngine *e)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem *queued = at(r, r->head), item = *queued;
    uint64_t len = MIN(item.len - item.sent, piece_max(e->qp));
    Mlx5Payload result = locate(e, &item, &len);

    if (result == MLX5_PAYLOAD_FAULT && !len && read_waits(e, &item)) {
        return false;
    }
    if (result == MLX5_PAYLOAD_KEY || (result == MLX5_PAYLOAD_FAULT && !len)) {
        pop(r);
        read_refused(e, &item);
        return true;
    }
    queued->sent += len;
    if (queued->sent == queued->len) {
        pop(r);
    }
    emit_read(e, &item, len);
    return true;
}

/* One packet. The item leaves the queue before its last packet leaves us. */
/* Return: false if the one at the head has to wait. */
static bool step(Mlx5QpEngine *e)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem item = *at(r, r->head);

    if (item.op == MLX5_PKT_READ_RESP) {
        return !mlx5_odp_waits(e, MLX5_FAULT_READ) &&
               (G_LIKELY(!r->wire) || !mlx5_engine_wire_busy(e)) &&
               (G_LIKELY(!e->qp->resp_pace) ||
                mlx5_pace_may(e->qp->resp_pace)) &&
               step_read(e);
    }
    pop(r);
    emit_ack(e, &item);
    return true;
}

/*
 * One answer for all messages of a list (IBA 9.7.5.1.1): what is owed is sent
 * when the peer has sent what it has, or before anything else is answered.
 */
bool mlx5_resp_owe(Mlx5QpEngine *e, uint32_t psn)
{
    Mlx5Responder *r = &e->resp;

    if (r->head != r->tail) {
        return false;
    }
    r->owed_psn = psn;
    r->owed_msn = r->msn;
    r->ack_owed = true;
    mlx5_engine_schedule(e->qp, &r->work);
    return true;
}

void mlx5_resp_pay(Mlx5QpEngine *e)
{
    Mlx5RespItem ack;

    if (!e->resp.ack_owed) {
        return;
    }
    e->resp.ack_owed = false;
    ack = (Mlx5RespItem){ .op = MLX5_PKT_ACK, .npsn = 1,
                          .psn = e->resp.owed_psn, .msn = e->resp.owed_msn,
                          .syndrome = MLX5_AETH_CREDITS_INVALID };
    emit_ack(e, &ack);
}

bool mlx5_resp_run(void *opaque, Mlx5Budget *budget)
{
    Mlx5QpEngine *e = opaque;
    Mlx5Responder *r = &e->resp;
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);

    mlx5_resp_pay(e);
    while (r->head != r->tail) {
        uint64_t before = rdma->moved;

        if (!mlx5_budget_left(budget)) {
            return true;
        }
        if (!step(e)) {
            return false;
        }
        mlx5_budget_spend(budget, rdma->moved - before);
    }
    return false;
}

static bool is_plain_ack(const Mlx5RespItem *item)
{
    return item->op == MLX5_PKT_ACK &&
           (item->syndrome & MLX5_AETH_CODE_MASK) == MLX5_AETH_ACK;
}

static void enqueue(Mlx5QpEngine *e, const Mlx5RespItem *item)
{
    Mlx5Responder *r = &e->resp;

    if (!r->queue) {
        r->queue = g_new(Mlx5RespItem, MLX5_RESP_QUEUE);
    }
    if (r->head != r->tail && is_plain_ack(item) &&
        is_plain_ack(at(r, r->tail - 1))) {
        /* A later ack says all that an earlier one does. */
        *at(r, r->tail - 1) = *item;
        return;
    }
    if (r->tail - r->head == MLX5_RESP_QUEUE) {
        /* Duplicates without end; the requester will ask again. */
        return;
    }
    *at(r, r->tail++) = *item;
    r->pending += item->op == MLX5_PKT_READ_RESP;
    r->again += item->again;
    mlx5_engine_schedule(e->qp, &r->work);
}

/* A short read, answered in the asker's turn if all of it is there. */
static bool read_at_once(Mlx5QpEngine *e, const Mlx5RespItem *item)
{
    uint64_t len = item->len;

    if (len > READ_AT_ONCE || e->qp->resp_pace ||
        locate(e, item, &len) != MLX5_PAYLOAD_OK) {
        return false;
    }
    emit_read(e, item, len);
    return true;
}

void mlx5_resp_push(Mlx5QpEngine *e, const Mlx5RespItem *item)
{
    e->resp.dying |= item->fatal;
    if (is_plain_ack(item)) {
        e->resp.ack_owed = false; /* this one says more */
    }
    mlx5_resp_pay(e);
    if (e->resp.head != e->resp.tail) {
        enqueue(e, item);
    } else if (item->op != MLX5_PKT_READ_RESP) {
        emit_ack(e, item);
    } else if (!read_at_once(e, item)) {
        enqueue(e, item);
    }
}

/*
 * A read that was answered whole is asked for again. The peer has gone back: it
 * will ask again, too, for what came after @psn and waits here for an answer.
 * What came before, it asks for first, so that stays.
 */
static void drop_after(Mlx5QpEngine *e, uint32_t psn)
{
    Mlx5Responder *r = &e->resp;

    while (r->head != r->tail &&
           mlx5_psn_diff(at(r, r->tail - 1)->psn, psn) > 0) {
        r->tail--;
        uncount(r, at(r, r->tail));
    }
    if (r->head == r->tail && mlx5_odp_waits(e, MLX5_FAULT_READ)) {
        mlx5_odp_drop(e, MLX5_FAULT_READ);
    }
}

bool mlx5_resp_read_queued(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;

    for (uint32_t i = r->head; i != r->tail; i++) {
        Mlx5RespItem *item = at(r, i);
        int32_t ahead = mlx5_psn_diff(pkt->psn, item->psn);
        uint64_t off;

        if (item->op != MLX5_PKT_READ_RESP || ahead < 0 ||
            ahead >= (int64_t)item->npsn) {
            continue;
        }
        /* What was sent and did not arrive is sent again. */
        off = (uint64_t)ahead * mlx5_engine_mtu(e->qp);
        item->sent = MIN(item->sent, off);
        if (mlx5_odp_waits(e, MLX5_FAULT_READ)) {
            mlx5_resp_tell_paging(e, pkt->psn, MLX5_PAGING_HOLD);
        }
        return true;
    }
    drop_after(e, pkt->psn);
    return false;
}

void mlx5_resp_tell_paging(Mlx5QpEngine *e, uint32_t psn, Mlx5PktPaging paging)
{
    Mlx5RespItem item = { .op = MLX5_PKT_ACK, .psn = psn, .npsn = 1,
                          .msn = e->resp.msn, .syndrome = MLX5_AETH_RNR_NAK,
                          .paging = paging };

    emit_ack(e, &item);
}

void mlx5_resp_read_resumed(Mlx5QpEngine *e, bool error)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem item;

    if (error && r->head != r->tail &&
        at(r, r->head)->op == MLX5_PKT_READ_RESP) {
        item = *at(r, r->head);
        e->resp.dying = true;
        pop(r);
        read_refused(e, &item);
        return;
    }
    mlx5_engine_schedule(e->qp, &r->work);
}
