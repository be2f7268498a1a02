/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results in the Test Anything Protocol (version 12 of its specification). */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned tap_count;
static unsigned tap_failed;

bool tap_check(bool ok, const char *name, const char *fmt, ...)
{
    va_list ap;

    tap_count++;
    tap_failed += !ok;
    printf("%sok %u - %s", ok ? "" : "not ", tap_count, name);
    if (fmt) {
        printf(" # ");
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
    }
    printf("\n");
    fflush(stdout);
    return ok;
}

void tap_skip(const char *name, const char *why)
{
    tap_count++;
    printf("ok %u - %s # SKIP %s\n", tap_count, name, why);
    fflush(stdout);
}

void tap_note(const char *fmt, ...)
{
    va_list ap;

    printf("# ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

void tap_die(const char *fmt, ...)
{
    va_list ap;

    printf("Bail out! ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    exit(2);
}

int tap_done(void)
{
    printf("1..%u\n", tap_count);
    printf("# %u passed, %u failed\n", tap_count - tap_failed, tap_failed);
    fflush(stdout);
    return tap_failed || !tap_count;
}
