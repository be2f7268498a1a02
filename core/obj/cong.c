/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reaction point; see cong.h.
 *
 *   alpha   how congested: decays by g each dce_tcp_rtt, grows with a CNP
 *   cut     rate *= 1 - alpha / 2^rpg_gd, target = the rate before
 *   round   each rpg_time_reset and each rpg_byte_reset bytes:
 *             while no counter is past rpg_threshold  target stays
 *             one is                                  target += ai
 *             both are                                target += hai * rounds
 *           and rate = (rate + target) / 2
 *   over    the rate is the port's, or rpg_max_rate
 */
#include "obj/cong.h"

#include "fw/port.h"
#include "obj/qp_internal.h"

#define ALPHA_SHIFT 26       /* 1 in alpha's fixed point ... */
#define ALPHA_UNIT_SHIFT 16  /* ... and a 1024th */
/* unknown: units of rpg_byte_reset; what is written of it says 64 bytes. */
#define BYTE_RESET_UNIT 64

static uint64_t kbps(uint32_t mbps)
{
    return mbps * UINT64_C(1000);
}

/* Who reaches that is slowed no more. */
static uint64_t full_rate(Mlx5Func *func)
{
    uint32_t port = mlx5_port_mbps(func);
    uint32_t max = func->cong->params.rpg_max_rate;

    return kbps(max ? MIN(max, port) : port);
}

static void set_rate(Mlx5CongFlow *f, uint64_t rate)
{
    Mlx5Func *func = f->qp->o.func;

    f->rate = MAX(rate, kbps(func->cong->params.rpg_min_rate));
    f->target = MAX(f->target, f->rate);
    if (f->rate >= full_rate(func)) {
        f->over = true;
        f->limit.kbps = 0;
        /* Its queue pair may be in the midst of sending. */
        mlx5_work_schedule(func, &func->cong->work);
        return;
    }
    f->limit.kbps = f->rate;
}

/* --- alpha --- */

/* @x times (@g / 1024)^@n. */
static uint64_t decay(uint64_t x, uint32_t g, uint64_t n)
{
    uint64_t factor = (uint64_t)g << ALPHA_UNIT_SHIFT;

    for (; n && x; n >>= 1) {
        if (n & 1) {
            x = x * factor >> ALPHA_SHIFT;
        }
        factor = factor * factor >> ALPHA_SHIFT;
    }
    return x;
}

static void age_alpha(Mlx5CongFlow *f, int64_t now)
{
    const Mlx5CongParams *p = &f->qp->o.func->cong->params;
    int64_t period = p->dce_tcp_rtt * INT64_C(1000);
    int64_t n = (now - f->alpha_ns) / period;

    if (n <= 0) {
        return;
    }
    if (f->noticed) {
        f->alpha = decay(f->alpha, p->dce_tcp_g, 1) +
                   ((uint64_t)(1024 - p->dce_tcp_g) << ALPHA_UNIT_SHIFT);
        f->noticed = false;
        f->alpha = decay(f->alpha, p->dce_tcp_g, n - 1);
    } else {
        f->alpha = decay(f->alpha, p->dce_tcp_g, n);
    }
    f->alpha_ns += n * period;
}

/* --- recovering --- */

/* What a round adds to the target. */
static uint64_t increase(const Mlx5CongFlow *f)
{
    const Mlx5CongParams *p = &f->qp->o.func->cong->params;
    uint32_t most = MAX(f->time_rounds, f->byte_rounds);
    uint32_t least = MIN(f->time_rounds, f->byte_rounds);

    if (least > p->rpg_threshold) {
        return kbps(p->rpg_hai_rate) * (least - p->rpg_threshold);
    }
    return most > p->rpg_threshold ? kbps(p->rpg_ai_rate) : 0;
}

static void recover_once(Mlx5CongFlow *f)
{
    f->target = MIN(f->target + increase(f), full_rate(f->qp->o.func));
    set_rate(f, (f->rate + f->target + 1) / 2);
}

/* Rounds after which how far the rate is behind the target does not depend any
 * more on how far it was: a rate in kbit/s has fewer bits. */
#define SETTLED 64

/*
 * Of a long time, all rounds but the last ones at once: when no counter can
 * change any more what a round adds, target and rate grow side by side.
 */
static void skip_rounds(Mlx5CongFlow *f, int64_t now, int64_t round)
{
    const Mlx5CongParams *p = &f->qp->o.func->cong->params;
    uint64_t full = full_rate(f->qp->o.func);
    int64_t n = (now - f->time_ns) / round - SETTLED;
    uint64_t each;

    if (n <= 0 || f->target >= full ||
        f->time_rounds <= MAX(p->rpg_threshold, f->byte_rounds)) {
        return;
    }
    each = increase(f);
    n = MIN((uint64_t)n, (full - f->target - 1) / each);
    f->time_ns += n * round;
    f->time_rounds += n;
    f->target += n * each;
    set_rate(f, f->rate + n * each);
}

/*
 * Bounded, however long it was: with both counters past rpg_threshold the target
 * is the port's speed in some hundred rounds, else rounds are skipped; and then
 * the rate is, in as many as it has bits.
 */
static void recover_by_time(Mlx5CongFlow *f, int64_t now)
{
    int64_t round = f->qp->o.func->cong->params.rpg_time_reset * INT64_C(1000);

    while (!f->over && now - f->time_ns >= round) {
        skip_rounds(f, now, round);
        f->time_ns += round;
        f->time_rounds++;
        recover_once(f);
    }
}

static void recover_by_bytes(Mlx5CongFlow *f)
{
    uint64_t round = (uint64_t)f->qp->o.func->cong->params.rpg_byte_reset *
                     BYTE_RESET_UNIT;

    while (!f->over && f->bytes >= round) {
        f->bytes -= round;
        f->byte_rounds++;
        recover_once(f);
    }
}

bool mlx5_cong_may(Mlx5CongFlow *f, int64_t now)
{
    recover_by_time(f, now);
    return !f->limit.kbps || f->limit.ready_ns <= now;
}

void mlx5_cong_charge(Mlx5CongFlow *f, int64_t now, uint64_t bytes)
{
    mlx5_bucket_use(&f->limit, now, bytes);
    f->bytes += bytes;
    recover_by_bytes(f);
}

/* --- slowing --- */

/* Rounds are counted from @now on. */
static void restart(Mlx5CongFlow *f, int64_t now)
{
    f->cut_ns = f->time_ns = now;
    f->bytes = 0;
    f->time_rounds = f->byte_rounds = 0;
}

static void cut(Mlx5CongFlow *f, int64_t now)
{
    const Mlx5CongParams *p = &f->qp->o.func->cong->params;
    uint64_t less = f->rate * f->alpha >> (ALPHA_UNIT_SHIFT + p->rpg_gd);
    uint64_t floor = f->rate * p->rpg_min_dec_fac / 100;

    if (p->clamp_tgt_rate || f->byte_rounds ||
        (f->time_rounds && p->clamp_tgt_rate_after_time_inc)) {
        f->target = f->rate;
    }
    restart(f, now);
    set_rate(f, MAX(f->rate - MIN(less, f->rate), floor));
}

/* The first CNP, or the first since it had recovered. */
static void begin(Mlx5CongFlow *f, int64_t now)
{
    Mlx5Func *func = f->qp->o.func;
    uint32_t first = func->cong->params.rate_to_set_on_first_cnp;

    f->over = f->noticed = false;
    f->limit = (Mlx5Bucket){ .burst_ns = MLX5_PACE_BURST_NS };
    f->alpha = (uint64_t)func->cong->params.initial_alpha_value
               << ALPHA_UNIT_SHIFT;
    f->alpha_ns = now;
    f->rate = f->target = first ? kbps(first) : full_rate(func);
    if (first) {
        restart(f, now);
        set_rate(f, f->rate);
    } else {
        cut(f, now);
    }
}

static void start(Mlx5Qp *qp, int64_t now)
{
    Mlx5Cong *c = qp->o.func->cong;
    Mlx5CongFlow *f = g_new0(Mlx5CongFlow, 1);

    f->qp = qp;
    f->in_all.data = f;
    g_queue_push_tail_link(&c->flows, &f->in_all);
    qp->cong = f;
    begin(f, now);
    mlx5_qp_pace_cong(qp);
}

static void slow_more(Mlx5CongFlow *f, int64_t now)
{
    int64_t period =
        f->qp->o.func->cong->params.rate_reduce_monitor_period * INT64_C(1000);

    recover_by_time(f, now);
    if (f->over) {
        begin(f, now);
        return;
    }
    age_alpha(f, now);
    f->noticed = true;
    if (now - f->cut_ns >= period) {
        cut(f, now);
    }
}

void mlx5_cong_slow(Mlx5Qp *qp)
{
    int64_t now = mlx5_clock_ns(qp->o.func);

    qp->o.func->cong->rp_cnp_handled++;
    if (qp->cong) {
        slow_more(qp->cong, now);
    } else {
        start(qp, now);
    }
}

void mlx5_cong_forget(Mlx5Qp *qp)
{
    Mlx5CongFlow *f = qp->cong;

    if (f) {
        g_queue_unlink(&qp->o.func->cong->flows, &f->in_all);
        qp->cong = NULL;
        mlx5_qp_pace_cong(qp);
        g_free(f);
    }
}

/* Free those that are over. */
static bool run(void *opaque, Mlx5Budget *budget)
{
    Mlx5Func *func = opaque;
    GList *next;

    for (GList *l = func->cong->flows.head; l; l = next) {
        Mlx5CongFlow *f = l->data;

        next = l->next;
        if (f->over) {
            mlx5_cong_forget(f->qp);
        }
    }
    mlx5_budget_spend(budget, 0);
    return false;
}

uint32_t mlx5_cong_num_flows(Mlx5Func *func)
{
    int64_t now = mlx5_clock_ns(func);
    uint32_t n = 0;

    for (GList *l = func->cong->flows.head; l; l = l->next) {
        Mlx5CongFlow *f = l->data;

        recover_by_time(f, now);
        n += !f->over;
    }
    return n;
}

/* --- the function --- */

/* ROCE_CC_PRIO_MASK, which firmware comes with: all priorities. */
static void preset_all(Mlx5Func *func)
{
    Mlx5Cong *c = func->cong;
    uint8_t on = func->props.congestion ? 0xff : 0;

#define RP(bit, field, preset, least, most) c->params.field = preset;
#define NP(bit, field, preset, least, most) c->params.field = preset;
#include "obj/cong_params.def"
    c->enabled[MLX5_CONG_RP] = c->enabled[MLX5_CONG_NP] = on;
    mlx5_paths_changed(func);
    c->rp_cnp_handled = c->rp_cnp_ignored = 0;
    c->np_ecn_marked_roce_packets = c->np_cnp_sent = 0;
}

void mlx5_cong_new(Mlx5Func *func)
{
    func->cong = g_new0(Mlx5Cong, 1);
    mlx5_work_init(&func->cong->work, run, func);
    preset_all(func);
}

void mlx5_cong_reset(Mlx5Func *func)
{
    /* Queue pairs are gone by now. */
    g_assert(!func->cong->flows.length);
    mlx5_work_cancel(func, &func->cong->work);
    preset_all(func);
}

void mlx5_cong_free(Mlx5Func *func)
{
    g_assert(!func->cong->flows.length);
    mlx5_work_cancel(func, &func->cong->work);
    g_clear_pointer(&func->cong, g_free);
}
