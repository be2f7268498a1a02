/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a small message is the guest's own instructions.
 *
 * The loop of ib_write_bw -q QPS -l LIST: lists of 8-byte writes posted on each
 * queue pair in turn, then completions polled until none is there. It runs
 * against the card, and then against a card that takes no time: the page with
 * the doorbells is replaced by plain memory, so that the library's writes to it
 * reach nobody, and each list's completion is put into the queue by the loop
 * itself, a few stores for LIST messages. The instructions of the library are
 * the same, to the last branch.
 *
 * A doorbell also leaves the guest's code for the emulator. What that alone
 * costs is measured by writes to a place of the doorbell page behind which
 * there is nothing to do. The limit of a card is instructions plus one such
 * write a list.
 *
 * Sources: libmlx5's mlx5dv.h (where rings and doorbells are); PRM, CQE.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "tap.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_QPS 64
#define MAX_LIST 64
#define DEPTH 128
#define POLL_BATCH 16
#define RUN_NS 500000000ll
#define EXITS 200000
#define PAGE 4096

/* In a half of the doorbell register, behind doorbell and control segment. */
#define BEHIND_DOORBELL 0x10

struct flow {
    struct rig_pair pair;
    struct mlx5dv_qp dv;
    uint32_t posted, done;
    uint32_t uidx_be;          /* by which the library knows the queue pair */
};

struct post {
    struct rig *rig;
    struct ibv_cq *cq;
    struct mlx5dv_cq dv;
    struct ibv_mr *mr;
    unsigned flows, list;
    bool alone;
    uint32_t cqe;              /* next completion of our own */
    struct flow flow[MAX_QPS];
    struct ibv_sge sge;
    struct ibv_send_wr wr[MAX_LIST];
    uint8_t buf[PAGE] __attribute__((aligned(PAGE)));
};

static void make_list(struct post *p)
{
    p->sge = (struct ibv_sge){ .addr = (uintptr_t)p->buf, .length = 8,
                               .lkey = p->mr->lkey };
    for (unsigned i = 0; i < p->list; i++) {
        p->wr[i] = (struct ibv_send_wr){
            .sg_list = &p->sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = i + 1 == p->list ? IBV_SEND_SIGNALED : 0,
            .next = i + 1 < p->list ? &p->wr[i + 1] : NULL,
            .wr.rdma = { .remote_addr = (uintptr_t)p->buf + 64,
                         .rkey = p->mr->rkey },
        };
    }
}

static void set_up(struct post *p)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct mlx5dv_obj obj = { 0 };

    p->mr = rig_mr(p->rig, p->buf, PAGE,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    p->cq = ibv_create_cq(p->rig->ctx, DEPTH * p->flows, NULL, NULL, 0);
    if (!p->cq) {
        tap_die("ibv_create_cq: %s", strerror(errno));
    }
    attr.cq = p->cq;
    attr.send_wr = DEPTH;
    for (unsigned i = 0; i < p->flows; i++) {
        rig_pair_make(p->rig, &p->flow[i].pair, &attr);
        obj.qp.in = p->flow[i].pair.a.qp;
        obj.qp.out = &p->flow[i].dv;
        if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP)) {
            tap_die("this is not an mlx5 device");
        }
    }
    obj.cq.in = p->cq;
    obj.cq.out = &p->dv;
    mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ);
    make_list(p);
}

/* Return: the place of completion @n, counted from the first one. */
static struct mlx5_cqe64 *cqe_at(struct post *p, uint32_t n)
{
    uint8_t *at = (uint8_t *)p->dv.buf +
                  (size_t)(n & (p->dv.cqe_cnt - 1)) * p->dv.cqe_size;

    return (struct mlx5_cqe64 *)(at + p->dv.cqe_size - 64);
}

/* Learn from the card's completions what they call the queue pairs. */
static void learn(struct post *p)
{
    for (uint32_t n = 0; n < p->dv.cqe_cnt; n++) {
        const struct mlx5_cqe64 *cqe = cqe_at(p, n);

        for (unsigned i = 0; i < p->flows; i++) {
            if ((be32toh(cqe->sop_drop_qpn) & 0xffffff) ==
                p->flow[i].pair.a.qp->qp_num) {
                p->flow[i].uidx_be = cqe->srqn_uidx;
            }
        }
    }
}

/* What the card would write of the last work request of a list. */
static void complete(struct post *p, struct flow *f)
{
    uint32_t n = p->cqe++;
    struct mlx5_cqe64 *cqe = cqe_at(p, n);
    uint32_t qpn = f->pair.a.qp->qp_num;

    cqe->srqn_uidx = f->uidx_be;
    cqe->sop_drop_qpn = htobe32((uint32_t)MLX5_OPCODE_RDMA_WRITE << 24 | qpn);
    cqe->wqe_counter = htobe16(f->posted - 1);
    *(volatile uint8_t *)&cqe->op_own = MLX5_CQE_REQ << 4 |
                                        !!(n & p->dv.cqe_cnt);
}

static void post_one(struct post *p, struct flow *f, unsigned number)
{
    struct ibv_send_wr *bad;
    int rc;

    p->wr[p->list - 1].wr_id = number;
    rc = ibv_post_send(f->pair.a.qp, p->wr, &bad);
    if (rc) {
        tap_die("%s: ibv_post_send on QP %u of %u, %u posted, %u done, at %td: "
                "%s", p->alone ? "alone" : "with the card", number, p->flows,
                f->posted, f->done, bad - p->wr, strerror(rc));
    }
    f->posted += p->list;
    if (p->alone) {
        complete(p, f);
    }
}

static void poll_all(struct post *p)
{
    struct ibv_wc wc[POLL_BATCH];
    int n;

    do {
        n = ibv_poll_cq(p->cq, POLL_BATCH, wc);
        for (int i = 0; i < n; i++) {
            if (wc[i].status) {
                tap_die("completion: %s", ibv_wc_status_str(wc[i].status));
            }
            p->flow[wc[i].wr_id].done += p->list;
        }
    } while (n > 0);
    if (n < 0) {
        tap_die("ibv_poll_cq failed");
    }
}

/* Return: nanoseconds a message. */
static double run(struct post *p)
{
    int64_t began = bench_now_ns(), took;
    uint64_t messages = 0;

    do {
        for (unsigned i = 0; i < p->flows; i++) {
            struct flow *f = &p->flow[i];

            while (f->posted - f->done + p->list <= DEPTH) {
                post_one(p, f, i);
                messages += p->list;
            }
        }
        poll_all(p);
        took = bench_now_ns() - began;
    } while (took < RUN_NS);
    return (double)took / messages;
}

static void drain(struct post *p)
{
    for (unsigned i = 0; i < p->flows; i++) {
        while (p->flow[i].done != p->flow[i].posted) {
            poll_all(p);
        }
        /* Polled are as many as were completed. */
        p->cqe += p->flow[i].posted / p->list;
    }
}

/* Return: nanoseconds of a write that finds nothing to do. */
static double exit_ns(struct post *p)
{
    uint8_t *reg = p->flow[0].dv.bf.reg;
    volatile uint64_t *at = (volatile uint64_t *)(reg + BEHIND_DOORBELL);
    int64_t began = bench_now_ns();

    for (unsigned i = 0; i < EXITS; i++) {
        *at = 0;
    }
    return (double)(bench_now_ns() - began) / EXITS;
}

/* From here on no doorbell of these queue pairs reaches the card. */
static void take_doorbells_away(struct post *p)
{
    for (unsigned i = 0; i < p->flows; i++) {
        uintptr_t at = (uintptr_t)p->flow[i].dv.bf.reg & ~(uintptr_t)(PAGE - 1);

        if (mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            (void *)at) {
            tap_die("mmap over the doorbells: %s", strerror(errno));
        }
    }
    p->alone = true;
}

static unsigned count(const char *word, unsigned most)
{
    unsigned n = strtoul(word, NULL, 0);

    if (!n || n > most) {
        tap_die("%s is not from 1 to %u", word, most);
    }
    return n;
}

void bench_post(struct rig *rig, int argc, char **argv)
{
    static struct post p;
    double card, exits, alone;

    (void)argc;
    p.rig = rig;
    p.flows = count(argv[0], MAX_QPS);
    p.list = count(argv[1], MAX_LIST);
    set_up(&p);
    run(&p);
    card = run(&p);
    drain(&p);
    learn(&p);
    exit_ns(&p);
    exits = exit_ns(&p);
    take_doorbells_away(&p);
    run(&p);
    alone = run(&p);
    printf("card_per_s %.0f\n", 1e9 / card);
    printf("alone_per_s %.0f\n", 1e9 / alone);
    printf("exit_ns %.1f\n", exits);
    printf("limit_per_s %.0f\n", 1e9 / (alone + exits / p.list));
}
