/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures what perftest does not, on any RDMA device:
 *
 *   verbs_bench mr DEVICE BYTES [huge]     registrations in a second
 *   verbs_bench qp DEVICE                  queue pairs made, brought to RTS and
 *                                          destroyed in a second
 *   verbs_bench scale DEVICE qp|mr COUNT   microseconds of a creation and of a
 *                                          message beside COUNT idle objects
 *   verbs_bench hold DEVICE KIND N M        makes N; M more at SIGUSR1; then
 *                                          waits for a signal to end
 *   verbs_bench post DEVICE QPS LIST       8-byte writes in a second: with the
 *                                          card, and the guest's part alone
 */
#define _GNU_SOURCE
#include "bench.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    void (*run)(struct rig *rig, int argc, char **argv);
    int words;
} verbs[] = {
    { "mr", bench_mr, 1 },
    { "qp", bench_qp, 0 },
    { "scale", bench_scale, 2 },
    { "hold", bench_hold, 3 },
    { "post", bench_post, 2 },
};

int64_t bench_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *v, unsigned n)
{
    qsort(v, n, sizeof(*v), compare);
    return v[n / 2];
}

int main(int argc, char **argv)
{
    struct rig rig;

    for (size_t i = 0; argc >= 3 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (!strcmp(argv[1], verbs[i].name) && argc - 3 >= verbs[i].words) {
            rig_open(&rig, argv[2], -1);
            verbs[i].run(&rig, argc - 3, argv + 3);
            return 0;
        }
    }
    fprintf(stderr, "usage: verbs_bench mr|qp|scale|hold|post DEVICE ...\n");
    return 2;
}
