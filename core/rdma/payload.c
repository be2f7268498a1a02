/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Payload: from what work requests name to runs of memory, and across in one
 * copy. The runs live in the function's scratch lists for as long as one
 * packet does.
 */
#include "rdma/rdma_internal.h"

#include "obj/sig.h"

/* Where piece @d overlaps [@off, @off + @len) of the message it is at @at. */
static bool overlap(const Mlx5WqeData *d, uint64_t at, uint64_t off,
                    uint64_t len, uint64_t *skip, uint64_t *n)
{
    uint64_t start = MAX(at, off), end = MIN(at + d->len, off + len);

    if (start >= end) {
        return false;
    }
    *skip = start - at;
    *n = end - start;
    return true;
}

/*
 * Append to @ranges where bytes [@off, @off + @len) of the pieces are; a key
 * refuses if they are shorter. After a fault @ranges holds what comes before.
 */
static inline Mlx5Payload resolve(Mlx5Func *func, const Mlx5MkeyUser *user,
                                  const Mlx5WqeData *data, uint32_t num,
                                  uint64_t off, uint64_t len, uint32_t access,
                                  Mlx5Ranges *ranges)
{
    /* @off becomes what is still to be passed over, @len to be found. */
    for (const Mlx5WqeData *d = data; len && d < data + num; d++) {
        uint64_t n;
        Mlx5MkeyResult result;

        if (off >= d->len) {
            off -= d->len;
            continue;
        }
        n = MIN(d->len - off, len);
        result = mlx5_mkey_resolve(func, user, d->lkey, d->addr + off, n,
                                   access, ranges);
        if (result != MLX5_MKEY_OK) {
            return mlx5_payload_from_key(result);
        }
        off = 0;
        len -= n;
    }
    return len ? MLX5_PAYLOAD_KEY : MLX5_PAYLOAD_OK;
}

uint64_t mlx5_payload_part(const Mlx5Ranges *ranges, uint32_t mtu)
{
    uint64_t bytes = 0;

    for (guint i = 0; i < ranges->len; i++) {
        bytes += ranges->data[i].len;
    }
    return mtu ? bytes - bytes % mtu : 0;
}

bool mlx5_payload_check(Mlx5Qp *qp, const Mlx5SendWqe *wqe, uint32_t access)
{
    Mlx5MkeyUser user = mlx5_engine_user(qp);

    for (uint32_t i = 0; i < wqe->num_data; i++) {
        const Mlx5WqeData *d = &wqe->data[i];

        if (!d->inline_at &&
            mlx5_mkey_check(qp->o.func, &user, d->lkey, d->addr, d->len,
                            access) != MLX5_MKEY_OK) {
            return false;
        }
    }
    return true;
}

/* Read what one piece of memory gathers into @to. */
static Mlx5Payload read_piece(Mlx5Qp *qp, const Mlx5WqeData *d, uint64_t skip,
                              uint64_t n, uint8_t *to)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(qp);
    Mlx5MkeyUser user = mlx5_engine_user(qp);
    Mlx5MkeyResult result;
    Mlx5Mkey *sig = mlx5_sig_key(qp->o.func, d->lkey);

    if (sig) {
        return mlx5_sig_read(sig, &user, d->addr + skip, n,
                             MLX5_ACCESS_LOCAL_READ, to);
    }
    mlx5_ranges_clear(rdma->remote);
    result = mlx5_mkey_resolve(qp->o.func, &user, d->lkey, d->addr + skip, n,
                               MLX5_ACCESS_LOCAL_READ, rdma->remote);
    if (result != MLX5_MKEY_OK) {
        return mlx5_payload_from_key(result);
    }
    for (guint i = 0; i < rdma->remote->len; i++) {
        Mlx5Range *r = &rdma->remote->data[i];

        if (r->addr == MLX5_NOWHERE) {
            memset(to, 0, r->len);
        } else if (!mlx5_dma_read(qp->o.func, r->addr, to, r->len)) {
            return MLX5_PAYLOAD_KEY;
        }
        to += r->len;
    }
    return MLX5_PAYLOAD_OK;
}

/*
 * Inline bytes among others, or keys with a signature: gathered into one run
 * of bytes first.
 */
static Mlx5Payload gather_flat(Mlx5Qp *qp, const Mlx5SendWqe *wqe, uint64_t off,
                               uint64_t len, Mlx5Pkt *pkt)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(qp);
    uint64_t at = 0, skip, n, done = 0;
    Mlx5Payload result = MLX5_PAYLOAD_OK;

    if (!rdma->flat) {
        rdma->flat = g_malloc(MLX5_PKT_MAX_BYTES);
    }
    for (uint32_t i = 0; i < wqe->num_data && done < len;
         at += wqe->data[i++].len) {
        const Mlx5WqeData *d = &wqe->data[i];

        if (!overlap(d, at, off, len, &skip, &n)) {
            continue;
        }
        if (d->inline_at) {
            memcpy(rdma->flat + done, wqe->raw + d->inline_at + skip, n);
        } else {
            result = read_piece(qp, d, skip, n, rdma->flat + done);
        }
        if (result != MLX5_PAYLOAD_OK) {
            pkt->len = 0; /* nothing of it goes before a fault */
            return result;
        }
        done += n;
    }
    pkt->bytes = rdma->flat;
    return done == len ? MLX5_PAYLOAD_OK : MLX5_PAYLOAD_KEY;
}

Mlx5Payload mlx5_payload_gather(Mlx5Qp *qp, const Mlx5SendWqe *wqe,
                                uint64_t off, uint64_t len, Mlx5Pkt *pkt)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(qp);
    Mlx5MkeyUser user = mlx5_engine_user(qp);
    Mlx5Payload result;

    pkt->src = qp->o.func;
    pkt->len = len;
    /* Our own limit: the requester never asks for more (req_send.c). */
    g_assert(len <= MLX5_PKT_MAX_BYTES);
    if (wqe->has_inline ||
        mlx5_sig_any(qp->o.func, wqe->data, wqe->num_data)) {
        return gather_flat(qp, wqe, off, len, pkt);
    }
    mlx5_ranges_clear(rdma->remote);
    result = resolve(qp->o.func, &user, wqe->data, wqe->num_data, off, len,
                     MLX5_ACCESS_LOCAL_READ, rdma->remote);
    if (result == MLX5_PAYLOAD_FAULT) {
        pkt->len = mlx5_payload_part(rdma->remote, pkt->mtu_bytes);
    }
    pkt->ranges = rdma->remote->data;
    pkt->num_ranges = rdma->remote->len;
    return result;
}

/* Copy what @result, of translating our side, allows. */
static inline Mlx5Payload copy_to_local(Mlx5Func *func, const Mlx5Pkt *pkt,
                                 Mlx5Payload result)
{
    Mlx5Rdma *rdma = func->rdma;
    uint64_t len = pkt->len;

    if (result == MLX5_PAYLOAD_KEY) {
        return result;
    }
    if (result == MLX5_PAYLOAD_FAULT) {
        len = mlx5_payload_part(rdma->local, pkt->mtu_bytes);
        rdma->part = len;
    }
    rdma->moved += len;
    if (!mlx5_pkt_copy(pkt, 0, func, rdma->local->data, rdma->local->len,
                       len)) {
        return MLX5_PAYLOAD_MEMORY;
    }
    return result;
}

/* The piece @d takes bytes [@off, @off + @len) of @pkt, from byte @skip on. */
static Mlx5Payload scatter_piece(Mlx5Func *func, const Mlx5MkeyUser *user,
                                 const Mlx5WqeData *d, uint64_t skip,
                                 const Mlx5Pkt *pkt, uint64_t off,
                                 uint64_t len)
{
    Mlx5Ranges *local = func->rdma->local;
    Mlx5Mkey *sig = mlx5_sig_key(func, d->lkey);
    Mlx5MkeyResult result;

    if (sig) {
        return mlx5_sig_write(sig, user, d->addr + skip,
                              MLX5_ACCESS_LOCAL_WRITE, pkt, off, len);
    }
    mlx5_ranges_clear(local);
    result = mlx5_mkey_resolve(func, user, d->lkey, d->addr + skip, len,
                               MLX5_ACCESS_LOCAL_WRITE, local);
    if (result != MLX5_MKEY_OK) {
        return mlx5_payload_from_key(result);
    }
    return mlx5_pkt_copy(pkt, off, func, local->data, local->len, len)
               ? MLX5_PAYLOAD_OK : MLX5_PAYLOAD_MEMORY;
}

/* With signatures among the keys, piece by piece. */
static Mlx5Payload scatter_pieces(Mlx5Func *func, const Mlx5MkeyUser *user,
                                  const Mlx5WqeData *data, uint32_t num,
                                  uint64_t off, const Mlx5Pkt *pkt)
{
    uint64_t at = 0, done = 0, skip, n;
    Mlx5Payload result = MLX5_PAYLOAD_OK;

    func->rdma->moved += pkt->len;
    func->rdma->part = 0; /* after a fault all of it comes again */
    for (uint32_t i = 0; i < num && done < pkt->len; at += data[i++].len) {
        if (!overlap(&data[i], at, off, pkt->len, &skip, &n)) {
            continue;
        }
        result = scatter_piece(func, user, &data[i], skip, pkt, done, n);
        if (result != MLX5_PAYLOAD_OK) {
            return result;
        }
        done += n;
    }
    return done == pkt->len ? MLX5_PAYLOAD_OK : MLX5_PAYLOAD_KEY;
}

Mlx5Payload mlx5_payload_scatter(Mlx5Func *func, const Mlx5MkeyUser *user,
                                 const Mlx5WqeData *data, uint32_t num,
                                 uint64_t off, const Mlx5Pkt *pkt)
{
    Mlx5Ranges *local = func->rdma->local;

    if (mlx5_sig_any(func, data, num)) {
        return scatter_pieces(func, user, data, num, off, pkt);
    }
    mlx5_ranges_clear(local);
    return copy_to_local(func, pkt, resolve(func, user, data, num, off,
                                            pkt->len, MLX5_ACCESS_LOCAL_WRITE,
                                            local));
}

Mlx5Payload mlx5_payload_write(Mlx5QpEngine *e, uint32_t rkey, uint64_t va,
                               const Mlx5Pkt *pkt)
{
    Mlx5Func *func = e->qp->o.func;
    Mlx5Ranges *local = func->rdma->local;
    Mlx5MkeyUser user = mlx5_resp_user(e);
    Mlx5Mkey *sig = mlx5_sig_key(func, rkey);

    if (pkt->len == 0) {
        return MLX5_PAYLOAD_OK;
    }
    if (sig) {
        func->rdma->moved += pkt->len;
        func->rdma->part = 0;
        return mlx5_sig_write(sig, &user, va, MLX5_ACCESS_REMOTE_WRITE, pkt,
                              0, pkt->len);
    }
    mlx5_ranges_clear(local);
    return copy_to_local(func, pkt, mlx5_payload_from_key(
        mlx5_mkey_resolve(func, &user, rkey, va, pkt->len,
                          MLX5_ACCESS_REMOTE_WRITE, local)));
}
