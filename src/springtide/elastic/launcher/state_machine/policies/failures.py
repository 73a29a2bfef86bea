# SPDX-License-Identifier: Apache-2.0
"""How workers end, which ends are failures, and the message about the first one when the run fails. Pure."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_OWN: Final = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
"""Signals that a program causes itself."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker that ended unexpectedly."""

    id: int
    label: str
    host: str
    why: str
    code: int = 1
    """The exit code of the run, if the run fails."""
    own: bool = False
    """The program ended by itself; it was not killed from outside, and no host was lost."""

    def __str__(self) -> str:
        return f"[{self.label}] on {self.host} {self.why}"


def by_exit(code: int, number: int) -> str:
    if number:
        return f"was killed by {_signal_name(number)}"
    return f"exited with code {code}"


def own(number: int) -> bool:
    """Whether a program that ended with this signal, or with none, did so by itself."""
    return number == 0 or number in _OWN


def exit_code(code: int, number: int) -> int:
    """In the convention of shells."""
    return 128 + number if number else code


def last_words(failure: Failure, lines: Sequence[str]) -> list[str]:
    if not lines:
        return [f"first failure: {failure}"]
    return [f"first failure: {failure}; last lines of its output:", *(f"    {line}" for line in lines)]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
