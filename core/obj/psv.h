/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protection state values: what the signature of a block starts from (PRM:
 * Signature Handover, CREATE_PSV, SET_PSV; driver: mlx5_ib mr.c, wr.c).
 */
#ifndef MLX5_OBJ_PSV_H
#define MLX5_OBJ_PSV_H

#include "obj/table.h"

typedef struct Mlx5Psv {
    Mlx5Obj o;
    Mlx5Obj *pd;             /* referenced */
    /**
     * As in a SET_PSV work request. T10-DIF: guard seed, application tag,
     * reference tag, 16, 16 and 32 bits from the top. 32-bit CRCs: the seed in
     * the upper half. CRC64: the seed.
     */
    uint64_t transient;
} Mlx5Psv;

/** One command makes as many. */
#define MLX5_MAX_PSVS 4u

/** Return: the PSV @number of domain @pdn, or NULL. */
Mlx5Psv *mlx5_psv_find(Mlx5Func *func, uint32_t pdn, uint32_t number);

#endif
