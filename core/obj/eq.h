/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event queues (PRM: Event Queues; driver: eq.c).
 */
#ifndef MLX5_OBJ_EQ_H
#define MLX5_OBJ_EQ_H

#include "obj/ring.h"
#include "obj/table.h"

/** Event types (driver: device.h enum mlx5_event). */
typedef enum Mlx5EventType {
    MLX5_EVENT_TYPE_COMP = 0x00,
    MLX5_EVENT_TYPE_PATH_MIG = 0x01,
    MLX5_EVENT_TYPE_COMM_EST = 0x02,
    MLX5_EVENT_TYPE_SQ_DRAINED = 0x03,
    MLX5_EVENT_TYPE_CQ_ERROR = 0x04,
    MLX5_EVENT_TYPE_WQ_CATAS_ERROR = 0x05,
    MLX5_EVENT_TYPE_PORT_CHANGE = 0x09,
    MLX5_EVENT_TYPE_CMD = 0x0a,
    MLX5_EVENT_TYPE_PAGE_REQUEST = 0x0b,
    MLX5_EVENT_TYPE_PAGE_FAULT = 0x0c,
    MLX5_EVENT_TYPE_NIC_VPORT_CHANGE = 0x0d,
    MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR = 0x10,
    MLX5_EVENT_TYPE_WQ_ACCESS_ERROR = 0x11,
    MLX5_EVENT_TYPE_SRQ_CATAS_ERROR = 0x12,
    MLX5_EVENT_TYPE_SRQ_LAST_WQE = 0x13,
    MLX5_EVENT_TYPE_SRQ_RQ_LIMIT = 0x14,
    MLX5_EVENT_TYPE_DCT_DRAINED = 0x1c,
    MLX5_EVENT_TYPE_DCT_KEY_VIOLATION = 0x1d,
} Mlx5EventType;

typedef struct Mlx5Eq {
    Mlx5Obj o;
    Mlx5Ring ring;
    uint32_t log_eq_size;
    uint32_t vector;
    uint32_t uar;            /* the page through which it is rung */
    Mlx5Obj *uar_page;       /* that page; not freed while we are */
    bool oi;                 /* overrun ignore: overwrite, never drop */
    uint64_t event_mask[4];  /* event n = bit n % 64 of word n / 64 */
    uint32_t pi;             /* next entry written, free running, 24 bits */
    uint32_t ci;             /* as the driver last said, 24 bits */
    bool armed;
    bool failed;             /* an entry could not be written */
    uint8_t eqc[MLX5_BITS_eqc / 8]; /* as created, for QUERY_EQ */
} Mlx5Eq;

/**
 * Write an EQE and interrupt if armed. @data: 28 bytes of event data.
 * A full EQ drops the event and reports health syndrome EQ overrun.
 */
void mlx5_eq_post(Mlx5Eq *eq, uint8_t type, uint8_t sub_type,
                  const uint8_t data[28]);
/** Deliver to every EQ whose mask has @type. Return: false if none has. */
bool mlx5_event_raise(Mlx5Func *func, uint8_t type, uint8_t sub_type,
                      const uint8_t data[28]);
/** Is there an EQ whose mask has @type? */
bool mlx5_event_wanted(Mlx5Func *func, uint8_t type);
/** An event about a QP, SRQ ...: number and kind (0 QP, 1 RQ, 2 SQ,
 * 6 DCT). */
void mlx5_event_raise_wq(Mlx5Func *func, uint8_t type, uint32_t number,
                         uint8_t kind);
/** EQ doorbell: @arm is the register at 0x40, else 0x48 (update only). */
void mlx5_eq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t value, bool arm);

#endif
