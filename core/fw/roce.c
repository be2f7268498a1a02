/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RoCE address table: SET_ROCE_ADDRESS, QUERY_ROCE_ADDRESS (PRM: RoCE
 * Address; driver: lib/gid.c mlx5_core_roce_gid_set).
 */
#include "fw/fw_internal.h"

const Mlx5RoceAddr *mlx5_roce_addr(Mlx5Func *func, uint32_t index)
{
    if (index >= MLX5_ROCE_TABLE_SIZE || !func->fw->roce[index].valid) {
        return NULL;
    }
    return &func->fw->roce[index];
}

const Mlx5RoceAddr *mlx5_roce_find(Mlx5Func *func, const uint8_t gid[16],
                                   uint8_t version)
{
    for (uint32_t i = 0; i < MLX5_ROCE_TABLE_SIZE; i++) {
        const Mlx5RoceAddr *a = &func->fw->roce[i];

        if (a->valid && a->version == version && !memcmp(a->gid, gid, 16)) {
            return a;
        }
    }
    return NULL;
}

/* What a queue pair made of the table before is worth nothing now. */
static void set(Mlx5Func *func, uint32_t index, const Mlx5RoceAddr *a)
{
    func->fw->roce[index] = *a;
    mlx5_paths_changed(func);
}

void mlx5_roce_clear(Mlx5Func *func)
{
    memset(func->fw->roce, 0, sizeof(func->fw->roce));
    mlx5_paths_changed(func);
}

Mlx5Func *mlx5_roce_owner(Mlx5Card *card, const uint8_t gid[16],
                          uint8_t version)
{
    for (guint i = 0; i < card->funcs->len; i++) {
        Mlx5Func *func = g_ptr_array_index(card->funcs, i);

        if (mlx5_roce_find(func, gid, version)) {
            return func;
        }
    }
    return NULL;
}

static bool check_index(Mlx5Cmd *cmd, uint32_t index, uint32_t port,
                        uint32_t syndrome)
{
    if (index >= MLX5_ROCE_TABLE_SIZE || port > 1) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_IX_ERR, syndrome);
        return false;
    }
    return true;
}

static Mlx5RoceAddr parse(const uint8_t *in)
{
    Mlx5RoceAddr a = { .valid = true };
    uint16_t high = MLX5_GET(roce_addr_layout, in, source_mac_47_32);
    uint32_t low = MLX5_GET(roce_addr_layout, in, source_mac_31_0);

    memcpy(a.gid, MLX5_ADDR_OF(roce_addr_layout, in, source_l3_address), 16);
    high = GUINT16_TO_BE(high);
    low = GUINT32_TO_BE(low);
    memcpy(a.mac, &high, 2);
    memcpy(a.mac + 2, &low, 4);
    a.vlan_valid = MLX5_GET(roce_addr_layout, in, vlan_valid);
    a.vlan_id = MLX5_GET(roce_addr_layout, in, vlan_id);
    a.version = MLX5_GET(roce_addr_layout, in, roce_version);
    a.l3_type = MLX5_GET(roce_addr_layout, in, roce_l3_type);
    return a;
}

static uint32_t check_addr(const Mlx5RoceAddr *a)
{
    static const uint8_t zero[16];

    if (!memcmp(a->gid, zero, 16)) {
        return MLX5_SYND_ROCE_GID;
    }
    if (!memcmp(a->mac, zero, 6) || (a->mac[0] & 1)) {
        return MLX5_SYND_ROCE_MAC;
    }
    if (a->version != MLX5_ROCE_VERSION_1 && a->version != MLX5_ROCE_VERSION_2) {
        return MLX5_SYND_ROCE_VERSION;
    }
    if (a->l3_type > MLX5_ROCE_L3_TYPE_IPV6) {
        return MLX5_SYND_ROCE_L3_TYPE;
    }
    return 0;
}

/*
 * An entry with neither GID nor MAC deletes. The driver leaves the version and
 * the l3 type of the deleted entry in it (mlx5_ib: set_roce_addr).
 */
static bool deletes(const Mlx5RoceAddr *a)
{
    static const uint8_t zero[16];

    return !memcmp(a->gid, zero, 16) && !memcmp(a->mac, zero, 6);
}

MLX5_CMD_HANDLER(mlx5_cmd_set_roce_address)
{
    uint32_t index = MLX5_GET(set_roce_address_in, cmd->in,
                              roce_address_index);
    const uint8_t *in = MLX5_ADDR_OF(set_roce_address_in, cmd->in,
                                     roce_address);
    Mlx5RoceAddr a;

    if (!check_index(cmd, index,
                     MLX5_GET(set_roce_address_in, cmd->in, vhca_port_num),
                     MLX5_SYND_ROCE_INDEX)) {
        return;
    }
    if (!MLX5_FW_CAP_GEN(func, roce)) {
        mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_OP_ERR, MLX5_SYND_ROCE_OFF);
        return;
    }
    a = parse(in);
    if (deletes(&a)) {
        memset(&a, 0, sizeof(a));
    } else {
        uint32_t bad = check_addr(&a);

        if (bad) {
            mlx5_cmd_fail(cmd, MLX5_CMD_STAT_BAD_PARAM_ERR, bad);
            return;
        }
    }
    set(func, index, &a);
}

MLX5_CMD_HANDLER(mlx5_cmd_query_roce_address)
{
    uint32_t index = MLX5_GET(query_roce_address_in, cmd->in,
                              roce_address_index);
    uint8_t *out = MLX5_ADDR_OF(query_roce_address_out, cmd->out,
                                roce_address);
    const Mlx5RoceAddr *a;
    uint16_t high;
    uint32_t low;

    if (!check_index(cmd, index,
                     MLX5_GET(query_roce_address_in, cmd->in, vhca_port_num),
                     MLX5_SYND_ROCE_QUERY_INDEX)) {
        return;
    }
    a = &func->fw->roce[index];
    memcpy(&high, a->mac, 2);
    memcpy(&low, a->mac + 2, 4);
    memcpy(MLX5_ADDR_OF(roce_addr_layout, out, source_l3_address), a->gid, 16);
    MLX5_SET(roce_addr_layout, out, source_mac_47_32, GUINT16_FROM_BE(high));
    MLX5_SET(roce_addr_layout, out, source_mac_31_0, GUINT32_FROM_BE(low));
    MLX5_SET(roce_addr_layout, out, vlan_valid, a->vlan_valid);
    MLX5_SET(roce_addr_layout, out, vlan_id, a->vlan_id);
    MLX5_SET(roce_addr_layout, out, roce_l3_type, a->l3_type);
    MLX5_SET(roce_addr_layout, out, roce_version, a->version);
}
