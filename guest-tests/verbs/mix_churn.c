/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers of verbs_mix whose objects come and go: regions, windows, queue
 * pairs, completion queues. What was freed must not be reachable any more.
 */
#define _GNU_SOURCE
#include "mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AREA (512u << 10)
#define CELLS 16

struct area {
    uint8_t src[AREA], dst[AREA];
};

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
                    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct area *area_new(void)
{
    struct area *a = aligned_alloc(4096, sizeof(*a));

    rig_noise(a->src, 4096);
    memset(a->src + 4096, rig_below(256), AREA - 4096);
    memset(a->dst, 0, AREA);
    return a;
}

/* Write @len bytes from the start of one region into the other. */
static bool write_post(struct mix_worker *w, struct rig_pair *pair,
                       const void *src, uint32_t lkey, const void *dst,
                       uint32_t rkey, size_t len)
{
    struct ibv_sge sge = { (uintptr_t)src, len, lkey };
    struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = len > 0,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED,
                              .wr.rdma = { (uintptr_t)dst, rkey } }, *bad;
    int rc = ibv_post_send(pair->a.qp, &wr, &bad);

    return !rc || mix_fail(w, "post_send: %s", strerror(rc));
}

static bool write_all(struct mix_worker *w, struct rig_pair *pair,
                      struct area *a, uint32_t lkey, uint32_t rkey,
                      size_t len)
{
    struct ibv_wc wc;

    if (!write_post(w, pair, a->src, lkey, a->dst, rkey, len) ||
        !mix_wait(w, pair->a.cq, &wc)) {
        return false;
    }
    w->messages++;
    w->bytes += len;
    return !memcmp(a->src, a->dst, len) ||
           mix_fail(w, "%zu bytes differ", len);
}

/* A write with a dead key must fail, with the right status, and end the pair. */
static bool must_fail(struct mix_worker *w, struct rig_pair *pair,
                      struct area *a, uint32_t lkey, uint32_t rkey)
{
    struct ibv_wc wc;

    if (!write_post(w, pair, a->src, lkey, a->dst, rkey, 8)) {
        return false;
    }
    if (mix_wait(w, pair->a.cq, &wc)) {
        return mix_fail(w, "a key that was freed can be written with");
    }
    w->why[0] = 0;
    return wc.status == IBV_WC_REM_ACCESS_ERR ||
           mix_fail(w, "a freed key gives: %s", ibv_wc_status_str(wc.status));
}

/* ---- memory regions ---- */

static bool mr_cycle(struct mix_worker *w, struct rig_pair *pair,
                     struct area *a, struct ibv_mr *src, uint32_t *dead)
{
    size_t len = 1 + rig_below(rig_below(2) ? AREA : 8192);
    struct ibv_mr *dst = ibv_reg_mr(w->rig->pd, a->dst, len, ALL_ACCESS);
    size_t longer = len + rig_below(AREA - len + 1);
    bool ok;

    if (!dst) {
        return mix_fail(w, "ibv_reg_mr: %s", strerror(errno));
    }
    memset(a->dst, 0, len);
    ok = write_all(w, pair, a, src->lkey, dst->rkey, len);
    if (ok && rig_below(3) == 0) {
        int rc = ibv_rereg_mr(dst, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
                              a->dst, longer, 0);

        ok = rc ? mix_fail(w, "ibv_rereg_mr: %d", rc)
                : write_all(w, pair, a, src->lkey, dst->rkey, longer);
    }
    *dead = dst->rkey;
    ibv_dereg_mr(dst);
    return ok;
}

bool mix_mr_round(struct mix_worker *w)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct area *a = area_new();
    struct ibv_mr *src = ibv_reg_mr(w->rig->pd, a->src, AREA, 0);
    struct rig_pair pair;
    uint32_t dead = 0;
    bool ok = true;

    rig_pair_make(w->rig, &pair, &attr);
    for (unsigned i = 0; ok && i < 32; i++) {
        ok = mr_cycle(w, &pair, a, src, &dead);
    }
    ok = ok && must_fail(w, &pair, a, src->lkey, dead);
    rig_pair_free(&pair);
    ibv_dereg_mr(src);
    free(a);
    return ok;
}

/* ---- memory windows ---- */

struct mw_state {
    struct area *a;
    struct ibv_mr *src, *dst;
};

bool mix_mw_begin(struct mix_worker *w)
{
    struct mw_state *s = calloc(1, sizeof(*s));

    if (!(w->rig->dev.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B)) {
        free(s);
        return mix_fail(w, "the device has no memory windows");
    }
    s->a = area_new();
    s->src = rig_mr(w->rig, s->a->src, AREA, 0);
    s->dst = rig_mr(w->rig, s->a->dst, AREA,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    w->state = s;
    return true;
}

void mix_mw_end(struct mix_worker *w)
{
    struct mw_state *s = w->state;

    ibv_dereg_mr(s->src);
    ibv_dereg_mr(s->dst);
    free(s->a);
    free(s);
}

static bool post_wait(struct mix_worker *w, struct rig_side *side,
                      struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    struct ibv_wc wc;
    int rc;

    wr->send_flags = IBV_SEND_SIGNALED;
    rc = ibv_post_send(side->qp, wr, &bad);
    return rc ? mix_fail(w, "post_send: %s", strerror(rc))
              : mix_wait(w, side->cq, &wc);
}

/* Bind on the side that owns the memory, write from the other one. */
static bool mw_cycle(struct mix_worker *w, struct rig_pair *pair,
                     struct ibv_mw *mw, uint32_t *dead)
{
    struct mw_state *s = w->state;
    size_t len = 1 + rig_below(AREA);
    uint32_t rkey = ibv_inc_rkey(mw->rkey);
    struct ibv_send_wr bind = {
        .opcode = IBV_WR_BIND_MW,
        .bind_mw = { mw, rkey, { s->dst, (uintptr_t)s->a->dst, len,
                                 IBV_ACCESS_REMOTE_WRITE } },
    };
    struct ibv_send_wr invalidate = { .opcode = IBV_WR_LOCAL_INV,
                                      .invalidate_rkey = rkey };

    memset(s->a->dst, 0, len);
    if (!post_wait(w, &pair->b, &bind) ||
        !write_all(w, pair, s->a, s->src->lkey, rkey, len) ||
        !post_wait(w, &pair->b, &invalidate)) {
        return false;
    }
    mw->rkey = *dead = rkey;
    return true;
}

bool mix_mw_round(struct mix_worker *w)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct mw_state *s = w->state;
    struct ibv_mw *mw = ibv_alloc_mw(w->rig->pd, IBV_MW_TYPE_2);
    struct rig_pair pair;
    uint32_t dead = 0;
    bool ok = mw || mix_fail(w, "ibv_alloc_mw: %s", strerror(errno));

    rig_pair_make(w->rig, &pair, &attr);
    for (unsigned i = 0; ok && i < 32; i++) {
        ok = mw_cycle(w, &pair, mw, &dead);
    }
    ok = ok && must_fail(w, &pair, s->a, s->src->lkey, dead);
    rig_pair_free(&pair);
    if (mw) {
        ibv_dealloc_mw(mw);
    }
    return ok;
}

/* ---- queue pairs ---- */

/* One that is destroyed with receives and sends outstanding. */
static bool qp_cycle(struct mix_worker *w, struct area *a, struct ibv_mr *src,
                     struct ibv_mr *dst)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct ibv_sge sge = { (uintptr_t)a->dst, 64, dst->lkey };
    struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
    struct rig_pair pair;
    bool ok;

    attr.send_wr = 1 + rig_below(256);
    attr.recv_wr = 1 + rig_below(256);
    attr.inline_bytes = rig_below(128);
    rig_pair_make(w->rig, &pair, &attr);
    memset(a->dst, 0, 4096);
    ok = write_all(w, &pair, a, src->lkey, dst->rkey, rig_below(4096));
    for (unsigned i = 0; ok && i < rig_below(8); i++) {
        ok = !ibv_post_recv(pair.b.qp, &wr, &bad) || i >= attr.recv_wr;
    }
    if (ok && rig_below(2)) {
        ok = write_post(w, &pair, a->src, src->lkey, a->dst, dst->rkey, AREA);
    } else if (ok && rig_below(2)) {
        rig_to_state(&pair.a, IBV_QPS_ERR);
    }
    rig_pair_free(&pair);
    return ok;
}

bool mix_qp_round(struct mix_worker *w)
{
    struct area *a = area_new();
    struct ibv_mr *src = ibv_reg_mr(w->rig->pd, a->src, AREA, 0);
    struct ibv_mr *dst = ibv_reg_mr(w->rig->pd, a->dst, AREA, ALL_ACCESS);
    bool ok = true;

    for (unsigned i = 0; ok && i < 16; i++) {
        ok = qp_cycle(w, a, src, dst);
    }
    ibv_dereg_mr(src);
    ibv_dereg_mr(dst);
    free(a);
    return ok;
}

/* ---- completion queues ---- */

/* Resize a queue while completions are in it: none may get lost. */
static bool cq_cycle(struct mix_worker *w, struct rig_pair *pair,
                     struct ibv_cq *cq, struct area *a, struct ibv_mr *src,
                     struct ibv_mr *dst)
{
    unsigned n = 1 + rig_below(32);
    struct ibv_wc wc;
    bool ok = true;
    int rc;

    for (unsigned i = 0; ok && i < n; i++) {
        ok = write_post(w, pair, a->src, src->lkey, a->dst, dst->rkey,
                        1 + rig_below(4096));
    }
    rc = ibv_resize_cq(cq, 128 + rig_below(2048));
    if (rc) {
        return mix_fail(w, "ibv_resize_cq: %s", strerror(rc));
    }
    for (unsigned i = 0; ok && i < n; i++) {
        ok = mix_wait(w, cq, &wc);
        w->messages += ok;
    }
    return ok;
}

bool mix_cq_round(struct mix_worker *w)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct area *a = area_new();
    struct ibv_mr *src = ibv_reg_mr(w->rig->pd, a->src, AREA, 0);
    struct ibv_mr *dst = ibv_reg_mr(w->rig->pd, a->dst, AREA, ALL_ACCESS);
    struct ibv_cq *cq = ibv_create_cq(w->rig->ctx, 128, NULL, NULL, 0);
    struct rig_pair pair;
    bool ok = true;

    attr.cq = cq;
    rig_pair_make(w->rig, &pair, &attr);
    for (unsigned i = 0; ok && i < 16; i++) {
        ok = cq_cycle(w, &pair, cq, a, src, dst);
    }
    rig_pair_free(&pair);
    ibv_destroy_cq(cq);
    ibv_dereg_mr(src);
    ibv_dereg_mr(dst);
    free(a);
    return ok;
}

/* ---- atomics ---- */

static bool atomic_one(struct mix_worker *w, struct rig_pair *pair,
                       uint64_t *mem, uint64_t *model, struct ibv_mr *mr)
{
    unsigned i = rig_below(CELLS);
    bool swap = rig_below(2), hit = rig_below(2);
    uint64_t before = model[i], arg = rig_rand();
    struct ibv_sge sge = { (uintptr_t)&mem[CELLS], 8, mr->lkey };
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1,
        .opcode = swap ? IBV_WR_ATOMIC_CMP_AND_SWP
                       : IBV_WR_ATOMIC_FETCH_AND_ADD,
        .wr.atomic = { (uintptr_t)&mem[i], swap ? before + !hit : arg, arg,
                       mr->rkey },
    };

    model[i] = !swap ? before + arg : hit ? arg : before;
    w->messages++;
    w->bytes += 8;
    return post_wait(w, &pair->a, &wr) &&
           ((mem[CELLS] == before && mem[i] == model[i]) ||
            mix_fail(w, "%s: was %#lx, is %#lx, returned %#lx",
                     swap ? "compare and swap" : "fetch and add",
                     (unsigned long)before, (unsigned long)mem[i],
                     (unsigned long)mem[CELLS]));
}

bool mix_atomic_round(struct mix_worker *w)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    uint64_t mem[CELLS + 1], model[CELLS];
    struct ibv_mr *mr = ibv_reg_mr(w->rig->pd, mem, sizeof(mem), ALL_ACCESS);
    struct rig_pair pair;
    bool ok = mr || mix_fail(w, "ibv_reg_mr: %s", strerror(errno));

    rig_noise(mem, sizeof(mem));
    memcpy(model, mem, sizeof(model));
    rig_pair_make(w->rig, &pair, &attr);
    for (unsigned i = 0; ok && i < 128; i++) {
        ok = atomic_one(w, &pair, mem, model, mr);
    }
    rig_pair_free(&pair);
    if (mr) {
        ibv_dereg_mr(mr);
    }
    return ok;
}
