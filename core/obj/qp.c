/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making, querying and destroying queue pairs (PRM: CREATE_QP, QUERY_QP,
 * DESTROY_QP; driver: mlx5_ib qp.c); states are in qp_state.c.
 *
 * What a QP names depends on its service and shape. The driver fills fields
 * that do not apply with numbers of its own stand-in objects; they are kept
 * for QUERY_QP and nothing else:
 *
 *                send CQ   recv CQ   SRQ        XRCD   PD
 *   has SQ       needed
 *   own RQ                 needed
 *   SRQ (not XRC, DCI)     needed    RMP/SRQ; RC: XRQ
 *   XRC target                                  needed
 *   REG_UMR                                            may come at RST2INIT
 *   all others                                         needed
 *
 * Left out: raw packet, underlay and special QP0, WQE signatures, and numbers
 * chosen by the driver.
 */
#include "fw/fw.h"
#include "obj/engine.h"
#include "obj/limits.h"
#include "obj/qp_internal.h"
#include "obj/sched.h"
#include "obj/umem.h"

#define SQ_BB_BYTES 64

/* qpc.rq_type (driver: qp.h) */
enum {
    RQ_TYPE_OWN = 0,
    RQ_TYPE_SRQ = 1,
    RQ_TYPE_ZERO_LEN = 3,
};

/* qpc.offload_type (driver: MLX5_QPC_OFFLOAD_TYPE_RNDV) */
enum {
    OFFLOAD_TYPE_NONE = 0,
    OFFLOAD_TYPE_RNDV = 1,
};

/* qpc.send_dbr_mode (rdma-core: tests/mlx5_prm_structs.py SendDbrMode) */
enum {
    SEND_DBR_VALID = 0,
    SEND_NO_DBR_EXT = 1,
};

/* qpc.ts_format */
#define TS_FORMAT_REAL_TIME 2

/* What CREATE_QP asks for, before it is made. */
typedef struct QpParams {
    Mlx5QpSt st;
    bool has_sq, has_rq, wants_srq, xrc_target;
    uint32_t rq_log_size, rq_wqe_bytes, sq_log_size;
    uint64_t rq_bytes, sq_bytes;
    const uint8_t *qpc;
    /* Objects it names. */
    Mlx5Obj *pd, *xrcd, *uar_page;
    Mlx5Cq *send_cq, *recv_cq;
    Mlx5Srq *srq;
} QpParams;

static void parse(const uint8_t *qpc, QpParams *p)
{
    uint32_t rq_type = MLX5_GET(qpc, qpc, rq_type);

    memset(p, 0, sizeof(*p));
    p->qpc = qpc;
    p->st = MLX5_GET(qpc, qpc, st);
    p->has_sq = !MLX5_GET(qpc, qpc, no_sq);
    /* An initiator receives nothing, whatever its context says. */
    p->has_rq = rq_type == RQ_TYPE_OWN && p->st != MLX5_QP_ST_DCI;
    p->wants_srq = rq_type == RQ_TYPE_SRQ && p->st != MLX5_QP_ST_XRC &&
                   p->st != MLX5_QP_ST_DCI;
    p->xrc_target = p->st == MLX5_QP_ST_XRC && !p->has_sq;
    if (p->has_rq) {
        p->rq_log_size = MLX5_GET(qpc, qpc, log_rq_size);
        p->rq_wqe_bytes = 16u << MLX5_GET(qpc, qpc, log_rq_stride);
        p->rq_bytes = (uint64_t)p->rq_wqe_bytes << p->rq_log_size;
    }
    if (p->has_sq) {
        p->sq_log_size = MLX5_GET(qpc, qpc, log_sq_size);
        p->sq_bytes = (uint64_t)SQ_BB_BYTES << p->sq_log_size;
    }
}

static uint32_t check_shape(const QpParams *p)
{
    uint32_t rq_type = MLX5_GET(qpc, p->qpc, rq_type);

    if (!(MLX5_QP_ST_SUPPORTED >> MIN(p->st, 31) & 1)) {
        return MLX5_SYND_QP_SERVICE;
    }
    if (rq_type != RQ_TYPE_OWN && rq_type != RQ_TYPE_SRQ &&
        rq_type != RQ_TYPE_ZERO_LEN) {
        return MLX5_SYND_QP_RQ_TYPE;
    }
    /* An XRC QP receives through the SRQs that packets name, if at all. */
    if (p->st == MLX5_QP_ST_XRC && p->has_rq) {
        return MLX5_SYND_QP_XRC_RQ;
    }
    if (p->rq_wqe_bytes > MLX5_MAX_WQE_SZ_RQ) {
        return MLX5_SYND_QP_RQ_STRIDE;
    }
    /* The SQ begins behind the RQ, at a whole basic block. */
    if (p->has_sq && p->rq_bytes % SQ_BB_BYTES) {
        return MLX5_SYND_QP_SQ_ALIGN;
    }
    return 0;
}

/* qpc.cs_req and cs_res (driver: mlx5_ib.h): nothing, 32 or 64 bytes. */
static const uint8_t cs_req_values[] = { 0, 0x11, 0x22 };
static const uint8_t cs_res_values[] = { 0, 1, 2 };

/* Return: 0 or the syndrome of what scatter to CQE does not allow. */
static uint32_t check_scatter(const Mlx5Func *func, const QpParams *p)
{
    uint8_t req = MLX5_GET(qpc, p->qpc, cs_req);
    uint8_t res = MLX5_GET(qpc, p->qpc, cs_res);

    if (!func->props.scatter_to_cqe && (req || res)) {
        return MLX5_SYND_QP_SCATTER_OFF;
    }
    if (!memchr(cs_req_values, req, sizeof(cs_req_values))) {
        return MLX5_SYND_QP_CS_REQ;
    }
    return memchr(cs_res_values, res, sizeof(cs_res_values))
               ? 0 : MLX5_SYND_QP_CS_RES;
}

/* Bytes that code @cs, of 2 bits, stands for, if @cq has room for them. */
static uint8_t scatter_bytes(const Mlx5Cq *cq, uint32_t cs)
{
    if (!cq || !cs) {
        return 0;
    }
    return cs == 1 ? 32 : cq->cqe_bytes == 128 ? 64 : 0;
}

/* Return: 0 or the syndrome of what DC does not allow. */
static uint32_t check_dci(const Mlx5Func *func, const QpParams *p)
{
    if (!func->props.dc) {
        return MLX5_SYND_QP_DC_OFF;
    }
    if (MLX5_GET(qpc, p->qpc, log_num_dci_stream_channels) >
        MLX5_LOG_MAX_DCI_STREAMS) {
        return MLX5_SYND_QP_DCI_STREAMS;
    }
    return MLX5_GET(qpc, p->qpc, log_num_dci_errored_streams) >
                   MLX5_LOG_MAX_DCI_STREAMS
               ? MLX5_SYND_QP_DCI_ERRORED : 0;
}

/* Return: 0 or the syndrome of the field that breaks a rule. */
static uint32_t check_fields(const Mlx5Func *func, const Mlx5Cmd *cmd,
                             const QpParams *p)
{
    uint32_t syndrome = check_scatter(func, p);

    if (!syndrome && p->st == MLX5_QP_ST_DCI) {
        syndrome = check_dci(func, p);
    }

    if (MLX5_GET(create_qp_in, cmd->in, qpc_ext)) {
        return MLX5_SYND_QP_EXT;
    }
    if (MLX5_GET(create_qp_in, cmd->in, input_qpn)) {
        return MLX5_SYND_QP_INPUT_QPN;
    }
    if (cmd->uid && MLX5_GET(qpc, p->qpc, rlky)) {
        return MLX5_SYND_QP_USER_RLKEY;
    }
    if (cmd->uid && MLX5_GET(qpc, p->qpc, fre)) {
        return MLX5_SYND_QP_USER_FRE;
    }
    if (MLX5_GET(qpc, p->qpc, wq_signature)) {
        return MLX5_SYND_QP_SIGNATURE;
    }
    if (!mlx5_fw_ts_format_ok(func, MLX5_GET(qpc, p->qpc, ts_format))) {
        return MLX5_SYND_QP_TS_FORMAT;
    }
    if ((p->has_sq || p->has_rq) && MLX5_GET(qpc, p->qpc, dbr_addr) % 8) {
        return MLX5_SYND_QP_DBR;
    }
    if (MLX5_GET(qpc, p->qpc, send_dbr_mode) >
        (func->props.dbr_less ? SEND_NO_DBR_EXT : SEND_DBR_VALID)) {
        return MLX5_SYND_QP_SEND_DBR_MODE;
    }
    return syndrome ? syndrome : check_shape(p);
}

static bool find_cqs(Mlx5Func *func, Mlx5Cmd *cmd, QpParams *p)
{
    if (p->has_sq) {
        p->send_cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ,
                                   MLX5_GET(qpc, p->qpc, cqn_snd),
                                   MLX5_SYND_QP_SEND_CQ);
        if (!p->send_cq) {
            return false;
        }
    }
    if (p->has_rq || p->wants_srq) {
        p->recv_cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ,
                                   MLX5_GET(qpc, p->qpc, cqn_rcv),
                                   MLX5_SYND_QP_RECV_CQ);
        return p->recv_cq;
    }
    return true;
}

static bool find_srq(Mlx5Func *func, Mlx5Cmd *cmd, QpParams *p)
{
    if (!p->wants_srq) {
        return true;
    }
    p->srq = mlx5_obj_find(func, cmd, MLX5_OBJ_SRQ,
                           MLX5_GET(qpc, p->qpc, srqn_rmpn_xrqn),
                           MLX5_SYND_QP_SRQ);
    if (p->srq && p->srq->kind == MLX5_SRQ_XRC) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_SRQ_KIND);
        return false;
    }
    if (p->srq && p->srq->kind == MLX5_SRQ_XRQ && p->st != MLX5_QP_ST_RC) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_XRQ_SERVICE);
        return false;
    }
    return p->srq;
}

/* Rendezvous: the card reads through this QP for the tags of its XRQ. */
static bool check_offload(Mlx5Cmd *cmd, const QpParams *p)
{
    uint32_t type = MLX5_GET(qpc, p->qpc, offload_type);

    if (type == OFFLOAD_TYPE_NONE ||
        (type == OFFLOAD_TYPE_RNDV && p->srq && p->srq->tm_rndv)) {
        return true;
    }
    mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QP_OFFLOAD);
    return false;
}

static bool find_domains(Mlx5Func *func, Mlx5Cmd *cmd, QpParams *p)
{
    uint32_t pdn = MLX5_GET(qpc, p->qpc, pd);

    if (p->xrc_target) {
        /* The kernel makes XRC domains for all user contexts. */
        p->xrcd = mlx5_obj_get(func, MLX5_OBJ_XRCD,
                               MLX5_GET(qpc, p->qpc, xrcd));
        if (!p->xrcd) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_XRCD);
            return false;
        }
    }
    if (pdn == 0 && p->st == MLX5_QP_ST_REG_UMR) {
        return true;
    }
    p->pd = mlx5_obj_find(func, cmd, MLX5_OBJ_PD, pdn, MLX5_SYND_QP_PD);
    return p->pd;
}

static bool find_links(Mlx5Func *func, Mlx5Cmd *cmd, QpParams *p)
{
    if (p->has_sq) {
        p->uar_page = mlx5_obj_find(func, cmd, MLX5_OBJ_UAR,
                                    MLX5_GET(qpc, p->qpc, uar_page),
                                    MLX5_SYND_QP_UAR);
        if (!p->uar_page) {
            return false;
        }
    }
    return find_domains(func, cmd, p) && find_cqs(func, cmd, p) &&
           find_srq(func, cmd, p) && check_offload(cmd, p);
}

void mlx5_qp_refresh(Mlx5Qp *qp)
{
    qp->rlkey = MLX5_GET(qpc, qp->qpc, rlky);
    qp->real_time = MLX5_GET(qpc, qp->qpc, ts_format) == MLX5_TS_REAL_TIME;
    qp->user_index = MLX5_GET(qpc, qp->qpc, user_index);
    /* IBA table: 1 = 256 .. 5 = 4096. */
    qp->mtu_bytes = 128u << CLAMP(MLX5_GET(qpc, qp->qpc, mtu), 1, 5);
    mlx5_paths_changed(qp->o.func);
}

static void commit(Mlx5Qp *qp, const QpParams *p, const Mlx5Ring *ring,
                   uint64_t dbr_gpa)
{
    memcpy(qp->qpc, p->qpc, sizeof(qp->qpc));
    qp->state = MLX5_QP_STATE_RST;
    MLX5_SET(qpc, qp->qpc, state, MLX5_QP_STATE_RST);
    qp->st = p->st;
    qp->pd = p->pd;
    qp->xrcd = p->xrcd;
    qp->uar_page = p->uar_page;
    qp->send_cq = p->send_cq;
    qp->recv_cq = p->recv_cq;
    qp->srq = p->srq;
    mlx5_obj_ref(qp->pd);
    mlx5_obj_ref(qp->xrcd);
    mlx5_obj_ref(qp->uar_page);
    mlx5_obj_ref(qp->send_cq);
    mlx5_obj_ref(qp->recv_cq);
    mlx5_obj_ref(qp->srq);
    qp->ring = *ring;
    qp->has_sq = p->has_sq;
    qp->has_rq = p->has_rq;
    qp->rq_log_size = p->rq_log_size;
    qp->rq_wqe_bytes = p->rq_wqe_bytes;
    qp->sq_log_size = p->sq_log_size;
    qp->sq_base_bytes = p->rq_bytes;
    qp->dbr_gpa = dbr_gpa;
    qp->dbr_less = MLX5_GET(qpc, p->qpc, send_dbr_mode) == SEND_NO_DBR_EXT;
    /* Other services have no such completions (driver: create_user_qp). */
    if (p->st == MLX5_QP_ST_RC || p->st == MLX5_QP_ST_DCI) {
        qp->cs_req_bytes = scatter_bytes(p->send_cq,
                                         MLX5_GET(qpc, p->qpc, cs_req) & 3);
    }
    if (p->st == MLX5_QP_ST_RC || p->st == MLX5_QP_ST_UC) {
        const Mlx5Cq *cq = p->srq && p->srq->cq ? p->srq->cq : p->recv_cq;

        qp->cs_res_bytes = scatter_bytes(cq, MLX5_GET(qpc, p->qpc, cs_res));
    }
    qp->rndv = MLX5_GET(qpc, p->qpc, offload_type) == OFFLOAD_TYPE_RNDV;
    mlx5_qp_refresh(qp);
}

/* Make what passed all checks. Return: NULL if no number is free. */
static Mlx5Qp *qp_new(Mlx5Func *func, Mlx5Cmd *cmd, const QpParams *p,
                      Mlx5Ring *ring, uint64_t dbr_gpa)
{
    Mlx5Qp *qp = mlx5_obj_new(func, MLX5_OBJ_QP, sizeof(*qp), cmd->uid);

    if (!qp) {
        mlx5_ring_clear(ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_QP_NONE_FREE);
        return NULL;
    }
    commit(qp, p, ring, dbr_gpa);
    if (func->engine && func->engine->qp_created) {
        func->engine->qp_created(qp);
    }
    mlx5_qp_pace_rate(qp);
    return qp;
}

static bool find_memory(Mlx5Func *func, Mlx5Cmd *cmd, const QpParams *p,
                        Mlx5Ring *ring, uint64_t *dbr_gpa)
{
    bool queues = p->has_sq || p->has_rq;
    Mlx5QueueMem mem = {
        .bytes = p->rq_bytes + p->sq_bytes,
        .pas_off = MLX5_BYTE_OFF(create_qp_in, pas),
        .log_page_size = MLX5_GET(qpc, p->qpc, log_page_size),
        .page_offset = MLX5_GET(qpc, p->qpc, page_offset),
        /* A QP without queues of its own needs no memory (XRC target). */
        .umem_valid = queues && MLX5_GET(create_qp_in, cmd->in, wq_umem_valid),
        .umem_id = MLX5_GET(create_qp_in, cmd->in, wq_umem_id),
        .umem_offset = MLX5_GET(create_qp_in, cmd->in, wq_umem_offset),
        .dbr_umem_valid = queues && MLX5_GET(qpc, p->qpc, dbr_umem_valid),
        .dbr_umem_id = MLX5_GET(qpc, p->qpc, dbr_umem_id),
        .dbr = MLX5_GET(qpc, p->qpc, dbr_addr),
        .bad_pages = MLX5_SYND_QP_PAGES,
    };

    return mlx5_queue_mem_get(func, cmd, &mem, ring, dbr_gpa);
}

void mlx5_cmd_create_qp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
    uint32_t syndrome;
    QpParams p;
    Mlx5Ring ring;
    uint64_t dbr_gpa;
    Mlx5Qp *qp;

    parse(qpc, &p);
    syndrome = check_fields(func, cmd, &p);
    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (!mlx5_rate_check(func, cmd, MLX5_GET(qpc, qpc,
                                             packet_pacing_rate_limit_index),
                         MLX5_SYND_QP_RATE_LIMIT) ||
        !find_links(func, cmd, &p)) {
        return;
    }
    if (!find_memory(func, cmd, &p, &ring, &dbr_gpa)) {
        return;
    }
    qp = qp_new(func, cmd, &p, &ring, dbr_gpa);
    if (qp) {
        MLX5_SET(create_qp_out, cmd->out, qpn, qp->o.id);
    }
}

void mlx5_cmd_destroy_qp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_QP,
                         MLX5_GET(destroy_qp_in, cmd->in, qpn),
                         MLX5_SYND_QP_UNKNOWN, MLX5_SYND_QP_BUSY);
}

void mlx5_qp_release(void *obj)
{
    Mlx5Qp *qp = obj;

    mlx5_qp_pace_free(qp);
    if (qp->o.func->engine && qp->o.func->engine->qp_destroyed) {
        qp->o.func->engine->qp_destroyed(qp);
    }
    mlx5_obj_unref(qp->srq);
    mlx5_obj_unref(qp->recv_cq);
    mlx5_obj_unref(qp->send_cq);
    mlx5_obj_unref(qp->uar_page);
    mlx5_obj_unref(qp->xrcd);
    mlx5_obj_unref(qp->pd);
    mlx5_ring_clear(&qp->ring);
}

void mlx5_cmd_query_qp(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Qp *qp = mlx5_obj_find(func, cmd, MLX5_OBJ_QP,
                               MLX5_GET(query_qp_in, cmd->in, qpn),
                               MLX5_SYND_QP_UNKNOWN);

    if (!qp) {
        return;
    }
    if (MLX5_GET(query_qp_in, cmd->in, qpc_ext)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_QP_QUERY_EXT);
        return;
    }
    if (func->engine && func->engine->qp_query) {
        func->engine->qp_query(qp);
    }
    memcpy(MLX5_ADDR_OF(query_qp_out, cmd->out, qpc), qp->qpc,
           sizeof(qp->qpc));
    mlx5_ring_put_pas(&qp->ring, cmd,
                      MLX5_BYTE_OFF(query_qp_out, qp_pas_or_qpc_ext_and_pas));
}
