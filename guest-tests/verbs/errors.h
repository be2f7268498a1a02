/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What verbs_errors's files share: a bench with good and bad memory keys, and
 * how a check says why it failed.
 */
#ifndef ERRORS_H
#define ERRORS_H

#include "rig.h"
#include "vendor_synd.h"

#define ERRORS_BUF 65536u
#define ERRORS_QUIET_MS 60

/** enum err_key - a memory key, and what is wrong with it. */
enum err_key {
    KEY_GOOD,
    KEY_BAD,        /* a number that no key has */
    KEY_STALE,      /* was good, until it was deregistered */
    KEY_OTHER_PD,   /* of another protection domain */
    KEY_READ_LOCAL, /* no right at all but to be read locally */
    KEY_NO_WRITE,   /* remote read and atomic, no remote write */
    KEY_NO_READ,    /* remote write and atomic, no remote read */
    KEY_NO_ATOMIC,  /* remote read and write, no atomic */
    KEY_COUNT
};

/** struct bench - the device, buffers and keys of all cases. */
struct bench {
    struct rig rig;
    struct ibv_pd *other_pd;
    uint8_t *src, *dst;
    struct ibv_mr *mr[KEY_COUNT];   /* all of the whole of src and dst */
    uint32_t key[KEY_COUNT];
    bool mlx5;
    char why[256];
};

/** err_why() - keep the first reason. Return: false. */
bool err_why(struct bench *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** err_report() - print one result and forget the reason. */
void err_report(struct bench *b, const char *name, bool ok);

/** err_send() - post one work request with one SGE. Return: success. */
bool err_send(struct bench *b, struct rig_side *s, enum ibv_wr_opcode op,
              uint64_t id, unsigned flags, enum err_key lkey,
              enum err_key rkey);
/** err_recv() - post a receive of @len bytes at dst. */
bool err_recv(struct bench *b, struct rig_side *s, uint64_t id, uint32_t len,
              enum err_key lkey);
/** err_expect() - the next completion has this id and status. */
bool err_expect(struct bench *b, struct ibv_cq *cq, uint64_t id,
                enum ibv_wc_status status);
/** err_fails() - it failed with this status and, on mlx5, this vendor code. */
bool err_fails(struct bench *b, struct ibv_cq *cq, uint64_t id,
               enum ibv_wc_status status, enum vendor_synd vendor);
/** err_flushed() - the next completions are flushes of @first.. in order. */
bool err_flushed(struct bench *b, struct ibv_cq *cq, uint64_t first,
                 unsigned n);
/** err_states() - both queue pairs are in these states (waits a little). */
bool err_states(struct bench *b, struct rig_pair *pair, enum ibv_qp_state a,
                enum ibv_qp_state bb);
/** err_works() - both queue pairs carry a write, a read and a send. */
bool err_works(struct bench *b, struct rig_pair *pair);
/** err_recover() - both to RESET, connect again, and they work. */
bool err_recover(struct bench *b, struct rig_pair *pair);

void errors_rc(struct bench *b);
void errors_retry(struct bench *b);
void errors_datagram(struct bench *b);
void errors_flush(struct bench *b);
void errors_event(struct bench *b);
void errors_counter(struct bench *b);
void errors_refuse(struct bench *b);

#endif
