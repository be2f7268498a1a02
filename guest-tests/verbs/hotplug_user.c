/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A busy user of a card that will be taken away:  hotplug_user KIND FLAG
 * Creates the file FLAG as soon as it is at work, and works until it is told
 * IBV_EVENT_DEVICE_FATAL. Then it frees all it has, and ends with status 0:
 * 1 when it can't begin, 2 when the device stops answering and no event comes.
 *
 * Until the event, anything may fail: completions stop when the card is gone,
 * commands end with EIO or with the error of the one that was under way. What
 * must not happen is that a call hangs. KIND is one of
 *
 *     write   RDMA writes of 64 KiB, polled
 *     read    RDMA reads and atomics, polled
 *     event   sends and receives, waiting for completion events
 *     churn   PDs, keys, completion queues and queue pairs come and go
 */
#include "rig.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 65536
#define DEPTH 8
/* How long a device that is gone may leave its users untold. */
#define SILENCE_MS 120000

/** struct user - what every kind has. */
struct user {
    struct rig rig;
    struct ibv_comp_channel *channel;
    struct rig_pair pair;
    struct ibv_mr *mr;
    uint8_t *buf;
    const char *flag;
    unsigned long done; /* completions, or rounds */
    int64_t heard_ms;   /* when something was last done */
};

struct kind {
    const char *name;
    int (*work)(struct user *u); /* one step; 0: it did something */
    bool pair, events;
};

static void user_done(struct user *u)
{
    if (u->done++ == 0) {
        int fd = open(u->flag, O_CREAT | O_WRONLY, 0644);

        if (fd >= 0) {
            close(fd);
        }
    }
    u->heard_ms = rig_now_ms();
}

/* Return: whether the device's end was told. */
static bool user_told(struct user *u)
{
    struct ibv_async_event ev;

    while (!ibv_get_async_event(u->rig.ctx, &ev)) {
        ibv_ack_async_event(&ev);
        if (ev.event_type == IBV_EVENT_DEVICE_FATAL) {
            return true;
        }
    }
    return false;
}

static int user_post(struct user *u, enum ibv_wr_opcode opcode, uint32_t len)
{
    struct ibv_sge sge = { (uintptr_t)u->buf, len, u->mr->lkey };
    struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1,
                                    .opcode = opcode,
                                    .send_flags = IBV_SEND_SIGNALED };

    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = (uintptr_t)u->buf + BYTES;
        wr.wr.atomic.compare_add = 1;
        wr.wr.atomic.rkey = u->mr->rkey;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)u->buf + BYTES;
        wr.wr.rdma.rkey = u->mr->rkey;
    }
    return ibv_post_send(u->pair.a.qp, &wr, &bad);
}

/* Take up to a queue's depth of completions. Return: how many were good. */
static int user_reap(struct ibv_cq *cq)
{
    struct ibv_wc wc[DEPTH];
    int n = ibv_poll_cq(cq, DEPTH, wc), good = 0;

    for (int i = 0; i < n; i++) {
        good += wc[i].status == IBV_WC_SUCCESS;
    }
    return good;
}

static int work_polled(struct user *u, enum ibv_wr_opcode opcode, uint32_t len)
{
    int n;

    if (!u->done) {
        for (int i = 1; i < DEPTH; i++) {
            user_post(u, opcode, len);
        }
        user_post(u, opcode, len);
    }
    n = user_reap(u->pair.a.cq);
    for (int i = 0; i < n; i++) {
        user_done(u);
        user_post(u, opcode, len);
    }
    if (!n) {
        sched_yield();
    }
    return n ? 0 : EAGAIN;
}

static int work_write(struct user *u)
{
    return work_polled(u, IBV_WR_RDMA_WRITE, BYTES);
}

static int work_read(struct user *u)
{
    bool atomic = u->done % 16 == 15;

    return work_polled(u, atomic ? IBV_WR_ATOMIC_FETCH_AND_ADD
                                 : IBV_WR_RDMA_READ, atomic ? 8 : 4096);
}

static int work_event(struct user *u)
{
    struct pollfd p[] = { { u->channel->fd, POLLIN, 0 },
                          { u->rig.ctx->async_fd, POLLIN, 0 } };
    struct ibv_sge sge = { (uintptr_t)u->buf + BYTES, 4096, u->mr->lkey };
    struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
    struct ibv_cq *cq;
    void *context;
    int good;

    ibv_req_notify_cq(u->pair.a.cq, 0);
    ibv_post_recv(u->pair.b.qp, &wr, &bad);
    user_post(u, IBV_WR_SEND, 4096);
    if (poll(p, 2, 1000) <= 0 || !(p[0].revents & POLLIN) ||
        ibv_get_cq_event(u->channel, &cq, &context)) {
        return EAGAIN;
    }
    ibv_ack_cq_events(cq, 1);
    good = user_reap(u->pair.a.cq) + user_reap(u->pair.b.cq);
    if (good) {
        user_done(u);
    }
    return good ? 0 : EAGAIN;
}

static int churn_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
        .cap = { 16, 16, 1, 1, 0 },
    };
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    int rc;

    if (!qp) {
        return errno;
    }
    rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    return ibv_destroy_qp(qp) | rc;
}

static int churn_in(struct user *u, struct ibv_pd *pd)
{
    struct ibv_mr *mr = ibv_reg_mr(pd, u->buf, BYTES, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_cq *cq = ibv_create_cq(u->rig.ctx, 64, NULL, NULL, 0);
    int rc = mr && cq ? churn_qp(pd, cq) : EIO;

    if (cq) {
        rc |= ibv_destroy_cq(cq);
    }
    if (mr) {
        rc |= ibv_dereg_mr(mr);
    }
    return rc;
}

static int work_churn(struct user *u)
{
    struct ibv_pd *pd = ibv_alloc_pd(u->rig.ctx);
    int rc;

    if (!pd) {
        usleep(1000);
        return errno;
    }
    rc = churn_in(u, pd);
    rc |= ibv_dealloc_pd(pd);
    if (!rc) {
        user_done(u);
    }
    return rc;
}

static const struct kind kinds[] = {
    { "write", work_write, true, false },
    { "read", work_read, true, false },
    { "event", work_event, true, true },
    { "churn", work_churn, false, false },
};

static void user_begin(struct user *u, const struct kind *kind)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };

    rig_open(&u->rig, NULL, -1);
    u->buf = aligned_alloc(4096, 2 * BYTES);
    if (!u->buf) {
        tap_die("no memory");
    }
    memset(u->buf, 0, 2 * BYTES);
    u->mr = rig_mr(&u->rig, u->buf, 2 * BYTES, IBV_ACCESS_LOCAL_WRITE |
                   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                   IBV_ACCESS_REMOTE_ATOMIC);
    if (kind->events) {
        attr.channel = u->channel = ibv_create_comp_channel(u->rig.ctx);
        if (!u->channel) {
            tap_die("ibv_create_comp_channel: %s", strerror(errno));
        }
    }
    if (kind->pair) {
        rig_pair_make(&u->rig, &u->pair, &attr);
    }
    u->heard_ms = rig_now_ms();
}

/* Free all, in order; that the device is gone must not keep it from that. */
static void user_end(struct user *u)
{
    if (u->pair.a.qp) {
        rig_pair_free(&u->pair);
    }
    if (u->channel) {
        ibv_destroy_comp_channel(u->channel);
    }
    ibv_dereg_mr(u->mr);
    ibv_dealloc_pd(u->rig.pd);
    ibv_close_device(u->rig.ctx);
    free(u->buf);
}

int main(int argc, char **argv)
{
    const struct kind *kind = NULL;
    struct user u = { 0 };
    int rc = 0;

    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++) {
        kind = strcmp(kinds[i].name, argv[1]) ? kind : &kinds[i];
    }
    if (!kind) {
        fprintf(stderr, "usage: hotplug_user write|read|event|churn FLAG\n");
        return 1;
    }
    u.flag = argv[2];
    user_begin(&u, kind);
    for (unsigned n = 0; n % 64 || !user_told(&u); n++) {
        kind->work(&u);
        if (rig_now_ms() - u.heard_ms > SILENCE_MS) {
            fprintf(stderr, "%s: nothing was done for %d s, and no event came\n",
                    kind->name, SILENCE_MS / 1000);
            rc = 2;
            break;
        }
    }
    printf("%s: %lu\n", kind->name, u.done);
    user_end(&u);
    return rc;
}
