/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vendor-specific capability as lib/pci_vsc.c uses it: take the gateway,
 * choose a space, lock and unlock a semaphore; and what a careless user meets.
 */
#include <check.h>
#include <stdlib.h>

#include "tests/fake_host.h"

enum { CTRL = 0x4, COUNTER = 0x8, SEM = 0xc, ADDR = 0x10, DATA = 0x14 };

#define FLAG 0x80000000u
#define SW_RESET 0x20

static FakeHost *h;

static void start(void)
{
    h = fake_host_new(NULL);
}

static void stop(void)
{
    fake_host_free(h);
}

static uint32_t rd(unsigned reg)
{
    return mlx5_func_vsc_read(h->func, reg);
}

static void wr(unsigned reg, uint32_t value)
{
    mlx5_func_vsc_write(h->func, reg, value);
}

static void sem_write(uint32_t sem, uint32_t id)
{
    wr(DATA, id);
    wr(ADDR, sem | FLAG);
    ck_assert_uint_eq(rd(ADDR) & FLAG, 0);
}

static uint32_t sem_read(uint32_t sem)
{
    wr(ADDR, sem);
    ck_assert_uint_eq(rd(ADDR) & FLAG, FLAG);
    return rd(DATA);
}

START_TEST(gateway)
{
    uint32_t a = rd(COUNTER), b = rd(COUNTER);

    ck_assert_uint_ne(a, b);
    wr(SEM, a); /* an old value does not take it */
    ck_assert_uint_eq(rd(SEM), 0);
    wr(SEM, b);
    ck_assert_uint_eq(rd(SEM), b);
    wr(SEM, rd(COUNTER)); /* taken: a second user sees the first one's */
    ck_assert_uint_eq(rd(SEM), b);
    wr(SEM, 0);
    ck_assert_uint_eq(rd(SEM), 0);
}
END_TEST

START_TEST(spaces)
{
    wr(CTRL, 0xa);
    ck_assert_uint_eq(rd(CTRL) >> 29, 1);
    wr(CTRL, 0x7); /* the crash dump's space is not there */
    ck_assert_uint_eq(rd(CTRL) >> 29, 0);
    ck_assert_uint_eq(sem_read(SW_RESET), 0);
}
END_TEST

START_TEST(semaphore)
{
    wr(CTRL, 0xa);
    sem_write(SW_RESET, 7);
    ck_assert_uint_eq(sem_read(SW_RESET), 7);
    sem_write(SW_RESET, 9); /* held by 7 */
    ck_assert_uint_eq(sem_read(SW_RESET), 7);
    sem_write(SW_RESET, 0);
    sem_write(SW_RESET, 9);
    ck_assert_uint_eq(sem_read(SW_RESET), 9);
    mlx5_func_reset(h->func);
    wr(CTRL, 0xa);
    ck_assert_uint_eq(sem_read(SW_RESET), 0);
}
END_TEST

START_TEST(hostile)
{
    wr(CTRL, 0xa);
    sem_write(0x3ffffff0, 5); /* far outside the table */
    ck_assert_uint_eq(sem_read(0x3ffffff0), 0);
    ck_assert_uint_eq(rd(0x40), 0);
    wr(0x40, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vsc");
    TCase *tc = tcase_create("vsc");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, gateway);
    tcase_add_test(tc, spaces);
    tcase_add_test(tc, semaphore);
    tcase_add_test(tc, hostile);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
