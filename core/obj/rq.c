/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RQ commands; see rq.h. Left out: queues fed by an RMP, hairpin, delay drop,
 * SHAMPO (refused).
 */
#include "obj/rq.h"

#include "fw/fw.h"
#include "obj/check.h"
#include "obj/eth_engine.h"
#include "obj/eth_limits.h"

/* modify_rq_in.modify_bitmask (driver: MLX5_MODIFY_RQ_IN_MODIFY_BITMASK_*) */
#define MODIFY_VSD (UINT64_C(1) << 1)
#define MODIFY_SCATTER_FCS (UINT64_C(1) << 2)
#define MODIFY_COUNTER_SET (UINT64_C(1) << 3)

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(rqc, mem_rq_type, RQ_MEM_TYPE),
    MLX5_ZERO(rqc, delay_drop_en, RQ_DELAY_DROP),
    MLX5_ZERO(rqc, hairpin, RQ_HAIRPIN),
};

static bool check_rqc(const Mlx5Func *func, Mlx5Cmd *cmd,
                      const uint8_t *rqc)
{
    return mlx5_check_zero(cmd, rqc, not_done, G_N_ELEMENTS(not_done)) &&
           mlx5_check_param(cmd, MLX5_GET(rqc, rqc, state) ==
                            MLX5_WQ_STATE_RST, MLX5_SYND_RQ_CREATE_STATE) &&
           mlx5_check_param(cmd, mlx5_fw_ts_format_ok(func,
                                      MLX5_GET(rqc, rqc, ts_format)),
                            MLX5_SYND_RQ_TS_FORMAT) &&
           mlx5_check_param(cmd, !cmd->uid || !MLX5_GET(rqc, rqc, rlky),
                            MLX5_SYND_RQ_USER_RLKEY);
}

/* Counter set 0 is "none" (driver: mlx5_ib counters.c). */
static bool find_counter(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *rqc,
                         uint32_t syndrome, Mlx5Obj **counter)
{
    uint32_t id = MLX5_GET(rqc, rqc, counter_set_id);

    *counter = NULL;
    if (id == 0) {
        return true;
    }
    *counter = mlx5_obj_get(func, MLX5_OBJ_Q_COUNTER, id);
    return mlx5_check(cmd, *counter != NULL, MLX5_CMD_STAT_BAD_RES_ERR,
                      syndrome);
}

MLX5_CMD_HANDLER(mlx5_cmd_create_rq)
{
    const uint8_t *rqc = MLX5_ADDR_OF(create_rq_in, cmd->in, ctx);
    Mlx5WqIn in = { MLX5_ADDR_OF(rqc, rqc, wq), MLX5_LOG_MIN_STRIDE_SZ_RQ,
                    MLX5_LOG_MAX_STRIDE_SZ_RQ, false };
    Mlx5Rq draft = { .state = MLX5_WQ_STATE_RST };
    Mlx5Rq *rq;

    if (!check_rqc(func, cmd, rqc)) {
        return;
    }
    draft.cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ,
                             MLX5_GET(rqc, rqc, cqn), MLX5_SYND_RQ_CQ);
    if (!draft.cq ||
        !find_counter(func, cmd, rqc, MLX5_SYND_RQ_COUNTER, &draft.counter) ||
        !mlx5_wq_parse(func, cmd, &in, &draft.wq)) {
        return;
    }
    rq = mlx5_obj_new(func, MLX5_OBJ_RQ, sizeof(*rq), cmd->uid);
    if (!mlx5_check(cmd, rq != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_RQ_LIMIT)) {
        mlx5_wq_drop(&draft.wq);
        return;
    }
    draft.o = rq->o;
    *rq = draft;
    rq->real_time = MLX5_GET(rqc, rqc, ts_format) == MLX5_TS_REAL_TIME;
    rq->rlkey = MLX5_GET(rqc, rqc, rlky);
    rq->flush_in_error = MLX5_GET(rqc, rqc, flush_in_error_en);
    rq->vsd = MLX5_GET(rqc, rqc, vsd);
    rq->scatter_fcs = MLX5_GET(rqc, rqc, scatter_fcs);
    rq->user_index = MLX5_GET(rqc, rqc, user_index);
    memcpy(rq->rqc, rqc, sizeof(rq->rqc));
    mlx5_obj_ref(rq->cq);
    mlx5_obj_ref(rq->counter);
    mlx5_wq_hold(&rq->wq);
    MLX5_SET(create_rq_out, cmd->out, rqn, rq->o.id);
}

void mlx5_rq_release(void *obj)
{
    Mlx5Rq *rq = obj;

    if (rq->o.func->eth_engine) {
        rq->o.func->eth_engine->rq_destroyed(rq);
    }
    mlx5_obj_unref(rq->cq);
    mlx5_obj_unref(rq->counter);
    mlx5_wq_release(&rq->wq);
}

void mlx5_rq_set_state(Mlx5Rq *rq, Mlx5WqState to)
{
    Mlx5Func *func = rq->o.func;

    mlx5_trace(func, MLX5_TRACE_STATE, "rq 0x%x %s -> %s", rq->o.id,
               mlx5_wq_state_name(rq->state), mlx5_wq_state_name(to));
    rq->state = to;
    MLX5_SET(rqc, rq->rqc, state, to);
    if (to == MLX5_WQ_STATE_RST) {
        rq->ci = 0;
        rq->slot = rq->stride_at = 0;
    }
    if (func->eth_engine) {
        func->eth_engine->rq_state(rq);
    }
}

static bool check_modify_mask(Mlx5Cmd *cmd)
{
    uint64_t mask = MLX5_GET(modify_rq_in, cmd->in, modify_bitmask);

    return mlx5_check_param(cmd, !(mask & ~(MODIFY_VSD | MODIFY_SCATTER_FCS |
                                            MODIFY_COUNTER_SET)),
                            MLX5_SYND_RQ_MODIFY_MASK);
}

static void set_counter(Mlx5Rq *rq, Mlx5Obj *counter)
{
    mlx5_obj_ref(counter);
    mlx5_obj_unref(rq->counter);
    rq->counter = counter;
    MLX5_SET(rqc, rq->rqc, counter_set_id, counter ? counter->id : 0);
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_rq)
{
    const uint8_t *rqc = MLX5_ADDR_OF(modify_rq_in, cmd->in, ctx);
    uint64_t mask = MLX5_GET(modify_rq_in, cmd->in, modify_bitmask);
    Mlx5Rq *rq = mlx5_obj_find(func, cmd, MLX5_OBJ_RQ,
                               MLX5_GET(modify_rq_in, cmd->in, rqn),
                               MLX5_SYND_RQ_UNKNOWN_MODIFY);
    uint32_t to = MLX5_GET(rqc, rqc, state);
    Mlx5Obj *counter = NULL;

    if (!rq || !check_modify_mask(cmd) ||
        !mlx5_check(cmd, MLX5_GET(modify_rq_in, cmd->in, rq_state) ==
                    rq->state, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                    MLX5_SYND_RQ_MODIFY_FROM) ||
        !mlx5_check(cmd, mlx5_wq_may_go(rq->state, to),
                    MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                    MLX5_SYND_RQ_MODIFY_TO) ||
        ((mask & MODIFY_COUNTER_SET) &&
         !find_counter(func, cmd, rqc, MLX5_SYND_RQ_MODIFY_COUNTER,
                       &counter))) {
        return;
    }
    if (mask & MODIFY_COUNTER_SET) {
        set_counter(rq, counter);
    }
    if (mask & MODIFY_VSD) {
        rq->vsd = MLX5_GET(rqc, rqc, vsd);
        MLX5_SET(rqc, rq->rqc, vsd, rq->vsd);
    }
    if (mask & MODIFY_SCATTER_FCS) {
        rq->scatter_fcs = MLX5_GET(rqc, rqc, scatter_fcs);
        MLX5_SET(rqc, rq->rqc, scatter_fcs, rq->scatter_fcs);
    }
    if (to != rq->state) {
        mlx5_rq_set_state(rq, to);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_rq)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_RQ,
                         MLX5_GET(destroy_rq_in, cmd->in, rqn),
                         MLX5_SYND_RQ_UNKNOWN_DESTROY, MLX5_SYND_RQ_BUSY);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_rq)
{
    Mlx5Rq *rq = mlx5_obj_find(func, cmd, MLX5_OBJ_RQ,
                               MLX5_GET(query_rq_in, cmd->in, rqn),
                               MLX5_SYND_RQ_UNKNOWN_QUERY);
    uint8_t *rqc = MLX5_ADDR_OF(query_rq_out, cmd->out, rq_context);

    if (rq) {
        memcpy(rqc, rq->rqc, sizeof(rq->rqc));
        MLX5_SET(wq, MLX5_ADDR_OF(rqc, rqc, wq), hw_counter, rq->ci);
    }
}
