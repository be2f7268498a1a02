/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that an SQ sends to receivers of its own function (PRM: NIC Vport
 * Context disable_*_local_lb, TIR Context self_lb_block; driver: mlx5_ib
 * main.c mlx5_ib_enable_lb, en_selftest.c).
 *
 *   local loopback off for the kind of address ........... to the wire
 *   multicast ....................... to receivers here, and to the wire
 *   unicast, ours, and a receiver took it ................ stays inside
 *   any other unicast ..... to receivers with a rule for it, and to the wire
 *
 * A TIR takes frames of other transport domains; those of its own only if
 * self_lb_block has the bit of the kind of address. The field's name says the
 * opposite of what drivers do with it: mlx5e sets the bit for as long as its
 * loopback test runs, mlx5_ib for a QP that asks to hear itself.
 *
 * unknown: whether hardware puts unicast for a foreign address on the wire
 * when a rule took it here; losing it would be worse than sending it.
 */
#include "eth/eth_internal.h"

#include "fw/fw.h"
#include "fw/vport.h"
#include "obj/td.h"

static bool is_multicast(const uint8_t *frame)
{
    return frame[0] & 1;
}

/* Is @dmac one that the vport listens to? */
static bool is_ours(const Mlx5Vport *v, const uint8_t *dmac)
{
    uint64_t mac = (uint64_t)mlx5_get_be16(dmac) << 32 |
                   mlx5_get_be32(dmac + 2);

    if (!memcmp(v->mac, dmac, sizeof(v->mac))) {
        return true;
    }
    for (uint16_t i = 0; i < v->list_len[MLX5_VPORT_LIST_UC]; i++) {
        if ((v->list[MLX5_VPORT_LIST_UC][i] & 0xffffffffffff) == mac) {
            return true;
        }
    }
    return false;
}

/*
 * Could anybody here take the frame? A host that only talks to others must
 * not pay for the look-up, so this is counters alone.
 */
static bool may_loop(const Mlx5Sq *sq, const Mlx5Vport *v,
                     const uint8_t *frame)
{
    const Mlx5Td *td = (const Mlx5Td *)sq->tis->td;

    if (is_multicast(frame) ? v->disable_mc_local_lb
                            : v->disable_uc_local_lb) {
        return false;
    }
    return mlx5_obj_count(sq->o.func, MLX5_OBJ_TIR) > td->deaf_tirs;
}

/* Return: whether a queue was chosen. */
static bool loop(Mlx5Sq *sq, const uint8_t *frame, size_t len)
{
    Mlx5Vport *v = mlx5_vport(sq->o.func);
    Mlx5Packet p;

    mlx5_packet_init(&p, sq->o.func, sq, frame, len);
    p.lb_bit = is_multicast(frame) ? MLX5_SELF_LB_MULTICAST
                                   : MLX5_SELF_LB_UNICAST;
    mlx5_frame_parse(frame, len, &p.info);
    if (!mlx5_eth_steer_rx(&p)) {
        return false;
    }
    v->counters.local_loopback.packets++;
    v->counters.local_loopback.octets += len;
    return true;
}

bool mlx5_eth_only_wire(const Mlx5Sq *sq, const uint8_t *frame)
{
    Mlx5Func *func = sq->o.func;

    return !func->flow_root[MLX5_FLOW_TABLE_TYPE_NIC_TX] &&
           !may_loop(sq, mlx5_vport(func), frame);
}

void mlx5_eth_out(Mlx5Sq *sq, const uint8_t *frame, size_t len)
{
    Mlx5Func *func = sq->o.func;
    const Mlx5Vport *v = mlx5_vport(func);

    if (len <= MLX5_ETH_MAX_FRAME && may_loop(sq, v, frame) &&
        mlx5_fw_port_up(func) && loop(sq, frame, len) &&
        !is_multicast(frame) && is_ours(v, frame)) {
        return;
    }
    mlx5_eth_tx(func, frame, len);
}

void mlx5_eth_send(Mlx5Sq *sq, const uint8_t *frame, size_t len,
                   uint32_t metadata)
{
    if (sq->o.func->flow_root[MLX5_FLOW_TABLE_TYPE_NIC_TX]) {
        mlx5_eth_steer_tx(sq, frame, len, metadata);
    } else {
        mlx5_eth_out(sq, frame, len);
    }
}
