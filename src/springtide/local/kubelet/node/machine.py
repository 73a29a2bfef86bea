# SPDX-License-Identifier: Apache-2.0
"""What this machine is: the numbers and names that a node reports. Read once; none of it changes under an agent."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Machine:
    cpus: int
    memory: int
    """Bytes."""
    disk: int
    """Bytes of the file system that pods are kept on."""
    kernel: str
    os_image: str
    operating_system: str
    architecture: str
    machine_id: str
    boot_id: str


def look(data_dir: Path) -> Machine:
    architecture = platform.machine()
    return Machine(
        cpus=os.cpu_count() or 1,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        disk=shutil.disk_usage(data_dir).total,
        kernel=platform.release(),
        os_image=_os_image(),
        operating_system=platform.system().lower(),
        architecture=_ARCHITECTURES.get(architecture, architecture),
        machine_id=_text("/etc/machine-id"),
        boot_id=_text("/proc/sys/kernel/random/boot_id"),
    )


def capacity(machine: Machine) -> dict[str, str]:
    """What a node has that is not told otherwise."""
    return {
        "cpu": str(machine.cpus),
        "memory": f"{machine.memory // 1024}Ki",
        "ephemeral-storage": f"{machine.disk // 1024}Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "pods": "250",
    }


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.platform()


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
