// SPDX-License-Identifier: GPL-2.0-or-later
/* What qperf lacks on Ethernet. Without rdma_cm it names its peer by a LID,
 * which a RoCE port doesn't have, and no card's driver takes an address
 * without a GRH there. Loaded before libibverbs this adds one to the peer in
 * the same machine: our own GID, that of the index in $GID_INDEX. */

#include <dlfcn.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

typedef int ModifyQp(struct ibv_qp *, struct ibv_qp_attr *, int);
typedef struct ibv_ah *CreateAh(struct ibv_pd *, struct ibv_ah_attr *);

static void add_grh(struct ibv_context *context, struct ibv_ah_attr *ah)
{
    const char *index = getenv("GID_INDEX");

    if (ah->is_global || !index) {
        return;
    }
    ah->is_global = 1;
    ah->grh.sgid_index = atoi(index);
    ah->grh.hop_limit = 64;
    if (ibv_query_gid(context, ah->port_num, ah->grh.sgid_index,
                      &ah->grh.dgid) != 0) {
        abort();
    }
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    ModifyQp *next = (ModifyQp *)dlsym(RTLD_NEXT, "ibv_modify_qp");

    if (mask & IBV_QP_AV) {
        add_grh(qp->context, &attr->ah_attr);
    }
    return next(qp, attr, mask);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    CreateAh *next = (CreateAh *)dlsym(RTLD_NEXT, "ibv_create_ah");

    add_grh(pd->context, attr);
    return next(pd, attr);
}
