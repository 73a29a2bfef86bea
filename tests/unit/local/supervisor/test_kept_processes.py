# SPDX-License-Identifier: Apache-2.0
"""Processes kept running, with fake ones: nothing is started here, and time is the loop's own."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import Process
from typing import cast

import pytest

from springtide.local.supervisor.processes import STEADY, Kept, ended


class FakeProcess:
    """Runs until it gets a signal that it listens to."""

    def __init__(self, lives: float | None = None, deaf: bool = False) -> None:
        self.pid, self.returncode = 7, cast("int | None", None)
        self.signals: list[signal.Signals] = []
        self._lives, self._deaf = lives, deaf
        self._gone = asyncio.Event()

    def send_signal(self, number: signal.Signals) -> None:
        self.signals.append(number)
        if number is signal.SIGKILL or not self._deaf:
            self.returncode = -number
            self._gone.set()

    async def wait(self) -> int:
        if self._lives is not None:
            await asyncio.sleep(self._lives)
            self.returncode = 1
            return 1
        await self._gone.wait()
        assert self.returncode is not None
        return self.returncode


class Factory:
    def __init__(self, *processes: FakeProcess) -> None:
        self._processes = list(processes)
        self.times: list[float] = []

    async def __call__(self) -> Process:
        self.times.append(asyncio.get_running_loop().time())
        return cast(Process, self._processes.pop(0))


@pytest.mark.looptime
async def test_a_process_that_dies_is_started_again_ever_more_slowly() -> None:
    last = FakeProcess()
    factory = Factory(*(FakeProcess(lives=0) for _ in range(4)), last)
    kept = Kept("x", factory)
    await asyncio.sleep(5)
    waits = [after - before for before, after in zip(factory.times, factory.times[1:], strict=False)]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8])
    await kept.end(signal.SIGTERM, 1)
    assert last.signals == [signal.SIGTERM]


@pytest.mark.looptime
async def test_one_that_has_run_for_long_is_started_again_at_once() -> None:
    factory = Factory(FakeProcess(lives=0), FakeProcess(lives=0), FakeProcess(lives=STEADY + 1), FakeProcess())
    kept = Kept("x", factory)
    await asyncio.sleep(STEADY + 5)
    assert factory.times[3] - factory.times[2] == pytest.approx(STEADY + 1 + 0.1)
    await kept.end(signal.SIGTERM, 1)


@pytest.mark.looptime
async def test_one_that_does_not_listen_is_killed() -> None:
    process = FakeProcess(deaf=True)
    kept = Kept("x", Factory(process))
    await asyncio.sleep(1)
    await kept.end(signal.SIGTERM, 3)
    assert process.signals == [signal.SIGTERM, signal.SIGKILL]


@pytest.mark.looptime
async def test_an_end_while_it_waits_to_start_again_is_at_once() -> None:
    factory = Factory(*(FakeProcess(lives=0) for _ in range(5)))
    kept = Kept("x", factory)
    await asyncio.sleep(0.35)  # two restarts are over
    began = asyncio.get_running_loop().time()
    await kept.end(signal.SIGTERM, 10)
    assert asyncio.get_running_loop().time() - began == pytest.approx(0, abs=0.01)
    assert len(factory.times) == 3


@pytest.mark.looptime
async def test_an_end_while_it_is_being_started_reaches_it() -> None:
    process = FakeProcess()

    async def slowly() -> Process:
        await asyncio.sleep(1)
        return cast(Process, process)

    kept = Kept("x", slowly)
    await asyncio.sleep(0.5)
    await kept.end(signal.SIGUSR1, 10)
    assert process.signals == [signal.SIGUSR1]


@pytest.mark.looptime
async def test_a_process_that_cannot_be_made_is_tried_again() -> None:
    process, tries = FakeProcess(), 0

    async def launch() -> Process:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return cast(Process, process)

    kept = Kept("x", launch)
    await asyncio.sleep(2)
    assert kept.pid == process.pid
    await kept.end(signal.SIGTERM, 1)


@pytest.mark.looptime
async def test_who_watches_may_give_up() -> None:
    async def died(code: int) -> None:
        raise RuntimeError(ended(code))

    kept = Kept("x", Factory(FakeProcess(lives=0)), died)
    with pytest.raises(RuntimeError, match="ended with status 1"):
        await kept.task


def test_how_a_process_ended_is_said_in_words() -> None:
    assert ended(3) == "ended with status 3"
    assert ended(-9) == "was ended by SIGKILL"
    assert ended(-60) == "was ended by signal 60"
