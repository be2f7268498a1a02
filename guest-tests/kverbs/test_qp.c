// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: datagrams, drain, events. */
#include "kverbs.h"

#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

static struct ib_ah *make_ah(struct kv_pair *p)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };

	rdma_ah_set_port_num(&attr, p->kv->port);
	rdma_ah_set_grh(&attr, (union ib_gid *)&p->kv->gid->gid, 0,
			p->kv->gid->index, 64, 0);
	ether_addr_copy(attr.roce.dmac, p->kv->gid->ndev->dev_addr);
	return rdma_create_ah(p->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
}

static bool datagram(struct kv_pair *p, struct ib_ah *ah)
{
	struct ib_sge sge = { p->dma[0], 1000, p->pd->local_dma_lkey };
	struct ib_ud_wr wr = {
		.wr.opcode = IB_WR_SEND, .wr.sg_list = &sge, .wr.num_sge = 1,
		.ah = ah, .remote_qpn = p->qp[1]->qp_num,
		.remote_qkey = KV_QKEY,
	};
	const u32 grh = sizeof(struct ib_grh);

	kv_fill(p->buf[0], 1000, 3);
	if (!kv_post_recv(p, 1, 2048) ||
	    !kv_do(p, &wr.wr, "datagram", IB_WC_SUCCESS) ||
	    !kv_wait_status(p, &p->received, "receive", IB_WC_SUCCESS))
		return false;
	if (p->received.wc.byte_len != 1000 + grh ||
	    p->received.wc.src_qp != p->qp[0]->qp_num)
		return kv_fail(p->kv, "%u bytes from QP %u",
			       p->received.wc.byte_len,
			       p->received.wc.src_qp);
	return !memcmp(p->buf[0], p->buf[1] + grh, 1000) ||
	       kv_fail(p->kv, "the data differs");
}

static bool ud(struct kv *kv)
{
	struct kv_pair *p = kv_pair_new(kv, IB_QPT_UD, IB_POLL_SOFTIRQ);
	struct ib_ah *ah;
	int before, with;
	bool ok;

	if (!p)
		return false;
	before = atomic_read(&p->pd->usecnt);
	ah = make_ah(p);
	if (IS_ERR(ah)) {
		kv_pair_free(p);
		return kv_fail(kv, "rdma_create_ah: %ld", PTR_ERR(ah));
	}
	with = atomic_read(&p->pd->usecnt);
	ok = with == before + 1 ? datagram(p, ah)
				: kv_fail(kv, "usecnt of the PD %d, with the "
					  "AH %d", before, with);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	kv_pair_free(p);
	return ok;
}

/* After the drain nothing is owed: each receive has completed, flushed. */
static bool drain(struct kv *kv)
{
	struct kv_pair *p = kv_pair_new(kv, IB_QPT_RC, IB_POLL_SOFTIRQ);
	struct kv_wait *w = kcalloc(8, sizeof(*w), GFP_KERNEL);
	struct ib_recv_wr wr = { };
	bool ok = p && w;
	int i;

	for (i = 0; ok && i < 8; i++) {
		kv_wait_init(&w[i]);
		wr.wr_cqe = &w[i].cqe;
		ok = !ib_post_recv(p->qp[1], &wr, NULL) ||
		     kv_fail(kv, "ib_post_recv");
	}
	if (ok)
		ib_drain_qp(p->qp[1]);
	for (i = 0; ok && i < 8; i++)
		ok = (try_wait_for_completion(&w[i].done) &&
		      w[i].wc.status == IB_WC_WR_FLUSH_ERR) ||
		     kv_fail(kv, "receive %d: %s", i,
			     ib_wc_status_msg(w[i].wc.status));
	if (p)
		kv_pair_free(p);
	kfree(w);
	return ok;
}

/* Who is written to with a wrong key hears of it. */
static bool access_event(struct kv *kv)
{
	struct kv_pair *p = kv_pair_new(kv, IB_QPT_RC, IB_POLL_SOFTIRQ);
	struct ib_sge sge;
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE,
				 .wr.sg_list = &sge, .wr.num_sge = 1,
				 .rkey = 0xdead00 };
	bool ok;
	int i;

	if (!p)
		return false;
	sge = (struct ib_sge){ p->dma[0], 8, p->pd->local_dma_lkey };
	ok = kv_do(p, &wr.wr, "write", IB_WC_REM_ACCESS_ERR);
	for (i = 0; ok && i < 100 && !atomic_read(&p->qp_events[1]); i++)
		msleep(20);
	if (ok && p->qp_event[1] != IB_EVENT_QP_ACCESS_ERR)
		ok = kv_fail(kv, "%d events, the last %s",
			     atomic_read(&p->qp_events[1]),
			     ib_event_msg(p->qp_event[1]));
	kv_pair_free(p);
	return ok;
}

const struct kv_test kv_qp_tests[] = {
	{ "datagrams, and the AH counts", ud },
	{ "a drained queue pair owes nothing", drain },
	{ "the event of a refused access arrives", access_event },
	{ }
};
