/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each property that offers a feature, changed by itself: the capabilities it
 * takes away are those of a table here, all of them and nothing else, in both
 * sets of every group.
 */
#include "tests/fw/fw_helper.h"

#define CAP_BYTES 0x1000

enum { GENERAL = 0, ETHERNET = 1, ODP = 2, ATOMIC = 3, ROCE = 4, FLOW = 7,
       QOS = 0xc, DEBUG = 0xd, DEVICE_MEMORY = 0xf, EVENTS = 0x14,
       GENERAL_2 = 0x20, GROUPS = 0x40 };

/* All there are: test_caps.c asks for the others, too. */
static const uint8_t groups[] = { GENERAL, ETHERNET, ODP, ATOMIC, ROCE, FLOW,
                                  QOS, DEBUG, DEVICE_MEMORY, EVENTS,
                                  GENERAL_2 };

#define PROP(p) { #p, offsetof(Mlx5FuncProps, p) }

static const struct {
    const char *name;
    size_t at;
} props[] = {
    PROP(devx), PROP(tag_matching), PROP(mw), PROP(xrc), PROP(atomic),
    PROP(roce), PROP(local_lb), PROP(mcast), PROP(null_mkey),
    PROP(cqe_compression), PROP(cqe_128_always), PROP(scatter_to_cqe),
    PROP(cq_period_modes), PROP(dc), PROP(odp), PROP(odp_mem),
    PROP(flow_counters), PROP(flow_rewrite), PROP(rdma_flow),
    PROP(scatter_fcs), PROP(lro), PROP(signature), PROP(dm), PROP(dbr_less),
    PROP(packet_pacing), PROP(qos_scheduling), PROP(rtc), PROP(masked_atomic),
    PROP(dm_atomic), PROP(dci_streams), PROP(reserved_qpn),
    PROP(av_qp_mapping), PROP(udp_sport), PROP(relaxed_ordering),
    PROP(end_padding), PROP(blueflame), PROP(cq_resize), PROP(cq_moderation),
    PROP(error_counters), PROP(csum), PROP(tso), PROP(vlan), PROP(rss),
    PROP(mpw), PROP(striding_rq), PROP(tunnel), PROP(port_manager),
    PROP(dcb), PROP(congestion), PROP(resource_dump),
    PROP(deterministic), PROP(cmd_reorder),
};

/** A field that is zero without the property; no bits: the group is gone. */
typedef struct Row {
    size_t prop;
    uint32_t group, off, bits;
    bool max_only;           /* drivers raise it themselves */
} Row;

#define BITS(p, g, o, n) { offsetof(Mlx5FuncProps, p), g, o, n, false },
#define ROW(p, g, l, f) BITS(p, g, MLX5_BIT_OFF(l, f), MLX5_BIT_SZ(l, f))
#define GEN(p, f) ROW(p, GENERAL, cmd_hca_cap, f)
#define NET(p, f) ROW(p, ETHERNET, per_protocol_networking_offload_caps, f)
#define SCHED(p, f) ROW(p, QOS, qos_cap, f)
#define TABLES(p, side, f)                                                  \
    BITS(p, FLOW,                                                           \
         MLX5_BIT_OFF(flow_table_nic_cap, flow_table_properties_nic_##side) \
             + MLX5_BIT_OFF(flow_table_prop_layout, f),                     \
         MLX5_BIT_SZ(flow_table_prop_layout, f))
#define FLOWS(p, f) TABLES(p, receive, f) TABLES(p, transmit, f)
#define GONE(p, g) BITS(p, g, 0, 0)
#define GENERAL_TYPE(p, n)                                                  \
    BITS(p, GENERAL, MLX5_BIT_OFF(cmd_hca_cap, general_obj_types) + 63 - n, 1)

static const Row rows[] = {
    GEN(devx, general_obj_types) GEN(devx, log_max_uctx)
    GEN(devx, log_max_umem) GEN(devx, umem_uid_0) GEN(devx, uctx_cap)
    GEN(devx, event_cap) GEN(devx, hca_cap_2)
    GONE(devx, EVENTS) GONE(devx, GENERAL_2)
    GEN(tag_matching, tag_matching) GEN(tag_matching, rndv_offload_rc)
    GEN(tag_matching, log_tag_matching_list_sz)
    GEN(tag_matching, log_max_xrq)
    GEN(mw, imaicl)
    GEN(xrc, xrc)
    GEN(atomic, atomic) GONE(atomic, ATOMIC)
    GEN(roce, roce) GONE(roce, ROCE)
    GEN(local_lb, disable_local_lb_uc) GEN(local_lb, disable_local_lb_mc)
    GEN(mcast, log_max_mcg) GEN(mcast, max_qp_mcg) GEN(mcast, block_lb_mc)
    GEN(null_mkey, null_mkey) GEN(null_mkey, dump_fill_mkey)
    GEN(cqe_compression, cqe_compression)
    GEN(cqe_compression, cqe_compression_128)
    GEN(cqe_compression, mini_cqe_resp_stride_index)
    GEN(cqe_compression, enhanced_cqe_compression)
    GEN(cqe_compression, cqe_compression_max_num)
    GEN(cqe_128_always, cqe_128_always)
    GEN(scatter_to_cqe, sctr_data_cqe)
    GEN(scatter_to_cqe, dc_req_scat_data_cqe)
    GEN(cq_period_modes, cq_period_mode_modify)
    GEN(cq_period_modes, cq_period_start_from_cqe)
    GEN(dc, dct) GEN(dc, dc_req_scat_data_cqe) GEN(dc, log_max_ra_req_dc)
    GEN(dc, log_max_ra_res_dc) GEN(dc, log_max_dci_stream_channels)
    GEN(dc, log_max_dci_errored_streams)
    ROW(dc, ATOMIC, atomic_caps, atomic_size_dc)
    GEN(odp, pg) GONE(odp, ODP)
    { offsetof(Mlx5FuncProps, odp_mem), ODP,
      MLX5_BIT_OFF(odp_cap, mem_page_fault), 1, true },
    { offsetof(Mlx5FuncProps, odp_mem), ODP,
      MLX5_BIT_OFF(odp_cap, memory_page_fault_scheme_cap) +
          MLX5_BIT_OFF(odp_scheme_cap, page_prefetch), 1, true },
    GEN(flow_counters, max_flow_counter_31_16)
    GEN(flow_counters, flow_counter_bulk_alloc)
    GEN(flow_counters, log_max_flow_counter_bulk)
    FLOWS(flow_counters, flow_counter)
    FLOWS(flow_counters, log_max_flow_counter)
    TABLES(flow_counters, receive_rdma, flow_counter)
    TABLES(flow_counters, receive_rdma, log_max_flow_counter)
    TABLES(flow_counters, transmit_rdma, flow_counter)
    TABLES(flow_counters, transmit_rdma, log_max_flow_counter)
    FLOWS(flow_rewrite, reformat)
    TABLES(flow_rewrite, receive, decap)
    TABLES(flow_rewrite, receive, reformat_l3_tunnel_to_l2)
    FLOWS(flow_rewrite, reformat_l2_to_l3_tunnel)
    FLOWS(flow_rewrite, reformat_and_modify_action)
    FLOWS(flow_rewrite, reformat_and_vlan_action)
    FLOWS(flow_rewrite, reformat_and_fwd_to_table)
    FLOWS(flow_rewrite, pop_vlan) FLOWS(flow_rewrite, push_vlan)
    FLOWS(flow_rewrite, pop_vlan_2) FLOWS(flow_rewrite, push_vlan_2)
    FLOWS(flow_rewrite, log_max_modify_header_context)
    FLOWS(flow_rewrite, max_modify_header_actions)
    ROW(flow_rewrite, FLOW, flow_table_nic_cap, encap_general_header)
    ROW(flow_rewrite, FLOW, flow_table_nic_cap,
        log_max_packet_reformat_context)
    ROW(flow_rewrite, FLOW, flow_table_nic_cap, max_encap_header_size)
    ROW(rdma_flow, FLOW, flow_table_nic_cap,
        flow_table_properties_nic_receive_rdma)
    ROW(rdma_flow, FLOW, flow_table_nic_cap,
        flow_table_properties_nic_transmit_rdma)
    ROW(rdma_flow, FLOW, flow_table_nic_cap,
        ft_field_support_2_nic_receive_rdma)
    ROW(rdma_flow, FLOW, flow_table_nic_cap,
        ft_field_support_2_nic_transmit_rdma)
    NET(scatter_fcs, scatter_fcs)
    NET(lro, lro_cap) NET(lro, lro_psh_flag) NET(lro, lro_min_mss_size)
    BITS(lro, ETHERNET, MLX5_BIT_OFF(per_protocol_networking_offload_caps,
                                     lro_timer_supported_periods), 4 * 32)
    GEN(signature, sho) GEN(signature, sigerr_cqe)
    GEN(signature, drain_sigerr) GEN(signature, sigerr_domain_and_sig_type)
    GEN(signature, sig_crc32c) GEN(signature, sig_crc64_xp10)
    GEN(signature, sig_block_4048)
    GEN(dm, device_memory) GONE(dm, DEVICE_MEMORY)
    ROW(dbr_less, GENERAL_2, cmd_hca_cap_2, send_dbr_mode_no_dbr_ext)
    ROW(dbr_less, GENERAL_2, cmd_hca_cap_2, log_max_send_dbr_less_qp_sq)
    SCHED(packet_pacing, packet_pacing)
    SCHED(packet_pacing, packet_pacing_burst_bound)
    SCHED(packet_pacing, packet_pacing_typical_size)
    SCHED(packet_pacing, packet_pacing_uid)
    SCHED(packet_pacing, packet_pacing_rate_table_size)
    SCHED(packet_pacing, packet_pacing_min_rate)
    SCHED(packet_pacing, packet_pacing_max_rate)
    GENERAL_TYPE(qos_scheduling, 0x26)
    SCHED(qos_scheduling, nic_sq_scheduling)
    SCHED(qos_scheduling, nic_qp_scheduling)
    SCHED(qos_scheduling, nic_bw_share)
    SCHED(qos_scheduling, nic_rate_limit)
    SCHED(qos_scheduling, nic_element_type)
    SCHED(qos_scheduling, nic_tsar_type)
    SCHED(qos_scheduling, log_max_qos_nic_queue_group)
    GEN(rtc, sq_ts_format) GEN(rtc, rq_ts_format)
    ROW(rtc, ROCE, roce_cap, qp_ts_format)
    /* The two masked ones of the four operations. */
    BITS(masked_atomic, ATOMIC,
         MLX5_BIT_OFF(atomic_caps, atomic_operations) +
             MLX5_BIT_SZ(atomic_caps, atomic_operations) - 4, 2)
    ROW(dm_atomic, DEVICE_MEMORY, device_mem_cap, memic_operations)
    ROW(dm_atomic, DEVICE_MEMORY, device_mem_cap, increment_size_sup)
    ROW(dm_atomic, DEVICE_MEMORY, device_mem_cap, test_and_set_size_sup)
    GEN(dci_streams, log_max_dci_stream_channels)
    GEN(dci_streams, log_max_dci_errored_streams)
    GENERAL_TYPE(reserved_qpn, 0x2c)
    GENERAL_TYPE(av_qp_mapping, 0x3a)
    GEN(udp_sport, rts2rts_qp_udp_sport)
    GEN(relaxed_ordering, relaxed_ordering_write)
    GEN(relaxed_ordering, relaxed_ordering_read)
    GEN(relaxed_ordering, relaxed_ordering_read_pci_enabled)
    GEN(relaxed_ordering, relaxed_ordering_write_umr)
    GEN(relaxed_ordering, relaxed_ordering_read_umr)
    GEN(end_padding, end_pad)
    GEN(blueflame, bf)
    GEN(cq_resize, cq_resize)
    GEN(cq_moderation, cq_moderation)
    GEN(cq_moderation, scqe_break_moderation)
    GEN(error_counters, out_of_seq_cnt)
    GEN(error_counters, retransmission_q_counters)
    GEN(error_counters, enhanced_error_q_counters)
    NET(csum, csum_cap)
    NET(tso, max_lso_cap)
    NET(vlan, vlan_cap) NET(vlan, wqe_vlan_insert)
    NET(rss, rss_ind_tbl_cap)
    NET(mpw, multi_pkt_send_wqe) NET(mpw, enhanced_multi_pkt_send_wqe)
    GEN(striding_rq, striding_rq) GEN(striding_rq, umr_ptr_rlky)
    GEN(striding_rq, ext_stride_num_range)
    NET(striding_rq, reg_umr_sq)
    NET(tunnel, tunnel_stateless_vxlan) NET(tunnel, tunnel_stateless_gre)
    NET(tunnel, tunnel_stateless_geneve_tx)
    NET(tunnel, tunnel_stateless_geneve_rx)
    NET(tunnel, tunnel_stateless_vxlan_gpe)
    NET(tunnel, tunnel_stateless_ipv4_over_vxlan)
    NET(tunnel, tunnel_stateless_ip_over_ip)
    NET(tunnel, tunnel_stateless_ip_over_ip_rx)
    NET(tunnel, tunnel_stateless_ip_over_ip_tx)
    NET(tunnel, max_vxlan_udp_ports) NET(tunnel, max_geneve_opt_len)
    NET(tunnel, swp) NET(tunnel, swp_csum) NET(tunnel, swp_lso)
    GEN(port_manager, vport_group_manager)
    GEN(dcb, ets) GEN(dcb, qcam_reg) GEN(dcb, sbcam_reg)
    GEN(resource_dump, debug) GONE(resource_dump, DEBUG)
    GEN(congestion, cc_query_allowed) GEN(congestion, cc_modify_allowed)
};

/** All capabilities of a card, by group and set. */
typedef struct Caps {
    bool have[GROUPS];
    uint8_t cap[GROUPS][2][CAP_BYTES];
} Caps;

static Caps *read_caps(const Mlx5FuncProps *p)
{
    FakeDriver *d = fake_driver_new(fake_host_new(p));
    Caps *caps = g_new0(Caps, 1);
    FAKE_BUFFERS(query_hca_cap);
    uint8_t enable[MLX5_ST_SZ_BYTES(enable_hca_in)] = { 0 };
    uint8_t enabled[MLX5_ST_SZ_BYTES(enable_hca_out)];

    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, enable, enabled);
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        uint32_t g = groups[i];

        for (uint32_t mode = 0; mode < 2; mode++) {
            MLX5_SET(query_hca_cap_in, in, op_mod, g << 1 | mode);
            caps->have[g] = FAKE_CMD(d, QUERY_HCA_CAP, query_hca_cap, in, out);
            memcpy(caps->cap[g][mode], out + 16, CAP_BYTES);
        }
    }
    t_free(d);
    return caps;
}

/* Clear the field in @cap. Return: was a bit of it set? */
static bool clear(const Row *r, uint8_t *cap)
{
    bool set = false;

    for (uint32_t i = r->off; i < r->off + r->bits; i++) {
        set = set || mlx5_prm_get(cap, i, 1);
        mlx5_prm_set(cap, i, 1, 0);
    }
    return set;
}

/* What the rows of a property say: there with it, not there without. */
static void check_rows(size_t prop, Caps *on, Caps *off)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *r = &rows[i];

        if (r->prop != prop) {
            continue;
        }
        ck_assert(on->have[r->group]);
        if (!r->bits) {
            ck_assert(!off->have[r->group]);
            on->have[r->group] = false;
            continue;
        }
        for (uint32_t mode = 0; mode < 2; mode++) {
            bool there = clear(r, on->cap[r->group][mode]);

            if (there != (mode == 0 || !r->max_only) ||
                clear(r, off->cap[r->group][mode])) {
                ck_abort_msg("row %zu, group %u, bit 0x%x, set %u", i,
                             r->group, r->off, mode);
            }
        }
    }
}

static void same(const char *prop, uint32_t group, const uint8_t *off,
                 const uint8_t *on)
{
    for (uint32_t i = 0; i < CAP_BYTES; i++) {
        if (off[i] != on[i]) { /* ck_assert for each would take minutes */
            ck_abort_msg("%s: group 0x%x, byte 0x%x, too", prop, group, i);
        }
    }
}

START_TEST(one_property)
{
    size_t at = props[_i].at;
    Mlx5FuncProps p;
    Caps *caps[2];

    for (unsigned on = 0; on < 2; on++) {
        mlx5_func_props_default(&p);
        *(bool *)((char *)&p + at) = on;
        caps[on] = read_caps(&p);
    }
    check_rows(at, caps[1], caps[0]);
    for (uint32_t g = 0; g < GROUPS; g++) {
        ck_assert_msg(caps[0]->have[g] == caps[1]->have[g], "%s: group 0x%x",
                      props[_i].name, g);
        for (uint32_t mode = 0; caps[0]->have[g] && mode < 2; mode++) {
            same(props[_i].name, g, caps[0]->cap[g][mode],
                 caps[1]->cap[g][mode]);
        }
    }
    g_free(caps[0]);
    g_free(caps[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cap_props");
    TCase *tc = tcase_create("cap_props");
    SRunner *runner = srunner_create(s);
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, one_property, 0, G_N_ELEMENTS(props));
    suite_add_tcase(s, tc);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
