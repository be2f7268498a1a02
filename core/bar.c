/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BAR0: the init segment in its first pages, UAR pages behind it.
 *
 *   0                 init segment: command queue, health, timer   fw/
 *   MLX5_UAR_FIRST    UAR pages of 4 KiB: EQ, CQ and SQ doorbells   obj/
 *   the last 3 MiB    device memory and operations on it            obj/
 */
#include "bus/trace.h"
#include "layers.h"
#include "obj/uar.h"

static bool access_ok(Mlx5Func *func, uint64_t offset, unsigned size)
{
    uint64_t bar = UINT64_C(1) << func->props.log_bar_size;

    if ((size != 1 && size != 2 && size != 4 && size != 8) ||
        offset >= bar || bar - offset < size || offset % size) {
        mlx5_guest_error(func, "BAR0: access of %u bytes at 0x%" G_GINT64_MODIFIER
                         "x is misaligned or outside", size, offset);
        return false;
    }
    return true;
}

uint64_t mlx5_func_bar_read(Mlx5Func *func, uint64_t offset, unsigned size)
{
    uint64_t value = 0;

    mlx5_func_lock(func);
    if (!access_ok(func, offset, size)) {
        /* said so already */
    } else if (offset < MLX5_UAR_FIRST * MLX5_UAR_BYTES) {
        value = mlx5_fw_bar_read(func, offset, size);
    } else if (mlx5_memic_in_bar(func, offset)) {
        value = mlx5_memic_bar_read(func, offset, size);
    }
    /* UAR pages read as zero (PRM: UAR, doorbell registers are write-only). */
    mlx5_func_unlock(func);
    return value;
}

bool mlx5_bar_write_is_idle(const Mlx5FuncProps *props, uint64_t offset,
                            unsigned size)
{
    return size == 8 && offset % 8 == 0 &&
           offset >= MLX5_UAR_FIRST * MLX5_UAR_BYTES &&
           offset < mlx5_memic_bar_start(props) &&
           offset % MLX5_UAR_BYTES >= MLX5_UAR_BF &&
           offset % MLX5_UAR_BF_HALF >= MLX5_UAR_BF_COUNTS;
}

void mlx5_func_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                         unsigned size)
{
    mlx5_func_lock(func);
    if (!access_ok(func, offset, size)) {
        /* said so already */
    } else if (offset < MLX5_UAR_FIRST * MLX5_UAR_BYTES) {
        mlx5_fw_bar_write(func, offset, value, size);
    } else if (mlx5_memic_in_bar(func, offset)) {
        mlx5_memic_bar_write(func, offset, value, size);
    } else {
        mlx5_uar_write(func, offset / MLX5_UAR_BYTES, offset % MLX5_UAR_BYTES,
                       value, size);
    }
    mlx5_work_run_inline(func);
    mlx5_func_unlock(func);
}
