# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a command does not listen for it itself."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from springtide.cli import app


def test_ctrl_c_says_nothing_and_leaves_as_shells_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(click, "echo", interrupted)
    result = CliRunner().invoke(app.tide, ["version"])
    assert (result.exit_code, result.output) == (130, "")
