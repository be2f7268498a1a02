/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layout tables themselves, and what walks them: the decoded trace and
 * the check of reserved bits.
 */
#include "prm/layout.h"
#include "prm/prm.h"

#include <inttypes.h>

/* Rows of each layout ... */
#define MLX5_LAYOUT(l, b) static const Mlx5Field fields_##l[] = {
#define MLX5_FIELD(l, f, o, w) { #f, MLX5_KIND_FIELD, o, w, 1, NULL },
#define MLX5_BLOB(l, f, o, w) { #f, MLX5_KIND_BLOB, o, w, 1, NULL },
#define MLX5_ARRAY(l, f, o, w, n) { #f, MLX5_KIND_ARRAY, o, w, n, NULL },
#define MLX5_STRUCT(l, f, o, s) \
    { #f, MLX5_KIND_STRUCT, o, MLX5_BITS_##s, 1, &mlx5_layout_##s },
#define MLX5_STRUCTS(l, f, o, s, n) \
    { #f, MLX5_KIND_STRUCTS, o, MLX5_BITS_##s, n, &mlx5_layout_##s },
#define MLX5_END(l) };
#include "prm/all.def"
#include "prm/undef.h"

/* ... and the layouts. */
#define MLX5_LAYOUT(l, b) \
    const Mlx5Layout mlx5_layout_##l = { #l, b, fields_##l, \
                                         G_N_ELEMENTS(fields_##l) };
#define MLX5_FIELD(l, f, o, w)
#define MLX5_BLOB(l, f, o, w)
#define MLX5_ARRAY(l, f, o, w, n)
#define MLX5_STRUCT(l, f, o, s)
#define MLX5_STRUCTS(l, f, o, s, n)
#define MLX5_END(l)
#include "prm/all.def"
#include "prm/undef.h"

/* An array in the trace shows this many elements. */
#define FORMAT_MAX_ELEMENTS 4

static uint32_t element_count(const Mlx5Field *f, uint64_t len_bits)
{
    uint64_t room = len_bits > f->bit_off ? len_bits - f->bit_off : 0;

    if (f->count && (uint64_t)f->count * f->bits <= room) {
        return f->count;
    }
    return room / f->bits;
}

static bool all_zero(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (p[i]) {
            return false;
        }
    }
    return true;
}

static void format_array(GString *out, const Mlx5Field *f, const uint8_t *buf,
                         uint64_t len_bits)
{
    uint32_t n = element_count(f, len_bits);

    if (n == 0 || all_zero(buf + f->bit_off / 8, (uint64_t)n * f->bits / 8)) {
        return;
    }
    g_string_append_printf(out, " %s=[", f->name);
    for (uint32_t i = 0; i < n && i < FORMAT_MAX_ELEMENTS; i++) {
        g_string_append_printf(out, "%s0x%" PRIx64, i ? "," : "",
                               mlx5_prm_get(buf, f->bit_off + i * f->bits,
                                            f->bits));
    }
    g_string_append_printf(out, n > FORMAT_MAX_ELEMENTS ? ",..%u]" : "]", n);
}

static void format_structs(GString *out, const Mlx5Field *f,
                           const uint8_t *buf, uint64_t len_bits)
{
    uint32_t n = element_count(f, len_bits);

    for (uint32_t i = 0; i < n && i < FORMAT_MAX_ELEMENTS; i++) {
        const uint8_t *p = buf + (f->bit_off + i * f->bits) / 8;

        if (all_zero(p, f->bits / 8)) {
            continue;
        }
        g_string_append_printf(out, " %s{", f->name);
        mlx5_prm_format(out, f->sub, p,
                        MIN(f->sub->bits, len_bits - f->bit_off) / 8);
        g_string_append(out, " }");
    }
}

static void format_embedded(GString *out, const Mlx5Field *f,
                            const uint8_t *buf, uint64_t len_bits)
{
    const uint8_t *p = buf + f->bit_off / 8;
    /* The last one may hold an open array: give it all that is left. */
    size_t len = (len_bits - f->bit_off) / 8;

    if (f->bit_off + f->bits < len_bits && f->bits) {
        len = MIN(len, MAX(f->bits / 8, 1));
    }
    if (all_zero(p, len)) {
        return;
    }
    g_string_append_printf(out, " %s{", f->name);
    mlx5_prm_format(out, f->sub, p, len);
    g_string_append(out, " }");
}

void mlx5_prm_format(GString *out, const Mlx5Layout *layout, const void *buf,
                     size_t len)
{
    uint64_t len_bits = (uint64_t)len * 8;

    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const Mlx5Field *f = &layout->fields[i];

        if (f->bit_off >= len_bits) {
            continue;
        }
        switch (f->kind) {
        case MLX5_KIND_FIELD:
            if (f->bit_off + f->bits <= len_bits) {
                uint64_t v = mlx5_prm_get(buf, f->bit_off, f->bits);

                if (v) {
                    g_string_append_printf(out, " %s=0x%" PRIx64, f->name, v);
                }
            }
            break;
        case MLX5_KIND_ARRAY:
            format_array(out, f, buf, len_bits);
            break;
        case MLX5_KIND_STRUCT:
            format_embedded(out, f, buf, len_bits);
            break;
        case MLX5_KIND_STRUCTS:
            format_structs(out, f, buf, len_bits);
            break;
        case MLX5_KIND_BLOB:
            break;
        }
    }
}

/* Clear, in @map (a copy of the data), every bit that a field owns. */
static void clear_fields(const Mlx5Layout *layout, uint8_t *map, uint64_t base,
                         uint64_t len_bits)
{
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const Mlx5Field *f = &layout->fields[i];
        uint64_t off = base + f->bit_off;
        uint64_t n = f->count ? f->count : UINT32_MAX;

        for (uint64_t e = 0; e < n && off + f->bits <= len_bits; e++) {
            if (f->sub) {
                clear_fields(f->sub, map, off, len_bits);
            } else {
                for (uint64_t b = off; b < off + f->bits; b++) {
                    map[b / 8] &= ~(0x80 >> b % 8);
                }
            }
            if (!f->bits) {
                break;
            }
            off += f->bits;
        }
    }
}

int64_t mlx5_prm_reserved_set(const Mlx5Layout *layout, const void *buf,
                              size_t len)
{
    g_autofree uint8_t *map = g_memdup2(buf, len);

    clear_fields(layout, map, 0, (uint64_t)len * 8);
    for (size_t i = 0; i < len; i++) {
        if (map[i]) {
            return (int64_t)i * 8 + __builtin_clz(map[i]) - 24;
        }
    }
    return -1;
}
