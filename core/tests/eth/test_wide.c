/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WQEs of many frames: multi-packet sends, striding receive queues, and UMR on
 * an SQ, which maps the memory of the latter.
 */
#include "obj/mkey.h"
#include "tests/eth/eth_helper.h"

enum { OP_SEND = 0x0a, OP_UMR = 0x25, OP_MPSW = 0x29 };
enum { CS_L3 = 0x40, CS_L4 = 0x80 };
enum { LOG_WQES = 2, STRIDES = 8, STRIDE = 64, ROOM = 0x1000 };
#define FILLER 0x80000000u
#define INLINE_BIT 0x80000000u

static Net n;

static void setup(void)
{
    n = net_new();
}

static void teardown(void)
{
    net_free(&n);
}

/* --- sends --------------------------------------------------------------- */

/* The SQ again, allowed to change keys or not. */
static void allow(bool umr)
{
    NetQueue q = net_queue_memory(&n);
    uint8_t in[NET_WQ_IN], out[16], *sqc = MLX5_ADDR_OF(create_sq_in, in, ctx);

    net_destroy_sq(&n, &n.sq);
    net_fill_sq(&n, in, &q);
    MLX5_SET(sqc, sqc, allow_multi_pkt_send_wqe, 1);
    MLX5_SET(sqc, sqc, reg_umr, umr);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    q.number = MLX5_GET(create_sq_out, out, sqn);
    net_modify_sq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    n.sq = q;
}

static void post(const uint8_t *wqe, uint32_t len)
{
    net_post(&n, &n.sq, wqe, len);
    net_ring(&n, &n.sq);
}

/* The SQ's next completion is good, or an error with @syndrome. */
static void expect_sent(uint8_t syndrome)
{
    uint8_t cqe[64];

    ck_assert(fake_driver_poll_cq(n.d, &n.sq.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode),
                      syndrome ? MLX5_CQE_REQ_ERR : MLX5_CQE_REQ);
    if (syndrome) {
        ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome), syndrome);
    }
}

/* Frames by pointer and inline in turns. Return: bytes of the WQE. */
static uint32_t fill_multi(uint8_t *wqe, const NetFrame *f, unsigned count)
{
    uint32_t at = 32;

    for (unsigned i = 0; i < count; i++) {
        if (i % 2) {
            mlx5_put_be32(wqe + at, f[i].len | INLINE_BIT);
            memcpy(wqe + at + 4, f[i].b, f[i].len);
            at += (4 + f[i].len + 15) / 16 * 16;
        } else {
            fake_mem_write(n.h, n.buf + i * 0x4000, f[i].b, f[i].len);
            net_data_seg(&n, wqe + at, n.buf + i * 0x4000, f[i].len);
            at += 16;
        }
    }
    net_ctrl(&n.sq, wqe, OP_MPSW, at / 16, 2);
    MLX5_SET(wqe_eth, wqe + 16, cs_flags, CS_L3 | CS_L4);
    return at;
}

START_TEST(multi_packet)
{
    NetFrame f[] = {
        net_make_frame(4, 6, -1, 1000), net_make_frame(6, 17, -1, 30),
        net_make_frame(4, 17, -1, 9000), net_make_frame(6, 6, -1, 100),
    };
    uint8_t wqe[1024] = { 0 };

    post(wqe, fill_multi(wqe, f, G_N_ELEMENTS(f)));
    expect_sent(0);
    ck_assert_uint_eq(n.h->frames->len, G_N_ELEMENTS(f));
    for (guint i = 0; i < G_N_ELEMENTS(f); i++) {
        size_t len;
        const uint8_t *out = net_frame(&n, i, &len);

        ck_assert_uint_eq(len, f[i].len);
        ck_assert(net_ref_l3_ok(out) && net_ref_l4_ok(out));
    }
    ck_assert_uint_eq(mlx5_vport(n.func)->counters.transmitted_eth_unicast
                      .packets, G_N_ELEMENTS(f));
}
END_TEST

START_TEST(multi_packet_vlan)
{
    NetFrame f = net_make_frame(4, 17, -1, 100);
    uint8_t wqe[1024] = { 0 };
    uint32_t len = fill_multi(wqe, &f, 1);
    size_t got;

    net_ctrl(&n.sq, wqe, OP_MPSW, len / 16, 2);
    MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, 0x8000);
    mlx5_put_be16(wqe + 30, 77);
    post(wqe, len);
    expect_sent(0);
    ck_assert_uint_eq(mlx5_get_be16(net_frame(&n, 0, &got) + 14), 77);
}
END_TEST

/* A segment at fault: what stands before it is sent. */
START_TEST(multi_packet_fault)
{
    NetFrame f[] = { net_make_frame(4, 6, -1, 100),
                     net_make_frame(4, 6, -1, 30) };
    uint8_t wqe[1024] = { 0 };
    uint32_t len;

    len = fill_multi(wqe, f, 2);
    memset(wqe + 48, 0, 16);
    if (_i == 0) {
        net_data_seg(&n, wqe + 48, n.buf, 13);
    } else if (_i == 1) {
        net_data_seg(&n, wqe + 48, n.buf, 100);
        MLX5_SET(wqe_data, wqe + 48, lkey, 0x123456);
    } else {
        net_data_seg(&n, wqe + 48, n.buf, MLX5_ETH_MAX_FRAME + 1);
    }
    post(wqe, len);
    expect_sent(_i == 1 ? MLX5_CQE_SYNDROME_LOCAL_PROT_ERR
                        : MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
    ck_assert_uint_eq(n.h->frames->len, 1);
    ck_assert_uint_eq(mlx5_vport(n.func)->counters.transmit_errors.packets, 1);
}
END_TEST

/* Not offered; no frame in it; headers inlined as well. */
START_TEST(multi_packet_refused)
{
    NetFrame f = net_make_frame(4, 6, -1, 100);
    uint8_t wqe[1024] = { 0 };
    uint32_t len;

    n.func->props.mpw = _i != 0;
    len = fill_multi(wqe, &f, 1);
    if (_i == 1) {
        net_ctrl(&n.sq, wqe, OP_MPSW, 2, 2);
        len = 32;
    } else if (_i == 2) {
        MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, 2);
    }
    post(wqe, len);
    expect_sent(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
    ck_assert_uint_eq(n.h->frames->len, 0);
}
END_TEST

/* --- striding receive ------------------------------------------------------ */

static uint32_t fill_striding(uint8_t in[NET_WQ_IN], NetQueue *q, uint32_t type)
{
    uint8_t *rqc = MLX5_ADDR_OF(create_rq_in, in, ctx);
    uint8_t *wq = MLX5_ADDR_OF(rqc, rqc, wq);

    net_fill_rq(&n, in, q);
    MLX5_SET(wq, wq, wq_type, type);
    MLX5_SET(wq, wq, log_wq_sz, LOG_WQES);
    MLX5_SET(wq, wq, log_wq_stride, 5);
    MLX5_SET(wq, wq, log_wqe_num_of_strides, 3 - 9 + 16);
    MLX5_SET(wq, wq, log_wqe_stride_size, 0);
    return NET_WQ_IN;
}

/* WQE @i: memory at buf + @i * ROOM, then WQE @next. */
static void write_wqe(NetQueue *q, uint32_t i, uint32_t next, uint32_t lkey,
                      uint64_t va)
{
    uint8_t wqe[32] = { 0 };

    MLX5_SET(wqe_srq_next, wqe, next_wqe_index, next);
    MLX5_SET(wqe_data, wqe + 16, byte_count, STRIDES * STRIDE);
    MLX5_SET(wqe_data, wqe + 16, lkey, lkey);
    MLX5_SET(wqe_data, wqe + 16, local_virtual_address, va);
    fake_mem_write(n.h, q->ring + i * 32, wqe, sizeof(wqe));
}

/* A queue of @type whose WQEs lead to each other's next but one. */
static NetQueue striding(uint32_t type, uint32_t posted)
{
    NetQueue q = net_queue_memory(&n);
    uint8_t in[NET_WQ_IN], out[16];

    fill_striding(in, &q, type);
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), out, sizeof(out)));
    q.number = MLX5_GET(create_rq_out, out, rqn);
    net_modify_rq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    for (uint32_t i = 0; i < 1 << LOG_WQES; i++) {
        write_wqe(&q, i, i + 2, n.d->dma_mkey, n.buf + i * ROOM);
    }
    fake_mem_set_be32(n.h, q.dbr, posted);
    net_steer_all(&n, net_create_tir_direct(&n, q.number));
    return q;
}

static NetFrame frame(size_t len)
{
    NetFrame f = net_make_frame(4, 17, -1, len - 42);

    ck_assert_uint_eq(f.len, len);
    return f;
}

/* A completion: of @len bytes, or of the filler, in strides of WQE @id. */
static void expect_strides(NetQueue *q, uint32_t id, uint32_t at,
                           uint32_t byte_cnt)
{
    uint8_t cqe[64];

    ck_assert(fake_driver_poll_cq(n.d, &q->cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), byte_cnt);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_id), id);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), at);
}

static void expect_nothing(NetQueue *q)
{
    uint8_t cqe[64];

    ck_assert(!fake_driver_poll_cq(n.d, &q->cq, cqe));
}

static void expect_bytes(uint64_t gpa, const NetFrame *f)
{
    g_autofree uint8_t *got = g_malloc(f->len);

    fake_mem_read(n.h, gpa, got, f->len);
    ck_assert_mem_eq(got, f->b, f->len);
}

/* Frames follow each other, fill a WQE, and go on in the next. */
START_TEST(strides)
{
    uint32_t type = _i ? MLX5_WQ_TYPE_CYCLIC_STRIDING_RQ
                       : MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ;
    uint32_t second = _i ? 1 : 2;
    NetQueue q = striding(type, 2);
    NetFrame f[] = { frame(100), frame(64), frame(300), frame(512) };

    net_rx(&n, f[0].b, f[0].len);
    expect_strides(&q, 0, 0, 100 | 2 << 16);
    expect_bytes(n.buf, &f[0]);
    net_rx(&n, f[1].b, f[1].len);
    expect_strides(&q, 0, 2, 64 | 1 << 16);
    expect_bytes(n.buf + 2 * STRIDE, &f[1]);
    net_rx(&n, f[2].b, f[2].len);
    expect_strides(&q, 0, 3, 300 | 5 << 16);
    expect_bytes(n.buf + 3 * STRIDE, &f[2]);
    net_rx(&n, f[3].b, f[3].len);
    expect_strides(&q, second, 0, 512 | 8 << 16);
    expect_bytes(n.buf + second * ROOM, &f[3]);
    /* Both WQEs are used up. */
    net_rx(&n, f[0].b, f[0].len);
    expect_nothing(&q);
    fake_host_advance(n.h, 11000000);
    ck_assert_uint_eq(n.func->stats.rx_no_buffer, 1);
    net_rx(&n, f[1].b, f[1].len);
    fake_mem_set_be32(n.h, q.dbr, 3);
    net_rx(&n, f[0].b, f[0].len);
    expect_strides(&q, _i ? 2 : 0, 0, 64 | 1 << 16);
    expect_strides(&q, _i ? 2 : 0, 1, 100 | 2 << 16);
}
END_TEST

/* What doesn't fit into the rest of a WQE goes to the next. */
START_TEST(filler)
{
    NetQueue q = striding(MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ, 2);
    NetFrame f = frame(300);

    net_rx(&n, f.b, f.len);
    expect_strides(&q, 0, 0, 300 | 5 << 16);
    net_rx(&n, f.b, f.len);
    expect_strides(&q, 0, 5, FILLER | 3 << 16);
    expect_strides(&q, 2, 0, 300 | 5 << 16);
    expect_bytes(n.buf + 2 * ROOM, &f);
    /* The filler is given back even if there is no other WQE. */
    net_rx(&n, f.b, f.len);
    expect_strides(&q, 2, 5, FILLER | 3 << 16);
    expect_nothing(&q);
    fake_host_advance(n.h, 11000000);
    ck_assert_uint_eq(n.func->stats.rx_no_buffer, 1);
}
END_TEST

START_TEST(longer_than_a_wqe)
{
    NetQueue q = striding(MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ, 1);
    NetFrame f = frame(513), g = frame(512);

    net_rx(&n, f.b, f.len);
    expect_nothing(&q);
    ck_assert_uint_eq(n.func->stats.rx_oversize, 1);
    net_rx(&n, g.b, g.len);
    expect_strides(&q, 0, 0, 512 | 8 << 16);
}
END_TEST

/* Reset: the first stride of the first WQE again. */
START_TEST(striding_reset)
{
    NetQueue q = striding(MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ, 3);
    NetFrame f = frame(500), g = frame(100);

    net_rx(&n, f.b, f.len);
    net_rx(&n, g.b, g.len);
    expect_strides(&q, 0, 0, 500 | 8 << 16);
    expect_strides(&q, 2, 0, 100 | 2 << 16);
    net_modify_rq(&n, q.number, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_RST);
    net_modify_rq(&n, q.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    net_rx(&n, g.b, g.len);
    expect_strides(&q, 0, 0, 100 | 2 << 16);
}
END_TEST

/* Its memory doesn't reach as far as the strides do; or it isn't there. */
START_TEST(striding_bad_wqe)
{
    NetQueue q = striding(MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ, 2);
    NetFrame f = frame(300), g = frame(100);
    uint8_t cqe[64];

    if (_i) {
        write_wqe(&q, 0, 1, 0x123456, n.buf);
        net_rx(&n, f.b, f.len);
        ck_assert(fake_driver_poll_cq(n.d, &q.cq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome),
                          MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
        return;
    }
    fake_mem_set_be32(n.h, q.ring + 16, 200);
    net_rx(&n, g.b, g.len);
    expect_strides(&q, 0, 0, 100 | 2 << 16);
    net_rx(&n, f.b, f.len);
    expect_nothing(&q);
    ck_assert_uint_eq(n.func->stats.rx_oversize, 1);
}
END_TEST

static uint32_t refused(const uint8_t *in)
{
    uint8_t out[16];

    ck_assert(!fake_driver_cmd(n.d, in, NET_WQ_IN, out, sizeof(out)));
    return n.d->syndrome;
}

START_TEST(refusals)
{
    NetQueue q = net_queue_memory(&n);
    uint8_t in[NET_WQ_IN];
    uint8_t *ctx = MLX5_ADDR_OF(create_rq_in, in, ctx);
    uint8_t *wq = MLX5_ADDR_OF(rqc, ctx, wq);

    fill_striding(in, &q, MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ);
    MLX5_SET(wq, wq, log_wqe_num_of_strides, 2 - 9 + 16);
    ck_assert_uint_eq(refused(in), MLX5_SYND_WQ_STRIDES);
    fill_striding(in, &q, MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ);
    MLX5_SET(wq, wq, two_byte_shift_en, 1);
    ck_assert_uint_eq(refused(in), MLX5_SYND_WQ_TWO_BYTE_SHIFT);
    fill_striding(in, &q, MLX5_WQ_TYPE_LINKED_LIST);
    ck_assert_uint_eq(refused(in), MLX5_SYND_WQ_TYPE);
    n.func->props.striding_rq = n.func->props.mpw = false;
    fill_striding(in, &q, MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ);
    ck_assert_uint_eq(refused(in), MLX5_SYND_WQ_TYPE);
    net_fill_sq(&n, in, &q);
    MLX5_SET(sqc, ctx, allow_multi_pkt_send_wqe, 1);
    ck_assert_uint_eq(refused(in), MLX5_SYND_SQ_MPW);
    net_fill_sq(&n, in, &q);
    MLX5_SET(sqc, ctx, reg_umr, 1);
    ck_assert_uint_eq(refused(in), MLX5_SYND_SQ_REG_UMR);
}
END_TEST

/* --- UMR ------------------------------------------------------------------- */

/* As the driver makes it: free, room for eight pages, local rights. */
static uint32_t free_key(void)
{
    FAKE_BUFFERS(create_mkey);
    uint8_t *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

    MLX5_SET(mkc, mkc, free, 1);
    MLX5_SET(mkc, mkc, umr_en, 1);
    MLX5_SET(mkc, mkc, lr, 1);
    MLX5_SET(mkc, mkc, lw, 1);
    MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, mkc, qpn, MLX5_MKEY_ANY_QPN);
    MLX5_SET(mkc, mkc, pd, n.d->pd);
    MLX5_SET(mkc, mkc, len, 8 * 4096);
    MLX5_SET(mkc, mkc, translations_octword_size, 4);
    MLX5_SET(mkc, mkc, log_page_size, 12);
    FAKE_CMD_OK(n.d, CREATE_MKEY, create_mkey, in, out);
    return MLX5_GET(create_mkey_out, out, mkey_index) << 8;
}

/* The free key's pages become those from @gpa on, writable. */
static uint32_t fill_umr(uint8_t *wqe, uint32_t key, uint64_t gpa)
{
    uint8_t *umr = wqe + 16;

    net_ctrl(&n.sq, wqe, OP_UMR, (128 + 64) / 16, 2);
    MLX5_SET(wqe_ctrl, wqe, general_id, key);
    MLX5_SET(wqe_umr_ctrl, umr, inline, 1);
    MLX5_SET(wqe_umr_ctrl, umr, translation_offset_en, 1);
    MLX5_SET(wqe_umr_ctrl, umr, xlt_octowords, 4);
    MLX5_SET(wqe_umr_ctrl, umr, mkey_mask, 1 << 29);
    for (int i = 0; i < 8; i++) {
        mlx5_prm_set(wqe + 128, i * 64, 64, (gpa + i * 4096ull) | MLX5_MTT_WR);
    }
    return 128 + 64;
}

START_TEST(umr_maps_strides)
{
    NetQueue q = striding(MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ, 1);
    uint32_t key = free_key();
    uint8_t wqe[1024] = { 0 };
    NetFrame f = frame(300);

    allow(true);
    write_wqe(&q, 0, 1, key, 4096 - 256);
    post(wqe, fill_umr(wqe, key, n.buf + 0x10000));
    expect_sent(0);
    net_rx(&n, f.b, f.len);
    expect_strides(&q, 0, 0, 300 | 5 << 16);
    expect_bytes(n.buf + 0x10000 + 4096 - 256, &f);
}
END_TEST

/* A queue that may not, a WQE cut short, a key that is not there. */
START_TEST(umr_refused)
{
    uint32_t key = free_key(), len;
    uint8_t wqe[1024] = { 0 };

    allow(_i != 0);
    len = fill_umr(wqe, _i == 2 ? 0x123400 : key, n.buf);
    if (_i == 1) {
        len = 112;
        net_ctrl(&n.sq, wqe, OP_UMR, len / 16, 2);
    }
    post(wqe, len);
    expect_sent(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
    ck_assert(mlx5_mkey_find(n.func, key)->free);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth wide");
    TCase *t = tcase_create("wide");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, multi_packet);
    tcase_add_test(t, multi_packet_vlan);
    tcase_add_loop_test(t, multi_packet_fault, 0, 3);
    tcase_add_loop_test(t, multi_packet_refused, 0, 3);
    tcase_add_loop_test(t, strides, 0, 2);
    tcase_add_test(t, filler);
    tcase_add_test(t, longer_than_a_wqe);
    tcase_add_test(t, striding_reset);
    tcase_add_loop_test(t, striding_bad_wqe, 0, 2);
    tcase_add_test(t, refusals);
    tcase_add_test(t, umr_maps_strides);
    tcase_add_loop_test(t, umr_refused, 0, 3);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
