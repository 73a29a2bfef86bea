# SPDX-License-Identifier: Apache-2.0
"""`tiderun` with real processes: programs that train, programs that do not, and all the ways to die."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.elastic.launching import TRAINEE, Elastic, Launch, alive, parent, until

from springtide.elastic.protocol import wire
from springtide.elastic.protocol.wire import Caller, RefusedError

pytestmark = pytest.mark.timeout(120)

ONE, TWO, THREE = "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"
FAST = ("--blacklist-cooldown-range", "1", "2")


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Launch]]:
    launches: list[Launch] = []

    def launched(*arguments: str, **environment: str) -> Launch:
        launches.append(Launch(tmp_path, arguments, environment))
        return launches[-1]

    yield launched
    for each in launches:
        each.close()


@pytest.fixture
def elastic(tmp_path: Path) -> Iterator[Callable[..., Elastic]]:
    launches: list[Elastic] = []

    def launched(hosts: str, *options: str, **more: Any) -> Elastic:
        launches.append(Elastic(tmp_path, hosts, *options, **more))
        return launches[-1]

    yield launched
    for each in launches:
        each.close()


# Programs that do not train


def test_a_plain_command_runs_once_for_every_rank(launch: Callable[..., Launch]) -> None:
    run = launch("-np", "2", "sh", "-c", "echo $TIDE_SLOT; echo no >&2")
    assert run.ended() == 0
    assert sorted(run.lines) == ["[0]<stderr>:no", "[0]<stdout>:0", "[1]<stderr>:no", "[1]<stdout>:1"]


def test_the_first_failure_ends_a_run_that_is_not_elastic(launch: Callable[..., Launch]) -> None:
    run = launch("-np", "3", "sh", "-c", "[ $TIDE_SLOT != 1 ] && exec sleep 60; echo last words; exit 7")
    assert run.ended() == 7
    assert "tiderun: first failure: [1] on localhost exited with code 7; last lines of its output:" in run.lines
    assert "tiderun:     last words" in run.lines


def test_a_program_that_is_not_there_is_named(launch: Callable[..., Launch]) -> None:
    run = launch("-np", "1", "no-such-program")
    assert run.ended() == 127
    assert "[0]<stderr>:tiderun: no-such-program cannot be started: No such file or directory" in run.lines


def test_the_last_lines_are_not_lost(launch: Callable[..., Launch]) -> None:
    run = launch("-np", "2", "sh", "-c", "seq 20000; exit $TIDE_SLOT")
    assert run.ended() == 1
    assert "[1]<stdout>:20000" in run.lines
    assert len([line for line in run.lines if line.startswith("[1]<stdout>:")]) == 20000


def test_output_goes_to_files(launch: Callable[..., Launch], tmp_path: Path) -> None:
    run = launch("-np", "2", "--output-filename", str(tmp_path / "logs"), "sh", "-c", "echo I am $TIDE_SLOT")
    assert run.ended() == 0
    assert (tmp_path / "logs" / "rank.1" / "stdout").read_text() == "I am 1\n"


def test_a_rank_has_the_environment_of_its_host(launch: Callable[..., Launch]) -> None:
    run = launch("-np", "1", "env", HOROVOD_RANK="1", OMPI_COMM_WORLD_RANK="2", MINE="3", CUDA_VISIBLE_DEVICES="4")
    assert run.ended() == 0
    assert "[0]<stdout>:MINE=3" in run.lines
    assert "[0]<stdout>:CUDA_VISIBLE_DEVICES=4" in run.lines
    assert not any("HOROVOD_RANK" in line or "OMPI_COMM" in line for line in run.lines)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_everybody(launch: Callable[..., Launch], number: signal.Signals, code: int) -> None:
    run = launch("-np", "2", sys.executable, "-c", "import os, time; print('pid', os.getpid()); time.sleep(99)")
    pids = [int(match[1]) for match in run.saw(r"pid (\d+)", 2)]
    run.process.send_signal(number)
    assert run.ended() == code
    assert not any(alive(pid) for pid in pids)


def test_a_reader_that_stops_reading_does_not_end_the_run(tmp_path: Path, launch: Callable[..., Launch]) -> None:
    """Nobody is taken for dead because its output is not wanted."""
    command = f"{sys.executable} -m springtide.elastic.launcher -np 1 sh -c 'seq 300000; echo end' | (sleep 4; tail -1)"
    run = launch("-np", "1", "sh", "-c", command)
    assert run.ended() == 0
    assert run.lines[-1] == "[0]<stdout>:[0]<stdout>:end"


# Programs that train


def test_it_grows_and_shrinks_with_its_hosts(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", "--max-np", "3")
    run.saw(r"generation 1 rank \d of 2", 2)
    run.hosts(f"{ONE} {TWO} {THREE}")
    run.saw(r"generation 2 rank \d of 3", 3)
    run.hosts(f"{TWO} {THREE}")
    run.saw("left")
    run.saw(r"\[0\]<stdout>:generation 3 rank 0 of 2")
    assert run.finish() == 0, run.text
    reports = [json.loads(line) for line in run.lines if line.startswith("{")]
    assert [report["hosts"] for report in reports if report["size"] == 3][-1] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    assert {"springtide", "at", "size", "hosts", "step", "loss"} <= set(reports[-1])
    assert not any(line.startswith("tiderun: first failure") for line in run.lines)


def test_a_killed_rank_is_replaced(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", *FAST)
    run.saw(r"generation 1 rank \d of 2", 2)
    os.kill(run.pids()[0], signal.SIGKILL)
    run.saw(r"generation 2 rank 0 of 1")
    run.saw(r"generation 3 rank \d of 2", 2)
    assert run.finish() == 0, run.text
    run.saw("on 127.0.0.1 was killed by SIGKILL; nothing is started there for 1 s")


def test_a_killed_agent_takes_its_rank_along(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", *FAST)
    run.saw(r"generation 1 rank \d of 2", 2)
    rank = run.pids()[1]
    os.kill(parent(rank), signal.SIGKILL)
    run.saw(r"generation 2 rank 0 of 1")
    until(lambda: not alive(rank), "the rank has ended")
    run.saw(r"generation 3 rank \d of 2", 2)
    assert run.finish() == 0, run.text


def test_a_stopped_agent_is_taken_for_dead(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", *FAST)
    run.saw(r"generation 1 rank \d of 2", 2)
    rank = run.pids()[1]
    agent = parent(rank)
    os.kill(agent, signal.SIGSTOP)
    run.saw(r"generation 2 rank 0 of 1")
    os.kill(agent, signal.SIGCONT)
    until(lambda: not alive(agent) and not alive(rank), "both have ended")
    assert run.finish() == 0, run.text


def test_a_rank_that_hangs_is_killed(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", "--heartbeat-timeout", "1", *FAST)
    run.saw(r"generation 1 rank \d of 2", 2)
    rank = run.pids()[1]
    os.kill(rank, signal.SIGSTOP)
    run.saw(r"generation 2 rank 0 of 1")
    until(lambda: not alive(rank), "the rank has ended")
    run.saw("sent no message for 1 s")
    assert run.finish() == 0, run.text


def test_nobody_outlives_a_launcher_that_is_killed(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2")
    run.saw(r"generation 1 rank \d of 2", 2)
    pids = [*run.pids().values(), *(parent(pid) for pid in run.pids().values())]
    run.process.kill()
    until(lambda: not any(alive(pid) for pid in pids), "all have ended")


def test_all_are_lost_and_it_starts_over(elastic: Callable[..., Elastic]) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", *FAST)
    run.saw(r"generation 1 rank \d of 2", 2)
    for pid in run.pids().values():
        os.kill(pid, signal.SIGKILL)
    run.saw(r"generation \d+ rank \d of 2", 4)
    assert run.finish() == 0, run.text


def test_a_program_that_fails_everywhere_is_not_tried_again(elastic: Callable[..., Elastic]) -> None:
    program = ("sh", "-c", "echo no such data >&2; exit 4")
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", program=program)
    assert run.ended() == 4
    assert "tiderun: the program failed everywhere" in run.lines
    assert "tiderun:     no such data" in run.lines


def test_a_newcomer_that_dies_disturbs_nobody(elastic: Callable[..., Elastic], tmp_path: Path) -> None:
    trainee = str(Path(__file__).with_name("trainee.py"))
    script = f'[ "$TIDE_HOST" = 127.0.0.3 ] && exit 9; exec {sys.executable} {trainee} {tmp_path}/done'
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1", program=("sh", "-c", script))
    run.saw(r"generation 1 rank \d of 2", 2)
    run.hosts(f"{ONE} {TWO} {THREE}")
    run.saw(r"\[127.0.0.3:0\] on 127.0.0.3 exited with code 9; nothing is started there for 10 s")
    assert run.finish() == 0, run.text
    assert not [line for line in run.lines if "generation 2" in line]


def test_too_few_ranks_for_too_long_fail(elastic: Callable[..., Elastic]) -> None:
    run = elastic(ONE, "-np", "2", "--elastic-timeout", "1")
    assert run.ended() == 1
    assert "tiderun: after 1 s 1 of 2 required ranks has started; hosts: 127.0.0.1:1" in run.lines


def test_whoever_knows_no_secret_is_told_nothing(elastic: Callable[..., Elastic]) -> None:
    run = elastic(ONE, "-np", "1", environment={"PASSWORD": "of-the-user"})
    run.saw("generation 1 rank 0 of 1")
    words = Path(f"/proc/{parent(run.pids()[0])}/cmdline").read_text().split("\0")
    assert "of-the-user" not in " ".join(words)
    address, _, port = words[words.index("--connect") + 1].rpartition(":")
    assert "--tokens" not in words
    for caller, key in ((caller, key) for caller in Caller for key in (b"", b"x" * 32)):
        with socket.create_connection((address, int(port)), timeout=10) as connection:
            connection.settimeout(10)
            with pytest.raises((EOFError, OSError, RefusedError)):
                spoken_with(connection, caller, key)
    assert run.finish() == 0, run.text


def spoken_with(connection: socket.socket, caller: Caller, key: bytes) -> wire.Frame:
    wire.call(connection, caller, 0, key)
    return wire.receive(connection)


def test_noise_from_strangers_is_not_listened_to(elastic: Callable[..., Elastic]) -> None:
    run = elastic(ONE, "-np", "1")
    run.saw("generation 1 rank 0 of 1")
    words = Path(f"/proc/{parent(run.pids()[0])}/cmdline").read_text().split("\0")
    address, _, port = words[words.index("--connect") + 1].rpartition(":")
    for noise in (b"", b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100, os.urandom(4096)):
        with socket.create_connection((address, int(port)), timeout=10) as connection, suppress(OSError):
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert run.finish() == 0, run.text


def test_how_long_eight_ranks_take_to_start(launch: Callable[..., Launch], tmp_path: Path) -> None:
    """Printed, not judged: see it with -s."""
    (tmp_path / "done").touch()
    began = time.monotonic()
    run = launch("-np", "8", sys.executable, str(TRAINEE), str(tmp_path / "done"))
    run.saw(r"generation 1 rank \d of 8", 8)
    print(f"eight ranks trained after {time.monotonic() - began:.2f} s")
    assert run.ended() == 0


# Hosts that are elsewhere


@pytest.fixture
def ssh(tmp_path: Path) -> dict[str, str]:
    """An ssh that leads back here, except to those that cannot be reached."""
    tool = tmp_path / "bin" / "ssh"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\n"
        'while [ "${1#-}" != "$1" ]; do shift 2; done\n'
        'case "$1" in\n'
        "    silent) exec sleep 60 ;;\n"
        "    down) echo no route to host >&2; exit 255 ;;\n"
        "    slow) mkdir $(dirname $0)/tried 2>/dev/null && { echo unknown host >&2; exit 255; } ;;\n"
        "esac\n"
        'export HOSTNAME="$1"\n'
        'exec sh -c "$2"\n'
    )
    tool.chmod(0o755)
    return {"PATH": f"{tool.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_ranks_run_on_other_hosts_over_ssh(launch: Callable[..., Launch], ssh: dict[str, str]) -> None:
    words = {"HOSTNAME": "launcher", "POD_IP": "1.2.3.4", "MINE": "it's", **ssh}
    program = ("sh", "-c", 'echo "$HOSTNAME $TIDE_HOST/$TIDE_SLOT $MINE"')
    run = launch("-np", "3", "-H", "worker-a:2,worker-b:2", *program, **words)
    assert run.ended() == 0
    assert sorted(run.lines) == [
        "[0]<stdout>:worker-a worker-a/0 it's",
        "[1]<stdout>:worker-a worker-a/1 it's",
        "[2]<stdout>:worker-b worker-b/0 it's",
    ]


@pytest.mark.parametrize("broken", ["silent", "down"])
def test_a_host_that_never_comes_up_keeps_nobody(
    elastic: Callable[..., Elastic], ssh: dict[str, str], broken: str
) -> None:
    options = ("-np", "1", "--start-timeout", "2")
    run = elastic(f"{broken}:1 worker-a:1", *options, environment=ssh)
    run.saw(r"generation 1 rank 0 of 1")
    run.saw(f"on {broken} could not be started: .*; nothing is started there for 10 s")
    assert run.finish() == 0, run.text


def test_a_host_that_cannot_be_reached_ends_a_run_that_is_not_elastic(
    launch: Callable[..., Launch], ssh: dict[str, str]
) -> None:
    run = launch("-np", "2", "-H", "worker-a:1,down:1", "--start-timeout", "4", "sleep", "60", **ssh)
    assert run.ended() == 1
    why = "ssh ended with code 255; no route to host"
    assert f"tiderun: down does not answer yet, and is tried again: {why}" in run.lines
    assert f"tiderun: [1] on down could not be started: {why}" in run.lines


def test_a_host_that_comes_up_slowly_is_waited_for(launch: Callable[..., Launch], ssh: dict[str, str]) -> None:
    run = launch("-np", "2", "-H", "worker-a:1,slow:1", "hostname", **ssh)
    assert run.ended() == 0
    assert not any(line.startswith("tiderun:") for line in run.lines)


# Scripts that misbehave


def test_a_script_that_fails_at_first_is_asked_again(elastic: Callable[..., Elastic], tmp_path: Path) -> None:
    run = elastic("", "-np", "1", "--min-np", "1")
    run.write("#!/bin/sh\necho the server is away >&2\nexit 1\n")
    run.saw("failed with code 1: the server is away; the hosts stay as they were")
    run.hosts(ONE)
    run.saw("generation 1 rank 0 of 1")
    assert run.finish() == 0, run.text


@pytest.mark.parametrize(
    "script", ["exit 3", "echo 127.0.0.1:x", "echo a:b:c", "echo nothing", "sleep 0.2; kill $$", "\x00\x01"]
)
def test_a_script_that_breaks_changes_nothing(elastic: Callable[..., Elastic], script: str) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1")
    run.saw(r"generation 1 rank \d of 2", 2)
    run.write(f"#!/bin/sh\n{script}\n")
    run.saw("the hosts stay as they were")
    run.hosts(f"{TWO} {ONE} {ONE} {TWO}")
    time.sleep(0.5)
    assert run.finish() == 0, run.text
    assert not [line for line in run.lines if "generation 2" in line]


def test_a_list_that_was_half_written_is_not_believed(elastic: Callable[..., Elastic], tmp_path: Path) -> None:
    run = elastic(f"{ONE} {TWO}", "-np", "2", "--min-np", "1")
    run.saw(r"generation 1 rank \d of 2", 2)
    flag = tmp_path / "seen"
    run.write(f"#!/bin/sh\necho {ONE}\n[ -e {flag} ] && echo {TWO}\ntouch {flag}\n")
    until(flag.exists, "the script was asked")
    time.sleep(0.5)
    assert run.finish() == 0, run.text
    assert not [line for line in run.lines if "generation 2" in line]
