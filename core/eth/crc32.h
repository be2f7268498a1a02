/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CRC of Ethernet frames (IEEE 802.3 3.2.9) and of the ICRC of InfiniBand
 * packets (IBA 7.8.1): the same polynomial, over other bytes.
 */
#ifndef MLX5_ETH_CRC32_H
#define MLX5_ETH_CRC32_H

#include <stddef.h>
#include <stdint.h>

/** What a CRC starts from. */
#define MLX5_CRC32_INIT UINT32_MAX

/** Go on with @crc over @len bytes. The final one is inverted by the caller. */
uint32_t mlx5_crc32(uint32_t crc, const uint8_t *p, size_t len);

/** Put the inverse of @crc down as it follows the bytes on the wire. */
static inline void mlx5_crc32_put(uint8_t *to, uint32_t crc)
{
    for (int i = 0; i < 4; i++) {
        to[i] = ~crc >> 8 * i;
    }
}

#endif
