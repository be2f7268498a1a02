/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UMR work requests: the driver changes a memory key from a send queue, in
 * order with its traffic: enabling and revoking user regions, fast
 * registration, memory windows (PRM: UMR; driver: mlx5_ib umr.c, wr.c).
 */
#ifndef MLX5_RDMA_UMR_H
#define MLX5_RDMA_UMR_H

#include "obj/mkey.h"
#include "rdma/vendor.h"
#include "rdma/wqe.h"

/** Why a UMR was refused; each is one check. Nothing changed then. */
typedef enum Mlx5UmrResult {
    MLX5_UMR_OK,
    MLX5_UMR_MALFORMED,      /* inline translations reach past the end */
    MLX5_UMR_NO_KEY,         /* no such key, or another variant */
    MLX5_UMR_NOT_ENABLED,    /* mkc.umr_en is 0 */
    MLX5_UMR_PRIVILEGE,      /* physical translations, or another PD's key,
                              * from a queue that may not */
    MLX5_UMR_OWNER,          /* another user context's key, or the kernel's */
    MLX5_UMR_NOT_FREE,       /* checked to be free, and is not */
    MLX5_UMR_IS_FREE,        /* checked not to be free, and is */
    MLX5_UMR_QPN,            /* bound to another queue */
    MLX5_UMR_MASK,           /* a field that UMR cannot change */
    MLX5_UMR_UNSUPPORTED,    /* a BSF, and signature is not offered */
    MLX5_UMR_XLT_BOUNDS,     /* more translations than the key has room for */
    MLX5_UMR_XLT_MEMORY,     /* translations of all keys take too much */
    MLX5_UMR_XLT_ALIGN,      /* not in units of 64 bytes */
    MLX5_UMR_SOURCE,         /* translations cannot be read */
    MLX5_UMR_CONTEXT,        /* the resulting context is not a valid one */
    MLX5_UMR_BIND,           /* a window's region cannot carry it */
    MLX5_UMR_BSF_ROOM,       /* longer than mkc.bsf_octword_size */
    MLX5_UMR_BSF_MISSING,    /* bsf_en, and none was ever loaded */
    MLX5_UMR_BSF_SIZE,       /* these five: Mlx5BsfResult */
    MLX5_UMR_BSF_EXTENDED,
    MLX5_UMR_BSF_FORMAT,
    MLX5_UMR_BSF_BLOCK,
    MLX5_UMR_BSF_STRUCTURE,
    MLX5_UMR_BSF_PSV,        /* names a PSV of no or another domain */
    MLX5_UMR_RESULT_COUNT
} Mlx5UmrResult;

/** A queue that changes keys, and what it may. */
typedef struct Mlx5UmrBy {
    Mlx5Func *func;
    uint16_t uid;            /* user context, 0: the kernel */
    uint32_t pdn, id;
    bool rlkey;
    bool physical;           /* keys with physical translations too */
    bool any;                /* every key: the driver's own queue */
} Mlx5UmrBy;

/** A UMR work request: @len bytes at @raw; where its parts begin. */
typedef struct Mlx5UmrWqe {
    const uint8_t *raw;
    uint32_t len;
    uint32_t ctrl_at, mkey_at, xlt_at; /* inside, but for xlt_at == len */
    uint32_t key;
} Mlx5UmrWqe;

/** Carry out @wqe. */
Mlx5UmrResult mlx5_umr_run(const Mlx5UmrBy *by, const Mlx5UmrWqe *wqe);
/** Carry out @wqe (parsed, opcode UMR) posted on @qp. */
Mlx5UmrResult mlx5_umr_execute(Mlx5Qp *qp, const Mlx5SendWqe *wqe);
/** Return: the vendor code of a refusal's completion. */
Mlx5Vendor mlx5_umr_vendor(Mlx5UmrResult result);
const char *mlx5_umr_result_name(Mlx5UmrResult result);

#endif
