/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory; see dma.h.
 */
#include "bus/dma.h"

/* Return: the bytes of device memory at @addr, NULL if they are not there. */
static uint8_t *memic(Mlx5Func *func, uint64_t addr, uint64_t len)
{
    uint64_t at = addr & ~MLX5_DMA_MEMIC;

    if (!func->memic || !mlx5_range_inside(at, len, 0, MLX5_MEMIC_BYTES)) {
        func->dma_fault = true;
        return NULL;
    }
    return func->memic + at;
}

static bool memic_read(Mlx5Func *func, uint64_t addr, void *buf, size_t len)
{
    const uint8_t *p = memic(func, addr, len);

    if (p) {
        memcpy(buf, p, len);
    } else {
        memset(buf, 0, len);
    }
    return p;
}

static bool memic_write(Mlx5Func *func, uint64_t addr, const void *buf,
                        size_t len)
{
    uint8_t *p = memic(func, addr, len);

    if (p) {
        memcpy(p, buf, len);
    }
    return p;
}

bool mlx5_dma_read(Mlx5Func *func, uint64_t addr, void *buf, size_t len)
{
    if (G_UNLIKELY(addr & MLX5_DMA_MEMIC)) {
        return memic_read(func, addr, buf, len);
    }
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
    if (G_UNLIKELY(addr & MLX5_DMA_MEMIC)) {
        return memic_write(func, addr, buf, len);
    }
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

    if (G_UNLIKELY(addr & MLX5_DMA_MEMIC)) {
        return memic(func, addr, *len);
    }
    if (func->bus_master) {
        p = func->ops->dma_map(func->host, addr, len, write);
    }
    func->dma_fault |= p == NULL;
    return p;
}

static void unmap(Mlx5Func *func, uint64_t addr, void *p, size_t len,
                  bool write)
{
    if (!(addr & MLX5_DMA_MEMIC)) {
        func->ops->dma_unmap(func->host, p, len, write);
    }
}

static bool copy_ram(Mlx5Func *df, uint64_t dst, Mlx5Func *sf, uint64_t src,
                     uint64_t len)
{
    if (df->bus_master && sf->bus_master &&
        df->ops->dma_copy(df->host, dst, sf->host, src, len)) {
        return true;
    }
    df->dma_fault = sf->dma_fault = true;
    return false;
}

/*
 * With device memory on a side: copy what one mapping on each side allows.
 * Return: bytes, 0 on failure.
 */
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
        unmap(df, dst, d, dst_len, true);
    }
    unmap(sf, src, s, src_len, false);
    return n;
}

static G_GNUC_NO_INLINE bool copy_memic(Mlx5Func *df, uint64_t dst,
                                        Mlx5Func *sf, uint64_t src,
                                        uint64_t len)
{
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

bool mlx5_dma_copy(Mlx5Func *df, uint64_t dst, Mlx5Func *sf, uint64_t src,
                   uint64_t len)
{
    if (!mlx5_range_ok(dst, len) || !mlx5_range_ok(src, len)) {
        return false;
    }
    if (G_UNLIKELY((dst | src) & MLX5_DMA_MEMIC)) {
        return copy_memic(df, dst, sf, src, len);
    }
    return copy_ram(df, dst, sf, src, len);
}

/* Exchange @p, a pointer to an integer, by what change() makes of it. */
#define EXCHANGE(p, change, opaque, original)                               \
    do {                                                                    \
        typeof(*(p)) old = __atomic_load_n(p, __ATOMIC_SEQ_CST);            \
                                                                            \
        while (!__atomic_compare_exchange_n(                                \
            p, &old, (typeof(*(p)))change(old, opaque), false,              \
            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {                          \
            /* A processor was faster: old holds what it wrote. */          \
        }                                                                   \
        *(original) = old;                                                  \
    } while (0)

bool mlx5_dma_exchange(Mlx5Func *func, uint64_t addr, unsigned size,
                       uint64_t (*change)(uint64_t old, const void *opaque),
                       const void *opaque, uint64_t *original)
{
    size_t len = size;
    void *p = map(func, addr, &len, true);
    bool ok;

    if (!p) {
        return false;
    }
    ok = len >= size && (uintptr_t)p % size == 0;
    if (ok && size == sizeof(uint64_t)) {
        EXCHANGE((uint64_t *)p, change, opaque, original);
    } else if (ok) {
        /* The callers' only other size (rdma/atomic.c). */
        g_assert(size == sizeof(uint32_t));
        EXCHANGE((uint32_t *)p, change, opaque, original);
    }
    unmap(func, addr, p, len, true);
    return ok;
}

bool mlx5_dma_read_be32(Mlx5Func *func, uint64_t addr, uint32_t *value)
{
    uint32_t be;
    bool ok = mlx5_dma_read(func, addr, &be, sizeof(be));

    *value = GUINT32_FROM_BE(be);
    return ok;
}
