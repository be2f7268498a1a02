/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock and what is noted under it; see func.h.
 */
#include "bus/func.h"

void mlx5_func_lock(Mlx5Func *func)
{
    g_mutex_lock(&func->card->lock);
}

/* Take the notes with the lock held; they are carried out without it. */
static Mlx5Deferred take_notes(Mlx5Func *func)
{
    Mlx5Deferred *d = &func->deferred;
    Mlx5Deferred taken = *d;

    d->irqs = NULL;
    d->frames = NULL;
    d->kick = false;
    d->timer_changed = false;
    return taken;
}

static void send_frames(Mlx5Func *func, GPtrArray *frames)
{
    for (guint i = 0; i < frames->len; i++) {
        gsize len;
        const void *data = g_bytes_get_data(frames->pdata[i], &len);
        struct iovec iov = { (void *)data, len };

        func->ops->frame_send(func->host, &iov, 1);
    }
    g_ptr_array_unref(frames);
}

static void carry_out(Mlx5Func *func, Mlx5Deferred *d)
{
    if (d->frames) {
        send_frames(func, d->frames);
    }
    if (d->irqs) {
        for (guint i = 0; i < d->irqs->len; i++) {
            func->ops->irq_notify(func->host,
                                  g_array_index(d->irqs, uint32_t, i));
        }
        g_array_unref(d->irqs);
    }
    if (d->timer_changed) {
        func->ops->timer_set(func->host, d->timer_deadline_ns);
    }
    if (d->kick) {
        func->ops->work_kick(func->host);
    }
}

void mlx5_func_unlock(Mlx5Func *func)
{
    /* Work on one function may leave notes on another of the same card. */
    GPtrArray *funcs = func->card->funcs;
    guint n = funcs->len;
    g_autofree Mlx5Func **f = g_memdup2(funcs->pdata, n * sizeof(*f));
    g_autofree Mlx5Deferred *d = g_new(Mlx5Deferred, n);

    for (guint i = 0; i < n; i++) {
        d[i] = take_notes(f[i]);
    }
    g_mutex_unlock(&func->card->lock);
    for (guint i = 0; i < n; i++) {
        carry_out(f[i], &d[i]);
    }
}

void mlx5_irq_note(Mlx5Func *func, uint32_t vector)
{
    Mlx5Deferred *d = &func->deferred;

    if (vector >= func->props.num_vectors || !func->bus_master) {
        return;
    }
    if (!d->irqs) {
        d->irqs = g_array_new(false, false, sizeof(uint32_t));
    }
    for (guint i = 0; i < d->irqs->len; i++) {
        if (g_array_index(d->irqs, uint32_t, i) == vector) {
            return;
        }
    }
    g_array_append_val(d->irqs, vector);
}

void mlx5_frame_note(Mlx5Func *func, const struct iovec *iov, int iovcnt)
{
    Mlx5Deferred *d = &func->deferred;
    GByteArray *flat = g_byte_array_new();

    for (int i = 0; i < iovcnt; i++) {
        g_byte_array_append(flat, iov[i].iov_base, iov[i].iov_len);
    }
    if (!d->frames) {
        d->frames = g_ptr_array_new_with_free_func(
            (GDestroyNotify)g_bytes_unref);
    }
    g_ptr_array_add(d->frames, g_byte_array_free_to_bytes(flat));
}
