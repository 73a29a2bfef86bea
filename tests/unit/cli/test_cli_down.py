# SPDX-License-Identifier: Apache-2.0
"""What `tide down` says where it cannot do all that was asked for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from springtide.cli.cluster import down, running_jobs
from springtide.cli.places import program
from springtide.local.datadir import DataDir
from springtide.local.supervisor import leftovers


def run(place: Path, *options: str) -> Result:
    return CliRunner().invoke(down.down, ["--data-dir", str(place), *options])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    directory = tmp_path / "c"
    directory.mkdir(mode=0o700)
    return directory


@pytest.mark.parametrize("options", [["--grace", "2"], ["--keep-pods"]])
def test_a_full_disk_leaves_a_way_to_stop(place: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(DataDir, "is_running", lambda _: True)
    monkeypatch.setattr(running_jobs, "notice", lambda *_, **__: "")
    monkeypatch.setattr(down, "ask", full)
    result = run(place, *options)
    assert result.exit_code == 1
    assert f"cannot write to {place}: No space left on device" in result.output
    assert f"which needs none: {program()} down --data-dir {place}" in result.output


@pytest.mark.parametrize(("count", "words"), [(1, "1 pod runs on."), (3, "3 pods run on.")])
def test_pods_that_run_on_without_their_cluster_are_named(
    place: Path, monkeypatch: pytest.MonkeyPatch, count: int, words: str
) -> None:
    monkeypatch.setattr(leftovers, "living", lambda _: count)
    result = run(place)
    assert words in result.output
    assert f"{program()} up -d --data-dir {place} and then {program()} down --data-dir {place}" in result.output
