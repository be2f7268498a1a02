/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory: allocations, the windows of the BAR, keys over it.
 */
#include "fw/fw.h"
#include "obj/memic.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define BACK (R_DATA + 0x10000000)

static uint64_t bar(FakeHost *h)
{
    return mlx5_memic_bar_start(&h->func->props);
}

static void fill_alloc(TestCmd *c, uint64_t start, uint32_t range,
                       uint32_t size, uint32_t align)
{
    memset(c, 0, sizeof(*c));
    MLX5_SET(alloc_memic_in, c->in, range_start_addr, start);
    MLX5_SET(alloc_memic_in, c->in, range_size, range);
    MLX5_SET(alloc_memic_in, c->in, memic_size, size);
    MLX5_SET(alloc_memic_in, c->in, log_memic_addr_alignment, align);
}

/* As the driver does it: whole pages, at @page of the window. */
static uint64_t alloc(FakeHost *h, uint32_t page, uint32_t size)
{
    TestCmd c;

    fill_alloc(&c, bar(h) + page * 4096, (size + 4095) & ~4095u, size, 0);
    t_ok(h, &c, mlx5_cmd_alloc_memic, MLX5_ST_SZ_BYTES(alloc_memic_in));
    return MLX5_GET(alloc_memic_out, c.out, memic_start_addr);
}

static void fill_dealloc(TestCmd *c, uint64_t addr, uint32_t size)
{
    memset(c, 0, sizeof(*c));
    MLX5_SET(dealloc_memic_in, c->in, memic_start_addr, addr);
    MLX5_SET(dealloc_memic_in, c->in, memic_size, size);
}

static void dealloc(FakeHost *h, uint64_t addr, uint32_t size)
{
    TestCmd c;

    fill_dealloc(&c, addr, size);
    t_ok(h, &c, mlx5_cmd_dealloc_memic, MLX5_ST_SZ_BYTES(dealloc_memic_in));
}

static void fill_modify(TestCmd *c, uint16_t op_mod, uint64_t addr, uint8_t op)
{
    memset(c, 0, sizeof(*c));
    c->c.op_mod = op_mod;
    MLX5_SET(modify_memic_in, c->in, memic_start_addr, addr);
    MLX5_SET(modify_memic_in, c->in, memic_operation_type, op);
}

static uint64_t op_addr(FakeHost *h, uint64_t addr, uint8_t op)
{
    TestCmd c;

    fill_modify(&c, 0, addr, op);
    t_ok(h, &c, mlx5_cmd_modify_memic, MLX5_ST_SZ_BYTES(modify_memic_in));
    return MLX5_GET(modify_memic_out, c.out, memic_operation_addr);
}

/* CREATE_MKEY over @len bytes at @addr of the BAR. */
static void fill_key(TestCmd *c, uint32_t pdn, uint64_t addr, uint64_t len)
{
    uint8_t *mkc = MLX5_ADDR_OF(create_mkey_in, c->in, memory_key_mkey_entry);

    memset(c, 0, sizeof(*c));
    MLX5_SET(mkc, mkc, access_mode_1_0, 1);
    MLX5_SET(mkc, mkc, access_mode_4_2, 1);
    MLX5_SET(mkc, mkc, lr, 1);
    MLX5_SET(mkc, mkc, lw, 1);
    MLX5_SET(mkc, mkc, rr, 1);
    MLX5_SET(mkc, mkc, rw, 1);
    MLX5_SET(mkc, mkc, a, 1);
    MLX5_SET(mkc, mkc, qpn, 0xffffff);
    MLX5_SET(mkc, mkc, pd, pdn);
    MLX5_SET(mkc, mkc, start_addr, addr);
    MLX5_SET(mkc, mkc, len, len);
}

static uint32_t key_over(RTest *t, uint64_t addr, uint64_t len)
{
    TestCmd c;

    fill_key(&c, t->pdn, addr, len);
    t_ok(t->h, &c, mlx5_cmd_create_mkey, MLX5_ST_SZ_BYTES(create_mkey_in));
    return MLX5_GET(create_mkey_out, c.out, mkey_index) << 8;
}

static void write_bytes(FakeHost *h, uint64_t at, const char *text)
{
    for (size_t i = 0; text[i]; i++) {
        mlx5_func_bar_write(h->func, at + i, (uint8_t)text[i], 1);
    }
}

/* Bytes in memory order, whatever the size of the access. */
START_TEST(bar_access)
{
    FakeHost *h = fake_host_new(NULL);
    uint64_t at = alloc(h, 3, 8192);

    ck_assert_uint_eq(at, bar(h) + 3 * 4096);
    write_bytes(h, at, "abcdefgh");
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at, 8),
                      UINT64_C(0x6162636465666768));
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 4, 4), 0x65666768);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 6, 2), 0x6768);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 7, 1), 0x68);
    mlx5_func_bar_write(h->func, at + 8188, 0x31323334, 4);
    mlx5_func_bar_write(h->func, at + 8180, UINT64_C(0x4142434445464748), 8);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 8184, 4), 0);
    mlx5_func_bar_write(h->func, at + 8176, UINT64_C(0x4142434445464748), 8);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 8182, 2), 0x4748);
    ck_assert_uint_eq(h->func->memic[3 * 4096 + 8191], 0x34);
    dealloc(h, at, 8192);
    /* The next one finds nothing of it. */
    alloc(h, 3, 64);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at, 8), 0);
    fake_host_free(h);
}
END_TEST

START_TEST(operations)
{
    FakeHost *h = fake_host_new(NULL);
    uint64_t at = alloc(h, 1, 4096), add = op_addr(h, at, 0),
             set = op_addr(h, at, 1);

    mlx5_func_bar_write(h->func, add + 9, 1, 1);
    mlx5_func_bar_write(h->func, add + 9, 1, 1);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, set + 9, 1), 2);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, set + 9, 1), 1);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 8, 4), 0x00010000);
    /* Wider: numbers of the guest's processors, here little-endian. */
    mlx5_func_bar_write(h->func, at + 16, 0xff000000, 4);
    mlx5_func_bar_write(h->func, add + 16, 0x01000000, 4);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at + 16, 4), 0x00010000);
    mlx5_func_bar_write(h->func, add + 24, UINT64_C(0x0200000000000000), 8);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, set + 24, 8),
                      UINT64_C(0x0200000000000000));
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, set + 24, 8),
                      UINT64_C(0x0100000000000000));
    mlx5_func_bar_write(h->func, add + 32, 0x0300, 2);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, set + 32, 2), 0x0300);
    fake_host_free(h);
}
END_TEST

/* Windows whose operation is not allocated there do nothing. */
START_TEST(operations_not_allocated)
{
    FakeHost *h = fake_host_new(NULL);
    uint64_t at = alloc(h, 1, 64), other = alloc(h, 2, 64);
    uint64_t add = op_addr(h, at, 0);
    TestCmd c;

    mlx5_func_bar_write(h->func, at, 5, 1);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, add + MLX5_MEMIC_BYTES, 1),
                      0);
    mlx5_func_bar_write(h->func, add + 4096, 1, 1);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, other, 1), 0);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, add, 1), 0);
    fill_modify(&c, 1, at, 0);
    t_ok(h, &c, mlx5_cmd_modify_memic, MLX5_ST_SZ_BYTES(modify_memic_in));
    mlx5_func_bar_write(h->func, add, 1, 1);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at, 1), 5);
    fake_host_free(h);
}
END_TEST

static void refused(FakeHost *h, TestCmd *c, TestHandler *handler,
                    Mlx5Status status, uint32_t synd)
{
    t_refused(h, c, handler, MLX5_ST_SZ_BYTES(modify_memic_in), status, synd);
}

START_TEST(alloc_refuses)
{
    FakeHost *h = fake_host_new(NULL);
    uint64_t start = bar(h), end = start + MLX5_MEMIC_BYTES;
    const struct {
        uint64_t start;
        uint32_t range, size, align, synd;
    } rows[] = {
        { start - 4096, 4096, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { start + 64, 4096, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { end, 4096, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { end - 4096, 8192, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { start, 0, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { start, 4095, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { start, 0xfffff000, 64, 0, MLX5_SYND_MEMIC_RANGE },
        { start, 4096, 0, 0, MLX5_SYND_MEMIC_SIZE },
        { start, 4096, 65, 0, MLX5_SYND_MEMIC_SIZE },
        { start, 4096, 4160, 0, MLX5_SYND_MEMIC_SIZE },
        { start, MLX5_MEMIC_BYTES, MLX5_MEMIC_MAX_BYTES + 64, 0,
          MLX5_SYND_MEMIC_SIZE },
        { start, 4096, 64, 7, MLX5_SYND_MEMIC_ALIGN },
    };
    TestCmd c;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        fill_alloc(&c, rows[i].start, rows[i].range, rows[i].size,
                   rows[i].align);
        refused(h, &c, mlx5_cmd_alloc_memic, MLX5_CMD_STAT_BAD_PARAM_ERR,
                rows[i].synd);
    }
    alloc(h, 4, 8192);
    for (uint32_t page = 3; page < 6; page++) {
        fill_alloc(&c, start + page * 4096, 8192, 64, 6);
        refused(h, &c, mlx5_cmd_alloc_memic, MLX5_CMD_STAT_NO_RES_ERR,
                MLX5_SYND_MEMIC_TAKEN);
    }
    alloc(h, 3, 64);
    alloc(h, 6, 64);
    fake_host_free(h);
}
END_TEST

START_TEST(dealloc_and_modify_refuse)
{
    FakeHost *h = fake_host_new(NULL);
    uint64_t at = alloc(h, 4, 8192);
    TestCmd c;

    fill_dealloc(&c, at + 4096, 8192);
    refused(h, &c, mlx5_cmd_dealloc_memic, MLX5_CMD_STAT_BAD_RES_ERR,
            MLX5_SYND_MEMIC_UNKNOWN);
    fill_dealloc(&c, 0, 8192);
    refused(h, &c, mlx5_cmd_dealloc_memic, MLX5_CMD_STAT_BAD_RES_ERR,
            MLX5_SYND_MEMIC_UNKNOWN);
    fill_dealloc(&c, at, 4096);
    refused(h, &c, mlx5_cmd_dealloc_memic, MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_MEMIC_OTHER_SIZE);
    fill_modify(&c, 0, at + 64, 0);
    refused(h, &c, mlx5_cmd_modify_memic, MLX5_CMD_STAT_BAD_RES_ERR,
            MLX5_SYND_MEMIC_MODIFY_UNKNOWN);
    fill_modify(&c, 2, at, 0);
    refused(h, &c, mlx5_cmd_modify_memic, MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_MEMIC_OP_MOD);
    fill_modify(&c, 0, at, 2);
    refused(h, &c, mlx5_cmd_modify_memic, MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_MEMIC_OP_TYPE);
    fill_modify(&c, 1, at, 0);
    refused(h, &c, mlx5_cmd_modify_memic, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
            MLX5_SYND_MEMIC_OP_NONE);
    op_addr(h, at, 0);
    fill_modify(&c, 0, at, 0);
    refused(h, &c, mlx5_cmd_modify_memic, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
            MLX5_SYND_MEMIC_OP_TWICE);
    fill_dealloc(&c, at, 8192);
    refused(h, &c, mlx5_cmd_dealloc_memic, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
            MLX5_SYND_MEMIC_BUSY);
    fake_host_free(h);
}
END_TEST

static void write_to(RQp *q, uint64_t va, uint32_t key, uint32_t lkey,
                     uint64_t from, uint32_t len, uint8_t opcode)
{
    RWqe w = r_wqe(opcode);
    uint16_t counter = q->sq_pi;

    r_raddr(&w, va, key);
    r_data(&w, from, len, lkey);
    r_post(q, &w);
    r_sent(q, counter, opcode);
}

/* Written and read by the other side, and as the own side's payload. */
START_TEST(payload)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t at = alloc(t->h, 0, 131072);
    uint32_t key = key_over(t, at + 64, 100000);

    r_connect(t, 0);
    r_fill(t->h, SRC, 100000, 3);
    write_to(&t->a, 0, key, t->key, SRC, 100000, MLX5_OPCODE_RDMA_WRITE);
    ck_assert_uint_eq(t->h->func->memic[63], 0);
    ck_assert_uint_eq(mlx5_func_bar_read(t->h->func, at + 64, 1), 3);
    write_to(&t->a, 50000, key, t->key, BACK, 50000, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(t->h, SRC + 50000, BACK, 50000));
    write_to(&t->a, BACK, t->key, key, 10, 9000, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(t->h, SRC + 10, BACK, 9000));
    r_fill(t->h, SRC, 5000, 77);
    write_to(&t->a, SRC, t->key, key, 20000, 5000, MLX5_OPCODE_RDMA_READ);
    write_to(&t->a, 20000, key, t->key, BACK, 5000, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(t->h, SRC, BACK, 5000));
    /* Device memory to device memory. */
    write_to(&t->a, 60000, key, key, 20000, 5000, MLX5_OPCODE_RDMA_WRITE);
    write_to(&t->a, 60000, key, t->key, BACK, 5000, MLX5_OPCODE_RDMA_READ);
    ck_assert(r_same(t->h, SRC, BACK, 5000));
    r_free(t);
}
END_TEST

START_TEST(inline_and_atomic)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t at = alloc(t->h, 0, 4096);
    uint32_t key = key_over(t, at, 4096);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE), f = r_wqe(MLX5_OPCODE_ATOMIC_FA);

    r_connect(t, 0);
    r_raddr(&w, 8, key);
    r_inline(&w, "\x29\0\0\0\0\0\0\0", 8);
    r_post(&t->a, &w);
    r_sent(&t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    r_raddr(&f, 8, key);
    r_atomic(&f, 1, 0);
    r_data(&f, 16, 8, key);
    r_post(&t->a, &f);
    r_sent(&t->a, 1, MLX5_OPCODE_ATOMIC_FA);
    ck_assert_uint_eq(mlx5_func_bar_read(t->h->func, at + 8, 1), 0x2a);
    ck_assert_uint_eq(mlx5_func_bar_read(t->h->func, at + 23, 1), 0x29);
    r_free(t);
}
END_TEST

START_TEST(beyond_the_key)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t at = alloc(t->h, 0, 8192);
    uint32_t key = key_over(t, at, 4096);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    r_connect(t, 0);
    r_raddr(&w, 4090, key);
    r_data(&w, SRC, 7, t->key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    r_free(t);
}
END_TEST

/* Addresses of the card's memory are not for keys over the bus. */
START_TEST(not_by_bus_address)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    alloc(t->h, 0, 4096);
    r_connect(t, 0);
    r_raddr(&w, MLX5_DMA_MEMIC, t->key);
    r_data(&w, SRC, 7, t->key);
    r_post(&t->a, &w);
    r_failed(&t->a, &t->a.scq, 0, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    r_free(t);
}
END_TEST

START_TEST(key_refuses)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    uint64_t at = alloc(t->h, 8, 4160);
    uint8_t *mkc;
    uint32_t key;
    TestCmd c;
    const struct {
        uint64_t at, len;
    } rows[] = {
        { at, 4161 }, { at + 64, 4160 }, { at - 64, 64 }, { 0, 64 },
        { at + 8192, 64 }, { at, UINT64_MAX }, { at + 4096, 4096 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        fill_key(&c, t->pdn, rows[i].at, rows[i].len);
        t_refused(t->h, &c, mlx5_cmd_create_mkey,
                  MLX5_ST_SZ_BYTES(create_mkey_in),
                  MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MKEY_MEMIC_RANGE);
    }
    fill_key(&c, t->pdn, at, 64);
    mkc = MLX5_ADDR_OF(create_mkey_in, c.in, memory_key_mkey_entry);
    MLX5_SET(mkc, mkc, length64, 1);
    t_refused(t->h, &c, mlx5_cmd_create_mkey, MLX5_ST_SZ_BYTES(create_mkey_in),
              MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MKEY_MEMIC_FORM);
    /* A key keeps its allocation. */
    key = key_over(t, at, 4160);
    fill_dealloc(&c, at, 4160);
    refused(t->h, &c, mlx5_cmd_dealloc_memic, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
            MLX5_SYND_MEMIC_BUSY);
    T_DESTROY(t->h, &c, mlx5_cmd_destroy_mkey, destroy_mkey_in, mkey_index,
              key >> 8);
    ck_assert_uint_eq(c.c.status, MLX5_CMD_STAT_OK);
    dealloc(t->h, at, 4160);
    r_free(t);
}
END_TEST

START_TEST(reset_clears)
{
    FakeHost *h = fake_host_new(NULL);
    uint64_t at = alloc(h, 5, 64);

    op_addr(h, at, 0);
    write_bytes(h, at, "secret");
    mlx5_func_reset(h->func);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, at, 8), 0);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_MEMIC), 0);
    fake_host_free(h);
}
END_TEST

/* Memory that the host lends is where the bytes are. */
START_TEST(lent_by_the_host)
{
    g_autofree uint8_t *bytes = g_malloc0(MLX5_MEMIC_BYTES);
    Mlx5FuncProps props;
    FakeHost *h;

    mlx5_func_props_default(&props);
    props.memic = bytes;
    h = fake_host_new(&props);
    write_bytes(h, alloc(h, 0, 64), "x");
    ck_assert_uint_eq(bytes[0], 'x');
    fake_host_free(h);
}
END_TEST

/* Off: no command, no capability, and UAR pages up to the end of the BAR. */
START_TEST(switched_off)
{
    Mlx5FuncProps props;
    FakeHost *h;
    TestCmd c;

    mlx5_func_props_default(&props);
    props.dm = false;
    h = fake_host_new(&props);
    ck_assert_uint_eq(bar(h), UINT64_C(1) << props.log_bar_size);
    ck_assert_uint_eq(MLX5_FW_CAP_GEN(h->func, device_memory), 0);
    fill_alloc(&c, 0, 4096, 64, 0);
    refused(h, &c, mlx5_cmd_alloc_memic, MLX5_CMD_STAT_BAD_OP_ERR,
            MLX5_SYND_MEMIC_OFF);
    fill_dealloc(&c, bar(h) - 4096, 64);
    refused(h, &c, mlx5_cmd_dealloc_memic, MLX5_CMD_STAT_BAD_RES_ERR,
            MLX5_SYND_MEMIC_UNKNOWN);
    mlx5_func_bar_write(h->func, bar(h) - 8, 1, 8);
    ck_assert_uint_eq(mlx5_func_bar_read(h->func, bar(h) - 8, 8), 0);
    fake_host_free(h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memic");
    TCase *tc = tcase_create("memic");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, bar_access);
    tcase_add_test(tc, operations);
    tcase_add_test(tc, operations_not_allocated);
    tcase_add_test(tc, alloc_refuses);
    tcase_add_test(tc, dealloc_and_modify_refuse);
    tcase_add_test(tc, payload);
    tcase_add_test(tc, inline_and_atomic);
    tcase_add_test(tc, beyond_the_key);
    tcase_add_test(tc, not_by_bus_address);
    tcase_add_test(tc, key_refuses);
    tcase_add_test(tc, reset_clears);
    tcase_add_test(tc, lent_by_the_host);
    tcase_add_test(tc, switched_off);
    return t_main(s);
}
