/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be refused: destroying an object that others use, transitions the
 * state diagram does not have, sizes beyond the limits that are reported.
 * Source: IBA 10.3.1 (figure 125), 11.2; ibv_modify_qp(3).
 */
#include "errors.h"
#include "tap.h"

#include <errno.h>
#include <string.h>

static bool busy(struct bench *b, int rc)
{
    return rc == EBUSY || err_why(b, "%s", rc ? strerror(rc) : "it went");
}

static void refuse_destroy(struct bench *b)
{
    struct ibv_srq_init_attr si = { .attr = { .max_wr = 4, .max_sge = 1 } };
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct ibv_pd *pd = ibv_alloc_pd(b->rig.ctx);
    struct ibv_mr *mr = ibv_reg_mr(pd, b->src, 64, 0);
    struct rig_pair pair;
    int rc;

    rc = ibv_dealloc_pd(pd);
    err_report(b, "destroy-pd-with-mr", busy(b, rc));
    if (rc) {
        ibv_dereg_mr(mr);
        rc = ibv_dealloc_pd(pd);
        err_report(b, "destroy-pd-then", !rc);
    }
    attr.srq = ibv_create_srq(b->rig.pd, &si);
    rig_pair_make(&b->rig, &pair, &attr);
    err_report(b, "destroy-cq-with-qp", busy(b, ibv_destroy_cq(pair.a.cq)));
    err_report(b, "destroy-srq-with-qp", busy(b, ibv_destroy_srq(attr.srq)));
    rig_pair_free(&pair);
    rc = ibv_destroy_srq(attr.srq);
    err_report(b, "destroy-srq-then", !rc);
}

/* Bring a queue pair to @state by the way the diagram has. */
static bool reach(struct rig_pair *pair, enum ibv_qp_state state)
{
    int rc = 0;

    switch (state) {
    case IBV_QPS_RTS:
    case IBV_QPS_RTR:
    case IBV_QPS_INIT:
        rc = rig_to_init(pair, &pair->a);
        if (!rc && state != IBV_QPS_INIT) {
            rc = rig_to_rtr(pair, &pair->a, &pair->b);
        }
        if (!rc && state == IBV_QPS_RTS) {
            rc = rig_to_rts(pair, &pair->a);
        }
        break;
    case IBV_QPS_ERR:
        rc = rig_to_init(pair, &pair->a);
        rc = rc ? rc : rig_to_state(&pair->a, IBV_QPS_ERR);
        break;
    default:
        break;
    }
    return !rc && rig_state(pair->a.qp) == state;
}

static int step(struct rig_pair *pair, enum ibv_qp_state state)
{
    switch (state) {
    case IBV_QPS_INIT:
        return rig_to_init(pair, &pair->a);
    case IBV_QPS_RTR:
        return rig_to_rtr(pair, &pair->a, &pair->b);
    case IBV_QPS_RTS:
        return rig_to_rts(pair, &pair->a);
    default:
        return rig_to_state(&pair->a, state);
    }
}

/* Whether the diagram has the arrow, with the attributes that step() gives. */
static bool arrow(enum ibv_qp_state from, enum ibv_qp_state to)
{
    if (to == IBV_QPS_RESET) {
        return true;
    }
    if (to == IBV_QPS_ERR) {
        return from != IBV_QPS_RESET;
    }
    return (from == IBV_QPS_RESET && to == IBV_QPS_INIT) ||
           (from == IBV_QPS_INIT && to == IBV_QPS_INIT) ||
           (from == IBV_QPS_INIT && to == IBV_QPS_RTR) ||
           (from == IBV_QPS_RTR && to == IBV_QPS_RTS);
}

static bool transition(struct bench *b, enum ibv_qp_state from,
                       enum ibv_qp_state to)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    struct rig_pair pair;
    enum ibv_qp_state is;
    bool ok;
    int rc;

    rig_pair_create(&b->rig, &pair, &attr);
    ok = reach(&pair, from) || err_why(b, "does not reach %s",
                                       rig_state_name(from));
    rc = ok ? step(&pair, to) : 0;
    is = rig_state(pair.a.qp);
    if (ok && !rc != arrow(from, to)) {
        ok = err_why(b, "%s to %s: %s", rig_state_name(from),
                     rig_state_name(to), rc ? strerror(rc) : "taken");
    }
    if (ok && is != (rc ? from : to)) {
        ok = err_why(b, "%s to %s leaves %s", rig_state_name(from),
                     rig_state_name(to), rig_state_name(is));
    }
    rig_pair_free(&pair);
    return ok;
}

/* Every state to every other: taken or refused, and the state tells which. */
static void refuse_transitions(struct bench *b)
{
    static const enum ibv_qp_state state[] = {
        IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR
    };
    const unsigned n = sizeof(state) / sizeof(state[0]);
    bool ok = true;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            ok = transition(b, state[i], state[j]) && ok;
        }
    }
    err_report(b, "transitions-25", ok);
}

static bool too_many_wr(struct bench *b)
{
    struct ibv_cq *cq = ibv_create_cq(b->rig.ctx, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq,
                                     .qp_type = IBV_QPT_RC,
                                     .cap = { .max_send_wr = 1,
                                              .max_recv_wr = 1,
                                              .max_send_sge = 1,
                                              .max_recv_sge = 1 } };
    struct ibv_qp *qp;
    bool ok;

    init.cap.max_send_wr = b->rig.dev.max_qp_wr + 1;
    qp = ibv_create_qp(b->rig.pd, &init);
    ok = !qp || err_why(b, "max_qp_wr + 1 sends");
    init.cap.max_send_wr = 1;
    /* one more may still fit the stride */
    init.cap.max_recv_sge = 4 * b->rig.dev.max_sge;
    qp = qp ? qp : ibv_create_qp(b->rig.pd, &init);
    ok = ok && (!qp || err_why(b, "4 * max_sge receives"));
    init.cap.max_recv_sge = 1;
    init.cap.max_send_sge = 4 * b->rig.dev.max_sge;
    qp = qp ? qp : ibv_create_qp(b->rig.pd, &init);
    ok = ok && (!qp || err_why(b, "4 * max_sge sends"));
    if (qp) {
        ibv_destroy_qp(qp);
    }
    return !ibv_destroy_cq(cq) && ok;
}

static bool too_big_cq(struct bench *b)
{
    struct ibv_cq *cq = ibv_create_cq(b->rig.ctx, b->rig.dev.max_cqe + 1,
                                      NULL, NULL, 0);

    if (cq) {
        ibv_destroy_cq(cq);
    }
    return !cq || err_why(b, "max_cqe + 1 = %d", b->rig.dev.max_cqe + 1);
}

static bool bad_mr(struct bench *b)
{
    struct ibv_mr *mr = ibv_reg_mr(b->rig.pd, b->src, 64,
                                   IBV_ACCESS_REMOTE_WRITE);

    if (mr) {
        ibv_dereg_mr(mr);
        return err_why(b, "remote write without local write");
    }
    mr = ibv_reg_mr(b->rig.pd, (void *)0x1000, 4096, 0);
    if (mr) {
        ibv_dereg_mr(mr);
    }
    return !mr || err_why(b, "memory that is not there");
}

/* A GID entry that is empty cannot be a source address. */
static bool bad_gid(struct bench *b)
{
    struct rig_pair_attr attr = { RIG_DEFAULTS };
    int good = b->rig.gid_index;
    struct rig_pair pair;
    bool ok;

    rig_pair_create(&b->rig, &pair, &attr);
    ok = !rig_to_init(&pair, &pair.a);
    b->rig.gid_index = b->rig.port.gid_tbl_len - 1;
    ok = ok && (rig_to_rtr(&pair, &pair.a, &pair.b) ||
                err_why(b, "an empty GID entry was taken"));
    b->rig.gid_index = good;
    ok = ok && (rig_state(pair.a.qp) == IBV_QPS_INIT || err_why(b, "state"));
    rig_pair_free(&pair);
    return ok;
}

void errors_refuse(struct bench *b)
{
    refuse_destroy(b);
    refuse_transitions(b);
    err_report(b, "create-qp-beyond-limits", too_many_wr(b));
    err_report(b, "create-cq-beyond-limits", too_big_cq(b));
    err_report(b, "register-what-must-not-be", bad_mr(b));
    err_report(b, "empty-gid-entry", bad_gid(b));
}
