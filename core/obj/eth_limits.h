/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of the Ethernet objects: firmware advertises them (capabilities), the
 * commands enforce them.
 */
#ifndef MLX5_OBJ_ETH_LIMITS_H
#define MLX5_OBJ_ETH_LIMITS_H

enum {
    MLX5_LOG_MAX_WQ_SZ = 15,         /* WQEs of an RQ, basic blocks of an SQ */
    MLX5_LOG_MIN_STRIDE_SZ_RQ = 4,
    MLX5_LOG_MAX_STRIDE_SZ_RQ = 9,
    MLX5_LOG_STRIDE_SZ_SQ = 6,       /* the basic block, no other */
    MLX5_LOG_MAX_RQT_SIZE = 11,
    MLX5_LOG_MAX_FT_SIZE = 22,
    /* 6.12 puts its anchor table at level 66, past what it demands of the cap */
    MLX5_MAX_FT_LEVEL = 254,
    MLX5_MAX_FTE_DESTINATIONS = 64,
    MLX5_LOG_MAX_FTE_COUNTERS = 2,
    MLX5_MAX_FLOW_COUNTERS = 1 << 20,
    MLX5_LOG_MAX_FLOW_COUNTER_BULK = 14, /* a query's range */
    MLX5_MAX_MODIFY_ACTIONS = 16,
    MLX5_MAX_ENCAP_HEADER = 256,
};

#endif
