/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a function's state that inspect.c puts together. */
#ifndef MLX5_INSPECT_H
#define MLX5_INSPECT_H

#include "bus/func.h"
#include "json.h"

/** One array per type of queue, key and page. */
void mlx5_inspect_objects(Mlx5Json *j, Mlx5Func *func);
/** Flow tables with their groups, entries and counters; TIRs and RQTs. */
void mlx5_inspect_steering(Mlx5Json *j, Mlx5Func *func);
/** Port, vport and Q counters. */
void mlx5_inspect_counters(Mlx5Json *j, Mlx5Func *func);

#endif
