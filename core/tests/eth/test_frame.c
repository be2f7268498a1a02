/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: parsing at every truncation, checksums against a second
 * implementation, and the RSS hash against the published test vectors
 * ("Verifying the RSS hash calculation", Microsoft).
 */
#include "eth/rss.h"
#include "tests/eth/eth_helper.h"

static const uint8_t key[MLX5_TOEPLITZ_KEY_BYTES] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
    0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
    0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
    0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct {
    uint32_t src, dst;
    uint16_t sport, dport;
    uint32_t ip_hash, tcp_hash;
} v4[] = {
    { 0x420995bb, 0xa18e6450, 2794, 1766, 0x323e8fc2, 0x51ccc178 },
    { 0xc75c6f02, 0x41458c53, 14230, 4739, 0xd718262a, 0xc626b0ea },
    { 0x1813c65f, 0x0c16cfb8, 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
    { 0x261bcd1e, 0xd18ea306, 48228, 2217, 0x82989176, 0xafc7327f },
    { 0x9927a3bf, 0xcabc7f02, 44251, 1303, 0x5d1809c5, 0x10e828a2 },
};

static const struct {
    uint8_t src[16], dst[16];
    uint16_t sport, dport;
    uint32_t ip_hash, tcp_hash;
} v6[] = {
    { { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0,
        7 },
      { 0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03, 0, 0, 0, 0, 0, 0, 0,
        1 }, 2794, 1766, 0x2cc18cd5, 0x40207d3d },
    { { 0x3f, 0xfe, 0x05, 0x01, 0, 8, 0, 0, 0x02, 0x60, 0x97, 0xff, 0xfe, 0x40,
        0xef, 0xab },
      { 0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },
      14230, 4739, 0x0f0c461c, 0xdde51bbf },
    { { 0x3f, 0xfe, 0x19, 0, 0x45, 0x45, 0, 3, 0x02, 0, 0xf8, 0xff, 0xfe, 0x21,
        0x67, 0xcf },
      { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0xf8, 0xff, 0xfe, 0x21, 0x67,
        0xcf }, 44251, 38024, 0x4b61e985, 0x02d1feef },
};

static uint32_t hash_of(NetFrame *f, const Mlx5RxHash *h, uint8_t *type)
{
    Mlx5FrameInfo info;

    mlx5_frame_parse(f->b, f->len, &info);
    return mlx5_rss_hash(h, f->b, &info, NULL, type);
}

START_TEST(toeplitz_v4)
{
    NetFrame f = net_make_frame(4, 6, -1, 10);
    Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_TOEPLITZ, .outer.fields = 3 };
    uint8_t type;

    memcpy(h.key, key, sizeof(key));
    mlx5_put_be32(f.b + 26, v4[_i].src);
    mlx5_put_be32(f.b + 30, v4[_i].dst);
    mlx5_put_be16(f.b + 34, v4[_i].sport);
    mlx5_put_be16(f.b + 36, v4[_i].dport);
    ck_assert_uint_eq(hash_of(&f, &h, &type), v4[_i].ip_hash);
    ck_assert_uint_eq(type, 0x07);
    h.outer.fields = 0xf;
    ck_assert_uint_eq(hash_of(&f, &h, &type), v4[_i].tcp_hash);
    ck_assert_uint_eq(type, 0x77);
}
END_TEST

START_TEST(toeplitz_v6)
{
    NetFrame f = net_make_frame(6, 6, -1, 10);
    Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_TOEPLITZ, .outer.fields = 3,
                     .outer.ipv6 = true };
    uint8_t type;

    memcpy(h.key, key, sizeof(key));
    memcpy(f.b + 22, v6[_i].src, 16);
    memcpy(f.b + 38, v6[_i].dst, 16);
    mlx5_put_be16(f.b + 54, v6[_i].sport);
    mlx5_put_be16(f.b + 56, v6[_i].dport);
    ck_assert_uint_eq(hash_of(&f, &h, &type), v6[_i].ip_hash);
    ck_assert_uint_eq(type, 0x0b);
    h.outer.fields = 0xf;
    ck_assert_uint_eq(hash_of(&f, &h, &type), v6[_i].tcp_hash);
    ck_assert_uint_eq(type, 0x7b);
}
END_TEST

/* Both directions of a flow, one hash; and not the same for all flows. */
START_TEST(symmetric)
{
    NetFrame a = net_make_frame(4, 17, -1, 10), b = a;
    Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_TOEPLITZ, .outer.fields = 0xf,
                     .outer.udp = true, .symmetric = true };
    uint8_t type;
    uint32_t first;

    memcpy(h.key, key, sizeof(key));
    memcpy(b.b + 26, a.b + 30, 4);
    memcpy(b.b + 30, a.b + 26, 4);
    memcpy(b.b + 34, a.b + 36, 2);
    memcpy(b.b + 36, a.b + 34, 2);
    first = hash_of(&a, &h, &type);
    ck_assert_uint_eq(hash_of(&b, &h, &type), first);
    b.b[34] ^= 1;
    ck_assert_uint_ne(hash_of(&b, &h, &type), first);
    h.symmetric = false;
    memcpy(b.b + 34, a.b + 36, 2);
    ck_assert_uint_ne(hash_of(&a, &h, &type), hash_of(&b, &h, &type));
}
END_TEST

START_TEST(xor8)
{
    NetFrame f = net_make_frame(4, 6, -1, 0);
    Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_INVERTED_XOR8, .outer.fields = 3 };
    uint8_t type;

    mlx5_put_be32(f.b + 26, 0x01020408);
    mlx5_put_be32(f.b + 30, 0x00000010);
    /* 0x1f turned round. */
    ck_assert_uint_eq(hash_of(&f, &h, &type), 0xf8);
}
END_TEST

/* What is not selected, or of another protocol, makes no hash. */
START_TEST(no_hash)
{
    NetFrame f = net_make_frame(4, 17, -1, 0);
    Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_NONE, .outer.fields = 0xf };
    uint8_t type = 0xff;

    ck_assert_uint_eq(hash_of(&f, &h, &type), 0);
    ck_assert_uint_eq(type, 0);
    h.fn = MLX5_RX_HASH_FN_TOEPLITZ;
    h.outer.ipv6 = true;
    ck_assert_uint_eq(hash_of(&f, &h, &type), 0);
    ck_assert_uint_eq(type, 0);
    h.outer.ipv6 = false;
    memcpy(h.key, key, sizeof(key));
    hash_of(&f, &h, &type);
    /* TCP ports selected, a UDP frame: addresses alone. */
    ck_assert_uint_eq(type, 0x07);
}
END_TEST

/* Cut everywhere: nothing is read past the end (sanitizers watch). */
START_TEST(truncated)
{
    static const int kinds[][3] = {
        { 4, 6, -1 }, { 4, 17, 9 }, { 6, 6, 9 }, { 6, 17, -1 },
    };
    NetFrame f = net_make_frame(kinds[_i][0], kinds[_i][1], kinds[_i][2], 40);
    size_t l3_end = net_l3(f.b) + (kinds[_i][0] == 4 ? 20 : 40);
    Mlx5Eth eth = { .vxlan = { 1, { 80 } } }; /* the port of these frames */
    Mlx5Func func = { .eth = &eth };

    for (size_t len = 0; len <= f.len; len++) {
        uint8_t *copy = g_memdup2(f.b, len);
        Mlx5FrameInfo info;

        mlx5_frame_parse(copy, len, &info);
        mlx5_frame_fix_ip_len(copy, len);
        if (len >= MLX5_ETH_HLEN) {
            Mlx5Packet p;

            mlx5_packet_init(&p, &func, NULL, copy, len);
            p.info = info;
            mlx5_match_fill_outer(&p);
            mlx5_match_need(&p, (1 << MLX5_MATCH_PARTS) - 1);
        }
        /* What is left of a packet is taken, but never as a good one. */
        ck_assert((info.ip_version != 0) == (len >= l3_end));
        ck_assert(info.l3_short == (len >= l3_end && len < f.len));
        ck_assert(!info.l3_short || !info.l3_ok);
        mlx5_frame_set_l3_csum(copy, &info);
        mlx5_frame_set_l4_csum(copy, &info);
        mlx5_frame_l4_ok(copy, &info);
        g_free(copy);
    }
}
END_TEST

/* Random headers over a valid start: lengths that lie. */
START_TEST(lying)
{
    uint32_t seed = 99;

    for (int i = 0; i < 50000; i++) {
        NetFrame f = net_make_frame(i % 2 ? 4 : 6, i % 4 < 2 ? 6 : 17,
                                    i % 8 < 4 ? -1 : 1, 30);
        uint8_t *copy;
        Mlx5FrameInfo info;
        uint8_t type;
        Mlx5RxHash h = { .fn = MLX5_RX_HASH_FN_TOEPLITZ, .outer.fields = 0x1f,
                         .outer.ipv6 = i % 2 == 0 };

        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245 + 12345;
            f.b[12 + (seed >> 8) % 60] = seed >> 20;
        }
        copy = g_memdup2(f.b, f.len);
        mlx5_frame_parse(copy, f.len, &info);
        ck_assert_uint_le(info.l3_off + info.l3_len, f.len);
        ck_assert_uint_le(info.l3_hlen, info.l3_len);
        mlx5_rss_hash(&h, copy, &info, NULL, &type);
        mlx5_frame_set_l3_csum(copy, &info);
        mlx5_frame_set_l4_csum(copy, &info);
        if (info.tcp || info.udp) {
            ck_assert(mlx5_frame_l4_ok(copy, &info) == !info.l3_short);
        }
        g_free(copy);
    }
}
END_TEST

START_TEST(fragments)
{
    NetFrame f = net_make_frame(4, 17, -1, 40);
    Mlx5FrameInfo info;

    mlx5_put_be16(f.b + 20, 0x2000);
    mlx5_frame_parse(f.b, f.len, &info);
    ck_assert(info.frag && !info.udp && info.ip_protocol == 17);
    mlx5_put_be16(f.b + 20, 0x0005);
    mlx5_frame_parse(f.b, f.len, &info);
    ck_assert(info.frag && !info.udp);
    ck_assert(!mlx5_frame_l4_ok(f.b, &info));
}
END_TEST

START_TEST(ipv6_extensions)
{
    NetFrame f = net_make_frame(6, 17, -1, 0);
    uint8_t *ip = f.b + 14;
    Mlx5FrameInfo info;

    /* hop-by-hop, then UDP */
    memmove(ip + 48, ip + 40, 8);
    memset(ip + 40, 0, 8);
    ip[6] = 0;
    ip[40] = 17;
    mlx5_put_be16(ip + 4, 16);
    f.len += 8;
    mlx5_frame_parse(f.b, f.len, &info);
    ck_assert(info.udp && info.l3_hlen == 48 && info.l4_off == 62);
    /* a fragment header instead */
    ip[6] = 44;
    mlx5_frame_parse(f.b, f.len, &info);
    ck_assert(info.frag && !info.udp && info.ip_protocol == 17);
    /* an extension that says it is longer than the packet */
    ip[6] = 60;
    ip[41] = 200;
    mlx5_frame_parse(f.b, f.len, &info);
    ck_assert(!info.udp && info.ip_protocol == 60);
}
END_TEST

/* Two tags: the outer one is reported, the type behind both. */
START_TEST(two_tags)
{
    NetFrame f = net_make_frame(4, 17, 5, 40);
    Mlx5FrameInfo info;

    memmove(f.b + 16, f.b + 12, f.len - 12);
    mlx5_put_be16(f.b + 12, 0x88a8);
    mlx5_put_be16(f.b + 14, 0x2064);
    f.len += 4;
    mlx5_frame_parse(f.b, f.len, &info);
    ck_assert(info.svlan && !info.cvlan && info.tci == 0x2064);
    ck_assert(info.ethertype == 0x0800 && info.udp && info.l3_off == 22);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth frame");
    TCase *t = tcase_create("frame");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, toeplitz_v4, 0, G_N_ELEMENTS(v4));
    tcase_add_loop_test(t, toeplitz_v6, 0, G_N_ELEMENTS(v6));
    tcase_add_test(t, symmetric);
    tcase_add_test(t, xor8);
    tcase_add_test(t, no_hash);
    tcase_add_loop_test(t, truncated, 0, 4);
    tcase_add_test(t, lying);
    tcase_add_test(t, fragments);
    tcase_add_test(t, ipv6_extensions);
    tcase_add_test(t, two_tags);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
