/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asynchronous events: shared receive queues, completion queues that overflow,
 * communication established.
 * Source: IBA 11.6.3; ibv_get_async_event(3).
 */
#include "errors.h"
#include "tap.h"

#include <errno.h>
#include <string.h>

#define SRQ_SIZE 16

static void srq_open(struct bench *b, struct rig_pair *pair)
{
    struct ibv_srq_init_attr si = { .attr = { .max_wr = SRQ_SIZE,
                                              .max_sge = 1 } };
    struct rig_pair_attr attr = { RIG_DEFAULTS };

    attr.srq = ibv_create_srq(b->rig.pd, &si);
    if (!attr.srq) {
        tap_die("ibv_create_srq: %s", strerror(errno));
    }
    rig_pair_make(&b->rig, pair, &attr);
}

static void srq_close(struct rig_pair *pair)
{
    struct ibv_srq *srq = pair->attr.srq;

    rig_pair_free(pair);
    if (ibv_destroy_srq(srq)) {
        tap_die("ibv_destroy_srq fails");
    }
}

static bool srq_fill(struct bench *b, struct ibv_srq *srq, unsigned n)
{
    struct ibv_sge sge = { (uintptr_t)b->dst, 64, b->key[KEY_GOOD] };
    struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

    for (unsigned i = 0; i < n; i++) {
        if (ibv_post_srq_recv(srq, &wr, &bad)) {
            return err_why(b, "post_srq_recv");
        }
    }
    return true;
}

static bool srq_use(struct bench *b, struct rig_pair *pair, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!err_send(b, &pair->a, IBV_WR_SEND, 1, IBV_SEND_SIGNALED,
                      KEY_GOOD, KEY_GOOD) ||
            !err_expect(b, pair->a.cq, 1, IBV_WC_SUCCESS) ||
            !err_expect(b, pair->b.cq, 0, IBV_WC_SUCCESS)) {
            return false;
        }
    }
    return true;
}

/* Ten posted, limit eight: three messages later there are seven. */
static bool srq_limit(struct bench *b, struct rig_pair *pair)
{
    const enum ibv_event_type ev = IBV_EVENT_SRQ_LIMIT_REACHED;
    struct ibv_srq_attr a = { .srq_limit = 8 }, q;

    if (!srq_fill(b, pair->attr.srq, 10)) {
        return false;
    }
    if (ibv_modify_srq(pair->attr.srq, &a, IBV_SRQ_LIMIT) ||
        ibv_query_srq(pair->attr.srq, &q) || q.srq_limit != 8) {
        return err_why(b, "arming");
    }
    if (!srq_use(b, pair, 1) || rig_async(&b->rig, ev, 100)) {
        return err_why(b, "event too early");
    }
    if (!srq_use(b, pair, 2) || !rig_async(&b->rig, ev, 3000)) {
        return err_why(b, "no event");
    }
    if (!srq_use(b, pair, 2) || rig_async(&b->rig, ev, 100)) {
        return err_why(b, "a second event without arming");
    }
    return true;
}

static void event_srq_limit(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    srq_open(b, &pair);
    ok = srq_limit(b, &pair);
    srq_close(&pair);
    err_report(b, "srq-limit", ok);
}

static void event_last_wqe(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    srq_open(b, &pair);
    ok = srq_fill(b, pair.attr.srq, 4) && srq_use(b, &pair, 2) &&
         !rig_to_state(&pair.b, IBV_QPS_ERR) &&
         (rig_async(&b->rig, IBV_EVENT_QP_LAST_WQE_REACHED, 3000) ||
          err_why(b, "no event")) &&
         (rig_quiet(pair.b.cq, ERRORS_QUIET_MS) ||
          err_why(b, "the shared queue was flushed"));
    srq_close(&pair);
    err_report(b, "last-wqe-reached", ok);
}

/* A shared queue without entries is a receiver that is not ready. */
static void srq_empty(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    srq_open(b, &pair);
    ok = err_send(b, &pair.a, IBV_WR_SEND, 1, IBV_SEND_SIGNALED, KEY_GOOD,
                  KEY_GOOD) &&
         (rig_quiet(pair.a.cq, 200) || err_why(b, "gave up")) &&
         srq_fill(b, pair.attr.srq, 1) &&
         err_expect(b, pair.a.cq, 1, IBV_WC_SUCCESS) &&
         err_expect(b, pair.b.cq, 0, IBV_WC_SUCCESS);
    srq_close(&pair);
    err_report(b, "srq-empty-waits", ok);
}

static bool overflow(struct bench *b, struct rig_pair *pair, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!err_send(b, &pair->a, IBV_WR_RDMA_WRITE, i, IBV_SEND_SIGNALED,
                      KEY_GOOD, KEY_GOOD)) {
            return false;
        }
    }
    return rig_async(&b->rig, IBV_EVENT_CQ_ERR, 5000) ||
           err_why(b, "no event after %u completions in a queue of %d", n,
                   pair->a.cq->cqe);
}

static void event_cq_overflow(struct bench *b)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok;

    attr.send_wr = 64;
    attr.cq_depth = 7;
    rig_pair_make(&b->rig, &pair, &attr);
    ok = overflow(b, &pair, 40);
    rig_pair_free(&pair);
    err_report(b, "cq-overflow", ok);
    /* the device is none the worse for it */
    attr.cq_depth = 0;
    rig_pair_make(&b->rig, &pair, &attr);
    ok = err_works(b, &pair);
    rig_pair_free(&pair);
    err_report(b, "cq-overflow-harms-no-other", ok);
}

/* The first packet at a queue pair that is only ready to receive. */
static void event_comm_est(struct bench *b)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok;

    rig_pair_create(&b->rig, &pair, &attr);
    ok = !rig_to_init(&pair, &pair.a) && !rig_to_init(&pair, &pair.b) &&
         !rig_to_rtr(&pair, &pair.a, &pair.b) &&
         !rig_to_rtr(&pair, &pair.b, &pair.a) && !rig_to_rts(&pair, &pair.a);
    ok = ok && err_recv(b, &pair.b, 1, 64, KEY_GOOD) &&
         err_send(b, &pair.a, IBV_WR_SEND, 2, IBV_SEND_SIGNALED, KEY_GOOD,
                  KEY_GOOD) &&
         err_expect(b, pair.a.cq, 2, IBV_WC_SUCCESS) &&
         err_expect(b, pair.b.cq, 1, IBV_WC_SUCCESS) &&
         (rig_async(&b->rig, IBV_EVENT_COMM_EST, 3000) ||
          err_why(b, "no event")) &&
         !rig_to_rts(&pair, &pair.b) && err_works(b, &pair);
    rig_pair_free(&pair);
    err_report(b, "communication-established", ok);
}

void errors_event(struct bench *b)
{
    event_srq_limit(b);
    event_last_wqe(b);
    srq_empty(b);
    if (b->mlx5) {
        event_cq_overflow(b);
        event_comm_est(b);
    } else {
        tap_skip("cq-overflow", "of mlx5");
        tap_skip("cq-overflow-harms-no-other", "of mlx5");
        tap_skip("communication-established", "of mlx5");
    }
}
