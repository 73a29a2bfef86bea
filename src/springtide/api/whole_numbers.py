# SPDX-License-Identifier: Apache-2.0
"""Whole numbers that users write as text, read as Go reads them.

Python refuses thousands of digits with an error nobody expects, and takes quadratic time for the many it accepts; no
number of Kubernetes has more than 64 bits.
"""

from __future__ import annotations

from typing import Final

_DIGITS: Final = 19  # of 2^63


def parse(text: str) -> int | None:
    """The number, or None for what is no number of 64 bits. A sign and leading zeros are allowed, as in Go."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > _DIGITS:
        return None
    number = int(significant) * (-1 if text[0] == "-" else 1)
    return number if -(2**63) <= number < 2**63 else None


def clamped(text: str) -> int | None:
    """The number, one beyond 64 bits as the nearest that fits; None for what is no number at all."""
    number = parse(text)
    if number is None and text[1:].isascii() and text.lstrip("+-").isdigit():
        return -(2**63) if text[0] == "-" else 2**63 - 1
    return number
