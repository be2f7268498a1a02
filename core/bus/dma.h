/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory. Steering bytes are copied with mlx5_dma_read/write, each once
 * per operation; payload goes range to range with mlx5_dma_copy. A failed
 * access is refused by the caller and counted here.
 *
 * Addresses with MLX5_DMA_MEMIC set are the card's own memory: no bus address
 * is that high, and what makes them (obj/mkey_walk.c) checked the range.
 */
#ifndef MLX5_BUS_DMA_H
#define MLX5_BUS_DMA_H

#include "bus/func.h"

/** Device memory, as an address: this bit and the place in it. */
#define MLX5_DMA_MEMIC (UINT64_C(1) << 63)

/** Return: false if any byte is not guest RAM or bus mastering is off. */
bool mlx5_dma_read(Mlx5Func *func, uint64_t addr, void *buf, size_t len);
bool mlx5_dma_write(Mlx5Func *func, uint64_t addr, const void *buf, size_t len);

/** Copy guest memory to guest memory, in one copy. */
bool mlx5_dma_copy(Mlx5Func *dst_func, uint64_t dst, Mlx5Func *src_func,
                   uint64_t src, uint64_t len);

/**
 * Replace the @size (4 or 8) aligned bytes at @addr by what @change makes of
 * them, as one atomic step also for the guest's processors. @change may be
 * called more than once. @original: the bytes replaced, as a number in the
 * host's order. Return: false if not guest RAM.
 */
bool mlx5_dma_exchange(Mlx5Func *func, uint64_t addr, unsigned size,
                       uint64_t (*change)(uint64_t old, const void *opaque),
                       const void *opaque, uint64_t *original);

/** Read one 32-bit big-endian number. */
bool mlx5_dma_read_be32(Mlx5Func *func, uint64_t addr, uint32_t *value);

/** Do @a .. @a + @len and the address space agree (no wrap)? */
static inline bool mlx5_range_ok(uint64_t a, uint64_t len)
{
    return len == 0 || a + (len - 1) >= a;
}

/** Is [@a, @a + @len) inside [@start, @start + @size)? Cannot wrap. */
static inline bool mlx5_range_inside(uint64_t a, uint64_t len, uint64_t start,
                                     uint64_t size)
{
    return a >= start && a - start <= size && len <= size - (a - start);
}

#endif
