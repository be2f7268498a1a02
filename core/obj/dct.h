/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DC targets: what any initiator that knows the key may send to
 * (PRM: DC Target; driver: mlx5_ib qp.c create_dct, qpc.c).
 */
#ifndef MLX5_OBJ_DCT_H
#define MLX5_OBJ_DCT_H

#include "obj/cq.h"
#include "obj/srq.h"

/** dctc.state. */
typedef enum Mlx5DctState {
    MLX5_DCT_ACTIVE = 0,     /* takes messages */
    MLX5_DCT_DRAINING = 1,   /* those begun, no new ones */
    MLX5_DCT_DRAINED = 2,    /* none; may be destroyed */
} Mlx5DctState;

typedef struct Mlx5DctEngine Mlx5DctEngine;  /* rdma/ */

typedef struct Mlx5Dct {
    Mlx5Obj o;
    Mlx5DctState state;
    uint8_t dctc[MLX5_BITS_dctc / 8]; /* as created, with live state */
    Mlx5Obj *pd;
    Mlx5Cq *cq;
    Mlx5Srq *srq;
    uint64_t key;
    uint8_t cs_res_bytes;    /* of a message that may come in the completion */
    uint32_t violations;     /* messages with another key */
    bool armed;              /* the next one raises an event */
    Mlx5DctEngine *engine;   /* made by the engine at creation */
} Mlx5Dct;

/** A message came with another key. */
void mlx5_dct_violation(Mlx5Dct *dct);
/** The engine: nothing of this target is on its way any more. */
void mlx5_dct_drained(Mlx5Dct *dct);

#endif
