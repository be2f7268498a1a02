/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The services that QEMU lends to the core: guest memory, interrupts, time,
 * randomness, logs (Mlx5HostOps in core/mlx5sim.h says what each promises).
 *
 * Guest memory is RAM and nothing else. An access that reached another
 * device's registers, or our own, would come back to us under the core's
 * lock, so each range is translated and looked at before it is touched, all
 * within one RCU section: the guest may remap at any time, but what the
 * translation returned stays valid until the section ends.
 */
#include "compat.h"
#include "hw/pci/msix.h"
#include "qemu/guest-random.h"
#include "qemu/log.h"
#include "qemu/rcu.h"
#include "device.h"

/* Bytes of guest memory that lie together in the host's. */
typedef struct Mlx5simSpan {
    uint8_t *ptr;
    size_t len;
    MemoryRegion *region;
    const Mlx5simRun *run;   /* what is remembered of them, or NULL */
} Mlx5simSpan;

static bool mlx5sim_host_ask(Mlx5simDevice *s, uint64_t addr, size_t want,
                             bool write, Mlx5simSpan *span)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    hwaddr offset, len = want;
    MemoryRegion *mr = address_space_translate(as, addr, &offset, &len, write,
                                               MEMTXATTRS_UNSPECIFIED);

    if (!mlx5sim_access_is_direct(mr, write) || !len) {
        return false;
    }
    *span = (Mlx5simSpan){ (uint8_t *)memory_region_get_ram_ptr(mr) + offset,
                           len, mr, NULL };
    return true;
}

/*
 * Find @want bytes at @addr, or those of them that are contiguous. Call within
 * an RCU section.
 * Return: false if @addr is not RAM, or bus mastering is off (then nothing is
 * mapped in the function's address space).
 */
static inline bool mlx5sim_host_find(Mlx5simDevice *s, uint64_t addr,
                                     size_t want, bool write,
                                     Mlx5simSpan *span)
{
    const Mlx5simRun *run = mlx5sim_ram_find(s, addr);

    if (unlikely(!run)) {
        mlx5sim_account_add(s, &s->account.lookups);
        run = mlx5sim_ram_learn(s, addr);
    }
    if (unlikely(!run)) {
        return mlx5sim_host_ask(s, addr, want, write, span);
    }
    *span = (Mlx5simSpan){ run->host + (addr - run->first),
                           MIN(want, run->len - (addr - run->first)), run->mr,
                           run };
    return true;
}

/*
 * Tell QEMU that @len bytes at @ptr were written: dirty for migration and
 * display, and code that TCG translated from them is stale. Drops the
 * reference on the region of @ptr.
 */
static void mlx5sim_host_written(Mlx5simDevice *s, void *ptr, size_t len)
{
    address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), ptr, len, true,
                        len);
}

/* The first @len bytes of @span were written: tell who wants to know. */
static inline void mlx5sim_host_tell(Mlx5simDevice *s, const Mlx5simSpan *span,
                                     size_t len)
{
    if (!span->run ||
        mlx5sim_ram_must_tell(&s->ram, span->run, span->ptr, len)) {
        memory_region_ref(span->region);
        mlx5sim_host_written(s, span->ptr, len);
    }
}

static bool mlx5sim_host_dma_read(void *host, uint64_t addr, void *buf,
                                  size_t len)
{
    uint8_t *to = buf;
    Mlx5simDevice *s = host;

    mlx5sim_account_add(s, &s->account.dma_reads);
    RCU_READ_LOCK_GUARD();
    while (len) {
        Mlx5simSpan from;

        if (!mlx5sim_host_find(s, addr, len, false, &from)) {
            return false;
        }
        memcpy(to, from.ptr, from.len);
        addr += from.len;
        to += from.len;
        len -= from.len;
    }
    /* What is read next must not be older than this. */
    smp_rmb();
    return true;
}

static bool mlx5sim_host_dma_write(void *host, uint64_t addr, const void *buf,
                                   size_t len)
{
    const uint8_t *from = buf;
    Mlx5simDevice *s = host;

    mlx5sim_account_add(s, &s->account.dma_writes);
    /* Payload before CQE, CQE before owner bit, EQE before interrupt. */
    smp_wmb();
    RCU_READ_LOCK_GUARD();
    while (len) {
        Mlx5simSpan to;

        if (!mlx5sim_host_find(s, addr, len, true, &to)) {
            return false;
        }
        memcpy(to.ptr, from, to.len);
        mlx5sim_host_tell(s, &to, to.len);
        addr += to.len;
        from += to.len;
        len -= to.len;
    }
    return true;
}

static bool mlx5sim_host_dma_copy(void *host, uint64_t dst, void *src_host,
                                  uint64_t src, size_t len)
{
    Mlx5simDevice *s = host;

    mlx5sim_account_add(s, &s->account.dma_copies);
    RCU_READ_LOCK_GUARD();
    while (len) {
        Mlx5simSpan from, to;
        size_t step;

        if (!mlx5sim_host_find(src_host, src, len, false, &from) ||
            !mlx5sim_host_find(s, dst, len, true, &to)) {
            return false;
        }
        step = MIN(from.len, to.len);
        /* A guest may name the same page on both sides. */
        memmove(to.ptr, from.ptr, step);
        mlx5sim_host_tell(s, &to, step);
        src += step;
        dst += step;
        len -= step;
    }
    return true;
}

static void *mlx5sim_host_dma_map(void *host, uint64_t addr, size_t *len,
                                  bool write)
{
    Mlx5simSpan span;

    RCU_READ_LOCK_GUARD();
    if (!mlx5sim_host_find(host, addr, *len, write, &span)) {
        return NULL;
    }
    /* Keeps the memory when its device is unplugged meanwhile. */
    memory_region_ref(span.region);
    *len = span.len;
    return span.ptr;
}

static void mlx5sim_host_dma_unmap(void *host, void *ptr, size_t len,
                                   bool write)
{
    Mlx5simDevice *s = host;

    if (write) {
        mlx5sim_host_written(s, ptr, len);
    } else {
        address_space_unmap(pci_get_address_space(PCI_DEVICE(s)), ptr, len,
                            false, len);
    }
}

static void mlx5sim_host_irq_notify(void *host, unsigned vector)
{
    PCIDevice *dev = PCI_DEVICE(host);
    Mlx5simDevice *s = host;
    bool had_lock = bql_locked();

    if (!had_lock) {
        bql_lock();
    }
    mlx5sim_account_add(s, &s->account.irqs);
    /* Disabled, it would fall to INTx, which the card doesn't have. */
    if (msix_enabled(dev)) {
        msix_notify(dev, vector);
    }
    if (!had_lock) {
        bql_unlock();
    }
}

static int64_t mlx5sim_host_clock_ns(void *host)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static int64_t mlx5sim_host_realtime_ns(void *host)
{
    return qemu_clock_get_ns(QEMU_CLOCK_HOST);
}

static void mlx5sim_host_timer_set(void *host, int64_t deadline_ns)
{
    mlx5sim_engine_set_timer(host, deadline_ns);
}

static void mlx5sim_host_work_kick(void *host)
{
    Mlx5simDevice *s = host;

    mlx5sim_account_add(s, &s->account.wakes);
    mlx5sim_engine_kick(s);
}

static void mlx5sim_host_random(void *host, void *buf, size_t len)
{
    qemu_guest_getrandom_nofail(buf, len);
}

static Mlx5FrameSent mlx5sim_host_frame_send(void *host,
                                             const struct iovec *iov,
                                             int iovcnt)
{
    return mlx5sim_net_send(host, iov, iovcnt);
}

static void mlx5sim_host_frames_held(void *host)
{
    mlx5sim_net_held(host);
}

static size_t mlx5sim_host_frame_max(void *host)
{
    return mlx5sim_net_frame_max(host);
}

static void mlx5sim_host_guest_error(void *host, const char *msg)
{
    const char *id = DEVICE(host)->id;

    qemu_log_mask(LOG_GUEST_ERROR, "mlx5sim %s: %s\n", id ? id : "-", msg);
}

static bool mlx5sim_host_trace_enabled(void *host, Mlx5TraceClass cls)
{
    return mlx5sim_trace_enabled(cls);
}

static void mlx5sim_host_trace(void *host, Mlx5TraceClass cls, const char *line)
{
    mlx5sim_trace_line(host, cls, line);
}

const Mlx5HostOps mlx5sim_host_ops = {
    .dma_read = mlx5sim_host_dma_read,
    .dma_write = mlx5sim_host_dma_write,
    .dma_copy = mlx5sim_host_dma_copy,
    .dma_map = mlx5sim_host_dma_map,
    .dma_unmap = mlx5sim_host_dma_unmap,
    .irq_notify = mlx5sim_host_irq_notify,
    .clock_ns = mlx5sim_host_clock_ns,
    .realtime_ns = mlx5sim_host_realtime_ns,
    .timer_set = mlx5sim_host_timer_set,
    .work_kick = mlx5sim_host_work_kick,
    .random = mlx5sim_host_random,
    .frame_send = mlx5sim_host_frame_send,
    .frame_max = mlx5sim_host_frame_max,
    .frames_held = mlx5sim_host_frames_held,
    .guest_error = mlx5sim_host_guest_error,
    .trace_enabled = mlx5sim_host_trace_enabled,
    .trace = mlx5sim_host_trace,
};
