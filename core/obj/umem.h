/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User memory: pages of a process that the kernel pinned and named to the card
 * (PRM: CREATE_UMEM; driver: mlx5_ib devx.c). A process cannot know bus
 * addresses, and must not choose them: where the kernel's commands have a page
 * list or an address, its commands have a UMEM and an offset in it.
 */
#ifndef MLX5_OBJ_UMEM_H
#define MLX5_OBJ_UMEM_H

#include "obj/ring.h"
#include "obj/table.h"

typedef struct Mlx5Umem {
    Mlx5Obj o;
    uint64_t *mtt;           /* bus address of each page and its permissions */
    uint64_t num_mtt;
    uint32_t log_page_bytes;
    uint32_t page_offset;    /* of the memory's first byte in its first page */
    bool writable;           /* every page is */
} Mlx5Umem;

/** Bytes from the first byte on. */
uint64_t mlx5_umem_bytes(const Mlx5Umem *umem);
/** Bus address and permissions (MLX5_MTT_*) of the byte at @offset, which */
/** must be inside. */
uint64_t mlx5_umem_address(const Mlx5Umem *umem, uint64_t offset,
                           uint64_t *permissions);

/** Where a command says that a queue and its doorbell record are. */
typedef struct Mlx5QueueMem {
    uint64_t bytes;          /* of the queue */
    uint32_t pas_off;        /* of the page list in the input ... */
    uint32_t log_page_size;  /* ... from 4 KiB */
    uint32_t page_offset;    /* in 1/64 pages */
    bool umem_valid;         /* or in a UMEM */
    uint32_t umem_id;
    uint64_t umem_offset;
    bool dbr_umem_valid;
    uint32_t dbr_umem_id;
    uint64_t dbr;            /* address, or offset in the UMEM */
    uint32_t bad_pages;      /* syndrome for a page list that does not fit */
} Mlx5QueueMem;

/**
 * The ring and the record's address that @mem names. UMEMs are referenced
 * until mlx5_ring_clear(). Return: false if the command was refused.
 */
bool mlx5_queue_mem_get(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5QueueMem *mem,
                        Mlx5Ring *ring, uint64_t *dbr_gpa);

#endif
