/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RQT commands; see rqt.h. Left out: tables of other functions' queues.
 */
#include "obj/rqt.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

#define ENTRY_BYTES 4

static bool is_power_of_2(uint32_t n)
{
    return n && !(n & (n - 1));
}

/* The list at the end of @rqtc; each queue is looked up. */
static Mlx5Rq **parse_list(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *rqtc,
                           uint32_t size)
{
    uint64_t at = rqtc - cmd->in + MLX5_BYTE_OFF(rqtc, rq_num);
    g_autofree Mlx5Rq **rqs = NULL;

    if (!mlx5_check(cmd, at + (uint64_t)size * ENTRY_BYTES <= cmd->in_len,
                    MLX5_CMD_STAT_BAD_INP_LEN_ERR, MLX5_SYND_RQT_IN_LEN)) {
        return NULL;
    }
    rqs = g_new(Mlx5Rq *, size);
    for (uint32_t i = 0; i < size; i++) {
        rqs[i] = mlx5_obj_find(func, cmd, MLX5_OBJ_RQ,
                               MLX5_GET_IDX(rqtc, rqtc, rq_num, i) & 0xffffff,
                               MLX5_SYND_RQT_RQ);
        if (!rqs[i]) {
            return NULL;
        }
    }
    return g_steal_pointer(&rqs);
}

static bool check_common(Mlx5Cmd *cmd, const uint8_t *rqtc, uint32_t max_size)
{
    uint32_t size = MLX5_GET(rqtc, rqtc, rqt_actual_size);

    return mlx5_check_param(cmd, !MLX5_GET(rqtc, rqtc, list_q_type) &&
                            !MLX5_GET(rqtc, rqtc, rq_vhca_id_format),
                            MLX5_SYND_RQT_LIST_TYPE) &&
           mlx5_check_param(cmd, is_power_of_2(size) && size <= max_size,
                            MLX5_SYND_RQT_SIZE);
}

static void set_list(Mlx5Rqt *rqt, Mlx5Rq **rqs, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        mlx5_obj_ref(rqs[i]);
    }
    for (uint32_t i = 0; i < rqt->size; i++) {
        mlx5_obj_unref(rqt->rqs[i]);
    }
    g_free(rqt->rqs);
    rqt->rqs = rqs;
    rqt->size = size;
}

MLX5_CMD_HANDLER(mlx5_cmd_create_rqt)
{
    const uint8_t *rqtc = MLX5_ADDR_OF(create_rqt_in, cmd->in, rqt_context);
    uint32_t max_size = MLX5_GET(rqtc, rqtc, rqt_max_size);
    Mlx5Rq **rqs;
    Mlx5Rqt *rqt;

    if (!mlx5_check_param(cmd, max_size && max_size <=
                          1u << MLX5_LOG_MAX_RQT_SIZE,
                          MLX5_SYND_RQT_MAX_SIZE) ||
        !check_common(cmd, rqtc, max_size)) {
        return;
    }
    rqs = parse_list(func, cmd, rqtc, MLX5_GET(rqtc, rqtc, rqt_actual_size));
    if (!rqs) {
        return;
    }
    rqt = mlx5_obj_new(func, MLX5_OBJ_RQT, sizeof(*rqt), cmd->uid);
    if (!mlx5_check(cmd, rqt != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_RQT_LIMIT)) {
        g_free(rqs);
        return;
    }
    rqt->max_size = max_size;
    set_list(rqt, rqs, MLX5_GET(rqtc, rqtc, rqt_actual_size));
    MLX5_SET(create_rqt_out, cmd->out, rqtn, rqt->o.id);
}

void mlx5_rqt_release(void *obj)
{
    set_list(obj, NULL, 0);
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_rqt)
{
    const uint8_t *mask = MLX5_ADDR_OF(modify_rqt_in, cmd->in, bitmask);
    const uint8_t *rqtc = MLX5_ADDR_OF(modify_rqt_in, cmd->in, ctx);
    Mlx5Rqt *rqt = mlx5_obj_find(func, cmd, MLX5_OBJ_RQT,
                                 MLX5_GET(modify_rqt_in, cmd->in, rqtn),
                                 MLX5_SYND_RQT_UNKNOWN_MODIFY);
    uint32_t size = MLX5_GET(rqtc, rqtc, rqt_actual_size);
    Mlx5Rq **rqs;

    if (!rqt ||
        !mlx5_check_param(cmd, mlx5_prm_reserved_set(
                              &mlx5_layout_rqt_bitmask, mask,
                              MLX5_ST_SZ_BYTES(rqt_bitmask)) < 0,
                          MLX5_SYND_RQT_MODIFY_MASK) ||
        !MLX5_GET(rqt_bitmask, mask, rqn_list) ||
        !check_common(cmd, rqtc, rqt->max_size)) {
        return;
    }
    rqs = parse_list(func, cmd, rqtc, size);
    if (rqs) {
        set_list(rqt, rqs, size);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_rqt)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_RQT,
                         MLX5_GET(destroy_rqt_in, cmd->in, rqtn),
                         MLX5_SYND_RQT_UNKNOWN_DESTROY, MLX5_SYND_RQT_BUSY);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_rqt)
{
    Mlx5Rqt *rqt = mlx5_obj_find(func, cmd, MLX5_OBJ_RQT,
                                 MLX5_GET(query_rqt_in, cmd->in, rqtn),
                                 MLX5_SYND_RQT_UNKNOWN_QUERY);
    uint8_t *rqtc = MLX5_ADDR_OF(query_rqt_out, cmd->out, rqt_context);
    uint32_t head = MLX5_BYTE_OFF(query_rqt_out, rqt_context) +
                    MLX5_BYTE_OFF(rqtc, rq_num);

    if (!rqt) {
        return;
    }
    MLX5_SET(rqtc, rqtc, rqt_max_size, rqt->max_size);
    MLX5_SET(rqtc, rqtc, rqt_actual_size, rqt->size);
    /* As many as the guest has room for. */
    for (uint32_t i = 0; i < rqt->size &&
         head + (i + 1) * ENTRY_BYTES <= cmd->out_len; i++) {
        MLX5_SET_IDX(rqtc, rqtc, rq_num, i, rqt->rqs[i]->o.id);
    }
}
