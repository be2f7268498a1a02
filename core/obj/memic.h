/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory (MEMIC): bytes on the card that programs map and keys cover.
 *
 * The last part of BAR0 is for it, in windows of MLX5_MEMIC_BYTES each:
 *
 *   data         the memory itself; the host may map it (Mlx5FuncProps.memic)
 *   increment    a write adds what is written to the bytes at the same place
 *   test and set a read gives the old value and leaves 1
 *
 * Sources: driver mlx5_ib dm.c; rdma-core mlx5dv_dm_map_op_addr(3).
 */
#ifndef MLX5_OBJ_MEMIC_H
#define MLX5_OBJ_MEMIC_H

#include "obj/table.h"

/** memic_operation_type; each has a window of its own behind the data. */
typedef enum Mlx5MemicOp {
    MLX5_MEMIC_OP_INCREMENT = 0,
    MLX5_MEMIC_OP_TEST_AND_SET = 1,
    MLX5_MEMIC_OP_COUNT
} Mlx5MemicOp;

#define MLX5_MEMIC_WINDOWS_BYTES \
    ((uint64_t)MLX5_MEMIC_BYTES * (1 + MLX5_MEMIC_OP_COUNT))

/** One allocation. */
typedef struct Mlx5Memic {
    Mlx5Obj o;
    uint32_t at;             /* in the memory, a page's first byte */
    uint32_t range_bytes;    /* whole pages */
    uint32_t bytes;          /* as allocated */
    uint32_t ops;            /* a bit for each operation it may be used with */
} Mlx5Memic;

/** Is BAR0's @offset in one of the windows? */
bool mlx5_memic_in_bar(const Mlx5Func *func, uint64_t offset);
uint64_t mlx5_memic_bar_read(Mlx5Func *func, uint64_t offset, unsigned size);
void mlx5_memic_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                          unsigned size);

/**
 * The allocation that has @len bytes at BAR0's @offset, all of them.
 * @at: where they are in the memory.
 */
Mlx5Memic *mlx5_memic_find(Mlx5Func *func, uint64_t offset, uint64_t len,
                           uint64_t *at);

void mlx5_memic_new(Mlx5Func *func);
/** All bytes zero, as after power-on. */
void mlx5_memic_reset(Mlx5Func *func);
void mlx5_memic_free(Mlx5Func *func);

#endif
