/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fuzz programs have in common: bytes that decide what is done next, and a
 * main() that makes them up from a seed. A program has
 * LLVMFuzzerTestOneInput() and what stands below.
 *
 * By itself it runs from MLX5_FUZZ_SEED on for MLX5_FUZZ_MS, or for the
 * program's own numbers of seed and rounds, and prints the seed of each round
 * first: to repeat one that failed, give its seed and MLX5_FUZZ_MS=0. For
 * libFuzzer (NAME: card, wire):
 *
 *   CC=clang meson setup b -Db_sanitize=address,undefined -Db_lundef=false \
 *       -Dc_args=-fsanitize=fuzzer-no-link
 *   ninja -C b core/tests/libfuzzer-NAME && b/core/tests/libfuzzer-NAME
 */
#ifndef MLX5_TESTS_FUZZ_H
#define MLX5_TESTS_FUZZ_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/** The rest of an input. */
typedef struct FuzzBytes {
    const uint8_t *data;
    size_t left;
} FuzzBytes;

/** The next @bytes as a number; what is missing is left out. */
static inline uint64_t fuzz_take(FuzzBytes *f, unsigned bytes)
{
    uint64_t v = 0;

    while (bytes-- && f->left) {
        v = v << 8 | *f->data++;
        f->left--;
    }
    return v;
}

static inline uint32_t fuzz_below(FuzzBytes *f, uint32_t n)
{
    return fuzz_take(f, n > 256 ? 2 : 1) % n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a program says of itself. */

/** How long it runs if not told, in ms, or ... */
extern const gint64 fuzz_default_ms;
/** ... how many rounds, from which seed; 0: as long as above, from the time. */
extern const uint64_t fuzz_default_seed;
extern const unsigned fuzz_default_rounds;
/** Print what came of @rounds. */
void fuzz_told(unsigned rounds);
/** Was any of it taken? Noise that is all refused at the door tests nothing. */
bool fuzz_got_somewhere(unsigned rounds);

#endif
