/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subjects of verbs_check about order and counting: atomics against a model,
 * rings that wrap their 16-bit counters, fences, many queue pairs on one
 * completion queue.
 */
#include "check.h"
#include "tap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define CELLS 64
#define RING 16

/* One atomic in flight: which cell, and what it must return. */
struct atomic_op {
    struct ibv_send_wr wr;
    struct ibv_sge sge;
    uint64_t before;
};

static uint64_t *cells(struct check *c)
{
    return (uint64_t *)c->dst;
}

static uint64_t *results(struct check *c)
{
    return (uint64_t *)(c->dst + 65536);
}

static void atomic_plan(struct check *c, struct atomic_op *op, unsigned slot,
                        uint64_t *model)
{
    unsigned i = rig_below(CELLS);
    bool cas = rig_below(2);
    uint64_t arg = rig_rand();

    memset(op, 0, sizeof(*op));
    op->before = model[i];
    op->sge = (struct ibv_sge){ (uintptr_t)&results(c)[slot], 8,
                                c->dst_mr->lkey };
    op->wr.wr_id = slot;
    op->wr.sg_list = &op->sge;
    op->wr.num_sge = 1;
    op->wr.send_flags = IBV_SEND_SIGNALED;
    op->wr.wr.atomic.remote_addr = (uintptr_t)&cells(c)[i];
    op->wr.wr.atomic.rkey = c->dst_mr->rkey;
    if (cas) {
        bool hit = rig_below(2);

        op->wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
        op->wr.wr.atomic.compare_add = hit ? model[i] : model[i] + 1;
        op->wr.wr.atomic.swap = arg;
        model[i] = hit ? arg : model[i];
    } else {
        op->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        op->wr.wr.atomic.compare_add = arg;
        model[i] += arg;
    }
}

static bool atomic_wait(struct check *c, struct rig_pair *pair,
                        struct atomic_op *op, unsigned slot)
{
    bool cas = op->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    struct ibv_wc wc;

    if (!rig_poll(pair->a.cq, &wc, RIG_WAIT_MS)) {
        return check_fail(c, "no completion");
    }
    if (wc.status || wc.wr_id != slot ||
        wc.opcode != (cas ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD)) {
        return check_fail(c, "%s, opcode %u, id %llu not %u",
                          ibv_wc_status_str(wc.status), wc.opcode,
                          (unsigned long long)wc.wr_id, slot);
    }
    if (results(c)[slot] != op->before) {
        return check_fail(c, "%s returned %#llx not %#llx",
                          cas ? "compare and swap" : "fetch and add",
                          (unsigned long long)results(c)[slot],
                          (unsigned long long)op->before);
    }
    return true;
}

static bool atomic_batch(struct check *c, struct rig_pair *pair,
                         uint64_t *model)
{
    struct atomic_op op[RING];
    struct ibv_send_wr *bad;
    bool ok = true;

    for (unsigned i = 0; i < RING; i++) {
        atomic_plan(c, &op[i], i, model);
        if (ibv_post_send(pair->a.qp, &op[i].wr, &bad)) {
            return check_fail(c, "post_send");
        }
    }
    for (unsigned i = 0; ok && i < RING; i++) {
        ok = atomic_wait(c, pair, &op[i], i);
    }
    return ok;
}

void check_atomics(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    uint64_t model[CELLS];
    unsigned rounds = c->full ? 2000 : 100;
    bool ok = true;

    if (c->rig.dev.atomic_cap == IBV_ATOMIC_NONE) {
        tap_skip("rc-atomics", "the device has none");
        return;
    }
    attr.send_wr = RING;
    rig_noise(cells(c), sizeof(model));
    memcpy(model, cells(c), sizeof(model));
    rig_pair_make(&c->rig, &pair, &attr);
    for (unsigned i = 0; ok && i < rounds; i++) {
        ok = atomic_batch(c, &pair, model);
    }
    if (ok && memcmp(model, cells(c), sizeof(model))) {
        ok = check_fail(c, "the cells differ from the model");
    }
    rig_pair_free(&pair);
    tap_check(ok, "rc-atomics", "%s %u operations", c->why, rounds * RING);
}

static int post_small(struct check *c, struct rig_pair *pair, uint64_t id,
                      bool send, unsigned flags)
{
    uint32_t slot = id % RING * 8;
    struct ibv_sge sge = { (uintptr_t)c->src + slot, 8, c->src_mr->lkey };
    struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
                              .opcode = send ? IBV_WR_SEND
                                             : IBV_WR_RDMA_WRITE,
                              .send_flags = flags }, *bad;

    memcpy(c->src + slot, &id, 8);
    wr.wr.rdma.remote_addr = (uintptr_t)c->dst + slot;
    wr.wr.rdma.rkey = c->dst_mr->rkey;
    return ibv_post_send(pair->a.qp, &wr, &bad);
}

static int post_small_recv(struct check *c, struct rig_pair *pair, uint64_t id)
{
    uint32_t slot = id % RING * 8;
    struct ibv_sge sge = { (uintptr_t)c->dst + slot, 8, c->dst_mr->lkey };
    struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 },
                       *bad;

    return ibv_post_recv(pair->b.qp, &wr, &bad);
}

static bool wrap_wait(struct check *c, struct ibv_cq *cq, uint64_t id)
{
    struct ibv_wc wc;

    if (!rig_poll(cq, &wc, RIG_WAIT_MS)) {
        return check_fail(c, "no completion of %llu", (unsigned long long)id);
    }
    if (wc.status || wc.wr_id != id) {
        return check_fail(c, "%s, id %llu not %llu",
                          ibv_wc_status_str(wc.status),
                          (unsigned long long)wc.wr_id,
                          (unsigned long long)id);
    }
    return true;
}

/* Post half a ring, the last one signalled; then look at what arrived. */
static bool wrap_half(struct check *c, struct rig_pair *pair, uint64_t first,
                      bool send)
{
    const unsigned n = RING / 2;
    uint64_t last = first + n - 1, got;
    bool ok = true;

    for (unsigned i = 0; i < n; i++) {
        if (send && post_small_recv(c, pair, first + i)) {
            return check_fail(c, "post_recv");
        }
        if (post_small(c, pair, first + i, send,
                       i == n - 1 ? IBV_SEND_SIGNALED : 0)) {
            return check_fail(c, "post_send");
        }
    }
    for (unsigned i = 0; send && ok && i < n; i++) {
        ok = wrap_wait(c, pair->b.cq, first + i);
    }
    ok = ok && wrap_wait(c, pair->a.cq, last);
    memcpy(&got, c->dst + last % RING * 8, 8);
    return ok && (got == last || check_fail(c, "%llu arrived, not %llu",
                                            (unsigned long long)got,
                                            (unsigned long long)last));
}

/* More posts than the 16 bits of a doorbell record count. */
void check_wrap(struct check *c)
{
    static const char *const name[] = { "rc-wrap-write", "rc-wrap-send" };
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    const uint64_t n = 70000;

    attr.send_wr = attr.recv_wr = RING;
    for (unsigned send = 0; send < 2; send++) {
        int64_t start = rig_now_ms();
        bool ok = true;

        c->why[0] = 0;
        rig_pair_make(&c->rig, &pair, &attr);
        for (uint64_t i = 0; ok && i < n; i += RING / 2) {
            ok = wrap_half(c, &pair, i, send);
        }
        rig_pair_free(&pair);
        tap_check(ok, name[send], "%s %llu messages, %lld ms", c->why,
                  (unsigned long long)n, (long long)(rig_now_ms() - start));
    }
}

/* A fenced send must carry what the read before it brought. */
static bool fence_once(struct check *c, struct rig_pair *pair)
{
    uint32_t far = rig_below(CHECK_ARENA - 8192), len = 1 + rig_below(8192);
    struct ibv_sge tmp = { (uintptr_t)c->dst, len, c->dst_mr->lkey };
    struct ibv_sge in = { (uintptr_t)c->dst + 65536, len, c->dst_mr->lkey };
    struct ibv_send_wr read = { .wr_id = 1, .sg_list = &tmp, .num_sge = 1,
                                .opcode = IBV_WR_RDMA_READ }, *bad;
    struct ibv_send_wr send = { .wr_id = 2, .sg_list = &tmp, .num_sge = 1,
                                .opcode = IBV_WR_SEND,
                                .send_flags = IBV_SEND_FENCE |
                                              IBV_SEND_SIGNALED };
    struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = &in, .num_sge = 1 },
                       *rbad;

    read.wr.rdma.remote_addr = (uintptr_t)c->src + far;
    read.wr.rdma.rkey = c->src_mr->rkey;
    read.next = &send;
    memset(c->dst, 0, len);
    if (ibv_post_recv(pair->b.qp, &recv, &rbad) ||
        ibv_post_send(pair->a.qp, &read, &bad)) {
        return check_fail(c, "post");
    }
    if (!wrap_wait(c, pair->b.cq, 3) || !wrap_wait(c, pair->a.cq, 2)) {
        return false;
    }
    return !memcmp(c->src + far, c->dst + 65536, len) ||
           check_fail(c, "%u bytes: the send overtook the read", len);
}

void check_fence(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok = true;

    rig_pair_make(&c->rig, &pair, &attr);
    for (unsigned i = 0; ok && i < 200; i++) {
        ok = fence_once(c, &pair);
    }
    rig_pair_free(&pair);
    tap_check(ok, "fence", "%s 200 reads, each followed by a send", c->why);
}

#define CODES 200

/* x86: mov $@value, %eax; ret. */
static size_t put_code(uint8_t *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
    return 6;
}

/* Write a function over the one that ran before, and call it. */
static bool code_once(struct check *c, struct rig_pair *pair, void *code,
                      uint32_t rkey, uint32_t value)
{
    size_t len = put_code(c->dst, value);
    struct ibv_sge sge = { (uintptr_t)c->dst, len, c->dst_mr->lkey };
    struct ibv_send_wr wr = { .wr_id = value, .sg_list = &sge, .num_sge = 1,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    uint32_t (*function)(void);

    wr.wr.rdma.remote_addr = (uintptr_t)code;
    wr.wr.rdma.rkey = rkey;
    if (ibv_post_send(pair->a.qp, &wr, &bad)) {
        return check_fail(c, "post");
    }
    if (!wrap_wait(c, pair->a.cq, value)) {
        return false;
    }
    memcpy(&function, &code, sizeof(function));
    return function() == value || check_fail(c, "an old function ran");
}

/*
 * What the card writes over code that ran is what runs next: an emulator that
 * keeps what it translated has to hear of it.
 */
void check_code(struct check *c)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    bool ok = true;
    struct ibv_mr *mr;
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (code == MAP_FAILED) {
        tap_die("no memory for code: %s", strerror(errno));
    }
    mr = rig_mr(&c->rig, code, 4096,
                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    rig_pair_make(&c->rig, &pair, &attr);
    for (uint32_t i = 0; ok && i < CODES; i++) {
        ok = code_once(c, &pair, code, mr->rkey, i);
    }
    rig_pair_free(&pair);
    ibv_dereg_mr(mr);
    munmap(code, 4096);
    tap_check(ok, "code", "%s %u functions, each written over the last",
              c->why, CODES);
}

#define PAIRS 32
#define EACH 24

/* Each pair sends its own numbers; one queue takes all completions. */
static bool many_collect(struct check *c, struct rig_pair *pair)
{
    unsigned sent[PAIRS] = { 0 }, received[PAIRS] = { 0 };
    struct ibv_wc wc;

    for (unsigned n = 0; n < 2 * PAIRS * EACH; n++) {
        unsigned p = 0, *next;

        if (!rig_poll(pair[0].a.cq, &wc, RIG_WAIT_MS)) {
            return check_fail(c, "%u of %u completions", n, 2 * PAIRS * EACH);
        }
        while (p < PAIRS && pair[p].a.qp->qp_num != wc.qp_num &&
               pair[p].b.qp->qp_num != wc.qp_num) {
            p++;
        }
        if (p == PAIRS || wc.status) {
            return check_fail(c, "QP %#x: %s", wc.qp_num,
                              ibv_wc_status_str(wc.status));
        }
        next = pair[p].a.qp->qp_num == wc.qp_num ? &sent[p] : &received[p];
        if (wc.wr_id != (*next)++) {
            return check_fail(c, "pair %u: id %llu not %u", p,
                              (unsigned long long)wc.wr_id, *next - 1);
        }
    }
    return true;
}

static bool many_post(struct check *c, struct rig_pair *pair)
{
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned p = 0; p < PAIRS; p++) {
            if (post_small_recv(c, &pair[p], i) ||
                post_small(c, &pair[p], i, true, IBV_SEND_SIGNALED)) {
                return check_fail(c, "post, pair %u", p);
            }
        }
    }
    return true;
}

void check_many_qps(struct check *c)
{
    static struct rig_pair pair[PAIRS];
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    bool ok;

    attr.send_wr = attr.recv_wr = EACH;
    attr.cq = ibv_create_cq(c->rig.ctx, 2 * PAIRS * EACH, NULL, NULL, 0);
    if (!attr.cq) {
        tap_die("ibv_create_cq: %s", strerror(errno));
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        rig_pair_make(&c->rig, &pair[i], &attr);
    }
    ok = many_post(c, pair) && many_collect(c, pair);
    for (unsigned i = 0; i < PAIRS; i++) {
        rig_pair_free(&pair[i]);
    }
    ok = !ibv_destroy_cq(attr.cq) && ok;
    tap_check(ok, "many-qps", "%s %u pairs, one completion queue", c->why,
              PAIRS);
}
