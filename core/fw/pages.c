/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages the firmware borrows from the driver (PRM: QUERY_PAGES, MANAGE_PAGES;
 * driver: pagealloc.c).
 *
 * The model needs none: it asks for some because real firmware does, holds
 * their addresses, never touches them, and gives back exactly those. While the
 * HCA runs it asks for more as objects are made, and offers them back as they
 * go, by events (type 0x0b):
 *
 *   a command makes or unmakes an object
 *     needed = boot + init + objects / OBJECTS_A_PAGE
 *     too few held, or too many --> event, and wait for the answer
 *   MANAGE_PAGES give, take or "cannot give" is the answer
 *
 * A driver without memory is not asked again until the need has grown.
 */
#include "fw/fw_internal.h"

/** op_mod of QUERY_PAGES. */
enum {
    QUERY_BOOT = 1,
    QUERY_INIT = 2,
    QUERY_REGULAR = 3,
};

/** op_mod of MANAGE_PAGES. */
enum {
    PAGES_CANT_GIVE = 0,
    PAGES_GIVE = 1,
    PAGES_TAKE = 2,
};

#define PAGE_BYTES 4096u
/* Contexts that share a page, as if each took 64 bytes. */
#define OBJECTS_A_PAGE 64u
/* Pages are asked for and given back by this many. */
#define CHUNK 16u
/* 4 GiB: more than any command could make us ask for. */
#define MAX_PAGES (1u << 20)

static gpointer key_of(uint64_t gpa)
{
    return (gpointer)(uintptr_t)(gpa / PAGE_BYTES);
}

void mlx5_pages_new(Mlx5Func *func)
{
    Mlx5Pages *p = &func->fw->pages;

    p->index = g_hash_table_new(NULL, NULL);
    p->list = g_array_new(false, false, sizeof(uint64_t));
}

void mlx5_pages_forget(Mlx5Func *func)
{
    Mlx5Pages *p = &func->fw->pages;

    g_hash_table_remove_all(p->index);
    g_array_set_size(p->list, 0);
    p->asked = 0;
    p->refused_at = 0;
}

void mlx5_pages_free(Mlx5Func *func)
{
    Mlx5Pages *p = &func->fw->pages;

    g_clear_pointer(&p->index, g_hash_table_unref);
    g_clear_pointer(&p->list, g_array_unref);
}

uint32_t mlx5_fw_pages_held(Mlx5Func *func)
{
    return func->fw->pages.list->len;
}

static uint32_t missing_of(Mlx5Func *func, uint32_t wanted)
{
    uint32_t held = mlx5_fw_pages_held(func);

    return held < wanted ? wanted - held : 0;
}

uint32_t mlx5_pages_missing(Mlx5Func *func)
{
    return missing_of(func, func->props.boot_pages + func->props.init_pages);
}

/* While the HCA runs, at the least. */
static uint32_t needed(Mlx5Func *func)
{
    return func->props.boot_pages + func->props.init_pages +
           mlx5_obj_total(func) / OBJECTS_A_PAGE;
}

/*
 * Return: pages to ask for, or, negative, to give back. What is aimed at
 * depends on the objects alone, not on when the driver answered.
 */
static int32_t balance(Mlx5Func *func)
{
    Mlx5Pages *p = &func->fw->pages;
    uint32_t need = needed(func);
    uint32_t aim = (need / CHUNK + 2) * CHUNK;
    uint32_t held = p->list->len;

    if (held < aim) {
        return p->refused_at && need < p->refused_at + CHUNK ? 0 :
               (int32_t)(aim - held);
    }
    return held - aim > 2 * CHUNK ? -(int32_t)(held - aim) : 0;
}

void mlx5_pages_balance(Mlx5Func *func)
{
    Mlx5Fw *fw = func->fw;
    uint8_t data[28] = { 0 };
    int32_t n;

    if (fw->hca != MLX5_HCA_RUN || fw->pages.asked) {
        return;
    }
    n = balance(func);
    if (n == 0 || !mlx5_event_wanted(func, MLX5_FW_EVENT_PAGE_REQUEST)) {
        return;
    }
    MLX5_SET(eqe_page_req, data, num_pages, (uint32_t)n);
    if (mlx5_event_raise(func, MLX5_FW_EVENT_PAGE_REQUEST, 0, data)) {
        fw->pages.asked = n;
    }
}

/* Only the function itself: others do not exist yet. */
static bool check_function(Mlx5Cmd *cmd, uint32_t function_id, bool ec)
{
    if (function_id || ec) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_PAGES_FUNCTION);
        return false;
    }
    return true;
}

MLX5_CMD_HANDLER(mlx5_cmd_query_pages)
{
    uint32_t n = 0;

    if (!check_function(cmd, MLX5_GET(query_pages_in, cmd->in, function_id),
                        MLX5_GET(query_pages_in, cmd->in,
                                 embedded_cpu_function))) {
        return;
    }
    switch (cmd->op_mod) {
    case QUERY_BOOT:
        n = missing_of(func, func->props.boot_pages);
        break;
    case QUERY_INIT:
        n = mlx5_pages_missing(func);
        break;
    case QUERY_REGULAR:
        n = func->fw->hca == MLX5_HCA_RUN ? balance(func) : 0;
        break;
    default:
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_QUERY_PAGES_OP_MOD);
        return;
    }
    MLX5_SET(query_pages_out, cmd->out, num_pages, n);
}

static uint64_t listed_page(const Mlx5Cmd *cmd, uint32_t i)
{
    return MLX5_GET_IDX(manage_pages_in, cmd->in, pas, i);
}

static uint32_t check_page(Mlx5Pages *p, GHashTable *fresh, uint64_t gpa)
{
    if (gpa == 0) {
        return MLX5_SYND_PAGES_ZERO;
    }
    if (gpa % PAGE_BYTES) {
        return MLX5_SYND_PAGES_ALIGN;
    }
    if (g_hash_table_contains(p->index, key_of(gpa)) ||
        !g_hash_table_add(fresh, key_of(gpa))) {
        return MLX5_SYND_PAGES_TWICE;
    }
    return 0;
}

static void give(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t n)
{
    Mlx5Pages *p = &func->fw->pages;
    g_autoptr(GHashTable) fresh = g_hash_table_new(NULL, NULL);

    if (n > MAX_PAGES - p->list->len) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_LIM_ERR, MLX5_SYND_PAGES_TOO_MANY);
        return;
    }
    if ((uint64_t)n * 8 + 16 > cmd->in_len) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_INP_LEN_ERR,
                      MLX5_SYND_PAGES_LIST_SHORT);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bad = check_page(p, fresh, listed_page(cmd, i));

        if (bad) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
            return;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gpa = listed_page(cmd, i);

        g_array_append_val(p->list, gpa);
        g_hash_table_insert(p->index, key_of(gpa),
                            GUINT_TO_POINTER(p->list->len));
    }
    p->refused_at = 0;
}

/* Give back at most @n, the last ones got first. */
static void take(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t n)
{
    Mlx5Pages *p = &func->fw->pages;
    uint32_t room = cmd->out_len > 16 ? (cmd->out_len - 16) / 8 : 0;
    /* While the HCA runs it needs what it asked for. */
    uint32_t keep = func->fw->hca == MLX5_HCA_RUN ? needed(func) : 0;
    uint32_t spare = p->list->len > keep ? p->list->len - keep : 0;

    n = MIN(n, MIN(room, spare));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gpa = g_array_index(p->list, uint64_t, p->list->len - 1);

        MLX5_SET_IDX(manage_pages_out, cmd->out, pas, i, gpa);
        g_hash_table_remove(p->index, key_of(gpa));
        g_array_set_size(p->list, p->list->len - 1);
    }
    MLX5_SET(manage_pages_out, cmd->out, output_num_entries, n);
}

/* Pages may be given in parts; anything else ends what was asked. */
static void note_answer(Mlx5Pages *p, uint32_t op_mod, uint32_t n)
{
    if (op_mod == PAGES_GIVE && p->asked > 0 && n < (uint32_t)p->asked) {
        p->asked -= n;
    } else {
        p->asked = 0;
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_manage_pages)
{
    uint32_t n = MLX5_GET(manage_pages_in, cmd->in, input_num_entries);

    if (!check_function(cmd, MLX5_GET(manage_pages_in, cmd->in, function_id),
                        MLX5_GET(manage_pages_in, cmd->in,
                                 embedded_cpu_function))) {
        return;
    }
    switch (cmd->op_mod) {
    case PAGES_CANT_GIVE:
        func->fw->pages.refused_at = needed(func);
        break;
    case PAGES_GIVE:
        give(func, cmd, n);
        break;
    case PAGES_TAKE:
        take(func, cmd, n);
        break;
    default:
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_MANAGE_PAGES_OP_MOD);
        return;
    }
    if (!cmd->status) {
        note_answer(&func->fw->pages, cmd->op_mod, n);
    }
}
