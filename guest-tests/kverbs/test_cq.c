// SPDX-License-Identifier: GPL-2.0
/* Protection domains; completion queues in each context that polls them. */
#include "kverbs.h"

static bool pd_counts(struct kv *kv)
{
	struct ib_pd *pd = ib_alloc_pd(kv->ib, 0);
	struct ib_mr *mr;
	int before, with;

	if (IS_ERR(pd))
		return kv_fail(kv, "ib_alloc_pd: %ld", PTR_ERR(pd));
	before = atomic_read(&pd->usecnt);
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 16);
	if (IS_ERR(mr)) {
		ib_dealloc_pd(pd);
		return kv_fail(kv, "ib_alloc_mr: %ld", PTR_ERR(mr));
	}
	with = atomic_read(&pd->usecnt);
	ib_dereg_mr(mr);
	if (with != before + 1 || atomic_read(&pd->usecnt) != before)
		kv_fail(kv, "usecnt %d, %d with an MR, %d after", before, with,
			atomic_read(&pd->usecnt));
	if (pd->uobject)
		kv_fail(kv, "the PD has a user object");
	ib_dealloc_pd(pd);
	return !kv->why[0];
}

/* One queue in both roles counts twice. */
static bool cq_counts(struct kv *kv)
{
	struct kv_pair *p = kv_pair_new(kv, IB_QPT_RC, IB_POLL_DIRECT);
	int n;

	if (!p)
		return false;
	n = atomic_read(&p->cq->usecnt);
	kv_pair_free(p);
	return n == 4 || kv_fail(kv, "usecnt %d with two queue pairs", n);
}

static bool exchange(struct kv_pair *p, u32 len)
{
	kv_fill(p->buf[0], len, len);
	memset(p->buf[1], 0, KV_BUF_BYTES);
	if (!kv_post_recv(p, 1, KV_BUF_BYTES) || !kv_post_send(p, len) ||
	    !kv_wait_status(p, &p->received, "receive", IB_WC_SUCCESS))
		return false;
	if (p->received.wc.byte_len != len)
		return kv_fail(p->kv, "%u bytes instead of %u",
			       p->received.wc.byte_len, len);
	return !memcmp(p->buf[0], p->buf[1], len) ||
	       kv_fail(p->kv, "the data differs");
}

static bool in_context(struct kv *kv, enum ib_poll_context poll, bool softirq,
		       bool kworker)
{
	struct kv_pair *p = kv_pair_new(kv, IB_QPT_RC, poll);
	bool ok;

	if (!p)
		return false;
	ok = exchange(p, 1) && exchange(p, 4096) && exchange(p, KV_BUF_BYTES);
	if (ok && (p->received.in_softirq != softirq ||
		   p->received.in_kworker != kworker))
		ok = kv_fail(kv, "completed in %s",
			     p->received.in_softirq ? "a softirq" :
			     p->received.in_kworker ? "a kworker" : "a task");
	kv_pair_free(p);
	return ok;
}

static bool direct(struct kv *kv)
{
	return in_context(kv, IB_POLL_DIRECT, false, false);
}

/* A softirq under load runs in ksoftirqd: that serves softirqs, too. */
static bool softirq(struct kv *kv)
{
	return in_context(kv, IB_POLL_SOFTIRQ, true, false);
}

static bool workqueue(struct kv *kv)
{
	return in_context(kv, IB_POLL_WORKQUEUE, false, true);
}

static bool unbound(struct kv *kv)
{
	return in_context(kv, IB_POLL_UNBOUND_WORKQUEUE, false, true);
}

/* The pool gives the same queue to who fits into it. */
static bool pool(struct kv *kv)
{
	struct ib_cq *a = ib_cq_pool_get(kv->ib, 16, 0, IB_POLL_SOFTIRQ);
	struct ib_cq *b;
	bool ok;

	if (IS_ERR(a))
		return kv_fail(kv, "ib_cq_pool_get: %ld", PTR_ERR(a));
	b = ib_cq_pool_get(kv->ib, 16, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(b)) {
		ib_cq_pool_put(a, 16);
		return kv_fail(kv, "ib_cq_pool_get: %ld", PTR_ERR(b));
	}
	ok = a == b && a->shared;
	ib_cq_pool_put(b, 16);
	ib_cq_pool_put(a, 16);
	return ok || kv_fail(kv, "two queues for two who fit into one");
}

const struct kv_test kv_cq_tests[] = {
	{ "a PD counts its MRs", pd_counts },
	{ "a CQ counts both roles of each QP", cq_counts },
	{ "data with a CQ polled directly", direct },
	{ "data with a CQ polled in a softirq", softirq },
	{ "data with a CQ polled in a workqueue", workqueue },
	{ "data with a CQ polled in an unbound workqueue", unbound },
	{ "the pool of CQs shares them", pool },
	{ }
};
