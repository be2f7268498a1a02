/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue pairs: context, states and what the engines need at hand
 * (PRM: Queue Pair Context; IBA 10.3; driver: mlx5_ib qp.c).
 */
#ifndef MLX5_OBJ_QP_H
#define MLX5_OBJ_QP_H

#include "obj/cq.h"
#include "obj/pace.h"
#include "obj/srq.h"

/** qpc.st (driver: qp.h). */
typedef enum Mlx5QpSt {
    MLX5_QP_ST_RC = 0x0,
    MLX5_QP_ST_UC = 0x1,
    MLX5_QP_ST_UD = 0x2,
    MLX5_QP_ST_XRC = 0x3,
    MLX5_QP_ST_DCI = 0x5,
    MLX5_QP_ST_DCT = 0x6,
    MLX5_QP_ST_QP0 = 0x7,
    MLX5_QP_ST_QP1 = 0x8,
    MLX5_QP_ST_RAW_ETHERTYPE = 0x9,
    MLX5_QP_ST_REG_UMR = 0xc,
} Mlx5QpSt;

/** qpc.state. */
typedef enum Mlx5QpState {
    MLX5_QP_STATE_RST = 0,
    MLX5_QP_STATE_INIT = 1,
    MLX5_QP_STATE_RTR = 2,
    MLX5_QP_STATE_RTS = 3,
    MLX5_QP_STATE_SQER = 4,
    MLX5_QP_STATE_SQD = 5,
    MLX5_QP_STATE_ERR = 6,
    MLX5_QP_STATE_COUNT
} Mlx5QpState;

typedef struct Mlx5QpEngine Mlx5QpEngine;    /* rdma/ */

typedef struct Mlx5Qp {
    Mlx5Obj o;
    Mlx5QpState state;       /* changed by mlx5_qp_set_state() alone */
    Mlx5QpSt st;
    uint8_t qpc[MLX5_BITS_qpc / 8]; /* merged context; the truth for fields
                                     * that have no copy below */
    Mlx5Obj *pd;
    Mlx5Obj *xrcd;
    Mlx5Obj *uar_page;       /* of the send doorbell; NULL without an SQ */
    Mlx5Cq *send_cq;
    Mlx5Cq *recv_cq;
    Mlx5Srq *srq;            /* only if rq_type says so */
    Mlx5Ring ring;           /* RQ first, then SQ */
    bool has_sq, has_rq;
    bool dbr_less;           /* doorbells say how far; no record does */
    bool rndv;               /* does the reads of its XRQ's rendezvous */
    uint32_t rq_log_size;    /* WQEs */
    uint32_t rq_wqe_bytes;
    uint32_t sq_log_size;    /* 64-byte basic blocks */
    uint64_t sq_base_bytes;  /* of the SQ in the ring */
    uint64_t dbr_gpa;        /* word 0 receive, word 1 send counter */
    uint8_t cs_req_bytes;    /* of an answer, or of a message, that may come */
    uint8_t cs_res_bytes;    /* in the completion; 0 = never */
    bool rlkey;              /* the reserved lkey may be used */
    bool real_time;          /* completions show the real-time clock */
    uint32_t user_index;
    uint32_t mtu_bytes;      /* of the path */
    uint16_t rq_consumed;    /* receives taken since reset (rdma/recv.c) */
    /* What holds back its requests, and its answers; mostly NULL. */
    Mlx5Pace *req_pace, *resp_pace;
    Mlx5CongFlow *cong;      /* its peer told of congestion (obj/cong.h) */
    Mlx5QpEngine *engine;    /* made by the engine at creation */
} Mlx5Qp;

/**
 * The one place where a QP changes state: context, trace, engine. From any
 * command or from the engines (an error takes the QP to ERR or SQER).
 */
void mlx5_qp_set_state(Mlx5Qp *qp, Mlx5QpState to);
const char *mlx5_qp_state_name(Mlx5QpState state);

/** Return: the number of the Q counter set it counts in; 0 = none. */
static inline uint32_t mlx5_qp_counter(const Mlx5Qp *qp)
{
    return MLX5_GET(qpc, qp->qpc, counter_set_id);
}

static inline uint32_t mlx5_qp_pdn(const Mlx5Qp *qp)
{
    return qp->pd ? qp->pd->id : 0;
}

#endif
