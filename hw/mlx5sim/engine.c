/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine: one thread a device for the work that outlasts a doorbell's
 * budget, and for timers. It sleeps on a condition until the core asks, so an
 * idle card costs nothing, and it rests while the virtual machine is stopped:
 * guest memory must not change then.
 *
 * With deterministic=on the core keeps all work on the ringing thread; timers
 * then run in QEMU's main loop, whose order against the virtual clock is
 * fixed.
 */
#include "compat.h"
#include "qemu/rcu.h"
#include "device.h"

/* Run one round of work, with the BQL where a vIOMMU wants it. */
static bool mlx5sim_engine_round(Mlx5simDevice *s, bool timer_due, bool kicked)
{
    int64_t began = mlx5sim_account_begin(s);
    bool need_bql = qatomic_read(&s->behind_iommu);
    bool more = false;

    mlx5sim_account_add(s, &s->account.entries);
    if (need_bql) {
        bql_lock();
    }
    if (timer_due) {
        mlx5_func_timer(s->func);
    }
    if (kicked) {
        more = mlx5_func_work(s->func);
    }
    if (need_bql) {
        bql_unlock();
    }
    mlx5sim_account_end(began, &s->account.engine_ns, NULL);
    return more;
}

/* Wake whoever waits, with the BQL, for the engine to rest. */
static void mlx5sim_engine_signal_idle(Mlx5simDevice *s)
{
    bql_lock();
    qemu_cond_broadcast(&s->idle);
    bql_unlock();
}

/* Sleep until there is work. Called with the lock. Return: false to end. */
static bool mlx5sim_engine_wait(Mlx5simEngine *e)
{
    while (!e->stopping && (e->paused || !(e->kicked || e->timer_due))) {
        qemu_cond_wait(&e->wake, &e->lock);
    }
    return !e->stopping;
}

static void *mlx5sim_engine_run(void *opaque)
{
    Mlx5simDevice *s = opaque;
    Mlx5simEngine *e = &s->engine;

    rcu_register_thread();
    qemu_mutex_lock(&e->lock);
    while (mlx5sim_engine_wait(e)) {
        bool kicked = e->kicked, timer_due = e->timer_due, more, awaited;

        e->kicked = e->timer_due = false;
        e->busy = true;
        qemu_mutex_unlock(&e->lock);
        more = mlx5sim_engine_round(s, timer_due, kicked);
        qemu_mutex_lock(&e->lock);
        e->kicked |= more;
        e->busy = false;
        awaited = e->paused || e->stopping;
        if (awaited) {
            qemu_mutex_unlock(&e->lock);
            mlx5sim_engine_signal_idle(s);
            qemu_mutex_lock(&e->lock);
        }
    }
    qemu_mutex_unlock(&e->lock);
    rcu_unregister_thread();
    return NULL;
}

static bool mlx5sim_engine_busy(Mlx5simEngine *e)
{
    QEMU_LOCK_GUARD(&e->lock);
    return e->busy;
}

/*
 * Wait until the thread is outside the core. Called with the BQL, which is
 * released meanwhile: the thread may need it to send an interrupt.
 */
static void mlx5sim_engine_wait_idle(Mlx5simDevice *s)
{
    while (mlx5sim_engine_busy(&s->engine)) {
        qemu_cond_wait_bql(&s->idle);
    }
}

/* Change one of the flags that the thread sleeps on. */
static void mlx5sim_engine_set(Mlx5simEngine *e, bool *flag, bool value)
{
    QEMU_LOCK_GUARD(&e->lock);
    *flag = value;
    qemu_cond_signal(&e->wake);
}

void mlx5sim_engine_kick(Mlx5simDevice *s)
{
    mlx5sim_engine_set(&s->engine, &s->engine.kicked, true);
}

static void mlx5sim_engine_timer_cb(void *opaque)
{
    Mlx5simDevice *s = opaque;

    if (s->props.deterministic) {
        mlx5_func_timer(s->func);
    } else {
        mlx5sim_engine_set(&s->engine, &s->engine.timer_due, true);
    }
}

void mlx5sim_engine_set_timer(Mlx5simDevice *s, int64_t deadline_ns)
{
    if (deadline_ns < 0) {
        timer_del(s->engine.timer);
    } else {
        timer_mod_ns(s->engine.timer, deadline_ns);
    }
}

static void mlx5sim_engine_vm_state(void *opaque, bool running, RunState state)
{
    Mlx5simDevice *s = opaque;

    mlx5sim_engine_set(&s->engine, &s->engine.paused, !running);
    if (!running) {
        mlx5sim_engine_wait_idle(s);
    }
}

/**
 * mlx5sim_engine_start - make the engine, before the core's function exists
 */
void mlx5sim_engine_start(Mlx5simDevice *s)
{
    Mlx5simEngine *e = &s->engine;

    qemu_mutex_init(&e->lock);
    qemu_cond_init(&e->wake);
    e->kicked = e->timer_due = e->stopping = e->busy = false;
    e->paused = !runstate_is_running();
    e->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, mlx5sim_engine_timer_cb, s);
    e->vm_state =
        mlx5sim_add_vm_state_handler(DEVICE(s), mlx5sim_engine_vm_state, s);
    qemu_thread_create(&e->thread, "mlx5sim", mlx5sim_engine_run, s,
                       QEMU_THREAD_JOINABLE);
}

/**
 * mlx5sim_engine_stop - end the engine; the BQL is released while it ends
 */
void mlx5sim_engine_stop(Mlx5simDevice *s)
{
    Mlx5simEngine *e = &s->engine;

    qemu_del_vm_change_state_handler(e->vm_state);
    mlx5sim_engine_set(e, &e->stopping, true);
    /* It may need the BQL to send the interrupt of its last work. */
    bql_unlock();
    qemu_thread_join(&e->thread);
    bql_lock();
    timer_free(e->timer);
    e->timer = NULL;
    qemu_cond_destroy(&e->wake);
    qemu_mutex_destroy(&e->lock);
}
