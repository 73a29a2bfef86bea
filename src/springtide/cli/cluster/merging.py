# SPDX-License-Identifier: Apache-2.0
"""Comparison of the cluster's kubeconfig with the user's: whether the two agree, and whether merging would do harm."""

from __future__ import annotations

from pathlib import Path

import yaml

from springtide.kube import kubeconfig


def outdated(theirs: Path, ours: Path) -> bool:
    """Whether the user's file has our context, but for an earlier cluster or another port."""
    own = kubeconfig.read(str(ours)).choose()
    try:
        other = kubeconfig.read(str(theirs)).choose(own.context)
        return _identity(other) != _identity(own)
    except (OSError, ValueError, yaml.YAMLError):
        return False  # no entry of ours; other problems matter only for a merge


def foreign_server(theirs: kubeconfig.Config, name: str) -> str:
    """The server of the user's own entry `name`, if no embedded cluster can have that server."""
    server = str(theirs.clusters.get(name, {}).get("server") or "")
    return "" if server.startswith("https://127.0.0.1:") else server


def _identity(choice: kubeconfig.Choice) -> tuple[object, bytes]:
    return choice.cluster.get("server"), kubeconfig.content(choice.cluster, "certificate-authority")
