# SPDX-License-Identifier: Apache-2.0
"""A limit for the nesting of JSON from other processes. Pure; no imports, because every shim loads it.

Decoders recurse once per level, and so does most code that walks the result. A decoder that runs out of stack raises
RecursionError, which is not a ValueError: it ends a process that handles all other bad JSON. So the depth is checked
before decoding.
"""

from __future__ import annotations

MAX_DEPTH = 64
"""Far more levels than any of our messages or files has."""


def check_depth(text: str) -> None:
    """ValueError for JSON with more than `MAX_DEPTH` levels. Invalid JSON may pass: the decoder rejects it."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for part in text.replace("\\\\", "").replace('\\"', "").split('"')[::2]:  # every second part is a string's content
        opened = part.count("[") + part.count("{")
        if depth + opened > MAX_DEPTH:
            _check_part(part, depth)
        depth += opened - part.count("]") - part.count("}")


def _check_part(part: str, depth: int) -> None:
    for sign in part:
        if sign in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"JSON of more than {MAX_DEPTH} levels")
        elif sign in "]}":
            depth -= 1
