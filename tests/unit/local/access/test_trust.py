# SPDX-License-Identifier: Apache-2.0
"""Directories of clusters that others could have written to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from springtide.local.access import trust
from springtide.local.access.trust import UntrustedError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
ANOTHER = 12345


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """As a cluster leaves it."""
    made = tmp_path / "cluster"
    for folder in (made, made / "pki", made / "nodes", made / "nodes/a", made / "operator", made / "pods"):
        folder.mkdir(mode=0o700)
    for name in ("state.db", "cluster.json", "kubeconfig", "pki/ca.pem", "nodes/a/kubeconfig", "operator/kubeconfig"):
        (made / name).touch(0o600)
    return made


def test_what_is_this_users_alone_is_trusted_and_so_is_what_is_not_there(directory: Path) -> None:
    trust.check(directory)
    trust.check(directory / "not" / "there")


def test_a_directory_in_tmp_may_be_trusted(tmp_path: Path, directory: Path) -> None:
    tmp_path.chmod(0o1777)
    trust.check(directory)


def foreign(name: str) -> Callable[[Path], None]:
    return lambda directory: os.lchown(directory / name, ANOTHER, -1)


def writable(name: str, mode: int = 0o666) -> Callable[[Path], None]:
    return lambda directory: (directory / name).chmod(mode)


def linked(directory: Path) -> None:
    (directory / "pki/ca.pem").unlink()
    (directory / "pki/ca.pem").symlink_to("/etc/hostname")
    os.lchown(directory / "pki/ca.pem", ANOTHER, -1)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        pytest.param(writable(".", 0o777), "others may write to .*cluster, so", id="directory"),
        pytest.param(writable(".", 0o1777), "others may write to .*cluster, so", id="sticky directory"),
        pytest.param(writable("state.db"), "others may write to .*state.db", id="objects"),
        pytest.param(writable("pki", 0o777), "others may write to .*pki", id="directory of keys"),
        pytest.param(writable("nodes/a/kubeconfig"), "others may write to .*nodes/a/kubeconfig", id="credentials"),
        pytest.param(writable("pki/ca.pem", 0o640), "ca.pem holds a key that others may read", id="readable key"),
        pytest.param(writable("..", 0o777), "others may write to .*, and so replace it", id="directory above"),
        pytest.param(foreign("."), "cluster belongs to user 12345", id="foreign directory", marks=as_root),
        pytest.param(foreign("pki/ca.pem"), "ca.pem belongs to user 12345", id="foreign key", marks=as_root),
        pytest.param(foreign("operator"), "operator belongs to user 12345", id="foreign credentials", marks=as_root),
        pytest.param(foreign(".."), "belongs to user 12345, who could replace it", id="foreign above", marks=as_root),
        pytest.param(linked, "ca.pem belongs to user 12345", id="foreign link", marks=as_root),
    ],
)
def test_what_others_could_have_written_is_refused_with_the_reason(
    directory: Path, spoil: Callable[[Path], None], complaint: str
) -> None:
    spoil(directory)
    with pytest.raises(UntrustedError, match=complaint):
        trust.check(directory)


@as_root
def test_a_link_to_a_foreign_directory_is_refused(tmp_path: Path, directory: Path) -> None:
    (tmp_path / "link").symlink_to(directory)
    os.chown(directory, ANOTHER, -1)
    with pytest.raises(UntrustedError, match="belongs to user 12345"):
        trust.check(tmp_path / "link")


@as_root
def test_a_link_that_others_can_replace_is_refused(tmp_path: Path, directory: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "link").symlink_to(directory)
    with pytest.raises(UntrustedError, match=r"others may write to .*shared"):
        trust.check(shared / "link")


@as_root
def test_files_of_root_are_trusted_by_an_ordinary_user(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(directory, ANOTHER, -1)
    monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)
    trust.check(directory)
