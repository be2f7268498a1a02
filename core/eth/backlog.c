/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The port's buffer: frames for a receive queue that has no WQE just now wait
 * here, in their order, for a while. A card of metal has some hundred KiB of
 * that; here it bridges the time in which an emulated processor does not run.
 *
 *   deliver, no WQE --> wait --+-- the driver arms a CQ, as it does once it has
 *                              |   posted receives         --> delivered
 *                              +-- the next frame of this queue, or RETRY_NS
 *                              +-- HOLD_NS are over        --> dropped, counted
 *
 * No doorbell rings for a receive queue, so these are all there is to tell. A
 * queue to which nothing was ever posted has nothing to wait for (driver: the
 * drop RQ, en_main.c mlx5e_open_drop_rq): its frames are dropped at once, as
 * is what comes while the buffer is full. A frame's priority says which buffer, and
 * PBMC how large that is (fw/reg_buffer.c). Left out: pause frames when it fills.
 */
#include "eth/eth_internal.h"

/* What a frame takes besides its bytes. */
#define FRAME_BYTES 256u
#define HOLD_NS INT64_C(10000000)
#define RETRY_NS INT64_C(500000)

/* A copy of all that an Mlx5Packet has when a queue was chosen for it. */
typedef struct Waiting {
    Mlx5Packet packet;       /* without its key */
    Mlx5LroEnd lro;
    Mlx5Tunnel tunnel;
    int64_t until_ns;
    unsigned buffer;
    uint8_t data[];
} Waiting;

struct Mlx5Backlog {
    GQueue frames;           /* Waiting * */
};

static size_t size_of(const Waiting *w)
{
    return FRAME_BYTES + w->packet.len;
}

static Waiting *copy(const Mlx5Packet *p, int64_t until_ns)
{
    Waiting *w = g_malloc(sizeof(*w) + p->len);

    memcpy(&w->packet, p, offsetof(Mlx5Packet, key));
    memcpy(w->data, p->data, p->len);
    w->packet.data = w->data;
    w->packet.own = NULL;
    w->packet.from = NULL;
    if (p->lro) {
        w->lro = *p->lro;
        w->packet.lro = &w->lro;
    }
    if (p->tunnel) {
        w->tunnel = *p->tunnel;
        w->packet.tunnel = &w->tunnel;
    }
    w->until_ns = until_ns;
    return w;
}

static void done(Mlx5Func *func, Waiting *w)
{
    func->eth->backlog_bytes[w->buffer] -= size_of(w);
    g_free(w);
}

static void drop(Mlx5Rq *rq)
{
    mlx5_eth_rq_no_buffer(rq);
    done(rq->o.func, g_queue_pop_head(&rq->backlog->frames));
}

/* Nothing waits for @rq any more. */
static void leave(Mlx5Rq *rq)
{
    g_ptr_array_remove(rq->o.func->eth->backlogs, rq);
    g_clear_pointer(&rq->backlog, g_free);
}

bool mlx5_eth_backlog_put(Mlx5Rq *rq, const Mlx5Packet *p)
{
    Mlx5Func *func = rq->o.func;
    Mlx5Eth *eth = func->eth;
    int64_t now = mlx5_clock_ns(func);
    unsigned prio = mlx5_eth_prio(func, &p->info);
    unsigned buffer = mlx5_port_buffer(func, prio);
    Waiting *w;

    if (eth->backlog_bytes[buffer] + FRAME_BYTES + p->len >
        mlx5_port_buffer_bytes(func, buffer)) {
        mlx5_port_count_discard(func, prio);
        return false;
    }
    if (!rq->backlog) {
        rq->backlog = g_new0(Mlx5Backlog, 1);
        g_ptr_array_add(eth->backlogs, rq);
    }
    w = copy(p, now + HOLD_NS);
    w->buffer = buffer;
    eth->backlog_bytes[buffer] += size_of(w);
    g_queue_push_tail(&rq->backlog->frames, w);
    if (!mlx5_timer_armed(&eth->backlog_timer)) {
        mlx5_timer_arm(func, &eth->backlog_timer, now + RETRY_NS);
    }
    return true;
}

/* Too old at @now: dropped, in their order. */
static void expire(Mlx5Rq *rq, int64_t now)
{
    GQueue *frames = &rq->backlog->frames;

    while (frames->length &&
           ((Waiting *)frames->head->data)->until_ns <= now) {
        drop(rq);
    }
}

void mlx5_eth_backlog_retry(Mlx5Rq *rq)
{
    /* The queue may fail meanwhile, and forget all that waits. */
    while (rq->backlog && rq->backlog->frames.length) {
        Waiting *w = g_queue_pop_head(&rq->backlog->frames);

        if (!mlx5_eth_rq_take(rq, &w->packet)) {
            g_queue_push_head(&rq->backlog->frames, w);
            break;
        }
        done(rq->o.func, w);
    }
    if (rq->backlog) {
        expire(rq, mlx5_clock_ns(rq->o.func));
        if (!rq->backlog->frames.length) {
            leave(rq);
        }
    }
}

void mlx5_eth_backlog_forget(Mlx5Rq *rq)
{
    if (rq->backlog) {
        while (rq->backlog->frames.length) {
            drop(rq);
        }
        leave(rq);
    }
}

/* From the last on: those that have all they waited for leave the list. */
static void retry_all(Mlx5Func *func)
{
    GPtrArray *rqs = func->eth->backlogs;

    for (guint i = rqs->len; i; i--) {
        if (i <= rqs->len) {
            mlx5_eth_backlog_retry(g_ptr_array_index(rqs, i - 1));
        }
    }
}

static bool run(void *opaque, Mlx5Budget *budget)
{
    retry_all(opaque);
    mlx5_budget_spend(budget, 0);
    return false;
}

static void fired(void *opaque)
{
    Mlx5Func *func = opaque;
    Mlx5Eth *eth = func->eth;

    retry_all(func);
    if (eth->backlogs->len) {
        mlx5_timer_arm(func, &eth->backlog_timer,
                       mlx5_clock_ns(func) + RETRY_NS);
    }
}

void mlx5_eth_backlog_cq_armed(Mlx5Func *func)
{
    if (G_UNLIKELY(func->eth->backlogs->len)) {
        mlx5_work_schedule(func, &func->eth->backlog_work);
    }
}

void mlx5_eth_backlog_new(Mlx5Func *func)
{
    func->eth->backlogs = g_ptr_array_new();
    mlx5_work_init(&func->eth->backlog_work, run, func);
    mlx5_timer_init(&func->eth->backlog_timer, fired, func);
}

void mlx5_eth_backlog_reset(Mlx5Func *func)
{
    /* Queues are gone, and with them what waited. */
    g_assert(!func->eth->backlogs->len);
    mlx5_work_cancel(func, &func->eth->backlog_work);
    mlx5_timer_cancel(func, &func->eth->backlog_timer);
}

void mlx5_eth_backlog_free(Mlx5Func *func)
{
    g_ptr_array_unref(func->eth->backlogs);
}
