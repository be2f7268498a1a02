/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow groups: a range of indexes and what of a frame its entries look at;
 * see flow_table.h. Left out: match definers, and what unmatched[] lists.
 */
#include "obj/flow_table.h"

#include "obj/check.h"

typedef struct Unmatched {
    uint8_t part;
    uint16_t bit_off, bits;
} Unmatched;

#define ROW(part, layout, field) \
    { MLX5_MATCH_##part, MLX5_BIT_OFF(layout, field), \
      MLX5_BIT_SZ(layout, field) }
/* Fields that have a place in the mask, but not in the frame's key. */
static const Unmatched unmatched[] = {
    ROW(OUTER, fte_match_set_lyr_2_4, l4_type_ext),
    ROW(INNER, fte_match_set_lyr_2_4, l4_type_ext),
    ROW(MISC, fte_match_set_misc, source_vhca_port),
    ROW(MISC, fte_match_set_misc, source_eswitch_owner_vhca_id),
    ROW(MISC, fte_match_set_misc, source_port),
    ROW(MISC, fte_match_set_misc, geneve_tlv_option_0_exist),
    ROW(MISC2, fte_match_set_misc2, psp_syndrome),
    ROW(MISC2, fte_match_set_misc2, macsec_syndrome),
    ROW(MISC2, fte_match_set_misc2, ipsec_syndrome),
    ROW(MISC2, fte_match_set_misc2, ipsec_next_header),
    ROW(MISC3, fte_match_set_misc3, geneve_tlv_option_0_data),
    ROW(MISC3, fte_match_set_misc3, gtpu_teid),
    ROW(MISC3, fte_match_set_misc3, gtpu_msg_type),
    ROW(MISC3, fte_match_set_misc3, gtpu_msg_flags),
    ROW(MISC3, fte_match_set_misc3, gtpu_dw_2),
    ROW(MISC3, fte_match_set_misc3, gtpu_first_ext_dw_0),
    ROW(MISC3, fte_match_set_misc3, gtpu_dw_0),
};
#undef ROW

/* Programmable samples, MACsec tags and raw tunnel headers are not read. */
#define PARTS_DONE (1u << MLX5_MATCH_OUTER | 1u << MLX5_MATCH_MISC | \
                    1u << MLX5_MATCH_INNER | 1u << MLX5_MATCH_MISC2 | \
                    1u << MLX5_MATCH_MISC3)

static const Mlx5Layout *const layouts[MLX5_MATCH_PARTS] = {
    [MLX5_MATCH_OUTER] = &mlx5_layout_fte_match_set_lyr_2_4,
    [MLX5_MATCH_MISC] = &mlx5_layout_fte_match_set_misc,
    [MLX5_MATCH_INNER] = &mlx5_layout_fte_match_set_lyr_2_4,
    [MLX5_MATCH_MISC2] = &mlx5_layout_fte_match_set_misc2,
    [MLX5_MATCH_MISC3] = &mlx5_layout_fte_match_set_misc3,
    [MLX5_MATCH_MISC4] = &mlx5_layout_fte_match_set_misc4,
    [MLX5_MATCH_MISC5] = &mlx5_layout_fte_match_set_misc5,
};

static bool is_zero(const uint8_t *p, size_t len)
{
    while (len && !*p) {
        p++;
        len--;
    }
    return !len;
}

/* Can everything that @mask sets in part @part be matched? */
static bool fields_ok(const uint8_t *mask, uint32_t part)
{
    if (mlx5_prm_reserved_set(layouts[part], mask, MLX5_MATCH_BYTES) >= 0) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(unmatched); i++) {
        if (unmatched[i].part == part &&
            mlx5_prm_get(mask, unmatched[i].bit_off, unmatched[i].bits)) {
            return false;
        }
    }
    return true;
}

/* The words of the key that @criteria looks at, into @group. */
static void take_words(const uint8_t *criteria, Mlx5FlowGroup *group)
{
    for (uint32_t w = 0; w < MLX5_MATCH_WORDS; w++) {
        uint64_t mask;

        memcpy(&mask, criteria + w * sizeof(mask), sizeof(mask));
        if (mask && (group->parts >> w / MLX5_MATCH_PART_WORDS & 1)) {
            group->word[group->num_words] = w;
            group->mask[group->num_words++] = mask;
        }
    }
}

/* SQ numbers are known of frames that are sent here. */
static bool source_sqn_ok(const uint8_t *criteria, uint32_t enable,
                          const Mlx5FlowTable *table)
{
    const uint8_t *misc = criteria + MLX5_MATCH_MISC * MLX5_MATCH_BYTES;

    return !(enable >> MLX5_MATCH_MISC & 1) ||
           !MLX5_GET(fte_match_set_misc, misc, source_sqn) ||
           table->type == MLX5_FLOW_TABLE_TYPE_NIC_TX;
}

static bool parse_mask(Mlx5Cmd *cmd, const Mlx5FlowTable *table,
                       Mlx5FlowGroup *group)
{
    const uint8_t *criteria = MLX5_ADDR_OF(create_flow_group_in, cmd->in,
                                           match_criteria);
    uint32_t enable = MLX5_GET(create_flow_group_in, cmd->in,
                               match_criteria_enable);

    if (!mlx5_check_param(cmd, enable >> MLX5_MATCH_PARTS == 0,
                          MLX5_SYND_FG_ENABLE) ||
        !mlx5_check_param(cmd, source_sqn_ok(criteria, enable, table),
                          MLX5_SYND_FG_SOURCE_SQN)) {
        return false;
    }
    for (uint32_t part = 0; part < MLX5_MATCH_PARTS; part++) {
        const uint8_t *mask = criteria + part * MLX5_MATCH_BYTES;

        if (!(enable >> part & 1) || is_zero(mask, MLX5_MATCH_BYTES)) {
            continue;
        }
        if (!mlx5_check_param(cmd, PARTS_DONE >> part & 1,
                              MLX5_SYND_FG_PARTS) ||
            !mlx5_check_param(cmd, fields_ok(mask, part),
                              MLX5_SYND_FG_MASK)) {
            return false;
        }
        group->parts |= 1u << part;
    }
    take_words(criteria, group);
    return true;
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
    Mlx5FlowGroup draft = { .start = start, .end = end };
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;

    if (!mlx5_flow_table_where_ok(func, cmd, &where) ||
        !mlx5_check_param(cmd, !MLX5_GET(create_flow_group_in, cmd->in,
                                         group_type) &&
                          !MLX5_GET(create_flow_group_in, cmd->in,
                                    match_definer_id), MLX5_SYND_FG_TYPE)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where,
                                 MLX5_GET(create_flow_group_in, cmd->in,
                                          table_id), MLX5_SYND_FG_TABLE);
    if (!table || !parse_mask(cmd, table, &draft) ||
        !check_range(cmd, table, start, end)) {
        return;
    }
    group = g_memdup2(&draft, sizeof(draft));
    group->id = table->next_group_id++ & 0xffffff;
    table->parts |= group->parts;
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

/* What the table's groups look at, all together. */
static void collect_parts(Mlx5FlowTable *table)
{
    table->parts = 0;
    for (guint i = 0; i < table->groups->len; i++) {
        table->parts |= ((Mlx5FlowGroup *)table->groups->pdata[i])->parts;
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_flow_group)
{
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(destroy_flow_group_in, cmd->in);
    Mlx5FlowTable *table;
    Mlx5FlowGroup *group;

    if (!mlx5_flow_table_where_ok(func, cmd, &where)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where,
                                 MLX5_GET(destroy_flow_group_in, cmd->in,
                                          table_id),
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
        collect_parts(table);
    }
}
