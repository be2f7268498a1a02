/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion queues: entries, arming, overrun; see cq.h. The commands are in
 * cq_cmd.c.
 *
 * Ownership: the driver fills the queue with opcode 15 and owner 1; entry n is
 * valid when its owner bit is (n >> log_cq_size) & 1 (driver: mlx5_ib cq.c
 * get_sw_cqe). The byte with opcode and owner is written after all others.
 *
 * Arming: {sn, solicited only?, ci} through the UAR. One event per arming; the
 * driver counts sn up with every event it got, so an arming that repeats the
 * sn of an event already given asks for nothing new. If entries are there that
 * are beyond ci and that no event has told of, the event comes at once (cqc
 * last_notified_index). One for those it was told of already would be one too
 * many for who takes an entry for each event (perftest -e).
 *
 * Room: the consumer index is read from the doorbell record, and only when the
 * queue looks full, so that a busy queue costs no read of guest memory.
 *
 * Moderation: with a period, an event that is due waits until enough entries
 * came (cq_max_count) or the period is over, which begins with the event before
 * or anew with each entry (cq_period_mode).
 */
#include "fw/fw.h"
#include "obj/cq.h"
#include "obj/cq_internal.h"
#include "obj/eth_engine.h"

static uint32_t cq_entries(const Mlx5Cq *cq)
{
    return 1u << cq->log_cq_size;
}

static uint32_t distance(uint32_t from, uint32_t to)
{
    return (to - from) & MLX5_CQ_CI_MASK;
}

uint32_t mlx5_cq_outstanding(Mlx5Cq *cq)
{
    uint32_t held = cq->comp ? mlx5_cq_comp_held(cq) : 0;
    uint32_t ci;

    if (distance(cq->ci_seen, cq->pi) + held >= cq_entries(cq) &&
        mlx5_dma_read_be32(cq->o.func, cq->dbr_gpa, &ci)) {
        cq->ci_seen = ci & MLX5_CQ_CI_MASK;
    }
    return distance(cq->ci_seen, cq->pi) + held;
}

/* The queue is unusable from here on; the driver is told once. */
static void fail(Mlx5Cq *cq, uint8_t status, uint8_t syndrome)
{
    uint8_t data[28] = { 0 };

    cq->failed = true;
    cq->armed = false;
    cq->status = status;
    mlx5_trace(cq->o.func, MLX5_TRACE_STATE, "cqn=0x%x failed status=0x%x",
               cq->o.id, status);
    MLX5_SET(eqe_cq_err, data, cqn, cq->o.id);
    MLX5_SET(eqe_cq_err, data, syndrome, syndrome);
    mlx5_event_raise(cq->o.func, MLX5_EVENT_TYPE_CQ_ERROR, 0, data);
}

/* A 128-byte entry has the 64 bytes that count in its second half. */
static uint64_t entry_at(const Mlx5Cq *cq, uint32_t pi)
{
    return (uint64_t)(pi & (cq_entries(cq) - 1)) * cq->cqe_bytes +
           cq->cqe_bytes - MLX5_CQE_BYTES;
}

static bool put(Mlx5Cq *cq, uint64_t at, const uint8_t *bytes, size_t len)
{
    if (!mlx5_ring_write(&cq->ring, at, bytes, len)) {
        fail(cq, MLX5_CQ_STATUS_WRITE_FAIL, MLX5_CQ_ERR_ACCESS);
        return false;
    }
    return true;
}

bool mlx5_cq_write_raw(Mlx5Cq *cq, uint32_t pi,
                       const uint8_t bytes[MLX5_CQE_BYTES])
{
    return put(cq, entry_at(cq, pi), bytes, MLX5_CQE_BYTES);
}

bool mlx5_cq_write(Mlx5Cq *cq, const uint8_t *half,
                   uint8_t cqe[MLX5_CQE_BYTES])
{
    static const uint8_t zeros[MLX5_CQE_BYTES];
    uint64_t at = entry_at(cq, cq->pi);

    MLX5_SET(cqe64, cqe, owner, cq->pi >> cq->log_cq_size & 1);
    if (cq->pad && !half) {
        half = zeros;
    }
    if (half && !put(cq, at - MLX5_CQE_BYTES, half, MLX5_CQE_BYTES)) {
        return false;
    }
    if (!put(cq, at, cqe, MLX5_CQE_BYTES - 1) ||
        !put(cq, at + MLX5_CQE_BYTES - 1, cqe + MLX5_CQE_BYTES - 1, 1)) {
        return false;
    }
    mlx5_trace(cq->o.func, MLX5_TRACE_CQE,
               "cqn=0x%x index=0x%x opcode=%u qpn=0x%x wqe_counter=%u "
               "syndrome=0x%x byte_cnt=%u", cq->o.id, cq->pi,
               (unsigned)MLX5_GET(cqe64, cqe, opcode),
               (unsigned)MLX5_GET(cqe64, cqe, qpn),
               (unsigned)MLX5_GET(cqe64, cqe, wqe_counter),
               mlx5_cqe_is_error(cqe) ?
               (unsigned)MLX5_GET(cqe_err, cqe, syndrome) : 0,
               (unsigned)MLX5_GET(cqe64, cqe, byte_cnt));
    cq->pi = (cq->pi + 1) & MLX5_CQ_CI_MASK;
    return true;
}

static void give_event(Mlx5Cq *cq)
{
    uint8_t data[28] = { 0 };

    cq->armed = false;
    cq->fired = true;
    cq->fired_sn = cq->arm_sn;
    cq->unreported = 0;
    if (cq->moderated) {
        cq->event_ns = mlx5_clock_ns(cq->o.func);
        mlx5_timer_cancel(cq->o.func, &cq->timer);
    }
    MLX5_SET(eqe_comp, data, cqn, cq->o.id);
    mlx5_eq_post(cq->eq, MLX5_EVENT_TYPE_COMP, 0, data);
}

/* An event is due; give it when enough entries came or the period is over. */
static void moderate(Mlx5Cq *cq)
{
    Mlx5Func *func = cq->o.func;
    uint32_t max = MLX5_GET(cqc, cq->cqc, cq_max_count);
    int64_t period_ns = MLX5_GET(cqc, cq->cqc, cq_period) * INT64_C(1000);
    bool from_cqe = MLX5_GET(cqc, cq->cqc, cq_period_mode) ==
                    MLX5_CQ_PERIOD_FROM_CQE;
    int64_t now = mlx5_clock_ns(func);
    int64_t deadline = (from_cqe ? now : cq->event_ns) + period_ns;

    if ((max && cq->unreported >= max) || deadline <= now) {
        give_event(cq);
    } else if (from_cqe || !mlx5_timer_armed(&cq->timer)) {
        mlx5_timer_arm(func, &cq->timer, deadline);
    }
}

static void timer_fired(void *opaque)
{
    Mlx5Cq *cq = opaque;

    if (cq->armed && !cq->failed) {
        give_event(cq);
    }
}

void mlx5_cq_set_moderation(Mlx5Cq *cq)
{
    if (!cq->timer.fire) {
        mlx5_timer_init(&cq->timer, timer_fired, cq);
    }
    /* Without a period, nobody would wake who waits for one entry more. */
    cq->moderated = MLX5_GET(cqc, cq->cqc, cq_period) != 0;
    if (!cq->moderated && mlx5_timer_armed(&cq->timer)) {
        mlx5_timer_cancel(cq->o.func, &cq->timer);
        timer_fired(cq);
    }
}

static void event_due_now(Mlx5Cq *cq, bool solicited)
{
    if (cq->moderated &&
        !(solicited && MLX5_GET(cqc, cq->cqc, scqe_break_moderation_en))) {
        moderate(cq);
    } else {
        give_event(cq);
    }
}

void mlx5_cq_written(Mlx5Cq *cq, uint32_t num, bool solicited)
{
    cq->unreported = MIN(cq->unreported + (uint64_t)num, UINT32_MAX);
    if (solicited) {
        cq->solicit_pi = cq->pi;
        cq->solicit_seen = true;
    }
    if (cq->armed && (!cq->armed_solicited || solicited)) {
        event_due_now(cq, solicited);
    }
}

void mlx5_cq_stamp(const Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES],
                   bool real_time)
{
    Mlx5Func *func = cq->o.func;

    MLX5_SET(cqe64, cqe, timestamp, real_time ? mlx5_fw_real_time(func)
                                              : mlx5_fw_timer(func));
}

void mlx5_cq_post_half(Mlx5Cq *cq, const uint8_t *half,
                       uint8_t cqe[MLX5_CQE_BYTES], bool solicited)
{
    bool error = mlx5_cqe_is_error(cqe);

    if (cq->failed) {
        return;
    }
    if (!cq->oi && mlx5_cq_outstanding(cq) >= cq_entries(cq)) {
        mlx5_cq_settle(cq);
        fail(cq, MLX5_CQ_STATUS_OVERFLOW, MLX5_CQ_ERR_OVERRUN);
        return;
    }
    /* An error entry has its syndromes where others have the time. */
    if (!error && !MLX5_GET(cqe64, cqe, timestamp)) {
        mlx5_cq_stamp(cq, cqe, false);
    }
    MLX5_SET(cqe64, cqe, se, solicited);
    /* An error counts as solicited (IBA 11.4.2.2). */
    if (cq->comp) {
        mlx5_cq_comp_post(cq, half, cqe, solicited || error);
    } else if (mlx5_cq_write(cq, half, cqe)) {
        mlx5_cq_written(cq, 1, solicited || error);
    }
}

void mlx5_cq_post(Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES], bool solicited)
{
    mlx5_cq_post_half(cq, NULL, cqe, solicited);
}

/*
 * Is there an entry that this kind of arming waits for, beyond @ci and beyond
 * those that an event told of?
 */
static bool event_due(const Mlx5Cq *cq, uint32_t ci)
{
    uint32_t unread = distance(ci, cq->pi);
    uint32_t untold = MIN(unread, cq->unreported);

    /* An index from the future is the guest's mistake; wait for entries. */
    if (untold == 0 || (unread > cq_entries(cq) && !cq->oi)) {
        return false;
    }
    return !cq->armed_solicited ||
           (cq->solicit_seen && distance(cq->solicit_pi, cq->pi) < untold);
}

static void arm(Mlx5Cq *cq, uint32_t sn, bool solicited, uint32_t ci)
{
    if (cq->fired && cq->fired_sn == sn) {
        return;
    }
    cq->armed = true;
    cq->armed_solicited = solicited;
    cq->arm_sn = sn;
    if (event_due(cq, ci)) {
        event_due_now(cq, solicited);
    }
}

void mlx5_cq_doorbell(Mlx5Func *func, uint32_t uar, uint64_t value)
{
    uint8_t db[8];
    uint32_t cqn;
    Mlx5Cq *cq;

    mlx5_prm_set(db, 0, 32, value >> 32);
    mlx5_prm_set(db, 32, 32, value);
    cqn = MLX5_GET(uar_cq_doorbell, db, cqn);
    cq = mlx5_obj_get(func, MLX5_OBJ_CQ, cqn);
    if (!cq || cq->uar != uar) {
        mlx5_guest_error(func, "CQ 0x%x armed through UAR page 0x%x, not its "
                         "own", cqn, uar);
        return;
    }
    if (!cq->failed) {
        arm(cq, MLX5_GET(uar_cq_doorbell, db, cmd_sn),
            MLX5_GET(uar_cq_doorbell, db, cmd),
            MLX5_GET(uar_cq_doorbell, db, ci));
    }
    if (func->eth_engine) {
        func->eth_engine->cq_armed(func);
    }
}
