# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import io

import pytest

from springtide.local.network.netd_log import say


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_the_log_ends_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Full())
    say("cannot keep the table for a successor")


def test_otherwise_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    say("pods cannot reach the outside")
    assert capsys.readouterr().err == "pods cannot reach the outside\n"
