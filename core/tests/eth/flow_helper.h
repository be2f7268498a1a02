/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow tables of every type with whole match parameters, contexts for their
 * actions, and frames in tunnels.
 */
#ifndef TESTS_FLOW_HELPER_H
#define TESTS_FLOW_HELPER_H

#include "tests/eth/eth_helper.h"

#define FLOW_MATCH_BYTES (MLX5_MATCH_PARTS * MLX5_MATCH_BYTES)

/** A rule of a table of its own. */
typedef struct Flow {
    uint32_t type;               /* of the table */
    uint32_t level;
    uint8_t mask[FLOW_MATCH_BYTES], value[FLOW_MATCH_BYTES];
    uint32_t enable;             /* match_criteria_enable */
    uint32_t action, tag;
    uint64_t dests[4];
    uint32_t num_dests;
    uint32_t counters[4];
    uint32_t num_counters;
    uint32_t modify, reformat;
    uint32_t vlan[2];            /* type << 16 | tci */
    uint32_t table, group;       /* filled in */
} Flow;

static inline uint32_t flow_make_table(Net *n, uint32_t type, uint32_t level)
{
    FAKE_BUFFERS(create_flow_table);
    uint8_t *ctx = MLX5_ADDR_OF(create_flow_table_in, in, flow_table_context);

    MLX5_SET(create_flow_table_in, in, table_type, type);
    MLX5_SET(flow_table_context, ctx, level, level);
    MLX5_SET(flow_table_context, ctx, log_size, 4);
    MLX5_SET(flow_table_context, ctx, reformat_en, 1);
    MLX5_SET(flow_table_context, ctx, decap_en,
             type == MLX5_FLOW_TABLE_TYPE_NIC_RX);
    FAKE_CMD_OK(n->d, CREATE_FLOW_TABLE, create_flow_table, in, out);
    return MLX5_GET(create_flow_table_out, out, table_id);
}

static inline void flow_make_group(Net *n, Flow *f)
{
    FAKE_BUFFERS(create_flow_group);

    MLX5_SET(create_flow_group_in, in, table_type, f->type);
    MLX5_SET(create_flow_group_in, in, table_id, f->table);
    MLX5_SET(create_flow_group_in, in, end_flow_index, 7);
    MLX5_SET(create_flow_group_in, in, match_criteria_enable, f->enable);
    memcpy(MLX5_ADDR_OF(create_flow_group_in, in, match_criteria), f->mask,
           sizeof(f->mask));
    FAKE_CMD_OK(n->d, CREATE_FLOW_GROUP, create_flow_group, in, out);
    f->group = MLX5_GET(create_flow_group_out, out, group_id);
}

#define FLOW_FTE_IN (MLX5_ST_SZ_BYTES(set_fte_in) + 8 * 8)

static inline uint32_t flow_fill(uint8_t in[FLOW_FTE_IN], const Flow *f,
                                 uint32_t index)
{
    uint8_t *ctx = MLX5_ADDR_OF(set_fte_in, in, flow_context);
    uint8_t *p = MLX5_ADDR_OF(flow_context, ctx, destination);

    memset(in, 0, FLOW_FTE_IN);
    MLX5_SET(set_fte_in, in, opcode, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
    MLX5_SET(set_fte_in, in, table_type, f->type);
    MLX5_SET(set_fte_in, in, table_id, f->table);
    MLX5_SET(set_fte_in, in, flow_index, index);
    MLX5_SET(flow_context, ctx, group_id, f->group);
    MLX5_SET(flow_context, ctx, flow_tag, f->tag);
    MLX5_SET(flow_context, ctx, action, f->action);
    MLX5_SET(flow_context, ctx, modify_header_id, f->modify);
    MLX5_SET(flow_context, ctx, packet_reformat_id, f->reformat);
    mlx5_prm_set(ctx, MLX5_BIT_OFF(flow_context, push_vlan), 32, f->vlan[0]);
    mlx5_prm_set(ctx, MLX5_BIT_OFF(flow_context, push_vlan_2), 32, f->vlan[1]);
    MLX5_SET(flow_context, ctx, destination_list_size, f->num_dests);
    MLX5_SET(flow_context, ctx, flow_counter_list_size, f->num_counters);
    memcpy(MLX5_ADDR_OF(flow_context, ctx, match_value), f->value,
           sizeof(f->value));
    for (uint32_t i = 0; i < f->num_dests; i++, p += 8) {
        mlx5_prm_set(p, 0, 32, f->dests[i]);
    }
    for (uint32_t i = 0; i < f->num_counters; i++, p += 8) {
        mlx5_prm_set(p, 0, 32, f->counters[i]);
    }
    return p - in;
}

static inline void flow_set_root(Net *n, const Flow *f)
{
    FAKE_BUFFERS(set_flow_table_root);

    MLX5_SET(set_flow_table_root_in, in, table_type, f->type);
    MLX5_SET(set_flow_table_root_in, in, table_id, f->table);
    FAKE_CMD_OK(n->d, SET_FLOW_TABLE_ROOT, set_flow_table_root, in, out);
}

/* Table, group and entry of @f; the table is made the root. */
static inline void flow_install(Net *n, Flow *f)
{
    uint8_t in[FLOW_FTE_IN], out[16];

    f->table = flow_make_table(n, f->type, f->level ? f->level : 1);
    flow_make_group(n, f);
    ck_assert_msg(fake_driver_cmd(n->d, in, flow_fill(in, f, 3), out,
                                  sizeof(out)), "SET_FTE: 0x%x (%s)",
                  n->d->syndrome, mlx5_syndrome_text(n->d->syndrome));
    flow_set_root(n, f);
}

static inline uint32_t flow_make_counter(Net *n, uint32_t bulk)
{
    FAKE_BUFFERS(alloc_flow_counter);

    MLX5_SET(alloc_flow_counter_in, in, flow_counter_bulk, bulk);
    FAKE_CMD_OK(n->d, ALLOC_FLOW_COUNTER, alloc_flow_counter, in, out);
    return MLX5_GET(alloc_flow_counter_out, out, flow_counter_id);
}

/* Packets and octets of counter @id. */
static inline void flow_query(Net *n, uint32_t id, bool clear,
                              uint64_t count[2])
{
    uint8_t in[MLX5_ST_SZ_BYTES(query_flow_counter_in)] = { 0 };
    uint8_t out[MLX5_ST_SZ_BYTES(query_flow_counter_out) + 16];

    MLX5_SET(query_flow_counter_in, in, flow_counter_id, id);
    MLX5_SET(query_flow_counter_in, in, clear, clear);
    FAKE_CMD_OK(n->d, QUERY_FLOW_COUNTER, query_flow_counter, in, out);
    count[0] = mlx5_prm_get(out, 0x80, 64);
    count[1] = mlx5_prm_get(out, 0xc0, 64);
}

/* One action of 8 bytes. */
static inline uint32_t flow_make_modify(Net *n, uint32_t type,
                                        const uint64_t *actions, uint32_t num)
{
    uint8_t in[MLX5_ST_SZ_BYTES(alloc_modify_header_context_in) + 16 * 8] = {
        0
    };
    uint8_t out[16];

    MLX5_SET(alloc_modify_header_context_in, in, opcode,
             MLX5_CMD_OP_ALLOC_MODIFY_HEADER_CONTEXT);
    MLX5_SET(alloc_modify_header_context_in, in, table_type, type);
    MLX5_SET(alloc_modify_header_context_in, in, num_of_actions, num);
    for (uint32_t i = 0; i < num; i++) {
        mlx5_prm_set(in, 0x80 + i * 64, 64, actions[i]);
    }
    ck_assert_msg(fake_driver_cmd(n->d, in, 16 + num * 8, out, sizeof(out)),
                  "0x%x", n->d->syndrome);
    return MLX5_GET(alloc_modify_header_context_out, out, modify_header_id);
}

#define FLOW_SET(field, off, len, data) \
    (UINT64_C(1) << 60 | (uint64_t)(field) << 48 | (uint64_t)(off) << 40 | \
     (uint64_t)((len) & 31) << 32 | (uint32_t)(data))
#define FLOW_ADD(field, data) \
    (UINT64_C(2) << 60 | (uint64_t)(field) << 48 | (uint32_t)(data))
#define FLOW_COPY(src, soff, len, dst, doff) \
    (UINT64_C(3) << 60 | (uint64_t)(src) << 48 | (uint64_t)(soff) << 40 | \
     (uint64_t)((len) & 31) << 32 | (uint64_t)(dst) << 16 | \
     (uint64_t)(doff) << 8)

static inline bool flow_try_reformat(Net *n, uint32_t type, const void *data,
                                     uint32_t len, uint32_t *id)
{
    uint8_t in[34 + 1024] = { 0 }, out[16];
    uint8_t *ctx = MLX5_ADDR_OF(alloc_packet_reformat_context_in, in,
                                packet_reformat_context);

    MLX5_SET(alloc_packet_reformat_context_in, in, opcode,
             MLX5_CMD_OP_ALLOC_PACKET_REFORMAT_CONTEXT);
    MLX5_SET(packet_reformat_context_in, ctx, reformat_type, type);
    MLX5_SET(packet_reformat_context_in, ctx, reformat_data_size, len);
    memcpy(in + 34, data, len);
    if (!fake_driver_cmd(n->d, in, MAX(34 + len, 36), out, sizeof(out))) {
        return false;
    }
    *id = MLX5_GET(alloc_packet_reformat_context_out, out, packet_reformat_id);
    return true;
}

/* --- frames in tunnels ------------------------------------------------ */

enum { TUN_NONE, TUN_GRE, TUN_NVGRE, TUN_VXLAN, TUN_GPE, TUN_GENEVE, TUN_IPIP };

#define TUN_OUTER 34             /* Ethernet and IPv4 */
#define TUN_VNI 0xabc123u

/* Headers before the inner frame or packet, from Ethernet on. */
static inline size_t tun_headers(int kind, size_t inner, uint8_t *b)
{
    static const uint16_t ports[] = { [TUN_VXLAN] = 4789, [TUN_GPE] = 4790,
                                      [TUN_GENEVE] = 6081 };
    NetFrame o = net_make_frame(4, 17, -1, 0);
    bool udp = kind >= TUN_VXLAN && kind <= TUN_GENEVE;
    uint8_t *h = b + TUN_OUTER + (udp ? 8 : 0);
    size_t size = 0;

    memcpy(b, o.b, o.len);
    memset(h, 0, 16);
    switch (kind) {
    case TUN_GRE:
    case TUN_NVGRE:
        mlx5_put_be16(h, 0x2000);
        mlx5_put_be16(h + 2, kind == TUN_GRE ? 0x0800 : 0x6558);
        mlx5_put_be32(h + 4, 0xdeadbeef);
        size = 8;
        break;
    case TUN_GENEVE:
        h[0] = 1;
        h[1] = 0x80;
        mlx5_put_be16(h + 2, 0x6558);
        mlx5_put_be32(h + 4, TUN_VNI << 8);
        size = 12;
        break;
    case TUN_VXLAN:
    case TUN_GPE:
        h[0] = kind == TUN_GPE ? 0x0c : 0x08;
        h[3] = kind == TUN_GPE ? 3 : 0;
        mlx5_put_be32(h + 4, TUN_VNI << 8);
        size = 8;
        break;
    default:
        break;
    }
    if (udp) {
        mlx5_put_be16(b + TUN_OUTER + 2, ports[kind]);
        mlx5_put_be16(b + TUN_OUTER + 4, 8 + size + inner);
        mlx5_put_be16(b + TUN_OUTER + 6, 0);
        size += 8;
    }
    b[14 + 9] = udp ? 17 : kind == TUN_IPIP ? 4 : 47;
    mlx5_put_be16(b + 14 + 2, 20 + size + inner);
    mlx5_put_be16(b + 14 + 10, 0);
    mlx5_put_be16(b + 14 + 10, ~mlx5_csum(b + 14, 20));
    return TUN_OUTER + size;
}

/* @inner in a tunnel: whole, or for GRE and IPIP its IP packet. */
static inline NetFrame tun_frame(int kind, const NetFrame *inner)
{
    bool l3 = kind == TUN_GRE || kind == TUN_IPIP;
    size_t cut = l3 ? net_l3(inner->b) : 0;
    NetFrame f = { .len = 0 };

    if (kind == TUN_NONE) {
        return *inner;
    }
    f.len = tun_headers(kind, inner->len - cut, f.b);
    memcpy(f.b + f.len, inner->b + cut, inner->len - cut);
    f.len += inner->len - cut;
    return f;
}

#endif
