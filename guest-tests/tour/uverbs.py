# SPDX-License-Identifier: GPL-2.0-or-later
"""Speaks to the kernel's uverbs without a library, to do what libraries don't:
open a device without making a context, destroy what is in use."""

import array
import fcntl
import os
import struct

# enum uverbs_default_objects
PD, CQ, QP, SRQ, AH, MR, MW, FLOW, XRCD, RWQ_IND_TBL, WQ, DM = (
    1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14)
# Kind: name, struct of the core.
KINDS = {PD: ("PD", "ib_pd"), CQ: ("CQ", "ib_cq"), QP: ("QP", "ib_qp"),
         SRQ: ("SRQ", "ib_srq"), AH: ("AH", "ib_ah"), MR: ("MR", "ib_mr"),
         MW: ("MW", "ib_mw"), XRCD: ("XRCD", "ib_xrcd"),
         RWQ_IND_TBL: ("RWQ_IND_TBL", "ib_rwq_ind_table"),
         WQ: ("WQ", "ib_wq"), DM: ("DM", "ib_dm"), FLOW: ("FLOW", "ib_flow")}
# Kind: number of the method that destroys one, bytes of its answer.
DESTROY = {PD: (0, 0), CQ: (1, 8), QP: (1, 4), SRQ: (1, 4), XRCD: (0, 0),
           RWQ_IND_TBL: (0, 0), WQ: (1, 4), DM: (1, 0)}
RDMA_VERBS_IOCTL = 0xc0181b01
RDMA_DRIVER_MLX5 = 1
MANDATORY = 1
GET_CONTEXT, REG_MR, POST_SEND = 0, 9, 28       # ib_uverbs_write_cmds


def command(fd, number, body, answer=0):
    """Run an old command, of write(2). @body follows the pointer to the
    answer, if there is one. Return: the answer."""
    out = array.array("B", bytes(answer))
    if answer:
        body = struct.pack("<Q", out.buffer_info()[0]) + body
    head = struct.pack("<IHH", number, (8 + len(body)) // 4, answer // 4)
    os.write(fd, head + body)
    return out.tobytes()


def get_context(fd):
    """Make the context of an opened device; mlx5 wants doorbell pages.

    The request has the length of mlx5_ib_alloc_ucontext_req_v2: of a shorter
    one Linux 7.2 takes the rest, flags among it, from its stack as it is, and
    refuses where the compiler doesn't clear that (INIT_STACK_NONE)."""
    request = struct.pack("<IIIIBBHIQ", 16, 4, 0, 0, 0, 0, 0, 0, 0)
    command(fd, GET_CONTEXT, request, 8 + 128)


def destroy(fd, kind, handle):
    """Destroy an object by ioctl; OSError says why not."""
    method, answer = DESTROY[kind]
    attrs = struct.pack("<HHHHQ", 0, 0, MANDATORY, 0, handle)
    out = array.array("B", bytes(answer or 1))
    if answer:
        attrs += struct.pack("<HHHHQ", 1, answer, MANDATORY, 0,
                             out.buffer_info()[0])
    count = len(attrs) // 16
    head = struct.pack("<HHHHQII", 24 + len(attrs), kind, method, count, 0,
                       RDMA_DRIVER_MLX5, 0)
    fcntl.ioctl(fd, RDMA_VERBS_IOCTL, bytearray(head + attrs))


def descriptor(path):
    """Return our newest descriptor of a device."""
    found = [int(fd) for fd in os.listdir("/proc/self/fd")
             if os.path.realpath(f"/proc/self/fd/{fd}") == path]
    return max(found)
