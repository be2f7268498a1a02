/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake host; see fake_host.h.
 */
#include "tests/fake_host.h"

#include <string.h>

#define PAGE 4096u

static uint8_t *page_of(FakeHost *h, uint64_t addr)
{
    gpointer key = (gpointer)(uintptr_t)(addr / PAGE);
    uint8_t *p = g_hash_table_lookup(h->pages, key);

    if (!p) {
        p = g_malloc0(PAGE);
        g_hash_table_insert(h->pages, key, p);
    }
    return p;
}

static void walk(FakeHost *h, uint64_t addr, uint8_t *buf, size_t len,
                 bool write)
{
    while (len) {
        size_t off = addr % PAGE, n = MIN(len, PAGE - off);
        uint8_t *p = page_of(h, addr) + off;

        if (write) {
            memcpy(p, buf, n);
        } else {
            memcpy(buf, p, n);
        }
        addr += n;
        buf += n;
        len -= n;
    }
}

void fake_mem_read(FakeHost *h, uint64_t addr, void *buf, size_t len)
{
    pthread_mutex_lock(&h->lock);
    walk(h, addr, buf, len, false);
    pthread_mutex_unlock(&h->lock);
}

void fake_mem_write(FakeHost *h, uint64_t addr, const void *buf, size_t len)
{
    pthread_mutex_lock(&h->lock);
    walk(h, addr, (uint8_t *)buf, len, true);
    pthread_mutex_unlock(&h->lock);
}

uint32_t fake_mem_be32(FakeHost *h, uint64_t addr)
{
    uint32_t v;

    fake_mem_read(h, addr, &v, sizeof(v));
    return GUINT32_FROM_BE(v);
}

uint64_t fake_mem_be64(FakeHost *h, uint64_t addr)
{
    uint64_t v;

    fake_mem_read(h, addr, &v, sizeof(v));
    return GUINT64_FROM_BE(v);
}

void fake_mem_set_be32(FakeHost *h, uint64_t addr, uint32_t value)
{
    value = GUINT32_TO_BE(value);
    fake_mem_write(h, addr, &value, sizeof(value));
}

void fake_mem_set_be64(FakeHost *h, uint64_t addr, uint64_t value)
{
    value = GUINT64_TO_BE(value);
    fake_mem_write(h, addr, &value, sizeof(value));
}

/* May the card touch these bytes? Counts down to the planned failure. */
static bool allowed(FakeHost *h, uint64_t addr, size_t len)
{
    if (h->fail_after && --h->fail_after == 0) {
        return false;
    }
    return len == 0 || (addr < h->ram_end && len <= h->ram_end - addr);
}

static bool host_read(void *host, uint64_t addr, void *buf, size_t len)
{
    FakeHost *h = host;
    bool ok;

    pthread_mutex_lock(&h->lock);
    ok = allowed(h, addr, len);
    if (ok) {
        walk(h, addr, buf, len, false);
        for (uint64_t i = 0; i < len; i++) {
            if (addr + i - h->trip_addr < h->trip_len) {
                uint8_t *b = page_of(h, addr + i) + (addr + i) % PAGE;

                *b = ~*b;
                h->trip_hits++;
            }
        }
    }
    pthread_mutex_unlock(&h->lock);
    return ok;
}

static bool host_write(void *host, uint64_t addr, const void *buf, size_t len)
{
    FakeHost *h = host;
    bool ok;

    pthread_mutex_lock(&h->lock);
    ok = allowed(h, addr, len);
    if (ok) {
        walk(h, addr, (uint8_t *)buf, len, true);
    }
    pthread_mutex_unlock(&h->lock);
    return ok;
}

/* Page by page, as far as memory goes. */
static bool host_copy(void *host, uint64_t dst, void *src_host, uint64_t src,
                      size_t len)
{
    g_autofree uint8_t *bytes = g_malloc(PAGE);

    while (len) {
        size_t n = MIN(len, MIN(PAGE - src % PAGE, PAGE - dst % PAGE));

        if (!host_read(src_host, src, bytes, n) ||
            !host_write(host, dst, bytes, n)) {
            return false;
        }
        src += n;
        dst += n;
        len -= n;
    }
    return true;
}

static void *host_map(void *host, uint64_t addr, size_t *len, bool write)
{
    FakeHost *h = host;
    void *p = NULL;

    (void)write;
    pthread_mutex_lock(&h->lock);
    if (allowed(h, addr, 1)) {
        *len = MIN(*len, PAGE - addr % PAGE);
        p = page_of(h, addr) + addr % PAGE;
    }
    pthread_mutex_unlock(&h->lock);
    return p;
}

static void host_unmap(void *host, void *ptr, size_t len, bool write)
{
    (void)host;
    (void)ptr;
    (void)len;
    (void)write;
}

static void host_irq(void *host, unsigned vector)
{
    FakeHost *h = host;
    uint32_t v = vector;

    pthread_mutex_lock(&h->lock);
    g_array_append_val(h->irqs, v);
    pthread_mutex_unlock(&h->lock);
}

static int64_t host_clock(void *host)
{
    return __atomic_load_n(&((FakeHost *)host)->now_ns, __ATOMIC_ACQUIRE);
}

static int64_t host_realtime(void *host)
{
    return INT64_C(1700000000000000000) + host_clock(host);
}

static void host_timer_set(void *host, int64_t deadline_ns)
{
    FakeHost *h = host;

    pthread_mutex_lock(&h->lock);
    h->timer_deadline_ns = deadline_ns;
    pthread_mutex_unlock(&h->lock);
}

static void host_kick(void *host)
{
    __atomic_store_n(&((FakeHost *)host)->kicked, true, __ATOMIC_RELEASE);
}

static void host_random(void *host, void *buf, size_t len)
{
    FakeHost *h = host;

    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < len; i++) {
        h->rng = h->rng * 1103515245 + 12345;
        ((uint8_t *)buf)[i] = h->rng >> 16;
    }
    pthread_mutex_unlock(&h->lock);
}

static void host_frames_held(void *host)
{
    ((FakeHost *)host)->held = true;
}

static Mlx5FrameSent host_frame_send(void *host, const struct iovec *iov,
                                     int iovcnt)
{
    FakeHost *h = host;
    GByteArray *flat = g_byte_array_new();

    for (int i = 0; i < iovcnt; i++) {
        g_byte_array_append(flat, iov[i].iov_base, iov[i].iov_len);
    }
    pthread_mutex_lock(&h->lock);
    g_ptr_array_add(h->frames, g_byte_array_free_to_bytes(flat));
    pthread_mutex_unlock(&h->lock);
    return !h->link ? MLX5_FRAME_NO_WIRE
           : h->wire_full ? MLX5_FRAME_QUEUED : MLX5_FRAME_SENT;
}

static void host_guest_error(void *host, const char *msg)
{
    FakeHost *h = host;

    pthread_mutex_lock(&h->lock);
    g_string_append_printf(h->guest_errors, "%s\n", msg);
    pthread_mutex_unlock(&h->lock);
}

static bool host_trace_enabled(void *host, Mlx5TraceClass cls)
{
    (void)cls;
    return __atomic_load_n(&((FakeHost *)host)->trace_on, __ATOMIC_RELAXED);
}

static void host_trace(void *host, Mlx5TraceClass cls, const char *line)
{
    FakeHost *h = host;

    pthread_mutex_lock(&h->lock);
    g_string_append_printf(h->trace, "%d %s\n", cls, line);
    pthread_mutex_unlock(&h->lock);
}

const Mlx5HostOps fake_host_ops = {
    .dma_read = host_read,
    .dma_write = host_write,
    .dma_copy = host_copy,
    .dma_map = host_map,
    .dma_unmap = host_unmap,
    .irq_notify = host_irq,
    .clock_ns = host_clock,
    .realtime_ns = host_realtime,
    .timer_set = host_timer_set,
    .work_kick = host_kick,
    .random = host_random,
    .frame_send = host_frame_send,
    .frames_held = host_frames_held,
    .guest_error = host_guest_error,
    .trace_enabled = host_trace_enabled,
    .trace = host_trace,
};

static void default_props(Mlx5FuncProps *props)
{
    static const uint8_t mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

    mlx5_func_props_default(props);
    props->tag_matching = true;
    memcpy(props->mac, mac, 6);
}

FakeHost *fake_host_new_func(Mlx5Card *card, const Mlx5FuncProps *props)
{
    FakeHost *h = g_new0(FakeHost, 1);
    g_autoptr(GError) err = NULL;
    Mlx5FuncProps defaults;

    pthread_mutex_init(&h->lock, NULL);
    h->pages = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    h->irqs = g_array_new(false, false, sizeof(uint32_t));
    h->frames = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    h->trace = g_string_new("");
    h->guest_errors = g_string_new("");
    h->now_ns = 1000000;
    h->timer_deadline_ns = -1;
    h->ram_end = UINT64_C(1) << 40;
    h->rng = 1;
    h->link = true;
    default_props(&defaults);
    h->card = card;
    h->func = mlx5_func_new(h->card, props ? props : &defaults, &fake_host_ops,
                            h, &err);
    g_assert_no_error(err);
    mlx5_func_set_bus_master(h->func, true);
    return h;
}

FakeHost *fake_host_new(const Mlx5FuncProps *props)
{
    FakeHost *h = fake_host_new_func(mlx5_card_new(), props);

    h->owns_card = true;
    return h;
}

void fake_host_unplug(FakeHost *h)
{
    g_clear_pointer(&h->func, mlx5_func_free);
}

void fake_host_free(FakeHost *h)
{
    fake_host_unplug(h);
    if (h->owns_card) {
        mlx5_card_free(h->card);
    }
    g_hash_table_unref(h->pages);
    g_array_unref(h->irqs);
    g_ptr_array_unref(h->frames);
    g_string_free(h->trace, true);
    g_string_free(h->guest_errors, true);
    pthread_mutex_destroy(&h->lock);
    g_free(h);
}

void fake_host_work(FakeHost *h)
{
    while (__atomic_exchange_n(&h->kicked, false, __ATOMIC_ACQ_REL)) {
        while (mlx5_func_work(h->func)) {
            /* the host's thread loops like this */
        }
    }
}

/* The clock moves to @now_ns, unless another thread has moved it further. */
static void move_clock(FakeHost *h, int64_t now_ns)
{
    if (__atomic_load_n(&h->now_ns, __ATOMIC_ACQUIRE) < now_ns) {
        __atomic_store_n(&h->now_ns, now_ns, __ATOMIC_RELEASE);
    }
}

/* Take the alarm if it is due by @end, and move the clock to it. */
static bool alarm_by(FakeHost *h, int64_t end)
{
    bool due;

    pthread_mutex_lock(&h->lock);
    due = h->timer_deadline_ns >= 0 && h->timer_deadline_ns <= end;
    if (due) {
        move_clock(h, h->timer_deadline_ns);
        h->timer_deadline_ns = -1;
    }
    pthread_mutex_unlock(&h->lock);
    return due;
}

void fake_host_advance(FakeHost *h, int64_t ns)
{
    int64_t end = host_clock(h) + ns;

    fake_host_work(h);
    while (alarm_by(h, end)) {
        mlx5_func_timer(h->func);
        fake_host_work(h);
    }
    pthread_mutex_lock(&h->lock);
    move_clock(h, end);
    pthread_mutex_unlock(&h->lock);
}

unsigned fake_host_irqs(FakeHost *h, uint32_t vector)
{
    unsigned n = 0;

    for (guint i = 0; i < h->irqs->len; i++) {
        n += g_array_index(h->irqs, uint32_t, i) == vector;
    }
    g_array_set_size(h->irqs, 0);
    return n;
}
