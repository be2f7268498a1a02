/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steering as the driver lays it out (PRM: Flow Table; driver: fs_cmd.c,
 * fs_core.c): tables of a type and level, in them groups that own a range of
 * indexes and a mask, in those entries with a value and what to do.
 *
 *   func->flow_root[type] --> table (level n) --miss--> table (level > n) ...
 *                               group [start, end] mask
 *                                 entry index value --> actions, TIR, table
 *
 * A link always leads to a higher level, so that no walk can turn in circles.
 * Received frames walk the NIC receive tables, those of SQs the NIC transmit
 * tables; eth/steer.c walks. RoCE packets walk the RDMA tables, in which they
 * are let through, dropped and counted; eth/roce.c shows them as frames.
 */
#ifndef MLX5_OBJ_FLOW_TABLE_H
#define MLX5_OBJ_FLOW_TABLE_H

#include "obj/flow_counter.h"
#include "obj/flow_modify.h"
#include "obj/flow_reformat.h"
#include "obj/tir.h"

/** Table types (driver: fs_core.h FS_FT_*); indexes of func->flow_root. */
enum {
    MLX5_FLOW_TABLE_TYPE_NIC_RX = 0,
    MLX5_FLOW_TABLE_TYPE_NIC_TX = 1,
    MLX5_FLOW_TABLE_TYPE_RDMA_RX = 7,
    MLX5_FLOW_TABLE_TYPE_RDMA_TX = 8,
};

/** flow_context.action (driver: MLX5_FLOW_CONTEXT_ACTION_*). */
enum {
    MLX5_FLOW_CONTEXT_ACTION_ALLOW = 0x1,
    MLX5_FLOW_CONTEXT_ACTION_DROP = 0x2,
    MLX5_FLOW_CONTEXT_ACTION_FWD_DEST = 0x4,
    MLX5_FLOW_CONTEXT_ACTION_COUNT = 0x8,
    MLX5_FLOW_CONTEXT_ACTION_PACKET_REFORMAT = 0x10,
    MLX5_FLOW_CONTEXT_ACTION_DECAP = 0x20,
    MLX5_FLOW_CONTEXT_ACTION_MOD_HDR = 0x40,
    MLX5_FLOW_CONTEXT_ACTION_VLAN_POP = 0x80,
    MLX5_FLOW_CONTEXT_ACTION_VLAN_PUSH = 0x100,
    MLX5_FLOW_CONTEXT_ACTION_VLAN_POP_2 = 0x400,
    MLX5_FLOW_CONTEXT_ACTION_VLAN_PUSH_2 = 0x800,
};
/** Actions that make another frame of a frame. */
#define MLX5_FLOW_ACTIONS_CHANGE \
    (MLX5_FLOW_CONTEXT_ACTION_PACKET_REFORMAT | \
     MLX5_FLOW_CONTEXT_ACTION_DECAP | MLX5_FLOW_CONTEXT_ACTION_MOD_HDR | \
     MLX5_FLOW_CONTEXT_ACTION_VLAN_POP | MLX5_FLOW_CONTEXT_ACTION_VLAN_PUSH | \
     MLX5_FLOW_CONTEXT_ACTION_VLAN_POP_2 | \
     MLX5_FLOW_CONTEXT_ACTION_VLAN_PUSH_2)

/** Parts of a fte_match_param, in its order; bit n of match_criteria_enable. */
enum {
    MLX5_MATCH_OUTER, MLX5_MATCH_MISC, MLX5_MATCH_INNER, MLX5_MATCH_MISC2,
    MLX5_MATCH_MISC3, MLX5_MATCH_MISC4, MLX5_MATCH_MISC5, MLX5_MATCH_PARTS
};
/** Bytes of each of the parts. */
#define MLX5_MATCH_BYTES (MLX5_BITS_fte_match_set_lyr_2_4 / 8)
#define MLX5_MATCH_PART_WORDS (MLX5_MATCH_BYTES / 8)
#define MLX5_MATCH_WORDS (MLX5_MATCH_PARTS * MLX5_MATCH_PART_WORDS)

/** What a frame looks like to entries: a fte_match_param without its tail. */
typedef struct Mlx5MatchKey {
    uint32_t have;           /* parts filled in, bits as 1 << MLX5_MATCH_* */
    uint64_t w[MLX5_MATCH_WORDS]; /* as in memory; compared, not read */
} Mlx5MatchKey;

struct Mlx5FlowTable;

typedef struct Mlx5FlowDest {
    struct Mlx5FlowTable *table; /* one of the two */
    Mlx5Tir *tir;
} Mlx5FlowDest;

typedef struct Mlx5FlowCountRef {
    Mlx5FlowCounters *owner;
    Mlx5FlowCount *count;
} Mlx5FlowCountRef;

/** What an entry does; what it names is held. */
typedef struct Mlx5FlowAct {
    uint32_t action;         /* MLX5_FLOW_CONTEXT_ACTION_* */
    uint32_t tag;            /* to the CQE */
    uint32_t num_dests, num_counters;
    Mlx5FlowDest *dests;
    Mlx5FlowCountRef *counters;
    Mlx5ModifyHdr *modify;
    Mlx5Reformat *reformat;
    uint32_t vlan[2];        /* tags to push, the first one first */
} Mlx5FlowAct;

typedef struct Mlx5FlowEntry {
    uint32_t index;
    Mlx5FlowAct act;
    uint64_t value[];        /* of the group's words, masked */
} Mlx5FlowEntry;

typedef struct Mlx5FlowGroup {
    uint32_t id;             /* unique in the table */
    uint32_t start, end;     /* indexes owned, both included */
    uint32_t parts;          /* of the key, that the mask looks at */
    uint32_t num_words;      /* that the mask looks at ... */
    uint8_t word[MLX5_MATCH_WORDS]; /* ... their indexes in the key ... */
    uint64_t mask[MLX5_MATCH_WORDS]; /* ... and their masks */
    GPtrArray *entries;      /* Mlx5FlowEntry *, by index */
} Mlx5FlowGroup;

typedef struct Mlx5FlowTable {
    Mlx5Obj o;
    uint32_t type;           /* MLX5_FLOW_TABLE_TYPE_* */
    uint32_t level;
    uint32_t log_size;
    bool reformat_en, decap_en;
    struct Mlx5FlowTable *miss; /* held; NULL = the type's default ... */
    bool switch_domain;      /* ... or, RDMA receive: not for RDMA at all */
    uint32_t parts;          /* of all groups together */
    GPtrArray *groups;       /* Mlx5FlowGroup *, by start */
    uint32_t next_group_id;
} Mlx5FlowTable;

/**
 * @key must have the parts of the table.
 * Return: the entry of lowest index that matches, or NULL.
 */
const Mlx5FlowEntry *mlx5_flow_table_lookup(const Mlx5FlowTable *table,
                                            const Mlx5MatchKey *key);

/* Between the files of flow tables. */

/** The part of every flow command that says where: must be our own vport. */
typedef struct Mlx5FlowWhere {
    uint32_t other_vport, vport_number, type;
} Mlx5FlowWhere;

#define MLX5_FLOW_WHERE(layout, in) \
    { MLX5_GET(layout, in, other_vport), MLX5_GET(layout, in, vport_number), \
      MLX5_GET(layout, in, table_type) }

/** Are tables of this type those of Ethernet frames? */
static inline bool mlx5_flow_table_is_nic(uint32_t type)
{
    return type == MLX5_FLOW_TABLE_TYPE_NIC_RX ||
           type == MLX5_FLOW_TABLE_TYPE_NIC_TX;
}

/** Are tables of this type implemented, and not switched off? */
bool mlx5_flow_table_type_ok(const Mlx5Func *func, uint32_t type);
/** Return: false, and the command refused, if @where is not implemented. */
bool mlx5_flow_table_where_ok(const Mlx5Func *func, Mlx5Cmd *cmd,
                              const Mlx5FlowWhere *where);
/** Table @id of the type @where says; refuses with @syndrome. */
Mlx5FlowTable *mlx5_flow_table_find(Mlx5Func *func, Mlx5Cmd *cmd,
                                    const Mlx5FlowWhere *where, uint32_t id,
                                    uint32_t syndrome);
Mlx5FlowGroup *mlx5_flow_group_find(Mlx5FlowTable *table, uint32_t id);
void mlx5_flow_group_free(gpointer group);
void mlx5_flow_entry_free(gpointer entry);

/* flow_action.c */
/**
 * Everything of a flow context but the value, for an entry of @table.
 * Nothing is held yet. Return: false if refused; then @act has no memory.
 */
bool mlx5_flow_act_parse(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *ctx,
                         const Mlx5FlowTable *table, Mlx5FlowAct *act);
void mlx5_flow_act_hold(Mlx5FlowAct *act);
void mlx5_flow_act_drop(Mlx5FlowAct *act);

#endif
