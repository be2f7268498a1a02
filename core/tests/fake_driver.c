/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tiny driver; see fake_driver.h. Order of commands as in mlx5_core
 * (main.c mlx5_function_open, eq.c create_async_eqs).
 */
#include "tests/fake_driver.h"

#include "obj/eq.h"
#include "obj/mkey.h"

#define HEAP_START UINT64_C(0x40000000)
#define BLOCK_BYTES 576u
#define BLOCK_STEP 1024u
#define SLOT_BLOCKS 16u      /* mailboxes kept per slot and direction */
#define DOORBELL 0x18
/* Of 1 ms each; a busy machine may keep a thread waiting for seconds. */
#define WAITS(d) ((d)->host_runs ? 20000 : 100)
#define ALL_EVENTS UINT64_C(0x1f02fe) /* async ones of the mlx5_core mask */

FakeDriver *fake_driver_new(FakeHost *host)
{
    FakeDriver *d = g_new0(FakeDriver, 1);

    d->host = host;
    d->heap = HEAP_START;
    d->cmdq_gpa = fake_driver_alloc(d, 4096);
    for (unsigned i = 0; i < 32; i++) {
        d->in_gpa[i] = fake_driver_alloc(d, SLOT_BLOCKS * BLOCK_STEP);
        d->out_gpa[i] = fake_driver_alloc(d, SLOT_BLOCKS * BLOCK_STEP);
    }
    mlx5_func_bar_write(host->func, 0x10, d->cmdq_gpa >> 32, 4);
    mlx5_func_bar_write(host->func, 0x14, (uint32_t)d->cmdq_gpa, 4);
    return d;
}

void fake_driver_free(FakeDriver *d)
{
    g_free(d);
}

uint64_t fake_driver_alloc(FakeDriver *d, uint64_t bytes)
{
    uint64_t at = d->heap;

    d->heap += (bytes + 4095) & ~UINT64_C(4095);
    return at;
}

/* --- commands ----------------------------------------------------------- */

static uint32_t blocks_of(uint32_t len)
{
    return len > 16 ? (len - 16 + 511) / 512 : 0;
}

/* Lay @data (NULL = zeros) out in mailboxes. Return: the first's address. */
static uint64_t chain(FakeDriver *d, uint64_t own, const uint8_t *data,
                      uint32_t len)
{
    uint32_t n = blocks_of(len);
    uint64_t at = n <= SLOT_BLOCKS ? own
                                   : fake_driver_alloc(d, n * BLOCK_STEP);

    for (uint32_t i = 0; i < n; i++) {
        uint8_t block[BLOCK_BYTES] = { 0 };
        uint32_t off = 16 + i * 512;

        if (data) {
            memcpy(block, data + off, MIN(512, len - off));
        }
        MLX5_SET(cmd_mailbox, block, next_pointer,
                 i + 1 < n ? at + (i + 1) * BLOCK_STEP : 0);
        MLX5_SET(cmd_mailbox, block, block_number, i);
        MLX5_SET(cmd_mailbox, block, token, d->token);
        fake_mem_write(d->host, at + i * BLOCK_STEP, block, sizeof(block));
    }
    return n ? at : 0;
}

void fake_driver_post(FakeDriver *d, unsigned slot, const void *in,
                      uint32_t in_len, uint32_t out_len)
{
    uint8_t e[64] = { 0 };

    d->token = d->token == 255 ? 1 : d->token + 1;
    MLX5_SET(cmd_queue_entry, e, type, 7);
    MLX5_SET(cmd_queue_entry, e, input_length, in_len);
    MLX5_SET(cmd_queue_entry, e, output_length, out_len);
    memcpy(e + 0x10, in, MIN(in_len, 16));
    MLX5_SET(cmd_queue_entry, e, input_mailbox_pointer,
             chain(d, d->in_gpa[slot], in, in_len));
    MLX5_SET(cmd_queue_entry, e, output_mailbox_pointer,
             chain(d, d->out_gpa[slot], NULL, out_len));
    MLX5_SET(cmd_queue_entry, e, token, d->token);
    MLX5_SET(cmd_queue_entry, e, ownership, 1);
    fake_mem_write(d->host, d->cmdq_gpa + slot * 64, e, sizeof(e));
}

void fake_driver_ring(FakeDriver *d, uint32_t vector)
{
    mlx5_func_bar_write(d->host->func, DOORBELL, vector, 4);
}

bool fake_driver_done(FakeDriver *d, unsigned slot)
{
    uint8_t own;

    fake_mem_read(d->host, d->cmdq_gpa + slot * 64 + 63, &own, 1);
    return !(own & 1);
}

void fake_driver_result(FakeDriver *d, unsigned slot, void *out,
                        uint32_t out_len)
{
    uint8_t e[64];
    uint64_t gpa;

    fake_mem_read(d->host, d->cmdq_gpa + slot * 64, e, sizeof(e));
    memcpy(out, e + 0x20, MIN(out_len, 16));
    gpa = MLX5_GET(cmd_queue_entry, e, output_mailbox_pointer);
    for (uint32_t i = 0; i < blocks_of(out_len); i++) {
        uint32_t off = 16 + i * 512;

        fake_mem_read(d->host, gpa + i * BLOCK_STEP, (uint8_t *)out + off,
                      MIN(512, out_len - off));
    }
    d->delivery = MLX5_GET(cmd_queue_entry, e, status);
    d->status = e[0x20];
    d->syndrome = mlx5_prm_get(e, 0x120, 32);
}

/* Let time pass: virtual time, or real time if threads do the host's part. */
static void wait_a_bit(FakeDriver *d)
{
    if (d->host_runs) {
        g_usleep(1000);
    } else {
        fake_host_advance(d->host, 1000000);
    }
}

/* In event mode the completion of @slot must be announced, once. */
static void take_event(FakeDriver *d, unsigned slot)
{
    uint8_t eqe[64];
    bool taken = fake_driver_poll_eq(d, &d->cmd_eq, eqe);

    /* A thread may have seen the own bit before the event was written. */
    for (int i = 0; i < WAITS(d) && !taken && d->host_runs; i++) {
        wait_a_bit(d);
        taken = fake_driver_poll_eq(d, &d->cmd_eq, eqe);
    }
    ck_assert(taken);
    ck_assert_uint_eq(MLX5_GET(eqe, eqe, event_type), MLX5_EVENT_TYPE_CMD);
    ck_assert_uint_eq(MLX5_GET(eqe_cmd, eqe + 0x20, vector), 1u << slot);
}

bool fake_driver_cmd(FakeDriver *d, const void *in, uint32_t in_len, void *out,
                     uint32_t out_len)
{
    unsigned slot = d->next_slot;

    d->next_slot = (slot + 1) % 31;
    fake_driver_post(d, slot, in, in_len, out_len);
    fake_driver_ring(d, 1u << slot);
    for (int i = 0; i < WAITS(d) && !fake_driver_done(d, slot); i++) {
        wait_a_bit(d);
    }
    ck_assert(fake_driver_done(d, slot));
    fake_driver_result(d, slot, out, out_len);
    if (d->events) {
        take_event(d, slot);
    }
    return d->delivery == 0 && d->status == 0;
}

/* --- bringing the HCA up and down --------------------------------------- */

static void query_pages(FakeDriver *d, unsigned op_mod, uint32_t *n)
{
    FAKE_BUFFERS(query_pages);

    MLX5_SET(query_pages_in, in, op_mod, op_mod);
    FAKE_CMD_OK(d, QUERY_PAGES, query_pages, in, out);
    *n = MLX5_GET(query_pages_out, out, num_pages);
}

void fake_driver_give_pages(FakeDriver *d, unsigned op_mod)
{
    uint32_t n;
    uint8_t out[16];

    query_pages(d, op_mod, &n);
    g_autofree uint8_t *in = g_malloc0(16 + n * 8);

    MLX5_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
    MLX5_SET(manage_pages_in, in, op_mod, 1);
    MLX5_SET(manage_pages_in, in, input_num_entries, n);
    for (uint32_t i = 0; i < n; i++) {
        MLX5_SET_IDX(manage_pages_in, in, pas, i, fake_driver_alloc(d, 4096));
    }
    ck_assert(fake_driver_cmd(d, in, 16 + n * 8, out, sizeof(out)));
    d->given_pages += n;
}

static void reclaim_pages(FakeDriver *d)
{
    while (d->given_pages) {
        uint8_t in[16] = { 0 }, out[16 + 50 * 8];
        uint32_t n;

        MLX5_SET(manage_pages_in, in, opcode, MLX5_CMD_OP_MANAGE_PAGES);
        MLX5_SET(manage_pages_in, in, op_mod, 2);
        MLX5_SET(manage_pages_in, in, input_num_entries, 50);
        ck_assert(fake_driver_cmd(d, in, sizeof(in), out, sizeof(out)));
        n = MLX5_GET(manage_pages_out, out, output_num_entries);
        ck_assert_uint_gt(n, 0);
        ck_assert_uint_le(n, d->given_pages);
        d->given_pages -= n;
    }
}

static void set_issi(FakeDriver *d)
{
    FAKE_BUFFERS(set_issi);

    MLX5_SET(set_issi_in, in, current_issi, 1);
    FAKE_CMD_OK(d, SET_ISSI, set_issi, in, out);
}

static void enable_hca(FakeDriver *d)
{
    FAKE_BUFFERS(enable_hca);

    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, in, out);
}

/* As handle_hca_cap: read the current set, write it back. */
static void set_caps(FakeDriver *d)
{
    uint8_t query[16] = { 0 }, set_out[16];
    g_autofree uint8_t *caps = g_malloc0(MLX5_ST_SZ_BYTES(query_hca_cap_out));

    MLX5_SET(query_hca_cap_in, query, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
    MLX5_SET(query_hca_cap_in, query, op_mod, 1);
    ck_assert(fake_driver_cmd(d, query, sizeof(query), caps,
                              MLX5_ST_SZ_BYTES(query_hca_cap_out)));
    memset(caps, 0, 16);
    MLX5_SET(set_hca_cap_in, caps, opcode, MLX5_CMD_OP_SET_HCA_CAP);
    MLX5_SET(cmd_hca_cap, caps + 16, cmdif_checksum, 0);
    ck_assert(fake_driver_cmd(d, caps, MLX5_ST_SZ_BYTES(set_hca_cap_in),
                              set_out, sizeof(set_out)));
}

void fake_driver_init_hca(FakeDriver *d)
{
    FAKE_BUFFERS(init_hca);

    enable_hca(d);
    set_issi(d);
    fake_driver_give_pages(d, 1);
    set_caps(d);
    fake_driver_give_pages(d, 2);
    FAKE_CMD_OK(d, INIT_HCA, init_hca, in, out);
}

void fake_driver_close_hca(FakeDriver *d)
{
    FAKE_BUFFERS(teardown_hca);
    uint8_t in2[MLX5_ST_SZ_BYTES(disable_hca_in)] = { 0 };
    uint8_t out2[MLX5_ST_SZ_BYTES(disable_hca_out)];

    FAKE_CMD_OK(d, TEARDOWN_HCA, teardown_hca, in, out);
    reclaim_pages(d);
    FAKE_CMD_OK(d, DISABLE_HCA, disable_hca, in2, out2);
}

static uint32_t alloc_uar(FakeDriver *d)
{
    FAKE_BUFFERS(alloc_uar);

    FAKE_CMD_OK(d, ALLOC_UAR, alloc_uar, in, out);
    return MLX5_GET(alloc_uar_out, out, uar);
}

void fake_driver_up(FakeDriver *d)
{
    fake_driver_init_hca(d);
    d->uar = alloc_uar(d);
    d->cmd_eq = fake_driver_create_eq_ok(d, 6, 0,
                                         1 << MLX5_EVENT_TYPE_CMD);
    d->events = true;
    d->async_eq = fake_driver_create_eq_ok(d, 7, 0, ALL_EVENTS);
    d->pages_eq = fake_driver_create_eq_ok(d, 6, 0,
                                           1 << MLX5_EVENT_TYPE_PAGE_REQUEST);
    d->comp_eq = fake_driver_create_eq_ok(d, 11, 1, 0);
    d->pd = fake_driver_alloc_pd_ok(d);
    d->dma_mkey = fake_driver_create_mkey_ok(d, d->pd);
}

void fake_driver_down(FakeDriver *d)
{
    FAKE_BUFFERS(dealloc_pd);
    uint8_t in2[MLX5_ST_SZ_BYTES(dealloc_uar_in)] = { 0 };
    uint8_t out2[MLX5_ST_SZ_BYTES(dealloc_uar_out)];

    fake_driver_destroy_mkey_ok(d, d->dma_mkey);
    MLX5_SET(dealloc_pd_in, in, pd, d->pd);
    FAKE_CMD_OK(d, DEALLOC_PD, dealloc_pd, in, out);
    fake_driver_destroy_eq_ok(d, &d->comp_eq);
    fake_driver_destroy_eq_ok(d, &d->pages_eq);
    fake_driver_destroy_eq_ok(d, &d->async_eq);
    d->events = false;
    fake_driver_destroy_eq_ok(d, &d->cmd_eq);
    MLX5_SET(dealloc_uar_in, in2, uar, d->uar);
    FAKE_CMD_OK(d, DEALLOC_UAR, dealloc_uar, in2, out2);
    fake_driver_close_hca(d);
}

/* --- queues ------------------------------------------------------------- */

static void fill_pas(uint8_t *pas, uint64_t gpa, uint32_t pages)
{
    for (uint32_t i = 0; i < pages; i++) {
        mlx5_prm_set(pas, i * 64, 64, gpa + (uint64_t)i * 4096);
    }
}

/* Pages of @log_size entries of 64 bytes, each with @mark as its last byte. */
static uint64_t make_ring(FakeDriver *d, uint32_t log_size, uint8_t mark,
                          uint32_t *pages)
{
    uint64_t bytes = UINT64_C(64) << log_size;
    uint64_t gpa = fake_driver_alloc(d, bytes);

    for (uint64_t i = 63; i < bytes; i += 64) {
        fake_mem_write(d->host, gpa + i, &mark, 1);
    }
    *pages = (bytes + 4095) / 4096;
    return gpa;
}

static uint64_t uar_base(FakeDriver *d)
{
    return (uint64_t)d->uar * 4096;
}

FakeQueue fake_driver_create_eq_ok(FakeDriver *d, uint32_t log_size,
                                   uint32_t vector, uint64_t mask)
{
    FakeQueue q = { .log_size = log_size, .vector = vector };
    uint32_t pages;
    uint8_t out[16];

    q.ring_gpa = make_ring(d, log_size, 1, &pages);

    uint32_t len = MLX5_ST_SZ_BYTES(create_eq_in) + pages * 8;
    g_autofree uint8_t *in = g_malloc0(len);
    uint8_t *eqc = MLX5_ADDR_OF(create_eq_in, in, eq_context_entry);

    MLX5_SET(create_eq_in, in, opcode, MLX5_CMD_OP_CREATE_EQ);
    MLX5_SET(eqc, eqc, log_eq_size, log_size);
    MLX5_SET(eqc, eqc, uar_page, d->uar);
    MLX5_SET(eqc, eqc, intr, vector);
    MLX5_SET_IDX(create_eq_in, in, event_bitmask, 0, mask);
    fill_pas(MLX5_ADDR_OF(create_eq_in, in, pas), q.ring_gpa, pages);
    ck_assert_msg(fake_driver_cmd(d, in, len, out, sizeof(out)),
                  "CREATE_EQ: syndrome 0x%x (%s)", d->syndrome,
                  mlx5_syndrome_text(d->syndrome));
    q.number = MLX5_GET(create_eq_out, out, eq_number);
    mlx5_func_bar_write(d->host->func, uar_base(d) + 0x40, q.number << 24, 4);
    return q;
}

void fake_driver_destroy_eq_ok(FakeDriver *d, const FakeQueue *eq)
{
    FAKE_BUFFERS(destroy_eq);

    MLX5_SET(destroy_eq_in, in, eq_number, eq->number);
    FAKE_CMD_OK(d, DESTROY_EQ, destroy_eq, in, out);
}

bool fake_driver_poll_eq(FakeDriver *d, FakeQueue *eq, uint8_t eqe[64])
{
    uint32_t mask = (1u << eq->log_size) - 1;

    fake_mem_read(d->host, eq->ring_gpa + (eq->ci & mask) * 64, eqe, 64);
    if (MLX5_GET(eqe, eqe, owner) != (eq->ci >> eq->log_size & 1)) {
        return false;
    }
    eq->ci++;
    mlx5_func_bar_write(d->host->func, uar_base(d) + 0x40,
                        eq->number << 24 | (eq->ci & 0xffffff), 4);
    return true;
}

FakeQueue fake_driver_create_cq_ok(FakeDriver *d, uint32_t log_size,
                                   uint32_t eqn)
{
    FakeQueue q = { .log_size = log_size };
    uint32_t pages;
    uint8_t out[16];

    q.ring_gpa = make_ring(d, log_size, 0xf1, &pages);
    q.dbr_gpa = fake_driver_alloc(d, 64);

    uint32_t len = MLX5_ST_SZ_BYTES(create_cq_in) + pages * 8;
    g_autofree uint8_t *in = g_malloc0(len);
    uint8_t *cqc = MLX5_ADDR_OF(create_cq_in, in, cq_context);

    MLX5_SET(create_cq_in, in, opcode, MLX5_CMD_OP_CREATE_CQ);
    MLX5_SET(cqc, cqc, log_cq_size, log_size);
    MLX5_SET(cqc, cqc, uar_page, d->uar);
    MLX5_SET(cqc, cqc, c_eqn_or_apu_element, eqn);
    MLX5_SET(cqc, cqc, dbr_addr, q.dbr_gpa);
    fill_pas(MLX5_ADDR_OF(create_cq_in, in, pas), q.ring_gpa, pages);
    ck_assert_msg(fake_driver_cmd(d, in, len, out, sizeof(out)),
                  "CREATE_CQ: syndrome 0x%x (%s)", d->syndrome,
                  mlx5_syndrome_text(d->syndrome));
    q.number = MLX5_GET(create_cq_out, out, cqn);
    return q;
}

void fake_driver_destroy_cq_ok(FakeDriver *d, const FakeQueue *cq)
{
    FAKE_BUFFERS(destroy_cq);

    MLX5_SET(destroy_cq_in, in, cqn, cq->number);
    FAKE_CMD_OK(d, DESTROY_CQ, destroy_cq, in, out);
}

bool fake_driver_poll_cq(FakeDriver *d, FakeQueue *cq, uint8_t cqe[64])
{
    uint32_t mask = (1u << cq->log_size) - 1;

    fake_mem_read(d->host, cq->ring_gpa + (cq->ci & mask) * 64, cqe, 64);
    if (MLX5_GET(cqe64, cqe, opcode) == 15 ||
        MLX5_GET(cqe64, cqe, owner) != (cq->ci >> cq->log_size & 1)) {
        return false;
    }
    cq->ci++;
    fake_mem_set_be32(d->host, cq->dbr_gpa, cq->ci & 0xffffff);
    return true;
}

void fake_driver_arm_cq(FakeDriver *d, FakeQueue *cq, bool solicited)
{
    uint32_t word = 1u << 28 | (solicited ? 1u << 24 : 0) |
                    (cq->ci & 0xffffff);

    fake_mem_set_be32(d->host, cq->dbr_gpa + 4, word);
    mlx5_func_bar_write(d->host->func, uar_base(d) + 0x20,
                        (uint64_t)word << 32 | cq->number, 8);
}

/* --- domains and keys --------------------------------------------------- */

uint32_t fake_driver_alloc_pd_ok(FakeDriver *d)
{
    FAKE_BUFFERS(alloc_pd);

    FAKE_CMD_OK(d, ALLOC_PD, alloc_pd, in, out);
    return MLX5_GET(alloc_pd_out, out, pd);
}

static void fill_mkc(uint8_t *mkc, uint32_t pd, Mlx5MkeyMode mode)
{
    MLX5_SET(mkc, mkc, a, 1);
    MLX5_SET(mkc, mkc, rw, 1);
    MLX5_SET(mkc, mkc, rr, 1);
    MLX5_SET(mkc, mkc, lw, 1);
    MLX5_SET(mkc, mkc, lr, 1);
    MLX5_SET(mkc, mkc, access_mode_1_0, mode);
    MLX5_SET(mkc, mkc, qpn, 0xffffff);
    MLX5_SET(mkc, mkc, mkey_7_0, 0x42);
    MLX5_SET(mkc, mkc, pd, pd);
}

static uint32_t create_mkey(FakeDriver *d, uint8_t *in, uint32_t len)
{
    uint8_t out[16];

    MLX5_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
    ck_assert_msg(fake_driver_cmd(d, in, len, out, sizeof(out)),
                  "CREATE_MKEY: syndrome 0x%x (%s)", d->syndrome,
                  mlx5_syndrome_text(d->syndrome));
    return MLX5_GET(create_mkey_out, out, mkey_index) << 8 | 0x42;
}

uint32_t fake_driver_create_mkey_ok(FakeDriver *d, uint32_t pd)
{
    uint8_t in[MLX5_ST_SZ_BYTES(create_mkey_in)] = { 0 };
    uint8_t *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

    fill_mkc(mkc, pd, MLX5_MKC_ACCESS_MODE_PA);
    MLX5_SET(mkc, mkc, length64, 1);
    return create_mkey(d, in, sizeof(in));
}

uint32_t fake_driver_create_mr_ok(FakeDriver *d, uint32_t pd, uint64_t gpa,
                                  uint64_t len)
{
    uint32_t pages = (gpa % 4096 + len + 4095) / 4096;
    uint32_t octwords = (pages + 1) / 2;
    uint32_t bytes = MLX5_ST_SZ_BYTES(create_mkey_in) + octwords * 16;
    g_autofree uint8_t *in = g_malloc0(bytes);
    uint8_t *mkc = MLX5_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);

    fill_mkc(mkc, pd, MLX5_MKC_ACCESS_MODE_MTT);
    MLX5_SET(mkc, mkc, start_addr, gpa);
    MLX5_SET(mkc, mkc, len, len);
    MLX5_SET(mkc, mkc, log_page_size, 12);
    MLX5_SET(mkc, mkc, translations_octword_size, octwords);
    MLX5_SET(create_mkey_in, in, translations_octword_actual_size, octwords);
    fill_pas(MLX5_ADDR_OF(create_mkey_in, in, klm_pas_mtt), gpa & ~UINT64_C(4095),
             pages);
    return create_mkey(d, in, bytes);
}

void fake_driver_destroy_mkey_ok(FakeDriver *d, uint32_t key)
{
    FAKE_BUFFERS(destroy_mkey);

    MLX5_SET(destroy_mkey_in, in, mkey_index, key >> 8);
    FAKE_CMD_OK(d, DESTROY_MKEY, destroy_mkey, in, out);
}
