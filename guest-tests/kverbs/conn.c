// SPDX-License-Identifier: GPL-2.0
/* Pairs of queue pairs, and work requests that are waited for. */
#include "kverbs.h"

#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

bool kv_fail(struct kv *kv, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(kv->why, sizeof(kv->why), fmt, ap);
	va_end(ap);
	return false;
}

void kv_fill(u8 *buf, u32 len, u8 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		buf[i] = seed + i * 7 + (i >> 8);
}

static void on_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_wait *w = container_of(wc->wr_cqe, struct kv_wait, cqe);

	w->wc = *wc;
	w->in_softirq = in_serving_softirq();
	w->in_kworker = current->flags & PF_WQ_WORKER;
	complete(&w->done);
}

void kv_wait_init(struct kv_wait *w)
{
	memset(w, 0, sizeof(*w));
	init_completion(&w->done);
	w->cqe.done = on_done;
}

bool kv_wait_for(struct kv_pair *p, struct kv_wait *w, const char *what)
{
	unsigned long end = jiffies + msecs_to_jiffies(KV_WAIT_MS);

	if (p->poll != IB_POLL_DIRECT) {
		if (wait_for_completion_timeout(&w->done, end - jiffies))
			return true;
		return kv_fail(p->kv, "%s does not complete", what);
	}
	while (!try_wait_for_completion(&w->done)) {
		ib_process_cq_direct(p->cq, 16);
		if (time_after(jiffies, end))
			return kv_fail(p->kv, "%s does not complete", what);
		cond_resched();
	}
	return true;
}

bool kv_wait_status(struct kv_pair *p, struct kv_wait *w, const char *what,
		    enum ib_wc_status status)
{
	if (!kv_wait_for(p, w, what))
		return false;
	return w->wc.status == status ||
	       kv_fail(p->kv, "%s: %s instead of %s", what,
		       ib_wc_status_msg(w->wc.status),
		       ib_wc_status_msg(status));
}

bool kv_post_recv(struct kv_pair *p, int side, u32 len)
{
	struct ib_sge sge = { p->dma[side], len, p->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	int rc;

	kv_wait_init(&p->received);
	wr.wr_cqe = &p->received.cqe;
	rc = ib_post_recv(p->qp[side], &wr, NULL);
	return !rc || kv_fail(p->kv, "ib_post_recv: %d", rc);
}

bool kv_do(struct kv_pair *p, struct ib_send_wr *wr, const char *what,
	   enum ib_wc_status status)
{
	int rc;

	kv_wait_init(&p->sent);
	wr->wr_cqe = &p->sent.cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	rc = ib_post_send(p->qp[0], wr, NULL);
	if (rc)
		return kv_fail(p->kv, "%s: ib_post_send: %d", what, rc);
	return kv_wait_status(p, &p->sent, what, status);
}

bool kv_post_send(struct kv_pair *p, u32 len)
{
	struct ib_sge sge = { p->dma[0], len, p->pd->local_dma_lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge,
				 .num_sge = 1 };

	return kv_do(p, &wr, "send", IB_WC_SUCCESS);
}

/* ---- queue pairs ---- */

static void path(struct kv *kv, struct rdma_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, kv->port);
	rdma_ah_set_grh(ah, (union ib_gid *)&kv->gid->gid, 0, kv->gid->index,
			64, 0);
	ether_addr_copy(ah->roce.dmac, kv->gid->ndev->dev_addr);
}

static int to_init(struct kv_pair *p, struct ib_qp *qp)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_INIT, .port_num = p->kv->port,
		.qkey = KV_QKEY,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ,
	};
	int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;

	mask |= qp->qp_type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS;
	return ib_modify_qp(qp, &a, mask);
}

static int to_rtr(struct kv_pair *p, struct ib_qp *qp, struct ib_qp *peer)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp_num, .max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
	};
	int mask = IB_QP_STATE;

	path(p->kv, &a.ah_attr);
	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			IB_QP_MIN_RNR_TIMER;
	return ib_modify_qp(qp, &a, mask);
}

static int to_rts(struct ib_qp *qp)
{
	struct ib_qp_attr a = { .qp_state = IB_QPS_RTS, .timeout = 14,
				.retry_cnt = 7, .rnr_retry = 7,
				.max_rd_atomic = 4 };
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;

	if (qp->qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(qp, &a, mask);
}

static int connect(struct kv_pair *p)
{
	int i, rc = 0;

	for (i = 0; i < 2 && !rc; i++) {
		rc = to_init(p, p->qp[i]);
		rc = rc ? rc : to_rtr(p, p->qp[i], p->qp[!i]);
		rc = rc ? rc : to_rts(p->qp[i]);
	}
	return rc;
}

static void on_qp_event(struct ib_event *event, void *context)
{
	struct kv_pair *p = context;
	int side = event->element.qp == p->qp[1];

	p->qp_event[side] = event->event;
	atomic_inc(&p->qp_events[side]);
}

static int make_qp(struct kv_pair *p, int side, enum ib_qp_type type)
{
	struct ib_qp_init_attr a = {
		.event_handler = on_qp_event, .qp_context = p,
		.send_cq = p->cq, .recv_cq = p->cq, .qp_type = type,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 2 },
	};
	struct ib_qp *qp = ib_create_qp(p->pd, &a);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	p->qp[side] = qp;
	return 0;
}

static int make_buffers(struct kv_pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		p->buf[i] = kzalloc(KV_BUF_BYTES, GFP_KERNEL);
		if (!p->buf[i])
			return -ENOMEM;
		p->dma[i] = ib_dma_map_single(p->kv->ib, p->buf[i],
					      KV_BUF_BYTES, DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(p->kv->ib, p->dma[i]))
			return -EIO;
	}
	return 0;
}

static int make(struct kv_pair *p, enum ib_qp_type type)
{
	int i, rc;

	p->pd = ib_alloc_pd(p->kv->ib, 0);
	if (IS_ERR(p->pd)) {
		rc = PTR_ERR(p->pd);
		p->pd = NULL;
		return rc;
	}
	p->cq = ib_alloc_cq(p->kv->ib, p, 128, 0, p->poll);
	if (IS_ERR(p->cq)) {
		rc = PTR_ERR(p->cq);
		p->cq = NULL;
		return rc;
	}
	rc = make_buffers(p);
	for (i = 0; i < 2 && !rc; i++)
		rc = make_qp(p, i, type);
	return rc ? rc : connect(p);
}

struct kv_pair *kv_pair_new(struct kv *kv, enum ib_qp_type type,
			    enum ib_poll_context poll)
{
	struct kv_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int rc;

	if (!p)
		return NULL;
	p->kv = kv;
	p->poll = poll;
	kv_wait_init(&p->sent);
	kv_wait_init(&p->received);
	rc = make(p, type);
	if (rc) {
		kv_fail(kv, "making a pair of queue pairs: %d", rc);
		kv_pair_free(p);
		return NULL;
	}
	return p;
}

void kv_pair_free(struct kv_pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!p->qp[i])
			continue;
		/* The drain posts a write: datagrams have none. Ours are all
		 * waited for.
		 */
		if (p->qp[i]->qp_type == IB_QPT_RC)
			ib_drain_qp(p->qp[i]);
		ib_destroy_qp(p->qp[i]);
	}
	for (i = 0; i < 2; i++) {
		if (p->dma[i])
			ib_dma_unmap_single(p->kv->ib, p->dma[i], KV_BUF_BYTES,
					    DMA_BIDIRECTIONAL);
		kfree(p->buf[i]);
	}
	if (p->cq)
		ib_free_cq(p->cq);
	if (p->pd)
		ib_dealloc_pd(p->pd);
	kfree(p);
}
