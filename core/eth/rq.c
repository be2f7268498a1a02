/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of RQs: a frame into a receive WQE, and its completion (PRM:
 * Receive WQE, CQE; driver: en_rx.c).
 *
 * A WQE is a stride of data segments; a shorter list ends with a segment of
 * length 0. No doorbell rings for a receive queue: the record is read when a
 * frame arrives. A frame without a WQE waits for one a while (backlog.c); one that
 * is longer is dropped and counted, and the queue goes on.
 *
 * A striding queue's WQE begins with the number of the next one (if they are
 * linked) and describes memory of many strides. A frame takes as many as it
 * needs, in one WQE; if too few are left, a completion without a frame, the
 * filler, gives these back and the next WQE is begun.
 */
#include "eth/eth_internal.h"

#include "bus/trace.h"
#include "obj/eth_limits.h"
#include "obj/q_counter.h"

#define VENDOR_SYND 0x57
#define SEG_BYTES 16
/* cqe64.byte_cnt of a striding queue (driver: mpwrq_get_cqe_*). */
#define STRIDES_SHIFT 16
#define FILLER (1u << 31)
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
 * Translate the WQE's segments for @len bytes, @skip bytes into what they
 * describe. Return: 0 or a CQE syndrome; LOCAL_LENGTH_ERR if the WQE is too
 * short.
 */
static uint8_t resolve(Mlx5Rq *rq, const uint8_t *wqe, uint64_t skip,
                       size_t len, Mlx5Ranges *ranges)
{
    Mlx5MkeyUser user = { mlx5_wq_pdn(&rq->wq), rq->o.id, rq->rlkey };
    uint32_t stride = 1u << rq->wq.log_stride;

    for (uint32_t at = rq->wq.striding ? SEG_BYTES : 0; at < stride && len;
         at += SEG_BYTES) {
        const uint8_t *seg = wqe + at;
        uint32_t room = MLX5_GET(wqe_data, seg, byte_count);
        uint64_t va = MLX5_GET(wqe_data, seg, local_virtual_address);
        uint32_t n;

        if (room == 0) {
            break;
        }
        if (skip >= room) {
            skip -= room;
            continue;
        }
        n = MIN(room - skip, len);
        if (mlx5_mkey_resolve(rq->o.func, &user,
                              MLX5_GET(wqe_data, seg, lkey), va + skip, n,
                              MLX5_ACCESS_LOCAL_WRITE, ranges) !=
            MLX5_MKEY_OK) {
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        }
        len -= n;
        skip = 0;
    }
    return len ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR : 0;
}

static uint8_t scatter(Mlx5Rq *rq, const Pieces *pieces,
                       const Mlx5Ranges *ranges)
{
    size_t at = 0;

    for (guint i = 0; i < ranges->len; i++) {
        const Mlx5Range *r = &ranges->data[i];

        if (!write_part(rq->o.func, r->addr, pieces, at, r->len)) {
            return MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
        }
        at += r->len;
    }
    return 0;
}

/* unknown: whether hardware says of a tunnel what is inside, as here. */
static uint8_t header_type(const Mlx5Packet *f)
{
    const Mlx5FrameInfo *i = f->tunnel ? &f->tunnel->inner : &f->info;
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

/* Which headers are right: with a tunnel, all of them. A tunnel over UDP may
 * leave the outer checksum out, over GRE and IP there is none. */
static uint8_t headers_ok(const Mlx5Packet *f)
{
    bool l3 = f->info.l3_ok, l4 = f->l4_ok;

    if (f->tunnel) {
        l3 = l3 && f->tunnel->inner.l3_ok;
        l4 = f->inner_l4_ok && (l4 || !f->info.udp);
    }
    return L2_OK | (l3 ? L3_OK : 0) | (l4 ? L4_OK : 0);
}

/* Which WQE, or which strides of it: all of a completion that knows. */
static void put_place(const Mlx5Rq *rq, uint8_t *cqe, uint32_t len,
                      uint32_t strides)
{
    MLX5_SET(cqe64, cqe, byte_cnt, len | strides << STRIDES_SHIFT);
    if (rq->wq.striding) {
        MLX5_SET(cqe64, cqe, wqe_id, rq->slot);
        MLX5_SET(cqe64, cqe, wqe_counter, rq->stride_at);
    } else {
        MLX5_SET(cqe64, cqe, wqe_counter, rq->ci);
    }
}

/* cqe64.lro.tcppsh_abort_dupack (driver: device.h get_cqe_lro_tcppsh). */
#define LRO_PSH (1 << 6)

static void put_lro(uint8_t *cqe, const Mlx5LroEnd *end)
{
    MLX5_SET(cqe64, cqe, lro_num_seg, end->segments);
    MLX5_SET(cqe64, cqe, lro_abort_dupack_psh, end->psh ? LRO_PSH : 0);
    MLX5_SET(cqe64, cqe, lro_min_ttl, end->min_ttl);
    MLX5_SET(cqe64, cqe, lro_tcp_win, end->win);
    MLX5_SET(cqe64, cqe, lro_ack_seq_num, end->ack_seq);
}

static void complete(Mlx5Rq *rq, const Mlx5Packet *f, size_t len, bool strip,
                     uint32_t strides)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe64, cqe, rx_hash_result, f->hash);
    MLX5_SET(cqe64, cqe, rx_hash_type, f->hash_type);
    MLX5_SET(cqe64, cqe, check_sum, f->csum);
    MLX5_SET(cqe64, cqe, outer_l3_tunneled, f->tunnel != NULL);
    MLX5_SET(cqe64, cqe, hds_ip_ext, headers_ok(f));
    MLX5_SET(cqe64, cqe, l4_l3_hdr_type, header_type(f) |
             (strip ? HDR_VLAN : 0));
    MLX5_SET(cqe64, cqe, vlan_info, strip ? f->info.tci : 0);
    MLX5_SET(cqe64, cqe, srqn_user_index, rq->user_index);
    /* Register B (driver: device.h ft_metadata). */
    MLX5_SET(cqe64, cqe, immediate, f->reg[MLX5_REG_B]);
    /* On an Ethernet receive this field is the flow tag (driver: en_rx.c). */
    MLX5_SET(cqe64, cqe, qpn, f->flow_tag);
    put_place(rq, cqe, len, strides);
    if (f->lro) {
        put_lro(cqe, f->lro);
    }
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

/* Was ever anything posted? */
static bool used(const Mlx5Rq *rq)
{
    return rq->ci || rq->stride_at;
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

void mlx5_eth_rq_no_buffer(Mlx5Rq *rq)
{
    rq->o.func->stats.rx_no_buffer++;
    if (rq->counter) {
        ((Mlx5QCounter *)rq->counter)->out_of_buffer++;
    }
}

static void complete_filler(Mlx5Rq *rq, uint32_t strides)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe64, cqe, srqn_user_index, rq->user_index);
    put_place(rq, cqe, 0, strides);
    MLX5_SET(cqe64, cqe, byte_cnt, FILLER | strides << STRIDES_SHIFT);
    MLX5_SET(cqe64, cqe, opcode, MLX5_CQE_RESP_SEND);
    mlx5_cq_stamp(rq->cq, cqe, rq->real_time);
    mlx5_cq_post(rq->cq, cqe, false);
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
    uint32_t slot = rq->wq.striding ? rq->slot
                                    : rq->ci & (mlx5_wq_strides(&rq->wq) - 1);

    return mlx5_ring_read(&rq->wq.ring, (uint64_t)slot << rq->wq.log_stride,
                          wqe, 1u << rq->wq.log_stride);
}

/* The bytes of a frame that this queue wants. */
static Pieces pieces_of(const Mlx5Rq *rq, const Mlx5Packet *f, bool *strip)
{
    Pieces pieces;

    *strip = !rq->vsd && f->info.cvlan;
    pieces = cut(f, *strip);
    if (rq->scatter_fcs) {
        mlx5_frame_fcs(f->data, f->len, pieces.fcs);
        pieces.len += sizeof(pieces.fcs);
    }
    return pieces;
}

/*
 * Put a frame into memory that the WQE describes, @skip bytes into it.
 * Return: whether it is there; if not, it is counted and, if the WQE was at
 * fault, the queue has stopped.
 */
static bool put(Mlx5Rq *rq, Pieces *pieces, const uint8_t *wqe, uint64_t skip)
{
    g_autoptr(Mlx5Ranges) ranges = mlx5_ranges_new();
    uint8_t syndrome = resolve(rq, wqe, skip, pieces->len, ranges);

    if (rq->scatter_fcs) {
        /* Here, not in pieces_of(): it points into what was copied since. */
        pieces->iov[2].iov_base = pieces->fcs;
        pieces->iov[2].iov_len = sizeof(pieces->fcs);
    }
    if (syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR) {
        rq->o.func->stats.rx_oversize++;
        return false;
    }
    if (!syndrome) {
        syndrome = scatter(rq, pieces, ranges);
    }
    if (syndrome) {
        fail(rq, syndrome);
        return false;
    }
    return true;
}

/* Put the frame into the WQE at ci. */
static void fill(Mlx5Rq *rq, const Mlx5Packet *f, const uint8_t *wqe)
{
    bool strip;
    Pieces pieces = pieces_of(rq, f, &strip);

    if (put(rq, &pieces, wqe, 0)) {
        complete(rq, f, pieces.len, strip, 0);
        rq->ci++;
    }
}

/* --- striding queues ---------------------------------------------------- */

static uint32_t strides_left(const Mlx5Rq *rq)
{
    return (1u << rq->wq.log_strides) - rq->stride_at;
}

/* @strides of the WQE in use are used; the last ones end it. */
static void use_strides(Mlx5Rq *rq, const uint8_t *wqe, uint32_t strides)
{
    uint32_t next = rq->wq.linked ? MLX5_GET(wqe_srq_next, wqe, next_wqe_index)
                                  : rq->slot + 1;

    rq->stride_at += strides;
    if (!strides_left(rq)) {
        rq->stride_at = 0;
        rq->slot = next & (mlx5_wq_strides(&rq->wq) - 1);
        rq->ci++;
    }
}

/* Is there a WQE to put a frame into? */
typedef enum Begin {
    WQE,
    NO_WQE,
    BROKEN,                  /* counted, and the queue has stopped */
} Begin;

static Begin begin(Mlx5Rq *rq, uint8_t wqe[MAX_STRIDE])
{
    uint32_t n;

    if (!posted(rq, &n)) {
        catastrophe(rq);
    } else if (n == 0) {
        return NO_WQE;
    } else if (!fetch(rq, wqe)) {
        catastrophe(rq);
    } else {
        return WQE;
    }
    return BROKEN;
}

/* Return: false if there is no WQE. */
static bool fill_strides(Mlx5Rq *rq, const Mlx5Packet *f, uint8_t *wqe)
{
    bool strip;
    Pieces pieces = pieces_of(rq, f, &strip);
    uint32_t stride = 1u << rq->wq.log_stride_bytes;
    uint32_t need = (pieces.len + stride - 1) / stride;

    if (need > 1u << rq->wq.log_strides) {
        rq->o.func->stats.rx_oversize++;
        return true;
    }
    if (need > strides_left(rq)) {
        uint32_t left = strides_left(rq);
        Begin next;

        complete_filler(rq, left);
        use_strides(rq, wqe, left);
        next = begin(rq, wqe);
        if (next != WQE) {
            return next == BROKEN;
        }
    }
    if (put(rq, &pieces, wqe, (uint64_t)rq->stride_at * stride)) {
        complete(rq, f, pieces.len, strip, need);
        use_strides(rq, wqe, need);
    }
    return true;
}

bool mlx5_eth_rq_take(Mlx5Rq *rq, const Mlx5Packet *f)
{
    uint8_t wqe[MAX_STRIDE];
    Begin first = begin(rq, wqe);

    if (first != WQE) {
        return first == BROKEN;
    }
    if (rq->wq.striding) {
        return fill_strides(rq, f, wqe);
    }
    fill(rq, f, wqe);
    return true;
}

/* What waits goes first. */
void mlx5_eth_rq_deliver(Mlx5Rq *rq, const Mlx5Packet *f)
{
    if (rq->backlog) {
        mlx5_eth_backlog_retry(rq);
    }
    if (rq->state != MLX5_WQ_STATE_RDY) {
        rq->o.func->stats.rx_no_buffer++;
    } else if ((rq->backlog || !mlx5_eth_rq_take(rq, f)) &&
               !(used(rq) && mlx5_eth_backlog_put(rq, f))) {
        mlx5_eth_rq_no_buffer(rq);
    }
}

/* In error, what is posted comes back, if the queue asked for that. */
void mlx5_eth_rq_state(Mlx5Rq *rq)
{
    uint32_t n;

    mlx5_eth_lro_forget(rq);
    mlx5_eth_backlog_forget(rq);
    if (rq->state != MLX5_WQ_STATE_ERR || !rq->flush_in_error ||
        !posted(rq, &n)) {
        return;
    }
    for (; n; n--) {
        complete_error(rq, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        rq->ci++;
    }
}
