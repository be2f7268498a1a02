/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of DC targets and initiators: what they keep, each refusal.
 */
#include "obj/dct.h"
#include "tests/obj/qp_helper.h"

#define KEY UINT64_C(0x1122334455667788)
#define LEN MLX5_ST_SZ_BYTES(create_dct_in)

static uint8_t *fill(TestCmd *t, const QpFixture *f)
{
    uint8_t *dctc = t->in + MLX5_BYTE_OFF(create_dct_in, dct_context_entry);

    memset(t, 0, sizeof(*t));
    MLX5_SET(dctc, dctc, pd, f->pdn);
    MLX5_SET(dctc, dctc, cqn, f->rcqn);
    MLX5_SET(dctc, dctc, srqn_xrqn, f->rmpn);
    MLX5_SET(dctc, dctc, dc_access_key, KEY);
    MLX5_SET(dctc, dctc, user_index, 0x4567);
    MLX5_SET(dctc, dctc, mtu, 3);
    MLX5_SET(dctc, dctc, port, 1);
    return dctc;
}

static Mlx5Dct *make(const QpFixture *f, TestCmd *t)
{
    t_ok(f->h, t, mlx5_cmd_create_dct, LEN);
    return mlx5_obj_get(f->h->func, MLX5_OBJ_DCT,
                        MLX5_GET(create_dct_out, t->out, dctn));
}

static Mlx5Dct *make_plain(const QpFixture *f)
{
    TestCmd t;

    fill(&t, f);
    return make(f, &t);
}

START_TEST(create)
{
    QpFixture f = qp_setup();
    Mlx5Dct *dct = make_plain(&f);
    TestCmd t;
    uint8_t *dctc = t.out + MLX5_BYTE_OFF(query_dct_out, dct_context_entry);

    ck_assert_uint_ge(dct->o.id, MLX5_DCTN_FIRST);
    ck_assert_uint_eq(dct->key, KEY);
    ck_assert_uint_eq(dct->srq->o.id, f.rmpn);
    T_DESTROY(f.h, &t, mlx5_cmd_query_dct, query_dct_in, dctn, dct->o.id);
    ck_assert_uint_eq(MLX5_GET(dctc, dctc, dc_access_key), KEY);
    ck_assert_uint_eq(MLX5_GET(dctc, dctc, user_index), 0x4567);
    ck_assert_uint_eq(MLX5_GET(dctc, dctc, state), MLX5_DCT_ACTIVE);
    /* What it names may not go before it. */
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.rcqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_BUSY);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_dct, destroy_dct_in, dctn, dct->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_query_dct, query_dct_in, dctn,
              MLX5_DCTN_FIRST);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_UNKNOWN);
    fake_host_free(f.h);
}
END_TEST

START_TEST(create_refusals)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *dctc;

#define REFUSED(field, value, status, synd)                                 \
    do {                                                                    \
        dctc = fill(&t, &f);                                                \
        MLX5_SET(dctc, dctc, field, value);                                 \
        t_refused(f.h, &t, mlx5_cmd_create_dct, LEN,                        \
                  MLX5_CMD_STAT_##status, MLX5_SYND_##synd);                \
    } while (0)
    REFUSED(mtu, 0, BAD_PARAM_ERR, DCT_MTU);
    REFUSED(mtu, 6, BAD_PARAM_ERR, DCT_MTU);
    REFUSED(port, 0, BAD_PARAM_ERR, DCT_PORT);
    REFUSED(port, 2, BAD_PARAM_ERR, DCT_PORT);
    REFUSED(pkey_index, 128, BAD_PARAM_ERR, DCT_PKEY_INDEX);
    REFUSED(cs_res, 3, BAD_PARAM_ERR, DCT_CS_RES);
    REFUSED(pd, f.pdn + 1, BAD_RES_ERR, DCT_PD);
    REFUSED(cqn, 0xffffff, BAD_RES_ERR, DCT_CQ);
    REFUSED(srqn_xrqn, 0, BAD_RES_ERR, DCT_SRQ);
    REFUSED(srqn_xrqn, f.xsrqn, BAD_RES_ERR, DCT_SRQ_KIND);
    f.h->func->props.scatter_to_cqe = false;
    REFUSED(cs_res, 1, BAD_PARAM_ERR, DCT_CS_RES);
    f.h->func->props.dc = false;
    REFUSED(mtu, 3, BAD_PARAM_ERR, DCT_OFF);
#undef REFUSED
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_DCT), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(none_free)
{
    QpFixture f = qp_setup();
    TestCmd t;

    for (uint32_t i = 0; i < 1u << MLX5_LOG_MAX_DCT; i++) {
        mlx5_obj_new(f.h->func, MLX5_OBJ_DCT, sizeof(Mlx5Dct), 0);
    }
    fill(&t, &f);
    t_refused(f.h, &t, mlx5_cmd_create_dct, LEN, MLX5_CMD_STAT_NO_RES_ERR,
              MLX5_SYND_DCT_NONE_FREE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(scatter_to_cqe_room)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *dctc = fill(&t, &f);
    Mlx5Dct *dct;

    MLX5_SET(dctc, dctc, cs_res, 1);
    dct = make(&f, &t);
    ck_assert_uint_eq(dct->cs_res_bytes, 32);
    /* 64 bytes want an entry of 128. */
    dctc = fill(&t, &f);
    MLX5_SET(dctc, dctc, cs_res, 2);
    dct = make(&f, &t);
    ck_assert_uint_eq(dct->cs_res_bytes, 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(drain_once)
{
    QpFixture f = qp_setup();
    Mlx5Dct *dct = make_plain(&f);
    TestCmd t;

    T_DESTROY(f.h, &t, mlx5_cmd_drain_dct, drain_dct_in, dctn, dct->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(dct->state, MLX5_DCT_DRAINING);
    T_DESTROY(f.h, &t, mlx5_cmd_drain_dct, drain_dct_in, dctn, dct->o.id);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_DRAIN_STATE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(unknown)
{
    QpFixture f = qp_setup();
    TestCmd t;

    T_DESTROY(f.h, &t, mlx5_cmd_drain_dct, drain_dct_in, dctn, 5);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_dct, destroy_dct_in, dctn, 5);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_arm_dct, arm_dct_in, dct_number, 5);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_UNKNOWN);
    fake_host_free(f.h);
}
END_TEST

START_TEST(another_owner)
{
    QpFixture f = qp_setup();
    Mlx5Dct *dct = make_plain(&f);
    TestCmd t = { 0 };

    MLX5_SET(destroy_dct_in, t.in, dctn, dct->o.id);
    t_run(f.h, &t, mlx5_cmd_destroy_dct, 16, 3);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_UNKNOWN);
    mlx5_obj_ref(dct);
    t_run(f.h, &t, mlx5_cmd_destroy_dct, 16, 0);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_DCT_BUSY);
    mlx5_obj_unref(dct);
    fake_host_free(f.h);
}
END_TEST

/* --- initiators --- */

START_TEST(initiator)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *qpc = qp_fill(&t, &f, MLX5_QP_ST_DCI);
    Mlx5Qp *qp;

    /* As mlx5_ib makes it with a shared queue: it has none of it. */
    MLX5_SET(qpc, qpc, rq_type, 1);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, f.rmpn);
    MLX5_SET(qpc, qpc, log_num_dci_stream_channels, 6);
    MLX5_SET(qpc, qpc, log_num_dci_errored_streams, 6);
    MLX5_SET(qpc, qpc, cs_req, 0x11);
    qp = qp_create(&f, &t);
    ck_assert(qp->has_sq && !qp->has_rq && !qp->srq);
    ck_assert_uint_eq(qp->sq_base_bytes, 0);
    ck_assert_uint_eq(qp->cs_req_bytes, 32);
    fake_host_free(f.h);
}
END_TEST

START_TEST(initiator_refusals)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *qpc;

#define REFUSED(field, value, synd)                                         \
    do {                                                                    \
        qpc = qp_fill(&t, &f, MLX5_QP_ST_DCI);                              \
        MLX5_SET(qpc, qpc, field, value);                                   \
        t_refused(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4),                 \
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_##synd);           \
    } while (0)
    REFUSED(log_num_dci_stream_channels, 7, QP_DCI_STREAMS);
    REFUSED(log_num_dci_errored_streams, 7, QP_DCI_ERRORED);
    f.h->func->props.dc = false;
    REFUSED(log_num_dci_errored_streams, 0, QP_DC_OFF);
#undef REFUSED
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dct");
    TCase *tc = tcase_create("dct");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, create);
    tcase_add_test(tc, create_refusals);
    tcase_add_test(tc, none_free);
    tcase_add_test(tc, scatter_to_cqe_room);
    tcase_add_test(tc, drain_once);
    tcase_add_test(tc, unknown);
    tcase_add_test(tc, another_owner);
    tcase_add_test(tc, initiator);
    tcase_add_test(tc, initiator_refusals);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
