/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of vendor codes; see vendor.h.
 */
#include "rdma/vendor.h"

#include "obj/cq.h"

/* By code, so that two checks with one code do not compile. */
static const struct {
    uint8_t syndrome;
    uint16_t counter;        /* bytes in Mlx5QCounter */
} rows[256] = {
#define MLX5_VENDOR(name, value, syndrome, counter, source, meaning) \
    [value] = { MLX5_CQE_SYNDROME_##syndrome,                        \
                offsetof(Mlx5QCounter, counter) },
#include "rdma/vendor_synd.def"
#undef MLX5_VENDOR
};

uint8_t mlx5_vendor_syndrome(Mlx5Vendor vendor)
{
    return rows[vendor].syndrome;
}

void mlx5_vendor_count(Mlx5QCounter *set, Mlx5Vendor vendor, bool send)
{
    if (!set) {
        return;
    }
    if (send) {
        set->req_cqe_error++;
    } else {
        set->resp_cqe_error++;
    }
    if (vendor == MLX5_VENDOR_FLUSHED && !send) {
        set->resp_cqe_flush_error++;
    } else {
        ++*(uint32_t *)((char *)set + rows[vendor].counter);
    }
}
