/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User contexts and user memory: who may touch what, queues and keys in a
 * UMEM, and what is left of a context that goes.
 */
#include "fw/fw.h"
#include "obj/cq.h"
#include "obj/general.h"
#include "obj/mkey.h"
#include "obj/qp.h"
#include "obj/uctx.h"
#include "obj/umem.h"
#include "tests/fake_driver.h"
#include "tests/obj/obj_helper.h"

#define UMEM_GPA 0x4000000u
#define RW (MLX5_MTT_RD | MLX5_MTT_WR)

typedef struct Fixture {
    FakeHost *h;
    FakeDriver *d;
    Mlx5Func *func;
    uint16_t alice, bob;         /* two user contexts */
} Fixture;

static uint16_t make_uctx(Fixture *f, uint32_t cap)
{
    FAKE_BUFFERS(create_uctx);

    MLX5_SET(uctx, MLX5_ADDR_OF(create_uctx_in, in, uctx), cap, cap);
    FAKE_CMD_OK(f->d, CREATE_UCTX, create_uctx, in, out);
    return MLX5_GET(create_uctx_out, out, uid);
}

static void destroy_uctx(Fixture *f, uint16_t uid)
{
    FAKE_BUFFERS(destroy_uctx);

    MLX5_SET(destroy_uctx_in, in, uid, uid);
    FAKE_CMD_OK(f->d, DESTROY_UCTX, destroy_uctx, in, out);
}

static Fixture setup(void)
{
    Fixture f = { .h = fake_host_new(NULL) };

    f.d = fake_driver_new(f.h);
    f.func = f.h->func;
    fake_driver_up(f.d);
    f.alice = make_uctx(&f, 0);
    f.bob = make_uctx(&f, MLX5_UCTX_CAP_RAW_TX);
    return f;
}

static void done(Fixture *f)
{
    fake_driver_free(f->d);
    fake_host_free(f->h);
}

/* --- commands as a user context's --- */

static uint32_t user_alloc(Fixture *f, TestHandler *handler, uint16_t uid)
{
    TestCmd t = { 0 };

    t_run(f->h, &t, handler, 16, uid);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    return mlx5_prm_get(t.out, 0x48, 24);
}

static void user_destroy(Fixture *f, TestHandler *handler, uint32_t bit_off,
                         uint32_t bits, uint32_t id, uint16_t uid,
                         uint32_t status)
{
    TestCmd t = { 0 };

    mlx5_prm_set(t.in, bit_off, bits, id);
    t_run(f->h, &t, handler, 64, uid);
    ck_assert_uint_eq(t.c.status, status);
}

#define DESTROY(f, layout, field, id, uid, status)                        \
    user_destroy(f, mlx5_cmd_##layout, MLX5_BIT_OFF(layout##_in, field),  \
                 MLX5_BIT_SZ(layout##_in, field), id, uid,                \
                 MLX5_CMD_STAT_##status)

#define UMEM_IN(t) ((t)->in + MLX5_BYTE_OFF(create_umem_in, umem))
#define UMEM_LEN(n) (MLX5_ST_SZ_BYTES(create_umem_in) + (n) * 8)

/* A UMEM of @n pages from @gpa, its first byte at @page_offset. */
static void umem_fill(TestCmd *t, uint64_t gpa, uint32_t n,
                      uint32_t page_offset, uint64_t permissions)
{
    uint8_t *umem = UMEM_IN(t);

    memset(t, 0, sizeof(*t));
    MLX5_SET(umem, umem, num_of_mtt, n);
    MLX5_SET(umem, umem, page_offset, page_offset);
    for (uint32_t i = 0; i < n; i++) {
        mlx5_prm_set(umem + MLX5_ST_SZ_BYTES(umem) + i * 8, 0, 64,
                     (gpa + i * 4096) | permissions);
    }
}

static uint32_t make_umem(Fixture *f, uint64_t gpa, uint32_t n,
                          uint32_t page_offset, uint64_t permissions,
                          uint16_t uid)
{
    TestCmd t;

    umem_fill(&t, gpa, n, page_offset, permissions);
    t_run(f->h, &t, mlx5_cmd_create_umem, UMEM_LEN(n), uid);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    return MLX5_GET(create_umem_out, t.out, umem_id);
}

/* A CQ of 16 entries in @umem at @offset, its record at @dbr of it. */
static void cq_fill(Fixture *f, TestCmd *t, uint32_t uar, uint32_t umem,
                    uint64_t offset, uint64_t dbr)
{
    uint8_t *cqc = t->in + MLX5_BYTE_OFF(create_cq_in, cq_context);

    t_cq_fill(t, uar, f->d->comp_eq.number, 4, 0, dbr);
    MLX5_SET(create_cq_in, t->in, cq_umem_valid, 1);
    MLX5_SET(create_cq_in, t->in, cq_umem_id, umem);
    MLX5_SET(create_cq_in, t->in, cq_umem_offset, offset);
    MLX5_SET(cqc, cqc, dbr_umem_valid, 1);
    MLX5_SET(cqc, cqc, dbr_umem_id, umem);
}

static void user_refused(Fixture *f, TestCmd *t, TestHandler *handler,
                         uint32_t in_len, uint16_t uid, Mlx5Status status,
                         uint32_t syndrome)
{
    t_run(f->h, t, handler, in_len, uid);
    ck_assert_msg(t->c.status == status && t->c.syndrome == syndrome,
                  "status 0x%x syndrome 0x%x, not 0x%x 0x%x", t->c.status,
                  t->c.syndrome, status, syndrome);
}

/* --- user contexts --- */

START_TEST(contexts_come_and_go)
{
    Fixture f = setup();
    uint16_t alice = f.alice;

    ck_assert_uint_ne(f.alice, 0);
    ck_assert_uint_ne(f.alice, f.bob);
    ck_assert(!mlx5_uctx_may(f.func, f.alice, MLX5_UCTX_CAP_RAW_TX));
    ck_assert(mlx5_uctx_may(f.func, f.bob, MLX5_UCTX_CAP_RAW_TX));
    ck_assert(mlx5_uctx_may(f.func, 0, MLX5_UCTX_CAP_RAW_TX));
    ck_assert(!mlx5_uctx_may(f.func, 777, 0));
    destroy_uctx(&f, f.alice);
    ck_assert_uint_eq(mlx5_obj_count(f.func, MLX5_OBJ_UCTX), 1);

    /* A context that is no more issues nothing. */
    FAKE_BUFFERS(alloc_pd);
    MLX5_SET(alloc_pd_in, in, uid, alice);
    FAKE_CMD_FAILS(f.d, ALLOC_PD, alloc_pd, in, out,
                   MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_UID_UNKNOWN);
    MLX5_SET(alloc_pd_in, in, uid, f.bob);
    FAKE_CMD_OK(f.d, ALLOC_PD, alloc_pd, in, out);
    MLX5_SET(alloc_pd_in, in, uid, MLX5_SHARED_UID);
    FAKE_CMD_OK(f.d, ALLOC_PD, alloc_pd, in, out);
    done(&f);
}
END_TEST

START_TEST(context_refusals)
{
    Fixture f = setup();
    FAKE_BUFFERS(create_uctx);
    uint8_t *uctx = MLX5_ADDR_OF(create_uctx_in, in, uctx);

    MLX5_SET(uctx, uctx, cap, 2);
    FAKE_CMD_FAILS(f.d, CREATE_UCTX, create_uctx, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_UCTX_CAP);
    MLX5_SET(uctx, uctx, cap, 0);
    /* A user context makes no other. */
    mlx5_prm_set(in, 0x10, 16, f.alice);
    FAKE_CMD_FAILS(f.d, CREATE_UCTX, create_uctx, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_UID_NOT_ALLOWED);
    mlx5_prm_set(in, 0x10, 16, 0);

    uint8_t d_in[MLX5_ST_SZ_BYTES(destroy_uctx_in)] = { 0 };
    uint8_t d_out[MLX5_ST_SZ_BYTES(destroy_uctx_out)] = { 0 };
    MLX5_SET(destroy_uctx_in, d_in, uid, 4000);
    FAKE_CMD_FAILS(f.d, DESTROY_UCTX, destroy_uctx, d_in, d_out,
                   MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_UCTX_UNKNOWN);

    for (uint32_t i = mlx5_obj_count(f.func, MLX5_OBJ_UCTX); i < 4095; i++) {
        TestCmd t = { 0 };

        t_ok(f.h, &t, mlx5_cmd_create_uctx, MLX5_ST_SZ_BYTES(create_uctx_in));
    }
    FAKE_CMD_FAILS(f.d, CREATE_UCTX, create_uctx, in, out,
                   MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_UCTX_NONE_FREE);
    done(&f);
}
END_TEST

START_TEST(devx_off)
{
    Mlx5FuncProps props;
    FakeHost *h;
    TestCmd t = { 0 };

    mlx5_func_props_default(&props);
    props.devx = false;
    h = fake_host_new(&props);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, log_max_uctx), 0);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, log_max_umem), 0);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, uctx_cap), 0);
    t_refused(h, &t, mlx5_cmd_create_uctx, MLX5_ST_SZ_BYTES(create_uctx_in),
              MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_UCTX_OFF);
    umem_fill(&t, UMEM_GPA, 1, 0, RW);
    t_refused(h, &t, mlx5_cmd_create_umem, UMEM_LEN(1),
              MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_UMEM_OFF);
    fake_host_free(h);
}
END_TEST

/* Who made it, who asks, and whether that is good. */
START_TEST(isolation_matrix)
{
    Fixture f = setup();
    uint16_t uids[] = { 0, f.alice, f.bob };
    struct {
        TestHandler *alloc, *dealloc;
    } kinds[] = {
        { mlx5_cmd_alloc_pd, mlx5_cmd_dealloc_pd },
        { mlx5_cmd_alloc_uar, mlx5_cmd_dealloc_uar },
        { mlx5_cmd_alloc_transport_domain, mlx5_cmd_dealloc_transport_domain },
        { mlx5_cmd_alloc_xrcd, mlx5_cmd_dealloc_xrcd },
    };

    for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++) {
        for (unsigned owner = 0; owner < 3; owner++) {
            for (unsigned asks = 0; asks < 3; asks++) {
                uint32_t id = user_alloc(&f, kinds[k].alloc, uids[owner]);
                bool ok = asks == 0 || asks == owner;

                user_destroy(&f, kinds[k].dealloc, 0x48, 24, id, uids[asks],
                             ok ? MLX5_CMD_STAT_OK : MLX5_CMD_STAT_BAD_RES_ERR);
                if (!ok) {
                    user_destroy(&f, kinds[k].dealloc, 0x48, 24, id, 0,
                                 MLX5_CMD_STAT_OK);
                }
            }
        }
    }
    done(&f);
}
END_TEST

/* Completion EQs and counters are the kernel's, and serve every context. */
START_TEST(shared_objects)
{
    Fixture f = setup();
    uint32_t uar = user_alloc(&f, mlx5_cmd_alloc_uar, 0);
    uint32_t user_uar = user_alloc(&f, mlx5_cmd_alloc_uar, f.alice);
    uint32_t counter, eqn;
    TestCmd t;

    t_eq_fill(&t, uar, 4, 1, t_ring(0), 0);
    t_run(f.h, &t, mlx5_cmd_create_eq, T_EQ_LEN(16), MLX5_SHARED_UID);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    eqn = MLX5_GET(create_eq_out, t.out, eq_number);
    t_cq_fill(&t, user_uar, eqn, 4, t_ring(1), 0x8000);
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16), f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    memset(&t, 0, sizeof(t));
    t_run(f.h, &t, mlx5_cmd_alloc_q_counter, 16, MLX5_SHARED_UID);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    counter = MLX5_GET(alloc_q_counter_out, t.out, counter_set_id);
    DESTROY(&f, dealloc_q_counter, counter_set_id, counter, 0, OK);
    done(&f);
}
END_TEST

/* What is left when a process is gone: all of it, the others' not. */
START_TEST(destroy_frees_what_is_left)
{
    Fixture f = setup();
    uint32_t before = mlx5_obj_total(f.func);
    uint32_t uar = user_alloc(&f, mlx5_cmd_alloc_uar, f.alice);
    uint32_t umem = make_umem(&f, UMEM_GPA, 2, 0, RW, f.alice);
    uint32_t pd, kernel_pd, kept;
    TestCmd t;

    user_alloc(&f, mlx5_cmd_alloc_pd, f.alice);
    cq_fill(&f, &t, uar, umem, 0, 4096);
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(0), f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    kept = user_alloc(&f, mlx5_cmd_alloc_pd, f.bob);
    kernel_pd = user_alloc(&f, mlx5_cmd_alloc_pd, 0);
    /* The kernel's key lies in a domain of alice's. */
    pd = user_alloc(&f, mlx5_cmd_alloc_pd, f.alice);
    uint32_t key = fake_driver_create_mkey_ok(f.d, pd);

    destroy_uctx(&f, f.alice);
    /* bob's domain, the kernel's, the one in use and its key; less alice. */
    ck_assert_uint_eq(mlx5_obj_total(f.func), before + 4 - 1);
    ck_assert_uint_eq(f.func->xlt_bytes, 0);
    ck_assert_ptr_nonnull(mlx5_obj_get(f.func, MLX5_OBJ_PD, kept));
    DESTROY(&f, dealloc_pd, pd, pd, f.bob, BAD_RES_ERR);
    fake_driver_destroy_mkey_ok(f.d, key);
    /* It goes with the last that used it. */
    DESTROY(&f, dealloc_pd, pd, pd, 0, BAD_RES_ERR);
    DESTROY(&f, dealloc_pd, pd, kernel_pd, 0, OK);
    destroy_uctx(&f, f.bob);
    ck_assert_uint_eq(mlx5_obj_total(f.func), before - 2);
    done(&f);
}
END_TEST

/* --- user memory --- */

START_TEST(umem_refusals)
{
    Fixture f = setup();
    TestCmd t;

#define REFUSED(len, status, synd)                                         \
    user_refused(&f, &t, mlx5_cmd_create_umem, len, f.alice,               \
                 MLX5_CMD_STAT_##status, MLX5_SYND_##synd)
    umem_fill(&t, UMEM_GPA, 4, 0, RW);
    MLX5_SET(umem, UMEM_IN(&t), ats, 1);
    REFUSED(UMEM_LEN(4), BAD_PARAM_ERR, UMEM_ATS);
    umem_fill(&t, UMEM_GPA, 4, 0, RW);
    MLX5_SET(umem, UMEM_IN(&t), log_page_size, 20);
    REFUSED(UMEM_LEN(4), BAD_PARAM_ERR, UMEM_PAGE_SIZE);
    umem_fill(&t, UMEM_GPA, 4, 4096, RW);
    REFUSED(UMEM_LEN(4), BAD_PARAM_ERR, UMEM_PAGE_OFFSET);
    umem_fill(&t, UMEM_GPA, 4, 0, RW);
    REFUSED(UMEM_LEN(3), BAD_PARAM_ERR, UMEM_LIST);
    MLX5_SET(umem, UMEM_IN(&t), num_of_mtt, UINT64_MAX / 8 + 1);
    REFUSED(UMEM_LEN(4), BAD_PARAM_ERR, UMEM_LIST);
    MLX5_SET(umem, UMEM_IN(&t), num_of_mtt, 0);
    REFUSED(UMEM_LEN(4), BAD_PARAM_ERR, UMEM_LIST);
    umem_fill(&t, UMEM_GPA + 8, 4, 0, RW);
    REFUSED(UMEM_LEN(4), BAD_PARAM_ERR, UMEM_ALIGN);
    umem_fill(&t, UMEM_GPA, 4, 0, RW);
    f.func->xlt_bytes = MLX5_XLT_BUDGET_BYTES;
    REFUSED(UMEM_LEN(4), NO_RES_ERR, UMEM_MEMORY);
    f.func->xlt_bytes = 0;
#undef REFUSED
    DESTROY(&f, destroy_umem, umem_id, 1, f.alice, BAD_RES_ERR);
    ck_assert_uint_eq(mlx5_obj_count(f.func, MLX5_OBJ_UMEM), 0);
    done(&f);
}
END_TEST

START_TEST(umem_numbers_end)
{
    Fixture f = setup();
    TestCmd t;

    umem_fill(&t, UMEM_GPA, 1, 0, RW);
    for (uint32_t i = 1; i < 1u << 16; i++) {
        t_ok(f.h, &t, mlx5_cmd_create_umem, UMEM_LEN(1));
    }
    user_refused(&f, &t, mlx5_cmd_create_umem, UMEM_LEN(1), 0,
                 MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_UMEM_NONE_FREE);
    done(&f);
}
END_TEST

START_TEST(queue_in_umem)
{
    Fixture f = setup();
    uint32_t uar = user_alloc(&f, mlx5_cmd_alloc_uar, f.alice);
    /* Three pages less 0x40 bytes; the queue crosses into the second. */
    uint32_t umem = make_umem(&f, UMEM_GPA, 3, 0x40, RW, f.alice);
    uint8_t cqe[64] = { 0 }, seen[64];
    TestCmd t;
    Mlx5Cq *cq;

    cq_fill(&f, &t, uar, umem, 0xe00, 0x2000);
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(0), f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    cq = mlx5_obj_get(f.func, MLX5_OBJ_CQ,
                      MLX5_GET(create_cq_out, t.out, cqn));
    ck_assert_uint_eq(cq->dbr_gpa, UMEM_GPA + 0x2040);
    for (unsigned i = 0; i < 8; i++) {
        MLX5_SET(cqe64, cqe, qpn, 0x100 + i);
        mlx5_func_lock(f.func);
        mlx5_cq_post(cq, cqe, false);
        mlx5_func_unlock(f.func);
        fake_mem_read(f.h, UMEM_GPA + 0xe40 + i * 64, seen, 64);
        ck_assert_uint_eq(MLX5_GET(cqe64, seen, qpn), 0x100 + i);
    }

    /* It stays while a queue lies in it; it is nobody else's. */
    DESTROY(&f, destroy_umem, umem_id, umem, f.bob, BAD_RES_ERR);
    DESTROY(&f, destroy_umem, umem_id, umem, f.alice, BAD_RES_STATE_ERR);
    DESTROY(&f, destroy_cq, cqn, cq->o.id, f.bob, BAD_RES_ERR);
    DESTROY(&f, destroy_cq, cqn, cq->o.id, f.alice, OK);
    DESTROY(&f, destroy_umem, umem_id, umem, f.alice, OK);
    done(&f);
}
END_TEST

START_TEST(queue_umem_refusals)
{
    Fixture f = setup();
    uint32_t uar = user_alloc(&f, mlx5_cmd_alloc_uar, f.alice);
    uint32_t umem = make_umem(&f, UMEM_GPA, 1, 0x40, RW, f.alice);
    uint32_t odd = make_umem(&f, UMEM_GPA, 1, 0x4, RW, f.alice);
    uint32_t other = make_umem(&f, UMEM_GPA, 1, 0, RW, f.bob);
    const uint64_t bytes = 4096 - 0x40;
    uint8_t *cqc;
    TestCmd t;

    cqc = t.in + MLX5_BYTE_OFF(create_cq_in, cq_context);
#define REFUSED(status, synd)                                              \
    user_refused(&f, &t, mlx5_cmd_create_cq, T_CQ_LEN(0), f.alice,         \
                 MLX5_CMD_STAT_##status, MLX5_SYND_##synd)
    cq_fill(&f, &t, uar, other, 0, 0x800);
    REFUSED(BAD_RES_ERR, QUEUE_UMEM);
    cq_fill(&f, &t, uar, umem, bytes - 1023, 0x800);
    REFUSED(BAD_PARAM_ERR, QUEUE_UMEM_BOUNDS);
    cq_fill(&f, &t, uar, umem, UINT64_MAX - 100, 0x800);
    REFUSED(BAD_PARAM_ERR, QUEUE_UMEM_BOUNDS);
    cq_fill(&f, &t, uar, umem, 0, 0x800);
    MLX5_SET(cqc, cqc, dbr_umem_id, other);
    REFUSED(BAD_RES_ERR, DBR_UMEM);
    cq_fill(&f, &t, uar, umem, 0, bytes);
    REFUSED(BAD_PARAM_ERR, DBR_UMEM_BOUNDS);
    cq_fill(&f, &t, uar, umem, 0, UINT64_MAX - 7);
    REFUSED(BAD_PARAM_ERR, DBR_UMEM_BOUNDS);
    cq_fill(&f, &t, uar, umem, 0, 0x800);
    MLX5_SET(cqc, cqc, dbr_umem_id, odd);
    REFUSED(BAD_PARAM_ERR, DBR_UMEM_ALIGN);
#undef REFUSED
    /* The last bytes of it are good; and nothing was held before. */
    cq_fill(&f, &t, uar, umem, bytes - 1024, bytes - 8);
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(0), f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(((Mlx5Obj *)mlx5_obj_get(f.func, MLX5_OBJ_UMEM,
                                               umem))->refs, 2);
    ck_assert_uint_eq(((Mlx5Obj *)mlx5_obj_get(f.func, MLX5_OBJ_UMEM,
                                               odd))->refs, 0);
    done(&f);
}
END_TEST

START_TEST(read_only_umem)
{
    Fixture f = setup();
    uint32_t uar = user_alloc(&f, mlx5_cmd_alloc_uar, f.alice);
    uint32_t umem = make_umem(&f, UMEM_GPA, 2, 0, MLX5_MTT_RD, f.alice);
    uint8_t cqe[64] = { 0 }, seen[64], zero[64] = { 0 };
    TestCmd t;
    Mlx5Cq *cq;

    cq_fill(&f, &t, uar, umem, 0, 0x1000);
    t_run(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(0), f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    cq = mlx5_obj_get(f.func, MLX5_OBJ_CQ,
                      MLX5_GET(create_cq_out, t.out, cqn));
    MLX5_SET(cqe64, cqe, qpn, 0x100);
    mlx5_func_lock(f.func);
    mlx5_cq_post(cq, cqe, false);
    mlx5_func_unlock(f.func);
    fake_mem_read(f.h, UMEM_GPA, seen, 64);
    ck_assert_mem_eq(seen, zero, 64);
    ck_assert(cq->failed);
    done(&f);
}
END_TEST

/* --- keys --- */

#define MKC(t) ((t)->in + MLX5_BYTE_OFF(create_mkey_in, memory_key_mkey_entry))
#define MKEY_LEN MLX5_ST_SZ_BYTES(create_mkey_in)

static void mkey_fill(TestCmd *t, uint32_t pd, uint32_t umem, uint64_t offset,
                      uint64_t start, uint64_t len)
{
    uint8_t *mkc = MKC(t);

    memset(t, 0, sizeof(*t));
    MLX5_SET(create_mkey_in, t->in, mkey_umem_valid, 1);
    MLX5_SET(create_mkey_in, t->in, mkey_umem_id, umem);
    MLX5_SET(create_mkey_in, t->in, mkey_umem_offset, offset);
    MLX5_SET(create_mkey_in, t->in, translations_octword_actual_size, 4);
    MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, mkc, lr, 1);
    MLX5_SET(mkc, mkc, lw, 1);
    MLX5_SET(mkc, mkc, qpn, MLX5_MKEY_ANY_QPN);
    MLX5_SET(mkc, mkc, pd, pd);
    MLX5_SET(mkc, mkc, start_addr, start);
    MLX5_SET(mkc, mkc, len, len);
    MLX5_SET(mkc, mkc, translations_octword_size, 4);
    MLX5_SET(mkc, mkc, log_page_size, 12);
    MLX5_SET(mkc, mkc, mkey_7_0, 0x42);
}

START_TEST(key_over_umem)
{
    Fixture f = setup();
    uint32_t pd = user_alloc(&f, mlx5_cmd_alloc_pd, f.alice);
    uint32_t umem = make_umem(&f, UMEM_GPA, 4, 0x123, MLX5_MTT_RD, f.alice);
    g_autoptr(Mlx5Ranges) ranges = mlx5_ranges_new();
    Mlx5MkeyUser user = { .pdn = pd, .qpn = 0x50 };
    uint32_t key;
    TestCmd t;

    mkey_fill(&t, pd, umem, 0x1000, 0x7f0000005123, 0x2000);
    t_run(f.h, &t, mlx5_cmd_create_mkey, MKEY_LEN, f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    key = MLX5_GET(create_mkey_out, t.out, mkey_index) << 8 | 0x42;
    ck_assert_int_eq(mlx5_mkey_resolve(f.func, &user, key, 0x7f0000005123,
                                       0x2000, MLX5_ACCESS_LOCAL_READ, ranges),
                     MLX5_MKEY_OK);
    ck_assert_uint_eq(ranges->len, 1);
    ck_assert_uint_eq(ranges->data[0].addr,
                      UMEM_GPA + 0x1123);
    ck_assert_uint_eq(ranges->data[0].len, 0x2000);
    /* The key allows writing, the memory below it does not, nor ever will. */
    ck_assert_int_eq(mlx5_mkey_resolve(f.func, &user, key, 0x7f0000005123, 1,
                                       MLX5_ACCESS_LOCAL_WRITE, ranges),
                     MLX5_MKEY_TRANSLATION);
    DESTROY(&f, destroy_umem, umem_id, umem, f.alice, BAD_RES_STATE_ERR);
    DESTROY(&f, destroy_mkey, mkey_index, key >> 8, f.bob, BAD_RES_ERR);
    DESTROY(&f, destroy_mkey, mkey_index, key >> 8, f.alice, OK);
    DESTROY(&f, destroy_umem, umem_id, umem, f.alice, OK);
    ck_assert_uint_eq(f.func->xlt_bytes, 0);
    done(&f);
}
END_TEST

START_TEST(key_refusals)
{
    Fixture f = setup();
    uint32_t pd = user_alloc(&f, mlx5_cmd_alloc_pd, f.alice);
    uint32_t umem = make_umem(&f, UMEM_GPA, 2, 0x123, RW, f.alice);
    uint32_t other = make_umem(&f, UMEM_GPA, 2, 0x123, RW, f.bob);
    TestCmd t;

#define REFUSED(status, synd)                                              \
    user_refused(&f, &t, mlx5_cmd_create_mkey, MKEY_LEN + 64, f.alice,     \
                 MLX5_CMD_STAT_##status, MLX5_SYND_##synd)
    mkey_fill(&t, pd, other, 0, 0x123, 0x100);
    REFUSED(BAD_RES_ERR, MKEY_UMEM);
    mkey_fill(&t, pd, umem, 0x1000, 0x123, 0x1000 - 0x123 + 1);
    REFUSED(BAD_PARAM_ERR, MKEY_UMEM_BOUNDS);
    mkey_fill(&t, pd, umem, 0, 0x124, 0x100);
    REFUSED(BAD_PARAM_ERR, MKEY_UMEM_ALIGN);
    mkey_fill(&t, pd, umem, 0, 0x123, 0x100);
    MLX5_SET(mkc, MKC(&t), log_page_size, 13);
    REFUSED(BAD_PARAM_ERR, MKEY_UMEM_MODE);
    mkey_fill(&t, pd, umem, 0, 0x123, 0x100);
    MLX5_SET(mkc, MKC(&t), access_mode_1_0, MLX5_MKC_ACCESS_MODE_KLMS);
    REFUSED(BAD_PARAM_ERR, MKEY_UMEM_MODE);
    /* Bus addresses are not a user's to name. */
    mkey_fill(&t, pd, umem, 0, 0x123, 0x100);
    MLX5_SET(create_mkey_in, t.in, mkey_umem_valid, 0);
    REFUSED(BAD_PARAM_ERR, MKEY_USER_MODE);
    MLX5_SET(mkc, MKC(&t), access_mode_1_0, MLX5_MKC_ACCESS_MODE_PA);
    REFUSED(BAD_PARAM_ERR, MKEY_USER_MODE);
#undef REFUSED
    /* A list of other keys is. */
    MLX5_SET(mkc, MKC(&t), access_mode_1_0, MLX5_MKC_ACCESS_MODE_KSM);
    t_run(f.h, &t, mlx5_cmd_create_mkey, MKEY_LEN + 64, f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    /* An empty key at the very end of the memory. */
    mkey_fill(&t, pd, umem, 0x2000 - 0x123, 0x1000, 0);
    t_run(f.h, &t, mlx5_cmd_create_mkey, MKEY_LEN, f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(((Mlx5Obj *)mlx5_obj_get(f.func, MLX5_OBJ_UMEM,
                                               other))->refs, 0);
    done(&f);
}
END_TEST

/* --- general objects --- */

#define GENERAL_LEN 0x20

static void general_fill(TestCmd *t, uint32_t obj_type, uint32_t obj_id,
                         uint32_t log_range)
{
    uint8_t *create = t->in + MLX5_BYTE_OFF(general_obj_in_cmd_hdr, create);

    memset(t, 0, sizeof(*t));
    MLX5_SET(general_obj_in_cmd_hdr, t->in, obj_type, obj_type);
    MLX5_SET(general_obj_in_cmd_hdr, t->in, obj_id, obj_id);
    MLX5_SET(general_obj_create_param, create, log_obj_range, log_range);
}

/* A block of reserved numbers. Return: its first. */
static uint32_t reserve(Fixture *f, uint16_t uid)
{
    TestCmd t;

    general_fill(&t, MLX5_GENERAL_RESERVED_QPN, 0, MLX5_LOG_RESERVED_QPNS);
    t_run(f->h, &t, mlx5_cmd_create_general_object, GENERAL_LEN, uid);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    return MLX5_GET(general_obj_out_cmd_hdr, t.out, obj_id);
}

static void general_is(Fixture *f, TestHandler *handler, uint32_t obj_type,
                       uint32_t obj_id, uint16_t uid, uint32_t syndrome)
{
    TestCmd t;

    general_fill(&t, obj_type, obj_id, 0);
    t_run(f->h, &t, handler, GENERAL_LEN, uid);
    ck_assert_uint_eq(t.c.syndrome, syndrome);
    ck_assert_int_eq(t.c.status != 0, syndrome != 0);
}

START_TEST(reserved_numbers)
{
    Fixture f = setup();
    const uint32_t block = 1u << MLX5_LOG_RESERVED_QPNS;
    uint32_t a = reserve(&f, f.alice), b = reserve(&f, f.bob);
    const uint32_t type = MLX5_GENERAL_RESERVED_QPN;

    /* Blocks do not overlap, and no queue has such a number. */
    ck_assert_uint_ge(MAX(a, b) - MIN(a, b), block);
    ck_assert_uint_ge(a, MLX5_RESERVED_QPN_FIRST);
    ck_assert_uint_le(MLX5_RESERVED_QPN_FIRST +
                      (block << MLX5_LOG_MAX_RESERVED_QPN), 0x1000000);
    general_is(&f, mlx5_cmd_query_general_object, type, a, f.alice, 0);
    general_is(&f, mlx5_cmd_query_general_object, type, a, f.bob,
               MLX5_SYND_GENERAL_UNKNOWN);
    general_is(&f, mlx5_cmd_modify_general_object, type, a, f.alice,
               MLX5_SYND_GENERAL_MODIFY);
    general_is(&f, mlx5_cmd_destroy_general_object, type, a + 1, f.alice,
               MLX5_SYND_GENERAL_UNKNOWN);
    general_is(&f, mlx5_cmd_destroy_general_object, type, 0, f.alice,
               MLX5_SYND_GENERAL_UNKNOWN);
    general_is(&f, mlx5_cmd_destroy_general_object, type, a, f.bob,
               MLX5_SYND_GENERAL_UNKNOWN);
    general_is(&f, mlx5_cmd_destroy_general_object, type, a, f.alice, 0);
    general_is(&f, mlx5_cmd_destroy_general_object, type, a, f.alice,
               MLX5_SYND_GENERAL_UNKNOWN);
    destroy_uctx(&f, f.bob);
    ck_assert_uint_eq(mlx5_obj_count(f.func, MLX5_OBJ_RESERVED_QPN), 0);
    done(&f);
}
END_TEST

/* A kind whose property is off is none; the others stay. */
START_TEST(general_off)
{
    static const uint16_t kind[] = { MLX5_GENERAL_RESERVED_QPN,
                                     MLX5_GENERAL_AV_QP_MAPPING };
    Fixture f = setup();
    TestCmd t;

    f.func->props.reserved_qpn = _i != 0;
    f.func->props.av_qp_mapping = _i != 1;
    general_fill(&t, kind[_i], 0, 0);
    user_refused(&f, &t, mlx5_cmd_create_general_object, GENERAL_LEN, f.alice,
                 MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_GENERAL_TYPE);
    if (_i == 1) {
        reserve(&f, f.alice);
    }
    done(&f);
}
END_TEST

START_TEST(general_refusals)
{
    Fixture f = setup();
    uint8_t *create;
    uint32_t qpn;
    TestCmd t;

    create = t.in + MLX5_BYTE_OFF(general_obj_in_cmd_hdr, create);
    for (uint32_t type = 0; type < 0x100; type++) {
        if (!(mlx5_general_types() >> MIN(type, 63) & 1) || type > 63) {
            general_fill(&t, type, 0, 0);
            user_refused(&f, &t, mlx5_cmd_create_general_object, GENERAL_LEN,
                         f.alice, MLX5_CMD_STAT_BAD_PARAM_ERR,
                         MLX5_SYND_GENERAL_TYPE);
        }
    }
    general_fill(&t, MLX5_GENERAL_RESERVED_QPN, 0, MLX5_LOG_RESERVED_QPNS + 1);
    user_refused(&f, &t, mlx5_cmd_create_general_object, GENERAL_LEN, f.alice,
                 MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_RESERVED_QPN_RANGE);
    general_fill(&t, MLX5_GENERAL_RESERVED_QPN, 0, MLX5_LOG_RESERVED_QPNS);
    user_refused(&f, &t, mlx5_cmd_create_general_object, GENERAL_LEN - 1,
                 f.alice, MLX5_CMD_STAT_BAD_INP_LEN_ERR,
                 MLX5_SYND_GENERAL_LENGTH);
    MLX5_SET(general_obj_create_param, create, alias_object, 1);
    user_refused(&f, &t, mlx5_cmd_create_general_object, GENERAL_LEN, f.alice,
                 MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_GENERAL_ALIAS);
    qpn = reserve(&f, f.alice);
    ((Mlx5Obj *)mlx5_obj_get(f.func, MLX5_OBJ_RESERVED_QPN, 0))->refs++;
    general_is(&f, mlx5_cmd_destroy_general_object, MLX5_GENERAL_RESERVED_QPN,
               qpn, f.alice, MLX5_SYND_GENERAL_BUSY);
    ((Mlx5Obj *)mlx5_obj_get(f.func, MLX5_OBJ_RESERVED_QPN, 0))->refs--;
    for (uint32_t i = 1; i < 1u << MLX5_LOG_MAX_RESERVED_QPN; i++) {
        reserve(&f, 0);
    }
    general_fill(&t, MLX5_GENERAL_RESERVED_QPN, 0, MLX5_LOG_RESERVED_QPNS);
    user_refused(&f, &t, mlx5_cmd_create_general_object, GENERAL_LEN, f.alice,
                 MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_RESERVED_QPN_NONE_FREE);
    done(&f);
}
END_TEST

/* --- address vectors and queue pairs --- */

#define MAPPING_LEN (MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr) + \
                     MLX5_ST_SZ_BYTES(av_qp_mapping))

/* As libmlx5 fills it in (verbs.c _mlx5dv_map_ah_to_qp). */
static void mapping_fill(TestCmd *t, uint32_t qpn)
{
    uint8_t *map = t->in + MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr);
    uint8_t *av = MLX5_ADDR_OF(av_qp_mapping, map, remote_address_vector);

    general_fill(t, MLX5_GENERAL_AV_QP_MAPPING, 0, 0);
    MLX5_SET(av_qp_mapping, map, qpn, qpn);
    MLX5_SET(ud_av, av, sl_or_eth_prio, 3);
    MLX5_SET(ud_av, av, src_addr_index, 9);
    for (uint32_t i = 0; i < 16; i++) {
        MLX5_SET_IDX(ud_av, av, rgid_or_rip, i, 0xa0 + i);
    }
}

static Mlx5Obj *bare_qp(Fixture *f, uint16_t uid)
{
    return mlx5_obj_new(f->func, MLX5_OBJ_QP, sizeof(Mlx5Qp), uid);
}

/* What was said is kept, whatever becomes of the queue pair. */
START_TEST(av_qp_mapping)
{
    Fixture f = setup();
    Mlx5Obj *qp = bare_qp(&f, f.bob);
    const uint32_t head = MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr);
    const uint8_t *av;
    uint32_t id;
    TestCmd t, q;

    mapping_fill(&t, qp->id);
    t_run(f.h, &t, mlx5_cmd_create_general_object, MAPPING_LEN, f.alice);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    id = MLX5_GET(general_obj_out_cmd_hdr, t.out, obj_id);
    ck_assert_uint_eq(qp->refs, 0);
    mlx5_obj_delete(qp);
    general_fill(&q, MLX5_GENERAL_AV_QP_MAPPING, id, 0);
    t_run(f.h, &q, mlx5_cmd_query_general_object, GENERAL_LEN, f.alice);
    ck_assert_uint_eq(q.c.status, MLX5_CMD_STAT_OK);
    ck_assert_mem_eq(q.out + head, t.in + head,
                     MLX5_ST_SZ_BYTES(av_qp_mapping));
    av = MLX5_ADDR_OF(av_qp_mapping, q.out + head, remote_address_vector);
    ck_assert_uint_eq(MLX5_GET(ud_av, av, src_addr_index), 9);
    general_is(&f, mlx5_cmd_destroy_general_object, MLX5_GENERAL_AV_QP_MAPPING,
               id, f.bob, MLX5_SYND_GENERAL_UNKNOWN);
    general_is(&f, mlx5_cmd_destroy_general_object, MLX5_GENERAL_AV_QP_MAPPING,
               id, f.alice, 0);
    done(&f);
}
END_TEST

START_TEST(av_qp_mapping_refusals)
{
    Fixture f = setup();
    Mlx5Obj *qp = bare_qp(&f, f.alice);
    uint32_t id = 0;
    TestCmd t;

    mapping_fill(&t, qp->id + 1);
    user_refused(&f, &t, mlx5_cmd_create_general_object, MAPPING_LEN, f.alice,
                 MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_AV_QP_MAPPING_QP);
    mapping_fill(&t, qp->id);
    user_refused(&f, &t, mlx5_cmd_create_general_object, MAPPING_LEN - 1,
                 f.alice, MLX5_CMD_STAT_BAD_INP_LEN_ERR,
                 MLX5_SYND_GENERAL_LENGTH);
    for (uint32_t i = 1; i < 1u << MLX5_LOG_MAX_AV_QP_MAPPING; i++) {
        t_ok(f.h, &t, mlx5_cmd_create_general_object, MAPPING_LEN);
        id = MLX5_GET(general_obj_out_cmd_hdr, t.out, obj_id);
    }
    user_refused(&f, &t, mlx5_cmd_create_general_object, MAPPING_LEN, f.alice,
                 MLX5_CMD_STAT_NO_RES_ERR,
                 MLX5_SYND_AV_QP_MAPPING_NONE_FREE);
    general_fill(&t, MLX5_GENERAL_AV_QP_MAPPING, id, 0);
    t.c = (Mlx5Cmd){ .in = t.in, .in_len = GENERAL_LEN, .out = t.out,
                     .out_len = MAPPING_LEN - 1 };
    mlx5_cmd_query_general_object(f.func, &t.c);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_BAD_OUTP_LEN_ERR);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_AV_QP_MAPPING_OUT);
    mlx5_obj_delete(qp);
    done(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("devx");
    TCase *tc = tcase_create("devx");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, contexts_come_and_go);
    tcase_add_test(tc, context_refusals);
    tcase_add_test(tc, devx_off);
    tcase_add_test(tc, isolation_matrix);
    tcase_add_test(tc, shared_objects);
    tcase_add_test(tc, destroy_frees_what_is_left);
    tcase_add_test(tc, umem_refusals);
    tcase_add_test(tc, umem_numbers_end);
    tcase_add_test(tc, queue_in_umem);
    tcase_add_test(tc, queue_umem_refusals);
    tcase_add_test(tc, read_only_umem);
    tcase_add_test(tc, key_over_umem);
    tcase_add_test(tc, key_refusals);
    tcase_add_test(tc, reserved_numbers);
    tcase_add_loop_test(tc, general_off, 0, 2);
    tcase_add_test(tc, general_refusals);
    tcase_add_test(tc, av_qp_mapping);
    tcase_add_test(tc, av_qp_mapping_refusals);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
