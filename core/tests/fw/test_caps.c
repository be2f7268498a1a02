/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities: groups and their gates, both sets, what SET_HCA_CAP takes,
 * and that what is advertised is what objects enforce.
 */
#include "tests/fw/fw_helper.h"

#include "fw/roce.h"
#include "obj/eth_limits.h"
#include "obj/limits.h"
#include "obj/sched.h"

enum { GENERAL = 0, ETHERNET = 1, ODP = 2, ATOMIC = 3, ROCE = 4, FLOW = 7,
       QOS = 0xc, DEBUG = 0xd, DEVICE_MEMORY = 0xf, EVENTS = 0x14,
       GENERAL_2 = 0x20 };
enum { MAXIMUM = 0, CUR = 1 };

#define CAP_BYTES 0x1000

static FakeDriver *enabled(const Mlx5FuncProps *props)
{
    FakeDriver *d = fake_driver_new(fake_host_new(props));
    FAKE_BUFFERS(enable_hca);

    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, in, out);
    return d;
}

static bool query(FakeDriver *d, uint32_t type, uint32_t mode, uint8_t *cap)
{
    FAKE_BUFFERS(query_hca_cap);
    bool ok;

    MLX5_SET(query_hca_cap_in, in, op_mod, type << 1 | mode);
    ok = FAKE_CMD(d, QUERY_HCA_CAP, query_hca_cap, in, out);
    memcpy(cap, out + 16, CAP_BYTES);
    return ok;
}

static bool set(FakeDriver *d, uint32_t type, const uint8_t *cap, uint32_t len)
{
    uint8_t in[16 + CAP_BYTES] = { 0 }, out[16];

    MLX5_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
    MLX5_SET(set_hca_cap_in, in, op_mod, type << 1);
    memcpy(in + 16, cap, CAP_BYTES);
    return fake_driver_cmd(d, in, 16 + len, out, sizeof(out));
}

#define GET(cap, f) MLX5_GET(cmd_hca_cap, cap, f)

START_TEST(groups)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES];

    for (uint32_t type = 0; type < 0x40; type++) {
        bool have = type == GENERAL || type == ETHERNET || type == ATOMIC ||
                    type == ROCE || type == FLOW || type == ODP ||
                    type == QOS || type == DEBUG || type == DEVICE_MEMORY ||
                    type == EVENTS || type == GENERAL_2;

        for (uint32_t mode = MAXIMUM; mode <= CUR; mode++) {
            ck_assert_int_eq(query(d, type, mode, cap), have);
            if (!have) {
                ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_PARAM_ERR);
                ck_assert_uint_eq(d->syndrome, MLX5_SYND_CAP_GROUP);
            }
        }
    }
    ck_assert(!set(d, 5, cap, CAP_BYTES));
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_SET_CAP_GROUP);
    t_free(d);
}
END_TEST

START_TEST(gates_follow_properties)
{
    Mlx5FuncProps p;
    FakeDriver *d;
    uint8_t cap[CAP_BYTES];

    mlx5_func_props_default(&p);
    p.roce = p.atomic = p.mw = p.xrc = p.local_lb = false;
    p.null_mkey = false;
    p.devx = false;
    p.log_max_qp = 9;
    d = enabled(&p);
    ck_assert(query(d, GENERAL, CUR, cap));
    ck_assert_uint_eq(GET(cap, roce), 0);
    ck_assert_uint_eq(GET(cap, atomic), 0);
    ck_assert_uint_eq(GET(cap, imaicl), 0);
    ck_assert_uint_eq(GET(cap, null_mkey), 0);
    ck_assert_uint_eq(GET(cap, dump_fill_mkey), 0);
    ck_assert_uint_eq(GET(cap, xrc), 0);
    ck_assert_uint_eq(GET(cap, disable_local_lb_uc), 0);
    ck_assert_uint_eq(GET(cap, log_max_qp), 9);
    ck_assert_uint_eq(GET(cap, general_obj_types), 0);
    ck_assert(!query(d, ROCE, CUR, cap));
    ck_assert(!query(d, ATOMIC, MAXIMUM, cap));
    ck_assert(!query(d, EVENTS, MAXIMUM, cap));
    ck_assert(!query(d, GENERAL_2, MAXIMUM, cap));
    t_free(d);
}
END_TEST

/* Each half by its property; what is not there names no limit. */
START_TEST(qos)
{
    Mlx5FuncProps p;
    uint8_t cap[CAP_BYTES];

    for (unsigned on = 0; on < 4; on++) {
        FakeDriver *d;

        mlx5_func_props_default(&p);
        p.packet_pacing = on & 1;
        p.qos_scheduling = on >> 1;
        d = enabled(&p);
        ck_assert(query(d, GENERAL, CUR, cap));
        ck_assert_uint_eq(GET(cap, qos), on != 0);
        ck_assert_uint_eq(GET(cap, general_obj_types) >> 0x26 & 1, on >> 1);
        ck_assert_int_eq(query(d, QOS, CUR, cap), on != 0);
        if (on) {
#define SAME(f, v) ck_assert_uint_eq(MLX5_GET(qos_cap, cap, f), v)
            SAME(packet_pacing, on & 1);
            SAME(packet_pacing_uid, on & 1);
            SAME(packet_pacing_rate_table_size,
                 on & 1 ? MLX5_RATE_TABLE_SIZE : 0);
            SAME(packet_pacing_min_rate, on & 1 ? MLX5_RATE_MIN_KBPS : 0);
            SAME(packet_pacing_max_rate, on & 1 ? MLX5_RATE_MAX_KBPS : 0);
            SAME(nic_sq_scheduling, on >> 1);
            SAME(nic_qp_scheduling, on >> 1);
            SAME(nic_element_type, on >> 1 ? 1 << MLX5_SCHED_TSAR |
                                   1 << MLX5_SCHED_QUEUE_GROUP : 0);
            SAME(log_max_qos_nic_queue_group,
                 on >> 1 ? MLX5_LOG_MAX_QUEUE_GROUP : 0);
            SAME(esw_scheduling, 0);
#undef SAME
        }
        t_free(d);
    }
}
END_TEST

/* A driver arms its queue of asynchronous events with these, too. */
START_TEST(user_events)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES];

    for (uint32_t mode = MAXIMUM; mode <= CUR; mode++) {
        ck_assert(query(d, EVENTS, mode, cap));
        /* 0..5 of queues, 0x10..0x14 of their errors, 0x1c and 0x1d of DC. */
        ck_assert_uint_eq(MLX5_GET_IDX(device_event_cap, cap,
                                       user_affiliated_events, 0), 0x301f003f);
        /* A port's change. */
        ck_assert_uint_eq(MLX5_GET_IDX(device_event_cap, cap,
                                       user_unaffiliated_events, 0), 0x200);
        for (uint32_t i = 1; i < 4; i++) {
            ck_assert_uint_eq(MLX5_GET_IDX(device_event_cap, cap,
                                           user_affiliated_events, i), 0);
            ck_assert_uint_eq(MLX5_GET_IDX(device_event_cap, cap,
                                           user_unaffiliated_events, i), 0);
        }
    }
    t_free(d);
}
END_TEST

/* What drivers cannot do without (contract of mlx5_core, mlx5_ib, mlx5e). */
START_TEST(drivers_need)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES];
    const uint8_t *rx = cap + MLX5_BYTE_OFF(
        flow_table_nic_cap, flow_table_properties_nic_receive);

    ck_assert(query(d, GENERAL, CUR, cap));
    ck_assert_uint_ge(GET(cap, log_max_eq), 4);
    ck_assert_uint_eq(GET(cap, xrc), 1);
    ck_assert_uint_eq(GET(cap, port_type), 1);
    ck_assert_uint_eq(GET(cap, num_ports), 1);
    ck_assert_uint_ge(GET(cap, max_wqe_sz_sq), 1024);
    ck_assert_uint_eq(GET(cap, log_pg_sz), 12);
    ck_assert_uint_gt(GET(cap, num_of_uars_per_page), 0);
    ck_assert_uint_eq(GET(cap, device_frequency_khz), MLX5_FW_TIMER_KHZ);
    ck_assert_uint_eq(GET(cap, affiliate_nic_vport_criteria), 0);
    ck_assert(query(d, ETHERNET, CUR, cap));
    ck_assert_uint_gt(MLX5_GET(per_protocol_networking_offload_caps, cap,
                               rss_ind_tbl_cap), 0);
    ck_assert(query(d, FLOW, CUR, cap));
    ck_assert_uint_eq(MLX5_GET(flow_table_prop_layout, rx, ft_support), 1);
    ck_assert_uint_ge(MLX5_GET(flow_table_prop_layout, rx, max_ft_level), 59);
    ck_assert(query(d, ROCE, CUR, cap));
    ck_assert_uint_eq(MLX5_GET(roce_cap, cap, roce_version), 5);
    t_free(d);
}
END_TEST

START_TEST(limits_are_those_enforced)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES];

    ck_assert(query(d, GENERAL, MAXIMUM, cap));
    ck_assert_uint_eq(GET(cap, log_max_pd), MLX5_LOG_MAX_PD);
    ck_assert_uint_eq(GET(cap, log_max_transport_domain),
                      MLX5_LOG_MAX_TRANSPORT_DOMAIN);
    ck_assert_uint_eq(GET(cap, log_max_xrcd), MLX5_LOG_MAX_XRCD);
    ck_assert_uint_eq(GET(cap, log_max_eq), MLX5_LOG_MAX_EQ);
    ck_assert_uint_eq(GET(cap, log_max_eq_sz), MLX5_LOG_MAX_EQ_SZ);
    ck_assert_uint_eq(GET(cap, log_max_srq), MLX5_LOG_MAX_SRQ);
    ck_assert_uint_eq(GET(cap, log_max_srq_sz), MLX5_LOG_MAX_SRQ_SZ);
    ck_assert_uint_eq(GET(cap, log_max_qp_sz), MLX5_LOG_MAX_QP_SZ);
    ck_assert_uint_eq(GET(cap, max_qp_cnt), MLX5_MAX_QP_CNT);
    ck_assert_uint_eq(GET(cap, log_max_tis), MLX5_LOG_MAX_TIS);
    ck_assert_uint_eq(GET(cap, log_max_tir), MLX5_LOG_MAX_TIR);
    ck_assert_uint_eq(GET(cap, log_max_rqt), MLX5_LOG_MAX_RQT);
    ck_assert_uint_eq(GET(cap, log_max_sq), MLX5_LOG_MAX_SQ);
    ck_assert_uint_eq(GET(cap, log_max_rq), MLX5_LOG_MAX_RQ);
    ck_assert_uint_eq(GET(cap, log_max_msg), MLX5_LOG_MAX_MSG);
    ck_assert_uint_eq(GET(cap, log_max_ra_req_qp), MLX5_LOG_MAX_RA_QP);
    ck_assert_uint_eq(GET(cap, max_wqe_sz_sq), MLX5_MAX_WQE_SZ_SQ);
    ck_assert_uint_eq(GET(cap, max_wqe_sz_rq), MLX5_MAX_WQE_SZ_RQ);
    ck_assert_uint_eq(GET(cap, log_max_wq_sz), MLX5_LOG_MAX_WQ_SZ);
    ck_assert_uint_eq(GET(cap, log_max_stride_sz_rq),
                      MLX5_LOG_MAX_STRIDE_SZ_RQ);
    ck_assert_uint_eq(GET(cap, log_max_rqt_size), MLX5_LOG_MAX_RQT_SIZE);
    t_free(d);
}
END_TEST

START_TEST(sends_without_record)
{
    for (uint32_t on = 0; on < 2; on++) {
        Mlx5FuncProps p;
        FakeDriver *d;
        uint8_t cap[CAP_BYTES];

        mlx5_func_props_default(&p);
        p.dbr_less = on;
        d = enabled(&p);
        ck_assert(query(d, GENERAL_2, CUR, cap));
        ck_assert_uint_eq(MLX5_GET(cmd_hca_cap_2, cap,
                                   send_dbr_mode_no_dbr_ext), on);
        ck_assert_uint_eq(MLX5_GET(cmd_hca_cap_2, cap,
                                   log_max_send_dbr_less_qp_sq),
                          on ? MLX5_LOG_MAX_QP_SZ : 0);
        t_free(d);
    }
}
END_TEST

START_TEST(set_general)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES], now[CAP_BYTES];

    ck_assert(query(d, GENERAL, CUR, cap));
    /* Writing back what was read changes nothing. */
    ck_assert(set(d, GENERAL, cap, CAP_BYTES));
    ck_assert(query(d, GENERAL, CUR, now));
    ck_assert_mem_eq(cap, now, CAP_BYTES);
    MLX5_SET(cmd_hca_cap, cap, cache_line_128byte, 1);
    MLX5_SET(cmd_hca_cap, cap, log_max_qp, 10);
    /* Bits we do not know are ignored. */
    cap[1] = 0xff;
    ck_assert(set(d, GENERAL, cap, CAP_BYTES));
    ck_assert(query(d, GENERAL, CUR, now));
    ck_assert_uint_eq(GET(now, cache_line_128byte), 1);
    ck_assert_uint_eq(GET(now, log_max_qp), 10);
    MLX5_SET(cmd_hca_cap, cap, apm, 1);
    ck_assert(!set(d, GENERAL, cap, CAP_BYTES));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_PARAM_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_CAP_ABOVE_MAX);
    ck_assert(query(d, GENERAL, CUR, cap));
    ck_assert_mem_eq(cap, now, CAP_BYTES);
    /* A short input changes only what it holds. */
    memset(cap, 0, sizeof(cap));
    ck_assert(set(d, GENERAL, cap, 4));
    ck_assert(query(d, GENERAL, CUR, cap));
    ck_assert_uint_eq(GET(cap, log_max_qp), 10);
    t_free(d);
}
END_TEST

/* roce off is the user's choice (devlink): then it is off everywhere. */
START_TEST(set_roce)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES];

    ck_assert(query(d, ROCE, CUR, cap));
    ck_assert_uint_eq(MLX5_GET(roce_cap, cap, sw_r_roce_src_udp_port), 0);
    MLX5_SET(roce_cap, cap, sw_r_roce_src_udp_port, 1);
    ck_assert(set(d, ROCE, cap, 256));
    ck_assert(query(d, ROCE, CUR, cap));
    ck_assert_uint_eq(MLX5_GET(roce_cap, cap, sw_r_roce_src_udp_port), 1);
    t_free(d);
}
END_TEST

START_TEST(set_atomic)
{
    FakeDriver *d = enabled(NULL);
    uint8_t cap[CAP_BYTES] = { 0 };

    ck_assert(!mlx5_fw_atomic_host_order(d->host->func));
    MLX5_SET(atomic_caps, cap, atomic_req_8B_endianness_mode, 2);
    ck_assert(!set(d, ATOMIC, cap, 256));
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_CAP_ATOMIC_MODE);
    MLX5_SET(atomic_caps, cap, atomic_req_8B_endianness_mode, 1);
    ck_assert(set(d, ATOMIC, cap, 256));
    ck_assert(mlx5_fw_atomic_host_order(d->host->func));
    /* Everything else of the group stays. */
    ck_assert(query(d, ATOMIC, CUR, cap));
    ck_assert_uint_eq(MLX5_GET(atomic_caps, cap, atomic_operations), 0xf);
    t_free(d);
}
END_TEST

START_TEST(wrong_time_or_function)
{
    FakeDriver *d = t_running();
    uint8_t cap[CAP_BYTES];
    FAKE_BUFFERS(query_hca_cap);

    ck_assert(query(d, GENERAL, CUR, cap));
    ck_assert(!set(d, GENERAL, cap, CAP_BYTES));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_SYS_STATE_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_SET_CAP_STATE);
    MLX5_SET(query_hca_cap_in, in, other_function, 1);
    FAKE_CMD_FAILS(d, QUERY_HCA_CAP, query_hca_cap, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CAP_FUNCTION);
    t_free(d);
}
END_TEST

T_MAIN("caps", groups, gates_follow_properties, qos, user_events, drivers_need,
       limits_are_those_enforced, sends_without_record, set_general, set_roce, set_atomic,
       wrong_time_or_function)
