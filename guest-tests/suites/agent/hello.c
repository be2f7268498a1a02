/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves that programs compiled for the guest find its libraries. */
#include <infiniband/verbs.h>
#include <stdio.h>

int main(void)
{
    int n = -1;
    struct ibv_device **list = ibv_get_device_list(&n);

    printf("%d devices\n", n);
    if (list) {
        ibv_free_device_list(list);
    }
    return n == 0 ? 0 : 1;
}
