/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers of a function, in a binary heap by deadline; the host keeps one real
 * timer for the earliest. Guarded by Mlx5Card.lock.
 */
#ifndef MLX5_BUS_TIMER_H
#define MLX5_BUS_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

struct Mlx5Func;

/** Embedded in what it times; zero is a timer at rest. */
typedef struct Mlx5Timer {
    void (*fire)(void *opaque);  /* called under the lock, timer at rest */
    void *opaque;
    int64_t deadline_ns;
    uint32_t heap_pos;           /* index + 1; 0 = at rest */
} Mlx5Timer;

typedef struct Mlx5TimerHeap {
    GPtrArray *heap;             /* Mlx5Timer * */
} Mlx5TimerHeap;

void mlx5_timer_init(Mlx5Timer *timer, void (*fire)(void *), void *opaque);
/** (Re)arm for @deadline_ns of clock_ns. */
void mlx5_timer_arm(struct Mlx5Func *func, Mlx5Timer *timer,
                    int64_t deadline_ns);
void mlx5_timer_cancel(struct Mlx5Func *func, Mlx5Timer *timer);
static inline bool mlx5_timer_armed(const Mlx5Timer *timer)
{
    return timer->heap_pos != 0;
}
/** Fire what is due. */
void mlx5_timer_run(struct Mlx5Func *func);

#endif
