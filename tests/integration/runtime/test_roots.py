# SPDX-License-Identifier: Apache-2.0
"""What a container sees of the host's files, and what it does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.runtime.pods import Pods, bind, until

from springtide.local.runtime.contract import Mount
from springtide.local.runtime.shim_client import ShimError


def on_host(*paths: str) -> bool:
    return any(Path(path).exists() for path in paths)


def mounted_on_host(path: Path) -> bool:
    return str(path) in Path("/proc/self/mountinfo").read_text()


def folder(parent: Path, name: str, **files: str) -> Path:
    made = parent / name
    made.mkdir()
    for file, text in files.items():
        (made / file).write_text(text)
    return made


@pytest.mark.parametrize(("path", "furniture"), [("/tmp", ""), ("/run", "sshd\n"), ("/root", ".bashrc\n")])
async def test_private_directories_have_nothing_of_the_host_s(pods: Pods, path: str, furniture: str) -> None:
    pod = await pods.make()
    assert await pod.output(f"ls -A {path}; echo x > {path}/file; cat {path}/file") == f"{furniture}x\n"
    assert await pod.output(f"ls -A {path}") == furniture  # a new attempt has a new root
    assert not on_host(f"{path}/file")


async def test_home_is_the_user_s_own_and_closed_to_others(pods: Pods) -> None:
    pod = await pods.make()
    assert await pod.output("stat -c '%a %u' /root /tmp") == f"700 {os.getuid()}\n1777 {os.getuid()}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as others")
async def test_other_users_pass_through_root_s_home_and_read_nothing_there(pods: Pods) -> None:
    """An environment may lie below it."""
    pod = await pods.make()
    assert await pod.output("stat -c %a /root; ls /root 2> /dev/null || echo closed", user=4711) == "711\nclosed\n"


async def test_shared_memory_is_the_pod_s(pods: Pods) -> None:
    first, second = await pods.make(), await pods.make()
    await first.output("echo hello > /dev/shm/here")
    assert await first.output("cat /dev/shm/here", name="other") == "hello\n"
    assert await second.output("ls -A /dev/shm") == ""


async def test_the_host_s_programs_are_there_and_its_system_is_never_written(pods: Pods) -> None:
    pod = await pods.make()
    await pod.output("for d in /etc /usr /usr/bin /var; do touch $d/springtide-was-here || true; done")
    for path in ("/etc", "/usr", "/usr/bin", "/var"):
        assert not on_host(f"{path}/springtide-was-here")


async def test_mount_points_that_the_host_does_not_have(pods: Pods) -> None:
    pod = await pods.make()
    volume = folder(pods.data, "volume", hostfile="slots\n")
    targets = ["/examples", "/etc/mpi", "/etc/edl/deep/er", "/usr/share/springtide-x", "/a/b/c", "/a/b/d", "/dev/x/y"]
    text = " ".join(f"{target}/hostfile" for target in targets)
    mounts = tuple(bind(volume, target) for target in targets)
    assert (
        await pod.output(f"cat {text}; test -e /etc/passwd && ls /usr/share/doc > /tmp/l", mounts=mounts)
        == "slots\n" * 7
    )
    assert not on_host(*targets)


async def test_an_earlier_mount_stays_visible_under_a_later_mount_s_parent(pods: Pods) -> None:
    """The second mount point is missing, so its parent is covered by a layer: the first must not vanish under it."""
    pod = await pods.make()
    first, second = folder(pods.data, "first", a="1"), folder(pods.data, "second", b="2")
    mounts = (bind(first, "/usr/share/doc"), bind(second, "/usr/share/springtide-x"))
    assert await pod.output("ls /usr/share/doc /usr/share/springtide-x", mounts=mounts) == (
        "/usr/share/doc:\na\n\n/usr/share/springtide-x:\nb\n"
    )


@pytest.fixture
def kept() -> Iterator[Path]:
    """A directory of the machine in which somebody has files, and which pods see as it is."""
    with tempfile.TemporaryDirectory(dir="/home") as place:
        (Path(place) / "ann").mkdir()
        yield Path(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory there")
async def test_what_is_written_beside_a_missing_mount_point_is_kept(pods: Pods, kept: Path) -> None:
    pod = await pods.make()
    folder(kept, "bob", diary="dear\n")
    volume = folder(pods.data, "volume", key="k\n")
    mounts = (bind(volume, f"{kept}/new/.ssh"), bind(volume, f"{kept}/bob/.ssh"))
    text = f"cat {kept}/new/.ssh/key {kept}/bob/.ssh/key {kept}/bob/diary; echo result > {kept}/ann/out"
    assert await pod.output(text, mounts=mounts) == "k\nk\ndear\n"
    assert not on_host(f"{kept}/new", f"{kept}/bob/.ssh")
    assert (kept / "ann/out").read_text() == "result\n"


async def test_files_are_mounted_over_files_and_where_there_is_none(pods: Pods) -> None:
    pod = await pods.make()
    hosts = folder(pods.data, "etc", hosts="10.244.1.5 me\n") / "hosts"
    targets = ["/etc/hosts", "/etc/springtide-none", "/dev/termination-log", "/etc/resolv.conf"]
    mounts = tuple(bind(hosts, target) for target in targets)
    assert await pod.output(f"cat {' '.join(targets)}; echo done > /dev/termination-log", mounts=mounts) == (
        "10.244.1.5 me\n" * 4
    )
    assert hosts.read_text() == "done\n"


async def test_a_file_that_is_rewritten_in_place_is_seen(pods: Pods) -> None:
    pod = await pods.make()
    hosts = folder(pods.data, "etc", hosts="old\n") / "hosts"
    await pod.script("while ! grep new /etc/hosts; do sleep 0.02; done", mounts=(bind(hosts, "/etc/hosts"),))
    hosts.write_text("new\n")
    assert (await pod.ended()).exit_code == 0


async def test_what_a_private_directory_hides_can_be_mounted_back(pods: Pods) -> None:
    pod = await pods.make()
    tools = folder(pods.data, "tools", tool="found\n")  # under /tmp
    assert await pod.output(f"cat {tools}/tool", mounts=(bind(tools, str(tools)),)) == "found\n"


async def test_read_only_mounts(pods: Pods) -> None:
    pod = await pods.make()
    volume = folder(pods.data, "volume", a="1")
    text = "cat /v/a; echo 2 > /v/a || echo refused; mkdir /v/d || echo refused"
    assert (
        await pod.output(f"({text}) 2>/dev/null", mounts=(bind(volume, "/v", read_only=True),)) == "1refused\nrefused\n"
    )
    assert (volume / "a").read_text() == "1"


async def test_a_read_only_root_spares_volumes(pods: Pods) -> None:
    pod = await pods.make()
    volume = folder(pods.data, "volume")
    text = "for d in / /tmp /root /etc /home /v /dev/shm; do touch $d/x 2>/dev/null && echo $d; done; true"
    printed = await pod.output(text, mounts=(bind(volume, "/v"),), read_only_root=True)
    assert printed == "/v\n/dev/shm\n"


async def test_a_memory_volume_has_a_size(pods: Pods) -> None:
    pod = await pods.make()
    text = "head -c 1M /dev/zero > /m/a && ! head -c 8M /dev/zero > /m/b"
    await pod.output(text, mounts=(Mount(target="/m", size=4 << 20),))


async def test_a_mount_point_behind_a_link_stays_inside(pods: Pods) -> None:
    """An absolute link in a volume is followed in the container's root, not in the host's."""
    pod = await pods.make()
    volume = folder(pods.data, "volume")
    (volume / "link").symlink_to("/springtide-elsewhere")
    other = folder(pods.data, "other", a="1")
    mounts = (bind(volume, "/v"), bind(other, "/v/link/here"))
    assert await pod.output("cat /springtide-elsewhere/here/a", mounts=mounts) == "1\n"
    assert not on_host("/springtide-elsewhere")


async def test_nothing_is_left_of_a_root(pods: Pods) -> None:
    pod = await pods.make()
    volume = folder(pods.data, "volume")
    await pod.output("echo x > /root/x", mounts=(bind(volume, "/etc/mpi"),))
    roots = pod.directory / "containers" / "main" / "root"
    await until(lambda: not list(roots.iterdir()))
    assert not mounted_on_host(pods.data)


async def test_what_is_optional_is_left_out_where_it_cannot_be(pods: Pods, tmp_path: Path) -> None:
    pod, inside_a_file = await pods.make(), "/etc/passwd/kube"
    mount = Mount(inside_a_file, str(tmp_path), optional=True)
    assert await pod.output("echo runs", mounts=(mount,)) == "runs\n"
    with pytest.raises(ShimError):
        await pod.output("echo runs", mounts=(Mount(inside_a_file, str(tmp_path)),))
