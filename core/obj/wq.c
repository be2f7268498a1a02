/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work queue contexts; see wq.h. Left out: linked lists that are not striding,
 * signatures, two_byte_shift_en (all refused).
 */
#include "obj/wq.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

#define DBR_ALIGN 8

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(wq, wq_signature, WQ_SIGNATURE),
    MLX5_ZERO(wq, cd_slave, WQ_CD_SLAVE),
    MLX5_ZERO(wq, shampo_enable, WQ_SHAMPO),
    MLX5_ZERO(wq, two_byte_shift_en, WQ_TWO_BYTE_SHIFT),
};

/* wq.log_wqe_num_of_strides counts from 2^9, with a sign in its four bits;
 * log_wqe_stride_size from 64 bytes (driver: MLX5_MPWQE_LOG_*_BASE). */
enum { LOG_STRIDES_BASE = 9, LOG_STRIDES_LEAST = 3, LOG_STRIDE_BYTES_BASE = 6 };

static uint32_t log_strides(const uint8_t *wq)
{
    uint32_t v = MLX5_GET(wq, wq, log_wqe_num_of_strides);

    return LOG_STRIDES_BASE + v - (v & 8 ? 16 : 0);
}

static bool check_type(const Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5WqIn *in)
{
    uint32_t type = MLX5_GET(wq, in->wq, wq_type);

    if (type == MLX5_WQ_TYPE_CYCLIC) {
        return true;
    }
    return mlx5_check_param(cmd, func->props.striding_rq && !in->has_uar &&
                            type != MLX5_WQ_TYPE_LINKED_LIST &&
                            type <= MLX5_WQ_TYPE_CYCLIC_STRIDING_RQ,
                            MLX5_SYND_WQ_TYPE) &&
           mlx5_check_param(cmd, log_strides(in->wq) >= LOG_STRIDES_LEAST,
                            MLX5_SYND_WQ_STRIDES);
}

static bool check_shape(const Mlx5Func *func, Mlx5Cmd *cmd,
                        const Mlx5WqIn *in)
{
    uint32_t stride = MLX5_GET(wq, in->wq, log_wq_stride);

    return check_type(func, cmd, in) &&
           mlx5_check_zero(cmd, in->wq, not_done, G_N_ELEMENTS(not_done)) &&
           mlx5_check_param(cmd, MLX5_GET(wq, in->wq, log_wq_sz) <=
                            MLX5_LOG_MAX_WQ_SZ, MLX5_SYND_WQ_SIZE) &&
           mlx5_check_param(cmd, stride >= in->min_log_stride &&
                            stride <= in->max_log_stride,
                            MLX5_SYND_WQ_STRIDE) &&
           mlx5_check_param(cmd, MLX5_GET(wq, in->wq, dbr_addr) % DBR_ALIGN ==
                            0, MLX5_SYND_WQ_DBR);
}

static bool find_owners(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5WqIn *in,
                        Mlx5Wq *wq)
{
    uint32_t pdn = MLX5_GET(wq, in->wq, pd);

    /*
     * PD 0 belongs to nobody: the queue's keys open nothing. The driver makes
     * its drop RQ so (en_main.c mlx5e_build_drop_rq_param).
     */
    if (pdn) {
        wq->pd = mlx5_obj_find(func, cmd, MLX5_OBJ_PD, pdn, MLX5_SYND_WQ_PD);
        if (!wq->pd) {
            return false;
        }
    }
    if (!in->has_uar) {
        return true;
    }
    wq->uar = mlx5_obj_find(func, cmd, MLX5_OBJ_UAR,
                            MLX5_GET(wq, in->wq, uar_page),
                            MLX5_SYND_WQ_UAR);
    return wq->uar != NULL;
}

static void parse_type(const uint8_t *ctx, Mlx5Wq *wq)
{
    uint32_t type = MLX5_GET(wq, ctx, wq_type);

    wq->striding = type != MLX5_WQ_TYPE_CYCLIC;
    wq->linked = type == MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ;
    if (wq->striding) {
        wq->log_strides = log_strides(ctx);
        wq->log_stride_bytes = LOG_STRIDE_BYTES_BASE +
                               MLX5_GET(wq, ctx, log_wqe_stride_size);
    }
}

Mlx5QueueMem mlx5_wq_mem(const Mlx5Cmd *cmd, const uint8_t *wq)
{
    return (Mlx5QueueMem){
        .pas_off = wq + MLX5_ST_SZ_BYTES(wq) - cmd->in,
        .log_page_size = MLX5_GET(wq, wq, log_wq_pg_sz),
        .page_offset = MLX5_GET(wq, wq, page_offset),
        .umem_valid = MLX5_GET(wq, wq, wq_umem_valid),
        .umem_id = MLX5_GET(wq, wq, wq_umem_id),
        .umem_offset = MLX5_GET(wq, wq, wq_umem_offset),
        .dbr_umem_valid = MLX5_GET(wq, wq, dbr_umem_valid),
        .dbr_umem_id = MLX5_GET(wq, wq, dbr_umem_id),
        .dbr = MLX5_GET(wq, wq, dbr_addr),
    };
}

bool mlx5_wq_parse(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5WqIn *in,
                   Mlx5Wq *wq)
{
    Mlx5QueueMem mem = mlx5_wq_mem(cmd, in->wq);

    memset(wq, 0, sizeof(*wq));
    if (!check_shape(func, cmd, in) || !find_owners(func, cmd, in, wq)) {
        return false;
    }
    parse_type(in->wq, wq);
    wq->log_size = MLX5_GET(wq, in->wq, log_wq_sz);
    wq->log_stride = MLX5_GET(wq, in->wq, log_wq_stride);
    mem.bytes = UINT64_C(1) << (wq->log_size + wq->log_stride);
    mem.bad_pages = MLX5_SYND_WQ_PAS;
    return mlx5_queue_mem_get(func, cmd, &mem, &wq->ring, &wq->dbr_gpa);
}

void mlx5_wq_hold(Mlx5Wq *wq)
{
    mlx5_obj_ref(wq->pd);
    mlx5_obj_ref(wq->uar);
}

void mlx5_wq_drop(Mlx5Wq *wq)
{
    mlx5_ring_clear(&wq->ring);
}

void mlx5_wq_release(Mlx5Wq *wq)
{
    mlx5_obj_unref(wq->pd);
    mlx5_obj_unref(wq->uar);
    mlx5_ring_clear(&wq->ring);
}

/*
 * Only ERR to RDY is missing: an erroneous queue is reset first (driver:
 * mlx5e_health_sq_to_ready; mlx5_ib modify_raw_packet_qp). A move to the same
 * state changes attributes alone.
 */
static const bool may_go[MLX5_WQ_STATE_COUNT][MLX5_WQ_STATE_COUNT] = {
    [MLX5_WQ_STATE_RST] = { [MLX5_WQ_STATE_RST] = true,
                            [MLX5_WQ_STATE_RDY] = true,
                            [MLX5_WQ_STATE_ERR] = true },
    [MLX5_WQ_STATE_RDY] = { [MLX5_WQ_STATE_RST] = true,
                            [MLX5_WQ_STATE_RDY] = true,
                            [MLX5_WQ_STATE_ERR] = true },
    [MLX5_WQ_STATE_ERR] = { [MLX5_WQ_STATE_RST] = true,
                            [MLX5_WQ_STATE_ERR] = true },
};

bool mlx5_wq_may_go(uint32_t from, uint32_t to)
{
    return from < MLX5_WQ_STATE_COUNT && to < MLX5_WQ_STATE_COUNT &&
           may_go[from][to];
}

const char *mlx5_wq_state_name(Mlx5WqState state)
{
    static const char *const names[MLX5_WQ_STATE_COUNT] = {
        [MLX5_WQ_STATE_RST] = "RST", [MLX5_WQ_STATE_RDY] = "RDY",
        [MLX5_WQ_STATE_ERR] = "ERR",
    };

    return state < MLX5_WQ_STATE_COUNT && names[state] ? names[state] : "?";
}
