/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What core/card.c and core/bar.c call in each folder. A function makes its
 * layers in this order and frees them in the reverse.
 */
#ifndef MLX5_LAYERS_H
#define MLX5_LAYERS_H

#include "bus/func.h"
#include "obj/engine.h"
#include "obj/table.h"

/* fw/ */
void mlx5_fw_new(Mlx5Func *func);
void mlx5_fw_reset(Mlx5Func *func);
void mlx5_fw_free(Mlx5Func *func);
/** Access to the init segment, @offset below MLX5_UAR_FIRST * 4096. */
uint64_t mlx5_fw_bar_read(Mlx5Func *func, uint64_t offset, unsigned size);
void mlx5_fw_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                       unsigned size);
/** card->link_up changed. */
void mlx5_fw_link_changed(Mlx5Func *func);

/* obj/ (and obj/table.h) */
/** Write to UAR page @uar (BAR0 offset / 4096) at @offset inside the page. */
void mlx5_uar_write(Mlx5Func *func, uint32_t uar, uint32_t offset,
                    uint64_t value, unsigned size);

/* obj/memic.h */
bool mlx5_memic_in_bar(const Mlx5Func *func, uint64_t offset);
uint64_t mlx5_memic_bar_read(Mlx5Func *func, uint64_t offset, unsigned size);
void mlx5_memic_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                          unsigned size);
void mlx5_memic_new(Mlx5Func *func);
void mlx5_memic_reset(Mlx5Func *func);
void mlx5_memic_free(Mlx5Func *func);

/* obj/cong.h */
void mlx5_cong_new(Mlx5Func *func);
void mlx5_cong_reset(Mlx5Func *func);
void mlx5_cong_free(Mlx5Func *func);

/* obj/pace.h */
void mlx5_pacer_new(Mlx5Func *func);
void mlx5_pacer_reset(Mlx5Func *func);
void mlx5_pacer_free(Mlx5Func *func);

/* rdma/ */
extern const Mlx5EngineOps mlx5_rdma_engine;
void mlx5_rdma_new(Mlx5Func *func);
void mlx5_rdma_reset(Mlx5Func *func);
void mlx5_rdma_free(Mlx5Func *func);

/* eth/ */
void mlx5_eth_new(Mlx5Func *func);
void mlx5_eth_reset(Mlx5Func *func);
void mlx5_eth_free(Mlx5Func *func);
/** A frame from the wire. Return: false if it was dropped for want of room. */
bool mlx5_eth_rx(Mlx5Func *func, const struct iovec *iov, int iovcnt);
void mlx5_eth_frames_end(Mlx5Func *func);

/* net/ */
void mlx5_net_new(Mlx5Func *func);

/** UAR pages begin here: what is below belongs to the init segment. */
#define MLX5_UAR_FIRST 8
#define MLX5_UAR_BYTES 4096

#endif
