# SPDX-License-Identifier: Apache-2.0
"""How a run ends that nothing is trained in, or that can never begin; and whose output nobody reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.elastic.launching import Launch

pytestmark = pytest.mark.timeout(120)

TIDERUN = (sys.executable, "-m", "springtide.elastic.launcher")


def run(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """From a shell that does something before."""
    command = ["sh", "-c", f'{before} exec "$@"', "sh", *TIDERUN, *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)


def test_a_program_that_does_not_train_fails_with_any_of_its_ranks() -> None:
    assert run("-np", "2", "--min-np", "1", "sh", "-c", "exit $((3 * $TIDE_SLOT))").returncode == 3


def test_a_program_that_crashes_everywhere_is_not_tried_again() -> None:
    ended = run("-np", "1", "--min-np", "1", "sh", "-c", "kill -SEGV $$")
    assert ended.returncode == 128 + signal.SIGSEGV
    assert "the program failed everywhere" in ended.stderr


def test_a_script_that_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    script = tmp_path / "discover.sh"
    ended = run("-np", "1", "--host-discovery-script", str(script), "true")
    assert ended.returncode == 1
    assert "no hosts were ever named" in ended.stderr
    script.write_text("echo localhost:1\n")
    assert run("-np", "1", "--host-discovery-script", str(script), "true").returncode == 1
    script.chmod(0o755)
    assert run("-np", "1", "--host-discovery-script", str(script), "true").returncode == 0


def test_who_is_told_not_to_hang_up_does_not(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    program = ("sh", "-c", f"echo ready; read line < {tmp_path}/fifo; echo $line")
    ignoring = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    started = Launch(tmp_path, ("-np", "1", *program), inside=ignoring)
    try:
        started.saw("ready")
        started.process.send_signal(signal.SIGHUP)
        (tmp_path / "fifo").write_text("still here\n")
        assert started.ended() == 0
        assert "[0]<stdout>:still here" in started.lines
    finally:
        started.close()


LOUD = ("sh", "-c", "seq 100000; exit 5")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_without_an_output_runs(closed: str) -> None:
    assert run("-np", "1", *LOUD, before=f"exec {closed};").returncode == 5


def test_a_full_disk_is_told() -> None:
    ended = run("-np", "1", *LOUD, before="exec >/dev/full;")
    assert ended.returncode == 5
    assert ended.stderr.splitlines()[0] == "tiderun: stdout cannot be written any more: No space left on device"


def test_output_that_is_not_waited_for_is_not_lost(tmp_path: Path) -> None:
    """Whoever shares a pipe with us may have it so."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    started = subprocess.Popen([*TIDERUN, "-np", "1", *LOUD], stdout=write)
    os.close(write)
    with open(read) as lines:
        started.poll()
        found = [line for line in lines if line.startswith("[0]<stdout>:")]
    assert started.wait(60) == 5
    assert len(found) == 100000


def test_many_hosts_that_do_not_answer_keep_no_other_one_from_starting(tmp_path: Path) -> None:
    tool = tmp_path / "ssh"
    tool.write_text(
        '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift 2; done\n'
        'case "$1" in silent*) exec sleep 60 ;; esac\nexec sh -c "$2"\n'
    )
    tool.chmod(0o755)
    silent = ",".join(f"silent{number}" for number in range(64))
    path = f"PATH={tmp_path}:{Path(sys.executable).parent}:$PATH; export PATH;"
    options = ("-np", "1", "--min-np", "1", "--start-timeout", "10")
    ended = run(*options, "-H", f"{silent},good", "sh", "-c", "echo $TIDE_HOST", before=path)
    assert ended.stdout == "[64]<stdout>:good\n"
    assert ended.stderr.count("could not be started") == 64
    assert ended.returncode == 0
