/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two cards on a wire: every operation over every kind of address, frames that
 * are lost, doubled and late, a wire that takes no more, frames that lie.
 */
#include "eth/crc32.h"
#include "eth/frame.h"
#include "net/link.h"
#include "tests/net/net_helper.h"

#define SRC (R_DATA + 123)
#define DST (R_DATA + 0x10000000 + 77)
#define MTU 1024u

static const uint32_t sizes[] = { 0, 1, 2, 3, 4, 5, 63, 64, 1023, 1024, 1025,
                                  2048, 4097, 65536, 65537, 300001 };

/* Bytes of card @a and of card @b are the same. */
static void same(NTest *n, int a, uint64_t at_a, int b, uint64_t at_b,
                 uint32_t len)
{
    g_autofree uint8_t *x = g_malloc(len + 1), *y = g_malloc(len + 1);

    fake_mem_read(n->t[a]->h, at_a, x, len);
    fake_mem_read(n->t[b]->h, at_b, y, len);
    ck_assert_mem_eq(x, y, len);
}

static RWqe rdma(NTest *n, int from, uint8_t opcode, uint64_t local,
                 uint64_t remote, uint32_t len)
{
    RWqe w = r_wqe(opcode);

    r_raddr(&w, remote, n->t[!from]->key);
    if (len) {
        r_data(&w, local, len, n->t[from]->key);
    }
    return w;
}

static void one_write(NTest *n, int from, uint32_t len)
{
    RWqe w = rdma(n, from, MLX5_OPCODE_RDMA_WRITE, SRC, DST, len);
    uint16_t counter = n->t[from]->a.sq_pi;

    r_fill(n->t[from]->h, SRC, len, len);
    n_post(n, from, &w);
    n_pump_for(n, n->faults.lose || n->faults.late ? 40 : 0);
    r_sent(&n->t[from]->a, counter, MLX5_OPCODE_RDMA_WRITE);
    same(n, from, SRC, !from, DST, len);
}

static void one_read(NTest *n, int from, uint32_t len)
{
    RWqe w = rdma(n, from, MLX5_OPCODE_RDMA_READ, DST, SRC, len);
    uint16_t counter = n->t[from]->a.sq_pi;

    r_fill(n->t[!from]->h, SRC, len, len + 1);
    n_post(n, from, &w);
    n_pump_for(n, n->faults.lose || n->faults.late ? 40 : 0);
    r_sent(&n->t[from]->a, counter, MLX5_OPCODE_RDMA_READ);
    same(n, from, DST, !from, SRC, len);
}

static void one_send(NTest *n, int from, uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND_IMM);
    RQp *to = &n->t[!from]->a;
    uint16_t counter = n->t[from]->a.sq_pi, at = to->rq_pi;

    MLX5_SET(wqe_ctrl, w.b, general_id, 0xcafe0001 + len);
    r_fill(n->t[from]->h, SRC, len, len + 2);
    r_recv(to, DST, len + 1);
    if (len) {
        r_data(&w, SRC, len, n->t[from]->key);
    }
    n_post(n, from, &w);
    n_pump_for(n, n->faults.lose || n->faults.late ? 40 : 0);
    r_sent(&n->t[from]->a, counter, MLX5_OPCODE_SEND_IMM);
    ck_assert_uint_eq(r_received(to, at, MLX5_CQE_RESP_SEND_IMM, len),
                      0xcafe0001 + len);
    same(n, from, SRC, !from, DST, len);
}

static void one_add(NTest *n, int from)
{
    RWqe w = r_wqe(MLX5_OPCODE_ATOMIC_FA);
    uint16_t counter = n->t[from]->a.sq_pi;

    /* Little-endian in memory, big-endian in the answer. */
    fake_mem_set_be64(n->t[!from]->h, R_DATA, GUINT64_SWAP_LE_BE(40));
    r_raddr(&w, R_DATA, n->t[!from]->key);
    r_atomic(&w, 2, 0);
    r_data(&w, SRC, 8, n->t[from]->key);
    n_post(n, from, &w);
    n_pump_for(n, n->faults.lose || n->faults.late ? 40 : 0);
    r_sent(&n->t[from]->a, counter, MLX5_OPCODE_ATOMIC_FA);
    ck_assert_uint_eq(fake_mem_be64(n->t[from]->h, SRC), 40);
    ck_assert_uint_eq(fake_mem_be64(n->t[!from]->h, R_DATA),
                      GUINT64_SWAP_LE_BE(42));
}

static void all(NTest *n, int from)
{
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        one_write(n, from, sizes[i]);
        one_read(n, from, sizes[i]);
        one_send(n, from, sizes[i]);
    }
    one_add(n, from);
}

static void done(NTest *n)
{
    for (int i = 0; i < 2; i++) {
        r_quiet(&n->t[i]->a);
        ck_assert_uint_eq(n->t[i]->a.qp->state, MLX5_QP_STATE_RTS);
        ck_assert_uint_eq(n->t[i]->h->func->stats.rx_icrc_errors, 0);
        ck_assert_uint_eq(n->t[i]->h->func->stats.rx_roce_malformed, 0);
    }
    n_free(n);
}

START_TEST(each_operation)
{
    NTest *n = n_new(MLX5_QP_ST_RC);

    n_connect(n, _i == 1 ? 1 : _i, _i == 1 ? n_gid4 : n_gid, 0xfffff0);
    all(n, 0);
    all(n, 1);
    done(n);
}
END_TEST

/* Bytes of no memory, behind others, are zeroes on the wire as well. */
START_TEST(null_key)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    uint8_t got[5000], zero[5000] = { 0 };
    RWqe w = r_wqe(MLX5_OPCODE_RDMA_WRITE);

    n_connect(n, 1, n_gid4, 0);
    r_fill(n->t[0]->h, SRC, 700, 1);
    r_fill(n->t[1]->h, DST, 5700, 2);
    r_raddr(&w, DST, n->t[1]->key);
    r_data(&w, SRC, 700, n->t[0]->key);
    r_data(&w, 0, 5000, MLX5_NULL_MKEY);
    n_post(n, 0, &w);
    n_pump(n);
    r_sent(&n->t[0]->a, 0, MLX5_OPCODE_RDMA_WRITE);
    same(n, 0, SRC, 1, DST, 700);
    fake_mem_read(n->t[1]->h, DST + 700, got, sizeof(got));
    ck_assert_mem_eq(got, zero, sizeof(got));
    done(n);
}
END_TEST

/* Numbers 1 in so many; the seeds are the test's. */
static const NFaults bad_wires[] = {
    { 20, 0, 0 }, { 0, 10, 0 }, { 0, 0, 10 }, { 30, 30, 30 }, { 8, 0, 0 },
};

START_TEST(bad_wire)
{
    NTest *n = n_new(MLX5_QP_ST_RC);

    n_connect(n, 0, n_gid, 0x100);
    n->faults = bad_wires[_i];
    for (unsigned seed = 1; seed <= 6; seed++) {
        n->rng = seed * 7919;
        one_write(n, 0, 30001);
        one_read(n, 0, 30001);
        one_send(n, 1, 30001);
        one_read(n, 1, 5000);
        one_add(n, 0);
    }
    ck_assert(!bad_wires[_i].lose || n->lost);
    ck_assert(!bad_wires[_i].twice || n->doubled);
    ck_assert(!bad_wires[_i].late || n->late);
    done(n);
}
END_TEST

/* Many frames under way and one missing: the rest is not waited for. */
START_TEST(window)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_WRITE, SRC, DST, 4 << 20);

    n_connect(n, 0, n_gid, 5);
    r_put(&n->t[0]->a, &w);
    r_ring(&n->t[0]->a);
    fake_host_work(n->t[0]->h);
    /* Nobody answered: a quarter of a MiB, and not a packet more ... */
    ck_assert_uint_ge(n->t[0]->h->frames->len, (256 << 10) / MTU);
    ck_assert_uint_le(n->t[0]->h->frames->len, (320 << 10) / MTU);
    /* ... and all of it once answers come. */
    r_fill(n->t[0]->h, SRC, 4 << 20, 9);
    n_pump_for(n, 4);
    r_sent(&n->t[0]->a, 0, MLX5_OPCODE_RDMA_WRITE);
    done(n);
}
END_TEST

START_TEST(wire_that_takes_no_more)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    FakeHost *h = n->t[1]->h;
    RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_READ, DST, SRC, 8 << 20);
    unsigned before;

    n_connect(n, 0, n_gid, 5);
    r_fill(h, SRC, 8 << 20, 3);
    h->wire_full = true;
    r_put(&n->t[0]->a, &w);
    r_ring(&n->t[0]->a);
    n_pump_from(n, 0);
    fake_host_work(h);
    before = h->frames->len;
    /* It has sent what it had at hand, and waits. */
    ck_assert_uint_gt(before, 0);
    ck_assert_uint_lt(before, (1 << 20) / MTU);
    fake_host_work(h);
    ck_assert_uint_eq(h->frames->len, before);
    mlx5_card_frame_ready(h->card);
    fake_host_work(h);
    ck_assert_uint_gt(h->frames->len, before);
    h->wire_full = false;
    mlx5_card_frame_ready(h->card);
    n_pump(n);
    r_sent(&n->t[0]->a, 0, MLX5_OPCODE_RDMA_READ);
    same(n, 0, DST, 1, SRC, 8 << 20);
    done(n);
}
END_TEST

static void post_read(NTest *n, uint32_t len)
{
    RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_READ, DST, SRC, len);

    r_put(&n->t[0]->a, &w);
    r_ring(&n->t[0]->a);
    fake_host_work(n->t[0]->h);
}

/*
 * The wire doubles a request that was answered. It is answered again, but is
 * none of those that the responder agreed to have outstanding.
 */
START_TEST(doubled_read)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    FakeHost *h = n->t[1]->h;

    R_QPC(&n->t[0]->a, log_sra_max, 1);
    R_QPC(&n->t[1]->a, log_rra_max, 1);
    n_connect(n, 0, n_gid, 5);
    r_fill(h, SRC, 20000, 4);
    h->wire_full = true;
    post_read(n, 5000);
    n->faults.twice = 1;
    n_pump_from(n, 0);
    n->faults.twice = 0;
    post_read(n, 20000);
    n_pump_from(n, 0);
    n_pump_from(n, 1);
    r_sent(&n->t[0]->a, 0, MLX5_OPCODE_RDMA_READ);
    post_read(n, 20000);
    n_pump_from(n, 0);
    ck_assert_uint_eq(n->t[1]->a.qp->engine->resp.again, 1);
    ck_assert_uint_eq(n->t[1]->a.qp->engine->resp.pending, 3);
    h->wire_full = false;
    mlx5_card_frame_ready(h->card);
    n_pump_for(n, 4);
    r_sent(&n->t[0]->a, 1, MLX5_OPCODE_RDMA_READ);
    r_sent(&n->t[0]->a, 2, MLX5_OPCODE_RDMA_READ);
    ck_assert_uint_eq(n->t[1]->a.qp->engine->resp.again, 0);
    done(n);
}
END_TEST

/* A queue pair that waits for the wire is destroyed, then the wire is ready. */
START_TEST(waits_and_dies)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    FakeHost *h = n->t[0]->h;
    RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_WRITE, SRC, DST, 1 << 20);

    n_connect(n, 0, n_gid, 5);
    h->wire_full = true;
    r_put(&n->t[0]->a, &w);
    r_ring(&n->t[0]->a);
    fake_host_work(h);
    ck_assert(h->func->wire.full);
    r_set_state(&n->t[0]->a, MLX5_QP_STATE_RST);
    mlx5_card_frame_ready(h->card);
    fake_host_work(h);
    ck_assert(!h->func->wire.full);
    n_free(n);
}
END_TEST

/* --- datagrams --- */

static void datagram(NTest *n, uint32_t index, const uint8_t gid[16],
                     uint32_t len)
{
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    RQp *to = &n->t[1]->a;
    uint16_t at = to->rq_pi, counter = n->t[0]->a.sq_pi;
    uint8_t *av = w.b + w.len;

    r_av(&w, to->qpn, R_QKEY);
    MLX5_SET(wqe_av, av, src_addr_index, index);
    memcpy(av + MLX5_BYTE_OFF(wqe_av, rgid_rip), gid, 16);
    r_data(&w, SRC, len, n->t[0]->key);
    r_fill(n->t[0]->h, SRC, len, index);
    r_recv(to, DST, len + 40);
    n_post(n, 0, &w);
    r_sent(&n->t[0]->a, counter, MLX5_OPCODE_SEND);
    r_received(to, at, MLX5_CQE_RESP_SEND, len + 40);
    same(n, 0, SRC, 1, DST + 40, len);
}

START_TEST(datagrams)
{
    NTest *n = n_new(MLX5_QP_ST_UD);
    uint8_t grh[40];

    n_connect(n, 0, n_gid, 5);
    datagram(n, 0, n_gid[1], 1000);
    fake_mem_read(n->t[1]->h, DST, grh, 40);
    ck_assert_mem_eq(grh + 8, n_gid[0], 16);
    ck_assert_mem_eq(grh + 24, n_gid[1], 16);
    datagram(n, 1, n_gid4[1], 77);
    fake_mem_read(n->t[1]->h, DST, grh, 40);
    ck_assert_mem_eq(grh + 32, n_gid4[0] + 12, 4);
    ck_assert_mem_eq(grh + 36, n_gid4[1] + 12, 4);
    datagram(n, 2, n_gid[1], 5);
    done(n);
}
END_TEST

/* A completion names the VLAN: the kernel finds the address by it. */
START_TEST(vlan)
{
    NTest *n = n_new(MLX5_QP_ST_UD);
    static const uint8_t gid[2][16] = {
        { [10] = 0xff, 0xff, 10, 0, 7, 1 }, { [10] = 0xff, 0xff, 10, 0, 7, 2 },
    };
    RWqe w = r_wqe(MLX5_OPCODE_SEND);
    uint8_t *av = w.b + w.len, cqe[64];
    const uint8_t *f;

    for (int i = 0; i < 2; i++) {
        r_gid_set_vlan(n->t[i], 3, gid[i], MLX5_ROCE_VERSION_2,
                       MLX5_ROCE_L3_TYPE_IPV4, 77);
    }
    n_connect(n, 3, gid, 5);
    r_av(&w, n->t[1]->a.qpn, R_QKEY);
    MLX5_SET(wqe_av, av, src_addr_index, 3);
    memcpy(av + MLX5_BYTE_OFF(wqe_av, rgid_rip), gid[1], 16);
    r_data(&w, SRC, 8, n->t[0]->key);
    r_recv(&n->t[1]->a, DST, 48);
    n->seen =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    n_post(n, 0, &w);
    f = g_bytes_get_data(n->seen->pdata[0], NULL);
    ck_assert_uint_eq(f[12] << 8 | f[13], 0x8100);
    ck_assert_uint_eq((f[14] << 8 | f[15]) & 0xfff, 77);
    ck_assert(r_poll(&n->t[1]->a, &n->t[1]->a.rcq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, l4_l3_hdr_type) & 1, 1);
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, vlan_info) & 0xfff, 77);
    /* The same address in another VLAN is another one. */
    ck_assert(mlx5_wire_rx(n->t[1]->h->func, f,
                           g_bytes_get_size(n->seen->pdata[0])));
    r_gid_set_vlan(n->t[1], 3, gid[1], MLX5_ROCE_VERSION_2,
                   MLX5_ROCE_L3_TYPE_IPV4, 78);
    ck_assert(!mlx5_wire_rx(n->t[1]->h->func, f,
                            g_bytes_get_size(n->seen->pdata[0])));
    n_free(n);
}
END_TEST

/* --- what a frame looks like --- */

static uint32_t slow_crc(const uint8_t *p, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

/* By the words of annex A17.3.3, for IPv4 and the frame as it is. */
static uint32_t icrc_of(const uint8_t *f, size_t len)
{
    g_autofree uint8_t *b = g_malloc(len + 8);

    memset(b, 0xff, 8);
    memcpy(b + 8, f + 14, len - 14 - 4);
    b[8 + 1] = 0xff;             /* type of service */
    b[8 + 8] = 0xff;             /* time to live */
    b[8 + 10] = b[8 + 11] = 0xff; /* header checksum */
    b[8 + 26] = b[8 + 27] = 0xff; /* UDP checksum */
    b[8 + 32] = 0xff;            /* FECN, BECN and what is reserved */
    return slow_crc(b, len - 14 - 4 + 8);
}

START_TEST(headers)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    const uint8_t *f;
    gsize len;

    n->seen =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    n_connect(n, 1, n_gid4, 0x123456);
    one_write(n, 0, 1030);
    /* First, last, acknowledge. */
    ck_assert_uint_eq(n->seen->len, 3);
    f = g_bytes_get_data(n->seen->pdata[0], &len);
    ck_assert_uint_eq(len, 14 + 20 + 8 + 12 + 16 + 1024 + 4);
    ck_assert_uint_eq(f[12] << 8 | f[13], 0x0800);
    ck_assert_uint_eq(f[14], 0x45);
    ck_assert_uint_eq(f[16] << 8 | f[17], len - 14);
    ck_assert_uint_eq(f[36] << 8 | f[37], 4791);
    ck_assert_uint_eq(f[38] << 8 | f[39], len - 34);
    ck_assert_uint_eq(f[42], 0x06);       /* RC RDMA WRITE First */
    ck_assert_uint_eq(f[50] & 0x80, 0);   /* asks for no answer */
    ck_assert_uint_eq(f[51] << 16 | f[52] << 8 | f[53], 0x123456);
    ck_assert_uint_eq(slow_crc(f + 14, 0), 0);
    ck_assert_uint_eq(icrc_of(f, len),
                      f[len - 4] | f[len - 3] << 8 | f[len - 2] << 16 |
                          (uint32_t)f[len - 1] << 24);
    f = g_bytes_get_data(n->seen->pdata[1], &len);
    ck_assert_uint_eq(f[42], 0x08);       /* RC RDMA WRITE Last */
    ck_assert_uint_eq(f[43] >> 4 & 3, 2); /* six bytes, two of pad */
    ck_assert_uint_eq(f[50] & 0x80, 0x80);
    ck_assert_uint_eq(len, 14 + 20 + 8 + 12 + 8 + 4);
    f = g_bytes_get_data(n->seen->pdata[2], &len);
    ck_assert_uint_eq(f[42], 0x11);       /* RC Acknowledge */
    ck_assert_uint_eq(f[51] << 16 | f[52] << 8 | f[53], 0x123457);
    ck_assert_uint_eq(f[55] << 16 | f[56] << 8 | f[57], 1); /* MSN */
    done(n);
}
END_TEST

/* --- frames that lie --- */

static GBytes *spoilt(GBytes *good, size_t at, uint8_t flip, size_t len)
{
    gsize size;
    const uint8_t *from = g_bytes_get_data(good, &size);
    g_autofree uint8_t *b = g_malloc(size);

    memcpy(b, from, size);
    b[at] ^= flip;
    return g_bytes_new(b, MIN(len, size));
}

/* The live state of the function says so, too. */
static void told(FakeHost *h, const char *name, uint64_t count)
{
    g_autofree char *state = mlx5_func_inspect(h->func);
    g_autofree char *want =
        g_strdup_printf("\"%s\":%" G_GUINT64_FORMAT ",", name, count);

    ck_assert_msg(strstr(state, want) != NULL, "no %s", want);
}

/* Nothing of it reaches memory or a queue pair, whatever bit is wrong. */
START_TEST(spoilt_frames)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_WRITE, SRC, DST, 100);
    g_autoptr(GPtrArray) frames = NULL;
    GBytes *good;
    gsize size;

    n_connect(n, _i ? 0 : 1, _i ? n_gid : n_gid4, 5);
    r_put(&n->t[0]->a, &w);
    r_ring(&n->t[0]->a);
    frames = g_steal_pointer(&n->t[0]->h->frames);
    n->t[0]->h->frames =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    good = frames->pdata[0];
    size = g_bytes_get_size(good);
    for (size_t at = 14; at < size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            g_autoptr(GBytes) bad = spoilt(good, at, 1 << bit, size);

            /* What routers may change is not covered, nor the source port. */
            n_arrive(n, 1, bad);
        }
    }
    for (size_t len = 0; len < size; len++) {
        g_autoptr(GBytes) cut = spoilt(good, 0, 0, len);

        n_arrive(n, 1, cut);
    }
    told(n->t[1]->h, "rx_icrc_errors",
         n->t[1]->h->func->stats.rx_icrc_errors);
    told(n->t[1]->h, "rx_roce_malformed",
         n->t[1]->h->func->stats.rx_roce_malformed);
    ck_assert_uint_gt(n->t[1]->h->func->stats.rx_icrc_errors, 100);
    ck_assert_uint_gt(n->t[1]->h->func->stats.rx_roce_malformed, 20);
    ck_assert_uint_eq(n->t[1]->a.qp->state, MLX5_QP_STATE_RTS);
    n_free(n);
}
END_TEST

/* Frames of each operation, both ways, over IPv4. */
static GPtrArray *samples(void)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    GPtrArray *found;

    n->seen = found =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    n_connect(n, 1, n_gid4, 0x100);
    one_write(n, 0, 3000);
    one_read(n, 0, 3000);
    one_send(n, 0, 3000);
    one_send(n, 0, 5);
    one_add(n, 0);
    n->seen = NULL;
    n_free(n);
    return found;
}

/* @good with some bytes behind UDP's header changed, and a right ICRC. */
static GBytes *lying(NTest *n, GBytes *good)
{
    gsize size;
    const uint8_t *from = g_bytes_get_data(good, &size);
    g_autofree uint8_t *b = g_malloc(size);

    memcpy(b, from, size);
    for (int i = 0; i < 3; i++) {
        n_chance(n, 0);
        b[42 + (n->rng >> 16) % MIN(size - 46, 40)] ^= 1 << (n->rng >> 8) % 8;
    }
    if (n_chance(n, 4)) {        /* a length that fits less than there is */
        size -= MIN(size - 58, (n->rng >> 20) % 64);
        b[16] = (size - 14) >> 8;
        b[17] = size - 14;
        b[24] = b[25] = 0;
        b[38] = (size - 34) >> 8;
        b[39] = size - 34;
        {
            uint16_t sum = ~mlx5_csum(b + 14, 20);

            b[24] = sum >> 8;
            b[25] = sum;
        }
    }
    mlx5_crc32_put(b + size - 4, ~icrc_of(b, size));
    return g_bytes_new(b, size);
}

/*
 * A peer that knows the ICRC may say anything. Whatever it is, the card stays
 * whole, writes nowhere but where keys allow, and works again afterwards.
 */
START_TEST(lying_frames)
{
    g_autoptr(GPtrArray) good = samples();
    unsigned errors = 0;

    for (unsigned round = 0; round < 60; round++) {
        NTest *n = n_new(MLX5_QP_ST_RC);
        RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_READ, DST, SRC, 3000);

        n->rng = round + 1;
        n_connect(n, 1, n_gid4, 0x100);
        r_recv(&n->t[1]->a, DST, 4000);
        r_put(&n->t[0]->a, &w);
        r_ring(&n->t[0]->a);
        for (unsigned i = 0; i < 40; i++) {
            g_autoptr(GBytes) bad =
                lying(n, good->pdata[(n->rng >> 16) % good->len]);

            n_arrive(n, i & 1, bad);
        }
        n_pump_for(n, 1);
        errors += n->t[1]->h->func->stats.rx_roce_malformed;
        ck_assert_uint_eq(n->t[1]->h->func->stats.rx_icrc_errors, 0);
        for (int i = 0; i < 2; i++) {
            r_set_state(&n->t[i]->a, MLX5_QP_STATE_ERR);
            n_pump(n);
        }
        n_free(n);
    }
    ck_assert_uint_gt(errors, 50);
}
END_TEST

/* To nobody here, by another name, by another way: the Ethernet queues'. */
START_TEST(not_ours)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    RWqe w = rdma(n, 0, MLX5_OPCODE_RDMA_WRITE, SRC, DST, 8);
    const uint8_t *f;
    gsize size;

    n_connect(n, 1, n_gid4, 5);
    r_put(&n->t[0]->a, &w);
    r_ring(&n->t[0]->a);
    f = g_bytes_get_data(n->t[0]->h->frames->pdata[0], &size);
    ck_assert(mlx5_wire_rx(n->t[1]->h->func, f, size));
    /* Destination MAC, destination address, UDP port. */
    for (int i = 0; i < 3; i++) {
        static const size_t at[] = { 5, 33, 37 };
        g_autoptr(GBytes) other = spoilt(n->t[0]->h->frames->pdata[0], at[i],
                                         0x40, size);

        ck_assert(!mlx5_wire_rx(n->t[1]->h->func,
                                g_bytes_get_data(other, NULL), size));
    }
    n_free(n);
}
END_TEST

/* Put @pkt, as another card would say it, on the wire to card 1. */
static void say(NTest *n, Mlx5Pkt *pkt)
{
    uint8_t frame[MLX5_ROCE_MAX_FRAME];
    size_t len = mlx5_roce_encode(pkt, 0, frame);
    g_autoptr(GBytes) bytes = g_bytes_new(frame, len);

    n_arrive(n, 1, bytes);
}

static Mlx5Pkt answer_to_1(NTest *n)
{
    Mlx5Pkt pkt = { .op = MLX5_PKT_ACK, .first = true, .last = true,
                    .dqpn = n->t[1]->a.qpn, .psn = 5, .npsn = 1,
                    .mtu_bytes = MTU, .syndrome = 0x1f };

    memcpy(pkt.addr.sgid, n_gid4[0], 16);
    memcpy(pkt.addr.dgid, n_gid4[1], 16);
    memcpy(pkt.addr.dmac, r_mac, 6);
    pkt.addr.roce_version = 2;
    pkt.addr.ipv4 = true;
    pkt.addr.hop_limit = 64;
    return pkt;
}

/* An answer counts if it comes from the peer, not from anybody. */
START_TEST(strangers_answer)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    FakeHost *h = n->t[1]->h;
    RWqe w = rdma(n, 1, MLX5_OPCODE_RDMA_WRITE, SRC, DST, 8);
    Mlx5Pkt pkt = answer_to_1(n);

    n_connect(n, 1, n_gid4, 5);
    r_put(&n->t[1]->a, &w);
    r_ring(&n->t[1]->a);
    pkt.addr.sgid[15]++;
    say(n, &pkt);
    told(h, "rx_roce_refused", 1);
    r_quiet(&n->t[1]->a);
    pkt.addr.sgid[15]--;
    say(n, &pkt);
    told(h, "rx_roce_refused", 1);
    r_sent(&n->t[1]->a, 0, MLX5_OPCODE_RDMA_WRITE);
    /* Nor does a request to a number that nobody has. */
    pkt.op = MLX5_PKT_WRITE;
    pkt.dqpn = 0x7fff00;
    say(n, &pkt);
    told(h, "rx_roce_refused", 2);
    n_free(n);
}
END_TEST

/* Whoever asks an unreliable queue pair for an answer gets none (IBA 9.8.2). */
START_TEST(unreliable_answer)
{
    NTest *n = n_new(MLX5_QP_ST_UC);
    FakeHost *h = n->t[1]->h;
    Mlx5Pkt pkt = answer_to_1(n);

    n_connect(n, 1, n_gid4, 5);
    pkt.svc = MLX5_SVC_UC;
    pkt.op = MLX5_PKT_WRITE;
    pkt.ackreq = true;
    pkt.va = DST;
    pkt.rkey = n->t[1]->key;
    pkt.dma_len = pkt.len = 4;
    pkt.bytes = (const uint8_t *)"said";
    say(n, &pkt);
    ck_assert_uint_eq(fake_mem_be32(h, DST), 0x73616964);
    ck_assert_uint_eq(h->frames->len, 0);
    n_free(n);
}
END_TEST

/* The number of all queue pairs is for groups. */
START_TEST(no_group)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    Mlx5Pkt pkt = answer_to_1(n);

    n_connect(n, 1, n_gid4, 5);
    pkt.dqpn = MLX5_QPN_MULTICAST;
    say(n, &pkt);
    told(n->t[1]->h, "rx_roce_malformed", 1);
    n_free(n);
}
END_TEST

/* A masked compare and swap has no form on a wire: it fails after retries. */
START_TEST(no_form)
{
    NTest *n = n_new(MLX5_QP_ST_RC);
    Mlx5Pkt pkt = { .svc = MLX5_SVC_RC, .op = MLX5_PKT_FETCH_ADD,
                    .atomic_bytes = 8, .npsn = 1, .first = true,
                    .last = true };

    ck_assert(mlx5_roce_on_wire(&pkt));
    pkt.swap_mask = 1;
    ck_assert(!mlx5_roce_on_wire(&pkt));
    pkt.swap_mask = 0;
    pkt.atomic_bytes = 4;
    ck_assert(!mlx5_roce_on_wire(&pkt));
    pkt = (Mlx5Pkt){ .svc = MLX5_SVC_DC, .op = MLX5_PKT_SEND };
    ck_assert(!mlx5_roce_on_wire(&pkt));
    mlx5_func_lock(n->t[0]->h->func);
    mlx5_wire_send(n->t[0]->h->func, &pkt);
    mlx5_func_unlock(n->t[0]->h->func);
    ck_assert(!pkt.on_wire);
    ck_assert_uint_eq(n->t[0]->h->frames->len, 0);
    n_free(n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("wire");
    TCase *t = tcase_create("wire");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_operation, 0, 3);
    tcase_add_test(t, null_key);
    tcase_add_loop_test(t, bad_wire, 0, G_N_ELEMENTS(bad_wires));
    tcase_add_test(t, window);
    tcase_add_test(t, wire_that_takes_no_more);
    tcase_add_test(t, doubled_read);
    tcase_add_test(t, waits_and_dies);
    tcase_add_test(t, datagrams);
    tcase_add_test(t, vlan);
    tcase_add_test(t, headers);
    tcase_add_loop_test(t, spoilt_frames, 0, 2);
    tcase_add_test(t, lying_frames);
    tcase_add_test(t, not_ours);
    tcase_add_test(t, strangers_answer);
    tcase_add_test(t, unreliable_answer);
    tcase_add_test(t, no_group);
    tcase_add_test(t, no_form);
    suite_add_tcase(s, t);
    return t_main(s);
}
