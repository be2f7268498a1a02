/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What objects cost: memory regions and queue pairs made in a second, the cost
 * of one more and of a message beside thousands, and thousands held idle, so
 * that the emulator's memory can be looked at.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RUN_NS 700000000ll
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

/* scale: creations looked at, after as many for the warming, and messages. */
#define CREATIONS 200
#define WARM 400
#define BATCHES 30
#define BATCH 100

/* Pages that are there: registration is measured, not the page faults. */
static void *memory(size_t bytes, bool huge)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0), -1,
                   0);

    if (p == MAP_FAILED) {
        tap_die("no memory for %zu bytes: %s", bytes, strerror(errno));
    }
    memset(p, 1, bytes);
    return p;
}

void bench_mr(struct rig *rig, int argc, char **argv)
{
    size_t bytes = strtoull(argv[0], NULL, 0);
    void *buf = memory(bytes, argc > 1);
    int64_t began, took;
    unsigned n = 0;

    ibv_dereg_mr(rig_mr(rig, buf, bytes, ACCESS));
    began = bench_now_ns();
    do {
        if (ibv_dereg_mr(rig_mr(rig, buf, bytes, ACCESS))) {
            tap_die("ibv_dereg_mr: %s", strerror(errno));
        }
        n++;
        took = bench_now_ns() - began;
    } while (took < RUN_NS);
    printf("per_s %.3f\n", n * 1e9 / took);
}

void bench_qp(struct rig *rig, int argc, char **argv)
{
    struct ibv_cq *cq = ibv_create_cq(rig->ctx, 64, NULL, NULL, 0);
    const struct rig_pair_attr attr = { RIG_DEFAULTS, .cq = cq };
    struct rig_pair pair;
    int64_t began = 0, took = 0;
    unsigned n = 0;

    (void)argc, (void)argv;
    rig_pair_make(rig, &pair, &attr);
    rig_pair_free(&pair);
    began = bench_now_ns();
    do {
        rig_pair_make(rig, &pair, &attr);
        rig_pair_free(&pair);
        n += 2;
        took = bench_now_ns() - began;
    } while (took < RUN_NS);
    printf("per_s %.3f\n", n * 1e9 / took);
}

/* A kind of object: made with as little of the guest's memory as can be. */
struct kind {
    const char *name;
    void *(*make)(struct rig *rig, void *with);
    int (*free)(void *object);
};

static struct ibv_cq *shared_cq;
static uint8_t page[4096] __attribute__((aligned(4096)));

static void *make_qp(struct rig *rig, void *with)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC, .send_cq = with, .recv_cq = with,
        .cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
                 .max_recv_sge = 1 },
    };

    return ibv_create_qp(rig->pd, &init);
}

/* A queue pair that is ready and connected, to itself, and has nothing to do. */
static void *make_idle_qp(struct rig *rig, void *with)
{
    struct rig_pair pair = { .rig = rig, .attr = { RIG_DEFAULTS } };
    struct rig_side *s = &pair.a;

    pair.attr.type = IBV_QPT_RC;
    pair.attr.mtu = rig->port.active_mtu;
    s->qp = make_qp(rig, with);
    if (s->qp && (rig_to_init(&pair, s) || rig_to_rtr(&pair, s, s) ||
                  rig_to_rts(&pair, s))) {
        tap_die("connecting a queue pair: %s", strerror(errno));
    }
    return s->qp;
}

static void *make_cq(struct rig *rig, void *with)
{
    (void)with;
    return ibv_create_cq(rig->ctx, 1, NULL, NULL, 0);
}

static void *make_mr(struct rig *rig, void *with)
{
    (void)with;
    return ibv_reg_mr(rig->pd, page, sizeof(page), ACCESS);
}

static int free_qp(void *object)
{
    return ibv_destroy_qp(object);
}

static int free_cq(void *object)
{
    return ibv_destroy_cq(object);
}

static int free_mr(void *object)
{
    return ibv_dereg_mr(object);
}

static const struct kind kinds[] = {
    { "qp", make_qp, free_qp },
    { "ready-qp", make_idle_qp, free_qp },
    { "cq", make_cq, free_cq },
    { "mr", make_mr, free_mr },
};

static const struct kind *kind_of(struct rig *rig, const char *name)
{
    shared_cq = ibv_create_cq(rig->ctx, 16, NULL, NULL, 0);
    memset(page, 1, sizeof(page));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!strcmp(kinds[i].name, name)) {
            return &kinds[i];
        }
    }
    tap_die("no kind of object is called %s", name);
}

static void *make(struct rig *rig, const struct kind *kind)
{
    void *object = kind->make(rig, shared_cq);

    if (!object) {
        tap_die("no further %s: %s", kind->name, strerror(errno));
    }
    return object;
}

/* Return: the median time of a creation, in microseconds. */
static double creation_us(struct rig *rig, const struct kind *kind, unsigned n)
{
    double *us = calloc(n, sizeof(*us));
    void **made = calloc(n, sizeof(*made));
    double median;

    for (unsigned i = 0; i < n; i++) {
        int64_t began = bench_now_ns();

        made[i] = make(rig, kind);
        us[i] = (bench_now_ns() - began) / 1e3;
    }
    for (unsigned i = 0; i < n; i++) {
        if (kind->free(made[i])) {
            tap_die("destroying a %s: %s", kind->name, strerror(errno));
        }
    }
    median = bench_median(us, n);
    free(us);
    free(made);
    return median;
}

static void message(struct rig_pair *pair, struct ibv_mr *mr)
{
    struct ibv_sge sge = { .addr = (uintptr_t)page, .length = 8,
                           .lkey = mr->lkey };
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = { .remote_addr = (uintptr_t)page + 64, .rkey = mr->rkey },
    }, *bad;
    struct ibv_wc wc;
    int n;

    if (ibv_post_send(pair->a.qp, &wr, &bad)) {
        tap_die("ibv_post_send: %s", strerror(errno));
    }
    while (!(n = ibv_poll_cq(pair->a.cq, 1, &wc))) {
    }
    if (n < 0 || wc.status) {
        tap_die("completion: %s",
                n < 0 ? "none" : ibv_wc_status_str(wc.status));
    }
}

/* Return: the median time of a message on the newest queue pair and region. */
static double message_us(struct rig *rig)
{
    const struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct ibv_mr *mr = rig_mr(rig, page, sizeof(page), ACCESS);
    struct rig_pair pair;
    double us[BATCHES];

    rig_pair_make(rig, &pair, &attr);
    for (unsigned i = 0; i < BATCH; i++) {
        message(&pair, mr);
    }
    for (unsigned i = 0; i < BATCHES; i++) {
        int64_t began = bench_now_ns();

        for (unsigned k = 0; k < BATCH; k++) {
            message(&pair, mr);
        }
        us[i] = (bench_now_ns() - began) / 1e3 / BATCH;
    }
    rig_pair_free(&pair);
    ibv_dereg_mr(mr);
    return bench_median(us, BATCHES);
}

/*
 * The first and the last line are of one process, so that both are as warm: a
 * translating emulator is slow with what it sees first.
 */
void bench_scale(struct rig *rig, int argc, char **argv)
{
    const struct kind *kind = kind_of(rig, argv[0]);
    unsigned held = 0;

    creation_us(rig, kind, WARM);
    message_us(rig);
    for (int i = 1; i < argc; i++) {
        unsigned count = strtoul(argv[i], NULL, 0);

        for (; held < count; held++) {
            make(rig, kind);
        }
        printf("create_us_%u %.3f\n", count, creation_us(rig, kind, CREATIONS));
        printf("message_us_%u %.3f\n", count, message_us(rig));
        fflush(stdout);
    }
}

static void on_signal(int number)
{
    (void)number;
}

void bench_hold(struct rig *rig, int argc, char **argv)
{
    const struct kind *kind = kind_of(rig, argv[0]);
    unsigned held = 0;

    signal(SIGUSR1, on_signal);
    for (int i = 1; i < argc; i++) {
        unsigned more = strtoul(argv[i], NULL, 0);

        while (more--) {
            make(rig, kind);
            held++;
        }
        printf("held %u\n", held);
        fflush(stdout);
        pause();
    }
}
