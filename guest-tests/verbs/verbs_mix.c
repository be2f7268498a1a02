/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All transports at once, while objects come and go, every byte compared.
 *
 *   verbs_mix [-d DEVICE] [-g GID_INDEX] [-s SEED] [-t SECONDS] [KIND...]
 *
 * DURATION in the environment says the seconds, too; 60 without either.
 */
#define _GNU_SOURCE
#include "mix.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRAFFIC mix_traffic_begin, mix_traffic_round, mix_traffic_end

static const struct mix_kind kinds[] = {
    { "rc", TRAFFIC, MIX_RC },
    { "uc", TRAFFIC, MIX_UC },
    { "ud", TRAFFIC, MIX_UD },
    { "srq", TRAFFIC, MIX_SRQ },
    { "events", TRAFFIC, MIX_EVENTS },
    { "odp", TRAFFIC, MIX_ODP },
    { "xrc", mix_xrc_begin, mix_xrc_round, mix_xrc_end, 0 },
    { "dc", mix_dc_begin, mix_dc_round, mix_dc_end, 0 },
    { "atomics", NULL, mix_atomic_round, NULL, 0 },
    { "mr-churn", NULL, mix_mr_round, NULL, 0 },
    { "mw-churn", mix_mw_begin, mix_mw_round, mix_mw_end, 0 },
    { "qp-churn", NULL, mix_qp_round, NULL, 0 },
    { "cq-churn", NULL, mix_cq_round, NULL, 0 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

bool mix_fail(struct mix_worker *w, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(w->why, sizeof(w->why), fmt, ap);
    va_end(ap);
    return false;
}

bool mix_wait(struct mix_worker *w, struct ibv_cq *cq, struct ibv_wc *wc)
{
    int64_t end = rig_now_ms() + RIG_WAIT_MS;
    int n;

    for (unsigned spins = 0; (n = ibv_poll_cq(cq, 1, wc)) == 0; spins++) {
        sched_yield();
        if (spins % 64 == 63 && rig_now_ms() > end) {
            return mix_fail(w, "no completion within %d ms", RIG_WAIT_MS);
        }
    }
    if (n < 0) {
        return mix_fail(w, "ibv_poll_cq: %d", n);
    }
    if (wc->status) {
        return mix_fail(w, "message %lu: %s, vendor code %#x",
                        (unsigned long)w->messages,
                        ibv_wc_status_str(wc->status), wc->vendor_err);
    }
    return true;
}

static void *work(void *opaque)
{
    struct mix_worker *w = opaque;

    rig_seed(w->seed);
    if (w->kind->begin && !w->kind->begin(w)) {
        w->cannot = true;
        return NULL;
    }
    w->ok = true;
    while (w->ok && !atomic_load(w->stop)) {
        w->ok = w->kind->round(w);
        w->rounds += w->ok;
        usleep(1000);
    }
    if (w->kind->end) {
        w->kind->end(w);
    }
    return NULL;
}

static void report(const struct mix_worker *w)
{
    if (w->cannot) {
        tap_skip(w->kind->name, w->why);
        return;
    }
    tap_check(w->ok && w->rounds, w->kind->name,
              "%lu rounds, %lu messages, %lu MiB%s%s",
              (unsigned long)w->rounds, (unsigned long)w->messages,
              (unsigned long)(w->bytes >> 20), w->why[0] ? "; " : "", w->why);
}

static bool chosen(const struct mix_kind *kind, char **names)
{
    if (!*names) {
        return true;
    }
    for (; *names; names++) {
        if (!strcmp(*names, kind->name)) {
            return true;
        }
    }
    return false;
}

static void run(struct rig *rig, double seconds, uint64_t seed, char **names)
{
    static struct mix_worker worker[KINDS];
    static pthread_t thread[KINDS];
    atomic_bool stop = false;

    for (unsigned i = 0; i < KINDS; i++) {
        worker[i] = (struct mix_worker){ .kind = &kinds[i], .rig = rig,
                                         .stop = &stop, .seed = seed + i };
        if (chosen(&kinds[i], names) &&
            pthread_create(&thread[i], NULL, work, &worker[i])) {
            tap_die("no thread");
        }
    }
    usleep(seconds * 1e6);
    stop = true;
    for (unsigned i = 0; i < KINDS; i++) {
        if (chosen(&kinds[i], names)) {
            pthread_join(thread[i], NULL);
            report(&worker[i]);
        }
    }
}

int main(int argc, char **argv)
{
    const char *dev = NULL, *duration = getenv("DURATION");
    double seconds = duration ? atof(duration) : 60;
    static struct rig rig;
    uint64_t seed = 1;
    int gid = -1, c;

    while ((c = getopt(argc, argv, "d:g:s:t:")) != -1) {
        switch (c) {
        case 'd': dev = optarg; break;
        case 'g': gid = atoi(optarg); break;
        case 's': seed = strtoull(optarg, NULL, 0); break;
        case 't': seconds = atof(optarg); break;
        default: return 2;
        }
    }
    rig_open(&rig, dev, gid);
    run(&rig, seconds, seed, argv + optind);
    rig_close(&rig);
    return tap_done();
}
