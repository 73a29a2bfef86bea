# SPDX-License-Identifier: Apache-2.0
"""This process's rank and size, and the group of its collectives.

A program asks for its rank and size before it trains, to choose a GPU or a learning rate. It belongs to no generation
then: it joins one when it is ready to train, or at its first collective, so that no rank waits for it earlier. Until
then it gets the values that its launcher expects.

Collectives that not all ranks run stay within this process: those of a new rank before it trains, and those of reset
callbacks, which existing members run and new ones do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from springtide.elastic.groups import Group, Solo
from springtide.elastic.protocol.rank_messages import Entered
from springtide.elastic.ranks import context
from springtide.elastic.ranks.collectives import local_rank, rank, size
from springtide.elastic.ranks.transports import mpi

__all__ = [
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_homogeneous",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "rocm_built",
    "shutdown",
    "size",
]


class _World:
    """One per process."""

    def __init__(self) -> None:
        self.initialized = False
        self.elastic = False
        """The program trains in an elastic run, in which the state is handed over."""
        self.apart = False
        self.used = False
        """A collective ran within this process alone while it was apart."""


_world = _World()


def init(comm: object = None, process_sets: object = None) -> None:
    """Does not join under tiderun, see above. Under mpirun all ranks call it, and the group is created here."""
    if comm not in (None, 0) or process_sets not in (None, "dynamic"):
        raise NotImplementedError("communicators and process sets are not offered: all ranks train together")
    if mpi.found(os.environ) is not None:
        context.current()
    _world.initialized = True


def shutdown() -> None:
    _world.initialized = False


def is_initialized() -> bool:
    return _world.initialized


def local_size() -> int:
    now = context.entered()
    return now.local_size if now is not None else context.expected().local_size


def cross_rank() -> int:
    """The index of this host among all hosts."""
    now = context.entered()
    return now.hosts.index(now.host) if now is not None else 0


def cross_size() -> int:
    now = context.entered()
    return len(now.hosts) if now is not None else 1


def is_homogeneous() -> bool:
    """Whether every host has as many ranks as this one."""
    return size() == local_size() * cross_size()


def is_elastic() -> bool:
    return _world.elastic


def become_elastic() -> None:
    _world.elastic = True


def told_otherwise() -> bool:
    """Whether the program was given another size than the current one."""
    return context.told_size() not in (None, context.current().size)


def check_root(root: int) -> None:
    if not 0 <= root < size():
        raise ValueError(f"there is no rank {root} among {size()}")


def group() -> Group:
    """The group for a collective. Joins the first generation if necessary."""
    if _world.apart:
        _world.used = True
        return Solo()
    now = context.entered()
    if now is not None:
        return now.group
    if int(os.environ.get("TIDE_GENERATION", "0")):
        return Solo()
    return _joined()


def _joined() -> Group:
    now = context.current()
    if now.session is not None:
        entry = now.session.begin()
        now.enter(entry)
        now.session.send(Entered(entry.generation))
    return now.group


@contextmanager
def apart() -> Iterator[None]:
    """Collectives inside stay within this process."""
    _world.apart, _world.used = True, False
    try:
        yield
    finally:
        _world.apart = False


def used_apart() -> bool:
    return _world.used


# Horovod's build features, for programs that choose by them.


def nccl_built() -> bool:
    return True


def gloo_built() -> bool:
    return True


def gloo_enabled() -> bool:
    return not mpi_enabled()


def mpi_built() -> bool:
    return mpi_enabled()


def mpi_enabled() -> bool:
    """Whether mpirun started this process."""
    now = context.entered()
    return now.session is None if now is not None else mpi.found(os.environ) is not None


def mpi_threads_supported() -> bool:
    return False


def cuda_built() -> bool:
    return True


def rocm_built() -> bool:
    return False


def ddl_built() -> bool:
    return False


def ccl_built() -> bool:
    return False
