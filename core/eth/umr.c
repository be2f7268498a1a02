/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UMR on an SQ: the network driver maps pages for a striding receive queue
 * (driver: en_main.c mlx5e_build_umr_wqe, en_rx.c mlx5e_alloc_rx_mpwqe). What
 * it means is rdma/umr.c's.
 */
#include "eth/eth_internal.h"
#include "rdma/umr.h"

#define CTRL_BYTES 16u
#define UMR_CTRL_BYTES MLX5_ST_SZ_BYTES(wqe_umr_ctrl)

uint8_t mlx5_eth_umr(Mlx5Sq *sq, const Mlx5EthWqe *wqe)
{
    Mlx5UmrBy by = {
        .func = sq->o.func, .uid = sq->o.uid, .pdn = mlx5_wq_pdn(&sq->wq),
        .id = sq->o.id, .rlkey = sq->rlkey, .physical = true,
    };
    Mlx5UmrWqe umr = {
        .raw = wqe->p, .len = wqe->len, .ctrl_at = CTRL_BYTES,
        .mkey_at = CTRL_BYTES + UMR_CTRL_BYTES,
        .xlt_at = CTRL_BYTES + UMR_CTRL_BYTES + MLX5_ST_SZ_BYTES(mkc),
        .key = MLX5_GET(wqe_ctrl, wqe->p, general_id),
    };

    if (!sq->reg_umr || wqe->len < umr.xlt_at ||
        mlx5_umr_run(&by, &umr) != MLX5_UMR_OK) {
        return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
    }
    return 0;
}
