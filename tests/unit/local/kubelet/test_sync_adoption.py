# SPDX-License-Identifier: Apache-2.0
"""What an agent makes of the pods that it finds on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from tests.unit.local.kubelet.builders import UID, a_pod, ended, runs
from tests.unit.local.kubelet.fakes import FakeShim, Stage

from springtide.kube import errors
from springtide.kube.informer import Informer
from springtide.kube.resources import Obj
from springtide.local.kubelet.pods import adoption, interruptions
from springtide.local.kubelet.pods.local_pods import Record
from springtide.local.runtime.contract import ContainerState


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    yield made
    await made.sync.stop()


def on_disk(stage: Stage, node: str = "node-a", uid: str = UID, **fields: int) -> Path:
    directory = stage.facts.pod_directory(uid)
    (directory / "containers" / "main").mkdir(parents=True)
    Record(node, "default", "p", uid, "10.244.1.9", grace=4.0, earlier=dict(fields)).write(directory)
    return directory


def living(stage: Stage, directory: Path, *states: ContainerState) -> FakeShim:
    shim = FakeShim(directory)
    for state in states:
        shim.say(state)
    stage.runtime.living[directory] = shim
    stage.runtime.shims.append(shim)
    return shim


async def adopt(stage: Stage) -> None:
    for pod in await adoption.found(stage.deps, cast("Informer[Obj]", stage.informer)):
        stage.sync.adopt(pod)


async def test_a_running_pod_is_taken_over_as_it_is(stage: Stage) -> None:
    stage.put(a_pod())
    shim = living(stage, on_disk(stage), runs(attempt=2))
    await adopt(stage)
    await stage.settle()
    assert (shim.started, shim.stopped) == ([], [])
    assert stage.status()["podIP"] == "10.244.1.9"
    assert stage.status()["containerStatuses"][0]["restartCount"] == 2
    assert stage.deps.addresses.take("another") == "10.244.1.10"
    assert stage.bodies.refreshed == [UID]


async def test_its_next_change_is_heard_of(stage: Stage) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    shim = living(stage, on_disk(stage), runs())
    await adopt(stage)
    await stage.settle()
    shim.exit("main", 0)
    await stage.settle()
    assert stage.status()["phase"] == "Succeeded"


async def test_the_end_of_the_attempt_before_is_read_from_disk(stage: Stage) -> None:
    stage.put(a_pod())
    living(stage, on_disk(stage), ended(code=9), runs(attempt=1))
    await adopt(stage)
    await stage.settle()
    assert stage.status()["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 9


async def test_after_a_reboot_a_pod_starts_anew_in_its_place(stage: Stage) -> None:
    stage.put(a_pod())
    on_disk(stage)
    stage.runtime.states = [runs()]
    await adopt(stage)
    await stage.settle()
    assert stage.shim.started == [("main", 1)]
    assert stage.status()["podIP"] == "10.244.1.9"


async def test_after_a_reboot_a_pod_that_runs_once_has_failed(stage: Stage) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    on_disk(stage)
    stage.runtime.states = [runs()]
    await adopt(stage)
    await stage.settle()
    assert stage.runtime.shims == []
    assert_terminated(stage)


# Interrupted by the end of the node


def assert_terminated(stage: Stage) -> None:
    """As a kubelet reports pods that it ended for a shutdown of its node."""
    status = stage.status()
    message = "Pod was terminated in response to imminent node shutdown."
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Terminated", message)
    (target,) = (one for one in status["conditions"] if one["type"] == "DisruptionTarget")
    assert (target["status"], target["reason"], target["message"]) == ("True", "TerminationByKubelet", message)


def assert_its_own_end(stage: Stage, phase: str) -> None:
    status = stage.status()
    assert (status["phase"], status.get("reason")) == (phase, None)
    assert "DisruptionTarget" not in {one["type"] for one in status["conditions"]}


@pytest.mark.parametrize("code", [0, 1, 143])
async def test_what_a_shutdown_ended_has_failed_whatever_its_program_answered(stage: Stage, code: int) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    interruptions.mark(on_disk(stage), {"main": 0})
    stage.runtime.states = [ended(code=code)]
    await adopt(stage)
    await stage.settle()
    assert stage.runtime.shims == []
    assert_terminated(stage)


@pytest.mark.parametrize("policy", ["Always", "OnFailure"])
@pytest.mark.parametrize("code", [0, 143])
async def test_what_a_shutdown_ended_runs_again_where_its_policy_allows(stage: Stage, policy: str, code: int) -> None:
    stage.put(a_pod(restartPolicy=policy))
    interruptions.mark(on_disk(stage), {"main": 0})
    stage.runtime.states = [ended(code=code)]
    await adopt(stage)
    await stage.settle()
    assert stage.shim.started == [("main", 1)]
    assert_its_own_end(stage, "Running")
    stage.shim.exit("main", 0)
    await stage.settle()
    assert_its_own_end(stage, "Succeeded" if policy == "OnFailure" else "Running")


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
async def test_what_ended_by_itself_before_a_shutdown_is_reported_as_it_ended(
    stage: Stage, code: int, phase: str
) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    on_disk(stage)
    stage.runtime.states = [ended(code=code)]
    await adopt(stage)
    await stage.settle()
    assert_its_own_end(stage, phase)


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
async def test_a_failure_that_nobody_heard_of_before_a_reboot_is_the_node_s(
    stage: Stage, code: int, phase: str
) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    on_disk(stage)
    stage.runtime.states, stage.runtime.has_rebooted = [ended(code=code)], True
    await adopt(stage)
    await stage.settle()
    if code:
        assert_terminated(stage)
    else:
        assert_its_own_end(stage, phase)


async def test_a_failure_that_was_reported_before_a_reboot_stays_the_program_s(stage: Stage) -> None:
    reported = {
        "name": "main",
        "image": "x",
        "restartCount": 0,
        "state": {"terminated": {"exitCode": 3}},
        "lastState": {},
    }
    stage.put(a_pod(restartPolicy="Never") | {"status": {"phase": "Running", "containerStatuses": [reported]}})
    on_disk(stage)
    stage.runtime.states, stage.runtime.has_rebooted = [ended(code=3)], True
    await adopt(stage)
    await stage.settle()
    assert_its_own_end(stage, "Failed")


async def test_a_pod_that_fails_because_others_are_shut_down_before_it_has_not_failed_by_itself(stage: Stage) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    shim = living(stage, on_disk(stage), runs())
    await adopt(stage)
    await stage.settle()
    interruptions.mark(shim.directory, {"main": 0})  # by the supervisor, which has not come to this node yet
    shim.exit("main", 1)
    await stage.settle()
    assert_terminated(stage)


async def test_a_pod_that_was_marked_and_not_stopped_may_succeed(stage: Stage) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    directory = on_disk(stage)
    interruptions.mark(directory, {"main": 0})
    shim = living(stage, directory, runs())
    await adopt(stage)
    await stage.settle()
    shim.exit("main", 0)
    await stage.settle()
    assert_its_own_end(stage, "Succeeded")


async def test_an_orphan_gets_its_grace_and_is_removed(stage: Stage) -> None:
    directory = on_disk(stage)
    shim = living(stage, directory, runs())
    await adopt(stage)
    await stage.settle()
    assert shim.stopped == [("main", 4.0, "SIGTERM")]
    shim.exit("main", 0)
    await stage.settle()
    assert shim.ended
    assert not directory.exists()
    assert stage.client.patches == []


async def test_an_orphan_whose_object_cannot_be_read_runs_on(stage: Stage) -> None:
    """It is not listed, but the server does not say that it is gone."""
    shim = living(stage, on_disk(stage), runs())
    await adopt(stage)
    stage.client.damaged = True
    with pytest.raises(errors.ServerError):
        await stage.settle()
    assert shim.stopped == []


async def test_other_nodes_pods_are_none_of_our_business(stage: Stage) -> None:
    on_disk(stage, node="node-b")
    assert await adoption.found(stage.deps, cast("Informer[Obj]", stage.informer)) == []


async def test_a_directory_without_a_record_is_passed_over(stage: Stage) -> None:
    (stage.facts.data_dir / "pods" / "half-made").mkdir(parents=True)
    assert await adoption.found(stage.deps, cast("Informer[Obj]", stage.informer)) == []


async def test_half_a_record_of_a_shim_that_was_killed_is_cut_off(stage: Stage) -> None:
    stage.put(a_pod())
    on_disk(stage)
    stage.runtime.states = [ended(code=137)]
    log = stage.facts.log_directory("default", "p", UID) / "main" / "0.log"
    log.parent.mkdir(parents=True)
    log.write_text("2026-11-16T04:30:00Z stdout F 1\n2026-11-16T04:30:00Z std")
    await adopt(stage)
    assert log.read_text() == "2026-11-16T04:30:00Z stdout F 1\n"
