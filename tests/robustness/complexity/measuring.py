# SPDX-License-Identifier: Apache-2.0
"""An embedded server in a process of its own, and what one request costs it, measured inside.

    python -m tests.robustness.complexity.measuring DIRECTORY

The process prints the path of its kubeconfig, then answers each line `forget`, `begin` and `end` on standard input.
Between the last two it keeps the longest time for which its event loop did not turn, and the most memory it held above
the beginning. A turn that came late because the machine gave the process no time is not counted: the lag is never more
than the processor time that the process spent in it.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.contract.apiserver.servers import Server, from_kubeconfig

from springtide.event_loop.garbage_collection import collect_rarely
from springtide.local.cluster import Options, running
from springtide.local.scheduler import scheduler
from springtide.local.supervisor.server import COLLECT

TICK = 0.005
PLANTED = "--planted"
WITH_CONTROLLERS = "--with-controllers"
"""The controllers and the scheduler run on the server's event loop, as in every cluster that `tide up` starts."""


@dataclass(frozen=True)
class Cost:
    lag: float
    """Seconds for which the loop did not turn."""
    memory: int
    """Bytes above the least so far, at most."""
    work: float
    """Seconds of processor time, on the loop or beside it."""


class Meter:
    """Runs beside the server, on its loop."""

    def __init__(self) -> None:
        self._lags: list[float] = []
        self._least = sys.maxsize
        self._spent = 0.0

    async def watch(self) -> None:
        while True:
            wall, spent, lags = time.perf_counter(), time.process_time(), self._lags
            await asyncio.sleep(TICK)
            lags.append(min(time.perf_counter() - wall - TICK, time.process_time() - spent))

    def forget(self) -> None:
        """The memory held now becomes the least so far."""
        self._least = sys.maxsize

    def begin(self) -> None:
        """The memory that counts is what is held above the least so far: the interpreter gives little back."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._least, self._lags = min(self._least, _memory("VmRSS")), []
        self._spent = time.process_time()

    def end(self) -> Cost:
        return Cost(max(self._lags, default=0.0), _memory("VmHWM") - self._least, time.process_time() - self._spent)


def _memory(what: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"/proc/self/status has no {what}")


async def _serve(directory: Path) -> None:
    meter = Meter()
    watching = asyncio.create_task(meter.watch())
    commands: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, lambda: commands.put_nowait(sys.stdin.readline().strip()))
    whole = WITH_CONTROLLERS in sys.argv
    options = Options(directory, port=0, controllers=whole, scheduler=scheduler.Options() if whole else None)
    async with running(options) as cluster:
        collect_rarely(COLLECT)
        print(cluster.directory.kubeconfig, flush=True)
        while command := await commands.get():
            if command == "forget":
                meter.forget()
                print("{}", flush=True)
            elif command == "begin":
                meter.begin()
                print("{}", flush=True)
            else:
                await asyncio.sleep(4 * TICK)  # the turn that was held up last is still to be counted
                cost = meter.end()
                print(json.dumps({"lag": cost.lag, "memory": cost.memory, "work": cost.work}), flush=True)
    watching.cancel()


def _plant() -> None:
    """A validator that compares each label with each other, to see that the tests would find one."""
    from springtide.local.kinds import metadata

    honest = metadata.validate_labels

    def quadratic(labels: dict[str, str], path: str) -> list[object]:
        pairs = [(left, right) for left in labels for right in labels if left != right and left == right + right]
        return [*honest(labels, path), *pairs]

    metadata.validate_labels = quadratic  # type: ignore[assignment]


class Measured:
    """The other end of the process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.server: Server = from_kubeconfig(Path(self._line()))

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _ask(self, command: str) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        answer: dict[str, float] = json.loads(self._line())
        return answer

    def forget(self) -> None:
        self._ask("forget")

    def begin(self) -> None:
        self._ask("begin")

    def end(self) -> Cost:
        found = self._ask("end")
        return Cost(found["lag"], int(found["memory"]), found["work"])


@contextmanager
def measured(directory: Path, *options: str) -> Iterator[Measured]:
    command = [sys.executable, "-m", __spec__.name, str(directory), *options]
    with (directory.parent / f"{directory.name}.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=Path.cwd()
        )
        try:
            yield Measured(process)
        finally:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait(30)
            process.stdout.close()


if __name__ == "__main__":
    if PLANTED in sys.argv:
        _plant()
    asyncio.run(_serve(Path(sys.argv[1])))
