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
 * @half: what the first half of 128 bytes holds; NULL = nothing to say.
 * Return: false if memory refused it (the CQ has failed).
 */
bool mlx5_cq_write(Mlx5Cq *cq, const uint8_t *half,
                   uint8_t cqe[MLX5_CQE_BYTES]);
/**
 * Write 64 bytes without an owner into entry @pi; the next entry stays the
 * next. Return: false if memory refused it (the CQ has failed).
 */
bool mlx5_cq_write_raw(Mlx5Cq *cq, uint32_t pi,
                       const uint8_t bytes[MLX5_CQE_BYTES]);
/** Entries were written: remember the solicited one, give the event if due. */
void mlx5_cq_written(Mlx5Cq *cq, uint32_t num, bool solicited);
/** Take moderation from the context, when it was created or modified. */
void mlx5_cq_set_moderation(Mlx5Cq *cq);

/** cqc.cq_period_mode (driver: mlx5_ifc.h): where the period begins. */
enum {
    MLX5_CQ_PERIOD_FROM_EQE = 0,
    MLX5_CQ_PERIOD_FROM_CQE = 1,
};

/* cq_comp.c */
/** The most completions in one session (caps: cqe_compression_max_num). */
#define MLX5_CQ_COMP_MAX 64u
/** cqc.mini_cqe_res_format (driver: mlx5_ib cq.c). */
enum {
    MLX5_MINI_CQE_HASH = 0,
    MLX5_MINI_CQE_CSUM = 1,
    MLX5_MINI_CQE_CSUM_STRIDX = 3,
};
/** cqc.cqe_compression_layout (driver: device.h). */
enum {
    MLX5_CQE_LAYOUT_BASIC = 0,
    MLX5_CQE_LAYOUT_ENHANCED = 1,
};
/** Compression as the context of @cq asks for it. */
void mlx5_cq_comp_new(Mlx5Cq *cq);
void mlx5_cq_comp_free(Mlx5Cq *cq);
/** Completions held, which have no entry yet. */
uint32_t mlx5_cq_comp_held(const Mlx5Cq *cq);
/**
 * Hold @cqe or write it, whichever its session asks for. Every path to an
 * event goes through mlx5_cq_written().
 */
void mlx5_cq_comp_post(Mlx5Cq *cq, const uint8_t *half,
                       uint8_t cqe[MLX5_CQE_BYTES], bool solicited);
/** @cqe belongs to no session; it gets what its layout asks for. */
void mlx5_cq_comp_alone(Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES]);

#endif
