/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The real-time clock: register MTUTC, the words of the init segment, and the
 * time stamps of queues that ask for them (PRM: Real-Time Clock; driver:
 * lib/clock.c).
 *
 * It begins at the host's time of day and then runs on the card's own clock,
 * so that what the driver sets and adjusts stays as it was set. Only with
 * property rtc; without it drivers keep time from the free running counter.
 */
#include "fw/fw_internal.h"

/* mtutc_reg.operation (driver: MLX5_MTUTC_OPERATION_*). */
enum {
    OP_NONE = 0,             /* of a read */
    OP_SET_TIME = 1,
    OP_ADJUST_TIME = 2,
    OP_ADJUST_FREQ = 3,
};

/* mtutc_reg.freq_adj_units */
enum {
    UNITS_PPB = 0,
    UNITS_SCALED_PPM = 1,    /* 2^-16 ppm */
};

#define NS_PER_S INT64_C(1000000000)
/* What the driver then takes for its limit, in ppb. */
#define LOG_MAX_FREQ_ADJUSTMENT 25
/* Beyond this it sets the time (MLX5_MTUTC_OPERATION_ADJUST_TIME_EXTENDED). */
#define MAX_TIME_ADJUSTMENT 200000
/* Units of Mlx5Rtc.adjust in one: 10^6 * 2^16 */
#define ADJUST_ONE (INT64_C(1000000) << 16)

/* Start from the host's clock, if nothing was read or set yet. */
static void start(Mlx5Func *func)
{
    Mlx5Rtc *rtc = &func->fw->rtc;

    if (!rtc->running) {
        rtc->running = true;
        rtc->base_ns = mlx5_clock_ns(func);
        rtc->time_ns = func->ops->realtime_ns(func->host);
    }
}

int64_t mlx5_rtc_ns(Mlx5Func *func)
{
    const Mlx5Rtc *rtc = &func->fw->rtc;
    int64_t passed;

    start(func);
    passed = mlx5_clock_ns(func) - rtc->base_ns;
    /* In 128 bits: it may run for centuries at any adjustment. */
    return rtc->time_ns + passed +
           (int64_t)((__int128)passed * rtc->adjust / ADJUST_ONE);
}

uint64_t mlx5_fw_real_time(Mlx5Func *func)
{
    uint64_t ns = mlx5_rtc_ns(func);

    return ns / NS_PER_S << 32 | ns % NS_PER_S;
}

static void set_time(Mlx5Func *func, int64_t time_ns)
{
    func->fw->rtc.running = true;
    func->fw->rtc.base_ns = mlx5_clock_ns(func);
    func->fw->rtc.time_ns = time_ns;
}

static uint32_t do_set_time(Mlx5Func *func, const uint8_t *in)
{
    uint64_t sec = MLX5_GET(mtutc_reg, in, utc_sec);
    uint32_t nsec = MLX5_GET(mtutc_reg, in, utc_nsec);

    if (nsec >= NS_PER_S) {
        return MLX5_SYND_MTUTC_NSEC;
    }
    set_time(func, sec * NS_PER_S + nsec);
    return 0;
}

static uint32_t do_adjust_time(Mlx5Func *func, const uint8_t *in)
{
    int32_t by = MLX5_GET(mtutc_reg, in, time_adjustment);

    if (by > MAX_TIME_ADJUSTMENT || by < -MAX_TIME_ADJUSTMENT) {
        return MLX5_SYND_MTUTC_TIME_ADJUSTMENT;
    }
    set_time(func, mlx5_rtc_ns(func) + by);
    return 0;
}

static uint32_t do_adjust_freq(Mlx5Func *func, const uint8_t *in)
{
    uint32_t units = MLX5_GET(mtutc_reg, in, freq_adj_units);
    int64_t by = (int32_t)MLX5_GET(mtutc_reg, in, freq_adjustment);
    int64_t max = (ADJUST_ONE << LOG_MAX_FREQ_ADJUSTMENT) / NS_PER_S;

    if (units > UNITS_SCALED_PPM) {
        return MLX5_SYND_MTUTC_UNITS;
    }
    if (units == UNITS_PPB) {
        by = by * (1 << 16) / 1000;
    }
    if (by > max || by < -max) {
        return MLX5_SYND_MTUTC_FREQ_ADJUSTMENT;
    }
    /* From now on: what passed until here counts as it was. */
    set_time(func, mlx5_rtc_ns(func));
    func->fw->rtc.adjust = by;
    return 0;
}

static uint32_t do_nothing(Mlx5Func *func, const uint8_t *in)
{
    (void)func;
    (void)in;
    return MLX5_SYND_MTUTC_OPERATION;
}

static uint32_t write_mtutc(Mlx5Func *func, const uint8_t *in)
{
    static uint32_t (*const row[])(Mlx5Func *, const uint8_t *) = {
        [OP_NONE] = do_nothing,
        [OP_SET_TIME] = do_set_time,
        [OP_ADJUST_TIME] = do_adjust_time,
        [OP_ADJUST_FREQ] = do_adjust_freq,
    };
    uint32_t op = MLX5_GET(mtutc_reg, in, operation);

    return op < G_N_ELEMENTS(row) ? row[op](func, in)
                                  : MLX5_SYND_MTUTC_OPERATION;
}

void mlx5_reg_mtutc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t bad = 0;
    uint64_t now;

    if (!func->props.rtc) {
        bad = MLX5_SYND_MTUTC_OFF;
    } else if (acc->write) {
        bad = write_mtutc(func, acc->in);
    }
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    now = mlx5_fw_real_time(func);
    MLX5_SET(mtutc_reg, acc->out, log_max_freq_adjustment,
             LOG_MAX_FREQ_ADJUSTMENT);
    MLX5_SET(mtutc_reg, acc->out, freq_adj_units, UNITS_SCALED_PPM);
    MLX5_SET(mtutc_reg, acc->out, freq_adjustment, func->fw->rtc.adjust);
    MLX5_SET(mtutc_reg, acc->out, utc_sec, now >> 32);
    MLX5_SET(mtutc_reg, acc->out, utc_nsec, (uint32_t)now);
}

void mlx5_rtc_reset(Mlx5Func *func)
{
    memset(&func->fw->rtc, 0, sizeof(func->fw->rtc));
}
