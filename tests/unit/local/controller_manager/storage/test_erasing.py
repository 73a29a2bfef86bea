# SPDX-License-Identifier: Apache-2.0
"""Volumes are erased whatever programs did to their directories; as root too, who is stopped by nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from springtide.local.controller_manager.storage.local_provisioner import _erase, _make

ORDINARY = 65534


@pytest.fixture(params=["as we are", "as an ordinary user"])
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory of the user who runs the test, or of another whom root plays."""
    path = Path(tempfile.mkdtemp(prefix="springtide-erasing-"))
    played = request.param == "as an ordinary user"
    if played and os.geteuid() != 0:
        pytest.skip("only root can play another user")
    if played:
        os.chown(path, ORDINARY, ORDINARY)
        os.seteuid(ORDINARY)
    try:
        yield path
    finally:
        if played:
            os.seteuid(0)
        shutil.rmtree(path)


def test_protected_directories_are_erased(place: Path) -> None:
    volume = place / "pvc-1"
    _make(volume)
    _make(volume)
    (volume / "a" / "b").mkdir(parents=True)
    (volume / "a" / "b" / "file").write_text("x")
    (volume / "a" / "b").chmod(0o000)
    (volume / "a").chmod(0o500)
    _erase(volume)
    _erase(volume)
    assert not volume.exists()


def test_links_are_not_followed(place: Path) -> None:
    kept = place / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    kept.chmod(0o500)
    volume = place / "pvc-1"
    _make(volume)
    (volume / "link").symlink_to(kept)
    (volume / "locked").mkdir(mode=0o000)
    _erase(volume)
    replaced = place / "pvc-2"
    replaced.symlink_to(kept)
    _erase(replaced)
    assert not replaced.is_symlink()
    assert (kept / "file").read_text() == "x"
    assert kept.stat().st_mode & 0o777 == 0o500
    kept.chmod(0o700)
