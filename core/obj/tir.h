/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport interface receive: where steering hands a frame to queues, one or
 * many by a hash (PRM: TIR Context; driver: en/tir.c, en/rss.c).
 */
#ifndef MLX5_OBJ_TIR_H
#define MLX5_OBJ_TIR_H

#include "obj/rqt.h"
#include "obj/td.h"

/** tirc.disp_type */
typedef enum Mlx5TirDisp {
    MLX5_TIRC_DISP_TYPE_DIRECT = 0,
    MLX5_TIRC_DISP_TYPE_INDIRECT = 1,
} Mlx5TirDisp;

/** tirc.packet_merge_mask */
enum {
    MLX5_TIRC_PACKET_MERGE_IPV4_LRO = 1 << 0,
    MLX5_TIRC_PACKET_MERGE_IPV6_LRO = 1 << 1,
};

/** tirc.rx_hash_fn */
typedef enum Mlx5RxHashFn {
    MLX5_RX_HASH_FN_NONE = 0,
    MLX5_RX_HASH_FN_INVERTED_XOR8 = 1,
    MLX5_RX_HASH_FN_TOEPLITZ = 2,
} Mlx5RxHashFn;

/** tirc.self_lb_block: self loopback that is taken; eth/loopback.c. */
enum {
    MLX5_SELF_LB_UNICAST = 1 << 0,
    MLX5_SELF_LB_MULTICAST = 1 << 1,
};

/** rx_hash_field_select.selected_fields (driver: device.h). */
enum {
    MLX5_HASH_FIELD_SEL_SRC_IP = 1 << 0,
    MLX5_HASH_FIELD_SEL_DST_IP = 1 << 1,
    MLX5_HASH_FIELD_SEL_L4_SPORT = 1 << 2,
    MLX5_HASH_FIELD_SEL_L4_DPORT = 1 << 3,
    MLX5_HASH_FIELD_SEL_IPSEC_SPI = 1 << 4,
    MLX5_HASH_FIELD_SEL_ALL = (1 << 5) - 1,
};

#define MLX5_TOEPLITZ_KEY_BYTES 40

/** What of a packet's headers is hashed. */
typedef struct Mlx5HashSelect {
    bool ipv6;               /* l3_prot_type: IPv4 or IPv6 */
    bool udp;                /* l4_prot_type: TCP or UDP */
    uint32_t fields;         /* MLX5_HASH_FIELD_SEL_* */
} Mlx5HashSelect;

/** How a frame's hash is made. */
typedef struct Mlx5RxHash {
    Mlx5RxHashFn fn;
    bool symmetric;
    Mlx5HashSelect outer;
    Mlx5HashSelect inner;    /* of packets in a tunnel; no fields: as outer */
    uint8_t key[MLX5_TOEPLITZ_KEY_BYTES];
} Mlx5RxHash;

typedef struct Mlx5Tir {
    Mlx5Obj o;
    Mlx5Td *td;
    Mlx5Rq *rq;              /* direct; else NULL */
    Mlx5Rqt *rqt;            /* indirect; else NULL */
    Mlx5RxHash hash;
    uint8_t self_lb;         /* MLX5_SELF_LB_* */
    uint8_t merge;           /* MLX5_TIRC_PACKET_MERGE_* */
    uint32_t merge_bytes;    /* IP payload of a merged packet, at most */
    bool tunneled;           /* completions tell of what is in a tunnel */
    uint8_t tirc[MLX5_BITS_tirc / 8]; /* for QUERY_TIR */
} Mlx5Tir;

#endif
