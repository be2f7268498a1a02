/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The message engine of verbs_check: plan a batch, post it, collect exactly the
 * completions it must give, compare memory.
 */
#include "check.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a phase needs while it runs. */
struct run {
    struct check *c;
    const struct check_phase *p;
    struct rig_pair pair;
    struct ibv_srq *srq;
    uint32_t cursor; /* first free byte of the destination arena */
    uint32_t hi;
    unsigned max_sge;
    unsigned n;
    struct check_msg msg[CHECK_MAX_BATCH];
};

bool check_fail(struct check *c, const char *fmt, ...)
{
    va_list ap;

    if (!c->why[0]) {
        va_start(ap, fmt);
        vsnprintf(c->why, sizeof(c->why), fmt, ap);
        va_end(ap);
    }
    return false;
}

static bool op_receives(enum ibv_wr_opcode op)
{
    return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
           op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool op_sends(enum ibv_wr_opcode op)
{
    return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM;
}

static bool op_has_imm(enum ibv_wr_opcode op)
{
    return op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wr_opcode pick_op(unsigned set)
{
    unsigned skip = rig_below(__builtin_popcount(set));

    while (skip--) {
        set &= set - 1;
    }
    return __builtin_ctz(set);
}

/*
 * Take the empty pieces out. A card reads a length of 0 as 2 GiB; libmlx5
 * leaves such entries out of all lists but those of shared receive queues.
 */
static unsigned squeeze(struct check_seg *seg, unsigned n)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < n; i++) {
        if (seg[i].len) {
            seg[kept++] = seg[i];
        }
    }
    return kept;
}

/* Cut @len into at most @max pieces, some of them perhaps empty. */
static unsigned cut(uint32_t len, unsigned max, struct check_seg *seg)
{
    unsigned n = 1 + rig_below(max);

    for (unsigned i = 0; i < n; i++) {
        seg[i].len = i == n - 1 ? len : rig_below(2 * len / (n - i) + 1);
        if (seg[i].len > len) {
            seg[i].len = len;
        }
        len -= seg[i].len;
    }
    return n;
}

static void place_source(struct check_seg *seg, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        seg[i].off = rig_below(CHECK_ARENA - seg[i].len);
    }
}

static void place_dest(struct run *r, struct check_seg *seg, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        seg[i].off = r->cursor + rig_below(48);
        r->cursor = seg[i].off + seg[i].len + 1 + rig_below(16);
    }
}

/* Room of a receive: what the message needs, sometimes more. */
static void plan_receive(struct run *r, struct check_msg *m)
{
    bool ud = r->p->type == IBV_QPT_UD;
    unsigned at = 0;

    if (!op_sends(m->op)) {
        m->nremote = 0;
        return;
    }
    if (ud) {
        m->remote[at++] = (struct check_seg){ .len = CHECK_GRH };
    }
    m->nremote = at + cut(m->len, r->max_sge - at, m->remote + at);
    if (rig_below(2)) {
        m->remote[m->nremote - 1].len += rig_below(100);
    }
    if (r->srq) {
        m->nremote = squeeze(m->remote, m->nremote);
    }
    place_dest(r, m->remote, m->nremote);
}

/*
 * A completion of UC says that the message left, not that it arrived: the last
 * one of a batch is of a kind that completes at the receiver too.
 */
static unsigned ops_for(const struct check_phase *p, bool last)
{
    return last && p->type == IBV_QPT_UC
               ? p->ops & ~(1u << IBV_WR_RDMA_WRITE)
               : p->ops;
}

static void plan(struct run *r, struct check_msg *m, uint32_t len, bool last)
{
    const struct check_phase *p = r->p;

    memset(m, 0, sizeof(*m));
    m->op = pick_op(ops_for(p, last));
    m->len = len;
    m->imm = rig_rand();
    if (last || (p->flags & CHECK_ALL_SIGNALED) || rig_below(2)) {
        m->flags |= IBV_SEND_SIGNALED;
    }
    if (p->flags & CHECK_INLINE) {
        m->flags |= IBV_SEND_INLINE;
    }
    m->nlocal = cut(len, r->max_sge, m->local);
    if (m->op == IBV_WR_RDMA_READ) {
        m->remote[0].len = len;
        place_source(m->remote, 1);
        place_dest(r, m->local, m->nlocal);
        return;
    }
    place_source(m->local, m->nlocal);
    if (op_sends(m->op)) {
        plan_receive(r, m);
    } else {
        m->remote[0].len = len;
        place_dest(r, m->remote, 1);
    }
}

static unsigned to_sge(const struct check_seg *seg, unsigned n, uint8_t *base,
                       uint32_t lkey, struct ibv_sge *sge)
{
    for (unsigned i = 0; i < n; i++) {
        sge[i] = (struct ibv_sge){ .addr = (uintptr_t)base + seg[i].off,
                                   .length = seg[i].len,
                                   .lkey = lkey };
    }
    return n;
}

static bool post_receive(struct run *r, unsigned i)
{
    struct check_msg *m = &r->msg[i];
    struct ibv_sge sge[CHECK_MAX_SGE];
    struct ibv_recv_wr wr = { .wr_id = i, .sg_list = sge }, *bad;
    int rc;

    if (!op_receives(m->op)) {
        return true;
    }
    if (op_sends(m->op)) {
        wr.num_sge = to_sge(m->remote, m->nremote, r->c->dst,
                            r->c->dst_mr->lkey, sge);
    }
    rc = r->srq ? ibv_post_srq_recv(r->srq, &wr, &bad)
                : ibv_post_recv(r->pair.b.qp, &wr, &bad);
    return !rc || check_fail(r->c, "post_recv: %s", strerror(rc));
}

static bool post_send(struct run *r, unsigned i)
{
    struct check_msg *m = &r->msg[i];
    bool read = m->op == IBV_WR_RDMA_READ;
    struct ibv_mr *mr = read ? r->c->dst_mr : r->c->src_mr;
    struct ibv_sge sge[CHECK_MAX_SGE];
    struct ibv_send_wr wr = { .wr_id = i, .sg_list = sge, .opcode = m->op,
                              .send_flags = m->flags,
                              .imm_data = htonl(m->imm) }, *bad;
    int rc;

    wr.num_sge = to_sge(m->local, m->nlocal, read ? r->c->dst : r->c->src,
                        mr->lkey, sge);
    if (r->p->type == IBV_QPT_UD) {
        wr.wr.ud.ah = r->pair.ah;
        wr.wr.ud.remote_qpn = r->pair.b.qp->qp_num;
        wr.wr.ud.remote_qkey = RIG_QKEY;
    } else {
        uint8_t *far = read ? r->c->src : r->c->dst;

        wr.wr.rdma.remote_addr = (uintptr_t)far + m->remote[0].off;
        wr.wr.rdma.rkey = read ? r->c->src_mr->rkey : r->c->dst_mr->rkey;
    }
    rc = ibv_post_send(r->pair.a.qp, &wr, &bad);
    return !rc || check_fail(r->c, "post_send: %s", strerror(rc));
}

static bool wc_is(struct run *r, const struct ibv_wc *wc, unsigned i,
                  struct ibv_qp *qp, const char *what)
{
    if (wc->status != IBV_WC_SUCCESS) {
        return check_fail(r->c, "%s %u (op %u, %u bytes): %s, vendor %#x",
                          what, i, r->msg[i].op, r->msg[i].len,
                          ibv_wc_status_str(wc->status), wc->vendor_err);
    }
    if (wc->wr_id != i || wc->qp_num != qp->qp_num) {
        return check_fail(r->c, "%s %u: completion of %llu, QP %#x", what, i,
                          (unsigned long long)wc->wr_id, wc->qp_num);
    }
    return true;
}

static bool wait_sent(struct run *r, unsigned i)
{
    static const uint8_t want[] = {
        [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
        [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
        [IBV_WR_SEND] = IBV_WC_SEND,
        [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
        [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
    };
    struct check_msg *m = &r->msg[i];
    struct ibv_wc wc;

    if (!(m->flags & IBV_SEND_SIGNALED)) {
        return true;
    }
    if (!rig_poll(r->pair.a.cq, &wc, RIG_WAIT_MS)) {
        return check_fail(r->c, "no completion of send %u (op %u, %u bytes)",
                          i, m->op, m->len);
    }
    if (!wc_is(r, &wc, i, r->pair.a.qp, "send")) {
        return false;
    }
    return wc.opcode == want[m->op] ||
           check_fail(r->c, "send %u: opcode %u", i, wc.opcode);
}

static bool wait_received(struct run *r, unsigned i)
{
    struct check_msg *m = &r->msg[i];
    bool ud = r->p->type == IBV_QPT_UD;
    unsigned opcode = op_sends(m->op) ? IBV_WC_RECV
                                      : IBV_WC_RECV_RDMA_WITH_IMM;
    struct ibv_wc wc;

    if (!op_receives(m->op)) {
        return true;
    }
    if (!rig_poll(r->pair.b.cq, &wc, RIG_WAIT_MS)) {
        return check_fail(r->c, "no completion of receive %u (%u bytes)", i,
                          m->len);
    }
    if (!wc_is(r, &wc, i, r->pair.b.qp, "receive")) {
        return false;
    }
    if (wc.opcode != opcode || wc.byte_len != m->len + ud * CHECK_GRH) {
        return check_fail(r->c, "receive %u: opcode %u, %u of %u bytes", i,
                          wc.opcode, wc.byte_len, m->len);
    }
    if (op_has_imm(m->op) != !!(wc.wc_flags & IBV_WC_WITH_IMM) ||
        (op_has_imm(m->op) && ntohl(wc.imm_data) != m->imm)) {
        return check_fail(r->c, "receive %u: flags %#x, immediate %#x not %#x",
                          i, wc.wc_flags, ntohl(wc.imm_data), m->imm);
    }
    if (ud && (!(wc.wc_flags & IBV_WC_GRH) ||
               wc.src_qp != r->pair.a.qp->qp_num)) {
        return check_fail(r->c, "receive %u: flags %#x, source QP %#x", i,
                          wc.wc_flags, wc.src_qp);
    }
    return true;
}

/* Write into c->want what message @m must have written. */
static void expect(struct run *r, const struct check_msg *m)
{
    bool read = m->op == IBV_WR_RDMA_READ;
    const struct check_seg *from = read ? m->remote : m->local;
    const struct check_seg *to = read ? m->local : m->remote;
    unsigned f = 0, t = 0;
    uint32_t fo = 0, to_off = 0, left = m->len;

    if (r->p->type == IBV_QPT_UD) {
        /* the header's bytes are the network's: take them as they are */
        memcpy(r->c->want + to[0].off, r->c->dst + to[0].off, CHECK_GRH);
        t = 1;
    }
    while (left) {
        uint32_t n = left;

        if (fo == from[f].len) {
            f++;
            fo = 0;
            continue;
        }
        if (to_off == to[t].len) {
            t++;
            to_off = 0;
            continue;
        }
        n = n < from[f].len - fo ? n : from[f].len - fo;
        n = n < to[t].len - to_off ? n : to[t].len - to_off;
        memcpy(r->c->want + to[t].off + to_off, r->c->src + from[f].off + fo,
               n);
        fo += n;
        to_off += n;
        left -= n;
    }
}

static const struct check_msg *owner_of(struct run *r, uint32_t at)
{
    const struct check_msg *best = &r->msg[0];

    for (unsigned i = 0; i < r->n; i++) {
        struct check_msg *m = &r->msg[i];
        uint32_t off = m->op == IBV_WR_RDMA_READ ? m->local[0].off
                                                 : m->remote[0].off;

        if (off <= at) {
            best = m;
        }
    }
    return best;
}

static bool compare(struct run *r)
{
    uint8_t *dst = r->c->dst, *want = r->c->want;
    const struct check_msg *m;
    uint32_t at = 0;

    memset(want, CHECK_FILL, r->cursor);
    for (unsigned i = 0; i < r->n; i++) {
        expect(r, &r->msg[i]);
    }
    if (!memcmp(dst, want, r->cursor)) {
        return true;
    }
    while (at < r->cursor && dst[at] == want[at]) {
        at++;
    }
    m = owner_of(r, at);
    return check_fail(r->c, "byte %u of the arena is %02x not %02x (message "
                      "%u of %u: op %u, %u bytes, %u+%u segments)", at,
                      dst[at], want[at], (unsigned)(m - r->msg), r->n, m->op,
                      m->len, m->nlocal, m->nremote);
}

static bool run_batch(struct run *r)
{
    bool ok = true;

    memset(r->c->dst, CHECK_FILL, r->cursor);
    for (unsigned i = 0; ok && i < r->n; i++) {
        ok = post_receive(r, i);
    }
    for (unsigned i = 0; ok && i < r->n; i++) {
        ok = post_send(r, i);
    }
    for (unsigned i = 0; ok && i < r->n; i++) {
        ok = wait_received(r, i) && wait_sent(r, i);
    }
    for (unsigned i = 0; ok && i < r->n; i++) {
        r->c->bytes += r->msg[i].len;
    }
    r->c->messages += r->n;
    return ok && compare(r);
}

static uint32_t pick_size(struct run *r, uint32_t i)
{
    const struct check_phase *p = r->p;

    if (p->step) {
        return p->lo + i * p->step;
    }
    if (p->flags & CHECK_POW2) {
        uint64_t cap = 2ull << rig_below(32 - __builtin_clz(r->hi | 1));

        return p->lo + rig_below(cap < r->hi ? cap : r->hi - p->lo + 1ull);
    }
    return p->lo + rig_below(r->hi - p->lo + 1ull);
}

/* A batch ends at the ring's size or when the arena is full. */
static bool run_messages(struct run *r, uint32_t total)
{
    uint32_t i = 0;

    while (i < total) {
        unsigned want = 1 + rig_below(r->p->ring);
        uint32_t len = pick_size(r, i);

        r->cursor = 0;
        for (r->n = 0; r->n < want && i < total; r->n++) {
            if (r->cursor + len + 4096 > CHECK_ARENA) {
                break;
            }
            plan(r, &r->msg[r->n], len, r->n == want - 1 || i == total - 1);
            len = ++i < total ? pick_size(r, i) : 0;
        }
        r->msg[r->n - 1].flags |= IBV_SEND_SIGNALED;
        if (!run_batch(r)) {
            return false;
        }
    }
    return true;
}

static void run_open(struct run *r)
{
    const struct check_phase *p = r->p;
    struct rig_pair_attr a = { RIG_DEFAULTS };
    struct ibv_srq_init_attr si = { .attr = { .max_wr = p->ring } };

    r->max_sge = p->max_sge;
    if (r->max_sge > (unsigned)r->c->rig.dev.max_sge) {
        r->max_sge = r->c->rig.dev.max_sge;
    }
    a.type = p->type;
    a.send_wr = a.recv_wr = p->ring;
    a.sge = r->max_sge;
    a.inline_bytes = p->flags & CHECK_INLINE ? 64 : 0;
    a.mtu = p->flags & CHECK_HALF_MTU ? IBV_MTU_256 : 0;
    if (p->flags & CHECK_SRQ) {
        si.attr.max_sge = r->max_sge;
        r->srq = ibv_create_srq(r->c->rig.pd, &si);
        if (!r->srq) {
            tap_die("ibv_create_srq: %s", strerror(errno));
        }
        a.srq = r->srq;
    }
    rig_pair_make(&r->c->rig, &r->pair, &a);
}

static void run_close(struct run *r)
{
    rig_pair_free(&r->pair);
    if (r->srq && ibv_destroy_srq(r->srq)) {
        tap_die("ibv_destroy_srq fails");
    }
}

static uint32_t run_limit(struct run *r)
{
    if (r->p->hi) {
        return r->p->hi;
    }
    return r->p->flags & CHECK_INLINE
               ? r->pair.a.inline_bytes
               : 128u << r->c->rig.port.active_mtu;
}

void check_phase(struct check *c, const struct check_phase *p)
{
    static struct run r;
    uint64_t messages = c->messages, bytes = c->bytes;
    int64_t start = rig_now_ms();
    uint32_t total;
    bool ok;

    memset(&r, 0, sizeof(r));
    c->why[0] = 0;
    r.c = c;
    r.p = p;
    run_open(&r);
    r.hi = run_limit(&r);
    total = c->full && p->full ? p->full : p->count;
    if (p->step) {
        total = (r.hi - p->lo) / p->step + 1;
    }
    ok = run_messages(&r, total);
    run_close(&r);
    tap_check(ok, p->name, "%s%s%llu messages, %llu bytes, %lld ms", c->why,
              ok ? "" : "; ", (unsigned long long)(c->messages - messages),
              (unsigned long long)(c->bytes - bytes),
              (long long)(rig_now_ms() - start));
}
