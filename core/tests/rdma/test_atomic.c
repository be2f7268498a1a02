/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Masked atomics in their sizes, and the order of the bytes that come back.
 */
#include "fw/fw_internal.h"
#include "tests/rdma/rdma_helper.h"

#define BACK R_DATA
#define TARGET (R_DATA + 0x10000000)

/* The packed operands of a masked atomic of @bits. */
typedef struct Operands {
    uint64_t swap_add, compare, swap_mask, compare_mask;
} Operands;

static RTest *connected(bool host_order)
{
    RTest *t = r_new(MLX5_QP_ST_RC);

    MLX5_SET(atomic_caps, t->h->func->fw->caps.cur[MLX5_CAP_GROUP_ATOMIC],
             atomic_req_8B_endianness_mode, host_order);
    r_connect(t, 0);
    return t;
}

static RWqe masked(RTest *t, uint8_t opcode, uint8_t opmod, uint32_t bits,
                   Operands o, uint64_t at)
{
    RWqe w = r_wqe(opcode);
    uint8_t *p;

    MLX5_SET(wqe_ctrl, w.b, opc_mod, opmod);
    r_raddr(&w, at, t->key);
    p = w.b + w.len;
    mlx5_prm_set(p, 0, bits, o.swap_add);
    if (opcode == MLX5_OPCODE_ATOMIC_MASKED_CS) {
        mlx5_prm_set(p, bits, bits, o.compare);
        mlx5_prm_set(p, 2 * bits, bits, o.swap_mask);
        mlx5_prm_set(p, 3 * bits, bits, o.compare_mask);
        w.len += bits / 2;
    } else {
        mlx5_prm_set(p, bits, bits, o.swap_mask);
        w.len += 16;
    }
    r_data(&w, BACK, bits / 8, t->key);
    return w;
}

static void set(RTest *t, uint64_t value)
{
    value = GUINT64_TO_LE(value);
    fake_mem_write(t->h, TARGET, &value, 8);
    fake_mem_write(t->h, BACK, "\xee\xee\xee\xee\xee\xee\xee\xee", 8);
}

static uint64_t le64(RTest *t, uint64_t at)
{
    uint64_t v;

    fake_mem_read(t->h, at, &v, 8);
    return GUINT64_FROM_LE(v);
}

static void good(RTest *t, RWqe w, uint8_t opcode)
{
    uint16_t counter = t->a.sq_pi;

    r_post(&t->a, &w);
    r_sent(&t->a, counter, opcode);
}

START_TEST(swap_8)
{
    RTest *t = connected(true);
    Operands o = { UINT64_C(0xab00000000000000), 0x12345678,
                   UINT64_C(0xff00000000000000), 0xffffffff };

    set(t, UINT64_C(0x00ff00ff12345678));
    good(t, masked(t, MLX5_OPCODE_ATOMIC_MASKED_CS, 9, 64, o, TARGET),
         MLX5_OPCODE_ATOMIC_MASKED_CS);
    ck_assert_uint_eq(le64(t, TARGET), UINT64_C(0xabff00ff12345678));
    ck_assert_uint_eq(le64(t, BACK), UINT64_C(0x00ff00ff12345678));
    /* What is compared differs: nothing is swapped. */
    o.compare = 0x12345679;
    o.swap_add = 0;
    good(t, masked(t, MLX5_OPCODE_ATOMIC_MASKED_CS, 9, 64, o, TARGET),
         MLX5_OPCODE_ATOMIC_MASKED_CS);
    ck_assert_uint_eq(le64(t, TARGET), UINT64_C(0xabff00ff12345678));
    r_free(t);
}
END_TEST

START_TEST(add_8)
{
    RTest *t = connected(true);
    Operands o = { UINT64_C(0x0101010101010101), 0,
                   UINT64_C(0x8080808080808080), 0 };

    set(t, UINT64_C(0xff00ff0012345678));
    good(t, masked(t, MLX5_OPCODE_ATOMIC_MASKED_FA, 9, 64, o, TARGET),
         MLX5_OPCODE_ATOMIC_MASKED_FA);
    ck_assert_uint_eq(le64(t, TARGET), UINT64_C(0x0001000113355779));
    ck_assert_uint_eq(le64(t, BACK), UINT64_C(0xff00ff0012345678));
    r_free(t);
}
END_TEST

/* Four bytes: the other four stay, and the result is big-endian always. */
START_TEST(swap_4)
{
    RTest *t = connected(true);
    Operands o = { 0xcafe0000, 0x5678, 0xffff0000, 0xffff };

    set(t, UINT64_C(0x1111111112345678));
    good(t, masked(t, MLX5_OPCODE_ATOMIC_MASKED_CS, 8, 32, o, TARGET),
         MLX5_OPCODE_ATOMIC_MASKED_CS);
    ck_assert_uint_eq(le64(t, TARGET), UINT64_C(0x11111111cafe5678));
    ck_assert_uint_eq(fake_mem_be32(t->h, BACK), 0x12345678);
    ck_assert_uint_eq(fake_mem_be32(t->h, BACK + 4), 0xeeeeeeee);
    r_free(t);
}
END_TEST

START_TEST(add_4)
{
    RTest *t = connected(false);
    Operands o = { 0x00010001, 0, 0x80008000, 0 };

    set(t, UINT64_C(0xffff000112345678));
    /* The upper half, which is aligned to 4 only. */
    good(t, masked(t, MLX5_OPCODE_ATOMIC_MASKED_FA, 8, 32, o, TARGET + 4),
         MLX5_OPCODE_ATOMIC_MASKED_FA);
    ck_assert_uint_eq(le64(t, TARGET), UINT64_C(0x0000000212345678));
    ck_assert_uint_eq(fake_mem_be32(t->h, BACK), 0xffff0001);
    /* Without a boundary: 32 bits wrap. */
    o = (Operands){ .swap_add = 0xffffffff };
    good(t, masked(t, MLX5_OPCODE_ATOMIC_MASKED_FA, 8, 32, o, TARGET),
         MLX5_OPCODE_ATOMIC_MASKED_FA);
    ck_assert_uint_eq(le64(t, TARGET), UINT64_C(0x0000000212345677));
    r_free(t);
}
END_TEST

/* atomic_req_8B_endianness_mode: of the answer, not of the target. */
START_TEST(byte_order)
{
    RTest *t = connected(_i);
    RWqe w = r_wqe(MLX5_OPCODE_ATOMIC_FA);

    set(t, 0x10);
    r_raddr(&w, TARGET, t->key);
    r_atomic(&w, 1, 0);
    r_data(&w, BACK, 8, t->key);
    good(t, w, MLX5_OPCODE_ATOMIC_FA);
    ck_assert_uint_eq(le64(t, TARGET), 0x11);
    ck_assert_uint_eq(_i ? le64(t, BACK) : fake_mem_be64(t->h, BACK), 0x10);
    r_free(t);
}
END_TEST

/* A size that is not offered; a result that does not fit; not aligned. */
START_TEST(refused)
{
    static const struct {
        uint8_t opmod;
        uint32_t bits;
        uint64_t off;
        uint8_t vendor;
    } rows[] = {
        { 10, 64, 0, MLX5_VENDOR_WQE_ATOMIC_SIZE },
        { 1, 64, 0, MLX5_VENDOR_WQE_ATOMIC_SIZE },
        { 9, 32, 0, MLX5_VENDOR_WQE_ATOMIC_SIZE },
        { 8, 64, 0, MLX5_VENDOR_WQE_ATOMIC_SIZE },
        { 9, 64, 4, MLX5_VENDOR_REMOTE_INVAL },
        { 8, 32, 2, MLX5_VENDOR_REMOTE_INVAL },
    };
    RTest *t = connected(true);
    Operands o = { 0 };
    RWqe w = masked(t, MLX5_OPCODE_ATOMIC_MASKED_FA, rows[_i].opmod,
                    rows[_i].bits, o, TARGET + rows[_i].off);

    set(t, 7);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0,
             rows[_i].vendor == MLX5_VENDOR_REMOTE_INVAL
                 ? MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR
                 : MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, rows[_i].vendor);
    ck_assert_uint_eq(le64(t, TARGET), 7);
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("atomic");
    TCase *tc = tcase_create("atomic");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, swap_8);
    tcase_add_test(tc, add_8);
    tcase_add_test(tc, swap_4);
    tcase_add_test(tc, add_4);
    tcase_add_loop_test(tc, byte_order, 0, 2);
    tcase_add_loop_test(tc, refused, 0, 6);
    return t_main(s);
}
