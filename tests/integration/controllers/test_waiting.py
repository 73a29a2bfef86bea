# SPDX-License-Identifier: Apache-2.0
"""What a job waits for stands on the job, in one event and in its explanation, whoever said it and where."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.integration.controllers.kubelet import NODE
from tests.integration.controllers.world import ELASTIC, MPIJOBS, V1, V2, World, job

from springtide.kube.resources import EVENTS, JOBS, PODS, RESOURCEQUOTAS, Key, Obj

pytestmark = pytest.mark.asyncio(loop_scope="session")
LONG_AGO = "2026-01-02T03:04:05Z"
GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def unscheduled(message: str) -> Obj:
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


def container(reason: str, message: str = "", **more: Any) -> Obj:
    return {
        "name": "main",
        "image": "pi:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": reason, "message": message}},
        **more,
    }


async def warn(world: World, about: Obj, reason: str, message: str) -> None:
    metadata = about["metadata"]
    reference = {"kind": about["kind"], "apiVersion": about["apiVersion"], "namespace": world.namespace}
    reference |= {"name": metadata["name"], "uid": metadata["uid"]}
    event = EVENTS.describe(world.key(f"{metadata['name']}.{uuid.uuid4().hex[:8]}"))
    event |= {"involvedObject": reference, "type": "Warning", "reason": reason, "message": message, "count": 1}
    event |= {"firstTimestamp": LONG_AGO, "lastTimestamp": LONG_AGO, "source": {"component": "kubelet"}}
    await world.client.create(EVENTS, event)


async def explained(world: World, text: str) -> str:
    found = await world.until(world.status, lambda status: text in status.get("explanation", ""))
    return str(found["explanation"])


async def test_the_schedulers_reason(operated: World) -> None:
    await operated.submit(job(command=ELASTIC))
    await operated.until_workers(0, 1)
    for name in ("pi-worker-0", "pi-worker-1"):
        await operated.kubelet.report(name, conditions=[unscheduled(GPU)])
    text = await explained(operated, "2 of 2 workers cannot be scheduled")
    assert text == (
        f"2 of 2 workers cannot be scheduled: {GPU.rstrip('.')}; "
        f"see kubectl describe pod pi-worker-0 -n {operated.namespace}"
    )
    event = await operated.until_event("Unschedulable")
    assert event["type"] == "Warning"
    assert event["message"].endswith(text.partition(" cannot be scheduled")[2])  # when it was one worker, or both
    condition = await operated.until_condition("Waiting")
    assert (condition["reason"], condition["message"]) == ("Unschedulable", text)
    assert (await operated.status())["state"] == "Queued"


async def test_other_numbers_and_a_restart_of_the_operator_are_no_news(operated: World) -> None:
    await operated.submit(job(command=ELASTIC))
    await operated.until_workers(0, 1)
    await operated.kubelet.report("pi-worker-0", conditions=[unscheduled(GPU)])
    await operated.until_event("Unschedulable")
    await operated.restart()
    for count in range(4, 9):
        await operated.kubelet.report("pi-worker-0", conditions=[unscheduled(GPU.replace("3", str(count)))])
    await operated.kubelet.report("pi-worker-1", conditions=[unscheduled(GPU)])
    await explained(operated, "2 of 2 workers cannot be scheduled")
    await operated.quiet()
    assert (await operated.told())["Unschedulable"] == 1


async def test_it_is_over_when_the_pods_run(operated: World) -> None:
    await operated.submit(job(command=ELASTIC))
    await operated.until_workers(0, 1)
    await operated.kubelet.report("pi-worker-1", conditions=[unscheduled(GPU)])
    await operated.until_condition("Waiting")
    await operated.workers_run(2)
    await operated.until_condition("Waiting", "False")


@pytest.mark.parametrize(
    ("reason", "message", "told", "event"),
    [
        ("ErrImagePull", 'image "pi:1" not found', 'cannot pull an image: image "pi:1" not found', "ImagePullBackOff"),
        ("InvalidImageName", "bad", "cannot start: InvalidImageName: bad", "InvalidImageName"),
        (
            "CreateContainerConfigError",
            'configmap "data" not found',
            'cannot start: CreateContainerConfigError: configmap "data" not found',
            "CreateContainerConfigError",
        ),
    ],
)
async def test_the_kubelets_reason(operated: World, reason: str, message: str, told: str, event: str) -> None:
    await operated.submit(job(command=ELASTIC))
    await operated.until_workers(0, 1)
    for name in ("pi-worker-0", "pi-worker-1"):
        await operated.kubelet.place(name)
    await operated.kubelet.report("pi-worker-1", startTime=LONG_AGO, containerStatuses=[container(reason, message)])
    await explained(operated, f"pi-worker-1 {told}; see kubectl describe pod pi-worker-1 -n {operated.namespace}")
    assert (await operated.until_event(event))["type"] == "Warning"


async def test_a_volume_that_cannot_be_mounted_is_said_in_events_alone(operated: World) -> None:
    await operated.submit(job(command=ELASTIC))
    await operated.until_workers(0, 1)
    pod = await operated.get(PODS, "pi-worker-0")
    message = 'MountVolume.SetUp failed for volume "data" : configmap "data" not found'
    await warn(operated, pod, "FailedMount", message)
    await operated.kubelet.place("pi-worker-0")
    await operated.kubelet.place("pi-worker-1")
    statuses = [container("ContainerCreating")]
    await operated.kubelet.report("pi-worker-0", startTime=LONG_AGO, containerStatuses=statuses)
    await explained(operated, f"pi-worker-0 cannot start: FailedMount: {message}; see kubectl describe pod")
    assert (await operated.until_event("FailedMount"))["type"] == "Warning"
    await operated.quiet()
    asked = [each for each in operated.wire.reads if each.startswith("GET ") and each.endswith("/events")]
    assert len(asked) == 1


async def test_a_launchers_job_whose_pod_is_refused_says_it_in_events_alone(operated: World) -> None:
    await operated.submit(job(V2, command=ELASTIC))
    await operated.until_workers(0, 1)
    batch = await operated.until(lambda: operated.find(JOBS, "pi-launcher"), bool)
    assert batch is not None
    message = 'Error creating: pods "pi-launcher-x" is forbidden: exceeded quota: small, requested: pods=1'
    await warn(operated, batch, "FailedCreate", message)
    status = {"status": {"startTime": LONG_AGO}}
    await operated.client.patch(JOBS, Key.of(batch), status, subresource="status")
    await explained(operated, f"The launcher's pod cannot be created: {message}; see kubectl describe quota")
    assert (await operated.until_event("QuotaExceeded"))["type"] == "Warning"


async def test_a_crash_loop_has_the_last_lines(operated: World) -> None:
    await operated.submit(job(command=ELASTIC))
    await operated.workers_run(2)
    ended = {"exitCode": 3, "reason": "Error", "message": "no such key", "startedAt": LONG_AGO, "finishedAt": LONG_AGO}
    crashed = container("CrashLoopBackOff", "back-off 10s", lastState={"terminated": ended}, restartCount=2)
    await operated.kubelet.report("pi-worker-0", containerStatuses=[crashed])
    await explained(
        operated,
        "Container main of pi-worker-0 keeps crashing: it exited with code 3: no such key; see kubectl logs "
        f"pi-worker-0 -c main --previous -n {operated.namespace}",
    )
    assert (await operated.until_event("CrashLoopBackOff"))["type"] == "Warning"


async def test_a_quota_is_told_once_however_often_it_is_tried(operated: World) -> None:
    quota = RESOURCEQUOTAS.describe(operated.key("small")) | {"spec": {"hard": {"pods": "2"}}}
    await operated.client.create(RESOURCEQUOTAS, quota)
    hard = {"hard": {"pods": "2"}, "used": {"pods": "0"}}
    await operated.client.patch(RESOURCEQUOTAS, operated.key("small"), {"status": hard}, subresource="status")
    await operated.submit(job(command=ELASTIC, workers=4))
    text = await explained(operated, "cannot be created")
    assert "exceeded quota: small" in text
    assert text.endswith(f"; see kubectl describe quota -n {operated.namespace}")
    assert (await operated.until_event("QuotaExceeded"))["type"] == "Warning"
    assert (await operated.until_condition("Waiting"))["reason"] == "QuotaExceeded"
    for turn in range(3):  # each change is a reconcile, in which it is tried again
        await operated.patch({"metadata": {"labels": {"turn": str(turn)}}})
        await operated.quiet()
    assert (await operated.told())["QuotaExceeded"] == 1


async def test_a_finished_job_has_no_workers(operated: World) -> None:
    launcher = await operated.running(job(command=ELASTIC, runPolicy={"cleanPodPolicy": "None"}))
    assert (await operated.status())["workers"] == "2/2"
    await operated.kubelet.succeed(launcher)
    await operated.until_condition("Succeeded")
    found = await operated.get(MPIJOBS[V1], "pi")
    assert found["status"]["workers"] == "0/2"
    assert NODE in {pod["spec"].get("nodeName") for pod in (await operated.pods("Worker")).values()}
