# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from springtide.views.claims import claim_table, document

NOW = datetime(2026, 1, 2, tzinfo=UTC)
BOUND: dict[str, Any] = {
    "metadata": {
        "name": "images",
        "namespace": "vision",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"owner": "mei", "description": "训练图片"},
    },
    "spec": {"accessModes": ["ReadWriteMany", "ReadOnlyMany"], "storageClassName": "local"},
    "status": {"phase": "Bound", "capacity": {"storage": "5Gi"}},
}
NEW: dict[str, Any] = {"metadata": {"name": "new", "namespace": "vision", "creationTimestamp": "2026-01-01T23:59:30Z"}}


def test_claims_are_shown_with_what_is_known_of_them() -> None:
    assert claim_table([BOUND, NEW], NOW, None, all_namespaces=False).splitlines() == [
        "NAME    STATUS   CAPACITY  ACCESS   CLASS  OWNER  AGE  DESCRIPTION",
        "images  Bound    5Gi       RWX,ROX  local  mei    24h  训练图片",
        "new     Pending  -         -        -      -      30s  -",
    ]


def test_a_narrow_terminal_is_shown_less() -> None:
    lines = claim_table([BOUND], NOW, 30, all_namespaces=True).splitlines()
    assert lines[0].split()[:2] == ["NAME", "STATUS"] or lines[0].split()[0] == "NAMESPACE"
    assert all(len(line) <= 30 for line in lines)


def test_documents_are_for_programs() -> None:
    assert document(BOUND)["accessModes"] == ["ReadWriteMany", "ReadOnlyMany"]
    deleted = {**NEW, "metadata": {**NEW["metadata"], "deletionTimestamp": "2026-01-02T00:00:00Z"}}
    assert [document(each)["status"] for each in (NEW, deleted)] == ["Pending", "Terminating"]
