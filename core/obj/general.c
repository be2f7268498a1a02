/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of general objects; see general.h. A kind without a row is refused.
 * Left out: aliases of another function's objects, dumps by query.
 */
#include "obj/general.h"
#include "obj/check.h"

/* Kinds, and the place in Mlx5FuncProps of the property that offers each. */
static const struct {
    const Mlx5GeneralType *type;
    size_t prop;
} types[] = {
    { &mlx5_general_reserved_qpn, offsetof(Mlx5FuncProps, reserved_qpn) },
    { &mlx5_general_av_qp_mapping, offsetof(Mlx5FuncProps, av_qp_mapping) },
    /* What is off there has a refusal of its own. */
    { &mlx5_general_sched_element, offsetof(Mlx5FuncProps, devx) },
};

uint64_t mlx5_general_types(void)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        bits |= UINT64_C(1) << types[i].type->obj_type;
    }
    return bits;
}

/* The kind that @cmd names, in a command of @bytes. NULL: refused. */
static const Mlx5GeneralType *find_type(Mlx5Func *func, Mlx5Cmd *cmd)
{
    uint16_t obj_type = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_type);

    for (size_t i = 0; func->props.devx && i < G_N_ELEMENTS(types); i++) {
        if (types[i].type->obj_type == obj_type &&
            *(const bool *)((const char *)&func->props + types[i].prop)) {
            return types[i].type;
        }
    }
    mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_GENERAL_TYPE);
    return NULL;
}

/* The object that @cmd names. NULL: refused. */
static void *find_object(Mlx5Func *func, Mlx5Cmd *cmd,
                         const Mlx5GeneralType *type)
{
    uint32_t id = MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_id);

    return mlx5_obj_find(func, cmd, type->space, type->to_number(id),
                         MLX5_SYND_GENERAL_UNKNOWN);
}

static bool long_enough(Mlx5Cmd *cmd, const Mlx5GeneralType *type)
{
    return mlx5_check(cmd, cmd->in_len >= type->in_bytes,
                      MLX5_CMD_STAT_BAD_INP_LEN_ERR, MLX5_SYND_GENERAL_LENGTH);
}

MLX5_CMD_HANDLER(mlx5_cmd_create_general_object)
{
    const Mlx5GeneralType *type = find_type(func, cmd);
    const uint8_t *create = MLX5_ADDR_OF(general_obj_in_cmd_hdr, cmd->in,
                                         create);
    uint32_t id;

    if (!type || !long_enough(cmd, type) ||
        !mlx5_check_param(cmd, !MLX5_GET(general_obj_create_param, create,
                                         alias_object),
                          MLX5_SYND_GENERAL_ALIAS)) {
        return;
    }
    id = type->create(func, cmd);
    if (!cmd->status) {
        MLX5_SET(general_obj_out_cmd_hdr, cmd->out, obj_id, id);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_general_object)
{
    const Mlx5GeneralType *type = find_type(func, cmd);
    void *obj = type ? find_object(func, cmd, type) : NULL;

    if (!obj) {
        return;
    }
    if (mlx5_check_param(cmd, type->modify != NULL, MLX5_SYND_GENERAL_MODIFY) &&
        long_enough(cmd, type)) {
        type->modify(obj, cmd);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_query_general_object)
{
    const Mlx5GeneralType *type = find_type(func, cmd);
    void *obj = type ? find_object(func, cmd, type) : NULL;

    if (obj) {
        MLX5_SET(general_obj_out_cmd_hdr, cmd->out, obj_id,
                 MLX5_GET(general_obj_in_cmd_hdr, cmd->in, obj_id));
        if (type->query) {
            type->query(obj, cmd);
        }
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_general_object)
{
    const Mlx5GeneralType *type = find_type(func, cmd);
    Mlx5Obj *obj = type ? find_object(func, cmd, type) : NULL;

    if (obj && mlx5_check(cmd, !obj->refs, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                          MLX5_SYND_GENERAL_BUSY)) {
        mlx5_obj_delete(obj);
    }
}
