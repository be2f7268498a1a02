/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send queues that are not part of a QP (PRM: SQ Context; driver: en_main.c
 * mlx5e_create_sq, wc.c, mlx5_ib qp.c). Numbers start at MLX5_SQ_FIRST_ID.
 */
#ifndef MLX5_OBJ_SQ_H
#define MLX5_OBJ_SQ_H

#include "obj/cq.h"
#include "obj/pace.h"
#include "obj/tis.h"
#include "obj/wq.h"

typedef struct Mlx5Sq {
    Mlx5Obj o;
    Mlx5WqState state;       /* changed by mlx5_sq_set_state() alone */
    Mlx5Wq wq;
    Mlx5Cq *cq;
    Mlx5Tis *tis;            /* NULL: may only do nothing (NOP) */
    bool real_time;          /* completions show the real-time clock */
    bool rlkey;              /* the reserved lkey may be used */
    bool flush_in_error;
    bool reg_umr;            /* may change memory keys */
    bool swp;                /* WQEs may tell where headers are */
    uint8_t min_inline_mode;
    uint32_t user_index;
    uint16_t ci;             /* basic blocks consumed */
    bool nop_silent;         /* the last WQE done was a NOP without a CQE ... */
    uint16_t nop_at;         /* ... at this index (BlueFlame, eth/sq.c) */
    uint16_t bf_index;       /* index of the WQE rung last */
    Mlx5Work work;           /* eth/ */
    Mlx5Pace *pace;          /* what holds it back; mostly NULL */
    uint8_t sqc[MLX5_BITS_sqc / 8]; /* for QUERY_SQ */
} Mlx5Sq;

/** The one place where an SQ changes state; by command or by the engine. */
void mlx5_sq_set_state(Mlx5Sq *sq, Mlx5WqState to);

#endif
