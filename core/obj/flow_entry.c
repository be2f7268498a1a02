/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow table entries and the look-up; see flow_table.h. What entries do is in
 * flow_action.c.
 */
#include "obj/flow_table.h"

#include "obj/check.h"

/* set_fte_in.modify_enable_mask, with op_mod 1 */
enum { MODIFY_ACTION = 1 << 0, MODIFY_TAG = 1 << 1, MODIFY_DESTS = 1 << 2,
       MODIFY_COUNTERS = 1 << 3 };
#define MODIFY_ALL \
    (MODIFY_ACTION | MODIFY_TAG | MODIFY_DESTS | MODIFY_COUNTERS)

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

void mlx5_flow_entry_free(gpointer opaque)
{
    Mlx5FlowEntry *e = opaque;

    mlx5_flow_act_drop(&e->act);
    g_free(e);
}

/* The words of @match, the value of a flow context, that @group looks at. */
static void take_value(const Mlx5FlowGroup *group, const uint8_t *match,
                       Mlx5FlowEntry *e)
{
    for (uint32_t i = 0; i < group->num_words; i++) {
        memcpy(&e->value[i], match + group->word[i] * sizeof(e->value[0]),
               sizeof(e->value[0]));
        e->value[i] &= group->mask[i];
    }
}

static void create_entry(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5FlowTable *table,
                         Mlx5FlowGroup *group, const uint8_t *ctx)
{
    uint32_t index = MLX5_GET(set_fte_in, cmd->in, flow_index);
    Mlx5FlowAct act;
    Mlx5FlowEntry *e;

    if (!mlx5_check(cmd, !find(group, index), MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                    MLX5_SYND_FTE_EXISTS) ||
        !mlx5_flow_act_parse(func, cmd, ctx, table, &act)) {
        return;
    }
    e = g_malloc0(sizeof(*e) + group->num_words * sizeof(e->value[0]));
    e->index = index;
    e->act = act;
    take_value(group, MLX5_ADDR_OF(flow_context, ctx, match_value), e);
    mlx5_flow_act_hold(&e->act);
    g_ptr_array_insert(group->entries, place(group, index), e);
}

/*
 * op_mod 1: the context is whole, the mask says what of it counts (driver:
 * mlx5_cmd_update_fte). All but the tag belong together.
 */
static void modify_entry(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5FlowTable *table,
                         Mlx5FlowGroup *group, const uint8_t *ctx)
{
    Mlx5FlowEntry *e = find(group, MLX5_GET(set_fte_in, cmd->in, flow_index));
    uint32_t mask = MLX5_GET(set_fte_in, cmd->in, modify_enable_mask);
    Mlx5FlowAct act;

    if (!mlx5_check(cmd, e != NULL, MLX5_CMD_STAT_BAD_RES_ERR,
                    MLX5_SYND_FTE_UNKNOWN_MODIFY) ||
        !mlx5_check_param(cmd, mask && !(mask & ~MODIFY_ALL),
                          MLX5_SYND_FTE_MODIFY_MASK) ||
        !mlx5_flow_act_parse(func, cmd, ctx, table, &act)) {
        return;
    }
    if (!(mask & MODIFY_TAG)) {
        act.tag = e->act.tag;
    }
    if (mask & ~MODIFY_TAG) {
        mlx5_flow_act_hold(&act);
        mlx5_flow_act_drop(&e->act);
        e->act = act;
    } else {
        e->act.tag = act.tag;
        g_free(act.dests);
        g_free(act.counters);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_set_fte)
{
    const uint8_t *ctx = MLX5_ADDR_OF(set_fte_in, cmd->in, flow_context);
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(set_fte_in, cmd->in);
    uint32_t index = MLX5_GET(set_fte_in, cmd->in, flow_index);
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;

    if (!mlx5_flow_table_where_ok(func, cmd, &where) ||
        !mlx5_check_param(cmd, cmd->op_mod <= 1, MLX5_SYND_FTE_OP_MOD) ||
        !mlx5_check_param(cmd, !MLX5_GET(set_fte_in, cmd->in,
                                         ignore_flow_level),
                          MLX5_SYND_FTE_IGNORE_LEVEL)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where,
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

    if (!mlx5_flow_table_where_ok(func, cmd, &where)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where,
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

static const Mlx5FlowEntry *lookup_group(const Mlx5FlowGroup *group,
                                         const Mlx5MatchKey *key)
{
    uint64_t want[MLX5_MATCH_WORDS];
    size_t bytes = group->num_words * sizeof(want[0]);

    for (uint32_t i = 0; i < group->num_words; i++) {
        want[i] = key->w[group->word[i]] & group->mask[i];
    }
    for (guint i = 0; i < group->entries->len; i++) {
        const Mlx5FlowEntry *e = group->entries->pdata[i];

        if (!memcmp(e->value, want, bytes)) {
            return e;
        }
    }
    return NULL;
}

const Mlx5FlowEntry *mlx5_flow_table_lookup(const Mlx5FlowTable *table,
                                            const Mlx5MatchKey *key)
{
    const Mlx5FlowEntry *e = NULL;

    for (guint g = 0; g < table->groups->len && !e; g++) {
        e = lookup_group(table->groups->pdata[g], key);
    }
    return e;
}
