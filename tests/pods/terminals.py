# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, as a person at a keyboard would use it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

PATIENCE = 30.0


class Terminal:
    def __init__(self, argv: list[str], environment: Mapping[str, str], rows: int, columns: int) -> None:
        self._outer, inner = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            argv, env=environment, stdin=inner, stdout=inner, stderr=inner, start_new_session=True
        )
        os.close(inner)
        self.shown = ""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._outer, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if hasattr(self, "process"):
            self.process.send_signal(28)  # SIGWINCH, which a terminal that is not the controlling one does not send

    def type(self, text: str) -> None:
        os.write(self._outer, text.encode())

    def shows(self, text: str) -> str:
        """Everything seen so far, once this is part of it."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < deadline, f"not {text!r}, but {self.shown!r}"
            if select.select([self._outer], [], [], 0.2)[0]:
                with suppress(OSError):  # the other end is closed
                    self.shown += os.read(self._outer, 10_000).decode(errors="replace")
        return self.shown

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._outer)


@contextmanager
def terminal(argv: list[str], environment: Mapping[str, str], rows: int = 24, columns: int = 80) -> Iterator[Terminal]:
    opened = Terminal(argv, environment, rows, columns)
    try:
        yield opened
    finally:
        opened.close()
