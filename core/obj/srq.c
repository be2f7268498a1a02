/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared receive queues (PRM: CREATE_RMP, CREATE_XRC_SRQ, CREATE_SRQ ...;
 * driver: mlx5_ib srq_cmd.c); see srq.h.
 *
 *   RMP      what ibv_create_srq makes: memory and a limit, nothing more
 *   XRC SRQ  has a CQ and an XRC domain of its own (IBA 14, annex A14)
 *   SRQ      the form before ISSI 1
 *   XRQ      has a CQ of its own, and may match tags (xrq.c)
 *
 * The contexts hold the same facts in different places: each is parsed into
 * Mlx5SrqParams, checked and made by the same code. Taking WQEs out of the
 * queue is rdma/recv.c. Left out: WQE signatures, error states by command.
 */
#include "obj/engine.h"
#include "obj/limits.h"
#include "obj/srq_internal.h"
#include "obj/tm_list.h"
#include "obj/wq.h"

/* rmpc.state (driver: qp.h MLX5_RMPC_STATE_RDY) */
#define RMPC_STATE_RDY 1

/* A WQE holds the next segment and one data segment at least. */
#define SRQ_MIN_WQE_LOG 5

/* xrc_srqc.state */
enum {
    SRQ_STATE_GOOD = 0,
    SRQ_STATE_ERROR = 1,
};

/* Return: 0 or the syndrome of what breaks a rule. */
static uint32_t check_params(const Mlx5SrqParams *p)
{
    if (p->bad_state) {
        return MLX5_SYND_RMP_STATE;
    }
    if (p->bad_type) {
        return MLX5_SYND_SRQ_TYPE;
    }
    if (p->signature) {
        return MLX5_SYND_SRQ_SIGNATURE;
    }
    if (p->log_size > MLX5_LOG_MAX_SRQ_SZ) {
        return MLX5_SYND_SRQ_SIZE;
    }
    if (p->wqe_log < SRQ_MIN_WQE_LOG ||
        1u << p->wqe_log > MLX5_MAX_WQE_SZ_RQ) {
        return MLX5_SYND_SRQ_STRIDE;
    }
    if (p->mem.dbr % 8) {
        return MLX5_SYND_SRQ_DBR;
    }
    return p->lwm > 1u << p->log_size ? MLX5_SYND_SRQ_LIMIT : 0;
}

/* What the queue names; references are taken by srq_commit(). */
typedef struct SrqLinks {
    Mlx5Obj *pd, *xrcd;
    Mlx5Cq *cq;
} SrqLinks;

static bool find_links(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5SrqParams *p,
                       SrqLinks *links)
{
    memset(links, 0, sizeof(*links));
    links->pd = mlx5_obj_find(func, cmd, MLX5_OBJ_PD, p->pdn,
                              MLX5_SYND_SRQ_PD);
    if (!links->pd || (p->kind != MLX5_SRQ_XRC && p->kind != MLX5_SRQ_XRQ)) {
        return links->pd;
    }
    links->cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ, p->cqn,
                              MLX5_SYND_SRQ_CQ);
    if (!links->cq || p->kind != MLX5_SRQ_XRC) {
        return links->cq;
    }
    /* The kernel makes XRC domains for all (driver: mlx5_ib_alloc_xrcd). */
    links->xrcd = mlx5_obj_get(func, MLX5_OBJ_XRCD, p->xrcdn);
    if (!links->xrcd) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SRQ_XRCD);
    }
    return links->xrcd;
}

static void srq_commit(Mlx5Srq *srq, const Mlx5SrqParams *p,
                       const SrqLinks *links, const Mlx5Ring *ring,
                       uint64_t dbr_gpa)
{
    srq->kind = p->kind;
    srq->pd = links->pd;
    srq->xrcd = links->xrcd;
    srq->cq = links->cq;
    mlx5_obj_ref(srq->pd);
    mlx5_obj_ref(srq->xrcd);
    mlx5_obj_ref(srq->cq);
    srq->ring = *ring;
    srq->log_size = p->log_size;
    srq->wqe_bytes = 1u << p->wqe_log;
    srq->cyclic = p->cyclic;
    srq->dbr_gpa = dbr_gpa;
    srq->user_index = p->user_index;
    srq->lwm = p->lwm;
    memcpy(srq->ctx, p->ctx, p->ctx_bytes);
}

Mlx5Srq *mlx5_srq_create(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5SrqParams *p)
{
    uint32_t syndrome = check_params(p);
    Mlx5QueueMem mem = p->mem;
    SrqLinks links;
    Mlx5Ring ring;
    uint64_t dbr_gpa;
    Mlx5Srq *srq;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return NULL;
    }
    if (!find_links(func, cmd, p, &links)) {
        return NULL;
    }
    mem.bytes = UINT64_C(1) << (p->log_size + p->wqe_log);
    mem.bad_pages = MLX5_SYND_SRQ_PAGES;
    if (!mlx5_queue_mem_get(func, cmd, &mem, &ring, &dbr_gpa)) {
        return NULL;
    }
    srq = mlx5_obj_new(func, MLX5_OBJ_SRQ, sizeof(*srq), cmd->uid);
    if (!srq) {
        mlx5_ring_clear(&ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_SRQ_NONE_FREE);
        return NULL;
    }
    srq_commit(srq, p, &links, &ring, dbr_gpa);
    return srq;
}

void mlx5_srq_release(void *obj)
{
    Mlx5Srq *srq = obj;

    if (srq->o.func->engine && srq->o.func->engine->srq_destroyed) {
        srq->o.func->engine->srq_destroyed(srq);
    }
    mlx5_obj_unref(srq->cq);
    mlx5_obj_unref(srq->xrcd);
    mlx5_obj_unref(srq->pd);
    mlx5_ring_clear(&srq->ring);
    mlx5_tm_list_free(srq->tm);
}

void mlx5_srq_arm(Mlx5Srq *srq, uint16_t lwm)
{
    uint32_t posted;

    srq->lwm = lwm;
    if (lwm && mlx5_dma_read_be32(srq->o.func, srq->dbr_gpa, &posted) &&
        (uint16_t)(posted - srq->counter) < lwm) {
        srq->lwm = 0;
        mlx5_event_raise_wq(srq->o.func, MLX5_EVENT_TYPE_SRQ_RQ_LIMIT,
                            srq->o.id, 0);
    }
}

Mlx5Srq *mlx5_srq_find(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5SrqKind kind,
                       uint32_t id)
{
    Mlx5Srq *srq = mlx5_obj_get(func, MLX5_OBJ_SRQ, id);

    if (!srq || srq->kind != kind || !mlx5_obj_uid_ok(srq, cmd->uid)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SRQ_UNKNOWN);
        return NULL;
    }
    return srq;
}

void mlx5_srq_destroy(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5SrqKind kind,
                      uint32_t id)
{
    if (mlx5_srq_find(func, cmd, kind, id)) {
        mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_SRQ, id, MLX5_SYND_SRQ_UNKNOWN,
                             MLX5_SYND_SRQ_BUSY);
    }
}

void mlx5_srq_arm_cmd(Mlx5Srq *srq, Mlx5Cmd *cmd, uint32_t lwm)
{
    if (srq->failed) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                      MLX5_SYND_SRQ_FAILED);
    } else if (lwm > 1u << srq->log_size) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_SRQ_ARM_LIMIT);
    } else {
        mlx5_srq_arm(srq, lwm);
    }
}

void mlx5_srq_parse_wq(const Mlx5Cmd *cmd, const uint8_t *wq, Mlx5SrqParams *p)
{
    uint32_t type = MLX5_GET(wq, wq, wq_type);

    p->pdn = MLX5_GET(wq, wq, pd);
    p->log_size = MLX5_GET(wq, wq, log_wq_sz);
    p->wqe_log = MLX5_GET(wq, wq, log_wq_stride);
    p->mem = mlx5_wq_mem(cmd, wq);
    p->lwm = MLX5_GET(wq, wq, lwm);
    p->cyclic = type == MLX5_WQ_TYPE_CYCLIC;
    p->signature = MLX5_GET(wq, wq, wq_signature);
    p->bad_type = type != MLX5_WQ_TYPE_LINKED_LIST &&
                  type != MLX5_WQ_TYPE_CYCLIC;
}

void mlx5_srq_query_wq(Mlx5Srq *srq, Mlx5Cmd *cmd, uint8_t *wq)
{
    uint32_t posted;

    MLX5_SET(wq, wq, lwm, srq->lwm);
    MLX5_SET(wq, wq, hw_counter, srq->counter);
    if (mlx5_dma_read_be32(srq->o.func, srq->dbr_gpa, &posted)) {
        MLX5_SET(wq, wq, sw_counter, posted);
    }
    mlx5_ring_put_pas(&srq->ring, cmd, wq + MLX5_BYTE_OFF(wq, pas) - cmd->out);
}

/* --- RMP --- */

void mlx5_cmd_create_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_rmp_in, cmd->in, ctx);
    const uint8_t *wq = MLX5_ADDR_OF(rmpc, ctx, wq);
    Mlx5SrqParams p = {
        .kind = MLX5_SRQ_RMP,
        .bad_state = MLX5_GET(rmpc, ctx, state) != RMPC_STATE_RDY,
        .ctx = ctx,
        .ctx_bytes = MLX5_ST_SZ_BYTES(rmpc),
    };
    Mlx5Srq *srq;

    mlx5_srq_parse_wq(cmd, wq, &p);
    srq = mlx5_srq_create(func, cmd, &p);
    if (srq) {
        MLX5_SET(create_rmp_out, cmd->out, rmpn, srq->o.id);
    }
}

void mlx5_cmd_destroy_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_srq_destroy(func, cmd, MLX5_SRQ_RMP,
                     MLX5_GET(destroy_rmp_in, cmd->in, rmpn));
}

void mlx5_cmd_query_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = mlx5_srq_find(func, cmd, MLX5_SRQ_RMP,
                                 MLX5_GET(query_rmp_in, cmd->in, rmpn));
    uint8_t *ctx = MLX5_ADDR_OF(query_rmp_out, cmd->out, rmp_context);

    if (srq) {
        memcpy(ctx, srq->ctx, MLX5_ST_SZ_BYTES(rmpc));
        mlx5_srq_query_wq(srq, cmd, MLX5_ADDR_OF(rmpc, ctx, wq));
    }
}

void mlx5_cmd_modify_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(modify_rmp_in, cmd->in, ctx);
    const uint8_t *mask = MLX5_ADDR_OF(modify_rmp_in, cmd->in, bitmask);
    const uint8_t *wq = MLX5_ADDR_OF(rmpc, ctx, wq);
    Mlx5Srq *srq = mlx5_srq_find(func, cmd, MLX5_SRQ_RMP,
                                 MLX5_GET(modify_rmp_in, cmd->in, rmpn));

    if (!srq) {
        return;
    }
    if (MLX5_GET(modify_rmp_in, cmd->in, rmp_state) != RMPC_STATE_RDY ||
        MLX5_GET(rmpc, ctx, state) != RMPC_STATE_RDY) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                      MLX5_SYND_RMP_MODIFY_STATE);
        return;
    }
    if (mlx5_prm_reserved_set(&mlx5_layout_rmp_bitmask, mask,
                              MLX5_ST_SZ_BYTES(rmp_bitmask)) >= 0) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_RMP_MODIFY_FIELD);
        return;
    }
    if (MLX5_GET(rmp_bitmask, mask, lwm)) {
        mlx5_srq_arm_cmd(srq, cmd, MLX5_GET(wq, wq, lwm));
    }
}

/* --- XRC SRQ --- */

void mlx5_cmd_create_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_xrc_srq_in, cmd->in,
                                      xrc_srq_context_entry);
    Mlx5SrqParams p = {
        .kind = MLX5_SRQ_XRC,
        .pdn = MLX5_GET(xrc_srqc, ctx, pd),
        .xrcdn = MLX5_GET(xrc_srqc, ctx, xrcd),
        .cqn = MLX5_GET(xrc_srqc, ctx, cqn),
        .log_size = MLX5_GET(xrc_srqc, ctx, log_xrc_srq_size),
        .wqe_log = MLX5_GET(xrc_srqc, ctx, log_rq_stride) + 4,
        .mem = {
            .pas_off = MLX5_BYTE_OFF(create_xrc_srq_in, pas),
            .log_page_size = MLX5_GET(xrc_srqc, ctx, log_page_size),
            .page_offset = MLX5_GET(xrc_srqc, ctx, page_offset),
            .umem_valid = MLX5_GET(create_xrc_srq_in, cmd->in,
                                   xrc_srq_umem_valid),
            .umem_id = MLX5_GET(create_xrc_srq_in, cmd->in, xrc_srq_umem_id),
            .umem_offset = MLX5_GET(create_xrc_srq_in, cmd->in,
                                    xrc_srq_umem_offset),
            .dbr_umem_valid = MLX5_GET(xrc_srqc, ctx, dbr_umem_valid),
            .dbr_umem_id = MLX5_GET(xrc_srqc, ctx, dbr_umem_id),
            .dbr = MLX5_GET(xrc_srqc, ctx, db_record_addr_h) << 32 |
                   MLX5_GET(xrc_srqc, ctx, db_record_addr_l) << 2,
        },
        .user_index = MLX5_GET(xrc_srqc, ctx, user_index),
        .lwm = MLX5_GET(xrc_srqc, ctx, lwm),
        .cyclic = MLX5_GET(xrc_srqc, ctx, basic_cyclic_rcv_wqe) ||
                  MLX5_GET(xrc_srqc, ctx, cont_srq),
        .signature = MLX5_GET(xrc_srqc, ctx, wq_signature),
        .ctx = ctx,
        .ctx_bytes = MLX5_ST_SZ_BYTES(xrc_srqc),
    };
    Mlx5Srq *srq = mlx5_srq_create(func, cmd, &p);

    if (!srq) {
        return;
    }
    if (MLX5_GET(xrc_srqc, ctx, user_index_equal_xrc_srqn)) {
        srq->user_index = srq->o.id;
    }
    MLX5_SET(create_xrc_srq_out, cmd->out, xrc_srqn, srq->o.id);
}

void mlx5_cmd_destroy_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_srq_destroy(func, cmd, MLX5_SRQ_XRC,
                     MLX5_GET(destroy_xrc_srq_in, cmd->in, xrc_srqn));
}

void mlx5_cmd_query_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = mlx5_srq_find(func, cmd, MLX5_SRQ_XRC,
                                 MLX5_GET(query_xrc_srq_in, cmd->in, xrc_srqn));
    uint8_t *ctx = MLX5_ADDR_OF(query_xrc_srq_out, cmd->out,
                                xrc_srq_context_entry);
    uint32_t posted;

    if (!srq) {
        return;
    }
    memcpy(ctx, srq->ctx, MLX5_ST_SZ_BYTES(xrc_srqc));
    MLX5_SET(xrc_srqc, ctx, state,
             srq->failed ? SRQ_STATE_ERROR : SRQ_STATE_GOOD);
    MLX5_SET(xrc_srqc, ctx, user_index, srq->user_index);
    MLX5_SET(xrc_srqc, ctx, lwm, srq->lwm);
    if (mlx5_dma_read_be32(func, srq->dbr_gpa, &posted)) {
        MLX5_SET(xrc_srqc, ctx, wqe_cnt, posted - srq->counter);
    }
    mlx5_ring_put_pas(&srq->ring, cmd, MLX5_BYTE_OFF(query_xrc_srq_out, pas));
}

/* op_mod of ARM_XRC_SRQ and ARM_RQ (driver: mlx5_ifc.h). */
enum {
    ARM_OP_MOD_SRQ = 1,
    ARM_OP_MOD_XRQ = 2,
};

void mlx5_cmd_arm_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = mlx5_srq_find(func, cmd, MLX5_SRQ_XRC,
                                 MLX5_GET(arm_xrc_srq_in, cmd->in, xrc_srqn));

    if (srq && cmd->op_mod != ARM_OP_MOD_SRQ) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_XRC_SRQ_ARM_OP_MOD);
    } else if (srq) {
        mlx5_srq_arm_cmd(srq, cmd, MLX5_GET(arm_xrc_srq_in, cmd->in, lwm));
    }
}

/* --- SRQ of ISSI 0 --- */

void mlx5_cmd_create_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_srq_in, cmd->in,
                                      srq_context_entry);
    Mlx5SrqParams p = {
        .kind = MLX5_SRQ_LEGACY,
        .pdn = MLX5_GET(srqc, ctx, pd),
        .log_size = MLX5_GET(srqc, ctx, log_srq_size),
        .wqe_log = MLX5_GET(srqc, ctx, log_rq_stride) + 4,
        .mem = {
            .pas_off = MLX5_BYTE_OFF(create_srq_in, pas),
            .log_page_size = MLX5_GET(srqc, ctx, log_page_size),
            .page_offset = MLX5_GET(srqc, ctx, page_offset),
            .dbr = MLX5_GET(srqc, ctx, dbr_addr),
        },
        .lwm = MLX5_GET(srqc, ctx, lwm),
        .cyclic = MLX5_GET(srqc, ctx, cont_srq),
        .signature = MLX5_GET(srqc, ctx, wq_signature),
        .ctx = ctx,
        .ctx_bytes = MLX5_ST_SZ_BYTES(srqc),
    };
    Mlx5Srq *srq = mlx5_srq_create(func, cmd, &p);

    if (srq) {
        MLX5_SET(create_srq_out, cmd->out, srqn, srq->o.id);
    }
}

void mlx5_cmd_destroy_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_srq_destroy(func, cmd, MLX5_SRQ_LEGACY,
                     MLX5_GET(destroy_srq_in, cmd->in, srqn));
}

void mlx5_cmd_query_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = mlx5_srq_find(func, cmd, MLX5_SRQ_LEGACY,
                                 MLX5_GET(query_srq_in, cmd->in, srqn));
    uint8_t *ctx = MLX5_ADDR_OF(query_srq_out, cmd->out, srq_context_entry);
    uint32_t posted;

    if (!srq) {
        return;
    }
    memcpy(ctx, srq->ctx, MLX5_ST_SZ_BYTES(srqc));
    MLX5_SET(srqc, ctx, state, srq->failed ? SRQ_STATE_ERROR : SRQ_STATE_GOOD);
    MLX5_SET(srqc, ctx, lwm, srq->lwm);
    if (mlx5_dma_read_be32(func, srq->dbr_gpa, &posted)) {
        MLX5_SET(srqc, ctx, wqe_cnt, posted - srq->counter);
    }
    mlx5_ring_put_pas(&srq->ring, cmd, MLX5_BYTE_OFF(query_srq_out, pas));
}

void mlx5_cmd_arm_rq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5SrqKind kind = cmd->op_mod == ARM_OP_MOD_XRQ ? MLX5_SRQ_XRQ
                                                     : MLX5_SRQ_LEGACY;
    Mlx5Srq *srq = mlx5_srq_find(func, cmd, kind,
                                 MLX5_GET(arm_rq_in, cmd->in, srq_number));

    if (srq && kind == MLX5_SRQ_LEGACY && cmd->op_mod != ARM_OP_MOD_SRQ) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_ARM_RQ_OP_MOD);
    } else if (srq) {
        mlx5_srq_arm_cmd(srq, cmd, MLX5_GET(arm_rq_in, cmd->in, lwm));
    }
}
