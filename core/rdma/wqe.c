/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send WQEs: the table of opcodes and the parser; see wqe.h.
 *
 * Left out, and refused as unknown: LSO (Ethernet queues parse their own),
 * reading and checking of PSVs, cross-channel.
 */
#include "rdma/wqe.h"
#include "bus/trace.h"
#include "obj/mkey.h"

#define T(st) (1u << MLX5_QP_ST_##st)
/* Transports of one peer, and those that carry an address in each WQE. */
#define CONNECTED (T(RC) | T(UC) | T(XRC))
#define ONESIDED (T(RC) | T(UC) | T(XRC) | T(DCI))
#define RELIABLE (T(RC) | T(XRC) | T(DCI))
#define DATAGRAM (T(UD) | T(QP0) | T(QP1))
#define ANY (ONESIDED | DATAGRAM)
#define DATA (MLX5_WQEF_DATA | MLX5_WQEF_INLINE)
#define SCATTER (MLX5_WQEF_DATA | MLX5_WQEF_SCATTER)

/* Which operation on which transport: IBA table 46 and 9.6. */
static const Mlx5WqeOp ops[256] = {
    [MLX5_OPCODE_NOP] = { "NOP", ANY | T(REG_UMR) | T(RAW_ETHERTYPE),
                          MLX5_WQEF_LOCAL },
    [MLX5_OPCODE_SEND_INVAL] = { "SEND_INVAL", RELIABLE,
                                 DATA | MLX5_WQEF_INVAL },
    [MLX5_OPCODE_RDMA_WRITE] = { "RDMA_WRITE", ONESIDED,
                                 MLX5_WQEF_RADDR | DATA },
    [MLX5_OPCODE_RDMA_WRITE_IMM] = { "RDMA_WRITE_IMM", ONESIDED,
                                     MLX5_WQEF_RADDR | DATA | MLX5_WQEF_IMM },
    [MLX5_OPCODE_SEND] = { "SEND", ANY, DATA },
    [MLX5_OPCODE_SEND_IMM] = { "SEND_IMM", ANY, DATA | MLX5_WQEF_IMM },
    [MLX5_OPCODE_RDMA_READ] = { "RDMA_READ", RELIABLE,
                                MLX5_WQEF_RADDR | SCATTER },
    [MLX5_OPCODE_ATOMIC_CS] = { "ATOMIC_CS", RELIABLE,
                                MLX5_WQEF_RADDR | MLX5_WQEF_ATOMIC | SCATTER },
    [MLX5_OPCODE_ATOMIC_FA] = { "ATOMIC_FA", RELIABLE,
                                MLX5_WQEF_RADDR | MLX5_WQEF_ATOMIC | SCATTER },
    [MLX5_OPCODE_ATOMIC_MASKED_CS] = { "ATOMIC_MASKED_CS", RELIABLE,
        MLX5_WQEF_RADDR | MLX5_WQEF_MASKED | SCATTER },
    [MLX5_OPCODE_ATOMIC_MASKED_FA] = { "ATOMIC_MASKED_FA", RELIABLE,
        MLX5_WQEF_RADDR | MLX5_WQEF_MASKED | SCATTER },
    [MLX5_OPCODE_SET_PSV] = { "SET_PSV", CONNECTED,
                              MLX5_WQEF_PSV | MLX5_WQEF_LOCAL },
    [MLX5_OPCODE_UMR] = { "UMR", CONNECTED | T(REG_UMR),
                          MLX5_WQEF_UMR | MLX5_WQEF_LOCAL },
    [MLX5_OPCODE_TAG_MATCHING] = { "TAG_MATCHING", T(RC),
                                   MLX5_WQEF_TM | MLX5_WQEF_LOCAL },
};

const Mlx5WqeOp *mlx5_wqe_op(uint8_t opcode)
{
    return ops[opcode].name ? &ops[opcode] : NULL;
}

/* Where the parser stands in the copy. */
typedef struct Cursor {
    Mlx5SendWqe *wqe;
    uint32_t at, end;        /* bytes */
} Cursor;

/* Return: the next @bytes, or NULL if the WQE ends before. */
static const uint8_t *take(Cursor *c, uint32_t bytes)
{
    const uint8_t *p = c->wqe->raw + c->at;

    if (c->end - c->at < bytes) {
        return NULL;
    }
    c->at += bytes;
    return p;
}

static inline void parse_ctrl(Mlx5SendWqe *wqe)
{
    const uint8_t *p = wqe->raw;

    wqe->opmod = MLX5_GET(wqe_ctrl, p, opc_mod);
    wqe->index = MLX5_GET(wqe_ctrl, p, wqe_index);
    wqe->opcode = MLX5_GET(wqe_ctrl, p, opcode);
    wqe->qpn = MLX5_GET(wqe_ctrl, p, qpn);
    wqe->ds = MLX5_GET(wqe_ctrl, p, ds);
    wqe->stream = MLX5_GET(wqe_ctrl, p, dci_stream_channel_id);
    wqe->fence = MLX5_GET(wqe_ctrl, p, fm);
    wqe->ce = MLX5_GET(wqe_ctrl, p, ce);
    wqe->se = MLX5_GET(wqe_ctrl, p, se);
    wqe->general_id = MLX5_GET(wqe_ctrl, p, general_id);
    wqe->op = mlx5_wqe_op(wqe->opcode);
}

/*
 * The address vector is 48 bytes, or 16 when its extension bit is clear: then
 * there is no MAC, GID or flow label, and a RoCE device cannot send it.
 */
static bool parse_av(Cursor *c)
{
    const uint8_t *p = take(c, 16);
    Mlx5WqeAv *av = &c->wqe->av;

    if (!p) {
        return false;
    }
    *av = (Mlx5WqeAv){ .dc_key = MLX5_GET(wqe_av, p, q_key_or_dc_key) };
    av->qkey = av->dc_key >> 32;
    av->dqpn = MLX5_GET(wqe_av, p, destination_qp_dct);
    av->stat_rate = MLX5_GET(wqe_av, p, stat_rate);
    av->sl = MLX5_GET(wqe_av, p, sl);
    av->udp_sport = MLX5_GET(wqe_av, p, rlid_udp_sport);
    if (!MLX5_GET(wqe_av, p, extended)) {
        return true;
    }
    if (!take(c, MLX5_ST_SZ_BYTES(wqe_av) - 16)) {
        return false;
    }
    memcpy(av->rmac, MLX5_ADDR_OF(wqe_av, p, rmac_47_16), 6);
    av->tclass = MLX5_GET(wqe_av, p, tclass);
    av->hop_limit = MLX5_GET(wqe_av, p, hop_limit);
    av->grh = MLX5_GET(wqe_av, p, grh);
    av->src_addr_index = MLX5_GET(wqe_av, p, src_addr_index);
    av->flow_label = MLX5_GET(wqe_av, p, flow_label);
    memcpy(av->dgid, MLX5_ADDR_OF(wqe_av, p, rgid_rip), 16);
    return true;
}

static bool parse_xrc(Cursor *c)
{
    const uint8_t *p = take(c, MLX5_ST_SZ_BYTES(wqe_xrc));

    if (p) {
        c->wqe->xrc_srqn = MLX5_GET(wqe_xrc, p, xrc_srqn);
    }
    return p;
}

static bool parse_raddr(Cursor *c)
{
    const uint8_t *p = take(c, MLX5_ST_SZ_BYTES(wqe_raddr));

    if (p) {
        c->wqe->raddr = MLX5_GET(wqe_raddr, p, remote_virtual_address);
        c->wqe->rkey = MLX5_GET(wqe_raddr, p, rkey);
    }
    return p;
}

static bool parse_atomic(Cursor *c)
{
    const uint8_t *p = take(c, MLX5_ST_SZ_BYTES(wqe_atomic));

    if (p) {
        c->wqe->swap_add = MLX5_GET(wqe_atomic, p, swap_or_add_data);
        c->wqe->compare = MLX5_GET(wqe_atomic, p, compare_data);
    }
    return p;
}

/* opmod of a masked atomic: this bit, and log2 of its bytes less 2. */
#define OPMOD_EXTENDED 0x8u

/*
 * The operands of a masked atomic, packed: 4 bytes each, or 8; an add has no
 * compare operands. (Layouts: UCX ib_mlx5.h; with opmod 0, qp.h of the driver.)
 */
static bool parse_masked(Cursor *c)
{
    Mlx5SendWqe *w = c->wqe;
    bool swap = w->opcode == MLX5_OPCODE_ATOMIC_MASKED_CS;
    bool legacy = w->opmod == 0;
    uint32_t bits = w->opmod == OPMOD_EXTENDED ? 32 : 64;
    const uint8_t *p = take(c, bits == 32 || !(swap || legacy) ? 16 : 32);

    if (!p) {
        return false;
    }
    w->swap_add = mlx5_prm_get(p, 0, bits);
    if (swap || legacy) {
        w->compare = mlx5_prm_get(p, bits, bits);
        w->swap_add_mask = mlx5_prm_get(p, 2 * bits, bits);
        w->compare_mask = mlx5_prm_get(p, 3 * bits, bits);
    } else {
        w->swap_add_mask = mlx5_prm_get(p, bits, bits);
    }
    return true;
}

/* Bytes an atomic works on; 0 if its opmod is not known. */
static uint32_t atomic_bytes(const Mlx5SendWqe *w)
{
    if (!(w->op->flags & MLX5_WQEF_MASKED)) {
        return 8;
    }
    switch (w->opmod) {
    case OPMOD_EXTENDED:
        return 4;
    case 0:
    case OPMOD_EXTENDED + 1:
        return 8;
    default:
        return 0;
    }
}

/* The segments that come before data. Return: false if truncated. */
static bool parse_head(Cursor *c, Mlx5QpSt st)
{
    uint32_t flags = c->wqe->op->flags;

    if (!(flags & MLX5_WQEF_LOCAL)) {
        if (st == MLX5_QP_ST_XRC && !parse_xrc(c)) {
            return false;
        }
        if (((DATAGRAM | T(DCI)) & 1u << st) && !parse_av(c)) {
            return false;
        }
    }
    return (!(flags & MLX5_WQEF_RADDR) || parse_raddr(c)) &&
           (!(flags & MLX5_WQEF_ATOMIC) || parse_atomic(c)) &&
           (!(flags & MLX5_WQEF_MASKED) || parse_masked(c));
}

/* UMR: where its parts are; what they mean is umr.c's. */
static Mlx5WqeError parse_umr(Cursor *c)
{
    Mlx5SendWqe *w = c->wqe;

    w->umr_ctrl_at = c->at;
    if (!take(c, MLX5_ST_SZ_BYTES(wqe_umr_ctrl))) {
        return MLX5_WQE_ERR_TRUNCATED;
    }
    w->umr_mkey_at = c->at;
    if (!take(c, MLX5_ST_SZ_BYTES(mkc))) {
        return MLX5_WQE_ERR_TRUNCATED;
    }
    w->umr_xlt_at = c->at;
    return MLX5_WQE_OK;
}

static Mlx5WqeError parse_psv(Cursor *c)
{
    const uint8_t *p = take(c, MLX5_ST_SZ_BYTES(wqe_set_psv));

    if (!p) {
        return MLX5_WQE_ERR_TRUNCATED;
    }
    c->wqe->psvn = MLX5_GET(wqe_set_psv, p, psv_index);
    c->wqe->psv = MLX5_GET(wqe_set_psv, p, transient_signature);
    return MLX5_WQE_OK;
}

static void add_data(Mlx5SendWqe *w, Mlx5WqeData data)
{
    /* Each takes 16 bytes of a WQE of at most 63 * 16, less the control. */
    g_assert(w->num_data < G_N_ELEMENTS(w->data));
    w->data[w->num_data++] = data;
    w->length += data.len;
}

/* An inline segment: 4 bytes of header, data, padding to 16. */
static Mlx5WqeError parse_inline(Cursor *c)
{
    const uint8_t *p = c->wqe->raw + c->at;
    uint32_t len = MLX5_GET(wqe_inline, p, byte_count);
    uint32_t at = c->at + MLX5_ST_SZ_BYTES(wqe_inline);

    if (!(c->wqe->op->flags & MLX5_WQEF_INLINE)) {
        return MLX5_WQE_ERR_INLINE_OP;
    }
    if (!take(c, (MLX5_ST_SZ_BYTES(wqe_inline) + len + 15) & ~15u)) {
        return MLX5_WQE_ERR_INLINE;
    }
    if (len) {
        add_data(c->wqe, (Mlx5WqeData){ .len = len, .inline_at = at });
        c->wqe->has_inline = true;
    }
    return MLX5_WQE_OK;
}

static inline Mlx5WqeError parse_pointer(Cursor *c)
{
    const uint8_t *p = take(c, MLX5_ST_SZ_BYTES(wqe_data));
    uint32_t len = MLX5_GET(wqe_data, p, byte_count);

    add_data(c->wqe, (Mlx5WqeData){
        .addr = MLX5_GET(wqe_data, p, local_virtual_address),
        .lkey = MLX5_GET(wqe_data, p, lkey),
        .len = len ? len : 1u << 31, /* PRM: 0 stands for 2^31 */
    });
    return MLX5_WQE_OK;
}

/*
 * Tag matching: the operation, and for an append a data segment; none of no
 * bytes under the key that stands for none (libmlx5: set_data_ptr_seg_end).
 */
static Mlx5WqeError parse_tm(Cursor *c)
{
    const uint8_t *data = c->wqe->raw + c->at + MLX5_ST_SZ_BYTES(wqe_tm);

    c->wqe->tm_at = c->at;
    if (!take(c, MLX5_ST_SZ_BYTES(wqe_tm))) {
        return MLX5_WQE_ERR_TRUNCATED;
    }
    if (c->end - c->at < MLX5_ST_SZ_BYTES(wqe_data) ||
        (MLX5_GET(wqe_data, data, byte_count) == 0 &&
         MLX5_GET(wqe_data, data, lkey) == MLX5_INVALID_LKEY)) {
        return MLX5_WQE_OK;
    }
    return MLX5_GET(wqe_inline, data, inline) ? MLX5_WQE_ERR_INLINE_OP
                                              : parse_pointer(c);
}

static Mlx5WqeError parse_data(Cursor *c)
{
    Mlx5WqeError error = MLX5_WQE_OK;

    while (c->at < c->end && error == MLX5_WQE_OK) {
        error = MLX5_GET(wqe_inline, c->wqe->raw + c->at, inline)
                    ? parse_inline(c) : parse_pointer(c);
    }
    if (error == MLX5_WQE_OK && c->wqe->length > MLX5_MSG_MAX_BYTES) {
        return MLX5_WQE_ERR_LENGTH;
    }
    return error;
}

static Mlx5WqeError parse_body(Mlx5SendWqe *wqe, Mlx5QpSt st)
{
    Cursor c = { wqe, MLX5_ST_SZ_BYTES(wqe_ctrl), wqe->ds * 16u };
    Mlx5WqeError error;

    if (!parse_head(&c, st)) {
        return MLX5_WQE_ERR_TRUNCATED;
    }
    if (wqe->opcode == MLX5_OPCODE_NOP) {
        return MLX5_WQE_OK; /* what follows is padding */
    }
    if (wqe->op->flags & MLX5_WQEF_UMR) {
        return parse_umr(&c);
    }
    if (wqe->op->flags & MLX5_WQEF_TM) {
        return parse_tm(&c);
    }
    if (wqe->op->flags & MLX5_WQEF_PSV) {
        return parse_psv(&c);
    }
    error = parse_data(&c);
    if (error == MLX5_WQE_OK &&
        (wqe->op->flags & (MLX5_WQEF_ATOMIC | MLX5_WQEF_MASKED)) &&
        wqe->length != atomic_bytes(wqe)) {
        return MLX5_WQE_ERR_ATOMIC_SIZE;
    }
    return error;
}

/* Checks of the control segment; @len: bytes there are. */
static Mlx5WqeError check_ctrl(const Mlx5SendWqe *wqe, uint32_t len,
                               Mlx5QpSt st, uint32_t qpn)
{
    if (!wqe->ds) {
        return MLX5_WQE_ERR_DS;
    }
    if (wqe->ds * 16u > len) {
        return MLX5_WQE_ERR_BEYOND;
    }
    if (wqe->qpn != qpn) {
        return MLX5_WQE_ERR_QPN;
    }
    if (!wqe->op) {
        return MLX5_WQE_ERR_OPCODE;
    }
    return wqe->op->qp_types & 1u << st ? MLX5_WQE_OK : MLX5_WQE_ERR_QP_TYPE;
}

Mlx5WqeError mlx5_wqe_parse(Mlx5SendWqe *wqe, const uint8_t *bytes,
                            uint32_t len, Mlx5QpSt st, uint32_t qpn)
{
    Mlx5WqeError error;

    mlx5_wqe_clear(wqe);
    if (len < MLX5_ST_SZ_BYTES(wqe_ctrl)) {
        return MLX5_WQE_ERR_BEYOND;
    }
    len = MIN(len, MLX5_WQE_MAX_BYTES);
    memcpy(wqe->raw, bytes, len);
    parse_ctrl(wqe);
    error = check_ctrl(wqe, len, st, qpn);
    return error == MLX5_WQE_OK ? parse_body(wqe, st) : error;
}

/* Read from @index on what is posted. Return: false if there is no memory. */
static bool read_ahead(Mlx5Qp *qp, uint16_t index, uint32_t posted,
                       Mlx5WqeAhead *ahead)
{
    uint64_t size = (uint64_t)MLX5_WQE_BB << qp->sq_log_size;

    ahead->index = index;
    ahead->num = MIN(MIN(posted, MLX5_WQE_AHEAD), 1u << qp->sq_log_size);
    ahead->qp = mlx5_ring_read_wrap(&qp->ring, qp->sq_base_bytes, size,
                                    (uint64_t)index * MLX5_WQE_BB % size,
                                    ahead->bytes, ahead->num * MLX5_WQE_BB)
                    ? qp : NULL;
    return ahead->qp;
}

/*
 * Return: @n basic blocks of @qp's send queue from @index on; what is posted
 * behind them, @posted in all, is read with them. NULL if there is no memory.
 */
static inline const uint8_t *blocks(Mlx5Qp *qp, uint16_t index, uint32_t n,
                                    uint32_t posted, Mlx5WqeAhead *ahead)
{
    uint16_t skip = index - ahead->index;

    if (G_LIKELY(ahead->qp == qp && skip + n <= ahead->num)) {
        return ahead->bytes + skip * MLX5_WQE_BB;
    }
    return read_ahead(qp, index, posted, ahead) ? ahead->bytes : NULL;
}

/* Each byte is looked at once: first a basic block, then what is missing. */
Mlx5WqeError mlx5_wqe_fetch(Mlx5Qp *qp, uint16_t index, uint32_t posted,
                            Mlx5SendWqe *wqe, Mlx5WqeAhead *ahead)
{
    uint32_t room = MIN(posted, 1u << qp->sq_log_size) * MLX5_WQE_BB;
    uint32_t len = MIN(room, MLX5_WQE_MAX_BYTES);
    const uint8_t *bytes = blocks(qp, index, 1, posted, ahead);
    uint32_t more;
    Mlx5WqeError error;

    mlx5_wqe_clear(wqe);
    if (!bytes) {
        return MLX5_WQE_ERR_FETCH;
    }
    memcpy(wqe->raw, bytes, MLX5_WQE_BB);
    parse_ctrl(wqe);
    error = check_ctrl(wqe, len, qp->st, qp->o.id);
    if (error != MLX5_WQE_OK) {
        return error;
    }
    /* 16 bits, not modulo the ring (driver: wr.c mlx5r_finish_wqe). */
    if (wqe->index != index) {
        return MLX5_WQE_ERR_INDEX;
    }
    more = mlx5_wqe_blocks(wqe->ds) - 1;
    if (more) {
        bytes = blocks(qp, index + 1, more, posted - 1, ahead);
        if (!bytes) {
            return MLX5_WQE_ERR_FETCH;
        }
        memcpy(wqe->raw + MLX5_WQE_BB, bytes, wqe->ds * 16u - MLX5_WQE_BB);
    }
    return parse_body(wqe, qp->st);
}

/* ---- names ---- */

static const struct {
    const char *name;
    uint8_t vendor;
} errors[] = {
    [MLX5_WQE_OK] = { "ok", 0 },
#define E(error, vendor, name) \
    [MLX5_WQE_ERR_##error] = { name, MLX5_VENDOR_##vendor }
    E(FETCH, WQE_FETCH, "ring not readable"),
    E(DS, WQE_DS, "ds is 0"),
    E(BEYOND, WQE_BEYOND, "longer than posted"),
    E(QPN, WQE_QPN, "another queue's number"),
    E(INDEX, WQE_INDEX, "another place's index"),
    E(OPCODE, WQE_OPCODE, "unknown opcode"),
    E(QP_TYPE, WQE_QP_TYPE, "opcode not of this transport"),
    E(TRUNCATED, WQE_TRUNCATED, "truncated"),
    E(INLINE, WQE_INLINE, "inline data past the end"),
    E(INLINE_OP, WQE_INLINE_OP, "inline data to be written"),
    E(ATOMIC_SIZE, WQE_ATOMIC_SIZE, "atomic result of another size"),
    E(LENGTH, MSG_MAX, "longer than 2^31 bytes"),
#undef E
};
G_STATIC_ASSERT(G_N_ELEMENTS(errors) == MLX5_WQE_ERR_COUNT);

const char *mlx5_wqe_error_name(Mlx5WqeError error)
{
    return error < MLX5_WQE_ERR_COUNT ? errors[error].name : "?";
}

Mlx5Vendor mlx5_wqe_error_vendor(Mlx5WqeError error)
{
    /* Of our own enum. */
    g_assert(error < MLX5_WQE_ERR_COUNT);
    return errors[error].vendor;
}

void mlx5_wqe_trace_line(Mlx5Qp *qp, const Mlx5SendWqe *wqe,
                         Mlx5WqeError error, uint32_t psn)
{
    Mlx5Func *func = qp->o.func;
    GString *line = g_string_new(NULL);

    g_string_printf(line, "qp 0x%x wqe %u %s", qp->o.id, wqe->index,
                    wqe->op ? wqe->op->name : "?");
    mlx5_prm_format(line, &mlx5_layout_wqe_ctrl, wqe->raw,
                    MLX5_ST_SZ_BYTES(wqe_ctrl));
    if (wqe->op && (wqe->op->flags & MLX5_WQEF_RADDR)) {
        g_string_append_printf(line, " raddr=0x%" G_GINT64_MODIFIER
                               "x rkey=0x%x", wqe->raddr, wqe->rkey);
    }
    if (wqe->op && !(wqe->op->flags & MLX5_WQEF_LOCAL)) {
        g_string_append_printf(line, " psn=%u", psn);
    }
    g_string_append_printf(line, " segs=%u length=%" G_GUINT64_FORMAT,
                           wqe->num_data, wqe->length);
    if (error != MLX5_WQE_OK) {
        g_string_append_printf(line, " refused: %s",
                               mlx5_wqe_error_name(error));
    }
    mlx5_trace_line(func, MLX5_TRACE_WQE, "%s", line->str);
    g_string_free(line, true);
}
