/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that commands create: numbered, owned, referenced.
 *
 * Numbers come from a cyclic allocator per type (the driver keys radix trees
 * by them: a number must not come back before the destroy command finished).
 * Look-up is an array access; a create costs the same at 10 and at 100,000
 * objects. An object with references refuses to die.
 */
#ifndef MLX5_OBJ_TABLE_H
#define MLX5_OBJ_TABLE_H

#include "fw/cmd.h"
#include "fw/lower.h" /* what fw/ declares of us must agree */

/* Number spaces. RMP, XRC SRQ, SRQ and XRQ share one (driver: srq_cmd.c). */
typedef enum Mlx5ObjType {
    MLX5_OBJ_UAR,
    MLX5_OBJ_PD,
    MLX5_OBJ_TRANSPORT_DOMAIN,
    MLX5_OBJ_XRCD,
    MLX5_OBJ_MKEY,
    MLX5_OBJ_EQ,
    MLX5_OBJ_CQ,
    MLX5_OBJ_QP,
    MLX5_OBJ_SRQ,
    MLX5_OBJ_DCT,
    MLX5_OBJ_Q_COUNTER,
    MLX5_OBJ_TIS,
    MLX5_OBJ_TIR,
    MLX5_OBJ_RQT,
    MLX5_OBJ_SQ,
    MLX5_OBJ_RQ,
    MLX5_OBJ_FLOW_TABLE,
    MLX5_OBJ_FLOW_COUNTER,
    MLX5_OBJ_MODIFY_HEADER,
    MLX5_OBJ_PACKET_REFORMAT,
    MLX5_OBJ_PSV,
    MLX5_OBJ_UCTX,
    MLX5_OBJ_UMEM,
    MLX5_OBJ_MEMIC,
    MLX5_OBJ_RESERVED_QPN,
    MLX5_OBJ_AV_QP_MAPPING,
    MLX5_OBJ_SCHED_ELEMENT,
    MLX5_OBJ_TYPE_COUNT
} Mlx5ObjType;

/** First member of every object. */
typedef struct Mlx5Obj {
    Mlx5Func *func;
    Mlx5ObjType type;
    uint32_t id;
    uint16_t uid;            /* owner; 0 = the kernel */
    uint32_t refs;           /* other objects that name this one */
    bool last_ref;           /* goes when nothing names it any more */
} Mlx5Obj;

/* How table.c keeps objects; others look them up by mlx5_obj_get() alone. */
#define MLX5_OBJ_CHUNK_LOG 9
#define MLX5_OBJ_CHUNK_IDS (1u << MLX5_OBJ_CHUNK_LOG)

typedef struct Mlx5ObjChunk {
    uint32_t used;
    uint64_t map[MLX5_OBJ_CHUNK_IDS / 64];
    Mlx5Obj *obj[MLX5_OBJ_CHUNK_IDS];
} Mlx5ObjChunk;

/* Inside a space, numbers count from the type's first: "slots". */
typedef struct Mlx5ObjSpace {
    Mlx5ObjChunk **chunks;
    uint32_t num_chunks;     /* grows with use */
    uint32_t first_id;
    uint32_t next;           /* where the search for a free slot begins */
    uint32_t count;
} Mlx5ObjSpace;

struct Mlx5ObjTables {
    Mlx5ObjSpace space[MLX5_OBJ_TYPE_COUNT];
};

/** Limits and start of a number space; one row per type in table.c. */
typedef struct Mlx5ObjTypeInfo {
    const char *name;        /* as in the inspector's JSON: "qp" */
    uint32_t first_id;
    uint32_t (*limit)(const Mlx5FuncProps *props); /* highest id + 1 */
    void (*free)(void *obj); /* release what the object holds; may be NULL */
} Mlx5ObjTypeInfo;

/** First QP number: those below mean something of their own in packets. */
#define MLX5_QPN_FIRST 0x40u
/** DC targets: their numbers are no queue pair's, for they meet in programs. */
#define MLX5_DCTN_FIRST 0x400000u
/** Objects of this owner may be used by every user context. */
#define MLX5_SHARED_UID 0xffff

/*
 * What each type does before its memory goes: drop references and whatever
 * hangs on the object. Each lives with its type.
 */
void mlx5_eq_release(void *obj);
void mlx5_cq_release(void *obj);
void mlx5_srq_release(void *obj);
void mlx5_qp_release(void *obj);
void mlx5_dct_release(void *obj);
void mlx5_mkey_release(void *obj);
void mlx5_tis_release(void *obj);
void mlx5_tir_release(void *obj);
void mlx5_rqt_release(void *obj);
void mlx5_sq_release(void *obj);
void mlx5_rq_release(void *obj);
void mlx5_flow_table_release(void *obj);
void mlx5_flow_counter_release(void *obj);
void mlx5_psv_release(void *obj);
void mlx5_umem_release(void *obj);
void mlx5_sched_release(void *obj);

Mlx5ObjTables *mlx5_obj_tables_new(void);
/** Free every object, dependants first. Used by reset and teardown. */
void mlx5_obj_tables_clear(Mlx5Func *func);
void mlx5_obj_tables_free(Mlx5Func *func);

/**
 * A zeroed object of @size bytes with a number of its own.
 * Return: NULL if the number space is full.
 */
void *mlx5_obj_new(Mlx5Func *func, Mlx5ObjType type, size_t size, uint16_t uid);
/** Return: the object or NULL. Several times a message. */
static inline void *mlx5_obj_get(Mlx5Func *func, Mlx5ObjType type, uint32_t id)
{
    const Mlx5ObjSpace *space = &func->obj->space[type];
    /* A number below the first wraps to one that no chunk has. */
    uint32_t slot = id - space->first_id;
    uint32_t c = slot >> MLX5_OBJ_CHUNK_LOG;

    if (c >= space->num_chunks || !space->chunks[c]) {
        return NULL;
    }
    return space->chunks[c]->obj[slot % MLX5_OBJ_CHUNK_IDS];
}
/** The number is free again; the type's free() is called. refs must be 0. */
void mlx5_obj_delete(void *obj);
/**
 * Let @obj go while other objects name it: no look-up finds it any more, and it
 * is deleted, its number free again, when the last of them lets go.
 */
void mlx5_obj_retire(void *obj);
uint32_t mlx5_obj_count(Mlx5Func *func, Mlx5ObjType type);
/**
 * Free all objects of user context @uid. What objects of the kernel still use
 * becomes the kernel's, and goes with the last of these.
 */
void mlx5_obj_free_owned(Mlx5Func *func, uint16_t uid);
/** Objects of all types together. */
uint32_t mlx5_obj_total(Mlx5Func *func);
const char *mlx5_obj_type_name(Mlx5ObjType type);
void mlx5_obj_foreach(Mlx5Func *func, Mlx5ObjType type,
                      void (*fn)(void *obj, void *opaque), void *opaque);

/** May user context @uid use @obj? */
bool mlx5_obj_uid_ok(const void *obj, uint16_t uid);
/**
 * Look up for a command: refuses a number that does not exist, or an object of
 * another user context, with MLX5_CMD_STAT_BAD_RES_ERR and @syndrome.
 */
void *mlx5_obj_find(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5ObjType type, uint32_t id,
                    uint32_t syndrome);
/**
 * The whole of a plain destroy command: find (syndrome @unknown), refuse while
 * referenced (MLX5_CMD_STAT_BAD_RES_STATE_ERR, @busy), delete.
 */
void mlx5_obj_destroy_cmd(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5ObjType type,
                          uint32_t id, uint32_t unknown, uint32_t busy);

/* @obj may be NULL. */
static inline void mlx5_obj_ref(void *obj)
{
    if (obj) {
        ((Mlx5Obj *)obj)->refs++;
    }
}

static inline void mlx5_obj_unref(void *obj)
{
    if (obj) {
        /* Our own bug, not the guest's: it cannot reach the counter. */
        g_assert(((Mlx5Obj *)obj)->refs > 0);
        if (--((Mlx5Obj *)obj)->refs == 0 && ((Mlx5Obj *)obj)->last_ref) {
            mlx5_obj_delete(obj);
        }
    }
}

#endif
