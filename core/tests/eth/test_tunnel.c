/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offloads of what a tunnel carries: checksums and segments of what is sent,
 * found or told of by the WQE; what completions say of what is received; the
 * ports of VXLAN.
 */
#include "tests/eth/flow_helper.h"

enum { CS_L3_INNER = 0x10, CS_L4_INNER = 0x20, CS_L3 = 0x40 };
enum { OP_SEND = 0x0a, OP_LSO = 0x0e };
enum { SWP_INNER_L3_IPV6 = 1, SWP_OUTER_L4_UDP = 0x20 };
#define UDP_CSUM (TUN_OUTER + 6)

static Net n;

/* The queue may tell where headers are. */
static void setup(void)
{
    uint8_t in[NET_WQ_IN], out[16];

    n = net_new();
    net_destroy_sq(&n, &n.sq);
    n.sq = net_queue_memory(&n);
    net_fill_sq(&n, in, &n.sq);
    MLX5_SET(sqc, MLX5_ADDR_OF(create_sq_in, in, ctx), allow_swp, 1);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    n.sq.number = MLX5_GET(create_sq_out, out, sqn);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
}

static void teardown(void)
{
    net_free(&n);
}

static bool is_l3(int kind)
{
    return kind == TUN_GRE || kind == TUN_IPIP;
}

/* Bytes before the inner IP header; the inner frame has no VLAN tag. */
static size_t inner_l3(int kind)
{
    uint8_t b[128];

    return tun_headers(kind, 0, b) + (is_l3(kind) ? 0 : 14);
}

/* Send @f, @ihs bytes of it in the WQE. Return: syndrome of the completion. */
static uint8_t post(const NetFrame *f, uint8_t opcode, uint32_t ihs,
                    uint8_t flags, uint16_t mss, const uint8_t *swp)
{
    uint32_t inl = ihs > 2 ? (ihs - 2 + 15) / 16 : 0;
    uint8_t wqe[1024] = { 0 }, cqe[64];

    net_ctrl(&n.sq, wqe, opcode, 3 + inl, 2);
    if (swp) {
        MLX5_SET(wqe_eth, wqe + 16, swp_inner_l3_offset, swp[0]);
        MLX5_SET(wqe_eth, wqe + 16, swp_flags, swp[1]);
    }
    MLX5_SET(wqe_eth, wqe + 16, cs_flags, flags);
    MLX5_SET(wqe_eth, wqe + 16, mss, mss);
    MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, ihs);
    memcpy(wqe + 30, f->b, ihs);
    fake_mem_write(n.h, n.buf, f->b + ihs, f->len - ihs);
    net_data_seg(&n, wqe + 32 + inl * 16, n.buf, f->len - ihs);
    net_post(&n, &n.sq, wqe, (3 + inl) * 16);
    net_ring(&n, &n.sq);
    ck_assert(fake_driver_poll_cq(n.d, &n.sq.cq, cqe));
    return MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_REQ
               ? 0 : MLX5_GET(cqe_err, cqe, syndrome);
}

/* The inner IP packet of @out as a frame of its own. */
static NetFrame unpack(int kind, const uint8_t *out, size_t len)
{
    size_t at = inner_l3(kind);
    NetFrame f = { .len = 14 + len - at };

    mlx5_put_be16(f.b + 12, out[at] >> 4 == 4 ? 0x0800 : 0x86dd);
    memcpy(f.b + 14, out + at, len - at);
    return f;
}

static const struct { int kind, ip, proto; } kinds[] = {
    { TUN_VXLAN, 4, 6 }, { TUN_VXLAN, 6, 17 }, { TUN_GENEVE, 4, 17 },
    { TUN_GENEVE, 6, 6 }, { TUN_GRE, 4, 6 }, { TUN_NVGRE, 6, 6 },
    { TUN_IPIP, 4, 17 }, { TUN_GPE, 4, 6 },
};

/* Each flag has its effect, and nothing else changes. */
START_TEST(checksums)
{
    int kind = kinds[_i / 4].kind;
    NetFrame inner = net_make_frame(kinds[_i / 4].ip, kinds[_i / 4].proto, -1,
                                    200);
    NetFrame f = tun_frame(kind, &inner);
    uint8_t flags = _i % 4 * CS_L3_INNER;
    NetFrame got;
    const uint8_t *out;
    size_t len;

    ck_assert_uint_eq(post(&f, OP_SEND, 20, flags | CS_L3, 0, NULL), 0);
    out = net_frame(&n, 0, &len);
    ck_assert_uint_eq(len, f.len);
    ck_assert(net_ref_l3_ok(out));
    got = unpack(kind, out, len);
    ck_assert(net_ref_l3_ok(got.b) == ((flags & CS_L3_INNER) ||
                                       kinds[_i / 4].ip == 6));
    ck_assert(net_ref_l4_ok(got.b) == !!(flags & CS_L4_INNER));
    ck_assert_mem_eq(out, f.b, inner_l3(kind));
}
END_TEST

/* On a port that nobody knows: the WQE tells, or nothing is done. */
START_TEST(software_parsing)
{
    NetFrame inner = net_make_frame(_i ? 6 : 4, 6, -1, 200);
    NetFrame f = tun_frame(TUN_GENEVE, &inner), got;
    uint8_t swp[2] = { inner_l3(TUN_GENEVE) / 2,
                       SWP_OUTER_L4_UDP | (_i ? SWP_INNER_L3_IPV6 : 0) };
    const uint8_t *out;
    size_t len;

    mlx5_put_be16(f.b + TUN_OUTER + 2, 777);
    ck_assert_uint_eq(post(&f, OP_SEND, 0, 0x30, 0, NULL), 0);
    ck_assert_mem_eq(net_frame(&n, 0, &len), f.b, f.len);
    ck_assert_uint_eq(post(&f, OP_SEND, 0, 0x30, 0, swp), 0);
    out = net_frame(&n, 1, &len);
    got = unpack(TUN_GENEVE, out, len);
    ck_assert(net_ref_l3_ok(got.b) && net_ref_l4_ok(got.b));
    /* Where there is no IP header of that version, and beyond the frame. */
    swp[1] ^= SWP_INNER_L3_IPV6;
    ck_assert_uint_eq(post(&f, OP_SEND, 0, 0x30, 0, swp), 0);
    ck_assert_mem_eq(net_frame(&n, 2, &len), f.b, f.len);
    swp[0] = 255;
    ck_assert_uint_eq(post(&f, OP_SEND, 0, 0x30, 0, swp), 0);
    ck_assert_mem_eq(net_frame(&n, 3, &len), f.b, f.len);
}
END_TEST

/* A GRE header with a sum instead of a key. */
static void gre_with_sum(NetFrame *f)
{
    mlx5_put_be16(f->b + TUN_OUTER, 0x8000);
    mlx5_put_be32(f->b + TUN_OUTER + 4, 0xbadbad00);
}

static void check_segment(int kind, const NetFrame *f, const uint8_t *out,
                          size_t len, guint number)
{
    NetFrame got = unpack(kind, out, len);
    size_t l4 = inner_l3(kind) + (out[inner_l3(kind)] >> 4 == 4 ? 20 : 40);

    ck_assert(net_ref_l3_ok(out));
    ck_assert(net_ref_l3_ok(got.b) && net_ref_l4_ok(got.b));
    ck_assert_uint_eq(mlx5_get_be16(out + 16), len - 14);
    ck_assert_uint_eq(mlx5_get_be16(out + 18), 0x1111 + number);
    if (kinds[0].proto == out[inner_l3(kind) + 9] ||
        out[inner_l3(kind) + 6] == 6) {
        ck_assert_uint_eq(mlx5_get_be32(out + l4 + 4),
                          mlx5_get_be32(f->b + l4 + 4) + number * 500);
    }
    if (out[23] == 17) {
        ck_assert_uint_eq(mlx5_get_be16(out + TUN_OUTER + 4), len - TUN_OUTER);
        ck_assert(mlx5_get_be16(f->b + UDP_CSUM)
                      ? net_ref_l4_ok(out) : !mlx5_get_be16(out + UDP_CSUM));
    } else if (out[23] == 47 && (out[TUN_OUTER] & 0x80)) {
        ck_assert_uint_eq(net_ref_sum(0, out + TUN_OUTER, len - TUN_OUTER),
                          0xffff);
    }
}

/* Odd rounds: with a sum around it, where the tunnel can have one. */
START_TEST(segments)
{
    int kind = kinds[_i / 2].kind, ip = kinds[_i / 2].ip;
    int proto = kinds[_i / 2].proto;
    NetFrame inner = net_make_frame(ip, proto, -1, 2300);
    NetFrame f = tun_frame(kind, &inner);
    size_t hdr = f.len - 2300, len, done = 0;

    if (_i % 2 && f.b[23] == 17) {
        mlx5_put_be16(f.b + UDP_CSUM, 0xbeef);
    } else if (_i % 2 && f.b[23] == 47) {
        gre_with_sum(&f);
    }
    ck_assert_uint_eq(post(&f, OP_LSO, hdr, 0x70, 500, NULL), 0);
    ck_assert_uint_eq(n.h->frames->len, 5);
    for (guint i = 0; i < 5; i++) {
        const uint8_t *out = net_frame(&n, i, &len);

        check_segment(kind, &f, out, len, i);
        ck_assert_mem_eq(out + hdr, f.b + hdr + done, len - hdr);
        done += len - hdr;
    }
    ck_assert_uint_eq(done, 2300);
}
END_TEST

START_TEST(segments_software_parsing)
{
    NetFrame inner = net_make_frame(4, 6, -1, 2300);
    NetFrame f = tun_frame(TUN_GENEVE, &inner);
    uint8_t swp[2] = { inner_l3(TUN_GENEVE) / 2, SWP_OUTER_L4_UDP };
    size_t hdr = f.len - 2300, len;

    mlx5_put_be16(f.b + TUN_OUTER + 2, 777);
    ck_assert_uint_eq(post(&f, OP_LSO, hdr, 0x70, 500, swp), 0);
    ck_assert_uint_eq(n.h->frames->len, 5);
    for (guint i = 0; i < 5; i++) {
        const uint8_t *out = net_frame(&n, i, &len);

        check_segment(TUN_GENEVE, &f, out, len, i);
    }
}
END_TEST

/* Headers that end elsewhere, or in no tunnel: an error, and no frame. */
START_TEST(bad_segments)
{
    NetFrame inner = net_make_frame(4, 6, -1, 2300);
    NetFrame f = tun_frame(TUN_VXLAN, &inner);
    size_t hdr = f.len - 2300;

    if (_i == 0) {
        hdr -= 1;
    } else if (_i == 1) {
        mlx5_put_be16(f.b + TUN_OUTER + 2, 777);
    } else {
        n.func->props.tunnel = false;
    }
    ck_assert_uint_eq(post(&f, OP_LSO, hdr, 0x40, 500, NULL),
                      MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
    ck_assert_uint_eq(n.h->frames->len, 0);
}
END_TEST

/* Any headers: an error or frames, never more. */
START_TEST(random_headers)
{
    uint32_t seed = 4711;

    for (int i = 0; i < 1500; i++) {
        NetFrame inner = net_make_frame(i % 3 ? 4 : 6, i % 5 ? 6 : 17, -1, 900);
        NetFrame f = tun_frame(1 + i % 6, &inner);
        uint8_t swp[2] = { seed >> 9, seed >> 20 & 1 };

        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245 + 12345;
            f.b[12 + (seed >> 8) % 90] = seed >> 20;
        }
        if (post(&f, i % 2 ? OP_LSO : OP_SEND, f.len - 900, 0xf0, 300,
                 i % 7 ? NULL : swp)) {
            net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_ERR,
                          MLX5_WQ_STATE_RST);
            n.sq.pi = 0;
            fake_mem_set_be32(n.h, n.sq.dbr + 4, 0);
            net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RST,
                          MLX5_WQ_STATE_RDY);
        }
        g_ptr_array_set_size(n.h->frames, 0);
    }
}
END_TEST

/* --- receiving -------------------------------------------------------- */

static uint32_t tunneled_tir(bool on)
{
    FAKE_BUFFERS(create_tir);
    uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, in, ctx);

    MLX5_SET(tirc, tirc, transport_domain, n.td);
    MLX5_SET(tirc, tirc, inline_rqn, n.rq.number);
    MLX5_SET(tirc, tirc, tunneled_offload_en, on);
    FAKE_CMD_OK(n.d, CREATE_TIR, create_tir, in, out);
    return MLX5_GET(create_tir_out, out, tirn);
}

static NetFrame good(int ip, int proto)
{
    NetFrame f = net_make_frame(ip, proto, -1, 200);
    Mlx5FrameInfo info;

    mlx5_frame_parse(f.b, f.len, &info);
    mlx5_frame_set_l3_csum(f.b, &info);
    mlx5_frame_set_l4_csum(f.b, &info);
    return f;
}

static void receive(const NetFrame *f, uint8_t cqe[64])
{
    net_post_rx(&n, &n.rq, n.buf, 4096);
    net_rx(&n, f->b, f->len);
    ck_assert(fake_driver_poll_cq(n.d, &n.rq.cq, cqe));
}

/* All right; then a bit of the payload, then of the outer header, is not. */
START_TEST(received)
{
    int kind = kinds[_i].kind;
    NetFrame inner = good(kinds[_i].ip, kinds[_i].proto);
    NetFrame f = tun_frame(kind, &inner);
    uint8_t cqe[64], type = kinds[_i].ip == 4 ? 8 : 4;

    net_steer_all(&n, tunneled_tir(true));
    receive(&f, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, outer_l3_tunneled), 1);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 7);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, l4_l3_hdr_type),
                      type | (kinds[_i].proto == 6 ? 0x40 : 0x20));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, check_sum),
                      net_ref_sum(0, f.b + 14, f.len - 14));
    f.b[f.len - 1] ^= 1;
    receive(&f, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 3);
    f.b[14 + 8] ^= 1;
    receive(&f, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 1);
}
END_TEST

/* A wrong sum around what is right; and no tunnel at all. */
START_TEST(received_outer)
{
    NetFrame inner = good(4, 6), f = tun_frame(TUN_VXLAN, &inner);
    uint8_t cqe[64];

    net_steer_all(&n, tunneled_tir(true));
    mlx5_put_be16(f.b + UDP_CSUM, 0xbeef);
    receive(&f, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 3);
    receive(&inner, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, outer_l3_tunneled), 0);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 7);
}
END_TEST

/* A TIR that doesn't ask is told of the outer headers alone. */
START_TEST(received_plain)
{
    NetFrame inner = good(4, 6), f = tun_frame(TUN_VXLAN, &inner);
    uint8_t cqe[64];

    net_steer_all(&n, tunneled_tir(false));
    f.b[f.len - 1] ^= 1;
    receive(&f, cqe);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, outer_l3_tunneled), 0);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, hds_ip_ext), 7);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, l4_l3_hdr_type), 0x28);
}
END_TEST

/* --- ports ------------------------------------------------------------ */

static bool port_cmd(bool add, uint16_t port)
{
    uint8_t in[16] = { 0 }, out[16];

    MLX5_SET(add_vxlan_udp_dport_in, in, opcode,
             add ? MLX5_CMD_OP_ADD_VXLAN_UDP_DPORT
                 : MLX5_CMD_OP_DELETE_VXLAN_UDP_DPORT);
    MLX5_SET(add_vxlan_udp_dport_in, in, vxlan_udp_port, port);
    return fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out));
}

static bool is_vxlan(uint16_t port)
{
    NetFrame inner = good(4, 6), f = tun_frame(TUN_VXLAN, &inner);
    uint8_t cqe[64];

    mlx5_put_be16(f.b + TUN_OUTER + 2, port);
    receive(&f, cqe);
    return MLX5_GET(cqe64, cqe, outer_l3_tunneled);
}

START_TEST(ports)
{
    net_steer_all(&n, tunneled_tir(true));
    ck_assert(is_vxlan(4789) && !is_vxlan(8472));
    ck_assert(port_cmd(true, 4789) && port_cmd(true, 8472));
    ck_assert(is_vxlan(4789) && is_vxlan(8472));
    ck_assert(port_cmd(false, 4789));
    ck_assert(!is_vxlan(4789) && is_vxlan(8472));
    for (int i = 1; i < MLX5_MAX_VXLAN_PORTS; i++) {
        ck_assert(port_cmd(true, i));
    }
    ck_assert(port_cmd(true, 8472));
}
END_TEST

START_TEST(port_refusals)
{
    ck_assert(!port_cmd(true, 0));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_VXLAN_PORT_ZERO);
    ck_assert(!port_cmd(false, 5));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_VXLAN_UNKNOWN);
    for (int i = 1; i < MLX5_MAX_VXLAN_PORTS; i++) {
        ck_assert(port_cmd(true, i));
    }
    ck_assert(!port_cmd(true, 99));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_VXLAN_LIMIT);
    n.func->props.tunnel = false;
    ck_assert(!port_cmd(true, 4789));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_VXLAN_OFF);
}
END_TEST

/* Without the property: queues can't ask, and a WQE that asks is in error. */
START_TEST(not_offered)
{
    NetFrame inner = net_make_frame(4, 6, -1, 200);
    NetFrame f = tun_frame(TUN_VXLAN, &inner);
    NetQueue q = net_queue_memory(&n);
    uint8_t sq[NET_WQ_IN];
    FAKE_BUFFERS(create_tir);

    n.func->props.tunnel = false;
    net_fill_sq(&n, sq, &q);
    MLX5_SET(sqc, MLX5_ADDR_OF(create_sq_in, sq, ctx), allow_swp, 1);
    ck_assert(!fake_driver_cmd(n.d, sq, sizeof(sq), out, sizeof(out)));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_SQ_SWP);
    MLX5_SET(tirc, MLX5_ADDR_OF(create_tir_in, in, ctx), inline_rqn,
             n.rq.number);
    MLX5_SET(tirc, MLX5_ADDR_OF(create_tir_in, in, ctx), tunneled_offload_en,
             1);
    FAKE_CMD_FAILS(n.d, CREATE_TIR, create_tir, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_TIR_TUNNEL);
    ck_assert_uint_eq(post(&f, OP_SEND, 0, CS_L4_INNER, 0, NULL),
                      MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth/tunnel");
    TCase *t = tcase_create("tunnel");
    SRunner *r;
    int failed;

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, checksums, 0, 4 * G_N_ELEMENTS(kinds));
    tcase_add_loop_test(t, software_parsing, 0, 2);
    tcase_add_loop_test(t, segments, 0, 2 * G_N_ELEMENTS(kinds));
    tcase_add_test(t, segments_software_parsing);
    tcase_add_loop_test(t, bad_segments, 0, 3);
    tcase_add_test(t, random_headers);
    tcase_add_loop_test(t, received, 0, G_N_ELEMENTS(kinds));
    tcase_add_test(t, received_outer);
    tcase_add_test(t, received_plain);
    tcase_add_test(t, ports);
    tcase_add_test(t, port_refusals);
    tcase_add_test(t, not_offered);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
