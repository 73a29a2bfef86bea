# SPDX-License-Identifier: Apache-2.0
"""The cluster's own kubeconfig beside the user's: whether the two agree, and whether merging would do harm."""

from __future__ import annotations

from pathlib import Path

from springtide.kube import kubeconfig


def outdated(theirs: Path, ours: Path) -> bool:
    """Whether the user's file has our context, but for a cluster that was made anew or moved to another port."""
    own = kubeconfig.choose(str(ours))
    try:
        other = kubeconfig.choose(str(theirs), own.context)
        return _identity(other) != _identity(own)
    except (OSError, ValueError):
        return False  # no such file, or nothing of ours in it


def foreign_server(theirs: Path, name: str) -> str:
    """The server of the user's own entry `name`, if it is one that no embedded cluster can have."""
    if not theirs.exists():
        return ""
    try:
        server = str(kubeconfig.choose(str(theirs), name).cluster.get("server") or "")
    except ValueError:
        return ""
    return "" if server.startswith("https://127.0.0.1:") else server


def _identity(choice: kubeconfig.Choice) -> tuple[object, bytes]:
    return choice.cluster.get("server"), kubeconfig.content(choice.cluster, "certificate-authority")
