# SPDX-License-Identifier: Apache-2.0
"""Output of long-running processes: a cluster must not end because its output is no longer read."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click


def say(text: str) -> None:
    """Prints a line; lost when the reader of a pipe has exited, as in `tide up | head -1`, or the disk is full."""
    try:
        click.echo(text)
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError:
        return


def let_go() -> None:
    """Called before the process exits: unread output is no failure of the process."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _silence(stream)


def _silence(stream: TextIO) -> None:
    """Discards all further output, including what the interpreter has buffered."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
