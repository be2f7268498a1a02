/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the files of the Ethernet engine.
 */
#ifndef MLX5_ETH_ETH_INTERNAL_H
#define MLX5_ETH_ETH_INTERNAL_H

#include "eth/eth.h"
#include "bus/timer.h"
#include "eth/frame.h"
#include "fw/port.h"
#include "obj/flow_table.h"
#include "obj/mkey.h"
#include "obj/pace.h"
#include "obj/rq.h"
#include "obj/sq.h"
#include "obj/tir.h"

/** Transmit paused by the other end (pause.c), by priority. */
typedef struct Mlx5Pause {
    bool on;                 /* of any priority */
    int64_t until_ns[MLX5_PORT_PRIOS];
    Mlx5Timer timer;
} Mlx5Pause;

/** Limits of the traffic classes (ets.c). */
typedef struct Mlx5Ets {
    Mlx5Bucket limit[MLX5_PORT_PRIOS];
    Mlx5Timer timer;         /* a class that waits may be sent then */
} Mlx5Ets;

struct Mlx5Eth {
    Mlx5EthTap tap, roce;
    Mlx5Pause pause;
    Mlx5VxlanPorts vxlan;
    Mlx5Ets ets;
    GPtrArray *gathering;    /* RQs with segments of a packet (lro.c) */
    GPtrArray *backlogs;     /* RQs with frames that wait (backlog.c) ... */
    size_t backlog_bytes[MLX5_PORT_BUFFERS]; /* ... and take so much */
    Mlx5Timer backlog_timer;
    Mlx5Work backlog_work;
};

/* vxlan.c */
void mlx5_eth_vxlan_reset(Mlx5Func *func);

/* ets.c */
void mlx5_eth_ets_new(Mlx5Func *func);
void mlx5_eth_ets_reset(Mlx5Func *func);
/** The priority of a frame. */
unsigned mlx5_eth_prio(Mlx5Func *func, const Mlx5FrameInfo *info);
/** Count a frame in its priority. */
void mlx5_eth_count_prio(Mlx5Func *func, const Mlx5FrameInfo *info, bool tx,
                         Mlx5Traffic traffic);
unsigned mlx5_eth_sq_prio(const Mlx5Sq *sq);
/** Have all SQs look whether they may go on. */
void mlx5_eth_wake_sqs(Mlx5Func *func);
/** The limit of @sq's traffic class, NULL if it has none. */
Mlx5Bucket *mlx5_eth_ets_limit(Mlx5Sq *sq);
/** May an SQ of this class send now? If not, it is woken when it may. */
bool mlx5_eth_ets_may(Mlx5Func *func, const Mlx5Bucket *limit);

/* pause.c */
void mlx5_eth_pause_new(Mlx5Func *func);
void mlx5_eth_pause_reset(Mlx5Func *func);
/** Is @frame one of MAC control? Then it has been heeded and goes no further. */
bool mlx5_eth_pause_rx(Mlx5Func *func, const uint8_t *frame, size_t len);
/** Must @sq wait? It is woken then. */
bool mlx5_eth_paused(Mlx5Sq *sq);

/* sq.c */
void mlx5_eth_sq_created(Mlx5Sq *sq);
void mlx5_eth_sq_state(Mlx5Sq *sq);
void mlx5_eth_sq_destroyed(Mlx5Sq *sq);
void mlx5_eth_sq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t sqn,
                          uint32_t offset, uint64_t value, unsigned size);

/* tx.c */

/** A send WQE, copied from the guest. */
typedef struct Mlx5EthWqe {
    const uint8_t *p;
    uint32_t len;            /* ds * 16 */
} Mlx5EthWqe;

/** Largest packet that LSO cuts: ETH capability max_lso_cap. */
#define MLX5_LOG_MAX_LSO 18

/**
 * Send the frame (or with @lso the frames) a WQE describes.
 * Return: 0 or the syndrome of its error completion. @bytes: sent.
 */
uint8_t mlx5_eth_tx_wqe(Mlx5Sq *sq, const Mlx5EthWqe *wqe, bool lso,
                        uint64_t *bytes);

/** The same of the many frames of a multi-packet WQE. */
uint8_t mlx5_eth_tx_multi(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes);

/* umr.c */

/** Change a memory key. Return: 0 or the syndrome of the error completion. */
uint8_t mlx5_eth_umr(Mlx5Sq *sq, const Mlx5EthWqe *wqe);

/** Where a WQE says that the IP header in a tunnel is. */
typedef struct Mlx5EthSwp {
    uint32_t inner_l3;       /* 0: it says nothing */
    bool ipv6;
} Mlx5EthSwp;

/** The frame or the IP packet in a tunnel. */
typedef struct Mlx5EthInner {
    uint32_t off;
    Mlx5FrameInfo info;      /* offsets from off */
} Mlx5EthInner;

/**
 * Find what is in the tunnel of a frame, parsed to @outer, that @sq sends.
 * Return: false if there is no IP packet.
 */
bool mlx5_eth_find_inner(const Mlx5Sq *sq, const uint8_t *frame, size_t len,
                         const Mlx5FrameInfo *outer, const Mlx5EthSwp *swp,
                         Mlx5EthInner *inner);

/* lso.c */

/** How a WQE wants a packet cut. */
typedef struct Mlx5EthCut {
    size_t hdr_len;          /* headers that each frame begins with */
    uint32_t mss;            /* payload of a frame, at most */
    uint32_t metadata;
    Mlx5EthSwp swp;
} Mlx5EthCut;

/**
 * Cut headers and the payload behind them, together @len at @packet, into
 * frames.
 * Return: false if the headers are neither TCP nor UDP over IP, nor a tunnel
 * with these.
 */
bool mlx5_eth_lso(Mlx5Sq *sq, const uint8_t *packet, size_t len,
                  const Mlx5EthCut *cut);

/* loopback.c */

/** Send a frame; @metadata: of the WQE, for flow entries. */
void mlx5_eth_send(Mlx5Sq *sq, const uint8_t *frame, size_t len,
                   uint32_t metadata);
/** Is there nothing on the frame's way but the wire? Then it may be large. */
bool mlx5_eth_only_wire(const Mlx5Sq *sq, const uint8_t *frame);
/** What steering lets out: to receivers here, the wire, or both. */
void mlx5_eth_out(Mlx5Sq *sq, const uint8_t *frame, size_t len);

/* rq.c */

/** What a completion says of the end of a packet of many segments. */
typedef struct Mlx5LroEnd {
    uint8_t segments, min_ttl;
    bool psh;
    uint16_t win;
    uint32_t ack_seq;
} Mlx5LroEnd;

/** A frame under way: received, or sent by an SQ. */
typedef struct Mlx5Packet {
    Mlx5Func *func;
    const Mlx5Sq *from;      /* sender in this function; NULL: the wire */
    uint8_t lb_bit;          /* MLX5_SELF_LB_* that says who hears itself */
    const uint8_t *data;
    size_t len;
    uint8_t *own;            /* data, once it was changed; else NULL */
    Mlx5FrameInfo info;
    uint32_t reg[MLX5_REG_COUNT];
    bool checked;            /* l4_ok and csum are known */
    bool l4_ok;
    bool inner_l4_ok;        /* known with @tunnel */
    uint16_t csum;           /* over the IP packet; with @lro, TCP's payload */
    const Mlx5LroEnd *lro;   /* of a packet of several segments; else NULL */
    const Mlx5Tunnel *tunnel; /* that the receiver looks into; NULL: none */
    uint32_t flow_tag;       /* of the entry that chose the queue */
    uint32_t hash;
    uint8_t hash_type;
    Mlx5MatchKey key;        /* keep last: not zeroed, see mlx5_packet_init */
} Mlx5Packet;

/** A packet of what is given, and nothing learned of it yet. */
static inline void mlx5_packet_init(Mlx5Packet *p, Mlx5Func *func,
                                    const Mlx5Sq *from, const uint8_t *data,
                                    size_t len)
{
    /* The key is large, and each part is filled in before it is looked at. */
    memset(p, 0, offsetof(Mlx5Packet, key));
    p->key.have = 0;
    p->func = func;
    p->from = from;
    p->data = data;
    p->len = len;
}

void mlx5_eth_rq_state(Mlx5Rq *rq);
void mlx5_eth_rq_deliver(Mlx5Rq *rq, const Mlx5Packet *frame);
/**
 * Put a frame into a WQE, or count why it can't go into any.
 * Return: false if there is no WQE.
 */
bool mlx5_eth_rq_take(Mlx5Rq *rq, const Mlx5Packet *frame);
/** Count a frame dropped for want of a WQE. */
void mlx5_eth_rq_no_buffer(Mlx5Rq *rq);

/* backlog.c */
void mlx5_eth_backlog_new(Mlx5Func *func);
void mlx5_eth_backlog_reset(Mlx5Func *func);
void mlx5_eth_backlog_free(Mlx5Func *func);
/** Hold @p until there is a WQE. Return: false if there is no room. */
bool mlx5_eth_backlog_put(Mlx5Rq *rq, const Mlx5Packet *p);
/** Deliver what waits for @rq as far as there are WQEs, drop what is old. */
void mlx5_eth_backlog_retry(Mlx5Rq *rq);
/** Drop all of it. */
void mlx5_eth_backlog_forget(Mlx5Rq *rq);
/** The driver armed a CQ: it may have posted receives before. */
void mlx5_eth_backlog_cq_armed(Mlx5Func *func);

/* lro.c */
/**
 * Add a frame to what @rq gathers, or begin with it.
 * Return: false if it goes to the driver as it is, now. What was gathered has
 * gone there before.
 */
bool mlx5_eth_lro_take(const Mlx5Tir *tir, Mlx5Rq *rq, const Mlx5Packet *p);
/** The queue is not to have what it gathered. */
void mlx5_eth_lro_forget(Mlx5Rq *rq);

/* match.c */
/** Fill in the outer headers of the key, and forget its other parts. */
void mlx5_match_fill_outer(Mlx5Packet *p);
/** Fill in at least @parts. */
void mlx5_match_need(Mlx5Packet *p, uint32_t parts);

/* rewrite.c */
/**
 * Make of @p what @act says.
 * Return: false if that cannot be done; then @p must be dropped.
 */
bool mlx5_eth_rewrite(Mlx5Packet *p, const Mlx5FlowAct *act);

/* steer.c */
/** Steer a packet that was received. Return: whether a queue was chosen. */
bool mlx5_eth_steer_rx(Mlx5Packet *p);
/** Steer a frame that @sq sends; @metadata is its register A. */
void mlx5_eth_steer_tx(Mlx5Sq *sq, const uint8_t *frame, size_t len,
                       uint32_t metadata);

#endif
