/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion queues on the data path: owner bits over several rounds, 64 and
 * 128 bytes, arming with its sequence number, solicited, overrun, time.
 */
#include "fw/fw.h"
#include "obj/cq.h"
#include "obj/uar.h"
#include "tests/obj/obj_helper.h"

#define LOG_SIZE 3
#define SIZE (1u << LOG_SIZE)
#define VECTOR 1
#define DBR 0x8008

typedef struct Fixture {
    FakeHost *h;
    uint32_t uar, eqn, cqn, ci, eq_ci, stride;
    uint64_t ring, eq_ring;
    Mlx5Cq *cq;
} Fixture;

#define EQ_LOG 6

static Fixture setup_full(uint32_t cqe_sz, bool oi)
{
    Fixture f = { .h = fake_host_new(NULL), .ring = t_ring(1),
                  .eq_ring = t_ring(0), .stride = 64u << cqe_sz };
    TestCmd t;
    uint8_t *cqc = t.in + MLX5_BYTE_OFF(create_cq_in, cq_context);

    f.uar = t_alloc(f.h, mlx5_cmd_alloc_uar);
    f.eqn = t_eq(f.h, f.uar, EQ_LOG, VECTOR, f.eq_ring,
                 1u << MLX5_EVENT_TYPE_CQ_ERROR);
    t_cq_init_buf(f.h, f.ring, SIZE, f.stride);
    t_cq_fill(&t, f.uar, f.eqn, LOG_SIZE, f.ring, DBR);
    MLX5_SET(cqc, cqc, cqe_sz, cqe_sz);
    MLX5_SET(cqc, cqc, oi, oi);
    t_ok(f.h, &t, mlx5_cmd_create_cq, T_CQ_LEN(16));
    f.cqn = MLX5_GET(create_cq_out, t.out, cqn);
    f.cq = mlx5_obj_get(f.h->func, MLX5_OBJ_CQ, f.cqn);
    return f;
}

static Fixture setup(void)
{
    return setup_full(0, false);
}

static void post_opcode(Fixture *f, uint32_t counter, uint8_t opcode,
                        bool solicited)
{
    uint8_t cqe[64] = { 0 };

    MLX5_SET(cqe64, cqe, wqe_counter, counter);
    MLX5_SET(cqe64, cqe, opcode, opcode);
    mlx5_func_lock(f->h->func);
    mlx5_cq_post(f->cq, cqe, solicited);
    mlx5_func_unlock(f->h->func);
}

static void post(Fixture *f, uint32_t counter)
{
    post_opcode(f, counter, MLX5_CQE_REQ, false);
}

/* The driver's own test for a valid entry (mlx5_ib cq.c get_sw_cqe). */
static bool next_cqe(Fixture *f, uint8_t cqe[64])
{
    uint64_t at = f->ring + (f->ci % SIZE) * f->stride + f->stride - 64;

    fake_mem_read(f->h, at, cqe, 64);
    if (MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_INVALID ||
        MLX5_GET(cqe64, cqe, owner) != (f->ci >> LOG_SIZE & 1)) {
        return false;
    }
    f->ci++;
    return true;
}

static void update_ci(Fixture *f)
{
    fake_mem_set_be32(f->h, DBR, f->ci & 0xffffff);
}

/* As the driver arms (cq.h mlx5_cq_arm). */
static void arm_at(Fixture *f, uint32_t sn, bool solicited, uint32_t ci)
{
    uint32_t word = (sn & 3) << 28 | (uint32_t)solicited << 24 |
                    (ci & 0xffffff);

    fake_mem_set_be32(f->h, DBR + 4, word);
    mlx5_func_bar_write(f->h->func,
                        (uint64_t)f->uar * 4096 + MLX5_UAR_CQ_ARM,
                        (uint64_t)word << 32 | f->cqn, 8);
}

/* Events of one type waiting in the EQ; they are taken. */
static unsigned events(Fixture *f, uint8_t type, uint8_t last[64])
{
    uint8_t eqe[64];
    unsigned n = 0;

    for (;; f->eq_ci++) {
        fake_mem_read(f->h, f->eq_ring + (f->eq_ci % (1 << EQ_LOG)) * 64, eqe,
                      64);
        if (MLX5_GET(eqe, eqe, owner) != (f->eq_ci >> EQ_LOG & 1)) {
            return n;
        }
        ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_type), type);
        memcpy(last, eqe, 64);
        n++;
    }
}

static unsigned comp_events(Fixture *f)
{
    uint8_t eqe[64];
    unsigned n = events(f, MLX5_EVENT_TYPE_COMP, eqe);

    if (n) {
        ck_assert_uint_eq(MLX5_GET(eqe_comp, eqe + 0x20, cqn), f->cqn);
    }
    return n;
}

static void rounds(uint32_t cqe_sz)
{
    Fixture f = setup_full(cqe_sz, false);
    uint8_t cqe[64];

    for (uint32_t i = 0; i < 6 * SIZE + 5; i++) {
        ck_assert(!next_cqe(&f, cqe));
        post(&f, i);
        ck_assert(next_cqe(&f, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), i);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
        update_ci(&f);
    }
    fake_host_free(f.h);
}

START_TEST(owner_bits_64)
{
    rounds(0);
}
END_TEST

START_TEST(owner_bits_128)
{
    rounds(1);
}
END_TEST

START_TEST(full_batches)
{
    Fixture f = setup();
    uint8_t cqe[64];

    /* SIZE at a time, no room to spare, consumer index told once a batch. */
    for (uint32_t b = 0; b < 7; b++) {
        for (uint32_t i = 0; i < SIZE; i++) {
            post(&f, i);
        }
        for (uint32_t i = 0; i < SIZE; i++) {
            ck_assert(next_cqe(&f, cqe));
            ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), i);
        }
        update_ci(&f);
    }
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(index_passes_24_bits)
{
    Fixture f = setup();
    uint8_t cqe[64];

    f.cq->pi = f.cq->ci_seen = f.ci = 0xfffffc;
    update_ci(&f);
    for (uint32_t i = 0; i < 3 * SIZE; i++) {
        post(&f, i);
        fake_mem_read(f.h, f.ring + (f.ci % SIZE) * 64, cqe, 64);
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, owner), f.ci >> LOG_SIZE & 1);
        f.ci++;
        update_ci(&f);
    }
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(record_is_read_only_when_full)
{
    Fixture f = setup();

    f.h->trip_addr = DBR;
    f.h->trip_len = 8;
    for (uint32_t i = 0; i < SIZE; i++) {
        post(&f, i);
    }
    ck_assert_uint_eq(f.h->trip_hits, 0);
    f.h->trip_len = 0;
    f.ci = SIZE;
    update_ci(&f);
    post(&f, 0);
    ck_assert(!f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(overrun)
{
    Fixture f = setup();
    uint8_t eqe[64], cqe[64];
    TestCmd t;
    uint8_t *cqc = t.out + MLX5_BYTE_OFF(query_cq_out, cq_context);

    for (uint32_t i = 0; i < SIZE + 3; i++) {
        post(&f, i);
    }
    ck_assert(f.cq->failed);
    ck_assert_uint_eq(events(&f, MLX5_EVENT_TYPE_CQ_ERROR, eqe), 1);
    ck_assert_uint_eq(MLX5_GET(eqe_cq_err, eqe + 0x20, cqn), f.cqn);
    ck_assert_uint_eq(MLX5_GET(eqe_cq_err, eqe + 0x20, syndrome), 1);
    /* What was there is intact; nothing comes any more. */
    for (uint32_t i = 0; i < SIZE; i++) {
        ck_assert(next_cqe(&f, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), i);
    }
    update_ci(&f);
    post(&f, 99);
    ck_assert(!next_cqe(&f, cqe));
    arm_at(&f, 0, false, 0);
    ck_assert_uint_eq(comp_events(&f), 0);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, status), 0x9);
    memset(&t, 0, sizeof(t));
    MLX5_SET(modify_cq_in, t.in, cqn, f.cqn);
    t_refused(f.h, &t, mlx5_cmd_modify_cq, T_CQ_LEN(0),
              MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_CQ_FAILED);
    T_DESTROY(f.h, &t, mlx5_cmd_destroy_cq, destroy_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(t.c.status, MLX5_CMD_STAT_OK);
    fake_host_free(f.h);
}
END_TEST

START_TEST(overrun_ignore)
{
    Fixture f = setup_full(0, true);
    uint8_t cqe[64];

    for (uint32_t i = 0; i < 2 * SIZE + 1; i++) {
        post(&f, i);
    }
    ck_assert(!f.cq->failed);
    fake_mem_read(f.h, f.ring, cqe, 64);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), 2 * SIZE);
    fake_host_free(f.h);
}
END_TEST

START_TEST(hostile_record)
{
    Fixture f = setup();

    /* An index from the future does not make room. */
    for (uint32_t i = 0; i < SIZE; i++) {
        post(&f, i);
    }
    f.ci = SIZE + 5;
    update_ci(&f);
    post(&f, 0);
    ck_assert(f.cq->failed);
    fake_host_free(f.h);
}
END_TEST

START_TEST(memory_fails)
{
    Fixture f = setup();
    uint8_t eqe[64];

    f.h->ram_end = f.ring;
    post(&f, 0);
    ck_assert(f.cq->failed);
    ck_assert_uint_eq(events(&f, MLX5_EVENT_TYPE_CQ_ERROR, eqe), 1);
    ck_assert_uint_eq(MLX5_GET(eqe_cq_err, eqe + 0x20, syndrome), 2);
    fake_host_free(f.h);
}
END_TEST

START_TEST(owner_byte_comes_last)
{
    Fixture f = setup();
    uint8_t cqe[64];

    /* The second write fails: all but the owner byte is there. */
    f.h->fail_after = 2;
    post(&f, 0x1234);
    fake_mem_read(f.h, f.ring, cqe, 64);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, wqe_counter), 0x1234);
    ck_assert_uint_eq(cqe[63], 0xf1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(one_event_per_arming)
{
    Fixture f = setup();

    post(&f, 0);
    ck_assert_uint_eq(comp_events(&f), 0);
    arm_at(&f, 0, false, 1);
    ck_assert_uint_eq(comp_events(&f), 0);
    post(&f, 1);
    ck_assert_uint_eq(comp_events(&f), 1);
    post(&f, 2);
    ck_assert_uint_eq(comp_events(&f), 0);
    /* The same sequence number again asks for the event it has got. */
    arm_at(&f, 0, false, 1);
    post(&f, 3);
    ck_assert_uint_eq(comp_events(&f), 0);
    /* The next one, with entries unread: at once, and once. */
    arm_at(&f, 1, false, 3);
    ck_assert_uint_eq(comp_events(&f), 1);
    post(&f, 4);
    ck_assert_uint_eq(comp_events(&f), 0);
    /* Unread, and the event that told of them was taken: nothing new. */
    arm_at(&f, 2, false, 3);
    ck_assert_uint_eq(comp_events(&f), 1);
    arm_at(&f, 3, false, 0);
    ck_assert_uint_eq(comp_events(&f), 0);
    post(&f, 5);
    ck_assert_uint_eq(comp_events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

/* QUERY_CQ says how far events told. */
START_TEST(last_notified)
{
    Fixture f = setup();
    TestCmd t = { 0 };
    uint8_t *cqc = t.out + MLX5_BYTE_OFF(query_cq_out, cq_context);

    post(&f, 0);
    arm_at(&f, 0, false, 1);
    post(&f, 1);
    post(&f, 2);
    T_DESTROY(f.h, &t, mlx5_cmd_query_cq, query_cq_in, cqn, f.cqn);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, last_notified_index), 2);
    ck_assert_uint_eq(MLX5_GET(cqc, cqc, producer_counter), 3);
    fake_host_free(f.h);
}
END_TEST

START_TEST(sequence_goes_round)
{
    Fixture f = setup();

    for (uint32_t sn = 0; sn < 11; sn++) {
        arm_at(&f, sn, false, f.ci);
        ck_assert_uint_eq(comp_events(&f), 0);
        post(&f, sn);
        ck_assert_uint_eq(comp_events(&f), 1);
        f.ci++;
        update_ci(&f);
    }
    fake_host_free(f.h);
}
END_TEST

START_TEST(solicited_only)
{
    Fixture f = setup();

    arm_at(&f, 0, true, 0);
    post(&f, 0);
    ck_assert_uint_eq(comp_events(&f), 0);
    post_opcode(&f, 1, MLX5_CQE_RESP_SEND, true);
    ck_assert_uint_eq(comp_events(&f), 1);
    /* Armed late: only a solicited one counts, beyond ci, not told of yet. */
    post_opcode(&f, 2, MLX5_CQE_RESP_SEND, true);
    arm_at(&f, 1, true, 3);
    post(&f, 3);
    ck_assert_uint_eq(comp_events(&f), 0);
    arm_at(&f, 1, true, 2);
    ck_assert_uint_eq(comp_events(&f), 1);
    arm_at(&f, 2, true, 0);
    ck_assert_uint_eq(comp_events(&f), 0);
    /* An error is always solicited. */
    post_opcode(&f, 4, MLX5_CQE_REQ_ERR, false);
    ck_assert_uint_eq(comp_events(&f), 1);
    arm_at(&f, 3, true, 5);
    post_opcode(&f, 5, MLX5_CQE_RESP_ERR, false);
    ck_assert_uint_eq(comp_events(&f), 1);
    /* From solicited to any, before anything came. */
    arm_at(&f, 4, true, 6);
    arm_at(&f, 4, false, 6);
    post(&f, 6);
    ck_assert_uint_eq(comp_events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(solicited_bit)
{
    Fixture f = setup();
    uint8_t cqe[64];

    post_opcode(&f, 0, MLX5_CQE_RESP_SEND, true);
    ck_assert(next_cqe(&f, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, se), 1);
    post_opcode(&f, 0, MLX5_CQE_RESP_SEND, false);
    ck_assert(next_cqe(&f, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, se), 0);
    fake_host_free(f.h);
}
END_TEST

START_TEST(strange_doorbells)
{
    Fixture f = setup();
    uint32_t other = t_alloc(f.h, mlx5_cmd_alloc_uar), mine = f.uar;

    post(&f, 0);
    f.uar = other;                       /* not its page */
    arm_at(&f, 0, false, 0);
    f.uar = mine;
    f.cqn += 1;                          /* no such CQ */
    arm_at(&f, 0, false, 0);
    f.cqn = 0xffffff;
    arm_at(&f, 0, false, 0);
    f.cqn = f.cq->o.id;
    ck_assert_uint_eq(comp_events(&f), 0);
    ck_assert_uint_gt(f.h->guest_errors->len, 0);
    /* An index from the future waits for the next entry. */
    arm_at(&f, 0, false, 100);
    ck_assert_uint_eq(comp_events(&f), 0);
    post(&f, 1);
    ck_assert_uint_eq(comp_events(&f), 1);
    fake_host_free(f.h);
}
END_TEST

START_TEST(time_stamp)
{
    Fixture f = setup();
    uint8_t cqe[64];

    f.h->now_ns = 123456789;
    post(&f, 0);
    ck_assert(next_cqe(&f, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, timestamp),
                      mlx5_fw_timer(f.h->func));
    /* An error entry has its syndromes there. */
    post_opcode(&f, 0, MLX5_CQE_REQ_ERR, false);
    ck_assert(next_cqe(&f, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, timestamp), 0);
    fake_host_free(f.h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cq");
    TCase *tc = tcase_create("cq");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, owner_bits_64);
    tcase_add_test(tc, owner_bits_128);
    tcase_add_test(tc, full_batches);
    tcase_add_test(tc, index_passes_24_bits);
    tcase_add_test(tc, record_is_read_only_when_full);
    tcase_add_test(tc, overrun);
    tcase_add_test(tc, overrun_ignore);
    tcase_add_test(tc, hostile_record);
    tcase_add_test(tc, memory_fails);
    tcase_add_test(tc, owner_byte_comes_last);
    tcase_add_test(tc, one_event_per_arming);
    tcase_add_test(tc, last_notified);
    tcase_add_test(tc, sequence_goes_round);
    tcase_add_test(tc, solicited_only);
    tcase_add_test(tc, solicited_bit);
    tcase_add_test(tc, strange_doorbells);
    tcase_add_test(tc, time_stamp);
    suite_add_tcase(suite, tc);
    return t_main(suite);
}
