# SPDX-License-Identifier: Apache-2.0
"""What tiderun and its agents say when they cannot even begin."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.elastic.launching import TRAINEE, Launch

pytestmark = pytest.mark.timeout(120)
TIDERUN = (sys.executable, "-P", "-m", "springtide.elastic.launcher", "-np", "1")


def said(*command: str, words: str = "") -> tuple[int, str]:
    ended = subprocess.run(command, input=words, capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stderr


def test_a_place_for_output_that_cannot_be_had(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, words = said(*TIDERUN, "--output-filename", f"{tmp_path}/file/out", "true")
    assert (code, words) == (2, f"tiderun: --output-filename: {tmp_path}/file/out: Not a directory\n")


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    line = f'mkdir {tmp_path}/d && cd {tmp_path}/d && rmdir {tmp_path}/d && exec "$@"'
    code, words = said("sh", "-c", line, "sh", *TIDERUN, "true")
    assert (code, words) == (2, "tiderun: the directory that it was started in: No such file or directory\n")


def test_an_interface_that_is_not_there() -> None:
    code, words = said(*TIDERUN, "--network-interface", "nonsense0", "true")
    assert (code, words) == (2, "tiderun: --network-interface: there is no nonsense0 on this machine\n")


def test_an_agent_names_all_addresses_it_has_tried() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        call = ("--connect", f"127.0.0.1:{port},255.255.255.255:{port}", "--workers", "0")
        code, words = said(sys.executable, "-P", "-m", "springtide.elastic.agent", *call, words="token\n")
    assert code == 1
    assert f"127.0.0.1:{port}: Connection refused" in words
    assert f"255.255.255.255:{port}: " in words
    assert words.endswith("; ranks must be able to reach the host of tiderun\n")


def test_who_thinks_better_of_it_at_once_sees_no_traceback() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'springtide.elastic.launcher.command': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from springtide.elastic.tiderun import main\n"
        "main()\n"
    )
    assert said(sys.executable, "-P", "-c", program) == (128 + signal.SIGINT, "")


def test_a_directory_that_goes_later_keeps_no_newcomer_away(tmp_path: Path) -> None:
    hosts, home = tmp_path / "hosts", tmp_path / "home"
    hosts.write_text("127.0.0.1:1\n")
    home.mkdir()
    options = ["-np", "1", "--min-np", "1", "--host-discovery-script", f"cat {hosts}"]
    program = [sys.executable, str(TRAINEE), str(tmp_path / "done")]
    with closing(Launch(tmp_path, [*options, *program], inside=("sh", "-c", f'cd {home}; exec "$@"', "sh"))) as run:
        run.saw("generation 1 rank 0 of 1")
        home.rmdir()
        hosts.write_text("127.0.0.1:1\n127.0.0.2:1\n")
        run.saw("rank 1 of 2")
        assert run.finish() == 0, run.text


def test_a_host_that_an_interface_does_not_lead_to_is_not_started(tmp_path: Path) -> None:
    options = ["-np", "1", "--min-np", "1", "--host-discovery-script", "echo nowhere:1", "--network-interface", "lo"]
    with closing(Launch(tmp_path, [*options, "true"])) as run:
        run.saw("on nowhere could not be started: lo has no address to be reached at from there")
