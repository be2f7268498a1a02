/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of completion queues (PRM: CREATE_CQ, DESTROY_CQ, QUERY_CQ,
 * MODIFY_CQ; driver: cq.c, mlx5_ib cq.c).
 */
#include "obj/cq_internal.h"
#include "obj/limits.h"
#include "obj/umem.h"

/* cqc.cqe_sz (driver: cq.h) */
enum {
    CQE_STRIDE_64 = 0,
    CQE_STRIDE_128 = 1,
    CQE_STRIDE_128_ALWAYS = 2, /* padded: all of it is written */
};

/* cqc.st (driver: mlx5_ifc.h) */
enum {
    CQ_ST_SOLICITED_ARMED = 0x6,
    CQ_ST_ARMED = 0x9,
    CQ_ST_FIRED = 0xa,
};

/* MODIFY_CQ op_mod and field selects (driver: cq.h, mlx5_ib mlx5_ib.h) */
enum {
    CQ_OPMOD_MODIFY = 0,
    CQ_OPMOD_RESIZE = 1,
};
enum {
    CQ_RESIZE_LOG_SIZE = 1 << 0,
    CQ_RESIZE_PG_OFFSET = 1 << 1,
    CQ_RESIZE_PG_SIZE = 1 << 2,
    CQ_RESIZE_ALL = 0x7,
};

static uint32_t cqe_bytes(const uint8_t *cqc)
{
    return MLX5_GET(cqc, cqc, cqe_sz) == CQE_STRIDE_64 ? MLX5_CQE_BYTES
                                                       : 2 * MLX5_CQE_BYTES;
}

/* Return: 0 or the syndrome of what compression does not allow. */
static uint32_t check_compression(Mlx5Func *func, const uint8_t *cqc)
{
    uint32_t format = MLX5_GET(cqc, cqc, mini_cqe_res_format);

    if (!MLX5_GET(cqc, cqc, cqe_comp_en)) {
        return 0;
    }
    if (!func->props.cqe_compression) {
        return MLX5_SYND_CQ_COMPRESSION;
    }
    if (format != MLX5_MINI_CQE_HASH && format != MLX5_MINI_CQE_CSUM &&
        format != MLX5_MINI_CQE_CSUM_STRIDX) {
        return MLX5_SYND_CQ_MINI_FORMAT;
    }
    if (MLX5_GET(cqc, cqc, cqe_compression_layout) >
        MLX5_CQE_LAYOUT_ENHANCED) {
        return MLX5_SYND_CQ_COMP_LAYOUT;
    }
    return 0;
}

/* Return: 0 or the syndrome of the field that breaks a rule. */
static uint32_t check_context(Mlx5Func *func, const uint8_t *cqc)
{
    if (MLX5_GET(cqc, cqc, log_cq_size) > func->props.log_max_cq_sz) {
        return MLX5_SYND_CQ_SIZE;
    }
    if (MLX5_GET(cqc, cqc, cqe_sz) > CQE_STRIDE_128_ALWAYS) {
        return MLX5_SYND_CQ_CQE_SIZE;
    }
    if (MLX5_GET(cqc, cqc, cqe_sz) == CQE_STRIDE_128_ALWAYS &&
        !func->props.cqe_128_always) {
        return MLX5_SYND_CQ_PADDING;
    }
    if (MLX5_GET(cqc, cqc, cq_period_mode) > MLX5_CQ_PERIOD_FROM_CQE) {
        return MLX5_SYND_CQ_PERIOD_MODE;
    }
    if (MLX5_GET(cqc, cqc, dbr_addr) % 8) {
        return MLX5_SYND_CQ_DBR;
    }
    return check_compression(func, cqc);
}

/* The queue and record that a command with context @cqc names. */
static bool ring_from_cqc(Mlx5Ring *ring, uint64_t *dbr_gpa, Mlx5Func *func,
                          Mlx5Cmd *cmd, const uint8_t *cqc, uint32_t bad_pages)
{
    Mlx5QueueMem mem = {
        .bytes = (uint64_t)cqe_bytes(cqc) << MLX5_GET(cqc, cqc, log_cq_size),
        .pas_off = MLX5_BYTE_OFF(create_cq_in, pas),
        .log_page_size = MLX5_GET(cqc, cqc, log_page_size),
        .page_offset = MLX5_GET(cqc, cqc, page_offset),
        .umem_valid = MLX5_GET(create_cq_in, cmd->in, cq_umem_valid),
        .umem_id = MLX5_GET(create_cq_in, cmd->in, cq_umem_id),
        .umem_offset = MLX5_GET(create_cq_in, cmd->in, cq_umem_offset),
        .dbr_umem_valid = MLX5_GET(cqc, cqc, dbr_umem_valid),
        .dbr_umem_id = MLX5_GET(cqc, cqc, dbr_umem_id),
        .dbr = MLX5_GET(cqc, cqc, dbr_addr),
        .bad_pages = bad_pages,
    };

    G_STATIC_ASSERT(MLX5_BYTE_OFF(create_cq_in, pas) ==
                    MLX5_BYTE_OFF(modify_cq_in, pas));
    G_STATIC_ASSERT(MLX5_BYTE_OFF(create_cq_in, cq_umem_offset) ==
                    MLX5_BYTE_OFF(modify_cq_in, cq_umem_offset));
    return mlx5_queue_mem_get(func, cmd, &mem, ring, dbr_gpa);
}

static Mlx5Cq *cq_new(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *cqc,
                      Mlx5Eq *eq, Mlx5Ring *ring, uint64_t dbr_gpa)
{
    Mlx5Cq *cq = mlx5_obj_new(func, MLX5_OBJ_CQ, sizeof(*cq), cmd->uid);

    if (!cq) {
        mlx5_ring_clear(ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_CQ_NONE_FREE);
        return NULL;
    }
    cq->eq = eq;
    mlx5_obj_ref(eq);
    cq->ring = *ring;
    cq->log_cq_size = MLX5_GET(cqc, cqc, log_cq_size);
    cq->cqe_bytes = cqe_bytes(cqc);
    cq->pad = MLX5_GET(cqc, cqc, cqe_sz) == CQE_STRIDE_128_ALWAYS;
    cq->oi = MLX5_GET(cqc, cqc, oi);
    cq->dbr_gpa = dbr_gpa;
    cq->uar = MLX5_GET(cqc, cqc, uar_page);
    cq->uar_page = mlx5_obj_get(func, MLX5_OBJ_UAR, cq->uar);
    mlx5_obj_ref(cq->uar_page);
    memcpy(cq->cqc, cqc, sizeof(cq->cqc));
    mlx5_cq_comp_new(cq);
    mlx5_cq_set_moderation(cq);
    return cq;
}

void mlx5_cmd_create_cq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *cqc = MLX5_ADDR_OF(create_cq_in, cmd->in, cq_context);
    uint32_t syndrome = check_context(func, cqc);
    Mlx5Ring ring;
    uint64_t dbr_gpa;
    Mlx5Eq *eq;
    Mlx5Cq *cq;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (!mlx5_obj_find(func, cmd, MLX5_OBJ_UAR, MLX5_GET(cqc, cqc, uar_page),
                       MLX5_SYND_CQ_UAR)) {
        return;
    }
    /* Completion EQs are the kernel's and serve every user context. */
    eq = mlx5_obj_get(func, MLX5_OBJ_EQ,
                      MLX5_GET(cqc, cqc, c_eqn_or_apu_element));
    if (!eq) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_CQ_EQ);
        return;
    }
    if (!ring_from_cqc(&ring, &dbr_gpa, func, cmd, cqc, MLX5_SYND_CQ_PAGES)) {
        return;
    }
    cq = cq_new(func, cmd, cqc, eq, &ring, dbr_gpa);
    if (cq) {
        MLX5_SET(create_cq_out, cmd->out, cqn, cq->o.id);
    }
}

void mlx5_cmd_destroy_cq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_CQ,
                         MLX5_GET(destroy_cq_in, cmd->in, cqn),
                         MLX5_SYND_CQ_UNKNOWN, MLX5_SYND_CQ_BUSY);
}

void mlx5_cq_release(void *obj)
{
    Mlx5Cq *cq = obj;

    mlx5_cq_comp_free(cq);
    mlx5_timer_cancel(cq->o.func, &cq->timer);
    mlx5_obj_unref(cq->eq);
    mlx5_obj_unref(cq->uar_page);
    mlx5_ring_clear(&cq->ring);
}

void mlx5_cmd_query_cq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Cq *cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ,
                               MLX5_GET(query_cq_in, cmd->in, cqn),
                               MLX5_SYND_CQ_UNKNOWN);
    uint8_t *cqc = MLX5_ADDR_OF(query_cq_out, cmd->out, cq_context);
    uint32_t ci;

    if (!cq) {
        return;
    }
    mlx5_cq_settle(cq);
    if (mlx5_dma_read_be32(func, cq->dbr_gpa, &ci)) {
        cq->ci_seen = ci & MLX5_CQ_CI_MASK;
    }
    memcpy(cqc, cq->cqc, sizeof(cq->cqc));
    MLX5_SET(cqc, cqc, status, cq->status);
    MLX5_SET(cqc, cqc, st, !cq->armed ? CQ_ST_FIRED :
             cq->armed_solicited ? CQ_ST_SOLICITED_ARMED : CQ_ST_ARMED);
    MLX5_SET(cqc, cqc, consumer_counter, cq->ci_seen);
    MLX5_SET(cqc, cqc, producer_counter, cq->pi);
    MLX5_SET(cqc, cqc, last_solicit_index, cq->solicit_pi);
    MLX5_SET(cqc, cqc, last_notified_index,
             (cq->pi - cq->unreported) & MLX5_CQ_CI_MASK);
    mlx5_ring_put_pas(&cq->ring, cmd, MLX5_BYTE_OFF(query_cq_out, pas));
}

/* What MODIFY_CQ may change: select bit and where the field is. */
static const struct {
    uint32_t select;
    uint32_t bit_off, bits;
} modify_fields[] = {
#define FIELD(n, f) { 1u << n, MLX5_OFF_cqc__##f, MLX5_WID_cqc__##f }
    FIELD(0, cq_period),
    FIELD(1, cq_max_count),
    FIELD(2, oi),
    FIELD(4, cq_period_mode),
#undef FIELD
};

static uint32_t selects_known(void)
{
    uint32_t known = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(modify_fields); i++) {
        known |= modify_fields[i].select;
    }
    return known;
}

static void modify(Mlx5Cq *cq, Mlx5Cmd *cmd, const uint8_t *cqc,
                   uint32_t select)
{
    if (select & ~selects_known()) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_CQ_MODIFY_FIELD);
        return;
    }
    if (MLX5_GET(cqc, cqc, cq_period_mode) > MLX5_CQ_PERIOD_FROM_CQE) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_CQ_MODIFY_PERIOD_MODE);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(modify_fields); i++) {
        uint32_t off = modify_fields[i].bit_off;
        uint32_t bits = modify_fields[i].bits;

        if (select & modify_fields[i].select) {
            mlx5_prm_set(cq->cqc, off, bits, mlx5_prm_get(cqc, off, bits));
        }
    }
    cq->oi = MLX5_GET(cqc, cq->cqc, oi);
    mlx5_cq_set_moderation(cq);
}

/* Does everything fit: in the old queue one more entry, in the new one all? */
static bool resize_room(Mlx5Cq *cq, uint32_t new_log)
{
    uint32_t ci, used;

    mlx5_cq_settle(cq);
    if (!mlx5_dma_read_be32(cq->o.func, cq->dbr_gpa, &ci)) {
        return false;
    }
    cq->ci_seen = ci & MLX5_CQ_CI_MASK;
    used = (cq->pi - cq->ci_seen) & MLX5_CQ_CI_MASK;
    return used < 1u << cq->log_cq_size && used < 1u << new_log;
}

/* Return: 0, or the syndrome of what breaks a rule. */
static uint32_t resize_context(Mlx5Cq *cq, const uint8_t *cqc, uint32_t select,
                               uint8_t *merged)
{
    if (select & ~CQ_RESIZE_ALL || !(select & CQ_RESIZE_LOG_SIZE)) {
        return MLX5_SYND_CQ_RESIZE_FIELD;
    }
    if (MLX5_GET(cqc, cqc, cqe_sz) != MLX5_GET(cqc, cq->cqc, cqe_sz)) {
        return MLX5_SYND_CQ_RESIZE_CQE_SIZE;
    }
    if (MLX5_GET(cqc, cqc, log_cq_size) > cq->o.func->props.log_max_cq_sz) {
        return MLX5_SYND_CQ_RESIZE_SIZE;
    }
    memcpy(merged, cq->cqc, sizeof(cq->cqc));
    MLX5_SET(cqc, merged, log_cq_size, MLX5_GET(cqc, cqc, log_cq_size));
    if (select & CQ_RESIZE_PG_OFFSET) {
        MLX5_SET(cqc, merged, page_offset, MLX5_GET(cqc, cqc, page_offset));
    }
    if (select & CQ_RESIZE_PG_SIZE) {
        MLX5_SET(cqc, merged, log_page_size, MLX5_GET(cqc, cqc, log_page_size));
    }
    return 0;
}

/*
 * The old queue ends with an entry that says so; the next index goes to the
 * new one (driver: mlx5_ib cq.c copy_resize_cqes).
 */
static void resize(Mlx5Func *func, Mlx5Cq *cq, Mlx5Cmd *cmd,
                   const uint8_t *cqc, uint32_t select)
{
    uint8_t merged[sizeof(cq->cqc)], cqe[MLX5_CQE_BYTES] = { 0 };
    uint32_t syndrome = resize_context(cq, cqc, select, merged);
    uint64_t dbr_gpa; /* the record stays where it is */
    Mlx5Ring ring;

    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (!ring_from_cqc(&ring, &dbr_gpa, func, cmd, merged,
                       MLX5_SYND_CQ_RESIZE_PAGES)) {
        return;
    }
    if (!resize_room(cq, MLX5_GET(cqc, merged, log_cq_size))) {
        mlx5_ring_clear(&ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SIZE_OUTS_CQES_ERR,
                      MLX5_SYND_CQ_RESIZE_ROOM);
        return;
    }
    MLX5_SET(cqe64, cqe, opcode, MLX5_CQE_RESIZE_CQ);
    if (cq->comp) {
        mlx5_cq_comp_alone(cq, cqe);
    }
    if (!mlx5_cq_write(cq, NULL, cqe)) {
        mlx5_ring_clear(&ring);
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                      MLX5_SYND_CQ_RESIZE_WRITE);
        return;
    }
    mlx5_ring_clear(&cq->ring);
    cq->ring = ring;
    memcpy(cq->cqc, merged, sizeof(merged));
    cq->log_cq_size = MLX5_GET(cqc, merged, log_cq_size);
}

void mlx5_cmd_modify_cq(Mlx5Func *func, Mlx5Cmd *cmd)
{
    const uint8_t *cqc = MLX5_ADDR_OF(modify_cq_in, cmd->in, cq_context);
    uint32_t select = MLX5_GET(modify_cq_in, cmd->in,
                               modify_field_select_resize_field_select);
    Mlx5Cq *cq = mlx5_obj_find(func, cmd, MLX5_OBJ_CQ,
                               MLX5_GET(modify_cq_in, cmd->in, cqn),
                               MLX5_SYND_CQ_UNKNOWN);

    if (!cq) {
        return;
    }
    if (cq->failed) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                      MLX5_SYND_CQ_FAILED);
    } else if (cmd->op_mod == CQ_OPMOD_MODIFY) {
        modify(cq, cmd, cqc, select);
    } else if (cmd->op_mod == CQ_OPMOD_RESIZE) {
        resize(func, cq, cmd, cqc, select);
    } else {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_CQ_MODIFY_OP_MOD);
    }
}
