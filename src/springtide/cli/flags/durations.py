# SPDX-License-Identifier: Apache-2.0
"""Durations as Go reads and writes them: `1h2m`, `1.5s`, `1m0s`."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([^\d.]*)")
_LONGEST: Final = 2**63 / 1e9


def seconds(text: str) -> float:
    """ValueError with the reason in Go's words."""
    sign, rest = (-1.0 if text[:1] == "-" else 1.0), text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"invalid duration {_quoted(text)}")
    total, position = 0.0, 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise ValueError(f"invalid duration {_quoted(text)}")
        number, unit = part.groups()
        if not unit:
            raise ValueError(f"missing unit in duration {_quoted(text)}")
        if unit not in _UNITS:
            raise ValueError(f"unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        total += float(number) * _UNITS[unit]
        position = part.end()
    if total >= _LONGEST:
        raise ValueError(f"invalid duration {_quoted(text)}")
    return sign * total


def shown(span: float) -> str:
    """In whole seconds."""
    minutes, left = divmod(round(span), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{left}s"
    return f"{minutes}m{left}s" if minutes else f"{left}s"


def _quoted(text: str) -> str:
    return f'"{text}"'
