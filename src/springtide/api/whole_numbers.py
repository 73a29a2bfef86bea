# SPDX-License-Identifier: Apache-2.0
"""Parses integers that users write as text, in Go's syntax.

Python raises an unexpected error for thousands of digits, and takes quadratic time for the many it accepts; no number
in Kubernetes has more than 64 bits.
"""

from __future__ import annotations

from typing import Final

_DIGITS: Final = 19  # of 2^63


def parse(text: str) -> int | None:
    """The number, or None if it is not an integer of 64 bits. A sign and leading zeros are allowed, as in Go."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > _DIGITS:
        return None
    number = int(significant) * (-1 if text[0] == "-" else 1)
    return number if -(2**63) <= number < 2**63 else None


def clamped(text: str) -> int | None:
    """The number, clamped to 64 bits; None if it is not an integer."""
    number = parse(text)
    if number is None and text[1:].isascii() and text.lstrip("+-").isdigit():
        return -(2**63) if text[0] == "-" else 2**63 - 1
    return number
