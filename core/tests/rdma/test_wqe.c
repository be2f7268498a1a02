/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The send WQE codec: every opcode on every transport, cut at every length,
 * and what comes out is what went in; fetching from a ring that wraps.
 */
#include "tests/rdma/wqe_helper.h"

static FakeHost *h;
static uint32_t pdn;
static Mlx5SendWqe wqe;

static void setup(void)
{
    h = fake_host_new(NULL);
    pdn = t_alloc(h, mlx5_cmd_alloc_pd);
}

static void teardown(void)
{
    fake_host_free(h);
}

static Mlx5WqeError parse(const TestWqe *w, Mlx5QpSt st)
{
    return mlx5_wqe_parse(&wqe, w->b, w->len, st, T_QPN);
}

static const Mlx5QpSt types[] = {
    MLX5_QP_ST_RC, MLX5_QP_ST_UC, MLX5_QP_ST_UD, MLX5_QP_ST_XRC,
    MLX5_QP_ST_DCI, MLX5_QP_ST_DCT, MLX5_QP_ST_QP0, MLX5_QP_ST_QP1,
    MLX5_QP_ST_RAW_ETHERTYPE, MLX5_QP_ST_REG_UMR,
};

/* May @opcode be posted there? Written down apart from the table. */
static bool allowed(uint8_t opcode, Mlx5QpSt st)
{
    bool rc = st == MLX5_QP_ST_RC || st == MLX5_QP_ST_XRC ||
              st == MLX5_QP_ST_DCI;
    bool ud = st == MLX5_QP_ST_UD || st == MLX5_QP_ST_QP0 ||
              st == MLX5_QP_ST_QP1;

    switch (opcode) {
    case MLX5_OPCODE_NOP:
        return st != MLX5_QP_ST_DCT;
    case MLX5_OPCODE_SEND:
    case MLX5_OPCODE_SEND_IMM:
        return rc || ud || st == MLX5_QP_ST_UC;
    case MLX5_OPCODE_RDMA_WRITE:
    case MLX5_OPCODE_RDMA_WRITE_IMM:
        return rc || st == MLX5_QP_ST_UC;
    case MLX5_OPCODE_SET_PSV:
        return st == MLX5_QP_ST_RC || st == MLX5_QP_ST_UC ||
               st == MLX5_QP_ST_XRC;
    case MLX5_OPCODE_UMR:
        return st == MLX5_QP_ST_RC || st == MLX5_QP_ST_UC ||
               st == MLX5_QP_ST_XRC || st == MLX5_QP_ST_REG_UMR;
    case MLX5_OPCODE_TAG_MATCHING:
        return st == MLX5_QP_ST_RC;
    default:
        return rc;
    }
}

/* A good WQE of @opcode for @st: all segments, one of data. */
static void build(TestWqe *w, uint8_t opcode, Mlx5QpSt st)
{
    const Mlx5WqeOp *op = mlx5_wqe_op(opcode);
    uint8_t *p;

    t_wqe_ctrl(w, opcode, 0x1234, 0xdeadbeef);
    if (!(op->flags & MLX5_WQEF_LOCAL)) {
        if (st == MLX5_QP_ST_XRC) {
            p = t_wqe_room(w, 16);
            MLX5_SET(wqe_xrc, p, xrc_srqn, 0x31);
        }
        if (st == MLX5_QP_ST_UD || st == MLX5_QP_ST_QP0 ||
            st == MLX5_QP_ST_QP1 || st == MLX5_QP_ST_DCI) {
            t_wqe_av(w, 0x42, 0x11111111);
        }
    }
    if (op->flags & MLX5_WQEF_RADDR) {
        t_wqe_raddr(w, 0x123456789abcdef0, 0xc0ffee);
    }
    if (op->flags & (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)) {
        p = t_wqe_room(w, op->flags & MLX5_WQEF_MASKED ? 32 : 16);
        MLX5_SET(wqe_atomic, p, swap_or_add_data, 0x1111222233334444);
        MLX5_SET(wqe_atomic, p, compare_data, 0x5555666677778888);
    }
    if (op->flags & MLX5_WQEF_UMR) {
        t_wqe_room(w, 48 + 64);
    }
    if (op->flags & MLX5_WQEF_TM) {
        t_wqe_room(w, 32);
    }
    if (op->flags & MLX5_WQEF_PSV) {
        p = t_wqe_room(w, 16);
        MLX5_SET(wqe_set_psv, p, psv_index, 0x77);
        MLX5_SET(wqe_set_psv, p, transient_signature, 0x0123456789abcdef);
    }
    if (op->flags & MLX5_WQEF_DATA) {
        t_wqe_data(w, 0x7000, 8, 0x2a00);
    }
    t_wqe_end(w);
}

static void check_fields(uint8_t opcode, Mlx5QpSt st)
{
    const Mlx5WqeOp *op = mlx5_wqe_op(opcode);

    ck_assert_uint_eq(wqe.opcode, opcode);
    ck_assert_uint_eq(wqe.index, 0x1234);
    ck_assert_uint_eq(wqe.qpn, T_QPN);
    ck_assert_uint_eq(wqe.fence, 4);
    ck_assert_uint_eq(wqe.ce, 2);
    ck_assert(wqe.se);
    ck_assert_uint_eq(wqe.general_id, 0xdeadbeef);
    if (op->flags & MLX5_WQEF_RADDR) {
        ck_assert_uint_eq(wqe.raddr, 0x123456789abcdef0);
        ck_assert_uint_eq(wqe.rkey, 0xc0ffee);
    }
    if (op->flags & (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)) {
        ck_assert_uint_eq(wqe.swap_add, 0x1111222233334444);
        ck_assert_uint_eq(wqe.compare, 0x5555666677778888);
    }
    if (op->flags & MLX5_WQEF_PSV) {
        ck_assert_uint_eq(wqe.psvn, 0x77);
        ck_assert_uint_eq(wqe.psv, 0x0123456789abcdef);
    }
    if (op->flags & MLX5_WQEF_DATA) {
        ck_assert_uint_eq(wqe.num_data, 1);
        ck_assert_uint_eq(wqe.length, 8);
        ck_assert_uint_eq(wqe.data[0].addr, 0x7000);
        ck_assert_uint_eq(wqe.data[0].lkey, 0x2a00);
        ck_assert_uint_eq(wqe.data[0].inline_at, 0);
    }
    if (st == MLX5_QP_ST_XRC && !(op->flags & MLX5_WQEF_LOCAL)) {
        ck_assert_uint_eq(wqe.xrc_srqn, 0x31);
    }
}

START_TEST(every_opcode_and_type)
{
    uint32_t known = 0;
    TestWqe w;

    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        const Mlx5WqeOp *op = mlx5_wqe_op(opcode);

        known += op != NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
            Mlx5WqeError want;

            if (op) {
                build(&w, opcode, types[i]);
                want = allowed(opcode, types[i]) ? MLX5_WQE_OK
                                                 : MLX5_WQE_ERR_QP_TYPE;
            } else {
                t_wqe_ctrl(&w, opcode, 0, 0);
                want = MLX5_WQE_ERR_OPCODE;
            }
            ck_assert_msg(parse(&w, types[i]) == want,
                          "opcode 0x%x type %u: not %s", opcode, types[i],
                          mlx5_wqe_error_name(want));
            if (want == MLX5_WQE_OK) {
                check_fields(opcode, types[i]);
            }
        }
    }
    ck_assert_uint_eq(known, 14);
}
END_TEST

/* ds that says less, with all the bytes there; and bytes that are missing. */
START_TEST(cut_at_every_length)
{
    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
            const Mlx5WqeOp *op = mlx5_wqe_op(opcode);
            TestWqe w;
            uint32_t full;

            if (!op || !allowed(opcode, types[i])) {
                continue;
            }
            build(&w, opcode, types[i]);
            full = w.len;
            for (uint32_t ds = 1; ds < full / 16; ds++) {
                Mlx5WqeError e;

                MLX5_SET(wqe_ctrl, w.b, ds, ds);
                e = parse(&w, types[i]);
                if (ds == full / 16 - 1 && (op->flags & MLX5_WQEF_DATA)) {
                    /* Only data is gone: fine but for atomics. */
                    ck_assert_int_eq(e, op->flags & (MLX5_WQEF_ATOMIC |
                                                     MLX5_WQEF_MASKED)
                                            ? MLX5_WQE_ERR_ATOMIC_SIZE
                                            : MLX5_WQE_OK);
                } else {
                    ck_assert_int_eq(e, MLX5_WQE_ERR_TRUNCATED);
                }
            }
            t_wqe_end(&w);
            for (uint32_t len = 0; len < full; len++) {
                ck_assert_int_eq(mlx5_wqe_parse(&wqe, w.b, len, types[i],
                                                T_QPN), MLX5_WQE_ERR_BEYOND);
            }
        }
    }
}
END_TEST

START_TEST(control_segment)
{
    TestWqe w;

    build(&w, MLX5_OPCODE_SEND, MLX5_QP_ST_RC);
    MLX5_SET(wqe_ctrl, w.b, ds, 0);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_DS);
    MLX5_SET(wqe_ctrl, w.b, ds, 63);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_BEYOND);
    t_wqe_end(&w);
    MLX5_SET(wqe_ctrl, w.b, qpn, T_QPN + 1);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_QPN);
}
END_TEST

START_TEST(address_vector)
{
    static const uint8_t mac[6] = { 2, 1, 2, 3, 4, 5 };
    TestWqe w;

    build(&w, MLX5_OPCODE_SEND, MLX5_QP_ST_UD);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_UD), MLX5_WQE_OK);
    ck_assert_uint_eq(wqe.av.dqpn, 0x42);
    ck_assert_uint_eq(wqe.av.qkey, 0x11111111);
    ck_assert_uint_eq(wqe.av.sl, 6);
    ck_assert_uint_eq(wqe.av.udp_sport, 0xc001);
    ck_assert_mem_eq(wqe.av.rmac, mac, 6);
    ck_assert_uint_eq(wqe.av.tclass, 0x2a);
    ck_assert_uint_eq(wqe.av.hop_limit, 64);
    ck_assert(wqe.av.grh);
    ck_assert_uint_eq(wqe.av.src_addr_index, 3);
    ck_assert_uint_eq(wqe.av.flow_label, 0xabcde);
    ck_assert_uint_eq(wqe.av.dgid[0], 1);
    ck_assert_uint_eq(wqe.av.dgid[15], 16);

    /* Without the extension bit it is 16 bytes, and data follows. */
    t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
    MLX5_SET(wqe_av, t_wqe_room(&w, 16), destination_qp_dct, 0x43);
    t_wqe_data(&w, 1, 2, 3);
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_UD), MLX5_WQE_OK);
    ck_assert_uint_eq(wqe.av.dqpn, 0x43);
    ck_assert(!wqe.av.grh);
    ck_assert_uint_eq(wqe.length, 2);
}
END_TEST

START_TEST(masked_operands)
{
    TestWqe w;
    uint8_t *p;

    t_wqe_ctrl(&w, MLX5_OPCODE_ATOMIC_MASKED_CS, 0, 0);
    t_wqe_raddr(&w, 0, 0);
    p = t_wqe_room(&w, 32);
    for (uint32_t i = 0; i < 4; i++) {
        mlx5_prm_set(p, i * 64, 64, 10 + i);
    }
    t_wqe_data(&w, 0, 4, 0);
    t_wqe_data(&w, 0, 4, 0);
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_OK);
    ck_assert_uint_eq(wqe.swap_add, 10);
    ck_assert_uint_eq(wqe.compare, 11);
    ck_assert_uint_eq(wqe.swap_add_mask, 12);
    ck_assert_uint_eq(wqe.compare_mask, 13);
    t_wqe_data(&w, 0, 4, 0);
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_ATOMIC_SIZE);
}
END_TEST

START_TEST(data_lengths)
{
    TestWqe w;

    /* 0 is 2^31; that is the most there may be. */
    t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
    t_wqe_data(&w, 0, 0, 1);
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_OK);
    ck_assert_uint_eq(wqe.length, 1ull << 31);
    t_wqe_data(&w, 0, 1, 1);
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_LENGTH);
    ck_assert_uint_eq(mlx5_wqe_error_vendor(MLX5_WQE_ERR_LENGTH),
                      MLX5_VENDOR_MSG_MAX);
    ck_assert_uint_eq(mlx5_vendor_syndrome(MLX5_VENDOR_MSG_MAX),
                      MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);

    /* As many segments as fit. */
    t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
    for (uint32_t i = 0; i < 62; i++) {
        t_wqe_data(&w, i * 0x1000, i + 1, i);
    }
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_OK);
    ck_assert_uint_eq(wqe.num_data, 62);
    ck_assert_uint_eq(wqe.length, 62 * 63 / 2);
    ck_assert_uint_eq(wqe.data[61].lkey, 61);
}
END_TEST

START_TEST(inline_data)
{
    TestWqe w;

    for (uint32_t len = 0; len <= 956; len++) {
        t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
        t_wqe_inline(&w, len, 7);
        t_wqe_inline(&w, 3, 1);
        t_wqe_data(&w, 0x99, 5, 1);
        t_wqe_end(&w);
        ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_OK);
        ck_assert_uint_eq(wqe.length, len + 3 + 5);
        ck_assert_uint_eq(wqe.num_data, len ? 3 : 2);
        if (len) {
            ck_assert_uint_eq(wqe.data[0].len, len);
            ck_assert_mem_eq(wqe.raw + wqe.data[0].inline_at, w.b + 20, len);
        }
        ck_assert_uint_eq(wqe.raw[wqe.data[wqe.num_data - 2].inline_at + 2], 3);
        ck_assert_uint_eq(wqe.data[wqe.num_data - 1].inline_at, 0);
    }
    /* It says more than there is. */
    for (uint32_t len = 13; len < 1024; len += 5) {
        t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
        t_wqe_inline(&w, 12, 0);
        MLX5_SET(wqe_inline, w.b + 16, byte_count, len);
        t_wqe_end(&w);
        ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_INLINE);
    }
    t_wqe_ctrl(&w, MLX5_OPCODE_RDMA_READ, 0, 0);
    t_wqe_raddr(&w, 0, 0);
    t_wqe_inline(&w, 1, 0);
    t_wqe_end(&w);
    ck_assert_int_eq(parse(&w, MLX5_QP_ST_RC), MLX5_WQE_ERR_INLINE_OP);
}
END_TEST

/* Nothing was read ahead. */
static Mlx5WqeError fetch(Mlx5Qp *qp, uint16_t index, uint32_t posted)
{
    Mlx5WqeAhead ahead = { 0 };

    return mlx5_wqe_fetch(qp, index, posted, &wqe, &ahead);
}

/* Every start in the ring, every length: what is fetched is what was put. */
START_TEST(fetch_wraps)
{
    Mlx5Qp qp;
    TestWqe w;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, 4, 64, 5);
    for (uint32_t index = 0; index < 64; index++) {
        uint32_t len = 1 + index * 13 % 900;
        uint32_t blocks;

        t_wqe_ctrl(&w, MLX5_OPCODE_SEND, index, 0);
        t_wqe_inline(&w, len, index);
        t_wqe_end(&w);
        blocks = mlx5_wqe_blocks(w.len / 16);
        t_qp_put(h, &qp, &w, index);
        ck_assert_int_eq(fetch(&qp, index, blocks), MLX5_WQE_OK);
        ck_assert_uint_eq(wqe.index, index);
        ck_assert_mem_eq(wqe.raw, w.b, w.len);
        if (blocks > 1) {
            ck_assert_int_eq(fetch(&qp, index, blocks - 1),
                             MLX5_WQE_ERR_BEYOND);
        }
    }
    mlx5_ring_clear(&qp.ring);
}
END_TEST

/* One read for a list; a request beyond it, or half beyond it, is another. */
START_TEST(fetch_ahead)
{
    Mlx5WqeAhead ahead = { 0 };
    const uint32_t last = MLX5_WQE_AHEAD - 1;
    Mlx5Qp qp;
    TestWqe w;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, 4, 64, 6);
    for (uint32_t index = 0; index <= last; index++) {
        t_wqe_ctrl(&w, MLX5_OPCODE_SEND, index, 0);
        t_wqe_inline(&w, index == last ? 100 : 1, index);
        t_wqe_end(&w);
        t_qp_put(h, &qp, &w, index);
    }
    for (uint32_t index = 0; index < last; index++) {
        ck_assert_int_eq(mlx5_wqe_fetch(&qp, index, last + 2 - index, &wqe,
                                        &ahead), MLX5_WQE_OK);
        ck_assert_uint_eq(wqe.raw[20], index);
        h->fail_after = 1; /* from the second on nothing is read */
    }
    ck_assert_int_eq(mlx5_wqe_fetch(&qp, last, 2, &wqe, &ahead),
                     MLX5_WQE_ERR_FETCH);
    ck_assert_int_eq(mlx5_wqe_fetch(&qp, last, 2, &wqe, &ahead), MLX5_WQE_OK);
    ck_assert_mem_eq(wqe.raw, w.b, w.len);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

/* A WQE longer than its ring, and a ring that is not memory. */
START_TEST(fetch_refuses)
{
    Mlx5Qp qp;
    TestWqe w;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, 0, 0, 1);
    t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
    t_wqe_inline(&w, 100, 0);
    t_wqe_end(&w);
    t_qp_put(h, &qp, &w, 0);
    ck_assert_int_eq(fetch(&qp, 0, 60000), MLX5_WQE_OK);
    MLX5_SET(wqe_ctrl, w.b, ds, 9);
    t_qp_put(h, &qp, &w, 0);
    ck_assert_int_eq(fetch(&qp, 0, 60000), MLX5_WQE_ERR_BEYOND);
    t_wqe_end(&w);
    t_qp_put(h, &qp, &w, 0);
    h->fail_after = 1;
    ck_assert_int_eq(fetch(&qp, 0, 2), MLX5_WQE_ERR_FETCH);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

/* Memory that changes behind the first read is not read again. */
START_TEST(fetch_reads_once)
{
    Mlx5Qp qp;
    TestWqe w;

    t_qp_init(&qp, h, pdn, MLX5_QP_ST_RC, 0, 0, 5);
    t_wqe_ctrl(&w, MLX5_OPCODE_SEND, 0, 0);
    t_wqe_inline(&w, 300, 9);
    t_wqe_end(&w);
    t_qp_put(h, &qp, &w, 0);
    h->trip_addr = t_ring(0);
    h->trip_len = w.len;
    ck_assert_int_eq(fetch(&qp, 0, 32), MLX5_WQE_OK);
    ck_assert_uint_eq(h->trip_hits, w.len); /* each byte once */
    ck_assert_mem_eq(wqe.raw, w.b, w.len);
    mlx5_ring_clear(&qp.ring);
}
END_TEST

START_TEST(names_are_distinct)
{
    for (uint32_t a = 0; a < MLX5_WQE_ERR_COUNT; a++) {
        uint8_t vendor = mlx5_wqe_error_vendor(a);

        ck_assert(a == MLX5_WQE_OK || mlx5_vendor_syndrome(vendor));
        for (uint32_t b = 0; b < a; b++) {
            ck_assert_str_ne(mlx5_wqe_error_name(a), mlx5_wqe_error_name(b));
            ck_assert_uint_ne(vendor, mlx5_wqe_error_vendor(b));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wqe");
    TCase *tc = tcase_create("wqe");

    tcase_set_timeout(tc, 60); /* a loaded machine under sanitizers */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, every_opcode_and_type);
    tcase_add_test(tc, cut_at_every_length);
    tcase_add_test(tc, control_segment);
    tcase_add_test(tc, address_vector);
    tcase_add_test(tc, masked_operands);
    tcase_add_test(tc, data_lengths);
    tcase_add_test(tc, inline_data);
    tcase_add_test(tc, fetch_wraps);
    tcase_add_test(tc, fetch_ahead);
    tcase_add_test(tc, fetch_refuses);
    tcase_add_test(tc, fetch_reads_once);
    tcase_add_test(tc, names_are_distinct);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
