/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Congestion notification packets (RoCE annex A17.9.3; obj/cong.h): one for a
 * packet that a switch marked, from the notification point to the reaction
 * point. Both look at connected queue pairs and their peers alone.
 */
#include "rdma/rdma_internal.h"

#include "fw/roce.h"
#include "obj/cong.h"
#include "prm/prm.h"

#define VLAN_PRIO_SHIFT 13

static bool takes_part(const Mlx5Qp *qp, const Mlx5PktAddr *addr)
{
    return (qp->st == MLX5_QP_ST_RC || qp->st == MLX5_QP_ST_UC ||
            qp->st == MLX5_QP_ST_XRC) &&
           qp->state >= MLX5_QP_STATE_RTR && qp->state <= MLX5_QP_STATE_SQD &&
           addr->roce_version == MLX5_ROCE_VERSION_2 &&
           mlx5_path_from_peer(qp, addr);
}

/* Its own traffic class, and priority if it has a tag. */
static void mark_path(const Mlx5CongParams *p, Mlx5PktAddr *addr)
{
    addr->tclass = p->cnp_dscp << 2;
    /* unknown: what mode 1 takes; here the queue pair's. */
    if (!p->cnp_prio_mode) {
        addr->tci &= (1u << VLAN_PRIO_SHIFT) - 1;
        addr->tci |= p->cnp_802p_prio << VLAN_PRIO_SHIFT;
    }
}

static void send(Mlx5QpEngine *e)
{
    Mlx5Cong *c = e->qp->o.func->cong;
    const Mlx5PathHeader *header = mlx5_path_header(e);
    Mlx5Pkt pkt = header->pkt;

    if (header->connected) {
        pkt.svc = MLX5_SVC_CNP;
        pkt.op = MLX5_PKT_CNP;
        pkt.first = pkt.last = true;
        pkt.npsn = 1;
        mark_path(&c->params, &pkt.addr);
        c->np_cnp_sent++;
        mlx5_engine_send(e->qp, &pkt);
    }
}

void mlx5_cnp_marked(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Func *func = e->qp->o.func;
    Mlx5Cong *c = func->cong;
    int64_t now;

    if (!takes_part(e->qp, &pkt->addr) ||
        !mlx5_cong_on(func, MLX5_CONG_NP, mlx5_path_prio(func, &pkt->addr))) {
        return;
    }
    c->np_ecn_marked_roce_packets += pkt->op == MLX5_PKT_READ ? 1 : pkt->npsn;
    now = mlx5_clock_ns(func);
    if (now >= e->cnp_ns) {
        e->cnp_ns = now + c->params.min_time_between_cnps * INT64_C(1000);
        send(e);
    }
}

/* The priority is that of the flow to be slowed, not the CNP's own. */
static bool is_slowed(Mlx5QpEngine *e)
{
    const Mlx5PathHeader *own = mlx5_path_header(e);
    Mlx5Func *func = e->qp->o.func;

    return own->connected &&
           mlx5_cong_on(func, MLX5_CONG_RP,
                        mlx5_path_prio(func, &own->pkt.addr));
}

void mlx5_cnp_receive(Mlx5Func *func, Mlx5Qp *qp, const Mlx5Pkt *pkt)
{
    if (!qp || !qp->engine || !takes_part(qp, &pkt->addr)) {
        func->cong->rp_cnp_ignored++;
        mlx5_engine_refuse(func, pkt);
        return;
    }
    mlx5_pkt_trace(func, "rx", pkt);
    if (is_slowed(qp->engine)) {
        mlx5_cong_slow(qp);
    } else {
        func->cong->rp_cnp_ignored++;
    }
}
