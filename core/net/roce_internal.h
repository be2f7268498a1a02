/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the two halves of the RoCE codec: roce.c says how packets count,
 * roce_frame.c how they look.
 */
#ifndef MLX5_NET_ROCE_INTERNAL_H
#define MLX5_NET_ROCE_INTERNAL_H

#include "eth/frame.h"
#include "net/roce.h"

/* Bytes of each header (IBA 5.2.1; RoCE annexes A16, A17). */
enum { MLX5_GRH_BYTES = 40, MLX5_IPV4_BYTES = 20, MLX5_IPV6_BYTES = 40,
       MLX5_BTH_BYTES = 12, MLX5_DETH_BYTES = 8, MLX5_XRCETH_BYTES = 4,
       MLX5_RETH_BYTES = 16, MLX5_ATOMIC_ETH_BYTES = 28, MLX5_AETH_BYTES = 4,
       MLX5_ATOMIC_ACK_BYTES = 8, MLX5_CNP_BYTES = 16,
       MLX5_IMM_BYTES = 4, MLX5_ICRC_BYTES = 4 };

/** From the Ethernet header to the BTH, at most. */
#define MLX5_ROCE_MAX_HEADERS (MLX5_ETH_HLEN + MLX5_VLAN_HLEN + \
                               MLX5_IPV6_BYTES + MLX5_UDP_HLEN + MLX5_BTH_BYTES)

/** Packets of a Mlx5Pkt that follow each other and have one opcode. */
typedef struct Mlx5RoceRun {
    bool first, last;        /* they begin, they end the message */
    uint32_t packets;
    uint64_t len;            /* of their payload */
} Mlx5RoceRun;

/** BTH opcode of the packets in @r. */
uint8_t mlx5_roce_opcode(const Mlx5Pkt *pkt, const Mlx5RoceRun *r);
/**
 * Bytes of headers, behind the BTH, that a packet of @pkt has, which begins or
 * ends the message or not.
 */
uint32_t mlx5_roce_ext_bytes(const Mlx5Pkt *pkt, bool first, bool last);
/**
 * Write Ethernet to BTH for a packet with @behind bytes behind its BTH.
 * Return: their bytes.
 */
size_t mlx5_roce_put_headers(uint8_t b[MLX5_ROCE_MAX_HEADERS],
                             const Mlx5Pkt *pkt, const Mlx5RoceRun *r,
                             uint32_t behind);

#endif
