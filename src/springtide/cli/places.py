# SPDX-License-Identifier: Apache-2.0
"""Where the command line finds its clusters: one data directory each, side by side, told apart by name."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_NAME = "springtide"


def data_home() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "springtide"


def data_dir(name: str, given: Path | None) -> Path:
    return given if given is not None else data_home() / "clusters" / name


def user_kubeconfig() -> Path:
    """The file `kubectl config` would write to."""
    first = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(first) if first else Path.home() / ".kube" / "config"
