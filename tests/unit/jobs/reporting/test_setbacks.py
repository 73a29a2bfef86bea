# SPDX-License-Identifier: Apache-2.0
"""What is told when a launcher is lost: how far training had come, and where it goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import ELASTIC, elastic, running
from tests.unit.jobs.simulated import Cluster

from springtide.jobs.actions import Event
from springtide.jobs.observed import Exit, Pod
from springtide.jobs.reporting import progress
from springtide.jobs.reporting.setbacks import KEEP_SOME

versions = pytest.mark.parametrize("version", ["v1", "v2beta1"])
TIDE = ("tiderun", *ELASTIC[1:])


def reports(cluster: Cluster, **words: Any) -> None:
    pod = cluster.launcher()
    cluster.change(pod.name, annotations={**pod.annotations, progress.ANNOTATION: json.dumps(words)})


def told(cluster: Cluster) -> list[Event]:
    return [event for event in cluster.events if event.reason == "TrainingSetBack"]


def message(cluster: Cluster) -> str:
    return next(each.message for each in cluster.status.conditions if each.type == "TrainingSetBack")


ROWS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no checkpoint": (
        {"step": 200},
        "NoCheckpoint",
        f"training falls back from step 200 to its start, because no checkpoint was reported; {KEEP_SOME}",
    ),
    "an older checkpoint": (
        {"step": 200, "checkpoint": 150},
        "BackToCheckpoint",
        "training falls back from step 200 to step 150, its last checkpoint",
    ),
    "a checkpoint of a step that nobody knows": (
        {"step": 200, "checkpoint": None},
        "BackToCheckpoint",
        "training falls back from step 200 to its last checkpoint",
    ),
    "a checkpoint and no step": (
        {"checkpoint": 150},
        "BackToCheckpoint",
        "training falls back to step 150, its last checkpoint",
    ),
    "nothing": (
        {},
        "NotReported",
        "neither how far training had come nor a checkpoint was reported: it starts over, unless the program finds "
        f"checkpoints of its own; {KEEP_SOME}",
    ),
    "nonsense": (
        {"step": "many", "checkpoint": "often"},
        "BackToCheckpoint",
        "training falls back to its last checkpoint",
    ),
}


@pytest.mark.parametrize(("words", "reason", "rest"), ROWS.values(), ids=ROWS)
def test_what_is_lost_is_a_warning_and_a_condition(words: dict[str, Any], reason: str, rest: str) -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 3}))
    reports(cluster, **words)
    cluster.fail("pi-launcher", code=3)
    cluster.reconcile()
    assert [(event.type, event.message) for event in told(cluster)] == [
        ("Warning", f"The launcher exited with code 3; {rest}")
    ]
    found = next(each for each in cluster.status.conditions if each.type == "TrainingSetBack")
    assert (found.status, found.reason, found.message) == ("True", reason, told(cluster)[0].message)


@versions
def test_it_holds_until_the_next_run_has_come_as_far(version: str) -> None:
    cluster = running(elastic(2, version, runPolicy={"backoffLimit": 3}))
    reports(cluster, step=200)
    cluster.fail(cluster.launcher().name)
    cluster.settle(300)
    assert cluster.conditions["TrainingSetBack"] == "True"
    reports(cluster, step=199)
    cluster.reconcile()
    assert cluster.conditions["TrainingSetBack"] == "True"
    reports(cluster, step=200)
    cluster.reconcile()
    assert cluster.conditions["TrainingSetBack"] == "False"
    assert len(told(cluster)) == 1


def test_a_second_loss_is_told_with_its_own_step() -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 3}))
    for step in (200, 20):
        reports(cluster, step=step)
        cluster.fail("pi-launcher")
        cluster.settle(300)
    assert len(told(cluster)) == 2
    assert "from step 20 to its start" in message(cluster)


@pytest.mark.parametrize("second", [{"step": 20}, {}], ids=["a few steps", "nothing reported"])
def test_a_loss_holds_although_the_next_run_is_lost_sooner(second: dict[str, int]) -> None:
    """Until a run has come as far as the best one."""
    cluster = running(elastic(2, runPolicy={"backoffLimit": 9}))
    for words in ({"step": 200}, second):
        reports(cluster, **words)
        cluster.fail("pi-launcher")
        cluster.settle(300)
    assert message(cluster).endswith("a run before it had come to step 200")
    for step, status in ((21, "True"), (199, "True"), (200, "False")):
        reports(cluster, step=step)
        cluster.reconcile()
        assert cluster.conditions["TrainingSetBack"] == status


def test_where_nobody_knows_how_far_training_had_come_nobody_says_it_has_caught_up() -> None:
    cluster = running(elastic(2, runPolicy={"backoffLimit": 3}))
    cluster.fail("pi-launcher")
    cluster.settle(300)
    assert cluster.conditions["TrainingSetBack"] == "False"
    assert message(cluster) == "A new launcher runs; how far training had come before is not known."


@versions
def test_a_job_that_succeeds_is_no_longer_set_back(version: str) -> None:
    """Its last launcher may have had no right to say how far it came."""
    cluster = running(elastic(2, version, runPolicy={"backoffLimit": 3}))
    reports(cluster, step=200)
    cluster.fail(cluster.launcher().name)
    cluster.settle(300)
    assert cluster.conditions["TrainingSetBack"] == "True"
    cluster.succeed()
    cluster.settle(300)
    assert (cluster.conditions["Succeeded"], cluster.conditions["TrainingSetBack"]) == ("True", "False")


def test_a_checkpoint_of_the_last_step_loses_nothing() -> None:
    cluster = running(elastic(2))
    reports(cluster, step=200, checkpoint=200)
    cluster.terminate("pi-launcher")
    cluster.settle()
    assert [(event.type, event.message) for event in told(cluster)] == [
        (
            "Normal",
            "The launcher is gone; training continues from step 200, its last checkpoint, and loses nothing",
        )
    ]
    assert "TrainingSetBack" not in cluster.conditions


@pytest.mark.parametrize(
    ("how", "cause"),
    [("vanish", "is gone"), ("lose", "is gone"), ("delete", "was deleted"), ("Evicted", "was evicted")],
)
def test_the_cause_is_named(how: str, cause: str) -> None:
    cluster = running(elastic(2))
    pod = cluster.launcher()
    match how:
        case "vanish":
            cluster.vanish(pod.name)
        case "lose":
            cluster.lose(pod.node)
            cluster.reconcile()
        case "delete":
            cluster.terminate(pod.name)
        case _:
            cluster.fail(pod.name, how)
    cluster.reconcile()
    assert told(cluster)[0].message.startswith(f"The launcher {cause}")


def test_a_launcher_that_never_ran_loses_nothing() -> None:
    cluster = elastic(2)
    cluster.reconcile()
    cluster.ready("pi-worker-0", "pi-worker-1")
    cluster.reconcile()
    cluster.fail("pi-launcher", "Evicted")
    cluster.settle()
    assert told(cluster) == []


def test_a_launcher_without_rights_is_read_by_its_last_lines() -> None:
    lines = (
        '{"springtide":"progress","at":"2026-01-01T00:00:00.000Z","size":2,"hosts":["a"],"step":7,"checkpoint":5}',
        "last words",
    )
    said = progress.of(Pod("pi-launcher", "u", "Launcher", exit=Exit(143, "Error", "\n".join(lines))))
    assert (said.reached, said.kept, said.has_checkpoint) == (7, 5, True)


def test_of_annotation_and_log_the_later_counts() -> None:
    def said(step: int, second: int) -> str:
        words = {"springtide": "progress", "at": f"2026-01-01T00:00:{second:02}Z", "step": step}
        return json.dumps(words, separators=(",", ":"))

    for annotation, line, step in ((said(7, 1), said(9, 2), 9), (said(9, 2), said(7, 1), 9), ("{}", said(7, 1), 7)):
        pod = Pod("l", "u", "Launcher", exit=Exit(143, "", line), annotations={progress.ANNOTATION: annotation})
        assert progress.of(pod).reached == step


@pytest.mark.parametrize(
    "value", ["[", "[]", '{"step":1e999}', '{"step":true}', "[" * 100_000, f'{{"step":{"9" * 400}}}']
)
def test_what_cannot_be_read_is_not_said(value: str) -> None:
    said = progress.of(Pod("pi-launcher", "u", "Launcher", annotations={progress.ANNOTATION: value}))
    assert (said.reached, said.has_checkpoint) == (None, False)


@versions
def test_workers_of_tiderun_stay_until_it_has_written_its_checkpoint(version: str) -> None:
    cluster = running(Cluster(an_mpijob(version, workers=2, command=TIDE)))
    name = cluster.launcher().name
    cluster.terminate(name)
    cluster.reconcile()
    assert len(cluster.listed()) == 2
    assert not [pod for pod in cluster.of("Worker") if pod.terminating]
    assert cluster.status.state == "Restarting"
    cluster.vanish(name)
    cluster.reconcile()
    assert all(pod.terminating for pod in cluster.of("Worker") if pod.index in (0, 1))
    cluster.settle()
    assert cluster.launcher().phase == "Running"


def test_workers_of_other_launchers_go_with_it() -> None:
    cluster = running(elastic(2))
    cluster.terminate("pi-launcher")
    cluster.reconcile()
    assert cluster.listed() == []


def test_a_launcher_that_is_lost_with_its_node_writes_nothing() -> None:
    cluster = running(Cluster(an_mpijob(workers=2, command=TIDE)))
    cluster.terminate("pi-launcher")
    cluster.lose(cluster.pods["pi-launcher"].node)
    cluster.reconcile()
    assert cluster.listed() == []


@versions
def test_a_suspended_job_keeps_its_workers_until_its_checkpoint_is_written(version: str) -> None:
    cluster = running(Cluster(an_mpijob(version, workers=2, command=TIDE)))
    name = cluster.launcher().name
    cluster.policy(suspend=True)
    cluster.reconcile()
    cluster.job_controller()
    assert cluster.pods[name].terminating
    assert not [pod for pod in cluster.of("Worker") if pod.terminating]
    cluster.settle()
    assert not cluster.of("Worker")
