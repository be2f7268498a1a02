/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traffic counters; see stats.h.
 */
#include "bus/stats.h"

#include <glib.h>

#define FCS_BYTES 4

/* Upper bounds of PPCNT's rx_*_bytes classes (PRM: Ethernet RFC 2819). */
static const uint32_t size_bound[] = {
    64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191, 10239,
};
G_STATIC_ASSERT(G_N_ELEMENTS(size_bound) == MLX5_SIZE_CLASSES);

void mlx5_stats_rx_size(Mlx5Stats *stats, uint64_t len)
{
    for (size_t i = 0; i < G_N_ELEMENTS(size_bound); i++) {
        if (len + FCS_BYTES <= size_bound[i]) {
            stats->rx_size[i]++;
            return;
        }
    }
}
