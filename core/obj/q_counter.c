/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ALLOC, DEALLOC and QUERY_Q_COUNTER; see q_counter.h.
 *
 * Number 0 is "none". A set that a queue holds refuses to go. Left out: sums
 * over all sets (aggregate) and sets of other vports.
 */
#include "obj/q_counter.h"

static const struct {
    uint32_t bit_off;        /* in query_q_counter_out */
    size_t offset;           /* in Mlx5QCounter */
} counters[] = {
#define COUNTER(f) { MLX5_BIT_OFF(query_q_counter_out, f), \
                     offsetof(Mlx5QCounter, f) }
    COUNTER(rx_write_requests), COUNTER(rx_read_requests),
    COUNTER(rx_atomic_requests), COUNTER(out_of_buffer),
    COUNTER(out_of_sequence), COUNTER(duplicate_request),
    COUNTER(rnr_nak_retry_err), COUNTER(packet_seq_err),
    COUNTER(implied_nak_seq_err), COUNTER(local_ack_timeout_err),
    COUNTER(req_rnr_retries_exceeded), COUNTER(resp_local_length_error),
    COUNTER(req_local_length_error), COUNTER(resp_local_qp_error),
    COUNTER(local_operation_error), COUNTER(resp_local_protection),
    COUNTER(req_local_protection), COUNTER(resp_cqe_error),
    COUNTER(req_cqe_error), COUNTER(req_mw_binding),
    COUNTER(req_bad_response), COUNTER(req_remote_invalid_request),
    COUNTER(resp_remote_invalid_request), COUNTER(req_remote_access_errors),
    COUNTER(resp_remote_access_errors), COUNTER(req_remote_operation_errors),
    COUNTER(req_transport_retries_exceeded), COUNTER(cq_overflow),
    COUNTER(resp_cqe_flush_error), COUNTER(req_cqe_flush_error),
#undef COUNTER
};

MLX5_CMD_HANDLER(mlx5_cmd_alloc_q_counter)
{
    Mlx5QCounter *set = mlx5_obj_new(func, MLX5_OBJ_Q_COUNTER, sizeof(*set),
                                     cmd->uid);

    if (!set) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR,
                      MLX5_SYND_Q_COUNTER_NONE_FREE);
        return;
    }
    MLX5_SET(alloc_q_counter_out, cmd->out, counter_set_id, set->o.id);
}

MLX5_CMD_HANDLER(mlx5_cmd_dealloc_q_counter)
{
    uint32_t id = MLX5_GET(dealloc_q_counter_in, cmd->in, counter_set_id);

    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_Q_COUNTER, id,
                         MLX5_SYND_Q_COUNTER_UNKNOWN,
                         MLX5_SYND_Q_COUNTER_BUSY);
}

static void clear(Mlx5QCounter *set)
{
    for (size_t i = 0; i < G_N_ELEMENTS(counters); i++) {
        *(uint32_t *)((char *)set + counters[i].offset) = 0;
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_query_q_counter)
{
    uint32_t id = MLX5_GET(query_q_counter_in, cmd->in, counter_set_id);
    Mlx5QCounter *set;

    if (MLX5_GET(query_q_counter_in, cmd->in, other_vport) ||
        MLX5_GET(query_q_counter_in, cmd->in, vport_number) ||
        MLX5_GET(query_q_counter_in, cmd->in, aggregate)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_Q_COUNTER_OTHER);
        return;
    }
    set = mlx5_obj_find(func, cmd, MLX5_OBJ_Q_COUNTER, id,
                        MLX5_SYND_Q_COUNTER_QUERY_UNKNOWN);
    if (!set) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(counters); i++) {
        mlx5_prm_set(cmd->out, counters[i].bit_off, 32,
                     *(uint32_t *)((char *)set + counters[i].offset));
    }
    if (MLX5_GET(query_q_counter_in, cmd->in, clear)) {
        clear(set);
    }
}
