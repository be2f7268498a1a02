/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of the Ethernet objects: each refusal by its own syndrome, the
 * references that keep an object alive, states, queries. A refused command
 * changes nothing: the valid form succeeds afterwards.
 */
#include "obj/engine.h"
#include "obj/eth_limits.h"
#include "obj/uctx.h"
#include "tests/eth/eth_helper.h"

static Net n;
static uint32_t rqn, rqt, tir, table, group, miss; /* valid numbers */

static void setup(void)
{
    n = net_new();
    rqn = n.rq.number;
    rqt = net_create_rqt(&n, (uint32_t[]){ rqn, rqn }, 2);
    tir = net_create_tir_direct(&n, rqn);
    miss = net_create_table(&n, 9, NET_NO_MISS);
    table = net_create_table(&n, 5, NET_NO_MISS);
    group = net_create_group(&n, table, 2, 5, NULL);
}

static void teardown(void)
{
    net_free(&n);
}

/* --- one field spoiled ------------------------------------------------ */

/* A valid command into @in. Return: its length. */
typedef uint32_t (*Make)(uint8_t *in);

typedef struct Spoil {
    Make make;
    uint32_t off, bits;          /* field set to ... */
    uint64_t value;
    uint8_t status;
    uint32_t syndrome;
    const char *name;
} Spoil;

#define MAX_IN 2048
#define BASE(l, f) MLX5_BIT_OFF(l, f)
#define ROW(mk, off, bits, v, st, sy) \
    { mk, off, bits, v, MLX5_CMD_STAT_##st, MLX5_SYND_##sy, #sy }
/* Field @f of layout @l that stands in command layout @c at @at. */
#define SUB(mk, c, at, l, f, v, st, sy) \
    ROW(mk, BASE(c, at) + BASE(l, f), MLX5_BIT_SZ(l, f), v, st, sy)
#define TOP(mk, c, f, v, st, sy) \
    ROW(mk, BASE(c, f), MLX5_BIT_SZ(c, f), v, st, sy)

static uint32_t mk_tis(uint8_t *in)
{
    MLX5_SET(create_tis_in, in, opcode, MLX5_CMD_OP_CREATE_TIS);
    MLX5_SET(tisc, MLX5_ADDR_OF(create_tis_in, in, ctx), transport_domain,
             n.td);
    return MLX5_ST_SZ_BYTES(create_tis_in);
}

static uint32_t mk_modify_tis(uint8_t *in)
{
    MLX5_SET(modify_tis_in, in, opcode, MLX5_CMD_OP_MODIFY_TIS);
    MLX5_SET(modify_tis_in, in, tisn, n.tis);
    return MLX5_ST_SZ_BYTES(modify_tis_in);
}

static uint32_t mk_query_tis(uint8_t *in)
{
    MLX5_SET(query_tis_in, in, opcode, MLX5_CMD_OP_QUERY_TIS);
    MLX5_SET(query_tis_in, in, tisn, n.tis);
    return MLX5_ST_SZ_BYTES(query_tis_in);
}

static uint32_t mk_sq(uint8_t *in)
{
    net_fill_sq(&n, in, &n.sq);
    return NET_WQ_IN;
}

static uint32_t mk_modify_sq(uint8_t *in)
{
    MLX5_SET(modify_sq_in, in, opcode, MLX5_CMD_OP_MODIFY_SQ);
    MLX5_SET(modify_sq_in, in, sqn, n.sq.number);
    MLX5_SET(modify_sq_in, in, sq_state, MLX5_WQ_STATE_RDY);
    MLX5_SET(sqc, MLX5_ADDR_OF(modify_sq_in, in, ctx), state,
             MLX5_WQ_STATE_RDY);
    return MLX5_ST_SZ_BYTES(modify_sq_in);
}

static uint32_t mk_modify_sq_rate(uint8_t *in)
{
    MLX5_SET(modify_sq_in, in, modify_bitmask, 1);
    return mk_modify_sq(in);
}

static uint32_t mk_modify_sq_qos(uint8_t *in)
{
    MLX5_SET(modify_sq_in, in, modify_bitmask, 4);
    return mk_modify_sq(in);
}

static uint32_t mk_query_sq(uint8_t *in)
{
    MLX5_SET(query_sq_in, in, opcode, MLX5_CMD_OP_QUERY_SQ);
    MLX5_SET(query_sq_in, in, sqn, n.sq.number);
    return MLX5_ST_SZ_BYTES(query_sq_in);
}

static uint32_t mk_rq(uint8_t *in)
{
    net_fill_rq(&n, in, &n.rq);
    return NET_WQ_IN;
}

static uint32_t mk_modify_rq(uint8_t *in)
{
    MLX5_SET(modify_rq_in, in, opcode, MLX5_CMD_OP_MODIFY_RQ);
    MLX5_SET(modify_rq_in, in, rqn, rqn);
    MLX5_SET(modify_rq_in, in, rq_state, MLX5_WQ_STATE_RDY);
    MLX5_SET(rqc, MLX5_ADDR_OF(modify_rq_in, in, ctx), state,
             MLX5_WQ_STATE_RDY);
    return MLX5_ST_SZ_BYTES(modify_rq_in);
}

static uint32_t mk_modify_rq_counter(uint8_t *in)
{
    MLX5_SET(modify_rq_in, in, modify_bitmask, 8);
    return mk_modify_rq(in);
}

static uint32_t mk_query_rq(uint8_t *in)
{
    MLX5_SET(query_rq_in, in, opcode, MLX5_CMD_OP_QUERY_RQ);
    MLX5_SET(query_rq_in, in, rqn, rqn);
    return MLX5_ST_SZ_BYTES(query_rq_in);
}

static void fill_rqt(uint8_t *rqtc)
{
    MLX5_SET(rqtc, rqtc, rqt_max_size, 4);
    MLX5_SET(rqtc, rqtc, rqt_actual_size, 2);
    MLX5_SET_IDX(rqtc, rqtc, rq_num, 0, rqn);
    MLX5_SET_IDX(rqtc, rqtc, rq_num, 1, rqn);
}

static uint32_t mk_rqt(uint8_t *in)
{
    MLX5_SET(create_rqt_in, in, opcode, MLX5_CMD_OP_CREATE_RQT);
    fill_rqt(MLX5_ADDR_OF(create_rqt_in, in, rqt_context));
    return MLX5_ST_SZ_BYTES(create_rqt_in) + 8;
}

static uint32_t mk_modify_rqt(uint8_t *in)
{
    MLX5_SET(modify_rqt_in, in, opcode, MLX5_CMD_OP_MODIFY_RQT);
    MLX5_SET(modify_rqt_in, in, rqtn, rqt);
    MLX5_SET(rqt_bitmask, MLX5_ADDR_OF(modify_rqt_in, in, bitmask), rqn_list,
             1);
    fill_rqt(MLX5_ADDR_OF(modify_rqt_in, in, ctx));
    return MLX5_ST_SZ_BYTES(modify_rqt_in) + 8;
}

static uint32_t mk_query_rqt(uint8_t *in)
{
    MLX5_SET(query_rqt_in, in, opcode, MLX5_CMD_OP_QUERY_RQT);
    MLX5_SET(query_rqt_in, in, rqtn, rqt);
    return MLX5_ST_SZ_BYTES(query_rqt_in);
}

static uint32_t mk_tir(uint8_t *in)
{
    uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, in, ctx);

    MLX5_SET(create_tir_in, in, opcode, MLX5_CMD_OP_CREATE_TIR);
    MLX5_SET(tirc, tirc, transport_domain, n.td);
    MLX5_SET(tirc, tirc, inline_rqn, rqn);
    return MLX5_ST_SZ_BYTES(create_tir_in);
}

static uint32_t mk_tir_indirect(uint8_t *in)
{
    uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, in, ctx);

    mk_tir(in);
    MLX5_SET(tirc, tirc, disp_type, MLX5_TIRC_DISP_TYPE_INDIRECT);
    MLX5_SET(tirc, tirc, indirect_table, rqt);
    return MLX5_ST_SZ_BYTES(create_tir_in);
}

static uint32_t mk_modify_tir(uint8_t *in)
{
    MLX5_SET(modify_tir_in, in, opcode, MLX5_CMD_OP_MODIFY_TIR);
    MLX5_SET(modify_tir_in, in, tirn, tir);
    MLX5_SET(modify_tir_bitmask, MLX5_ADDR_OF(modify_tir_in, in, bitmask),
             packet_merge, 1);
    return MLX5_ST_SZ_BYTES(modify_tir_in);
}

static uint32_t mk_query_tir(uint8_t *in)
{
    MLX5_SET(query_tir_in, in, opcode, MLX5_CMD_OP_QUERY_TIR);
    MLX5_SET(query_tir_in, in, tirn, tir);
    return MLX5_ST_SZ_BYTES(query_tir_in);
}

static uint32_t mk_table(uint8_t *in)
{
    uint8_t *ctx = MLX5_ADDR_OF(create_flow_table_in, in, flow_table_context);

    MLX5_SET(create_flow_table_in, in, opcode, MLX5_CMD_OP_CREATE_FLOW_TABLE);
    MLX5_SET(flow_table_context, ctx, level, 5);
    MLX5_SET(flow_table_context, ctx, log_size, 4);
    return MLX5_ST_SZ_BYTES(create_flow_table_in);
}

static uint32_t mk_table_miss(uint8_t *in)
{
    uint8_t *ctx = MLX5_ADDR_OF(create_flow_table_in, in, flow_table_context);

    mk_table(in);
    MLX5_SET(flow_table_context, ctx, table_miss_action, 1);
    MLX5_SET(flow_table_context, ctx, table_miss_id, miss);
    return MLX5_ST_SZ_BYTES(create_flow_table_in);
}

static uint32_t mk_modify_table(uint8_t *in)
{
    MLX5_SET(modify_flow_table_in, in, opcode, MLX5_CMD_OP_MODIFY_FLOW_TABLE);
    MLX5_SET(modify_flow_table_in, in, table_id, table);
    MLX5_SET(modify_flow_table_in, in, modify_field_select, 1);
    return MLX5_ST_SZ_BYTES(modify_flow_table_in);
}

static uint32_t mk_query_table(uint8_t *in)
{
    MLX5_SET(query_flow_table_in, in, opcode, MLX5_CMD_OP_QUERY_FLOW_TABLE);
    MLX5_SET(query_flow_table_in, in, table_id, table);
    return MLX5_ST_SZ_BYTES(query_flow_table_in);
}

static uint32_t mk_root(uint8_t *in)
{
    MLX5_SET(set_flow_table_root_in, in, opcode,
             MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
    MLX5_SET(set_flow_table_root_in, in, table_id, table);
    return MLX5_ST_SZ_BYTES(set_flow_table_root_in);
}

static uint32_t mk_group(uint8_t *in)
{
    MLX5_SET(create_flow_group_in, in, opcode, MLX5_CMD_OP_CREATE_FLOW_GROUP);
    MLX5_SET(create_flow_group_in, in, table_id, table);
    MLX5_SET(create_flow_group_in, in, start_flow_index, 6);
    MLX5_SET(create_flow_group_in, in, end_flow_index, 7);
    MLX5_SET(create_flow_group_in, in, match_criteria_enable, 0x7f);
    return MLX5_ST_SZ_BYTES(create_flow_group_in);
}

static uint32_t mk_destroy_group(uint8_t *in)
{
    MLX5_SET(destroy_flow_group_in, in, opcode,
             MLX5_CMD_OP_DESTROY_FLOW_GROUP);
    MLX5_SET(destroy_flow_group_in, in, table_id, table);
    MLX5_SET(destroy_flow_group_in, in, group_id, group);
    return MLX5_ST_SZ_BYTES(destroy_flow_group_in);
}

static uint32_t mk_fte(uint8_t *in)
{
    NetRule r = { .table = table, .group = group, .index = 3, .num_dests = 1,
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
                  .dests = { NET_TO_TIR(tir) } };

    return net_fill_fte(in, &r);
}

static uint32_t mk_fte_table(uint8_t *in)
{
    NetRule r = { .table = table, .group = group, .index = 3, .num_dests = 1,
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST,
                  .dests = { NET_TO_TABLE(miss) } };

    return net_fill_fte(in, &r);
}

static uint32_t mk_modify_fte(uint8_t *in)
{
    uint8_t out[16];
    uint32_t len = mk_fte(in);

    MLX5_SET(set_fte_in, in, flow_index, 4);
    fake_driver_cmd(n.d, in, len, out, sizeof(out));
    MLX5_SET(set_fte_in, in, op_mod, 1);
    MLX5_SET(set_fte_in, in, modify_enable_mask, 7);
    return len;
}

static uint32_t mk_delete_fte(uint8_t *in)
{
    uint8_t fte[NET_FTE_IN], out[16];

    fake_driver_cmd(n.d, fte, mk_fte(fte), out, sizeof(out));
    MLX5_SET(delete_fte_in, in, opcode, MLX5_CMD_OP_DELETE_FLOW_TABLE_ENTRY);
    MLX5_SET(delete_fte_in, in, table_id, table);
    MLX5_SET(delete_fte_in, in, flow_index, 3);
    return MLX5_ST_SZ_BYTES(delete_fte_in);
}

#define SQC(f, v, st, sy) SUB(mk_sq, create_sq_in, ctx, sqc, f, v, st, sy)
#define RQC(f, v, st, sy) SUB(mk_rq, create_rq_in, ctx, rqc, f, v, st, sy)
/* The wq of an SQ; that of an RQ stands at the same place. */
#define WQ(mk, f, v, st, sy) \
    ROW(mk, BASE(create_sq_in, ctx) + BASE(sqc, wq) + BASE(wq, f), \
        MLX5_BIT_SZ(wq, f), v, st, sy)
#define TIRC(mk, f, v, st, sy) SUB(mk, create_tir_in, ctx, tirc, f, v, st, sy)
#define FT(mk, f, v, st, sy) SUB(mk, create_flow_table_in, \
                                 flow_table_context, flow_table_context, f, \
                                 v, st, sy)
#define FTE(mk, f, v, st, sy) SUB(mk, set_fte_in, flow_context, flow_context, \
                                  f, v, st, sy)
#define DEST(mk, f, v, st, sy) \
    ROW(mk, BASE(set_fte_in, flow_context) + BASE(flow_context, destination) + \
        BASE(dest_format, f), MLX5_BIT_SZ(dest_format, f), v, st, sy)
#define NONE 0xfffff0

static const Spoil spoils[] = {
    SUB(mk_tis, create_tis_in, ctx, tisc, tls_en, 1, BAD_PARAM_ERR, TIS_TLS),
    SUB(mk_tis, create_tis_in, ctx, tisc, underlay_qpn, 1, BAD_PARAM_ERR,
        TIS_UNDERLAY),
    SUB(mk_tis, create_tis_in, ctx, tisc, transport_domain, NONE, BAD_RES_ERR,
        TIS_TD),
    TOP(mk_modify_tis, modify_tis_in, tisn, NONE, BAD_RES_ERR,
        TIS_UNKNOWN_MODIFY),
    ROW(mk_modify_tis, BASE(modify_tis_in, bitmask), 1, 1, BAD_PARAM_ERR,
        TIS_MODIFY_MASK),
    TOP(mk_query_tis, query_tis_in, tisn, NONE, BAD_RES_ERR,
        TIS_UNKNOWN_QUERY),

    WQ(mk_sq, wq_type, 0, BAD_PARAM_ERR, WQ_TYPE),
    WQ(mk_rq, wq_type, 4, BAD_PARAM_ERR, WQ_TYPE),
    WQ(mk_sq, wq_type, 2, BAD_PARAM_ERR, WQ_TYPE),
    WQ(mk_sq, wq_signature, 1, BAD_PARAM_ERR, WQ_SIGNATURE),
    WQ(mk_sq, cd_slave, 1, BAD_PARAM_ERR, WQ_CD_SLAVE),
    WQ(mk_sq, dbr_umem_valid, 1, BAD_RES_ERR, DBR_UMEM),
    WQ(mk_sq, wq_umem_valid, 1, BAD_RES_ERR, QUEUE_UMEM),
    WQ(mk_rq, shampo_enable, 1, BAD_PARAM_ERR, WQ_SHAMPO),
    WQ(mk_sq, log_wq_sz, 16, BAD_PARAM_ERR, WQ_SIZE),
    WQ(mk_sq, log_wq_stride, 5, BAD_PARAM_ERR, WQ_STRIDE),
    WQ(mk_rq, log_wq_stride, 3, BAD_PARAM_ERR, WQ_STRIDE),
    WQ(mk_rq, log_wq_stride, 10, BAD_PARAM_ERR, WQ_STRIDE),
    WQ(mk_sq, dbr_addr, 4, BAD_PARAM_ERR, WQ_DBR),
    WQ(mk_sq, pd, NONE, BAD_RES_ERR, WQ_PD),
    WQ(mk_sq, uar_page, NONE, BAD_RES_ERR, WQ_UAR),
    WQ(mk_sq, log_wq_sz, 7, BAD_PARAM_ERR, WQ_PAS),
    ROW(mk_sq, BASE(create_sq_in, ctx) + BASE(sqc, wq) + MLX5_BITS_wq, 64,
        0x1001, BAD_PARAM_ERR, WQ_PAS),

    SQC(cd_master, 1, BAD_PARAM_ERR, SQ_CD_MASTER),
    SQC(hairpin, 1, BAD_PARAM_ERR, SQ_HAIRPIN),
    SQC(non_wire, 1, BAD_PARAM_ERR, SQ_NON_WIRE),
    SQC(ts_cqe_to_dest_cqn, 1, BAD_PARAM_ERR, SQ_TS_CQN),
    SQC(packet_pacing_rate_limit_index, 1, BAD_RES_ERR, SQ_RATE_LIMIT),
    SQC(qos_queue_group_id, 1, BAD_RES_ERR, SQ_QOS_GROUP),
    SQC(state, 1, BAD_PARAM_ERR, SQ_CREATE_STATE),
    SQC(ts_format, 2, BAD_PARAM_ERR, SQ_TS_FORMAT),
    SQC(tis_lst_sz, 2, BAD_PARAM_ERR, SQ_TIS_LIST),
    SQC(cqn, NONE, BAD_RES_ERR, SQ_CQ),
    SQC(tis_num_0, NONE, BAD_RES_ERR, SQ_TIS),
    TOP(mk_modify_sq, modify_sq_in, sqn, NONE, BAD_RES_ERR, SQ_UNKNOWN_MODIFY),
    TOP(mk_modify_sq, modify_sq_in, modify_bitmask, 2, BAD_PARAM_ERR,
        SQ_MODIFY_MASK),
    SUB(mk_modify_sq_rate, modify_sq_in, ctx, sqc,
        packet_pacing_rate_limit_index, 1, BAD_RES_ERR, SQ_MODIFY_RATE),
    SUB(mk_modify_sq_qos, modify_sq_in, ctx, sqc, qos_queue_group_id, 1,
        BAD_RES_ERR, SQ_MODIFY_QOS),
    TOP(mk_modify_sq, modify_sq_in, sq_state, 0, BAD_RES_STATE_ERR,
        SQ_MODIFY_FROM),
    SUB(mk_modify_sq, modify_sq_in, ctx, sqc, state, 2, BAD_RES_STATE_ERR,
        SQ_MODIFY_TO),
    TOP(mk_query_sq, query_sq_in, sqn, NONE, BAD_RES_ERR, SQ_UNKNOWN_QUERY),

    RQC(mem_rq_type, 1, BAD_PARAM_ERR, RQ_MEM_TYPE),
    RQC(delay_drop_en, 1, BAD_PARAM_ERR, RQ_DELAY_DROP),
    RQC(hairpin, 1, BAD_PARAM_ERR, RQ_HAIRPIN),
    RQC(state, 3, BAD_PARAM_ERR, RQ_CREATE_STATE),
    RQC(ts_format, 3, BAD_PARAM_ERR, RQ_TS_FORMAT),
    RQC(cqn, NONE, BAD_RES_ERR, RQ_CQ),
    RQC(counter_set_id, 200, BAD_RES_ERR, RQ_COUNTER),
    TOP(mk_modify_rq, modify_rq_in, rqn, NONE, BAD_RES_ERR, RQ_UNKNOWN_MODIFY),
    TOP(mk_modify_rq, modify_rq_in, modify_bitmask, 1, BAD_PARAM_ERR,
        RQ_MODIFY_MASK),
    TOP(mk_modify_rq, modify_rq_in, rq_state, 3, BAD_RES_STATE_ERR,
        RQ_MODIFY_FROM),
    SUB(mk_modify_rq, modify_rq_in, ctx, rqc, state, 15, BAD_RES_STATE_ERR,
        RQ_MODIFY_TO),
    SUB(mk_modify_rq_counter, modify_rq_in, ctx, rqc, counter_set_id, 200,
        BAD_RES_ERR, RQ_MODIFY_COUNTER),
    TOP(mk_query_rq, query_rq_in, rqn, NONE, BAD_RES_ERR, RQ_UNKNOWN_QUERY),

    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rqt_max_size, 0,
        BAD_PARAM_ERR, RQT_MAX_SIZE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rqt_max_size, 2049,
        BAD_PARAM_ERR, RQT_MAX_SIZE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, list_q_type, 1,
        BAD_PARAM_ERR, RQT_LIST_TYPE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rq_vhca_id_format, 1,
        BAD_PARAM_ERR, RQT_LIST_TYPE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rqt_actual_size, 3,
        BAD_PARAM_ERR, RQT_SIZE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rqt_actual_size, 0,
        BAD_PARAM_ERR, RQT_SIZE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rqt_actual_size, 8,
        BAD_PARAM_ERR, RQT_SIZE),
    SUB(mk_rqt, create_rqt_in, rqt_context, rqtc, rqt_actual_size, 4,
        BAD_INP_LEN_ERR, RQT_IN_LEN),
    ROW(mk_rqt, MLX5_BITS_create_rqt_in + 32, 32, NONE, BAD_RES_ERR, RQT_RQ),
    TOP(mk_modify_rqt, modify_rqt_in, rqtn, NONE, BAD_RES_ERR,
        RQT_UNKNOWN_MODIFY),
    ROW(mk_modify_rqt, BASE(modify_rqt_in, bitmask), 1, 1, BAD_PARAM_ERR,
        RQT_MODIFY_MASK),
    SUB(mk_modify_rqt, modify_rqt_in, ctx, rqtc, rqt_actual_size, 4,
        BAD_PARAM_ERR, RQT_SIZE),
    ROW(mk_modify_rqt, MLX5_BITS_modify_rqt_in, 32, NONE, BAD_RES_ERR, RQT_RQ),
    TOP(mk_query_rqt, query_rqt_in, rqtn, NONE, BAD_RES_ERR,
        RQT_UNKNOWN_QUERY),

    TIRC(mk_tir, tls_en, 1, BAD_PARAM_ERR, TIR_TLS),
    TIRC(mk_tir, packet_merge_mask, 4, BAD_PARAM_ERR, TIR_LRO),
    TIRC(mk_tir, rx_hash_field_selector_inner, 0x40, BAD_PARAM_ERR,
         TIR_HASH_FIELDS),
    TIRC(mk_tir, rx_hash_fn, 3, BAD_PARAM_ERR, TIR_HASH_FN),
    TIRC(mk_tir, rx_hash_field_selector_outer, 0x20, BAD_PARAM_ERR,
         TIR_HASH_FIELDS),
    TIRC(mk_tir, inline_rqn, NONE, BAD_RES_ERR, TIR_RQ),
    TIRC(mk_tir_indirect, indirect_table, NONE, BAD_RES_ERR, TIR_RQT),
    TIRC(mk_tir, disp_type, 2, BAD_PARAM_ERR, TIR_DISP_TYPE),
    TIRC(mk_tir, transport_domain, NONE, BAD_RES_ERR, TIR_TD),
    TOP(mk_modify_tir, modify_tir_in, tirn, NONE, BAD_RES_ERR,
        TIR_UNKNOWN_MODIFY),
    ROW(mk_modify_tir, BASE(modify_tir_in, bitmask), 1, 1, BAD_PARAM_ERR,
        TIR_MODIFY_MASK),
    SUB(mk_modify_tir, modify_tir_in, ctx, tirc, packet_merge_mask, 4,
        BAD_PARAM_ERR, TIR_MODIFY_LRO),
    SUB(mk_modify_tir, modify_tir_in, ctx, tirc, rx_hash_fn, 3, BAD_PARAM_ERR,
        TIR_HASH_FN),
    TOP(mk_query_tir, query_tir_in, tirn, NONE, BAD_RES_ERR,
        TIR_UNKNOWN_QUERY),

    TOP(mk_table, create_flow_table_in, table_type, 4, BAD_PARAM_ERR, FT_TYPE),
    TOP(mk_table, create_flow_table_in, other_vport, 1, BAD_PARAM_ERR,
        FT_VPORT),
    TOP(mk_table, create_flow_table_in, vport_number, 1, BAD_PARAM_ERR,
        FT_VPORT),
    TOP(mk_table, create_flow_table_in, op_mod, 1, BAD_PARAM_ERR, FT_OP_MOD),
    FT(mk_table, sw_owner, 1, BAD_PARAM_ERR, FT_SW_OWNER),
    FT(mk_table, termination_table, 1, BAD_PARAM_ERR, FT_TERMINATION),
    FT(mk_table, rtc_valid, 1, BAD_PARAM_ERR, FT_RTC),
    FT(mk_table, level, MLX5_MAX_FT_LEVEL + 1, BAD_PARAM_ERR, FT_LEVEL),
    FT(mk_table, log_size, MLX5_LOG_MAX_FT_SIZE + 1, BAD_PARAM_ERR, FT_SIZE),
    FT(mk_table, table_miss_action, 2, BAD_PARAM_ERR, FT_MISS_ACTION),
    FT(mk_table_miss, table_miss_id, NONE, BAD_RES_ERR, FT_MISS_TABLE),
    FT(mk_table_miss, level, 9, BAD_PARAM_ERR, FT_MISS_LEVEL),
    TOP(mk_modify_table, modify_flow_table_in, table_id, NONE, BAD_RES_ERR,
        FT_UNKNOWN_MODIFY),
    TOP(mk_modify_table, modify_flow_table_in, modify_field_select, 0x8000,
        BAD_PARAM_ERR, FT_MODIFY_MASK),
    TOP(mk_modify_table, modify_flow_table_in, table_type, 4, BAD_PARAM_ERR,
        FT_TYPE),
    TOP(mk_query_table, query_flow_table_in, table_type, 4, BAD_PARAM_ERR,
        FT_QUERY_TYPE),
    TOP(mk_query_table, query_flow_table_in, table_id, NONE, BAD_RES_ERR,
        FT_UNKNOWN_QUERY),
    TOP(mk_root, set_flow_table_root_in, table_type, 4, BAD_PARAM_ERR,
        FT_TYPE),
    TOP(mk_root, set_flow_table_root_in, op_mod, 2, BAD_PARAM_ERR,
        FT_ROOT_OP_MOD),
    TOP(mk_root, set_flow_table_root_in, underlay_qpn, 9, BAD_PARAM_ERR,
        FT_ROOT_UNDERLAY),
    TOP(mk_root, set_flow_table_root_in, table_id, NONE, BAD_RES_ERR,
        FT_UNKNOWN_ROOT),

    TOP(mk_group, create_flow_group_in, table_type, 4, BAD_PARAM_ERR, FT_TYPE),
    TOP(mk_group, create_flow_group_in, match_criteria_enable, 0x80,
        BAD_PARAM_ERR, FG_ENABLE),
    ROW(mk_group, BASE(create_flow_group_in, match_criteria) + 0xa00, 1, 1,
        BAD_PARAM_ERR, FG_PARTS),
    ROW(mk_group, BASE(create_flow_group_in, match_criteria) + 0x208, 24, 1,
        BAD_PARAM_ERR, FG_SOURCE_SQN),
    ROW(mk_group, BASE(create_flow_group_in, match_criteria) + 0x230, 16, 1,
        BAD_PARAM_ERR, FG_MASK),
    ROW(mk_group, BASE(create_flow_group_in, match_criteria) + 0x940, 32, 1,
        BAD_PARAM_ERR, FG_MASK),
    TOP(mk_group, create_flow_group_in, table_type, 1, BAD_RES_ERR,
        FT_OTHER_TYPE),
    ROW(mk_group, BASE(create_flow_group_in, match_criteria) + 0xdff, 1, 1,
        BAD_PARAM_ERR, FG_PARTS),
    SUB(mk_group, create_flow_group_in, match_criteria, fte_match_set_lyr_2_4,
        l4_type_ext, 1, BAD_PARAM_ERR, FG_MASK),
    ROW(mk_group, BASE(create_flow_group_in, match_criteria) + 0xc8, 1, 1,
        BAD_PARAM_ERR, FG_MASK),
    TOP(mk_group, create_flow_group_in, end_flow_index, 16, BAD_PARAM_ERR,
        FG_RANGE),
    TOP(mk_group, create_flow_group_in, start_flow_index, 8, BAD_PARAM_ERR,
        FG_RANGE),
    TOP(mk_group, create_flow_group_in, start_flow_index, 5,
        BAD_RES_STATE_ERR, FG_OVERLAP),
    TOP(mk_group, create_flow_group_in, start_flow_index, 0,
        BAD_RES_STATE_ERR, FG_OVERLAP),
    TOP(mk_group, create_flow_group_in, group_type, 1, BAD_PARAM_ERR, FG_TYPE),
    TOP(mk_group, create_flow_group_in, match_definer_id, 1, BAD_PARAM_ERR,
        FG_TYPE),
    TOP(mk_group, create_flow_group_in, table_id, NONE, BAD_RES_ERR, FG_TABLE),
    TOP(mk_destroy_group, destroy_flow_group_in, table_type, 4, BAD_PARAM_ERR,
        FT_TYPE),
    TOP(mk_destroy_group, destroy_flow_group_in, table_id, NONE, BAD_RES_ERR,
        FG_TABLE_DESTROY),
    TOP(mk_destroy_group, destroy_flow_group_in, group_id, 77, BAD_RES_ERR,
        FG_UNKNOWN),

    FTE(mk_fte, extended_destination, 1, BAD_PARAM_ERR, FTE_EXTENDED_DEST),
    FTE(mk_fte, encrypt_decrypt_type, 1, BAD_PARAM_ERR, FTE_CRYPTO),
    FTE(mk_fte, flow_counter_list_size, 1, BAD_PARAM_ERR, FTE_COUNTERS),
    FTE(mk_fte, action, 0, BAD_PARAM_ERR, FTE_END),
    FTE(mk_fte, action, 6, BAD_PARAM_ERR, FTE_END),
    FTE(mk_fte, action, 5, BAD_PARAM_ERR, FTE_ACTION),
    FTE(mk_fte, action, 0x1004, BAD_PARAM_ERR, FTE_ACTION),
    FTE(mk_fte, action, 0x2, BAD_PARAM_ERR, FTE_DEST_COUNT),
    FTE(mk_fte, action, 0xc, BAD_PARAM_ERR, FTE_COUNTERS),
    FTE(mk_fte, action, 0x24, BAD_PARAM_ERR, FTE_DECAP_EN),
    FTE(mk_fte, action, 0x14, BAD_PARAM_ERR, FTE_REFORMAT_EN),
    FTE(mk_fte, action, 0x44, BAD_RES_ERR, FTE_MODIFY_HEADER),
    FTE(mk_fte, action, 0x404, BAD_PARAM_ERR, FTE_POP_2),
    FTE(mk_fte, action, 0x804, BAD_PARAM_ERR, FTE_PUSH_2),
    FTE(mk_fte, action, 0x104, BAD_PARAM_ERR, FTE_VLAN_TYPE),
    FTE(mk_fte, destination_list_size, 0, BAD_PARAM_ERR, FTE_DEST_COUNT),
    FTE(mk_fte, destination_list_size, 65, BAD_PARAM_ERR, FTE_DEST_COUNT),
    FTE(mk_fte, destination_list_size, 0xffffff, BAD_PARAM_ERR,
        FTE_DEST_COUNT),
    FTE(mk_fte, destination_list_size, 2, BAD_INP_LEN_ERR, FTE_IN_LEN),
    FTE(mk_fte, group_id, 99, BAD_RES_ERR, FTE_GROUP),
    DEST(mk_fte, destination_id, NONE, BAD_RES_ERR, FTE_DEST_TIR),
    DEST(mk_fte_table, destination_id, NONE, BAD_RES_ERR, FTE_DEST_TABLE),
    DEST(mk_fte, destination_type, 0, BAD_PARAM_ERR, FTE_DEST_TYPE),
    DEST(mk_fte, destination_type, 8, BAD_PARAM_ERR, FTE_DEST_TYPE),
    TOP(mk_fte, set_fte_in, table_type, 4, BAD_PARAM_ERR, FT_TYPE),
    TOP(mk_fte, set_fte_in, op_mod, 2, BAD_PARAM_ERR, FTE_OP_MOD),
    TOP(mk_fte, set_fte_in, op_mod, 1, BAD_RES_ERR, FTE_UNKNOWN_MODIFY),
    TOP(mk_fte, set_fte_in, ignore_flow_level, 1, BAD_PARAM_ERR,
        FTE_IGNORE_LEVEL),
    TOP(mk_fte, set_fte_in, table_id, NONE, BAD_RES_ERR, FTE_TABLE),
    TOP(mk_fte, set_fte_in, flow_index, 1, IX_ERR, FTE_INDEX),
    TOP(mk_fte, set_fte_in, flow_index, 6, IX_ERR, FTE_INDEX),
    TOP(mk_modify_fte, set_fte_in, op_mod, 0, BAD_RES_STATE_ERR, FTE_EXISTS),
    TOP(mk_modify_fte, set_fte_in, modify_enable_mask, 0, BAD_PARAM_ERR,
        FTE_MODIFY_MASK),
    TOP(mk_modify_fte, set_fte_in, modify_enable_mask, 16, BAD_PARAM_ERR,
        FTE_MODIFY_MASK),
    TOP(mk_delete_fte, delete_fte_in, table_type, 4, BAD_PARAM_ERR, FT_TYPE),
    TOP(mk_delete_fte, delete_fte_in, table_id, NONE, BAD_RES_ERR,
        FTE_TABLE_DELETE),
    TOP(mk_delete_fte, delete_fte_in, flow_index, 4, BAD_RES_ERR,
        FTE_UNKNOWN_DELETE),
    TOP(mk_delete_fte, delete_fte_in, flow_index, 0xffffffff, BAD_RES_ERR,
        FTE_UNKNOWN_DELETE),
};

START_TEST(spoiled)
{
    const Spoil *s = &spoils[_i];
    uint8_t in[MAX_IN] = { 0 }, out[512];
    uint32_t len = s->make(in);
    uint64_t was = mlx5_prm_get(in, s->off, s->bits);

    mlx5_prm_set(in, s->off, s->bits, s->value);
    ck_assert_msg(!fake_driver_cmd(n.d, in, len, out, sizeof(out)),
                  "%s: not refused", s->name);
    ck_assert_msg(n.d->syndrome == s->syndrome && n.d->status == s->status,
                  "%s: status 0x%x syndrome 0x%x (%s)", s->name, n.d->status,
                  n.d->syndrome, mlx5_syndrome_text(n.d->syndrome));
    mlx5_prm_set(in, s->off, s->bits, was);
    ck_assert_msg(fake_driver_cmd(n.d, in, len, out, sizeof(out)),
                  "%s: refused afterwards, syndrome 0x%x", s->name,
                  n.d->syndrome);
}
END_TEST

/* --- references ------------------------------------------------------- */

/* Destroy by layout; @want: the syndrome of the refusal or 0. */
#define DESTROY(layout, op, field, id, want)                              \
    do {                                                                  \
        FAKE_BUFFERS(layout);                                             \
        MLX5_SET(layout##_in, in, field, id);                             \
        if (want) {                                                       \
            FAKE_CMD_FAILS(n.d, op, layout, in, out,                      \
                           MLX5_CMD_STAT_BAD_RES_STATE_ERR, want);        \
        } else {                                                          \
            FAKE_CMD_OK(n.d, op, layout, in, out);                        \
        }                                                                 \
    } while (0)
#define DESTROY_UNKNOWN(layout, op, field, synd)                          \
    do {                                                                  \
        FAKE_BUFFERS(layout);                                             \
        MLX5_SET(layout##_in, in, field, NONE);                           \
        FAKE_CMD_FAILS(n.d, op, layout, in, out,                          \
                       MLX5_CMD_STAT_BAD_RES_ERR, synd);                  \
    } while (0)

START_TEST(references)
{
    NetRule to_miss = { .table = table, .group = group, .index = 2,
                        .num_dests = 2, .dests = { NET_TO_TABLE(miss),
                                                   NET_TO_TIR(tir) },
                        .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };
    FAKE_BUFFERS(delete_fte);

    net_set_rule(&n, &to_miss);
    DESTROY(destroy_flow_table, DESTROY_FLOW_TABLE, table_id, miss,
            MLX5_SYND_FT_BUSY);
    DESTROY(destroy_flow_table, DESTROY_FLOW_TABLE, table_id, table,
            MLX5_SYND_FT_HAS_GROUPS);
    DESTROY(destroy_tir, DESTROY_TIR, tirn, tir, MLX5_SYND_TIR_BUSY);
    DESTROY(destroy_rq, DESTROY_RQ, rqn, rqn, MLX5_SYND_RQ_BUSY);
    DESTROY(destroy_tis, DESTROY_TIS, tisn, n.tis, MLX5_SYND_TIS_BUSY);
    {
        FAKE_BUFFERS(destroy_flow_group);

        mk_destroy_group(in);
        FAKE_CMD_FAILS(n.d, DESTROY_FLOW_GROUP, destroy_flow_group, in, out,
                       MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                       MLX5_SYND_FG_HAS_ENTRIES);
    }
    MLX5_SET(delete_fte_in, in, table_id, table);
    MLX5_SET(delete_fte_in, in, flow_index, 2);
    FAKE_CMD_OK(n.d, DELETE_FLOW_TABLE_ENTRY, delete_fte, in, out);
    {
        FAKE_BUFFERS(destroy_flow_group);

        mk_destroy_group(in);
        FAKE_CMD_OK(n.d, DESTROY_FLOW_GROUP, destroy_flow_group, in, out);
    }
    /* A root may go. */
    net_set_root(&n, table);
    DESTROY(destroy_flow_table, DESTROY_FLOW_TABLE, table_id, table, 0);
    ck_assert_ptr_null(n.func->flow_root[MLX5_FLOW_TABLE_TYPE_NIC_RX]);
    DESTROY(destroy_flow_table, DESTROY_FLOW_TABLE, table_id, miss, 0);
    DESTROY(destroy_tir, DESTROY_TIR, tirn, tir, 0);
    DESTROY(destroy_rq, DESTROY_RQ, rqn, rqn, MLX5_SYND_RQ_BUSY);
    {
        uint8_t in2[MAX_IN] = { 0 }, out2[16];

        ck_assert(fake_driver_cmd(n.d, in2, mk_tir_indirect(in2), out2, 16));
        tir = MLX5_GET(create_tir_out, out2, tirn);
    }
    DESTROY(destroy_rqt, DESTROY_RQT, rqtn, rqt, MLX5_SYND_RQT_BUSY);
    DESTROY(destroy_tir, DESTROY_TIR, tirn, tir, 0);
    DESTROY(destroy_rqt, DESTROY_RQT, rqtn, rqt, 0);
    net_destroy_rq(&n, &n.rq);
    net_destroy_sq(&n, &n.sq);
    DESTROY(destroy_tis, DESTROY_TIS, tisn, n.tis, 0);
    DESTROY(dealloc_transport_domain, DEALLOC_TRANSPORT_DOMAIN,
            transport_domain, n.td, 0);
    for (int type = MLX5_OBJ_TIS; type < MLX5_OBJ_TYPE_COUNT; type++) {
        ck_assert_uint_eq(mlx5_obj_count(n.func, type), 0);
    }
    fake_driver_down(n.d);
}
END_TEST

/* What a queue or TIS stands on: the owners' destroy commands are refused. */
START_TEST(foundations)
{
    FAKE_BUFFERS(destroy_cq);

    MLX5_SET(destroy_cq_in, in, cqn, n.sq.cq.number);
    ck_assert(!FAKE_CMD(n.d, DESTROY_CQ, destroy_cq, in, out));
    ck_assert_uint_eq(n.d->status, MLX5_CMD_STAT_BAD_RES_STATE_ERR);
    MLX5_SET(destroy_cq_in, in, cqn, n.rq.cq.number);
    ck_assert(!FAKE_CMD(n.d, DESTROY_CQ, destroy_cq, in, out));
    {
        FAKE_BUFFERS(dealloc_transport_domain);

        MLX5_SET(dealloc_transport_domain_in, in, transport_domain, n.td);
        ck_assert(!FAKE_CMD(n.d, DEALLOC_TRANSPORT_DOMAIN,
                            dealloc_transport_domain, in, out));
        ck_assert_uint_eq(n.d->status, MLX5_CMD_STAT_BAD_RES_STATE_ERR);
    }
    {
        FAKE_BUFFERS(dealloc_pd);

        MLX5_SET(dealloc_pd_in, in, pd, n.d->pd);
        ck_assert(!FAKE_CMD(n.d, DEALLOC_PD, dealloc_pd, in, out));
        ck_assert_uint_eq(n.d->status, MLX5_CMD_STAT_BAD_RES_STATE_ERR);
    }
}
END_TEST

START_TEST(destroy_unknown)
{
    DESTROY_UNKNOWN(destroy_tis, DESTROY_TIS, tisn,
                    MLX5_SYND_TIS_UNKNOWN_DESTROY);
    DESTROY_UNKNOWN(destroy_sq, DESTROY_SQ, sqn, MLX5_SYND_SQ_UNKNOWN_DESTROY);
    DESTROY_UNKNOWN(destroy_rq, DESTROY_RQ, rqn, MLX5_SYND_RQ_UNKNOWN_DESTROY);
    DESTROY_UNKNOWN(destroy_rqt, DESTROY_RQT, rqtn,
                    MLX5_SYND_RQT_UNKNOWN_DESTROY);
    DESTROY_UNKNOWN(destroy_tir, DESTROY_TIR, tirn,
                    MLX5_SYND_TIR_UNKNOWN_DESTROY);
    DESTROY_UNKNOWN(destroy_flow_table, DESTROY_FLOW_TABLE, table_id,
                    MLX5_SYND_FT_UNKNOWN_DESTROY);
}
END_TEST

/* An entry may lead up only. */
START_TEST(levels)
{
    uint8_t in[MAX_IN] = { 0 }, out[16];
    uint32_t same = net_create_table(&n, 5, NET_NO_MISS);
    NetRule r = { .table = table, .group = group, .index = 2, .num_dests = 1,
                  .dests = { NET_TO_TABLE(same) },
                  .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };
    uint32_t len = net_fill_fte(in, &r);

    ck_assert(!fake_driver_cmd(n.d, in, len, out, sizeof(out)));
    ck_assert_uint_eq(n.d->syndrome, MLX5_SYND_FTE_DEST_LEVEL);
}
END_TEST

/* --- states ----------------------------------------------------------- */

static const Mlx5WqState states[] = {
    MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_ERR,
};

static bool go(bool sq, uint32_t from, uint32_t to)
{
    if (sq) {
        FAKE_BUFFERS(modify_sq);

        MLX5_SET(modify_sq_in, in, sqn, n.sq.number);
        MLX5_SET(modify_sq_in, in, sq_state, from);
        MLX5_SET(sqc, MLX5_ADDR_OF(modify_sq_in, in, ctx), state, to);
        return FAKE_CMD(n.d, MODIFY_SQ, modify_sq, in, out);
    } else {
        FAKE_BUFFERS(modify_rq);

        MLX5_SET(modify_rq_in, in, rqn, rqn);
        MLX5_SET(modify_rq_in, in, rq_state, from);
        MLX5_SET(rqc, MLX5_ADDR_OF(modify_rq_in, in, ctx), state, to);
        return FAKE_CMD(n.d, MODIFY_RQ, modify_rq, in, out);
    }
}

/* Every from and to, of both kinds; QUERY shows the state. */
START_TEST(transitions)
{
    bool sq = _i;

    for (size_t f = 0; f < 3; f++) {
        for (size_t t = 0; t < 3; t++) {
            bool ok = !(states[f] == MLX5_WQ_STATE_ERR &&
                        states[t] == MLX5_WQ_STATE_RDY);
            uint32_t now;

            ck_assert(go(sq, MLX5_WQ_STATE_RDY, MLX5_WQ_STATE_RST));
            ck_assert(go(sq, MLX5_WQ_STATE_RST, states[f]));
            ck_assert_int_eq(go(sq, states[f], states[t]), ok);
            now = ok ? states[t] : states[f];
            if (sq) {
                FAKE_BUFFERS(query_sq);

                mk_query_sq(in);
                FAKE_CMD_OK(n.d, QUERY_SQ, query_sq, in, out);
                ck_assert_uint_eq(MLX5_GET(sqc, MLX5_ADDR_OF(query_sq_out, out,
                                                             sq_context),
                                           state), now);
            } else {
                FAKE_BUFFERS(query_rq);

                mk_query_rq(in);
                FAKE_CMD_OK(n.d, QUERY_RQ, query_rq, in, out);
                ck_assert_uint_eq(MLX5_GET(rqc, MLX5_ADDR_OF(query_rq_out, out,
                                                             rq_context),
                                           state), now);
            }
            ck_assert(go(sq, now, MLX5_WQ_STATE_RST));
            ck_assert(go(sq, MLX5_WQ_STATE_RST, MLX5_WQ_STATE_RDY));
        }
    }
}
END_TEST

/* --- queries and modifications ---------------------------------------- */

START_TEST(modify_tis)
{
    uint8_t cmd[MAX_IN] = { 0 }, out[512];
    uint8_t *mask = MLX5_ADDR_OF(modify_tis_in, cmd, bitmask);
    uint32_t len = mk_modify_tis(cmd);

    MLX5_SET(tisc, MLX5_ADDR_OF(modify_tis_in, cmd, ctx), prio, 6);
    for (int i = 0; i < 2; i++) {
        uint8_t query[MAX_IN] = { 0 };
        uint32_t query_len = mk_query_tis(query);

        ck_assert(fake_driver_cmd(n.d, cmd, len, out, 16));
        ck_assert(fake_driver_cmd(n.d, query, query_len, out,
                                  MLX5_ST_SZ_BYTES(query_tis_out)));
        ck_assert_uint_eq(MLX5_GET(tisc, MLX5_ADDR_OF(query_tis_out, out,
                                                      tis_context), prio),
                          i ? 6 : 0);
        MLX5_SET(modify_tis_bitmask, mask, prio, 1);
    }
}
END_TEST

START_TEST(query_rqt)
{
    FAKE_BUFFERS(query_rqt);
    uint8_t big[MLX5_ST_SZ_BYTES(query_rqt_out) + 4];
    uint8_t *rqtc = MLX5_ADDR_OF(query_rqt_out, big, rqt_context);

    (void)out;
    mk_query_rqt(in);
    /* Room for one of the two. */
    ck_assert(fake_driver_cmd(n.d, in, sizeof(in), big, sizeof(big)));
    ck_assert_uint_eq(MLX5_GET(rqtc, rqtc, rqt_max_size), 2);
    ck_assert_uint_eq(MLX5_GET(rqtc, rqtc, rqt_actual_size), 2);
    ck_assert_uint_eq(MLX5_GET_IDX(rqtc, rqtc, rq_num, 0), rqn);
}
END_TEST

/* Only what the mask names changes. */
START_TEST(modify_tir)
{
    uint8_t cmd[MAX_IN] = { 0 }, out[512];
    uint8_t *mask = MLX5_ADDR_OF(modify_tir_in, cmd, bitmask);
    uint8_t *tirc = MLX5_ADDR_OF(modify_tir_in, cmd, ctx);
    uint8_t *shown = MLX5_ADDR_OF(query_tir_out, out, tir_context);
    uint32_t len = mk_modify_tir(cmd);

    MLX5_SET(tirc, tirc, rx_hash_fn, MLX5_RX_HASH_FN_TOEPLITZ);
    MLX5_SET(tirc, tirc, rx_hash_symmetric, 1);
    MLX5_SET(tirc, tirc, rx_hash_field_selector_outer, 0xf);
    MLX5_SET(tirc, tirc, self_lb_block, 3);
    memset(MLX5_ADDR_OF(tirc, tirc, rx_hash_toeplitz_key), 0x5a, 40);
    for (int i = 0; i < 3; i++) {
        uint8_t query[MAX_IN] = { 0 };
        uint32_t query_len = mk_query_tir(query);

        ck_assert(fake_driver_cmd(n.d, cmd, len, out, 16));
        ck_assert(fake_driver_cmd(n.d, query, query_len, out,
                                  MLX5_ST_SZ_BYTES(query_tir_out)));
        ck_assert_uint_eq(MLX5_GET(tirc, shown, rx_hash_fn), i > 0 ? 2 : 0);
        ck_assert_uint_eq(MLX5_GET(tirc, shown, rx_hash_field_selector_outer),
                          i > 0 ? 0xf : 0);
        ck_assert_uint_eq(MLX5_ADDR_OF(tirc, shown, rx_hash_toeplitz_key)[39],
                          i > 0 ? 0x5a : 0);
        ck_assert_uint_eq(MLX5_GET(tirc, shown, self_lb_block), i > 1 ? 3 : 0);
        ck_assert_uint_eq(MLX5_GET(tirc, shown, inline_rqn), rqn);
        MLX5_SET(modify_tir_bitmask, mask, hash, 1);
        MLX5_SET(modify_tir_bitmask, mask, self_lb_en, i == 1);
    }
}
END_TEST

/* Tables, groups and entries by the thousand; then a reset frees all. */
START_TEST(reset_frees)
{
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t t = net_create_table(&n, i % 60, NET_NO_MISS);
        NetRule r = { .table = t, .num_dests = 1,
                      .dests = { NET_TO_TIR(tir) },
                      .action = MLX5_FLOW_CONTEXT_ACTION_FWD_DEST };

        r.group = net_create_group(&n, t, 0, 15, NULL);
        for (r.index = 0; r.index < 16; r.index++) {
            net_set_rule(&n, &r);
        }
    }
    net_set_root(&n, table);
    mlx5_func_reset(n.func);
    ck_assert_ptr_null(n.func->flow_root[MLX5_FLOW_TABLE_TYPE_NIC_RX]);
    for (int type = 0; type < MLX5_OBJ_TYPE_COUNT; type++) {
        ck_assert_uint_eq(mlx5_obj_count(n.func, type), 0);
    }
}
END_TEST

/* Numbers of SQs never meet those of QPs. */
static void share(void *obj, void *opaque)
{
    (void)opaque;
    ((Mlx5Obj *)obj)->uid = MLX5_SHARED_UID;
}

static uint16_t make_uctx(uint32_t cap)
{
    FAKE_BUFFERS(create_uctx);

    MLX5_SET(uctx, MLX5_ADDR_OF(create_uctx_in, in, uctx), cap, cap);
    FAKE_CMD_OK(n.d, CREATE_UCTX, create_uctx, in, out);
    return MLX5_GET(create_uctx_out, out, uid);
}

static void user_refused(const uint8_t *in, uint32_t len, uint32_t syndrome)
{
    uint8_t out[512];

    ck_assert(!fake_driver_cmd(n.d, in, len, out, sizeof(out)));
    ck_assert_uint_eq(n.d->syndrome, syndrome);
}

/* Raw frames need a privilege; the reserved lkey no user may have. */
START_TEST(user_queues)
{
    static const Mlx5ObjType shared[] = {
        MLX5_OBJ_CQ, MLX5_OBJ_PD, MLX5_OBJ_UAR, MLX5_OBJ_TIS,
    };
    uint8_t in[MAX_IN] = { 0 }, out[512];
    uint8_t *sqc = MLX5_ADDR_OF(create_sq_in, in, ctx);
    uint8_t *rqc = MLX5_ADDR_OF(create_rq_in, in, ctx);
    uint16_t plain = make_uctx(0), raw = make_uctx(MLX5_UCTX_CAP_RAW_TX);
    uint32_t len = mk_sq(in);

    for (unsigned i = 0; i < G_N_ELEMENTS(shared); i++) {
        mlx5_obj_foreach(n.func, shared[i], share, NULL);
    }
    MLX5_SET(create_sq_in, in, uid, plain);
    user_refused(in, len, MLX5_SYND_SQ_RAW_TX);
    MLX5_SET(create_sq_in, in, uid, raw);
    ck_assert(fake_driver_cmd(n.d, in, len, out, sizeof(out)));
    MLX5_SET(sqc, sqc, rlky, 1);
    user_refused(in, len, MLX5_SYND_SQ_USER_RLKEY);

    memset(in, 0, sizeof(in));
    len = mk_rq(in);
    MLX5_SET(create_rq_in, in, uid, plain);
    MLX5_SET(rqc, rqc, rlky, 1);
    user_refused(in, len, MLX5_SYND_RQ_USER_RLKEY);
    MLX5_SET(rqc, rqc, rlky, 0);
    ck_assert(fake_driver_cmd(n.d, in, len, out, sizeof(out)));
}
END_TEST

START_TEST(sq_numbers)
{
    ck_assert_uint_ge(n.sq.number, MLX5_SQ_FIRST_ID);
    ck_assert_uint_le(n.sq.number, 0xffffff);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("eth objects");
    TCase *t = tcase_create("objects");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, spoiled, 0, G_N_ELEMENTS(spoils));
    tcase_add_test(t, references);
    tcase_add_test(t, foundations);
    tcase_add_test(t, destroy_unknown);
    tcase_add_test(t, levels);
    tcase_add_loop_test(t, transitions, 0, 2);
    tcase_add_test(t, modify_tis);
    tcase_add_test(t, query_rqt);
    tcase_add_test(t, modify_tir);
    tcase_add_test(t, reset_frees);
    tcase_add_test(t, sq_numbers);
    tcase_add_test(t, user_queues);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
