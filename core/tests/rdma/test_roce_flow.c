/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow tables that RoCE packets walk: what entries drop is lost to the
 * transport, what they count is what a wire would show, opcode by opcode.
 */
#include "eth/frame.h"
#include "net/roce.h"
#include "obj/flow_table.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)
#define MTU 1024u            /* mtu 3 */
/* Ethernet, IPv6, UDP, BTH, ICRC. */
#define HEADERS (14 + 40 + 8 + 12 + 4)
#define ACT(name) MLX5_FLOW_CONTEXT_ACTION_##name
#define RX MLX5_FLOW_TABLE_TYPE_RDMA_RX
#define TX MLX5_FLOW_TABLE_TYPE_RDMA_TX

typedef struct Rule {
    uint32_t type, action;
    bool by_opcode;          /* matches the BTH's opcode ... */
    uint8_t opcode;
    uint32_t dqpn;           /* ... and, if not 0, its queue pair */
    uint32_t table, counter; /* filled in */
} Rule;

static uint32_t make_table(RTest *t, uint32_t type, uint32_t level)
{
    TestCmd c = { 0 };
    uint8_t *ctx = MLX5_ADDR_OF(create_flow_table_in, c.in,
                                flow_table_context);

    MLX5_SET(create_flow_table_in, c.in, table_type, type);
    MLX5_SET(flow_table_context, ctx, level, level);
    MLX5_SET(flow_table_context, ctx, log_size, 2);
    t_ok(t->h, &c, mlx5_cmd_create_flow_table,
         MLX5_ST_SZ_BYTES(create_flow_table_in));
    return MLX5_GET(create_flow_table_out, c.out, table_id);
}

static void fill_match(uint8_t *param, const Rule *r, bool mask)
{
    uint8_t *misc = param + MLX5_MATCH_MISC * MLX5_MATCH_BYTES;

    if (r->by_opcode) {
        MLX5_SET(fte_match_set_misc, misc, bth_opcode,
                 mask ? 0xff : r->opcode);
    }
    if (r->dqpn) {
        MLX5_SET(fte_match_set_misc, misc, bth_dst_qp,
                 mask ? 0xffffff : r->dqpn);
    }
}

static uint32_t make_group(RTest *t, const Rule *r)
{
    TestCmd c = { 0 };

    MLX5_SET(create_flow_group_in, c.in, table_type, r->type);
    MLX5_SET(create_flow_group_in, c.in, table_id, r->table);
    MLX5_SET(create_flow_group_in, c.in, match_criteria_enable,
             r->by_opcode || r->dqpn ? 1 << MLX5_MATCH_MISC : 0);
    fill_match(MLX5_ADDR_OF(create_flow_group_in, c.in, match_criteria), r,
               true);
    t_ok(t->h, &c, mlx5_cmd_create_flow_group,
         MLX5_ST_SZ_BYTES(create_flow_group_in));
    return MLX5_GET(create_flow_group_out, c.out, group_id);
}

/* Return: bytes of the command. @dest: a destination's word, or 0. */
static uint32_t fill_entry(TestCmd *c, const Rule *r, uint32_t group,
                           uint64_t dest)
{
    uint8_t *ctx = MLX5_ADDR_OF(set_fte_in, c->in, flow_context);
    uint8_t *p = MLX5_ADDR_OF(flow_context, ctx, destination);

    MLX5_SET(set_fte_in, c->in, table_type, r->type);
    MLX5_SET(set_fte_in, c->in, table_id, r->table);
    MLX5_SET(flow_context, ctx, group_id, group);
    MLX5_SET(flow_context, ctx, action, r->action);
    fill_match(MLX5_ADDR_OF(flow_context, ctx, match_value), r, false);
    if (dest) {
        MLX5_SET(flow_context, ctx, destination_list_size, 1);
        mlx5_put_be32(p, dest);
        p += 8;
    }
    if (r->action & ACT(COUNT)) {
        MLX5_SET(flow_context, ctx, flow_counter_list_size, 1);
        mlx5_put_be32(p, r->counter);
        p += 8;
    }
    return p - c->in;
}

static void set_root(RTest *t, const Rule *r)
{
    TestCmd c = { 0 };

    MLX5_SET(set_flow_table_root_in, c.in, table_type, r->type);
    MLX5_SET(set_flow_table_root_in, c.in, table_id, r->table);
    t_ok(t->h, &c, mlx5_cmd_set_flow_table_root,
         MLX5_ST_SZ_BYTES(set_flow_table_root_in));
}

/* A table with the one entry. */
static void install(RTest *t, Rule *r, uint32_t level)
{
    TestCmd c = { 0 };
    uint32_t group;

    r->table = make_table(t, r->type, level);
    group = make_group(t, r);
    if (r->action & ACT(COUNT)) {
        TestCmd a = { 0 };

        t_ok(t->h, &a, mlx5_cmd_alloc_flow_counter,
             MLX5_ST_SZ_BYTES(alloc_flow_counter_in));
        r->counter = MLX5_GET(alloc_flow_counter_out, a.out, flow_counter_id);
    }
    t_ok(t->h, &c, mlx5_cmd_set_fte, fill_entry(&c, r, group, 0));
}

static RTest *ruled(Mlx5QpSt st, Rule *r)
{
    RTest *t = r_new(st);

    if (r->dqpn) {
        r->dqpn = t->b.qpn;
    }
    install(t, r, 1);
    set_root(t, r);
    r_connect(t, 0xfffffe);
    r_fill(t->h, SRC, 300000, 3);
    return t;
}

static void counted(RTest *t, const Rule *r, uint64_t packets, uint64_t octets)
{
    TestCmd c = { 0 };
    const uint8_t *count;

    MLX5_SET(query_flow_counter_in, c.in, flow_counter_id, r->counter);
    t_ok(t->h, &c, mlx5_cmd_query_flow_counter,
         MLX5_ST_SZ_BYTES(query_flow_counter_in));
    count = c.out + MLX5_ST_SZ_BYTES(query_flow_counter_out);
    ck_assert_uint_eq(MLX5_GET(traffic_counter, count, packets), packets);
    ck_assert_uint_eq(MLX5_GET(traffic_counter, count, octets), octets);
}

/* Nothing arrives, the sender tries again and gives up. */
START_TEST(dropped)
{
    Rule r = { .type = _i ? RX : TX, .action = ACT(DROP), .dqpn = 1 };
    RTest *t = ruled(MLX5_QP_ST_RC, &r);

    r_recv(&t->b, DST, 5000);
    r_send(t, 5000);
    r_quiet(&t->a);
    for (int i = 0; i < 20; i++) {
        fake_host_advance(t->h, 8 * R_ACK_PERIOD_NS);
    }
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
             MLX5_VENDOR_RETRY_EXCEEDED);
    r_quiet(&t->b);
    r_free(t);
}
END_TEST

/* Who is not meant is not hit: the acknowledgement goes to the other one. */
START_TEST(other_queue_pair)
{
    Rule r = { .type = RX, .action = ACT(DROP), .dqpn = 1 };
    RTest *t = r_new(MLX5_QP_ST_RC);

    r.dqpn = t->b.qpn + 100;
    install(t, &r, 1);
    set_root(t, &r);
    r_connect(t, 7);
    r_recv(&t->b, DST, 64);
    r_send(t, 64);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    r_free(t);
}
END_TEST

/* As soon as the entry's table is the root no more, the next try arrives. */
START_TEST(released)
{
    Rule r = { .type = TX, .action = ACT(DROP) };
    RTest *t = ruled(MLX5_QP_ST_RC, &r);
    TestCmd c = { 0 };

    r_recv(&t->b, DST, 5000);
    r_send(t, 5000);
    r_quiet(&t->a);
    c.c.op_mod = 1;
    MLX5_SET(set_flow_table_root_in, c.in, table_type, TX);
    t_ok(t->h, &c, mlx5_cmd_set_flow_table_root,
         MLX5_ST_SZ_BYTES(set_flow_table_root_in));
    fake_host_advance(t->h, 8 * R_ACK_PERIOD_NS);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 5000);
    ck_assert(r_same(t->h, SRC, DST, 5000));
    r_free(t);
}
END_TEST

/* A message of 5000 bytes: five packets, of four opcodes with the answer. */
static const struct {
    uint8_t opcode;
    uint32_t packets, octets;
} on_wire[] = {
    { 0x00, 1, HEADERS + MTU },              /* SEND FIRST */
    { 0x01, 3, 3 * (HEADERS + MTU) },        /* SEND MIDDLE */
    { 0x02, 1, HEADERS + 5000 - 4 * MTU },   /* SEND LAST */
    { 0x11, 1, HEADERS + 4 },                /* ACKNOWLEDGE */
    { 0x04, 0, 0 },                          /* SEND ONLY */
    { 0x61, 0, 0 },                          /* of another service */
};

START_TEST(counted_by_opcode)
{
    Rule r = { .type = RX, .action = ACT(ALLOW) | ACT(COUNT),
               .by_opcode = true, .opcode = on_wire[_i].opcode };
    RTest *t = ruled(MLX5_QP_ST_RC, &r);

    r_recv(&t->b, DST, 5000);
    r_send(t, 5000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 5000);
    counted(t, &r, on_wire[_i].packets, on_wire[_i].octets);
    r_free(t);
}
END_TEST

/* Of a message that stands for several packets, one is enough to lose it. */
START_TEST(one_of_many)
{
    Rule r = { .type = TX, .action = ACT(DROP), .by_opcode = true,
               .opcode = 0x22 };             /* UC SEND LAST */
    RTest *t = ruled(MLX5_QP_ST_UC, &r);

    r_recv(&t->b, DST, 5000);
    r_send(t, 5000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_quiet(&t->b);
    r_send(t, 64);
    r_sent(&t->a, 1, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    r_free(t);
}
END_TEST

/* A root that forwards to a table that drops; a miss there lets through. */
START_TEST(forwarded)
{
    Rule end = { .type = TX, .action = ACT(DROP), .by_opcode = true,
                 .opcode = 0x04 };           /* RC SEND ONLY */
    Rule root = { .type = TX, .action = ACT(FWD_DEST) };
    RTest *t = r_new(MLX5_QP_ST_RC);
    TestCmd c = { 0 };
    uint32_t group;

    install(t, &end, 2);
    root.table = make_table(t, TX, 1);
    group = make_group(t, &root);
    t_ok(t->h, &c, mlx5_cmd_set_fte,
         fill_entry(&c, &root, group, 1u << 24 | end.table));
    set_root(t, &root);
    r_connect(t, 1);
    r_recv(&t->b, DST, 5000);
    r_send(t, 5000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 5000);
    r_recv(&t->b, DST, 5000);
    r_send(t, 64);
    r_quiet(&t->a);
    r_quiet(&t->b);
    r_free(t);
}
END_TEST

/* A table whose misses are not for RDMA: only what an entry allows arrives. */
START_TEST(other_domain)
{
    Rule r = { .type = RX, .action = ACT(ALLOW), .by_opcode = true,
               .opcode = 0x24 };             /* UC SEND ONLY */
    RTest *t = ruled(MLX5_QP_ST_UC, &r);
    TestCmd c = { 0 }, q = { 0 };
    uint8_t *ctx = MLX5_ADDR_OF(modify_flow_table_in, c.in,
                                flow_table_context);

    MLX5_SET(modify_flow_table_in, c.in, table_type, RX);
    MLX5_SET(modify_flow_table_in, c.in, table_id, r.table);
    MLX5_SET(modify_flow_table_in, c.in, modify_field_select, 1);
    MLX5_SET(flow_table_context, ctx, table_miss_action, 2);
    t_ok(t->h, &c, mlx5_cmd_modify_flow_table,
         MLX5_ST_SZ_BYTES(modify_flow_table_in));
    MLX5_SET(query_flow_table_in, q.in, table_type, RX);
    MLX5_SET(query_flow_table_in, q.in, table_id, r.table);
    t_ok(t->h, &q, mlx5_cmd_query_flow_table,
         MLX5_ST_SZ_BYTES(query_flow_table_in));
    ctx = MLX5_ADDR_OF(query_flow_table_out, q.out, flow_table_context);
    ck_assert_uint_eq(MLX5_GET(flow_table_context, ctx, table_miss_action), 2);
    r_recv(&t->b, DST, 5000);
    r_send(t, 5000);
    r_sent(&t->a, 0, MLX5_OPCODE_SEND);
    r_quiet(&t->b);
    r_send(t, 64);
    r_sent(&t->a, 1, MLX5_OPCODE_SEND);
    r_received(&t->b, 0, MLX5_CQE_RESP_SEND, 64);
    /* Sent packets have no other domain. */
    MLX5_SET(create_flow_table_in, c.in, table_type, TX);
    ctx = MLX5_ADDR_OF(create_flow_table_in, c.in, flow_table_context);
    MLX5_SET(flow_table_context, ctx, table_miss_action, 2);
    t_refused(t->h, &c, mlx5_cmd_create_flow_table,
              MLX5_ST_SZ_BYTES(create_flow_table_in),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_FT_MISS_ACTION);
    r_free(t);
}
END_TEST

/* RoCE packets go to no TIR and are not changed. */
START_TEST(refused_actions)
{
    static const uint32_t bad[] = {
        ACT(DROP) | ACT(MOD_HDR), ACT(ALLOW) | ACT(DECAP),
        ACT(ALLOW) | ACT(PACKET_REFORMAT), ACT(ALLOW) | ACT(VLAN_POP),
    };
    Rule r = { .type = _i % 2 ? RX : TX, .action = ACT(ALLOW) };
    RTest *t = r_new(MLX5_QP_ST_RC);
    TestCmd c = { 0 };
    uint32_t group, len;

    r.table = make_table(t, r.type, 1);
    group = make_group(t, &r);
    r.action = bad[_i];
    len = fill_entry(&c, &r, group, 0);
    t_refused(t->h, &c, mlx5_cmd_set_fte, len, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_FTE_ACTION);
    r_free(t);
}
END_TEST

/* No header to change, no table: neither of the two, nor with the property off. */
START_TEST(refused_types)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    TestCmd c = { 0 }, m = { 0 };

    MLX5_SET(alloc_modify_header_context_in, m.in, table_type, RX);
    MLX5_SET(alloc_modify_header_context_in, m.in, num_of_actions, 1);
    t_refused(t->h, &m, mlx5_cmd_alloc_modify_header_context, 24,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MH_TABLE_TYPE);
    t->h->func->props.rdma_flow = false;
    MLX5_SET(create_flow_table_in, c.in, table_type, _i ? RX : TX);
    t_refused(t->h, &c, mlx5_cmd_create_flow_table,
              MLX5_ST_SZ_BYTES(create_flow_table_in),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_FT_TYPE);
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("roce_flow");
    TCase *tc = tcase_create("roce_flow");

    suite_add_tcase(s, tc);
    tcase_add_loop_test(tc, dropped, 0, 2);
    tcase_add_test(tc, other_queue_pair);
    tcase_add_test(tc, released);
    tcase_add_loop_test(tc, counted_by_opcode, 0, G_N_ELEMENTS(on_wire));
    tcase_add_test(tc, one_of_many);
    tcase_add_test(tc, forwarded);
    tcase_add_test(tc, other_domain);
    tcase_add_loop_test(tc, refused_actions, 0, 4);
    tcase_add_loop_test(tc, refused_types, 0, 2);
    return t_main(s);
}
