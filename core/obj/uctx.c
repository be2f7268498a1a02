/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CREATE_UCTX and DESTROY_UCTX; see uctx.h.
 *
 * A process may die with objects of any kind; the kernel destroys those that
 * it knows of, and counts on the device for the rest. Left out: access to
 * internal resources of the device (uctx.cap bit 1 and up, not advertised).
 */
#include "obj/uctx.h"
#include "obj/check.h"

#define CAPS_KNOWN MLX5_UCTX_CAP_RAW_TX

bool mlx5_uctx_exists(Mlx5Func *func, uint16_t uid)
{
    return uid == MLX5_SHARED_UID || mlx5_obj_get(func, MLX5_OBJ_UCTX, uid);
}

bool mlx5_uctx_may(Mlx5Func *func, uint16_t uid, uint32_t cap)
{
    const Mlx5Uctx *uctx = mlx5_obj_get(func, MLX5_OBJ_UCTX, uid);

    return uid == 0 || uid == MLX5_SHARED_UID ||
           (uctx && (uctx->cap & cap) == cap);
}

MLX5_CMD_HANDLER(mlx5_cmd_create_uctx)
{
    uint32_t cap = MLX5_GET(uctx, MLX5_ADDR_OF(create_uctx_in, cmd->in, uctx),
                            cap);
    Mlx5Uctx *uctx;

    if (!mlx5_check(cmd, func->props.devx, MLX5_CMD_STAT_BAD_OP_ERR,
                    MLX5_SYND_UCTX_OFF) ||
        !mlx5_check_param(cmd, !(cap & ~CAPS_KNOWN), MLX5_SYND_UCTX_CAP)) {
        return;
    }
    uctx = mlx5_obj_new(func, MLX5_OBJ_UCTX, sizeof(*uctx), 0);
    if (!mlx5_check(cmd, uctx != NULL, MLX5_CMD_STAT_NO_RES_ERR,
                    MLX5_SYND_UCTX_NONE_FREE)) {
        return;
    }
    uctx->cap = cap;
    MLX5_SET(create_uctx_out, cmd->out, uid, uctx->o.id);
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_uctx)
{
    uint32_t uid = MLX5_GET(destroy_uctx_in, cmd->in, uid);
    Mlx5Uctx *uctx = mlx5_obj_find(func, cmd, MLX5_OBJ_UCTX, uid,
                                   MLX5_SYND_UCTX_UNKNOWN);

    if (uctx) {
        mlx5_obj_free_owned(func, uid);
        mlx5_obj_delete(uctx);
    }
}
