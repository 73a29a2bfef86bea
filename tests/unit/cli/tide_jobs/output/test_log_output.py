# SPDX-License-Identifier: Apache-2.0
"""Log lines as `tide logs` prints them, and its options."""

from __future__ import annotations

import io

import pytest
from click.testing import CliRunner

from springtide.cli.tide_jobs.logs import logs
from springtide.cli.tide_jobs.output.log_output import LogOutput, has_colours
from springtide.views.logs.log_lines import Line
from springtide.views.logs.log_sources import LogSource

SOURCE = LogSource("bert-worker-0", "uid", "main", 0, "worker-0")
LINE = Line(b"2026-01-01T00:00:00.000000000Z", b"hello")


@pytest.mark.parametrize(
    ("sources", "timestamps", "text"),
    [
        (1, False, b"hello\n"),
        (2, False, b"[worker-0] hello\n"),
        (None, False, b"[worker-0] hello\n"),
        (1, True, b"2026-01-01T00:00:00.000000000Z hello\n"),
        (None, True, b"[worker-0] 2026-01-01T00:00:00.000000000Z hello\n"),
    ],
)
def test_lines_name_their_pod_where_there_are_several(sources: int | None, timestamps: bool, text: bytes) -> None:
    stream = io.BytesIO()
    output = LogOutput(timestamps=timestamps, stream=stream)
    output.begin(sources)
    output.line(SOURCE, LINE)
    assert stream.getvalue() == text


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
    ],
)
def test_colours_are_for_terminals_that_have_them(variables: dict[str, str], terminal: bool, coloured: bool) -> None:
    assert has_colours(variables, terminal=terminal) is coloured


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grep", "("], "'(' is no regular expression"),
        (["--since", "yesterday"], "is no span of time"),
        (["--since-time", "2026-01-01"], "write it like 2026-01-31T12:00:00Z"),
        (["--since-time", "soon"], "write it like 2026-01-31T12:00:00Z"),
        (["--rank", "-1"], "not in the range"),
        (["--since", "5m", "--since-time", "2026-01-31T12:00:00Z"], "exclude each other"),
        (["-f", "--previous"], "exclude each other"),
        (["--tail", "x"], "not a valid integer"),
        ([], "Missing argument"),
    ],
)
def test_wrong_options_are_refused(arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("springtide.cli.connecting.found", lambda *given: None)
    given = [*(["bert"] if arguments else []), *arguments]
    finished = CliRunner().invoke(logs, given)
    assert finished.exit_code == 2
    assert message in finished.output
