/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses: from a path in the context or an address vector in the WQE to
 * what a packet carries (IBA 8.3, RoCE annex A17; driver: lib/gid.c).
 */
#include "rdma/rdma_internal.h"

#include "fw/port.h"
#include "fw/roce.h"
#include "obj/cong.h"
#include "prm/prm.h"

/* Ephemeral ports begin here (driver: IB_ROCE_UDP_ENCAP_VALID_PORT_MIN). */
#define UDP_SPORT_MIN 0xc000u

static const uint8_t *path_of(const Mlx5Qp *qp)
{
    return MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
}

static bool source(const Mlx5Qp *qp, uint32_t index, Mlx5PktAddr *addr)
{
    const Mlx5RoceAddr *a = mlx5_roce_addr(qp->o.func, index);

    if (!a) {
        return false;
    }
    memcpy(addr->sgid, a->gid, sizeof(addr->sgid));
    memcpy(addr->smac, a->mac, sizeof(addr->smac));
    addr->roce_version = a->version;
    addr->ipv4 = a->version == MLX5_ROCE_VERSION_2 &&
                 a->l3_type == MLX5_ROCE_L3_TYPE_IPV4;
    addr->vlan = a->vlan_valid;
    addr->tci = a->vlan_id;
    return true;
}

/* IEEE 802.1Q: a tag's priority is above its number. */
static void set_priority(Mlx5PktAddr *addr, uint32_t prio)
{
    addr->tci |= (prio & 7) << 13;
}

/* Same flow, same port (annex A17.9.2). */
static uint16_t sport(const Mlx5Qp *qp, uint32_t wanted)
{
    return wanted ? wanted : UDP_SPORT_MIN | (qp->o.id & 0x3fff);
}

unsigned mlx5_path_prio(Mlx5Func *func, const Mlx5PktAddr *addr)
{
    return mlx5_port_prio(func, addr->vlan ? addr->tci >> 13 : -1,
                          addr->tclass >> 2);
}

/* A flow that is ready to be slowed says so (RoCE annex A17.9.3). */
static void set_ecn(Mlx5Func *func, Mlx5PktAddr *addr)
{
    if (addr->roce_version == MLX5_ROCE_VERSION_2 &&
        mlx5_cong_on(func, MLX5_CONG_RP, mlx5_path_prio(func, addr))) {
        addr->tclass = (addr->tclass & ~MLX5_ECN_MASK) | MLX5_ECN_ECT0;
    }
}

/* Addresses of a connected QP. Return: false if it has no source GID. */
static bool connected(const Mlx5Qp *qp, Mlx5PktAddr *addr)
{
    const uint8_t *ads = path_of(qp);
    uint16_t mac_hi = MLX5_GET(ads, ads, rmac_47_32);
    uint32_t mac_lo = MLX5_GET(ads, ads, rmac_31_0);

    if (!source(qp, MLX5_GET(ads, ads, src_addr_index), addr)) {
        return false;
    }
    memcpy(addr->dgid, ads + MLX5_BYTE_OFF(ads, rgid_rip), 16);
    mac_hi = GUINT16_TO_BE(mac_hi);
    mac_lo = GUINT32_TO_BE(mac_lo);
    memcpy(addr->dmac, &mac_hi, 2);
    memcpy(addr->dmac + 2, &mac_lo, 4);
    addr->tclass = MLX5_GET(ads, ads, tclass);
    addr->hop_limit = MLX5_GET(ads, ads, hop_limit);
    addr->flow_label = MLX5_GET(ads, ads, flow_label);
    addr->udp_sport = sport(qp, MLX5_GET(ads, ads, udp_sport));
    set_priority(addr, MLX5_GET(ads, ads, eth_prio));
    set_ecn(qp->o.func, addr);
    return true;
}

void mlx5_path_make_header(Mlx5QpEngine *e)
{
    Mlx5Qp *qp = e->qp;
    Mlx5PktAddr *addr;

    if (!e->header) {
        e->header = g_new(Mlx5PathHeader, 1);
    }
    addr = &e->header->pkt.addr;
    *e->header = (Mlx5PathHeader){
        .changes = qp->o.func->card->path_changes,
        .pkt = {
            .svc = mlx5_engine_svc(qp),
            .dqpn = MLX5_GET(qpc, qp->qpc, remote_qpn),
            .src_qpn = qp->o.id,
            .mtu_bytes = mlx5_engine_mtu(qp),
        },
    };
    e->header->connected = connected(qp, addr);
    if (e->header->connected) {
        e->header->pkt.to = mlx5_roce_owner(qp->o.func->card, addr->dgid,
                                            addr->roce_version);
    }
}

bool mlx5_path_datagram(const Mlx5Qp *qp, const Mlx5WqeAv *av, Mlx5Pkt *pkt)
{
    Mlx5PktAddr *addr = &pkt->addr;

    pkt->to = NULL;
    if (!source(qp, av->src_addr_index, addr)) {
        return false;
    }
    memcpy(addr->dgid, av->dgid, 16);
    memcpy(addr->dmac, av->rmac, 6);
    addr->tclass = av->tclass;
    addr->hop_limit = av->hop_limit;
    addr->flow_label = av->flow_label;
    addr->udp_sport = sport(qp, av->udp_sport);
    /* driver: mlx5_ib ah.c create_ib_ah puts it one bit up. */
    set_priority(addr, av->sl >> 1);
    return true;
}

bool mlx5_path_from_peer(const Mlx5Qp *qp, const Mlx5PktAddr *addr)
{
    const uint8_t *ads = path_of(qp);

    return memcmp(addr->sgid, ads + MLX5_BYTE_OFF(ads, rgid_rip), 16) == 0;
}
