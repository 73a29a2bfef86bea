# SPDX-License-Identifier: Apache-2.0
"""The machine's requirements for pods beyond those of the server. Without them the cluster works, but some pods do not.

Checked by trying where possible; `tide doctor` runs these after `checks`, and `tide up` reports failures once.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from springtide.cli.doctor.errors import Wrong
from springtide.local.datadir import DataDir
from springtide.local.kubelet.devices import gpus
from springtide.local.network import netd_client
from springtide.local.runtime import isolation
from springtide.local.runtime.shim import memory

_NAMESPACES = 1000
"""The wanted limit of each kind: a pod of one container takes up to three."""
_INSTANCES, _WATCHES = 128, 8192
_SYSTEM_PROGRAMS = "/usr/sbin:/sbin:/usr/local/sbin"
_SOME_MEMORY = 1 << 30
_UPLINK = 15.0
"""Seconds to find an uplink: the timeout of two hanging tools, and a little more."""


def namespaces(place: DataDir) -> str:
    """Checks for a separate address, root and processes per pod. Without them pods share this machine's."""
    findings = isolation.probe()
    if not findings.missing:
        return "pods get a network, a root and processes of their own"
    first = next((one for one in findings.missing if one.name in isolation.NEEDED), findings.missing[0])
    what = "pods share this machine's network and files" if findings.isolation == "none" else "pods lack a little"
    raise Wrong(f"{what}: {first.title}: {first.why}", first.fix, needed=False)


def uplink(place: DataDir) -> str:
    """Checks how pods reach other machines, with a temporary pod network without pods."""
    if isolation.probe().isolation == "none":
        return "pods reach other machines as this machine does"
    try:
        with tempfile.TemporaryDirectory(prefix="tide-doctor-") as scratch:
            found = asyncio.run(_tried_network(Path(scratch)))
    except netd_client.NetdError as error:
        raise Wrong(str(error), "Pods wait until it can be: tide up tries again and again.", needed=False) from None
    if (way := found.get("uplink", "none")) != "none":
        return f"pods reach other machines by {_WAYS.get(way, way)}"
    why = found.get("why") or "the network did not come up in time"
    raise Wrong(f"pods reach each other, but no other machines: {why}", _way_out(), needed=False)


_WAYS = {"nat": "address translation"}


async def _tried_network(scratch: Path) -> dict[str, Any]:
    await netd_client.ensure(scratch)
    try:
        return await netd_client.settled(scratch, _UPLINK)
    finally:
        await netd_client.end(scratch)


def _way_out() -> str:
    if not any(_program(name) for name in ("pasta", "slirp4netns")):
        return "Install passt (or slirp4netns), for instance: apt-get install passt"
    if not _opens("/dev/net/tun"):
        return "As root: modprobe tun; chmod 0666 /dev/net/tun"
    return "Try another release of passt, or slirp4netns."


def namespace_limits(place: DataDir) -> str:
    low = {}
    for kind in ("user", "net", "mnt", "pid", "uts", "ipc"):
        limit = _number(Path(f"/proc/sys/user/max_{kind}_namespaces"))
        if limit is not None and limit < _NAMESPACES:
            low[f"user.max_{kind}_namespaces"] = limit
    if low:
        name, limit = next(iter(low.items()))
        fix = " ".join(f"{name}={10 * _NAMESPACES}" for name in low)
        raise Wrong(f"{name} is {limit}, too few for many pods", f"As root: sysctl -w {fix}", needed=False)
    return "namespaces for many pods"


def inotify(place: DataDir) -> str:
    """Checks limits that all programs share, including file watchers in pods such as `tail -f`."""
    for name, wanted in (("max_user_instances", _INSTANCES), ("max_user_watches", _WATCHES)):
        limit = _number(Path("/proc/sys/fs/inotify") / name)
        if limit is not None and limit < wanted:
            raise Wrong(
                f"fs.inotify.{name} is only {limit}", f"As root: sysctl -w fs.inotify.{name}={8 * wanted}", needed=False
            )
    return "files can be watched (inotify)"


def memory_limits(place: DataDir) -> str:
    """Checks whether the kernel enforces memory limits by a delegated cgroup; otherwise the shims poll."""
    group = memory.MemoryGroup.make(memory.own_group(), f"tide-doctor-{os.getpid()}", _SOME_MEMORY)
    if group is None:
        raise Wrong(
            "memory limits of pods are watched, not enforced: no memory controller (cgroup v2) is delegated to you",
            "It works well enough; with systemd: systemd-run --user --scope -p Delegate=yes tide up",
            needed=False,
        )
    group.remove()
    return "memory limits of pods are enforced by the kernel (cgroup v2)"


def ssh(place: DataDir) -> str:
    """Checks ssh, for jobs whose launcher reaches its workers by ssh."""
    missing = [name for name in ("ssh", "sshd", "ssh-keygen") if not _program(name)]
    if missing:
        raise Wrong(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            "Only jobs that use ssh need it: apt-get install openssh-server openssh-client",
            needed=False,
        )
    return "ssh and sshd are installed"


def graphics(place: DataDir) -> str:
    try:
        found = gpus.found()
    except gpus.DriverError as error:
        raise Wrong(
            f"GPUs cannot be used: {error}", "Install the NVIDIA driver anew, or reboot.", needed=False
        ) from None
    if not found:
        return "no NVIDIA GPU; to try things out there is tide up --fake-gpus 4"
    names = ", ".join(dict.fromkeys(gpu.name for gpu in found))
    return f"{len(found)} GPU{'s' if len(found) > 1 else ''}: {names}"


POD_CHECKS: tuple[Callable[[DataDir], str], ...] = (
    namespaces,
    uplink,
    namespace_limits,
    inotify,
    memory_limits,
    ssh,
    graphics,
)


def _opens(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError:
        return False
    return True


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _program(name: str) -> bool:
    """Also searches the directories that are only in root's PATH."""
    return shutil.which(name) is not None or shutil.which(name, path=_SYSTEM_PROGRAMS) is not None
