#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Brings every mlx5 card of the guest up: driver, network interface, an IPv4
# address on it (192.168.77.1/24 on the first card, .78.1 on the second, ...),
# and waits until its RDMA port is ACTIVE and has the address's GID.
# Run by the launcher before the user's command; prints only what went wrong.
fail()
{
    echo "$*" >&2
    exit 1
}

[ -d /sys/module/mlx5_ib ] || modprobe mlx5_ib || fail "modprobe mlx5_ib failed"
set -- /sys/class/infiniband/mlx5_*
[ -e "$1" ] || fail "the driver registered no RDMA device"

subnet=77
for dev; do
    for net in "$dev"/device/net/*; do
        [ -e "$net" ] || fail "${dev##*/} has no network interface"
        ip link set "${net##*/}" up || fail "${net##*/} doesn't come up"
        ip address add "192.168.$subnet.1/24" dev "${net##*/}" || exit 1
    done
    subnet=$((subnet + 1))
done

# Tell whether a device's port is ACTIVE and its table holds the IPv4 GID.
ready()
{
    read -r state < "$1/ports/1/state" || return 1
    case $state in *ACTIVE*) ;; *) return 1 ;; esac
    for gid in "$1"/ports/1/gids/[0-7]; do
        read -r value < "$gid" || continue
        case $value in 0000:0000:0000:0000:0000:ffff:*) return 0 ;; esac
    done
    return 1
}

for dev; do
    tries=0
    until ready "$dev"; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] ||
            fail "${dev##*/} after 20 s: port $(cat "$dev"/ports/1/state)"
        sleep 0.05
    done
done
