/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receiving datagrams (IBA 9.8.3, annexes A16.4.3 and A17.4.5; driver:
 * mlx5_ib cq.c handle_responder, rdma/ib_verbs.h ib_get_rdma_header_version).
 *
 * The first 40 bytes of a receive take the network header: a GRH, an IPv6
 * header, or in the last 20 bytes an IPv4 header.
 */
#include "rdma/rdma_internal.h"

#include "fw/roce.h"
#include "fw/vport.h"
#include "prm/prm.h"

#define GRH_BYTES 40
#define IPV4_BYTES 20
/* For the lengths in network headers: BTH, DETH and ICRC; immediate data;
 * UDP's header. */
#define TRANSPORT_BYTES (12 + 8 + 4)
#define IMM_BYTES 4
#define UDP_BYTES 8
/* IBA 8.2: GRH next header; IANA: UDP. */
#define NEXT_IBA 0x1b
#define NEXT_UDP 17
/* What a P_Key table entry of QP1 reads as (driver: mlx5_ib gsi.c). */
#define DEFAULT_PKEY 0xffff

static void put_be16(uint8_t *p, uint16_t v)
{
    p[0] = v >> 8;
    p[1] = v;
}

/* From the BTH to the ICRC. */
static uint16_t transport_bytes(const Mlx5Pkt *pkt)
{
    return TRANSPORT_BYTES + (pkt->has_imm ? IMM_BYTES : 0) + pkt->len;
}

static void ipv4_header(const Mlx5Pkt *pkt, uint8_t *h)
{
    uint32_t sum = 0;

    h[0] = 0x45;
    h[1] = pkt->addr.tclass;
    put_be16(h + 2, IPV4_BYTES + UDP_BYTES + transport_bytes(pkt));
    h[6] = 0x40;                 /* don't fragment */
    h[8] = pkt->addr.hop_limit;
    h[9] = NEXT_UDP;
    memcpy(h + 12, pkt->addr.sgid + 12, 4);
    memcpy(h + 16, pkt->addr.dgid + 12, 4);
    for (int i = 0; i < IPV4_BYTES; i += 2) {
        sum += h[i] << 8 | h[i + 1];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum += sum >> 16;
    put_be16(h + 10, ~sum);
}

static void ipv6_header(const Mlx5Pkt *pkt, uint8_t *h)
{
    bool v2 = pkt->addr.roce_version == MLX5_ROCE_VERSION_2;
    uint32_t w = GUINT32_TO_BE(6u << 28 | pkt->addr.tclass << 20 |
                               (pkt->addr.flow_label & 0xfffff));

    memcpy(h, &w, 4);
    put_be16(h + 4, (v2 ? UDP_BYTES : 0) + transport_bytes(pkt));
    h[6] = v2 ? NEXT_UDP : NEXT_IBA;
    h[7] = pkt->addr.hop_limit;
    memcpy(h + 8, pkt->addr.sgid, 16);
    memcpy(h + 24, pkt->addr.dgid, 16);
}

/* cqe64.roce_l3_type */
static uint8_t l3_type(const Mlx5PktAddr *addr)
{
    if (addr->roce_version == MLX5_ROCE_VERSION_1) {
        return 0;
    }
    return addr->ipv4 ? 2 : 1;
}

static Mlx5Payload scatter(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    uint8_t header[GRH_BYTES] = { 0 };
    Mlx5Pkt grh = { .bytes = header, .len = sizeof(header) };
    Mlx5Payload result;

    if (pkt->addr.ipv4) {
        ipv4_header(pkt, header + GRH_BYTES - IPV4_BYTES);
    } else {
        ipv6_header(pkt, header);
    }
    result = mlx5_resp_scatter(e, 0, &grh);
    if (result != MLX5_PAYLOAD_OK || !pkt->len) {
        return result;
    }
    return mlx5_resp_scatter(e, GRH_BYTES, pkt);
}

/* A receive that cannot take the datagram ends the queue pair (10.8.3.2). */
static void fail(Mlx5QpEngine *e, Mlx5Vendor vendor)
{
    Mlx5CqeRecv c = { .vendor = vendor };

    mlx5_resp_complete(e, &c);
    mlx5_qp_set_state(e->qp, MLX5_QP_STATE_ERR);
}

void mlx5_ud_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt)
{
    Mlx5CqeRecv c = {
        .opcode = pkt->has_imm ? MLX5_CQE_RESP_SEND_IMM : MLX5_CQE_RESP_SEND,
        .byte_cnt = GRH_BYTES + pkt->len,
        .imm = pkt->has_imm ? pkt->imm : 0,
        .se = pkt->se,
        .src_qpn = pkt->src_qpn,
        .grh = true,
        .l3_type = l3_type(&pkt->addr),
        .vlan = pkt->addr.vlan,
        .tci = pkt->addr.tci,
    };
    Mlx5Payload result;

    if (pkt->op != MLX5_PKT_SEND || pkt->has_inv) {
        return;
    }
    if (pkt->qkey != MLX5_GET(qpc, e->qp->qpc, q_key)) {
        mlx5_vport_qkey_violation(e->qp->o.func);
        return;
    }
    if (mlx5_resp_take_recv(e, pkt) != MLX5_RESP_RECV_OK) {
        mlx5_engine_count(e->qp, out_of_buffer);
        return;
    }
    if (e->qp->st == MLX5_QP_ST_QP1) {
        c.imm = DEFAULT_PKEY;
    }
    if (c.byte_cnt > e->resp.recv->length) {
        fail(e, MLX5_VENDOR_RECV_TOO_SHORT);
        return;
    }
    result = scatter(e, pkt);
    if (result != MLX5_PAYLOAD_OK) {
        fail(e, mlx5_resp_scatter_vendor(result));
        return;
    }
    mlx5_resp_complete(e, &c);
}
