/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock and what is noted under it; see func.h.
 */
#include "bus/func.h"

/* pthread's answers are ignored: a lock that is initialized and not held by
 * its own thread can't fail, and that is ours to keep, not the guest's. */
void mlx5_card_lock(Mlx5Card *card)
{
    pthread_mutex_lock(&card->lock);
}

void mlx5_card_unlock(Mlx5Card *card)
{
    pthread_mutex_unlock(&card->lock);
}

void mlx5_func_lock(Mlx5Func *func)
{
    mlx5_card_lock(func->card);
}

/* Take the notes with the lock held; they are carried out without it. */
static Mlx5Deferred take_notes(Mlx5Func *func)
{
    Mlx5Deferred *d = &func->deferred;
    Mlx5Deferred taken = *d;

    d->irqs = NULL;
    d->kick = d->held = false;
    d->timer_changed = false;
    if (d->sending) {
        taken.frames = NULL;
    } else {
        d->frames = NULL;
        d->frame_bytes = 0;
        d->sending = taken.frames != NULL;
    }
    return taken;
}

/*
 * What the host said of frames just sent. Had it become ready meanwhile, that
 * was perhaps for the last of them: then the next ones will tell.
 */
static void note_wire(Mlx5Func *func, bool queued, uint32_t ready_before)
{
    func->deferred.sending = false;
    if (queued && func->wire.ready == ready_before) {
        func->wire.full = true;
    }
    if (!mlx5_wire_busy(func) && func->wire.go_on) {
        func->wire.go_on(func);
    }
}

void mlx5_wire_ready(Mlx5Func *func)
{
    func->wire.full = false;
    func->wire.ready++;
    if (func->wire.go_on) {
        func->wire.go_on(func);
    }
}

/* Frames that came up while these are sent are left to the engine's thread:
 * a processor that rang a doorbell must not send those of all others. */
static void send_frames(Mlx5Func *func, GPtrArray *frames, uint32_t ready)
{
    bool more, queued = false;

    for (guint i = 0; i < frames->len; i++) {
        gsize len;
        const void *data = g_bytes_get_data(frames->pdata[i], &len);
        struct iovec iov = { (void *)data, len };

        queued |= func->ops->frame_send(func->host, &iov, 1) ==
                  MLX5_FRAME_QUEUED;
    }
    g_ptr_array_unref(frames);
    mlx5_func_lock(func);
    note_wire(func, queued, ready);
    more = func->deferred.frames || !g_queue_is_empty(&func->work.queue);
    mlx5_card_unlock(func->card);
    if (more) {
        func->ops->work_kick(func->host);
    }
}

/* Two threads may get here in the wrong order: the last to look is right. */
static void set_timer(Mlx5Func *func, int64_t deadline_ns)
{
    bool moved;

    do {
        func->ops->timer_set(func->host, deadline_ns);
        mlx5_func_lock(func);
        moved = func->deferred.timer_deadline_ns != deadline_ns;
        deadline_ns = func->deferred.timer_deadline_ns;
        mlx5_card_unlock(func->card);
    } while (moved);
}

static void carry_out(Mlx5Func *func, Mlx5Deferred *d, uint32_t ready)
{
    if (d->frames) {
        send_frames(func, d->frames, ready);
    }
    if (d->irqs) {
        for (guint i = 0; i < d->irqs->len; i++) {
            func->ops->irq_notify(func->host,
                                  g_array_index(d->irqs, uint32_t, i));
        }
        g_array_unref(d->irqs);
    }
    if (d->timer_changed) {
        set_timer(func, d->timer_deadline_ns);
    }
    if (d->held) {
        func->ops->frames_held(func->host);
    }
    if (d->kick) {
        func->ops->work_kick(func->host);
    }
}

static bool has_notes(const Mlx5Func *func)
{
    const Mlx5Deferred *d = &func->deferred;

    return d->irqs || d->frames || d->kick || d->held || d->timer_changed;
}

/* Under the lock, which keeps the other function and its host alive. */
static void kick_others(Mlx5Func *func)
{
    GPtrArray *funcs = func->card->funcs;

    for (guint i = 0; i < funcs->len; i++) {
        Mlx5Func *other = g_ptr_array_index(funcs, i);

        if (other != func && has_notes(other)) {
            other->ops->work_kick(other->host);
        }
    }
}

/* Nothing is held back once the lock is free, of any function of the card. */
static void run_held(Mlx5Card *card)
{
    for (guint i = 0; i < card->funcs->len; i++) {
        mlx5_work_run_held(g_ptr_array_index(card->funcs, i));
    }
}

void mlx5_func_unlock(Mlx5Func *func)
{
    Mlx5Deferred notes;
    uint32_t ready;

    run_held(func->card);
    kick_others(func);
    notes = take_notes(func);
    ready = func->wire.ready;
    mlx5_card_unlock(func->card);
    carry_out(func, &notes, ready);
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

void mlx5_held_note(Mlx5Func *func)
{
    func->deferred.held = true;
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
    d->frame_bytes += flat->len;
    g_ptr_array_add(d->frames, g_byte_array_free_to_bytes(flat));
}
