/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag matching: work requests that change the list of tags, and their
 * completions (libmlx5: qp.c mlx5_post_srq_ops, cq.c handle_tag_matching).
 *
 * They come through the send queue of any queue pair that receives from the
 * XRQ; libmlx5 makes one for nothing else.
 */
#include "rdma/rdma_internal.h"

#include "prm/prm.h"

/* wqe_tm.opcode (libmlx5: MLX5_TM_OPCODE_*) */
enum {
    OP_NOP = 0,
    OP_APPEND = 1,
    OP_REMOVE = 2,
};

/* One operation: @index is set to the tag, if any; @c to what is told. */
typedef uint8_t (*TmOp)(Mlx5TmList *list, const Mlx5SendWqe *w, Mlx5CqeTm *c);

static uint8_t vendor_of(Mlx5TmResult result)
{
    static const uint8_t vendor[] = {
        [MLX5_TM_OK] = 0,
        [MLX5_TM_BEYOND] = MLX5_VENDOR_TM_INDEX,
        [MLX5_TM_IN_USE] = MLX5_VENDOR_TM_IN_USE,
        /* Met meanwhile: the completion says so, it is no error. */
        [MLX5_TM_NOT_POSTED] = 0,
    };

    return vendor[result];
}

static uint8_t do_nop(Mlx5TmList *list, const Mlx5SendWqe *w, Mlx5CqeTm *c)
{
    (void)list;
    (void)w;
    c->app_op = MLX5_TM_APP_NOOP;
    c->success = true;
    return 0;
}

static uint8_t do_append(Mlx5TmList *list, const Mlx5SendWqe *w, Mlx5CqeTm *c)
{
    const uint8_t *p = w->raw + w->tm_at;
    Mlx5TmAppend a = {
        .next = MLX5_GET(wqe_tm, p, index),
        .tag = MLX5_GET(wqe_tm, p, append_tag),
        .mask = MLX5_GET(wqe_tm, p, append_mask),
    };
    uint32_t index = 0;
    Mlx5TmResult result;

    if (w->num_data) {
        a.addr = w->data[0].addr;
        a.len = w->data[0].len;
        a.lkey = w->data[0].lkey;
    }
    result = mlx5_tm_list_append(list, &a, &index);
    c->app_op = MLX5_TM_APP_APPEND;
    c->success = result == MLX5_TM_OK;
    c->index = index;
    return vendor_of(result);
}

static uint8_t do_remove(Mlx5TmList *list, const Mlx5SendWqe *w, Mlx5CqeTm *c)
{
    uint32_t index = MLX5_GET(wqe_tm, w->raw + w->tm_at, index);
    Mlx5TmResult result = mlx5_tm_list_remove(list, index);

    c->app_op = MLX5_TM_APP_REMOVE;
    c->success = result == MLX5_TM_OK;
    c->index = index;
    return vendor_of(result);
}

uint8_t mlx5_tm_execute(Mlx5Qp *qp, const Mlx5SendWqe *wqe)
{
    static const TmOp row[] = {
        [OP_NOP] = do_nop, [OP_APPEND] = do_append, [OP_REMOVE] = do_remove,
    };
    const uint8_t *p = wqe->raw + wqe->tm_at;
    Mlx5CqeTm c = { .opcode = MLX5_CQE_NO_PACKET,
                    .wqe_counter = wqe->index };
    uint32_t op = MLX5_GET(wqe_tm, p, opcode);
    Mlx5TmList *list = mlx5_tm_list(qp);
    uint8_t vendor;

    if (!list) {
        return MLX5_VENDOR_TM_QUEUE;
    }
    if (op >= G_N_ELEMENTS(row)) {
        return MLX5_VENDOR_TM_OPCODE;
    }
    /* The count is as of the append: it decides whether the tag is late. */
    if (MLX5_GET(wqe_tm, p, sw_cnt_valid)) {
        mlx5_tm_list_sync(list, MLX5_GET(wqe_tm, p, sw_cnt));
    }
    vendor = row[op](list, wqe, &c);
    if (!vendor && MLX5_GET(wqe_tm, p, cqe_req)) {
        c.hw_phase_cnt = list->hw_cnt;
        mlx5_cqe_post_tm(qp, &c);
    }
    return vendor;
}
