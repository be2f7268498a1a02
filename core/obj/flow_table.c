/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow table commands; see flow_table.h. Left out: all types but those of the
 * NIC and of RDMA, software-owned tables, LAG (refused). A RoCE packet that
 * switches to the domain of the NIC is lost: inside the card it has no frame.
 */
#include "obj/flow_table.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

/* flow_table_context.table_miss_action */
enum { MISS_DEFAULT = 0, MISS_TABLE = 1, MISS_SWITCH_DOMAIN = 2 };
/* modify_flow_table_in.modify_field_select */
#define MODIFY_MISS_TABLE (1u << 0)

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(flow_table_context, sw_owner, FT_SW_OWNER),
    MLX5_ZERO(flow_table_context, termination_table, FT_TERMINATION),
    MLX5_ZERO(flow_table_context, rtc_valid, FT_RTC),
};

bool mlx5_flow_table_type_ok(const Mlx5Func *func, uint32_t type)
{
    return mlx5_flow_table_is_nic(type) ||
           (func->props.rdma_flow && (type == MLX5_FLOW_TABLE_TYPE_RDMA_RX ||
                                      type == MLX5_FLOW_TABLE_TYPE_RDMA_TX));
}

Mlx5FlowTable *mlx5_flow_table_find(Mlx5Func *func, Mlx5Cmd *cmd,
                                    const Mlx5FlowWhere *where, uint32_t id,
                                    uint32_t syndrome)
{
    Mlx5FlowTable *table = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_TABLE, id,
                                         syndrome);

    return table && mlx5_check(cmd, table->type == where->type,
                               MLX5_CMD_STAT_BAD_RES_ERR,
                               MLX5_SYND_FT_OTHER_TYPE) ? table : NULL;
}

bool mlx5_flow_table_where_ok(const Mlx5Func *func, Mlx5Cmd *cmd,
                              const Mlx5FlowWhere *where)
{
    return mlx5_check_param(cmd, mlx5_flow_table_type_ok(func, where->type),
                            MLX5_SYND_FT_TYPE) &&
           mlx5_check_param(cmd, !where->other_vport && !where->vport_number,
                            MLX5_SYND_FT_VPORT);
}

/* The miss link of @ctx. @level: of the table that will have it. */
static bool parse_miss(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                       const Mlx5FlowWhere *where, uint32_t level,
                       Mlx5FlowTable **miss)
{
    uint32_t action = MLX5_GET(flow_table_context, ctx, table_miss_action);

    *miss = NULL;
    if (action == MISS_DEFAULT ||
        (action == MISS_SWITCH_DOMAIN &&
         where->type == MLX5_FLOW_TABLE_TYPE_RDMA_RX)) {
        return true;
    }
    if (!mlx5_check_param(cmd, action == MISS_TABLE, MLX5_SYND_FT_MISS_ACTION)) {
        return false;
    }
    *miss = mlx5_flow_table_find(func, cmd, where,
                                 MLX5_GET(flow_table_context, ctx,
                                          table_miss_id),
                                 MLX5_SYND_FT_MISS_TABLE);
    return *miss && mlx5_check_param(cmd, (*miss)->level > level,
                                     MLX5_SYND_FT_MISS_LEVEL);
}

static bool switches_domain(const uint8_t *ctx)
{
    return MLX5_GET(flow_table_context, ctx, table_miss_action) ==
           MISS_SWITCH_DOMAIN;
}

MLX5_CMD_HANDLER(mlx5_cmd_create_flow_table)
{
    const uint8_t *ctx = MLX5_ADDR_OF(create_flow_table_in, cmd->in,
                                      flow_table_context);
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(create_flow_table_in, cmd->in);
    uint32_t level = MLX5_GET(flow_table_context, ctx, level);
    uint32_t log_size = MLX5_GET(flow_table_context, ctx, log_size);
    Mlx5FlowTable *table, *miss;

    if (!mlx5_flow_table_where_ok(func, cmd, &where) ||
        !mlx5_check_param(cmd, cmd->op_mod == 0, MLX5_SYND_FT_OP_MOD) ||
        !mlx5_check_zero(cmd, ctx, not_done, G_N_ELEMENTS(not_done)) ||
        !mlx5_check_param(cmd, level <= MLX5_MAX_FT_LEVEL,
                          MLX5_SYND_FT_LEVEL) ||
        !mlx5_check_param(cmd, log_size <= MLX5_LOG_MAX_FT_SIZE,
                          MLX5_SYND_FT_SIZE) ||
        !mlx5_check_param(cmd, where.type == MLX5_FLOW_TABLE_TYPE_NIC_RX ||
                          !MLX5_GET(flow_table_context, ctx, decap_en),
                          MLX5_SYND_FT_DECAP) ||
        !parse_miss(func, cmd, ctx, &where, level, &miss)) {
        return;
    }
    table = mlx5_obj_new(func, MLX5_OBJ_FLOW_TABLE, sizeof(*table), cmd->uid);
    if (!mlx5_check(cmd, table != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_FT_LIMIT)) {
        return;
    }
    table->type = where.type;
    table->reformat_en = MLX5_GET(flow_table_context, ctx, reformat_en);
    table->decap_en = MLX5_GET(flow_table_context, ctx, decap_en);
    table->level = level;
    table->log_size = log_size;
    table->miss = miss;
    table->switch_domain = switches_domain(ctx);
    table->groups = g_ptr_array_new_with_free_func(mlx5_flow_group_free);
    mlx5_obj_ref(miss);
    MLX5_SET(create_flow_table_out, cmd->out, table_id, table->o.id);
}

void mlx5_flow_table_release(void *obj)
{
    Mlx5FlowTable *table = obj;
    Mlx5Func *func = table->o.func;

    if (func->flow_root[table->type] == table) {
        func->flow_root[table->type] = NULL;
    }
    mlx5_obj_unref(table->miss);
    g_ptr_array_unref(table->groups);
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_flow_table)
{
    const uint8_t *ctx = MLX5_ADDR_OF(modify_flow_table_in, cmd->in,
                                      flow_table_context);
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(modify_flow_table_in, cmd->in);
    Mlx5FlowTable *table, *miss;

    if (!mlx5_flow_table_where_ok(func, cmd, &where) ||
        !mlx5_check_param(cmd, MLX5_GET(modify_flow_table_in, cmd->in,
                                        modify_field_select) ==
                          MODIFY_MISS_TABLE, MLX5_SYND_FT_MODIFY_MASK)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where,
                                 MLX5_GET(modify_flow_table_in, cmd->in,
                                          table_id),
                                 MLX5_SYND_FT_UNKNOWN_MODIFY);
    if (!table || !parse_miss(func, cmd, ctx, &where, table->level, &miss)) {
        return;
    }
    mlx5_obj_ref(miss);
    mlx5_obj_unref(table->miss);
    table->miss = miss;
    table->switch_domain = switches_domain(ctx);
}

/* A root may go (driver: fs_core.c update_root_ft_destroy): then there is none. */
MLX5_CMD_HANDLER(mlx5_cmd_destroy_flow_table)
{
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(destroy_flow_table_in, cmd->in);
    uint32_t id = MLX5_GET(destroy_flow_table_in, cmd->in, table_id);
    Mlx5FlowTable *table;

    if (!mlx5_flow_table_where_ok(func, cmd, &where)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where, id,
                                 MLX5_SYND_FT_UNKNOWN_DESTROY);
    if (table && mlx5_check(cmd, table->groups->len == 0,
                            MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                            MLX5_SYND_FT_HAS_GROUPS) &&
        mlx5_check(cmd, table->o.refs == 0, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                   MLX5_SYND_FT_BUSY)) {
        mlx5_obj_delete(table);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_query_flow_table)
{
    Mlx5FlowWhere where = {
        .type = MLX5_GET(query_flow_table_in, cmd->in, table_type),
    };
    Mlx5FlowTable *table;
    uint8_t *ctx = MLX5_ADDR_OF(query_flow_table_out, cmd->out,
                                flow_table_context);

    if (!mlx5_check_param(cmd, mlx5_flow_table_type_ok(func, where.type),
                          MLX5_SYND_FT_QUERY_TYPE)) {
        return;
    }
    table = mlx5_flow_table_find(func, cmd, &where,
                                 MLX5_GET(query_flow_table_in, cmd->in,
                                          table_id),
                                 MLX5_SYND_FT_UNKNOWN_QUERY);
    if (!table) {
        return;
    }
    MLX5_SET(flow_table_context, ctx, reformat_en, table->reformat_en);
    MLX5_SET(flow_table_context, ctx, decap_en, table->decap_en);
    MLX5_SET(flow_table_context, ctx, level, table->level);
    MLX5_SET(flow_table_context, ctx, log_size, table->log_size);
    if (table->miss) {
        MLX5_SET(flow_table_context, ctx, table_miss_action, MISS_TABLE);
        MLX5_SET(flow_table_context, ctx, table_miss_id, table->miss->o.id);
    }
    if (table->switch_domain) {
        MLX5_SET(flow_table_context, ctx, table_miss_action,
                 MISS_SWITCH_DOMAIN);
    }
}

/* op_mod 0 makes a table the root, 1 leaves none (driver: update_root_ft). */
MLX5_CMD_HANDLER(mlx5_cmd_set_flow_table_root)
{
    Mlx5FlowWhere where = MLX5_FLOW_WHERE(set_flow_table_root_in, cmd->in);
    Mlx5FlowTable *table = NULL;

    if (!mlx5_flow_table_where_ok(func, cmd, &where) ||
        !mlx5_check_param(cmd, cmd->op_mod <= 1, MLX5_SYND_FT_ROOT_OP_MOD) ||
        !mlx5_check_param(cmd, !MLX5_GET(set_flow_table_root_in, cmd->in,
                                         underlay_qpn),
                          MLX5_SYND_FT_ROOT_UNDERLAY)) {
        return;
    }
    if (cmd->op_mod == 0) {
        table = mlx5_flow_table_find(func, cmd, &where,
                                     MLX5_GET(set_flow_table_root_in, cmd->in,
                                              table_id),
                                     MLX5_SYND_FT_UNKNOWN_ROOT);
        if (!table) {
            return;
        }
    }
    func->flow_root[where.type] = table;
}
