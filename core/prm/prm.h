/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accessors for every layout of the .def files, spelled as in the driver.
 */
#ifndef MLX5_PRM_H
#define MLX5_PRM_H

#include "prm/layout.h"

/* Constants: MLX5_BITS_<layout>, MLX5_OFF_<layout>__<field>, MLX5_WID_... */
#define MLX5_LAYOUT(l, b) enum { MLX5_BITS_##l = (b) };
#define MLX5_FIELD(l, f, o, w) \
    enum { MLX5_OFF_##l##__##f = (o), MLX5_WID_##l##__##f = (w) };
#define MLX5_BLOB(l, f, o, w) MLX5_FIELD(l, f, o, w)
#define MLX5_ARRAY(l, f, o, w, n) MLX5_FIELD(l, f, o, w)
#define MLX5_STRUCT(l, f, o, s) MLX5_FIELD(l, f, o, MLX5_BITS_##s)
#define MLX5_STRUCTS(l, f, o, s, n) MLX5_FIELD(l, f, o, MLX5_BITS_##s)
#define MLX5_END(l) extern const Mlx5Layout mlx5_layout_##l;
#include "prm/all.def"
#include "prm/undef.h"

#define MLX5_ST_SZ_BYTES(l) (MLX5_BITS_##l / 8)
#define MLX5_BIT_OFF(l, f) (MLX5_OFF_##l##__##f)
#define MLX5_BIT_SZ(l, f) (MLX5_WID_##l##__##f)
#define MLX5_BYTE_OFF(l, f) (MLX5_OFF_##l##__##f / 8)
#define MLX5_BYTE_SZ(l, f) (MLX5_WID_##l##__##f / 8)

#define MLX5_GET(l, p, f) \
    mlx5_prm_get(p, MLX5_OFF_##l##__##f, MLX5_WID_##l##__##f)
#define MLX5_SET(l, p, f, v) \
    mlx5_prm_set(p, MLX5_OFF_##l##__##f, MLX5_WID_##l##__##f, v)
/* Element @i of an array of numbers. */
#define MLX5_GET_IDX(l, p, f, i) \
    mlx5_prm_get(p, MLX5_OFF_##l##__##f + (i) * MLX5_WID_##l##__##f, \
                 MLX5_WID_##l##__##f)
#define MLX5_SET_IDX(l, p, f, i, v) \
    mlx5_prm_set(p, MLX5_OFF_##l##__##f + (i) * MLX5_WID_##l##__##f, \
                 MLX5_WID_##l##__##f, v)
/* Address of a field, const as @p is. */
#define MLX5_ADDR_OF(l, p, f) \
    ((__typeof__(&*(p)))((uintptr_t)(p) + MLX5_BYTE_OFF(l, f)))

#endif
