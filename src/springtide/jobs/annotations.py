# SPDX-License-Identifier: Apache-2.0
"""JSON in annotations, which anybody with the right to edit the object may have written. Pure."""

from __future__ import annotations

from typing import TypeVar, cast

import msgspec

T = TypeVar("T")


def decoded(text: str, as_: object, otherwise: T, *, strict: bool = True) -> T:
    """What an annotation says; `otherwise` when it is unreadable, as JSON that is nested too deeply is, too."""
    try:
        return cast("T", msgspec.json.decode(text, type=cast("type", as_), strict=strict))
    except (msgspec.DecodeError, RecursionError):
        return otherwise
