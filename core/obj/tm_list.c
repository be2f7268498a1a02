/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of tags of a tag-matching XRQ; see tm_list.h.
 */
#include "obj/tm_list.h"

#include <glib.h>

Mlx5TmList *mlx5_tm_list_new(uint32_t log_size)
{
    uint32_t size = 1u << log_size;
    Mlx5TmList *list = g_malloc0(sizeof(*list) + size * sizeof(list->entry[0]));

    list->size = size;
    list->first = list->last = list->late = MLX5_TM_NONE;
    return list;
}

void mlx5_tm_list_free(Mlx5TmList *list)
{
    g_free(list);
}

static void link_last(Mlx5TmList *list, uint32_t index)
{
    Mlx5TmEntry *e = &list->entry[index];

    e->state = MLX5_TM_POSTED;
    e->prev = list->last;
    e->next = MLX5_TM_NONE;
    if (e->prev == MLX5_TM_NONE) {
        list->first = index;
    } else {
        list->entry[e->prev].next = index;
    }
    list->last = index;
    if (list->late == MLX5_TM_NONE && list->sw_cnt != list->hw_cnt) {
        list->late = index;
    }
}

static void unlink_entry(Mlx5TmList *list, uint32_t index)
{
    Mlx5TmEntry *e = &list->entry[index];

    if (e->prev == MLX5_TM_NONE) {
        list->first = e->next;
    } else {
        list->entry[e->prev].next = e->next;
    }
    if (e->next == MLX5_TM_NONE) {
        list->last = e->prev;
    } else {
        list->entry[e->next].prev = e->prev;
    }
    if (list->late == index) {
        list->late = e->next;
    }
    e->prev = e->next = MLX5_TM_NONE;
}

Mlx5TmResult mlx5_tm_list_append(Mlx5TmList *list, const Mlx5TmAppend *a,
                                 uint32_t *index)
{
    Mlx5TmEntry *e = &list->entry[list->append_next];

    if (a->next >= list->size) {
        return MLX5_TM_BEYOND;
    }
    if (e->state != MLX5_TM_FREE) {
        return MLX5_TM_IN_USE;
    }
    e->tag = a->tag;
    e->mask = a->mask;
    e->addr = a->addr;
    e->len = a->len;
    e->lkey = a->lkey;
    *index = list->append_next;
    list->append_next = a->next;
    link_last(list, *index);
    return MLX5_TM_OK;
}

Mlx5TmResult mlx5_tm_list_remove(Mlx5TmList *list, uint32_t index)
{
    if (index >= list->size) {
        return MLX5_TM_BEYOND;
    }
    if (list->entry[index].state != MLX5_TM_POSTED) {
        return MLX5_TM_NOT_POSTED;
    }
    unlink_entry(list, index);
    list->entry[index].state = MLX5_TM_FREE;
    return MLX5_TM_OK;
}

/* The counts changed: if they agree, nothing is late any more. */
static void compare(Mlx5TmList *list)
{
    if (list->sw_cnt == list->hw_cnt) {
        list->late = MLX5_TM_NONE;
    }
}

void mlx5_tm_list_sync(Mlx5TmList *list, uint16_t sw_cnt)
{
    list->sw_cnt = sw_cnt;
    compare(list);
}

void mlx5_tm_list_unexpected(Mlx5TmList *list, int delta)
{
    list->hw_cnt += delta;
    compare(list);
}

uint32_t mlx5_tm_list_match(Mlx5TmList *list, uint64_t tag)
{
    for (uint32_t i = list->first; i != list->late && i != MLX5_TM_NONE;
         i = list->entry[i].next) {
        Mlx5TmEntry *e = &list->entry[i];

        if ((tag & e->mask) == e->tag) {
            unlink_entry(list, i);
            e->state = MLX5_TM_BUSY;
            return i;
        }
    }
    return MLX5_TM_NONE;
}

void mlx5_tm_list_release(Mlx5TmList *list, uint32_t index)
{
    /* Who releases matched before; the guest has no part in it. */
    g_assert(list->entry[index].state == MLX5_TM_BUSY);
    list->entry[index].state = MLX5_TM_FREE;
}
