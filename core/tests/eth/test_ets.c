/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Priorities of frames, by VLAN tag and by DSCP, in the counters of the port;
 * the limit of a traffic class. At 100 Mbit/s a frame of 1000 bytes takes
 * 80 us; a burst of 4 ms, and the one after it, may go at once.
 */
#include "tests/eth/eth_helper.h"
#include "tests/obj/obj_helper.h"

#define LEN 1000u
#define FRAME_NS 80000
#define BURST 51u

enum { QPTS = 0x4002, QETCR = 0x4005, QTCT = 0x400a, QPDPM = 0x4013,
       PPCNT = 0x5008 };
enum { TRUST_DSCP = 2, UNITS_NONE = 0, UNITS_100_MBPS = 3 };

static Net n;

static void setup(void)
{
    n = net_new();
}

static void teardown(void)
{
    net_free(&n);
}

/* Access the register of @len bytes at @data; what it says comes back there. */
static void access_reg(uint16_t id, bool write, uint8_t *data, size_t len)
{
    uint8_t in[16 + 512] = { 0 }, out[sizeof(in)];

    ck_assert_uint_le(16 + len, sizeof(in));
    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, op_mod, !write);
    MLX5_SET(access_register_in, in, register_id, id);
    memcpy(in + 16, data, len);
    ck_assert(fake_driver_cmd(n.d, in, 16 + len, out, 16 + len));
    memcpy(data, out + 16, len);
}

static void limit(unsigned tc, uint8_t units, uint8_t value)
{
    uint8_t r[MLX5_ST_SZ_BYTES(qetc_reg)] = { 0 };
    uint8_t *c = MLX5_ADDR_OF(qetc_reg, r, tc_configuration) +
                 tc * MLX5_ST_SZ_BYTES(ets_tcn_config_reg);

    MLX5_SET(ets_tcn_config_reg, c, r, 1);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_units, units);
    MLX5_SET(ets_tcn_config_reg, c, max_bw_value, value);
    access_reg(QETCR, true, r, sizeof(r));
}

static void put_in_class(unsigned prio, unsigned tc)
{
    uint8_t r[MLX5_ST_SZ_BYTES(qtct_reg)] = { 0 };

    MLX5_SET(qtct_reg, r, prio, prio);
    MLX5_SET(qtct_reg, r, tclass, tc);
    access_reg(QTCT, true, r, sizeof(r));
}

static void post(NetQueue *q, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t wqe[64] = { 0 };

        net_ctrl(q, wqe, 0x0a, 3, i == count - 1 ? 2 : 0);
        net_data_seg(&n, wqe + 32, n.buf, LEN);
        net_post(&n, q, wqe, 64);
    }
    net_ring(&n, q);
}

/* The SQ's TIS has priority 0. */
START_TEST(limit_of_a_class)
{
    put_in_class(0, 1);
    limit(1, UNITS_100_MBPS, 1);
    limit(0, UNITS_100_MBPS, 1); /* not its class */
    fake_host_advance(n.h, 100000000);
    for (unsigned i = 0; i < 4; i++) {
        post(&n.sq, 16);
    }
    ck_assert_uint_eq(n.h->frames->len, BURST);
    fake_host_advance(n.h, FRAME_NS - 1);
    ck_assert_uint_eq(n.h->frames->len, BURST);
    fake_host_advance(n.h, 1);
    ck_assert_uint_eq(n.h->frames->len, BURST + 1);
    fake_host_advance(n.h, 3 * FRAME_NS);
    ck_assert_uint_eq(n.h->frames->len, BURST + 4);
    /* Ten times as fast; then in a class without a limit. */
    limit(1, UNITS_100_MBPS, 10);
    fake_host_advance(n.h, FRAME_NS);
    ck_assert_uint_eq(n.h->frames->len, BURST + 5);
    fake_host_advance(n.h, FRAME_NS / 10);
    ck_assert_uint_eq(n.h->frames->len, BURST + 6);
    put_in_class(0, 5);
    fake_host_advance(n.h, FRAME_NS / 10);
    ck_assert_uint_eq(n.h->frames->len, 64);
}
END_TEST

/* Two queues of one class have its limit together. */
START_TEST(limit_is_shared)
{
    NetQueue q = net_create_sq(&n);

    net_modify_sq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    limit(0, UNITS_100_MBPS, 1);
    fake_host_advance(n.h, 100000000);
    for (unsigned i = 0; i < 2; i++) {
        post(&n.sq, 16);
        post(&q, 16);
    }
    ck_assert_uint_eq(n.h->frames->len, BURST);
    fake_host_advance(n.h, 5 * FRAME_NS);
    ck_assert_uint_eq(n.h->frames->len, BURST + 5);
    limit(0, UNITS_NONE, 0);
    fake_host_advance(n.h, FRAME_NS);
    ck_assert_uint_eq(n.h->frames->len, 64);
    net_destroy_sq(&n, &q);
}
END_TEST

/* Flushed, nothing waits for its class. */
START_TEST(ends_while_waiting)
{
    limit(0, UNITS_100_MBPS, 1);
    fake_host_advance(n.h, 100000000);
    for (unsigned i = 0; i < 4; i++) {
        post(&n.sq, 16);
    }
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_ERR);
    fake_host_advance(n.h, 100 * FRAME_NS);
    ck_assert_uint_eq(n.h->frames->len, BURST);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_ERR, MLX5_WQ_STATE_RST);
    net_destroy_sq(&n, &n.sq);
    fake_host_advance(n.h, 100 * FRAME_NS);
}
END_TEST

/* Frames of a priority that the port counted. */
static uint64_t counted(unsigned prio, bool tx)
{
    uint8_t r[MLX5_ST_SZ_BYTES(ppcnt_reg)] = { 0 };
    const uint8_t *set = MLX5_ADDR_OF(ppcnt_reg, r, counter_set);

    MLX5_SET(ppcnt_reg, r, local_port, 1);
    MLX5_SET(ppcnt_reg, r, grp, 0x10);
    MLX5_SET(ppcnt_reg, r, prio_tc, prio);
    access_reg(PPCNT, false, r, sizeof(r));
    return tx ? MLX5_GET(eth_per_prio_grp_data_layout, set, tx_frames_low)
              : MLX5_GET(eth_per_prio_grp_data_layout, set, rx_frames_low);
}

static void trust_dscp(unsigned dscp, unsigned prio)
{
    uint8_t t[MLX5_ST_SZ_BYTES(qpts_reg)] = { 0 };
    uint8_t r[MLX5_ST_SZ_BYTES(qpdpm_reg)] = { 0 };
    uint32_t at = MLX5_BIT_OFF(qpdpm_reg, dscp) +
                  dscp * MLX5_BITS_qpdpm_dscp_reg;

    MLX5_SET(qpts_reg, t, local_port, 1);
    MLX5_SET(qpts_reg, t, trust_state, TRUST_DSCP);
    access_reg(QPTS, true, t, sizeof(t));
    MLX5_SET(qpdpm_reg, r, local_port, 1);
    mlx5_prm_set(r, at + MLX5_BIT_OFF(qpdpm_dscp_reg, e), 1, 1);
    mlx5_prm_set(r, at + MLX5_BIT_OFF(qpdpm_dscp_reg, prio), 4, prio);
    access_reg(QPDPM, true, r, sizeof(r));
}

/* The DSCP goes into the first two bytes of the IP header. */
static void receive(int ip, int vlan, unsigned dscp)
{
    NetFrame f = net_make_frame(ip, 17, vlan, 100);
    uint8_t *l3 = f.b + net_l3(f.b);
    struct iovec iov = { f.b, f.len };

    mlx5_put_be16(l3, mlx5_get_be16(l3) | dscp << (ip == 4 ? 2 : 6));
    net_rx(&n, iov.iov_base, iov.iov_len);
}

START_TEST(priority_of_what_comes)
{
    static const struct { int ip, vlan; unsigned dscp, pcp_prio, dscp_prio; }
    kinds[] = {
        { 4, -1, 0, 0, 0 }, { 4, 0x6001, 46, 3, 2 }, { 6, 0xe001, 46, 7, 2 },
        { 4, -1, 46, 0, 2 }, { 6, -1, 46, 0, 2 }, { 4, 0x2001, 63, 1, 7 },
    };
    uint64_t want[2][8] = { { 0 } };

    for (unsigned trusts = 0; trusts < 2; trusts++) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
            unsigned prio = trusts ? kinds[i].dscp_prio : kinds[i].pcp_prio;

            want[trusts][prio]++;
            receive(kinds[i].ip, kinds[i].vlan, kinds[i].dscp);
        }
        for (unsigned prio = 0; prio < 8; prio++) {
            ck_assert_uint_eq(counted(prio, false), want[0][prio] +
                                                    want[1][prio]);
        }
        trust_dscp(46, 2);
    }
}
END_TEST

/* No IP, and frames that end before what they say: priority 0. */
START_TEST(priority_of_the_odd)
{
    uint8_t f[60] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56, 2, 0, 0, 0, 0, 1 };

    trust_dscp(63, 6);
    memset(f + 14, 0xff, sizeof(f) - 14);
    for (size_t len = 14; len < 20; len++) {
        mlx5_put_be16(f + 12, len & 1 ? 0x8100 : 0x88a8);
        net_rx(&n, f, len);
        mlx5_put_be16(f + 12, 0x1234);
        net_rx(&n, f, len);
    }
    ck_assert_uint_eq(counted(0, false), 12);
    /* An IP header that is whole has a DSCP. */
    mlx5_put_be16(f + 12, 0x0800);
    f[14] = 0x45;
    net_rx(&n, f, 33);
    ck_assert_uint_eq(counted(6, false), 0);
    net_rx(&n, f, 34);
    ck_assert_uint_eq(counted(6, false), 1);
}
END_TEST

START_TEST(priority_of_what_goes)
{
    static const uint8_t frame[LEN] = {
        0x52, 0x54, 0, 1, 2, 3, [12] = 0x81, 0x00, 0xa0, 0x01, 0x88, 0xb5 };

    fake_mem_write(n.h, n.buf, frame, sizeof(frame));
    post(&n.sq, 3);
    ck_assert_uint_eq(counted(5, true), 3);
    ck_assert_uint_eq(counted(0, true), 0);
    ck_assert_uint_eq(counted(5, false), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth ets");
    TCase *tc = tcase_create("eth ets");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, limit_of_a_class);
    tcase_add_test(tc, limit_is_shared);
    tcase_add_test(tc, ends_while_waiting);
    tcase_add_test(tc, priority_of_what_comes);
    tcase_add_test(tc, priority_of_the_odd);
    tcase_add_test(tc, priority_of_what_goes);
    return t_main(s);
}
