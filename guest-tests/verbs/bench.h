/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of verbs_bench share. Each prints its figures as lines
 * "name number".
 */
#ifndef BENCH_H
#define BENCH_H

#include "rig.h"

/** bench_now_ns() - monotonic time. */
int64_t bench_now_ns(void);

/** bench_median() - sort @v, of @n values. Return: the one in the middle. */
double bench_median(double *v, unsigned n);

/* The verbs of the program: words behind the device's name. */
void bench_mr(struct rig *rig, int argc, char **argv);
void bench_qp(struct rig *rig, int argc, char **argv);
void bench_scale(struct rig *rig, int argc, char **argv);
void bench_hold(struct rig *rig, int argc, char **argv);
void bench_post(struct rig *rig, int argc, char **argv);

#endif
