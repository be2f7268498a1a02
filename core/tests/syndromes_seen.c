/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes each syndrome of a command and each vendor code of a completion that a
 * test provokes: mlx5_cmd_fail() and mlx5_vendor_count() are wrapped by the
 * linker (--wrap), product code knows nothing of it. One line a reason and
 * process is appended to the files named by MLX5_SYNDROMES_SEEN and
 * MLX5_VENDORS_SEEN; check_syndromes.py reads them when all tests have run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fw/cmd.h"
#include "rdma/vendor.h"

void __real_mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome);
void __wrap_mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome);
void __real_mlx5_vendor_count(Mlx5QCounter *set, Mlx5Vendor vendor, bool send);
void __wrap_mlx5_vendor_count(Mlx5QCounter *set, Mlx5Vendor vendor, bool send);

/* Syndromes are above the vendor codes: one set does for both. */
static void note(const char *variable, uint32_t number)
{
    static GHashTable *seen;
    const char *path = getenv(variable);
    char line[16];
    int fd, len;

    if (!path) {
        return;
    }
    if (!seen) {
        seen = g_hash_table_new(NULL, NULL);
    }
    if (!g_hash_table_add(seen, GUINT_TO_POINTER(number))) {
        return;
    }
    len = snprintf(line, sizeof(line), "0x%06x\n", number);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    /* Tests run in parallel: a short append is whole or not there. */
    if (fd < 0 || write(fd, line, len) != len) {
        perror(path);
        abort();
    }
    close(fd);
}

void __wrap_mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome)
{
    note("MLX5_SYNDROMES_SEEN", syndrome);
    __real_mlx5_cmd_fail(cmd, status, syndrome);
}

void __wrap_mlx5_vendor_count(Mlx5QCounter *set, Mlx5Vendor vendor, bool send)
{
    note("MLX5_VENDORS_SEEN", vendor);
    __real_mlx5_vendor_count(set, vendor, send);
}
