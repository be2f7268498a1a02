/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys under keys: lists, fixed-size lists, interleaved streams; depth, loops
 * and rights on the way down. Lists are compared with a byte by byte model.
 */
#include "tests/obj/mkey_helper.h"

static FakeHost *h;
static uint32_t pdn;
static Mlx5Ranges *r;

static void setup(void)
{
    h = fake_host_new(NULL);
    pdn = t_alloc(h, mlx5_cmd_alloc_pd);
    r = mlx5_ranges_new();
}

static void teardown(void)
{
    mlx5_ranges_free(r);
    fake_host_free(h);
}

static Mlx5MkeyResult resolve(uint32_t key, uint64_t va, uint64_t len,
                              uint32_t access)
{
    Mlx5MkeyUser user = t_user(pdn);

    mlx5_ranges_clear(r);
    return mlx5_mkey_resolve(h->func, &user, key, va, len, access, r);
}

#define RANGE(i) r->data[i]

/* A list key whose @n entries of 16 bytes are at @xlt. */
static uint32_t list_new(Mlx5MkeyMode mode, uint64_t start, uint64_t len,
                         uint32_t log_page, const uint8_t *xlt, uint32_t n)
{
    TestCmd t = { 0 };

    t_mkc(T_MKC(&t), mode, pdn, start, len, T_ALL_ACCESS);
    MLX5_SET(mkc, T_MKC(&t), log_page_size, log_page);
    memcpy(T_XLT(&t), xlt, n * 16);
    return t_mkey_create(h, &t, t_mkey_len(&t, n, n));
}

/* Bus address of byte @i of what was resolved last. */
static uint64_t byte_at(uint64_t i)
{
    for (guint k = 0; k < r->len; k++) {
        if (i < RANGE(k).len) {
            return RANGE(k).addr + i;
        }
        i -= RANGE(k).len;
    }
    ck_abort_msg("fewer bytes than asked for");
    return 0;
}

/* Compare [off, off + len) with the model, byte by byte. */
static void compare(uint32_t key, uint64_t start, uint64_t off, uint64_t len,
                    uint64_t (*model)(uint64_t off))
{
    uint64_t total = 0;

    ck_assert_int_eq(resolve(key, start + off, len, MLX5_ACCESS_REMOTE_READ),
                     MLX5_MKEY_OK);
    for (guint i = 0; i < r->len; i++) {
        total += RANGE(i).len;
    }
    ck_assert_uint_eq(total, len);
    for (uint64_t i = 0; i < len; i++) {
        ck_assert_uint_eq(byte_at(i), model(off + i));
    }
}

/* --- what was seen --- */

#define SEEN_START 0x12340100u
#define SEEN_LEN 0x1e00u         /* to 0x100 before the end of its two pages */
#define SEEN_ACCESS (MLX5_ACCESS_LOCAL_READ | MLX5_ACCESS_REMOTE_READ)

/* A key whose first page was seen. */
static Mlx5Mkey *seen_key(uint32_t *key)
{
    static const uint64_t pages[] = { 0x7000, 0x3000 };

    *key = t_mkey_mtt(h, pdn, SEEN_START, SEEN_LEN, 12, SEEN_ACCESS, pages, 2);
    ck_assert_int_eq(resolve(*key, SEEN_START + 8, 8, MLX5_ACCESS_LOCAL_READ),
                     MLX5_MKEY_OK);
    return mlx5_mkey_find(h->func, *key);
}

static Mlx5MkeyResult again(uint32_t key, uint64_t off, uint64_t len)
{
    return resolve(key, SEEN_START + off, len, MLX5_ACCESS_LOCAL_READ);
}

static void lies_at(uint32_t key, uint64_t off, uint64_t addr)
{
    ck_assert_int_eq(again(key, off, 8), MLX5_MKEY_OK);
    ck_assert_uint_eq(r->len, 1);
    ck_assert_uint_eq(RANGE(0).addr, addr);
    ck_assert_uint_eq(RANGE(0).len, 8);
}

/* No more is known of a page than that an access like the first is good. */
START_TEST(seen_is_checked)
{
    Mlx5MkeyUser other = t_user(pdn + 1);
    uint32_t key;

    seen_key(&key);
    lies_at(key, 0, 0x7100);
    lies_at(key, 0xef8, 0x7ff8);
    lies_at(key, 0xf00, 0x3000);
    lies_at(key, 0x1df8, 0x3ef8);
    lies_at(key, 0, 0x7100);
    ck_assert_int_eq(again(key, 0xefc, 8), MLX5_MKEY_OK);
    ck_assert_uint_eq(r->len, 2);
    ck_assert_int_eq(again(key, 0, 0), MLX5_MKEY_OK);
    ck_assert_uint_eq(r->len, 0);
    ck_assert_int_eq(again(key, -1, 8), MLX5_MKEY_BOUNDS);
    ck_assert_int_eq(again(key, 0, UINT64_MAX), MLX5_MKEY_BOUNDS);
    lies_at(key, 0x1df8, 0x3ef8);
    ck_assert_int_eq(again(key, 0x1df9, 8), MLX5_MKEY_BOUNDS);
    ck_assert_int_eq(again(key ^ 1, 0x1df8, 8), MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(resolve(key, SEEN_START + 0x1df8, 8,
                             MLX5_ACCESS_LOCAL_WRITE), MLX5_MKEY_ACCESS);
    ck_assert_int_eq(mlx5_mkey_resolve(h->func, &other, key,
                                       SEEN_START + 0x1df8, 8,
                                       MLX5_ACCESS_LOCAL_READ, r),
                     MLX5_MKEY_PD);
}
END_TEST

/* Nothing is known of it when anything of a key has changed. */
START_TEST(seen_is_forgotten)
{
    uint8_t entry[8], mkc[MLX5_ST_SZ_BYTES(mkc)];
    TestCmd c = { 0 };
    uint32_t key;
    Mlx5Mkey *mkey = seen_key(&key);

    mlx5_prm_set(entry, 0, 64, 0x9000 | MLX5_MTT_RD);
    mlx5_mkey_load(mkey, 0, entry, 1, 0);
    lies_at(key, 0, 0x9100);
    memcpy(mkc, mkey->mkc, sizeof(mkc));
    MLX5_SET(mkc, mkc, lr, 0);
    mlx5_mkey_set_context(mkey, mkc);
    ck_assert_int_eq(again(key, 0, 8), MLX5_MKEY_ACCESS);
    MLX5_SET(mkc, mkc, lr, 1);
    MLX5_SET(mkc, mkc, qpn, 0x78);
    mlx5_mkey_set_context(mkey, mkc);
    ck_assert_int_eq(again(key, 0, 8), MLX5_MKEY_QPN);
    MLX5_SET(mkc, mkc, qpn, t_user(pdn).qpn);
    MLX5_SET(mkc, mkc, en_rinval, 1);
    mlx5_mkey_set_context(mkey, mkc);
    lies_at(key, 0, 0x9100);
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &(Mlx5MkeyUser){
        .pdn = pdn, .qpn = t_user(pdn).qpn }, key), MLX5_MKEY_OK);
    ck_assert_int_eq(again(key, 0, 8), MLX5_MKEY_FREE);
    mlx5_mkey_set_context(mkey, mkc);
    lies_at(key, 0, 0x9100);
    MLX5_SET(destroy_mkey_in, c.in, mkey_index, key >> 8);
    t_ok(h, &c, mlx5_cmd_destroy_mkey, MLX5_ST_SZ_BYTES(destroy_mkey_in));
    ck_assert_int_eq(again(key, 0, 8), MLX5_MKEY_UNKNOWN);
}
END_TEST

#define KLM_N 7
static const uint32_t klm_size[KLM_N] = { 1, 100, 4096, 3, 500, 1, 64 };

static uint64_t klm_model(uint64_t off)
{
    for (uint32_t i = 0; i < KLM_N; i++) {
        if (off < klm_size[i]) {
            return (uint64_t)(KLM_N - i) * 0x10000 + off;
        }
        off -= klm_size[i];
    }
    return UINT64_MAX;
}

START_TEST(klm_list)
{
    const uint64_t start = 0x123456, total = 4765;
    uint8_t xlt[KLM_N * 16];
    uint32_t pa = t_mkey_pa(h, pdn, T_ALL_ACCESS), key;

    for (uint32_t i = 0; i < KLM_N; i++) {
        t_klm(xlt + i * 16, klm_size[i], pa, (uint64_t)(KLM_N - i) * 0x10000);
    }
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, start, total, 0, xlt, KLM_N);
    compare(key, start, 0, total, klm_model);
    /* Forwards, backwards, and across each edge: the cursor may not show. */
    for (uint64_t off = 0; off + 7 <= total; off += 41) {
        compare(key, start, off, 7, klm_model);
    }
    for (uint64_t off = total - 200; off >= 200; off -= 197) {
        compare(key, start, off, 200, klm_model);
    }
    ck_assert_int_eq(resolve(key, start, total + 1, 1), MLX5_MKEY_BOUNDS);
}
END_TEST

/* A key may promise more than its list holds. */
START_TEST(klm_list_ends)
{
    uint8_t xlt[64] = { 0 };
    uint32_t pa = t_mkey_pa(h, pdn, T_ALL_ACCESS), key;

    t_klm(xlt, 16, pa, 0x1000);
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 100, 0, xlt, 4);
    ck_assert_int_eq(resolve(key, 0, 16, 1), MLX5_MKEY_OK);
    ck_assert_int_eq(resolve(key, 0, 17, 1), MLX5_MKEY_TRANSLATION);
    ck_assert_int_eq(resolve(key, 50, 1, 1), MLX5_MKEY_TRANSLATION);
    ck_assert_int_eq(resolve(key, 0, 16, 1), MLX5_MKEY_OK);
}
END_TEST

/* What is nowhere ends nowhere: what follows it does not go on from there. */
START_TEST(nowhere_is_not_joined)
{
    uint8_t xlt[32];
    uint32_t pa = t_mkey_pa(h, pdn, T_ALL_ACCESS), key;

    t_klm(xlt, 4097, MLX5_NULL_MKEY, 0);
    t_klm(xlt + 16, 64, pa, 4096);
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 4161, 0, xlt, 2);
    ck_assert_int_eq(resolve(key, 0, 4161, MLX5_ACCESS_LOCAL_READ),
                     MLX5_MKEY_OK);
    ck_assert_uint_eq(r->len, 2);
    ck_assert_uint_eq(RANGE(0).addr, MLX5_NOWHERE);
    ck_assert_uint_eq(RANGE(0).len, 4097);
    ck_assert_uint_eq(RANGE(1).addr, 4096);
    ck_assert_uint_eq(RANGE(1).len, 64);
}
END_TEST

static uint64_t ksm_model(uint64_t off)
{
    static const uint64_t va[] = { 0x9000, 0x3000, 0x6000 };

    return va[off / 256] + off % 256;
}

START_TEST(ksm_list)
{
    uint8_t xlt[4 * 16] = { 0 };
    uint32_t pa = t_mkey_pa(h, pdn, T_ALL_ACCESS), key;

    t_klm(xlt, 0, pa, 0x9000);
    t_klm(xlt + 16, 0, pa, 0x3000);
    t_klm(xlt + 32, 0, pa, 0x6000);
    /* The pages begin at the key's start, which needn't be aligned. */
    key = list_new(MLX5_MKC_ACCESS_MODE_KSM, 0x40023, 768 - 0x23, 8, xlt, 4);
    compare(key, 0x40023, 0, 768 - 0x23, ksm_model);
    for (uint64_t off = 0; off + 20 <= 768 - 0x23; off += 13) {
        compare(key, 0x40023, off, 20, ksm_model);
    }
    /* A fourth page would need an entry with a key. */
    key = list_new(MLX5_MKC_ACCESS_MODE_KSM, 0, 1024, 8, xlt, 4);
    ck_assert_int_eq(resolve(key, 0, 1024, 1), MLX5_MKEY_TRANSLATION);
}
END_TEST

/* Three streams of 5, 1 and 10 bytes, strides 8, 1 and 16. */
static uint64_t strided_model(uint64_t off)
{
    uint64_t cycle = off / 16, in = off % 16;

    return in < 5 ? 0x1000 + cycle * 8 + in
         : in < 6 ? 0x20000 + cycle
                  : 0x30000 + cycle * 16 + (in - 6);
}

static void stream(uint8_t *at, uint16_t stride, uint16_t bytes, uint32_t key,
                   uint64_t va)
{
    t_klm(at, (uint32_t)stride << 16 | bytes, key, va);
}

START_TEST(interleaved)
{
    uint8_t xlt[4 * 16];
    uint32_t pa = t_mkey_pa(h, pdn, T_ALL_ACCESS), key;

    t_klm(xlt, 16, 0x400, (uint64_t)20 << 32 | 3);
    stream(xlt + 16, 8, 5, pa, 0x1000);
    stream(xlt + 32, 1, 1, pa, 0x20000);
    stream(xlt + 48, 16, 10, pa, 0x30000);
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 400, 0, xlt, 4);
    compare(key, 0, 0, 320, strided_model);
    for (uint64_t off = 0; off + 33 <= 320; off += 7) {
        compare(key, 0, off, 33, strided_model);
    }
    ck_assert_int_eq(resolve(key, 0, 321, 1), MLX5_MKEY_TRANSLATION);
    ck_assert_int_eq(resolve(key, 390, 1, 1), MLX5_MKEY_TRANSLATION);

    t_klm(xlt, 0, 0x400, (uint64_t)20 << 32 | 3); /* a cycle of no bytes */
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 400, 0, xlt, 4);
    ck_assert_int_eq(resolve(key, 0, 1, 1), MLX5_MKEY_TRANSLATION);
    t_klm(xlt, 17, 0x400, (uint64_t)20 << 32 | 3); /* one byte is nobody's */
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 400, 0, xlt, 4);
    ck_assert_int_eq(resolve(key, 16, 1, 1), MLX5_MKEY_TRANSLATION);
}
END_TEST

START_TEST(depth)
{
    uint32_t key = t_mkey_pa(h, pdn, T_ALL_ACCESS);
    uint8_t xlt[16];

    for (uint32_t d = 1; d <= MLX5_MKEY_MAX_DEPTH + 2; d++) {
        t_klm(xlt, 0x1000, key, 0);
        key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 0x1000, 0, xlt, 1);
        ck_assert_int_eq(resolve(key, 0, 0x1000, 1),
                         d <= MLX5_MKEY_MAX_DEPTH ? MLX5_MKEY_OK
                                                  : MLX5_MKEY_TRANSLATION);
    }
}
END_TEST

START_TEST(list_of_itself)
{
    uint8_t xlt[16] = { 0 };

    for (uint32_t m = 0; m < 2; m++) {
        Mlx5MkeyMode mode = m ? MLX5_MKC_ACCESS_MODE_KSM
                              : MLX5_MKC_ACCESS_MODE_KLMS;
        uint32_t key = list_new(mode, 0, 0x1000, 12, xlt, 1);

        t_klm(xlt, 0x1000, key, 0);
        mlx5_mkey_load(mlx5_mkey_find(h->func, key), 0, xlt, 2, 0);
        ck_assert_int_eq(resolve(key, 0, 0x1000, 1), MLX5_MKEY_TRANSLATION);
        memset(xlt, 0, sizeof(xlt));
    }
}
END_TEST

/*
 * A list of single bytes, taken alternately from both ends of another list:
 * the walk would be as long as one times the other. It gives up before.
 */
START_TEST(list_that_multiplies)
{
    enum { N = 4096 };
    g_autofree uint8_t *xlt = g_malloc(N * 16);
    uint32_t key = t_mkey_pa(h, pdn, T_ALL_ACCESS);

    for (uint32_t d = 0; d < 2; d++) {
        TestCmd t = { 0 };

        for (uint32_t i = 0; i < N; i++) {
            t_klm(xlt + i * 16, 1, key, i % 2 ? 0 : N - 1);
        }
        t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_KLMS, pdn, 0, N, T_ALL_ACCESS);
        key = t_mkey_create(h, &t, t_mkey_len(&t, N, 0));
        mlx5_mkey_load(mlx5_mkey_find(h->func, key), 0, xlt, N * 2, 0);
        ck_assert_int_eq(resolve(key, 0, N, 1), d ? MLX5_MKEY_TRANSLATION
                                                  : MLX5_MKEY_OK);
    }
    ck_assert_int_eq(resolve(key, N - 16, 16, 1), MLX5_MKEY_OK);
}
END_TEST

START_TEST(rights_below)
{
    static const uint64_t page = 0x5000;
    uint8_t xlt[16];

    for (uint32_t granted = 0; granted < 4; granted++) {
        uint32_t under = t_mkey_mtt(h, pdn, 0, 0x1000, 12, granted, &page, 1);
        uint32_t key;

        t_klm(xlt, 0x1000, under, 0);
        key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 0x1000, 0, xlt, 1);
        ck_assert_int_eq(resolve(key, 0, 1, MLX5_ACCESS_REMOTE_READ),
                         granted & MLX5_ACCESS_LOCAL_READ ? MLX5_MKEY_OK
                                                          : MLX5_MKEY_ACCESS);
        ck_assert_int_eq(resolve(key, 0, 1, MLX5_ACCESS_REMOTE_WRITE),
                         granted & MLX5_ACCESS_LOCAL_WRITE ? MLX5_MKEY_OK
                                                           : MLX5_MKEY_ACCESS);
        ck_assert_int_eq(resolve(key, 0, 1, MLX5_ACCESS_REMOTE_ATOMIC),
                         granted & MLX5_ACCESS_LOCAL_WRITE ? MLX5_MKEY_OK
                                                           : MLX5_MKEY_ACCESS);
    }
}
END_TEST

START_TEST(checks_below)
{
    static const uint64_t page = 0x5000;
    uint32_t under = t_mkey_mtt(h, pdn, 0, 0x1000, 12, T_ALL_ACCESS, &page, 1);
    Mlx5Mkey *mkey = mlx5_mkey_find(h->func, under);
    uint8_t xlt[48] = { 0 };
    uint32_t key;

    t_klm(xlt, 0x1000, under, 1); /* one byte too far */
    t_klm(xlt + 16, 0x1000, under ^ 1, 0);
    t_klm(xlt + 32, 0x1000, MLX5_RESD_LKEY, 0);
    key = list_new(MLX5_MKC_ACCESS_MODE_KLMS, 0, 0x3000, 0, xlt, 3);
    ck_assert_int_eq(resolve(key, 0, 0xfff, 1), MLX5_MKEY_OK);
    ck_assert_int_eq(resolve(key, 0, 0x1000, 1), MLX5_MKEY_BOUNDS);
    ck_assert_int_eq(resolve(key, 0x1000, 1, 1), MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(resolve(key, 0x2000, 1, 1), MLX5_MKEY_UNKNOWN);
    mkey->pdn++;
    ck_assert_int_eq(resolve(key, 0, 1, 1), MLX5_MKEY_PD);
    mkey->pdn--;
    mkey->qpn = 1;
    ck_assert_int_eq(resolve(key, 0, 1, 1), MLX5_MKEY_QPN);
    mkey->free = true;
    ck_assert_int_eq(resolve(key, 0, 1, 1), MLX5_MKEY_FREE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mkey-walk");
    TCase *tc = tcase_create("mkey-walk");

    tcase_set_timeout(tc, 60); /* a loaded machine under sanitizers */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, seen_is_checked);
    tcase_add_test(tc, seen_is_forgotten);
    tcase_add_test(tc, klm_list);
    tcase_add_test(tc, klm_list_ends);
    tcase_add_test(tc, nowhere_is_not_joined);
    tcase_add_test(tc, ksm_list);
    tcase_add_test(tc, interleaved);
    tcase_add_test(tc, depth);
    tcase_add_test(tc, list_of_itself);
    tcase_add_test(tc, list_that_multiplies);
    tcase_add_test(tc, rights_below);
    tcase_add_test(tc, checks_below);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
