/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * General objects: kinds that share four commands (PRM: CREATE, MODIFY, QUERY
 * and DESTROY_GENERAL_OBJECT). The table in general.c has a row for each kind;
 * the bits of general_obj_types say which a card has.
 */
#ifndef MLX5_OBJ_GENERAL_H
#define MLX5_OBJ_GENERAL_H

#include "obj/table.h"

/** obj_type (libmlx5: mlx5_ifc.h). */
enum {
    MLX5_GENERAL_SCHED_ELEMENT = 0x26,
    MLX5_GENERAL_RESERVED_QPN = 0x2c,
    MLX5_GENERAL_AV_QP_MAPPING = 0x3a,
};

/** A kind. Handlers refuse with the command, or do it. */
typedef struct Mlx5GeneralType {
    uint16_t obj_type;
    Mlx5ObjType space;           /* where its objects are numbered */
    uint32_t in_bytes;           /* of a create or modify, header included */
    /** Number in the table of the object that @obj_id names. */
    uint32_t (*to_number)(uint32_t obj_id);
    /** Make one. Return: its obj_id; not used if refused. */
    uint32_t (*create)(Mlx5Func *func, Mlx5Cmd *cmd);
    /** Change or describe @obj; NULL: it has nothing to change, or to say. */
    void (*modify)(void *obj, Mlx5Cmd *cmd);
    void (*query)(void *obj, Mlx5Cmd *cmd);
} Mlx5GeneralType;

/** Return: the general_obj_types that the table has. */
uint64_t mlx5_general_types(void);

/* sched.c */
extern const Mlx5GeneralType mlx5_general_sched_element;
/* reserved_qpn.c */
extern const Mlx5GeneralType mlx5_general_reserved_qpn;
/* av_qp_mapping.c */
extern const Mlx5GeneralType mlx5_general_av_qp_mapping;

/** Reserved numbers begin here, where no queue has one. */
#define MLX5_RESERVED_QPN_FIRST 0xe00000u
/** Numbers in one object: 2^n (cmd_hca_cap_2.log_reserved_qpn_granularity). */
#define MLX5_LOG_RESERVED_QPNS 6
/** Objects: 2^n. */
#define MLX5_LOG_MAX_RESERVED_QPN 14
/** Mappings of address vectors to queue pairs: 2^n. */
#define MLX5_LOG_MAX_AV_QP_MAPPING 16

#endif
