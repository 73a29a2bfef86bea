# SPDX-License-Identifier: Apache-2.0
"""Detects duplicate JSON keys, which the parser drops silently but strict field validation must report.

Called for every write that is validated strictly or with warnings, so the usual case must be cheap: a body without
duplicates is as long as its own re-encoding or, when it contains whitespace, has as many quotation marks. Only
otherwise is it parsed again, slowly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

_encode = msgspec.json.encode
_MOST_TOLD = 100  # as many as Go's strict decoder reports


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written, including duplicates."""


def duplicate_fields(body: bytes, decoded: Any) -> list[str]:
    """Paths of keys given more than once (`data.x`, `spec.containers[0].name`); `body` must be valid JSON."""
    encoded = _encode(decoded)
    if len(encoded) == len(body.rstrip()) or _equally_quoted(encoded, body) or not _has_duplicates(body):
        return []
    return list(islice(_walk(json.loads(body, object_pairs_hook=_Pairs), ""), _MOST_TOLD))


def _equally_quoted(encoded: bytes, body: bytes) -> bool:
    """Whether no key was dropped: a key has two quotation marks, which only a `\\u0022` could replace."""
    return encoded.count(b'"') == body.count(b'"') and b"\\u" not in body


def _has_duplicates(body: bytes) -> bool:
    found = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len(dict(pairs)) != len(pairs)

    json.loads(body, object_pairs_hook=look)
    return found


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, inner in value:
            inner_path = f"{path}.{name}" if path else name
            if name in seen:
                yield inner_path
            seen.add(name)
            yield from _walk(inner, inner_path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}[{index}]")
