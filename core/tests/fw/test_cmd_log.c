/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last commands are kept, in order, with what came of them. */
#include "tests/fw/fw_helper.h"

#include "fw/cmd_log.h"

static char *last_of(FakeDriver *d)
{
    g_autofree char *json = mlx5_func_inspect(d->host->func);
    const char *list = strstr(json, "\"last_commands\":[");
    const char *last = NULL;

    ck_assert_ptr_nonnull(list);
    for (const char *p = list; (p = strstr(p, "{\"number\":")); p++) {
        last = p;
    }
    ck_assert_ptr_nonnull(last);
    return g_strdup(last);
}

START_TEST(words)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(alloc_pd);
    uint8_t din[MLX5_ST_SZ_BYTES(dealloc_pd_in)] = { 0 };
    uint8_t dout[MLX5_ST_SZ_BYTES(dealloc_pd_out)];
    g_autofree char *good = NULL, *bad = NULL, *pd = NULL;

    FAKE_CMD_OK(d, ALLOC_PD, alloc_pd, in, out);
    good = last_of(d);
    pd = g_strdup_printf("\"out\":\"OK pd=0x%x\"",
                         (unsigned)MLX5_GET(alloc_pd_out, out, pd));
    ck_assert_ptr_nonnull(strstr(good, "\"name\":\"ALLOC_PD\""));
    ck_assert_msg(strstr(good, pd), "%s lacks %s", good, pd);
    MLX5_SET(dealloc_pd_in, din, pd, 0x123456);
    ck_assert(!FAKE_CMD(d, DEALLOC_PD, dealloc_pd, din, dout));
    bad = last_of(d);
    ck_assert_ptr_nonnull(strstr(bad, "\"name\":\"DEALLOC_PD\""));
    ck_assert_ptr_nonnull(strstr(bad, "pd=0x123456"));
    ck_assert_ptr_nonnull(strstr(bad, "\"out\":\"BAD_RES_ERR"));
    t_free(d);
}
END_TEST

static void count(const Mlx5CmdNote *note, void *opaque)
{
    uint64_t *next = opaque;

    ck_assert(!*next || note->number == *next);
    *next = note->number + 1;
    next[1]++;
}

START_TEST(ring)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(alloc_pd);
    uint64_t next[2] = { 0, 0 }, done, refused;

    for (unsigned i = 0; i < 2 * MLX5_CMD_LOG_COUNT + 3; i++) {
        FAKE_CMD_OK(d, ALLOC_PD, alloc_pd, in, out);
    }
    mlx5_cmd_log_foreach(d->host->func, count, next);
    mlx5_fw_command_counts(d->host->func, &done, &refused);
    ck_assert_uint_eq(next[0], done);
    ck_assert_uint_eq(next[1], MLX5_CMD_LOG_COUNT);
    mlx5_func_reset(d->host->func);
    next[0] = next[1] = 0;
    mlx5_cmd_log_foreach(d->host->func, count, next);
    ck_assert_uint_eq(next[1], 0);
    t_free(d);
}
END_TEST

T_MAIN("cmd-log", words, ring)
