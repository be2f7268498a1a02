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

static bool has_notes(const Mlx5Func *func)
{
    const Mlx5Deferred *d = &func->deferred;

    return d->irqs || d->frames || d->kick || d->timer_changed;
}

void mlx5_func_unlock(Mlx5Func *func)
{
    Mlx5Card *card = func->card;
    Mlx5Func *other = NULL;

    /*
     * Work on one function may leave notes on another of the same card: take
     * one function's notes at a time, so that no list of them is allocated.
     */
    for (;;) {
        Mlx5Deferred notes;

        for (guint i = 0; i < card->funcs->len; i++) {
            Mlx5Func *f = g_ptr_array_index(card->funcs, i);

            if (has_notes(f)) {
                other = f;
                break;
            }
        }
        if (!other) {
            break;
        }
        notes = take_notes(other);
        g_mutex_unlock(&card->lock);
        carry_out(other, &notes);
        g_mutex_lock(&card->lock);
        other = NULL;
    }
    g_mutex_unlock(&card->lock);
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
