/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Priorities and traffic classes of frames (IEEE 802.1Q 8.6.8, ETS; driver:
 * en_dcbnl.c): what a frame counts as, and the limit of a class, which holds
 * back the SQs whose priority is in it, together. An SQ's priority is that of
 * its TIS.
 *
 * Left out: RoCE packets are in no class; they are neither counted by priority
 * nor held back.
 */
#include "eth/eth_internal.h"

#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_QINQ 0x88a8
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define VLAN_BYTES 4

static int dscp_of(uint16_t type, const uint8_t *ip)
{
    switch (type) {
    case ETHERTYPE_IPV4:
        return ip[1] >> 2;
    case ETHERTYPE_IPV6:
        return mlx5_get_be16(ip) >> 6 & 0x3f;
    default:
        return -1;
    }
}

/* @frame has an Ethernet header at least. */
static unsigned prio_of(Mlx5Func *func, const uint8_t *frame, size_t len)
{
    uint16_t type = mlx5_get_be16(frame + 12);
    size_t at = MLX5_ETH_HLEN;
    int pcp = -1;

    if ((type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ) &&
        len >= at + VLAN_BYTES) {
        pcp = frame[at] >> 5;
        type = mlx5_get_be16(frame + at + 2);
        at += VLAN_BYTES;
    }
    return mlx5_port_prio(func, pcp,
                          len >= at + 2 ? dscp_of(type, frame + at) : -1);
}

void mlx5_eth_count_prio(Mlx5Func *func, const uint8_t *frame, size_t len,
                         bool tx, Mlx5Traffic traffic)
{
    mlx5_port_count_prio(func, prio_of(func, frame, len), tx, traffic);
}

unsigned mlx5_eth_sq_prio(const Mlx5Sq *sq)
{
    /* tisc.prio has a bit below the priority (driver: en_main.c). */
    return sq->tis ? MLX5_GET(tisc, sq->tis->tisc, prio) >> 1 : 0;
}

static void wake(void *obj, void *opaque)
{
    Mlx5Sq *sq = obj;

    (void)opaque;
    mlx5_work_schedule(sq->o.func, &sq->work);
}

void mlx5_eth_wake_sqs(Mlx5Func *func)
{
    mlx5_obj_foreach(func, MLX5_OBJ_SQ, wake, NULL);
}

static void fire(void *opaque)
{
    mlx5_eth_wake_sqs(opaque);
}

void mlx5_eth_ets_new(Mlx5Func *func)
{
    mlx5_timer_init(&func->eth->ets.timer, fire, func);
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        func->eth->ets.limit[i].burst_ns = MLX5_PACE_BURST_NS;
    }
}

void mlx5_eth_ets_reset(Mlx5Func *func)
{
    mlx5_timer_cancel(func, &func->eth->ets.timer);
}

Mlx5Bucket *mlx5_eth_ets_limit(Mlx5Sq *sq)
{
    Mlx5Func *func = sq->o.func;
    unsigned tc = mlx5_port_tc(func, mlx5_eth_sq_prio(sq));
    Mlx5Bucket *limit = &func->eth->ets.limit[tc];

    limit->kbps = mlx5_port_tc_kbps(func, tc);
    return limit->kbps ? limit : NULL;
}

bool mlx5_eth_ets_may(Mlx5Func *func, const Mlx5Bucket *limit)
{
    Mlx5Timer *timer = &func->eth->ets.timer;
    int64_t now = mlx5_clock_ns(func);

    if (limit->ready_ns <= now) {
        return true;
    }
    /* One timer for all classes: who still may not will wait again. */
    if (!mlx5_timer_armed(timer) || timer->deadline_ns > limit->ready_ns) {
        mlx5_timer_arm(func, timer, limit->ready_ns);
    }
    return false;
}
