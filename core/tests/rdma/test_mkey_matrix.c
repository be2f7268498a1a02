/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory keys in traffic: every set of rights, for every operation, for a
 * region and for a window, and every other reason to refuse; and what each bit
 * of a UMR's mkey_mask lets through.
 */
#include "rdma/umr.h"
#include "tests/obj/mkey_helper.h"
#include "tests/rdma/rdma_helper.h"

#define A_DATA R_DATA
#define B_DATA (R_DATA + 0x10000)
#define LEN 64u

/* One operation, and the key that is looked at in it. */
typedef struct Op {
    const char *name;
    uint8_t opcode;
    bool remote;             /* the key is the peer's */
    bool recv;               /* ... and that of its receive */
    uint32_t need;
    uint8_t syndrome, vendor; /* of the sender's completion */
} Op;

static const Op ops[] = {
    { "send", MLX5_OPCODE_SEND, false, false, MLX5_ACCESS_LOCAL_READ,
      MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_VENDOR_GATHER_KEY },
    { "receive", MLX5_OPCODE_SEND, true, true, MLX5_ACCESS_LOCAL_WRITE,
      MLX5_CQE_SYNDROME_REMOTE_OP_ERR, MLX5_VENDOR_REMOTE_OP },
    { "write from", MLX5_OPCODE_RDMA_WRITE, false, false,
      MLX5_ACCESS_LOCAL_READ, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
      MLX5_VENDOR_GATHER_KEY },
    { "write to", MLX5_OPCODE_RDMA_WRITE, true, false,
      MLX5_ACCESS_REMOTE_WRITE, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
      MLX5_VENDOR_REMOTE_ACCESS },
    { "read to", MLX5_OPCODE_RDMA_READ, false, false, MLX5_ACCESS_LOCAL_WRITE,
      MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_VENDOR_SCATTER_KEY },
    { "read from", MLX5_OPCODE_RDMA_READ, true, false, MLX5_ACCESS_REMOTE_READ,
      MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, MLX5_VENDOR_REMOTE_ACCESS },
    { "atomic to", MLX5_OPCODE_ATOMIC_FA, false, false,
      MLX5_ACCESS_LOCAL_WRITE, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
      MLX5_VENDOR_SCATTER_KEY },
    { "atomic at", MLX5_OPCODE_ATOMIC_FA, true, false,
      MLX5_ACCESS_REMOTE_ATOMIC, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
      MLX5_VENDOR_REMOTE_ACCESS },
};

/* What is the matter with the key. */
typedef enum Flaw {
    NO_FLAW, OWN_QPN, OTHER_PD, OTHER_QPN, IS_FREE, OTHER_VARIANT, DESTROYED,
    TOO_SHORT, BELOW_START, REGION_RIGHTS, REGION_GONE, FLAWS
} Flaw;

static const bool flaw_refuses[FLAWS] = {
    [OTHER_PD] = true, [OTHER_QPN] = true, [IS_FREE] = true,
    [OTHER_VARIANT] = true, [DESTROYED] = true, [TOO_SHORT] = true,
    [BELOW_START] = true, [REGION_RIGHTS] = true, [REGION_GONE] = true,
};

static RTest *t;

/* A list key over LEN bytes at @data, as windows are. */
static uint32_t window(uint32_t below, uint64_t data, uint32_t access)
{
    TestCmd c = { 0 };

    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_KLMS, t->pdn, data, LEN, access);
    t_klm(T_XLT(&c), LEN, below, data);
    return t_mkey_create(t->h, &c, t_mkey_len(&c, 4, 4));
}

static uint32_t region(uint64_t data, uint32_t access)
{
    uint64_t page = data & ~UINT64_C(0xfff);

    return t_mkey_mtt(t->h, t->pdn, data, LEN, 12, access, &page, 1);
}

static void destroy(uint32_t key)
{
    TestCmd c = { 0 };

    MLX5_SET(destroy_mkey_in, c.in, mkey_index, key >> 8);
    t_ok(t->h, &c, mlx5_cmd_destroy_mkey, MLX5_ST_SZ_BYTES(destroy_mkey_in));
}

/* Make a key with @access over @data, with @flaw; @va: where it is used. */
static uint32_t make_key(bool is_window, uint64_t data, uint32_t access,
                         Flaw flaw, uint32_t own_qpn, uint64_t *va)
{
    uint32_t below = is_window ? region(data, T_ALL_ACCESS) : 0;
    uint32_t key = is_window ? window(below, data, access)
                             : region(data, access);
    Mlx5Mkey *mkey = mlx5_mkey_find(t->h->func, key);
    uint8_t mkc[64];

    *va = data;
    memcpy(mkc, mkey->mkc, 64);
    switch (flaw) {
    case OWN_QPN:
        MLX5_SET(mkc, mkc, qpn, own_qpn);
        break;
    case OTHER_QPN:
        MLX5_SET(mkc, mkc, qpn, own_qpn + 100);
        break;
    case OTHER_PD:
        MLX5_SET(mkc, mkc, pd, t_alloc(t->h, mlx5_cmd_alloc_pd));
        break;
    case IS_FREE:
        MLX5_SET(mkc, mkc, free, 1);
        break;
    case TOO_SHORT:
        MLX5_SET(mkc, mkc, len, 7);
        break;
    case BELOW_START:
        *va -= 8;
        break;
    case REGION_RIGHTS:
        if (is_window) {
            mlx5_mkey_find(t->h->func, below)->access = 0;
        }
        break;
    case REGION_GONE:
        if (is_window) {
            destroy(below);
        }
        break;
    default:
        break;
    }
    mlx5_mkey_set_context(mkey, mkc);
    if (flaw == DESTROYED) {
        destroy(key);
    }
    return flaw == OTHER_VARIANT ? key ^ 1 : key;
}

/* Carry out @op with that key on its side. Return: did it go well? */
static bool run(const Op *op, uint32_t key, uint64_t va)
{
    uint32_t len = op->opcode == MLX5_OPCODE_ATOMIC_FA ? 8 : LEN;
    RWqe w = r_wqe(op->opcode);
    Mlx5WqeData recv = { .addr = op->recv ? va : B_DATA, .len = LEN,
                         .lkey = op->recv ? key : t->key };
    uint8_t cqe[64];

    if (op->opcode == MLX5_OPCODE_SEND) {
        r_recv_sg(&t->b, &recv, 1);
    } else {
        r_raddr(&w, op->remote ? va : B_DATA, op->remote ? key : t->key);
    }
    if (op->opcode == MLX5_OPCODE_ATOMIC_FA) {
        r_atomic(&w, 1, 0);
    }
    r_data(&w, op->remote ? A_DATA : va, len, op->remote ? t->key : key);
    r_post(&t->a, &w);
    ck_assert(r_poll(&t->a, &t->a.scq, cqe));
    if (MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_REQ) {
        return true;
    }
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, syndrome), op->syndrome);
    ck_assert_uint_eq(MLX5_GET(cqe_err, cqe, vendor_err_synd), op->vendor);
    if (op->recv) {
        r_failed(&t->b, &t->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
                 MLX5_VENDOR_RECV_KEY);
    }
    return false;
}

static void one_case(const Op *op, bool is_window, uint32_t access, Flaw flaw)
{
    bool window_only = flaw == REGION_RIGHTS || flaw == REGION_GONE;
    bool want = !(op->need & ~access) &&
                (!flaw_refuses[flaw] || (window_only && !is_window));
    uint64_t data = op->remote ? B_DATA : A_DATA, va;
    uint32_t key;
    uint8_t before[LEN], after[LEN];

    t = r_new(MLX5_QP_ST_RC);
    r_connect(t, 0xfffff0);
    r_fill(t->h, A_DATA, LEN, 1);
    r_fill(t->h, B_DATA, LEN, 2);
    fake_mem_read(t->h, data, before, LEN);
    key = make_key(is_window, data, access, flaw,
                   op->remote ? t->b.qpn : t->a.qpn, &va);
    ck_assert_msg(run(op, key, va) == want, "%s, %s, rights 0x%x, flaw %u",
                  op->name, is_window ? "window" : "region", access, flaw);
    fake_mem_read(t->h, data, after, LEN);
    if (!want) { /* refused: nothing was touched */
        ck_assert_mem_eq(before, after, LEN);
    }
    r_free(t);
}

START_TEST(every_right)
{
    for (uint32_t access = 0; access <= T_ALL_ACCESS; access++) {
        one_case(&ops[_i], false, access, NO_FLAW);
        one_case(&ops[_i], true, access, NO_FLAW);
    }
}
END_TEST

START_TEST(every_flaw)
{
    for (Flaw flaw = NO_FLAW; flaw < FLAWS; flaw++) {
        one_case(&ops[_i], false, T_ALL_ACCESS, flaw);
        one_case(&ops[_i], true, T_ALL_ACCESS, flaw);
    }
}
END_TEST

/* ---- mkey_mask ---- */

/* Bits of the mask, and what of the context each may change. */
static const struct {
    uint8_t bit;
    struct {
        uint16_t off, bits;
    } field[2];
} mask_bits[] = {
#define F(f) { MLX5_BIT_OFF(mkc, f), MLX5_BIT_SZ(mkc, f) }
    { 0, { F(len), F(length64) } },
    { 1, { F(log_page_size) } },
    { 6, { F(start_addr) } },
    { 7, { F(pd) } },
    { 8, { F(en_rinval) } },
    { 9, { F(expected_sigerr_count) } },
    { 12, { F(bsf_en) } },
    { 13, { F(mkey_7_0) } },
    { 14, { F(qpn) } },
    { 17, { F(lr) } },
    { 18, { F(lw) } },
    { 19, { F(rr) } },
    { 20, { F(rw) } },
    { 21, { F(a) } },
    { 23, { F(small_fence_on_rdma_read_response) } },
    { 25, { F(relaxed_ordering_write) } },
    { 29, { F(free) } },
    { 42, { F(log_page_size) } },
    { 47, { F(relaxed_ordering_read) } },
#undef F
};

static bool may_change(uint32_t mask_bit, uint32_t mkc_bit)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mask_bits); i++) {
        for (uint32_t k = 0; mask_bits[i].bit == mask_bit && k < 2; k++) {
            if (mkc_bit - mask_bits[i].field[k].off <
                mask_bits[i].field[k].bits) {
                return true;
            }
        }
    }
    return false;
}

static bool known(uint32_t mask_bit)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mask_bits); i++) {
        if (mask_bits[i].bit == mask_bit) {
            return true;
        }
    }
    return false;
}

/* A context that differs from the key's in every field and is as good. */
static void other_context(uint8_t *mkc, uint32_t pdn)
{
    memset(mkc, 0xff, 64);
    MLX5_SET(mkc, mkc, access_mode_4_2, 0);
    MLX5_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_KSM);
    MLX5_SET(mkc, mkc, bsf_en, 0);
    MLX5_SET(mkc, mkc, pd, pdn);
    MLX5_SET(mkc, mkc, start_addr, 0x7000);
    MLX5_SET(mkc, mkc, len, 0x200);
    MLX5_SET(mkc, mkc, log_page_size, 13);
    MLX5_SET(mkc, mkc, translations_octword_size, 0x300);
}

START_TEST(mask_lets_through)
{
    uint32_t bit = (uint32_t)_i, key, other;
    uint8_t before[64], given[64];
    Mlx5Mkey *mkey;
    RWqe w = r_wqe(MLX5_OPCODE_UMR);
    TestCmd c = { 0 };

    t = r_new(MLX5_QP_ST_REG_UMR);
    r_connect(t, 0);
    other = t_alloc(t->h, mlx5_cmd_alloc_pd);
    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_KLMS, t->pdn, 0x1000, 0x100, 0);
    key = t_mkey_create(t->h, &c, t_mkey_len(&c, 4, 0));
    mkey = mlx5_mkey_find(t->h->func, key);
    memcpy(before, mkey->mkc, 64);
    other_context(given, other);
    memcpy(w.b + 64, given, 64);
    MLX5_SET(wqe_ctrl, w.b, general_id, key);
    MLX5_SET(wqe_umr_ctrl, w.b + 16, inline, 1);
    MLX5_SET(wqe_umr_ctrl, w.b + 16, mkey_mask, 1ull << bit);
    w.len = 128;
    r_post(&t->a, &w);
    if (!known(bit)) {
        r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
                 mlx5_umr_vendor(MLX5_UMR_MASK));
        ck_assert_mem_eq(before, mkey->mkc, 64);
    } else {
        r_sent(&t->a, 0, MLX5_OPCODE_UMR);
        for (uint32_t i = 0; i < 512; i++) {
            ck_assert_uint_eq(mlx5_prm_get(mkey->mkc, i, 1),
                              mlx5_prm_get(may_change(bit, i) ? given : before,
                                           i, 1));
        }
    }
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mkey matrix");
    TCase *tc = tcase_create("mkey matrix");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_right, 0, G_N_ELEMENTS(ops));
    tcase_add_loop_test(tc, every_flaw, 0, G_N_ELEMENTS(ops));
    tcase_add_loop_test(tc, mask_lets_through, 0, 64);
    suite_add_tcase(s, tc);
    return t_main(s);
}
