/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tiny driver for unit tests: brings the card up by the same commands, in
 * the same order, as mlx5_core does; makes objects; takes all of it down.
 *
 *   FakeHost *h = fake_host_new(NULL);
 *   FakeDriver *d = fake_driver_new(h);
 *   fake_driver_up(d);                        INIT_HCA done, event mode
 *   ... FAKE_CMD(d, ALLOC_PD, alloc_pd, in, out) ...
 *   fake_driver_down(d);
 *
 * Helpers named *_ok abort the test (ck_assert) if the card refuses.
 */
#ifndef MLX5_FAKE_DRIVER_H
#define MLX5_FAKE_DRIVER_H

#include <check.h>

#include "fw/cmd.h"
#include "tests/fake_host.h"

/** An EQ or CQ of the driver: 64-byte entries. */
typedef struct FakeQueue {
    uint32_t number;
    uint32_t log_size;
    uint32_t ci;             /* next entry to look at, free running */
    uint64_t ring_gpa;
    uint64_t dbr_gpa;        /* CQ only */
    uint32_t vector;         /* EQ only */
} FakeQueue;

typedef struct FakeDriver {
    FakeHost *host;
    uint64_t cmdq_gpa;
    uint64_t heap;           /* next free guest address; nothing is freed */
    bool events;             /* completions are announced by the command EQ */
    bool host_runs;          /* other threads do the host's part: just wait */
    unsigned next_slot;
    uint8_t token;
    uint64_t in_gpa[32], out_gpa[32]; /* mailboxes of each slot */
    /* Of the last command. */
    uint8_t delivery;
    uint8_t status;
    uint32_t syndrome;
    uint32_t given_pages;    /* and not returned */
    uint32_t uar;
    FakeQueue cmd_eq, async_eq, pages_eq, comp_eq;
    uint32_t pd;
    uint32_t dma_mkey;       /* key over all memory, local and remote access */
} FakeDriver;

/** Sets the command queue address; polling mode. */
FakeDriver *fake_driver_new(FakeHost *host);
void fake_driver_free(FakeDriver *d);

/** @bytes of guest memory, zeroed, page aligned. Return: its address. */
uint64_t fake_driver_alloc(FakeDriver *d, uint64_t bytes);

/**
 * Issue a command and wait for it. Return: true if delivery and status are
 * good; d->delivery, d->status, d->syndrome say why not.
 */
bool fake_driver_cmd(FakeDriver *d, const void *in, uint32_t in_len, void *out,
                     uint32_t out_len);

/* The pieces of fake_driver_cmd, for tests that need them apart. */
/** Fill the entry and mailboxes of @slot; own bit set, doorbell not rung. */
void fake_driver_post(FakeDriver *d, unsigned slot, const void *in,
                      uint32_t in_len, uint32_t out_len);
void fake_driver_ring(FakeDriver *d, uint32_t vector);
/** Return: true if the own bit of @slot is clear again. */
bool fake_driver_done(FakeDriver *d, unsigned slot);
/** Copy the output of @slot; sets delivery, status, syndrome. */
void fake_driver_result(FakeDriver *d, unsigned slot, void *out,
                        uint32_t out_len);

/** Opcode set, command issued; @in and @out are arrays of the layout's size. */
#define FAKE_CMD(d, op, layout, in, out)                                \
    (MLX5_SET(layout##_in, in, opcode, MLX5_CMD_OP_##op),               \
     fake_driver_cmd(d, in, sizeof(in), out, sizeof(out)))
#define FAKE_CMD_OK(d, op, layout, in, out)                             \
    ck_assert_msg(FAKE_CMD(d, op, layout, in, out),                     \
                  #op ": delivery 0x%x status 0x%x syndrome 0x%x (%s)", \
                  (d)->delivery, (d)->status, (d)->syndrome,            \
                  mlx5_syndrome_text((d)->syndrome))
/** The command must be refused with this status and syndrome. */
#define FAKE_CMD_FAILS(d, op, layout, in, out, stat, synd)              \
    do {                                                                \
        ck_assert(!FAKE_CMD(d, op, layout, in, out));                   \
        ck_assert_uint_eq((d)->delivery, 0);                            \
        ck_assert_uint_eq((d)->status, stat);                           \
        ck_assert_uint_eq((d)->syndrome, synd);                         \
    } while (0)
/** Arrays for FAKE_CMD, zeroed. */
#define FAKE_BUFFERS(layout)                                            \
    uint8_t in[MLX5_ST_SZ_BYTES(layout##_in)] = { 0 };                  \
    uint8_t out[MAX(MLX5_ST_SZ_BYTES(layout##_out), 16)] = { 0 }

/** ENABLE_HCA to INIT_HCA, as mlx5_core's mlx5_function_open. */
void fake_driver_init_hca(FakeDriver *d);
/** The same, then UAR, EQs, event mode, PD, and a key over all memory. */
void fake_driver_up(FakeDriver *d);
/** Everything back; checks that every page is returned. */
void fake_driver_down(FakeDriver *d);
/** TEARDOWN_HCA to DISABLE_HCA only. */
void fake_driver_close_hca(FakeDriver *d);
void fake_driver_give_pages(FakeDriver *d, unsigned op_mod);

uint32_t fake_driver_alloc_pd_ok(FakeDriver *d);
FakeQueue fake_driver_create_eq_ok(FakeDriver *d, uint32_t log_size,
                                   uint32_t vector, uint64_t mask);
void fake_driver_destroy_eq_ok(FakeDriver *d, const FakeQueue *eq);
/** Take the next EQE, if there is one, and re-arm. */
bool fake_driver_poll_eq(FakeDriver *d, FakeQueue *eq, uint8_t eqe[64]);

FakeQueue fake_driver_create_cq_ok(FakeDriver *d, uint32_t log_size,
                                   uint32_t eqn);
void fake_driver_destroy_cq_ok(FakeDriver *d, const FakeQueue *cq);
/** Take the next CQE, if there is one, and update the doorbell record. */
bool fake_driver_poll_cq(FakeDriver *d, FakeQueue *cq, uint8_t cqe[64]);
void fake_driver_arm_cq(FakeDriver *d, FakeQueue *cq, bool solicited);

/** A key over all memory (PA mode) with local and remote access. */
uint32_t fake_driver_create_mkey_ok(FakeDriver *d, uint32_t pd);
/** A key over @len bytes at @gpa, pages of 4 KiB, address @va = @gpa. */
uint32_t fake_driver_create_mr_ok(FakeDriver *d, uint32_t pd, uint64_t gpa,
                                  uint64_t len);
void fake_driver_destroy_mkey_ok(FakeDriver *d, uint32_t key);

#endif
