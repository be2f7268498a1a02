/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layouts that go by another name than opcodes.def derives, <layout>_in and
 * <layout>_out: commands of general objects share a header (driver:
 * mlx5_ifc.h general_obj_in_cmd_hdr). For those who include that table.
 */
#ifndef MLX5_FW_CMD_LAYOUTS_H
#define MLX5_FW_CMD_LAYOUTS_H

#include "prm/prm.h"

#define mlx5_layout_general_obj_in mlx5_layout_general_obj_in_cmd_hdr
#define mlx5_layout_general_obj_out mlx5_layout_general_obj_out_cmd_hdr
#define MLX5_BITS_general_obj_in MLX5_BITS_general_obj_in_cmd_hdr
#define MLX5_BITS_general_obj_out MLX5_BITS_general_obj_out_cmd_hdr

#endif
