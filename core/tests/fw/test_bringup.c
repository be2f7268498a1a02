/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The driver's way up and down, and that a second driver finds a fresh card.
 */
#include <stdlib.h>

#include "fw/fw.h"
#include "tests/fake_driver.h"

START_TEST(init_and_close)
{
    FakeHost *h = fake_host_new(NULL);
    FakeDriver *d = fake_driver_new(h);

    fake_driver_init_hca(d);
    ck_assert_int_eq(mlx5_fw_state(h->func), MLX5_HCA_RUN);
    ck_assert_uint_eq(mlx5_fw_pages_held(h->func), 8 + 64);
    fake_driver_close_hca(d);
    ck_assert_int_eq(mlx5_fw_state(h->func), MLX5_HCA_OFF);
    ck_assert_uint_eq(mlx5_fw_pages_held(h->func), 0);
    ck_assert_uint_eq(d->given_pages, 0);
    ck_assert_str_eq(h->guest_errors->str, "");
    fake_driver_free(d);
    fake_host_free(h);
}
END_TEST

START_TEST(kexec)
{
    FakeHost *h = fake_host_new(NULL);
    FakeDriver *d = fake_driver_new(h);

    fake_driver_init_hca(d);
    fake_driver_free(d);
    /* The next kernel finds a card that somebody left running. */
    d = fake_driver_new(h);
    ck_assert_int_eq(mlx5_fw_state(h->func), MLX5_HCA_OFF);
    ck_assert_uint_eq(mlx5_fw_pages_held(h->func), 0);
    fake_driver_init_hca(d);
    fake_driver_close_hca(d);
    fake_driver_free(d);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bringup");
    TCase *tc = tcase_create("bringup");
    SRunner *runner;
    int failed;

    tcase_add_test(tc, init_and_close);
    tcase_add_test(tc, kexec);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
