# SPDX-License-Identifier: GPL-2.0-or-later
"""Collective operations of MPI, each with a result that is known beforehand.

The first rank prints a line "checked NAME" for each; a wrong result ends all
ranks with a message."""

import array
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
SIZES = (1, 100, 5000, 100000)


def ramp(size, first):
    """Return @size numbers that differ for each place and each @first."""
    return array.array("q", range(first, first + size))


def same(what, have, want):
    if have != want:
        at = next(i for i, (a, b) in enumerate(zip(have, want)) if a != b)
        print(f"{what}: rank {rank} has {have[at]} at {at}, not {want[at]}",
              flush=True)
        world.Abort(1)


def done(what):
    world.Barrier()
    if rank == 0:
        print("checked", what, flush=True)


def zeros(size):
    return array.array("q", bytes(8 * size))


def bcast(size):
    for root in range(ranks):
        data = ramp(size, root) if rank == root else zeros(size)
        world.Bcast(data, root)
        same("Bcast", data, ramp(size, root))


def reduce(size):
    total = array.array("q", (ranks * i + ranks * (ranks - 1) // 2
                              for i in range(size)))
    data = zeros(size)
    world.Allreduce(ramp(size, rank), data)
    same("Allreduce", data, total)
    data = zeros(size)
    world.Reduce(ramp(size, rank), data, MPI.SUM, ranks - 1)
    if rank == ranks - 1:
        same("Reduce", data, total)


def gather(size):
    every = array.array("q")
    for r in range(ranks):
        every += ramp(size, r)
    data = zeros(size * ranks)
    world.Allgather(ramp(size, rank), data)
    same("Allgather", data, every)
    data = zeros(size * ranks)
    world.Gather(ramp(size, rank), data, 0)
    if rank == 0:
        same("Gather", data, every)
    part = zeros(size)
    world.Scatter(every, part, 0)
    same("Scatter", part, ramp(size, rank))


def alltoall(size):
    mine, want = array.array("q"), array.array("q")
    for r in range(ranks):
        mine += ramp(size, 1000 * rank + r)
        want += ramp(size, 1000 * r + rank)
    data = zeros(size * ranks)
    world.Alltoall(mine, data)
    same("Alltoall", data, want)


def ring(size):
    data = zeros(size)
    world.Sendrecv(ramp(size, rank), (rank + 1) % ranks, recvbuf=data,
                   source=(rank - 1) % ranks)
    same("Sendrecv", data, ramp(size, (rank - 1) % ranks))


def window(size):
    """One-sided: each puts to its neighbour, then all add to the first. What
    is put must live until the fence, so it has a name."""
    memory, mine = zeros(size), ramp(size, rank)
    ones = array.array("q", [rank + 1] * size)
    win = MPI.Win.Create(memory, 8, comm=world)
    win.Fence()
    win.Put(mine, (rank + 1) % ranks)
    win.Fence()
    same("Put", memory, ramp(size, (rank - 1) % ranks))
    got = zeros(size)
    win.Get(got, (rank + 2) % ranks)
    win.Fence()
    same("Get", got, ramp(size, (rank + 1) % ranks))
    win.Accumulate(ones, 0)
    win.Fence()
    if rank == 0:
        add = ranks * (ranks + 1) // 2
        same("Accumulate", memory,
             array.array("q", (ranks - 1 + i + add for i in range(size))))
    win.Free()


for function in (bcast, reduce, gather, alltoall, ring, window):
    for count in SIZES:
        function(count)
    done(function.__name__)
sys.stdout.flush()
