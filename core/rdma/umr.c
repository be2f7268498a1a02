/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UMR: see umr.h. A WQE is taken apart, checked against the key, its
 * translations are read, and only then is anything changed.
 *
 * Who may: a queue reaches keys of its own protection domain, and a user's
 * queue only lists of other keys, which its user context made or the kernel as
 * memory windows. Physical translations are for queues with
 * fast registration enabled (qpc.fre, the kernel's), other domains for the
 * driver's own UMR queue.
 *
 * Memory windows are list keys; a bind is told from other loads by the form
 * that libmlx5 gives it (set_umr_control_seg): inline, with an offset of 0
 * that is enabled, one entry.
 *
 * Without an offset its field counts the octowords of a byte stream format
 * (BSF), which follow the translations and are the key's signature.
 *
 * Sources: PRM UMR WQE; driver: mlx5_ib umr.c and wr.c, device.h; libmlx5
 * qp.c; IBA 10.6.4 (windows).
 */
#include "rdma/umr.h"
#include "bus/trace.h"
#include "obj/psv.h"
#include "obj/sig.h"

/* mkey_mask (driver: device.h MLX5_MKEY_MASK_*). */
#define MASK_FREE (1ull << 29)
#define MASK_KEY (1ull << 13)
#define MASK_PD (1ull << 7)

/* umr ctrl check_free. */
enum { CHECK_NOTHING = 0, CHECK_IS_FREE = 1, CHECK_NOT_FREE = 2 };

/* Octowords that a UMR is made of: 64 bytes. */
#define OCTOWORD_BYTES 16u
#define OCTOWORD_ALIGN 4u
#define DATA_ALIGN 64u
#define DATA_SEG_BYTES 16u

/* One row per bit of mkey_mask: the field it lets through. */
static const struct {
    uint8_t bit;
    uint16_t off, bits;
} fields[] = {
#define F(bit, field) { bit, MLX5_BIT_OFF(mkc, field), MLX5_BIT_SZ(mkc, field) }
    F(0, len),
    F(0, length64),
    F(1, log_page_size),
    F(6, start_addr),
    F(7, pd),
    F(8, en_rinval),
    F(9, expected_sigerr_count),
    F(12, bsf_en),
    F(13, mkey_7_0),
    F(14, qpn),
    F(17, lr),
    F(18, lw),
    F(19, rr),
    F(20, rw),
    F(21, a),
    F(23, small_fence_on_rdma_read_response),
    F(25, relaxed_ordering_write),
    F(29, free),
    F(42, log_page_size), /* its sixth bit, always together with bit 1 */
    F(47, relaxed_ordering_read),
#undef F
};

/* A UMR WQE in plain numbers. */
typedef struct Umr {
    const Mlx5UmrBy *by;
    const Mlx5UmrWqe *wqe;
    Mlx5Mkey *mkey;
    uint8_t mkc[MLX5_BITS_mkc / 8]; /* the context as it will be */
    bool is_inline, offset_en, check_qpn;
    uint32_t check_free;
    uint64_t mask;
    uint64_t octowords, offset;     /* of translations */
    uint64_t bsf_octowords;         /* that follow them */
    uint8_t *xlt;                   /* both, 16 bytes each */
    Mlx5Sig sig;                    /* the BSF, parsed */
} Umr;

/* Bytes of translations and BSF together. */
static uint64_t source_bytes(const Umr *u)
{
    return (u->octowords + u->bsf_octowords) * OCTOWORD_BYTES;
}

static void parse(Umr *u)
{
    const uint8_t *ctrl = u->wqe->raw + u->wqe->ctrl_at;

    u->is_inline = MLX5_GET(wqe_umr_ctrl, ctrl, inline);
    u->check_free = MLX5_GET(wqe_umr_ctrl, ctrl, check_free);
    u->offset_en = MLX5_GET(wqe_umr_ctrl, ctrl, translation_offset_en);
    u->check_qpn = MLX5_GET(wqe_umr_ctrl, ctrl, check_qpn);
    u->octowords = MLX5_GET(wqe_umr_ctrl, ctrl, xlt_octowords);
    u->mask = MLX5_GET(wqe_umr_ctrl, ctrl, mkey_mask);
    if (u->offset_en) {
        u->offset = MLX5_GET(wqe_umr_ctrl, ctrl, xlt_offset_47_16) << 16 |
                    MLX5_GET(wqe_umr_ctrl, ctrl, xlt_offset_15_0);
    } else {
        u->bsf_octowords = MLX5_GET(wqe_umr_ctrl, ctrl, xlt_offset_15_0);
    }
}

/* The index in general_id; the variant too, unless it is about to change. */
static Mlx5UmrResult check_key(Umr *u)
{
    uint32_t key = u->wqe->key;
    Mlx5Mkey *mkey = mlx5_obj_get(u->by->func, MLX5_OBJ_MKEY, key >> 8);

    if (!mkey) {
        return MLX5_UMR_NO_KEY;
    }
    /* REG_MR names the key by its new variant (wr.c handle_reg_mr). */
    if (!(u->mask & MASK_KEY) && mkey->variant != (key & 0xff)) {
        return MLX5_UMR_NO_KEY;
    }
    u->mkey = mkey;
    return MLX5_GET(mkc, mkey->mkc, umr_en) ? MLX5_UMR_OK
                                            : MLX5_UMR_NOT_ENABLED;
}

static bool physical(const Mlx5Mkey *mkey)
{
    return mkey->mode == MLX5_MKC_ACCESS_MODE_PA ||
           mkey->mode == MLX5_MKC_ACCESS_MODE_MTT;
}

/*
 * Whose key it is: of a user context's own, or a memory window, which the
 * kernel makes for the program that binds it (driver: mlx5_ib_alloc_mw).
 */
static bool owner_ok(const Umr *u)
{
    return mlx5_obj_uid_ok(u->mkey, u->by->uid) ||
           (u->mkey->o.uid == 0 &&
            u->mkey->mode == MLX5_MKC_ACCESS_MODE_KLMS);
}

static Mlx5UmrResult check_privilege(Umr *u)
{
    if (u->by->any) {
        return MLX5_UMR_OK;
    }
    if (!owner_ok(u)) {
        return MLX5_UMR_OWNER;
    }
    if (u->mkey->pdn != u->by->pdn || (u->mask & MASK_PD)) {
        return MLX5_UMR_PRIVILEGE;
    }
    if (physical(u->mkey) && !u->by->physical) {
        return MLX5_UMR_PRIVILEGE;
    }
    return MLX5_UMR_OK;
}

static Mlx5UmrResult check_state(Umr *u)
{
    if (u->check_free == CHECK_IS_FREE && !u->mkey->free) {
        return MLX5_UMR_NOT_FREE;
    }
    if (u->check_free == CHECK_NOT_FREE && u->mkey->free) {
        return MLX5_UMR_IS_FREE;
    }
    /* libmlx5 asks this also for keys that are no windows of type 2. */
    if (u->check_qpn && u->mkey->qpn != MLX5_MKEY_ANY_QPN &&
        u->mkey->qpn != u->by->id) {
        return MLX5_UMR_QPN;
    }
    return MLX5_UMR_OK;
}

/* Let the masked fields through into a copy of the context. */
static Mlx5UmrResult check_mask(Umr *u)
{
    const uint8_t *from = u->wqe->raw + u->wqe->mkey_at;
    uint64_t known = 0;

    memcpy(u->mkc, u->mkey->mkc, sizeof(u->mkc));
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        known |= 1ull << fields[i].bit;
        if (u->mask >> fields[i].bit & 1) {
            mlx5_prm_set(u->mkc, fields[i].off, fields[i].bits,
                         mlx5_prm_get(from, fields[i].off, fields[i].bits));
        }
    }
    return u->mask & ~known ? MLX5_UMR_MASK : MLX5_UMR_OK;
}

static Mlx5UmrResult check_context(Umr *u)
{
    if (mlx5_mkey_context_check(u->mkc) ||
        !mlx5_obj_get(u->by->func, MLX5_OBJ_PD, MLX5_GET(mkc, u->mkc, pd))) {
        return MLX5_UMR_CONTEXT;
    }
    return MLX5_UMR_OK;
}

static Mlx5UmrResult check_xlt(Umr *u)
{
    if (u->octowords % OCTOWORD_ALIGN || u->offset % OCTOWORD_ALIGN) {
        return MLX5_UMR_XLT_ALIGN;
    }
    if (u->octowords && !mlx5_range_inside(u->offset, u->octowords, 0,
                                           u->mkey->xlt.max_units / 2)) {
        return MLX5_UMR_XLT_BOUNDS;
    }
    if (!mlx5_mkey_fits(u->by->func, u->octowords * 2)) {
        return MLX5_UMR_XLT_MEMORY;
    }
    return MLX5_UMR_OK;
}

/* Is there room for a BSF, and one for a key that is to use it? */
static Mlx5UmrResult check_bsf_room(Umr *u)
{
    if (u->bsf_octowords && !u->by->func->props.signature) {
        return MLX5_UMR_UNSUPPORTED;
    }
    if (u->bsf_octowords > MLX5_GET(mkc, u->mkey->mkc, bsf_octword_size) ||
        u->bsf_octowords > MLX5_BSF_BYTES / OCTOWORD_BYTES) {
        return MLX5_UMR_BSF_ROOM;
    }
    if (MLX5_GET(mkc, u->mkc, bsf_en) && !MLX5_GET(mkc, u->mkc, free) &&
        !u->bsf_octowords && !u->mkey->sig) {
        return MLX5_UMR_BSF_MISSING;
    }
    return MLX5_UMR_OK;
}

/* ---- reading translations and BSF ---- */

static Mlx5UmrResult read_inline(Umr *u)
{
    uint32_t at = u->wqe->xlt_at, end = u->wqe->len;
    uint64_t bytes = source_bytes(u);

    if (bytes > end - at) {
        return MLX5_UMR_MALFORMED;
    }
    memcpy(u->xlt, u->wqe->raw + at, bytes);
    return MLX5_UMR_OK;
}

static bool read_ranges(Umr *u, const Mlx5Ranges *ranges)
{
    uint8_t *to = u->xlt;

    for (guint i = 0; i < ranges->len; i++) {
        const Mlx5Range *r = &ranges->data[i];

        if (!mlx5_dma_read(u->by->func, r->addr, to, r->len)) {
            return false;
        }
        to += r->len;
    }
    return true;
}

static Mlx5UmrResult read_pointer(Umr *u)
{
    const uint8_t *seg = u->wqe->raw + u->wqe->xlt_at;
    uint64_t bytes = source_bytes(u);
    Mlx5MkeyUser user = {
        .pdn = u->by->pdn,
        .qpn = u->by->id,
        .rlkey = u->by->rlkey,
    };
    uint64_t va;
    bool ok;

    if (u->wqe->len < u->wqe->xlt_at + DATA_SEG_BYTES) {
        return MLX5_UMR_MALFORMED;
    }
    va = MLX5_GET(wqe_data, seg, local_virtual_address);
    if (MLX5_GET(wqe_data, seg, byte_count) < bytes || va % DATA_ALIGN) {
        return MLX5_UMR_XLT_ALIGN;
    }
    {
        g_autoptr(Mlx5Ranges) ranges = mlx5_ranges_new();

        ok = mlx5_mkey_resolve(u->by->func, &user,
                               MLX5_GET(wqe_data, seg, lkey), va, bytes,
                               MLX5_ACCESS_LOCAL_READ, ranges) ==
                 MLX5_MKEY_OK &&
             read_ranges(u, ranges);
    }
    return ok ? MLX5_UMR_OK : MLX5_UMR_SOURCE;
}

static Mlx5UmrResult read_xlt(Umr *u)
{
    if (!source_bytes(u)) {
        return MLX5_UMR_OK;
    }
    /* xlt_octowords has 16 bits: 1 MiB at most, and a BSF. */
    u->xlt = g_malloc(source_bytes(u));
    return u->is_inline ? read_inline(u) : read_pointer(u);
}

static const Mlx5UmrResult bsf_refusals[] = {
    [MLX5_BSF_OK] = MLX5_UMR_OK,
    [MLX5_BSF_SIZE] = MLX5_UMR_BSF_SIZE,
    [MLX5_BSF_EXTENDED] = MLX5_UMR_BSF_EXTENDED,
    [MLX5_BSF_FORMAT] = MLX5_UMR_BSF_FORMAT,
    [MLX5_BSF_BLOCK] = MLX5_UMR_BSF_BLOCK,
    [MLX5_BSF_STRUCTURE] = MLX5_UMR_BSF_STRUCTURE,
};

static bool psv_ok(const Umr *u, const Mlx5SigDomain *d)
{
    return !d->kind || mlx5_psv_find(u->by->func, u->mkey->pdn, d->psvn);
}

static Mlx5UmrResult check_bsf(Umr *u)
{
    Mlx5BsfResult result;

    if (!u->bsf_octowords) {
        return MLX5_UMR_OK;
    }
    result = mlx5_sig_parse(&u->sig, u->xlt + u->octowords * OCTOWORD_BYTES,
                            u->bsf_octowords * OCTOWORD_BYTES);
    if (result != MLX5_BSF_OK) {
        return bsf_refusals[result];
    }
    return psv_ok(u, &u->sig.mem) && psv_ok(u, &u->sig.wire)
               ? MLX5_UMR_OK : MLX5_UMR_BSF_PSV;
}

/* ---- memory windows ---- */

static bool is_bind(const Umr *u)
{
    return u->mkey->mode == MLX5_MKC_ACCESS_MODE_KLMS && u->is_inline &&
           u->offset_en && !u->offset && u->octowords == OCTOWORD_ALIGN &&
           !MLX5_GET(mkc, u->mkc, free);
}

/*
 * IBA 10.6.4.2: the region exists, is of the window's domain, covers it, and
 * can be written locally if the window can be from afar.
 */
static Mlx5UmrResult check_bind(Umr *u, Mlx5Mkey **region)
{
    uint32_t key = MLX5_GET(wqe_klm, u->xlt, mkey);
    Mlx5MkeyUser user = {
        .pdn = u->mkey->pdn,
        .qpn = u->by->id,
    };
    uint32_t need = MLX5_ACCESS_LOCAL_READ;

    if (MLX5_GET(mkc, u->mkc, rw) || MLX5_GET(mkc, u->mkc, a)) {
        need |= MLX5_ACCESS_LOCAL_WRITE;
    }
    if (key == MLX5_RESD_LKEY ||
        mlx5_mkey_check(u->by->func, &user, key,
                        MLX5_GET(wqe_klm, u->xlt, address),
                        MLX5_GET(wqe_klm, u->xlt, byte_count), need) !=
            MLX5_MKEY_OK) {
        return MLX5_UMR_BIND;
    }
    *region = mlx5_mkey_find(u->by->func, key);
    return *region == u->mkey ? MLX5_UMR_BIND : MLX5_UMR_OK;
}

/* ---- all of it ---- */

static void commit(Umr *u, Mlx5Mkey *region)
{
    if (u->bsf_octowords) {
        mlx5_mkey_set_sig(u->mkey, &u->sig);
    }
    mlx5_mkey_set_context(u->mkey, u->mkc);
    if (u->octowords) {
        mlx5_mkey_note_paged(u->mkey, u->xlt, u->octowords * 2);
        mlx5_mkey_load(u->mkey, u->offset * 2, u->xlt, u->octowords * 2, 0);
        mlx5_mkey_bind(u->mkey, region);
    }
}

static Mlx5UmrResult execute(Umr *u)
{
    static Mlx5UmrResult (*const checks[])(Umr *u) = {
        check_key, check_privilege, check_state, check_mask,
        check_context, check_xlt, check_bsf_room, read_xlt, check_bsf,
    };
    Mlx5Mkey *region = NULL;
    Mlx5UmrResult result;

    parse(u);
    for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
        result = checks[i](u);
        if (result != MLX5_UMR_OK) {
            return result;
        }
    }
    if (is_bind(u)) {
        result = check_bind(u, &region);
        if (result != MLX5_UMR_OK) {
            return result;
        }
    }
    commit(u, region);
    return MLX5_UMR_OK;
}

Mlx5UmrResult mlx5_umr_run(const Mlx5UmrBy *by, const Mlx5UmrWqe *wqe)
{
    Umr u = { .by = by, .wqe = wqe };
    Mlx5UmrResult result = execute(&u);

    g_free(u.xlt);
    mlx5_trace(by->func, MLX5_TRACE_STATE,
               "umr qp 0x%x mkey 0x%x mask 0x%" G_GINT64_MODIFIER
               "x xlt %u at %" G_GUINT64_FORMAT ": %s", by->id, wqe->key,
               u.mask, (unsigned)u.octowords, u.offset,
               mlx5_umr_result_name(result));
    return result;
}

Mlx5UmrResult mlx5_umr_execute(Mlx5Qp *qp, const Mlx5SendWqe *wqe)
{
    Mlx5UmrBy by = {
        .func = qp->o.func, .uid = qp->o.uid, .pdn = mlx5_qp_pdn(qp),
        .id = qp->o.id, .rlkey = qp->rlkey,
        .physical = MLX5_GET(qpc, qp->qpc, fre),
        .any = qp->st == MLX5_QP_ST_REG_UMR,
    };
    Mlx5UmrWqe umr = {
        .raw = wqe->raw, .len = wqe->ds * 16u, .ctrl_at = wqe->umr_ctrl_at,
        .mkey_at = wqe->umr_mkey_at, .xlt_at = wqe->umr_xlt_at,
        .key = wqe->general_id,
    };

    return mlx5_umr_run(&by, &umr);
}

static const struct {
    const char *name;
    uint8_t vendor;
} results[] = {
    [MLX5_UMR_OK] = { "ok", 0 },
#define R(result, name) \
    [MLX5_UMR_##result] = { name, MLX5_VENDOR_UMR_##result }
    R(MALFORMED, "malformed"),
    R(NO_KEY, "no such key"),
    R(NOT_ENABLED, "umr_en is 0"),
    R(PRIVILEGE, "not this queue's to change"),
    R(OWNER, "another context's key"),
    R(NOT_FREE, "key is not free"),
    R(IS_FREE, "key is free"),
    R(QPN, "bound to another queue"),
    R(MASK, "mkey_mask names what cannot change"),
    R(UNSUPPORTED, "signature is not offered"),
    R(XLT_BOUNDS, "translations past the key's room"),
    R(XLT_MEMORY, "translations of all keys take too much"),
    R(XLT_ALIGN, "translations not in units of 64 bytes"),
    R(SOURCE, "translations cannot be read"),
    R(CONTEXT, "resulting context is invalid"),
    R(BIND, "region cannot carry the window"),
    R(BSF_ROOM, "BSF longer than the key's room"),
    R(BSF_MISSING, "signature without a BSF"),
    R(BSF_SIZE, "BSF of a wrong size or type"),
    R(BSF_EXTENDED, "BSF over the whole transaction"),
    R(BSF_FORMAT, "unknown signature in the BSF"),
    R(BSF_BLOCK, "unknown block size in the BSF"),
    R(BSF_STRUCTURE, "same structure, with two that differ"),
    R(BSF_PSV, "no such PSV in the domain"),
#undef R
};
G_STATIC_ASSERT(G_N_ELEMENTS(results) == MLX5_UMR_RESULT_COUNT);

Mlx5Vendor mlx5_umr_vendor(Mlx5UmrResult result)
{
    /* Of our own enum. */
    g_assert(result < MLX5_UMR_RESULT_COUNT);
    return results[result].vendor;
}

const char *mlx5_umr_result_name(Mlx5UmrResult result)
{
    return result < MLX5_UMR_RESULT_COUNT ? results[result].name : "?";
}
