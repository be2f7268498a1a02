/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory; see dma.h.
 */
#include "bus/dma.h"

bool mlx5_dma_read(Mlx5Func *func, uint64_t addr, void *buf, size_t len)
{
    if (func->bus_master && mlx5_range_ok(addr, len) &&
        func->ops->dma_read(func->host, addr, buf, len)) {
        return true;
    }
    func->dma_fault = true;
    memset(buf, 0, len);
    return false;
}

bool mlx5_dma_write(Mlx5Func *func, uint64_t addr, const void *buf, size_t len)
{
    if (func->bus_master && mlx5_range_ok(addr, len) &&
        func->ops->dma_write(func->host, addr, buf, len)) {
        return true;
    }
    func->dma_fault = true;
    return false;
}

static void *map(Mlx5Func *func, uint64_t addr, size_t *len, bool write)
{
    void *p = NULL;

    if (func->bus_master) {
        p = func->ops->dma_map(func->host, addr, len, write);
    }
    func->dma_fault |= p == NULL;
    return p;
}

/* Copy what one mapping on each side allows. Return: bytes, 0 on failure. */
static size_t copy_once(Mlx5Func *df, uint64_t dst, Mlx5Func *sf, uint64_t src,
                        size_t len)
{
    size_t src_len = len, dst_len, n;
    void *s = map(sf, src, &src_len, false);
    void *d;

    if (!s) {
        return 0;
    }
    dst_len = src_len;
    d = map(df, dst, &dst_len, true);
    n = d ? MIN(src_len, dst_len) : 0;
    if (d) {
        /* memmove: a guest may name the same page on both sides. */
        memmove(d, s, n);
        df->ops->dma_unmap(df->host, d, dst_len, true);
    }
    sf->ops->dma_unmap(sf->host, s, src_len, false);
    return n;
}

bool mlx5_dma_copy(Mlx5Func *df, uint64_t dst, Mlx5Func *sf, uint64_t src,
                   uint64_t len)
{
    if (!mlx5_range_ok(dst, len) || !mlx5_range_ok(src, len)) {
        return false;
    }
    while (len) {
        size_t n = copy_once(df, dst, sf, src, MIN(len, 1u << 30));

        if (!n) {
            return false;
        }
        dst += n;
        src += n;
        len -= n;
    }
    return true;
}

bool mlx5_dma_exchange64(Mlx5Func *func, uint64_t addr,
                         uint64_t (*change)(uint64_t old, const void *opaque),
                         const void *opaque, uint64_t *original)
{
    size_t len = sizeof(uint64_t);
    uint64_t *p = map(func, addr, &len, true);
    uint64_t old;

    if (!p) {
        return false;
    }
    if (len < sizeof(uint64_t) || (uintptr_t)p % sizeof(uint64_t)) {
        func->ops->dma_unmap(func->host, p, len, true);
        return false;
    }
    old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(p, &old, change(old, opaque), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        /* A processor was faster: old holds what it wrote. */
    }
    func->ops->dma_unmap(func->host, p, len, true);
    *original = old;
    return true;
}

bool mlx5_dma_read_be32(Mlx5Func *func, uint64_t addr, uint32_t *value)
{
    uint32_t be;
    bool ok = mlx5_dma_read(func, addr, &be, sizeof(be));

    *value = GUINT32_FROM_BE(be);
    return ok;
}
