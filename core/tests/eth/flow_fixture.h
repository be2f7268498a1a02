/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The card, and the frames into it, that the programs on flow entries share.
 */
#ifndef TESTS_FLOW_FIXTURE_H
#define TESTS_FLOW_FIXTURE_H

#include "tests/eth/flow_helper.h"

static Net n;
static uint32_t tir;
static bool posted;          /* a receive is left over from a miss */

#define ACT(name) MLX5_FLOW_CONTEXT_ACTION_##name

static inline void setup(void)
{
    n = net_new();
    posted = false;
    tir = net_create_tir_direct(&n, n.rq.number);
}

static inline void teardown(void)
{
    net_free(&n);
}

/* A rule that sends what it hits to the RQ. */
static inline Flow to_tir(void)
{
    Flow f = { .action = ACT(FWD_DEST), .num_dests = 1,
               .dests = { NET_TO_TIR(tir) }, .tag = 0x1234 };

    return f;
}

/* Is @frame delivered, and as @want (NULL: as it came)? */
static inline bool arrives(const NetFrame *frame, const NetFrame *want)
{
    static uint8_t got[12000];
    uint8_t cqe[64];

    if (!want) {
        want = frame;
    }
    if (!posted) {
        net_post_rx(&n, &n.rq, n.buf, sizeof(got));
    }
    net_rx(&n, frame->b, frame->len);
    posted = !fake_driver_poll_cq(n.d, &n.rq.cq, cqe);
    if (posted) {
        return false;
    }
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), want->len);
    fake_mem_read(n.h, n.buf, got, want->len);
    ck_assert_mem_eq(got, want->b, want->len);
    return true;
}

/* A frame with checksums that are right. */
static inline NetFrame good(int ip, int proto, int vlan, size_t payload)
{
    NetFrame f = net_make_frame(ip, proto, vlan, payload);
    Mlx5FrameInfo info;

    mlx5_frame_parse(f.b, f.len, &info);
    mlx5_frame_set_l3_csum(f.b, &info);
    mlx5_frame_set_l4_csum(f.b, &info);
    return f;
}

/* A command of zeros but for what @set puts in must be refused. */
#define REFUSED(op, layout, set, stat, synd)                                \
    do {                                                                    \
        FAKE_BUFFERS(layout);                                               \
        set;                                                                \
        FAKE_CMD_FAILS(n.d, op, layout, in, out, MLX5_CMD_STAT_##stat,      \
                       MLX5_SYND_##synd);                                   \
    } while (0)
#define PUT(l, field, v) MLX5_SET(l##_in, in, field, v)

#endif
