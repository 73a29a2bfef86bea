# SPDX-License-Identifier: Apache-2.0
"""Names that TAB may put into a command line.

A server may have any: `$(rm -r ~)` would run as soon as Enter is pressed, and `-f` would be an option.
"""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./,:@+=-]*")


def is_plain(name: str) -> bool:
    """Whether a shell reads it as one word and no option, and nothing in it means more."""
    return _PLAIN.fullmatch(name) is not None
