/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the port's receive buffers (PRM: PPTB, PBMC, SBPR, SBCM, SBCAM;
 * driver: en/port.c, en/port_buffer.c, en_dcbnl.c; in the guest: dcb buffer).
 *
 *   priority -- PPTB --> buffer -- PBMC --> its size
 *
 * A frame that waits for a receive WQE takes room of its priority's buffer
 * (eth/backlog.c); what has none is dropped. The pools that buffers share (SBPR,
 * SBCM) are kept and told, as are the thresholds at which metal would send pause
 * frames: none is sent here.
 */
#include "fw/fw_internal.h"

/* What a card of metal has: cells of 128 bytes, half a MiB of them. */
#define CELLS 4096u
/* Of these for frames without loss at first, all in one buffer; the rest is in
 * pools, a quarter of it for what may not be lost (en/port_buffer.c). */
#define HEADROOM_CELLS 2048u
#define XOFF_CELLS 1769u     /* the driver's own, at 100 Gbit/s and 7 m */
#define XON_CELLS 1691u
#define PBMC_BUFFERS 10      /* MLX5_PORT_BUFFERS, and two of the card's own */
#define SB_REGS 0xb000u

enum { INGRESS = 0, EGRESS = 1, LOSSY_POOL = 0, LOSSLESS_POOL = 1 };

void mlx5_port_buffer_reset(Mlx5Port *p)
{
    Mlx5PortBuffers *b = &p->buffers;
    uint32_t shared = CELLS - HEADROOM_CELLS;

    memset(b, 0, sizeof(*b));
    for (unsigned i = 0; i < MLX5_PORT_BUFFERS; i++) {
        b->buffer[i].lossy = true;
    }
    b->buffer[0] = (Mlx5PortBuffer){ .cells = HEADROOM_CELLS,
                                     .xoff = XOFF_CELLS, .xon = XON_CELLS };
    b->pool[INGRESS][LOSSLESS_POOL].size = shared / 4;
    b->pool[EGRESS][LOSSY_POOL].size = shared - shared / 4;
}

unsigned mlx5_port_buffer(Mlx5Func *func, unsigned prio)
{
    return func->fw->port.buffers.prio_buffer[prio];
}

uint32_t mlx5_port_buffer_bytes(Mlx5Func *func, unsigned buffer)
{
    return func->fw->port.buffers.buffer[buffer].cells *
           MLX5_PORT_CELL_BYTES;
}

void mlx5_port_count_discard(Mlx5Func *func, unsigned prio)
{
    func->fw->port.buffers.discards[prio]++;
}

static void fail(Mlx5Cmd *cmd, uint32_t syndrome)
{
    mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
}

/* prio_x_buff: four bits each, priority 0 the lowest. */
static unsigned buffer_of(uint32_t prio_x_buff, unsigned prio)
{
    return prio_x_buff >> (4 * prio) & 0xf;
}

/* Return: 0 or the syndrome of what is wrong. */
static uint32_t check_pptb(const uint8_t *in)
{
    uint32_t map = MLX5_GET(pptb_reg, in, prio_x_buff);
    uint32_t pm = MLX5_GET(pptb_reg, in, pm);

    if (MLX5_GET(pptb_reg, in, mm) || MLX5_GET(pptb_reg, in, cm) ||
        MLX5_GET(pptb_reg, in, um) || MLX5_GET(pptb_reg, in, pm_msb)) {
        return MLX5_SYND_PPTB_MASKS;
    }
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        if (pm >> i & 1 && buffer_of(map, i) >= MLX5_PORT_BUFFERS) {
            return MLX5_SYND_PPTB_BUFFER;
        }
    }
    return 0;
}

void mlx5_reg_pptb(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5PortBuffers *b = &func->fw->port.buffers;
    uint32_t map = MLX5_GET(pptb_reg, acc->in, prio_x_buff), told = 0;
    uint32_t pm = acc->write ? MLX5_GET(pptb_reg, acc->in, pm) : 0;
    uint32_t bad = acc->write ? check_pptb(acc->in) : 0;

    if (!mlx5_reg_may_dcb(func, cmd,
                          MLX5_GET(pptb_reg, acc->in, local_port))) {
        return;
    }
    if (bad) {
        fail(cmd, bad);
        return;
    }
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        if (pm >> i & 1) {
            b->prio_buffer[i] = buffer_of(map, i);
        }
        told |= (uint32_t)b->prio_buffer[i] << (4 * i);
    }
    MLX5_SET(pptb_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(pptb_reg, acc->out, prio_x_buff, told);
}

#define BUFFER(p, i) (MLX5_ADDR_OF(pbmc_reg, p, buffer) + \
                      (i) * MLX5_ST_SZ_BYTES(bufferx_reg))

static Mlx5PortBuffer get_buffer(const uint8_t *b)
{
    return (Mlx5PortBuffer){
        .lossy = MLX5_GET(bufferx_reg, b, lossy),
        .cells = MLX5_GET(bufferx_reg, b, size),
        .xoff = MLX5_GET(bufferx_reg, b, xoff_threshold),
        .xon = MLX5_GET(bufferx_reg, b, xon_threshold),
    };
}

/* Return: 0 or the syndrome of what is wrong. */
static uint32_t check_pbmc(const uint8_t *in)
{
    uint32_t cells = 0;

    for (unsigned i = 0; i < PBMC_BUFFERS; i++) {
        Mlx5PortBuffer b = get_buffer(BUFFER(in, i));

        if (i >= MLX5_PORT_BUFFERS && b.cells) {
            return MLX5_SYND_PBMC_INTERNAL;
        }
        if (b.xoff > b.cells || b.xon > b.xoff) {
            return MLX5_SYND_PBMC_THRESHOLD;
        }
        cells += b.cells;
    }
    return cells > CELLS ? MLX5_SYND_PBMC_SIZE : 0;
}

void mlx5_reg_pbmc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    Mlx5PortBuffers *b = &func->fw->port.buffers;
    uint32_t bad = acc->write ? check_pbmc(acc->in) : 0;

    if (!mlx5_reg_may_dcb(func, cmd,
                          MLX5_GET(pbmc_reg, acc->in, local_port))) {
        return;
    }
    if (bad) {
        fail(cmd, bad);
        return;
    }
    MLX5_SET(pbmc_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(pbmc_reg, acc->out, port_buffer_size, CELLS);
    for (unsigned i = 0; i < MLX5_PORT_BUFFERS; i++) {
        uint8_t *out = BUFFER(acc->out, i);

        if (acc->write) {
            b->buffer[i] = get_buffer(BUFFER(acc->in, i));
        }
        MLX5_SET(bufferx_reg, out, lossy, b->buffer[i].lossy);
        MLX5_SET(bufferx_reg, out, size, b->buffer[i].cells);
        MLX5_SET(bufferx_reg, out, xoff_threshold, b->buffer[i].xoff);
        MLX5_SET(bufferx_reg, out, xon_threshold, b->buffer[i].xon);
    }
}

void mlx5_reg_sbcam(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    if (!mlx5_reg_may_dcb(func, cmd, MLX5_LOCAL_PORT)) {
        return;
    }
    if (MLX5_GET(sbcam_reg, acc->in, feature_group) ||
        MLX5_GET(sbcam_reg, acc->in, access_reg_group)) {
        fail(cmd, MLX5_SYND_SBCAM_GROUP);
        return;
    }
    mlx5_reg_mask(SB_REGS, MLX5_ADDR_OF(sbcam_reg, acc->out,
                                        sb_access_reg_cap_mask));
    /* unknown: whether in cells or in bytes; no driver looks. */
    MLX5_SET(sbcam_reg, acc->out, cap_total_buffer_size,
             CELLS * MLX5_PORT_CELL_BYTES);
    MLX5_SET(sbcam_reg, acc->out, cap_cell_size, MLX5_PORT_CELL_BYTES);
    MLX5_SET(sbcam_reg, acc->out, cap_max_pg_buffers, MLX5_PORT_BUFFERS);
    MLX5_SET(sbcam_reg, acc->out, cap_num_pool_supported, MLX5_PORT_POOLS);
}

void mlx5_reg_sbpr(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t dir = MLX5_GET(sbpr_reg, acc->in, dir);
    uint32_t pool = MLX5_GET(sbpr_reg, acc->in, pool);
    Mlx5PortPool *p;

    if (!mlx5_reg_may_dcb(func, cmd, MLX5_LOCAL_PORT)) {
        return;
    }
    if (MLX5_GET(sbpr_reg, acc->in, desc) || dir > EGRESS ||
        pool >= MLX5_PORT_POOLS) {
        fail(cmd, MLX5_SYND_SBPR_POOL);
        return;
    }
    p = &func->fw->port.buffers.pool[dir][pool];
    if (acc->write) {
        if (MLX5_GET(sbpr_reg, acc->in, size) > CELLS) {
            fail(cmd, MLX5_SYND_SBPR_SIZE);
            return;
        }
        p->size = MLX5_GET(sbpr_reg, acc->in, size);
        p->infi_size = MLX5_GET(sbpr_reg, acc->in, infi_size);
    }
    MLX5_SET(sbpr_reg, acc->out, dir, dir);
    MLX5_SET(sbpr_reg, acc->out, pool, pool);
    MLX5_SET(sbpr_reg, acc->out, size, p->size);
    MLX5_SET(sbpr_reg, acc->out, infi_size, p->infi_size);
}

void mlx5_reg_sbcm(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t dir = MLX5_GET(sbcm_reg, acc->in, dir);
    uint32_t buffer = MLX5_GET(sbcm_reg, acc->in, pg_buff);
    Mlx5PortClass *c;

    if (!mlx5_reg_may_dcb(func, cmd,
                          MLX5_GET(sbcm_reg, acc->in, local_port))) {
        return;
    }
    if (MLX5_GET(sbcm_reg, acc->in, desc) || dir > EGRESS ||
        buffer >= MLX5_PORT_BUFFERS) {
        fail(cmd, MLX5_SYND_SBCM_BUFFER);
        return;
    }
    c = &func->fw->port.buffers.cls[dir][buffer];
    if (acc->write) {
        if (MLX5_GET(sbcm_reg, acc->in, pool) >= MLX5_PORT_POOLS) {
            fail(cmd, MLX5_SYND_SBCM_POOL);
            return;
        }
        *c = (Mlx5PortClass){
            .pool = MLX5_GET(sbcm_reg, acc->in, pool),
            .infi_max = MLX5_GET(sbcm_reg, acc->in, infi_max),
            .exc = MLX5_GET(sbcm_reg, acc->in, exc),
            .max_buff = MLX5_GET(sbcm_reg, acc->in, max_buff),
            .min_buff = MLX5_GET(sbcm_reg, acc->in, min_buff),
        };
    }
    MLX5_SET(sbcm_reg, acc->out, local_port, MLX5_LOCAL_PORT);
    MLX5_SET(sbcm_reg, acc->out, dir, dir);
    MLX5_SET(sbcm_reg, acc->out, pg_buff, buffer);
    MLX5_SET(sbcm_reg, acc->out, pool, c->pool);
    MLX5_SET(sbcm_reg, acc->out, infi_max, c->infi_max);
    MLX5_SET(sbcm_reg, acc->out, exc, c->exc);
    MLX5_SET(sbcm_reg, acc->out, max_buff, c->max_buff);
    MLX5_SET(sbcm_reg, acc->out, min_buff, c->min_buff);
}
