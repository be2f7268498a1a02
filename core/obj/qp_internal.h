/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between a QP's making (qp.c) and its states (qp_state.c).
 */
#ifndef MLX5_OBJ_QP_INTERNAL_H
#define MLX5_OBJ_QP_INTERNAL_H

#include "obj/qp.h"

/** Bit of a service type in a set of them. */
#define MLX5_QP_ST_BIT(st) (1u << (st))

/** Services that CREATE_QP accepts. */
#define MLX5_QP_ST_SUPPORTED                                                  \
    (MLX5_QP_ST_BIT(MLX5_QP_ST_RC) | MLX5_QP_ST_BIT(MLX5_QP_ST_UC) |          \
     MLX5_QP_ST_BIT(MLX5_QP_ST_UD) | MLX5_QP_ST_BIT(MLX5_QP_ST_XRC) |         \
     MLX5_QP_ST_BIT(MLX5_QP_ST_DCI) | MLX5_QP_ST_BIT(MLX5_QP_ST_QP1) | MLX5_QP_ST_BIT(MLX5_QP_ST_REG_UMR))

/** Copy into the fields that have one of their own what the context says. */
void mlx5_qp_refresh(Mlx5Qp *qp);

#endif
