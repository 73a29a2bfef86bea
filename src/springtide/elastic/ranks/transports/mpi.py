# SPDX-License-Identifier: Apache-2.0
"""Ranks started by `mpirun`: their numbers from its variables, and a group over mpi4py.

Such a group has one generation and a fixed size. MPI cannot lose a rank: a rank that fails ends all of them. mpi4py and
NumPy are imported when the group is created; a process that asks only for its rank needs neither.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from springtide.elastic.groups import Buffer

JOINED: Final = "TIDE_MPI_JOINED"
"""Set by a rank that has joined the group: its child processes inherit its variables but are not that rank."""
_LAUNCHERS: Final = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
"""Variables of Open MPI, and of the launchers of MPICH and Intel MPI."""
_PIECE: Final = 1 << 28
"""Elements per call: MPI counts them in 32 bits."""


class NoMpiError(RuntimeError):
    """mpi4py is missing, without which a rank started by mpirun cannot join the others."""


@dataclass(frozen=True, slots=True)
class World:
    """A rank's numbers, as set by mpirun."""

    rank: int
    size: int
    local_rank: int = 0
    local_size: int = 1


def found(environment: Mapping[str, str]) -> World | None:
    """None for a process that was not started by mpirun, or is its only rank."""
    if environment.get(JOINED):
        return None
    for names in _LAUNCHERS:
        given = [environment.get(name, "") for name in names]
        rank, size, local_rank, local_size = (int(text) if text.isdecimal() else None for text in given)
        if rank is not None and size is not None:
            return World(rank, size, local_rank or 0, local_size or 1) if size > 1 else None
    return None


class MpiGroup:
    """All ranks of this mpirun."""

    def __init__(self, communicator: Any, mpi: Any) -> None:
        self._communicator, self._mpi = communicator, mpi
        self.rank, self.size = int(communicator.Get_rank()), int(communicator.Get_size())

    def allreduce(self, flat: Any, given: Any = None, divisor: float | None = None) -> None:
        if given is not None and given is not flat:
            flat[:] = given
        wide = flat.astype(sys.modules["numpy"].float32) if _is_half(flat.dtype) else flat
        for start in range(0, len(wide), _PIECE):
            self._communicator.Allreduce(self._mpi.IN_PLACE, wide[start : start + _PIECE])
        if divisor is not None:
            wide /= divisor
        if wide is not flat:
            flat[:] = wide

    def allgather(self, mine: bytes) -> Sequence[bytes]:
        found: list[bytes] = self._communicator.allgather(mine)
        return found

    def broadcast(self, data: Buffer, root: int) -> None:
        for start in range(0, len(data), _PIECE):
            self._communicator.Bcast([data[start : start + _PIECE], self._mpi.BYTE], root)

    def pass_on(self, data: Buffer, source: int, *, everybody: bool) -> None:
        """Broadcasts to all ranks: a group of MPI has no new members."""
        self.broadcast(data, source)

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass


def _is_half(dtype: Any) -> bool:
    """MPI has no half-precision numbers."""
    return bool(dtype.kind == "f" and dtype.itemsize == 2)


def joined() -> MpiGroup:
    """The group of all ranks; every one of them must call this. NoMpiError if mpi4py cannot be used."""
    try:
        mpi: Any = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise NoMpiError(f"mpirun has started this rank, and mpi4py is needed to join the others: {error}") from error
    _abort_on_failure(mpi.COMM_WORLD)
    return MpiGroup(mpi.COMM_WORLD, mpi)


def _abort_on_failure(communicator: Any) -> None:
    """An exception ends all ranks. Otherwise the failed rank would wait for the others in MPI_Finalize, and they would
    wait for it in a collective."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        communicator.Abort(1)

    sys.excepthook = hook
