# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user program does, through pyverbs, and what it is told."""

import errno

try:
    import pyverbs.enums as e
except ImportError:
    e = None
from pyverbs.device import AllocDmAttr, Context, DM
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE

PAGE = 4096
PREFETCH = 0                     # IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH


class Enums:
    """The constants of later rdma-cores, by name alone: there they stand in
    an enum each."""

    def __getattr__(self, name):
        import pyverbs.libibverbs_enums as module
        for value in vars(module).values():
            found = getattr(value, "__members__", {}).get(name)
            if found is not None:
                setattr(self, name, found)
                return found
        raise AttributeError(name)


e = e or Enums()


def name_of(number):
    """Return the name of an errno, 0 for success."""
    if abs(number) == errno.EOPNOTSUPP:
        return "EOPNOTSUPP"            # errorcode prefers its other name
    return errno.errorcode.get(abs(number), number) if number else 0


def errno_of(function):
    """Return the name of the errno a call fails with, 0 if it works."""
    try:
        function()
    except PyverbsRDMAError as error:
        return name_of(error.error_code)
    except OSError as error:
        return name_of(error.errno)
    return 0


def access(context):
    """Return the rights of an MR, on demand if the card can do that."""
    if context.query_device_ex().odp_caps.general_caps & e.IBV_ODP_SUPPORT:
        return e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_ON_DEMAND
    return e.IBV_ACCESS_LOCAL_WRITE


def attempt(card, call):
    """Ask a card for a thing that it may not have. Return: errno's name."""
    with Context(name=card.ibdev()) as context, PD(context) as pd, \
            MR(pd, PAGE, access(context)) as region:
        if call == "alloc_dm" and not context.query_device_ex().max_dm_size:
            return "max_dm_size is 0"
        return errno_of({
            "alloc_mw": lambda: MW(pd, e.IBV_MW_TYPE_1).close(),
            "alloc_dm": lambda: DM(context, AllocDmAttr(length=64)).close(),
            "advise_mr": lambda: pd.advise_mr(
                PREFETCH, 0,
                [SGE(region.buf, 64, region.lkey)]),
        }[call])
