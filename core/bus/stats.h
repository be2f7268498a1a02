/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traffic counters of a function's port and vport: counted by the engines,
 * read by firmware (QUERY_VPORT_COUNTER, PPCNT). Guarded by Mlx5Card.lock.
 */
#ifndef MLX5_BUS_STATS_H
#define MLX5_BUS_STATS_H

#include <stdint.h>

/** PPCNT RFC 2819 size classes, lengths with FCS; a row's bound in stats.c. */
#define MLX5_SIZE_CLASSES 10

/** Zero at reset. */
typedef struct Mlx5Stats {
    uint64_t rx_size[MLX5_SIZE_CLASSES];
    uint64_t rx_steer_missed;    /* no flow entry took the frame */
    uint64_t rx_dropped_by_rule; /* an entry said drop */
    uint64_t rx_no_buffer;       /* no receive WQE (also in the Q counter) */
    uint64_t rx_oversize;        /* longer than the receive WQE or the port */
    uint64_t rx_errors;          /* WQE or memory at fault */
    uint64_t rx_icrc_errors;     /* RoCE packets whose ICRC is wrong */
    uint64_t rx_roce_malformed;  /* headers or lengths that make no sense */
    uint64_t rx_roce_refused;    /* good RoCE packets that no queue pair takes */
    uint64_t tx_errors;          /* frame could not be built */
    uint64_t tx_discards;        /* link down, or longer than the port allows */
} Mlx5Stats;

/** Count a received frame of @len bytes (without FCS) in its size class. */
void mlx5_stats_rx_size(Mlx5Stats *stats, uint64_t len);

#endif
