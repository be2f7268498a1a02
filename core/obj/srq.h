/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared receive queues: RMP (the basic SRQ under ISSI 1), XRC SRQ, the legacy
 * SRQ, and XRQ; one object, four commands' worth of contexts.
 */
#ifndef MLX5_OBJ_SRQ_H
#define MLX5_OBJ_SRQ_H

#include "obj/cq.h"

typedef enum Mlx5SrqKind {
    MLX5_SRQ_RMP,
    MLX5_SRQ_XRC,
    MLX5_SRQ_LEGACY,
    MLX5_SRQ_XRQ,
} Mlx5SrqKind;

typedef struct Mlx5Srq {
    Mlx5Obj o;
    Mlx5SrqKind kind;
    Mlx5Obj *pd;
    Mlx5Obj *xrcd;           /* XRC only */
    Mlx5Cq *cq;              /* XRC and XRQ: where completions go, else NULL */
    Mlx5Ring ring;
    uint32_t log_size;       /* WQEs */
    uint32_t wqe_bytes;      /* with the 16-byte next segment */
    bool cyclic;             /* plain ring instead of a linked list */
    uint64_t dbr_gpa;
    uint32_t user_index;
    uint16_t lwm;            /* limit; 0 = disarmed */
    uint16_t head;           /* next WQE index to consume */
    uint16_t counter;        /* WQEs consumed, against the doorbell record */
    bool failed;
    struct Mlx5TmList *tm;   /* XRQ that matches tags (tm_list.h), or NULL */
    bool tm_rndv;            /* ... and does the reads of rendezvous */
    uint8_t ctx[64 + 256];   /* context as created, for QUERY */
} Mlx5Srq;

/**
 * Set the limit; if fewer WQEs than @lwm are there already, the event comes at
 * once. 0 disarms.
 */
void mlx5_srq_arm(Mlx5Srq *srq, uint16_t lwm);

#endif
