# SPDX-License-Identifier: Apache-2.0
"""Where the command line finds things: clusters (one data directory each), its own log, the user's kubeconfig.

Every command asks here. Nothing is made or read, only named.
"""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_NAME = "springtide"


def clusters() -> Path:
    """The folder of all clusters that were not given a directory of their own."""
    return _home("XDG_DATA_HOME", ".local/share") / "clusters"


def trouble_log() -> Path:
    """Where the details of an unforeseen error go."""
    return _home("XDG_STATE_HOME", ".local/state") / "tide.log"


def user_kubeconfig() -> Path:
    """The file `kubectl config` would write to: of several in $KUBECONFIG the first that exists, else the last."""
    paths = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not paths:
        return Path.home() / ".kube" / "config"
    # Not `path.exists()`, which raises where the folder is somebody else's.
    return next((path for path in paths if os.path.exists(path)), paths[-1])


def _home(variable: str, otherwise: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / otherwise) / "springtide"
