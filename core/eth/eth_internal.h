/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the files of the Ethernet engine.
 */
#ifndef MLX5_ETH_ETH_INTERNAL_H
#define MLX5_ETH_ETH_INTERNAL_H

#include "eth/eth.h"
#include "eth/frame.h"
#include "obj/flow_table.h"
#include "obj/mkey.h"
#include "obj/sq.h"

struct Mlx5Eth {
    Mlx5EthTap tap;
};

/* sq.c */
void mlx5_eth_sq_created(Mlx5Sq *sq);
void mlx5_eth_sq_state(Mlx5Sq *sq);
void mlx5_eth_sq_destroyed(Mlx5Sq *sq);
void mlx5_eth_sq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t sqn,
                          uint32_t offset, uint64_t value, unsigned size);

/* tx.c */

/** A send WQE, copied from the guest. */
typedef struct Mlx5SendWqe {
    const uint8_t *p;
    uint32_t len;            /* ds * 16 */
} Mlx5SendWqe;

/** Largest packet that LSO cuts: ETH capability max_lso_cap. */
#define MLX5_LOG_MAX_LSO 18

/**
 * Send the frame (or with @lso the frames) a WQE describes.
 * Return: 0 or the syndrome of its error completion. @bytes: sent.
 */
uint8_t mlx5_eth_tx_wqe(Mlx5Sq *sq, const Mlx5SendWqe *wqe, bool lso,
                        uint64_t *bytes);

/* lso.c */

/**
 * Cut @hdr_len bytes of headers and the payload behind them (together @len at
 * @packet) into frames of at most @mss bytes of payload.
 * Return: false if the headers are neither TCP nor UDP over IP.
 */
bool mlx5_eth_lso(Mlx5Sq *sq, const uint8_t *packet, size_t len,
                  size_t hdr_len, uint32_t mss);

/* loopback.c */

/** Send a frame: to receivers of this function, the wire, or both. */
void mlx5_eth_send(Mlx5Sq *sq, const uint8_t *frame, size_t len);

/* rq.c */

/** A frame on its way to a queue. */
typedef struct Mlx5RxFrame {
    const Mlx5Sq *from;      /* sender in this function; NULL: the wire */
    uint8_t lb_bit;          /* MLX5_SELF_LB_* that says who hears itself */
    bool delivered;          /* a queue was chosen */
    const uint8_t *data;
    size_t len;
    Mlx5FrameInfo info;
    bool l4_ok;
    uint16_t csum;           /* over the IP packet */
    uint32_t flow_tag;       /* of the entry that chose the queue */
    uint32_t hash;
    uint8_t hash_type;
} Mlx5RxFrame;

void mlx5_eth_rq_state(Mlx5Rq *rq);
void mlx5_eth_rq_deliver(Mlx5Rq *rq, const Mlx5RxFrame *frame);

/* eth.c */
/** What was learned of @frame is filled in, then it is steered. */
void mlx5_eth_receive(Mlx5Func *func, Mlx5RxFrame *frame);

/* steer.c */
void mlx5_eth_steer(Mlx5Func *func, Mlx5RxFrame *frame);
/** What flow entries compare a frame by. */
void mlx5_eth_match_fill(Mlx5Match *match, const uint8_t *frame,
                         const Mlx5FrameInfo *info);

#endif
