# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = [shutil.which("mount") or "false", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield path
    subprocess.run(["umount", "--lazy", path], check=True)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass


@pytest.mark.parametrize("detach", [[], ["-d"]], ids=["foreground", "background"])
def test_a_first_start_on_a_full_disk_is_refused(tide: Tide, disk: Path, detach: list[str]) -> None:
    fill(disk)
    said = tide.error("up", "--port", "0", *detach, "--data-dir", str(disk / "cluster"))
    assert "full" in said
    assert "choose a directory on another disk" in said
    assert "✗ only 0 MiB are free" in tide.run("doctor", "--data-dir", str(disk / "cluster")).stdout


def test_a_cluster_comes_up_again_on_a_disk_that_has_become_full(tide: Tide, disk: Path) -> None:
    place = str(disk / "cluster")
    tide.ok("up", "-d", "--port", "0", "--data-dir", place)
    tide.ok("down", "--data-dir", place)
    fill(disk)
    said = tide.error("up", "-d", "--data-dir", place)
    assert "full" in said


def test_a_cluster_is_deleted_from_a_full_disk(tide: Tide, disk: Path) -> None:
    place = str(disk / "cluster")
    tide.ok("up", "-d", "--port", "0", "--data-dir", place)
    tide.ok("down", "--data-dir", place)
    fill(disk)
    tide.ok("delete", "--cluster", "--yes", "--data-dir", place)
    assert [path.name for path in disk.iterdir()] == ["filler"]
