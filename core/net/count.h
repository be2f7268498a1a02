/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RoCE traffic in the counters that QUERY_VPORT_COUNTER reads. */
#ifndef MLX5_NET_COUNT_H
#define MLX5_NET_COUNT_H

#include "rdma/rdma.h"

/** @func sends @pkt; also what nobody receives. */
void mlx5_net_count_tx(Mlx5Func *func, const Mlx5Pkt *pkt);
/** @func is who @pkt is for. */
void mlx5_net_count_rx(Mlx5Func *func, const Mlx5Pkt *pkt);

#endif
