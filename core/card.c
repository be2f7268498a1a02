/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A card and its functions: making, resetting, freeing, and the entry points
 * of mlx5sim.h that are not BAR accesses. Everything here takes the lock,
 * calls one folder, drops the lock.
 */
#include "fw/lower.h"
#include "layers.h"

#define PROP_ERROR g_quark_from_static_string("mlx5sim-property")

/* One row per folder, in order of making. */
static const struct {
    void (*make)(Mlx5Func *func);
    void (*reset)(Mlx5Func *func);
    void (*free)(Mlx5Func *func);
} layers[] = {
    { mlx5_fw_new, mlx5_fw_reset, mlx5_fw_free },
    { mlx5_memic_new, mlx5_memic_reset, mlx5_memic_free },
    { mlx5_pacer_new, mlx5_pacer_reset, mlx5_pacer_free },
    { mlx5_cong_new, mlx5_cong_reset, mlx5_cong_free },
    { mlx5_rdma_new, mlx5_rdma_reset, mlx5_rdma_free },
    { mlx5_eth_new, mlx5_eth_reset, mlx5_eth_free },
    { mlx5_net_new, NULL, NULL }, /* keeps no state of its own */
};

Mlx5Card *mlx5_card_new(void)
{
    Mlx5Card *card = g_new0(Mlx5Card, 1);
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    /* Held for microseconds: to look again costs less than to sleep. */
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(&card->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    card->funcs = g_ptr_array_new();
    card->link_up = true;
    return card;
}

void mlx5_card_free(Mlx5Card *card)
{
    /* The host frees functions first; that is not the guest's to decide. */
    g_assert(card->funcs->len == 0);
    g_ptr_array_unref(card->funcs);
    pthread_mutex_destroy(&card->lock);
    g_free(card);
}

static bool in_range(const char *name, unsigned v, unsigned lo, unsigned hi,
                     GError **errp)
{
    if (v >= lo && v <= hi) {
        return true;
    }
    g_set_error(errp, PROP_ERROR, 0, "%s must be between %u and %u, not %u",
                name, lo, hi, v);
    return false;
}

static bool check_mac(const uint8_t *mac, GError **errp)
{
    static const uint8_t zero[6];

    if (memcmp(mac, zero, 6) == 0 || (mac[0] & 1)) {
        g_set_error(errp, PROP_ERROR, 0,
                    "mac must be a unicast address and not zero");
        return false;
    }
    return true;
}

static bool check_props(const Mlx5FuncProps *p, GError **errp)
{
    return check_mac(p->mac, errp) &&
           in_range("vectors", p->num_vectors, 2, 2048, errp) &&
           in_range("log_bar_size", p->log_bar_size, 23, 28, errp) &&
           in_range("boot_pages", p->boot_pages, 0, 16384, errp) &&
           in_range("init_pages", p->init_pages, 0, 16384, errp) &&
           in_range("log_max_qp", p->log_max_qp, 8, 18, errp) &&
           in_range("log_max_cq", p->log_max_cq, 8, 18, errp) &&
           in_range("log_max_mkey", p->log_max_mkey, 14, 22, errp) &&
           in_range("log_max_cq_sz", p->log_max_cq_sz, 10, 22, errp);
}

/* The smallest id that no function of the card has. */
static uint16_t free_vhca_id(const Mlx5Card *card)
{
    uint16_t id = 1;

    for (guint i = 0; i < card->funcs->len; i++) {
        const Mlx5Func *func = g_ptr_array_index(card->funcs, i);

        if (func->vhca_id == id) {
            id++;
            i = -1; /* from the start: they are in no order */
        }
    }
    return id;
}

Mlx5Func *mlx5_func_new(Mlx5Card *card, const Mlx5FuncProps *props,
                        const Mlx5HostOps *ops, void *host, GError **errp)
{
    Mlx5Func *func;

    if (!check_props(props, errp)) {
        return NULL;
    }
    func = g_new0(Mlx5Func, 1);
    func->card = card;
    func->ops = ops;
    func->host = host;
    func->props = *props;
    func->timers.heap = g_ptr_array_new();
    g_queue_init(&func->work.queue);
    func->engine = &mlx5_rdma_engine;
    mlx5_func_lock(func);
    func->vhca_id = free_vhca_id(card);
    g_ptr_array_add(card->funcs, func);
    mlx5_paths_changed(func);
    func->obj = mlx5_obj_tables_new();
    for (size_t i = 0; i < G_N_ELEMENTS(layers); i++) {
        layers[i].make(func);
    }
    mlx5_func_unlock(func);
    return func;
}

/* Objects go first: their engines' state hangs on the layers. */
static void drop_state(Mlx5Func *func)
{
    mlx5_obj_tables_clear(func);
    if (func->deferred.irqs) {
        g_array_set_size(func->deferred.irqs, 0);
    }
}

void mlx5_func_free(Mlx5Func *func)
{
    Mlx5Card *card = func->card;

    mlx5_func_lock(func);
    drop_state(func);
    for (size_t i = G_N_ELEMENTS(layers); i-- > 0;) {
        if (layers[i].free) {
            layers[i].free(func);
        }
    }
    mlx5_obj_tables_free(func);
    g_ptr_array_remove(card->funcs, func);
    mlx5_paths_changed(func);
    g_ptr_array_unref(func->timers.heap);
    g_clear_pointer(&func->deferred.irqs, g_array_unref);
    g_clear_pointer(&func->deferred.frames, g_ptr_array_unref);
    mlx5_card_unlock(card);
    g_free(func);
}

/* Objects, then the layers from the lowest up to row @first. */
static void reset_layers(Mlx5Func *func, size_t first)
{
    drop_state(func);
    for (size_t i = G_N_ELEMENTS(layers); i-- > first;) {
        if (layers[i].reset) {
            layers[i].reset(func);
        }
    }
    func->dma_fault = false;
}

void mlx5_func_reset_locked(Mlx5Func *func)
{
    reset_layers(func, 0);
    memset(&func->stats, 0, sizeof(func->stats));
}

void mlx5_func_stop(Mlx5Func *func)
{
    reset_layers(func, 1);
}

void mlx5_func_reset(Mlx5Func *func)
{
    mlx5_func_lock(func);
    mlx5_func_reset_locked(func);
    mlx5_func_unlock(func);
}

void mlx5_func_set_bus_master(Mlx5Func *func, bool on)
{
    mlx5_func_lock(func);
    func->bus_master = on;
    mlx5_func_unlock(func);
}

bool mlx5_func_work(Mlx5Func *func)
{
    Mlx5Budget budget = { MLX5_SLICE_BYTES, MLX5_SLICE_STEPS };
    bool more;

    mlx5_func_lock(func);
    more = mlx5_work_run(func, &budget);
    mlx5_func_unlock(func);
    return more;
}

void mlx5_func_timer(Mlx5Func *func)
{
    mlx5_func_lock(func);
    mlx5_timer_run(func);
    mlx5_work_run_inline(func);
    mlx5_func_unlock(func);
}

/*
 * The function that the wire is joined to, with the lock held; NULL and no lock
 * if there is none. One today; the internal switch will choose among several.
 */
static Mlx5Func *lock_at_wire(Mlx5Card *card)
{
    mlx5_card_lock(card);
    if (card->funcs->len) {
        return g_ptr_array_index(card->funcs, 0);
    }
    mlx5_card_unlock(card);
    return NULL;
}

bool mlx5_card_frame_rx(Mlx5Card *card, const struct iovec *iov, int iovcnt)
{
    Mlx5Func *func = lock_at_wire(card);
    bool taken;

    if (!func) {
        return false;
    }
    taken = mlx5_eth_rx(func, iov, iovcnt);
    mlx5_work_run_inline(func);
    mlx5_func_unlock(func);
    return taken;
}

void mlx5_card_frames_end(Mlx5Card *card)
{
    Mlx5Func *func = lock_at_wire(card);

    if (func) {
        mlx5_eth_frames_end(func);
        mlx5_work_run_inline(func);
        mlx5_func_unlock(func);
    }
}

void mlx5_card_frame_ready(Mlx5Card *card)
{
    Mlx5Func *func = lock_at_wire(card);

    if (func) {
        mlx5_wire_ready(func);
        mlx5_work_run_inline(func);
        mlx5_func_unlock(func);
    }
}

void mlx5_card_set_link(Mlx5Card *card, bool up)
{
    mlx5_card_lock(card);
    if (card->link_up != up) {
        card->link_up = up;
        for (guint i = 0; i < card->funcs->len; i++) {
            mlx5_fw_link_changed(g_ptr_array_index(card->funcs, i));
        }
    }
    if (card->funcs->len) {
        mlx5_func_unlock(g_ptr_array_index(card->funcs, 0));
    } else {
        mlx5_card_unlock(card);
    }
}
