// SPDX-License-Identifier: GPL-2.0
/*
 * Does wrong, once each when it is loaded, what the checkers of the guest
 * debug watch for: a suite that finds no report means something only where
 * each of these is reported. The kernel goes on afterwards, but is not to be
 * trusted.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#define BLOCK_BYTES 64

static void use_after_free(void)
{
	char *block = kzalloc(BLOCK_BYTES, GFP_KERNEL);

	if (!block)
		return;
	OPTIMIZER_HIDE_VAR(block);
	kfree(block);
	(void)READ_ONCE(block[BLOCK_BYTES / 2]);
}

/*
 * Nothing points to them any more, but what the allocator keeps in its arrays
 * of free objects after it gave one of them out: of few none may be missed.
 */
static void leak(void)
{
	char *block;
	int i;

	for (i = 0; i < 500; i++) {
		block = kzalloc(BLOCK_BYTES, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(block);
	}
}

static void count_from_zero(void)
{
	refcount_t count = REFCOUNT_INIT(1);

	if (refcount_dec_and_test(&count))
		refcount_inc(&count);
}

static void delete_twice(void)
{
	LIST_HEAD(head);
	struct list_head entry;

	list_add(&entry, &head);
	list_del(&entry);
	list_del(&entry);
}

static void shift_too_far(void)
{
	int bits = 40, value = 1;

	OPTIMIZER_HIDE_VAR(bits);
	OPTIMIZER_HIDE_VAR(value);
	value <<= bits;
	OPTIMIZER_HIDE_VAR(value);
}

static void never(struct timer_list *timer)
{
}

/* Debug objects take the timer back before the memory goes. */
static void free_active(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, never, 0);
	mod_timer(timer, jiffies + 3600 * HZ);
	kfree(timer);
}

static void sleep_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

/* The first one: lockdep turns itself off when others report. */
static void lock_both_ways(void)
{
	static DEFINE_MUTEX(a);
	static DEFINE_MUTEX(b);

	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);
	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

static int __init sins_init(void)
{
	lock_both_ways();
	use_after_free();
	leak();
	count_from_zero();
	delete_twice();
	shift_too_far();
	free_active();
	sleep_in_atomic();
	return 0;
}
module_init(sins_init);

MODULE_DESCRIPTION("What the kernel's checkers must see");
MODULE_LICENSE("GPL");
