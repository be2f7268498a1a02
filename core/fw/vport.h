/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function's virtual port: addresses, filters, loopback, counters (PRM:
 * NIC Vport Context; driver: vport.c). Network layers read it; commands of
 * fw/vport.c alone write it, but for the counters.
 */
#ifndef MLX5_FW_VPORT_H
#define MLX5_FW_VPORT_H

#include "bus/func.h"

/** MTUs of the port and of its vport, headers and FCS counted: 22 bytes more
 * than what an interface calls so (driver: MLX5E_HW2SW_MTU). */
#define MLX5_HW_MTU_MIN 68
#define MLX5_HW_MTU_MAX 10000

/** allowed_list_type. */
typedef enum Mlx5VportList {
    MLX5_VPORT_LIST_UC,
    MLX5_VPORT_LIST_MC,
    MLX5_VPORT_LIST_VLAN,
    MLX5_VPORT_LIST_COUNT
} Mlx5VportList;

typedef struct Mlx5Traffic {
    uint64_t packets;
    uint64_t octets;
} Mlx5Traffic;

/** Counters of QUERY_VPORT_COUNTER and PPCNT; engines add to them. */
typedef struct Mlx5VportCounters {
    Mlx5Traffic received_errors, transmit_errors;
    Mlx5Traffic received_ib_unicast, transmitted_ib_unicast;
    Mlx5Traffic received_ib_multicast, transmitted_ib_multicast;
    Mlx5Traffic received_eth_broadcast, transmitted_eth_broadcast;
    Mlx5Traffic received_eth_unicast, transmitted_eth_unicast;
    Mlx5Traffic received_eth_multicast, transmitted_eth_multicast;
    Mlx5Traffic local_loopback;
} Mlx5VportCounters;

typedef struct Mlx5Vport {
    uint8_t mac[6];          /* permanent_address */
    uint64_t node_guid, port_guid, system_image_guid;
    uint16_t mtu;
    bool roce_en;
    bool disable_uc_local_lb, disable_mc_local_lb;
    bool promisc_uc, promisc_mc, promisc_all;
    uint8_t min_wqe_inline_mode;
    uint8_t admin_state;     /* 0 down, 1 up, 2 follows the port */
    uint8_t event_mask;      /* event_on_* bits, low five of dword 1 */
    bool arm_change_event;
    uint16_t qkey_violations;
    uint16_t list_len[MLX5_VPORT_LIST_COUNT];
    uint64_t *list[MLX5_VPORT_LIST_COUNT]; /* entries, host order */
    Mlx5VportCounters counters;
} Mlx5Vport;

static inline Mlx5Vport *mlx5_vport(Mlx5Func *func)
{
    return func->vport;
}

/** Count a datagram that came with another Q_Key than its queue pair's. */
void mlx5_vport_qkey_violation(Mlx5Func *func);

#endif
