# SPDX-License-Identifier: Apache-2.0
"""The manifests of the users' documents, which lie unchanged in examples/documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

MANIFESTS: Final = Path(__file__).parents[1] / "examples" / "documents"
MPIJOBS: Final = sorted(path for path in MANIFESTS.glob("*.yaml") if "\nkind: MPIJob\n" in path.read_text())


def _containers(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield from part.get("containers") or ()
    for below in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _containers(below)


CONTAINERS: Final = [
    container
    for path in sorted(MANIFESTS.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
    for container in _containers(document)
]
"""Every container of every manifest."""
IMAGES: Final = sorted({str(container["image"]) for container in CONTAINERS})
