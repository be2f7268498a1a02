/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last commands, for who looks at a card after the fact: their bytes are
 * kept, and are put into words when somebody asks.
 */
#include "fw/cmd_log.h"

#include "fw/fw_internal.h"

void mlx5_cmd_log_add(Mlx5Func *func, const Mlx5Cmd *cmd, unsigned slot)
{
    Mlx5CmdLog *log = &func->fw->log;
    uint64_t number = func->fw->commands - 1;
    Mlx5CmdNote *n;

    if (!log->notes) {
        log->notes = g_new(Mlx5CmdNote, MLX5_CMD_LOG_COUNT);
    }
    n = &log->notes[number % MLX5_CMD_LOG_COUNT];
    *n = (Mlx5CmdNote){
        .number = number, .time_ns = mlx5_clock_ns(func), .slot = slot,
        .opcode = cmd->opcode, .status = cmd->status,
        .syndrome = cmd->syndrome,
        .in_len = MIN(cmd->in_len, MLX5_CMD_LOG_BYTES),
        .out_len = MIN(cmd->out_len, MLX5_CMD_LOG_BYTES),
    };
    memcpy(n->in, cmd->in, n->in_len);
    memcpy(n->out, cmd->out, n->out_len);
}

void mlx5_cmd_log_foreach(Mlx5Func *func,
                          void (*fn)(const Mlx5CmdNote *note, void *opaque),
                          void *opaque)
{
    const Mlx5CmdLog *log = &func->fw->log;
    uint64_t end = func->fw->commands;
    uint64_t first = end > MLX5_CMD_LOG_COUNT ? end - MLX5_CMD_LOG_COUNT : 0;

    for (uint64_t i = first; i < end; i++) {
        fn(&log->notes[i % MLX5_CMD_LOG_COUNT], opaque);
    }
}

void mlx5_cmd_log_clear(Mlx5Func *func)
{
    g_clear_pointer(&func->fw->log.notes, g_free);
}
