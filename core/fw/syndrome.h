/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One number for every check that can refuse a command; the driver prints it,
 * so a line of the guest's dmesg names a line of syndrome.def.
 */
#ifndef MLX5_FW_SYNDROME_H
#define MLX5_FW_SYNDROME_H

#include <stdint.h>

enum {
#define MLX5_SYND(name, number, text) MLX5_SYND_##name = number,
#include "fw/syndrome.def"
#undef MLX5_SYND
};

/** Return: what the syndrome means, or "unknown". */
const char *mlx5_syndrome_text(uint32_t syndrome);

#endif
