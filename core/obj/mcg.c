/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multicast groups; see mcg.h. (Driver: mlx5_ib cmd.c mlx5_cmd_attach_mcg.)
 *
 * A group exists while a queue pair is attached. Attaching twice is one
 * attachment, as with the part's predecessors (unknown: what the part says).
 */
#include "obj/mcg.h"

#include "obj/check.h"
#include "obj/limits.h"

typedef struct Mcg {
    uint8_t gid[16];         /* first: the hash table's key */
    GPtrArray *members;      /* Mlx5Qp *, each referenced */
} Mcg;

static guint gid_hash(gconstpointer key)
{
    guint hash = 0;

    for (int i = 0; i < 16; i++) {
        hash = hash * 31 + ((const uint8_t *)key)[i];
    }
    return hash;
}

static gboolean gid_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, 16) == 0;
}

static void mcg_free(gpointer data)
{
    Mcg *mcg = data;

    for (guint i = 0; i < mcg->members->len; i++) {
        mlx5_obj_unref(g_ptr_array_index(mcg->members, i));
    }
    g_ptr_array_unref(mcg->members);
    g_free(mcg);
}

bool mlx5_mcg_is_multicast(const uint8_t gid[16])
{
    static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

    return gid[0] == 0xff ||
           (!memcmp(gid, v4_mapped, 12) && (gid[12] & 0xf0) == 0xe0);
}

static Mcg *find(Mlx5Func *func, const uint8_t gid[16])
{
    return func->mcg ? g_hash_table_lookup(func->mcg, gid) : NULL;
}

const GPtrArray *mlx5_mcg_members(Mlx5Func *func, const uint8_t gid[16])
{
    const Mcg *mcg = find(func, gid);

    return mcg ? mcg->members : NULL;
}

uint32_t mlx5_mcg_count(Mlx5Func *func)
{
    return func->mcg ? g_hash_table_size(func->mcg) : 0;
}

void mlx5_mcg_clear(Mlx5Func *func)
{
    g_clear_pointer(&func->mcg, g_hash_table_unref);
}

static bool offered(Mlx5Func *func, Mlx5Cmd *cmd)
{
    return mlx5_check(cmd, func->props.mcast, MLX5_CMD_STAT_BAD_OP_ERR,
                      MLX5_SYND_MCG_OFF);
}

static Mcg *group_new(Mlx5Func *func, const uint8_t gid[16])
{
    Mcg *mcg = g_new0(Mcg, 1);

    memcpy(mcg->gid, gid, 16);
    mcg->members = g_ptr_array_new();
    if (!func->mcg) {
        func->mcg = g_hash_table_new_full(gid_hash, gid_equal, NULL, mcg_free);
    }
    g_hash_table_insert(func->mcg, mcg->gid, mcg);
    return mcg;
}

void mlx5_cmd_attach_to_mcg(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *gid = MLX5_ADDR_OF(attach_to_mcg_in, cmd->in,
                                      multicast_gid);
    Mcg *mcg = find(func, gid);
    Mlx5Qp *qp;

    if (!offered(func, cmd)) {
        return;
    }
    qp = mlx5_obj_find(func, cmd, MLX5_OBJ_QP,
                       MLX5_GET(attach_to_mcg_in, cmd->in, qpn),
                       MLX5_SYND_MCG_QP);
    if (!qp ||
        !mlx5_check_param(cmd, qp->st == MLX5_QP_ST_UD,
                          MLX5_SYND_MCG_SERVICE) ||
        !mlx5_check_param(cmd, mlx5_mcg_is_multicast(gid),
                          MLX5_SYND_MCG_GID)) {
        return;
    }
    if (mcg && g_ptr_array_find(mcg->members, qp, NULL)) {
        return;
    }
    if (!mlx5_check(cmd, mcg ? mcg->members->len < MLX5_MAX_QP_MCG
                             : mlx5_mcg_count(func) < 1u << MLX5_LOG_MAX_MCG,
                    MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_MCG_FULL)) {
        return;
    }
    mcg = mcg ? mcg : group_new(func, gid);
    mlx5_obj_ref(qp);
    g_ptr_array_add(mcg->members, qp);
}

void mlx5_cmd_detach_from_mcg(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *gid = MLX5_ADDR_OF(detach_from_mcg_in, cmd->in,
                                      multicast_gid);
    Mcg *mcg = find(func, gid);
    Mlx5Qp *qp;

    qp = mlx5_obj_find(func, cmd, MLX5_OBJ_QP,
                       MLX5_GET(detach_from_mcg_in, cmd->in, qpn),
                       MLX5_SYND_MCG_DETACH_QP);
    if (!qp) {
        return;
    }
    if (!mlx5_check(cmd, mcg && g_ptr_array_remove_fast(mcg->members, qp),
                    MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MCG_NOT_MEMBER)) {
        return;
    }
    mlx5_obj_unref(qp);
    if (!mcg->members->len) {
        g_hash_table_remove(func->mcg, gid);
    }
}
