// SPDX-License-Identifier: GPL-2.0
/*
 * The client: is told of devices, keeps what it was told, runs the tests when
 * /sys/kernel/debug/kverbs/run is read (Documentation: KTAP, version 1).
 *
 * /sys/kernel/debug/kverbs/events says in which order it was told what.
 */
#include "kverbs.h"

#include <linux/debugfs.h>
#include <linux/module.h>
#include <rdma/ib_cache.h>

#define EVENTS_MAX 64

static LIST_HEAD(devices);
static DEFINE_MUTEX(lock);	/* of devices and events */
static struct dentry *dir;
static char events[EVENTS_MAX][64];
static unsigned int num_events;

static __printf(1, 2) void note(const char *fmt, ...)
{
	va_list ap;

	if (num_events == EVENTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(events[num_events++], sizeof(events[0]), fmt, ap);
	va_end(ap);
}

static void on_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct kv_device *d = container_of(handler, struct kv_device, events);

	if (event->event == IB_EVENT_PORT_ACTIVE ||
	    event->event == IB_EVENT_PORT_ERR)
		atomic_inc(&d->port_events);
}

/* By now the device is registered: it has a name, ports, GIDs. */
static int kv_add(struct ib_device *ib)
{
	struct kv_device *d = kzalloc(sizeof(*d), GFP_KERNEL);
	struct ib_port_attr attr;

	if (!d)
		return -ENOMEM;
	d->ib = ib;
	mutex_lock(&lock);
	note("add %s index %u registered %d port_state %d gid_table %d",
	     dev_name(&ib->dev), ib->index,
	     refcount_read(&ib->refcount) > 0,
	     ib_query_port(ib, 1, &attr) ? -1 : attr.state,
	     ib->port_data[1].immutable.gid_tbl_len);
	list_add_tail(&d->list, &devices);
	mutex_unlock(&lock);
	INIT_IB_EVENT_HANDLER(&d->events, ib, on_event);
	ib_register_event_handler(&d->events);
	return 0;
}

static struct ib_client kv_client;

static void kv_remove(struct ib_device *ib, void *data)
{
	struct kv_device *d, *next;

	mutex_lock(&lock);
	list_for_each_entry_safe(d, next, &devices, list) {
		if (d->ib != ib)
			continue;
		note("remove %s port_events %d", dev_name(&ib->dev),
		     atomic_read(&d->port_events));
		list_del(&d->list);
		ib_unregister_event_handler(&d->events);
		kfree(d);
	}
	mutex_unlock(&lock);
}

static struct ib_client kv_client = {
	.name = "kverbs",
	.add = kv_add,
	.remove = kv_remove,
};

/* A GID of RoCE v2 that has a network interface, on an active port. */
static const struct ib_gid_attr *find_gid(struct ib_device *ib, u32 port)
{
	int len = ib->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	int i;

	for (i = 0; i < len; i++) {
		attr = rdma_get_gid_attr(ib, port, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP && attr->ndev)
			return attr;
		rdma_put_gid_attr(attr);
	}
	return NULL;
}

static void run_table(struct kv *kv, const struct kv_test *tests)
{
	for (; tests->name; tests++) {
		bool ok;

		kv->why[0] = 0;
		ok = tests->run(kv);
		kv->count++;
		kv->failed += !ok;
		seq_printf(kv->out, "%sok %u - %s%s%s\n", ok ? "" : "not ",
			   kv->count, tests->name, kv->why[0] ? " # " : "",
			   kv->why);
		cond_resched();
	}
}

static void run_device(struct kv *kv)
{
	kv->port = rdma_start_port(kv->ib);
	kv->gid = find_gid(kv->ib, kv->port);
	if (!kv->gid) {
		kv->count++;
		kv->failed++;
		seq_printf(kv->out, "not ok %u - %s has a GID\n", kv->count,
			   dev_name(&kv->ib->dev));
		return;
	}
	run_table(kv, kv_cq_tests);
	run_table(kv, kv_mr_tests);
	run_table(kv, kv_qp_tests);
	rdma_put_gid_attr(kv->gid);
}

static int run_show(struct seq_file *m, void *unused)
{
	struct kv kv = { .out = m };
	struct kv_device *d;

	seq_puts(m, "KTAP version 1\n");
	mutex_lock(&lock);
	list_for_each_entry(d, &devices, list) {
		kv.ib = d->ib;
		run_device(&kv);
	}
	mutex_unlock(&lock);
	seq_printf(m, "1..%u\n", kv.count);
	return 0;
}

/* seq_file shows again, with more room, what did not fit: the tests would run
 * twice. */
static int run_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, run_show, NULL, 64 * 1024);
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = run_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int events_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&lock);
	for (i = 0; i < num_events; i++)
		seq_printf(m, "%s\n", events[i]);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(events);

static int __init kv_init(void)
{
	int rc = ib_register_client(&kv_client);

	if (rc)
		return rc;
	dir = debugfs_create_dir("kverbs", NULL);
	debugfs_create_file("run", 0400, dir, NULL, &run_fops);
	debugfs_create_file("events", 0400, dir, NULL, &events_fops);
	return 0;
}

static void __exit kv_exit(void)
{
	debugfs_remove_recursive(dir);
	ib_unregister_client(&kv_client);
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("Tests of kernel verbs");
MODULE_LICENSE("GPL");
