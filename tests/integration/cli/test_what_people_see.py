# SPDX-License-Identifier: Apache-2.0
"""Every page of a few commands as people see it: terminals of three widths, a dumb one, a pipe; English and Chinese.

The texts are in `seen`. With SPRINGTIDE_WRITE=1 this test writes them anew, to be read in the diff.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

SCRIPT, SEEN = Path(__file__).with_name("pages.py"), Path(__file__).with_name("seen")
ROOT = Path(__file__).parents[3]
LOCALES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
_MASKS = ((re.compile(r"\x1b\[[0-9;]*m"), ""), (re.compile(r"\r\n"), "\n"))
"""Colours are tested where they are chosen; a terminal ends lines by two characters."""


def environment(language: str, terminal: str, home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH",)}
    return kept | {"LANG": LOCALES[language], "TERM": terminal, "HOME": str(home), "TZ": "UTC", "PYTHONPATH": str(ROOT)}


def on_a_terminal(environment: dict[str, str], width: int) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    command = [sys.executable, str(SCRIPT)]
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        found = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # Linux says so when the last process has closed the terminal
                break
            if not more:
                break
            found += more
        os.close(ours)
        assert process.wait(60) == 0
    return found.decode()


def through_a_pipe(environment: dict[str, str]) -> str:
    command = [sys.executable, str(SCRIPT)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize("language", LOCALES)
@pytest.mark.parametrize("where", ["40", "80", "200", "dumb", "pipe"])
def test_what_people_see(language: str, where: str, tmp_path: Path) -> None:
    terminal = "dumb" if where == "dumb" else "xterm-256color"
    variables = environment(language, terminal, tmp_path)
    width = int(where) if where.isdigit() else 80
    found = through_a_pipe(variables) if where == "pipe" else on_a_terminal(variables, width)
    if where == "dumb":
        assert "\x1b" not in found
    for mask, instead in _MASKS:
        found = mask.sub(instead, found)
    file = SEEN / f"{language}-{where}.txt"
    if os.environ.get("SPRINGTIDE_WRITE"):
        file.write_text(found)
    assert found == file.read_text()
