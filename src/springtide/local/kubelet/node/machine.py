# SPDX-License-Identifier: Apache-2.0
"""Facts about this machine that a node reports. Read once; none of them changes while an agent runs."""

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
    """Bytes of the file system that holds the pods."""
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
    """The default capacity of a node."""
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
