/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC-32 by eight bytes a step; see crc32.h. Table k holds what a byte makes
 * of the remainder when 8 * k more bits follow it, so that eight look-ups of
 * one step do not wait for each other.
 */
#include "eth/crc32.h"

#include <glib.h>
#include <string.h>

/* The generator of IEEE 802.3, least significant bit first. */
#define CRC32_REVERSED 0xedb88320u
#define STEP 8

static uint32_t table[STEP][256];

static uint32_t one_byte(uint32_t value)
{
    for (int bit = 0; bit < 8; bit++) {
        value = value >> 1 ^ (value & 1 ? CRC32_REVERSED : 0);
    }
    return value;
}

static void fill(void)
{
    static gsize filled;

    if (!g_once_init_enter(&filled)) {
        return;
    }
    for (uint32_t i = 0; i < 256; i++) {
        table[0][i] = one_byte(i);
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (int k = 1; k < STEP; k++) {
            uint32_t before = table[k - 1][i];

            table[k][i] = before >> 8 ^ table[0][before & 255];
        }
    }
    g_once_init_leave(&filled, 1);
}

static uint32_t step(uint32_t crc, const uint8_t *p)
{
    uint32_t low, high;

    memcpy(&low, p, 4);
    memcpy(&high, p + 4, 4);
    low = GUINT32_FROM_LE(low) ^ crc;
    high = GUINT32_FROM_LE(high);
    return table[7][low & 255] ^ table[6][low >> 8 & 255] ^
           table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
           table[3][high & 255] ^ table[2][high >> 8 & 255] ^
           table[1][high >> 16 & 255] ^ table[0][high >> 24];
}

uint32_t mlx5_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
    fill();
    for (; len >= STEP; len -= STEP, p += STEP) {
        crc = step(crc, p);
    }
    for (; len; len--, p++) {
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    }
    return crc;
}
