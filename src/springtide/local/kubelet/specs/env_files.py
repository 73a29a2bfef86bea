# SPDX-License-Identifier: Apache-2.0
"""Files of variables that an init container writes for the others (`fileKeyRef`), in the strict form `NAME='value'`.
Pure.

Values are in single quotes, taken literally, and may span lines; a comment may follow. `NAME= 'value'` means an empty
value, as in a shell.
"""

from __future__ import annotations

import re

_SKIPPED = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_ASSIGNMENT = re.compile(
    r"[ \t]*(?P<name>[^\s=#][^=\n]*)=(?:'(?P<value>[^']*)'[ \t]*(?:#[^\n]*)?|[ \t][^\n]*)(?:\n|\Z)"
)


class EnvFileError(ValueError):
    """The text is not a valid file of variables."""


def value_of(text: str, key: str) -> str:
    """The first value of a variable; empty when there is none. The text after it is not parsed."""
    position = 0
    while position < len(text):
        if skipped := _SKIPPED.match(text, position):
            position = skipped.end()
            continue
        found = _ASSIGNMENT.match(text, position)
        if found is None or found["name"] != found["name"].rstrip(" \t"):
            raise EnvFileError(f"line {text.count(chr(10), 0, position) + 1} is not of the form NAME='value'")
        if found["name"] == key:
            return found["value"] or ""
        position = found.end()
    return ""
