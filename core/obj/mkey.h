/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory keys: what a key covers, who may use it, where its bytes are
 * (PRM: Memory Key Context; driver: mlx5_ib mr.c, umr.c).
 */
#ifndef MLX5_OBJ_MKEY_H
#define MLX5_OBJ_MKEY_H

#include "bus/dma.h"
#include "obj/table.h"

struct Mlx5Umem;

/** mkc.access_mode (driver: device.h). */
typedef enum Mlx5MkeyMode {
    MLX5_MKC_ACCESS_MODE_PA = 0x0,
    MLX5_MKC_ACCESS_MODE_MTT = 0x1,
    MLX5_MKC_ACCESS_MODE_KLMS = 0x2,
    MLX5_MKC_ACCESS_MODE_KSM = 0x3,
    MLX5_MKC_ACCESS_MODE_MEMIC = 0x5,
} Mlx5MkeyMode;

/** What an access wants to do; bits as needed together. */
typedef enum Mlx5Access {
    MLX5_ACCESS_LOCAL_READ = 1 << 0,
    MLX5_ACCESS_LOCAL_WRITE = 1 << 1,
    MLX5_ACCESS_REMOTE_READ = 1 << 2,
    MLX5_ACCESS_REMOTE_WRITE = 1 << 3,
    MLX5_ACCESS_REMOTE_ATOMIC = 1 << 4,
} Mlx5Access;

/** Why an access was refused; each is one check. */
typedef enum Mlx5MkeyResult {
    MLX5_MKEY_OK,
    MLX5_MKEY_UNKNOWN,       /* no such index, or another variant byte */
    MLX5_MKEY_FREE,          /* mkc.free: allocated but not enabled */
    MLX5_MKEY_PD,            /* protection domain differs */
    MLX5_MKEY_QPN,           /* bound to another QP */
    MLX5_MKEY_ACCESS,        /* permission bit missing */
    MLX5_MKEY_BOUNDS,        /* outside [start_addr, start_addr + len) */
    MLX5_MKEY_TRANSLATION,   /* no translation entry, or nested too deep */
    MLX5_MKEY_FAULT,         /* the page is not present; it may come */
    MLX5_MKEY_SIGNATURE,     /* has a signature, and this access cannot */
    MLX5_MKEY_PSV,           /* what its signature starts from is gone */
    MLX5_MKEY_MEMORY,        /* memory is not there */
} Mlx5MkeyResult;

/** Nested keys are followed this deep: the key asked for and four below. */
#define MLX5_MKEY_MAX_DEPTH 4
/** mkc.qpn of a key that is open to every queue. */
#define MLX5_MKEY_ANY_QPN 0xffffffu

/**
 * Translation entries of a key, in 8-byte units: an MTT is one, a KLM or KSM
 * is two. Nothing is allocated before the first entry is loaded: drivers make
 * thousands of keys that they may never fill.
 */
typedef struct Mlx5Xlt {
    uint64_t *first;         /* units [0, first_units), host order */
    uint32_t first_units;
    GHashTable *more;        /* chunk number -> uint64_t[MLX5_XLT_CHUNK] */
    uint64_t max_units;      /* allowed by the context */
} Mlx5Xlt;

/** Present bits of an MTT; an access needs the one for its direction. */
#define MLX5_MTT_RD 1u
#define MLX5_MTT_WR 2u

/**
 * Reads as zeroes and swallows what is written; in a KSM list, memory that was
 * not mapped yet (QUERY_SPECIAL_CONTEXTS null_mkey; driver: odp.c
 * populate_klm). No key has this index.
 */
#define MLX5_NULL_MKEY 0x200u

/**
 * Dump and fill: the same of a local key, for work requests that want no
 * memory (QUERY_SPECIAL_CONTEXTS dump_fill_mkey; libmlx5: ibv_alloc_null_mr).
 * No key has this index either.
 */
#define MLX5_DUMP_FILL_MKEY 0x300u

/** Units in a chunk; the first chunk is @first and grows up to this size. */
#define MLX5_XLT_CHUNK 512u

/**
 * Host memory that the translations of all keys of a function may take: the
 * page lists of 512 GiB in 4 KiB pages. A guest can have a chunk made with one
 * small work request; without a bound it would take the host's memory.
 */
#define MLX5_XLT_BUDGET_BYTES (UINT64_C(1) << 30)

typedef struct Mlx5Mkey {
    Mlx5Obj o;
    uint8_t mkc[MLX5_BITS_mkc / 8]; /* the truth; UMR edits it */
    uint8_t variant;         /* low byte of the key */
    bool free;
    bool length64;           /* start and len are not looked at */
    uint8_t log_page_bytes;
    Mlx5MkeyMode mode;
    uint32_t access;         /* Mlx5Access bits granted */
    uint32_t pdn, qpn;       /* qpn MLX5_MKEY_ANY_QPN = any */
    Mlx5Obj *pd;             /* referenced */
    uint64_t start, len;
    uint64_t span;           /* @len as an access counts: obj/sig.h */
    struct Mlx5Sig *sig;     /* byte stream format, once UMR loaded one */
    bool sig_on;             /* enabled and in use */
    bool paged;              /* pages that are missing may come: a fault */
    Mlx5Obj *memic;          /* mode MEMIC: the allocation, referenced, */
    uint64_t memic_at;       /* and where address 0 is in the memory */
    Mlx5Xlt xlt;
    struct Mlx5Umem *umem;   /* whose pages it covers, referenced; or NULL */
    struct Mlx5Mkey *bound;  /* a memory window's region, referenced */
    uint32_t klm_at;         /* where the last walk of a KLM list stood: */
    uint64_t klm_off;        /* entry and its first byte */
} Mlx5Mkey;

/** A run of bus addresses. */
typedef struct Mlx5Range {
    uint64_t addr;
    uint64_t len;
} Mlx5Range;

/**
 * A page that an access found, for the next one like it: bytes [@va, @va + @len)
 * of @key are at @addr for that domain, queue and access, until any key of the
 * function changes.
 */
typedef struct Mlx5MkeySeen {
    uint64_t va, len, addr;
    uint64_t changes;        /* Mlx5Func.mkey_changes then */
    uint32_t key, access, pdn, qpn;
} Mlx5MkeySeen;

/** A list of them, which grows and is used again: on the way of each message. */
typedef struct Mlx5Ranges {
    Mlx5Range *data;
    uint32_t len, room;
    Mlx5MkeySeen seen;       /* what was put into it last, if it was short */
} Mlx5Ranges;

Mlx5Ranges *mlx5_ranges_new(void);
void mlx5_ranges_free(Mlx5Ranges *ranges);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Mlx5Ranges, mlx5_ranges_free)
/** Make room and add @range. */
void mlx5_ranges_grow(Mlx5Ranges *ranges, Mlx5Range range);

static inline void mlx5_ranges_clear(Mlx5Ranges *ranges)
{
    ranges->len = 0;
}

/**
 * Range.addr of bytes under the null key, which are nowhere: zeroes to who
 * reads, nothing to who writes. The host has no memory there, so that what does
 * not know of it fails.
 */
#define MLX5_NOWHERE UINT64_MAX

/** Add @range; where it goes on from the last one, that becomes longer. */
static inline void mlx5_ranges_join(Mlx5Ranges *ranges, Mlx5Range range)
{
    if (ranges->len) {
        Mlx5Range *last = &ranges->data[ranges->len - 1];

        if (last->addr != MLX5_NOWHERE &&
            last->addr + last->len == range.addr) {
            last->len += range.len;
            return;
        }
    }
    if (G_UNLIKELY(ranges->len == ranges->room)) {
        mlx5_ranges_grow(ranges, range);
    } else {
        ranges->data[ranges->len++] = range;
    }
}

/** Who asks. */
typedef struct Mlx5MkeyUser {
    uint32_t pdn;
    uint32_t qpn;
    bool rlkey;              /* the reserved lkey is open to this queue */
} Mlx5MkeyUser;

/** The reserved lkey (QUERY_SPECIAL_CONTEXTS resd_lkey). */
#define MLX5_RESD_LKEY 0x000000ffu
/** Ends a shorter receive list when no terminate key is advertised. */
#define MLX5_INVALID_LKEY 0x100u

/** Return: the key of that index and variant, or NULL. */
static inline Mlx5Mkey *mlx5_mkey_find(Mlx5Func *func, uint32_t key)
{
    Mlx5Mkey *mkey = mlx5_obj_get(func, MLX5_OBJ_MKEY, key >> 8);

    return mkey && mkey->variant == (key & 0xff) ? mkey : NULL;
}

/** Check the whole range without translating it (nested keys not looked at). */
Mlx5MkeyResult mlx5_mkey_check(Mlx5Func *func, const Mlx5MkeyUser *user,
                               uint32_t key, uint64_t va, uint64_t len,
                               uint32_t access);
/**
 * Check and translate: appends Mlx5Range items to @ranges, adjoining ones
 * joined. On failure @ranges may have grown; the caller drops them.
 * An empty range is checked and adds nothing.
 * After MLX5_MKEY_FAULT, @ranges holds what comes before the missing page, and
 * @func->page_miss says where that is.
 */
Mlx5MkeyResult mlx5_mkey_resolve(Mlx5Func *func, const Mlx5MkeyUser *user,
                                 uint32_t key, uint64_t va, uint64_t len,
                                 uint32_t access, Mlx5Ranges *ranges);
/**
 * The same inside @mkey, which was checked: where bytes of its memory are,
 * whatever its signature makes of them (obj/sig_xfer.c).
 */
Mlx5MkeyResult mlx5_mkey_resolve_memory(Mlx5Mkey *mkey,
                                        const Mlx5MkeyUser *user, uint64_t va,
                                        uint64_t len, uint32_t access,
                                        Mlx5Ranges *ranges);
/** Return: the check's name, for traces ("bounds"). */
const char *mlx5_mkey_result_name(Mlx5MkeyResult result);

/**
 * Remote invalidation (SEND with invalidate, IBA 10.6.5): the key becomes free
 * if it allows that and @user may. A memory window lets go of its region.
 */
Mlx5MkeyResult mlx5_mkey_invalidate(Mlx5Func *func, const Mlx5MkeyUser *user,
                                    uint32_t key);

/** What was known of where keys lead is not: context, entries, all of it. */
static inline void mlx5_mkey_changed(Mlx5Mkey *mkey)
{
    mkey->o.func->mkey_changes++;
}

/* For UMR (rdma/umr.c). */

/** Give the key a byte stream format, in place of the one it has. */
void mlx5_mkey_set_sig(Mlx5Mkey *mkey, const struct Mlx5Sig *sig);
/** What is wrong with the context @mkc. Return: a syndrome, 0 if nothing. */
uint32_t mlx5_mkey_context_check(const uint8_t *mkc);
/** Make @mkc (checked before) the key's context. */
void mlx5_mkey_set_context(Mlx5Mkey *mkey, const uint8_t *mkc);
/**
 * Load big-endian entries at @unit; the caller checked xlt.max_units
 * and mlx5_mkey_fits().
 * @or_bits: set in each (MTTs of a command carry no present bits).
 */
void mlx5_mkey_load(Mlx5Mkey *mkey, uint64_t unit, const uint8_t *entries,
                    uint64_t num_units, uint64_t or_bits);
/**
 * Mark @mkey as one whose pages may come and go, if one of the big-endian
 * entries about to be loaded says that its page is not there, or is there for
 * reading alone. Drivers give pinned memory both rights (mlx5_ib.h
 * MLX5_IB_MTT_PRESENT), so only memory that is paged has such entries.
 */
void mlx5_mkey_note_paged(Mlx5Mkey *mkey, const uint8_t *entries,
                          uint64_t num_units);
/** Do @num_units more entries, wherever they go, stay within the budget? */
bool mlx5_mkey_fits(const Mlx5Func *func, uint64_t num_units);
/** Forget entries and what they were loaded into. */
void mlx5_mkey_unload(Mlx5Mkey *mkey);
/** Return: the unit, 0 if it was never loaded. */
uint64_t mlx5_xlt_get(const Mlx5Xlt *xlt, uint64_t unit);
/** Tie a window to @region, or to none (NULL). */
void mlx5_mkey_bind(Mlx5Mkey *window, Mlx5Mkey *region);

/** Release what a key holds (table.c calls it). */
void mlx5_mkey_release(void *obj);

#endif
