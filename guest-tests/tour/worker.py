# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that uses the card while it is taken away: worker.py DEVICE LOG.

It has a context with its doorbell pages mapped, a PD, a CQ, an MR and two
connected QPs, and writes from one to the other without end. Each thing that
happens is a line of JSON in LOG. Once told that the device is lost it says
what its commands come back with, writes on into the void for a moment, and
ends."""

import json
import os
import select
import sys
import time

from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR
from verbs import e, errno_of

SIZE = 16384
GID = 1
AFTER_S = 1.0                    # how long it goes on after the event
LIMIT_S = 90


class User:
    """The program's objects."""

    def __init__(self, name, log):
        self.log = open(log, "w")
        self.context = Context(name=name)
        self.fd = self._async()
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)
        self.mr = MR(self.pd, 2 * SIZE, e.IBV_ACCESS_LOCAL_WRITE |
                     e.IBV_ACCESS_REMOTE_WRITE)
        self.qps = [QP(self.pd, QPInitAttr(
            qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
            cap=QPCap(max_send_wr=16, max_recv_wr=4))) for _ in range(2)]
        for qp, peer in zip(self.qps, reversed(self.qps)):
            qp.to_rts(self._attr(peer))
        self.done = 0

    def _async(self):
        """Return the descriptor of the asynchronous events."""
        for fd in os.listdir("/proc/self/fd"):
            if "infinibandevent" in os.readlink(f"/proc/self/fd/{fd}"):
                return int(fd)
        raise OSError("no descriptor for events")

    def _attr(self, peer):
        attr = QPAttr(port_num=1)
        attr.dest_qp_num, attr.path_mtu = peer.qp_num, e.IBV_MTU_1024
        attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
            dgid=self.context.query_gid(1, GID), sgid_index=GID))
        return attr

    def say(self, **what):
        self.log.write(json.dumps(what) + "\n")
        self.log.flush()

    def post(self):
        wr = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1,
                    sg=[SGE(self.mr.buf, SIZE, self.mr.lkey)],
                    send_flags=e.IBV_SEND_SIGNALED)
        wr.set_wr_rdma(self.mr.rkey, self.mr.buf + SIZE)
        self.qps[0].post_send(wr)

    def traffic(self):
        """Write once; False when the card answers no more."""
        self.post()
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            count, wcs = self.cq.poll()
            if count:
                self.done += 1
                if wcs[0].status:
                    self.say(wc=wcs[0].status)
                return not wcs[0].status
        return False

    def event(self, seconds):
        """Return the name of an asynchronous event, None in time."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return None
        event = self.context.get_async_event()
        event.ack()
        return {e.IBV_EVENT_DEVICE_FATAL: "IBV_EVENT_DEVICE_FATAL",
                e.IBV_EVENT_PORT_ERR: "IBV_EVENT_PORT_ERR",
                e.IBV_EVENT_PORT_ACTIVE: "IBV_EVENT_PORT_ACTIVE",
                e.IBV_EVENT_GID_CHANGE: "IBV_EVENT_GID_CHANGE"}.get(
                    event.event_type, str(event.event_type))

    def run(self):
        """Work until the device is lost."""
        end, flows = time.monotonic() + LIMIT_S, True
        self.say(running=os.getpid())
        while time.monotonic() < end:
            flows = flows and self.traffic()
            event = self.event(0 if flows else 0.1)
            if event:
                self.say(event=event, messages=self.done)
            if event == "IBV_EVENT_DEVICE_FATAL":
                return True
        self.say(late=LIMIT_S)
        return False

    def after(self, go):
        """What comes back now. @go: a file that appears when the device has
        been taken away."""
        end = time.monotonic() + LIMIT_S
        while not os.path.exists(go) and time.monotonic() < end:
            time.sleep(0.05)
        self.say(reg_mr=errno_of(lambda: MR(self.pd, 4096, 1)),
                 create_cq=errno_of(lambda: CQ(self.context, 4)),
                 query_port=errno_of(lambda: self.context.query_port(1)),
                 query_qp=errno_of(
                     lambda: self.qps[0].query(e.IBV_QP_STATE)))
        while self.cq.poll()[0]:
            pass                 # what had completed before
        end, posted = time.monotonic() + AFTER_S, 0
        while posted < 8 and time.monotonic() < end:
            self.post()
            posted += 1
        self.say(posted=posted, polled=self.cq.poll()[0])
        for thing in (*self.qps, self.mr, self.cq, self.pd, self.context):
            error = errno_of(thing.close)
            if error:
                self.say(close=type(thing).__name__, error=error)
        self.say(ended=True)


if __name__ == "__main__":
    user = User(sys.argv[1], sys.argv[2])
    if user.run():
        user.after(sys.argv[2] + ".go")
