/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block signature of a memory key: each block of data is followed by a few
 * bytes that protect it, on the wire, in memory, or in both (PRM: Signature
 * Handover; T10 SBC-3; driver: mlx5_ib wr.c; libmlx5 qp.c,
 * mlx5dv_wr_set_mkey_sig_block(3)).
 *
 * Three ways to count the bytes of such a key:
 *
 *   raw     data alone
 *   memory  as the key's translations have them
 *   wire    as packets carry them
 *
 *   raw     |  block 0   |  block 1   | ...
 *   wire    |  block 0   |sig|  block 1   |sig| ...
 *
 * Here the bytes of a key are those of the wire. Work requests of the key's
 * own side count memory if both sides have signatures, else raw bytes:
 * mlx5_sig_local() turns these into ours.
 *
 * Nothing is remembered between two accesses but a signature that came in
 * part: the number of a block, and so its reference tag, follows from where it
 * is in the key. What is sent again is then the same again.
 *
 * unknown: how real cards count an access that begins in the middle of a key.
 */
#ifndef MLX5_OBJ_SIG_H
#define MLX5_OBJ_SIG_H

#include "obj/mkey.h"

/** What follows a block. */
typedef enum Mlx5SigKind {
    MLX5_SIG_NONE,
    MLX5_SIG_DIF_CRC,        /* T10-DIF, guard is a CRC16 */
    MLX5_SIG_DIF_CSUM,       /* ... or an IP checksum */
    MLX5_SIG_CRC32,
    MLX5_SIG_CRC32C,
    MLX5_SIG_CRC64_XP10,
    MLX5_SIG_KIND_COUNT
} Mlx5SigKind;

/** bsf_inl.escape: which blocks are not checked. */
enum {
    MLX5_SIG_ESCAPE_APP = 1,     /* application tag of ones */
    MLX5_SIG_ESCAPE_APP_REF = 2, /* ... and reference tag of ones */
};

/** Longest block and signature. */
#define MLX5_SIG_MAX_BLOCK 4160u
#define MLX5_SIG_MAX_BYTES 8u

/** One side: memory, or wire. */
typedef struct Mlx5SigDomain {
    Mlx5SigKind kind;
    uint32_t block;          /* bytes of data; without a signature of its own,
                              * those of the other side */
    uint32_t bytes;          /* of signature; 0 if there is none */
    uint32_t psvn;           /* where it starts from */
    /* T10-DIF */
    bool tags;               /* tags from here, not from the PSV */
    bool seed_ones;          /* guard starts from ones, not from the PSV */
    bool inc_ref;            /* reference tag counts blocks */
    uint8_t escape;
    uint16_t app_tag, app_mask;
    uint32_t ref_tag;
} Mlx5SigDomain;

/** What a signature error completion says; signatures as in Mlx5Psv. */
typedef struct Mlx5SigError {
    uint16_t syndrome;       /* MLX5_SIGERR_* */
    uint8_t domain;          /* MLX5_SIG_DOMAIN_* */
    uint64_t expected;       /* as it came with the data */
    uint64_t actual;         /* as it was computed */
    uint64_t offset;         /* of the block, on that side */
} Mlx5SigError;

/** cqe_sig_err.syndrome (driver: mlx5_ib cq.c). */
enum {
    MLX5_SIGERR_REFTAG = 1 << 11,
    MLX5_SIGERR_APPTAG = 1 << 12,
    MLX5_SIGERR_GUARD = 1 << 13,
};

/** cqe_sig_err.domain (libmlx5 verbs.c). */
enum { MLX5_SIG_DOMAIN_WIRE = 0, MLX5_SIG_DOMAIN_MEMORY = 1 };

/** A signature of the wire of which the first @bytes came. */
typedef struct Mlx5SigPart {
    uint64_t block;
    uint32_t bytes;
    uint8_t sig[MLX5_SIG_MAX_BYTES];
} Mlx5SigPart;

/** The byte stream format of a key, parsed, and what hangs on it. */
typedef struct Mlx5Sig {
    Mlx5SigDomain mem, wire;
    bool same;               /* both sides have the same structure */
    uint64_t check, copy;    /* bits of a signature, as in Mlx5Psv */
    uint32_t raw_bytes;      /* covered, at most */
    /** Reporting stops at the first error until UMR counts it
     * (mkc.expected_sigerr_count). */
    bool armed;
    bool failed;             /* @error is to be reported */
    Mlx5SigError error;
    Mlx5SigPart part;
    /* As it was before the last access, which began at @before_off: the same
     * access may come again, when a page of it was missing. */
    Mlx5SigPart before;
    uint64_t before_off;
} Mlx5Sig;

/** Bytes of a BSF of 64: basic, extended, and inline for wire and memory. */
#define MLX5_BSF_BYTES 64u

/** Why a BSF was refused; each is one check. */
typedef enum Mlx5BsfResult {
    MLX5_BSF_OK,
    MLX5_BSF_SIZE,           /* of another size than it says, or encryption */
    MLX5_BSF_EXTENDED,       /* formats over the whole transaction */
    MLX5_BSF_FORMAT,         /* no signature we know, or not repeating */
    MLX5_BSF_BLOCK,          /* no block size we know */
    MLX5_BSF_STRUCTURE,      /* "same structure" with two that differ */
} Mlx5BsfResult;

/** Take a BSF of @len bytes apart. @sig: zeroed. */
Mlx5BsfResult mlx5_sig_parse(Mlx5Sig *sig, const uint8_t *bsf, size_t len);

/** Raw bytes in @pos bytes of a side. */
static inline uint64_t mlx5_sig_raw(const Mlx5SigDomain *d, uint64_t pos)
{
    uint64_t unit = d->block + d->bytes;

    return pos / unit * d->block + MIN(pos % unit, d->block);
}

/** Where the raw byte @raw is on a side; complete blocks have a signature. */
static inline uint64_t mlx5_sig_pos(const Mlx5SigDomain *d, uint64_t raw)
{
    return raw + raw / d->block * d->bytes;
}

/** Raw bytes that a key with @len bytes of memory has. */
uint64_t mlx5_sig_raw_len(const Mlx5Sig *sig, uint64_t len);
/** Bytes of the wire that a key with @len bytes of memory has. */
uint64_t mlx5_sig_wire_len(const Mlx5Sig *sig, uint64_t len);

/**
 * A work request's piece: from what it counts to bytes of the wire. Left as it
 * is if @lkey is no key with a signature, or the result has no room.
 */
void mlx5_sig_local(Mlx5Func *func, uint32_t lkey, uint64_t *addr,
                    uint32_t *len);

/** Return: the key, if it is one and has a signature. */
static inline Mlx5Mkey *mlx5_sig_key(Mlx5Func *func, uint32_t key)
{
    Mlx5Mkey *mkey = func->sig_keys ? mlx5_mkey_find(func, key) : NULL;

    return mkey && mkey->sig_on ? mkey : NULL;
}

/**
 * Read or write @len bytes at @va of a key with a signature, counted as the
 * wire has them: checks, generates, strips and inserts. An error in a
 * signature does not stop it: it is left in mkey->sig.
 */
Mlx5MkeyResult mlx5_sig_gather(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                               uint64_t va, uint64_t len, uint32_t access,
                               uint8_t *to);
Mlx5MkeyResult mlx5_sig_scatter(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                                uint64_t va, uint64_t len, uint32_t access,
                                const uint8_t *from);

#endif
