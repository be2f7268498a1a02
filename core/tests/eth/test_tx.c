/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQs: frames with every offload against an independent checksum, LSO,
 * BlueFlame NOPs, ring wrap, errors and flush, hostile WQEs.
 */
#include "tests/eth/eth_helper.h"

enum { CS_L3 = 0x40, CS_L4 = 0x80 };
enum { OP_NOP = 0, OP_SEND = 0x0a, OP_LSO = 0x0e };

static Net n;

static void setup(void)
{
    n = net_new();
}

static void teardown(void)
{
    net_free(&n);
}

/* The next completion of the SQ; @err: the syndrome wanted, 0 for none. */
static void expect_cqe(uint16_t index, uint8_t err)
{
    uint8_t cqe[64];

    ck_assert(fake_driver_poll_cq(n.d, &n.sq.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), index);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), n.sq.number);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, srqn_user_index), 0x1234);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode),
                      err ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ);
    if (err) {
        ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome), err);
    }
}

static void expect_no_cqe(void)
{
    uint8_t cqe[64];

    ck_assert(!fake_driver_poll_cq(n.d, &n.sq.cq, cqe));
}

/*
 * Post @f: @ihs bytes inlined, the rest in memory in two segments.
 * Return: index of the WQE.
 */
static uint16_t post_frame(const NetFrame *f, uint8_t opcode, uint32_t ihs,
                           uint8_t flags, uint16_t mss)
{
    uint32_t inl = ihs > 2 ? (ihs - 2 + 15) / 16 : 0;
    size_t rest = f->len - ihs, half = rest / 2;
    uint32_t ds = 2 + inl + (half ? 2 : 1);
    uint8_t wqe[1024] = { 0 };
    uint16_t index = n.sq.pi;

    net_ctrl(&n.sq, wqe, opcode, ds, 2);
    MLX5_SET(wqe_eth, wqe + 16, cs_flags, flags);
    MLX5_SET(wqe_eth, wqe + 16, mss, mss);
    MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, ihs);
    memcpy(wqe + 30, f->b, ihs);
    fake_mem_write(n.h, n.buf, f->b + ihs, half);
    fake_mem_write(n.h, n.buf + 0x8fff, f->b + ihs + half, rest - half);
    net_data_seg(&n, wqe + 32 + inl * 16, half ? n.buf : n.buf + 0x8fff,
                 half ? half : rest);
    if (half) {
        net_data_seg(&n, wqe + 48 + inl * 16, n.buf + 0x8fff, rest - half);
    }
    net_post(&n, &n.sq, wqe, ds * 16);
    net_ring(&n, &n.sq);
    return index;
}

static const struct { int ip, proto, vlan; size_t payload; } kinds[] = {
    { 4, 6, -1, 1000 }, { 4, 17, -1, 999 }, { 6, 6, -1, 1001 },
    { 6, 17, -1, 64 }, { 4, 6, 5, 100 }, { 6, 17, 0x6fff, 1 },
    { 4, 17, 7, 0 }, { 4, 6, -1, 0 }, { 4, 6, -1, 9000 },
};

/* Every kind of frame, with every combination of flags. */
START_TEST(checksums)
{
    uint8_t flags = _i % 4 * CS_L3;
    NetFrame f = net_make_frame(kinds[_i / 4].ip, kinds[_i / 4].proto,
                                kinds[_i / 4].vlan, kinds[_i / 4].payload);
    uint16_t index = post_frame(&f, OP_SEND, _i % 3 * 9, flags, 0);
    size_t len;
    const uint8_t *out = net_frame(&n, 0, &len);

    expect_cqe(index, 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
    ck_assert_uint_eq(len, MAX(f.len, MLX5_ETH_ZLEN));
    ck_assert(net_ref_l3_ok(out) == ((flags & CS_L3) ||
                                     kinds[_i / 4].ip == 6));
    ck_assert(net_ref_l4_ok(out) == !!(flags & CS_L4));
    if (!flags) {
        ck_assert_mem_eq(out, f.b, f.len);
    }
    ck_assert_uint_eq(mlx5_vport(n.func)->counters.transmitted_eth_unicast
                      .packets, 1);
}
END_TEST

/* UDP whose checksum comes out as 0 is sent with 0xffff (RFC 768). */
START_TEST(udp_zero_checksum)
{
    NetFrame f = net_make_frame(4, 17, -1, 4);
    uint8_t *udp = f.b + 34;
    size_t len;

    mlx5_put_be32(udp + 8, 0);
    for (uint32_t v = 0; v <= 0xffff; v++) {
        Mlx5FrameInfo info;

        mlx5_put_be16(udp + 8, v);
        mlx5_frame_parse(f.b, f.len, &info);
        mlx5_frame_set_l4_csum(f.b, &info);
        if (mlx5_get_be16(udp + 6) == 0xffff) {
            break;
        }
        ck_assert_uint_ne(mlx5_get_be16(udp + 6), 0);
    }
    ck_assert_uint_eq(mlx5_get_be16(udp + 6), 0xffff);
    post_frame(&f, OP_SEND, 0, CS_L4, 0);
    ck_assert_uint_eq(mlx5_get_be16(net_frame(&n, 0, &len) + 40), 0xffff);
}
END_TEST

START_TEST(vlan_insert)
{
    NetFrame f = net_make_frame(4, 6, -1, 100);
    uint8_t wqe[64] = { 0 };
    size_t len;
    const uint8_t *out;

    net_ctrl(&n.sq, wqe, OP_SEND, 3, 2);
    MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, 0x8000 | (_i ? 1 : 0));
    MLX5_SET(wqe_eth, wqe + 16, cs_flags, CS_L3 | CS_L4);
    mlx5_put_be16(wqe + 30, 0xa123);
    fake_mem_write(n.h, n.buf, f.b, f.len);
    net_data_seg(&n, wqe + 32, n.buf, f.len);
    net_post(&n, &n.sq, wqe, 48);
    net_ring(&n, &n.sq);
    expect_cqe(0, 0);
    out = net_frame(&n, 0, &len);
    ck_assert_uint_eq(len, f.len + 4);
    ck_assert_mem_eq(out, f.b, 12);
    ck_assert_uint_eq(mlx5_get_be16(out + 12), _i ? 0x88a8 : 0x8100);
    ck_assert_uint_eq(mlx5_get_be16(out + 14), 0xa123);
    ck_assert_mem_eq(out + 54 + 4, f.b + 54, 100);
    if (!_i) {
        ck_assert(net_ref_l3_ok(out) && net_ref_l4_ok(out));
    }
}
END_TEST

/* Data inlined in a segment of the WQE, as libmlx5 does. */
START_TEST(inline_segment)
{
    NetFrame f = net_make_frame(4, 17, -1, 20);
    uint8_t wqe[128] = { 0 };
    size_t len;

    net_ctrl(&n.sq, wqe, OP_SEND, 2 + (4 + f.len + 15) / 16, 2);
    mlx5_put_be32(wqe + 32, 0x80000000u | f.len);
    memcpy(wqe + 36, f.b, f.len);
    net_post(&n, &n.sq, wqe, sizeof(wqe));
    net_ring(&n, &n.sq);
    expect_cqe(0, 0);
    ck_assert_mem_eq(net_frame(&n, 0, &len), f.b, f.len);
}
END_TEST

static const struct { int ip, proto, vlan; size_t payload; uint16_t mss; }
cuts[] = {
    { 4, 6, -1, 5000, 1460 }, { 6, 6, -1, 1440, 1440 }, { 4, 6, 3, 1461, 1460 },
    { 6, 6, 4, 9999, 1000 }, { 4, 17, -1, 3001, 1000 }, { 6, 17, -1, 10, 3 },
    { 4, 6, -1, 1, 1460 },
};

/* The frames of an LSO packet put together are the packet. */
START_TEST(lso)
{
    bool tcp = cuts[_i].proto == 6;
    NetFrame f = net_make_frame(cuts[_i].ip, cuts[_i].proto, cuts[_i].vlan,
                                cuts[_i].payload);
    size_t hdr = f.len - cuts[_i].payload, done = 0, len;
    size_t l3 = net_l3(f.b), l4 = hdr - (tcp ? 20 : 8);
    guint want = (cuts[_i].payload + cuts[_i].mss - 1) / cuts[_i].mss;

    if (tcp) {
        f.b[l4 + 13] = 0x99; /* CWR, ACK, PSH, FIN */
    }
    expect_cqe(post_frame(&f, OP_LSO, hdr, CS_L3 | CS_L4, cuts[_i].mss), 0);
    ck_assert_uint_eq(n.h->frames->len, want);
    for (guint i = 0; i < want; i++) {
        const uint8_t *out = net_frame(&n, i, &len);
        size_t part = MIN(cuts[_i].mss, cuts[_i].payload - done);

        ck_assert_uint_eq(len, MAX(hdr + part, MLX5_ETH_ZLEN));
        ck_assert(net_ref_l3_ok(out) && net_ref_l4_ok(out));
        ck_assert_mem_eq(out, f.b, l3);
        ck_assert_mem_eq(out + hdr, f.b + hdr + done, part);
        if (tcp) {
            ck_assert_uint_eq(mlx5_get_be32(out + l4 + 4),
                              (uint32_t)(0xfffffff0u + done));
            ck_assert_uint_eq(out[l4 + 13], 0x10 | (i == 0 ? 0x80 : 0) |
                              (i == want - 1 ? 0x09 : 0));
        } else {
            ck_assert_uint_eq(mlx5_get_be16(out + l4 + 4), 8 + part);
        }
        if (cuts[_i].ip == 4) {
            ck_assert_uint_eq(mlx5_get_be16(out + l3 + 4), 0x1111 + i);
            ck_assert_uint_eq(mlx5_get_be16(out + l3 + 2), hdr - l3 + part);
        }
        done += part;
    }
    ck_assert_uint_eq(done, cuts[_i].payload);
}
END_TEST

/* Who is on the wire takes long frames: few of them, counted as the segments. */
static Mlx5HostOps large_ops;

static size_t frame_max(void *host)
{
    (void)host;
    return 14 + 65535;
}

static const struct {
    int ip, proto;
    size_t payload;
    guint frames, segments;
} large[] = {
    { 4, 6, 9000, 1, 7 }, { 6, 6, 9000, 7, 7 }, { 4, 17, 9000, 7, 7 },
    { 4, 6, 1460, 1, 1 }, { 4, 6, 1461, 1, 2 },
};

START_TEST(lso_large)
{
    NetFrame f = net_make_frame(large[_i].ip, large[_i].proto, -1,
                                large[_i].payload);
    size_t hdr = f.len - large[_i].payload, len, octets = 0;
    const Mlx5Traffic *sent =
        &mlx5_vport(n.func)->counters.transmitted_eth_unicast;

    large_ops = *n.func->ops;
    large_ops.frame_max = frame_max;
    n.func->ops = &large_ops;
    expect_cqe(post_frame(&f, OP_LSO, hdr, CS_L3 | CS_L4, 1460), 0);
    ck_assert_uint_eq(n.h->frames->len, large[_i].frames);
    for (guint i = 0; i < large[_i].frames; i++) {
        const uint8_t *out = net_frame(&n, i, &len);

        ck_assert(net_ref_l3_ok(out) && net_ref_l4_ok(out));
        ck_assert_mem_eq(out + hdr, f.b + hdr + octets, len - hdr);
        octets += len - hdr;
    }
    ck_assert_uint_eq(octets, large[_i].payload);
    ck_assert_uint_eq(sent->packets, large[_i].segments);
    ck_assert_uint_eq(sent->octets, large[_i].payload +
                      large[_i].segments * hdr);
}
END_TEST

/* More than an IP packet can hold: several, each of whole segments. */
START_TEST(lso_larger)
{
    NetFrame f = net_make_frame(4, 6, -1, 1000);
    uint8_t wqe[128] = { 0 };
    uint32_t payload = 150000, mss = 1000, got = 0;
    size_t len;

    large_ops = *n.func->ops;
    large_ops.frame_max = frame_max;
    n.func->ops = &large_ops;
    net_ctrl(&n.sq, wqe, OP_LSO, 7, 2);
    MLX5_SET(wqe_eth, wqe + 16, cs_flags, CS_L3 | CS_L4);
    MLX5_SET(wqe_eth, wqe + 16, mss, mss);
    MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, 54);
    memcpy(wqe + 30, f.b, 54);
    net_data_seg(&n, wqe + 96, n.buf, payload);
    net_post(&n, &n.sq, wqe, 112);
    net_ring(&n, &n.sq);
    expect_cqe(0, 0);
    ck_assert_uint_eq(n.h->frames->len, 3);
    for (guint i = 0; i < 3; i++) {
        const uint8_t *out = net_frame(&n, i, &len);

        ck_assert_uint_eq(len, 54 + (i < 2 ? 65000 : 20000));
        ck_assert_uint_eq(mlx5_get_be32(out + 38), 0xfffffff0u + got);
        ck_assert(net_ref_l3_ok(out) && net_ref_l4_ok(out));
        got += len - 54;
    }
    ck_assert_uint_eq(got, payload);
    ck_assert_uint_eq(mlx5_vport(n.func)->counters.transmitted_eth_unicast
                      .packets, 150);
    n.func->card->link_up = false;
    net_post(&n, &n.sq, wqe, 112);
    net_ring(&n, &n.sq);
    expect_cqe(2, 0);
    ck_assert_uint_eq(n.h->frames->len, 3);
    ck_assert_uint_eq(n.func->stats.tx_discards, 150);
}
END_TEST

/* --- pause ------------------------------------------------------------ */

/* A MAC control frame: @opcode, then words. */
static void control(uint16_t opcode, const uint16_t *words, size_t count,
                    size_t len)
{
    uint8_t f[64] = { 0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 8 };
    struct iovec iov = { f, len };

    mlx5_put_be16(f + 14, opcode);
    for (size_t i = 0; i < count; i++) {
        mlx5_put_be16(f + 16 + 2 * i, words[i]);
    }
    mlx5_card_frame_rx(n.h->card, &iov, 1);
    fake_host_work(n.h);
}

static void write_pfcc(bool pprx, uint8_t pfcrx)
{
    uint8_t in[16 + MLX5_ST_SZ_BYTES(pfcc_reg)] = { 0 }, out[sizeof(in)];
    uint8_t *r = in + 16;

    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, register_id, 0x5007);
    MLX5_SET(pfcc_reg, r, local_port, 1);
    MLX5_SET(pfcc_reg, r, pprx, pprx);
    MLX5_SET(pfcc_reg, r, prio_mask_rx, 0xff);
    MLX5_SET(pfcc_reg, r, pfcrx, pfcrx);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
}

/* Quanta are 512 bits at 100 Gb/s: 5.12 ns. */
START_TEST(pause_holds_sends)
{
    const uint16_t most = 0xffff, none = 0;
    NetFrame f = net_make_frame(4, 17, -1, 100);

    control(1, &most, 1, 60);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 0);
    fake_host_advance(n.h, 335000);
    ck_assert_uint_eq(n.h->frames->len, 0);
    fake_host_advance(n.h, 1000);
    ck_assert_uint_eq(n.h->frames->len, 1);
    control(1, &most, 1, 60);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
    control(1, &none, 1, 60);
    ck_assert_uint_eq(n.h->frames->len, 2);
    /* Not listened to; a reset forgets. */
    write_pfcc(false, 0);
    control(1, &most, 1, 60);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 3);
}
END_TEST

/* The SQ's TIS has priority 0. */
START_TEST(pause_of_priorities)
{
    uint16_t words[9] = { 0xff, 0xffff };
    NetFrame f = net_make_frame(4, 17, -1, 100);

    write_pfcc(true, 1 << 3);
    control(0x101, words, 9, 60);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
    write_pfcc(true, 1 << 0);
    control(0x101, words, 9, 60);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
    fake_host_advance(n.h, 336000);
    ck_assert_uint_eq(n.h->frames->len, 2);
    /* Plain pause is not heeded then. */
    control(1, words + 1, 1, 60);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 3);
}
END_TEST

/* Too short, or unknown: counted, and of no effect; none is delivered. */
START_TEST(control_frames_end_here)
{
    const uint16_t most = 0xffff;
    NetFrame f = net_make_frame(4, 17, -1, 100);
    uint8_t in[16 + 256] = { 0 }, out[sizeof(in)];
    uint8_t *set = MLX5_ADDR_OF(ppcnt_reg, out + 16, counter_set);

    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    net_post_rx(&n, &n.rq, n.buf, NET_BUF);
    control(1, &most, 1, 17);
    control(0x101, &most, 1, 33);
    control(7, &most, 1, 60);
    control(2, &most, 0, 14);
    ck_assert_uint_eq(n.func->stats.rx_no_buffer, 0);
    post_frame(&f, OP_SEND, 0, 0, 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, op_mod, 1);
    MLX5_SET(access_register_in, in, register_id, 0x5008);
    MLX5_SET(ppcnt_reg, in + 16, local_port, 1);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    ck_assert_uint_eq(MLX5_GET(eth_802_3_cntrs_grp_data_layout, set,
                               a_mac_control_frames_received_low), 4);
    ck_assert_uint_eq(MLX5_GET(eth_802_3_cntrs_grp_data_layout, set,
                               a_unsupported_opcodes_received_low), 4);
}
END_TEST

/* WQEs of two blocks in a ring of 16: each start position, wrapping inside. */
START_TEST(ring_wrap)
{
    NetFrame f = net_make_frame(4, 6, -1, 300);
    uint8_t nop[64] = { 0 };

    net_ctrl(&n.sq, nop, OP_NOP, 1, 2);
    net_post(&n, &n.sq, nop, 16);
    net_ring(&n, &n.sq);
    expect_cqe(0, 0);
    for (int i = 0; i < 100; i++) {
        expect_cqe(post_frame(&f, OP_SEND, 40, 0, 0), 0);
    }
    ck_assert_uint_eq(n.h->frames->len, 100);
    for (guint i = 0; i < 100; i++) {
        size_t len;

        ck_assert_mem_eq(net_frame(&n, i, &len), f.b, f.len);
    }
}
END_TEST

/* The driver's write-combining test: only the BlueFlame copy asks for CQEs. */
START_TEST(blueflame_nop)
{
    for (int i = 0; i < 20; i++) {
        uint8_t wqe[64] = { 0 };
        uint64_t q0;

        net_ctrl(&n.sq, wqe, OP_NOP, 1, 0);
        q0 = mlx5_prm_get(wqe, 0, 64);
        net_post(&n, &n.sq, wqe, 16);
        net_bf_write(&n, 0, q0);
        expect_no_cqe();
        net_bf_write(&n, 8, (uint64_t)0x08 << 32);
        expect_cqe(i, 0);
        /* The rest of the copy, or the same quadword again, adds nothing. */
        net_bf_write(&n, 8, (uint64_t)0x08 << 32);
        net_bf_write(&n, 16, 0);
        expect_no_cqe();
    }
}
END_TEST

/* A NOP that has its CQE from memory gets no second one. */
START_TEST(blueflame_signalled)
{
    uint8_t wqe[64] = { 0 };

    net_ctrl(&n.sq, wqe, OP_NOP, 1, 2);
    net_post(&n, &n.sq, wqe, 16);
    net_bf_write(&n, 0, mlx5_prm_get(wqe, 0, 64));
    net_bf_write(&n, 8, (uint64_t)0x08 << 32);
    expect_cqe(0, 0);
    expect_no_cqe();
}
END_TEST

START_TEST(unsignalled)
{
    uint8_t wqe[64] = { 0 };

    for (int i = 0; i < 3; i++) {
        net_ctrl(&n.sq, wqe, OP_NOP, 1, i == 2 ? 2 : 0);
        net_post(&n, &n.sq, wqe, 16);
    }
    net_ring(&n, &n.sq);
    expect_cqe(2, 0);
    expect_no_cqe();
}
END_TEST

/* --- WQEs that are wrong ---------------------------------------------- */

typedef struct Bad {
    const char *what;
    uint8_t syndrome;
    void (*spoil)(uint8_t *wqe);
} Bad;

static void bad_opcode(uint8_t *w) { MLX5_SET(wqe_ctrl, w, opcode, 0x08); }
static void bad_ds_zero(uint8_t *w) { MLX5_SET(wqe_ctrl, w, ds, 0); }
static void bad_ds_one(uint8_t *w) { MLX5_SET(wqe_ctrl, w, ds, 1); }
static void bad_no_data(uint8_t *w) { MLX5_SET(wqe_ctrl, w, ds, 2); }
static void bad_key(uint8_t *w) { MLX5_SET(wqe_data, w + 32, lkey, 0x77); }
static void bad_len_0(uint8_t *w) { MLX5_SET(wqe_data, w + 32, byte_count, 0); }
static void bad_long(uint8_t *w)
{
    MLX5_SET(wqe_data, w + 32, byte_count, MLX5_ETH_MAX_FRAME + 1);
}
static void bad_huge(uint8_t *w)
{
    MLX5_SET(wqe_data, w + 32, byte_count, 0x7fffffff);
}
static void bad_short(uint8_t *w) { MLX5_SET(wqe_data, w + 32, byte_count, 13); }
static void bad_inline_hdr(uint8_t *w)
{
    MLX5_SET(wqe_eth, w + 16, inline_hdr_size, 19);
}
static void bad_inline_hdr_max(uint8_t *w)
{
    MLX5_SET(wqe_eth, w + 16, inline_hdr_size, 0x7fff);
}
static void bad_inline_seg(uint8_t *w)
{
    mlx5_put_be32(w + 32, 0x80000000u | 13);
}
static void bad_swp(uint8_t *w) { MLX5_SET(wqe_eth, w + 16, swp_flags, 1); }
static void bad_lso_mss(uint8_t *w)
{
    MLX5_SET(wqe_ctrl, w, opcode, OP_LSO);
    MLX5_SET(wqe_eth, w + 16, inline_hdr_size, 2);
}
static void bad_lso_no_hdr(uint8_t *w)
{
    MLX5_SET(wqe_ctrl, w, opcode, OP_LSO);
    MLX5_SET(wqe_eth, w + 16, mss, 100);
}
static void bad_lso_hdr(uint8_t *w)
{
    MLX5_SET(wqe_ctrl, w, opcode, OP_LSO);
    MLX5_SET(wqe_eth, w + 16, mss, 100);
    MLX5_SET(wqe_eth, w + 16, inline_hdr_size, 2);
}
static void bad_not_ram(uint8_t *w)
{
    MLX5_SET(wqe_data, w + 32, local_virtual_address, UINT64_C(1) << 60);
}

static const Bad bad[] = {
    { "opcode", 0x02, bad_opcode }, { "ds 0", 0x02, bad_ds_zero },
    { "ds 1", 0x02, bad_ds_one }, { "no data", 0x01, bad_no_data },
    { "key", 0x04, bad_key }, { "length 0", 0x01, bad_len_0 },
    { "too long", 0x01, bad_long }, { "huge", 0x01, bad_huge },
    { "too short", 0x01, bad_short }, { "inline hdr", 0x02, bad_inline_hdr },
    { "inline max", 0x02, bad_inline_hdr_max },
    { "inline seg", 0x02, bad_inline_seg },
    { "swp", 0x02, bad_swp }, { "lso mss", 0x02, bad_lso_mss },
    { "lso no hdr", 0x02, bad_lso_no_hdr }, { "lso hdr", 0x02, bad_lso_hdr },
    { "not RAM", 0x04, bad_not_ram },
};

/* Error CQE, SQ in ERR, the rest flushed; RST and RDY bring it back. */
START_TEST(bad_wqe)
{
    NetFrame f = net_make_frame(4, 6, -1, 100);
    uint8_t wqe[64] = { 0 }, nop[64] = { 0 };
    Mlx5Sq *sq = mlx5_obj_get(n.func, MLX5_OBJ_SQ, n.sq.number);

    fake_mem_write(n.h, n.buf, f.b, f.len);
    net_ctrl(&n.sq, wqe, OP_SEND, 3, 0);
    net_data_seg(&n, wqe + 32, n.buf, f.len);
    bad[_i].spoil(wqe);
    net_post(&n, &n.sq, wqe, 48);
    net_ctrl(&n.sq, nop, OP_NOP, 1, 0);
    net_post(&n, &n.sq, nop, 16);
    net_ring(&n, &n.sq);
    expect_cqe(0, bad[_i].syndrome);
    expect_cqe(1, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
    expect_no_cqe();
    ck_assert_uint_eq(sq->state, MLX5_WQ_STATE_ERR);
    ck_assert_uint_eq(n.h->frames->len, 0);
    /* Posted in ERR: flushed too. */
    net_post(&n, &n.sq, nop, 16);
    net_ring(&n, &n.sq);
    expect_cqe(2, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_ERR, MLX5_WQ_STATE_RST);
    n.sq.pi = 0;
    fake_mem_set_be32(n.h, n.sq.dbr + 4, 0);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    expect_cqe(post_frame(&f, OP_SEND, 0, 0, 0), 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
}
END_TEST

/* A doorbell record that promises more than the ring can hold. */
START_TEST(record_ahead)
{
    Mlx5Sq *sq = mlx5_obj_get(n.func, MLX5_OBJ_SQ, n.sq.number);

    fake_mem_set_be32(n.h, n.sq.dbr + 4, 17);
    net_ring(&n, &n.sq);
    ck_assert_uint_eq(sq->state, MLX5_WQ_STATE_ERR);
    expect_no_cqe();
}
END_TEST

/* A WQE that reaches past what was posted is executed once, then no more. */
START_TEST(wqe_past_record)
{
    uint8_t wqe[1024] = { 0 };

    net_ctrl(&n.sq, wqe, OP_NOP, 63, 2);
    fake_mem_write(n.h, n.sq.ring, wqe, sizeof(wqe));
    fake_mem_set_be32(n.h, n.sq.dbr + 4, 1);
    net_ring(&n, &n.sq);
    expect_cqe(0, 0);
    expect_no_cqe();
}
END_TEST

START_TEST(wrong_uar)
{
    uint8_t wqe[64] = { 0 };

    net_ctrl(&n.sq, wqe, OP_NOP, 1, 2);
    net_post(&n, &n.sq, wqe, 16);
    mlx5_func_lock(n.func);
    mlx5_eth_sq_doorbell(n.func, n.d->uar + 1, n.sq.number, 0, 0, 8);
    mlx5_eth_sq_doorbell(n.func, n.d->uar, n.sq.number + 1, 0, 0, 8);
    mlx5_work_run_inline(n.func);
    mlx5_func_unlock(n.func);
    expect_no_cqe();
}
END_TEST

START_TEST(link_down)
{
    NetFrame f = net_make_frame(4, 6, -1, 100);

    mlx5_card_set_link(n.h->card, false);
    expect_cqe(post_frame(&f, OP_SEND, 0, 0, 0), 0);
    ck_assert_uint_eq(n.h->frames->len, 0);
    ck_assert_uint_eq(n.func->stats.tx_discards, 1);
}
END_TEST

/* The guest changes a WQE while it is read: no byte is fetched twice. */
START_TEST(fetched_once)
{
    NetFrame f = net_make_frame(4, 6, -1, 100);

    n.h->trip_addr = n.sq.ring;
    n.h->trip_len = 128;
    expect_cqe(post_frame(&f, OP_SEND, 40, 0, 0), 0);
    ck_assert_uint_eq(n.h->frames->len, 1);
    ck_assert_uint_gt(n.h->trip_hits, 0);
}
END_TEST

/* Any bytes as a WQE: an error or a frame, never more. */
START_TEST(random_wqes)
{
    uint32_t seed = 12345;

    for (int i = 0; i < 2000; i++) {
        uint8_t wqe[1024], cqe[64];

        for (size_t k = 0; k < sizeof(wqe); k++) {
            seed = seed * 1103515245 + 12345;
            wqe[k] = seed >> 16;
        }
        if (i % 2) {
            MLX5_SET(wqe_ctrl, wqe, opcode, i % 4 == 1 ? OP_SEND : OP_LSO);
            MLX5_SET(wqe_eth, wqe + 16, swp_flags, 0);
            MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, wqe[5]);
            MLX5_SET(wqe_eth, wqe + 16, cs_flags, 0xc0);
            net_data_seg(&n, wqe + 32, n.buf, wqe[6] * 4);
        }
        fake_mem_write(n.h, n.sq.ring, wqe, sizeof(wqe));
        fake_mem_set_be32(n.h, n.sq.dbr + 4, 3);
        net_ring(&n, &n.sq);
        while (fake_driver_poll_cq(n.d, &n.sq.cq, cqe)) {
        }
        Mlx5Sq *sq = mlx5_obj_get(n.func, MLX5_OBJ_SQ, n.sq.number);

        net_modify_sq(&n, n.sq.number, sq->state, MLX5_WQ_STATE_RST);
        net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
        g_ptr_array_set_size(n.h->frames, 0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth tx");
    TCase *t = tcase_create("tx");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, checksums, 0, 4 * G_N_ELEMENTS(kinds));
    tcase_add_test(t, udp_zero_checksum);
    tcase_add_loop_test(t, vlan_insert, 0, 2);
    tcase_add_test(t, inline_segment);
    tcase_add_loop_test(t, lso, 0, G_N_ELEMENTS(cuts));
    tcase_add_loop_test(t, lso_large, 0, G_N_ELEMENTS(large));
    tcase_add_test(t, lso_larger);
    tcase_add_test(t, pause_holds_sends);
    tcase_add_test(t, pause_of_priorities);
    tcase_add_test(t, control_frames_end_here);
    tcase_add_test(t, ring_wrap);
    tcase_add_test(t, blueflame_nop);
    tcase_add_test(t, blueflame_signalled);
    tcase_add_test(t, unsignalled);
    tcase_add_loop_test(t, bad_wqe, 0, G_N_ELEMENTS(bad));
    tcase_add_test(t, record_ahead);
    tcase_add_test(t, wqe_past_record);
    tcase_add_test(t, wrong_uar);
    tcase_add_test(t, link_down);
    tcase_add_test(t, fetched_once);
    tcase_add_test(t, random_wqes);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
