/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers of verbs_mix over XRC and DC, whose two ends are not alike.
 * Transitions: IBA 10.3.1 and annex A14 for XRC; mlx5dv_create_qp(3) for DC.
 */
#include "mix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

#define LEN (64u << 10)
#define DC_KEY 0x1122334455667788ull
#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* One way: from @send to a buffer of @srq, or by a write. */
struct xport {
    uint8_t src[LEN], dst[LEN];
    struct ibv_mr *src_mr, *dst_mr;
    struct ibv_cq *cq, *recv_cq;
    struct ibv_srq *srq;
    struct ibv_xrcd *xrcd;
    struct ibv_qp *send, *recv;
    struct ibv_ah *ah;
};

static struct xport *xport_new(struct mix_worker *w)
{
    struct xport *x = calloc(1, sizeof(*x));

    w->state = x;
    rig_noise(x->src, LEN);
    x->src_mr = ibv_reg_mr(w->rig->pd, x->src, LEN, 0);
    x->dst_mr = ibv_reg_mr(w->rig->pd, x->dst, LEN,
                           IBV_ACCESS_LOCAL_WRITE | REMOTE);
    x->cq = ibv_create_cq(w->rig->ctx, 64, NULL, NULL, 0);
    x->recv_cq = ibv_create_cq(w->rig->ctx, 64, NULL, NULL, 0);
    return x;
}

static void xport_free(struct xport *x)
{
    if (x->send) {
        ibv_destroy_qp(x->send);
    }
    if (x->recv) {
        ibv_destroy_qp(x->recv);
    }
    if (x->ah) {
        ibv_destroy_ah(x->ah);
    }
    if (x->srq) {
        ibv_destroy_srq(x->srq);
    }
    if (x->xrcd) {
        ibv_close_xrcd(x->xrcd);
    }
    ibv_destroy_cq(x->cq);
    ibv_destroy_cq(x->recv_cq);
    ibv_dereg_mr(x->src_mr);
    ibv_dereg_mr(x->dst_mr);
    free(x);
}

/* It can't be done here: @what failed. */
static bool cannot(struct mix_worker *w, struct xport *x, const char *what)
{
    mix_fail(w, "%s: %s", what, strerror(errno));
    xport_free(x);
    return false;
}

static struct ibv_ah_attr path(struct rig *rig)
{
    return (struct ibv_ah_attr){
        .is_global = 1, .port_num = rig->port_num,
        .grh = { .dgid = rig->gid, .sgid_index = rig->gid_index,
                 .hop_limit = 64 },
    };
}

static bool step(struct ibv_qp *qp, enum ibv_qp_state state,
                 struct ibv_qp_attr attr, int mask)
{
    attr.qp_state = state;
    errno = ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);
    return !errno;
}

static struct ibv_qp_attr attributes(struct rig *rig, uint32_t peer)
{
    return (struct ibv_qp_attr){
        .port_num = rig->port_num, .qp_access_flags = REMOTE,
        .path_mtu = rig->port.active_mtu, .dest_qp_num = peer, .rq_psn = 7,
        .sq_psn = 7, .max_dest_rd_atomic = 4, .min_rnr_timer = 1,
        .max_rd_atomic = 4, .timeout = 18, .retry_cnt = 7,
        .rnr_retry = 7, .ah_attr = path(rig),
    };
}

#define INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_INI (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_TGT (RTR_INI | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_INI (IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
                 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static bool ready(struct mix_worker *w, struct xport *x, bool *recv)
{
    struct ibv_sge sge = { (uintptr_t)x->dst, LEN, x->dst_mr->lkey };
    struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
    int rc;

    *recv = rig_below(2);
    memset(x->dst, 0, LEN);
    rc = *recv ? ibv_post_srq_recv(x->srq, &wr, &bad) : 0;
    return !rc || mix_fail(w, "post_srq_recv: %s", strerror(rc));
}

static bool arrived(struct mix_worker *w, struct xport *x, bool recv,
                    size_t len)
{
    struct ibv_wc wc;

    if (!mix_wait(w, x->cq, &wc) ||
        (recv && !mix_wait(w, x->recv_cq, &wc))) {
        return false;
    }
    w->messages++;
    w->bytes += len;
    return (!memcmp(x->src, x->dst, len) && (len == LEN || !x->dst[len])) ||
           mix_fail(w, "%zu bytes differ", len);
}

/* ---- XRC ---- */

static bool xrc_make(struct mix_worker *w, struct xport *x)
{
    struct ibv_xrcd_init_attr domain = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
        /* A domain without a file is made anew. */
        .fd = -1, .oflags = O_CREAT,
    };
    struct ibv_srq_init_attr_ex srq = {
        .attr = { 16, 1, 0 }, .srq_type = IBV_SRQT_XRC, .pd = w->rig->pd,
        .cq = x->recv_cq,
        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
    };
    struct ibv_qp_init_attr_ex send = {
        .qp_type = IBV_QPT_XRC_SEND, .send_cq = x->cq, .cap = { 16, 0, 1, 0, 0 },
        .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = w->rig->pd,
    }, recv = {
        .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
    };

    x->xrcd = ibv_open_xrcd(w->rig->ctx, &domain);
    if (!x->xrcd) {
        return false;
    }
    srq.xrcd = recv.xrcd = x->xrcd;
    x->srq = ibv_create_srq_ex(w->rig->ctx, &srq);
    x->send = ibv_create_qp_ex(w->rig->ctx, &send);
    x->recv = ibv_create_qp_ex(w->rig->ctx, &recv);
    return x->srq && x->send && x->recv;
}

static bool xrc_connect(struct mix_worker *w, struct xport *x)
{
    struct ibv_qp_attr to_recv = attributes(w->rig, x->recv->qp_num);
    struct ibv_qp_attr to_send = attributes(w->rig, x->send->qp_num);

    return step(x->recv, IBV_QPS_INIT, to_send, INIT | IBV_QP_ACCESS_FLAGS) &&
           step(x->recv, IBV_QPS_RTR, to_send, RTR_TGT) &&
           step(x->send, IBV_QPS_INIT, to_recv, INIT | IBV_QP_ACCESS_FLAGS) &&
           step(x->send, IBV_QPS_RTR, to_recv, RTR_INI) &&
           step(x->send, IBV_QPS_RTS, to_recv, RTS_INI);
}

bool mix_xrc_begin(struct mix_worker *w)
{
    struct xport *x = xport_new(w);

    return (xrc_make(w, x) || cannot(w, x, "XRC")) &&
           (xrc_connect(w, x) || cannot(w, x, "connecting XRC"));
}

void mix_xrc_end(struct mix_worker *w)
{
    xport_free(w->state);
}

static bool xrc_one(struct mix_worker *w, struct xport *x)
{
    size_t len = 1 + rig_below(LEN);
    struct ibv_sge sge = { (uintptr_t)x->src, len, x->src_mr->lkey };
    struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
                              .send_flags = IBV_SEND_SIGNALED }, *bad;
    bool recv;
    uint32_t srqn;
    int rc;

    if (!ready(w, x, &recv)) {
        return false;
    }
    wr.opcode = recv ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = (uintptr_t)x->dst;
    wr.wr.rdma.rkey = x->dst_mr->rkey;
    ibv_get_srq_num(x->srq, &srqn);
    wr.qp_type.xrc.remote_srqn = srqn;
    rc = ibv_post_send(x->send, &wr, &bad);
    return rc ? mix_fail(w, "post_send: %s", strerror(rc))
              : arrived(w, x, recv, len);
}

bool mix_xrc_round(struct mix_worker *w)
{
    for (unsigned i = 0; i < 16; i++) {
        if (!xrc_one(w, w->state)) {
            return false;
        }
    }
    return true;
}

/* ---- DC ---- */

static bool dc_make(struct mix_worker *w, struct xport *x)
{
    struct ibv_srq_init_attr srq = { .attr = { 16, 1, 0 } };
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_DRIVER, .send_cq = x->cq, .recv_cq = x->recv_cq,
        .pd = w->rig->pd, .comp_mask = IBV_QP_INIT_ATTR_PD,
    };
    struct mlx5dv_qp_init_attr dv = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
        .dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT,
                          .dct_access_key = DC_KEY },
    };
    struct ibv_ah_attr ah = path(w->rig);

    x->srq = ibv_create_srq(w->rig->pd, &srq);
    x->ah = ibv_create_ah(w->rig->pd, &ah);
    attr.srq = x->srq;
    x->recv = mlx5dv_create_qp(w->rig->ctx, &attr, &dv);
    attr.srq = NULL;
    attr.cap = (struct ibv_qp_cap){ 16, 0, 1, 0, 0 };
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
    dv.dc_init_attr = (struct mlx5dv_dc_init_attr){
        .dc_type = MLX5DV_DCTYPE_DCI };
    x->send = mlx5dv_create_qp(w->rig->ctx, &attr, &dv);
    return x->srq && x->ah && x->recv && x->send;
}

static bool dc_connect(struct mix_worker *w, struct xport *x)
{
    struct ibv_qp_attr attr = attributes(w->rig, 0);

    return step(x->recv, IBV_QPS_INIT, attr, INIT | IBV_QP_ACCESS_FLAGS) &&
           step(x->recv, IBV_QPS_RTR, attr,
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER) &&
           step(x->send, IBV_QPS_INIT, attr, INIT) &&
           step(x->send, IBV_QPS_RTR, attr, IBV_QP_PATH_MTU) &&
           step(x->send, IBV_QPS_RTS, attr, RTS_INI);
}

bool mix_dc_begin(struct mix_worker *w)
{
    struct xport *x = xport_new(w);

    return (dc_make(w, x) || cannot(w, x, "DC")) &&
           (dc_connect(w, x) || cannot(w, x, "connecting DC"));
}

void mix_dc_end(struct mix_worker *w)
{
    xport_free(w->state);
}

static bool dc_one(struct mix_worker *w, struct xport *x)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(x->send);
    size_t len = 1 + rig_below(LEN);
    bool recv;
    int rc;

    if (!ready(w, x, &recv)) {
        return false;
    }
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    if (recv) {
        ibv_wr_send(qp);
    } else {
        ibv_wr_rdma_write(qp, x->dst_mr->rkey, (uintptr_t)x->dst);
    }
    ibv_wr_set_sge(qp, x->src_mr->lkey, (uintptr_t)x->src, len);
    mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qp), x->ah,
                          x->recv->qp_num, DC_KEY);
    rc = ibv_wr_complete(qp);
    return rc ? mix_fail(w, "ibv_wr_complete: %s", strerror(rc))
              : arrived(w, x, recv, len);
}

bool mix_dc_round(struct mix_worker *w)
{
    for (unsigned i = 0; i < 16; i++) {
        if (!dc_one(w, w->state)) {
            return false;
        }
    }
    return true;
}
