/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the port: MTU, up and down, counters (PRM: Port Registers;
 * driver: port.c, en/port.c). One port; speed and the rest of its link are in
 * reg_link.c.
 *
 * Left out: switching FCS checks off (PCMR).
 */
#include "fw/fw_internal.h"

#define HW_MTU_DEFAULT 1522  /* 1500, Ethernet header, VLAN tag, FCS */
#define PMLP_LANES 4

/** PAOS admin_status and oper_status. */
enum {
    PORT_UP = 1,
    PORT_DOWN = 2,
};

/** Subtypes of a port change event (driver: device.h). */
enum {
    PORT_CHANGE_DOWN = 1,
    PORT_CHANGE_ACTIVE = 4,
};

/** PPCNT groups (driver: enum mlx5_ifc counter groups). */
enum {
    PPCNT_802_3 = 0x00,
    PPCNT_RFC2863 = 0x01,
    PPCNT_RFC2819 = 0x02,
    PPCNT_RFC3635 = 0x03,
    PPCNT_EXTENDED = 0x05,
    PPCNT_DISCARD = 0x06,
    PPCNT_PER_PRIO = 0x10,
    PPCNT_PER_TC = 0x11,
    PPCNT_PHYSICAL = 0x12,
    PPCNT_PER_TC_CONGESTION = 0x13,
    PPCNT_STATISTICAL = 0x16,
    PPCNT_IB_PORT = 0x20,
};

void mlx5_port_reset(Mlx5Func *func)
{
    Mlx5Port *p = &func->fw->port;
    const Mlx5ModelInfo *m = mlx5_model_info(func->props.model);

    *p = (Mlx5Port){
        .admin_status = PORT_UP,
        .admin_mtu = HW_MTU_DEFAULT,
        .last_clear_ns = mlx5_clock_ns(func),
    };
    mlx5_link_reset(p);
    mlx5_port_qos_reset(p);
    g_snprintf((char *)p->node_desc, sizeof(p->node_desc), "%s mlx5sim",
               m->part);
}

bool mlx5_fw_port_up(Mlx5Func *func)
{
    return func->card->link_up && func->fw->port.admin_status == PORT_UP;
}

static void raise_port_change(Mlx5Func *func, bool up)
{
    uint8_t data[28] = { 0 };

    mlx5_trace(func, MLX5_TRACE_STATE, "port %s", up ? "active" : "down");
    if (!up) {
        func->fw->port.link_down_events++;
    }
    MLX5_SET(eqe_port_change, data, port_num, MLX5_LOCAL_PORT);
    mlx5_event_raise(func, MLX5_FW_EVENT_PORT_CHANGE,
                     up ? PORT_CHANGE_ACTIVE : PORT_CHANGE_DOWN, data);
}

void mlx5_fw_link_changed(Mlx5Func *func)
{
    if (func->fw->port.admin_status == PORT_UP) {
        raise_port_change(func, func->card->link_up);
    }
}

bool mlx5_reg_own_port(Mlx5Cmd *cmd, uint32_t local_port)
{
    if (local_port != MLX5_LOCAL_PORT) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_REG_PORT);
        return false;
    }
    return true;
}

void mlx5_reg_paos(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint32_t want = MLX5_GET(paos_reg, acc->in, admin_status);
    bool was_up = mlx5_fw_port_up(func);

    if (!mlx5_reg_own_port(cmd, MLX5_GET(paos_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write && MLX5_GET(paos_reg, acc->in, ase)) {
        if (want != PORT_UP && want != PORT_DOWN) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                          MLX5_SYND_PAOS_STATUS);
            return;
        }
        p->admin_status = want;
    }
    if (acc->write && MLX5_GET(paos_reg, acc->in, ee)) {
        p->event_mode = MLX5_GET(paos_reg, acc->in, e);
    }
    MLX5_SET(paos_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(paos_reg, acc->out, admin_status, p->admin_status);
    MLX5_SET(paos_reg, acc->out, oper_status,
             mlx5_fw_port_up(func) ? PORT_UP : PORT_DOWN);
    MLX5_SET(paos_reg, acc->out, e, p->event_mode);
    if (was_up != mlx5_fw_port_up(func)) {
        raise_port_change(func, !was_up);
    }
}

void mlx5_reg_pmtu(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint32_t mtu = MLX5_GET(pmtu_reg, acc->in, admin_mtu);

    if (!mlx5_reg_own_port(cmd, MLX5_GET(pmtu_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write) {
        if (mtu < MLX5_HW_MTU_MIN || mtu > MLX5_HW_MTU_MAX) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                          MLX5_SYND_PMTU_RANGE);
            return;
        }
        p->admin_mtu = mtu;
    }
    MLX5_SET(pmtu_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(pmtu_reg, acc->out, max_mtu, MLX5_HW_MTU_MAX);
    MLX5_SET(pmtu_reg, acc->out, admin_mtu, p->admin_mtu);
    MLX5_SET(pmtu_reg, acc->out, oper_mtu, p->admin_mtu);
}

/* All four lanes go to module 0. */
void mlx5_reg_pmlp(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    (void)func;
    if (!mlx5_reg_own_port(cmd, MLX5_GET(pmlp_reg, acc->in, local_port))) {
        return;
    }
    MLX5_SET(pmlp_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(pmlp_reg, acc->out, width, PMLP_LANES);
    for (uint32_t lane = 0; lane < PMLP_LANES; lane++) {
        /* lane number in bits 19:16 (tx) and 27:24 (rx), module in 7:0 */
        MLX5_SET_IDX(pmlp_reg, acc->out, lane0_module_mapping, lane,
                     lane << 16 | lane << 24);
    }
}

void mlx5_reg_pcmr(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    (void)func;
    if (!mlx5_reg_own_port(cmd, MLX5_GET(pcmr_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write && !MLX5_GET(pcmr_reg, acc->in, fcs_chk)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PCMR_FCS);
        return;
    }
    MLX5_SET(pcmr_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(pcmr_reg, acc->out, fcs_chk, 1);
}

/* A mask of the registers 0x5000 to 0x507f; bit 0 is the last. */
void mlx5_reg_pcam(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint8_t *mask = MLX5_ADDR_OF(pcam_reg, acc->out, regs_5000_to_507f);

    if (MLX5_GET(pcam_reg, acc->in, feature_group) ||
        MLX5_GET(pcam_reg, acc->in, access_reg_group)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PCAM_GROUP);
        return;
    }
    MLX5_SET(pcam_enhanced_features,
             MLX5_ADDR_OF(pcam_reg, acc->out, enhanced_features),
             ptys_connector_type, 1);
    MLX5_SET(pcam_enhanced_features,
             MLX5_ADDR_OF(pcam_reg, acc->out, enhanced_features),
             rx_icrc_encapsulated_counter, 1);
    mlx5_reg_mask(0x5000, mask);
    if (!func->props.dcb) {
        MLX5_SET(pcam_regs_5000_to_507f, mask, pbmc, 0);
        MLX5_SET(pcam_regs_5000_to_507f, mask, pptb, 0);
    }
}

/* --- PPCNT -------------------------------------------------------------- */

typedef struct Totals {
    Mlx5Traffic rx, tx;
} Totals;

static Totals totals(const Mlx5VportCounters *c)
{
    Totals t = { 0 };

    t.rx.packets = c->received_eth_unicast.packets +
                   c->received_eth_multicast.packets +
                   c->received_eth_broadcast.packets;
    t.rx.octets = c->received_eth_unicast.octets +
                  c->received_eth_multicast.octets +
                  c->received_eth_broadcast.octets;
    t.tx.packets = c->transmitted_eth_unicast.packets +
                   c->transmitted_eth_multicast.packets +
                   c->transmitted_eth_broadcast.packets;
    t.tx.octets = c->transmitted_eth_unicast.octets +
                  c->transmitted_eth_multicast.octets +
                  c->transmitted_eth_broadcast.octets;
    return t;
}

/* Every counter is 64 bits, high word first. */
#define COUNTER(l, set, f, v) \
    mlx5_prm_set(set, MLX5_BIT_OFF(l, f##_high), 64, v)

static void group_802_3(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    const Mlx5VportCounters *c = &func->fw->vport.counters;
    Totals t = totals(c);

    (void)prio;
#define C(f, v) COUNTER(eth_802_3_cntrs_grp_data_layout, set, f, v)
    C(a_frames_transmitted_ok, t.tx.packets);
    C(a_frames_received_ok, t.rx.packets);
    C(a_octets_transmitted_ok, t.tx.octets);
    C(a_octets_received_ok, t.rx.octets);
    C(a_multicast_frames_xmitted_ok, c->transmitted_eth_multicast.packets);
    C(a_broadcast_frames_xmitted_ok, c->transmitted_eth_broadcast.packets);
    C(a_multicast_frames_received_ok, c->received_eth_multicast.packets);
    C(a_broadcast_frames_received_ok, c->received_eth_broadcast.packets);
    C(a_mac_control_frames_received, func->fw->port.rx_control);
    C(a_unsupported_opcodes_received, func->fw->port.rx_control_unknown);
    C(a_pause_mac_ctrl_frames_received,
      func->fw->port.rx_control - func->fw->port.rx_control_unknown);
#undef C
}

static void group_2863(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    const Mlx5VportCounters *c = &func->fw->vport.counters;
    Totals t = totals(c);

    (void)prio;
#define C(f, v) COUNTER(eth_2863_cntrs_grp_data_layout, set, f, v)
    C(if_in_octets, t.rx.octets);
    C(if_in_ucast_pkts, c->received_eth_unicast.packets);
    C(if_in_errors, c->received_errors.packets);
    C(if_out_octets, t.tx.octets);
    C(if_out_ucast_pkts, c->transmitted_eth_unicast.packets);
    C(if_out_errors, c->transmit_errors.packets);
    C(if_in_multicast_pkts, c->received_eth_multicast.packets);
    C(if_in_broadcast_pkts, c->received_eth_broadcast.packets);
    C(if_out_multicast_pkts, c->transmitted_eth_multicast.packets);
    C(if_out_broadcast_pkts, c->transmitted_eth_broadcast.packets);
#undef C
}

static void group_2819(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    const Mlx5VportCounters *c = &func->fw->vport.counters;
    Totals t = totals(c);

    (void)prio;
#define C(f, v) COUNTER(eth_2819_cntrs_grp_data_layout, set, f, v)
    C(ether_stats_octets, t.rx.octets);
    C(ether_stats_pkts, t.rx.packets);
    C(ether_stats_broadcast_pkts, c->received_eth_broadcast.packets);
    C(ether_stats_multicast_pkts, c->received_eth_multicast.packets);
#undef C
}

static void group_per_prio(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    const Mlx5Port *p = &func->fw->port;

#define C(f, v) COUNTER(eth_per_prio_grp_data_layout, set, f, v)
    C(rx_pause, p->rx_pause[prio].packets);
    C(rx_pause_duration, p->rx_pause[prio].octets);
    C(rx_octets, p->rx_prio[prio].octets);
    C(rx_frames, p->rx_prio[prio].packets);
    C(tx_octets, p->tx_prio[prio].octets);
    C(tx_frames, p->tx_prio[prio].packets);
#undef C
}

/* The rest of it is about buffers, which never fill. */
static void group_extended(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    (void)prio;
    COUNTER(eth_extended_cntrs_grp_data_layout, set, rx_icrc_encapsulated,
            func->stats.rx_icrc_errors);
}

static void group_physical(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    const Mlx5Port *p = &func->fw->port;
    uint64_t ms = (mlx5_clock_ns(func) - p->last_clear_ns) / 1000000;

    (void)prio;
    COUNTER(phys_layer_cntrs, set, time_since_last_clear, ms);
    MLX5_SET(phys_layer_cntrs, set, link_down_events, p->link_down_events);
}

/* Frames for which the receive buffer of their priority had no room. */
static void group_per_tc(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    COUNTER(eth_per_tc_prio_grp_data_layout, set, no_buffer_discard_uc,
            func->fw->port.buffers.discards[prio]);
}

/* What these count never happens on this port. */
static void group_quiet(Mlx5Func *func, uint32_t prio, uint8_t *set)
{
    (void)func;
    (void)prio;
    (void)set;
}

/* pnat: the function's own port, whatever its number (driver: en_stats.c). */
#define PNAT_OWN 2

/* prio_tc says nothing of this group. */
#define PRIO_ANY UINT8_MAX

static const struct {
    uint8_t grp;
    uint8_t prios;           /* that count anything, of those asked for */
    void (*fill)(Mlx5Func *func, uint32_t prio, uint8_t *set);
} ppcnt_groups[] = {
    { PPCNT_802_3, PRIO_ANY, group_802_3 },
    { PPCNT_RFC2863, PRIO_ANY, group_2863 },
    { PPCNT_RFC2819, PRIO_ANY, group_2819 },
    { PPCNT_RFC3635, PRIO_ANY, group_quiet },
    { PPCNT_EXTENDED, PRIO_ANY, group_extended },
    { PPCNT_DISCARD, PRIO_ANY, group_quiet },
    { PPCNT_PER_PRIO, 8, group_per_prio },
    { PPCNT_PER_TC, 8, group_per_tc },
    { PPCNT_PHYSICAL, PRIO_ANY, group_physical },
    { PPCNT_PER_TC_CONGESTION, 1, group_quiet },
    { PPCNT_STATISTICAL, PRIO_ANY, group_quiet },
    { PPCNT_IB_PORT, PRIO_ANY, group_quiet },
};

void mlx5_reg_ppcnt(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t grp = MLX5_GET(ppcnt_reg, acc->in, grp);
    uint32_t prio = MLX5_GET(ppcnt_reg, acc->in, prio_tc);
    size_t row = 0;

    if (MLX5_GET(ppcnt_reg, acc->in, pnat) != PNAT_OWN &&
        !mlx5_reg_own_port(cmd, MLX5_GET(ppcnt_reg, acc->in, local_port))) {
        return;
    }
    while (row < G_N_ELEMENTS(ppcnt_groups) && ppcnt_groups[row].grp != grp) {
        row++;
    }
    if (row == G_N_ELEMENTS(ppcnt_groups)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PPCNT_GROUP);
        return;
    }
    if (MLX5_GET(ppcnt_reg, acc->in, clr)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PPCNT_CLEAR);
        return;
    }
    MLX5_SET(ppcnt_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(ppcnt_reg, acc->out, grp, grp);
    MLX5_SET(ppcnt_reg, acc->out, prio_tc, prio);
    if (prio < ppcnt_groups[row].prios) {
        ppcnt_groups[row].fill(func, prio, MLX5_ADDR_OF(ppcnt_reg, acc->out,
                                                        counter_set));
    }
}
