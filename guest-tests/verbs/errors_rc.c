/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of reliable connections that one work request provokes, as a table.
 * Sources: IBA 9.7.5.2.4 (NAK codes), 9.9.2 and 9.9.3 (requester and responder
 * error behaviour), 10.8.5 (completion status), 11.6.3.1 (affiliated events).
 */
#include "errors.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define BEHIND 3      /* requests queued after the bad one */
#define RECEIVES 3    /* posted at the responder */
#define FETCH_ADD IBV_WR_ATOMIC_FETCH_AND_ADD
#define CMP_SWAP IBV_WR_ATOMIC_CMP_AND_SWP
#define SEND IBV_WR_SEND
#define SEND_IMM IBV_WR_SEND_WITH_IMM
#define WRITE IBV_WR_RDMA_WRITE
#define WRITE_IMM IBV_WR_RDMA_WRITE_WITH_IMM
#define READ IBV_WR_RDMA_READ

#define L IBV_ACCESS_LOCAL_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define RW IBV_ACCESS_REMOTE_WRITE
#define RA IBV_ACCESS_REMOTE_ATOMIC

/* One mistake; what is zero is as it should be, or does not happen. */
struct rc_case {
    const char *name;
    enum ibv_wr_opcode op;
    enum err_key lkey, rkey;    /* of the request */
    uint64_t local_off;         /* where its buffer starts, from src */
    uint64_t remote_off;        /* and the remote one, from dst */
    uint32_t len;               /* 0: 64, of atomics 8 */
    uint32_t recv_len;          /* of the first receive; 0: 64 */
    enum err_key recv_key;
    int access_b;               /* of the responder's queue pair; 0: all */
    enum ibv_wc_status near;    /* at the requester */
    enum ibv_wc_status far;     /* of the first receive */
    enum vendor_synd near_vendor, far_vendor;
    enum ibv_event_type event;  /* at the responder (CQ_ERR, 0: none) */
};

/* from the end of the key's range, so that only the length is wrong */
#define END (2ull * ERRORS_BUF)
#define DEFAULTS .len = 64, .recv_len = 64, .access_b = -1, .far = NONE, \
    .event = NO_EVENT

/* Rows by who is at fault; more fields may follow. */
#define RETURNS(o) ((o) == READ || (o) == FETCH_ADD || (o) == CMP_SWAP)
#define NEAR_ROW(n, o, key, ...)                                            \
    { .name = n, .op = o, .lkey = key, .near = IBV_WC_LOC_PROT_ERR,         \
      .near_vendor = RETURNS(o) ? VENDOR_SCATTER_KEY : VENDOR_GATHER_KEY,   \
      __VA_ARGS__ }
#define ACCESS_ROW(n, o, key, ...)                                          \
    { .name = n, .op = o, .rkey = key, .near = IBV_WC_REM_ACCESS_ERR,       \
      .near_vendor = VENDOR_REMOTE_ACCESS,                                  \
      .event = IBV_EVENT_QP_ACCESS_ERR, __VA_ARGS__ }
#define INVALID_ROW(n, o, ...)                                              \
    { .name = n, .op = o, .near = IBV_WC_REM_INV_REQ_ERR,                   \
      .near_vendor = VENDOR_REMOTE_INVAL,                                   \
      .event = IBV_EVENT_QP_REQ_ERR, __VA_ARGS__ }
#define RECV_ROW(n, key)                                                    \
    { .name = n, .op = IBV_WR_SEND, .recv_key = key,                        \
      .near = IBV_WC_REM_OP_ERR, .near_vendor = VENDOR_REMOTE_OP,           \
      .far = IBV_WC_LOC_PROT_ERR, .far_vendor = VENDOR_RECV_KEY }
#define SHORT_ROW(n, o, length, room)                                       \
    { .name = n, .op = o, .len = length, .recv_len = room,                  \
      .near = IBV_WC_REM_INV_REQ_ERR, .near_vendor = VENDOR_REMOTE_INVAL,   \
      .far = IBV_WC_LOC_LEN_ERR, .far_vendor = VENDOR_RECV_TOO_SHORT }

static const struct rc_case cases[] = {
    /* the requester's own memory: the responder never hears of it */
    NEAR_ROW("send-bad-lkey", SEND, KEY_BAD),
    NEAR_ROW("send-imm-bad-lkey", SEND_IMM, KEY_BAD),
    NEAR_ROW("write-bad-lkey", WRITE, KEY_BAD),
    NEAR_ROW("write-stale-lkey", WRITE, KEY_STALE),
    NEAR_ROW("write-lkey-of-other-pd", WRITE, KEY_OTHER_PD),
    NEAR_ROW("write-local-beyond-end", WRITE, KEY_GOOD,
             .local_off = END - 63),
    NEAR_ROW("write-local-before-start", WRITE, KEY_GOOD,
             .local_off = -1ull),
    NEAR_ROW("read-bad-lkey", READ, KEY_BAD),
    NEAR_ROW("read-lkey-without-write", READ, KEY_READ_LOCAL),
    NEAR_ROW("atomic-bad-lkey", FETCH_ADD, KEY_BAD),
    /* the responder's memory */
    ACCESS_ROW("write-bad-rkey", WRITE, KEY_BAD),
    ACCESS_ROW("write-stale-rkey", WRITE, KEY_STALE),
    ACCESS_ROW("write-rkey-of-other-pd", WRITE, KEY_OTHER_PD),
    ACCESS_ROW("write-rkey-without-write", WRITE, KEY_NO_WRITE),
    ACCESS_ROW("write-rkey-local-only", WRITE, KEY_READ_LOCAL),
    ACCESS_ROW("write-remote-beyond-end", WRITE, KEY_GOOD,
               .remote_off = ERRORS_BUF - 63),
    ACCESS_ROW("write-remote-before-start", WRITE, KEY_GOOD,
               .remote_off = -1ull - ERRORS_BUF),
    ACCESS_ROW("write-remote-far-away", WRITE, KEY_GOOD,
               .remote_off = 1ull << 63),
    ACCESS_ROW("write-imm-bad-rkey", WRITE_IMM, KEY_BAD),
    ACCESS_ROW("read-bad-rkey", READ, KEY_BAD),
    ACCESS_ROW("read-rkey-without-read", READ, KEY_NO_READ),
    ACCESS_ROW("read-rkey-of-other-pd", READ, KEY_OTHER_PD),
    ACCESS_ROW("read-remote-beyond-end", READ, KEY_GOOD,
               .remote_off = ERRORS_BUF - 1),
    ACCESS_ROW("fetch-add-bad-rkey", FETCH_ADD, KEY_BAD),
    ACCESS_ROW("fetch-add-rkey-without-atomic", FETCH_ADD, KEY_NO_ATOMIC),
    ACCESS_ROW("cmp-swap-rkey-without-atomic", CMP_SWAP, KEY_NO_ATOMIC),
    ACCESS_ROW("fetch-add-beyond-end", FETCH_ADD, KEY_GOOD,
               .remote_off = ERRORS_BUF),
    /* requests that the responder's queue pair does not take */
    INVALID_ROW("fetch-add-unaligned", FETCH_ADD, .remote_off = 4),
    INVALID_ROW("cmp-swap-unaligned", CMP_SWAP, .remote_off = 1),
    INVALID_ROW("write-not-enabled", WRITE, .access_b = L | RR | RA),
    INVALID_ROW("read-not-enabled", READ, .access_b = L | RW | RA),
    INVALID_ROW("atomic-not-enabled", FETCH_ADD, .access_b = L | RW | RR),
    /* the receive that should have taken the message */
    SHORT_ROW("receive-too-short", SEND, 64, 63),
    SHORT_ROW("receive-imm-too-short", SEND_IMM, 9000, 8999),
    RECV_ROW("receive-bad-lkey", KEY_BAD),
    RECV_ROW("receive-lkey-without-write", KEY_READ_LOCAL),
    RECV_ROW("receive-lkey-of-other-pd", KEY_OTHER_PD),
};

static bool responder_fails(const struct rc_case *k)
{
    return k->far || k->event;
}

static bool post_bad(struct bench *b, struct rig_pair *pair,
                     const struct rc_case *k)
{
    bool atomic = k->op == FETCH_ADD || k->op == CMP_SWAP;
    struct ibv_sge sge = { (uintptr_t)b->src + k->local_off,
                           k->len ? k->len : atomic ? 8 : 64,
                           b->key[k->lkey] };
    struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
                              .opcode = k->op,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    uint64_t at = (uintptr_t)b->dst + k->remote_off;

    if (atomic) {
        wr.wr.atomic.remote_addr = at;
        wr.wr.atomic.rkey = b->key[k->rkey];
        wr.wr.atomic.compare_add = 1;
    } else {
        wr.wr.rdma.remote_addr = at;
        wr.wr.rdma.rkey = b->key[k->rkey];
    }
    return !ibv_post_send(pair->a.qp, &wr, &bad) || err_why(b, "post_send");
}

static bool post_all(struct bench *b, struct rig_pair *pair,
                     const struct rc_case *k)
{
    for (unsigned i = 0; i < RECEIVES; i++) {
        bool first = !i;
        uint32_t len = first && k->recv_len ? k->recv_len : 64;

        if (!err_recv(b, &pair->b, 100 + i, len,
                      first ? k->recv_key : KEY_GOOD)) {
            return false;
        }
    }
    if (!post_bad(b, pair, k)) {
        return false;
    }
    /* every other one unsignalled: a flush completes them all the same */
    for (unsigned i = 0; i < BEHIND; i++) {
        if (!err_send(b, &pair->a, IBV_WR_SEND, 2 + i,
                      i % 2 ? IBV_SEND_SIGNALED : 0, KEY_GOOD, KEY_GOOD)) {
            return false;
        }
    }
    return true;
}

/*
 * What a read or an atomic brings back is stored long after what is queued
 * behind was sent: the responder may have taken that in good faith.
 */
static bool may_overtake(const struct rc_case *k)
{
    return k->op == READ || k->op == FETCH_ADD || k->op == CMP_SWAP;
}

static bool receives_right(struct bench *b, struct rig_pair *pair,
                           const struct rc_case *k)
{
    unsigned taken = !!k->far;

    if (!responder_fails(k) && may_overtake(k)) {
        return true;
    }
    if (!responder_fails(k)) {
        return rig_quiet(pair->b.cq, ERRORS_QUIET_MS) ||
               err_why(b, "the responder completes something");
    }
    if (taken && !err_fails(b, pair->b.cq, 100, k->far, k->far_vendor)) {
        return err_why(b, "at the responder");
    }
    return err_flushed(b, pair->b.cq, 100 + taken, RECEIVES - taken);
}

static bool memory_right(struct bench *b, const struct rc_case *k)
{
    bool scatter = k->far; /* how much arrived is not promised */

    for (unsigned i = 0; !scatter && i < ERRORS_BUF; i++) {
        if (b->dst[i]) {
            return err_why(b, "byte %u was written", i);
        }
    }
    return true;
}

static bool rc_run(struct bench *b, struct rig_pair *pair,
                   const struct rc_case *k)
{
    enum ibv_qp_state bb = responder_fails(k) ? IBV_QPS_ERR : IBV_QPS_RTS;

    if (!post_all(b, pair, k) ||
        !err_fails(b, pair->a.cq, 1, k->near, k->near_vendor) ||
        !err_flushed(b, pair->a.cq, 2, BEHIND) ||
        !receives_right(b, pair, k) ||
        !err_states(b, pair, IBV_QPS_ERR, bb) || !memory_right(b, k)) {
        return false;
    }
    if (k->event && b->mlx5 &&
        !rig_async(&b->rig, k->event, 2000)) {
        return err_why(b, "no event %s", ibv_event_type_str(k->event));
    }
    pair->attr.access_b = -1;
    return err_recover(b, pair);
}

/* A request without bytes touches no memory: its keys are not looked at. */
static void zero_length(struct bench *b, enum ibv_wr_opcode op,
                        const char *name)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct ibv_send_wr wr = { .wr_id = 5, .opcode = op,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    struct rig_pair pair;
    bool ok;

    rig_pair_make(&b->rig, &pair, &attr);
    wr.wr.rdma.remote_addr = 0x1000;
    wr.wr.rdma.rkey = b->key[KEY_BAD];
    ok = !ibv_post_send(pair.a.qp, &wr, &bad) &&
         err_expect(b, pair.a.cq, 5, IBV_WC_SUCCESS) &&
         err_states(b, &pair, IBV_QPS_RTS, IBV_QPS_RTS) &&
         err_works(b, &pair);
    rig_pair_free(&pair);
    err_report(b, name, ok);
}

void errors_rc(struct bench *b)
{
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_pair_attr attr = { RIG_DEFAULTS };
        struct rig_pair pair;
        bool ok;

        attr.access_b = cases[i].access_b ? cases[i].access_b : -1;
        memset(b->dst, 0, ERRORS_BUF);
        rig_pair_make(&b->rig, &pair, &attr);
        ok = rc_run(b, &pair, &cases[i]);
        rig_pair_free(&pair);
        err_report(b, cases[i].name, ok);
    }
    zero_length(b, IBV_WR_RDMA_WRITE, "write-nothing-with-bad-rkey");
    zero_length(b, IBV_WR_RDMA_READ, "read-nothing-with-bad-rkey");
}
