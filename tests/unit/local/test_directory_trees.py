# SPDX-License-Identifier: Apache-2.0
"""What programs leave behind is removed, however deep they have nested it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from springtide.local.directory_trees import remove_tree


def nest(top: Path, depth: int, name: str) -> None:
    """Deeper than a path may be long, as a program does it: step by step."""
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for number in range(depth):
        os.close(os.open(f"file-{number}", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        if number % 7 == 0 and os.geteuid() == 0:
            os.fchmod(below, 0)
        os.close(here)
        here = below
    os.symlink("/etc", "link", dir_fd=here)
    os.close(here)


@pytest.mark.parametrize(("depth", "name"), [(0, "d"), (3, "d"), (65, "d"), (3000, "d"), (100, "d" * 250)])
def test_a_tree_of_any_depth_is_removed(tmp_path: Path, depth: int, name: str) -> None:
    nest(tmp_path / "top", depth, name)
    (tmp_path / "beside").mkdir()
    remove_tree(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == ["beside"]
    assert os.path.isdir("/etc")


def test_files_that_a_program_has_locked_are_removed(tmp_path: Path) -> None:
    """By `chattr`, as programs with root's capabilities can."""
    if shutil.which("chattr") is None:
        pytest.skip("there is no chattr")
    top = tmp_path / "top"
    for name in ("immutable", "append"):
        (top / name / "below").mkdir(parents=True)
        (top / name / "file").touch()
    for name, attribute in (("immutable", "+i"), ("append", "+a")):
        for each in (top / name / "file", top / name / "below", top / name):
            done = subprocess.run(["chattr", attribute, each], capture_output=True, check=False)
            if done.returncode:
                pytest.skip("this user, or the file system, cannot lock files")
    with pytest.raises(PermissionError):
        (top / "immutable" / "file").unlink()
    remove_tree(str(top))
    assert not top.exists()


def test_two_may_remove_the_same_tree(tmp_path: Path) -> None:
    nest(tmp_path / "top", 500, "d")
    threads = [threading.Thread(target=remove_tree, args=[str(tmp_path / "top")]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not os.listdir(tmp_path)
