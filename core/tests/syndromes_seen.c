/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes each syndrome that a test provokes: mlx5_cmd_fail() is wrapped by the
 * linker (--wrap), product code knows nothing of it. One line a syndrome and
 * process is appended to the file named by MLX5_SYNDROMES_SEEN;
 * check_syndromes.py reads it when all tests have run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fw/cmd.h"

void __real_mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome);
void __wrap_mlx5_cmd_fail(Mlx5Cmd *cmd, Mlx5Status status, uint32_t syndrome);

static void note(uint32_t syndrome)
{
    static GHashTable *seen;
    const char *path = getenv("MLX5_SYNDROMES_SEEN");
    char line[16];
    int fd, len;

    if (!path) {
        return;
    }
    if (!seen) {
        seen = g_hash_table_new(NULL, NULL);
    }
    if (!g_hash_table_add(seen, GUINT_TO_POINTER(syndrome))) {
        return;
    }
    len = snprintf(line, sizeof(line), "0x%06x\n", syndrome);
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
    note(syndrome);
    __real_mlx5_cmd_fail(cmd, status, syndrome);
}
