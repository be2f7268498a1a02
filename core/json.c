/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes JSON (RFC 8259) into a string. */
#include "json.h"

static void put_name(Mlx5Json *j, const char *name)
{
    if (!j->first) {
        g_string_append_c(j->out, ',');
    }
    j->first = false;
    if (name) {
        g_string_append_printf(j->out, "\"%s\":", name);
    }
}

void mlx5_json_open(Mlx5Json *j, const char *name, char bracket)
{
    put_name(j, name);
    g_string_append_c(j->out, bracket);
    j->first = true;
}

void mlx5_json_close(Mlx5Json *j, char bracket)
{
    g_string_append_c(j->out, bracket);
    j->first = false;
}

void mlx5_json_uint(Mlx5Json *j, const char *name, uint64_t v)
{
    put_name(j, name);
    g_string_append_printf(j->out, "%" G_GUINT64_FORMAT, (guint64)v);
}

void mlx5_json_bool(Mlx5Json *j, const char *name, bool v)
{
    put_name(j, name);
    g_string_append(j->out, v ? "true" : "false");
}

void mlx5_json_str(Mlx5Json *j, const char *name, const char *v)
{
    put_name(j, name);
    g_string_append_printf(j->out, "\"%s\"", v);
}

void mlx5_json_mac(Mlx5Json *j, const char *name, const uint8_t *m)
{
    put_name(j, name);
    g_string_append_printf(j->out, "\"%02x:%02x:%02x:%02x:%02x:%02x\"", m[0],
                           m[1], m[2], m[3], m[4], m[5]);
}

void mlx5_json_gid(Mlx5Json *j, const char *name, const uint8_t *g)
{
    put_name(j, name);
    g_string_append_c(j->out, '"');
    for (int i = 0; i < 16; i += 2) {
        g_string_append_printf(j->out, "%s%02x%02x", i ? ":" : "", g[i],
                               g[i + 1]);
    }
    g_string_append_c(j->out, '"');
}
