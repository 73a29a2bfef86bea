# SPDX-License-Identifier: Apache-2.0
"""What others say, as it is repeated to people: launchers, programs, kubelets and webhooks may write anything, and a
terminal obeys some of it. Pure."""

from __future__ import annotations

import re
from typing import Final

REPORTED: Final = 256
"""Characters of one text in a launcher's report."""
MESSAGE: Final = 1024
"""Characters of a message in a status or an event, as Kubernetes has them."""
DETAILS: Final = 16 * 1024
"""Characters of a message that is shortened where its sense is known, for what leads on may stand at its end."""
REASON: Final = 128
_CONTROLS: Final = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
"""Control and format characters, surrogates and separators of lines, but those that every log has."""
_IN_LINES: Final = re.compile(f"[{_CONTROLS}]")
_IN_A_LINE: Final = re.compile(f"[\t\n\r{_CONTROLS}]")


def line(text: str, most: int = MESSAGE) -> str:
    """With a space for each character that is none to be read."""
    short = bounded(text, most)
    return short if short.isprintable() else _IN_A_LINE.sub(" ", short)


def lines(text: str) -> str:
    """The same of the end of a log, whose lines stay lines."""
    return _IN_LINES.sub(" ", text)


def bounded(text: str, most: int = MESSAGE) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
