/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal switch; see link.h. (RoCE annex A17: a packet is for the port that
 * has its destination GID in the address table of its version; one to a
 * multicast GID is for every port with a queue pair in the group.)
 */
#include "net/link.h"

#include "fw/roce.h"
#include "net/count.h"
#include "obj/mcg.h"

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

static void deliver(Mlx5Func *from, Mlx5Func *to, Mlx5Pkt *pkt)
{
    mlx5_net_count_rx(to, pkt);
    mlx5_rdma_receive(to, pkt);
    if (to != from) {
        /* Its work queue has no caller of its own here. */
        to->deferred.kick = true;
    }
}

/* To every function; each knows who is in the group. */
static void send_multicast(Mlx5Func *from, Mlx5Pkt *pkt)
{
    GPtrArray *funcs = from->card->funcs;

    for (guint i = 0; i < funcs->len; i++) {
        Mlx5Func *to = g_ptr_array_index(funcs, i);

        if (mlx5_mcg_members(to, pkt->addr.dgid)) {
            deliver(from, to, pkt);
        }
    }
}

void mlx5_link_send(Mlx5Func *func, Mlx5Pkt *pkt)
{
    Mlx5Func *to;

    mlx5_net_count_tx(func, pkt);
    if (pkt->dqpn == MLX5_QPN_MULTICAST) {
        send_multicast(func, pkt);
        return;
    }
    to = find(func->card, &pkt->addr);
    if (to) {
        deliver(func, to, pkt);
    } else {
        mlx5_pkt_trace(func, "lost", pkt);
    }
}
