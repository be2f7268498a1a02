/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of completion queues: every refusal, query, modify, resize.
 */
#include "obj/cq.h"
#include "tests/obj/obj_helper.h"

#define LOG_SIZE 3
#define SIZE (1u << LOG_SIZE)
#define DBR 0x8008

typedef struct Fixture {
    FakeHost *h;
    uint32_t uar, eqn, cqn;
    uint64_t ring;
    Mlx5Cq *cq;
} Fixture;

static Fixture setup(void)
{
    Fixture f = { .h = fake_host_new(NULL), .ring = t_ring(1) };

    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, 4, 1, t_ring(0), 0);
    f.cqn = t_cq(f.h, f.uar, f.eqn, LOG_SIZE, f.ring, DBR);
    f.cq = mlx5_obj_get(f.h->func, MLX5_OBJ_CQ, f.cqn);
    return f;
}

static void post(Fixture *f, uint32_t counter)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe64, cqe, wqe_counter, counter);
    mlx5_func_lock(f->h->func);
    mlx5_cq_post(f->cq, cqe, false);
    mlx5_func_unlock(f->h->func);
}

START_TEST(create_refusals)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *cqc = t.in + MLX5_BYTE_OFF(create_cq_in, cq_context);

#define REFUSED(field, value, len, status, synd)                            \
    do {                                                                    \
        t_cq_fill(&t, f.uar, f.eqn, LOG_SIZE, t_ring(2), DBR);              \
        MLX5_SET(cqc, cqc, field, value);                                   \
        t_refused(f.h, &t, mlx5_cmd_create_cq, len,                         \
                  MLX5_CMD_STAT_##status, MLX5_SYND_##synd);                \
    } while (0)
    REFUSED(log_cq_size, f.h->func->props.log_max_cq_sz + 1, T_CQ_LEN(16),
            BAD_PARAM_ERR, CQ_SIZE);
    REFUSED(cqe_sz, 3, T_CQ_LEN(16), BAD_PARAM_ERR, CQ_CQE_SIZE);
    REFUSED(dbr_umem_valid, 1, T_CQ_LEN(16), BAD_RES_ERR, DBR_UMEM);
    for (int bit = 0; bit < 3; bit++) {
        REFUSED(dbr_addr, DBR + (1 << bit), T_CQ_LEN(16), BAD_PARAM_ERR,
                CQ_DBR);
    }
    REFUSED(uar_page, f.uar + 1, T_CQ_LEN(16), BAD_RES_ERR, CQ_UAR);
    REFUSED(c_eqn_or_apu_element, f.eqn + 1, T_CQ_LEN(16), BAD_RES_ERR, CQ_EQ);
    REFUSED(c_eqn_or_apu_element, 0xffffffff, T_CQ_LEN(16), BAD_RES_ERR,
            CQ_EQ);
    REFUSED(log_cq_size, 7, T_CQ_LEN(1), BAD_PARAM_ERR, CQ_PAGES);
    REFUSED(page_offset, 63, T_CQ_LEN(1), BAD_PARAM_ERR, CQ_PAGES);
    REFUSED(log_page_size, 31, T_CQ_LEN(16), BAD_PARAM_ERR, CQ_PAGES);
    t_cq_fill(&t, f.uar, f.eqn, LOG_SIZE, t_ring(2), DBR);
    MLX5_SET(create_cq_in, t.in, cq_umem_valid, 1);
    t_refused(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QUEUE_UMEM);
#undef REFUSED
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_CQ), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(none_free)
{
    Mlx5FuncProps props;
    Fixture f;
    TestCmd t;

    mlx5_func_props_default(&props);
    props.log_max_cq = 8;
    f = (Fixture){ .h = fake_host_new(&props) };
    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, 4, 1, t_ring(0), 0);
    t_cq_fill(&t, f.uar, f.eqn, LOG_SIZE, t_ring(2), DBR);
    for (unsigned i = 1; i < 256; i++) {
        t_ok(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16));
    }
    t_refused(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_CQ_NONE_FREE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(destroy)
{
    Fixture f = setup();
    TestCmd t;

    mlx5_obj_ref(f.cq);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_BUSY);
    mlx5_obj_unref(f.cq);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_modify_cq, modify_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_UNKNOWN);
    fake_host_free(f.h);
}
END_TEST

START_TEST(query)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *cqc = t.out + MLX5_BYTE_OFF(query_cq_out, cq_context);

    post(&f, 0);
    post(&f, 1);
    fake_mem_set_be32(f.h, DBR, 1);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, status), 0);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, log_cq_size), LOG_SIZE);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, uar_page), f.uar);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, c_eqn_or_apu_element), f.eqn);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, dbr_addr), DBR);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, consumer_counter), 1);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, producer_counter), 2);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, st), 0xa);
    ck_assert_uint_eq(mlx5_prm_get(t.out + MLX5_BYTE_OFF(query_cq_out, pas), 0,
                                   64), f.ring);
    mlx5_func_lock(f.h->func);
    mlx5_cq_doorbell(f.h->func, f.uar, UINT64_C(2) << 32 | f.cqn);
    mlx5_func_unlock(f.h->func);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, st), 0x9);
    mlx5_func_lock(f.h->func);
    mlx5_cq_doorbell(f.h->func, f.uar, UINT64_C(0x1000002) << 32 | f.cqn);
    mlx5_func_unlock(f.h->func);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, st), 0x6);
    fake_host_free(f.h);
}
END_TEST

static void modify_fill(TestCmd *t, const Fixture *f, uint16_t op_mod,
                        uint32_t select)
{
    memset(t, 0, sizeof(*t));
    t->c.op_mod = op_mod;
    MLX5_SET(modify_cq_in, t->in, cqn, f->cqn);
    MLX5_SET(modify_cq_in, t->in, modify_field_select_resize_field_select,
             select);
}

START_TEST(modify)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *in = t.in + MLX5_BYTE_OFF(modify_cq_in, cq_context);
    uint8_t *out = t.out + MLX5_BYTE_OFF(query_cq_out, cq_context);

    modify_fill(&t, &f, 0, 1 << 0 | 1 << 1);
    MLX5_SET(cqc, in, cq_period, 77);
    MLX5_SET(cqc, in, cq_max_count, 88);
    MLX5_SET(cqc, in, cq_period_mode, 1);
    MLX5_SET(cqc, in, log_cq_size, 1);
    t_ok(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0));
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, out, cq_period), 77);
    ck_assert_uint_eq(MLX5_GET(cqc, out, cq_max_count), 88);
    /* What was not selected stays. */
    ck_assert_uint_eq(MLX5_GET(cqc, out, cq_period_mode), 0);
    ck_assert_uint_eq(MLX5_GET(cqc, out, log_cq_size), LOG_SIZE);
    modify_fill(&t, &f, 0, 1 << 2 | 1 << 4);
    MLX5_SET(cqc, in, oi, 1);
    MLX5_SET(cqc, in, cq_period_mode, 1);
    t_ok(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0));
    ck_assert(f.cq->oi);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, out, cq_period_mode), 1);
    ck_assert_uint_eq(MLX5_GET(cqc, out, cq_period), 77);
    modify_fill(&t, &f, 0, 1 << 3);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_MODIFY_FIELD);
    modify_fill(&t, &f, 2, 1);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_MODIFY_OP_MOD);
    fake_host_free(f.h);
}
END_TEST

static void resize_fill(TestCmd *t, const Fixture *f, uint32_t log_size,
                        uint64_t ring)
{
    modify_fill(t, f, 1, 7);
    MLX5_SET(cqc, t->in + MLX5_BYTE_OFF(modify_cq_in, cq_context), log_cq_size,
             log_size);
    t_pas(t->in, MLX5_BYTE_OFF(modify_cq_in, pas), ring, 16);
}

/* The driver's walk (mlx5_ib cq.c copy_resize_cqes), both ways of size. */
static void resize_to(uint32_t new_log, uint32_t done, uint32_t pending)
{
    Fixture f = setup();
    uint32_t new_size = 1u << new_log, i = done;
    uint8_t cqe[64];
    TestCmd t;

    for (uint32_t n = 0; n < done + pending; n++) {
        post(&f, n);
        if (n < done) {
            fake_mem_set_be32(f.h, DBR, n + 1);
        }
    }
    t_cq_init_buf(f.h, t_ring(2), new_size, 64);
    resize_fill(&t, &f, new_log, t_ring(2));
    t_ok(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16));
    /* The old ring: what was pending, then the entry that ends it. */
    for (;; i++) {
        fake_mem_read(f.h, f.ring + (i % SIZE) * 64, cqe, 64);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, owner), i >> LOG_SIZE & 1);
        if (MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_RESIZE_CQ) {
            break;
        }
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), i);
    }
    ck_assert_uint_eq(i, done + pending);
    /* The new ring goes on with the next index and its own owner bit. */
    for (uint32_t n = i + 1; n < i + 1 + 3 * new_size; n++) {
        fake_mem_set_be32(f.h, DBR, n);
        post(&f, n);
        fake_mem_read(f.h, t_ring(2) + (n % new_size) * 64, cqe, 64);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), n & 0xffff);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, owner), n >> new_log & 1);
    }
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}

START_TEST(resize)
{
    for (uint32_t done = 0; done < 3 * SIZE; done++) {
        resize_to(LOG_SIZE + 2, done, 5);
        resize_to(LOG_SIZE - 1, done, 3);
    }
    resize_to(LOG_SIZE + 1, 0, 0);
    resize_to(LOG_SIZE + 1, 2, SIZE - 1);
}
END_TEST

START_TEST(resize_refusals)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *cqc = t.in + MLX5_BYTE_OFF(modify_cq_in, cq_context);

    resize_fill(&t, &f, 4, t_ring(2));
    MLX5_SET(modify_cq_in, t.in, modify_field_select_resize_field_select, 8);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_RESIZE_FIELD);
    MLX5_SET(modify_cq_in, t.in, modify_field_select_resize_field_select, 6);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_RESIZE_FIELD);
    resize_fill(&t, &f, 4, t_ring(2));
    MLX5_SET(cqc, cqc, cqe_sz, 1);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_RESIZE_CQE_SIZE);
    resize_fill(&t, &f, f.h->func->props.log_max_cq_sz + 1, t_ring(2));
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_RESIZE_SIZE);
    resize_fill(&t, &f, 12, t_ring(2));
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CQ_RESIZE_PAGES);
    /* Four pending: a queue of four has no room for them and the mark. */
    for (uint32_t i = 0; i < 4; i++) {
        post(&f, i);
    }
    resize_fill(&t, &f, 2, t_ring(2));
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR, MLX5_SYND_CQ_RESIZE_ROOM);
    /* The old queue full: no room for the mark. */
    for (uint32_t i = 4; i < SIZE; i++) {
        post(&f, i);
    }
    resize_fill(&t, &f, 6, t_ring(2));
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR, MLX5_SYND_CQ_RESIZE_ROOM);
    ck_assert_uint_eq(f.cq->log_cq_size, LOG_SIZE);
    /* The record cannot be read. */
    f.h->ram_end = DBR;
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR, MLX5_SYND_CQ_RESIZE_ROOM);
    /* The old queue cannot be written. */
    f.h->ram_end = f.ring;
    fake_mem_set_be32(f.h, DBR, 6);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(16),
              MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_CQ_RESIZE_WRITE);
    ck_assert(f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(owners)
{
    Fixture f = setup();
    TestCmd t;

    /* A user context creates on its own UAR page and any EQ. */
    t_cq_fill(&t, f.uar, f.eqn, LOG_SIZE, t_ring(2), DBR);
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16), 5);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_UAR);
    ((Mlx5Obj *)mlx5_obj_get(f.h->func, MLX5_OBJ_UAR, f.uar))->uid = 5;
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16), 5);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    f.cqn = MLX5_GET(create_cq_out, t.out, cqn);
    memset(t.in, 0, sizeof(t.in));
    MLX5_SET(destroy_cq_in, t.in, cqn, f.cqn);
    t_run(f.h, &t, mlx5_cmd_destroy_cq, 16, 6);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_UNKNOWN);
    t_run(f.h, &t, mlx5_cmd_destroy_cq, 16, 5);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cq_cmd");
    TCase *tc = tcase_create("cq_cmd");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, create_refusals);
    tcase_add_test(tc, none_free);
    tcase_add_test(tc, destroy);
    tcase_add_test(tc, query);
    tcase_add_test(tc, modify);
    tcase_add_test(tc, resize);
    tcase_add_test(tc, resize_refusals);
    tcase_add_test(tc, owners);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
