/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive WQEs; see recv.h.
 *
 * A queue pair's own ring is consumed in order. A shared one is a list: each
 * WQE begins with a segment that names the next; software links freed entries
 * behind the tail, so that the link of a posted WQE is valid when it is posted
 * (driver: mlx5_ib srq.c post_srq_recv, free_srq_wqe). The doorbell record
 * counts what was ever posted, modulo 2^16.
 *
 * Left out: signatures of WQEs (not advertised).
 */
#include "rdma/recv.h"
#include "obj/mkey.h"
#include "bus/trace.h"

#define NEXT_BYTES MLX5_ST_SZ_BYTES(wqe_srq_next)

/* How many receives are posted, by the record at @dbr and what was taken. */
static Mlx5RecvResult posted(Mlx5Func *func, uint64_t dbr_gpa,
                             uint16_t consumed, uint32_t log_size,
                             uint32_t *left)
{
    uint32_t counter;

    if (!mlx5_dma_read_be32(func, dbr_gpa, &counter)) {
        return MLX5_RECV_FETCH;
    }
    *left = (uint16_t)(counter - consumed);
    if (!*left) {
        return MLX5_RECV_EMPTY;
    }
    return *left > 1u << log_size ? MLX5_RECV_OVERRUN : MLX5_RECV_OK;
}

/*
 * The scatter list fills the WQE; a shorter one ends with a segment of no
 * bytes under the key that stands for none.
 */
static void parse_scatter(Mlx5RecvWqe *wqe, const uint8_t *p, uint32_t bytes)
{
    for (; bytes >= 16; p += 16, bytes -= 16) {
        uint32_t len = MLX5_GET(wqe_data, p, byte_count);
        uint32_t lkey = MLX5_GET(wqe_data, p, lkey);

        if (!len && lkey == MLX5_INVALID_LKEY) {
            return;
        }
        len = len ? len : 1u << 31; /* PRM: 0 stands for 2^31 */
        wqe->data[wqe->num_data++] = (Mlx5WqeData){
            .addr = MLX5_GET(wqe_data, p, local_virtual_address),
            .len = len,
            .lkey = lkey,
        };
        wqe->length += len;
    }
}

static void wqe_clear(Mlx5RecvWqe *wqe)
{
    memset(wqe, 0, offsetof(Mlx5RecvWqe, data));
}

/* ---- a queue pair's own ring ---- */

static Mlx5RecvResult rq_peek(Mlx5Qp *qp)
{
    uint32_t left;

    if (!qp->has_rq) {
        return MLX5_RECV_EMPTY;
    }
    return posted(qp->o.func, qp->dbr_gpa, qp->rq_consumed, qp->rq_log_size,
                  &left);
}

static Mlx5RecvResult rq_fetch(Mlx5Qp *qp, Mlx5RecvWqe *wqe)
{
    uint8_t bytes[MLX5_RECV_MAX_BYTES];
    uint32_t len = MIN(qp->rq_wqe_bytes, sizeof(bytes));
    uint64_t slot = qp->rq_consumed & ((1u << qp->rq_log_size) - 1);
    uint32_t skip = MLX5_GET(qpc, qp->qpc, wq_signature) ? 16 : 0;
    Mlx5RecvResult result = rq_peek(qp);

    if (result != MLX5_RECV_OK) {
        return result;
    }
    if (len < skip ||
        !mlx5_ring_read(&qp->ring, slot * qp->rq_wqe_bytes, bytes, len)) {
        return MLX5_RECV_FETCH;
    }
    wqe_clear(wqe);
    wqe->index = qp->rq_consumed++;
    parse_scatter(wqe, bytes + skip, len - skip);
    return MLX5_RECV_OK;
}

/* ---- a shared queue ---- */

static Mlx5RecvResult srq_peek(Mlx5Srq *srq, uint32_t *left)
{
    if (srq->failed) {
        return MLX5_RECV_FAILED;
    }
    return posted(srq->o.func, srq->dbr_gpa, srq->counter, srq->log_size,
                  left);
}

/* The queue is of no use any more; its owner is told once. */
static Mlx5RecvResult srq_fail(Mlx5Srq *srq, Mlx5RecvResult why)
{
    srq->failed = true;
    mlx5_trace(srq->o.func, MLX5_TRACE_STATE, "srq 0x%x failed: %s",
               srq->o.id, mlx5_recv_result_name(why));
    mlx5_event_raise_wq(srq->o.func, MLX5_EVENT_TYPE_SRQ_CATAS_ERROR,
                        srq->o.id, 0);
    return why;
}

/* The limit event comes once, when fewer than lwm are left. */
static void srq_limit(Mlx5Srq *srq, uint32_t left)
{
    if (!srq->lwm || left >= srq->lwm) {
        return;
    }
    srq->lwm = 0;
    mlx5_event_raise_wq(srq->o.func, MLX5_EVENT_TYPE_SRQ_RQ_LIMIT,
                        srq->o.id, 0);
}

Mlx5RecvResult mlx5_recv_fetch_srq(Mlx5Srq *srq, Mlx5RecvWqe *wqe)
{
    uint8_t bytes[MLX5_RECV_MAX_BYTES];
    uint32_t len = MIN(srq->wqe_bytes, sizeof(bytes));
    uint32_t size = 1u << srq->log_size;
    uint32_t slot = srq->head & (size - 1);
    uint32_t left, next;
    Mlx5RecvResult result = srq_peek(srq, &left);

    if (result == MLX5_RECV_OVERRUN) {
        return srq_fail(srq, result);
    }
    if (result != MLX5_RECV_OK) {
        return result;
    }
    if (len < NEXT_BYTES ||
        !mlx5_ring_read(&srq->ring, (uint64_t)slot * srq->wqe_bytes, bytes,
                        len)) {
        return srq_fail(srq, MLX5_RECV_FETCH);
    }
    next = srq->cyclic ? slot + 1
                       : MLX5_GET(wqe_srq_next, bytes, next_wqe_index);
    if (!srq->cyclic && next >= size) {
        return srq_fail(srq, MLX5_RECV_BROKEN);
    }
    wqe_clear(wqe);
    wqe->srq = srq;
    wqe->srqn = srq->o.id;
    wqe->index = slot;
    parse_scatter(wqe, bytes + NEXT_BYTES, len - NEXT_BYTES);
    srq->head = next & (size - 1);
    srq->counter++;
    srq_limit(srq, left - 1);
    return MLX5_RECV_OK;
}

/* ---- either ---- */

Mlx5RecvResult mlx5_recv_peek(Mlx5Qp *qp)
{
    uint32_t left;

    return qp->srq ? srq_peek(qp->srq, &left) : rq_peek(qp);
}

Mlx5RecvResult mlx5_recv_fetch(Mlx5Qp *qp, Mlx5RecvWqe *wqe)
{
    return qp->srq ? mlx5_recv_fetch_srq(qp->srq, wqe) : rq_fetch(qp, wqe);
}

bool mlx5_recv_alive(Mlx5Func *func, const Mlx5RecvWqe *wqe)
{
    return !wqe->srq ||
           mlx5_obj_get(func, MLX5_OBJ_SRQ, wqe->srqn) == wqe->srq;
}

void mlx5_recv_reset(Mlx5Qp *qp)
{
    qp->rq_consumed = 0;
}

const char *mlx5_recv_result_name(Mlx5RecvResult result)
{
    static const char *const names[] = {
        [MLX5_RECV_OK] = "ok",
        [MLX5_RECV_EMPTY] = "empty",
        [MLX5_RECV_FETCH] = "not readable",
        [MLX5_RECV_OVERRUN] = "more posted than fit",
        [MLX5_RECV_BROKEN] = "list leaves the ring",
        [MLX5_RECV_FAILED] = "failed before",
    };

    return result < G_N_ELEMENTS(names) ? names[result] : "?";
}
