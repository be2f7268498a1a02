/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory keys: what a key covers, who may use it, where its bytes are
 * (PRM: Memory Key Context; driver: mlx5_ib mr.c, umr.c).
 */
#ifndef MLX5_OBJ_MKEY_H
#define MLX5_OBJ_MKEY_H

#include "bus/dma.h"
#include "obj/table.h"

/** mkc.access_mode (driver: device.h). */
typedef enum Mlx5MkeyMode {
    MLX5_MKC_ACCESS_MODE_PA = 0x0,
    MLX5_MKC_ACCESS_MODE_MTT = 0x1,
    MLX5_MKC_ACCESS_MODE_KLMS = 0x2,
    MLX5_MKC_ACCESS_MODE_KSM = 0x3,
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
} Mlx5MkeyResult;

typedef struct Mlx5Mkey {
    Mlx5Obj o;
    uint8_t mkc[MLX5_BITS_mkc / 8]; /* the truth; UMR edits it */
    uint8_t variant;         /* low byte of the key */
    bool free;
    Mlx5MkeyMode mode;
    uint32_t access;         /* Mlx5Access bits granted */
    uint32_t pdn, qpn;       /* qpn 0xffffff = any */
    uint64_t start, len;     /* length64: len is not looked at */
    bool length64;
    uint32_t log_page_bytes;
    uint64_t *xlt;           /* entries, host order; grows with use */
    uint32_t xlt_alloc;      /* 8-byte units allocated */
    uint32_t xlt_max;        /* 8-byte units allowed by the context */
} Mlx5Mkey;

/** A run of bus addresses. */
typedef struct Mlx5Range {
    uint64_t addr;
    uint64_t len;
} Mlx5Range;

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

/** Check the whole range without translating it. */
Mlx5MkeyResult mlx5_mkey_check(Mlx5Func *func, const Mlx5MkeyUser *user,
                               uint32_t key, uint64_t va, uint64_t len,
                               uint32_t access);
/**
 * Check and translate: appends Mlx5Range items to @ranges, adjoining ones
 * joined. On failure @ranges may have grown; the caller drops them.
 */
Mlx5MkeyResult mlx5_mkey_resolve(Mlx5Func *func, const Mlx5MkeyUser *user,
                                 uint32_t key, uint64_t va, uint64_t len,
                                 uint32_t access, GArray *ranges);

#endif
