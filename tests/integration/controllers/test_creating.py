# SPDX-License-Identifier: Apache-2.0
"""What a job is made of, in which order it comes to be, and when its launcher may start."""

from __future__ import annotations

import asyncio
import base64
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.crash_jobs import named_jobs
from tests.integration.controllers.world import MPIJOBS, NAME, PATIENCE, V1, V2, World, job

from springtide.kube.request import Request, path_of
from springtide.kube.resources import (
    CONFIGMAPS,
    JOBS,
    PODS,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAUNCHER, CONFIG = f"{NAME}-launcher", f"{NAME}-config"
V1_OBJECTS = [(SERVICEACCOUNTS, LAUNCHER), (ROLES, LAUNCHER), (ROLEBINDINGS, LAUNCHER), (CONFIGMAPS, CONFIG)]
V2_OBJECTS = [(SERVICES, NAME), (SECRETS, f"{NAME}-ssh"), (CONFIGMAPS, CONFIG), (JOBS, LAUNCHER)]


@pytest.mark.parametrize(("version", "objects"), [(V1, V1_OBJECTS), (V2, V2_OBJECTS)])
async def test_everything_is_owned_by_the_job_in_the_version_it_came_by(
    operated: World, version: str, objects: list[tuple[Resource, str]]
) -> None:
    submitted = await operated.submit(job(version))
    await operated.until_workers(0, 1)
    await operated.launcher()
    owner = {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "name": NAME,
        "uid": submitted["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for resource, name in (*objects, (PODS, f"{NAME}-worker-0"), (PODS, f"{NAME}-worker-1")):
        metadata = (await operated.get(resource, name))["metadata"]
        assert metadata["ownerReferences"] == [owner], name
        assert metadata["labels"]["springtide.dev/job"] == NAME, name
        assert metadata["labels"]["springtide.dev/kind"] == "MPIJob", name
        assert resource is PODS or metadata["labels"]["app"] == NAME, name


async def test_of_v1_wiring_comes_first_then_the_list_then_pods_then_the_status(operated: World) -> None:
    await operated.submit(job(V1))
    await operated.until_condition("Created")
    *wiring, first, second, third, last = operated.wire.written()[:8]
    assert wiring == [
        f"POST serviceaccounts {LAUNCHER}",
        f"POST roles {LAUNCHER}",
        f"POST rolebindings {LAUNCHER}",
        f"POST configmaps {CONFIG}",
    ]
    assert {first, second, third} == {
        f"POST pods {name}" for name in (f"{NAME}-worker-0", f"{NAME}-worker-1", LAUNCHER)
    }
    assert last == f"PATCH mpijobs/status {NAME}"


async def test_of_v2beta1_too(operated: World) -> None:
    await operated.submit(job(V2))
    await operated.until_condition("Created")
    service, secret, config, first, second, launcher, status = operated.wire.written()[:7]
    assert [service, secret, config] == [
        f"POST services {NAME}",
        f"POST secrets {NAME}-ssh",
        f"POST configmaps {CONFIG}",
    ]
    assert {first, second} == {f"POST pods {NAME}-worker-0", f"POST pods {NAME}-worker-1"}
    assert [launcher, status] == [f"POST jobs {LAUNCHER}", f"PATCH mpijobs/status {NAME}"]


async def test_pods_have_the_labels_that_clients_look_for(operated: World) -> None:
    await operated.submit(job(V1))
    await operated.until_workers(0, 1)
    worker = (await operated.get(PODS, f"{NAME}-worker-1"))["metadata"]["labels"]
    launcher = (await operated.pods("Launcher"))[LAUNCHER]["metadata"]["labels"]
    both = {
        "group-name": "kubeflow.org",
        "mpi-job-name": NAME,
        "mpi_job_name": NAME,
        "training.kubeflow.org/job-name": NAME,
    }
    assert both.items() <= worker.items()
    assert both.items() <= launcher.items()
    assert (worker["mpi-job-role"], worker["replica-index"], launcher["mpi-job-role"]) == ("worker", "1", "launcher")


async def test_a_v1_launcher_may_reach_its_workers_and_speak_of_itself(operated: World) -> None:
    await operated.submit(job(V1))
    await operated.until_workers(0, 1)
    role = await operated.until(lambda: operated.get(ROLES, LAUNCHER), lambda found: len(found["rules"]) == 3)
    rules = role["rules"]
    exec_rule = next(rule for rule in rules if rule["resources"] == ["pods/exec"])
    assert exec_rule["resourceNames"] == [f"{NAME}-worker-0", f"{NAME}-worker-1"]
    assert set(exec_rule["verbs"]) == {"get", "create"}
    assert {"verbs": ["patch"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [LAUNCHER]} in rules
    bound = await operated.get(ROLEBINDINGS, LAUNCHER)
    assert bound["roleRef"]["name"] == LAUNCHER
    assert [subject["name"] for subject in bound["subjects"]] == [LAUNCHER]


async def test_over_ssh_there_are_keys_and_names(operated: World) -> None:
    await operated.running(job(V2))
    secret = await operated.get(SECRETS, f"{NAME}-ssh")
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert base64.b64decode(secret["data"]["ssh-privatekey"]).startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert base64.b64decode(secret["data"]["ssh-publickey"]).startswith(b"ecdsa-sha2-nistp521 ")
    service = (await operated.get(SERVICES, NAME))["spec"]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    hosts = (await operated.file("hostfile")).splitlines()
    assert hosts == [f"{NAME}-worker-{index}.{NAME}.{operated.namespace}.svc slots=1" for index in (0, 1)]


@pytest.mark.parametrize("version", [V1, V2])
async def test_a_launcher_is_given_hosts_only_when_all_are_ready(operated: World, version: str) -> None:
    await operated.submit(job(version, workers=3))
    await operated.until_workers(0, 1, 2)
    launcher = await operated.launcher()
    for index in (0, 1):
        await operated.kubelet.run(f"{NAME}-worker-{index}")
    await operated.kubelet.run(f"{NAME}-worker-2", ready=False)
    await operated.until(operated.status, lambda status: status.get("workers") == "2/3")
    await operated.quiet()
    assert await operated.listed() == []
    assert "exit 1" in await operated.file("discover_hosts.sh")
    await operated.kubelet.run(f"{NAME}-worker-2")
    await operated.until_listed(0, 1, 2)
    assert (await operated.get(PODS, launcher))["metadata"]["uid"] in await operated.file("hosts_given.sh")


@pytest.mark.parametrize("version", [V1, V2])
async def test_events_come_in_order_once_each_and_in_upstreams_name(operated: World, version: str) -> None:
    launcher = await operated.running(job(version))
    await operated.quiet()
    await _finish(operated, launcher, version)
    await operated.until_event("MPIJobSucceeded")
    await operated.quiet()
    events = await operated.events()
    assert [event["reason"] for event in events] == ["MPIJobCreated", "MPIJobRunning", "MPIJobSucceeded"]
    submitted = await operated.job(version)
    for event in events:
        assert event["source"]["component"] == event["reportingComponent"] == "mpi-job-controller"
        assert event["count"] == 1
        about = event["involvedObject"]
        assert (about["apiVersion"], about["kind"]) == (f"kubeflow.org/{version}", "MPIJob")
        assert (about["namespace"], about["name"]) == (operated.namespace, NAME)
        assert about["uid"] == submitted["metadata"]["uid"]
    title = f"MPIJob {operated.namespace}/{NAME}"
    assert [event["message"] for event in events] == [
        f"{title} is created.",
        f"{title} is running.",
        f"{title} successfully completed.",
    ]


@pytest.mark.parametrize("version", [V1, V2])
async def test_the_status_of_a_job_from_beginning_to_end(operated: World, version: str) -> None:
    await operated.submit(job(version))
    status = await operated.until_state("Queued")
    assert (status["workers"], status["replicas"]) == ("0/2", 2)
    await operated.workers_run(2)
    await operated.until(operated.status, lambda found: found["replicaStatuses"].get("Worker") == {"active": 2})
    launcher = await operated.launcher_runs()
    status = await operated.until_state("Running")
    assert status["workers"] == "2/2"
    assert status["replicaStatuses"] == {"Launcher": {"active": 1}, "Worker": {"active": 2}}
    await _finish(operated, launcher, version)
    status = await operated.until_state("Succeeded")
    assert status["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Created": "True",
        "Running": "False",
        "Succeeded": "True",
    }
    assert status["startTime"] <= status["completionTime"]
    assert all(_whole_seconds(value) for value in _times(status)), status


async def test_kubectl_prints_state_and_size(operated: World) -> None:
    await operated.running(job(V1, elasticPolicy={"minReplicas": 1, "maxReplicas": 4}))
    await operated.until_state("Running")
    header, row = await _table(operated)
    assert header == ["Name", "State", "Workers", "Min", "Max", "Age", "Step", "Loss", "Ranks"]
    assert row[:5] == [NAME, "Running", "2/2", 1, 4]


async def _finish(world: World, launcher: str, version: str) -> None:
    await world.kubelet.succeed(launcher)
    if version == V2:
        await world.kubelet.complete(LAUNCHER)


def _times(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [found for name, found in value.items() if name.endswith("Time")]
        return own + [found for each in value.values() for found in _times(each)]
    return [found for each in value for found in _times(each)] if isinstance(value, list) else []


def _whole_seconds(moment: str) -> bool:
    return len(moment) == len("2026-11-16T08:00:00Z") and moment.endswith("Z")


async def _table(world: World) -> tuple[list[str], list[Any]]:
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    answer = await world.client.raw(Request("GET", path_of(MPIJOBS[V1], world.namespace, NAME), headers=accept))
    table = msgspec.json.decode(answer.body)
    return [column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"]


async def test_services_and_the_ledger_are_written_at_once_and_pods_after_them(operated: World) -> None:
    """A write that waits for the others shows that they are under way."""
    under_way: list[str] = []
    together = asyncio.Event()

    async def wait(request: Request) -> None:
        if request.path.endswith(("/services", "/configmaps")):
            under_way.append(request.path.rpartition("/")[2])
            if len(under_way) == size + 2:
                together.set()
            await asyncio.wait_for(together.wait(), PATIENCE)

    operated.wire.before = wait
    wanted = named_jobs.rigid(random.Random(0), Path("/shared"))
    size = wanted.size
    await operated.submit_wanted(wanted)
    await operated.until(lambda: operated.all_of(PODS), lambda pods: len(pods) == size + 1)
    first = [write.kind for write in operated.wire.writes[: 2 * size + 3]]
    assert sorted(first[: size + 2]) == ["configmaps", *["services"] * (size + 1)]
    assert set(first[size + 2 :]) == {"pods"}


async def test_a_service_whose_name_is_taken_holds_all_pods_back(world: World) -> None:
    wanted = named_jobs.rigid(random.Random(0), Path("/shared"))
    taken = world.key(f"{wanted.name}-worker-0")
    await world.client.create(SERVICES, {**SERVICES.describe(taken), "spec": {"ports": [{"port": 80}]}})
    await world.start()
    await world.submit_wanted(wanted)

    async def told() -> str:
        status = (await world.get(wanted.resource, wanted.name)).get("status") or {}
        return str(status.get("explanation", ""))

    await world.until(told, lambda found: f'"{taken.name}" of Kind "Service" already exists' in found)
    await world.quiet()
    assert await world.all_of(PODS) == {}
    await world.delete(SERVICES, taken.name)
    await world.client.patch(wanted.resource, world.key(wanted.name), {"metadata": {"annotations": {"touched": "yes"}}})
    await world.until(lambda: world.all_of(PODS), lambda pods: len(pods) == wanted.size + 1)
