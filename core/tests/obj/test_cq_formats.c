/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats of completions: padding, compression in both layouts, and how events
 * are moderated. What the card wrote is taken apart by decoders of our own, as
 * the drivers do it (en_rx.c; wq.h), from the bytes alone.
 */
#include "obj/cq_internal.h"
#include "tests/obj/obj_helper.h"

#define LOG_SIZE 7
#define SIZE (1u << LOG_SIZE)
#define DBR 0x8008
#define EQ_LOG 6
#define QPN 0x4321

typedef struct Fixture {
    FakeHost *h;
    uint32_t uar, eqn, cqn, stride, eq_ci;
    uint64_t ring, eq_ring;
    Mlx5Cq *cq;
    bool enhanced;
    /* Decoder. */
    uint32_t ci, left, at;
    uint8_t title[64], minis[64];
    uint16_t counter;
} Fixture;

typedef struct Setup {
    uint32_t cqe_sz, comp, format, layout, period, count, mode, brk;
} Setup;

static uint32_t fill(Fixture *f, TestCmd *t, const Setup *s)
{
    uint8_t *cqc = t->in + MLX5_BYTE_OFF(create_cq_in, cq_context);

    t_cq_fill(t, f->uar, f->eqn, LOG_SIZE, f->ring, DBR);
    MLX5_SET(cqc, cqc, cqe_sz, s->cqe_sz);
    MLX5_SET(cqc, cqc, cqe_comp_en, s->comp);
    MLX5_SET(cqc, cqc, mini_cqe_res_format, s->format);
    MLX5_SET(cqc, cqc, cqe_compression_layout, s->layout);
    MLX5_SET(cqc, cqc, cq_period, s->period);
    MLX5_SET(cqc, cqc, cq_max_count, s->count);
    MLX5_SET(cqc, cqc, cq_period_mode, s->mode);
    MLX5_SET(cqc, cqc, scqe_break_moderation_en, s->brk);
    return T_CQ_LEN(16);
}

static Fixture setup_bare(void)
{
    Fixture f = { .h = fake_host_new(NULL), .ring = t_ring(1),
                  .eq_ring = t_ring(0) };

    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, EQ_LOG, 1, f.eq_ring,
                 1u << MLX5_EVENT_TYPE_CQ_ERROR);
    return f;
}

/* As drivers fill a new buffer. */
static void init_ring(Fixture *f, uint64_t ring)
{
    uint8_t init[2] = { 0xff, 0xf1 };

    for (uint32_t i = 0; i < SIZE; i++) {
        fake_mem_write(f->h, ring + i * f->stride + f->stride - 2, init, 2);
    }
}

static Fixture setup(const Setup *s)
{
    Fixture f = setup_bare();
    TestCmd t;

    f.stride = s->cqe_sz ? 128 : 64;
    f.enhanced = s->layout == 1;
    init_ring(&f, f.ring);
    t_ok(f.h, &t, mlx5_cmd_create_cq, fill(&f, &t, s));
    f.cqn = MLX5_GET(create_cq_out, t.out, cqn);
    f.cq = mlx5_obj_get(f.h->func, MLX5_OBJ_CQ, f.cqn);
    return f;
}

/* --- posting --- */

typedef struct Want {
    uint8_t opcode, send_opcode;
    uint16_t counter;
    uint32_t bytes, qpn, hash;
    uint16_t csum;
} Want;

static void make(const Want *w, uint8_t cqe[64])
{
    memset(cqe, 0, 64);
    MLX5_SET(cqe64, cqe, opcode, w->opcode);
    MLX5_SET(cqe64, cqe, send_wqe_opcode, w->send_opcode);
    MLX5_SET(cqe64, cqe, wqe_counter, w->counter);
    MLX5_SET(cqe64, cqe, byte_cnt, w->bytes);
    MLX5_SET(cqe64, cqe, qpn, w->qpn);
    MLX5_SET(cqe64, cqe, rx_hash_result, w->hash);
    MLX5_SET(cqe64, cqe, check_sum, w->csum);
}

/* Under one hold of the lock, as an engine's slice posts them. */
static void post_all(Fixture *f, const Want *w, uint32_t n)
{
    uint8_t cqe[64];

    mlx5_func_lock(f->h->func);
    for (uint32_t i = 0; i < n; i++) {
        make(&w[i], cqe);
        mlx5_cq_post(f->cq, cqe, false);
    }
    mlx5_func_unlock(f->h->func);
}

/* --- decoders --- */

static uint64_t slot_at(const Fixture *f, uint32_t n)
{
    return f->ring + (uint64_t)(n % SIZE) * f->stride + f->stride - 64;
}

static void slot(Fixture *f, uint32_t n, uint8_t b[64])
{
    fake_mem_read(f->h, slot_at(f, n), b, 64);
}

static uint32_t be(const uint8_t *p, int n)
{
    uint32_t v = 0;

    while (n--) {
        v = v << 8 | *p++;
    }
    return v;
}

static void put_be(uint8_t *p, int n, uint32_t v)
{
    while (n--) {
        p[n] = v;
        v >>= 8;
    }
}

/* A whole entry of the title and mini number @i. */
static void unzip(Fixture *f, uint32_t i, uint32_t format, uint8_t out[64])
{
    const uint8_t *m = f->minis + i * 8;

    memcpy(out, f->title, 64);
    memcpy(out + 0x2c, m + 4, 4);
    if (out[63] >> 4 == 0) {
        memcpy(out + 0x3c, m, 2);
        out[0x38] = m[2];
        return;
    }
    if (format == 0) {
        memcpy(out + 0x0c, m, 4);
    } else {
        memcpy(out + 0x14, m, 2);
    }
    if (format == 3) {
        memcpy(out + 0x3c, m + 2, 2);
    } else {
        put_be(out + 0x3c, 2, f->counter);
    }
    f->counter++;
}

static void give_back(Fixture *f, uint32_t n)
{
    uint8_t owner = (n >> LOG_SIZE) & 1;

    fake_mem_write(f->h, slot_at(f, n) + 63, &owner, 1);
}

static bool next_basic(Fixture *f, uint32_t format, uint8_t out[64])
{
    uint8_t b[64];

    if (!f->left) {
        slot(f, f->ci, b);
        if (b[63] >> 4 == 15 || (b[63] & 1) != (f->ci >> LOG_SIZE & 1)) {
            return false;
        }
        if ((b[63] >> 2 & 3) != 3) {
            memcpy(out, b, 64);
            f->ci++;
            return true;
        }
        memcpy(f->title, b, 64);
        f->left = be(b + 0x2c, 4);
        ck_assert_uint_ge(f->left, 2);
        f->title[63] &= 0xf0;
        f->counter = be(b + 0x3c, 2);
        f->at = 0;
        slot(f, f->ci + 1, f->minis);
    } else if (f->at == 8) {
        slot(f, f->ci, f->minis);
        f->at = 0;
    }
    unzip(f, f->at++, format, out);
    f->left--;
    give_back(f, f->ci++);
    return true;
}

static bool next_enhanced(Fixture *f, uint32_t format, uint8_t out[64])
{
    uint8_t b[64];

    if (!f->left) {
        slot(f, f->ci, b);
        if (b[62] != (f->ci >> LOG_SIZE & 0xff)) {
            return false;
        }
        if ((b[63] >> 2 & 3) != 3) {
            memcpy(f->title, b, 64);
            f->title[63] &= 0xf0;
            f->counter = be(b + 0x3c, 2) + 1;
            memcpy(out, b, 64);
            f->ci++;
            return true;
        }
        memcpy(f->minis, b, 64);
        f->left = (b[63] >> 4) + 1;
        ck_assert_uint_le(f->left, 7);
        ck_assert_uint_eq(b[63] & 1, f->ci >> LOG_SIZE & 1);
        f->at = 0;
    }
    unzip(f, f->at++, format, out);
    f->left--;
    f->ci++;
    return true;
}

static bool next(Fixture *f, uint32_t format, uint8_t out[64])
{
    bool any = f->enhanced ? next_enhanced(f, format, out)
                           : next_basic(f, format, out);

    fake_mem_set_be32(f->h, DBR, f->ci & 0xffffff);
    return any;
}

static void expect(Fixture *f, uint32_t format, const Want *w)
{
    uint8_t b[64];

    ck_assert(next(f, format, b));
    ck_assert_uint_eq(b[63] >> 4, w->opcode);
    ck_assert_uint_eq(be(b + 0x3c, 2), w->counter);
    ck_assert_uint_eq(be(b + 0x2c, 4), w->bytes);
    ck_assert_uint_eq(b[0x38], w->send_opcode);
    ck_assert_uint_eq(be(b + 0x39, 3), w->qpn);
    if (w->opcode) {
        ck_assert_uint_eq(be(b + 0x0c, 4), w->hash);
        ck_assert_uint_eq(be(b + 0x14, 2), w->csum);
    }
}

static void expect_all(Fixture *f, uint32_t format, const Want *w, uint32_t n)
{
    uint8_t b[64];

    for (uint32_t i = 0; i < n; i++) {
        expect(f, format, &w[i]);
    }
    ck_assert(!next(f, format, b));
}

/* Entries that say they hold several. */
static uint32_t zipped(Fixture *f, uint32_t n)
{
    uint32_t found = 0;
    uint8_t b[64];

    for (uint32_t i = 0; i < n; i++) {
        slot(f, f->ci + i, b);
        found += (b[63] >> 2 & 3) == 3;
    }
    return found;
}

/* --- padding --- */

START_TEST(padding)
{
    Setup s = { .cqe_sz = 2 };
    Fixture f = setup(&s);
    Want w = { .opcode = 2, .qpn = QPN, .counter = 7 };
    uint8_t half[64], zeros[64] = { 0 };

    memset(half, 0xa5, sizeof(half));
    fake_mem_write(f.h, f.ring, half, 64);
    post_all(&f, &w, 1);
    fake_mem_read(f.h, f.ring, half, 64);
    ck_assert_mem_eq(half, zeros, 64);
    expect_all(&f, 0, &w, 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(no_padding)
{
    Setup s = { .cqe_sz = 1 };
    Fixture f = setup(&s);
    Want w = { .opcode = 2, .qpn = QPN, .counter = 7 };
    uint8_t half[64], same[64];

    memset(half, 0xa5, sizeof(half));
    fake_mem_write(f.h, f.ring, half, 64);
    post_all(&f, &w, 1);
    fake_mem_read(f.h, f.ring, same, 64);
    ck_assert_mem_eq(half, same, 64);
    expect_all(&f, 0, &w, 1);
    fake_host_free(f.h);
}
END_TEST

/* --- compression --- */

typedef struct Shape {
    uint32_t cqe_sz, format, layout;
} Shape;

static const Shape shapes[] = {
    { 0, 0, 0 }, { 0, 1, 0 }, { 0, 3, 0 }, { 1, 0, 0 }, { 1, 1, 0 },
    { 1, 3, 0 }, { 2, 1, 0 }, { 0, 0, 1 }, { 0, 1, 1 }, { 0, 3, 1 },
    { 1, 3, 1 },
};

static Fixture setup_shape(const Shape *sh)
{
    Setup s = { .cqe_sz = sh->cqe_sz, .comp = 1, .format = sh->format,
                .layout = sh->layout };

    return setup(&s);
}

static void fill_recv(Want *w, uint32_t n, uint16_t first, uint32_t format)
{
    for (uint32_t i = 0; i < n; i++) {
        w[i] = (Want){ .opcode = 2, .qpn = QPN, .counter = first + i,
                       .bytes = 100 + i,
                       .hash = format == 0 ? 0xabc00000 + i : 0x77,
                       .csum = format == 0 ? 0x55 : 0x4000 + i };
    }
}

START_TEST(receives_of_every_number)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Want w[70];

    for (uint32_t n = 1; n <= 70; n++) {
        fill_recv(w, n, n * 77, sh->format);
        post_all(&f, w, n);
        /* An enhanced title may be the one of the round before. */
        ck_assert(n == 1 ? !zipped(&f, n)
                         : zipped(&f, n) || n <= 1u + sh->layout);
        expect_all(&f, sh->format, w, n);
    }
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(requests_of_every_number)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Want w[70];

    for (uint32_t n = 1; n <= 70; n++) {
        for (uint32_t i = 0; i < n; i++) {
            /* Counters of a send queue go in basic blocks. */
            w[i] = (Want){ .opcode = 0, .qpn = QPN, .counter = n + i * 3,
                           .bytes = i % 5 * 8,
                           .send_opcode = i % 2 ? 0x08 : 0x10 };
        }
        post_all(&f, w, n);
        expect_all(&f, sh->format, w, n);
    }
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

/* Sessions end where anything differs that a mini entry does not say. */
START_TEST(mixed)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Want w[60];
    uint32_t rnd = 12345;

    for (uint32_t round = 0; round < 50; round++) {
        uint32_t n = 1 + round % 60;

        fill_recv(w, n, round, sh->format);
        for (uint32_t i = 0; i < n; i++) {
            rnd = rnd * 1103515245 + 12345;
            w[i].qpn += rnd >> 16 & 1;
            w[i].opcode = (rnd >> 17 & 7) == 0 ? 0 : 2;
            w[i].counter += (rnd >> 20 & 7) == 0;
            w[i].send_opcode = w[i].opcode ? 0 : rnd >> 24 & 1;
        }
        post_all(&f, w, n);
        expect_all(&f, sh->format, w, n);
    }
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(stride_index_frees_the_counter)
{
    Setup s = { .comp = 1, .format = 3 };
    Fixture f = setup(&s);
    Want w[8];

    fill_recv(w, 8, 0, 3);
    for (int i = 0; i < 8; i++) {
        w[i].counter = 1000 - i * 13;
    }
    post_all(&f, w, 8);
    ck_assert_uint_eq(zipped(&f, 1), 1);
    expect_all(&f, 3, w, 8);
    fake_host_free(f.h);
}
END_TEST

/* An error stands alone and comes after what was held before it. */
START_TEST(errors_stand_alone)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Want w[7];

    fill_recv(w, 7, 0, sh->format);
    w[3].opcode = MLX5_CQE_RESP_ERR;
    post_all(&f, w, 7);
    expect_all(&f, sh->format, w, 7);
    fake_host_free(f.h);
}
END_TEST

START_TEST(solicited_stands_alone)
{
    Setup s = { .comp = 1, .format = 1 };
    Fixture f = setup(&s);
    Want w[3];
    uint8_t cqe[64];

    fill_recv(w, 3, 0, 1);
    mlx5_func_lock(f.h->func);
    for (int i = 0; i < 3; i++) {
        make(&w[i], cqe);
        mlx5_cq_post(f.cq, cqe, i == 1);
    }
    mlx5_func_unlock(f.h->func);
    ck_assert_uint_eq(zipped(&f, 3), 0);
    expect_all(&f, 1, w, 3);
    fake_host_free(f.h);
}
END_TEST

/* Held completions count against the room there is. */
START_TEST(overrun_with_held)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Want w[SIZE + 1];

    fill_recv(w, SIZE + 1, 0, sh->format);
    post_all(&f, w, SIZE + 1);
    ck_assert(f.cq->failed);
    expect_all(&f, sh->format, w, SIZE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(memory_fails_with_held)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Want w[30];

    fill_recv(w, 30, 0, sh->format);
    f.h->ram_end = f.ring;
    post_all(&f, w, 30);
    ck_assert(f.cq->failed);
    f.h->ram_end = UINT64_C(1) << 40;
    fake_host_free(f.h);
}
END_TEST

/* Commands see what is held: a resize takes all before its own entry. */
START_TEST(resize_settles)
{
    const Shape *sh = &shapes[_i];
    Fixture f = setup_shape(sh);
    Setup s = { .cqe_sz = sh->cqe_sz };
    Want w[5];
    TestCmd t;
    uint8_t cqe[64];

    fill_recv(w, 5, 0, sh->format);
    init_ring(&f, t_ring(3));
    fill(&f, &t, &s);
    t_pas(t.in, MLX5_BYTE_OFF(modify_cq_in, pas), t_ring(3), 16);
    MLX5_SET(modify_cq_in, t.in, cqn, f.cqn);
    MLX5_SET(modify_cq_in, t.in, modify_field_select_resize_field_select, 7);
    mlx5_func_lock(f.h->func);
    for (int i = 0; i < 5; i++) {
        make(&w[i], cqe);
        mlx5_cq_post(f.cq, cqe, false);
    }
    t.c = (Mlx5Cmd){ .in = t.in, .in_len = T_CQ_LEN(16), .out = t.out,
                     .out_len = sizeof(t.out), .op_mod = 1 };
    mlx5_cmd_modify_cq(f.h->func, &t.c);
    mlx5_func_unlock(f.h->func);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    for (int i = 0; i < 5; i++) {
        expect(&f, sh->format, &w[i]);
    }
    ck_assert(next(&f, sh->format, cqe));
    ck_assert_uint_eq(cqe[63] >> 4, MLX5_CQE_RESIZE_CQ);
    f.ring = t_ring(3);
    post_all(&f, w, 5);
    expect_all(&f, sh->format, w, 5);
    fake_host_free(f.h);
}
END_TEST

START_TEST(destroyed_while_held)
{
    Setup s = { .comp = 1 };
    Fixture f = setup(&s);
    Want w[5];
    uint8_t cqe[64];

    fill_recv(w, 5, 0, 0);
    mlx5_func_lock(f.h->func);
    for (int i = 0; i < 5; i++) {
        make(&w[i], cqe);
        mlx5_cq_post(f.cq, cqe, false);
    }
    mlx5_obj_delete(f.cq);
    mlx5_func_unlock(f.h->func);
    slot(&f, 0, cqe);
    ck_assert_uint_eq(cqe[63], 0xf1);
    fake_host_free(f.h);
}
END_TEST

/* --- moderation --- */

static void arm(Fixture *f, uint32_t sn, bool solicited, uint32_t ci)
{
    uint32_t word = (sn & 3) << 28 | (uint32_t)solicited << 24 | ci;

    mlx5_func_bar_write(f->h->func, (uint64_t)f->uar * 4096 + 0x20,
                        (uint64_t)word << 32 | f->cqn, 8);
}

static unsigned events(Fixture *f)
{
    uint8_t eqe[64];
    unsigned n = 0;

    for (;; f->eq_ci++, n++) {
        fake_mem_read(f->h, f->eq_ring + (f->eq_ci % (1 << EQ_LOG)) * 64, eqe,
                      64);
        if ((eqe[63] & 1) != (f->eq_ci >> EQ_LOG & 1)) {
            return n;
        }
        ck_assert_uint_eq(eqe[1], MLX5_EVENT_TYPE_COMP);
    }
}

static void post_n(Fixture *f, uint32_t n)
{
    Want w = { .opcode = 2, .qpn = QPN };

    for (uint32_t i = 0; i < n; i++) {
        post_all(f, &w, 1);
    }
}

static void pass(Fixture *f, int64_t ns)
{
    f->h->now_ns += ns;
    mlx5_func_timer(f->h->func);
}

START_TEST(by_count)
{
    Setup s = { .period = 100, .count = 4, .mode = 1 };
    Fixture f = setup(&s);

    arm(&f, 0, false, 0);
    post_n(&f, 3);
    ck_assert_uint_eq(events(&f), 0);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 1);
    /* The count begins anew. */
    arm(&f, 1, false, 4);
    post_n(&f, 3);
    ck_assert_uint_eq(events(&f), 0);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(period_from_event)
{
    Setup s = { .period = 100, .count = 50, .mode = 0 };
    Fixture f = setup(&s);

    f.h->now_ns = 1000000;
    arm(&f, 0, false, 0);
    /* Long since the last event: at once. */
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 1);
    arm(&f, 1, false, 1);
    pass(&f, 40000);
    post_n(&f, 1);
    pass(&f, 30000);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 0);
    pass(&f, 29000);
    ck_assert_uint_eq(events(&f), 0);
    pass(&f, 1000);
    ck_assert_uint_eq(events(&f), 1);
    pass(&f, 1000000);
    ck_assert_uint_eq(events(&f), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(period_from_completion)
{
    Setup s = { .period = 100, .count = 50, .mode = 1 };
    Fixture f = setup(&s);

    f.h->now_ns = 1000000;
    arm(&f, 0, false, 0);
    for (int i = 0; i < 5; i++) {
        post_n(&f, 1);
        pass(&f, 90000);
        ck_assert_uint_eq(events(&f), 0);
    }
    pass(&f, 10000);
    ck_assert_uint_eq(events(&f), 1);
    /* Not armed: no event, however many come. */
    post_n(&f, 60);
    pass(&f, 1000000);
    ck_assert_uint_eq(events(&f), 0);
    /* Armed late, enough are there. */
    arm(&f, 1, false, 5);
    ck_assert_uint_eq(events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(no_period_no_moderation)
{
    Setup s = { .count = 50, .mode = 1 };
    Fixture f = setup(&s);

    arm(&f, 0, false, 0);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(solicited_breaks)
{
    Setup s = { .period = 100, .count = 50, .mode = 1, .brk = 1 };
    Fixture f = setup(&s);
    Want w = { .opcode = 2, .qpn = QPN };
    uint8_t cqe[64];

    arm(&f, 0, false, 0);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 0);
    mlx5_func_lock(f.h->func);
    make(&w, cqe);
    mlx5_cq_post(f.cq, cqe, true);
    mlx5_func_unlock(f.h->func);
    ck_assert_uint_eq(events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(modified)
{
    Setup s = { .period = 100, .count = 50, .mode = 1 };
    Fixture f = setup(&s);
    TestCmd t = { 0 };
    uint8_t *cqc = t.in + MLX5_BYTE_OFF(modify_cq_in, cq_context);

    arm(&f, 0, false, 0);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 0);
    MLX5_SET(modify_cq_in, t.in, cqn, f.cqn);
    /* Period and count. */
    MLX5_SET(modify_cq_in, t.in, modify_field_select_resize_field_select, 3);
    t_ok(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0));
    /* What waited for the period waits no more. */
    ck_assert_uint_eq(events(&f), 1);
    arm(&f, 1, false, 1);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 1);
    MLX5_SET(cqc, cqc, cq_period, 4095);
    MLX5_SET(cqc, cqc, cq_max_count, 2);
    t_ok(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0));
    arm(&f, 2, false, 2);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 0);
    post_n(&f, 1);
    ck_assert_uint_eq(events(&f), 1);
    MLX5_SET(modify_cq_in, t.in, modify_field_select_resize_field_select, 16);
    MLX5_SET(cqc, cqc, cq_period_mode, 2);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_MODIFY_PERIOD_MODE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(destroyed_while_waiting)
{
    Setup s = { .period = 100, .count = 50, .mode = 1 };
    Fixture f = setup(&s);
    TestCmd t;

    arm(&f, 0, false, 0);
    post_n(&f, 1);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    pass(&f, 1000000);
    ck_assert_uint_eq(events(&f), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(refusals)
{
    static const struct {
        Setup s;
        uint32_t syndrome;
    } bad[] = {
        { { .comp = 1, .format = 2 }, MLX5_SYND_CQ_MINI_FORMAT },
        { { .comp = 1, .layout = 2 }, MLX5_SYND_CQ_COMP_LAYOUT },
        { { .comp = 1, .layout = 3 }, MLX5_SYND_CQ_COMP_LAYOUT },
        { { .mode = 2 }, MLX5_SYND_CQ_PERIOD_MODE },
        { { .mode = 3 }, MLX5_SYND_CQ_PERIOD_MODE },
        { { .cqe_sz = 3 }, MLX5_SYND_CQ_CQE_SIZE },
    };
    Fixture f = setup_bare();
    Setup s = { .cqe_sz = 2 }, c = { .comp = 1 };
    TestCmd t;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        t_refused(f.h, &t, mlx5_cmd_create_cq, fill(&f, &t, &bad[i].s),
                  MLX5_CMD_STAT_BAD_PARAM_ERR, bad[i].syndrome);
    }
    f.h->func->props.cqe_128_always = false;
    t_refused(f.h, &t, mlx5_cmd_create_cq, fill(&f, &t, &s),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_PADDING);
    f.h->func->props.cqe_compression = false;
    t_refused(f.h, &t, mlx5_cmd_create_cq, fill(&f, &t, &c),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_COMPRESSION);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cq_formats");
    TCase *tc = tcase_create("formats");
    int n = G_N_ELEMENTS(shapes);

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, padding);
    tcase_add_test(tc, no_padding);
    tcase_add_loop_test(tc, receives_of_every_number, 0, n);
    tcase_add_loop_test(tc, requests_of_every_number, 0, n);
    tcase_add_loop_test(tc, mixed, 0, n);
    tcase_add_test(tc, stride_index_frees_the_counter);
    tcase_add_loop_test(tc, errors_stand_alone, 0, n);
    tcase_add_test(tc, solicited_stands_alone);
    tcase_add_loop_test(tc, overrun_with_held, 0, n);
    tcase_add_loop_test(tc, memory_fails_with_held, 0, n);
    tcase_add_loop_test(tc, resize_settles, 0, n);
    tcase_add_test(tc, destroyed_while_held);
    tcase_add_test(tc, by_count);
    tcase_add_test(tc, period_from_event);
    tcase_add_test(tc, period_from_completion);
    tcase_add_test(tc, no_period_no_moderation);
    tcase_add_test(tc, solicited_breaks);
    tcase_add_test(tc, modified);
    tcase_add_test(tc, destroyed_while_waiting);
    tcase_add_test(tc, refusals);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
