/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet engine, as the layers around it see it: SQs send, flow tables
 * steer, RQs receive.
 */
#ifndef MLX5_ETH_ETH_H
#define MLX5_ETH_ETH_H

#include "fw/vport.h"

void mlx5_eth_new(Mlx5Func *func);
void mlx5_eth_reset(Mlx5Func *func);
void mlx5_eth_free(Mlx5Func *func);

/** A frame from the wire. Return: always true; what has no room is dropped. */
bool mlx5_eth_rx(Mlx5Func *func, const struct iovec *iov, int iovcnt);

/** The wire has no more frames for now: what waits for them goes on. */
void mlx5_eth_frames_end(Mlx5Func *func);

/**
 * Looks at each received frame before steering (net/: RoCE). Return: true if
 * the frame was taken and must not reach the Ethernet queues.
 */
typedef bool (*Mlx5EthTap)(Mlx5Func *func, const uint8_t *frame, size_t len);
void mlx5_eth_set_tap(Mlx5Func *func, Mlx5EthTap tap);
/** Whom RoCE packets are for; it asks first. Return of @roce: it took it. */
void mlx5_eth_set_roce(Mlx5Func *func, Mlx5EthTap roce);

/**
 * Put a frame on the wire and count it. Frames shorter than the wire's least
 * are padded; longer than the port's most, or without a link, are discarded.
 */
void mlx5_eth_tx(Mlx5Func *func, const uint8_t *frame, size_t len);

/** The same of a TCP frame that stands for those counted in @cut. */
void mlx5_eth_tx_large(Mlx5Func *func, const uint8_t *frame, size_t len,
                       Mlx5Traffic cut);

/**
 * Show the flow tables of @type, of RDMA, the @headers of RoCE packets; entries
 * count as many packets and bytes as the headers stand for.
 * Return: false if an entry drops them.
 */
bool mlx5_eth_steer_roce(Mlx5Func *func, uint32_t type, const uint8_t *headers,
                         size_t len, Mlx5Traffic stands_for);

#endif
