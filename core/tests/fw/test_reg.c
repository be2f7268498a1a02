/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access registers: the ones the drivers read, what they may not do, and the
 * link.
 */
#include "tests/fw/fw_helper.h"

#include "fw/port.h"
#include "fw/vport.h"
#include "obj/eq.h"

enum { WRITE = 0, READ = 1 };

#define REG_BYTES 256

/* Access @id with @reg as data, which takes the answer. */
static bool reg(FakeDriver *d, uint32_t op, uint32_t id, uint8_t *reg,
                uint32_t bytes)
{
    uint8_t in[16 + REG_BYTES] = { 0 }, out[16 + REG_BYTES];
    bool ok;

    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, op_mod, op);
    MLX5_SET(access_register_in, in, register_id, id);
    memcpy(in + 16, reg, bytes);
    ok = fake_driver_cmd(d, in, 16 + bytes, out, 16 + bytes);
    if (ok) {
        memcpy(reg, out + 16, bytes);
    }
    return ok;
}

#define REG_FAILS(d, op, id, data, bytes, synd)                      \
    do {                                                             \
        ck_assert(!reg(d, op, id, data, bytes));                     \
        ck_assert_uint_eq((d)->status, MLX5_CMD_STAT_BAD_PARAM_ERR); \
        ck_assert_uint_eq((d)->syndrome, synd);                      \
    } while (0)

START_TEST(general)
{
    FakeDriver *d = t_running();
    uint8_t r[REG_BYTES] = { 0 };

    REG_FAILS(d, 2, 0x6001, r, 64, MLX5_SYND_REG_OP_MOD);
    REG_FAILS(d, READ, 0xc00e, r, 64, MLX5_SYND_REG_UNKNOWN);
    REG_FAILS(d, READ, 0x500f, r, 64, MLX5_SYND_REG_UNKNOWN);
    REG_FAILS(d, WRITE, 0x5008, r, 256, MLX5_SYND_REG_READ_ONLY);
    REG_FAILS(d, WRITE, 0x6001, r, 60, MLX5_SYND_REG_DATA_SHORT);
    t_free(d);
}
END_TEST

START_TEST(node_desc)
{
    FakeDriver *d = t_running();
    uint8_t r[64] = { 0 }, text[64] = "my card";

    ck_assert(reg(d, READ, 0x6001, r, 64));
    ck_assert_str_eq((char *)r, "ConnectX-6 Dx mlx5sim");
    ck_assert(reg(d, WRITE, 0x6001, text, 64));
    ck_assert(reg(d, READ, 0x6001, r, 64));
    ck_assert_str_eq((char *)r, "my card");
    t_free(d);
}
END_TEST

/* Written before INIT_HCA, with sixteen bytes. */
START_TEST(host_endianness)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));
    uint8_t r[16] = { 0 };

    ck_assert(reg(d, WRITE, 0x7004, r, 16));
    ck_assert(reg(d, READ, 0x7004, r, 16));
    ck_assert_uint_eq(r[0], 0);
    t_free(d);
}
END_TEST

#define PORT_REG(layout, r)                \
    uint8_t r[MLX5_ST_SZ_BYTES(layout)] = { 0 }; \
    MLX5_SET(layout, r, local_port, 1)

START_TEST(local_port)
{
    static const struct { uint16_t id, bytes; } regs[] = {
        { 0x5002, 64 }, { 0x5003, 16 }, { 0x5004, 64 }, { 0x5006, 16 },
        { 0x5007, 32 }, { 0x5008, 256 }, { 0x5041, 12 },
    };
    FakeDriver *d = t_running();
    uint8_t r[REG_BYTES] = { 0, 2 };

    for (size_t i = 0; i < G_N_ELEMENTS(regs); i++) {
        REG_FAILS(d, READ, regs[i].id, r, regs[i].bytes, MLX5_SYND_REG_PORT);
    }
    t_free(d);
}
END_TEST

START_TEST(pmtu)
{
    FakeDriver *d = t_running();
    PORT_REG(pmtu_reg, r);

    ck_assert(reg(d, READ, 0x5003, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pmtu_reg, r, max_mtu), 9978 + 22);
    ck_assert_uint_ge(MLX5_GET(pmtu_reg, r, oper_mtu), 1500 + 22);
    MLX5_SET(pmtu_reg, r, admin_mtu, 9022);
    ck_assert(reg(d, WRITE, 0x5003, r, sizeof(r)));
    ck_assert(reg(d, READ, 0x5003, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pmtu_reg, r, oper_mtu), 9022);
    MLX5_SET(pmtu_reg, r, admin_mtu, 10001);
    REG_FAILS(d, WRITE, 0x5003, r, sizeof(r), MLX5_SYND_PMTU_RANGE);
    t_free(d);
}
END_TEST

START_TEST(ptys)
{
    FakeDriver *d = t_running();
    PORT_REG(ptys_reg, r);

    REG_FAILS(d, READ, 0x5004, r, sizeof(r), MLX5_SYND_PTYS_PROTO);
    MLX5_SET(ptys_reg, r, proto_mask, 4);
    ck_assert(reg(d, READ, 0x5004, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(ptys_reg, r, eth_proto_oper), 1 << 20);
    ck_assert_uint_eq(MLX5_GET(ptys_reg, r, an_status), 1);
    ck_assert(reg(d, WRITE, 0x5004, r, sizeof(r)));
    MLX5_SET(ptys_reg, r, eth_proto_admin, 1 << 27 | 1 << 12);
    MLX5_SET(ptys_reg, r, an_disable_admin, 1);
    ck_assert(reg(d, WRITE, 0x5004, r, sizeof(r)));
    ck_assert(reg(d, READ, 0x5004, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(ptys_reg, r, eth_proto_admin),
                      1 << 27 | 1 << 12);
    ck_assert_uint_eq(MLX5_GET(ptys_reg, r, eth_proto_oper), 1 << 27);
    ck_assert_uint_eq(MLX5_GET(ptys_reg, r, an_status), 0);
    MLX5_SET(ptys_reg, r, eth_proto_admin, 1);
    REG_FAILS(d, WRITE, 0x5004, r, sizeof(r), MLX5_SYND_PTYS_SPEED);
    mlx5_card_set_link(d->host->card, false);
    ck_assert(reg(d, READ, 0x5004, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(ptys_reg, r, eth_proto_oper), 0);
    t_free(d);
}
END_TEST

START_TEST(fec)
{
    FakeDriver *d = t_running();
    uint8_t r[80] = { 0 }, speed[MLX5_ST_SZ_BYTES(ptys_reg)] = { 0 };

    MLX5_SET(pplm_reg, r, local_port, 1);
    ck_assert(reg(d, READ, 0x5023, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pplm_reg, r, fec_override_cap_100g), 5);
    ck_assert_uint_eq(MLX5_GET(pplm_reg, r, fec_override_cap_10g_40g), 3);
    ck_assert_uint_eq(MLX5_GET(pplm_reg, r, fec_mode_active), 4);
    MLX5_SET(pplm_reg, r, fec_override_admin_100g, 1);
    MLX5_SET(pplm_reg, r, fec_override_admin_25g, 2);
    ck_assert(reg(d, WRITE, 0x5023, r, sizeof(r)));
    ck_assert(reg(d, READ, 0x5023, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pplm_reg, r, fec_mode_active), 1);
    MLX5_SET(ptys_reg, speed, local_port, 1);
    MLX5_SET(ptys_reg, speed, proto_mask, 4);
    MLX5_SET(ptys_reg, speed, eth_proto_admin, 1 << 27);
    ck_assert(reg(d, WRITE, 0x5004, speed, sizeof(speed)));
    ck_assert(reg(d, READ, 0x5023, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pplm_reg, r, fec_mode_active), 2);
    MLX5_SET(pplm_reg, r, fec_override_admin_100g, 2);
    REG_FAILS(d, WRITE, 0x5023, r, sizeof(r), MLX5_SYND_PPLM_FEC);
    MLX5_SET(pplm_reg, r, fec_override_admin_100g, 5);
    REG_FAILS(d, WRITE, 0x5023, r, sizeof(r), MLX5_SYND_PPLM_FEC);
    MLX5_SET(pplm_reg, r, local_port, 2);
    REG_FAILS(d, READ, 0x5023, r, sizeof(r), MLX5_SYND_REG_PORT);
    t_free(d);
}
END_TEST

static bool mcia(FakeDriver *d, uint8_t r[64], uint32_t i2c, uint32_t page,
                 uint32_t at, uint32_t size)
{
    memset(r, 0, 64);
    MLX5_SET(mcia_reg, r, i2c_device_address, i2c);
    MLX5_SET(mcia_reg, r, page_number, page);
    MLX5_SET(mcia_reg, r, device_address, at);
    MLX5_SET(mcia_reg, r, size, size);
    return reg(d, READ, 0x9014, r, 64);
}

/* The module's memory, and that its sums are right. */
START_TEST(module)
{
    FakeDriver *d = t_running();
    uint8_t r[64], all[256], sum = 0;

    for (uint32_t at = 0; at < 256; at += 32) {
        ck_assert(mcia(d, r, 0x50, 0, at, 32));
        ck_assert_uint_eq(MLX5_GET(mcia_reg, r, status), 0);
        memcpy(all + at, r + 16, 32);
    }
    ck_assert_uint_eq(all[0], 0x11);
    ck_assert_uint_eq(all[192], 0x0b);
    ck_assert_mem_eq(all + 148, "mlx5sim         ", 16);
    for (int i = 128; i < 191; i++) {
        sum += all[i];
    }
    ck_assert_uint_eq(all[191], sum);
    ck_assert(mcia(d, r, 0x51, 0, 0, 4));
    ck_assert_uint_eq(MLX5_GET(mcia_reg, r, status), 9);
    ck_assert(mcia(d, r, 0x50, 3, 128, 4));
    ck_assert_uint_eq(MLX5_GET(mcia_reg, r, status), 9);
    ck_assert(!mcia(d, r, 0x50, 0, 0, 49));
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_MCIA_RANGE);
    ck_assert(!mcia(d, r, 0x50, 0, 250, 8));
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_MCIA_RANGE);
    memset(r, 0, sizeof(r));
    MLX5_SET(mcia_reg, r, module, 1);
    REG_FAILS(d, READ, 0x9014, r, sizeof(r), MLX5_SYND_MCIA_MODULE);
    t_free(d);
}
END_TEST

START_TEST(beacon)
{
    FakeDriver *d = t_running();
    PORT_REG(mlcr_reg, r);

    MLX5_SET(mlcr_reg, r, beacon_duration, 3);
    ck_assert(reg(d, WRITE, 0x902b, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(mlcr_reg, r, beacon_remain), 3);
    fake_host_advance(d->host, 2500000000);
    ck_assert(reg(d, READ, 0x902b, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(mlcr_reg, r, beacon_remain), 1);
    fake_host_advance(d->host, 2500000000);
    ck_assert(reg(d, READ, 0x902b, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(mlcr_reg, r, beacon_remain), 0);
    t_free(d);
}
END_TEST

/* The next event must be a port change with this subtype. */
static void expect_port_event(FakeDriver *d, uint32_t sub_type)
{
    uint8_t eqe[64];

    ck_assert(fake_driver_poll_eq(d, &d->async_eq, eqe));
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_type),
                      MLX5_EVENT_TYPE_PORT_CHANGE);
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_sub_type), sub_type);
    ck_assert_uint_eq(eqe[0x28] >> 4, 1);
    ck_assert(!fake_driver_poll_eq(d, &d->async_eq, eqe));
}

static void set_admin(FakeDriver *d, uint32_t status)
{
    PORT_REG(paos_reg, r);

    MLX5_SET(paos_reg, r, ase, 1);
    MLX5_SET(paos_reg, r, admin_status, status);
    ck_assert(reg(d, WRITE, 0x5006, r, sizeof(r)));
}

START_TEST(paos_and_link)
{
    FakeDriver *d = t_up();
    uint8_t eqe[64];
    PORT_REG(paos_reg, r);

    ck_assert(reg(d, READ, 0x5006, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(paos_reg, r, oper_status), 1);
    set_admin(d, 2);
    expect_port_event(d, 1);
    ck_assert(reg(d, READ, 0x5006, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(paos_reg, r, admin_status), 2);
    ck_assert_uint_eq(MLX5_GET(paos_reg, r, oper_status), 2);
    /* The cable does not matter while the port is down. */
    mlx5_card_set_link(d->host->card, false);
    mlx5_card_set_link(d->host->card, true);
    ck_assert(!fake_driver_poll_eq(d, &d->async_eq, eqe));
    set_admin(d, 1);
    expect_port_event(d, 4);
    set_admin(d, 1);
    ck_assert(!fake_driver_poll_eq(d, &d->async_eq, eqe));
    mlx5_card_set_link(d->host->card, false);
    expect_port_event(d, 1);
    mlx5_card_set_link(d->host->card, true);
    expect_port_event(d, 4);
    /* Without ase the status is not looked at. */
    MLX5_SET(paos_reg, r, admin_status, 9);
    MLX5_SET(paos_reg, r, ee, 1);
    MLX5_SET(paos_reg, r, e, 1);
    ck_assert(reg(d, WRITE, 0x5006, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(paos_reg, r, e), 1);
    MLX5_SET(paos_reg, r, ase, 1);
    MLX5_SET(paos_reg, r, admin_status, 9);
    REG_FAILS(d, WRITE, 0x5006, r, sizeof(r), MLX5_SYND_PAOS_STATUS);
    t_free(d);
}
END_TEST

START_TEST(ppcnt)
{
    static const uint8_t groups[] = {
        0, 1, 2, 3, 5, 6, 0x10, 0x11, 0x12, 0x13, 0x16, 0x20,
    };
    FakeDriver *d = t_running();
    Mlx5VportCounters *c = &mlx5_vport(d->host->func)->counters;
    PORT_REG(ppcnt_reg, r);
    const uint8_t *set = MLX5_ADDR_OF(ppcnt_reg, r, counter_set);

    c->received_eth_unicast = (Mlx5Traffic){ 3, 300 };
    c->received_eth_multicast = (Mlx5Traffic){ 4, 400 };
    d->host->func->stats.rx_icrc_errors = 9;
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        memset(r + 2, 0, sizeof(r) - 2);
        MLX5_SET(ppcnt_reg, r, grp, groups[i]);
        ck_assert(reg(d, READ, 0x5008, r, sizeof(r)));
        if (groups[i] == 0) {
            ck_assert_uint_eq(MLX5_GET(eth_802_3_cntrs_grp_data_layout, set,
                                       a_frames_received_ok_low), 7);
            ck_assert_uint_eq(MLX5_GET(eth_802_3_cntrs_grp_data_layout, set,
                                       a_octets_received_ok_low), 700);
        } else if (groups[i] == 5) {
            ck_assert_uint_eq(MLX5_GET(eth_extended_cntrs_grp_data_layout, set,
                                       rx_icrc_encapsulated_low), 9);
        }
    }
    mlx5_port_count_prio(d->host->func, 3, false, (Mlx5Traffic){ 7, 700 });
    mlx5_port_count_prio(d->host->func, 3, true, (Mlx5Traffic){ 8, 800 });
    MLX5_SET(ppcnt_reg, r, grp, 0x10);
    MLX5_SET(ppcnt_reg, r, prio_tc, 3);
    ck_assert(reg(d, READ, 0x5008, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(eth_per_prio_grp_data_layout, set,
                               rx_frames_low), 7);
    ck_assert_uint_eq(MLX5_GET(eth_per_prio_grp_data_layout, set,
                               tx_octets_low), 800);
    MLX5_SET(ppcnt_reg, r, prio_tc, 1);
    ck_assert(reg(d, READ, 0x5008, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(eth_per_prio_grp_data_layout, set,
                               rx_frames_low), 0);
    mlx5_port_count_discard(d->host->func, 4);
    memset(r, 0, sizeof(r));
    MLX5_SET(ppcnt_reg, r, pnat, 2);
    MLX5_SET(ppcnt_reg, r, grp, 0x11);
    MLX5_SET(ppcnt_reg, r, prio_tc, 4);
    ck_assert(reg(d, READ, 0x5008, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(eth_per_tc_prio_grp_data_layout, set,
                               no_buffer_discard_uc_low), 1);
    MLX5_SET(ppcnt_reg, r, local_port, 1);
    MLX5_SET(ppcnt_reg, r, pnat, 0);
    MLX5_SET(ppcnt_reg, r, prio_tc, 5);
    ck_assert(reg(d, READ, 0x5008, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(eth_per_tc_prio_grp_data_layout, set,
                               no_buffer_discard_uc_low), 0);
    MLX5_SET(ppcnt_reg, r, grp, 0x3f);
    REG_FAILS(d, READ, 0x5008, r, sizeof(r), MLX5_SYND_PPCNT_GROUP);
    MLX5_SET(ppcnt_reg, r, grp, 0);
    MLX5_SET(ppcnt_reg, r, clr, 1);
    REG_FAILS(d, READ, 0x5008, r, sizeof(r), MLX5_SYND_PPCNT_CLEAR);
    t_free(d);
}
END_TEST

START_TEST(pause_fcs_and_module)
{
    FakeDriver *d = t_running();
    PORT_REG(pfcc_reg, pfcc);
    PORT_REG(pcmr_reg, pcmr);
    PORT_REG(pmlp_reg, pmlp);

    ck_assert(reg(d, READ, 0x5007, pfcc, sizeof(pfcc)));
    ck_assert(reg(d, WRITE, 0x5007, pfcc, sizeof(pfcc)));
    ck_assert(MLX5_GET(pfcc_reg, pfcc, pptx) && MLX5_GET(pfcc_reg, pfcc, pprx));
    MLX5_SET(pfcc_reg, pfcc, pprx, 0);
    MLX5_SET(pfcc_reg, pfcc, prio_mask_tx, 0xff);
    MLX5_SET(pfcc_reg, pfcc, prio_mask_rx, 0x0f);
    MLX5_SET(pfcc_reg, pfcc, pfctx, 0x18);
    MLX5_SET(pfcc_reg, pfcc, pfcrx, 0x18);
    ck_assert(reg(d, WRITE, 0x5007, pfcc, sizeof(pfcc)));
    ck_assert(reg(d, READ, 0x5007, pfcc, sizeof(pfcc)));
    ck_assert(MLX5_GET(pfcc_reg, pfcc, pptx));
    ck_assert(!MLX5_GET(pfcc_reg, pfcc, pprx));
    ck_assert_uint_eq(MLX5_GET(pfcc_reg, pfcc, pfctx), 0x18);
    ck_assert_uint_eq(MLX5_GET(pfcc_reg, pfcc, pfcrx), 0x08);
    ck_assert(reg(d, READ, 0x5041, pcmr, sizeof(pcmr)));
    ck_assert_uint_eq(MLX5_GET(pcmr_reg, pcmr, fcs_chk), 1);
    MLX5_SET(pcmr_reg, pcmr, fcs_chk, 0);
    REG_FAILS(d, WRITE, 0x5041, pcmr, sizeof(pcmr), MLX5_SYND_PCMR_FCS);
    ck_assert(reg(d, READ, 0x5002, pmlp, sizeof(pmlp)));
    ck_assert_uint_eq(MLX5_GET(pmlp_reg, pmlp, width), 4);
    t_free(d);
}
END_TEST

START_TEST(trust)
{
    FakeDriver *d = t_running();
    Mlx5Func *func = d->host->func;
    PORT_REG(qpts_reg, r);

    ck_assert(reg(d, READ, 0x4002, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(qpts_reg, r, trust_state), 1);
    ck_assert_uint_eq(mlx5_port_prio(func, 5, 63), 5);
    ck_assert_uint_eq(mlx5_port_prio(func, -1, 63), 0);
    MLX5_SET(qpts_reg, r, trust_state, 2);
    ck_assert(reg(d, WRITE, 0x4002, r, sizeof(r)));
    ck_assert_uint_eq(mlx5_port_prio(func, 5, 63), 7);
    ck_assert_uint_eq(mlx5_port_prio(func, 5, -1), 0);
    MLX5_SET(qpts_reg, r, trust_state, 3);
    REG_FAILS(d, WRITE, 0x4002, r, sizeof(r), MLX5_SYND_QPTS_STATE);
    MLX5_SET(qpts_reg, r, local_port, 2);
    REG_FAILS(d, READ, 0x4002, r, sizeof(r), MLX5_SYND_REG_PORT);
    t_free(d);
}
END_TEST

/* Field @f of an entry: two to a word. */
#define DSCP_OFF(i, f)                                            \
    MLX5_BIT_OFF(qpdpm_reg, dscp) + (i) * MLX5_BITS_qpdpm_dscp_reg + \
        MLX5_BIT_OFF(qpdpm_dscp_reg, f), MLX5_BIT_SZ(qpdpm_dscp_reg, f)

START_TEST(dscp_to_priority)
{
    FakeDriver *d = t_running();
    PORT_REG(qpts_reg, trust);
    PORT_REG(qpdpm_reg, r);

    MLX5_SET(qpts_reg, trust, trust_state, 2);
    ck_assert(reg(d, WRITE, 0x4002, trust, sizeof(trust)));
    mlx5_prm_set(r, DSCP_OFF(46, e), 1);
    mlx5_prm_set(r, DSCP_OFF(46, prio), 3);
    mlx5_prm_set(r, DSCP_OFF(8, prio), 6); /* without e */
    ck_assert(reg(d, WRITE, 0x4013, r, sizeof(r)));
    ck_assert(reg(d, READ, 0x4013, r, sizeof(r)));
    ck_assert_uint_eq(mlx5_prm_get(r, DSCP_OFF(46, prio)), 3);
    ck_assert_uint_eq(mlx5_prm_get(r, DSCP_OFF(8, prio)), 1);
    ck_assert_uint_eq(mlx5_port_prio(d->host->func, -1, 46), 3);
    mlx5_prm_set(r, DSCP_OFF(63, e), 1);
    mlx5_prm_set(r, DSCP_OFF(63, prio), 8);
    REG_FAILS(d, WRITE, 0x4013, r, sizeof(r), MLX5_SYND_QPDPM_PRIO);
    MLX5_SET(qpdpm_reg, r, local_port, 9);
    REG_FAILS(d, READ, 0x4013, r, sizeof(r), MLX5_SYND_REG_PORT);
    t_free(d);
}
END_TEST

static uint8_t *tc_entry(uint8_t *r, unsigned i)
{
    return MLX5_ADDR_OF(qetc_reg, r, tc_configuration) +
           i * MLX5_ST_SZ_BYTES(ets_tcn_config_reg);
}

/* Each kind of value changes by its own bit. */
START_TEST(traffic_classes)
{
    FakeDriver *d = t_running();
    Mlx5Func *func = d->host->func;
    uint8_t q[MLX5_ST_SZ_BYTES(qtct_reg)] = { 0 };
    uint8_t r[MLX5_ST_SZ_BYTES(qetc_reg)] = { 0 }, *c = tc_entry(r, 2);

    MLX5_SET(qtct_reg, q, prio, 5);
    MLX5_SET(qtct_reg, q, tclass, 2);
    ck_assert(reg(d, WRITE, 0x400a, q, sizeof(q)));
    ck_assert_uint_eq(mlx5_port_tc(func, 5), 2);
    ck_assert_uint_eq(mlx5_port_tc(func, 4), 4);
    MLX5_SET(qtct_reg, q, port_number, 3);
    REG_FAILS(d, READ, 0x400a, q, sizeof(q), MLX5_SYND_REG_PORT);
    MLX5_SET(ets_tcn_config_reg, c, g, 1);
    MLX5_SET(ets_tcn_config_reg, c, group, 1);
    MLX5_SET(ets_tcn_config_reg, c, bw_allocation, 30); /* without b */
    ck_assert(reg(d, WRITE, 0x4005, r, sizeof(r)));
    memset(r, 0, sizeof(r));
    MLX5_SET(ets_tcn_config_reg, c, r, 1);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_units, 3);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_value, 7);
    ck_assert(reg(d, WRITE, 0x4005, r, sizeof(r)));
    memset(r, 0, sizeof(r));
    ck_assert(reg(d, READ, 0x4005, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(ets_tcn_config_reg, c, group), 1);
    ck_assert_uint_eq(MLX5_GET(ets_tcn_config_reg, c, bw_allocation), 100);
    ck_assert_uint_eq(mlx5_port_tc_kbps(func, 2), 700000);
    ck_assert_uint_eq(mlx5_port_tc_kbps(func, 1), 0);
    MLX5_SET(ets_tcn_config_reg, c, r, 1);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_units, 4);
    ck_assert(reg(d, WRITE, 0x4005, r, sizeof(r)));
    ck_assert_uint_eq(mlx5_port_tc_kbps(func, 2), 7000000);
    t_free(d);
}
END_TEST

START_TEST(traffic_class_limits)
{
    FakeDriver *d = t_running();
    uint8_t r[MLX5_ST_SZ_BYTES(qetc_reg)] = { 0 }, *c = tc_entry(r, 7);

    MLX5_SET(ets_tcn_config_reg, c, g, 1);
    MLX5_SET(ets_tcn_config_reg, c, group, 8);
    REG_FAILS(d, WRITE, 0x4005, r, sizeof(r), MLX5_SYND_QETCR_GROUP);
    MLX5_SET(ets_tcn_config_reg, c, group, 7);
    MLX5_SET(ets_tcn_config_reg, c, b, 1);
    MLX5_SET(ets_tcn_config_reg, c, bw_allocation, 101);
    REG_FAILS(d, WRITE, 0x4005, r, sizeof(r), MLX5_SYND_QETCR_SHARE);
    MLX5_SET(ets_tcn_config_reg, c, bw_allocation, 100);
    MLX5_SET(ets_tcn_config_reg, c, r, 1);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_units, 5);
    REG_FAILS(d, WRITE, 0x4005, r, sizeof(r), MLX5_SYND_QETCR_UNITS);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_units, 4);
    MLX5_SET(ets_global_config_reg,
             MLX5_ADDR_OF(qetc_reg, r, global_configuration), r, 1);
    REG_FAILS(d, WRITE, 0x4005, r, sizeof(r), MLX5_SYND_QETCR_GLOBAL);
    MLX5_SET(qetc_reg, r, port_number, 2);
    REG_FAILS(d, READ, 0x4005, r, sizeof(r), MLX5_SYND_REG_PORT);
    t_free(d);
}
END_TEST

#define PBMC_BYTES MLX5_ST_SZ_BYTES(pbmc_reg)
#define PBMC_AT(r, i) (MLX5_ADDR_OF(pbmc_reg, r, buffer) + \
                       (i) * MLX5_ST_SZ_BYTES(bufferx_reg))

START_TEST(priority_to_buffer)
{
    FakeDriver *d = t_running();
    Mlx5Func *func = d->host->func;
    uint8_t r[12] = { 0 };

    MLX5_SET(pptb_reg, r, local_port, 1);
    ck_assert(reg(d, READ, 0x500b, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pptb_reg, r, prio_x_buff), 0);
    MLX5_SET(pptb_reg, r, pm, 0x81);
    MLX5_SET(pptb_reg, r, prio_x_buff, 0x7ffffff2);
    ck_assert(reg(d, WRITE, 0x500b, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pptb_reg, r, prio_x_buff), 0x70000002);
    ck_assert_uint_eq(mlx5_port_buffer(func, 0), 2);
    ck_assert_uint_eq(mlx5_port_buffer(func, 1), 0);
    ck_assert_uint_eq(mlx5_port_buffer(func, 7), 7);
    MLX5_SET(pptb_reg, r, pm, 0xff);
    MLX5_SET(pptb_reg, r, prio_x_buff, 0x80000002);
    REG_FAILS(d, WRITE, 0x500b, r, sizeof(r), MLX5_SYND_PPTB_BUFFER);
    MLX5_SET(pptb_reg, r, prio_x_buff, 0);
    MLX5_SET(pptb_reg, r, um, 1);
    REG_FAILS(d, WRITE, 0x500b, r, sizeof(r), MLX5_SYND_PPTB_MASKS);
    ck_assert_uint_eq(mlx5_port_buffer(func, 7), 7);
    t_free(d);
}
END_TEST

START_TEST(buffer_sizes)
{
    FakeDriver *d = t_running();
    Mlx5Func *func = d->host->func;
    uint8_t r[PBMC_BYTES] = { 0 }, was[PBMC_BYTES];

    MLX5_SET(pbmc_reg, r, local_port, 1);
    ck_assert(reg(d, READ, 0x500c, r, sizeof(r)));
    ck_assert_uint_eq(MLX5_GET(pbmc_reg, r, port_buffer_size), 4096);
    ck_assert_uint_eq(MLX5_GET(bufferx_reg, PBMC_AT(r, 0), size), 2048);
    ck_assert_uint_eq(MLX5_GET(bufferx_reg, PBMC_AT(r, 0), lossy), 0);
    ck_assert_uint_eq(MLX5_GET(bufferx_reg, PBMC_AT(r, 1), lossy), 1);
    ck_assert_uint_eq(mlx5_port_buffer_bytes(func, 0), 256 * 1024);
    ck_assert_uint_eq(mlx5_port_buffer_bytes(func, 5), 0);
    memcpy(was, r, sizeof(r));
    MLX5_SET(bufferx_reg, PBMC_AT(r, 5), size, 2048);
    ck_assert(reg(d, WRITE, 0x500c, r, sizeof(r)));
    ck_assert_uint_eq(mlx5_port_buffer_bytes(func, 5), 256 * 1024);
    MLX5_SET(bufferx_reg, PBMC_AT(r, 6), size, 1);
    REG_FAILS(d, WRITE, 0x500c, r, sizeof(r), MLX5_SYND_PBMC_SIZE);
    ck_assert_uint_eq(mlx5_port_buffer_bytes(func, 6), 0);
    MLX5_SET(bufferx_reg, PBMC_AT(r, 6), xoff_threshold, 2);
    REG_FAILS(d, WRITE, 0x500c, r, sizeof(r), MLX5_SYND_PBMC_THRESHOLD);
    memcpy(r, was, sizeof(r));
    MLX5_SET(bufferx_reg, PBMC_AT(r, 0), xon_threshold, 1800);
    REG_FAILS(d, WRITE, 0x500c, r, sizeof(r), MLX5_SYND_PBMC_THRESHOLD);
    memcpy(r, was, sizeof(r));
    MLX5_SET(bufferx_reg, PBMC_AT(r, 9), size, 1);
    REG_FAILS(d, WRITE, 0x500c, r, sizeof(r), MLX5_SYND_PBMC_INTERNAL);
    t_free(d);
}
END_TEST

START_TEST(buffer_pools)
{
    FakeDriver *d = t_running();
    uint8_t c[MLX5_ST_SZ_BYTES(sbcam_reg)] = { 0 };
    uint8_t p[MLX5_ST_SZ_BYTES(sbpr_reg)] = { 0 };
    uint8_t m[MLX5_ST_SZ_BYTES(sbcm_reg)] = { 0 };

    ck_assert(reg(d, READ, 0xb01f, c, sizeof(c)));
    ck_assert_uint_eq(MLX5_GET(sbcam_reg, c, cap_cell_size), 128);
    /* SBPR, SBCM, SBCAM. */
    ck_assert_uint_eq(MLX5_ADDR_OF(sbcam_reg, c, sb_access_reg_cap_mask)[15],
                      6);
    MLX5_SET(sbcam_reg, c, feature_group, 1);
    REG_FAILS(d, READ, 0xb01f, c, sizeof(c), MLX5_SYND_SBCAM_GROUP);
    /* What the driver adds up is all that is no headroom. */
    MLX5_SET(sbpr_reg, p, pool, 1);
    ck_assert(reg(d, READ, 0xb001, p, sizeof(p)));
    ck_assert_uint_eq(MLX5_GET(sbpr_reg, p, size), 512);
    memset(p, 0, sizeof(p));
    MLX5_SET(sbpr_reg, p, dir, 1);
    ck_assert(reg(d, READ, 0xb001, p, sizeof(p)));
    ck_assert_uint_eq(MLX5_GET(sbpr_reg, p, size), 1536);
    MLX5_SET(sbpr_reg, p, size, 4096);
    MLX5_SET(sbpr_reg, p, infi_size, 1);
    ck_assert(reg(d, WRITE, 0xb001, p, sizeof(p)));
    ck_assert_uint_eq(MLX5_GET(sbpr_reg, p, size), 4096);
    ck_assert_uint_eq(MLX5_GET(sbpr_reg, p, infi_size), 1);
    MLX5_SET(sbpr_reg, p, size, 4097);
    REG_FAILS(d, WRITE, 0xb001, p, sizeof(p), MLX5_SYND_SBPR_SIZE);
    MLX5_SET(sbpr_reg, p, pool, 2);
    REG_FAILS(d, READ, 0xb001, p, sizeof(p), MLX5_SYND_SBPR_POOL);
    MLX5_SET(sbcm_reg, m, local_port, 1);
    MLX5_SET(sbcm_reg, m, pg_buff, 7);
    MLX5_SET(sbcm_reg, m, pool, 1);
    MLX5_SET(sbcm_reg, m, max_buff, 13);
    ck_assert(reg(d, WRITE, 0xb002, m, sizeof(m)));
    MLX5_SET(sbcm_reg, m, max_buff, 0);
    ck_assert(reg(d, READ, 0xb002, m, sizeof(m)));
    ck_assert_uint_eq(MLX5_GET(sbcm_reg, m, max_buff), 13);
    ck_assert_uint_eq(MLX5_GET(sbcm_reg, m, pool), 1);
    MLX5_SET(sbcm_reg, m, pool, 2);
    REG_FAILS(d, WRITE, 0xb002, m, sizeof(m), MLX5_SYND_SBCM_POOL);
    MLX5_SET(sbcm_reg, m, pg_buff, 8);
    REG_FAILS(d, READ, 0xb002, m, sizeof(m), MLX5_SYND_SBCM_BUFFER);
    t_free(d);
}
END_TEST

START_TEST(no_dcb)
{
    static const struct { uint16_t id, bytes; } regs[] = {
        { 0x4002, 8 }, { 0x4005, 80 }, { 0x400a, 8 }, { 0x4013, 132 },
        { 0x4019, 72 }, { 0x500b, 12 }, { 0x500c, 108 }, { 0xb001, 24 },
        { 0xb002, 40 }, { 0xb01f, 76 },
    };
    uint8_t p[MLX5_ST_SZ_BYTES(pcam_reg)] = { 0 };
    FakeDriver *d = t_running();
    uint8_t r[132] = { 0 };

    d->host->func->props.dcb = false;
    for (size_t i = 0; i < G_N_ELEMENTS(regs); i++) {
        r[1] = 1;
        REG_FAILS(d, READ, regs[i].id, r, regs[i].bytes, MLX5_SYND_DCB_OFF);
    }
    ck_assert(reg(d, READ, 0x507f, p, sizeof(p)));
    ck_assert_uint_eq(MLX5_GET(pcam_regs_5000_to_507f,
                               MLX5_ADDR_OF(pcam_reg, p, regs_5000_to_507f),
                               pbmc), 0);
    ck_assert_uint_eq(MLX5_GET(pcam_regs_5000_to_507f,
                               MLX5_ADDR_OF(pcam_reg, p, regs_5000_to_507f),
                               pptb), 0);
    t_free(d);
}
END_TEST

START_TEST(capability_masks)
{
    FakeDriver *d = t_running();
    uint8_t p[MLX5_ST_SZ_BYTES(pcam_reg)] = { 0 };
    uint8_t m[MLX5_ST_SZ_BYTES(mcam_reg)] = { 0 };
    uint8_t q[MLX5_ST_SZ_BYTES(qcam_reg)] = { 0 };
    const uint8_t *mask = MLX5_ADDR_OF(pcam_reg, p, regs_5000_to_507f);
    const uint8_t *qos = MLX5_ADDR_OF(qcam_reg, q, reg_cap);

    ck_assert(reg(d, READ, 0x507f, p, sizeof(p)));
    ck_assert_uint_eq(MLX5_GET(pcam_regs_5000_to_507f, mask, ppcnt), 1);
    ck_assert_uint_eq(MLX5_GET(pcam_regs_5000_to_507f, mask, pplm), 1);
    ck_assert_uint_eq(MLX5_GET(pcam_regs_5000_to_507f, mask, pbmc), 1);
    ck_assert_uint_eq(MLX5_GET(pcam_regs_5000_to_507f, mask, pptb), 1);
    ck_assert_uint_eq(MLX5_GET(pcam_enhanced_features,
                               MLX5_ADDR_OF(pcam_reg, p, enhanced_features),
                               rx_icrc_encapsulated_counter), 1);
    MLX5_SET(pcam_reg, p, access_reg_group, 1);
    REG_FAILS(d, READ, 0x507f, p, sizeof(p), MLX5_SYND_PCAM_GROUP);
    ck_assert(reg(d, READ, 0x4019, q, sizeof(q)));
    ck_assert_uint_eq(MLX5_GET(qcam_access_reg_cap_mask, qos, qpts), 1);
    ck_assert_uint_eq(MLX5_GET(qcam_access_reg_cap_mask, qos, qpdpm), 1);
    ck_assert_uint_eq(MLX5_GET(qcam_access_reg_cap_mask, qos, qdpm), 0);
    MLX5_SET(qcam_reg, q, feature_group, 1);
    REG_FAILS(d, READ, 0x4019, q, sizeof(q), MLX5_SYND_QCAM_GROUP);
    for (uint32_t g = 0; g < 4; g++) {
        MLX5_SET(mcam_reg, m, access_reg_group, g);
        ck_assert(reg(d, READ, 0x907f, m, sizeof(m)));
        ck_assert_uint_eq(MLX5_GET(mcam_reg, m, access_reg_group), g);
    }
    MLX5_SET(mcam_reg, m, access_reg_group, 4);
    REG_FAILS(d, READ, 0x907f, m, sizeof(m), MLX5_SYND_MCAM_GROUP);
    t_free(d);
}
END_TEST

START_TEST(components)
{
    FakeDriver *d = t_running();
    uint8_t m[MLX5_ST_SZ_BYTES(mcam_reg)] = { 0 };
    uint8_t s[MLX5_ST_SZ_BYTES(mcqs_reg)] = { 0 };
    uint8_t v[MLX5_ST_SZ_BYTES(mcqi_reg) +
              MLX5_ST_SZ_BYTES(mcqi_version)] = { 0 };
    const uint8_t *mask = MLX5_ADDR_OF(mcam_reg, m, access_regs);
    const uint8_t *version = v + MLX5_ST_SZ_BYTES(mcqi_reg);

    ck_assert(reg(d, READ, 0x907f, m, sizeof(m)));
    ck_assert_uint_eq(MLX5_GET(mcam_access_reg, mask, mcqs), 1);
    ck_assert_uint_eq(MLX5_GET(mcam_access_reg, mask, mcqi), 1);
    ck_assert_uint_eq(MLX5_GET(mcam_access_reg, mask, mcda), 0);
    ck_assert(reg(d, READ, 0x9060, s, sizeof(s)));
    ck_assert_uint_eq(MLX5_GET(mcqs_reg, s, identifier), 1);
    ck_assert_uint_eq(MLX5_GET(mcqs_reg, s, last_index_flag), 1);
    ck_assert_uint_eq(MLX5_GET(mcqs_reg, s, component_update_state), 0);
    MLX5_SET(mcqs_reg, s, component_index, 1);
    REG_FAILS(d, READ, 0x9060, s, sizeof(s), MLX5_SYND_MCQ_COMPONENT);
    MLX5_SET(mcqi_reg, v, info_type, 1);
    MLX5_SET(mcqi_reg, v, data_size, MLX5_ST_SZ_BYTES(mcqi_version));
    ck_assert(reg(d, READ, 0x9061, v, sizeof(v)));
    ck_assert_uint_eq(MLX5_GET(mcqi_version, version, version),
                      22u << 24 | 43 << 16 | 2026);
    ck_assert_str_eq((const char *)version + 32, "22.43.2026");
    MLX5_SET(mcqi_reg, v, offset, 1);
    REG_FAILS(d, READ, 0x9061, v, sizeof(v), MLX5_SYND_MCQI_RANGE);
    MLX5_SET(mcqi_reg, v, offset, 0);
    MLX5_SET(mcqi_reg, v, read_pending_component, 1);
    REG_FAILS(d, READ, 0x9061, v, sizeof(v), MLX5_SYND_MCQI_PENDING);
    MLX5_SET(mcqi_reg, v, info_type, 0);
    REG_FAILS(d, READ, 0x9061, v, sizeof(v), MLX5_SYND_MCQI_INFO);
    MLX5_SET(mcqi_reg, v, component_index, 7);
    REG_FAILS(d, READ, 0x9061, v, sizeof(v), MLX5_SYND_MCQ_COMPONENT);
    t_free(d);
}
END_TEST

T_MAIN("reg", general, node_desc, host_endianness, local_port, pmtu, ptys,
       fec, module, beacon,
       paos_and_link, ppcnt, pause_fcs_and_module, capability_masks,
       components, trust, dscp_to_priority, traffic_classes,
       traffic_class_limits, priority_to_buffer, buffer_sizes, buffer_pools,
       no_dcb)
