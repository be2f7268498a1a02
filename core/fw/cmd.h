/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A firmware command as its handler sees it.
 *
 * Input was copied from the guest whole before the handler runs and can no
 * longer change; output is written back after it returns. A handler parses,
 * checks, commits, in that order: nothing changes before the last check
 * passed. (PRM: Command Interface; driver: cmd.c.)
 */
#ifndef MLX5_FW_CMD_H
#define MLX5_FW_CMD_H

#include "bus/func.h"
#include "bus/trace.h"
#include "prm/prm.h"
#include "fw/syndrome.h"

/** Command status, output byte 0 (driver: cmd.c cmd_status_to_err). */
typedef enum Mlx5Status {
    MLX5_CMD_STAT_OK = 0x00,
    MLX5_CMD_STAT_INT_ERR = 0x01,
    MLX5_CMD_STAT_BAD_OP_ERR = 0x02,
    MLX5_CMD_STAT_BAD_PARAM_ERR = 0x03,
    MLX5_CMD_STAT_BAD_SYS_STATE_ERR = 0x04,
    MLX5_CMD_STAT_BAD_RES_ERR = 0x05,
    MLX5_CMD_STAT_RES_BUSY = 0x06,
    MLX5_CMD_STAT_NOT_READY = 0x07,
    MLX5_CMD_STAT_LIM_ERR = 0x08,
    MLX5_CMD_STAT_BAD_RES_STATE_ERR = 0x09,
    MLX5_CMD_STAT_IX_ERR = 0x0a,
    MLX5_CMD_STAT_NO_RES_ERR = 0x0f,
    MLX5_CMD_STAT_BAD_QP_STATE_ERR = 0x10,
    MLX5_CMD_STAT_BAD_PKT_ERR = 0x30,
    MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR = 0x40,
    MLX5_CMD_STAT_BAD_INP_LEN_ERR = 0x50,
    MLX5_CMD_STAT_BAD_OUTP_LEN_ERR = 0x51,
} Mlx5Status;

/** One command in execution. */
typedef struct Mlx5Cmd {
    uint16_t opcode;
    uint16_t op_mod;
    uint16_t uid;
    const uint8_t *in;       /* zero padded to the layout's size at least */
    uint32_t in_len;         /* as the guest gave it, bytes */
    uint8_t *out;            /* zeroed, room for out_len and the layout */
    uint32_t out_len;        /* as the guest gave it, bytes */
    Mlx5Status status;       /* set by mlx5_cmd_fail() */
    uint32_t syndrome;
} Mlx5Cmd;

/** Refuse the command; the reason is one line of syndrome.def, used once. */
void mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome);

/** When a command is allowed, and to whom. */
enum {
    MLX5_CMDF_BOOT = 1 << 0, /* as soon as the command queue is up */
    MLX5_CMDF_RUN = 1 << 1,  /* between INIT_HCA and TEARDOWN_HCA */
    MLX5_CMDF_UID = 1 << 2,  /* uid may be non-zero */
};

/* The form of a handler; success is returning without mlx5_cmd_fail(). */
#define MLX5_CMD_HANDLER(name) void name(Mlx5Func *func, Mlx5Cmd *cmd)

/* Every handler named in opcodes.def, whichever folder defines it. */
#define MLX5_CMD(op, name, layout, handler, flags) \
    MLX5_CMD_HANDLER(handler);
#define MLX5_CMD_UNKNOWN(op, name)
#include "fw/opcodes.def"
#undef MLX5_CMD
#undef MLX5_CMD_UNKNOWN

/** Opcodes by name: MLX5_CMD_OP_CREATE_CQ ... */
enum {
#define MLX5_CMD(op, name, layout, handler, flags) MLX5_CMD_OP_##name = op,
#define MLX5_CMD_UNKNOWN(op, name) MLX5_CMD_OP_##name = op,
#include "fw/opcodes.def"
#undef MLX5_CMD
#undef MLX5_CMD_UNKNOWN
};

#endif
