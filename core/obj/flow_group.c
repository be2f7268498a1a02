/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow groups: a range of indexes and what of a frame its entries look at;
 * see flow_table.h. Left out: match definers, all but the outer headers.
 */
#include "obj/flow_table.h"

#include "obj/check.h"

/* match_criteria_enable: bit n enables the n-th 64-byte part. */
#define ENABLE_OUTER 0x01
#define PARTS 7

/*
 * Which part each enable bit means (driver: mlx5_ifc.h): the parts stand in
 * the order of the bits.
 */
static bool other_parts_empty(const uint8_t *criteria, uint32_t enable)
{
    for (uint32_t part = 1; part < PARTS; part++) {
        const uint8_t *p = criteria + part * MLX5_MATCH_BYTES;

        for (uint32_t i = 0; enable >> part & 1 && i < MLX5_MATCH_BYTES; i++) {
            if (p[i]) {
                return false;
            }
        }
    }
    return true;
}

static bool parse_mask(Mlx5Cmd *cmd, Mlx5Match *mask)
{
    const uint8_t *criteria = MLX5_ADDR_OF(create_flow_group_in, cmd->in,
                                           match_criteria);
    uint32_t enable = MLX5_GET(create_flow_group_in, cmd->in,
                               match_criteria_enable);

    memset(mask, 0, sizeof(*mask));
    if (enable & ENABLE_OUTER) {
        memcpy(mask, criteria, sizeof(*mask));
    }
    return mlx5_check_param(cmd, enable >> PARTS == 0,
                            MLX5_SYND_FG_ENABLE) &&
           mlx5_check_param(cmd, other_parts_empty(criteria, enable),
                            MLX5_SYND_FG_PARTS) &&
           mlx5_check_param(cmd, mlx5_prm_reserved_set(
                                &mlx5_layout_fte_match_set_lyr_2_4, mask,
                                sizeof(*mask)) < 0 &&
                            !MLX5_GET(fte_match_set_lyr_2_4, mask,
                                      l4_type_ext),
                            MLX5_SYND_FG_MASK);
}

/* Where in table->groups a group that starts at @start belongs. */
static guint place(const Mlx5FlowTable *table, uint32_t start)
{
    guint at = 0;

    while (at < table->groups->len &&
           ((Mlx5FlowGroup *)table->groups->pdata[at])->start < start) {
        at++;
    }
    return at;
}

static bool range_free(const Mlx5FlowTable *table, uint32_t start,
                       uint32_t end)
{
    for (guint i = 0; i < table->groups->len; i++) {
        const Mlx5FlowGroup *g = table->groups->pdata[i];

        if (start <= g->end && g->start <= end) {
            return false;
        }
    }
    return true;
}

static bool check_range(Mlx5Cmd *cmd, const Mlx5FlowTable *table,
                        uint32_t start, uint32_t end)
{
    return mlx5_check_param(cmd, start <= end && end < 1u << table->log_size,
                            MLX5_SYND_FG_RANGE) &&
           mlx5_check(cmd, range_free(table, start, end),
                      MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_FG_OVERLAP);
}

MLX5_CMD_HANDLER(mlx5_cmd_create_flow_group)
{
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(create_flow_group_in, cmd->in);
    uint32_t start = MLX5_GET(create_flow_group_in, cmd->in, start_flow_index);
    uint32_t end = MLX5_GET(create_flow_group_in, cmd->in, end_flow_index);
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;
    Mlx5Match mask;

    if (!mlx5_flow_table_where_ok(cmd, &where) ||
        !mlx5_check_param(cmd, !MLX5_GET(create_flow_group_in, cmd->in,
                                         group_type) &&
                          !MLX5_GET(create_flow_group_in, cmd->in,
                                    match_definer_id), MLX5_SYND_FG_TYPE)) {
        return;
    }
    table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE,
                          MLX5_GET(create_flow_group_in, cmd->in, table_id),
                          MLX5_SYND_FG_TABLE);
    if (!table || !parse_mask(cmd, &mask) ||
        !check_range(cmd, table, start, end)) {
        return;
    }
    group = g_new0(Mlx5FlowGroup, 1);
    group->id = table->next_group_id++ & 0xffffff;
    group->start = start;
    group->end = end;
    group->mask = mask;
    group->entries = g_ptr_array_new_with_free_func(mlx5_flow_entry_free);
    g_ptr_array_insert(table->groups, place(table, start), group);
    MLX5_SET(create_flow_group_out, cmd->out, group_id, group->id);
}

void mlx5_flow_group_free(gpointer opaque)
{
    Mlx5FlowGroup *group = opaque;

    g_ptr_array_unref(group->entries);
    g_free(group);
}

Mlx5FlowGroup *mlx5_flow_group_find(Mlx5FlowTable *table, uint32_t id)
{
    for (guint i = 0; i < table->groups->len; i++) {
        Mlx5FlowGroup *g = table->groups->pdata[i];

        if (g->id == id) {
            return g;
        }
    }
    return NULL;
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_flow_group)
{
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(destroy_flow_group_in, cmd->in);
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;

    if (!mlx5_flow_table_where_ok(cmd, &where)) {
        return;
    }
    table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE,
                          MLX5_GET(destroy_flow_group_in, cmd->in, table_id),
                          MLX5_SYND_FG_TABLE_DESTROY);
    if (!table) {
        return;
    }
    group = mlx5_flow_group_find(table, MLX5_GET(destroy_flow_group_in,
                                                 cmd->in, group_id));
    if (mlx5_check(cmd, group != NULL, MLX5_CMD_STAT_BAD_RES_ERR,
                   MLX5_SYND_FG_UNKNOWN) &&
        mlx5_check(cmd, group->entries->len == 0,
                   MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                   MLX5_SYND_FG_HAS_ENTRIES)) {
        g_ptr_array_remove(table->groups, group);
    }
}
