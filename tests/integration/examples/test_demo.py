# SPDX-License-Identifier: Apache-2.0
"""The demo fails when its job does, ends in order when it is interrupted, and leaves nothing behind either way.

That it shows what it should is seen by `make demo`, which CI runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.timeout(150)

ROOT = Path(__file__).parents[3]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Start]:
    """Starts it with `tmp_path` as the place of all that is temporary, where nothing may be left."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "examples/demo.py", *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.wait()
    assert list(scratch.iterdir()) == []
    assert [line for line in command_lines() if str(scratch) in line] == []


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text(errors="replace").replace("\0", " "))
        except OSError:  # ended meanwhile
            continue
    return found


def said_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if text in line:
            return said
    pytest.fail(said)


def test_a_job_that_fails_makes_it_fail(demo: Start, tmp_path: Path) -> None:
    settings, job = yaml.safe_load_all((ROOT / "examples" / "elastic" / "digits.yaml").read_text())
    container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container |= {"command": ["sh", "-c", "echo 'no such data'; exit 3"], "args": []}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all([settings, job]))
    process = demo(str(tmp_path / "job.yaml"))
    said, _ = process.communicate()
    assert process.returncode == 1, said
    assert "the demo failed: the job has failed before two workers train" in said
    assert "no such data" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["$ tide up", "$ kubectl create"])
def test_it_ends_in_order_when_it_is_interrupted(demo: Start, moment: str, number: int) -> None:
    process = demo()
    said_until(process, moment)
    process.send_signal(number)
    process.send_signal(number)  # again, as people do
    said, _ = process.communicate()
    assert process.returncode == 128 + number, said
    assert "$ tide down" in said
    assert "Traceback" not in said
