/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of objects that are not properties of the function. Firmware
 * advertises these numbers (fw/caps_table.def, which cannot include this);
 * test_limits holds the two together.
 */
#ifndef MLX5_OBJ_LIMITS_H
#define MLX5_OBJ_LIMITS_H

#include "mlx5sim.h"

enum {
    MLX5_LOG_MAX_PD = 16,
    MLX5_LOG_MAX_TRANSPORT_DOMAIN = 16,
    MLX5_LOG_MAX_FLOW_BULKS = 17,
    MLX5_LOG_MAX_MODIFY_HEADER = 16,
    MLX5_LOG_MAX_PACKET_REFORMAT = 16,
    MLX5_LOG_MAX_XRCD = 16,
    MLX5_LOG_MAX_EQ = 8,         /* the doorbell has 8 bits for the number */
    MLX5_LOG_MAX_EQ_SZ = 22,
    MLX5_LOG_MAX_DCT = 16,
    MLX5_LOG_MAX_DCI_STREAMS = 6, /* channels, and those in error */
    MLX5_LOG_MAX_SRQ = 16,       /* RMP, XRC SRQ, SRQ and XRQ together */
    MLX5_LOG_MAX_SRQ_SZ = 15,
    MLX5_LOG_TAG_MATCHING_LIST_SZ = 7,
    MLX5_LOG_MAX_QP_SZ = 15,
    MLX5_MAX_QP_CNT = 255,       /* Q counter sets; 0 is "none" */
    MLX5_LOG_MAX_TIS = 16,
    MLX5_LOG_MAX_TIR = 16,
    MLX5_LOG_MAX_RQT = 16,
    MLX5_LOG_MAX_SQ = 16,
    MLX5_LOG_MAX_RQ = 16,
    MLX5_LOG_MAX_FT_NUM = 16,
    MLX5_LOG_MAX_PSV = 17,       /* not advertised */
    MLX5_LOG_MAX_UCTX = 12,
    MLX5_LOG_MAX_UMEM = 16,
    MLX5_LOG_MAX_RA_QP = 4,      /* outstanding reads and atomics, each way */
    MLX5_LOG_MAX_MSG = 30,
    MLX5_MAX_WQE_SZ_SQ = 1024,   /* bytes */
    MLX5_MAX_WQE_SZ_RQ = 512,
    MLX5_PKEY_TABLE_SIZE = 128,
    MLX5_LOG_MAX_MCG = 12,       /* multicast groups */
    MLX5_MAX_QP_MCG = 240,       /* queue pairs in one */
};

#endif
