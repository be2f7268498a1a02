/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of RQs: a frame into a receive WQE, and its completion (PRM:
 * Receive WQE, CQE; driver: en_rx.c).
 *
 * A WQE is a stride of data segments; a shorter list ends with a segment of
 * length 0. No doorbell rings for a receive queue: the record is read when a
 * frame arrives. A frame without a WQE, or longer than one, is dropped and
 * counted; the queue goes on.
 */
#include "eth/eth_internal.h"

#include "bus/trace.h"
#include "obj/eth_limits.h"
#include "obj/q_counter.h"

#define VENDOR_SYND 0x57
#define SEG_BYTES 16
#define MAX_STRIDE (1u << MLX5_LOG_MAX_STRIDE_SZ_RQ)

/* cqe64.hds_ip_ext (driver: device.h CQE_L*_OK). */
enum { L2_OK = 1 << 0, L3_OK = 1 << 1, L4_OK = 1 << 2 };
/* cqe64.l4_l3_hdr_type: VLAN stripped, L3 in [3:2], L4 in [6:4]. */
enum {
    HDR_VLAN = 1 << 0, HDR_IPV6 = 1 << 2, HDR_IPV4 = 2 << 2,
    HDR_TCP_NO_ACK = 1 << 4, HDR_UDP = 2 << 4, HDR_TCP_ACK = 3 << 4,
    HDR_TCP_ACK_DATA = 4 << 4,
};
#define TCP_ACK 0x10

/* Bytes of a frame that go to memory: all or without the VLAN tag; the FCS. */
typedef struct Pieces {
    struct iovec iov[3];
    uint8_t fcs[MLX5_FCS_BYTES];
    size_t len;
} Pieces;

static Pieces cut(const Mlx5Packet *f, bool strip)
{
    uint8_t *p = (uint8_t *)f->data;
    Pieces out = { .iov = { { p, f->len } }, .len = f->len };

    if (strip) {
        out.iov[0].iov_len = 12;
        out.iov[1].iov_base = p + 12 + MLX5_VLAN_HLEN;
        out.iov[1].iov_len = f->len - 12 - MLX5_VLAN_HLEN;
        out.len = f->len - MLX5_VLAN_HLEN;
    }
    return out;
}

/* Write @len bytes of @pieces from @at on. */
static bool write_part(Mlx5Func *func, uint64_t addr, const Pieces *pieces,
                       size_t at, size_t len)
{
    for (size_t i = 0; i < G_N_ELEMENTS(pieces->iov) && len; i++) {
        const struct iovec *v = &pieces->iov[i];
        size_t n;

        if (at >= v->iov_len) {
            at -= v->iov_len;
            continue;
        }
        n = MIN(len, v->iov_len - at);
        if (!mlx5_dma_write(func, addr, (uint8_t *)v->iov_base + at, n)) {
            return false;
        }
        addr += n;
        len -= n;
        at = 0;
    }
    return true;
}

/*
 * Translate the WQE's segments for @len bytes. Return: 0 or a CQE syndrome;
 * LOCAL_LENGTH_ERR if the WQE is too short.
 */
static uint8_t resolve(Mlx5Rq *rq, const uint8_t *wqe, size_t len,
                       GArray *ranges)
{
    Mlx5MkeyUser user = { mlx5_wq_pdn(&rq->wq), rq->o.id, rq->rlkey };
    uint32_t stride = 1u << rq->wq.log_stride;

    for (uint32_t at = 0; at < stride && len; at += SEG_BYTES) {
        const uint8_t *seg = wqe + at;
        uint32_t room = MLX5_GET(wqe_data, seg, byte_count);
        uint32_t n = MIN(room, len);

        if (n == 0) {
            break;
        }
        if (mlx5_mkey_resolve(rq->o.func, &user,
                              MLX5_GET(wqe_data, seg, lkey),
                              MLX5_GET(wqe_data, seg, local_virtual_address),
                              n, MLX5_ACCESS_LOCAL_WRITE, ranges) !=
            MLX5_MKEY_OK) {
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        }
        len -= n;
    }
    return len ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : 0;
}

static uint8_t scatter(Mlx5Rq *rq, const Pieces *pieces, const GArray *ranges)
{
    size_t at = 0;

    for (guint i = 0; i < ranges->len; i++) {
        const Mlx5Range *r = &g_array_index(ranges, Mlx5Range, i);

        if (!write_part(rq->o.func, r->addr, pieces, at, r->len)) {
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        }
        at += r->len;
    }
    return 0;
}

static uint8_t header_type(const Mlx5Packet *f)
{
    const Mlx5FrameInfo *i = &f->info;
    uint8_t type = 0;

    if (i->ip_version) {
        type |= i->ip_version == 4 ? HDR_IPV4 : HDR_IPV6;
    }
    if (i->udp) {
        type |= HDR_UDP;
    } else if (i->tcp && !(i->tcp_flags & TCP_ACK)) {
        type |= HDR_TCP_NO_ACK;
    } else if (i->tcp) {
        type |= i->l3_len > i->l3_hlen + i->l4_hlen ? HDR_TCP_ACK_DATA
                                                    : HDR_TCP_ACK;
    }
    return type;
}

static void complete(Mlx5Rq *rq, const Mlx5Packet *f, size_t len, bool strip)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe64, cqe, rx_hash_result, f->hash);
    MLX5_SET(cqe64, cqe, rx_hash_type, f->hash_type);
    MLX5_SET(cqe64, cqe, check_sum, f->csum);
    MLX5_SET(cqe64, cqe, hds_ip_ext, L2_OK | (f->info.l3_ok ? L3_OK : 0) |
             (f->l4_ok ? L4_OK : 0));
    MLX5_SET(cqe64, cqe, l4_l3_hdr_type, header_type(f) |
             (strip ? HDR_VLAN : 0));
    MLX5_SET(cqe64, cqe, vlan_info, strip ? f->info.tci : 0);
    MLX5_SET(cqe64, cqe, srqn_user_index, rq->user_index);
    MLX5_SET(cqe64, cqe, byte_cnt, len);
    /* Register B (driver: device.h ft_metadata). */
    MLX5_SET(cqe64, cqe, immediate, f->reg[MLX5_REG_B]);
    /* On an Ethernet receive this field is the flow tag (driver: en_rx.c). */
    MLX5_SET(cqe64, cqe, qpn, f->flow_tag);
    MLX5_SET(cqe64, cqe, wqe_counter, rq->ci);
    MLX5_SET(cqe64, cqe, opcode, MLX5_CQE_RESP_SEND);
    mlx5_cq_stamp(rq->cq, cqe, rq->real_time);
    mlx5_cq_post(rq->cq, cqe, false);
}

static void complete_error(Mlx5Rq *rq, uint8_t syndrome)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe_err, cqe, srqn_user_index, rq->user_index);
    MLX5_SET(cqe_err, cqe, vendor_err_synd, VENDOR_SYND);
    MLX5_SET(cqe_err, cqe, syndrome, syndrome);
    MLX5_SET(cqe_err, cqe, qpn, rq->o.id);
    MLX5_SET(cqe_err, cqe, wqe_counter, rq->ci);
    MLX5_SET(cqe_err, cqe, opcode, MLX5_CQE_RESP_ERR);
    mlx5_cq_post(rq->cq, cqe, false);
}

/* WQEs posted and not consumed; more than the ring holds is a lie. */
static bool posted(Mlx5Rq *rq, uint32_t *n)
{
    uint32_t dbr;

    if (!mlx5_dma_read_be32(rq->o.func, rq->wq.dbr_gpa, &dbr)) {
        return false;
    }
    *n = (uint16_t)(dbr - rq->ci);
    return *n <= mlx5_wq_strides(&rq->wq);
}

/* The queue cannot go on and no WQE is to blame: an event says so. */
static void catastrophe(Mlx5Rq *rq)
{
    mlx5_guest_error(rq->o.func, "RQ 0x%x: bad doorbell record or ring",
                     rq->o.id);
    rq->o.func->stats.rx_errors++;
    mlx5_rq_set_state(rq, MLX5_WQ_STATE_ERR);
    mlx5_event_raise_wq(rq->o.func, MLX5_EVENT_TYPE_WQ_CATAS_ERROR, rq->o.id,
                        1);
}

static void no_buffer(Mlx5Rq *rq)
{
    rq->o.func->stats.rx_no_buffer++;
    if (rq->counter) {
        ((Mlx5QCounter *)rq->counter)->out_of_buffer++;
    }
}

/* The WQE at ci was at fault: it ends in error, and the queue stops. */
static void fail(Mlx5Rq *rq, uint8_t syndrome)
{
    rq->o.func->stats.rx_errors++;
    complete_error(rq, syndrome);
    rq->ci++;
    mlx5_rq_set_state(rq, MLX5_WQ_STATE_ERR);
}

static bool fetch(Mlx5Rq *rq, uint8_t wqe[MAX_STRIDE])
{
    uint32_t slot = rq->ci & (mlx5_wq_strides(&rq->wq) - 1);

    return mlx5_ring_read(&rq->wq.ring, (uint64_t)slot << rq->wq.log_stride,
                          wqe, 1u << rq->wq.log_stride);
}

/* Put the frame into the WQE at ci. */
static void fill(Mlx5Rq *rq, const Mlx5Packet *f, const uint8_t *wqe)
{
    bool strip = !rq->vsd && f->info.cvlan;
    Pieces pieces = cut(f, strip);
    g_autoptr(GArray) ranges = g_array_new(false, false, sizeof(Mlx5Range));
    uint8_t syndrome;

    if (rq->scatter_fcs) {
        mlx5_frame_fcs(f->data, f->len, pieces.fcs);
        pieces.iov[2].iov_base = pieces.fcs;
        pieces.iov[2].iov_len = sizeof(pieces.fcs);
        pieces.len += sizeof(pieces.fcs);
    }
    syndrome = resolve(rq, wqe, pieces.len, ranges);
    if (syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR) {
        rq->o.func->stats.rx_oversize++;
        return;
    }
    if (!syndrome) {
        syndrome = scatter(rq, &pieces, ranges);
    }
    if (syndrome) {
        fail(rq, syndrome);
        return;
    }
    complete(rq, f, pieces.len, strip);
    rq->ci++;
}

void mlx5_eth_rq_deliver(Mlx5Rq *rq, const Mlx5Packet *f)
{
    uint8_t wqe[MAX_STRIDE];
    uint32_t n;

    if (rq->state != MLX5_WQ_STATE_RDY) {
        rq->o.func->stats.rx_no_buffer++;
    } else if (!posted(rq, &n)) {
        catastrophe(rq);
    } else if (n == 0) {
        no_buffer(rq);
    } else if (!fetch(rq, wqe)) {
        catastrophe(rq);
    } else {
        fill(rq, f, wqe);
    }
}

/* In error, what is posted comes back, if the queue asked for that. */
void mlx5_eth_rq_state(Mlx5Rq *rq)
{
    uint32_t n;

    if (rq->state != MLX5_WQ_STATE_ERR || !rq->flush_in_error ||
        !posted(rq, &n)) {
        return;
    }
    for (; n; n--) {
        complete_error(rq, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        rq->ci++;
    }
}
