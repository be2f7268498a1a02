/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block signatures in traffic: keys configured by the work requests of
 * libmlx5 and of the kernel's integrity regions, then sent, received, written
 * and read through; errors, each with its completion; and a send queue that
 * drains at one.
 */
#include "rdma/umr.h"
#include "tests/obj/sig_helper.h"
#include "tests/rdma/rdma_helper.h"

#define A_DATA R_DATA
#define B_DATA (R_DATA + 0x100000)

static RTest *t;
static TestDomain crc = { .format = T_CRC32C, .selector = 1, .ones = true };
static TestDomain dif = { .inl_type = 1, .selector = 1, .ones = true,
                          .inc = true, .app = 0xabcd, .ref = 0x1234567 };

static void setup(void)
{
    t = r_new(MLX5_QP_ST_RC);
    r_connect(t, 100);
}

static void teardown(void)
{
    r_free(t);
}

/* A region whose bytes a signature covers. */
typedef struct Region {
    uint32_t key, psv[2];
    const TestDomain *mem, *wire;
} Region;

static Region region(const TestDomain *mem, const TestDomain *wire)
{
    return (Region){ .key = t_free_sig_key(t->h, t->pdn, 4),
                     .psv = { t_psv(t->h, t->pdn), t_psv(t->h, t->pdn) },
                     .mem = mem, .wire = wire };
}

/* mkey_mask: len, sigerr, bsf, key, rights, free (libmlx5, wr.c). */
#define MASK (1ull << 0 | 1ull << 9 | 1ull << 12 | 1ull << 13 | 1ull << 18 | \
              1ull << 19 | 1ull << 20 | 1ull << 29)

/* mlx5_send_wr_mkey_configure and its setters. */
static RWqe configure(const Region *r, uint64_t addr, uint32_t len,
                      uint8_t check, uint32_t count)
{
    RWqe w = r_wqe(MLX5_OPCODE_UMR);
    uint8_t *umr = w.b + 16, *mkc = w.b + 64, *bsf = w.b + 192;
    TestDomain m = r->mem ? *r->mem : crc, x = r->wire ? *r->wire : crc;

    m.psvn = r->psv[0];
    x.psvn = r->psv[1];
    MLX5_SET(wqe_ctrl, w.b, general_id, r->key);
    MLX5_SET(wqe_ctrl, w.b, ce, 0);
    MLX5_SET(wqe_umr_ctrl, umr, inline, 1);
    MLX5_SET(wqe_umr_ctrl, umr, xlt_octowords, 4);
    MLX5_SET(wqe_umr_ctrl, umr, xlt_offset_15_0, 4);
    MLX5_SET(wqe_umr_ctrl, umr, mkey_mask, MASK);
    MLX5_SET(mkc, mkc, lw, 1);
    MLX5_SET(mkc, mkc, rr, 1);
    MLX5_SET(mkc, mkc, rw, 1);
    MLX5_SET(mkc, mkc, bsf_en, 1);
    MLX5_SET(mkc, mkc, qpn, MLX5_MKEY_ANY_QPN);
    MLX5_SET(mkc, mkc, mkey_7_0, r->key & 0xff);
    MLX5_SET(mkc, mkc, len, len);
    MLX5_SET(mkc, mkc, expected_sigerr_count, count & 1);
    t_klm(w.b + 128, len, t->key, addr);
    t_bsf(bsf, r->mem ? &m : NULL, r->wire ? &x : NULL);
    MLX5_SET(bsf_basic, bsf, check_byte_mask, check);
    w.len = 256;
    return w;
}

static void set_psv(RQp *q, uint32_t psv, uint64_t value, bool signaled)
{
    RWqe w = r_wqe(MLX5_OPCODE_SET_PSV);

    MLX5_SET(wqe_set_psv, w.b + 16, psv_index, psv);
    MLX5_SET(wqe_set_psv, w.b + 16, transient_signature, value);
    MLX5_SET(wqe_ctrl, w.b, ce, signaled ? 2 : 0);
    w.len = 32;
    r_put(q, &w);
}

/* All that one call of the library posts; one completion. */
static void enable(RQp *q, const Region *r, uint64_t addr, uint32_t len,
                   uint8_t check, uint32_t count)
{
    RWqe w = configure(r, addr, len, check, count);
    uint16_t index;

    r_put(q, &w);
    if (r->mem) {
        set_psv(q, r->psv[0], t_transient(r->mem), false);
    }
    if (r->wire) {
        set_psv(q, r->psv[1], t_transient(r->wire), false);
    }
    index = q->sq_pi;
    w = r_wqe(MLX5_OPCODE_NOP);
    r_post(q, &w);
    r_sent(q, index, MLX5_OPCODE_NOP);
}

static RWqe send_wqe(uint64_t addr, uint32_t len, uint32_t lkey)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_data(&w, addr, len, lkey);
    return w;
}

/* The next completion of @cq is a signature error of @key. */
static void failed(RQp *q, RCq *cq, uint32_t key, uint16_t syndrome,
                   uint8_t domain, uint64_t offset)
{
    uint8_t cqe[64];

    ck_assert(r_poll(q, cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_SIG_ERR);
    ck_assert_uint_eq(MLX5_GET(cqe_sig_err, cqe, mkey), key);
    ck_assert_uint_eq(MLX5_GET(cqe_sig_err, cqe, syndrome), syndrome);
    ck_assert_uint_eq(MLX5_GET(cqe_sig_err, cqe, domain), domain);
    ck_assert_uint_eq(MLX5_GET(cqe_sig_err, cqe, sig_type), 0);
    ck_assert_uint_eq(MLX5_GET(cqe_sig_err, cqe, err_offset), offset);
    ck_assert_uint_eq(MLX5_GET(cqe_sig_err, cqe, qpn), q->qpn);
    ck_assert_uint_ne(MLX5_GET(cqe_sig_err, cqe, expected_trans_sig),
                      MLX5_GET(cqe_sig_err, cqe, actual_trans_sig));
}

/* Nothing in memory, T10-DIF on the wire, at both ends: many times. */
START_TEST(wire_both_ends)
{
    Region a = region(NULL, &dif), b = region(NULL, &dif);
    uint32_t len = 200 * 1024; /* several pieces, which end inside blocks */
    uint16_t index;
    RWqe w;

    enable(&t->a, &a, A_DATA, len, 0xff, 1);
    enable(&t->b, &b, B_DATA, len, 0xff, 1);
    for (uint32_t round = 0; round < 3; round++) {
        Mlx5WqeData d = { .addr = 0, .len = len, .lkey = b.key };

        r_fill(t->h, A_DATA, len, round);
        r_recv_sg(&t->b, &d, 1);
        index = t->a.sq_pi;
        w = send_wqe(0, len, a.key);
        r_post(&t->a, &w);
        r_sent(&t->a, index, MLX5_OPCODE_SEND);
        r_received(&t->b, round, MLX5_CQE_RESP_SEND, len + len / 512 * 8);
        ck_assert(r_same(t->h, A_DATA, B_DATA, len));
        r_quiet(&t->a);
        r_quiet(&t->b);
    }
}
END_TEST

/* One end protects, the other sees data and signatures as plain bytes. */
START_TEST(insert_then_strip)
{
    Region a = region(NULL, &crc), b = region(&crc, NULL);
    uint32_t len = 150 * 512, wire = len + 150 * 4;
    uint16_t index;
    RWqe w;

    r_fill(t->h, A_DATA, len, 5);
    enable(&t->a, &a, A_DATA, len, 0xff, 1);
    r_recv(&t->b, B_DATA, wire);
    w = send_wqe(0, len, a.key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, wire);
    /* Back: b checks and strips. */
    enable(&t->b, &b, B_DATA, wire, 0xff, 1);
    r_recv(&t->a, A_DATA + 0x80000, len);
    w = send_wqe(0, len, b.key);
    index = t->b.sq_pi;
    r_post(&t->b, &w);
    r_sent(&t->b, index, MLX5_OPCODE_SEND);
    r_received(&t->a, 0, MLX5_CQE_RESP_SEND, len);
    ck_assert(r_same(t->h, A_DATA, A_DATA + 0x80000, len));
    r_quiet(&t->a);
    r_quiet(&t->b);
}
END_TEST

/* As an initiator of storage does: the peer writes to the key, then reads. */
START_TEST(remote_write_and_read)
{
    Region b = region(&dif, NULL), a = region(NULL, &dif);
    uint32_t len = 130 * 512;
    uint16_t index;
    RWqe w;

    enable(&t->b, &b, B_DATA, len + 130 * 8, 0xff, 1);
    r_fill(t->h, A_DATA, len, 9);
    w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    r_raddr(&w, 0, b.key);
    r_data(&w, A_DATA, len, t->key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_RDMA_WRITE);
    w = r_wqe(MLX5_OPCODE_RDMA_READ);
    r_raddr(&w, 0, b.key);
    r_data(&w, A_DATA + 0x80000, len, t->key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(t->h, A_DATA, A_DATA + 0x80000, len));
    /* What b's memory has now, a reads as a wire with signatures. */
    enable(&t->a, &a, A_DATA + 0x80000, len, 0xff, 1);
    r_fill(t->h, A_DATA + 0x80000, len, 77);
    w = r_wqe(MLX5_OPCODE_RDMA_READ);
    r_raddr(&w, B_DATA, t->key);
    r_data(&w, 0, len, a.key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(t->h, A_DATA, A_DATA + 0x80000, len));
    r_quiet(&t->a);
    r_quiet(&t->b);
    /* One byte more than there is. */
    w = r_wqe(MLX5_OPCODE_RDMA_READ);
    r_raddr(&w, 0, b.key);
    r_data(&w, A_DATA, len + 1, t->key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, index, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
}
END_TEST

/* test_mkey_sig_err: the transfer completes, the error comes before it. */
START_TEST(error_when_sending)
{
    Region a = region(&crc, NULL);
    uint16_t index;
    RWqe w;

    enable(&t->a, &a, A_DATA, 3 * 516, 0xf0, 1);
    r_fill(t->h, A_DATA, 3 * 516, 1);
    for (uint32_t round = 0; round < 4; round++) {
        r_recv(&t->b, B_DATA, 3 * 512);
        w = send_wqe(0, 3 * 512, a.key);
        index = t->a.sq_pi;
        r_post(&t->a, &w);
        if (round == 0 || round == 3) {
            failed(&t->a, &t->a.scq, a.key, MLX5_SIGERR_GUARD, 1, 0);
        }
        r_sent(&t->a, index, MLX5_OPCODE_SEND);
        r_received(&t->b, round, MLX5_CQE_RESP_SEND, 3 * 512);
        r_quiet(&t->a);
        if (round == 1) { /* armed by the same count: not at all */
            enable(&t->a, &a, A_DATA, 3 * 516, 0xf0, 1);
        }
        if (round == 2) {
            enable(&t->a, &a, A_DATA, 3 * 516, 0xf0, 2);
        }
    }
}
END_TEST

/* Bad signatures that come in: by receive, by the peer's write, by a read. */
START_TEST(error_when_receiving)
{
    Region b = region(NULL, &dif), a = region(NULL, &dif);
    Mlx5WqeData d = { .addr = 0, .len = 1024, .lkey = b.key };
    uint16_t index;
    RWqe w;

    r_fill(t->h, A_DATA, 1040, 3);
    enable(&t->b, &b, B_DATA, 1024, 0xff, 1);
    r_recv_sg(&t->b, &d, 1);
    w = send_wqe(A_DATA, 1040, t->key);
    r_post(&t->a, &w);
    failed(&t->b, &t->b.rcq, b.key, MLX5_SIGERR_GUARD, 0, 0);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 1040);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);

    enable(&t->b, &b, B_DATA, 1024, 0x0f, 2);
    w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    r_raddr(&w, 0, b.key);
    r_data(&w, A_DATA, 1040, t->key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    failed(&t->b, &t->b.rcq, b.key, MLX5_SIGERR_REFTAG, 0, 0);
    r_sent(&t->a, index, MLX5_OPCODE_RDMA_WRITE);

    enable(&t->a, &a, B_DATA, 1024, 0x30, 1);
    w = r_wqe(MLX5_OPCODE_RDMA_READ);
    r_raddr(&w, A_DATA, t->key);
    r_data(&w, 0, 1024, a.key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    failed(&t->a, &t->a.scq, a.key, MLX5_SIGERR_APPTAG, 0, 0);
    r_sent(&t->a, index, MLX5_OPCODE_RDMA_READ);
    r_quiet(&t->a);
    r_quiet(&t->b);
}
END_TEST

/* The peer reads from a key whose memory is bad: its side is told. */
START_TEST(error_when_read_from)
{
    Region b = region(&crc, NULL);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);

    enable(&t->b, &b, B_DATA, 1032, 0xf0, 1);
    r_raddr(&w, 0, b.key);
    r_data(&w, A_DATA, 1024, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_READ);
    failed(&t->b, &t->b.rcq, b.key, MLX5_SIGERR_GUARD, 1, 0);
    r_quiet(&t->b);
}
END_TEST

/*
 * The kernel's integrity regions: data and protection in two places, a repeat
 * block joins them (wr.c set_sig_data_segment), the same structure on the wire.
 */
START_TEST(kernel_integrity)
{
    enum { BLOCKS = 100, LEN = BLOCKS * 512 };
    TestDomain wire = dif;
    Region a = region(&dif, &wire), b = region(NULL, &dif);
    Mlx5WqeData d = { .addr = 0, .len = LEN, .lkey = b.key };
    uint8_t *p;
    uint16_t index;
    RWqe w;

    wire.same = true;
    wire.copy = 0xff;
    /* Protection is made by receiving through another key first. */
    r_fill(t->h, A_DATA, LEN, 4);
    {
        Region make = region(&dif, NULL);

        enable(&t->b, &make, B_DATA, BLOCKS * 520, 0xff, 1);
        w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
        r_raddr(&w, 0, make.key);
        r_data(&w, A_DATA, LEN, t->key);
        index = t->a.sq_pi;
        r_post(&t->a, &w);
        r_sent(&t->a, index, MLX5_OPCODE_RDMA_WRITE);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint8_t pi[8];

        fake_mem_read(t->h, B_DATA + i * 520 + 512, pi, 8);
        fake_mem_write(t->h, A_DATA + 0x80000 + i * 8, pi, 8);
    }
    w = configure(&a, 0, BLOCKS * 520, 0xff, 1);
    p = w.b + 128;
    memset(p, 0, 64);
    mlx5_prm_set(p, 0, 32, 520);
    mlx5_prm_set(p, 32, 32, 0x400);
    mlx5_prm_set(p, 64, 32, BLOCKS);
    mlx5_prm_set(p, 112, 16, 2);
    mlx5_prm_set(p + 16, 0, 32, 512 << 16 | 512);
    mlx5_prm_set(p + 16, 32, 32, t->key);
    mlx5_prm_set(p + 16, 64, 64, A_DATA);
    mlx5_prm_set(p + 32, 0, 32, 8 << 16 | 8);
    mlx5_prm_set(p + 32, 32, 32, t->key);
    mlx5_prm_set(p + 32, 64, 64, A_DATA + 0x80000);
    MLX5_SET(wqe_umr_ctrl, w.b + 16, check_free, 1);
    r_put(&t->a, &w);
    set_psv(&t->a, a.psv[0], t_transient(&dif), false);
    set_psv(&t->a, a.psv[1], t_transient(&dif), false);
    enable(&t->b, &b, B_DATA, LEN, 0xff, 1);
    r_recv_sg(&t->b, &d, 1);
    index = t->a.sq_pi;
    w = send_wqe(0, BLOCKS * 520, a.key);
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, BLOCKS * 520);
    ck_assert(r_same(t->h, A_DATA, B_DATA, LEN));
    r_quiet(&t->a);
    r_quiet(&t->b);
    /* One protection field is bad: passed on, and told by both ends. */
    fake_mem_write(t->h, A_DATA + 0x80000 + 57 * 8, "\x5a", 1);
    r_recv_sg(&t->b, &d, 1);
    index = t->a.sq_pi;
    w = send_wqe(0, BLOCKS * 520, a.key);
    r_post(&t->a, &w);
    failed(&t->a, &t->a.scq, a.key, MLX5_SIGERR_GUARD, 1, 57 * 520);
    failed(&t->b, &t->b.rcq, b.key, MLX5_SIGERR_GUARD, 0, 57 * 520);
    r_sent(&t->a, index, MLX5_OPCODE_SEND);
    r_received(&t->b, 1, MLX5_CQE_RESP_SEND, BLOCKS * 520);
}
END_TEST

/* The list of pieces may mix plain keys and such with signatures. */
START_TEST(mixed_pieces)
{
    Region a = region(NULL, &crc), b = region(NULL, &crc);
    Mlx5WqeData d[] = {
        { .addr = B_DATA, .len = 100, .lkey = t->key },
        { .addr = 0, .len = 1024, .lkey = b.key },
        { .addr = B_DATA + 0x8000, .len = 200, .lkey = t->key },
    };
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint16_t index;

    enable(&t->a, &a, A_DATA + 0x4000, 1024, 0xff, 1);
    enable(&t->b, &b, B_DATA + 0x4000, 1024, 0xff, 1);
    r_fill(t->h, A_DATA, 0x10000, 8);
    r_recv_sg(&t->b, d, 3);
    r_inline(&w, "0123456789", 10);
    r_data(&w, A_DATA + 10, 90, t->key);
    r_data(&w, 0, 1024, a.key);
    r_data(&w, A_DATA + 0x8000, 200, t->key);
    index = t->a.sq_pi;
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 100 + 1032 + 200);
    ck_assert(r_same(t->h, A_DATA + 10, B_DATA + 10, 90));
    ck_assert(r_same(t->h, A_DATA + 0x4000, B_DATA + 0x4000, 1024));
    ck_assert(r_same(t->h, A_DATA + 0x8000, B_DATA + 0x8000, 200));
    r_quiet(&t->b);
}
END_TEST

/* What comes from no memory is zeroes, and not what the guest has at 0. */
START_TEST(null_key)
{
    Region b = region(&crc, NULL);
    Mlx5WqeData d[] = {
        { .addr = B_DATA, .len = 100, .lkey = t->key },
        { .addr = 0, .len = 512, .lkey = b.key },
    };
    RWqe w = send_wqe(0, 612, MLX5_NULL_MKEY);
    uint8_t got[512], zero[512] = { 0 };
    uint16_t index = t->a.sq_pi;

    enable(&t->b, &b, B_DATA + 0x4000, 516, 0xff, 1);
    r_fill(t->h, 0, 4096, 7);
    r_fill(t->h, B_DATA + 0x4000, 512, 8);
    r_recv_sg(&t->b, d, 2);
    r_post(&t->a, &w);
    r_sent(&t->a, index, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 612);
    fake_mem_read(t->h, B_DATA + 0x4000, got, sizeof(got));
    ck_assert_mem_eq(got, zero, sizeof(got));
}
END_TEST

/* ---- refusals ---- */

START_TEST(refused_bsf)
{
    static const struct {
        uint16_t at;             /* bit of the BSF to set ... */
        uint8_t bits, value;
        Mlx5UmrResult result;
        uint8_t syndrome;
    } cases[] = {
        { 0x00, 2, 3, MLX5_UMR_BSF_SIZE,
          MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR },
        { 0x90, 8, 1, MLX5_UMR_BSF_EXTENDED,
          MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR },
        { 0x40, 8, 0x99, MLX5_UMR_BSF_FORMAT,
          MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR },
        { 0x10, 8, 5, MLX5_UMR_BSF_BLOCK,
          MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR },
        { 0x03, 1, 1, MLX5_UMR_BSF_STRUCTURE,
          MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR },
        { 0x50, 8, 0x7f, MLX5_UMR_BSF_PSV,
          MLX5_CQE_SYNDROME_MW_BIND_ERR },
    };
    Region a = region(NULL, &crc);
    RWqe w = configure(&a, A_DATA, 512, 0xff, 1);

    if (_i == 4) { /* the same, with a memory side of another size */
        a.mem = &dif;
        w = configure(&a, A_DATA, 520, 0xff, 1);
    }
    mlx5_prm_set(w.b + 192, cases[_i].at, cases[_i].bits, cases[_i].value);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, cases[_i].syndrome,
             mlx5_umr_vendor(cases[_i].result));
    ck_assert(mlx5_mkey_find(t->h->func, a.key)->free);
    ck_assert(!mlx5_mkey_find(t->h->func, a.key)->sig);
}
END_TEST

START_TEST(refused_room_and_missing)
{
    Region a = region(NULL, &crc);
    Mlx5Mkey *mkey = mlx5_mkey_find(t->h->func, a.key);
    RWqe w = configure(&a, A_DATA, 512, 0xff, 1);

    if (_i == 0) {
        MLX5_SET(mkc, mkey->mkc, bsf_octword_size, 0);
    } else {
        MLX5_SET(wqe_umr_ctrl, w.b + 16, xlt_offset_15_0, 0);
        w.len = 192;
    }
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_MW_BIND_ERR,
             mlx5_umr_vendor(_i == 0 ? MLX5_UMR_BSF_ROOM
                                     : MLX5_UMR_BSF_MISSING));
}
END_TEST

START_TEST(refused_psv)
{
    uint32_t other = t_alloc(t->h, mlx5_cmd_alloc_pd);
    uint32_t psv = _i == 0 ? 0x1234 : t_psv(t->h, other);

    set_psv(&t->a, psv, 1, true);
    r_ring(&t->a);
    fake_host_work(t->h);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_MW_BIND_ERR,
             MLX5_VENDOR_PSV_UNKNOWN);
}
END_TEST

START_TEST(psv_gone)
{
    Region a = region(NULL, &crc);
    TestCmd d = { 0 };
    uint16_t index;
    RWqe w;

    enable(&t->a, &a, A_DATA, 512, 0xff, 1);
    MLX5_SET(destroy_psv_in, d.in, psvn, a.psv[1]);
    t_ok(t->h, &d, mlx5_cmd_destroy_psv, MLX5_ST_SZ_BYTES(destroy_psv_in));
    r_recv(&t->b, B_DATA, 1024);
    index = t->a.sq_pi;
    w = send_wqe(0, 512, a.key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, index, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
             MLX5_VENDOR_GATHER_KEY);
}
END_TEST

/* An atomic cannot go through a signature. */
START_TEST(no_atomics)
{
    Region b = region(NULL, &crc);
    RWqe w = r_wqe(MLX5_OPCODE_ATOMIC_FA);

    enable(&t->b, &b, B_DATA, 512, 0xff, 1);
    r_raddr(&w, 0, b.key);
    r_atomic(&w, 1, 0);
    r_data(&w, A_DATA, 8, t->key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
}
END_TEST

/*
 * Nor can its result, whose eight bytes are another number of them on the wire:
 * none if they are a signature in memory, sixteen with one among them.
 */
START_TEST(no_atomic_results)
{
    Region a = region(_i ? &dif : NULL, &dif);
    RWqe w = r_wqe(MLX5_OPCODE_ATOMIC_FA);
    uint16_t at;

    enable(&t->a, &a, A_DATA, 520, 0xff, 1);
    at = t->a.sq_pi;
    r_raddr(&w, B_DATA, t->key);
    r_atomic(&w, 1, 0);
    r_data(&w, _i ? 512 : 508, 8, a.key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, at, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
             MLX5_VENDOR_WQE_ATOMIC_SIZE);
}
END_TEST

/* ---- pipelining ---- */

static RWqe fenced(RWqe w)
{
    MLX5_SET(wqe_ctrl, w.b, fm, 2);
    return w;
}

/* Back to RTS; the doorbell is for who works, after the command. */
static void go_on(RQp *q)
{
    r_set_state(q, MLX5_QP_STATE_RTS);
    r_ring(q);
    fake_host_work(t->h);
}

/*
 * test_mkey_sig_pipelining_bad: the write is bad, so the send behind it stays;
 * software turns it into a NOP, posts another one, and goes on.
 */
START_TEST(drains_at_an_error)
{
    Region a = region(&crc, NULL);
    uint16_t at;
    RWqe w;

    R_QPC(&t->a, drain_sigerr, 1);
    enable(&t->a, &a, A_DATA, 516, 0xf0, 1);
    r_fill(t->h, A_DATA, 516, 2);
    r_recv(&t->b, B_DATA, 64);
    w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    MLX5_SET(wqe_ctrl, w.b, ce, 0);
    r_raddr(&w, B_DATA, t->key);
    r_data(&w, 0, 512, a.key);
    r_put(&t->a, &w);
    at = t->a.sq_pi;
    w = fenced(send_wqe(A_DATA, 16, t->key));
    r_post(&t->a, &w);
    failed(&t->a, &t->a.scq, a.key, MLX5_SIGERR_GUARD, 1, 0);
    r_quiet(&t->a);
    r_quiet(&t->b);
    ck_assert_int_eq(t->a.qp->state, MLX5_QP_STATE_SQD);
    ck_assert_uint_eq(r_event(t, MLX5_EVENT_TYPE_SQ_DRAINED), t->a.qpn);
    ck_assert(r_same(t->h, A_DATA, B_DATA, 512));
    mlx5_rdma_engine.qp_query(t->a.qp);
    ck_assert_uint_eq(MLX5_GET(qpc, t->a.qp->qpc, hw_sq_wqebb_counter), at);
    /* Cancel it where it stands. */
    MLX5_SET(wqe_ctrl, w.b, opcode, MLX5_OPCODE_NOP);
    fake_mem_write(t->h, t->a.ring + t->a.sq_base + at % 64 * 64, w.b, 16);
    w = fenced(send_wqe(A_DATA + 100, 16, t->key));
    r_post(&t->a, &w);
    r_quiet(&t->a);
    go_on(&t->a);
    r_sent(&t->a, at, MLX5_OPCODE_NOP);
    r_sent(&t->a, at + 1, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 16);
    ck_assert(r_same(t->h, A_DATA + 100, B_DATA, 16));
}
END_TEST

/* The error comes with a read's answer, behind which a fenced send waits. */
START_TEST(drains_at_a_read)
{
    Region a = region(NULL, &crc);
    uint16_t at;
    RWqe w;

    R_QPC(&t->a, drain_sigerr, 1);
    enable(&t->a, &a, A_DATA, 102400, 0xf0, 1);
    r_recv(&t->b, B_DATA, 64);
    w = r_wqe(MLX5_OPCODE_RDMA_READ);
    r_raddr(&w, B_DATA, t->key);
    r_data(&w, 0, 102400, a.key);
    at = t->a.sq_pi;
    r_put(&t->a, &w);
    w = fenced(send_wqe(A_DATA, 16, t->key));
    r_put(&t->a, &w);
    r_post(&t->a, &w);
    failed(&t->a, &t->a.scq, a.key, MLX5_SIGERR_GUARD, 0, 0);
    r_sent(&t->a, at, MLX5_OPCODE_RDMA_READ);
    r_quiet(&t->a);
    r_quiet(&t->b);
    ck_assert_int_eq(t->a.qp->state, MLX5_QP_STATE_SQD);
    mlx5_rdma_engine.qp_query(t->a.qp);
    ck_assert_uint_eq(MLX5_GET(qpc, t->a.qp->qpc, hw_sq_wqebb_counter), at + 1);
    r_recv(&t->b, B_DATA, 64);
    go_on(&t->a);
    r_sent(&t->a, at + 1, MLX5_OPCODE_SEND);
    r_sent(&t->a, at + 2, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 16);
    r_received(&t->b, 1, MLX5_CQE_RESP_SEND, 16);
}
END_TEST

/* What was begun is finished first, also if it has to be sent again. */
START_TEST(drains_after_retries)
{
    Region a = region(&crc, NULL);
    uint16_t at;
    RWqe w;

    R_QPC(&t->a, drain_sigerr, 1);
    enable(&t->a, &a, A_DATA, 516, 0xf0, 1);
    at = t->a.sq_pi;
    w = send_wqe(0, 512, a.key); /* no receive is posted: RNR */
    r_put(&t->a, &w);
    w = send_wqe(A_DATA, 16, t->key);
    r_post(&t->a, &w);
    failed(&t->a, &t->a.scq, a.key, MLX5_SIGERR_GUARD, 1, 0);
    r_quiet(&t->a);
    ck_assert_int_eq(t->a.qp->state, MLX5_QP_STATE_RTS);
    r_recv(&t->b, B_DATA, 512);
    fake_host_advance(t->h, INT64_C(1000000000));
    fake_host_work(t->h);
    r_sent(&t->a, at, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 512);
    r_quiet(&t->a);
    ck_assert_int_eq(t->a.qp->state, MLX5_QP_STATE_SQD);
    r_recv(&t->b, B_DATA, 512);
    go_on(&t->a);
    r_sent(&t->a, at + 1, MLX5_OPCODE_SEND);
}
END_TEST

/* A good signature drains nothing. */
START_TEST(goes_on_if_good)
{
    Region a = region(&crc, NULL);
    uint16_t at;
    RWqe w;

    R_QPC(&t->a, drain_sigerr, 1);
    enable(&t->a, &a, A_DATA, 516, 0, 1);
    r_recv(&t->b, B_DATA, 64);
    w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    r_raddr(&w, B_DATA, t->key);
    r_data(&w, 0, 512, a.key);
    at = t->a.sq_pi;
    r_put(&t->a, &w);
    w = fenced(send_wqe(A_DATA, 16, t->key));
    r_post(&t->a, &w);
    r_sent(&t->a, at, MLX5_OPCODE_RDMA_WRITE);
    r_sent(&t->a, at + 1, MLX5_OPCODE_SEND);
    ck_assert_int_eq(t->a.qp->state, MLX5_QP_STATE_RTS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sig flow");
    TCase *tc = tcase_create("sig flow");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, wire_both_ends);
    tcase_add_test(tc, insert_then_strip);
    tcase_add_test(tc, remote_write_and_read);
    tcase_add_test(tc, error_when_sending);
    tcase_add_test(tc, error_when_receiving);
    tcase_add_test(tc, error_when_read_from);
    tcase_add_test(tc, kernel_integrity);
    tcase_add_test(tc, mixed_pieces);
    tcase_add_test(tc, null_key);
    tcase_add_loop_test(tc, refused_bsf, 0, 6);
    tcase_add_loop_test(tc, refused_room_and_missing, 0, 2);
    tcase_add_loop_test(tc, refused_psv, 0, 2);
    tcase_add_test(tc, psv_gone);
    tcase_add_test(tc, no_atomics);
    tcase_add_loop_test(tc, no_atomic_results, 0, 2);
    tcase_add_test(tc, drains_at_an_error);
    tcase_add_test(tc, drains_at_a_read);
    tcase_add_test(tc, drains_after_retries);
    tcase_add_test(tc, goes_on_if_good);
    suite_add_tcase(s, tc);
    return t_main(s);
}
