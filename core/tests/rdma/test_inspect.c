/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inspector says what is: numbers, states, indices, after real work. */
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x1000000)

/* The object whose first member is @name with @value. */
static char *object(const char *json, const char *name, uint32_t value)
{
    g_autofree char *head = g_strdup_printf("{\"%s\":%u,", name, value);
    const char *from = strstr(json, head);

    ck_assert_msg(from, "no %s", head);
    return g_strndup(from, strchr(from, '}') - from);
}

static uint64_t member(const char *object, const char *name)
{
    g_autofree char *key = g_strdup_printf("\"%s\":", name);
    const char *at = strstr(object, key);

    ck_assert_msg(at, "no %s in %s", name, object);
    return g_ascii_strtoull(at + strlen(key), NULL, 10);
}

static void send_one(RTest *t, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);

    r_recv(&t->b, DST, len);
    r_data(&w, SRC, len, t->key);
    r_post(&t->a, &w);
}

START_TEST(queue_pairs)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    g_autofree char *json = NULL, *a = NULL, *b = NULL;

    r_connect(t, 0xfffffe);
    send_one(t, 5000);
    json = mlx5_func_inspect(t->h->func);
    a = object(json, "qpn", t->a.qpn);
    b = object(json, "qpn", t->b.qpn);
    ck_assert_ptr_nonnull(strstr(a, "\"type\":\"rc\",\"state\":\"RTS\""));
    ck_assert_uint_eq(member(a, "pd"), t->pdn);
    ck_assert_uint_eq(member(a, "send_cqn"), t->a.scq.cqn);
    ck_assert_uint_eq(member(a, "recv_cqn"), t->a.rcq.cqn);
    ck_assert_uint_eq(member(a, "remote_qpn"), t->b.qpn);
    ck_assert_uint_eq(member(a, "uar"), t->uar);
    ck_assert_uint_eq(member(a, "sq_posted"), t->a.sq_pi);
    ck_assert_uint_eq(member(a, "sq_fetched"), t->a.sq_pi);
    ck_assert_uint_eq(member(a, "outstanding"), 0);
    /* 5000 bytes are more packets than one: the number wrapped. */
    ck_assert_uint_lt(member(a, "next_psn"), 0x10);
    ck_assert_uint_eq(member(a, "unacked_psn"), member(a, "next_psn"));
    ck_assert_uint_eq(member(b, "expected_psn"), member(a, "next_psn"));
    ck_assert_uint_eq(member(b, "msn"), 1);
    ck_assert_uint_eq(member(b, "rq_consumed"), 1);
    r_free(t);
}
END_TEST

START_TEST(queues_keys_pages)
{
    RTest *t = r_new(MLX5_QP_ST_RC);
    g_autofree char *json = NULL, *cq = NULL, *key = NULL, *eq = NULL;
    g_autofree char *uar = NULL, *pd = NULL;

    r_connect(t, 0);
    send_one(t, 10);
    json = mlx5_func_inspect(t->h->func);
    cq = object(json, "cqn", t->a.scq.cqn);
    key = object(json, "mkey", t->key);
    eq = object(json, "eqn", t->eqn);
    uar = object(json, "uar", t->uar);
    pd = object(json, "pd", t->pdn);
    ck_assert_uint_eq(member(cq, "entries"), 1 << R_LOG_CQ);
    ck_assert_uint_eq(member(cq, "eqn"), t->eqn);
    ck_assert_uint_eq(member(cq, "producer"), 1);
    ck_assert_uint_eq(member(cq, "refs"), 1);
    ck_assert_uint_eq(member(key, "pd"), t->pdn);
    ck_assert_ptr_nonnull(strstr(key, "\"mode\":\""));
    ck_assert_ptr_nonnull(strstr(eq, "\"failed\":false"));
    ck_assert_uint_ge(member(uar, "refs"), 2);
    /* Two queue pairs and a key. */
    ck_assert_uint_eq(member(pd, "refs"), 3);
    r_free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("inspect");
    TCase *tc = tcase_create("inspect");

    suite_add_tcase(s, tc);
    tcase_add_test(tc, queue_pairs);
    tcase_add_test(tc, queues_keys_pages);
    return t_main(s);
}
