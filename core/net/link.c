/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal switch; see link.h. (RoCE annex A17: a packet is for the port that
 * has its destination GID in the address table of its version.)
 */
#include "net/link.h"

#include "fw/roce.h"

void mlx5_net_new(Mlx5Func *func)
{
    mlx5_rdma_set_link(func, mlx5_link_send);
}

static Mlx5Func *find(Mlx5Card *card, const Mlx5PktAddr *addr)
{
    for (guint i = 0; i < card->funcs->len; i++) {
        Mlx5Func *func = g_ptr_array_index(card->funcs, i);

        if (mlx5_roce_find(func, addr->dgid, addr->roce_version)) {
            return func;
        }
    }
    return NULL;
}

void mlx5_link_send(Mlx5Func *func, Mlx5Pkt *pkt)
{
    Mlx5Func *to = find(func->card, &pkt->addr);

    if (!to) {
        mlx5_pkt_trace(func, "lost", pkt);
        return;
    }
    mlx5_rdma_receive(to, pkt);
    if (to != func) {
        /* Its work queue has no caller of its own here. */
        to->deferred.kick = true;
    }
}
