/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue pairs for tests of obj/, and an engine that only notes its calls.
 */
#ifndef MLX5_TESTS_QP_HELPER_H
#define MLX5_TESTS_QP_HELPER_H

#include "obj/engine.h"
#include "obj/limits.h"
#include "obj/qp_internal.h"
#include "tests/obj/obj_helper.h"

#define T_QP_DBR 0x9000
#define T_QP_LEN(pages) (MLX5_BYTE_OFF(create_qp_in, pas) + (pages) * 8)

/* 16 receive WQEs of 64 bytes, then 32 basic blocks. */
#define T_RQ_LOG 4
#define T_RQ_STRIDE_LOG 2
#define T_SQ_LOG 5

typedef struct QpFixture {
    FakeHost *h;
    uint32_t uar, eqn, scqn, rcqn, pdn, xrcdn, rmpn, xsrqn;
} QpFixture;

typedef struct Spy {
    unsigned created, destroyed, states, queries;
    Mlx5QpState from, to;
} Spy;

static Spy spy;

static void spy_created(Mlx5Qp *qp)
{
    ck_assert_int_eq(qp->state, MLX5_QP_STATE_RST);
    spy.created++;
}

static void spy_destroyed(Mlx5Qp *qp)
{
    /* What it names is still there. */
    ck_assert(!qp->send_cq || qp->send_cq->o.refs > 0);
    spy.destroyed++;
}

static void spy_state(Mlx5Qp *qp, Mlx5QpState from)
{
    spy.states++;
    spy.from = from;
    spy.to = qp->state;
}

static void spy_query(Mlx5Qp *qp)
{
    MLX5_SET(qpc, qp->qpc, hw_sq_wqebb_counter, 0x77);
    spy.queries++;
}

static const Mlx5EngineOps spy_engine = {
    .qp_created = spy_created,
    .qp_state = spy_state,
    .qp_destroyed = spy_destroyed,
    .qp_query = spy_query,
};

static inline uint32_t qp_make_rmp(QpFixture *f)
{
    TestCmd t = { 0 };
    uint8_t *ctx = t.in + MLX5_BYTE_OFF(create_rmp_in, ctx);
    uint8_t *wq = ctx + MLX5_BYTE_OFF(rmpc, wq);

    MLX5_SET(rmpc, ctx, state, 1);
    MLX5_SET(wq, wq, pd, f->pdn);
    MLX5_SET(wq, wq, log_wq_sz, 4);
    MLX5_SET(wq, wq, log_wq_stride, 6);
    MLX5_SET(wq, wq, dbr_addr, 0x9100);
    t_pas(t.in, 0x110, t_ring(5), 1);
    t_ok(f->h, &t, mlx5_cmd_create_rmp, 0x118);
    return MLX5_GET(create_rmp_out, t.out, rmpn);
}

static inline uint32_t qp_make_xrc_srq(QpFixture *f)
{
    TestCmd t = { 0 };
    uint8_t *ctx = t.in + MLX5_BYTE_OFF(create_xrc_srq_in,
                                        xrc_srq_context_entry);

    MLX5_SET(xrc_srqc, ctx, pd, f->pdn);
    MLX5_SET(xrc_srqc, ctx, cqn, f->rcqn);
    MLX5_SET(xrc_srqc, ctx, xrcd, f->xrcdn);
    MLX5_SET(xrc_srqc, ctx, log_xrc_srq_size, 4);
    MLX5_SET(xrc_srqc, ctx, log_rq_stride, 2);
    t_pas(t.in, 0x110, t_ring(6), 1);
    t_ok(f->h, &t, mlx5_cmd_create_xrc_srq, 0x118);
    return MLX5_GET(create_xrc_srq_out, t.out, xrc_srqn);
}

static inline QpFixture qp_setup(void)
{
    QpFixture f = { .h = fake_host_new(NULL) };

    memset(&spy, 0, sizeof(spy));
    f.h->func->engine = &spy_engine;
    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, 4, 1, t_ring(0), 0);
    f.scqn = t_cq(f.h, f.uar, f.eqn, 4, t_ring(1), 0x8000);
    f.rcqn = t_cq(f.h, f.uar, f.eqn, 4, t_ring(2), 0x8008);
    f.pdn = t_alloc(f.h, mlx5_cmd_alloc_pd);
    f.xrcdn = t_alloc(f.h, mlx5_cmd_alloc_xrcd);
    f.rmpn = qp_make_rmp(&f);
    f.xsrqn = qp_make_xrc_srq(&f);
    return f;
}

/* An input as the driver makes it for this service (mlx5_ib qp.c). */
static inline uint8_t *qp_fill(TestCmd *t, const QpFixture *f, Mlx5QpSt st)
{
    uint8_t *qpc = t->in + MLX5_BYTE_OFF(create_qp_in, qpc);
    bool own_rq = st != MLX5_QP_ST_XRC && st != MLX5_QP_ST_DCI &&
                  st != MLX5_QP_ST_REG_UMR;

    memset(t, 0, sizeof(*t));
    MLX5_SET(qpc, qpc, st, st);
    MLX5_SET(qpc, qpc, pm_state, 3);
    MLX5_SET(qpc, qpc, uar_page, f->uar);
    MLX5_SET(qpc, qpc, cqn_snd, f->scqn);
    MLX5_SET(qpc, qpc, cqn_rcv, f->rcqn);
    MLX5_SET(qpc, qpc, xrcd, f->xrcdn);
    MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, f->xsrqn);
    MLX5_SET(qpc, qpc, dbr_addr, T_QP_DBR);
    MLX5_SET(qpc, qpc, user_index, 0x123456);
    MLX5_SET(qpc, qpc, log_sq_size, T_SQ_LOG);
    if (st != MLX5_QP_ST_REG_UMR) {
        MLX5_SET(qpc, qpc, pd, f->pdn);
    }
    if (own_rq) {
        MLX5_SET(qpc, qpc, log_rq_size, T_RQ_LOG);
        MLX5_SET(qpc, qpc, log_rq_stride, T_RQ_STRIDE_LOG);
    } else {
        MLX5_SET(qpc, qpc, rq_type, st == MLX5_QP_ST_XRC ? 1 : 3);
    }
    t_pas(t->in, MLX5_BYTE_OFF(create_qp_in, pas), t_ring(3), 4);
    return qpc;
}

static inline Mlx5Qp *qp_create(const QpFixture *f, TestCmd *t)
{
    t_ok(f->h, t, mlx5_cmd_create_qp, T_QP_LEN(4));
    return mlx5_obj_get(f->h->func, MLX5_OBJ_QP,
                        MLX5_GET(create_qp_out, t->out, qpn));
}

static inline Mlx5Qp *qp_make(const QpFixture *f, Mlx5QpSt st)
{
    TestCmd t;

    qp_fill(&t, f, st);
    return qp_create(f, &t);
}

#endif
