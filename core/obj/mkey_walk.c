/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the bytes of a memory key are: the checks of an access, storage of
 * translation entries, and the walk over them.
 *
 *   PA    the address is a bus address
 *   MTT   one bus address per page of 2^log_page_size
 *   KSM   one {key, address} per 2^log_page_size bytes, under another key
 *   MEMIC device memory, from the key's address 0 on
 *   KLM   {length, key, address} after each other; or, if the first entry is
 *         a repeat block, several strided streams interleaved
 *
 * Of a paged key, an MTT without the present bit that an access needs, and a
 * KSM entry under the null key, are pages that are not there yet: a fault. Of
 * other keys the one is an error and the other nothing.
 *
 * Keys under keys need the same protection domain and the local right that
 * goes with the access, and are followed MLX5_MKEY_MAX_DEPTH deep. A walk takes
 * MAX_STEPS entries at most, for lists can be made that multiply.
 *
 * Sources: PRM Memory Key Context; driver: mr.c, odp.c; libmlx5 qp.c
 * (umr_sg_list_create, umr_strided_seg_create); IBA 10.6.3.
 */
#include "obj/mkey.h"
#include "fw/fw.h"
#include "prm/prm.h"

#define MAX_STEPS (1u << 20)

/* Where a KLM has its key, a repeat block has this (libmlx5 qp.c). */
#define REPEAT_BLOCK_OP 0x400u

#define REMOTE_ACCESS (MLX5_ACCESS_REMOTE_READ | MLX5_ACCESS_REMOTE_WRITE | \
                       MLX5_ACCESS_REMOTE_ATOMIC)
#define WRITE_ACCESS (MLX5_ACCESS_LOCAL_WRITE | MLX5_ACCESS_REMOTE_WRITE | \
                      MLX5_ACCESS_REMOTE_ATOMIC)

/* ---- storage ---- */

/* Entries from @unit on that lie together. Return: NULL if never loaded. */
static const uint64_t *xlt_run(const Mlx5Xlt *xlt, uint64_t unit, uint64_t *n)
{
    const uint64_t *chunk;

    if (unit < xlt->first_units) {
        *n = xlt->first_units - unit;
        return xlt->first + unit;
    }
    if (!xlt->more || unit < MLX5_XLT_CHUNK) {
        return NULL;
    }
    chunk = g_hash_table_lookup(xlt->more,
                                GSIZE_TO_POINTER(unit / MLX5_XLT_CHUNK));
    *n = MLX5_XLT_CHUNK - unit % MLX5_XLT_CHUNK;
    return chunk ? chunk + unit % MLX5_XLT_CHUNK : NULL;
}

uint64_t mlx5_xlt_get(const Mlx5Xlt *xlt, uint64_t unit)
{
    uint64_t n;
    const uint64_t *e = xlt_run(xlt, unit, &n);

    return e ? *e : 0;
}

static void first_grow(Mlx5Mkey *mkey, uint32_t need)
{
    Mlx5Xlt *xlt = &mkey->xlt;
    uint32_t units = MAX(xlt->first_units, 8u);

    while (units < need) {
        units *= 2;
    }
    if (units == xlt->first_units) {
        return;
    }
    xlt->first = g_renew(uint64_t, xlt->first, units);
    memset(xlt->first + xlt->first_units, 0,
           (units - xlt->first_units) * sizeof(uint64_t));
    mkey->o.func->xlt_bytes += (units - xlt->first_units) * sizeof(uint64_t);
    xlt->first_units = units;
}

/* Room for up to *@n entries at @unit; *@n becomes how many fit there. */
static uint64_t *xlt_room(Mlx5Mkey *mkey, uint64_t unit, uint64_t *n)
{
    Mlx5Xlt *xlt = &mkey->xlt;
    uint64_t index = unit / MLX5_XLT_CHUNK, at = unit % MLX5_XLT_CHUNK;
    uint64_t *chunk;

    *n = MIN(*n, MLX5_XLT_CHUNK - at);
    if (index == 0) {
        first_grow(mkey, at + *n);
        return xlt->first + at;
    }
    if (!xlt->more) {
        xlt->more = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    chunk = g_hash_table_lookup(xlt->more, GSIZE_TO_POINTER(index));
    if (!chunk) {
        chunk = g_new0(uint64_t, MLX5_XLT_CHUNK);
        mkey->o.func->xlt_bytes += MLX5_XLT_CHUNK * sizeof(uint64_t);
        g_hash_table_insert(xlt->more, GSIZE_TO_POINTER(index), chunk);
    }
    return chunk + at;
}

void mlx5_mkey_load(Mlx5Mkey *mkey, uint64_t unit, const uint8_t *entries,
                    uint64_t num_units, uint64_t or_bits)
{
    mlx5_mkey_changed(mkey);
    while (num_units) {
        uint64_t n = num_units;
        uint64_t *to = xlt_room(mkey, unit, &n);

        for (uint64_t i = 0; i < n; i++) {
            to[i] = mlx5_prm_get(entries + i * 8, 0, 64) | or_bits;
        }
        unit += n;
        entries += n * 8;
        num_units -= n;
    }
    mkey->klm_at = 0;
    mkey->klm_off = 0;
}

static bool mtt_absent(const uint8_t *entry)
{
    return (entry[7] & (MLX5_MTT_RD | MLX5_MTT_WR)) !=
           (MLX5_MTT_RD | MLX5_MTT_WR);
}

/* Units are halves of an entry; the first has the key in its low word. */
static bool ksm_absent(const uint8_t *entry)
{
    return mlx5_prm_get(entry, 32, 32) == MLX5_NULL_MKEY;
}

void mlx5_mkey_note_paged(Mlx5Mkey *mkey, const uint8_t *entries,
                          uint64_t num_units)
{
    bool ksm = mkey->mode == MLX5_MKC_ACCESS_MODE_KSM;

    if (!MLX5_FW_CAP_GEN(mkey->o.func, pg) ||
        (!ksm && mkey->mode != MLX5_MKC_ACCESS_MODE_MTT)) {
        return;
    }
    for (uint64_t i = 0; i < num_units && !mkey->paged; i += 1 + ksm) {
        mkey->paged = ksm ? ksm_absent(entries + i * 8)
                          : mtt_absent(entries + i * 8);
    }
}

bool mlx5_mkey_fits(const Mlx5Func *func, uint64_t num_units)
{
    /* Entries may touch one chunk more at each end than they fill. */
    uint64_t chunks = num_units ? num_units / MLX5_XLT_CHUNK + 2 : 0;

    return chunks * MLX5_XLT_CHUNK * sizeof(uint64_t) <=
           MLX5_XLT_BUDGET_BYTES - MIN(func->xlt_bytes, MLX5_XLT_BUDGET_BYTES);
}

void mlx5_mkey_unload(Mlx5Mkey *mkey)
{
    Mlx5Xlt *xlt = &mkey->xlt;
    uint64_t units = xlt->first_units;

    mlx5_mkey_changed(mkey);
    if (xlt->more) {
        units += (uint64_t)g_hash_table_size(xlt->more) * MLX5_XLT_CHUNK;
    }
    mkey->o.func->xlt_bytes -= units * sizeof(uint64_t);
    g_clear_pointer(&xlt->first, g_free);
    g_clear_pointer(&xlt->more, g_hash_table_unref);
    xlt->first_units = 0;
}

/* ---- checks ---- */

/* The checks of one key, in the order in which a refusal names them. */
static inline Mlx5MkeyResult check_key(const Mlx5Mkey *mkey,
                                       const Mlx5MkeyUser *user, uint64_t va,
                                       uint64_t len, uint32_t access)
{
    if (mkey->free) {
        return MLX5_MKEY_FREE;
    }
    if (mkey->pdn != user->pdn) {
        return MLX5_MKEY_PD;
    }
    if (mkey->qpn != MLX5_MKEY_ANY_QPN && mkey->qpn != user->qpn) {
        return MLX5_MKEY_QPN;
    }
    if (access & ~mkey->access) {
        return MLX5_MKEY_ACCESS;
    }
    if (mkey->length64 ? !mlx5_range_ok(va, len)
                       : !mlx5_range_inside(va, len, mkey->start, mkey->span)) {
        return MLX5_MKEY_BOUNDS;
    }
    return MLX5_MKEY_OK;
}

/* The reserved lkey: all of memory, locally, for queues that may. */
static Mlx5MkeyResult check_resd(const Mlx5MkeyUser *user, uint64_t va,
                                 uint64_t len, uint32_t access)
{
    if (!user->rlkey) {
        return MLX5_MKEY_UNKNOWN;
    }
    if (access & REMOTE_ACCESS) {
        return MLX5_MKEY_ACCESS;
    }
    return mlx5_range_ok(va, len) ? MLX5_MKEY_OK : MLX5_MKEY_BOUNDS;
}

/* Keys of no memory: what is read is zero, what is written is gone. */
static inline bool is_nowhere(uint32_t key)
{
    return key == MLX5_NULL_MKEY || key == MLX5_DUMP_FILL_MKEY;
}

/* They cover anything, of any domain, locally. */
static Mlx5MkeyResult check_null(uint64_t va, uint64_t len, uint32_t access)
{
    if (access & REMOTE_ACCESS) {
        return MLX5_MKEY_ACCESS;
    }
    return mlx5_range_ok(va, len) ? MLX5_MKEY_OK : MLX5_MKEY_BOUNDS;
}

Mlx5MkeyResult mlx5_mkey_check(Mlx5Func *func, const Mlx5MkeyUser *user,
                               uint32_t key, uint64_t va, uint64_t len,
                               uint32_t access)
{
    const Mlx5Mkey *mkey;

    if (key == MLX5_RESD_LKEY) {
        return check_resd(user, va, len, access);
    }
    if (is_nowhere(key)) {
        return check_null(va, len, access);
    }
    mkey = mlx5_mkey_find(func, key);
    return mkey ? check_key(mkey, user, va, len, access) : MLX5_MKEY_UNKNOWN;
}

/* ---- ranges ---- */

Mlx5Ranges *mlx5_ranges_new(void)
{
    return g_new0(Mlx5Ranges, 1);
}

void mlx5_ranges_free(Mlx5Ranges *ranges)
{
    g_free(ranges->data);
    g_free(ranges);
}

/* Rare: kept out of the walkers, which are short without it. */
G_GNUC_NO_INLINE void mlx5_ranges_grow(Mlx5Ranges *ranges, Mlx5Range range)
{
    ranges->room = MAX(16, 2 * ranges->room);
    ranges->data = g_renew(Mlx5Range, ranges->data, ranges->room);
    ranges->data[ranges->len++] = range;
}

/* ---- walk ---- */

typedef struct Walk {
    Mlx5Func *func;
    const Mlx5MkeyUser *user;
    Mlx5Ranges *ranges;
    uint32_t access;         /* asked of the key at the top */
    uint32_t steps;          /* list entries still allowed */
} Walk;

typedef Mlx5MkeyResult WalkFn(Walk *w, Mlx5Mkey *mkey, uint64_t va,
                              uint64_t len, uint32_t depth);

static WalkFn walk_pa, walk_mtt, walk_klm, walk_ksm, walk_memic;

static WalkFn *const walkers[] = {
    [MLX5_MKC_ACCESS_MODE_PA] = walk_pa,
    [MLX5_MKC_ACCESS_MODE_MTT] = walk_mtt,
    [MLX5_MKC_ACCESS_MODE_KLMS] = walk_klm,
    [MLX5_MKC_ACCESS_MODE_KSM] = walk_ksm,
    [MLX5_MKC_ACCESS_MODE_MEMIC] = walk_memic,
};

static inline void emit(Walk *w, uint64_t addr, uint64_t len)
{
    mlx5_ranges_join(w->ranges, (Mlx5Range){ addr, len });
}

static bool step(Walk *w)
{
    return w->steps && w->steps--;
}

/* Nothing is mapped at @va of @mkey, of which @len bytes are wanted. */
static Mlx5MkeyResult missed(Walk *w, const Mlx5Mkey *mkey, uint64_t va,
                             uint64_t len)
{
    if (!mkey->paged) {
        return MLX5_MKEY_TRANSLATION;
    }
    w->func->page_miss.key = mkey->o.id << 8 | mkey->variant;
    w->func->page_miss.va = va;
    w->func->page_miss.len = len;
    return MLX5_MKEY_FAULT;
}

static Mlx5MkeyResult walk_pa(Walk *w, Mlx5Mkey *mkey, uint64_t va,
                              uint64_t len, uint32_t depth)
{
    (void)mkey;
    (void)depth;
    if ((va | (va + len - 1)) & MLX5_DMA_MEMIC) {
        return MLX5_MKEY_TRANSLATION; /* no bus address */
    }
    emit(w, va, len);
    return MLX5_MKEY_OK;
}

static Mlx5MkeyResult walk_memic(Walk *w, Mlx5Mkey *mkey, uint64_t va,
                                 uint64_t len, uint32_t depth)
{
    (void)depth;
    emit(w, MLX5_DMA_MEMIC | (mkey->memic_at + va), len);
    return MLX5_MKEY_OK;
}

static Mlx5MkeyResult walk_mtt(Walk *w, Mlx5Mkey *mkey, uint64_t va,
                               uint64_t len, uint32_t depth)
{
    uint32_t shift = mkey->log_page_bytes;
    uint64_t page = 1ull << shift;
    uint64_t need = w->access & WRITE_ACCESS ? MLX5_MTT_WR : MLX5_MTT_RD;
    /* The first entry is the page that holds start_addr. */
    uint64_t off = va - (mkey->start & ~(page - 1));
    uint64_t unit = off >> shift, in = off & (page - 1);
    uint64_t end = va + len;

    (void)depth;
    while (len) {
        uint64_t n;
        const uint64_t *mtt = xlt_run(&mkey->xlt, unit, &n);

        if (!mtt) {
            return missed(w, mkey, end - len, len);
        }
        for (unit += n; n && len; n--, mtt++) {
            uint64_t bytes = MIN(page - in, len);

            if ((*mtt & (need | MLX5_DMA_MEMIC)) != need) {
                return *mtt & MLX5_DMA_MEMIC
                           ? MLX5_MKEY_TRANSLATION /* no bus address */
                           : missed(w, mkey, end - len, len);
            }
            emit(w, (*mtt & ~(page - 1)) + in, bytes);
            len -= bytes;
            in = 0;
        }
    }
    return MLX5_MKEY_OK;
}

/* What an access needs of the keys below the one it names. */
static uint32_t nested_access(uint32_t access)
{
    return access & WRITE_ACCESS ? MLX5_ACCESS_LOCAL_WRITE
                                 : MLX5_ACCESS_LOCAL_READ;
}

static Mlx5MkeyResult walk_nested(Walk *w, uint32_t key, uint64_t va,
                                  uint64_t len, uint32_t depth)
{
    Mlx5Mkey *mkey = mlx5_mkey_find(w->func, key);
    Mlx5MkeyResult result;

    if (key == MLX5_NULL_MKEY) {
        emit(w, MLX5_NOWHERE, len);
        return MLX5_MKEY_OK;
    }
    if (!mkey) {
        return MLX5_MKEY_UNKNOWN;
    }
    if (depth >= MLX5_MKEY_MAX_DEPTH || !step(w)) {
        return MLX5_MKEY_TRANSLATION;
    }
    result = check_key(mkey, w->user, va, len, nested_access(w->access));
    if (result != MLX5_MKEY_OK) {
        return result;
    }
    if (mkey->sig_on) {
        return MLX5_MKEY_SIGNATURE;
    }
    return walkers[mkey->mode](w, mkey, va, len, depth + 1);
}

/*
 * A page is missing below the list @mkey. Of the kernel's own, over all memory
 * of a process, the list is named in place of the key below it: that key may
 * be on its way out, unknown to the driver already while the list still has it
 * (odp.c destroy_unused_implicit_child_mr). unknown: which of them cards name.
 * @va: of the list; @at: the same byte, of the key below.
 */
static void missed_below(Walk *w, const Mlx5Mkey *mkey, uint64_t va,
                         uint64_t at)
{
    if (mkey->o.uid == 0) {
        w->func->page_miss.key = mkey->o.id << 8 | mkey->variant;
        w->func->page_miss.va += va - at;
    }
}

static Mlx5MkeyResult walk_ksm(Walk *w, Mlx5Mkey *mkey, uint64_t va,
                               uint64_t len, uint32_t depth)
{
    uint32_t shift = mkey->log_page_bytes;
    uint64_t page = 1ull << shift;
    /*
     * Unlike the pages of an MTT these begin at start_addr, wherever that is
     * (driver: mr.c reg_user_mr_dmabuf_by_data_direct; UCX puts its keys for
     * atomics a few bytes beside the memory).
     */
    uint64_t off = va - mkey->start;
    uint64_t unit = (off >> shift) * 2, in = off & (page - 1);
    uint64_t end = va + len;

    for (; len; unit += 2, in = 0) {
        uint64_t bytes = MIN(page - in, len);
        uint32_t key = mlx5_xlt_get(&mkey->xlt, unit);
        uint64_t at = mlx5_xlt_get(&mkey->xlt, unit + 1);
        Mlx5MkeyResult result;

        if (!key) {
            return MLX5_MKEY_TRANSLATION;
        }
        if (key == MLX5_NULL_MKEY && mkey->paged) {
            return missed(w, mkey, end - len, bytes);
        }
        result = walk_nested(w, key, at + in, bytes, depth);
        if (result == MLX5_MKEY_FAULT) {
            missed_below(w, mkey, end - len, at + in);
        }
        if (result != MLX5_MKEY_OK) {
            return result;
        }
        len -= bytes;
    }
    return MLX5_MKEY_OK;
}

/* One stream of a repeat block: 16 bits stride, 16 bits of bytes, key, va. */
typedef struct Stream {
    uint64_t stride, bytes, va;
    uint32_t key;
} Stream;

static Stream stream_get(const Mlx5Mkey *mkey, uint32_t i)
{
    uint64_t w0 = mlx5_xlt_get(&mkey->xlt, 2 + 2 * i);

    return (Stream){ w0 >> 48, w0 >> 32 & 0xffff,
                     mlx5_xlt_get(&mkey->xlt, 3 + 2 * i), (uint32_t)w0 };
}

/*
 * A repeat block: {bytes of a cycle, op, cycles, streams}, then the streams. A
 * cycle takes some bytes from each; the next one the bytes a stride further.
 */
static Mlx5MkeyResult walk_strided(Walk *w, Mlx5Mkey *mkey, uint64_t off,
                                   uint64_t len, uint32_t depth)
{
    uint64_t cycle_bytes = mlx5_xlt_get(&mkey->xlt, 0) >> 32;
    uint64_t w1 = mlx5_xlt_get(&mkey->xlt, 1);
    uint64_t cycle, in;
    uint32_t streams = w1 & 0xffff;

    if (!cycle_bytes) {
        return MLX5_MKEY_TRANSLATION;
    }
    cycle = off / cycle_bytes;
    in = off % cycle_bytes;
    for (; len && cycle < w1 >> 32; cycle++) {
        uint64_t before = len;

        for (uint32_t i = 0; len && i < streams; i++) {
            Stream s = stream_get(mkey, i);
            uint64_t bytes = s.bytes > in ? MIN(s.bytes - in, len) : 0;
            Mlx5MkeyResult result;

            if (!step(w)) {
                return MLX5_MKEY_TRANSLATION;
            }
            if (bytes) {
                result = walk_nested(w, s.key, s.va + cycle * s.stride + in,
                                     bytes, depth);
                if (result != MLX5_MKEY_OK) {
                    return result;
                }
            }
            in -= MIN(in, s.bytes);
            len -= bytes;
        }
        if (len == before) {
            return MLX5_MKEY_TRANSLATION; /* streams shorter than a cycle */
        }
    }
    return len ? MLX5_MKEY_TRANSLATION : MLX5_MKEY_OK;
}

/*
 * A list is walked from where the last walk stood if that is not behind @off:
 * a transfer in packets then costs its length, not its square.
 */
static Mlx5MkeyResult walk_klm(Walk *w, Mlx5Mkey *mkey, uint64_t va,
                               uint64_t len, uint32_t depth)
{
    uint64_t off = va - mkey->start;
    uint32_t i = mkey->klm_at;
    uint64_t base = mkey->klm_off;

    if ((uint32_t)mlx5_xlt_get(&mkey->xlt, 0) == REPEAT_BLOCK_OP) {
        return walk_strided(w, mkey, off, len, depth);
    }
    if (base > off) {
        i = 0;
        base = 0;
    }
    while (len) {
        uint64_t w0 = mlx5_xlt_get(&mkey->xlt, 2ull * i);
        uint64_t at = mlx5_xlt_get(&mkey->xlt, 2ull * i + 1);
        uint64_t size = w0 >> 32, in = off - base;

        if (!size || !step(w)) {
            return MLX5_MKEY_TRANSLATION; /* an empty entry ends the list */
        }
        mkey->klm_at = i;
        mkey->klm_off = base;
        if (in < size) {
            uint64_t bytes = MIN(size - in, len);
            Mlx5MkeyResult result = walk_nested(w, (uint32_t)w0, at + in,
                                                bytes, depth);

            if (result != MLX5_MKEY_OK) {
                return result;
            }
            off += bytes;
            len -= bytes;
        }
        base += size;
        i++;
    }
    return MLX5_MKEY_OK;
}

/* ---- what was seen ---- */

static inline bool seen(const Mlx5MkeySeen *s, const Mlx5Func *func,
                        const Mlx5MkeyUser *user, uint32_t key, uint64_t va,
                        uint64_t len, uint32_t access)
{
    uint64_t off = va - s->va;

    return off < s->len && len && len <= s->len - off && s->key == key &&
           s->access == access && s->pdn == user->pdn &&
           s->qpn == user->qpn && s->changes == func->mkey_changes;
}

/* All of the page at @va that @mkey covers is as good as what was found. */
static void see(Walk *w, const Mlx5Mkey *mkey, uint32_t key, uint64_t va,
                uint64_t len)
{
    bool pa = mkey->mode == MLX5_MKC_ACCESS_MODE_PA;
    uint64_t page = pa ? MLX5_DMA_MEMIC : UINT64_C(1) << mkey->log_page_bytes;
    uint64_t page_va = va & ~(page - 1), first = page_va;
    uint64_t last = page_va + (page - 1), at = 0;

    if ((!pa && mkey->mode != MLX5_MKC_ACCESS_MODE_MTT) ||
        len - 1 > last - va) {
        return;
    }
    if (!pa) {
        at = mlx5_xlt_get(&mkey->xlt, (va - (mkey->start & ~(page - 1))) >>
                                          mkey->log_page_bytes) & ~(page - 1);
    }
    if (!mkey->length64) {
        first = MAX(first, mkey->start);
        last = MIN(last, mkey->start + (mkey->span - 1));
    }
    w->ranges->seen = (Mlx5MkeySeen){
        .va = first, .len = last - first + 1, .addr = at + (first - page_va),
        .changes = w->func->mkey_changes, .key = key, .access = w->access,
        .pdn = w->user->pdn, .qpn = w->user->qpn,
    };
}

/* The key that the request names. */
static Mlx5MkeyResult walk_top(Walk *w, uint32_t key, uint64_t va, uint64_t len)
{
    Mlx5Mkey *mkey;
    Mlx5MkeyResult result;

    if (key == MLX5_RESD_LKEY) {
        result = check_resd(w->user, va, len, w->access);
        return result == MLX5_MKEY_OK && len ? walk_pa(w, NULL, va, len, 0)
                                             : result;
    }
    if (is_nowhere(key)) {
        result = check_null(va, len, w->access);
        if (result == MLX5_MKEY_OK && len) {
            emit(w, MLX5_NOWHERE, len);
        }
        return result;
    }
    mkey = mlx5_mkey_find(w->func, key);
    if (!mkey) {
        return MLX5_MKEY_UNKNOWN;
    }
    result = check_key(mkey, w->user, va, len, w->access);
    if (result != MLX5_MKEY_OK || !len) {
        return result;
    }
    if (mkey->sig_on) {
        return MLX5_MKEY_SIGNATURE;
    }
    result = walkers[mkey->mode](w, mkey, va, len, 0);
    if (result == MLX5_MKEY_OK) {
        see(w, mkey, key, va, len);
    }
    return result;
}

static G_GNUC_NO_INLINE Mlx5MkeyResult
walk(Mlx5Func *func, const Mlx5MkeyUser *user, uint32_t key, uint64_t va,
     uint64_t len, uint32_t access, Mlx5Ranges *ranges)
{
    Walk w = {
        .func = func,
        .user = user,
        .ranges = ranges,
        .access = access,
        .steps = MAX_STEPS,
    };

    return walk_top(&w, key, va, len);
}

Mlx5MkeyResult mlx5_mkey_resolve(Mlx5Func *func, const Mlx5MkeyUser *user,
                                 uint32_t key, uint64_t va, uint64_t len,
                                 uint32_t access, Mlx5Ranges *ranges)
{
    const Mlx5MkeySeen *s = &ranges->seen;

    if (seen(s, func, user, key, va, len, access)) {
        mlx5_ranges_join(ranges, (Mlx5Range){ s->addr + (va - s->va), len });
        return MLX5_MKEY_OK;
    }
    return walk(func, user, key, va, len, access, ranges);
}

Mlx5MkeyResult mlx5_mkey_resolve_memory(Mlx5Mkey *mkey,
                                        const Mlx5MkeyUser *user, uint64_t va,
                                        uint64_t len, uint32_t access,
                                        Mlx5Ranges *ranges)
{
    Walk w = {
        .func = mkey->o.func,
        .user = user,
        .ranges = ranges,
        .access = access,
        .steps = MAX_STEPS,
    };

    if (!mlx5_range_inside(va, len, mkey->start, mkey->len)) {
        return MLX5_MKEY_BOUNDS;
    }
    return len ? walkers[mkey->mode](&w, mkey, va, len, 0) : MLX5_MKEY_OK;
}
