/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-demand paging: a queue pair stops at each page that is missing, on either
 * side of each operation, and goes on when it is resumed; every field of the
 * events that a driver reads; and the ends that such a wait can have.
 */
#include "fw/fw_internal.h"
#include "tests/rdma/rdma_helper.h"

#define SRC R_DATA
#define DST (R_DATA + 0x10000000)
/** The paged region: virtual addresses, and the memory behind page i. */
#define VA UINT64_C(0x7f0000000000)
#define PAGES 16u
#define PAGE_GPA(i) (R_DATA + 0x20000000 + (uint64_t)(i) * 0x3000)

enum { SUB_WQE = 0, SUB_RDMA = 1, SUB_MEMORY = 2 };

typedef struct OTest {
    RTest *t;
    uint32_t key;            /* over the paged region */
    uint64_t msg_va, msg_len; /* what the operation touches of it */
    unsigned faults;
} OTest;

typedef struct Fault {
    uint8_t sub;
    uint8_t data[28];
} Fault;

static uint32_t paged_key(RTest *t)
{
    TestCmd c = { 0 };

    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_MTT, t->pdn, VA, PAGES * 4096,
          T_ALL_ACCESS);
    MLX5_SET(create_mkey_in, c.in, pg_access, 1);
    return t_mkey_create(t->h, &c, t_mkey_len(&c, PAGES / 2, PAGES / 2));
}

static OTest *o_new(Mlx5QpSt st)
{
    OTest *o = g_new0(OTest, 1);

    o->t = r_new(st);
    o->key = paged_key(o->t);
    r_connect(o->t, 0xfffff0);
    return o;
}

static void o_free(OTest *o)
{
    r_free(o->t);
    g_free(o);
}

/* The driver sets the capability, or leaves it. */
static void choose_scheme(OTest *o, bool memory)
{
    MLX5_SET(odp_cap, o->t->h->func->fw->caps.cur[MLX5_CAP_GROUP_ODP],
             mem_page_fault, memory);
}

/* Page @i comes (@bits) or goes (0), as the driver's UMR would have it. */
static void set_page(OTest *o, uint32_t i, uint64_t bits)
{
    Mlx5Func *f = o->t->h->func;
    uint8_t mtt[8];

    mlx5_prm_set(mtt, 0, 64, bits ? PAGE_GPA(i) | bits : 0);
    mlx5_func_lock(f);
    mlx5_mkey_load(mlx5_mkey_find(f, o->key), i, mtt, 1, 0);
    mlx5_func_unlock(f);
}

static bool page_there(OTest *o, uint32_t i)
{
    return mlx5_xlt_get(&mlx5_mkey_find(o->t->h->func, o->key)->xlt, i);
}

/* Bytes of the paged region, present or not. */
static void paged_read(OTest *o, uint64_t va, uint8_t *to, uint64_t len)
{
    for (uint64_t n; len; va += n, to += n, len -= n) {
        uint64_t off = va - VA;

        n = MIN(4096 - off % 4096, len);
        fake_mem_read(o->t->h, PAGE_GPA(off / 4096) + off % 4096, to, n);
    }
}

static void paged_fill(OTest *o, uint32_t seed)
{
    for (uint32_t i = 0; i < PAGES; i++) {
        r_fill(o->t->h, PAGE_GPA(i), 4096, seed + i * 13);
    }
}

static void paged_same(OTest *o, uint64_t gpa, uint64_t va, uint64_t len)
{
    g_autofree uint8_t *x = g_malloc(len), *y = g_malloc(len);

    fake_mem_read(o->t->h, gpa, x, len);
    paged_read(o, va, y, len);
    ck_assert_mem_eq(x, y, len);
}

static bool next_fault(OTest *o, Fault *f)
{
    RTest *t = o->t;
    uint8_t eqe[64];

    for (;;) {
        fake_mem_read(t->h, t->eq_ring + t->eq_ci % 64 * 64, eqe, 64);
        if (MLX5_GET(eqe, eqe, owner) != (t->eq_ci / 64 & 1)) {
            return false;
        }
        t->eq_ci++;
        if (MLX5_GET(eqe, eqe, event_type) == MLX5_EVENT_TYPE_PAGE_FAULT) {
            f->sub = MLX5_GET(eqe, eqe, event_sub_type);
            memcpy(f->data, eqe + MLX5_BYTE_OFF(eqe, event_data), 28);
            return true;
        }
    }
}

#define WQE(f, field) MLX5_GET(eqe_page_fault_wqe, (f)->data, field)
#define RDMA(f, field) MLX5_GET(eqe_page_fault_rdma, (f)->data, field)
#define MEM(f, field) MLX5_GET(eqe_page_fault_memory, (f)->data, field)

/* The command as the driver fills it in. */
static void resume_fill(const Fault *f, bool error, TestCmd *c)
{
    uint8_t *info = MLX5_ADDR_OF(page_fault_resume_in, c->in, page_fault_info);

    memset(c, 0, sizeof(*c));
    if (f->sub == SUB_MEMORY) {
        MLX5_SET(mem_page_fault_info, info, fault_token_31_0,
                 MEM(f, token31_0));
        MLX5_SET(mem_page_fault_info, info, fault_token_47_32,
                 MEM(f, token47_32));
        MLX5_SET(mem_page_fault_info, info, error, error);
        return;
    }
    MLX5_SET(trans_page_fault_info, info, error, error);
    MLX5_SET(trans_page_fault_info, info, page_fault_type,
             f->sub == SUB_WQE ? WQE(f, page_fault_type)
                               : RDMA(f, page_fault_type));
    MLX5_SET(trans_page_fault_info, info, fault_token,
             f->sub == SUB_WQE ? WQE(f, token) : RDMA(f, token));
    MLX5_SET(trans_page_fault_info, info, wq_number,
             f->sub == SUB_WQE ? WQE(f, wq_number) : RDMA(f, token));
}

static void resume(OTest *o, const Fault *f, bool error)
{
    TestCmd c;

    resume_fill(f, error, &c);
    t_ok(o->t->h, &c, mlx5_cmd_page_fault_resume,
         MLX5_ST_SZ_BYTES(page_fault_resume_in));
    /* The handler schedules; a command that comes by the BAR runs it, too. */
    mlx5_func_timer(o->t->h->func);
    fake_host_work(o->t->h);
}

static void resume_refused(OTest *o, const Fault *f, Mlx5Status status,
                           uint32_t syndrome)
{
    TestCmd c;

    resume_fill(f, false, &c);
    t_refused(o->t->h, &c, mlx5_cmd_page_fault_resume,
              MLX5_ST_SZ_BYTES(page_fault_resume_in), status, syndrome);
}

/* Where the fault says that memory is wanted from. */
static uint64_t wanted(OTest *o, const Fault *f)
{
    switch (f->sub) {
    case SUB_WQE:
        return o->msg_va + WQE(f, bytes_committed);
    case SUB_RDMA:
        ck_assert_uint_eq(RDMA(f, rdma_va), o->msg_va);
        ck_assert_uint_eq(RDMA(f, r_key), o->key);
        ck_assert_uint_gt(RDMA(f, rdma_op_len), RDMA(f, bytes_committed));
        ck_assert_uint_le(RDMA(f, rdma_op_len), o->msg_len);
        ck_assert_uint_gt(RDMA(f, packet_length), 0);
        return RDMA(f, rdma_va) + RDMA(f, bytes_committed);
    default:
        ck_assert_uint_eq(MEM(f, mkey), o->key);
        ck_assert_uint_eq(MEM(f, last), 1);
        ck_assert_uint_gt(MEM(f, demand_fault_pages), 0);
        return MEM(f, va);
    }
}

/* Bring the first page that is missing from there on. */
static void bring(OTest *o, const Fault *f)
{
    uint32_t i = (wanted(o, f) - VA) / 4096;

    while (i < PAGES && page_there(o, i)) {
        i++;
    }
    ck_assert_uint_lt(i, PAGES);
    ck_assert_uint_lt(VA + i * 4096u, o->msg_va + o->msg_len);
    set_page(o, i, MLX5_MTT_RD | MLX5_MTT_WR);
}

/* Be the driver until nothing faults any more. */
static void pager(OTest *o)
{
    Fault f;

    while (next_fault(o, &f)) {
        o->faults++;
        bring(o, &f);
        resume(o, &f, false);
    }
}

static unsigned pages_of(uint64_t va, uint64_t len)
{
    return (va + len - 1) / 4096 - va / 4096 + 1;
}

/* --- every operation, each side paged --- */

typedef struct Row {
    Mlx5QpSt st;
    uint8_t opcode;
    bool remote;             /* the paged side is the peer's */
    uint8_t sub, type;       /* of the faults */
} Row;

static const Row rows[] = {
    { MLX5_QP_ST_RC, MLX5_OPCODE_SEND, false, SUB_WQE, 1 },
    { MLX5_QP_ST_RC, MLX5_OPCODE_SEND, true, SUB_WQE, 2 },
    { MLX5_QP_ST_RC, MLX5_OPCODE_RDMA_WRITE, false, SUB_WQE, 1 },
    { MLX5_QP_ST_RC, MLX5_OPCODE_RDMA_WRITE, true, SUB_RDMA, 6 },
    { MLX5_QP_ST_RC, MLX5_OPCODE_RDMA_READ, false, SUB_WQE, 3 },
    { MLX5_QP_ST_RC, MLX5_OPCODE_RDMA_READ, true, SUB_RDMA, 4 },
};

static bool is_write(const Row *row)
{
    return row->opcode != MLX5_OPCODE_RDMA_READ;
}

/* Post @row's operation on [va, va + len) of the paged region. */
static void post_row(OTest *o, const Row *row, uint64_t va, uint64_t len,
                     uint64_t plain)
{
    RWqe w = r_wqe(row->opcode);
    uint64_t local = row->remote ? plain : va, far = row->remote ? va : plain;
    Mlx5WqeData d = { .addr = far, .len = len,
                      .lkey = row->remote ? o->key : o->t->key };

    o->msg_va = va;
    o->msg_len = len;
    if (row->opcode == MLX5_OPCODE_SEND) {
        r_recv_sg(&o->t->b, &d, 1);
    } else {
        r_raddr(&w, d.addr, d.lkey);
    }
    r_data(&w, local, len, row->remote ? o->t->key : o->key);
    r_post(&o->t->a, &w);
}

/* The first fault's fields; the message began at byte 0. */
static void check_first(OTest *o, const Row *row, const Fault *f)
{
    bool requester = row->type & 1;

    ck_assert_uint_eq(f->sub, row->sub);
    if (row->sub == SUB_WQE) {
        ck_assert_uint_eq(WQE(f, page_fault_type), row->type);
        ck_assert_uint_eq(WQE(f, wq_number),
                          requester ? o->t->a.qpn : o->t->b.qpn);
        ck_assert_uint_eq(WQE(f, wqe_index), 0);
        ck_assert_uint_eq(WQE(f, bytes_committed), 0);
        ck_assert_uint_eq(WQE(f, packet_length), requester ? 0 : 1024);
    } else {
        ck_assert_uint_eq(RDMA(f, page_fault_type), row->type);
        ck_assert_uint_eq(RDMA(f, bytes_committed), 0);
        ck_assert_uint_eq(RDMA(f, rdma_op_len), o->msg_len);
        ck_assert_uint_eq(RDMA(f, packet_length), 1024);
    }
}

static void one_message(const Row *row, uint64_t va, uint64_t len)
{
    OTest *o = o_new(row->st);
    uint64_t plain = DST + 0x123;
    bool into_paged = row->remote == is_write(row);
    Fault f;

    paged_fill(o, 5);
    r_fill(o->t->h, plain, len, 77);
    post_row(o, row, va, len, plain);
    r_quiet(&o->t->a);
    ck_assert(next_fault(o, &f));
    check_first(o, row, &f);
    o->faults = 1;
    bring(o, &f);
    resume(o, &f, false);
    pager(o);
    /* One page each time, and none that was there already. */
    ck_assert_uint_eq(o->faults, pages_of(va, len));
    r_sent(&o->t->a, 0, row->opcode);
    if (row->opcode == MLX5_OPCODE_SEND) {
        r_received(&o->t->b, 0, MLX5_CQE_RESP_SEND, len);
    }
    r_quiet(&o->t->a);
    r_quiet(&o->t->b);
    paged_same(o, plain, va, len);
    if (into_paged) {
        r_fill(o->t->h, SRC, len, 77);
        ck_assert(r_same(o->t->h, SRC, plain, len));
    }
    o_free(o);
}

START_TEST(every_page)
{
    one_message(&rows[_i], VA, 4096);
    one_message(&rows[_i], VA + 0xf01, 3 * 4096 + 77);
    one_message(&rows[_i], VA + 8, PAGES * 4096 - 100);
}
END_TEST

/* A page that goes away again is not touched, and faults again. */
START_TEST(page_goes)
{
    const Row *row = &rows[_i];
    OTest *o = o_new(row->st);
    uint8_t before[4096], after[4096];

    paged_fill(o, 5);
    r_fill(o->t->h, DST, 8192, 9);
    post_row(o, row, VA, 8192, DST);
    pager(o);
    ck_assert_uint_eq(o->faults, 2);
    r_sent(&o->t->a, 0, row->opcode);
    set_page(o, 1, 0);
    fake_mem_read(o->t->h, PAGE_GPA(1), before, 4096);
    r_fill(o->t->h, DST, 8192, 10);
    post_row(o, row, VA, 8192, DST);
    fake_mem_read(o->t->h, PAGE_GPA(1), after, 4096);
    ck_assert_mem_eq(before, after, 4096);
    pager(o);
    ck_assert_uint_eq(o->faults, 3);
    r_sent(&o->t->a, 1, row->opcode);
    paged_same(o, DST, VA, 8192);
    o_free(o);
}
END_TEST

/* A resume that brought nothing is followed by the same fault. */
START_TEST(resume_without_page)
{
    OTest *o = o_new(rows[_i].st);
    Fault f, g;

    post_row(o, &rows[_i], VA, 100, DST);
    for (int i = 0; i < 20; i++) {
        ck_assert(next_fault(o, &f));
        ck_assert(!next_fault(o, &g));
        resume(o, &f, false);
        r_quiet(&o->t->a);
    }
    pager(o);
    r_sent(&o->t->a, 0, rows[_i].opcode);
    o_free(o);
}
END_TEST

/* The driver cannot bring the page. */
START_TEST(resume_with_error)
{
    static const struct {
        uint8_t syndrome, vendor;
    } want[] = {
        { MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_VENDOR_GATHER_PAGE },
        { MLX5_CQE_SYNDROME_REMOTE_OP_ERR, MLX5_VENDOR_REMOTE_OP },
        { MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_VENDOR_GATHER_PAGE },
        { MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, MLX5_VENDOR_REMOTE_ACCESS },
        { MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_VENDOR_SCATTER_PAGE },
        { MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, MLX5_VENDOR_REMOTE_ACCESS },
    };

    for (unsigned good = 0; good < 3; good++) {
        const Row *row = &rows[_i];
        OTest *o = o_new(row->st);
        Fault f;

        post_row(o, row, VA, 4 * 4096, DST);
        for (unsigned i = 0; i < good; i++) {
            ck_assert(next_fault(o, &f));
            bring(o, &f);
            resume(o, &f, false);
        }
        ck_assert(next_fault(o, &f));
        resume(o, &f, true);
        fake_host_advance(o->t->h, 700000);
        r_failed(&o->t->a, &o->t->a.scq, 0, want[_i].syndrome,
                 want[_i].vendor);
        if (row->opcode == MLX5_OPCODE_SEND && row->remote) {
            r_failed(&o->t->b, &o->t->b.rcq, 0,
                     MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_VENDOR_RECV_PAGE);
        }
        ck_assert_int_eq(o->t->a.qp->state, MLX5_QP_STATE_ERR);
        resume_refused(o, &f, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                       MLX5_SYND_ODP_TOKEN);
        o_free(o);
    }
}
END_TEST

/* Ends of a wait that are not a resume; the resume is late then. */
START_TEST(cancelled)
{
    static const Mlx5QpState to[] = { MLX5_QP_STATE_RST, MLX5_QP_STATE_ERR };

    for (unsigned how = 0; how < 3; how++) {
        OTest *o = o_new(rows[_i].st);
        RQp *q = rows[_i].type & 1 ? &o->t->a : &o->t->b;
        Fault f;

        post_row(o, &rows[_i], VA, 8192, DST);
        ck_assert(next_fault(o, &f));
        if (how == 2) {
            r_destroy(q);
        } else {
            r_set_state(q, to[how]);
        }
        ck_assert_uint_eq(
            g_hash_table_size(o->t->h->func->rdma->faults), 0);
        resume(o, &f, _i & 1);
        resume_refused(o, &f, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                       MLX5_SYND_ODP_TOKEN);
        ck_assert(!next_fault(o, &f));
        if (how == 2) {
            r_destroy(q == &o->t->a ? &o->t->b : &o->t->a);
            fake_host_free(o->t->h);
            g_free(o->t);
            g_free(o);
        } else {
            o_free(o);
        }
    }
}
END_TEST

/* A function reset while faults wait leaves nothing behind. */
START_TEST(function_reset)
{
    OTest *o = o_new(rows[_i].st);
    Fault f;

    post_row(o, &rows[_i], VA, 8192, DST);
    ck_assert(next_fault(o, &f));
    mlx5_func_reset(o->t->h->func);
    ck_assert_uint_eq(g_hash_table_size(o->t->h->func->rdma->faults), 0);
    ck_assert_uint_eq(g_hash_table_size(o->t->h->func->rdma->ended), 0);
    fake_host_free(o->t->h);
    g_free(o->t);
    g_free(o);
}
END_TEST

/* Never resumed: nothing else stands still, and no retry is spent. */
START_TEST(never_resumed)
{
    const Row *row = &rows[_i];
    OTest *o = o_new(row->st);
    RTest *t = o->t;
    RQp c, d;
    RWqe w;
    Fault f;

    R_QPC(&t->a, rnr_retry, 1);
    R_QPC(&t->a, retry_count, 1);
    paged_fill(o, 5);
    post_row(o, row, VA, 6000, DST);
    ck_assert(next_fault(o, &f));
    r_qp(t, &c, MLX5_QP_ST_RC);
    r_qp(t, &d, MLX5_QP_ST_RC);
    r_up(&c, d.qpn, 1, 1);
    r_up(&d, c.qpn, 1, 1);
    for (int i = 0; i < 40; i++) {
        w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
        r_raddr(&w, DST + 0x100000, t->key);
        r_data(&w, SRC, 5000, t->key);
        r_post(&c, &w);
        r_sent(&c, i, MLX5_OPCODE_RDMA_WRITE);
        fake_host_advance(t->h, 100000000);
        r_quiet(&t->a);
    }
    ck_assert_int_eq(t->a.qp->state, MLX5_QP_STATE_RTS);
    bring(o, &f);
    resume(o, &f, false);
    pager(o);
    r_sent(&t->a, 0, row->opcode);
    paged_same(o, DST, VA, 6000);
    r_destroy(&c);
    r_destroy(&d);
    o_free(o);
}
END_TEST

/* Several requests behind one that waits keep their order. */
START_TEST(queue_behind)
{
    const Row *row = &rows[_i];
    OTest *o = o_new(row->st);

    paged_fill(o, 3);
    for (int i = 0; i < 8; i++) {
        post_row(o, row, VA + i * 8192u, 8192, DST + i * 8192u);
        o->msg_va = VA;
        o->msg_len = PAGES * 4096;
    }
    /* Several messages: let each fault bring all that is missing. */
    for (Fault f; next_fault(o, &f);) {
        for (uint32_t i = 0; i < PAGES; i++) {
            set_page(o, i, MLX5_MTT_RD | MLX5_MTT_WR);
        }
        resume(o, &f, false);
    }
    fake_host_advance(o->t->h, 200000000);
    for (int i = 0; i < 8; i++) {
        r_sent(&o->t->a, i, row->opcode);
    }
    paged_same(o, DST, VA, PAGES * 4096);
    o_free(o);
}
END_TEST

/* --- the command's own checks --- */

START_TEST(resume_refusals)
{
    OTest *o = o_new(MLX5_QP_ST_RC);
    Fault f, bad;
    FakeHost *plain;
    Mlx5FuncProps props;
    TestCmd c = { 0 };

    post_row(o, &rows[0], VA, 100, DST);
    ck_assert(next_fault(o, &f));
    bad = f;
    MLX5_SET(eqe_page_fault_wqe, bad.data, token, WQE(&f, token) + 1);
    resume_refused(o, &bad, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                   MLX5_SYND_ODP_TOKEN);
    bad = f;
    MLX5_SET(eqe_page_fault_wqe, bad.data, wq_number, o->t->b.qpn);
    resume_refused(o, &bad, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ODP_WQ);
    bad = f;
    MLX5_SET(eqe_page_fault_wqe, bad.data, page_fault_type, 3);
    resume_refused(o, &bad, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_ODP_WQ);
    bring(o, &f);
    resume(o, &f, false);
    r_sent(&o->t->a, 0, MLX5_OPCODE_SEND);
    o_free(o);

    mlx5_func_props_default(&props);
    props.odp = false;
    plain = fake_host_new(&props);
    t_refused(plain, &c, mlx5_cmd_page_fault_resume,
              MLX5_ST_SZ_BYTES(page_fault_resume_in),
              MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_ODP_OFF);
    fake_host_free(plain);
}
END_TEST

/* No queue for the event: the page will not come. */
START_TEST(nobody_listens)
{
    OTest *o = o_new(rows[_i].st);
    Mlx5Eq *eq = mlx5_obj_get(o->t->h->func, MLX5_OBJ_EQ, o->t->eqn);

    eq->event_mask[0] &= ~(UINT64_C(1) << MLX5_EVENT_TYPE_PAGE_FAULT);
    post_row(o, &rows[_i], VA, 100, DST);
    ck_assert_int_eq(o->t->a.qp->state, MLX5_QP_STATE_ERR);
    ck_assert_uint_eq(g_hash_table_size(o->t->h->func->rdma->faults), 0);
    o_free(o);
}
END_TEST

/* --- atomics, datagrams, shared queues --- */

START_TEST(atomics)
{
    for (int remote = 0; remote < 2; remote++) {
        OTest *o = o_new(MLX5_QP_ST_RC);
        RWqe w = r_wqe(MLX5_OPCODE_ATOMIC_FA);
        uint64_t plain = DST, at = VA + 4096 + 8;
        Fault f;

        choose_scheme(o, _i);
        paged_fill(o, 1);
        fake_mem_set_be64(o->t->h, PAGE_GPA(1) + 8, 0);
        fake_mem_set_be64(o->t->h, plain, 0);
        o->msg_va = at;
        o->msg_len = 8;
        r_raddr(&w, remote ? at : plain, remote ? o->key : o->t->key);
        r_atomic(&w, 5, 0);
        r_data(&w, remote ? plain : at, 8, remote ? o->t->key : o->key);
        r_post(&o->t->a, &w);
        r_quiet(&o->t->a);
        ck_assert(next_fault(o, &f));
        ck_assert_uint_eq(f.sub, _i ? SUB_MEMORY : remote ? SUB_RDMA : SUB_WQE);
        if (_i) {
            ck_assert_uint_eq(MEM(&f, va), VA + 4096);
        } else if (remote) {
            ck_assert_uint_eq(RDMA(&f, page_fault_type), 6);
            ck_assert_uint_eq(RDMA(&f, rdma_op_len), 8);
        } else {
            ck_assert_uint_eq(WQE(&f, page_fault_type), 3);
        }
        bring(o, &f);
        resume(o, &f, false);
        pager(o);
        r_sent(&o->t->a, 0, MLX5_OPCODE_ATOMIC_FA);
        /* Once, not once a try. */
        ck_assert_uint_eq(fake_mem_be64(o->t->h, remote ? PAGE_GPA(1) + 8
                                                        : plain),
                          GUINT64_SWAP_LE_BE(5));
        o_free(o);
    }
}
END_TEST

START_TEST(datagram_send)
{
    OTest *o = o_new(MLX5_QP_ST_UD);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    Fault f;

    choose_scheme(o, _i);
    paged_fill(o, 1);
    o->msg_va = VA + 4000;
    o->msg_len = 500;
    r_recv(&o->t->b, DST, 1000);
    r_av(&w, o->t->b.qpn, R_QKEY);
    r_data(&w, o->msg_va, 500, o->key);
    r_post(&o->t->a, &w);
    ck_assert(next_fault(o, &f));
    if (_i == 0) {
        ck_assert_uint_eq(WQE(&f, page_fault_type), 1);
        ck_assert_uint_eq(WQE(&f, wq_number), o->t->a.qpn);
    }
    bring(o, &f);
    resume(o, &f, false);
    pager(o);
    r_sent(&o->t->a, 0, MLX5_OPCODE_SEND);
    r_received(&o->t->b, 0, MLX5_CQE_RESP_SEND, 540);
    paged_same(o, DST + 40, o->msg_va, 500);
    o_free(o);
}
END_TEST

/* A datagram's receive cannot wait: the capability says so, and it fails. */
START_TEST(datagram_receive)
{
    OTest *o = o_new(MLX5_QP_ST_UD);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    Mlx5WqeData d = { .addr = VA, .len = 1000, .lkey = o->key };
    Fault f;

    r_recv_sg(&o->t->b, &d, 1);
    r_av(&w, o->t->b.qpn, R_QKEY);
    r_data(&w, SRC, 500, o->t->key);
    r_post(&o->t->a, &w);
    r_failed(&o->t->b, &o->t->b.rcq, 0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,
             MLX5_VENDOR_RECV_KEY);
    ck_assert(!next_fault(o, &f));
    o_free(o);
}
END_TEST

static Mlx5Srq *shared_queue(OTest *o, uint64_t addr, uint32_t len)
{
    RTest *t = o->t;
    Mlx5Func *func = t->h->func;
    uint64_t ring = r_new_ring(t), dbr = r_new_ring(t);
    uint8_t pas[8], b[64] = { 0 };
    Mlx5Srq *srq;

    mlx5_func_lock(func);
    srq = mlx5_obj_new(func, MLX5_OBJ_SRQ, sizeof(*srq), 0);
    srq->kind = MLX5_SRQ_RMP;
    srq->pd = mlx5_obj_get(func, MLX5_OBJ_PD, t->pdn);
    mlx5_obj_ref(srq->pd);
    srq->log_size = 4;
    srq->wqe_bytes = 64;
    srq->cyclic = true;
    srq->dbr_gpa = dbr;
    srq->user_index = 0xffffff;
    t_pas(pas, 0, ring, 1);
    ck_assert(mlx5_ring_init(&srq->ring, func, pas, 1, 12, 0, 1024));
    t->b.qp->srq = srq;
    t->b.qp->has_rq = false;
    mlx5_obj_ref(srq);
    mlx5_func_unlock(func);
    for (int i = 1; i < 4; i++) {
        MLX5_SET(wqe_data, b + i * 16, lkey, MLX5_INVALID_LKEY);
    }
    MLX5_SET(wqe_data, b + 16, lkey, o->key);
    MLX5_SET(wqe_data, b + 16, byte_count, len);
    MLX5_SET(wqe_data, b + 16, local_virtual_address, addr);
    fake_mem_write(t->h, ring, b, sizeof(b));
    fake_mem_set_be32(t->h, dbr, 1);
    return srq;
}

START_TEST(shared_receive)
{
    OTest *o = o_new(MLX5_QP_ST_RC);
    Mlx5Srq *srq = shared_queue(o, VA + 100, 9000);
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t cqe[64];
    Fault f;

    choose_scheme(o, _i);
    r_fill(o->t->h, SRC, 9000, 3);
    o->msg_va = VA + 100;
    o->msg_len = 9000;
    r_data(&w, SRC, 9000, o->t->key);
    r_post(&o->t->a, &w);
    ck_assert(next_fault(o, &f));
    if (_i == 0) {
        ck_assert_uint_eq(f.sub, SUB_WQE);
        ck_assert_uint_eq(WQE(&f, page_fault_type), 0);
        ck_assert_uint_eq(WQE(&f, wq_number), srq->o.id);
        ck_assert_uint_eq(WQE(&f, wqe_index), 0);
        ck_assert_uint_eq(WQE(&f, packet_length), 1024);
    }
    bring(o, &f);
    resume(o, &f, false);
    pager(o);
    r_sent(&o->t->a, 0, MLX5_OPCODE_SEND);
    ck_assert(r_poll(&o->t->b, &o->t->b.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, byte_cnt), 9000);
    paged_same(o, SRC, VA + 100, 9000);
    o_free(o);
}
END_TEST

/* --- the memory scheme --- */

START_TEST(memory_scheme)
{
    const Row *row = &rows[_i];
    OTest *o = o_new(row->st);
    Fault f, bad;

    choose_scheme(o, true);
    paged_fill(o, 2);
    post_row(o, row, VA + 4000, 3 * 4096, DST);
    ck_assert(next_fault(o, &f));
    ck_assert_uint_eq(f.sub, SUB_MEMORY);
    ck_assert_uint_eq(MEM(&f, va), VA);
    bad = f;
    MLX5_SET(eqe_page_fault_memory, bad.data, token47_32, 1);
    resume_refused(o, &bad, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                   MLX5_SYND_ODP_TOKEN);
    bring(o, &f);
    resume(o, &f, false);
    pager(o);
    r_sent(&o->t->a, 0, row->opcode);
    paged_same(o, DST, VA + 4000, 3 * 4096);
    o_free(o);
}
END_TEST

static void memory_message(const Row *row, uint64_t va, uint64_t len)
{
    OTest *o = o_new(row->st);
    unsigned next = 0;
    Fault f;

    choose_scheme(o, true);
    paged_fill(o, 5);
    r_fill(o->t->h, DST, len, 77);
    post_row(o, row, va, len, DST);
    for (; next_fault(o, &f); next++) {
        uint64_t page = (va & ~UINT64_C(4095)) + next * 4096;

        ck_assert_uint_eq(f.sub, SUB_MEMORY);
        ck_assert_uint_eq(MEM(&f, mkey), o->key);
        ck_assert_uint_eq(MEM(&f, va), page);
        ck_assert_uint_le(page + MEM(&f, demand_fault_pages) * 4096,
                          (va + len + 4095) & ~UINT64_C(4095));
        r_quiet(&o->t->a);
        bring(o, &f);
        resume(o, &f, false);
    }
    ck_assert_uint_eq(next, pages_of(va, len));
    r_sent(&o->t->a, 0, row->opcode);
    if (row->opcode == MLX5_OPCODE_SEND) {
        r_received(&o->t->b, 0, MLX5_CQE_RESP_SEND, len);
    }
    paged_same(o, DST, va, len);
    o_free(o);
}

/* A fault at each page of a message, and no other. */
START_TEST(memory_every_page)
{
    memory_message(&rows[_i], VA, 1);
    memory_message(&rows[_i], VA + 4095, 2);
    memory_message(&rows[_i], VA + 0xf01, 3 * 4096 + 77);
    memory_message(&rows[_i], VA + 8, PAGES * 4096 - 100);
}
END_TEST

/* The page cannot be had, at each page of a message. */
START_TEST(memory_error)
{
    for (unsigned good = 0; good < 4; good++) {
        OTest *o = o_new(rows[_i].st);
        Fault f;
        uint8_t cqe[64];

        choose_scheme(o, true);
        post_row(o, &rows[_i], VA, 4 * 4096, DST);
        for (unsigned i = 0; i < good; i++) {
            ck_assert(next_fault(o, &f));
            bring(o, &f);
            resume(o, &f, false);
        }
        ck_assert(next_fault(o, &f));
        resume(o, &f, true);
        fake_host_advance(o->t->h, 700000);
        ck_assert(r_poll(&o->t->a, &o->t->a.scq, cqe));
        ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ_ERR);
        ck_assert_int_eq(o->t->a.qp->state, MLX5_QP_STATE_ERR);
        resume_refused(o, &f, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                       MLX5_SYND_ODP_TOKEN);
        o_free(o);
    }
}
END_TEST

/*
 * All memory of a process, as the driver makes it in this scheme: a list of a
 * key of its own without pages, and children where something was used. Both
 * kinds of fault name the list, if it is the kernel's.
 */
START_TEST(memory_implicit)
{
    OTest *o = o_new(MLX5_QP_ST_RC);
    TestCmd c = { 0 };
    uint32_t none, list, want;
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    uint8_t klm[16] = { 0 };
    Fault f;

    choose_scheme(o, true);
    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_MTT, o->t->pdn, 0, 0, T_ALL_ACCESS);
    MLX5_SET(mkc, T_MKC(&c), length64, 1);
    MLX5_SET(mkc, T_MKC(&c), log_page_size, 61);
    MLX5_SET(create_mkey_in, c.in, pg_access, 1);
    none = t_mkey_create(o->t->h, &c, t_mkey_len(&c, 4, 4));
    memset(&c, 0, sizeof(c));
    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_KSM, o->t->pdn, 0, 0, T_ALL_ACCESS);
    MLX5_SET(mkc, T_MKC(&c), length64, 1);
    MLX5_SET(mkc, T_MKC(&c), log_page_size, 30);
    t_klm(T_XLT(&c), 1u << 30, o->t->key, 0);
    t_klm(T_XLT(&c) + 16, 1u << 30, none, 1u << 30);
    list = t_mkey_create(o->t->h, &c, t_mkey_len(&c, 4, 2));
    want = _i ? none : list;
    mlx5_mkey_find(o->t->h->func, list)->o.uid = _i ? 7 : 0;

    r_raddr(&w, DST, o->t->key);
    r_data(&w, (1u << 30) - 100, 300, list);
    r_post(&o->t->a, &w);
    ck_assert(next_fault(o, &f));
    ck_assert_uint_eq(MEM(&f, mkey), want);
    ck_assert_uint_eq(MEM(&f, va), 1u << 30);
    ck_assert_uint_eq(MEM(&f, demand_fault_pages), 1);
    /* A child whose first page is VA's, which is not there either. */
    t_klm(klm, 1u << 30, o->key, VA);
    mlx5_func_lock(o->t->h->func);
    mlx5_mkey_load(mlx5_mkey_find(o->t->h->func, list), 2, klm, 2, 0);
    mlx5_func_unlock(o->t->h->func);
    resume(o, &f, false);
    r_quiet(&o->t->a);
    ck_assert(next_fault(o, &f));
    ck_assert_uint_eq(MEM(&f, mkey), _i ? o->key : list);
    ck_assert_uint_eq(MEM(&f, va), _i ? VA : 1u << 30);
    set_page(o, 0, MLX5_MTT_RD | MLX5_MTT_WR);
    resume(o, &f, false);
    r_sent(&o->t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(o->t->h, PAGE_GPA(0), DST + 100, 200));
    o_free(o);
}
END_TEST

/* --- the null key --- */

START_TEST(null_key)
{
    static const uint32_t keys[] = { MLX5_NULL_MKEY, MLX5_DUMP_FILL_MKEY };
    const uint32_t key = keys[_i];
    OTest *o = o_new(MLX5_QP_ST_RC);
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    uint8_t got[300], zero[300] = { 0 };

    r_fill(o->t->h, DST, 300, 1);
    r_raddr(&w, DST, o->t->key);
    r_data(&w, 0x1234, 300, key);
    r_post(&o->t->a, &w);
    r_sent(&o->t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    fake_mem_read(o->t->h, DST, got, 300);
    ck_assert_mem_eq(got, zero, 300);
    /* What is written there is gone. */
    w = r_wqe(MLX5_OPCODE_RDMA_READ);
    r_raddr(&w, DST, o->t->key);
    r_data(&w, 0x1234, 300, key);
    r_post(&o->t->a, &w);
    r_sent(&o->t->a, 1, MLX5_OPCODE_RDMA_READ);
    /* It is no remote key. */
    w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    r_raddr(&w, 0x1234, key);
    r_data(&w, SRC, 8, o->t->key);
    r_post(&o->t->a, &w);
    r_failed(&o->t->a, &o->t->a.scq, 2, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
             MLX5_VENDOR_REMOTE_ACCESS);
    o_free(o);
}
END_TEST

/* As the driver makes regions over everything: a list of nothing yet. */
START_TEST(null_in_list)
{
    OTest *o = o_new(MLX5_QP_ST_RC);
    TestCmd c = { 0 };
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);
    uint8_t klm[16] = { 0 };
    uint32_t list;
    Fault f;

    t_mkc(T_MKC(&c), MLX5_MKC_ACCESS_MODE_KSM, o->t->pdn, 0, 0, T_ALL_ACCESS);
    MLX5_SET(mkc, T_MKC(&c), length64, 1);
    MLX5_SET(mkc, T_MKC(&c), log_page_size, 30);
    MLX5_SET(create_mkey_in, c.in, pg_access, 1);
    t_klm(T_XLT(&c), 1u << 30, MLX5_NULL_MKEY, 0);
    list = t_mkey_create(o->t->h, &c, t_mkey_len(&c, 4, 1));
    r_raddr(&w, DST, o->t->key);
    r_data(&w, 0x5000, 100, list);
    r_post(&o->t->a, &w);
    ck_assert(next_fault(o, &f));
    t_klm(klm, 1u << 30, o->t->key, SRC);
    mlx5_func_lock(o->t->h->func);
    mlx5_mkey_load(mlx5_mkey_find(o->t->h->func, list), 0, klm, 2, 0);
    mlx5_func_unlock(o->t->h->func);
    r_fill(o->t->h, SRC + 0x5000, 100, 1);
    resume(o, &f, false);
    r_sent(&o->t->a, 0, MLX5_OPCODE_RDMA_WRITE);
    ck_assert(r_same(o->t->h, SRC + 0x5000, DST, 100));
    o_free(o);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("odp");
    TCase *tc = tcase_create("odp");
    int n = G_N_ELEMENTS(rows);

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_page, 0, n);
    tcase_add_loop_test(tc, page_goes, 0, n);
    tcase_add_loop_test(tc, resume_without_page, 0, n);
    tcase_add_loop_test(tc, resume_with_error, 0, n);
    tcase_add_loop_test(tc, cancelled, 0, n);
    tcase_add_loop_test(tc, function_reset, 0, n);
    tcase_add_loop_test(tc, never_resumed, 0, n);
    tcase_add_loop_test(tc, queue_behind, 0, n);
    tcase_add_loop_test(tc, nobody_listens, 0, n);
    tcase_add_loop_test(tc, memory_scheme, 0, n);
    tcase_add_loop_test(tc, memory_every_page, 0, n);
    tcase_add_loop_test(tc, memory_error, 0, n);
    tcase_add_loop_test(tc, memory_implicit, 0, 2);
    tcase_add_test(tc, resume_refusals);
    tcase_add_loop_test(tc, atomics, 0, 2);
    tcase_add_loop_test(tc, datagram_send, 0, 2);
    tcase_add_test(tc, datagram_receive);
    tcase_add_loop_test(tc, shared_receive, 0, 2);
    tcase_add_loop_test(tc, null_key, 0, 2);
    tcase_add_test(tc, null_in_list);
    suite_add_tcase(s, tc);
    return t_main(s);
}
