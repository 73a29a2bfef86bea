# SPDX-License-Identifier: Apache-2.0
"""What pods need of a machine beyond what a server needs. None of it keeps a cluster from working, only some pods.

Found out by doing where that is possible; `tide doctor` runs these after `checks`, and `tide up` says once which fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from springtide.cli.wrong import Wrong
from springtide.local.datadir import DataDir
from springtide.local.kubelet import gpus
from springtide.local.runtime import isolation, shim

_NAMESPACES = 1000
"""Wanted limit of each kind: a pod of one container takes up to three."""
_INSTANCES, _WATCHES = 128, 8192
_SYSTEM_PROGRAMS = "/usr/sbin:/sbin:/usr/local/sbin"
_SOME_MEMORY = 1 << 30


def namespaces(place: DataDir) -> str:
    """Own address, root and processes for each pod. Without them pods still run, sharing this machine's."""
    findings = isolation.probe()
    if not findings.missing:
        return "pods get a network, a root and processes of their own"
    first = next((one for one in findings.missing if one.name in isolation.NEEDED), findings.missing[0])
    what = "pods share this machine's network and files" if findings.isolation == "none" else "pods lack a little"
    raise Wrong(f"{what}: {first.title}: {first.why}", first.fix, needed=False)


def uplink(place: DataDir) -> str:
    """How pods reach other machines: a program that carries their packets, or, for root, address translation."""
    found = [name for name in ("pasta", "slirp4netns") if shutil.which(name)]
    if found and _opens("/dev/net/tun"):
        return f"pods reach other machines by {found[0]}"
    if os.geteuid() == 0 and (tool := next((name for name in ("nft", "iptables") if shutil.which(name)), None)):
        return f"pods reach other machines by address translation ({tool})"
    if found:
        raise Wrong(
            f"pods cannot reach other machines: {found[0]} is there, but /dev/net/tun cannot be opened",
            "As root: modprobe tun; chmod 0666 /dev/net/tun",
            needed=False,
        )
    raise Wrong(
        "pods cannot reach other machines; among themselves they can",
        "Install passt (or slirp4netns), for instance: apt-get install passt",
        needed=False,
    )


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
    """Programs in pods that watch files, such as `tail -f` and development servers, share these with all others."""
    for name, wanted in (("max_user_instances", _INSTANCES), ("max_user_watches", _WATCHES)):
        limit = _number(Path("/proc/sys/fs/inotify") / name)
        if limit is not None and limit < wanted:
            raise Wrong(
                f"fs.inotify.{name} is only {limit}", f"As root: sysctl -w fs.inotify.{name}={8 * wanted}", needed=False
            )
    return "files can be watched (inotify)"


def memory_limits(place: DataDir) -> str:
    """A delegated cgroup lets the kernel hold pods to their limits; otherwise their shims look every so often."""
    group = shim.MemoryGroup.make(shim.own_group(), f"tide-doctor-{os.getpid()}", _SOME_MEMORY)
    if group is None:
        raise Wrong(
            "memory limits of pods are watched, not enforced: no memory controller (cgroup v2) is delegated to you",
            "It works well enough; with systemd: systemd-run --user --scope -p Delegate=yes tide up",
            needed=False,
        )
    group.remove()
    return "memory limits of pods are enforced by the kernel (cgroup v2)"


def ssh(place: DataDir) -> str:
    """For jobs whose launcher reaches its workers by ssh."""
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
    """Also where only root's PATH looks."""
    return shutil.which(name) is not None or shutil.which(name, path=_SYSTEM_PROGRAMS) is not None
