/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UAR pages and the doorbells in them; see uar.h.
 *
 * A page that no command allocated has no doorbells: writes there are ignored
 * and logged. Left out: pages larger than 4 KiB (log_uar_page_sz).
 */
#include "obj/cq.h"
#include "obj/engine.h"
#include "obj/uar.h"

void mlx5_cmd_alloc_uar(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Uar *uar = mlx5_obj_new(func, MLX5_OBJ_UAR, sizeof(*uar), cmd->uid);

    if (!uar) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_UAR_NONE_FREE);
        return;
    }
    MLX5_SET(alloc_uar_out, cmd->out, uar, uar->o.id);
}

/*
 * A page may go before the queues that ring in it: when a process dies the
 * kernel frees its objects in the reverse order of their creation, and libmlx5
 * can make a queue in an old page after it made a page (driver:
 * uverbs_destroy_ufile_hw, mlx5_ib_mmap_free). From then on nothing rings
 * there; the number is free again when the last of those queues is gone.
 */
void mlx5_cmd_dealloc_uar(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Uar *uar = mlx5_obj_find(func, cmd, MLX5_OBJ_UAR,
                                 MLX5_GET(dealloc_uar_in, cmd->in, uar),
                                 MLX5_SYND_UAR_UNKNOWN);

    if (uar) {
        mlx5_obj_retire(uar);
    }
}

/* A 32-bit bus writes the 8 bytes in two halves, the high one first. */
static void cq_arm(Mlx5Func *func, Mlx5Uar *uar, uint32_t offset,
                   uint64_t value, unsigned size)
{
    if (size == 8) {
        mlx5_cq_doorbell(func, uar->o.id, value);
    } else if (offset == MLX5_UAR_CQ_ARM) {
        uar->cq_arm_high = value;
        uar->cq_arm_half = true;
    } else if (uar->cq_arm_half) {
        uar->cq_arm_half = false;
        mlx5_cq_doorbell(func, uar->o.id,
                         (uint64_t)uar->cq_arm_high << 32 | (uint32_t)value);
    } else {
        mlx5_guest_error(func, "UAR 0x%x: second half of a CQ arm alone",
                         uar->o.id);
    }
}

/* One row per register: where, how wide a write may be, what it does. */
typedef struct UarRegister {
    uint32_t start, end;
    uint32_t sizes;              /* or of the widths allowed, bytes */
    void (*write)(Mlx5Func *func, Mlx5Uar *uar, uint32_t offset,
                  uint64_t value, unsigned size);
} UarRegister;

static void eq_update(Mlx5Func *func, Mlx5Uar *uar, uint32_t offset,
                      uint64_t value, unsigned size)
{
    (void)size;
    mlx5_eq_doorbell(func, uar->o.id, value, offset == MLX5_UAR_EQ_ARM);
}

static void send_doorbell(Mlx5Func *func, Mlx5Uar *uar, uint32_t offset,
                          uint64_t value, unsigned size)
{
    if (func->engine && func->engine->sq_doorbell) {
        func->engine->sq_doorbell(func, uar->o.id, offset, value, size);
    }
}

/* The one that is written with each message comes first. */
static const UarRegister registers[] = {
    { MLX5_UAR_BF, 0x1000, 4 | 8, send_doorbell },
    { MLX5_UAR_CQ_ARM, MLX5_UAR_CQ_ARM + 8, 4 | 8, cq_arm },
    { MLX5_UAR_EQ_ARM, MLX5_UAR_EQ_ARM + 4, 4, eq_update },
    { MLX5_UAR_EQ_UPDATE, MLX5_UAR_EQ_UPDATE + 4, 4, eq_update },
    { MLX5_UAR_DBR_LESS, MLX5_UAR_DBR_LESS + 8, 8, send_doorbell },
};

static const UarRegister *find_register(uint32_t offset, unsigned size)
{
    for (size_t i = 0; i < G_N_ELEMENTS(registers); i++) {
        const UarRegister *r = &registers[i];

        if (offset >= r->start && offset < r->end && (r->sizes & size) &&
            size <= r->end - offset && offset % size == 0) {
            return r;
        }
    }
    return NULL;
}

void mlx5_uar_write(Mlx5Func *func, uint32_t index, uint32_t offset,
                    uint64_t value, unsigned size)
{
    Mlx5Uar *uar = mlx5_obj_get(func, MLX5_OBJ_UAR, index);
    const UarRegister *r = find_register(offset, size);

    mlx5_trace(func, MLX5_TRACE_DOORBELL,
               "uar=0x%x offset=0x%x size=%u value=0x%" G_GINT64_MODIFIER "x",
               index, offset, size, value);
    if (!uar) {
        mlx5_guest_error(func, "doorbell in UAR page 0x%x, not allocated",
                         index);
    } else if (!r) {
        mlx5_guest_error(func, "UAR 0x%x: no %u-byte register at 0x%x", index,
                         size, offset);
    } else {
        r->write(func, uar, offset, value, size);
    }
}
