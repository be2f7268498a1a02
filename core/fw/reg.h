/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A register as its handler sees it (PRM: ACCESS_REG). Rows of the table are in
 * reg.c; most handlers are in fw/, those about objects in obj/.
 */
#ifndef MLX5_FW_REG_H
#define MLX5_FW_REG_H

#include "fw/cmd.h"

typedef struct Mlx5RegAccess {
    bool write;
    const uint8_t *in;       /* register data, zero padded to @bytes */
    uint8_t *out;            /* zeroed, @bytes of room */
    uint32_t bytes;
    uint32_t argument;
} Mlx5RegAccess;

/** A handler refuses with the command, or does it. */
typedef void Mlx5RegHandler(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc);

/* obj/rsc_dump.c */
Mlx5RegHandler mlx5_reg_resource_dump;

#endif
