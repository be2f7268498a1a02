/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packet reformat contexts; see flow_reformat.h. Left out: insertion and
 * removal at anchors, ESP, MACsec, PSP (refused).
 */
#include "obj/flow_reformat.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

#define ETH_HLEN 14
#define VLAN_HLEN 4

/* What the headers of a type must at least, and may at most have. */
static bool length_ok(uint32_t type, uint32_t len)
{
    /* An L2 header, tagged or not, stands in for what is taken away. */
    if (type == MLX5_REFORMAT_L3_TUNNEL_TO_L2) {
        return len == ETH_HLEN || len == ETH_HLEN + VLAN_HLEN;
    }
    return len >= ETH_HLEN && len <= MLX5_MAX_ENCAP_HEADER;
}

MLX5_CMD_HANDLER(mlx5_cmd_alloc_packet_reformat_context)
{
    const uint8_t *ctx = MLX5_ADDR_OF(alloc_packet_reformat_context_in,
                                      cmd->in, packet_reformat_context);
    uint32_t type = MLX5_GET(packet_reformat_context_in, ctx, reformat_type);
    uint32_t len = MLX5_GET(packet_reformat_context_in, ctx,
                            reformat_data_size);
    uint32_t at = MLX5_BYTE_OFF(alloc_packet_reformat_context_in,
                                packet_reformat_context) +
                  MLX5_BYTE_OFF(packet_reformat_context_in, reformat_data);
    Mlx5Reformat *r;

    if (!mlx5_check_param(cmd, type <= MLX5_REFORMAT_L2_TO_L3_TUNNEL,
                          MLX5_SYND_PR_TYPE) ||
        !mlx5_check_param(cmd, length_ok(type, len), MLX5_SYND_PR_SIZE) ||
        !mlx5_check(cmd, at + len <= cmd->in_len,
                    MLX5_CMD_STAT_BAD_INP_LEN_ERR, MLX5_SYND_PR_IN_LEN)) {
        return;
    }
    r = mlx5_obj_new(func, MLX5_OBJ_PACKET_REFORMAT, sizeof(*r) + len,
                     cmd->uid);
    if (!mlx5_check(cmd, r != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_PR_LIMIT)) {
        return;
    }
    r->type = type;
    r->len = len;
    memcpy(r->data, cmd->in + at, len);
    MLX5_SET(alloc_packet_reformat_context_out, cmd->out, packet_reformat_id,
             r->o.id);
}

MLX5_CMD_HANDLER(mlx5_cmd_dealloc_packet_reformat_context)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_PACKET_REFORMAT,
                         MLX5_GET(dealloc_packet_reformat_context_in, cmd->in,
                                  packet_reformat_id),
                         MLX5_SYND_PR_UNKNOWN_DEALLOC, MLX5_SYND_PR_BUSY);
}
