/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RoCE packets as a wire would show them: how many, how long, with which
 * headers; and what the flow tables of RoCE packets say of them.
 */
#ifndef MLX5_NET_ROCE_H
#define MLX5_NET_ROCE_H

#include "fw/vport.h"
#include "rdma/packet.h"

/** Packets and bytes that @pkt stands for (IBA 5.2; RoCE annexes A16, A17). */
Mlx5Traffic mlx5_roce_traffic(const Mlx5Pkt *pkt);

/**
 * Ask the flow tables of @func of type @type, RDMA receive or transmit, about
 * each packet that @pkt stands for; entries count them.
 * Return: false if one of them is dropped.
 */
bool mlx5_roce_passes(Mlx5Func *func, uint32_t type, const Mlx5Pkt *pkt);

#endif
