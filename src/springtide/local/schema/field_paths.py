# SPDX-License-Identifier: Apache-2.0
"""Simple JSON paths inside a CRD (`.spec.replicas`, `.map['a.b']`): a rule's `fieldPath`, selectable fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")


def field_path(text: str, schema: Mapping[str, Any]) -> str | None:
    """The path as in field errors (`spec.replicas`, `spec.map[key]`), or None if the schema has no such field."""
    at, written = 0, ""
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return None
        name = match[1] if match[1] is not None else re.sub(r"\\(.)", r"\1", match[2])
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            if name not in properties:
                return None
            schema = properties[name]
            written += f".{name}" if written else name
        elif isinstance(additional, Mapping):
            schema = additional
            written += f"[{name}]"
        else:
            return None
        at = match.end()
    return written
