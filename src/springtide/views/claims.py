# SPDX-License-Identifier: Apache-2.0
"""Claims of volumes, as jobs mount them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from springtide.views.pages.ages import human_duration, instant, seconds
from springtide.views.pages.tables import Column, table

Obj = Mapping[str, Any]
_SHORT: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
"""As kubectl writes them."""
_NOTHING: Final = "-"
_COLUMNS: Final = (
    Column("NAME", shrinks=True),
    Column("STATUS"),
    Column("CAPACITY", rank=2),
    Column("ACCESS", rank=1),
    Column("CLASS", rank=5, shrinks=True),
    Column("OWNER", rank=4, shrinks=True),
    Column("AGE", rank=3),
    Column("DESCRIPTION", rank=6, shrinks=True),
)
_NAMESPACE: Final = Column("NAMESPACE", rank=1, shrinks=True)


def document(claim: Obj) -> dict[str, Any]:
    metadata, spec, status = claim["metadata"], claim.get("spec") or {}, claim.get("status") or {}
    notes = metadata.get("annotations") or {}
    return {
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "status": "Terminating" if metadata.get("deletionTimestamp") else status.get("phase", "Pending"),
        "capacity": (status.get("capacity") or {}).get("storage", ""),
        "accessModes": list(spec.get("accessModes") or ()),
        "storageClass": spec.get("storageClassName") or "",
        "owner": notes.get("owner", ""),
        "description": notes.get("description", ""),
        "created": metadata.get("creationTimestamp") or "",
    }


def claim_table(claims: Sequence[Obj], now: datetime, width: int | None, *, all_namespaces: bool) -> str:
    documents = [document(claim) for claim in claims]
    rows = [_row(each, now) for each in documents]
    if not all_namespaces:
        return table(_COLUMNS, rows, width)
    rows = [[each["namespace"], *row] for each, row in zip(documents, rows, strict=True)]
    return table((_NAMESPACE, *_COLUMNS), rows, width)


def _row(claim: dict[str, Any], now: datetime) -> list[str]:
    return [
        claim["name"],
        claim["status"],
        claim["capacity"] or _NOTHING,
        ",".join(_SHORT.get(mode, mode) for mode in claim["accessModes"]) or _NOTHING,
        claim["storageClass"] or _NOTHING,
        claim["owner"] or _NOTHING,
        human_duration(seconds(instant(claim["created"]), now)),
        claim["description"] or _NOTHING,
    ]
