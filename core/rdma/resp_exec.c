/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Responder: what a request in its place does (IBA 9.7.4, 9.7.5.2; table 58).
 *
 * Checks stand in a column, each with its own answer; then memory, completion
 * and answer, in this order.
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

static bool is_reliable(const Mlx5Pkt *pkt)
{
    return pkt->svc != MLX5_SVC_UC;
}

void mlx5_resp_refuse(Mlx5QpEngine *e, const Mlx5Pkt *pkt, uint8_t syndrome,
                      uint8_t event)
{
    Mlx5RespItem item = { .op = MLX5_PKT_ACK, .psn = pkt->psn, .npsn = 1,
                          .msn = e->resp.msn, .syndrome = syndrome,
                          .fatal = true, .event = event };

    if (is_reliable(pkt)) {
        mlx5_resp_push(e, &item);
        return;
    }
    /* Unreliable: the message is dropped, silently (IBA 9.8.2.2.4). */
    e->resp.busy = false;
    e->resp.epsn = mlx5_psn_add(pkt->psn, pkt->npsn);
}

static void invalid(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    mlx5_engine_count(e->qp, resp_remote_invalid_request);
    mlx5_resp_refuse(e, pkt, MLX5_NAK_INVALID_REQ,
                     MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR);
}

static void no_access(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    mlx5_engine_count(e->qp, resp_remote_access_errors);
    mlx5_resp_refuse(e, pkt, MLX5_NAK_REMOTE_ACCESS,
                     MLX5_EVENT_TYPE_WQ_ACCESS_ERROR);
}

/* The receive in hand fails for @vendor's reason; the sender is told @nak. */
static void fail_recv(Mlx5QpEngine *e, const Mlx5Pkt *pkt, Mlx5Vendor vendor,
                      uint8_t nak)
{
    Mlx5CqeRecv c = { .vendor = vendor };

    mlx5_resp_complete(e, &c);
    mlx5_resp_refuse(e, pkt, nak, 0);
    if (!is_reliable(pkt)) {
        mlx5_qp_set_state(e->qp, MLX5_QP_STATE_ERR);
    }
}

/* No receive posted: ask for patience, or drop. */
static void not_ready(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5RespItem item = {
        .op = MLX5_PKT_ACK, .psn = pkt->psn, .npsn = 1, .msn = e->resp.msn,
        .syndrome = MLX5_AETH_RNR_NAK |
                    MLX5_GET(qpc, e->qp->qpc, min_rnr_nak),
    };

    mlx5_engine_count(e->qp, out_of_buffer);
    if (!is_reliable(pkt)) {
        mlx5_resp_refuse(e, pkt, 0, 0);
        return;
    }
    /* What follows is out of sequence, and that was said (IBA 9.7.5.2.8). */
    e->resp.nak_sent = e->resp.rnr_sent = true;
    mlx5_resp_push(e, &item);
}

/*
 * Codes of the waits that a page fault asks for (IBA table 45): 1.28 ms, and
 * longer each time, up to 82 ms. A peer in this card is told when it is over.
 */
#define PAGING_FIRST 14
#define PAGING_LAST 26

void mlx5_resp_put_off(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Fault *f = mlx5_odp_fault(e, MLX5_FAULT_REQUEST);
    uint32_t code = MIN(PAGING_FIRST + f->naks, PAGING_LAST);
    Mlx5RespItem item = {
        .op = MLX5_PKT_ACK, .psn = pkt->psn, .npsn = 1, .msn = e->resp.msn,
        .syndrome = MLX5_AETH_RNR_NAK | code, .paging = MLX5_PAGING_WAIT,
    };

    f->naks += code < PAGING_LAST;
    /* What follows is out of sequence, and that was said (IBA 9.7.5.2.8). */
    e->resp.nak_sent = e->resp.rnr_sent = true;
    mlx5_resp_push(e, &item);
}

/* What came before the missing page was taken, in whole packets. */
static void take_part(Mlx5QpEngine *e, Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    uint64_t part = mlx5_engine_rdma(e->qp)->part;

    if (part) {
        pkt->psn = mlx5_psn_add(pkt->psn, part / pkt->mtu_bytes);
        pkt->len -= part;
        pkt->first = false;
        r->epsn = pkt->psn;
        r->off += part;
    }
    /* Asked to come again, it will be the first again. */
    r->busy = r->busy && !pkt->first;
}

static uint16_t in_one_packet(const Mlx5Pkt *pkt)
{
    return MIN(pkt->len, pkt->mtu_bytes);
}

/* A receive's page is missing. Return: false if nobody can bring it. */
static bool recv_waits(Mlx5QpEngine *e, const Mlx5Pkt *refused)
{
    const Mlx5RecvWqe *recv = e->resp.recv;
    Mlx5Pkt pkt = *refused;
    Mlx5FaultWqe fault = {
        .type = recv->srq ? MLX5_WQE_PF_TYPE_RMP : MLX5_WQE_PF_TYPE_RESP,
        .wq = recv->srq ? recv->srqn : e->qp->o.id,
        .index = recv->index,
    };

    if (!is_reliable(&pkt)) {
        return false;
    }
    fault.committed = e->resp.off + mlx5_engine_rdma(e->qp)->part;
    fault.packet_bytes = in_one_packet(&pkt);
    if (!mlx5_odp_raise_wqe(e, MLX5_FAULT_REQUEST, &fault)) {
        return false;
    }
    take_part(e, &pkt);
    mlx5_resp_put_off(e, &pkt);
    return true;
}

/* The same of a write or an atomic, @done bytes of which are done. */
static bool access_waits(Mlx5QpEngine *e, const Mlx5Pkt *refused,
                         Mlx5FaultRdma *fault)
{
    Mlx5Pkt pkt = *refused;

    if (!is_reliable(&pkt)) {
        return false;
    }
    fault->write = true;
    fault->committed = e->resp.busy
                           ? e->resp.off + mlx5_engine_rdma(e->qp)->part : 0;
    fault->packet_bytes = MIN(fault->len - fault->committed, pkt.mtu_bytes);
    if (!mlx5_odp_raise_rdma(e, MLX5_FAULT_REQUEST, fault)) {
        return false;
    }
    if (e->resp.busy) {
        take_part(e, &pkt);
    }
    mlx5_resp_put_off(e, &pkt);
    return true;
}

/*
 * Either way the peer is to come again now: a refusal would mean nothing to
 * one that has gone back and has not asked yet.
 */
void mlx5_resp_request_resumed(Mlx5QpEngine *e, bool error)
{
    e->resp.page_failed = error;
    mlx5_resp_tell_paging(e, e->resp.epsn, MLX5_PAGING_GO);
}

void mlx5_resp_page_failed(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    const Mlx5Fault *f = mlx5_odp_fault(e, MLX5_FAULT_REQUEST);
    bool recv = !(f->type & MLX5_PF_TYPE_RDMA);

    r->page_failed = false;
    mlx5_resp_check_recv(e);
    if (recv && r->have_recv) {
        fail_recv(e, pkt, MLX5_VENDOR_RECV_PAGE, MLX5_NAK_REMOTE_OP);
    } else {
        no_access(e, pkt);
    }
}

/* Return: true if a receive is in hand; else the packet was answered. */
static bool need_recv(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    switch (mlx5_resp_take_recv(e, pkt)) {
    case MLX5_RESP_RECV_OK:
        return true;
    case MLX5_RESP_RECV_NONE:
        not_ready(e, pkt);
        return false;
    case MLX5_RESP_RECV_INVALID:
        invalid(e, pkt);
        return false;
    default:
        mlx5_resp_refuse(e, pkt, MLX5_NAK_REMOTE_OP,
                         MLX5_EVENT_TYPE_WQ_CATAS_ERROR);
        return false;
    }
}

/* IBA table 57: does the packet continue what is being received? */
static bool in_order(const Mlx5Responder *r, const Mlx5Pkt *pkt)
{
    if (pkt->first) {
        return !r->busy;
    }
    return r->busy && r->busy_op == pkt->op;
}

static void begin(Mlx5Responder *r, const Mlx5Pkt *pkt)
{
    r->busy = true;
    r->busy_op = pkt->op;
    r->off = 0;
}

void mlx5_resp_accept(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem item;
    uint32_t last;

    r->epsn = mlx5_psn_add(pkt->psn, pkt->npsn);
    r->off += pkt->len;
    if (pkt->last) {
        r->busy = false;
        r->msn = mlx5_psn_add(r->msn, 1);
    }
    if (!pkt->ackreq || !is_reliable(pkt)) {
        return;
    }
    last = mlx5_psn_add(r->epsn, MLX5_PSN_MASK);
    if (pkt->more && mlx5_resp_owe(e, last)) {
        return;
    }
    item = (Mlx5RespItem){ .op = MLX5_PKT_ACK, .psn = last, .npsn = 1,
                           .msn = r->msn,
                           .syndrome = MLX5_AETH_CREDITS_INVALID };
    mlx5_resp_push(e, &item);
}

Mlx5CqeOpcode mlx5_resp_cqe_opcode(const Mlx5Pkt *pkt)
{
    if (pkt->op == MLX5_PKT_WRITE) {
        return MLX5_CQE_RESP_WR_IMM;
    }
    if (pkt->has_inv) {
        return MLX5_CQE_RESP_SEND_INV;
    }
    return pkt->has_imm ? MLX5_CQE_RESP_SEND_IMM : MLX5_CQE_RESP_SEND;
}

static void complete_recv(Mlx5QpEngine *e, const Mlx5Pkt *pkt, uint64_t bytes)
{
    Mlx5CqeRecv c = { .opcode = mlx5_resp_cqe_opcode(pkt), .byte_cnt = bytes,
                      .se = pkt->se };

    c.imm = c.opcode == MLX5_CQE_RESP_SEND ? 0 : pkt->imm;
    if (pkt->op == MLX5_PKT_SEND) {
        c.app_op = e->resp.tm.app_op;
        e->resp.tm.delivering = false;
    }
    mlx5_resp_complete(e, &c);
}

/*
 * Keys of an XRC request are used in the protection domain of the shared queue
 * that it names: the target queue pair belongs to many (IBA A14.4.3).
 * Return: false if it names none of its domain.
 */
static bool set_domain(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    const Mlx5Srq *srq;

    if (pkt->svc != MLX5_SVC_XRC) {
        e->resp.pdn = mlx5_qp_pdn(e->qp);
        return true;
    }
    srq = mlx5_resp_xrc_srq(e, pkt);
    e->resp.pdn = srq && srq->pd ? srq->pd->id : 0;
    return srq;
}

bool mlx5_resp_invalidate(Mlx5QpEngine *e, uint32_t rkey)
{
    Mlx5MkeyUser user = mlx5_resp_user(e);

    return mlx5_mkey_invalidate(e->qp->o.func, &user, rkey) == MLX5_MKEY_OK;
}

/* A message begins. Return: false if its packet was answered. */
static bool send_begin(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    bool tagged = mlx5_tm_list(e->qp);

    if (tagged && !mlx5_tm_begin(e, pkt)) {
        invalid(e, pkt);
        return false;
    }
    if (!e->resp.tm.matched) {
        if (!need_recv(e, pkt)) {
            return false;
        }
        if (tagged) {
            mlx5_tm_delivering(e);
        }
    }
    begin(&e->resp, pkt);
    return true;
}

static void do_send(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5Payload result;

    if (!in_order(r, pkt)) {
        invalid(e, pkt);
        return;
    }
    if (pkt->first && !send_begin(e, pkt)) {
        return;
    }
    if (r->tm.matched) {
        mlx5_tm_receive(e, pkt);
        return;
    }
    if (r->off + pkt->len > r->recv->length) {
        fail_recv(e, pkt, MLX5_VENDOR_RECV_TOO_SHORT, MLX5_NAK_INVALID_REQ);
        return;
    }
    result = mlx5_resp_scatter(e, r->off, pkt);
    if (result == MLX5_PAYLOAD_FAULT && recv_waits(e, pkt)) {
        return;
    }
    if (result != MLX5_PAYLOAD_OK) {
        fail_recv(e, pkt, mlx5_resp_scatter_vendor(result), MLX5_NAK_REMOTE_OP);
        return;
    }
    if (pkt->last && pkt->has_inv && !mlx5_resp_invalidate(e, pkt->imm)) {
        fail_recv(e, pkt, MLX5_VENDOR_INVALIDATE, MLX5_NAK_REMOTE_ACCESS);
        return;
    }
    if (pkt->last) {
        complete_recv(e, pkt, r->off + pkt->len);
    }
    mlx5_resp_accept(e, pkt);
}

static bool remote_key_ok(Mlx5QpEngine *e, const Mlx5Pkt *pkt, uint64_t len,
                          uint32_t access)
{
    Mlx5MkeyUser user = mlx5_resp_user(e);

    /* Nothing is checked for no bytes (C9-88). */
    return len == 0 || mlx5_mkey_check(e->qp->o.func, &user, pkt->rkey,
                                       pkt->va, len, access) == MLX5_MKEY_OK;
}

/*
 * Does the translation, which comes next, check the key for all that the
 * message says it writes? Not where something comes before it: a receive.
 */
static bool checked_by_copy(const Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    return pkt->last && pkt->len == pkt->dma_len && !pkt->has_imm &&
           !e->qp->o.func->sig_keys;
}

/* The RETH of a write's first packet. Return: false if it was refused. */
static bool write_begin(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;

    if (!MLX5_GET(qpc, e->qp->qpc, rwe) ||
        pkt->dma_len > MLX5_MSG_MAX_BYTES) {
        invalid(e, pkt);
        return false;
    }
    if (!checked_by_copy(e, pkt) &&
        !remote_key_ok(e, pkt, pkt->dma_len, MLX5_ACCESS_REMOTE_WRITE)) {
        no_access(e, pkt);
        return false;
    }
    begin(r, pkt);
    r->va = pkt->va;
    r->total = pkt->dma_len;
    r->rkey = pkt->rkey;
    return true;
}

static void do_write(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5Payload result;

    if (!in_order(r, pkt)) {
        invalid(e, pkt);
        return;
    }
    if (pkt->first && !write_begin(e, pkt)) {
        return;
    }
    if (pkt->len > r->total - r->off ||
        pkt->last != (r->off + pkt->len == r->total)) {
        invalid(e, pkt);
        return;
    }
    if (pkt->last && pkt->has_imm && !need_recv(e, pkt)) {
        /* Asked to come again, it will be the first again. */
        r->busy = r->busy && !pkt->first;
        return;
    }
    result = mlx5_payload_write(e, r->rkey, r->va + r->off, pkt);
    mlx5_sig_report(e, false);
    if (result == MLX5_PAYLOAD_FAULT &&
        access_waits(e, pkt, &(Mlx5FaultRdma){ .rkey = r->rkey, .va = r->va,
                                               .len = r->total })) {
        return;
    }
    if (result == MLX5_PAYLOAD_KEY || result == MLX5_PAYLOAD_FAULT) {
        no_access(e, pkt);
        return;
    }
    if (result != MLX5_PAYLOAD_OK) {
        mlx5_resp_refuse(e, pkt, MLX5_NAK_REMOTE_OP,
                         MLX5_EVENT_TYPE_WQ_CATAS_ERROR);
        return;
    }
    if (pkt->last) {
        mlx5_engine_count(e->qp, rx_write_requests);
    }
    if (pkt->last && pkt->has_imm) {
        complete_recv(e, pkt, r->total);
    }
    mlx5_resp_accept(e, pkt);
}

static Mlx5RespItem read_item(const Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    return (Mlx5RespItem){ .op = MLX5_PKT_READ_RESP, .psn = pkt->psn,
                           .npsn = pkt->npsn, .msn = e->resp.msn,
                           .syndrome = MLX5_AETH_CREDITS_INVALID,
                           .rkey = pkt->rkey, .pdn = e->resp.pdn,
                           .va = pkt->va, .len = pkt->dma_len };
}

/* Checks that new and repeated reads share. */
static bool read_ok(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    uint32_t max = 1u << MLX5_GET(qpc, e->qp->qpc, log_rra_max);
    /* One that a wire doubled is none that the peer has outstanding. */
    uint32_t outstanding = e->resp.pending - e->resp.again;

    if (!MLX5_GET(qpc, e->qp->qpc, rre) || e->resp.busy ||
        outstanding >= max || pkt->dma_len > MLX5_MSG_MAX_BYTES ||
        pkt->npsn != mlx5_psn_count(pkt->dma_len, pkt->mtu_bytes)) {
        invalid(e, pkt);
        return false;
    }
    if (!remote_key_ok(e, pkt, pkt->dma_len, MLX5_ACCESS_REMOTE_READ)) {
        no_access(e, pkt);
        return false;
    }
    return true;
}

static void do_read(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem item;

    if (!read_ok(e, pkt)) {
        return;
    }
    mlx5_engine_count(e->qp, rx_read_requests);
    r->epsn = mlx5_psn_add(pkt->psn, pkt->npsn);
    r->msn = mlx5_psn_add(r->msn, 1);
    item = read_item(e, pkt);
    mlx5_resp_push(e, &item);
}

void mlx5_resp_read_again(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem item = read_item(e, pkt);

    if (r->pending && mlx5_resp_read_queued(e, pkt)) {
        return;
    }
    if (!set_domain(e, pkt)) {
        invalid(e, pkt);
        return;
    }
    item.pdn = r->pdn;
    item.again = true;
    if (!MLX5_GET(qpc, e->qp->qpc, rre) ||
        !remote_key_ok(e, pkt, pkt->dma_len, MLX5_ACCESS_REMOTE_READ)) {
        no_access(e, pkt);
        return;
    }
    mlx5_resp_push(e, &item);
}

static void remember_atomic(Mlx5Responder *r, uint32_t psn, uint64_t value)
{
    uint32_t i = r->next_atomic++ % MLX5_RESP_ATOMICS;

    if (!r->atomics) {
        r->atomics = g_new0(Mlx5AtomicResult, MLX5_RESP_ATOMICS);
    }
    r->atomics[i].psn = psn;
    r->atomics[i].value = value;
    r->atomics[i].valid = true;
}

static void do_atomic(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5Responder *r = &e->resp;
    Mlx5RespItem item = { .op = MLX5_PKT_ATOMIC_ACK, .psn = pkt->psn,
                          .npsn = 1,
                          .syndrome = MLX5_AETH_CREDITS_INVALID };
    Mlx5Payload result;

    if (!MLX5_GET(qpc, e->qp->qpc, rae) || r->busy ||
        pkt->va % pkt->atomic_bytes) {
        invalid(e, pkt);
        return;
    }
    if (!remote_key_ok(e, pkt, pkt->atomic_bytes,
                       MLX5_ACCESS_REMOTE_ATOMIC)) {
        no_access(e, pkt);
        return;
    }
    result = mlx5_atomic_execute(e, pkt, &item.value);
    if (result == MLX5_PAYLOAD_FAULT) {
        if (!access_waits(e, pkt, &(Mlx5FaultRdma){
                .rkey = pkt->rkey, .va = pkt->va, .len = sizeof(uint64_t) })) {
            no_access(e, pkt);
        }
        return;
    }
    if (result == MLX5_PAYLOAD_KEY) { /* one below the key that was named */
        no_access(e, pkt);
        return;
    }
    if (result != MLX5_PAYLOAD_OK) {
        mlx5_resp_refuse(e, pkt, MLX5_NAK_REMOTE_OP,
                         MLX5_EVENT_TYPE_WQ_CATAS_ERROR);
        return;
    }
    mlx5_engine_count(e->qp, rx_atomic_requests);
    r->epsn = mlx5_psn_add(pkt->psn, 1);
    r->msn = mlx5_psn_add(r->msn, 1);
    remember_atomic(r, pkt->psn, item.value);
    item.msn = r->msn;
    mlx5_resp_push(e, &item);
}

/*
 * Both ends must have the path MTU alike: each packet of a message but the last
 * is as long, the last no longer (IBA 9.7.4.1.6).
 */
static bool packets_fit(const Mlx5Qp *qp, const Mlx5Pkt *pkt)
{
    uint32_t mtu = mlx5_engine_mtu(qp);

    return pkt->mtu_bytes == mtu || pkt->op > MLX5_PKT_WRITE ||
           (pkt->first && pkt->last && pkt->npsn == 1 && pkt->len <= mtu);
}

void mlx5_resp_execute(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    static void (*const row[])(Mlx5QpEngine *, const Mlx5Pkt *) = {
        [MLX5_PKT_SEND] = do_send,
        [MLX5_PKT_WRITE] = do_write,
        [MLX5_PKT_READ] = do_read,
        [MLX5_PKT_CMP_SWAP] = do_atomic,
        [MLX5_PKT_FETCH_ADD] = do_atomic,
    };

    /* Answers go elsewhere (mlx5_rdma_receive). */
    g_assert(pkt->op < G_N_ELEMENTS(row));
    mlx5_resp_check_recv(e);
    if (!set_domain(e, pkt) || !packets_fit(e->qp, pkt)) {
        invalid(e, pkt);
        return;
    }
    row[pkt->op](e, pkt);
}
