/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue's memory in the guest: pages named by a page list at creation
 * (contract of every CREATE_*: pas[], log_page_size, page_offset), or a part of
 * a UMEM (obj/umem.h).
 */
#ifndef MLX5_OBJ_RING_H
#define MLX5_OBJ_RING_H

#include "bus/dma.h"
#include "fw/cmd.h"

struct Mlx5Umem;

/** Read-only after creation. */
typedef struct Mlx5Ring {
    Mlx5Func *func;
    uint64_t *pages;         /* bus addresses */
    uint32_t num_pages;
    uint32_t log_page_bytes;
    uint64_t offset_bytes;   /* of the ring in its first page */
    uint64_t size_bytes;
    bool read_only;          /* in a UMEM that the card may not write */
    /* Referenced by the ring: where it and its doorbell record are, or NULL. */
    struct Mlx5Umem *umem, *dbr_umem;
} Mlx5Ring;

/** Pages needed for @size bytes at @offset with pages of 2^@log_page. */
uint64_t mlx5_ring_pages_needed(uint64_t size, uint64_t offset,
                                uint32_t log_page);
/**
 * Take @num_pages 64-bit big-endian addresses at @pas.
 * Return: false if the list is too short or an address is not page aligned.
 */
bool mlx5_ring_init(Mlx5Ring *ring, Mlx5Func *func, const uint8_t *pas,
                    uint32_t num_pas, uint32_t log_page_bytes,
                    uint64_t offset_bytes, uint64_t size_bytes);
/**
 * The same from a command: the list begins at byte @pas_off of the input and
 * ends with it, @log_page_size counts from 4 KiB, @page_offset in 1/64 pages.
 */
bool mlx5_ring_from_cmd(Mlx5Ring *ring, Mlx5Func *func, const Mlx5Cmd *cmd,
                        uint32_t pas_off, uint32_t log_page_size,
                        uint32_t page_offset, uint64_t size_bytes);
/** The same in @umem, which is referenced; the caller checked the bounds. */
void mlx5_ring_from_umem(Mlx5Ring *ring, struct Mlx5Umem *umem,
                         uint64_t umem_offset, uint64_t size_bytes);
/** Answer a query: the page list, as far as the output has room. */
void mlx5_ring_put_pas(const Mlx5Ring *ring, Mlx5Cmd *cmd, uint32_t pas_off);
void mlx5_ring_clear(Mlx5Ring *ring);

/** Copy @len bytes at @at (may cross pages; must not pass the end). */
bool mlx5_ring_read(const Mlx5Ring *ring, uint64_t at, void *buf, size_t len);
bool mlx5_ring_write(const Mlx5Ring *ring, uint64_t at, const void *buf,
                     size_t len);
/** The same for a part [@base, @base + @size) of the ring, wrapping in it. */
bool mlx5_ring_read_wrap(const Mlx5Ring *ring, uint64_t base, uint64_t size,
                         uint64_t at, void *buf, size_t len);

#endif
