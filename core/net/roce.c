/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RoCE packets as a wire counts them; see roce.h. (IBA 9.2, table 38; RoCE
 * annexes A16 and A17: Ethernet, GRH or IP and UDP in front.)
 */
#include "net/roce_internal.h"

#include "eth/eth.h"
#include "obj/flow_table.h"

/* A read request counts the numbers of its responses. */
uint32_t mlx5_roce_frames(const Mlx5Pkt *pkt)
{
    return pkt->op == MLX5_PKT_READ ? 1 : pkt->npsn;
}

/* What every packet of @pkt has, whatever its opcode. */
static uint64_t header_bytes(const Mlx5Pkt *pkt)
{
    uint64_t n = MLX5_ETH_HLEN + MLX5_BTH_BYTES + MLX5_ICRC_BYTES;

    n += pkt->addr.vlan ? MLX5_VLAN_HLEN : 0;
    if (!pkt->addr.roce_version) {
        return n + MLX5_GRH_BYTES;
    }
    return n + MLX5_UDP_HLEN + (pkt->addr.ipv4 ? MLX5_IPV4_BYTES
                                               : MLX5_IPV6_BYTES);
}

/* Only the last packet can have a pad: path MTUs are multiples of four. */
static inline Mlx5Traffic run_traffic(const Mlx5Pkt *pkt, const Mlx5RoceRun *r)
{
    uint64_t headers = header_bytes(pkt) +
                       mlx5_roce_ext_bytes(pkt, r->first, r->last);

    return (Mlx5Traffic){ .packets = r->packets,
                          .octets = r->packets * headers + r->len +
                                    (-r->len & 3) };
}

/* All of @pkt, which is a run if it stands for one packet. */
static Mlx5RoceRun whole(const Mlx5Pkt *pkt)
{
    return (Mlx5RoceRun){ pkt->first, pkt->last, mlx5_roce_frames(pkt),
                          pkt->len };
}

/* Return: how many; the one that has the last packet may be the only one. */
static uint32_t split(const Mlx5Pkt *pkt, Mlx5RoceRun run[3])
{
    Mlx5RoceRun rest = whole(pkt);
    uint32_t n = 0;

    if (rest.first && rest.packets > 1) {
        run[n++] = (Mlx5RoceRun){ true, false, 1, pkt->mtu_bytes };
        rest = (Mlx5RoceRun){ false, rest.last, rest.packets - 1,
                              rest.len - pkt->mtu_bytes };
    }
    if (rest.last && rest.packets > 1) {
        uint64_t len = (uint64_t)pkt->mtu_bytes * (rest.packets - 1);

        run[n++] = (Mlx5RoceRun){ false, false, rest.packets - 1, len };
        rest = (Mlx5RoceRun){ false, true, 1, rest.len - len };
    }
    run[n++] = rest;
    return n;
}

static Mlx5Traffic runs_traffic(const Mlx5Pkt *pkt)
{
    Mlx5Traffic sum = { 0 };
    Mlx5RoceRun run[3];
    uint32_t n = split(pkt, run);

    for (uint32_t i = 0; i < n; i++) {
        Mlx5Traffic t = run_traffic(pkt, &run[i]);

        sum.packets += t.packets;
        sum.octets += t.octets;
    }
    return sum;
}

Mlx5Traffic mlx5_roce_traffic(const Mlx5Pkt *pkt)
{
    Mlx5RoceRun run = whole(pkt);

    return run.packets == 1 ? run_traffic(pkt, &run) : runs_traffic(pkt);
}

/* What is made here has no payload, and lengths are those of the headers. */
bool mlx5_roce_passes(Mlx5Func *func, uint32_t type, const Mlx5Pkt *pkt)
{
    uint8_t headers[MLX5_ROCE_MAX_HEADERS];
    Mlx5RoceRun run[3];
    uint32_t n = split(pkt, run);
    bool passes = true;

    for (uint32_t i = 0; i < n; i++) {
        size_t len = mlx5_roce_put_headers(headers, pkt, &run[i], 0);

        passes &= mlx5_eth_steer_roce(func, type, headers, len,
                                      run_traffic(pkt, &run[i]));
    }
    return passes;
}
