/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of rdma/: two queue pairs of one function, connected to each other,
 * and the little a driver does to post work and take completions.
 */
#ifndef MLX5_TESTS_RDMA_HELPER_H
#define MLX5_TESTS_RDMA_HELPER_H

#include "fw/roce.h"
#include "obj/uar.h"
#include "rdma/rdma_internal.h"
#include "tests/obj/mkey_helper.h"
#include "obj/qp_internal.h"

#define R_LOG_SQ 6           /* basic blocks */
#define R_LOG_RQ 4           /* receives of 64 bytes */
#define R_RECV_BYTES 64u
#define R_LOG_CQ 8
#define R_QKEY 0x11223344u
/** Where payload lies; far from every ring. */
#define R_DATA UINT64_C(0x100000000)
/* As contexts have it: ack_timeout 14, 4.096 us * 2^14; min_rnr_nak 12. */
#define R_ACK_PERIOD_NS INT64_C(67108864)
#define R_RNR_WAIT_NS INT64_C(640000)

typedef struct RCq {
    uint32_t cqn;
    uint64_t ring, dbr;
    uint32_t ci;
} RCq;

typedef struct RQp {
    FakeHost *h;
    struct RTest *t;
    Mlx5Qp *qp;
    uint32_t qpn, sq_base;   /* of @qp, for when it may be gone */
    RCq scq, rcq;
    uint64_t ring, dbr;
    uint16_t sq_pi, rq_pi;
} RQp;

typedef struct RTest {
    FakeHost *h;
    uint32_t uar, eqn, pdn, key;
    uint32_t num_rings;
    uint64_t eq_ring;
    uint32_t eq_ci;
    RQp a, b;
} RTest;

static const uint8_t r_gid[16] = { 0xfe, 0x80, [8] = 2, [15] = 1 };
static const uint8_t r_mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };

/* --- a send WQE in the making --- */

typedef struct RWqe {
    uint8_t b[MLX5_WQE_MAX_BYTES];
    uint32_t len;            /* bytes so far */
} RWqe;

static inline RWqe r_wqe(uint8_t opcode)
{
    RWqe w = { .len = 16 };

    MLX5_SET(wqe_ctrl, w.b, opcode, opcode);
    MLX5_SET(wqe_ctrl, w.b, ce, 2);
    return w;
}

static inline void r_raddr(RWqe *w, uint64_t va, uint32_t rkey)
{
    MLX5_SET(wqe_raddr, w->b + w->len, remote_virtual_address, va);
    MLX5_SET(wqe_raddr, w->b + w->len, rkey, rkey);
    w->len += 16;
}

static inline void r_data(RWqe *w, uint64_t addr, uint32_t len, uint32_t lkey)
{
    MLX5_SET(wqe_data, w->b + w->len, local_virtual_address, addr);
    MLX5_SET(wqe_data, w->b + w->len, byte_count, len);
    MLX5_SET(wqe_data, w->b + w->len, lkey, lkey);
    w->len += 16;
}

static inline void r_inline(RWqe *w, const void *bytes, uint32_t len)
{
    MLX5_SET(wqe_inline, w->b + w->len, inline, 1);
    MLX5_SET(wqe_inline, w->b + w->len, byte_count, len);
    memcpy(w->b + w->len + 4, bytes, len);
    w->len += (4 + len + 15) & ~15u;
}

static inline void r_atomic(RWqe *w, uint64_t swap_add, uint64_t compare)
{
    MLX5_SET(wqe_atomic, w->b + w->len, swap_or_add_data, swap_add);
    MLX5_SET(wqe_atomic, w->b + w->len, compare_data, compare);
    w->len += 16;
}

static inline void r_av(RWqe *w, uint32_t dqpn, uint32_t qkey)
{
    uint8_t *av = w->b + w->len;

    MLX5_SET(wqe_av, av, q_key_or_dc_key, (uint64_t)qkey << 32);
    MLX5_SET(wqe_av, av, extended, 1);
    MLX5_SET(wqe_av, av, destination_qp_dct, dqpn);
    MLX5_SET(wqe_av, av, grh, 1);
    MLX5_SET(wqe_av, av, hop_limit, 64);
    MLX5_SET(wqe_av, av, rmac_47_16, r_mac[0] << 24 | r_mac[1] << 16 |
                                     r_mac[2] << 8 | r_mac[3]);
    MLX5_SET(wqe_av, av, rmac_15_0, r_mac[4] << 8 | r_mac[5]);
    memcpy(av + MLX5_BYTE_OFF(wqe_av, rgid_rip), r_gid, 16);
    w->len += 48;
}

/** Write into the ring and the doorbell record; rings no doorbell. */
static inline void r_put(RQp *q, RWqe *w)
{
    uint32_t blocks = (w->len + 63) / 64;

    MLX5_SET(wqe_ctrl, w->b, ds, w->len / 16);
    MLX5_SET(wqe_ctrl, w->b, qpn, q->qpn);
    MLX5_SET(wqe_ctrl, w->b, wqe_index, q->sq_pi);
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t at = (q->sq_pi + i) % (1u << R_LOG_SQ);

        fake_mem_write(q->h, q->ring + q->sq_base + at * 64, w->b + i * 64, 64);
    }
    q->sq_pi += blocks;
    fake_mem_set_be32(q->h, q->dbr + 4, q->sq_pi);
}

static inline void r_ring(RQp *q)
{
    mlx5_func_bar_write(q->h->func, (uint64_t)q->t->uar * 4096 + 0x800,
                        (uint64_t)q->qpn << 8, 8);
}

/** Post, ring, and let the card work until it has nothing to do. */
static inline void r_post(RQp *q, RWqe *w)
{
    r_put(q, w);
    r_ring(q);
    fake_host_work(q->h);
}

/** Send @len bytes of R_DATA from a to b. */
static inline void r_send(RTest *t, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_data(&w, R_DATA, len, t->key);
    r_post(&t->a, &w);
}

/** Post a receive of @n pieces. */
static inline void r_recv_sg(RQp *q, const Mlx5WqeData *sg, uint32_t n)
{
    uint8_t b[R_RECV_BYTES] = { 0 };

    for (uint32_t i = 0; i < R_RECV_BYTES / 16; i++) {
        uint8_t *d = b + i * 16;

        MLX5_SET(wqe_data, d, lkey, i < n ? sg[i].lkey : MLX5_INVALID_LKEY);
        if (i < n) {
            MLX5_SET(wqe_data, d, byte_count, sg[i].len);
            MLX5_SET(wqe_data, d, local_virtual_address, sg[i].addr);
        }
    }
    fake_mem_write(q->h, q->ring + q->rq_pi % (1u << R_LOG_RQ) * R_RECV_BYTES,
                   b, sizeof(b));
    q->rq_pi++;
    fake_mem_set_be32(q->h, q->dbr, q->rq_pi);
}

static inline void r_recv(RQp *q, uint64_t addr, uint32_t len)
{
    Mlx5WqeData d = { .addr = addr, .len = len, .lkey = q->t->key };

    r_recv_sg(q, &d, 1);
}

/** Take the next completion. Return: false if there is none. */
static inline bool r_poll(RQp *q, RCq *cq, uint8_t cqe[64])
{
    uint32_t n = 1u << R_LOG_CQ;

    fake_mem_read(q->h, cq->ring + cq->ci % n * 64, cqe, 64);
    if (MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_INVALID ||
        MLX5_GET(cqe64, cqe, owner) != (cq->ci / n & 1)) {
        return false;
    }
    cq->ci++;
    fake_mem_set_be32(q->h, cq->dbr, cq->ci);
    return true;
}

/** The next send completion must be good and of this WQE. */
static inline void r_sent(RQp *q, uint16_t counter, uint8_t opcode)
{
    uint8_t cqe[64];

    ck_assert(r_poll(q, &q->scq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), counter);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, send_wqe_opcode), opcode);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), q->qp->o.id);
}

/** The next completion must be an error of this kind. */
static inline void r_failed(RQp *q, RCq *cq, uint16_t counter,
                            uint8_t syndrome, uint8_t vendor)
{
    uint8_t cqe[64];
    uint8_t opcode = cq == &q->scq ? MLX5_CQE_REQ_ERR : MLX5_CQE_RESP_ERR;

    ck_assert(r_poll(q, cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), opcode);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome), syndrome);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, vendor_err_synd), vendor);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, wqe_counter), counter);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, qpn), q->qp->o.id);
}

static inline void r_flushed(RQp *q, RCq *cq, uint16_t counter)
{
    r_failed(q, cq, counter, MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
             MLX5_VENDOR_FLUSHED);
}

/** The next receive completion must be good. Return: its immediate field. */
static inline uint32_t r_received(RQp *q, uint16_t counter, uint8_t opcode,
                                  uint32_t bytes)
{
    uint8_t cqe[64];

    ck_assert(r_poll(q, &q->rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), opcode);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), counter);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), bytes);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, qpn), q->qp->o.id);
    return MLX5_GET(cqe64, cqe, immediate);
}

static inline void r_quiet(RQp *q)
{
    uint8_t cqe[64];

    ck_assert(!r_poll(q, &q->scq, cqe));
    ck_assert(!r_poll(q, &q->rcq, cqe));
}

/** Take async events until one of @type. Return: the number it is about. */
static inline uint32_t r_event(RTest *t, uint8_t type)
{
    uint8_t eqe[64];

    for (;;) {
        fake_mem_read(t->h, t->eq_ring + t->eq_ci % 64 * 64, eqe, 64);
        if (MLX5_GET(eqe, eqe, owner) != (t->eq_ci / 64 & 1)) {
            return 0;
        }
        t->eq_ci++;
        if (MLX5_GET(eqe, eqe, event_type) == type) {
            return MLX5_GET(eqe_qp_srq, eqe + MLX5_BYTE_OFF(eqe, event_data),
                            qp_srq_n);
        }
    }
}

/* --- payload --- */

static inline void r_fill(FakeHost *h, uint64_t addr, uint64_t len,
                          uint32_t seed)
{
    g_autofree uint8_t *b = g_malloc(len + 1);

    for (uint64_t i = 0; i < len; i++) {
        b[i] = (i * 31 + (i >> 8) * 7 + seed) & 0xff;
    }
    fake_mem_write(h, addr, b, len);
}

static inline bool r_same(FakeHost *h, uint64_t a, uint64_t b, uint64_t len)
{
    g_autofree uint8_t *x = g_malloc(len + 1), *y = g_malloc(len + 1);

    fake_mem_read(h, a, x, len);
    fake_mem_read(h, b, y, len);
    return memcmp(x, y, len) == 0;
}

/* --- making the world --- */

static inline uint64_t r_new_ring(RTest *t)
{
    return t_ring(t->num_rings++);
}

static inline RCq r_cq(RTest *t)
{
    RCq cq = { .ring = r_new_ring(t), .dbr = r_new_ring(t) };

    cq.cqn = t_cq(t->h, t->uar, t->eqn, R_LOG_CQ, cq.ring, cq.dbr);
    return cq;
}

static inline void r_set_state(RQp *q, Mlx5QpState to)
{
    mlx5_func_lock(q->h->func);
    mlx5_qp_set_state(q->qp, to);
    mlx5_func_unlock(q->h->func);
}

/** Change a field of the context between transitions. */
#define R_QPC(q, field, value)                          \
    do {                                                \
        MLX5_SET(qpc, (q)->qp->qpc, field, value);      \
        mlx5_qp_refresh((q)->qp);                       \
    } while (0)

static inline void r_path(RQp *q)
{
    uint8_t *ads = MLX5_ADDR_OF(qpc, q->qp->qpc, primary_address_path);

    memcpy(ads + MLX5_BYTE_OFF(ads, rgid_rip), r_gid, 16);
    MLX5_SET(ads, ads, rmac_47_32, r_mac[0] << 8 | r_mac[1]);
    MLX5_SET(ads, ads, rmac_31_0, r_mac[2] << 24 | r_mac[3] << 16 |
                                  r_mac[4] << 8 | r_mac[5]);
    MLX5_SET(ads, ads, hop_limit, 64);
    MLX5_SET(ads, ads, ack_timeout, 14);
    mlx5_qp_refresh(q->qp);
}

/** A queue pair in RST, with everything that lasts set in its context. */
static inline void r_qp(RTest *t, RQp *q, Mlx5QpSt st)
{
    Mlx5Qp *qp;
    uint32_t rq_bytes = R_RECV_BYTES << R_LOG_RQ, pages;

    *q = (RQp){ .h = t->h, .t = t, .scq = r_cq(t), .rcq = r_cq(t),
                .ring = r_new_ring(t), .dbr = r_new_ring(t) };
    mlx5_func_lock(t->h->func);
    qp = mlx5_obj_new(t->h->func, MLX5_OBJ_QP, sizeof(*qp), 0);
    qp->st = st;
    qp->pd = mlx5_obj_get(t->h->func, MLX5_OBJ_PD, t->pdn);
    qp->send_cq = mlx5_obj_get(t->h->func, MLX5_OBJ_CQ, q->scq.cqn);
    qp->recv_cq = mlx5_obj_get(t->h->func, MLX5_OBJ_CQ, q->rcq.cqn);
    mlx5_obj_ref(qp->pd);
    mlx5_obj_ref(qp->send_cq);
    mlx5_obj_ref(qp->recv_cq);
    qp->has_sq = qp->has_rq = true;
    qp->rq_log_size = R_LOG_RQ;
    qp->rq_wqe_bytes = R_RECV_BYTES;
    qp->sq_log_size = R_LOG_SQ;
    qp->sq_base_bytes = rq_bytes;
    qp->dbr_gpa = q->dbr;
    pages = (rq_bytes + (64 << R_LOG_SQ) + 4095) / 4096;
    {
        uint8_t pas[64 * 8];

        t_pas(pas, 0, q->ring, pages);
        ck_assert(mlx5_ring_init(&qp->ring, t->h->func, pas, pages, 12, 0,
                                 rq_bytes + (64 << R_LOG_SQ)));
    }
    q->qp = qp;
    q->qpn = qp->o.id;
    q->sq_base = rq_bytes;
    R_QPC(q, st, st);
    R_QPC(q, uar_page, t->uar);
    R_QPC(q, user_index, 0xffffff);
    R_QPC(q, mtu, 3);
    R_QPC(q, log_msg_max, 30);
    R_QPC(q, rre, 1);
    R_QPC(q, rwe, 1);
    R_QPC(q, rae, 1);
    R_QPC(q, log_rra_max, 4);
    R_QPC(q, log_sra_max, 4);
    R_QPC(q, retry_count, 7);
    R_QPC(q, rnr_retry, 7);
    R_QPC(q, min_rnr_nak, 12);
    R_QPC(q, q_key, R_QKEY);
    r_path(q);
    t->h->func->engine->qp_created(qp);
    mlx5_func_unlock(t->h->func);
}

static inline void r_up(RQp *q, uint32_t remote, uint32_t rcv_psn,
                        uint32_t send_psn)
{
    R_QPC(q, remote_qpn, remote);
    R_QPC(q, next_rcv_psn, rcv_psn);
    R_QPC(q, next_send_psn, send_psn);
    r_set_state(q, MLX5_QP_STATE_INIT);
    r_set_state(q, MLX5_QP_STATE_RTR);
    r_set_state(q, MLX5_QP_STATE_RTS);
}

/** Connect a and b, sequence numbers from @psn on. */
static inline void r_connect(RTest *t, uint32_t psn)
{
    r_up(&t->a, t->b.qp->o.id, psn, psn);
    r_up(&t->b, t->a.qp->o.id, psn, psn);
}

/** Entry @index of the RoCE address table; @vlan: 0 = none. */
static inline void r_gid_set_vlan(RTest *t, uint32_t index,
                                  const uint8_t gid[16], uint8_t version,
                                  uint8_t l3_type, uint16_t vlan)
{
    TestCmd c = { 0 };
    uint8_t *a = MLX5_ADDR_OF(set_roce_address_in, c.in, roce_address);

    MLX5_SET(set_roce_address_in, c.in, vhca_port_num, 1);
    MLX5_SET(set_roce_address_in, c.in, roce_address_index, index);
    memcpy(a + MLX5_BYTE_OFF(roce_addr_layout, source_l3_address), gid, 16);
    MLX5_SET(roce_addr_layout, a, source_mac_47_32, r_mac[0] << 8 | r_mac[1]);
    MLX5_SET(roce_addr_layout, a, source_mac_31_0,
             (uint32_t)r_mac[2] << 24 | r_mac[3] << 16 | r_mac[4] << 8 |
             r_mac[5]);
    MLX5_SET(roce_addr_layout, a, roce_l3_type, l3_type);
    MLX5_SET(roce_addr_layout, a, roce_version, version);
    MLX5_SET(roce_addr_layout, a, vlan_valid, vlan != 0);
    MLX5_SET(roce_addr_layout, a, vlan_id, vlan);
    t_ok(t->h, &c, mlx5_cmd_set_roce_address,
         MLX5_ST_SZ_BYTES(set_roce_address_in));
}

static inline void r_gid_set(RTest *t, uint32_t index, const uint8_t gid[16],
                             uint8_t version, uint8_t l3_type)
{
    r_gid_set_vlan(t, index, gid, version, l3_type, 0);
}

/** A card with two queue pairs in RST and a key over all memory. */
static inline RTest *r_new(Mlx5QpSt st)
{
    RTest *t = g_new0(RTest, 1);

    t->h = fake_host_new(NULL);
    t->uar = t_alloc(t->h, mlx5_cmd_alloc_uar);
    t->pdn = t_alloc(t->h, mlx5_cmd_alloc_pd);
    t->eq_ring = r_new_ring(t);
    t->eqn = t_eq(t->h, t->uar, 6, 1, t->eq_ring, UINT64_MAX);
    t->key = t_mkey_pa(t->h, t->pdn, T_ALL_ACCESS);
    r_gid_set(t, 0, r_gid, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6);
    r_qp(t, &t->a, st);
    r_qp(t, &t->b, st);
    return t;
}

static inline void r_destroy(RQp *q)
{
    mlx5_func_lock(q->h->func);
    mlx5_obj_delete(q->qp);
    mlx5_func_unlock(q->h->func);
}

static inline void r_free(RTest *t)
{
    r_destroy(&t->a);
    r_destroy(&t->b);
    fake_host_free(t->h);
    g_free(t);
}

#endif
