/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ACCESS_REG: registers by number (PRM: Register Access; driver: port.c
 * mlx5_core_access_reg). Registers of the port are in reg_port.c. One that is
 * not in the table is refused, as real firmware refuses those it lacks.
 */
#include "fw/fw_internal.h"

/** op_mod of ACCESS_REG. */
enum {
    OP_WRITE = 0,
    OP_READ = 1,
};

#define NODE_DESC_BYTES 64
#define MCAM_GROUPS 4

/* Always read as written: byte 0 says how the host orders bytes. */
static void reg_host_endianness(Mlx5Func *func, Mlx5Cmd *cmd,
                                Mlx5RegAccess *acc)
{
    (void)cmd;
    if (acc->write) {
        func->fw->port.host_endianness = acc->in[0];
    }
    acc->out[0] = func->fw->port.host_endianness;
}

static void reg_node_desc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    (void)cmd;
    if (acc->write) {
        memcpy(func->fw->port.node_desc, acc->in, NODE_DESC_BYTES);
    }
    memcpy(acc->out, func->fw->port.node_desc, NODE_DESC_BYTES);
}

/* What the real-time clock's register can do is said here. */
static void mcam_features(Mlx5Func *func, uint8_t *reg)
{
    uint8_t *f = MLX5_ADDR_OF(mcam_reg, reg, enhanced_features);

    MLX5_SET(mcam_enhanced_features, f, ptpcyc2realtime_modify,
             func->props.rtc);
    MLX5_SET(mcam_enhanced_features, f, mtutc_freq_adj_units, func->props.rtc);
    MLX5_SET(mcam_enhanced_features, f, mtutc_time_adjustment_extended_range,
             func->props.rtc);
}

/* Of the management registers those of components; groups 0 to 3 are known. */
static void reg_mcam(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t group = MLX5_GET(mcam_reg, acc->in, access_reg_group);

    if (group >= MCAM_GROUPS || MLX5_GET(mcam_reg, acc->in, feature_group)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCAM_GROUP);
        return;
    }
    MLX5_SET(mcam_reg, acc->out, access_reg_group, group);
    mcam_features(func, acc->out);
    if (group == 0) {
        uint8_t *mask = MLX5_ADDR_OF(mcam_reg, acc->out, access_regs);

        MLX5_SET(mcam_access_reg, mask, mcqs, 1);
        MLX5_SET(mcam_access_reg, mask, mcqi, 1);
        MLX5_SET(mcam_access_reg, mask, mtutc, func->props.rtc);
    }
}

static const struct {
    uint16_t id;
    uint16_t bytes;
    bool writable;
    Mlx5RegHandler *handler;
} registers[] = {
#define LAYOUT(l) MLX5_ST_SZ_BYTES(l)
    { 0x4002, LAYOUT(qpts_reg), true, mlx5_reg_qpts },
    { 0x4005, LAYOUT(qetc_reg), true, mlx5_reg_qetcr },
    { 0x400a, LAYOUT(qtct_reg), true, mlx5_reg_qtct },
    { 0x4013, LAYOUT(qpdpm_reg), true, mlx5_reg_qpdpm },
    { 0x4019, LAYOUT(qcam_reg), false, mlx5_reg_qcam },
    { 0x5002, LAYOUT(pmlp_reg), false, mlx5_reg_pmlp },
    { 0x5003, LAYOUT(pmtu_reg), true, mlx5_reg_pmtu },
    { 0x5004, LAYOUT(ptys_reg), true, mlx5_reg_ptys },
    { 0x5006, LAYOUT(paos_reg), true, mlx5_reg_paos },
    { 0x5007, LAYOUT(pfcc_reg), true, mlx5_reg_pfcc },
    { 0x5008, LAYOUT(ppcnt_reg), false, mlx5_reg_ppcnt },
    { 0x500b, LAYOUT(pptb_reg), true, mlx5_reg_pptb },
    { 0x500c, LAYOUT(pbmc_reg), true, mlx5_reg_pbmc },
    /* Of the length that all kernels know; what follows is for 200 Gb/s. */
    { 0x5023, 80, true, mlx5_reg_pplm },
    { 0x5041, LAYOUT(pcmr_reg), true, mlx5_reg_pcmr },
    { 0x507f, LAYOUT(pcam_reg), false, mlx5_reg_pcam },
    { 0x6001, NODE_DESC_BYTES, true, reg_node_desc },
    { 0x7004, LAYOUT(register_host_endianness), true, reg_host_endianness },
    { 0x9014, 16 + 48, false, mlx5_reg_mcia },
    { 0x902b, LAYOUT(mlcr_reg), true, mlx5_reg_mlcr },
    { 0x9055, LAYOUT(mtutc_reg), true, mlx5_reg_mtutc },
    { 0x9060, LAYOUT(mcqs_reg), false, mlx5_reg_mcqs },
    { 0x9061, LAYOUT(mcqi_reg) + LAYOUT(mcqi_version), false, mlx5_reg_mcqi },
    { 0x907f, LAYOUT(mcam_reg), false, reg_mcam },
    { 0xb001, LAYOUT(sbpr_reg), true, mlx5_reg_sbpr },
    { 0xb002, LAYOUT(sbcm_reg), true, mlx5_reg_sbcm },
    { 0xb01f, LAYOUT(sbcam_reg), false, mlx5_reg_sbcam },
    { 0xc000, LAYOUT(resource_dump), true, mlx5_reg_resource_dump },
#undef LAYOUT
};

static bool exists(uint32_t id)
{
    for (size_t i = 0; i < G_N_ELEMENTS(registers); i++) {
        if (registers[i].id == id) {
            return true;
        }
    }
    return false;
}

void mlx5_reg_mask(uint32_t first, uint8_t mask[16])
{
    for (uint32_t i = 0; i < 0x80; i++) {
        if (exists(first + i)) {
            mask[(0x7f - i) / 8] |= 1u << i % 8;
        }
    }
}

static void access_register(Mlx5Func *func, Mlx5Cmd *cmd, size_t row)
{
    uint32_t bytes = registers[row].bytes;
    uint32_t given = cmd->in_len - 16;
    g_autofree uint8_t *in = g_malloc0(bytes);
    g_autofree uint8_t *out = g_malloc0(bytes);
    Mlx5RegAccess acc = {
        .write = cmd->op_mod == OP_WRITE, .in = in, .out = out, .bytes = bytes,
        .argument = MLX5_GET(access_register_in, cmd->in, argument),
    };

    memcpy(in, MLX5_ADDR_OF(access_register_in, cmd->in, register_data),
           MIN(bytes, given));
    registers[row].handler(func, cmd, &acc);
    if (!cmd->status && cmd->out_len > 16) {
        memcpy(MLX5_ADDR_OF(access_register_out, cmd->out, register_data), out,
               MIN(bytes, cmd->out_len - 16));
    }
}

static uint32_t check(const Mlx5Cmd *cmd, size_t row)
{
    if (cmd->op_mod > OP_READ) {
        return MLX5_SYND_REG_OP_MOD;
    }
    if (row == G_N_ELEMENTS(registers)) {
        return MLX5_SYND_REG_UNKNOWN;
    }
    if (cmd->op_mod == OP_WRITE && !registers[row].writable) {
        return MLX5_SYND_REG_READ_ONLY;
    }
    if (cmd->op_mod == OP_WRITE && cmd->in_len - 16 < registers[row].bytes) {
        return MLX5_SYND_REG_DATA_SHORT;
    }
    return 0;
}

MLX5_CMD_HANDLER(mlx5_cmd_access_register)
{
    uint32_t id = MLX5_GET(access_register_in, cmd->in, register_id);
    size_t row = 0;
    uint32_t bad;

    while (row < G_N_ELEMENTS(registers) && registers[row].id != id) {
        row++;
    }
    bad = check(cmd, row);
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    access_register(func, cmd, row);
}
