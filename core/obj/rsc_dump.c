/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The register RESOURCE_DUMP: what the card holds of an object, as segments in
 * memory of the driver's (PRM: Resource Dump; driver: diag/rsc_dump.c, mlx5_ib
 * restrack.c; in the guest: rdma resource show -r).
 *
 *   info, command, then    menu       for the menu: a record for each kind
 *                          resource   what the kind's query command answers
 *                          error      or why it doesn't
 *   terminate
 *
 * A dump that is longer than the driver's memory comes in pieces: device_opaque
 * says how far it is, and each piece is cut from a dump made anew.
 *
 * Left out: dumps into the register itself (inline_dump), of several objects at
 * once, and all kinds that show the inside of a real card.
 */
#include "bus/dma.h"
#include "fw/fw.h"
#include "fw/reg.h"
#include "obj/check.h"
#include "obj/mkey.h"
#include "prm/prm.h"

/* segment_type (mstflint: resourcedump). */
enum { COMMAND = 0xfffa, TERMINATE = 0xfffb, ERROR = 0xfffc, INFO = 0xfffe,
       MENU = 0xffff };
#define DUMP_VERSION 1
#define SEQ_NUMS 16u
/* One object: the one that index1 names. */
#define ONE_OBJECT 1

typedef struct Kind {
    uint16_t type;           /* unknown: firmware's numbers; drivers ask by name */
    const char *name;
    const char *index;
    uint16_t opcode;
    MLX5_CMD_HANDLER((*query));
    uint32_t id_off;         /* where the query wants its number */
    uint32_t out_bytes;
} Kind;

#define KIND(n, what, l, f, OP)                                              \
    { n, "PRM_QUERY_" #OP, what, MLX5_CMD_OP_QUERY_##OP, mlx5_cmd_##l,       \
      MLX5_BIT_OFF(l##_in, f), MLX5_ST_SZ_BYTES(l##_out) }
static const Kind kinds[] = {
    KIND(0x1001, "QPN", query_qp, qpn, QP),
    KIND(0x1002, "CQN", query_cq, cqn, CQ),
    KIND(0x1003, "MKEY_INDEX", query_mkey, mkey_index, MKEY),
};

static const Kind *find(uint16_t type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (kinds[i].type == type) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Append a segment of @bytes, zeroed but for its header. Return: it. */
static uint8_t *segment(GByteArray *dump, uint16_t type, uint32_t bytes)
{
    uint32_t at = dump->len;
    uint8_t *s;

    g_byte_array_set_size(dump, at + bytes);
    s = dump->data + at;
    memset(s, 0, bytes);
    MLX5_SET(resource_dump_segment_header, s, length_dw, bytes / 4);
    MLX5_SET(resource_dump_segment_header, s, segment_type, type);
    return s;
}

#define SEGMENT(dump, type, l) segment(dump, type, MLX5_ST_SZ_BYTES(l))

static void put_info(Mlx5Func *func, GByteArray *dump)
{
    const Mlx5ModelInfo *m = mlx5_model_info(func->props.model);
    uint8_t *s = SEGMENT(dump, INFO, resource_dump_info_segment);

    MLX5_SET(resource_dump_info_segment, s, dump_version, DUMP_VERSION);
    MLX5_SET(resource_dump_info_segment, s, fw_version,
             m->fw_major << 24 | m->fw_minor << 16 | m->fw_subminor);
}

static void put_command(Mlx5Func *func, const uint8_t *in, GByteArray *dump)
{
    uint8_t *s = SEGMENT(dump, COMMAND, resource_dump_command_segment);

    MLX5_SET(resource_dump_command_segment, s, segment_called,
             MLX5_GET(resource_dump, in, segment_type));
    MLX5_SET(resource_dump_command_segment, s, vhca_id, func->vhca_id);
    MLX5_SET(resource_dump_command_segment, s, index1,
             MLX5_GET(resource_dump, in, index1));
    MLX5_SET(resource_dump_command_segment, s, num_of_obj1,
             MLX5_GET(resource_dump, in, num_of_obj1));
}

static void put_menu(GByteArray *dump)
{
    const uint32_t head = MLX5_ST_SZ_BYTES(resource_dump_menu_segment);
    const uint32_t each = MLX5_ST_SZ_BYTES(resource_dump_menu_record);
    uint8_t *s = segment(dump, MENU, head + G_N_ELEMENTS(kinds) * each);

    MLX5_SET(resource_dump_menu_segment, s, num_of_records,
             G_N_ELEMENTS(kinds));
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        uint8_t *r = s + head + i * each;

        MLX5_SET(resource_dump_menu_record, r, support_index1, 1);
        MLX5_SET(resource_dump_menu_record, r, must_have_index1, 1);
        MLX5_SET(resource_dump_menu_record, r, support_num_of_obj1, 1);
        MLX5_SET(resource_dump_menu_record, r, segment_type, kinds[i].type);
        memcpy(MLX5_ADDR_OF(resource_dump_menu_record, r, segment_name),
               kinds[i].name, strlen(kinds[i].name));
        memcpy(MLX5_ADDR_OF(resource_dump_menu_record, r, index1_name),
               kinds[i].index, strlen(kinds[i].index));
    }
}

/* What the query command says, as if the driver had asked. */
static void put_resource(Mlx5Func *func, const Kind *kind, uint32_t index,
                         GByteArray *dump)
{
    const uint32_t head = MLX5_ST_SZ_BYTES(resource_dump_resource_segment);
    g_autofree uint8_t *out = g_malloc0(kind->out_bytes);
    uint8_t in[16] = { 0 }, *s;
    Mlx5Cmd cmd = { .opcode = kind->opcode, .in = in, .in_len = sizeof(in),
                    .out = out, .out_len = kind->out_bytes };

    mlx5_prm_set(in, kind->id_off, 24, index);
    kind->query(func, &cmd);
    if (cmd.status) {
        const char *text = mlx5_syndrome_text(cmd.syndrome);

        s = SEGMENT(dump, ERROR, resource_dump_error_segment);
        MLX5_SET(resource_dump_error_segment, s, syndrome_id, cmd.syndrome);
        memcpy(MLX5_ADDR_OF(resource_dump_error_segment, s, error), text,
               MIN(strlen(text), 32));
        return;
    }
    s = segment(dump, kind->type, head + kind->out_bytes);
    MLX5_SET(resource_dump_resource_segment, s, index1, index);
    memcpy(s + head, out, kind->out_bytes);
}

/* Return: 0 or the syndrome of what is wrong. */
static uint32_t check(const uint8_t *in)
{
    uint32_t type = MLX5_GET(resource_dump, in, segment_type);

    if (type != MENU && !find(type)) {
        return MLX5_SYND_DUMP_TYPE;
    }
    if (MLX5_GET(resource_dump, in, inline_dump)) {
        return MLX5_SYND_DUMP_INLINE;
    }
    if (MLX5_GET(resource_dump, in, vhca_id)) {
        return MLX5_SYND_DUMP_VHCA;
    }
    if (type != MENU &&
        (MLX5_GET(resource_dump, in, index1) >> 24 ||
         MLX5_GET(resource_dump, in, index2) ||
         MLX5_GET(resource_dump, in, num_of_obj1) > ONE_OBJECT ||
         MLX5_GET(resource_dump, in, num_of_obj2))) {
        return MLX5_SYND_DUMP_INDEX;
    }
    return 0;
}

/* Write a piece to where the key says. Return: 0 or what is wrong. */
static uint32_t write_piece(Mlx5Func *func, const uint8_t *in,
                            const uint8_t *piece, uint32_t len)
{
    uint32_t key = MLX5_GET(resource_dump, in, mkey);
    uint64_t va = MLX5_GET(resource_dump, in, address);
    Mlx5Mkey *mkey = mlx5_obj_get(func, MLX5_OBJ_MKEY, key >> 8);
    g_autoptr(Mlx5Ranges) ranges = mlx5_ranges_new();
    Mlx5MkeyUser user = { .pdn = mkey ? MLX5_GET(mkc, mkey->mkc, pd) : 0 };

    if (!mkey || mlx5_mkey_resolve(func, &user, key, va, len,
                                   MLX5_ACCESS_LOCAL_WRITE, ranges) !=
                     MLX5_MKEY_OK) {
        return MLX5_SYND_DUMP_KEY;
    }
    for (guint i = 0; i < ranges->len; i++) {
        const Mlx5Range *r = &ranges->data[i];

        if (r->addr != MLX5_NOWHERE &&
            !mlx5_dma_write(func, r->addr, piece, r->len)) {
            return MLX5_SYND_DUMP_MEMORY;
        }
        piece += r->len;
    }
    return 0;
}

static GByteArray *make(Mlx5Func *func, const uint8_t *in)
{
    uint16_t type = MLX5_GET(resource_dump, in, segment_type);
    GByteArray *dump = g_byte_array_new();

    put_info(func, dump);
    put_command(func, in, dump);
    if (type == MENU) {
        put_menu(dump);
    } else {
        put_resource(func, find(type), MLX5_GET(resource_dump, in, index1),
                     dump);
    }
    SEGMENT(dump, TERMINATE, resource_dump_terminate_segment);
    return dump;
}

/* Return: 0 or the syndrome of what is wrong. */
static uint32_t give(Mlx5Func *func, Mlx5RegAccess *acc)
{
    g_autoptr(GByteArray) dump = make(func, acc->in);
    uint64_t at = MLX5_GET(resource_dump, acc->in, device_opaque);
    uint32_t room = MLX5_GET(resource_dump, acc->in, size) & ~3u, len, bad;

    if (at > dump->len) {
        return MLX5_SYND_DUMP_OPAQUE;
    }
    if (!room) {
        return MLX5_SYND_DUMP_SIZE;
    }
    len = MIN(room, dump->len - at);
    bad = write_piece(func, acc->in, dump->data + at, len);
    if (bad) {
        return bad;
    }
    memcpy(acc->out, acc->in, acc->bytes);
    MLX5_SET(resource_dump, acc->out, size, len);
    MLX5_SET(resource_dump, acc->out, more_dump, at + len < dump->len);
    MLX5_SET(resource_dump, acc->out, device_opaque, at + len);
    MLX5_SET(resource_dump, acc->out, seq_num,
             (MLX5_GET(resource_dump, acc->in, seq_num) + 1) % SEQ_NUMS);
    return 0;
}

void mlx5_reg_resource_dump(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5RegAccess *acc)
{
    uint32_t bad;

    if (!mlx5_check_param(cmd, func->props.resource_dump,
                          MLX5_SYND_DUMP_OFF) ||
        !mlx5_check_param(cmd, acc->write, MLX5_SYND_DUMP_READ)) {
        return;
    }
    bad = check(acc->in);
    if (!bad) {
        bad = give(func, acc);
    }
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
    }
}
