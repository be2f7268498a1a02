/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event queues; see eq.h (PRM: Event Queues; driver: eq.c).
 *
 * Ownership: the driver fills the queue with owner bit 1; entry n carries owner
 * (n >> log_eq_size) & 1 once it is valid, written after the other 63 bytes.
 *
 * Arming: a write to the arm register says how far the driver has read. If
 * there is more, it interrupts at once; else the next event does. One
 * interrupt per arming.
 *
 * Left out: event collapsing (eqc.ec), DC events.
 */
#include "fw/fw.h"
#include "obj/eq.h"
#include "obj/limits.h"
#include "obj/uar.h"

#define EQE_BYTES 64
#define CI_MASK 0xffffffu

/* eqc.st (driver: eq.c) */
enum {
    EQ_ST_ARMED = 0x9,
    EQ_ST_FIRED = 0xa,
};
/* eqc.status (PRM: Event Queue Context) */
enum {
    EQ_STATUS_OK = 0x0,
    EQ_STATUS_WRITE_FAILURE = 0xa,
};

/* How many entries the driver has not taken yet. */
static uint32_t outstanding(const Mlx5Eq *eq)
{
    return (eq->pi - eq->ci) & CI_MASK;
}

static void report_overrun(Mlx5Eq *eq)
{
    mlx5_guest_error(eq->o.func, "EQ %u overran at %u entries", eq->o.id,
                     1u << eq->log_eq_size);
    mlx5_fw_health_report(eq->o.func, MLX5_HEALTH_SYNDR_EQ_OVERRUN);
}

/* Payload first, then the byte with the owner bit. */
static bool write_eqe(Mlx5Eq *eq, uint8_t eqe[EQE_BYTES])
{
    uint64_t at = (uint64_t)(eq->pi & ((1u << eq->log_eq_size) - 1)) *
                  EQE_BYTES;

    MLX5_SET(eqe, eqe, owner, eq->pi >> eq->log_eq_size & 1);
    return mlx5_ring_write(&eq->ring, at, eqe, EQE_BYTES - 1) &&
           mlx5_ring_write(&eq->ring, at + EQE_BYTES - 1, eqe + EQE_BYTES - 1,
                           1);
}

static void interrupt(Mlx5Eq *eq)
{
    eq->armed = false;
    mlx5_trace(eq->o.func, MLX5_TRACE_IRQ, "eqn=%u vector=%u", eq->o.id,
               eq->vector);
    mlx5_irq_note(eq->o.func, eq->vector);
}

/* Is the number of a work queue in the event's data? */
static bool is_wq_event(uint8_t type)
{
    static const uint32_t types = 1u << MLX5_EVENT_TYPE_COMM_EST |
        1u << MLX5_EVENT_TYPE_SQ_DRAINED |
        1u << MLX5_EVENT_TYPE_WQ_CATAS_ERROR |
        1u << MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR |
        1u << MLX5_EVENT_TYPE_WQ_ACCESS_ERROR |
        1u << MLX5_EVENT_TYPE_SRQ_CATAS_ERROR |
        1u << MLX5_EVENT_TYPE_SRQ_LAST_WQE |
        1u << MLX5_EVENT_TYPE_SRQ_RQ_LIMIT;

    return type < 32 && types >> type & 1;
}

/* With the number of the queue it is about, if it is about one. */
static void trace_eqe(Mlx5Eq *eq, uint8_t type, uint8_t sub_type,
                      const uint8_t data[28])
{
    char about[24] = "";

    if (!mlx5_trace_on(eq->o.func, MLX5_TRACE_EQE)) {
        return;
    }
    if (type == MLX5_EVENT_TYPE_COMP) {
        g_snprintf(about, sizeof(about), " cqn=0x%x",
                   (unsigned)MLX5_GET(eqe_comp, data, cqn));
    } else if (type == MLX5_EVENT_TYPE_CQ_ERROR) {
        g_snprintf(about, sizeof(about), " cqn=0x%x",
                   (unsigned)MLX5_GET(eqe_cq_err, data, cqn));
    } else if (is_wq_event(type)) {
        g_snprintf(about, sizeof(about), " qpn=0x%x",
                   (unsigned)MLX5_GET(eqe_qp_srq, data, qp_srq_n));
    }
    mlx5_trace_line(eq->o.func, MLX5_TRACE_EQE,
                    "eqn=%u index=0x%x type=0x%x sub_type=0x%x%s", eq->o.id,
                    eq->pi, type, sub_type, about);
}

void mlx5_eq_post(Mlx5Eq *eq, uint8_t type, uint8_t sub_type,
                  const uint8_t data[28])
{
    uint8_t eqe[EQE_BYTES] = { 0 };

    if (!eq->oi && outstanding(eq) >= 1u << eq->log_eq_size) {
        report_overrun(eq);
        return;
    }
    MLX5_SET(eqe, eqe, event_type, type);
    MLX5_SET(eqe, eqe, event_sub_type, sub_type);
    memcpy(eqe + MLX5_BYTE_OFF(eqe, event_data), data,
           MLX5_BYTE_SZ(eqe, event_data));
    if (!write_eqe(eq, eqe)) {
        eq->failed = true;
        mlx5_guest_error(eq->o.func, "EQ %u: entry 0x%x is not in memory",
                         eq->o.id, eq->pi);
        return;
    }
    trace_eqe(eq, type, sub_type, data);
    eq->pi = (eq->pi + 1) & CI_MASK;
    if (eq->armed) {
        interrupt(eq);
    }
}

void mlx5_eq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t value, bool arm)
{
    uint32_t ci = value & CI_MASK;
    uint32_t eqn = value >> 24;
    Mlx5Eq *eq = mlx5_obj_get(func, MLX5_OBJ_EQ, eqn);

    if (!eq || eq->uar != uar) {
        mlx5_guest_error(func, "EQ %u rung through UAR page 0x%x, not its own",
                         eqn, uar);
        return;
    }
    /* The driver cannot have read what was not written. */
    if (((eq->pi - ci) & CI_MASK) > outstanding(eq) && !eq->oi) {
        mlx5_guest_error(func, "EQ %u: consumer index 0x%x is out of range",
                         eqn, ci);
        return;
    }
    eq->ci = ci;
    if (arm) {
        eq->armed = true;
        if (outstanding(eq)) {
            interrupt(eq);
        }
    }
}

typedef struct Raise {
    uint8_t type, sub_type;
    const uint8_t *data;         /* NULL: only look whether anybody listens */
    bool listened;
} Raise;

static void raise_one(void *obj, void *opaque)
{
    Mlx5Eq *eq = obj;
    Raise *raise = opaque;

    if (eq->event_mask[raise->type / 64] >> raise->type % 64 & 1) {
        raise->listened = true;
        if (raise->data) {
            mlx5_eq_post(eq, raise->type, raise->sub_type, raise->data);
        }
    }
}

bool mlx5_event_raise(Mlx5Func *func, uint8_t type, uint8_t sub_type,
                      const uint8_t data[28])
{
    Raise raise = { type, sub_type, data, false };

    mlx5_obj_foreach(func, MLX5_OBJ_EQ, raise_one, &raise);
    return raise.listened;
}

bool mlx5_event_wanted(Mlx5Func *func, uint8_t type)
{
    Raise raise = { type, 0, NULL, false };

    mlx5_obj_foreach(func, MLX5_OBJ_EQ, raise_one, &raise);
    return raise.listened;
}

void mlx5_event_raise_wq(Mlx5Func *func, uint8_t type, uint32_t number,
                         uint8_t kind)
{
    uint8_t data[28] = { 0 };

    MLX5_SET(eqe_qp_srq, data, type, kind);
    MLX5_SET(eqe_qp_srq, data, qp_srq_n, number);
    mlx5_event_raise(func, type, 0, data);
}

/* Return: 0 or the syndrome of the field that breaks a rule. */
static uint32_t check_context(Mlx5Func *func, const uint8_t *eqc)
{
    if (MLX5_GET(eqc, eqc, log_eq_size) > MLX5_LOG_MAX_EQ_SZ) {
        return MLX5_SYND_EQ_SIZE;
    }
    if (MLX5_GET(eqc, eqc, intr) >= func->props.num_vectors) {
        return MLX5_SYND_EQ_VECTOR;
    }
    if (MLX5_GET(eqc, eqc, ec)) {
        return MLX5_SYND_EQ_COLLAPSE;
    }
    return 0;
}

static Mlx5Eq *eq_new(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *eqc,
                      Mlx5Ring *ring)
{
    Mlx5Eq *eq = mlx5_obj_new(func, MLX5_OBJ_EQ, sizeof(*eq), cmd->uid);

    if (!eq) {
        mlx5_ring_clear(ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_EQ_NONE_FREE);
        return NULL;
    }
    eq->ring = *ring;
    eq->log_eq_size = MLX5_GET(eqc, eqc, log_eq_size);
    eq->vector = MLX5_GET(eqc, eqc, intr);
    eq->uar = MLX5_GET(eqc, eqc, uar_page);
    eq->uar_page = mlx5_obj_get(func, MLX5_OBJ_UAR, eq->uar);
    mlx5_obj_ref(eq->uar_page);
    eq->oi = MLX5_GET(eqc, eqc, oi);
    for (int i = 0; i < 4; i++) {
        eq->event_mask[i] = MLX5_GET_IDX(create_eq_in, cmd->in, event_bitmask,
                                         i);
    }
    memcpy(eq->eqc, eqc, sizeof(eq->eqc));
    return eq;
}

void mlx5_cmd_create_eq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *eqc = MLX5_ADDR_OF(create_eq_in, cmd->in, eq_context_entry);
    uint32_t syndrome = check_context(func, eqc);
    Mlx5Ring ring;
    Mlx5Eq *eq;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (!mlx5_obj_find(func, cmd, MLX5_OBJ_UAR, MLX5_GET(eqc, eqc, uar_page),
                       MLX5_SYND_EQ_UAR)) {
        return;
    }
    if (!mlx5_ring_from_cmd(&ring, func, cmd, MLX5_BYTE_OFF(create_eq_in, pas),
                            MLX5_GET(eqc, eqc, log_page_size),
                            MLX5_GET(eqc, eqc, page_offset),
                            (uint64_t)EQE_BYTES
                                << MLX5_GET(eqc, eqc, log_eq_size))) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_EQ_PAGES);
        return;
    }
    eq = eq_new(func, cmd, eqc, &ring);
    if (eq) {
        MLX5_SET(create_eq_out, cmd->out, eq_number, eq->o.id);
    }
}

void mlx5_cmd_destroy_eq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_EQ,
                         MLX5_GET(destroy_eq_in, cmd->in, eq_number),
                         MLX5_SYND_EQ_UNKNOWN, MLX5_SYND_EQ_BUSY);
}

void mlx5_eq_release(void *obj)
{
    Mlx5Eq *eq = obj;

    mlx5_obj_unref(eq->uar_page);
    mlx5_ring_clear(&eq->ring);
}

void mlx5_cmd_query_eq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Eq *eq = mlx5_obj_find(func, cmd, MLX5_OBJ_EQ,
                               MLX5_GET(query_eq_in, cmd->in, eq_number),
                               MLX5_SYND_EQ_UNKNOWN);
    uint8_t *eqc = MLX5_ADDR_OF(query_eq_out, cmd->out, eq_context_entry);

    if (!eq) {
        return;
    }
    memcpy(eqc, eq->eqc, sizeof(eq->eqc));
    MLX5_SET(eqc, eqc, status,
             eq->failed ? EQ_STATUS_WRITE_FAILURE : EQ_STATUS_OK);
    MLX5_SET(eqc, eqc, st, eq->armed ? EQ_ST_ARMED : EQ_ST_FIRED);
    MLX5_SET(eqc, eqc, consumer_counter, eq->ci);
    MLX5_SET(eqc, eqc, producer_counter, eq->pi);
    MLX5_SET(query_eq_out, cmd->out, event_bitmask, eq->event_mask[0]);
    mlx5_ring_put_pas(&eq->ring, cmd, MLX5_BYTE_OFF(query_eq_out, pas));
}
