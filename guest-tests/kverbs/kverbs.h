/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kverbs: a kernel consumer of the RDMA core that tests what it uses.
 *
 * Each row of a table is a test; what a row finds is a line of KTAP in
 * /sys/kernel/debug/kverbs/run, which runs them when it is read.
 */
#ifndef KVERBS_H
#define KVERBS_H

#include <linux/completion.h>
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>

#define KV_WAIT_MS 10000
#define KV_BUF_BYTES (64 * 1024)
#define KV_QKEY 0x11111111u

/* A device that the client was told of. */
struct kv_device {
	struct list_head list;
	struct ib_device *ib;
	struct ib_event_handler events;
	atomic_t port_events;
};

/* A run of the tests on one device. */
struct kv {
	struct ib_device *ib;
	struct seq_file *out;
	u32 port;
	const struct ib_gid_attr *gid;
	unsigned int count, failed;
	char why[160];
};

/* A work completion that somebody waits for. */
struct kv_wait {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
	bool in_softirq;
	bool in_kworker;
};

/* Two connected queue pairs of one device, with a buffer each. */
struct kv_pair {
	struct kv *kv;
	struct ib_pd *pd;
	struct ib_cq *cq;
	enum ib_poll_context poll;
	struct ib_qp *qp[2];
	atomic_t qp_events[2];
	enum ib_event_type qp_event[2];
	u8 *buf[2];
	u64 dma[2];
	struct kv_wait sent, received;
};

struct kv_test {
	const char *name;
	/* Return: whether it held; else @kv->why says why not. */
	bool (*run)(struct kv *kv);
};

extern const struct kv_test kv_cq_tests[];
extern const struct kv_test kv_mr_tests[];
extern const struct kv_test kv_qp_tests[];

/* conn.c */
bool kv_fail(struct kv *kv, const char *fmt, ...) __printf(2, 3);
struct kv_pair *kv_pair_new(struct kv *kv, enum ib_qp_type type,
			    enum ib_poll_context poll);
void kv_pair_free(struct kv_pair *p);
void kv_wait_init(struct kv_wait *w);
/* Wait for @w; a CQ that is polled directly is polled meanwhile. */
bool kv_wait_for(struct kv_pair *p, struct kv_wait *w, const char *what);
/* The same, and the status must be @status. */
bool kv_wait_status(struct kv_pair *p, struct kv_wait *w, const char *what,
		    enum ib_wc_status status);
bool kv_post_recv(struct kv_pair *p, int side, u32 len);
bool kv_post_send(struct kv_pair *p, u32 len);
/* Post @wr on side 0 and wait until it has completed with @status. */
bool kv_do(struct kv_pair *p, struct ib_send_wr *wr, const char *what,
	   enum ib_wc_status status);
void kv_fill(u8 *buf, u32 len, u8 seed);

#endif
