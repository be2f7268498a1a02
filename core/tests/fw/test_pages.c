/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages: what is given comes back, and nothing else.
 */
#include "tests/fw/fw_helper.h"

static FakeDriver *enabled(void)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));
    FAKE_BUFFERS(enable_hca);

    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, in, out);
    return d;
}

static uint32_t query(FakeDriver *d, uint32_t op_mod)
{
    FAKE_BUFFERS(query_pages);

    MLX5_SET(query_pages_in, in, op_mod, op_mod);
    FAKE_CMD_OK(d, QUERY_PAGES, query_pages, in, out);
    ck_assert_uint_eq(MLX5_GET(query_pages_out, out, function_id), 0);
    return MLX5_GET(query_pages_out, out, num_pages);
}

/* Give @n pages at @pages; room for more than the list may hold. */
static bool give(FakeDriver *d, const uint64_t *pages, uint32_t n,
                 uint32_t claim)
{
    uint8_t in[16 + 8 * 8] = { 0 }, out[16];

    MLX5_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
    MLX5_SET(manage_pages_in, in, op_mod, 1);
    MLX5_SET(manage_pages_in, in, input_num_entries, claim);
    for (uint32_t i = 0; i < n; i++) {
        MLX5_SET_IDX(manage_pages_in, in, pas, i, pages[i]);
    }
    return fake_driver_cmd(d, in, 16 + n * 8, out, sizeof(out));
}

/* Ask for @want back with room for @room; addresses in @pages. */
static uint32_t take(FakeDriver *d, uint32_t want, uint32_t room,
                     uint64_t *pages)
{
    uint8_t in[16] = { 0 };
    g_autofree uint8_t *out = g_malloc0(16 + room * 8);
    uint32_t n;

    MLX5_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
    MLX5_SET(manage_pages_in, in, op_mod, 2);
    MLX5_SET(manage_pages_in, in, input_num_entries, want);
    ck_assert(fake_driver_cmd(d, in, sizeof(in), out, 16 + room * 8));
    n = MLX5_GET(manage_pages_out, out, output_num_entries);
    for (uint32_t i = 0; i < n; i++) {
        pages[i] = MLX5_GET_IDX(manage_pages_out, out, pas, i);
    }
    return n;
}

#define REFUSED(d, call, stat, synd)                 \
    do {                                             \
        ck_assert(!(call));                          \
        ck_assert_uint_eq((d)->status, stat);        \
        ck_assert_uint_eq((d)->syndrome, synd);      \
    } while (0)

START_TEST(counts)
{
    FakeDriver *d = enabled();
    uint64_t page = 0x7000;

    ck_assert_uint_eq(query(d, 1), 8);
    ck_assert_uint_eq(query(d, 2), 72);
    ck_assert_uint_eq(query(d, 3), 0);
    ck_assert(give(d, &page, 1, 1));
    ck_assert_uint_eq(query(d, 1), 7);
    ck_assert_uint_eq(query(d, 2), 71);
    /* 6.1 gives zero pages, too. */
    ck_assert(give(d, &page, 0, 0));
    ck_assert_uint_eq(query(d, 1), 7);
    t_free(d);
}
END_TEST

START_TEST(bad_pages)
{
    FakeDriver *d = enabled();
    uint64_t good[] = { 0x10000, 0x11000 };
    uint64_t zero[] = { 0x20000, 0 };
    uint64_t odd[] = { 0x30000, 0x31008 };
    uint64_t twice[] = { 0x40000, 0x40000 };

    ck_assert(give(d, good, 2, 2));
    REFUSED(d, give(d, zero, 2, 2), MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_PAGES_ZERO);
    REFUSED(d, give(d, odd, 2, 2), MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_PAGES_ALIGN);
    REFUSED(d, give(d, twice, 2, 2), MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_PAGES_TWICE);
    REFUSED(d, give(d, good, 1, 1), MLX5_CMD_STAT_BAD_PARAM_ERR,
            MLX5_SYND_PAGES_TWICE);
    REFUSED(d, give(d, zero, 1, 2), MLX5_CMD_STAT_BAD_INP_LEN_ERR,
            MLX5_SYND_PAGES_LIST_SHORT);
    REFUSED(d, give(d, zero, 1, ~0u), MLX5_CMD_STAT_LIM_ERR,
            MLX5_SYND_PAGES_TOO_MANY);
    /* A refused list leaves nothing behind. */
    ck_assert_uint_eq(mlx5_fw_pages_held(d->host->func), 2);
    t_free(d);
}
END_TEST

START_TEST(bad_requests)
{
    FakeDriver *d = enabled();
    FAKE_BUFFERS(query_pages);
    uint8_t min[16] = { 0 }, mout[16];

    FAKE_CMD_FAILS(d, QUERY_PAGES, query_pages, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_QUERY_PAGES_OP_MOD);
    MLX5_SET(query_pages_in, in, function_id, 3);
    FAKE_CMD_FAILS(d, QUERY_PAGES, query_pages, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PAGES_FUNCTION);
    MLX5_SET(manage_pages_in, min, op_mod, 3);
    FAKE_CMD_FAILS(d, MANAGE_PAGES, manage_pages, min, mout,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_MANAGE_PAGES_OP_MOD);
    /* "Cannot give" is an answer, not a request. */
    MLX5_SET(manage_pages_in, min, op_mod, 0);
    FAKE_CMD_OK(d, MANAGE_PAGES, manage_pages, min, mout);
    t_free(d);
}
END_TEST

START_TEST(give_and_take)
{
    FakeDriver *d = enabled();
    uint64_t in[] = { 0x50000, 0x12345000, UINT64_C(0x123456789000) };
    uint64_t out[8];

    ck_assert(give(d, in, 3, 3));
    /* No more than fits, no more than asked, no more than held. */
    ck_assert_uint_eq(take(d, 3, 1, out), 1);
    ck_assert_uint_eq(out[0], in[2]);
    ck_assert_uint_eq(take(d, 1, 8, out), 1);
    ck_assert_uint_eq(out[0], in[1]);
    ck_assert_uint_eq(take(d, 8, 8, out), 1);
    ck_assert_uint_eq(out[0], in[0]);
    ck_assert_uint_eq(take(d, 8, 8, out), 0);
    /* What came back may be given again. */
    ck_assert(give(d, in, 3, 3));
    t_free(d);
}
END_TEST

START_TEST(running_keeps_its_pages)
{
    FakeDriver *d = t_running();
    uint64_t extra = 0x60000, out[8];

    ck_assert_uint_eq(take(d, 8, 8, out), 0);
    ck_assert(give(d, &extra, 1, 1));
    ck_assert_uint_eq(take(d, 8, 8, out), 1);
    ck_assert_uint_eq(out[0], extra);
    t_free(d);
}
END_TEST

/* Next page request event; its count, or 0 if there is none. */
static int32_t request(FakeDriver *d)
{
    uint8_t eqe[64];

    if (!fake_driver_poll_eq(d, &d->pages_eq, eqe)) {
        return 0;
    }
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_type), 0x0b);
    return (int32_t)MLX5_GET(eqe_page_req,
                             eqe + MLX5_BYTE_OFF(eqe, event_data), num_pages);
}

static void answer_give(FakeDriver *d, uint32_t n)
{
    uint64_t base = fake_driver_alloc(d, (uint64_t)n * 4096);

    for (uint32_t i = 0; i < n; i += 8) {
        uint64_t pages[8];
        uint32_t k = MIN(n - i, 8);

        for (uint32_t j = 0; j < k; j++) {
            pages[j] = base + (uint64_t)(i + j) * 4096;
        }
        ck_assert(give(d, pages, k, k));
    }
}

static void dealloc_pd(FakeDriver *d, uint32_t pd)
{
    FAKE_BUFFERS(dealloc_pd);

    MLX5_SET(dealloc_pd_in, in, pd, pd);
    FAKE_CMD_OK(d, DEALLOC_PD, dealloc_pd, in, out);
}

#define MANY_PDS (64 * 80)

START_TEST(grows_and_shrinks)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));
    g_autofree uint32_t *pd = g_new(uint32_t, MANY_PDS);
    g_autofree uint64_t *got = g_new(uint64_t, 1024);
    uint32_t before, grown = 0, returned = 0;
    int32_t n;

    fake_driver_up(d);
    before = mlx5_fw_pages_held(d->host->func);
    for (unsigned i = 0; i < MANY_PDS; i++) {
        pd[i] = fake_driver_alloc_pd_ok(d);
        n = request(d);
        ck_assert_int_ge(n, 0);
        if (n) {
            /* One request at a time: none until this one is answered. */
            ck_assert_int_eq(request(d), 0);
            answer_give(d, n);
            grown += n;
        }
    }
    ck_assert_uint_ge(grown, MANY_PDS / 64);
    ck_assert_uint_eq(mlx5_fw_pages_held(d->host->func), before + grown);
    for (unsigned i = 0; i < MANY_PDS; i++) {
        dealloc_pd(d, pd[i]);
        n = request(d);
        ck_assert_int_le(n, 0);
        if (n) {
            ck_assert_uint_eq(take(d, -n, -n, got), (uint32_t)-n);
            returned += -n;
        }
    }
    ck_assert_uint_gt(returned, 0);
    ck_assert_uint_le(returned, grown);
    t_free(d);
}
END_TEST

START_TEST(driver_without_memory)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));
    uint8_t in[16] = { 0 }, out[16];
    unsigned asked = 0;

    fake_driver_up(d);
    for (unsigned i = 0; i < 64 * 40; i++) {
        fake_driver_alloc_pd_ok(d);
        if (request(d)) {
            asked++;
            MLX5_SET(manage_pages_in, in, op_mod, 0);
            FAKE_CMD_OK(d, MANAGE_PAGES, manage_pages, in, out);
        }
    }
    /* Asked again only when the need had grown by a good deal. */
    ck_assert_uint_ge(asked, 2);
    ck_assert_uint_le(asked, 4);
    t_free(d);
}
END_TEST

T_MAIN("pages", grows_and_shrinks, driver_without_memory, counts, bad_pages, bad_requests, give_and_take,
       running_keeps_its_pages)
