# SPDX-License-Identifier: Apache-2.0
"""Why something ended, where people look for it: in conditions, in events and in the job's own log."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import elastic, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.endings import causes
from springtide.jobs.observed import Exit, Pod

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
UNRECOGNIZED = "An unrecognized option was included on the mpirun command line:\n\n  Option: --map-by\n"
UNFOUND = "prterun was unable to find the specified executable file, and therefore did\nnot launch the job.\n"


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (None, ""),
        (Exit(1, "Error"), "exited with code 1"),
        (Exit(137, "OOMKilled"), "exited with code 137 (OOMKilled, SIGKILL)"),
        (Exit(139, "Error"), "exited with code 139 (SIGSEGV)"),
        (Exit(1, "Error", "Traceback\n  ...\nValueError: x\n"), "exited with code 1: Traceback\n  ...\nValueError: x"),
        (Exit(2, "Error", "no data.\n"), "exited with code 2: no data"),
        (Exit(2, "Error", "waiting..."), "exited with code 2: waiting..."),
        (Exit(128, "ContainerCannotRun", "no such file"), "exited with code 128 (ContainerCannotRun): no such file"),
    ],
    ids=[
        "nothing is known",
        "a code",
        "out of memory",
        "a signal",
        "what it said last",
        "a full stop",
        "an ellipsis",
        "it could not be started",
    ],
)
def test_how_a_pod_ended(ended: Exit | None, words: str) -> None:
    assert causes.ending(Pod("p", "u", "Worker", exit=ended)) == words


def test_of_a_long_log_the_last_lines_are_told() -> None:
    said = causes.ending(Pod("p", "u", "Worker", exit=Exit(1, "Error", "\n".join(f"line {n}" for n in range(99)))))
    assert said.startswith("exited with code 1: … line 89\n")
    assert said.endswith("line 98")
    assert len(causes.ending(Pod("p", "u", "Worker", exit=Exit(1, "Error", "x" * 5000)))) < 700


def end(cluster: Cluster, name: str, ended: Exit) -> None:
    cluster.fail(name)
    cluster.change(name, exit=ended)


@versions
def test_a_worker_out_of_memory_is_told_of(version: str) -> None:
    cluster = running(elastic(2, version))
    end(cluster, "pi-worker-1", Exit(137, "OOMKilled"))
    cluster.reconcile()
    assert [(event.type, event.message) for event in cluster.events] == [
        ("Warning", "pi-worker-1 exited with code 137 (OOMKilled, SIGKILL); a replacement is created")
    ]


@versions
def test_a_failed_launcher_says_its_last_words_in_the_condition_and_its_event(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"backoffLimit": 0}))
    end(cluster, cluster.launcher().name, Exit(1, "Error", "Horovod has been shut down"))
    cluster.settle()
    failed = cluster.status.conditions[-1]
    assert (failed.type, failed.status) == ("Failed", "True")
    assert "exited with code 1: Horovod has been shut down" in failed.message
    assert cluster.events[-1].message == failed.message


@versions
def test_a_launcher_that_is_tried_again_says_why(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"backoffLimit": 3}))
    end(cluster, cluster.launcher().name, Exit(1, "Error", "no route to host"))
    cluster.settle()
    assert any("no route to host" in event.message for event in cluster.events)


@versions
@pytest.mark.parametrize(
    ("options", "said", "advised"),
    [
        (("-bind-to", "none", "-map-by", "slot"), UNFOUND, True),
        (("-map-by", "slot"), UNRECOGNIZED, True),
        (("--bind-to", "none"), UNFOUND, False),
        (("-bind-to", "none"), "Segmentation fault", False),
    ],
    ids=["it takes a value for the program", "it refuses an option", "two dashes are right", "it ended otherwise"],
)
def test_options_that_open_mpi_5_does_not_understand(
    version: str, options: tuple[str, ...], said: str, advised: bool
) -> None:
    template = {"spec": {"containers": [{"name": "m", "image": "i", "command": ["mpirun", *options, "pi"]}]}}
    cluster = running(elastic(2, version, launcher={"template": template}, runPolicy={"backoffLimit": 0}))
    end(cluster, cluster.launcher().name, Exit(213, "Error", said))
    cluster.settle()
    assert ("LauncherAdvice" in reasons(cluster)) == advised
    if advised:
        (message,) = [event.message for event in cluster.events if event.reason == "LauncherAdvice"]
        assert "-map-by" in message
        assert "--map-by" in message
        assert "Open MPI 4" in message


def test_options_inside_a_script_are_found() -> None:
    script = "mpirun -np 2 -bind-to none -map-by slot pi"
    template = {"spec": {"containers": [{"name": "m", "image": "i", "command": ["sh", "-c", script]}]}}
    cluster = running(elastic(2, launcher={"template": template}))
    end(cluster, "pi-launcher", Exit(66, "Error", UNFOUND))
    cluster.settle()
    assert "LauncherAdvice" in reasons(cluster)


def test_names_run_out_with_a_word_on_why() -> None:
    """`j…-worker-9` is the longest name there can be."""
    name = "j" * 54
    raw = elastic(2).raw
    raw["metadata"]["name"] = name
    cluster = running(Cluster(raw))
    for _ in range(9):
        worker = cluster.listed()[-1]
        cluster.fail(worker, "Evicted")
        cluster.settle(700)
    assert cluster.workers() == [f"{name}-worker-0"]
    assert cluster.status.workers == "1/2"
    (used_up,) = [each for each in cluster.status.conditions if each.type == "NamesUsedUp"]
    assert f"{name}-worker-10 has more than 63 characters" in used_up.message
