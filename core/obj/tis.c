/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TIS commands (PRM: CREATE_TIS ...; driver: transobj.c, mlx5_ib qp.c). Left
 * out: LAG port affinity beyond keeping it, TLS, IPoIB underlay (refused).
 */
#include "obj/tis.h"

#include "obj/check.h"

static const Mlx5ZeroRule not_done[] = {
    MLX5_ZERO(tisc, tls_en, TIS_TLS),
    MLX5_ZERO(tisc, underlay_qpn, TIS_UNDERLAY),
};

MLX5_CMD_HANDLER(mlx5_cmd_create_tis)
{
    const uint8_t *tisc = MLX5_ADDR_OF(create_tis_in, cmd->in, ctx);
    Mlx5Obj *td;
    Mlx5Tis *tis;

    if (!mlx5_check_zero(cmd, tisc, not_done, G_N_ELEMENTS(not_done))) {
        return;
    }
    td = mlx5_obj_find(func, cmd, MLX5_OBJ_TRANSPORT_DOMAIN,
                       MLX5_GET(tisc, tisc, transport_domain),
                       MLX5_SYND_TIS_TD);
    if (!td) {
        return;
    }
    tis = mlx5_obj_new(func, MLX5_OBJ_TIS, sizeof(*tis), cmd->uid);
    if (!mlx5_check(cmd, tis != NULL, MLX5_CMD_STAT_LIM_ERR,
                    MLX5_SYND_TIS_LIMIT)) {
        return;
    }
    tis->td = td;
    mlx5_obj_ref(td);
    memcpy(tis->tisc, tisc, sizeof(tis->tisc));
    MLX5_SET(create_tis_out, cmd->out, tisn, tis->o.id);
}

void mlx5_tis_release(void *obj)
{
    Mlx5Tis *tis = obj;

    mlx5_obj_unref(tis->td);
}

/* Fields MODIFY_TIS may change, each by its bit of the bitmask. */
static const struct {
    uint32_t mask_bit, off, bits;
} modifiable[] = {
#define ROW(f) { MLX5_BIT_OFF(modify_tis_bitmask, f), \
                 MLX5_BIT_OFF(tisc, f), MLX5_BIT_SZ(tisc, f) }
    ROW(prio), ROW(lag_tx_port_affinity), ROW(strict_lag_tx_port_affinity),
#undef ROW
};

MLX5_CMD_HANDLER(mlx5_cmd_modify_tis)
{
    const uint8_t *mask = MLX5_ADDR_OF(modify_tis_in, cmd->in, bitmask);
    const uint8_t *tisc = MLX5_ADDR_OF(modify_tis_in, cmd->in, ctx);
    Mlx5Tis *tis = mlx5_obj_find(func, cmd, MLX5_OBJ_TIS,
                                 MLX5_GET(modify_tis_in, cmd->in, tisn),
                                 MLX5_SYND_TIS_UNKNOWN_MODIFY);

    if (!tis ||
        !mlx5_check_param(cmd, mlx5_prm_reserved_set(
                              &mlx5_layout_modify_tis_bitmask, mask,
                              MLX5_ST_SZ_BYTES(modify_tis_bitmask)) < 0,
                          MLX5_SYND_TIS_MODIFY_MASK)) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(modifiable); i++) {
        uint32_t off = modifiable[i].off, bits = modifiable[i].bits;

        if (mlx5_prm_get(mask, modifiable[i].mask_bit, 1)) {
            mlx5_prm_set(tis->tisc, off, bits, mlx5_prm_get(tisc, off, bits));
        }
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_destroy_tis)
{
    mlx5_obj_destroy_cmd(func, cmd, MLX5_OBJ_TIS,
                         MLX5_GET(destroy_tis_in, cmd->in, tisn),
                         MLX5_SYND_TIS_UNKNOWN_DESTROY, MLX5_SYND_TIS_BUSY);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_tis)
{
    Mlx5Tis *tis = mlx5_obj_find(func, cmd, MLX5_OBJ_TIS,
                                 MLX5_GET(query_tis_in, cmd->in, tisn),
                                 MLX5_SYND_TIS_UNKNOWN_QUERY);

    if (tis) {
        memcpy(MLX5_ADDR_OF(query_tis_out, cmd->out, tis_context), tis->tisc,
               sizeof(tis->tisc));
    }
}
