/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How firmware and objects reach the engines above them without including
 * them. core/card.c installs the table; all are called under Mlx5Card.lock.
 */
#ifndef MLX5_OBJ_ENGINE_H
#define MLX5_OBJ_ENGINE_H

#include "obj/qp.h"

typedef struct Mlx5EngineOps {
    /** A QP was created (state RST): make qp->engine. */
    void (*qp_created)(Mlx5Qp *qp);
    /** State changed @from -> qp->state; RST forgets all, ERR flushes. */
    void (*qp_state)(Mlx5Qp *qp, Mlx5QpState from);
    /** The QP is about to go: free qp->engine, forget its work. */
    void (*qp_destroyed)(Mlx5Qp *qp);
    /** Before QUERY_QP answers: put live PSNs and counters into qp->qpc. */
    void (*qp_query)(Mlx5Qp *qp);
    /** Somebody may have posted to this SRQ, or it dies. */
    void (*srq_destroyed)(Mlx5Srq *srq);
} Mlx5EngineOps;

#endif
