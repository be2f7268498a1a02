/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results in the Test Anything Protocol, as they come: one line a check, the
 * plan at the end (a killed program therefore leaves no plan, and that fails).
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

/**
 * tap_check() - print one result.
 * @ok: whether it held
 * @name: what was checked, stable between runs
 * @fmt: detail printed after " # " (NULL: none)
 * Return: @ok.
 */
bool tap_check(bool ok, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** tap_skip() - print a check that could not be made, and why. */
void tap_skip(const char *name, const char *why);

/** tap_note() - print a comment line. */
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** tap_die() - print "Bail out!" and exit with status 2. */
void tap_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/** tap_done() - print the plan. Return: the exit status of the program. */
int tap_done(void);

#endif
