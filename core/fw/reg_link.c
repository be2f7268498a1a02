/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the link: speed (PTYS), forward error correction (PPLM), pause
 * and priority flow control (PFCC), beacon (MLCR) (PRM: Port Registers; driver:
 * port.c, en/port.c, en_ethtool.c).
 *
 * The wire's other end agrees to every speed and correction that the port has.
 * Pause frames that arrive hold sends back (eth/pause.c). The port itself never
 * sends one, whatever is allowed to: frames go on to memory at once, so its
 * buffer doesn't fill up.
 */
#include "fw/fw_internal.h"
#include "fw/port.h"

#define PROTO_ETHERNET 4         /* PTYS proto_mask */
#define AN_COMPLETE 1            /* PTYS an_status */
#define CONNECTOR_DA 7           /* PTYS connector_type: direct attach copper */

/* PPLM: a mode is a bit (driver: en/port.h MLX5E_FEC_*). */
enum { FEC_NONE = 1 << 0, FEC_FIRECODE = 1 << 1, FEC_RS = 1 << 2 };

/** A speed: its bit of PTYS eth_proto, and where PPLM has its field. */
static const struct {
    uint8_t bit;
    uint32_t mbps;
    uint32_t fec_cap_off, fec_admin_off; /* 0: no correction at this speed */
    uint8_t fec_cap, fec_auto;
} speeds[] = {
#define FEC(f) MLX5_BIT_OFF(pplm_reg, fec_override_cap_##f), \
               MLX5_BIT_OFF(pplm_reg, fec_override_admin_##f)
    { 20, 100000, FEC(100g), FEC_NONE | FEC_RS, FEC_RS },
    { 30, 50000, FEC(50g), FEC_NONE | FEC_FIRECODE | FEC_RS, FEC_RS },
    { 6, 40000, FEC(10g_40g), FEC_NONE | FEC_FIRECODE, FEC_NONE },
    { 27, 25000, FEC(25g), FEC_NONE | FEC_FIRECODE | FEC_RS, FEC_RS },
    { 12, 10000, FEC(10g_40g), FEC_NONE | FEC_FIRECODE, FEC_NONE },
    { 1, 1000, 0, 0, 0, 0 },
#undef FEC
};

#define FEC_BITS 4

static uint32_t all_speeds(void)
{
    uint32_t all = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(speeds); i++) {
        all |= 1u << speeds[i].bit;
    }
    return all;
}

/* The fastest of those that are allowed; PTYS left at least one. */
static size_t speed_row(const Mlx5Port *p)
{
    size_t i = 0;

    while (i < G_N_ELEMENTS(speeds) - 1 &&
           !(p->eth_proto_admin >> speeds[i].bit & 1)) {
        i++;
    }
    return i;
}

uint32_t mlx5_port_mbps(Mlx5Func *func)
{
    return speeds[speed_row(&func->fw->port)].mbps;
}

bool mlx5_port_rx_pause(Mlx5Func *func)
{
    const Mlx5Port *p = &func->fw->port;

    return p->pprx && !p->pfcrx;
}

uint8_t mlx5_port_rx_pfc(Mlx5Func *func)
{
    return func->fw->port.pfcrx;
}

void mlx5_port_count_control(Mlx5Func *func, bool known)
{
    Mlx5Port *p = &func->fw->port;

    p->rx_control++;
    p->rx_control_unknown += !known;
}

void mlx5_port_count_pause(Mlx5Func *func, unsigned prio, uint64_t ns)
{
    Mlx5Port *p = &func->fw->port;

    p->rx_pause[prio].packets++;
    p->rx_pause[prio].octets += ns / 1000;
}

void mlx5_link_reset(Mlx5Port *p)
{
    p->eth_proto_admin = all_speeds();
    p->pptx = p->pprx = true;
}

void mlx5_reg_ptys(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint32_t admin = MLX5_GET(ptys_reg, acc->in, eth_proto_admin);
    bool up = mlx5_fw_port_up(func);

    if (!mlx5_reg_own_port(cmd, MLX5_GET(ptys_reg, acc->in, local_port))) {
        return;
    }
    if (MLX5_GET(ptys_reg, acc->in, proto_mask) != PROTO_ETHERNET) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PTYS_PROTO);
        return;
    }
    if (acc->write) {
        if (!(admin & all_speeds())) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                          MLX5_SYND_PTYS_SPEED);
            return;
        }
        p->eth_proto_admin = admin & all_speeds();
        p->an_disable = MLX5_GET(ptys_reg, acc->in, an_disable_admin);
        up = mlx5_fw_port_up(func);
    }
    MLX5_SET(ptys_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(ptys_reg, acc->out, proto_mask, PROTO_ETHERNET);
    MLX5_SET(ptys_reg, acc->out, an_disable_cap, 1);
    MLX5_SET(ptys_reg, acc->out, an_disable_admin, p->an_disable);
    MLX5_SET(ptys_reg, acc->out, an_status,
             up && !p->an_disable ? AN_COMPLETE : 0);
    MLX5_SET(ptys_reg, acc->out, eth_proto_capability, all_speeds());
    MLX5_SET(ptys_reg, acc->out, eth_proto_admin, p->eth_proto_admin);
    MLX5_SET(ptys_reg, acc->out, eth_proto_oper,
             up ? 1u << speeds[speed_row(p)].bit : 0);
    MLX5_SET(ptys_reg, acc->out, connector_type, CONNECTOR_DA);
    MLX5_SET(ptys_reg, acc->out, eth_proto_lp_advertise,
             up && !p->an_disable ? all_speeds() : 0);
}

static bool fec_ok(const uint8_t *in)
{
    for (size_t i = 0; i < G_N_ELEMENTS(speeds); i++) {
        uint32_t want = !speeds[i].fec_admin_off ? 0 :
            mlx5_prm_get(in, speeds[i].fec_admin_off, FEC_BITS);

        if ((want & ~speeds[i].fec_cap) || (want & (want - 1))) {
            return false;
        }
    }
    return true;
}

static uint32_t fec_active(const Mlx5Port *p)
{
    size_t i = speed_row(p);

    return p->fec_admin[i] ? p->fec_admin[i] : speeds[i].fec_auto;
}

G_STATIC_ASSERT(G_N_ELEMENTS(speeds) ==
                G_N_ELEMENTS(((Mlx5Port *)0)->fec_admin));

void mlx5_reg_pplm(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;

    if (!mlx5_reg_own_port(cmd, MLX5_GET(pplm_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write && !fec_ok(acc->in)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PPLM_FEC);
        return;
    }
    MLX5_SET(pplm_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    for (size_t i = 0; i < G_N_ELEMENTS(speeds); i++) {
        if (!speeds[i].fec_admin_off) {
            continue;
        }
        if (acc->write) {
            p->fec_admin[i] = mlx5_prm_get(acc->in, speeds[i].fec_admin_off,
                                           FEC_BITS);
        }
        mlx5_prm_set(acc->out, speeds[i].fec_cap_off, FEC_BITS,
                     speeds[i].fec_cap);
        mlx5_prm_set(acc->out, speeds[i].fec_admin_off, FEC_BITS,
                     p->fec_admin[i]);
    }
    MLX5_SET(pplm_reg, acc->out, fec_mode_active,
             mlx5_fw_port_up(func) ? fec_active(p) : 0);
}

/* Priorities change where the masks say so; pause always. */
void mlx5_reg_pfcc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;

    if (!mlx5_reg_own_port(cmd, MLX5_GET(pfcc_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write) {
        uint8_t tx = MLX5_GET(pfcc_reg, acc->in, prio_mask_tx);
        uint8_t rx = MLX5_GET(pfcc_reg, acc->in, prio_mask_rx);

        p->pptx = MLX5_GET(pfcc_reg, acc->in, pptx);
        p->pprx = MLX5_GET(pfcc_reg, acc->in, pprx);
        p->pfctx = (p->pfctx & ~tx) |
                   (MLX5_GET(pfcc_reg, acc->in, pfctx) & tx);
        p->pfcrx = (p->pfcrx & ~rx) |
                   (MLX5_GET(pfcc_reg, acc->in, pfcrx) & rx);
    }
    MLX5_SET(pfcc_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(pfcc_reg, acc->out, pptx, p->pptx);
    MLX5_SET(pfcc_reg, acc->out, pprx, p->pprx);
    MLX5_SET(pfcc_reg, acc->out, pfctx, p->pfctx);
    MLX5_SET(pfcc_reg, acc->out, pfcrx, p->pfcrx);
}

/* The LED that tells the port from others: seconds, 0xffff for ever. */
void mlx5_reg_mlcr(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5Port *p = &func->fw->port;
    uint64_t now = mlx5_clock_ns(func), second = 1000000000;

    if (!mlx5_reg_own_port(cmd, MLX5_GET(mlcr_reg, acc->in, local_port))) {
        return;
    }
    if (acc->write) {
        p->beacon_s = MLX5_GET(mlcr_reg, acc->in, beacon_duration);
        p->beacon_end_ns = now + p->beacon_s * second;
        mlx5_trace(func, MLX5_TRACE_STATE, "beacon %us", p->beacon_s);
    }
    MLX5_SET(mlcr_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(mlcr_reg, acc->out, beacon_duration, p->beacon_s);
    MLX5_SET(mlcr_reg, acc->out, beacon_remain,
             p->beacon_s == UINT16_MAX ? UINT16_MAX
             : now < p->beacon_end_ns
                 ? (p->beacon_end_ns - now + second - 1) / second : 0);
}
