/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of obj/: commands run on their handlers, as the command interface
 * would run them, and every syndrome seen is noted.
 */
#ifndef MLX5_TESTS_OBJ_HELPER_H
#define MLX5_TESTS_OBJ_HELPER_H

#include <check.h>
#include <stdlib.h>

#include "fw/cmd.h"
#include "tests/fake_host.h"

#define T_ROOM 4096

/** A command to run: fill @in, run, look at @out, status and syndrome. */
typedef struct TestCmd {
    Mlx5Cmd c;
    uint8_t in[T_ROOM];
    uint8_t out[T_ROOM];
} TestCmd;

typedef void TestHandler(Mlx5Func *func, Mlx5Cmd *cmd);

/** Run with an input of @in_len bytes, in user context @uid. */
static inline void t_run(FakeHost *h, TestCmd *t, TestHandler *handler,
                         uint32_t in_len, uint16_t uid)
{
    uint16_t op_mod = t->c.op_mod;

    memset(&t->c, 0, sizeof(t->c));
    memset(t->out, 0, sizeof(t->out));
    t->c.op_mod = op_mod;
    t->c.uid = uid;
    t->c.in = t->in;
    t->c.in_len = in_len;
    t->c.out = t->out;
    t->c.out_len = sizeof(t->out);
    mlx5_func_lock(h->func);
    handler(h->func, &t->c);
    mlx5_func_unlock(h->func);
}

static inline void t_ok(FakeHost *h, TestCmd *t, TestHandler *handler,
                        uint32_t in_len)
{
    t_run(h, t, handler, in_len, 0);
    /* Not ck_assert: it notes every call, and some tests make 65,535. */
    if (t->c.status != MLX5_CMD_STAT_OK) {
        ck_abort_msg("status 0x%x syndrome 0x%x", t->c.status, t->c.syndrome);
    }
}

static inline void t_refused(FakeHost *h, TestCmd *t, TestHandler *handler,
                             uint32_t in_len, Mlx5Status status,
                             uint32_t syndrome)
{
    t_run(h, t, handler, in_len, 0);
    ck_assert_msg(t->c.status == status && t->c.syndrome == syndrome,
                  "status 0x%x syndrome 0x%x, not 0x%x 0x%x", t->c.status,
                  t->c.syndrome, status, syndrome);
}

/** Set up a one-field command and run it. */
#define T_DESTROY(h, t, handler, layout, field, value) \
    do {                                               \
        memset(&(t)->c, 0, sizeof((t)->c));            \
        memset((t)->in, 0, sizeof((t)->in));           \
        MLX5_SET(layout, (t)->in, field, value);       \
        t_run(h, t, handler, MLX5_ST_SZ_BYTES(layout), 0); \
    } while (0)

static inline uint32_t t_alloc(FakeHost *h, TestHandler *handler)
{
    uint8_t in[16] = { 0 }, out[16] = { 0 };
    Mlx5Cmd c = { .in = in, .in_len = 16, .out = out, .out_len = 16 };

    mlx5_func_lock(h->func);
    handler(h->func, &c);
    mlx5_func_unlock(h->func);
    if (c.status != MLX5_CMD_STAT_OK) {
        ck_abort_msg("status 0x%x syndrome 0x%x", c.status, c.syndrome);
    }
    return mlx5_prm_get(out, 0x48, 24);
}

/** Where a test keeps queue number @n: 1 MiB apart. */
static inline uint64_t t_ring(uint32_t n)
{
    return 0x1000000 + (uint64_t)n * 0x100000;
}

/** Pages at @off of @in, one after the other from @addr. */
static inline void t_pas(uint8_t *in, uint32_t off, uint64_t addr, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mlx5_prm_set(in + off + i * 8, 0, 64, addr + (uint64_t)i * 4096);
    }
}

static inline int t_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- EQ and CQ, as most tests need them --- */

static inline void t_eq_fill(TestCmd *t, uint32_t uar, uint32_t log_size,
                             uint32_t vector, uint64_t ring, uint64_t mask)
{
    uint8_t *eqc = t->in + MLX5_BYTE_OFF(create_eq_in, eq_context_entry);

    memset(t, 0, sizeof(*t));
    MLX5_SET(eqc, eqc, log_eq_size, log_size);
    MLX5_SET(eqc, eqc, uar_page, uar);
    MLX5_SET(eqc, eqc, intr, vector);
    MLX5_SET_IDX(create_eq_in, t->in, event_bitmask, 0, mask);
    t_pas(t->in, MLX5_BYTE_OFF(create_eq_in, pas), ring, 16);
}

#define T_EQ_LEN(pages) (MLX5_BYTE_OFF(create_eq_in, pas) + (pages) * 8)
#define T_CQ_LEN(pages) (MLX5_BYTE_OFF(create_cq_in, pas) + (pages) * 8)

static inline uint32_t t_eq(FakeHost *h, uint32_t uar, uint32_t log_size,
                            uint32_t vector, uint64_t ring, uint64_t mask)
{
    TestCmd t;

    for (uint32_t i = 0; i < 1u << log_size; i++) {
        uint8_t owner = 1;

        fake_mem_write(h, ring + (uint64_t)i * 64 + 63, &owner, 1);
    }
    t_eq_fill(&t, uar, log_size, vector, ring, mask);
    t_ok(h, &t, mlx5_cmd_create_eq, T_EQ_LEN(16));
    return MLX5_GET(create_eq_out, t.out, eq_number);
}

static inline void t_cq_fill(TestCmd *t, uint32_t uar, uint32_t eqn,
                             uint32_t log_size, uint64_t ring, uint64_t dbr)
{
    uint8_t *cqc = t->in + MLX5_BYTE_OFF(create_cq_in, cq_context);

    memset(t, 0, sizeof(*t));
    MLX5_SET(cqc, cqc, log_cq_size, log_size);
    MLX5_SET(cqc, cqc, uar_page, uar);
    MLX5_SET(cqc, cqc, c_eqn_or_apu_element, eqn);
    MLX5_SET(cqc, cqc, dbr_addr, dbr);
    t_pas(t->in, MLX5_BYTE_OFF(create_cq_in, pas), ring, 16);
}

static inline void t_cq_init_buf(FakeHost *h, uint64_t ring, uint32_t entries,
                                 uint32_t stride)
{
    uint8_t op_own = 0xf1;

    for (uint32_t i = 0; i < entries; i++) {
        fake_mem_write(h, ring + (uint64_t)i * stride + stride - 1, &op_own, 1);
    }
}

static inline uint32_t t_cq(FakeHost *h, uint32_t uar, uint32_t eqn,
                            uint32_t log_size, uint64_t ring, uint64_t dbr)
{
    TestCmd t;

    t_cq_init_buf(h, ring, 1u << log_size, 64);
    t_cq_fill(&t, uar, eqn, log_size, ring, dbr);
    t_ok(h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16));
    return MLX5_GET(create_cq_out, t.out, cqn);
}

#endif
