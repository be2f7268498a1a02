/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every verbs program of ours needs: a device with a usable GID, pairs of
 * queue pairs connected to each other in one process, and completions with a
 * deadline, so that a card that never answers ends in a failed check.
 */
#ifndef RIG_H
#define RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/** RIG_QKEY - the key of all our UD queue pairs. */
#define RIG_QKEY 0x11111111u
/** RIG_WAIT_MS - how long a completion may take before the check fails. */
#define RIG_WAIT_MS 20000

/** struct rig - an open device. */
struct rig {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_device_attr dev;
    struct ibv_port_attr port;
    union ibv_gid gid;
    int gid_index;
    uint8_t port_num;
};

/** struct rig_pair_attr - how a pair is made; zero means the default. */
struct rig_pair_attr {
    enum ibv_qp_type type;
    uint32_t send_wr, recv_wr;
    uint32_t sge;          /* both directions */
    uint32_t inline_bytes;
    uint32_t cq_depth;
    struct ibv_cq *cq;     /* shared by all four queues; NULL: one a side */
    struct ibv_srq *srq;   /* of both sides */
    struct ibv_comp_channel *channel;
    int access_b;          /* access flags of side b; -1: all remote rights */
    uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, rd_atomic;
    enum ibv_mtu mtu;      /* 0: the active one */
};

/** RIG_DEFAULTS - the attributes most pairs use. */
#define RIG_DEFAULTS                                                        \
    .type = IBV_QPT_RC, .send_wr = 64, .recv_wr = 64, .sge = 1,             \
    .access_b = -1, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7,          \
    .min_rnr_timer = 1, .rd_atomic = 8

/** struct rig_side - one queue pair of a pair, and its completion queue. */
struct rig_side {
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    bool own_cq;
    uint32_t psn;
    uint32_t inline_bytes; /* what the device granted */
    uint32_t sge;
};

/** struct rig_pair - two queue pairs, each other's peer. */
struct rig_pair {
    struct rig *rig;
    struct rig_pair_attr attr;
    struct rig_side a, b;
    struct ibv_ah *ah; /* UD only: the way to the other one */
};

/**
 * rig_open() - open @name (NULL: the first mlx5 device, else the first one).
 * @gid_index: GID table entry, or -1 to choose an IPv4 RoCE v2 one.
 * Ends the program when there is no device or its port is not active.
 */
void rig_open(struct rig *rig, const char *name, int gid_index);
void rig_close(struct rig *rig);

/** rig_mr() - register, or end the program. */
struct ibv_mr *rig_mr(struct rig *rig, void *buf, size_t len, int access);

/** rig_pair_make() - create and connect; ends the program on failure. */
void rig_pair_make(struct rig *rig, struct rig_pair *pair,
                   const struct rig_pair_attr *attr);
/** rig_pair_create() - create only: both stay in RESET. */
void rig_pair_create(struct rig *rig, struct rig_pair *pair,
                     const struct rig_pair_attr *attr);
void rig_pair_free(struct rig_pair *pair);

/** rig_to_*() - one transition of @s towards @peer. Return: 0 or errno. */
int rig_to_init(struct rig_pair *pair, struct rig_side *s);
int rig_to_rtr(struct rig_pair *pair, struct rig_side *s,
               struct rig_side *peer);
int rig_to_rts(struct rig_pair *pair, struct rig_side *s);
int rig_to_state(struct rig_side *s, enum ibv_qp_state state);
/** rig_connect() - RESET to RTS, both sides. Return: 0 or errno. */
int rig_connect(struct rig_pair *pair);

/** rig_state() - the state the device reports. */
enum ibv_qp_state rig_state(struct ibv_qp *qp);
const char *rig_state_name(enum ibv_qp_state state);

/** rig_poll() - wait for one completion. Return: false after @ms. */
bool rig_poll(struct ibv_cq *cq, struct ibv_wc *wc, int ms);
/** rig_quiet() - Return: true when nothing completes for @ms. */
bool rig_quiet(struct ibv_cq *cq, int ms);
/** rig_async() - wait for asynchronous event @type, acknowledging others. */
bool rig_async(struct rig *rig, enum ibv_event_type type, int ms);

/** rig_now_ms() - monotonic time. */
int64_t rig_now_ms(void);

/** rig_seed(), rig_rand() - reproducible random numbers. */
void rig_seed(uint64_t seed);
uint64_t rig_rand(void);
/** rig_below() - Return: a random number in 0..@n - 1. */
uint64_t rig_below(uint64_t n);
/** rig_noise() - fill with random bytes. */
void rig_noise(void *buf, size_t len);

#endif
