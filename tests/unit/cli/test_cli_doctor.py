# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import resource
import shutil
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from springtide.cli.app import tide
from springtide.cli.doctor import checks
from springtide.cli.doctor.checks import CHECKS
from springtide.cli.doctor.errors import Wrong
from springtide.local.datadir import DataDir
from springtide.messages import Text

Patch = pytest.MonkeyPatch


@pytest.fixture
def place(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path / "not" / "yet" / "made")


@pytest.mark.parametrize("check", [check for check in CHECKS if check is not checks.kubectl], ids=lambda c: c.__name__)
def test_this_machine_is_in_order_and_nothing_is_left_behind(check: Callable[[DataDir], Text], place: DataDir) -> None:
    assert check(place)
    assert list(place.path.parents[2].iterdir()) == []


def old_sqlite(patch: Patch) -> None:
    patch.setattr(sqlite3, "sqlite_version_info", (3, 7, 17))


def little_space(patch: Patch) -> None:
    patch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1024**2))


def no_loopback(patch: Patch) -> None:
    def refused(*args: object) -> socket.socket:
        raise OSError(99, "Cannot assign requested address")

    patch.setattr(socket, "create_server", refused)


def few_files(patch: Patch) -> None:
    patch.setattr(resource, "getrlimit", lambda which: (256, 256))


@pytest.mark.parametrize(
    ("broken", "check", "found"),
    [
        (old_sqlite, checks.python_version, "too old"),
        (little_space, checks.free_space, "only 1 MiB are free"),
        (no_loopback, checks.loopback, "127.0.0.1 cannot be used"),
        (few_files, checks.open_files, "only 256 files"),
    ],
)
def test_what_is_missing_is_found_with_a_fix(
    broken: Callable[[Patch], None],
    check: Callable[[DataDir], Text],
    found: str,
    place: DataDir,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    with pytest.raises(Wrong, match=found) as wrong:
        check(place)
    assert wrong.value.fix.template
    assert wrong.value.needed


def test_a_place_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Wrong, match="file is a file, and a cluster needs a directory"):
        checks.data_directory(DataDir(tmp_path / "file" / "cluster"))


def test_a_clock_that_was_set_back_is_noticed(tmp_path: Path) -> None:
    authority = tmp_path / "pki" / "ca.pem"
    authority.parent.mkdir()
    authority.touch()
    os.utime(authority, (2**33, 2**33))
    with pytest.raises(Wrong, match="set back"):
        checks.clock(DataDir(tmp_path))


@pytest.mark.parametrize(
    ("says", "found"),
    [
        ('echo \'{"clientVersion": {"gitVersion": "v1.36.0"}}\'', "kubectl is v1.36.0"),
        ('echo \'{"clientVersion": {"gitVersion": "v1.35.9+k3s1"}}\'', "kubectl is v1.35.9+k3s1"),
        ('echo \'{"clientVersion": {"gitVersion": "v1.20.1"}}\'', "! kubectl is v1.20.1, the cluster follows"),
        ("echo nonsense", "kubectl does not tell its version"),
        ("exit 1", "kubectl does not tell its version"),
        (None, "! kubectl is not on the PATH"),
    ],
)
def test_kubectl_is_asked_and_can_be_lived_without(
    says: str | None, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if says is not None:
        program = tmp_path / "kubectl"
        program.write_text(f"#!/bin/sh\n{says}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finished = CliRunner().invoke(tide, ["doctor", "--data-dir", str(tmp_path)])
    assert found in finished.output
    assert finished.exit_code == 0


def test_a_failed_check_is_the_exit_status(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    finished = CliRunner().invoke(tide, ["doctor", "--data-dir", str(tmp_path / "file")])
    assert f"✗ {tmp_path / 'file'} is a file, and a cluster needs a directory" in finished.output
    assert finished.exit_code == 1
