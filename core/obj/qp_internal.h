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

/** Hold the QP back by the rate that its context names. */
void mlx5_qp_pace_rate(Mlx5Qp *qp);
/** Put its requests and its answers into queue groups (0: none), or refuse. */
void mlx5_qp_pace_groups(Mlx5Qp *qp, Mlx5Cmd *cmd, uint32_t requester,
                         uint32_t responder);
/** Hold its requests and its answers back by its congestion, or not. */
void mlx5_qp_pace_cong(Mlx5Qp *qp);
void mlx5_qp_pace_free(Mlx5Qp *qp);

/** Copy into the fields that have one of their own what the context says. */
void mlx5_qp_refresh(Mlx5Qp *qp);

#endif
