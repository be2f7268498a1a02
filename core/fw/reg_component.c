/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers that list firmware components: MCQS (which there are, and the
 * state of an update) and MCQI (their versions). devlink dev info reads them.
 *
 * Source: driver fw.c mlx5_fw_version_query(). The card has one component, the
 * boot image that runs. Left out: updates (MCC, MCDA), so that no second image
 * is ever stored, and the capabilities that only an update asks for.
 */
#include "fw/fw_internal.h"

#include <stdio.h>

#define BOOT_IMAGE_INDEX 0
#define IDENTIFIER_BOOT_IMAGE 1
#define STATUS_IN_USE 2
#define UPDATE_IDLE 0
#define INFO_VERSION 1

static bool index_ok(Mlx5Cmd *cmd, uint32_t index)
{
    if (index == BOOT_IMAGE_INDEX) {
        return true;
    }
    mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCQ_COMPONENT);
    return false;
}

void mlx5_reg_mcqs(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    (void)func;
    if (!index_ok(cmd, MLX5_GET(mcqs_reg, acc->in, component_index))) {
        return;
    }
    MLX5_SET(mcqs_reg, acc->out, last_index_flag, 1);
    MLX5_SET(mcqs_reg, acc->out, component_index, BOOT_IMAGE_INDEX);
    MLX5_SET(mcqs_reg, acc->out, identifier, IDENTIFIER_BOOT_IMAGE);
    MLX5_SET(mcqs_reg, acc->out, component_status, STATUS_IN_USE);
    MLX5_SET(mcqs_reg, acc->out, component_update_state, UPDATE_IDLE);
}

/* As the driver takes it apart: major 8 bits, minor 8, subminor 16. */
static void put_version(const Mlx5ModelInfo *m, uint8_t *version)
{
    uint32_t packed = m->fw_major << 24 | m->fw_minor << 16 | m->fw_subminor;
    char text[32];
    int len = snprintf(text, sizeof(text), "%u.%u.%u", m->fw_major,
                       m->fw_minor, m->fw_subminor);

    MLX5_SET(mcqi_version, version, version, packed);
    MLX5_SET(mcqi_version, version, version_string_length, len);
    memcpy(MLX5_ADDR_OF(mcqi_version, version, version_string), text, len);
}

void mlx5_reg_mcqi(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t offset = MLX5_GET(mcqi_reg, acc->in, offset);
    uint32_t size = MLX5_GET(mcqi_reg, acc->in, data_size);
    uint8_t version[MLX5_ST_SZ_BYTES(mcqi_version)] = { 0 };

    if (!index_ok(cmd, MLX5_GET(mcqi_reg, acc->in, component_index))) {
        return;
    }
    if (MLX5_GET(mcqi_reg, acc->in, info_type) != INFO_VERSION) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCQI_INFO);
        return;
    }
    if (MLX5_GET(mcqi_reg, acc->in, read_pending_component)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_MCQI_PENDING);
        return;
    }
    if (offset > sizeof(version) || size > sizeof(version) - offset) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCQI_RANGE);
        return;
    }
    put_version(mlx5_model_info(func->props.model), version);
    memcpy(acc->out, acc->in, MLX5_ST_SZ_BYTES(mcqi_reg));
    MLX5_SET(mcqi_reg, acc->out, info_size, sizeof(version));
    memcpy(acc->out + MLX5_ST_SZ_BYTES(mcqi_reg), version + offset, size);
}
