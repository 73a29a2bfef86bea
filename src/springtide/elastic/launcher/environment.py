# SPDX-License-Identifier: Apache-2.0
"""Which of the launcher's variables a rank gets. Pure.

What says who or where a process is belongs to its host, and stays as the host has it: a worker that took itself for the
launcher's pod, or for the owner of the launcher's GPUs, would be wrong. Where programs are found is settled when the
agent is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

_OF_THE_LAUNCHER: Final = ("HOROVOD_*", "OMPI_*", "PMI_*", "PMIX_*", "TIDE_*")
"""Of no use to a rank anywhere, on the launcher's own host neither."""

_OF_THE_HOST: Final = (
    "HOSTNAME", "HOST", "POD_*", "KUBERNETES_*", "K_SERVICE", "K_REVISION", "K_CONFIGURATION", "*_VISIBLE_DEVICES",
    "PATH", "PYTHONPATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "TMPDIR", "SHLVL", "_", "MAIL",
    "TERM", "DISPLAY", "SSH_*", "XDG_*", "DBUS_*", "BASH_FUNC_*",
)  # fmt: skip


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """What goes to ranks on other hosts, over what the host has itself."""
    return {name: value for name, value in environment.items() if not _any(name, _OF_THE_LAUNCHER + _OF_THE_HOST)}


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """What is left of the launcher's own environment for an agent on its own host."""
    return {name: value for name, value in environment.items() if not _any(name, _OF_THE_LAUNCHER)}


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
