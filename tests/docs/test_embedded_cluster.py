# SPDX-License-Identifier: Apache-2.0
"""What docs/embedded-cluster.md and its translation say is so: the commands run, and the table lists what is served.

Blocks fenced as `sh kubectl` need kubectl; they run when SPRINGTIDE_TOOLS names the directory it is in, as under
`make test-oracle`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cli.conftest import end_rest

import springtide
from springtide.local.apiserver.catalog import builtin_resources
from springtide.local.datadir import DataDir

DOCS = Path(__file__).parents[2] / "docs"
ENGLISH, CHINESE = DOCS / "embedded-cluster.md", DOCS / "zh" / "embedded-cluster.md"
PAGES = pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["en", "zh"])
TOOLS = os.environ.get("SPRINGTIDE_TOOLS", "")

BLOCK = re.compile(r"^```(sh(?: kubectl)?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([a-z0-9./]+)` \| ((?:`[a-z/]+` ?)+) \|", re.MULTILINE)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for lock in tmp_path.rglob("lock"):
        place = DataDir(lock.parent)
        if process := place.process():
            os.kill(process, signal.SIGKILL)
        end_rest(place)


@PAGES
@pytest.mark.timeout(180)
def test_every_command_works(page: Path, home: Path) -> None:
    wanted = {"sh", "sh kubectl"} if TOOLS else {"sh"}
    script = "".join(body for kind, body in BLOCK.findall(page.read_text()) if kind in wanted)
    programs = [str(Path(sys.executable).parent), *([TOOLS] if TOOLS else []), "/usr/bin", "/bin"]
    finished = subprocess.run(
        ["sh", "-eux"],
        input=script,
        cwd=home,
        env={"HOME": str(home), "PATH": ":".join(programs)},
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "kube-system" in finished.stdout


def test_the_translation_has_the_same_commands() -> None:
    assert BLOCK.findall(ENGLISH.read_text()) == BLOCK.findall(CHINESE.read_text())
    assert ENGLISH.read_text().count("\n## ") == CHINESE.read_text().count("\n## ")


@PAGES
def test_the_table_lists_what_is_served(page: Path) -> None:
    listed = {(group, name) for group, names in ROW.findall(page.read_text()) for name in re.findall("`(.*?)`", names)}
    served = set()
    for resource in builtin_resources():
        group = f"{resource.group}/{resource.version}" if resource.group else resource.version
        served.add((group, resource.plural))
        served |= {(group, f"{resource.plural}/{name}") for name in resource.subresources}
    assert listed == served


@PAGES
def test_the_followed_version_is_named(page: Path) -> None:
    assert springtide.KUBERNETES_VERSION in page.read_text()
