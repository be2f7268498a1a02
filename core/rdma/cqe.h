/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions, built field by field (PRM: CQE; driver: mlx5_ib cq.c).
 */
#ifndef MLX5_RDMA_CQE_H
#define MLX5_RDMA_CQE_H

#include "obj/qp.h"
#include "rdma/vendor.h"

/** Payload that a completion can carry, in an entry of 128 bytes. */
#define MLX5_CQE_DATA_MAX 64u

/** What a send queue completion says. */
typedef struct Mlx5CqeSend {
    uint8_t wqe_opcode;
    uint16_t wqe_counter;    /* index of the first basic block */
    uint32_t byte_cnt;
    const uint8_t *data;     /* byte_cnt bytes of payload, or NULL */
    uint8_t vendor;          /* Mlx5Vendor: an error; 0 = none */
} Mlx5CqeSend;

/** What a receive completion says. */
typedef struct Mlx5CqeRecv {
    Mlx5CqeOpcode opcode;    /* ignored if @vendor is not 0 */
    uint16_t wqe_counter;
    uint32_t byte_cnt;
    const uint8_t *data;     /* byte_cnt bytes of payload, or NULL */
    uint32_t imm;            /* immediate, invalidated key or P_Key */
    bool se;
    Mlx5Srq *srq;            /* the WQE came from here, or NULL */
    /* UD */
    uint32_t src_qpn;
    bool grh;
    uint8_t l3_type;         /* 0 GRH, 1 IPv6, 2 IPv4 */
    uint8_t sl;
    bool vlan;               /* it came with a tag ... */
    uint16_t tci;            /* ... of this */
    uint8_t vendor;          /* Mlx5Vendor: an error; 0 = none */
    uint8_t app_op;          /* tag matching: what it was; 0 = none */
} Mlx5CqeRecv;

/** What a completion of tag matching says (rdma/tm.h). */
typedef struct Mlx5CqeTm {
    Mlx5CqeOpcode opcode;
    uint8_t app_op;
    uint16_t index;          /* of the tag */
    uint32_t byte_cnt;
    uint32_t imm;
    bool se;
    const uint8_t *tmh;      /* the message's header, or NULL */
    /* of an operation on the list */
    bool success;
    uint16_t hw_phase_cnt;
    uint16_t wqe_counter;
} Mlx5CqeTm;

void mlx5_cqe_post_send(Mlx5Qp *qp, const Mlx5CqeSend *c);
void mlx5_cqe_post_recv(Mlx5Qp *qp, const Mlx5CqeRecv *c);
/** To the CQ of @qp's XRQ. */
void mlx5_cqe_post_tm(Mlx5Qp *qp, const Mlx5CqeTm *c);

#endif
