/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire: from transport packets to frames of the port and back (RoCE annexes
 * A16 and A17). See link.h.
 *
 * A frame that came in is ours when it has a RoCE packet to an address of our
 * table, by its MAC and its VLAN, or to a group that a queue pair is in.
 * Everything else is left to the Ethernet queues, so that software that speaks
 * RoCE on its own works behind a port without addresses.
 */
#include "net/link.h"

#include "bus/trace.h"
#include "fw/fw.h"
#include "fw/roce.h"
#include "net/roce.h"
#include "obj/mcg.h"

#define VLAN_ID 0xfff

/* What only tells a peer in the card of a page is on no wire. */
static bool has_form(const Mlx5Pkt *pkt)
{
    return pkt->paging != MLX5_PAGING_HOLD && pkt->paging != MLX5_PAGING_GO &&
           mlx5_roce_on_wire(pkt);
}

void mlx5_wire_send(Mlx5Func *func, Mlx5Pkt *pkt)
{
    uint8_t frame[MLX5_ROCE_MAX_FRAME];
    uint32_t n = mlx5_roce_frames(pkt);

    if (!has_form(pkt) || !mlx5_fw_port_up(func)) {
        mlx5_pkt_trace(func, "lost", pkt);
        return;
    }
    pkt->on_wire = true;
    for (uint32_t i = 0; i < n; i++) {
        struct iovec iov = { frame, mlx5_roce_encode(pkt, i, frame) };

        if (!iov.iov_len) {
            /* Memory that is gone: the peer will miss the rest. */
            mlx5_pkt_trace(func, "lost", pkt);
            return;
        }
        mlx5_frame_note(func, &iov, 1);
    }
}

static bool is_ours(Mlx5Func *func, const Mlx5PktAddr *addr)
{
    const Mlx5RoceAddr *own;

    if (mlx5_mcg_is_multicast(addr->dgid)) {
        return mlx5_mcg_members(func, addr->dgid) != NULL;
    }
    own = mlx5_roce_find(func, addr->dgid, addr->roce_version);
    return own && !memcmp(own->mac, addr->dmac, sizeof(own->mac)) &&
           own->vlan_valid == addr->vlan &&
           (!addr->vlan || own->vlan_id == (addr->tci & VLAN_ID));
}

/*
 * To a group go datagrams alone, and by the number that stands for all queue
 * pairs (IBA 9.6.1.2.1, 9.2.3); by no other address goes anything there.
 */
static bool fits_address(const Mlx5Pkt *pkt)
{
    return mlx5_mcg_is_multicast(pkt->addr.dgid)
               ? pkt->dqpn == MLX5_QPN_MULTICAST && pkt->svc == MLX5_SVC_UD
               : pkt->dqpn != MLX5_QPN_MULTICAST;
}

bool mlx5_wire_rx(Mlx5Func *func, const uint8_t *frame, size_t len)
{
    Mlx5Pkt pkt;
    Mlx5RoceFrame kind = mlx5_roce_decode(frame, len, &pkt);

    if (kind == MLX5_ROCE_NONE || !is_ours(func, &pkt.addr)) {
        return false;
    }
    if (kind == MLX5_ROCE_GOOD && !fits_address(&pkt)) {
        kind = MLX5_ROCE_MALFORMED;
    }
    switch (kind) {
    case MLX5_ROCE_GOOD:
        mlx5_link_receive(func, &pkt);
        break;
    case MLX5_ROCE_BAD_ICRC:
        func->stats.rx_icrc_errors++;
        mlx5_trace(func, MLX5_TRACE_FRAME, "rx len=%zu: bad ICRC", len);
        break;
    default:
        func->stats.rx_roce_malformed++;
        mlx5_trace(func, MLX5_TRACE_FRAME, "rx len=%zu: malformed RoCE", len);
        break;
    }
    return true;
}
