# SPDX-License-Identifier: Apache-2.0
"""A container's termination message: from its file, or from the end of its log where the pod asks for that."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from springtide.local.kubelet.containers import pod_files
from springtide.local.pod_logs.reading import Options, Shaper

MESSAGE_BYTES = 4096
LOG_BYTES = 2048
LOG_LINES = 80
_TAIL = 256 * 1024
"""Enough of a log's end for its last 80 lines, if these have readable lengths."""


def last_words(container: Mapping[str, Any], exit_code: int, message: Path, log: Sequence[Path]) -> str:
    """The message; `log` is the attempt's files, oldest first."""
    text = _end_of(message, MESSAGE_BYTES)
    falls_back = container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
    if not text and falls_back and exit_code != 0 and log:
        text = _log_end(log[-1])
    return text.decode(errors="replace")


def _end_of(path: Path, most: int) -> bytes:
    """Empty if it is not a regular file: without mounts a program may replace it by a link or a pipe."""
    try:
        return pod_files.read_end(path, most)
    except OSError:
        return b""


def _log_end(path: Path) -> bytes:
    data = _end_of(path, _TAIL)
    if len(data) == _TAIL:
        data = data.partition(b"\n")[2]  # the first record is incomplete
    shaper = Shaper(Options())
    text = shaper.feed(data) + shaper.end()
    return b"".join(deque(text.splitlines(keepends=True), LOG_LINES))[-LOG_BYTES:]
