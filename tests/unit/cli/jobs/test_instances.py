# SPDX-License-Identifier: Apache-2.0
"""The instance and container of a job that a command is about."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.cli.errors import Failure
from springtide.cli.jobs import instances

JOB = {
    "kind": "TrainingJob",
    "metadata": {"name": "bert", "namespace": "team", "uid": "job"},
    "spec": {"etReplicaSpecs": {"launcher": {"replicas": 1}, "worker": {"replicas": 2}}},
}


def a_pod(role: str, index: int = 0, phase: str = "Running", **status: Any) -> dict[str, Any]:
    labels = {"training-job-name": "bert", "training-job-role": role, "replica-index": str(index)}
    return {
        "metadata": {"name": f"bert-{role}-{index}", "namespace": "team", "uid": f"{role}{index}", "labels": labels},
        "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
        "status": {"phase": phase, **status},
    }


LAUNCHER, ONE, TWO = a_pod("launcher"), a_pod("worker", 0), a_pod("worker", 1)


@pytest.mark.parametrize(
    ("pods", "wanted", "name"),
    [
        ([ONE], "", "bert-worker-0"),
        ([ONE, LAUNCHER, TWO], "", "bert-launcher-0"),
        ([ONE, LAUNCHER, TWO], "bert-worker-1", "bert-worker-1"),
    ],
)
def test_it_is_the_named_the_only_or_the_chief(pods: list[Any], wanted: str, name: str) -> None:
    assert instances.instance_of(JOB, pods, wanted)["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("pods", "wanted", "kind", "lines"),
    [
        ([], "", instances.NoInstances, ["error: Job bert has no pods."]),
        (
            [ONE, TWO],
            "",
            instances.SeveralInstances,
            [
                "error: Job bert has 2 pods, and none of them is its chief.",
                "hint: choose one with -i POD: bert-worker-0, bert-worker-1",
            ],
        ),
        (
            [ONE],
            "other",
            instances.NoSuchInstance,
            ["error: Job bert has no pod other.", "hint: its pods: bert-worker-0"],
        ),
    ],
)
def test_there_may_be_none(pods: list[Any], wanted: str, kind: type[Failure], lines: list[str]) -> None:
    with pytest.raises(kind) as raised:
        instances.instance_of(JOB, pods, wanted)
    assert raised.value.lines() == lines


INITIALISING: dict[str, Any] = {
    "conditions": [{"type": "Initialized", "status": "False"}],
    "initContainerStatuses": [{"name": "init-code", "state": {"running": {}}}],
}


def test_an_initialising_pod_shows_how_its_code_is_fetched() -> None:
    pod = a_pod("launcher", 0, "Pending", **INITIALISING)
    pod["spec"]["initContainers"] = [{"name": "init-code"}]
    assert instances.container_for_log(pod) == "init-code"


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Failed"])
def test_other_pods_show_their_container(phase: str) -> None:
    assert instances.container_for_log(a_pod("launcher", phase=phase)) == "main"


def test_a_pod_that_waits_has_no_log() -> None:
    with pytest.raises(instances.NotRunning, match="Pod bert-launcher-0 is not running: Pending"):
        instances.container_for_log(a_pod("launcher", phase="Pending"))


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_commands_need_a_running_pod(phase: str) -> None:
    with pytest.raises(instances.NotRunning):
        instances.container_for_command(a_pod("launcher", phase=phase), "")


def test_commands_run_in_the_container_that_trains_or_in_a_named_one() -> None:
    assert instances.container_for_command(LAUNCHER, "") == "main"
    assert instances.container_for_command(LAUNCHER, "side") == "side"
    with pytest.raises(Failure, match="has no container other"):
        instances.container_for_command(LAUNCHER, "other")
