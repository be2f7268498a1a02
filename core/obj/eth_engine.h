/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send and receive queues that are not queue pairs, and how the objects reach
 * the Ethernet engine above them; eth/ installs the table as func->eth_engine
 * when it is made. All are called under Mlx5Card.lock.
 */
#ifndef MLX5_OBJ_ETH_ENGINE_H
#define MLX5_OBJ_ETH_ENGINE_H

#include "bus/func.h"

struct Mlx5Sq;
struct Mlx5Rq;

typedef struct Mlx5EthEngineOps {
    /** An SQ was created (state RST): make its work item. */
    void (*sq_created)(struct Mlx5Sq *sq);
    /** State changed: RST forgets all, ERR flushes. */
    void (*sq_state)(struct Mlx5Sq *sq);
    /** The SQ is about to go: forget its work. */
    void (*sq_destroyed)(struct Mlx5Sq *sq);
    void (*rq_state)(struct Mlx5Rq *rq);
    /** The RQ is about to go. */
    void (*rq_destroyed)(struct Mlx5Rq *rq);
    /** The driver armed a CQ. */
    void (*cq_armed)(Mlx5Func *func);
} Mlx5EthEngineOps;

#endif
