# SPDX-License-Identifier: Apache-2.0
"""What the server process tells its supervisor: that it is up, or in a form that can be explained why it is not.

One JSON line over a pipe. A server that dies without a word closes the pipe, which says enough.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class FailedError(Exception):
    """The server cannot start, and says why; trying again would not help."""


class LostError(FailedError):
    """The database holds less than was acknowledged. Whether to go on without the rest is for a person to decide."""


class DeadError(Exception):
    """The server dies each time it is started; the message is how."""


@dataclass(frozen=True, slots=True)
class Up:
    port: int
    notes: tuple[str, ...] = ()
    """What does not work all the same."""


def up(port: int, notes: Sequence[str] = ()) -> bytes:
    return _line({"up": port, "notes": list(notes)})


def failed(error: Exception, *, lost: bool = False) -> bytes:
    if isinstance(error, OSError):
        name = error.filename if isinstance(error.filename, str) else None
        return _line({"errno": error.errno, "text": error.strerror or str(error), "file": name})
    return _line({"text": str(error), "lost": lost})


def heard(line: bytes) -> Up | Exception | None:
    """None for a server that died without a word."""
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    if "up" in said:
        return Up(int(said["up"]), tuple(said["notes"]))
    if said.get("errno") is not None:
        return OSError(said["errno"], said["text"], said["file"])
    return LostError(said["text"]) if said["lost"] else FailedError(said["text"])


def with_advice(error: Exception, data_dir: str) -> str:
    """Why a server that is tried again does not start, and what helps."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) if isinstance(error, OSError) else "disk is full" in str(error)
    if full:
        return f"the disk that holds {data_dir} is full. Free some space; the server is tried again until it starts"
    return f"{error}. The server is tried again until it starts; `tide down --keep-pods` ends the tries"


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"
