/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue memory; see ring.h.
 */
#include "obj/ring.h"
#include "obj/umem.h"

uint64_t mlx5_ring_pages_needed(uint64_t size, uint64_t offset,
                                uint32_t log_page)
{
    uint64_t page = UINT64_C(1) << log_page;

    /* Sizes are 2^48 at most (fields of a context), so this cannot wrap. */
    return (size + offset + page - 1) >> log_page;
}

bool mlx5_ring_init(Mlx5Ring *ring, Mlx5Func *func, const uint8_t *pas,
                    uint32_t num_pas, uint32_t log_page_bytes,
                    uint64_t offset_bytes, uint64_t size_bytes)
{
    uint64_t need = mlx5_ring_pages_needed(size_bytes, offset_bytes,
                                           log_page_bytes);
    uint64_t page_mask = (UINT64_C(1) << log_page_bytes) - 1;

    memset(ring, 0, sizeof(*ring));
    if (need > num_pas || offset_bytes > page_mask) {
        return false;
    }
    for (uint32_t i = 0; i < need; i++) {
        if (mlx5_prm_get(pas + (size_t)i * 8, 0, 64) & page_mask) {
            return false;
        }
    }
    ring->func = func;
    ring->pages = g_new(uint64_t, need);
    ring->num_pages = need;
    for (uint32_t i = 0; i < need; i++) {
        ring->pages[i] = mlx5_prm_get(pas + (size_t)i * 8, 0, 64);
    }
    ring->log_page_bytes = log_page_bytes;
    ring->offset_bytes = offset_bytes;
    ring->size_bytes = size_bytes;
    return true;
}

bool mlx5_ring_from_cmd(Mlx5Ring *ring, Mlx5Func *func, const Mlx5Cmd *cmd,
                        uint32_t pas_off, uint32_t log_page_size,
                        uint32_t page_offset, uint64_t size_bytes)
{
    /* The widest field has 6 bits; no page is that large. */
    uint32_t log_page = MIN(log_page_size, 31) + 12;
    uint32_t num_pas = cmd->in_len > pas_off ? (cmd->in_len - pas_off) / 8 : 0;

    return log_page_size <= 31 &&
           mlx5_ring_init(ring, func, cmd->in + pas_off, num_pas, log_page,
                          (uint64_t)page_offset << (log_page - 6), size_bytes);
}

void mlx5_ring_from_umem(Mlx5Ring *ring, Mlx5Umem *umem, uint64_t umem_offset,
                         uint64_t size_bytes)
{
    uint64_t page = UINT64_C(1) << umem->log_page_bytes;
    uint64_t first = umem->page_offset + umem_offset;

    memset(ring, 0, sizeof(*ring));
    ring->func = umem->o.func;
    ring->log_page_bytes = umem->log_page_bytes;
    ring->offset_bytes = first & (page - 1);
    ring->size_bytes = size_bytes;
    ring->num_pages = mlx5_ring_pages_needed(size_bytes, ring->offset_bytes,
                                             ring->log_page_bytes);
    ring->pages = g_new(uint64_t, ring->num_pages);
    for (uint32_t i = 0; i < ring->num_pages; i++) {
        uint64_t mtt = umem->mtt[(first >> umem->log_page_bytes) + i];

        ring->pages[i] = mtt & ~(page - 1);
    }
    ring->read_only = !umem->writable;
    ring->umem = umem;
    mlx5_obj_ref(umem);
}

void mlx5_ring_put_pas(const Mlx5Ring *ring, Mlx5Cmd *cmd, uint32_t pas_off)
{
    uint32_t room = cmd->out_len > pas_off ? (cmd->out_len - pas_off) / 8 : 0;

    for (uint32_t i = 0; i < MIN(room, ring->num_pages); i++) {
        mlx5_prm_set(cmd->out + pas_off + (size_t)i * 8, 0, 64,
                     ring->pages[i]);
    }
}

void mlx5_ring_clear(Mlx5Ring *ring)
{
    g_free(ring->pages);
    mlx5_obj_unref(ring->umem);
    mlx5_obj_unref(ring->dbr_umem);
    memset(ring, 0, sizeof(*ring));
}

/* The bus address of byte @at and, in @len, how much of it is in one page. */
static uint64_t locate(const Mlx5Ring *ring, uint64_t at, size_t *len)
{
    uint64_t pos = ring->offset_bytes + at;
    uint64_t page = UINT64_C(1) << ring->log_page_bytes;
    uint64_t in_page = pos & (page - 1);

    *len = MIN(*len, page - in_page);
    return ring->pages[pos >> ring->log_page_bytes] + in_page;
}

bool mlx5_ring_read(const Mlx5Ring *ring, uint64_t at, void *buf, size_t len)
{
    uint8_t *p = buf;

    if (!mlx5_range_inside(at, len, 0, ring->size_bytes)) {
        memset(buf, 0, len);
        return false;
    }
    while (len) {
        size_t n = len;
        uint64_t addr = locate(ring, at, &n);

        if (!mlx5_dma_read(ring->func, addr, p, n)) {
            return false;
        }
        at += n;
        p += n;
        len -= n;
    }
    return true;
}

bool mlx5_ring_write(const Mlx5Ring *ring, uint64_t at, const void *buf,
                     size_t len)
{
    const uint8_t *p = buf;

    if (!mlx5_range_inside(at, len, 0, ring->size_bytes) ||
        ring->read_only) {
        return false;
    }
    while (len) {
        size_t n = len;
        uint64_t addr = locate(ring, at, &n);

        if (!mlx5_dma_write(ring->func, addr, p, n)) {
            return false;
        }
        at += n;
        p += n;
        len -= n;
    }
    return true;
}

bool mlx5_ring_read_wrap(const Mlx5Ring *ring, uint64_t base, uint64_t size,
                         uint64_t at, void *buf, size_t len)
{
    uint8_t *p = buf;

    if (size == 0 || len > size) {
        memset(buf, 0, len);
        return false;
    }
    at %= size;
    if (at + len > size) {
        size_t first = size - at;

        if (!mlx5_ring_read(ring, base + at, p, first)) {
            return false;
        }
        p += first;
        len -= first;
        at = 0;
    }
    return mlx5_ring_read(ring, base + at, p, len);
}
