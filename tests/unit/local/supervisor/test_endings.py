# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from springtide.local.datadir import DataDir
from springtide.local.supervisor import signals
from springtide.local.supervisor.endings import AT_ONCE, Ending, ask, asked
from springtide.local.supervisor.signals import Endings


@pytest.fixture
async def directory(tmp_path: Path) -> AsyncIterator[DataDir]:
    directory = DataDir(tmp_path / "cluster")
    directory.acquire()
    yield directory
    directory.release()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().remove_signal_handler(number)


@pytest.mark.parametrize("ending", [Ending(), Ending(keep_pods=True), Ending(grace=2.5), AT_ONCE])
def test_word_is_left_once(tmp_path: Path, ending: Ending) -> None:
    place = DataDir(tmp_path)
    ask(place, ending)
    assert asked(place) == ending
    assert asked(place) == Ending()


@pytest.mark.parametrize("note", ["", "{", "[]", "{}", '{"keepPods": true, "grace": "soon"}'])
def test_a_damaged_note_is_an_ending_like_any_other(tmp_path: Path, note: str) -> None:
    (tmp_path / "ending.json").write_text(note)
    assert asked(DataDir(tmp_path)) == Ending()


async def test_tide_down_is_obeyed(directory: DataDir) -> None:
    endings = Endings(directory)
    endings.listen()
    ask(directory, Ending(keep_pods=True))
    os.kill(os.getpid(), signal.SIGTERM)
    assert await endings.next() == Ending(keep_pods=True)


async def test_a_note_from_before_the_start_does_not_count(directory: DataDir) -> None:
    ask(directory, AT_ONCE)
    endings = Endings(directory)
    endings.listen()
    os.kill(os.getpid(), signal.SIGTERM)
    assert await endings.next() == Ending()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_a_second_ctrl_c_makes_haste(directory: DataDir, number: signal.Signals) -> None:
    endings = Endings(directory)
    endings.listen()
    os.kill(os.getpid(), number)
    assert await endings.next() == Ending()
    os.kill(os.getpid(), signal.SIGINT)
    assert await endings.next() == AT_ONCE


async def test_a_terminal_that_closes_twice_makes_no_haste(directory: DataDir) -> None:
    endings = Endings(directory)
    endings.listen()
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGHUP)
        assert await endings.next() == Ending()


async def test_a_directory_that_disappears_ends_everything(directory: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_LOOK", 0.001)
    endings = Endings(directory)
    shutil.rmtree(directory.path)
    assert await endings.next() == AT_ONCE
