/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What flow entries do: actions, destinations and counters of a flow context;
 * see flow_table.h. Left out: encryption, metering (ASO), destinations that
 * are vports, samplers or other functions (refused).
 */
#include "obj/flow_table.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

/* dest_format.destination_type (driver: MLX5_IFC_FLOW_DESTINATION_TYPE_*). */
enum { DEST_FLOW_TABLE = 1, DEST_TIR = 2 };

#define ACT(name) MLX5_FLOW_CONTEXT_ACTION_##name
#define DEST_BYTES MLX5_ST_SZ_BYTES(dest_format)

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(flow_context, extended_destination, FTE_EXTENDED_DEST),
    MLX5_ZERO(flow_context, encrypt_decrypt_type, FTE_CRYPTO),
};

/* What entries of each table type may do. */
static uint32_t actions_of(uint32_t type)
{
    static const uint32_t both = ACT(DROP) | ACT(FWD_DEST) | ACT(COUNT) |
                                 ACT(PACKET_REFORMAT) | ACT(MOD_HDR) |
                                 ACT(VLAN_POP) | ACT(VLAN_PUSH) |
                                 ACT(VLAN_POP_2) | ACT(VLAN_PUSH_2);

    if (!mlx5_flow_table_is_nic(type)) {
        return ACT(ALLOW) | ACT(DROP) | ACT(FWD_DEST) | ACT(COUNT);
    }
    return type == MLX5_FLOW_TABLE_TYPE_NIC_RX ? both | ACT(DECAP)
                                               : both | ACT(ALLOW);
}

/* Exactly one of them must end an entry. */
static bool ends_once(uint32_t action)
{
    uint32_t end = action & (ACT(ALLOW) | ACT(DROP) | ACT(FWD_DEST));

    return end && !(end & (end - 1));
}

static bool check_actions(Mlx5Cmd *cmd, const Mlx5FlowTable *table,
                          uint32_t action)
{
    return mlx5_check_param(cmd, !(action & ~actions_of(table->type)),
                            MLX5_SYND_FTE_ACTION) &&
           mlx5_check_param(cmd, ends_once(action), MLX5_SYND_FTE_END) &&
           mlx5_check_param(cmd, !(action & ACT(DECAP)) || table->decap_en,
                            MLX5_SYND_FTE_DECAP_EN) &&
           mlx5_check_param(cmd, !(action & ACT(PACKET_REFORMAT)) ||
                            table->reformat_en, MLX5_SYND_FTE_REFORMAT_EN) &&
           mlx5_check_param(cmd, !(action & ACT(VLAN_POP_2)) ||
                            (action & ACT(VLAN_POP)), MLX5_SYND_FTE_POP_2) &&
           mlx5_check_param(cmd, !(action & ACT(VLAN_PUSH_2)) ||
                            (action & ACT(VLAN_PUSH)), MLX5_SYND_FTE_PUSH_2);
}

static uint32_t tag_of(const uint8_t *vlan)
{
    return MLX5_GET(vlan, vlan, ethtype) << 16 |
           MLX5_GET(vlan, vlan, prio) << 13 | MLX5_GET(vlan, vlan, cfi) << 12 |
           MLX5_GET(vlan, vlan, vid);
}

static bool tag_ok(uint32_t tag)
{
    return tag >> 16 == 0x8100 || tag >> 16 == 0x88a8;
}

static bool parse_vlans(Mlx5Cmd *cmd, const uint8_t *ctx, Mlx5FlowAct *act)
{
    if (act->action & ACT(VLAN_PUSH)) {
        act->vlan[0] = tag_of(MLX5_ADDR_OF(flow_context, ctx, push_vlan));
    }
    if (act->action & ACT(VLAN_PUSH_2)) {
        act->vlan[1] = tag_of(MLX5_ADDR_OF(flow_context, ctx, push_vlan_2));
    }
    return mlx5_check_param(cmd, (!(act->action & ACT(VLAN_PUSH)) ||
                                  tag_ok(act->vlan[0])) &&
                            (!(act->action & ACT(VLAN_PUSH_2)) ||
                             tag_ok(act->vlan[1])), MLX5_SYND_FTE_VLAN_TYPE);
}

/* The contexts that rewrite frames. */
static bool parse_rewrites(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                           const Mlx5FlowTable *table, Mlx5FlowAct *act)
{
    if (act->action & ACT(MOD_HDR)) {
        act->modify = mlx5_obj_find(func, cmd, MLX5_OBJ_MODIFY_HEADER,
                                    MLX5_GET(flow_context, ctx,
                                             modify_header_id),
                                    MLX5_SYND_FTE_MODIFY_HEADER);
        if (!act->modify ||
            !mlx5_check_param(cmd, act->modify->table_type == table->type,
                              MLX5_SYND_FTE_MODIFY_TYPE)) {
            return false;
        }
    }
    if (act->action & ACT(PACKET_REFORMAT)) {
        act->reformat = mlx5_obj_find(func, cmd, MLX5_OBJ_PACKET_REFORMAT,
                                      MLX5_GET(flow_context, ctx,
                                               packet_reformat_id),
                                      MLX5_SYND_FTE_REFORMAT);
        if (!act->reformat ||
            !mlx5_check_param(cmd, act->reformat->type !=
                              MLX5_REFORMAT_L3_TUNNEL_TO_L2 ||
                              table->type == MLX5_FLOW_TABLE_TYPE_NIC_RX,
                              MLX5_SYND_FTE_REFORMAT_TYPE)) {
            return false;
        }
    }
    return parse_vlans(cmd, ctx, act);
}

static bool parse_dest(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *p,
                       const Mlx5FlowTable *table, Mlx5FlowDest *dest)
{
    uint32_t id = MLX5_GET(dest_format, p, destination_id);

    switch (MLX5_GET(dest_format, p, destination_type)) {
    case DEST_TIR:
        dest->tir = mlx5_obj_find(func, cmd, MLX5_OBJ_TIR, id,
                                  MLX5_SYND_FTE_DEST_TIR);
        return dest->tir &&
               mlx5_check_param(cmd, table->type ==
                                MLX5_FLOW_TABLE_TYPE_NIC_RX,
                                MLX5_SYND_FTE_DEST_TIR_TYPE);
    case DEST_FLOW_TABLE:
        dest->table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE, id,
                                    MLX5_SYND_FTE_DEST_TABLE);
        return dest->table &&
               mlx5_check_param(cmd, dest->table->type == table->type,
                                MLX5_SYND_FTE_DEST_TABLE_TYPE) &&
               mlx5_check_param(cmd, dest->table->level > table->level,
                                MLX5_SYND_FTE_DEST_LEVEL);
    default:
        return mlx5_check_param(cmd, false, MLX5_SYND_FTE_DEST_TYPE);
    }
}

/* Do the lists of @ctx lie in the command's input? */
static bool check_lists(Mlx5Cmd *cmd, const uint8_t *ctx,
                        const Mlx5FlowAct *act)
{
    bool fwd = act->action & ACT(FWD_DEST), count = act->action & ACT(COUNT);
    uint64_t at = ctx - cmd->in + MLX5_BYTE_OFF(flow_context, destination);
    uint64_t n = (uint64_t)act->num_dests + act->num_counters;

    return mlx5_check_param(cmd, fwd ? act->num_dests >= 1 && act->num_dests <=
                            MLX5_MAX_FTE_DESTINATIONS : !act->num_dests,
                            MLX5_SYND_FTE_DEST_COUNT) &&
           mlx5_check_param(cmd, count ? act->num_counters >= 1 &&
                            act->num_counters <=
                            1u << MLX5_LOG_MAX_FTE_COUNTERS :
                            !act->num_counters, MLX5_SYND_FTE_COUNTERS) &&
           mlx5_check(cmd, at + n * DEST_BYTES <= cmd->in_len,
                      MLX5_CMD_STAT_BAD_INP_LEN_ERR, MLX5_SYND_FTE_IN_LEN);
}

/* Destinations, and behind them the counters. */
static bool parse_lists(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                        const Mlx5FlowTable *table, Mlx5FlowAct *act)
{
    const uint8_t *p = MLX5_ADDR_OF(flow_context, ctx, destination);

    act->num_dests = MLX5_GET(flow_context, ctx, destination_list_size);
    act->num_counters = MLX5_GET(flow_context, ctx, flow_counter_list_size);
    if (!check_lists(cmd, ctx, act)) {
        return false;
    }
    act->dests = g_new0(Mlx5FlowDest, act->num_dests);
    act->counters = g_new0(Mlx5FlowCountRef, act->num_counters);
    for (uint32_t i = 0; i < act->num_dests; i++, p += DEST_BYTES) {
        if (!parse_dest(func, cmd, p, table, &act->dests[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < act->num_counters; i++, p += DEST_BYTES) {
        act->counters[i].count =
            mlx5_flow_counter_find(func, cmd, MLX5_GET(flow_counter_list, p,
                                                       flow_counter_id),
                                   MLX5_SYND_FTE_COUNTER,
                                   &act->counters[i].owner);
        if (!act->counters[i].count) {
            return false;
        }
    }
    return true;
}

bool mlx5_flow_act_parse(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                         const Mlx5FlowTable *table, Mlx5FlowAct *act)
{
    memset(act, 0, sizeof(*act));
    act->action = MLX5_GET(flow_context, ctx, action);
    act->tag = MLX5_GET(flow_context, ctx, flow_tag);
    if (mlx5_check_zero(cmd, ctx, not_done, G_N_ELEMENTS(not_done)) &&
        check_actions(cmd, table, act->action) &&
        parse_rewrites(func, cmd, ctx, table, act) &&
        parse_lists(func, cmd, ctx, table, act)) {
        return true;
    }
    g_clear_pointer(&act->dests, g_free);
    g_clear_pointer(&act->counters, g_free);
    return false;
}

void mlx5_flow_act_hold(Mlx5FlowAct *act)
{
    for (uint32_t i = 0; i < act->num_dests; i++) {
        mlx5_obj_ref(act->dests[i].table);
        mlx5_obj_ref(act->dests[i].tir);
    }
    for (uint32_t i = 0; i < act->num_counters; i++) {
        mlx5_obj_ref(act->counters[i].owner);
    }
    mlx5_obj_ref(act->modify);
    mlx5_obj_ref(act->reformat);
}

void mlx5_flow_act_drop(Mlx5FlowAct *act)
{
    for (uint32_t i = 0; i < act->num_dests; i++) {
        mlx5_obj_unref(act->dests[i].table);
        mlx5_obj_unref(act->dests[i].tir);
    }
    for (uint32_t i = 0; i < act->num_counters; i++) {
        mlx5_obj_unref(act->counters[i].owner);
    }
    mlx5_obj_unref(act->modify);
    mlx5_obj_unref(act->reformat);
    g_free(act->dests);
    g_free(act->counters);
    memset(act, 0, sizeof(*act));
}
