/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Number spaces: cyclic numbers, limits, owners, references, clearing; and the
 * objects that are a number and no more.
 */
#include "obj/limits.h"
#include "obj/table.h"
#include "tests/obj/obj_helper.h"

START_TEST(numbers_are_cyclic)
{
    FakeHost *h = fake_host_new(NULL);
    Mlx5Obj *a = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*a), 0);
    uint32_t last = a->id, wrong = 0, wraps = 0;

    mlx5_obj_delete(a);
    for (uint32_t i = 0; i < 2u << MLX5_LOG_MAX_PD; i++) {
        a = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*a), 0);
        wrong += a->id != last + 1 && a->id != 1;
        wraps += a->id == 1;
        wrong += mlx5_obj_get(h->func, MLX5_OBJ_PD, a->id) != a;
        last = a->id;
        mlx5_obj_delete(a);
        wrong += mlx5_obj_get(h->func, MLX5_OBJ_PD, last) != NULL;
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(wraps, 2);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PD), 0);
    fake_host_free(h);
}
END_TEST

START_TEST(full_space_finds_the_hole)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t made = 0, holes[] = { 1, 511, 512, 513, 4097, 65535 };
    Mlx5Obj *o;

    while ((o = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*o), 0))) {
        made++;
    }
    ck_assert_uint_eq(made, (1u << MLX5_LOG_MAX_PD) - 1);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PD), made);
    for (size_t i = 0; i < G_N_ELEMENTS(holes); i++) {
        mlx5_obj_delete(mlx5_obj_get(h->func, MLX5_OBJ_PD, holes[i]));
        o = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*o), 0);
        ck_assert_uint_eq(o->id, holes[i]);
        ck_assert_ptr_null(mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*o), 0));
    }
    fake_host_free(h);
}
END_TEST

START_TEST(every_type_has_its_numbers)
{
    FakeHost *h = fake_host_new(NULL);

    for (int t = 0; t < MLX5_OBJ_TYPE_COUNT; t++) {
        ck_assert_ptr_nonnull(mlx5_obj_type_name(t));
        /* Hostile numbers find nothing, wherever they lie. */
        ck_assert_ptr_null(mlx5_obj_get(h->func, t, 0xffffff));
        ck_assert_ptr_null(mlx5_obj_get(h->func, t, 0xffffffff));
        ck_assert_ptr_null(mlx5_obj_get(h->func, t, 0));
    }
    fake_host_free(h);
}
END_TEST

/*
 * Allocate to exhaustion, destroy, refuse to destroy twice, and others'. With
 * @busy 0 an object in use may be destroyed.
 */
static void number_object(TestHandler *alloc, TestHandler *dealloc,
                          Mlx5ObjType type, uint32_t total, uint32_t none_free,
                          uint32_t unknown, uint32_t busy)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t id = 0, in_order = 0;
    TestCmd t = { 0 };
    Mlx5Obj *o;

    for (uint32_t i = 0; i < total; i++) {
        uint32_t last = id;

        id = t_alloc(h, alloc);
        in_order += id > last;
    }
    ck_assert_uint_eq(in_order, total);
    t_refused(h, &t, alloc, 16, MLX5_CMD_STAT_NO_RES_ERR, none_free);
    o = mlx5_obj_get(h->func, type, id);
    mlx5_prm_set(t.in, 0x48, 24, id);
    if (busy) {
        mlx5_obj_ref(o);
        t_refused(h, &t, dealloc, 16, MLX5_CMD_STAT_BAD_RES_STATE_ERR, busy);
        mlx5_obj_unref(o);
    }
    o->uid = 7;
    t_run(h, &t, dealloc, 16, 8);
    ck_assert_uint_eq(t.c.syndrome, unknown);
    t_run(h, &t, dealloc, 16, 7);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    t_refused(h, &t, dealloc, 16, MLX5_CMD_STAT_BAD_RES_ERR, unknown);
    ck_assert_uint_eq(mlx5_obj_count(h->func, type), total - 1);
    fake_host_free(h);
}

START_TEST(uar)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t pages = mlx5_memic_bar_start(&h->func->props) >> 12;

    fake_host_free(h);
    number_object(mlx5_cmd_alloc_uar, mlx5_cmd_dealloc_uar, MLX5_OBJ_UAR,
                  pages - 8, MLX5_SYND_UAR_NONE_FREE, MLX5_SYND_UAR_UNKNOWN,
                  0);
}
END_TEST

START_TEST(pd)
{
    number_object(mlx5_cmd_alloc_pd, mlx5_cmd_dealloc_pd, MLX5_OBJ_PD,
                  (1u << MLX5_LOG_MAX_PD) - 1, MLX5_SYND_PD_NONE_FREE,
                  MLX5_SYND_PD_UNKNOWN, MLX5_SYND_PD_BUSY);
}
END_TEST

START_TEST(transport_domain)
{
    number_object(mlx5_cmd_alloc_transport_domain,
                  mlx5_cmd_dealloc_transport_domain, MLX5_OBJ_TRANSPORT_DOMAIN,
                  (1u << MLX5_LOG_MAX_TRANSPORT_DOMAIN) - 1,
                  MLX5_SYND_TD_NONE_FREE, MLX5_SYND_TD_UNKNOWN,
                  MLX5_SYND_TD_BUSY);
}
END_TEST

START_TEST(xrcd)
{
    number_object(mlx5_cmd_alloc_xrcd, mlx5_cmd_dealloc_xrcd, MLX5_OBJ_XRCD,
                  (1u << MLX5_LOG_MAX_XRCD) - 1, MLX5_SYND_XRCD_NONE_FREE,
                  MLX5_SYND_XRCD_UNKNOWN, MLX5_SYND_XRCD_BUSY);
}
END_TEST

START_TEST(reset_leaves_nothing)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);
    uint32_t eqn = t_eq(h, uar, 4, 1, t_ring(0), 0);
    uint32_t pd = t_alloc(h, mlx5_cmd_alloc_pd);

    t_cq(h, uar, eqn, 4, t_ring(1), 0x8000);
    mlx5_func_reset(h->func);
    for (int t = 0; t < MLX5_OBJ_TYPE_COUNT; t++) {
        ck_assert_uint_eq(mlx5_obj_count(h->func, t), 0);
    }
    /* As freshly made: numbers start over. */
    ck_assert_uint_eq(t_alloc(h, mlx5_cmd_alloc_uar), uar);
    ck_assert_uint_eq(t_alloc(h, mlx5_cmd_alloc_pd), pd);
    fake_host_free(h);
}
END_TEST

/* Retired: found no more, and gone with the last that names it. */
START_TEST(retired)
{
    FakeHost *h = fake_host_new(NULL);
    Mlx5Obj *o = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*o), 0);
    uint32_t id = o->id;

    mlx5_obj_ref(o);
    mlx5_obj_ref(o);
    mlx5_obj_retire(o);
    ck_assert_ptr_null(mlx5_obj_get(h->func, MLX5_OBJ_PD, id));
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PD), 1);
    /* Its number is not given meanwhile. */
    for (uint32_t i = 1; i < 1u << MLX5_LOG_MAX_PD; i++) {
        Mlx5Obj *other = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*o), 0);

        if (other) {
            ck_assert_uint_ne(other->id, id);
            mlx5_obj_delete(other);
        }
    }
    mlx5_obj_unref(o);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PD), 1);
    mlx5_obj_unref(o);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PD), 0);
    o = mlx5_obj_new(h->func, MLX5_OBJ_PD, sizeof(*o), 0);
    mlx5_obj_retire(o);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PD), 0);
    fake_host_free(h);
}
END_TEST

/* A page that is retired while a queue names it, and then all is reset. */
START_TEST(reset_while_retired)
{
    FakeHost *h = fake_host_new(NULL);
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);

    t_eq(h, uar, 4, 1, t_ring(0), 0);
    mlx5_obj_retire(mlx5_obj_get(h->func, MLX5_OBJ_UAR, uar));
    mlx5_func_reset(h->func);
    ck_assert_uint_eq(mlx5_obj_total(h->func), 0);
    ck_assert_uint_eq(t_alloc(h, mlx5_cmd_alloc_uar), uar);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tc = tcase_create("table");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, numbers_are_cyclic);
    tcase_add_test(tc, full_space_finds_the_hole);
    tcase_add_test(tc, every_type_has_its_numbers);
    tcase_add_test(tc, uar);
    tcase_add_test(tc, pd);
    tcase_add_test(tc, transport_domain);
    tcase_add_test(tc, xrcd);
    tcase_add_test(tc, reset_leaves_nothing);
    tcase_add_test(tc, retired);
    tcase_add_test(tc, reset_while_retired);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
