/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding queues back (PRM: QoS, Packet Pacing, Scheduling Elements; driver:
 * rl.c, qos.c, en/htb.c). Guarded by Mlx5Card.lock.
 *
 * Three things slow a queue down:
 *
 *   its rate     an index into the function's rate table; each queue that
 *                names it is held to that rate by itself
 *   its flow     what its peer told it of congestion (obj/cong.h)
 *   its group    a leaf of the tree of scheduling elements; each element with
 *                a limit holds what is below it to that rate together, and
 *                divides it by bw_share
 *
 * A queue that neither slows has no Mlx5Pace and pays for one test of a
 * pointer. One that has asks mlx5_pace_may() before each packet it makes. If
 * that says no, its work item ends, and is run again when it may:
 *
 *   rate, flow   the queue's own timer schedules it
 *   group        it waits in its group; the pacer's work item walks the tree from
 *                the root to the next in turn and runs that one for a packet
 *
 * A limit is a bucket of time: a packet moves the moment from which more may
 * be sent by as long as it takes at the limit. That moment may lie in the past
 * by the burst, which is what makes up for a host's timers being late. What
 * was sent is thus never more than limit * time + burst + the last packet.
 *
 * The line itself has no rate here: shares count below a limit alone.
 */
#ifndef MLX5_OBJ_PACE_H
#define MLX5_OBJ_PACE_H

#include "obj/table.h"

/** Entries of the rate table; 0 is no limit (packet_pacing_rate_table_size). */
#define MLX5_RATE_TABLE_SIZE 128u
/** kbit/s that packet pacing may be set to. */
#define MLX5_RATE_MIN_KBPS 1u
#define MLX5_RATE_MAX_KBPS 100000000u
/** Burst where the driver sets none. */
#define MLX5_PACE_BURST_NS 4000000
/** On the wire besides payload: RoCE v2 over IPv4, with Ethernet and FCS. */
#define MLX5_PACE_ROCE_OVERHEAD 62u

/** A limit and how far it is used up. */
typedef struct Mlx5Bucket {
    uint64_t kbps;           /* 0 = no limit */
    int64_t burst_ns;
    int64_t ready_ns;        /* more may be sent from then on */
} Mlx5Bucket;

/** @bytes were sent at @now: what @b allows next moves on. */
void mlx5_bucket_use(Mlx5Bucket *b, int64_t now, uint64_t bytes);

/** An entry of the rate table. */
typedef struct Mlx5Rate {
    uint32_t kbps;           /* 0 = not set */
    uint32_t burst_bytes;    /* 0 = MLX5_PACE_BURST_NS */
    uint16_t uid;            /* owner */
} Mlx5Rate;

/** scheduling_context.element_type. */
enum {
    MLX5_SCHED_TSAR = 0,
    MLX5_SCHED_QUEUE_GROUP = 4,
};

/** A scheduling element; obj/sched.c makes them. */
typedef struct Mlx5SchedElem {
    Mlx5Obj o;
    uint8_t type;
    uint8_t depth;           /* 1: right below the root */
    struct Mlx5SchedElem *parent;
    uint32_t share;          /* weight among its siblings; 0 counts as 1 */
    Mlx5Bucket limit;
    uint64_t served;         /* bytes sent for it, over its share */
    uint64_t clock;          /* @served of the child whose turn was last */
    GQueue waiting;          /* group: Mlx5Pace *, in order of asking */
    GQueue active;           /* others: children below which somebody waits,
                              * those served least first */
    GList link;              /* in the parent's @active */
    bool is_active;
    uint8_t ctx[MLX5_BITS_scheduling_context / 8]; /* for queries */
} Mlx5SchedElem;

typedef struct Mlx5CongFlow Mlx5CongFlow; /* obj/cong.h */

/** What slows one queue down. */
typedef struct Mlx5Pace {
    Mlx5Func *func;
    Mlx5Work *work;          /* of the queue; run when it may go on */
    uint16_t rate_index;
    Mlx5Bucket own;          /* of the rate */
    Mlx5Timer timer;
    Mlx5CongFlow *flow;      /* congestion of its queue pair, or NULL */
    Mlx5SchedElem *group;
    GList in_group;          /* in the group's @waiting */
    bool waits;
    GList in_all;            /* in the pacer's @all */
} Mlx5Pace;

/** State of a function. */
typedef struct Mlx5Pacer {
    Mlx5Rate rates[MLX5_RATE_TABLE_SIZE];
    Mlx5SchedElem top;       /* the root: parent_element_id 0 */
    uint32_t groups;         /* queue groups that exist */
    const Mlx5Pace *turn;    /* who may send one packet now */
    Mlx5Work work;
    Mlx5Timer timer;         /* something that waits may be sent then */
    GQueue all;              /* Mlx5Pace * */
} Mlx5Pacer;

void mlx5_pacer_new(Mlx5Func *func);
void mlx5_pacer_reset(Mlx5Func *func);
void mlx5_pacer_free(Mlx5Func *func);
/** Limits changed: whoever waits asks again. */
void mlx5_pacer_changed(Mlx5Func *func);
/** Entry @index of the rate table changed. */
void mlx5_pacer_rate_changed(Mlx5Func *func, uint16_t index);

/**
 * Hold the queue whose work item is @work to the rate @rate_index and to
 * @group, of which a reference is taken; 0 and NULL free *@pace.
 */
void mlx5_pace_set(Mlx5Func *func, Mlx5Pace **pace, Mlx5Work *work,
                   uint16_t rate_index, Mlx5SchedElem *group);
/** Hold it back by @flow as well; NULL: not any more. */
void mlx5_pace_set_flow(Mlx5Func *func, Mlx5Pace **pace, Mlx5Work *work,
                        Mlx5CongFlow *flow);
static inline void mlx5_pace_free(Mlx5Func *func, Mlx5Pace **pace)
{
    mlx5_pace_set(func, pace, NULL, 0, NULL);
}

static inline uint16_t mlx5_pace_rate(const Mlx5Pace *pace)
{
    return pace ? pace->rate_index : 0;
}

static inline Mlx5SchedElem *mlx5_pace_group(const Mlx5Pace *pace)
{
    return pace ? pace->group : NULL;
}

/**
 * May the queue send a packet now? If not, its work item will be run when that
 * has changed.
 */
bool mlx5_pace_may(Mlx5Pace *pace);
/** It sent @bytes. */
void mlx5_pace_charge(Mlx5Pace *pace, uint64_t bytes);
/**
 * Payload of a packet that the bursts have room for: a multiple of @unit, at
 * least one, of no more than @max bytes.
 */
uint64_t mlx5_pace_piece(const Mlx5Pace *pace, uint32_t unit, uint64_t max);

#endif
