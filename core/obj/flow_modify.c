/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modify header contexts; see flow_modify.h. Left out: fields of inner
 * headers, the IPsec and PSP syndromes, EMD (refused).
 */
#include "obj/flow_modify.h"

#include "obj/check.h"
#include "obj/eth_limits.h"
#include "obj/flow_table.h"

#define ACTION_BYTES 8

#define ROW(id, place, byte, bit, bits) \
    { id, MLX5_PLACE_##place, byte, bit, bits }
/* driver: mlx5_ifc.h MLX5_ACTION_IN_FIELD_*. */
const Mlx5ModifyField mlx5_modify_fields[] = {
    ROW(0x01, ETH, 6, 0, 32), ROW(0x02, ETH, 10, 0, 16), /* smac */
    ROW(0x03, TYPE, 0, 0, 16),                           /* ethertype */
    ROW(0x04, ETH, 0, 0, 32), ROW(0x05, ETH, 4, 0, 16),  /* dmac */
    ROW(0x06, IPV4, 1, 0, 6), ROW(0x06, IPV6, 0, 4, 6),  /* DSCP */
    ROW(0x07, TCP, 12, 7, 9),                            /* flags */
    ROW(0x08, TCP, 0, 0, 16), ROW(0x09, TCP, 2, 0, 16),  /* ports */
    ROW(0x0a, IPV4, 8, 0, 8), ROW(0x0a, IPV6, 7, 0, 8),  /* TTL */
    ROW(0x0b, UDP, 0, 0, 16), ROW(0x0c, UDP, 2, 0, 16),  /* ports */
    ROW(0x0d, IPV6, 8, 0, 32), ROW(0x0e, IPV6, 12, 0, 32), /* source */
    ROW(0x0f, IPV6, 16, 0, 32), ROW(0x10, IPV6, 20, 0, 32),
    ROW(0x11, IPV6, 24, 0, 32), ROW(0x12, IPV6, 28, 0, 32), /* destination */
    ROW(0x13, IPV6, 32, 0, 32), ROW(0x14, IPV6, 36, 0, 32),
    ROW(0x15, IPV4, 12, 0, 32), ROW(0x16, IPV4, 16, 0, 32),
    ROW(0x17, VLAN, 2, 4, 12),                           /* VID */
    ROW(0x47, IPV6, 7, 0, 8),                            /* hop limit */
    ROW(0x49, REG, 4 * MLX5_REG_A, 0, 32),
    ROW(0x50, REG, 4 * MLX5_REG_B, 0, 32),
    ROW(0x51, REG, 4 * (MLX5_REG_C0 + 0), 0, 32),
    ROW(0x52, REG, 4 * (MLX5_REG_C0 + 1), 0, 32),
    ROW(0x53, REG, 4 * (MLX5_REG_C0 + 2), 0, 32),
    ROW(0x54, REG, 4 * (MLX5_REG_C0 + 3), 0, 32),
    ROW(0x55, REG, 4 * (MLX5_REG_C0 + 4), 0, 32),
    ROW(0x56, REG, 4 * (MLX5_REG_C0 + 5), 0, 32),
    ROW(0x57, REG, 4 * (MLX5_REG_C0 + 6), 0, 32),
    ROW(0x58, REG, 4 * (MLX5_REG_C0 + 7), 0, 32),
    ROW(0x59, TCP, 4, 0, 32), ROW(0x5b, TCP, 8, 0, 32),  /* seq, ack */
};
const size_t mlx5_num_modify_fields = G_N_ELEMENTS(mlx5_modify_fields);

/* Width of field @id; 0 if there is none. Rows of one number agree. */
static uint32_t width(uint32_t id)
{
    for (size_t i = 0; i < mlx5_num_modify_fields; i++) {
        if (mlx5_modify_fields[i].id == id) {
            return mlx5_modify_fields[i].bits;
        }
    }
    return 0;
}

/* A length of 0 means 32. */
static uint8_t length_of(uint32_t raw)
{
    return raw ? raw : 32;
}

/* Set and add begin alike; the value of an add spans the field. */
static void parse_value(const uint8_t *p, Mlx5ModifyAction *a)
{
    a->field = MLX5_GET(set_action_in, p, field);
    a->data = MLX5_GET(set_action_in, p, data);
    if (a->type == MLX5_MODIFY_SET) {
        a->offset = MLX5_GET(set_action_in, p, offset);
        a->length = length_of(MLX5_GET(set_action_in, p, length));
    } else {
        a->length = width(a->field);
    }
}

static void parse_copy(const uint8_t *p, Mlx5ModifyAction *a)
{
    a->src_field = MLX5_GET(copy_action_in, p, src_field);
    a->src_offset = MLX5_GET(copy_action_in, p, src_offset);
    a->length = length_of(MLX5_GET(copy_action_in, p, length));
    a->field = MLX5_GET(copy_action_in, p, dst_field);
    a->offset = MLX5_GET(copy_action_in, p, dst_offset);
}

static bool parse_action(Mlx5Cmd *cmd, const uint8_t *p, Mlx5ModifyAction *a)
{
    a->type = MLX5_GET(set_action_in, p, action_type);
    if (!mlx5_check_param(cmd, a->type >= MLX5_MODIFY_SET &&
                          a->type <= MLX5_MODIFY_COPY,
                          MLX5_SYND_MH_TYPE)) {
        return false;
    }
    if (a->type == MLX5_MODIFY_COPY) {
        parse_copy(p, a);
        if (!mlx5_check_param(cmd, width(a->src_field), MLX5_SYND_MH_SRC) ||
            !mlx5_check_param(cmd, a->src_offset + a->length <=
                              (int)width(a->src_field),
                              MLX5_SYND_MH_SRC_BITS)) {
            return false;
        }
    } else {
        parse_value(p, a);
    }
    return mlx5_check_param(cmd, width(a->field), MLX5_SYND_MH_FIELD) &&
           mlx5_check_param(cmd, a->offset + a->length <=
                            (int)width(a->field), MLX5_SYND_MH_BITS);
}

MLX5_CMD_HANDLER(mlx5_cmd_alloc_modify_header_context)
{
    uint32_t num = MLX5_GET(alloc_modify_header_context_in, cmd->in,
                            num_of_actions);
    uint32_t type = MLX5_GET(alloc_modify_header_context_in, cmd->in,
                             table_type);
    uint32_t at = MLX5_BYTE_OFF(alloc_modify_header_context_in, actions);
    Mlx5ModifyAction actions[MLX5_MAX_MODIFY_ACTIONS] = { 0 };
    Mlx5ModifyHdr *mh;

    if (!mlx5_check_param(cmd, mlx5_flow_table_is_nic(type),
                          MLX5_SYND_MH_TABLE_TYPE) ||
        !mlx5_check_param(cmd, num >= 1 && num <= MLX5_MAX_MODIFY_ACTIONS,
                          MLX5_SYND_MH_COUNT) ||
        !mlx5_check(cmd, at + num * ACTION_BYTES <= cmd->in_len,
                    MLX5_CMD_STAT_BAD_INP_LEN_ERR, MLX5_SYND_MH_IN_LEN)) {
        return;
    }
    for (uint32_t i = 0; i < num; i++) {
        if (!parse_action(cmd, cmd->in + at + i * ACTION_BYTES,
                          &actions[i])) {
            return;
        }
    }
    mh = mlx5_obj_new(func, MLX5_OBJ_MODIFY_HEADER,
                      sizeof(*mh) + num * sizeof(actions[0]), cmd->uid);
    if (!mlx5_check(cmd, mh != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_MH_LIMIT)) {
        return;
    }
    mh->table_type = type;
    mh->num = num;
    memcpy(mh->actions, actions, num * sizeof(actions[0]));
    MLX5_SET(alloc_modify_header_context_out, cmd->out, modify_header_id,
             mh->o.id);
}

MLX5_CMD_HANDLER(mlx5_cmd_dealloc_modify_header_context)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_MODIFY_HEADER,
                         MLX5_GET(dealloc_modify_header_context_in, cmd->in,
                                  modify_header_id),
                         MLX5_SYND_MH_UNKNOWN_DEALLOC, MLX5_SYND_MH_BUSY);
}
