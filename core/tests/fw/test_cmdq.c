/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command queue against drivers that do everything wrong: lengths,
 * pointers, chains, tokens, signatures, doorbells, memory that changes or
 * vanishes; and the rules of completion.
 */
#include "tests/fw/fw_helper.h"

#include "fw/cmd_layouts.h"
#include "obj/eq.h"
#include "obj/table.h"

enum {
    DELIVERY_SIGNATURE = 0x1,
    DELIVERY_TOKEN = 0x2,
    DELIVERY_BLOCK_NUMBER = 0x3,
    DELIVERY_OUT_PTR_ALIGN = 0x4,
    DELIVERY_IN_PTR_ALIGN = 0x5,
    DELIVERY_FW = 0x6,
    DELIVERY_IN_LENGTH = 0x7,
    DELIVERY_OUT_LENGTH = 0x8,
    DELIVERY_RESERVED = 0x9,
    DELIVERY_TYPE = 0x10,
};

#define CHAIN_BYTES (16 + 3 * 512)

/* A SET_HCA_CAP of several blocks, which is refused while running: any */
/* command will do that has long input. */
static void fill_long(uint8_t *in)
{
    MLX5_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
}

static uint64_t entry_gpa(FakeDriver *d, unsigned slot)
{
    return d->cmdq_gpa + slot * 64;
}

static void poke(FakeDriver *d, uint64_t gpa, uint8_t byte)
{
    fake_mem_write(d->host, gpa, &byte, 1);
}

static uint8_t ring_and_get(FakeDriver *d, unsigned slot)
{
    uint8_t out[16];

    fake_driver_ring(d, 1u << slot);
    ck_assert(fake_driver_done(d, slot));
    fake_driver_result(d, slot, out, sizeof(out));
    return d->delivery;
}

/* Post a long command with long output in slot 3. */
static void post_long(FakeDriver *d)
{
    uint8_t in[CHAIN_BYTES] = { 0 };

    fill_long(in);
    fake_driver_post(d, 3, in, sizeof(in), CHAIN_BYTES);
}

START_TEST(delivery_entry)
{
    FakeDriver *d = t_running();

    post_long(d);
    poke(d, entry_gpa(d, 3), 6);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_TYPE);
    for (unsigned at = 1; at < 4; at++) {
        post_long(d);
        poke(d, entry_gpa(d, 3) + at, 1);
        ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_RESERVED);
    }
    post_long(d);
    poke(d, entry_gpa(d, 3) + 0x3e, 1);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_RESERVED);
    t_free(d);
}
END_TEST

START_TEST(delivery_lengths)
{
    static const uint32_t bad[] = { 0, 1, 7, 64 << 20, 0x80000000, ~0u };
    FakeDriver *d = t_running();

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        post_long(d);
        fake_mem_set_be32(d->host, entry_gpa(d, 3) + 4, bad[i]);
        ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_IN_LENGTH);
        post_long(d);
        fake_mem_set_be32(d->host, entry_gpa(d, 3) + 0x38, bad[i]);
        ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_OUT_LENGTH);
    }
    t_free(d);
}
END_TEST

START_TEST(delivery_pointers)
{
    FakeDriver *d = t_running();

    post_long(d);
    fake_mem_set_be64(d->host, entry_gpa(d, 3) + 8, d->in_gpa[3] + 16);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_IN_PTR_ALIGN);
    post_long(d);
    fake_mem_set_be64(d->host, entry_gpa(d, 3) + 0x30, d->out_gpa[3] + 256);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_OUT_PTR_ALIGN);
    /* The same one block further on. */
    post_long(d);
    fake_mem_set_be64(d->host, d->in_gpa[3] + 0x230, d->in_gpa[3] + 1);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_IN_PTR_ALIGN);
    post_long(d);
    fake_mem_set_be64(d->host, d->out_gpa[3] + 0x230, d->out_gpa[3] + 8);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_OUT_PTR_ALIGN);
    /* Not RAM; and the end of the address space. */
    post_long(d);
    fake_mem_set_be64(d->host, entry_gpa(d, 3) + 8, d->host->ram_end);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_FW);
    post_long(d);
    fake_mem_set_be64(d->host, entry_gpa(d, 3) + 0x30, ~UINT64_C(511));
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_FW);
    t_free(d);
}
END_TEST

START_TEST(delivery_blocks)
{
    FakeDriver *d = t_running();

    post_long(d);
    poke(d, d->in_gpa[3] + 1024 + 0x23d, d->token ^ 1);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_TOKEN);
    post_long(d);
    poke(d, d->out_gpa[3] + 0x23d, d->token ^ 1);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_TOKEN);
    post_long(d);
    fake_mem_set_be32(d->host, d->in_gpa[3] + 1024 + 0x238, 7);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_BLOCK_NUMBER);
    post_long(d);
    fake_mem_set_be32(d->host, d->out_gpa[3] + 0x238, 1);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_BLOCK_NUMBER);
    t_free(d);
}
END_TEST

/* A delivery error in event mode is announced like a completion. */
START_TEST(delivery_event)
{
    FakeDriver *d = t_up();
    uint8_t eqe[64];

    post_long(d);
    poke(d, entry_gpa(d, 3), 6);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_TYPE);
    ck_assert(fake_driver_poll_eq(d, &d->cmd_eq, eqe));
    ck_assert_uint_eq(MLX5_GET(eqe_cmd, eqe + 0x20, vector), 1 << 3);
    ck_assert(!fake_driver_poll_eq(d, &d->cmd_eq, eqe));
    t_free(d);
}
END_TEST

START_TEST(self_reference)
{
    FakeDriver *d = t_running();

    /* With tokens the second visit has the wrong block number. */
    post_long(d);
    fake_mem_set_be64(d->host, d->in_gpa[3] + 0x230, d->in_gpa[3]);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_BLOCK_NUMBER);
    /* Without, the length ends the walk. */
    post_long(d);
    poke(d, entry_gpa(d, 3) + 0x3c, 0);
    fake_mem_set_be64(d->host, d->in_gpa[3] + 0x230, d->in_gpa[3]);
    fake_mem_set_be64(d->host, d->out_gpa[3] + 0x230, d->out_gpa[3]);
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_SET_CAP_STATE);
    t_free(d);
}
END_TEST

/* A chain longer than the length needs, with rubbish in the spare blocks. */
START_TEST(spare_blocks)
{
    FakeDriver *d = t_running();
    uint8_t in[16] = { 0 };

    MLX5_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
    MLX5_SET(query_hca_cap_in, in, op_mod, 1);
    fake_driver_post(d, 3, in, sizeof(in), 16 + 512);
    fake_mem_set_be64(d->host, d->out_gpa[3] + 0x230, 0x12345);
    fake_mem_set_be64(d->host, entry_gpa(d, 3) + 8, 0x77777);
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    ck_assert_uint_eq(d->status, 0);
    t_free(d);
}
END_TEST

START_TEST(output_cut)
{
    FakeDriver *d = t_running();
    uint8_t in[16] = { 0 }, full[16 + 256], cut[16 + 256];
    uint8_t mark = 0xee, after;

    MLX5_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
    MLX5_SET(query_hca_cap_in, in, op_mod, 1);
    ck_assert(fake_driver_cmd(d, in, sizeof(in), full, sizeof(full)));
    fake_driver_post(d, 3, in, sizeof(in), 100);
    fake_mem_write(d->host, d->out_gpa[3] + 84, &mark, 1);
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    fake_driver_result(d, 3, cut, 100);
    ck_assert_mem_eq(full, cut, 100);
    fake_mem_read(d->host, d->out_gpa[3] + 84, &after, 1);
    ck_assert_uint_eq(after, mark);
    t_free(d);
}
END_TEST

START_TEST(common_checks)
{
    FakeDriver *d = t_running();
    uint8_t in[64] = { 0 }, out[64];

    MLX5_SET(query_issi_in, in, opcode, 0x7fff);
    ck_assert(!fake_driver_cmd(d, in, 16, out, sizeof(out)));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_OP_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_BAD_OPCODE);
    MLX5_SET(query_issi_in, in, opcode, MLX5_CMD_OP_FPGA_CREATE_QP);
    ck_assert(!fake_driver_cmd(d, in, 16, out, sizeof(out)));
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_BAD_OPCODE);
    MLX5_SET(query_issi_in, in, opcode, MLX5_CMD_OP_QUERY_ISSI);
    ck_assert(!fake_driver_cmd(d, in, 15, out, sizeof(out)));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_INP_LEN_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_IN_TOO_SHORT);
    ck_assert(!fake_driver_cmd(d, in, 16, out, 12));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_OUTP_LEN_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_OUT_TOO_SHORT);
    MLX5_SET(create_cq_in, in, uid, 1);
    ck_assert(!fake_driver_cmd(d, in, 16, out, 16));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_RES_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_UID_UNKNOWN);
    MLX5_SET(query_issi_in, in, opcode, MLX5_CMD_OP_QUERY_PAGES);
    ck_assert(!fake_driver_cmd(d, in, 16, out, 16));
    ck_assert_uint_eq(d->status, MLX5_CMD_STAT_BAD_PARAM_ERR);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_UID_NOT_ALLOWED);
    t_free(d);
}
END_TEST

START_TEST(state_check)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));
    FAKE_BUFFERS(alloc_pd);

    FAKE_CMD_FAILS(d, ALLOC_PD, alloc_pd, in, out,
                   MLX5_CMD_STAT_BAD_SYS_STATE_ERR, MLX5_SYND_HCA_STATE);
    t_free(d);
}
END_TEST

START_TEST(doorbells_for_nothing)
{
    FakeHost *h = fake_host_new(NULL);
    FakeDriver *d;
    uint8_t before[64], after[64];

    mlx5_func_bar_write(h->func, 0x18, ~0u, 4);
    ck_assert_ptr_nonnull(strstr(h->guest_errors->str, "without"));
    d = fake_driver_new(h);
    post_long(d);
    poke(d, entry_gpa(d, 3) + 63, 0);
    fake_mem_read(h, entry_gpa(d, 3), before, 64);
    fake_driver_ring(d, ~0u);
    fake_mem_read(h, entry_gpa(d, 3), after, 64);
    ck_assert_mem_eq(before, after, 64);
    ck_assert_ptr_nonnull(strstr(h->guest_errors->str, "not ours"));
    /* A queue that is not in memory. */
    mlx5_func_bar_write(h->func, 0x10, 0xffffffff, 4);
    mlx5_func_bar_write(h->func, 0x14, 0xfffff000, 4);
    fake_driver_ring(d, ~0u);
    ck_assert_ptr_nonnull(strstr(h->guest_errors->str, "not in guest RAM"));
    t_free(d);
}
END_TEST

START_TEST(all_slots_at_once)
{
    FakeDriver *d = t_up();
    uint8_t in[16] = { 0 }, out[16], eqe[64];
    uint32_t seen = 0;

    MLX5_SET(query_issi_in, in, opcode, MLX5_CMD_OP_ALLOC_PD);
    for (unsigned slot = 0; slot < 32; slot++) {
        fake_driver_post(d, slot, in, sizeof(in), sizeof(out));
    }
    fake_driver_ring(d, ~0u);
    for (unsigned slot = 0; slot < 32; slot++) {
        ck_assert(fake_driver_done(d, slot));
        fake_driver_result(d, slot, out, sizeof(out));
        ck_assert_uint_eq(d->status, 0);
    }
    while (fake_driver_poll_eq(d, &d->cmd_eq, eqe)) {
        uint32_t v = MLX5_GET(eqe_cmd, eqe + 0x20, vector);

        ck_assert_uint_eq(seen & v, 0);
        seen |= v;
    }
    ck_assert_uint_eq(seen, ~0u);
    t_free(d);
}
END_TEST

/* No event for the CREATE_EQ that makes the command EQ and the DESTROY_EQ */
/* that takes it away: the driver polls for them. */
START_TEST(polled_commands)
{
    FakeDriver *d = t_running();
    FakeQueue eq;
    uint8_t eqe[64];
    FAKE_BUFFERS(alloc_uar);

    FAKE_CMD_OK(d, ALLOC_UAR, alloc_uar, in, out);
    d->uar = MLX5_GET(alloc_uar_out, out, uar);
    eq = fake_driver_create_eq_ok(d, 4, 0, 1 << MLX5_EVENT_TYPE_CMD);
    ck_assert(!fake_driver_poll_eq(d, &eq, eqe));
    fake_driver_destroy_eq_ok(d, &eq);
    ck_assert(!fake_driver_poll_eq(d, &eq, eqe));
    t_free(d);
}
END_TEST

START_TEST(reordered)
{
    Mlx5FuncProps props;
    FakeDriver *d;
    uint8_t in[16] = { 0 }, eqe[64];
    uint32_t order[31], n = 0, sorted = 0;

    mlx5_func_props_default(&props);
    props.cmd_reorder = true;
    d = fake_driver_new(fake_host_new(&props));
    fake_driver_up(d);
    MLX5_SET(query_issi_in, in, opcode, MLX5_CMD_OP_ALLOC_PD);
    for (unsigned slot = 0; slot < 31; slot++) {
        fake_driver_post(d, slot, in, sizeof(in), 16);
        fake_driver_ring(d, 1u << slot);
    }
    ck_assert(!fake_driver_poll_eq(d, &d->cmd_eq, eqe));
    fake_driver_ring(d, 1);
    ck_assert_ptr_nonnull(strstr(d->host->guest_errors->str, "busy slot"));
    fake_host_advance(d->host, 10000000);
    while (fake_driver_poll_eq(d, &d->cmd_eq, eqe)) {
        order[n++] = MLX5_GET(eqe_cmd, eqe + 0x20, vector);
    }
    ck_assert_uint_eq(n, 31);
    for (uint32_t i = 0; i < n; i++) {
        sorted += order[i] == 1u << i;
    }
    ck_assert_uint_lt(sorted, n);
    fake_driver_down(d);
    t_free(d);
}
END_TEST

/* A reset forgets what is held back. */
START_TEST(reset_while_held)
{
    Mlx5FuncProps props;
    FakeDriver *d;
    uint8_t in[16] = { 0 };

    mlx5_func_props_default(&props);
    props.cmd_reorder = true;
    d = fake_driver_new(fake_host_new(&props));
    fake_driver_up(d);
    MLX5_SET(query_issi_in, in, opcode, MLX5_CMD_OP_ALLOC_PD);
    fake_driver_post(d, 5, in, sizeof(in), 16);
    fake_driver_ring(d, 1u << 5);
    mlx5_func_reset(d->host->func);
    fake_host_advance(d->host, 10000000);
    ck_assert(!fake_driver_done(d, 5));
    t_free(d);
}
END_TEST

START_TEST(double_fetch)
{
    FakeDriver *d = t_running();

    post_long(d);
    d->host->trip_addr = entry_gpa(d, 3);
    d->host->trip_len = 64;
    fake_driver_ring(d, 1 << 3);
    ck_assert_uint_eq(d->host->trip_hits, 64);
    d->host->trip_len = 0;
    ck_assert(fake_driver_done(d, 3));

    post_long(d);
    d->host->trip_hits = 0;
    d->host->trip_addr = d->in_gpa[3];
    d->host->trip_len = 3 * 1024;
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    ck_assert_uint_eq(d->syndrome, MLX5_SYND_SET_CAP_STATE);
    ck_assert_uint_eq(d->host->trip_hits, 3 * 576);

    post_long(d);
    d->host->trip_hits = 0;
    d->host->trip_addr = d->out_gpa[3];
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    ck_assert_uint_eq(d->host->trip_hits, 3 * 64);
    t_free(d);
}
END_TEST

/* Memory that fails at the n-th access: never worse than a delivery error. */
START_TEST(memory_fails)
{
    FakeDriver *d = t_running();

    for (int n = 1; n < 20; n++) {
        post_long(d);
        d->host->fail_after = n;
        fake_driver_ring(d, 1 << 3);
        d->host->fail_after = 0;
    }
    post_long(d);
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    t_free(d);
}
END_TEST

static uint8_t xor8(const uint8_t *p, size_t n)
{
    uint8_t x = 0;

    while (n--) {
        x ^= *p++;
    }
    return x;
}

static void sign(FakeDriver *d, unsigned slot)
{
    uint8_t e[64], b[576];

    fake_mem_read(d->host, d->in_gpa[slot], b, sizeof(b));
    b[574] = b[575] = 0;
    b[574] = ~xor8(b + 512, 62);
    b[575] = ~xor8(b, 575);
    fake_mem_write(d->host, d->in_gpa[slot], b, sizeof(b));
    fake_mem_read(d->host, entry_gpa(d, slot), e, sizeof(e));
    e[61] = 0;
    e[61] = ~xor8(e, 64);
    fake_mem_write(d->host, entry_gpa(d, slot), e, sizeof(e));
}

/* Turn the checksum mode on, as a driver that wants it would. */
static void set_checksum(FakeDriver *d)
{
    uint8_t query[16] = { 0 };
    g_autofree uint8_t *caps = g_malloc0(MLX5_ST_SZ_BYTES(set_hca_cap_in));
    FAKE_BUFFERS(enable_hca);

    FAKE_CMD_OK(d, ENABLE_HCA, enable_hca, in, out);
    MLX5_SET(query_hca_cap_in, query, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
    MLX5_SET(query_hca_cap_in, query, op_mod, 1);
    ck_assert(fake_driver_cmd(d, query, 16, caps, 16 + 256));
    memset(caps, 0, 16);
    MLX5_SET(set_hca_cap_in, caps, opcode, MLX5_CMD_OP_SET_HCA_CAP);
    MLX5_SET(cmd_hca_cap, caps + 16, cmdif_checksum, 3);
    ck_assert(fake_driver_cmd(d, caps, 16 + 256, query, 16));
}

START_TEST(signatures)
{
    FakeDriver *d = fake_driver_new(fake_host_new(NULL));
    uint8_t in[16 + 256] = { 0 }, e[64], b[576];

    set_checksum(d);
    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, op_mod, 1);
    MLX5_SET(access_register_in, in, register_id, 0x6001);
    fake_driver_post(d, 3, in, 16 + 64, 16 + 64);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_SIGNATURE);
    fake_driver_post(d, 3, in, 16 + 64, 16 + 64);
    sign(d, 3);
    ck_assert_uint_eq(ring_and_get(d, 3), 0);
    ck_assert_uint_eq(d->status, 0);
    fake_mem_read(d->host, entry_gpa(d, 3), e, sizeof(e));
    ck_assert_uint_eq(xor8(e, 64), 0xff);
    fake_mem_read(d->host, d->out_gpa[3], b, sizeof(b));
    ck_assert_uint_eq(xor8(b, 576), 0xff);
    ck_assert_uint_eq(xor8(b + 512, 63), 0xff);
    /* A flipped data bit is found. */
    fake_driver_post(d, 3, in, 16 + 64, 16 + 64);
    sign(d, 3);
    poke(d, d->in_gpa[3] + 100, 1);
    ck_assert_uint_eq(ring_and_get(d, 3), DELIVERY_SIGNATURE);
    t_free(d);
}
END_TEST

static const uint16_t opcodes[] = {
#define MLX5_CMD(op, name, layout, handler, flags) op,
#define MLX5_CMD_UNKNOWN(op, name) op,
#include "fw/opcodes.def"
#undef MLX5_CMD
#undef MLX5_CMD_UNKNOWN
};

static bool ends_hca(uint16_t op)
{
    return op == MLX5_CMD_OP_TEARDOWN_HCA || op == MLX5_CMD_OP_DISABLE_HCA;
}

/* Each command with every length of input, bytes of @fill behind the header. */
static void truncate_all(uint8_t fill)
{
    FakeDriver *d = t_running();
    uint8_t in[1024], out[64];

    for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++) {
        for (uint32_t len = 8; len <= sizeof(in); len += len < 600 ? 8 : 128) {
            memset(in, fill, sizeof(in));
            memset(in, 0, 8);
            MLX5_SET(query_issi_in, in, opcode, opcodes[i]);
            if (!ends_hca(opcodes[i])) {
                fake_driver_cmd(d, in, len, out, sizeof(out));
                ck_assert_uint_eq(d->delivery, 0);
            }
        }
    }
    t_free(d);
}

START_TEST(every_command_truncated)
{
    truncate_all(0xff);
    truncate_all(0);
}
END_TEST

/* Random bytes everywhere; nothing to assert but that we survive it. */
START_TEST(noise)
{
    FakeDriver *d = t_running();
    GRand *rand = g_rand_new_with_seed(5);
    uint8_t in[700], out[64];

    for (int i = 0; i < 20000; i++) {
        unsigned slot = i % 32;
        uint32_t len = g_rand_int_range(rand, 8, sizeof(in));

        for (uint32_t b = 0; b < len; b++) {
            in[b] = g_rand_int_range(rand, 0, 4) ? 0 : g_rand_int(rand);
        }
        MLX5_SET(query_issi_in, in, opcode,
                 opcodes[g_rand_int_range(rand, 0, G_N_ELEMENTS(opcodes))]);
        if (ends_hca(MLX5_GET(query_issi_in, in, opcode))) {
            continue;
        }
        fake_driver_post(d, slot, in, len, sizeof(out));
        if (i % 8 == 0) {
            poke(d, entry_gpa(d, slot) + g_rand_int_range(rand, 0, 63),
                 g_rand_int(rand));
        }
        fake_driver_ring(d, 1u << slot);
        ck_assert(fake_driver_done(d, slot));
    }
    g_rand_free(rand);
    t_free(d);
}
END_TEST

START_TEST(trace_decodes)
{
    FakeDriver *d = t_running();
    FAKE_BUFFERS(set_issi);

    d->host->trace_on = true;
    MLX5_SET(set_issi_in, in, current_issi, 9);
    FAKE_CMD_FAILS(d, SET_ISSI, set_issi, in, out, MLX5_CMD_STAT_BAD_PARAM_ERR,
                   MLX5_SYND_ISSI_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(d->host->trace->str,
                                 "SET_ISSI in opcode=0x10b current_issi=0x9"));
    ck_assert_ptr_nonnull(strstr(d->host->trace->str,
                                 "BAD_PARAM_ERR (0x3), syndrome 0x5d0105: "
                                 "SET_ISSI: version not supported"));
    t_free(d);
}
END_TEST

T_MAIN("cmdq", delivery_entry, delivery_lengths, delivery_pointers,
       delivery_blocks, delivery_event, self_reference, spare_blocks,
       output_cut, common_checks, state_check, doorbells_for_nothing,
       all_slots_at_once, polled_commands, reordered, reset_while_held,
       double_fetch, memory_fails, signatures, every_command_truncated, noise,
       trace_decodes)
