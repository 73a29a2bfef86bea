# SPDX-License-Identifier: Apache-2.0
"""Arena's lines on stderr, in the format of the library logrus.

    INFO[0000] The Job a has been submitted successfully                 on a terminal, in colour
    time="2025-01-02T03:04:05Z" level=info msg="The Job a …"             otherwise

The number is that of whole seconds since the program started.
"""

from __future__ import annotations

import os
import re
import sys
import time
from datetime import datetime
from enum import IntEnum
from typing import Final

from springtide.cli.flags.pflag import quoted
from springtide.messages.terminals import harmless


class Level(IntEnum):
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3


_NAMES: Final = {Level.DEBUG: "debug", Level.INFO: "info", Level.WARN: "warning", Level.ERROR: "error"}
_COLOURS: Final = {Level.DEBUG: 37, Level.INFO: 36, Level.WARN: 33, Level.ERROR: 31}
_BARE: Final = re.compile(r"[a-zA-Z0-9\-._/@^+]*")
_WIDTH: Final = 44
"""Of a message on a terminal, where fields would follow."""


class Log:
    def __init__(self) -> None:
        self.level = Level.INFO
        self._started = time.monotonic()

    def debug(self, message: str) -> None:
        self._write(Level.DEBUG, message)

    def info(self, message: str) -> None:
        self._write(Level.INFO, message)

    def warn(self, message: str) -> None:
        self._write(Level.WARN, message)

    def error(self, message: str) -> None:
        self._write(Level.ERROR, message)

    def _write(self, level: Level, message: str) -> None:
        if level < self.level:
            return
        if sys.stderr.isatty():
            elapsed = int(time.monotonic() - self._started)
            line = on_terminal(level, message, elapsed, colours="NO_COLOR" not in os.environ)
        else:
            line = in_file(level, message, datetime.now().astimezone())
        print(line, file=sys.stderr, flush=True)


def on_terminal(level: Level, message: str, elapsed: int, *, colours: bool) -> str:
    word = _NAMES[level].upper()[:4]
    shown = f"\x1b[{_COLOURS[level]}m{word}\x1b[0m" if colours else word
    return f"{shown}[{elapsed:04d}] {harmless(message).removesuffix(chr(10)):<{_WIDTH}} "


def in_file(level: Level, message: str, now: datetime) -> str:
    when = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    shown = message if _BARE.fullmatch(message) else quoted(message)
    return f'time="{when}" level={_NAMES[level]} msg={shown}'
