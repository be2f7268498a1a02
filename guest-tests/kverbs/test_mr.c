// SPDX-License-Identifier: GPL-2.0
/* Memory: the DMA key of the domain, fast registration, invalidation. */
#include "kverbs.h"

#include <linux/scatterlist.h>

#define PAGES 8
#define FAST_BYTES (PAGES * PAGE_SIZE)

struct fast {
	struct kv_pair *p;
	struct ib_mr *mr;
	struct scatterlist sg[PAGES];
	struct page *page[PAGES];
	int mapped;
};

static bool fast_make(struct fast *f, struct kv_pair *p)
{
	int i;

	memset(f, 0, sizeof(*f));
	f->p = p;
	sg_init_table(f->sg, PAGES);
	for (i = 0; i < PAGES; i++) {
		f->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!f->page[i])
			return kv_fail(p->kv, "no memory");
		sg_set_page(&f->sg[i], f->page[i], PAGE_SIZE, 0);
	}
	f->mapped = ib_dma_map_sg(p->kv->ib, f->sg, PAGES, DMA_BIDIRECTIONAL);
	f->mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, PAGES);
	if (IS_ERR(f->mr)) {
		f->mr = NULL;
		return kv_fail(p->kv, "ib_alloc_mr");
	}
	return f->mapped > 0 || kv_fail(p->kv, "ib_dma_map_sg");
}

static void fast_free(struct fast *f)
{
	int i;

	if (f->mr)
		ib_dereg_mr(f->mr);
	if (f->mapped)
		ib_dma_unmap_sg(f->p->kv->ib, f->sg, PAGES, DMA_BIDIRECTIONAL);
	for (i = 0; i < PAGES; i++)
		if (f->page[i])
			__free_page(f->page[i]);
}

static bool fast_register(struct fast *f)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .mr = f->mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ,
	};
	int n;

	ib_update_fast_reg_key(f->mr, f->mr->rkey + 1);
	n = ib_map_mr_sg(f->mr, f->sg, f->mapped, NULL, PAGE_SIZE);
	if (n != f->mapped)
		return kv_fail(f->p->kv, "ib_map_mr_sg: %d of %d", n,
			       f->mapped);
	wr.key = f->mr->rkey;
	return kv_do(f->p, &wr.wr, "registration", IB_WC_SUCCESS);
}

static bool fast_invalidate(struct fast *f)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV,
				 .ex.invalidate_rkey = f->mr->rkey };

	return kv_do(f->p, &wr, "invalidation", IB_WC_SUCCESS);
}

static bool fast_access(struct fast *f, enum ib_wr_opcode op, u32 len,
			enum ib_wc_status status)
{
	struct ib_sge sge = { f->p->dma[0], len, f->p->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr.opcode = op, .wr.sg_list = &sge, .wr.num_sge = 1,
		.remote_addr = f->mr->iova, .rkey = f->mr->rkey,
	};

	return kv_do(f->p, &wr.wr, op == IB_WR_RDMA_READ ? "read" : "write",
		     status);
}

static bool fast_same(struct fast *f, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += PAGE_SIZE)
		if (memcmp(page_address(f->page[i / PAGE_SIZE]),
			   f->p->buf[0] + i, min_t(u32, PAGE_SIZE, len - i)))
			return kv_fail(f->p->kv, "page %lu differs",
				       i / PAGE_SIZE);
	return true;
}

static bool fast_rounds(struct fast *f)
{
	int i;

	for (i = 0; i < 32; i++) {
		u32 len = 1 + (i * 1231) % FAST_BYTES;

		kv_fill(f->p->buf[0], len, i);
		if (!fast_register(f) ||
		    !fast_access(f, IB_WR_RDMA_WRITE, len, IB_WC_SUCCESS) ||
		    !fast_same(f, len))
			return false;
		memset(f->p->buf[0], 0, len);
		if (!fast_access(f, IB_WR_RDMA_READ, len, IB_WC_SUCCESS) ||
		    !fast_same(f, len) || !fast_invalidate(f))
			return false;
	}
	return true;
}

static bool with_fast(struct kv *kv, bool (*test)(struct fast *f))
{
	struct kv_pair *p = kv_pair_new(kv, IB_QPT_RC, IB_POLL_SOFTIRQ);
	struct fast *f = kzalloc(sizeof(*f), GFP_KERNEL);
	bool ok = false;

	if (p && f) {
		ok = fast_make(f, p) && test(f);
		fast_free(f);
	}
	kfree(f);
	if (p)
		kv_pair_free(p);
	return ok;
}

static bool fast(struct kv *kv)
{
	return with_fast(kv, fast_rounds);
}

static bool dead_key(struct fast *f)
{
	return fast_register(f) && fast_invalidate(f) &&
	       fast_access(f, IB_WR_RDMA_WRITE, 8, IB_WC_REM_ACCESS_ERR);
}

static bool invalidated(struct kv *kv)
{
	return with_fast(kv, dead_key);
}

static bool beyond(struct fast *f)
{
	if (!fast_register(f))
		return false;
	f->mr->iova += FAST_BYTES - 4;
	return fast_access(f, IB_WR_RDMA_WRITE, 8, IB_WC_REM_ACCESS_ERR);
}

static bool out_of_bounds(struct kv *kv)
{
	return with_fast(kv, beyond);
}

/* The peer's message takes the key away. */
static bool remote(struct fast *f)
{
	struct ib_sge sge = { f->p->dma[0], 16, f->p->pd->local_dma_lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV,
				 .sg_list = &sge, .num_sge = 1 };

	if (!fast_register(f) || !kv_post_recv(f->p, 1, 64))
		return false;
	wr.ex.invalidate_rkey = f->mr->rkey;
	if (!kv_do(f->p, &wr, "send with invalidation", IB_WC_SUCCESS) ||
	    !kv_wait_status(f->p, &f->p->received, "receive", IB_WC_SUCCESS))
		return false;
	if (!(f->p->received.wc.wc_flags & IB_WC_WITH_INVALIDATE) ||
	    f->p->received.wc.ex.invalidate_rkey != f->mr->rkey)
		return kv_fail(f->p->kv, "the receiver is not told of it");
	return fast_access(f, IB_WR_RDMA_WRITE, 8, IB_WC_REM_ACCESS_ERR);
}

static bool remote_invalidated(struct kv *kv)
{
	return with_fast(kv, remote);
}

const struct kv_test kv_mr_tests[] = {
	{ "fast registration, write, read, invalidation", fast },
	{ "an invalidated key is refused", invalidated },
	{ "bytes beyond a region are refused", out_of_bounds },
	{ "the peer's message invalidates a key", remote_invalidated },
	{ }
};
