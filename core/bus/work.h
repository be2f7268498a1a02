/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may be too long for the thread that caused it.
 *
 * A doorbell schedules its queue and runs the work queue on the ringing
 * thread up to a budget; what is left is run by mlx5_func_work() on a thread
 * of the host, in slices. Guarded by Mlx5Card.lock.
 */
#ifndef MLX5_BUS_WORK_H
#define MLX5_BUS_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

struct Mlx5Func;

/** What a slice of work may still spend. */
typedef struct Mlx5Budget {
    int64_t bytes;               /* payload bytes */
    int64_t steps;               /* work requests or packets */
} Mlx5Budget;

/*
 * On the ringing thread, and per slice on the host's thread. A small request
 * takes one step: a list of 32 of them, posted by one doorbell, takes 35, and is
 * not worth waking a thread for.
 */
#define MLX5_INLINE_BYTES (64 * 1024)
#define MLX5_INLINE_STEPS 128
#define MLX5_SLICE_BYTES (256 * 1024)
#define MLX5_SLICE_STEPS 64

static inline bool mlx5_budget_left(const Mlx5Budget *budget)
{
    return budget->bytes > 0 && budget->steps > 0;
}

static inline void mlx5_budget_spend(Mlx5Budget *budget, uint64_t bytes)
{
    budget->bytes -= bytes;
    budget->steps--;
}

/** Embedded in what has work to do; zero-filled, then mlx5_work_init(). */
typedef struct Mlx5Work {
    GList link;                  /* link.data is the work itself */
    bool queued;
    /**
     * Do some; spend from @budget. Return: true if work is left for which
     * nobody else will schedule this item.
     */
    bool (*run)(void *opaque, Mlx5Budget *budget);
    void *opaque;
} Mlx5Work;

typedef struct Mlx5WorkQueue {
    GQueue queue;
} Mlx5WorkQueue;

void mlx5_work_init(Mlx5Work *work, bool (*run)(void *, Mlx5Budget *),
                    void *opaque);
/** Put at the tail unless queued already. */
void mlx5_work_schedule(struct Mlx5Func *func, Mlx5Work *work);
/** Take out of the queue (before what embeds it is freed). */
void mlx5_work_cancel(struct Mlx5Func *func, Mlx5Work *work);
/** Run items in turn until none is left or @budget is spent. */
/** Return: true if items are left. */
bool mlx5_work_run(struct Mlx5Func *func, Mlx5Budget *budget);
/**
 * Run @work before the lock is dropped, whatever the budget: for what may be
 * held back while more is done, but not longer. Its return value is ignored.
 */
void mlx5_work_hold(struct Mlx5Func *func, Mlx5Work *work);
/** Forget that (before what embeds it is freed). */
void mlx5_work_unhold(struct Mlx5Func *func, Mlx5Work *work);
/** Run all that is held. */
void mlx5_work_run_held(struct Mlx5Func *func);
/** Run on the ringing thread; note a kick of the host for what is left. */
void mlx5_work_run_inline(struct Mlx5Func *func);

#endif
