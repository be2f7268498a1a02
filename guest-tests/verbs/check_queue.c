/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subjects of verbs_check about queues and keys: completion events, a
 * completion queue that is resized under way, gathers over many memory keys,
 * messages beyond what one key's pages hold.
 */
#include "check.h"
#include "tap.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static int send_one(struct check *c, struct rig_pair *pair, uint64_t id,
                    unsigned flags)
{
    struct ibv_sge s = { (uintptr_t)c->src, 16, c->src_mr->lkey };
    struct ibv_sge d = { (uintptr_t)c->dst, 16, c->dst_mr->lkey };
    struct ibv_recv_wr rw = { .wr_id = id, .sg_list = &d, .num_sge = 1 },
                       *rbad;
    struct ibv_send_wr sw = { .wr_id = id, .sg_list = &s, .num_sge = 1,
                              .opcode = IBV_WR_SEND, .send_flags = flags },
                       *bad;
    int rc = ibv_post_recv(pair->b.qp, &rw, &rbad);

    return rc ? rc : ibv_post_send(pair->a.qp, &sw, &bad);
}

/* Take everything, so that nothing is left to cause an event. */
static unsigned drain(struct ibv_cq *cq, unsigned n)
{
    unsigned got = 0;
    struct ibv_wc wc;

    while (got < n && rig_poll(cq, &wc, RIG_WAIT_MS) && !wc.status) {
        got++;
    }
    return got;
}

static bool event_within(struct ibv_comp_channel *ch, int ms)
{
    struct pollfd p = { .fd = ch->fd, .events = POLLIN };
    struct ibv_cq *cq;
    void *ctx;

    if (poll(&p, 1, ms) <= 0 || ibv_get_cq_event(ch, &cq, &ctx)) {
        return false;
    }
    ibv_ack_cq_events(cq, 1);
    return true;
}

/* Arm, send with @flags: does an event come? */
static bool event_case(struct check *c, struct rig_pair *pair, int arm,
                       unsigned flags, bool expect)
{
    struct ibv_comp_channel *ch = pair->attr.channel;
    bool came;

    if (arm >= 0 && ibv_req_notify_cq(pair->b.cq, arm)) {
        return check_fail(c, "ibv_req_notify_cq");
    }
    if (send_one(c, pair, 0, flags | IBV_SEND_SIGNALED) ||
        drain(pair->a.cq, 1) != 1) {
        return check_fail(c, "post");
    }
    came = event_within(ch, expect ? 5000 : 200);
    if (drain(pair->b.cq, 1) != 1) {
        return check_fail(c, "no completion");
    }
    return came == expect || check_fail(c, "event %s", came ? "came"
                                                            : "missing");
}

static bool event_many(struct check *c, struct rig_pair *pair)
{
    for (unsigned i = 0; i < 300; i++) {
        if (!event_case(c, pair, 0, 0, true)) {
            return check_fail(c, "round %u", i);
        }
    }
    return true;
}

/* The card compares the index it is armed with: contract of the mlx5 CQ. */
static bool event_late_arm(struct check *c, struct rig_pair *pair)
{
    bool came;

    if (send_one(c, pair, 0, 0) || send_one(c, pair, 1, IBV_SEND_SIGNALED) ||
        drain(pair->a.cq, 1) != 1) {
        return check_fail(c, "send");
    }
    if (ibv_req_notify_cq(pair->b.cq, 0)) {
        return check_fail(c, "ibv_req_notify_cq");
    }
    came = event_within(pair->attr.channel, 5000);
    return drain(pair->b.cq, 2) == 2 &&
           (came || check_fail(c, "event missing"));
}

static bool event_on_error(struct check *c, struct rig_pair *pair)
{
    struct ibv_recv_wr rw = { .wr_id = 9 }, *bad;
    struct ibv_wc wc;
    bool came;

    if (ibv_req_notify_cq(pair->b.cq, 1) || send_one(c, pair, 0, 0)) {
        return check_fail(c, "post");
    }
    if (drain(pair->b.cq, 1) != 1) {
        return check_fail(c, "no completion");
    }
    if (event_within(pair->attr.channel, 100)) {
        return check_fail(c, "event without solicitation");
    }
    if (ibv_post_recv(pair->b.qp, &rw, &bad) ||
        rig_to_state(&pair->b, IBV_QPS_ERR)) {
        return check_fail(c, "to ERR");
    }
    came = event_within(pair->attr.channel, 5000);
    if (!rig_poll(pair->b.cq, &wc, RIG_WAIT_MS) ||
        wc.status != IBV_WC_WR_FLUSH_ERR) {
        return check_fail(c, "no flush");
    }
    return came || check_fail(c, "event missing");
}

static void event_report(struct check *c, const char *name, bool ok)
{
    tap_check(ok, name, "%s", c->why);
    c->why[0] = 0;
}

void check_events(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    bool mlx5 = !strncmp(ibv_get_device_name(c->rig.ctx->device), "mlx5", 4);
    struct rig_pair pair;

    attr.channel = ibv_create_comp_channel(c->rig.ctx);
    if (!attr.channel) {
        tap_die("ibv_create_comp_channel: %s", strerror(errno));
    }
    rig_pair_make(&c->rig, &pair, &attr);
    event_report(c, "event-armed", event_case(c, &pair, 0, 0, true));
    event_report(c, "event-once-per-arm", event_case(c, &pair, -1, 0, false));
    event_report(c, "event-solicited-not",
                 event_case(c, &pair, 1, 0, false));
    event_report(c, "event-solicited",
                 event_case(c, &pair, -1, IBV_SEND_SOLICITED, true));
    event_report(c, "event-300", event_many(c, &pair));
    if (mlx5) {
        event_report(c, "event-late-arm", event_late_arm(c, &pair));
        event_report(c, "event-on-error", event_on_error(c, &pair));
    } else {
        tap_skip("event-late-arm", "a rule of mlx5");
        tap_skip("event-on-error", "rxe flushes without an event");
    }
    rig_pair_free(&pair);
    ibv_destroy_comp_channel(attr.channel);
}

static bool resize_send(struct check *c, struct rig_pair *pair, uint64_t id,
                        unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (send_one(c, pair, id + i, i == n - 1 ? IBV_SEND_SIGNALED : 0)) {
            return check_fail(c, "post");
        }
    }
    return drain(pair->a.cq, 1) == 1 || check_fail(c, "send");
}

static bool resize_take(struct check *c, struct rig_pair *pair, uint64_t id,
                        unsigned n)
{
    struct ibv_wc wc;

    for (unsigned i = 0; i < n; i++) {
        if (!rig_poll(pair->b.cq, &wc, RIG_WAIT_MS)) {
            return check_fail(c, "completion %u of %u missing", i, n);
        }
        if (wc.status || wc.wr_id != id + i) {
            return check_fail(c, "id %llu not %llu",
                              (unsigned long long)wc.wr_id,
                              (unsigned long long)id + i);
        }
    }
    return true;
}

/* Grow and shrink with completions still in the queue. */
static bool resize_once(struct check *c, struct rig_pair *pair, int cqe)
{
    uint64_t id = rig_rand() >> 8;
    unsigned n = 1 + rig_below(30);
    int rc;

    if (!resize_send(c, pair, id, n)) {
        return false;
    }
    rc = ibv_resize_cq(pair->b.cq, cqe);
    if (rc) {
        return check_fail(c, "resize to %d: %s", cqe, strerror(rc));
    }
    return pair->b.cq->cqe >= cqe && resize_take(c, pair, id, n) &&
           resize_send(c, pair, id, 20) && resize_take(c, pair, id, 20);
}

void check_cq_resize(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok = true;
    int rc;

    attr.recv_wr = 64;
    attr.cq_depth = 127;
    rig_pair_make(&c->rig, &pair, &attr);
    rc = ibv_resize_cq(pair.b.cq, 100);
    if (rc == EOPNOTSUPP || rc == ENOSYS) {
        tap_skip("cq-resize", "the device cannot");
        rig_pair_free(&pair);
        return;
    }
    for (unsigned i = 0; ok && i < 40; i++) {
        ok = resize_once(c, &pair, 64 + rig_below(1000));
    }
    rig_pair_free(&pair);
    tap_check(ok, "cq-resize", "%s 40 sizes", c->why);
}

#define KEYS 20

struct keys {
    uint8_t *mem[KEYS];
    uint32_t len[KEYS];
    struct ibv_mr *mr[KEYS];
};

/* One write that gathers one range of each key, then the comparison. */
static bool keys_once(struct check *c, struct rig_pair *pair, struct keys *k)
{
    struct ibv_sge sge[KEYS];
    struct ibv_send_wr wr = { .wr_id = 7, .sg_list = sge, .num_sge = KEYS,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    uint32_t at = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        uint32_t off = rig_below(k->len[i]);
        uint32_t n = 1 + rig_below(k->len[i] - off);

        sge[i] = (struct ibv_sge){ (uintptr_t)k->mem[i] + off, n,
                                   k->mr[i]->lkey };
        memcpy(c->want + at, k->mem[i] + off, n);
        at += n;
    }
    wr.wr.rdma.remote_addr = (uintptr_t)c->dst + 3;
    wr.wr.rdma.rkey = c->dst_mr->rkey;
    memset(c->dst, CHECK_FILL, at + 6);
    if (ibv_post_send(pair->a.qp, &wr, &bad)) {
        return check_fail(c, "post_send");
    }
    if (drain(pair->a.cq, 1) != 1) {
        return check_fail(c, "no completion");
    }
    if (c->dst[2] != CHECK_FILL || c->dst[at + 3] != CHECK_FILL) {
        return check_fail(c, "wrote outside");
    }
    return !memcmp(c->dst + 3, c->want, at) || check_fail(c, "%u bytes "
                                                          "differ", at);
}

/* Keys that begin and end anywhere, down to one byte. */
void check_many_mrs(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    struct keys k;
    bool ok = true;

    attr.sge = KEYS;
    rig_pair_make(&c->rig, &pair, &attr);
    for (unsigned i = 0; i < KEYS; i++) {
        k.len[i] = 1 + rig_below(i ? 20000 : 1);
        k.mem[i] = malloc(k.len[i]);
        rig_noise(k.mem[i], k.len[i]);
        k.mr[i] = rig_mr(&c->rig, k.mem[i], k.len[i], 0);
    }
    for (unsigned i = 0; ok && i < 100; i++) {
        ok = keys_once(c, &pair, &k);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        ok = !ibv_dereg_mr(k.mr[i]) && ok;
        free(k.mem[i]);
    }
    rig_pair_free(&pair);
    tap_check(ok, "many-mrs", "%s 100 gathers of %u keys", c->why, KEYS);
}

#define HUGE_SGE 30

static void huge_list(struct ibv_sge *sge, uint8_t *base, uint32_t lkey,
                      uint64_t total)
{
    for (unsigned i = 0; i < HUGE_SGE; i++) {
        uint64_t each = total / HUGE_SGE;

        sge[i] = (struct ibv_sge){ (uintptr_t)base, each, lkey };
        sge[i].length += i < total % HUGE_SGE;
    }
}

/* Gathered from, and scattered over, one range again and again. */
static bool huge_send(struct check *c, struct rig_pair *pair, uint64_t total)
{
    struct ibv_sge from[HUGE_SGE], to[HUGE_SGE];
    struct ibv_recv_wr rw = { .sg_list = to, .num_sge = HUGE_SGE }, *rbad;
    struct ibv_send_wr sw = { .sg_list = from, .num_sge = HUGE_SGE,
                              .opcode = IBV_WR_SEND,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    uint32_t each = total / HUGE_SGE;
    struct ibv_wc wc;

    huge_list(from, c->src, c->src_mr->lkey, total);
    huge_list(to, c->dst, c->dst_mr->lkey, total);
    memset(c->dst, 0, each);
    if (ibv_post_recv(pair->b.qp, &rw, &rbad) ||
        ibv_post_send(pair->a.qp, &sw, &bad)) {
        return check_fail(c, "post");
    }
    if (!rig_poll(pair->b.cq, &wc, 10 * RIG_WAIT_MS) || wc.status ||
        wc.byte_len != (uint32_t)total) {
        return check_fail(c, "receive: %s, %u bytes",
                          ibv_wc_status_str(wc.status), wc.byte_len);
    }
    if (drain(pair->a.cq, 1) != 1) {
        return check_fail(c, "send");
    }
    return !memcmp(c->src, c->dst, each) || check_fail(c, "bytes differ");
}

void check_huge(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    uint64_t total = c->full ? c->rig.port.max_msg_sz : 200u << 20;
    struct rig_pair pair;
    bool ok;

    if (total > HUGE_SGE * (uint64_t)CHECK_ARENA) {
        total = HUGE_SGE * (uint64_t)CHECK_ARENA;
    }
    attr.sge = HUGE_SGE;
    rig_pair_make(&c->rig, &pair, &attr);
    ok = huge_send(c, &pair, total);
    rig_pair_free(&pair);
    tap_check(ok, "huge", "%s %llu bytes in one message", c->why,
              (unsigned long long)total);
}
