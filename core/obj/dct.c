/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of DC targets (PRM: CREATE_DCT, DRAIN_DCT, DESTROY_DCT, QUERY_DCT,
 * ARM_DCT_FOR_KEY_VIOLATION; driver: mlx5_ib qpc.c, qp.c); see dct.h.
 *
 *   ACTIVE --DRAIN_DCT--> DRAINING --nothing on its way--> DRAINED, event
 *
 * The driver waits for the event without a limit, so it always comes.
 *
 * Left out: tag matching queues (XRQ) behind a target, out-of-order placement.
 */
#include "obj/dct.h"
#include "obj/engine.h"
#include "obj/limits.h"

/* eqe_qp_srq.type (driver: device.h) */
#define EVENT_KIND_DCT 6

/* dctc.cs_res (driver: mlx5_ib.h): nothing, 32 or 64 bytes. */
#define CS_RES_MAX 2

/* Return: 0 or the syndrome of the field that breaks a rule. */
static uint32_t check_context(const Mlx5Func *func, const uint8_t *dctc)
{
    uint32_t mtu = MLX5_GET(dctc, dctc, mtu);
    uint32_t cs_res = MLX5_GET(dctc, dctc, cs_res);

    if (!func->props.dc) {
        return MLX5_SYND_DCT_OFF;
    }
    /* IB_MTU_256 .. IB_MTU_4096 */
    if (mtu < 1 || mtu > 5) {
        return MLX5_SYND_DCT_MTU;
    }
    if (MLX5_GET(dctc, dctc, port) != 1) {
        return MLX5_SYND_DCT_PORT;
    }
    if (MLX5_GET(dctc, dctc, pkey_index) >= MLX5_PKEY_TABLE_SIZE) {
        return MLX5_SYND_DCT_PKEY_INDEX;
    }
    if (cs_res > CS_RES_MAX || (cs_res && !func->props.scatter_to_cqe)) {
        return MLX5_SYND_DCT_CS_RES;
    }
    return 0;
}

static bool find_links(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *dctc,
                       Mlx5Dct *links)
{
    links->pd = mlx5_obj_find(func, cmd, MLX5_OBJ_PD,
                              MLX5_GET(dctc, dctc, pd), MLX5_SYND_DCT_PD);
    if (!links->pd) {
        return false;
    }
    links->cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ,
                              MLX5_GET(dctc, dctc, cqn), MLX5_SYND_DCT_CQ);
    if (!links->cq) {
        return false;
    }
    links->srq = mlx5_obj_find(func, cmd, MLX5_OBJ_SRQ,
                               MLX5_GET(dctc, dctc, srqn_xrqn),
                               MLX5_SYND_DCT_SRQ);
    if (links->srq && links->srq->kind != MLX5_SRQ_RMP &&
        links->srq->kind != MLX5_SRQ_LEGACY) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_DCT_SRQ_KIND);
        return false;
    }
    return links->srq;
}

static void commit(Mlx5Dct *dct, const Mlx5Dct *links, const uint8_t *dctc)
{
    uint32_t cs_res = MLX5_GET(dctc, dctc, cs_res);

    dct->pd = links->pd;
    dct->cq = links->cq;
    dct->srq = links->srq;
    mlx5_obj_ref(dct->pd);
    mlx5_obj_ref(dct->cq);
    mlx5_obj_ref(dct->srq);
    memcpy(dct->dctc, dctc, sizeof(dct->dctc));
    dct->key = MLX5_GET(dctc, dctc, dc_access_key);
    if (cs_res == 1) {
        dct->cs_res_bytes = 32;
    } else if (cs_res == 2 && dct->cq->cqe_bytes == 128) {
        dct->cs_res_bytes = 64;
    }
}

void mlx5_cmd_create_dct(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *dctc = MLX5_ADDR_OF(create_dct_in, cmd->in,
                                       dct_context_entry);
    uint32_t syndrome = check_context(func, dctc);
    Mlx5Dct links, *dct;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (!find_links(func, cmd, dctc, &links)) {
        return;
    }
    dct = mlx5_obj_new(func, MLX5_OBJ_DCT, sizeof(*dct), cmd->uid);
    if (!dct) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_DCT_NONE_FREE);
        return;
    }
    commit(dct, &links, dctc);
    if (func->engine && func->engine->dct_created) {
        func->engine->dct_created(dct);
    }
    MLX5_SET(create_dct_out, cmd->out, dctn, dct->o.id);
}

void mlx5_dct_release(void *obj)
{
    Mlx5Dct *dct = obj;
    Mlx5Func *func = dct->o.func;

    if (func->engine && func->engine->dct_destroyed) {
        func->engine->dct_destroyed(dct);
    }
    mlx5_obj_unref(dct->srq);
    mlx5_obj_unref(dct->cq);
    mlx5_obj_unref(dct->pd);
}

static Mlx5Dct *find(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t dctn)
{
    return mlx5_obj_find(func, cmd, MLX5_OBJ_DCT, dctn,
                         MLX5_SYND_DCT_UNKNOWN);
}

void mlx5_cmd_destroy_dct(Mlx5Func *func, Mlx5Cmd *cmd)
{
    uint32_t dctn = MLX5_GET(destroy_dct_in, cmd->in, dctn);
    Mlx5Dct *dct = find(func, cmd, dctn);

    if (!dct) {
        return;
    }
    if (dct->state != MLX5_DCT_DRAINED && func->engine &&
        func->engine->dct_busy && func->engine->dct_busy(dct)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                      MLX5_SYND_DCT_NOT_DRAINED);
        return;
    }
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_DCT, dctn, MLX5_SYND_DCT_UNKNOWN,
                         MLX5_SYND_DCT_BUSY);
}

void mlx5_cmd_drain_dct(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Dct *dct = find(func, cmd, MLX5_GET(drain_dct_in, cmd->in, dctn));

    if (!dct) {
        return;
    }
    if (dct->state != MLX5_DCT_ACTIVE) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                      MLX5_SYND_DCT_DRAIN_STATE);
        return;
    }
    dct->state = MLX5_DCT_DRAINING;
    if (func->engine && func->engine->dct_drain) {
        func->engine->dct_drain(dct);
    }
}

void mlx5_dct_drained(Mlx5Dct *dct)
{
    dct->state = MLX5_DCT_DRAINED;
    mlx5_event_raise_wq(dct->o.func, MLX5_EVENT_TYPE_DCT_DRAINED, dct->o.id,
                        EVENT_KIND_DCT);
}

void mlx5_dct_violation(Mlx5Dct *dct)
{
    dct->violations++;
    if (dct->armed) {
        dct->armed = false;
        mlx5_event_raise_wq(dct->o.func, MLX5_EVENT_TYPE_DCT_KEY_VIOLATION,
                            dct->o.id, EVENT_KIND_DCT);
    }
}

void mlx5_cmd_query_dct(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Dct *dct = find(func, cmd, MLX5_GET(query_dct_in, cmd->in, dctn));
    uint8_t *dctc = MLX5_ADDR_OF(query_dct_out, cmd->out, dct_context_entry);

    if (!dct) {
        return;
    }
    memcpy(dctc, dct->dctc, sizeof(dct->dctc));
    MLX5_SET(dctc, dctc, state, dct->state);
    MLX5_SET(dctc, dctc, dc_access_key_violation_count, dct->violations);
}

void mlx5_cmd_arm_dct(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Dct *dct = find(func, cmd, MLX5_GET(arm_dct_in, cmd->in, dct_number));

    if (dct) {
        dct->armed = true;
    }
}
