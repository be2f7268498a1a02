/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared receive queues: the three contexts, limits, every refusal.
 */
#include "obj/engine.h"
#include "obj/limits.h"
#include "obj/srq.h"
#include "tests/obj/obj_helper.h"

#define DBR UINT64_C(0x123456780)
#define LOG_SIZE 4
#define WQE_LOG 6

typedef struct Fixture {
    FakeHost *h;
    uint32_t uar, eqn, cqn, pdn, xrcdn;
} Fixture;

static unsigned destroyed;

static void note_destroyed(Mlx5Srq *srq)
{
    (void)srq;
    destroyed++;
}

static const Mlx5EngineOps spy = { .srq_destroyed = note_destroyed };

static Fixture setup(void)
{
    Fixture f = { .h = fake_host_new(NULL) };

    destroyed = 0;
    f.h->func->engine = &spy;
    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, 4, 1, t_ring(0),
                 1u << MLX5_EVENT_TYPE_SRQ_RQ_LIMIT);
    f.cqn = t_cq(f.h, f.uar, f.eqn, 4, t_ring(1), 0x8000);
    f.pdn = t_alloc(f.h, mlx5_cmd_alloc_pd);
    f.xrcdn = t_alloc(f.h, mlx5_cmd_alloc_xrcd);
    return f;
}

/* Where the fields of each form are, and the handlers: one row a form. */
typedef struct Form {
    const char *name;
    Mlx5SrqKind kind;
    TestHandler *create, *destroy, *query, *arm;
    uint32_t pas, ctx_in, ctx_out;       /* bytes */
    /* Bit offset and width inside the context, 0 width = not there. */
    struct {
        uint32_t off, bits;
    } pd, size, stride, dbr, lwm, signature, page_offset, cqn, xrcd;
    uint32_t stride_bias;
    uint32_t arm_lwm, arm_bits;          /* in the input of @arm */
} Form;

#define WQ(f) { MLX5_OFF_rmpc__wq + MLX5_OFF_wq__##f, MLX5_WID_wq__##f }
#define XS(f) { MLX5_OFF_xrc_srqc__##f, MLX5_WID_xrc_srqc__##f }
#define SC(f) { MLX5_OFF_srqc__##f, MLX5_WID_srqc__##f }

static const Form forms[] = {
    { "rmp", MLX5_SRQ_RMP, mlx5_cmd_create_rmp, mlx5_cmd_destroy_rmp,
      mlx5_cmd_query_rmp, mlx5_cmd_modify_rmp, 0x110,
      MLX5_BYTE_OFF(create_rmp_in, ctx),
      MLX5_BYTE_OFF(query_rmp_out, rmp_context), WQ(pd), WQ(log_wq_sz),
      WQ(log_wq_stride), WQ(dbr_addr), WQ(lwm), WQ(wq_signature),
      WQ(page_offset), { 0, 0 }, { 0, 0 }, 0,
      MLX5_OFF_modify_rmp_in__ctx + MLX5_OFF_rmpc__wq + MLX5_OFF_wq__lwm,
      MLX5_WID_wq__lwm },
    { "xrc", MLX5_SRQ_XRC, mlx5_cmd_create_xrc_srq, mlx5_cmd_destroy_xrc_srq,
      mlx5_cmd_query_xrc_srq, mlx5_cmd_arm_xrc_srq, 0x110,
      MLX5_BYTE_OFF(create_xrc_srq_in, xrc_srq_context_entry),
      MLX5_BYTE_OFF(query_xrc_srq_out, xrc_srq_context_entry), XS(pd),
      XS(log_xrc_srq_size), XS(log_rq_stride),
      { MLX5_OFF_xrc_srqc__db_record_addr_h, 64 }, XS(lwm), XS(wq_signature),
      XS(page_offset), XS(cqn), XS(xrcd), 4,
      MLX5_OFF_arm_xrc_srq_in__lwm, MLX5_WID_arm_xrc_srq_in__lwm },
    { "srq", MLX5_SRQ_LEGACY, mlx5_cmd_create_srq, mlx5_cmd_destroy_srq,
      mlx5_cmd_query_srq, mlx5_cmd_arm_rq, 0x110,
      MLX5_BYTE_OFF(create_srq_in, srq_context_entry),
      MLX5_BYTE_OFF(query_srq_out, srq_context_entry), SC(pd),
      SC(log_srq_size), SC(log_rq_stride), SC(dbr_addr), SC(lwm),
      SC(wq_signature), SC(page_offset), { 0, 0 }, { 0, 0 }, 4,
      MLX5_OFF_arm_rq_in__lwm, MLX5_WID_arm_rq_in__lwm },
};

#define SET_FIELD(t, form, field, value)                                     \
    mlx5_prm_set((t)->in + (form)->ctx_in, (form)->field.off,                \
                 (form)->field.bits, value)

static void fill(TestCmd *t, const Fixture *f, const Form *m)
{
    memset(t, 0, sizeof(*t));
    SET_FIELD(t, m, pd, f->pdn);
    SET_FIELD(t, m, size, LOG_SIZE);
    SET_FIELD(t, m, stride, WQE_LOG - m->stride_bias);
    SET_FIELD(t, m, dbr, DBR);
    if (m->cqn.bits) {
        SET_FIELD(t, m, cqn, f->cqn);
        SET_FIELD(t, m, xrcd, f->xrcdn);
        MLX5_SET(xrc_srqc, t->in + m->ctx_in, user_index, 0xabcdef);
    }
    if (m->kind == MLX5_SRQ_RMP) {
        MLX5_SET(rmpc, t->in + m->ctx_in, state, 1);
    }
    t_pas(t->in, m->pas, t_ring(2), 8);
}

static Mlx5Srq *make(Fixture *f, const Form *m)
{
    TestCmd t;

    fill(&t, f, m);
    t_ok(f->h, &t, m->create, m->pas + 64);
    return mlx5_obj_get(f->h->func, MLX5_OBJ_SRQ,
                        mlx5_prm_get(t.out, 0x48, 24));
}

static void arm_fill(TestCmd *t, const Form *m, uint32_t id, uint32_t lwm)
{
    memset(t, 0, sizeof(*t));
    t->c.op_mod = 1;
    mlx5_prm_set(t->in, 0x48, 24, id);
    mlx5_prm_set(t->in, m->arm_lwm, m->arm_bits, lwm);
    if (m->kind == MLX5_SRQ_RMP) {
        MLX5_SET(modify_rmp_in, t->in, rmp_state, 1);
        MLX5_SET(rmpc, t->in + MLX5_BYTE_OFF(modify_rmp_in, ctx), state, 1);
        MLX5_SET(rmp_bitmask, t->in + MLX5_BYTE_OFF(modify_rmp_in, bitmask),
                 lwm, 1);
    }
}

START_TEST(create_and_query)
{
    const Form *m = &forms[_i];
    Fixture f = setup();
    Mlx5Srq *srq = make(&f, m);
    TestCmd t = { 0 };

    ck_assert_int_eq(srq->kind, m->kind);
    ck_assert_uint_eq(srq->pd->id, f.pdn);
    ck_assert_uint_eq(srq->log_size, LOG_SIZE);
    ck_assert_uint_eq(srq->wqe_bytes, 1 << WQE_LOG);
    ck_assert_uint_eq(srq->dbr_gpa, DBR);
    ck_assert(!srq->cyclic);
    ck_assert_uint_eq(srq->ring.pages[0], t_ring(2));
    if (m->kind == MLX5_SRQ_XRC) {
        ck_assert_uint_eq(srq->cq->o.id, f.cqn);
        ck_assert_uint_eq(srq->xrcd->id, f.xrcdn);
        ck_assert_uint_eq(srq->user_index, 0xabcdef);
    }
    srq->lwm = 7;
    srq->counter = 3;
    fake_mem_set_be32(f.h, DBR, 5);
    mlx5_prm_set(t.in, 0x48, 24, srq->o.id);
    t_ok(f.h, &t, m->query, 16);
    ck_assert_uint_eq(mlx5_prm_get(t.out + m->ctx_out, m->size.off,
                                   m->size.bits), LOG_SIZE);
    ck_assert_uint_eq(mlx5_prm_get(t.out + m->ctx_out, m->lwm.off,
                                   m->lwm.bits), 7);
    ck_assert_uint_eq(mlx5_prm_get(t.out + m->ctx_out, m->dbr.off,
                                   m->dbr.bits), DBR);
    ck_assert_uint_eq(mlx5_prm_get(t.out + m->pas, 0, 64), t_ring(2));
    if (m->kind == MLX5_SRQ_RMP) {
        uint8_t *wq = t.out + m->ctx_out + MLX5_BYTE_OFF(rmpc, wq);

        ck_assert_uint_eq(MLX5_GET(wq, wq, hw_counter), 3);
        ck_assert_uint_eq(MLX5_GET(wq, wq, sw_counter), 5);
    } else {
        /* state and wqe_cnt are in the same place in both contexts. */
        ck_assert_uint_eq(MLX5_GET(srqc, t.out + m->ctx_out, wqe_cnt), 2);
        ck_assert_uint_eq(MLX5_GET(srqc, t.out + m->ctx_out, state), 0);
        srq->failed = true;
        t_ok(f.h, &t, m->query, 16);
        ck_assert_uint_eq(MLX5_GET(srqc, t.out + m->ctx_out, state), 1);
    }
    fake_host_free(f.h);
}
END_TEST

START_TEST(create_refusals)
{
    const Form *m = &forms[_i];
    Fixture f = setup();
    TestCmd t;

#define REFUSED(field, value, len, status, synd)                            \
    do {                                                                    \
        fill(&t, &f, m);                                                    \
        SET_FIELD(&t, m, field, value);                                     \
        t_refused(f.h, &t, m->create, m->pas + (len),                       \
                  MLX5_CMD_STAT_##status, MLX5_SYND_##synd);                \
    } while (0)
    REFUSED(signature, 1, 64, BAD_PARAM_ERR, SRQ_SIGNATURE);
    REFUSED(stride, 4 - m->stride_bias, 64, BAD_PARAM_ERR, SRQ_STRIDE);
    REFUSED(stride, 10 - m->stride_bias, 64, BAD_PARAM_ERR, SRQ_STRIDE);
    REFUSED(dbr, DBR + 4, 64, BAD_PARAM_ERR, SRQ_DBR);
    REFUSED(lwm, (1 << LOG_SIZE) + 1, 64, BAD_PARAM_ERR, SRQ_LIMIT);
    REFUSED(pd, f.pdn + 1, 64, BAD_RES_ERR, SRQ_PD);
    REFUSED(pd, 0, 64, BAD_RES_ERR, SRQ_PD);
    REFUSED(size, 8, 16, BAD_PARAM_ERR, SRQ_PAGES);
    REFUSED(size, LOG_SIZE, 0, BAD_PARAM_ERR, SRQ_PAGES);
    REFUSED(size, LOG_SIZE, -0x100, BAD_PARAM_ERR, SRQ_PAGES);
    if (m->size.bits > 4) {
        REFUSED(size, MLX5_LOG_MAX_SRQ_SZ + 1, 64, BAD_PARAM_ERR, SRQ_SIZE);
    }
    if (m->cqn.bits) {
        REFUSED(cqn, f.cqn + 1, 64, BAD_RES_ERR, SRQ_CQ);
        REFUSED(xrcd, f.xrcdn + 1, 64, BAD_RES_ERR, SRQ_XRCD);
    }
#undef REFUSED
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_SRQ), 0);
    ck_assert_uint_eq(((Mlx5Obj *)mlx5_obj_get(f.h->func, MLX5_OBJ_PD,
                                               f.pdn))->refs, 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(rmp_only_refusals)
{
    const Form *m = &forms[0];
    Fixture f = setup();
    uint8_t *wq;
    TestCmd t;
    Mlx5Srq *srq;

    fill(&t, &f, m);
    MLX5_SET(rmpc, t.in + m->ctx_in, state, 0);
    t_refused(f.h, &t, m->create, m->pas + 64, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_RMP_STATE);
    fill(&t, &f, m);
    wq = t.in + m->ctx_in + MLX5_BYTE_OFF(rmpc, wq);
    MLX5_SET(wq, wq, wq_type, 3);
    t_refused(f.h, &t, m->create, m->pas + 64, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_SRQ_TYPE);
    fill(&t, &f, m);
    MLX5_SET(wq, wq, wq_umem_valid, 1);
    t_refused(f.h, &t, m->create, m->pas + 64, MLX5_CMD_STAT_BAD_RES_ERR,
              MLX5_SYND_QUEUE_UMEM);
    fill(&t, &f, m);
    MLX5_SET(wq, wq, wq_type, 1);
    t_ok(f.h, &t, m->create, m->pas + 64);
    srq = mlx5_obj_get(f.h->func, MLX5_OBJ_SRQ, mlx5_prm_get(t.out, 0x48, 24));
    ck_assert(srq->cyclic);

    arm_fill(&t, m, srq->o.id, 2);
    MLX5_SET(modify_rmp_in, t.in, rmp_state, 0);
    t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
              MLX5_SYND_RMP_MODIFY_STATE);
    arm_fill(&t, m, srq->o.id, 2);
    MLX5_SET(rmpc, t.in + MLX5_BYTE_OFF(modify_rmp_in, ctx), state, 3);
    t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
              MLX5_SYND_RMP_MODIFY_STATE);
    arm_fill(&t, m, srq->o.id, 2);
    mlx5_prm_set(t.in + MLX5_BYTE_OFF(modify_rmp_in, bitmask), 0x3e, 1, 1);
    t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_RMP_MODIFY_FIELD);
    /* Nothing selected, nothing changed. */
    arm_fill(&t, m, srq->o.id, 2);
    memset(t.in + MLX5_BYTE_OFF(modify_rmp_in, bitmask), 0, 8);
    t_ok(f.h, &t, m->arm, 0x110);
    ck_assert_uint_eq(srq->lwm, 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(xrc_umem_and_index)
{
    const Form *m = &forms[1];
    Fixture f = setup();
    Mlx5Srq *srq;
    TestCmd t;

    fill(&t, &f, m);
    MLX5_SET(create_xrc_srq_in, t.in, xrc_srq_umem_valid, 1);
    t_refused(f.h, &t, m->create, m->pas + 64, MLX5_CMD_STAT_BAD_RES_ERR,
              MLX5_SYND_QUEUE_UMEM);
    /* A page size no list can have: 6 bits of it. */
    fill(&t, &f, m);
    MLX5_SET(xrc_srqc, t.in + m->ctx_in, log_page_size, 63);
    t_refused(f.h, &t, m->create, m->pas + 64, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_SRQ_PAGES);
    fill(&t, &f, m);
    MLX5_SET(xrc_srqc, t.in + m->ctx_in, user_index_equal_xrc_srqn, 1);
    t_ok(f.h, &t, m->create, m->pas + 64);
    srq = mlx5_obj_get(f.h->func, MLX5_OBJ_SRQ, mlx5_prm_get(t.out, 0x48, 24));
    ck_assert_uint_eq(srq->user_index, srq->o.id);
    fake_host_free(f.h);
}
END_TEST

START_TEST(arming)
{
    const Form *m = &forms[_i];
    Fixture f = setup();
    Mlx5Srq *srq = make(&f, m);
    TestCmd t;

    fake_mem_set_be32(f.h, DBR, 10);
    arm_fill(&t, m, srq->o.id, 10);
    t_ok(f.h, &t, m->arm, 0x110);
    ck_assert_uint_eq(srq->lwm, 10);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(0)), 0);
    /* Fewer than the limit are there: the event comes at once. */
    arm_fill(&t, m, srq->o.id, 11);
    t_ok(f.h, &t, m->arm, 0x110);
    ck_assert_uint_eq(srq->lwm, 0);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(0)),
                      (uint32_t)MLX5_EVENT_TYPE_SRQ_RQ_LIMIT << 16);
    ck_assert_uint_eq(fake_mem_be32(f.h, t_ring(0) + 0x38), srq->o.id);
    arm_fill(&t, m, srq->o.id, 17);
    t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_SRQ_ARM_LIMIT);
    arm_fill(&t, m, srq->o.id + 1, 1);
    t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_RES_ERR,
              MLX5_SYND_SRQ_UNKNOWN);
    if (m->kind != MLX5_SRQ_RMP) {
        arm_fill(&t, m, srq->o.id, 1);
        t.c.op_mod = 0;
        t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_PARAM_ERR,
                  m->kind == MLX5_SRQ_XRC ? MLX5_SYND_XRC_SRQ_ARM_OP_MOD
                                          : MLX5_SYND_ARM_RQ_OP_MOD);
    }
    srq->failed = true;
    arm_fill(&t, m, srq->o.id, 1);
    t_refused(f.h, &t, m->arm, 0x110, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
              MLX5_SYND_SRQ_FAILED);
    fake_host_free(f.h);
}
END_TEST

START_TEST(destroy)
{
    const Form *m = &forms[_i];
    Fixture f = setup();
    Mlx5Srq *srq = make(&f, m);
    uint32_t id = srq->o.id;
    TestCmd t;

    memset(&t, 0, sizeof(t));
    mlx5_prm_set(t.in, 0x48, 24, id);
    /* The commands of the other kinds do not know it. */
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        if (&forms[i] != m) {
            t_refused(f.h, &t, forms[i].destroy, 16, MLX5_CMD_STAT_BAD_RES_ERR,
                      MLX5_SYND_SRQ_UNKNOWN);
            t_refused(f.h, &t, forms[i].query, 16, MLX5_CMD_STAT_BAD_RES_ERR,
                      MLX5_SYND_SRQ_UNKNOWN);
        }
    }
    mlx5_obj_ref(srq);
    t_refused(f.h, &t, m->destroy, 16, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
              MLX5_SYND_SRQ_BUSY);
    mlx5_obj_unref(srq);
    srq->o.uid = 3;
    t_run(f.h, &t, m->destroy, 16, 4);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_SRQ_UNKNOWN);
    /* The PD is held as long as the queue lives. */
    T_DESTROY(f.h, &t, mlx5_cmd_dealloc_pd, dealloc_pd_in, pd, f.pdn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_PD_BUSY);
    ck_assert_uint_eq(destroyed, 0);
    memset(&t, 0, sizeof(t));
    mlx5_prm_set(t.in, 0x48, 24, id);
    t_ok(f.h, &t, m->destroy, 16);
    ck_assert_uint_eq(destroyed, 1);
    T_DESTROY(f.h, &t, mlx5_cmd_dealloc_pd, dealloc_pd_in, pd, f.pdn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_dealloc_xrcd, dealloc_xrcd_in, xrcd, f.xrcdn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(f.h);
}
END_TEST

START_TEST(one_number_space)
{
    Fixture f = setup();
    uint32_t made = 0;
    TestCmd t;

    ck_assert_uint_ne(make(&f, &forms[0])->o.id, make(&f, &forms[1])->o.id);
    /* To the end of the numbers: what the kinds share. */
    fill(&t, &f, &forms[0]);
    SET_FIELD(&t, &forms[0], size, 0);
    while (t_run(f.h, &t, forms[0].create, 0x118, 0),
           t.c.status == MLX5_CMD_STAT_OK) {
        made++;
    }
    ck_assert_uint_eq(made, (1u << MLX5_LOG_MAX_SRQ) - 3);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_SRQ_NONE_FREE);
    fake_host_free(f.h);
    ck_assert_uint_eq(destroyed, made + 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("srq");
    TCase *tc = tcase_create("srq");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, create_and_query, 0, G_N_ELEMENTS(forms));
    tcase_add_loop_test(tc, create_refusals, 0, G_N_ELEMENTS(forms));
    tcase_add_test(tc, rmp_only_refusals);
    tcase_add_test(tc, xrc_umem_and_index);
    tcase_add_loop_test(tc, arming, 0, G_N_ELEMENTS(forms));
    tcase_add_loop_test(tc, destroy, 0, G_N_ELEMENTS(forms));
    tcase_add_test(tc, one_number_space);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
