/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MAC control frames that arrive: pause (IEEE 802.3 annex 31B) and pause of
 * priorities (IEEE 802.1Qbb). They never reach a receive queue. One that the
 * port listens to holds sends back for its quanta of 512 bit times, or lets
 * them go again with 0; an SQ's priority is that of its TIS.
 */
#include "eth/eth_internal.h"

#define ETHERTYPE_CONTROL 0x8808
#define QUANTUM_BITS 512
enum { OPCODE_PAUSE = 0x0001, OPCODE_PFC = 0x0101 };

/* Opcode, then either quanta or enable vector and quanta of each priority. */
#define PAUSE_BYTES (MLX5_ETH_HLEN + 4)
#define PFC_BYTES (MLX5_ETH_HLEN + 4 + 2 * MLX5_PORT_PRIOS)

/* Some priority may go on: those that may not will wait again. */
static void look(Mlx5Func *func)
{
    Mlx5Pause *p = &func->eth->pause;
    int64_t now = mlx5_clock_ns(func), next = INT64_MAX;

    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        if (p->until_ns[i] > now) {
            next = MIN(next, p->until_ns[i]);
        }
    }
    p->on = next != INT64_MAX;
    if (p->on) {
        mlx5_timer_arm(func, &p->timer, next);
    } else {
        mlx5_timer_cancel(func, &p->timer);
    }
    mlx5_eth_wake_sqs(func);
}

static void fire(void *opaque)
{
    look(opaque);
}

void mlx5_eth_pause_new(Mlx5Func *func)
{
    mlx5_timer_init(&func->eth->pause.timer, fire, func);
}

void mlx5_eth_pause_reset(Mlx5Func *func)
{
    Mlx5Pause *p = &func->eth->pause;

    mlx5_timer_cancel(func, &p->timer);
    memset(p->until_ns, 0, sizeof(p->until_ns));
    p->on = false;
}

static int64_t quanta_ns(Mlx5Func *func, uint16_t quanta)
{
    return (int64_t)quanta * QUANTUM_BITS * 1000 / mlx5_port_mbps(func);
}

static void pause_all(Mlx5Func *func, const uint8_t *frame)
{
    int64_t ns = quanta_ns(func, mlx5_get_be16(frame + MLX5_ETH_HLEN + 2));

    if (!mlx5_port_rx_pause(func)) {
        return;
    }
    mlx5_port_count_pause(func, 0, ns);
    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        func->eth->pause.until_ns[i] = mlx5_clock_ns(func) + ns;
    }
    look(func);
}

static void pause_some(Mlx5Func *func, const uint8_t *frame)
{
    uint16_t which = mlx5_get_be16(frame + MLX5_ETH_HLEN + 2) &
                     mlx5_port_rx_pfc(func);

    for (unsigned i = 0; i < MLX5_PORT_PRIOS; i++) {
        if (which >> i & 1) {
            int64_t ns = quanta_ns(func, mlx5_get_be16(
                                       frame + MLX5_ETH_HLEN + 4 + 2 * i));

            mlx5_port_count_pause(func, i, ns);
            func->eth->pause.until_ns[i] = mlx5_clock_ns(func) + ns;
        }
    }
    if (which) {
        look(func);
    }
}

bool mlx5_eth_pause_rx(Mlx5Func *func, const uint8_t *frame, size_t len)
{
    uint16_t opcode;

    if (mlx5_get_be16(frame + 12) != ETHERTYPE_CONTROL) {
        return false;
    }
    opcode = len >= PAUSE_BYTES ? mlx5_get_be16(frame + MLX5_ETH_HLEN) : 0;
    if (opcode == OPCODE_PAUSE) {
        pause_all(func, frame);
    } else if (opcode == OPCODE_PFC && len >= PFC_BYTES) {
        pause_some(func, frame);
    } else {
        opcode = 0;
    }
    mlx5_port_count_control(func, opcode != 0);
    return true;
}

bool mlx5_eth_paused(Mlx5Sq *sq)
{
    const Mlx5Pause *p = &sq->o.func->eth->pause;

    return p->until_ns[mlx5_eth_sq_prio(sq)] > mlx5_clock_ns(sq->o.func);
}
