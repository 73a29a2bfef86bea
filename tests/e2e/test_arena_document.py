# SPDX-License-Identifier: Apache-2.0
"""The users' document on elastic training, with our `arena`: its commands as they stand there, on a terminal.

The cluster has imaginary GPUs, and an environment for the document's image. All lines of the document appear in their
order; what differs by nature is masked (`MASKS`), and there may be more lines, as newer releases of Arena have them.
"""

from __future__ import annotations

import os
import pty
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from tests import arena
from tests.e2e import environments
from tests.programs import clusters as embedded
from tests.programs import wheels
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(600)

DOCUMENT: Final = Path(__file__).parent / "files" / "arena_document.txt"
MASKS: Final = (
    (re.compile(r"\x1b\[[0-9;]*m"), "", "colours"),
    (re.compile(r"^(INFO)\[\d{4}\]"), r"\1[0000]", "seconds that a command took"),
    (re.compile(r"\b\d+[smh](?= |$)"), "AGE", "durations and ages"),
    (re.compile(r"-\d{10}\b"), "-TIME", "the time in the names of scalers"),
    (re.compile(r"(?<=  )(cn-huhehaote\S+|one)$"), "NODE", "names of nodes"),
    (re.compile(r"Step #\d+\s+Loss: \d+\.\d+"), "Step #N Loss: X", "how far training has come"),
    (re.compile(r"^\[\d\](?=<stdout>)"), "[R]", "which rank was first"),
    (re.compile(r"[ \t]+"), " ", "widths of columns"),
)
"""What differs by nature, and why."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with (
        embedded.public_folder() as public,
        embedded.running(public, "--node", "one=cpu:16,memory:64Gi,nvidia.com/gpu:9") as cluster,
    ):
        environments.offer(cluster, wheels.PRESETS)
        made = cluster.tide.run("env", "create", "--for", arena.IMAGE)
        assert made.returncode == 0, made
        yield cluster


def steps() -> list[tuple[str, list[str]]]:
    """Commands, and the lines that they print."""
    blocks = DOCUMENT.read_text().split("%%% command\n")[1:]
    pairs = [block.split("%%% output\n") for block in blocks]
    return [(command, [line for line in output.splitlines() if line]) for command, output in pairs]


def test_all_lines_of_the_document_appear_in_their_order(cluster: Cluster) -> None:
    assert len(steps()) == 9
    workers = {"submit": 3, "scaleout": 4, "scalein": 3}
    for command, expected in steps():
        shown = on_terminal(command, cluster.tide.environment, cluster.tide.home)
        check(command, expected, shown)
        if (verb := command.split()[1]) in workers:
            cluster.until(lambda size=workers[verb]: is_training(cluster, size), f"training after {command}")  # type: ignore[misc]


def is_training(cluster: Cluster, size: int) -> bool:
    """Whether so many ranks train, and the log that the document shows is long enough."""
    job = cluster.get("trainingjob", arena.NAME)
    progress = job.get("status", {}).get("progress", {})
    log = cluster.kubectl.run("logs", f"{arena.NAME}-launcher", "--tail=10").stdout.splitlines()
    return progress.get("ranks") == size and len(log) == 10 and all("Step #" in line for line in log)


def check(command: str, expected: list[str], shown: list[str]) -> None:
    left = [masked(line) for line in shown]
    for line in map(masked, expected):
        assert line in left, f"{command}\n{line!r} is missing, or not in its place:\n" + "\n".join(shown)
        del left[: left.index(line) + 1]


def masked(line: str) -> str:
    for pattern, mask, _ in MASKS:
        line = pattern.sub(mask, line)
    return line.strip()


def on_terminal(command: str, environment: Mapping[str, str], directory: Path) -> list[str]:
    """The lines that a command shows on a terminal of its own."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(directory)
        os.execvpe("sh", ["sh", "-c", command], {**environment, "TZ": "UTC", "TERM": "xterm"})
    shown = b""
    while data := _read(terminal):
        shown += data
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown.decode()
    return shown.decode().splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux's word for the end
        return b""
