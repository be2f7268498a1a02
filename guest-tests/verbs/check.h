/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving random bytes and comparing every one of them.
 *
 * A batch of messages is laid out in two arenas: sources anywhere in one that
 * holds noise, destinations one after another, with gaps, in one filled with
 * CHECK_FILL. A third buffer gets what the destination arena must look like
 * afterwards. One comparison thus catches a byte that is wrong, one that is
 * missing, and one written where nothing was allowed to be written.
 */
#ifndef CHECK_H
#define CHECK_H

#include "rig.h"

#define CHECK_MAX_SGE 30
#define CHECK_MAX_BATCH 64
#define CHECK_FILL 0x5c
#define CHECK_GRH 40 /* bytes in front of each datagram received */
#define CHECK_ARENA (66u << 20)

/** struct check_seg - a range of an arena. */
struct check_seg {
    uint32_t off, len;
};

/** struct check_msg - one message, planned. */
struct check_msg {
    enum ibv_wr_opcode op;
    uint32_t len;
    uint32_t imm;
    unsigned flags;   /* IBV_SEND_* */
    unsigned nlocal;  /* segments at the sender */
    unsigned nremote; /* segments at the receiver */
    struct check_seg local[CHECK_MAX_SGE];
    struct check_seg remote[CHECK_MAX_SGE];
};

/** struct check - arenas and what was counted. */
struct check {
    struct rig rig;
    uint8_t *src, *dst, *want;
    struct ibv_mr *src_mr, *dst_mr;
    uint64_t seed;
    bool full;
    uint64_t messages, bytes;
    char why[256]; /* of the first failure */
};

/** CHECK_* - properties of a phase. */
enum {
    CHECK_INLINE = 1 << 0,       /* payload in the work request */
    CHECK_SRQ = 1 << 1,          /* receive from a shared queue */
    CHECK_ALL_SIGNALED = 1 << 2, /* otherwise a random half */
    CHECK_POW2 = 1 << 3,         /* random sizes, spread over magnitudes */
    CHECK_HALF_MTU = 1 << 4,     /* path MTU 256 instead of the active one */
};

/** CHECK_OP() - a work request opcode in a set. */
#define CHECK_OP(name) (1u << IBV_WR_##name)

/** struct check_phase - a kind of traffic. */
struct check_phase {
    const char *name;
    enum ibv_qp_type type;
    unsigned ops;      /* set of CHECK_OP() */
    uint32_t lo, hi;   /* sizes; hi 0: what a datagram or inline allows */
    uint32_t step;     /* 0: random sizes */
    uint32_t count;    /* messages when random */
    uint32_t full;     /* the same with --full (0: count) */
    unsigned max_sge;
    unsigned ring;     /* work requests a queue holds */
    unsigned flags;
};

/** check_phase() - run one phase and print its result. */
void check_phase(struct check *c, const struct check_phase *p);

/** check_fail() - keep the first reason. Return: false. */
bool check_fail(struct check *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Single subjects, each printing its results. */
void check_atomics(struct check *c);
void check_wrap(struct check *c);
void check_events(struct check *c);
void check_cq_resize(struct check *c);
void check_many_qps(struct check *c);
void check_fence(struct check *c);
void check_many_mrs(struct check *c);
void check_huge(struct check *c);
void check_code(struct check *c);

#endif
