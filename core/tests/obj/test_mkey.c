/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory keys: what the commands refuse, and what each check of an access lets
 * through, by mode, right, domain, bounds, page size and misalignment.
 */
#include "tests/obj/mkey_helper.h"

static FakeHost *h;
static uint32_t pdn;

static void setup(void)
{
    h = fake_host_new(NULL);
    pdn = t_alloc(h, mlx5_cmd_alloc_pd);
}

static void teardown(void)
{
    fake_host_free(h);
}

static Mlx5MkeyResult resolve(uint32_t key, uint64_t va, uint64_t len,
                              uint32_t access, Mlx5Ranges *ranges)
{
    Mlx5MkeyUser user = t_user(pdn);

    mlx5_ranges_clear(ranges);
    return mlx5_mkey_resolve(h->func, &user, key, va, len, access, ranges);
}

static Mlx5Ranges *ranges_new(void)
{
    return mlx5_ranges_new();
}

#define RANGE(a, i) a->data[i]

/* ---- commands ---- */

static void base(TestCmd *t, Mlx5MkeyMode mode)
{
    memset(t, 0, sizeof(*t));
    t_mkc(T_MKC(t), mode, pdn, 0x10000, 0x2000, T_ALL_ACCESS);
}

static void refused(TestCmd *t, uint32_t in_len, uint32_t syndrome)
{
    t_refused(h, t, mlx5_cmd_create_mkey, in_len, MLX5_CMD_STAT_BAD_PARAM_ERR,
              syndrome);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_MKEY), 0);
}

/* What the host's memory can bear, across all keys; and it is given back. */
START_TEST(translation_budget)
{
    uint64_t before = h->func->xlt_bytes;
    uint32_t key;
    TestCmd t;

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    h->func->xlt_bytes = MLX5_XLT_BUDGET_BYTES - 1;
    t_refused(h, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 1, 1),
              MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_MKEY_XLT_MEMORY);
    h->func->xlt_bytes = before;
    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    key = t_mkey_create(h, &t, t_mkey_len(&t, 1, 1));
    ck_assert_uint_gt(h->func->xlt_bytes, before);
    mlx5_obj_delete(mlx5_mkey_find(h->func, key));
    ck_assert_uint_eq(h->func->xlt_bytes, before);
}
END_TEST

START_TEST(create_refuses)
{
    TestCmd t;

    base(&t, MLX5_MKC_ACCESS_MODE_PA);
    MLX5_SET(mkc, T_MKC(&t), access_mode_4_2, 1);
    refused(&t, t_mkey_len(&t, 1, 1), MLX5_SYND_MKEY_MODE);

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, T_MKC(&t), len, UINT64_MAX);
    refused(&t, t_mkey_len(&t, 1, 1), MLX5_SYND_MKEY_RANGE);

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, T_MKC(&t), bsf_en, 1);
    refused(&t, t_mkey_len(&t, 1, 1), MLX5_SYND_MKEY_BSF_MISSING);

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    refused(&t, t_mkey_len(&t, 1, 2), MLX5_SYND_MKEY_XLT_ACTUAL);

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    refused(&t, t_mkey_len(&t, 2, 2) - 1, MLX5_SYND_MKEY_XLT_INPUT);
    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    t_mkey_len(&t, UINT32_MAX, UINT32_MAX);
    refused(&t, MLX5_ST_SZ_BYTES(create_mkey_in), MLX5_SYND_MKEY_XLT_INPUT);

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, T_MKC(&t), pd, pdn + 1);
    t_refused(h, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 1, 1),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MKEY_PD);
}
END_TEST

/* Page sizes are judged when the key is enabled, not while it is free. */
START_TEST(create_page_sizes)
{
    static const Mlx5MkeyMode modes[] = { MLX5_MKC_ACCESS_MODE_MTT,
                                          MLX5_MKC_ACCESS_MODE_KSM };
    static const uint32_t low[] = { 12, 4 }, high[] = { 31, 62 };
    TestCmd t;

    for (uint32_t m = 0; m < 2; m++) {
        for (uint32_t log = 0; log < 64; log++) {
            /* 2^61: the driver's key of one page that is never there. */
            bool good = (log >= low[m] && log <= high[m]) || log == 61;

            base(&t, modes[m]);
            MLX5_SET(mkc, T_MKC(&t), len, 1);
            MLX5_SET(mkc, T_MKC(&t), log_page_size, log);
            t_run(h, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 4, 0), 0);
            ck_assert_uint_eq(t.c.syndrome,
                              good ? 0 : MLX5_SYND_MKEY_PAGE_SIZE);
            MLX5_SET(mkc, T_MKC(&t), free, 1);
            t_ok(h, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 4, 0));
        }
    }
}
END_TEST

/* Entries for every page, the last and the first one partly used. */
START_TEST(create_translation_size)
{
    static const struct {
        uint64_t start, len;
        uint32_t octowords;
        bool good;
    } rows[] = {
        { 0, 0x8000, 4, true },      /* 8 pages, 8 entries */
        { 0, 0x8001, 4, false },
        { 0xfff, 0x7001, 4, true },
        { 0xfff, 0x7002, 4, false },
        { 0, 0x8000, 1, true },      /* rounded up to 64 bytes */
        { 0, 0x8001, 1, false },
        { 0, 0x10000, 5, true },
        { 1, 0, 0, true },
        { 0, UINT64_MAX, 1u << 20, false },
        { 0xfff, UINT64_MAX - 0xfff, 1u << 20, false },
    };
    TestCmd t;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        base(&t, MLX5_MKC_ACCESS_MODE_MTT);
        MLX5_SET(mkc, T_MKC(&t), start_addr, rows[i].start);
        MLX5_SET(mkc, T_MKC(&t), len, rows[i].len);
        t_run(h, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, rows[i].octowords, 0),
              0);
        ck_assert_msg(t.c.syndrome ==
                          (rows[i].good ? 0 : MLX5_SYND_MKEY_XLT_SIZE),
                      "row %zu: 0x%x", i, t.c.syndrome);
    }
}
END_TEST

START_TEST(query_and_destroy)
{
    static const uint64_t pages[] = { 0x5000, 0x9000, 0x3000 };
    TestCmd t = { 0 };
    uint32_t key = t_mkey_mtt(h, pdn, 0x1000, 0x3000, 12, T_ALL_ACCESS, pages,
                              3);
    const uint8_t *xlt = MLX5_ADDR_OF(query_mkey_out, t.out,
                                      bsf0_klm0_pas_mtt0_1);

    MLX5_SET(query_mkey_in, t.in, mkey_index, key >> 8);
    t_ok(h, &t, mlx5_cmd_query_mkey, MLX5_ST_SZ_BYTES(query_mkey_in));
    ck_assert_uint_eq(MLX5_GET(mkc, MLX5_ADDR_OF(query_mkey_out, t.out,
                                                 memory_key_mkey_entry),
                               start_addr), 0x1000);
    ck_assert_uint_eq(mlx5_prm_get(xlt, 128, 64) & ~0xfffull, 0x3000);

    /* The domain is in use as long as the key is. */
    T_DESTROY(h, &t, mlx5_cmd_dealloc_pd, dealloc_pd_in, pd, pdn);
    ck_assert_uint_ne(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(h, &t, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              key >> 8);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(h, &t, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              key >> 8);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_MKEY_DESTROY_UNKNOWN);
    T_DESTROY(h, &t, mlx5_cmd_query_mkey, query_mkey_in, mkey_index, key >> 8);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_MKEY_QUERY_UNKNOWN);
    T_DESTROY(h, &t, mlx5_cmd_dealloc_pd, dealloc_pd_in, pd, pdn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
}
END_TEST

START_TEST(destroy_while_bound)
{
    static const uint64_t page = 0x5000;
    uint32_t region = t_mkey_mtt(h, pdn, 0, 0x1000, 12, T_ALL_ACCESS, &page, 1);
    TestCmd t;
    uint32_t window;

    base(&t, MLX5_MKC_ACCESS_MODE_KLMS);
    window = t_mkey_create(h, &t, t_mkey_len(&t, 4, 0));
    mlx5_mkey_bind(mlx5_mkey_find(h->func, window),
                   mlx5_mkey_find(h->func, region));
    T_DESTROY(h, &t, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              region >> 8);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_BAD_RES_ERR);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_MKEY_BOUND);
    T_DESTROY(h, &t, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              window >> 8);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(h, &t, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              region >> 8);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
}
END_TEST

START_TEST(numbers_run_out)
{
    Mlx5FuncProps props;
    TestCmd t;
    FakeHost *small;
    uint32_t small_pd, made = 0;

    mlx5_func_props_default(&props);
    props.log_max_mkey = 14;
    small = fake_host_new(&props);
    small_pd = t_alloc(small, mlx5_cmd_alloc_pd);
    do {
        memset(&t, 0, offsetof(TestCmd, out));
        t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_MTT, small_pd, 0, 0, 0);
        MLX5_SET(mkc, T_MKC(&t), free, 1);
        t_run(small, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 1u << 17, 0), 0);
        made++;
    } while (t.c.status == MLX5_CMD_STAT_OK && made <= 1u << 14);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_MKEY_FULL);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_NO_RES_ERR);
    fake_host_free(small);
}
END_TEST

/* The driver makes thousands of them and fills few. */
START_TEST(empty_key_is_small)
{
    TestCmd t;
    Mlx5Mkey *mkey;

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, T_MKC(&t), free, 1);
    mkey = mlx5_mkey_find(h->func,
                          t_mkey_create(h, &t, t_mkey_len(&t, 1u << 17, 0)));
    ck_assert_uint_lt(sizeof(Mlx5Mkey), 250);
    ck_assert(!mkey->xlt.first && !mkey->xlt.more);
}
END_TEST

/* ---- access ---- */

/* Every right asked against every set of rights granted. */
START_TEST(access_rights)
{
    static const uint64_t page = 0x5000;
    Mlx5Ranges *r = ranges_new();

    for (uint32_t granted = 0; granted <= T_ALL_ACCESS; granted++) {
        uint32_t key[2] = {
            t_mkey_mtt(h, pdn, 0, 0x1000, 12, granted, &page, 1),
            t_mkey_pa(h, pdn, granted),
        };

        for (uint32_t asked = 0; asked <= T_ALL_ACCESS; asked++) {
            for (uint32_t k = 0; k < 2; k++) {
                ck_assert_int_eq(resolve(key[k], 0, 1, asked, r),
                                 asked & ~granted ? MLX5_MKEY_ACCESS
                                                  : MLX5_MKEY_OK);
            }
        }
    }
    mlx5_ranges_free(r);
}
END_TEST

START_TEST(access_checks)
{
    static const uint64_t page = 0x5000;
    Mlx5Ranges *r = ranges_new();
    uint32_t key = t_mkey_mtt(h, pdn, 0, 0x1000, 12, T_ALL_ACCESS, &page, 1);
    Mlx5Mkey *mkey = mlx5_mkey_find(h->func, key);

    ck_assert_int_eq(resolve(key ^ 1, 0, 1, 1, r), MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(resolve(key + 0x100, 0, 1, 1, r), MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(resolve(UINT32_MAX, 0, 1, 1, r), MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(resolve(MLX5_INVALID_LKEY, 0, 1, 1, r),
                     MLX5_MKEY_UNKNOWN);
    mkey->qpn = 0x76;
    ck_assert_int_eq(resolve(key, 0, 1, 1, r), MLX5_MKEY_QPN);
    mkey->qpn = 0x77;
    ck_assert_int_eq(resolve(key, 0, 1, 1, r), MLX5_MKEY_OK);
    mkey->pdn++;
    mlx5_mkey_changed(mkey);
    ck_assert_int_eq(resolve(key, 0, 1, 1, r), MLX5_MKEY_PD);
    mkey->pdn--;
    mkey->free = true;
    mlx5_mkey_changed(mkey);
    ck_assert_int_eq(resolve(key, 0, 1, 1, r), MLX5_MKEY_FREE);
    mlx5_ranges_free(r);
}
END_TEST

/* Start and length over all distances from the edges. */
START_TEST(access_bounds)
{
    static const uint64_t starts[] = { 0, 0x1800, 0xfffffffffffff000ull };
    static const uint64_t pages[] = { 0x5000, 0x6000 };
    Mlx5Ranges *r = ranges_new();

    for (size_t s = 0; s < G_N_ELEMENTS(starts); s++) {
        uint64_t start = starts[s], len = start ? 0x800 : 0x1000;
        uint32_t key = t_mkey_mtt(h, pdn, start, len, 12, T_ALL_ACCESS, pages,
                                  2);

        ck_assert_int_eq(resolve(key, start, len, 1, r), MLX5_MKEY_OK);
        ck_assert_int_eq(resolve(key, start + len - 1, 1, 1, r), MLX5_MKEY_OK);
        ck_assert_int_eq(resolve(key, start + len, 0, 1, r), MLX5_MKEY_OK);
        ck_assert_uint_eq(r->len, 0);
        ck_assert_int_eq(resolve(key, start, len + 1, 1, r), MLX5_MKEY_BOUNDS);
        ck_assert_int_eq(resolve(key, start + len, 1, 1, r), MLX5_MKEY_BOUNDS);
        ck_assert_int_eq(resolve(key, start - 1, 1, 1, r), MLX5_MKEY_BOUNDS);
        ck_assert_int_eq(resolve(key, start - 1, 2, 1, r), MLX5_MKEY_BOUNDS);
        ck_assert_int_eq(resolve(key, start + 1, UINT64_MAX, 1, r),
                         MLX5_MKEY_BOUNDS);
    }
    mlx5_ranges_free(r);
}
END_TEST

/* All page sizes, first byte anywhere in its page, every page elsewhere. */
START_TEST(access_page_sizes)
{
    Mlx5Ranges *r = ranges_new();

    for (uint32_t shift = 12; shift <= 31; shift++) {
        uint64_t ps = 1ull << shift;
        uint64_t pages[4] = { 9 * ps, 3 * ps, 4 * ps, 7 * ps };
        uint64_t offs[] = { 0, 1, 0xabc, ps / 2, ps - 1 };

        for (size_t o = 0; o < G_N_ELEMENTS(offs); o++) {
            uint64_t start = (5ull << 40) + offs[o];
            uint64_t len = 4 * ps - offs[o];
            uint32_t key = t_mkey_mtt(h, pdn, start, len, shift, T_ALL_ACCESS,
                                      pages, 4);

            ck_assert_int_eq(resolve(key, start, len, 1, r), MLX5_MKEY_OK);
            /* Pages 1 and 2 adjoin. */
            ck_assert_uint_eq(r->len, 3);
            ck_assert_uint_eq(RANGE(r, 0).addr, 9 * ps + offs[o]);
            ck_assert_uint_eq(RANGE(r, 0).len, ps - offs[o]);
            ck_assert_uint_eq(RANGE(r, 1).addr, 3 * ps);
            ck_assert_uint_eq(RANGE(r, 1).len, 2 * ps);
            ck_assert_uint_eq(RANGE(r, 2).addr, 7 * ps);
            ck_assert_uint_eq(RANGE(r, 2).len, ps);
            /* One byte on each side of a page's edge. */
            ck_assert_int_eq(resolve(key, (5ull << 40) + 3 * ps - 1, 2, 1, r),
                             MLX5_MKEY_OK);
            ck_assert_uint_eq(r->len, 2);
            ck_assert_uint_eq(RANGE(r, 0).addr, 5 * ps - 1);
            ck_assert_uint_eq(RANGE(r, 1).addr, 7 * ps);
        }
    }
    mlx5_ranges_free(r);
}
END_TEST

/* pg_access: entries carry present bits, where the card has paging at all. */
START_TEST(create_present_bits)
{
    Mlx5Ranges *r = ranges_new();
    Mlx5FuncProps props;
    FakeHost *plain;
    uint32_t key, plain_pdn;
    TestCmd t;

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(create_mkey_in, t.in, pg_access, 1);
    mlx5_prm_set(T_XLT(&t), 0, 64, 0x5000 | MLX5_MTT_RD);
    key = t_mkey_create(h, &t, t_mkey_len(&t, 1, 1));
    ck_assert_int_eq(resolve(key, 0x10000, 1, MLX5_ACCESS_REMOTE_READ, r),
                     MLX5_MKEY_OK);
    ck_assert_int_eq(resolve(key, 0x10000, 1, MLX5_ACCESS_REMOTE_WRITE, r),
                     MLX5_MKEY_FAULT);
    mlx5_ranges_free(r);

    mlx5_func_props_default(&props);
    props.odp = false;
    plain = fake_host_new(&props);
    plain_pdn = t_alloc(plain, mlx5_cmd_alloc_pd);
    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, T_MKC(&t), pd, plain_pdn);
    MLX5_SET(create_mkey_in, t.in, pg_access, 1);
    t_refused(plain, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 1, 1),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MKEY_PG_ACCESS);
    fake_host_free(plain);
}
END_TEST

/* Entries that were never loaded, or only for one direction. */
START_TEST(access_translation)
{
    Mlx5Ranges *r = ranges_new();
    uint8_t mtt[8];
    Mlx5Mkey *mkey;
    uint32_t key;
    TestCmd t;

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    key = t_mkey_create(h, &t, t_mkey_len(&t, 1, 0));
    mkey = mlx5_mkey_find(h->func, key);
    ck_assert_int_eq(resolve(key, 0x10000, 1, 1, r), MLX5_MKEY_TRANSLATION);
    /* The same of a paged key is a fault. */
    mkey->paged = true;
    ck_assert_int_eq(resolve(key, 0x10000, 1, 1, r), MLX5_MKEY_FAULT);
    ck_assert_uint_eq(h->func->page_miss.key, key);
    ck_assert_uint_eq(h->func->page_miss.va, 0x10000);
    ck_assert_uint_eq(h->func->page_miss.len, 1);
    mlx5_prm_set(mtt, 0, 64, 0x5000 | MLX5_MTT_RD);
    mlx5_mkey_load(mkey, 0, mtt, 1, 0);
    ck_assert_int_eq(resolve(key, 0x10000, 1, MLX5_ACCESS_REMOTE_READ, r),
                     MLX5_MKEY_OK);
    ck_assert_int_eq(resolve(key, 0x10000, 1, MLX5_ACCESS_REMOTE_WRITE, r),
                     MLX5_MKEY_FAULT);
    /* What comes before the missing page is known. */
    ck_assert_int_eq(resolve(key, 0x10000, 0x1001, 1, r), MLX5_MKEY_FAULT);
    ck_assert_uint_eq(r->len, 1);
    ck_assert_uint_eq(RANGE(r, 0).len, 0x1000);
    ck_assert_uint_eq(h->func->page_miss.va, 0x11000);
    mlx5_ranges_free(r);
}
END_TEST

/* Reset while a window is bound to a key that a user context left behind. */
START_TEST(reset_of_left_behind)
{
    Mlx5Obj *pd = mlx5_obj_get(h->func, MLX5_OBJ_PD, pdn);
    Mlx5Mkey *region, *window;
    uint32_t key;
    TestCmd t;

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    key = t_mkey_create(h, &t, t_mkey_len(&t, 1, 1));
    region = mlx5_mkey_find(h->func, key);
    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    key = t_mkey_create(h, &t, t_mkey_len(&t, 1, 1));
    window = mlx5_mkey_find(h->func, key);
    mlx5_mkey_bind(window, region);
    region->o.last_ref = true;
    region->memic = pd; /* anything that must be let go once */
    mlx5_obj_ref(pd);
    mlx5_func_reset(h->func);
    ck_assert_uint_eq(mlx5_obj_total(h->func), 0);
}
END_TEST

/* Large tables are kept in pieces; every piece is found again. */
START_TEST(translation_storage)
{
    const uint64_t n = 3 * MLX5_XLT_CHUNK + 8;
    g_autofree uint8_t *mtts = g_malloc(n * 8);
    Mlx5Ranges *r = ranges_new();
    Mlx5Mkey *mkey;
    uint32_t key;
    TestCmd t;

    base(&t, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, T_MKC(&t), start_addr, 0);
    MLX5_SET(mkc, T_MKC(&t), len, n * 2 * 4096);
    key = t_mkey_create(h, &t, t_mkey_len(&t, n, 0));
    mkey = mlx5_mkey_find(h->func, key);
    for (uint64_t i = 0; i < n; i++) {
        mlx5_prm_set(mtts + i * 8, 0, 64, (n - i) << 12 | 3);
    }
    /* The second half first, across pieces that do not start with it. */
    mlx5_mkey_load(mkey, n, mtts, n, 0);
    ck_assert_int_eq(resolve(key, 0, 1, 1, r), MLX5_MKEY_TRANSLATION);
    mlx5_mkey_load(mkey, 0, mtts, n, 0);
    ck_assert_int_eq(resolve(key, 0, 2 * n * 4096, 1, r), MLX5_MKEY_OK);
    ck_assert_uint_eq(r->len, 2 * n);
    for (uint64_t i = 0; i < 2 * n; i++) {
        ck_assert_uint_eq(RANGE(r, i).addr, (n - i % n) << 12);
        ck_assert_uint_eq(RANGE(r, i).len, 4096);
    }
    mlx5_ranges_free(r);
}
END_TEST

/* Ranges of one call are joined to those of the call before. */
START_TEST(ranges_join)
{
    uint32_t key = t_mkey_pa(h, pdn, T_ALL_ACCESS);
    Mlx5MkeyUser user = t_user(pdn);
    Mlx5Ranges *r = ranges_new();

    for (uint64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(mlx5_mkey_resolve(h->func, &user, key, 0x100 * i,
                                           0x100, 1, r), MLX5_MKEY_OK);
    }
    ck_assert_uint_eq(r->len, 1);
    ck_assert_uint_eq(RANGE(r, 0).len, 0x300);
    ck_assert_int_eq(resolve(key, INT64_MAX, 1, 1, r), MLX5_MKEY_OK);
    /* The upper half is no bus. */
    ck_assert_int_eq(resolve(key, INT64_MAX, 2, 1, r), MLX5_MKEY_TRANSLATION);
    ck_assert_int_eq(resolve(key, UINT64_MAX, 1, 1, r), MLX5_MKEY_TRANSLATION);
    ck_assert_int_eq(resolve(key, UINT64_MAX, 2, 1, r), MLX5_MKEY_BOUNDS);
    mlx5_ranges_free(r);
}
END_TEST

START_TEST(reserved_lkey)
{
    Mlx5MkeyUser user = t_user(pdn);
    Mlx5Ranges *r = ranges_new();

    ck_assert_int_eq(mlx5_mkey_resolve(h->func, &user, MLX5_RESD_LKEY, 0x123,
                                       4, 1, r), MLX5_MKEY_UNKNOWN);
    user.rlkey = true;
    ck_assert_int_eq(mlx5_mkey_resolve(h->func, &user, MLX5_RESD_LKEY, 0x123,
                                       4, 3, r), MLX5_MKEY_OK);
    ck_assert_uint_eq(RANGE(r, 0).addr, 0x123);
    ck_assert_int_eq(mlx5_mkey_check(h->func, &user, MLX5_RESD_LKEY, 0, 4,
                                     MLX5_ACCESS_REMOTE_READ),
                     MLX5_MKEY_ACCESS);
    ck_assert_int_eq(mlx5_mkey_check(h->func, &user, MLX5_RESD_LKEY,
                                     UINT64_MAX, 4, 1), MLX5_MKEY_BOUNDS);
    mlx5_ranges_free(r);
}
END_TEST

START_TEST(remote_invalidate)
{
    static const uint64_t page = 0x5000;
    uint32_t key = t_mkey_mtt(h, pdn, 0, 0x1000, 12, T_ALL_ACCESS, &page, 1);
    Mlx5Mkey *mkey = mlx5_mkey_find(h->func, key);
    Mlx5MkeyUser user = t_user(pdn), other = t_user(pdn + 1);

    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key ^ 1),
                     MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &other, key),
                     MLX5_MKEY_PD);
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key),
                     MLX5_MKEY_ACCESS);
    MLX5_SET(mkc, mkey->mkc, en_rinval, 1);
    mkey->qpn = 1;
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key),
                     MLX5_MKEY_QPN);
    mkey->qpn = user.qpn;
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key), MLX5_MKEY_OK);
    ck_assert_int_eq(mlx5_mkey_check(h->func, &user, key, 0, 1, 1),
                     MLX5_MKEY_FREE);
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key),
                     MLX5_MKEY_FREE);
    ck_assert_uint_eq(MLX5_GET(mkc, mkey->mkc, free), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mkey");
    TCase *tc = tcase_create("mkey");

    tcase_set_timeout(tc, 60); /* a loaded machine under sanitizers */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, translation_budget);
    tcase_add_test(tc, create_refuses);
    tcase_add_test(tc, create_page_sizes);
    tcase_add_test(tc, create_translation_size);
    tcase_add_test(tc, query_and_destroy);
    tcase_add_test(tc, destroy_while_bound);
    tcase_add_test(tc, numbers_run_out);
    tcase_add_test(tc, empty_key_is_small);
    tcase_add_test(tc, access_rights);
    tcase_add_test(tc, access_checks);
    tcase_add_test(tc, access_bounds);
    tcase_add_test(tc, access_page_sizes);
    tcase_add_test(tc, create_present_bits);
    tcase_add_test(tc, access_translation);
    tcase_add_test(tc, reset_of_left_behind);
    tcase_add_test(tc, translation_storage);
    tcase_add_test(tc, ranges_join);
    tcase_add_test(tc, reserved_lkey);
    tcase_add_test(tc, remote_invalidate);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
