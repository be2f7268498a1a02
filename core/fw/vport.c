/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NIC vport: context, state, counters (PRM: NIC Vport Context, Vport
 * State, Vport Counters; driver: vport.c). Only the function's own vport:
 * others come with SR-IOV.
 */
#include "fw/fw_internal.h"

#define MTU_DEFAULT 1500

/** QUERY/MODIFY_VPORT_STATE op_mod and states (driver: vport.h). */
enum {
    STATE_OP_VNIC = 0,
    STATE_OP_ESW = 1,
    STATE_OP_UPLINK = 2,
    ADMIN_DOWN = 0,
    ADMIN_UP = 1,
    ADMIN_AUTO = 2,
};

static const uint32_t list_limit_off[] = {
    [MLX5_VPORT_LIST_UC] = MLX5_BIT_OFF(cmd_hca_cap, log_max_current_uc_list),
    [MLX5_VPORT_LIST_MC] = MLX5_BIT_OFF(cmd_hca_cap, log_max_current_mc_list),
    [MLX5_VPORT_LIST_VLAN] = MLX5_BIT_OFF(cmd_hca_cap, log_max_vlan_list),
};

void mlx5_vport_qkey_violation(Mlx5Func *func)
{
    uint16_t *n = &func->fw->vport.qkey_violations;

    /* Such counters stay at their end (IBA 14.2.5.6). */
    *n += *n != UINT16_MAX;
}

/* As the vendor makes a GUID of a MAC: 0300 in the middle. */
static uint64_t guid_of(const uint8_t mac[6])
{
    uint64_t high = (uint64_t)mac[0] << 16 | mac[1] << 8 | mac[2];
    uint64_t low = (uint64_t)mac[3] << 16 | mac[4] << 8 | mac[5];

    return high << 40 | UINT64_C(0x0300) << 24 | low;
}

void mlx5_vport_reset(Mlx5Func *func)
{
    Mlx5Vport *v = &func->fw->vport;

    for (unsigned i = 0; i < MLX5_VPORT_LIST_COUNT; i++) {
        g_free(v->list[i]);
    }
    *v = (Mlx5Vport){
        .mtu = MTU_DEFAULT,
        .admin_state = ADMIN_AUTO,
        .node_guid = guid_of(func->props.mac),
        .port_guid = guid_of(func->props.mac),
        .system_image_guid = guid_of(func->props.mac),
    };
    memcpy(v->mac, func->props.mac, 6);
}

static bool own_vport(Mlx5Cmd *cmd, bool other, uint32_t number,
                      uint32_t syndrome)
{
    if (other || number) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return false;
    }
    return true;
}

/* --- NIC vport context -------------------------------------------------- */

static void mac_set(uint8_t *layout, const uint8_t mac[6])
{
    memcpy(layout + 2, mac, 6);
}

static void fill_list(const Mlx5Vport *v, Mlx5Cmd *cmd, uint8_t *ctx,
                      Mlx5VportList type)
{
    uint32_t first = MLX5_BYTE_OFF(query_nic_vport_context_out,
                                   nic_vport_context) +
                     MLX5_BYTE_OFF(nic_vport_context, current_uc_mac_address);
    uint32_t room = cmd->out_len > first ? (cmd->out_len - first) / 8 : 0;
    uint32_t n = MIN(v->list_len[type], room);

    MLX5_SET(nic_vport_context, ctx, allowed_list_type, type);
    MLX5_SET(nic_vport_context, ctx, allowed_list_size, n);
    for (uint32_t i = 0; i < n; i++) {
        MLX5_SET_IDX(nic_vport_context, ctx, current_uc_mac_address, i,
                     v->list[type][i]);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_query_nic_vport_context)
{
    const Mlx5Vport *v = &func->fw->vport;
    uint8_t *ctx = MLX5_ADDR_OF(query_nic_vport_context_out, cmd->out,
                                nic_vport_context);
    uint32_t type = MLX5_GET(query_nic_vport_context_in, cmd->in,
                             allowed_list_type);

    if (!own_vport(cmd, MLX5_GET(query_nic_vport_context_in, cmd->in,
                                 other_vport),
                   MLX5_GET(query_nic_vport_context_in, cmd->in, vport_number),
                   MLX5_SYND_VPORT_QUERY_OTHER)) {
        return;
    }
    if (type >= MLX5_VPORT_LIST_COUNT) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_VPORT_QUERY_LIST);
        return;
    }
    MLX5_SET(nic_vport_context, ctx, min_wqe_inline_mode,
             v->min_wqe_inline_mode);
    MLX5_SET(nic_vport_context, ctx, disable_mc_local_lb, v->disable_mc_local_lb);
    MLX5_SET(nic_vport_context, ctx, disable_uc_local_lb, v->disable_uc_local_lb);
    MLX5_SET(nic_vport_context, ctx, roce_en, v->roce_en);
    MLX5_SET(nic_vport_context, ctx, arm_change_event, v->arm_change_event);
    mlx5_prm_set(ctx, MLX5_BIT_OFF(nic_vport_context, event_on_mtu), 5,
                 v->event_mask);
    MLX5_SET(nic_vport_context, ctx, mtu, v->mtu);
    MLX5_SET(nic_vport_context, ctx, system_image_guid, v->system_image_guid);
    MLX5_SET(nic_vport_context, ctx, port_guid, v->port_guid);
    MLX5_SET(nic_vport_context, ctx, node_guid, v->node_guid);
    MLX5_SET(nic_vport_context, ctx, qkey_violation_counter,
             v->qkey_violations);
    MLX5_SET(nic_vport_context, ctx, promisc_uc, v->promisc_uc);
    MLX5_SET(nic_vport_context, ctx, promisc_mc, v->promisc_mc);
    MLX5_SET(nic_vport_context, ctx, promisc_all, v->promisc_all);
    mac_set(MLX5_ADDR_OF(nic_vport_context, ctx, permanent_address), v->mac);
    fill_list(v, cmd, ctx, type);
}

#define SELECTED(sel, f) MLX5_GET(modify_nic_vport_field_select, sel, f)

static uint32_t check_list(Mlx5Func *func, const Mlx5Cmd *cmd,
                           const uint8_t *ctx)
{
    uint32_t type = MLX5_GET(nic_vport_context, ctx, allowed_list_type);
    uint32_t n = MLX5_GET(nic_vport_context, ctx, allowed_list_size);
    uint32_t first = MLX5_BYTE_OFF(modify_nic_vport_context_in,
                                   nic_vport_context) +
                     MLX5_BYTE_OFF(nic_vport_context, current_uc_mac_address);

    if (type >= MLX5_VPORT_LIST_COUNT) {
        return MLX5_SYND_VPORT_LIST_TYPE;
    }
    if (n > 1u << mlx5_fw_cap_gen(func, list_limit_off[type], 5)) {
        return MLX5_SYND_VPORT_LIST_SIZE;
    }
    if (first + (uint64_t)n * 8 > cmd->in_len) {
        return MLX5_SYND_VPORT_LIST_SHORT;
    }
    return 0;
}

static uint32_t check_address(const uint8_t *ctx)
{
    const uint8_t *mac = 2 + MLX5_ADDR_OF(nic_vport_context, ctx,
                                          permanent_address);
    static const uint8_t zero[6];

    return (mac[0] & 1) || !memcmp(mac, zero, 6) ? MLX5_SYND_VPORT_MAC : 0;
}

static uint32_t check_modify(Mlx5Func *func, const Mlx5Cmd *cmd,
                             const uint8_t *sel, const uint8_t *ctx)
{
    uint32_t mtu = MLX5_GET(nic_vport_context, ctx, mtu);

    if (SELECTED(sel, affiliation)) {
        return MLX5_SYND_VPORT_AFFILIATION;
    }
    if (SELECTED(sel, roce_en) && MLX5_GET(nic_vport_context, ctx, roce_en) &&
        !MLX5_FW_CAP_GEN(func, roce)) {
        return MLX5_SYND_VPORT_ROCE;
    }
    if (SELECTED(sel, mtu) && (mtu < MLX5_HW_MTU_MIN || mtu > MLX5_HW_MTU_MAX)) {
        return MLX5_SYND_VPORT_MTU;
    }
    if ((SELECTED(sel, disable_uc_local_lb) &&
         !MLX5_FW_CAP_GEN(func, disable_local_lb_uc)) ||
        (SELECTED(sel, disable_mc_local_lb) &&
         !MLX5_FW_CAP_GEN(func, disable_local_lb_mc))) {
        return MLX5_SYND_VPORT_LOCAL_LB;
    }
    if (SELECTED(sel, permanent_address) && check_address(ctx)) {
        return MLX5_SYND_VPORT_MAC;
    }
    return SELECTED(sel, addresses_list) ? check_list(func, cmd, ctx) : 0;
}

static void take_list(Mlx5Vport *v, const uint8_t *ctx)
{
    uint32_t type = MLX5_GET(nic_vport_context, ctx, allowed_list_type);
    uint32_t n = MLX5_GET(nic_vport_context, ctx, allowed_list_size);

    g_free(v->list[type]);
    v->list[type] = g_new(uint64_t, n);
    v->list_len[type] = n;
    for (uint32_t i = 0; i < n; i++) {
        v->list[type][i] = MLX5_GET_IDX(nic_vport_context, ctx,
                                        current_uc_mac_address, i);
    }
}

static void take_promisc(Mlx5Vport *v, const uint8_t *ctx)
{
    v->promisc_uc = MLX5_GET(nic_vport_context, ctx, promisc_uc);
    v->promisc_mc = MLX5_GET(nic_vport_context, ctx, promisc_mc);
    v->promisc_all = MLX5_GET(nic_vport_context, ctx, promisc_all);
}

static void take_change_event(Mlx5Vport *v, const uint8_t *ctx)
{
    v->arm_change_event = MLX5_GET(nic_vport_context, ctx, arm_change_event);
    v->event_mask = mlx5_prm_get(ctx, MLX5_BIT_OFF(nic_vport_context,
                                                   event_on_mtu), 5);
}

static void take_mac(Mlx5Vport *v, const uint8_t *ctx)
{
    memcpy(v->mac, 2 + MLX5_ADDR_OF(nic_vport_context, ctx, permanent_address),
           6);
}

#define TAKE(sel, v, ctx, f)                                            \
    do {                                                                \
        if (SELECTED(sel, f)) {                                         \
            (v)->f = MLX5_GET(nic_vport_context, ctx, f);               \
        }                                                               \
    } while (0)

static void take(Mlx5Vport *v, const uint8_t *sel, const uint8_t *ctx)
{
    TAKE(sel, v, ctx, roce_en);
    TAKE(sel, v, ctx, mtu);
    TAKE(sel, v, ctx, port_guid);
    TAKE(sel, v, ctx, node_guid);
    TAKE(sel, v, ctx, disable_uc_local_lb);
    TAKE(sel, v, ctx, disable_mc_local_lb);
    if (SELECTED(sel, min_inline)) {
        v->min_wqe_inline_mode = MLX5_GET(nic_vport_context, ctx,
                                          min_wqe_inline_mode);
    }
    if (SELECTED(sel, permanent_address)) {
        take_mac(v, ctx);
    }
    if (SELECTED(sel, promisc)) {
        take_promisc(v, ctx);
    }
    if (SELECTED(sel, change_event)) {
        take_change_event(v, ctx);
    }
    if (SELECTED(sel, addresses_list)) {
        take_list(v, ctx);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_nic_vport_context)
{
    const uint8_t *sel = MLX5_ADDR_OF(modify_nic_vport_context_in, cmd->in,
                                      field_select);
    const uint8_t *ctx = MLX5_ADDR_OF(modify_nic_vport_context_in, cmd->in,
                                      nic_vport_context);
    uint32_t bad;

    if (!own_vport(cmd, MLX5_GET(modify_nic_vport_context_in, cmd->in,
                                 other_vport),
                   MLX5_GET(modify_nic_vport_context_in, cmd->in,
                            vport_number), MLX5_SYND_VPORT_MODIFY_OTHER)) {
        return;
    }
    bad = check_modify(func, cmd, sel, ctx);
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    take(&func->fw->vport, sel, ctx);
}

/* --- state -------------------------------------------------------------- */

static bool vport_up(Mlx5Func *func)
{
    uint8_t admin = func->fw->vport.admin_state;

    return admin == ADMIN_UP ||
           (admin == ADMIN_AUTO && mlx5_fw_port_up(func));
}

MLX5_CMD_HANDLER(mlx5_cmd_query_vport_state)
{
    if (!own_vport(cmd, MLX5_GET(query_vport_state_in, cmd->in, other_vport),
                   MLX5_GET(query_vport_state_in, cmd->in, vport_number),
                   MLX5_SYND_VPORT_STATE_OTHER)) {
        return;
    }
    if (cmd->op_mod > STATE_OP_UPLINK) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_VPORT_STATE_OP_MOD);
        return;
    }
    MLX5_SET(query_vport_state_out, cmd->out, admin_state,
             func->fw->vport.admin_state);
    MLX5_SET(query_vport_state_out, cmd->out, state,
             cmd->op_mod == STATE_OP_UPLINK ? mlx5_fw_port_up(func)
                                            : vport_up(func));
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_vport_state)
{
    uint32_t admin = MLX5_GET(modify_vport_state_in, cmd->in, admin_state);

    if (!own_vport(cmd, MLX5_GET(modify_vport_state_in, cmd->in, other_vport),
                   MLX5_GET(modify_vport_state_in, cmd->in, vport_number),
                   MLX5_SYND_VPORT_SET_STATE_OTHER)) {
        return;
    }
    if (cmd->op_mod > STATE_OP_UPLINK || admin > ADMIN_AUTO) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_VPORT_SET_STATE);
        return;
    }
    func->fw->vport.admin_state = admin;
}

/* --- counters ----------------------------------------------------------- */

static const struct {
    uint32_t bit_off;        /* in query_vport_counter_out */
    size_t offset;           /* in Mlx5VportCounters */
} counters[] = {
#define COUNTER(f) { MLX5_BIT_OFF(query_vport_counter_out, f), \
                     offsetof(Mlx5VportCounters, f) }
    COUNTER(received_errors), COUNTER(transmit_errors),
    COUNTER(received_ib_unicast), COUNTER(transmitted_ib_unicast),
    COUNTER(received_ib_multicast), COUNTER(transmitted_ib_multicast),
    COUNTER(received_eth_broadcast), COUNTER(transmitted_eth_broadcast),
    COUNTER(received_eth_unicast), COUNTER(transmitted_eth_unicast),
    COUNTER(received_eth_multicast), COUNTER(transmitted_eth_multicast),
    COUNTER(local_loopback),
#undef COUNTER
};

MLX5_CMD_HANDLER(mlx5_cmd_query_vport_counter)
{
    Mlx5VportCounters *c = &func->fw->vport.counters;

    if (!own_vport(cmd, MLX5_GET(query_vport_counter_in, cmd->in, other_vport),
                   MLX5_GET(query_vport_counter_in, cmd->in, vport_number),
                   MLX5_SYND_VPORT_COUNTER_OTHER)) {
        return;
    }
    if (MLX5_GET(query_vport_counter_in, cmd->in, port_num) > 1) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_IX_ERR, MLX5_SYND_VPORT_COUNTER_PORT);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(counters); i++) {
        const Mlx5Traffic *t = (void *)((char *)c + counters[i].offset);
        uint8_t *out = cmd->out + counters[i].bit_off / 8;

        MLX5_SET(traffic_counter, out, packets, t->packets);
        MLX5_SET(traffic_counter, out, octets, t->octets);
    }
    if (MLX5_GET(query_vport_counter_in, cmd->in, clear)) {
        *c = (Mlx5VportCounters){ 0 };
    }
}
