# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from springtide.cli.arena.verbs.data import table

NOW = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def claim(name: str, phase: str = "Bound", **annotations: str) -> dict[str, Any]:
    created = "2025-01-02T00:04:05Z"
    metadata = {"name": name, "namespace": "team", "annotations": annotations, "creationTimestamp": created}
    modes = ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"]
    return {"metadata": metadata, "spec": {"accessModes": modes}, "status": {"phase": phase}}


def test_bound_claims_are_listed() -> None:
    claims = [claim("digits", owner="ann", description="all of them"), claim("new", "Pending"), claim("b")]
    assert table(claims, NOW, with_namespace=False) == (
        "NAME    ACCESSMODE                   DESCRIPTION  OWNER  AGE\n"
        "digits  ReadWriteOnce,ReadWriteMany  all of them  ann    3h\n"
        "b       ReadWriteOnce,ReadWriteMany                      3h\n"
    )
    assert table([], NOW, with_namespace=True) == "NAME  NAMESPACE  ACCESSMODE  DESCRIPTION  OWNER  AGE\n"
