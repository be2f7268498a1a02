/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQ commands; see sq.h. Left out: hairpin, software parsing, timestamp
 * CQs (refused).
 */
#include "obj/sq.h"

#include "fw/fw.h"
#include "obj/check.h"
#include "obj/eth_engine.h"
#include "obj/eth_limits.h"
#include "obj/sched.h"
#include "obj/uctx.h"

/* modify_sq_in.modify_bitmask */
#define MODIFY_RATE_LIMIT (UINT64_C(1) << 0)
#define MODIFY_QOS_GROUP (UINT64_C(1) << 2)

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(sqc, cd_master, SQ_CD_MASTER),
    MLX5_ZERO(sqc, hairpin, SQ_HAIRPIN),
    MLX5_ZERO(sqc, non_wire, SQ_NON_WIRE),
    MLX5_ZERO(sqc, ts_cqe_to_dest_cqn, SQ_TS_CQN),
};

static bool check_sqc(const Mlx5Func *func, Mlx5Cmd *cmd,
                      const uint8_t *sqc)
{
    return mlx5_check_zero(cmd, sqc, not_done, G_N_ELEMENTS(not_done)) &&
           mlx5_check_param(cmd, func->props.mpw ||
                            !MLX5_GET(sqc, sqc, allow_multi_pkt_send_wqe),
                            MLX5_SYND_SQ_MPW) &&
           mlx5_check_param(cmd, func->props.striding_rq ||
                            !MLX5_GET(sqc, sqc, reg_umr),
                            MLX5_SYND_SQ_REG_UMR) &&
           mlx5_check_param(cmd, func->props.tunnel ||
                            !MLX5_GET(sqc, sqc, allow_swp),
                            MLX5_SYND_SQ_SWP) &&
           mlx5_check_param(cmd, MLX5_GET(sqc, sqc, state) ==
                            MLX5_WQ_STATE_RST, MLX5_SYND_SQ_CREATE_STATE) &&
           mlx5_check_param(cmd, mlx5_fw_ts_format_ok(func,
                                      MLX5_GET(sqc, sqc, ts_format)),
                            MLX5_SYND_SQ_TS_FORMAT) &&
           mlx5_check_param(cmd, !cmd->uid || !MLX5_GET(sqc, sqc, rlky),
                            MLX5_SYND_SQ_USER_RLKEY) &&
           mlx5_check_param(cmd, MLX5_GET(sqc, sqc, tis_lst_sz) <= 1,
                            MLX5_SYND_SQ_TIS_LIST);
}

static bool find_refs(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *sqc,
                      Mlx5Sq *sq)
{
    sq->cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ, MLX5_GET(sqc, sqc, cqn),
                           MLX5_SYND_SQ_CQ);
    if (!sq->cq) {
        return false;
    }
    if (MLX5_GET(sqc, sqc, tis_lst_sz) == 0) {
        return true;
    }
    sq->tis = mlx5_obj_find(func, cmd, MLX5_OBJ_TIS,
                            MLX5_GET(sqc, sqc, tis_num_0), MLX5_SYND_SQ_TIS);
    return sq->tis != NULL &&
           mlx5_check(cmd, mlx5_uctx_may(func, cmd->uid,
                                         MLX5_UCTX_CAP_RAW_TX),
                      MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SQ_RAW_TX);
}

static void hold(Mlx5Sq *sq)
{
    mlx5_obj_ref(sq->cq);
    mlx5_obj_ref(sq->tis);
    mlx5_wq_hold(&sq->wq);
}

/* As its context says; @group is the one that it names. */
static void set_pace(Mlx5Sq *sq, Mlx5SchedElem *group)
{
    mlx5_pace_set(sq->o.func, &sq->pace, &sq->work,
                  MLX5_GET(sqc, sq->sqc, packet_pacing_rate_limit_index),
                  group);
}

MLX5_CMD_HANDLER(mlx5_cmd_create_sq)
{
    const uint8_t *sqc = MLX5_ADDR_OF(create_sq_in, cmd->in, ctx);
    Mlx5WqIn in = { MLX5_ADDR_OF(sqc, sqc, wq), MLX5_LOG_STRIDE_SZ_SQ,
                    MLX5_LOG_STRIDE_SZ_SQ, true };
    Mlx5Sq draft = { .state = MLX5_WQ_STATE_RST };
    Mlx5SchedElem *group;
    Mlx5Sq *sq;

    if (!check_sqc(func, cmd, sqc) || !find_refs(func, cmd, sqc, &draft) ||
        !mlx5_rate_check(func, cmd, MLX5_GET(sqc, sqc,
                                             packet_pacing_rate_limit_index),
                         MLX5_SYND_SQ_RATE_LIMIT) ||
        !mlx5_sched_find_group(func, cmd,
                               MLX5_GET(sqc, sqc, qos_queue_group_id),
                               MLX5_SYND_SQ_QOS_GROUP, &group) ||
        !mlx5_wq_parse(func, cmd, &in, &draft.wq)) {
        return;
    }
    sq = mlx5_obj_new(func, MLX5_OBJ_SQ, sizeof(*sq), cmd->uid);
    if (!mlx5_check(cmd, sq != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_SQ_LIMIT)) {
        mlx5_wq_drop(&draft.wq);
        return;
    }
    draft.o = sq->o;
    *sq = draft;
    sq->real_time = MLX5_GET(sqc, sqc, ts_format) == MLX5_TS_REAL_TIME;
    sq->rlkey = MLX5_GET(sqc, sqc, rlky);
    sq->flush_in_error = MLX5_GET(sqc, sqc, flush_in_error_en);
    sq->reg_umr = MLX5_GET(sqc, sqc, reg_umr);
    sq->swp = MLX5_GET(sqc, sqc, allow_swp);
    sq->min_inline_mode = MLX5_GET(sqc, sqc, min_wqe_inline_mode);
    sq->user_index = MLX5_GET(sqc, sqc, user_index);
    memcpy(sq->sqc, sqc, sizeof(sq->sqc));
    hold(sq);
    if (func->eth_engine) {
        func->eth_engine->sq_created(sq);
    }
    set_pace(sq, group);
    MLX5_SET(create_sq_out, cmd->out, sqn, sq->o.id);
}

void mlx5_sq_release(void *obj)
{
    Mlx5Sq *sq = obj;

    mlx5_pace_free(sq->o.func, &sq->pace);
    if (sq->o.func->eth_engine) {
        sq->o.func->eth_engine->sq_destroyed(sq);
    }
    mlx5_obj_unref(sq->cq);
    mlx5_obj_unref(sq->tis);
    mlx5_wq_release(&sq->wq);
}

void mlx5_sq_set_state(Mlx5Sq *sq, Mlx5WqState to)
{
    Mlx5Func *func = sq->o.func;

    mlx5_trace(func, MLX5_TRACE_STATE, "sq 0x%x %s -> %s", sq->o.id,
               mlx5_wq_state_name(sq->state), mlx5_wq_state_name(to));
    sq->state = to;
    MLX5_SET(sqc, sq->sqc, state, to);
    if (to == MLX5_WQ_STATE_RST) {
        sq->ci = 0;
        sq->nop_silent = false;
    }
    if (func->eth_engine) {
        func->eth_engine->sq_state(sq);
    }
}

/* May the attributes change that the mask names? Finds the queue group. */
static bool check_modify(const Mlx5Sq *sq, Mlx5Cmd *cmd, uint64_t mask,
                         const uint8_t *sqc, Mlx5SchedElem **group)
{
    *group = mlx5_pace_group(sq->pace);
    return mlx5_check_param(cmd, !(mask & ~(MODIFY_RATE_LIMIT |
                                            MODIFY_QOS_GROUP)),
                            MLX5_SYND_SQ_MODIFY_MASK) &&
           (!(mask & MODIFY_RATE_LIMIT) ||
            mlx5_rate_check(sq->o.func, cmd,
                            MLX5_GET(sqc, sqc, packet_pacing_rate_limit_index),
                            MLX5_SYND_SQ_MODIFY_RATE)) &&
           (!(mask & MODIFY_QOS_GROUP) ||
            mlx5_sched_find_group(sq->o.func, cmd,
                                  MLX5_GET(sqc, sqc, qos_queue_group_id),
                                  MLX5_SYND_SQ_MODIFY_QOS, group));
}

static void modify_pace(Mlx5Sq *sq, uint64_t mask, const uint8_t *sqc,
                        Mlx5SchedElem *group)
{
    if (mask & MODIFY_RATE_LIMIT) {
        MLX5_SET(sqc, sq->sqc, packet_pacing_rate_limit_index,
                 MLX5_GET(sqc, sqc, packet_pacing_rate_limit_index));
    }
    MLX5_SET(sqc, sq->sqc, qos_queue_group_id, group ? group->o.id : 0);
    set_pace(sq, group);
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_sq)
{
    const uint8_t *sqc = MLX5_ADDR_OF(modify_sq_in, cmd->in, ctx);
    Mlx5Sq *sq = mlx5_obj_find(func, cmd, MLX5_OBJ_SQ,
                               MLX5_GET(modify_sq_in, cmd->in, sqn),
                               MLX5_SYND_SQ_UNKNOWN_MODIFY);
    uint64_t mask = MLX5_GET(modify_sq_in, cmd->in, modify_bitmask);
    uint32_t to = MLX5_GET(sqc, sqc, state);
    Mlx5SchedElem *group;

    if (!sq || !check_modify(sq, cmd, mask, sqc, &group) ||
        !mlx5_check(cmd, MLX5_GET(modify_sq_in, cmd->in, sq_state) ==
                    sq->state, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                    MLX5_SYND_SQ_MODIFY_FROM) ||
        !mlx5_check(cmd, mlx5_wq_may_go(sq->state, to),
                    MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                    MLX5_SYND_SQ_MODIFY_TO)) {
        return;
    }
    if (mask) {
        modify_pace(sq, mask, sqc, group);
    }
    if (to != sq->state) {
        mlx5_sq_set_state(sq, to);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_sq)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_SQ,
                         MLX5_GET(destroy_sq_in, cmd->in, sqn),
                         MLX5_SYND_SQ_UNKNOWN_DESTROY, MLX5_SYND_SQ_BUSY);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_sq)
{
    Mlx5Sq *sq = mlx5_obj_find(func, cmd, MLX5_OBJ_SQ,
                               MLX5_GET(query_sq_in, cmd->in, sqn),
                               MLX5_SYND_SQ_UNKNOWN_QUERY);
    uint8_t *sqc = MLX5_ADDR_OF(query_sq_out, cmd->out, sq_context);

    if (sq) {
        memcpy(sqc, sq->sqc, sizeof(sq->sqc));
        MLX5_SET(wq, MLX5_ADDR_OF(sqc, sqc, wq), hw_counter, sq->ci);
    }
}
