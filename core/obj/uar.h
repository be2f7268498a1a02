/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User access regions: 4 KiB pages of BAR0 with doorbell registers
 * (PRM: User Access Region; driver: uar.c, eq.h, cq.h).
 *
 *   0x020  CQ arm, 8 bytes or two halves
 *   0x040  EQ consumer index, and arm
 *   0x048  EQ consumer index
 *   0x600  send doorbell of queue pairs without a doorbell record
 *   0x800  BlueFlame registers, to the end of the page
 */
#ifndef MLX5_OBJ_UAR_H
#define MLX5_OBJ_UAR_H

#include "obj/table.h"

enum {
    MLX5_UAR_CQ_ARM = 0x20,
    MLX5_UAR_EQ_ARM = 0x40,
    MLX5_UAR_EQ_UPDATE = 0x48,
    MLX5_UAR_DBR_LESS = 0x600,
    MLX5_UAR_BF = 0x800,
};

/** A register has two halves of this size, used in turn (caps:
 * log_bf_reg_size 9), of which the first bytes count. */
#define MLX5_UAR_BF_HALF 0x100u
#define MLX5_UAR_BF_COUNTS 16u

typedef struct Mlx5Uar {
    Mlx5Obj o;
    uint32_t cq_arm_high;    /* first half of a CQ arm in two halves */
    bool cq_arm_half;        /* it is there */
} Mlx5Uar;

/**
 * Write to UAR page @uar (BAR0 offset / 4096) at @offset inside the page.
 * @value: as of a big-endian bus, see mlx5_func_bar_write().
 */
void mlx5_uar_write(Mlx5Func *func, uint32_t uar, uint32_t offset,
                    uint64_t value, unsigned size);

#endif
