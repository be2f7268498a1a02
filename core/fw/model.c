/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts a card can present itself as, and the default properties.
 */
#include "mlx5sim.h"

#include <string.h>

#define MODEL_ERROR g_quark_from_static_string("mlx5sim-model")

/* Our own PSIDs: no firmware image of the vendor fits this card. */
static const Mlx5ModelInfo models[] = {
    [MLX5_MODEL_CX5] = { "cx5", "ConnectX-5", 0x1017, 16, 35, 4030,
                         "MSM0000000005" },
    [MLX5_MODEL_CX6DX] = { "cx6dx", "ConnectX-6 Dx", 0x101d, 22, 43, 2026,
                           "MSM0000000006" },
    [MLX5_MODEL_CX7] = { "cx7", "ConnectX-7", 0x1021, 28, 43, 2026,
                         "MSM0000000007" },
};

G_STATIC_ASSERT(G_N_ELEMENTS(models) == MLX5_MODEL_COUNT);

const Mlx5ModelInfo *mlx5_model_info(Mlx5Model model)
{
    return &models[model];
}

bool mlx5_model_from_name(const char *name, Mlx5Model *model, GError **errp)
{
    g_autoptr(GString) known = g_string_new(NULL);

    for (unsigned i = 0; i < MLX5_MODEL_COUNT; i++) {
        if (strcmp(name, models[i].name) == 0) {
            *model = i;
            return true;
        }
        g_string_append_printf(known, "%s%s", i ? ", " : "", models[i].name);
    }
    g_set_error(errp, MODEL_ERROR, 0, "model '%s' is not one of: %s", name,
                known->str);
    return false;
}

void mlx5_func_props_default(Mlx5FuncProps *props)
{
    *props = (Mlx5FuncProps){
        .model = MLX5_MODEL_CX6DX,
        .mac = { 0x52, 0x54, 0x00, 0x4d, 0x58, 0x35 },
        .num_vectors = 64,
        .log_bar_size = 25,
        .boot_pages = 8,
        .init_pages = 64,
        .log_max_qp = 17,
        .log_max_cq = 17,
        .log_max_mkey = 20,
        .log_max_cq_sz = 22,
        .devx = true,
        .mw = true,
        .null_mkey = true,
        .signature = true,
        .xrc = true,
        /*
         * Not tag_matching: libmlx5's ibv_create_srq_ex() connects its command
         * QP by an address without a GRH (verbs.c create_cmd_qp), which ib_core
         * refuses on every Ethernet port (verbs.c rdma_check_ah_attr). A program
         * that finds it offered would fail.
         */
        .atomic = true,
        .odp = true,
        .odp_mem = true,
        .roce = true,
        .cqe_compression = true,
        .cqe_128_always = true,
        .scatter_to_cqe = true,
        .cq_period_modes = true,
        .dc = true,
        .local_lb = true,
        .flow_counters = true,
        .flow_rewrite = true,
        .rdma_flow = true,
        .scatter_fcs = true,
        .lro = true,
        .mcast = true,
        .dm = true,
        .dbr_less = true,
        .packet_pacing = true,
        .qos_scheduling = true,
        .masked_atomic = true,
        .dm_atomic = true,
        .dci_streams = true,
        .reserved_qpn = true,
        .av_qp_mapping = true,
        .udp_sport = true,
        .relaxed_ordering = true,
        .end_padding = true,
        .blueflame = true,
        .cq_resize = true,
        .cq_moderation = true,
        .error_counters = true,
        .csum = true,
        .tso = true,
        .vlan = true,
        .rss = true,
        .dcb = true,
        .congestion = true,
        .resource_dump = true,
        .mpw = true,
        .striding_rq = true,
        .tunnel = true,
        .port_manager = true,
    };
}
