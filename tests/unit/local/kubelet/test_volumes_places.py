# SPDX-License-Identifier: Apache-2.0
"""hostPath, emptyDir, subPath and fsGroup: what happens to directories of this machine."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from springtide.local.kubelet.volumes import claims, empty_dirs, host_paths, ownership, subpaths
from springtide.local.kubelet.volumes.claims import ClaimError
from springtide.local.kubelet.volumes.host_paths import HostPathError


def host_path(path: Path, kind: str = "") -> Path:
    return host_paths.path_of({"path": str(path), "type": kind})


@pytest.mark.parametrize("kind", ["", "DirectoryOrCreate"])
def test_a_missing_directory_is_made(tmp_path: Path, kind: str) -> None:
    assert host_path(tmp_path / "a/b", kind).is_dir()


def test_a_missing_file_is_made(tmp_path: Path) -> None:
    assert host_path(tmp_path / "f", "FileOrCreate").is_file()


def test_things_are_what_they_are_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for kind, name in (("Directory", "."), ("File", "file"), ("Socket", "socket")):
            assert host_path(tmp_path / name, kind) == tmp_path / name
    assert host_path(Path("/dev/null"), "CharDevice") == Path("/dev/null")


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ("Directory", "is not a directory"),
        ("DirectoryOrCreate", "is not a directory"),
        ("Socket", "is not a socket file"),
        ("CharDevice", "is not a character device"),
        ("BlockDevice", "is not a block device"),
    ],
)
def test_something_else_is_refused(tmp_path: Path, kind: str, complaint: str) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(HostPathError) as caught:
        host_path(tmp_path / "f", kind)
    assert str(caught.value) == f"hostPath type check failed: {tmp_path}/f {complaint}"


@pytest.mark.parametrize("kind", ["Directory", "File", "Socket"])
def test_something_missing_is_not_made_where_it_must_be_there(tmp_path: Path, kind: str) -> None:
    with pytest.raises(HostPathError, match="hostPath type check failed"):
        host_path(tmp_path / "none", kind)


def test_steps_back_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HostPathError, match=r"must not contain '\.\.'"):
        host_paths.path_of({"path": f"{tmp_path}/../x"})


# emptyDir


def test_scratch_space_is_for_everybody_in_the_pod(tmp_path: Path) -> None:
    made = empty_dirs.make({}, tmp_path / "v")
    assert made == tmp_path / "v"
    assert stat.S_IMODE(made.stat().st_mode) == 0o777


def test_scratch_space_is_kept(tmp_path: Path) -> None:
    (empty_dirs.make({}, tmp_path / "v") / "file").touch()
    assert (empty_dirs.make({}, tmp_path / "v") / "file").exists()


@pytest.mark.parametrize(
    ("limit", "containers", "allocatable", "size"),
    [
        ("8Mi", [{}], "1Gi", 8 << 20),
        ("2Gi", [{}], "1Gi", 1 << 30),
        ("8Mi", [{"memory": "4Mi"}], "1Gi", 4 << 20),
        (None, [{"memory": "4Mi"}, {"memory": "4Mi"}], "1Gi", 8 << 20),
        (None, [{"memory": "4Mi"}, {}], "1Gi", 1 << 30),
        ("0", [{}], "1Gi", 1 << 30),
    ],
)
def test_volumes_in_memory_are_as_large_as_kubelet_makes_them(
    tmp_path: Path, limit: str | None, containers: list[dict[str, str]], allocatable: str, size: int
) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory"} | ({"sizeLimit": limit} if limit else {})}
    limits = [{"name": f"c{number}", "resources": {"limits": held}} for number, held in enumerate(containers)]
    pod = {"spec": {"containers": limits, "volumes": [volume, {"name": "disk", "emptyDir": {}}]}}
    (made,) = empty_dirs.in_memory(pod, tmp_path, {"memory": allocatable}, is_root=False)
    assert (made.path, made.size, made.group) == (str(tmp_path / "v"), size, None)


def test_volumes_in_memory_belong_to_the_pod_s_group_where_root_says_so(tmp_path: Path) -> None:
    volume = {"name": "v", "emptyDir": {"medium": "Memory"}}
    pod = {"spec": {"containers": [], "volumes": [volume], "securityContext": {"fsGroup": 2000}}}
    assert [made.group for made in empty_dirs.in_memory(pod, tmp_path, {}, is_root=True)] == [2000]
    assert [made.group for made in empty_dirs.in_memory(pod, tmp_path, {}, is_root=False)] == [None]


def test_other_media_are_refused(tmp_path: Path) -> None:
    with pytest.raises(empty_dirs.MediumError, match='unknown storage medium "HugePages"'):
        empty_dirs.make({"medium": "HugePages"}, tmp_path / "v")


# subPath


def test_a_missing_part_is_made_with_the_volumes_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    made = subpaths.inside(tmp_path, "a/b")
    assert made == tmp_path / "a/b"
    assert stat.S_IMODE(made.stat().st_mode) == 0o750


def test_a_part_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    assert subpaths.inside(tmp_path, "f").read_text() == "x"


def test_a_part_of_an_atomic_volume_is_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "..1").mkdir()
    (tmp_path / "..1/f").write_text("x")
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "f").symlink_to("..data/f")
    assert subpaths.inside(tmp_path, "f") == tmp_path / "..1/f"


@pytest.mark.parametrize("target", ["/etc", "..", "../other"])
@pytest.mark.parametrize("subpath", ["link", "link/deeper"])
def test_a_link_does_not_lead_out_of_a_volume(tmp_path: Path, target: str, subpath: str) -> None:
    volume = tmp_path / "v"
    volume.mkdir()
    (volume / "link").symlink_to(target)
    with pytest.raises(subpaths.EscapeError):
        subpaths.inside(volume, subpath)
    assert not Path("/etc/deeper").exists()


@pytest.mark.parametrize("subpath", ["/a", "a/../../b", ".."])
def test_a_part_is_named_from_within(tmp_path: Path, subpath: str) -> None:
    with pytest.raises(subpaths.SubpathError):
        subpaths.inside(tmp_path, subpath)


# fsGroup


def test_files_get_the_groups_rights_and_directories_pass_them_on(tmp_path: Path) -> None:
    root = tmp_path / "v"
    (root / "d").mkdir(parents=True)
    (root / "d/f").touch(0o600)
    (root / "link").symlink_to("/etc/passwd")
    (root / "d/away").symlink_to("/etc")
    before = Path("/etc/passwd").stat()
    ownership.give_to_group(root, os.getgid())
    assert stat.S_IMODE((root / "d/f").stat().st_mode) == 0o660
    assert stat.S_IMODE((root / "d").stat().st_mode) & 0o2770 == 0o2770
    assert Path("/etc/passwd").stat() == before


def test_a_volume_that_cannot_be_written_gets_less(tmp_path: Path) -> None:
    (tmp_path / "f").touch(0o400)
    ownership.give_to_group(tmp_path, os.getgid(), read_only=True)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o440


def test_a_volume_that_fits_is_left_alone_on_request(tmp_path: Path) -> None:
    ownership.give_to_group(tmp_path, os.getgid())
    (tmp_path / "f").touch(0o600)
    (tmp_path / "f").chmod(0o600)
    ownership.give_to_group(tmp_path, os.getgid(), only_on_mismatch=True)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


# Claims


def a_volume(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "pv"}, "spec": {"capacity": {"storage": "1Gi"}, **spec}}


def test_only_directories_of_this_machine_can_be_claimed(tmp_path: Path) -> None:
    assert claims.directory_of(a_volume(hostPath={"path": "/data"})) == {"path": "/data"}
    assert claims.directory_of(a_volume(local={"path": str(tmp_path)})) == {"path": str(tmp_path)}
    with pytest.raises(ClaimError, match=r"is of a type that this node cannot mount \(nfs\)"):
        claims.directory_of(a_volume(claimRef={"name": "c"}, nfs={"server": "x", "path": "/"}))
    with pytest.raises(ClaimError, match="PersistentVolume pv is a block device"):
        claims.directory_of(a_volume(hostPath={"path": "/x"}, volumeMode="Block"))
    with pytest.raises(ClaimError, match="does not exist"):
        claims.directory_of(a_volume(local={"path": str(tmp_path / "none")}))
