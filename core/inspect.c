/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live state of a function as JSON, for the host's inspector (QOM
 * property, monitor) and for tests. It reads what public headers show and
 * changes nothing.
 */
#include "bus/func.h"
#include "fw/fw.h"
#include "fw/roce.h"
#include "fw/vport.h"
#include "obj/qp.h"

/* Only characters that need no escape reach these strings. */
typedef struct Json {
    GString *out;
    bool first;              /* nothing yet in the innermost bracket */
} Json;

static void comma(Json *j)
{
    if (!j->first) {
        g_string_append_c(j->out, ',');
    }
    j->first = false;
}

static void key(Json *j, const char *name)
{
    comma(j);
    if (name) {
        g_string_append_printf(j->out, "\"%s\":", name);
    }
}

static void open_bracket(Json *j, const char *name, char bracket)
{
    key(j, name);
    g_string_append_c(j->out, bracket);
    j->first = true;
}

static void close_bracket(Json *j, char bracket)
{
    g_string_append_c(j->out, bracket);
    j->first = false;
}

static void put_uint(Json *j, const char *name, uint64_t v)
{
    key(j, name);
    g_string_append_printf(j->out, "%" G_GUINT64_FORMAT, (guint64)v);
}

static void put_bool(Json *j, const char *name, bool v)
{
    key(j, name);
    g_string_append(j->out, v ? "true" : "false");
}

static void put_str(Json *j, const char *name, const char *v)
{
    key(j, name);
    g_string_append_printf(j->out, "\"%s\"", v);
}

static void put_mac(Json *j, const char *name, const uint8_t *m)
{
    key(j, name);
    g_string_append_printf(j->out, "\"%02x:%02x:%02x:%02x:%02x:%02x\"", m[0],
                           m[1], m[2], m[3], m[4], m[5]);
}

static void put_gid(Json *j, const char *name, const uint8_t *g)
{
    key(j, name);
    g_string_append_c(j->out, '"');
    for (int i = 0; i < 16; i += 2) {
        g_string_append_printf(j->out, "%s%02x%02x", i ? ":" : "", g[i],
                               g[i + 1]);
    }
    g_string_append_c(j->out, '"');
}

static void one_eq(void *obj, void *opaque)
{
    Mlx5Eq *eq = obj;
    Json *j = opaque;

    open_bracket(j, NULL, '{');
    put_uint(j, "eqn", eq->o.id);
    put_uint(j, "entries", UINT64_C(1) << eq->log_eq_size);
    put_uint(j, "vector", eq->vector);
    put_uint(j, "producer", eq->pi);
    put_uint(j, "consumer", eq->ci);
    put_bool(j, "armed", eq->armed);
    close_bracket(j, '}');
}

static void one_cq(void *obj, void *opaque)
{
    Mlx5Cq *cq = obj;
    Json *j = opaque;

    open_bracket(j, NULL, '{');
    put_uint(j, "cqn", cq->o.id);
    put_uint(j, "uid", cq->o.uid);
    put_uint(j, "entries", UINT64_C(1) << cq->log_cq_size);
    put_uint(j, "eqn", cq->eq ? cq->eq->o.id : 0);
    put_uint(j, "producer", cq->pi);
    put_bool(j, "armed", cq->armed);
    put_bool(j, "failed", cq->failed);
    put_uint(j, "refs", cq->o.refs);
    close_bracket(j, '}');
}

static const char *st_name(Mlx5QpSt st)
{
    static const char *const names[] = {
        [MLX5_QP_ST_RC] = "rc", [MLX5_QP_ST_UC] = "uc", [MLX5_QP_ST_UD] = "ud",
        [MLX5_QP_ST_XRC] = "xrc", [MLX5_QP_ST_DCI] = "dci",
        [MLX5_QP_ST_DCT] = "dct", [MLX5_QP_ST_QP0] = "qp0",
        [MLX5_QP_ST_QP1] = "gsi", [MLX5_QP_ST_RAW_ETHERTYPE] = "raw",
        [MLX5_QP_ST_REG_UMR] = "umr",
    };

    return (size_t)st < G_N_ELEMENTS(names) && names[st] ? names[st] : "?";
}

static const char *state_name(Mlx5QpState state)
{
    static const char *const names[MLX5_QP_STATE_COUNT] = {
        "RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR",
    };

    return state < MLX5_QP_STATE_COUNT ? names[state] : "?";
}

static void one_qp(void *obj, void *opaque)
{
    Mlx5Qp *qp = obj;
    Json *j = opaque;

    open_bracket(j, NULL, '{');
    put_uint(j, "qpn", qp->o.id);
    put_uint(j, "uid", qp->o.uid);
    put_str(j, "type", st_name(qp->st));
    put_str(j, "state", state_name(qp->state));
    put_uint(j, "pd", mlx5_qp_pdn(qp));
    put_uint(j, "send_cqn", qp->send_cq ? qp->send_cq->o.id : 0);
    put_uint(j, "recv_cqn", qp->recv_cq ? qp->recv_cq->o.id : 0);
    put_uint(j, "srqn", qp->srq ? qp->srq->o.id : 0);
    put_uint(j, "remote_qpn", MLX5_GET(qpc, qp->qpc, remote_qpn));
    close_bracket(j, '}');
}

static void list(Json *j, Mlx5Func *func, const char *name, Mlx5ObjType type,
                 void (*one)(void *, void *))
{
    open_bracket(j, name, '[');
    mlx5_obj_foreach(func, type, one, j);
    close_bracket(j, ']');
}

static void firmware(Json *j, Mlx5Func *func)
{
    const Mlx5ModelInfo *m = mlx5_model_info(func->props.model);
    uint64_t done, refused;

    mlx5_fw_command_counts(func, &done, &refused);
    put_str(j, "model", m->name);
    put_uint(j, "vhca_id", func->vhca_id);
    put_str(j, "hca", mlx5_fw_state_name(mlx5_fw_state(func)));
    put_str(j, "driver", mlx5_fw_driver_version(func));
    put_uint(j, "pages", mlx5_fw_pages_held(func));
    put_uint(j, "commands", done);
    put_uint(j, "commands_refused", refused);
}

static void port(Json *j, Mlx5Func *func)
{
    const Mlx5Vport *v = mlx5_vport(func);

    open_bracket(j, "port", '{');
    put_bool(j, "up", mlx5_fw_port_up(func));
    put_mac(j, "mac", v->mac);
    put_uint(j, "mtu", v->mtu);
    put_bool(j, "roce", v->roce_en);
    put_bool(j, "promisc", v->promisc_all);
    close_bracket(j, '}');
    open_bracket(j, "gids", '[');
    for (uint32_t i = 0; i < MLX5_ROCE_TABLE_SIZE; i++) {
        const Mlx5RoceAddr *a = mlx5_roce_addr(func, i);

        if (a) {
            open_bracket(j, NULL, '{');
            put_uint(j, "index", i);
            put_gid(j, "gid", a->gid);
            put_mac(j, "mac", a->mac);
            put_uint(j, "roce_version", a->version);
            close_bracket(j, '}');
        }
    }
    close_bracket(j, ']');
}

static void counts(Json *j, Mlx5Func *func)
{
    open_bracket(j, "objects", '{');
    for (unsigned t = 0; t < MLX5_OBJ_TYPE_COUNT; t++) {
        put_uint(j, mlx5_obj_type_name(t), mlx5_obj_count(func, t));
    }
    close_bracket(j, '}');
}

char *mlx5_func_inspect(Mlx5Func *func)
{
    Json j = { g_string_new(NULL), true };

    mlx5_func_lock(func);
    open_bracket(&j, NULL, '{');
    firmware(&j, func);
    port(&j, func);
    counts(&j, func);
    list(&j, func, "eqs", MLX5_OBJ_EQ, one_eq);
    list(&j, func, "cqs", MLX5_OBJ_CQ, one_cq);
    list(&j, func, "qps", MLX5_OBJ_QP, one_qp);
    close_bracket(&j, '}');
    mlx5_func_unlock(func);
    return g_string_free(j.out, false);
}
