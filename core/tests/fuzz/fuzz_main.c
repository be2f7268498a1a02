/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a fuzz program; see fuzz.h. It has its own Check functions, for
 * libFuzzer has no runner.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define ROUND_BYTES 4096
#define HANG_S 20            /* no round lasts that long, unless it hangs */

void _mark_point(const char *file, int line)
{
    (void)file;
    (void)line;
}

void _ck_assert_failed(const char *file, int line, const char *expr,
                       const char *msg, ...)
{
    fprintf(stderr, "%s:%d: %s%s%s\n", file, line, expr, msg ? ": " : "",
            msg ? msg : "");
    abort();
}

#ifndef MLX5_LIBFUZZER

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *value = g_getenv(name);

    return value ? g_ascii_strtoull(value, NULL, 0) : otherwise;
}

static void fuzz_round(uint64_t seed)
{
    uint8_t data[ROUND_BYTES];
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;

    for (size_t i = 0; i < sizeof(data); i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        data[i] = x >> 32;
    }
    LLVMFuzzerTestOneInput(data, sizeof(data));
}

int main(void)
{
    bool timed = g_getenv("MLX5_FUZZ_MS") || !fuzz_default_rounds;
    gint64 ms = from_env("MLX5_FUZZ_MS", fuzz_default_ms);
    uint64_t seed = from_env("MLX5_FUZZ_SEED", fuzz_default_seed
                                 ? fuzz_default_seed
                                 : (uint64_t)g_get_real_time());
    gint64 start = g_get_monotonic_time();
    unsigned rounds = 0;

    do {
        printf("round MLX5_FUZZ_SEED=%" G_GUINT64_FORMAT "\n", (guint64)seed);
        fflush(stdout);
        alarm(HANG_S);
        fuzz_round(seed++);
        rounds++;
    } while (timed ? g_get_monotonic_time() - start < ms * 1000
                   : rounds < fuzz_default_rounds);
    fuzz_told(rounds);
    return !fuzz_got_somewhere(rounds);
}

#endif
