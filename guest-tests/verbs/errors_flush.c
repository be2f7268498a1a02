/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors that time or the absence of a receive brings, datagrams that vanish,
 * and everything that a queue pair in ERR flushes.
 * Sources: IBA 9.7.5.1.3 (retry), 9.7.5.2.8 (RNR), 9.6.1 (packet header
 * validation: Q_Key), 9.8.3 (unreliable connection), 10.3.1.
 */
#include "errors.h"
#include "tap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* @retry times 4.096 us * 2^@timeout pass before a peer counts as lost. */
static bool lost_peer(struct bench *b, struct rig_pair *pair)
{
    const int64_t least = pair->attr.retry_cnt * 67;
    int64_t start = rig_now_ms(), took;

    if (!err_send(b, &pair->a, IBV_WR_SEND, 1, 0, KEY_GOOD, KEY_GOOD) ||
        !err_send(b, &pair->a, IBV_WR_SEND, 2, 0, KEY_GOOD, KEY_GOOD) ||
        !err_fails(b, pair->a.cq, 1, IBV_WC_RETRY_EXC_ERR,
                   VENDOR_RETRY_EXCEEDED) ||
        !err_flushed(b, pair->a.cq, 2, 1)) {
        return false;
    }
    took = rig_now_ms() - start;
    if (took < least || took > 4 * (least + 67) + 3000) {
        return err_why(b, "gave up after %lld ms, at least %lld expected",
                       (long long)took, (long long)least);
    }
    return true;
}

static void retry_reset_peer(struct bench *b)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok;

    attr.timeout = 14; /* 67 ms */
    attr.retry_cnt = 3;
    rig_pair_make(&b->rig, &pair, &attr);
    ok = !rig_to_state(&pair.b, IBV_QPS_RESET) && lost_peer(b, &pair) &&
         err_states(b, &pair, IBV_QPS_ERR, IBV_QPS_RESET) &&
         err_recover(b, &pair);
    rig_pair_free(&pair);
    err_report(b, "retry-peer-in-reset", ok);
}

static void retry_no_peer(struct bench *b)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair, dead;
    bool ok;

    attr.timeout = 14;
    attr.retry_cnt = 2;
    rig_pair_create(&b->rig, &dead, &attr);
    rig_pair_create(&b->rig, &pair, &attr);
    ok = !rig_to_init(&pair, &pair.a) &&
         !rig_to_rtr(&pair, &pair.a, &dead.b) && !rig_to_rts(&pair, &pair.a);
    rig_pair_free(&dead); /* the number now belongs to nobody */
    ok = ok && lost_peer(b, &pair) &&
         err_states(b, &pair, IBV_QPS_ERR, IBV_QPS_RESET) &&
         err_recover(b, &pair);
    rig_pair_free(&pair);
    err_report(b, "retry-peer-destroyed", ok);
}

static void rnr_exceeded(struct bench *b, enum ibv_wr_opcode op,
                         const char *name)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok;

    attr.rnr_retry = 2;
    rig_pair_make(&b->rig, &pair, &attr);
    ok = err_send(b, &pair.a, op, 1, 0, KEY_GOOD, KEY_GOOD) &&
         err_send(b, &pair.a, IBV_WR_RDMA_WRITE, 2, 0, KEY_GOOD, KEY_GOOD) &&
         err_fails(b, pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR,
                   VENDOR_RNR_EXCEEDED) &&
         err_flushed(b, pair.a.cq, 2, 1) &&
         err_states(b, &pair, IBV_QPS_ERR, IBV_QPS_RTS) &&
         err_recover(b, &pair);
    rig_pair_free(&pair);
    err_report(b, name, ok);
}

/* 7 means for ever: the message arrives when the receive comes. */
static void rnr_patient(struct bench *b)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok;

    rig_pair_make(&b->rig, &pair, &attr);
    ok = err_send(b, &pair.a, IBV_WR_SEND, 1, IBV_SEND_SIGNALED, KEY_GOOD,
                  KEY_GOOD) &&
         (rig_quiet(pair.a.cq, 300) || err_why(b, "gave up")) &&
         err_recv(b, &pair.b, 2, 64, KEY_GOOD) &&
         err_expect(b, pair.a.cq, 1, IBV_WC_SUCCESS) &&
         err_expect(b, pair.b.cq, 2, IBV_WC_SUCCESS) && err_works(b, &pair);
    rig_pair_free(&pair);
    err_report(b, "rnr-for-ever", ok);
}

void errors_retry(struct bench *b)
{
    retry_reset_peer(b);
    retry_no_peer(b);
    rnr_exceeded(b, IBV_WR_SEND, "rnr-exceeded-send");
    rnr_exceeded(b, IBV_WR_RDMA_WRITE_WITH_IMM, "rnr-exceeded-write-imm");
    rnr_patient(b);
}

static bool ud_send(struct bench *b, struct rig_pair *pair, uint64_t id,
                    uint32_t len, uint32_t qkey, enum err_key lkey)
{
    struct ibv_sge sge = { (uintptr_t)b->src, len, b->key[lkey] };
    struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
                              .opcode = IBV_WR_SEND,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;

    wr.wr.ud.ah = pair->ah;
    wr.wr.ud.remote_qpn = pair->b.qp->qp_num;
    wr.wr.ud.remote_qkey = qkey;
    return !ibv_post_send(pair->a.qp, &wr, &bad) || err_why(b, "post_send");
}

static void ud_open(struct bench *b, struct rig_pair *pair)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };

    attr.type = IBV_QPT_UD;
    rig_pair_make(&b->rig, pair, &attr);
}

/* The wrong key is dropped without a word; the right one is not. */
static void ud_wrong_qkey(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    ud_open(b, &pair);
    ok = err_recv(b, &pair.b, 7, 1024, KEY_GOOD) &&
         ud_send(b, &pair, 1, 64, RIG_QKEY + 1, KEY_GOOD) &&
         err_expect(b, pair.a.cq, 1, IBV_WC_SUCCESS) &&
         (rig_quiet(pair.b.cq, 200) || err_why(b, "it arrived")) &&
         ud_send(b, &pair, 2, 64, RIG_QKEY, KEY_GOOD) &&
         err_expect(b, pair.a.cq, 2, IBV_WC_SUCCESS) &&
         err_expect(b, pair.b.cq, 7, IBV_WC_SUCCESS) &&
         err_states(b, &pair, IBV_QPS_RTS, IBV_QPS_RTS);
    rig_pair_free(&pair);
    err_report(b, "ud-wrong-qkey", ok);
}

/* No receive: gone. The next one with a receive arrives. */
static void ud_no_receive(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    ud_open(b, &pair);
    ok = ud_send(b, &pair, 1, 64, RIG_QKEY, KEY_GOOD) &&
         err_expect(b, pair.a.cq, 1, IBV_WC_SUCCESS);
    usleep(100000);
    ok = ok && err_recv(b, &pair.b, 7, 1024, KEY_GOOD) &&
         (rig_quiet(pair.b.cq, 200) || err_why(b, "it was kept")) &&
         ud_send(b, &pair, 2, 64, RIG_QKEY, KEY_GOOD) &&
         err_expect(b, pair.b.cq, 7, IBV_WC_SUCCESS);
    rig_pair_free(&pair);
    err_report(b, "ud-no-receive", ok);
}

/* A local error stops the send queue; the receive queue may live on (SQE). */
static void ud_local(struct bench *b, const char *name, uint32_t len,
                     enum err_key lkey, enum ibv_wc_status status,
                     enum vendor_synd vendor)
{
    enum ibv_qp_state state;
    struct rig_pair pair;
    bool ok;

    ud_open(b, &pair);
    ok = err_recv(b, &pair.b, 7, 8192, KEY_GOOD) &&
         ud_send(b, &pair, 1, len, RIG_QKEY, lkey) &&
         ud_send(b, &pair, 2, 64, RIG_QKEY, KEY_GOOD) &&
         err_fails(b, pair.a.cq, 1, status, vendor) &&
         err_flushed(b, pair.a.cq, 2, 1) &&
         (rig_quiet(pair.b.cq, ERRORS_QUIET_MS) || err_why(b, "it arrived"));
    state = rig_state(pair.a.qp);
    if (ok && state != IBV_QPS_ERR && state != IBV_QPS_SQE) {
        ok = err_why(b, "state %s", rig_state_name(state));
    }
    rig_pair_free(&pair);
    err_report(b, name, ok);
}

static void uc_open(struct bench *b, struct rig_pair *pair)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };

    attr.type = IBV_QPT_UC;
    rig_pair_make(&b->rig, pair, &attr);
    memset(b->dst, 0, 64);
    b->src[0] = 1;
}

/* Nobody answers on UC: a wrong key is dropped, the sender never knows. */
static void uc_bad_rkey(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    uc_open(b, &pair);
    ok = err_send(b, &pair.a, IBV_WR_RDMA_WRITE, 1, IBV_SEND_SIGNALED,
                  KEY_GOOD, KEY_BAD) &&
         err_expect(b, pair.a.cq, 1, IBV_WC_SUCCESS);
    usleep(50000);
    ok = ok && (!b->dst[0] || err_why(b, "it was written")) &&
         err_states(b, &pair, IBV_QPS_RTS, IBV_QPS_RTS) &&
         err_works(b, &pair);
    rig_pair_free(&pair);
    b->src[0] = 0;
    err_report(b, "uc-bad-rkey-dropped", ok);
}

static void uc_no_receive(struct bench *b)
{
    struct rig_pair pair;
    bool ok;

    uc_open(b, &pair);
    ok = err_send(b, &pair.a, IBV_WR_SEND, 1, IBV_SEND_SIGNALED, KEY_GOOD,
                  KEY_GOOD) &&
         err_expect(b, pair.a.cq, 1, IBV_WC_SUCCESS);
    usleep(50000);
    ok = ok && err_states(b, &pair, IBV_QPS_RTS, IBV_QPS_RTS) &&
         err_works(b, &pair);
    rig_pair_free(&pair);
    b->src[0] = 0;
    err_report(b, "uc-no-receive-dropped", ok);
}

void errors_datagram(struct bench *b)
{
    ud_wrong_qkey(b);
    ud_no_receive(b);
    ud_local(b, "ud-bad-lkey", 64, KEY_BAD, IBV_WC_LOC_PROT_ERR,
             VENDOR_GATHER_KEY);
    if (b->mlx5) {
        ud_local(b, "ud-longer-than-mtu",
                 (128u << b->rig.port.active_mtu) + 1, KEY_GOOD,
                 IBV_WC_LOC_LEN_ERR, VENDOR_MSG_MTU);
    } else {
        tap_skip("ud-longer-than-mtu", "rxe says it was sent");
    }
    uc_bad_rkey(b);
    uc_no_receive(b);
}

/* Everything posted before and after the step to ERR comes back, in order. */
static bool flush_all(struct bench *b, struct rig_pair *pair)
{
    for (unsigned i = 0; i < 5; i++) {
        if (!err_recv(b, &pair->a, 100 + i, 64, KEY_GOOD)) {
            return false;
        }
    }
    if (rig_to_state(&pair->a, IBV_QPS_ERR)) {
        return err_why(b, "to ERR");
    }
    if (!err_flushed(b, pair->a.cq, 100, 5)) {
        return err_why(b, "receives posted before");
    }
    for (unsigned i = 0; i < 20; i++) {
        if (!err_recv(b, &pair->a, 200 + i, 64, KEY_GOOD) ||
            !err_flushed(b, pair->a.cq, 200 + i, 1)) {
            return err_why(b, "receive %u posted in ERR", i);
        }
        if (!err_send(b, &pair->a, IBV_WR_RDMA_WRITE, 300 + i, 0, KEY_GOOD,
                      KEY_GOOD) ||
            !err_flushed(b, pair->a.cq, 300 + i, 1)) {
            return err_why(b, "send %u posted in ERR", i);
        }
    }
    return err_states(b, pair, IBV_QPS_ERR, IBV_QPS_RTS);
}

/* A send that waits for a receive is flushed by the step to ERR. */
static bool flush_waiting(struct bench *b, struct rig_pair *pair)
{
    for (unsigned i = 0; i < 10; i++) {
        if (!err_send(b, &pair->a, IBV_WR_SEND, 1 + i, 0, KEY_GOOD,
                      KEY_GOOD)) {
            return false;
        }
    }
    if (!rig_quiet(pair->a.cq, 50)) {
        return err_why(b, "completed without a receive");
    }
    return (!rig_to_state(&pair->a, IBV_QPS_ERR) || err_why(b, "to ERR")) &&
           err_flushed(b, pair->a.cq, 1, 10);
}

/* RESET forgets what was posted: nothing completes. */
static bool reset_forgets(struct bench *b, struct rig_pair *pair)
{
    for (unsigned i = 0; i < 5; i++) {
        if (!err_recv(b, &pair->a, 100 + i, 64, KEY_GOOD) ||
            !err_send(b, &pair->a, IBV_WR_SEND, i, 0, KEY_GOOD, KEY_GOOD)) {
            return false;
        }
    }
    if (rig_to_state(&pair->a, IBV_QPS_RESET)) {
        return err_why(b, "to RESET");
    }
    return rig_quiet(pair->a.cq, ERRORS_QUIET_MS) ||
           err_why(b, "a completion after RESET");
}

static void flush_case(struct bench *b, const char *name,
                       bool (*run)(struct bench *, struct rig_pair *))
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok;

    rig_pair_make(&b->rig, &pair, &attr);
    ok = run(b, &pair) && err_recover(b, &pair);
    rig_pair_free(&pair);
    err_report(b, name, ok);
}

/* The same pair, broken and mended again and again. */
static bool recover_often(struct bench *b, struct rig_pair *pair)
{
    for (unsigned i = 0; i < 20; i++) {
        if (!err_send(b, &pair->a, IBV_WR_RDMA_WRITE, 1, 0, KEY_GOOD,
                      KEY_BAD) ||
            !err_fails(b, pair->a.cq, 1, IBV_WC_REM_ACCESS_ERR,
                       VENDOR_REMOTE_ACCESS) ||
            !err_recover(b, pair)) {
            return err_why(b, "round %u", i);
        }
    }
    return true;
}

void errors_flush(struct bench *b)
{
    flush_case(b, "flush-before-and-after-err", flush_all);
    flush_case(b, "flush-waiting-sends", flush_waiting);
    flush_case(b, "reset-forgets", reset_forgets);
    flush_case(b, "recover-20-times", recover_often);
}
