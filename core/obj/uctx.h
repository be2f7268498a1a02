/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User contexts: who issues a command (PRM: CREATE_UCTX; driver: mlx5_ib
 * devx.c). The kernel makes one for each process that opens the device and
 * tags what that process asks for with its number, the uid of the command's
 * header. What a uid makes is its own: another one is refused it
 * (mlx5_obj_find()), and DESTROY_UCTX frees what is left.
 */
#ifndef MLX5_OBJ_UCTX_H
#define MLX5_OBJ_UCTX_H

#include "obj/table.h"

/** uctx.cap: what the context may do beyond its own objects. */
enum {
    MLX5_UCTX_CAP_RAW_TX = 1 << 0,       /* send frames of its own making */
};

typedef struct Mlx5Uctx {
    Mlx5Obj o;               /* o.id is the uid */
    uint32_t cap;
} Mlx5Uctx;

/** Is @uid (not 0) a user context, or the owner of what all share? */
bool mlx5_uctx_exists(Mlx5Func *func, uint16_t uid);
/** Has @uid the privileges @cap? The kernel (0) has them all. */
bool mlx5_uctx_may(Mlx5Func *func, uint16_t uid, uint32_t cap);

#endif
