/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checksums of block signatures, as numbers.
 *
 *   CRC16-T10DIF   poly 0x8bb7, T10 SBC-3
 *   IP checksum    RFC 1071, in place of that CRC
 *   CRC32          reflected, poly 0x04c11db7, FC-PH and IEEE 802.3
 *   CRC32C         reflected, poly 0x1edc6f41, RFC 3720
 *   CRC64-XP10     reflected, poly 0xad93d23594c93659, also NVMe's CRC-64
 *
 * The reflected ones end with a complement. @seed is what the register holds
 * before the first byte.
 */
#ifndef MLX5_OBJ_SIG_MATH_H
#define MLX5_OBJ_SIG_MATH_H

#include <stddef.h>
#include <stdint.h>

uint16_t mlx5_sig_crc16(uint16_t seed, const uint8_t *bytes, size_t len);
uint16_t mlx5_sig_ip_checksum(uint16_t seed, const uint8_t *bytes, size_t len);
uint32_t mlx5_sig_crc32(uint32_t seed, const uint8_t *bytes, size_t len);
uint32_t mlx5_sig_crc32c(uint32_t seed, const uint8_t *bytes, size_t len);
uint64_t mlx5_sig_crc64(uint64_t seed, const uint8_t *bytes, size_t len);

#endif
