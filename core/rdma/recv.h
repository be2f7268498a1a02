/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive work requests: of a queue pair's own ring, or of a shared receive
 * queue (PRM: Work Request, SRQ; driver: mlx5_ib wr.c, srq.c; libmlx5).
 *
 * Posting a receive rings no doorbell: how many there are is read from the
 * doorbell record when a message needs one. A receive is fetched once and
 * consumed by that; if there is none nothing changed, and the responder
 * answers RNR or drops.
 */
#ifndef MLX5_RDMA_RECV_H
#define MLX5_RDMA_RECV_H

#include "rdma/wqe.h"

typedef enum Mlx5RecvResult {
    MLX5_RECV_OK,
    MLX5_RECV_EMPTY,         /* none posted: RNR */
    MLX5_RECV_FETCH,         /* ring or doorbell record is not there */
    MLX5_RECV_OVERRUN,       /* the record claims more than the ring holds */
    MLX5_RECV_BROKEN,        /* linked list leaves the ring */
    MLX5_RECV_FAILED,        /* this SRQ broke before */
} Mlx5RecvResult;

/** Bytes of a receive WQE that are looked at. */
#define MLX5_RECV_MAX_BYTES 1024u
#define MLX5_RECV_MAX_DATA (MLX5_RECV_MAX_BYTES / 16)

typedef struct Mlx5RecvWqe {
    Mlx5Srq *srq;            /* where it came from; NULL = the QP's own */
    uint32_t srqn;           /* its number: mlx5_recv_alive() */
    uint16_t index;          /* wqe_counter of its completion */
    uint64_t length;         /* sum of data[].len */
    uint32_t num_data;
    Mlx5WqeData data[MLX5_RECV_MAX_DATA];
} Mlx5RecvWqe;

/**
 * Is a receive posted for @qp? Consumes nothing.
 * Return: MLX5_RECV_OK, MLX5_RECV_EMPTY or why not to be told.
 */
Mlx5RecvResult mlx5_recv_peek(Mlx5Qp *qp);
/**
 * Fetch and consume the next receive of @qp (its SRQ's, if it has one). An SRQ
 * may raise its limit event, or its catastrophic error.
 */
Mlx5RecvResult mlx5_recv_fetch(Mlx5Qp *qp, Mlx5RecvWqe *wqe);
/** The same from an SRQ named by an XRC packet. */
Mlx5RecvResult mlx5_recv_fetch_srq(Mlx5Srq *srq, Mlx5RecvWqe *wqe);
/**
 * Is the queue that @wqe came from still there? An XRC queue pair holds no
 * reference on the shared queues that packets name: one may be destroyed
 * between two packets of a message.
 */
bool mlx5_recv_alive(Mlx5Func *func, const Mlx5RecvWqe *wqe);
/** The queue pair was reset: begin at index 0 again. */
void mlx5_recv_reset(Mlx5Qp *qp);
const char *mlx5_recv_result_name(Mlx5RecvResult result);

#endif
