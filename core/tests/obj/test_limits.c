/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the capabilities advertise is what obj/ enforces.
 */
#include "fw/fw.h"
#include "obj/eth_limits.h"
#include "obj/limits.h"
#include "obj/general.h"
#include "obj/uctx.h"
#include "tests/obj/obj_helper.h"

START_TEST(capabilities_agree)
{
    FakeHost *h = fake_host_new(NULL);

#define SAME(field, limit) \
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, field), limit)
    SAME(log_max_pd, MLX5_LOG_MAX_PD);
    SAME(log_max_transport_domain, MLX5_LOG_MAX_TRANSPORT_DOMAIN);
    SAME(log_max_xrcd, MLX5_LOG_MAX_XRCD);
    SAME(log_max_eq, MLX5_LOG_MAX_EQ);
    SAME(log_max_eq_sz, MLX5_LOG_MAX_EQ_SZ);
    SAME(log_max_srq, MLX5_LOG_MAX_SRQ);
    SAME(log_max_rmp, MLX5_LOG_MAX_SRQ);
    SAME(log_max_srq_sz, MLX5_LOG_MAX_SRQ_SZ);
    SAME(log_max_qp_sz, MLX5_LOG_MAX_QP_SZ);
    SAME(max_qp_cnt, MLX5_MAX_QP_CNT);
    SAME(log_max_tis, MLX5_LOG_MAX_TIS);
    SAME(log_max_tir, MLX5_LOG_MAX_TIR);
    SAME(log_max_rqt, MLX5_LOG_MAX_RQT);
    SAME(log_max_sq, MLX5_LOG_MAX_SQ);
    SAME(log_max_rq, MLX5_LOG_MAX_RQ);
    SAME(log_max_ra_req_qp, MLX5_LOG_MAX_RA_QP);
    SAME(log_max_ra_res_qp, MLX5_LOG_MAX_RA_QP);
    SAME(log_max_msg, MLX5_LOG_MAX_MSG);
    SAME(max_wqe_sz_sq, MLX5_MAX_WQE_SZ_SQ);
    SAME(max_wqe_sz_rq, MLX5_MAX_WQE_SZ_RQ);
    SAME(log_max_uctx, MLX5_LOG_MAX_UCTX);
    SAME(log_max_umem, MLX5_LOG_MAX_UMEM);
    SAME(uctx_cap, MLX5_UCTX_CAP_RAW_TX);
    SAME(general_obj_types, mlx5_general_types());
    ck_assert_uint_eq(MLX5_FW_LOG_RESERVED_QPNS, MLX5_LOG_RESERVED_QPNS);
    /* 0 is the code for 128 entries. */
    SAME(pkey_table_size, 0);
    ck_assert_uint_eq(MLX5_PKEY_TABLE_SIZE, 128);
    SAME(log_max_mcg, MLX5_LOG_MAX_MCG);
    SAME(max_qp_mcg, MLX5_MAX_QP_MCG);
    SAME(max_flow_counter_31_16, MLX5_MAX_FLOW_COUNTERS >> 16);
    SAME(max_flow_counter_15_0, MLX5_MAX_FLOW_COUNTERS & 0xffff);
    SAME(log_max_flow_counter_bulk, MLX5_LOG_MAX_FLOW_COUNTER_BULK);
    /* What commands refuse for want of the capability. */
    SAME(wq_signature, 0);
    SAME(log_max_dci_stream_channels, MLX5_LOG_MAX_DCI_STREAMS);
    SAME(log_max_dci_errored_streams, MLX5_LOG_MAX_DCI_STREAMS);
#undef SAME
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("limits");
    TCase *tc = tcase_create("limits");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, capabilities_agree);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
