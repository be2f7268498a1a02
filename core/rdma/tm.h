/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag matching on RC (rdma-core: Documentation/tag_matching.md; libmlx5 cq.c,
 * qp.c; tm_types.h). The list of tags itself is obj/tm_list.h.
 *
 *   tm_ops.c   work requests that append, remove and count
 *   tm_recv.c  messages that meet a tag, or none
 *   tm_rndv.c  the read and the FIN of a rendezvous
 *
 * A message begins with a header (TMH), a rendezvous has a second one (RVH):
 *
 *   NO_TAG, FIN   whole into the shared queue's receive
 *   EAGER         meets a tag: what follows the header into its buffer
 *   RNDV          meets a tag: the card reads what RVH names into its buffer,
 *                 then sends both headers back as FIN
 *   EAGER, RNDV   meets none: whole into the shared queue's receive, and
 *                 counted as unexpected
 */
#ifndef MLX5_RDMA_TM_H
#define MLX5_RDMA_TM_H

#include "obj/tm_list.h"
#include "rdma/packet.h"
#include "rdma/wqe.h"

/** cqe_tm.app of tag matching. */
#define MLX5_CQE_APP_TAG_MATCHING 1

/** cqe_tm.app_op (libmlx5: cq.c). */
typedef enum Mlx5TmAppOp {
    MLX5_TM_APP_NONE = 0x0,
    MLX5_TM_APP_CONSUMED = 0x1,  /* a tag was met, data are still to come */
    MLX5_TM_APP_EXPECTED = 0x2,  /* ... and are there */
    MLX5_TM_APP_UNEXPECTED = 0x3,
    MLX5_TM_APP_NO_TAG = 0x4,
    MLX5_TM_APP_APPEND = 0x5,
    MLX5_TM_APP_REMOVE = 0x6,
    MLX5_TM_APP_NOOP = 0x7,
    MLX5_TM_APP_CONSUMED_MSG = 0xa,  /* both at once */
    MLX5_TM_APP_CONSUMED_MSG_SW_RNDV = 0xb, /* headers in the tag's buffer */
    MLX5_TM_APP_CANCELED = 0xc,  /* met, and the data will not come */
} Mlx5TmAppOp;

/** tmh.opcode. */
typedef enum Mlx5Tmh {
    MLX5_TMH_NO_TAG = 0,
    MLX5_TMH_RNDV = 1,
    MLX5_TMH_FIN = 2,
    MLX5_TMH_EAGER = 3,
} Mlx5Tmh;

/** A rendezvous request at most (driver: MLX5_TM_MAX_RNDV_MSG_SIZE). */
#define MLX5_TM_RNDV_MAX_BYTES 64u

/** The message that a responder is receiving. */
typedef struct Mlx5TmMsg {
    bool matched;
    bool delivering;         /* not matched: has its receive, not complete */
    Mlx5TmAppOp app_op;      /* not matched: how it completes */
    uint32_t index;          /* matched: of the tag */
    uint8_t hdr[MLX5_TM_HDR_BYTES];
} Mlx5TmMsg;

/** What a request in the requester's window is for. */
typedef enum Mlx5ReqKind {
    MLX5_REQ_WQE,            /* the guest's */
    MLX5_REQ_RNDV_READ,
    MLX5_REQ_RNDV_FIN,
} Mlx5ReqKind;

struct Mlx5QpEngine;
struct Mlx5SendReq;

/** Return: the tags that messages of @qp meet, or NULL. */
static inline Mlx5TmList *mlx5_tm_list(const Mlx5Qp *qp)
{
    return qp->srq ? qp->srq->tm : NULL;
}

/* tm_ops.c */
/** Carry out a tag operation. Return: 0 or why not (Mlx5Vendor). */
uint8_t mlx5_tm_execute(Mlx5Qp *qp, const Mlx5SendWqe *wqe);

/* tm_recv.c */
/**
 * The first packet of a message: look for its tag. Nothing changes but the
 * list. Return: false if it has no proper header.
 */
bool mlx5_tm_begin(struct Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** The message has a receive of the shared queue: count it. */
void mlx5_tm_delivering(struct Mlx5QpEngine *e);
/** A packet of a message that met a tag. */
void mlx5_tm_receive(struct Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** The data of tag @index will not come. */
void mlx5_tm_cancel(struct Mlx5QpEngine *e, uint32_t index);
/** Who acts for the tags' buffers: the XRQ's domain. */
Mlx5MkeyUser mlx5_tm_user(const Mlx5Qp *qp);
/**
 * The queue pair stops: what it was doing for tags ends.
 * @tell: complete them as canceled; else they are forgotten.
 */
void mlx5_tm_abort(struct Mlx5QpEngine *e, bool tell);

/* tm_rndv.c */
/** Read for tag @index what its header names, as soon as may be. */
void mlx5_tm_rndv_queue(struct Mlx5QpEngine *e, uint32_t index);
/** Take the next one off; @req: made its read or FIN, in this order. */
void mlx5_tm_rndv_fill(struct Mlx5QpEngine *e, struct Mlx5SendReq *req,
                       Mlx5ReqKind kind);
/** A read or FIN is done, or failed. */
void mlx5_tm_rndv_done(struct Mlx5QpEngine *e, struct Mlx5SendReq *req);
/** Those that wait, and those in the window, end. */
void mlx5_tm_rndv_abort(struct Mlx5QpEngine *e, bool tell);

#endif
