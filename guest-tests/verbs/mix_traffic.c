/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers of verbs_mix that move messages between connected queue pairs:
 * batches of random operations, lengths and scatter lists.
 */
#define _GNU_SOURCE
#include "mix.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SRC_LEN (1u << 20)
#define SLOT (256u << 10) /* where one message of a batch lands */
#define BATCH 8
#define PAIRS 4           /* that share one SRQ */
#define SGES 4
#define GRH 40
#define GUARD 0xa5

struct msg {
    enum ibv_wr_opcode op;
    unsigned pair;
    size_t from, len;
    uint8_t *at; /* where it lands */
    bool came;
};

struct traffic {
    enum mix_mode mode;
    unsigned pairs, n;
    uint8_t *src, *dst;
    struct ibv_mr *src_mr, *dst_mr;
    struct ibv_comp_channel *channel;
    struct ibv_srq *srq;
    struct rig_pair pair[PAIRS];
    struct msg msg[BATCH];
};

static const enum ibv_wr_opcode rc_ops[] = {
    IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
    IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
};

/* Of rc_ops, from the front: those a mode may use. */
static const struct {
    enum ibv_qp_type type;
    unsigned first, ops;
    size_t max;
} modes[] = {
    [MIX_RC] = { IBV_QPT_RC, 0, 5, SLOT - 2 * GRH },
    [MIX_UC] = { IBV_QPT_UC, 0, 4, SLOT - 2 * GRH },
    [MIX_UD] = { IBV_QPT_UD, 0, 2, 0 },
    [MIX_SRQ] = { IBV_QPT_RC, 1, 1, SLOT - 2 * GRH },
    [MIX_EVENTS] = { IBV_QPT_RC, 0, 5, SLOT - 2 * GRH },
    [MIX_ODP] = { IBV_QPT_RC, 0, 5, SLOT - 2 * GRH },
};

static uint8_t *pages(size_t len)
{
    uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void make_pairs(struct mix_worker *w, struct traffic *t)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };

    attr.type = modes[t->mode].type;
    attr.sge = SGES;
    attr.channel = t->channel;
    attr.srq = t->srq;
    for (unsigned i = 0; i < t->pairs; i++) {
        rig_pair_make(w->rig, &t->pair[i], &attr);
        if (t->channel) {
            ibv_req_notify_cq(t->pair[i].a.cq, 0);
        }
    }
}

bool mix_traffic_begin(struct mix_worker *w)
{
    struct traffic *t = calloc(1, sizeof(*t));
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                 IBV_ACCESS_REMOTE_READ;
    struct ibv_srq_init_attr srq = { .attr = { 64, SGES, 0 } };

    t->mode = w->kind->arg;
    t->pairs = t->mode == MIX_SRQ ? PAIRS : 1;
    t->src = pages(SRC_LEN);
    t->dst = pages(BATCH * SLOT);
    if (!t->src || !t->dst) {
        return mix_fail(w, "no memory");
    }
    rig_noise(t->src, SRC_LEN);
    access |= t->mode == MIX_ODP ? IBV_ACCESS_ON_DEMAND : 0;
    t->src_mr = ibv_reg_mr(w->rig->pd, t->src, SRC_LEN, access);
    t->dst_mr = ibv_reg_mr(w->rig->pd, t->dst, BATCH * SLOT, access);
    if (!t->src_mr || !t->dst_mr) {
        return mix_fail(w, "ibv_reg_mr: %s", strerror(errno));
    }
    if (t->mode == MIX_EVENTS) {
        t->channel = ibv_create_comp_channel(w->rig->ctx);
    }
    if (t->mode == MIX_SRQ) {
        t->srq = ibv_create_srq(w->rig->pd, &srq);
    }
    w->state = t;
    make_pairs(w, t);
    return true;
}

void mix_traffic_end(struct mix_worker *w)
{
    struct traffic *t = w->state;

    for (unsigned i = 0; i < t->pairs; i++) {
        rig_pair_free(&t->pair[i]);
    }
    if (t->srq) {
        ibv_destroy_srq(t->srq);
    }
    if (t->channel) {
        ibv_destroy_comp_channel(t->channel);
    }
    ibv_dereg_mr(t->src_mr);
    ibv_dereg_mr(t->dst_mr);
    munmap(t->src, SRC_LEN);
    munmap(t->dst, BATCH * SLOT);
    free(t);
}

/* ---- posting ---- */

static bool receives(const struct msg *m)
{
    return m->op != IBV_WR_RDMA_WRITE && m->op != IBV_WR_RDMA_READ;
}

/* Cut @len bytes at @addr into 1..SGES pieces, some of them short. */
static int cut(struct ibv_sge *sge, uint8_t *addr, size_t len, uint32_t key)
{
    int n = 1 + rig_below(SGES), i;

    for (i = 0; i < n && (len || !i); i++) {
        size_t piece = i == n - 1 ? len : rig_below(len + 1);

        /* A length of 0 would mean 2 GiB. */
        if (!piece && len) {
            piece = 1;
        }
        sge[i] = (struct ibv_sge){ (uintptr_t)addr, piece, key };
        addr += piece;
        len -= piece;
    }
    return sge[0].length ? i : 0;
}

static bool post_recv(struct mix_worker *w, struct traffic *t, unsigned slot,
                      unsigned pair)
{
    bool ud = t->mode == MIX_UD;
    uint8_t *at = t->dst + slot * SLOT + GRH;
    struct ibv_sge sge[SGES + 1] = { { (uintptr_t)at - GRH, GRH,
                                       t->dst_mr->lkey } };
    struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = sge + !ud }, *bad;
    int rc;

    /* With a GRH in front one entry fewer is left. */
    if (ud) {
        sge[1] = (struct ibv_sge){ (uintptr_t)at, 4096, t->dst_mr->lkey };
        wr.num_sge = 2;
    } else {
        wr.num_sge = cut(sge + 1, at, SLOT - 2 * GRH, t->dst_mr->lkey);
    }
    rc = t->srq ? ibv_post_srq_recv(t->srq, &wr, &bad)
                : ibv_post_recv(t->pair[pair].b.qp, &wr, &bad);
    return !rc || mix_fail(w, "post_recv: %s", strerror(rc));
}

static void plan(struct mix_worker *w, struct traffic *t, unsigned slot)
{
    struct msg *m = &t->msg[slot];
    size_t max = modes[t->mode].max;

    max = max ? max : 128u << w->rig->port.active_mtu;
    *m = (struct msg){
        .op = rc_ops[modes[t->mode].first + rig_below(modes[t->mode].ops)],
        .pair = rig_below(t->pairs),
        .len = rig_below(4) ? rig_below(rig_below(4) ? 4096 : max + 1) : 0,
        .at = t->dst + slot * SLOT + GRH,
    };
    m->len = m->len > max ? max : m->len;
    m->from = rig_below(SRC_LEN - m->len);
    m->at[m->len] = GUARD;
}

static bool post_send(struct mix_worker *w, struct traffic *t, unsigned slot)
{
    struct msg *m = &t->msg[slot];
    struct rig_pair *pair = &t->pair[m->pair];
    bool read = m->op == IBV_WR_RDMA_READ;
    struct ibv_sge sge[SGES];
    struct ibv_send_wr wr = { .wr_id = slot, .sg_list = sge, .opcode = m->op,
                              .imm_data = slot,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    int rc;

    wr.num_sge = read ? cut(sge, m->at, m->len, t->dst_mr->lkey)
                      : cut(sge, t->src + m->from, m->len, t->src_mr->lkey);
    if (t->mode == MIX_UD) {
        wr.wr.ud.ah = pair->ah;
        wr.wr.ud.remote_qpn = pair->b.qp->qp_num;
        wr.wr.ud.remote_qkey = RIG_QKEY;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)(read ? t->src + m->from : m->at);
        wr.wr.rdma.rkey = read ? t->src_mr->rkey : t->dst_mr->rkey;
    }
    rc = ibv_post_send(pair->a.qp, &wr, &bad);
    return !rc || mix_fail(w, "post_send: %s", strerror(rc));
}

/* ---- completions ---- */

static bool sleep_for(struct mix_worker *w, struct traffic *t,
                      struct ibv_cq *cq, struct ibv_wc *wc)
{
    struct pollfd fd = { .fd = t->channel->fd, .events = POLLIN };
    struct ibv_cq *which;
    void *context;

    /* What came before the arming makes no event. */
    while (ibv_poll_cq(cq, 1, wc) == 0) {
        ibv_req_notify_cq(cq, 0);
        if (ibv_poll_cq(cq, 1, wc)) {
            break;
        }
        if (poll(&fd, 1, RIG_WAIT_MS) != 1 ||
            ibv_get_cq_event(t->channel, &which, &context)) {
            return mix_fail(w, "no event within %d ms", RIG_WAIT_MS);
        }
        ibv_ack_cq_events(which, 1);
    }
    return !wc->status || mix_fail(w, "%s", ibv_wc_status_str(wc->status));
}

static bool next(struct mix_worker *w, struct traffic *t, struct ibv_cq *cq,
                 struct ibv_wc *wc)
{
    /* Only the sender's queue makes events: the receiver's are there then. */
    return t->channel && cq == t->pair[0].a.cq ? sleep_for(w, t, cq, wc)
                                               : mix_wait(w, cq, wc);
}

static bool compare(struct mix_worker *w, struct traffic *t, struct msg *m,
                    const uint8_t *at)
{
    if (memcmp(at, t->src + m->from, m->len)) {
        return mix_fail(w, "message %lu: %zu bytes differ",
                        (unsigned long)w->messages, m->len);
    }
    if (at == m->at && at[m->len] != GUARD) {
        return mix_fail(w, "message %lu: %zu bytes and one more written",
                        (unsigned long)w->messages, m->len);
    }
    m->came = true;
    w->messages++;
    w->bytes += m->len;
    return true;
}

/* A receive took buffer wr_id; which message it is, its sender's number says,
 * or the order. */
static bool take_recv(struct mix_worker *w, struct traffic *t,
                      const struct ibv_wc *wc, unsigned expected)
{
    struct msg *m = &t->msg[t->srq ? wc->imm_data % BATCH : expected];
    size_t grh = t->mode == MIX_UD ? GRH : 0;
    bool has_imm = m->op != IBV_WR_SEND;

    if (m->came) {
        return mix_fail(w, "message %u came twice", wc->imm_data);
    }
    if (wc->byte_len != m->len + grh ||
        !!(wc->wc_flags & IBV_WC_WITH_IMM) != has_imm ||
        (has_imm && wc->imm_data != (uint32_t)(m - t->msg))) {
        return mix_fail(w, "received %u bytes, flags %#x, number %u; sent %zu",
                        wc->byte_len, wc->wc_flags, wc->imm_data, m->len);
    }
    return compare(w, t, m, m->op == IBV_WR_RDMA_WRITE_WITH_IMM
                            ? m->at : t->dst + wc->wr_id * SLOT + GRH);
}

static bool collect(struct mix_worker *w, struct traffic *t)
{
    struct ibv_wc wc;

    for (unsigned i = 0; i < t->n; i++) {
        struct msg *m = &t->msg[i];
        struct rig_pair *pair = &t->pair[m->pair];

        if (!next(w, t, pair->a.cq, &wc)) {
            return false;
        }
        if (wc.wr_id != i) {
            return mix_fail(w, "completion %u is of %u", i,
                            (unsigned)wc.wr_id);
        }
        if (!receives(m) ? !compare(w, t, m, m->at)
                         : !next(w, t, pair->b.cq, &wc) ||
                           !take_recv(w, t, &wc, i)) {
            return false;
        }
    }
    return true;
}

static bool batch(struct mix_worker *w, struct traffic *t)
{
    t->n = 1 + rig_below(BATCH);
    for (unsigned i = 0; i < t->n; i++) {
        plan(w, t, i);
        if (receives(&t->msg[i]) && !post_recv(w, t, i, t->msg[i].pair)) {
            return false;
        }
    }
    for (unsigned i = 0; i < t->n; i++) {
        if (!post_send(w, t, i)) {
            return false;
        }
    }
    return collect(w, t);
}

bool mix_traffic_round(struct mix_worker *w)
{
    struct traffic *t = w->state;

    if (t->mode == MIX_ODP) {
        madvise(t->dst, BATCH * SLOT, MADV_DONTNEED);
    }
    for (unsigned i = 0; i < 8; i++) {
        if (!batch(w, t)) {
            return false;
        }
    }
    return true;
}
