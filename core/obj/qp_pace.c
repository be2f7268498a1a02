/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds a queue pair back: the rate of its context and the queue groups
 * of its extended context (libmlx5: mlx5dv_modify_qp_sched_elem()). Both stay
 * through RST, as other attributes do; congestion does not.
 */
#include "obj/cong.h"
#include "obj/engine.h"
#include "obj/qp_internal.h"
#include "obj/sched.h"

#define REQUESTERS                                                             \
    (MLX5_QP_ST_BIT(MLX5_QP_ST_RC) | MLX5_QP_ST_BIT(MLX5_QP_ST_UC) |           \
     MLX5_QP_ST_BIT(MLX5_QP_ST_UD) | MLX5_QP_ST_BIT(MLX5_QP_ST_XRC) |          \
     MLX5_QP_ST_BIT(MLX5_QP_ST_DCI))
/* Who answers with data. */
#define RESPONDERS                                                             \
    (MLX5_QP_ST_BIT(MLX5_QP_ST_RC) | MLX5_QP_ST_BIT(MLX5_QP_ST_XRC))

static void set(Mlx5Qp *qp, bool responder, uint16_t rate,
                Mlx5SchedElem *group)
{
    Mlx5Func *func = qp->o.func;

    if (func->engine && func->engine->qp_work) {
        mlx5_pace_set(func, responder ? &qp->resp_pace : &qp->req_pace,
                      func->engine->qp_work(qp, responder), rate, group);
    }
}

void mlx5_qp_pace_rate(Mlx5Qp *qp)
{
    uint16_t rate = MLX5_GET(qpc, qp->qpc, packet_pacing_rate_limit_index);

    if (rate != mlx5_pace_rate(qp->req_pace)) {
        set(qp, false, rate, mlx5_pace_group(qp->req_pace));
    }
}

/* Return: 0 or the syndrome of what the QP has no use for. */
static uint32_t check_service(const Mlx5Qp *qp, uint32_t requester,
                              uint32_t responder)
{
    uint32_t st = MLX5_QP_ST_BIT(qp->st);

    return (requester && !(st & REQUESTERS)) ||
                   (responder && !(st & RESPONDERS))
               ? MLX5_SYND_QP_QUEUE_GROUP_SERVICE : 0;
}

void mlx5_qp_pace_groups(Mlx5Qp *qp, Mlx5Cmd *cmd, uint32_t requester,
                         uint32_t responder)
{
    Mlx5Func *func = qp->o.func;
    uint32_t syndrome = check_service(qp, requester, responder);
    Mlx5SchedElem *req, *resp;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (mlx5_sched_find_group(func, cmd, requester, MLX5_SYND_QP_QUEUE_GROUP,
                              &req) &&
        mlx5_sched_find_group(func, cmd, responder, MLX5_SYND_QP_QUEUE_GROUP,
                              &resp)) {
        set(qp, false, mlx5_pace_rate(qp->req_pace), req);
        set(qp, true, 0, resp);
    }
}

void mlx5_qp_pace_cong(Mlx5Qp *qp)
{
    const Mlx5EngineOps *ops = qp->o.func->engine;

    if (ops && ops->qp_work) {
        mlx5_pace_set_flow(qp->o.func, &qp->req_pace, ops->qp_work(qp, false),
                           qp->cong);
        mlx5_pace_set_flow(qp->o.func, &qp->resp_pace, ops->qp_work(qp, true),
                           qp->cong);
    }
}

void mlx5_qp_pace_free(Mlx5Qp *qp)
{
    mlx5_cong_forget(qp);
    mlx5_pace_free(qp->o.func, &qp->req_pace);
    mlx5_pace_free(qp->o.func, &qp->resp_pace);
}
