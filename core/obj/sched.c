/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of scheduling elements (PRM: CREATE_SCHEDULING_ELEMENT ...; driver:
 * rl.c, qos.c, en/htb.c). libmlx5 makes the same elements as general objects
 * (mlx5dv_sched_node_create()); numbers and rules are the same for both.
 *
 * There is the hierarchy of the NIC alone: nodes that share by weight (TSAR of
 * type DWRR) and, as leaves, groups of queues. Left out: the hierarchy of the
 * e-switch, other ways of sharing, limits that elements have in common
 * (max_bw_obj_id).
 */
#include "obj/sched.h"

#include "obj/check.h"
#include "obj/general.h"

#define HIERARCHY_NIC 3
#define TSAR_TYPE_DWRR 0

/* modify_bitmask, and modify_field_select of the general object */
enum {
    MODIFY_BW_SHARE = 1 << 0,
    MODIFY_MAX_AVERAGE_BW = 1 << 1,
};

/* max_average_bw is in Mbit/s (driver: mlx5e_qos_bytes2mbits). */
#define KBPS_PER_UNIT UINT64_C(1000)

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(scheduling_context, max_bw_obj_id, SCHED_MAX_BW_OBJ),
};

static bool offered(const Mlx5Func *func, Mlx5Cmd *cmd, uint32_t hierarchy)
{
    return mlx5_check(cmd, func->props.qos_scheduling,
                      MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_SCHED_OFF) &&
           mlx5_check_param(cmd, hierarchy == HIERARCHY_NIC,
                            MLX5_SYND_SCHED_HIERARCHY);
}

static bool check_type(const Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx)
{
    const uint8_t *attr = MLX5_ADDR_OF(scheduling_context, ctx,
                                       element_attributes);

    switch (MLX5_GET(scheduling_context, ctx, element_type)) {
    case MLX5_SCHED_TSAR:
        return mlx5_check_param(cmd, MLX5_GET(tsar_element, attr, tsar_type) ==
                                TSAR_TYPE_DWRR, MLX5_SYND_SCHED_TSAR_TYPE);
    case MLX5_SCHED_QUEUE_GROUP:
        return mlx5_check(cmd, func->pacer->groups <
                          1u << MLX5_LOG_MAX_QUEUE_GROUP,
                          MLX5_CMD_STAT_LIM_ERR, MLX5_SYND_SCHED_GROUPS);
    default:
        return mlx5_check_param(cmd, false, MLX5_SYND_SCHED_TYPE);
    }
}

static Mlx5SchedElem *find_parent(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t id)
{
    Mlx5SchedElem *parent = &func->pacer->top;

    if (id) {
        parent = mlx5_obj_find(func, cmd, MLX5_OBJ_SCHED_ELEMENT, id,
                               MLX5_SYND_SCHED_PARENT);
    }
    if (!parent ||
        !mlx5_check_param(cmd, parent->type == MLX5_SCHED_TSAR,
                          MLX5_SYND_SCHED_PARENT_TYPE) ||
        !mlx5_check(cmd, parent->depth < MLX5_SCHED_MAX_DEPTH,
                    MLX5_CMD_STAT_LIM_ERR, MLX5_SYND_SCHED_DEPTH)) {
        return NULL;
    }
    return parent;
}

static void set_limit(Mlx5SchedElem *e, uint32_t max_average_bw)
{
    e->limit.kbps = max_average_bw * KBPS_PER_UNIT;
    e->limit.burst_ns = MLX5_PACE_BURST_NS;
    e->limit.ready_ns = 0; /* what was sent at another limit is settled */
    MLX5_SET(scheduling_context, e->ctx, max_average_bw, max_average_bw);
}

static void set_share(Mlx5SchedElem *e, uint32_t share)
{
    e->share = share;
    MLX5_SET(scheduling_context, e->ctx, bw_share, share);
}

/* Return: the new element; NULL: refused. */
static Mlx5SchedElem *create(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t hierarchy,
                             const uint8_t *ctx)
{
    Mlx5SchedElem *parent, *e;

    if (!offered(func, cmd, hierarchy) || !check_type(func, cmd, ctx) ||
        !mlx5_check_zero(cmd, ctx, not_done, G_N_ELEMENTS(not_done))) {
        return NULL;
    }
    parent = find_parent(func, cmd, MLX5_GET(scheduling_context, ctx,
                                             parent_element_id));
    if (!parent) {
        return NULL;
    }
    e = mlx5_obj_new(func, MLX5_OBJ_SCHED_ELEMENT, sizeof(*e), cmd->uid);
    if (!mlx5_check(cmd, e != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_SCHED_LIMIT)) {
        return NULL;
    }
    memcpy(e->ctx, ctx, sizeof(e->ctx));
    e->type = MLX5_GET(scheduling_context, ctx, element_type);
    e->parent = parent;
    e->depth = parent->depth + 1;
    mlx5_obj_ref(parent);
    set_share(e, MLX5_GET(scheduling_context, ctx, bw_share));
    set_limit(e, MLX5_GET(scheduling_context, ctx, max_average_bw));
    func->pacer->groups += e->type == MLX5_SCHED_QUEUE_GROUP;
    return e;
}

void mlx5_sched_release(void *obj)
{
    Mlx5SchedElem *e = obj;

    e->o.func->pacer->groups -= e->type == MLX5_SCHED_QUEUE_GROUP;
    mlx5_obj_unref(e->parent);
}

static void modify(Mlx5SchedElem *e, Mlx5Cmd *cmd, uint64_t mask,
                   const uint8_t *ctx)
{
    if (!mlx5_check_param(cmd, !(mask & ~(uint64_t)(MODIFY_BW_SHARE |
                                                    MODIFY_MAX_AVERAGE_BW)),
                          MLX5_SYND_SCHED_MODIFY_MASK)) {
        return;
    }
    if (mask & MODIFY_BW_SHARE) {
        set_share(e, MLX5_GET(scheduling_context, ctx, bw_share));
    }
    if (mask & MODIFY_MAX_AVERAGE_BW) {
        set_limit(e, MLX5_GET(scheduling_context, ctx, max_average_bw));
    }
    mlx5_pacer_changed(e->o.func);
}

bool mlx5_sched_find_group(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t id,
                           uint32_t syndrome, Mlx5SchedElem **group)
{
    *group = NULL;
    if (!id) {
        return true;
    }
    *group = mlx5_obj_find(func, cmd, MLX5_OBJ_SCHED_ELEMENT, id, syndrome);
    return *group && mlx5_check(cmd, (*group)->type == MLX5_SCHED_QUEUE_GROUP,
                                MLX5_CMD_STAT_BAD_RES_ERR, syndrome);
}

/* --- commands of their own --- */

MLX5_CMD_HANDLER(mlx5_cmd_create_scheduling_element)
{
    Mlx5SchedElem *e = create(func, cmd,
        MLX5_GET(create_scheduling_element_in, cmd->in, scheduling_hierarchy),
        MLX5_ADDR_OF(create_scheduling_element_in, cmd->in,
                     scheduling_context));

    if (e) {
        MLX5_SET(create_scheduling_element_out, cmd->out,
                 scheduling_element_id, e->o.id);
    }
}

/* All that name an element have its number and hierarchy in one place. */
static Mlx5SchedElem *find(Mlx5Func *func, Mlx5Cmd *cmd)
{
    if (!offered(func, cmd, MLX5_GET(destroy_scheduling_element_in, cmd->in,
                                     scheduling_hierarchy))) {
        return NULL;
    }
    return mlx5_obj_find(func, cmd, MLX5_OBJ_SCHED_ELEMENT,
                         MLX5_GET(destroy_scheduling_element_in, cmd->in,
                                  scheduling_element_id),
                         MLX5_SYND_SCHED_UNKNOWN);
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_scheduling_element)
{
    Mlx5SchedElem *e = find(func, cmd);

    if (e) {
        modify(e, cmd, MLX5_GET(modify_scheduling_element_in, cmd->in,
                                modify_bitmask),
               MLX5_ADDR_OF(modify_scheduling_element_in, cmd->in,
                            scheduling_context));
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_query_scheduling_element)
{
    Mlx5SchedElem *e = find(func, cmd);

    if (e) {
        memcpy(MLX5_ADDR_OF(query_scheduling_element_out, cmd->out,
                            scheduling_context), e->ctx, sizeof(e->ctx));
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_scheduling_element)
{
    Mlx5SchedElem *e = find(func, cmd);

    if (e && mlx5_check(cmd, !e->o.refs, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                        MLX5_SYND_SCHED_BUSY)) {
        mlx5_obj_delete(e);
    }
}

/* --- the general object --- */

/* Its part of a command begins behind the header. */
#define BODY_OFF MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)

static uint32_t general_create(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *in = cmd->in + BODY_OFF;
    Mlx5SchedElem *e = create(func, cmd,
                              MLX5_GET(sched_elem, in, scheduling_hierarchy),
                              MLX5_ADDR_OF(sched_elem, in, sched_context));

    return e ? e->o.id : 0;
}

static void general_modify(void *obj, Mlx5Cmd *cmd)
{
    const uint8_t *in = cmd->in + BODY_OFF;

    modify(obj, cmd, MLX5_GET(sched_elem, in, modify_field_select),
           MLX5_ADDR_OF(sched_elem, in, sched_context));
}

static void general_query(void *obj, Mlx5Cmd *cmd)
{
    const Mlx5SchedElem *e = obj;
    uint8_t *out = cmd->out + BODY_OFF;

    if (mlx5_check(cmd, cmd->out_len >= BODY_OFF + MLX5_ST_SZ_BYTES(sched_elem),
                   MLX5_CMD_STAT_BAD_OUTP_LEN_ERR, MLX5_SYND_SCHED_OUT)) {
        MLX5_SET(sched_elem, out, scheduling_hierarchy, HIERARCHY_NIC);
        memcpy(MLX5_ADDR_OF(sched_elem, out, sched_context), e->ctx,
               sizeof(e->ctx));
    }
}

static uint32_t same_number(uint32_t obj_id)
{
    return obj_id;
}

const Mlx5GeneralType mlx5_general_sched_element = {
    .obj_type = MLX5_GENERAL_SCHED_ELEMENT,
    .space = MLX5_OBJ_SCHED_ELEMENT,
    .in_bytes = BODY_OFF + MLX5_ST_SZ_BYTES(sched_elem),
    .to_number = same_number,
    .create = general_create,
    .modify = general_modify,
    .query = general_query,
};
