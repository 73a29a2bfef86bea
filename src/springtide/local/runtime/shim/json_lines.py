# SPDX-License-Identifier: Apache-2.0
"""Reading and writing JSON with the C halves of `json` only; importing its Python half costs more than all the rest."""

from __future__ import annotations

import os
from _json import encode_basestring_ascii, make_scanner

from springtide.local.bounded_json import check_depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Rules:
    """The attributes that the C scanner reads from a decoder."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner empties it itself


_scan = make_scanner(_Rules())  # type: ignore[arg-type]


def decode(text: str | bytes) -> Any:
    """Read JSON; `ValueError` when the text is not JSON or is nested too deeply."""
    if isinstance(text, bytes):
        text = text.decode()
    check_depth(text)
    try:
        return _scan(text.strip(), 0)[0]
    except (StopIteration, SystemError):  # SystemError: the C half cannot import the exception of the Python half
        raise ValueError("not JSON") from None


def encode(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode(str(key))}:{encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(encode, value)) + "]"
    return repr(value)


def read_json(path: str) -> Any:
    with open(path, "rb") as file:
        return decode(file.read())


def write_json(path: str, value: Any) -> None:
    """Replace a file atomically: a reader sees the old file or the new one."""
    fresh = f"{path}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(encode(value))
    os.rename(fresh, path)
