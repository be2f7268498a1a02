/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the firmware asks of the layers below it. They include fw/, so fw/
 * cannot include them: the few functions it calls are declared here, with the
 * meaning their own headers give them.
 */
#ifndef MLX5_FW_LOWER_H
#define MLX5_FW_LOWER_H

#include "bus/func.h"

/* obj/eq.h */
bool mlx5_event_raise(Mlx5Func *func, uint8_t type, uint8_t sub_type,
                      const uint8_t data[28]);
/** Return: is there an EQ whose mask has @type? */
bool mlx5_event_wanted(Mlx5Func *func, uint8_t type);

/* obj/table.h */
/** Return: objects of all types together. */
uint32_t mlx5_obj_total(Mlx5Func *func);

/* obj/uctx.c */
/** Is @uid (not 0) a user context, or the owner of what all share? */
bool mlx5_uctx_exists(Mlx5Func *func, uint16_t uid);

/* card.c */
/** Free every object and reset the layers below the firmware. */
void mlx5_func_stop(Mlx5Func *func);
/** The whole of a function-level reset, with the lock held. */
void mlx5_func_reset_locked(Mlx5Func *func);

/* Event types the firmware raises (driver: device.h enum mlx5_event). */
enum {
    MLX5_FW_EVENT_PORT_CHANGE = 0x09,
    MLX5_FW_EVENT_CMD = 0x0a,
    MLX5_FW_EVENT_PAGE_REQUEST = 0x0b,
};

#endif
