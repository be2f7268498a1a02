/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work queue contexts; see wq.h. Left out: linked-list and striding queues,
 * UMEM-backed rings, signatures (all refused).
 */
#include "obj/uar.h"
#include "obj/wq.h"

#include "obj/check.h"
#include "obj/eth_limits.h"

#define PAS_BYTES 8
#define DBR_ALIGN 8

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(wq, wq_signature, WQ_SIGNATURE),
    MLX5_ZERO(wq, cd_slave, WQ_CD_SLAVE),
    MLX5_ZERO(wq, dbr_umem_valid, WQ_DBR_UMEM),
    MLX5_ZERO(wq, wq_umem_valid, WQ_UMEM),
    MLX5_ZERO(wq, shampo_enable, WQ_SHAMPO),
};

static bool check_shape(Mlx5Cmd *cmd, const Mlx5WqIn *in)
{
    uint32_t stride = MLX5_GET(wq, in->wq, log_wq_stride);

    return mlx5_check_param(cmd, MLX5_GET(wq, in->wq, wq_type) ==
                            MLX5_WQ_TYPE_CYCLIC, MLX5_SYND_WQ_TYPE) &&
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
    wq->uar = mlx5_uar_find(func, cmd, MLX5_GET(wq, in->wq, uar_page),
                            MLX5_SYND_WQ_UAR);
    return wq->uar != NULL;
}

static bool make_ring(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5WqIn *in,
                      Mlx5Wq *wq)
{
    const uint8_t *pas = in->wq + MLX5_ST_SZ_BYTES(wq);
    uint32_t at = pas - cmd->in;
    uint32_t num_pas = cmd->in_len > at ? (cmd->in_len - at) / PAS_BYTES : 0;
    uint32_t log_page = 12 + MLX5_GET(wq, in->wq, log_wq_pg_sz);
    /* In 64ths of a page (driver: mlx5_umem_find_best_quantized_pgoff). */
    uint64_t offset = (uint64_t)MLX5_GET(wq, in->wq, page_offset)
                      << (log_page - 6);

    return mlx5_check_param(cmd, mlx5_ring_init(&wq->ring, func, pas, num_pas,
                                                log_page, offset,
                                                UINT64_C(1) << (wq->log_size +
                                                                wq->log_stride)),
                            MLX5_SYND_WQ_PAS);
}

bool mlx5_wq_parse(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5WqIn *in,
                   Mlx5Wq *wq)
{
    memset(wq, 0, sizeof(*wq));
    if (!check_shape(cmd, in) || !find_owners(func, cmd, in, wq)) {
        return false;
    }
    wq->log_size = MLX5_GET(wq, in->wq, log_wq_sz);
    wq->log_stride = MLX5_GET(wq, in->wq, log_wq_stride);
    wq->dbr_gpa = MLX5_GET(wq, in->wq, dbr_addr);
    return make_ring(func, cmd, in, wq);
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
    mlx5_uar_put(wq->uar);
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
