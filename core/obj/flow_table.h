/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steering of received frames as the driver lays it out (PRM: Flow Table;
 * driver: fs_cmd.c, fs_core.c): tables of a level, in them groups that own a
 * range of indexes and a mask, in those entries with a value and destinations.
 *
 *   func->nic_rx_root --> table (level n) --miss--> table (level > n) --> ...
 *                           group [start, end] mask
 *                             entry index value --> TIR, table, drop
 *
 * A link always leads to a higher level, so that no walk can turn in circles.
 * Only the outer headers can be matched; only NIC receive tables exist.
 */
#ifndef MLX5_OBJ_FLOW_TABLE_H
#define MLX5_OBJ_FLOW_TABLE_H

#include "obj/tir.h"

/** flow table types (driver: mlx5_ifc.h MLX5_FLOW_TABLE_TYPE_*). */
enum {
    MLX5_FLOW_TABLE_TYPE_NIC_RX = 0,
};

/** flow_context.action (driver: MLX5_FLOW_CONTEXT_ACTION_*). */
enum {
    MLX5_FLOW_CONTEXT_ACTION_DROP = 0x2,
    MLX5_FLOW_CONTEXT_ACTION_FWD_DEST = 0x4,
};

#define MLX5_MATCH_BYTES (MLX5_BITS_fte_match_set_lyr_2_4 / 8)

/** What a frame looks like to an entry: a fte_match_set_lyr_2_4. */
typedef struct Mlx5Match {
    uint64_t w[MLX5_MATCH_BYTES / 8]; /* as in memory; compared, not read */
} Mlx5Match;

struct Mlx5FlowTable;

typedef struct Mlx5FlowDest {
    struct Mlx5FlowTable *table; /* one of the two */
    Mlx5Tir *tir;
} Mlx5FlowDest;

typedef struct Mlx5FlowEntry {
    uint32_t index;
    uint32_t action;
    uint32_t tag;            /* to the CQE */
    Mlx5Match value;         /* masked by the group's mask */
    uint32_t num_dests;
    Mlx5FlowDest *dests;     /* each held */
} Mlx5FlowEntry;

typedef struct Mlx5FlowGroup {
    uint32_t id;             /* unique in the table */
    uint32_t start, end;     /* indexes owned, both included */
    Mlx5Match mask;
    GPtrArray *entries;      /* Mlx5FlowEntry *, by index */
} Mlx5FlowGroup;

typedef struct Mlx5FlowTable {
    Mlx5Obj o;
    uint32_t level;
    uint32_t log_size;
    struct Mlx5FlowTable *miss; /* held; NULL = the default, drop */
    GPtrArray *groups;       /* Mlx5FlowGroup *, by start */
    uint32_t next_group_id;
} Mlx5FlowTable;

/** Return: the entry of lowest index that matches @match, or NULL. */
const Mlx5FlowEntry *mlx5_flow_table_lookup(const Mlx5FlowTable *table,
                                            const Mlx5Match *match);

/* Between the files of flow tables. */

/** The part of every flow command that says where: must be our own vport. */
typedef struct Mlx5FlowWhere {
    uint32_t other_vport, vport_number, type;
} Mlx5FlowWhere;

#define MLX5_FLOW_WHERE(layout, in) \
    { MLX5_GET(layout, in, other_vport), MLX5_GET(layout, in, vport_number), \
      MLX5_GET(layout, in, table_type) }

/** Return: false, and the command refused, if @where is not implemented. */
bool mlx5_flow_table_where_ok(Mlx5Cmd *cmd, const Mlx5FlowWhere *where);
Mlx5FlowGroup *mlx5_flow_group_find(Mlx5FlowTable *table, uint32_t id);
void mlx5_flow_group_free(gpointer group);
void mlx5_flow_entry_free(gpointer entry);

#endif
