/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast one thread of this machine copies memory: the limit of what a card
 * made of software can move.
 *
 *   host_copy BYTES [SECONDS]
 *
 * copies a buffer of BYTES to another, again and again, and prints MiB/s: a
 * large one comes from memory, a small one from the caches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* Copy for @seconds. Return: bytes in a second. */
static double measure(char *to, char *from, size_t bytes, double seconds)
{
    size_t batch = bytes < (16u << 20) ? (16u << 20) / bytes : 1;
    double began = now_s(), took, copied = 0;

    do {
        for (size_t i = 0; i < batch; i++) {
            memcpy(to, from, bytes);
            /* Or the compiler sees that one copy is as good as many. */
            __asm__ volatile("" ::"r"(to), "r"(from) : "memory");
        }
        copied += (double)bytes * batch;
        took = now_s() - began;
    } while (took < seconds);
    return copied / took;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
    double seconds = argc > 2 ? atof(argv[2]) : 0.5;
    char *from, *to;

    if (!bytes || !(from = malloc(bytes)) || !(to = malloc(bytes))) {
        fprintf(stderr, "usage: host_copy BYTES [SECONDS]\n");
        return 2;
    }
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    printf("mib_per_s %.1f\n", measure(to, from, bytes, seconds) / (1 << 20));
    return 0;
}
