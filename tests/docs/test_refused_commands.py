# SPDX-License-Identifier: Apache-2.0
"""Commands that docs/embedded-cluster.md says are refused are refused, with the words it says.

So are those in docs/troubleshooting.md that are about `tide`; tests/e2e makes the mistakes with jobs.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.docs.pages import DOCS
from tests.integration.cli.conftest import Tide, in_home

ROW = re.compile(r"^\| `(tide [^`]+)` \| `([^`]+)` \|", re.MULTILINE)
MISTAKE = re.compile(r"^\| \d+ \| [^|]*`(tide [^`]+)` \| `` (.+?) `` \| `tide` \|$", re.MULTILINE)
PAGES = (DOCS / "embedded-cluster.md", DOCS / "zh" / "embedded-cluster.md")


def rows(page: Path) -> list[tuple[str, str]]:
    return ROW.findall(page.read_text())


def mistakes() -> list[tuple[str, str]]:
    return MISTAKE.findall((DOCS / "troubleshooting.md").read_text())


@pytest.mark.timeout(180)
def test_every_row_is_so(home: Path) -> None:
    with in_home(home) as tide:
        tide.ok("up", "-d", "--port", "0", "--no-nodes")
        last = tide.place().last()
        assert last
        (home / "notes.txt").touch()
        assert len(rows(PAGES[0])) >= 9
        for command, answer in rows(PAGES[0]):
            said = refused(tide, command.replace("6443", str(last.port)))
            assert answer.replace("6443", str(last.port)) in said, command
        assert [command for command, _ in mistakes()] == ["tide up", *(command for command, _ in rows(PAGES[0])[1:3])]
        for command, answer in mistakes():
            said = refused(tide, command.replace("6443", str(last.port)))
            parts = map(re.escape, answer.replace("6443", str(last.port)).split(" … "))
            assert re.search("(?s:.*)".join(parts), said), command
        assert "did you mean 'springtide'?" in refused(tide, "tide down --name springtid")


def refused(tide: Tide, command: str) -> str:
    finished = tide.run(*shlex.split(command)[1:])
    assert finished.returncode != 0 or "has never been started" in finished.stdout
    return finished.stdout + finished.stderr


def test_both_languages_have_the_same_rows() -> None:
    assert rows(PAGES[0]) == rows(PAGES[1])
