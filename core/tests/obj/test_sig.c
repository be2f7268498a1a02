/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block signatures: checksums against published check values and against
 * implementations bit by bit; PSVs; byte stream formats; and what a key's
 * memory looks like on the wire, and the other way round, against a second
 * implementation of the layout.
 */
#include "obj/psv.h"
#include "obj/sig.h"
#include "obj/sig_math.h"
#include "tests/obj/mkey_helper.h"
#include "tests/obj/sig_helper.h"

static FakeHost *h;
static uint32_t pdn;

static void setup(void)
{
    h = fake_host_new(NULL);
    pdn = t_alloc(h, mlx5_cmd_alloc_pd);
}

static void teardown(void)
{
    fake_host_free(h);
}

/* ---- checksums ---- */

/* A CRC one bit at a time, most significant first; width up to 64. */
static uint64_t crc_bitwise(unsigned width, uint64_t poly, uint64_t reg,
                            bool reflect, const uint8_t *p, size_t len)
{
    uint64_t top = UINT64_C(1) << (width - 1);
    uint64_t all = top | (top - 1), out = 0;

    for (size_t i = 0; i < len * 8; i++) {
        unsigned bit = reflect ? i % 8 : 7 - i % 8;
        bool in = p[i / 8] >> bit & 1;
        bool carry = !!(reg & top) != in;

        reg = (reg << 1 & all) ^ (carry ? poly : 0);
    }
    if (!reflect) {
        return reg;
    }
    for (unsigned i = 0; i < width; i++) {
        out |= (reg >> i & 1) << (width - 1 - i);
    }
    return out ^ all;
}

START_TEST(published_check_values)
{
    const uint8_t *p = (const uint8_t *)"123456789";
    static const uint8_t zeros[32];
    /* RFC 1071, section 3 */
    static const uint8_t rfc1071[] = { 0x00, 0x01, 0xf2, 0x03,
                                       0xf4, 0xf5, 0xf6, 0xf7 };

    ck_assert_uint_eq(mlx5_sig_crc16(0, p, 9), 0xd0db);
    ck_assert_uint_eq(mlx5_sig_crc32(UINT32_MAX, p, 9), 0xcbf43926);
    ck_assert_uint_eq(mlx5_sig_crc32c(UINT32_MAX, p, 9), 0xe3069283);
    ck_assert_uint_eq(mlx5_sig_crc64(UINT64_MAX, p, 9),
                      UINT64_C(0xae8b14860a799888));
    /* RFC 3720, B.4: 32 bytes of zeros */
    ck_assert_uint_eq(mlx5_sig_crc32c(UINT32_MAX, zeros, 32), 0x8a9136aa);
    ck_assert_uint_eq(mlx5_sig_ip_checksum(0, rfc1071, 8),
                      (uint16_t)~0xddf2);
}
END_TEST

START_TEST(bit_by_bit)
{
    uint8_t p[4160];

    for (size_t i = 0; i < sizeof(p); i++) {
        p[i] = i * 37 + (i >> 5) * 11 + 5;
    }
    for (size_t len = 0; len < 70; len++) {
        for (uint64_t ones = 0; ones < 2; ones++) {
            uint64_t seed = ones ? UINT64_MAX : 0;

            ck_assert_uint_eq(mlx5_sig_crc16(seed, p, len),
                              crc_bitwise(16, 0x8bb7, seed & 0xffff, false, p,
                                          len));
            ck_assert_uint_eq(mlx5_sig_crc32(seed, p, len),
                              crc_bitwise(32, 0x04c11db7, (uint32_t)seed, true,
                                          p, len));
            ck_assert_uint_eq(mlx5_sig_crc32c(seed, p, len),
                              crc_bitwise(32, 0x1edc6f41, (uint32_t)seed, true,
                                          p, len));
            ck_assert_uint_eq(mlx5_sig_crc64(seed, p, len),
                              crc_bitwise(64, UINT64_C(0xad93d23594c93659),
                                          seed, true, p, len));
        }
    }
    ck_assert_uint_eq(mlx5_sig_crc16(0, p, 4160),
                      crc_bitwise(16, 0x8bb7, 0, false, p, 4160));
    ck_assert_uint_eq(mlx5_sig_crc64(UINT64_MAX, p, 4160),
                      crc_bitwise(64, UINT64_C(0xad93d23594c93659), UINT64_MAX,
                                  true, p, 4160));
}
END_TEST

/* A sum of words with end-around carry at each step, then its complement. */
START_TEST(ip_checksum)
{
    uint8_t p[520];
    uint32_t sum = 0xffff;

    for (size_t i = 0; i < sizeof(p); i++) {
        p[i] = 255 - i % 7;
    }
    for (size_t i = 0; i < sizeof(p); i += 2) {
        sum += p[i] << 8 | p[i + 1];
        sum = sum > 0xffff ? sum - 0xffff : sum;
    }
    ck_assert_uint_eq(mlx5_sig_ip_checksum(0xffff, p, sizeof(p)),
                      sum ^ 0xffff);
}
END_TEST

/* ---- PSVs ---- */

static uint32_t psv_index(const TestCmd *t, uint32_t i)
{
    return mlx5_prm_get(t->out, 0x88 + 0x20 * i, 24);
}

START_TEST(psv_life)
{
    for (uint32_t num = 1; num <= 4; num++) {
        TestCmd t = { 0 }, d = { 0 }, pd = { 0 };

        MLX5_SET(create_psv_in, t.in, num_psv, num);
        MLX5_SET(create_psv_in, t.in, pd, pdn);
        t_ok(h, &t, mlx5_cmd_create_psv, MLX5_ST_SZ_BYTES(create_psv_in));
        ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PSV), num);
        MLX5_SET(dealloc_pd_in, pd.in, pd, pdn);
        t_refused(h, &pd, mlx5_cmd_dealloc_pd, MLX5_ST_SZ_BYTES(dealloc_pd_in),
                  MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_PD_BUSY);
        for (uint32_t i = 0; i < num; i++) {
            ck_assert(mlx5_psv_find(h->func, pdn, psv_index(&t, i)));
            ck_assert(!mlx5_psv_find(h->func, pdn + 1, psv_index(&t, i)));
            MLX5_SET(destroy_psv_in, d.in, psvn, psv_index(&t, i));
            t_ok(h, &d, mlx5_cmd_destroy_psv,
                 MLX5_ST_SZ_BYTES(destroy_psv_in));
        }
        ck_assert_uint_eq(psv_index(&t, 3) != 0, num == 4);
        ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PSV), 0);
        t_refused(h, &d, mlx5_cmd_destroy_psv,
                  MLX5_ST_SZ_BYTES(destroy_psv_in), MLX5_CMD_STAT_BAD_RES_ERR,
                  MLX5_SYND_PSV_UNKNOWN);
    }
}
END_TEST

static void psv_refused(uint32_t num, uint32_t pd, Mlx5Status status,
                        uint32_t syndrome)
{
    TestCmd t = { 0 };

    MLX5_SET(create_psv_in, t.in, num_psv, num);
    MLX5_SET(create_psv_in, t.in, pd, pd);
    t_refused(h, &t, mlx5_cmd_create_psv, MLX5_ST_SZ_BYTES(create_psv_in),
              status, syndrome);
}

START_TEST(psv_refusals)
{
    psv_refused(0, pdn, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PSV_NUMBER);
    psv_refused(5, pdn, MLX5_CMD_STAT_BAD_PARAM_ERR, MLX5_SYND_PSV_NUMBER);
    psv_refused(1, pdn + 1, MLX5_CMD_STAT_BAD_RES_ERR, MLX5_SYND_PSV_PD);
    h->func->props.signature = false;
    psv_refused(1, pdn, MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_PSV_OFF);
}
END_TEST

/* All numbers taken: a command for four of which three would fit makes none. */
START_TEST(psv_full)
{
    uint32_t limit = 1u << 17;

    for (uint32_t i = 1; i + 3 < limit; i++) {
        ck_assert(t_psv(h, pdn));
    }
    psv_refused(4, pdn, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_PSV_FULL);
    ck_assert_uint_eq(mlx5_obj_count(h->func, MLX5_OBJ_PSV), limit - 4);
    ck_assert(t_psv(h, pdn));
}
END_TEST

/* ---- byte stream formats ---- */

static Mlx5BsfResult parse(const uint8_t *bsf, size_t len)
{
    Mlx5Sig sig = { 0 };

    return mlx5_sig_parse(&sig, bsf, len);
}

START_TEST(bsf_refusals)
{
    TestDomain crc = { .format = T_CRC32C, .selector = 1, .psvn = 1 };
    TestDomain dif = { .inl_type = 1, .selector = 1, .psvn = 2 };
    uint8_t good[64], b[64];

    t_bsf(good, &crc, NULL);
    ck_assert_int_eq(parse(good, 64), MLX5_BSF_OK);
    for (size_t len = 0; len < 64; len += 16) {
        ck_assert_int_eq(parse(good, len), MLX5_BSF_SIZE);
    }
    memcpy(b, good, 64);
    MLX5_SET(bsf_basic, b, bsf_size, 0); /* CRCs need no inline part */
    ck_assert_int_eq(parse(b, 16), MLX5_BSF_OK);
    MLX5_SET(bsf_basic, b, bsf_size, 1);
    ck_assert_int_eq(parse(b, 16), MLX5_BSF_SIZE);
    ck_assert_int_eq(parse(b, 32), MLX5_BSF_OK);
    MLX5_SET(bsf_basic, b, bsf_size, 3); /* with encryption */
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_SIZE);
    memcpy(b, good, 64);
    MLX5_SET(bsf_basic, b, type, 1);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_SIZE);
    memcpy(b, good, 64);
    b[31] = 1;
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_EXTENDED);
    for (uint32_t sel = 0; sel < 256; sel++) {
        bool known = (sel >= 1 && sel <= 4) || sel == 6;

        crc.selector = sel;
        t_bsf(b, &crc, NULL);
        ck_assert_int_eq(parse(b, 64), known ? MLX5_BSF_OK : MLX5_BSF_BLOCK);
    }
    crc.selector = 1;
    for (uint32_t format = 1; format < 256; format++) {
        uint32_t kind = format & 0xfc;
        bool known = (kind == 0x20 || kind == 0x40 || kind == 0x50) &&
                     (format & 2);

        crc.format = format;
        t_bsf(b, &crc, NULL);
        ck_assert_int_eq(parse(b, 64), known ? MLX5_BSF_OK : MLX5_BSF_FORMAT);
    }
    t_bsf(b, NULL, &dif);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_OK);
    MLX5_SET(bsf_inl, b + 32, sig_type, 3);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_FORMAT);
    MLX5_SET(bsf_inl, b + 32, sig_type, 2);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_OK);
    MLX5_SET(bsf_inl, b + 32, repeat_block, 0);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_FORMAT);
    t_bsf(b, NULL, &dif);
    MLX5_SET(bsf_inl, b + 32, valid, 0);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_FORMAT);
    t_bsf(b, NULL, NULL); /* neither side */
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_FORMAT);
    crc.format = T_CRC32C;
    t_bsf(b, &crc, &dif); /* 4 bytes and 8 bytes are not the same */
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_OK);
    MLX5_SET(bsf_basic, b, sbs, 1);
    ck_assert_int_eq(parse(b, 64), MLX5_BSF_STRUCTURE);
}
END_TEST

/* ---- memory and wire ---- */

/* A second implementation, of signatures as bytes. */
static void model_sig(const TestDomain *d, uint64_t block, const uint8_t *data,
                      uint32_t len, uint8_t *to)
{
    uint16_t guard;
    uint32_t ref = d->ref + (d->inc ? block : 0);
    uint64_t crc;

    if (d->inl_type) {
        guard = d->inl_type == 1
                    ? crc_bitwise(16, 0x8bb7, d->ones ? 0xffff : 0, false,
                                  data, len)
                    : mlx5_sig_ip_checksum(d->ones ? 0xffff : 0, data, len);
        const uint8_t bytes[] = { guard >> 8, guard, d->app >> 8, d->app,
                                  ref >> 24, ref >> 16, ref >> 8, ref };

        memcpy(to, bytes, 8);
        return;
    }
    switch (d->format & 0xfc) {
    case 0x20:
        crc = crc_bitwise(32, 0x04c11db7, d->ones ? UINT32_MAX : 0, true, data,
                          len);
        break;
    case 0x40:
        crc = crc_bitwise(32, 0x1edc6f41, d->ones ? UINT32_MAX : 0, true, data,
                          len);
        break;
    default:
        crc = crc_bitwise(64, UINT64_C(0xad93d23594c93659),
                          d->ones ? UINT64_MAX : 0, true, data, len);
        break;
    }
    for (uint32_t i = 0; i < t_sig_bytes(d); i++) {
        to[i] = crc >> i * 8;
    }
}

/* @raw bytes of data as a side has them. Return: how many bytes that are. */
static uint32_t model(const TestDomain *d, const uint8_t *data, uint32_t raw,
                      uint8_t *to)
{
    uint32_t block = d ? t_block_bytes(d) : raw, at = 0;

    for (uint32_t done = 0; done < raw; done += block) {
        uint32_t n = MIN(block, raw - done);

        memcpy(to + at, data + done, n);
        at += n;
        if (d && n == block) {
            model_sig(d, done / block, data + done, n, to + at);
            at += t_sig_bytes(d);
        }
    }
    return at;
}

#define MEM_GPA UINT64_C(0x200000)
#define RAW_BYTES 20000u

typedef struct Pair {
    const TestDomain *mem, *wire;
} Pair;

static const TestDomain domains[] = {
    { .inl_type = 1, .selector = 1, .app = 0x1234, .ref = 0xfffffffe,
      .inc = true, .ones = true },
    { .inl_type = 1, .selector = 2, .app = 0xabcd, .ref = 7 },
    { .inl_type = 2, .selector = 3, .app = 1, .ref = 99, .inc = true },
    { .format = T_CRC32, .selector = 1, .ones = true },
    { .format = T_CRC32C, .selector = 4, .ones = true },
    { .format = T_CRC32C, .selector = 6 },
    { .format = T_CRC64, .selector = 3, .ones = true },
};

static void fill(uint8_t *p, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        p[i] = (i * 7 + (i >> 9) * 13) ^ 0x5c;
    }
}

static uint32_t sig_key(const TestDomain *mem, const TestDomain *wire,
                        uint32_t len, uint8_t check)
{
    return t_sig_key(h, pdn, mem, wire, MEM_GPA, len, check);
}

/* Any side against any other, in any cut: gather and scatter. */
START_TEST(both_ways)
{
    uint32_t a = (uint32_t)_i / 8, b = (uint32_t)_i % 8;
    const TestDomain *mem = a < 7 ? &domains[a] : NULL;
    const TestDomain *wire = b < 7 ? &domains[b] : NULL;
    static const uint32_t cuts[] = { 1u << 20, 1024, 4096, 513, 516, 7 };
    static uint8_t data[RAW_BYTES], as_mem[RAW_BYTES + 400],
        as_wire[RAW_BYTES + 400], got[RAW_BYTES + 400];
    Mlx5MkeyUser user = t_user(pdn);
    uint32_t mem_len, wire_len, key;
    Mlx5Mkey *mkey;

    if (!mem && !wire) {
        return;
    }
    fill(data, RAW_BYTES);
    mem_len = model(mem, data, RAW_BYTES, as_mem);
    wire_len = model(wire, data, RAW_BYTES, as_wire);
    key = sig_key(mem, wire, mem_len, 0xff);
    mkey = mlx5_mkey_find(h->func, key);
    ck_assert_uint_eq(mkey->span, wire_len);
    for (size_t c = 0; c < G_N_ELEMENTS(cuts); c++) {
        fake_mem_write(h, MEM_GPA, as_mem, mem_len);
        memset(got, 0, sizeof(got));
        for (uint32_t at = 0; at < wire_len; at += cuts[c]) {
            ck_assert_int_eq(mlx5_sig_gather(mkey, &user, at,
                                             MIN(cuts[c], wire_len - at),
                                             MLX5_ACCESS_LOCAL_READ, got + at),
                             MLX5_MKEY_OK);
        }
        ck_assert_int_eq(memcmp(got, as_wire, wire_len), 0);
        memset(got, 0, sizeof(got));
        fake_mem_write(h, MEM_GPA, got, sizeof(got));
        for (uint32_t at = 0; at < wire_len; at += cuts[c]) {
            ck_assert_int_eq(mlx5_sig_scatter(mkey, &user, at,
                                              MIN(cuts[c], wire_len - at),
                                              MLX5_ACCESS_LOCAL_WRITE,
                                              as_wire + at),
                             MLX5_MKEY_OK);
        }
        fake_mem_read(h, MEM_GPA, got, sizeof(got));
        ck_assert_int_eq(memcmp(got, as_mem, mem_len), 0);
        ck_assert_uint_eq(got[mem_len], 0);
        ck_assert(!mkey->sig->failed);
    }
}
END_TEST

/* One bad byte of a signature is found where it is, and once. */
static void one_error(bool wire_side, const TestDomain *d, uint32_t byte,
                      uint16_t syndrome, uint8_t check)
{
    static uint8_t data[RAW_BYTES], side[RAW_BYTES + 400];
    uint8_t to[RAW_BYTES + 400];
    Mlx5MkeyUser user = t_user(pdn);
    uint32_t unit = t_block_bytes(d) + t_sig_bytes(d), len, key;
    Mlx5Mkey *mkey;
    Mlx5SigError *e;

    fill(data, RAW_BYTES);
    len = model(d, data, RAW_BYTES, side);
    side[2 * unit + t_block_bytes(d) + byte] ^= 0x10;
    side[3 * unit + t_block_bytes(d) + byte] ^= 0x10; /* not told any more */
    key = sig_key(wire_side ? NULL : d, wire_side ? d : NULL,
                  wire_side ? RAW_BYTES : len, check);
    mkey = mlx5_mkey_find(h->func, key);
    e = &mkey->sig->error;
    for (int round = 0; round < 2; round++) {
        if (wire_side) {
            ck_assert_int_eq(mlx5_sig_scatter(mkey, &user, 0, len,
                                              MLX5_ACCESS_LOCAL_WRITE, side),
                             MLX5_MKEY_OK);
        } else {
            fake_mem_write(h, MEM_GPA, side, len);
            ck_assert_int_eq(mlx5_sig_gather(mkey, &user, 0, RAW_BYTES,
                                             MLX5_ACCESS_LOCAL_READ, to),
                             MLX5_MKEY_OK);
        }
        ck_assert_int_eq(mkey->sig->failed, round == 0 && syndrome);
        mkey->sig->failed = false;
    }
    if (syndrome) {
        ck_assert_uint_eq(e->syndrome, syndrome);
        ck_assert_uint_eq(e->domain, wire_side ? 0 : 1);
        ck_assert_uint_eq(e->offset, 2 * unit);
        ck_assert_uint_eq(e->expected ^ e->actual,
                          d->inl_type ? UINT64_C(0x1000000000000000) >>
                                            byte * 8
                          : t_sig_bytes(d) == 4
                              ? UINT64_C(0x10) << (32 + byte * 8)
                              : UINT64_C(0x10) << byte * 8);
    }
}

START_TEST(errors)
{
    static const uint16_t dif[8] = {
        MLX5_SIGERR_GUARD, MLX5_SIGERR_GUARD, MLX5_SIGERR_APPTAG,
        MLX5_SIGERR_APPTAG, MLX5_SIGERR_REFTAG, MLX5_SIGERR_REFTAG,
        MLX5_SIGERR_REFTAG, MLX5_SIGERR_REFTAG,
    };

    for (int wire = 0; wire < 2; wire++) {
        for (uint32_t i = 0; i < G_N_ELEMENTS(domains); i++) {
            for (uint32_t byte = 0; byte < t_sig_bytes(&domains[i]); byte++) {
                const TestDomain *d = &domains[i];
                uint8_t bit = d->inl_type ? 0x80 >> byte
                              : t_sig_bytes(d) == 4 ? 0x10 << byte
                                                    : 1 << byte;

                one_error(wire, d, byte,
                          d->inl_type ? dif[byte] : MLX5_SIGERR_GUARD, bit);
                one_error(wire, d, byte, 0, (uint8_t)~bit);
            }
        }
    }
}
END_TEST

START_TEST(application_mask)
{
    TestDomain d = domains[0];

    d.app_mask = 0xff00;
    one_error(true, &d, 2, MLX5_SIGERR_APPTAG, 0xff);
    one_error(true, &d, 3, 0, 0xff);
}
END_TEST

/* Blocks whose tags are ones are not checked, if the format says so. */
START_TEST(escapes)
{
    static const struct {
        uint16_t app;
        uint32_t ref;
        bool escapes[3]; /* by bsf_inl.escape */
    } cases[] = {
        { 0xffff, 5, { false, true, false } },
        { 0xffff, 0xffffffff, { false, true, true } },
        { 0xfffe, 0xffffffff, { false, false, false } },
    };
    Mlx5MkeyUser user = t_user(pdn);
    uint8_t wire[520] = { 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (uint8_t escape = 0; escape < 3; escape++) {
            TestDomain d = { .inl_type = 1, .selector = 1, .app = 1, .ref = 1,
                             .escape = escape };
            uint32_t key = sig_key(NULL, &d, 512, 0xff);
            Mlx5Mkey *mkey = mlx5_mkey_find(h->func, key);

            wire[512] = 0x77;
            mlx5_prm_set(wire, 514 * 8, 16, cases[i].app);
            mlx5_prm_set(wire + 516, 0, 32, cases[i].ref);
            ck_assert_int_eq(mlx5_sig_scatter(mkey, &user, 0, 520,
                                              MLX5_ACCESS_LOCAL_WRITE, wire),
                             MLX5_MKEY_OK);
            ck_assert_int_eq(mkey->sig->failed, !cases[i].escapes[escape]);
        }
    }
}
END_TEST

/* With the same structure, masked bytes are taken over, others made anew. */
START_TEST(copy_mask)
{
    TestDomain mem = domains[0], wire = domains[0];
    Mlx5MkeyUser user = t_user(pdn);
    uint8_t block[520], got[520], expected[8];
    Mlx5Mkey *mkey;

    wire.app = 0x5555;
    wire.ref = 0x10;
    for (uint32_t mask = 0; mask < 256; mask++) {
        mem.copy = wire.copy = mask;
        mem.same = wire.same = true;
        mkey = mlx5_mkey_find(h->func, sig_key(&mem, &wire, 520, 0));
        fill(block, 512);
        model_sig(&wire, 0, block, 512, expected);
        for (int i = 0; i < 8; i++) {
            block[512 + i] = 0xa0 + i;
            expected[i] = mask >> (7 - i) & 1 ? block[512 + i] : expected[i];
        }
        fake_mem_write(h, MEM_GPA, block, 520);
        ck_assert_int_eq(mlx5_sig_gather(mkey, &user, 0, 520,
                                         MLX5_ACCESS_LOCAL_READ, got),
                         MLX5_MKEY_OK);
        ck_assert_int_eq(memcmp(got, block, 512), 0);
        ck_assert_int_eq(memcmp(got + 512, expected, 8), 0);
        /* And into memory, the signature in two parts. */
        model_sig(&mem, 0, block, 512, expected);
        for (int i = 0; i < 8; i++) {
            expected[i] = mask >> (7 - i) & 1 ? block[512 + i] : expected[i];
        }
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t at = i / 2 * 515; /* each twice, as after a fault */

            fake_mem_write(h, MEM_GPA + 512, block, 8);
            ck_assert_int_eq(mlx5_sig_scatter(mkey, &user, at,
                                              MIN(515, 520 - at),
                                              MLX5_ACCESS_LOCAL_WRITE,
                                              block + at),
                             MLX5_MKEY_OK);
        }
        fake_mem_read(h, MEM_GPA, got, 520);
        ck_assert_int_eq(memcmp(got, block, 512), 0);
        ck_assert_int_eq(memcmp(got + 512, expected, 8), 0);
    }
}
END_TEST

/* Work requests count raw bytes, or memory if both sides have signatures. */
START_TEST(local_lengths)
{
    static const struct {
        int mem, wire; /* of domains[]; -1 = none */
        uint64_t at;
        uint32_t len, wire_at, wire_len;
    } cases[] = {
        { -1, 0, 0, 512, 0, 520 },
        { -1, 0, 0, 511, 0, 511 },
        { -1, 0, 512, 1024, 520, 1040 },
        { 3, -1, 0, 512, 0, 512 },
        { 3, -1, 512, 5120, 512, 5120 },
        { 0, 0, 0, 1040, 0, 1040 },
        { 0, 0, 520, 520, 520, 520 },
        { 0, 2, 0, 4160, 0, 4104 },
        { 2, 0, 0, 4104, 0, 4160 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const TestDomain *m = cases[i].mem < 0 ? NULL : &domains[cases[i].mem];
        const TestDomain *w =
            cases[i].wire < 0 ? NULL : &domains[cases[i].wire];
        uint32_t key = sig_key(m, w, 20000, 0), len = cases[i].len;
        uint64_t at = cases[i].at;

        mlx5_sig_local(h->func, key, &at, &len);
        ck_assert_uint_eq(at, cases[i].wire_at);
        ck_assert_uint_eq(len, cases[i].wire_len);
        mlx5_sig_local(h->func, key ^ 1, &at, &len); /* no key: as it is */
        ck_assert_uint_eq(len, cases[i].wire_len);
    }
}
END_TEST

/* What refuses a key refuses it here as well; and without its PSV it is none. */
START_TEST(refusals)
{
    uint32_t key = sig_key(NULL, &domains[0], 1024, 0xff);
    Mlx5Mkey *mkey = mlx5_mkey_find(h->func, key);
    Mlx5MkeyUser user = t_user(pdn), other = t_user(pdn + 1);
    g_autoptr(Mlx5Ranges) ranges = mlx5_ranges_new();
    uint8_t b[1040];
    TestCmd d = { 0 };

    ck_assert_int_eq(mlx5_sig_gather(mkey, &other, 0, 1,
                                     MLX5_ACCESS_LOCAL_READ, b),
                     MLX5_MKEY_PD);
    ck_assert_int_eq(mlx5_sig_gather(mkey, &user, 0, 1041,
                                     MLX5_ACCESS_LOCAL_READ, b),
                     MLX5_MKEY_BOUNDS);
    ck_assert_int_eq(mlx5_sig_gather(mkey, &user, 0, 1040,
                                     MLX5_ACCESS_LOCAL_READ, b),
                     MLX5_MKEY_OK);
    /* Who takes addresses alone cannot use it, not even below another key. */
    ck_assert_int_eq(mlx5_mkey_resolve(h->func, &user, key, 0, 1,
                                       MLX5_ACCESS_LOCAL_READ, ranges),
                     MLX5_MKEY_SIGNATURE);
    ck_assert_int_eq(mlx5_mkey_resolve(h->func, &user,
                                       t_klm_key(h, pdn, key, 0, 64), 0, 1,
                                       MLX5_ACCESS_LOCAL_READ, ranges),
                     MLX5_MKEY_SIGNATURE);
    h->fail_after = 1;
    ck_assert_int_eq(mlx5_sig_gather(mkey, &user, 0, 1,
                                     MLX5_ACCESS_LOCAL_READ, b),
                     MLX5_MKEY_MEMORY);
    MLX5_SET(destroy_psv_in, d.in, psvn, mkey->sig->wire.psvn);
    t_ok(h, &d, mlx5_cmd_destroy_psv, MLX5_ST_SZ_BYTES(destroy_psv_in));
    ck_assert_int_eq(mlx5_sig_gather(mkey, &user, 0, 1,
                                     MLX5_ACCESS_LOCAL_READ, b),
                     MLX5_MKEY_PSV);
    ck_assert_uint_eq(h->func->sig_keys, 1);
    MLX5_SET(mkc, mkey->mkc, en_rinval, 1);
    ck_assert_int_eq(mlx5_mkey_invalidate(h->func, &user, key), MLX5_MKEY_OK);
    ck_assert_uint_eq(h->func->sig_keys, 0);
}
END_TEST

START_TEST(create_refusals)
{
    static const struct {
        bool free, length64, off;
        uint32_t syndrome;
    } cases[] = {
        { true, false, true, MLX5_SYND_MKEY_BSF },
        { false, false, false, MLX5_SYND_MKEY_BSF_MISSING },
        { true, true, false, MLX5_SYND_MKEY_BSF_LENGTH },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        TestCmd t = { 0 };

        h->func->props.signature = !cases[i].off;
        t_mkc(T_MKC(&t), MLX5_MKC_ACCESS_MODE_KLMS, pdn, 0, 0, 0);
        MLX5_SET(mkc, T_MKC(&t), bsf_en, 1);
        MLX5_SET(mkc, T_MKC(&t), free, cases[i].free);
        MLX5_SET(mkc, T_MKC(&t), length64, cases[i].length64);
        t_refused(h, &t, mlx5_cmd_create_mkey, t_mkey_len(&t, 4, 0),
                  MLX5_CMD_STAT_BAD_PARAM_ERR, cases[i].syndrome);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sig");
    TCase *tc = tcase_create("sig");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, published_check_values);
    tcase_add_test(tc, bit_by_bit);
    tcase_add_test(tc, ip_checksum);
    tcase_add_test(tc, psv_life);
    tcase_add_test(tc, psv_refusals);
    tcase_add_test(tc, psv_full);
    tcase_add_test(tc, bsf_refusals);
    tcase_add_loop_test(tc, both_ways, 0, 64);
    tcase_add_test(tc, errors);
    tcase_add_test(tc, application_mask);
    tcase_add_test(tc, escapes);
    tcase_add_test(tc, copy_mask);
    tcase_add_test(tc, local_lengths);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, create_refusals);
    suite_add_tcase(s, tc);
    return t_main(s);
}
