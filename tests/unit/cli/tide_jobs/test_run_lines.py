# SPDX-License-Identifier: Apache-2.0
"""What `tide run` prints of a job: its states on stderr, its log on stdout."""

from __future__ import annotations

import pytest

from springtide.cli.tide_jobs.output.run_output import RunOutput
from springtide.cli.tide_jobs.output.state_lines import StateLines
from springtide.views.logs.log_lines import Line
from springtide.views.logs.log_sources import LogSource

SOURCE = LogSource("bert-launcher", "1", "train", 0, "launcher")


def line(second: int, text: str) -> Line:
    return Line(b"2026-01-01T00:00:%02d.000000000Z" % second, text.encode())


LINES = (line(1, "[0]<stdout>:a"), line(1, "[1]<stdout>:b"))


def test_a_log_that_is_followed_again_goes_on_after_the_last_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output = RunOutput()
    for more in ((), (line(2, "c"), line(3, "d"))):
        output.begin(None)
        for each in (*LINES, *more):
            output.line(SOURCE, each)
    output.flush()
    assert capfdbinary.readouterr().out == b"[0]<stdout>:a\n[1]<stdout>:b\nc\nd\n"


def test_on_a_terminal_ranks_are_short_and_coloured(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = RunOutput()
    monkeypatch.setattr(output, "_coloured", True)
    output.line(SOURCE, LINES[1])
    output.line(SOURCE, line(4, "tiderun: done"))
    output.flush()
    first, second = capfdbinary.readouterr().out.splitlines()
    assert first.startswith(b"\x1b[")
    assert first.endswith(b"m[1]\x1b[0m b")
    assert second == b"tiderun: done"


def job(state: str, explanation: str = "") -> dict[str, object]:
    return {"kind": "MPIJob", "metadata": {"name": "bert"}, "status": {"state": state, "explanation": explanation}}


def test_a_state_is_told_once_and_again_for_another_reason(capsys: pytest.CaptureFixture[str]) -> None:
    lines = StateLines("bert")
    for each in (
        job("Created"),
        job("Queued", "2 workers wait."),
        job("Queued", "1 workers wait."),
        job("Queued", "The launcher waits."),
        job("Failed", "It exited with code 1:\nTraceback"),
    ):
        lines.show(each)
    assert capsys.readouterr().err.splitlines() == [
        "bert: Created",
        "bert: Queued. 2 workers wait.",
        "bert: Queued. The launcher waits.",
        "bert: Failed. It exited with code 1:",
    ]
