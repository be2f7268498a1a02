/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The port's link as its registers configure it, for the engines.
 */
#ifndef MLX5_FW_PORT_H
#define MLX5_FW_PORT_H

#include "bus/func.h"
#include "fw/vport.h"

#define MLX5_PORT_PRIOS 8
#define MLX5_PORT_DSCPS 64
/** Receive buffers, pools of a direction, bytes of a cell. */
#define MLX5_PORT_BUFFERS 8
#define MLX5_PORT_POOLS 2
#define MLX5_PORT_CELL_BYTES 128u

/** Mb/s at which the link runs, whether or not it is up. */
uint32_t mlx5_port_mbps(Mlx5Func *func);
/** Does the port listen to pause frames (IEEE 802.3 annex 31B)? */
bool mlx5_port_rx_pause(Mlx5Func *func);
/** Priorities whose pause frames it listens to (IEEE 802.1Qbb), a bit each. */
uint8_t mlx5_port_rx_pfc(Mlx5Func *func);
/** Count a MAC control frame; @known: one that pauses something. */
void mlx5_port_count_control(Mlx5Func *func, bool known);
/** Count a pause of @prio for @ns. */
void mlx5_port_count_pause(Mlx5Func *func, unsigned prio, uint64_t ns);

/* reg_qos.c */

/**
 * The priority of a packet with the VLAN priority @pcp and the DSCP @dscp, -1
 * for those that it has not (PRM: QPTS, QPDPM).
 */
unsigned mlx5_port_prio(Mlx5Func *func, int pcp, int dscp);
/** The traffic class of a priority (QTCT). */
unsigned mlx5_port_tc(Mlx5Func *func, unsigned prio);
/** kbit/s that a traffic class may send, 0: no limit (QETCR). */
uint64_t mlx5_port_tc_kbps(Mlx5Func *func, unsigned tc);
/** Count what was sent, with @tx, or received in a priority. */
void mlx5_port_count_prio(Mlx5Func *func, unsigned prio, bool tx,
                          Mlx5Traffic traffic);

/* reg_buffer.c */

/** The receive buffer of a priority (PPTB). */
unsigned mlx5_port_buffer(Mlx5Func *func, unsigned prio);
/** How much it holds (PBMC). */
uint32_t mlx5_port_buffer_bytes(Mlx5Func *func, unsigned buffer);
/** Count a frame of @prio for which there was no room in it. */
void mlx5_port_count_discard(Mlx5Func *func, unsigned prio);

#endif
