/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scatter to CQE: small payload comes in the completion, to the byte, and only
 * where software can copy it from there.
 */
#include "tests/rdma/rdma_helper.h"

#define FROM (R_DATA + 0x1000)
#define TO (R_DATA + 0x200000)

/* Entries of 128 bytes in rings that hold half as many. */
static void wide(RTest *t, RCq *cq)
{
    Mlx5Cq *o = mlx5_obj_get(t->h->func, MLX5_OBJ_CQ, cq->cqn);
    uint8_t op_own = 0xf1;

    o->cqe_bytes = 128;
    o->log_cq_size = R_LOG_CQ - 1;
    for (uint32_t i = 0; i < 1u << o->log_cq_size; i++) {
        fake_mem_write(t->h, cq->ring + i * 128 + 127, &op_own, 1);
    }
}

static RTest *setup(Mlx5QpSt st, uint8_t req, uint8_t res)
{
    RTest *t = r_new(st);

    if (req == 64 || res == 64) {
        wide(t, &t->a.scq);
        wide(t, &t->b.rcq);
    }
    t->a.qp->cs_req_bytes = req;
    t->b.qp->cs_res_bytes = res;
    r_connect(t, 100);
    return t;
}

/* The first entry of the queue, whole. Return: its format. */
static uint32_t entry(RTest *t, const RCq *cq, bool is_wide, uint8_t e[128])
{
    fake_mem_read(t->h, cq->ring, e, 128);
    return (e[is_wide ? 127 : 63] >> 2) & 3;
}

static void send(RTest *t, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_fill(t->h, FROM, 256, len);
    r_fill(t->h, TO, 256, 77);
    r_recv(&t->b, TO, 256);
    r_data(&w, FROM, len, t->key);
    r_post(&t->a, &w);
}

static void read_back(RTest *t, uint32_t len, uint8_t ce)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);

    MLX5_SET(wqe_ctrl, w.b, ce, ce);
    r_fill(t->h, FROM, 256, len);
    r_fill(t->h, TO, 256, 77);
    r_raddr(&w, FROM, t->key);
    r_data(&w, TO, len, t->key);
    r_post(&t->a, &w);
}

/* Nothing reached memory, and the entry has it. */
static void in_entry(RTest *t, const uint8_t *at, uint32_t len)
{
    uint8_t want[256], before[256], now[256];

    fake_mem_read(t->h, FROM, want, len);
    ck_assert_mem_eq(at, want, len);
    r_fill(t->h, TO + 0x1000, 256, 77);
    fake_mem_read(t->h, TO + 0x1000, before, 256);
    fake_mem_read(t->h, TO, now, 256);
    ck_assert_mem_eq(before, now, 256);
}

typedef struct Case {
    uint32_t room, len, format;
} Case;

static const Case cases[] = {
    { 32, 1, 1 }, { 32, 31, 1 }, { 32, 32, 1 }, { 32, 33, 0 },
    { 64, 1, 2 }, { 64, 32, 2 }, { 64, 63, 2 }, { 64, 64, 2 }, { 64, 65, 0 },
    { 0, 1, 0 },
};

static void check(RTest *t, const RCq *cq, const Case *c)
{
    bool is_wide = c->room == 64;
    uint8_t e[128];

    ck_assert_uint_eq(entry(t, cq, is_wide, e), c->format);
    ck_assert_uint_eq(MLX5_GET(cqe64, e + (is_wide ? 64 : 0), byte_cnt),
                      c->len);
    if (c->format) {
        in_entry(t, e, c->len);
    } else {
        ck_assert(r_same(t->h, FROM, TO, c->len));
    }
}

START_TEST(receive)
{
    const Case *c = &cases[_i];
    RTest *t = setup(MLX5_QP_ST_RC, 0, c->room);

    send(t, c->len);
    check(t, &t->b.rcq, c);
    r_free(t);
}
END_TEST

START_TEST(read_answer)
{
    const Case *c = &cases[_i];
    RTest *t = setup(MLX5_QP_ST_RC, c->room, 0);

    read_back(t, c->len, 2);
    check(t, &t->a.scq, c);
    r_free(t);
}
END_TEST

START_TEST(inline_request)
{
    RTest *t = setup(MLX5_QP_ST_UC, 0, 32);
    RWqe w = r_wqe(MLX5_OPCODE_SEND_IMM);
    uint8_t e[128];

    r_recv(&t->b, TO, 256);
    r_inline(&w, "twenty-one characters", 21);
    r_post(&t->a, &w);
    ck_assert_uint_eq(entry(t, &t->b.rcq, false, e), 1);
    ck_assert_mem_eq(e, "twenty-one characters", 21);
    r_free(t);
}
END_TEST

START_TEST(atomic_answer)
{
    RTest *t = setup(MLX5_QP_ST_RC, 32, 0);
    RWqe w = r_wqe(MLX5_OPCODE_ATOMIC_FA);
    uint8_t e[128];

    r_fill(t->h, FROM, 8, 5);
    r_fill(t->h, TO, 256, 77);
    {
        uint8_t before[8];

        fake_mem_read(t->h, FROM, before, 8);
        r_raddr(&w, FROM, t->key);
        r_atomic(&w, 1, 0);
        r_data(&w, TO, 8, t->key);
        r_post(&t->a, &w);
        ck_assert_uint_eq(entry(t, &t->a.scq, false, e), 1);
        /* Answers are big-endian; nobody asked for another order. */
        for (int i = 0; i < 8; i++) {
            ck_assert_uint_eq(e[i], before[7 - i]);
        }
    }
    r_free(t);
}
END_TEST

/* Without a completion there is nothing to put it into. */
START_TEST(silent_read_goes_to_memory)
{
    RTest *t = setup(MLX5_QP_ST_RC, 32, 0);

    read_back(t, 16, 0);
    ck_assert(r_same(t->h, FROM, TO, 16));
    r_free(t);
}
END_TEST

/* Receives in pieces: software fills them one after the other. */
START_TEST(pieces)
{
    RTest *t = setup(MLX5_QP_ST_RC, 0, 32);
    Mlx5WqeData sg[2] = { { .addr = TO, .len = 5, .lkey = t->key },
                          { .addr = TO + 100, .len = 50, .lkey = t->key } };
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t e[128];

    r_fill(t->h, FROM, 32, 1);
    r_fill(t->h, TO, 256, 77);
    r_recv_sg(&t->b, sg, 2);
    r_data(&w, FROM, 20, t->key);
    r_post(&t->a, &w);
    ck_assert_uint_eq(entry(t, &t->b.rcq, false, e), 1);
    in_entry(t, e, 20);
    r_free(t);
}
END_TEST

/* A key that refuses fails the receive, as if it went to memory. */
START_TEST(bad_key)
{
    RTest *t = setup(MLX5_QP_ST_RC, 0, 32);
    Mlx5WqeData sg = { .addr = TO, .len = 50, .lkey = t->key + 0x100 };
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_recv_sg(&t->b, &sg, 1);
    r_data(&w, FROM, 20, t->key);
    r_post(&t->a, &w);
    r_failed(&t->b, &t->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
             MLX5_VENDOR_RECV_KEY);
    r_free(t);
}
END_TEST

/* Addresses under such a key are no pointers. */
START_TEST(zero_based_key_goes_to_memory)
{
    RTest *t = setup(MLX5_QP_ST_RC, 0, 32);
    uint64_t page = TO;
    Mlx5WqeData sg = { .addr = 0, .len = 256 };
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    sg.lkey = t_mkey_mtt(t->h, t->pdn, 0, 0x1000, 12, T_ALL_ACCESS, &page, 1);
    r_fill(t->h, FROM, 256, 5);
    r_recv_sg(&t->b, &sg, 1);
    r_data(&w, FROM, 16, t->key);
    r_post(&t->a, &w);
    ck_assert(r_same(t->h, FROM, TO, 16));
    r_free(t);
}
END_TEST

START_TEST(payload_vanishes)
{
    RTest *t = setup(MLX5_QP_ST_RC, 0, 32);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_recv(&t->b, TO, 256);
    r_data(&w, t->h->ram_end, 20, t->key);
    r_post(&t->a, &w);
    r_failed(&t->b, &t->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
             MLX5_VENDOR_RECV_MEMORY);
    r_free(t);
}
END_TEST

/* The queue's entry decides: nothing is left in the next message's. */
START_TEST(one_after_the_other)
{
    RTest *t = setup(MLX5_QP_ST_RC, 0, 32);
    uint8_t cqe[64];

    send(t, 16);
    send(t, 100);
    send(t, 32);
    for (int i = 0; i < 3; i++) {
        ck_assert(r_poll(&t->b, &t->b.rcq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, cqe_format), i != 1);
    }
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cqe_data");
    TCase *tc = tcase_create("cqe_data");
    int n = G_N_ELEMENTS(cases);

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, receive, 0, n);
    tcase_add_loop_test(tc, read_answer, 0, n);
    tcase_add_test(tc, inline_request);
    tcase_add_test(tc, atomic_answer);
    tcase_add_test(tc, silent_read_goes_to_memory);
    tcase_add_test(tc, pieces);
    tcase_add_test(tc, bad_key);
    tcase_add_test(tc, zero_based_key_goes_to_memory);
    tcase_add_test(tc, payload_vanishes);
    tcase_add_test(tc, one_after_the_other);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
