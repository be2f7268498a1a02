/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory keys: contexts and commands. Where a key's bytes are is in
 * mkey_walk.c; UMR edits contexts through the functions here (rdma/umr.c).
 *
 * Sources: PRM Memory Key Context; driver: mr.c, odp.c and umr.c of mlx5_ib,
 * mlx5_core fw_tracer.c and en_main.c. Left out, and refused: software-managed
 * memory and keys of other functions (the other access modes from 4 on).
 */
#include "obj/mkey.h"
#include "obj/sig.h"
#include "fw/fw.h"
#include "bus/trace.h"
#include "obj/check.h"
#include "obj/umem.h"
#include "obj/memic.h"

/* The CPU's own page is the smallest; the context's field had five bits. A key
 * over all addresses may be one page that is never there, of 2^61 bytes
 * (driver: odp.c alloc_implicit_mr_null_mkey). */
#define MTT_MIN_LOG_PAGE 12
#define MTT_MAX_LOG_PAGE 31
#define MTT_ALL_LOG_PAGE 61
/* unknown: the smallest KSM entry; drivers use 2^8 and up. */
#define KSM_MIN_LOG_PAGE 4
#define KSM_MAX_LOG_PAGE 62

/* Octowords come in groups of four: UMR writes 64 bytes at a time. */
#define XLT_ALIGN_OCTOWORDS 4u

static uint32_t mkc_mode(const uint8_t *mkc)
{
    return MLX5_GET(mkc, mkc, access_mode_4_2) << 2 |
           MLX5_GET(mkc, mkc, access_mode_1_0);
}

static uint64_t mkc_max_units(const uint8_t *mkc)
{
    uint64_t octowords = MLX5_GET(mkc, mkc, translations_octword_size);

    return (octowords + XLT_ALIGN_OCTOWORDS - 1) / XLT_ALIGN_OCTOWORDS *
           XLT_ALIGN_OCTOWORDS * 2;
}

static uint32_t page_size_check(uint32_t mode, uint32_t log_page)
{
    if (mode == MLX5_MKC_ACCESS_MODE_MTT && log_page != MTT_ALL_LOG_PAGE &&
        (log_page < MTT_MIN_LOG_PAGE || log_page > MTT_MAX_LOG_PAGE)) {
        return MLX5_SYND_MKEY_PAGE_SIZE;
    }
    if (mode == MLX5_MKC_ACCESS_MODE_KSM &&
        (log_page < KSM_MIN_LOG_PAGE || log_page > KSM_MAX_LOG_PAGE)) {
        return MLX5_SYND_MKEY_PAGE_SIZE;
    }
    return 0;
}

/* Has the context room for an entry per page of [start, start + len)? */
static bool xlt_room_ok(const uint8_t *mkc, uint32_t mode, uint64_t start,
                        uint64_t len)
{
    uint32_t shift = MLX5_GET(mkc, mkc, log_page_size);
    uint64_t in_page = start & ((1ull << shift) - 1);
    uint64_t pages;

    if (mode != MLX5_MKC_ACCESS_MODE_MTT && mode != MLX5_MKC_ACCESS_MODE_KSM) {
        return true;
    }
    if (!len) {
        return true;
    }
    pages = (in_page + (len - 1) < len - 1 ? UINT64_MAX >> shift
                                           : (in_page + (len - 1)) >> shift) + 1;
    return pages <= mkc_max_units(mkc) /
                    (mode == MLX5_MKC_ACCESS_MODE_KSM ? 2 : 1);
}

uint32_t mlx5_mkey_context_check(const uint8_t *mkc)
{
    uint32_t mode = mkc_mode(mkc);
    uint64_t start = MLX5_GET(mkc, mkc, start_addr);
    uint64_t len = MLX5_GET(mkc, mkc, len);
    uint32_t bad_page;

    if (mode > MLX5_MKC_ACCESS_MODE_KSM) {
        return MLX5_SYND_MKEY_MODE;
    }
    if (MLX5_GET(mkc, mkc, bsf_en) && MLX5_GET(mkc, mkc, length64)) {
        return MLX5_SYND_MKEY_BSF_LENGTH;
    }
    if (MLX5_GET(mkc, mkc, free)) {
        return 0; /* what UMR will set is checked when it enables the key */
    }
    bad_page = page_size_check(mode, MLX5_GET(mkc, mkc, log_page_size));
    if (bad_page) {
        return bad_page;
    }
    if (MLX5_GET(mkc, mkc, length64)) {
        return 0;
    }
    if (!mlx5_range_ok(start, len)) {
        return MLX5_SYND_MKEY_RANGE;
    }
    return xlt_room_ok(mkc, mode, start, len) ? 0 : MLX5_SYND_MKEY_XLT_SIZE;
}

static uint32_t mkc_access(const uint8_t *mkc)
{
    return (MLX5_GET(mkc, mkc, lr) ? MLX5_ACCESS_LOCAL_READ : 0) |
           (MLX5_GET(mkc, mkc, lw) ? MLX5_ACCESS_LOCAL_WRITE : 0) |
           (MLX5_GET(mkc, mkc, rr) ? MLX5_ACCESS_REMOTE_READ : 0) |
           (MLX5_GET(mkc, mkc, rw) ? MLX5_ACCESS_REMOTE_WRITE : 0) |
           (MLX5_GET(mkc, mkc, a) ? MLX5_ACCESS_REMOTE_ATOMIC : 0);
}

static void set_pd(Mlx5Mkey *mkey, uint32_t pdn)
{
    Mlx5Obj *pd = mlx5_obj_get(mkey->o.func, MLX5_OBJ_PD, pdn);

    mlx5_obj_ref(pd);
    mlx5_obj_unref(mkey->pd);
    mkey->pd = pd;
    mkey->pdn = pdn;
}

/* Accesses look for signatures only while some key has one. */
static void set_sig_on(Mlx5Mkey *mkey, bool on)
{
    mkey->o.func->sig_keys += on - mkey->sig_on;
    mkey->sig_on = on;
    if (on) { /* eight bytes have no signature that could stay right */
        mkey->access &= ~(uint32_t)MLX5_ACCESS_REMOTE_ATOMIC;
    }
    mkey->span = on ? mlx5_sig_wire_len(mkey->sig, mkey->len) : mkey->len;
}

/*
 * Software counts the errors that it has seen; a count other than the last
 * one asks for the next (driver: mr.c sigerr_count; libmlx5 err_count).
 */
static void arm_sig(Mlx5Mkey *mkey, bool was, bool is)
{
    if (mkey->sig && was != is) {
        mkey->sig->armed = true;
    }
}

void mlx5_mkey_set_sig(Mlx5Mkey *mkey, const Mlx5Sig *sig)
{
    bool armed = mkey->sig ? mkey->sig->armed
                           : MLX5_GET(mkc, mkey->mkc, expected_sigerr_count);

    if (!mkey->sig) {
        mkey->sig = g_new(Mlx5Sig, 1);
    }
    *mkey->sig = *sig;
    mkey->sig->armed = armed;
}

/* @was: it was free before. What it covers next may be pinned. */
static void set_free(Mlx5Mkey *mkey, bool was)
{
    mlx5_mkey_changed(mkey);
    mkey->free = true;
    mkey->paged = mkey->paged && was;
    set_sig_on(mkey, false);
    mlx5_mkey_bind(mkey, NULL);
}

void mlx5_mkey_set_context(Mlx5Mkey *mkey, const uint8_t *mkc)
{
    bool was_free = mkey->free;

    mlx5_mkey_changed(mkey);
    arm_sig(mkey, MLX5_GET(mkc, mkey->mkc, expected_sigerr_count),
            MLX5_GET(mkc, mkc, expected_sigerr_count));
    memmove(mkey->mkc, mkc, sizeof(mkey->mkc));
    mkey->variant = MLX5_GET(mkc, mkc, mkey_7_0);
    mkey->free = false;
    mkey->length64 = MLX5_GET(mkc, mkc, length64);
    mkey->log_page_bytes = MLX5_GET(mkc, mkc, log_page_size);
    mkey->mode = mkc_mode(mkc);
    mkey->access = mkc_access(mkc);
    mkey->qpn = MLX5_GET(mkc, mkc, qpn);
    mkey->start = MLX5_GET(mkc, mkc, start_addr);
    mkey->len = MLX5_GET(mkc, mkc, len);
    mkey->xlt.max_units = mkc_max_units(mkc);
    set_pd(mkey, MLX5_GET(mkc, mkc, pd));
    set_sig_on(mkey, mkey->sig && MLX5_GET(mkc, mkc, bsf_en));
    if (MLX5_GET(mkc, mkc, free)) {
        set_free(mkey, was_free);
    }
}

void mlx5_mkey_bind(Mlx5Mkey *window, Mlx5Mkey *region)
{
    mlx5_obj_ref(region);
    mlx5_obj_unref(window->bound);
    window->bound = region;
}

void mlx5_mkey_release(void *obj)
{
    Mlx5Mkey *mkey = obj;

    mlx5_mkey_bind(mkey, NULL);
    set_sig_on(mkey, false);
    g_clear_pointer(&mkey->sig, g_free);
    mlx5_obj_unref(mkey->memic);
    mlx5_obj_unref(mkey->pd);
    mkey->pd = NULL;
    mlx5_obj_unref(mkey->umem);
    mkey->umem = NULL;
    mlx5_mkey_unload(mkey);
}

Mlx5MkeyResult mlx5_mkey_invalidate(Mlx5Func *func, const Mlx5MkeyUser *user,
                                    uint32_t key)
{
    Mlx5Mkey *mkey = mlx5_mkey_find(func, key);

    if (!mkey) {
        return MLX5_MKEY_UNKNOWN;
    }
    if (mkey->free) {
        return MLX5_MKEY_FREE;
    }
    if (mkey->pdn != user->pdn) {
        return MLX5_MKEY_PD;
    }
    if (mkey->qpn != MLX5_MKEY_ANY_QPN && mkey->qpn != user->qpn) {
        return MLX5_MKEY_QPN;
    }
    if (!MLX5_GET(mkc, mkey->mkc, en_rinval)) {
        return MLX5_MKEY_ACCESS;
    }
    MLX5_SET(mkc, mkey->mkc, free, 1);
    set_free(mkey, false);
    mlx5_trace(func, MLX5_TRACE_STATE, "mkey 0x%x remotely invalidated", key);
    return MLX5_MKEY_OK;
}

const char *mlx5_mkey_result_name(Mlx5MkeyResult result)
{
    static const char *const names[] = {
        [MLX5_MKEY_OK] = "ok",
        [MLX5_MKEY_UNKNOWN] = "unknown key",
        [MLX5_MKEY_FREE] = "free",
        [MLX5_MKEY_PD] = "protection domain",
        [MLX5_MKEY_QPN] = "bound to another queue",
        [MLX5_MKEY_ACCESS] = "access",
        [MLX5_MKEY_BOUNDS] = "bounds",
        [MLX5_MKEY_TRANSLATION] = "translation",
        [MLX5_MKEY_FAULT] = "page not present",
        [MLX5_MKEY_SIGNATURE] = "signature",
        [MLX5_MKEY_PSV] = "no PSV",
        [MLX5_MKEY_MEMORY] = "memory",
    };

    return result < G_N_ELEMENTS(names) ? names[result] : "?";
}

/* A byte stream format comes by UMR alone, before the key can be used. */
static uint32_t bsf_check(const Mlx5Func *func, const uint8_t *mkc)
{
    if (!MLX5_GET(mkc, mkc, bsf_en)) {
        return 0;
    }
    if (!func->props.signature) {
        return MLX5_SYND_MKEY_BSF;
    }
    return MLX5_GET(mkc, mkc, free) ? 0 : MLX5_SYND_MKEY_BSF_MISSING;
}

/*
 * A user context covers its own memory, through a UMEM, or other keys; bus
 * addresses are not its to give.
 */
static bool user_may(const uint8_t *in, const uint8_t *mkc)
{
    uint32_t mode = mkc_mode(mkc);

    return mode == MLX5_MKC_ACCESS_MODE_KLMS ||
           mode == MLX5_MKC_ACCESS_MODE_KSM ||
           (mode == MLX5_MKC_ACCESS_MODE_MTT &&
            MLX5_GET(create_mkey_in, in, mkey_umem_valid));
}

/* A key over a UMEM: what CREATE_MKEY says of it. */
typedef struct UmemKey {
    Mlx5Umem *umem;              /* NULL: not over a UMEM */
    uint64_t first;              /* offset in it of the key's first page; */
                                 /* may be below the first byte: wraps */
    uint64_t pages;
    uint32_t log_page;
} UmemKey;

/* Return: 0 or the syndrome of what breaks a rule. */
static uint32_t umem_key_check(const uint8_t *in, const uint8_t *mkc,
                               UmemKey *k)
{
    uint64_t offset = MLX5_GET(create_mkey_in, in, mkey_umem_offset);
    uint64_t start = MLX5_GET(mkc, mkc, start_addr);
    uint64_t len = MLX5_GET(mkc, mkc, len);
    uint64_t in_page;

    k->log_page = MLX5_GET(mkc, mkc, log_page_size);
    in_page = start & ((UINT64_C(1) << k->log_page) - 1);
    if (mkc_mode(mkc) != MLX5_MKC_ACCESS_MODE_MTT ||
        MLX5_GET(mkc, mkc, free) || MLX5_GET(mkc, mkc, length64) ||
        k->log_page > k->umem->log_page_bytes) {
        return MLX5_SYND_MKEY_UMEM_MODE;
    }
    if (!mlx5_range_inside(offset, len, 0, mlx5_umem_bytes(k->umem))) {
        return MLX5_SYND_MKEY_UMEM_BOUNDS;
    }
    /* Key and memory must lie alike in their pages. */
    if ((k->umem->page_offset + offset - in_page) &
        ((UINT64_C(1) << k->log_page) - 1)) {
        return MLX5_SYND_MKEY_UMEM_ALIGN;
    }
    k->first = offset - in_page;
    k->pages = len ? ((in_page + len - 1) >> k->log_page) + 1 : 0;
    return 0;
}

/* Return: false if the command was refused. */
static bool umem_key_find(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *mkc,
                          UmemKey *k)
{
    uint32_t bad;

    k->umem = NULL;
    k->pages = 0;
    if (!MLX5_GET(create_mkey_in, cmd->in, mkey_umem_valid)) {
        return true;
    }
    k->umem = mlx5_obj_find(func, cmd, MLX5_OBJ_UMEM,
                            MLX5_GET(create_mkey_in, cmd->in, mkey_umem_id),
                            MLX5_SYND_MKEY_UMEM);
    if (!k->umem) {
        return false;
    }
    bad = umem_key_check(cmd->in, mkc, k);
    return mlx5_check_param(cmd, !bad, bad);
}

/* The entries of the key, from those of the UMEM. */
static void umem_key_load(Mlx5Mkey *mkey, const UmemKey *k)
{
    mkey->umem = k->umem;
    mlx5_obj_ref(k->umem);
    for (uint64_t i = 0; i < k->pages; i++) {
        uint64_t permissions, addr;
        uint8_t entry[8];

        addr = mlx5_umem_address(k->umem, k->first + (i << k->log_page),
                                 &permissions);
        mlx5_prm_set(entry, 0, 64, addr | permissions);
        mlx5_mkey_load(mkey, i, entry, 1, 0);
    }
}

/*
 * A key over device memory: start_addr is a place in BAR0, and addresses under
 * the key count from there (driver: mlx5_ib_reg_dm_mr; verbs: zero based).
 */
static uint32_t memic_check(Mlx5Func *func, const uint8_t *mkc, uint16_t uid)
{
    uint64_t len = MLX5_GET(mkc, mkc, len), at;
    const Mlx5Memic *memic;

    if (MLX5_GET(mkc, mkc, free) || MLX5_GET(mkc, mkc, length64) ||
        MLX5_GET(mkc, mkc, bsf_en)) {
        return MLX5_SYND_MKEY_MEMIC_FORM;
    }
    memic = mlx5_memic_find(func, MLX5_GET(mkc, mkc, start_addr), len, &at);
    /* Allocations are the kernel's; a user context can't prove one its own. */
    if (!memic || !mlx5_obj_uid_ok(memic, uid) ||
        !mlx5_range_inside(at, len, memic->at, memic->bytes)) {
        return MLX5_SYND_MKEY_MEMIC_RANGE;
    }
    return 0;
}

static void memic_attach(Mlx5Mkey *mkey)
{
    Mlx5Memic *memic = mlx5_memic_find(mkey->o.func, mkey->start, mkey->len,
                                       &mkey->memic_at);

    mkey->memic = &memic->o;
    mlx5_obj_ref(mkey->memic);
    mkey->start = 0;
}

/* Checks of CREATE_MKEY that are not about the context. 0 = passed. */
static uint32_t create_check(Mlx5Func *func, const Mlx5Cmd *cmd,
                             uint64_t *actual)
{
    const uint8_t *in = cmd->in;
    const uint8_t *mkc = MLX5_ADDR_OF(create_mkey_in, in,
                                      memory_key_mkey_entry);
    uint64_t room = cmd->in_len < MLX5_ST_SZ_BYTES(create_mkey_in) ? 0 :
                    cmd->in_len - MLX5_ST_SZ_BYTES(create_mkey_in);

    *actual = MLX5_GET(create_mkey_in, in, translations_octword_actual_size);
    if (MLX5_GET(create_mkey_in, in, pg_access) &&
        !MLX5_FW_CAP_GEN(func, pg)) {
        return MLX5_SYND_MKEY_PG_ACCESS;
    }
    if (cmd->uid && !user_may(in, mkc)) {
        return MLX5_SYND_MKEY_USER_MODE;
    }
    if (*actual > MLX5_GET(mkc, mkc, translations_octword_size)) {
        return MLX5_SYND_MKEY_XLT_ACTUAL;
    }
    if (MLX5_GET(create_mkey_in, in, mkey_umem_valid)) {
        *actual = 0;             /* entries come from the UMEM */
    }
    if (*actual * 16 > room) {
        return MLX5_SYND_MKEY_XLT_INPUT;
    }
    return mkc_mode(mkc) == MLX5_MKC_ACCESS_MODE_MEMIC
               ? memic_check(func, mkc, cmd->uid)
               : mlx5_mkey_context_check(mkc);
}

/* Without pg_access, entries are addresses and have no present bits. */
static bool all_present(const Mlx5Cmd *cmd, const Mlx5Mkey *mkey)
{
    return mkey->mode == MLX5_MKC_ACCESS_MODE_MTT &&
           !MLX5_GET(create_mkey_in, cmd->in, pg_access);
}

MLX5_CMD_HANDLER(mlx5_cmd_create_mkey)
{
    const uint8_t *mkc = MLX5_ADDR_OF(create_mkey_in, cmd->in,
                                      memory_key_mkey_entry);
    uint64_t actual;
    uint32_t bad = create_check(func, cmd, &actual);
    UmemKey k;
    Mlx5Mkey *mkey;

    bad = bad ? bad : bsf_check(func, mkc);
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    if (!mlx5_obj_find(func, cmd, MLX5_OBJ_PD, MLX5_GET(mkc, mkc, pd),
                       MLX5_SYND_MKEY_PD)) {
        return;
    }
    if (!umem_key_find(func, cmd, mkc, &k)) {
        return;
    }
    if (!mlx5_mkey_fits(func, actual * 2 + k.pages)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_MKEY_XLT_MEMORY);
        return;
    }
    mkey = mlx5_obj_new(func, MLX5_OBJ_MKEY, sizeof(*mkey), cmd->uid);
    if (!mkey) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_MKEY_FULL);
        return;
    }
    mlx5_mkey_set_context(mkey, mkc);
    mkey->paged = MLX5_GET(create_mkey_in, cmd->in, pg_access);
    if (k.umem) {
        umem_key_load(mkey, &k);
    } else {
        mlx5_mkey_load(mkey, 0,
                       MLX5_ADDR_OF(create_mkey_in, cmd->in, klm_pas_mtt),
                       actual * 2, all_present(cmd, mkey) ?
                       MLX5_MTT_RD | MLX5_MTT_WR : 0);
    }
    if (mkey->mode == MLX5_MKC_ACCESS_MODE_MEMIC) {
        memic_attach(mkey);
    }
    MLX5_SET(create_mkey_out, cmd->out, mkey_index, mkey->o.id);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_mkey)
{
    const uint32_t first = MLX5_BYTE_OFF(query_mkey_out, bsf0_klm0_pas_mtt0_1);
    uint64_t units;
    Mlx5Mkey *mkey;
    uint8_t *xlt = MLX5_ADDR_OF(query_mkey_out, cmd->out,
                                bsf0_klm0_pas_mtt0_1);

    mkey = mlx5_obj_find(func, cmd, MLX5_OBJ_MKEY,
                         MLX5_GET(query_mkey_in, cmd->in, mkey_index),
                         MLX5_SYND_MKEY_QUERY_UNKNOWN);
    if (!mkey) {
        return;
    }
    memcpy(MLX5_ADDR_OF(query_mkey_out, cmd->out, memory_key_mkey_entry),
           mkey->mkc, sizeof(mkey->mkc));
    units = cmd->out_len > first ? (cmd->out_len - first) / 8 : 0;
    for (uint64_t unit = 0; unit < MIN(units, mkey->xlt.max_units); unit++) {
        mlx5_prm_set(xlt + unit * 8, 0, 64, mlx5_xlt_get(&mkey->xlt, unit));
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_mkey)
{
    Mlx5Mkey *mkey;

    mkey = mlx5_obj_find(func, cmd, MLX5_OBJ_MKEY,
                         MLX5_GET(destroy_mkey_in, cmd->in, mkey_index),
                         MLX5_SYND_MKEY_DESTROY_UNKNOWN);
    if (!mkey) {
        return;
    }
    if (mkey->o.refs) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_MKEY_BOUND);
        return;
    }
    mlx5_obj_delete(mkey);
}
