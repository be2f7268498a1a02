/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive-side scaling: the hash of a frame.
 */
#ifndef MLX5_ETH_RSS_H
#define MLX5_ETH_RSS_H

#include "eth/frame.h"
#include "obj/tir.h"

/** Toeplitz hash of @len bytes; @len at most 36. */
uint32_t mlx5_rss_toeplitz(const uint8_t key[MLX5_TOEPLITZ_KEY_BYTES],
                           const uint8_t *data, size_t len);
/**
 * The hash of a frame as @hash tells, and in @type the CQE's rss_hash_type;
 * 0 and type 0 when the frame has none of what is selected. @tunnel: the one in
 * the frame, or NULL.
 */
uint32_t mlx5_rss_hash(const Mlx5RxHash *hash, const uint8_t *frame,
                       const Mlx5FrameInfo *info, const Mlx5Tunnel *tunnel,
                       uint8_t *type);

#endif
