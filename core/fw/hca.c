/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that start, describe and stop the HCA (PRM: Initialization;
 * driver: main.c mlx5_function_open, fw.c).
 */
#include "fw/fw_internal.h"

#include "mlx5sim.h"

/** Highest ISSI, and the set of those supported as a bit mask. */
#define ISSI_MAX 1
#define ISSI_SUPPORTED 0x3

/** profile of TEARDOWN_HCA (driver: mlx5_ifc.h). */
enum {
    TEARDOWN_GRACEFUL = 0,
    TEARDOWN_FORCE = 1,
    TEARDOWN_PREPARE_FAST = 2,
};

#define IEEE_VENDOR_ID 0x0002c9
/** mkey.h: MLX5_NULL_MKEY, MLX5_DUMP_FILL_MKEY, MLX5_RESD_LKEY and
 * MLX5_INVALID_LKEY. */
#define NULL_MKEY 0x200
#define DUMP_FILL_MKEY 0x300
#define RESERVED_LKEY 0xff
#define TERMINATE_LKEY 0x100

/* The embedded CPU's function, and functions we do not have. */
static bool own_function(Mlx5Cmd *cmd, bool ec, uint32_t id, uint32_t syndrome)
{
    if (ec || id) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return false;
    }
    return true;
}

MLX5_CMD_HANDLER(mlx5_cmd_enable_hca)
{
    if (!own_function(cmd, MLX5_GET(enable_hca_in, cmd->in,
                                    embedded_cpu_function),
                      MLX5_GET(enable_hca_in, cmd->in, function_id),
                      MLX5_SYND_ENABLE_FUNCTION)) {
        return;
    }
    if (func->fw->hca != MLX5_HCA_OFF) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_ENABLE_STATE);
        return;
    }
    func->fw->hca = MLX5_HCA_ENABLED;
}

/* Objects, and what commands set up while the HCA ran. */
static void stop(Mlx5Func *func)
{
    mlx5_func_stop(func);
    mlx5_vport_reset(func);
    mlx5_roce_clear(func);
}

MLX5_CMD_HANDLER(mlx5_cmd_disable_hca)
{
    if (!own_function(cmd, MLX5_GET(disable_hca_in, cmd->in,
                                    embedded_cpu_function),
                      MLX5_GET(disable_hca_in, cmd->in, function_id),
                      MLX5_SYND_DISABLE_FUNCTION)) {
        return;
    }
    if (func->fw->hca == MLX5_HCA_OFF) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_DISABLE_STATE);
        return;
    }
    stop(func);
    mlx5_port_reset(func);
    mlx5_caps_reset(func);
    mlx5_pages_forget(func);
    func->fw->issi = 0;
    func->fw->hca = MLX5_HCA_OFF;
}

MLX5_CMD_HANDLER(mlx5_cmd_query_issi)
{
    MLX5_SET(query_issi_out, cmd->out, current_issi, func->fw->issi);
    MLX5_SET(query_issi_out, cmd->out, supported_issi_dw0, ISSI_SUPPORTED);
}

MLX5_CMD_HANDLER(mlx5_cmd_set_issi)
{
    uint32_t issi = MLX5_GET(set_issi_in, cmd->in, current_issi);

    if (issi > ISSI_MAX) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_ISSI_UNSUPPORTED);
        return;
    }
    if (func->fw->hca != MLX5_HCA_ENABLED) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_ISSI_STATE);
        return;
    }
    func->fw->issi = issi;
}

MLX5_CMD_HANDLER(mlx5_cmd_init_hca)
{
    Mlx5Fw *fw = func->fw;

    if (fw->hca != MLX5_HCA_ENABLED) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_INIT_STATE);
        return;
    }
    if (mlx5_pages_missing(func)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_INIT_PAGES);
        return;
    }
    memcpy(fw->sw_owner_id, MLX5_ADDR_OF(init_hca_in, cmd->in, sw_owner_id),
           sizeof(fw->sw_owner_id));
    fw->hca = MLX5_HCA_RUN;
}

MLX5_CMD_HANDLER(mlx5_cmd_teardown_hca)
{
    uint32_t profile = MLX5_GET(teardown_hca_in, cmd->in, profile);

    if (profile > TEARDOWN_PREPARE_FAST) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_TEARDOWN_PROFILE);
        return;
    }
    if (func->fw->hca != MLX5_HCA_RUN) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_TEARDOWN_STATE);
        return;
    }
    /* PREPARE_FAST only announces it; nic_interface 1 does it (init_seg.c). */
    if (profile != TEARDOWN_PREPARE_FAST) {
        stop(func);
        func->fw->hca = MLX5_HCA_ENABLED;
    }
    /* state 0: the force profile succeeded. */
    MLX5_SET(teardown_hca_out, cmd->out, state, 0);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_adapter)
{
    const Mlx5ModelInfo *m = mlx5_model_info(func->props.model);
    uint8_t *a = MLX5_ADDR_OF(query_adapter_out, cmd->out,
                              query_adapter_struct);
    uint8_t *psid = MLX5_ADDR_OF(query_adapter_param_block, a, vsd_contd_psid);

    MLX5_SET(query_adapter_param_block, a, ieee_vendor_id, IEEE_VENDOR_ID);
    MLX5_SET(query_adapter_param_block, a, vsd_vendor_id, MLX5_PCI_VENDOR_ID);
    memcpy(psid, m->psid, strnlen(m->psid, 16));
}

MLX5_CMD_HANDLER(mlx5_cmd_set_driver_version)
{
    const uint8_t *text = MLX5_ADDR_OF(set_driver_version_in, cmd->in,
                                       driver_version);

    for (unsigned i = 0; i < 64; i++) {
        bool plain = g_ascii_isprint(text[i]) && text[i] != '"' &&
                     text[i] != '\\';

        /* It goes to traces and JSON: what would need an escape is dropped. */
        func->fw->driver_version[i] = plain ? text[i] : 0;
    }
}

/*
 * A card of one port has nothing to aggregate and says so: an empty context.
 * User programs ask without looking at a capability first (UCX does).
 */
MLX5_CMD_HANDLER(mlx5_cmd_query_lag)
{
    (void)func;
    memset(MLX5_ADDR_OF(query_lag_out, cmd->out, ctx), 0, MLX5_BITS_lagc / 8);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_special_contexts)
{
    (void)func;
    MLX5_SET(query_special_contexts_out, cmd->out, null_mkey, NULL_MKEY);
    MLX5_SET(query_special_contexts_out, cmd->out, dump_fill_mkey,
             DUMP_FILL_MKEY);
    MLX5_SET(query_special_contexts_out, cmd->out, resd_lkey, RESERVED_LKEY);
    MLX5_SET(query_special_contexts_out, cmd->out, terminate_scatter_list_mkey,
             TERMINATE_LKEY);
}
