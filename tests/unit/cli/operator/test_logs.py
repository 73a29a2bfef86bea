# SPDX-License-Identifier: Apache-2.0
"""Log lines for people and for programs."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from springtide.cli.operator.logs import FORMATS, formatter


def record(text: str, *arguments: object, **about: object) -> logging.LogRecord:
    made = logging.LogRecord("springtide.jobs", logging.INFO, __file__, 1, text, arguments, None)
    made.created = 1_700_000_000.25
    return logging.makeLogRecord({**vars(made), **about})


def as_json(made: logging.LogRecord) -> dict[str, Any]:
    line = formatter("json").format(made)
    assert "\n" not in line
    return dict(json.loads(line))


def test_a_line_of_text_ends_with_what_it_is_about() -> None:
    line = formatter("text").format(record("made %d pods", 3, job="default/mnist", why="so many\nare wanted"))
    assert line.endswith(r' INFO springtide.jobs: made 3 pods job=default/mnist why="so many\nare wanted"')


def test_a_line_of_json_has_fixed_keys_and_what_it_is_about() -> None:
    assert as_json(record("made %d pods", 3, job="default/mnist", pods=3)) == {
        "ts": "2023-11-14T22:13:20.250Z",
        "level": "info",
        "logger": "springtide.jobs",
        "msg": "made 3 pods",
        "job": "default/mnist",
        "pods": 3,
    }


def test_what_a_line_is_about_never_takes_the_place_of_a_fixed_key() -> None:
    said = as_json(record("resized", level="node"))
    assert said["level"] == "info"
    assert said["level_"] == "node"


def test_something_that_json_does_not_know_is_written_as_text() -> None:
    assert as_json(record("failed", error=ValueError("too small")))["error"] == "too small"


@pytest.mark.parametrize("form", FORMATS)
def test_a_traceback_is_kept(form: str) -> None:
    made = record("broke")
    try:
        raise ValueError("too small")
    except ValueError:
        made.exc_info = sys.exc_info()
    assert "ValueError: too small" in formatter(form).format(made)
