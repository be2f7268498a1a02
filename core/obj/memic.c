/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory; see memic.h. (PRM: ALLOC_MEMIC, DEALLOC_MEMIC, MODIFY_MEMIC;
 * driver: mlx5_ib dm.c.)
 *
 * The driver gives each allocation pages of the window and says which; memory
 * is where the window shows it. An allocation begins zeroed: what another
 * program left there is not for the next one to see.
 *
 * unknown: what an increment of several bytes takes for their order; here a
 * number in the order of the host's processors, as atomics have it.
 */
#include "obj/memic.h"

#include "bus/dma.h"
#include "obj/check.h"

#define PAGE_BYTES 4096u
/* log_min_memic_alloc_size; the alignment of an address is 64 * 2^n. */
#define UNIT_BYTES 64u
#define LOG_MAX_ALIGN 6u     /* 64 * 2^6: a page */

/* op_mod of MODIFY_MEMIC */
enum {
    OP_MOD_ALLOC = 0,
    OP_MOD_DEALLOC = 1,
};

void mlx5_memic_new(Mlx5Func *func)
{
    if (func->props.dm) {
        func->memic_owned = func->props.memic ? NULL
                                              : g_malloc0(MLX5_MEMIC_BYTES);
        func->memic = func->props.memic ? func->props.memic
                                        : func->memic_owned;
    }
}

void mlx5_memic_reset(Mlx5Func *func)
{
    if (func->memic) {
        memset(func->memic, 0, MLX5_MEMIC_BYTES);
    }
}

void mlx5_memic_free(Mlx5Func *func)
{
    g_clear_pointer(&func->memic_owned, g_free);
}

/* ---- the windows ---- */

bool mlx5_memic_in_bar(const Mlx5Func *func, uint64_t offset)
{
    return func->memic && offset >= mlx5_memic_bar_start(&func->props);
}

/* A number of the guest's processors, from the order of the bus. */
static uint64_t from_bus(uint64_t value, unsigned size)
{
    return GUINT64_FROM_BE(value << (64 - size * 8));
}

static uint64_t to_bus(uint64_t value, unsigned size)
{
    return GUINT64_TO_BE(value) >> (64 - size * 8);
}

/*
 * Add to, or replace, aligned bytes in one step, also for processors that have
 * the memory mapped. Return: what was there.
 */
#define ATOMIC_OF_SIZE(what, p, size, v)                              \
    ((size) == 1 ? what((uint8_t *)(p), (uint8_t)(v), __ATOMIC_SEQ_CST)   \
     : (size) == 2 ? what((uint16_t *)(void *)(p), (uint16_t)(v),     \
                          __ATOMIC_SEQ_CST)                           \
     : (size) == 4 ? what((uint32_t *)(void *)(p), (uint32_t)(v),     \
                          __ATOMIC_SEQ_CST)                           \
     : what((uint64_t *)(void *)(p), (uint64_t)(v), __ATOMIC_SEQ_CST))

static uint64_t test_and_set(uint8_t *p, unsigned size)
{
    return ATOMIC_OF_SIZE(__atomic_exchange_n, p, size, 1);
}

static void increment(uint8_t *p, unsigned size, uint64_t by)
{
    (void)ATOMIC_OF_SIZE(__atomic_fetch_add, p, size, by);
}

typedef struct Find {
    uint64_t at, len;
    Mlx5Memic *found;
} Find;

static void match(void *obj, void *opaque)
{
    Mlx5Memic *memic = obj;
    Find *f = opaque;

    if (mlx5_range_inside(f->at, f->len, memic->at, memic->range_bytes)) {
        f->found = memic;
    }
}

static Mlx5Memic *find_at(Mlx5Func *func, uint64_t at, uint64_t len)
{
    Find f = { .at = at, .len = len };

    mlx5_obj_foreach(func, MLX5_OBJ_MEMIC, match, &f);
    return f.found;
}

/* Which window, and where in it; @size bytes are aligned, hence inside. */
static unsigned window_of(Mlx5Func *func, uint64_t offset, uint64_t *at)
{
    uint64_t in = offset - mlx5_memic_bar_start(&func->props);

    *at = in % MLX5_MEMIC_BYTES;
    return in / MLX5_MEMIC_BYTES;
}

/* May the bytes at @at be used with operation @op? */
static bool op_allowed(Mlx5Func *func, unsigned op, uint64_t at, unsigned size)
{
    const Mlx5Memic *memic = find_at(func, at, size);

    if (memic && memic->ops >> op & 1) {
        return true;
    }
    mlx5_guest_error(func, "device memory: operation %u at 0x%x is not "
                     "allocated", op, (unsigned)at);
    return false;
}

uint64_t mlx5_memic_bar_read(Mlx5Func *func, uint64_t offset, unsigned size)
{
    uint64_t at, value = 0;
    unsigned window = window_of(func, offset, &at);

    if (window == 1 + MLX5_MEMIC_OP_TEST_AND_SET &&
        op_allowed(func, window - 1, at, size)) {
        return to_bus(test_and_set(func->memic + at, size), size);
    }
    if (window == 0) {
        memcpy(&value, func->memic + at, size);
    }
    return to_bus(GUINT64_FROM_LE(value), size);
}

void mlx5_memic_bar_write(Mlx5Func *func, uint64_t offset, uint64_t value,
                          unsigned size)
{
    uint64_t at, number = from_bus(value, size);
    unsigned window = window_of(func, offset, &at);

    if (window == 0) {
        number = GUINT64_TO_LE(number);
        memcpy(func->memic + at, &number, size);
    } else if (window == 1 + MLX5_MEMIC_OP_INCREMENT &&
               op_allowed(func, window - 1, at, size)) {
        increment(func->memic + at, size, number);
    }
}

Mlx5Memic *mlx5_memic_find(Mlx5Func *func, uint64_t offset, uint64_t len,
                           uint64_t *at)
{
    if (!func->memic || offset < mlx5_memic_bar_start(&func->props)) {
        return NULL;
    }
    *at = offset - mlx5_memic_bar_start(&func->props);
    return find_at(func, *at, len);
}

/* ---- commands ---- */

static bool offered(Mlx5Func *func, Mlx5Cmd *cmd)
{
    return mlx5_check(cmd, func->props.dm, MLX5_CMD_STAT_BAD_OP_ERR,
                      MLX5_SYND_MEMIC_OFF);
}

static uint32_t check_alloc(uint64_t start, uint64_t range, uint64_t size,
                            uint32_t log_align)
{
    if (start % PAGE_BYTES || !range || range % PAGE_BYTES ||
        !mlx5_range_inside(start, range, 0, MLX5_MEMIC_BYTES)) {
        return MLX5_SYND_MEMIC_RANGE;
    }
    if (!size || size % UNIT_BYTES || size > range ||
        size > MLX5_MEMIC_MAX_BYTES) {
        return MLX5_SYND_MEMIC_SIZE;
    }
    return log_align > LOG_MAX_ALIGN ? MLX5_SYND_MEMIC_ALIGN : 0;
}

static void overlap(void *obj, void *opaque)
{
    const Mlx5Memic *memic = obj;
    Find *f = opaque;

    if (f->at < (uint64_t)memic->at + memic->range_bytes &&
        memic->at < f->at + f->len) {
        f->found = obj;
    }
}

void mlx5_cmd_alloc_memic(Mlx5Func *func, Mlx5Cmd *cmd)
{
    uint64_t bar = MLX5_GET(alloc_memic_in, cmd->in, range_start_addr);
    uint64_t size = MLX5_GET(alloc_memic_in, cmd->in, memic_size);
    Find f = { .at = bar - mlx5_memic_bar_start(&func->props),
               .len = MLX5_GET(alloc_memic_in, cmd->in, range_size) };
    Mlx5Memic *memic;
    uint32_t bad;

    if (!offered(func, cmd)) {
        return;
    }
    bad = check_alloc(f.at, f.len, size,
                      MLX5_GET(alloc_memic_in, cmd->in,
                               log_memic_addr_alignment));
    if (bad) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
        return;
    }
    mlx5_obj_foreach(func, MLX5_OBJ_MEMIC, overlap, &f);
    if (f.found) {
        /* The driver then tries the next page (dm.c). */
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_NO_RES_ERR, MLX5_SYND_MEMIC_TAKEN);
        return;
    }
    memic = mlx5_obj_new(func, MLX5_OBJ_MEMIC, sizeof(*memic), cmd->uid);
    /* There are as many numbers as pages, and each takes one at least. */
    g_assert(memic);
    memic->at = f.at;
    memic->range_bytes = f.len;
    memic->bytes = size;
    memset(func->memic + memic->at, 0, memic->range_bytes);
    MLX5_SET(alloc_memic_out, cmd->out, memic_start_addr, bar);
}

/* The allocation that begins at BAR0's @bar, or the command is refused. */
static Mlx5Memic *find_for_cmd(Mlx5Func *func, Mlx5Cmd *cmd, uint64_t bar,
                               uint32_t syndrome)
{
    uint64_t at;
    Mlx5Memic *memic = mlx5_memic_find(func, bar, 1, &at);

    if (!mlx5_check(cmd, memic && memic->at == at, MLX5_CMD_STAT_BAD_RES_ERR,
                    syndrome)) {
        return NULL;
    }
    return memic;
}

void mlx5_cmd_dealloc_memic(Mlx5Func *func, Mlx5Cmd *cmd)
{
    Mlx5Memic *memic = find_for_cmd(func, cmd,
                                    MLX5_GET(dealloc_memic_in, cmd->in,
                                             memic_start_addr),
                                    MLX5_SYND_MEMIC_UNKNOWN);

    if (!memic ||
        !mlx5_check_param(cmd, MLX5_GET(dealloc_memic_in, cmd->in,
                                        memic_size) == memic->bytes,
                          MLX5_SYND_MEMIC_OTHER_SIZE) ||
        !mlx5_check(cmd, !memic->o.refs && !memic->ops,
                    MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_MEMIC_BUSY)) {
        return;
    }
    mlx5_obj_delete(memic);
}

static void op_alloc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5Memic *memic, uint32_t op)
{
    if (!mlx5_check(cmd, !(memic->ops >> op & 1),
                    MLX5_CMD_STAT_BAD_RES_STATE_ERR, MLX5_SYND_MEMIC_OP_TWICE)) {
        return;
    }
    memic->ops |= 1u << op;
    MLX5_SET(modify_memic_out, cmd->out, memic_operation_addr,
             mlx5_memic_bar_start(&func->props) + memic->at +
             (uint64_t)MLX5_MEMIC_BYTES * (1 + op));
}

static void op_dealloc(Mlx5Func *func, Mlx5Cmd *cmd, Mlx5Memic *memic,
                       uint32_t op)
{
    (void)func;
    if (mlx5_check(cmd, memic->ops >> op & 1, MLX5_CMD_STAT_BAD_RES_STATE_ERR,
                   MLX5_SYND_MEMIC_OP_NONE)) {
        memic->ops &= ~(1u << op);
    }
}

void mlx5_cmd_modify_memic(Mlx5Func *func, Mlx5Cmd *cmd)
{
    static void (*const row[])(Mlx5Func *, Mlx5Cmd *, Mlx5Memic *, uint32_t) = {
        [OP_MOD_ALLOC] = op_alloc,
        [OP_MOD_DEALLOC] = op_dealloc,
    };
    uint32_t op = MLX5_GET(modify_memic_in, cmd->in, memic_operation_type);
    Mlx5Memic *memic;

    memic = find_for_cmd(func, cmd, MLX5_GET(modify_memic_in, cmd->in,
                                             memic_start_addr),
                         MLX5_SYND_MEMIC_MODIFY_UNKNOWN);
    if (memic &&
        mlx5_check_param(cmd, cmd->op_mod < G_N_ELEMENTS(row),
                         MLX5_SYND_MEMIC_OP_MOD) &&
        mlx5_check_param(cmd, op < MLX5_MEMIC_OP_COUNT,
                         MLX5_SYND_MEMIC_OP_TYPE)) {
        row[cmd->op_mod](func, cmd, memic, op);
    }
}
