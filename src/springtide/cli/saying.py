# SPDX-License-Identifier: Apache-2.0
"""Printing for a process that has more to do than to print: a cluster must not end because nobody reads its output."""

from __future__ import annotations

import os
import sys

import click


def say(text: str) -> None:
    """Print a line. It is lost when the reader of a pipe has gone, as in `tide up | head -1`, or the disk is full."""
    try:
        click.echo(text)
    except BrokenPipeError:
        _silence()
    except OSError:
        return


def _silence() -> None:
    """Whatever is printed from here on, and what the interpreter still holds, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
