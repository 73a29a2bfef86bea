# SPDX-License-Identifier: Apache-2.0
"""One pod through its whole life, with everything around the agent faked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.local.kubelet.builders import NOW, UID, a_container, a_pod, deleted
from tests.unit.local.kubelet.fakes import Stage

from springtide.kube import errors
from springtide.kube.resources import Key
from springtide.local.kubelet.containers.bodies import NotReady
from springtide.local.kubelet.pods.local_pods import Record
from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim_client import ShimError


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    yield made
    await made.sync.stop()


async def test_a_pod_comes_up(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    assert stage.shim.started == [("main", 0)]
    assert (stage.status()["phase"], stage.status()["podIP"]) == ("Running", "10.244.1.2")
    assert stage.reasons() == ["Pulled", "Created", "Started"]
    message = stage.recorder.events[0][2]
    assert "runs in the environment of tide, because none was created for it with tide env create" in message
    record = Record.read(stage.facts.pod_directory(UID))
    assert record == Record("node-a", "default", "p", UID, "10.244.1.2")


async def test_nothing_is_written_when_nothing_changes(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    count = len(stage.client.patches)
    await stage.settle()
    assert len(stage.client.patches) == count


async def test_a_pod_that_ends_gives_back_what_it_held(stage: Stage) -> None:
    stage.put(a_pod(restartPolicy="Never"))
    await stage.settle()
    stage.shim.exit("main", 0)
    await stage.settle()
    assert stage.status()["phase"] == "Succeeded"
    assert stage.shim.ended
    assert (stage.bodies.removed, stage.devices.released) == ([UID], [UID])
    assert stage.client.deletions == []
    assert stage.deps.addresses.take("another") == "10.244.1.3"


async def test_the_first_restart_is_immediate_and_the_second_waits(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    stage.shim.exit("main", 1)
    await stage.settle()
    assert stage.shim.started == [("main", 0), ("main", 1)]
    stage.shim.exit("main", 1)
    await stage.settle()
    waiting = stage.state()["waiting"]
    assert waiting["reason"] == "CrashLoopBackOff"
    assert waiting["message"] == f"back-off 10s restarting failed container=main pod=p_default({UID})"
    assert (UID, 10.0) in stage.woken
    await stage.settle()
    assert stage.reasons().count("BackOff") == 1
    stage.now += 10
    await stage.settle()
    assert stage.shim.started[-1] == ("main", 2)
    assert stage.status()["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1


async def test_a_deleted_pod_is_stopped_reported_deleted_and_forgotten(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    stage.change(**deleted(5))
    await stage.settle()
    assert stage.shim.stopped == [("main", 5.0, "SIGTERM")]
    stage.shim.exit("main", 143)
    await stage.settle()
    assert stage.client.patches[-1]["phase"] == "Failed"
    (options,) = stage.client.deletions
    assert (options.grace, options.uid) == (0, UID)
    await stage.settle()
    assert not stage.facts.pod_directory(UID).exists()
    assert stage.deps.pods.all() == []


async def test_a_pod_that_was_deleted_before_it_came_here_is_let_go(stage: Stage) -> None:
    stage.put(a_pod(metadata=deleted()))
    await stage.settle()
    assert len(stage.client.deletions) == 1
    assert stage.runtime.shims == []


async def test_a_pod_that_ended_elsewhere_or_long_ago_is_nothing_to_do(stage: Stage) -> None:
    stage.put(a_pod() | {"status": {"phase": "Failed"}})
    await stage.settle()
    assert stage.deps.pods.all() == []
    assert stage.client.patches == []


async def test_a_server_that_does_not_answer_stops_nothing(stage: Stage) -> None:
    stage.put(a_pod())
    stage.client.down = True
    with pytest.raises(errors.Unreachable):
        await stage.sync.reconcile(UID)
    assert stage.shim.started == [("main", 0)]
    stage.client.down = False
    await stage.settle()
    assert stage.status()["phase"] == "Running"
    assert stage.shim.started == [("main", 0)]


# What may go wrong


async def test_a_sandbox_that_cannot_be_made_is_told_and_tried_again(stage: Stage) -> None:
    stage.runtime.refusal = ShimError("SandboxError", "no namespaces")
    stage.put(a_pod())
    await stage.settle()
    message = "Failed to create pod sandbox: no namespaces"
    assert stage.recorder.events == [("Warning", "FailedCreatePodSandBox", message)]
    assert stage.state() == {"waiting": {"reason": "ContainerCreating"}}
    assert (UID, 0.5) in stage.woken
    stage.runtime.refusal = None
    stage.now += 0.5
    await stage.settle()
    assert stage.status()["phase"] == "Running"


async def test_volumes_that_cannot_be_had_are_told_by_the_pod(stage: Stage) -> None:
    stage.bodies.lack = NotReady("FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "c" not found')
    stage.put(a_pod())
    await stage.settle()
    assert stage.recorder.events == [("Warning", "FailedMount", stage.bodies.lack.message)]
    assert stage.state() == {"waiting": {"reason": "ContainerCreating"}}
    stage.bodies.lack = None
    stage.sync.nudge(UID)
    await stage.settle()
    assert stage.status()["phase"] == "Running"


async def test_a_container_that_cannot_be_made_says_so_itself(stage: Stage) -> None:
    stage.bodies.container_lack = NotReady("CreateContainerConfigError", 'secret "s" not found')
    stage.put(a_pod())
    await stage.settle()
    assert stage.recorder.events == [("Warning", "Failed", 'Error: secret "s" not found')]
    assert stage.state()["waiting"]["reason"] == "CreateContainerConfigError"


async def test_an_image_that_is_not_here_is_waited_for_as_if_it_could_not_be_pulled(stage: Stage) -> None:
    stage.bodies.container_lack = NotReady("ErrImagePull", "make it: tide env create --for busybox")
    stage.put(a_pod(restartPolicy="Never"))
    await stage.settle()
    assert stage.state()["waiting"] == {"reason": "ErrImagePull", "message": stage.bodies.container_lack.message}
    assert stage.status()["phase"] == "Pending"
    failed = 'Failed to pull image "busybox": make it: tide env create --for busybox'
    assert stage.recorder.events == [("Warning", "Failed", failed), ("Warning", "Failed", "Error: ErrImagePull")]
    for _ in range(3):
        stage.now += 5
        await stage.settle()
    assert stage.state()["waiting"]["reason"] == "ImagePullBackOff"
    assert stage.state()["waiting"]["message"].endswith(
        'pulling image "busybox": ErrImagePull: make it: tide env create --for busybox'
    )
    assert stage.recorder.events[2:] == [
        ("Normal", "BackOff", 'Back-off pulling image "busybox"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    ]
    stage.bodies.container_lack = None
    stage.now += 5
    await stage.settle()
    assert stage.status()["phase"] == "Running"


async def test_a_program_that_does_not_start_shows_both_the_error_and_the_attempt(stage: Stage) -> None:
    stage.runtime.broken = {"main": ShimError("StartError", "no such program")}
    stage.put(a_pod())
    await stage.sync.reconcile(UID)
    status = stage.status()["containerStatuses"][0]
    assert status["state"]["waiting"] == {"reason": "RunContainerError", "message": "no such program"}
    assert status["lastState"]["terminated"]["reason"] == "StartError"
    assert ("Warning", "Failed", "Error: no such program") in stage.recorder.events


async def test_what_has_no_effect_here_is_said_once(stage: Stage) -> None:
    stage.bodies.warnings = (("SecurityContextIgnored", "runAsUser is ignored"),)
    stage.put(a_pod())
    await stage.settle()
    await stage.settle()
    assert stage.reasons().count("SecurityContextIgnored") == 1


async def test_a_shim_that_dies_takes_its_containers_with_it(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    lost = ContainerState("main", 0, "exited", started=NOW, finished=NOW, exit_code=137, signal=9, reason="Error")
    stage.runtime.states = [lost]
    stage.shim.die()
    await stage.settle()
    await stage.settle()
    assert len(stage.runtime.shims) == 2
    assert stage.shim.started == [("main", 1)]
    status = stage.status()["containerStatuses"][0]
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 137)
    assert "SandboxChanged" in stage.reasons()
    record = Record.read(stage.facts.pod_directory(UID))
    assert record is not None
    assert record.earlier == {"main": 0}


# Closing


async def test_closing_ends_pods_and_leaves_their_objects_alone(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    count = len(stage.client.patches)
    pod = stage.deps.pods.all()[0]
    pod.closing = True
    await stage.settle()
    stage.shim.exit("main", 143)
    await stage.settle()
    assert (stage.shim.ended, pod.finished) == (True, True)
    assert (len(stage.client.patches), stage.client.deletions, stage.bodies.removed) == (count, [], [])
    assert pod.interrupted == {"main": 0}
    assert stage.facts.pod_directory(UID).exists()


# Two of a name


async def test_a_new_pod_of_the_same_name_comes_up_while_the_old_one_ends(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    old = stage.shim
    stage.informer.remove(Key("default", "p"))
    stage.put(a_pod(metadata={"uid": "second"}))
    await stage.settle("second")
    await stage.settle(UID)
    assert stage.shim.started == [("main", 0)]
    assert old.stopped == [("main", 30.0, "SIGTERM")]
    found = stage.deps.pods.find("default", "p")
    assert found is not None
    assert found.uid == "second"


async def test_volumes_are_refreshed_when_labels_change(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    stage.change(labels={"seen": "yes"})
    await stage.settle()
    assert (stage.bodies.refreshed, stage.bodies.fresh) == ([UID], True)


async def test_volumes_follow_watches_without_asking_again(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    stage.sync.nudge(UID)
    await stage.settle()
    assert (stage.bodies.refreshed, stage.bodies.fresh) == ([UID], False)


async def test_a_refresh_that_was_refused_is_as_fresh_when_tried_again(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    stage.bodies.lack = NotReady("FailedMount", "failed to sync cache")
    stage.change(annotations={"springtide.dev/hosts": "7"})
    await stage.sync.reconcile(UID)
    stage.bodies.lack, stage.bodies.fresh = None, False
    await stage.sync.reconcile(UID)
    assert (stage.bodies.refreshed, stage.bodies.fresh) == ([UID, UID], True)


async def test_a_container_gets_another_image(stage: Stage) -> None:
    stage.put(a_pod())
    await stage.settle()
    stage.put(a_pod(a_container(image="busybox:new")) | {"status": stage.status()})
    await stage.settle()
    assert stage.status()["containerStatuses"][0]["image"] == "busybox"
    stage.shim.exit("main", 143)
    await stage.settle()
    assert stage.shim.started[-1] == ("main", 1)
    assert stage.status()["containerStatuses"][0]["image"] == "busybox:new"


async def test_containers_start_in_order(stage: Stage) -> None:
    stage.put(a_pod(a_container("b"), a_container("a")))
    await stage.settle()
    assert stage.shim.started == [("b", 0), ("a", 0)]
