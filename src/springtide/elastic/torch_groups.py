# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own process groups, one per generation, created and destroyed in the running processes.

    from springtide.elastic import torch_groups

    torch_groups.use("gloo")        # "nccl" on GPUs; before training begins

From then on the default group of `torch.distributed` is that of the current ranks. Objects that belong to a group are
created again with every one:

    parallel = torch_groups.Renewed(lambda: DistributedDataParallel(model))

    loss = criterion(parallel()(inputs), targets)

When a rank is killed the others' calls raise at once. If a rank hangs, neither an abort nor the group's destruction
returns before its time-out, unless its sockets are shut down. The sockets of a group are those that were opened while
it was created. The store through which its ranks find each other belongs to its first rank, and ends with it: so does
the generation.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

import torch
import torch.distributed as dist

from springtide.elastic.groups import BrokenError, Group
from springtide.elastic.ranks import context
from springtide.elastic.ranks.context import Context
from springtide.elastic.ranks.session import Session
from springtide.elastic.shared.members import Member

T = TypeVar("T")
_PATIENCE: Final = timedelta(seconds=60)
_REACHED: Final = timedelta(seconds=5)
_NCCL: Final = {
    # Otherwise its watchdog ends surviving processes, and its calls return before they are done.
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
    "TORCH_NCCL_BLOCKING_WAIT": "1",
}


def use(backend: str = "gloo") -> None:
    """Have a default group of this kind in every generation."""
    now = context.current()
    if now.session is None and now.size > 1:
        raise NotImplementedError("torch_groups needs tiderun; under mpirun use torch.distributed or Horovod's names")
    if now.session is None:
        _prepare(backend)
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
        return
    now.attach = lambda now: ProcessGroup(now, backend)


class Renewed(Generic[T]):
    """An object that belongs to a group: calling it returns the one for the current group. All ranks must call it
    alike."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._generation = -1

    def __call__(self) -> T:
        generation = context.current().generation
        if self._made is None or self._generation != generation:
            self._made = None  # its hooks are removed before new ones are added
            self._made, self._generation = self._make(), generation
        return self._made


class ProcessGroup:
    """The default group, for one generation."""

    def __init__(self, now: Context, backend: str) -> None:
        _prepare(backend)
        assert now.session is not None
        session, group = now.session, now.group
        self._backend, self._group, self._connections = backend, group, session.connections
        self._before = _sockets()
        self._own: set[int] | None = None
        now.attachments.append(self)  # for a death meanwhile
        try:
            self._store = _store(session, group, now.members)
            dist.init_process_group(
                backend,
                store=dist.PrefixStore(f"generation-{now.generation}", self._store),
                rank=group.rank,
                world_size=group.size,
                timeout=_PATIENCE,
            )
            if backend != "nccl":
                dist.barrier()  # detects a death meanwhile here and not in the middle of training
        except RuntimeError as error:
            raise BrokenError(f"PyTorch's group did not come to be: {error}") from error
        self._own = _sockets() - self._before - session.connections.inodes()

    def settle(self) -> None:
        """NCCL's operations run in the background; one that is cut short by a death leaves its tensors incomplete
        without an error. If all ranks are still there and have finished theirs, the results are correct."""
        if self._backend == "nccl":
            torch.cuda.synchronize()
            self._group.allgather(b"")

    def abort(self) -> None:
        own = self._own if self._own is not None else _sockets() - self._before - self._connections.inodes()
        _shut_down(own)
        if self._backend == "nccl" and dist.is_initialized():
            with contextlib.suppress(RuntimeError):
                dist.group.WORLD._get_backend(torch.device("cuda")).abort()

    def close(self) -> None:
        if self._own is not None:
            _shut_down(self._own)
        _destroy()


def _prepare(backend: str) -> None:
    if backend == "nccl":
        for name, value in _NCCL.items():
            os.environ.setdefault(name, value)
    _destroy()
    atexit.unregister(_destroy)
    atexit.register(_destroy)


def _destroy() -> None:
    if dist.is_initialized():
        with contextlib.suppress(RuntimeError):
            dist.destroy_process_group()


def _store(session: Session, group: Group, members: tuple[Member, ...]) -> Any:
    port = bytearray(2)
    if group.rank == 0:
        store = dist.TCPStore("0.0.0.0", 0, is_master=True, wait_for_workers=False, timeout=_PATIENCE)
        port[:] = store.port.to_bytes(2, "big")
    group.broadcast(memoryview(port), 0)
    if group.rank == 0:
        return store
    number = int.from_bytes(port, "big")
    hosts = dict.fromkeys(address for address, _ in session.connections.likely(members[0]))
    return _reached(hosts, number)


def _reached(hosts: Iterable[str], port: int) -> Any:
    errors = []
    for host in hosts:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=_REACHED.total_seconds()):
            try:
                return dist.TCPStore(host, port, is_master=False, timeout=_PATIENCE)
            except RuntimeError as error:
                errors.append(str(error))
    raise BrokenError(f"the first rank's store cannot be reached: {'; '.join(errors) or 'it is gone'}")


def _sockets() -> set[int]:
    return {inode for _, inode in _open_sockets()}


def _open_sockets() -> list[tuple[int, int]]:
    """The open sockets of this process: descriptors and inodes."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if target.startswith("socket:["):
                found.append((int(name), int(target[8:-1])))
    return found


def _shut_down(inodes: set[int]) -> None:
    for descriptor, inode in _open_sockets():
        if inode in inodes:
            # Through a duplicate descriptor: the original stays its owner's to close.
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
                connection.getpeername()  # gloo ends the process if a socket that only listens fails
                connection.shutdown(socket.SHUT_RDWR)
