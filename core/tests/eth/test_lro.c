/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large receive offload: what becomes one packet, what its completion says, and
 * what ends it.
 */
#include "tests/eth/eth_helper.h"

enum { LOG_WQES = 2, LOG_STRIDES = 3, LOG_STRIDE = 8, WQE_BYTES = 2048 };
enum { V4 = 1, V6 = 2, PSH = 0x08, CQE_PSH = 0x40 };

static Net n;
static NetQueue q;
static uint32_t tirn;

static void create_queue(void)
{
    uint8_t in[NET_WQ_IN], out[16], wqe[32];
    uint8_t *rqc = MLX5_ADDR_OF(create_rq_in, in, ctx);
    uint8_t *wq = MLX5_ADDR_OF(rqc, rqc, wq);

    q = net_queue_memory(&n);
    net_fill_rq(&n, in, &q);
    MLX5_SET(wq, wq, wq_type, MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ);
    MLX5_SET(wq, wq, log_wq_sz, LOG_WQES);
    MLX5_SET(wq, wq, log_wq_stride, 5);
    MLX5_SET(wq, wq, log_wqe_num_of_strides, LOG_STRIDES - 9 + 16);
    MLX5_SET(wq, wq, log_wqe_stride_size, LOG_STRIDE - 6);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    q.number = MLX5_GET(create_rq_out, out, rqn);
    net_modify_rq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    for (uint32_t i = 0; i < 1 << LOG_WQES; i++) {
        memset(wqe, 0, sizeof(wqe));
        MLX5_SET(wqe_srq_next, wqe, next_wqe_index, i + 1);
        net_data_seg(&n, wqe + 16, n.buf + i * WQE_BYTES, WQE_BYTES);
        fake_mem_write(n.h, q.ring + i * 32, wqe, sizeof(wqe));
    }
    fake_mem_set_be32(n.h, q.dbr, 1 << LOG_WQES);
}

static void merge(uint32_t mask, uint32_t blocks)
{
    FAKE_BUFFERS(modify_tir);
    uint8_t *tirc = MLX5_ADDR_OF(modify_tir_in, in, ctx);

    MLX5_SET(modify_tir_in, in, tirn, tirn);
    MLX5_SET(modify_tir_bitmask, MLX5_ADDR_OF(modify_tir_in, in, bitmask),
             packet_merge, 1);
    MLX5_SET(tirc, tirc, packet_merge_mask, mask);
    MLX5_SET(tirc, tirc, lro_max_ip_payload_size, blocks);
    MLX5_SET(tirc, tirc, lro_timeout_period_usecs, 32);
    FAKE_CMD_OK(n.d, MODIFY_TIR, modify_tir, in, out);
}

static void setup(void)
{
    n = net_new();
    create_queue();
    tirn = net_create_tir_direct(&n, q.number);
    merge(V4 | V6, 255);
    net_steer_all(&n, tirn);
}

static void teardown(void)
{
    net_free(&n);
}

/* --- segments ------------------------------------------------------------- */

/* How a segment differs from the plain next one. */
typedef struct Twist {
    uint32_t gap;            /* of its sequence number */
    int at;                  /* a byte of the L3 header and what follows */
    uint8_t xor;
    int vlan;                /* -1: no tag */
    bool bad_sum;
    uint32_t pad;            /* bytes behind the packet */
} Twist;

static void set_sums(NetFrame *f)
{
    Mlx5FrameInfo i;

    mlx5_frame_parse(f->b, f->len, &i);
    mlx5_frame_set_l3_csum(f->b, &i);
    mlx5_frame_set_l4_csum(f->b, &i);
}

/* A segment of @len bytes, @seq into the stream. */
static NetFrame segment(int ip, uint32_t seq, size_t len, const Twist *t)
{
    NetFrame f = net_make_frame(ip, 6, t ? t->vlan : -1, len);
    uint8_t *l3 = f.b + net_l3(f.b);
    uint8_t *tcp = l3 + (ip == 4 ? 20 : 40);

    mlx5_put_be32(tcp + 4, 0xfffffff0 + seq + (t ? t->gap : 0));
    for (size_t i = 0; i < len; i++) {
        tcp[20 + i] = seq + i;
    }
    if (t) {
        l3[t->at] ^= t->xor;
    }
    set_sums(&f);
    if (t && t->bad_sum) {
        tcp[16] ^= 1;
    }
    f.len += t ? t->pad : 0;
    return f;
}

static void rx(const NetFrame *f)
{
    net_rx(&n, f->b, f->len);
}

static void rx_plain(int ip, uint32_t seq, size_t len)
{
    NetFrame f = segment(ip, seq, len, NULL);

    rx(&f);
}

static void rx_twisted(int ip, uint32_t seq, size_t len, const Twist *t)
{
    NetFrame f = segment(ip, seq, len, t);

    rx(&f);
}

static void end(void)
{
    mlx5_card_frames_end(n.h->card);
    fake_host_work(n.h);
}

static void expect_nothing(void)
{
    uint8_t cqe[64];

    ck_assert(!fake_driver_poll_cq(n.d, &q.cq, cqe));
}

/* A completion of @segments and @len bytes in all. */
static void expect(uint8_t cqe[64], uint32_t segments, uint32_t len)
{
    ck_assert(fake_driver_poll_cq(n.d, &q.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt) & 0xffff, len);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_num_seg),
                      segments > 1 ? segments : 0);
}

/* Several segments: the last one's answer and window, the least TTL. */
START_TEST(merges)
{
    int ip = _i ? 6 : 4;
    size_t hdr = _i ? 74 : 54, total = 3 * 200 + 100;
    NetFrame f[4];
    uint8_t cqe[64], got[2048];

    for (uint32_t i = 0; i < 4; i++) {
        Twist t = { .vlan = -1, .at = _i ? 7 : 8, .xor = i == 1 ? 3 : 0 };

        f[i] = segment(ip, i * 200, i == 3 ? 100 : 200, &t);
        mlx5_put_be32(f[i].b + hdr - 12, 1000 + i);
        mlx5_put_be16(f[i].b + hdr - 6, 2000 + i);
        set_sums(&f[i]);
        rx(&f[i]);
        if (i < 3) {
            expect_nothing();
            ck_assert(n.h->held);
        }
    }
    expect(cqe, 4, hdr + total);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt) >> 16, 4 - !_i);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_ack_seq_num), 1003);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_tcp_win), 2003);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_min_ttl), 64);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_abort_dupack_psh), 0);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, l4_l3_hdr_type) >> 4, 4);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 7);
    fake_mem_read(n.h, n.buf, got, hdr + total);
    ck_assert_mem_eq(got, f[0].b, 16);
    ck_assert_mem_eq(got + hdr - 20, f[0].b + hdr - 20, 8);
    for (size_t i = 0; i < total; i++) {
        ck_assert_uint_eq(got[hdr + i], (uint8_t)(i / 200 * 200 + i % 200));
    }
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, check_sum),
                      net_ref_sum(0, got + hdr, total));
    end();
    expect_nothing();
}
END_TEST

/* The least TTL of all is told. */
START_TEST(least_ttl)
{
    Twist t = { .vlan = -1, .at = 8, .xor = 64 ^ 5 };
    uint8_t cqe[64];

    rx_plain(4, 0, 200);
    rx_twisted(4, 200, 200, &t);
    rx_plain(4, 400, 200);
    end();
    expect(cqe, 3, 654);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_min_ttl), 5);
}
END_TEST

/* One segment is what it would be without. */
START_TEST(single)
{
    NetFrame f = segment(4, 0, 200, NULL);
    uint8_t alone[64], cqe[64], got[254];

    rx(&f);
    expect_nothing();
    end();
    expect(cqe, 1, 254);
    fake_mem_read(n.h, n.buf, got, sizeof(got));
    ck_assert_mem_eq(got, f.b, sizeof(got));
    merge(0, 0);
    rx(&f);
    expect(alone, 1, 254);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, check_sum),
                      MLX5_GET(cqe64, alone, check_sum));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext),
                      MLX5_GET(cqe64, alone, hds_ip_ext));
}
END_TEST

/* A push is told, and ends it. */
START_TEST(push)
{
    Twist t = { .vlan = -1, .at = 33, .xor = PSH };
    uint8_t cqe[64];

    rx_plain(4, 0, 200);
    rx_twisted(4, 200, 200, &t);
    expect(cqe, 2, 454);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, lro_abort_dupack_psh), CQE_PSH);
}
END_TEST

/* What does not continue it: two completions, in their order. */
static const struct {
    int ip;
    size_t len;
    Twist twist;
} breaks[] = {
    { 4, 200, { .vlan = -1, .gap = 1 } },
    { 4, 200, { .vlan = -1, .gap = -1 } },
    { 4, 201, { .vlan = -1 } },
    { 4, 200, { .vlan = 5 } },
    { 4, 200, { .vlan = -1, .at = 1, .xor = 4 } },      /* traffic class */
    { 4, 200, { .vlan = -1, .at = 6, .xor = 0x40 } },   /* may be cut */
    { 4, 200, { .vlan = -1, .at = 7, .xor = 1 } },      /* a fragment */
    { 4, 200, { .vlan = -1, .at = 15, .xor = 1 } },     /* source */
    { 4, 200, { .vlan = -1, .at = 21, .xor = 1 } },     /* port */
    { 4, 200, { .vlan = -1, .at = 32, .xor = 0x30 } },  /* options */
    { 4, 200, { .vlan = -1, .at = 33, .xor = 1 } },     /* FIN */
    { 4, 200, { .vlan = -1, .at = 33, .xor = 0x10 } },  /* no answer */
    { 4, 200, { .vlan = -1, .at = 33, .xor = 0x80 } },  /* CWR */
    { 4, 200, { .vlan = -1, .bad_sum = true } },
    { 4, 200, { .vlan = -1, .pad = 6 } },
    { 4, 0, { .vlan = -1 } },                           /* an answer alone */
    { 6, 200, { .vlan = -1 } },
};

START_TEST(broken)
{
    const Twist *t = &breaks[_i].twist;
    NetFrame f = segment(breaks[_i].ip, 200, breaks[_i].len, t);
    uint8_t cqe[64];

    rx_plain(4, 0, 200);
    rx(&f);
    expect(cqe, 1, 254);
    end();
    expect(cqe, 1, f.len);
    expect_nothing();
}
END_TEST

/* Parts of IPv6 headers that must be alike. */
START_TEST(broken_v6)
{
    static const int at[] = { 0, 1, 3, 8, 24 };
    Twist t = { .vlan = -1, .at = at[_i], .xor = 1 };
    uint8_t cqe[64];

    /* The traffic class begins in the second half of the first byte. */
    rx_plain(6, 0, 200);
    rx_twisted(6, 200, 200, &t);
    expect(cqe, 1, 274);
    end();
    expect(cqe, 1, 274);
}
END_TEST

/* No more than the driver allows, than 255 segments, than a WQE holds. */
START_TEST(limits)
{
    static const struct { uint32_t blocks, len, segments; } rows[] = {
        { 2, 200, 2 }, { 255, 1, 255 }, { 255, 200, 9 },
    };
    uint32_t len = rows[_i].len, segments = rows[_i].segments;
    uint8_t cqe[64];

    merge(V4 | V6, rows[_i].blocks);
    for (uint32_t i = 0; i <= segments; i++) {
        rx_plain(4, i * len, len);
    }
    expect(cqe, segments, 54 + segments * len);
    expect_nothing();
    end();
    expect(cqe, 1, 54 + len);
}
END_TEST

/* Each version is merged if the driver says so; and none without a host that
 * tells when there is no more. */
START_TEST(not_wanted)
{
    static Mlx5HostOps ops;
    uint8_t cqe[64];

    merge(_i == 0 ? V6 : V4, 255);
    if (_i == 2) {
        ops = *n.func->ops;
        ops.frames_held = NULL;
        n.func->ops = &ops;
    }
    rx_plain(_i == 1 ? 6 : 4, 0, 200);
    expect(cqe, 1, _i == 1 ? 274 : 254);
    ck_assert(!n.h->held);
}
END_TEST

/* A queue that stops, or goes, takes what it gathered with it. */
START_TEST(queue_goes)
{
    uint8_t cqe[64];

    rx_plain(4, 0, 200);
    if (_i == 0) {
        net_modify_rq(&n, q.number, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_ERR);
    } else if (_i == 1) {
        net_modify_rq(&n, q.number, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_RST);
        net_modify_rq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    } else {
        mlx5_func_reset(n.func);
    }
    mlx5_card_frames_end(n.h->card);
    if (_i == 0) {
        /* What was posted comes back. */
        ck_assert(fake_driver_poll_cq(n.d, &q.cq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_ERR);
    } else if (_i == 1) {
        expect_nothing();
    }
}
END_TEST

/* Nothing is posted: all segments are lost, and the queue goes on. */
START_TEST(no_buffer)
{
    uint8_t cqe[64];

    fake_mem_set_be32(n.h, q.dbr, 0);
    rx_plain(4, 0, 200);
    rx_plain(4, 200, 200);
    end();
    expect_nothing();
    ck_assert_uint_ge(n.func->stats.rx_no_buffer, 1);
    fake_mem_set_be32(n.h, q.dbr, 1);
    rx_plain(4, 400, 200);
    end();
    expect(cqe, 1, 254);
}
END_TEST

/* Without the property no TIR may ask for it; what is not selected may be. */
START_TEST(not_offered)
{
    FAKE_BUFFERS(modify_tir);
    uint8_t *tirc = MLX5_ADDR_OF(modify_tir_in, in, ctx);
    uint8_t *mask = MLX5_ADDR_OF(modify_tir_in, in, bitmask);

    n.func->props.lro = false;
    MLX5_SET(modify_tir_in, in, tirn, tirn);
    MLX5_SET(tirc, tirc, packet_merge_mask, V4);
    FAKE_CMD_OK(n.d, MODIFY_TIR, modify_tir, in, out);
    MLX5_SET(modify_tir_bitmask, mask, packet_merge, 1);
    FAKE_CMD_FAILS(n.d, MODIFY_TIR, modify_tir, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_TIR_MODIFY_LRO);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth lro");
    TCase *t = tcase_create("lro");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, merges, 0, 2);
    tcase_add_test(t, least_ttl);
    tcase_add_test(t, single);
    tcase_add_test(t, push);
    tcase_add_loop_test(t, broken, 0, G_N_ELEMENTS(breaks));
    tcase_add_loop_test(t, broken_v6, 0, 5);
    tcase_add_loop_test(t, limits, 0, 3);
    tcase_add_loop_test(t, not_wanted, 0, 3);
    tcase_add_loop_test(t, queue_goes, 0, 3);
    tcase_add_test(t, no_buffer);
    tcase_add_test(t, not_offered);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
