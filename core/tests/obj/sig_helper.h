/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block signatures for tests: formats described in a few words, written down
 * as the drivers do.
 */
#ifndef MLX5_TESTS_SIG_HELPER_H
#define MLX5_TESTS_SIG_HELPER_H

#include "obj/psv.h"
#include "obj/sig.h"
#include "tests/obj/mkey_helper.h"

/** bsf_basic formats with the repeat bit (libmlx5 wqe.h MLX5_BFS_*). */
#define T_CRC32 0x22u
#define T_CRC32C 0x42u
#define T_CRC64 0x52u

/** One side. */
typedef struct TestDomain {
    uint8_t format;          /* CRC; else: */
    uint8_t inl_type;        /* T10-DIF: 1 CRC, 2 IP checksum */
    uint8_t selector;        /* of the block size */
    bool ones;               /* seed */
    bool inc;
    uint8_t escape;
    uint16_t app, app_mask;  /* mask 0: all */
    uint32_t ref;
    uint32_t psvn;
    bool same;               /* wire: same structure, with ... */
    uint8_t copy;
} TestDomain;

static inline uint32_t t_block_bytes(const TestDomain *d)
{
    static const uint32_t bytes[] = { 0, 512, 520, 4096, 4160, 0, 4048 };

    return bytes[d->selector];
}

static inline uint32_t t_sig_bytes(const TestDomain *d)
{
    uint32_t kind = d->format & 0xfc;

    return kind == 0x20 || kind == 0x40 ? 4 : 8;
}

static inline void t_bsf_inl(uint8_t *inl, const TestDomain *d)
{
    if (!d->inl_type) {
        return;
    }
    MLX5_SET(bsf_inl, inl, valid, 1);
    MLX5_SET(bsf_inl, inl, refresh_dif, 1);
    MLX5_SET(bsf_inl, inl, repeat_block, 1);
    MLX5_SET(bsf_inl, inl, seed, d->ones);
    MLX5_SET(bsf_inl, inl, inc_reftag, d->inc);
    MLX5_SET(bsf_inl, inl, escape, d->escape);
    MLX5_SET(bsf_inl, inl, sig_type, d->inl_type);
    MLX5_SET(bsf_inl, inl, dif_apptag, d->app);
    MLX5_SET(bsf_inl, inl, dif_reftag, d->ref);
    MLX5_SET(bsf_inl, inl, dif_app_bitmask_check,
             d->app_mask ? d->app_mask : 0xffff);
}

/** A BSF with inline parts; a side may be NULL. */
static inline void t_bsf(uint8_t bsf[64], const TestDomain *mem,
                         const TestDomain *wire)
{
    memset(bsf, 0, 64);
    MLX5_SET(bsf_basic, bsf, bsf_size, 2);
    MLX5_SET(bsf_basic, bsf, raw_data_size, UINT32_MAX);
    if (mem) {
        MLX5_SET(bsf_basic, bsf, m_psv, mem->psvn);
        MLX5_SET(bsf_basic, bsf, m_format, mem->format);
        MLX5_SET(bsf_basic, bsf, mem_selector, mem->selector);
        t_bsf_inl(bsf + 48, mem);
    }
    if (wire) {
        MLX5_SET(bsf_basic, bsf, w_psv, wire->psvn);
        MLX5_SET(bsf_basic, bsf, w_format, wire->format);
        MLX5_SET(bsf_basic, bsf, sbs, wire->same);
        MLX5_SET(bsf_basic, bsf, wire_selector_or_copy_mask,
                 wire->same ? wire->copy : wire->selector);
        t_bsf_inl(bsf + 32, wire);
    }
}

/** A PSV in @pdn. Return: its number. */
static inline uint32_t t_psv(FakeHost *h, uint32_t pdn)
{
    uint8_t in[16] = { 0 }, out[32] = { 0 };
    Mlx5Cmd c = { .in = in, .in_len = 16, .out = out, .out_len = 32 };

    MLX5_SET(create_psv_in, in, num_psv, 1);
    MLX5_SET(create_psv_in, in, pd, pdn);
    mlx5_func_lock(h->func);
    mlx5_cmd_create_psv(h->func, &c);
    mlx5_func_unlock(h->func);
    if (c.status != MLX5_CMD_STAT_OK) {
        ck_abort_msg("syndrome 0x%x", c.syndrome);
    }
    return MLX5_GET(create_psv_out, out, psv0_index);
}

/** What SET_PSV gives the PSV of @d. */
static inline uint64_t t_transient(const TestDomain *d)
{
    uint64_t ones = d->ones ? UINT64_MAX : 0;

    if (d->inl_type) {
        return ones << 48 | (uint64_t)d->app << 32 | d->ref;
    }
    return t_sig_bytes(d) == 4 ? ones << 32 : ones;
}

/** A free list key with room for a BSF and @octowords. */
static inline uint32_t t_free_sig_key(FakeHost *h, uint32_t pdn,
                                      uint32_t octowords)
{
    TestCmd t = { 0 };

    t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_KLMS, pdn, 0, 0, T_ALL_ACCESS);
    MLX5_SET(mkc, T_MKC(&t), free, 1);
    MLX5_SET(mkc, T_MKC(&t), bsf_en, 1);
    MLX5_SET(mkc, T_MKC(&t), bsf_octword_size, 4);
    return t_mkey_create(h, &t, t_mkey_len(&t, octowords, 0));
}

/** A key over @len bytes at @va of @below. */
static inline uint32_t t_klm_key(FakeHost *h, uint32_t pdn, uint32_t below,
                                 uint64_t va, uint32_t len)
{
    TestCmd t = { 0 };

    t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_KLMS, pdn, 0, len, T_ALL_ACCESS);
    t_klm(T_XLT(&t), len, below, va);
    return t_mkey_create(h, &t, t_mkey_len(&t, 4, 4));
}

/**
 * A key in use, over @len bytes of memory at @gpa in two pieces, that
 * tells its first error.
 */
static inline uint32_t t_sig_key(FakeHost *h, uint32_t pdn,
                                 const TestDomain *mem, const TestDomain *wire,
                                 uint64_t gpa, uint32_t len, uint8_t check)
{
    uint32_t key = t_free_sig_key(h, pdn, 4), all = t_mkey_pa(h, pdn, 3);
    Mlx5Mkey *mkey = mlx5_mkey_find(h->func, key);
    TestDomain m = mem ? *mem : (TestDomain){ 0 };
    TestDomain w = wire ? *wire : (TestDomain){ 0 };
    uint8_t bsf[64], klm[64] = { 0 }, mkc[64];
    uint32_t first = MIN(len, 1001);
    Mlx5Sig sig = { 0 };

    m.psvn = t_psv(h, pdn);
    w.psvn = t_psv(h, pdn);
    t_bsf(bsf, mem ? &m : NULL, wire ? &w : NULL);
    MLX5_SET(bsf_basic, bsf, check_byte_mask, check);
    ck_assert_int_eq(mlx5_sig_parse(&sig, bsf, 64), MLX5_BSF_OK);
    t_klm(klm, first, all, gpa);
    t_klm(klm + 16, len - first, all, gpa + first);
    mlx5_func_lock(h->func);
    mlx5_psv_find(h->func, pdn, m.psvn)->transient = t_transient(&m);
    mlx5_psv_find(h->func, pdn, w.psvn)->transient = t_transient(&w);
    mlx5_mkey_set_sig(mkey, &sig);
    mlx5_mkey_load(mkey, 0, klm, 8, 0);
    memcpy(mkc, mkey->mkc, 64);
    MLX5_SET(mkc, mkc, free, 0);
    MLX5_SET(mkc, mkc, len, len);
    MLX5_SET(mkc, mkc, expected_sigerr_count, 1);
    mlx5_mkey_set_context(mkey, mkc);
    mlx5_func_unlock(h->func);
    return key;
}

#endif
