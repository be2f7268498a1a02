/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live state of a function as JSON, for the host's inspector (QOM
 * property, monitor) and for tests. It reads what headers show and changes
 * nothing. Names are the driver's and the PRM's where those have one.
 */
#include "inspect.h"

#include "fw/cmd_log.h"
#include "fw/fw.h"
#include "fw/roce.h"
#include "fw/vport.h"
#include "obj/table.h"

static void firmware(Mlx5Json *j, Mlx5Func *func)
{
    const Mlx5ModelInfo *m = mlx5_model_info(func->props.model);
    uint64_t done, refused;

    mlx5_fw_command_counts(func, &done, &refused);
    mlx5_json_str(j, "model", m->name);
    mlx5_json_uint(j, "vhca_id", func->vhca_id);
    mlx5_json_str(j, "hca", mlx5_fw_state_name(mlx5_fw_state(func)));
    mlx5_json_str(j, "driver", mlx5_fw_driver_version(func));
    mlx5_json_uint(j, "pages", mlx5_fw_pages_held(func));
    mlx5_json_uint(j, "commands", done);
    mlx5_json_uint(j, "commands_refused", refused);
}

static void one_gid(Mlx5Json *j, uint32_t index, const Mlx5RoceAddr *a)
{
    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "index", index);
    mlx5_json_gid(j, "gid", a->gid);
    mlx5_json_mac(j, "mac", a->mac);
    mlx5_json_uint(j, "roce_version", a->version);
    mlx5_json_close(j, '}');
}

static void port(Mlx5Json *j, Mlx5Func *func)
{
    const Mlx5Vport *v = mlx5_vport(func);

    mlx5_json_open(j, "port", '{');
    mlx5_json_bool(j, "up", mlx5_fw_port_up(func));
    mlx5_json_mac(j, "mac", v->mac);
    mlx5_json_uint(j, "mtu", v->mtu);
    mlx5_json_bool(j, "roce", v->roce_en);
    mlx5_json_bool(j, "promisc", v->promisc_all);
    mlx5_json_close(j, '}');
    mlx5_json_open(j, "gids", '[');
    for (uint32_t i = 0; i < MLX5_ROCE_TABLE_SIZE; i++) {
        const Mlx5RoceAddr *a = mlx5_roce_addr(func, i);

        if (a) {
            one_gid(j, i, a);
        }
    }
    mlx5_json_close(j, ']');
}

static void counts(Mlx5Json *j, Mlx5Func *func)
{
    mlx5_json_open(j, "objects", '{');
    for (unsigned t = 0; t < MLX5_OBJ_TYPE_COUNT; t++) {
        mlx5_json_uint(j, mlx5_obj_type_name(t), mlx5_obj_count(func, t));
    }
    mlx5_json_close(j, '}');
}

static void one_command(const Mlx5CmdNote *note, void *opaque)
{
    g_autoptr(GString) in = g_string_new(NULL), out = g_string_new(NULL);
    const char *name = mlx5_cmd_describe(note, in, out);
    Mlx5Json *j = opaque;

    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "number", note->number);
    mlx5_json_uint(j, "time_ns", note->time_ns);
    mlx5_json_uint(j, "slot", note->slot);
    mlx5_json_uint(j, "opcode", note->opcode);
    mlx5_json_str(j, "name", name ? name : "?");
    mlx5_json_str(j, "in", g_strchug(in->str));
    mlx5_json_str(j, "out", out->str);
    mlx5_json_close(j, '}');
}

static void last_commands(Mlx5Json *j, Mlx5Func *func)
{
    mlx5_json_open(j, "last_commands", '[');
    mlx5_cmd_log_foreach(func, one_command, j);
    mlx5_json_close(j, ']');
}

char *mlx5_func_inspect(Mlx5Func *func)
{
    Mlx5Json j = { g_string_new(NULL), true };

    mlx5_func_lock(func);
    mlx5_json_open(&j, NULL, '{');
    firmware(&j, func);
    port(&j, func);
    counts(&j, func);
    mlx5_inspect_objects(&j, func);
    mlx5_inspect_steering(&j, func);
    mlx5_inspect_counters(&j, func);
    last_commands(&j, func);
    mlx5_json_close(&j, '}');
    mlx5_func_unlock(func);
    return g_string_free(j.out, false);
}
