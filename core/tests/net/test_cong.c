/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Congestion control between two cards: parameters by command, marks on what is
 * sent, notices for what a switch marked, and what they do to a queue pair.
 */
#include <time.h>

#include "fw/port.h"
#include "obj/cong.h"
#include "tests/net/net_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)
#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define MTU 1024u

/* Ethernet and IPv4 headers, UDP's, BTH, what a CNP has behind it, ICRC. */
#define CNP_BYTES (14 + 20 + 8 + 12 + 16 + 4)

static NTest *connected(Mlx5QpSt st)
{
    NTest *n = n_new(st);

    n->seen = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    n_connect(n, 1, n_gid4, 0x100);
    return n;
}

static Mlx5Func *func(NTest *n, int i)
{
    return n->t[i]->h->func;
}

static const uint8_t *frame(NTest *n, guint i)
{
    return g_bytes_get_data(n->seen->pdata[i], NULL);
}

static bool is_cnp(NTest *n, guint i)
{
    return frame(n, i)[42] == 0x81;
}

static unsigned num_cnps(NTest *n)
{
    unsigned num = 0;

    for (guint i = 0; i < n->seen->len; i++) {
        num += is_cnp(n, i);
    }
    return num;
}

/* --- commands --- */

#define STATUS_LEN MLX5_ST_SZ_BYTES(modify_cong_status_in)
#define PARAMS_LEN MLX5_ST_SZ_BYTES(modify_cong_params_in)
#define STATISTICS_LEN MLX5_ST_SZ_BYTES(query_cong_statistics_in)

static TestCmd status_cmd(uint32_t point, uint32_t prio, bool on)
{
    TestCmd c = { 0 };

    MLX5_SET(modify_cong_status_in, c.in, cong_protocol, point);
    MLX5_SET(modify_cong_status_in, c.in, priority, prio);
    MLX5_SET(modify_cong_status_in, c.in, enable, on);
    return c;
}

static void set_status(NTest *n, int i, uint32_t point, uint32_t prio, bool on)
{
    TestCmd c = status_cmd(point, prio, on);

    t_ok(n->t[i]->h, &c, mlx5_cmd_modify_cong_status, STATUS_LEN);
}

static bool get_status(NTest *n, uint32_t point, uint32_t prio)
{
    TestCmd c = status_cmd(point, prio, false);

    t_ok(n->t[0]->h, &c, mlx5_cmd_query_cong_status, STATUS_LEN);
    return MLX5_GET(query_cong_status_out, c.out, enable);
}

typedef struct Param {
    const char *name;
    uint32_t point, bit, off, bits, preset, least, most;
} Param;

/* By NVIDIA's table, not by ours. */
#define P(p, l, bit, f, preset, least, most)                                  \
    { #f, p, bit, MLX5_BIT_OFF(cong_control_r_roce_ecn_##l, f),               \
      MLX5_BIT_SZ(cong_control_r_roce_ecn_##l, f), preset, least, most }
static const Param params[] = {
    P(1, rp, 1, clamp_tgt_rate, 0, 0, 1),
    P(1, rp, 2, clamp_tgt_rate_after_time_inc, 1, 0, 1),
    P(1, rp, 3, rpg_time_reset, 300, 1, 131071),
    P(1, rp, 4, rpg_byte_reset, 32767, 1, 32767),
    P(1, rp, 5, rpg_threshold, 1, 1, 31),
    P(1, rp, 6, rpg_max_rate, 0, 0, 400000),
    P(1, rp, 7, rpg_ai_rate, 5, 1, 400000),
    P(1, rp, 8, rpg_hai_rate, 50, 1, 400000),
    P(1, rp, 9, rpg_min_dec_fac, 50, 0, 100),
    P(1, rp, 10, rpg_min_rate, 1, 1, 400000),
    P(1, rp, 11, rate_to_set_on_first_cnp, 0, 0, 400000),
    P(1, rp, 12, dce_tcp_g, 1019, 0, 1023),
    P(1, rp, 13, dce_tcp_rtt, 1, 1, 131071),
    P(1, rp, 14, rate_reduce_monitor_period, 4, 1, UINT32_MAX),
    P(1, rp, 15, initial_alpha_value, 1023, 1, 1023),
    P(1, rp, 16, rpg_gd, 11, 10, 11),
    P(2, np, 2, min_time_between_cnps, 4, 0, 4095),
    P(2, np, 3, cnp_dscp, 48, 0, 63),
    P(2, np, 4, cnp_prio_mode, 0, 0, 1),
    P(2, np, 4, cnp_802p_prio, 6, 0, 7),
};

static TestCmd param_cmd(const Param *p, uint32_t value)
{
    TestCmd c = { 0 };

    MLX5_SET(modify_cong_params_in, c.in, cong_protocol, p->point);
    MLX5_SET(modify_cong_params_in, c.in, field_select, 1u << p->bit);
    mlx5_prm_set(MLX5_ADDR_OF(modify_cong_params_in, c.in,
                              congestion_parameters), p->off, p->bits, value);
    return c;
}

static uint32_t get_param(FakeHost *h, const Param *p)
{
    TestCmd c = { 0 };

    MLX5_SET(query_cong_params_in, c.in, cong_protocol, p->point);
    t_ok(h, &c, mlx5_cmd_query_cong_params,
         MLX5_ST_SZ_BYTES(query_cong_params_in));
    return mlx5_prm_get(MLX5_ADDR_OF(query_cong_params_out, c.out,
                                     congestion_parameters), p->off, p->bits);
}

static void set_param(FakeHost *h, const Param *p, uint32_t value)
{
    TestCmd c = param_cmd(p, value);

    t_ok(h, &c, mlx5_cmd_modify_cong_params, PARAMS_LEN);
}

static void set(NTest *n, int i, const char *name, uint32_t value)
{
    for (size_t k = 0; k < G_N_ELEMENTS(params); k++) {
        if (!strcmp(params[k].name, name)) {
            set_param(n->t[i]->h, &params[k], value);
            return;
        }
    }
    ck_abort_msg("no parameter %s", name);
}

START_TEST(each_param)
{
    const Param *p = &params[_i];
    NTest *n = connected(MLX5_QP_ST_RC);
    FakeHost *h = n->t[0]->h;
    TestCmd c;

    ck_assert_uint_eq(get_param(h, p), p->preset);
    set_param(h, p, p->least);
    ck_assert_uint_eq(get_param(h, p), p->least);
    set_param(h, p, p->most);
    ck_assert_uint_eq(get_param(h, p), p->most);
    if (p->most < (UINT64_C(1) << p->bits) - 1) {
        c = param_cmd(p, p->most + 1);
        t_refused(h, &c, mlx5_cmd_modify_cong_params, PARAMS_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_RANGE);
    }
    if (p->least) {
        c = param_cmd(p, p->least - 1);
        t_refused(h, &c, mlx5_cmd_modify_cong_params, PARAMS_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_RANGE);
    }
    /* What is not selected is not looked at. */
    c = param_cmd(p, p->most);
    MLX5_SET(modify_cong_params_in, c.in, field_select, 0);
    set_param(h, p, p->preset);
    t_ok(h, &c, mlx5_cmd_modify_cong_params, PARAMS_LEN);
    /* Two have one bit of field_select together. */
    for (size_t k = 0; k < G_N_ELEMENTS(params); k++) {
        bool own = params[k].point != p->point || params[k].bit != p->bit;

        ck_assert_uint_eq(get_param(h, &params[k]),
                          own || &params[k] == p ? params[k].preset : 0);
    }
    n_free(n);
}
END_TEST

START_TEST(refusals)
{
    static const uint32_t none[] = { 0, 3, 15 };
    NTest *n = connected(MLX5_QP_ST_RC);
    FakeHost *h = n->t[0]->h;
    TestCmd c;

    for (size_t i = 0; i < G_N_ELEMENTS(none); i++) {
        c = status_cmd(none[i], 0, true);
        t_refused(h, &c, mlx5_cmd_modify_cong_status, STATUS_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_PROTOCOL);
        t_refused(h, &c, mlx5_cmd_query_cong_status, STATUS_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_PROTOCOL);
        t_refused(h, &c, mlx5_cmd_query_cong_params, STATUS_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_PROTOCOL);
        t_refused(h, &c, mlx5_cmd_modify_cong_params, PARAMS_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_PROTOCOL);
    }
    c = status_cmd(1, 8, true);
    t_refused(h, &c, mlx5_cmd_modify_cong_status, STATUS_LEN,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_PRIORITY);
    t_refused(h, &c, mlx5_cmd_query_cong_status, STATUS_LEN,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_PRIORITY);
    c = status_cmd(1, 0, true);
    MLX5_SET(modify_cong_status_in, c.in, tag_enable, 1);
    t_refused(h, &c, mlx5_cmd_modify_cong_status, STATUS_LEN,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_TAG);
    c = param_cmd(&params[0], 0);
    MLX5_SET(modify_cong_params_in, c.in, field_select, 1u << 17);
    t_refused(h, &c, mlx5_cmd_modify_cong_params, PARAMS_LEN,
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CONG_SELECT);
    n_free(n);
}
END_TEST

static void mark_all(NTest *n)
{
    n->mark = 1;
}

static void post_write(NTest *n, int from, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_raddr(&w, DST, n->t[!from]->key);
    r_data(&w, SRC, len, n->t[from]->key);
    n_post(n, from, &w);
}

static void post_read(NTest *n, int from, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_READ);

    r_raddr(&w, SRC, n->t[!from]->key);
    r_data(&w, DST, len, n->t[from]->key);
    n_post(n, from, &w);
}

/* Both cards' clocks together. */
static void advance(NTest *n, int64_t ns)
{
    fake_host_advance(n->t[0]->h, ns);
    fake_host_advance(n->t[1]->h, ns);
    n_pump(n);
}

static uint64_t statistic(NTest *n, int i, uint32_t high_off, bool clear)
{
    TestCmd c = { 0 };

    MLX5_SET(query_cong_statistics_in, c.in, clear, clear);
    t_ok(n->t[i]->h, &c, mlx5_cmd_query_cong_statistics, STATISTICS_LEN);
    return mlx5_prm_get(c.out, high_off, 64);
}

#define STATISTIC(n, i, f)                                                  \
    statistic(n, i, MLX5_BIT_OFF(query_cong_statistics_out, f##_high), false)

static uint32_t num_flows(NTest *n, int i)
{
    return statistic(n, i, MLX5_BIT_OFF(query_cong_statistics_out,
                                        rp_cur_flows), false) >> 32;
}

/* Without the property: no command, no mark, no notice, nothing slowed. */
START_TEST(off)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    TestCmd c = status_cmd(1, 0, true);
    FakeHost *h = n->t[0]->h;

    for (int i = 0; i < 2; i++) {
        func(n, i)->props.congestion = false;
        mlx5_cong_reset(func(n, i));
    }
    t_refused(h, &c, mlx5_cmd_modify_cong_status, STATUS_LEN,
              MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_CONG_OFF);
    t_refused(h, &c, mlx5_cmd_query_cong_statistics, STATISTICS_LEN,
              MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_CONG_OFF);
    MLX5_SET(ads, MLX5_ADDR_OF(qpc, n->t[0]->a.qp->qpc, primary_address_path),
             tclass, 3);
    post_write(n, 0, 5000);
    r_sent(&n->t[0]->a, 0, MLX5_OPCODE_RDMA_WRITE);
    for (guint i = 0; i < n->seen->len; i++) {
        ck_assert_uint_eq(frame(n, i)[15], i < 5 ? 3 : 0);
    }
    ck_assert_uint_eq(num_cnps(n), 0);
    ck_assert_ptr_null(n->t[0]->a.qp->cong);
    n_free(n);
}
END_TEST

/* --- marks --- */

START_TEST(ect)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    uint8_t *ads = MLX5_ADDR_OF(qpc, n->t[0]->a.qp->qpc, primary_address_path);

    MLX5_SET(ads, ads, tclass, 0x69);
    post_write(n, 0, 3000);
    /* The answer, too. */
    ck_assert_uint_eq(n->seen->len, 4);
    for (guint i = 0; i < 4; i++) {
        ck_assert_uint_eq(frame(n, i)[15], i < 3 ? 0x6a : 2);
    }
    /* Without a tag the priority is 0. */
    ck_assert(get_status(n, 1, 0) && get_status(n, 1, 7));
    set_status(n, 0, 1, 7, false);
    ck_assert(!get_status(n, 1, 7) && get_status(n, 1, 0));
    ck_assert(get_status(n, 2, 7));
    post_write(n, 0, 1);
    ck_assert_uint_eq(frame(n, 4)[15], 0x6a);
    set_status(n, 0, 1, 0, false);
    post_write(n, 0, 1);
    ck_assert_uint_eq(frame(n, 6)[15], 0x69);
    set_status(n, 0, 1, 0, true);
    post_write(n, 0, 1);
    ck_assert_uint_eq(frame(n, 8)[15], 0x6a);
    n_free(n);
}
END_TEST

static void write_reg(NTest *n, uint32_t id, const uint8_t *reg, uint32_t len)
{
    TestCmd c = { 0 };

    MLX5_SET(access_register_in, c.in, register_id, id);
    memcpy(c.in + MLX5_ST_SZ_BYTES(access_register_in), reg, len);
    t_ok(n->t[0]->h, &c, mlx5_cmd_access_register,
         MLX5_ST_SZ_BYTES(access_register_in) + len);
}

/* The priority comes from where the port says, and at once. */
START_TEST(ect_by_dscp)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    uint8_t *ads = MLX5_ADDR_OF(qpc, n->t[0]->a.qp->qpc, primary_address_path);
    uint8_t qpts[MLX5_ST_SZ_BYTES(qpts_reg)] = { 0 };
    uint8_t qpdpm[MLX5_ST_SZ_BYTES(qpdpm_reg)] = { 0 };
    uint32_t entry = MLX5_BIT_OFF(qpdpm_reg, dscp) +
                     26 * MLX5_BITS_qpdpm_dscp_reg;

    MLX5_SET(ads, ads, tclass, 26 << 2);
    set_status(n, 0, 1, 0, false);
    post_write(n, 0, 1);
    ck_assert_uint_eq(frame(n, 0)[15], 26 << 2);
    MLX5_SET(qpts_reg, qpts, local_port, 1);
    MLX5_SET(qpts_reg, qpts, trust_state, 2);
    write_reg(n, 0x4002, qpts, sizeof(qpts));
    post_write(n, 0, 1);
    ck_assert_uint_eq(frame(n, 2)[15], 26 << 2 | 2);
    MLX5_SET(qpdpm_reg, qpdpm, local_port, 1);
    mlx5_prm_set(qpdpm, entry + MLX5_BIT_OFF(qpdpm_dscp_reg, e), 1, 1);
    write_reg(n, 0x4013, qpdpm, sizeof(qpdpm));
    post_write(n, 0, 1);
    ck_assert_uint_eq(frame(n, 4)[15], 26 << 2);
    n_free(n);
}
END_TEST

/* RoCE v1 has no ECN (annex A16); IPv6 has it in another place. */
START_TEST(ect_elsewhere)
{
    NTest *n = n_new(MLX5_QP_ST_RC);

    n->seen = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    n_connect(n, _i, n_gid, 5);
    post_write(n, 0, 10);
    ck_assert_uint_eq((frame(n, 0)[14] << 4 | frame(n, 0)[15] >> 4) & 0xff,
                      _i ? 0 : 2);
    n_free(n);
}
END_TEST

/* --- the notification point --- */

START_TEST(one_cnp)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    Mlx5Pkt pkt;
    const uint8_t *f;
    gsize len;

    mark_all(n);
    post_write(n, 0, 5 * MTU);
    ck_assert_uint_eq(num_cnps(n), 2); /* one for the answer that was marked */
    ck_assert(is_cnp(n, 5) && !is_cnp(n, 6) && is_cnp(n, 7));
    f = g_bytes_get_data(n->seen->pdata[5], &len);
    ck_assert_uint_eq(len, CNP_BYTES);
    ck_assert_uint_eq(f[15], 48 << 2);
    ck_assert_uint_eq(f[43], 0);
    ck_assert_uint_eq(f[44] << 8 | f[45], 0xffff);
    ck_assert_uint_eq(f[46], 0x40);
    ck_assert_uint_eq(f[47] << 16 | f[48] << 8 | f[49], n->t[0]->a.qpn);
    for (int i = 50; i < CNP_BYTES - 4; i++) {
        ck_assert_uint_eq(f[i], 0);
    }
    ck_assert_int_eq(mlx5_roce_decode(f, len, &pkt), MLX5_ROCE_GOOD);
    ck_assert_int_eq(pkt.op, MLX5_PKT_CNP);
    ck_assert_uint_eq(STATISTIC(n, 1, np_ecn_marked_roce_packets), 5);
    ck_assert_uint_eq(STATISTIC(n, 1, np_cnp_sent), 1);
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_handled), 1);
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_ignored), 0);
    ck_assert_uint_eq(STATISTIC(n, 0, np_ecn_marked_roce_packets), 1);
    ck_assert_uint_eq(STATISTIC(n, 1, rp_cnp_handled), 1);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    /* The counters start again. */
    statistic(n, 1, 0, true);
    ck_assert_uint_eq(STATISTIC(n, 1, np_ecn_marked_roce_packets), 0);
    ck_assert_uint_eq(STATISTIC(n, 1, np_cnp_sent), 0);
    n_free(n);
}
END_TEST

/* Truncated at every length, and longer: it is counted and slows nobody. */
START_TEST(cnp_lengths)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    g_autoptr(GBytes) cnp = NULL;
    uint8_t b[CNP_BYTES];
    gsize len;

    mark_all(n);
    post_write(n, 0, 10);
    cnp = g_bytes_ref(n->seen->pdata[1]);
    memcpy(b, g_bytes_get_data(cnp, &len), sizeof(b));
    ck_assert_uint_eq(len, CNP_BYTES);
    for (gsize l = 0; l < len; l++) {
        g_autoptr(GBytes) cut = g_bytes_new(b, l);

        n_arrive(n, 0, cut);
    }
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_handled), 1);
    n_arrive(n, 0, cnp);
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_handled), 2);
    n_free(n);
}
END_TEST

START_TEST(not_too_often)
{
    NTest *n = connected(MLX5_QP_ST_UC);

    set(n, 1, "min_time_between_cnps", 100);
    mark_all(n);
    for (int i = 0; i < 10; i++) {
        post_write(n, 0, 10);
        advance(n, 50 * US);
    }
    ck_assert_uint_eq(STATISTIC(n, 1, np_ecn_marked_roce_packets), 10);
    ck_assert_uint_eq(STATISTIC(n, 1, np_cnp_sent), 5);
    set(n, 1, "min_time_between_cnps", 0);
    advance(n, 100 * US);
    for (int i = 0; i < 3; i++) {
        post_write(n, 0, 10);
    }
    ck_assert_uint_eq(STATISTIC(n, 1, np_cnp_sent), 8);
    /* Off by priority: nothing is counted. */
    set_status(n, 1, 2, 0, false);
    post_write(n, 0, 10);
    ck_assert_uint_eq(STATISTIC(n, 1, np_ecn_marked_roce_packets), 13);
    ck_assert_uint_eq(STATISTIC(n, 1, np_cnp_sent), 8);
    n_free(n);
}
END_TEST

/* With a tag the CNP has a priority of its own, or the queue pair's. */
START_TEST(cnp_priority)
{
    NTest *n = n_new(MLX5_QP_ST_RC);

    n->seen = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (int i = 0; i < 2; i++) {
        uint8_t *ads = MLX5_ADDR_OF(qpc, n->t[i]->a.qp->qpc,
                                    primary_address_path);

        r_gid_set_vlan(n->t[i], 3, n_gid4[i], MLX5_ROCE_VERSION_2,
                       MLX5_ROCE_L3_TYPE_IPV4, 7);
        r_gid_set(n->t[i], 1, (const uint8_t[16]){ 1, [15] = i },
                  MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6);
        MLX5_SET(ads, ads, eth_prio, 3);
        /* Marked by who sends it: congestion control is off for it there. */
        MLX5_SET(ads, ads, tclass, i ? 0 : 3);
    }
    n_connect(n, 3, n_gid4, 5);
    set_status(n, 0, 1, 3, false);
    set(n, 1, "cnp_802p_prio", 5);
    set(n, 1, "cnp_dscp", 33);
    post_write(n, 0, 10);
    ck_assert_uint_eq(frame(n, 1)[46], 0x81);
    ck_assert_uint_eq(frame(n, 1)[14] << 8 | frame(n, 1)[15], 5 << 13 | 7);
    ck_assert_uint_eq(frame(n, 1)[19], 33 << 2);
    advance(n, MS);
    set(n, 1, "cnp_prio_mode", 1);
    post_write(n, 0, 10);
    ck_assert_uint_eq(frame(n, 4)[46], 0x81);
    ck_assert_uint_eq(frame(n, 4)[14] << 8 | frame(n, 4)[15], 3 << 13 | 7);
    /* The reaction point is off for this priority. */
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_ignored), 2);
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_handled), 0);
    ck_assert_ptr_null(n->t[0]->a.qp->cong);
    n_free(n);
}
END_TEST

/* --- the reaction point --- */

static Mlx5Pkt cnp_to(NTest *n, int to)
{
    Mlx5Pkt pkt = { .svc = MLX5_SVC_CNP, .op = MLX5_PKT_CNP, .first = true,
                    .last = true, .npsn = 1, .dqpn = n->t[to]->a.qpn };

    pkt.addr.roce_version = 2;
    pkt.addr.ipv4 = true;
    memcpy(pkt.addr.sgid, n_gid4[!to], 16);
    memcpy(pkt.addr.dgid, n_gid4[to], 16);
    memcpy(pkt.addr.dmac, r_mac, 6);
    memcpy(pkt.addr.smac, r_mac, 6);
    return pkt;
}

static void say(NTest *n, int to, const Mlx5Pkt *pkt)
{
    uint8_t b[MLX5_ROCE_MAX_FRAME];
    size_t len = mlx5_roce_encode(pkt, 0, b);
    g_autoptr(GBytes) f = g_bytes_new(b, len);

    n_arrive(n, to, f);
}

static void notice(NTest *n, int to)
{
    Mlx5Pkt pkt = cnp_to(n, to);

    say(n, to, &pkt);
}

static Mlx5CongFlow *flow(NTest *n, int i)
{
    return n->t[i]->a.qp->cong;
}

/* By the formulas of NVIDIA's page, from the presets. */
START_TEST(cut_and_recover)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    uint64_t full = mlx5_port_mbps(func(n, 0)) * UINT64_C(1000);
    uint64_t half = full - full * 1023 / 2048;

    notice(n, 0);
    ck_assert_uint_eq(flow(n, 0)->rate, half);
    ck_assert_uint_eq(flow(n, 0)->target, full);
    /* Within the monitor period it is not slowed again. */
    notice(n, 0);
    ck_assert_uint_eq(flow(n, 0)->rate, half);
    /* Two microseconds later alpha has been updated twice. */
    advance(n, 4 * US);
    notice(n, 0);
    {
        double alpha = 1023, g = 1019 / 1024.0;

        alpha = alpha * g + (1024 - 1019);
        alpha *= g * g * g;
        ck_assert_float_eq_tol(flow(n, 0)->rate,
                               half - half * alpha / 2048, half / 1000.0);
    }
    ck_assert_uint_eq(flow(n, 0)->target, full);
    half = flow(n, 0)->rate;
    advance(n, 299 * US);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    ck_assert_uint_eq(flow(n, 0)->rate, half);
    advance(n, US);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    half = (half + full + 1) / 2;
    ck_assert_uint_eq(flow(n, 0)->rate, half);
    /* And so on, until it is not slowed any more, and nothing is left of it. */
    advance(n, 100 * 300 * US);
    ck_assert_uint_eq(num_flows(n, 0), 0);
    while (mlx5_func_work(func(n, 0))) {
    }
    ck_assert_ptr_null(flow(n, 0));
    ck_assert_ptr_null(n->t[0]->a.qp->req_pace);
    ck_assert_ptr_null(n->t[0]->a.qp->resp_pace);
    n_free(n);
}
END_TEST

/* Whatever was notified: slow, whole, and not for good. */
static void storm(NTest *n, void (*post)(NTest *, int, uint32_t), int slowed)
{
    uint8_t opcode = post == post_read ? MLX5_OPCODE_RDMA_READ
                                       : MLX5_OPCODE_RDMA_WRITE;
    unsigned ms = 0;
    uint8_t cqe[64];

    r_fill(n->t[0]->h, SRC, 100000, 3);
    r_fill(n->t[1]->h, SRC, 100000, 3);
    notice(n, slowed);
    post(n, 0, 100000);
    while (!r_poll(&n->t[0]->a, &n->t[0]->a.scq, cqe)) {
        ck_assert_uint_lt(++ms, 2000);
        advance(n, MS / 2);
        notice(n, slowed);
        advance(n, MS / 2);
        ck_assert_uint_ge(flow(n, slowed)->rate, 1000);
    }
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, send_wqe_opcode), opcode);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
    /* 100 kB at 8 Mbit/s would take 100 ms. */
    ck_assert_uint_gt(ms, 50);
    {
        static uint8_t from[100000], to[100000];
        bool read = post == post_read;

        fake_mem_read(n->t[read]->h, SRC, from, sizeof(from));
        fake_mem_read(n->t[!read]->h, DST, to, sizeof(to));
        ck_assert_mem_eq(from, to, sizeof(to));
    }
}

START_TEST(requests_are_slowed)
{
    NTest *n = connected(_i ? MLX5_QP_ST_UC : MLX5_QP_ST_RC);

    set(n, 0, "rate_to_set_on_first_cnp", 8);
    set(n, 0, "rpg_time_reset", 131071);
    storm(n, post_write, 0);
    n_free(n);
}
END_TEST

START_TEST(answers_are_slowed)
{
    NTest *n = connected(MLX5_QP_ST_RC);

    set(n, 1, "rate_to_set_on_first_cnp", 8);
    set(n, 1, "rpg_time_reset", 131071);
    storm(n, post_read, 1);
    n_free(n);
}
END_TEST

/* A peer that does nothing else, at the lowest rates there are. */
START_TEST(hostile_peer)
{
    NTest *n = connected(MLX5_QP_ST_RC);

    set(n, 0, "rate_to_set_on_first_cnp", 1);
    set(n, 0, "rpg_min_dec_fac", 0);
    set(n, 0, "rpg_gd", 10);
    set(n, 0, "dce_tcp_g", 0);
    set(n, 0, "rate_reduce_monitor_period", 1);
    for (int i = 0; i < 10000; i++) {
        notice(n, 0);
    }
    post_write(n, 0, 20000);
    for (int i = 0; i < 300; i++) {
        notice(n, 0);
        advance(n, MS);
        ck_assert_uint_ge(flow(n, 0)->rate, 1000);
    }
    /* 20 kB with headers at 1 Mbit/s are 170 ms. */
    r_sent(&n->t[0]->a, 0, MLX5_OPCODE_RDMA_WRITE);
    /* An hour later nothing of it is left, and that is found out at once. */
    fake_host_advance(n->t[0]->h, 3600 * 1000 * MS);
    post_write(n, 0, 1000000);
    n_pump(n);
    r_sent(&n->t[0]->a, 1, MLX5_OPCODE_RDMA_WRITE);
    ck_assert_ptr_null(flow(n, 0));
    n_free(n);
}
END_TEST

/* The slowest recovery there is, of both cards' queue pairs. */
static NTest *slow_recovery(void)
{
    NTest *n = connected(MLX5_QP_ST_RC);

    for (int i = 0; i < 2; i++) {
        set(n, i, "rate_to_set_on_first_cnp", 1);
        set(n, i, "rpg_ai_rate", 1);
        set(n, i, "rpg_hai_rate", 1);
        set(n, i, "rpg_time_reset", 1);
        set(n, i, "rpg_byte_reset", 1);
        set(n, i, "rpg_threshold", 31);
    }
    return n;
}

/* A time looked at as a whole has as many rounds as one looked at in parts. */
START_TEST(long_and_short_times)
{
    static const uint32_t bytes[] = { 0, 64 * 20, 64 * 33, 64 * 90 };
    NTest *n = slow_recovery();
    Mlx5CongFlow *a, *b;

    for (int i = 0; i < 2; i++) {
        notice(n, i);
        mlx5_cong_charge(flow(n, i), mlx5_clock_ns(func(n, i)), bytes[_i]);
    }
    a = flow(n, 0);
    b = flow(n, 1);
    for (int us = 0; us < 1500; us++) {
        fake_host_advance(n->t[1]->h, US);
        ck_assert_uint_eq(num_flows(n, 1), 1);
    }
    fake_host_advance(n->t[0]->h, 1500 * US);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    ck_assert_uint_eq(a->time_rounds, 1500);
    ck_assert_uint_eq(b->time_rounds, 1500);
    ck_assert_uint_eq(a->byte_rounds, b->byte_rounds);
    ck_assert_uint_eq(a->target, b->target);
    ck_assert_uint_eq(a->rate, b->rate);
    ck_assert_uint_eq(a->limit.kbps, b->limit.kbps);
    n_free(n);
}
END_TEST

/* A CNP finds that it had recovered: nothing of that counts any more. */
START_TEST(begins_anew)
{
    NTest *n = slow_recovery();

    notice(n, 0);
    mlx5_cong_charge(flow(n, 0), mlx5_clock_ns(func(n, 0)), 64 * 40 + 1);
    fake_host_advance(n->t[0]->h, 10000 * MS);
    ck_assert(!flow(n, 0)->over);
    notice(n, 0);
    ck_assert_uint_eq(flow(n, 0)->rate, 1000);
    ck_assert_uint_eq(flow(n, 0)->bytes, 0);
    /* No counter is past the threshold. */
    fake_host_advance(n->t[0]->h, 31 * US);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    ck_assert_uint_eq(flow(n, 0)->rate, 1000);
    ck_assert_uint_eq(flow(n, 0)->time_rounds, 31);
    ck_assert_uint_eq(flow(n, 0)->byte_rounds, 0);
    n_free(n);
}
END_TEST

/*
 * Processor time that many recoveries take, each after @ns. @least: the lowest
 * rate from then on, in Mbit/s.
 */
static clock_t recoveries(NTest *n, int64_t ns, uint32_t left, uint32_t least)
{
    clock_t from = clock();

    for (int i = 0; i < 300; i++) {
        set(n, 0, "rpg_min_rate", 1);
        notice(n, 0);
        set(n, 0, "rpg_min_rate", least);
        fake_host_advance(n->t[0]->h, ns);
        ck_assert_uint_eq(num_flows(n, 0), left);
    }
    return clock() - from;
}

/* A driver may ask this of all its queue pairs at once. */
START_TEST(long_times_are_short)
{
    NTest *n = slow_recovery();
    uint32_t least = _i ? mlx5_port_mbps(func(n, 0)) - 1 : 1;
    clock_t few = recoveries(n, 100 * US, 1, 1);

    ck_assert_int_lt(recoveries(n, 10000 * MS, 0, least), 10 * few);
    n_free(n);
}
END_TEST

/* Bytes let it recover as well: 64 times rpg_byte_reset. */
START_TEST(recovers_by_bytes)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    uint64_t rate;

    set(n, 0, "rpg_byte_reset", 16);
    notice(n, 0);
    rate = flow(n, 0)->rate;
    post_write(n, 0, 800);
    ck_assert_uint_eq(flow(n, 0)->rate, rate);
    post_write(n, 0, 800);
    ck_assert_uint_eq(flow(n, 0)->rate, (rate + flow(n, 0)->target + 1) / 2);
    n_free(n);
}
END_TEST

/* rpg_max_rate releases it; a new one begins with the next CNP. */
START_TEST(max_rate)
{
    NTest *n = connected(MLX5_QP_ST_RC);

    set(n, 0, "rpg_max_rate", 100);
    notice(n, 0);
    ck_assert_uint_lt(flow(n, 0)->rate, 51000);
    ck_assert_uint_eq(flow(n, 0)->target, 100000);
    advance(n, 50 * MS);
    notice(n, 0);
    ck_assert_uint_lt(flow(n, 0)->rate, 51000);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    n_free(n);
}
END_TEST

/* The target is the rate before a cut if that had grown, as the clamps say. */
START_TEST(clamps)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    uint64_t full = mlx5_port_mbps(func(n, 0)) * UINT64_C(1000), rate;

    set(n, 0, "clamp_tgt_rate_after_time_inc", _i == 1);
    set(n, 0, "clamp_tgt_rate", _i == 2);
    notice(n, 0);
    advance(n, 300 * US);
    ck_assert_uint_eq(num_flows(n, 0), 1);
    rate = flow(n, 0)->rate;
    notice(n, 0);
    ck_assert_uint_eq(flow(n, 0)->target, _i ? rate : full);
    n_free(n);
}
END_TEST

static void ignored(NTest *n, const Mlx5Pkt *pkt)
{
    uint64_t refused = func(n, 0)->stats.rx_roce_refused;
    uint64_t before = STATISTIC(n, 0, rp_cnp_ignored);

    say(n, 0, pkt);
    ck_assert_uint_eq(func(n, 0)->stats.rx_roce_refused, refused + 1);
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_ignored), before + 1);
    ck_assert_uint_eq(STATISTIC(n, 0, rp_cnp_handled), 0);
}

START_TEST(strangers)
{
    NTest *n = connected(_i ? MLX5_QP_ST_UD : MLX5_QP_ST_RC);
    Mlx5Pkt pkt = cnp_to(n, 0);

    if (_i) {
        ignored(n, &pkt);
        n_free(n);
        return;
    }
    pkt.addr.sgid[15]++;
    ignored(n, &pkt);
    pkt = cnp_to(n, 0);
    pkt.dqpn = 0x7fff00;
    ignored(n, &pkt);
    /* b is in RST. */
    pkt.dqpn = n->t[0]->b.qpn;
    ignored(n, &pkt);
    /* RoCE v1 knows no CNP. */
    pkt = cnp_to(n, 0);
    pkt.addr.roce_version = 0;
    pkt.addr.ipv4 = false;
    memcpy(pkt.addr.sgid, n_gid[1], 16);
    memcpy(pkt.addr.dgid, n_gid[0], 16);
    ignored(n, &pkt);
    n_free(n);
}
END_TEST

/* In RST nothing is left of it; a rate of the queue pair's own stays. */
START_TEST(reset)
{
    NTest *n = connected(MLX5_QP_ST_RC);
    Mlx5Qp *qp = n->t[0]->a.qp;

    notice(n, 0);
    ck_assert_ptr_nonnull(qp->cong);
    ck_assert_ptr_eq(qp->req_pace->flow, qp->cong);
    ck_assert_ptr_eq(qp->resp_pace->flow, qp->cong);
    r_set_state(&n->t[0]->a, MLX5_QP_STATE_RST);
    ck_assert_ptr_null(qp->cong);
    ck_assert_ptr_null(qp->req_pace);
    ck_assert_uint_eq(num_flows(n, 0), 0);
    n_free(n);
}
END_TEST

/* A wire that loses, doubles, delays and marks. */
START_TEST(bad_wire)
{
    NTest *n = connected(MLX5_QP_ST_RC);

    n->faults = (NFaults){ .lose = 30, .twice = 30, .late = 30 };
    n->mark = 5;
    set(n, 0, "rpg_max_rate", 1000);
    for (uint16_t i = 0; i < 20; i++) {
        r_fill(n->t[0]->h, SRC, 70000, i);
        post_write(n, 0, 70000);
        n_pump_for(n, 40);
        r_sent(&n->t[0]->a, i, MLX5_OPCODE_RDMA_WRITE);
    }
    ck_assert_uint_gt(n->marked, 100);
    ck_assert_uint_gt(STATISTIC(n, 0, rp_cnp_handled), 10);
    n_free(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cong");
    TCase *t = tcase_create("cong");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_param, 0, G_N_ELEMENTS(params));
    tcase_add_test(t, refusals);
    tcase_add_test(t, off);
    tcase_add_test(t, ect);
    tcase_add_test(t, ect_by_dscp);
    tcase_add_loop_test(t, ect_elsewhere, 0, 1);
    tcase_add_loop_test(t, ect_elsewhere, 2, 3);
    tcase_add_test(t, one_cnp);
    tcase_add_test(t, cnp_lengths);
    tcase_add_test(t, not_too_often);
    tcase_add_test(t, cnp_priority);
    tcase_add_test(t, cut_and_recover);
    tcase_add_loop_test(t, requests_are_slowed, 0, 2);
    tcase_add_test(t, answers_are_slowed);
    tcase_add_test(t, hostile_peer);
    tcase_add_loop_test(t, long_and_short_times, 0, 4);
    tcase_add_test(t, begins_anew);
    tcase_add_loop_test(t, long_times_are_short, 0, 2);
    tcase_add_test(t, recovers_by_bytes);
    tcase_add_test(t, max_rate);
    tcase_add_loop_test(t, clamps, 0, 3);
    tcase_add_loop_test(t, strangers, 0, 2);
    tcase_add_test(t, reset);
    tcase_add_test(t, bad_wire);
    suite_add_tcase(s, t);
    return t_main(s);
}
