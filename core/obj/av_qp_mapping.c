/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which queue pair's congestion control serves datagrams and DC messages to an
 * address (libmlx5: mlx5dv_map_ah_to_qp()). It is a hint for that and nothing
 * else. Datagrams are not slowed here (obj/cong.h), so it is kept, shown to who
 * asks, and used for nothing.
 *
 * The queue pair may be another's, as rdma-core's own test has it, and may go
 * afterwards.
 */
#include "obj/check.h"
#include "obj/general.h"
#include "prm/prm.h"

#define HEAD_BYTES MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)
#define MAPPING_BYTES MLX5_ST_SZ_BYTES(av_qp_mapping)

typedef struct Mapping {
    Mlx5Obj o;
    uint8_t mapping[MAPPING_BYTES];
} Mapping;

static uint32_t to_number(uint32_t obj_id)
{
    return obj_id;
}

static uint32_t create(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *mapping = cmd->in + HEAD_BYTES;
    Mapping *m;

    if (!mlx5_check(cmd, mlx5_obj_get(func, MLX5_OBJ_QP,
                                      MLX5_GET(av_qp_mapping, mapping, qpn)),
                    MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_AV_QP_MAPPING_QP)) {
        return 0;
    }
    m = mlx5_obj_new(func, MLX5_OBJ_AV_QP_MAPPING, sizeof(*m), cmd->uid);
    if (!mlx5_check(cmd, m != NULL, MLX5_CMD_STAT_NO_RES_ERR,
                    MLX5_SYND_AV_QP_MAPPING_NONE_FREE)) {
        return 0;
    }
    memcpy(m->mapping, mapping, MAPPING_BYTES);
    return m->o.id;
}

static void query(void *obj, Mlx5Cmd *cmd)
{
    const Mapping *m = obj;

    if (mlx5_check(cmd, cmd->out_len >= HEAD_BYTES + MAPPING_BYTES,
                   MLX5_CMD_STAT_BAD_OUTP_LEN_ERR,
                   MLX5_SYND_AV_QP_MAPPING_OUT)) {
        memcpy(cmd->out + HEAD_BYTES, m->mapping, MAPPING_BYTES);
    }
}

const Mlx5GeneralType mlx5_general_av_qp_mapping = {
    .obj_type = MLX5_GENERAL_AV_QP_MAPPING,
    .space = MLX5_OBJ_AV_QP_MAPPING,
    .in_bytes = HEAD_BYTES + MAPPING_BYTES,
    .to_number = to_number,
    .create = create,
    .query = query,
};
