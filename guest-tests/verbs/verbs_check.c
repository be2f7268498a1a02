/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verbs_check: every byte of every kind of message arrives, and no other.
 *
 *   verbs_check [-d DEVICE] [-g GID_INDEX] [-s SEED] [--full] [SUBJECT...]
 *
 * The queue pairs talk to each other inside one process. The seed is printed;
 * the same seed gives the same messages. A subject is a part of a name.
 */
#include "check.h"
#include "tap.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RC IBV_QPT_RC
#define UC IBV_QPT_UC
#define UD IBV_QPT_UD
#define OP CHECK_OP

#define SENDS (OP(SEND) | OP(SEND_WITH_IMM))
#define WRITES (OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM))
#define ALL (SENDS | WRITES | OP(RDMA_READ))
#define MIB (1u << 20)

static const struct check_phase phases[] = {
    /* name                     type ops lo hi step count full sge ring flags */
    { "rc-write-0-9000", RC, OP(RDMA_WRITE), 0, 9000, 1, 0, 0, 30, 32, 0 },
    { "rc-read-0-9000", RC, OP(RDMA_READ), 0, 9000, 1, 0, 0, 30, 32, 0 },
    { "rc-send-0-9000", RC, OP(SEND), 0, 9000, 1, 0, 0, 30, 32, 0 },
    { "rc-write-imm", RC, OP(RDMA_WRITE_WITH_IMM), 0, 9000, 7, 0, 0, 30, 16,
      0 },
    { "rc-send-imm", RC, OP(SEND_WITH_IMM), 0, 9000, 7, 0, 0, 30, 16, 0 },
    { "rc-inline", RC, SENDS | WRITES, 0, 0, 1, 0, 0, 4, 16, CHECK_INLINE },
    { "rc-mix-ring-1", RC, ALL, 0, 65536, 0, 200, 5000, 30, 1, CHECK_POW2 },
    { "rc-mix-ring-4", RC, ALL, 0, 65536, 0, 1000, 20000, 30, 4, CHECK_POW2 },
    { "rc-mix-ring-64", RC, ALL, 0, 65536, 0, 2000, 40000, 30, 64,
      CHECK_POW2 },
    { "rc-mix-signaled", RC, ALL, 0, 4096, 0, 500, 10000, 8, 16,
      CHECK_ALL_SIGNALED },
    { "rc-mix-mtu-256", RC, ALL, 0, 65536, 0, 200, 2000, 30, 16,
      CHECK_POW2 | CHECK_HALF_MTU },
    { "rc-large-write", RC, OP(RDMA_WRITE), 1, 64 * MIB, 0, 4, 40, 30, 4, 0 },
    { "rc-large-read", RC, OP(RDMA_READ), 1, 64 * MIB, 0, 4, 40, 30, 4, 0 },
    { "rc-large-send", RC, SENDS, 1, 64 * MIB, 0, 4, 40, 30, 4, 0 },
    { "rc-srq", RC, SENDS | OP(RDMA_WRITE_WITH_IMM), 0, 9000, 0, 1500, 20000,
      15, 32, CHECK_SRQ },
    { "rc-srq-ring-4", RC, SENDS, 0, 64, 0, 1000, 20000, 2, 4, CHECK_SRQ },
    { "uc-mix-0-9000", UC, SENDS | WRITES, 0, 9000, 3, 0, 0, 30, 32, 0 },
    { "uc-inline", UC, SENDS | WRITES, 0, 0, 1, 0, 0, 2, 16, CHECK_INLINE },
    { "ud-send-all-sizes", UD, SENDS, 0, 0, 1, 0, 0, 16, 32, 0 },
    { "ud-inline", UD, SENDS, 0, 0, 1, 0, 0, 2, 16, CHECK_INLINE },
    { "ud-srq", UD, SENDS, 0, 1024, 0, 300, 5000, 8, 16, CHECK_SRQ },
};

static const struct {
    const char *name;
    void (*run)(struct check *);
} subjects[] = {
    { "rc-atomics", check_atomics },   { "rc-wrap", check_wrap },
    { "events", check_events },        { "cq-resize", check_cq_resize },
    { "many-qps", check_many_qps },    { "fence", check_fence },
    { "many-mrs", check_many_mrs },    { "huge", check_huge },
    { "code", check_code },
};

static void arena_open(struct check *c)
{
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    uint8_t *mem = mmap(NULL, 3ull * CHECK_ARENA, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mem == MAP_FAILED) {
        tap_die("no memory");
    }
    c->src = mem;
    c->dst = mem + CHECK_ARENA;
    c->want = c->dst + CHECK_ARENA;
    rig_noise(c->src, CHECK_ARENA);
    c->src_mr = rig_mr(&c->rig, c->src, CHECK_ARENA, access);
    c->dst_mr = rig_mr(&c->rig, c->dst, CHECK_ARENA, access);
}

static void arena_close(struct check *c)
{
    if (ibv_dereg_mr(c->src_mr) || ibv_dereg_mr(c->dst_mr)) {
        tap_die("ibv_dereg_mr fails");
    }
    munmap(c->src, 3ull * CHECK_ARENA);
}

static bool wanted(const char *name, char **pattern)
{
    if (!*pattern) {
        return true;
    }
    for (; *pattern; pattern++) {
        if (strstr(name, *pattern)) {
            return true;
        }
    }
    return false;
}

/* Each subject starts from its own seed, so that it can be run alone. */
static void run_all(struct check *c, char **pattern)
{
    const unsigned np = sizeof(phases) / sizeof(phases[0]);
    const unsigned ns = sizeof(subjects) / sizeof(subjects[0]);

    for (unsigned i = 0; i < np; i++) {
        rig_seed(c->seed + i);
        if (wanted(phases[i].name, pattern)) {
            check_phase(c, &phases[i]);
        }
    }
    for (unsigned i = 0; i < ns; i++) {
        rig_seed(c->seed + np + i);
        if (wanted(subjects[i].name, pattern)) {
            c->why[0] = 0;
            subjects[i].run(c);
        }
    }
}

static void usage(const char *me)
{
    fprintf(stderr, "usage: %s [-d DEVICE] [-g GID_INDEX] [-s SEED] [--full] "
            "[SUBJECT...]\n", me);
    exit(2);
}

int main(int argc, char **argv)
{
    static const struct option longopt[] = {
        { "full", no_argument, NULL, 'f' }, { NULL, 0, NULL, 0 }
    };
    static struct check c = { .seed = 1 };
    const char *name = NULL;
    int gid = -1, o;

    while ((o = getopt_long(argc, argv, "d:g:s:f", longopt, NULL)) != -1) {
        switch (o) {
        case 'd':
            name = optarg;
            break;
        case 'g':
            gid = atoi(optarg);
            break;
        case 's':
            c.seed = strtoull(optarg, NULL, 0);
            break;
        case 'f':
            c.full = true;
            break;
        default:
            usage(argv[0]);
        }
    }
    tap_note("seed %llu", (unsigned long long)c.seed);
    rig_seed(c.seed);
    rig_open(&c.rig, name, gid);
    arena_open(&c);
    run_all(&c, argv + optind);
    arena_close(&c);
    rig_close(&c.rig);
    return tap_done();
}
