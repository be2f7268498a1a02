/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CREATE_UMEM, DESTROY_UMEM, and queues in user memory; see umem.h.
 *
 * A queue copies the page addresses that it needs and holds the UMEM, which
 * cannot go before it. Left out: address translation services (umem.ats).
 */
#include "obj/umem.h"
#include "obj/check.h"
#include "obj/mkey.h"

#define MAX_LOG_PAGE 31
#define DBR_BYTES 8
#define PERMISSIONS ((uint64_t)(MLX5_MTT_RD | MLX5_MTT_WR))

uint64_t mlx5_umem_bytes(const Mlx5Umem *umem)
{
    return (umem->num_mtt << umem->log_page_bytes) - umem->page_offset;
}

uint64_t mlx5_umem_address(const Mlx5Umem *umem, uint64_t offset,
                           uint64_t *permissions)
{
    uint64_t at = umem->page_offset + offset;
    uint64_t mtt = umem->mtt[at >> umem->log_page_bytes];

    *permissions = mtt & PERMISSIONS;
    return (mtt & ~PERMISSIONS) +
           (at & ((UINT64_C(1) << umem->log_page_bytes) - 1));
}

/* Return: 0 or the syndrome of what breaks a rule. */
static uint32_t check_umem(const Mlx5Cmd *cmd, const uint8_t *umem)
{
    uint64_t num = MLX5_GET(umem, umem, num_of_mtt);
    uint32_t log_page = MLX5_GET(umem, umem, log_page_size) + 12;
    uint64_t page = UINT64_C(1) << MIN(log_page, MAX_LOG_PAGE);
    const uint8_t *mtt = umem + MLX5_ST_SZ_BYTES(umem);

    if (MLX5_GET(umem, umem, ats)) {
        return MLX5_SYND_UMEM_ATS;
    }
    if (log_page > MAX_LOG_PAGE) {
        return MLX5_SYND_UMEM_PAGE_SIZE;
    }
    if (MLX5_GET(umem, umem, page_offset) >= page) {
        return MLX5_SYND_UMEM_PAGE_OFFSET;
    }
    if (num == 0 || num > (cmd->in_len - MLX5_ST_SZ_BYTES(create_umem_in)) / 8) {
        return MLX5_SYND_UMEM_LIST;
    }
    for (uint64_t i = 0; i < num; i++) {
        if (mlx5_prm_get(mtt + i * 8, 0, 64) & (page - 1) & ~PERMISSIONS) {
            return MLX5_SYND_UMEM_ALIGN;
        }
    }
    return 0;
}

static void take_pages(Mlx5Umem *umem, const uint8_t *in)
{
    const uint8_t *mtt = in + MLX5_ST_SZ_BYTES(umem);

    umem->num_mtt = MLX5_GET(umem, in, num_of_mtt);
    umem->log_page_bytes = MLX5_GET(umem, in, log_page_size) + 12;
    umem->page_offset = MLX5_GET(umem, in, page_offset);
    umem->writable = true;
    umem->mtt = g_new(uint64_t, umem->num_mtt);
    umem->o.func->xlt_bytes += umem->num_mtt * 8;
    for (uint64_t i = 0; i < umem->num_mtt; i++) {
        umem->mtt[i] = mlx5_prm_get(mtt + i * 8, 0, 64);
        umem->writable &= umem->mtt[i] & MLX5_MTT_WR ? 1 : 0;
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_create_umem)
{
    const uint8_t *in = MLX5_ADDR_OF(create_umem_in, cmd->in, umem);
    uint32_t bad = check_umem(cmd, in);
    Mlx5Umem *umem;

    if (!mlx5_check(cmd, func->props.devx, MLX5_CMD_STAT_BAD_OP_ERR,
                    MLX5_SYND_UMEM_OFF) ||
        !mlx5_check_param(cmd, !bad, bad) ||
        !mlx5_check(cmd, mlx5_mkey_fits(func, MLX5_GET(umem, in, num_of_mtt)),
                    MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_UMEM_MEMORY)) {
        return;
    }
    umem = mlx5_obj_new(func, MLX5_OBJ_UMEM, sizeof(*umem), cmd->uid);
    if (!mlx5_check(cmd, umem != NULL, MLX5_CMD_STAT_NO_RES_ERR,
                    MLX5_SYND_UMEM_NONE_FREE)) {
        return;
    }
    take_pages(umem, in);
    MLX5_SET(create_umem_out, cmd->out, umem_id, umem->o.id);
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_umem)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_UMEM,
                         MLX5_GET(destroy_umem_in, cmd->in, umem_id),
                         MLX5_SYND_UMEM_UNKNOWN, MLX5_SYND_UMEM_BUSY);
}

void mlx5_umem_release(void *obj)
{
    Mlx5Umem *umem = obj;

    umem->o.func->xlt_bytes -= umem->num_mtt * 8;
    umem->num_mtt = 0;
    g_clear_pointer(&umem->mtt, g_free);
}

/* ---- queues ---- */

static bool ring_in_umem(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5QueueMem *mem,
                         Mlx5Ring *ring)
{
    Mlx5Umem *umem = mlx5_obj_find(func, cmd, MLX5_OBJ_UMEM, mem->umem_id,
                                   MLX5_SYND_QUEUE_UMEM);

    if (!umem) {
        return false;
    }
    if (!mlx5_check_param(cmd, mlx5_range_inside(mem->umem_offset, mem->bytes,
                                                 0, mlx5_umem_bytes(umem)),
                          MLX5_SYND_QUEUE_UMEM_BOUNDS)) {
        return false;
    }
    mlx5_ring_from_umem(ring, umem, mem->umem_offset, mem->bytes);
    return true;
}

static bool dbr_in_umem(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5QueueMem *mem,
                        Mlx5Ring *ring, uint64_t *dbr_gpa)
{
    Mlx5Umem *umem = mlx5_obj_find(func, cmd, MLX5_OBJ_UMEM, mem->dbr_umem_id,
                                   MLX5_SYND_DBR_UMEM);
    uint64_t permissions;

    if (!umem) {
        return false;
    }
    /* Aligned, it does not cross into another page. */
    if (!mlx5_check_param(cmd, mlx5_range_inside(mem->dbr, DBR_BYTES, 0,
                                                 mlx5_umem_bytes(umem)),
                          MLX5_SYND_DBR_UMEM_BOUNDS) ||
        !mlx5_check_param(cmd, (umem->page_offset + mem->dbr) % DBR_BYTES == 0,
                          MLX5_SYND_DBR_UMEM_ALIGN)) {
        return false;
    }
    *dbr_gpa = mlx5_umem_address(umem, mem->dbr, &permissions);
    ring->dbr_umem = umem;
    mlx5_obj_ref(umem);
    return true;
}

bool mlx5_queue_mem_get(Mlx5Func *func, Mlx5Cmd *cmd, const Mlx5QueueMem *mem,
                        Mlx5Ring *ring, uint64_t *dbr_gpa)
{
    if (mem->umem_valid) {
        if (!ring_in_umem(func, cmd, mem, ring)) {
            return false;
        }
    } else if (!mlx5_check_param(cmd,
                                 mlx5_ring_from_cmd(ring, func, cmd,
                                                    mem->pas_off,
                                                    mem->log_page_size,
                                                    mem->page_offset,
                                                    mem->bytes),
                                 mem->bad_pages)) {
        return false;
    }
    *dbr_gpa = mem->dbr;
    if (mem->dbr_umem_valid && !dbr_in_umem(func, cmd, mem, ring, dbr_gpa)) {
        mlx5_ring_clear(ring);
        return false;
    }
    return true;
}
