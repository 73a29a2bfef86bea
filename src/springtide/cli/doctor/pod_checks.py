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
from springtide.messages import Text, text

_NAMESPACES = 1000
"""The wanted limit of each kind: a pod of one container takes up to three."""
_INSTANCES, _WATCHES = 128, 8192
_SYSTEM_PROGRAMS = "/usr/sbin:/sbin:/usr/local/sbin"
_SOME_MEMORY = 1 << 30
_UPLINK = 15.0
"""Seconds to find an uplink: the timeout of two hanging tools, and a little more."""


def namespaces(place: DataDir) -> Text:
    """Checks for a separate address, root and processes per pod. Without them pods share this machine's."""
    findings = isolation.probe()
    if not findings.missing:
        return text("pods get a network, a root and processes of their own")
    first = next((one for one in findings.missing if one.name in isolation.NEEDED), findings.missing[0])
    nothing = findings.isolation == "none"
    said = text(
        "pods share this machine's network and files: {what}: {why}"
        if nothing
        else "pods lack a little: {what}: {why}",
        what=first.title,
        why=first.why,
    )
    raise Wrong(said, text("{fix}", fix=first.fix), needed=False)


def uplink(place: DataDir) -> Text:
    """Checks how pods reach other machines, with a temporary pod network without pods."""
    if isolation.probe().isolation == "none":
        return text("pods reach other machines as this machine does")
    try:
        with tempfile.TemporaryDirectory(prefix="tide-doctor-") as scratch:
            found = asyncio.run(_tried_network(Path(scratch)))
    except netd_client.NetdError as error:
        fix = text("Pods wait until it can be: tide up tries again and again.")
        raise Wrong(text("{why}", why=str(error)), fix, needed=False) from None
    if (way := found.get("uplink", "none")) != "none":
        return text("pods reach other machines by {way}", way=_WAYS.get(way, way))
    why = found.get("why") or text("the network did not come up in time")
    raise Wrong(text("pods reach each other, but no other machines: {why}", why=why), _way_out(), needed=False)


_WAYS = {"nat": text("address translation")}


async def _tried_network(scratch: Path) -> dict[str, Any]:
    await netd_client.ensure(scratch)
    try:
        return await netd_client.settled(scratch, _UPLINK)
    finally:
        await netd_client.end(scratch)


def _way_out() -> Text:
    if not any(_program(name) for name in ("pasta", "slirp4netns")):
        return text("Install passt (or slirp4netns), for instance: {command}", command="apt-get install passt")
    if not _opens("/dev/net/tun"):
        return text("As root: {command}", command="modprobe tun; chmod 0666 /dev/net/tun")
    return text("Try another release of passt, or slirp4netns.")


def namespace_limits(place: DataDir) -> Text:
    low = {}
    for kind in ("user", "net", "mnt", "pid", "uts", "ipc"):
        limit = _number(Path(f"/proc/sys/user/max_{kind}_namespaces"))
        if limit is not None and limit < _NAMESPACES:
            low[f"user.max_{kind}_namespaces"] = limit
    if low:
        name, limit = next(iter(low.items()))
        fix = " ".join(f"{name}={10 * _NAMESPACES}" for name in low)
        said = text("{name} is {limit}, too few for many pods", name=name, limit=limit)
        raise Wrong(said, text("As root: {command}", command=f"sysctl -w {fix}"), needed=False)
    return text("namespaces for many pods")


def inotify(place: DataDir) -> Text:
    """Checks limits that all programs share, including file watchers in pods such as `tail -f`."""
    for name, wanted in (("max_user_instances", _INSTANCES), ("max_user_watches", _WATCHES)):
        limit = _number(Path("/proc/sys/fs/inotify") / name)
        if limit is not None and limit < wanted:
            fix = text("As root: {command}", command=f"sysctl -w fs.inotify.{name}={8 * wanted}")
            raise Wrong(text("fs.inotify.{name} is only {limit}", name=name, limit=limit), fix, needed=False)
    return text("files can be watched (inotify)")


def memory_limits(place: DataDir) -> Text:
    """Checks whether the kernel enforces memory limits by a delegated cgroup; otherwise the shims poll."""
    group = memory.MemoryGroup.make(memory.own_group(), f"tide-doctor-{os.getpid()}", _SOME_MEMORY)
    if group is None:
        raise Wrong(
            text(
                "memory limits of pods are watched, not enforced: no memory controller (cgroup v2) is delegated to you"
            ),
            text(
                "It works well enough; with systemd: {command}",
                command="systemd-run --user --scope -p Delegate=yes tide up",
            ),
            needed=False,
        )
    group.remove()
    return text("memory limits of pods are enforced by the kernel (cgroup v2)")


def ssh(place: DataDir) -> Text:
    """Checks ssh, for jobs whose launcher reaches its workers by ssh."""
    missing = [name for name in ("ssh", "sshd", "ssh-keygen") if not _program(name)]
    if missing:
        *others, last = missing
        names = (
            text("{names} and {last}", names=" and ".join(others), last=last) if others else text("{last}", last=last)
        )
        raise Wrong(
            text("{names} are not installed" if others else "{names} is not installed", names=names),
            text(
                "Only jobs that use ssh need it: {command}",
                command="apt-get install openssh-server openssh-client",
            ),
            needed=False,
        )
    return text("ssh and sshd are installed")


def graphics(place: DataDir) -> Text:
    try:
        found = gpus.found()
    except gpus.DriverError as error:
        said = text("GPUs cannot be used: {why}", why=str(error))
        raise Wrong(said, text("Install the NVIDIA driver anew, or reboot."), needed=False) from None
    if not found:
        return text("no NVIDIA GPU; to try things out there is {command}", command="tide up --fake-gpus 4")
    names = ", ".join(dict.fromkeys(gpu.name for gpu in found))
    return text("{count} GPUs: {names}" if len(found) > 1 else "{count} GPU: {names}", count=len(found), names=names)


POD_CHECKS: tuple[Callable[[DataDir], Text], ...] = (
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
