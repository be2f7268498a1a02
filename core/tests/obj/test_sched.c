/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rate table and scheduling elements: what commands make of them, who may
 * name them, and each refusal. What they do is in rdma/test_pace.c and
 * eth/test_pace.c.
 */
#include "fw/fw.h"
#include "obj/general.h"
#include "tests/fake_driver.h"
#include "tests/obj/sched_helper.h"

static void fails(FakeHost *h, TestCmd *t, TestHandler *handler, uint32_t len,
                  Mlx5Status status, uint32_t syndrome)
{
    t_refused(h, t, handler, len, status, syndrome);
}

#define CREATE_FAILS(h, t, status, synd)                                  \
    fails(h, t, mlx5_cmd_create_scheduling_element, T_SCHED_LEN,          \
          MLX5_CMD_STAT_##status, MLX5_SYND_##synd)

START_TEST(tree)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t root = t_node(h, 0, 0, 0), node = t_node(h, root, 7, 100);
    uint32_t group = t_group(h, node, 3, 10);
    uint8_t *ctx;
    TestCmd t;

    t_sched_name(&t, group);
    t_ok(h, &t, mlx5_cmd_query_scheduling_element, T_SCHED_ID_LEN);
    ctx = t.out + MLX5_BYTE_OFF(query_scheduling_element_out,
                                scheduling_context);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, element_type),
                      MLX5_SCHED_QUEUE_GROUP);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, parent_element_id),
                      node);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, bw_share), 3);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, max_average_bw), 10);
    /* What the mask does not name stays. */
    t_sched_limit(h, group, 20);
    t_sched_name(&t, group);
    t_ok(h, &t, mlx5_cmd_query_scheduling_element, T_SCHED_ID_LEN);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, bw_share), 3);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, max_average_bw), 20);
    /* From the leaves to the root, no other way. */
    t_sched_name(&t, node);
    fails(h, &t, mlx5_cmd_destroy_scheduling_element, T_SCHED_ID_LEN,
          MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_SCHED_BUSY);
    t_sched_destroy(h, group);
    t_sched_destroy(h, node);
    t_sched_destroy(h, root);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_SCHED_ELEMENT), 0);
    ck_assert_uint_eq(h->func->pacer->groups, 0);
    fake_host_free(h);
}
END_TEST

START_TEST(refusals)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t group = t_group(h, 0, 1, 0);
    TestCmd t;

    t_sched_fill(&t, 0, MLX5_SCHED_TSAR, 1, 0);
    MLX5_SET(create_scheduling_element_in, t.in, scheduling_hierarchy, 2);
    CREATE_FAILS(h, &t, BAD_PARAM_ERR, SCHED_HIERARCHY);
    t_sched_fill(&t, 0, 1, 1, 0);
    CREATE_FAILS(h, &t, BAD_PARAM_ERR, SCHED_TYPE);
    t_sched_fill(&t, 0, MLX5_SCHED_TSAR, 1, 0);
    MLX5_SET(tsar_element, MLX5_ADDR_OF(scheduling_context, T_SCHED_CTX(&t),
                                        element_attributes), tsar_type, 1);
    CREATE_FAILS(h, &t, BAD_PARAM_ERR, SCHED_TSAR_TYPE);
    t_sched_fill(&t, 0, MLX5_SCHED_TSAR, 1, 0);
    MLX5_SET(scheduling_context, T_SCHED_CTX(&t), max_bw_obj_id, 1);
    CREATE_FAILS(h, &t, BAD_PARAM_ERR, SCHED_MAX_BW_OBJ);
    t_sched_fill(&t, 999, MLX5_SCHED_TSAR, 1, 0);
    CREATE_FAILS(h, &t, BAD_RES_ERR, SCHED_PARENT);
    t_sched_fill(&t, group, MLX5_SCHED_QUEUE_GROUP, 1, 0);
    CREATE_FAILS(h, &t, BAD_PARAM_ERR, SCHED_PARENT_TYPE);
    t_sched_name(&t, 999);
    fails(h, &t, mlx5_cmd_query_scheduling_element, T_SCHED_ID_LEN,
          MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SCHED_UNKNOWN);
    t_sched_name(&t, group);
    MLX5_SET(modify_scheduling_element_in, t.in, modify_bitmask, 4);
    fails(h, &t, mlx5_cmd_modify_scheduling_element, T_SCHED_LEN,
          MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_SCHED_MODIFY_MASK);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_SCHED_ELEMENT), 1);
    fake_host_free(h);
}
END_TEST

START_TEST(limits)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t id = 0, last = 0;
    TestCmd t;

    for (unsigned i = 0; i < MLX5_SCHED_MAX_DEPTH; i++) {
        last = id = t_node(h, id, 1, 0);
    }
    t_sched_fill(&t, id, MLX5_SCHED_QUEUE_GROUP, 1, 0);
    CREATE_FAILS(h, &t, LIM_ERR, SCHED_DEPTH);
    for (unsigned i = 0; i < 1u << MLX5_LOG_MAX_QUEUE_GROUP; i++) {
        last = t_group(h, 0, 1, 0);
    }
    t_sched_fill(&t, 0, MLX5_SCHED_QUEUE_GROUP, 1, 0);
    CREATE_FAILS(h, &t, LIM_ERR, SCHED_GROUPS);
    t_sched_destroy(h, last);
    t_group(h, 0, 1, 0);
    while (mlx5_obj_count(h->func, MLX5_OBJ_SCHED_ELEMENT) <
           1u << MLX5_LOG_MAX_SCHED_ELEMENT) {
        t_node(h, 0, 1, 0);
    }
    t_sched_fill(&t, 0, MLX5_SCHED_TSAR, 1, 0);
    CREATE_FAILS(h, &t, LIM_ERR, SCHED_LIMIT);
    fake_host_free(h);
}
END_TEST

START_TEST(rates)
{
    FakeHost *h = fake_host_new(NULL);
    Mlx5Cmd c = { 0 };
    TestCmd t;

    t_rate_fill(&t, 0, 100, 0);
    fails(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN,
          MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_RATE_INDEX);
    t_rate_fill(&t, MLX5_RATE_TABLE_SIZE, 100, 0);
    fails(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN,
          MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_RATE_INDEX);
    t_rate_fill(&t, 1, MLX5_RATE_MAX_KBPS + 1, 0);
    fails(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN,
          MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_RATE_RANGE);
    /* Kernel's; shared; a user's, which is nobody else's. */
    t_rate(h, 1, 100, 0);
    t_rate_fill(&t, 2, 100, 0);
    t_run(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN, MLX5_SHARED_UID);
    t_rate_fill(&t, 3, 100, 0);
    t_run(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN, 5);
    for (c.uid = 0; c.uid <= 6; c.uid++) {
        for (uint32_t index = 0; index <= 4; index++) {
            bool ok = index == 0 || index == 2 ||
                      (index == 1 && c.uid == 0) ||
                      (index == 3 && (c.uid == 0 || c.uid == 5));

            c.status = 0;
            ck_assert_int_eq(mlx5_rate_check(h->func, &c, index,
                                             MLX5_SYND_QP_RATE_LIMIT), ok);
        }
    }
    ck_assert(!mlx5_rate_check(h->func, &c, MLX5_RATE_TABLE_SIZE,
                               MLX5_SYND_QP_RATE_LIMIT));
    /* Rate 0 clears. */
    t_rate(h, 1, 0, 0);
    c = (Mlx5Cmd){ 0 };
    ck_assert(!mlx5_rate_check(h->func, &c, 1, MLX5_SYND_QP_RATE_LIMIT));
    fake_host_free(h);
}
END_TEST

START_TEST(switched_off)
{
    Mlx5FuncProps p;
    FakeHost *h;
    TestCmd t;

    mlx5_func_props_default(&p);
    p.packet_pacing = p.qos_scheduling = false;
    h = fake_host_new(&p);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, qos), 0);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, general_obj_types) >> 0x26 & 1,
                      0);
    t_rate_fill(&t, 1, 100, 0);
    fails(h, &t, mlx5_cmd_set_pp_rate_limit, T_RATE_LEN,
          MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_RATE_OFF);
    t_sched_fill(&t, 0, MLX5_SCHED_TSAR, 1, 0);
    CREATE_FAILS(h, &t, BAD_OP_ERR, SCHED_OFF);
    t_sched_name(&t, 1);
    fails(h, &t, mlx5_cmd_destroy_scheduling_element, T_SCHED_ID_LEN,
          MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_SCHED_OFF);
    fake_host_free(h);
}
END_TEST

/* --- as general objects, by user contexts (libmlx5) --- */

#define HDR MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)
#define GENERAL_LEN (HDR + MLX5_ST_SZ_BYTES(sched_elem))

static void general(TestCmd *t, uint32_t id, uint32_t type, uint32_t parent,
                    uint64_t mask, uint32_t mbps)
{
    uint8_t *e = t->in + HDR, *ctx = MLX5_ADDR_OF(sched_elem, e, sched_context);

    memset(t, 0, sizeof(*t));
    MLX5_SET(general_obj_in_cmd_hdr, t->in, obj_type,
             MLX5_GENERAL_SCHED_ELEMENT);
    MLX5_SET(general_obj_in_cmd_hdr, t->in, obj_id, id);
    MLX5_SET(sched_elem, e, modify_field_select, mask);
    MLX5_SET(sched_elem, e, scheduling_hierarchy, T_SCHED_NIC);
    MLX5_SET(scheduling_context, ctx, element_type, type);
    MLX5_SET(scheduling_context, ctx, parent_element_id, parent);
    MLX5_SET(scheduling_context, ctx, max_average_bw, mbps);
    MLX5_SET(scheduling_context, ctx, bw_share, 4);
}

static uint32_t made_by(FakeHost *h, uint16_t uid, uint32_t type,
                        uint32_t parent)
{
    TestCmd t;

    general(&t, 0, type, parent, 3, 10);
    t_run(h, &t, mlx5_cmd_create_general_object, GENERAL_LEN, uid);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    return MLX5_GET(general_obj_out_cmd_hdr, t.out, obj_id);
}

START_TEST(general_object)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t node = made_by(h, 1, MLX5_SCHED_TSAR, 0);
    uint32_t group = made_by(h, 1, MLX5_SCHED_QUEUE_GROUP, node);
    const uint8_t *e, *ctx;
    Mlx5SchedElem *found;
    Mlx5Cmd c = { .uid = 2 };
    TestCmd t;

    general(&t, group, MLX5_SCHED_QUEUE_GROUP, 0, 2, 30);
    t_run(h, &t, mlx5_cmd_modify_general_object, GENERAL_LEN, 1);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    general(&t, group, 0, 0, 0, 0);
    t_run(h, &t, mlx5_cmd_query_general_object, HDR, 1);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    e = t.out + HDR;
    ctx = MLX5_ADDR_OF(sched_elem, e, sched_context);
    ck_assert_uint_eq(MLX5_GET(sched_elem, e, scheduling_hierarchy),
                      T_SCHED_NIC);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, max_average_bw), 30);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, bw_share), 4);
    ck_assert_uint_eq(MLX5_GET(scheduling_context, ctx, parent_element_id),
                      node);
    /* Another context may neither build on it nor put queues into it. */
    general(&t, 0, MLX5_SCHED_TSAR, node, 0, 0);
    t_run(h, &t, mlx5_cmd_create_general_object, GENERAL_LEN, 2);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_SCHED_PARENT);
    ck_assert(!mlx5_sched_find_group(h->func, &c, group,
                                     MLX5_SYND_QP_QUEUE_GROUP, &found));
    c = (Mlx5Cmd){ .uid = 1 };
    ck_assert(mlx5_sched_find_group(h->func, &c, group,
                                    MLX5_SYND_QP_QUEUE_GROUP, &found));
    ck_assert_uint_eq(found->o.id, group);
    /* A node holds no queues. */
    ck_assert(!mlx5_sched_find_group(h->func, &c, node,
                                     MLX5_SYND_QP_QUEUE_GROUP, &found));
    general(&t, group, 0, 0, 0, 0);
    t_run(h, &t, mlx5_cmd_destroy_general_object, HDR, 1);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(h);
}
END_TEST

/* Output that has no room for the element, by the whole command path. */
START_TEST(general_out_length)
{
    FakeHost *h = fake_host_new(NULL);
    FakeDriver *d = fake_driver_new(h);
    uint8_t out[HDR];
    uint32_t id;
    TestCmd t;

    fake_driver_up(d);
    id = made_by(h, 0, MLX5_SCHED_TSAR, 0);
    general(&t, id, 0, 0, 0, 0);
    mlx5_prm_set(t.in, 0, 16, MLX5_CMD_OP_QUERY_GENERAL_OBJECT);
    ck_assert(!fake_driver_cmd(d, t.in, HDR, out, sizeof(out)));
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_SCHED_OUT);
    fake_driver_free(d);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched");
    TCase *tc = tcase_create("sched");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, tree);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, rates);
    tcase_add_test(tc, switched_off);
    tcase_add_test(tc, general_object);
    tcase_add_test(tc, general_out_length);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
