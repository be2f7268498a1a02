/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last commands of a function; see cmd_log.c. */
#ifndef MLX5_FW_CMD_LOG_H
#define MLX5_FW_CMD_LOG_H

#include "fw/cmd.h"

/** As many are kept ... */
#define MLX5_CMD_LOG_COUNT 128u
/** ... with so many bytes of input and of output. */
#define MLX5_CMD_LOG_BYTES 320u

typedef struct Mlx5CmdNote {
    uint64_t number;         /* since reset, from 0 */
    int64_t time_ns;         /* of its end, on the card's clock */
    unsigned slot;
    uint16_t opcode;
    Mlx5Status status;
    uint32_t syndrome;
    uint32_t in_len, out_len; /* kept */
    uint8_t in[MLX5_CMD_LOG_BYTES], out[MLX5_CMD_LOG_BYTES];
} Mlx5CmdNote;

typedef struct Mlx5CmdLog {
    Mlx5CmdNote *notes;      /* a ring, made at the first command */
} Mlx5CmdLog;

/** @cmd is done and counted: the last of Mlx5Fw.commands. */
void mlx5_cmd_log_add(Mlx5Func *func, const Mlx5Cmd *cmd, unsigned slot);
/** Call @fn for each that is kept, the oldest first. */
void mlx5_cmd_log_foreach(Mlx5Func *func,
                          void (*fn)(const Mlx5CmdNote *note, void *opaque),
                          void *opaque);
void mlx5_cmd_log_clear(Mlx5Func *func);
/**
 * Append the input of a command and what came of it, in words.
 * Return: its name, NULL if there is no such command.
 */
const char *mlx5_cmd_describe(const Mlx5CmdNote *note, GString *in,
                              GString *out);

#endif
