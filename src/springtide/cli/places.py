# SPDX-License-Identifier: Apache-2.0
"""Paths of the command line: its program, clusters (one data directory each), its log, the user's kubeconfig.

Nothing is created or changed here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

DEFAULT_NAME = "springtide"


def program() -> str:
    """The shell's command for this `tide`: its name where the PATH leads to it, else its path."""
    own, found = Path(sys.executable).with_name("tide"), shutil.which("tide")
    if not own.exists() or (found and os.path.samefile(found, own)):
        return "tide"
    typed = Path(sys.argv[0])  # perhaps .venv/bin/tide, which is shorter
    return shlex.quote(str(typed if typed.exists() and os.path.samefile(typed, own) else own))


def clusters() -> Path:
    """The directory of all clusters without a directory of their own."""
    return _home("XDG_DATA_HOME", ".local/share") / "clusters"


def cluster_names() -> list[str]:
    """The names of all clusters in that directory, sorted."""
    try:
        return sorted(entry.parent.name for entry in clusters().glob("*/cluster.json"))
    except OSError:
        return []


def trouble_log() -> Path:
    """The file for the details of unexpected errors."""
    return _home("XDG_STATE_HOME", ".local/state") / "tide.log"


def forwarded_ports() -> Path:
    """The directory of what `jobs.forwarded_ports` knows."""
    return _home("XDG_STATE_HOME", ".local/state") / "forwarded-ports"


def user_kubeconfig() -> Path:
    """The file `kubectl config` would write to: of several in $KUBECONFIG the first that exists, else the last.

    Kubeconfigs written by clusters are not the user's: if there are no others, the default one is returned.
    """
    paths = [path for path in user_kubeconfigs() if not is_clusters_own(path)]
    # Not `path.exists()`, which raises for a directory of another user.
    return next((path for path in paths if os.path.exists(path)), paths[-1] if paths else default_kubeconfig())


def is_clusters_own(path: Path) -> bool:
    """Whether it is the kubeconfig in the directory of a cluster."""
    return path.name == "kubeconfig" and os.path.exists(path.with_name("cluster.json"))


def user_kubeconfigs() -> list[Path]:
    """The files that kubectl reads."""
    paths = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return paths or [default_kubeconfig()]


def default_kubeconfig() -> Path:
    """The file that kubectl reads unless $KUBECONFIG is set."""
    return Path.home() / ".kube" / "config"


def _home(variable: str, otherwise: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / otherwise) / "springtide"
