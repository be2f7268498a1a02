/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Number spaces of the objects; see table.h.
 *
 * A space is an array of chunks of CHUNK_IDS pointers, each made at first use,
 * with a bitmap of the numbers in use. A new number is the first free one from
 * the last given on, round and round; full chunks are stepped over, so that
 * the cost of a create is bounded by the number of chunks and not of objects.
 */
#include "obj/table.h"
#include "obj/engine.h"
#include "obj/general.h"
#include "obj/limits.h"
#include "obj/mcg.h"
#include "obj/sched.h"

#define CHUNK_LOG MLX5_OBJ_CHUNK_LOG
#define CHUNK_IDS MLX5_OBJ_CHUNK_IDS
#define CHUNK_WORDS (CHUNK_IDS / 64)

typedef Mlx5ObjChunk Chunk;
typedef Mlx5ObjSpace Space;

static uint32_t limit_uar(const Mlx5FuncProps *p)
{
    return mlx5_memic_bar_start(p) >> 12;
}

static uint32_t limit_mkey(const Mlx5FuncProps *p)
{
    return 1u << p->log_max_mkey;
}

static uint32_t limit_cq(const Mlx5FuncProps *p)
{
    return 1u << p->log_max_cq;
}

/* QP numbers start above those with a meaning of their own in packets. */
static uint32_t limit_qp(const Mlx5FuncProps *p)
{
    return MLX5_QPN_FIRST + (1u << p->log_max_qp);
}

#define LIMIT(name, value)                              \
    static uint32_t limit_##name(const Mlx5FuncProps *p) \
    {                                                   \
        (void)p;                                        \
        return value;                                   \
    }
LIMIT(memic, 1 + MLX5_MEMIC_BYTES / 4096)
LIMIT(pd, 1u << MLX5_LOG_MAX_PD)
LIMIT(td, 1u << MLX5_LOG_MAX_TRANSPORT_DOMAIN)
LIMIT(xrcd, 1u << MLX5_LOG_MAX_XRCD)
LIMIT(eq, 1u << MLX5_LOG_MAX_EQ)
LIMIT(srq, 1u << MLX5_LOG_MAX_SRQ)
LIMIT(dct, MLX5_DCTN_FIRST + (1u << MLX5_LOG_MAX_DCT))
LIMIT(q_counter, MLX5_MAX_QP_CNT + 1)
LIMIT(tis, 1u << MLX5_LOG_MAX_TIS)
LIMIT(tir, 1u << MLX5_LOG_MAX_TIR)
LIMIT(rqt, 1u << MLX5_LOG_MAX_RQT)
LIMIT(sq, MLX5_SQ_FIRST_ID + (1u << MLX5_LOG_MAX_SQ))
LIMIT(rq, 1u << MLX5_LOG_MAX_RQ)
LIMIT(flow_table, 1u << MLX5_LOG_MAX_FT_NUM)
LIMIT(flow_counter, 1u << MLX5_LOG_MAX_FLOW_BULKS)
LIMIT(modify_header, 1u << MLX5_LOG_MAX_MODIFY_HEADER)
LIMIT(packet_reformat, 1u << MLX5_LOG_MAX_PACKET_REFORMAT)
LIMIT(psv, 1u << MLX5_LOG_MAX_PSV)
LIMIT(uctx, 1u << MLX5_LOG_MAX_UCTX)
LIMIT(reserved_qpn, 1u << MLX5_LOG_MAX_RESERVED_QPN)
LIMIT(av_qp_mapping, 1u << MLX5_LOG_MAX_AV_QP_MAPPING)
LIMIT(umem, 1u << MLX5_LOG_MAX_UMEM)
LIMIT(sched_element, 1 + (1u << MLX5_LOG_MAX_SCHED_ELEMENT))

static const Mlx5ObjTypeInfo types[MLX5_OBJ_TYPE_COUNT] = {
    [MLX5_OBJ_UAR] = { "uar", 8, limit_uar, NULL },
    [MLX5_OBJ_PD] = { "pd", 1, limit_pd, NULL },
    [MLX5_OBJ_TRANSPORT_DOMAIN] = { "transport_domain", 1, limit_td, NULL },
    [MLX5_OBJ_XRCD] = { "xrcd", 1, limit_xrcd, NULL },
    [MLX5_OBJ_MKEY] = { "mkey", 8, limit_mkey, mlx5_mkey_release },
    [MLX5_OBJ_EQ] = { "eq", 0, limit_eq, mlx5_eq_release },
    [MLX5_OBJ_CQ] = { "cq", 1, limit_cq, mlx5_cq_release },
    [MLX5_OBJ_QP] = { "qp", MLX5_QPN_FIRST, limit_qp, mlx5_qp_release },
    [MLX5_OBJ_DCT] = { "dct", MLX5_DCTN_FIRST, limit_dct, mlx5_dct_release },
    [MLX5_OBJ_SRQ] = { "srq", 1, limit_srq, mlx5_srq_release },
    [MLX5_OBJ_Q_COUNTER] = { "q_counter", 1, limit_q_counter, NULL },
    [MLX5_OBJ_MEMIC] = { "memic", 1, limit_memic, NULL },
    [MLX5_OBJ_TIS] = { "tis", 1, limit_tis, mlx5_tis_release },
    [MLX5_OBJ_TIR] = { "tir", 1, limit_tir, mlx5_tir_release },
    [MLX5_OBJ_RQT] = { "rqt", 1, limit_rqt, mlx5_rqt_release },
    [MLX5_OBJ_SQ] = { "sq", MLX5_SQ_FIRST_ID, limit_sq, mlx5_sq_release },
    [MLX5_OBJ_RQ] = { "rq", 1, limit_rq, mlx5_rq_release },
    [MLX5_OBJ_FLOW_TABLE] = { "flow_table", 1, limit_flow_table,
                              mlx5_flow_table_release },
    [MLX5_OBJ_FLOW_COUNTER] = { "flow_counter", 1, limit_flow_counter,
                                mlx5_flow_counter_release },
    [MLX5_OBJ_MODIFY_HEADER] = { "modify_header", 1, limit_modify_header,
                                 NULL },
    [MLX5_OBJ_PACKET_REFORMAT] = { "packet_reformat", 1,
                                   limit_packet_reformat, NULL },
    [MLX5_OBJ_PSV] = { "psv", 1, limit_psv, mlx5_psv_release },
    [MLX5_OBJ_UCTX] = { "uctx", 1, limit_uctx, NULL },
    [MLX5_OBJ_RESERVED_QPN] = { "reserved_qpn", 0, limit_reserved_qpn, NULL },
    [MLX5_OBJ_AV_QP_MAPPING] = { "av_qp_mapping", 1, limit_av_qp_mapping,
                                 NULL },
    [MLX5_OBJ_UMEM] = { "umem", 1, limit_umem, mlx5_umem_release },
    [MLX5_OBJ_SCHED_ELEMENT] = { "sched_element", 1, limit_sched_element,
                                 mlx5_sched_release },
};

/* Dependants first: each type only names types to its right. */
static const uint8_t clear_order[] = {
    MLX5_OBJ_FLOW_TABLE, MLX5_OBJ_FLOW_COUNTER, MLX5_OBJ_MODIFY_HEADER,
    MLX5_OBJ_PACKET_REFORMAT, MLX5_OBJ_TIR, MLX5_OBJ_RQT, MLX5_OBJ_SQ, MLX5_OBJ_RQ,
    MLX5_OBJ_QP, MLX5_OBJ_DCT, MLX5_OBJ_TIS, MLX5_OBJ_SRQ, MLX5_OBJ_CQ, MLX5_OBJ_EQ,
    MLX5_OBJ_MKEY, MLX5_OBJ_MEMIC, MLX5_OBJ_PSV, MLX5_OBJ_Q_COUNTER, MLX5_OBJ_XRCD,
    MLX5_OBJ_TRANSPORT_DOMAIN, MLX5_OBJ_PD, MLX5_OBJ_UAR, MLX5_OBJ_UMEM,
    MLX5_OBJ_UCTX, MLX5_OBJ_RESERVED_QPN, MLX5_OBJ_AV_QP_MAPPING,
    MLX5_OBJ_SCHED_ELEMENT,
};
G_STATIC_ASSERT(G_N_ELEMENTS(clear_order) == MLX5_OBJ_TYPE_COUNT);

Mlx5ObjTables *mlx5_obj_tables_new(void)
{
    Mlx5ObjTables *tables = g_new0(Mlx5ObjTables, 1);

    for (size_t i = 0; i < MLX5_OBJ_TYPE_COUNT; i++) {
        tables->space[i].first_id = types[i].first_id;
    }
    return tables;
}

/* Call @fn for every object of @space; @fn may free what it is given. */
static void space_foreach(Space *space, void (*fn)(void *obj, void *opaque),
                          void *opaque)
{
    for (uint32_t c = 0; c < space->num_chunks; c++) {
        Chunk *chunk = space->chunks[c];

        for (uint32_t i = 0; chunk && chunk->used && i < CHUNK_IDS; i++) {
            if (chunk->obj[i]) {
                fn(chunk->obj[i], opaque);
            }
        }
    }
}

static void release_one(void *obj, void *opaque)
{
    const Mlx5ObjTypeInfo *info = opaque;

    info->free(obj);
}

static void free_one(void *obj, void *opaque)
{
    (void)opaque;
    g_free(obj);
}

/* It goes with its space, and not once more with the last that names it. */
static void keep_one(void *obj, void *opaque)
{
    (void)opaque;
    ((Mlx5Obj *)obj)->last_ref = false;
}

static void space_clear(Space *space, Mlx5ObjType type)
{
    const Mlx5ObjTypeInfo *info = &types[type];

    space_foreach(space, keep_one, NULL);
    /* Release all before freeing any: objects of a type may name each other. */
    if (info->free) {
        space_foreach(space, release_one, (void *)info);
    }
    space_foreach(space, free_one, NULL);
    for (uint32_t c = 0; c < space->num_chunks; c++) {
        g_free(space->chunks[c]);
    }
    g_free(space->chunks);
    *space = (Space){ .first_id = info->first_id };
}

void mlx5_obj_tables_clear(Mlx5Func *func)
{
    mlx5_mcg_clear(func);
    for (size_t i = 0; i < G_N_ELEMENTS(clear_order); i++) {
        space_clear(&func->obj->space[clear_order[i]], clear_order[i]);
    }
}

void mlx5_obj_tables_free(Mlx5Func *func)
{
    mlx5_obj_tables_clear(func);
    g_clear_pointer(&func->obj, g_free);
}

/* The chunk of @slot, made if need be. */
static Chunk *chunk_make(Space *space, uint32_t slot)
{
    uint32_t c = slot >> CHUNK_LOG;

    if (c >= space->num_chunks) {
        space->chunks = g_renew(Chunk *, space->chunks, c + 1);
        memset(space->chunks + space->num_chunks, 0,
               (c + 1 - space->num_chunks) * sizeof(Chunk *));
        space->num_chunks = c + 1;
    }
    if (!space->chunks[c]) {
        space->chunks[c] = g_new0(Chunk, 1);
    }
    return space->chunks[c];
}

/* First free slot in [@from, @to) of one chunk; @to if there is none. */
static uint32_t chunk_find_free(const Chunk *chunk, uint32_t from, uint32_t to)
{
    for (uint32_t slot = from; slot < to;) {
        uint32_t bit = slot % 64;
        uint64_t busy = chunk->map[slot % CHUNK_IDS / 64] >> bit;
        uint32_t skip = ~busy ? __builtin_ctzll(~busy) : 64;

        if (skip < 64 - bit) {
            return MIN(slot + skip, to);
        }
        slot += 64 - bit;
    }
    return to;
}

static uint32_t space_find_free(const Space *space, uint32_t from, uint32_t to)
{
    while (from < to) {
        uint32_t c = from >> CHUNK_LOG;
        uint32_t end = MIN((c + 1) << CHUNK_LOG, to);
        const Chunk *chunk = c < space->num_chunks ? space->chunks[c] : NULL;

        if (!chunk) {
            return from;
        }
        if (chunk->used < CHUNK_IDS) {
            from = chunk_find_free(chunk, from, end);
            if (from < end) {
                return from;
            }
        }
        from = end;
    }
    return to;
}

/* A free slot at or after the last given one, round and round. */
static bool space_take(Space *space, uint32_t slots, uint32_t *slot)
{
    *slot = space_find_free(space, space->next, slots);
    if (*slot >= slots) {
        *slot = space_find_free(space, 0, space->next);
        if (*slot >= space->next) {
            return false;
        }
    }
    space->next = *slot + 1;
    space->count++;
    return true;
}

void *mlx5_obj_new(Mlx5Func *func, Mlx5ObjType type, size_t size, uint16_t uid)
{
    const Mlx5ObjTypeInfo *info = &types[type];
    Space *space = &func->obj->space[type];
    uint32_t slot;
    Chunk *chunk;
    Mlx5Obj *obj;

    if (!space_take(space, info->limit(&func->props) - info->first_id, &slot)) {
        return NULL;
    }
    obj = g_malloc0(size);
    obj->func = func;
    obj->type = type;
    obj->id = info->first_id + slot;
    obj->uid = uid;
    chunk = chunk_make(space, slot);
    chunk->obj[slot % CHUNK_IDS] = obj;
    chunk->map[slot % CHUNK_IDS / 64] |= UINT64_C(1) << slot % 64;
    chunk->used++;
    return obj;
}

void mlx5_obj_delete(void *opaque)
{
    Mlx5Obj *obj = opaque;
    Space *space = &obj->func->obj->space[obj->type];
    uint32_t slot = obj->id - types[obj->type].first_id;
    Chunk *chunk = space->chunks[slot >> CHUNK_LOG];
    uint32_t at = slot % CHUNK_IDS;

    /* Callers refuse the command first; the guest cannot get here. */
    g_assert(obj->refs == 0);
    if (types[obj->type].free) {
        types[obj->type].free(obj);
    }
    chunk->obj[at] = NULL;
    chunk->map[at / 64] &= ~(UINT64_C(1) << at % 64);
    chunk->used--;
    space->count--;
    g_free(obj);
}

void mlx5_obj_retire(void *opaque)
{
    Mlx5Obj *obj = opaque;
    Space *space = &obj->func->obj->space[obj->type];
    uint32_t slot = obj->id - types[obj->type].first_id;

    if (!obj->refs) {
        mlx5_obj_delete(obj);
        return;
    }
    obj->last_ref = true;
    /* Its bit in the map stays: the number is not given again yet. */
    space->chunks[slot >> CHUNK_LOG]->obj[slot % CHUNK_IDS] = NULL;
}

/* More passes than this a chain of objects of one type does not get. */
#define MAX_SWEEPS 64

typedef struct Sweep {
    uint16_t uid;
    uint32_t freed;
} Sweep;

static void sweep_one(void *opaque_obj, void *opaque)
{
    Mlx5Obj *obj = opaque_obj;
    Sweep *sweep = opaque;

    if (obj->uid == sweep->uid && obj->refs == 0) {
        mlx5_obj_delete(obj);
        sweep->freed++;
    }
}

static void orphan_one(void *opaque_obj, void *opaque)
{
    Mlx5Obj *obj = opaque_obj;

    if (obj->uid == ((Sweep *)opaque)->uid) {
        obj->uid = 0;
        obj->last_ref = true;
    }
}

void mlx5_obj_free_owned(Mlx5Func *func, uint16_t uid)
{
    Sweep sweep = { uid, 1 };

    for (unsigned pass = 0; sweep.freed && pass < MAX_SWEEPS; pass++) {
        sweep.freed = 0;
        for (size_t i = 0; i < G_N_ELEMENTS(clear_order); i++) {
            space_foreach(&func->obj->space[clear_order[i]], sweep_one,
                          &sweep);
        }
    }
    for (unsigned type = 0; type < MLX5_OBJ_TYPE_COUNT; type++) {
        space_foreach(&func->obj->space[type], orphan_one, &sweep);
    }
}

uint32_t mlx5_obj_count(Mlx5Func *func, Mlx5ObjType type)
{
    return func->obj->space[type].count;
}

uint32_t mlx5_obj_total(Mlx5Func *func)
{
    uint32_t total = 0;

    for (unsigned type = 0; type < MLX5_OBJ_TYPE_COUNT; type++) {
        total += func->obj->space[type].count;
    }
    return total;
}

const char *mlx5_obj_type_name(Mlx5ObjType type)
{
    return types[type].name;
}

void mlx5_obj_foreach(Mlx5Func *func, Mlx5ObjType type,
                      void (*fn)(void *obj, void *opaque), void *opaque)
{
    space_foreach(&func->obj->space[type], fn, opaque);
}

/*
 * The kernel may touch every object, also when it makes one for sharing
 * (driver: MLX5_SHARED_RESOURCE_UID); a user context its own and the shared.
 */
bool mlx5_obj_uid_ok(const void *obj, uint16_t uid)
{
    uint16_t owner = ((const Mlx5Obj *)obj)->uid;

    return uid == 0 || uid == MLX5_SHARED_UID || owner == uid ||
           owner == MLX5_SHARED_UID;
}

void *mlx5_obj_find(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5ObjType type, uint32_t id,
                    uint32_t syndrome)
{
    void *obj = mlx5_obj_get(func, type, id);

    if (!obj || !mlx5_obj_uid_ok(obj, cmd->uid)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_ERR, syndrome);
        return NULL;
    }
    return obj;
}

void mlx5_obj_destroy_cmd(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5ObjType type,
                          uint32_t id, uint32_t unknown, uint32_t busy)
{
    Mlx5Obj *obj = mlx5_obj_find(func, cmd, type, id, unknown);

    if (!obj) {
        return;
    }
    if (obj->refs) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_RES_STATE_ERR, busy);
        return;
    }
    mlx5_obj_delete(obj);
}
