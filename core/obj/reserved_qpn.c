/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reserved queue pair numbers: blocks of numbers that no queue pair gets. A
 * program gives one to a connection manager that wants a number of its own for
 * each connection, when one DC target serves them all (libmlx5:
 * mlx5dv_reserved_qpn_alloc()).
 *
 * The obj_id is the first number of the block.
 */
#include "obj/check.h"
#include "obj/general.h"

#define BLOCK (1u << MLX5_LOG_RESERVED_QPNS)

/* Numbers that begin no block wrap to one that the table has not. */
static uint32_t to_number(uint32_t qpn)
{
    uint32_t at = qpn - MLX5_RESERVED_QPN_FIRST;

    return at % BLOCK ? UINT32_MAX : at / BLOCK;
}

static uint32_t create(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *param = MLX5_ADDR_OF(general_obj_in_cmd_hdr, cmd->in,
                                        create);
    Mlx5Obj *obj;

    if (!mlx5_check_param(cmd, MLX5_GET(general_obj_create_param, param,
                                        log_obj_range) ==
                          MLX5_LOG_RESERVED_QPNS,
                          MLX5_SYND_RESERVED_QPN_RANGE)) {
        return 0;
    }
    obj = mlx5_obj_new(func, MLX5_OBJ_RESERVED_QPN, sizeof(*obj), cmd->uid);
    if (!mlx5_check(cmd, obj != NULL, MLX5_CMD_STAT_NO_RES_ERR,
                    MLX5_SYND_RESERVED_QPN_NONE_FREE)) {
        return 0;
    }
    return MLX5_RESERVED_QPN_FIRST + obj->id * BLOCK;
}

const Mlx5GeneralType mlx5_general_reserved_qpn = {
    .obj_type = MLX5_GENERAL_RESERVED_QPN,
    .space = MLX5_OBJ_RESERVED_QPN,
    .in_bytes = 0x20,            /* the header, and 16 bytes without meaning */
    .to_number = to_number,
    .create = create,
};
