/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow counters: packets and octets of the entries that name them, alone or in
 * bulks (PRM: ALLOC_FLOW_COUNTER ...; driver: fs_counters.c, mlx5_ib
 * counters.c, devx.c).
 *
 * A guest's number is the object's and, in the low bits, the counter's index
 * in its bulk; a counter of its own is a bulk of one.
 */
#ifndef MLX5_OBJ_FLOW_COUNTER_H
#define MLX5_OBJ_FLOW_COUNTER_H

#include "obj/table.h"

/** Counters of the largest bulk (driver: MLX5_FC_BULK_16384), as a log. */
#define MLX5_FLOW_COUNTER_INDEX_LOG 14

typedef struct Mlx5FlowCount {
    uint64_t packets, octets;
} Mlx5FlowCount;

typedef struct Mlx5FlowCounters {
    Mlx5Obj o;
    uint32_t num;
    Mlx5FlowCount *counts;   /* num of them */
} Mlx5FlowCounters;

/**
 * The counter of number @id for a command: refuses with @syndrome what does
 * not exist or is another user context's. @owner: whom to hold.
 */
Mlx5FlowCount *mlx5_flow_counter_find(Mlx5Func *func, Mlx5Cmd *cmd,
                                      uint32_t id, uint32_t syndrome,
                                      Mlx5FlowCounters **owner);

#endif
