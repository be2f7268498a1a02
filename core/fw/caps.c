/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HCA capabilities: a current and a maximum set per group (PRM: HCA
 * Capabilities; driver: fw.c mlx5_query_hca_caps, main.c set_hca_cap).
 *
 * Values come from caps_table.def, the properties and the model. SET_HCA_CAP
 * works before INIT_HCA, on fields we know, up to the maximum; what we do not
 * know is ignored, as the driver writes back whole blocks it read.
 */
#include "fw/fw_internal.h"

/** op_mod of QUERY_HCA_CAP: type << 1 | mode; of SET_HCA_CAP: type << 1. */
enum {
    MODE_MAX = 0,
    MODE_CUR = 1,
};

/** A group: its number, its layout, and the bit of the general group that
 * says it exists (0 = always). */
static const struct {
    uint16_t type;
    const Mlx5Layout *layout;
    uint32_t gate_off;
} groups[] = {
    [MLX5_CAP_GROUP_GENERAL] = { 0x0, &mlx5_layout_cmd_hca_cap, 0 },
    [MLX5_CAP_GROUP_ETHERNET] = {
        0x1, &mlx5_layout_per_protocol_networking_offload_caps,
        MLX5_BIT_OFF(cmd_hca_cap, eth_net_offloads) },
    [MLX5_CAP_GROUP_ODP] = { 0x2, &mlx5_layout_odp_cap,
                             MLX5_BIT_OFF(cmd_hca_cap, pg) },
    [MLX5_CAP_GROUP_ATOMIC] = { 0x3, &mlx5_layout_atomic_caps,
                                MLX5_BIT_OFF(cmd_hca_cap, atomic) },
    [MLX5_CAP_GROUP_ROCE] = { 0x4, &mlx5_layout_roce_cap,
                              MLX5_BIT_OFF(cmd_hca_cap, roce) },
    [MLX5_CAP_GROUP_FLOW_TABLE] = {
        0x7, &mlx5_layout_flow_table_nic_cap,
        MLX5_BIT_OFF(cmd_hca_cap, nic_flow_table) },
    [MLX5_CAP_GROUP_DEVICE_MEMORY] = {
        0xf, &mlx5_layout_device_mem_cap,
        MLX5_BIT_OFF(cmd_hca_cap, device_memory) },
    [MLX5_CAP_GROUP_EVENTS] = { 0x14, &mlx5_layout_device_event_cap,
                                MLX5_BIT_OFF(cmd_hca_cap, event_cap) },
    [MLX5_CAP_GROUP_QOS] = { 0xc, &mlx5_layout_qos_cap,
                             MLX5_BIT_OFF(cmd_hca_cap, qos) },
    [MLX5_CAP_GROUP_DEBUG] = { 0xd, &mlx5_layout_debug_cap,
                               MLX5_BIT_OFF(cmd_hca_cap, debug) },
    [MLX5_CAP_GROUP_GENERAL_2] = { 0x20, &mlx5_layout_cmd_hca_cap_2,
                                   MLX5_BIT_OFF(cmd_hca_cap, hca_cap_2) },
};

G_STATIC_ASSERT(G_N_ELEMENTS(groups) == MLX5_CAP_GROUP_COUNT);

typedef struct CapRow {
    Mlx5CapGroup group;
    uint32_t bit_off, bits;
    uint64_t cur, max;
    size_t prop;             /* place of the bool in Mlx5FuncProps; 0: none */
} CapRow;

#define RX_OFF MLX5_BIT_OFF(flow_table_nic_cap, \
                            flow_table_properties_nic_receive)
#define TX_OFF MLX5_BIT_OFF(flow_table_nic_cap, \
                            flow_table_properties_nic_transmit)
#define RDMA_RX_OFF MLX5_BIT_OFF(flow_table_nic_cap, \
                                 flow_table_properties_nic_receive_rdma)
#define RDMA_TX_OFF MLX5_BIT_OFF(flow_table_nic_cap, \
                                 flow_table_properties_nic_transmit_rdma)
/* A field that can be matched, and in any of its bits. */
#define MATCH(base, f)                                                   \
    { MLX5_CAP_GROUP_FLOW_TABLE, (base) +                                \
      MLX5_BIT_OFF(flow_table_prop_layout, ft_field_support) +           \
      MLX5_BIT_OFF(flow_table_fields_supported, f),                      \
      MLX5_BIT_SZ(flow_table_fields_supported, f),                       \
      (1u << MLX5_BIT_SZ(flow_table_fields_supported, f)) - 1,           \
      (1u << MLX5_BIT_SZ(flow_table_fields_supported, f)) - 1, 0 },      \
    { MLX5_CAP_GROUP_FLOW_TABLE, (base) +                                \
      MLX5_BIT_OFF(flow_table_prop_layout, ft_field_bitmask_support) +   \
      MLX5_BIT_OFF(flow_table_fields_supported, f),                      \
      MLX5_BIT_SZ(flow_table_fields_supported, f),                       \
      (1u << MLX5_BIT_SZ(flow_table_fields_supported, f)) - 1,           \
      (1u << MLX5_BIT_SZ(flow_table_fields_supported, f)) - 1, 0 },

static const CapRow rows[] = {
#define CAP(g, l, f, c, m) \
    { MLX5_CAP_GROUP_##g, MLX5_BIT_OFF(l, f), MLX5_BIT_SZ(l, f), c, m, 0 },
#define CAP_IF(p, g, l, f, v)                                            \
    { MLX5_CAP_GROUP_##g, MLX5_BIT_OFF(l, f), MLX5_BIT_SZ(l, f), v, v,   \
      offsetof(Mlx5FuncProps, p) },
#define CAP_RX(l, f, v)                                                  \
    { MLX5_CAP_GROUP_FLOW_TABLE, RX_OFF + MLX5_BIT_OFF(l, f),            \
      MLX5_BIT_SZ(l, f), v, v, 0 },
#define CAP_TX(l, f, v)                                                  \
    { MLX5_CAP_GROUP_FLOW_TABLE, TX_OFF + MLX5_BIT_OFF(l, f),            \
      MLX5_BIT_SZ(l, f), v, v, 0 },
#define CAP_RDMA_RX(l, f, v)                                             \
    { MLX5_CAP_GROUP_FLOW_TABLE, RDMA_RX_OFF + MLX5_BIT_OFF(l, f),       \
      MLX5_BIT_SZ(l, f), v, v, 0 },
#define CAP_RDMA(l, f, v) CAP_RDMA_RX(l, f, v)                           \
    { MLX5_CAP_GROUP_FLOW_TABLE, RDMA_TX_OFF + MLX5_BIT_OFF(l, f),       \
      MLX5_BIT_SZ(l, f), v, v, 0 },
#define CAP_MATCH(f) MATCH(RX_OFF, f) MATCH(TX_OFF, f)
#define CAP_MATCH_ROCE(f) \
    CAP_MATCH(f) MATCH(RDMA_RX_OFF, f) MATCH(RDMA_TX_OFF, f)
#define CAP_ODP(s, t, f, c, m)                                           \
    { MLX5_CAP_GROUP_ODP,                                                \
      MLX5_BIT_OFF(odp_cap, s##_page_fault_scheme_cap) +                 \
          MLX5_BIT_OFF(odp_scheme_cap, t##_odp_caps) +                   \
          MLX5_BIT_OFF(odp_per_transport_service_cap, f), 1, c, m, 0 },
#include "fw/caps_table.def"
};

#define GEN_SET(caps, field, v)                                                \
    do {                                                                       \
        MLX5_SET(cmd_hca_cap, (caps)->cur[MLX5_CAP_GROUP_GENERAL], field, v);  \
        MLX5_SET(cmd_hca_cap, (caps)->max[MLX5_CAP_GROUP_GENERAL], field, v);  \
    } while (0)

static uint32_t group_bytes(Mlx5CapGroup g)
{
    return groups[g].layout->bits / 8;
}

void mlx5_caps_new(Mlx5Func *func)
{
    Mlx5Caps *caps = &func->fw->caps;

    for (unsigned g = 0; g < MLX5_CAP_GROUP_COUNT; g++) {
        caps->cur[g] = g_malloc0(group_bytes(g));
        caps->max[g] = g_malloc0(group_bytes(g));
    }
}

void mlx5_caps_free(Mlx5Func *func)
{
    Mlx5Caps *caps = &func->fw->caps;

    for (unsigned g = 0; g < MLX5_CAP_GROUP_COUNT; g++) {
        g_free(caps->cur[g]);
        g_free(caps->max[g]);
    }
}

/* steering_format_version (driver: enum mlx5_ifc_steering_format_version). */
static uint32_t steering_format(Mlx5Model model)
{
    static const uint8_t version[MLX5_MODEL_COUNT] = {
        [MLX5_MODEL_CX5] = 0, [MLX5_MODEL_CX6DX] = 1, [MLX5_MODEL_CX7] = 2,
    };

    return version[model];
}

/* Drivers take the memory scheme if it is there and can prefetch. */
static void set_odp_schemes(Mlx5Caps *caps, bool memory)
{
    uint8_t *max = caps->max[MLX5_CAP_GROUP_ODP];

    MLX5_SET(odp_cap, max, mem_page_fault, memory);
    MLX5_SET(odp_scheme_cap,
             MLX5_ADDR_OF(odp_cap, max, memory_page_fault_scheme_cap),
             page_prefetch, memory);
}

/* Of the second half of the general capabilities. */
static void set_general_2(Mlx5Caps *caps, const Mlx5FuncProps *p)
{
    for (unsigned m = 0; m < 2; m++) {
        uint8_t *cap = (m ? caps->max : caps->cur)[MLX5_CAP_GROUP_GENERAL_2];

        MLX5_SET(cmd_hca_cap_2, cap, send_dbr_mode_no_dbr_ext, p->dbr_less);
        MLX5_SET(cmd_hca_cap_2, cap, log_max_send_dbr_less_qp_sq,
                 p->dbr_less ? 15 : 0);
    }
}

/* Compare and swap, fetch and add; the next two bits: both also masked. */
static void set_atomic_ops(Mlx5Caps *caps, const Mlx5FuncProps *p)
{
    for (unsigned m = 0; m < 2; m++) {
        uint8_t *cap = (m ? caps->max : caps->cur)[MLX5_CAP_GROUP_ATOMIC];

        MLX5_SET(atomic_caps, cap, atomic_operations,
                 p->masked_atomic ? 0xf : 0x3);
    }
}

static void set_dc(Mlx5Caps *caps, const Mlx5FuncProps *p)
{
    GEN_SET(caps, dct, p->dc);
    GEN_SET(caps, dc_req_scat_data_cqe, p->dc && p->scatter_to_cqe);
    GEN_SET(caps, log_max_ra_req_dc, p->dc ? 4 : 0);
    GEN_SET(caps, log_max_ra_res_dc, p->dc ? 4 : 0);
    GEN_SET(caps, log_max_dci_stream_channels, p->dc && p->dci_streams ? 6 : 0);
    GEN_SET(caps, log_max_dci_errored_streams, p->dc && p->dci_streams ? 6 : 0);
    GEN_SET(caps, qpc_extension, p->dc || p->qos_scheduling);
    MLX5_SET(atomic_caps, caps->cur[MLX5_CAP_GROUP_ATOMIC], atomic_size_dc,
             p->dc ? 0xc : 0);
    MLX5_SET(atomic_caps, caps->max[MLX5_CAP_GROUP_ATOMIC], atomic_size_dc,
             p->dc ? 0xc : 0);
}

/* As obj/pace.h and obj/sched.h have them; core/tests/fw/test_caps.c compares. */
enum { RATE_TABLE_SIZE = 128, RATE_MIN_KBPS = 1, RATE_MAX_KBPS = 100000000,
       LOG_MAX_QUEUE_GROUP = 8 };
/* nic_element_type: TSAR and queue group; nic_tsar_type: DWRR. */
enum { ELEMENT_TYPES = 1 << 0 | 1 << 4, TSAR_TYPES = 1 << 0 };

#define QOS_SET(caps, field, v)                                                \
    do {                                                                       \
        MLX5_SET(qos_cap, (caps)->cur[MLX5_CAP_GROUP_QOS], field, v);          \
        MLX5_SET(qos_cap, (caps)->max[MLX5_CAP_GROUP_QOS], field, v);          \
    } while (0)

static void set_qos(Mlx5Caps *caps, const Mlx5FuncProps *p)
{
    bool pp = p->packet_pacing, sched = p->qos_scheduling;

    GEN_SET(caps, qos, pp || sched);
    /*
     * Registers C that a meter could put its colour in: all that steering has.
     * It promises no meter; flow_meter and log_max_flow_meter stay 0.
     */
    QOS_SET(caps, flow_meter_reg_id, pp || sched ? 0xff : 0);
    QOS_SET(caps, packet_pacing, pp);
    QOS_SET(caps, packet_pacing_burst_bound, pp);
    QOS_SET(caps, packet_pacing_typical_size, pp);
    QOS_SET(caps, packet_pacing_uid, pp);
    QOS_SET(caps, packet_pacing_rate_table_size, pp ? RATE_TABLE_SIZE : 0);
    QOS_SET(caps, packet_pacing_min_rate, pp ? RATE_MIN_KBPS : 0);
    QOS_SET(caps, packet_pacing_max_rate, pp ? RATE_MAX_KBPS : 0);
    QOS_SET(caps, nic_sq_scheduling, sched);
    QOS_SET(caps, nic_qp_scheduling, sched);
    QOS_SET(caps, nic_bw_share, sched);
    QOS_SET(caps, nic_rate_limit, sched);
    QOS_SET(caps, nic_element_type, sched ? ELEMENT_TYPES : 0);
    QOS_SET(caps, nic_tsar_type, sched ? TSAR_TYPES : 0);
    QOS_SET(caps, log_max_qos_nic_queue_group,
            sched ? LOG_MAX_QUEUE_GROUP : 0);
}

static uint64_t general_types(const Mlx5FuncProps *p)
{
    return !p->devx ? 0 : (p->reserved_qpn ? MLX5_FW_GENERAL_RESERVED_QPN : 0) |
                          (p->av_qp_mapping ? MLX5_FW_GENERAL_AV_QP : 0) |
                          (p->qos_scheduling ? MLX5_FW_GENERAL_SCHED : 0);
}

static void set_from_props(Mlx5Func *func, Mlx5Caps *caps)
{
    const Mlx5FuncProps *p = &func->props;

    GEN_SET(caps, vhca_id, func->vhca_id);
    GEN_SET(caps, log_max_qp, p->log_max_qp);
    GEN_SET(caps, log_max_cq, p->log_max_cq);
    GEN_SET(caps, log_max_cq_sz, p->log_max_cq_sz);
    GEN_SET(caps, log_max_mkey, p->log_max_mkey);
    GEN_SET(caps, uar_sz, p->log_bar_size - 20);
    GEN_SET(caps, rts2rts_qp_udp_sport, p->udp_sport);
    GEN_SET(caps, hca_cap_2, p->devx);
    GEN_SET(caps, event_cap, p->devx);
    GEN_SET(caps, general_obj_types, general_types(p));
    GEN_SET(caps, log_max_uctx, p->devx ? MLX5_FW_LOG_MAX_UCTX : 0);
    GEN_SET(caps, log_max_umem, p->devx ? MLX5_FW_LOG_MAX_UMEM : 0);
    GEN_SET(caps, umem_uid_0, p->devx);
    GEN_SET(caps, uctx_cap, p->devx ? MLX5_FW_UCTX_CAP : 0);
    GEN_SET(caps, imaicl, p->mw);
    GEN_SET(caps, null_mkey, p->null_mkey);
    GEN_SET(caps, dump_fill_mkey, p->null_mkey);
    GEN_SET(caps, sho, p->signature);
    GEN_SET(caps, sigerr_cqe, p->signature);
    GEN_SET(caps, drain_sigerr, p->signature);
    GEN_SET(caps, sigerr_domain_and_sig_type, p->signature);
    GEN_SET(caps, sig_crc32c, p->signature);
    GEN_SET(caps, sig_crc64_xp10, p->signature);
    GEN_SET(caps, sig_block_4048, p->signature);
    GEN_SET(caps, xrc, p->xrc);
    GEN_SET(caps, atomic, p->atomic);
    GEN_SET(caps, pg, p->odp);
    set_odp_schemes(caps, p->odp_mem);
    GEN_SET(caps, roce, p->roce);
    GEN_SET(caps, log_max_mcg, p->mcast ? 12 : 0);
    GEN_SET(caps, max_qp_mcg, p->mcast ? 240 : 0);
    GEN_SET(caps, block_lb_mc, p->mcast);
    set_atomic_ops(caps, p);
    set_dc(caps, p);
    set_general_2(caps, p);
    set_qos(caps, p);
    GEN_SET(caps, cqe_compression, p->cqe_compression);
    GEN_SET(caps, cqe_compression_128, p->cqe_compression);
    GEN_SET(caps, mini_cqe_resp_stride_index, p->cqe_compression);
    GEN_SET(caps, enhanced_cqe_compression, p->cqe_compression);
    GEN_SET(caps, cqe_compression_max_num, p->cqe_compression ? 64 : 0);
    GEN_SET(caps, cqe_128_always, p->cqe_128_always);
    GEN_SET(caps, sctr_data_cqe, p->scatter_to_cqe);
    GEN_SET(caps, cq_period_mode_modify, p->cq_period_modes);
    GEN_SET(caps, cq_period_start_from_cqe, p->cq_period_modes);
    /* 2: free running and real time. */
    GEN_SET(caps, sq_ts_format, p->rtc ? 2 : 0);
    GEN_SET(caps, rq_ts_format, p->rtc ? 2 : 0);
    MLX5_SET(roce_cap, caps->cur[MLX5_CAP_GROUP_ROCE], qp_ts_format,
             p->rtc ? 2 : 0);
    MLX5_SET(roce_cap, caps->max[MLX5_CAP_GROUP_ROCE], qp_ts_format,
             p->rtc ? 2 : 0);
    GEN_SET(caps, device_memory, p->dm);
    MLX5_SET(device_mem_cap, caps->cur[MLX5_CAP_GROUP_DEVICE_MEMORY],
             memic_bar_start_addr, mlx5_memic_bar_start(p));
    MLX5_SET(device_mem_cap, caps->max[MLX5_CAP_GROUP_DEVICE_MEMORY],
             memic_bar_start_addr, mlx5_memic_bar_start(p));
    GEN_SET(caps, disable_local_lb_uc, p->local_lb);
    GEN_SET(caps, disable_local_lb_mc, p->local_lb);
    GEN_SET(caps, tag_matching, p->tag_matching);
    GEN_SET(caps, rndv_offload_rc, p->tag_matching);
    GEN_SET(caps, log_tag_matching_list_sz, p->tag_matching ? 7 : 0);
    GEN_SET(caps, log_max_xrq, p->tag_matching ? 16 : 0);
    GEN_SET(caps, steering_format_version, steering_format(p->model));
}

/* A field of both NIC table types' properties. */
#define FT_SET(caps, field, v)                                                 \
    do {                                                                       \
        for (unsigned m = 0; m < 2; m++) {                                     \
            uint8_t *ft = (m ? (caps)->max : (caps)->cur)                      \
                [MLX5_CAP_GROUP_FLOW_TABLE];                                   \
            MLX5_SET(flow_table_prop_layout, ft + RX_OFF / 8, field, v);       \
            MLX5_SET(flow_table_prop_layout, ft + TX_OFF / 8, field, v);       \
        }                                                                      \
    } while (0)

/* As obj/eth_limits.h has them; core/tests/obj/test_limits.c compares. */
enum { FLOW_COUNTERS = 1 << 20, LOG_FLOW_COUNTER_BULK = 14,
       LOG_FTE_COUNTERS = 2 };

/* Microseconds that LRO may be told to wait. A rest is not waited for here: the
 * host says when the wire has no more (eth/lro.c). */
static void set_lro_periods(uint8_t *eth)
{
    static const uint32_t periods_us[] = { 8, 16, 32, 1024 };
    uint8_t *p = eth + MLX5_BYTE_OFF(per_protocol_networking_offload_caps,
                                     lro_timer_supported_periods);

    for (size_t i = 0; i < G_N_ELEMENTS(periods_us); i++) {
        uint32_t be = GUINT32_TO_BE(periods_us[i]);

        memcpy(p + i * sizeof(be), &be, sizeof(be));
    }
}

static void set_flow_counters(Mlx5Caps *caps, bool on)
{
    uint32_t max = on ? FLOW_COUNTERS : 0;

    GEN_SET(caps, max_flow_counter_31_16, max >> 16);
    GEN_SET(caps, max_flow_counter_15_0, max & 0xffff);
    GEN_SET(caps, flow_counter_bulk_alloc, on ? 0xff : 0);
    GEN_SET(caps, log_max_flow_counter_bulk,
            on ? LOG_FLOW_COUNTER_BULK : 0);
    FT_SET(caps, flow_counter, on);
    FT_SET(caps, log_max_flow_counter, on ? LOG_FTE_COUNTERS : 0);
}

/* What changes frames on their way: off, as if no row said so. */
static void clear_flow_rewrite(Mlx5Caps *caps)
{
    FT_SET(caps, reformat, 0);
    FT_SET(caps, decap, 0);
    FT_SET(caps, reformat_l3_tunnel_to_l2, 0);
    FT_SET(caps, reformat_l2_to_l3_tunnel, 0);
    FT_SET(caps, reformat_and_modify_action, 0);
    FT_SET(caps, reformat_and_vlan_action, 0);
    FT_SET(caps, reformat_and_fwd_to_table, 0);
    FT_SET(caps, pop_vlan, 0);
    FT_SET(caps, push_vlan, 0);
    FT_SET(caps, pop_vlan_2, 0);
    FT_SET(caps, push_vlan_2, 0);
    FT_SET(caps, log_max_modify_header_context, 0);
    FT_SET(caps, max_modify_header_actions, 0);
    for (unsigned m = 0; m < 2; m++) {
        uint8_t *ft = (m ? caps->max : caps->cur)[MLX5_CAP_GROUP_FLOW_TABLE];

        MLX5_SET(flow_table_nic_cap, ft, encap_general_header, 0);
        MLX5_SET(flow_table_nic_cap, ft, log_max_packet_reformat_context, 0);
        MLX5_SET(flow_table_nic_cap, ft, max_encap_header_size, 0);
    }
}

/* One direction of RoCE packets: its properties, and what more it matches. */
static void set_rdma_tables(uint8_t *properties, uint8_t *fields_2,
                            const Mlx5FuncProps *p)
{
    MLX5_SET(flow_table_prop_layout, properties, flow_counter,
             p->flow_counters);
    MLX5_SET(flow_table_prop_layout, properties, log_max_flow_counter,
             p->flow_counters ? LOG_FTE_COUNTERS : 0);
    MLX5_SET(flow_table_fields_supported_2, fields_2, bth_opcode,
             p->rdma_flow);
    if (!p->rdma_flow) {
        memset(properties, 0, MLX5_ST_SZ_BYTES(flow_table_prop_layout));
    }
}

static void set_rdma_flow(Mlx5Caps *caps, const Mlx5FuncProps *p)
{
    for (unsigned m = 0; m < 2; m++) {
        uint8_t *ft = (m ? caps->max : caps->cur)[MLX5_CAP_GROUP_FLOW_TABLE];

        set_rdma_tables(ft + RDMA_RX_OFF / 8,
                        MLX5_ADDR_OF(flow_table_nic_cap, ft,
                                     ft_field_support_2_nic_receive_rdma), p);
        set_rdma_tables(ft + RDMA_TX_OFF / 8,
                        MLX5_ADDR_OF(flow_table_nic_cap, ft,
                                     ft_field_support_2_nic_transmit_rdma), p);
    }
}

static void set_flow_props(Mlx5Func *func, Mlx5Caps *caps)
{
    for (unsigned m = 0; m < 2; m++) {
        MLX5_SET(per_protocol_networking_offload_caps,
                 (m ? caps->max : caps->cur)[MLX5_CAP_GROUP_ETHERNET],
                 scatter_fcs, func->props.scatter_fcs);
    }
    if (func->props.lro) {
        set_lro_periods(caps->cur[MLX5_CAP_GROUP_ETHERNET]);
        set_lro_periods(caps->max[MLX5_CAP_GROUP_ETHERNET]);
    }
    set_flow_counters(caps, func->props.flow_counters);
    if (!func->props.flow_rewrite) {
        clear_flow_rewrite(caps);
    }
    set_rdma_flow(caps, &func->props);
}

/* Events a user context may wait for: of its objects, and of the device. */
static void set_events(Mlx5Caps *caps)
{
    static const uint8_t affiliated[] = {
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x10, 0x11, 0x12, 0x13, 0x14,
        0x1c, 0x1d,
    };
    uint64_t objects = 0, device = UINT64_C(1) << MLX5_FW_EVENT_PORT_CHANGE;

    for (size_t i = 0; i < sizeof(affiliated); i++) {
        objects |= UINT64_C(1) << affiliated[i];
    }
    for (unsigned m = 0; m < 2; m++) {
        uint8_t *cap = (m ? caps->cur : caps->max)[MLX5_CAP_GROUP_EVENTS];

        MLX5_SET_IDX(device_event_cap, cap, user_affiliated_events, 0,
                     objects);
        MLX5_SET_IDX(device_event_cap, cap, user_unaffiliated_events, 0,
                     device);
    }
}

void mlx5_caps_reset(Mlx5Func *func)
{
    Mlx5Caps *caps = &func->fw->caps;

    for (unsigned g = 0; g < MLX5_CAP_GROUP_COUNT; g++) {
        memset(caps->cur[g], 0, group_bytes(g));
        memset(caps->max[g], 0, group_bytes(g));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const CapRow *r = &rows[i];

        if (r->prop && !*(const bool *)((const char *)&func->props + r->prop)) {
            continue;
        }
        mlx5_prm_set(caps->cur[r->group], r->bit_off, r->bits, r->cur);
        mlx5_prm_set(caps->max[r->group], r->bit_off, r->bits, r->max);
    }
    set_from_props(func, caps);
    set_events(caps);
    set_flow_props(func, caps);
}

uint64_t mlx5_fw_cap_gen(Mlx5Func *func, uint32_t bit_off, uint32_t bits)
{
    return mlx5_prm_get(func->fw->caps.cur[MLX5_CAP_GROUP_GENERAL], bit_off,
                        bits);
}

bool mlx5_fw_atomic_host_order(Mlx5Func *func)
{
    return MLX5_GET(atomic_caps, func->fw->caps.cur[MLX5_CAP_GROUP_ATOMIC],
                    atomic_req_8B_endianness_mode);
}

bool mlx5_fw_odp_memory_scheme(Mlx5Func *func)
{
    return MLX5_GET(odp_cap, func->fw->caps.cur[MLX5_CAP_GROUP_ODP],
                    mem_page_fault);
}

/* A group exists if its gate can be set at all. Return: false if not. */
static bool find_group(Mlx5Func *func, uint16_t type, Mlx5CapGroup *group)
{
    const uint8_t *gen = func->fw->caps.max[MLX5_CAP_GROUP_GENERAL];

    for (unsigned g = 0; g < MLX5_CAP_GROUP_COUNT; g++) {
        if (groups[g].type == type) {
            *group = g;
            return !groups[g].gate_off ||
                   mlx5_prm_get(gen, groups[g].gate_off, 1);
        }
    }
    return false;
}

static bool own_function(Mlx5Cmd *cmd, bool other, uint32_t function_id)
{
    if (other || function_id) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_CAP_FUNCTION);
        return false;
    }
    return true;
}

MLX5_CMD_HANDLER(mlx5_cmd_query_hca_cap)
{
    Mlx5Caps *caps = &func->fw->caps;
    Mlx5CapGroup g;

    if (!own_function(cmd, MLX5_GET(query_hca_cap_in, cmd->in, other_function),
                      MLX5_GET(query_hca_cap_in, cmd->in, function_id))) {
        return;
    }
    if (!find_group(func, cmd->op_mod >> 1, &g)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_CAP_GROUP);
        return;
    }
    memcpy(MLX5_ADDR_OF(query_hca_cap_out, cmd->out, capability),
           (cmd->op_mod & 1) == MODE_CUR ? caps->cur[g] : caps->max[g],
           group_bytes(g));
}

/* Walk the fields of @layout in @want; @base is its place in the group. */
/* Return: false if one asks for more than the maximum. */
static bool fields_allowed(const Mlx5Layout *layout, uint32_t base,
                           const uint8_t *want, uint32_t want_bits,
                           const uint8_t *max)
{
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const Mlx5Field *f = &layout->fields[i];
        uint32_t off = base + f->bit_off;

        if (off + f->bits > want_bits) {
            continue;
        }
        if (f->sub) {
            if (!fields_allowed(f->sub, off, want, want_bits, max)) {
                return false;
            }
        } else if (f->kind == MLX5_KIND_FIELD &&
                   mlx5_prm_get(want, off, f->bits) >
                   mlx5_prm_get(max, off, f->bits)) {
            return false;
        }
    }
    return true;
}

static void take_fields(const Mlx5Layout *layout, uint32_t base,
                        const uint8_t *want, uint32_t want_bits, uint8_t *cur)
{
    for (uint32_t i = 0; i < layout->num_fields; i++) {
        const Mlx5Field *f = &layout->fields[i];
        uint32_t off = base + f->bit_off;

        if (off + f->bits > want_bits) {
            continue;
        }
        if (f->sub) {
            take_fields(f->sub, off, want, want_bits, cur);
        } else if (f->kind == MLX5_KIND_FIELD) {
            mlx5_prm_set(cur, off, f->bits, mlx5_prm_get(want, off, f->bits));
        }
    }
}

/* The driver fills in one field and leaves the rest of the block zero. */
static void set_atomic(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *want)
{
    uint32_t mode = MLX5_GET(atomic_caps, want, atomic_req_8B_endianness_mode);

    if (mode > 1) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_CAP_ATOMIC_MODE);
        return;
    }
    MLX5_SET(atomic_caps, func->fw->caps.cur[MLX5_CAP_GROUP_ATOMIC],
             atomic_req_8B_endianness_mode, mode);
}

static void set_group(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5CapGroup g)
{
    Mlx5Caps *caps = &func->fw->caps;
    const uint8_t *want = MLX5_ADDR_OF(set_hca_cap_in, cmd->in, capability);
    uint32_t bytes = MIN(group_bytes(g), cmd->in_len - 16);

    if (g == MLX5_CAP_GROUP_ATOMIC) {
        set_atomic(func, cmd, want);
    } else if (!fields_allowed(groups[g].layout, 0, want, bytes * 8,
                               caps->max[g])) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_CAP_ABOVE_MAX);
    } else {
        take_fields(groups[g].layout, 0, want, bytes * 8, caps->cur[g]);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_set_hca_cap)
{
    Mlx5CapGroup g;

    if (!own_function(cmd, MLX5_GET(set_hca_cap_in, cmd->in, other_function),
                      MLX5_GET(set_hca_cap_in, cmd->in, function_id))) {
        return;
    }
    if (!find_group(func, cmd->op_mod >> 1, &g)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR,
                      MLX5_SYND_SET_CAP_GROUP);
        return;
    }
    if (func->fw->hca != MLX5_HCA_ENABLED) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_SYS_STATE_ERR,
                      MLX5_SYND_SET_CAP_STATE);
        return;
    }
    set_group(func, cmd, g);
}
