# SPDX-License-Identifier: Apache-2.0
"""Where the command line finds things: itself, clusters (one data directory each), its log, the user's kubeconfig.

Every command asks here. Nothing is made or changed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

DEFAULT_NAME = "springtide"


def program() -> str:
    """How a shell calls this `tide`: by its name where the PATH leads to it, else by its path."""
    own, found = Path(sys.executable).with_name("tide"), shutil.which("tide")
    if not own.exists() or (found and os.path.samefile(found, own)):
        return "tide"
    typed = Path(sys.argv[0])  # perhaps .venv/bin/tide, which is shorter
    return shlex.quote(str(typed if typed.exists() and os.path.samefile(typed, own) else own))


def clusters() -> Path:
    """The folder of all clusters that were not given a directory of their own."""
    return _home("XDG_DATA_HOME", ".local/share") / "clusters"


def cluster_names() -> list[str]:
    """Of all that are in that folder; sorted."""
    try:
        return sorted(entry.parent.name for entry in clusters().glob("*/cluster.json"))
    except OSError:
        return []


def trouble_log() -> Path:
    """Where the details of an unforeseen error go."""
    return _home("XDG_STATE_HOME", ".local/state") / "tide.log"


def user_kubeconfig() -> Path:
    """The file `kubectl config` would write to: of several in $KUBECONFIG the first that exists, else the last.

    Files that clusters wrote for themselves are not the user's: where there is no other, it is the default one.
    """
    paths = [path for path in user_kubeconfigs() if not is_clusters_own(path)]
    # Not `path.exists()`, which raises where the folder is somebody else's.
    return next((path for path in paths if os.path.exists(path)), paths[-1] if paths else default_kubeconfig())


def is_clusters_own(path: Path) -> bool:
    """Whether it is the kubeconfig in the directory of a cluster."""
    return path.name == "kubeconfig" and os.path.exists(path.with_name("cluster.json"))


def user_kubeconfigs() -> list[Path]:
    """Those that kubectl reads."""
    paths = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return paths or [default_kubeconfig()]


def default_kubeconfig() -> Path:
    """The one that kubectl reads unless $KUBECONFIG says otherwise."""
    return Path.home() / ".kube" / "config"


def _home(variable: str, otherwise: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / otherwise) / "springtide"
