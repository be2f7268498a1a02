/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups: which queue pairs receive what is sent to a group's GID
 * (IBA 10.5; PRM: ATTACH_TO_MCG, DETACH_FROM_MCG).
 */
#ifndef MLX5_OBJ_MCG_H
#define MLX5_OBJ_MCG_H

#include "obj/qp.h"

/** A multicast GID: one of IPv6, or IPv4's in the form ::ffff:a.b.c.d. */
bool mlx5_mcg_is_multicast(const uint8_t gid[16]);
/** Return: the Mlx5Qp pointers attached to @gid, or NULL if none is. */
const GPtrArray *mlx5_mcg_members(Mlx5Func *func, const uint8_t gid[16]);
uint32_t mlx5_mcg_count(Mlx5Func *func);
/** Detach everybody; queue pairs that are attached refuse to die. */
void mlx5_mcg_clear(Mlx5Func *func);

#endif
