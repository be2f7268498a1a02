/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The states of a queue pair (IBA 10.3.1; PRM: RST2INIT_QP ... 2RST_QP;
 * driver: mlx5_ib qp.c __mlx5_ib_modify_qp and its table opt_mask).
 *
 * A transition command carries a sparse context. Each takes the fields that it
 * must bring ("required", by service) and those that its opt_param_mask names;
 * everything else of the QP's context stays as it was. Fields come in groups:
 *
 *   transitions[]   command -> from, to, services, required groups
 *   opt_params[]    bit of opt_param_mask -> group
 *   group_fields[]  group -> fields of the context
 *
 * PD and CQs are those of CREATE_QP: transitions carry them again and they are
 * not looked at, but for the PD of a REG_UMR QP, which comes with RST2INIT.
 *
 * States of the work queues follow from these; the engine is told of every
 * change and does what the state asks (flush in ERR, forget in RST). Only the
 * engine takes a QP to SQER; SQD has no command of its own in the drivers.
 *
 * Left out: path migration (stored), ECE (answered with zero).
 */
#include "obj/engine.h"
#include "obj/limits.h"
#include "obj/qp_internal.h"
#include "obj/sched.h"

/* Groups of fields, as bits. */
typedef enum Group {
    GRP_PORT = 1 << 0,
    GRP_PKEY = 1 << 1,
    GRP_RRE = 1 << 2,
    GRP_RWE = 1 << 3,
    GRP_RAE = 1 << 4,
    GRP_QKEY = 1 << 5,
    GRP_PATH = 1 << 6,             /* primary, but for P_Key and timeout */
    GRP_MTU = 1 << 7,
    GRP_REMOTE_QPN = 1 << 8,
    GRP_RQ_PSN = 1 << 9,
    GRP_RRA_MAX = 1 << 10,
    GRP_MIN_RNR = 1 << 11,
    GRP_SQ_PSN = 1 << 12,
    GRP_ACK_TIMEOUT = 1 << 13,
    GRP_RETRY = 1 << 14,
    GRP_RNR_RETRY = 1 << 15,
    GRP_SRA_MAX = 1 << 16,
    GRP_ACK_FREQ = 1 << 17,
    GRP_PM_STATE = 1 << 18,
    GRP_ALT_PATH = 1 << 19,
    GRP_COUNTER = 1 << 20,
    GRP_LAG = 1 << 21,
    GRP_RATE = 1 << 22,
    GRP_SETUP = 1 << 23,           /* reserved lkey, source QPN of DETH */
    GRP_DRAIN = 1 << 24,           /* stop after a signature error */
    GRP_UDP_SPORT = 1 << 25,
} Group;

#define GRP_ACCESS (GRP_RRE | GRP_RWE | GRP_RAE)
#define PATH_BIT(f) (MLX5_OFF_qpc__primary_address_path + MLX5_OFF_ads__##f)

typedef struct GroupField {
    uint32_t group;
    uint16_t bit_off, bits;
} GroupField;

static const GroupField group_fields[] = {
#define FIELD(g, f) { g, MLX5_OFF_qpc__##f, MLX5_WID_qpc__##f }
#define PATH(g, f) { g, PATH_BIT(f), MLX5_WID_ads__##f }
    PATH(GRP_PORT, vhca_port_num),
    PATH(GRP_PKEY, pkey_index),
    FIELD(GRP_RRE, rre),
    FIELD(GRP_RWE, rwe),
    FIELD(GRP_RAE, rae),
    FIELD(GRP_RAE, atomic_mode),
    FIELD(GRP_QKEY, q_key),
    PATH(GRP_PATH, fl),
    PATH(GRP_PATH, free_ar),
    PATH(GRP_PATH, grh),
    PATH(GRP_PATH, mlid),
    PATH(GRP_PATH, rlid),
    PATH(GRP_PATH, src_addr_index),
    PATH(GRP_PATH, stat_rate),
    PATH(GRP_PATH, hop_limit),
    PATH(GRP_PATH, tclass),
    PATH(GRP_PATH, flow_label),
    { GRP_PATH, PATH_BIT(rgid_rip), 64 },
    { GRP_PATH, PATH_BIT(rgid_rip) + 64, 64 },
    PATH(GRP_PATH, f_dscp),
    PATH(GRP_PATH, f_ecn),
    PATH(GRP_PATH, f_eth_prio),
    PATH(GRP_PATH, ecn),
    PATH(GRP_PATH, dscp),
    PATH(GRP_PATH | GRP_UDP_SPORT, udp_sport),
    PATH(GRP_PATH, dei_cfi),
    PATH(GRP_PATH, eth_prio),
    PATH(GRP_PATH, sl),
    PATH(GRP_PATH, rmac_47_32),
    PATH(GRP_PATH, rmac_31_0),
    FIELD(GRP_MTU, mtu),
    FIELD(GRP_MTU, log_msg_max),
    FIELD(GRP_REMOTE_QPN, remote_qpn),
    FIELD(GRP_RQ_PSN, next_rcv_psn),
    FIELD(GRP_RRA_MAX, log_rra_max),
    FIELD(GRP_MIN_RNR, min_rnr_nak),
    FIELD(GRP_SQ_PSN, next_send_psn),
    PATH(GRP_ACK_TIMEOUT, ack_timeout),
    FIELD(GRP_RETRY, retry_count),
    FIELD(GRP_RNR_RETRY, rnr_retry),
    FIELD(GRP_SRA_MAX, log_sra_max),
    FIELD(GRP_ACK_FREQ, log_ack_req_freq),
    FIELD(GRP_PM_STATE, pm_state),
    FIELD(GRP_COUNTER, counter_set_id),
    FIELD(GRP_LAG, lag_tx_port_affinity),
    FIELD(GRP_RATE, packet_pacing_rate_limit_index),
    FIELD(GRP_SETUP, rlky),
    FIELD(GRP_SETUP, deth_sqpn),
    FIELD(GRP_DRAIN, drain_sigerr),
#undef FIELD
#undef PATH
};

/* Bits of opt_param_mask (driver: qp.h enum mlx5_qp_optpar). */
static const struct {
    uint32_t bit;
    uint32_t group;
} opt_params[] = {
    { 0, GRP_ALT_PATH },
    { 1, GRP_RRE },
    { 2, GRP_RAE },
    { 3, GRP_RWE },
    { 4, GRP_PKEY },
    { 5, GRP_QKEY },
    { 6, GRP_MIN_RNR },
    { 7, GRP_PATH },
    { 8, GRP_SRA_MAX },
    { 9, GRP_RRA_MAX },
    { 10, GRP_PM_STATE },
    { 11, GRP_DRAIN },
    { 12, GRP_RETRY },
    { 13, GRP_RNR_RETRY },
    { 14, GRP_ACK_TIMEOUT },
    { 15, GRP_LAG },
    { 16, GRP_PORT },
    { 22, GRP_RATE },
    { 25, GRP_COUNTER },
};

#define S(state) (1u << MLX5_QP_STATE_##state)
#define S_ANY ((1u << MLX5_QP_STATE_COUNT) - 1)
#define T(st) MLX5_QP_ST_BIT(MLX5_QP_ST_##st)
#define T_CONNECTED (T(RC) | T(UC) | T(XRC) | T(DCI))
#define T_RELIABLE (T(RC) | T(XRC) | T(DCI))
#define T_DATAGRAM (T(UD) | T(QP1))
#define T_ALL MLX5_QP_ST_SUPPORTED

/* One command. The context is absent from 2ERR and 2RST. */
typedef struct Transition {
    uint16_t opcode;
    const char *name;
    uint32_t from;               /* set of states */
    Mlx5QpState to;
    uint32_t services;           /* set of services */
    bool has_context;
    /* Groups that must come, by service. */
    uint32_t all, connected, reliable, datagram;
} Transition;

static const Transition transitions[] = {
    { MLX5_CMD_OP_RST2INIT_QP, "RST2INIT", S(RST), MLX5_QP_STATE_INIT, T_ALL,
      .has_context = true,
      .all = GRP_PORT | GRP_PKEY | GRP_PM_STATE | GRP_COUNTER | GRP_LAG |
             GRP_SETUP,
      .connected = GRP_ACCESS,
      .datagram = GRP_QKEY },
    { MLX5_CMD_OP_INIT2INIT_QP, "INIT2INIT", S(INIT), MLX5_QP_STATE_INIT,
      T_CONNECTED | T_DATAGRAM, .has_context = true },
    { MLX5_CMD_OP_INIT2RTR_QP, "INIT2RTR", S(INIT), MLX5_QP_STATE_RTR, T_ALL,
      .has_context = true,
      .all = GRP_MTU,
      .connected = GRP_PATH | GRP_REMOTE_QPN | GRP_RQ_PSN,
      .reliable = GRP_RRA_MAX | GRP_MIN_RNR },
    { MLX5_CMD_OP_RTR2RTS_QP, "RTR2RTS", S(RTR), MLX5_QP_STATE_RTS, T_ALL,
      .has_context = true,
      .connected = GRP_SQ_PSN,
      .reliable = GRP_ACK_TIMEOUT | GRP_RETRY | GRP_RNR_RETRY | GRP_SRA_MAX |
                  GRP_ACK_FREQ,
      .datagram = GRP_SQ_PSN },
    { MLX5_CMD_OP_RTS2RTS_QP, "RTS2RTS", S(RTS), MLX5_QP_STATE_RTS,
      T_CONNECTED | T_DATAGRAM, .has_context = true },
    { MLX5_CMD_OP_SQERR2RTS_QP, "SQERR2RTS", S(SQER), MLX5_QP_STATE_RTS,
      T_CONNECTED | T_DATAGRAM, .has_context = true },
    { MLX5_CMD_OP_SQD_RTS_QP, "SQD2RTS", S(SQD), MLX5_QP_STATE_RTS,
      T_CONNECTED | T_DATAGRAM, .has_context = true },
    { MLX5_CMD_OP_2ERR_QP, "2ERR", S_ANY, MLX5_QP_STATE_ERR, T_ALL,
      .has_context = false },
    { MLX5_CMD_OP_2RST_QP, "2RST", S_ANY, MLX5_QP_STATE_RST, T_ALL,
      .has_context = false },
};

static const char *const state_names[MLX5_QP_STATE_COUNT] = {
    [MLX5_QP_STATE_RST] = "RST",   [MLX5_QP_STATE_INIT] = "INIT",
    [MLX5_QP_STATE_RTR] = "RTR",   [MLX5_QP_STATE_RTS] = "RTS",
    [MLX5_QP_STATE_SQER] = "SQER", [MLX5_QP_STATE_SQD] = "SQD",
    [MLX5_QP_STATE_ERR] = "ERR",
};

const char *mlx5_qp_state_name(Mlx5QpState state)
{
    return (unsigned)state < MLX5_QP_STATE_COUNT ? state_names[state] : "?";
}

void mlx5_qp_set_state(Mlx5Qp *qp, Mlx5QpState to)
{
    Mlx5Func *func = qp->o.func;
    Mlx5QpState from = qp->state;

    if (from == to) {
        return;
    }
    qp->state = to;
    MLX5_SET(qpc, qp->qpc, state, to);
    mlx5_trace(func, MLX5_TRACE_STATE, "qpn=0x%x st=%u %s -> %s", qp->o.id,
               qp->st, mlx5_qp_state_name(from), mlx5_qp_state_name(to));
    if (func->engine && func->engine->qp_state) {
        func->engine->qp_state(qp, from);
    }
}

static const Transition *find_transition(uint16_t opcode)
{
    for (size_t i = 0; i < G_N_ELEMENTS(transitions); i++) {
        if (transitions[i].opcode == opcode) {
            return &transitions[i];
        }
    }
    return NULL;
}

/* Groups that this command must bring to this QP. */
static uint32_t required_groups(const Transition *t, const Mlx5Qp *qp)
{
    uint32_t st = MLX5_QP_ST_BIT(qp->st);

    return t->all | (st & T_CONNECTED ? t->connected : 0) |
           (st & T_RELIABLE ? t->reliable : 0) |
           (st & T_DATAGRAM ? t->datagram : 0);
}

/* Groups that @mask names. Return: false if a bit of it is unknown. */
static bool optional_groups(uint32_t mask, uint32_t *groups)
{
    *groups = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(opt_params); i++) {
        uint32_t bit = 1u << opt_params[i].bit;

        if (mask & bit) {
            *groups |= opt_params[i].group;
        }
        mask &= ~bit;
    }
    return mask == 0;
}

/* Return: 0 or the syndrome of the first value that breaks a rule. */
static uint32_t check_values(const uint8_t *qpc, uint32_t groups)
{
    const uint8_t *path = MLX5_ADDR_OF(qpc, qpc, primary_address_path);
    uint32_t mtu = MLX5_GET(qpc, qpc, mtu);

    if ((groups & GRP_PORT) && MLX5_GET(ads, path, vhca_port_num) > 1) {
        return MLX5_SYND_QP_PORT;
    }
    if ((groups & GRP_PKEY) &&
        MLX5_GET(ads, path, pkey_index) >= MLX5_PKEY_TABLE_SIZE) {
        return MLX5_SYND_QP_PKEY_INDEX;
    }
    /* IB_MTU_256 .. IB_MTU_4096 */
    if ((groups & GRP_MTU) && (mtu < 1 || mtu > 5)) {
        return MLX5_SYND_QP_MTU;
    }
    if ((groups & GRP_MTU) && MLX5_GET(qpc, qpc, log_msg_max) >
        MLX5_LOG_MAX_MSG) {
        return MLX5_SYND_QP_MSG_MAX;
    }
    if ((groups & GRP_RRA_MAX) &&
        MLX5_GET(qpc, qpc, log_rra_max) > MLX5_LOG_MAX_RA_QP) {
        return MLX5_SYND_QP_RRA_MAX;
    }
    if ((groups & GRP_SRA_MAX) &&
        MLX5_GET(qpc, qpc, log_sra_max) > MLX5_LOG_MAX_RA_QP) {
        return MLX5_SYND_QP_SRA_MAX;
    }
    return 0;
}

static void merge(Mlx5Qp *qp, const uint8_t *qpc, uint32_t groups)
{
    for (size_t i = 0; i < G_N_ELEMENTS(group_fields); i++) {
        const GroupField *f = &group_fields[i];

        if (groups & f->group) {
            mlx5_prm_set(qp->qpc, f->bit_off, f->bits,
                         mlx5_prm_get(qpc, f->bit_off, f->bits));
        }
    }
    if (groups & GRP_ALT_PATH) {
        memcpy(MLX5_ADDR_OF(qpc, qp->qpc, secondary_address_path),
               MLX5_ADDR_OF(qpc, qpc, secondary_address_path),
               MLX5_ST_SZ_BYTES(ads));
    }
    mlx5_qp_refresh(qp);
    mlx5_qp_pace_rate(qp);
}

/* The driver gives its UMR QP a PD only now. Return: false if refused. */
static bool find_late_pd(Mlx5Cmd *cmd, const Mlx5Qp *qp, const uint8_t *qpc,
                         Mlx5Obj **pd)
{
    *pd = qp->pd;
    if (!qp->pd) {
        *pd = mlx5_obj_find(qp->o.func, cmd, MLX5_OBJ_PD,
                            MLX5_GET(qpc, qpc, pd), MLX5_SYND_QP_INIT_PD);
    }
    return *pd;
}

/* RTS2RTS has more bits to name parameters by: of them, the source port. */
#define OPT_HIGH_UDP_SPORT (UINT64_C(1) << 2)
#define MIN_UDP_SPORT 0xc000

/* Groups that those name. Return: 0 or the syndrome of what breaks a rule. */
static uint32_t high_groups(const Mlx5Qp *qp, const Mlx5Cmd *cmd,
                            const Transition *t, uint32_t *groups)
{
    const uint8_t *qpc = MLX5_ADDR_OF(rts2rts_qp_in, cmd->in, qpc);
    const uint8_t *path = MLX5_ADDR_OF(qpc, qpc, primary_address_path);
    uint64_t high = t->opcode != MLX5_CMD_OP_RTS2RTS_QP ? 0 :
                    MLX5_GET(rts2rts_qp_in, cmd->in, opt_param_mask_95_32);

    if (high & ~OPT_HIGH_UDP_SPORT) {
        return MLX5_SYND_QP_OPT_MASK_HIGH;
    }
    if (!high) {
        return 0;
    }
    if (qp->st != MLX5_QP_ST_RC && qp->st != MLX5_QP_ST_UC) {
        return MLX5_SYND_QP_UDP_SPORT_SERVICE;
    }
    /* roce_cap.r_roce_min_src_udp_port */
    if (MLX5_GET(ads, path, udp_sport) < MIN_UDP_SPORT) {
        return MLX5_SYND_QP_UDP_SPORT;
    }
    *groups |= GRP_UDP_SPORT;
    return 0;
}

static void apply_context(Mlx5Qp *qp, Mlx5Cmd *cmd, const Transition *t)
{
    const uint8_t *qpc = MLX5_ADDR_OF(rst2init_qp_in, cmd->in, qpc);
    uint32_t mask = MLX5_GET(rst2init_qp_in, cmd->in, opt_param_mask);
    uint32_t groups, syndrome;
    Mlx5Obj *pd;

    if (!optional_groups(mask, &groups)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QP_OPT_MASK);
        return;
    }
    groups |= required_groups(t, qp);
    syndrome = check_values(qpc, groups);
    if (!syndrome) {
        syndrome = high_groups(qp, cmd, t, &groups);
    }
    if (!syndrome && (groups & GRP_SETUP) && qp->o.uid &&
        MLX5_GET(qpc, qpc, rlky)) {
        syndrome = MLX5_SYND_QP_INIT_USER_RLKEY;
    }
    if (!syndrome && (groups & GRP_SETUP) && qp->o.uid &&
        MLX5_GET(qpc, qpc, fre)) {
        syndrome = MLX5_SYND_QP_INIT_USER_FRE;
    }
    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
        return;
    }
    if (((groups & GRP_RATE) &&
         !mlx5_rate_check(qp->o.func, cmd,
                          MLX5_GET(qpc, qpc, packet_pacing_rate_limit_index),
                          MLX5_SYND_QP_RATE_LIMIT)) ||
        !find_late_pd(cmd, qp, qpc, &pd)) {
        return;
    }
    if (!qp->pd) {
        qp->pd = pd;
        mlx5_obj_ref(pd);
        MLX5_SET(qpc, qp->qpc, pd, pd->id);
    }
    merge(qp, qpc, groups);
    mlx5_qp_set_state(qp, t->to);
}

/* What RST forgets: progress, not attributes. */
static void forget_progress(Mlx5Qp *qp)
{
    MLX5_SET(qpc, qp->qpc, next_send_psn, 0);
    MLX5_SET(qpc, qp->qpc, next_rcv_psn, 0);
    MLX5_SET(qpc, qp->qpc, last_acked_psn, 0);
    MLX5_SET(qpc, qp->qpc, ssn, 0);
    MLX5_SET(qpc, qp->qpc, rmsn, 0);
    MLX5_SET(qpc, qp->qpc, cur_rnr_retry, 0);
    MLX5_SET(qpc, qp->qpc, cur_retry_count, 0);
    MLX5_SET(qpc, qp->qpc, hw_sq_wqebb_counter, 0);
    MLX5_SET(qpc, qp->qpc, sw_sq_wqebb_counter, 0);
    MLX5_SET(qpc, qp->qpc, hw_rq_counter, 0);
    MLX5_SET(qpc, qp->qpc, sw_rq_counter, 0);
}

/*
 * INIT2INIT and RTS2RTS with an extended context (libmlx5: struct
 * mlx5_ifc_qpc_ext_bits). It is behind the plain one, in none of the kernel's
 * layouts; in bits:
 */
enum {
    EXT_FLAG = 0x40,
    EXT_STREAM = 0x890,          /* 16 bits */
    EXT_REQ_GROUP = 0x8a0,       /* 32 bits each */
    EXT_RESP_GROUP = 0x8c0,
    EXT_BYTES = 0x1d0,
};
/* opt_param_mask_95_32: one of these, alone. */
#define EXT_OPT_STREAM 1u        /* mlx5dv_dci_stream_id_reset() */
#define EXT_OPT_GROUPS 2u        /* mlx5dv_modify_qp_sched_elem() */

static bool has_extension(const Mlx5Cmd *cmd, uint16_t opcode)
{
    return (opcode == MLX5_CMD_OP_RTS2RTS_QP ||
            opcode == MLX5_CMD_OP_INIT2INIT_QP) &&
           mlx5_prm_get(cmd->in, EXT_FLAG, 1);
}

/* Return: 0, or the syndrome of what is wrong. */
static uint32_t reset_stream(Mlx5Qp *qp, const Mlx5Cmd *cmd)
{
    const Mlx5EngineOps *engine = qp->o.func->engine;

    if (qp->st != MLX5_QP_ST_DCI ||
        !MLX5_GET(qpc, qp->qpc, log_num_dci_stream_channels)) {
        return MLX5_SYND_QP_STREAM_SERVICE;
    }
    return engine && engine->dci_stream_reset &&
                   engine->dci_stream_reset(qp, mlx5_prm_get(cmd->in,
                                                             EXT_STREAM, 16))
               ? 0 : MLX5_SYND_QP_STREAM_GOOD;
}

static void apply_extension(Mlx5Qp *qp, Mlx5Cmd *cmd, uint16_t opcode)
{
    uint64_t mask = MLX5_GET(rts2rts_qp_in, cmd->in, opt_param_mask_95_32);
    uint32_t syndrome = MLX5_SYND_QP_EXT_MASK;

    if (cmd->in_len < EXT_BYTES) {
        syndrome = MLX5_SYND_QP_EXT_LENGTH;
    } else if (MLX5_GET(rts2rts_qp_in, cmd->in, opt_param_mask)) {
        syndrome = MLX5_SYND_QP_EXT_MASK;
    } else if (mask == EXT_OPT_GROUPS) {
        mlx5_qp_pace_groups(qp, cmd,
                            mlx5_prm_get(cmd->in, EXT_REQ_GROUP, 32),
                            mlx5_prm_get(cmd->in, EXT_RESP_GROUP, 32));
        return;
    } else if (mask == EXT_OPT_STREAM && opcode == MLX5_CMD_OP_RTS2RTS_QP) {
        syndrome = reset_stream(qp, cmd);
    }
    if (syndrome) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, syndrome);
    }
}

static void run(Mlx5Func *func, Mlx5Cmd *cmd, uint16_t opcode)
{
    const Transition *t = find_transition(opcode);
    /* The number is in the same place in all of them. */
    Mlx5Qp *qp = mlx5_obj_find(func, cmd, MLX5_OBJ_QP,
                               MLX5_GET(qp_2err_in, cmd->in, qpn),
                               MLX5_SYND_QP_UNKNOWN);

    if (!qp) {
        return;
    }
    if (!(t->services & MLX5_QP_ST_BIT(qp->st))) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_QP_TRANSITION_SERVICE);
        return;
    }
    if (!(t->from >> qp->state & 1)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_QP_STATE_ERR,
                      MLX5_SYND_QP_STATE);
        return;
    }
    if (has_extension(cmd, opcode)) {
        apply_extension(qp, cmd, opcode);
        return;
    }
    if (t->has_context) {
        apply_context(qp, cmd, t);
        return;
    }
    mlx5_qp_set_state(qp, t->to);
    if (t->to == MLX5_QP_STATE_RST) {
        forget_progress(qp);
    }
}

#define TRANSITION(handler, opcode)                          \
    void mlx5_cmd_##handler(Mlx5Func *func, Mlx5Cmd *cmd)    \
    {                                                        \
        run(func, cmd, MLX5_CMD_OP_##opcode);                \
    }
TRANSITION(rst2init_qp, RST2INIT_QP)
TRANSITION(init2init_qp, INIT2INIT_QP)
TRANSITION(init2rtr_qp, INIT2RTR_QP)
TRANSITION(rtr2rts_qp, RTR2RTS_QP)
TRANSITION(rts2rts_qp, RTS2RTS_QP)
TRANSITION(sqerr2rts_qp, SQERR2RTS_QP)
TRANSITION(sqd2rts_qp, SQD_RTS_QP)
TRANSITION(qp_2err, 2ERR_QP)
TRANSITION(qp_2rst, 2RST_QP)
