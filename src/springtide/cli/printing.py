# SPDX-License-Identifier: Apache-2.0
"""Printing for a process that has more to do than to print: a cluster must not end because nobody reads its output."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click


def say(text: str) -> None:
    """Print a line. It is lost when the reader of a pipe has gone, as in `tide up | head -1`, or the disk is full."""
    try:
        click.echo(text)
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError:
        return


def let_go() -> None:
    """Before the process ends: what nobody reads is no failure of the process."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _silence(stream)


def _silence(stream: TextIO) -> None:
    """Whatever is printed from here on, and what the interpreter still holds, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
