/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send work requests: a WQE as the guest wrote it, taken apart and checked
 * (PRM: Work Request; driver: qp.h, mlx5_ib wr.c; libmlx5 qp.c).
 *
 * A WQE is 16-byte units: a control segment, segments that the operation and
 * the transport ask for, and then what it gathers or scatters:
 *
 *   ctrl | [xrc or av] [raddr] [atomic] | data and inline segments
 *   ctrl | umr ctrl, mkey context       | translations, inline or by pointer
 *   ctrl | tag operation                | the buffer of the tag
 *
 * It is copied from the ring once and parsed from the copy.
 */
#ifndef MLX5_RDMA_WQE_H
#define MLX5_RDMA_WQE_H

#include "bus/trace.h"
#include "obj/qp.h"
#include "rdma/vendor.h"

/** Send opcodes (driver: device.h). */
typedef enum Mlx5Opcode {
    MLX5_OPCODE_NOP = 0x00,
    MLX5_OPCODE_SEND_INVAL = 0x01,
    MLX5_OPCODE_RDMA_WRITE = 0x08,
    MLX5_OPCODE_RDMA_WRITE_IMM = 0x09,
    MLX5_OPCODE_SEND = 0x0a,
    MLX5_OPCODE_SEND_IMM = 0x0b,
    MLX5_OPCODE_RDMA_READ = 0x10,
    MLX5_OPCODE_ATOMIC_CS = 0x11,
    MLX5_OPCODE_ATOMIC_FA = 0x12,
    MLX5_OPCODE_ATOMIC_MASKED_CS = 0x14,
    MLX5_OPCODE_ATOMIC_MASKED_FA = 0x15,
    MLX5_OPCODE_SET_PSV = 0x20,
    MLX5_OPCODE_UMR = 0x25,
    MLX5_OPCODE_TAG_MATCHING = 0x28,
} Mlx5Opcode;

/** What an operation consists of; bits of Mlx5WqeOp.flags. */
enum {
    MLX5_WQEF_RADDR = 1 << 0,    /* remote address segment */
    MLX5_WQEF_ATOMIC = 1 << 1,   /* two operands of 8 bytes */
    MLX5_WQEF_MASKED = 1 << 2,   /* four operands of 8 bytes */
    MLX5_WQEF_UMR = 1 << 3,      /* UMR segments instead of data */
    MLX5_WQEF_DATA = 1 << 4,     /* data segments may follow */
    MLX5_WQEF_INLINE = 1 << 5,   /* ... and inline ones */
    MLX5_WQEF_SCATTER = 1 << 6,  /* data segments are written, not read */
    MLX5_WQEF_IMM = 1 << 7,      /* general_id is immediate data */
    MLX5_WQEF_INVAL = 1 << 8,    /* general_id is a key to invalidate */
    MLX5_WQEF_LOCAL = 1 << 9,    /* never leaves the card: no AV, no XRC */
    MLX5_WQEF_TM = 1 << 10,      /* an operation on a list of tags */
    MLX5_WQEF_PSV = 1 << 11,     /* a PSV segment instead of data */
};

/** One row per opcode (wqe.c). */
typedef struct Mlx5WqeOp {
    const char *name;            /* NULL: not an opcode we know */
    uint32_t qp_types;           /* bit Mlx5QpSt: may be posted there */
    uint32_t flags;              /* MLX5_WQEF_* */
} Mlx5WqeOp;

/** Why a WQE was refused; each is one check. */
typedef enum Mlx5WqeError {
    MLX5_WQE_OK,
    MLX5_WQE_ERR_FETCH,          /* the ring's memory is not there */
    MLX5_WQE_ERR_DS,             /* ds is 0 */
    MLX5_WQE_ERR_BEYOND,         /* longer than what was posted */
    MLX5_WQE_ERR_QPN,            /* another queue's number */
    MLX5_WQE_ERR_INDEX,          /* not the index of where it stands */
    MLX5_WQE_ERR_OPCODE,         /* unknown opcode */
    MLX5_WQE_ERR_QP_TYPE,        /* opcode not allowed on this transport */
    MLX5_WQE_ERR_TRUNCATED,      /* ends inside a segment it must have */
    MLX5_WQE_ERR_INLINE,         /* inline data reach past the end */
    MLX5_WQE_ERR_INLINE_OP,      /* inline data where memory is written */
    MLX5_WQE_ERR_ATOMIC_SIZE,    /* an atomic's result is not 8 bytes */
    MLX5_WQE_ERR_LENGTH,         /* more than 2^31 bytes in total */
    MLX5_WQE_ERR_COUNT
} Mlx5WqeError;

/** ds has six bits. */
#define MLX5_WQE_MAX_DS 63u
#define MLX5_WQE_MAX_BYTES (MLX5_WQE_MAX_DS * 16)
#define MLX5_WQE_BB 64u          /* basic block: what the counters count */
#define MLX5_MSG_MAX_BYTES (1ull << 31)

/** wqe_ctrl.ce: from here on a completion is wanted. */
#define MLX5_WQE_CE_CQE 2u

/** A piece of what is gathered or scattered. */
typedef struct Mlx5WqeData {
    uint64_t addr;               /* virtual address under @lkey */
    uint32_t len;                /* 1 .. 2^31 */
    uint32_t lkey;
    uint16_t inline_at;          /* bytes in raw[]; 0 = not inline */
} Mlx5WqeData;

/** Address vector of a datagram. */
typedef struct Mlx5WqeAv {
    uint64_t dc_key;             /* DC */
    uint32_t qkey;               /* UD: upper half of the same field */
    uint32_t dqpn;
    bool grh;                    /* always, for RoCE */
    uint8_t stat_rate, sl, tclass, hop_limit, src_addr_index;
    uint16_t udp_sport;          /* 0: the device chooses */
    uint32_t flow_label;
    uint8_t rmac[6];
    uint8_t dgid[16];
} Mlx5WqeAv;

/** A send WQE, parsed. */
typedef struct Mlx5SendWqe {
    const Mlx5WqeOp *op;
    uint8_t opcode, opmod;
    uint16_t index;              /* of its first basic block; for the CQE */
    uint32_t qpn;
    uint8_t ds;
    uint8_t fence;               /* 1 small, 2 fence, 3 strong, 4 small+fence */
    uint8_t ce;                  /* 0 no CQE, 2 CQE, 3 CQE and EQE */
    bool se;
    bool has_inline;             /* some of data[] is */
    uint16_t stream;             /* DC initiator */
    uint32_t general_id;         /* immediate (as bytes of the packet, host
                                  * order), invalidated key, or UMR's key */
    uint32_t rkey;
    uint64_t raddr;
    uint64_t length;             /* sum of data[].len */
    uint32_t num_data;
    uint32_t xrc_srqn;
    uint64_t swap_add, compare;  /* atomic operands */
    uint64_t swap_add_mask, compare_mask;
    /* From here on, what its parser sets, for operations that have it. */
    Mlx5WqeAv av;
    uint32_t psvn;               /* SET_PSV */
    uint64_t psv;
    uint16_t umr_ctrl_at;        /* bytes in raw[] */
    uint16_t umr_mkey_at;
    uint16_t umr_xlt_at;         /* what follows the mkey context */
    uint16_t tm_at;              /* wqe_tm; its data segment, if any, data[0] */
    Mlx5WqeData data[MLX5_WQE_MAX_DS];
    uint8_t raw[MLX5_WQE_MAX_BYTES];
} Mlx5SendWqe;

/** Nothing is known of it yet. */
static inline void mlx5_wqe_clear(Mlx5SendWqe *wqe)
{
    size_t half = offsetof(Mlx5SendWqe, rkey);

    /* As much at a time as the compiler makes plain stores of. By number: with
     * a sanitizer it looks at what comes of a pointer that is NULL, and warns. */
    memset(wqe, 0, half);
    memset((void *)((uintptr_t)wqe + half), 0,
           offsetof(Mlx5SendWqe, av) - half);
}

/** Return: the row of @opcode, or NULL. */
const Mlx5WqeOp *mlx5_wqe_op(uint8_t opcode);

/** Basic blocks that a WQE of @ds units takes. */
static inline uint32_t mlx5_wqe_blocks(uint8_t ds)
{
    return (ds + 3u) / 4;
}

/**
 * Take apart the @len bytes at @bytes: a WQE and perhaps more behind it.
 * @wqe: control fields are filled in even on failure, if there were 16 bytes,
 * for the error completion.
 */
Mlx5WqeError mlx5_wqe_parse(Mlx5SendWqe *wqe, const uint8_t *bytes,
                            uint32_t len, Mlx5QpSt st, uint32_t qpn);
/** Basic blocks that are read at once: a list of 32 small requests. */
#define MLX5_WQE_AHEAD 32u

/** What was read of a send queue, and is good until the doorbell is done. */
typedef struct Mlx5WqeAhead {
    const Mlx5Qp *qp;            /* NULL: nothing */
    uint16_t index;              /* of the first block */
    uint32_t num;
    uint8_t bytes[MLX5_WQE_AHEAD * MLX5_WQE_BB];
} Mlx5WqeAhead;

/**
 * Copy the WQE that begins at basic block @index of @qp's send queue and take
 * it apart. @posted: basic blocks from there that the doorbell record covers,
 * at least 1. @ahead: what the call before read beyond its own. Whatever
 * fails, the control fields say what is known of it: at first nothing.
 */
Mlx5WqeError mlx5_wqe_fetch(Mlx5Qp *qp, uint16_t index, uint32_t posted,
                            Mlx5SendWqe *wqe, Mlx5WqeAhead *ahead);
/** Return: the check's name ("truncated"). */
const char *mlx5_wqe_error_name(Mlx5WqeError error);
/** Return: the vendor code of a refused WQE's completion. */
Mlx5Vendor mlx5_wqe_error_vendor(Mlx5WqeError error);
/**
 * A line for MLX5_TRACE_WQE, if somebody listens. @psn: of its first packet,
 * by which packets are known as its.
 */
void mlx5_wqe_trace_line(Mlx5Qp *qp, const Mlx5SendWqe *wqe,
                         Mlx5WqeError error, uint32_t psn);
static inline void mlx5_wqe_trace(Mlx5Qp *qp, const Mlx5SendWqe *wqe,
                                  Mlx5WqeError error, uint32_t psn)
{
    if (G_UNLIKELY(mlx5_trace_on(qp->o.func, MLX5_TRACE_WQE))) {
        mlx5_wqe_trace_line(qp, wqe, error, psn);
    }
}

#endif
