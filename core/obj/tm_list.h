/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of tags of a tag-matching XRQ (rdma-core: Documentation/
 * tag_matching.md; libmlx5: qp.c mlx5_post_srq_ops, cq.c handle_tag_matching).
 *
 * Entries have numbers that software gives: an append fills the entry whose
 * number the append before it announced, and announces the next. A message
 * takes the first entry, in the order of appending, whose tag equals the
 * message's under the entry's mask.
 *
 * What software appends it appends knowing of so many unexpected messages. As
 * long as that count (sw) is not the one of the card (hw), a message that
 * should meet the entry may be on its way to software already: entries
 * appended meanwhile are late, and match nothing until the counts agree.
 *
 *   FREE --append--> POSTED --match--> BUSY --release--> FREE
 *          <-------- remove
 */
#ifndef MLX5_OBJ_TM_LIST_H
#define MLX5_OBJ_TM_LIST_H

#include <stdbool.h>
#include <stdint.h>

/** No entry. */
#define MLX5_TM_NONE UINT32_MAX
/** TMH and RVH: as much of a message as an entry keeps. */
#define MLX5_TM_HDR_BYTES 32u

typedef enum Mlx5TmState {
    MLX5_TM_FREE,
    MLX5_TM_POSTED,
    MLX5_TM_BUSY,            /* matched; its message is not complete */
} Mlx5TmState;

typedef struct Mlx5TmEntry {
    Mlx5TmState state;
    uint32_t prev, next;     /* POSTED: in the list; BUSY: next rendezvous */
    uint64_t tag, mask;
    uint64_t addr;           /* the buffer; len 0 = none */
    uint64_t len;
    uint32_t lkey;
    uint8_t hdr[MLX5_TM_HDR_BYTES]; /* BUSY: of the rendezvous it waits for */
} Mlx5TmEntry;

typedef struct Mlx5TmList {
    uint32_t size;           /* entries */
    uint32_t first, last;    /* POSTED, in the order of appending */
    uint32_t late;           /* from here on entries wait for the counts */
    uint32_t append_next;    /* entry that the next append fills */
    uint16_t sw_cnt, hw_cnt; /* unexpected messages: handled, delivered */
    Mlx5TmEntry entry[];
} Mlx5TmList;

Mlx5TmList *mlx5_tm_list_new(uint32_t log_size);
void mlx5_tm_list_free(Mlx5TmList *list);

/** What an append brings. */
typedef struct Mlx5TmAppend {
    uint32_t next;           /* entry for the append after this */
    uint64_t tag, mask;
    uint64_t addr, len;
    uint32_t lkey;
} Mlx5TmAppend;

typedef enum Mlx5TmResult {
    MLX5_TM_OK,
    MLX5_TM_BEYOND,          /* no entry has this number */
    MLX5_TM_IN_USE,          /* the entry to fill is not free */
    MLX5_TM_NOT_POSTED,      /* the entry to remove is not there any more */
} Mlx5TmResult;

/** @index: set to the entry that was filled. */
Mlx5TmResult mlx5_tm_list_append(Mlx5TmList *list, const Mlx5TmAppend *a,
                                 uint32_t *index);
Mlx5TmResult mlx5_tm_list_remove(Mlx5TmList *list, uint32_t index);
/** Software handled @sw_cnt unexpected messages. */
void mlx5_tm_list_sync(Mlx5TmList *list, uint16_t sw_cnt);
/** One more unexpected message is delivered, or one less was after all. */
void mlx5_tm_list_unexpected(Mlx5TmList *list, int delta);
/**
 * Take the entry that a message with @tag meets: it leaves the list and is
 * BUSY until it is released. Return: its number, or MLX5_TM_NONE.
 */
uint32_t mlx5_tm_list_match(Mlx5TmList *list, uint64_t tag);
void mlx5_tm_list_release(Mlx5TmList *list, uint32_t index);

#endif
