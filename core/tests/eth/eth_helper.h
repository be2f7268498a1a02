/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An Ethernet driver in small: queues and steering made by commands, WQEs
 * posted, doorbells rung, frames fed in and looked at.
 */
#ifndef TESTS_ETH_HELPER_H
#define TESTS_ETH_HELPER_H

#include <stdlib.h>

#include "bus/dma.h"
#include "eth/eth_internal.h"
#include "fw/vport.h"
#include "obj/q_counter.h"
#include "tests/fake_driver.h"

#define NET_LOG_SQ 4             /* 64-byte blocks */
#define NET_LOG_RQ 3
#define NET_LOG_RQ_STRIDE 6      /* four data segments */
#define NET_LOG_CQ 6
#define NET_BUF 2048

typedef struct NetQueue {
    uint32_t number;
    uint64_t ring, dbr;
    uint16_t pi;
    FakeQueue cq;
} NetQueue;

typedef struct Net {
    FakeHost *h;
    FakeDriver *d;
    Mlx5Func *func;
    uint32_t td, tis;
    NetQueue sq, rq;
    uint64_t buf;                /* scratch memory, 1 MiB */
} Net;

static inline uint32_t net_alloc_td(Net *n)
{
    FAKE_BUFFERS(alloc_transport_domain);

    FAKE_CMD_OK(n->d, ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain, in, out);
    return MLX5_GET(alloc_transport_domain_out, out, transport_domain);
}

static inline uint32_t net_create_tis(Net *n)
{
    FAKE_BUFFERS(create_tis);

    MLX5_SET(tisc, MLX5_ADDR_OF(create_tis_in, in, ctx), transport_domain,
             n->td);
    FAKE_CMD_OK(n->d, CREATE_TIS, create_tis, in, out);
    return MLX5_GET(create_tis_out, out, tisn);
}

/* Input of CREATE_SQ or CREATE_RQ (same size) with one page behind it. */
#define NET_WQ_IN (MLX5_ST_SZ_BYTES(create_sq_in) + 8)

static inline void net_fill_wq(Net *n, uint8_t *wq, uint32_t log_size,
                               uint32_t log_stride, NetQueue *q)
{
    MLX5_SET(wq, wq, wq_type, MLX5_WQ_TYPE_CYCLIC);
    MLX5_SET(wq, wq, pd, n->d->pd);
    MLX5_SET(wq, wq, uar_page, n->d->uar);
    MLX5_SET(wq, wq, dbr_addr, q->dbr);
    MLX5_SET(wq, wq, log_wq_stride, log_stride);
    MLX5_SET(wq, wq, log_wq_sz, log_size);
    mlx5_prm_set(wq, MLX5_BITS_wq, 64, q->ring);
}

static inline void net_fill_sq(Net *n, uint8_t in[NET_WQ_IN], NetQueue *q)
{
    uint8_t *sqc = MLX5_ADDR_OF(create_sq_in, in, ctx);

    memset(in, 0, NET_WQ_IN);
    MLX5_SET(create_sq_in, in, opcode, MLX5_CMD_OP_CREATE_SQ);
    MLX5_SET(sqc, sqc, cqn, q->cq.number);
    MLX5_SET(sqc, sqc, flush_in_error_en, 1);
    MLX5_SET(sqc, sqc, user_index, 0x1234);
    MLX5_SET(sqc, sqc, tis_lst_sz, 1);
    MLX5_SET(sqc, sqc, tis_num_0, n->tis);
    net_fill_wq(n, MLX5_ADDR_OF(sqc, sqc, wq), NET_LOG_SQ, 6, q);
}

static inline void net_fill_rq(Net *n, uint8_t in[NET_WQ_IN], NetQueue *q)
{
    uint8_t *rqc = MLX5_ADDR_OF(create_rq_in, in, ctx);

    memset(in, 0, NET_WQ_IN);
    MLX5_SET(create_rq_in, in, opcode, MLX5_CMD_OP_CREATE_RQ);
    MLX5_SET(rqc, rqc, cqn, q->cq.number);
    MLX5_SET(rqc, rqc, user_index, 0x4321);
    MLX5_SET(rqc, rqc, flush_in_error_en, 1);
    MLX5_SET(rqc, rqc, vsd, 1);
    net_fill_wq(n, MLX5_ADDR_OF(rqc, rqc, wq), NET_LOG_RQ, NET_LOG_RQ_STRIDE,
                q);
}

static inline NetQueue net_queue_memory(Net *n)
{
    return (NetQueue){
        .ring = fake_driver_alloc(n->d, 4096),
        .dbr = fake_driver_alloc(n->d, 64),
        .cq = fake_driver_create_cq_ok(n->d, NET_LOG_CQ, n->d->comp_eq.number),
    };
}

static inline void net_modify_sq(Net *n, uint32_t sqn, uint32_t from,
                                 uint32_t to)
{
    FAKE_BUFFERS(modify_sq);

    MLX5_SET(modify_sq_in, in, sqn, sqn);
    MLX5_SET(modify_sq_in, in, sq_state, from);
    MLX5_SET(sqc, MLX5_ADDR_OF(modify_sq_in, in, ctx), state, to);
    FAKE_CMD_OK(n->d, MODIFY_SQ, modify_sq, in, out);
}

static inline void net_modify_rq(Net *n, uint32_t rqn, uint32_t from,
                                 uint32_t to)
{
    FAKE_BUFFERS(modify_rq);

    MLX5_SET(modify_rq_in, in, rqn, rqn);
    MLX5_SET(modify_rq_in, in, rq_state, from);
    MLX5_SET(rqc, MLX5_ADDR_OF(modify_rq_in, in, ctx), state, to);
    FAKE_CMD_OK(n->d, MODIFY_RQ, modify_rq, in, out);
}

/* Queues in state RST. */
static inline NetQueue net_create_sq(Net *n)
{
    NetQueue q = net_queue_memory(n);
    uint8_t in[NET_WQ_IN], out[16];

    net_fill_sq(n, in, &q);
    ck_assert(fake_driver_cmd(n->d, in, sizeof(in), out, sizeof(out)));
    q.number = MLX5_GET(create_sq_out, out, sqn);
    return q;
}

static inline NetQueue net_create_rq(Net *n)
{
    NetQueue q = net_queue_memory(n);
    uint8_t in[NET_WQ_IN], out[16];

    net_fill_rq(n, in, &q);
    ck_assert(fake_driver_cmd(n->d, in, sizeof(in), out, sizeof(out)));
    q.number = MLX5_GET(create_rq_out, out, rqn);
    return q;
}

static inline void net_destroy_sq(Net *n, const NetQueue *q)
{
    FAKE_BUFFERS(destroy_sq);

    MLX5_SET(destroy_sq_in, in, sqn, q->number);
    FAKE_CMD_OK(n->d, DESTROY_SQ, destroy_sq, in, out);
    fake_driver_destroy_cq_ok(n->d, &q->cq);
}

static inline void net_destroy_rq(Net *n, const NetQueue *q)
{
    FAKE_BUFFERS(destroy_rq);

    MLX5_SET(destroy_rq_in, in, rqn, q->number);
    FAKE_CMD_OK(n->d, DESTROY_RQ, destroy_rq, in, out);
    fake_driver_destroy_cq_ok(n->d, &q->cq);
}

/* A card that is up, with one SQ and one RQ in RDY. */
static inline Net net_new(void)
{
    Net n = { .h = fake_host_new(NULL) };

    n.func = n.h->func;
    n.h->link = true;
    n.d = fake_driver_new(n.h);
    fake_driver_up(n.d);
    n.td = net_alloc_td(&n);
    n.tis = net_create_tis(&n);
    n.sq = net_create_sq(&n);
    n.rq = net_create_rq(&n);
    net_modify_sq(&n, n.sq.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    net_modify_rq(&n, n.rq.number, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY);
    n.buf = fake_driver_alloc(n.d, 1 << 20);
    return n;
}

static inline void net_free(Net *n)
{
    fake_driver_free(n->d);
    fake_host_free(n->h);
}

/* --- sending ---------------------------------------------------------- */

/* Put @blocks 64-byte blocks at the producer index, wrapping in the ring. */
static inline void net_post(Net *n, NetQueue *q, const uint8_t *wqe,
                            uint32_t len)
{
    uint32_t size = 64u << NET_LOG_SQ;

    for (uint32_t i = 0; i < len; i++) {
        fake_mem_write(n->h, q->ring + (q->pi * 64u + i) % size, wqe + i, 1);
    }
    q->pi += (len + 63) / 64;
    fake_mem_set_be32(n->h, q->dbr + 4, q->pi);
}

/* A quadword of the UAR's first BlueFlame register. */
static inline void net_bf_write(Net *n, uint32_t offset, uint64_t value)
{
    mlx5_func_bar_write(n->func, n->d->uar * 4096ul + 0x800 + offset, value,
                        8);
    fake_host_work(n->h);
}

static inline void net_ring(Net *n, NetQueue *q)
{
    net_bf_write(n, 0, (uint64_t)(uint16_t)(q->pi - 1) << 40 |
                 (uint64_t)q->number << 8 | 1);
}

static inline void net_ctrl(NetQueue *q, uint8_t *wqe, uint8_t opcode,
                            uint32_t ds, uint32_t ce)
{
    MLX5_SET(wqe_ctrl, wqe, wqe_index, q->pi);
    MLX5_SET(wqe_ctrl, wqe, opcode, opcode);
    MLX5_SET(wqe_ctrl, wqe, qpn, q->number);
    MLX5_SET(wqe_ctrl, wqe, ds, ds);
    MLX5_SET(wqe_ctrl, wqe, ce, ce);
}

static inline void net_data_seg(Net *n, uint8_t *seg, uint64_t gpa,
                                uint32_t len)
{
    MLX5_SET(wqe_data, seg, byte_count, len);
    MLX5_SET(wqe_data, seg, lkey, n->d->dma_mkey);
    MLX5_SET(wqe_data, seg, local_virtual_address, gpa);
}

/* The @i-th frame sent since the log was cleared. */
static inline const uint8_t *net_frame(Net *n, guint i, size_t *len)
{
    ck_assert_uint_lt(i, n->h->frames->len);
    return g_bytes_get_data(n->h->frames->pdata[i], len);
}

/* Give the receive queue a counter of its own: what has no WQE counts there. */
static inline Mlx5QCounter *net_count_rq(Net *n)
{
    FAKE_BUFFERS(alloc_q_counter);
    Mlx5QCounter *qc;

    FAKE_CMD_OK(n->d, ALLOC_Q_COUNTER, alloc_q_counter, in, out);
    qc = mlx5_q_counter_get(n->func, MLX5_GET(alloc_q_counter_out, out,
                                              counter_set_id));
    {
        FAKE_BUFFERS(modify_rq);
        uint8_t *rqc = MLX5_ADDR_OF(modify_rq_in, in, ctx);

        MLX5_SET(modify_rq_in, in, rqn, n->rq.number);
        MLX5_SET(modify_rq_in, in, rq_state, MLX5_WQ_STATE_RDY);
        MLX5_SET(modify_rq_in, in, modify_bitmask, 8);
        MLX5_SET(rqc, rqc, state, MLX5_WQ_STATE_RDY);
        MLX5_SET(rqc, rqc, counter_set_id, qc->o.id);
        FAKE_CMD_OK(n->d, MODIFY_RQ, modify_rq, in, out);
    }
    return qc;
}

/* --- steering --------------------------------------------------------- */

static inline uint32_t net_create_tir_direct(Net *n, uint32_t rqn)
{
    FAKE_BUFFERS(create_tir);
    uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, in, ctx);

    MLX5_SET(tirc, tirc, transport_domain, n->td);
    MLX5_SET(tirc, tirc, inline_rqn, rqn);
    FAKE_CMD_OK(n->d, CREATE_TIR, create_tir, in, out);
    return MLX5_GET(create_tir_out, out, tirn);
}

static inline uint32_t net_create_rqt(Net *n, const uint32_t *rqns,
                                      uint32_t size)
{
    uint32_t len = MLX5_ST_SZ_BYTES(create_rqt_in) + size * 4;
    g_autofree uint8_t *in = g_malloc0(len);
    uint8_t *rqtc = MLX5_ADDR_OF(create_rqt_in, in, rqt_context);
    uint8_t out[16];

    MLX5_SET(create_rqt_in, in, opcode, MLX5_CMD_OP_CREATE_RQT);
    MLX5_SET(rqtc, rqtc, rqt_max_size, size);
    MLX5_SET(rqtc, rqtc, rqt_actual_size, size);
    for (uint32_t i = 0; i < size; i++) {
        MLX5_SET_IDX(rqtc, rqtc, rq_num, i, rqns[i]);
    }
    ck_assert(fake_driver_cmd(n->d, in, len, out, sizeof(out)));
    return MLX5_GET(create_rqt_out, out, rqtn);
}

#define NET_NO_MISS 0xffffffffu

static inline uint32_t net_create_table(Net *n, uint32_t level, uint32_t miss)
{
    FAKE_BUFFERS(create_flow_table);
    uint8_t *ctx = MLX5_ADDR_OF(create_flow_table_in, in, flow_table_context);

    MLX5_SET(flow_table_context, ctx, level, level);
    MLX5_SET(flow_table_context, ctx, log_size, 4);
    if (miss != NET_NO_MISS) {
        MLX5_SET(flow_table_context, ctx, table_miss_action, 1);
        MLX5_SET(flow_table_context, ctx, table_miss_id, miss);
    }
    FAKE_CMD_OK(n->d, CREATE_FLOW_TABLE, create_flow_table, in, out);
    return MLX5_GET(create_flow_table_out, out, table_id);
}

static inline void net_set_root(Net *n, uint32_t table)
{
    FAKE_BUFFERS(set_flow_table_root);

    MLX5_SET(set_flow_table_root_in, in, table_id, table);
    FAKE_CMD_OK(n->d, SET_FLOW_TABLE_ROOT, set_flow_table_root, in, out);
}

/* @mask: 64 bytes of outer headers, or NULL for a group that takes all. */
static inline uint32_t net_create_group(Net *n, uint32_t table, uint32_t start,
                                        uint32_t end, const uint8_t *mask)
{
    FAKE_BUFFERS(create_flow_group);

    MLX5_SET(create_flow_group_in, in, table_id, table);
    MLX5_SET(create_flow_group_in, in, start_flow_index, start);
    MLX5_SET(create_flow_group_in, in, end_flow_index, end);
    if (mask) {
        MLX5_SET(create_flow_group_in, in, match_criteria_enable, 1);
        memcpy(MLX5_ADDR_OF(create_flow_group_in, in, match_criteria), mask,
               MLX5_MATCH_BYTES);
    }
    FAKE_CMD_OK(n->d, CREATE_FLOW_GROUP, create_flow_group, in, out);
    return MLX5_GET(create_flow_group_out, out, group_id);
}

typedef struct NetRule {
    uint32_t table, group, index, tag;
    uint32_t action;
    uint32_t num_dests;
    uint64_t dests[4];           /* type << 24 | id */
    const uint8_t *value;        /* 64 bytes or NULL */
} NetRule;

#define NET_TO_TIR(id) (2u << 24 | (id))
#define NET_TO_TABLE(id) (1u << 24 | (id))
#define NET_FTE_IN (MLX5_ST_SZ_BYTES(set_fte_in) + 4 * 8)

static inline uint32_t net_fill_fte(uint8_t in[NET_FTE_IN], const NetRule *r)
{
    uint8_t *ctx = MLX5_ADDR_OF(set_fte_in, in, flow_context);

    memset(in, 0, NET_FTE_IN);
    MLX5_SET(set_fte_in, in, opcode, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
    MLX5_SET(set_fte_in, in, table_id, r->table);
    MLX5_SET(set_fte_in, in, flow_index, r->index);
    MLX5_SET(flow_context, ctx, group_id, r->group);
    MLX5_SET(flow_context, ctx, flow_tag, r->tag);
    MLX5_SET(flow_context, ctx, action, r->action);
    MLX5_SET(flow_context, ctx, destination_list_size, r->num_dests);
    if (r->value) {
        memcpy(MLX5_ADDR_OF(flow_context, ctx, match_value), r->value,
               MLX5_MATCH_BYTES);
    }
    for (uint32_t i = 0; i < r->num_dests; i++) {
        mlx5_prm_set(ctx, MLX5_BIT_OFF(flow_context, destination) + i * 64, 32,
                     r->dests[i]);
    }
    return MLX5_ST_SZ_BYTES(set_fte_in) + r->num_dests * 8;
}

static inline void net_set_rule(Net *n, const NetRule *r)
{
    uint8_t in[NET_FTE_IN], out[16];
    uint32_t len = net_fill_fte(in, r);

    ck_assert_msg(fake_driver_cmd(n->d, in, len, out, sizeof(out)),
                  "SET_FTE: syndrome 0x%x", n->d->syndrome);
}

/* Everything goes to @tirn. Return: the root table. */
static inline uint32_t net_steer_all(Net *n, uint32_t tirn)
{
    uint32_t table = net_create_table(n, 1, NET_NO_MISS);
    NetRule r = { .table = table, .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
                  .group = net_create_group(n, table, 0, 0, NULL),
                  .num_dests = 1, .dests = { NET_TO_TIR(tirn) } };

    net_set_rule(n, &r);
    net_set_root(n, table);
    return table;
}

/* --- receiving -------------------------------------------------------- */

/* Post one buffer of @len bytes at @gpa to @q. */
static inline void net_post_rx(Net *n, NetQueue *q, uint64_t gpa,
                               uint32_t len)
{
    uint64_t at = q->ring +
                  ((uint64_t)(q->pi % (1u << NET_LOG_RQ)) << NET_LOG_RQ_STRIDE);
    uint8_t wqe[1 << NET_LOG_RQ_STRIDE] = { 0 };

    net_data_seg(n, wqe, gpa, len);
    MLX5_SET(wqe_data, wqe + 16, lkey, MLX5_INVALID_LKEY);
    fake_mem_write(n->h, at, wqe, sizeof(wqe));
    fake_mem_set_be32(n->h, q->dbr, ++q->pi);
}

static inline void net_rx(Net *n, const void *frame, size_t len)
{
    struct iovec iov = { (void *)frame, len };

    ck_assert(mlx5_card_frame_rx(n->h->card, &iov, 1));
    fake_host_work(n->h);
}

/* --- frames ----------------------------------------------------------- */

typedef struct NetFrame {
    uint8_t b[12000];
    size_t len;
} NetFrame;

/*
 * A frame with @payload bytes of a pattern: IPv4 or IPv6, TCP or UDP (proto 6
 * or 17), a VLAN tag if @vlan >= 0. Checksum fields hold rubbish.
 */
static inline NetFrame net_make_frame(int ip, int proto, int vlan,
                                      size_t payload)
{
    static const uint8_t macs[12] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56,
                                      0x02, 0, 0, 0, 0, 1 };
    NetFrame f = { .len = 12 };
    size_t l4 = proto == 6 ? 20 : 8;
    uint8_t *p = f.b + 12;

    memcpy(f.b, macs, 12);
    if (vlan >= 0) {
        mlx5_put_be16(p, 0x8100);
        mlx5_put_be16(p + 2, vlan);
        p += 4;
    }
    mlx5_put_be16(p, ip == 4 ? 0x0800 : 0x86dd);
    p += 2;
    if (ip == 4) {
        p[0] = 0x45;
        mlx5_put_be16(p + 2, 20 + l4 + payload);
        mlx5_put_be16(p + 4, 0x1111);
        mlx5_put_be16(p + 6, 0x4000);
        p[8] = 64;
        p[9] = proto;
        mlx5_put_be16(p + 10, 0xdead);
        mlx5_put_be32(p + 12, 0x0a000001);
        mlx5_put_be32(p + 16, 0x0a0000fe);
        p += 20;
    } else {
        p[0] = 0x60;
        mlx5_put_be16(p + 4, l4 + payload);
        p[6] = proto;
        p[7] = 64;
        for (int i = 0; i < 32; i++) {
            p[8 + i] = 0x20 + i * 3;
        }
        p += 40;
    }
    mlx5_put_be16(p, 0x1234);
    mlx5_put_be16(p + 2, 80);
    if (proto == 6) {
        mlx5_put_be32(p + 4, 0xfffffff0);
        p[12] = 0x50;
        p[13] = 0x10;
        mlx5_put_be16(p + 16, 0xbeef);
    } else {
        mlx5_put_be16(p + 4, 8 + payload);
        mlx5_put_be16(p + 6, 0xbeef);
    }
    p += l4;
    for (size_t i = 0; i < payload; i++) {
        *p++ = i * 7 + 1;
    }
    f.len = p - f.b;
    return f;
}

/* A second opinion on the Internet checksum: 32-bit words, end-around. */
static inline uint16_t net_ref_sum(uint32_t sum, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
        if (sum > 0xffff) {
            sum -= 0xffff;
        }
    }
    return sum;
}

/* Offset of the IP header in a frame of net_make_frame(). */
static inline size_t net_l3(const uint8_t *b)
{
    return mlx5_get_be16(b + 12) == 0x8100 ? 18 : 14;
}

static inline bool net_ref_l3_ok(const uint8_t *b)
{
    const uint8_t *ip = b + net_l3(b);

    return ip[0] >> 4 == 6 || net_ref_sum(0, ip, 20) == 0xffff;
}

static inline bool net_ref_l4_ok(const uint8_t *b)
{
    const uint8_t *ip = b + net_l3(b);
    bool v4 = ip[0] >> 4 == 4;
    uint32_t l4_len = v4 ? mlx5_get_be16(ip + 2) - 20u
                         : mlx5_get_be16(ip + 4);
    uint32_t sum = net_ref_sum(0, v4 ? ip + 12 : ip + 8, v4 ? 8 : 32);

    sum = (sum + (v4 ? ip[9] : ip[6]) + l4_len) % 0xffff;
    sum = net_ref_sum(sum, ip + (v4 ? 20 : 40), l4_len);
    return sum == 0xffff || sum == 0;
}

#endif
