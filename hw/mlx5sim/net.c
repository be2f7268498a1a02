/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire: the card's port as a QEMU network client, to be joined to any
 * netdev. Without one the link is up and the card alone on it.
 *
 * QEMU's network layer wants the BQL; frames from the netdev come with it.
 */
#include "compat.h"
#include "device.h"

/* An IP packet of 64 KiB and the Ethernet header; NET_BUFSIZE holds that. */
#define MLX5SIM_LARGE_FRAME (14 + 65535)

static ssize_t mlx5sim_net_receive_iov(NetClientState *nc,
                                       const struct iovec *iov, int iovcnt)
{
    Mlx5simDevice *s = qemu_get_nic_opaque(nc);

    /* No room: the card drops it, as a port without pause frames does. */
    mlx5_card_frame_rx(s->card, iov, iovcnt);
    return iov_size(iov, iovcnt);
}

static ssize_t mlx5sim_net_receive(NetClientState *nc, const uint8_t *buf,
                                   size_t len)
{
    struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};

    return mlx5sim_net_receive_iov(nc, &iov, 1);
}

static void mlx5sim_net_link_changed(NetClientState *nc)
{
    Mlx5simDevice *s = qemu_get_nic_opaque(nc);

    mlx5_card_set_link(s->card, !nc->link_down);
}

static NetClientInfo mlx5sim_net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .receive = mlx5sim_net_receive,
    .receive_iov = mlx5sim_net_receive_iov,
    .link_status_changed = mlx5sim_net_link_changed,
};

/*
 * QEMU's user network takes TCP segments of any length over IPv4 (of IPv6 it
 * refuses what is longer than its MTU), and acknowledges each by itself. Not if
 * somebody looks at the frames on their way (filters).
 */
static bool mlx5sim_net_takes_large(NetClientState *nc)
{
    return nc->peer && nc->peer->info->type == NET_CLIENT_DRIVER_USER &&
           QTAILQ_EMPTY(&nc->peer->filters) && QTAILQ_EMPTY(&nc->filters);
}

/**
 * mlx5sim_net_frame_max - how long TCP frames may be, as of the last one sent
 * Return: 0 for no longer than the MTU allows
 */
size_t mlx5sim_net_frame_max(Mlx5simDevice *s)
{
    return qatomic_read(&s->large_frames) ? MLX5SIM_LARGE_FRAME : 0;
}

/*
 * A frame that the netdev could not take at once is gone. Only after the last
 * of them more may come: QEMU would let it overtake those that still wait.
 */
static void mlx5sim_net_sent(NetClientState *nc, ssize_t ret)
{
    Mlx5simDevice *s = qemu_get_nic_opaque(nc);

    if (--s->net_queued == 0) {
        mlx5_card_frame_ready(s->card);
    }
}

/**
 * mlx5sim_net_send - put a frame on the wire; with or without the BQL
 * Return: what became of it
 */
Mlx5FrameSent mlx5sim_net_send(Mlx5simDevice *s, const struct iovec *iov,
                               int iovcnt)
{
    bool had_lock = bql_locked();
    Mlx5FrameSent result = MLX5_FRAME_NO_WIRE;

    if (!had_lock) {
        bql_lock();
    }
    if (s->nic) {
        NetClientState *nc = qemu_get_queue(s->nic);

        qatomic_set(&s->large_frames, mlx5sim_net_takes_large(nc));
        if (nc->peer) {
            /* Counted before: the callback may come before the return. */
            s->net_queued++;
            result = MLX5_FRAME_QUEUED;
            if (qemu_sendv_packet_async(nc, iov, iovcnt, mlx5sim_net_sent)) {
                s->net_queued--;
                result = MLX5_FRAME_SENT;
            }
            /* The user network has answered by now. */
            if (qatomic_xchg(&s->frames_held, false)) {
                qemu_bh_cancel(s->frames_end);
                mlx5_card_frames_end(s->card);
            }
        }
    }
    if (!had_lock) {
        bql_unlock();
    }
    return result;
}

/* The main loop, when all that a netdev had for us has come. */
static void mlx5sim_net_end(void *opaque)
{
    Mlx5simDevice *s = opaque;

    qatomic_set(&s->frames_held, false);
    mlx5_card_frames_end(s->card);
}

/** mlx5sim_net_held - frames wait until the wire has no more for now */
void mlx5sim_net_held(Mlx5simDevice *s)
{
    qatomic_set(&s->frames_held, true);
    qemu_bh_schedule(s->frames_end);
}

/** mlx5sim_net_init - before any thread may call here */
void mlx5sim_net_init(Mlx5simDevice *s)
{
    s->frames_end = qemu_bh_new(mlx5sim_net_end, s);
    s->frames_held = false;
}

/** mlx5sim_net_fini - after the last such thread */
void mlx5sim_net_fini(Mlx5simDevice *s)
{
    qemu_bh_delete(s->frames_end);
}

void mlx5sim_net_start(Mlx5simDevice *s)
{
    DeviceState *dev = DEVICE(s);

    s->nic = qemu_new_nic(&mlx5sim_net_info, &s->conf,
                          object_get_typename(OBJECT(s)), dev->id,
                          &dev->mem_reentrancy_guard, s);
    qemu_format_nic_info_str(qemu_get_queue(s->nic), s->conf.macaddr.a);
    mlx5sim_net_link_changed(qemu_get_queue(s->nic));
}

void mlx5sim_net_stop(Mlx5simDevice *s)
{
    qemu_del_nic(s->nic);
    s->nic = NULL;
}
