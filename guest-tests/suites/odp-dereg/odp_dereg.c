/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers a region on demand, has its pages mapped, and deregisters it while
 * another thread takes the pages away: the kernel must not touch a page that
 * it has freed (it would find it later: "Bad page state").
 *
 *   odp_dereg SECONDS
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BYTES (64u * 4096)

static atomic_bool over;
static char *buf;

static void *take_away(void *arg)
{
    (void)arg;
    while (!over) {
        madvise(buf, BYTES, MADV_DONTNEED);
        memset(buf, 1, BYTES);
    }
    return NULL;
}

static int fail(const char *what)
{
    perror(what);
    return 1;
}

/* Return: 0, or 1 after a message. */
static int once(struct ibv_pd *pd)
{
    struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = BYTES };
    struct ibv_mr *mr = ibv_reg_mr(pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE |
                                   IBV_ACCESS_ON_DEMAND);

    if (!mr) {
        return fail("ibv_reg_mr");
    }
    sge.lkey = mr->lkey;
    /* May lose against the other thread; then there is less to unmap. */
    ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                  IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
    return ibv_dereg_mr(mr) ? fail("ibv_dereg_mr") : 0;
}

int main(int argc, char **argv)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0])
                                              : NULL;
    struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 30);
    pthread_t thread;
    unsigned n = 0;
    int bad = 0;

    buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!pd || buf == MAP_FAILED ||
        pthread_create(&thread, NULL, take_away, NULL)) {
        return fail("set-up");
    }
    while (!bad && time(NULL) < end) {
        bad = once(pd);
        n++;
    }
    over = true;
    pthread_join(thread, NULL);
    printf("%u regions\n", n);
    return bad;
}
