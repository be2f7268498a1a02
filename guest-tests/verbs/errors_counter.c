/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware counters: what the card counts, as sysfs shows it.
 * Source: mlx5_ib counters.c; docs/error-completions.md.
 */
#include "errors.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kernel reads the card's counters again after this (lifespan: 10 ms). */
#define STALE_US 100000

/* In place of a counter's value: this kernel does not have it. */
#define LACKING -1

static const char *const names[] = {
    "rx_write_requests", "rx_read_requests", "rx_atomic_requests",
    "out_of_buffer", "rnr_nak_retry_err", "local_ack_timeout_err",
    "req_remote_access_errors", "resp_remote_access_errors",
    "req_rnr_retries_exceeded", "req_transport_retries_exceeded",
    "resp_local_length_error", "req_remote_invalid_request",
    "out_of_sequence", "duplicate_request", "packet_seq_err",
    "implied_nak_seq_err",
};
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Linux 6.1 has not these two; any other must be there. */
static bool may_lack(const char *name)
{
    return !strcmp(name, "req_rnr_retries_exceeded") ||
           !strcmp(name, "req_transport_retries_exceeded");
}

/* How much each must have grown, in the order of names. */
struct growth {
    int by[NAMES];
};

static bool read_all(struct bench *b, long long v[NAMES])
{
    const char *dev = ibv_get_device_name(b->rig.ctx->device);
    char path[256];
    FILE *f;

    usleep(STALE_US);
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path),
                 "/sys/class/infiniband/%s/ports/%d/hw_counters/%s", dev,
                 b->rig.port_num, names[i]);
        f = fopen(path, "r");
        if (!f && may_lack(names[i])) {
            v[i] = LACKING;
            continue;
        }
        if (!f) {
            return err_why(b, "no %s", path);
        }
        if (fscanf(f, "%lld", &v[i]) != 1) {
            fclose(f);
            return err_why(b, "nothing in %s", path);
        }
        fclose(f);
    }
    return true;
}

static bool grown(struct bench *b, const long long before[NAMES],
                  const struct growth *want)
{
    long long now[NAMES];

    if (!read_all(b, now)) {
        return false;
    }
    for (unsigned i = 0; i < NAMES; i++) {
        long long d = now[i] - before[i];

        if (now[i] != LACKING && d != want->by[i]) {
            return err_why(b, "%s grew by %lld, not %d", names[i], d,
                           want->by[i]);
        }
    }
    return true;
}

static bool requests(struct bench *b, struct rig_pair *pair)
{
    static const enum ibv_wr_opcode op[] = {
        IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE,
        IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
    };

    for (unsigned i = 0; i < sizeof(op) / sizeof(op[0]); i++) {
        if (!err_send(b, &pair->a, op[i], i, IBV_SEND_SIGNALED, KEY_GOOD,
                      KEY_GOOD) ||
            !err_expect(b, pair->a.cq, i, IBV_WC_SUCCESS)) {
            return false;
        }
    }
    return true;
}

static bool rnr(struct bench *b, struct rig_pair *pair)
{
    return err_send(b, &pair->a, IBV_WR_SEND, 1, 0, KEY_GOOD, KEY_GOOD) &&
           err_fails(b, pair->a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR,
                     VENDOR_RNR_EXCEEDED);
}

static bool refused(struct bench *b, struct rig_pair *pair)
{
    return err_send(b, &pair->a, IBV_WR_RDMA_WRITE, 1, 0, KEY_GOOD,
                    KEY_BAD) &&
           err_fails(b, pair->a.cq, 1, IBV_WC_REM_ACCESS_ERR,
                     VENDOR_REMOTE_ACCESS);
}

static bool too_short(struct bench *b, struct rig_pair *pair)
{
    return err_recv(b, &pair->b, 2, 63, KEY_GOOD) &&
           err_send(b, &pair->a, IBV_WR_SEND, 1, 0, KEY_GOOD, KEY_GOOD) &&
           err_fails(b, pair->a.cq, 1, IBV_WC_REM_INV_REQ_ERR,
                     VENDOR_REMOTE_INVAL);
}

static bool lost(struct bench *b, struct rig_pair *pair)
{
    return !rig_to_state(&pair->b, IBV_QPS_RESET) &&
           err_send(b, &pair->a, IBV_WR_SEND, 1, 0, KEY_GOOD, KEY_GOOD) &&
           err_fails(b, pair->a.cq, 1, IBV_WC_RETRY_EXC_ERR,
                     VENDOR_RETRY_EXCEEDED);
}

static void counter_case(struct bench *b, const char *name,
                         bool (*run)(struct bench *, struct rig_pair *),
                         struct growth want)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    long long before[NAMES];
    struct rig_pair pair;
    bool ok;

    attr.timeout = 14;
    attr.retry_cnt = 2;
    attr.rnr_retry = 2;
    rig_pair_make(&b->rig, &pair, &attr);
    ok = read_all(b, before) && run(b, &pair) && grown(b, before, &want);
    rig_pair_free(&pair);
    err_report(b, name, ok);
}

void errors_counter(struct bench *b)
{
    if (!b->mlx5) {
        tap_skip("counters", "of mlx5");
        return;
    }
    counter_case(b, "counters-requests", requests,
                 (struct growth){ { 3, 2, 1 } });
    counter_case(b, "counters-not-ready", rnr,
                 (struct growth){ { 0, 0, 0, 3, 2, [8] = 1 } });
    counter_case(b, "counters-access", refused,
                 (struct growth){ { [6] = 1, [7] = 1 } });
    counter_case(b, "counters-too-short", too_short,
                 (struct growth){ { [10] = 1, [11] = 1 } });
    counter_case(b, "counters-lost-peer", lost,
                 (struct growth){ { [5] = 2, [9] = 1 } });
}
