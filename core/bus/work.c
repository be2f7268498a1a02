/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work queue; see work.h.
 */
#include "bus/func.h"

void mlx5_work_init(Mlx5Work *work, bool (*run)(void *, Mlx5Budget *),
                    void *opaque)
{
    *work = (Mlx5Work){ .run = run, .opaque = opaque };
    work->link.data = work;
}

void mlx5_work_schedule(Mlx5Func *func, Mlx5Work *work)
{
    if (!work->queued) {
        work->queued = true;
        g_queue_push_tail_link(&func->work.queue, &work->link);
    }
}

void mlx5_work_cancel(Mlx5Func *func, Mlx5Work *work)
{
    if (work->queued) {
        work->queued = false;
        g_queue_unlink(&func->work.queue, &work->link);
    }
}

bool mlx5_work_run(Mlx5Func *func, Mlx5Budget *budget)
{
    while (mlx5_budget_left(budget)) {
        GList *link = g_queue_pop_head_link(&func->work.queue);
        Mlx5Work *work;

        if (!link) {
            return false;
        }
        work = link->data;
        work->queued = false;
        /* A step is spent even by an item that does nothing: the loop ends. */
        budget->steps--;
        if (work->run(work->opaque, budget)) {
            mlx5_work_schedule(func, work);
        }
    }
    return !g_queue_is_empty(&func->work.queue);
}

void mlx5_work_hold(Mlx5Func *func, Mlx5Work *work)
{
    if (!work->queued) {
        work->queued = true;
        g_queue_push_tail_link(&func->held.queue, &work->link);
    }
}

void mlx5_work_unhold(Mlx5Func *func, Mlx5Work *work)
{
    if (work->queued) {
        work->queued = false;
        g_queue_unlink(&func->held.queue, &work->link);
    }
}

void mlx5_work_run_held(Mlx5Func *func)
{
    GList *link;

    while ((link = g_queue_pop_head_link(&func->held.queue))) {
        Mlx5Work *work = link->data;

        work->queued = false;
        work->run(work->opaque, NULL);
    }
}

void mlx5_work_run_inline(Mlx5Func *func)
{
    Mlx5Budget budget = { MLX5_INLINE_BYTES, MLX5_INLINE_STEPS };

    if (func->props.deterministic) {
        budget = (Mlx5Budget){ INT64_MAX, INT64_MAX };
    }
    if (mlx5_work_run(func, &budget)) {
        func->deferred.kick = true;
    }
}
