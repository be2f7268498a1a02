/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How firmware and objects reach the engines above them without including
 * them. core/card.c installs the table; all are called under Mlx5Card.lock.
 */
#ifndef MLX5_OBJ_ENGINE_H
#define MLX5_OBJ_ENGINE_H

#include "obj/dct.h"
#include "obj/qp.h"

/** SQ objects are numbered from here on; QPs from 0x40 and below it. */
#define MLX5_SQ_FIRST_ID 0x800000u

typedef struct Mlx5EngineOps {
    /** A QP was created (state RST): make qp->engine. */
    void (*qp_created)(Mlx5Qp *qp);
    /** State changed @from -> qp->state; RST forgets all, ERR flushes. */
    void (*qp_state)(Mlx5Qp *qp, Mlx5QpState from);
    /** The QP is about to go: free qp->engine, forget its work. */
    void (*qp_destroyed)(Mlx5Qp *qp);
    /** Return: the work item that sends requests, or that answers them. */
    Mlx5Work *(*qp_work)(Mlx5Qp *qp, bool responder);
    /** Before QUERY_QP answers: put live PSNs and counters into qp->qpc. */
    void (*qp_query)(Mlx5Qp *qp);
    /**
     * Stream @id of a DC initiator may send again.
     * Return: false if it was not in error.
     */
    bool (*dci_stream_reset)(Mlx5Qp *qp, uint16_t id);
    /** A DC target was created: make dct->engine. */
    void (*dct_created)(Mlx5Dct *dct);
    /** Finish what is begun, then mlx5_dct_drained(); not before returning. */
    void (*dct_drain)(Mlx5Dct *dct);
    /** Is a message to it on its way? */
    bool (*dct_busy)(Mlx5Dct *dct);
    /** It is about to go: free dct->engine. */
    void (*dct_destroyed)(Mlx5Dct *dct);
    /** Somebody may have posted to this SRQ, or it dies. */
    void (*srq_destroyed)(Mlx5Srq *srq);
    /**
     * A write of @size bytes to the BlueFlame area of UAR page @uar, @offset
     * bytes into the page (0x800 and up): the first quadword of a control
     * segment, or more of a work request; or to MLX5_UAR_DBR_LESS. Numbers of SQ objects begin at
     * MLX5_SQ_FIRST_ID so that the number alone tells the kind of queue.
     * The page is allocated; whether this queue may be rung through it is for
     * the engine to check.
     */
    void (*sq_doorbell)(Mlx5Func *func, uint32_t uar, uint32_t offset,
                        uint64_t value, unsigned size);
} Mlx5EngineOps;

#endif
