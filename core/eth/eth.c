/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet engine's making and its two ends at the wire; see eth.h.
 */
#include "eth/eth_internal.h"

#include "bus/trace.h"
#include "fw/fw.h"
#include "fw/vport.h"
#include "obj/eth_engine.h"
#include "rdma/rdma.h"

static void rq_destroyed(Mlx5Rq *rq)
{
    mlx5_eth_lro_forget(rq);
    mlx5_eth_backlog_forget(rq);
}

static const Mlx5EthEngineOps engine_ops = {
    .sq_created = mlx5_eth_sq_created,
    .sq_state = mlx5_eth_sq_state,
    .sq_destroyed = mlx5_eth_sq_destroyed,
    .rq_state = mlx5_eth_rq_state,
    .rq_destroyed = rq_destroyed,
    .cq_armed = mlx5_eth_backlog_cq_armed,
};

void mlx5_eth_new(Mlx5Func *func)
{
    func->eth = g_new0(Mlx5Eth, 1);
    func->eth->gathering = g_ptr_array_new();
    mlx5_eth_backlog_new(func);
    func->eth_engine = &engine_ops;
    mlx5_eth_vxlan_reset(func);
    mlx5_eth_pause_new(func);
    mlx5_eth_ets_new(func);
    mlx5_rdma_set_sq_doorbell(func, mlx5_eth_sq_doorbell);
}

/* Queues are objects and gone already. */
void mlx5_eth_reset(Mlx5Func *func)
{
    mlx5_eth_pause_reset(func);
    mlx5_eth_vxlan_reset(func);
    mlx5_eth_ets_reset(func);
    mlx5_eth_backlog_reset(func);
}

void mlx5_eth_free(Mlx5Func *func)
{
    func->eth_engine = NULL;
    mlx5_eth_reset(func);
    g_ptr_array_unref(func->eth->gathering);
    mlx5_eth_backlog_free(func);
    g_clear_pointer(&func->eth, g_free);
}

void mlx5_eth_set_tap(Mlx5Func *func, Mlx5EthTap tap)
{
    func->eth->tap = tap;
}

void mlx5_eth_set_roce(Mlx5Func *func, Mlx5EthTap roce)
{
    func->eth->roce = roce;
}

/* One of the three kinds of address. */
static Mlx5Traffic *kind(const uint8_t *dmac, Mlx5Traffic *unicast,
                         Mlx5Traffic *multicast, Mlx5Traffic *broadcast)
{
    static const uint8_t all_ones[6] = { 255, 255, 255, 255, 255, 255 };

    if (!(dmac[0] & 1)) {
        return unicast;
    }
    return memcmp(dmac, all_ones, 6) ? multicast : broadcast;
}

static void count_tx(Mlx5Func *func, const uint8_t *frame, size_t len,
                     Mlx5Traffic sent)
{
    Mlx5VportCounters *c = &mlx5_vport(func)->counters;
    Mlx5Traffic *t = kind(frame, &c->transmitted_eth_unicast,
                          &c->transmitted_eth_multicast,
                          &c->transmitted_eth_broadcast);
    Mlx5FrameInfo info;

    t->packets += sent.packets;
    t->octets += sent.octets;
    mlx5_frame_parse(frame, len, &info);
    mlx5_eth_count_prio(func, &info, true, sent);
}

void mlx5_eth_tx(Mlx5Func *func, const uint8_t *frame, size_t len)
{
    static const uint8_t zeros[MLX5_ETH_ZLEN];
    struct iovec iov[2] = { { (void *)frame, len }, { (void *)zeros, 0 } };

    if (len > MLX5_ETH_MAX_FRAME || !mlx5_fw_port_up(func)) {
        func->stats.tx_discards++;
        return;
    }
    if (len < MLX5_ETH_ZLEN) {
        iov[1].iov_len = MLX5_ETH_ZLEN - len;
    }
    count_tx(func, frame, len, (Mlx5Traffic){ 1, len + iov[1].iov_len });
    mlx5_trace(func, MLX5_TRACE_FRAME, "tx len=%zu", len);
    mlx5_frame_note(func, iov, 2);
}

void mlx5_eth_tx_large(Mlx5Func *func, const uint8_t *frame, size_t len,
                       Mlx5Traffic cut)
{
    struct iovec iov = { (void *)frame, len };

    if (!mlx5_fw_port_up(func)) {
        func->stats.tx_discards += cut.packets;
        return;
    }
    count_tx(func, frame, len, cut);
    mlx5_trace(func, MLX5_TRACE_FRAME, "tx len=%zu, %u segments", len,
               (unsigned)cut.packets);
    mlx5_frame_note(func, &iov, 1);
}

static size_t flatten(const struct iovec *iov, int iovcnt, uint8_t *buf,
                      size_t max)
{
    size_t len = 0;

    for (int i = 0; i < iovcnt; i++) {
        if (iov[i].iov_len > max - len) {
            return max + 1;
        }
        if (iov[i].iov_len) {
            memcpy(buf + len, iov[i].iov_base, iov[i].iov_len);
        }
        len += iov[i].iov_len;
    }
    return len;
}

static void count_rx(Mlx5Func *func, const uint8_t *frame, size_t len,
                     const Mlx5FrameInfo *info)
{
    Mlx5VportCounters *c = &mlx5_vport(func)->counters;
    Mlx5Traffic *t = kind(frame, &c->received_eth_unicast,
                          &c->received_eth_multicast,
                          &c->received_eth_broadcast);

    t->packets++;
    t->octets += len;
    mlx5_eth_count_prio(func, info, false, (Mlx5Traffic){ 1, len });
    mlx5_stats_rx_size(&func->stats, len);
}

bool mlx5_eth_rx(Mlx5Func *func, const struct iovec *iov, int iovcnt)
{
    uint8_t buf[MLX5_ETH_MAX_FRAME];
    size_t len = flatten(iov, iovcnt, buf, sizeof(buf));
    Mlx5Packet p;

    if (!mlx5_fw_port_up(func)) {
        return true;
    }
    if (len > sizeof(buf)) {
        func->stats.rx_oversize++;
        return true;
    }
    if (len < MLX5_ETH_HLEN) {
        func->stats.rx_errors++;
        return true;
    }
    if (func->eth->roce && func->eth->roce(func, buf, len)) {
        mlx5_stats_rx_size(&func->stats, len);
        return true;
    }
    mlx5_packet_init(&p, func, NULL, buf, len);
    mlx5_frame_parse(buf, len, &p.info);
    count_rx(func, buf, len, &p.info);
    if (mlx5_eth_pause_rx(func, buf, len)) {
        return true;
    }
    if (!func->eth->tap || !func->eth->tap(func, buf, len)) {
        mlx5_eth_steer_rx(&p);
    }
    return true;
}
