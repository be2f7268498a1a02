/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refusing a command, and syndromes by number; see syndrome.h. A file of its
 * own, so that tests can count what they provoked (they wrap the symbol).
 */
#include "fw/cmd.h"

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

void mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome)
{
    cmd->status = status;
    cmd->syndrome = syndrome;
}
