/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of fw/: a host with a driver on it, and the runner.
 */
#ifndef MLX5_TESTS_FW_HELPER_H
#define MLX5_TESTS_FW_HELPER_H

#include <stdlib.h>

#include "fw/fw.h"
#include "tests/fake_driver.h"

/** A driver with INIT_HCA done, polling. */
static inline FakeDriver *t_running(void)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));

    fake_driver_init_hca(d);
    return d;
}

/** A driver with everything up, in event mode. */
static inline FakeDriver *t_up(void)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));

    fake_driver_up(d);
    return d;
}

static inline void t_free(FakeDriver *d)
{
    FakeHost *h = d->host;

    fake_driver_free(d);
    fake_host_free(h);
}

static inline int t_run_suite(const char *name, const TTest *const *tests,
                              size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tc, 60);
    for (size_t i = 0; i < n; i++) {
        tcase_add_test(tc, tests[i]);
    }
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/** main() of a test program: T_MAIN("name", test1, test2, ...). */
#define T_MAIN(name, ...)                                             \
    int main(void)                                                    \
    {                                                                 \
        const TTest *const tests[] = { __VA_ARGS__ };                 \
                                                                      \
        return t_run_suite(name, tests, G_N_ELEMENTS(tests));         \
    }

#endif
