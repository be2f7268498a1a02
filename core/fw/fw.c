/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life of the firmware's state: made with the function, reset with it.
 */
#include "fw/fw_internal.h"

void mlx5_fw_new(Mlx5Func *func)
{
    func->fw = g_new0(Mlx5Fw, 1);
    func->vport = &func->fw->vport;
    mlx5_cmdq_init(func);
    mlx5_caps_new(func);
    mlx5_pages_new(func);
    mlx5_fw_reset(func);
}

void mlx5_fw_reset(Mlx5Func *func)
{
    Mlx5Fw *fw = func->fw;

    mlx5_cmdq_drop(func);
    fw->hca = MLX5_HCA_OFF;
    fw->cmdq_high = 0;
    fw->cmdq_gpa = 0;
    fw->cmdq_valid = false;
    fw->nic_interface = 0;
    fw->health_synd = MLX5_HEALTH_OK;
    fw->commands = fw->refused = 0;
    mlx5_cmd_log_clear(func);
    fw->issi = 0;
    memset(fw->driver_version, 0, sizeof(fw->driver_version));
    memset(fw->sw_owner_id, 0, sizeof(fw->sw_owner_id));
    mlx5_roce_clear(func);
    memset(&fw->vsc, 0, sizeof(fw->vsc));
    mlx5_caps_reset(func);
    mlx5_pages_forget(func);
    mlx5_vport_reset(func);
    mlx5_port_reset(func);
    mlx5_rtc_reset(func);
}

void mlx5_fw_free(Mlx5Func *func)
{
    Mlx5Fw *fw = func->fw;

    mlx5_cmdq_drop(func);
    g_ptr_array_unref(fw->held);
    mlx5_cmd_log_clear(func);
    mlx5_caps_free(func);
    mlx5_pages_free(func);
    mlx5_vport_reset(func);
    func->vport = NULL;
    g_clear_pointer(&func->fw, g_free);
}

Mlx5HcaState mlx5_fw_state(Mlx5Func *func)
{
    return func->fw->hca;
}

const char *mlx5_fw_state_name(Mlx5HcaState state)
{
    static const char *const names[] = { "off", "enabled", "run", "dead" };

    return names[state];
}

void mlx5_fw_health_report(Mlx5Func *func, Mlx5HealthSynd synd)
{
    func->fw->health_synd = synd;
    mlx5_trace(func, MLX5_TRACE_STATE, "health syndrome 0x%x", synd);
}

void mlx5_fw_command_counts(Mlx5Func *func, uint64_t *done, uint64_t *refused)
{
    *done = func->fw->commands;
    *refused = func->fw->refused;
}

const char *mlx5_fw_driver_version(Mlx5Func *func)
{
    return func->fw->driver_version;
}
