/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QUERY and MODIFY_CONG_STATUS, QUERY and MODIFY_CONG_PARAMS,
 * QUERY_CONG_STATISTICS (driver: mlx5_ib cong.c, counters.c); see cong.h.
 */
#include "obj/check.h"
#include "obj/cong.h"

#define PRIOS 8

typedef struct Row {
    Mlx5CongPoint point;
    uint32_t select;         /* its bit of field_select */
    uint32_t off, bits;      /* in congestion_parameters */
    size_t at;               /* in Mlx5CongParams */
    uint32_t least, most;
} Row;

#define ROW(p, l, bit, f, least, most)                              \
    { MLX5_CONG_##p, 1u << (bit), MLX5_BIT_OFF(l, f),               \
      MLX5_BIT_SZ(l, f), offsetof(Mlx5CongParams, f), least, most },
static const Row rows[] = {
#define RP(bit, field, preset, least, most) \
    ROW(RP, cong_control_r_roce_ecn_rp, bit, field, least, most)
#define NP(bit, field, preset, least, most) \
    ROW(NP, cong_control_r_roce_ecn_np, bit, field, least, most)
#include "obj/cong_params.def"
};

static uint32_t *param(Mlx5Func *func, const Row *row)
{
    return (uint32_t *)((char *)&func->cong->params + row->at);
}

/* Return: the protocol, 0 and the command refused if it is none of ours. */
static Mlx5CongPoint point(Mlx5Func *func, Mlx5Cmd *cmd)
{
    /* All four commands have it in the same place. */
    uint32_t p = MLX5_GET(query_cong_status_in, cmd->in, cong_protocol);

    return mlx5_check(cmd, func->props.congestion, MLX5_CMD_STAT_BAD_OP_ERR,
                      MLX5_SYND_CONG_OFF) &&
                   mlx5_check_param(cmd,
                                    p == MLX5_CONG_RP || p == MLX5_CONG_NP,
                                    MLX5_SYND_CONG_PROTOCOL)
               ? p : 0;
}

static bool prio_ok(Mlx5Cmd *cmd, uint32_t prio)
{
    return mlx5_check_param(cmd, prio < PRIOS, MLX5_SYND_CONG_PRIORITY);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_cong_status)
{
    uint32_t prio = MLX5_GET(query_cong_status_in, cmd->in, priority);
    Mlx5CongPoint p = point(func, cmd);

    if (p && prio_ok(cmd, prio)) {
        MLX5_SET(query_cong_status_out, cmd->out, enable,
                 mlx5_cong_on(func, p, prio));
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_cong_status)
{
    uint32_t prio = MLX5_GET(modify_cong_status_in, cmd->in, priority);
    Mlx5CongPoint p = point(func, cmd);

    if (!p || !prio_ok(cmd, prio) ||
        !mlx5_check_param(cmd, !MLX5_GET(modify_cong_status_in, cmd->in,
                                         tag_enable), MLX5_SYND_CONG_TAG)) {
        return;
    }
    func->cong->enabled[p] &= ~(1u << prio);
    func->cong->enabled[p] |=
        MLX5_GET(modify_cong_status_in, cmd->in, enable) << prio;
    mlx5_paths_changed(func);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_cong_params)
{
    uint8_t *out = MLX5_ADDR_OF(query_cong_params_out, cmd->out,
                                congestion_parameters);
    Mlx5CongPoint p = point(func, cmd);

    for (size_t i = 0; p && i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].point == p) {
            mlx5_prm_set(out, rows[i].off, rows[i].bits,
                         *param(func, &rows[i]));
        }
    }
}

/* Return: 0 or the syndrome of what is wrong. */
static uint32_t check_params(Mlx5CongPoint p, uint32_t select,
                             const uint8_t *in)
{
    uint32_t known = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *row = &rows[i];
        uint32_t v = mlx5_prm_get(in, row->off, row->bits);

        if (row->point != p) {
            continue;
        }
        known |= row->select;
        if (select & row->select && (v < row->least || v > row->most)) {
            return MLX5_SYND_CONG_RANGE;
        }
    }
    return select & ~known ? MLX5_SYND_CONG_SELECT : 0;
}

/* Flows that are slowed follow the new ones from their next packet on. */
MLX5_CMD_HANDLER(mlx5_cmd_modify_cong_params)
{
    const uint8_t *in = MLX5_ADDR_OF(modify_cong_params_in, cmd->in,
                                     congestion_parameters);
    uint32_t select = MLX5_GET(modify_cong_params_in, cmd->in, field_select);
    Mlx5CongPoint p = point(func, cmd);
    uint32_t bad = p ? check_params(p, select, in) : 0;

    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    for (size_t i = 0; p && i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].point == p && select & rows[i].select) {
            *param(func, &rows[i]) = mlx5_prm_get(in, rows[i].off,
                                                  rows[i].bits);
        }
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_query_cong_statistics)
{
    Mlx5Cong *c = func->cong;

    if (!mlx5_check(cmd, func->props.congestion, MLX5_CMD_STAT_BAD_OP_ERR,
                    MLX5_SYND_CONG_OFF)) {
        return;
    }
#define COUNTER(name)                                                         \
    do {                                                                      \
        MLX5_SET(query_cong_statistics_out, cmd->out, name##_high,            \
                 c->name >> 32);                                              \
        MLX5_SET(query_cong_statistics_out, cmd->out, name##_low,             \
                 (uint32_t)c->name);                                          \
    } while (0)
    COUNTER(rp_cnp_ignored);
    COUNTER(rp_cnp_handled);
    COUNTER(np_ecn_marked_roce_packets);
    COUNTER(np_cnp_sent);
#undef COUNTER
    MLX5_SET(query_cong_statistics_out, cmd->out, rp_cur_flows,
             mlx5_cong_num_flows(func));
    if (MLX5_GET(query_cong_statistics_in, cmd->in, clear)) {
        c->rp_cnp_ignored = c->rp_cnp_handled = 0;
        c->np_ecn_marked_roce_packets = c->np_cnp_sent = 0;
    }
}
