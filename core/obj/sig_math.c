/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checksums of block signatures; see sig_math.h. A table of 256 entries a
 * polynomial, made at first use.
 */
#include "obj/sig_math.h"

#include <glib.h>

/* Polynomials; those of reflected CRCs with their bits turned around. */
#define POLY_T10DIF 0x8bb7u
#define POLY_CRC32 UINT64_C(0xedb88320)
#define POLY_CRC32C UINT64_C(0x82f63b78)
#define POLY_XP10 UINT64_C(0x9a6c9329ac4bc9b5)

static uint16_t t10dif_table[256];
static uint64_t crc32_table[256], crc32c_table[256], xp10_table[256];

static void fill_reflected(uint64_t *table, uint64_t poly)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint64_t crc = i;

        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ poly : crc >> 1;
        }
        table[i] = crc;
    }
}

static void fill_t10dif(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i << 8;

        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 0x8000 ? crc << 1 ^ POLY_T10DIF : crc << 1;
        }
        t10dif_table[i] = crc;
    }
}

/* Cards of one process may come here on several threads. */
static void fill_tables(void)
{
    static gsize done;

    if (g_once_init_enter(&done)) {
        fill_t10dif();
        fill_reflected(crc32_table, POLY_CRC32);
        fill_reflected(crc32c_table, POLY_CRC32C);
        fill_reflected(xp10_table, POLY_XP10);
        g_once_init_leave(&done, 1);
    }
}

static uint64_t reflected(const uint64_t *table, uint64_t crc,
                          const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    }
    return crc;
}

uint16_t mlx5_sig_crc16(uint16_t seed, const uint8_t *bytes, size_t len)
{
    uint16_t crc = seed;

    fill_tables();
    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc << 8) ^ t10dif_table[(crc >> 8) ^ bytes[i]];
    }
    return crc;
}

uint16_t mlx5_sig_ip_checksum(uint16_t seed, const uint8_t *bytes, size_t len)
{
    uint64_t sum = seed;

    for (size_t i = 0; i < len; i++) {
        sum += (uint32_t)bytes[i] << (i % 2 ? 0 : 8);
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return ~sum;
}

uint32_t mlx5_sig_crc32(uint32_t seed, const uint8_t *bytes, size_t len)
{
    fill_tables();
    return ~(uint32_t)reflected(crc32_table, seed, bytes, len);
}

uint32_t mlx5_sig_crc32c(uint32_t seed, const uint8_t *bytes, size_t len)
{
    fill_tables();
    return ~(uint32_t)reflected(crc32c_table, seed, bytes, len);
}

uint64_t mlx5_sig_crc64(uint64_t seed, const uint8_t *bytes, size_t len)
{
    fill_tables();
    return ~reflected(xp10_table, seed, bytes, len);
}
