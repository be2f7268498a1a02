/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How layouts are described, read, written and printed.
 *
 * Everything that crosses the bus is a big-endian structure. Each is a table
 * of fields in one of the prm .def files; from that one table come the
 * constants used by the accessors below, the size checks, and the decoded
 * trace. A row gives bit offset and width, counted from the most significant
 * bit of the first byte, as mlx5_ifc.h and the PRM do:
 *
 *   MLX5_LAYOUT(layout, bits)                     opens a layout
 *   MLX5_FIELD(layout, field, offset, width)      a number of up to 64 bits
 *   MLX5_BLOB(layout, field, offset, width)       bytes decoded elsewhere
 *   MLX5_ARRAY(layout, field, offset, width, n)   n numbers; 0 = to the end
 *   MLX5_STRUCT(layout, field, offset, sub)       an embedded layout
 *   MLX5_STRUCTS(layout, field, offset, sub, n)   n of them; 0 = to the end
 *   MLX5_END(layout)
 */
#ifndef MLX5_PRM_LAYOUT_H
#define MLX5_PRM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <glib.h>

typedef enum Mlx5FieldKind {
    MLX5_KIND_FIELD,
    MLX5_KIND_BLOB,
    MLX5_KIND_ARRAY,
    MLX5_KIND_STRUCT,
    MLX5_KIND_STRUCTS,
} Mlx5FieldKind;

typedef struct Mlx5Layout Mlx5Layout;

/** One row of a layout. */
typedef struct Mlx5Field {
    const char *name;
    Mlx5FieldKind kind;
    uint32_t bit_off;
    uint32_t bits;            /* of one element; 0 for embedded layouts */
    uint32_t count;           /* elements; 0 = as many as the data holds */
    const Mlx5Layout *sub;    /* embedded layout or NULL */
} Mlx5Field;

struct Mlx5Layout {
    const char *name;
    uint32_t bits;
    const Mlx5Field *fields;
    uint32_t num_fields;
};

/** Read @bits bits at @bit_off of the big-endian structure at @p. */
static inline uint64_t mlx5_prm_get(const void *p, uint32_t bit_off,
                                    uint32_t bits)
{
    const uint8_t *b = (const uint8_t *)p + bit_off / 32 * 4;
    uint32_t shift = bit_off % 32;
    uint64_t v = 0;

    if (shift + bits <= 32) {
        uint32_t w;

        memcpy(&w, b, 4);
        w = GUINT32_FROM_BE(w) >> (32 - shift - bits);
        return bits == 32 ? w : w & ((1u << bits) - 1);
    }
    if (shift == 0 && bits == 64) {
        memcpy(&v, b, 8);
        return GUINT64_FROM_BE(v);
    }
    for (uint32_t i = 0; i < bits; i++) {
        uint32_t at = bit_off + i;
        uint8_t byte = ((const uint8_t *)p)[at / 8];

        v = v << 1 | (byte >> (7 - at % 8) & 1);
    }
    return v;
}

/** Write the low @bits bits of @v at @bit_off of the structure at @p. */
static inline void mlx5_prm_set(void *p, uint32_t bit_off, uint32_t bits,
                                uint64_t v)
{
    uint8_t *b = (uint8_t *)p + bit_off / 32 * 4;
    uint32_t shift = bit_off % 32;

    if (shift + bits <= 32) {
        uint32_t low = 32 - shift - bits;
        uint32_t mask = (bits == 32 ? ~0u : (1u << bits) - 1) << low;
        uint32_t w;

        memcpy(&w, b, 4);
        w = GUINT32_FROM_BE(w);
        w = (w & ~mask) | ((uint32_t)v << low & mask);
        w = GUINT32_TO_BE(w);
        memcpy(b, &w, 4);
        return;
    }
    if (shift == 0 && bits == 64) {
        v = GUINT64_TO_BE(v);
        memcpy(b, &v, 8);
        return;
    }
    for (uint32_t i = 0; i < bits; i++) {
        uint32_t at = bit_off + i;
        uint8_t *byte = (uint8_t *)p + at / 8;
        uint8_t mask = 1u << (7 - at % 8);

        *byte = v >> (bits - 1 - i) & 1 ? *byte | mask : *byte & ~mask;
    }
}

/**
 * Append "field=value" for every field of @layout that is not zero, embedded
 * layouts as "name{...}". Only whole fields inside @len bytes are printed.
 */
void mlx5_prm_format(GString *out, const Mlx5Layout *layout, const void *buf,
                     size_t len);

/** Is any bit outside the fields of @layout set in the @len bytes at @buf? */
/** Return: bit offset of the first such bit, or -1. */
int64_t mlx5_prm_reserved_set(const Mlx5Layout *layout, const void *buf,
                              size_t len);

#endif
