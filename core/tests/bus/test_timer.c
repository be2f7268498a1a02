/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers fire in order of their deadlines, once, and not after a cancel.
 */
#include <check.h>
#include <stdlib.h>

#include "bus/func.h"
#include "tests/fake_host.h"

#define N 200

typedef struct Shot {
    Mlx5Timer timer;
    FakeHost *host;
    GArray *log;             /* int64_t deadlines, as they fired */
} Shot;

static void fire(void *opaque)
{
    Shot *s = opaque;

    g_array_append_val(s->log, s->timer.deadline_ns);
}

START_TEST(order_and_cancel)
{
    FakeHost *h = fake_host_new(NULL);
    GArray *log = g_array_new(false, false, sizeof(int64_t));
    Shot *s = g_new0(Shot, N);
    unsigned alive = 0;

    mlx5_func_lock(h->func);
    for (int i = 0; i < N; i++) {
        s[i] = (Shot){ .host = h, .log = log };
        mlx5_timer_init(&s[i].timer, fire, &s[i]);
        mlx5_timer_arm(h->func, &s[i].timer,
                       h->now_ns + 1000 + (i * 7919) % 100000);
    }
    for (int i = 0; i < N; i += 3) {
        mlx5_timer_cancel(h->func, &s[i].timer);
        ck_assert(!mlx5_timer_armed(&s[i].timer));
    }
    mlx5_func_unlock(h->func);
    for (int i = 0; i < N; i++) {
        alive += mlx5_timer_armed(&s[i].timer);
    }
    fake_host_advance(h, 1000000);
    ck_assert_uint_eq(log->len, alive);
    for (guint i = 1; i < log->len; i++) {
        ck_assert(g_array_index(log, int64_t, i - 1) <=
                  g_array_index(log, int64_t, i));
    }
    fake_host_advance(h, 1000000);
    ck_assert_uint_eq(log->len, alive);
    g_array_unref(log);
    g_free(s);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timer");
    TCase *tc = tcase_create("timer");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, order_and_cancel);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
