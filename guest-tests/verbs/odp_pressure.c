/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfers between on-demand paged regions while another thread takes their
 * pages away, each byte compared.
 *
 *   odp_pressure [-d DEVICE] [-g GID_INDEX] [-s SEED] [-t SECONDS]
 *
 * DURATION in the environment says the seconds, too; 60 without either. Where
 * the system has no swap, no page is swapped out, and so on: each line counts
 * what was done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rig.h"
#include "tap.h"

#define REGION (4u << 20)
#define MAX_LEN (512u << 10)
#define PAGE 4096u

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#endif

/* Memory that the two sides use. */
enum kind { SHARED, ANON, IMPLICIT, KINDS };

static const char *const kind_name[KINDS] = {
    [SHARED] = "a shared file, unmapped",
    [ANON] = "anonymous memory, paged out and merged",
    [IMPLICIT] = "all memory of the process as one region",
};

struct arena {
    uint8_t *mem;
    struct ibv_mr *mr;
};

struct pressure {
    struct rig rig;
    struct rig_pair pair;
    enum kind kind;
    struct arena src, dst;
    atomic_bool stop;
    uint64_t messages, bytes;
    atomic_ulong taken;     /* ranges of pages taken away */
    atomic_ulong refused;   /* ... that the kernel did not */
    char why[200];
};

static void arena_make(struct pressure *p, struct arena *a, int access)
{
    if (p->kind == SHARED) {
        int fd = memfd_create("odp", 0);

        if (fd < 0 || ftruncate(fd, REGION)) {
            tap_die("memfd: %s", strerror(errno));
        }
        a->mem = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    } else {
        a->mem = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (a->mem == MAP_FAILED) {
        tap_die("mmap: %s", strerror(errno));
    }
    if (p->kind == ANON) {
        madvise(a->mem, REGION, MADV_MERGEABLE);
    }
    access |= IBV_ACCESS_ON_DEMAND;
    a->mr = p->kind == IMPLICIT ? rig_mr(&p->rig, NULL, SIZE_MAX, access)
                                : rig_mr(&p->rig, a->mem, REGION, access);
}

static void arena_free(struct arena *a)
{
    ibv_dereg_mr(a->mr);
    munmap(a->mem, REGION);
}

/* ---- who takes pages away ---- */

static uint64_t step(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* What can be done to pages without changing what they hold. */
static int take(struct pressure *p, const struct arena *a, uint8_t *at,
                size_t len, uint64_t how)
{
    if (p->kind == SHARED && how % 4) {
        return madvise(at, len, MADV_DONTNEED);
    }
    switch (how % 4) {
    case 0:
        /* The source is registered for reading alone. */
        if (a == &p->src && p->kind != IMPLICIT) {
            return mprotect(at, len, PROT_READ) ||
                   mprotect(at, len, PROT_READ | PROT_WRITE);
        }
        return madvise(at, len, MADV_COLD);
    case 1:
        return madvise(at, len, how & 64 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    default:
        return madvise(at, len, MADV_PAGEOUT);
    }
}

static void *antagonist(void *opaque)
{
    struct pressure *p = opaque;
    uint64_t x = 0x9e3779b97f4a7c15u;

    while (!atomic_load(&p->stop)) {
        const struct arena *a = step(&x) & 1024 ? &p->src : &p->dst;
        size_t first = step(&x) % (REGION / PAGE);
        size_t n = 1 + step(&x) % 64;

        n = n > REGION / PAGE - first ? REGION / PAGE - first : n;
        if (take(p, a, a->mem + first * PAGE, n * PAGE, step(&x) >> 8)) {
            atomic_fetch_add(&p->refused, 1);
        } else {
            atomic_fetch_add(&p->taken, 1);
        }
        usleep(step(&x) % 2000);
    }
    return NULL;
}

/* ---- transfers ---- */

static bool failed(struct pressure *p, const char *what, unsigned long n)
{
    snprintf(p->why, sizeof(p->why), "message %lu: %s %lu",
             (unsigned long)p->messages, what, n);
    return false;
}

static bool completes(struct pressure *p, struct ibv_cq *cq)
{
    struct ibv_wc wc;

    if (!rig_poll(cq, &wc, RIG_WAIT_MS)) {
        return failed(p, "no completion within ms", RIG_WAIT_MS);
    }
    return wc.status == IBV_WC_SUCCESS || failed(p, "status", wc.status);
}

static bool post(struct pressure *p, enum ibv_wr_opcode op, size_t from,
                 size_t to, size_t len)
{
    bool read = op == IBV_WR_RDMA_READ;
    struct arena *near = read ? &p->dst : &p->src;
    struct arena *far = read ? &p->src : &p->dst;
    struct ibv_sge sge = { (uintptr_t)near->mem + (read ? to : from), len,
                           near->mr->lkey };
    struct ibv_sge rsge = { (uintptr_t)p->dst.mem + to, len, p->dst.mr->lkey };
    struct ibv_recv_wr rwr = { .sg_list = &rsge, .num_sge = 1 }, *rbad;
    struct ibv_send_wr wr = {
        .opcode = op, .sg_list = &sge, .num_sge = 1,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = { (uintptr_t)far->mem + (read ? from : to),
                     far->mr->rkey },
    }, *bad;

    if (op == IBV_WR_SEND && ibv_post_recv(p->pair.b.qp, &rwr, &rbad)) {
        return failed(p, "post_recv", errno);
    }
    return !ibv_post_send(p->pair.a.qp, &wr, &bad) ||
           failed(p, "post_send", errno);
}

static bool transfer(struct pressure *p)
{
    static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
                                              IBV_WR_RDMA_READ };
    enum ibv_wr_opcode op = ops[rig_below(3)];
    size_t len = 1 + rig_below(rig_below(2) ? MAX_LEN : 3 * PAGE);
    size_t from = rig_below(REGION - len), to = rig_below(REGION - len);

    if (!post(p, op, from, to, len) || !completes(p, p->pair.a.cq) ||
        (op == IBV_WR_SEND && !completes(p, p->pair.b.cq))) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (p->dst.mem[to + i] != p->src.mem[from + i]) {
            return failed(p, "differs at byte", i);
        }
    }
    p->messages++;
    p->bytes += len;
    return true;
}

static void run(struct pressure *p, enum kind kind, int64_t ms)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    int64_t end = rig_now_ms() + ms;
    pthread_t thread;
    bool ok = true;

    p->kind = kind;
    p->messages = p->bytes = 0;
    p->taken = p->refused = 0;
    p->stop = false;
    p->why[0] = 0;
    arena_make(p, &p->src, kind == IMPLICIT ? IBV_ACCESS_LOCAL_WRITE |
                                                  IBV_ACCESS_REMOTE_READ
                                            : IBV_ACCESS_REMOTE_READ);
    arena_make(p, &p->dst, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    rig_noise(p->src.mem, REGION);
    rig_pair_make(&p->rig, &p->pair, &attr);
    if (pthread_create(&thread, NULL, antagonist, p)) {
        tap_die("no thread");
    }
    while (ok && rig_now_ms() < end) {
        ok = transfer(p);
    }
    p->stop = true;
    pthread_join(thread, NULL);
    tap_check(ok && p->messages, kind_name[kind],
              "%lu messages, %lu MiB, pages taken %lu times, not %lu times%s%s",
              (unsigned long)p->messages, (unsigned long)(p->bytes >> 20),
              (unsigned long)p->taken, (unsigned long)p->refused,
              p->why[0] ? "; " : "", p->why);
    rig_pair_free(&p->pair);
    arena_free(&p->src);
    arena_free(&p->dst);
}

int main(int argc, char **argv)
{
    static struct pressure p;
    const char *dev = NULL, *duration = getenv("DURATION");
    int gid = -1, c;
    double seconds = duration ? atof(duration) : 60;
    uint64_t seed = 1;

    while ((c = getopt(argc, argv, "d:g:s:t:")) != -1) {
        switch (c) {
        case 'd': dev = optarg; break;
        case 'g': gid = atoi(optarg); break;
        case 's': seed = strtoull(optarg, NULL, 0); break;
        case 't': seconds = atof(optarg); break;
        default: return 2;
        }
    }
    rig_seed(seed);
    rig_open(&p.rig, dev, gid);
    for (int kind = 0; kind < KINDS; kind++) {
        run(&p, kind, seconds * 1000 / KINDS);
    }
    rig_close(&p.rig);
    return tap_done();
}
