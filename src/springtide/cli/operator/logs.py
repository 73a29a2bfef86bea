# SPDX-License-Identifier: Apache-2.0
"""Logs of long-running commands, for people or for programs that collect them.

    text    2026-11-16 07:45:12,345 INFO springtide.kube.leader: host-1 now leads job=default/mnist
    json    {"ts":"2026-11-16T07:45:12.345Z","level":"info","logger":"...","msg":"...","job":"default/mnist"}

The context of a record is passed as `extra`: `logger.info("resized", extra={"job": key})`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

FORMATS = ("text", "json")
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""The attributes of every record; all others are its context."""
_KEYS = frozenset({"ts", "level", "logger", "msg", "trace"})


def begin(form: str, *, verbose: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(form))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler])
    # asyncio's debug messages are about the event loop.
    logging.getLogger("asyncio").setLevel(logging.INFO)


def formatter(form: str) -> logging.Formatter:
    return _Json() if form == "json" else _Text("%(asctime)s %(levelname)s %(name)s: %(message)s")


class _Text(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        about = "".join(f" {key}={_quoted(value)}" for key, value in _about(record).items())
        return super().formatMessage(record) + about


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        said: dict[str, Any] = {
            "ts": when,
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        # Our own keys are never overwritten: programs rely on them.
        said |= {f"{key}_" if key in _KEYS else key: value for key, value in _about(record).items()}
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"), default=str)


def _about(record: logging.LogRecord) -> Mapping[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _OWN}


def _quoted(value: object) -> str:
    text = str(value)
    plain = text and not any(sign.isspace() or sign in '"=' for sign in text)
    return text if plain else json.dumps(text, ensure_ascii=False)
