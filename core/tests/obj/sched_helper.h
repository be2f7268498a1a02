/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of what is held back: rates and scheduling elements by command.
 */
#ifndef MLX5_TESTS_SCHED_HELPER_H
#define MLX5_TESTS_SCHED_HELPER_H

#include "obj/sched.h"
#include "tests/obj/obj_helper.h"

#define T_SCHED_NIC 3
#define T_SCHED_CTX(t) \
    ((t)->in + MLX5_BYTE_OFF(create_scheduling_element_in, scheduling_context))

static inline void t_rate_fill(TestCmd *t, uint32_t index, uint32_t kbps,
                               uint32_t burst)
{
    uint8_t *ctx = t->in + MLX5_BYTE_OFF(set_pp_rate_limit_in, ctx);

    memset(t, 0, sizeof(*t));
    MLX5_SET(set_pp_rate_limit_in, t->in, rate_limit_index, index);
    MLX5_SET(set_pp_rate_limit_context, ctx, rate_limit, kbps);
    MLX5_SET(set_pp_rate_limit_context, ctx, burst_upper_bound, burst);
}

#define T_RATE_LEN MLX5_ST_SZ_BYTES(set_pp_rate_limit_in)

/** Entry @index of the rate table; @burst bytes, 0 = the default. */
static inline void t_rate(FakeHost *h, uint32_t index, uint32_t kbps,
                          uint32_t burst)
{
    TestCmd t;

    t_rate_fill(&t, index, kbps, burst);
    t_ok(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN);
}

static inline void t_sched_fill(TestCmd *t, uint32_t parent, uint32_t type,
                                uint32_t share, uint32_t mbps)
{
    uint8_t *ctx = T_SCHED_CTX(t);

    memset(t, 0, sizeof(*t));
    MLX5_SET(create_scheduling_element_in, t->in, scheduling_hierarchy,
             T_SCHED_NIC);
    MLX5_SET(scheduling_context, ctx, element_type, type);
    MLX5_SET(scheduling_context, ctx, parent_element_id, parent);
    MLX5_SET(scheduling_context, ctx, bw_share, share);
    MLX5_SET(scheduling_context, ctx, max_average_bw, mbps);
}

#define T_SCHED_LEN MLX5_ST_SZ_BYTES(create_scheduling_element_in)
#define T_SCHED_ID_LEN MLX5_ST_SZ_BYTES(destroy_scheduling_element_in)

static inline uint32_t t_sched(FakeHost *h, uint32_t parent, uint32_t type,
                               uint32_t share, uint32_t mbps)
{
    TestCmd t;

    t_sched_fill(&t, parent, type, share, mbps);
    t_ok(h, &t, mlx5_cmd_create_scheduling_element, T_SCHED_LEN);
    return MLX5_GET(create_scheduling_element_out, t.out,
                    scheduling_element_id);
}

static inline uint32_t t_node(FakeHost *h, uint32_t parent, uint32_t share,
                              uint32_t mbps)
{
    return t_sched(h, parent, MLX5_SCHED_TSAR, share, mbps);
}

static inline uint32_t t_group(FakeHost *h, uint32_t parent, uint32_t share,
                               uint32_t mbps)
{
    return t_sched(h, parent, MLX5_SCHED_QUEUE_GROUP, share, mbps);
}

/** A command that names element @id: query, destroy, modify. */
static inline void t_sched_name(TestCmd *t, uint32_t id)
{
    memset(t, 0, sizeof(*t));
    MLX5_SET(destroy_scheduling_element_in, t->in, scheduling_hierarchy,
             T_SCHED_NIC);
    MLX5_SET(destroy_scheduling_element_in, t->in, scheduling_element_id, id);
}

/** Change the limit of element @id. */
static inline void t_sched_limit(FakeHost *h, uint32_t id, uint32_t mbps)
{
    TestCmd t;

    t_sched_name(&t, id);
    MLX5_SET(modify_scheduling_element_in, t.in, modify_bitmask, 2);
    MLX5_SET(scheduling_context, T_SCHED_CTX(&t), max_average_bw, mbps);
    t_ok(h, &t, mlx5_cmd_modify_scheduling_element, T_SCHED_LEN);
}

static inline void t_sched_destroy(FakeHost *h, uint32_t id)
{
    TestCmd t;

    t_sched_name(&t, id);
    t_ok(h, &t, mlx5_cmd_destroy_scheduling_element, T_SCHED_ID_LEN);
}

#endif
