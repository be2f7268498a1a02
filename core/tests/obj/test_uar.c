/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UAR pages: which writes reach what, and which are ignored.
 */
#include "obj/cq.h"
#include "obj/engine.h"
#include "obj/uar.h"
#include "tests/obj/obj_helper.h"

typedef struct Rung {
    unsigned count;
    uint32_t uar, offset;
    uint64_t value;
    unsigned size;
} Rung;

static Rung rung;

static void note_doorbell(Mlx5Func *func, uint32_t uar, uint32_t offset,
                          uint64_t value, unsigned size)
{
    (void)func;
    rung = (Rung){ rung.count + 1, uar, offset, value, size };
}

static const Mlx5EngineOps spy = { .sq_doorbell = note_doorbell };

static FakeHost *setup(void)
{
    FakeHost *h = fake_host_new(NULL);

    h->func->engine = &spy;
    rung = (Rung){ 0 };
    return h;
}

START_TEST(blueflame_reaches_the_engine)
{
    FakeHost *h = setup();
    uint64_t page = (uint64_t)t_alloc(h, mlx5_cmd_alloc_uar) * 4096;

    for (uint32_t off = 0x800; off < 0x1000; off += 8) {
        mlx5_func_bar_write(h->func, page + off, 0x1122334455667788, 8);
        ck_assert_uint_eq(rung.uar, page / 4096);
        ck_assert_uint_eq(rung.offset, off);
        ck_assert_uint_eq(rung.value, 0x1122334455667788);
        ck_assert_uint_eq(rung.size, 8);
    }
    ck_assert_uint_eq(rung.count, 0x800 / 8);
    mlx5_func_bar_write(h->func, page + 0x900, 0xaabbccdd, 4);
    ck_assert_uint_eq(rung.size, 4);
    ck_assert_uint_eq(rung.value, 0xaabbccdd);
    ck_assert_uint_eq(h->guest_errors->len, 0);
    fake_host_free(h);
}
END_TEST

START_TEST(no_engine_is_no_crash)
{
    FakeHost *h = setup();
    static const Mlx5EngineOps nothing;
    uint64_t page = (uint64_t)t_alloc(h, mlx5_cmd_alloc_uar) * 4096;

    h->func->engine = &nothing;
    mlx5_func_bar_write(h->func, page + 0x800, 1, 8);
    h->func->engine = NULL;
    mlx5_func_bar_write(h->func, page + 0x800, 1, 8);
    ck_assert_uint_eq(rung.count, 0);
    fake_host_free(h);
}
END_TEST

START_TEST(other_writes_are_ignored)
{
    FakeHost *h = setup();
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);
    static const uint8_t sizes[] = { 1, 2, 4, 8 };
    uint64_t page = (uint64_t)uar * 4096, dead = page + 4096;

    for (uint32_t off = 0; off < 0x1000; off++) {
        for (size_t s = 0; s < sizeof(sizes); s++) {
            bool doorbell = (off >= 0x800 && sizes[s] >= 4) ||
                            (off == 0x600 && sizes[s] == 8);

            if (!doorbell) {
                mlx5_func_bar_write(h->func, page + off, ~0ull, sizes[s]);
            }
            mlx5_func_bar_write(h->func, dead + off, ~0ull, sizes[s]);
        }
    }
    ck_assert_uint_eq(rung.count, 0);
    ck_assert_uint_gt(h->guest_errors->len, 0);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, page, 4), 0);
    fake_host_free(h);
}
END_TEST

START_TEST(freed_page_is_dead)
{
    FakeHost *h = setup();
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);
    TestCmd t;

    T_DESTROY(h, &t, mlx5_cmd_dealloc_uar, dealloc_uar_in, uar, uar);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    mlx5_func_bar_write(h->func, (uint64_t)uar * 4096 + 0x800, 1, 8);
    ck_assert_uint_eq(rung.count, 0);
    fake_host_free(h);
}
END_TEST

static void refuse_dealloc(FakeHost *h, uint32_t uar)
{
    TestCmd t;

    T_DESTROY(h, &t, mlx5_cmd_dealloc_uar, dealloc_uar_in, uar, uar);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_BAD_RES_ERR);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_UAR_UNKNOWN);
}

/*
 * A page may go before the queues that ring in it: it is dead at once, and its
 * number comes back with the last of them.
 */
START_TEST(page_in_use)
{
    FakeHost *h = setup();
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);
    uint32_t other = t_alloc(h, mlx5_cmd_alloc_uar);
    uint32_t eqn = t_eq(h, other, 3, 1, t_ring(0), 0);
    uint32_t cqn = t_cq(h, uar, eqn, 3, t_ring(1), 0x8000);
    uint32_t before = mlx5_obj_count(h->func, MLX5_OBJ_UAR);
    TestCmd t;

    T_DESTROY(h, &t, mlx5_cmd_dealloc_uar, dealloc_uar_in, uar, uar);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    refuse_dealloc(h, uar);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_UAR), before);
    mlx5_func_bar_write(h->func, (uint64_t)uar * 4096 + 0x800, 1, 8);
    ck_assert_uint_eq(rung.count, 0);
    T_DESTROY(h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, cqn);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_UAR), before - 1);
    T_DESTROY(h, &t, mlx5_cmd_dealloc_uar, dealloc_uar_in, uar, other);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(h, &t, mlx5_cmd_destroy_eq, destroy_eq_in, eq_number, eqn);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_UAR), before - 2);
    fake_host_free(h);
}
END_TEST

START_TEST(cq_arm_in_two_halves)
{
    FakeHost *h = setup();
    uint32_t uar = t_alloc(h, mlx5_cmd_alloc_uar);
    uint32_t eqn = t_eq(h, uar, 3, 1, t_ring(0), 0);
    uint32_t cqn = t_cq(h, uar, eqn, 3, t_ring(1), 0x8000);
    uint64_t page = (uint64_t)uar * 4096;
    Mlx5Cq *cq = mlx5_obj_get(h->func, MLX5_OBJ_CQ, cqn);

    /* The second half alone does nothing. */
    mlx5_func_bar_write(h->func, page + 0x24, cqn, 4);
    ck_assert(!cq->armed);
    mlx5_func_bar_write(h->func, page + 0x20, 1u << 28 | 1u << 24, 4);
    ck_assert(!cq->armed);
    mlx5_func_bar_write(h->func, page + 0x24, cqn, 4);
    ck_assert(cq->armed);
    ck_assert(cq->armed_solicited);
    ck_assert_uint_eq(cq->arm_sn, 1);
    /* A first half counts for one second half. */
    cq->armed = false;
    mlx5_func_bar_write(h->func, page + 0x24, cqn, 4);
    ck_assert(!cq->armed);
    fake_host_free(h);
}
END_TEST

/* The rest of a BlueFlame copy, and nothing else. */
START_TEST(idle_writes)
{
    Mlx5FuncProps p;
    uint64_t page = 100 * 4096, bar;

    mlx5_func_props_default(&p);
    bar = UINT64_C(1) << p.log_bar_size;
    for (uint32_t off = 0; off < 0x1000; off += 8) {
        bool rest = off >= 0x800 && off % 0x100 >= 16;

        ck_assert(mlx5_bar_write_is_idle(&p, page + off, 8) == rest);
        ck_assert(!mlx5_bar_write_is_idle(&p, page + off, 4));
        /* The init segment; device memory; outside. */
        ck_assert(!mlx5_bar_write_is_idle(&p, off, 8));
        ck_assert(!mlx5_bar_write_is_idle(&p, bar - 4096 + off, 8));
        ck_assert(!mlx5_bar_write_is_idle(&p, bar + off, 8));
    }
    ck_assert(!mlx5_bar_write_is_idle(&p, page + 0x81c, 8));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uar");
    TCase *tc = tcase_create("uar");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, blueflame_reaches_the_engine);
    tcase_add_test(tc, no_engine_is_no_crash);
    tcase_add_test(tc, other_writes_are_ignored);
    tcase_add_test(tc, freed_page_is_dead);
    tcase_add_test(tc, page_in_use);
    tcase_add_test(tc, cq_arm_in_two_halves);
    tcase_add_test(tc, idle_writes);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
