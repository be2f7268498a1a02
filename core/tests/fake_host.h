/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host for unit tests: sparse memory, interrupt log, frame capture, manual
 * clock, memory that fails at the n-th access, and a tripwire that changes
 * guest memory as soon as it was read (a double fetch then sees other bytes).
 * Its operations may be called by several threads at once.
 */
#ifndef MLX5_FAKE_HOST_H
#define MLX5_FAKE_HOST_H

#include <pthread.h>

#include "mlx5sim.h"

typedef struct FakeHost {
    GHashTable *pages;       /* page number -> 4 KiB */
    /* Guards pages, logs and the alarm. Not a GMutex: ThreadSanitizer sees
     * those of libpthread alone. */
    pthread_mutex_t lock;
    GArray *irqs;            /* uint32_t vectors, in order */
    GPtrArray *frames;       /* GBytes *, in order */
    GString *trace;          /* lines, if @trace_on */
    GString *guest_errors;
    int64_t now_ns;          /* read and written atomically */
    int64_t timer_deadline_ns; /* -1 = none */
    bool kicked;             /* the same */
    bool held;               /* frames wait for mlx5_card_frames_end() */
    bool trace_on;
    bool link;               /* frame_send accepts */
    bool wire_full;          /* ... and says that it only queues */
    /* Memory behaviour. */
    uint64_t ram_end;        /* addresses from here on are not RAM */
    int fail_after;          /* the n-th access from now fails; 0 = never */
    uint64_t trip_addr, trip_len; /* tripwire range; trip_len 0 = off */
    unsigned trip_hits;      /* reads that touched the tripwire */
    uint32_t rng;
    bool owns_card;          /* freed with this host */
    Mlx5Card *card;
    Mlx5Func *func;
} FakeHost;

extern const Mlx5HostOps fake_host_ops;

/** A host with a card of one function, bus mastering on. NULL = defaults. */
FakeHost *fake_host_new(const Mlx5FuncProps *props);
/** A further function on @card, with memory of its own. Free it first. */
FakeHost *fake_host_new_func(Mlx5Card *card, const Mlx5FuncProps *props);
/** Free the function alone, if there still is one; memory stays. */
void fake_host_unplug(FakeHost *host);
void fake_host_free(FakeHost *host);

/* The test's own access to guest memory; never fails, trips nothing. */
void fake_mem_read(FakeHost *host, uint64_t addr, void *buf, size_t len);
void fake_mem_write(FakeHost *host, uint64_t addr, const void *buf, size_t len);
uint32_t fake_mem_be32(FakeHost *host, uint64_t addr);
uint64_t fake_mem_be64(FakeHost *host, uint64_t addr);
void fake_mem_set_be32(FakeHost *host, uint64_t addr, uint32_t value);
void fake_mem_set_be64(FakeHost *host, uint64_t addr, uint64_t value);

/** Do all work the card asked for (as the host's thread would). */
void fake_host_work(FakeHost *host);
/** Advance the clock, firing timers and doing work on the way. */
void fake_host_advance(FakeHost *host, int64_t ns);
/** Number of messages sent for @vector since the last call; clears the log. */
unsigned fake_host_irqs(FakeHost *host, uint32_t vector);

#endif
