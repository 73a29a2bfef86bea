# SPDX-License-Identifier: Apache-2.0
"""Which of the launcher's variables a rank gets. Pure.

Variables that identify a process or its host keep the host's values: a worker must not take the launcher's pod name or
GPUs for its own. PATH and PYTHONPATH are set when the agent is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

_OF_THE_LAUNCHER: Final = ("HOROVOD_*", "OMPI_*", "PMI_*", "PMIX_*", "TIDE_*")
"""Never passed to a rank, not even on the launcher's own host."""

_OF_THE_HOST: Final = (
    "HOSTNAME", "HOST", "POD_*", "KUBERNETES_*", "K_SERVICE", "K_REVISION", "K_CONFIGURATION", "*_VISIBLE_DEVICES",
    "PATH", "PYTHONPATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "TMPDIR", "SHLVL", "_", "MAIL",
    "TERM", "DISPLAY", "SSH_*", "XDG_*", "DBUS_*", "BASH_FUNC_*",
)  # fmt: skip


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """For ranks on other hosts, in addition to the host's own variables."""
    return {name: value for name, value in environment.items() if not _any(name, _OF_THE_LAUNCHER + _OF_THE_HOST)}


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """For an agent on the launcher's own host."""
    return {name: value for name, value in environment.items() if not _any(name, _OF_THE_LAUNCHER)}


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
