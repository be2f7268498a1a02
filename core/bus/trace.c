/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace lines; see trace.h.
 */
#include "bus/trace.h"

void mlx5_trace_line(Mlx5Func *func, Mlx5TraceClass cls, const char *fmt, ...)
{
    g_autofree char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    line = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    func->ops->trace(func->host, cls, line);
}

void mlx5_guest_error_line(Mlx5Func *func, gint *said, const char *fmt, ...)
{
    g_autofree char *line = NULL;
    va_list ap;
    bool traced = mlx5_trace_on(func, MLX5_TRACE_GUEST_ERROR);
    /* Once per site and process, whichever function gets there first. */
    bool first = g_atomic_int_compare_and_exchange(said, 0, 1);

    if (!first && !traced) {
        return;
    }
    va_start(ap, fmt);
    line = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    if (first) {
        func->ops->guest_error(func->host, line);
    }
    if (traced) {
        func->ops->trace(func->host, MLX5_TRACE_GUEST_ERROR, line);
    }
}
