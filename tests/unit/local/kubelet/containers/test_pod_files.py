# SPDX-License-Identifier: Apache-2.0
"""What a program may put in the place of a file that the agent reads, or of one that it gives to a group."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from springtide.local.kubelet.containers import pod_files
from springtide.local.kubelet.volumes import ownership


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


PLANTED: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a directory": Path.mkdir,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a terabyte": sparse,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=list(PLANTED))
def test_what_is_no_small_file_is_refused_at_once(tmp_path: Path, plant: Callable[[Path], object]) -> None:
    plant(tmp_path / "file")
    with pytest.raises(OSError):  # noqa: PT011 - of many kinds
        pod_files.read(tmp_path / "file", 1000)


def test_a_file_is_read_whole_and_a_long_one_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert pod_files.read(tmp_path / "file", 10) == b"0123456789"
    assert pod_files.read_end(tmp_path / "file", 3) == b"789"
    sparse(tmp_path / "file")
    assert pod_files.read_end(tmp_path / "file", 3) == bytes(3)


def test_giving_a_volume_to_a_group_never_leads_out_of_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    (outside / "key").touch(0o600)
    volume = tmp_path / "volume"
    (volume / "inner").mkdir(parents=True)
    (volume / "inner" / "file").touch(0o600)
    (volume / "link").symlink_to(outside / "key")
    (volume / "folder").symlink_to(outside)
    ownership.give_to_group(volume, os.getgid())
    assert stat.S_IMODE((volume / "inner" / "file").stat().st_mode) == 0o660
    assert stat.S_IMODE((volume / "inner").stat().st_mode) & 0o2770 == 0o2770
    assert stat.S_IMODE(outside.stat().st_mode) == 0o700
    assert stat.S_IMODE((outside / "key").stat().st_mode) == 0o600
