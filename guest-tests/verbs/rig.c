/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device, pairs of connected queue pairs, completions with a deadline.
 * Source: the manual pages of libibverbs; transitions as in IBA 10.3.1.
 */
#include "rig.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RIG_ALL_REMOTE (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
                        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* A thread's own: what it draws depends on its seed alone. */
static __thread uint64_t rig_state_word;

int64_t rig_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void rig_seed(uint64_t seed)
{
    rig_state_word = seed;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t rig_rand(void)
{
    uint64_t z = rig_state_word += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

uint64_t rig_below(uint64_t n)
{
    return n ? rig_rand() % n : 0;
}

void rig_noise(void *buf, size_t len)
{
    uint8_t *p = buf;

    for (; len >= 8; len -= 8, p += 8) {
        uint64_t v = rig_rand();

        memcpy(p, &v, 8);
    }
    while (len--) {
        *p++ = rig_rand();
    }
}

static struct ibv_device *rig_find(struct ibv_device **list, const char *name)
{
    struct ibv_device *first = list[0];

    for (int i = 0; list[i]; i++) {
        const char *n = ibv_get_device_name(list[i]);

        if (name ? !strcmp(n, name) : !strncmp(n, "mlx5", 4)) {
            return list[i];
        }
    }
    return name ? NULL : first;
}

static bool rig_gid_is_v4(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

    return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* Prefer RoCE v2 over IPv4: the one a network between hosts would use. */
static int rig_choose_gid(struct rig *rig)
{
    struct ibv_gid_entry e;
    int best = -1, rank = 0;

    for (int i = 0; i < rig->port.gid_tbl_len && rank < 3; i++) {
        int r;

        if (ibv_query_gid_ex(rig->ctx, rig->port_num, i, &e, 0)) {
            continue;
        }
        r = 1 + (e.gid_type == IBV_GID_TYPE_ROCE_V2);
        r += r == 2 && rig_gid_is_v4(&e.gid);
        if (r > rank) {
            rank = r;
            best = i;
        }
    }
    return best;
}

void rig_open(struct rig *rig, const char *name, int gid_index)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_device *dev;

    memset(rig, 0, sizeof(*rig));
    rig->port_num = 1;
    dev = list ? rig_find(list, name) : NULL;
    if (!dev) {
        tap_die("no RDMA device %s", name ? name : "");
    }
    rig->ctx = ibv_open_device(dev);
    ibv_free_device_list(list);
    if (!rig->ctx || ibv_query_device(rig->ctx, &rig->dev) ||
        ibv_query_port(rig->ctx, rig->port_num, &rig->port)) {
        tap_die("device does not open: %s", strerror(errno));
    }
    if (rig->port.state != IBV_PORT_ACTIVE) {
        tap_die("port is %s", ibv_port_state_str(rig->port.state));
    }
    rig->gid_index = gid_index >= 0 ? gid_index : rig_choose_gid(rig);
    if (rig->gid_index < 0 ||
        ibv_query_gid(rig->ctx, rig->port_num, rig->gid_index, &rig->gid)) {
        tap_die("no usable GID");
    }
    rig->pd = ibv_alloc_pd(rig->ctx);
    if (!rig->pd) {
        tap_die("ibv_alloc_pd: %s", strerror(errno));
    }
    fcntl(rig->ctx->async_fd, F_SETFL,
          fcntl(rig->ctx->async_fd, F_GETFL) | O_NONBLOCK);
    tap_note("device %s, GID index %d", ibv_get_device_name(rig->ctx->device),
             rig->gid_index);
}

void rig_close(struct rig *rig)
{
    int rc = ibv_dealloc_pd(rig->pd);

    tap_check(!rc, "everything freed at the end", "dealloc_pd: %s",
              strerror(rc));
    ibv_close_device(rig->ctx);
}

struct ibv_mr *rig_mr(struct rig *rig, void *buf, size_t len, int access)
{
    struct ibv_mr *mr = ibv_reg_mr(rig->pd, buf, len, access);

    if (!mr) {
        tap_die("ibv_reg_mr of %zu bytes, access %#x: %s", len, access,
                strerror(errno));
    }
    return mr;
}

static void rig_side_create(struct rig_pair *pair, struct rig_side *s)
{
    const struct rig_pair_attr *a = &pair->attr;
    struct ibv_qp_init_attr init = {
        .qp_type = a->type,
        .srq = a->srq,
        .cap = { .max_send_wr = a->send_wr,
                 .max_recv_wr = a->srq ? 0 : a->recv_wr,
                 .max_send_sge = a->sge,
                 .max_recv_sge = a->srq ? 0 : a->sge,
                 .max_inline_data = a->inline_bytes },
    };
    uint32_t depth = a->cq_depth ? a->cq_depth : a->send_wr + a->recv_wr;

    s->own_cq = !a->cq;
    s->cq = a->cq ? a->cq
                  : ibv_create_cq(pair->rig->ctx, depth, s, a->channel, 0);
    if (!s->cq) {
        tap_die("ibv_create_cq(%u): %s", depth, strerror(errno));
    }
    init.send_cq = init.recv_cq = s->cq;
    s->qp = ibv_create_qp(pair->rig->pd, &init);
    if (!s->qp) {
        tap_die("ibv_create_qp: %s", strerror(errno));
    }
    s->psn = rig_rand() & 0xffffff;
    s->inline_bytes = init.cap.max_inline_data;
    s->sge = init.cap.max_send_sge;
}

void rig_pair_create(struct rig *rig, struct rig_pair *pair,
                     const struct rig_pair_attr *attr)
{
    memset(pair, 0, sizeof(*pair));
    pair->rig = rig;
    pair->attr = *attr;
    if (!pair->attr.mtu) {
        pair->attr.mtu = rig->port.active_mtu;
    }
    rig_side_create(pair, &pair->a);
    rig_side_create(pair, &pair->b);
}

static void rig_path(struct rig *rig, struct ibv_ah_attr *ah)
{
    memset(ah, 0, sizeof(*ah));
    ah->is_global = 1;
    ah->port_num = rig->port_num;
    ah->grh.dgid = rig->gid;
    ah->grh.sgid_index = rig->gid_index;
    ah->grh.hop_limit = 64;
}

int rig_to_init(struct rig_pair *pair, struct rig_side *s)
{
    struct ibv_qp_attr q = { .qp_state = IBV_QPS_INIT,
                             .port_num = pair->rig->port_num };
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    if (pair->attr.type == IBV_QPT_UD) {
        q.qkey = RIG_QKEY;
        return ibv_modify_qp(s->qp, &q, mask | IBV_QP_QKEY);
    }
    q.qp_access_flags = RIG_ALL_REMOTE;
    if (s == &pair->b && pair->attr.access_b >= 0) {
        q.qp_access_flags = pair->attr.access_b;
    }
    if (pair->attr.type == IBV_QPT_UC) {
        q.qp_access_flags &= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    }
    return ibv_modify_qp(s->qp, &q, mask | IBV_QP_ACCESS_FLAGS);
}

int rig_to_rtr(struct rig_pair *pair, struct rig_side *s,
               struct rig_side *peer)
{
    struct ibv_qp_attr q = { .qp_state = IBV_QPS_RTR,
                             .path_mtu = pair->attr.mtu,
                             .dest_qp_num = peer->qp->qp_num,
                             .rq_psn = peer->psn,
                             .max_dest_rd_atomic = pair->attr.rd_atomic,
                             .min_rnr_timer = pair->attr.min_rnr_timer };
    int mask = IBV_QP_STATE;

    rig_path(pair->rig, &q.ah_attr);
    if (pair->attr.type != IBV_QPT_UD) {
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (pair->attr.type == IBV_QPT_RC) {
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return ibv_modify_qp(s->qp, &q, mask);
}

int rig_to_rts(struct rig_pair *pair, struct rig_side *s)
{
    struct ibv_qp_attr q = { .qp_state = IBV_QPS_RTS,
                             .sq_psn = s->psn,
                             .timeout = pair->attr.timeout,
                             .retry_cnt = pair->attr.retry_cnt,
                             .rnr_retry = pair->attr.rnr_retry,
                             .max_rd_atomic = pair->attr.rd_atomic };
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

    if (pair->attr.type == IBV_QPT_RC) {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return ibv_modify_qp(s->qp, &q, mask);
}

int rig_to_state(struct rig_side *s, enum ibv_qp_state state)
{
    struct ibv_qp_attr q = { .qp_state = state };

    return ibv_modify_qp(s->qp, &q, IBV_QP_STATE);
}

int rig_connect(struct rig_pair *pair)
{
    struct rig_side *side[2] = { &pair->a, &pair->b };

    for (int i = 0; i < 2; i++) {
        int rc = rig_to_init(pair, side[i]);

        rc = rc ? rc : rig_to_rtr(pair, side[i], side[!i]);
        rc = rc ? rc : rig_to_rts(pair, side[i]);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

void rig_pair_make(struct rig *rig, struct rig_pair *pair,
                   const struct rig_pair_attr *attr)
{
    struct ibv_ah_attr ah;
    int rc;

    rig_pair_create(rig, pair, attr);
    rc = rig_connect(pair);
    if (rc) {
        tap_die("connecting: %s", strerror(rc));
    }
    if (attr->type == IBV_QPT_UD) {
        rig_path(rig, &ah);
        pair->ah = ibv_create_ah(rig->pd, &ah);
        if (!pair->ah) {
            tap_die("ibv_create_ah: %s", strerror(errno));
        }
    }
}

static void rig_side_free(struct rig_side *s)
{
    int rc = s->qp ? ibv_destroy_qp(s->qp) : 0;

    if (!rc && s->own_cq && s->cq) {
        rc = ibv_destroy_cq(s->cq);
    }
    if (rc) {
        tap_die("freeing a queue pair: %s", strerror(rc));
    }
}

void rig_pair_free(struct rig_pair *pair)
{
    rig_side_free(&pair->a);
    rig_side_free(&pair->b);
    if (pair->ah) {
        ibv_destroy_ah(pair->ah);
    }
    memset(pair, 0, sizeof(*pair));
}

enum ibv_qp_state rig_state(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr q;

    if (ibv_query_qp(qp, &q, IBV_QP_STATE, &init)) {
        return IBV_QPS_UNKNOWN;
    }
    return q.qp_state;
}

const char *rig_state_name(enum ibv_qp_state state)
{
    static const char *const name[] = { "RESET", "INIT", "RTR", "RTS",
                                        "SQD",   "SQE",  "ERR" };

    return state < sizeof(name) / sizeof(name[0]) ? name[state] : "unknown";
}

bool rig_poll(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
    int64_t end = rig_now_ms() + ms;

    for (unsigned spins = 0;; spins++) {
        int n = ibv_poll_cq(cq, 1, wc);

        if (n < 0) {
            tap_die("ibv_poll_cq: %d", n);
        }
        if (n) {
            return true;
        }
        if (spins % 64 == 63 && rig_now_ms() > end) {
            return false;
        }
    }
}

bool rig_quiet(struct ibv_cq *cq, int ms)
{
    struct ibv_wc wc;

    return !rig_poll(cq, &wc, ms);
}

bool rig_async(struct rig *rig, enum ibv_event_type type, int ms)
{
    int64_t end = rig_now_ms() + ms;

    for (;;) {
        struct pollfd p = { .fd = rig->ctx->async_fd, .events = POLLIN };
        struct ibv_async_event ev;
        int64_t left = end - rig_now_ms();

        if (left < 0 || poll(&p, 1, left) <= 0) {
            return false;
        }
        if (ibv_get_async_event(rig->ctx, &ev)) {
            continue;
        }
        ibv_ack_async_event(&ev);
        if (ev.event_type == type) {
            return true;
        }
        tap_note("event %s", ibv_event_type_str(ev.event_type));
    }
}
