/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-demand paging: a queue pair meets a page that is not present, tells the
 * driver by an event, and goes on when the driver says so.
 *
 *   FREE --raise--> WAITING --PAGE_FAULT_RESUME--> FREE: the place is tried
 *                      |                          again, or it is an error
 *                      +--cancel: reset, error, destroy--> FREE
 *
 * A queue pair has a slot for each place where it can stop (Mlx5FaultPlace), so
 * as many faults wait at most. They wait without a timer: only the one queue
 * pair stands still, for as long as the driver likes. A token names a fault and
 * is not used again soon; the resume of one that was cancelled meanwhile is
 * due all the same, and is taken without effect.
 *
 * Two schemes (capability mem_page_fault, which the driver chooses): in one an
 * event names the work request or the remote access, and how far it got; in
 * the other the key and the address.
 *
 * Sources: driver odp.c of mlx5_ib, device.h mlx5_eqe_page_fault, main.c
 * handle_hca_cap_odp; PRM: Page Faults. What stops is in req_send.c,
 * req_resp.c, resp_exec.c and resp_queue.c.
 */
#include "rdma/rdma_internal.h"

#include "fw/cmd.h"
#include "fw/fw.h"
#include "prm/prm.h"

/* event_sub_type (driver: odp.c MLX5_PFAULT_SUBTYPE_*). */
enum { SUBTYPE_WQE = 0, SUBTYPE_RDMA = 1, SUBTYPE_MEMORY = 2 };

/* Tokens have 24 bits in one of the schemes. */
#define TOKEN_MASK 0xffffffu
/* Cancelled faults that a resume may still come for. */
#define ENDED_MAX 4096u

/*
 * A remote access is mapped in steps of this, lest a long one push out what was
 * mapped first. unknown: a card may say the whole length.
 */
#define RDMA_STEP_BYTES (4u << 20)

/* The memory scheme counts pages of 4 KiB. */
#define PAGE_BYTES 4096u

void mlx5_odp_new(Mlx5Rdma *rdma)
{
    rdma->faults = g_hash_table_new(NULL, NULL);
    rdma->ended = g_hash_table_new(NULL, NULL);
    g_queue_init(&rdma->ended_order);
}

void mlx5_odp_reset(Mlx5Rdma *rdma)
{
    /* Their queue pairs are gone. */
    g_assert(g_hash_table_size(rdma->faults) == 0);
    g_hash_table_remove_all(rdma->ended);
    g_queue_clear(&rdma->ended_order);
    rdma->last_token = 0;
}

void mlx5_odp_free(Mlx5Rdma *rdma)
{
    g_hash_table_unref(rdma->faults);
    g_hash_table_unref(rdma->ended);
    g_queue_clear(&rdma->ended_order);
}

/* ---- raising ---- */

static uint32_t new_token(Mlx5Rdma *rdma)
{
    do {
        rdma->last_token = (rdma->last_token + 1) & TOKEN_MASK;
    } while (!rdma->last_token ||
             g_hash_table_contains(rdma->faults,
                                   GUINT_TO_POINTER(rdma->last_token)));
    return rdma->last_token;
}

static bool memory_scheme(Mlx5Func *func)
{
    return mlx5_fw_odp_memory_scheme(func);
}

/* The page that the walk missed, whoever asked for it. */
static void fill_memory(Mlx5Func *func, const Mlx5Fault *f, uint8_t data[28])
{
    uint64_t va = func->page_miss.va & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t len = MIN(func->page_miss.va - va + func->page_miss.len,
                       RDMA_STEP_BYTES);

    MLX5_SET(eqe_page_fault_memory, data, last, 1);
    MLX5_SET(eqe_page_fault_memory, data, token31_0, f->token);
    MLX5_SET(eqe_page_fault_memory, data, mkey, func->page_miss.key);
    MLX5_SET(eqe_page_fault_memory, data, va, va);
    MLX5_SET(eqe_page_fault_memory, data, demand_fault_pages,
             (len + PAGE_BYTES - 1) / PAGE_BYTES);
}

static void fill_wqe(const Mlx5Fault *f, const Mlx5FaultWqe *w,
                     uint8_t data[28])
{
    MLX5_SET(eqe_page_fault_wqe, data, bytes_committed, w->committed);
    MLX5_SET(eqe_page_fault_wqe, data, wqe_index, w->index);
    MLX5_SET(eqe_page_fault_wqe, data, packet_length, w->packet_bytes);
    MLX5_SET(eqe_page_fault_wqe, data, token, f->token);
    MLX5_SET(eqe_page_fault_wqe, data, page_fault_type, f->type);
    MLX5_SET(eqe_page_fault_wqe, data, wq_number, f->wq);
}

static void fill_rdma(const Mlx5Fault *f, const Mlx5FaultRdma *a,
                      uint8_t data[28])
{
    uint64_t step = MIN(a->len - a->committed, RDMA_STEP_BYTES);

    MLX5_SET(eqe_page_fault_rdma, data, bytes_committed, a->committed);
    MLX5_SET(eqe_page_fault_rdma, data, r_key, a->rkey);
    MLX5_SET(eqe_page_fault_rdma, data, packet_length, a->packet_bytes);
    MLX5_SET(eqe_page_fault_rdma, data, rdma_op_len, a->committed + step);
    MLX5_SET(eqe_page_fault_rdma, data, rdma_va, a->va);
    MLX5_SET(eqe_page_fault_rdma, data, page_fault_type, f->type);
    MLX5_SET(eqe_page_fault_rdma, data, token, f->token);
}

/* Take the slot. Return: NULL if nobody would hear of the fault. */
static Mlx5Fault *begin(Mlx5QpEngine *e, Mlx5FaultPlace place)
{
    Mlx5Rdma *rdma = mlx5_engine_rdma(e->qp);
    Mlx5Fault *f = mlx5_odp_fault(e, place);

    /* Callers stop at a place that waits, whatever the guest does. */
    g_assert(!f->token);
    if (!mlx5_event_wanted(e->qp->o.func, MLX5_EVENT_TYPE_PAGE_FAULT)) {
        return NULL;
    }
    f->e = e;
    f->place = place;
    f->token = new_token(rdma);
    f->naks = 0;
    g_hash_table_insert(rdma->faults, GUINT_TO_POINTER(f->token), f);
    return f;
}

static void announce(Mlx5Fault *f, uint8_t subtype, uint8_t data[28])
{
    static const char *const name[] = { "wqe", "rdma", "memory" };
    Mlx5Func *func = f->e->qp->o.func;

    if (memory_scheme(func)) {
        memset(data, 0, 28);
        fill_memory(func, f, data);
        subtype = SUBTYPE_MEMORY;
    }
    mlx5_trace(func, MLX5_TRACE_STATE,
               "page fault %s qp 0x%x type %u wq 0x%x token 0x%x key 0x%x "
               "va 0x%" G_GINT64_MODIFIER "x", name[subtype], f->e->qp->o.id,
               f->type, f->wq, f->token, func->page_miss.key,
               func->page_miss.va);
    mlx5_event_raise(func, MLX5_EVENT_TYPE_PAGE_FAULT, subtype, data);
}

bool mlx5_odp_raise_wqe(Mlx5QpEngine *e, Mlx5FaultPlace place,
                        const Mlx5FaultWqe *wqe)
{
    Mlx5Fault *f = begin(e, place);
    uint8_t data[28] = { 0 };

    if (!f) {
        return false;
    }
    f->type = wqe->type;
    f->wq = wqe->wq;
    fill_wqe(f, wqe, data);
    announce(f, SUBTYPE_WQE, data);
    return true;
}

bool mlx5_odp_raise_rdma(Mlx5QpEngine *e, Mlx5FaultPlace place,
                         const Mlx5FaultRdma *access)
{
    Mlx5Fault *f = begin(e, place);
    uint8_t data[28] = { 0 };

    if (!f) {
        return false;
    }
    f->type = MLX5_PF_TYPE_RDMA | (access->write ? MLX5_PF_TYPE_WRITE : 0);
    /* The driver has no other number to name (odp.c page_fault_resume). */
    f->wq = f->token;
    fill_rdma(f, access, data);
    announce(f, SUBTYPE_RDMA, data);
    return true;
}

/* ---- ending ---- */

static void end(Mlx5Fault *f)
{
    g_hash_table_remove(mlx5_engine_rdma(f->e->qp)->faults,
                        GUINT_TO_POINTER(f->token));
    f->token = 0;
}

/* Remember the token, and forget the oldest if there are too many. */
static void remember_ended(Mlx5Rdma *rdma, uint32_t token)
{
    gpointer key = GUINT_TO_POINTER(token);

    if (g_queue_get_length(&rdma->ended_order) == ENDED_MAX) {
        g_hash_table_remove(rdma->ended, g_queue_pop_head(&rdma->ended_order));
    }
    g_queue_push_tail(&rdma->ended_order, key);
    g_hash_table_add(rdma->ended, key);
}

void mlx5_odp_drop(Mlx5QpEngine *e, Mlx5FaultPlace place)
{
    remember_ended(mlx5_engine_rdma(e->qp), mlx5_odp_fault(e, place)->token);
    end(mlx5_odp_fault(e, place));
}

void mlx5_odp_cancel(Mlx5QpEngine *e, bool responder_too)
{
    for (unsigned place = 0; e->faults && place < MLX5_FAULT_PLACES; place++) {
        Mlx5Fault *f = &e->faults[place];
        bool responder = place >= MLX5_FAULT_REQUEST;

        if (f->token && (responder_too || !responder)) {
            mlx5_odp_drop(e, place);
        }
    }
}

/* What each place does when its pages are there, or never will be. */
static void (*const resumed[])(Mlx5QpEngine *e, bool error) = {
    [MLX5_FAULT_GATHER] = mlx5_req_gather_resumed,
    [MLX5_FAULT_SCATTER] = mlx5_req_scatter_resumed,
    [MLX5_FAULT_REQUEST] = mlx5_resp_request_resumed,
    [MLX5_FAULT_READ] = mlx5_resp_read_resumed,
};
G_STATIC_ASSERT(G_N_ELEMENTS(resumed) == MLX5_FAULT_PLACES);

/* PAGE_FAULT_RESUME in plain numbers. */
typedef struct Resume {
    bool error;
    uint64_t token;
    bool names_wq;           /* the transport scheme's names a queue, too */
    uint32_t type, wq;
} Resume;

static Resume parse(Mlx5Func *func, const uint8_t *in)
{
    const uint8_t *info = MLX5_ADDR_OF(page_fault_resume_in, in,
                                       page_fault_info);

    if (memory_scheme(func)) {
        return (Resume){
            .error = MLX5_GET(mem_page_fault_info, info, error),
            .token = MLX5_GET(mem_page_fault_info, info, fault_token_47_32)
                         << 32 |
                     MLX5_GET(mem_page_fault_info, info, fault_token_31_0),
        };
    }
    return (Resume){
        .error = MLX5_GET(trans_page_fault_info, info, error),
        .token = MLX5_GET(trans_page_fault_info, info, fault_token),
        .names_wq = true,
        .type = MLX5_GET(trans_page_fault_info, info, page_fault_type),
        .wq = MLX5_GET(trans_page_fault_info, info, wq_number),
    };
}

/* Return: is @token that of a fault that was cancelled? Only once. */
static bool take_ended(Mlx5Rdma *rdma, uint64_t token)
{
    gpointer key = GSIZE_TO_POINTER(token);

    if (!g_hash_table_remove(rdma->ended, key)) {
        return false;
    }
    g_queue_remove(&rdma->ended_order, key);
    return true;
}

MLX5_CMD_HANDLER(mlx5_cmd_page_fault_resume)
{
    Resume r = parse(func, cmd->in);
    Mlx5Fault *f;
    Mlx5QpEngine *e;

    if (!MLX5_FW_CAP_GEN(func, pg)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_ODP_OFF);
        return;
    }
    f = g_hash_table_lookup(func->rdma->faults, GSIZE_TO_POINTER(r.token));
    if (!f) {
        if (!take_ended(func->rdma, r.token)) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                          MLX5_SYND_ODP_TOKEN);
        }
        return;
    }
    if (r.names_wq && (r.type != f->type || r.wq != f->wq)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ODP_WQ);
        return;
    }
    e = f->e;
    mlx5_trace(func, MLX5_TRACE_STATE, "page fault qp 0x%x token 0x%x: %s",
               e->qp->o.id, f->token, r.error ? "error" : "resumed");
    end(f);
    resumed[f->place](e, r.error);
}
