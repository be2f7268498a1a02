/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a message costs core, between two connected queue pairs of one function:
 *
 *   lists   32 small writes a doorbell, one completion for them, as
 *           `ib_write_bw -s 8 -q 16 -l 32` posts them
 *   sends   one of 64 bytes a doorbell, as `ib_send_bw -s 64` without BlueFlame
 *
 * Prints what core asked the host for, a message, and fails if that is more
 * than it has to be; under callgrind its instructions are counted, which no
 * other work of the machine changes:
 *
 *   CK_FORK=no CK_RUN_CASE=lists valgrind --tool=callgrind \
 *       --toggle-collect=ring core/tests/count-messages
 */
#include <stdio.h>

#include "tests/rdma/rdma_helper.h"

#define LIST 32u
#define BYTES 8u
#define SEND_BYTES 64u
/* Lists before those that count: every ring goes round, all caches are made. */
#define WARM 32u
#define CACHED 65536u

static struct {
    uint64_t reads, writes, copies, maps, irqs, kicks, clocks, allocations;
} asked;

/* Core's calls of GLib's allocator come here first (meson.build: --wrap). */
#define COUNTED(fn, parameters, ...)                                        \
    void *__real_##fn parameters;                                           \
    void *__wrap_##fn parameters;                                           \
                                                                            \
    void *__wrap_##fn parameters                                            \
    {                                                                       \
        asked.allocations++;                                                \
        return __real_##fn(__VA_ARGS__);                                    \
    }

COUNTED(g_malloc, (gsize n), n)
COUNTED(g_malloc0, (gsize n), n)
COUNTED(g_malloc_n, (gsize n, gsize each), n, each)
COUNTED(g_malloc0_n, (gsize n, gsize each), n, each)
COUNTED(g_realloc, (gpointer p, gsize n), p, n)
COUNTED(g_realloc_n, (gpointer p, gsize n, gsize each), p, n, each)

/* Pages by number, so that the fake host's look-up doesn't count. */
static uint8_t *cached[CACHED];
static uint64_t cached_page[CACHED];

static uint8_t *at(FakeHost *h, uint64_t addr)
{
    uint64_t page = addr / 4096, slot = page % CACHED;

    if (!cached[slot] || cached_page[slot] != page) {
        uint8_t byte;

        fake_mem_read(h, addr, &byte, 1);
        cached[slot] = g_hash_table_lookup(h->pages, (gpointer)(uintptr_t)page);
        cached_page[slot] = page;
    }
    return cached[slot] + addr % 4096;
}

static bool count_read(void *host, uint64_t addr, void *buf, size_t len)
{
    asked.reads++;
    while (len) {
        size_t n = MIN(len, 4096 - addr % 4096);

        memcpy(buf, at(host, addr), n);
        addr += n;
        buf = (uint8_t *)buf + n;
        len -= n;
    }
    return true;
}

static bool count_write(void *host, uint64_t addr, const void *buf, size_t len)
{
    asked.writes++;
    while (len) {
        size_t n = MIN(len, 4096 - addr % 4096);

        memcpy(at(host, addr), buf, n);
        addr += n;
        buf = (const uint8_t *)buf + n;
        len -= n;
    }
    return true;
}

static void *count_map(void *host, uint64_t addr, size_t *len, bool write)
{
    (void)write;
    asked.maps++;
    *len = MIN(*len, 4096 - addr % 4096);
    return at(host, addr);
}

static bool count_copy(void *host, uint64_t dst, void *src_host, uint64_t src,
                       size_t len)
{
    asked.copies++;
    while (len) {
        size_t n = MIN(len, 4096 - MAX(src % 4096, dst % 4096));

        memcpy(at(host, dst), at(src_host, src), n);
        src += n;
        dst += n;
        len -= n;
    }
    return true;
}

static void count_irq(void *host, unsigned vector)
{
    (void)host;
    (void)vector;
    asked.irqs++;
}

static void count_kick(void *host)
{
    asked.kicks++;
    fake_host_ops.work_kick(host);
}

static int64_t count_clock(void *host)
{
    asked.clocks++;
    return fake_host_ops.clock_ns(host);
}

/* What callgrind looks at: a function of its own, whatever is inlined. */
static int64_t us;

static G_GNUC_NO_INLINE void ring(RTest *t)
{
    int64_t began = g_get_monotonic_time();

    r_ring(&t->a);
    fake_host_work(t->h);
    us += g_get_monotonic_time() - began;
}

static void post_list(RTest *t)
{
    for (uint32_t i = 0; i < LIST; i++) {
        RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

        MLX5_SET(wqe_ctrl, w.b, ce, i == LIST - 1 ? 2 : 0);
        r_raddr(&w, R_DATA + 4096, t->key);
        r_data(&w, R_DATA, BYTES, t->key);
        r_put(&t->a, &w);
    }
    ring(t);
}

static double lists(void)
{
    const char *asked_for = g_getenv("LISTS");

    return asked_for ? g_ascii_strtod(asked_for, NULL) : 500;
}

/* Memory registered as drivers do it: a key with a list of its pages. */
static uint32_t page_key(RTest *t)
{
    static const uint64_t pages[] = { R_DATA, R_DATA + 4096 };

    return t_mkey_mtt(t->h, t->pdn, R_DATA, 2 * 4096, 12, T_ALL_ACCESS, pages,
                      2);
}

static RTest *begin(Mlx5HostOps *ops)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    *ops = fake_host_ops;
    ops->dma_read = count_read;
    ops->dma_write = count_write;
    ops->dma_copy = count_copy;
    ops->dma_map = count_map;
    ops->irq_notify = count_irq;
    ops->work_kick = count_kick;
    ops->clock_ns = count_clock;
    t->h->func->ops = ops;
    t->key = page_key(t);
    r_connect(t, 100);
    fake_host_work(t->h);
    return t;
}

static void end(RTest *t, double n)
{
    printf("a message: %.2f reads, %.2f writes, %.2f copies, %.2f mappings, "
           "%.2f looks at the clock, %.2f wake-ups, %.2f interrupts, "
           "%.2f allocations\n",
           asked.reads / n, asked.writes / n, asked.copies / n,
           asked.maps / n, asked.clocks / n, asked.kicks / n, asked.irqs / n,
           asked.allocations / n);
    printf("%.0f ns\n", us * 1e3 / n);
    ck_assert_uint_eq(asked.copies, n);
    ck_assert_uint_eq(asked.maps + asked.kicks, 0);
#ifndef __SANITIZE_ADDRESS__
    /* With that sanitizer requests are freed, and not kept. */
    ck_assert_uint_eq(asked.allocations, 0);
#endif
    t->h->func->ops = &fake_host_ops;
    r_free(t);
}

static void forget_warming(void)
{
    memset(&asked, 0, sizeof(asked));
    us = 0;
}

/* Check's assertions, which the helpers make, need a running test. */
START_TEST(count_lists)
{
    Mlx5HostOps ops;
    RTest *t = begin(&ops);

    for (uint32_t i = 0; i < WARM + lists(); i++) {
        if (i == WARM) {
            forget_warming();
        }
        post_list(t);
        r_sent(&t->a, (i + 1) * LIST - 1, MLX5_OPCODE_RDMA_WRITE);
    }
    /* A list is read at once, and its completion and event written. */
    ck_assert_uint_le(asked.reads, lists() * 3);
    ck_assert_uint_le(asked.writes, lists() * 2);
    end(t, lists() * LIST);
}
END_TEST

static void post_send(RTest *t, bool complete)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    MLX5_SET(wqe_ctrl, w.b, ce, complete ? 2 : 0);
    r_data(&w, R_DATA, SEND_BYTES, t->key);
    r_recv(&t->b, R_DATA + 4096, SEND_BYTES);
    r_put(&t->a, &w);
    ring(t);
}

START_TEST(count_sends)
{
    Mlx5HostOps ops;
    RTest *t = begin(&ops);
    uint32_t n = lists() * LIST, warm = WARM * LIST;

    for (uint32_t i = 0; i < warm + n; i++) {
        bool complete = i % LIST == LIST - 1;

        if (i == warm) {
            forget_warming();
        }
        post_send(t, complete);
        r_received(&t->b, i, MLX5_CQE_RESP_SEND, SEND_BYTES);
        if (complete) {
            r_sent(&t->a, i, MLX5_OPCODE_SEND);
        }
    }
    /* Two doorbell records, two WQEs and now and then how far a completion
     * queue was read; a completion and its owner, and some of the sender's. */
    ck_assert_uint_le(asked.reads, n * 4 + n / LIST);
    ck_assert_uint_le(asked.writes, 2 * (n + n / LIST));
    end(t, n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("count-messages");
    TCase *lists_case = tcase_create("lists");
    TCase *sends_case = tcase_create("sends");

    suite_add_tcase(s, lists_case);
    suite_add_tcase(s, sends_case);
    tcase_set_timeout(lists_case, 60);
    tcase_set_timeout(sends_case, 60);
    tcase_add_test(lists_case, count_lists);
    tcase_add_test(sends_case, count_sends);
    return t_main(s);
}
