/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XRQ: making, asking, arming; what its context may not say; which queue
 * pairs may receive from it.
 */
#include "obj/qp.h"
#include "obj/uar.h"
#include "obj/tm_list.h"
#include "tests/obj/obj_helper.h"

#define DBR UINT64_C(0x123456780)
#define LOG_SIZE 4
#define LEN(pages) (MLX5_ST_SZ_BYTES(create_xrq_in) + (pages) * 8)

typedef struct Fixture {
    FakeHost *h;
    uint32_t uar, eqn, cqn, pdn;
} Fixture;

static Fixture setup_props(const Mlx5FuncProps *props)
{
    Fixture f = { .h = fake_host_new(props) };

    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, 4, 1, t_ring(0),
                 1u << MLX5_EVENT_TYPE_SRQ_RQ_LIMIT);
    f.cqn = t_cq(f.h, f.uar, f.eqn, 4, t_ring(1), 0x8000);
    f.pdn = t_alloc(f.h, mlx5_cmd_alloc_pd);
    return f;
}

static uint8_t *fill(TestCmd *t, const Fixture *f)
{
    uint8_t *xrqc = MLX5_ADDR_OF(create_xrq_in, t->in, xrq_context);
    uint8_t *wq = MLX5_ADDR_OF(xrqc, xrqc, wq);
    uint8_t *tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);

    memset(t, 0, sizeof(*t));
    MLX5_SET(xrqc, xrqc, topology, 1);
    MLX5_SET(xrqc, xrqc, offload, 1);
    MLX5_SET(xrqc, xrqc, user_index, 0xabcdef);
    MLX5_SET(xrqc, xrqc, cqn, f->cqn);
    MLX5_SET(tag_matching_topology_context, tm, log_matching_list_sz, 7);
    MLX5_SET(wq, wq, pd, f->pdn);
    MLX5_SET(wq, wq, log_wq_sz, LOG_SIZE);
    MLX5_SET(wq, wq, log_wq_stride, 6);
    MLX5_SET(wq, wq, dbr_addr, DBR);
    t_pas(t->in, MLX5_ST_SZ_BYTES(create_xrq_in), t_ring(2), 1);
    return xrqc;
}

static uint32_t make(Fixture *f, TestCmd *t)
{
    t_ok(f->h, t, mlx5_cmd_create_xrq, LEN(1));
    return MLX5_GET(create_xrq_out, t->out, xrqn);
}

START_TEST(create_query_destroy)
{
    Fixture f = setup_props(NULL);
    uint8_t *xrqc, *tm;
    uint32_t xrqn;
    Mlx5Srq *xrq;
    TestCmd t;

    fill(&t, &f);
    xrqn = make(&f, &t);
    xrq = mlx5_obj_get(f.h->func, MLX5_OBJ_SRQ, xrqn);
    ck_assert_int_eq(xrq->kind, MLX5_SRQ_XRQ);
    ck_assert_uint_eq(xrq->tm->size, 128);
    ck_assert(xrq->tm_rndv);
    ck_assert_uint_eq(xrq->cq->o.id, f.cqn);
    xrq->tm->append_next = 5;
    xrq->tm->sw_cnt = 0x1234;
    xrq->tm->hw_cnt = 0xfffe;
    xrq->counter = 3;
    fake_mem_set_be32(f.h, DBR, 9);
    memset(t.in, 0, sizeof(t.in));
    MLX5_SET(query_xrq_in, t.in, xrqn, xrqn);
    t_ok(f.h, &t, mlx5_cmd_query_xrq, MLX5_ST_SZ_BYTES(query_xrq_in));
    xrqc = MLX5_ADDR_OF(query_xrq_out, t.out, xrq_context);
    tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);
    ck_assert_uint_eq(MLX5_GET(xrqc, xrqc, state), 0);
    ck_assert_uint_eq(MLX5_GET(xrqc, xrqc, user_index), 0xabcdef);
    ck_assert_uint_eq(MLX5_GET(tag_matching_topology_context, tm,
                               append_next_index), 5);
    ck_assert_uint_eq(MLX5_GET(tag_matching_topology_context, tm,
                               sw_phase_cnt), 0x1234);
    ck_assert_uint_eq(MLX5_GET(tag_matching_topology_context, tm,
                               hw_phase_cnt), 0xfffe);
    ck_assert_uint_eq(MLX5_GET(wq, MLX5_ADDR_OF(xrqc, xrqc, wq), hw_counter),
                      3);
    ck_assert_uint_eq(MLX5_GET(wq, MLX5_ADDR_OF(xrqc, xrqc, wq), sw_counter),
                      9);
    ck_assert_uint_eq(mlx5_prm_get(t.out + MLX5_ST_SZ_BYTES(query_xrq_out), 0,
                                   64), t_ring(2));
    xrq->failed = true;
    t_ok(f.h, &t, mlx5_cmd_query_xrq, MLX5_ST_SZ_BYTES(query_xrq_in));
    ck_assert_uint_eq(MLX5_GET(xrqc, xrqc, state), 1);
    /* Not by the other kinds' commands. */
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_rmp, destroy_rmp_in, rmpn, xrqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_SRQ_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_xrq, destroy_xrq_in, xrqn, xrqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_SRQ), 0);
    fake_host_free(f.h);
}
END_TEST

/* Without a topology: a shared queue that has a CQ. */
START_TEST(plain)
{
    Fixture f = setup_props(NULL);
    uint8_t *xrqc;
    Mlx5Srq *xrq;
    TestCmd t;

    xrqc = fill(&t, &f);
    MLX5_SET(xrqc, xrqc, topology, 0);
    MLX5_SET(xrqc, xrqc, offload, 0);
    xrq = mlx5_obj_get(f.h->func, MLX5_OBJ_SRQ, make(&f, &t));
    ck_assert_ptr_null(xrq->tm);
    ck_assert(!xrq->tm_rndv);
    fake_host_free(f.h);
}
END_TEST

START_TEST(refusals)
{
    Fixture f = setup_props(NULL);
    uint8_t *xrqc, *tm;
    TestCmd t;

#define REFUSED(layout, at, field, value, status, synd)                    \
    do {                                                                   \
        xrqc = fill(&t, &f);                                               \
        tm = MLX5_ADDR_OF(xrqc, xrqc, tag_matching_topology_context);      \
        (void)tm;                                                          \
        MLX5_SET(layout, at, field, value);                                \
        t_refused(f.h, &t, mlx5_cmd_create_xrq, LEN(1),                    \
                  MLX5_CMD_STAT_##status, MLX5_SYND_##synd);               \
    } while (0)
    REFUSED(xrqc, xrqc, topology, 2, BAD_PARAM_ERR, XRQ_TOPOLOGY);
    REFUSED(xrqc, xrqc, offload, 2, BAD_PARAM_ERR, XRQ_OFFLOAD);
    REFUSED(xrqc, xrqc, topology, 0, BAD_PARAM_ERR, XRQ_OFFLOAD);
    REFUSED(tag_matching_topology_context, tm, log_matching_list_sz, 8,
            BAD_PARAM_ERR, XRQ_LIST_SIZE);
    REFUSED(xrqc, xrqc, rlkey, 1, BAD_PARAM_ERR, XRQ_RLKEY);
    REFUSED(xrqc, xrqc, state, 1, BAD_PARAM_ERR, RMP_STATE);
    REFUSED(xrqc, xrqc, cqn, f.cqn + 1, BAD_RES_ERR, SRQ_CQ);
    REFUSED(wq, xrqc + MLX5_BYTE_OFF(xrqc, wq), pd, f.pdn + 1, BAD_RES_ERR,
            SRQ_PD);
    REFUSED(wq, xrqc + MLX5_BYTE_OFF(xrqc, wq), wq_type, 2, BAD_PARAM_ERR,
            SRQ_TYPE);
#undef REFUSED
    fill(&t, &f);
    t_refused(f.h, &t, mlx5_cmd_create_xrq, LEN(0),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_SRQ_PAGES);
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_SRQ), 0);
    fake_host_free(f.h);
}
END_TEST

/* tag-matching=off: nothing promised, nothing made. */
START_TEST(switched_off)
{
    Mlx5FuncProps props;
    Fixture f;
    TestCmd t;

    mlx5_func_props_default(&props);
    props.tag_matching = false;
    f = setup_props(&props);
    fill(&t, &f);
    t_refused(f.h, &t, mlx5_cmd_create_xrq, LEN(1),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_XRQ_TOPOLOGY);
    fake_host_free(f.h);
}
END_TEST

START_TEST(arm)
{
    Fixture f = setup_props(NULL);
    uint32_t xrqn;
    Mlx5Srq *xrq;
    TestCmd t;

    fill(&t, &f);
    xrqn = make(&f, &t);
    xrq = mlx5_obj_get(f.h->func, MLX5_OBJ_SRQ, xrqn);
    fake_mem_set_be32(f.h, DBR, 8);
    memset(&t, 0, sizeof(t));
    MLX5_SET(arm_xrq_in, t.in, xrqn, xrqn);
    MLX5_SET(arm_xrq_in, t.in, lwm, 5);
    t_ok(f.h, &t, mlx5_cmd_arm_xrq, MLX5_ST_SZ_BYTES(arm_xrq_in));
    ck_assert_uint_eq(xrq->lwm, 5);
    MLX5_SET(arm_xrq_in, t.in, lwm, (1 << LOG_SIZE) + 1);
    t_refused(f.h, &t, mlx5_cmd_arm_xrq, MLX5_ST_SZ_BYTES(arm_xrq_in),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_SRQ_ARM_LIMIT);
    MLX5_SET(arm_xrq_in, t.in, xrqn, xrqn + 1);
    t_refused(f.h, &t, mlx5_cmd_arm_xrq, MLX5_ST_SZ_BYTES(arm_xrq_in),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SRQ_UNKNOWN);
    /* The driver's way: ARM_RQ with the XRQ's op_mod. */
    memset(&t, 0, sizeof(t));
    t.c.op_mod = 2;
    MLX5_SET(arm_rq_in, t.in, srq_number, xrqn);
    MLX5_SET(arm_rq_in, t.in, lwm, 6);
    t_ok(f.h, &t, mlx5_cmd_arm_rq, MLX5_ST_SZ_BYTES(arm_rq_in));
    ck_assert_uint_eq(xrq->lwm, 6);
    t.c.op_mod = 1;
    t_refused(f.h, &t, mlx5_cmd_arm_rq, MLX5_ST_SZ_BYTES(arm_rq_in),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_SRQ_UNKNOWN);
    fake_host_free(f.h);
}
END_TEST

static uint8_t *fill_qp(TestCmd *t, const Fixture *f, uint32_t xrqn)
{
    uint8_t *qpc = MLX5_ADDR_OF(create_qp_in, t->in, qpc);

    memset(t, 0, sizeof(*t));
    MLX5_SET(qpc, qpc, pd, f->pdn);
    MLX5_SET(qpc, qpc, no_sq, 1);
    MLX5_SET(qpc, qpc, rq_type, 1);
    MLX5_SET(qpc, qpc, cqn_rcv, f->cqn);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, xrqn);
    MLX5_SET(qpc, qpc, offload_type, 1);
    return qpc;
}

#define QP_LEN MLX5_BYTE_OFF(create_qp_in, pas)

START_TEST(queue_pairs)
{
    Fixture f = setup_props(NULL);
    uint32_t xrqn, plain;
    uint8_t *qpc, *xrqc;
    Mlx5Qp *qp;
    TestCmd t;

    fill(&t, &f);
    xrqn = make(&f, &t);
    xrqc = fill(&t, &f);
    MLX5_SET(xrqc, xrqc, offload, 0);
    plain = make(&f, &t);

    qpc = fill_qp(&t, &f, xrqn);
    MLX5_SET(qpc, qpc, st, MLX5_QP_ST_UC);
    t_refused(f.h, &t, mlx5_cmd_create_qp, QP_LEN, MLX5_CMD_STAT_BAD_RES_ERR,
              MLX5_SYND_QP_XRQ_SERVICE);
    qpc = fill_qp(&t, &f, xrqn);
    MLX5_SET(qpc, qpc, offload_type, 2);
    t_refused(f.h, &t, mlx5_cmd_create_qp, QP_LEN, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_QP_OFFLOAD);
    fill_qp(&t, &f, plain);
    t_refused(f.h, &t, mlx5_cmd_create_qp, QP_LEN, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_QP_OFFLOAD);
    fill_qp(&t, &f, xrqn);
    t_ok(f.h, &t, mlx5_cmd_create_qp, QP_LEN);
    qp = mlx5_obj_get(f.h->func, MLX5_OBJ_QP,
                      MLX5_GET(create_qp_out, t.out, qpn));
    ck_assert(qp->rndv);
    ck_assert_uint_eq(qp->srq->o.id, xrqn);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_xrq, destroy_xrq_in, xrqn, xrqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_SRQ_BUSY);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("xrq");
    TCase *tc = tcase_create("xrq");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, create_query_destroy);
    tcase_add_test(tc, plain);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, switched_off);
    tcase_add_test(tc, arm);
    tcase_add_test(tc, queue_pairs);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
