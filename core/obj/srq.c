/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared receive queues (PRM: CREATE_RMP, CREATE_XRC_SRQ, CREATE_SRQ ...;
 * driver: mlx5_ib srq_cmd.c); see srq.h.
 *
 *   RMP      what ibv_create_srq makes: memory and a limit, nothing more
 *   XRC SRQ  has a CQ and an XRC domain of its own (IBA 14, annex A14)
 *   SRQ      the form before ISSI 1
 *
 * The three contexts hold the same facts in different places: each is parsed
 * into SrqParams, checked and made by the same code. Taking WQEs out of the
 * queue is rdma/recv.c. Left out: tag matching (XRQ), WQE signatures, queues in
 * a UMEM, errors states by command.
 */
#include "obj/engine.h"
#include "obj/limits.h"
#include "obj/srq.h"

/* rmpc.state (driver: qp.h MLX5_RMPC_STATE_RDY) */
#define RMPC_STATE_RDY 1

/* wq.wq_type */
enum {
    WQ_TYPE_LINKED_LIST = 0,
    WQ_TYPE_CYCLIC = 1,
};

/* A WQE holds the next segment and one data segment at least. */
#define SRQ_MIN_WQE_LOG 5

/* xrc_srqc.state */
enum {
    SRQ_STATE_GOOD = 0,
    SRQ_STATE_ERROR = 1,
};

typedef struct SrqParams {
    Mlx5SrqKind kind;
    uint32_t pdn, xrcdn, cqn;
    uint32_t log_size, wqe_log;
    uint64_t dbr;
    uint32_t user_index;
    uint16_t lwm;
    bool cyclic, signature, umem, bad_state, bad_type;
    uint32_t log_page_size, page_offset, pas_off;
    const uint8_t *ctx;
    uint32_t ctx_bytes;
} SrqParams;

/* Return: 0 or the syndrome of what breaks a rule. */
static uint32_t check_params(const SrqParams *p)
{
    if (p->bad_state) {
        return MLX5_SYND_RMP_STATE;
    }
    if (p->bad_type) {
        return MLX5_SYND_SRQ_TYPE;
    }
    if (p->umem) {
        return MLX5_SYND_SRQ_UMEM;
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
    if (p->dbr % 8) {
        return MLX5_SYND_SRQ_DBR;
    }
    return p->lwm > 1u << p->log_size ? MLX5_SYND_SRQ_LIMIT : 0;
}

/* What the queue names; references are taken by srq_commit(). */
typedef struct SrqLinks {
    Mlx5Obj *pd, *xrcd;
    Mlx5Cq *cq;
} SrqLinks;

static bool find_links(Mlx5Func *func, Mlx5Cmd *cmd, const SrqParams *p,
                       SrqLinks *links)
{
    memset(links, 0, sizeof(*links));
    links->pd = mlx5_obj_find(func, cmd, MLX5_OBJ_PD, p->pdn,
                              MLX5_SYND_SRQ_PD);
    if (!links->pd || p->kind != MLX5_SRQ_XRC) {
        return links->pd;
    }
    links->cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ, p->cqn,
                              MLX5_SYND_SRQ_CQ);
    if (!links->cq) {
        return false;
    }
    /* The kernel makes XRC domains for all (driver: mlx5_ib_alloc_xrcd). */
    links->xrcd = mlx5_obj_get(func, MLX5_OBJ_XRCD, p->xrcdn);
    if (!links->xrcd) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SRQ_XRCD);
    }
    return links->xrcd;
}

static void srq_commit(Mlx5Srq *srq, const SrqParams *p, const SrqLinks *links,
                       const Mlx5Ring *ring)
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
    srq->dbr_gpa = p->dbr;
    srq->user_index = p->user_index;
    srq->lwm = p->lwm;
    memcpy(srq->ctx, p->ctx, p->ctx_bytes);
}

/* Return: the queue, or NULL if the command was refused. */
static Mlx5Srq *create(Mlx5Func *func, Mlx5Cmd *cmd, const SrqParams *p)
{
    uint32_t syndrome = check_params(p);
    SrqLinks links;
    Mlx5Ring ring;
    Mlx5Srq *srq;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return NULL;
    }
    if (!find_links(func, cmd, p, &links)) {
        return NULL;
    }
    if (!mlx5_ring_from_cmd(&ring, func, cmd, p->pas_off, p->log_page_size,
                            p->page_offset,
                            UINT64_C(1) << (p->log_size + p->wqe_log))) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_SRQ_PAGES);
        return NULL;
    }
    srq = mlx5_obj_new(func, MLX5_OBJ_SRQ, sizeof(*srq), cmd->uid);
    if (!srq) {
        mlx5_ring_clear(&ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_SRQ_NONE_FREE);
        return NULL;
    }
    srq_commit(srq, p, &links, &ring);
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

/* Number @id as a queue of @kind, whatever else has such a number. */
static Mlx5Srq *find(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5SrqKind kind,
                     uint32_t id)
{
    Mlx5Srq *srq = mlx5_obj_get(func, MLX5_OBJ_SRQ, id);

    if (!srq || srq->kind != kind || !mlx5_obj_uid_ok(srq, cmd->uid)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SRQ_UNKNOWN);
        return NULL;
    }
    return srq;
}

static void destroy(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5SrqKind kind, uint32_t id)
{
    if (find(func, cmd, kind, id)) {
        mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_SRQ, id, MLX5_SYND_SRQ_UNKNOWN,
                             MLX5_SYND_SRQ_BUSY);
    }
}

/* The limit of a command; refused beyond the queue's size. */
static void arm(Mlx5Srq *srq, Mlx5Cmd *cmd, uint32_t lwm)
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

/* --- RMP --- */

void mlx5_cmd_create_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_rmp_in, cmd->in, ctx);
    const uint8_t *wq = MLX5_ADDR_OF(rmpc, ctx, wq);
    uint32_t type = MLX5_GET(wq, wq, wq_type);
    SrqParams p = {
        .kind = MLX5_SRQ_RMP,
        .pdn = MLX5_GET(wq, wq, pd),
        .log_size = MLX5_GET(wq, wq, log_wq_sz),
        .wqe_log = MLX5_GET(wq, wq, log_wq_stride),
        .dbr = MLX5_GET(wq, wq, dbr_addr),
        .lwm = MLX5_GET(wq, wq, lwm),
        .cyclic = type == WQ_TYPE_CYCLIC,
        .signature = MLX5_GET(wq, wq, wq_signature),
        .umem = MLX5_GET(wq, wq, wq_umem_valid) ||
                MLX5_GET(wq, wq, dbr_umem_valid),
        .bad_state = MLX5_GET(rmpc, ctx, state) != RMPC_STATE_RDY,
        .bad_type = type != WQ_TYPE_LINKED_LIST && type != WQ_TYPE_CYCLIC,
        .log_page_size = MLX5_GET(wq, wq, log_wq_pg_sz),
        .page_offset = MLX5_GET(wq, wq, page_offset),
        .pas_off = wq + MLX5_BYTE_OFF(wq, pas) - cmd->in,
        .ctx = ctx,
        .ctx_bytes = MLX5_ST_SZ_BYTES(rmpc),
    };
    Mlx5Srq *srq = create(func, cmd, &p);

    if (srq) {
        MLX5_SET(create_rmp_out, cmd->out, rmpn, srq->o.id);
    }
}

void mlx5_cmd_destroy_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    destroy(func, cmd, MLX5_SRQ_RMP, MLX5_GET(destroy_rmp_in, cmd->in, rmpn));
}

void mlx5_cmd_query_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = find(func, cmd, MLX5_SRQ_RMP,
                        MLX5_GET(query_rmp_in, cmd->in, rmpn));
    uint8_t *ctx = MLX5_ADDR_OF(query_rmp_out, cmd->out, rmp_context);
    uint8_t *wq = MLX5_ADDR_OF(rmpc, ctx, wq);
    uint32_t posted;

    if (!srq) {
        return;
    }
    memcpy(ctx, srq->ctx, MLX5_ST_SZ_BYTES(rmpc));
    MLX5_SET(wq, wq, lwm, srq->lwm);
    MLX5_SET(wq, wq, hw_counter, srq->counter);
    if (mlx5_dma_read_be32(func, srq->dbr_gpa, &posted)) {
        MLX5_SET(wq, wq, sw_counter, posted);
    }
    mlx5_ring_put_pas(&srq->ring, cmd,
                      wq + MLX5_BYTE_OFF(wq, pas) - cmd->out);
}

void mlx5_cmd_modify_rmp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(modify_rmp_in, cmd->in, ctx);
    const uint8_t *mask = MLX5_ADDR_OF(modify_rmp_in, cmd->in, bitmask);
    const uint8_t *wq = MLX5_ADDR_OF(rmpc, ctx, wq);
    Mlx5Srq *srq = find(func, cmd, MLX5_SRQ_RMP,
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
        arm(srq, cmd, MLX5_GET(wq, wq, lwm));
    }
}

/* --- XRC SRQ --- */

void mlx5_cmd_create_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_xrc_srq_in, cmd->in,
                                      xrc_srq_context_entry);
    SrqParams p = {
        .kind = MLX5_SRQ_XRC,
        .pdn = MLX5_GET(xrc_srqc, ctx, pd),
        .xrcdn = MLX5_GET(xrc_srqc, ctx, xrcd),
        .cqn = MLX5_GET(xrc_srqc, ctx, cqn),
        .log_size = MLX5_GET(xrc_srqc, ctx, log_xrc_srq_size),
        .wqe_log = MLX5_GET(xrc_srqc, ctx, log_rq_stride) + 4,
        .dbr = MLX5_GET(xrc_srqc, ctx, db_record_addr_h) << 32 |
               MLX5_GET(xrc_srqc, ctx, db_record_addr_l) << 2,
        .user_index = MLX5_GET(xrc_srqc, ctx, user_index),
        .lwm = MLX5_GET(xrc_srqc, ctx, lwm),
        .cyclic = MLX5_GET(xrc_srqc, ctx, basic_cyclic_rcv_wqe) ||
                  MLX5_GET(xrc_srqc, ctx, cont_srq),
        .signature = MLX5_GET(xrc_srqc, ctx, wq_signature),
        .umem = MLX5_GET(xrc_srqc, ctx, dbr_umem_valid) ||
                MLX5_GET(create_xrc_srq_in, cmd->in, xrc_srq_umem_valid),
        .log_page_size = MLX5_GET(xrc_srqc, ctx, log_page_size),
        .page_offset = MLX5_GET(xrc_srqc, ctx, page_offset),
        .pas_off = MLX5_BYTE_OFF(create_xrc_srq_in, pas),
        .ctx = ctx,
        .ctx_bytes = MLX5_ST_SZ_BYTES(xrc_srqc),
    };
    Mlx5Srq *srq = create(func, cmd, &p);

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
    destroy(func, cmd, MLX5_SRQ_XRC,
            MLX5_GET(destroy_xrc_srq_in, cmd->in, xrc_srqn));
}

void mlx5_cmd_query_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = find(func, cmd, MLX5_SRQ_XRC,
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

/* op_mod of ARM_XRC_SRQ and ARM_RQ (driver: mlx5_ifc.h): 1 = SRQ. */
#define ARM_OP_MOD_SRQ 1

void mlx5_cmd_arm_xrc_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = find(func, cmd, MLX5_SRQ_XRC,
                        MLX5_GET(arm_xrc_srq_in, cmd->in, xrc_srqn));

    if (srq && cmd->op_mod != ARM_OP_MOD_SRQ) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_XRC_SRQ_ARM_OP_MOD);
    } else if (srq) {
        arm(srq, cmd, MLX5_GET(arm_xrc_srq_in, cmd->in, lwm));
    }
}

/* --- SRQ of ISSI 0 --- */

void mlx5_cmd_create_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_srq_in, cmd->in,
                                      srq_context_entry);
    SrqParams p = {
        .kind = MLX5_SRQ_LEGACY,
        .pdn = MLX5_GET(srqc, ctx, pd),
        .log_size = MLX5_GET(srqc, ctx, log_srq_size),
        .wqe_log = MLX5_GET(srqc, ctx, log_rq_stride) + 4,
        .dbr = MLX5_GET(srqc, ctx, dbr_addr),
        .lwm = MLX5_GET(srqc, ctx, lwm),
        .cyclic = MLX5_GET(srqc, ctx, cont_srq),
        .signature = MLX5_GET(srqc, ctx, wq_signature),
        .log_page_size = MLX5_GET(srqc, ctx, log_page_size),
        .page_offset = MLX5_GET(srqc, ctx, page_offset),
        .pas_off = MLX5_BYTE_OFF(create_srq_in, pas),
        .ctx = ctx,
        .ctx_bytes = MLX5_ST_SZ_BYTES(srqc),
    };
    Mlx5Srq *srq = create(func, cmd, &p);

    if (srq) {
        MLX5_SET(create_srq_out, cmd->out, srqn, srq->o.id);
    }
}

void mlx5_cmd_destroy_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    destroy(func, cmd, MLX5_SRQ_LEGACY,
            MLX5_GET(destroy_srq_in, cmd->in, srqn));
}

void mlx5_cmd_query_srq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Srq *srq = find(func, cmd, MLX5_SRQ_LEGACY,
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
    Mlx5Srq *srq = find(func, cmd, MLX5_SRQ_LEGACY,
                        MLX5_GET(arm_rq_in, cmd->in, srq_number));

    if (srq && cmd->op_mod != ARM_OP_MOD_SRQ) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_ARM_RQ_OP_MOD);
    } else if (srq) {
        arm(srq, cmd, MLX5_GET(arm_rq_in, cmd->in, lwm));
    }
}
