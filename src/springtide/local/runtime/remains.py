# SPDX-License-Identifier: Apache-2.0
"""What a pod leaves behind, and getting rid of it. Apart from `shims`, because `tide down` must start quickly."""

from __future__ import annotations

from pathlib import Path

from springtide.local.directory_trees import remove_tree
from springtide.local.runtime.shim import memory


def discard(directory: Path) -> None:
    """Remove the directory of a pod whose shim is gone, what its containers have left included."""
    memory.remove_groups(str(directory))
    remove_tree(str(directory))
