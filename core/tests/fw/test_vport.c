/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vport's context, state and counters, and the RoCE address table.
 */
#include "tests/fw/fw_helper.h"

#include "fw/roce.h"
#include "fw/vport.h"

typedef struct Modify {
    uint8_t in[MLX5_ST_SZ_BYTES(modify_nic_vport_context_in) + 64 * 8];
    uint8_t *sel, *ctx;
} Modify;

static void modify_init(Modify *m)
{
    memset(m->in, 0, sizeof(m->in));
    MLX5_SET(modify_nic_vport_context_in, m->in, opcode,
             MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT);
    m->sel = MLX5_ADDR_OF(modify_nic_vport_context_in, m->in, field_select);
    m->ctx = MLX5_ADDR_OF(modify_nic_vport_context_in, m->in,
                          nic_vport_context);
}

static bool modify(FakeDriver *d, const Modify *m)
{
    uint8_t out[16];

    return fake_driver_cmd(d, m->in, sizeof(m->in), out, sizeof(out));
}

#define SELECT(m, f) MLX5_SET(modify_nic_vport_field_select, (m)->sel, f, 1)
#define CTX(m, f, v) MLX5_SET(nic_vport_context, (m)->ctx, f, v)
#define MODIFY_FAILS(d, m, synd)                                     \
    do {                                                             \
        ck_assert(!modify(d, m));                                    \
        ck_assert_uint_eq((d)->status, MLX5_CMD_STAT_BAD_PARAM_ERR); \
        ck_assert_uint_eq((d)->syndrome, synd);                      \
    } while (0)

#define QUERY_BYTES (MLX5_ST_SZ_BYTES(query_nic_vport_context_out) + 64 * 8)

static uint8_t *query(FakeDriver *d, uint32_t list, uint8_t out[QUERY_BYTES])
{
    uint8_t in[16] = { 0 };

    MLX5_SET(query_nic_vport_context_in, in, opcode,
             MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT);
    MLX5_SET(query_nic_vport_context_in, in, allowed_list_type, list);
    ck_assert(fake_driver_cmd(d, in, sizeof(in), out, QUERY_BYTES));
    return MLX5_ADDR_OF(query_nic_vport_context_out, out, nic_vport_context);
}

START_TEST(identity)
{
    FakeDriver *d = t_running();
    uint8_t out[QUERY_BYTES];
    const uint8_t *ctx = query(d, 0, out);

    /* MAC two bytes into the field, as mlx5_query_nic_vport_mac_address. */
    ck_assert_mem_eq(out + 16 + 0xf4 + 2, d->host->func->props.mac, 6);
    ck_assert_uint_ne(MLX5_GET(nic_vport_context, ctx, node_guid), 0);
    ck_assert_uint_ne(MLX5_GET(nic_vport_context, ctx, port_guid), 0);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, node_guid),
                      UINT64_C(0x5254000300123456));
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, mtu), 1500);
    t_free(d);
}
END_TEST

START_TEST(modify_fields)
{
    FakeDriver *d = t_running();
    uint8_t out[QUERY_BYTES];
    const uint8_t *ctx;
    Modify m;

    modify_init(&m);
    SELECT(&m, roce_en);
    CTX(&m, roce_en, 1);
    CTX(&m, mtu, 9000);          /* not selected */
    ck_assert(modify(d, &m));
    ctx = query(d, 0, out);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, roce_en), 1);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, mtu), 1500);
    SELECT(&m, mtu);
    SELECT(&m, promisc);
    CTX(&m, promisc_all, 1);
    SELECT(&m, node_guid);
    CTX(&m, node_guid, 0x1234);
    SELECT(&m, disable_uc_local_lb);
    CTX(&m, disable_uc_local_lb, 1);
    SELECT(&m, change_event);
    CTX(&m, arm_change_event, 1);
    CTX(&m, event_on_mtu, 1);
    SELECT(&m, permanent_address);
    m.ctx[MLX5_BYTE_OFF(nic_vport_context, permanent_address) + 7] = 9;
    SELECT(&m, min_inline);
    CTX(&m, min_wqe_inline_mode, 2);
    ck_assert(modify(d, &m));
    ctx = query(d, 0, out);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, mtu), 9000);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, promisc_all), 1);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, node_guid), 0x1234);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, disable_uc_local_lb), 1);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, arm_change_event), 1);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, event_on_mtu), 1);
    ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, min_wqe_inline_mode), 2);
    ck_assert_uint_eq(mlx5_vport(d->host->func)->mac[5], 9);
    t_free(d);
}
END_TEST

START_TEST(modify_refused)
{
    FakeDriver *d = t_running();
    Modify m;

    modify_init(&m);
    MLX5_SET(modify_nic_vport_context_in, m.in, vport_number, 1);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_MODIFY_OTHER);
    modify_init(&m);
    SELECT(&m, affiliation);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_AFFILIATION);
    modify_init(&m);
    SELECT(&m, mtu);
    CTX(&m, mtu, 10001);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_MTU);
    modify_init(&m);
    SELECT(&m, permanent_address);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_MAC);
    t_free(d);
}
END_TEST

START_TEST(modify_without_capability)
{
    Mlx5FuncProps p;
    FakeDriver *d;
    Modify m;
    FAKE_BUFFERS(set_roce_address);

    mlx5_func_props_default(&p);
    p.roce = p.local_lb = false;
    d = fake_driver_new(fake_host_new(&p));
    fake_driver_init_hca(d);
    modify_init(&m);
    SELECT(&m, roce_en);
    CTX(&m, roce_en, 1);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_ROCE);
    modify_init(&m);
    SELECT(&m, disable_mc_local_lb);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_LOCAL_LB);
    FAKE_CMD_FAILS(d, SET_ROCE_ADDRESS, set_roce_address, in, out,
                   MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_ROCE_OFF);
    t_free(d);
}
END_TEST

START_TEST(lists)
{
    FakeDriver *d = t_running();
    uint8_t out[QUERY_BYTES];
    const uint8_t *ctx;
    Modify m;

    for (uint32_t type = 0; type < 3; type++) {
        modify_init(&m);
        SELECT(&m, addresses_list);
        CTX(&m, allowed_list_type, type);
        CTX(&m, allowed_list_size, 50 + type);
        for (uint32_t i = 0; i < 52; i++) {
            MLX5_SET_IDX(nic_vport_context, m.ctx, current_uc_mac_address, i,
                         type * 1000 + i);
        }
        ck_assert(modify(d, &m));
    }
    for (uint32_t type = 0; type < 3; type++) {
        ctx = query(d, type, out);
        ck_assert_uint_eq(MLX5_GET(nic_vport_context, ctx, allowed_list_size),
                          50 + type);
        ck_assert_uint_eq(MLX5_GET_IDX(nic_vport_context, ctx,
                                       current_uc_mac_address, 49),
                          type * 1000 + 49);
    }
    CTX(&m, allowed_list_type, 3);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_LIST_TYPE);
    CTX(&m, allowed_list_type, 0);
    CTX(&m, allowed_list_size, 65535);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_LIST_SIZE);
    CTX(&m, allowed_list_size, 100);
    MODIFY_FAILS(d, &m, MLX5_SYND_VPORT_LIST_SHORT);
    t_free(d);
}
END_TEST

START_TEST(query_refused)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(query_nic_vport_context);

    MLX5_SET(query_nic_vport_context_in, in, other_vport, 1);
    FAKE_CMD_FAILS(d, QUERY_NIC_VPORT_CONTEXT, query_nic_vport_context, in,
                   out, MLX5_CMD_STAT_BAD_PARAM_ERR,
                   MLX5_SYND_VPORT_QUERY_OTHER);
    MLX5_SET(query_nic_vport_context_in, in, other_vport, 0);
    MLX5_SET(query_nic_vport_context_in, in, allowed_list_type, 5);
    FAKE_CMD_FAILS(d, QUERY_NIC_VPORT_CONTEXT, query_nic_vport_context, in,
                   out, MLX5_CMD_STAT_BAD_PARAM_ERR,
                   MLX5_SYND_VPORT_QUERY_LIST);
    t_free(d);
}
END_TEST

static uint32_t state(FakeDriver *d, uint32_t op_mod)
{
    FAKE_BUFFERS(query_vport_state);

    MLX5_SET(query_vport_state_in, in, op_mod, op_mod);
    FAKE_CMD_OK(d, QUERY_VPORT_STATE, query_vport_state, in, out);
    return MLX5_GET(query_vport_state_out, out, state);
}

START_TEST(vport_state)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(modify_vport_state);
    uint8_t qin[16] = { 0 };

    ck_assert_uint_eq(state(d, 0), 1);
    mlx5_card_set_link(d->host->card, false);
    ck_assert_uint_eq(state(d, 0), 0);
    ck_assert_uint_eq(state(d, 2), 0);
    MLX5_SET(modify_vport_state_in, in, admin_state, 1);
    FAKE_CMD_OK(d, MODIFY_VPORT_STATE, modify_vport_state, in, out);
    ck_assert_uint_eq(state(d, 0), 1);
    ck_assert_uint_eq(state(d, 2), 0);
    MLX5_SET(modify_vport_state_in, in, admin_state, 3);
    FAKE_CMD_FAILS(d, MODIFY_VPORT_STATE, modify_vport_state, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_VPORT_SET_STATE);
    MLX5_SET(modify_vport_state_in, in, other_vport, 1);
    FAKE_CMD_FAILS(d, MODIFY_VPORT_STATE, modify_vport_state, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR,
                   MLX5_SYND_VPORT_SET_STATE_OTHER);
    MLX5_SET(query_vport_state_in, qin, op_mod, 3);
    FAKE_CMD_FAILS(d, QUERY_VPORT_STATE, query_vport_state, qin, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_VPORT_STATE_OP_MOD);
    MLX5_SET(query_vport_state_in, qin, vport_number, 2);
    FAKE_CMD_FAILS(d, QUERY_VPORT_STATE, query_vport_state, qin, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_VPORT_STATE_OTHER);
    t_free(d);
}
END_TEST

START_TEST(counters)
{
    FakeDriver *d = t_running();
    Mlx5VportCounters *c = &mlx5_vport(d->host->func)->counters;
    FAKE_BUFFERS(query_vport_counter);
    const uint8_t *uc = out + MLX5_BYTE_OFF(query_vport_counter_out,
                                            received_ib_unicast);

    c->received_ib_unicast = (Mlx5Traffic){ 5, UINT64_C(1) << 40 };
    MLX5_SET(query_vport_counter_in, in, clear, 1);
    FAKE_CMD_OK(d, QUERY_VPORT_COUNTER, query_vport_counter, in, out);
    ck_assert_uint_eq(MLX5_GET(traffic_counter, uc, packets), 5);
    ck_assert_uint_eq(MLX5_GET(traffic_counter, uc, octets), UINT64_C(1) << 40);
    FAKE_CMD_OK(d, QUERY_VPORT_COUNTER, query_vport_counter, in, out);
    ck_assert_uint_eq(MLX5_GET(traffic_counter, uc, packets), 0);
    MLX5_SET(query_vport_counter_in, in, port_num, 2);
    FAKE_CMD_FAILS(d, QUERY_VPORT_COUNTER, query_vport_counter, in, out,
                   MLX5_CMD_STAT_IX_ERR, MLX5_SYND_VPORT_COUNTER_PORT);
    MLX5_SET(query_vport_counter_in, in, vport_number, 1);
    FAKE_CMD_FAILS(d, QUERY_VPORT_COUNTER, query_vport_counter, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_VPORT_COUNTER_OTHER);
    t_free(d);
}
END_TEST

/* --- RoCE addresses ----------------------------------------------------- */

static void fill_addr(uint8_t *in)
{
    uint8_t *a = MLX5_ADDR_OF(set_roce_address_in, in, roce_address);

    MLX5_SET(set_roce_address_in, in, roce_address_index, 7);
    for (int i = 0; i < 16; i++) {
        a[i] = i + 1;
    }
    MLX5_SET(roce_addr_layout, a, source_mac_47_32, 0x5254);
    MLX5_SET(roce_addr_layout, a, source_mac_31_0, 0x00123456);
    MLX5_SET(roce_addr_layout, a, vlan_valid, 1);
    MLX5_SET(roce_addr_layout, a, vlan_id, 100);
    MLX5_SET(roce_addr_layout, a, roce_version, MLX5_ROCE_VERSION_2);
    MLX5_SET(roce_addr_layout, a, roce_l3_type, MLX5_ROCE_L3_TYPE_IPV6);
}

START_TEST(roce_set_and_delete)
{
    FakeDriver *d = t_running();
    Mlx5Func *f = d->host->func;
    FAKE_BUFFERS(set_roce_address);
    uint8_t qin[16] = { 0 }, qout[MLX5_ST_SZ_BYTES(query_roce_address_out)];
    const Mlx5RoceAddr *a;

    ck_assert_ptr_null(mlx5_roce_addr(f, 7));
    fill_addr(in);
    FAKE_CMD_OK(d, SET_ROCE_ADDRESS, set_roce_address, in, out);
    a = mlx5_roce_addr(f, 7);
    ck_assert_ptr_nonnull(a);
    ck_assert_uint_eq(a->mac[5], 0x56);
    ck_assert_uint_eq(a->vlan_id, 100);
    ck_assert_ptr_eq(mlx5_roce_find(f, a->gid, MLX5_ROCE_VERSION_2), a);
    ck_assert_ptr_null(mlx5_roce_find(f, a->gid, MLX5_ROCE_VERSION_1));
    MLX5_SET(query_roce_address_in, qin, roce_address_index, 7);
    FAKE_CMD_OK(d, QUERY_ROCE_ADDRESS, query_roce_address, qin, qout);
    ck_assert_mem_eq(qout + 16, in + 16, 32);
    /* As the driver deletes: no GID, no MAC, but version and type stay. */
    memset(in + 16, 0, 32);
    MLX5_SET(roce_addr_layout, in + 16, roce_version, MLX5_ROCE_VERSION_2);
    MLX5_SET(roce_addr_layout, in + 16, roce_l3_type, 1);
    FAKE_CMD_OK(d, SET_ROCE_ADDRESS, set_roce_address, in, out);
    ck_assert_ptr_null(mlx5_roce_addr(f, 7));
    ck_assert_ptr_null(mlx5_roce_addr(f, 100000));
    t_free(d);
}
END_TEST

START_TEST(roce_refused)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(set_roce_address);
    uint8_t *a = MLX5_ADDR_OF(set_roce_address_in, in, roce_address);
    uint8_t qin[16] = { 0 }, qout[MLX5_ST_SZ_BYTES(query_roce_address_out)];

    fill_addr(in);
    MLX5_SET(set_roce_address_in, in, roce_address_index, 255);
    FAKE_CMD_FAILS(d, SET_ROCE_ADDRESS, set_roce_address, in, out,
                   MLX5_CMD_STAT_IX_ERR, MLX5_SYND_ROCE_INDEX);
    fill_addr(in);
    memset(a, 0, 16);
    FAKE_CMD_FAILS(d, SET_ROCE_ADDRESS, set_roce_address, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ROCE_GID);
    fill_addr(in);
    MLX5_SET(roce_addr_layout, a, source_mac_47_32, 0x0100);
    FAKE_CMD_FAILS(d, SET_ROCE_ADDRESS, set_roce_address, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ROCE_MAC);
    fill_addr(in);
    MLX5_SET(roce_addr_layout, a, roce_version, 3);
    FAKE_CMD_FAILS(d, SET_ROCE_ADDRESS, set_roce_address, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ROCE_VERSION);
    fill_addr(in);
    MLX5_SET(roce_addr_layout, a, roce_l3_type, 2);
    FAKE_CMD_FAILS(d, SET_ROCE_ADDRESS, set_roce_address, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ROCE_L3_TYPE);
    MLX5_SET(query_roce_address_in, qin, roce_address_index, 0xffff);
    FAKE_CMD_FAILS(d, QUERY_ROCE_ADDRESS, query_roce_address, qin, qout,
                   MLX5_CMD_STAT_IX_ERR, MLX5_SYND_ROCE_QUERY_INDEX);
    t_free(d);
}
END_TEST

T_MAIN("vport", identity, modify_fields, modify_refused,
       modify_without_capability, lists, query_refused, vport_state, counters,
       roce_set_and_delete, roce_refused)
