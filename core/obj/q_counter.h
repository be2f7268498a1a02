/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Q counters: what happened on the queues that name a counter set (PRM:
 * Q Counters; driver: mlx5_ib counters.c, mlx5e drop counter).
 */
#ifndef MLX5_OBJ_Q_COUNTER_H
#define MLX5_OBJ_Q_COUNTER_H

#include "obj/table.h"

/** Engines add to these; names as in QUERY_Q_COUNTER. */
typedef struct Mlx5QCounter {
    Mlx5Obj o;
    uint32_t rx_write_requests, rx_read_requests, rx_atomic_requests;
    uint32_t out_of_buffer, out_of_sequence, duplicate_request;
    uint32_t rnr_nak_retry_err, packet_seq_err, implied_nak_seq_err;
    uint32_t local_ack_timeout_err, req_rnr_retries_exceeded;
    uint32_t resp_local_length_error, req_local_length_error;
    uint32_t resp_local_qp_error, local_operation_error;
    uint32_t resp_local_protection, req_local_protection;
    uint32_t resp_cqe_error, req_cqe_error;
    uint32_t req_mw_binding, req_bad_response;
    uint32_t req_remote_invalid_request, resp_remote_invalid_request;
    uint32_t req_remote_access_errors, resp_remote_access_errors;
    uint32_t req_remote_operation_errors, req_transport_retries_exceeded;
    uint32_t cq_overflow, resp_cqe_flush_error, req_cqe_flush_error;
} Mlx5QCounter;

/** Return: the counter set, or NULL for 0 ("none") and unknown ones. */
static inline Mlx5QCounter *mlx5_q_counter_get(Mlx5Func *func, uint32_t id)
{
    return id ? mlx5_obj_get(func, MLX5_OBJ_Q_COUNTER, id) : NULL;
}

/** Count one @event in the set of a queue, if it names one. */
#define mlx5_q_counter_add(func, id, event)                       \
    do {                                                          \
        Mlx5QCounter *set_ = mlx5_q_counter_get(func, id);        \
        if (set_) {                                               \
            set_->event++;                                        \
        }                                                         \
    } while (0)

#endif
