# SPDX-License-Identifier: Apache-2.0
"""Decodes JSON from annotations, which any user with edit rights on the object may have written. Pure."""

from __future__ import annotations

from typing import TypeVar, cast

import msgspec

T = TypeVar("T")


def decoded(text: str | bytes, as_: object, otherwise: T, *, strict: bool = True) -> T:
    """The decoded annotation; `otherwise` when it cannot be decoded (JSON that is nested too deeply included)."""
    try:
        return cast("T", msgspec.json.decode(text, type=cast("type", as_), strict=strict))
    except (msgspec.DecodeError, RecursionError):
        return otherwise
