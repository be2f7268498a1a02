/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the port's quality of service (PRM: QCAM, QPTS, QPDPM, QTCT,
 * QETCR; driver: port.c, en_dcbnl.c): what a packet's priority is, which
 * traffic class a priority belongs to, and how fast a class may send.
 *
 *   packet -- QPTS: by its VLAN tag, or by its DSCP and QPDPM --> priority
 *   priority -- QTCT --> traffic class -- QETCR --> share and limit
 *
 * Groups and shares are kept and told; the line itself has no rate here, so
 * nothing ever waits for its share. Limits are kept to (eth/ets.c).
 */
#include "fw/fw_internal.h"

/** QPTS trust_state. */
enum {
    TRUST_PCP = 1,
    TRUST_DSCP = 2,
};

/** QETCR max_bw_units. */
enum {
    NO_LIMIT = 0,
    UNITS_100_MBPS = 3,
    UNITS_1_GBPS = 4,
};

#define MAX_GROUP 7
#define MAX_BW_ALLOCATION 100

void mlx5_port_qos_reset(Mlx5Port *p)
{
    p->trust_state = TRUST_PCP;
    for (unsigned i = 0; i < MLX5_PORT_DSCPS; i++) {
        p->dscp_prio[i] = i / (MLX5_PORT_DSCPS / MLX5_PORT_PRIOS);
    }
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        p->prio_tc[i] = i;
        p->tc[i] = (Mlx5PortTc){ .group = MAX_GROUP,
                                 .bw_allocation = MAX_BW_ALLOCATION };
    }
    mlx5_port_buffer_reset(p);
}

unsigned mlx5_port_prio(Mlx5Func *func, int pcp, int dscp)
{
    const Mlx5Port *p = &func->fw->port;

    if (p->trust_state == TRUST_DSCP) {
        return dscp < 0 ? 0 : p->dscp_prio[dscp];
    }
    return pcp < 0 ? 0 : pcp;
}

unsigned mlx5_port_tc(Mlx5Func *func, unsigned prio)
{
    return func->fw->port.prio_tc[prio];
}

uint64_t mlx5_port_tc_kbps(Mlx5Func *func, unsigned tc)
{
    const Mlx5PortTc *t = &func->fw->port.tc[tc];

    switch (t->max_bw_units) {
    case UNITS_100_MBPS:
        return t->max_bw_value * UINT64_C(100000);
    case UNITS_1_GBPS:
        return t->max_bw_value * UINT64_C(1000000);
    default:
        return 0;
    }
}

void mlx5_port_count_prio(Mlx5Func *func, unsigned prio, bool tx,
                          Mlx5Traffic traffic)
{
    Mlx5Port *p = &func->fw->port;
    Mlx5Traffic *t = tx ? &p->tx_prio[prio] : &p->rx_prio[prio];

    t->packets += traffic.packets;
    t->octets += traffic.octets;
}

bool mlx5_reg_may_dcb(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t port)
{
    if (!func->props.dcb) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_DCB_OFF);
        return false;
    }
    return mlx5_reg_own_port(cmd, port);
}

/* A register that names no port is this one's (driver: mlx5_set_port_prio_tc). */
static uint32_t or_own(uint32_t port)
{
    return port ? port : MLX5_LOCAL_PORT;
}

/* A mask of the registers 0x4000 to 0x407f; bit 0 is the last. */
void mlx5_reg_qcam(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint8_t *mask = MLX5_ADDR_OF(qcam_reg, acc->out, reg_cap);

    if (!mlx5_reg_may_dcb(func, cmd, MLX5_LOCAL_PORT)) {
        return;
    }
    if (MLX5_GET(qcam_reg, acc->in, feature_group) ||
        MLX5_GET(qcam_reg, acc->in, access_reg_group)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QCAM_GROUP);
        return;
    }
    mlx5_reg_mask(0x4000, mask);
}

void mlx5_reg_qpts(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint8_t state = MLX5_GET(qpts_reg, acc->in, trust_state);

    if (!mlx5_reg_may_dcb(func, cmd, MLX5_GET(qpts_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write) {
        if (state != TRUST_PCP && state != TRUST_DSCP) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                          MLX5_SYND_QPTS_STATE);
            return;
        }
        p->trust_state = state;
        mlx5_paths_changed(func);
    }
    MLX5_SET(qpts_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(qpts_reg, acc->out, trust_state, p->trust_state);
}

/* Field @f of QPDPM's entry @i: two to a word, so not a structure of its own. */
static uint32_t dscp_off(unsigned i, uint32_t f)
{
    return MLX5_BIT_OFF(qpdpm_reg, dscp) + i * MLX5_BITS_qpdpm_dscp_reg + f;
}

#define DSCP_GET(p, i, f)                                          \
    mlx5_prm_get(p, dscp_off(i, MLX5_BIT_OFF(qpdpm_dscp_reg, f)),  \
                 MLX5_BIT_SZ(qpdpm_dscp_reg, f))
#define DSCP_SET(p, i, f, v)                                       \
    mlx5_prm_set(p, dscp_off(i, MLX5_BIT_OFF(qpdpm_dscp_reg, f)),  \
                 MLX5_BIT_SZ(qpdpm_dscp_reg, f), v)

static bool dscps_ok(const uint8_t *in)
{
    for (unsigned i = 0; i < MLX5_PORT_DSCPS; i++) {
        if (DSCP_GET(in, i, e) && DSCP_GET(in, i, prio) >= MLX5_PORT_PRIOS) {
            return false;
        }
    }
    return true;
}

/* Of what is written, the entries with e set count. */
void mlx5_reg_qpdpm(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;

    if (!mlx5_reg_may_dcb(func, cmd, MLX5_GET(qpdpm_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write && !dscps_ok(acc->in)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QPDPM_PRIO);
        return;
    }
    MLX5_SET(qpdpm_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    for (unsigned i = 0; i < MLX5_PORT_DSCPS; i++) {
        if (acc->write && DSCP_GET(acc->in, i, e)) {
            p->dscp_prio[i] = DSCP_GET(acc->in, i, prio);
            mlx5_paths_changed(func);
        }
        DSCP_SET(acc->out, i, prio, p->dscp_prio[i]);
    }
}

void mlx5_reg_qtct(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint8_t prio = MLX5_GET(qtct_reg, acc->in, prio);

    if (!mlx5_reg_may_dcb(func, cmd, or_own(MLX5_GET(qtct_reg, acc->in, port_number)))) {
        return;
    }
    if (acc->write) {
        p->prio_tc[prio] = MLX5_GET(qtct_reg, acc->in, tclass);
    }
    MLX5_SET(qtct_reg, acc->out, port_number, MLX5_LOCAL_PORT);
    MLX5_SET(qtct_reg, acc->out, prio, prio);
    MLX5_SET(qtct_reg, acc->out, tclass, p->prio_tc[prio]);
}

/* The configuration of class @i. */
#define TC(p, i) \
    (MLX5_ADDR_OF(qetc_reg, p, tc_configuration) + \
     (i) * MLX5_ST_SZ_BYTES(ets_tcn_config_reg))

/* What is wrong with the configuration of one class. Return: 0 if nothing. */
static uint32_t check_tc(const uint8_t *c)
{
    uint32_t units = MLX5_GET(ets_tcn_config_reg, c, max_bw_units);

    if (MLX5_GET(ets_tcn_config_reg, c, g) &&
        MLX5_GET(ets_tcn_config_reg, c, group) > MAX_GROUP) {
        return MLX5_SYND_QETCR_GROUP;
    }
    if (MLX5_GET(ets_tcn_config_reg, c, b) &&
        MLX5_GET(ets_tcn_config_reg, c, bw_allocation) > MAX_BW_ALLOCATION) {
        return MLX5_SYND_QETCR_SHARE;
    }
    if (MLX5_GET(ets_tcn_config_reg, c, r) && units != NO_LIMIT &&
        units != UNITS_100_MBPS && units != UNITS_1_GBPS) {
        return MLX5_SYND_QETCR_UNITS;
    }
    return 0;
}

/* Each field changes where its bit says so: g, b, r. */
static void set_tc(Mlx5PortTc *t, const uint8_t *c)
{
    if (MLX5_GET(ets_tcn_config_reg, c, g)) {
        t->group = MLX5_GET(ets_tcn_config_reg, c, group);
    }
    if (MLX5_GET(ets_tcn_config_reg, c, b)) {
        t->bw_allocation = MLX5_GET(ets_tcn_config_reg, c, bw_allocation);
    }
    if (MLX5_GET(ets_tcn_config_reg, c, r)) {
        t->max_bw_units = MLX5_GET(ets_tcn_config_reg, c, max_bw_units);
        t->max_bw_value = MLX5_GET(ets_tcn_config_reg, c, max_bw_value);
    }
}

static void get_tc(const Mlx5PortTc *t, uint8_t *c)
{
    MLX5_SET(ets_tcn_config_reg, c, group, t->group);
    MLX5_SET(ets_tcn_config_reg, c, bw_allocation, t->bw_allocation);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_units, t->max_bw_units);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_value, t->max_bw_value);
}

/* Left out: a limit of all classes together, which no driver sets (refused). */
static uint32_t check_qetcr(const uint8_t *in)
{
    const uint8_t *all = MLX5_ADDR_OF(qetc_reg, in, global_configuration);
    uint32_t bad = MLX5_GET(ets_global_config_reg, all, r)
                       ? MLX5_SYND_QETCR_GLOBAL : 0;

    for (unsigned i = 0; i < MLX5_PORT_PRIOS && !bad; i++) {
        bad = check_tc(TC(in, i));
    }
    return bad;
}

void mlx5_reg_qetcr(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint32_t bad;

    if (!mlx5_reg_may_dcb(func, cmd, or_own(MLX5_GET(qetc_reg, acc->in, port_number)))) {
        return;
    }
    bad = acc->write ? check_qetcr(acc->in) : 0;
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    MLX5_SET(qetc_reg, acc->out, port_number, MLX5_LOCAL_PORT);
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        if (acc->write) {
            set_tc(&p->tc[i], TC(acc->in, i));
        }
        get_tc(&p->tc[i], TC(acc->out, i));
    }
}
