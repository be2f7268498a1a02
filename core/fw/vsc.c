/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vendor-specific capability: a gateway in configuration space to spaces
 * behind it (driver: lib/pci_vsc.c). A user takes the gateway by writing the
 * counter it just read to the semaphore, chooses a space, then reads or writes
 * through address and data.
 *
 * There is one space here, the semaphores that drivers of several hosts share.
 * The space of configuration registers that a crash dump scans is answered as
 * unsupported, as on a card whose firmware keeps it to itself.
 */
#include "fw/fw_internal.h"

/* Registers, as offsets in the capability. */
enum {
    VSC_CTRL = 0x04,         /* space [15:0], size valid 28, status [31:29] */
    VSC_COUNTER = 0x08,
    VSC_SEMAPHORE = 0x0c,
    VSC_ADDR = 0x10,         /* flag 31, address [29:0] */
    VSC_DATA = 0x14,
};

#define VSC_FLAG (UINT32_C(1) << 31)
#define VSC_ADDR_MASK ((UINT32_C(1) << 30) - 1)
#define VSC_SPACE_MASK 0xffffu
#define VSC_STATUS_OK (UINT32_C(1) << 29)
#define VSC_SPACE_SEMAPHORE 0xa

/* Return: the semaphore an address of the space means, or NULL. */
static uint32_t *semaphore_at(Mlx5Vsc *vsc, uint32_t addr)
{
    return addr < MLX5_VSC_SEMAPHORES ? &vsc->semaphore[addr] : NULL;
}

/* Write (flag set) or read through the gateway; the flag turns over. */
static void access_space(Mlx5Vsc *vsc, uint32_t value)
{
    uint32_t addr = value & VSC_ADDR_MASK;
    uint32_t *sem = vsc->space == VSC_SPACE_SEMAPHORE ?
                    semaphore_at(vsc, addr) : NULL;

    if (value & VSC_FLAG) {
        if (sem && (*sem == 0 || vsc->data == 0)) {
            *sem = vsc->data;
        }
        vsc->addr = addr;
    } else {
        vsc->data = sem ? *sem : 0;
        vsc->addr = addr | VSC_FLAG;
    }
}

static void take_gateway(Mlx5Vsc *vsc, uint32_t value)
{
    if (value == 0) {
        vsc->owner = 0;
    } else if (vsc->owner == 0 && value == vsc->counter) {
        vsc->owner = value;
    }
}

uint32_t mlx5_func_vsc_read(Mlx5Func *func, unsigned offset)
{
    Mlx5Vsc *vsc;
    uint32_t value = 0;

    mlx5_func_lock(func);
    vsc = &func->fw->vsc;
    switch (offset) {
    case VSC_CTRL:
        value = vsc->space |
                (vsc->space == VSC_SPACE_SEMAPHORE ? VSC_STATUS_OK : 0);
        break;
    case VSC_COUNTER:
        value = ++vsc->counter;
        break;
    case VSC_SEMAPHORE:
        value = vsc->owner;
        break;
    case VSC_ADDR:
        value = vsc->addr;
        break;
    case VSC_DATA:
        value = vsc->data;
        break;
    }
    mlx5_func_unlock(func);
    return value;
}

void mlx5_func_vsc_write(Mlx5Func *func, unsigned offset, uint32_t value)
{
    Mlx5Vsc *vsc;

    mlx5_func_lock(func);
    vsc = &func->fw->vsc;
    switch (offset) {
    case VSC_CTRL:
        vsc->space = value & VSC_SPACE_MASK;
        break;
    case VSC_SEMAPHORE:
        take_gateway(vsc, value);
        break;
    case VSC_ADDR:
        access_space(vsc, value);
        break;
    case VSC_DATA:
        vsc->data = value;
        break;
    }
    mlx5_func_unlock(func);
}
