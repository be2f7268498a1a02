/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inspector's view of steering and of counters. */
#include "inspect.h"

#include "bus/stats.h"
#include "fw/vport.h"
#include "obj/flow_counter.h"
#include "obj/flow_table.h"
#include "obj/q_counter.h"
#include "obj/tir.h"

static void destinations(Mlx5Json *j, const Mlx5FlowAct *act)
{
    mlx5_json_open(j, "destinations", '[');
    for (uint32_t i = 0; i < act->num_dests; i++) {
        const Mlx5FlowDest *d = &act->dests[i];

        mlx5_json_open(j, NULL, '{');
        if (d->table) {
            mlx5_json_uint(j, "table", d->table->o.id);
        } else {
            mlx5_json_uint(j, "tirn", d->tir->o.id);
        }
        mlx5_json_close(j, '}');
    }
    mlx5_json_close(j, ']');
}

static void counted(Mlx5Json *j, const Mlx5FlowAct *act)
{
    if (act->num_counters) {
        mlx5_json_uint(j, "packets", act->counters[0].count->packets);
        mlx5_json_uint(j, "octets", act->counters[0].count->octets);
    }
}

static void one_group(Mlx5Json *j, const Mlx5FlowGroup *group)
{
    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "group_id", group->id);
    mlx5_json_uint(j, "start_flow_index", group->start);
    mlx5_json_uint(j, "end_flow_index", group->end);
    mlx5_json_uint(j, "match_criteria_enable", group->parts);
    mlx5_json_open(j, "entries", '[');
    for (guint i = 0; i < group->entries->len; i++) {
        const Mlx5FlowEntry *entry = group->entries->pdata[i];

        mlx5_json_open(j, NULL, '{');
        mlx5_json_uint(j, "flow_index", entry->index);
        mlx5_json_uint(j, "action", entry->act.action);
        destinations(j, &entry->act);
        counted(j, &entry->act);
        mlx5_json_close(j, '}');
    }
    mlx5_json_close(j, ']');
    mlx5_json_close(j, '}');
}

static void one_table(void *obj, void *opaque)
{
    Mlx5FlowTable *table = obj;
    Mlx5Json *j = opaque;

    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "table", table->o.id);
    mlx5_json_uint(j, "uid", table->o.uid);
    mlx5_json_uint(j, "table_type", table->type);
    mlx5_json_uint(j, "level", table->level);
    mlx5_json_uint(j, "entries", UINT64_C(1) << table->log_size);
    mlx5_json_open(j, "groups", '[');
    for (guint i = 0; i < table->groups->len; i++) {
        one_group(j, table->groups->pdata[i]);
    }
    mlx5_json_close(j, ']');
    mlx5_json_close(j, '}');
}

static void one_tir(void *obj, void *opaque)
{
    Mlx5Tir *tir = obj;
    Mlx5Json *j = opaque;

    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "tirn", tir->o.id);
    mlx5_json_uint(j, "uid", tir->o.uid);
    if (tir->rq) {
        mlx5_json_uint(j, "rqn", tir->rq->o.id);
    } else if (tir->rqt) {
        mlx5_json_uint(j, "rqtn", tir->rqt->o.id);
    }
    mlx5_json_close(j, '}');
}

void mlx5_inspect_steering(Mlx5Json *j, Mlx5Func *func)
{
    mlx5_json_open(j, "tirs", '[');
    mlx5_obj_foreach(func, MLX5_OBJ_TIR, one_tir, j);
    mlx5_json_close(j, ']');
    mlx5_json_open(j, "flow_tables", '[');
    mlx5_obj_foreach(func, MLX5_OBJ_FLOW_TABLE, one_table, j);
    mlx5_json_close(j, ']');
}

/* Members of Mlx5QCounter, by their names. */
#define Q(name) { #name, offsetof(Mlx5QCounter, name) }
static const struct {
    const char *name;
    size_t offset;
} q_counters[] = {
    Q(rx_write_requests), Q(rx_read_requests), Q(rx_atomic_requests),
    Q(out_of_buffer), Q(out_of_sequence), Q(duplicate_request),
    Q(rnr_nak_retry_err), Q(packet_seq_err), Q(implied_nak_seq_err),
    Q(local_ack_timeout_err), Q(req_rnr_retries_exceeded),
    Q(req_transport_retries_exceeded), Q(req_remote_access_errors),
    Q(resp_remote_access_errors), Q(req_remote_invalid_request),
    Q(req_remote_operation_errors), Q(req_local_protection),
    Q(resp_local_protection), Q(resp_local_length_error), Q(req_cqe_error),
    Q(resp_cqe_error), Q(req_cqe_flush_error), Q(resp_cqe_flush_error),
    Q(cq_overflow),
};
#undef Q

static void one_q_counter(void *obj, void *opaque)
{
    Mlx5QCounter *set = obj;
    Mlx5Json *j = opaque;

    mlx5_json_open(j, NULL, '{');
    mlx5_json_uint(j, "counter_set_id", set->o.id);
    for (size_t i = 0; i < G_N_ELEMENTS(q_counters); i++) {
        uint32_t v = *(uint32_t *)((char *)set + q_counters[i].offset);

        if (v) {
            mlx5_json_uint(j, q_counters[i].name, v);
        }
    }
    mlx5_json_close(j, '}');
}

#define C(name) { #name, offsetof(Mlx5VportCounters, name) }
static const struct {
    const char *name;
    size_t offset;
} vport_counters[] = {
    C(received_ib_unicast), C(transmitted_ib_unicast),
    C(received_ib_multicast), C(transmitted_ib_multicast),
    C(received_eth_unicast), C(transmitted_eth_unicast),
    C(received_eth_multicast), C(transmitted_eth_multicast),
    C(received_eth_broadcast), C(transmitted_eth_broadcast),
    C(received_errors), C(transmit_errors),
};
#undef C

void mlx5_inspect_counters(Mlx5Json *j, Mlx5Func *func)
{
    const Mlx5Stats *s = &func->stats;
    const char *base = (const char *)&mlx5_vport(func)->counters;

    mlx5_json_open(j, "counters", '{');
    for (size_t i = 0; i < G_N_ELEMENTS(vport_counters); i++) {
        const Mlx5Traffic *t = (const Mlx5Traffic *)(base +
                                                vport_counters[i].offset);

        mlx5_json_open(j, vport_counters[i].name, '{');
        mlx5_json_uint(j, "packets", t->packets);
        mlx5_json_uint(j, "octets", t->octets);
        mlx5_json_close(j, '}');
    }
    mlx5_json_uint(j, "rx_steer_missed", s->rx_steer_missed);
    mlx5_json_uint(j, "rx_dropped_by_rule", s->rx_dropped_by_rule);
    mlx5_json_uint(j, "rx_icrc_errors", s->rx_icrc_errors);
    mlx5_json_uint(j, "rx_roce_malformed", s->rx_roce_malformed);
    mlx5_json_uint(j, "rx_roce_refused", s->rx_roce_refused);
    mlx5_json_uint(j, "rx_no_buffer", s->rx_no_buffer);
    mlx5_json_uint(j, "rx_errors", s->rx_errors);
    mlx5_json_uint(j, "tx_errors", s->tx_errors);
    mlx5_json_uint(j, "tx_discards", s->tx_discards);
    mlx5_json_close(j, '}');
    mlx5_json_open(j, "q_counters", '[');
    mlx5_obj_foreach(func, MLX5_OBJ_Q_COUNTER, one_q_counter, j);
    mlx5_json_close(j, ']');
}
