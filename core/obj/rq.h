/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive queues that are not part of a QP (PRM: RQ Context; driver:
 * en_main.c mlx5e_create_rq, mlx5_ib qp.c).
 */
#ifndef MLX5_OBJ_RQ_H
#define MLX5_OBJ_RQ_H

#include "obj/cq.h"
#include "obj/wq.h"

/** Segments that become one packet: eth/lro.c's. */
typedef struct Mlx5Lro Mlx5Lro;
/** Frames that wait for a WQE: eth/backlog.c's. */
typedef struct Mlx5Backlog Mlx5Backlog;

typedef struct Mlx5Rq {
    Mlx5Obj o;
    Mlx5WqState state;       /* changed by mlx5_rq_set_state() alone */
    Mlx5Wq wq;
    Mlx5Cq *cq;
    Mlx5Obj *counter;        /* Q counter set or NULL */
    bool real_time;          /* completions show the real-time clock */
    bool rlkey;
    bool flush_in_error;
    bool scatter_fcs;        /* the FCS follows the frame in memory */
    bool vsd;                /* leave the VLAN tag in the frame */
    uint32_t user_index;
    uint16_t ci;             /* WQEs consumed, against the doorbell record */
    uint32_t slot;           /* striding: the WQE in use, */
    uint32_t stride_at;      /* and strides of it that are used */
    Mlx5Lro *lro;            /* what is gathered, or NULL */
    Mlx5Backlog *backlog;    /* what waits for a WQE, or NULL */
    uint8_t rqc[MLX5_BITS_rqc / 8]; /* for QUERY_RQ */
} Mlx5Rq;

/** The one place where an RQ changes state; by command or by the engine. */
void mlx5_rq_set_state(Mlx5Rq *rq, Mlx5WqState to);

#endif
