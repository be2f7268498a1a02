/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue-pair engines, as the layers around them see them. Below: objects
 * call mlx5_rdma_engine (obj/engine.h). Above: net/ carries transport packets
 * between engines, eth/ owns the send queues that are not queue pairs; both
 * register here when they are made, for rdma/ cannot include them.
 */
#ifndef MLX5_RDMA_RDMA_H
#define MLX5_RDMA_RDMA_H

#include "obj/engine.h"
#include "rdma/packet.h"

extern const Mlx5EngineOps mlx5_rdma_engine;

void mlx5_rdma_new(Mlx5Func *func);
void mlx5_rdma_reset(Mlx5Func *func);
void mlx5_rdma_free(Mlx5Func *func);

/**
 * Carries @pkt to where its addresses say; what has no taker is dropped. The
 * packet and all it points to end with the call.
 */
typedef void (*Mlx5LinkSend)(Mlx5Func *func, Mlx5Pkt *pkt);
void mlx5_rdma_set_link(Mlx5Func *func, Mlx5LinkSend send);

/** A packet for a queue pair of @func arrived. */
void mlx5_rdma_receive(Mlx5Func *func, Mlx5Pkt *pkt);

/**
 * A doorbell write for an SQ object (number from MLX5_SQ_FIRST_ID), and every
 * later write to the same BlueFlame register.
 * @offset: bytes into that register's half; 0 is the doorbell itself.
 */
typedef void (*Mlx5SqDoorbell)(Mlx5Func *func, uint32_t uar, uint32_t sqn,
                               uint32_t offset, uint64_t value, unsigned size);
void mlx5_rdma_set_sq_doorbell(Mlx5Func *func, Mlx5SqDoorbell doorbell);

#endif
