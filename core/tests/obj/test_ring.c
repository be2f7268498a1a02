/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue memory: scattered pages, offsets, wrap, and lists that are too short.
 */
#include "obj/ring.h"
#include "tests/obj/obj_helper.h"

#define PAGES 5
#define OFFSET 192
#define SIZE (4 * 4096)

static const uint64_t scattered[PAGES] = {
    0x9000, 0x3000, 0x400000, 0x7000, 0x1f000,
};

static void fill_pas(uint8_t *pas)
{
    for (int i = 0; i < PAGES; i++) {
        mlx5_prm_set(pas + i * 8, 0, 64, scattered[i]);
    }
}

/* Where byte @at of the ring is, worked out the slow way. */
static uint64_t address_of(uint64_t at)
{
    uint64_t pos = OFFSET + at;

    return scattered[pos / 4096] + pos % 4096;
}

START_TEST(bytes_land_where_they_should)
{
    FakeHost *h = fake_host_new(NULL);
    uint8_t pas[PAGES * 8], in[200], out[200];
    Mlx5Ring r;

    fill_pas(pas);
    ck_assert(mlx5_ring_init(&r, h->func, pas, PAGES, 12, OFFSET, SIZE));
    for (size_t i = 0; i < sizeof(in); i++) {
        in[i] = i * 7 + 1;
    }
    /* Every position around every page boundary. */
    for (uint64_t at = 0; at + sizeof(in) <= SIZE; at += 61) {
        ck_assert(mlx5_ring_write(&r, at, in, sizeof(in)));
        for (size_t i = 0; i < sizeof(in); i++) {
            uint8_t b;

            fake_mem_read(h, address_of(at + i), &b, 1);
            ck_assert_uint_eq(b, in[i]);
        }
        ck_assert(mlx5_ring_read(&r, at, out, sizeof(out)));
        ck_assert_mem_eq(in, out, sizeof(in));
    }
    mlx5_ring_clear(&r);
    fake_host_free(h);
}
END_TEST

START_TEST(outside_is_refused)
{
    FakeHost *h = fake_host_new(NULL);
    uint8_t pas[PAGES * 8], buf[16] = { 0 };
    Mlx5Ring r;

    fill_pas(pas);
    ck_assert(mlx5_ring_init(&r, h->func, pas, PAGES, 12, OFFSET, SIZE));
    ck_assert(mlx5_ring_read(&r, SIZE - 16, buf, 16));
    ck_assert(!mlx5_ring_read(&r, SIZE - 15, buf, 16));
    ck_assert(!mlx5_ring_write(&r, SIZE - 15, buf, 16));
    ck_assert(!mlx5_ring_read(&r, UINT64_MAX - 3, buf, 16));
    ck_assert(!mlx5_ring_write(&r, UINT64_MAX - 3, buf, 16));
    ck_assert(!mlx5_ring_read_wrap(&r, 0, 8, 0, buf, 16));
    ck_assert(!mlx5_ring_read_wrap(&r, 0, 0, 0, buf, 16));
    h->ram_end = 0x8000;
    ck_assert(!mlx5_ring_read(&r, 0, buf, 16));
    ck_assert(!mlx5_ring_write(&r, 0, buf, 16));
    mlx5_ring_clear(&r);
    fake_host_free(h);
}
END_TEST

START_TEST(page_lists)
{
    FakeHost *h = fake_host_new(NULL);
    uint8_t pas[PAGES * 8];
    Mlx5Ring r;

    fill_pas(pas);
    ck_assert_uint_eq(mlx5_ring_pages_needed(SIZE, 0, 12), 4);
    ck_assert_uint_eq(mlx5_ring_pages_needed(SIZE, OFFSET, 12), 5);
    ck_assert_uint_eq(mlx5_ring_pages_needed(64, 0, 43), 1);
    /* Truncated at every length. */
    for (uint32_t n = 0; n < PAGES; n++) {
        ck_assert(!mlx5_ring_init(&r, h->func, pas, n, 12, OFFSET, SIZE));
        ck_assert_ptr_null(r.pages);
    }
    /* Offset not inside the page; page not aligned to its size. */
    ck_assert(!mlx5_ring_init(&r, h->func, pas, PAGES, 12, 4096, 64));
    ck_assert(!mlx5_ring_init(&r, h->func, pas, PAGES, 13, 0, 64));
    for (int bit = 0; bit < 12; bit++) {
        mlx5_prm_set(pas, 0, 64, scattered[0] | 1u << bit);
        ck_assert(!mlx5_ring_init(&r, h->func, pas, PAGES, 12, 0, 64));
    }
    /* More than any list can hold. */
    ck_assert(!mlx5_ring_init(&r, h->func, pas, PAGES, 12, 0,
                              UINT64_C(1) << 48));
    fake_host_free(h);
}
END_TEST

START_TEST(large_pages)
{
    FakeHost *h = fake_host_new(NULL);
    uint8_t pas[8], b = 0x5a, got;
    Mlx5Ring r;

    mlx5_prm_set(pas, 0, 64, 0x200000);
    ck_assert(mlx5_ring_init(&r, h->func, pas, 1, 21, 0x8000, 0x10000));
    ck_assert(mlx5_ring_write(&r, 0xffff, &b, 1));
    fake_mem_read(h, 0x200000 + 0x8000 + 0xffff, &got, 1);
    ck_assert_uint_eq(got, b);
    mlx5_ring_clear(&r);
    fake_host_free(h);
}
END_TEST

START_TEST(reads_wrap_in_a_part)
{
    FakeHost *h = fake_host_new(NULL);
    const uint64_t base = 4096 - 64, size = 4096;
    uint8_t pas[PAGES * 8], pattern[4096], out[256];
    Mlx5Ring r;

    fill_pas(pas);
    ck_assert(mlx5_ring_init(&r, h->func, pas, PAGES, 12, OFFSET, SIZE));
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = i ^ i >> 8;
    }
    ck_assert(mlx5_ring_write(&r, base, pattern, sizeof(pattern)));
    for (uint64_t at = 0; at < 3 * size; at += 37) {
        ck_assert(mlx5_ring_read_wrap(&r, base, size, at, out, sizeof(out)));
        for (size_t i = 0; i < sizeof(out); i++) {
            ck_assert_uint_eq(out[i], pattern[(at + i) % size]);
        }
    }
    mlx5_ring_clear(&r);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring");
    TCase *tc = tcase_create("ring");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, bytes_land_where_they_should);
    tcase_add_test(tc, outside_is_refused);
    tcase_add_test(tc, page_lists);
    tcase_add_test(tc, large_pages);
    tcase_add_test(tc, reads_wrap_in_a_part);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
