/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI device mlx5sim: what its files share.
 *
 * One device is one card with one function. It holds no device semantics:
 * BAR accesses, frames and resets go to the core (core/mlx5sim.h), whose
 * services host.c lends.
 *
 * Locks. The core guards itself and calls irq_notify, work_kick, timer_set
 * and frame_send with none of its locks held, so these may take QEMU's big
 * lock (BQL). Order: BQL, then the core's lock or Mlx5simEngine.lock; the two
 * are never held together.
 *
 *   vCPU     MMIO (BQL) -> drop BQL -> core -> take BQL
 *   engine   no lock -> core; BQL only inside irq_notify and frame_send
 *   main     reset, configuration, frames in (BQL) -> core
 *
 * Behind a vIOMMU everything stays under the BQL instead: a translation that
 * faults raises an interrupt from within a memory access, and QEMU wants the
 * BQL for that.
 */
#ifndef HW_MLX5SIM_DEVICE_H
#define HW_MLX5SIM_DEVICE_H

#include "compat.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "mlx5sim.h"

#define TYPE_MLX5SIM "mlx5sim"
OBJECT_DECLARE_SIMPLE_TYPE(Mlx5simDevice, MLX5SIM)

/**
 * Mlx5simEngine - the thread that works when no vCPU does, and its timer.
 * @lock: guards all below but @timer; never held when the core is called
 * @wake: something below changed
 * @kicked: the core wants mlx5_func_work()
 * @timer_due: the core wants mlx5_func_timer()
 * @paused: the virtual machine is stopped: no work, no DMA
 * @stopping: the thread is to end
 * @busy: the thread is inside the core
 */
typedef struct Mlx5simEngine {
    QemuThread thread;
    QemuMutex lock;
    QemuCond wake;
    QEMUTimer *timer;
    VMChangeStateEntry *vm_state;
    bool kicked;
    bool timer_due;
    bool paused;
    bool stopping;
    bool busy;
} Mlx5simEngine;

/**
 * Mlx5simAccount - what account.c shows; all atomic
 * @on: count
 * @reads, @writes: accesses to BAR0
 * @bar_ns, @engine_ns: time inside the core, on vCPUs and on the engine
 * @entries: threads that entered the core, each taking its lock
 * @dma_reads, @dma_writes, @dma_copies: accesses to guest memory
 * @lookups: those for which QEMU's map was asked
 * @irqs: messages sent
 * @wakes: times that the engine was kicked
 */
typedef struct Mlx5simAccount {
    bool on;
    uint64_t reads;
    uint64_t writes;
    uint64_t bar_ns;
    uint64_t engine_ns;
    uint64_t entries;
    uint64_t dma_reads;
    uint64_t dma_writes;
    uint64_t dma_copies;
    uint64_t lookups;
    uint64_t irqs;
    uint64_t wakes;
} Mlx5simAccount;

/**
 * Mlx5simRun - guest memory that lies together, as ram.c remembers it
 * @first, @len: bus addresses
 * @host: of the first byte
 * @mr: whose it is
 * @ram: the first byte in QEMU's list of all RAM, for dirty bits
 * @has_code_bits: TCG wants to know what is written over its code
 * @seq: the state of the map that it was found in
 */
typedef struct Mlx5simRun {
    hwaddr first;
    hwaddr len;
    uint8_t *host;
    MemoryRegion *mr;
    ram_addr_t ram;
    bool has_code_bits;
    unsigned seq;
} Mlx5simRun;

/**
 * Mlx5simRam - what is remembered of guest memory
 * @seq: counts changes of the map, odd during one; atomic
 * @next: which run is replaced next
 */
typedef struct Mlx5simRam {
    MemoryListener listener;
    unsigned seq;
    unsigned next;
    unsigned page_bits;
    Mlx5simRun runs[4];
} Mlx5simRam;

struct Mlx5simDevice {
    /*< private >*/
    PCIDevice parent_obj;

    /*< public >*/
    MemoryRegion bar;
    MemoryRegion memic_ram; /* device memory, in the BAR */
    void *memic;            /* its bytes; freed with the object */
    Mlx5Card *card;
    Mlx5Func *func;

    NICState *nic;
    /* The netdev takes TCP frames of any length. Atomic. */
    bool large_frames;
    unsigned net_queued;         /* frames that the netdev has still to take; BQL */
    QEMUBH *frames_end;          /* the wire had no more for now */
    bool frames_held;            /* since the card said that frames wait */
    NICConf conf;
    char *model_name;
    Mlx5FuncProps props;

    Mlx5simEngine engine;

    /* Accesses inside the core; @dead admits no more. Atomic. */
    unsigned inflight;
    bool dead;
    /* The card left its slot without notice; property "gone". Atomic. */
    bool gone;
    /* With the BQL: inflight or engine.busy may have become zero. */
    QemuCond idle;
    /* A vIOMMU translates our addresses. Written with the BQL. */
    bool behind_iommu;
    bool bus_master;
    Mlx5simRam ram;
    Mlx5simAccount account;
    Error *migration_blocker;
    unsigned vsc_pos;       /* of the vendor capability, in config space */
    unsigned vpd_pos;       /* the same of the vital product data */
};

/* account.c */
void mlx5sim_account_init(Mlx5simDevice *s);

/* Return: when an access began, 0 if nobody wants to know. */
static inline int64_t mlx5sim_account_begin(Mlx5simDevice *s)
{
    return unlikely(qatomic_read(&s->account.on)) ? get_clock() : 0;
}

/* Add to @ns what has passed since @began, and one to @count unless NULL. */
static inline void mlx5sim_account_end(int64_t began, uint64_t *ns,
                                       uint64_t *count)
{
    if (unlikely(began)) {
        qatomic_add(ns, get_clock() - began);
        if (count) {
            qatomic_inc(count);
        }
    }
}

/* One more of something, if somebody counts. */
static inline void mlx5sim_account_add(Mlx5simDevice *s, uint64_t *count)
{
    if (unlikely(qatomic_read(&s->account.on))) {
        qatomic_inc(count);
    }
}

/* host.c */
extern const Mlx5HostOps mlx5sim_host_ops;

/* ram.c */
void mlx5sim_ram_start(Mlx5simDevice *s);
void mlx5sim_ram_stop(Mlx5simDevice *s);
/*
 * Within an RCU section: the run with @addr, if it is known and if it can be
 * known. NULL: ask QEMU.
 */
const Mlx5simRun *mlx5sim_ram_find(Mlx5simDevice *s, uint64_t addr);
const Mlx5simRun *mlx5sim_ram_learn(Mlx5simDevice *s, uint64_t addr);
/* @len bytes at @ptr of @run were written: does QEMU have to be told? */
bool mlx5sim_ram_must_tell(const Mlx5simRam *ram, const Mlx5simRun *run,
                           const void *ptr, size_t len);

/* engine.c */
void mlx5sim_engine_start(Mlx5simDevice *s);
void mlx5sim_engine_stop(Mlx5simDevice *s);
void mlx5sim_engine_kick(Mlx5simDevice *s);
void mlx5sim_engine_set_timer(Mlx5simDevice *s, int64_t deadline_ns);

/* net.c */
void mlx5sim_net_init(Mlx5simDevice *s);
void mlx5sim_net_fini(Mlx5simDevice *s);
void mlx5sim_net_start(Mlx5simDevice *s);
void mlx5sim_net_stop(Mlx5simDevice *s);
void mlx5sim_net_held(Mlx5simDevice *s);
Mlx5FrameSent mlx5sim_net_send(Mlx5simDevice *s, const struct iovec *iov,
                               int iovcnt);
size_t mlx5sim_net_frame_max(Mlx5simDevice *s);

/* vpd.c */
bool mlx5sim_vpd_init(Mlx5simDevice *s, Error **errp);
void mlx5sim_vpd_written(Mlx5simDevice *s, uint32_t addr, int len);

/* props.c */
void mlx5sim_props_init_class(ObjectClass *klass);
void mlx5sim_props_init_instance(Mlx5simDevice *s);
bool mlx5sim_props_check(Mlx5simDevice *s, Error **errp);

/* trace.c */
void mlx5sim_trace_register(void);
bool mlx5sim_trace_enabled(Mlx5TraceClass cls);
void mlx5sim_trace_line(Mlx5simDevice *s, Mlx5TraceClass cls, const char *line);

#endif
