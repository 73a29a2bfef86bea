# SPDX-License-Identifier: Apache-2.0
"""Removing what a pod has left behind. Apart from `shim_client`, because `tide down` must start quickly."""

from __future__ import annotations

from pathlib import Path

from springtide.local.directory_trees import remove_tree
from springtide.local.runtime.shim import memory


def discard(directory: Path) -> None:
    """Remove the directory of a pod whose shim is gone, including what its containers have left."""
    memory.remove_groups(str(directory))
    remove_tree(str(directory))
