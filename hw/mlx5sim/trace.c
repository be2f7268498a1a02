/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One QEMU trace event per Mlx5TraceClass, so that -trace 'mlx5sim_*', the
 * monitor's trace-event and -D work as for any device. Lines are written as
 * QEMU's log backend, the one Debian builds, writes them.
 */
#include "compat.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "device.h"

static uint16_t mlx5sim_trace_state[MLX5_TRACE_CLASS_COUNT];

#define EVENT(cls, event)                                                      \
    [MLX5_TRACE_##cls] = {.id = 0,                                             \
                          .name = "mlx5sim_" event,                            \
                          .sstate = true,                                      \
                          .dstate = &mlx5sim_trace_state[MLX5_TRACE_##cls],    \
                          MLX5SIM_TRACE_NO_VCPU}

static TraceEvent mlx5sim_trace_events[] = {
    EVENT(CMD, "cmd"),
    EVENT(REG, "reg"),
    EVENT(DOORBELL, "doorbell"),
    EVENT(WQE, "wqe"),
    EVENT(PACKET, "packet"),
    EVENT(CQE, "cqe"),
    EVENT(EQE, "eqe"),
    EVENT(IRQ, "irq"),
    EVENT(STATE, "state"),
    EVENT(FRAME, "frame"),
    EVENT(GUEST_ERROR, "guest_error"),
};

QEMU_BUILD_BUG_ON(ARRAY_SIZE(mlx5sim_trace_events) != MLX5_TRACE_CLASS_COUNT);

/**
 * mlx5sim_trace_register - make the events known; before -trace is parsed
 */
void mlx5sim_trace_register(void)
{
    static TraceEvent *group[MLX5_TRACE_CLASS_COUNT + 1];

    for (unsigned i = 0; i < MLX5_TRACE_CLASS_COUNT; i++) {
        g_assert(mlx5sim_trace_events[i].name);
        group[i] = &mlx5sim_trace_events[i];
    }
    trace_event_register_group(group);
}

bool mlx5sim_trace_enabled(Mlx5TraceClass cls)
{
    return unlikely(trace_events_enabled_count) &&
           qatomic_read(&mlx5sim_trace_state[cls]);
}

void mlx5sim_trace_line(Mlx5simDevice *s, Mlx5TraceClass cls, const char *line)
{
    const char *id = DEVICE(s)->id ? DEVICE(s)->id : "-";
    const char *name = mlx5sim_trace_events[cls].name;
    struct timeval now;

    if (!mlx5sim_trace_enabled(cls)) {
        return;
    }
    if (message_with_timestamp) {
        gettimeofday(&now, NULL);
        qemu_log("%d@%zu.%06zu:%s %s %s\n", qemu_get_thread_id(),
                 (size_t)now.tv_sec, (size_t)now.tv_usec, name, id, line);
    } else {
        qemu_log("%s %s %s\n", name, id, line);
    }
}
