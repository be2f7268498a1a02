/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx5sim: the device model of an mlx5 network card, as a host sees it.
 *
 * A host is whatever carries the card: QEMU, the fake host of the unit tests,
 * a fuzz target. It lends the services of Mlx5HostOps and calls the functions
 * declared below; it knows nothing else about the device.
 *
 *      host                                core
 *   BAR access ------ mlx5_func_bar_read/write ----> registers, doorbells
 *   memory   <------- dma_read/write/copy/map ------ commands, queues, payload
 *   MSI-X    <------- irq_notify ------------------- event queues
 *   thread   <------- work_kick --------------------- long work
 *            -------- mlx5_func_work --------------->
 *   timer    <------- timer_set
 *            -------- mlx5_func_timer -------------->
 *   netdev   <------- frame_send / mlx5_card_frame_rx
 *
 * Locks: every entry point may be called from any thread at any time. Core
 * guards its state with a lock of its own (Mlx5Card.lock). irq_notify,
 * timer_set and frame_send are called with no core lock held, from a thread
 * that is inside an entry point of that function. The others may be called
 * under the lock and must not call back: the memory operations, clock_ns,
 * random, trace, guest_error, and work_kick, which only wakes a thread and may
 * come from a thread that is inside another function of the card.
 *
 * A host calls mlx5_func_free() when no thread is inside an entry point of the
 * function or of its card's wire (mlx5_card_*), and keeps the function's
 * operations usable until it returns. Other functions of the card may run on.
 */
#ifndef MLX5SIM_H
#define MLX5SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <glib.h>

typedef struct Mlx5Card Mlx5Card;
typedef struct Mlx5Func Mlx5Func;

/** What became of a frame that the host was given. */
typedef enum Mlx5FrameSent {
    MLX5_FRAME_NO_WIRE,  /* lost: nothing is attached */
    MLX5_FRAME_SENT,
    MLX5_FRAME_QUEUED,   /* it will go; no more, please, until
                          * mlx5_card_frame_ready() */
} Mlx5FrameSent;

/** What a trace line is about; one QEMU trace event each (mlx5sim_<name>). */
typedef enum Mlx5TraceClass {
    MLX5_TRACE_CMD,      /* a firmware command, input and output fields */
    MLX5_TRACE_REG,      /* init segment access */
    MLX5_TRACE_DOORBELL, /* doorbell write: EQ, CQ or SQ */
    MLX5_TRACE_WQE,      /* a work request, as fetched */
    MLX5_TRACE_PACKET,   /* a transport packet, inside the card or on the wire */
    MLX5_TRACE_CQE,      /* a completion written */
    MLX5_TRACE_EQE,      /* an event written */
    MLX5_TRACE_IRQ,      /* an MSI-X message */
    MLX5_TRACE_STATE,    /* an object changed state */
    MLX5_TRACE_FRAME,    /* an Ethernet frame in or out */
    MLX5_TRACE_GUEST_ERROR, /* a guest left the specification */
    MLX5_TRACE_CLASS_COUNT
} Mlx5TraceClass;

/**
 * Services a host lends to one PCI function. @host is the pointer given to
 * mlx5_func_new(). Addresses are bus addresses of that function (an IOMMU, if
 * any, is the host's business).
 */
typedef struct Mlx5HostOps {
    /**
     * Copy @len bytes from or to guest memory. Return: false when any byte is
     * not guest RAM, or bus mastering is off; then what was read is undefined.
     */
    bool (*dma_read)(void *host, uint64_t addr, void *buf, size_t len);
    bool (*dma_write)(void *host, uint64_t addr, const void *buf, size_t len);
    /**
     * Copy @len bytes of guest RAM at @src of @src_host to @dst of @host, two
     * functions of one card or the same; they may overlap.
     * Return: false when a side is not guest RAM; part may have been copied.
     */
    bool (*dma_copy)(void *host, uint64_t dst, void *src_host, uint64_t src,
                     size_t len);
    /**
     * Map guest RAM, for an atomic access. @len: bytes wanted in, bytes mapped
     * out (at least 1). Return: NULL when @addr is not guest RAM.
     */
    void *(*dma_map)(void *host, uint64_t addr, size_t *len, bool write);
    void (*dma_unmap)(void *host, void *ptr, size_t len, bool write);
    /** Send the MSI-X message @vector (masking and pending bits: host). */
    void (*irq_notify)(void *host, unsigned vector);
    /** Guest-visible monotonic time in ns; never goes back. */
    int64_t (*clock_ns)(void *host);
    /** Time of day in ns since 1970. */
    int64_t (*realtime_ns)(void *host);
    /** Ask for mlx5_func_timer() at @deadline_ns of clock_ns; -1 = none. */
    void (*timer_set)(void *host, int64_t deadline_ns);
    /** Ask for mlx5_func_work() soon, on a thread that is not a vCPU. */
    void (*work_kick)(void *host);
    void (*random)(void *host, void *buf, size_t len);
    /** Put a frame (without FCS) on the wire. */
    Mlx5FrameSent (*frame_send)(void *host, const struct iovec *iov,
                                int iovcnt);
    /**
     * Longest TCP frame over IPv4 that the wire's other end takes in one piece:
     * what the guest has segmented is then sent in few large frames, and counted
     * as if cut. Return: 0 to have all of it cut. NULL is 0. Called under the
     * lock.
     */
    size_t (*frame_max)(void *host);
    /**
     * Frames that came wait for what follows them (LRO): call
     * mlx5_card_frames_end() as soon as the wire has no more for now. NULL: no
     * frame waits.
     */
    void (*frames_held)(void *host);
    /** A line for the guest-error log. */
    void (*guest_error)(void *host, const char *msg);
    /** Is anybody listening to class @cls? Cheap: asked before formatting. */
    bool (*trace_enabled)(void *host, Mlx5TraceClass cls);
    void (*trace)(void *host, Mlx5TraceClass cls, const char *line);
} Mlx5HostOps;

/** Which part a card presents itself as. */
typedef enum Mlx5Model {
    MLX5_MODEL_CX5,
    MLX5_MODEL_CX6DX,
    MLX5_MODEL_CX7,
    MLX5_MODEL_COUNT
} Mlx5Model;

/** Identity of a model; one row of the model table (core/fw/model.c). */
typedef struct Mlx5ModelInfo {
    const char *name;        /* as in the property model= */
    const char *part;        /* marketing name */
    uint16_t pci_device_id;  /* vendor is always 0x15b3 */
    uint16_t fw_major;
    uint16_t fw_minor;
    uint16_t fw_subminor;
    const char *psid;        /* 16 characters at most */
} Mlx5ModelInfo;

#define MLX5_PCI_VENDOR_ID 0x15b3

const Mlx5ModelInfo *mlx5_model_info(Mlx5Model model);
/** Return: false and @errp set (names the choices) if @name is unknown. */
bool mlx5_model_from_name(const char *name, Mlx5Model *model, GError **errp);

/** Properties of a function, as the user gives them. Zero is not a default: */
/** fill with mlx5_func_props_default() first. */
typedef struct Mlx5FuncProps {
    Mlx5Model model;
    uint8_t mac[6];          /* permanent MAC; must be unicast, not zero */
    unsigned num_vectors;    /* MSI-X vectors the host provides, 2..2048 */
    unsigned log_bar_size;   /* log2 of BAR0's bytes, 23..28 */
    unsigned boot_pages;     /* pages asked from the driver at boot */
    unsigned init_pages;     /* pages asked at init */
    unsigned log_max_qp, log_max_cq, log_max_mkey; /* limits advertised */
    unsigned log_max_cq_sz;
    bool devx;               /* user contexts with commands of their own */
    bool tag_matching;       /* capabilities to leave on */
    bool mw, xrc, atomic, roce, local_lb; /* the same */
    bool mcast;              /* the same: multicast of datagrams */
    bool null_mkey;          /* the same: keys of no memory */
    /* The same, of completions and transports. */
    bool cqe_compression, cqe_128_always, scatter_to_cqe, cq_period_modes;
    bool dc;
    bool odp;                /* on-demand paging */
    bool odp_mem;            /* its memory scheme: faults by key and address */
    bool flow_counters, flow_rewrite, rdma_flow; /* the same: steering */
    bool scatter_fcs, lro;   /* the same: Ethernet */
    bool signature;          /* block signatures */
    bool dm;                 /* the same: device memory */
    bool dbr_less;           /* the same: sends without a doorbell record */
    bool packet_pacing;      /* the same: rates of send queues */
    bool qos_scheduling;     /* the same: scheduling elements */
    bool rtc;                /* the same: real-time clock and stamps of it */
    /* The same: parts of the above, each by itself. */
    bool masked_atomic, dm_atomic, dci_streams, reserved_qpn, av_qp_mapping;
    bool udp_sport, relaxed_ordering, end_padding, blueflame;
    bool cq_resize, cq_moderation, error_counters;
    bool csum, tso, vlan, rss; /* without one of them: no network interface */
    /* The same, what more the network driver uses. */
    bool mpw;                /* many frames in a send WQE */
    bool striding_rq;        /* many frames in a receive WQE */
    bool tunnel;             /* offloads of what a tunnel carries */
    bool port_manager;       /* the port is this function's to configure */
    bool dcb;                /* priorities by DSCP, traffic classes, ETS */
    bool congestion;         /* congestion control of RoCE */
    bool resource_dump;      /* what the card holds of an object, raw */
    bool deterministic;      /* all work on the ringing thread */
    bool cmd_reorder;        /* complete commands out of order (a test aid) */
    /**
     * MLX5_MEMIC_BYTES of zeroed, page-aligned memory for the device memory,
     * which the host then may show in BAR0 at mlx5_memic_bar_start() by itself;
     * it outlives the function. NULL: the core makes its own and serves all
     * accesses in mlx5_func_bar_read() and mlx5_func_bar_write().
     */
    void *memic;
} Mlx5FuncProps;

/** Bytes of device memory, and of each window of BAR0 that shows it. */
#define MLX5_MEMIC_BYTES (1u << 20)
/** One allocation at most (max_memic_size). */
#define MLX5_MEMIC_MAX_BYTES (256u << 10)

/** BAR0 offset of the device memory; with dm off, the BAR's end. */
static inline uint64_t mlx5_memic_bar_start(const Mlx5FuncProps *props)
{
    return (UINT64_C(1) << props->log_bar_size) -
           (props->dm ? 3 * (uint64_t)MLX5_MEMIC_BYTES : 0);
}

void mlx5_func_props_default(Mlx5FuncProps *props);

/** A card: port, link and internal switch, shared by its functions. */
Mlx5Card *mlx5_card_new(void);
void mlx5_card_free(Mlx5Card *card);

/**
 * Add a function to @card. @ops must outlive the function.
 * Return: NULL and @errp set if a property breaks a rule.
 */
Mlx5Func *mlx5_func_new(Mlx5Card *card, const Mlx5FuncProps *props,
                        const Mlx5HostOps *ops, void *host, GError **errp);
void mlx5_func_free(Mlx5Func *func);

/**
 * BAR0 access of @size bytes (1, 2, 4 or 8) at @offset. Values are those of a
 * big-endian bus: the byte at @offset is the most significant one.
 */
uint64_t mlx5_func_bar_read(Mlx5Func *func, uint64_t offset, unsigned size);
void mlx5_func_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                         unsigned size);
/**
 * Is that a write which says nothing, so that a host need not make it? Libraries
 * copy whole work requests into the BlueFlame registers; of such a copy the
 * first 16 bytes count, the rest is in memory. Takes no lock and needs no
 * function: @props are those that it was made with.
 */
bool mlx5_bar_write_is_idle(const Mlx5FuncProps *props, uint64_t offset,
                            unsigned size);

/** Length of the vendor-specific capability, header included. */
#define MLX5_VSC_BYTES 0x18
/**
 * Register at @offset (4 .. MLX5_VSC_BYTES - 4, a multiple of 4) of the
 * vendor-specific capability in configuration space.
 */
uint32_t mlx5_func_vsc_read(Mlx5Func *func, unsigned offset);
void mlx5_func_vsc_write(Mlx5Func *func, unsigned offset, uint32_t value);

/** Function-level, bus or power-on reset: afterwards as freshly made. */
void mlx5_func_reset(Mlx5Func *func);

/** Bus mastering was switched; off means no DMA and no interrupts. */
void mlx5_func_set_bus_master(Mlx5Func *func, bool on);

/** Answer to work_kick. Return: true if work is left (call again). */
bool mlx5_func_work(Mlx5Func *func);
/** Answer to timer_set. */
void mlx5_func_timer(Mlx5Func *func);

/** A frame (without FCS) came in from the wire. Return: false if no room. */
bool mlx5_card_frame_rx(Mlx5Card *card, const struct iovec *iov, int iovcnt);
/** The wire has no more frames for now, after frames_held. */
void mlx5_card_frames_end(Mlx5Card *card);
/** The wire takes frames again, after MLX5_FRAME_QUEUED. */
void mlx5_card_frame_ready(Mlx5Card *card);
/** The physical link went up or down. */
void mlx5_card_set_link(Mlx5Card *card, bool up);

/** The function's live state as JSON. Return: a string to g_free(). */
char *mlx5_func_inspect(Mlx5Func *func);

#endif
