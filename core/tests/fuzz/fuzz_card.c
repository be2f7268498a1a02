/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile driver, driven by bytes: commands that are almost valid, entries
 * and mailboxes full of noise, send WQEs with bits flipped, writes all over
 * the BAR, memory that fails, frames from the wire. The card may refuse all of
 * it; it must not crash, hang, or trip a sanitizer.
 *
 * fuzz.h tells how to run it.
 */
#include <stdio.h>

#include "fw/cmd_layouts.h"
#include "tests/fake_driver.h"
#include "tests/fuzz/fuzz.h"
#include "tests/rdma/rdma_helper.h"

#define ACTIONS 150          /* in a round, at most */
#define SLICES 32            /* of the engine, an action: bounds its copying */
#define MAX_TEMPLATES 80
#define MAX_IDS 32

const gint64 fuzz_default_ms = 2000;
const uint64_t fuzz_default_seed = 0;
const unsigned fuzz_default_rounds = 0;

/* Memory ends here, so that no transfer fills the machine's. */
#define RAM_END UINT64_C(0x44000000)

/* A command that the card accepted. */
typedef struct Template {
    uint8_t *in;
    uint32_t len;
} Template;

typedef struct Fuzz {
    FuzzBytes bytes;
    FakeHost *h;
    FakeDriver *d;
    RTest t;
    RQp qp[4];
    Template templates[MAX_TEMPLATES];
    unsigned num_templates;
    uint32_t ids[MAX_IDS];   /* what commands returned: objects, likely */
    unsigned num_ids;
} Fuzz;

/* What came of it, for the summary: noise that is all refused at the door
 * tests nothing. */
static struct {
    unsigned accepted, refused, undelivered, completions;
} seen;

static uint64_t take(Fuzz *f, unsigned bytes)
{
    return fuzz_take(&f->bytes, bytes);
}

static uint32_t below(Fuzz *f, uint32_t n)
{
    return fuzz_below(&f->bytes, n);
}

/* A word that may mean something where it is put. */
static uint32_t word(Fuzz *f)
{
    static const uint32_t edges[] = {
        0, 1, 2, 0xff, 0x100, 0xfff, 0x1000, 0xffff, 0xffffff, 0x1000000,
        0x7fffffff, 0x80000000, 0xffffff00, 0xffffffff, 0x40001000, 0x43fff000,
    };

    switch (below(f, 4)) {
    case 0:
        return edges[below(f, G_N_ELEMENTS(edges))];
    case 1:
        return f->ids[below(f, MAX_IDS)];
    case 2:
        return f->ids[below(f, MAX_IDS)] << 8 | take(f, 1);
    default:
        return take(f, 4);
    }
}

/* Change some of @len bytes: words, bytes, bits. */
static void mutate(Fuzz *f, uint8_t *b, uint32_t len)
{
    unsigned n = below(f, 5);

    while (n-- && len >= 4) {
        uint32_t at = below(f, MIN(len, 65536));
        uint32_t be = GUINT32_TO_BE(word(f));

        switch (below(f, 3)) {
        case 0:
            memcpy(b + (at & ~3u), &be, MIN(4, len - (at & ~3u)));
            break;
        case 1:
            b[at] = take(f, 1);
            break;
        default:
            b[at] ^= 1u << below(f, 8);
            break;
        }
    }
}

/* --- commands --- */

static const struct {
    uint16_t opcode;
    uint32_t in_len, out_len;
} commands[] = {
#define MLX5_CMD(op, name, layout, handler, flags) \
    { op, MLX5_ST_SZ_BYTES(layout##_in), MLX5_ST_SZ_BYTES(layout##_out) },
#define MLX5_CMD_UNKNOWN(op, name) { op, 64, 64 },
#include "fw/opcodes.def"
#undef MLX5_CMD
#undef MLX5_CMD_UNKNOWN
};

/* What the driver put into @slot stays in memory: keep it. */
static void keep_template(Fuzz *f, unsigned slot)
{
    uint8_t e[64];
    uint64_t gpa;
    Template *t = &f->templates[f->num_templates];

    fake_mem_read(f->h, f->d->cmdq_gpa + slot * 64, e, sizeof(e));
    t->len = MLX5_GET(cmd_queue_entry, e, input_length);
    if (t->len < 16 || t->len > 8192 || f->num_templates == MAX_TEMPLATES) {
        return;
    }
    f->num_templates++;
    t->in = g_malloc0(t->len);
    memcpy(t->in, e + 0x10, 16);
    gpa = MLX5_GET(cmd_queue_entry, e, input_mailbox_pointer);
    for (uint32_t at = 16; at < t->len; at += 512, gpa += 1024) {
        fake_mem_read(f->h, gpa, t->in + at, MIN(512, t->len - at));
    }
}

static void work(Fuzz *f)
{
    for (unsigned i = 0; i < SLICES && mlx5_func_work(f->h->func); i++) {
        /* a large transfer goes on at the next action */
    }
}

static void ring(Fuzz *f, unsigned slot)
{
    fake_driver_ring(f->d, 1u << slot);
    work(f);
}

static void keep_id(Fuzz *f, unsigned slot)
{
    uint8_t out[16];

    fake_driver_result(f->d, slot, out, sizeof(out));
    if (f->d->delivery) {
        seen.undelivered++;
    } else if (out[0]) {
        seen.refused++;
    } else {
        seen.accepted++;
        f->ids[f->num_ids++ % MAX_IDS] = mlx5_prm_get(out, 0x40, 32) & 0xffffff;
    }
}

static void run_command(Fuzz *f, uint8_t *in, uint32_t len, uint32_t out_len)
{
    unsigned slot = below(f, 31);

    mutate(f, in, len);
    fake_driver_post(f->d, slot, in, len, out_len);
    ring(f, slot);
    keep_id(f, slot);
}

static void do_template(Fuzz *f)
{
    const Template *t = &f->templates[below(f, f->num_templates)];
    g_autofree uint8_t *in = g_memdup2(t->in, t->len);

    run_command(f, in, t->len, 16 + 16 * below(f, 64));
}

static void do_opcode(Fuzz *f)
{
    unsigned i = take(f, 2) % G_N_ELEMENTS(commands);
    uint32_t more = below(f, 4) ? 0 : 8 * below(f, 200);
    uint32_t len = commands[i].in_len + more;
    g_autofree uint8_t *in = g_malloc0(len);
    uint16_t be = GUINT16_TO_BE(commands[i].opcode);

    memcpy(in, &be, 2);
    if (len >= 16) {
        mlx5_prm_set(in, 0x40, 32, word(f));
    }
    run_command(f, in, len, commands[i].out_len);
}

/* A good command whose entry or mailboxes are then spoilt. */
static void do_entry(Fuzz *f)
{
    const Template *t = &f->templates[below(f, f->num_templates)];
    unsigned slot = below(f, 31);
    uint64_t at[] = { f->d->cmdq_gpa + slot * 64, f->d->in_gpa[slot],
                      f->d->out_gpa[slot] };
    uint32_t len[] = { 64, 576, 576 };
    unsigned which = below(f, 3);
    uint8_t b[576];

    fake_driver_post(f->d, slot, t->in, t->len, 16 + below(f, 2000));
    fake_mem_read(f->h, at[which], b, len[which]);
    mutate(f, b, len[which]);
    fake_mem_write(f->h, at[which], b, len[which]);
    ring(f, slot);
}

/* --- the BAR, memory, the wire --- */

static void do_bar(Fuzz *f)
{
    unsigned size = 1u << below(f, 4);
    uint64_t at = below(f, 3) ? f->d->uar * 4096 + (take(f, 2) & 0xfff)
                              : take(f, 2) & 0x3fff;

    if (below(f, 4)) {
        at &= ~UINT64_C(7);
        size = MAX(size, 4);
    }
    if (below(f, 8) == 0) {
        at = take(f, 4);
    }
    mlx5_func_bar_read(f->h->func, at, size);
    mlx5_func_bar_write(f->h->func, at, (uint64_t)word(f) << 32 | word(f),
                        size);
    work(f);
    /* The command queue's address was hit: that, too, restarts the card. */
    if (at >= 0x10 && at < 0x18) {
        mlx5_func_bar_write(f->h->func, 0x10, f->d->cmdq_gpa >> 32, 4);
        mlx5_func_bar_write(f->h->func, 0x14, (uint32_t)f->d->cmdq_gpa, 4);
    }
}

static void do_memory_fault(Fuzz *f)
{
    f->h->fail_after = take(f, 1);
}

static void do_time(Fuzz *f)
{
    f->h->now_ns += take(f, 4);
    mlx5_func_timer(f->h->func);
    work(f);
}

static void do_frame(Fuzz *f)
{
    uint8_t b[256];
    uint32_t len = below(f, sizeof(b));
    struct iovec iov = { b, len };

    for (uint32_t i = 0; i < len; i++) {
        b[i] = i < 14 ? take(f, 1) : i;
    }
    mlx5_card_frame_rx(f->h->card, &iov, 1);
    mlx5_card_set_link(f->h->card, below(f, 4));
    work(f);
}

static void do_look(Fuzz *f)
{
    g_free(mlx5_func_inspect(f->h->func));
    mlx5_func_vsc_write(f->h->func, 4 + below(f, 5) * 4, word(f));
    mlx5_func_vsc_read(f->h->func, 4 + below(f, 5) * 4);
}

/* --- work requests --- */

static void revive(RQp *q, uint32_t remote)
{
    r_set_state(q, MLX5_QP_STATE_RST);
    fake_mem_set_be32(q->h, q->dbr, 0);
    fake_mem_set_be32(q->h, q->dbr + 4, 0);
    q->sq_pi = q->rq_pi = 0;
    r_up(q, remote, 0x100, 0x100);
}

/* A pair of queue pairs may be gone or in error: then they are made anew. */
static void revive_pair(Fuzz *f, unsigned i)
{
    RQp *a = &f->qp[i & ~1u], *b = &f->qp[i | 1];

    a->qp = mlx5_obj_get(f->h->func, MLX5_OBJ_QP, a->qpn);
    b->qp = mlx5_obj_get(f->h->func, MLX5_OBJ_QP, b->qpn);
    if (a->qp && b->qp && (a->qp->state != MLX5_QP_STATE_RTS ||
                           b->qp->state != MLX5_QP_STATE_RTS)) {
        revive(a, b->qpn);
        revive(b, a->qpn);
    }
}

static uint64_t address(Fuzz *f)
{
    return UINT64_C(0x42000000) + (take(f, 2) << below(f, 10));
}

static void do_wqe(Fuzz *f)
{
    static const uint8_t opcodes[] = {
        MLX5_OPCODE_NOP, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
        MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_RDMA_READ,
        MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_UMR,
    };
    unsigned i = below(f, G_N_ELEMENTS(f->qp)), pieces = below(f, 4);
    uint8_t opcode = opcodes[below(f, G_N_ELEMENTS(opcodes))];
    RQp *q = &f->qp[i];
    RWqe w = r_wqe(opcode);
    uint8_t b[64];

    revive_pair(f, i);
    if (below(f, 2)) {
        r_recv(&f->qp[i ^ 1], address(f), take(f, 2));
    }
    if (opcode == MLX5_OPCODE_UMR) {
        w.len += 48 + 64; /* control and memory key context, to be mutated */
    } else if (opcode >= MLX5_OPCODE_RDMA_WRITE && opcode != MLX5_OPCODE_SEND &&
               opcode != MLX5_OPCODE_SEND_IMM) {
        r_raddr(&w, address(f) & ~UINT64_C(7), f->t.key);
    }
    if (opcode == MLX5_OPCODE_ATOMIC_CS || opcode == MLX5_OPCODE_ATOMIC_FA) {
        r_atomic(&w, take(f, 8), take(f, 8));
        r_data(&w, address(f), 8, f->t.key);
    }
    while (pieces--) {
        r_data(&w, address(f), take(f, 2), f->t.key);
    }
    r_put(q, &w);
    if (below(f, 3)) {
        uint64_t at = q->ring + q->sq_base + (uint16_t)(q->sq_pi - 1) %
                      (1u << R_LOG_SQ) * 64;

        fake_mem_read(f->h, at, b, sizeof(b));
        mutate(f, b, sizeof(b));
        fake_mem_write(f->h, at, b, sizeof(b));
    }
    r_ring(q);
    work(f);
    while (r_poll(q, &q->scq, b)) {
        seen.completions += MLX5_GET(cqe64, b, opcode) == MLX5_CQE_REQ;
    }
}

/* --- a round --- */

static void create_qp(Fuzz *f, Mlx5QpSt st)
{
    uint8_t in[MLX5_ST_SZ_BYTES(create_qp_in) + 4 * 8] = { 0 }, out[16];
    uint8_t *qpc = MLX5_ADDR_OF(create_qp_in, in, qpc);

    MLX5_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
    MLX5_SET(qpc, qpc, st, st);
    MLX5_SET(qpc, qpc, pm_state, 3);
    MLX5_SET(qpc, qpc, uar_page, f->d->uar);
    MLX5_SET(qpc, qpc, cqn_snd, f->qp[0].scq.cqn);
    MLX5_SET(qpc, qpc, cqn_rcv, f->qp[0].rcq.cqn);
    MLX5_SET(qpc, qpc, pd, f->d->pd);
    MLX5_SET(qpc, qpc, dbr_addr, fake_driver_alloc(f->d, 64));
    MLX5_SET(qpc, qpc, user_index, 0x123456);
    MLX5_SET(qpc, qpc, log_sq_size, 5);
    MLX5_SET(qpc, qpc, log_rq_size, 4);
    MLX5_SET(qpc, qpc, log_rq_stride, 2);
    t_pas(in, MLX5_BYTE_OFF(create_qp_in, pas), fake_driver_alloc(f->d, 16384),
          4);
    ck_assert(fake_driver_cmd(f->d, in, sizeof(in), out, sizeof(out)));
    f->ids[f->num_ids++] = MLX5_GET(create_qp_out, out, qpn);
}

static void make_queue_pairs(Fuzz *f)
{
    static const Mlx5QpSt st[] = { MLX5_QP_ST_RC, MLX5_QP_ST_UC };

    for (unsigned i = 0; i < 4; i++) {
        r_qp(&f->t, &f->qp[i], st[i / 2]);
        f->ids[f->num_ids++] = f->qp[i].qpn;
        f->ids[f->num_ids++] = f->qp[i].scq.cqn;
    }
    for (unsigned i = 0; i < 4; i++) {
        r_up(&f->qp[i], f->qp[i ^ 1].qpn, 0x100, 0x100);
    }
    create_qp(f, MLX5_QP_ST_RC);
    create_qp(f, MLX5_QP_ST_UD);
}

static void begin(Fuzz *f)
{
    Mlx5FuncProps props;

    mlx5_func_props_default(&props);
    props.tag_matching = true;
    memcpy(props.mac, r_mac, 6);
    props.boot_pages = props.init_pages = 8;
    f->h = fake_host_new(&props);
    f->h->ram_end = RAM_END;
    f->d = fake_driver_new(f->h);
    fake_driver_up(f->d);
    f->t = (RTest){ .h = f->h, .uar = f->d->uar, .eqn = f->d->comp_eq.number,
                    .pdn = f->d->pd, .key = f->d->dma_mkey };
    f->ids[f->num_ids++] = f->d->pd;
    f->ids[f->num_ids++] = f->d->uar;
    f->ids[f->num_ids++] = f->d->dma_mkey >> 8;
    f->ids[f->num_ids++] = f->d->comp_eq.number;
    r_gid_set(&f->t, 0, r_gid, MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV6);
    make_queue_pairs(f);
    fake_driver_create_cq_ok(f->d, 6, f->d->comp_eq.number);
    fake_driver_create_mr_ok(f->d, f->d->pd, 0x42000000, 100000);
    f->d->events = false;
    for (unsigned slot = 0; slot < 31; slot++) {
        keep_template(f, slot);
    }
}

static void end(Fuzz *f)
{
    for (unsigned i = 0; i < f->num_templates; i++) {
        g_free(f->templates[i].in);
    }
    fake_driver_free(f->d);
    fake_host_free(f->h);
}

static void (*const actions[])(Fuzz *f) = {
    do_template, do_template, do_template, do_opcode, do_opcode, do_entry,
    do_bar, do_wqe, do_wqe, do_wqe, do_time, do_frame, do_look,
    do_memory_fault,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Fuzz f = { .bytes = { data, size } };

    begin(&f);
    for (unsigned i = 0; i < ACTIONS && f.bytes.left; i++) {
        actions[below(&f, G_N_ELEMENTS(actions))](&f);
    }
    end(&f);
    return 0;
}

void fuzz_told(unsigned rounds)
{
    printf("%u rounds: commands %u accepted, %u refused, %u not delivered; "
           "%u good completions\n", rounds, seen.accepted, seen.refused,
           seen.undelivered, seen.completions);
}

bool fuzz_got_somewhere(unsigned rounds)
{
    /* Any ten rounds do. */
    return rounds < 10 || (seen.accepted && seen.completions);
}
