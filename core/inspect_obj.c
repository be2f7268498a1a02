/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inspector's view of queues, keys and pages. Ring indices run freely, as
 * the driver counts them; sequence numbers have 24 bits.
 */
#include "inspect.h"

#include "obj/dct.h"
#include "obj/mkey.h"
#include "obj/qp.h"
#include "obj/rq.h"
#include "obj/sq.h"
#include "obj/srq.h"
#include "obj/uar.h"
#include "obj/umem.h"
#include "rdma/rdma_internal.h"

static uint32_t id_of(const void *obj)
{
    return obj ? ((const Mlx5Obj *)obj)->id : 0;
}

static void open_obj(Mlx5Json *j, const char *number, const Mlx5Obj *o)
{
    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, number, o->id);
    mlx5_json_uint(j, "uid", o->uid);
}

/* The name of @i in @names, which may have holes. */
static const char *name_of(const char *const *names, size_t count, size_t i)
{
    return i < count && names[i] ? names[i] : "?";
}

#define NAME_OF(names, i) name_of(names, G_N_ELEMENTS(names), i)

static void one_eq(void *obj, void *opaque)
{
    Mlx5Eq *eq = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "eqn", &eq->o);
    mlx5_json_uint(j, "entries", UINT64_C(1) << eq->log_eq_size);
    mlx5_json_uint(j, "vector", eq->vector);
    mlx5_json_uint(j, "producer", eq->pi);
    mlx5_json_uint(j, "consumer", eq->ci);
    mlx5_json_bool(j, "armed", eq->armed);
    mlx5_json_bool(j, "failed", eq->failed);
    mlx5_json_close(j, '}');
}

static void one_cq(void *obj, void *opaque)
{
    Mlx5Cq *cq = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "cqn", &cq->o);
    mlx5_json_uint(j, "entries", UINT64_C(1) << cq->log_cq_size);
    mlx5_json_uint(j, "cqe_bytes", cq->cqe_bytes);
    mlx5_json_uint(j, "eqn", id_of(cq->eq));
    mlx5_json_uint(j, "uar", cq->uar);
    mlx5_json_uint(j, "producer", cq->pi);
    mlx5_json_uint(j, "consumer_seen", cq->ci_seen);
    mlx5_json_bool(j, "armed", cq->armed);
    mlx5_json_bool(j, "failed", cq->failed);
    mlx5_json_uint(j, "refs", cq->o.refs);
    mlx5_json_close(j, '}');
}

static const char *st_name(Mlx5QpSt st)
{
    static const char *const names[] = {
        [MLX5_QP_ST_RC] = "rc", [MLX5_QP_ST_UC] = "uc", [MLX5_QP_ST_UD] = "ud",
        [MLX5_QP_ST_XRC] = "xrc", [MLX5_QP_ST_DCI] = "dci",
        [MLX5_QP_ST_DCT] = "dct", [MLX5_QP_ST_QP0] = "qp0",
        [MLX5_QP_ST_QP1] = "gsi", [MLX5_QP_ST_RAW_ETHERTYPE] = "raw",
        [MLX5_QP_ST_REG_UMR] = "umr",
    };

    return NAME_OF(names, st);
}

static void qp_engine(Mlx5Json *j, const Mlx5QpEngine *e)
{
    bool faults = false;

    for (unsigned i = 0; i < MLX5_FAULT_PLACES; i++) {
        faults |= mlx5_odp_waits(e, i);
    }
    mlx5_json_uint(j, "sq_posted", e->req.posted);
    mlx5_json_uint(j, "sq_fetched", e->req.fetched);
    mlx5_json_uint(j, "outstanding", e->req.tail - e->req.head);
    mlx5_json_uint(j, "next_psn", e->req.next_psn);
    mlx5_json_uint(j, "unacked_psn", e->req.una);
    mlx5_json_uint(j, "ssn", e->req.ssn);
    mlx5_json_uint(j, "retries_left", e->req.retries);
    mlx5_json_bool(j, "rnr_wait", e->req.rnr_wait);
    mlx5_json_uint(j, "expected_psn", e->resp.epsn);
    mlx5_json_uint(j, "msn", e->resp.msn);
    mlx5_json_bool(j, "page_fault", faults);
}

static void one_qp(void *obj, void *opaque)
{
    Mlx5Qp *qp = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "qpn", &qp->o);
    mlx5_json_str(j, "type", st_name(qp->st));
    mlx5_json_str(j, "state", mlx5_qp_state_name(qp->state));
    mlx5_json_uint(j, "pd", mlx5_qp_pdn(qp));
    mlx5_json_uint(j, "send_cqn", id_of(qp->send_cq));
    mlx5_json_uint(j, "recv_cqn", id_of(qp->recv_cq));
    mlx5_json_uint(j, "srqn", id_of(qp->srq));
    mlx5_json_uint(j, "uar", MLX5_GET(qpc, qp->qpc, uar_page));
    mlx5_json_uint(j, "remote_qpn", MLX5_GET(qpc, qp->qpc, remote_qpn));
    mlx5_json_uint(j, "counter_set_id", mlx5_qp_counter(qp));
    mlx5_json_uint(j, "rq_consumed", qp->rq_consumed);
    if (qp->engine) {
        qp_engine(j, qp->engine);
    }
    mlx5_json_close(j, '}');
}

static void one_dct(void *obj, void *opaque)
{
    Mlx5Dct *dct = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "dctn", &dct->o);
    mlx5_json_uint(j, "pd", id_of(dct->pd));
    mlx5_json_uint(j, "cqn", id_of(dct->cq));
    mlx5_json_uint(j, "srqn", id_of(dct->srq));
    mlx5_json_uint(j, "violations", dct->violations);
    mlx5_json_close(j, '}');
}

static void one_srq(void *obj, void *opaque)
{
    static const char *const kinds[] = {
        [MLX5_SRQ_RMP] = "rmp", [MLX5_SRQ_XRC] = "xrc",
        [MLX5_SRQ_LEGACY] = "srq", [MLX5_SRQ_XRQ] = "xrq",
    };
    Mlx5Srq *srq = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "srqn", &srq->o);
    mlx5_json_str(j, "type", NAME_OF(kinds, srq->kind));
    mlx5_json_uint(j, "pd", id_of(srq->pd));
    mlx5_json_uint(j, "cqn", id_of(srq->cq));
    mlx5_json_uint(j, "entries", UINT64_C(1) << srq->log_size);
    mlx5_json_uint(j, "lwm", srq->lwm);
    mlx5_json_uint(j, "consumed", srq->counter);
    mlx5_json_bool(j, "failed", srq->failed);
    mlx5_json_close(j, '}');
}

static const char *wq_state_name(Mlx5WqState state)
{
    static const char *const names[] = {
        [MLX5_WQ_STATE_RST] = "RST", [MLX5_WQ_STATE_RDY] = "RDY",
        [MLX5_WQ_STATE_ERR] = "ERR",
    };

    return NAME_OF(names, state);
}

static void one_sq(void *obj, void *opaque)
{
    Mlx5Sq *sq = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "sqn", &sq->o);
    mlx5_json_str(j, "state", wq_state_name(sq->state));
    mlx5_json_uint(j, "cqn", id_of(sq->cq));
    mlx5_json_uint(j, "tisn", id_of(sq->tis));
    mlx5_json_uint(j, "uar", id_of(sq->wq.uar));
    mlx5_json_uint(j, "consumed", sq->ci);
    mlx5_json_close(j, '}');
}

static void one_rq(void *obj, void *opaque)
{
    Mlx5Rq *rq = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "rqn", &rq->o);
    mlx5_json_str(j, "state", wq_state_name(rq->state));
    mlx5_json_uint(j, "cqn", id_of(rq->cq));
    mlx5_json_uint(j, "pd", mlx5_wq_pdn(&rq->wq));
    mlx5_json_uint(j, "consumed", rq->ci);
    mlx5_json_close(j, '}');
}

/* Those that the driver keeps in reserve are counted, not listed. */
static void one_mkey(void *obj, void *opaque)
{
    static const char *const modes[] = {
        [MLX5_MKC_ACCESS_MODE_PA] = "pa", [MLX5_MKC_ACCESS_MODE_MTT] = "mtt",
        [MLX5_MKC_ACCESS_MODE_KLMS] = "klms",
        [MLX5_MKC_ACCESS_MODE_KSM] = "ksm",
        [MLX5_MKC_ACCESS_MODE_MEMIC] = "memic",
    };
    Mlx5Mkey *mkey = obj;
    Mlx5Json *j = opaque;

    if (mkey->free) {
        return;
    }
    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "mkey", (uint64_t)mkey->o.id << 8 | mkey->variant);
    mlx5_json_uint(j, "uid", mkey->o.uid);
    mlx5_json_str(j, "mode", NAME_OF(modes, mkey->mode));
    mlx5_json_uint(j, "pd", mkey->pdn);
    mlx5_json_uint(j, "start", mkey->start);
    mlx5_json_uint(j, "len", mkey->len);
    mlx5_json_bool(j, "length64", mkey->length64);
    mlx5_json_uint(j, "access", mkey->access);
    mlx5_json_uint(j, "refs", mkey->o.refs);
    mlx5_json_close(j, '}');
}

static void one_uar(void *obj, void *opaque)
{
    Mlx5Uar *uar = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "uar", &uar->o);
    mlx5_json_uint(j, "refs", uar->o.refs);
    mlx5_json_close(j, '}');
}

static void one_pd(void *obj, void *opaque)
{
    Mlx5Obj *pd = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "pd", pd);
    mlx5_json_uint(j, "refs", pd->refs);
    mlx5_json_close(j, '}');
}

static void one_umem(void *obj, void *opaque)
{
    Mlx5Umem *umem = obj;
    Mlx5Json *j = opaque;

    open_obj(j, "umem", &umem->o);
    mlx5_json_uint(j, "bytes", mlx5_umem_bytes(umem));
    mlx5_json_uint(j, "refs", umem->o.refs);
    mlx5_json_close(j, '}');
}

/* A row for each type that has an array of its own. */
static const struct {
    const char *name;
    Mlx5ObjType type;
    void (*one)(void *obj, void *opaque);
} arrays[] = {
    { "uars", MLX5_OBJ_UAR, one_uar },
    { "pds", MLX5_OBJ_PD, one_pd },
    { "eqs", MLX5_OBJ_EQ, one_eq },
    { "cqs", MLX5_OBJ_CQ, one_cq },
    { "qps", MLX5_OBJ_QP, one_qp },
    { "dcts", MLX5_OBJ_DCT, one_dct },
    { "srqs", MLX5_OBJ_SRQ, one_srq },
    { "sqs", MLX5_OBJ_SQ, one_sq },
    { "rqs", MLX5_OBJ_RQ, one_rq },
    { "mkeys", MLX5_OBJ_MKEY, one_mkey },
    { "umems", MLX5_OBJ_UMEM, one_umem },
};

void mlx5_inspect_objects(Mlx5Json *j, Mlx5Func *func)
{
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++) {
        mlx5_json_open(j, arrays[i].name, '[');
        mlx5_obj_foreach(func, arrays[i].type, arrays[i].one, j);
        mlx5_json_close(j, ']');
    }
}
