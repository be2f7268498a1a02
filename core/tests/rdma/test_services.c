/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams, unreliable connections, shared receive queues and XRC.
 */
#include "fw/vport.h"
#include "net/link.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)

/* --- datagrams --- */

static const uint8_t gid4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 7 };

static RTest *datagram(Mlx5QpSt st)
{
    RTest *t = r_new(st);

    r_gid_set(t, 1, gid4, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV4);
    r_gid_set(t, 2, r_gid, MLX5_ROCE_VERSION_1, 0);
    r_up(&t->a, 0, 0, 0);
    r_up(&t->b, 0, 0, 0);
    r_fill(t->h, SRC, 8192, 5);
    return t;
}

static void post_ud(RTest *t, uint32_t dqpn, uint32_t qkey, uint32_t index,
                    uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND_IMM);
    uint8_t *av = w.b + w.len;

    MLX5_SET(wqe_ctrl, w.b, general_id, 0xabcdef01);
    r_av(&w, dqpn, qkey);
    MLX5_SET(wqe_av, av, src_addr_index, index);
    MLX5_SET(wqe_av, av, tclass, 0x2a);
    MLX5_SET(wqe_av, av, flow_label, 0x12345);
    if (index == 1) {
        memcpy(av + MLX5_BYTE_OFF(wqe_av, rgid_rip), gid4, 16);
    }
    r_data(&w, SRC, len, t->key);
    r_post(&t->a, &w);
}

/* What a completion says of the sender. Return: roce_l3_type. */
static uint32_t took(RTest *t, uint32_t len, uint32_t src_qpn, uint32_t imm)
{
    uint8_t cqe[64];

    ck_assert(r_poll(&t->b, &t->b.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND_IMM);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), 40 + len);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, src_qp), src_qpn);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, grh), 1);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, immediate), imm);
    ck_assert(r_same(t->h, SRC, DST + 40, len));
    return MLX5_GET(cqe64, cqe, roce_l3_type);
}

/* A header over IPv6, or a GRH: which, and the fields both have. */
static void check_ipv6(RTest *t, uint8_t next, uint32_t payload)
{
    uint8_t h[40];

    fake_mem_read(t->h, DST, h, 40);
    ck_assert_uint_eq(h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3], 0x62a12345);
    ck_assert_uint_eq(h[4] << 8 | h[5], payload);
    ck_assert_uint_eq(h[6], next);
    ck_assert_uint_eq(h[7], 64);
    ck_assert(!memcmp(h + 8, r_gid, 16) && !memcmp(h + 24, r_gid, 16));
}

START_TEST(ud_ipv6)
{
    RTest *t = datagram(MLX5_QP_ST_UD);

    r_recv(&t->b, DST, 2048);
    post_ud(t, t->b.qp->o.id, R_QKEY, 0, 1000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_IMM);
    ck_assert_uint_eq(took(t, 1000, t->a.qp->o.id, 0xabcdef01), 1);
    check_ipv6(t, 17, 8 + 12 + 8 + 4 + 4 + 1000);
    r_free(t);
}
END_TEST

START_TEST(ud_grh)
{
    RTest *t = datagram(MLX5_QP_ST_UD);

    r_recv(&t->b, DST, 2048);
    post_ud(t, t->b.qp->o.id, R_QKEY, 2, 1000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_IMM);
    ck_assert_uint_eq(took(t, 1000, t->a.qp->o.id, 0xabcdef01), 0);
    check_ipv6(t, 0x1b, 12 + 8 + 4 + 4 + 1000);
    r_free(t);
}
END_TEST

START_TEST(ud_ipv4)
{
    RTest *t = datagram(MLX5_QP_ST_UD);
    uint8_t h[40];
    uint32_t sum = 0;

    r_recv(&t->b, DST, 2048);
    post_ud(t, t->b.qp->o.id, R_QKEY, 1, 1000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_IMM);
    ck_assert_uint_eq(took(t, 1000, t->a.qp->o.id, 0xabcdef01), 2);
    fake_mem_read(t->h, DST, h, 40);
    ck_assert_uint_eq(h[20], 0x45);
    ck_assert_uint_eq(h[21], 0x2a);
    ck_assert_uint_eq(h[22] << 8 | h[23], 20 + 8 + 12 + 8 + 4 + 4 + 1000);
    ck_assert_uint_eq(h[29], 17);
    ck_assert(!memcmp(h + 32, gid4 + 12, 4) && !memcmp(h + 36, gid4 + 12, 4));
    for (int i = 20; i < 40; i += 2) {
        sum += h[i] << 8 | h[i + 1];
    }
    ck_assert_uint_eq((sum & 0xffff) + (sum >> 16), 0xffff);
    r_free(t);
}
END_TEST

/* Dropped in silence: wrong key, nobody there, no receive. */
START_TEST(ud_dropped)
{
    RTest *t = datagram(MLX5_QP_ST_UD);

    post_ud(t, t->b.qp->o.id, R_QKEY, 0, 10);
    r_recv(&t->b, DST, 2048);
    post_ud(t, t->b.qp->o.id, R_QKEY + 1, 0, 10);
    post_ud(t, 0x7777, R_QKEY, 0, 10);
    post_ud(t, 1, R_QKEY, 0, 10);
    for (int i = 0; i < 4; i++) {
        r_sent(&t->a, i * 2, MLX5_OPCODE_SEND_IMM);
    }
    r_quiet(&t->b);
    ck_assert_uint_eq(mlx5_vport(t->h->func)->qkey_violations, 1);
    mlx5_vport(t->h->func)->qkey_violations = 0xfffe;
    for (int i = 0; i < 3; i++) { /* it stays at its end */
        post_ud(t, t->b.qp->o.id, R_QKEY + 1, 0, 10);
        r_sent(&t->a, 8 + i * 2, MLX5_OPCODE_SEND_IMM);
    }
    ck_assert_uint_eq(mlx5_vport(t->h->func)->qkey_violations, 0xffff);
    /* The high bit of a WQE's key asks for the queue's own. */
    post_ud(t, t->b.qp->o.id, 0x80000000, 0, 10);
    took(t, 10, t->a.qp->o.id, 0xabcdef01);
    r_free(t);
}
END_TEST

START_TEST(ud_receive_too_short)
{
    RTest *t = datagram(MLX5_QP_ST_UD);

    r_recv(&t->b, DST, 49);
    r_recv(&t->b, DST, 49);
    post_ud(t, t->b.qp->o.id, R_QKEY, 0, 10);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_IMM);
    r_failed(&t->b, &t->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
             MLX5_VENDOR_RECV_TOO_SHORT);
    r_flushed(&t->b, &t->b.rcq, 1);
    r_free(t);
}
END_TEST

/* A local error stops the send queue alone; SQERR2RTS starts it again. */
START_TEST(ud_send_queue_error)
{
    RTest *t = datagram(MLX5_QP_ST_UD);
    uint32_t mtu = mlx5_engine_port_mtu(t->h->func);

    ck_assert_uint_eq(mtu, 1024);
    r_recv(&t->a, DST, 64);
    post_ud(t, t->b.qp->o.id, R_QKEY, 0, mtu + 1);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
             MLX5_VENDOR_MSG_MTU);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_SQER);
    post_ud(t, t->b.qp->o.id, R_QKEY, 0, 10);
    r_flushed(&t->a, &t->a.scq, 2);
    r_quiet(&t->a);
    r_set_state(&t->a, MLX5_QP_STATE_RTS);
    r_recv(&t->b, DST, 2048);
    post_ud(t, t->b.qp->o.id, R_QKEY, 0, 10);
    r_sent(&t->a, 4, MLX5_OPCODE_SEND_IMM);
    took(t, 10, t->a.qp->o.id, 0xabcdef01);
    r_free(t);
}
END_TEST

/* QP1 is number 1 in packets, whatever number it was given. */
START_TEST(gsi)
{
    RTest *t = r_new(MLX5_QP_ST_UD);

    r_up(&t->a, 0, 0, 0);
    R_QPC(&t->a, q_key, 0x80010000);
    R_QPC(&t->b, q_key, 0x80010000);
    t->b.qp->st = MLX5_QP_ST_QP1;
    r_up(&t->b, 0, 0, 0);
    r_fill(t->h, SRC, 256, 1);
    r_recv(&t->b, DST, 512);
    post_ud(t, 1, 0x80010000, 0, 256);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND_IMM);
    took(t, 256, t->a.qp->o.id, 0xffff);
    /* And a sender that is one says so. */
    R_QPC(&t->a, deth_sqpn, 1);
    r_recv(&t->b, DST, 512);
    post_ud(t, 1, 0x80010000, 0, 256);
    took(t, 256, 1, 0xffff);
    r_set_state(&t->b, MLX5_QP_STATE_RST);
    post_ud(t, 1, 0x80010000, 0, 256);
    r_quiet(&t->b);
    r_free(t);
}
END_TEST

/* --- unreliable connections --- */

static unsigned lose_at, sent;

static void lossy(Mlx5Func *func, Mlx5Pkt *pkt)
{
    if (++sent != lose_at) {
        mlx5_link_send(func, pkt);
    }
}

static RTest *unreliable(unsigned lose)
{
    RTest *t = r_new(MLX5_QP_ST_UC);

    sent = 0;
    lose_at = lose;
    mlx5_rdma_set_link(t->h->func, lossy);
    r_connect(t, 0xffffff);
    r_fill(t->h, SRC, 300000, 5);
    return t;
}

static void post_uc(RTest *t, uint8_t opcode, uint32_t rkey, uint32_t len)
{
    RWqe w = r_wqe(opcode);
    uint16_t counter = t->a.sq_pi;

    if (opcode != MLX5_OPCODE_SEND) {
        r_raddr(&w, DST, rkey);
    }
    if (len) {
        r_data(&w, SRC, len, t->key);
    }
    r_post(&t->a, &w);
    r_sent(&t->a, counter, opcode);
}

START_TEST(uc_moves_data)
{
    RTest *t = unreliable(0);

    r_recv(&t->b, DST + 0x100000, 300000);
    r_recv(&t->b, DST, 0x10);
    post_uc(t, MLX5_OPCODE_SEND, 0, 300000);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 300000);
    ck_assert(r_same(t->h, SRC, DST + 0x100000, 300000));
    post_uc(t, MLX5_OPCODE_RDMA_WRITE_IMM, t->key, 200000);
    r_received(&t->b, 1, MLX5_CQE_RESP_WR_IMM, 200000);
    ck_assert(r_same(t->h, SRC, DST, 200000));
    ck_assert_uint_eq(sent, 5 + 4);
    r_free(t);
}
END_TEST

/* Whichever packet is lost, the message after it arrives whole. */
START_TEST(uc_lost)
{
    RTest *t = unreliable(_i + 1);

    r_recv(&t->b, DST, 300000);
    r_recv(&t->b, DST, 300000);
    post_uc(t, MLX5_OPCODE_SEND, 0, 300000);
    r_quiet(&t->b);
    post_uc(t, MLX5_OPCODE_SEND, 0, 200000);
    /* The receive of the broken message serves the next one. */
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 200000);
    ck_assert(r_same(t->h, SRC, DST, 200000));
    r_free(t);
}
END_TEST

START_TEST(uc_dropped)
{
    RTest *t = unreliable(0);

    post_uc(t, MLX5_OPCODE_SEND, 0, 200000);
    post_uc(t, MLX5_OPCODE_RDMA_WRITE, 0xabcd00, 200000);
    post_uc(t, MLX5_OPCODE_RDMA_WRITE_IMM, t->key, 100000);
    r_quiet(&t->b);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    r_recv(&t->b, DST, 64);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    r_free(t);
}
END_TEST

START_TEST(uc_receive_too_short)
{
    RTest *t = unreliable(0);

    r_recv(&t->b, DST, 63);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64);
    r_failed(&t->b, &t->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,
             MLX5_VENDOR_RECV_TOO_SHORT);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_RTS);
    r_free(t);
}
END_TEST

/* Of another path MTU: dropped, and the next that fits arrives. */
START_TEST(uc_other_mtu)
{
    RTest *t = unreliable(0);

    R_QPC(&t->b, mtu, 2);
    r_recv(&t->b, DST, 300000);
    post_uc(t, MLX5_OPCODE_SEND, 0, 1000);
    post_uc(t, MLX5_OPCODE_RDMA_WRITE, t->key, 5000);
    r_quiet(&t->b);
    ck_assert_uint_eq(t->b.qp->state, MLX5_QP_STATE_RTS);
    post_uc(t, MLX5_OPCODE_SEND, 0, 512);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 512);
    r_free(t);
}
END_TEST

static const uint8_t other_gid[16] = { 0xfe, 0x80, [15] = 0x77 };

/* What packets begin with is as the address table says now. */
START_TEST(uc_address_changes)
{
    RTest *t = unreliable(0);

    r_recv(&t->b, DST, 64);
    r_recv(&t->b, DST, 64);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    r_gid_set(t, 0, other_gid, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64); /* to a GID that is elsewhere now */
    r_quiet(&t->b);
    r_gid_set(t, 0, r_gid, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64);
    r_received(&t->b, 1, MLX5_CQE_RESP_SEND, 64);
    r_free(t);
}
END_TEST

/* The function that had the destination goes: packets leave the card. */
START_TEST(uc_destination_goes)
{
    RTest *t = unreliable(0), there = { 0 };
    Mlx5FuncProps props;

    mlx5_func_props_default(&props);
    there.h = fake_host_new_func(t->h->func->card, &props);
    r_gid_set(&there, 0, other_gid, MLX5_ROCE_VERSION_2,
              MLX5_ROCE_L3_TYPE_IPV6);
    memcpy(MLX5_ADDR_OF(qpc, t->a.qp->qpc, primary_address_path) +
           MLX5_BYTE_OFF(ads, rgid_rip), other_gid, 16);
    R_QPC(&t->a, remote_qpn, 0x1234);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64);
    ck_assert_uint_eq(there.h->func->stats.rx_roce_refused, 1);
    fake_host_free(there.h);
    post_uc(t, MLX5_OPCODE_SEND, 0, 64);
    ck_assert_uint_eq(t->h->frames->len, 1);
    r_free(t);
}
END_TEST

/* Reads and atomics are not of this service. */
START_TEST(uc_refuses)
{
    RTest *t = unreliable(0);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);

    r_raddr(&w, DST, t->key);
    r_data(&w, SRC, 8, t->key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
             MLX5_VENDOR_WQE_QP_TYPE);
    ck_assert_uint_eq(t->a.qp->state, MLX5_QP_STATE_SQER);
    r_free(t);
}
END_TEST

/* --- shared receive queues --- */

typedef struct RSrq {
    Mlx5Srq *srq;
    uint64_t ring, dbr;
    uint32_t posted;
} RSrq;

static RSrq make_srq(RTest *t, Mlx5SrqKind kind, uint32_t pdn)
{
    RSrq s = { .ring = r_new_ring(t), .dbr = r_new_ring(t) };
    uint8_t pas[8];
    Mlx5Func *f = t->h->func;

    mlx5_func_lock(f);
    s.srq = mlx5_obj_new(f, MLX5_OBJ_SRQ, sizeof(*s.srq), 0);
    s.srq->kind = kind;
    s.srq->pd = mlx5_obj_get(f, MLX5_OBJ_PD, pdn);
    mlx5_obj_ref(s.srq->pd);
    s.srq->log_size = 4;
    s.srq->wqe_bytes = 64;
    s.srq->cyclic = true;
    s.srq->dbr_gpa = s.dbr;
    s.srq->user_index = 0xffffff;
    t_pas(pas, 0, s.ring, 1);
    ck_assert(mlx5_ring_init(&s.srq->ring, f, pas, 1, 12, 0, 1024));
    mlx5_func_unlock(f);
    return s;
}

static void post_srq(RTest *t, RSrq *s, uint64_t addr, uint32_t len,
                     uint32_t key)
{
    uint8_t b[64] = { 0 };

    MLX5_SET(wqe_data, b + 16, byte_count, len);
    MLX5_SET(wqe_data, b + 16, lkey, key);
    MLX5_SET(wqe_data, b + 16, local_virtual_address, addr);
    MLX5_SET(wqe_data, b + 32, lkey, MLX5_INVALID_LKEY);
    fake_mem_write(t->h, s->ring + s->posted % 16 * 64, b, 64);
    fake_mem_set_be32(t->h, s->dbr, ++s->posted);
}

/* Its receives are in a domain of their own. */
START_TEST(srq)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint32_t pdn = t_alloc(t->h, mlx5_cmd_alloc_pd);
    uint32_t key = t_mkey_pa(t->h, pdn, T_ALL_ACCESS);
    RSrq s = make_srq(t, MLX5_SRQ_RMP, pdn);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t cqe[64];

    t->b.qp->srq = s.srq;
    t->b.qp->has_rq = false;
    mlx5_obj_ref(s.srq);
    r_connect(t, 0);
    r_fill(t->h, SRC, 9000, 1);
    post_srq(t, &s, DST, 9000, key);
    r_data(&w, SRC, 9000, t->key);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    ck_assert(r_poll(&t->b, &t->b.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), 9000);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, srqn_user_index), s.srq->o.id);
    ck_assert(r_same(t->h, SRC, DST, 9000));
    /* Empty: the sender waits; one posted: it goes on. */
    r_post(&t->a, &w);
    r_quiet(&t->a);
    post_srq(t, &s, DST, 9000, key);
    fake_host_advance(t->h, 700000);
    r_sent(&t->a, 1, MLX5_OPCODE_SEND);
    ck_assert(r_poll(&t->b, &t->b.rcq, cqe));
    /* In error its receives are not flushed, and the event says when. */
    post_srq(t, &s, DST, 9000, key);
    r_set_state(&t->b, MLX5_QP_STATE_ERR);
    mlx5_func_timer(t->h->func);
    fake_host_advance(t->h, 10000000);
    r_quiet(&t->b);
    ck_assert_uint_eq(r_event(t, MLX5_EVENT_TYPE_SRQ_LAST_WQE),
                      t->b.qp->o.id);
    ck_assert_uint_eq(r_event(t, MLX5_EVENT_TYPE_SRQ_LAST_WQE), 0);
    r_free(t);
}
END_TEST

/* --- XRC: the packet names the shared queue --- */

typedef struct RXrc {
    RTest *t;
    RSrq s;
    RCq cq;
} RXrc;

static RXrc xrc_new(void)
{
    RXrc x = { .t = r_new(MLX5_QP_ST_XRC) };
    uint32_t xrcdn = t_alloc(x.t->h, mlx5_cmd_alloc_xrcd);
    Mlx5Func *f = x.t->h->func;
    Mlx5Obj *xrcd = mlx5_obj_get(f, MLX5_OBJ_XRCD, xrcdn);

    x.cq = r_cq(x.t);
    x.s = make_srq(x.t, MLX5_SRQ_XRC, x.t->pdn);
    x.s.srq->xrcd = x.t->b.qp->xrcd = xrcd;
    x.s.srq->cq = mlx5_obj_get(f, MLX5_OBJ_CQ, x.cq.cqn);
    mlx5_obj_ref(xrcd);
    mlx5_obj_ref(xrcd);
    mlx5_obj_ref(x.s.srq->cq);
    x.t->b.qp->has_rq = x.t->b.qp->has_sq = false;
    r_connect(x.t, 0);
    r_fill(x.t->h, SRC, 5000, 1);
    return x;
}

static RWqe xrc_wqe(RXrc *x, uint8_t opcode, uint32_t srqn)
{
    RWqe w = r_wqe(opcode);

    MLX5_SET(wqe_xrc, w.b + w.len, xrc_srqn, srqn);
    w.len += 16;
    if (opcode == MLX5_OPCODE_RDMA_READ) {
        r_raddr(&w, SRC, x->t->key);
        r_data(&w, DST, 5000, x->t->key);
    } else {
        r_data(&w, SRC, 5000, x->t->key);
    }
    return w;
}

START_TEST(xrc)
{
    RXrc x = xrc_new();
    RWqe w = xrc_wqe(&x, MLX5_OPCODE_SEND, x.s.srq->o.id);
    RWqe r = xrc_wqe(&x, MLX5_OPCODE_RDMA_READ, x.s.srq->o.id);
    uint8_t cqe[64];

    post_srq(x.t, &x.s, DST, 5000, x.t->key);
    r_post(&x.t->a, &w);
    r_sent(&x.t->a, 0, MLX5_OPCODE_SEND);
    ck_assert(r_poll(&x.t->b, &x.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, srqn_user_index), x.s.srq->o.id);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), 5000);
    ck_assert(r_same(x.t->h, SRC, DST, 5000));
    r_quiet(&x.t->b);
    r_post(&x.t->a, &r);
    r_sent(&x.t->a, 2 - 1, MLX5_OPCODE_RDMA_READ);
    r_free(x.t);
}
END_TEST

START_TEST(xrc_wrong_queue)
{
    RXrc x = xrc_new();
    RWqe w = xrc_wqe(&x, MLX5_OPCODE_SEND, 0x6666);

    r_post(&x.t->a, &w);
    r_failed(&x.t->a, &x.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    ck_assert_uint_eq(r_event(x.t, MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR),
                      x.t->b.qp->o.id);
    r_free(x.t);
}
END_TEST

/*
 * Keys are used in the protection domain of the queue named, not in that of
 * the target queue pair, which the driver gives one of its own.
 */
START_TEST(xrc_domain)
{
    RXrc x = xrc_new();
    FakeHost *h = x.t->h;
    uint32_t pdn = t_alloc(h, mlx5_cmd_alloc_pd);
    uint32_t key = t_mkey_pa(h, pdn, T_ALL_ACCESS);
    RWqe read = r_wqe(MLX5_OPCODE_RDMA_READ);
    RWqe write = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    RWqe add = r_wqe(MLX5_OPCODE_ATOMIC_FA);
    RWqe *w[] = { &read, &write, &add };
    uint64_t sum = GUINT64_TO_LE(40);

    x.s.srq->pd->refs--;
    x.s.srq->pd = mlx5_obj_get(h->func, MLX5_OBJ_PD, pdn);
    x.s.srq->pd->refs++;
    fake_mem_write(h, DST + 8192, &sum, 8);
    for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
        MLX5_SET(wqe_xrc, w[i]->b + w[i]->len, xrc_srqn, x.s.srq->o.id);
        w[i]->len += 16;
        r_raddr(w[i], i ? DST + i * 4096 : SRC, key);
    }
    r_data(&read, DST, 4096, x.t->key);
    r_data(&write, SRC, 3000, x.t->key);
    r_atomic(&add, 2, 0);
    r_data(&add, DST + 12288, 8, x.t->key);
    for (unsigned i = 0; i < G_N_ELEMENTS(w); i++) {
        uint8_t cqe[64];

        r_post(&x.t->a, w[i]);
        ck_assert(r_poll(&x.t->a, &x.t->a.scq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
    }
    ck_assert(r_same(h, SRC, DST, 4096));
    ck_assert(r_same(h, SRC, DST + 4096, 3000));
    fake_mem_read(h, DST + 8192, &sum, 8);
    ck_assert_uint_eq(GUINT64_FROM_LE(sum), 42);
    r_free(x.t);
}
END_TEST

/* ... and the target's own domain opens nothing. */
START_TEST(xrc_domain_not_the_queue_pairs)
{
    RXrc x = xrc_new();
    uint32_t pdn = t_alloc(x.t->h, mlx5_cmd_alloc_pd);
    RWqe w = xrc_wqe(&x, MLX5_OPCODE_RDMA_READ, x.s.srq->o.id);

    x.s.srq->pd->refs--;
    x.s.srq->pd = mlx5_obj_get(x.t->h->func, MLX5_OBJ_PD, pdn);
    x.s.srq->pd->refs++;
    r_post(&x.t->a, &w);
    r_failed(&x.t->a, &x.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    r_free(x.t);
}
END_TEST

START_TEST(xrc_read_names_no_queue)
{
    RXrc x = xrc_new();
    RWqe w = xrc_wqe(&x, MLX5_OPCODE_RDMA_READ, 0x6666);

    r_post(&x.t->a, &w);
    r_failed(&x.t->a, &x.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    r_free(x.t);
}
END_TEST

/*
 * The shared queue goes while a message is on its way into one of its
 * receives; an XRC queue pair does not keep it.
 */
START_TEST(xrc_queue_destroyed)
{
    RXrc x = xrc_new();
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    MLX5_SET(wqe_xrc, w.b + w.len, xrc_srqn, x.s.srq->o.id);
    w.len += 16;
    r_data(&w, SRC, 1 << 20, x.t->key);
    post_srq(x.t, &x.s, DST, 1 << 20, x.t->key);
    r_put(&x.t->a, &w);
    r_ring(&x.t->a);
    ck_assert(x.t->b.qp->engine->resp.have_recv);
    mlx5_func_lock(x.t->h->func);
    mlx5_obj_delete(x.s.srq);
    mlx5_func_unlock(x.t->h->func);
    fake_host_work(x.t->h);
    r_failed(&x.t->a, &x.t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR,
             MLX5_VENDOR_REMOTE_INVAL);
    r_quiet(&x.t->b);
    r_free(x.t);
}
END_TEST

/* The same, and the queue pair is flushed next. */
START_TEST(xrc_queue_destroyed_flush)
{
    RXrc x = xrc_new();
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    MLX5_SET(wqe_xrc, w.b + w.len, xrc_srqn, x.s.srq->o.id);
    w.len += 16;
    r_data(&w, SRC, 1 << 20, x.t->key);
    post_srq(x.t, &x.s, DST, 1 << 20, x.t->key);
    r_put(&x.t->a, &w);
    r_ring(&x.t->a);
    mlx5_func_lock(x.t->h->func);
    mlx5_obj_delete(x.s.srq);
    mlx5_func_unlock(x.t->h->func);
    r_set_state(&x.t->b, MLX5_QP_STATE_ERR);
    fake_host_work(x.t->h);
    ck_assert(!x.t->b.qp->engine->resp.have_recv);
    r_quiet(&x.t->b);
    r_free(x.t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("services");
    TCase *tc = tcase_create("services");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, ud_ipv6);
    tcase_add_test(tc, ud_grh);
    tcase_add_test(tc, ud_ipv4);
    tcase_add_test(tc, ud_dropped);
    tcase_add_test(tc, ud_receive_too_short);
    tcase_add_test(tc, ud_send_queue_error);
    tcase_add_test(tc, gsi);
    tcase_add_test(tc, uc_moves_data);
    tcase_add_loop_test(tc, uc_lost, 0, 5);
    tcase_add_test(tc, uc_dropped);
    tcase_add_test(tc, uc_receive_too_short);
    tcase_add_test(tc, uc_other_mtu);
    tcase_add_test(tc, uc_address_changes);
    tcase_add_test(tc, uc_destination_goes);
    tcase_add_test(tc, uc_refuses);
    tcase_add_test(tc, srq);
    tcase_add_test(tc, xrc);
    tcase_add_test(tc, xrc_wrong_queue);
    tcase_add_test(tc, xrc_domain);
    tcase_add_test(tc, xrc_domain_not_the_queue_pairs);
    tcase_add_test(tc, xrc_read_names_no_queue);
    tcase_add_test(tc, xrc_queue_destroyed);
    tcase_add_test(tc, xrc_queue_destroyed_flush);
    return t_main(s);
}
