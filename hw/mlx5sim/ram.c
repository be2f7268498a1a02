/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where guest memory is, remembered. A message of eight bytes is read and
 * written in a few nanoseconds; to find its memory in QEMU's map takes ten
 * times as long.
 *
 *   map changes  --> listener: begin, seq becomes odd; commit, even again
 *   translation  --> as QEMU says; kept with the seq it was made under
 *   look-up      --> good while seq is that one, and within one RCU section,
 *                    as what QEMU's own translation returns
 *
 * Not behind a vIOMMU, whose map is not QEMU's. What was written is told to
 * QEMU where somebody wants to know: TCG, of pages that it translated code
 * from, as memory.c's own writers do. Memory with another reader of its dirty
 * bits (a display, a migration) is not kept.
 *
 * The runs are guarded by the core's lock, under which all accesses are made.
 */
#include "compat.h"
#include "qemu/bitops.h"
#include "device.h"

static Mlx5simRam *mlx5sim_ram_of(MemoryListener *listener)
{
    return container_of(listener, Mlx5simRam, listener);
}

static void mlx5sim_ram_begin(MemoryListener *listener)
{
    Mlx5simRam *ram = mlx5sim_ram_of(listener);

    qatomic_set(&ram->seq, ram->seq | 1);
    /* Odd before the map changes. */
    smp_mb();
}

static void mlx5sim_ram_commit(MemoryListener *listener)
{
    Mlx5simRam *ram = mlx5sim_ram_of(listener);

    qatomic_store_release(&ram->seq, (ram->seq | 1) + 1);
}

/**
 * mlx5sim_ram_start - know of changes of the map; with the BQL
 */
void mlx5sim_ram_start(Mlx5simDevice *s)
{
    Mlx5simRam *ram = &s->ram;

    memset(ram, 0, sizeof(*ram));
    ram->page_bits = qemu_target_page_bits();
    ram->listener = (MemoryListener){
        .name = TYPE_MLX5SIM,
        .begin = mlx5sim_ram_begin,
        .commit = mlx5sim_ram_commit,
    };
    memory_listener_register(&ram->listener,
                             pci_get_address_space(PCI_DEVICE(s)));
}

/**
 * mlx5sim_ram_stop - with the BQL, when nothing accesses memory any more
 */
void mlx5sim_ram_stop(Mlx5simDevice *s)
{
    memory_listener_unregister(&s->ram.listener);
}

/* Is there translated code in these bytes of RAM? */
static bool mlx5sim_ram_has_code(const Mlx5simRam *ram, ram_addr_t at,
                                 size_t len)
{
    DirtyMemoryBlocks *bits =
        qatomic_rcu_read(&ram_list.dirty_memory[DIRTY_MEMORY_CODE]);
    ram_addr_t last = (at + len - 1) >> ram->page_bits;

    for (ram_addr_t page = at >> ram->page_bits; page <= last; page++) {
        if (!test_bit(page % DIRTY_MEMORY_BLOCK_SIZE,
                      bits->blocks[page / DIRTY_MEMORY_BLOCK_SIZE])) {
            return true;
        }
    }
    return false;
}

bool mlx5sim_ram_must_tell(const Mlx5simRam *ram, const Mlx5simRun *run,
                           const void *ptr, size_t len)
{
    return run->has_code_bits &&
           mlx5sim_ram_has_code(ram, run->ram + ((const uint8_t *)ptr -
                                                 run->host), len);
}

const Mlx5simRun *mlx5sim_ram_find(Mlx5simDevice *s, uint64_t addr)
{
    Mlx5simRam *ram = &s->ram;
    unsigned seq = qatomic_load_acquire(&ram->seq);

    for (unsigned i = 0; i < ARRAY_SIZE(ram->runs); i++) {
        const Mlx5simRun *run = &ram->runs[i];

        if (addr - run->first < run->len && run->seq == seq) {
            return run;
        }
    }
    return NULL;
}

/* The run that ends where this one does, which begins before it; or another. */
static Mlx5simRun *mlx5sim_ram_slot(Mlx5simRam *ram, hwaddr end)
{
    for (unsigned i = 0; i < ARRAY_SIZE(ram->runs); i++) {
        if (ram->runs[i].first + ram->runs[i].len == end) {
            return &ram->runs[i];
        }
    }
    return &ram->runs[ram->next++ % ARRAY_SIZE(ram->runs)];
}

const Mlx5simRun *mlx5sim_ram_learn(Mlx5simDevice *s, uint64_t addr)
{
    Mlx5simRam *ram = &s->ram;
    unsigned seq = qatomic_load_acquire(&ram->seq);
    hwaddr offset, len = UINT64_MAX - addr;
    MemoryRegion *mr;
    Mlx5simRun *run;
    uint8_t mask;

    if ((seq & 1) || qatomic_read(&s->behind_iommu)) {
        return NULL;
    }
    mr = address_space_translate(pci_get_address_space(PCI_DEVICE(s)), addr,
                                 &offset, &len, true, MEMTXATTRS_UNSPECIFIED);
    if (!len || !mlx5sim_access_is_direct(mr, true)) {
        return NULL;
    }
    mask = memory_region_get_dirty_log_mask(mr);
    if (mask & ~(1u << DIRTY_MEMORY_CODE)) {
        return NULL;
    }
    run = mlx5sim_ram_slot(ram, addr + len);
    *run = (Mlx5simRun){
        .first = addr,
        .len = len,
        .seq = seq,
        .mr = mr,
        .host = (uint8_t *)memory_region_get_ram_ptr(mr) + offset,
        .ram = memory_region_get_ram_addr(mr) + offset,
        .has_code_bits = mask,
    };
    return run;
}
