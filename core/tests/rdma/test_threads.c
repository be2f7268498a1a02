/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many threads in one card, for ThreadSanitizer: workers post real requests
 * and ring doorbells, on queue pairs of their own and on one that all share,
 * while other threads do the host's work, its timer, commands and inspection,
 * on one function, on two of a card, and on two cards. Every byte is checked.
 * Then queue pairs, a function's state and a function go away under traffic.
 *
 * Check's own functions are for one thread at a time: the command thread uses
 * them (in fake_driver.c), the others note the first failure in World.failed.
 */
#include "obj/qp.h"
#include "tests/fake_driver.h"
#include "tests/rdma/rdma_helper.h"

#define WORKERS 4
#define PAIRS (WORKERS + 1)  /* the last is shared */
#define SHARED WORKERS
#define WINDOW 4             /* requests under way on a pair */
#define REQUESTS 60          /* of a worker, half of them on the shared pair */
#define MAX_BYTES 100000u    /* above the ringing thread's budget */
#define PATIENCE_S 60
#define SLOT_BYTES UINT64_C(0x100000)

typedef struct Request {
    uint8_t opcode;
    uint16_t counter;
    uint32_t len, seed;
    uint64_t local, remote;
} Request;

typedef struct World World;

/* Two connected queue pairs; requests go from a to b. */
typedef struct Pair {
    World *w;
    pthread_mutex_t lock;    /* guards all of this, as a driver's SQ lock */
    RQp a, b;
    uint64_t base;           /* its payload begins here, in both memories */
    uint64_t sum;            /* of what was added to the counter at @base */
    uint32_t posted, done;
    Request request[WINDOW];
} Pair;

typedef struct Side {
    World *w;
    FakeHost *h;
    FakeDriver *d;
    RTest t;
    uint8_t gid[16];
    bool stop;               /* its host's threads end */
} Side;

typedef struct Worker {
    World *w;
    unsigned index;
} Worker;

struct World {
    Side side[2];
    unsigned num_sides;
    unsigned commanded;      /* sides from 0 on that get commands */
    Pair pair[PAIRS];
    Worker worker[WORKERS];
    GPtrArray *workers, *hosts[2], *watchers; /* GThread * */
    bool doomed;             /* the pairs may be gone: post, expect nothing */
    bool stop;               /* workers and watchers end */
    const char *failed;
};

static bool flag(const bool *f)
{
    return __atomic_load_n(f, __ATOMIC_ACQUIRE);
}

static void raise_flag(bool *f)
{
    __atomic_store_n(f, true, __ATOMIC_RELEASE);
}

static void note_failure(World *w, const char *why)
{
    const char *none = NULL;

    __atomic_compare_exchange_n(&w->failed, &none, why, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    raise_flag(&w->stop);
}

/* --- requests --- */

static void fill(FakeHost *h, uint64_t addr, uint32_t len, uint32_t seed)
{
    uint8_t b[256];

    for (uint32_t i = 0; i < len; i += sizeof(b)) {
        memset(b, seed + i / sizeof(b), sizeof(b));
        fake_mem_write(h, addr + i, b, MIN(sizeof(b), len - i));
    }
}

static bool filled(FakeHost *h, uint64_t addr, uint32_t len, uint32_t seed)
{
    uint8_t want[256], got[256];
    bool same = true;

    for (uint32_t i = 0; i < len && same; i += sizeof(want)) {
        uint32_t n = MIN(sizeof(want), len - i);

        memset(want, seed + i / sizeof(want), sizeof(want));
        fake_mem_read(h, addr + i, got, n);
        same = memcmp(want, got, n) == 0;
    }
    return same;
}

static void prepare_write(Pair *p, Request *r, RWqe *w)
{
    fill(p->a.h, r->local, r->len, r->seed);
    r_raddr(w, r->remote, p->b.t->key);
}

static void prepare_send(Pair *p, Request *r, RWqe *w)
{
    (void)w;
    fill(p->a.h, r->local, r->len, r->seed);
    r_recv(&p->b, r->remote, r->len);
}

static void prepare_read(Pair *p, Request *r, RWqe *w)
{
    fill(p->b.h, r->remote, r->len, r->seed);
    r_raddr(w, r->remote, p->b.t->key);
}

static void prepare_add(Pair *p, Request *r, RWqe *w)
{
    r->len = 8;
    r_raddr(w, p->base, p->b.t->key);
    r_atomic(w, r->seed, 0);
}

static bool arrived(Pair *p, const Request *r)
{
    return filled(p->b.h, r->remote, r->len, r->seed);
}

static bool received(Pair *p, const Request *r)
{
    uint8_t cqe[64];

    return r_poll(&p->b, &p->b.rcq, cqe) &&
           MLX5_GET(cqe64, cqe, opcode) == MLX5_CQE_RESP_SEND &&
           MLX5_GET(cqe64, cqe, byte_cnt) == r->len && arrived(p, r);
}

static bool fetched(Pair *p, const Request *r)
{
    return filled(p->a.h, r->local, r->len, r->seed);
}

static bool added(Pair *p, const Request *r)
{
    uint64_t before;

    fake_mem_read(p->a.h, r->local, &before, 8);
    if (GUINT64_FROM_BE(before) != p->sum) {
        return false;
    }
    p->sum += r->seed;
    return true;
}

static const struct {
    uint8_t opcode;
    void (*prepare)(Pair *p, Request *r, RWqe *w);
    bool (*check)(Pair *p, const Request *r);
} kinds[] = {
    { MLX5_OPCODE_RDMA_WRITE, prepare_write, arrived },
    { MLX5_OPCODE_SEND, prepare_send, received },
    { MLX5_OPCODE_RDMA_READ, prepare_read, fetched },
    { MLX5_OPCODE_ATOMIC_FA, prepare_add, added },
};

/* Put a request of a size and kind that @random says into the ring. */
static void put_request(Pair *p, uint32_t random)
{
    uint32_t kind = random % G_N_ELEMENTS(kinds), slot = p->posted % WINDOW;
    Request *r = &p->request[slot];
    RWqe w = r_wqe(kinds[kind].opcode);

    *r = (Request){
        .opcode = kind,
        .counter = p->a.sq_pi,
        /* Most are small: those finish on the thread that rings. */
        .len = 1 + (random >> 8) % (random & 0xf0 ? 4000 : MAX_BYTES),
        .seed = random >> 4,
        .local = p->base + (1 + slot) * SLOT_BYTES + random % 64,
        .remote = p->base + (1 + WINDOW + slot) * SLOT_BYTES + random % 61,
    };
    kinds[kind].prepare(p, r, &w);
    r_data(&w, r->local, r->len, p->a.t->key);
    r_put(&p->a, &w);
    p->posted++;
}

/* Take what is done; requests of a queue pair complete in order. */
static void take_done(Pair *p)
{
    uint8_t cqe[64];

    while (p->done != p->posted && r_poll(&p->a, &p->a.scq, cqe)) {
        Request *r = &p->request[p->done % WINDOW];

        if (MLX5_GET(cqe64, cqe, opcode) != MLX5_CQE_REQ) {
            note_failure(p->w, "a request failed");
        } else if (MLX5_GET(cqe64, cqe, wqe_counter) != r->counter) {
            note_failure(p->w, "a completion out of order");
        } else if (!kinds[r->opcode].check(p, r)) {
            note_failure(p->w, "wrong data");
        }
        p->done++;
    }
}

/* A pair that may be gone: nothing is awaited, the ring goes round. */
static void take_nothing(Pair *p)
{
    p->done = p->posted;
}

static void arm(RQp *q, RCq *cq)
{
    uint32_t word = 1u << 28 | (cq->ci & 0xffffff);

    fake_mem_set_be32(q->h, cq->dbr + 4, word);
    mlx5_func_bar_write(q->h->func, (uint64_t)q->t->uar * 4096 + 0x20,
                        (uint64_t)word << 32 | cq->cqn, 8);
}

/* Post one if there is room. The doorbell is rung outside the lock, so that
 * those of a shared queue race. Return: true if one was posted. */
static bool step(Pair *p, uint32_t random)
{
    bool room;

    pthread_mutex_lock(&p->lock);
    if (flag(&p->w->doomed)) {
        take_nothing(p);
    } else {
        take_done(p);
    }
    room = p->posted - p->done < WINDOW;
    if (room) {
        put_request(p, random);
        if (random % 8 == 0) {
            arm(&p->a, &p->a.scq);
        }
    }
    pthread_mutex_unlock(&p->lock);
    if (room) {
        r_ring(&p->a);
    } else {
        g_usleep(50);
    }
    return room;
}

static bool drained(Pair *p)
{
    bool empty;

    pthread_mutex_lock(&p->lock);
    take_done(p);
    empty = p->done == p->posted;
    pthread_mutex_unlock(&p->lock);
    return empty;
}

/* --- the threads --- */

static bool late(gint64 start)
{
    return g_get_monotonic_time() - start > PATIENCE_S * G_USEC_PER_SEC;
}

static gpointer work_through(gpointer opaque)
{
    Worker *k = opaque;
    World *w = k->w;
    Pair *own = &w->pair[k->index], *shared = &w->pair[SHARED];
    uint32_t random = k->index * 7919 + 1, n = 0;
    gint64 start = g_get_monotonic_time();

    while (n < REQUESTS || flag(&w->doomed)) {
        if (flag(&w->stop)) {
            return NULL;
        }
        random = random * 1664525 + 1013904223;
        n += step(n % 2 ? shared : own, random >> 4);
        if (late(start)) {
            note_failure(w, "requests do not complete");
        }
    }
    while (!flag(&w->stop) && !(drained(own) && drained(shared))) {
        g_usleep(100);
        if (late(start)) {
            note_failure(w, "the last requests do not complete");
        }
    }
    return NULL;
}

static gpointer host_engine(gpointer opaque)
{
    Side *s = opaque;

    while (!flag(&s->stop)) {
        fake_host_work(s->h);
        g_usleep(20);
    }
    return NULL;
}

/* Its clock is no faster than ours, so a slow machine fakes no timeouts. */
static gpointer host_timer(gpointer opaque)
{
    Side *s = opaque;

    while (!flag(&s->stop)) {
        g_usleep(200);
        fake_host_advance(s->h, 200000);
    }
    return NULL;
}

static void query_qp(FakeDriver *d, uint32_t qpn)
{
    FAKE_BUFFERS(query_qp);

    MLX5_SET(query_qp_in, in, qpn, qpn);
    FAKE_CMD_OK(d, QUERY_QP, query_qp, in, out);
}

static void some_commands(Side *s)
{
    FakeDriver *d = s->d;
    FAKE_BUFFERS(dealloc_pd);
    uint32_t pd = fake_driver_alloc_pd_ok(d);
    uint32_t key = fake_driver_create_mr_ok(d, pd, R_DATA, 1000000);
    FakeQueue cq = fake_driver_create_cq_ok(d, 6, d->comp_eq.number);
    uint8_t eqe[64];

    fake_driver_arm_cq(d, &cq, false);
    fake_driver_destroy_cq_ok(d, &cq);
    fake_driver_destroy_mkey_ok(d, key);
    MLX5_SET(dealloc_pd_in, in, pd, pd);
    FAKE_CMD_OK(d, DEALLOC_PD, dealloc_pd, in, out);
    while (fake_driver_poll_eq(d, &d->comp_eq, eqe) ||
           fake_driver_poll_eq(d, &d->async_eq, eqe)) {
        /* so that they don't overflow */
    }
}

static gpointer command(gpointer opaque)
{
    World *w = opaque;

    while (!flag(&w->stop)) {
        for (unsigned i = 0; i < w->commanded; i++) {
            some_commands(&w->side[i]);
        }
        if (!flag(&w->doomed)) {
            query_qp(w->side[0].d, w->pair[SHARED].a.qpn);
        }
        g_usleep(1000);
    }
    return NULL;
}

/* Versions, command queue, initializing, health, timer and health counter. */
static const uint32_t registers[] = {
    0x0, 0x4, 0x10, 0x14, 0x18, 0x1fc, 0x200, 0x21c, 0x1000, 0x1004, 0x1010,
};

static void look(Side *s, unsigned round)
{
    static const uint8_t frame[60] = { 255, 255, 255, 255, 255, 255, 2, 3 };
    struct iovec iov = { (void *)frame, sizeof(frame) };
    g_autofree char *json = mlx5_func_inspect(s->h->func);

    if (json[0] != '{') {
        note_failure(s->w, "inspection says no object");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(registers); i++) {
        mlx5_func_bar_read(s->h->func, registers[i], 4);
    }
    mlx5_func_vsc_write(s->h->func, 8, round & 1);
    mlx5_func_vsc_read(s->h->func, 8);
    mlx5_card_frame_rx(s->h->card, &iov, 1);
    if (round % 16 == 0) {
        mlx5_card_set_link(s->h->card, round & 16);
    }
}

static gpointer inspect(gpointer opaque)
{
    World *w = opaque;

    for (unsigned round = 0; !flag(&w->stop); round++) {
        for (unsigned i = 0; i < w->commanded; i++) {
            look(&w->side[i], round);
        }
        g_usleep(500);
    }
    return NULL;
}

static void start(GPtrArray *threads, GThreadFunc run, gpointer opaque)
{
    g_ptr_array_add(threads, g_thread_new(NULL, run, opaque));
}

static void join(GPtrArray *threads)
{
    for (guint i = 0; i < threads->len; i++) {
        g_thread_join(g_ptr_array_index(threads, i));
    }
    g_ptr_array_set_size(threads, 0);
}

/* --- making and unmaking the world --- */

static void make_side(World *w, unsigned i)
{
    Side *s = &w->side[i];
    Mlx5FuncProps props;
    Mlx5Card *card = i ? w->side[0].h->card : mlx5_card_new();

    mlx5_func_props_default(&props);
    memcpy(props.mac, r_mac, 6);
    props.mac[5] += i;
    memcpy(s->gid, r_gid, 16);
    s->gid[15] += i;
    s->w = w;
    s->h = fake_host_new_func(card, &props);
    s->h->owns_card = i == 0;
    s->d = fake_driver_new(s->h);
    fake_driver_up(s->d);
    s->t = (RTest){ .h = s->h, .uar = s->d->uar, .eqn = s->d->comp_eq.number,
                    .pdn = s->d->pd, .key = s->d->dma_mkey };
    r_gid_set(&s->t, 0, s->gid, MLX5_ROCE_VERSION_2,
              MLX5_ROCE_L3_TYPE_IPV6);
}

static void make_end(Side *s, RQp *q, const Side *other)
{
    uint8_t *ads;

    r_qp(&s->t, q, MLX5_QP_ST_RC);
    ads = MLX5_ADDR_OF(qpc, q->qp->qpc, primary_address_path);
    memcpy(ads + MLX5_BYTE_OFF(ads, rgid_rip), other->gid, 16);
}

static void make_pair(World *w, unsigned i, unsigned from, unsigned to)
{
    Pair *p = &w->pair[i];

    p->w = w;
    p->base = R_DATA + i * UINT64_C(0x10000000);
    pthread_mutex_init(&p->lock, NULL);
    make_end(&w->side[from], &p->a, &w->side[to]);
    make_end(&w->side[to], &p->b, &w->side[from]);
    r_up(&p->a, p->b.qpn, 0x100, 0x100);
    r_up(&p->b, p->a.qpn, 0x100, 0x100);
}

/* @from, @to: the side of each pair's ends, a digit each. */
static World *new_world(unsigned num_sides, const char *from, const char *to)
{
    World *w = g_new0(World, 1);

    w->num_sides = w->commanded = num_sides;
    w->workers = g_ptr_array_new();
    w->watchers = g_ptr_array_new();
    for (unsigned i = 0; i < num_sides; i++) {
        w->hosts[i] = g_ptr_array_new();
        make_side(w, i);
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        make_pair(w, i, from[i] - '0', to[i] - '0');
    }
    return w;
}

static void run_world(World *w)
{
    for (unsigned i = 0; i < w->num_sides; i++) {
        w->side[i].d->host_runs = true;
        start(w->hosts[i], host_engine, &w->side[i]);
        start(w->hosts[i], host_timer, &w->side[i]);
    }
    start(w->watchers, command, w);
    start(w->watchers, inspect, w);
    for (unsigned i = 0; i < WORKERS; i++) {
        w->worker[i] = (Worker){ w, i };
        start(w->workers, work_through, &w->worker[i]);
    }
}

static void stop_host(World *w, unsigned side)
{
    raise_flag(&w->side[side].stop);
    join(w->hosts[side]);
}

/* Workers first (they need the hosts), then who looks on, then the hosts. */
static void end_world(World *w)
{
    if (w->doomed) {
        raise_flag(&w->stop);
    }
    join(w->workers);
    raise_flag(&w->stop);
    join(w->watchers);
    for (unsigned i = 0; i < w->num_sides; i++) {
        stop_host(w, i);
    }
    ck_assert_msg(!w->failed, "%s", w->failed);
}

static void free_side(World *w, unsigned i)
{
    fake_driver_free(w->side[i].d);
    fake_host_free(w->side[i].h);
}

static void free_world(World *w)
{
    for (unsigned i = w->num_sides; i-- > 0;) {
        free_side(w, i);
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        pthread_mutex_destroy(&w->pair[i].lock);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_clear_pointer(&w->hosts[i], g_ptr_array_unref);
    }
    g_ptr_array_unref(w->workers);
    g_ptr_array_unref(w->watchers);
    g_free(w);
}

/* All was done, once, and both ends still stand. */
static void check_pairs(World *w)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        Pair *p = &w->pair[i];
        uint64_t sum;

        fake_mem_read(p->b.h, p->base, &sum, 8);
        ck_assert_uint_eq(GUINT64_FROM_LE(sum), p->sum);
        ck_assert_uint_eq(p->done, p->posted);
        ck_assert_uint_eq(p->a.qp->state, MLX5_QP_STATE_RTS);
        ck_assert_uint_eq(p->b.qp->state, MLX5_QP_STATE_RTS);
        r_quiet(&p->a);
        r_quiet(&p->b);
    }
    ck_assert_uint_ge(w->pair[SHARED].done, WORKERS * REQUESTS / 2 - WORKERS);
    /* Somebody armed a completion queue and was told. */
    ck_assert_uint_gt(fake_host_irqs(w->side[0].h, 1), 0);
}

/* --- traffic --- */

START_TEST(one_function)
{
    World *w = new_world(1, "00000", "00000");

    run_world(w);
    end_world(w);
    check_pairs(w);
    free_world(w);
}
END_TEST

START_TEST(two_functions)
{
    World *w = new_world(2, "01010", "10011");

    run_world(w);
    end_world(w);
    check_pairs(w);
    free_world(w);
}
END_TEST

/* Nothing is shared between cards. Only one has a command thread: see top. */
START_TEST(two_cards)
{
    World *w = new_world(1, "00000", "00000");
    World *other = new_world(1, "00000", "00000");

    other->commanded = 0;
    run_world(w);
    run_world(other);
    end_world(w);
    end_world(other);
    check_pairs(w);
    check_pairs(other);
    free_world(w);
    free_world(other);
}
END_TEST

/* --- ends under traffic --- */

#define TRAFFIC_US 100000

static void doom(World *w)
{
    w->commanded = 0;
    w->doomed = true;
    run_world(w);
    g_usleep(TRAFFIC_US);
}

/* One command after the other on each queue pair, doorbells ringing. */
START_TEST(queue_pairs_die)
{
    World *w = new_world(2, "01010", "10011");

    doom(w);
    for (unsigned i = 0; i < PAIRS; i++) {
        RQp *ends[] = { &w->pair[i].a, &w->pair[i].b };

        for (unsigned j = 0; j < 2; j++) {
            FakeDriver *d = w->side[ends[j]->h != w->side[0].h].d;
            uint8_t in[16] = { 0 }, out[16];

            MLX5_SET(qp_2err_in, in, qpn, ends[j]->qpn);
            FAKE_CMD_OK(d, 2ERR_QP, qp_2err, in, out);
            g_usleep(2000);
            FAKE_CMD_OK(d, 2RST_QP, qp_2rst, in, out);
            FAKE_CMD_OK(d, DESTROY_QP, destroy_qp, in, out);
        }
    }
    end_world(w);
    free_world(w);
}
END_TEST

/* A function is reset while it sends and others send to it. */
START_TEST(reset)
{
    World *w = new_world(2, "01010", "10011");
    FakeDriver *again;

    doom(w);
    mlx5_func_reset(w->side[1].h->func);
    g_usleep(TRAFFIC_US);
    mlx5_func_reset(w->side[0].h->func);
    g_usleep(TRAFFIC_US / 4);
    end_world(w);
    for (unsigned i = 0; i < 2; i++) {
        again = fake_driver_new(w->side[i].h);
        fake_driver_up(again);
        fake_driver_down(again);
        fake_driver_free(again);
    }
    free_world(w);
}
END_TEST

/* A function leaves the card while the other sends to it. Its memory stays:
 * workers write there. */
START_TEST(function_goes)
{
    World *w = new_world(2, "00000", "11101");

    doom(w);
    stop_host(w, 1);
    fake_host_unplug(w->side[1].h);
    g_usleep(TRAFFIC_US);
    end_world(w);
    free_side(w, 1);
    make_side(w, 1);
    ck_assert_uint_eq(w->side[1].h->func->vhca_id, 2);
    free_world(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rdma/threads");
    TCase *tc = tcase_create("threads");

    tcase_set_timeout(tc, 110);
    tcase_add_test(tc, one_function);
    tcase_add_test(tc, two_functions);
    tcase_add_test(tc, two_cards);
    tcase_add_test(tc, queue_pairs_die);
    tcase_add_test(tc, reset);
    tcase_add_test(tc, function_goes);
    suite_add_tcase(s, tc);
    return t_main(s);
}
