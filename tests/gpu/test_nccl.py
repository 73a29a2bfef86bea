# SPDX-License-Identifier: Apache-2.0
"""On a machine with an NVIDIA GPU and PyTorch: groups of NCCL that are resized and lose a rank.

PYTHONPATH=src:. pytest --confcutdir=tests/gpu tests/gpu/test_nccl.py
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Elastic

pytestmark = [
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch"),
]
PROGRAMS = Path(__file__).parents[1] / "e2e_elastic" / "programs"
ONE, TWO, THREE = "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Callable[..., Elastic]]:
    runs: list[Elastic] = []

    def trained(*program: str) -> Elastic:
        options = ["-np", "2", "--min-np", "1", "--max-np", "3", "--blacklist-cooldown-range", "1", "2"]
        runs.append(Elastic(tmp_path, f"{ONE} {TWO}", *options, program=(sys.executable, *program)))
        return runs[-1]

    yield trained
    for each in runs:
        each.close()


def grown_and_struck(run: Elastic) -> None:
    run.saw(r"step \d+ size 2")
    run.hosts(f"{ONE} {TWO} {THREE}")
    run.saw(r"step \d+ size 3")
    os.kill(int(run.saw(r"rank 1 of 3 .* pid (\d+)")[-1][1]), signal.SIGKILL)
    run.saw(r"rank 1 of 2 ", 2)


@pytest.mark.parametrize(("way", "steps"), [("nccl", "400"), ("ring", "200")])
def test_what_is_committed_is_right(train: Callable[..., Elastic], way: str, steps: str) -> None:
    """NCCL leaves half of a sum behind, without a word, when a rank dies in the middle of it."""
    run = train(str(PROGRAMS / "hvd_devices.py"), steps, way)
    grown_and_struck(run)
    assert run.ended() == 0, run.text
    run.saw(f"done after {steps} steps with {steps}.0")


def test_torch_distributed_has_a_group_of_nccl_for_every_generation(
    train: Callable[..., Elastic], tmp_path: Path
) -> None:
    pause = tmp_path / "pause"
    pause.write_text("0.02")
    run = train(str(PROGRAMS / "torch_distributed.py"), "nccl", "800", str(pause))
    grown_and_struck(run)
    assert run.ended() == 0, run.text
    run.saw("done after 800 steps")
