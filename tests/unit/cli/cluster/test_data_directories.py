# SPDX-License-Identifier: Apache-2.0
"""A place where no cluster can be kept is named before anything is made, with the reason and a way out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from springtide.cli.app import tide
from springtide.cli.cluster import data_directories
from springtide.cli.cluster.data_directories import problem

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="of Linux alone")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("/proc/x", "/proc holds the kernel's information about processes, not files", marks=LINUX),
        pytest.param("/proc", "/proc holds the kernel's information about processes, not files", marks=LINUX),
        pytest.param("/proc/1/a/b", "/proc/1/a/b cannot be made: /proc/1 holds the kernel's", marks=LINUX),
        pytest.param("/sys/x", "/sys/x cannot be made: /sys holds the kernel's information about devices", marks=LINUX),
        ("{home}", "{home} is your home directory, and a cluster needs a directory of its own"),
        ("{home}/file", "{home}/file is a file, and a cluster needs a directory"),
        ("{home}/file/x/y", "{home}/file/x/y cannot be made: {home}/file is a file"),
        ("{home}/lost", "{home}/lost is a symbolic link that leads nowhere"),
    ],
)
@pytest.mark.parametrize("command", [["up"], ["up", "-d"], ["doctor"]], ids=" ".join)
def test_where_no_cluster_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, why: str, command: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    said = CliRunner().invoke(tide, [*command, "--data-dir", path.format(home=tmp_path)])
    assert said.exit_code == 1
    assert why.format(home=tmp_path) in said.output
    assert "Choose a directory on a local disk that you may write to:" in said.output
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "lost"]


@pytest.mark.parametrize("command", ["up", "down", "status", "delete --cluster", "kubeconfig"])
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "it is empty, perhaps because of a variable that is not set"),
        ("/", "/ is the root of all files, and a cluster needs a directory of its own"),
        ("/tmp/" + "x" * 256, "the name xxxxxxxxxxxxxxxxxxxx... has 256 bytes, and file systems allow 255"),
        ("/tmp" + "/" + "/".join(["é" * 100] * 20), "has 4024 bytes; at most 3400 leave room for the cluster's files"),
    ],
    ids=["empty", "root", "long name", "long path"],
)
def test_what_is_no_path_at_all(command: str, path: str, why: str) -> None:
    said = CliRunner().invoke(tide, [*command.split(), "--data-dir", path])
    assert said.exit_code == 2
    assert f"Invalid value for '--data-dir': {why}" in said.output or why in said.output


def test_a_read_only_file_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert problem(tmp_path / "x") == (
        f"{tmp_path / 'x'} cannot be made: {tmp_path} is on a file system that is mounted read-only"
    )


def test_who_may_not_write_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(data_directories, "user_name", lambda uid: "ann")
    assert problem(tmp_path) == f"ann may not write to {tmp_path}, which belongs to ann"


def test_any_other_place_will_do(tmp_path: Path) -> None:
    assert problem(tmp_path) is None
    assert problem(tmp_path / "a" / "b") is None
