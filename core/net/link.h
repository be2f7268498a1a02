/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The card's internal switch: where transport packets go. A packet addressed
 * to a function of this card is delivered in the sender's call; there is no
 * wire for the others yet, and they are lost.
 */
#ifndef MLX5_NET_LINK_H
#define MLX5_NET_LINK_H

#include "rdma/rdma.h"

void mlx5_net_new(Mlx5Func *func);

/** Deliver @pkt, sent by @func. See Mlx5LinkSend. */
void mlx5_link_send(Mlx5Func *func, Mlx5Pkt *pkt);

#endif
