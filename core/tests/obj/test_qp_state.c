/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QP states: every command from every state for every service against a
 * matrix written independently of the table in qp_state.c; what each command
 * takes from its context and what it leaves; values it refuses.
 */
#include "tests/obj/qp_helper.h"
#include "tests/obj/sched_helper.h"

#define IN_LEN MLX5_ST_SZ_BYTES(rst2init_qp_in)

#define RST MLX5_QP_STATE_RST
#define INIT MLX5_QP_STATE_INIT
#define RTR MLX5_QP_STATE_RTR
#define RTS MLX5_QP_STATE_RTS
#define SQER MLX5_QP_STATE_SQER
#define SQD MLX5_QP_STATE_SQD
#define ERR MLX5_QP_STATE_ERR
#define NONE MLX5_QP_STATE_COUNT

static const Mlx5QpSt services[] = {
    MLX5_QP_ST_RC, MLX5_QP_ST_UC, MLX5_QP_ST_UD,
    MLX5_QP_ST_XRC, MLX5_QP_ST_QP1, MLX5_QP_ST_REG_UMR, MLX5_QP_ST_DCI,
};

/* IBA table 91 with mlx5's commands: the state after, by the state before. */
static const struct {
    const char *name;
    TestHandler *handler;
    uint8_t after[MLX5_QP_STATE_COUNT];  /* RST INIT RTR RTS SQER SQD ERR */
    bool not_umr;
} commands[] = {
    { "RST2INIT", mlx5_cmd_rst2init_qp,
      { INIT, NONE, NONE, NONE, NONE, NONE, NONE }, false },
    { "INIT2INIT", mlx5_cmd_init2init_qp,
      { NONE, INIT, NONE, NONE, NONE, NONE, NONE }, true },
    { "INIT2RTR", mlx5_cmd_init2rtr_qp,
      { NONE, RTR, NONE, NONE, NONE, NONE, NONE }, false },
    { "RTR2RTS", mlx5_cmd_rtr2rts_qp,
      { NONE, NONE, RTS, NONE, NONE, NONE, NONE }, false },
    { "RTS2RTS", mlx5_cmd_rts2rts_qp,
      { NONE, NONE, NONE, RTS, NONE, NONE, NONE }, true },
    { "SQERR2RTS", mlx5_cmd_sqerr2rts_qp,
      { NONE, NONE, NONE, NONE, RTS, NONE, NONE }, true },
    { "SQD2RTS", mlx5_cmd_sqd2rts_qp,
      { NONE, NONE, NONE, NONE, NONE, RTS, NONE }, true },
    { "2ERR", mlx5_cmd_qp_2err, { ERR, ERR, ERR, ERR, ERR, ERR, ERR }, false },
    { "2RST", mlx5_cmd_qp_2rst, { RST, RST, RST, RST, RST, RST, RST }, false },
};

/* An input that every transition accepts. */
static uint8_t *fill(TestCmd *t, const Mlx5Qp *qp, uint32_t pdn)
{
    uint8_t *qpc = t->in + MLX5_BYTE_OFF(rst2init_qp_in, qpc);

    memset(t, 0, sizeof(*t));
    MLX5_SET(rst2init_qp_in, t->in, qpn, qp->o.id);
    MLX5_SET(qpc, qpc, pd, pdn);
    MLX5_SET(qpc, qpc, mtu, 3);
    MLX5_SET(qpc, qpc, log_msg_max, 30);
    return qpc;
}

static void one_cell(QpFixture *f, Mlx5Qp *qp, size_t c, Mlx5QpState from)
{
    bool wrong_service = commands[c].not_umr && qp->st == MLX5_QP_ST_REG_UMR;
    uint8_t after = commands[c].after[from];
    Mlx5QpState expect = wrong_service || after == NONE ? from : after;
    TestCmd t;

    mlx5_func_lock(f->h->func);
    mlx5_qp_set_state(qp, from);
    mlx5_func_unlock(f->h->func);
    memset(&spy, 0, sizeof(spy));
    fill(&t, qp, f->pdn);
    t_run(f->h, &t, commands[c].handler, IN_LEN, 0);
    if (wrong_service) {
        ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_TRANSITION_SERVICE);
        ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_BAD_PARAM_ERR);
    } else if (after == NONE) {
        ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_QP_STATE);
        ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_BAD_QP_STATE_ERR);
    } else {
        ck_assert_msg(t.c.status == 0, "%s from %s: syndrome 0x%x",
                      commands[c].name, mlx5_qp_state_name(from),
                      t.c.syndrome);
    }
    ck_assert_int_eq(qp->state, expect);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, state), expect);
    /* The engine hears of changes and of nothing else. */
    ck_assert_uint_eq(spy.states, expect != from);
    if (expect != from) {
        ck_assert_int_eq(spy.from, from);
        ck_assert_int_eq(spy.to, expect);
    }
}

START_TEST(matrix)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, services[_i]);

    for (size_t c = 0; c < G_N_ELEMENTS(commands); c++) {
        for (int from = 0; from < MLX5_QP_STATE_COUNT; from++) {
            one_cell(&f, qp, c, from);
        }
    }
    fake_host_free(f.h);
}
END_TEST

START_TEST(unknown_number)
{
    QpFixture f = qp_setup();
    TestCmd t;

    for (size_t c = 0; c < G_N_ELEMENTS(commands); c++) {
        memset(&t, 0, sizeof(t));
        MLX5_SET(qp_2err_in, t.in, qpn, 0xffffff);
        t_refused(f.h, &t, commands[c].handler, IN_LEN,
                  MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_QP_UNKNOWN);
    }
    fake_host_free(f.h);
}
END_TEST

/* Fields of a context by name, for the tests of what a command takes. */
#define Q(f) { #f, MLX5_OFF_qpc__##f, MLX5_WID_qpc__##f }
#define P(f) { "path." #f, MLX5_OFF_qpc__primary_address_path + \
               MLX5_OFF_ads__##f, MLX5_WID_ads__##f }

typedef struct Named {
    const char *name;
    uint32_t off, bits;
} Named;

static const Named fields[] = {
    P(vhca_port_num), P(pkey_index), P(src_addr_index), P(hop_limit),
    P(udp_sport), P(rmac_47_32), P(rmac_31_0), P(tclass), P(flow_label),
    P(ack_timeout), P(dscp), P(grh), Q(rre), Q(rwe), Q(rae), Q(atomic_mode),
    Q(q_key), Q(mtu), Q(log_msg_max), Q(remote_qpn), Q(next_rcv_psn),
    Q(log_rra_max), Q(min_rnr_nak), Q(next_send_psn), Q(retry_count),
    Q(rnr_retry), Q(log_sra_max), Q(log_ack_req_freq), Q(pm_state), Q(drain_sigerr),
    Q(counter_set_id), Q(rlky), Q(deth_sqpn), Q(lag_tx_port_affinity),
    Q(packet_pacing_rate_limit_index),
    /* What no transition may touch. */
    Q(st), Q(pd), Q(log_rq_size), Q(log_rq_stride), Q(log_sq_size), Q(no_sq),
    Q(uar_page), Q(user_index), Q(log_page_size), Q(cqn_snd), Q(cqn_rcv),
    Q(page_offset), Q(xrcd), Q(dbr_addr), Q(rq_type), Q(srqn_rmpn_xrqn),
    Q(cs_req), Q(cs_res),
};

static const Named *named(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    ck_abort_msg("no field %s", name);
    return NULL;
}

/* A context of values that are all valid and differ from zero. */
static void busy_context(uint8_t *qpc)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        mlx5_prm_set(qpc, fields[i].off, fields[i].bits, 1);
    }
}

/* Is @name one of the words in @list? */
static bool listed(const char *list, const char *name)
{
    g_auto(GStrv) words = g_strsplit(list, " ", -1);

    return g_strv_contains((const gchar *const *)words, name);
}

/* The command must take the fields of @taken and leave all others. */
static void takes(Mlx5QpSt st, TestHandler *handler, Mlx5QpState from,
                  uint32_t mask, const char *taken)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, st);
    uint8_t before[sizeof(qp->qpc)], *qpc;
    TestCmd t;

    t_rate(f.h, 1, 100, 0);
    mlx5_func_lock(f.h->func);
    mlx5_qp_set_state(qp, from);
    mlx5_func_unlock(f.h->func);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        /* Start from other values where a transition may bring its own. */
        if (i < 34) {
            mlx5_prm_set(qp->qpc, fields[i].off, fields[i].bits, 0);
        }
    }
    memcpy(before, qp->qpc, sizeof(before));
    qpc = fill(&t, qp, 0);
    busy_context(qpc);
    MLX5_SET(rst2init_qp_in, t.in, opt_param_mask, mask);
    t_ok(f.h, &t, handler, IN_LEN);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        uint64_t now = mlx5_prm_get(qp->qpc, fields[i].off, fields[i].bits);
        uint64_t old = mlx5_prm_get(before, fields[i].off, fields[i].bits);

        ck_assert_msg(now == (listed(taken, fields[i].name) ? 1 : old),
                      "service %u: %s is 0x%" G_GINT64_MODIFIER "x", st,
                      fields[i].name, now);
    }
    ck_assert_uint_eq(MLX5_GET(rst2init_qp_out, t.out, ece), 0);
    fake_host_free(f.h);
}

#define INIT_ALL "path.vhca_port_num path.pkey_index pm_state " \
    "counter_set_id lag_tx_port_affinity rlky deth_sqpn"
#define ACCESS " rre rwe rae atomic_mode"
#define PATH " path.src_addr_index path.hop_limit path.udp_sport " \
    "path.rmac_47_32 path.rmac_31_0 path.tclass path.flow_label " \
    "path.dscp path.grh"
#define CONNECT "mtu log_msg_max remote_qpn next_rcv_psn" PATH

START_TEST(required_fields)
{
    takes(MLX5_QP_ST_RC, mlx5_cmd_rst2init_qp, RST, 0, INIT_ALL ACCESS);
    takes(MLX5_QP_ST_UC, mlx5_cmd_rst2init_qp, RST, 0, INIT_ALL ACCESS);
    takes(MLX5_QP_ST_XRC, mlx5_cmd_rst2init_qp, RST, 0, INIT_ALL ACCESS);
    takes(MLX5_QP_ST_UD, mlx5_cmd_rst2init_qp, RST, 0, INIT_ALL " q_key");
    takes(MLX5_QP_ST_QP1, mlx5_cmd_rst2init_qp, RST, 0, INIT_ALL " q_key");
    takes(MLX5_QP_ST_RC, mlx5_cmd_init2rtr_qp, INIT, 0,
          CONNECT " log_rra_max min_rnr_nak");
    takes(MLX5_QP_ST_XRC, mlx5_cmd_init2rtr_qp, INIT, 0,
          CONNECT " log_rra_max min_rnr_nak");
    takes(MLX5_QP_ST_UC, mlx5_cmd_init2rtr_qp, INIT, 0, CONNECT);
    takes(MLX5_QP_ST_UD, mlx5_cmd_init2rtr_qp, INIT, 0, "mtu log_msg_max");
    takes(MLX5_QP_ST_QP1, mlx5_cmd_init2rtr_qp, INIT, 0, "mtu log_msg_max");
    takes(MLX5_QP_ST_DCI, mlx5_cmd_rst2init_qp, RST, 0, INIT_ALL ACCESS);
    takes(MLX5_QP_ST_DCI, mlx5_cmd_rtr2rts_qp, RTR, 0,
          "next_send_psn path.ack_timeout retry_count rnr_retry log_sra_max "
          "log_ack_req_freq");
    takes(MLX5_QP_ST_RC, mlx5_cmd_rtr2rts_qp, RTR, 0,
          "next_send_psn path.ack_timeout retry_count rnr_retry log_sra_max "
          "log_ack_req_freq");
    takes(MLX5_QP_ST_UC, mlx5_cmd_rtr2rts_qp, RTR, 0, "next_send_psn");
    takes(MLX5_QP_ST_UD, mlx5_cmd_rtr2rts_qp, RTR, 0, "next_send_psn");
    takes(MLX5_QP_ST_RC, mlx5_cmd_init2init_qp, INIT, 0, "");
    takes(MLX5_QP_ST_RC, mlx5_cmd_rts2rts_qp, RTS, 0, "");
    takes(MLX5_QP_ST_RC, mlx5_cmd_sqerr2rts_qp, SQER, 0, "");
    takes(MLX5_QP_ST_RC, mlx5_cmd_sqd2rts_qp, SQD, 0, "");
}
END_TEST

START_TEST(optional_fields)
{
    static const struct {
        unsigned bit;
        const char *taken;
    } opts[] = {
        { 0, "" }, { 1, "rre" }, { 2, "rae atomic_mode" }, { 3, "rwe" },
        { 4, "path.pkey_index" }, { 5, "q_key" }, { 6, "min_rnr_nak" },
        { 7, PATH }, { 8, "log_sra_max" }, { 9, "log_rra_max" },
        { 10, "pm_state" }, { 11, "drain_sigerr" }, { 12, "retry_count" }, { 13, "rnr_retry" },
        { 14, "path.ack_timeout" }, { 15, "lag_tx_port_affinity" },
        { 16, "path.vhca_port_num" },
        { 22, "packet_pacing_rate_limit_index" }, { 25, "counter_set_id" },
    };
    uint32_t known = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(opts); i++) {
        takes(MLX5_QP_ST_RC, mlx5_cmd_rts2rts_qp, RTS, 1u << opts[i].bit,
              opts[i].taken);
        known |= 1u << opts[i].bit;
    }
    takes(MLX5_QP_ST_UD, mlx5_cmd_rts2rts_qp, RTS, 1 << 5, "q_key");
    takes(MLX5_QP_ST_RC, mlx5_cmd_rtr2rts_qp, RTR, 1 << 1 | 1 << 3,
          "next_send_psn path.ack_timeout retry_count rnr_retry log_sra_max "
          "log_ack_req_freq rre rwe");
    for (unsigned bit = 0; bit < 32; bit++) {
        QpFixture f;
        Mlx5Qp *qp;
        TestCmd t;

        if (known >> bit & 1) {
            continue;
        }
        f = qp_setup();
        qp = qp_make(&f, MLX5_QP_ST_RC);
        fill(&t, qp, f.pdn);
        MLX5_SET(rst2init_qp_in, t.in, opt_param_mask, 1u << bit);
        t_refused(f.h, &t, mlx5_cmd_rst2init_qp, IN_LEN,
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QP_OPT_MASK);
        ck_assert_int_eq(qp->state, RST);
        fake_host_free(f.h);
    }
}
END_TEST

START_TEST(alternate_path)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    uint8_t *qpc, *path;
    TestCmd t;

    mlx5_func_lock(f.h->func);
    mlx5_qp_set_state(qp, RTS);
    mlx5_func_unlock(f.h->func);
    qpc = fill(&t, qp, f.pdn);
    path = qpc + MLX5_BYTE_OFF(qpc, secondary_address_path);
    memset(path, 0x5a, MLX5_ST_SZ_BYTES(ads));
    t_ok(f.h, &t, mlx5_cmd_rts2rts_qp, IN_LEN);
    ck_assert_mem_ne(qp->qpc + MLX5_BYTE_OFF(qpc, secondary_address_path),
                     path, MLX5_ST_SZ_BYTES(ads));
    MLX5_SET(rst2init_qp_in, t.in, opt_param_mask, 1);
    t_ok(f.h, &t, mlx5_cmd_rts2rts_qp, IN_LEN);
    ck_assert_mem_eq(qp->qpc + MLX5_BYTE_OFF(qpc, secondary_address_path),
                     path, MLX5_ST_SZ_BYTES(ads));
    fake_host_free(f.h);
}
END_TEST

/* One value out of range: refused, state and context as before. */
static void bad_value(TestHandler *handler, Mlx5QpState from,
                      const char *field, uint64_t value, uint32_t synd)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    uint8_t before[sizeof(qp->qpc)], *qpc;
    TestCmd t;

    mlx5_func_lock(f.h->func);
    mlx5_qp_set_state(qp, from);
    mlx5_func_unlock(f.h->func);
    memcpy(before, qp->qpc, sizeof(before));
    qpc = fill(&t, qp, f.pdn);
    mlx5_prm_set(qpc, named(field)->off, named(field)->bits, value);
    t_refused(f.h, &t, handler, IN_LEN, MLX5_CMD_STAT_BAD_PARAM_ERR, synd);
    ck_assert_mem_eq(before, qp->qpc, sizeof(before));
    ck_assert_int_eq(qp->state, from);
    fake_host_free(f.h);
}

START_TEST(values)
{
    bad_value(mlx5_cmd_rst2init_qp, RST, "path.vhca_port_num", 2,
              MLX5_SYND_QP_PORT);
    bad_value(mlx5_cmd_rst2init_qp, RST, "path.pkey_index",
              MLX5_PKEY_TABLE_SIZE, MLX5_SYND_QP_PKEY_INDEX);
    bad_value(mlx5_cmd_init2rtr_qp, INIT, "mtu", 0, MLX5_SYND_QP_MTU);
    bad_value(mlx5_cmd_init2rtr_qp, INIT, "mtu", 6, MLX5_SYND_QP_MTU);
    bad_value(mlx5_cmd_init2rtr_qp, INIT, "mtu", 7, MLX5_SYND_QP_MTU);
    bad_value(mlx5_cmd_init2rtr_qp, INIT, "log_msg_max", MLX5_LOG_MAX_MSG + 1,
              MLX5_SYND_QP_MSG_MAX);
    bad_value(mlx5_cmd_init2rtr_qp, INIT, "log_rra_max",
              MLX5_LOG_MAX_RA_QP + 1, MLX5_SYND_QP_RRA_MAX);
    bad_value(mlx5_cmd_rtr2rts_qp, RTR, "log_sra_max", MLX5_LOG_MAX_RA_QP + 1,
              MLX5_SYND_QP_SRA_MAX);
}
END_TEST

/* RTS2RTS may change the UDP source port alone (mlx5dv_modify_qp_udp_sport). */
START_TEST(udp_source_port)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    const uint8_t *was = MLX5_ADDR_OF(qpc, qp->qpc, primary_address_path);
    TestCmd t = { 0 };
    uint8_t *path = t.in + MLX5_BYTE_OFF(rts2rts_qp_in, qpc) +
                    MLX5_BYTE_OFF(qpc, primary_address_path);
    const uint32_t len = MLX5_ST_SZ_BYTES(rts2rts_qp_in);

    mlx5_qp_set_state(qp, MLX5_QP_STATE_RTS);
    MLX5_SET(rts2rts_qp_in, t.in, qpn, qp->o.id);
    MLX5_SET(rts2rts_qp_in, t.in, opt_param_mask_95_32, 4);
    MLX5_SET(ads, path, udp_sport, 55555);
    MLX5_SET(ads, path, hop_limit, 77);
    t_ok(f.h, &t, mlx5_cmd_rts2rts_qp, len);
    ck_assert_uint_eq(MLX5_GET(ads, was, udp_sport), 55555);
    ck_assert_uint_eq(MLX5_GET(ads, was, hop_limit), 0);
    MLX5_SET(ads, path, udp_sport, 0xbfff);
    t_refused(f.h, &t, mlx5_cmd_rts2rts_qp, len, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_QP_UDP_SPORT);
    MLX5_SET(rts2rts_qp_in, t.in, opt_param_mask_95_32, 0x80);
    t_refused(f.h, &t, mlx5_cmd_rts2rts_qp, len, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_QP_OPT_MASK_HIGH);
    qp = qp_make(&f, MLX5_QP_ST_UD);
    mlx5_qp_set_state(qp, MLX5_QP_STATE_RTS);
    MLX5_SET(rts2rts_qp_in, t.in, qpn, qp->o.id);
    MLX5_SET(rts2rts_qp_in, t.in, opt_param_mask_95_32, 4);
    MLX5_SET(ads, path, udp_sport, 55555);
    t_refused(f.h, &t, mlx5_cmd_rts2rts_qp, len, MLX5_CMD_STAT_BAD_PARAM_ERR,
              MLX5_SYND_QP_UDP_SPORT_SERVICE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(late_pd)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_REG_UMR);
    uint8_t *qpc;
    TestCmd t;

    fill(&t, qp, 0);
    t_refused(f.h, &t, mlx5_cmd_rst2init_qp, IN_LEN, MLX5_CMD_STAT_BAD_RES_ERR,
              MLX5_SYND_QP_INIT_PD);
    qpc = fill(&t, qp, f.pdn);
    MLX5_SET(qpc, qpc, rlky, 1);
    t_ok(f.h, &t, mlx5_cmd_rst2init_qp, IN_LEN);
    ck_assert_uint_eq(mlx5_qp_pdn(qp), f.pdn);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, pd), f.pdn);
    ck_assert(qp->rlkey);
    T_DESTROY(f.h, &t, mlx5_cmd_dealloc_pd, dealloc_pd_in, pd, f.pdn);
    ck_assert_uint_eq(t.c.syndrome, MLX5_SYND_PD_BUSY);
    fake_host_free(f.h);
}
END_TEST

START_TEST(reset_keeps_attributes)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, MLX5_QP_ST_RC);
    TestCmd t;

    MLX5_SET(qpc, qp->qpc, next_send_psn, 5);
    MLX5_SET(qpc, qp->qpc, next_rcv_psn, 6);
    MLX5_SET(qpc, qp->qpc, hw_rq_counter, 7);
    MLX5_SET(qpc, qp->qpc, hw_sq_wqebb_counter, 8);
    MLX5_SET(qpc, qp->qpc, mtu, 3);
    mlx5_func_lock(f.h->func);
    mlx5_qp_set_state(qp, ERR);
    mlx5_func_unlock(f.h->func);
    T_DESTROY(f.h, &t, mlx5_cmd_qp_2rst, qp_2rst_in, qpn, qp->o.id);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, next_send_psn), 0);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, next_rcv_psn), 0);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, hw_rq_counter), 0);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, hw_sq_wqebb_counter), 0);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, mtu), 3);
    ck_assert_uint_eq(MLX5_GET(qpc, qp->qpc, cqn_snd), f.scqn);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qp_state");
    TCase *tc = tcase_create("qp_state");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, matrix, 0, G_N_ELEMENTS(services));
    tcase_add_test(tc, unknown_number);
    tcase_add_test(tc, required_fields);
    tcase_add_test(tc, optional_fields);
    tcase_add_test(tc, alternate_path);
    tcase_add_test(tc, values);
    tcase_add_test(tc, udp_source_port);
    tcase_add_test(tc, late_pd);
    tcase_add_test(tc, reset_keeps_attributes);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
