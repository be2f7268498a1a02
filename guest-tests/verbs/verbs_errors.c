/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verbs_errors: every mistake gets the answer the specification promises.
 *
 *   verbs_errors [-d DEVICE] [-g GID_INDEX]
 *
 * Each case provokes one error and looks at the completion status at both
 * ends, the vendor code, the states of both queue pairs afterwards, at what
 * was queued behind, at memory, and at whether the pair can be used again.
 */
#include "errors.h"
#include "tap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool err_why(struct bench *b, const char *fmt, ...)
{
    va_list ap;

    if (!b->why[0]) {
        va_start(ap, fmt);
        vsnprintf(b->why, sizeof(b->why), fmt, ap);
        va_end(ap);
    }
    return false;
}

void err_report(struct bench *b, const char *name, bool ok)
{
    tap_check(ok, name, b->why[0] ? "%s" : NULL, b->why);
    b->why[0] = 0;
}

bool err_send(struct bench *b, struct rig_side *s, enum ibv_wr_opcode op,
              uint64_t id, unsigned flags, enum err_key lkey,
              enum err_key rkey)
{
    bool atomic = op == IBV_WR_ATOMIC_CMP_AND_SWP ||
                  op == IBV_WR_ATOMIC_FETCH_AND_ADD;
    struct ibv_sge sge = { (uintptr_t)b->src, atomic ? 8 : 64,
                           b->key[lkey] };
    struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
                              .opcode = op, .send_flags = flags }, *bad;
    int rc;

    if (atomic) {
        wr.wr.atomic.remote_addr = (uintptr_t)b->dst;
        wr.wr.atomic.rkey = b->key[rkey];
        wr.wr.atomic.compare_add = 1;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)b->dst;
        wr.wr.rdma.rkey = b->key[rkey];
    }
    rc = ibv_post_send(s->qp, &wr, &bad);
    return !rc || err_why(b, "post_send: %s", strerror(rc));
}

bool err_recv(struct bench *b, struct rig_side *s, uint64_t id, uint32_t len,
              enum err_key lkey)
{
    struct ibv_sge sge = { (uintptr_t)b->dst, len, b->key[lkey] };
    struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 },
                       *bad;
    int rc = ibv_post_recv(s->qp, &wr, &bad);

    return !rc || err_why(b, "post_recv: %s", strerror(rc));
}

bool err_fails(struct bench *b, struct ibv_cq *cq, uint64_t id,
               enum ibv_wc_status status, enum vendor_synd vendor)
{
    struct ibv_wc wc;

    if (!rig_poll(cq, &wc, RIG_WAIT_MS)) {
        return err_why(b, "no completion of %llu (%s)", (unsigned long long)id,
                       ibv_wc_status_str(status));
    }
    if (wc.wr_id != id || wc.status != status) {
        return err_why(b, "completion %llu: %s; not %llu: %s",
                       (unsigned long long)wc.wr_id,
                       ibv_wc_status_str(wc.status), (unsigned long long)id,
                       ibv_wc_status_str(status));
    }
    if (b->mlx5 && status && wc.vendor_err != vendor) {
        return err_why(b, "%s with vendor code %#x, not %#x",
                       ibv_wc_status_str(status), wc.vendor_err, vendor);
    }
    return true;
}

bool err_expect(struct bench *b, struct ibv_cq *cq, uint64_t id,
                enum ibv_wc_status status)
{
    return err_fails(b, cq, id, status, 0);
}

bool err_flushed(struct bench *b, struct ibv_cq *cq, uint64_t first,
                 unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!err_fails(b, cq, first + i, IBV_WC_WR_FLUSH_ERR,
                       VENDOR_FLUSHED)) {
            return false;
        }
    }
    return true;
}

bool err_states(struct bench *b, struct rig_pair *pair, enum ibv_qp_state a,
                enum ibv_qp_state bb)
{
    enum ibv_qp_state sa, sb;

    for (unsigned i = 0; i < 50; i++) {
        sa = rig_state(pair->a.qp);
        sb = rig_state(pair->b.qp);
        if (sa == a && sb == bb) {
            return true;
        }
        usleep(10000);
    }
    return err_why(b, "states %s and %s, not %s and %s", rig_state_name(sa),
                   rig_state_name(sb), rig_state_name(a), rig_state_name(bb));
}

bool err_works(struct bench *b, struct rig_pair *pair)
{
    struct rig_side *side[2] = { &pair->a, &pair->b };

    for (int i = 0; i < 2; i++) {
        struct rig_side *s = side[i], *peer = side[!i];

        if (!err_recv(b, peer, 30, 64, KEY_GOOD) ||
            !err_send(b, s, IBV_WR_RDMA_WRITE, 31, 0, KEY_GOOD, KEY_GOOD) ||
            !err_send(b, s, IBV_WR_SEND, 33, IBV_SEND_SIGNALED, KEY_GOOD,
                      KEY_GOOD)) {
            return false;
        }
        if (!err_expect(b, s->cq, 33, IBV_WC_SUCCESS) ||
            !err_expect(b, peer->cq, 30, IBV_WC_SUCCESS)) {
            return err_why(b, "it does not work");
        }
    }
    return true;
}

bool err_recover(struct bench *b, struct rig_pair *pair)
{
    int rc = rig_to_state(&pair->a, IBV_QPS_RESET);

    rc = rc ? rc : rig_to_state(&pair->b, IBV_QPS_RESET);
    pair->a.psn = rig_rand() & 0xffffff;
    pair->b.psn = rig_rand() & 0xffffff;
    rc = rc ? rc : rig_connect(pair);
    if (rc) {
        return err_why(b, "after RESET: %s", strerror(rc));
    }
    if (!rig_quiet(pair->a.cq, 0) || !rig_quiet(pair->b.cq, 0)) {
        return err_why(b, "completions left after RESET");
    }
    return err_works(b, pair);
}

static void bench_keys(struct bench *b)
{
    const int lw = IBV_ACCESS_LOCAL_WRITE, rr = IBV_ACCESS_REMOTE_READ,
              rw = IBV_ACCESS_REMOTE_WRITE, ra = IBV_ACCESS_REMOTE_ATOMIC;
    static const int none;
    const int access[KEY_COUNT] = {
        [KEY_GOOD] = lw | rr | rw | ra,     [KEY_BAD] = none,
        [KEY_STALE] = lw | rr | rw | ra,    [KEY_OTHER_PD] = lw | rr | rw | ra,
        [KEY_READ_LOCAL] = none,            [KEY_NO_WRITE] = lw | rr | ra,
        [KEY_NO_READ] = lw | rw | ra,       [KEY_NO_ATOMIC] = lw | rr | rw,
    };

    for (unsigned k = 0; k < KEY_COUNT; k++) {
        struct ibv_pd *pd = k == KEY_OTHER_PD ? b->other_pd : b->rig.pd;

        b->mr[k] = ibv_reg_mr(pd, b->src, 2 * ERRORS_BUF, access[k]);
        if (!b->mr[k]) {
            tap_die("ibv_reg_mr, access %#x: %s", access[k], strerror(errno));
        }
        b->key[k] = b->mr[k]->rkey;
    }
    b->key[KEY_BAD] = 0xdead0000 | (b->key[KEY_GOOD] & 0xff);
    if (ibv_dereg_mr(b->mr[KEY_STALE])) {
        tap_die("ibv_dereg_mr fails");
    }
    b->mr[KEY_STALE] = NULL;
}

static void bench_open(struct bench *b, const char *name, int gid)
{
    rig_open(&b->rig, name, gid);
    b->mlx5 = !strncmp(ibv_get_device_name(b->rig.ctx->device), "mlx5", 4);
    b->src = aligned_alloc(4096, 2 * ERRORS_BUF);
    b->dst = b->src + ERRORS_BUF;
    memset(b->src, 0, 2 * ERRORS_BUF);
    b->other_pd = ibv_alloc_pd(b->rig.ctx);
    if (!b->other_pd) {
        tap_die("ibv_alloc_pd: %s", strerror(errno));
    }
    bench_keys(b);
}

static void bench_close(struct bench *b)
{
    for (unsigned k = 0; k < KEY_COUNT; k++) {
        if (b->mr[k] && ibv_dereg_mr(b->mr[k])) {
            tap_die("ibv_dereg_mr fails");
        }
    }
    if (ibv_dealloc_pd(b->other_pd)) {
        tap_die("ibv_dealloc_pd fails");
    }
    rig_close(&b->rig);
    free(b->src);
}

int main(int argc, char **argv)
{
    static struct bench b;
    const char *name = NULL;
    int gid = -1, o;

    while ((o = getopt(argc, argv, "d:g:")) != -1) {
        switch (o) {
        case 'd':
            name = optarg;
            break;
        case 'g':
            gid = atoi(optarg);
            break;
        default:
            fprintf(stderr, "usage: %s [-d DEVICE] [-g GID_INDEX]\n", argv[0]);
            return 2;
        }
    }
    rig_seed(1);
    bench_open(&b, name, gid);
    errors_rc(&b);
    errors_retry(&b);
    errors_datagram(&b);
    errors_flush(&b);
    errors_event(&b);
    errors_counter(&b);
    errors_refuse(&b);
    bench_close(&b);
    return tap_done();
}
