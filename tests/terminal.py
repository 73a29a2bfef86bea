# SPDX-License-Identifier: Apache-2.0
"""An interactive bash on a terminal of its own, used as a person does: type, wait, press Ctrl-C or TAB."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

_PROMPT = "ready> "
_WIDTH = 200


class Terminal:
    def __init__(self, pid: int, terminal: int) -> None:
        self._pid, self._terminal = pid, terminal
        self.shown = ""
        """Everything so far, as a terminal would get it."""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, pattern: str, since: int = 0, timeout: float = 50.0) -> str:
        """What is shown from position `since` on, once that matches the pattern."""
        deadline = time.monotonic() + timeout
        while not re.search(pattern, self.shown[since:], re.MULTILINE):
            left = deadline - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self.shown[since:]!r}"
            if select.select([self._terminal], [], [], left)[0]:
                self.shown += os.read(self._terminal, 65536).decode(errors="replace")
        return self.shown[since:]

    def run(self, command: str, until: str = "", timeout: float = 60.0) -> tuple[int, str]:
        """Exit status and output of a command. One that does not end by itself is interrupted once it shows `until`."""
        begin = len(self.shown)
        self.type(command + "\n")
        if until:
            self.wait_for(until, begin, timeout)
            self.type("\x03")
        self.wait_for(rf"{_PROMPT}\Z", begin + len(command), timeout)
        end = len(self.shown)
        self.type("echo status=$?\n")
        status = self.wait_for(rf"status=\d+\r\n{_PROMPT}\Z", end)
        found = re.search(r"status=(\d+)", status)
        assert found
        return int(found[1]), self.shown[begin:end]

    def complete(self, typed: str, completed: str) -> None:
        """Press TAB, wait until the line is completed like this, and give it up."""
        begin = len(self.shown)
        self.type(f"{typed}\t")
        self.wait_for(rf"\A{re.escape(completed)}\Z", begin)
        self.type("\x15\n")  # not Ctrl-C, which is lost while bash is still busy with the completion
        self.wait_for(rf"\n{_PROMPT}\Z", begin)


@contextlib.contextmanager
def bash(environment: Mapping[str, str], directory: Path) -> Iterator[Terminal]:
    """Ends with a hang-up, as a window that is closed."""
    program = shutil.which("bash")
    assert program
    variables = {**environment, "PS1": _PROMPT, "TERM": "dumb", "INPUTRC": os.devnull}
    pid, terminal = pty.fork()
    if pid == 0:
        # Before bash runs: it shows its prompt again when the size changes, which would look like the end of a command.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _WIDTH, 0, 0))
        os.chdir(directory)
        os.execve(program, ["bash", "--norc", "--noprofile", "-i"], variables)
    found = Terminal(pid, terminal)
    try:
        found.wait_for(rf"{_PROMPT}\Z")
        yield found
    finally:
        os.kill(pid, signal.SIGHUP)
        os.close(terminal)
        os.waitpid(pid, 0)
