/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of tags: order, masks, numbers, and the counts that make an entry
 * late; at the end against a model that does it the slow way.
 */
#include <check.h>
#include <stdlib.h>

#include <glib.h>

#include "obj/tm_list.h"

static uint32_t append(Mlx5TmList *l, uint32_t next, uint64_t tag,
                       uint64_t mask)
{
    Mlx5TmAppend a = { .next = next, .tag = tag, .mask = mask };
    uint32_t index = MLX5_TM_NONE;

    ck_assert_int_eq(mlx5_tm_list_append(l, &a, &index), MLX5_TM_OK);
    return index;
}

START_TEST(first_appended_matches_first)
{
    Mlx5TmList *l = mlx5_tm_list_new(3);

    ck_assert_uint_eq(mlx5_tm_list_match(l, 7), MLX5_TM_NONE);
    ck_assert_uint_eq(append(l, 5, 7, UINT64_MAX), 0);
    ck_assert_uint_eq(append(l, 2, 0, 0), 5); /* a wild card */
    ck_assert_uint_eq(append(l, 1, 7, 0xff), 2);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 7), 0);
    ck_assert_int_eq(l->entry[0].state, MLX5_TM_BUSY);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 7), 5);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 0xab07), 2);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 7), MLX5_TM_NONE);
    mlx5_tm_list_release(l, 0);
    ck_assert_int_eq(l->entry[0].state, MLX5_TM_FREE);
    mlx5_tm_list_free(l);
}
END_TEST

/* A tag with bits outside its mask is met by nothing. */
START_TEST(mask_is_applied_to_the_message)
{
    Mlx5TmList *l = mlx5_tm_list_new(2);

    append(l, 1, 0x1234, 0xff);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 0x1234), MLX5_TM_NONE);
    append(l, 2, UINT64_MAX, UINT64_MAX);
    ck_assert_uint_eq(mlx5_tm_list_match(l, UINT64_MAX >> 1), MLX5_TM_NONE);
    ck_assert_uint_eq(mlx5_tm_list_match(l, UINT64_MAX), 1);
    mlx5_tm_list_free(l);
}
END_TEST

START_TEST(refusals_change_nothing)
{
    Mlx5TmList *l = mlx5_tm_list_new(1);
    Mlx5TmAppend a = { .next = 2 };
    uint32_t index = 77;

    ck_assert_int_eq(mlx5_tm_list_append(l, &a, &index), MLX5_TM_BEYOND);
    ck_assert_uint_eq(l->first, MLX5_TM_NONE);
    append(l, 0, 1, 1); /* announces itself */
    a.next = 1;
    ck_assert_int_eq(mlx5_tm_list_append(l, &a, &index), MLX5_TM_IN_USE);
    ck_assert_uint_eq(l->append_next, 0);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 1), 0);
    /* Met, but not complete. */
    ck_assert_int_eq(mlx5_tm_list_append(l, &a, &index), MLX5_TM_IN_USE);
    ck_assert_int_eq(mlx5_tm_list_remove(l, 0), MLX5_TM_NOT_POSTED);
    ck_assert_int_eq(mlx5_tm_list_remove(l, 1), MLX5_TM_NOT_POSTED);
    ck_assert_int_eq(mlx5_tm_list_remove(l, 2), MLX5_TM_BEYOND);
    ck_assert_int_eq(mlx5_tm_list_remove(l, 0xffff), MLX5_TM_BEYOND);
    ck_assert_uint_eq(index, 77);
    mlx5_tm_list_release(l, 0);
    ck_assert_int_eq(mlx5_tm_list_append(l, &a, &index), MLX5_TM_OK);
    mlx5_tm_list_free(l);
}
END_TEST

START_TEST(late_until_counts_agree)
{
    Mlx5TmList *l = mlx5_tm_list_new(3);

    append(l, 1, 1, 0xff);
    mlx5_tm_list_unexpected(l, 1);
    append(l, 2, 2, 0xff);
    append(l, 3, 3, 0xff);
    /* What was there in time still matches. */
    ck_assert_uint_eq(mlx5_tm_list_match(l, 2), MLX5_TM_NONE);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 1), 0);
    mlx5_tm_list_sync(l, 2);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 2), MLX5_TM_NONE);
    /* The first late one goes; the next is as late. */
    ck_assert_int_eq(mlx5_tm_list_remove(l, 1), MLX5_TM_OK);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 3), MLX5_TM_NONE);
    mlx5_tm_list_sync(l, 1);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 3), 2);
    /* One that was counted is not delivered after all. */
    mlx5_tm_list_unexpected(l, 1);
    append(l, 4, 4, 0xff);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 4), MLX5_TM_NONE);
    mlx5_tm_list_unexpected(l, -1);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 4), 3);
    mlx5_tm_list_free(l);
}
END_TEST

START_TEST(counts_wrap)
{
    Mlx5TmList *l = mlx5_tm_list_new(1);

    for (uint32_t i = 0; i < 65536 + 3; i++) {
        mlx5_tm_list_unexpected(l, 1);
    }
    append(l, 1, 9, 0xff);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 9), MLX5_TM_NONE);
    mlx5_tm_list_sync(l, 3);
    ck_assert_uint_eq(mlx5_tm_list_match(l, 9), 0);
    mlx5_tm_list_free(l);
}
END_TEST

/* --- the same, slowly: an array in the order of appending --- */

#define LOG_SIZE 4
#define SIZE (1u << LOG_SIZE)

typedef struct Model {
    struct {
        uint32_t index;
        uint64_t tag, mask;
        bool late;
    } list[SIZE];
    uint32_t num, next;
    bool used[SIZE];
    uint16_t sw, hw;
} Model;

static void model_drop(Model *m, uint32_t at)
{
    m->num--;
    memmove(&m->list[at], &m->list[at + 1],
            (m->num - at) * sizeof(m->list[0]));
}

static void model_agree(Model *m)
{
    for (uint32_t i = 0; i < m->num && m->sw == m->hw; i++) {
        m->list[i].late = false;
    }
}

static uint32_t model_match(Model *m, uint64_t tag)
{
    for (uint32_t i = 0; i < m->num; i++) {
        if (!m->list[i].late && (tag & m->list[i].mask) == m->list[i].tag) {
            uint32_t index = m->list[i].index;

            model_drop(m, i);
            return index;
        }
    }
    return MLX5_TM_NONE;
}

static void both_append(Model *m, Mlx5TmList *l, GRand *r)
{
    Mlx5TmAppend a = { .next = g_rand_int_range(r, 0, SIZE + 1),
                       .mask = g_rand_int_range(r, 0, 8) };
    Mlx5TmResult want = MLX5_TM_OK;
    uint32_t index = MLX5_TM_NONE;

    a.tag = g_rand_int_range(r, 0, 8) & (a.mask | g_rand_int_range(r, 0, 2));
    if (a.next >= SIZE) {
        want = MLX5_TM_BEYOND;
    } else if (m->used[m->next]) {
        want = MLX5_TM_IN_USE;
    }
    ck_assert_int_eq(mlx5_tm_list_append(l, &a, &index), want);
    if (want != MLX5_TM_OK) {
        return;
    }
    ck_assert_uint_eq(index, m->next);
    m->used[m->next] = true;
    m->list[m->num].index = m->next;
    m->list[m->num].tag = a.tag;
    m->list[m->num].mask = a.mask;
    m->list[m->num++].late = m->sw != m->hw;
    m->next = a.next;
}

static void both_remove(Model *m, Mlx5TmList *l, uint32_t index)
{
    Mlx5TmResult want = index < SIZE ? MLX5_TM_NOT_POSTED : MLX5_TM_BEYOND;

    for (uint32_t i = 0; i < m->num; i++) {
        if (m->list[i].index == index) {
            model_drop(m, i);
            m->used[index] = false;
            want = MLX5_TM_OK;
            break;
        }
    }
    ck_assert_int_eq(mlx5_tm_list_remove(l, index), want);
}

static void both_match(Model *m, Mlx5TmList *l, uint64_t tag)
{
    uint32_t want = model_match(m, tag);

    ck_assert_uint_eq(mlx5_tm_list_match(l, tag), want);
    if (want == MLX5_TM_NONE) {
        m->hw++;
        mlx5_tm_list_unexpected(l, 1);
        model_agree(m);
    } else {
        m->used[want] = false;
        mlx5_tm_list_release(l, want);
    }
}

START_TEST(as_the_model)
{
    GRand *r = g_rand_new_with_seed(_i);
    Mlx5TmList *l = mlx5_tm_list_new(LOG_SIZE);
    Model m = { .num = 0 };

    for (uint32_t n = 0; n < 5000; n++) {
        switch (g_rand_int_range(r, 0, 4)) {
        case 0:
            both_append(&m, l, r);
            break;
        case 1:
            both_remove(&m, l, g_rand_int_range(r, 0, SIZE + 2));
            break;
        case 2:
            both_match(&m, l, g_rand_int_range(r, 0, 8));
            break;
        default:
            m.sw = m.hw - g_rand_int_range(r, 0, 2);
            mlx5_tm_list_sync(l, m.sw);
            model_agree(&m);
            break;
        }
        ck_assert_uint_eq(l->append_next, m.next);
    }
    mlx5_tm_list_free(l);
    g_rand_free(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tm_list");
    TCase *tc = tcase_create("tm_list");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, first_appended_matches_first);
    tcase_add_test(tc, mask_is_applied_to_the_message);
    tcase_add_test(tc, refusals_change_nothing);
    tcase_add_test(tc, late_until_counts_agree);
    tcase_add_test(tc, counts_wrap);
    tcase_add_loop_test(tc, as_the_model, 0, 20);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
