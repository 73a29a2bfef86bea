# SPDX-License-Identifier: Apache-2.0
"""Failures of commands on jobs, with their exit codes. `tide` prints what failed, why, and what to do next.

`arena` prints the same as one line in its own form, and exits with 1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import IO, Any

import click

from springtide.cli import speaking
from springtide.messages import Text, shown, text


class ExitCode(IntEnum):
    OK = 0
    ERROR = 1
    USAGE = 2
    NO_RIGHTS = 4
    """The credentials are missing or expired, or lack a right."""
    NOT_FOUND = 5
    TIMEOUT = 6
    JOB_FAILED = 100
    JOB_NOT_FINISHED = 101
    CANCELLED = 103
    INTERRUPTED = 130


class Failure(click.ClickException):
    def __init__(
        self, what: Text, cause: Text | None = None, hint: Text | None = None, code: ExitCode = ExitCode.ERROR
    ) -> None:
        super().__init__(speaking.shown(what))
        self.what, self.cause, self.hint = what, cause, hint
        self._language = speaking.language()  # it is shown when the command's context has gone
        self.exit_code = int(code)  # type: ignore[misc]  # click reads it from the instance

    def lines(self) -> list[str]:
        """What `tide` prints."""
        labelled = (
            (text("error: {message}"), self.what),
            (text("cause: {message}"), self.cause),
            (text("hint: {message}"), self.hint),
        )
        told = (label._replace(values={"message": line}) for label, line in labelled if line)
        return [shown(message, self._language) for message in told]

    def show(self, file: IO[Any] | None = None) -> None:
        for line in self.lines():
            click.echo(line, file=file, err=file is None)
