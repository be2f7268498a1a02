/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks as tables: fields of a context that must be zero because what they
 * ask for is not implemented, each with its own syndrome.
 */
#ifndef MLX5_OBJ_CHECK_H
#define MLX5_OBJ_CHECK_H

#include "fw/cmd.h"

typedef struct Mlx5ZeroRule {
    uint32_t bit_off;
    uint32_t bits;
    uint32_t syndrome;
} Mlx5ZeroRule;

#define MLX5_ZERO(layout, field, synd) \
    { MLX5_BIT_OFF(layout, field), MLX5_BIT_SZ(layout, field), \
      MLX5_SYND_##synd }

/** Return: false, and the command refused, if a field of @rules is set. */
static inline bool mlx5_check_zero(Mlx5Cmd *cmd, const void *ctx,
                                   const Mlx5ZeroRule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (mlx5_prm_get(ctx, rules[i].bit_off, rules[i].bits)) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                          rules[i].syndrome);
            return false;
        }
    }
    return true;
}

/** Refuse with @syndrome unless @ok. Return: @ok. */
static inline bool mlx5_check(Mlx5Cmd *cmd, bool ok, Mlx5Status status,
                              uint32_t syndrome)
{
    if (!ok) {
        mlx5_cmd_fail(cmd, status, syndrome);
    }
    return ok;
}

/** The same for a parameter out of range. */
static inline bool mlx5_check_param(Mlx5Cmd *cmd, bool ok, uint32_t syndrome)
{
    return mlx5_check(cmd, ok, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
}

#endif
