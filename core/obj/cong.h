/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Congestion control of RoCE v2, DCQCN (PRM: Congestion Control; RoCE annex
 * A17.9.3; Zhu et al., SIGCOMM 2015). Guarded by Mlx5Card.lock.
 *
 *   sender     ECT on what connected queue pairs send
 *   a switch   makes it CE
 *   receiver   the notification point (NP): answers with a CNP, now and then
 *   sender     the reaction point (RP): slows that queue pair down, and lets it
 *              recover
 *
 * Both points are on or off by priority. The card's own wire has no rate: a
 * flow that is slowed starts from the speed that the link says it has, so it
 * takes some CNPs, or rate_to_set_on_first_cnp, until a slow host notices.
 *
 * A CNP never stops a queue pair: its rate stays at or above rpg_min_rate, which
 * is never zero, and comes back by itself. All of it is computed when the queue
 * pair wants to send, from the time that passed; no timer runs.
 *
 * Left out: datagrams and DC, which are neither marked nor slowed; 802.1Qau;
 * sum_flows, whose period no source tells.
 */
#ifndef MLX5_OBJ_CONG_H
#define MLX5_OBJ_CONG_H

#include "obj/qp.h"

/** cong_protocol (driver: cong.c enum mlx5_ib_cong_node_type). */
typedef enum Mlx5CongPoint {
    MLX5_CONG_RP = 1,
    MLX5_CONG_NP = 2,
} Mlx5CongPoint;

/** A queue pair that is slowed. */
struct Mlx5CongFlow {
    Mlx5Qp *qp;
    Mlx5Bucket limit;        /* of requests and answers together */
    uint64_t rate, target;   /* kbit/s: now, and what it recovers to */
    uint64_t alpha;          /* of 2^26 */
    bool noticed;            /* a CNP came since alpha was computed */
    int64_t alpha_ns;        /* alpha holds from then on */
    int64_t cut_ns;          /* last time it was slowed */
    int64_t time_ns;         /* the timer's next round began */
    uint64_t bytes;          /* sent since the byte counter's last round */
    uint32_t time_rounds, byte_rounds; /* since it was slowed */
    bool over;               /* it has recovered, and will be freed */
    GList in_all;
};

/** Parameters of both points, by their names in the PRM. */
typedef struct Mlx5CongParams {
#define RP(bit, field, preset, least, most) uint32_t field;
#define NP(bit, field, preset, least, most) uint32_t field;
#include "obj/cong_params.def"
} Mlx5CongParams;

/** State of a function. */
struct Mlx5Cong {
    Mlx5CongParams params;
    uint8_t enabled[MLX5_CONG_NP + 1]; /* by point: priorities, a bit each */
    GQueue flows;            /* Mlx5CongFlow * */
    Mlx5Work work;           /* frees those that are over */
    uint64_t rp_cnp_handled, rp_cnp_ignored;
    uint64_t np_ecn_marked_roce_packets, np_cnp_sent;
};

void mlx5_cong_new(Mlx5Func *func);
void mlx5_cong_reset(Mlx5Func *func);
void mlx5_cong_free(Mlx5Func *func);

/** Is @point on for @prio? */
static inline bool mlx5_cong_on(const Mlx5Func *func, Mlx5CongPoint point,
                                unsigned prio)
{
    return func->cong->enabled[point] >> prio & 1;
}

/** A CNP for @qp came from its peer, of a flow whose priority is slowed. */
void mlx5_cong_slow(Mlx5Qp *qp);
/** Forget that @qp is slowed. */
void mlx5_cong_forget(Mlx5Qp *qp);
/** May the queue pair of @f send a packet at @now? */
bool mlx5_cong_may(Mlx5CongFlow *f, int64_t now);
/** It sent @bytes. */
void mlx5_cong_charge(Mlx5CongFlow *f, int64_t now, uint64_t bytes);
/** Flows that are slowed now. */
uint32_t mlx5_cong_num_flows(Mlx5Func *func);

#endif
