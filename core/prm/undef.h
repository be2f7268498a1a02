/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends one expansion of the .def files; included many times on purpose. */
#undef MLX5_LAYOUT
#undef MLX5_FIELD
#undef MLX5_BLOB
#undef MLX5_ARRAY
#undef MLX5_STRUCT
#undef MLX5_STRUCTS
#undef MLX5_END
