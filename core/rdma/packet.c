/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport packets: moving their payload, printing them; see packet.h.
 */
#include "rdma/packet.h"

/* Where a copy stands in a list of ranges. */
typedef struct Cursor {
    const Mlx5Range *range;
    uint32_t left;           /* ranges from @range on */
    uint64_t off;            /* inside *range */
} Cursor;

static Cursor cursor_at(const Mlx5Range *ranges, uint32_t num, uint64_t off)
{
    Cursor c = { ranges, num, off };

    while (c.left && c.off >= c.range->len) {
        c.off -= c.range->len;
        c.range++;
        c.left--;
    }
    return c;
}

static void cursor_advance(Cursor *c, uint64_t n)
{
    c->off += n;
    if (c->off == c->range->len) {
        c->off = 0;
        c->range++;
        c->left--;
    }
}

/* Zeroes to where @dst stands, inside its range. */
static bool copy_zeroes(Mlx5Func *func, const Cursor *dst, uint64_t len)
{
    static const uint8_t zeroes[4096];

    for (uint64_t at = 0; at < len; at += sizeof(zeroes)) {
        if (!mlx5_dma_write(func, dst->range->addr + dst->off + at, zeroes,
                            MIN(len - at, sizeof(zeroes)))) {
            return false;
        }
    }
    return true;
}

/* @n bytes inside one range of each side. */
static bool copy_run(Mlx5Func *src_func, const Cursor *src, Mlx5Func *func,
                     const Cursor *dst, uint64_t n)
{
    if (dst->range->addr == MLX5_NOWHERE) {
        return true;
    }
    if (src->range->addr == MLX5_NOWHERE) {
        return copy_zeroes(func, dst, n);
    }
    return mlx5_dma_copy(func, dst->range->addr + dst->off, src_func,
                         src->range->addr + src->off, n);
}

static bool copy_bytes(const uint8_t *bytes, Mlx5Func *func, Cursor *dst,
                       uint64_t len)
{
    while (len && dst->left) {
        uint64_t n = MIN(len, dst->range->len - dst->off);

        if (dst->range->addr != MLX5_NOWHERE &&
            !mlx5_dma_write(func, dst->range->addr + dst->off, bytes, n)) {
            return false;
        }
        bytes += n;
        len -= n;
        cursor_advance(dst, n);
    }
    return len == 0;
}

static bool copy_ranges(Mlx5Func *src_func, Cursor *src, Mlx5Func *func,
                        Cursor *dst, uint64_t len)
{
    while (len) {
        uint64_t n = len;

        if (!src->left || !dst->left) {
            return false;
        }
        n = MIN(n, src->range->len - src->off);
        n = MIN(n, dst->range->len - dst->off);
        if (!copy_run(src_func, src, func, dst, n)) {
            return false;
        }
        len -= n;
        if (len) {
            cursor_advance(src, n);
            cursor_advance(dst, n);
        }
    }
    return true;
}

bool mlx5_pkt_copy(const Mlx5Pkt *pkt, uint64_t off, Mlx5Func *func,
                   const Mlx5Range *dst, uint32_t num_dst, uint64_t len)
{
    Cursor to = { dst, num_dst, 0 };
    Cursor from;

    if (off > pkt->len || len > pkt->len - off) {
        return false;
    }
    if (pkt->bytes) {
        return copy_bytes(pkt->bytes + pkt->skip + off, func, &to, len);
    }
    from = cursor_at(pkt->ranges, pkt->num_ranges, pkt->skip + off);
    return copy_ranges(pkt->src, &from, func, &to, len);
}

bool mlx5_pkt_peek(const Mlx5Pkt *pkt, uint64_t off, void *buf, uint64_t len)
{
    Cursor from;
    uint8_t *to = buf;

    if (pkt->bytes) {
        memcpy(to, pkt->bytes + pkt->skip + off, len);
        return true;
    }
    from = cursor_at(pkt->ranges, pkt->num_ranges, pkt->skip + off);
    while (len && from.left) {
        uint64_t n = MIN(len, from.range->len - from.off);

        if (from.range->addr == MLX5_NOWHERE) {
            memset(to, 0, n);
        } else if (!mlx5_dma_read(pkt->src, from.range->addr + from.off, to,
                                  n)) {
            return false;
        }
        to += n;
        len -= n;
        cursor_advance(&from, n);
    }
    return len == 0;
}

static const char *const op_name[MLX5_PKT_OP_COUNT] = {
    [MLX5_PKT_SEND] = "SEND",
    [MLX5_PKT_WRITE] = "WRITE",
    [MLX5_PKT_READ] = "READ_REQUEST",
    [MLX5_PKT_CMP_SWAP] = "CMP_SWAP",
    [MLX5_PKT_FETCH_ADD] = "FETCH_ADD",
    [MLX5_PKT_READ_RESP] = "READ_RESPONSE",
    [MLX5_PKT_ACK] = "ACK",
    [MLX5_PKT_ATOMIC_ACK] = "ATOMIC_ACK",
    [MLX5_PKT_CNP] = "CNP",
};

static const char *svc_name(Mlx5PktService svc)
{
    static const char *const name[] = {
        [MLX5_SVC_RC] = "RC", [MLX5_SVC_UC] = "UC",
        [MLX5_SVC_UD] = "UD", [MLX5_SVC_XRC] = "XRC",
        [MLX5_SVC_DC] = "DC", [MLX5_SVC_CNP] = "CC",
    };

    return svc < G_N_ELEMENTS(name) && name[svc] ? name[svc] : "?";
}

static const char *part_name(const Mlx5Pkt *pkt)
{
    if (pkt->op != MLX5_PKT_SEND && pkt->op != MLX5_PKT_WRITE &&
        pkt->op != MLX5_PKT_READ_RESP) {
        return "";
    }
    return pkt->first ? pkt->last ? "_ONLY" : "_FIRST"
                      : pkt->last ? "_LAST" : "_MIDDLE";
}

static void trace_extras(GString *s, const Mlx5Pkt *pkt)
{
    switch (pkt->op) {
    case MLX5_PKT_ACK:
    case MLX5_PKT_ATOMIC_ACK:
        g_string_append_printf(s, " syndrome=0x%02x msn=%u", pkt->syndrome,
                               pkt->msn);
        break;
    case MLX5_PKT_WRITE:
    case MLX5_PKT_READ:
    case MLX5_PKT_CMP_SWAP:
    case MLX5_PKT_FETCH_ADD:
        g_string_append_printf(s, " va=0x%" G_GINT64_MODIFIER
                               "x rkey=0x%x dma_len=%u", pkt->va, pkt->rkey,
                               pkt->dma_len);
        break;
    default:
        break;
    }
    if (pkt->has_imm || pkt->has_inv) {
        g_string_append_printf(s, " %s=0x%x", pkt->has_imm ? "imm" : "ieth",
                               pkt->imm);
    }
}

void mlx5_pkt_trace_line(Mlx5Func *func, const char *what, const Mlx5Pkt *pkt)
{
    GString *s = g_string_new(NULL);

    trace_extras(s, pkt);
    mlx5_trace_line(func, MLX5_TRACE_PACKET,
                    "%s %s %s%s qp 0x%x -> 0x%x psn %u+%u len %" G_GUINT64_FORMAT
                    "%s%s%s", what, svc_name(pkt->svc), op_name[pkt->op],
                    part_name(pkt), pkt->src_qpn, pkt->dqpn, pkt->psn,
                    pkt->npsn, pkt->len, s->str, pkt->ackreq ? " ackreq" : "",
                    pkt->se ? " se" : "");
    g_string_free(s, true);
}
