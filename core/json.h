/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON into a string: what core/inspect*.c need and no more.
 */
#ifndef MLX5_JSON_H
#define MLX5_JSON_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Only characters that need no escape reach these strings. */
typedef struct Mlx5Json {
    GString *out;
    bool first;              /* nothing yet in the innermost bracket */
} Mlx5Json;

/** @name: of the member; NULL in an array. */
void mlx5_json_open(Mlx5Json *j, const char *name, char bracket);
void mlx5_json_close(Mlx5Json *j, char bracket);
void mlx5_json_uint(Mlx5Json *j, const char *name, uint64_t v);
void mlx5_json_bool(Mlx5Json *j, const char *name, bool v);
void mlx5_json_str(Mlx5Json *j, const char *name, const char *v);
/** @m: 6 bytes. */
void mlx5_json_mac(Mlx5Json *j, const char *name, const uint8_t *m);
/** @g: 16 bytes. */
void mlx5_json_gid(Mlx5Json *j, const char *name, const uint8_t *g);

#endif
