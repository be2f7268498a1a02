/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow table entries and the look-up; see flow_table.h. Left out: counters,
 * header rewriting, VLAN push and pop, metering (refused).
 */
#include "obj/flow_table.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

/* dest_format.destination_type (driver: MLX5_IFC_FLOW_DESTINATION_TYPE_*). */
enum { DEST_FLOW_TABLE = 1, DEST_TIR = 2 };
/* set_fte_in.modify_enable_mask, with op_mod 1 */
enum { MODIFY_ACTION = 1 << 0, MODIFY_TAG = 1 << 1, MODIFY_DESTS = 1 << 2 };
#define MODIFY_ALL (MODIFY_ACTION | MODIFY_TAG | MODIFY_DESTS)

#define DEST_BYTES MLX5_ST_SZ_BYTES(dest_format)

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(flow_context, extended_destination, FTE_EXTENDED_DEST),
    MLX5_ZERO(flow_context, encrypt_decrypt_type, FTE_CRYPTO),
    MLX5_ZERO(flow_context, flow_counter_list_size, FTE_COUNTERS),
};

/* First entry of @group with an index of @index or more. */
static guint place(const Mlx5FlowGroup *group, uint32_t index)
{
    guint lo = 0, hi = group->entries->len;

    while (lo < hi) {
        guint mid = lo + (hi - lo) / 2;
        const Mlx5FlowEntry *e = group->entries->pdata[mid];

        if (e->index < index) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static Mlx5FlowEntry *find(const Mlx5FlowGroup *group, uint32_t index)
{
    guint at = place(group, index);
    Mlx5FlowEntry *e;

    if (at == group->entries->len) {
        return NULL;
    }
    e = group->entries->pdata[at];
    return e->index == index ? e : NULL;
}

static void drop_dests(Mlx5FlowEntry *e)
{
    for (uint32_t i = 0; i < e->num_dests; i++) {
        mlx5_obj_unref(e->dests[i].table);
        mlx5_obj_unref(e->dests[i].tir);
    }
    g_free(e->dests);
    e->dests = NULL;
    e->num_dests = 0;
}

void mlx5_flow_entry_free(gpointer opaque)
{
    drop_dests(opaque);
    g_free(opaque);
}

static bool parse_dest(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *p,
                       uint32_t level, Mlx5FlowDest *dest)
{
    uint32_t id = MLX5_GET(dest_format, p, destination_id);

    switch (MLX5_GET(dest_format, p, destination_type)) {
    case DEST_TIR:
        dest->tir = mlx5_obj_find(func, cmd, MLX5_OBJ_TIR, id,
                                  MLX5_SYND_FTE_DEST_TIR);
        return dest->tir != NULL;
    case DEST_FLOW_TABLE:
        dest->table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE, id,
                                    MLX5_SYND_FTE_DEST_TABLE);
        return dest->table &&
               mlx5_check_param(cmd, dest->table->level > level,
                                MLX5_SYND_FTE_DEST_LEVEL);
    default:
        return mlx5_check_param(cmd, false, MLX5_SYND_FTE_DEST_TYPE);
    }
}

/* The destination list of @ctx into @e, nothing held yet. */
static bool parse_dests(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                        uint32_t level, Mlx5FlowEntry *e)
{
    uint32_t n = MLX5_GET(flow_context, ctx, destination_list_size);
    uint32_t at = ctx - cmd->in + MLX5_BYTE_OFF(flow_context, destination);

    if (!mlx5_check_param(cmd, n >= 1 && n <= MLX5_MAX_FTE_DESTINATIONS,
                          MLX5_SYND_FTE_DEST_COUNT) ||
        !mlx5_check(cmd, (uint64_t)at + (uint64_t)n * DEST_BYTES <=
                    cmd->in_len, MLX5_CMD_STAT_BAD_INP_LEN_ERR,
                    MLX5_SYND_FTE_IN_LEN)) {
        return false;
    }
    e->dests = g_new0(Mlx5FlowDest, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!parse_dest(func, cmd, cmd->in + at + i * DEST_BYTES, level,
                        &e->dests[i])) {
            g_clear_pointer(&e->dests, g_free);
            return false;
        }
    }
    e->num_dests = n;
    return true;
}

/* Everything of a flow context but the value. */
static bool parse_context(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                          uint32_t level, Mlx5FlowEntry *e)
{
    e->action = MLX5_GET(flow_context, ctx, action);
    e->tag = MLX5_GET(flow_context, ctx, flow_tag);
    if (!mlx5_check_zero(cmd, ctx, not_done, G_N_ELEMENTS(not_done)) ||
        !mlx5_check_param(cmd, e->action == MLX5_FLOW_CONTEXT_ACTION_DROP ||
                          e->action == MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
                          MLX5_SYND_FTE_ACTION)) {
        return false;
    }
    return e->action == MLX5_FLOW_CONTEXT_ACTION_DROP ||
           parse_dests(func, cmd, ctx, level, e);
}

static void hold_dests(Mlx5FlowEntry *e)
{
    for (uint32_t i = 0; i < e->num_dests; i++) {
        mlx5_obj_ref(e->dests[i].table);
        mlx5_obj_ref(e->dests[i].tir);
    }
}

static void create_entry(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5FlowTable *table,
                         Mlx5FlowGroup *group, const uint8_t *ctx)
{
    Mlx5FlowEntry draft = {
        .index = MLX5_GET(set_fte_in, cmd->in, flow_index),
    };

    if (!mlx5_check(cmd, !find(group, draft.index),
                    MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_FTE_EXISTS) ||
        !parse_context(func, cmd, ctx, table->level, &draft)) {
        return;
    }
    memcpy(&draft.value, MLX5_ADDR_OF(flow_context, ctx, match_value),
           sizeof(draft.value));
    for (size_t i = 0; i < G_N_ELEMENTS(draft.value.w); i++) {
        draft.value.w[i] &= group->mask.w[i];
    }
    hold_dests(&draft);
    g_ptr_array_insert(group->entries, place(group, draft.index),
                       g_memdup2(&draft, sizeof(draft)));
}

/*
 * op_mod 1: the context is whole, the mask says what of it counts (driver:
 * mlx5_cmd_update_fte). Action and destinations belong together.
 */
static void modify_entry(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5FlowTable *table,
                         Mlx5FlowGroup *group, const uint8_t *ctx)
{
    Mlx5FlowEntry *e = find(group, MLX5_GET(set_fte_in, cmd->in, flow_index));
    uint32_t mask = MLX5_GET(set_fte_in, cmd->in, modify_enable_mask);
    Mlx5FlowEntry draft = { .index = 0 };

    if (!mlx5_check(cmd, e != NULL, MLX5_CMD_STAT_BAD_RES_ERR,
                    MLX5_SYND_FTE_UNKNOWN_MODIFY) ||
        !mlx5_check_param(cmd, mask && !(mask & ~MODIFY_ALL),
                          MLX5_SYND_FTE_MODIFY_MASK) ||
        !parse_context(func, cmd, ctx, table->level, &draft)) {
        return;
    }
    if (mask & MODIFY_TAG) {
        e->tag = draft.tag;
    }
    if (mask & (MODIFY_ACTION | MODIFY_DESTS)) {
        hold_dests(&draft);
        drop_dests(e);
        e->action = draft.action;
        e->num_dests = draft.num_dests;
        e->dests = g_steal_pointer(&draft.dests);
    }
    g_free(draft.dests);
}

MLX5_CMD_HANDLER(mlx5_cmd_set_fte)
{
    const uint8_t *ctx = MLX5_ADDR_OF(set_fte_in, cmd->in, flow_context);
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(set_fte_in, cmd->in);
    uint32_t index = MLX5_GET(set_fte_in, cmd->in, flow_index);
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;

    if (!mlx5_flow_table_where_ok(cmd, &where) ||
        !mlx5_check_param(cmd, cmd->op_mod <= 1, MLX5_SYND_FTE_OP_MOD) ||
        !mlx5_check_param(cmd, !MLX5_GET(set_fte_in, cmd->in,
                                         ignore_flow_level),
                          MLX5_SYND_FTE_IGNORE_LEVEL)) {
        return;
    }
    table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE,
                          MLX5_GET(set_fte_in, cmd->in, table_id),
                          MLX5_SYND_FTE_TABLE);
    if (!table) {
        return;
    }
    group = mlx5_flow_group_find(table, MLX5_GET(flow_context, ctx, group_id));
    if (!mlx5_check(cmd, group != NULL, MLX5_CMD_STAT_BAD_RES_ERR,
                    MLX5_SYND_FTE_GROUP) ||
        !mlx5_check(cmd, index >= group->start && index <= group->end,
                    MLX5_CMD_STAT_IX_ERR, MLX5_SYND_FTE_INDEX)) {
        return;
    }
    if (cmd->op_mod) {
        modify_entry(func, cmd, table, group, ctx);
    } else {
        create_entry(func, cmd, table, group, ctx);
    }
}

static Mlx5FlowGroup *group_of(const Mlx5FlowTable *table, uint32_t index)
{
    for (guint i = 0; i < table->groups->len; i++) {
        Mlx5FlowGroup *g = table->groups->pdata[i];

        if (index >= g->start && index <= g->end) {
            return g;
        }
    }
    return NULL;
}

MLX5_CMD_HANDLER(mlx5_cmd_delete_fte)
{
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(delete_fte_in, cmd->in);
    uint32_t index = MLX5_GET(delete_fte_in, cmd->in, flow_index);
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;
    Mlx5FlowEntry *e;

    if (!mlx5_flow_table_where_ok(cmd, &where)) {
        return;
    }
    table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE,
                          MLX5_GET(delete_fte_in, cmd->in, table_id),
                          MLX5_SYND_FTE_TABLE_DELETE);
    if (!table) {
        return;
    }
    group = group_of(table, index);
    e = group ? find(group, index) : NULL;
    if (mlx5_check(cmd, e != NULL, MLX5_CMD_STAT_BAD_RES_ERR,
                   MLX5_SYND_FTE_UNKNOWN_DELETE)) {
        g_ptr_array_remove(group->entries, e);
    }
}

static bool matches(const Mlx5Match *match, const Mlx5Match *mask,
                    const Mlx5Match *value)
{
    for (size_t i = 0; i < G_N_ELEMENTS(match->w); i++) {
        if ((match->w[i] & mask->w[i]) != value->w[i]) {
            return false;
        }
    }
    return true;
}

const Mlx5FlowEntry *mlx5_flow_table_lookup(const Mlx5FlowTable *table,
                                            const Mlx5Match *match)
{
    for (guint g = 0; g < table->groups->len; g++) {
        const Mlx5FlowGroup *group = table->groups->pdata[g];

        for (guint i = 0; i < group->entries->len; i++) {
            const Mlx5FlowEntry *e = group->entries->pdata[i];

            if (matches(match, &group->mask, &e->value)) {
                return e;
            }
        }
    }
    return NULL;
}
