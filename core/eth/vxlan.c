/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UDP ports that VXLAN comes on (PRM: ADD_VXLAN_UDP_DPORT; driver:
 * lib/vxlan.c). The assigned one is there after a reset, and drivers add it
 * all the same: to add what is there is no error.
 */
#include "eth/eth_internal.h"

#include "fw/cmd.h"
#include "obj/check.h"

#define IANA_VXLAN_PORT 4789

static uint16_t *find(Mlx5VxlanPorts *ports, uint16_t port)
{
    for (uint32_t i = 0; i < ports->n; i++) {
        if (ports->port[i] == port) {
            return &ports->port[i];
        }
    }
    return NULL;
}

void mlx5_eth_vxlan_reset(Mlx5Func *func)
{
    func->eth->vxlan = (Mlx5VxlanPorts){ 1, { IANA_VXLAN_PORT } };
}

MLX5_CMD_HANDLER(mlx5_cmd_add_vxlan_udp_dport)
{
    Mlx5VxlanPorts *ports = &func->eth->vxlan;
    uint16_t port = MLX5_GET(add_vxlan_udp_dport_in, cmd->in, vxlan_udp_port);

    if (!mlx5_check(cmd, func->props.tunnel, MLX5_CMD_STAT_BAD_OP_ERR,
                    MLX5_SYND_VXLAN_OFF) ||
        !mlx5_check_param(cmd, port, MLX5_SYND_VXLAN_PORT_ZERO) ||
        find(ports, port)) {
        return;
    }
    if (mlx5_check(cmd, ports->n < MLX5_MAX_VXLAN_PORTS,
                   MLX5_CMD_STAT_LIM_ERR, MLX5_SYND_VXLAN_LIMIT)) {
        ports->port[ports->n++] = port;
    }
}

MLX5_CMD_HANDLER(mlx5_cmd_delete_vxlan_udp_dport)
{
    Mlx5VxlanPorts *ports = &func->eth->vxlan;
    uint16_t *at = find(ports, MLX5_GET(delete_vxlan_udp_dport_in, cmd->in,
                                        vxlan_udp_port));

    if (mlx5_check_param(cmd, at, MLX5_SYND_VXLAN_UNKNOWN)) {
        *at = ports->port[--ports->n];
    }
}
