/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SET_PP_RATE_LIMIT: the rate table of packet pacing (driver: rl.c, mlx5_ib
 * qos.c); pace.h says what a rate does. The driver shares entries between
 * queues and clears one when its last user is gone, or is about to go: a queue
 * may name an entry that is not set, and is not held back then.
 */
#include "obj/sched.h"

#include "obj/check.h"

bool mlx5_rate_check(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t index,
                     uint32_t syndrome)
{
    const Mlx5Rate *rate;

    if (!index) {
        return true;
    }
    if (!mlx5_check_param(cmd, index < MLX5_RATE_TABLE_SIZE, syndrome)) {
        return false;
    }
    rate = &func->pacer->rates[index];
    return mlx5_check(cmd, rate->kbps && (!cmd->uid || cmd->uid == rate->uid ||
                                          rate->uid == MLX5_SHARED_UID),
                      MLX5_CMD_STAT_BAD_RES_ERR, syndrome);
}

static bool check(const Mlx5Func *func, Mlx5Cmd *cmd, uint32_t index,
                  uint32_t kbps)
{
    return mlx5_check(cmd, func->props.packet_pacing, MLX5_CMD_STAT_BAD_OP_ERR,
                      MLX5_SYND_RATE_OFF) &&
           mlx5_check_param(cmd, index && index < MLX5_RATE_TABLE_SIZE,
                            MLX5_SYND_RATE_INDEX) &&
           mlx5_check_param(cmd, !kbps || (kbps >= MLX5_RATE_MIN_KBPS &&
                                           kbps <= MLX5_RATE_MAX_KBPS),
                            MLX5_SYND_RATE_RANGE);
}

MLX5_CMD_HANDLER(mlx5_cmd_set_pp_rate_limit)
{
    const uint8_t *ctx = MLX5_ADDR_OF(set_pp_rate_limit_in, cmd->in, ctx);
    uint32_t index = MLX5_GET(set_pp_rate_limit_in, cmd->in, rate_limit_index);
    uint32_t kbps = MLX5_GET(set_pp_rate_limit_context, ctx, rate_limit);
    uint32_t burst = MLX5_GET(set_pp_rate_limit_context, ctx,
                              burst_upper_bound);

    if (check(func, cmd, index, kbps)) {
        func->pacer->rates[index] = (Mlx5Rate){ kbps, burst, cmd->uid };
        mlx5_pacer_rate_changed(func, index);
    }
}
