/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport packets (IBA 9.2 to 9.4, RoCE annexes A16 and A17).
 *
 * Requester and responder talk in these, also inside the card. A packet here
 * may stand for several packets of the wire that follow each other: it then
 * carries several path MTUs of payload and counts @npsn sequence numbers, so
 * that PSNs, MSNs and acknowledgements are what the wire would show:
 *
 *   first  last    on the wire
 *   yes    yes     ONLY, or FIRST MIDDLE... LAST
 *   yes    no      FIRST MIDDLE...
 *   no     no      MIDDLE...
 *   no     yes     MIDDLE... LAST
 */
#ifndef MLX5_RDMA_PACKET_H
#define MLX5_RDMA_PACKET_H

#include "bus/trace.h"
#include "obj/mkey.h"

/** Sequence numbers have 24 bits (IBA 9.7.2). */
#define MLX5_PSN_MASK 0xffffffu

/** Payload of one packet at most: a multiple of every path MTU. */
#define MLX5_PKT_MAX_BYTES (64u * 1024)

/** What a packet asks or answers. */
typedef enum Mlx5PktOp {
    MLX5_PKT_SEND,
    MLX5_PKT_WRITE,
    MLX5_PKT_READ,           /* request; npsn counts its responses */
    MLX5_PKT_CMP_SWAP,
    MLX5_PKT_FETCH_ADD,
    MLX5_PKT_READ_RESP,      /* from here on: for the requester */
    MLX5_PKT_ACK,
    MLX5_PKT_ATOMIC_ACK,
    MLX5_PKT_CNP,            /* neither: for the queue pair's congestion */
    MLX5_PKT_OP_COUNT
} Mlx5PktOp;

/** Transport service, bits 7:5 of the BTH opcode (IBA table 38). */
typedef enum Mlx5PktService {
    MLX5_SVC_RC = 0,
    MLX5_SVC_UC = 1,
    MLX5_SVC_UD = 3,
    MLX5_SVC_CNP = 4,        /* RoCE annex A17.9.3 */
    MLX5_SVC_XRC = 5,
    MLX5_SVC_DC = 6,         /* unknown: DC is on no wire that we speak */
} Mlx5PktService;

/** AETH syndrome (IBA table 48, 49): the code in bits 6:5, the value below. */
enum {
    MLX5_AETH_ACK = 0x00,        /* value: credit count */
    MLX5_AETH_RNR_NAK = 0x20,    /* value: timer code */
    MLX5_AETH_NAK = 0x60,        /* value: below */
    MLX5_AETH_CODE_MASK = 0x60,
    MLX5_AETH_VALUE_MASK = 0x1f,
    MLX5_AETH_CREDITS_INVALID = 0x1f,
    MLX5_NAK_PSN_SEQ = 0x60,
    MLX5_NAK_INVALID_REQ = 0x61,
    MLX5_NAK_REMOTE_ACCESS = 0x62,
    MLX5_NAK_REMOTE_OP = 0x63,
};

/**
 * What a responder that waits for a page adds to an RNR NAK, for peers in the
 * same card: such waits cost no retries, and end without a timer.
 */
typedef enum Mlx5PktPaging {
    MLX5_PAGING_NO,
    MLX5_PAGING_WAIT,        /* ask again after the time, or when told */
    MLX5_PAGING_HOLD,        /* nothing was lost, the answer will come */
    MLX5_PAGING_GO,          /* ask again now */
} Mlx5PktPaging;

/** Addresses of one direction. */
typedef struct Mlx5PktAddr {
    uint8_t sgid[16], dgid[16];
    uint8_t smac[6], dmac[6];
    uint8_t roce_version;    /* 0 v1 (GRH), 2 v2 (UDP) */
    bool ipv4;               /* v2 over IPv4 */
    uint8_t tclass, hop_limit;
    uint32_t flow_label;
    uint16_t udp_sport;
    bool vlan;               /* tagged ... */
    uint16_t tci;            /* ... with this, priority included */
} Mlx5PktAddr;

typedef struct Mlx5Pkt {
    Mlx5PktAddr addr;
    Mlx5Func *to;            /* of this card, and has addr.dgid; or not known */
    Mlx5PktService svc;
    Mlx5PktOp op;
    bool first, last;
    /* BTH */
    bool se;                 /* solicited event */
    bool ackreq;
    uint32_t dqpn;
    uint32_t psn;            /* of the first packet it stands for */
    uint32_t npsn;
    uint32_t mtu_bytes;      /* 0 from the wire: for the receiver to say */
    /* RETH, also address and key of AtomicETH */
    uint64_t va;
    uint32_t rkey;
    uint32_t dma_len;
    /* AtomicETH and AtomicAckETH */
    uint64_t swap_add, compare; /* swap_add: the original value in an ack */
    uint64_t swap_mask, compare_mask; /* FETCH_ADD: highest bits of fields */
    uint32_t atomic_bytes;   /* 4 or 8 */
    /* AETH */
    uint8_t syndrome;
    uint32_t msn;
    Mlx5PktPaging paging;
    /* DETH */
    uint32_t qkey;
    uint32_t src_qpn;        /* of any packet: trace; UD: part of the packet */
    bool block_lb;           /* not for the sender, if multicast */
    /* XRCETH */
    uint32_t srqn;
    /* DC: each message is a connection of its own (rdma/dct.c). */
    uint64_t dc_key;
    uint32_t dc_conn;        /* its number, never 0; in answers as well */
    uint32_t dc_psn;         /* of its first packet */
    bool has_imm, has_inv;   /* with the last packet */
    uint32_t imm;            /* immediate or invalidated key, host order */
    /* Payload: runs of memory of @src, or bytes. */
    Mlx5Func *src;
    const Mlx5Range *ranges;
    uint32_t num_ranges;
    const uint8_t *bytes;    /* if not NULL, instead of ranges */
    uint64_t skip;           /* bytes of these before the payload begins */
    uint64_t len;
    bool on_wire;            /* set by the link: it left the card */
    bool more;               /* the sender goes on at once, to the same peer */
} Mlx5Pkt;

/** The destination of every packet to a group (IBA 9.2.3). */
#define MLX5_QPN_MULTICAST 0xffffffu

/** ECN bits of the traffic class (RFC 3168). */
enum { MLX5_ECN_ECT0 = 2, MLX5_ECN_CE = 3, MLX5_ECN_MASK = 3 };

/** Sequence numbers apart, as a signed distance (IBA 9.7.1: half windows). */
static inline int32_t mlx5_psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t mlx5_psn_add(uint32_t psn, uint32_t n)
{
    return (psn + n) & MLX5_PSN_MASK;
}

/** Packets that @len bytes take: an empty message takes one. */
static inline uint32_t mlx5_psn_count(uint64_t len, uint32_t mtu)
{
    return len <= mtu ? 1 : (len + mtu - 1) / mtu;
}

/** Is it an answer, for the requester of the queue pair it names? */
static inline bool mlx5_pkt_is_response(const Mlx5Pkt *pkt)
{
    return pkt->op >= MLX5_PKT_READ_RESP;
}

/**
 * Copy payload bytes [@off, @off + @len) of @pkt to @dst of @func.
 * Return: false when memory on either side is not there.
 */
bool mlx5_pkt_copy(const Mlx5Pkt *pkt, uint64_t off, Mlx5Func *func,
                   const Mlx5Range *dst, uint32_t num_dst, uint64_t len);

/**
 * Read payload bytes [@off, @off + @len) of @pkt, which has as many.
 * Return: false when memory is not there.
 */
bool mlx5_pkt_peek(const Mlx5Pkt *pkt, uint64_t off, void *buf, uint64_t len);

/** A line for MLX5_TRACE_PACKET, if somebody listens. */
void mlx5_pkt_trace_line(Mlx5Func *func, const char *what, const Mlx5Pkt *pkt);
static inline void mlx5_pkt_trace(Mlx5Func *func, const char *what,
                                  const Mlx5Pkt *pkt)
{
    if (G_UNLIKELY(mlx5_trace_on(func, MLX5_TRACE_PACKET))) {
        mlx5_pkt_trace_line(func, what, pkt);
    }
}

#endif
