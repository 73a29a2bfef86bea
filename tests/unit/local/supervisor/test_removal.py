# SPDX-License-Identifier: Apache-2.0
"""Only what a cluster made is removed, and an interrupted removal is finished by the next."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from springtide.local.datadir import DataDir, InUseError
from springtide.local.supervisor import removal

UID = "c32e400a-0656-426a-bfca-212e31de1c63"
FILES = (
    "audit.log",
    "bin/kubectl",
    "bin/kubectl.py",
    "devices/register.json",
    f"exec/{UID}/pod/x",
    "kubeconfig",
    ".kubeconfig.0a1b2c3d",
    f"logs/default_hello_{UID}/main/0.log",
    "network/holder.json",
    "network/table.json",
    "nodes/vm/agent.log",
    "nodes/vm/kubeconfig",
    "operator/operator.log",
    "pki/ca.pem",
    f"pods/{UID}/pod.json",
    "server.log",
    "server.log.1",
    "state.db",
    "state.db-revision",
    "state.db-wal",
    f"volumes/pvc-{UID}/data",
)


@pytest.fixture
def place(tmp_path: Path) -> DataDir:
    place = DataDir(tmp_path / "cluster")
    for name in FILES:
        (place.path / name).parent.mkdir(parents=True, exist_ok=True)
        (place.path / name).write_text("x")
        (place.path / name).chmod(0o600)
    for folder in (place.path, *(path for path in place.path.rglob("*") if path.is_dir())):
        folder.chmod(0o700)
    place.describe("cluster", 6443)
    place.acquire()
    place.release()
    return place


async def test_nothing_is_left_of_a_cluster(place: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(place.path)  # paths of sockets are short
        listener.bind("network/holder.sock")
    assert await removal.remove(place) == []
    assert not place.path.exists()


async def test_what_the_cluster_did_not_make_is_left_where_it_is(place: DataDir, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / UID).mkdir(parents=True)
    foreign = [
        "notes.txt",
        "bin/mine",
        "logs/training.log",
        "nodes/list.csv",
        "volumes/data/x",
        "pods/README",
        "state.db.bak",
    ]
    for name in foreign:
        (place.path / name).parent.mkdir(exist_ok=True)
        (place.path / name).write_text("mine")
    (place.path / "audit.log").unlink()
    (place.path / "audit.log").symlink_to(elsewhere)
    (place.path / f"volumes/pvc-{UID}-link").symlink_to(elsewhere)
    (place.path / f"exec/{UID}/pod/link").symlink_to(elsewhere)
    left = await removal.remove(place)
    assert [path.name for path in left] == [
        "audit.log",
        "bin",
        "logs",
        "nodes",
        "notes.txt",
        "pods",
        "state.db.bak",
        "volumes",
    ]
    rest = {
        str(path.relative_to(place.path)) for path in place.path.rglob("*") if not path.is_dir() or path.is_symlink()
    }
    assert rest == {*foreign, "audit.log", f"volumes/pvc-{UID}-link"}
    assert (elsewhere / UID).is_dir()
    assert not removal.is_cluster(place)


async def test_a_linked_directory_of_the_cluster_is_not_followed(place: DataDir, tmp_path: Path) -> None:
    (place.path / "volumes").rename(tmp_path / "large-disk")
    (place.path / "volumes").symlink_to(tmp_path / "large-disk")
    assert await removal.remove(place) == [place.path / "volumes"]
    assert (tmp_path / "large-disk" / f"pvc-{UID}" / "data").exists()


async def test_a_data_directory_that_is_a_link_stays(place: DataDir, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(place.path)
    assert await removal.remove(DataDir(tmp_path / "link")) == []
    assert (tmp_path / "link").is_symlink()
    assert list(place.path.iterdir()) == []


@pytest.mark.parametrize(
    "names", [[], ["lock", "bin/tool", "logs/x"], ["state.db"], ["kubeconfig", "pki/ca.pem"]], ids=str
)
async def test_a_directory_that_is_not_a_clusters_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(removal.ForeignError):
        await removal.remove(DataDir(tmp_path))
    assert all((tmp_path / name).exists() for name in names)
    with pytest.raises(removal.ForeignError):
        await removal.remove(DataDir(tmp_path / "not-there"))


async def test_a_cluster_that_runs_is_not_removed(place: DataDir) -> None:
    holder = DataDir(place.path)
    holder.acquire()
    with pytest.raises(InUseError):
        await removal.remove(place)
    holder.release()
    assert all((place.path / name).exists() for name in FILES)


class Killed(Exception):
    """Stands for kill -9."""


def killing(step: int, deed: Callable[[Any], None]) -> Callable[[Any], None]:
    count = itertools.count()

    def or_killed(path: Any) -> None:
        if next(count) == step:
            raise Killed
        deed(path)

    return or_killed


@pytest.mark.parametrize("step", range(0, 30, 3))
async def test_what_was_interrupted_is_finished_by_the_next(
    place: DataDir, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(removal, "_unlink", killing(step, removal._unlink))
        try:
            await removal.remove(place)
        except Killed:
            assert removal.is_cluster(place)
    if place.path.exists():
        await removal.remove(place)
    assert not place.path.exists()


async def test_until_the_files_are_gone_the_cluster_is_marked(place: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(removal, "_unlink", killing(2, removal._unlink))
        with pytest.raises(Killed):
            await removal.remove(place)
    assert place.is_being_deleted()
    assert not place.is_running()
