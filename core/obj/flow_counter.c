/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow counter commands; see flow_counter.h. Left out: bulks by
 * flow_counter_bulk_log_size (not advertised), aging.
 */
#include "obj/flow_counter.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

#define INDEX_MASK ((1u << MLX5_FLOW_COUNTER_INDEX_LOG) - 1)
/* flow_counter_bulk: bit n asks for 128 << n counters. */
#define BULK_UNIT 128u
#define COUNTER_BYTES MLX5_ST_SZ_BYTES(traffic_counter)

static uint32_t number_of(const Mlx5FlowCounters *c)
{
    return c->o.id << MLX5_FLOW_COUNTER_INDEX_LOG;
}

MLX5_CMD_HANDLER(mlx5_cmd_alloc_flow_counter)
{
    uint32_t bulk = MLX5_GET(alloc_flow_counter_in, cmd->in,
                             flow_counter_bulk);
    uint32_t num = bulk ? bulk * BULK_UNIT : 1;
    Mlx5FlowCounters *c;

    if (!mlx5_check_param(cmd, !(bulk & (bulk - 1)), MLX5_SYND_FC_BULK) ||
        !mlx5_check_param(cmd, !MLX5_GET(alloc_flow_counter_in, cmd->in,
                                         flow_counter_bulk_log_size),
                          MLX5_SYND_FC_BULK_LOG) ||
        !mlx5_check(cmd, num <= MLX5_MAX_FLOW_COUNTERS - func->flow_counters,
                    MLX5_CMD_STAT_LIM_ERR, MLX5_SYND_FC_TOTAL)) {
        return;
    }
    c = mlx5_obj_new(func, MLX5_OBJ_FLOW_COUNTER, sizeof(*c), cmd->uid);
    if (!mlx5_check(cmd, c != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_FC_LIMIT)) {
        return;
    }
    c->num = num;
    c->counts = g_new0(Mlx5FlowCount, num);
    func->flow_counters += num;
    MLX5_SET(alloc_flow_counter_out, cmd->out, flow_counter_id, number_of(c));
}

void mlx5_flow_counter_release(void *obj)
{
    Mlx5FlowCounters *c = obj;

    c->o.func->flow_counters -= c->num;
    g_free(c->counts);
}

/* Only a bulk's first number stands for it. */
MLX5_CMD_HANDLER(mlx5_cmd_dealloc_flow_counter)
{
    uint32_t id = MLX5_GET(dealloc_flow_counter_in, cmd->in, flow_counter_id);

    if (mlx5_check(cmd, !(id & INDEX_MASK), MLX5_CMD_STAT_BAD_RES_ERR,
                   MLX5_SYND_FC_NOT_FIRST)) {
        mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_FLOW_COUNTER,
                             id >> MLX5_FLOW_COUNTER_INDEX_LOG,
                             MLX5_SYND_FC_UNKNOWN_DEALLOC, MLX5_SYND_FC_BUSY);
    }
}

Mlx5FlowCount *mlx5_flow_counter_find(Mlx5Func *func, Mlx5Cmd *cmd,
                                      uint32_t id, uint32_t syndrome,
                                      Mlx5FlowCounters **owner)
{
    Mlx5FlowCounters *c = mlx5_obj_find(func, cmd, MLX5_OBJ_FLOW_COUNTER,
                                        id >> MLX5_FLOW_COUNTER_INDEX_LOG,
                                        syndrome);

    if (!c || !mlx5_check(cmd, (id & INDEX_MASK) < c->num,
                          MLX5_CMD_STAT_BAD_RES_ERR, syndrome)) {
        return NULL;
    }
    *owner = c;
    return &c->counts[id & INDEX_MASK];
}

/* One counter into the answer. */
static void report(uint8_t *p, Mlx5FlowCount *c, bool clear)
{
    MLX5_SET(traffic_counter, p, packets, c->packets);
    MLX5_SET(traffic_counter, p, octets, c->octets);
    if (clear) {
        memset(c, 0, sizeof(*c));
    }
}

/*
 * num_of_counters 0 is one counter. A range may run past its bulk's end: what
 * nobody has reads zero (the driver rounds its ranges up, fs_counters.c).
 */
MLX5_CMD_HANDLER(mlx5_cmd_query_flow_counter)
{
    uint32_t first = MLX5_GET(query_flow_counter_in, cmd->in, flow_counter_id);
    uint32_t num = MLX5_GET(query_flow_counter_in, cmd->in, num_of_counters);
    bool clear = MLX5_GET(query_flow_counter_in, cmd->in, clear);
    uint32_t head = MLX5_ST_SZ_BYTES(query_flow_counter_out);
    Mlx5FlowCounters *owner;
    Mlx5FlowCount *c;

    num = MAX(num, 1);
    if (!mlx5_check_param(cmd, cmd->op_mod == 0, MLX5_SYND_FC_QUERY_OP_MOD) ||
        !mlx5_check_param(cmd, num <= 1u << MLX5_LOG_MAX_FLOW_COUNTER_BULK,
                          MLX5_SYND_FC_QUERY_COUNT) ||
        !mlx5_check(cmd, head + (uint64_t)num * COUNTER_BYTES <= cmd->out_len,
                    MLX5_CMD_STAT_BAD_OUTP_LEN_ERR, MLX5_SYND_FC_OUT_LEN)) {
        return;
    }
    c = mlx5_flow_counter_find(func, cmd, first, MLX5_SYND_FC_UNKNOWN_QUERY,
                               &owner);
    for (uint32_t i = 0; c && i < num && c < owner->counts + owner->num;
         i++, c++) {
        report(cmd->out + head + i * COUNTER_BYTES, c, clear);
    }
}
