/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal switch; see link.h. (RoCE annex A17: a packet is for the port that
 * has its destination GID in the address table of its version; one to a
 * multicast GID is for every port with a queue pair in the group.)
 */
#include "net/link.h"

#include "fw/roce.h"
#include "fw/vport.h"
#include "obj/mcg.h"

void mlx5_net_new(Mlx5Func *func)
{
    mlx5_rdma_set_link(func, mlx5_link_send);
}

/*
 * RoCE packets count in the vport counters of sender and receiver, with as many
 * bytes as they have on a wire (IBA 5.2; RoCE annexes A16 and A17).
 */
#define ETH_BYTES 14u
#define GRH_BYTES 40u        /* also what an IPv6 header has */
#define IPV4_BYTES 20u
#define UDP_BYTES 8u
#define BTH_BYTES 12u
#define ICRC_BYTES 4u
#define DETH_BYTES 8u
#define XRCETH_BYTES 4u
#define IMM_BYTES 4u

/* Extended headers of a message (IBA table 39), whichever packet has them. */
static const uint8_t extended[MLX5_PKT_OP_COUNT] = {
    [MLX5_PKT_WRITE] = 16, [MLX5_PKT_READ] = 16,
    [MLX5_PKT_CMP_SWAP] = 28, [MLX5_PKT_FETCH_ADD] = 28,
    [MLX5_PKT_READ_RESP] = 4, [MLX5_PKT_ACK] = 4, [MLX5_PKT_ATOMIC_ACK] = 12,
};

/* What every packet of @pkt has beside payload. */
static uint64_t headers(const Mlx5Pkt *pkt)
{
    uint64_t n = ETH_BYTES + BTH_BYTES + ICRC_BYTES;

    if (pkt->addr.roce_version) {
        n += (pkt->addr.ipv4 ? IPV4_BYTES : GRH_BYTES) + UDP_BYTES;
    } else {
        n += GRH_BYTES;
    }
    n += pkt->svc == MLX5_SVC_UD ? DETH_BYTES : 0;
    return n + (pkt->svc == MLX5_SVC_XRC ? XRCETH_BYTES : 0);
}

static Mlx5Traffic traffic(const Mlx5Pkt *pkt)
{
    /* A read request counts the numbers of its responses. */
    Mlx5Traffic t = { .packets = pkt->op == MLX5_PKT_READ ? 1 : pkt->npsn };

    t.octets = t.packets * headers(pkt) + pkt->len;
    t.octets += pkt->first || pkt->op > MLX5_PKT_READ_RESP
                    ? extended[pkt->op] : 0;
    t.octets += pkt->last && (pkt->has_imm || pkt->has_inv) ? IMM_BYTES : 0;
    return t;
}

static void add(Mlx5Traffic *sum, const Mlx5Pkt *pkt)
{
    Mlx5Traffic t = traffic(pkt);

    sum->packets += t.packets;
    sum->octets += t.octets;
}

/* @func sends @pkt; also what nobody receives. */
static void count_tx(Mlx5Func *func, const Mlx5Pkt *pkt)
{
    Mlx5VportCounters *c = &mlx5_vport(func)->counters;

    add(pkt->dqpn == MLX5_QPN_MULTICAST ? &c->transmitted_ib_multicast
                                        : &c->transmitted_ib_unicast, pkt);
}

/* @func is who @pkt is for. */
static void count_rx(Mlx5Func *func, const Mlx5Pkt *pkt)
{
    Mlx5VportCounters *c = &mlx5_vport(func)->counters;

    add(pkt->dqpn == MLX5_QPN_MULTICAST ? &c->received_ib_multicast
                                        : &c->received_ib_unicast, pkt);
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
    count_rx(to, pkt);
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

    count_tx(func, pkt);
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
