/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UMR as the drivers use it: enabling, updating and revoking user regions,
 * fast registration, memory windows; and each refusal, after which nothing
 * has changed.
 */
#include "rdma/umr.h"
#include "tests/rdma/wqe_helper.h"

static FakeHost *h;
static uint32_t pdn, other_pdn;
static uint32_t dma_key;         /* all of memory, in pdn */
static Mlx5Qp qp;

/* mkey_mask bits (driver: device.h). */
enum {
    M_LEN = 0, M_PAGE_SIZE = 1, M_START = 6, M_PD = 7, M_RINVAL = 8,
    M_BSF = 12, M_KEY = 13, M_QPN = 14, M_LR = 17, M_LW = 18, M_RR = 19,
    M_RW = 20, M_A = 21, M_SMALL_FENCE = 23, M_FREE = 29,
};
#define B(bit) (1ull << (bit))
#define M_ACCESS (B(M_LR) | B(M_LW) | B(M_RR) | B(M_RW) | B(M_A))
#define M_ENABLE (B(M_FREE) | B(M_KEY) | B(M_LEN) | B(M_PAGE_SIZE) | \
                  B(M_START) | B(M_PD) | M_ACCESS)

#define XLT_GPA 0x700000ull

static void setup(void)
{
    h = fake_host_new(NULL);
    pdn = t_alloc(h, mlx5_cmd_alloc_pd);
    other_pdn = t_alloc(h, mlx5_cmd_alloc_pd);
    dma_key = t_mkey_pa(h, pdn, T_ALL_ACCESS);
    t_qp_init(&qp, h, pdn, MLX5_QP_ST_REG_UMR, 0, 0, 6);
}

static void teardown(void)
{
    mlx5_ring_clear(&qp.ring);
    fake_host_free(h);
}

/* What a UMR WQE says; zero is nothing. */
typedef struct Ask {
    uint32_t key;
    uint64_t mask;
    uint8_t mkc[64];
    bool is_inline, offset_en, check_qpn;
    uint32_t check_free;
    uint32_t octowords;
    uint64_t offset;             /* octowords */
    uint16_t bsf_octowords;
    const uint8_t *xlt;          /* inline */
    uint32_t xlt_bytes;
    uint64_t va;                 /* by pointer */
    uint32_t bytes, lkey;
} Ask;

static Mlx5UmrResult ask(const Ask *a)
{
    TestWqe w;
    Mlx5SendWqe wqe;
    uint8_t *p;

    t_wqe_ctrl(&w, MLX5_OPCODE_UMR, 0, a->key);
    p = t_wqe_room(&w, 48);
    MLX5_SET(wqe_umr_ctrl, p, inline, a->is_inline);
    MLX5_SET(wqe_umr_ctrl, p, check_free, a->check_free);
    MLX5_SET(wqe_umr_ctrl, p, translation_offset_en, a->offset_en);
    MLX5_SET(wqe_umr_ctrl, p, check_qpn, a->check_qpn);
    MLX5_SET(wqe_umr_ctrl, p, xlt_octowords, a->octowords);
    MLX5_SET(wqe_umr_ctrl, p, xlt_offset_15_0,
             a->offset_en ? a->offset & 0xffff : a->bsf_octowords);
    MLX5_SET(wqe_umr_ctrl, p, xlt_offset_47_16, a->offset >> 16);
    MLX5_SET(wqe_umr_ctrl, p, mkey_mask, a->mask);
    memcpy(t_wqe_room(&w, 64), a->mkc, 64);
    if (a->xlt_bytes) {
        memcpy(t_wqe_room(&w, a->xlt_bytes), a->xlt, a->xlt_bytes);
    }
    if (a->lkey) {
        t_wqe_data(&w, a->va, a->bytes, a->lkey);
    }
    t_wqe_end(&w);
    ck_assert_int_eq(mlx5_wqe_parse(&wqe, w.b, w.len, qp.st, T_QPN),
                     MLX5_WQE_OK);
    return mlx5_umr_execute(&qp, &wqe);
}

/* As the MR cache makes them. */
static uint32_t free_key(Mlx5MkeyMode mode, uint32_t octowords)
{
    TestCmd t = { 0 };

    t_mkc(T_MKC(&t), mode, pdn, 0, 0, 0);
    MLX5_SET(mkc, T_MKC(&t), free, 1);
    return t_mkey_create(h, &t, t_mkey_len(&t, octowords, 0));
}

static void put_mtts(uint64_t gpa, uint64_t first_page, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        fake_mem_set_be64(h, gpa + i * 8, (first_page + 0x2000ull * i) | 3);
    }
}

/* mlx5r_umr_update_mr_pas: @pages of 4 KiB at @start, read by pointer. */
static Ask enable_ask(uint32_t key, uint32_t owner, uint64_t start,
                      uint32_t pages)
{
    Ask a = {
        .key = key,
        .mask = M_ENABLE,
        .check_free = 1,
        .octowords = (pages + 7) / 8 * 4,
        .va = XLT_GPA,
        .bytes = (pages + 7) / 8 * 64,
        .lkey = dma_key,
    };

    t_mkc(a.mkc, 0, owner, start, (uint64_t)pages << 12, T_ALL_ACCESS);
    put_mtts(XLT_GPA, 0x100000, pages);
    for (uint32_t i = pages; i % 8; i++) {
        fake_mem_set_be64(h, XLT_GPA + i * 8, 0);
    }
    return a;
}

static Mlx5MkeyResult check(uint32_t owner, uint32_t key, uint64_t va,
                            uint64_t len)
{
    Mlx5MkeyUser user = { .pdn = owner, .qpn = T_QPN };
    g_autoptr(Mlx5Ranges) r = mlx5_ranges_new();

    return mlx5_mkey_resolve(h->func, &user, key, va, len,
                             MLX5_ACCESS_REMOTE_WRITE, r);
}

START_TEST(region_life)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 1);
    Ask a = enable_ask(key, other_pdn, 0x5000, 3);
    Ask revoke = { .key = key, .mask = B(M_FREE) | B(M_PD), .is_inline = true };
    Ask access = { .key = key, .mask = M_ACCESS | B(M_PD), .is_inline = true,
                   .check_free = 2 };

    ck_assert_int_eq(check(other_pdn, key, 0x5000, 1), MLX5_MKEY_FREE);
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert_int_eq(check(other_pdn, key, 0x5000, 0x3000), MLX5_MKEY_OK);
    ck_assert_int_eq(check(other_pdn, key, 0x5000, 0x3001), MLX5_MKEY_BOUNDS);
    ck_assert_int_eq(ask(&a), MLX5_UMR_NOT_FREE);
    /* rereg: rights and domain */
    t_mkc(access.mkc, 0, pdn, 0, 0, MLX5_ACCESS_LOCAL_READ);
    ck_assert_int_eq(ask(&access), MLX5_UMR_OK);
    ck_assert_int_eq(check(other_pdn, key, 0x5000, 1), MLX5_MKEY_PD);
    ck_assert_int_eq(check(pdn, key, 0x5000, 1), MLX5_MKEY_ACCESS);
    /* revoke */
    t_mkc(revoke.mkc, 0, pdn, 0, 0, 0);
    MLX5_SET(mkc, revoke.mkc, free, 1);
    ck_assert_int_eq(ask(&revoke), MLX5_UMR_OK);
    ck_assert_int_eq(check(pdn, key, 0x5000, 1), MLX5_MKEY_FREE);
    ck_assert_int_eq(ask(&access), MLX5_UMR_IS_FREE);
    /* and again, under another variant */
    MLX5_SET(mkc, a.mkc, mkey_7_0, 0x11);
    a.key = (key & ~0xffu) | 0x11;
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert_int_eq(check(other_pdn, key, 0x5000, 1), MLX5_MKEY_UNKNOWN);
    ck_assert_int_eq(check(other_pdn, a.key, 0x5000, 1), MLX5_MKEY_OK);
}
END_TEST

/* A long list comes in pieces, each at its offset; the last one enables. */
START_TEST(region_in_pieces)
{
    enum { PAGES = 5000, PIECE = 1024 };
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, PAGES / 2);
    Mlx5MkeyUser user = { .pdn = pdn, .qpn = T_QPN };
    Mlx5Ranges *r = mlx5_ranges_new();
    Ask a = { .key = key, .check_free = 1, .va = XLT_GPA, .lkey = dma_key };

    t_mkc(a.mkc, 0, pdn, 0, (uint64_t)PAGES << 12, T_ALL_ACCESS);
    for (uint32_t at = 0; at < PAGES; at += PIECE) {
        uint32_t n = MIN(PIECE, PAGES - at);

        put_mtts(XLT_GPA, 0x10000000 + 0x2000ull * at, n);
        a.bytes = n * 8;
        a.octowords = n / 2;
        a.offset_en = at > 0;
        a.offset = at / 2;
        a.mask = at + n == PAGES ? M_ENABLE : 0;
        ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    }
    ck_assert_int_eq(mlx5_mkey_resolve(h->func, &user, key, 0,
                                       (uint64_t)PAGES << 12, 1, r),
                     MLX5_MKEY_OK);
    ck_assert_uint_eq(r->len, PAGES);
    for (uint32_t i = 0; i < PAGES; i++) {
        ck_assert_uint_eq(r->data[i].addr,
                          0x10000000 + 0x2000ull * i);
    }
    mlx5_ranges_free(r);
}
END_TEST

/* Fast registration from an ordinary kernel queue, inline, new variant. */
START_TEST(fast_registration)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 4);
    uint8_t xlt[64];
    Ask a = { .key = key + 1, .is_inline = true, .check_free = 1,
              .octowords = 4, .xlt = xlt, .xlt_bytes = 64,
              .mask = (M_ENABLE & ~B(M_PD)) | B(M_RINVAL) | B(M_SMALL_FENCE) };
    Ask inv = { .key = key + 1, .is_inline = true, .mask = B(M_FREE) };
    Mlx5MkeyUser user = { .pdn = pdn, .qpn = T_QPN };

    qp.st = MLX5_QP_ST_RC;
    memset(xlt, 0xff, sizeof(xlt)); /* what follows the list is old bytes */
    mlx5_prm_set(xlt, 0, 64, 0x20003);
    t_mkc(a.mkc, 0, 0, 0x123, 0x100, T_ALL_ACCESS);
    MLX5_SET(mkc, a.mkc, mkey_7_0, (key + 1) & 0xff);
    MLX5_SET(mkc, a.mkc, en_rinval, 1);
    ck_assert_int_eq(ask(&a), MLX5_UMR_PRIVILEGE);
    MLX5_SET(qpc, qp.qpc, fre, 1);
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert_int_eq(check(pdn, key + 1, 0x123, 0x100), MLX5_MKEY_OK);
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key + 1),
                     MLX5_MKEY_OK);
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    /* Local invalidate; by the old variant it is no key. */
    MLX5_SET(mkc, inv.mkc, free, 1);
    inv.key = key;
    ck_assert_int_eq(ask(&inv), MLX5_UMR_NO_KEY);
    inv.key = key + 1;
    ck_assert_int_eq(ask(&inv), MLX5_UMR_OK);
    ck_assert_int_eq(check(pdn, key + 1, 0x123, 1), MLX5_MKEY_FREE);
}
END_TEST

/* ---- memory windows, as libmlx5 binds them ---- */

static const uint64_t region_page = 0x40000;

static Ask bind_ask(uint32_t window, uint32_t region, uint64_t va,
                    uint32_t len, const uint8_t *xlt)
{
    Ask a = {
        .key = window,
        .is_inline = true,
        .offset_en = true,
        .check_free = 1,
        .octowords = 4,
        .xlt = xlt,
        .xlt_bytes = 64,
        .mask = B(M_FREE) | B(M_KEY) | B(M_QPN) | B(M_LEN) | B(M_START) |
                B(M_LW) | B(M_RR) | B(M_RW) | B(M_A),
    };

    t_mkc(a.mkc, 0, 0, va, len, MLX5_ACCESS_REMOTE_READ |
                                MLX5_ACCESS_REMOTE_WRITE);
    MLX5_SET(mkc, a.mkc, qpn, T_QPN);
    t_klm((uint8_t *)xlt, len, region, va);
    return a;
}

START_TEST(window_life)
{
    uint32_t region = t_mkey_mtt(h, pdn, 0x1000, 0x1000, 12, 3, &region_page,
                                 1);
    uint32_t window = free_key(MLX5_MKC_ACCESS_MODE_KLMS, 4);
    uint8_t xlt[64] = { 0 };
    Ask a = bind_ask(window, region, 0x1100, 0x200, xlt);
    Ask unbind = { .key = window, .is_inline = true, .offset_en = true,
                   .check_qpn = true,
                   .mask = B(M_FREE) | B(M_KEY) | B(M_QPN) };
    Mlx5Mkey *r = mlx5_mkey_find(h->func, region);
    TestCmd t;

    qp.st = MLX5_QP_ST_RC;
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert_int_eq(check(pdn, window, 0x1100, 0x200), MLX5_MKEY_OK);
    ck_assert_int_eq(check(pdn, window, 0x10ff, 1), MLX5_MKEY_BOUNDS);
    ck_assert_uint_eq(r->o.refs, 1);
    T_DESTROY(h, &t, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              region >> 8);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_MKEY_BOUND);
    /* Bound to another queue, it can neither be used nor unbound here. */
    t_mkc(unbind.mkc, 0, 0, 0, 0, 0);
    MLX5_SET(mkc, unbind.mkc, free, 1);
    mlx5_mkey_find(h->func, window)->qpn = 5;
    ck_assert_int_eq(ask(&unbind), MLX5_UMR_QPN);
    ck_assert_int_eq(check(pdn, window, 0x1100, 1), MLX5_MKEY_QPN);
    mlx5_mkey_find(h->func, window)->qpn = MLX5_MKEY_ANY_QPN;
    ck_assert_int_eq(ask(&unbind), MLX5_UMR_OK);
    mlx5_mkey_find(h->func, window)->qpn = T_QPN;
    ck_assert_int_eq(ask(&unbind), MLX5_UMR_OK);
    ck_assert_uint_eq(r->o.refs, 0);
    ck_assert_int_eq(check(pdn, window, 0x1100, 1), MLX5_MKEY_FREE);
}
END_TEST

/* Bound again without an unbind between (type 1): the last region counts. */
START_TEST(window_rebind)
{
    uint32_t first = t_mkey_mtt(h, pdn, 0, 0x1000, 12, 3, &region_page, 1);
    uint32_t second = t_mkey_mtt(h, pdn, 0, 0x1000, 12, 3, &region_page, 1);
    uint32_t window = free_key(MLX5_MKC_ACCESS_MODE_KLMS, 4);
    uint8_t xlt[64] = { 0 };
    Ask a = bind_ask(window, first, 0, 0x200, xlt);

    a.check_free = 0;
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    t_klm(xlt, 0x200, second, 0);
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert_uint_eq(mlx5_mkey_find(h->func, first)->o.refs, 0);
    ck_assert_uint_eq(mlx5_mkey_find(h->func, second)->o.refs, 1);
}
END_TEST

START_TEST(window_refused)
{
    uint32_t region = t_mkey_mtt(h, pdn, 0x1000, 0x1000, 12, 3, &region_page,
                                 1);
    uint32_t readable = t_mkey_mtt(h, pdn, 0x1000, 0x1000, 12, 1, &region_page,
                                   1);
    uint32_t foreign = t_mkey_mtt(h, other_pdn, 0x1000, 0x1000, 12, 3,
                                  &region_page, 1);
    uint32_t window = free_key(MLX5_MKC_ACCESS_MODE_KLMS, 4);
    const uint32_t bad[] = { readable, foreign, window, region + 1, 0x100,
                             MLX5_RESD_LKEY };
    uint8_t xlt[64] = { 0 };
    Ask a = bind_ask(window, region, 0x1100, 0x200, xlt);

    qp.st = MLX5_QP_ST_RC;
    qp.rlkey = true;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        t_klm(xlt, 0x200, bad[i], 0x1100);
        ck_assert_int_eq(ask(&a), MLX5_UMR_BIND);
    }
    t_klm(xlt, 0x200, region, 0x1f00);
    ck_assert_int_eq(ask(&a), MLX5_UMR_BIND);
    ck_assert_int_eq(check(pdn, window, 0x1100, 1), MLX5_MKEY_FREE);
    ck_assert_uint_eq(mlx5_vendor_syndrome(mlx5_umr_vendor(MLX5_UMR_BIND)),
                      MLX5_CQE_SYNDROME_MW_BIND_ERR);
}
END_TEST

/* ---- refusals ---- */

/* @a must fail with @want and leave the key's context and entries alone. */
static void refused(const Ask *a, Mlx5UmrResult want)
{
    Mlx5Mkey *mkey = mlx5_obj_get(h->func, MLX5_OBJ_MKEY, a->key >> 8);
    uint8_t mkc[64] = { 0 };
    uint64_t unit = 0;

    if (mkey) {
        memcpy(mkc, mkey->mkc, 64);
        unit = mlx5_xlt_get(&mkey->xlt, 0);
    }
    ck_assert_int_eq(ask(a), want);
    ck_assert_uint_ne(mlx5_vendor_syndrome(mlx5_umr_vendor(want)), 0);
    if (mkey) {
        ck_assert_mem_eq(mkc, mkey->mkc, 64);
        ck_assert_uint_eq(unit, mlx5_xlt_get(&mkey->xlt, 0));
    }
}

START_TEST(refuses_key)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 4);
    Ask good = enable_ask(key, pdn, 0x5000, 3), a = good;

    a.key = 0x12345600;
    refused(&a, MLX5_UMR_NO_KEY);
    a = good;
    a.mask &= ~B(M_KEY);
    a.key ^= 1;
    refused(&a, MLX5_UMR_NO_KEY);
    MLX5_SET(mkc, mlx5_mkey_find(h->func, key)->mkc, umr_en, 0);
    refused(&good, MLX5_UMR_NOT_ENABLED);
    MLX5_SET(mkc, mlx5_mkey_find(h->func, key)->mkc, umr_en, 1);

    /* An ordinary queue: no other domain, no change of domain. */
    qp.st = MLX5_QP_ST_RC;
    MLX5_SET(qpc, qp.qpc, fre, 1);
    refused(&good, MLX5_UMR_PRIVILEGE);
    a = good;
    a.mask &= ~B(M_PD);
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    qp.pd = mlx5_obj_get(h->func, MLX5_OBJ_PD, other_pdn);
    a.check_free = 0;
    refused(&a, MLX5_UMR_PRIVILEGE);
}
END_TEST

/*
 * A user's queue reaches the lists that its context made, and memory windows,
 * which the kernel makes; not other lists of the kernel's or of others.
 */
START_TEST(refuses_owner)
{
    static const struct {
        uint16_t queue, key;
        Mlx5MkeyMode mode;
        Mlx5UmrResult want;
    } rows[] = {
        { 7, 7, MLX5_MKC_ACCESS_MODE_KLMS, MLX5_UMR_OK },
        { 7, 7, MLX5_MKC_ACCESS_MODE_KSM, MLX5_UMR_OK },
        { 7, 0, MLX5_MKC_ACCESS_MODE_KLMS, MLX5_UMR_OK },
        { 7, 0, MLX5_MKC_ACCESS_MODE_KSM, MLX5_UMR_OWNER },
        { 7, 8, MLX5_MKC_ACCESS_MODE_KLMS, MLX5_UMR_OWNER },
        { 7, 8, MLX5_MKC_ACCESS_MODE_KSM, MLX5_UMR_OWNER },
        { 7, MLX5_SHARED_UID, MLX5_MKC_ACCESS_MODE_KSM, MLX5_UMR_OK },
        { 0, 7, MLX5_MKC_ACCESS_MODE_KSM, MLX5_UMR_OK },
    };

    qp.st = MLX5_QP_ST_RC;
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint32_t key = free_key(rows[i].mode, 4);
        Ask a = { .key = key, .mask = B(M_LEN) };

        mlx5_mkey_find(h->func, key)->o.uid = rows[i].key;
        qp.o.uid = rows[i].queue;
        ck_assert_int_eq(ask(&a), rows[i].want);
        qp.st = MLX5_QP_ST_REG_UMR;
        ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
        qp.st = MLX5_QP_ST_RC;
    }
    qp.o.uid = 0;
}
END_TEST

/* Which keys page: those that were told so of one of their pages. */
START_TEST(paged_keys)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 8);
    Mlx5Mkey *mkey = mlx5_mkey_find(h->func, key);
    Ask a = enable_ask(key, pdn, 0x5000, 8), b;
    Ask off = { .key = key, .mask = B(M_FREE) };
    uint32_t list = free_key(MLX5_MKC_ACCESS_MODE_KSM, 4);
    uint8_t ksm[64] = { 0 };

    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert(!mkey->paged);
    /* Nothing was ever said of the second eight: an error, not a fault. */
    MLX5_SET(mkc, a.mkc, len, 16 << 12);
    b = (Ask){ .key = key, .mask = B(M_LEN) };
    memcpy(b.mkc, a.mkc, sizeof(b.mkc));
    ck_assert_int_eq(ask(&b), MLX5_UMR_OK);
    ck_assert_int_eq(check(pdn, key, 0x5000 + 0x8000, 8),
                     MLX5_MKEY_TRANSLATION);
    /* A page goes, or may be read alone. */
    for (uint64_t rights = 0; rights < 2; rights++) {
        b = (Ask){ .key = key, .octowords = 4, .va = XLT_GPA, .bytes = 64,
                   .lkey = dma_key };
        fake_mem_set_be64(h, XLT_GPA + 56, rights ? 0x100000 | rights : 0);
        ck_assert_int_eq(ask(&b), MLX5_UMR_OK);
        ck_assert(mkey->paged);
        ck_assert_int_eq(check(pdn, key, 0x5000 + 0x8000, 8),
                         rights ? MLX5_MKEY_FREE : MLX5_MKEY_FAULT);
        /* Revoked, it may be pinned memory's next; but not twice. */
        MLX5_SET(mkc, off.mkc, free, 1);
        ck_assert_int_eq(ask(&off), MLX5_UMR_OK);
        ck_assert_int_eq(mkey->paged, rights);
    }
    /* Loaded while still free, in several parts: not forgotten. */
    ck_assert_int_eq(ask(&b), MLX5_UMR_OK);
    ck_assert_int_eq(ask(&b), MLX5_UMR_OK);
    ck_assert(mkey->paged);

    mkey = mlx5_mkey_find(h->func, list);
    b = (Ask){ .key = list, .is_inline = true, .octowords = 4, .xlt = ksm,
               .xlt_bytes = 64 };
    t_klm(ksm, 0, dma_key, MLX5_NULL_MKEY);
    ck_assert_int_eq(ask(&b), MLX5_UMR_OK);
    ck_assert(!mkey->paged);
    t_klm(ksm + 48, 0, MLX5_NULL_MKEY, 0);
    ck_assert_int_eq(ask(&b), MLX5_UMR_OK);
    ck_assert(mkey->paged);
}
END_TEST

START_TEST(refuses_context)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 4);
    Ask good = enable_ask(key, pdn, 0x5000, 3), a = good;

    a.mask |= B(60);
    refused(&a, MLX5_UMR_MASK);
    a = good;
    a.mask |= B(M_BSF);
    MLX5_SET(mkc, a.mkc, bsf_en, 1);
    refused(&a, MLX5_UMR_BSF_MISSING);
    a = good;
    a.bsf_octowords = 4;
    refused(&a, MLX5_UMR_BSF_ROOM);
    h->func->props.signature = false;
    refused(&a, MLX5_UMR_UNSUPPORTED);
    h->func->props.signature = true;
    a = good;
    MLX5_SET(mkc, a.mkc, log_page_size, 0);
    refused(&a, MLX5_UMR_CONTEXT);
    a = good;
    MLX5_SET(mkc, a.mkc, len, UINT64_MAX);
    refused(&a, MLX5_UMR_CONTEXT);
    a = good;
    MLX5_SET(mkc, a.mkc, len, 0x9000); /* nine pages, room for eight */
    refused(&a, MLX5_UMR_CONTEXT);
    a = good;
    MLX5_SET(mkc, a.mkc, pd, 0xffffff);
    refused(&a, MLX5_UMR_CONTEXT);
}
END_TEST

START_TEST(refuses_translations)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 4);
    Ask good = enable_ask(key, pdn, 0x5000, 3), a = good;
    uint8_t xlt[64] = { 0 };

    a.octowords = 8;
    a.bytes = 128;
    refused(&a, MLX5_UMR_XLT_BOUNDS);
    a = good;
    h->func->xlt_bytes += MLX5_XLT_BUDGET_BYTES;
    refused(&a, MLX5_UMR_XLT_MEMORY);
    h->func->xlt_bytes -= MLX5_XLT_BUDGET_BYTES;
    a.offset_en = true;
    a.offset = 4;
    refused(&a, MLX5_UMR_XLT_BOUNDS);
    a.offset = 0xfffffffffffcull;
    refused(&a, MLX5_UMR_XLT_BOUNDS);
    a.offset = 1;
    refused(&a, MLX5_UMR_XLT_ALIGN);
    a = good;
    a.octowords = 3;
    refused(&a, MLX5_UMR_XLT_ALIGN);
    a = good;
    a.bytes = 63;
    refused(&a, MLX5_UMR_XLT_ALIGN);
    a = good;
    a.va += 8;
    refused(&a, MLX5_UMR_XLT_ALIGN);
    a = good;
    a.lkey ^= 1;
    refused(&a, MLX5_UMR_SOURCE);
    a = good;
    h->fail_after = 1;
    refused(&a, MLX5_UMR_SOURCE);
    h->fail_after = 0;
    a = good;
    a.lkey = 0; /* no data segment */
    refused(&a, MLX5_UMR_MALFORMED);
    a.is_inline = true;
    a.xlt = xlt;
    a.xlt_bytes = 48;
    refused(&a, MLX5_UMR_MALFORMED);
}
END_TEST

/* The list is read once: what changes behind is not seen. */
START_TEST(reads_once)
{
    uint32_t key = free_key(MLX5_MKC_ACCESS_MODE_MTT, 4);
    Ask a = enable_ask(key, pdn, 0, 8);

    h->trip_addr = XLT_GPA;
    h->trip_len = 64;
    ck_assert_int_eq(ask(&a), MLX5_UMR_OK);
    ck_assert_uint_eq(h->trip_hits, 64);
    for (uint32_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(mlx5_xlt_get(&mlx5_mkey_find(h->func, key)->xlt, i),
                          (0x100000 + 0x2000ull * i) | 3);
    }
}
END_TEST

START_TEST(names_are_distinct)
{
    for (uint32_t a = 0; a < MLX5_UMR_RESULT_COUNT; a++) {
        for (uint32_t b = 0; b < a; b++) {
            ck_assert_str_ne(mlx5_umr_result_name(a), mlx5_umr_result_name(b));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("umr");
    TCase *tc = tcase_create("umr");

    tcase_set_timeout(tc, 60); /* a loaded machine under sanitizers */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, region_life);
    tcase_add_test(tc, region_in_pieces);
    tcase_add_test(tc, fast_registration);
    tcase_add_test(tc, window_life);
    tcase_add_test(tc, window_rebind);
    tcase_add_test(tc, window_refused);
    tcase_add_test(tc, refuses_key);
    tcase_add_test(tc, refuses_owner);
    tcase_add_test(tc, paged_keys);
    tcase_add_test(tc, refuses_context);
    tcase_add_test(tc, refuses_translations);
    tcase_add_test(tc, reads_once);
    tcase_add_test(tc, names_are_distinct);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
