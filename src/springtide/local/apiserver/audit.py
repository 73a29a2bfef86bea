# SPDX-License-Identifier: Apache-2.0
"""Audit log: one line per write request."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from springtide.local.access.identity import User

log = logging.getLogger(__name__)


class Audit:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)

    def line(self, method: str, target: str, user: User | None, code: int, *, broke_off: bool = False) -> None:
        """`broke_off`: a second line for a request whose response was cut off."""
        if method in ("GET", "HEAD", "OPTIONS"):
            return
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "user": user.name if user else "",
            "groups": user.groups if user else (),
            "method": method,
            "path": target,
            "code": code,
        }
        if broke_off:
            entry["answer"] = "broke off"
        try:
            self._file.write(msgspec.json.encode(entry) + b"\n")
        except OSError as error:  # the write is done, so its response must not report a failure
            log.error("no audit line for %s %s by %s: %s", method, target, entry["user"], error)

    def close(self) -> None:
        self._file.close()
