/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command queue: entries and mailboxes in guest memory, the doorbell,
 * delivery errors, completion (PRM: Command Interface; driver: cmd.c
 * cmd_work_handler, mlx5_cmd_comp_handler).
 *
 *   doorbell bit n --> entry n, copied once
 *     own bit clear: nothing asked, ignored
 *     fetch()        input copied whole, output blocks' addresses noted
 *       a fault there is a delivery status, the command is not run
 *     mlx5_cmd_execute()
 *     finish()       output blocks, inline output, own bit, then the event
 *
 * Rules of completion (contract of the drivers):
 * - a chain may be longer than the length needs: only the blocks that hold
 *   data are looked at, so a chain that points at itself ends as well;
 * - an event is raised only for a command that was started while an EQ for
 *   command events existed: the driver polls for the CREATE_EQ that makes it
 *   and the DESTROY_EQ that takes it away, and a bit for a polled command
 *   finds no waiter;
 * - each completion is reported once.
 *
 * Signatures are checked and written when the driver asked for it with the
 * capability cmdif_checksum; drivers in use turn it off.
 */
#include "fw/fw_internal.h"

#define ENTRY_BYTES MLX5_ST_SZ_BYTES(cmd_queue_entry)
#define INLINE_BYTES 16u
#define BLOCK_DATA 512u
#define BLOCK_BYTES MLX5_ST_SZ_BYTES(cmd_mailbox)
#define BLOCK_CTRL (BLOCK_BYTES - BLOCK_DATA)
#define BLOCK_ALIGN 512u
#define TYPE_PCI 7
/* Page lists of large memory regions come by command: 8 bytes a 4 KiB page. */
#define MAX_IN_BYTES (16u * 1024 * 1024 + 4096)
#define MAX_OUT_BYTES (1024u * 1024)
#define MIN_BYTES 8u         /* opcode and op_mod; status and syndrome */
#define HOLD_NS 200000       /* cmd_reorder: completions wait this long */

/** Delivery status, bits 7:1 of the last byte (driver: cmd.c). */
typedef enum Delivery {
    DELIVERY_OK = 0x0,
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
} Delivery;

/** A command between its doorbell and its completion. */
typedef struct Slot {
    unsigned number;
    uint64_t entry_gpa;
    uint8_t entry[ENTRY_BYTES];
    bool checksum;
    bool event;              /* an EQ waits for its completion */
    Delivery delivery;
    uint32_t in_len, out_len;
    uint8_t *in, *out;
    GArray *out_blocks;      /* uint64_t addresses */
} Slot;

static void slot_free(gpointer opaque)
{
    Slot *s = opaque;

    g_free(s->in);
    g_free(s->out);
    g_clear_pointer(&s->out_blocks, g_array_unref);
    g_free(s);
}

static uint8_t xor8(const uint8_t *p, size_t len)
{
    uint8_t x = 0;

    while (len--) {
        x ^= *p++;
    }
    return x;
}

static uint32_t blocks_needed(uint32_t len)
{
    return len > INLINE_BYTES ? (len - INLINE_BYTES + BLOCK_DATA - 1) / BLOCK_DATA : 0;
}

/* Check one mailbox's control part, @ctrl = its last 64 bytes. */
static Delivery check_block(const Slot *s, const uint8_t *block, uint32_t index)
{
    uint8_t token = MLX5_GET(cmd_queue_entry, s->entry, token);

    if (s->checksum && (xor8(block + BLOCK_DATA, BLOCK_CTRL - 1) != 0xff ||
                        xor8(block, BLOCK_BYTES) != 0xff)) {
        return DELIVERY_SIGNATURE;
    }
    /* Token 0: a driver that does not use them (rdma-core mlx5_vfio). */
    if (token == 0) {
        return DELIVERY_OK;
    }
    if (MLX5_GET(cmd_mailbox, block, token) != token) {
        return DELIVERY_TOKEN;
    }
    if (MLX5_GET(cmd_mailbox, block, block_number) != index) {
        return DELIVERY_BLOCK_NUMBER;
    }
    return DELIVERY_OK;
}

static Delivery fetch_input(Mlx5Func *func, Slot *s)
{
    uint64_t gpa = MLX5_GET(cmd_queue_entry, s->entry, input_mailbox_pointer);
    uint32_t n = blocks_needed(s->in_len);
    uint16_t opcode;

    memcpy(&opcode, MLX5_ADDR_OF(cmd_queue_entry, s->entry,
                                 command_input_inline_data), 2);
    s->in = g_malloc0(MAX(s->in_len, mlx5_cmd_in_bytes(GUINT16_FROM_BE(opcode))));
    memcpy(s->in, MLX5_ADDR_OF(cmd_queue_entry, s->entry,
                               command_input_inline_data),
           MIN(s->in_len, INLINE_BYTES));
    for (uint32_t i = 0; i < n; i++) {
        uint8_t block[BLOCK_BYTES];
        uint32_t at = INLINE_BYTES + i * BLOCK_DATA;
        Delivery bad;

        if (gpa % BLOCK_ALIGN) {
            return DELIVERY_IN_PTR_ALIGN;
        }
        if (!mlx5_dma_read(func, gpa, block, sizeof(block))) {
            return DELIVERY_FW;
        }
        bad = check_block(s, block, i);
        if (bad) {
            return bad;
        }
        memcpy(s->in + at, block, MIN(BLOCK_DATA, s->in_len - at));
        gpa = MLX5_GET(cmd_mailbox, block, next_pointer);
    }
    return DELIVERY_OK;
}

/* Where the output goes is settled before the command runs. */
static Delivery fetch_output_chain(Mlx5Func *func, Slot *s)
{
    uint64_t gpa = MLX5_GET(cmd_queue_entry, s->entry, output_mailbox_pointer);
    uint32_t n = blocks_needed(s->out_len);

    s->out_blocks = g_array_new(false, false, sizeof(uint64_t));
    for (uint32_t i = 0; i < n; i++) {
        uint8_t block[BLOCK_BYTES] = { 0 };
        Slot no_sig = *s;
        Delivery bad;

        if (gpa % BLOCK_ALIGN) {
            return DELIVERY_OUT_PTR_ALIGN;
        }
        if (!mlx5_range_ok(gpa, BLOCK_BYTES) ||
            !mlx5_dma_read(func, gpa + BLOCK_DATA, block + BLOCK_DATA,
                           BLOCK_CTRL)) {
            return DELIVERY_FW;
        }
        no_sig.checksum = false; /* output blocks are ours to sign */
        bad = check_block(&no_sig, block, i);
        if (bad) {
            return bad;
        }
        g_array_append_val(s->out_blocks, gpa);
        gpa = MLX5_GET(cmd_mailbox, block, next_pointer);
    }
    return DELIVERY_OK;
}

static Delivery check_entry(Slot *s)
{
    static const uint8_t zero[3];

    if (MLX5_GET(cmd_queue_entry, s->entry, type) != TYPE_PCI) {
        return DELIVERY_TYPE;
    }
    if (memcmp(s->entry + 1, zero, 3) || s->entry[ENTRY_BYTES - 2]) {
        return DELIVERY_RESERVED;
    }
    if (s->checksum && xor8(s->entry, ENTRY_BYTES) != 0xff) {
        return DELIVERY_SIGNATURE;
    }
    s->in_len = MLX5_GET(cmd_queue_entry, s->entry, input_length);
    s->out_len = MLX5_GET(cmd_queue_entry, s->entry, output_length);
    if (s->in_len < MIN_BYTES || s->in_len > MAX_IN_BYTES) {
        return DELIVERY_IN_LENGTH;
    }
    if (s->out_len < MIN_BYTES || s->out_len > MAX_OUT_BYTES) {
        return DELIVERY_OUT_LENGTH;
    }
    return DELIVERY_OK;
}

static Delivery fetch(Mlx5Func *func, Slot *s)
{
    Delivery bad = check_entry(s);

    bad = bad ? bad : fetch_input(func, s);
    return bad ? bad : fetch_output_chain(func, s);
}

/* --- completion --------------------------------------------------------- */

static void write_blocks(Mlx5Func *func, const Slot *s)
{
    uint8_t token = MLX5_GET(cmd_queue_entry, s->entry, token);

    for (uint32_t i = 0; i < s->out_blocks->len; i++) {
        uint64_t gpa = g_array_index(s->out_blocks, uint64_t, i);
        uint32_t at = INLINE_BYTES + i * BLOCK_DATA;
        uint8_t block[BLOCK_BYTES] = { 0 };

        memcpy(block, s->out + at, MIN(BLOCK_DATA, s->out_len - at));
        if (!s->checksum) {
            mlx5_dma_write(func, gpa, block, MIN(BLOCK_DATA, s->out_len - at));
            continue;
        }
        if (i + 1 < s->out_blocks->len) {
            MLX5_SET(cmd_mailbox, block, next_pointer,
                     g_array_index(s->out_blocks, uint64_t, i + 1));
        }
        MLX5_SET(cmd_mailbox, block, block_number, i);
        MLX5_SET(cmd_mailbox, block, token, token);
        MLX5_SET(cmd_mailbox, block, ctrl_signature,
                 (uint8_t)~xor8(block + BLOCK_DATA, BLOCK_CTRL - 2));
        MLX5_SET(cmd_mailbox, block, signature,
                 (uint8_t)~xor8(block, BLOCK_BYTES - 1));
        mlx5_dma_write(func, gpa, block, sizeof(block));
    }
}

/* Output in the guest's memory, the byte with the own bit last. */
static void write_back(Mlx5Func *func, Slot *s)
{
    uint8_t *e = s->entry;
    uint8_t *inline_out = MLX5_ADDR_OF(cmd_queue_entry, e,
                                       command_output_inline_data);

    if (!s->delivery) {
        write_blocks(func, s);
        memset(inline_out, 0, INLINE_BYTES);
        memcpy(inline_out, s->out, MIN(s->out_len, INLINE_BYTES));
        mlx5_dma_write(func, s->entry_gpa +
                       MLX5_BYTE_OFF(cmd_queue_entry,
                                     command_output_inline_data),
                       inline_out, INLINE_BYTES);
    }
    MLX5_SET(cmd_queue_entry, e, status, s->delivery);
    MLX5_SET(cmd_queue_entry, e, ownership, 0);
    if (s->checksum) {
        MLX5_SET(cmd_queue_entry, e, signature, 0);
        MLX5_SET(cmd_queue_entry, e, signature, (uint8_t)~xor8(e, ENTRY_BYTES));
        mlx5_dma_write(func, s->entry_gpa + ENTRY_BYTES - 3,
                       &e[ENTRY_BYTES - 3], 1);
    }
    mlx5_dma_write(func, s->entry_gpa + ENTRY_BYTES - 1, &e[ENTRY_BYTES - 1], 1);
}

static void raise_event(Mlx5Func *func, uint32_t vector)
{
    uint8_t data[28] = { 0 };

    if (vector) {
        MLX5_SET(eqe_cmd, data, vector, vector);
        mlx5_event_raise(func, MLX5_FW_EVENT_CMD, 0, data);
    }
}

static void finish(Mlx5Func *func, Slot *s)
{
    write_back(func, s);
    func->fw->busy_slots &= ~(1u << s->number);
    raise_event(func, s->event ? 1u << s->number : 0);
}

/* Property cmd_reorder: complete what waits in an order of chance. */
static void release_held(void *opaque)
{
    Mlx5Func *func = opaque;
    GPtrArray *held = func->fw->held;

    while (held->len) {
        uint32_t pick;
        g_autoptr(GPtrArray) one = g_ptr_array_new_with_free_func(slot_free);

        func->ops->random(func->host, &pick, sizeof(pick));
        g_ptr_array_add(one, g_ptr_array_steal_index_fast(held,
                                                          pick % held->len));
        finish(func, one->pdata[0]);
    }
}

void mlx5_cmdq_init(Mlx5Func *func)
{
    func->fw->held = g_ptr_array_new_with_free_func(slot_free);
    mlx5_timer_init(&func->fw->held_timer, release_held, func);
}

void mlx5_cmdq_drop(Mlx5Func *func)
{
    mlx5_timer_cancel(func, &func->fw->held_timer);
    g_ptr_array_set_size(func->fw->held, 0);
    func->fw->busy_slots = 0;
}

static bool hold(Mlx5Func *func, Slot *s)
{
    Mlx5Fw *fw = func->fw;

    if (!func->props.cmd_reorder || !s->event) {
        return false;
    }
    g_ptr_array_add(fw->held, s);
    if (!mlx5_timer_armed(&fw->held_timer)) {
        mlx5_timer_arm(func, &fw->held_timer, mlx5_clock_ns(func) + HOLD_NS);
    }
    return true;
}

/* --- doorbell ----------------------------------------------------------- */

static void execute(Mlx5Func *func, Slot *s)
{
    Mlx5Cmd cmd = { .in = s->in, .in_len = s->in_len, .out_len = s->out_len };

    memcpy(&cmd.opcode, s->in, 2);
    cmd.opcode = GUINT16_FROM_BE(cmd.opcode);
    s->out = g_malloc0(MAX(s->out_len, mlx5_cmd_out_bytes(cmd.opcode)));
    cmd.out = s->out;
    mlx5_cmd_execute(func, &cmd, s->number);
}

/* Return: NULL if the slot asks for nothing. */
static Slot *open_slot(Mlx5Func *func, unsigned number)
{
    Mlx5Fw *fw = func->fw;
    Slot *s = g_new0(Slot, 1);

    s->number = number;
    s->entry_gpa = fw->cmdq_gpa + ((uint64_t)number << MLX5_CMDQ_LOG_STRIDE);
    if (!mlx5_dma_read(func, s->entry_gpa, s->entry, ENTRY_BYTES)) {
        mlx5_guest_error(func, "command queue is not in guest RAM");
    } else if (!MLX5_GET(cmd_queue_entry, s->entry, ownership)) {
        mlx5_guest_error(func, "command doorbell for slot %u, not ours", number);
    } else {
        s->checksum = MLX5_FW_CAP_GEN(func, cmdif_checksum);
        s->event = mlx5_event_wanted(func, MLX5_FW_EVENT_CMD);
        return s;
    }
    slot_free(s);
    return NULL;
}

static void run_slot(Mlx5Func *func, unsigned number)
{
    Slot *s = open_slot(func, number);

    if (!s) {
        return;
    }
    func->fw->busy_slots |= 1u << number;
    s->delivery = fetch(func, s);
    if (s->delivery) {
        mlx5_trace(func, MLX5_TRACE_CMD, "slot %u: delivery status 0x%x",
                   number, s->delivery);
    } else {
        execute(func, s);
    }
    if (!hold(func, s)) {
        finish(func, s);
        slot_free(s);
    }
}

void mlx5_cmdq_doorbell(Mlx5Func *func, uint32_t vector)
{
    Mlx5Fw *fw = func->fw;

    for (unsigned i = 0; i < MLX5_CMDQ_SLOTS; i++) {
        if (!(vector & 1u << i)) {
            continue;
        }
        if (!fw->cmdq_valid) {
            mlx5_guest_error(func, "command doorbell without a command queue");
            return;
        }
        if (fw->busy_slots & 1u << i) {
            mlx5_guest_error(func, "command doorbell for busy slot %u", i);
            continue;
        }
        run_slot(func, i);
    }
}
