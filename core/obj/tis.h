/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport interface send: what an SQ sends through (PRM: TIS Context).
 */
#ifndef MLX5_OBJ_TIS_H
#define MLX5_OBJ_TIS_H

#include "obj/table.h"

typedef struct Mlx5Tis {
    Mlx5Obj o;
    Mlx5Obj *td;
    uint8_t tisc[MLX5_BITS_tisc / 8]; /* for QUERY_TIS */
} Mlx5Tis;

#endif
