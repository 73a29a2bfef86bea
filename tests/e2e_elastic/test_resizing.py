# SPDX-License-Identifier: Apache-2.0
"""Programs in the shape of Horovod's examples, unchanged but for an import, through resizes and deaths."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e_elastic.environments import ROOT
from tests.e2e_elastic.training import ONE, THREE, TWO, Training
from tests.integration.elastic.launching import parent

pytestmark = pytest.mark.timeout(400)
EXAMPLES = ROOT / "examples" / "elastic"
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def pause(tmp_path: Path) -> Path:
    """How long programs rest after each step: enough for a newcomer to load, until all has been seen."""
    file = tmp_path / "pause"
    file.write_text("0.15")
    return file


def hurry(pause: Path) -> None:
    new = pause.with_suffix(".new")
    new.write_text("0")
    new.rename(pause)


def resized(run: Training, victim: int = 1) -> None:
    """From two ranks to three, one of them dies, and back to two, which may be others."""
    run.saw(r"step \d+ .*size 2")
    run.hosts(f"{ONE} {TWO} {THREE}")
    run.saw(r"step \d+ .*size 3")
    os.kill(run.pid(victim, 3), signal.SIGKILL)
    run.saw("going back to the last commit", 2)
    run.saw(r"rank 1 of 2 ", 2)
    run.hosts(f"{ONE} {THREE}")


def steps(run: Training) -> list[tuple[int, int, float]]:
    found = (re.search(r"step (\d+) .*size (\d) lr (\S+)", line) for line in run.lines)
    return [(int(match[1]), int(match[2]), float(match[3])) for match in found if match]


def test_pytorch_grows_outlives_a_death_and_shrinks(
    train: Callable[..., Training], torch_python: Path, pause: Path
) -> None:
    program = (str(EXAMPLES / "pytorch_mnist_elastic.py"), "--pause", str(pause), "--epochs", "8")
    run = train(f"{ONE} {TWO}", torch_python, *program)
    resized(run)
    hurry(pause)
    assert run.ended() == 0, run.text
    run.saw(r"done after \d+ steps")
    told = steps(run)
    assert {(size, rate) for _, size, rate in told} >= {(2, 0.1), (3, 0.15)}, "all learning rates go with the size"
    assert not [rate for _, size, rate in told if rate != pytest.approx(0.05 * size)]
    back = int(run.saw(r"rank 0 of 2 trains from step ([1-9]\d*)")[0][1])
    assert back % 10 == 0, "it went back to a commit"
    assert [step for step, _, _ in told] == sorted(step for step, _, _ in told), "no committed step is done again"


def test_tensorflow_grows_outlives_a_death_and_shrinks(
    train: Callable[..., Training], tensorflow_python: Path, pause: Path
) -> None:
    program = (str(EXAMPLES / "tensorflow2_mnist_elastic.py"), "--pause", str(pause), "--batches", "1600")
    run = train(f"{ONE} {TWO}", tensorflow_python, *program)
    resized(run)
    hurry(pause)
    assert run.ended() == 0, run.text
    run.saw(r"done after \d+ steps")
    assert {(size, rate) for _, size, rate in steps(run)} >= {(2, 0.002), (3, 0.003)}


def test_keras_fit_grows_outlives_a_death_and_shrinks(
    train: Callable[..., Training], tensorflow_python: Path, pause: Path
) -> None:
    run = train(f"{ONE} {TWO}", tensorflow_python, str(PROGRAMS / "keras_fit.py"), "12", str(pause))
    resized(run)
    hurry(pause)
    assert run.ended() == 0, run.text
    run.saw(r"done after \d+ steps")
    assert "same False" not in run.text, "callbacks that train do not lead old hands apart"
    assert {(size, rate) for _, size, rate in steps(run)} >= {(2, 0.02), (3, 0.03)}


@pytest.mark.parametrize("victim", [0, 1], ids=["with the store", "another"])
def test_torch_distributed_has_a_group_for_every_generation(
    train: Callable[..., Training], torch_python: Path, pause: Path, victim: int
) -> None:
    run = train(f"{ONE} {TWO}", torch_python, str(PROGRAMS / "torch_distributed.py"), "gloo", "800", str(pause))
    resized(run, victim)
    hurry(pause)
    assert run.ended() == 0, run.text
    run.saw("done after 800 steps")


def test_a_host_that_stands_still_does_not_hold_up_torch_distributed(
    train: Callable[..., Training], torch_python: Path, pause: Path
) -> None:
    """Its sockets stay open, and nobody can kill it: gloo alone would wait for it."""
    run = train(f"{ONE} {TWO}", torch_python, str(PROGRAMS / "torch_distributed.py"), "gloo", "800", str(pause))
    run.saw(r"step \d+ size 2")
    rank = run.pid(1, 2)
    agent = parent(rank)
    for pid in (agent, rank):
        os.kill(pid, signal.SIGSTOP)
    try:
        run.saw("rank 0 of 1 trains from step")
        hurry(pause)
        assert run.ended() == 0, run.text
    finally:
        for pid in (rank, agent):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
