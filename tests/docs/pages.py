# SPDX-License-Identifier: Apache-2.0
"""The pages under docs/ as something that can be run.

Blocks fenced as `sh` run everywhere. Blocks fenced as `sh kubectl` need kubectl; they run when SPRINGTIDE_TOOLS names
the directory it is in, as under `make test-docs`. All blocks of a page are one script, in an empty home beside the
repository's examples.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.integration.cli.conftest import end_rest

from springtide.local.datadir import DataDir

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
TOOLS = os.environ.get("SPRINGTIDE_TOOLS", "")

_CACHES = {
    name: os.environ.get(name, str(Path.home() / ".cache" / folder))
    for name, folder in (("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv"))
}
"""What pages install is fetched once, although each page has a home of its own."""
_BLOCK = re.compile(r"^```(sh(?: kubectl)?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return _BLOCK.findall(page.read_text())


def sections(page: Path) -> int:
    return page.read_text().count("\n## ")


def assert_same(original: str, translated: str) -> None:
    """Both pages have the same commands, but for comments, and as many sections and rows of tables."""
    both = [DOCS / original, DOCS / translated]
    bare = [[re.sub(r" +#.*", "", body) for _, body in blocks(page)] for page in both]
    assert bare[0] == bare[1]
    assert sections(both[0]) == sections(both[1])
    rows = [[line for line in page.read_text().splitlines() if line.startswith("| ")] for page in both]
    assert len(rows[0]) == len(rows[1])


def assert_links(page: Path) -> None:
    """Every link of the page leads to a file, and to a section of it."""
    for file, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text()):
        target = (page.parent / file) if file else page
        assert target.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert anchor in [slug(head) for head in heads], anchor


def slug(heading: str) -> str:
    """As GitHub makes them."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def run(page: Path, home: Path, patience: float = 150, *, with_errors: bool = False) -> str:
    """All commands of a page, each of which must succeed; what they printed, on stderr too if that is wanted."""
    wanted = {"sh", "sh kubectl"} if TOOLS else {"sh"}
    uv = shutil.which("uv")
    more = [TOOLS, str(Path(uv).parent) if uv else ""]
    programs = [str(Path(sys.executable).parent), *filter(None, more), "/usr/bin", "/bin", "/usr/sbin"]
    (home / "examples").symlink_to(ROOT / "examples")
    finished = subprocess.run(
        ["sh", "-euc", f"exec sh -eux {'2>&1' if with_errors else ''}"],
        input="".join(body for kind, body in blocks(page) if kind in wanted),
        cwd=home,
        env={"HOME": str(home), "PATH": ":".join(programs), **_CACHES},
        capture_output=True,
        text=True,
        timeout=patience,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def end_clusters(home: Path) -> None:
    """Of a page that was not run to its end."""
    # Unlike a glob, a walk does not mind directories of pods that go meanwhile.
    for directory in [Path(path) for path, _, files in os.walk(home) if "lock" in files]:
        place = DataDir(directory)
        if process := place.process():
            os.kill(process, signal.SIGKILL)
        end_rest(place)
