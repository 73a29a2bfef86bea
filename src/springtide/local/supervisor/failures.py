# SPDX-License-Identifier: Apache-2.0
"""The server process's message to its supervisor: that it is up, or why it cannot start.

One JSON line over a pipe. A server that dies without a message closes the pipe.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class FailedError(Exception):
    """The server cannot start, for the given reason; a retry would not help."""


class LostError(FailedError):
    """The database holds less than was acknowledged. Only the user may decide to continue without the rest."""


class DeadError(Exception):
    """The server dies on each start; the message says how."""


@dataclass(frozen=True, slots=True)
class Up:
    port: int
    notes: tuple[str, ...] = ()
    """Functions that do not work."""


def up(port: int, notes: Sequence[str] = ()) -> bytes:
    return _line({"up": port, "notes": list(notes)})


def failed(error: Exception, *, lost: bool = False) -> bytes:
    if isinstance(error, OSError):
        name = error.filename if isinstance(error.filename, str) else None
        return _line({"errno": error.errno, "text": error.strerror or str(error), "file": name})
    return _line({"text": str(error), "lost": lost})


def heard(line: bytes) -> Up | Exception | None:
    """None for a server that died without a message."""
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
    """Why a server that is restarted repeatedly does not start, and what to do."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) if isinstance(error, OSError) else "disk is full" in str(error)
    if full:
        return f"the disk that holds {data_dir} is full. Free some space; the server is tried again until it starts"
    return f"{error}. The server is tried again until it starts; `tide down --keep-pods` ends the tries"


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"
