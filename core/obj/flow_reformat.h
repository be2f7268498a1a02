/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packet reformat contexts: headers that flow entries put before packets or
 * take from them (PRM: ALLOC_PACKET_REFORMAT_CONTEXT; driver: fs_cmd.c,
 * mlx5_ib fs.c). eth/reformat.c carries them out.
 */
#ifndef MLX5_OBJ_FLOW_REFORMAT_H
#define MLX5_OBJ_FLOW_REFORMAT_H

#include "obj/table.h"

/** packet_reformat_context_in.reformat_type (driver: mlx5_ifc.h). */
typedef enum Mlx5ReformatType {
    MLX5_REFORMAT_L2_TO_VXLAN = 0x0,
    MLX5_REFORMAT_L2_TO_NVGRE = 0x1,
    MLX5_REFORMAT_L2_TO_L2_TUNNEL = 0x2,
    MLX5_REFORMAT_L3_TUNNEL_TO_L2 = 0x3,
    MLX5_REFORMAT_L2_TO_L3_TUNNEL = 0x4,
} Mlx5ReformatType;

typedef struct Mlx5Reformat {
    Mlx5Obj o;
    Mlx5ReformatType type;
    uint32_t len;
    uint8_t data[];          /* headers, len bytes */
} Mlx5Reformat;

#endif
