/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting for the wire: what a queue pair sends is copied into frames at once,
 * so that one that sends more than the host's network takes would fill memory.
 * It asks before each piece; who was refused goes on when the host says so.
 * Short answers do not ask.
 */
#include "rdma/rdma_internal.h"

bool mlx5_engine_wire_busy(Mlx5QpEngine *e)
{
    if (G_LIKELY(!mlx5_wire_busy(e->qp->o.func))) {
        return false;
    }
    g_hash_table_add(mlx5_engine_rdma(e->qp)->wire_waiters, e);
    return true;
}

/* The work items of all that waited; they look again for themselves. */
void mlx5_engine_wire_go_on(Mlx5Func *func)
{
    GHashTable *waiters = func->rdma->wire_waiters;
    GHashTableIter iter;
    gpointer e;

    g_hash_table_iter_init(&iter, waiters);
    while (g_hash_table_iter_next(&iter, &e, NULL)) {
        Mlx5QpEngine *engine = e;

        g_hash_table_iter_remove(&iter);
        mlx5_engine_schedule(engine->qp, &engine->req.work);
        mlx5_engine_schedule(engine->qp, &engine->resp.work);
    }
}
