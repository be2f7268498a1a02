/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DC initiators: what the requester does otherwise (PRM: DC Transport, DCI
 * streams; libmlx5: mlx5_send_wr_set_dc_addr_stream, mlx5dv_create_qp(3)).
 *
 * The target is named in each work request. A message is a connection of its
 * own (dct.c): it begins when all before it are answered. That costs nothing
 * inside the card, where a message is answered in its own turn, and what goes
 * wrong concerns one message alone.
 *
 * Streams: with log_num_dci_stream_channels, an error stops the stream of the
 * work request, not the queue. What follows on that stream is flushed until
 * the stream is reset (RTS2RTS_QP). When 2^log_num_dci_errored_streams are in
 * error, the queue pair goes to ERR. Stream numbers share the channels there
 * are, modulo their number.
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

static uint64_t channel_bit(const Mlx5Qp *qp, uint16_t stream)
{
    uint32_t log = MLX5_GET(qpc, qp->qpc, log_num_dci_stream_channels);

    /* CREATE_QP has seen to it: MLX5_LOG_MAX_DCI_STREAMS. */
    g_assert(log <= 6);
    return UINT64_C(1) << (stream & ((1u << log) - 1));
}

static bool has_streams(const Mlx5Qp *qp)
{
    return qp->st == MLX5_QP_ST_DCI &&
           MLX5_GET(qpc, qp->qpc, log_num_dci_stream_channels);
}

bool mlx5_dci_stream_stopped(const Mlx5QpEngine *e, const Mlx5SendWqe *wqe)
{
    return e->req.errored_streams & channel_bit(e->qp, wqe->stream);
}

bool mlx5_dci_begin(Mlx5QpEngine *e, Mlx5SendReq *req)
{
    Mlx5Requester *r = &e->req;
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);

    if (r->head != r->cur) {
        return false;
    }
    if (!req->dc_conn) {
        /* 0 stands for none. */
        rdma->dc_conns += rdma->dc_conns == UINT32_MAX ? 2 : 1;
        req->dc_conn = rdma->dc_conns;
        r->una = req->psn;
        r->responses = 0;
        r->retries = MLX5_GET(qpc, e->qp->qpc, retry_count);
        r->rnr_retries = MLX5_GET(qpc, e->qp->qpc, rnr_retry);
    }
    return true;
}

void mlx5_dci_fill(const Mlx5SendReq *req, Mlx5Pkt *pkt)
{
    pkt->dqpn = req->wqe.av.dqpn;
    pkt->dc_key = req->wqe.av.dc_key;
    pkt->dc_conn = req->dc_conn;
    pkt->dc_psn = req->psn;
}

bool mlx5_dci_absorb(Mlx5QpEngine *e, const Mlx5SendReq *req)
{
    Mlx5Requester *r = &e->req;
    Mlx5Qp *qp = e->qp;
    uint32_t limit = 1u << MLX5_GET(qpc, qp->qpc, log_num_dci_errored_streams);
    uint64_t bit;

    /* What could not be taken apart says nothing of a stream. */
    if (!has_streams(qp) || (!req->npsn && req->vendor != MLX5_VENDOR_FLUSHED)) {
        return false;
    }
    bit = channel_bit(qp, req->wqe.stream);
    r->errored_streams |= bit;
    if ((uint32_t)__builtin_popcountll(r->errored_streams) >= limit) {
        return false;
    }
    r->stalled = false;
    return true;
}

bool mlx5_dci_stream_reset(Mlx5Qp *qp, uint16_t id)
{
    Mlx5Requester *r = &qp->engine->req;
    uint64_t bit = channel_bit(qp, id);

    if (!(r->errored_streams & bit)) {
        return false;
    }
    r->errored_streams &= ~bit;
    mlx5_trace(qp->o.func, MLX5_TRACE_STATE, "qpn=0x%x stream %u reset",
               qp->o.id, id);
    return true;
}
