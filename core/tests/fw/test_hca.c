/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting and stopping: each wrong order refused, each page accounted for,
 * fast and forced teardown, reset.
 */
#include "tests/fw/fw_helper.h"

#include "fw/roce.h"
#include "fw/vport.h"
#include "obj/table.h"

#define SEG(d, off) \
    ((uint32_t)mlx5_func_bar_read((d)->host->func, off, 4))

static FakeDriver *fresh(void)
{
    return fake_driver_new(fake_host_new(NULL));
}

static void enable(FakeDriver *d)
{
    FAKE_BUFFERS(enable_hca);

    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, in, out);
}

static void teardown(FakeDriver *d, uint32_t profile)
{
    FAKE_BUFFERS(teardown_hca);

    MLX5_SET(teardown_hca_in, in, profile, profile);
    FAKE_CMD_OK(d, TEARDOWN_HCA, teardown_hca, in, out);
    ck_assert_uint_eq(MLX5_GET(teardown_hca_out, out, state), 0);
}

START_TEST(enable_and_disable)
{
    FakeDriver *d = fresh();
    FAKE_BUFFERS(enable_hca);
    uint8_t din[MLX5_ST_SZ_BYTES(disable_hca_in)] = { 0 };

    FAKE_CMD_FAILS(d, DISABLE_HCA, disable_hca, din, out,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_DISABLE_STATE);
    MLX5_SET(enable_hca_in, in, function_id, 1);
    FAKE_CMD_FAILS(d, ENABLE_HCA, enable_hca, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ENABLE_FUNCTION);
    MLX5_SET(enable_hca_in, in, function_id, 0);
    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, in, out);
    FAKE_CMD_FAILS(d, ENABLE_HCA, enable_hca, in, out,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_ENABLE_STATE);
    MLX5_SET(disable_hca_in, din, embedded_cpu_function, 1);
    FAKE_CMD_FAILS(d, DISABLE_HCA, disable_hca, din, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_DISABLE_FUNCTION);
    MLX5_SET(disable_hca_in, din, embedded_cpu_function, 0);
    FAKE_CMD_OK(d, DISABLE_HCA, disable_hca, din, out);
    t_free(d);
}
END_TEST

START_TEST(issi)
{
    FakeDriver *d = fresh();
    FAKE_BUFFERS(query_issi);
    uint8_t sin[16] = { 0 }, sout[16];

    FAKE_CMD_OK(d, QUERY_ISSI, query_issi, in, out);
    ck_assert_uint_eq(MLX5_GET(query_issi_out, out, supported_issi_dw0), 3);
    ck_assert_uint_eq(MLX5_GET(query_issi_out, out, current_issi), 0);
    MLX5_SET(set_issi_in, sin, current_issi, 1);
    FAKE_CMD_FAILS(d, SET_ISSI, set_issi, sin, sout,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_ISSI_STATE);
    enable(d);
    MLX5_SET(set_issi_in, sin, current_issi, 2);
    FAKE_CMD_FAILS(d, SET_ISSI, set_issi, sin, sout,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ISSI_UNSUPPORTED);
    MLX5_SET(set_issi_in, sin, current_issi, 1);
    FAKE_CMD_OK(d, SET_ISSI, set_issi, sin, sout);
    FAKE_CMD_OK(d, QUERY_ISSI, query_issi, in, out);
    ck_assert_uint_eq(MLX5_GET(query_issi_out, out, current_issi), 1);
    t_free(d);
}
END_TEST

START_TEST(init_order)
{
    FakeDriver *d = fresh();
    FAKE_BUFFERS(init_hca);
    uint8_t tin[16] = { 0 }, tout[16];

    FAKE_CMD_FAILS(d, INIT_HCA, init_hca, in, out,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_INIT_STATE);
    enable(d);
    FAKE_CMD_FAILS(d, TEARDOWN_HCA, teardown_hca, tin, tout,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_TEARDOWN_STATE);
    fake_driver_give_pages(d, 1);
    FAKE_CMD_FAILS(d, INIT_HCA, init_hca, in, out,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_INIT_PAGES);
    fake_driver_give_pages(d, 2);
    FAKE_CMD_OK(d, INIT_HCA, init_hca, in, out);
    FAKE_CMD_FAILS(d, INIT_HCA, init_hca, in, out,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_INIT_STATE);
    MLX5_SET(teardown_hca_in, tin, profile, 3);
    FAKE_CMD_FAILS(d, TEARDOWN_HCA, teardown_hca, tin, tout,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_TEARDOWN_PROFILE);
    t_free(d);
}
END_TEST

/* Objects go with the HCA, pages come back only when asked for. */
static void teardown_frees(uint32_t profile)
{
    FakeDriver *d = t_up();
    Mlx5Func *f = d->host->func;

    ck_assert_uint_gt(mlx5_obj_count(f, MLX5_OBJ_EQ), 0);
    /* Polled: the EQ that would announce it goes with the rest. */
    d->events = false;
    teardown(d, profile);
    for (unsigned t = 0; t < MLX5_OBJ_TYPE_COUNT; t++) {
        ck_assert_uint_eq(mlx5_obj_count(f, t), 0);
    }
    ck_assert_uint_eq(mlx5_fw_pages_held(f), d->given_pages);
    ck_assert_int_eq(mlx5_fw_state(f), MLX5_HCA_ENABLED);
    t_free(d);
}

START_TEST(teardown_graceful)
{
    teardown_frees(0);
}
END_TEST

START_TEST(teardown_forced)
{
    teardown_frees(1);
}
END_TEST

START_TEST(fast_teardown)
{
    FakeDriver *d = t_up();
    Mlx5Func *f = d->host->func;

    teardown(d, 2);
    ck_assert_int_eq(mlx5_fw_state(f), MLX5_HCA_RUN);
    mlx5_func_bar_write(f, 0x14, (SEG(d, 0x14) & 0xfffff000) | 1 << 8, 4);
    ck_assert_uint_eq(SEG(d, 0x14) >> 8 & 7, 1);
    ck_assert_int_eq(mlx5_fw_state(f), MLX5_HCA_DEAD);
    ck_assert_uint_eq(mlx5_obj_count(f, MLX5_OBJ_EQ), 0);
    ck_assert_uint_eq(mlx5_fw_pages_held(f), 0);
    fake_driver_ring(d, 1);
    ck_assert_ptr_nonnull(strstr(d->host->guest_errors->str, "without"));
    /* The next driver starts over. */
    mlx5_func_bar_write(f, 0x10, 0, 4);
    mlx5_func_bar_write(f, 0x14, (uint32_t)d->cmdq_gpa, 4);
    ck_assert_uint_eq(SEG(d, 0x14) >> 8 & 7, 0);
    d->events = false;
    d->given_pages = 0;
    fake_driver_up(d);
    fake_driver_down(d);
    t_free(d);
}
END_TEST

START_TEST(up_and_down_again)
{
    FakeDriver *d = fresh();

    for (int i = 0; i < 20; i++) {
        fake_driver_up(d);
        fake_driver_down(d);
        ck_assert_uint_eq(mlx5_fw_pages_held(d->host->func), 0);
        for (unsigned t = 0; t < MLX5_OBJ_TYPE_COUNT; t++) {
            ck_assert_uint_eq(mlx5_obj_count(d->host->func, t), 0);
        }
    }
    ck_assert_str_eq(d->host->guest_errors->str, "");
    t_free(d);
}
END_TEST

/* Everything a driver can see must equal a fresh card's. */
static char *snapshot(FakeHost *h)
{
    GString *s = g_string_new(NULL);
    g_autofree char *json = mlx5_func_inspect(h->func);
    FakeDriver *d = g_new0(FakeDriver, 1);

    d->host = h;
    for (uint32_t off = 0; off < 0x240; off += 4) {
        g_string_append_printf(s, "%x ", SEG(d, off));
    }
    g_free(d);
    g_string_append(s, json);
    return g_string_free(s, false);
}

static char *caps_of(FakeDriver *d)
{
    GString *s = g_string_new(NULL);
    static const uint16_t types[] = { 0, 1, 3, 4, 7 };

    for (size_t i = 0; i < G_N_ELEMENTS(types) * 2; i++) {
        FAKE_BUFFERS(query_hca_cap);

        MLX5_SET(query_hca_cap_in, in, op_mod, types[i / 2] << 1 | (i & 1));
        FAKE_CMD_OK(d, QUERY_HCA_CAP, query_hca_cap, in, out);
        for (size_t b = 0; b < sizeof(out); b++) {
            g_string_append_printf(s, "%02x", out[b]);
        }
    }
    return g_string_free(s, false);
}

static void make_a_mess(FakeDriver *d)
{
    FAKE_BUFFERS(modify_nic_vport_context);
    uint8_t *sel = MLX5_ADDR_OF(modify_nic_vport_context_in, in, field_select);
    uint8_t *ctx = MLX5_ADDR_OF(modify_nic_vport_context_in, in,
                                nic_vport_context);
    uint8_t rin[MLX5_ST_SZ_BYTES(set_roce_address_in)] = { 0 }, rout[16];
    uint8_t *addr = MLX5_ADDR_OF(set_roce_address_in, rin, roce_address);

    MLX5_SET(modify_nic_vport_field_select, sel, mtu, 1);
    MLX5_SET(modify_nic_vport_field_select, sel, roce_en, 1);
    MLX5_SET(nic_vport_context, ctx, mtu, 9000);
    MLX5_SET(nic_vport_context, ctx, roce_en, 1);
    FAKE_CMD_OK(d, MODIFY_NIC_VPORT_CONTEXT, modify_nic_vport_context, in, out);
    memset(addr, 0xfe, 16);
    MLX5_SET(roce_addr_layout, addr, source_mac_31_0, 1);
    FAKE_CMD_OK(d, SET_ROCE_ADDRESS, set_roce_address, rin, rout);
    mlx5_fw_health_report(d->host->func, MLX5_HEALTH_SYNDR_EQ_OVERRUN);
}

START_TEST(reset_equals_fresh)
{
    FakeHost *h = fake_host_new(NULL);
    g_autofree char *before = snapshot(h);
    g_autofree char *after = NULL, *caps_before = NULL, *caps_after = NULL;
    FakeDriver *d = fake_driver_new(h);

    enable(d);
    caps_before = caps_of(d);
    fake_driver_free(d);
    d = fake_driver_new(h);
    fake_driver_up(d);
    make_a_mess(d);
    mlx5_func_reset(h->func);
    after = snapshot(h);
    ck_assert_str_eq(before, after);
    fake_driver_free(d);
    d = fake_driver_new(h);
    enable(d);
    caps_after = caps_of(d);
    ck_assert_str_eq(caps_before, caps_after);
    t_free(d);
}
END_TEST

/* DISABLE_HCA from the middle of everything leaves as little as a reset. */
START_TEST(disable_while_running)
{
    FakeDriver *d = t_up();
    Mlx5Func *f = d->host->func;
    FAKE_BUFFERS(disable_hca);

    make_a_mess(d);
    d->events = false;
    FAKE_CMD_OK(d, DISABLE_HCA, disable_hca, in, out);
    ck_assert_int_eq(mlx5_fw_state(f), MLX5_HCA_OFF);
    ck_assert_uint_eq(mlx5_fw_pages_held(f), 0);
    ck_assert_uint_eq(mlx5_obj_count(f, MLX5_OBJ_EQ), 0);
    ck_assert_ptr_null(mlx5_roce_addr(f, 0));
    ck_assert_uint_eq(mlx5_vport(f)->mtu, 1500);
    ck_assert(!mlx5_vport(f)->roce_en);
    t_free(d);
}
END_TEST

START_TEST(adapter)
{
    FakeDriver *d = fresh();
    FAKE_BUFFERS(query_adapter);
    uint8_t *a = MLX5_ADDR_OF(query_adapter_out, out, query_adapter_struct);

    FAKE_CMD_OK(d, QUERY_ADAPTER, query_adapter, in, out);
    ck_assert_uint_eq(MLX5_GET(query_adapter_param_block, a, ieee_vendor_id),
                      0x2c9);
    ck_assert_str_eq((char *)out + 0x100, "MSM0000000006");
    t_free(d);
}
END_TEST

START_TEST(driver_version)
{
    FakeDriver *d = fresh();
    FAKE_BUFFERS(set_driver_version);
    char *text = (char *)MLX5_ADDR_OF(set_driver_version_in, in,
                                      driver_version);

    memset(text, 'x', 64);
    FAKE_CMD_OK(d, SET_DRIVER_VERSION, set_driver_version, in, out);
    ck_assert_uint_eq(strlen(mlx5_fw_driver_version(d->host->func)), 64);
    strcpy(text, "Linux\"},\\");
    FAKE_CMD_OK(d, SET_DRIVER_VERSION, set_driver_version, in, out);
    ck_assert_str_eq(mlx5_fw_driver_version(d->host->func), "Linux");
    t_free(d);
}
END_TEST

START_TEST(special_contexts)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(query_special_contexts);

    FAKE_CMD_OK(d, QUERY_SPECIAL_CONTEXTS, query_special_contexts, in, out);
    ck_assert_uint_eq(MLX5_GET(query_special_contexts_out, out, resd_lkey),
                      0xff);
    ck_assert_uint_eq(MLX5_GET(query_special_contexts_out, out,
                               terminate_scatter_list_mkey), 0x100);
    ck_assert_uint_eq(MLX5_GET(query_special_contexts_out, out, null_mkey),
                      0x200);
    ck_assert_uint_eq(MLX5_GET(query_special_contexts_out, out,
                               dump_fill_mkey), 0x300);
    t_free(d);
}
END_TEST

/* One port: there is no aggregation, and that is an answer. */
START_TEST(no_lag)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(query_lag);
    const uint8_t *ctx = MLX5_ADDR_OF(query_lag_out, out, ctx);

    memset(out, 0xff, sizeof(out));
    FAKE_CMD_OK(d, QUERY_LAG, query_lag, in, out);
    ck_assert_uint_eq(MLX5_GET(lagc, ctx, lag_state), 0);
    ck_assert_uint_eq(MLX5_GET(lagc, ctx, port_select_mode), 0);
    t_free(d);
}
END_TEST

START_TEST(init_segment)
{
    FakeDriver *d = fresh();
    Mlx5Func *f = d->host->func;
    uint64_t t0, t1;

    ck_assert_uint_eq(SEG(d, 0) & 0xffff, 22);
    ck_assert_uint_eq(SEG(d, 4) >> 16, 5);
    ck_assert_uint_eq(SEG(d, 0x14) & 0xff, 5 << 4 | 6);
    ck_assert_uint_eq(SEG(d, 0x14) & 0xfffff000, (uint32_t)d->cmdq_gpa);
    ck_assert_uint_eq(SEG(d, 0x1fc) >> 31, 0);
    ck_assert_uint_eq(SEG(d, 0xff8), 0);
    ck_assert_uint_eq(SEG(d, 0xffc), 0);
    ck_assert_uint_ne(SEG(d, 0x230), ~0u);
    /* Bytes and halves of a word agree with it. */
    ck_assert_uint_eq(mlx5_func_bar_read(f, 6, 2), SEG(d, 4) & 0xffff);
    ck_assert_uint_eq(mlx5_func_bar_read(f, 5, 1), SEG(d, 4) >> 16 & 0xff);
    ck_assert_uint_eq(mlx5_func_bar_read(f, 0, 8),
                      (uint64_t)SEG(d, 0) << 32 | SEG(d, 4));
    t0 = mlx5_func_bar_read(f, 0x1000, 8);
    fake_host_advance(d->host, 5000000);
    t1 = mlx5_func_bar_read(f, 0x1000, 8);
    ck_assert_uint_eq(t1 - t0, 5000000 / 1000 * (MLX5_FW_TIMER_KHZ / 1000));
    /* Writes where nothing is, and of odd sizes, do nothing. */
    mlx5_func_bar_write(f, 0x200, 1, 4);
    mlx5_func_bar_write(f, 0x18, 1, 1);
    mlx5_func_bar_write(f, 0x14, 7 << 8, 4);
    ck_assert_uint_eq(SEG(d, 0x14) >> 8 & 7, 0);
    t_free(d);
}
END_TEST

START_TEST(health)
{
    FakeDriver *d = fresh();
    uint32_t c = SEG(d, 0x1010);

    ck_assert_uint_eq(c >> 24, 0);
    for (int i = 0; i < 10; i++) {
        uint32_t now;

        fake_host_advance(d->host, 2000000000);
        now = SEG(d, 0x1010);
        ck_assert_uint_ne(now, c);
        ck_assert_uint_ne(now & 0xffffff, 0);
        c = now;
    }
    mlx5_fw_health_report(d->host->func, MLX5_HEALTH_SYNDR_EQ_OVERRUN);
    ck_assert_uint_eq(SEG(d, 0x1010) >> 24, 0xc);
    ck_assert_uint_eq(SEG(d, 0x23c) >> 16 & 0xff, 0xc);
    t_free(d);
}
END_TEST

START_TEST(models)
{
    Mlx5Model model;
    GError *err = NULL;

    for (unsigned i = 0; i < MLX5_MODEL_COUNT; i++) {
        const Mlx5ModelInfo *m = mlx5_model_info(i);

        ck_assert(mlx5_model_from_name(m->name, &model, NULL));
        ck_assert_uint_eq(model, i);
        ck_assert_uint_le(strlen(m->psid), 16);
    }
    ck_assert(!mlx5_model_from_name("cx3", &model, &err));
    ck_assert_ptr_nonnull(strstr(err->message, "cx6dx"));
    g_error_free(err);
}
END_TEST

T_MAIN("hca", enable_and_disable, issi, init_order, teardown_graceful,
       teardown_forced, fast_teardown, up_and_down_again, reset_equals_fresh,
       disable_while_running, adapter, driver_version, special_contexts,
       no_lag,
       init_segment, health, models)
