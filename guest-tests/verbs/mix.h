/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verbs_mix: workers of many kinds at once, each a thread, each comparing what
 * it moved. A worker is a row of the table in verbs_mix.c.
 */
#ifndef MIX_H
#define MIX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "rig.h"

struct mix_worker;

/**
 * struct mix_kind - one row: a kind of worker.
 * @round: one round of its work, a few milliseconds to a second. Return: false
 *         after mix_fail().
 * @begin, @end: once before and after all rounds; either may be NULL. @begin
 *         returns false when the device can't do it, with @why set.
 * @arg: for @round, to share it between rows
 */
struct mix_kind {
    const char *name;
    bool (*begin)(struct mix_worker *w);
    bool (*round)(struct mix_worker *w);
    void (*end)(struct mix_worker *w);
    int arg;
};

/** struct mix_worker - a thread: @state is its kind's own. */
struct mix_worker {
    const struct mix_kind *kind;
    struct rig *rig;
    atomic_bool *stop;
    void *state;
    uint64_t seed, rounds, messages, bytes;
    bool ok, cannot;
    char why[160];
};

/** mix_fail() - say why the worker stops. Return: false. */
bool mix_fail(struct mix_worker *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** mix_wait() - one completion, giving way to others meanwhile. Return: false
 *  after mix_fail(), also when its status is not success. */
bool mix_wait(struct mix_worker *w, struct ibv_cq *cq, struct ibv_wc *wc);

/* mix_traffic.c: @arg is one of these. */
enum mix_mode { MIX_RC, MIX_UC, MIX_UD, MIX_SRQ, MIX_EVENTS, MIX_ODP };
bool mix_traffic_begin(struct mix_worker *w);
bool mix_traffic_round(struct mix_worker *w);
void mix_traffic_end(struct mix_worker *w);

/* mix_churn.c: objects come and go. */
bool mix_mr_round(struct mix_worker *w);
bool mix_mw_begin(struct mix_worker *w);
bool mix_mw_round(struct mix_worker *w);
void mix_mw_end(struct mix_worker *w);
bool mix_qp_round(struct mix_worker *w);
bool mix_cq_round(struct mix_worker *w);
bool mix_atomic_round(struct mix_worker *w);

/* mix_xport.c: transports whose queue pairs are not pairs. */
bool mix_xrc_begin(struct mix_worker *w);
bool mix_xrc_round(struct mix_worker *w);
void mix_xrc_end(struct mix_worker *w);
bool mix_dc_begin(struct mix_worker *w);
bool mix_dc_round(struct mix_worker *w);
void mix_dc_end(struct mix_worker *w);

#endif
