/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RoCE packets as a wire would show them: how many, how long, with which
 * headers; and what the flow tables of RoCE packets say of them.
 */
#ifndef MLX5_NET_ROCE_H
#define MLX5_NET_ROCE_H

#include "fw/vport.h"
#include "rdma/packet.h"

/** Room for any frame: path MTU 4096, the longest headers, pad and ICRC. */
#define MLX5_ROCE_MAX_FRAME 4352

/** Packets and bytes that @pkt stands for (IBA 5.2; RoCE annexes A16, A17). */
Mlx5Traffic mlx5_roce_traffic(const Mlx5Pkt *pkt);

/**
 * Ask the flow tables of @func of type @type, RDMA receive or transmit, about
 * each packet that @pkt stands for; entries count them.
 * Return: false if one of them is dropped.
 */
bool mlx5_roce_passes(Mlx5Func *func, uint32_t type, const Mlx5Pkt *pkt);

/** Does @pkt have a form on the wire? DC and masked atomics have none. */
bool mlx5_roce_on_wire(const Mlx5Pkt *pkt);
/** Frames that @pkt stands for. */
uint32_t mlx5_roce_frames(const Mlx5Pkt *pkt);
/**
 * Write frame @i of @pkt, from its Ethernet header to its ICRC.
 * Return: its bytes, 0 if its payload can't be read.
 */
size_t mlx5_roce_encode(const Mlx5Pkt *pkt, uint32_t i,
                        uint8_t frame[MLX5_ROCE_MAX_FRAME]);

/** What a frame was found to be. */
typedef enum Mlx5RoceFrame {
    MLX5_ROCE_NONE,          /* no RoCE packet: the Ethernet queues' */
    MLX5_ROCE_MALFORMED,     /* one, but its headers or lengths are wrong */
    MLX5_ROCE_BAD_ICRC,
    MLX5_ROCE_GOOD,
} Mlx5RoceFrame;

/**
 * Take @frame apart; its payload stays where it is. What depends on the queue
 * pair (mtu_bytes, of a read npsn) is left 0. Addresses are there in any case
 * but MLX5_ROCE_NONE.
 */
Mlx5RoceFrame mlx5_roce_decode(const uint8_t *frame, size_t len, Mlx5Pkt *pkt);

#endif
