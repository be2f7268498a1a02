/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of the device: one row each, with what -device mlx5sim,help
 * says of it. Defaults and rules are the core's (mlx5_func_props_default(),
 * mlx5_func_new()); here is only how a user spells them.
 */
#include "compat.h"
#include "device.h"

typedef struct Mlx5simPropRow {
    const char *name;
    const PropertyInfo *info;
    ptrdiff_t offset;
    const char *description;
} Mlx5simPropRow;

#define NUM(prop, field, text)                                                 \
    {                                                                          \
        prop, &qdev_prop_uint32, offsetof(Mlx5simDevice, props.field), text    \
    }
#define FLAG(prop, field, text)                                                \
    {                                                                          \
        prop, &qdev_prop_bool, offsetof(Mlx5simDevice, props.field), text      \
    }

static const Mlx5simPropRow mlx5sim_prop_rows[] = {
    {"model", &qdev_prop_string, offsetof(Mlx5simDevice, model_name),
     "part to present"},
    {"mac", &qdev_prop_macaddr, offsetof(Mlx5simDevice, conf.macaddr),
     "permanent MAC address (default: next of 52:54:00:12:34:xx)"},
    {"netdev", &qdev_prop_netdev, offsetof(Mlx5simDevice, conf.peers),
     "network backend that the port is wired to (default: none)"},
    NUM("vectors", num_vectors, "MSI-X vectors, 2 to 2048"),
    NUM("log-bar-size", log_bar_size, "log2 of BAR0's bytes, 23 to 28"),
    NUM("boot-pages", boot_pages, "4 KiB pages asked for at boot"),
    NUM("init-pages", init_pages, "4 KiB pages asked for at init"),
    NUM("log-max-qp", log_max_qp, "log2 of the queue pairs advertised"),
    NUM("log-max-cq", log_max_cq, "log2 of the completion queues advertised"),
    NUM("log-max-mkey", log_max_mkey, "log2 of the memory keys advertised"),
    NUM("log-max-cq-sz", log_max_cq_sz,
        "log2 of the entries a completion queue may have"),
    FLAG("devx", devx, "offer DevX: firmware commands from user programs"),
    FLAG("mw", mw, "offer memory windows"),
    FLAG("null-mkey", null_mkey,
         "offer keys of no memory: null regions, implicit on-demand paging"),
    FLAG("signature", signature, "offer block signatures (T10-DIF, CRC)"),
    FLAG("xrc", xrc,
         "offer XRC; mlx5_ib of Linux 6.1 and later refuses a card without"),
    FLAG("atomic", atomic, "offer atomic operations"),
    FLAG("odp", odp, "offer on-demand paging"),
    FLAG("tag-matching", tag_matching,
         "offer tag-matching shared receive queues; libmlx5 can't make one on "
         "an Ethernet port"),
    FLAG("odp-mem", odp_mem,
         "offer page faults by key and address, which Linux 6.12 prefers"),
    FLAG("roce", roce, "offer RoCE; off leaves an Ethernet card"),
    FLAG("mcast", mcast, "offer multicast groups of queue pairs"),
    FLAG("dm", dm, "offer device memory (MEMIC), in the last 3 MiB of BAR0"),
    FLAG("dbr-less", dbr_less,
         "offer send queues without a doorbell record, to DevX programs"),
    FLAG("packet-pacing", packet_pacing, "offer rate limits of send queues"),
    FLAG("qos-scheduling", qos_scheduling,
         "offer a tree of shares and limits for queues (HTB, mlx5dv_sched)"),
    FLAG("rtc", rtc, "offer the real-time clock, as the part does when "
                     "REAL_TIME_CLOCK_ENABLE is configured"),
    FLAG("local-lb", local_lb, "offer to switch local loopback off"),
    FLAG("dc", dc, "offer the dynamically connected transport"),
    FLAG("cqe-compression", cqe_compression,
         "offer to compress completions, for queues that ask for it"),
    FLAG("cqe-128-always", cqe_128_always,
         "offer completions padded to 128 bytes"),
    FLAG("scatter-to-cqe", scatter_to_cqe,
         "offer to put small payload into the completion"),
    FLAG("cq-period-modes", cq_period_modes,
         "offer to change how events are moderated (the network driver does)"),
    FLAG("flow-counters", flow_counters, "offer counters of flow entries"),
    FLAG("flow-rewrite", flow_rewrite,
         "offer flow entries that change frames: tunnels, VLANs, fields"),
    FLAG("rdma-flow", rdma_flow,
         "offer flow tables that RoCE packets walk"),
    FLAG("scatter-fcs", scatter_fcs,
         "offer to deliver the FCS of received frames"),
    FLAG("lro", lro, "offer to merge received TCP segments, over striding-rq"),
    FLAG("masked-atomic", masked_atomic, "offer masked atomic operations"),
    FLAG("dm-atomic", dm_atomic,
         "offer to add to and to set device memory by a write"),
    FLAG("dci-streams", dci_streams, "offer streams of DC initiators"),
    FLAG("reserved-qpn", reserved_qpn,
         "offer numbers of queue pairs without queue pairs, with devx"),
    FLAG("av-qp-mapping", av_qp_mapping,
         "offer to tie address vectors to queue pairs, with devx"),
    FLAG("udp-sport", udp_sport,
         "offer to change the UDP source port of a queue pair at work"),
    FLAG("relaxed-ordering", relaxed_ordering,
         "offer memory regions with relaxed ordering"),
    FLAG("end-padding", end_padding,
         "offer to pad the ends of PCI writes to cache lines"),
    FLAG("blueflame", blueflame, "offer WQEs written into the doorbell page"),
    FLAG("cq-resize", cq_resize, "offer completion queues of changing size"),
    FLAG("cq-moderation", cq_moderation,
         "offer to moderate events of completion queues"),
    FLAG("error-counters", error_counters,
         "offer counters of errors and retransmissions (rdma statistic)"),
    FLAG("csum", csum,
         "offer checksums of frames; mlx5_core makes no network interface "
         "without, as with the next three"),
    FLAG("tso", tso, "offer to segment TCP"),
    FLAG("vlan", vlan, "offer to insert and to strip VLAN tags"),
    FLAG("rss", rss, "offer to spread frames over receive queues"),
    FLAG("mpw", mpw, "offer send WQEs of many frames"),
    FLAG("striding-rq", striding_rq, "offer receive WQEs of many frames"),
    FLAG("tunnel", tunnel,
         "offer checksums and segmentation of what VXLAN, Geneve, GRE and IP in "
         "IP carry"),
    FLAG("port-manager", port_manager,
         "let the function configure the port: pause, priority pause"),
    FLAG("dcb", dcb, "offer priorities by DSCP and limits of traffic classes"),
    FLAG("congestion", congestion,
         "offer congestion control of RoCE: marks, notices, its counters"),
    FLAG("resource-dump", resource_dump,
         "offer raw dumps of objects (rdma resource show -r)"),
    FLAG("deterministic", deterministic,
         "do all work on the ringing thread: same input, same trace"),
    FLAG("cmd-reorder", cmd_reorder,
         "complete firmware commands out of order (a test aid)"),
};

#define ROWS ARRAY_SIZE(mlx5sim_prop_rows)

/* The value of a field of @props that a row names, widened. */
static uint64_t mlx5sim_prop_default(const Mlx5simPropRow *row,
                                     const Mlx5simDevice *defaults)
{
    const char *at = (const char *)defaults + row->offset;

    return row->info == &qdev_prop_bool ? *(const bool *)at
                                        : *(const uint32_t *)at;
}

static bool mlx5sim_prop_has_default(const Mlx5simPropRow *row)
{
    return row->info == &qdev_prop_bool || row->info == &qdev_prop_uint32;
}

/* "part to present: cx5, cx6dx, ... (default: cx6dx)" */
static char *mlx5sim_prop_model_text(const char *text, Mlx5Model chosen)
{
    GString *line = g_string_new(text);

    for (unsigned i = 0; i < MLX5_MODEL_COUNT; i++) {
        const Mlx5ModelInfo *info = mlx5_model_info(i);

        g_string_append_printf(line, "%s %s (%s)", i ? "," : ":", info->name,
                               info->part);
    }
    g_string_append_printf(line, " (default: \"%s\")",
                           mlx5_model_info(chosen)->name);
    return g_string_free(line, false);
}

/**
 * mlx5sim_props_init_class - give @klass the properties of the table
 */
void mlx5sim_props_init_class(ObjectClass *klass)
{
    static Property props[ROWS + 1];
    g_autofree Mlx5simDevice *defaults = g_new0(Mlx5simDevice, 1);

    mlx5_func_props_default(&defaults->props);
    for (unsigned i = 0; i < ROWS; i++) {
        const Mlx5simPropRow *row = &mlx5sim_prop_rows[i];

        props[i].name = row->name;
        props[i].info = row->info;
        props[i].offset = row->offset;
        if (mlx5sim_prop_has_default(row)) {
            props[i].set_default = true;
            props[i].defval.u = mlx5sim_prop_default(row, defaults);
        }
    }
    mlx5sim_class_set_props(DEVICE_CLASS(klass), props, ROWS);

    for (unsigned i = 0; i < ROWS; i++) {
        const Mlx5simPropRow *row = &mlx5sim_prop_rows[i];
        g_autofree char *text = g_strdup(row->description);

        if (row->info == &qdev_prop_string) {
            g_free(text);
            text = mlx5sim_prop_model_text(row->description,
                                           defaults->props.model);
        }
        object_class_property_set_description(klass, row->name, text);
    }
}

/**
 * mlx5sim_props_init_instance - set what the table can't say of a default
 */
void mlx5sim_props_init_instance(Mlx5simDevice *s)
{
    mlx5_func_props_default(&s->props);
    s->model_name = g_strdup(mlx5_model_info(s->props.model)->name);
}

/**
 * mlx5sim_props_check - complete the core's properties from ours
 *
 * The rules on numbers are checked by mlx5_func_new(), except those that the
 * PCI side needs before it.
 */
bool mlx5sim_props_check(Mlx5simDevice *s, Error **errp)
{
    g_autoptr(GError) err = NULL;

    if (!s->model_name ||
        !mlx5_model_from_name(s->model_name, &s->props.model, &err)) {
        error_setg(errp, "model: %s", err ? err->message : "is empty");
        return false;
    }
    if (s->props.num_vectors < 2 || s->props.num_vectors > 2048) {
        error_setg(errp, "vectors=%u: must be 2 to 2048", s->props.num_vectors);
        return false;
    }
    if (s->props.log_bar_size < 23 || s->props.log_bar_size > 28) {
        error_setg(errp, "log-bar-size=%u: must be 23 to 28",
                   s->props.log_bar_size);
        return false;
    }
    qemu_macaddr_default_if_unset(&s->conf.macaddr);
    if (s->conf.macaddr.a[0] & 1) {
        error_setg(errp, "mac: must be a unicast address");
        return false;
    }
    memcpy(s->props.mac, s->conf.macaddr.a, sizeof(s->props.mac));
    return true;
}
