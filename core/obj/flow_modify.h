/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of changes to headers and registers that flow entries name (PRM:
 * ALLOC_MODIFY_HEADER_CONTEXT; driver: fs_cmd.c, mlx5_ib fs.c). eth/modify.c
 * carries them out.
 */
#ifndef MLX5_OBJ_FLOW_MODIFY_H
#define MLX5_OBJ_FLOW_MODIFY_H

#include "obj/table.h"

/** Where a field of a modify action is; not every frame has every place. */
typedef enum Mlx5FieldPlace {
    MLX5_PLACE_ETH,
    MLX5_PLACE_TYPE,         /* the type behind all tags */
    MLX5_PLACE_VLAN, MLX5_PLACE_IPV4, MLX5_PLACE_IPV6, MLX5_PLACE_TCP,
    MLX5_PLACE_UDP,
    MLX5_PLACE_REG,          /* byte 4 * MLX5_REG_* of the registers */
} Mlx5FieldPlace;

/** Registers that travel with a packet. */
enum { MLX5_REG_A, MLX5_REG_B, MLX5_REG_C0, MLX5_REG_COUNT = MLX5_REG_C0 + 8 };

/** A row: number of a field, and where it is. */
typedef struct Mlx5ModifyField {
    uint16_t id;             /* driver: MLX5_ACTION_IN_FIELD_* */
    uint8_t place;
    uint8_t byte;            /* from the place's start */
    uint8_t bit;             /* from that byte's most significant */
    uint8_t bits;
} Mlx5ModifyField;

extern const Mlx5ModifyField mlx5_modify_fields[];
extern const size_t mlx5_num_modify_fields;

typedef enum Mlx5ModifyType {
    MLX5_MODIFY_SET = 1, MLX5_MODIFY_ADD = 2, MLX5_MODIFY_COPY = 3,
} Mlx5ModifyType;

typedef struct Mlx5ModifyAction {
    Mlx5ModifyType type;
    uint16_t field;          /* the one changed */
    uint8_t offset, length;  /* its bits, from the least significant */
    uint16_t src_field;      /* copy */
    uint8_t src_offset;
    uint32_t data;           /* set, add */
} Mlx5ModifyAction;

typedef struct Mlx5ModifyHdr {
    Mlx5Obj o;
    uint32_t table_type;
    uint32_t num;
    Mlx5ModifyAction actions[]; /* num of them */
} Mlx5ModifyHdr;

#endif
