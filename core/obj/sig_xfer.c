/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data through a key with a signature; see sig.h. A block at a time:
 *
 *   gather    memory -> check -> data + signature of the wire
 *   scatter   wire -> data to memory -> check -> signature of memory
 *
 * The side that data come from is checked, the other one generated. With the
 * same structure on both sides, bits of the copy mask are taken over.
 *
 * A block that comes in parts is in memory by the time its last byte comes,
 * and is read back from there; only its signature may have to be kept.
 */
#include "obj/psv.h"
#include "obj/sig.h"
#include "obj/sig_math.h"

/* One access. */
typedef struct Io {
    Mlx5Mkey *mkey;
    Mlx5Sig *sig;
    const Mlx5MkeyUser *user;
    uint32_t access;
    uint64_t raw_len;
    uint64_t mem_psv, wire_psv;
    Mlx5Ranges *ranges;
} Io;

/* ---- signatures as numbers ---- */

#define TOP32(v) ((uint64_t)(v) << 32)

static uint64_t dif(const Mlx5SigDomain *d, uint64_t psv, uint64_t block,
                    const uint8_t *data)
{
    uint16_t seed = d->seed_ones ? 0xffff : psv >> 48;
    uint16_t guard = d->kind == MLX5_SIG_DIF_CRC
                         ? mlx5_sig_crc16(seed, data, d->block)
                         : mlx5_sig_ip_checksum(seed, data, d->block);
    uint16_t app = d->tags ? d->app_tag : psv >> 32;
    uint32_t ref = d->tags ? d->ref_tag : psv;

    ref += d->inc_ref ? block : 0;
    return (uint64_t)guard << 48 | TOP32(app) | ref;
}

/* What belongs behind block @block, which is complete. */
static uint64_t compute(const Mlx5SigDomain *d, uint64_t psv, uint64_t block,
                        const uint8_t *data)
{
    switch (d->kind) {
    case MLX5_SIG_DIF_CRC:
    case MLX5_SIG_DIF_CSUM:
        return dif(d, psv, block, data);
    case MLX5_SIG_CRC32:
        return TOP32(mlx5_sig_crc32(psv >> 32, data, d->block));
    case MLX5_SIG_CRC32C:
        return TOP32(mlx5_sig_crc32c(psv >> 32, data, d->block));
    case MLX5_SIG_CRC64_XP10:
        return mlx5_sig_crc64(psv, data, d->block);
    default:
        return 0;
    }
}

static bool is_dif(const Mlx5SigDomain *d)
{
    return d->kind == MLX5_SIG_DIF_CRC || d->kind == MLX5_SIG_DIF_CSUM;
}

/*
 * T10-DIF is big-endian, CRCs begin with their lowest byte (SPDK accel_mlx5
 * reads them so). A 32-bit CRC is the upper half of the number.
 */
static void put(const Mlx5SigDomain *d, uint64_t v, uint8_t *to)
{
    uint64_t stored = is_dif(d) ? GUINT64_TO_BE(v)
                                : GUINT64_TO_LE(v >> (64 - d->bytes * 8));

    memcpy(to, &stored, d->bytes);
}

static uint64_t get(const Mlx5SigDomain *d, const uint8_t *from)
{
    uint64_t stored = 0;

    memcpy(&stored, from, d->bytes);
    return is_dif(d) ? GUINT64_FROM_BE(stored)
                     : GUINT64_FROM_LE(stored) << (64 - d->bytes * 8);
}

static bool escaped(const Mlx5SigDomain *d, uint64_t found)
{
    bool app = (found >> 32 & 0xffff) == 0xffff;
    bool ref = (uint32_t)found == UINT32_MAX;

    return is_dif(d) && app &&
           (d->escape == MLX5_SIG_ESCAPE_APP ||
            (d->escape == MLX5_SIG_ESCAPE_APP_REF && ref));
}

/* The first field that differs (mlx5dv_mkey_check(3): guard, app, ref). */
static uint16_t syndrome(const Mlx5SigDomain *d, uint64_t diff)
{
    if (!is_dif(d) || diff >> 48) {
        return MLX5_SIGERR_GUARD;
    }
    return diff >> 32 ? MLX5_SIGERR_APPTAG : MLX5_SIGERR_REFTAG;
}

static void check(Io *io, const Mlx5SigDomain *d, uint64_t block,
                  const uint8_t *data, uint64_t found)
{
    Mlx5Sig *sig = io->sig;
    bool wire = d == &sig->wire;
    uint64_t actual = compute(d, wire ? io->wire_psv : io->mem_psv, block,
                              data);
    uint64_t bits = sig->check;

    if (is_dif(d)) {
        bits &= ~TOP32(0xffff) | TOP32(d->app_mask);
    }
    /* The first error counts, until software has seen it. */
    if (!((found ^ actual) & bits) || escaped(d, found) || !sig->armed) {
        return;
    }
    sig->armed = false;
    sig->failed = true;
    sig->error = (Mlx5SigError){
        .syndrome = syndrome(d, (found ^ actual) & bits),
        .domain = wire ? MLX5_SIG_DOMAIN_WIRE : MLX5_SIG_DOMAIN_MEMORY,
        .expected = found,
        .actual = actual,
        .offset = block * (d->block + d->bytes),
    };
}

/* Behind block @block of the side that data go to; @in: as it came. */
static uint64_t generate(const Io *io, const Mlx5SigDomain *d, uint64_t block,
                         const uint8_t *data, uint64_t in)
{
    uint64_t psv = d == &io->sig->wire ? io->wire_psv : io->mem_psv;

    return (compute(d, psv, block, data) & ~io->sig->copy) |
           (in & io->sig->copy);
}

/* ---- memory ---- */

static Mlx5MkeyResult resolve(Io *io, uint64_t off, uint64_t len)
{
    mlx5_ranges_clear(io->ranges);
    return mlx5_mkey_resolve_memory(io->mkey, io->user,
                                    io->mkey->start + off, len, io->access,
                                    io->ranges);
}

static Mlx5MkeyResult mem_read(Io *io, uint64_t off, uint8_t *to, uint64_t len)
{
    Mlx5MkeyResult result = resolve(io, off, len);

    for (guint i = 0; result == MLX5_MKEY_OK && i < io->ranges->len; i++) {
        const Mlx5Range *r = &io->ranges->data[i];

        if (!mlx5_dma_read(io->mkey->o.func, r->addr, to, r->len)) {
            result = MLX5_MKEY_MEMORY;
        }
        to += r->len;
    }
    return result;
}

static Mlx5MkeyResult mem_write(Io *io, uint64_t off, const uint8_t *from,
                                uint64_t len)
{
    Mlx5MkeyResult result = resolve(io, off, len);

    for (guint i = 0; result == MLX5_MKEY_OK && i < io->ranges->len; i++) {
        const Mlx5Range *r = &io->ranges->data[i];

        if (!mlx5_dma_write(io->mkey->o.func, r->addr, from, r->len)) {
            result = MLX5_MKEY_MEMORY;
        }
        from += r->len;
    }
    return result;
}

/* Raw bytes as memory has them, unchecked. */
static Mlx5MkeyResult raw_read(Io *io, uint64_t raw, uint64_t len, uint8_t *to)
{
    const Mlx5SigDomain *mem = &io->sig->mem;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    while (len && result == MLX5_MKEY_OK) {
        uint64_t n = MIN(len, mem->block - raw % mem->block);

        result = mem_read(io, mlx5_sig_pos(mem, raw), to, n);
        raw += n;
        to += n;
        len -= n;
    }
    return result;
}

/* ---- gather ---- */

/* Check block @block of memory. @found: its signature. */
static Mlx5MkeyResult check_memory(Io *io, uint64_t block, uint64_t *found)
{
    const Mlx5SigDomain *mem = &io->sig->mem;
    uint8_t bytes[MLX5_SIG_MAX_BLOCK + MLX5_SIG_MAX_BYTES];
    uint64_t unit = mem->block + mem->bytes;
    Mlx5MkeyResult result = mem_read(io, block * unit, bytes, unit);

    if (result == MLX5_MKEY_OK) {
        *found = get(mem, bytes + mem->block);
        check(io, mem, block, bytes, *found);
    }
    return result;
}

/* Check the blocks of memory that end in the raw bytes given. */
static Mlx5MkeyResult check_ends(Io *io, uint64_t raw, uint64_t len,
                                 uint64_t *found)
{
    const Mlx5SigDomain *mem = &io->sig->mem;
    uint64_t end = (raw + len) / mem->block;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    for (uint64_t b = raw / mem->block;
         mem->kind && b < end && result == MLX5_MKEY_OK; b++) {
        result = check_memory(io, b, found);
    }
    return result;
}

/* Block @block of the wire. @bytes: how many it has. */
static Mlx5MkeyResult make_block(Io *io, uint64_t block, uint8_t *to,
                                 uint64_t *bytes)
{
    const Mlx5SigDomain *wire = &io->sig->wire;
    uint64_t raw = block * wire->block;
    uint64_t len = MIN(wire->block, io->raw_len - MIN(raw, io->raw_len));
    uint64_t found = 0;
    Mlx5MkeyResult result = raw_read(io, raw, len, to);

    if (result == MLX5_MKEY_OK) {
        result = check_ends(io, raw, len, &found);
    }
    *bytes = len;
    if (result == MLX5_MKEY_OK && len == wire->block && wire->kind) {
        put(wire, generate(io, wire, block, to, found), to + len);
        *bytes += wire->bytes;
    }
    return result;
}

static Mlx5MkeyResult gather(Io *io, uint64_t off, uint64_t len, uint8_t *to)
{
    uint8_t bytes[MLX5_SIG_MAX_BLOCK + MLX5_SIG_MAX_BYTES];
    uint64_t unit = io->sig->wire.block + io->sig->wire.bytes;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    while (len && result == MLX5_MKEY_OK) {
        uint64_t in = off % unit, have, n;

        result = make_block(io, off / unit, bytes, &have);
        if (result != MLX5_MKEY_OK || have <= in) {
            return result != MLX5_MKEY_OK ? result : MLX5_MKEY_BOUNDS;
        }
        n = MIN(len, have - in);
        memcpy(to, bytes + in, n);
        off += n;
        to += n;
        len -= n;
    }
    return result;
}

/* ---- scatter ---- */

static Mlx5MkeyResult put_memory_sig(Io *io, uint64_t block,
                                     const uint8_t *data, uint64_t in)
{
    const Mlx5SigDomain *mem = &io->sig->mem;
    uint8_t bytes[MLX5_SIG_MAX_BYTES];

    put(mem, generate(io, mem, block, data, in), bytes);
    return mem_write(io, block * (mem->block + mem->bytes) + mem->block, bytes,
                     mem->bytes);
}

/* A block of memory is complete. @data: its bytes, or NULL to read them. */
static Mlx5MkeyResult end_memory(Io *io, uint64_t block, const uint8_t *data)
{
    uint8_t bytes[MLX5_SIG_MAX_BLOCK];
    uint32_t len = io->sig->mem.block;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    if (!data) {
        result = raw_read(io, block * len, len, bytes);
        data = bytes;
    }
    return result == MLX5_MKEY_OK ? put_memory_sig(io, block, data, 0)
                                  : result;
}

static Mlx5MkeyResult raw_write(Io *io, uint64_t raw, uint64_t len,
                                const uint8_t *from)
{
    const Mlx5SigDomain *mem = &io->sig->mem;
    /* With the same structure, the wire's signature is needed first. */
    bool generates = mem->kind && !io->sig->same;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    while (len && result == MLX5_MKEY_OK) {
        uint64_t in = raw % mem->block;
        uint64_t n = MIN(len, mem->block - in);

        result = mem_write(io, mlx5_sig_pos(mem, raw), from, n);
        if (result == MLX5_MKEY_OK && generates && in + n == mem->block) {
            result = end_memory(io, raw / mem->block, in ? NULL : from);
        }
        raw += n;
        from += n;
        len -= n;
    }
    return result;
}

/* A block of the wire is complete. @data: its bytes, or NULL to read them. */
static Mlx5MkeyResult end_wire(Io *io, uint64_t block, const uint8_t *data,
                               uint64_t found)
{
    uint8_t bytes[MLX5_SIG_MAX_BLOCK];
    uint32_t len = io->sig->wire.block;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    if (!data) {
        result = raw_read(io, block * len, len, bytes);
        data = bytes;
    }
    if (result != MLX5_MKEY_OK) {
        return result;
    }
    check(io, &io->sig->wire, block, data, found);
    return io->sig->same ? put_memory_sig(io, block, data, found)
                         : MLX5_MKEY_OK;
}

/*
 * Bytes [@at, @at + @len) of the signature of @block came. Return: are they
 * all there now? A part that nothing came before is of no use.
 */
static bool take_part(Mlx5Sig *sig, uint64_t block, uint32_t at, uint32_t len,
                      const uint8_t *from)
{
    Mlx5SigPart *part = &sig->part;

    if (at && (part->block != block || part->bytes != at)) {
        return false;
    }
    memcpy(part->sig + at, from, len);
    part->block = block;
    part->bytes = at + len;
    return part->bytes == sig->wire.bytes;
}

/* An access at @off begins; if it is the last one once more, as that began. */
static void begin_parts(Mlx5Sig *sig, uint64_t off)
{
    if (off == sig->before_off) {
        sig->part = sig->before;
    } else {
        sig->before = sig->part;
        sig->before_off = off;
    }
}

/* What of one block came: bytes [@in, @in + @len) of it. */
static Mlx5MkeyResult take_block(Io *io, uint64_t block, uint64_t in,
                                 uint64_t len, const uint8_t *from)
{
    Mlx5Sig *sig = io->sig;
    uint64_t size = sig->wire.block;
    uint64_t data = in < size ? MIN(len, size - in) : 0;
    Mlx5MkeyResult result = raw_write(io, block * size + in, data, from);

    if (result != MLX5_MKEY_OK || data == len ||
        !take_part(sig, block, in + data - size, len - data, from + data)) {
        return result;
    }
    return end_wire(io, block, data == size ? from : NULL,
                    get(&sig->wire, sig->part.sig));
}

static Mlx5MkeyResult scatter(Io *io, uint64_t off, uint64_t len,
                              const uint8_t *from)
{
    uint64_t unit = io->sig->wire.block + io->sig->wire.bytes;
    Mlx5MkeyResult result = MLX5_MKEY_OK;

    while (len && result == MLX5_MKEY_OK) {
        uint64_t n = MIN(len, unit - off % unit);

        result = take_block(io, off / unit, off % unit, n, from);
        off += n;
        from += n;
        len -= n;
    }
    return result;
}

/* ---- both ---- */

static bool find_psv(const Io *io, const Mlx5SigDomain *d, uint64_t *value)
{
    const Mlx5Psv *psv;

    if (!d->kind) {
        return true;
    }
    psv = mlx5_psv_find(io->mkey->o.func, io->mkey->pdn, d->psvn);
    if (psv) {
        *value = psv->transient;
    }
    return psv;
}

/* The checks of an access. */
static Mlx5MkeyResult begin(Io *io, uint64_t va, uint64_t len)
{
    const Mlx5Mkey *mkey = io->mkey;
    Mlx5MkeyResult result =
        mlx5_mkey_check(mkey->o.func, io->user, mkey->o.id << 8 |
                        mkey->variant, va, len, io->access);

    if (result != MLX5_MKEY_OK) {
        return result;
    }
    io->sig = mkey->sig;
    io->raw_len = mlx5_sig_raw_len(io->sig, mkey->len);
    return find_psv(io, &io->sig->mem, &io->mem_psv) &&
           find_psv(io, &io->sig->wire, &io->wire_psv)
               ? MLX5_MKEY_OK : MLX5_MKEY_PSV;
}

Mlx5MkeyResult mlx5_sig_gather(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                               uint64_t va, uint64_t len, uint32_t access,
                               uint8_t *to)
{
    Io io = { .mkey = mkey, .user = user, .access = access };
    Mlx5MkeyResult result = begin(&io, va, len);

    if (result == MLX5_MKEY_OK) {
        io.ranges = mlx5_ranges_new();
        result = gather(&io, va - mkey->start, len, to);
        mlx5_ranges_free(io.ranges);
    }
    return result;
}

Mlx5MkeyResult mlx5_sig_scatter(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                                uint64_t va, uint64_t len, uint32_t access,
                                const uint8_t *from)
{
    Io io = { .mkey = mkey, .user = user, .access = access };
    Mlx5MkeyResult result = begin(&io, va, len);

    if (result == MLX5_MKEY_OK) {
        io.ranges = mlx5_ranges_new();
        begin_parts(io.sig, va - mkey->start);
        result = scatter(&io, va - mkey->start, len, from);
        mlx5_ranges_free(io.ranges);
    }
    return result;
}
