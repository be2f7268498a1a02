# SPDX-License-Identifier: GPL-2.0-or-later
# What the guest suites share: results as TAP, the GID to use, a server and a
# client in one guest. A suite sources it from /share and ends with `finish`.
# shellcheck shell=bash disable=SC2034

tap_n=0
tap_bad=0
out=/tmp/suite-out        # what the last command printed
port=20000                # of the last pair; each pair has its own

# result STATUS NAME [DETAIL]: print one result; on failure what was printed.
result()
{
    tap_n=$((tap_n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_n - $2${3:+ # $3}"
        return 0
    fi
    tap_bad=1
    awk '{ print "# " $0 }' "$out" 2> /dev/null | tail -n 40
    echo "not ok $tap_n - $2${3:+ # $3}"
    return 1
}

# check NAME COMMAND...: the command exits 0. Its output is kept in $out.
check()
{
    local name=$1
    shift
    "$@" > "$out" 2>&1
    result $? "$name"
}

# skip NAME WHY
skip()
{
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

finish()
{
    echo "1..$tap_n"
    exit $tap_bad
}

# needs WHAT MODULE...: without one of these modules of the kernel the suite has
# nothing to show: it says so, and ends with the drivers unloaded.
needs()
{
    local what=$1 module
    shift
    for module; do
        modprobe -nq "$module" && continue
        skip "$what" "the kernel $(uname -r) has no module $module"
        check "the drivers unload" drivers_unload
        finish
    done
}

# gids DEV: print "INDEX TYPE GID" of each valid entry.
gids()
{
    local dir=/sys/class/infiniband/$1/ports/1 f i type gid
    for f in "$dir"/gid_attrs/types/*; do
        i=${f##*/}
        { read -r type < "$f"; } 2> /dev/null || continue
        { read -r gid < "$dir/gids/$i"; } 2> /dev/null || continue
        echo "$i ${type// /_} $gid"
    done | sort -n
}

# gid_v4 DEV: print the index of a RoCE v2 entry with an IPv4 address.
gid_v4()
{
    gids "$1" | awk '$2 == "RoCE_v2" && $3 ~ /^0000:.*:ffff:/ {
        print $1; exit }'
}

# netdev_of DEV: print its network interface.
netdev_of()
{
    local net
    for net in "/sys/class/infiniband/$1/device/net"/*; do
        echo "${net##*/}"
        return
    done
}

# pci_of DEV: print its PCI address.
pci_of()
{
    basename "$(readlink "/sys/class/infiniband/$1/device")"
}

# drivers_unload: without them the launcher can count what the card holds.
drivers_unload()
{
    modprobe -r mlx5_ib && modprobe -r mlx5_core
}

# bind_again PCI NET [ADDRESS/BITS]: bind mlx5_core, bring its interface up;
# succeeds with an RDMA port that is ACTIVE.
bind_again()
{
    echo "$1" > /sys/bus/pci/drivers/mlx5_core/bind &&
        await 30 ip link set "$2" up &&
        { [ -z "${3:-}" ] || ip address replace "$3" dev "$2"; } &&
        await 15 sh -c "rdma link | grep -q 'state ACTIVE'"
}

# scaled SECONDS: print how many they are on a guest that is slower. It is said
# as "timeout $(scaled N) COMMAND": in the background that is one process, which
# ends COMMAND when it is killed.
scaled()
{
    echo $(($1 * ${SLOW:-1}))
}

# await SECONDS COMMAND...: try until it succeeds.
await()
{
    local end=$((SECONDS + $(scaled "$1")))
    shift
    until "$@" > /dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}

listening()
{
    ss -Hltn "sport = :$port" | grep -q .
}

# pair SECONDS PROGRAM ARG...: run a server and a client of it. The client's
# output is in $out, the server's in $out.server. Both must exit 0 in time.
pair()
{
    local limit server status
    limit=$(scaled "$1")
    shift
    port=$((port + 1))
    timeout "$limit" "$@" -p $port > "$out.server" 2>&1 &
    server=$!
    if ! await 15 listening; then
        echo "the server does not listen" > "$out"
        cat "$out.server" >> "$out"
        kill $server 2> /dev/null
        wait $server
        return 1
    fi
    timeout "$limit" "$@" -p $port 127.0.0.1 > "$out" 2>&1
    status=$?
    [ $status -ne 0 ] && kill $server 2> /dev/null
    wait $server
    local there=$?
    if [ $status -ne 0 ] || [ $there -ne 0 ]; then
        { echo "client: exit status $status; server: $there; it said:"
          tail -n 20 "$out.server"; } >> "$out"
        return 1
    fi
}

# cm_listening PORT: something listens there through rdma_cm. It says
# nothing of TCP.
cm_listening()
{
    rdma resource show cm_id | grep -q "state LISTEN .*:$1 "
}

# cm_pair SECONDS READY SERVER... -- CLIENT...: run a server and, as soon as
# the command READY succeeds, a client; no option is added to either. The
# client's output is in $out, the server's in $out.server. Both must exit 0 in
# time; where "endless" is set the server needn't end and is stopped.
cm_pair()
{
    local limit ready=$2 server status there words=()
    limit=$(scaled "$1")
    shift 2
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    timeout "$limit" stdbuf -oL "${words[@]}" > "$out.server" 2>&1 &
    server=$!
    # shellcheck disable=SC2086 # $ready is a command with its words
    if ! await 15 $ready; then
        { echo "the server is not ready: $ready"; cat "$out.server"; } > "$out"
        kill $server 2> /dev/null
        wait $server
        return 1
    fi
    timeout "$limit" "$@" > "$out" 2>&1
    status=$?
    [ $status -ne 0 ] || [ -n "${endless:-}" ] && kill $server 2> /dev/null
    wait $server
    there=$?
    [ -n "${endless:-}" ] && there=0
    if [ $status -ne 0 ] || [ $there -ne 0 ]; then
        { echo "client: exit status $status; server: $there; it said:"
          tail -n 20 "$out.server"; } >> "$out"
        return 1
    fi
}
