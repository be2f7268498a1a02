/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QP states, every cell: each command, from each state, for each service, with
 * none and with each bit of opt_param_mask. What must happen follows from two
 * tables of this file, IBA table 91 in mlx5's words: which states a command
 * joins, and for each attribute which commands must bring it, to whom, and
 * which bit names it (driver: qp.h enum mlx5_qp_optpar).
 */
#include "tests/obj/qp_helper.h"
#include "tests/obj/sched_helper.h"

#define IN_LEN MLX5_ST_SZ_BYTES(rst2init_qp_in)
#define NO_BIT 32

#define B(st) (1u << MLX5_QP_ST_##st)
#define RELIABLE (B(RC) | B(XRC) | B(DCI))
#define CONNECTED (B(RC) | B(UC) | B(XRC) | B(DCI))
#define DATAGRAM (B(UD) | B(QP1))
#define IB (CONNECTED | DATAGRAM)
#define ALL (IB | B(REG_UMR))

static const Mlx5QpSt services[] = {
    MLX5_QP_ST_RC, MLX5_QP_ST_UC, MLX5_QP_ST_UD,
    MLX5_QP_ST_XRC, MLX5_QP_ST_DCI, MLX5_QP_ST_QP1, MLX5_QP_ST_REG_UMR,
};

enum { TO_INIT, TO_RTR, TO_RTS, OTHER };

#define FROM(s) (1u << MLX5_QP_STATE_##s)
#define FROM_ANY ((1u << MLX5_QP_STATE_COUNT) - 1)

static const struct {
    const char *name;
    TestHandler *handler;
    uint32_t from;
    Mlx5QpState to;
    uint32_t services;
    int kind;                /* column of attrs[].required */
    bool context;
} commands[] = {
    { "RST2INIT", mlx5_cmd_rst2init_qp, FROM(RST), MLX5_QP_STATE_INIT, ALL,
      TO_INIT, true },
    { "INIT2INIT", mlx5_cmd_init2init_qp, FROM(INIT), MLX5_QP_STATE_INIT, IB,
      OTHER, true },
    { "INIT2RTR", mlx5_cmd_init2rtr_qp, FROM(INIT), MLX5_QP_STATE_RTR, ALL,
      TO_RTR, true },
    { "RTR2RTS", mlx5_cmd_rtr2rts_qp, FROM(RTR), MLX5_QP_STATE_RTS, ALL,
      TO_RTS, true },
    { "RTS2RTS", mlx5_cmd_rts2rts_qp, FROM(RTS), MLX5_QP_STATE_RTS, IB, OTHER,
      true },
    { "SQERR2RTS", mlx5_cmd_sqerr2rts_qp, FROM(SQER), MLX5_QP_STATE_RTS, IB,
      OTHER, true },
    { "SQD2RTS", mlx5_cmd_sqd2rts_qp, FROM(SQD), MLX5_QP_STATE_RTS, IB, OTHER,
      true },
    { "2ERR", mlx5_cmd_qp_2err, FROM_ANY, MLX5_QP_STATE_ERR, ALL, OTHER,
      false },
    { "2RST", mlx5_cmd_qp_2rst, FROM_ANY, MLX5_QP_STATE_RST, ALL, OTHER,
      false },
};

#define Q(f) #f, MLX5_OFF_qpc__##f, MLX5_WID_qpc__##f
#define P(f) "path." #f, MLX5_OFF_qpc__primary_address_path + \
             MLX5_OFF_ads__##f, MLX5_WID_ads__##f
#define ALT(f) "alt." #f, MLX5_OFF_qpc__secondary_address_path + \
               MLX5_OFF_ads__##f, MLX5_WID_ads__##f

/* Services to which the commands to INIT, RTR and RTS must bring it. */
static const struct {
    const char *name;
    uint32_t off, bits;
    uint32_t required[3];
    unsigned bit;
} attrs[] = {
    { P(vhca_port_num), { ALL, 0, 0 }, 16 },
    { P(pkey_index), { ALL, 0, 0 }, 4 },
    { Q(rre), { CONNECTED, 0, 0 }, 1 },
    { Q(rwe), { CONNECTED, 0, 0 }, 3 },
    { Q(rae), { CONNECTED, 0, 0 }, 2 },
    { Q(atomic_mode), { CONNECTED, 0, 0 }, 2 },
    { Q(q_key), { DATAGRAM, 0, 0 }, 5 },
    { Q(pm_state), { ALL, 0, 0 }, 10 },
    { Q(counter_set_id), { ALL, 0, 0 }, 25 },
    { Q(lag_tx_port_affinity), { ALL, 0, 0 }, 15 },
    { Q(rlky), { ALL, 0, 0 }, NO_BIT },
    { Q(deth_sqpn), { ALL, 0, 0 }, NO_BIT },
    { Q(mtu), { 0, ALL, 0 }, NO_BIT },
    { Q(log_msg_max), { 0, ALL, 0 }, NO_BIT },
    { Q(remote_qpn), { 0, CONNECTED, 0 }, NO_BIT },
    { Q(next_rcv_psn), { 0, CONNECTED, 0 }, NO_BIT },
    { P(src_addr_index), { 0, CONNECTED, 0 }, 7 },
    { P(hop_limit), { 0, CONNECTED, 0 }, 7 },
    { P(udp_sport), { 0, CONNECTED, 0 }, 7 },
    { P(rmac_47_32), { 0, CONNECTED, 0 }, 7 },
    { P(rmac_31_0), { 0, CONNECTED, 0 }, 7 },
    { P(tclass), { 0, CONNECTED, 0 }, 7 },
    { P(flow_label), { 0, CONNECTED, 0 }, 7 },
    { P(dscp), { 0, CONNECTED, 0 }, 7 },
    { P(grh), { 0, CONNECTED, 0 }, 7 },
    { Q(log_rra_max), { 0, RELIABLE, 0 }, 9 },
    { Q(min_rnr_nak), { 0, RELIABLE, 0 }, 6 },
    { Q(next_send_psn), { 0, 0, IB }, NO_BIT },
    { P(ack_timeout), { 0, 0, RELIABLE }, 14 },
    { Q(retry_count), { 0, 0, RELIABLE }, 12 },
    { Q(rnr_retry), { 0, 0, RELIABLE }, 13 },
    { Q(log_sra_max), { 0, 0, RELIABLE }, 8 },
    { Q(log_ack_req_freq), { 0, 0, RELIABLE }, NO_BIT },
    { ALT(hop_limit), { 0, 0, 0 }, 0 },
    { Q(drain_sigerr), { 0, 0, 0 }, 11 },
    { Q(packet_pacing_rate_limit_index), { 0, 0, 0 }, 22 },
};

/* What no transition touches. */
static const struct {
    const char *name;
    uint32_t off, bits;
} fixed[] = {
    { Q(st) }, { Q(log_rq_size) }, { Q(log_rq_stride) }, { Q(log_sq_size) },
    { Q(no_sq) }, { Q(uar_page) }, { Q(user_index) }, { Q(log_page_size) },
    { Q(cqn_snd) }, { Q(cqn_rcv) }, { Q(page_offset) }, { Q(xrcd) },
    { Q(dbr_addr) }, { Q(rq_type) }, { Q(srqn_rmpn_xrqn) }, { Q(cs_req) },
    { Q(cs_res) }, { Q(offload_type) },
};

static bool known(unsigned bit)
{
    for (size_t i = 0; i < G_N_ELEMENTS(attrs); i++) {
        if (attrs[i].bit == bit) {
            return true;
        }
    }
    return bit == NO_BIT;
}

static bool taken(size_t a, size_t c, Mlx5QpSt st, unsigned bit)
{
    bool must = commands[c].kind != OTHER &&
                (attrs[a].required[commands[c].kind] >> st & 1);

    return commands[c].context && (must || (bit < 32 && attrs[a].bit == bit));
}

static uint32_t expected(size_t c, Mlx5QpSt st, Mlx5QpState from, unsigned bit)
{
    if (!(commands[c].services >> st & 1)) {
        return MLX5_SYND_QP_TRANSITION_SERVICE;
    }
    if (!(commands[c].from >> from & 1)) {
        return MLX5_SYND_QP_STATE;
    }
    return commands[c].context && !known(bit) ? MLX5_SYND_QP_OPT_MASK : 0;
}

/* Every attribute 1, so that it differs from what the QP has, and is valid. */
static void fill(TestCmd *t, const Mlx5Qp *qp, uint32_t pdn, unsigned bit)
{
    uint8_t *qpc = t->in + MLX5_BYTE_OFF(rst2init_qp_in, qpc);

    memset(t->in, 0, IN_LEN);
    MLX5_SET(rst2init_qp_in, t->in, qpn, qp->o.id);
    MLX5_SET(rst2init_qp_in, t->in, opt_param_mask,
             bit < 32 ? 1u << bit : 0);
    for (size_t a = 0; a < G_N_ELEMENTS(attrs); a++) {
        mlx5_prm_set(qpc, attrs[a].off, attrs[a].bits, 1);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(fixed); i++) {
        mlx5_prm_set(qpc, fixed[i].off, fixed[i].bits, 1);
    }
    MLX5_SET(qpc, qpc, pd, pdn);
}

static void check_context(const Mlx5Qp *qp, const uint8_t *before, size_t c,
                          unsigned bit, bool done)
{
    for (size_t a = 0; a < G_N_ELEMENTS(attrs); a++) {
        uint64_t now = mlx5_prm_get(qp->qpc, attrs[a].off, attrs[a].bits);
        uint64_t want = done && taken(a, c, qp->st, bit);

        if (now != want) {
            ck_abort_msg("%s, service %u, bit %u: %s is %u", commands[c].name,
                         qp->st, bit, attrs[a].name, (unsigned)now);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(fixed); i++) {
        if (mlx5_prm_get(qp->qpc, fixed[i].off, fixed[i].bits) !=
            mlx5_prm_get(before, fixed[i].off, fixed[i].bits)) {
            ck_abort_msg("%s, service %u: %s changed", commands[c].name,
                         qp->st, fixed[i].name);
        }
    }
}

static void one_cell(QpFixture *f, Mlx5Qp *qp, size_t c, Mlx5QpState from,
                     unsigned bit)
{
    static TestCmd t;
    uint32_t synd = expected(c, qp->st, from, bit);
    Mlx5QpState after = synd ? from : commands[c].to;
    uint8_t before[sizeof(qp->qpc)];

    mlx5_func_lock(f->h->func);
    mlx5_qp_set_state(qp, from);
    mlx5_func_unlock(f->h->func);
    for (size_t a = 0; a < G_N_ELEMENTS(attrs); a++) {
        mlx5_prm_set(qp->qpc, attrs[a].off, attrs[a].bits, 0);
    }
    memcpy(before, qp->qpc, sizeof(before));
    fill(&t, qp, f->pdn, bit);
    t_run(f->h, &t, commands[c].handler, IN_LEN, 0);
    if (t.c.syndrome != synd || (t.c.status == 0) != (synd == 0)) {
        ck_abort_msg("%s from %s, service %u, bit %u: syndrome 0x%x, not 0x%x",
                     commands[c].name, mlx5_qp_state_name(from), qp->st, bit,
                     t.c.syndrome, synd);
    }
    if (qp->state != after || MLX5_GET(qpc, qp->qpc, state) != after) {
        ck_abort_msg("%s from %s, service %u: went to %s", commands[c].name,
                     mlx5_qp_state_name(from), qp->st,
                     mlx5_qp_state_name(qp->state));
    }
    check_context(qp, before, c, bit, !synd);
}

START_TEST(every_cell)
{
    QpFixture f = qp_setup();
    Mlx5Qp *qp = qp_make(&f, services[_i]);
    unsigned cells = 0;

    t_rate(f.h, 1, 100, 0);
    for (size_t c = 0; c < G_N_ELEMENTS(commands); c++) {
        for (int from = 0; from < MLX5_QP_STATE_COUNT; from++) {
            for (unsigned bit = 0; bit <= NO_BIT; bit++, cells++) {
                one_cell(&f, qp, c, from, bit);
            }
        }
    }
    ck_assert_uint_eq(cells, 9 * 7 * 33);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qp_matrix");
    TCase *tc = tcase_create("qp_matrix");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, every_cell, 0, G_N_ELEMENTS(services));
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
