/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory keys for tests: contexts filled in by mode, keys made by commands.
 */
#ifndef MLX5_TESTS_MKEY_HELPER_H
#define MLX5_TESTS_MKEY_HELPER_H

#include "obj/mkey.h"
#include "tests/obj/obj_helper.h"

#define T_MKC(t) MLX5_ADDR_OF(create_mkey_in, (t)->in, memory_key_mkey_entry)
#define T_XLT(t) MLX5_ADDR_OF(create_mkey_in, (t)->in, klm_pas_mtt)
#define T_VARIANT 0x5au
#define T_ALL_ACCESS 0x1fu

/** A context that every check passes; PA covers [start, start + len). */
static inline void t_mkc(uint8_t *mkc, Mlx5MkeyMode mode, uint32_t pdn,
                         uint64_t start, uint64_t len, uint32_t access)
{
    memset(mkc, 0, MLX5_ST_SZ_BYTES(mkc));
    MLX5_SET(mkc, mkc, access_mode_1_0, mode);
    MLX5_SET(mkc, mkc, lr, !!(access & MLX5_ACCESS_LOCAL_READ));
    MLX5_SET(mkc, mkc, lw, !!(access & MLX5_ACCESS_LOCAL_WRITE));
    MLX5_SET(mkc, mkc, rr, !!(access & MLX5_ACCESS_REMOTE_READ));
    MLX5_SET(mkc, mkc, rw, !!(access & MLX5_ACCESS_REMOTE_WRITE));
    MLX5_SET(mkc, mkc, a, !!(access & MLX5_ACCESS_REMOTE_ATOMIC));
    MLX5_SET(mkc, mkc, qpn, MLX5_MKEY_ANY_QPN);
    MLX5_SET(mkc, mkc, mkey_7_0, T_VARIANT);
    MLX5_SET(mkc, mkc, umr_en, 1);
    MLX5_SET(mkc, mkc, pd, pdn);
    MLX5_SET(mkc, mkc, start_addr, start);
    MLX5_SET(mkc, mkc, len, len);
    MLX5_SET(mkc, mkc, log_page_size, 12);
}

/** Translation octowords: room in the context, and given in the input. */
static inline uint32_t t_mkey_len(TestCmd *t, uint32_t room, uint32_t actual)
{
    MLX5_SET(mkc, T_MKC(t), translations_octword_size, room);
    MLX5_SET(create_mkey_in, t->in, translations_octword_actual_size, actual);
    return MLX5_ST_SZ_BYTES(create_mkey_in) + actual * 16;
}

/** Run the command. Return: the key. */
static inline uint32_t t_mkey_create(FakeHost *h, TestCmd *t, uint32_t in_len)
{
    t_ok(h, t, mlx5_cmd_create_mkey, in_len);
    return MLX5_GET(create_mkey_out, t->out, mkey_index) << 8 |
           MLX5_GET(mkc, T_MKC(t), mkey_7_0);
}

/** All of memory, as the kernel's DMA key. */
static inline uint32_t t_mkey_pa(FakeHost *h, uint32_t pdn, uint32_t access)
{
    TestCmd t = { 0 };

    t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_PA, pdn, 0, 0, access);
    MLX5_SET(mkc, T_MKC(&t), length64, 1);
    return t_mkey_create(h, &t, t_mkey_len(&t, 0, 0));
}

/** Pages of 2^@shift, entry i at @pages[i]. */
static inline uint32_t t_mkey_mtt(FakeHost *h, uint32_t pdn, uint64_t start,
                                  uint64_t len, uint32_t shift,
                                  uint32_t access, const uint64_t *pages,
                                  uint32_t n)
{
    TestCmd t = { 0 };

    t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_MTT, pdn, start, len, access);
    MLX5_SET(mkc, T_MKC(&t), log_page_size, shift);
    for (uint32_t i = 0; i < n; i++) {
        mlx5_prm_set(T_XLT(&t) + i * 8, 0, 64, pages[i]);
    }
    return t_mkey_create(h, &t, t_mkey_len(&t, (n + 1) / 2, (n + 1) / 2));
}

static inline void t_klm(uint8_t *at, uint32_t bytes, uint32_t key,
                         uint64_t va)
{
    MLX5_SET(wqe_klm, at, byte_count, bytes);
    MLX5_SET(wqe_klm, at, mkey, key);
    MLX5_SET(wqe_klm, at, address, va);
}

static inline Mlx5MkeyUser t_user(uint32_t pdn)
{
    return (Mlx5MkeyUser){ .pdn = pdn, .qpn = 0x77 };
}

#endif
