/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the firmware, for the files of fw/ only. Guarded by Mlx5Card.lock.
 */
#ifndef MLX5_FW_INTERNAL_H
#define MLX5_FW_INTERNAL_H

#include "bus/dma.h"
#include "bus/trace.h"
#include "fw/cmd.h"
#include "fw/cmd_log.h"
#include "fw/fw.h"
#include "fw/lower.h"
#include "fw/port.h"
#include "fw/reg.h"
#include "fw/roce.h"
#include "fw/vport.h"

/** Capability groups a function may have; rows in caps.c. */
typedef enum Mlx5CapGroup {
    MLX5_CAP_GROUP_GENERAL,
    MLX5_CAP_GROUP_ETHERNET,
    MLX5_CAP_GROUP_ODP,
    MLX5_CAP_GROUP_ATOMIC,
    MLX5_CAP_GROUP_ROCE,
    MLX5_CAP_GROUP_FLOW_TABLE,
    MLX5_CAP_GROUP_DEVICE_MEMORY,
    MLX5_CAP_GROUP_EVENTS,
    MLX5_CAP_GROUP_QOS,
    MLX5_CAP_GROUP_DEBUG,
    MLX5_CAP_GROUP_GENERAL_2,
    MLX5_CAP_GROUP_COUNT
} Mlx5CapGroup;

typedef struct Mlx5Caps {
    uint8_t *cur[MLX5_CAP_GROUP_COUNT];
    uint8_t *max[MLX5_CAP_GROUP_COUNT];
} Mlx5Caps;

/** Pages held: by address for the checks, in order for giving back. */
typedef struct Mlx5Pages {
    GHashTable *index;       /* address / 4096 -> position + 1 */
    GArray *list;            /* uint64_t addresses */
    int32_t asked;           /* by an event, and not answered yet; < 0: back */
    uint32_t refused_at;     /* pages needed when the driver had none; 0 = - */
} Mlx5Pages;

/** PRM local_port: there is one. */
#define MLX5_LOCAL_PORT 1

/** QETCR: a traffic class. */
typedef struct Mlx5PortTc {
    uint8_t group, bw_allocation; /* per cent of its group */
    uint8_t max_bw_units, max_bw_value;
} Mlx5PortTc;

/** PBMC: a receive buffer. Sizes in cells, as in all of these. */
typedef struct Mlx5PortBuffer {
    bool lossy;
    uint16_t cells;
    uint16_t xoff, xon;      /* where pause frames would begin and end */
} Mlx5PortBuffer;

/** SBPR: a pool that buffers share. */
typedef struct Mlx5PortPool {
    uint32_t size;
    bool infi_size;
} Mlx5PortPool;

/** SBCM: how a buffer uses its pool. */
typedef struct Mlx5PortClass {
    uint8_t pool;
    bool infi_max, exc;
    uint32_t max_buff, min_buff;
} Mlx5PortClass;

typedef struct Mlx5PortBuffers {
    uint8_t prio_buffer[MLX5_PORT_PRIOS]; /* PPTB */
    Mlx5PortBuffer buffer[MLX5_PORT_BUFFERS];
    Mlx5PortPool pool[2][MLX5_PORT_POOLS]; /* by direction: in, out */
    Mlx5PortClass cls[2][MLX5_PORT_BUFFERS];
    uint64_t discards[MLX5_PORT_PRIOS]; /* frames that found no room */
} Mlx5PortBuffers;

/** The physical port, as the access registers show it. */
typedef struct Mlx5Port {
    uint8_t admin_status;    /* PAOS: 1 up, 2 down */
    uint8_t event_mode;      /* PAOS e: 1 = generate port change events */
    uint16_t admin_mtu;
    uint32_t eth_proto_admin;
    bool an_disable;
    uint8_t fec_admin[6];    /* PPLM, by speed; 0: what suits the cable */
    bool pptx, pprx;         /* PFCC: pause */
    uint8_t pfctx, pfcrx;    /* pause of priorities */
    uint64_t rx_control, rx_control_unknown; /* MAC control frames */
    Mlx5Traffic rx_pause[MLX5_PORT_PRIOS]; /* by priority: frames, and microseconds */
    Mlx5Traffic rx_prio[MLX5_PORT_PRIOS], tx_prio[MLX5_PORT_PRIOS];
    uint8_t trust_state;     /* QPTS */
    uint8_t dscp_prio[MLX5_PORT_DSCPS]; /* QPDPM */
    uint8_t prio_tc[MLX5_PORT_PRIOS]; /* QTCT */
    Mlx5PortTc tc[MLX5_PORT_PRIOS];
    Mlx5PortBuffers buffers;
    uint16_t beacon_s;       /* MLCR */
    uint64_t beacon_end_ns;
    uint8_t pcmr_fcs_chk;
    uint8_t host_endianness;
    uint8_t node_desc[64];
    uint64_t last_clear_ns;  /* PPCNT physical counters */
    uint32_t link_down_events;
} Mlx5Port;

#define MLX5_VSC_SEMAPHORES 64

/** The gateway of the vendor-specific capability; see vsc.c. */
typedef struct Mlx5Vsc {
    uint32_t counter;        /* a new value at every read */
    uint32_t owner;          /* counter value that took the gateway; 0 = free */
    uint32_t addr, data;
    uint16_t space;
    uint32_t semaphore[MLX5_VSC_SEMAPHORES];
} Mlx5Vsc;

/** The real-time clock; see rtc.c. */
typedef struct Mlx5Rtc {
    bool running;
    int64_t time_ns;         /* since 1970, at ... */
    int64_t base_ns;         /* ... this time of the card's clock */
    int64_t adjust;          /* faster by so many 2^-16 ppm */
} Mlx5Rtc;

#define MLX5_CMDQ_LOG_SIZE 5
#define MLX5_CMDQ_LOG_STRIDE 6
#define MLX5_CMDQ_SLOTS (1u << MLX5_CMDQ_LOG_SIZE)

struct Mlx5Fw {
    Mlx5HcaState hca;
    /* Init segment and command queue. */
    uint32_t cmdq_high;      /* address bits 63:32, latched by the first write */
    uint64_t cmdq_gpa;       /* valid if cmdq_valid */
    bool cmdq_valid;
    uint8_t nic_interface;
    uint8_t health_synd;
    uint32_t busy_slots;     /* executed, completion not yet written */
    GPtrArray *held;         /* Completion *, with property cmd_reorder */
    Mlx5Timer held_timer;
    uint64_t commands, refused;
    Mlx5CmdLog log;
    /* Everything the driver set up by command. */
    uint16_t issi;
    char driver_version[65];
    uint8_t sw_owner_id[16];
    Mlx5Caps caps;
    Mlx5Pages pages;
    Mlx5Port port;
    Mlx5Vport vport;
    Mlx5Vsc vsc;
    Mlx5Rtc rtc;
    Mlx5RoceAddr roce[MLX5_ROCE_TABLE_SIZE];
};

/* init_seg.c */
void mlx5_init_seg_restart(Mlx5Func *func, uint64_t cmdq_gpa);

/* cmdq.c */
void mlx5_cmdq_doorbell(Mlx5Func *func, uint32_t vector);
/** Forget what is held back; nothing is written. */
void mlx5_cmdq_drop(Mlx5Func *func);
void mlx5_cmdq_init(Mlx5Func *func);

/* cmd.c */
/** Bytes the output of @opcode takes, at least 16. */
uint32_t mlx5_cmd_out_bytes(uint16_t opcode);
uint32_t mlx5_cmd_in_bytes(uint16_t opcode);
/** Run @cmd (in, in_len, out, out_len set) to its status; traced. */
void mlx5_cmd_execute(Mlx5Func *func, Mlx5Cmd *cmd, unsigned slot);

/* caps.c */
void mlx5_caps_new(Mlx5Func *func);
void mlx5_caps_reset(Mlx5Func *func);
void mlx5_caps_free(Mlx5Func *func);

/* pages.c */
void mlx5_pages_new(Mlx5Func *func);
void mlx5_pages_forget(Mlx5Func *func);
void mlx5_pages_free(Mlx5Func *func);
/** After a command: ask for pages, or offer some back, by an event. */
void mlx5_pages_balance(Mlx5Func *func);
/** Return: pages still missing before INIT_HCA may succeed. */
uint32_t mlx5_pages_missing(Mlx5Func *func);

/* vport.c, reg_port.c */
void mlx5_vport_reset(Mlx5Func *func);
void mlx5_port_reset(Mlx5Func *func);

/* reg_port.c: rows of the register table in reg.c. */
/** Set the bits of the 128 registers from @first on that exist; bit 0 last. */
void mlx5_reg_mask(uint32_t first, uint8_t mask[16]);
Mlx5RegHandler mlx5_reg_pmtu, mlx5_reg_paos, mlx5_reg_pmlp, mlx5_reg_pcmr,
    mlx5_reg_ppcnt, mlx5_reg_pcam;
/** Refuse a port that isn't the one there is. */
bool mlx5_reg_own_port(Mlx5Cmd *cmd, uint32_t local_port);
/* reg_link.c */
Mlx5RegHandler mlx5_reg_ptys, mlx5_reg_pplm, mlx5_reg_pfcc, mlx5_reg_mlcr;
Mlx5RegHandler mlx5_reg_qcam, mlx5_reg_qpts, mlx5_reg_qpdpm, mlx5_reg_qtct,
    mlx5_reg_qetcr;
void mlx5_link_reset(Mlx5Port *port);
void mlx5_port_qos_reset(Mlx5Port *port);
/** Refuse if priorities are not offered, or @port isn't the one there is. */
bool mlx5_reg_may_dcb(Mlx5Func *func, Mlx5Cmd *cmd, uint32_t port);
/* reg_buffer.c */
Mlx5RegHandler mlx5_reg_pptb, mlx5_reg_pbmc, mlx5_reg_sbcam, mlx5_reg_sbpr,
    mlx5_reg_sbcm;
void mlx5_port_buffer_reset(Mlx5Port *port);
/* reg_module.c */
Mlx5RegHandler mlx5_reg_mcia;
/* rtc.c */
Mlx5RegHandler mlx5_reg_mtutc;
void mlx5_rtc_reset(Mlx5Func *func);
/** Its time in ns since 1970. */
int64_t mlx5_rtc_ns(Mlx5Func *func);
/* reg_component.c */
Mlx5RegHandler mlx5_reg_mcqs, mlx5_reg_mcqi;

#endif
