/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the forms of shared receive queues (srq.c, xrq.c): what their
 * contexts say, and the commands' common parts.
 */
#ifndef MLX5_OBJ_SRQ_INTERNAL_H
#define MLX5_OBJ_SRQ_INTERNAL_H

#include "obj/srq.h"
#include "obj/wq.h"

/** What a CREATE command asks for, whatever its context looks like. */
typedef struct Mlx5SrqParams {
    Mlx5SrqKind kind;
    uint32_t pdn, xrcdn, cqn;
    uint32_t log_size, wqe_log;
    Mlx5QueueMem mem;            /* its size follows from the above */
    uint32_t user_index;
    uint16_t lwm;
    bool cyclic, signature, bad_state, bad_type;
    const uint8_t *ctx;
    uint32_t ctx_bytes;
} Mlx5SrqParams;

/** Take from a wq layout of the input what it says. */
void mlx5_srq_parse_wq(const Mlx5Cmd *cmd, const uint8_t *wq, Mlx5SrqParams *p);
/** Answer a query: the wq layout of the output, page list included. */
void mlx5_srq_query_wq(Mlx5Srq *srq, Mlx5Cmd *cmd, uint8_t *wq);
/** Check and make. Return: the queue, or NULL if the command was refused. */
Mlx5Srq *mlx5_srq_create(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5SrqParams *p);
/** Number @id as a queue of @kind, whatever else has such a number. */
Mlx5Srq *mlx5_srq_find(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5SrqKind kind,
                       uint32_t id);
/** The whole of a destroy command. */
void mlx5_srq_destroy(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5SrqKind kind,
                      uint32_t id);
/** The limit of a command; refused beyond the queue's size. */
void mlx5_srq_arm_cmd(Mlx5Srq *srq, Mlx5Cmd *cmd, uint32_t lwm);

#endif
