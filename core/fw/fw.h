/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The firmware, as the rest of core sees it.
 *
 * Life of the HCA (PRM: Initialization; driver: main.c mlx5_function_open):
 *
 *   state     entered by                       what works
 *   OFF       reset, cmdq restart, DISABLE     commands marked BOOT
 *   ENABLED   ENABLE_HCA, TEARDOWN_HCA         the same; pages, capabilities
 *   RUN       INIT_HCA                         every command
 *   DEAD      fast teardown (nic_interface 1)  nothing until cmdq restart
 */
#ifndef MLX5_FW_FW_H
#define MLX5_FW_FW_H

#include "bus/func.h"

typedef enum Mlx5HcaState {
    MLX5_HCA_OFF,
    MLX5_HCA_ENABLED,
    MLX5_HCA_RUN,
    MLX5_HCA_DEAD,
} Mlx5HcaState;

/** health.synd (driver: health.c enum). */
typedef enum Mlx5HealthSynd {
    MLX5_HEALTH_OK = 0x0,
    MLX5_HEALTH_SYNDR_FW_ERR = 0x1,
    MLX5_HEALTH_SYNDR_EQ_ERR = 0xd,
    MLX5_HEALTH_SYNDR_EQ_OVERRUN = 0xc,
} Mlx5HealthSynd;

/* What DevX offers; obj/limits.h and obj/uctx.h have the same numbers. */
#define MLX5_FW_LOG_MAX_UCTX 12
#define MLX5_FW_LOG_MAX_UMEM 16
#define MLX5_FW_UCTX_CAP 1
#define MLX5_FW_GENERAL_RESERVED_QPN (UINT64_C(1) << 0x2c)
#define MLX5_FW_GENERAL_AV_QP (UINT64_C(1) << 0x3a)
#define MLX5_FW_GENERAL_SCHED (UINT64_C(1) << 0x26)
#define MLX5_FW_LOG_RESERVED_QPNS 6

/* Called by core/card.c and core/bar.c, under the lock. */
void mlx5_fw_new(Mlx5Func *func);
void mlx5_fw_reset(Mlx5Func *func);
void mlx5_fw_free(Mlx5Func *func);
uint64_t mlx5_fw_bar_read(Mlx5Func *func, uint64_t offset, unsigned size);
void mlx5_fw_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                       unsigned size);
/** card->link_up changed: tell the driver. */
void mlx5_fw_link_changed(Mlx5Func *func);

Mlx5HcaState mlx5_fw_state(Mlx5Func *func);
const char *mlx5_fw_state_name(Mlx5HcaState state);
/** SET_DRIVER_VERSION's text; printable, without quotes. */
const char *mlx5_fw_driver_version(Mlx5Func *func);
/** Pages the driver has given and not got back. */
uint32_t mlx5_fw_pages_held(Mlx5Func *func);
/** Report a fault in the health buffer; the driver prints it once. */
void mlx5_fw_health_report(Mlx5Func *func, Mlx5HealthSynd synd);
/** Is the port up: cable and the driver's PAOS both? */
bool mlx5_fw_port_up(Mlx5Func *func);
/** Commands executed, and those refused, since the last reset. */
void mlx5_fw_command_counts(Mlx5Func *func, uint64_t *done, uint64_t *refused);
/** A current capability of the general group, by layout constants. */
#define MLX5_FW_CAP_GEN(func, field)                                  \
    mlx5_fw_cap_gen(func, MLX5_OFF_cmd_hca_cap__##field,              \
                    MLX5_WID_cmd_hca_cap__##field)
uint64_t mlx5_fw_cap_gen(Mlx5Func *func, uint32_t bit_off, uint32_t bits);
/** Are 8-byte atomics in host order (atomic_req_8B_endianness_mode)? */
bool mlx5_fw_atomic_host_order(Mlx5Func *func);
/** Do page faults name keys and addresses (odp_cap.mem_page_fault)? */
bool mlx5_fw_odp_memory_scheme(Mlx5Func *func);
/** The free running counter of the init segment and of CQE timestamps. */
uint64_t mlx5_fw_timer(Mlx5Func *func);

/** The real-time clock: seconds in the upper half, ns in the lower. */
uint64_t mlx5_fw_real_time(Mlx5Func *func);

/** ts_format of queues: which clock their completions show. */
enum {
    MLX5_TS_FREE_RUNNING = 0,
    MLX5_TS_DEFAULT = 1,     /* of the function: free running */
    MLX5_TS_REAL_TIME = 2,
};
/** Is @ts_format one that the function has? */
static inline bool mlx5_fw_ts_format_ok(const Mlx5Func *func,
                                        uint32_t ts_format)
{
    return ts_format <= MLX5_TS_DEFAULT ||
           (ts_format == MLX5_TS_REAL_TIME && func->props.rtc);
}

/** Ticks of that counter per millisecond: 1 GHz, as ConnectX-6 Dx has. */
#define MLX5_FW_TIMER_KHZ 1000000

#endif
