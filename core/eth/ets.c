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

unsigned mlx5_eth_prio(Mlx5Func *func, const Mlx5FrameInfo *info)
{
    int pcp = info->cvlan || info->svlan ? info->tci >> 13 : -1;
    int dscp = info->ip_version ? info->tos >> 2 : -1;

    return mlx5_port_prio(func, pcp, dscp);
}

void mlx5_eth_count_prio(Mlx5Func *func, const Mlx5FrameInfo *info, bool tx,
                         Mlx5Traffic traffic)
{
    mlx5_port_count_prio(func, mlx5_eth_prio(func, info), tx, traffic);
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

void mlx5_eth_ets_reset(Mlx5Func *func)
{
    Mlx5Ets *ets = &func->eth->ets;

    mlx5_timer_cancel(func, &ets->timer);
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        ets->limit[i] = (Mlx5Bucket){ .burst_ns = MLX5_PACE_BURST_NS };
    }
}

void mlx5_eth_ets_new(Mlx5Func *func)
{
    mlx5_timer_init(&func->eth->ets.timer, fire, func);
    mlx5_eth_ets_reset(func);
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
