/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The real-time clock: setting, adjusting, where it shows, and that it is only
 * there when asked for.
 */
#include "tests/fw/fw_helper.h"

#define MTUTC 0x9055
#define S UINT64_C(1000000000)

enum { WRITE = 0, READ = 1 };

static FakeDriver *with_rtc(bool rtc)
{
    Mlx5FuncProps props;
    FakeDriver *d;

    mlx5_func_props_default(&props);
    props.rtc = rtc;
    d = fake_driver_new(fake_host_new(&props));
    fake_driver_init_hca(d);
    return d;
}

static bool mtutc(FakeDriver *d, uint32_t op, uint8_t *reg)
{
    uint8_t in[16 + MLX5_ST_SZ_BYTES(mtutc_reg)] = { 0 }, out[sizeof(in)];
    bool ok;

    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, op_mod, op);
    MLX5_SET(access_register_in, in, register_id, MTUTC);
    memcpy(in + 16, reg, MLX5_ST_SZ_BYTES(mtutc_reg));
    ok = fake_driver_cmd(d, in, sizeof(in), out, sizeof(out));
    if (ok) {
        memcpy(reg, out + 16, MLX5_ST_SZ_BYTES(mtutc_reg));
    }
    return ok;
}

#define REG(r) uint8_t r[MLX5_ST_SZ_BYTES(mtutc_reg)] = { 0 }

static void set_time(FakeDriver *d, uint32_t sec, uint32_t nsec)
{
    REG(r);

    MLX5_SET(mtutc_reg, r, operation, 1);
    MLX5_SET(mtutc_reg, r, utc_sec, sec);
    MLX5_SET(mtutc_reg, r, utc_nsec, nsec);
    ck_assert(mtutc(d, WRITE, r));
}

static uint64_t now(FakeDriver *d)
{
    uint64_t sec = mlx5_func_bar_read(d->host->func, 0x1040, 4);

    return sec * S + mlx5_func_bar_read(d->host->func, 0x1044, 4);
}

static void refused(FakeDriver *d, uint8_t *r, uint32_t synd)
{
    ck_assert(!mtutc(d, WRITE, r));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_PARAM_ERR);
    ck_assert_uint_eq(d->syndrome, synd);
}

START_TEST(begins_at_the_hosts_time)
{
    FakeDriver *d = with_rtc(true);
    FakeHost *h = d->host;

    ck_assert_uint_eq(now(d), h->func->ops->realtime_ns(h->func->host));
    t_free(d);
}
END_TEST

START_TEST(set_and_run)
{
    FakeDriver *d = with_rtc(true);
    REG(r);

    set_time(d, 1700000000, 999999990);
    ck_assert_uint_eq(now(d), 1700000000 * S + 999999990);
    fake_host_advance(d->host, 25);
    ck_assert_uint_eq(now(d), 1700000001 * S + 15);
    ck_assert(mtutc(d, READ, r));
    ck_assert_uint_eq(MLX5_GET(mtutc_reg, r, utc_sec), 1700000001);
    ck_assert_uint_eq(MLX5_GET(mtutc_reg, r, utc_nsec), 15);
    ck_assert_uint_gt(MLX5_GET(mtutc_reg, r, log_max_freq_adjustment), 0);
    ck_assert_uint_eq(mlx5_fw_real_time(d->host->func),
                      UINT64_C(1700000001) << 32 | 15);
    t_free(d);
}
END_TEST

START_TEST(adjust_time)
{
    FakeDriver *d = with_rtc(true);
    REG(r);

    set_time(d, 100, 0);
    MLX5_SET(mtutc_reg, r, operation, 2);
    MLX5_SET(mtutc_reg, r, time_adjustment, (uint32_t)-200000);
    ck_assert(mtutc(d, WRITE, r));
    ck_assert_uint_eq(now(d), 100 * S - 200000);
    memset(r, 0, sizeof(r));
    MLX5_SET(mtutc_reg, r, operation, 2);
    MLX5_SET(mtutc_reg, r, time_adjustment, 1000);
    ck_assert(mtutc(d, WRITE, r));
    ck_assert_uint_eq(now(d), 100 * S - 199000);
    t_free(d);
}
END_TEST

static void adjust_freq(FakeDriver *d, uint32_t units, int32_t by)
{
    REG(r);

    MLX5_SET(mtutc_reg, r, operation, 3);
    MLX5_SET(mtutc_reg, r, freq_adj_units, units);
    MLX5_SET(mtutc_reg, r, freq_adjustment, (uint32_t)by);
    ck_assert(mtutc(d, WRITE, r));
}

/* A new frequency changes what is to come, not what has passed. */
START_TEST(adjust_frequency)
{
    FakeDriver *d = with_rtc(true);

    set_time(d, 100, 0);
    adjust_freq(d, 1, 10 << 16);            /* 10 ppm faster */
    fake_host_advance(d->host, 2 * S);
    ck_assert_uint_eq(now(d), 102 * S + 20000);
    adjust_freq(d, 0, -1000);               /* 1 ppm slower */
    ck_assert_uint_eq(now(d), 102 * S + 20000);
    fake_host_advance(d->host, S);
    ck_assert_uint_eq(now(d), 103 * S + 19000);
    adjust_freq(d, 0, 0);
    fake_host_advance(d->host, S);
    ck_assert_uint_eq(now(d), 104 * S + 19000);
    t_free(d);
}
END_TEST

START_TEST(refuses)
{
    FakeDriver *d = with_rtc(true);
    static const struct {
        uint32_t operation, nsec, units, synd;
        int32_t time, freq;
    } rows[] = {
        { 0, 0, 0, MLX5_SYND_MTUTC_OPERATION, 0, 0 },
        { 4, 0, 0, MLX5_SYND_MTUTC_OPERATION, 0, 0 },
        { 1, 1000000000, 0, MLX5_SYND_MTUTC_NSEC, 0, 0 },
        { 2, 0, 0, MLX5_SYND_MTUTC_TIME_ADJUSTMENT, 200001, 0 },
        { 2, 0, 0, MLX5_SYND_MTUTC_TIME_ADJUSTMENT, -200001, 0 },
        { 3, 0, 2, MLX5_SYND_MTUTC_UNITS, 0, 0 },
        { 3, 0, 0, MLX5_SYND_MTUTC_FREQ_ADJUSTMENT, 0, (1 << 25) + 1 },
        { 3, 0, 0, MLX5_SYND_MTUTC_FREQ_ADJUSTMENT, 0, INT32_MIN },
    };

    set_time(d, 100, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        REG(r);

        MLX5_SET(mtutc_reg, r, operation, rows[i].operation);
        MLX5_SET(mtutc_reg, r, utc_nsec, rows[i].nsec);
        MLX5_SET(mtutc_reg, r, freq_adj_units, rows[i].units);
        MLX5_SET(mtutc_reg, r, time_adjustment, (uint32_t)rows[i].time);
        MLX5_SET(mtutc_reg, r, freq_adjustment, (uint32_t)rows[i].freq);
        refused(d, r, rows[i].synd);
    }
    ck_assert_uint_eq(now(d), 100 * S);
    t_free(d);
}
END_TEST

START_TEST(reset_forgets)
{
    FakeDriver *d = with_rtc(true);
    FakeHost *h = d->host;

    set_time(d, 100, 0);
    mlx5_func_reset(h->func);
    ck_assert_uint_eq(now(d), h->func->ops->realtime_ns(h->func->host));
    t_free(d);
}
END_TEST

/* By default there is none, and no queue may ask for its time. */
START_TEST(off)
{
    FakeDriver *d = with_rtc(false);
    Mlx5Func *func = d->host->func;
    REG(r);

    refused(d, r, MLX5_SYND_MTUTC_OFF);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(func, sq_ts_format), 0);
    ck_assert(!mlx5_fw_ts_format_ok(func, MLX5_TS_REAL_TIME));
    ck_assert(mlx5_fw_ts_format_ok(func, MLX5_TS_DEFAULT));
    t_free(d);
    d = with_rtc(true);
    func = d->host->func;
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(func, sq_ts_format), 2);
    ck_assert(mlx5_fw_ts_format_ok(func, MLX5_TS_REAL_TIME));
    ck_assert(!mlx5_fw_ts_format_ok(func, 3));
    t_free(d);
}
END_TEST

T_MAIN("rtc", begins_at_the_hosts_time, set_and_run, adjust_time,
       adjust_frequency, refuses, reset_forgets, off)
