# SPDX-License-Identifier: Apache-2.0
"""The manifests of the users' documents, which lie unchanged in examples/documents."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MANIFESTS: Final = Path(__file__).parents[1] / "examples" / "documents"
MPIJOBS: Final = sorted(path for path in MANIFESTS.glob("*.yaml") if "\nkind: MPIJob\n" in path.read_text())
