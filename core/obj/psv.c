/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protection state values; see psv.h. A memory key names them by number and
 * holds no reference: drivers destroy them before the key (libmlx5 verbs.c,
 * mlx5_ib mr.c). A key without its PSV cannot be accessed.
 */
#include "obj/psv.h"

static const uint32_t index_off[MLX5_MAX_PSVS] = {
    MLX5_BIT_OFF(create_psv_out, psv0_index),
    MLX5_BIT_OFF(create_psv_out, psv1_index),
    MLX5_BIT_OFF(create_psv_out, psv2_index),
    MLX5_BIT_OFF(create_psv_out, psv3_index),
};

Mlx5Psv *mlx5_psv_find(Mlx5Func *func, uint32_t pdn, uint32_t number)
{
    Mlx5Psv *psv = mlx5_obj_get(func, MLX5_OBJ_PSV, number);

    return psv && psv->pd->id == pdn ? psv : NULL;
}

void mlx5_psv_release(void *obj)
{
    Mlx5Psv *psv = obj;

    mlx5_obj_unref(psv->pd);
}

static Mlx5Psv *psv_new(Mlx5Func *func, Mlx5Obj *pd, uint16_t uid)
{
    Mlx5Psv *psv = mlx5_obj_new(func, MLX5_OBJ_PSV, sizeof(*psv), uid);

    if (psv) {
        psv->pd = pd;
        mlx5_obj_ref(pd);
    }
    return psv;
}

/* All of them, or none. */
static bool make(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5Obj *pd, uint32_t num)
{
    Mlx5Psv *psv[MLX5_MAX_PSVS];

    for (uint32_t i = 0; i < num; i++) {
        psv[i] = psv_new(func, pd, cmd->uid);
        if (!psv[i]) {
            while (i--) {
                mlx5_obj_delete(psv[i]);
            }
            return false;
        }
    }
    for (uint32_t i = 0; i < num; i++) {
        mlx5_prm_set(cmd->out, index_off[i], 24, psv[i]->o.id);
    }
    return true;
}

MLX5_CMD_HANDLER(mlx5_cmd_create_psv)
{
    uint32_t num = MLX5_GET(create_psv_in, cmd->in, num_psv);
    Mlx5Obj *pd;

    if (!func->props.signature) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_PSV_OFF);
        return;
    }
    if (num == 0 || num > MLX5_MAX_PSVS) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PSV_NUMBER);
        return;
    }
    pd = mlx5_obj_find(func, cmd, MLX5_OBJ_PD,
                       MLX5_GET(create_psv_in, cmd->in, pd),
                       MLX5_SYND_PSV_PD);
    if (pd && !make(func, cmd, pd, num)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_PSV_FULL);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_psv)
{
    Mlx5Psv *psv = mlx5_obj_find(func, cmd, MLX5_OBJ_PSV,
                                 MLX5_GET(destroy_psv_in, cmd->in, psvn),
                                 MLX5_SYND_PSV_UNKNOWN);

    if (psv) {
        mlx5_obj_delete(psv);
    }
}
