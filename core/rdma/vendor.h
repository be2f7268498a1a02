/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a completion is an error: one vendor code a check, from which the CQE
 * syndrome and the counter follow (vendor_synd.def).
 */
#ifndef MLX5_RDMA_VENDOR_H
#define MLX5_RDMA_VENDOR_H

#include "obj/q_counter.h"

/** cqe_err.vendor_err_synd. */
typedef enum Mlx5Vendor {
#define MLX5_VENDOR(name, value, syndrome, counter, source, meaning) \
    MLX5_VENDOR_##name = value,
#include "rdma/vendor_synd.def"
#undef MLX5_VENDOR
} Mlx5Vendor;

/** Return: the CQE syndrome (Mlx5CqeSyndrome) of @vendor's check. */
uint8_t mlx5_vendor_syndrome(Mlx5Vendor vendor);
/**
 * Count an error completion in @set (NULL: none).
 * @send: of the send queue
 */
void mlx5_vendor_count(Mlx5QCounter *set, Mlx5Vendor vendor, bool send);

#endif
