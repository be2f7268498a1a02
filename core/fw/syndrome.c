/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syndromes by number; see syndrome.h.
 */
#include "fw/syndrome.h"

#include <stddef.h>

static const struct {
    uint32_t number;
    const char *text;
} syndromes[] = {
#define MLX5_SYND(name, number, text) { number, text },
#include "fw/syndrome.def"
#undef MLX5_SYND
};

const char *mlx5_syndrome_text(uint32_t syndrome)
{
    for (size_t i = 0; i < sizeof(syndromes) / sizeof(syndromes[0]); i++) {
        if (syndromes[i].number == syndrome) {
            return syndromes[i].text;
        }
    }
    return "unknown";
}
