/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the guest comes to the card, and how long it stays: QOM properties
 * that the bench reads. Nothing is counted until "account" is set to true;
 * until then an access pays for one predictable branch.
 */
#include "compat.h"
#include "device.h"

static bool mlx5sim_get_account(Object *obj, Error **errp)
{
    return qatomic_read(&MLX5SIM(obj)->account.on);
}

static void mlx5sim_set_account(Object *obj, bool value, Error **errp)
{
    qatomic_set(&MLX5SIM(obj)->account.on, value);
}

/**
 * mlx5sim_account_init - give a device its counters' properties
 */
void mlx5sim_account_init(Mlx5simDevice *s)
{
    const struct {
        const char *name;
        const uint64_t *at;
        const char *text;
    } rows[] = {
        {"account-reads", &s->account.reads, "reads of BAR0"},
        {"account-writes", &s->account.writes, "writes to BAR0"},
        {"account-bar-ns", &s->account.bar_ns,
         "nanoseconds inside the card, in the guest's processors"},
        {"account-engine-ns", &s->account.engine_ns,
         "nanoseconds at work in the card's own thread"},
        {"account-entries", &s->account.entries,
         "times that a thread enters the card and takes its lock"},
        {"account-dma-reads", &s->account.dma_reads, "reads of guest memory"},
        {"account-dma-writes", &s->account.dma_writes,
         "writes to guest memory"},
        {"account-dma-copies", &s->account.dma_copies,
         "copies from guest memory to guest memory"},
        {"account-lookups", &s->account.lookups,
         "addresses that were looked up in QEMU's map of memory"},
        {"account-irqs", &s->account.irqs, "interrupts"},
        {"account-wakes", &s->account.wakes,
         "times that the card's own thread is given work"},
    };

    object_property_add_bool(OBJECT(s), "account", mlx5sim_get_account,
                             mlx5sim_set_account);
    object_property_set_description(OBJECT(s), "account",
                                    "count accesses and their time");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        object_property_add_uint64_ptr(OBJECT(s), rows[i].name, rows[i].at,
                                       OBJ_PROP_FLAG_READ);
        object_property_set_description(OBJECT(s), rows[i].name, rows[i].text);
    }
}
