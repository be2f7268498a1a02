/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue pairs: making them as the driver does for each service, every refusal
 * of CREATE_QP, query, destroy, references.
 */
#include "tests/obj/qp_helper.h"

static const Mlx5QpSt services[] = {
    MLX5_QP_ST_RC, MLX5_QP_ST_UC, MLX5_QP_ST_UD,
    MLX5_QP_ST_XRC, MLX5_QP_ST_QP1, MLX5_QP_ST_REG_UMR,
};

START_TEST(create_each_service)
{
    Mlx5QpSt st = services[_i];
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, st);
    bool own_rq = st != MLX5_QP_ST_XRC && st != MLX5_QP_ST_REG_UMR;

    ck_assert_uint_ge(qp->o.id, MLX5_QPN_FIRST);
    ck_assert_int_eq(qp->st, st);
    ck_assert_int_eq(qp->state, MLX5_QP_STATE_RST);
    ck_assert_uint_eq(spy.created, 1);
    ck_assert(qp->has_sq);
    ck_assert(qp->has_rq == own_rq);
    ck_assert_uint_eq(qp->send_cq->o.id, f.scqn);
    ck_assert(own_rq ? qp->recv_cq->o.id == f.rcqn : !qp->recv_cq);
    ck_assert_ptr_null(qp->srq);
    ck_assert_ptr_null(qp->xrcd);
    ck_assert_uint_eq(mlx5_qp_pdn(qp),
                      st == MLX5_QP_ST_REG_UMR ? 0 : f.pdn);
    ck_assert_uint_eq(qp->sq_log_size, T_SQ_LOG);
    ck_assert_uint_eq(qp->sq_base_bytes, own_rq ? 64 << T_RQ_LOG : 0);
    ck_assert_uint_eq(qp->rq_wqe_bytes, own_rq ? 64 : 0);
    ck_assert_uint_eq(qp->rq_log_size, own_rq ? T_RQ_LOG : 0);
    ck_assert_uint_eq(qp->ring.size_bytes,
                      (64 << T_SQ_LOG) + (own_rq ? 64 << T_RQ_LOG : 0));
    ck_assert_uint_eq(qp->dbr_gpa, T_QP_DBR);
    ck_assert_uint_eq(qp->user_index, 0x123456);
    ck_assert_uint_eq(qp->uar_page->id, f.uar);
    ck_assert_uint_eq(qp->uar_page->refs, 1 + 2 + 1); /* EQ, CQs, and us */
    fake_host_free(f.h);
    ck_assert_uint_eq(spy.destroyed, 1);
}
END_TEST

/* As mlx5_ib create_xrc_tgt_qp: no queue at all, stand-ins for the rest. */
static void fill_xrc_target(TestCmd *t, const QpFixture *f)
{
    uint8_t *qpc = qp_fill(t, f, MLX5_QP_ST_XRC);

    MLX5_SET(qpc, qpc, no_sq, 1);
    MLX5_SET(qpc, qpc, log_sq_size, 0);
    MLX5_SET(qpc, qpc, uar_page, 0);
    MLX5_SET(qpc, qpc, dbr_addr, 0);
}

START_TEST(create_xrc_target)
{
    QpFixture f = qp_setup();
    TestCmd t;
    Mlx5Qp *qp;

    fill_xrc_target(&t, &f);
    t_ok(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(0));
    qp = mlx5_obj_get(f.h->func, MLX5_OBJ_QP,
                      MLX5_GET(create_qp_out, t.out, qpn));
    ck_assert(!qp->has_sq);
    ck_assert(!qp->has_rq);
    ck_assert_uint_eq(qp->xrcd->id, f.xrcdn);
    ck_assert_uint_eq(qp->xrcd->refs, 2);    /* and the XRC SRQ */
    fill_xrc_target(&t, &f);
    MLX5_SET(qpc, t.in + MLX5_BYTE_OFF(create_qp_in, qpc), xrcd, f.xrcdn + 1);
    t_refused(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(0),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_XRCD);
    fake_host_free(f.h);
}
END_TEST

START_TEST(create_with_srq)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *qpc = qp_fill(&t, &f, MLX5_QP_ST_RC);
    Mlx5Qp *qp;

    MLX5_SET(qpc, qpc, rq_type, 1);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, f.rmpn);
    qp = qp_create(&f, &t);
    ck_assert(!qp->has_rq);
    ck_assert_uint_eq(qp->srq->o.id, f.rmpn);
    ck_assert_uint_eq(qp->srq->o.refs, 1);
    ck_assert_uint_eq(qp->recv_cq->o.id, f.rcqn);
    ck_assert_uint_eq(qp->sq_base_bytes, 0);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, f.xsrqn);
    t_refused(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_SRQ_KIND);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, 0xffffff);
    t_refused(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4),
              MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_SRQ);
    fake_host_free(f.h);
}
END_TEST

START_TEST(create_receive_only)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *qpc = qp_fill(&t, &f, MLX5_QP_ST_UD);
    Mlx5Qp *qp;

    /* No SQ: no send CQ and no UAR page are needed. */
    MLX5_SET(qpc, qpc, no_sq, 1);
    MLX5_SET(qpc, qpc, cqn_snd, 0);
    MLX5_SET(qpc, qpc, uar_page, 0);
    qp = qp_create(&f, &t);
    ck_assert_ptr_null(qp->send_cq);
    ck_assert_uint_eq(qp->ring.size_bytes, 64 << T_RQ_LOG);
    fake_host_free(f.h);
}
END_TEST

START_TEST(create_refusals)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *qpc;

#define TRY(len, status, synd)                                              \
    t_refused(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(len),                   \
              MLX5_CMD_STAT_##status, MLX5_SYND_##synd)
#define REFUSED(field, value, len, status, synd)                            \
    do {                                                                    \
        qpc = qp_fill(&t, &f, MLX5_QP_ST_RC);                               \
        MLX5_SET(qpc, qpc, field, value);                                   \
        TRY(len, status, synd);                                             \
    } while (0)
    for (unsigned st = 0; st < 256; st++) {
        if (st > 31 || !(MLX5_QP_ST_SUPPORTED >> st & 1)) {
            REFUSED(st, st, 4, BAD_PARAM_ERR, QP_SERVICE);
        }
    }
    REFUSED(rq_type, 2, 4, BAD_PARAM_ERR, QP_RQ_TYPE);
    for (unsigned type = 4; type < 8; type++) {
        REFUSED(rq_type, type, 4, BAD_PARAM_ERR, QP_RQ_TYPE);
    }
    REFUSED(log_rq_stride, 6, 4, BAD_PARAM_ERR, QP_RQ_STRIDE);
    REFUSED(cs_req, 0x12, 4, BAD_PARAM_ERR, QP_CS_REQ);
    REFUSED(cs_res, 3, 4, BAD_PARAM_ERR, QP_CS_RES);
    f.h->func->props.scatter_to_cqe = false;
    REFUSED(cs_req, 0x11, 4, BAD_PARAM_ERR, QP_SCATTER_OFF);
    REFUSED(cs_res, 1, 4, BAD_PARAM_ERR, QP_SCATTER_OFF);
    REFUSED(wq_signature, 1, 4, BAD_PARAM_ERR, QP_SIGNATURE);
    REFUSED(ts_format, 2, 4, BAD_PARAM_ERR, QP_TS_FORMAT);
    REFUSED(dbr_umem_valid, 1, 4, BAD_RES_ERR, DBR_UMEM);
    REFUSED(dbr_addr, T_QP_DBR + 4, 4, BAD_PARAM_ERR, QP_DBR);
    REFUSED(send_dbr_mode, 2, 4, BAD_PARAM_ERR, QP_SEND_DBR_MODE);
    f.h->func->props.dbr_less = false;
    REFUSED(send_dbr_mode, 1, 4, BAD_PARAM_ERR, QP_SEND_DBR_MODE);
    f.h->func->props.dbr_less = true;
    REFUSED(uar_page, f.uar + 1, 4, BAD_RES_ERR, QP_UAR);
    REFUSED(pd, f.pdn + 1, 4, BAD_RES_ERR, QP_PD);
    REFUSED(pd, 0, 4, BAD_RES_ERR, QP_PD);
    REFUSED(cqn_snd, 0xffffff, 4, BAD_RES_ERR, QP_SEND_CQ);
    REFUSED(cqn_rcv, 0, 4, BAD_RES_ERR, QP_RECV_CQ);
    REFUSED(log_sq_size, 9, 4, BAD_PARAM_ERR, QP_PAGES);
    REFUSED(log_sq_size, 5, 0, BAD_PARAM_ERR, QP_PAGES);
    REFUSED(page_offset, 63, 1, BAD_PARAM_ERR, QP_PAGES);
    REFUSED(log_page_size, 31, 4, BAD_PARAM_ERR, QP_PAGES);
    qpc = qp_fill(&t, &f, MLX5_QP_ST_RC);
    MLX5_SET(qpc, qpc, log_rq_size, 0);
    MLX5_SET(qpc, qpc, log_rq_stride, 0);
    TRY(4, BAD_PARAM_ERR, QP_SQ_ALIGN);
    qpc = qp_fill(&t, &f, MLX5_QP_ST_XRC);
    MLX5_SET(qpc, qpc, rq_type, 0);
    TRY(4, BAD_PARAM_ERR, QP_XRC_RQ);
    qpc = qp_fill(&t, &f, MLX5_QP_ST_REG_UMR);
    MLX5_SET(qpc, qpc, pd, f.pdn + 1);
    TRY(4, BAD_RES_ERR, QP_PD);
    qp_fill(&t, &f, MLX5_QP_ST_RC);
    MLX5_SET(create_qp_in, t.in, qpc_ext, 1);
    TRY(4, BAD_PARAM_ERR, QP_EXT);
    qp_fill(&t, &f, MLX5_QP_ST_RC);
    MLX5_SET(create_qp_in, t.in, input_qpn, 5);
    TRY(4, BAD_PARAM_ERR, QP_INPUT_QPN);
    qp_fill(&t, &f, MLX5_QP_ST_RC);
    MLX5_SET(create_qp_in, t.in, wq_umem_valid, 1);
    TRY(4, BAD_RES_ERR, QUEUE_UMEM);
#undef REFUSED
#undef TRY
    /* Nothing was made, nothing is held. */
    ck_assert_uint_eq(mlx5_obj_count(f.h->func, MLX5_OBJ_QP), 0);
    ck_assert_uint_eq(spy.created, 0);
    ck_assert_uint_eq(((Mlx5Obj *)mlx5_obj_get(f.h->func, MLX5_OBJ_CQ,
                                               f.scqn))->refs, 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(none_free)
{
    QpFixture f = qp_setup();
    TestCmd t;

    f.h->func->props.log_max_qp = 8;
    qp_fill(&t, &f, MLX5_QP_ST_UD);
    for (unsigned i = 0; i < 256; i++) {
        t_ok(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4));
    }
    t_refused(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4),
              MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_QP_NONE_FREE);
    fake_host_free(f.h);
    ck_assert_uint_eq(spy.destroyed, 256);
}
END_TEST

START_TEST(query)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    TestCmd t;
    uint8_t *qpc = t.out + MLX5_BYTE_OFF(query_qp_out, qpc);

    T_DESTROY(f.h, &t, mlx5_cmd_query_qp, query_qp_in, qpn, qp->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(spy.queries, 1);
    ck_assert_uint_eq(MLX5_GET(qpc, qpc, st), MLX5_QP_ST_RC);
    ck_assert_uint_eq(MLX5_GET(qpc, qpc, state), MLX5_QP_STATE_RST);
    ck_assert_uint_eq(MLX5_GET(qpc, qpc, pd), f.pdn);
    ck_assert_uint_eq(MLX5_GET(qpc, qpc, cqn_snd), f.scqn);
    ck_assert_uint_eq(MLX5_GET(qpc, qpc, srqn_rmpn_xrqn), f.xsrqn);
    ck_assert_uint_eq(MLX5_GET(qpc, qpc, hw_sq_wqebb_counter), 0x77);
    ck_assert_uint_eq(mlx5_prm_get(t.out + 0x110, 0, 64), t_ring(3));
    T_DESTROY(f.h, &t, mlx5_cmd_query_qp, query_qp_in, qpn, qp->o.id + 1);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_UNKNOWN);
    memset(&t, 0, sizeof(t));
    MLX5_SET(query_qp_in, t.in, qpn, qp->o.id);
    MLX5_SET(query_qp_in, t.in, qpc_ext, 1);
    t_refused(f.h, &t, mlx5_cmd_query_qp, 16, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_QP_QUERY_EXT);
    fake_host_free(f.h);
}
END_TEST

START_TEST(destroy_and_references)
{
    QpFixture f = qp_setup();
    TestCmd t;
    uint8_t *qpc = qp_fill(&t, &f, MLX5_QP_ST_RC);
    Mlx5Qp *qp;
    uint32_t qpn;

    MLX5_SET(qpc, qpc, rq_type, 1);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, f.rmpn);
    qp = qp_create(&f, &t);
    qpn = qp->o.id;
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.scqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_BUSY);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.rcqn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_CQ_BUSY);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_rmp, destroy_rmp_in, rmpn, f.rmpn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_SRQ_BUSY);
    T_DESTROY(f.h, &t, mlx5_cmd_dealloc_pd, dealloc_pd_in, pd, f.pdn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_PD_BUSY);
    mlx5_obj_ref(qp);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_qp, destroy_qp_in, qpn, qpn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_BUSY);
    mlx5_obj_unref(qp);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_qp, destroy_qp_in, qpn, qpn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(spy.destroyed, 1);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_qp, destroy_qp_in, qpn, qpn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_UNKNOWN);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.scqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_rmp, destroy_rmp_in, rmpn, f.rmpn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    /* The next QP has another number. */
    f.scqn = f.rcqn;
    ck_assert_uint_ne(qp_make(&f, MLX5_QP_ST_RC)->o.id, qpn);
    fake_host_free(f.h);
}
END_TEST

START_TEST(owners)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    TestCmd t;

    qp_fill(&t, &f, MLX5_QP_ST_RC);
    t_run(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4), 9);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_UAR);
    qp->o.uid = 9;
    memset(&t, 0, sizeof(t));
    MLX5_SET(qp_2err_in, t.in, qpn, qp->o.id);
    t_run(f.h, &t, mlx5_cmd_qp_2err, 16, 10);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_UNKNOWN);
    t_run(f.h, &t, mlx5_cmd_destroy_qp, 16, 10);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_UNKNOWN);
    t_run(f.h, &t, mlx5_cmd_qp_2err, 16, 9);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(f.h);
}
END_TEST

/* Both open all of memory, so they are not for user contexts. */
START_TEST(not_for_users)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    TestCmd t;
    uint8_t *qpc = qp_fill(&t, &f, MLX5_QP_ST_RC);

    MLX5_SET(qpc, qpc, rlky, 1);
    t_run(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4), 9);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_USER_RLKEY);
    MLX5_SET(qpc, qpc, rlky, 0);
    MLX5_SET(qpc, qpc, fre, 1);
    t_run(f.h, &t, mlx5_cmd_create_qp, T_QP_LEN(4), 9);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_USER_FRE);
    qp->o.uid = 9;
    memset(&t, 0, sizeof(t));
    qpc = t.in + MLX5_BYTE_OFF(rst2init_qp_in, qpc);
    MLX5_SET(rst2init_qp_in, t.in, qpn, qp->o.id);
    MLX5_SET(qpc, qpc, rlky, 1);
    t_run(f.h, &t, mlx5_cmd_rst2init_qp, MLX5_ST_SZ_BYTES(rst2init_qp_in), 9);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_INIT_USER_RLKEY);
    ck_assert_int_eq(qp->state, MLX5_QP_STATE_RST);
    MLX5_SET(qpc, qpc, rlky, 0);
    MLX5_SET(qpc, qpc, fre, 1);
    t_run(f.h, &t, mlx5_cmd_rst2init_qp, MLX5_ST_SZ_BYTES(rst2init_qp_in), 9);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_INIT_USER_FRE);
    MLX5_SET(qpc, qpc, fre, 0);
    t_run(f.h, &t, mlx5_cmd_rst2init_qp, MLX5_ST_SZ_BYTES(rst2init_qp_in), 9);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(f.h);
}
END_TEST

START_TEST(no_engine)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp;
    TestCmd t;

    f.h->func->engine = NULL;
    qp = qp_make(&f, MLX5_QP_ST_RC);
    T_DESTROY(f.h, &t, mlx5_cmd_query_qp, query_qp_in, qpn, qp->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_qp_2err, qp_2err_in, qpn, qp->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_qp, destroy_qp_in, qpn, qp->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qp");
    TCase *tc = tcase_create("qp");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, create_each_service, 0, G_N_ELEMENTS(services));
    tcase_add_test(tc, create_xrc_target);
    tcase_add_test(tc, create_with_srq);
    tcase_add_test(tc, create_receive_only);
    tcase_add_test(tc, create_refusals);
    tcase_add_test(tc, none_free);
    tcase_add_test(tc, query);
    tcase_add_test(tc, destroy_and_references);
    tcase_add_test(tc, owners);
    tcase_add_test(tc, not_for_users);
    tcase_add_test(tc, no_engine);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
