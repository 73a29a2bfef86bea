# SPDX-License-Identifier: Apache-2.0
"""The difference between an object and what it would become, as a unified diff of YAML."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

import yaml

Obj = Mapping[str, Any]

_OF_THE_SERVER: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_SHOWN_BY_OTHERS: Final = ("kubectl.kubernetes.io/last-applied-configuration",)
_SECRET: Final = "Secret"


def difference(title: str, live: Obj | None, wanted: Obj) -> str:
    """Empty if there is none. The values of Secrets are not shown, only that they differ."""
    before, after = _lines(live, wanted), _lines(wanted, live)
    return "".join(difflib.unified_diff(before, after, f"live/{title}", f"file/{title}"))


def _lines(obj: Obj | None, other: Obj | None) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.safe_dump(_plain(_hidden(obj, other)), sort_keys=True, allow_unicode=True)
    return text.splitlines(keepends=True)


def _plain(obj: Obj) -> dict[str, Any]:
    """Without what the server writes by itself."""
    found = {name: value for name, value in obj.items() if name != "status"}
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_THE_SERVER}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {name: value for name, value in annotations.items() if name not in _SHOWN_BY_OTHERS}
    if not metadata["annotations"]:
        del metadata["annotations"]
    return {**found, "metadata": metadata}


def _hidden(obj: Obj, other: Obj | None) -> Obj:
    if obj.get("kind") != _SECRET:
        return obj
    theirs = (other or {}).get("data") or {}
    hidden = {
        name: "***" if other is None or theirs.get(name) == value else f"*** ({len(str(value))} characters)"
        for name, value in (obj.get("data") or {}).items()
    }
    return {**obj, "data": hidden}
