/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The init segment: identity, command queue address and doorbell, health and
 * timer (PRM: Initialization Segment; driver: device.h struct mlx5_init_seg,
 * main.c wait_fw_init, health.c, lib/clock.c).
 *
 * Nothing ticks: timer and health counter are computed from the clock when
 * they are read, so an idle card costs nothing. Not modelled: timeouts of its
 * own (cmd_q_init_to reads 0, so drivers use their defaults and never ask for
 * the DTOR register), firmware reset through nic_interface 7, clear_int.
 */
#include "fw/fw_internal.h"

/* Word offsets with behaviour; the others are constants of the layout. */
enum {
    SEG_CMDQ_HIGH = 0x10,
    SEG_CMDQ_LOW = 0x14,
    SEG_DOORBELL = 0x18,
    SEG_TIMER_HIGH = 0x1000,
    SEG_TIMER_LOW = 0x1004,
    SEG_HEALTH_COUNTER = 0x1010,
    SEG_REAL_SEC = 0x1040,
    SEG_REAL_NSEC = 0x1044,
};

/* nic_interface (driver: MLX5_INITIAL_SEG_NIC_INTERFACE_*). */
enum {
    NIC_IFC_FULL = 0,
    NIC_IFC_DISABLED = 1,
    NIC_IFC_NO_DRAM = 2,
    NIC_IFC_SW_RESET = 7,
};

#define CMDIF_REV 5
#define HEALTH_TICK_NS 10000000
/* Neither 0 nor all ones: drivers take both for a dead device. */
#define HEALTH_WRAP 0xfffffe

uint64_t mlx5_fw_timer(Mlx5Func *func)
{
    G_STATIC_ASSERT(MLX5_FW_TIMER_KHZ == 1000000);
    return mlx5_clock_ns(func);
}

/* The constant part, built from the layout; 0x240 bytes cover it. */
static uint32_t constant_word(Mlx5Func *func, uint32_t offset)
{
    const Mlx5ModelInfo *m = mlx5_model_info(func->props.model);
    uint8_t seg[0x240] = { 0 };
    uint8_t *health = MLX5_ADDR_OF(initial_seg, seg, health_buffer);

    if (offset >= sizeof(seg)) {
        return 0;
    }
    MLX5_SET(initial_seg, seg, fw_rev_major, m->fw_major);
    MLX5_SET(initial_seg, seg, fw_rev_minor, m->fw_minor);
    MLX5_SET(initial_seg, seg, fw_rev_subminor, m->fw_subminor);
    MLX5_SET(initial_seg, seg, cmd_interface_rev, CMDIF_REV);
    MLX5_SET(initial_seg, seg, nic_interface_supported,
             1 << NIC_IFC_FULL | 1 << NIC_IFC_DISABLED);
    MLX5_SET(health_buffer, health, fw_version,
             (uint32_t)m->fw_major << 24 | (uint32_t)m->fw_minor << 16 |
             m->fw_subminor);
    MLX5_SET(health_buffer, health, hw_id, m->pci_device_id);
    MLX5_SET(health_buffer, health, synd, func->fw->health_synd);
    return mlx5_prm_get(seg, offset * 8, 32);
}

static uint32_t cmdq_low_word(Mlx5Fw *fw)
{
    return (uint32_t)fw->cmdq_gpa | (uint32_t)fw->nic_interface << 8 |
           MLX5_CMDQ_LOG_SIZE << 4 | MLX5_CMDQ_LOG_STRIDE;
}

static uint32_t read_word(Mlx5Func *func, uint32_t offset)
{
    Mlx5Fw *fw = func->fw;

    switch (offset) {
    case SEG_CMDQ_HIGH:
        return fw->cmdq_high;
    case SEG_CMDQ_LOW:
        return cmdq_low_word(fw);
    case SEG_TIMER_HIGH:
        return mlx5_fw_timer(func) >> 32;
    case SEG_TIMER_LOW:
        return mlx5_fw_timer(func);
    case SEG_HEALTH_COUNTER:
        return (uint32_t)fw->health_synd << 24 |
               (mlx5_clock_ns(func) / HEALTH_TICK_NS % HEALTH_WRAP + 1);
    case SEG_REAL_SEC:
        return mlx5_fw_real_time(func) >> 32;
    case SEG_REAL_NSEC:
        return mlx5_fw_real_time(func);
    default:
        return constant_word(func, offset);
    }
}

uint64_t mlx5_fw_bar_read(Mlx5Func *func, uint64_t offset, unsigned size)
{
    uint64_t value;

    if (size == 8) {
        value = (uint64_t)read_word(func, offset) << 32 |
                read_word(func, offset + 4);
    } else {
        uint32_t shift = (4 - size - offset % 4) * 8;

        value = read_word(func, offset & ~UINT64_C(3)) >> shift;
        value &= size == 4 ? UINT32_MAX : (1u << size * 8) - 1;
    }
    mlx5_trace(func, MLX5_TRACE_REG, "read 0x%x size %u = 0x%" G_GINT64_MODIFIER
               "x", (unsigned)offset, size, value);
    return value;
}

/*
 * A new queue address is a new driver (probe, reload, kexec): it starts from
 * a fresh device, whatever the last one left behind.
 */
static void restart(Mlx5Func *func, uint64_t cmdq_gpa)
{
    uint32_t high = func->fw->cmdq_high;

    mlx5_func_reset_locked(func);
    func->fw->cmdq_high = high;
    func->fw->cmdq_gpa = cmdq_gpa;
    func->fw->cmdq_valid = true;
    mlx5_trace(func, MLX5_TRACE_STATE, "command queue at 0x%" G_GINT64_MODIFIER
               "x", cmdq_gpa);
}

/* Fast teardown, second half: no DMA, no interrupt, no command from now on. */
static void disable(Mlx5Func *func)
{
    mlx5_cmdq_drop(func);
    mlx5_func_stop(func);
    mlx5_pages_forget(func);
    func->fw->cmdq_valid = false;
    func->fw->hca = MLX5_HCA_DEAD;
    func->fw->nic_interface = NIC_IFC_DISABLED;
}

static void write_cmdq_low(Mlx5Func *func, uint32_t value)
{
    switch (value >> 8 & 7) {
    case NIC_IFC_FULL:
        restart(func, (uint64_t)func->fw->cmdq_high << 32 |
                      (value & 0xfffff000));
        break;
    case NIC_IFC_DISABLED:
        disable(func);
        break;
    default:
        mlx5_guest_error(func, "init segment: nic_interface %u is not offered",
                         value >> 8 & 7);
    }
}

static void write_word(Mlx5Func *func, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case SEG_CMDQ_HIGH:
        func->fw->cmdq_high = value;
        break;
    case SEG_CMDQ_LOW:
        write_cmdq_low(func, value);
        break;
    case SEG_DOORBELL:
        mlx5_cmdq_doorbell(func, value);
        break;
    default:
        mlx5_guest_error(func, "init segment: write to 0x%x ignored", offset);
    }
}

void mlx5_fw_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                       unsigned size)
{
    mlx5_trace(func, MLX5_TRACE_REG, "write 0x%x size %u = 0x%"
               G_GINT64_MODIFIER "x", (unsigned)offset, size, value);
    if (size == 8) {
        write_word(func, offset, value >> 32);
        write_word(func, offset + 4, value);
    } else if (size == 4) {
        write_word(func, offset, value);
    } else {
        mlx5_guest_error(func, "init segment: write of %u bytes ignored", size);
    }
}
