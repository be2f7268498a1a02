/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A card, its functions, and the one lock that guards them.
 *
 * Card.lock guards everything below Mlx5Card except what says otherwise. It is
 * the only lock of core. Host operations that may wait for another lock of the
 * host (interrupts, timers, frames) are noted while it is held and made by
 * mlx5_func_unlock() after it is dropped.
 *
 *   BAR write --> mlx5_func_lock --> firmware, objects, engines
 *                                     |  notes: irq, kick, timer, frames
 *                 mlx5_func_unlock --> other functions with notes are kicked,
 *                                      lock dropped, own notes carried out
 *
 * With the lock dropped, threads overtake each other. What keeps that safe:
 *   - A thread touches only the function that it entered: the host frees none
 *     while a thread is in it. Notes that it left on another function of the
 *     card (a packet arrived there) are carried out by that function's own
 *     thread, which it kicks; the kick alone is made under the lock.
 *   - Interrupts may overtake: each is sent after the EQE that it announces.
 *   - timer_set may overtake, and the host keeps what came last: so whoever
 *     called it looks again, and repeats it if the deadline moved meanwhile.
 *   - Frames may not overtake: one thread sends at a time (Deferred.sending).
 *
 * The engines run in slices of MLX5_SLICE_BYTES so that a large transfer on
 * the engine thread never holds a vCPU that rings a doorbell for long.
 */
#ifndef MLX5_BUS_FUNC_H
#define MLX5_BUS_FUNC_H

#include <pthread.h>

#include "mlx5sim.h"
#include "bus/stats.h"
#include "bus/timer.h"
#include "bus/work.h"

/* State of the layers above; each is defined by the folder that owns it. */
typedef struct Mlx5Fw Mlx5Fw;           /* fw/fw_internal.h */
typedef struct Mlx5ObjTables Mlx5ObjTables; /* obj/table.c */
typedef struct Mlx5Pacer Mlx5Pacer;     /* obj/pace.h */
typedef struct Mlx5Cong Mlx5Cong;       /* obj/cong.h */
typedef struct Mlx5Rdma Mlx5Rdma;       /* rdma/ */
typedef struct Mlx5Eth Mlx5Eth;         /* eth/ */
typedef struct Mlx5Net Mlx5Net;         /* net/ */
struct Mlx5EngineOps;                   /* obj/engine.h */
struct Mlx5EthEngineOps;                /* obj/eth_engine.h */
struct Mlx5FlowTable;                   /* obj/flow_table.h */

struct Mlx5Card {
    /* Not a GMutex: ThreadSanitizer sees those of libpthread alone. */
    pthread_mutex_t lock;
    GPtrArray *funcs;        /* Mlx5Func *, in order of creation */
    bool link_up;            /* physical link */
    /* How often what packets begin with, and where they go, has changed:
     * contexts of queue pairs, RoCE addresses, congestion control, what
     * priorities come from, the functions. */
    uint64_t path_changes;
};

/* Host calls noted under the lock. */
typedef struct Mlx5Deferred {
    GArray *irqs;            /* uint32_t vectors, each once */
    GPtrArray *frames;       /* GBytes *, in order */
    size_t frame_bytes;      /* of these */
    bool sending;            /* a thread is between taking and sending frames */
    bool kick;
    bool held;               /* frames wait for more of the wire's */
    bool timer_changed;
    int64_t timer_deadline_ns;
} Mlx5Deferred;

struct Mlx5Func {
    Mlx5Card *card;
    const Mlx5HostOps *ops;
    void *host;
    Mlx5FuncProps props;
    uint16_t vhca_id;        /* unique in the card, from 1 */
    uint64_t xlt_bytes;      /* host memory that translations of keys take */
    struct {
        uint32_t key;        /* the innermost one */
        uint64_t va, len;    /* under it */
    } page_miss;             /* what the last walk missed (obj/mkey.h) */
    uint32_t sig_keys;       /* keys with a signature in use */
    uint64_t mkey_changes;   /* how often a key changed, or went (obj/mkey.h) */
    uint8_t *memic;          /* device memory (obj/memic.c), or NULL */
    uint8_t *memic_owned;    /* the same, unless the host lent it */
    bool bus_master;
    bool dma_fault;          /* a steering access failed since last asked */
    Mlx5Deferred deferred;
    struct {
        bool full;           /* the host queues what it is given */
        uint32_t ready;      /* how often it said that it takes more */
        void (*go_on)(Mlx5Func *func); /* with what waited; may be NULL */
    } wire;
    Mlx5TimerHeap timers;
    Mlx5WorkQueue work;
    Mlx5WorkQueue held;      /* run before the lock is dropped */
    const struct Mlx5EngineOps *engine; /* how lower layers reach the engines */
    const struct Mlx5EthEngineOps *eth_engine; /* the same for Ethernet queues */
    GHashTable *mcg;         /* multicast groups (obj/mcg.c), or NULL */
    /* Where frames start, by table type (obj/flow_table.h), or NULL. */
    struct Mlx5FlowTable *flow_root[9];
    uint32_t flow_counters;  /* of all bulks together */
    Mlx5Stats stats;
    Mlx5Fw *fw;
    struct Mlx5Vport *vport; /* of @fw, for fw/vport.h */
    Mlx5ObjTables *obj;
    Mlx5Pacer *pacer;
    Mlx5Cong *cong;
    Mlx5Rdma *rdma;
    Mlx5Eth *eth;
    Mlx5Net *net;
};

void mlx5_func_lock(Mlx5Func *func);
/** Drop the lock, then make the host calls noted meanwhile. */
void mlx5_func_unlock(Mlx5Func *func);
/** The lock by itself, for who has no function yet or no more. */
void mlx5_card_lock(Mlx5Card *card);
void mlx5_card_unlock(Mlx5Card *card);

/** Note an MSI-X message; sent at unlock. Out of range vectors are dropped. */
void mlx5_irq_note(Mlx5Func *func, uint32_t vector);
/** Frames noted and not sent yet, from where on more have to wait. */
#define MLX5_WIRE_QUEUE_BYTES (512 * 1024)
/**
 * Would more frames only wait? Who can hold them back does so, until the
 * go_on() that its layer installs.
 */
static inline bool mlx5_wire_busy(const Mlx5Func *func)
{
    return func->wire.full ||
           func->deferred.frame_bytes > MLX5_WIRE_QUEUE_BYTES;
}
/** The host takes frames again. Call with the lock held. */
void mlx5_wire_ready(Mlx5Func *func);
/** Note that frames wait for what the wire has next. */
void mlx5_held_note(Mlx5Func *func);
/** Note a frame for the wire (copied); sent at unlock. */
void mlx5_frame_note(Mlx5Func *func, const struct iovec *iov, int iovcnt);

/** What was made of how packets begin is worth nothing now. */
static inline void mlx5_paths_changed(Mlx5Func *func)
{
    func->card->path_changes++;
}

static inline int64_t mlx5_clock_ns(Mlx5Func *func)
{
    return func->ops->clock_ns(func->host);
}

#endif
