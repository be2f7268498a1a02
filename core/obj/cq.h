/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion queues (PRM: Completion Queues; driver: cq.c, mlx5_ib cq.c).
 */
#ifndef MLX5_OBJ_CQ_H
#define MLX5_OBJ_CQ_H

#include "bus/timer.h"
#include "obj/eq.h"

/** CQE opcodes (driver: device.h). */
typedef enum Mlx5CqeOpcode {
    MLX5_CQE_REQ = 0,
    MLX5_CQE_RESP_WR_IMM = 1,
    MLX5_CQE_RESP_SEND = 2,
    MLX5_CQE_RESP_SEND_IMM = 3,
    MLX5_CQE_RESP_SEND_INV = 4,
    MLX5_CQE_RESIZE_CQ = 5,
    MLX5_CQE_NO_PACKET = 6,
    MLX5_CQE_SIG_ERR = 12,
    MLX5_CQE_REQ_ERR = 13,
    MLX5_CQE_RESP_ERR = 14,
    MLX5_CQE_INVALID = 15,
} Mlx5CqeOpcode;

/** cqe64.cqe_format: what is in an entry besides its fields (device.h). */
typedef enum Mlx5CqeFormat {
    MLX5_CQE_NO_INLINE_DATA = 0,
    MLX5_CQE_INLINE_DATA32 = 1, /* payload in its first 32 bytes */
    MLX5_CQE_INLINE_DATA64 = 2, /* payload in the first half of 128 bytes */
    MLX5_CQE_COMPRESSED = 3,    /* several in one (cq_comp.c) */
} Mlx5CqeFormat;

/** CQE syndromes (driver: device.h). */
typedef enum Mlx5CqeSyndrome {
    MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR = 0x01,
    MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR = 0x02,
    MLX5_CQE_SYNDROME_LOCAL_PROT_ERR = 0x04,
    MLX5_CQE_SYNDROME_WR_FLUSH_ERR = 0x05,
    MLX5_CQE_SYNDROME_MW_BIND_ERR = 0x06,
    MLX5_CQE_SYNDROME_BAD_RESP_ERR = 0x10,
    MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR = 0x11,
    MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR = 0x12,
    MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR = 0x13,
    MLX5_CQE_SYNDROME_REMOTE_OP_ERR = 0x14,
    MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR = 0x15,
    MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR = 0x16,
    MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR = 0x22,
} Mlx5CqeSyndrome;

typedef struct Mlx5CqComp Mlx5CqComp;    /* cq_comp.c */

typedef struct Mlx5Cq {
    Mlx5Obj o;
    Mlx5Eq *eq;
    Mlx5Ring ring;
    uint32_t log_cq_size;
    uint32_t cqe_bytes;      /* 64 or 128 */
    bool pad;                /* all 128 bytes of an entry are written */
    Mlx5CqComp *comp;        /* what is held for compression; NULL = none */
    bool oi;                 /* overrun ignore */
    bool failed;             /* overran: unusable until destroyed */
    uint64_t dbr_gpa;
    uint32_t pi;             /* next entry, free running (24 bits used) */
    uint32_t ci_seen;        /* consumer index last read from the record */
    bool armed;              /* an event is owed ... */
    bool armed_solicited;    /* ... only for a solicited or failed one */
    uint32_t arm_sn;
    bool fired;              /* an event was given for ... */
    uint32_t fired_sn;       /* ... this sequence number of arming */
    uint32_t solicit_pi;     /* entry after the last solicited one, 24 bits */
    bool solicit_seen;
    /* Moderation: fewer events than entries (cqc.cq_period, cq_max_count). */
    bool moderated;
    uint32_t unreported;     /* entries since the last event */
    int64_t event_ns;        /* when that was given */
    Mlx5Timer timer;         /* gives the event that waits */
    uint32_t uar;            /* the page through which it is armed */
    Mlx5Obj *uar_page;       /* that page; not freed while we are */
    uint8_t status;          /* cqc.status */
    uint8_t cqc[64];         /* as created and modified, for QUERY_CQ */
} Mlx5Cq;

/** Write the time into @cqe, of the real-time clock or the free running one;
 * who leaves it out gets the latter when the entry is posted. */
void mlx5_cq_stamp(const Mlx5Cq *cq, uint8_t cqe[64],
                   bool real_time);
/**
 * Post a completion. @cqe: 64 bytes, everything but owner and (if @solicited
 * is set) se filled in; the opcode is in its last byte. Writes 63 bytes, then
 * the byte with the owner bit, then raises the event if armed. An overrun
 * raises CQ_ERROR and makes the CQ unusable.
 */
void mlx5_cq_post(Mlx5Cq *cq, uint8_t cqe[64], bool solicited);
/**
 * The same for a 128-byte entry with payload in front: @half are the 64 bytes
 * of its first half, and @cqe's format says so.
 */
void mlx5_cq_post_half(Mlx5Cq *cq, const uint8_t *half, uint8_t cqe[64],
                       bool solicited);
/** Write what is held back for compression. */
void mlx5_cq_settle(Mlx5Cq *cq);
/** CQ doorbell register (UAR + 0x20): arm. @value: the 8 bytes written. */
void mlx5_cq_doorbell(Mlx5Func *func, uint32_t uar, uint64_t value);

#endif
