/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the data path (cq.c) and the commands (cq_cmd.c) of a CQ.
 */
#ifndef MLX5_OBJ_CQ_INTERNAL_H
#define MLX5_OBJ_CQ_INTERNAL_H

#include "obj/cq.h"

#define MLX5_CQE_BYTES 64
#define MLX5_CQ_CI_MASK 0xffffffu

/** cqc.status (driver: mlx5_ifc.h). */
enum {
    MLX5_CQ_STATUS_OK = 0x0,
    MLX5_CQ_STATUS_OVERFLOW = 0x9,
    MLX5_CQ_STATUS_WRITE_FAIL = 0xa,
};

/** Syndrome of a CQ error event (driver: mlx5_ib cq.c). */
enum {
    MLX5_CQ_ERR_OVERRUN = 1,
    MLX5_CQ_ERR_ACCESS = 2,
};

static inline bool mlx5_cqe_is_error(const uint8_t *cqe)
{
    uint32_t opcode = MLX5_GET(cqe64, cqe, opcode);

    return opcode == MLX5_CQE_REQ_ERR || opcode == MLX5_CQE_RESP_ERR;
}

/** Entries the driver has not taken; reads the record if it looks full. */
uint32_t mlx5_cq_outstanding(Mlx5Cq *cq);
/**
 * Write the next entry as it is and give it the owner bit; no checks.
 * Return: false if memory refused it (the CQ has failed).
 */
bool mlx5_cq_write(Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES]);

#endif
