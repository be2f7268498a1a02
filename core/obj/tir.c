/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TIR commands; see tir.h. Left out: SHAMPO, TLS (refused).
 */
#include "obj/tir.h"

#include "obj/check.h"

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(tirc, tls_en, TIR_TLS),
};

static void parse_select(const uint8_t *sel, Mlx5HashSelect *out)
{
    out->ipv6 = MLX5_GET(rx_hash_field_select, sel, l3_prot_type);
    out->udp = MLX5_GET(rx_hash_field_select, sel, l4_prot_type);
    out->fields = MLX5_GET(rx_hash_field_select, sel, selected_fields);
}

static bool parse_hash(Mlx5Cmd *cmd, const uint8_t *tirc, Mlx5RxHash *hash)
{
    hash->fn = MLX5_GET(tirc, tirc, rx_hash_fn);
    hash->symmetric = MLX5_GET(tirc, tirc, rx_hash_symmetric);
    parse_select(MLX5_ADDR_OF(tirc, tirc, rx_hash_field_selector_outer),
                 &hash->outer);
    parse_select(MLX5_ADDR_OF(tirc, tirc, rx_hash_field_selector_inner),
                 &hash->inner);
    memcpy(hash->key, MLX5_ADDR_OF(tirc, tirc, rx_hash_toeplitz_key),
           sizeof(hash->key));
    return mlx5_check_param(cmd, hash->fn <= MLX5_RX_HASH_FN_TOEPLITZ,
                            MLX5_SYND_TIR_HASH_FN) &&
           mlx5_check_param(cmd, !((hash->outer.fields | hash->inner.fields) &
                              ~MLX5_HASH_FIELD_SEL_ALL),
                            MLX5_SYND_TIR_HASH_FIELDS);
}

/* tirc.lro_max_ip_payload_size counts blocks of 256 bytes (driver: en/tir.c). */
static bool parse_merge(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *tirc,
                        Mlx5Tir *tir, uint32_t syndrome)
{
    uint8_t offered = func->props.lro ? MLX5_TIRC_PACKET_MERGE_IPV4_LRO |
                                        MLX5_TIRC_PACKET_MERGE_IPV6_LRO : 0;

    tir->merge = MLX5_GET(tirc, tirc, packet_merge_mask);
    tir->merge_bytes = MLX5_GET(tirc, tirc, lro_max_ip_payload_size) * 256;
    return mlx5_check_param(cmd, !(tir->merge & ~offered), syndrome);
}

static bool find_queues(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *tirc,
                        Mlx5Tir *tir)
{
    switch (MLX5_GET(tirc, tirc, disp_type)) {
    case MLX5_TIRC_DISP_TYPE_DIRECT:
        tir->rq = mlx5_obj_find(func, cmd, MLX5_OBJ_RQ,
                                MLX5_GET(tirc, tirc, inline_rqn),
                                MLX5_SYND_TIR_RQ);
        return tir->rq != NULL;
    case MLX5_TIRC_DISP_TYPE_INDIRECT:
        tir->rqt = mlx5_obj_find(func, cmd, MLX5_OBJ_RQT,
                                 MLX5_GET(tirc, tirc, indirect_table),
                                 MLX5_SYND_TIR_RQT);
        return tir->rqt != NULL;
    default:
        return mlx5_check_param(cmd, false, MLX5_SYND_TIR_DISP_TYPE);
    }
}

/*
 * Number 0 is no domain: then nothing of what this function sends is its own
 * to this TIR. rdma-core's steering tests make theirs so (test_mlx5_dr.py).
 */
static bool find_domain(Mlx5Func *func, Mlx5Cmd *cmd, const uint8_t *tirc,
                        Mlx5Tir *draft)
{
    uint32_t tdn = MLX5_GET(tirc, tirc, transport_domain);

    if (!tdn) {
        return true;
    }
    draft->td = mlx5_obj_find(func, cmd, MLX5_OBJ_TRANSPORT_DOMAIN, tdn,
                              MLX5_SYND_TIR_TD);
    return draft->td != NULL;
}

/* Senders need not look for receivers that can't hear them: count those. */
static void count_deaf(Mlx5Tir *tir, int by)
{
    if (tir->td && !tir->self_lb) {
        tir->td->deaf_tirs += by;
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_create_tir)
{
    const uint8_t *tirc = MLX5_ADDR_OF(create_tir_in, cmd->in, ctx);
    Mlx5Tir draft = { .td = NULL };
    Mlx5Tir *tir;

    draft.tunneled = MLX5_GET(tirc, tirc, tunneled_offload_en);
    if (!mlx5_check_zero(cmd, tirc, not_done, G_N_ELEMENTS(not_done)) ||
        !mlx5_check_param(cmd, func->props.tunnel || !draft.tunneled,
                          MLX5_SYND_TIR_TUNNEL) ||
        !parse_merge(func, cmd, tirc, &draft, MLX5_SYND_TIR_LRO) ||
        !parse_hash(cmd, tirc, &draft.hash) ||
        !find_queues(func, cmd, tirc, &draft)) {
        return;
    }
    if (!find_domain(func, cmd, tirc, &draft)) {
        return;
    }
    tir = mlx5_obj_new(func, MLX5_OBJ_TIR, sizeof(*tir), cmd->uid);
    if (!mlx5_check(cmd, tir != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_TIR_LIMIT)) {
        return;
    }
    draft.o = tir->o;
    *tir = draft;
    tir->self_lb = MLX5_GET(tirc, tirc, self_lb_block);
    count_deaf(tir, 1);
    memcpy(tir->tirc, tirc, sizeof(tir->tirc));
    mlx5_obj_ref(tir->td);
    mlx5_obj_ref(tir->rq);
    mlx5_obj_ref(tir->rqt);
    MLX5_SET(create_tir_out, cmd->out, tirn, tir->o.id);
}

void mlx5_tir_release(void *obj)
{
    Mlx5Tir *tir = obj;

    count_deaf(tir, -1);
    mlx5_obj_unref(tir->td);
    mlx5_obj_unref(tir->rq);
    mlx5_obj_unref(tir->rqt);
}

/* Copy a field of the context from the command to what QUERY_TIR shows. */
#define KEEP(tir, tirc, f) \
    MLX5_SET(tirc, (tir)->tirc, f, MLX5_GET(tirc, tirc, f))

static void keep_hash(Mlx5Tir *tir, const uint8_t *tirc,
                      const Mlx5RxHash *hash)
{
    tir->hash = *hash;
    KEEP(tir, tirc, rx_hash_fn);
    KEEP(tir, tirc, rx_hash_symmetric);
    KEEP(tir, tirc, rx_hash_field_selector_outer);
    KEEP(tir, tirc, rx_hash_field_selector_inner);
    memcpy(MLX5_ADDR_OF(tirc, tir->tirc, rx_hash_toeplitz_key),
           MLX5_ADDR_OF(tirc, tirc, rx_hash_toeplitz_key),
           MLX5_TOEPLITZ_KEY_BYTES);
}

MLX5_CMD_HANDLER(mlx5_cmd_modify_tir)
{
    const uint8_t *mask = MLX5_ADDR_OF(modify_tir_in, cmd->in, bitmask);
    const uint8_t *tirc = MLX5_ADDR_OF(modify_tir_in, cmd->in, ctx);
    Mlx5Tir *tir = mlx5_obj_find(func, cmd, MLX5_OBJ_TIR,
                                 MLX5_GET(modify_tir_in, cmd->in, tirn),
                                 MLX5_SYND_TIR_UNKNOWN_MODIFY);
    Mlx5RxHash hash;
    Mlx5Tir draft;

    if (!tir ||
        !mlx5_check_param(cmd, mlx5_prm_reserved_set(
                              &mlx5_layout_modify_tir_bitmask, mask,
                              MLX5_ST_SZ_BYTES(modify_tir_bitmask)) < 0,
                          MLX5_SYND_TIR_MODIFY_MASK) ||
        (MLX5_GET(modify_tir_bitmask, mask, packet_merge) &&
         !parse_merge(func, cmd, tirc, &draft, MLX5_SYND_TIR_MODIFY_LRO)) ||
        !parse_hash(cmd, tirc, &hash)) {
        return;
    }
    if (MLX5_GET(modify_tir_bitmask, mask, hash)) {
        keep_hash(tir, tirc, &hash);
    }
    if (MLX5_GET(modify_tir_bitmask, mask, packet_merge)) {
        tir->merge = draft.merge;
        tir->merge_bytes = draft.merge_bytes;
        KEEP(tir, tirc, packet_merge_mask);
        KEEP(tir, tirc, lro_max_ip_payload_size);
        KEEP(tir, tirc, lro_timeout_period_usecs);
    }
    if (MLX5_GET(modify_tir_bitmask, mask, self_lb_en)) {
        count_deaf(tir, -1);
        tir->self_lb = MLX5_GET(tirc, tirc, self_lb_block);
        count_deaf(tir, 1);
        KEEP(tir, tirc, self_lb_block);
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_tir)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_TIR,
                         MLX5_GET(destroy_tir_in, cmd->in, tirn),
                         MLX5_SYND_TIR_UNKNOWN_DESTROY, MLX5_SYND_TIR_BUSY);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_tir)
{
    Mlx5Tir *tir = mlx5_obj_find(func, cmd, MLX5_OBJ_TIR,
                                 MLX5_GET(query_tir_in, cmd->in, tirn),
                                 MLX5_SYND_TIR_UNKNOWN_QUERY);

    if (tir) {
        memcpy(MLX5_ADDR_OF(query_tir_out, cmd->out, tir_context), tir->tirc,
               sizeof(tir->tirc));
    }
}
