/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace lines and the guest-error log. Formatting happens only when somebody
 * listens to the class.
 */
#ifndef MLX5_BUS_TRACE_H
#define MLX5_BUS_TRACE_H

#include "bus/func.h"

static inline bool mlx5_trace_on(Mlx5Func *func, Mlx5TraceClass cls)
{
    return func->ops->trace_enabled(func->host, cls);
}

void mlx5_trace_line(Mlx5Func *func, Mlx5TraceClass cls, const char *fmt, ...)
    G_GNUC_PRINTF(3, 4);

#define mlx5_trace(func, cls, ...)                           \
    do {                                                     \
        if (mlx5_trace_on(func, cls)) {                      \
            mlx5_trace_line(func, cls, __VA_ARGS__);         \
        }                                                    \
    } while (0)

/** The guest did what the specification leaves open; log once per site. */
#define mlx5_guest_error(func, ...)                          \
    do {                                                     \
        static gint said_;                                   \
        mlx5_guest_error_line(func, &said_, __VA_ARGS__);    \
    } while (0)

void mlx5_guest_error_line(Mlx5Func *func, gint *said, const char *fmt, ...)
    G_GNUC_PRINTF(3, 4);

#endif
