/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive queue tables: where RSS looks up a queue (PRM: RQT Context; driver:
 * en/rqt.c).
 */
#ifndef MLX5_OBJ_RQT_H
#define MLX5_OBJ_RQT_H

#include "obj/rq.h"

typedef struct Mlx5Rqt {
    Mlx5Obj o;
    uint32_t max_size;
    uint32_t size;           /* a power of two */
    Mlx5Rq **rqs;            /* size of them, each held */
} Mlx5Rqt;

#endif
