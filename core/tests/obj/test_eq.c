/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event queues: every refusal, owner bits over several rounds, arming,
 * overrun, doorbells from the wrong place.
 */
#include "fw/fw.h"
#include "obj/eq.h"
#include "obj/limits.h"
#include "obj/uar.h"
#include "tests/obj/obj_helper.h"

#define LOG_SIZE 3
#define SIZE (1u << LOG_SIZE)
#define VECTOR 2
#define EVENT MLX5_EVENT_TYPE_PORT_CHANGE

typedef struct Fixture {
    FakeHost *h;
    uint32_t uar, eqn, ci;
    uint64_t ring;
} Fixture;

static Fixture setup(void)
{
    Fixture f = { .h = fake_host_new(NULL), .ring = t_ring(0) };

    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, LOG_SIZE, VECTOR, f.ring, 1u << EVENT);
    return f;
}

/* As the driver writes it: 4 big-endian bytes. */
static void ring_eq(Fixture *f, uint32_t uar, uint32_t eqn, uint32_t ci,
                    bool arm)
{
    mlx5_func_bar_write(f->h->func, (uint64_t)uar * 4096 +
                        (arm ? MLX5_UAR_EQ_ARM : MLX5_UAR_EQ_UPDATE),
                        eqn << 24 | (ci & 0xffffff), 4);
}

static void happen(Fixture *f, uint8_t sub_type)
{
    uint8_t data[28] = { sub_type };

    mlx5_func_lock(f->h->func);
    mlx5_event_raise(f->h->func, EVENT, sub_type, data);
    mlx5_func_unlock(f->h->func);
}

/* The driver's own test for a valid entry (eq.h mlx5_eq_get_eqe). */
static bool next_eqe(Fixture *f, uint8_t eqe[64])
{
    fake_mem_read(f->h, f->ring + (f->ci % SIZE) * 64, eqe, 64);
    if (MLX5_GET(eqe, eqe, owner) != (f->ci >> LOG_SIZE & 1)) {
        return false;
    }
    f->ci++;
    return true;
}

START_TEST(owner_bits_over_rounds)
{
    Fixture f = setup();
    uint8_t eqe[64];

    ck_assert(!next_eqe(&f, eqe));
    for (unsigned i = 0; i < 5 * SIZE + 3; i++) {
        happen(&f, i);
        ck_assert(next_eqe(&f, eqe));
        ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_type), EVENT);
        ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_sub_type), i);
        ck_assert_uint_eq(eqe[0x20], i & 0xff);
        ck_assert(!next_eqe(&f, eqe));
        ring_eq(&f, f.uar, f.eqn, f.ci, false);
    }
    /* Never armed, never interrupted. */
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(one_interrupt_per_arming)
{
    Fixture f = setup();

    ring_eq(&f, f.uar, f.eqn, 0, true);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    happen(&f, 1);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 1);
    happen(&f, 2);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    /* Armed with something unread: at once, and only once. */
    ring_eq(&f, f.uar, f.eqn, 1, true);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 1);
    happen(&f, 3);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    /* An update without arming never interrupts. */
    ring_eq(&f, f.uar, f.eqn, 2, false);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    /* All read: the next event does. */
    ring_eq(&f, f.uar, f.eqn, 3, true);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    happen(&f, 4);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(overrun_drops_and_reports)
{
    Fixture f = setup();
    uint8_t eqe[64];

    for (unsigned i = 0; i < SIZE + 2; i++) {
        happen(&f, i);
    }
    /* The first SIZE are there and untouched; the health buffer says why. */
    for (unsigned i = 0; i < SIZE; i++) {
        ck_assert(next_eqe(&f, eqe));
        ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_sub_type), i);
    }
    ck_assert(!next_eqe(&f, eqe));
    ck_assert_uint_eq(mlx5_func_bar_read(f.h->func, 0x1010, 4) >> 24,
                      MLX5_HEALTH_SYNDR_EQ_OVERRUN);
    /* After reading it works on. */
    ring_eq(&f, f.uar, f.eqn, f.ci, true);
    happen(&f, 77);
    ck_assert(next_eqe(&f, eqe));
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_sub_type), 77);
    fake_host_free(f.h);
}
END_TEST

START_TEST(masks_decide)
{
    Fixture f = setup();
    uint8_t data[28] = { 0 };
    uint32_t second = t_eq(f.h, f.uar, 4, 3, t_ring(1), 1u << EVENT | 1u << 4);

    mlx5_func_lock(f.h->func);
    ck_assert(mlx5_event_wanted(f.h->func, EVENT));
    ck_assert(mlx5_event_wanted(f.h->func, 4));
    ck_assert(!mlx5_event_wanted(f.h->func, 5));
    ck_assert(!mlx5_event_wanted(f.h->func, 0xff));
    ck_assert(!mlx5_event_raise(f.h->func, 5, 0, data));
    ck_assert(mlx5_event_raise(f.h->func, EVENT, 0, data));
    mlx5_event_raise_wq(f.h->func, 4, 0x123456, 2);
    mlx5_func_unlock(f.h->func);
    /* Both have the first, only the second has the other. */
    ck_assert_uint_eq(fake_mem_be32(f.h, f.ring), (uint32_t)EVENT << 16);
    ck_assert_uint_eq(fake_mem_be32(f.h, f.ring + 64), 0);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(1)), (uint32_t)EVENT << 16);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(1) + 64), 4u << 16);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(1) + 64 + 0x34), 2u << 24);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(1) + 64 + 0x38), 0x123456);
    ck_assert_uint_ne(second, f.eqn);
    fake_host_free(f.h);
}
END_TEST

START_TEST(strange_doorbells)
{
    Fixture f = setup();
    uint32_t other = t_alloc(f.h, mlx5_cmd_alloc_uar);

    happen(&f, 1);
    ring_eq(&f, other, f.eqn, 0, true);       /* not its page */
    ring_eq(&f, other + 1, f.eqn, 0, true);   /* nobody's page */
    ring_eq(&f, f.uar, f.eqn + 1, 0, true);   /* no such EQ */
    ring_eq(&f, f.uar, f.eqn, 2, true);       /* from the future */
    ring_eq(&f, f.uar, f.eqn, 0xffffff, true);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    ck_assert_uint_gt(f.h->guest_errors->len, 0);
    ring_eq(&f, f.uar, f.eqn, 0, true);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(memory_fails)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *eqc = t.out + MLX5_BYTE_OFF(query_eq_out, eq_context_entry);

    f.h->ram_end = f.ring;
    ring_eq(&f, f.uar, f.eqn, 0, true);
    happen(&f, 1);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    T_DESTROY(f.h, &t, mlx5_cmd_query_eq, query_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, status), 0xa);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, producer_counter), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(query)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *eqc = t.out + MLX5_BYTE_OFF(query_eq_out, eq_context_entry);

    happen(&f, 1);
    happen(&f, 2);
    happen(&f, 3);
    ring_eq(&f, f.uar, f.eqn, 2, false);
    T_DESTROY(f.h, &t, mlx5_cmd_query_eq, query_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, log_eq_size), LOG_SIZE);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, intr), VECTOR);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, uar_page), f.uar);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, consumer_counter), 2);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, producer_counter), 3);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, st), 0xa);
    ck_assert_uint_eq(MLX5_GET(query_eq_out, t.out, event_bitmask),
                      1u << EVENT);
    ck_assert_uint_eq(mlx5_prm_get(t.out + MLX5_BYTE_OFF(query_eq_out, pas), 0,
                                   64), f.ring);
    ring_eq(&f, f.uar, f.eqn, 3, true);
    T_DESTROY(f.h, &t, mlx5_cmd_query_eq, query_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(MLX5_GET(eqc, eqc, st), 0x9);
    fake_host_free(f.h);
}
END_TEST

START_TEST(create_refusals)
{
    Fixture f = setup();
    TestCmd t;
    uint8_t *eqc = t.in + MLX5_BYTE_OFF(create_eq_in, eq_context_entry);

#define REFUSED(field, value, len, status, synd)                            \
    do {                                                                    \
        t_eq_fill(&t, f.uar, LOG_SIZE, VECTOR, t_ring(1), 0);               \
        MLX5_SET(eqc, eqc, field, value);                                   \
        t_refused(f.h, &t, mlx5_cmd_create_eq, len,                         \
                  MLX5_CMD_STAT_##status, MLX5_SYND_##synd);                \
    } while (0)
    REFUSED(log_eq_size, MLX5_LOG_MAX_EQ_SZ + 1, T_EQ_LEN(16), BAD_PARAM_ERR,
            EQ_SIZE);
    REFUSED(intr, f.h->func->props.num_vectors, T_EQ_LEN(16), BAD_PARAM_ERR,
            EQ_VECTOR);
    REFUSED(ec, 1, T_EQ_LEN(16), BAD_PARAM_ERR, EQ_COLLAPSE);
    REFUSED(uar_page, f.uar + 1, T_EQ_LEN(16), BAD_RES_ERR, EQ_UAR);
    REFUSED(log_eq_size, 7, T_EQ_LEN(1), BAD_PARAM_ERR, EQ_PAGES);
    REFUSED(page_offset, 63, T_EQ_LEN(1), BAD_PARAM_ERR, EQ_PAGES);
    REFUSED(log_page_size, 9, T_EQ_LEN(16), BAD_PARAM_ERR, EQ_PAGES);
    REFUSED(log_eq_size, MLX5_LOG_MAX_EQ_SZ, T_EQ_LEN(16), BAD_PARAM_ERR,
            EQ_PAGES);
    REFUSED(intr, VECTOR, T_EQ_LEN(0), BAD_PARAM_ERR, EQ_PAGES);
#undef REFUSED
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_EQ), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(numbers_fit_the_doorbell)
{
    Fixture f = setup();
    TestCmd t;

    for (unsigned i = 1; i < 1u << MLX5_LOG_MAX_EQ; i++) {
        t_eq_fill(&t, f.uar, 0, VECTOR, t_ring(1), 0);
        t_ok(f.h, &t, mlx5_cmd_create_eq, T_EQ_LEN(1));
    }
    t_eq_fill(&t, f.uar, 0, VECTOR, t_ring(1), 0);
    t_refused(f.h, &t, mlx5_cmd_create_eq, T_EQ_LEN(1),
              MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_EQ_NONE_FREE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(destroy)
{
    Fixture f = setup();
    uint32_t cqn = t_cq(f.h, f.uar, f.eqn, 2, t_ring(1), 0x8000);
    TestCmd t;

    T_DESTROY(f.h, &t, mlx5_cmd_destroy_eq, destroy_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_EQ_BUSY);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_BAD_RES_STATE_ERR);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, cqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_eq, destroy_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_eq, destroy_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_EQ_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_query_eq, query_eq_in, eq_number, f.eqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_EQ_UNKNOWN);
    /* Nobody listens any more, and its doorbell is dead. */
    happen(&f, 1);
    ring_eq(&f, f.uar, f.eqn, 0, true);
    ck_assert_uint_eq(fake_host_irqs(f.h, VECTOR), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(overrun_ignore)
{
    Fixture f = { .h = fake_host_new(NULL), .ring = t_ring(0) };
    TestCmd t;
    uint8_t eqe[64];

    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    t_eq_fill(&t, f.uar, LOG_SIZE, VECTOR, f.ring, 1u << EVENT);
    MLX5_SET(eqc, t.in + MLX5_BYTE_OFF(create_eq_in, eq_context_entry), oi, 1);
    t_ok(f.h, &t, mlx5_cmd_create_eq, T_EQ_LEN(16));
    for (unsigned i = 0; i < SIZE + 1; i++) {
        happen(&f, i);
    }
    fake_mem_read(f.h, f.ring, eqe, 64);
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_sub_type), SIZE);
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, owner), 1);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eq");
    TCase *tc = tcase_create("eq");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, owner_bits_over_rounds);
    tcase_add_test(tc, one_interrupt_per_arming);
    tcase_add_test(tc, overrun_drops_and_reports);
    tcase_add_test(tc, masks_decide);
    tcase_add_test(tc, strange_doorbells);
    tcase_add_test(tc, memory_fails);
    tcase_add_test(tc, query);
    tcase_add_test(tc, create_refusals);
    tcase_add_test(tc, numbers_fit_the_doorbell);
    tcase_add_test(tc, destroy);
    tcase_add_test(tc, overrun_ignore);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
