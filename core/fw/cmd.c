/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands by opcode: the table of opcodes.def, the checks that hold for every
 * command, and the decoded trace (PRM: Commands; driver: cmd.c).
 */
#include "fw/cmd_layouts.h"
#include "fw/fw_internal.h"

typedef struct CmdInfo {
    uint16_t opcode;
    const char *name;
    const Mlx5Layout *in, *out;
    void (*handler)(Mlx5Func *func, Mlx5Cmd *cmd);
    uint32_t flags;
} CmdInfo;

/* In order of opcode: looked up by bisection. */
static const CmdInfo commands[] = {
#define MLX5_CMD(op, name, layout, handler, flags) \
    { op, #name, &mlx5_layout_##layout##_in, &mlx5_layout_##layout##_out, \
      handler, flags },
#define MLX5_CMD_UNKNOWN(op, name) { op, #name, NULL, NULL, NULL, 0 },
#include "fw/opcodes.def"
#undef MLX5_CMD
#undef MLX5_CMD_UNKNOWN
};

static const struct {
    Mlx5Status status;
    const char *name;
} status_names[] = {
    { MLX5_CMD_STAT_OK, "OK" },
    { MLX5_CMD_STAT_INT_ERR, "INT_ERR" },
    { MLX5_CMD_STAT_BAD_OP_ERR, "BAD_OP_ERR" },
    { MLX5_CMD_STAT_BAD_PARAM_ERR, "BAD_PARAM_ERR" },
    { MLX5_CMD_STAT_BAD_SYS_STATE_ERR, "BAD_SYS_STATE_ERR" },
    { MLX5_CMD_STAT_BAD_RES_ERR, "BAD_RES_ERR" },
    { MLX5_CMD_STAT_RES_BUSY, "RES_BUSY" },
    { MLX5_CMD_STAT_NOT_READY, "NOT_READY" },
    { MLX5_CMD_STAT_LIM_ERR, "LIM_ERR" },
    { MLX5_CMD_STAT_BAD_RES_STATE_ERR, "BAD_RES_STATE_ERR" },
    { MLX5_CMD_STAT_IX_ERR, "IX_ERR" },
    { MLX5_CMD_STAT_NO_RES_ERR, "NO_RES_ERR" },
    { MLX5_CMD_STAT_BAD_QP_STATE_ERR, "BAD_QP_STATE_ERR" },
    { MLX5_CMD_STAT_BAD_PKT_ERR, "BAD_PKT_ERR" },
    { MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR, "BAD_SIZE_OUTS_CQES_ERR" },
    { MLX5_CMD_STAT_BAD_INP_LEN_ERR, "BAD_INP_LEN_ERR" },
    { MLX5_CMD_STAT_BAD_OUTP_LEN_ERR, "BAD_OUTP_LEN_ERR" },
};

static const char *status_name(Mlx5Status status)
{
    for (size_t i = 0; i < G_N_ELEMENTS(status_names); i++) {
        if (status_names[i].status == status) {
            return status_names[i].name;
        }
    }
    return "?";
}

static int compare_opcode(const void *key, const void *row)
{
    return *(const uint16_t *)key - ((const CmdInfo *)row)->opcode;
}

static const CmdInfo *find(uint16_t opcode)
{
    return bsearch(&opcode, commands, G_N_ELEMENTS(commands),
                   sizeof(commands[0]), compare_opcode);
}

/* Bytes that handlers may touch: the layout, at least a header. */
static uint32_t layout_bytes(const Mlx5Layout *layout)
{
    return layout ? MAX(layout->bits / 8, 16) : 16;
}

uint32_t mlx5_cmd_in_bytes(uint16_t opcode)
{
    const CmdInfo *info = find(opcode);

    return layout_bytes(info ? info->in : NULL);
}

uint32_t mlx5_cmd_out_bytes(uint16_t opcode)
{
    const CmdInfo *info = find(opcode);

    return layout_bytes(info ? info->out : NULL);
}

/*
 * What an input must hold: everything before a part that is decoded
 * elsewhere, as its size is the driver's choice (capabilities, page lists).
 */
static uint32_t min_in_bytes(const Mlx5Layout *layout)
{
    uint32_t bits = layout->bits;

    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const Mlx5Field *f = &layout->fields[i];

        if (f->kind == MLX5_KIND_BLOB || (f->kind == MLX5_KIND_ARRAY &&
                                          f->count == 0)) {
            bits = MIN(bits, f->bit_off);
        }
    }
    return bits / 8;
}

static bool state_allows(Mlx5Func *func, const CmdInfo *info)
{
    return info->flags & MLX5_CMDF_BOOT || func->fw->hca == MLX5_HCA_RUN;
}

/* The checks that stand before every handler. */
static void check(Mlx5Func *func, const CmdInfo *info, Mlx5Cmd *cmd)
{
    if (!info || !info->handler) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_BAD_OPCODE);
    } else if (cmd->in_len < min_in_bytes(info->in)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_INP_LEN_ERR,
                      MLX5_SYND_IN_TOO_SHORT);
    } else if (cmd->out_len < MIN(info->out->bits / 8, 16)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_OUTP_LEN_ERR,
                      MLX5_SYND_OUT_TOO_SHORT);
    } else if (cmd->uid && !(info->flags & MLX5_CMDF_UID)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_UID_NOT_ALLOWED);
    } else if (cmd->uid && !mlx5_uctx_exists(func, cmd->uid)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_UID_UNKNOWN);
    } else if (!state_allows(func, info)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_HCA_STATE);
    }
}

static void describe_in(GString *line, const CmdInfo *info, const uint8_t *in,
                        uint32_t len)
{
    if (info && info->in) {
        mlx5_prm_format(line, info->in, in, len);
    }
}

static void describe_out(GString *line, const CmdInfo *info, Mlx5Status status,
                         uint32_t syndrome, const uint8_t *out, uint32_t len)
{
    if (status) {
        g_string_append_printf(line, "%s (0x%x), syndrome 0x%x: %s",
                               status_name(status), status, syndrome,
                               mlx5_syndrome_text(syndrome));
        return;
    }
    g_string_append(line, "OK");
    if (info && info->out) {
        mlx5_prm_format(line, info->out, out, len);
    }
}

static void trace(Mlx5Func *func, const CmdInfo *info, const Mlx5Cmd *cmd,
                  unsigned slot, bool after)
{
    g_autoptr(GString) line = g_string_new(NULL);

    g_string_printf(line, "slot %u: %s", slot, info ? info->name : "?");
    if (!info) {
        g_string_append_printf(line, " opcode=0x%x", cmd->opcode);
    }
    if (!after) {
        g_string_append(line, " in");
        describe_in(line, info, cmd->in, cmd->in_len);
    } else {
        g_string_append(line, " -> ");
        describe_out(line, info, cmd->status, cmd->syndrome, cmd->out,
                     cmd->out_len);
    }
    mlx5_trace_line(func, MLX5_TRACE_CMD, "%s", line->str);
}

const char *mlx5_cmd_describe(const Mlx5CmdNote *note, GString *in,
                              GString *out)
{
    const CmdInfo *info = find(note->opcode);

    describe_in(in, info, note->in, note->in_len);
    describe_out(out, info, note->status, note->syndrome, note->out,
                 note->out_len);
    return info ? info->name : NULL;
}

static void write_header(Mlx5Cmd *cmd)
{
    uint32_t syndrome = GUINT32_TO_BE(cmd->syndrome);

    cmd->out[0] = cmd->status;
    memcpy(cmd->out + 4, &syndrome, 4);
}

void mlx5_cmd_execute(Mlx5Func *func, Mlx5Cmd *cmd, unsigned slot)
{
    const CmdInfo *info = find(cmd->opcode);
    bool traced = mlx5_trace_on(func, MLX5_TRACE_CMD);

    cmd->uid = mlx5_prm_get(cmd->in, 0x10, 16);
    cmd->op_mod = mlx5_prm_get(cmd->in, 0x30, 16);
    if (traced) {
        trace(func, info, cmd, slot, false);
    }
    check(func, info, cmd);
    if (!cmd->status) {
        info->handler(func, cmd);
    }
    if (cmd->status) {
        /* A refused command returns nothing but the reason. */
        memset(cmd->out, 0, MAX(cmd->out_len,
                                layout_bytes(info ? info->out : NULL)));
        func->fw->refused++;
    }
    func->fw->commands++;
    mlx5_pages_balance(func);
    write_header(cmd);
    mlx5_cmd_log_add(func, cmd, slot);
    if (traced) {
        trace(func, info, cmd, slot, true);
    }
}
