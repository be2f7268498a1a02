/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RoCE addresses (PRM: RoCE Address Table; driver: lib/gid.c): what a QP's
 * src_addr_index names, and what an incoming packet is addressed to.
 */
#ifndef MLX5_FW_ROCE_H
#define MLX5_FW_ROCE_H

#include "bus/func.h"

/** roce_version (driver: enum mlx5_roce_version). */
enum {
    MLX5_ROCE_VERSION_1 = 0,
    MLX5_ROCE_VERSION_2 = 2,
};

/** roce_l3_type. */
enum {
    MLX5_ROCE_L3_TYPE_IPV4 = 0,  /* gid is ::ffff:a.b.c.d; also version 1 */
    MLX5_ROCE_L3_TYPE_IPV6 = 1,
};

typedef struct Mlx5RoceAddr {
    bool valid;
    uint8_t gid[16];
    uint8_t mac[6];
    bool vlan_valid;
    uint16_t vlan_id;
    uint8_t version;
    uint8_t l3_type;
} Mlx5RoceAddr;

/** roce_address_table_size. */
#define MLX5_ROCE_TABLE_SIZE 255

/** Delete all entries. */
void mlx5_roce_clear(Mlx5Func *func);
/** Return: the entry, or NULL if @index is deleted or out of range. */
const Mlx5RoceAddr *mlx5_roce_addr(Mlx5Func *func, uint32_t index);
/** Return: first entry with this GID and version (RoCE version), or NULL. */
const Mlx5RoceAddr *mlx5_roce_find(Mlx5Func *func, const uint8_t gid[16],
                                   uint8_t version);
/** Return: the function of @card that has such an entry, or NULL. */
Mlx5Func *mlx5_roce_owner(Mlx5Card *card, const uint8_t gid[16],
                          uint8_t version);

#endif
