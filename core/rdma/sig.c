/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys with a signature in work requests: lengths, payload that has to be
 * looked at, and errors (PRM: Signature Handover; driver: mlx5_ib cq.c; libmlx5
 * cq.c, mlx5dv_qp_cancel_posted_send_wrs(3)).
 *
 * An error of a signature fails no work request. It is told once per arming of
 * the key, in a completion of its own that comes before that of the transfer:
 * in the send queue's CQ for what this side asked for, else in the receive
 * queue's (unknown: which one real cards choose for the peer's accesses).
 *
 * A queue pair with qpc.drain_sigerr stops after such an error in what it
 * sent: it begins no further work request, goes to SQD when what it began is
 * complete, and the rest is fetched anew when it goes on, for software may
 * have changed it.
 */
#include "rdma/rdma_internal.h"

#include "obj/psv.h"
#include "obj/sig.h"
#include "prm/prm.h"

bool mlx5_sig_in_data(Mlx5Func *func, const Mlx5WqeData *data, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        if (!data[i].inline_at && mlx5_sig_key(func, data[i].lkey)) {
            return true;
        }
    }
    return false;
}

void mlx5_sig_lengths(Mlx5Func *func, Mlx5WqeData *data, uint32_t num,
                      uint64_t *total)
{
    for (uint32_t i = 0; i < num; i++) {
        uint32_t before = data[i].len;

        if (!data[i].inline_at) {
            mlx5_sig_local(func, data[i].lkey, &data[i].addr, &data[i].len);
            *total += (uint64_t)data[i].len - before;
        }
    }
}

static Mlx5Payload payload_of(Mlx5MkeyResult result)
{
    return result == MLX5_MKEY_MEMORY ? MLX5_PAYLOAD_MEMORY
                                      : mlx5_payload_from_key(result);
}

/* For mlx5_sig_report(), which the caller's caller calls. */
static void note_failed(Mlx5Mkey *mkey)
{
    Mlx5Rdma *rdma = mkey->o.func->rdma;

    if (mkey->sig->failed && !g_ptr_array_find(rdma->sig_failed, mkey, NULL)) {
        g_ptr_array_add(rdma->sig_failed, mkey);
    }
}

Mlx5Payload mlx5_sig_read(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                          uint64_t va, uint64_t len, uint32_t access,
                          uint8_t *to)
{
    Mlx5MkeyResult result = mlx5_sig_gather(mkey, user, va, len, access, to);

    note_failed(mkey);
    return payload_of(result);
}

Mlx5Payload mlx5_sig_write(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                           uint64_t va, uint32_t access, const Mlx5Pkt *pkt,
                           uint64_t off, uint64_t len)
{
    /* A packet has MLX5_PKT_MAX_BYTES at most (rdma/packet.h). */
    g_autofree uint8_t *bytes = g_malloc(len);
    Mlx5MkeyResult result;

    if (!mlx5_pkt_peek(pkt, off, bytes, len)) {
        return MLX5_PAYLOAD_MEMORY;
    }
    result = mlx5_sig_scatter(mkey, user, va, len, access, bytes);
    note_failed(mkey);
    return payload_of(result);
}

static void report(Mlx5Qp *qp, Mlx5Mkey *mkey, bool send)
{
    const Mlx5SigError *error = &mkey->sig->error;
    uint8_t cqe[64] = { 0 };
    Mlx5Cq *cq = send || !qp->recv_cq ? qp->send_cq : qp->recv_cq;

    mkey->sig->failed = false;
    MLX5_SET(cqe_sig_err, cqe, expected_trans_sig, error->expected >> 32);
    MLX5_SET(cqe_sig_err, cqe, actual_trans_sig, error->actual >> 32);
    MLX5_SET(cqe_sig_err, cqe, expected_reftag, (uint32_t)error->expected);
    MLX5_SET(cqe_sig_err, cqe, actual_reftag, (uint32_t)error->actual);
    MLX5_SET(cqe_sig_err, cqe, syndrome, error->syndrome);
    MLX5_SET(cqe_sig_err, cqe, domain, error->domain);
    MLX5_SET(cqe_sig_err, cqe, mkey, mkey->o.id << 8 | mkey->variant);
    MLX5_SET(cqe_sig_err, cqe, err_offset, error->offset);
    MLX5_SET(cqe_sig_err, cqe, qpn, qp->o.id);
    MLX5_SET(cqe_sig_err, cqe, opcode, MLX5_CQE_SIG_ERR);
    mlx5_trace(qp->o.func, MLX5_TRACE_STATE,
               "signature error mkey 0x%x syndrome 0x%x offset %"
               G_GUINT64_FORMAT, mkey->o.id, error->syndrome, error->offset);
    if (cq) {
        mlx5_cq_post(cq, cqe, true);
    }
}

void mlx5_sig_report_failed(Mlx5QpEngine *e, bool send)
{
    GPtrArray *failed = mlx5_engine_rdma(e->qp)->sig_failed;

    for (guint i = 0; i < failed->len; i++) {
        report(e->qp, g_ptr_array_index(failed, i), send);
    }
    g_ptr_array_set_size(failed, 0);
    if (send && MLX5_GET(qpc, e->qp->qpc, drain_sigerr)) {
        e->req.draining = true;
    }
}

/* Give back what was fetched and not begun. */
static void unfetch(Mlx5Requester *r)
{
    const Mlx5SendReq *req;

    if (r->cur == r->tail) {
        return;
    }
    req = mlx5_req_at(r, r->cur);
    if (!mlx5_sig_may_stop(req)) {
        return; /* a rendezvous, which does not stand in the ring */
    }
    r->next_psn = req->psn;
    r->fetched = req->wqe.index;
    r->tail = r->cur;
}

void mlx5_sig_drain(Mlx5QpEngine *e)
{
    Mlx5Requester *r = &e->req;

    unfetch(r);
    if (r->head == r->tail && e->qp->state == MLX5_QP_STATE_RTS) {
        r->draining = false;
        mlx5_qp_set_state(e->qp, MLX5_QP_STATE_SQD);
    }
}

bool mlx5_sig_set_psv(Mlx5Qp *qp, const Mlx5SendWqe *wqe)
{
    Mlx5Psv *psv = mlx5_psv_find(qp->o.func, mlx5_qp_pdn(qp), wqe->psvn);

    if (psv) {
        psv->transient = wqe->psv;
    }
    return psv;
}
