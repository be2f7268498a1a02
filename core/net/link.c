/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal switch; see link.h. (RoCE annex A17: a packet is for the port that
 * has its destination GID in the address table of its version; one to a
 * multicast GID is for every port with a queue pair in the group.)
 */
#include "net/link.h"

#include "eth/eth.h"
#include "fw/roce.h"
#include "net/roce.h"
#include "obj/flow_table.h"
#include "obj/mcg.h"

void mlx5_net_new(Mlx5Func *func)
{
    mlx5_rdma_set_link(func, mlx5_link_send);
    mlx5_eth_set_roce(func, mlx5_wire_rx);
}

/* RoCE packets count in the vport counters of sender and receiver. */
static void add(Mlx5Traffic *sum, Mlx5Traffic t)
{
    sum->packets += t.packets;
    sum->octets += t.octets;
}

/* @func sends @pkt, which is @t; also what nobody receives. */
static void count_tx(Mlx5Func *func, const Mlx5Pkt *pkt, Mlx5Traffic t)
{
    Mlx5VportCounters *c = &mlx5_vport(func)->counters;

    add(pkt->dqpn == MLX5_QPN_MULTICAST ? &c->transmitted_ib_multicast
                                        : &c->transmitted_ib_unicast, t);
}

/* @func is who @pkt is for. */
static void count_rx(Mlx5Func *func, const Mlx5Pkt *pkt, Mlx5Traffic t)
{
    Mlx5VportCounters *c = &mlx5_vport(func)->counters;

    add(pkt->dqpn == MLX5_QPN_MULTICAST ? &c->received_ib_multicast
                                        : &c->received_ib_unicast, t);
}

/*
 * Is there no flow entry of @func that drops it? What only tells a peer in the
 * card of a page is on no wire, and nobody would ask for it again.
 */
static bool passes_flows(Mlx5Func *func, uint32_t type, const Mlx5Pkt *pkt)
{
    if (pkt->paging == MLX5_PAGING_HOLD || pkt->paging == MLX5_PAGING_GO ||
        mlx5_roce_passes(func, type, pkt)) {
        return true;
    }
    mlx5_pkt_trace(func, "drop", pkt);
    return false;
}

static inline bool passes(Mlx5Func *func, uint32_t type, const Mlx5Pkt *pkt)
{
    return G_LIKELY(!func->flow_root[type]) || passes_flows(func, type, pkt);
}

static void receive(Mlx5Func *to, Mlx5Pkt *pkt, Mlx5Traffic t)
{
    count_rx(to, pkt, t);
    if (passes(to, MLX5_FLOW_TABLE_TYPE_RDMA_RX, pkt)) {
        mlx5_rdma_receive(to, pkt);
    }
}

void mlx5_link_receive(Mlx5Func *to, Mlx5Pkt *pkt)
{
    receive(to, pkt, mlx5_roce_traffic(pkt));
}

static void deliver(Mlx5Func *from, Mlx5Func *to, Mlx5Pkt *pkt, Mlx5Traffic t)
{
    receive(to, pkt, t);
    if (to != from) {
        /* Its work queue has no caller of its own here. */
        to->deferred.kick = true;
    }
}

/* To every function; each knows who is in the group. */
static void send_multicast(Mlx5Func *from, Mlx5Pkt *pkt, Mlx5Traffic t)
{
    GPtrArray *funcs = from->card->funcs;

    for (guint i = 0; i < funcs->len; i++) {
        Mlx5Func *to = g_ptr_array_index(funcs, i);

        if (mlx5_mcg_members(to, pkt->addr.dgid)) {
            deliver(from, to, pkt, t);
        }
    }
    mlx5_wire_send(from, pkt);
}

void mlx5_link_send(Mlx5Func *func, Mlx5Pkt *pkt)
{
    Mlx5Traffic t;
    Mlx5Func *to;

    if (!passes(func, MLX5_FLOW_TABLE_TYPE_RDMA_TX, pkt)) {
        return;
    }
    t = mlx5_roce_traffic(pkt);
    count_tx(func, pkt, t);
    if (pkt->dqpn == MLX5_QPN_MULTICAST) {
        send_multicast(func, pkt, t);
        return;
    }
    to = pkt->to ? pkt->to
                 : mlx5_roce_owner(func->card, pkt->addr.dgid,
                                   pkt->addr.roce_version);
    if (to) {
        deliver(func, to, pkt, t);
    } else {
        mlx5_wire_send(func, pkt);
    }
}
