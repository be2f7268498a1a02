/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MCIA: the memory of the module in the cage, read over its two-wire bus (PRM:
 * Management Cable Info Access; SFF-8636, SFF-8024; driver: port.c
 * mlx5_query_module_eeprom). A passive copper cable of 100 Gb/s and one metre:
 * one page of constants, nothing to measure.
 */
#include "fw/fw_internal.h"

#define I2C_ADDRESS 0x50
#define PAGE_BYTES 256
#define MOST_BYTES 48            /* twelve words in a register */
#define STATUS_I2C_ERROR 9

/* SFF-8636 table 6-1 (lower page) and 6-14 (page 0). */
static const struct {
    uint8_t at, value;
} bytes[] = {
    { 0, 0x11 },                 /* QSFP28 */
    { 1, 0x07 },                 /* revision 2.5 of SFF-8636 */
    { 2, 0x04 },                 /* no pages but the one */
    { 128, 0x11 },
    { 130, 0x23 },               /* connector: none to be separated */
    { 131, 0x88 },               /* 40GBASE-CR4; 192 has more */
    { 138, 0x08 },               /* Fibre Channel: copper, unequalized */
    { 139, 0x05 },               /* 64B/66B */
    { 140, 0xff },               /* nominal rate: 222 has it */
    { 146, 1 },                  /* metres of copper */
    { 147, 0xa0 },               /* copper cable, unequalized */
    { 165, 0x00 }, { 166, 0x02 }, { 167, 0xc9 }, /* the vendor's OUI */
    { 184, 'A' }, { 185, '1' },
    { 186, 2 }, { 187, 4 }, { 188, 6 }, /* dB lost at 2.5, 5, 7 GHz */
    { 192, 0x0b },               /* 100GBASE-CR4 */
    { 222, 103 },                /* 25.75 Gb/s */
};

static const struct {
    uint8_t at, len;
    const char *text;            /* padded with spaces */
} texts[] = {
    { 148, 16, "mlx5sim" }, { 168, 16, "MSM-QSFP28-DAC-1" },
    { 196, 16, "MSM0000000001" }, { 212, 8, "240101" },
};

/* SFF-8636 6.3.20 and 6.3.28: low bytes of sums. */
static void add_sum(uint8_t *page, unsigned first, unsigned last)
{
    uint8_t sum = 0;

    for (unsigned i = first; i <= last; i++) {
        sum += page[i];
    }
    page[last + 1] = sum;
}

static void fill_page(uint8_t page[PAGE_BYTES])
{
    memset(page, 0, PAGE_BYTES);
    for (size_t i = 0; i < G_N_ELEMENTS(bytes); i++) {
        page[bytes[i].at] = bytes[i].value;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        memset(page + texts[i].at, ' ', texts[i].len);
        memcpy(page + texts[i].at, texts[i].text, strlen(texts[i].text));
    }
    add_sum(page, 128, 190);
    add_sum(page, 192, 222);
}

void mlx5_reg_mcia(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t at = MLX5_GET(mcia_reg, acc->in, device_address);
    uint32_t size = MLX5_GET(mcia_reg, acc->in, size);
    uint8_t page[PAGE_BYTES];

    (void)func;
    if (MLX5_GET(mcia_reg, acc->in, module)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCIA_MODULE);
        return;
    }
    if (size > MOST_BYTES || (uint64_t)at + size > PAGE_BYTES) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MCIA_RANGE);
        return;
    }
    memcpy(acc->out, acc->in, MLX5_BYTE_OFF(mcia_reg, dwords));
    MLX5_SET(mcia_reg, acc->out, status, 0);
    if (MLX5_GET(mcia_reg, acc->in, i2c_device_address) != I2C_ADDRESS ||
        MLX5_GET(mcia_reg, acc->in, page_number)) {
        MLX5_SET(mcia_reg, acc->out, status, STATUS_I2C_ERROR);
        return;
    }
    fill_page(page);
    memcpy(MLX5_ADDR_OF(mcia_reg, acc->out, dwords), page + at, size);
}
