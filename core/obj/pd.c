/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that are a number and no more: protection domains, transport
 * domains, XRC domains (PRM: ALLOC_PD, ALLOC_TRANSPORT_DOMAIN, ALLOC_XRCD).
 */
#include "obj/td.h"

/* Make one; its number, or 0 if the command was refused. */
static uint32_t alloc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5ObjType type,
                      size_t size, uint32_t none_free)
{
    Mlx5Obj *obj = mlx5_obj_new(func, type, size, cmd->uid);

    if (!obj) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, none_free);
        return 0;
    }
    return obj->id;
}

void mlx5_cmd_alloc_pd(Mlx5Func *func, Mlx5Cmd *cmd)
{
    MLX5_SET(alloc_pd_out, cmd->out, pd,
             alloc(func, cmd, MLX5_OBJ_PD, sizeof(Mlx5Obj),
                   MLX5_SYND_PD_NONE_FREE));
}

void mlx5_cmd_dealloc_pd(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_PD,
                         MLX5_GET(dealloc_pd_in, cmd->in, pd),
                         MLX5_SYND_PD_UNKNOWN, MLX5_SYND_PD_BUSY);
}

void mlx5_cmd_alloc_transport_domain(Mlx5Func *func, Mlx5Cmd *cmd)
{
    MLX5_SET(alloc_transport_domain_out, cmd->out, transport_domain,
             alloc(func, cmd, MLX5_OBJ_TRANSPORT_DOMAIN, sizeof(Mlx5Td),
                   MLX5_SYND_TD_NONE_FREE));
}

void mlx5_cmd_dealloc_transport_domain(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_TRANSPORT_DOMAIN,
                         MLX5_GET(dealloc_transport_domain_in, cmd->in,
                                  transport_domain),
                         MLX5_SYND_TD_UNKNOWN, MLX5_SYND_TD_BUSY);
}

void mlx5_cmd_alloc_xrcd(Mlx5Func *func, Mlx5Cmd *cmd)
{
    MLX5_SET(alloc_xrcd_out, cmd->out, xrcd,
             alloc(func, cmd, MLX5_OBJ_XRCD, sizeof(Mlx5Obj),
                   MLX5_SYND_XRCD_NONE_FREE));
}

void mlx5_cmd_dealloc_xrcd(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_XRCD,
                         MLX5_GET(dealloc_xrcd_in, cmd->in, xrcd),
                         MLX5_SYND_XRCD_UNKNOWN, MLX5_SYND_XRCD_BUSY);
}
