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
 * sn of an event already given asks for nothing new. If entries beyond ci are
 * there already, the event comes at once.
 *
 * Room: the consumer index is read from the doorbell record, and only when the
 * queue looks full, so that a busy queue costs no read of guest memory.
 *
 * Left out: compressed entries, moderation (stored; events come at once).
 */
#include "fw/fw.h"
#include "obj/cq.h"
#include "obj/cq_internal.h"

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
    uint32_t ci;

    if (distance(cq->ci_seen, cq->pi) >= cq_entries(cq) &&
        mlx5_dma_read_be32(cq->o.func, cq->dbr_gpa, &ci)) {
        cq->ci_seen = ci & MLX5_CQ_CI_MASK;
    }
    return distance(cq->ci_seen, cq->pi);
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

bool mlx5_cq_write(Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES])
{
    uint64_t at = (uint64_t)(cq->pi & (cq_entries(cq) - 1)) * cq->cqe_bytes;

    /* A 128-byte entry has the 64 bytes that count in its second half. */
    at += cq->cqe_bytes - MLX5_CQE_BYTES;
    MLX5_SET(cqe64, cqe, owner, cq->pi >> cq->log_cq_size & 1);
    if (!mlx5_ring_write(&cq->ring, at, cqe, MLX5_CQE_BYTES - 1) ||
        !mlx5_ring_write(&cq->ring, at + MLX5_CQE_BYTES - 1,
                         cqe + MLX5_CQE_BYTES - 1, 1)) {
        fail(cq, MLX5_CQ_STATUS_WRITE_FAIL, MLX5_CQ_ERR_ACCESS);
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
    MLX5_SET(eqe_comp, data, cqn, cq->o.id);
    mlx5_eq_post(cq->eq, MLX5_EVENT_TYPE_COMP, 0, data);
}

void mlx5_cq_post(Mlx5Cq *cq, uint8_t cqe[MLX5_CQE_BYTES], bool solicited)
{
    bool error = mlx5_cqe_is_error(cqe);

    if (cq->failed) {
        return;
    }
    if (!cq->oi && mlx5_cq_outstanding(cq) >= cq_entries(cq)) {
        fail(cq, MLX5_CQ_STATUS_OVERFLOW, MLX5_CQ_ERR_OVERRUN);
        return;
    }
    if (!error) {
        /* An error entry has its syndromes where others have the time. */
        MLX5_SET(cqe64, cqe, timestamp, mlx5_fw_timer(cq->o.func));
    }
    MLX5_SET(cqe64, cqe, se, solicited);
    if (!mlx5_cq_write(cq, cqe)) {
        return;
    }
    /* An error counts as solicited (IBA 11.4.2.2). */
    if (solicited || error) {
        cq->solicit_pi = cq->pi;
        cq->solicit_seen = true;
    }
    if (cq->armed && (!cq->armed_solicited || solicited || error)) {
        give_event(cq);
    }
}

/* Is there an entry beyond @ci that this kind of arming waits for? */
static bool event_due(const Mlx5Cq *cq, uint32_t ci)
{
    uint32_t unread = distance(ci, cq->pi);

    /* An index from the future is the guest's mistake; wait for entries. */
    if (unread == 0 || (unread > cq_entries(cq) && !cq->oi)) {
        return false;
    }
    return !cq->armed_solicited ||
           (cq->solicit_seen && distance(cq->solicit_pi, cq->pi) < unread);
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
        give_event(cq);
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
}
