/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Byte stream formats: taking them apart, and the arithmetic of lengths; see
 * sig.h.
 *
 * A BSF is 16 bytes, 32 with the extended part, 64 with inline parts for wire
 * and memory. A side has a signature if it names a PSV or a format. Formats
 * are those of libmlx5 (MLX5_BFS_*) for CRCs; T10-DIF is described inline.
 *
 * Left out, and refused: signatures over a whole transaction (extended part),
 * blocks of 1 GiB (bs_selector 5), encryption.
 */
#include "obj/sig.h"

/* bsf_basic.bsf_size (libmlx5 wqe.h). */
enum { BSF_SIZE_BASIC = 0, BSF_SIZE_EXTENDED = 1, BSF_SIZE_INLINE = 2 };
static const uint8_t size_bytes[] = {
    [BSF_SIZE_BASIC] = 16, [BSF_SIZE_EXTENDED] = 32, [BSF_SIZE_INLINE] = 64,
};

#define EXTENDED_AT 16
#define EXTENDED_BYTES 16
#define WIRE_INL_AT 32
#define MEM_INL_AT 48

/* bsf_basic.w_format: MLX5_BFS_CRC_*. */
#define FORMAT_KIND 0xfcu
#define FORMAT_REPEAT 2u

/* bsf_inl.sig_type (driver: qp.h). */
enum { INL_DIF_CRC = 1, INL_DIF_CSUM = 2 };

/* Data of a block by bs_selector (driver: wr.c bs_selector; libmlx5). */
static const uint32_t block_bytes[] = {
    [1] = 512, [2] = 520, [3] = 4096, [4] = 4160, [6] = 4048,
};

static const uint8_t sig_bytes[MLX5_SIG_KIND_COUNT] = {
    [MLX5_SIG_NONE] = 0, [MLX5_SIG_DIF_CRC] = 8, [MLX5_SIG_DIF_CSUM] = 8,
    [MLX5_SIG_CRC32] = 4, [MLX5_SIG_CRC32C] = 4, [MLX5_SIG_CRC64_XP10] = 8,
};

static const struct {
    uint8_t format;
    Mlx5SigKind kind;
} formats[] = {
    { 0x20, MLX5_SIG_CRC32 },
    { 0x40, MLX5_SIG_CRC32C },
    { 0x50, MLX5_SIG_CRC64_XP10 },
};

static Mlx5SigKind crc_kind(uint32_t format)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (formats[i].format == (format & FORMAT_KIND)) {
            return format & FORMAT_REPEAT ? formats[i].kind : MLX5_SIG_NONE;
        }
    }
    return MLX5_SIG_NONE;
}

static void parse_dif(Mlx5SigDomain *d, const uint8_t *inl)
{
    uint32_t type = MLX5_GET(bsf_inl, inl, sig_type);

    if (!MLX5_GET(bsf_inl, inl, valid) ||
        !MLX5_GET(bsf_inl, inl, repeat_block)) {
        return;
    }
    d->kind = type == INL_DIF_CRC ? MLX5_SIG_DIF_CRC
              : type == INL_DIF_CSUM ? MLX5_SIG_DIF_CSUM : MLX5_SIG_NONE;
    d->tags = MLX5_GET(bsf_inl, inl, refresh_dif);
    d->seed_ones = MLX5_GET(bsf_inl, inl, seed);
    d->inc_ref = MLX5_GET(bsf_inl, inl, inc_reftag);
    d->escape = MLX5_GET(bsf_inl, inl, escape);
    d->app_tag = MLX5_GET(bsf_inl, inl, dif_apptag);
    d->app_mask = MLX5_GET(bsf_inl, inl, dif_app_bitmask_check);
    d->ref_tag = MLX5_GET(bsf_inl, inl, dif_reftag);
}

/* @inl: NULL if the BSF has no inline part. */
static Mlx5BsfResult parse_domain(Mlx5SigDomain *d, uint32_t psvn,
                                  uint32_t format, uint32_t selector,
                                  const uint8_t *inl)
{
    if (!psvn && !format) {
        return MLX5_BSF_OK;
    }
    d->psvn = psvn;
    if (format) {
        d->kind = crc_kind(format);
    } else if (inl) {
        parse_dif(d, inl);
    }
    if (d->kind == MLX5_SIG_NONE) {
        return MLX5_BSF_FORMAT;
    }
    d->bytes = sig_bytes[d->kind];
    d->block = selector < G_N_ELEMENTS(block_bytes) ? block_bytes[selector]
                                                    : 0;
    return d->block ? MLX5_BSF_OK : MLX5_BSF_BLOCK;
}

/* A mask has a bit a byte of a signature. */
static uint64_t bits_of_mask(uint32_t mask)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < 8; i++) {
        bits |= mask >> i & 1 ? UINT64_C(0xff) << i * 8 : 0;
    }
    return bits;
}

/* Does @bsf describe blocks, in as many bytes as it says? */
static Mlx5BsfResult check_size(const uint8_t *bsf, size_t len)
{
    uint32_t size = len >= EXTENDED_AT ? MLX5_GET(bsf_basic, bsf, bsf_size)
                                       : UINT32_MAX;
    static const uint8_t none[EXTENDED_BYTES];

    if (size >= G_N_ELEMENTS(size_bytes) || size_bytes[size] > len ||
        MLX5_GET(bsf_basic, bsf, type)) {
        return MLX5_BSF_SIZE;
    }
    if (size >= BSF_SIZE_EXTENDED &&
        memcmp(bsf + EXTENDED_AT, none, EXTENDED_BYTES) != 0) {
        return MLX5_BSF_EXTENDED;
    }
    return MLX5_BSF_OK;
}

/* A side without a signature is cut as the other is. */
static Mlx5BsfResult join(Mlx5Sig *sig)
{
    if (sig->same && (sig->mem.bytes != sig->wire.bytes ||
                      sig->mem.block != sig->wire.block)) {
        return MLX5_BSF_STRUCTURE;
    }
    if (!sig->mem.kind && !sig->wire.kind) {
        return MLX5_BSF_FORMAT;
    }
    if (!sig->mem.kind) {
        sig->mem.block = sig->wire.block;
    }
    if (!sig->wire.kind) {
        sig->wire.block = sig->mem.block;
    }
    return MLX5_BSF_OK;
}

Mlx5BsfResult mlx5_sig_parse(Mlx5Sig *sig, const uint8_t *bsf, size_t len)
{
    Mlx5BsfResult result = check_size(bsf, len);
    bool inl, same;
    uint32_t mem_sel, wire_sel;

    if (result != MLX5_BSF_OK) {
        return result;
    }
    inl = MLX5_GET(bsf_basic, bsf, bsf_size) == BSF_SIZE_INLINE;
    same = MLX5_GET(bsf_basic, bsf, sbs);
    mem_sel = MLX5_GET(bsf_basic, bsf, mem_selector);
    wire_sel = MLX5_GET(bsf_basic, bsf, wire_selector_or_copy_mask);
    result = parse_domain(&sig->mem, MLX5_GET(bsf_basic, bsf, m_psv),
                          MLX5_GET(bsf_basic, bsf, m_format), mem_sel,
                          inl ? bsf + MEM_INL_AT : NULL);
    if (result == MLX5_BSF_OK) {
        result = parse_domain(&sig->wire, MLX5_GET(bsf_basic, bsf, w_psv),
                              MLX5_GET(bsf_basic, bsf, w_format),
                              same ? mem_sel : wire_sel,
                              inl ? bsf + WIRE_INL_AT : NULL);
    }
    if (result != MLX5_BSF_OK) {
        return result;
    }
    sig->same = same;
    sig->copy = same ? bits_of_mask(wire_sel) : 0;
    sig->check = bits_of_mask(MLX5_GET(bsf_basic, bsf, check_byte_mask));
    sig->raw_bytes = MLX5_GET(bsf_basic, bsf, raw_data_size);
    return join(sig);
}

uint64_t mlx5_sig_raw_len(const Mlx5Sig *sig, uint64_t len)
{
    return MIN(mlx5_sig_raw(&sig->mem, len), sig->raw_bytes);
}

uint64_t mlx5_sig_wire_len(const Mlx5Sig *sig, uint64_t len)
{
    return mlx5_sig_pos(&sig->wire, mlx5_sig_raw_len(sig, len));
}

/* Where the byte that a work request calls @at is on the wire. */
static uint64_t wire_of_local(const Mlx5Sig *sig, uint64_t at)
{
    bool memory = sig->mem.kind && sig->wire.kind;

    return mlx5_sig_pos(&sig->wire, memory ? mlx5_sig_raw(&sig->mem, at) : at);
}

void mlx5_sig_local(Mlx5Func *func, uint32_t lkey, uint64_t *addr,
                    uint32_t *len)
{
    const Mlx5Mkey *mkey = mlx5_sig_key(func, lkey);
    uint64_t from, end;

    /* A key's length has 32 bits here: raw_bytes. More fails as too long. */
    if (!mkey || *addr < mkey->start ||
        *addr - mkey->start > UINT32_MAX) {
        return;
    }
    from = wire_of_local(mkey->sig, *addr - mkey->start);
    end = wire_of_local(mkey->sig, *addr - mkey->start + *len);
    if (end - from <= UINT32_MAX) {
        *addr = mkey->start + from;
        *len = end - from;
    }
}
