/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work queue inside an SQ or RQ context (PRM: Work Queue Context; driver:
 * wq.c, layout wq): a ring of WQEs of one size and its doorbell record. An RQ's
 * may be striding: each WQE takes many frames, a number of strides each.
 */
#ifndef MLX5_OBJ_WQ_H
#define MLX5_OBJ_WQ_H

#include "obj/ring.h"
#include "obj/table.h"
#include "obj/umem.h"

/** wq.wq_type (driver: mlx5_ifc.h). */
typedef enum Mlx5WqType {
    MLX5_WQ_TYPE_LINKED_LIST = 0,
    MLX5_WQ_TYPE_CYCLIC = 1,
    MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ = 2,
    MLX5_WQ_TYPE_CYCLIC_STRIDING_RQ = 3,
} Mlx5WqType;

/** sqc.state and rqc.state (driver: MLX5_SQC_STATE_*, MLX5_RQC_STATE_*). */
typedef enum Mlx5WqState {
    MLX5_WQ_STATE_RST = 0,
    MLX5_WQ_STATE_RDY = 1,
    MLX5_WQ_STATE_ERR = 3,
    MLX5_WQ_STATE_COUNT
} Mlx5WqState;

/** Read-only after creation. */
typedef struct Mlx5Wq {
    Mlx5Obj *pd;             /* NULL: PD 0, nobody's */
    Mlx5Obj *uar;            /* SQ only */
    Mlx5Ring ring;
    uint32_t log_size;       /* WQEs; of an SQ, basic blocks */
    uint32_t log_stride;     /* bytes of one */
    bool striding, linked;   /* many frames in a WQE; each names the next */
    uint32_t log_strides;    /* of the memory that a striding WQE describes: */
    uint32_t log_stride_bytes; /* how many, how long */
    uint64_t dbr_gpa;        /* word 0 receive, word 1 send counter */
} Mlx5Wq;

static inline uint32_t mlx5_wq_pdn(const Mlx5Wq *wq)
{
    return wq->pd ? wq->pd->id : 0;
}

/** What the layout at @wq, inside @cmd's input, says of memory. */
Mlx5QueueMem mlx5_wq_mem(const Mlx5Cmd *cmd, const uint8_t *wq);

/** Where a command has its wq layout. */
typedef struct Mlx5WqIn {
    const uint8_t *wq;       /* in cmd->in; the page list is its tail */
    uint32_t min_log_stride, max_log_stride;
    bool has_uar;
} Mlx5WqIn;

/**
 * Check @in and fill @wq; takes no references yet.
 * Return: false if refused; then @wq holds nothing.
 */
bool mlx5_wq_parse(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5WqIn *in,
                   Mlx5Wq *wq);
/** Take the references that mlx5_wq_release() drops. */
void mlx5_wq_hold(Mlx5Wq *wq);
/** Free the ring of a queue that was parsed but never held. */
void mlx5_wq_drop(Mlx5Wq *wq);
void mlx5_wq_release(Mlx5Wq *wq);

/** May an SQ or RQ go from @from to @to? */
bool mlx5_wq_may_go(uint32_t from, uint32_t to);
const char *mlx5_wq_state_name(Mlx5WqState state);

static inline uint32_t mlx5_wq_strides(const Mlx5Wq *wq)
{
    return 1u << wq->log_size;
}

#endif
