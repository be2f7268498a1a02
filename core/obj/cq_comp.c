/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed completions: one whole entry, the title, and 8 bytes for each of
 * the others (PRM: CQE compression; driver: device.h mlx5_mini_cqe8, en_rx.c
 * mlx5e_decompress_cqes_start, mlx5e_decompress_enhanced_cqe, wq.h).
 *
 * Completions that agree in all that a mini entry does not say form a session.
 * n of them take n entries of the queue in both layouts; those without content
 * here are not written, and software gives them back.
 *
 *   basic      entry 0: title, format 3, byte_cnt = n; 1: minis 0 to 7 (0 is
 *              the title's own); 8: minis 8 to 15; 16: ... The title comes
 *              last, it has the owner bit.
 *   enhanced   entry 0: the title, whole, as any other. Then blocks: 1 to 7
 *              minis and in the last byte their number less one, format 3 and
 *              owner. Every entry has the number of its round in the byte
 *              before.
 *
 * A mini entry:  requester    wqe_counter 16, opcode 8, 8 unused, byte_cnt 32
 *                responder    hash 32 or { checksum 16, stride index 16 },
 *                             byte_cnt 32
 * Without a stride index the counter of a receive is the title's plus its
 * place.
 *
 * A session is held only while the lock is: who looks at the queue never waits
 * for the next completion. Errors, solicited ones and those with payload stand
 * alone.
 *
 * unknown: where the arrays of 128-byte entries are; here in the half that
 * counts.
 */
#include "fw/fw.h"
#include "obj/cq_internal.h"

#define MINI_BYTES 8u
#define BASIC_MINIS 8u
#define ENHANCED_MINIS 7u
/* cqe64's byte before the last, in the enhanced layout. */
#define ROUND_BYTE 62u

struct Mlx5CqComp {
    Mlx5Work work;           /* settles before the lock is dropped */
    bool enhanced;
    uint8_t format;          /* of a responder's minis */
    bool open;               /* @title is one that others may follow */
    uint8_t title[MLX5_CQE_BYTES];
    uint8_t last[MLX5_CQE_BYTES]; /* the last one held, whole */
    uint32_t behind;         /* completions since the title, with it */
    uint32_t held;
    uint8_t minis[MLX5_CQ_COMP_MAX][MINI_BYTES];
};

static bool run(void *opaque, Mlx5Budget *budget)
{
    (void)budget;
    mlx5_cq_settle(opaque);
    return false;
}

void mlx5_cq_comp_new(Mlx5Cq *cq)
{
    if (!MLX5_GET(cqc, cq->cqc, cqe_comp_en)) {
        return;
    }
    cq->comp = g_new0(Mlx5CqComp, 1);
    mlx5_work_init(&cq->comp->work, run, cq);
    cq->comp->enhanced = MLX5_GET(cqc, cq->cqc, cqe_compression_layout) ==
                         MLX5_CQE_LAYOUT_ENHANCED;
    cq->comp->format = MLX5_GET(cqc, cq->cqc, mini_cqe_res_format);
}

void mlx5_cq_comp_free(Mlx5Cq *cq)
{
    if (cq->comp) {
        mlx5_work_unhold(cq->o.func, &cq->comp->work);
        g_clear_pointer(&cq->comp, g_free);
    }
}

uint32_t mlx5_cq_comp_held(const Mlx5Cq *cq)
{
    return cq->comp->held;
}

static void stamp(const Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES])
{
    if (cq->comp->enhanced) {
        cqe[ROUND_BYTE] = cq->pi >> cq->log_cq_size;
    }
}

void mlx5_cq_comp_alone(Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES])
{
    cq->comp->open = false;
    stamp(cq, cqe);
}

static bool is_request(const uint8_t *cqe)
{
    return MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_REQ;
}

/* What minis and their place say of an entry is taken out of it. */
static void strip(const Mlx5CqComp *comp, uint8_t *cqe)
{
    MLX5_SET(cqe64, cqe, byte_cnt, 0);
    MLX5_SET(cqe64, cqe, timestamp, 0);
    MLX5_SET(cqe64, cqe, wqe_counter, 0);
    MLX5_SET(cqe64, cqe, signature, 0);
    MLX5_SET(cqe64, cqe, owner, 0);
    if (is_request(cqe)) {
        MLX5_SET(cqe64, cqe, send_wqe_opcode, 0);
    } else if (comp->format == MLX5_MINI_CQE_HASH) {
        MLX5_SET(cqe64, cqe, rx_hash_result, 0);
    } else {
        MLX5_SET(cqe64, cqe, check_sum, 0);
    }
}

static bool counter_follows(const Mlx5CqComp *comp, const uint8_t *cqe)
{
    uint16_t want = MLX5_GET(cqe64, comp->title, wqe_counter) + comp->behind;

    return is_request(cqe) || comp->format == MLX5_MINI_CQE_CSUM_STRIDX ||
           MLX5_GET(cqe64, cqe, wqe_counter) == want;
}

static bool may_follow(const Mlx5CqComp *comp, const uint8_t *cqe)
{
    uint8_t a[MLX5_CQE_BYTES], b[MLX5_CQE_BYTES];

    if (!comp->open || !counter_follows(comp, cqe)) {
        return false;
    }
    memcpy(a, comp->title, sizeof(a));
    memcpy(b, cqe, sizeof(b));
    strip(comp, a);
    strip(comp, b);
    return memcmp(a, b, sizeof(a)) == 0;
}

static void fill_mini(const Mlx5CqComp *comp, const uint8_t *cqe,
                      uint8_t mini[MINI_BYTES])
{
    memset(mini, 0, MINI_BYTES);
    mlx5_prm_set(mini, 32, 32, MLX5_GET(cqe64, cqe, byte_cnt));
    if (is_request(cqe)) {
        mlx5_prm_set(mini, 0, 16, MLX5_GET(cqe64, cqe, wqe_counter));
        mlx5_prm_set(mini, 16, 8, MLX5_GET(cqe64, cqe, send_wqe_opcode));
    } else if (comp->format == MLX5_MINI_CQE_HASH) {
        mlx5_prm_set(mini, 0, 32, MLX5_GET(cqe64, cqe, rx_hash_result));
    } else {
        mlx5_prm_set(mini, 0, 16, MLX5_GET(cqe64, cqe, check_sum));
        if (comp->format == MLX5_MINI_CQE_CSUM_STRIDX) {
            mlx5_prm_set(mini, 16, 16, MLX5_GET(cqe64, cqe, wqe_counter));
        }
    }
}

static void hold(Mlx5Cq *cq, const uint8_t *cqe)
{
    Mlx5CqComp *comp = cq->comp;

    fill_mini(comp, cqe, comp->minis[comp->held++]);
    comp->behind++;
    memcpy(comp->last, cqe, MLX5_CQE_BYTES);
    mlx5_work_hold(cq->o.func, &comp->work);
}

/* An entry of its own. Return: false if memory refused it. */
static bool write_whole(Mlx5Cq *cq, const uint8_t *half, uint8_t *cqe,
                        bool solicited)
{
    stamp(cq, cqe);
    if (!mlx5_cq_write(cq, half, cqe)) {
        return false;
    }
    mlx5_cq_written(cq, 1, solicited);
    return true;
}

/* Entry @i of the session has minis from @i on, but entry 1 has them from 0. */
static bool write_arrays(Mlx5Cq *cq)
{
    Mlx5CqComp *comp = cq->comp;
    uint8_t array[MLX5_CQE_BYTES];

    for (uint32_t i = 0; i < comp->held; i += BASIC_MINIS) {
        uint32_t n = MIN(comp->held - i, BASIC_MINIS);

        memset(array, 0, sizeof(array));
        memcpy(array, comp->minis[i], (size_t)n * MINI_BYTES);
        if (!mlx5_cq_write_raw(cq, cq->pi + MAX(i, 1u), array)) {
            return false;
        }
    }
    return true;
}

static void settle_basic(Mlx5Cq *cq, uint32_t n)
{
    Mlx5CqComp *comp = cq->comp;

    if (!write_arrays(cq)) {
        return;
    }
    MLX5_SET(cqe64, comp->title, byte_cnt, n);
    MLX5_SET(cqe64, comp->title, cqe_format, MLX5_CQE_COMPRESSED);
    if (!mlx5_cq_write(cq, NULL, comp->title)) {
        return;
    }
    cq->pi = (cq->pi + n - 1) & MLX5_CQ_CI_MASK;
    mlx5_cq_written(cq, n, false);
}

static void settle_enhanced(Mlx5Cq *cq, uint32_t n)
{
    Mlx5CqComp *comp = cq->comp;
    uint8_t block[MLX5_CQE_BYTES] = { 0 };

    memcpy(block, comp->minis, (size_t)n * MINI_BYTES);
    MLX5_SET(cqe64, block, opcode, n - 1);
    MLX5_SET(cqe64, block, cqe_format, MLX5_CQE_COMPRESSED);
    stamp(cq, block);
    if (!mlx5_cq_write(cq, NULL, block)) {
        return;
    }
    cq->pi = (cq->pi + n - 1) & MLX5_CQ_CI_MASK;
    mlx5_cq_written(cq, n, false);
}

/* One held alone is written whole; in the enhanced layout it is a title. */
static void settle_one(Mlx5Cq *cq)
{
    Mlx5CqComp *comp = cq->comp;
    uint8_t cqe[MLX5_CQE_BYTES];

    memcpy(cqe, comp->last, sizeof(cqe));
    memcpy(comp->title, cqe, sizeof(cqe));
    comp->behind = 1;
    write_whole(cq, NULL, cqe, false);
}

void mlx5_cq_settle(Mlx5Cq *cq)
{
    Mlx5CqComp *comp = cq->comp;
    uint32_t n;

    if (!comp || !comp->held) {
        return;
    }
    mlx5_work_unhold(cq->o.func, &comp->work);
    n = comp->held;
    /* A basic session ends when it is written; a title may be used on. */
    comp->open = comp->enhanced;
    if (cq->failed) {
        /* Nothing is written to it any more. */
    } else if (n == 1) {
        settle_one(cq);
    } else if (comp->enhanced) {
        settle_enhanced(cq, n);
    } else {
        settle_basic(cq, n);
    }
    comp->held = 0;
}

/* The first of a session: in the enhanced layout it is written at once. */
static void begin(Mlx5Cq *cq, uint8_t *cqe)
{
    Mlx5CqComp *comp = cq->comp;

    comp->open = true;
    comp->behind = 0;
    memcpy(comp->title, cqe, MLX5_CQE_BYTES);
    if (comp->enhanced) {
        comp->behind = 1;
        write_whole(cq, NULL, cqe, false);
    } else {
        hold(cq, cqe);
    }
}

void mlx5_cq_comp_post(Mlx5Cq *cq, const uint8_t *half,
                       uint8_t cqe[MLX5_CQE_BYTES], bool solicited)
{
    Mlx5CqComp *comp = cq->comp;
    bool alone = solicited || half ||
                 MLX5_GET(cqe64, cqe, cqe_format) != MLX5_CQE_NO_INLINE_DATA;

    if (!alone && may_follow(comp, cqe)) {
        hold(cq, cqe);
        if (comp->held == (comp->enhanced ? ENHANCED_MINIS
                                          : MLX5_CQ_COMP_MAX)) {
            mlx5_cq_settle(cq);
        }
        return;
    }
    mlx5_cq_settle(cq);
    if (cq->failed) {
        return;
    }
    if (alone) {
        mlx5_cq_comp_alone(cq, cqe);
        write_whole(cq, half, cqe, solicited);
    } else {
        begin(cq, cqe);
    }
}
