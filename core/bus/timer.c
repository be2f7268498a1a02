/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timer heap; see timer.h.
 */
#include "bus/func.h"

static Mlx5Timer *at(GPtrArray *heap, guint i)
{
    return g_ptr_array_index(heap, i);
}

static void put(GPtrArray *heap, guint i, Mlx5Timer *timer)
{
    heap->pdata[i] = timer;
    timer->heap_pos = i + 1;
}

static void sift_up(GPtrArray *heap, guint i, Mlx5Timer *timer)
{
    while (i > 0 && at(heap, (i - 1) / 2)->deadline_ns > timer->deadline_ns) {
        put(heap, i, at(heap, (i - 1) / 2));
        i = (i - 1) / 2;
    }
    put(heap, i, timer);
}

static void sift_down(GPtrArray *heap, guint i, Mlx5Timer *timer)
{
    for (;;) {
        guint kid = 2 * i + 1;

        if (kid >= heap->len) {
            break;
        }
        if (kid + 1 < heap->len &&
            at(heap, kid + 1)->deadline_ns < at(heap, kid)->deadline_ns) {
            kid++;
        }
        if (at(heap, kid)->deadline_ns >= timer->deadline_ns) {
            break;
        }
        put(heap, i, at(heap, kid));
        i = kid;
    }
    put(heap, i, timer);
}

/* Tell the host of a new earliest deadline, at unlock. */
static void note_earliest(Mlx5Func *func)
{
    GPtrArray *heap = func->timers.heap;

    func->deferred.timer_deadline_ns =
        heap->len ? at(heap, 0)->deadline_ns : -1;
    func->deferred.timer_changed = true;
}

static void heap_remove(Mlx5Func *func, Mlx5Timer *timer)
{
    GPtrArray *heap = func->timers.heap;
    guint i = timer->heap_pos - 1;
    Mlx5Timer *last = at(heap, heap->len - 1);

    g_ptr_array_set_size(heap, heap->len - 1);
    timer->heap_pos = 0;
    if (last != timer) {
        if (i > 0 && at(heap, (i - 1) / 2)->deadline_ns > last->deadline_ns) {
            sift_up(heap, i, last);
        } else {
            sift_down(heap, i, last);
        }
    }
}

void mlx5_timer_init(Mlx5Timer *timer, void (*fire)(void *), void *opaque)
{
    *timer = (Mlx5Timer){ .fire = fire, .opaque = opaque };
}

void mlx5_timer_arm(Mlx5Func *func, Mlx5Timer *timer, int64_t deadline_ns)
{
    GPtrArray *heap = func->timers.heap;
    bool first;

    if (timer->heap_pos) {
        heap_remove(func, timer);
    }
    timer->deadline_ns = deadline_ns;
    first = !heap->len || at(heap, 0)->deadline_ns > deadline_ns;
    g_ptr_array_add(heap, timer);
    sift_up(heap, heap->len - 1, timer);
    if (first) {
        note_earliest(func);
    }
}

void mlx5_timer_cancel(Mlx5Func *func, Mlx5Timer *timer)
{
    /* A cancelled earliest timer leaves the host's alarm: it wakes once for
     * nothing, which is cheaper than moving it for every acknowledgement. */
    if (timer->heap_pos) {
        heap_remove(func, timer);
        if (!func->timers.heap->len) {
            note_earliest(func);
        }
    }
}

void mlx5_timer_run(Mlx5Func *func)
{
    GPtrArray *heap = func->timers.heap;
    int64_t now = mlx5_clock_ns(func);

    while (heap->len && at(heap, 0)->deadline_ns <= now) {
        Mlx5Timer *timer = at(heap, 0);

        heap_remove(func, timer);
        timer->fire(timer->opaque);
    }
    note_earliest(func);
}
