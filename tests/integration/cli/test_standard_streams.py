# SPDX-License-Identifier: Apache-2.0
"""The programs as shells start them: with streams that are closed or gone, odd bytes, and Ctrl-C from the first moment.

No cluster is needed: the messages say that there is none.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_LIMIT = 60.0
_INTERRUPTED = (-signal.SIGINT, 130)
_CTRL_C = """
import importlib.abc, os, signal, sys

class PressedAtImport(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, PressedAtImport())
sys.argv = {argv!r}
from springtide.cli import entry
entry.{program}()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    nothing = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    lost = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")
    programs = {"PATH": os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))}
    return {name: value for name, value in os.environ.items() if name not in lost} | nothing | programs


def run(command: list[str | bytes], environment: dict[str, str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    given: dict[str, Any] = pipes | options
    return subprocess.run(command, env=environment, timeout=_LIMIT, check=False, **given)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "words",
    ["tide list", "tide submit -f -", "tide run -d -- python a.py", "tide attach a", "tide restart a", "arena list"],
)
def test_closed_streams_are_no_failure_of_the_program(words: str, closed: str, environment: dict[str, str]) -> None:
    done = run(["sh", "-c", f"{words} {closed}"], environment)
    assert done.returncode in (1, 2)
    assert b"unexpectedly" not in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["get", b"\xff"],
        ["list", "-n", b"\xff"],
        ["list", "--context", b"\xff"],
        ["list", "--kubeconfig", b"\xff"],
        ["logs", "a", "--grep", b"\xff"],
        ["submit", "-f", b"\xff"],
        ["get", "a\nb\x1b[2J"],
        ["run", "--name", b"\xff", "--", b"\xff"],
    ],
)
@pytest.mark.parametrize("encoding", ["C", "C.UTF-8", "zh_CN.UTF-8"])
def test_odd_bytes_are_no_failure_of_the_program(
    words: list[str | bytes], encoding: str, environment: dict[str, str]
) -> None:
    done = run(["tide", *words], environment | {"LC_ALL": encoding})
    assert done.returncode in (1, 2)
    assert b"unexpectedly" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\x1b[2J" not in done.stderr


@pytest.mark.parametrize("words", ["tide --help", "tide version", "tide completion bash", "arena --help"])
def test_a_pipe_that_nobody_reads_ends_the_program_without_a_word(words: str, environment: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run([*words.split()], environment, stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("program", "words", "module"),
    [
        ("tide", ["version"], "click"),
        ("tide", ["version"], "springtide.cli.app"),
        ("tide", ["list"], "springtide.cli.tide_jobs.list"),
        ("tide", ["list"], "springtide.kube.client"),
        ("tide", ["get", "a"], "springtide.views.jobs"),
        ("arena", ["list"], "springtide.cli.arena.app"),
        ("arena", ["list"], "springtide.cli.arena.verbs.list_jobs"),
        ("arena", ["list"], "springtide.kube.client"),
    ],
)
def test_ctrl_c_during_an_import_says_nothing(
    program: str, words: list[str], module: str, environment: dict[str, str]
) -> None:
    code = _CTRL_C.format(module=module, argv=[program, *words], program=program)
    done = run([sys.executable, "-c", code], environment)
    assert done.returncode in _INTERRUPTED
    assert done.stderr == b""


def test_an_ignored_ctrl_c_stays_ignored(environment: dict[str, str]) -> None:
    code = _CTRL_C.format(module="click", argv=["tide", "version"], program="tide")
    again = [sys.executable, "-c", code]
    ignoring = (
        f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv({sys.executable!r}, {again!r})"
    )
    done = run([sys.executable, "-c", ignoring], environment)
    assert done.returncode == 0
    assert done.stdout.startswith(b"springtide ")
