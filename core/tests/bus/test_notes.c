/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Host calls made after the lock is dropped (bus/func.h). Another thread that
 * overtakes is played by a host operation that enters core by itself: what
 * comes out must be the same as without.
 */
#include "bus/func.h"
#include "tests/obj/obj_helper.h"

static Mlx5HostOps ops;
static unsigned entered;
static Mlx5Timer late, early;
static GString *sent;

static void fired(void *opaque)
{
    (void)opaque;
}

/* A host whose operations are those of @ops, to be changed by the test. */
static FakeHost *host(void)
{
    FakeHost *h = fake_host_new(NULL);

    ops = fake_host_ops;
    entered = 0;
    h->func->ops = &ops;
    return h;
}

/* --- timer --- */

static void arm(FakeHost *h, Mlx5Timer *timer, int64_t deadline_ns)
{
    mlx5_func_lock(h->func);
    mlx5_timer_arm(h->func, timer, deadline_ns);
    mlx5_func_unlock(h->func);
}

/* Between the note and the call, another thread arms an earlier timer. */
static void timer_set_overtaken(void *opaque, int64_t deadline_ns)
{
    if (entered++ == 0) {
        arm(opaque, &early, 2000000);
    }
    fake_host_ops.timer_set(opaque, deadline_ns);
}

START_TEST(timer_overtaken)
{
    FakeHost *h = host();

    ops.timer_set = timer_set_overtaken;
    mlx5_timer_init(&late, fired, NULL);
    mlx5_timer_init(&early, fired, NULL);
    arm(h, &late, 3000000);
    ck_assert_int_eq(h->timer_deadline_ns, 2000000);
    /* Inside, outside (stale), outside again. */
    ck_assert_uint_eq(entered, 3);
    mlx5_func_lock(h->func);
    mlx5_timer_cancel(h->func, &early);
    mlx5_timer_cancel(h->func, &late);
    mlx5_func_unlock(h->func);
    ck_assert_int_eq(h->timer_deadline_ns, -1);
    fake_host_free(h);
}
END_TEST

/* --- frames --- */

static void send(FakeHost *h, const char *text)
{
    struct iovec iov = { (void *)text, strlen(text) };

    mlx5_func_lock(h->func);
    mlx5_frame_note(h->func, &iov, 1);
    mlx5_func_unlock(h->func);
}

/* While the first is on its way, another thread has one to send. */
static Mlx5FrameSent frame_send_overtaken(void *opaque,
                                          const struct iovec *iov, int iovcnt)
{
    (void)iovcnt;
    if (entered++ == 0) {
        send(opaque, "2");
        send(opaque, "3");
    }
    g_string_append_len(sent, iov[0].iov_base, iov[0].iov_len);
    return MLX5_FRAME_SENT;
}

START_TEST(frames_in_order)
{
    FakeHost *h = host();

    sent = g_string_new("");
    ops.frame_send = frame_send_overtaken;
    send(h, "1");
    ck_assert_str_eq(sent->str, "1");
    ck_assert(h->kicked);
    fake_host_work(h);
    ck_assert_str_eq(sent->str, "123");
    send(h, "4");
    ck_assert_str_eq(sent->str, "1234");
    g_string_free(sent, true);
    fake_host_free(h);
}
END_TEST

/* --- several functions --- */

/* What one leaves with another is for that one's own thread. */
START_TEST(other_function)
{
    FakeHost *h = fake_host_new(NULL);
    FakeHost *other = fake_host_new_func(h->card, NULL);

    h->kicked = other->kicked = false;
    mlx5_func_lock(h->func);
    mlx5_irq_note(h->func, 1);
    mlx5_irq_note(other->func, 1);
    mlx5_func_unlock(h->func);
    ck_assert_uint_eq(fake_host_irqs(h, 1), 1);
    ck_assert_uint_eq(fake_host_irqs(other, 1), 0);
    ck_assert(other->kicked && !h->kicked);
    fake_host_work(other);
    ck_assert_uint_eq(fake_host_irqs(other, 1), 1);
    fake_host_free(other);
    fake_host_free(h);
}
END_TEST

START_TEST(ids_are_unique)
{
    FakeHost *h = fake_host_new(NULL);
    FakeHost *second = fake_host_new_func(h->card, NULL);
    FakeHost *third = fake_host_new_func(h->card, NULL);

    ck_assert_uint_eq(third->func->vhca_id, 3);
    fake_host_free(second);
    second = fake_host_new_func(h->card, NULL);
    ck_assert_uint_eq(second->func->vhca_id, 2);
    fake_host_free(second);
    fake_host_free(third);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bus/notes");
    TCase *tc = tcase_create("notes");

    tcase_add_test(tc, timer_overtaken);
    tcase_add_test(tc, frames_in_order);
    tcase_add_test(tc, other_function);
    tcase_add_test(tc, ids_are_unique);
    suite_add_tcase(s, tc);
    return t_main(s);
}
