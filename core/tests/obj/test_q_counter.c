/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Q counters: 255 of them, numbered from 1, each counting for itself.
 */
#include "tests/fw/fw_helper.h"

#include "obj/q_counter.h"

static uint32_t alloc(FakeDriver *d)
{
    FAKE_BUFFERS(alloc_q_counter);

    FAKE_CMD_OK(d, ALLOC_Q_COUNTER, alloc_q_counter, in, out);
    return MLX5_GET(alloc_q_counter_out, out, counter_set_id);
}

START_TEST(numbers)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(alloc_q_counter);
    uint8_t din[16] = { 0 };
    bool seen[256] = { true };

    for (int i = 0; i < 255; i++) {
        uint32_t id = alloc(d);

        ck_assert(id < 256 && !seen[id]);
        seen[id] = true;
    }
    FAKE_CMD_FAILS(d, ALLOC_Q_COUNTER, alloc_q_counter, in, out,
                   MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_Q_COUNTER_NONE_FREE);
    MLX5_SET(dealloc_q_counter_in, din, counter_set_id, 17);
    FAKE_CMD_OK(d, DEALLOC_Q_COUNTER, dealloc_q_counter, din, out);
    FAKE_CMD_FAILS(d, DEALLOC_Q_COUNTER, dealloc_q_counter, din, out,
                   MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_Q_COUNTER_UNKNOWN);
    ck_assert_uint_eq(alloc(d), 17);
    t_free(d);
}
END_TEST

START_TEST(in_use)
{
    FakeDriver *d = t_running();
    uint32_t id = alloc(d);
    FAKE_BUFFERS(dealloc_q_counter);

    mlx5_obj_ref(mlx5_q_counter_get(d->host->func, id));
    MLX5_SET(dealloc_q_counter_in, in, counter_set_id, id);
    FAKE_CMD_FAILS(d, DEALLOC_Q_COUNTER, dealloc_q_counter, in, out,
                   MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_Q_COUNTER_BUSY);
    mlx5_obj_unref(mlx5_q_counter_get(d->host->func, id));
    FAKE_CMD_OK(d, DEALLOC_Q_COUNTER, dealloc_q_counter, in, out);
    t_free(d);
}
END_TEST

START_TEST(query)
{
    FakeDriver *d = t_running();
    uint32_t id = alloc(d);
    FAKE_BUFFERS(query_q_counter);

    mlx5_q_counter_add(d->host->func, id, out_of_buffer);
    mlx5_q_counter_add(d->host->func, id, rx_write_requests);
    mlx5_q_counter_add(d->host->func, id, rx_write_requests);
    mlx5_q_counter_add(d->host->func, 0, rx_write_requests);
    MLX5_SET(query_q_counter_in, in, counter_set_id, id);
    MLX5_SET(query_q_counter_in, in, clear, 1);
    FAKE_CMD_OK(d, QUERY_Q_COUNTER, query_q_counter, in, out);
    ck_assert_uint_eq(MLX5_GET(query_q_counter_out, out, out_of_buffer), 1);
    ck_assert_uint_eq(MLX5_GET(query_q_counter_out, out, rx_write_requests), 2);
    FAKE_CMD_OK(d, QUERY_Q_COUNTER, query_q_counter, in, out);
    ck_assert_uint_eq(MLX5_GET(query_q_counter_out, out, out_of_buffer), 0);
    MLX5_SET(query_q_counter_in, in, counter_set_id, 0);
    FAKE_CMD_FAILS(d, QUERY_Q_COUNTER, query_q_counter, in, out,
                   MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_Q_COUNTER_QUERY_UNKNOWN);
    MLX5_SET(query_q_counter_in, in, aggregate, 1);
    FAKE_CMD_FAILS(d, QUERY_Q_COUNTER, query_q_counter, in, out,
                   MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_Q_COUNTER_OTHER);
    t_free(d);
}
END_TEST

T_MAIN("q_counter", numbers, in_use, query)
