/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The register RESOURCE_DUMP as the driver uses it: the menu by names, an object
 * whole and in pieces, and everything that it refuses.
 */
#include "tests/fw/fw_helper.h"

#include "fw/fw.h"
#include "obj/mkey.h"

#define BYTES MLX5_ST_SZ_BYTES(resource_dump)
#define HEADERS (MLX5_ST_SZ_BYTES(resource_dump_info_segment) + \
                 MLX5_ST_SZ_BYTES(resource_dump_command_segment))
#define RESOURCE MLX5_ST_SZ_BYTES(resource_dump_resource_segment)
#define RECORD MLX5_ST_SZ_BYTES(resource_dump_menu_record)
#define MENU 0xffff
#define PAGE 4096

typedef struct Dump {
    FakeDriver *d;
    uint32_t mkey;
    uint64_t page;
    uint8_t cmd[BYTES];      /* as the driver keeps it between calls */
} Dump;

static Dump begin(void)
{
    Dump t = { .d = t_up() };

    t.mkey = fake_driver_create_mkey_ok(t.d, fake_driver_alloc_pd_ok(t.d));
    t.page = fake_driver_alloc(t.d, PAGE);
    return t;
}

static void want(Dump *t, uint32_t type, uint32_t index, uint32_t size)
{
    memset(t->cmd, 0, sizeof(t->cmd));
    MLX5_SET(resource_dump, t->cmd, segment_type, type);
    MLX5_SET(resource_dump, t->cmd, index1, index);
    MLX5_SET(resource_dump, t->cmd, num_of_obj1, type != MENU);
    MLX5_SET(resource_dump, t->cmd, size, size);
}

static bool call(Dump *t, uint32_t op_mod)
{
    uint8_t in[16 + BYTES] = { 0 }, out[16 + BYTES];
    bool ok;

    MLX5_SET(resource_dump, t->cmd, mkey, t->mkey);
    MLX5_SET(resource_dump, t->cmd, address, t->page);
    MLX5_SET(access_register_in, in, opcode, MLX5_CMD_OP_ACCESS_REG);
    MLX5_SET(access_register_in, in, op_mod, op_mod);
    MLX5_SET(access_register_in, in, register_id, 0xc000);
    memcpy(in + 16, t->cmd, BYTES);
    ok = fake_driver_cmd(t->d, in, sizeof(in), out, sizeof(out));
    if (ok) {
        memcpy(t->cmd, out + 16, BYTES);
    }
    return ok;
}

/* Return: what the card wrote, in as many calls as it takes. */
static GByteArray *all(Dump *t)
{
    GByteArray *dump = g_byte_array_new();
    uint8_t piece[PAGE];
    uint32_t seq, size;

    do {
        seq = MLX5_GET(resource_dump, t->cmd, seq_num);
        ck_assert(call(t, 0));
        ck_assert_uint_eq(MLX5_GET(resource_dump, t->cmd, seq_num),
                          (seq + 1) % 16);
        size = MLX5_GET(resource_dump, t->cmd, size);
        ck_assert_uint_gt(size, 0);
        fake_mem_read(t->d->host, t->page, piece, size);
        g_byte_array_append(dump, piece, size);
    } while (MLX5_GET(resource_dump, t->cmd, more_dump));
    return dump;
}

static uint32_t type_of(const uint8_t *segment)
{
    return MLX5_GET(resource_dump_segment_header, segment, segment_type);
}

static uint32_t bytes_of(const uint8_t *segment)
{
    return MLX5_GET(resource_dump_segment_header, segment, length_dw) * 4;
}

/* Return: the third segment; the others are as they must be. */
static const uint8_t *third(const GByteArray *dump, uint32_t called)
{
    const uint8_t *s = dump->data, *found;

    ck_assert_uint_eq(type_of(s), 0xfffe);
    ck_assert_uint_eq(MLX5_GET(resource_dump_info_segment, s, fw_version),
                      22u << 24 | 43 << 16 | 2026);
    s += bytes_of(s);
    ck_assert_uint_eq(type_of(s), 0xfffa);
    ck_assert_uint_eq(MLX5_GET(resource_dump_command_segment, s,
                               segment_called), called);
    found = s + bytes_of(s);
    ck_assert_uint_eq(found - dump->data, HEADERS);
    s = found + bytes_of(found);
    ck_assert_uint_eq(type_of(s), 0xfffb);
    ck_assert_uint_eq(s + bytes_of(s) - dump->data, dump->len);
    return found;
}

/* The number of a kind, by its name in the menu. */
static uint32_t kind(Dump *t, const char *name)
{
    g_autoptr(GByteArray) dump = NULL;
    const uint8_t *menu;

    want(t, MENU, 0, PAGE);
    dump = all(t);
    menu = third(dump, MENU);
    ck_assert_uint_eq(type_of(menu), MENU);
    for (uint32_t i = 0; i < MLX5_GET(resource_dump_menu_segment, menu,
                                      num_of_records); i++) {
        const uint8_t *r = menu + 8 + i * RECORD;

        if (!strcmp((const char *)MLX5_ADDR_OF(resource_dump_menu_record, r,
                                               segment_name), name)) {
            ck_assert_uint_eq(MLX5_GET(resource_dump_menu_record, r,
                                       must_have_index1), 1);
            return MLX5_GET(resource_dump_menu_record, r, segment_type);
        }
    }
    ck_abort_msg("the menu has no %s", name);
    return 0;
}

START_TEST(menu)
{
    Dump t = begin();

    ck_assert_uint_ne(kind(&t, "PRM_QUERY_QP"), kind(&t, "PRM_QUERY_CQ"));
    ck_assert_uint_ne(kind(&t, "PRM_QUERY_MKEY"), 0);
    t_free(t.d);
}
END_TEST

/* As QUERY_CQ and QUERY_MKEY say; of the whole and of pieces. */
START_TEST(objects)
{
    Dump t = begin();
    FakeQueue eq = fake_driver_create_eq_ok(t.d, 6, 1, 0);
    FakeQueue cq = fake_driver_create_cq_ok(t.d, 6, eq.number);
    uint32_t cqs = kind(&t, "PRM_QUERY_CQ");
    uint32_t keys = kind(&t, "PRM_QUERY_MKEY");
    FAKE_BUFFERS(query_cq);
    const uint8_t *s;

    MLX5_SET(query_cq_in, in, cqn, cq.number);
    FAKE_CMD_OK(t.d, QUERY_CQ, query_cq, in, out);
    for (uint32_t size = PAGE; size >= 4; size /= 4) {
        g_autoptr(GByteArray) dump = NULL;

        want(&t, cqs, cq.number, size);
        dump = all(&t);
        s = third(dump, cqs);
        ck_assert_uint_eq(type_of(s), cqs);
        ck_assert_uint_eq(MLX5_GET(resource_dump_resource_segment, s, index1),
                          cq.number);
        ck_assert_uint_eq(bytes_of(s), RESOURCE + sizeof(out));
        ck_assert_mem_eq(s + RESOURCE, out, sizeof(out));
    }
    {
        g_autoptr(GByteArray) dump = NULL;

        want(&t, keys, t.mkey >> 8, PAGE);
        dump = all(&t);
        s = third(dump, keys) + RESOURCE;
        ck_assert_uint_eq(MLX5_GET(mkc, MLX5_ADDR_OF(query_mkey_out, s,
                                                     memory_key_mkey_entry),
                                   length64), 1);
    }
    t_free(t.d);
}
END_TEST

/* An object that is not there: the segment says so, in the card's words. */
START_TEST(no_object)
{
    Dump t = begin();
    uint32_t qps = kind(&t, "PRM_QUERY_QP");
    g_autoptr(GByteArray) dump = NULL;
    const uint8_t *s;

    want(&t, qps, 0x777, PAGE);
    dump = all(&t);
    s = third(dump, qps);
    ck_assert_uint_eq(type_of(s), 0xfffc);
    ck_assert_uint_eq(MLX5_GET(resource_dump_error_segment, s, syndrome_id),
                      MLX5_SYND_QP_UNKNOWN & 0xffff);
    t_free(t.d);
}
END_TEST

static void refused(Dump *t, uint32_t syndrome)
{
    ck_assert(!call(t, 0));
    ck_assert_uint_eq(t->d->status, MLX5_CMD_STAT_BAD_PARAM_ERR);
    ck_assert_uint_eq(t->d->syndrome, syndrome);
}

START_TEST(refusals)
{
    static const struct { uint32_t off, bits, value, syndrome; } bad[] = {
#define BAD(f, v, s) { MLX5_BIT_OFF(resource_dump, f), \
                       MLX5_BIT_SZ(resource_dump, f), v, MLX5_SYND_DUMP_##s }
        BAD(inline_dump, 1, INLINE), BAD(vhca_id, 2, VHCA),
        BAD(index1, 0x1000001, INDEX), BAD(index2, 1, INDEX),
        BAD(num_of_obj1, 2, INDEX), BAD(num_of_obj2, 1, INDEX),
        BAD(device_opaque, 0x10000, OPAQUE), BAD(size, 0, SIZE),
        BAD(size, 3, SIZE), BAD(segment_type, 0x7777, TYPE),
        BAD(segment_type, 0, TYPE),
    };
    Dump t = begin();
    uint32_t keys = kind(&t, "PRM_QUERY_MKEY");
    uint32_t good = t.mkey;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        want(&t, keys, t.mkey >> 8, PAGE);
        mlx5_prm_set(t.cmd, bad[i].off, bad[i].bits, bad[i].value);
        refused(&t, bad[i].syndrome);
    }
    want(&t, MENU, 0, PAGE);
    ck_assert(!call(&t, 1));
    ck_assert_uint_eq(t.d->syndrome, MLX5_SYND_DUMP_READ);
    t.mkey = good ^ 1;
    refused(&t, MLX5_SYND_DUMP_KEY);
    t.mkey = 0x777700;
    refused(&t, MLX5_SYND_DUMP_KEY);
    t.mkey = good;
    t.page = t.d->host->ram_end;
    refused(&t, MLX5_SYND_DUMP_MEMORY);
    t.d->host->func->props.resource_dump = false;
    refused(&t, MLX5_SYND_DUMP_OFF);
    t_free(t.d);
}
END_TEST

T_MAIN("rsc_dump", menu, objects, no_object, refusals)
