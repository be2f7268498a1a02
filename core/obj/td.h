/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport domains: what a TIS sends from and a TIR receives for; a frame
 * between two of one domain is a self loopback (PRM: Transport Domain).
 */
#ifndef MLX5_OBJ_TD_H
#define MLX5_OBJ_TD_H

#include "obj/table.h"

typedef struct Mlx5Td {
    Mlx5Obj o;
    uint32_t deaf_tirs;      /* its TIRs that take no self loopback at all */
} Mlx5Td;

#endif
