/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions, built field by field (PRM: CQE; driver: mlx5_ib cq.c).
 */
#ifndef MLX5_RDMA_CQE_H
#define MLX5_RDMA_CQE_H

#include "obj/qp.h"

/** An error's two numbers: the PRM's syndrome and the vendor's detail. */
typedef struct Mlx5CqeStatus {
    uint8_t syndrome;        /* Mlx5CqeSyndrome; 0 = no error */
    uint8_t vendor;
} Mlx5CqeStatus;

/**
 * Vendor codes: which check failed. Real cards' values where logs of users
 * show them (0x81, 0x87, 0x88, 0x8a, 0xf9); the others are ours.
 */
enum {
    MLX5_VENDOR_GATHER_KEY = 0x51,     /* lkey of a send WQE refused */
    MLX5_VENDOR_SCATTER_KEY = 0x52,    /* lkey of a read or atomic refused */
    MLX5_VENDOR_RECV_KEY = 0x53,       /* lkey of a receive WQE refused */
    MLX5_VENDOR_WQE_FETCH = 0x60,      /* the queue's memory is not there */
    MLX5_VENDOR_WQE_FORMAT = 0x61,     /* segments do not fit the opcode */
    MLX5_VENDOR_WQE_OPCODE = 0x68,     /* opcode unknown here */
    MLX5_VENDOR_MSG_TOO_LONG = 0x69,   /* beyond 2^31 or the service's limit */
    MLX5_VENDOR_RECV_TOO_SHORT = 0x6a, /* message longer than the receive WQE */
    MLX5_VENDOR_SQ_OVERFLOW = 0x6b,    /* send counter beyond the ring */
    MLX5_VENDOR_INVALIDATE = 0x6c,     /* key of SEND_INVAL refused */
    MLX5_VENDOR_BAD_RESPONSE = 0x70,
    MLX5_VENDOR_RETRY_EXCEEDED = 0x81,
    MLX5_VENDOR_RNR_EXCEEDED = 0x87,
    MLX5_VENDOR_REMOTE_ACCESS = 0x88,
    MLX5_VENDOR_REMOTE_OP = 0x89,
    MLX5_VENDOR_REMOTE_INVAL = 0x8a,
    MLX5_VENDOR_UMR = 0x8d,
    MLX5_VENDOR_FLUSHED = 0xf9,
};

/** What a send queue completion says. */
typedef struct Mlx5CqeSend {
    uint8_t wqe_opcode;
    uint16_t wqe_counter;    /* index of the first basic block */
    uint32_t byte_cnt;
    Mlx5CqeStatus status;
} Mlx5CqeSend;

/** What a receive completion says. */
typedef struct Mlx5CqeRecv {
    Mlx5CqeOpcode opcode;    /* ignored if @status is an error */
    uint16_t wqe_counter;
    uint32_t byte_cnt;
    uint32_t imm;            /* immediate, invalidated key or P_Key */
    bool se;
    Mlx5Srq *srq;            /* the WQE came from here, or NULL */
    /* UD */
    uint32_t src_qpn;
    bool grh;
    uint8_t l3_type;         /* 0 GRH, 1 IPv6, 2 IPv4 */
    uint8_t sl;
    Mlx5CqeStatus status;
} Mlx5CqeRecv;

void mlx5_cqe_post_send(Mlx5Qp *qp, const Mlx5CqeSend *c);
void mlx5_cqe_post_recv(Mlx5Qp *qp, const Mlx5CqeRecv *c);

#endif
