/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling elements and the rate table, for the commands of queues that
 * name them; pace.h says what they do.
 */
#ifndef MLX5_OBJ_SCHED_H
#define MLX5_OBJ_SCHED_H

#include "obj/pace.h"

/** Elements of all kinds; their numbers fit 16 bits (sqc.qos_queue_group_id). */
#define MLX5_LOG_MAX_SCHED_ELEMENT 10
/** Of them, queue groups (log_max_qos_nic_queue_group). */
#define MLX5_LOG_MAX_QUEUE_GROUP 8
/** Levels below the root. */
#define MLX5_SCHED_MAX_DEPTH 8

/**
 * Find queue group @id for a command; 0 is none: *@group becomes NULL.
 * Return: false, and the command refused with @syndrome, if there is none such.
 */
bool mlx5_sched_find_group(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t id,
                           uint32_t syndrome, Mlx5SchedElem **group);
/**
 * May the command name entry @index of the rate table? 0 is no limit.
 * Return: false, and the command refused with @syndrome, if it is not set.
 */
bool mlx5_rate_check(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t index,
                     uint32_t syndrome);

#endif
