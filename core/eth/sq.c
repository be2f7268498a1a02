/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of SQs: doorbells, fetching WQEs, completions, errors (PRM: Work
 * Request; driver: en_tx.c, wc.c).
 *
 *   doorbell --> work item --> send counter of the doorbell record
 *     RDY: WQE by WQE: opcode table, CQE if asked; a fault: error CQE and ERR
 *     ERR: every WQE ends with a flush CQE, if the queue asked for these
 *
 * BlueFlame: the memory copy of a WQE is what counts, and it is fetched as
 * soon as its first quadword arrives. Only for a NOP may the two copies
 * differ (the driver's write-combining test asks for a CQE in the BlueFlame
 * copy alone); see blueflame_rest().
 */
#include "eth/eth_internal.h"

#include "bus/trace.h"

/* Vendor syndrome of error completions; the driver only prints it. */
#define VENDOR_SYND 0x57

#define BB_BYTES 64
#define DS_BYTES 16
#define MAX_WQE_BYTES (63 * DS_BYTES)
#define SEND_DBR_OFF 4

/* ctrl.ce: bit 1 asks for a CQE (2), bit 0 for an event with it (3). */
#define CE_CQE 2

enum { OP_NOP = 0x00, OP_SEND = 0x0a, OP_LSO = 0x0e, OP_UMR = 0x25,
       OP_ENHANCED_MPSW = 0x29 };

static uint8_t do_nop(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes)
{
    (void)sq;
    (void)wqe;
    *bytes = 0;
    return 0;
}

static uint8_t do_send(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes)
{
    return mlx5_eth_tx_wqe(sq, wqe, false, bytes);
}

static uint8_t do_lso(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes)
{
    return mlx5_eth_tx_wqe(sq, wqe, true, bytes);
}

static uint8_t do_umr(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes)
{
    *bytes = 0;
    return mlx5_eth_umr(sq, wqe);
}

static const struct {
    uint8_t opcode;
    const char *name;
    uint8_t (*run)(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes);
} opcodes[] = {
    { OP_NOP, "NOP", do_nop },
    { OP_SEND, "SEND", do_send },
    { OP_LSO, "LSO", do_lso },
    { OP_UMR, "UMR", do_umr },
    { OP_ENHANCED_MPSW, "ENHANCED_MPSW", mlx5_eth_tx_multi },
};

static void complete(Mlx5Sq *sq, uint8_t opcode, uint16_t index, bool se)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe64, cqe, srqn_user_index, sq->user_index);
    MLX5_SET(cqe64, cqe, send_wqe_opcode, opcode);
    MLX5_SET(cqe64, cqe, qpn, sq->o.id);
    MLX5_SET(cqe64, cqe, wqe_counter, index);
    MLX5_SET(cqe64, cqe, opcode, MLX5_CQE_REQ);
    mlx5_cq_stamp(sq->cq, cqe, sq->real_time);
    mlx5_cq_post(sq->cq, cqe, se);
}

static void complete_error(Mlx5Sq *sq, uint8_t opcode, uint16_t index,
                           uint8_t syndrome)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe_err, cqe, srqn_user_index, sq->user_index);
    MLX5_SET(cqe_err, cqe, vendor_err_synd, VENDOR_SYND);
    MLX5_SET(cqe_err, cqe, syndrome, syndrome);
    MLX5_SET(cqe_err, cqe, send_wqe_opcode, opcode);
    MLX5_SET(cqe_err, cqe, qpn, sq->o.id);
    MLX5_SET(cqe_err, cqe, wqe_counter, index);
    MLX5_SET(cqe_err, cqe, opcode, MLX5_CQE_REQ_ERR);
    mlx5_cq_post(sq->cq, cqe, false);
}

/* The queue cannot go on and no WQE is to blame: an event says so. */
static void catastrophe(Mlx5Sq *sq, const char *why)
{
    mlx5_guest_error(sq->o.func, "SQ 0x%x: %s", sq->o.id, why);
    mlx5_sq_set_state(sq, MLX5_WQ_STATE_ERR);
    mlx5_event_raise_wq(sq->o.func, MLX5_EVENT_TYPE_WQ_CATAS_ERROR, sq->o.id,
                        2);
}

/*
 * Copy the WQE at ci; each byte is fetched once.
 * Return: its length in bytes, 0 if the memory is not there.
 */
static uint32_t fetch(Mlx5Sq *sq, uint8_t wqe[MAX_WQE_BYTES])
{
    uint64_t size = sq->wq.ring.size_bytes;
    uint64_t at = (uint64_t)sq->ci * BB_BYTES;
    uint32_t len;

    if (!mlx5_ring_read_wrap(&sq->wq.ring, 0, size, at, wqe, DS_BYTES)) {
        return 0;
    }
    len = MLX5_GET(wqe_ctrl, wqe, ds) * DS_BYTES;
    if (len > DS_BYTES && len <= size &&
        !mlx5_ring_read_wrap(&sq->wq.ring, 0, size, at + DS_BYTES,
                             wqe + DS_BYTES, len - DS_BYTES)) {
        return 0;
    }
    /* A WQE longer than its ring, or empty, is an error of its own. */
    return len > size || len == 0 ? DS_BYTES : len;
}

static uint8_t execute(Mlx5Sq *sq, const Mlx5EthWqe *wqe, uint64_t *bytes)
{
    uint32_t opcode = MLX5_GET(wqe_ctrl, wqe->p, opcode);

    *bytes = 0;
    if (wqe->len != MLX5_GET(wqe_ctrl, wqe->p, ds) * DS_BYTES) {
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        if (opcodes[i].opcode == opcode) {
            mlx5_trace(sq->o.func, MLX5_TRACE_WQE,
                       "sqn=0x%x index=%u %s ds=%u ce=%u", sq->o.id, sq->ci,
                       opcodes[i].name, wqe->len / DS_BYTES,
                       (unsigned)MLX5_GET(wqe_ctrl, wqe->p, ce));
            return opcodes[i].run(sq, wqe, bytes);
        }
    }
    return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}

static void finish(Mlx5Sq *sq, const uint8_t *wqe, uint16_t index,
                   uint8_t syndrome)
{
    uint8_t opcode = MLX5_GET(wqe_ctrl, wqe, opcode);
    bool ce = MLX5_GET(wqe_ctrl, wqe, ce) & CE_CQE;

    sq->nop_silent = opcode == OP_NOP && !ce && !syndrome;
    sq->nop_at = index;
    if (syndrome) {
        complete_error(sq, opcode, index, syndrome);
        mlx5_sq_set_state(sq, MLX5_WQ_STATE_ERR);
    } else if (ce) {
        complete(sq, opcode, index, MLX5_GET(wqe_ctrl, wqe, se));
    }
}

static uint16_t blocks(uint32_t len)
{
    return (len + BB_BYTES - 1) / BB_BYTES;
}

/* What holds the queue back is told that it sent. */
static void charge(Mlx5Sq *sq, Mlx5Bucket *limit, uint64_t bytes)
{
    if (sq->pace) {
        mlx5_pace_charge(sq->pace, bytes);
    }
    if (limit) {
        mlx5_bucket_use(limit, mlx5_clock_ns(sq->o.func), bytes);
    }
}

/* Execute or flush the WQE at ci. Return: false if the queue is stuck. */
static bool step(Mlx5Sq *sq, Mlx5Bucket *limit, Mlx5Budget *budget)
{
    uint8_t buf[MAX_WQE_BYTES];
    Mlx5EthWqe wqe = { buf, fetch(sq, buf) };
    uint16_t index = sq->ci;
    uint64_t bytes = 0;

    if (wqe.len == 0) {
        if (sq->state != MLX5_WQ_STATE_ERR) {
            catastrophe(sq, "ring is not in memory");
        }
        return false;
    }
    if (sq->state == MLX5_WQ_STATE_RDY) {
        uint8_t syndrome = execute(sq, &wqe, &bytes);

        if (G_UNLIKELY(sq->pace || limit) && bytes) {
            charge(sq, limit, bytes);
        }
        sq->ci += blocks(wqe.len);
        finish(sq, buf, index, syndrome);
    } else {
        sq->ci += blocks(wqe.len);
        if (sq->flush_in_error) {
            complete_error(sq, MLX5_GET(wqe_ctrl, buf, opcode), index,
                           MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
        }
    }
    mlx5_budget_spend(budget, bytes);
    return true;
}

/* May it send one more? If not, its work item is run when it may. */
static bool may_send(Mlx5Sq *sq, const Mlx5Bucket *limit)
{
    return (!sq->pace || mlx5_pace_may(sq->pace)) &&
           (!limit || mlx5_eth_ets_may(sq->o.func, limit));
}

static bool run(void *opaque, Mlx5Budget *budget)
{
    Mlx5Sq *sq = opaque;
    Mlx5Bucket *limit = mlx5_eth_ets_limit(sq);
    uint32_t dbr;
    uint16_t left;

    if (sq->state == MLX5_WQ_STATE_RST) {
        return false;
    }
    if (!mlx5_dma_read_be32(sq->o.func, sq->wq.dbr_gpa + SEND_DBR_OFF, &dbr)) {
        mlx5_guest_error(sq->o.func, "SQ 0x%x: no doorbell record", sq->o.id);
        return false;
    }
    if (G_UNLIKELY(sq->o.func->eth->pause.on) &&
        sq->state == MLX5_WQ_STATE_RDY && mlx5_eth_paused(sq)) {
        return false;
    }
    left = (uint16_t)dbr - sq->ci;
    if (left > mlx5_wq_strides(&sq->wq)) {
        if (sq->state != MLX5_WQ_STATE_ERR) {
            catastrophe(sq, "doorbell record runs ahead of the ring");
        }
        return false;
    }
    while (left && mlx5_budget_left(budget)) {
        uint16_t before = sq->ci, done;

        if (G_UNLIKELY(sq->pace || limit) && sq->state == MLX5_WQ_STATE_RDY &&
            !may_send(sq, limit)) {
            return false;
        }
        if (!step(sq, limit, budget)) {
            return false;
        }
        done = sq->ci - before;
        left = done < left ? left - done : 0;
    }
    return left != 0;
}

void mlx5_eth_sq_created(Mlx5Sq *sq)
{
    mlx5_work_init(&sq->work, run, sq);
}

void mlx5_eth_sq_state(Mlx5Sq *sq)
{
    if (sq->state == MLX5_WQ_STATE_ERR) {
        /* Flush what is posted already. */
        mlx5_work_schedule(sq->o.func, &sq->work);
    } else if (sq->state == MLX5_WQ_STATE_RST) {
        mlx5_work_cancel(sq->o.func, &sq->work);
    }
}

void mlx5_eth_sq_destroyed(Mlx5Sq *sq)
{
    mlx5_work_cancel(sq->o.func, &sq->work);
}

/*
 * More of a WQE's BlueFlame copy: byte 11 of its control segment has ce. A NOP
 * that completed silently from memory but asks for a CQE here gets it now
 * (driver: wc.c mlx5_wc_post_nop).
 */
static void blueflame_rest(Mlx5Sq *sq, uint64_t value, unsigned size)
{
    uint8_t fm_ce_se = size == 8 ? value >> 32 : value;

    if (sq->state == MLX5_WQ_STATE_RDY && sq->nop_silent &&
        sq->nop_at == sq->bf_index && (fm_ce_se >> 2 & CE_CQE)) {
        sq->nop_silent = false;
        complete(sq, OP_NOP, sq->nop_at, fm_ce_se >> 1 & 1);
    }
}

void mlx5_eth_sq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t sqn,
                          uint32_t offset, uint64_t value, unsigned size)
{
    Mlx5Sq *sq = mlx5_obj_get(func, MLX5_OBJ_SQ, sqn);

    if (!sq || sq->wq.uar->id != uar) {
        mlx5_guest_error(func, "SQ 0x%x rung through UAR page 0x%x, not its "
                         "own", sqn, uar);
        return;
    }
    if (offset == 0) {
        /* The control segment's first dword: opmod, index, opcode. */
        sq->bf_index = (size == 8 ? value >> 32 : value) >> 8;
        mlx5_work_schedule(func, &sq->work);
    } else if (offset == 8 && size >= 4) {
        blueflame_rest(sq, value, size);
    }
}
