/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions; see cqe.h.
 */
#include "rdma/cqe.h"
#include "rdma/tm.h"

#include "prm/prm.h"

/* cqe64.l4_l3_hdr_type: a VLAN tag came with it. */
#define HDR_TYPE_VLAN 1

/* Kernel queues have no index of their own (driver: MLX5_IB_DEFAULT_UIDX). */
#define NO_USER_INDEX 0xffffffu

/* CQE version 1: the user's index of the queue, else the SRQ's number. */
static uint32_t srqn_user_index(const Mlx5Qp *qp, const Mlx5Srq *srq)
{
    if (srq && srq->cq) {
        return srq->user_index == NO_USER_INDEX ? srq->o.id : srq->user_index;
    }
    if (qp->user_index != NO_USER_INDEX) {
        return qp->user_index;
    }
    return srq ? srq->o.id : 0;
}

static void fill_error(Mlx5Qp *qp, uint8_t *cqe, uint8_t vendor, bool send)
{
    MLX5_SET(cqe_err, cqe, syndrome, mlx5_vendor_syndrome(vendor));
    MLX5_SET(cqe_err, cqe, vendor_err_synd, vendor);
    mlx5_vendor_count(mlx5_q_counter_get(qp->o.func, mlx5_qp_counter(qp)),
                      vendor, send);
}

/*
 * 128-byte entries have a half for the payload; in one of 64 bytes it takes
 * the place of the first fields.
 */
static void post(Mlx5Cq *cq, uint8_t cqe[64], const uint8_t *data,
                 uint32_t len, bool solicited)
{
    uint8_t half[MLX5_CQE_DATA_MAX] = { 0 };

    if (!data) {
        mlx5_cq_post(cq, cqe, solicited);
    } else if (cq->cqe_bytes == 128) {
        memcpy(half, data, len);
        MLX5_SET(cqe64, cqe, cqe_format, MLX5_CQE_INLINE_DATA64);
        mlx5_cq_post_half(cq, half, cqe, solicited);
    } else {
        memcpy(cqe, data, len);
        MLX5_SET(cqe64, cqe, cqe_format, MLX5_CQE_INLINE_DATA32);
        mlx5_cq_post(cq, cqe, solicited);
    }
}

void mlx5_cqe_post_send(Mlx5Qp *qp, const Mlx5CqeSend *c)
{
    uint8_t cqe[64] = { 0 };
    bool bad = c->vendor != 0;
    uint8_t opcode = bad ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ;

    MLX5_SET(cqe64, cqe, srqn_user_index, srqn_user_index(qp, NULL));
    MLX5_SET(cqe64, cqe, qpn, qp->o.id);
    MLX5_SET(cqe64, cqe, send_wqe_opcode, c->wqe_opcode);
    MLX5_SET(cqe64, cqe, wqe_counter, c->wqe_counter);
    MLX5_SET(cqe64, cqe, opcode, opcode);
    if (bad) {
        fill_error(qp, cqe, c->vendor, true);
    } else {
        MLX5_SET(cqe64, cqe, byte_cnt, c->byte_cnt);
        mlx5_cq_stamp(qp->send_cq, cqe, qp->real_time);
    }
    /* An error counts as solicited (IBA 11.4.2.2). */
    post(qp->send_cq, cqe, bad ? NULL : c->data, c->byte_cnt, bad);
}

/* XRC, XRQ: the completion goes where the shared queue's messages go. */
static Mlx5Cq *recv_cq(Mlx5Qp *qp, Mlx5Srq *srq)
{
    return srq && srq->cq ? srq->cq : qp->recv_cq;
}

static void fill_app(uint8_t *cqe, uint8_t app_op, uint16_t app_info)
{
    MLX5_SET(cqe_tm, cqe, app, MLX5_CQE_APP_TAG_MATCHING);
    MLX5_SET(cqe_tm, cqe, app_op, app_op);
    MLX5_SET(cqe_tm, cqe, app_info, app_info);
}

void mlx5_cqe_post_tm(Mlx5Qp *qp, const Mlx5CqeTm *c)
{
    uint8_t cqe[64] = { 0 };

    if (c->tmh) {
        memcpy(cqe, c->tmh, MLX5_ST_SZ_BYTES(tmh));
    } else {
        MLX5_SET(cqe_tm, cqe, success, c->success);
        MLX5_SET(cqe_tm, cqe, hw_phase_cnt, c->hw_phase_cnt);
    }
    fill_app(cqe, c->app_op, c->index);
    MLX5_SET(cqe64, cqe, srqn_user_index, srqn_user_index(qp, qp->srq));
    MLX5_SET(cqe64, cqe, immediate, c->imm);
    MLX5_SET(cqe64, cqe, byte_cnt, c->byte_cnt);
    MLX5_SET(cqe64, cqe, qpn, qp->o.id);
    MLX5_SET(cqe64, cqe, wqe_counter, c->wqe_counter);
    MLX5_SET(cqe64, cqe, opcode, c->opcode);
    mlx5_cq_post(qp->srq->cq, cqe, c->se);
}

void mlx5_cqe_post_recv(Mlx5Qp *qp, const Mlx5CqeRecv *c)
{
    uint8_t cqe[64] = { 0 };
    bool bad = c->vendor != 0;
    uint8_t opcode = bad ? MLX5_CQE_RESP_ERR : c->opcode;
    Mlx5Cq *cq = recv_cq(qp, c->srq);

    if (!cq) {
        return;
    }
    MLX5_SET(cqe64, cqe, srqn_user_index, srqn_user_index(qp, c->srq));
    MLX5_SET(cqe64, cqe, qpn, qp->o.id);
    MLX5_SET(cqe64, cqe, wqe_counter, c->wqe_counter);
    MLX5_SET(cqe64, cqe, opcode, opcode);
    if (bad) {
        fill_error(qp, cqe, c->vendor, false);
    } else {
        MLX5_SET(cqe64, cqe, byte_cnt, c->byte_cnt);
        MLX5_SET(cqe64, cqe, immediate, c->imm);
        MLX5_SET(cqe64, cqe, src_qp, c->src_qpn);
        MLX5_SET(cqe64, cqe, grh, c->grh);
        MLX5_SET(cqe64, cqe, roce_l3_type, c->l3_type);
        if (c->vlan) {
            MLX5_SET(cqe64, cqe, l4_l3_hdr_type, HDR_TYPE_VLAN);
            MLX5_SET(cqe64, cqe, vlan_info, c->tci);
        }
        if (c->app_op) {
            fill_app(cqe, c->app_op, 0);
        }
        mlx5_cq_stamp(cq, cqe, qp->real_time);
    }
    post(cq, cqe, bad ? NULL : c->data, c->byte_cnt, c->se || bad);
}
