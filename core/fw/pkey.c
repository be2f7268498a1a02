/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The P_Key table of the port. RoCE has no partitions: index 0 holds the
 * default P_Key with full membership, the rest is empty; mlx5_ib asks for the
 * table all the same (driver: vport.c mlx5_query_hca_vport_pkey).
 */
#include "fw/fw_internal.h"

#define DEFAULT_PKEY 0xffff
#define ALL_INDEXES 0xffff
/* pkey_table_size 0 in the general capabilities means this many. */
#define PKEYS 128

MLX5_CMD_HANDLER(mlx5_cmd_query_hca_vport_pkey)
{
    const uint8_t *in = cmd->in;
    uint32_t index = MLX5_GET(query_hca_vport_pkey_in, in, pkey_index);
    uint32_t first = index == ALL_INDEXES ? 0 : index;

    (void)func;
    if (MLX5_GET(query_hca_vport_pkey_in, in, other_vport) ||
        MLX5_GET(query_hca_vport_pkey_in, in, vport_number) ||
        MLX5_GET(query_hca_vport_pkey_in, in, port_num) > 1) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PKEY_VPORT);
        return;
    }
    if (first >= PKEYS) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PKEY_INDEX);
        return;
    }
    /* Entries that the output has no room for are cut, as in every query. */
    if (first == 0 && cmd->out_len >= MLX5_ST_SZ_BYTES(query_hca_vport_pkey_out)
                                      + MLX5_ST_SZ_BYTES(pkey)) {
        MLX5_SET(pkey, cmd->out + MLX5_ST_SZ_BYTES(query_hca_vport_pkey_out),
                 pkey, DEFAULT_PKEY);
    }
}
