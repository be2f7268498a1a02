/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send doorbells: writes to the BlueFlame registers of a UAR page (PRM: UAR;
 * driver: wr.c mlx5r_ring_db, wc.c; libmlx5 qp.c).
 *
 * A register's half begins with the doorbell: the control segment's first
 * quadword, whose second word names the queue. What is posted is read from the
 * doorbell record, so that is all a plain doorbell needs.
 *
 * BlueFlame writes the whole WQE there, in order. It says what memory says,
 * but for one thing: the driver's self test of write combining posts NOPs that
 * ask for a completion in the copy alone. A NOP that completed in silence gets
 * its completion when the rest of such a copy arrives.
 *
 * A queue pair may have no doorbell record for its sends (send_dbr_mode). It is
 * rung at a place of its own, and the doorbell says how far: the control segment
 * of the last work request (rdma-core tests/mlx5_base.py), or the new counter
 * and a size of 0 (DOCA doca_gpu_dev_verbs_prepare_db). A doorbell that was
 * overtaken by a later one says nothing new.
 */
#include "rdma/rdma_internal.h"

#include "obj/uar.h"
#include "prm/prm.h"

/* wqe_ctrl's third word: bit of ce that asks for a CQE. */
#define CTRL_CE_CQE 0x8u

static Mlx5BfHalf *half_of(Mlx5Rdma *rdma, uint32_t uar, uint32_t at)
{
    return &rdma->halves[(uar * 31 + at / MLX5_UAR_BF_HALF) % MLX5_BF_HALVES];
}

static Mlx5Qp *find(Mlx5Func *func, uint32_t uar, uint32_t qpn, bool dbr_less)
{
    Mlx5Qp *qp = mlx5_obj_get(func, MLX5_OBJ_QP, qpn);

    if (!qp || !qp->engine || !qp->has_sq || qp->dbr_less != dbr_less ||
        MLX5_GET(qpc, qp->qpc, uar_page) != uar) {
        return NULL;
    }
    return qp;
}

/* Return: the queue pair, if it is there and rung where it should be. */
static Mlx5Qp *find_rung(Mlx5Func *func, uint32_t uar, uint32_t qpn,
                         bool dbr_less)
{
    Mlx5Qp *qp = find(func, uar, qpn, dbr_less);

    if (!qp) {
        mlx5_guest_error(func, "SQ doorbell in UAR 0x%x for QP 0x%x, which "
                         "is not there, belongs to another UAR or is rung at "
                         "another place of it", uar, qpn);
        return NULL;
    }
    mlx5_trace(func, MLX5_TRACE_DOORBELL, "sq qp 0x%x", qpn);
    return qp;
}

/* The queue's number is what counts; the rest is in memory. */
static void ring(Mlx5Func *func, uint32_t uar, uint32_t qpn)
{
    Mlx5Qp *qp = find_rung(func, uar, qpn, false);

    if (!qp) {
        return;
    }
    if (qp->state == MLX5_QP_STATE_ERR || qp->state == MLX5_QP_STATE_SQER) {
        mlx5_engine_schedule(qp, &qp->engine->flush.work);
    } else if (qp->state >= MLX5_QP_STATE_RTS) {
        mlx5_req_doorbell(qp->engine);
    }
}

/* @value: index of a work request 16 bits from 8 on, its size in 6 bits. */
static void ring_dbr_less(Mlx5Func *func, uint32_t uar, uint64_t value)
{
    Mlx5Qp *qp = find_rung(func, uar, value >> 8 & 0xffffff, true);
    uint16_t index = value >> 40;

    /* What was rung earlier is forgotten: there is no record to read later. */
    if (qp && qp->state >= MLX5_QP_STATE_RTS) {
        mlx5_req_posted_to(qp->engine, index + mlx5_wqe_blocks(value & 0x3f));
    }
}

/* The second quadword of a copied WQE. */
static void copied(Mlx5Func *func, uint32_t uar, uint32_t qpn, uint64_t value)
{
    Mlx5Qp *qp = find(func, uar, qpn, false);

    if (qp && (value >> 32 & CTRL_CE_CQE)) {
        mlx5_req_complete_nop(qp->engine);
    }
}

static void dispatch(Mlx5Func *func, uint32_t uar, uint32_t qpn,
                     uint32_t in_half, uint64_t value, unsigned size)
{
    if (qpn >= MLX5_SQ_FIRST_ID) {
        if (func->rdma->sq_doorbell) {
            func->rdma->sq_doorbell(func, uar, qpn, in_half, value, size);
        }
    } else if (in_half == 0) {
        ring(func, uar, qpn);
    } else if (in_half == 8 && size == 8) {
        copied(func, uar, qpn, value);
    }
}

void mlx5_sq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t offset,
                      uint64_t value, unsigned size)
{
    uint32_t in_half = offset % MLX5_UAR_BF_HALF, at = offset - in_half;
    Mlx5BfHalf *half = half_of(func->rdma, uar, at);

    if (offset < MLX5_UAR_BF) {
        if (offset == MLX5_UAR_DBR_LESS) {
            ring_dbr_less(func, uar, value);
        }
        return;
    }
    if (in_half + size == 8) {
        /* A quadword, or the second word of one written in two. */
        *half = (Mlx5BfHalf){ uar, at, value >> 8 & 0xffffff };
        dispatch(func, uar, half->qpn, 0, value, size);
    } else if (in_half >= 8 && half->uar == uar && half->at == at) {
        dispatch(func, uar, half->qpn, in_half, value, size);
    }
}
