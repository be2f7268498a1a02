# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects that the station about the object model creates: parents that
stay, and each kind of object that stands on them."""

import os

import uverbs
from pyverbs.addr import AHAttr, AH, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import AllocDmAttr, Context, DM
from pyverbs.mr import DMMR, MR, MW
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr, SrqInitAttrEx
from pyverbs.wq import RwqIndTable, RwqIndTableInitAttr, WQ, WQInitAttr
from pyverbs.xrcd import XRCD, XRCDInitAttr
from verbs import e, errno_of, PAGE

CTX = 5                          # RDMA_RESTRACK_CTX


class Group:
    """Objects that are closed together, the last first."""

    def __init__(self, *things):
        self.things = things

    def close(self):
        for thing in reversed(self.things):
            thing.close()


class World:
    """A context with the parents of what is to come. The names of the
    parents are those of the labels."""

    def __init__(self, kernel, card):
        self.kernel, self.card = kernel, card
        self.labels, self.addresses = {}, {}

    def __enter__(self):
        self.context = Context(name=self.card.ibdev())
        self.fd = uverbs.descriptor(self.card.uverbs())
        self.pd = self._new("PD", PD, self.context)
        self.cq = self._new("CQ", CQ, self.context, 16)
        self.cq2 = self._new("second CQ", CQ, self.context, 16)
        self.srq = self._new("SRQ", SRQ, self.pd,
                             SrqInitAttr(SrqAttr(max_wr=8)))
        self.xrcd = self._new("XRCD", XRCD, self.context, XRCDInitAttr(
            e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS,
            os.O_CREAT, -1))
        self.wq = self._new("WQ", WQ, self.context, WQInitAttr(
            wq_pd=self.pd, wq_cq=self.cq, max_wr=8))
        self.dm = self._new("DM", DM, self.context, AllocDmAttr(length=64))
        self.mr = self._new("MR", MR, self.pd, PAGE,
                            e.IBV_ACCESS_LOCAL_WRITE)
        self.qp = self._new("QP", QP, self.pd, self._attr(self.cq, self.cq))
        return self

    def __exit__(self, *_):
        self.trouble = errno_of(self.context.close)

    def _ucontext(self):
        device = self.kernel.device(self.card.ibdev())
        for _, entry in self.kernel.tracked(device, CTX):
            context = self.kernel.around("ib_ucontext", "res", entry)
            if context["res.task"] and context["res.task.tgid"] == os.getpid():
                return context
        raise KeyError("our context is not tracked")

    def _objects(self):
        """Return kind and handle to address of what the context has, but
        for what is the driver's own kind."""
        return {(kind, handle): address for handle, kind, address in
                self.kernel.user_objects(self._ucontext())
                if kind in uverbs.KINDS}

    def _new(self, label, make, *args):
        """Create a parent and find it in the kernel."""
        before = set(self.addresses)
        thing = make(*args)
        self.addresses = self._objects()
        for key in set(self.addresses) - before:
            self.labels[key] = label
        return thing

    def usecnts(self):
        """Return usecnt of each parent, by kind and handle."""
        found = {}
        for key in self.labels:
            name = uverbs.KINDS[key[0]][1]
            value = self.kernel.at(name, self.addresses[key])
            if value.has("usecnt"):
                found[key] = value["usecnt"]
        return found

    def _attr(self, send, receive, srq=None, kind=e.IBV_QPT_RC):
        return QPInitAttr(qp_type=kind, scq=send, rcq=receive, srq=srq,
                          cap=QPCap(max_send_wr=4, max_recv_wr=4))

    def _address(self):
        gid = self.context.query_gid(1, 1)
        return AHAttr(port_num=1, is_global=1,
                      gr=GlobalRoute(dgid=gid, sgid_index=1))

    def _xrc_srq(self):
        attr = SrqInitAttrEx(max_wr=8)
        attr.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD |
                          e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_XRCD)
        attr.srq_type, attr.pd = e.IBV_SRQT_XRC, self.pd
        attr.xrcd, attr.cq = self.xrcd, self.cq
        return SRQ(self.context, attr)

    def _xrc_target(self):
        return QP(self.context, QPInitAttrEx(
            qp_type=e.IBV_QPT_XRC_RECV, xrcd=self.xrcd,
            comp_mask=e.IBV_QP_INIT_ATTR_XRCD))

    def _table(self):
        return RwqIndTable(self.context, RwqIndTableInitAttr(
            log_ind_tbl_size=1, wqs_list=[self.wq, self.wq]))

    def kinds(self):
        """Yield a name, what creates one, and its parents with the number of
        their usecnt that it adds."""
        pd, cq, cq2, context = self.pd, self.cq, self.cq2, self.context
        yield "PD", lambda: PD(context), {}
        yield "CQ", lambda: CQ(context, 16), {}
        yield ("MR", lambda: MR(pd, PAGE, e.IBV_ACCESS_LOCAL_WRITE),
               {"PD": 1})
        yield "AH", lambda: AH(pd, attr=self._address()), {"PD": 1}
        yield "MW", lambda: MW(pd, e.IBV_MW_TYPE_1), {"PD": 1}
        yield ("SRQ", lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=8))),
               {"PD": 1})
        yield ("QP, one CQ", lambda: QP(pd, self._attr(cq, cq)),
               {"PD": 1, "CQ": 2})
        yield ("QP, two CQs", lambda: QP(pd, self._attr(cq, cq2)),
               {"PD": 1, "CQ": 1, "second CQ": 1})
        yield ("QP with SRQ", lambda: QP(pd, self._attr(cq, cq, self.srq)),
               {"PD": 1, "CQ": 2, "SRQ": 1})
        yield "XRCD", lambda: XRCD(context, XRCDInitAttr(
            e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS,
            os.O_CREAT, -1)), {}
        yield "XRC SRQ", self._xrc_srq, {"PD": 1, "CQ": 1, "XRCD": 1}
        yield "XRC target QP", self._xrc_target, {"XRCD": 1}
        yield ("WQ", lambda: WQ(context, WQInitAttr(
            wq_pd=pd, wq_cq=cq, max_wr=8)), {"PD": 1, "CQ": 1})
        yield "RWQ_IND_TBL", self._table, {"WQ": 2}
        yield "DM", lambda: DM(context, AllocDmAttr(length=64)), {}
        yield ("MR of DM", lambda: DMMR(pd, 64, e.IBV_ACCESS_ZERO_BASED |
                                        e.IBV_ACCESS_LOCAL_WRITE,
                                        dm=self.dm, offset=0),
               {"PD": 1, "DM": 1})

    def numbers(self):
        """Yield kind, the hardware's number, the core's, the program's."""
        rows = (("PD", "mlx5_ib_pd", "ibpd", "pdn", "res.id", None),
                ("CQ", "mlx5_ib_cq", "ibcq", "mcq.cqn", "res.id", None),
                ("SRQ", "mlx5_ib_srq", "ibsrq", "msrq.srqn", "res.id", None),
                ("QP", "mlx5_ib_qp", "ibqp", "trans_qp.base.mqp.qpn",
                 "qp_num", self.qp.qp_num),
                ("MR", "mlx5_ib_mr", "ibmr", "mmkey.key", "lkey",
                 self.mr.lkey))
        for label, struct, member, hardware, core, program in rows:
            key = next(k for k, v in self.labels.items() if v == label)
            value = self.kernel.around(struct, member, self.addresses[key])
            yield (label, value[hardware], value[f"{member}.{core}"],
                   program)
