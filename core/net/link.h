/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The card's internal switch: where transport packets go. A packet addressed
 * to a function of this card is delivered in the sender's call, one to a group
 * as well and to the wire besides; the others go to the wire (wire.c).
 */
#ifndef MLX5_NET_LINK_H
#define MLX5_NET_LINK_H

#include "rdma/rdma.h"

void mlx5_net_new(Mlx5Func *func);

/** Deliver @pkt, sent by @func. See Mlx5LinkSend. */
void mlx5_link_send(Mlx5Func *func, Mlx5Pkt *pkt);
/** Deliver @pkt, of another card, to @to. */
void mlx5_link_receive(Mlx5Func *to, Mlx5Pkt *pkt);

/* wire.c */

/** Put @pkt on the wire, and say so in it; what has no form there is lost. */
void mlx5_wire_send(Mlx5Func *func, Mlx5Pkt *pkt);
/** A frame came from the wire. Return: false if it is not RoCE to @func. */
bool mlx5_wire_rx(Mlx5Func *func, const uint8_t *frame, size_t len);

#endif
