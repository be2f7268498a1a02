/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding queues back; see pace.h. The tree is walked as start-time fair
 * queueing does (Goyal, Vin, Cheng 1996): the child served least for its share
 * is next, and one that was idle starts where the others are.
 *
 * Left out: a rate of the line, which would let shares count without a limit;
 * typical_packet_size, a hint that exact sizes make unnecessary.
 */
#include "obj/cong.h"

/* 1 kbit/s is a bit in a million ns. */
#define NS_PER_KBPS_BYTE UINT64_C(8000000)
/* Bytes are counted in this fraction, to be divided by a share. */
#define SERVED_SHIFT 16

static bool is_ready(const Mlx5Bucket *b, int64_t now)
{
    return !b->kbps || b->ready_ns <= now;
}

void mlx5_bucket_use(Mlx5Bucket *b, int64_t now, uint64_t bytes)
{
    if (b->kbps) {
        b->ready_ns = MAX(b->ready_ns, now - b->burst_ns) +
                      (int64_t)(bytes * NS_PER_KBPS_BYTE / b->kbps);
    }
}

static uint64_t burst_bytes(const Mlx5Bucket *b)
{
    return b->burst_ns * b->kbps / NS_PER_KBPS_BYTE;
}

/* --- the tree --- */

/* Put @e, which is not in it, into its parent's list, in order of service. */
static void insert(Mlx5SchedElem *e)
{
    GQueue *q = &e->parent->active;
    GList *before = q->tail;

    while (before && ((Mlx5SchedElem *)before->data)->served > e->served) {
        before = before->prev;
    }
    e->link.data = e;
    if (before) {
        g_queue_insert_after_link(q, before, &e->link);
    } else {
        g_queue_push_head_link(q, &e->link);
    }
}

static bool has_waiting(const Mlx5SchedElem *e)
{
    return e->waiting.length || e->active.length;
}

/* Somebody waits below @e. */
static void activate(Mlx5SchedElem *e)
{
    for (; e->parent && !e->is_active; e = e->parent) {
        e->is_active = true;
        e->served = MAX(e->served, e->parent->clock);
        insert(e);
    }
}

static void deactivate(Mlx5SchedElem *e)
{
    for (; e->parent && e->is_active && !has_waiting(e); e = e->parent) {
        e->is_active = false;
        g_queue_unlink(&e->parent->active, &e->link);
    }
}

static void count_served(Mlx5SchedElem *e, uint64_t bytes)
{
    e->served += (bytes << SERVED_SHIFT) / MAX(e->share, 1);
    if (e->is_active) {
        g_queue_unlink(&e->parent->active, &e->link);
        insert(e);
    }
}

/*
 * Who is next below @e; the depth of the tree bounds the recursion. NULL: all
 * are held back, and *@next is when that ends, if it is not later already.
 */
static Mlx5Pace *pick(Mlx5SchedElem *e, int64_t now, int64_t *next)
{
    if (!is_ready(&e->limit, now)) {
        *next = MIN(*next, e->limit.ready_ns);
        return NULL;
    }
    if (e->waiting.length) {
        return e->waiting.head->data;
    }
    for (GList *l = e->active.head; l; l = l->next) {
        Mlx5SchedElem *kid = l->data;
        Mlx5Pace *pace = pick(kid, now, next);

        if (pace) {
            e->clock = kid->served;
            return pace;
        }
    }
    return NULL;
}

/* --- waiting for a turn --- */

static void join(Mlx5Pace *pace)
{
    if (!pace->waits) {
        pace->waits = true;
        pace->in_group.data = pace;
        g_queue_push_tail_link(&pace->group->waiting, &pace->in_group);
        activate(pace->group);
    }
}

static void leave(Mlx5Pace *pace)
{
    if (pace->waits) {
        pace->waits = false;
        g_queue_unlink(&pace->group->waiting, &pace->in_group);
        deactivate(pace->group);
    }
}

static void give_turn(Mlx5Pacer *pacer, Mlx5Pace *pace, Mlx5Budget *budget)
{
    Mlx5Func *func = pace->func;
    Mlx5Work *work = pace->work;

    leave(pace);
    pacer->turn = pace;
    /* As the work queue does; @pace is not looked at after it. */
    budget->steps--;
    if (work->run(work->opaque, budget)) {
        mlx5_work_schedule(func, work);
    }
    pacer->turn = NULL;
}

static bool run(void *opaque, Mlx5Budget *budget)
{
    Mlx5Func *func = opaque;
    Mlx5Pacer *pacer = func->pacer;

    while (mlx5_budget_left(budget)) {
        int64_t next = INT64_MAX;
        Mlx5Pace *pace = pick(&pacer->top, mlx5_clock_ns(func), &next);

        if (!pace) {
            if (next != INT64_MAX) {
                mlx5_timer_arm(func, &pacer->timer, next);
            }
            return false;
        }
        give_turn(pacer, pace, budget);
    }
    return true;
}

static void fired(void *opaque)
{
    mlx5_pacer_changed(opaque);
}

void mlx5_pacer_changed(Mlx5Func *func)
{
    mlx5_work_schedule(func, &func->pacer->work);
}

/* --- one queue --- */

/* Does something hold back what @e sends? */
static bool is_limited(const Mlx5SchedElem *e)
{
    for (; e; e = e->parent) {
        if (e->limit.kbps) {
            return true;
        }
    }
    return false;
}

/* The table's entry may have changed since. */
static void refresh_own(Mlx5Pace *pace)
{
    const Mlx5Rate *rate = &pace->func->pacer->rates[pace->rate_index];

    pace->own.kbps = rate->kbps;
    pace->own.burst_ns = MLX5_PACE_BURST_NS;
    if (rate->kbps && rate->burst_bytes) {
        pace->own.burst_ns = rate->burst_bytes * NS_PER_KBPS_BYTE / rate->kbps;
    }
}

bool mlx5_pace_may(Mlx5Pace *pace)
{
    int64_t now = mlx5_clock_ns(pace->func);

    if (!is_ready(&pace->own, now)) {
        mlx5_timer_arm(pace->func, &pace->timer, pace->own.ready_ns);
        return false;
    }
    if (pace->flow && !mlx5_cong_may(pace->flow, now)) {
        mlx5_timer_arm(pace->func, &pace->timer, pace->flow->limit.ready_ns);
        return false;
    }
    if (!pace->group || pace->func->pacer->turn == pace ||
        !is_limited(pace->group)) {
        return true;
    }
    join(pace);
    mlx5_pacer_changed(pace->func);
    return false;
}

void mlx5_pace_charge(Mlx5Pace *pace, uint64_t bytes)
{
    Mlx5Pacer *pacer = pace->func->pacer;
    int64_t now = mlx5_clock_ns(pace->func);

    mlx5_bucket_use(&pace->own, now, bytes);
    if (pace->flow) {
        mlx5_cong_charge(pace->flow, now, bytes);
    }
    for (Mlx5SchedElem *e = pace->group; e && e->parent; e = e->parent) {
        mlx5_bucket_use(&e->limit, now, bytes);
        count_served(e, bytes);
    }
    if (pacer->turn == pace) {
        pacer->turn = NULL;
    }
}

uint64_t mlx5_pace_piece(const Mlx5Pace *pace, uint32_t unit, uint64_t max)
{
    uint64_t room = pace->own.kbps ? burst_bytes(&pace->own) : max;

    if (pace->flow && pace->flow->limit.kbps) {
        room = MIN(room, burst_bytes(&pace->flow->limit));
    }
    for (const Mlx5SchedElem *e = pace->group; e; e = e->parent) {
        if (e->limit.kbps) {
            room = MIN(room, burst_bytes(&e->limit));
        }
    }
    room -= room % unit;
    return MIN(MAX(room, unit), max);
}

static void own_fired(void *opaque)
{
    Mlx5Pace *pace = opaque;

    mlx5_work_schedule(pace->func, pace->work);
}

static Mlx5Pace *pace_new(Mlx5Func *func, Mlx5Work *work)
{
    Mlx5Pace *pace = g_new0(Mlx5Pace, 1);

    pace->func = func;
    pace->work = work;
    mlx5_timer_init(&pace->timer, own_fired, pace);
    pace->in_all.data = pace;
    g_queue_push_tail_link(&func->pacer->all, &pace->in_all);
    return pace;
}

static void set_group(Mlx5Pace *pace, Mlx5SchedElem *group)
{
    leave(pace);
    mlx5_obj_ref(group);
    mlx5_obj_unref(pace->group);
    pace->group = group;
}

static void destroy(Mlx5Pace *pace)
{
    Mlx5Pacer *pacer = pace->func->pacer;

    set_group(pace, NULL);
    mlx5_timer_cancel(pace->func, &pace->timer);
    g_queue_unlink(&pacer->all, &pace->in_all);
    if (pacer->turn == pace) {
        pacer->turn = NULL;
    }
    g_free(pace);
}

void mlx5_pace_set(Mlx5Func *func, Mlx5Pace **pace, Mlx5Work *work,
                   uint16_t rate_index, Mlx5SchedElem *group)
{
    if (!rate_index && !group && !(*pace && (*pace)->flow)) {
        if (*pace) {
            destroy(*pace);
            *pace = NULL;
        }
    } else {
        if (!*pace) {
            *pace = pace_new(func, work);
        }
        if ((*pace)->rate_index != rate_index) {
            (*pace)->rate_index = rate_index;
            (*pace)->own.ready_ns = 0;
        }
        refresh_own(*pace);
        set_group(*pace, group);
    }
    if (work) {
        /* It may have waited for what is no more. */
        mlx5_work_schedule(func, work);
    }
}

void mlx5_pace_set_flow(Mlx5Func *func, Mlx5Pace **pace, Mlx5Work *work,
                        Mlx5CongFlow *flow)
{
    if (!*pace && flow) {
        *pace = pace_new(func, work);
    }
    if (*pace) {
        (*pace)->flow = flow;
        mlx5_pace_set(func, pace, work, (*pace)->rate_index, (*pace)->group);
    }
}

void mlx5_pacer_rate_changed(Mlx5Func *func, uint16_t index)
{
    for (GList *l = func->pacer->all.head; l; l = l->next) {
        Mlx5Pace *pace = l->data;

        if (pace->rate_index == index) {
            refresh_own(pace);
            pace->own.ready_ns = 0;
            mlx5_work_schedule(func, pace->work);
        }
    }
}

/* --- the function --- */

void mlx5_pacer_new(Mlx5Func *func)
{
    Mlx5Pacer *pacer = g_new0(Mlx5Pacer, 1);

    mlx5_work_init(&pacer->work, run, func);
    mlx5_timer_init(&pacer->timer, fired, func);
    func->pacer = pacer;
}

void mlx5_pacer_reset(Mlx5Func *func)
{
    Mlx5Pacer *pacer = func->pacer;

    /* Queues and elements are gone by now. */
    g_assert(!pacer->all.length && !pacer->top.active.length);
    mlx5_work_cancel(func, &pacer->work);
    mlx5_timer_cancel(func, &pacer->timer);
    memset(pacer->rates, 0, sizeof(pacer->rates));
    pacer->top.clock = 0;
}

void mlx5_pacer_free(Mlx5Func *func)
{
    mlx5_pacer_reset(func);
    g_clear_pointer(&func->pacer, g_free);
}
