# SPDX-License-Identifier: Apache-2.0
"""Texts of others on a terminal, which must not obey them.

Names, explanations, events and answers come from servers and programs that may be anybody's. Printed as they are, an
escape sequence in them could write the clipboard or clear what was printed before, and a change of direction could show
another name than the one that is there.
"""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, except tabs and newlines
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction of writing
    "\u2028\u2029]"  # ends of lines that are not counted as such
)


def harmless(text: str) -> str:
    """The text without characters that a terminal would obey; newlines and tabs stay."""
    return text if text.isprintable() else _OBEYED.sub("", text)
