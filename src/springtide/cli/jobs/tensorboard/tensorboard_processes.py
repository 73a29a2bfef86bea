# SPDX-License-Identifier: Apache-2.0
"""A process in the background that forwards to a TensorBoard, and its reports to the command that has started it.

The reports are lines of JSON in a pipe: the port, why TensorBoard does not answer yet, that it does, or why there is no
forwarding. The command stops listening when it has heard enough; the process closes the pipe when it is not worth to
wait any longer, and goes on.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from springtide.cli.errors import Failure
from springtide.messages import Text, text
from springtide.views import tensorboards

WAIT: Final = 30.0
"""Seconds until a command goes on although TensorBoard does not answer yet."""
_START: Final = 60.0
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Started:
    url: str
    waits: Text | None
    """Why it does not answer yet."""


class Pipe:
    """To the command, which may be gone."""

    def __init__(self, number: int) -> None:
        os.set_inheritable(number, False)
        self._number: int | None = number

    def listening(self, port: int) -> None:
        self._write({"port": port})

    def waits(self, why: Text, *, needs_help: bool) -> None:
        self._write({"waits": why})
        if needs_help:
            self.close()

    def answers(self) -> None:
        self._write({"answers": True})
        self.close()

    def failed(self, failure: Failure) -> None:
        self._write({"failed": [failure.what, failure.cause, failure.hint]})
        self.close()

    def close(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None

    def _write(self, report: Mapping[str, Any]) -> None:
        if self._number is None:
            return
        try:
            os.write(self._number, msgspec.json.encode(report) + b"\n")
        except BrokenPipeError:
            self.close()


def start(options: Sequence[str], waiting: Callable[[Text], None], wait: float = WAIT) -> Started:
    """Runs `tide tensorboard` with these options and arguments. `waiting` is told why TensorBoard does not answer yet,
    whenever that changes. Failure if there is no forwarding."""
    reading, writing = os.pipe()
    try:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "springtide.cli", "tensorboard", "--report-to", str(writing), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(writing,),
        )
    finally:
        os.close(writing)
    try:
        return heard(reports(reading, wait), waiting)
    finally:
        os.close(reading)


def options(job: str, namespace: str, kubeconfig: str = "", context: str = "") -> list[str]:
    """Lead the process to the job and the cluster of this command."""
    named = {"--namespace": namespace, "--kubeconfig": kubeconfig, "--context": context}
    return [f"{name}={value}" for name, value in named.items() if value] + ["--", job]


def heard(reports: Iterator[Mapping[str, Any]], waiting: Callable[[Text], None]) -> Started:
    url, why = "", None
    for report in reports:
        if "port" in report:
            url = tensorboards.address(report["port"])
        elif "failed" in report:
            what, cause, hint = (Text(*each) if each else None for each in report["failed"])
            assert what is not None
            raise Failure(what, cause, hint)
        elif "answers" in report:
            return Started(url, None)
        elif (now := Text(*report["waits"])) != why:
            why = now
            waiting(now)
    if not url:
        raise Failure(
            text("TensorBoard cannot be reached: the process that was to forward a port to it has ended."),
            hint=text("see why: {command}", command="tide tensorboard JOB"),
        )
    return Started(url, why or text("TensorBoard starts."))


def reports(pipe: int, wait: float) -> Iterator[Mapping[str, Any]]:
    """Until the process has closed its end, or the time is up, which is longer as long as it has said nothing."""
    began, said, heard = time.monotonic(), b"", False
    while True:
        left = began + (wait if heard else _START) - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return
        part = os.read(pipe, _PIECE)
        if not part:
            return
        *lines, said = (said + part).split(b"\n")
        for line in lines:
            heard = True
            yield msgspec.json.decode(line)
