# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import time
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import until

from springtide.kube.client import Client
from springtide.kube.resources import NAMESPACES, Key


async def create_namespace(kubeconfig: Path, name: str) -> None:
    async with await Client.connect(str(kubeconfig)) as client:
        await client.create(NAMESPACES, NAMESPACES.describe(Key("", name)))


def test_a_cluster_in_the_background_from_start_to_stop(tide: Tide) -> None:
    said = tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    last = place.last()
    assert last is not None
    assert f"https://127.0.0.1:{last.port}" in said
    assert f"export KUBECONFIG={place.kubeconfig}" in said
    asyncio.run(create_namespace(place.kubeconfig, "kept"))
    assert "1 node, 7 namespaces, 0 pods" in tide.ok("status")
    process = place.process()
    assert process is not None
    assert "is down" in tide.ok("down")
    assert not Path(f"/proc/{process}").exists()

    stopped = tide.run("status")
    assert (stopped.returncode, stopped.stdout.splitlines()[0]) == (3, "Cluster 'springtide' is stopped.")
    assert "is stopped" in tide.ok("down")
    assert "Start it with: tide up -d\n" in tide.error("kubeconfig")

    assert f"https://127.0.0.1:{last.port}" in tide.ok("up", "-d")
    assert "7 namespaces" in tide.ok("status")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_cluster_in_the_foreground_ends_cleanly_on(tide: Tide, number: signal.Signals) -> None:
    with tide.start("up", "--port", "0") as process:
        assert process.stdout
        announced = any("Ctrl-C stops the cluster" in line for line in iter(process.stdout.readline, ""))
        assert announced, process.communicate(timeout=60)[1]
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "\nCluster 'springtide' is down.\n", "")


def test_a_killed_cluster_leaves_nothing_in_the_way(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    tide.kill(tide.place())
    assert tide.run("status").returncode == 3
    assert "is stopped" in tide.ok("down")
    tide.ok("up", "-d")


def test_several_clusters_run_side_by_side(tide: Tide, tmp_path: Path) -> None:
    tide.ok("up", "-d", "--port", "0")
    elsewhere = tmp_path / "else where"
    said = tide.ok("up", "-d", "--port", "0", "--name", "second", "--data-dir", str(elsewhere))
    assert f"Stop it with: tide down --name second --data-dir '{elsewhere}'" in said
    # The directory remembers the name.
    assert "Cluster 'second' is up" in tide.ok("status", "--data-dir", str(elsewhere))
    assert "Cluster 'second' is down" in tide.ok("down", "--data-dir", str(elsewhere))
    assert "Cluster 'springtide' is up" in tide.ok("status")


def test_a_cluster_is_started_once(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    for command in (["up"], ["up", "-d"]):
        assert tide.error(*command).startswith("Error: cluster 'springtide' is up already\n")


def test_of_two_that_start_at_the_same_time_one_wins(tide: Tide) -> None:
    both = [tide.start("up", "--port", "0") for _ in range(2)]
    try:
        loser = None
        while loser is None:
            time.sleep(0.02)
            loser = next((process for process in both if process.poll() is not None), None)
        assert "is up already" in loser.communicate(timeout=60)[1]
        assert loser.returncode == 1
    finally:
        for process in both:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


@pytest.mark.parametrize("detach", [[], ["-d"]], ids=["foreground", "background"])
def test_a_port_that_was_asked_for_must_be_free(tide: Tide, detach: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert tide.error("up", *detach, "--port", port).splitlines() == [
            f"Error: port {port} is taken: another program listens on it",
            "Take any that is free: tide up --port 0",
        ]


def test_a_port_that_another_cluster_has_is_explained_by_that_cluster(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-nodes", "--name", "first")
    last = tide.place("first").last()
    assert last
    said = tide.error("up", "-d", "--name", "second", "--port", str(last.port))
    assert said.startswith(f"Error: port {last.port} is taken: the cluster 'first' of yours listens on it\n")


def test_a_cluster_whose_last_port_is_taken_moves(tide: Tide) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        tide.place().path.mkdir(parents=True)
        tide.place().describe("springtide", port)
        assert f"https://127.0.0.1:{port}" not in tide.ok("up", "-d")
    assert f"Port {port} is taken; taking another one." in tide.place().log.read_text()


@pytest.mark.parametrize("detach", [[], ["-d"]], ids=["foreground", "background"])
def test_a_damaged_database_is_named_with_a_way_out(tide: Tide, detach: list[str]) -> None:
    place = tide.place()
    place.path.mkdir(parents=True)
    place.database.write_bytes(b"this is no database" * 1000)
    said = tide.error("up", "--port", "0", *detach)
    assert f"{place.database} is damaged or not a database" in said
    assert f"mv {place.database} {place.database}.damaged" in said


@pytest.mark.parametrize("detach", [[], ["-d"]], ids=["foreground", "background"])
def test_a_place_that_cannot_be_written_is_named(tide: Tide, tmp_path: Path, detach: list[str]) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "cluster"
    said = tide.error("up", *detach, "--data-dir", str(place))
    assert said.splitlines() == [
        f"Error: {place} cannot be made: {tmp_path / 'file'} is a file, and a cluster needs a directory",
        "Choose a directory on a local disk that you may write to: tide up --data-dir DIR",
    ]


def test_files_are_readable_by_their_owner_alone(tide: Tide) -> None:
    os.umask(0o022)
    tide.ok("up", "-d", "--port", "0", "--audit")
    place = tide.place()
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o700
    for path in (place.kubeconfig, place.database, place.pki / "ca.pem"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert place.audit.exists()


def test_an_unforeseen_error_is_one_line_and_a_log(tide: Tide, tmp_path: Path) -> None:
    (tmp_path / "cluster" / "lock").mkdir(parents=True)
    said = tide.error("status", "--data-dir", str(tmp_path / "cluster")).splitlines()
    log = tide.home / ".local/state/springtide/tide.log"
    assert said[0].startswith("Error: tide failed unexpectedly: IsADirectoryError")
    assert said[1:] == [f"The details are in {log}"]
    assert "Traceback" in log.read_text()


def test_looking_makes_nothing(tide: Tide) -> None:
    for command in ("status", "down", "kubeconfig", "doctor", "version"):
        tide.run(command)
    assert list(tide.home.iterdir()) == []


def test_a_cluster_whose_output_nobody_reads_stays_up(tide: Tide) -> None:
    """As `tide up 2>&1 | head -1` leaves it."""
    with tide.start("up", "--port", "0") as process:
        assert process.stdout
        assert process.stderr
        process.stderr.close()
        assert "is up at" in process.stdout.readline()
        process.stdout.close()
        place = tide.place()
        before = place.server_process()
        assert before is not None
        os.kill(before, signal.SIGKILL)  # something to complain about
        until(lambda: place.server_process() not in (None, before))
        until(lambda: tide.run("status").returncode == 0)
        assert "is down" in tide.ok("down")
        assert process.wait(timeout=60) == 0


def test_a_server_that_hangs_does_not_keep_a_cluster_from_stopping(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    server = tide.place().server_process()
    assert server is not None
    os.kill(server, signal.SIGSTOP)
    said = tide.ok("down")
    assert "Its server does not answer, so running jobs cannot be listed" in said
    assert "is down" in said


def test_a_slow_server_is_waited_for_and_called_slow(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--no-nodes")
    server = tide.place().server_process()
    assert server is not None
    os.kill(server, signal.SIGSTOP)
    with tide.start("status") as process:
        assert process.stderr
        assert process.stderr.readline() == "Its server is slow: no answer within 5 s; waiting up to 60 s\n"
        os.kill(server, signal.SIGCONT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "0 nodes, 6 namespaces, 0 pods" in said


@pytest.mark.parametrize("wait", [0.0, 0.3, 1.0])
def test_a_cluster_that_is_only_starting_can_be_stopped(tide: Tide, wait: float) -> None:
    with tide.start("up", "--port", "0") as process:
        until(lambda: tide.place().is_running())
        time.sleep(wait)  # one of several moments of its start
        assert "is down" in tide.ok("down")
        _, said = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM), said
    assert "Traceback" not in said
    tide.ok("up", "-d", "--port", "0")
