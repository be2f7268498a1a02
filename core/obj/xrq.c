/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XRQ: a shared receive queue with a CQ of its own that may match the tags of
 * messages (PRM: CREATE_XRQ; driver: mlx5_ib srq_cmd.c create_xrq_cmd). The
 * tags are tm_list.h; messages meet them in rdma/tm_recv.c.
 *
 * Left out: NVMe over Fabrics target offload, signatures, the reserved lkey,
 * rendezvous over DC.
 */
#include "fw/fw.h"
#include "obj/limits.h"
#include "obj/srq_internal.h"
#include "obj/tm_list.h"

/* xrqc.state (driver: MLX5_XRQC_STATE_*) */
enum {
    XRQ_STATE_GOOD = 0,
    XRQ_STATE_ERROR = 1,
};

/* xrqc.topology and xrqc.offload (driver: MLX5_XRQC_TOPOLOGY_*, _OFFLOAD_*) */
enum {
    TOPOLOGY_NONE = 0,
    TOPOLOGY_TAG_MATCHING = 1,
    OFFLOAD_NONE = 0,
    OFFLOAD_RNDV = 1,
};

/* What only an XRQ's context says. Return: 0 or the syndrome of a refusal. */
static uint32_t check(Mlx5Func *func, const uint8_t *xrqc)
{
    const uint8_t *tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);
    uint32_t topology = MLX5_GET(xrqc, xrqc, topology);
    uint32_t offload = MLX5_GET(xrqc, xrqc, offload);

    if (topology > TOPOLOGY_TAG_MATCHING ||
        (topology == TOPOLOGY_TAG_MATCHING &&
         !MLX5_FW_CAP_GEN(func, tag_matching))) {
        return MLX5_SYND_XRQ_TOPOLOGY;
    }
    if (offload > OFFLOAD_RNDV ||
        (offload == OFFLOAD_RNDV && (topology != TOPOLOGY_TAG_MATCHING ||
                                     !MLX5_FW_CAP_GEN(func, rndv_offload_rc)))) {
        return MLX5_SYND_XRQ_OFFLOAD;
    }
    if (MLX5_GET(tag_matching_topology_context, tm, log_matching_list_sz) >
        MLX5_LOG_TAG_MATCHING_LIST_SZ) {
        return MLX5_SYND_XRQ_LIST_SIZE;
    }
    return MLX5_GET(xrqc, xrqc, rlkey) ? MLX5_SYND_XRQ_RLKEY : 0;
}

static void commit(Mlx5Srq *xrq, const uint8_t *xrqc)
{
    const uint8_t *tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);

    if (MLX5_GET(xrqc, xrqc, topology) == TOPOLOGY_TAG_MATCHING) {
        xrq->tm = mlx5_tm_list_new(MLX5_GET(tag_matching_topology_context, tm,
                                            log_matching_list_sz));
        xrq->tm_rndv = MLX5_GET(xrqc, xrqc, offload) == OFFLOAD_RNDV;
    }
}

void mlx5_cmd_create_xrq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *xrqc = MLX5_ADDR_OF(create_xrq_in, cmd->in, xrq_context);
    uint32_t syndrome = check(func, xrqc);
    Mlx5SrqParams p = {
        .kind = MLX5_SRQ_XRQ,
        .cqn = MLX5_GET(xrqc, xrqc, cqn),
        .user_index = MLX5_GET(xrqc, xrqc, user_index),
        .bad_state = MLX5_GET(xrqc, xrqc, state) != XRQ_STATE_GOOD,
        .ctx = xrqc,
        .ctx_bytes = MLX5_ST_SZ_BYTES(xrqc),
    };
    Mlx5Srq *xrq;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    mlx5_srq_parse_wq(cmd, MLX5_ADDR_OF(xrqc, xrqc, wq), &p);
    xrq = mlx5_srq_create(func, cmd, &p);
    if (xrq) {
        commit(xrq, xrqc);
        MLX5_SET(create_xrq_out, cmd->out, xrqn, xrq->o.id);
    }
}

void mlx5_cmd_destroy_xrq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_srq_destroy(func, cmd, MLX5_SRQ_XRQ,
                     MLX5_GET(destroy_xrq_in, cmd->in, xrqn));
}

void mlx5_cmd_query_xrq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *xrq = mlx5_srq_find(func, cmd, MLX5_SRQ_XRQ,
                                 MLX5_GET(query_xrq_in, cmd->in, xrqn));
    uint8_t *xrqc = MLX5_ADDR_OF(query_xrq_out, cmd->out, xrq_context);
    uint8_t *tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);

    if (!xrq) {
        return;
    }
    memcpy(xrqc, xrq->ctx, MLX5_ST_SZ_BYTES(xrqc));
    MLX5_SET(xrqc, xrqc, state, xrq->failed ? XRQ_STATE_ERROR : XRQ_STATE_GOOD);
    if (xrq->tm) {
        MLX5_SET(tag_matching_topology_context, tm, append_next_index,
                 xrq->tm->append_next);
        MLX5_SET(tag_matching_topology_context, tm, sw_phase_cnt,
                 xrq->tm->sw_cnt);
        MLX5_SET(tag_matching_topology_context, tm, hw_phase_cnt,
                 xrq->tm->hw_cnt);
    }
    mlx5_srq_query_wq(xrq, cmd, MLX5_ADDR_OF(xrqc, xrqc, wq));
}

void mlx5_cmd_arm_xrq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *xrq = mlx5_srq_find(func, cmd, MLX5_SRQ_XRQ,
                                 MLX5_GET(arm_xrq_in, cmd->in, xrqn));

    if (xrq) {
        mlx5_srq_arm_cmd(xrq, cmd, MLX5_GET(arm_xrq_in, cmd->in, lwm));
    }
}
