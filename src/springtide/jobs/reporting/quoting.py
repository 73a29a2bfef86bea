# SPDX-License-Identifier: Apache-2.0
"""Makes texts of launchers, programs, kubelets and webhooks safe to show: terminals obey control characters. Pure."""

from __future__ import annotations

import re
from typing import Final

REPORTED: Final = 256
"""The longest text of a launcher's report, in characters."""
MESSAGE: Final = 1024
"""The longest message of a status or an event, as in Kubernetes."""
DETAILS: Final = 16 * 1024
"""The longest message that is shortened by its meaning, because the important part may be at its end."""
REASON: Final = 128
_CONTROLS: Final = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
"""Control and format characters, surrogates and line separators, except those that are normal in logs."""
_IN_LINES: Final = re.compile(f"[{_CONTROLS}]")
_IN_A_LINE: Final = re.compile(f"[\t\n\r{_CONTROLS}]")


def line(text: str, most: int = MESSAGE) -> str:
    """One line, with a space for each character that is not printable."""
    short = bounded(text, most)
    return short if short.isprintable() else _IN_A_LINE.sub(" ", short)


def lines(text: str) -> str:
    """The same for several lines, such as the end of a log; line breaks stay."""
    return _IN_LINES.sub(" ", text)


def bounded(text: str, most: int = MESSAGE) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
