/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of net/: two cards, each with a host of its own, and a wire between
 * them that a test may spoil.
 */
#ifndef MLX5_TESTS_NET_HELPER_H
#define MLX5_TESTS_NET_HELPER_H

#include "eth/frame.h"
#include "net/roce.h"
#include "tests/rdma/rdma_helper.h"

static const uint8_t n_gid[2][16] = {
    { 0xfe, 0x80, [8] = 2, [15] = 1 },
    { 0xfe, 0x80, [8] = 2, [15] = 2 },
};
static const uint8_t n_gid4[2][16] = {
    { [10] = 0xff, 0xff, 10, 0, 0, 1 },
    { [10] = 0xff, 0xff, 10, 0, 0, 2 },
};

/** What the wire does, in one of so many frames; 0 = never. */
typedef struct NFaults {
    uint32_t lose, twice, late;
} NFaults;

typedef struct NTest {
    RTest *t[2];
    NFaults faults;
    uint32_t mark;           /* one in so many, as a congested switch */
    uint32_t rng;
    GBytes *held[2];         /* late: goes after the next one */
    unsigned frames, lost, doubled, late, marked;
    GPtrArray *seen;         /* GBytes *: all that was sent, if not NULL */
} NTest;

static inline bool n_chance(NTest *n, uint32_t one_in)
{
    n->rng = n->rng * 1103515245 + 12345;
    return one_in && (n->rng >> 16) % one_in == 0;
}

static inline void n_arrive(NTest *n, int to, GBytes *frame)
{
    gsize len;
    const void *data = g_bytes_get_data(frame, &len);
    struct iovec iov = { (void *)data, len };

    mlx5_card_frame_rx(n->t[to]->h->card, &iov, 1);
}

/**
 * As a congested switch: a copy of @frame, which is RoCE v2 without a tag, with
 * CE in place of ECT; NULL if it has no ECT.
 */
static inline GBytes *n_mark(GBytes *frame)
{
    gsize len;
    const uint8_t *data = g_bytes_get_data(frame, &len);
    bool v4 = data[14] >> 4 == 4;
    uint8_t *b;

    if (!(v4 ? data[15] & 3 : data[15] & 0x30)) {
        return NULL;
    }
    b = g_memdup2(data, len);
    b[15] |= v4 ? 3 : 0x30;
    if (v4) {
        b[24] = b[25] = 0;
        mlx5_put_be16(b + 24, ~mlx5_csum(b + 14, 20));
    }
    return g_bytes_new_take(b, len);
}

static inline void n_carry(NTest *n, int to, GBytes *frame)
{
    n->frames++;
    if (n->seen) {
        g_ptr_array_add(n->seen, g_bytes_ref(frame));
    }
    if (n_chance(n, n->faults.lose)) {
        n->lost++;
        return;
    }
    if (n_chance(n, n->mark)) {
        g_autoptr(GBytes) marked = n_mark(frame);

        n->marked += marked != NULL;
        n_arrive(n, to, marked ? marked : frame);
        return;
    }
    if (!n->held[to] && n_chance(n, n->faults.late)) {
        n->late++;
        n->held[to] = g_bytes_ref(frame);
        return;
    }
    n_arrive(n, to, frame);
    if (n_chance(n, n->faults.twice)) {
        n->doubled++;
        n_arrive(n, to, frame);
    }
    if (n->held[to]) {
        g_autoptr(GBytes) old = g_steal_pointer(&n->held[to]);

        n_arrive(n, to, old);
    }
}

/* Carry what one card sent. Return: whether there was anything. */
static inline bool n_pump_from(NTest *n, int from)
{
    FakeHost *h = n->t[from]->h;
    g_autoptr(GPtrArray) frames = h->frames;

    h->frames =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (guint i = 0; i < frames->len; i++) {
        n_carry(n, !from, frames->pdata[i]);
    }
    return frames->len;
}

/** Let both cards work until nothing is under way. */
static inline void n_pump(NTest *n)
{
    bool more;

    do {
        fake_host_work(n->t[0]->h);
        more = n_pump_from(n, 0);
        fake_host_work(n->t[1]->h);
        more |= n_pump_from(n, 1);
    } while (more);
}

/** The same, and time passes: what was lost is sent again. */
static inline void n_pump_for(NTest *n, unsigned periods)
{
    n_pump(n);
    for (unsigned i = 0; i < periods * 4; i++) {
        fake_host_advance(n->t[0]->h, R_ACK_PERIOD_NS / 4);
        fake_host_advance(n->t[1]->h, R_ACK_PERIOD_NS / 4);
        n_pump(n);
    }
}

/** Post on queue pair a of card @from. */
static inline void n_post(NTest *n, int from, RWqe *w)
{
    r_put(&n->t[from]->a, w);
    r_ring(&n->t[from]->a);
    n_pump(n);
}

static inline void n_path(RQp *q, const uint8_t gid[16])
{
    uint8_t *ads = MLX5_ADDR_OF(qpc, q->qp->qpc, primary_address_path);

    memcpy(ads + MLX5_BYTE_OFF(ads, rgid_rip), gid, 16);
}

/** Connect a of both cards, by addresses of the table's entry @index. */
static inline void n_connect(NTest *n, uint32_t index,
                             const uint8_t gid[2][16], uint32_t psn)
{
    for (int i = 0; i < 2; i++) {
        RQp *q = &n->t[i]->a;
        uint8_t *ads = MLX5_ADDR_OF(qpc, q->qp->qpc, primary_address_path);

        MLX5_SET(ads, ads, src_addr_index, index);
        n_path(q, gid[!i]);
        r_up(q, n->t[!i]->a.qpn, psn, psn);
    }
}

/** Two cards with addresses of each kind, queue pairs of @st in RST. */
static inline NTest *n_new(Mlx5QpSt st)
{
    NTest *n = g_new0(NTest, 1);

    n->rng = 1;
    for (int i = 0; i < 2; i++) {
        RTest *t = n->t[i] = r_new(st);

        t->h->link = true;
        r_gid_set(t, 0, n_gid[i], MLX5_ROCE_VERSION_2,
                  MLX5_ROCE_L3_TYPE_IPV6);
        r_gid_set(t, 1, n_gid4[i], MLX5_ROCE_VERSION_2,
                  MLX5_ROCE_L3_TYPE_IPV4);
        r_gid_set(t, 2, n_gid[i], MLX5_ROCE_VERSION_1,
                  MLX5_ROCE_L3_TYPE_IPV6);
        mlx5_card_set_link(t->h->card, true);
    }
    return n;
}

static inline void n_free(NTest *n)
{
    for (int i = 0; i < 2; i++) {
        r_free(n->t[i]);
        g_clear_pointer(&n->held[i], g_bytes_unref);
    }
    g_clear_pointer(&n->seen, g_ptr_array_unref);
    g_free(n);
}

#endif
