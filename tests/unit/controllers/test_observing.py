# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.controllers.cached import NAME, OWNER, UID, a_job, caches, fill, made, pod_view

from springtide.controllers import observing
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Exit, Key, Observed, Pod, Settings
from springtide.kube.resources import CONFIGMAPS, JOBS, NODES, PODS, PRIORITYCLASSES, ROLES, Obj

WHEN, MOMENT = "2026-11-16T08:00:00Z", datetime(2026, 11, 16, 8, tzinfo=UTC)
WORKER = {"springtide.dev/role": "Worker", "springtide.dev/index": "1"}


def a_pod(name: str = "pi-worker-1", labels: Obj | None = None, **body: Any) -> Obj:
    """Of two containers, of which the first does the work."""
    spec = {"nodeName": "a", "containers": [{"name": "main"}, {"name": "sidecar"}], **body.pop("spec", {})}
    return made(PODS, name, labels=WORKER if labels is None else labels, spec=spec, **body)


def ended(name: str, code: int, reason: str = "Error", message: str = "") -> Obj:
    state = {"exitCode": code, "reason": reason, "message": message, "startedAt": WHEN}
    return {"name": name, "state": {"terminated": state}}


def seen(**status: Any) -> Pod:
    return observing.pod(pod_view(a_pod(status=status)))


def observed(version: str = "v1", **filled: tuple[Obj, ...]) -> Observed:
    """With `pods` and `batch_jobs`."""
    found = caches()
    fill(found.pods, *filled.get("pods", ()))
    fill(found.batch_jobs, *filled.get("batch_jobs", ()))
    return observing.observed(a_job(version), MPI_KIND, found, Settings())


def test_a_pod_is_known_by_our_labels() -> None:
    pod = seen(phase="Running", conditions=[{"type": "Ready", "status": "True"}])
    assert (pod.name, pod.uid, pod.role, pod.index) == ("pi-worker-1", "uid-pi-worker-1", "Worker", 1)
    assert (pod.phase, pod.ready, pod.node, pod.alive) == ("Running", True, "a", True)


@pytest.mark.parametrize("labels", [{}, {"springtide.dev/role": "Worker", "springtide.dev/index": "one"}])
def test_a_pod_without_a_number_has_none(labels: Obj) -> None:
    assert observing.pod(pod_view(a_pod(labels=labels))).index is None


def test_a_pod_of_which_nothing_was_said_is_pending() -> None:
    pod = seen()
    assert (pod.phase, pod.ready, pod.exit, pod.started) == ("Pending", False, None, None)


def test_it_has_started_when_its_first_container_has() -> None:
    running = {"name": "sidecar", "state": {"running": {"startedAt": WHEN}}}
    assert seen(containerStatuses=[running]).started is None
    assert seen(containerStatuses=[running, {**running, "name": "main"}]).started == MOMENT


def test_its_end_is_that_of_its_first_container() -> None:
    statuses = [ended("sidecar", 3), ended("main", 137, "OOMKilled", "last lines")]
    pod = seen(phase="Failed", containerStatuses=statuses)
    assert pod.exit == Exit(137, "OOMKilled", "last lines")
    assert pod.started == MOMENT


def test_or_of_a_sidecar_when_the_first_went_well() -> None:
    pod = seen(phase="Failed", containerStatuses=[ended("main", 0, "Completed"), ended("sidecar", 3)])
    assert pod.exit == Exit(3, "Error", "")


def test_or_of_an_init_container_that_failed() -> None:
    pod = seen(phase="Failed", initContainerStatuses=[ended("fetch", 0, "Completed"), ended("wait", 2)])
    assert pod.exit == Exit(2, "Error", "")


def test_success_is_an_end_too() -> None:
    assert seen(phase="Succeeded", containerStatuses=[ended("main", 0, "Completed")]).exit == Exit(0, "Completed", "")


def test_restarts_in_place_are_those_of_all_containers_and_the_last_end_is_the_first_ones() -> None:
    before = {name: {"terminated": {"exitCode": code, "reason": "Error"}} for name, code in (("main", 1), ("fetch", 2))}
    main = {"name": "main", "restartCount": 2, "state": {"running": {"startedAt": WHEN}}, "lastState": before["main"]}
    fetch = {"name": "fetch", "restartCount": 1, "lastState": before["fetch"]}
    pod = seen(phase="Running", containerStatuses=[main], initContainerStatuses=[fetch])
    assert (pod.restarts, pod.last_exit, pod.exit) == (3, Exit(1, "Error", ""), None)
    assert seen(phase="Running", initContainerStatuses=[fetch]).last_exit == Exit(2, "Error", "")
    assert seen(phase="Running").restarts == 0


def test_restarts_of_init_containers_that_are_sidecars_do_not_count() -> None:
    crashed = {"terminated": {"exitCode": 2, "reason": "Error"}}
    statuses = [{"name": name, "restartCount": 4, "lastState": crashed} for name in ("proxy", "fetch")]
    init = [{"name": "proxy", "restartPolicy": "Always"}, {"name": "fetch"}]
    spec, status = {"initContainers": init}, {"phase": "Running", "initContainerStatuses": statuses[:1]}
    pod = observing.pod(pod_view(a_pod(spec=spec, status=status)))
    assert (pod.restarts, pod.last_exit) == (0, None)
    status["initContainerStatuses"] = statuses
    assert observing.pod(pod_view(a_pod(spec=spec, status=status))).restarts == 4


def test_an_evicted_pod_says_why() -> None:
    pod = seen(phase="Failed", reason="Evicted", message="low on memory")
    assert (pod.reason, pod.message, pod.exit) == ("Evicted", "low on memory", None)


@pytest.mark.parametrize(("phase", "disrupted"), [("Failed", True), ("Running", False)])
def test_a_pod_that_was_taken_down_is_known_by_its_condition(phase: str, disrupted: bool) -> None:
    told = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "node no longer exists",
    }
    pod = seen(phase=phase, conditions=[told])
    assert (pod.disrupted, pod.message) == (disrupted, "node no longer exists" if disrupted else "")


def test_a_pod_that_is_being_deleted_is_not_alive() -> None:
    pod = observing.pod(pod_view(a_pod(metadata={"deletionTimestamp": WHEN}, status={"phase": "Running"})))
    assert (pod.terminating, pod.alive) == (True, False)


def test_pods_on_a_silent_node_are_lost() -> None:
    found = caches()
    fill(found.pods, a_pod(status={"phase": "Running"}))
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    fill(found.nodes, made(NODES, "a", owner=None, spec={"taints": [taint]}))
    (pod,) = observing.observed(a_job(), MPI_KIND, found, Settings()).pods
    assert pod.reason == "NodeLost"


LAUNCHER = {"springtide.dev/role": "Launcher"}
OF_BATCH_JOB = {"kind": "Job", "name": "pi-launcher", "uid": "uid-pi-launcher", "controller": True}


def test_pods_of_the_launchers_job_are_the_jobs() -> None:
    launcher = made(PODS, "pi-launcher-x", owner=OF_BATCH_JOB, labels=LAUNCHER)
    view = observed("v2beta1", batch_jobs=(made(JOBS, "pi-launcher"),), pods=(launcher,))
    assert [pod.name for pod in view.pods] == ["pi-launcher-x"]


def test_pods_of_somebody_elses_job_are_not() -> None:
    theirs = made(JOBS, "pi-launcher", owner=None)
    launcher = made(PODS, "pi-launcher-x", owner=OF_BATCH_JOB, labels=LAUNCHER)
    view = observed("v2beta1", batch_jobs=(theirs,), pods=(launcher,))
    assert (view.pods, view.launcher_job) == ((), None)


def test_a_launchers_job_is_known_by_its_name() -> None:
    """One with the labels of it may be anybody's."""
    labelled = made(JOBS, "forged", status={"conditions": [{"type": "Complete", "status": "True"}]})
    assert observed("v2beta1", batch_jobs=(labelled,)).launcher_job is None
    found = observed("v2beta1", batch_jobs=(labelled, made(JOBS, "pi-launcher"))).launcher_job
    assert found is not None
    assert (found.uid, found.succeeded) == ("uid-pi-launcher", False)


@pytest.mark.parametrize("owner", [None, {**OWNER, "uid": "other"}, {**OWNER, "controller": False}])
def test_pods_that_are_not_the_jobs_are_not_seen(owner: Obj | None) -> None:
    view = observed(pods=(a_pod(), made(PODS, "pi-worker-2", owner=owner, labels={**WORKER, INDEX: "2"})))
    assert [pod.name for pod in view.pods] == ["pi-worker-1"]


INDEX, ROLE = "springtide.dev/index", "springtide.dev/role"
FORGED = {
    "a name of another index": ("pi-worker-2", {INDEX: "1"}),
    "a name of its own": ("redis-0", {INDEX: "1"}),
    "no index": ("pi-worker-1", {INDEX: ""}),
    "a word for an index": ("pi-worker-1", {INDEX: "one"}),
    "a negative index": ("pi-worker--1", {INDEX: "-1"}),
    "an index with leading zeros": ("pi-worker-1", {INDEX: "01"}),
    "an index in other digits": ("pi-worker-1", {INDEX: "١"}),
    "an index that is no digit to int": ("pi-worker-1", {INDEX: "²"}),
    "an index of 5,000 digits": ("pi-worker-1", {INDEX: "1" * 5000}),
    "an unknown role": ("pi-worker-1", {ROLE: "Boss"}),
    "no role": ("pi-worker-1", {ROLE: ""}),
    "the launcher's role": ("pi-worker-1", {ROLE: "Launcher"}),
}


@pytest.mark.parametrize("sentence", FORGED)
def test_a_pod_whose_labels_are_forged_is_nobodys(sentence: str) -> None:
    """Although it names the job as its owner, which whoever may create pods may write."""
    name, labels = FORGED[sentence]
    assert observed(pods=(a_pod(name, {**WORKER, **labels}),)).pods == ()


def test_of_two_pods_with_one_index_the_one_with_its_name_counts() -> None:
    view = observed(pods=(a_pod(), a_pod("aaa"), a_pod("zzz")))
    assert [pod.name for pod in view.pods] == ["pi-worker-1"]


@pytest.mark.parametrize(("name", "batch"), [("pi-launcher", "v1"), ("pi-launcher-x", "v2beta1")])
def test_a_launcher_is_controlled_by_what_made_it(name: str, batch: str) -> None:
    """In v2beta1 that is the batch Job, and nobody else."""
    view = observed(batch, batch_jobs=(made(JOBS, "pi-launcher"),), pods=(made(PODS, name, labels=LAUNCHER),))
    assert [pod.name for pod in view.pods] == (["pi-launcher"] if batch == "v1" else [])


def test_pods_of_other_jobs_are_not_seen() -> None:
    other = a_pod(labels={"springtide.dev/job": "other"})
    elsewhere = a_pod(metadata={"namespace": "elsewhere"})
    another_kind = a_pod(labels={"springtide.dev/kind": "TFJob"})
    for each in (other, elsewhere, another_kind):
        view = observed(pods=(each,))
        assert view.pods == ()


def test_held_objects_come_with_what_decides_about_them() -> None:
    found = caches()
    fill(
        found.held[CONFIGMAPS],
        made(CONFIGMAPS, "pi-config", data={"hostfile": ""}, metadata={"annotations": {"x": "y"}}),
    )
    fill(found.held[ROLES], made(ROLES, "pi-launcher", owner=None, rules=[]))
    objects = observing.observed(a_job(), MPI_KIND, found, Settings()).objects
    config = objects[Key("v1", "ConfigMap", "pi-config")]
    assert (config.uid, config.resource_version) == ("uid-pi-config", "7")
    assert (config.body["data"], config.annotations) == ({"hostfile": ""}, {"x": "y"})
    assert list(objects) == [Key("v1", "ConfigMap", "pi-config")], "the Role is somebody else's"


@pytest.mark.parametrize(
    ("status", "succeeded", "failed"),
    [
        ({}, False, False),
        ({"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}, False, False),
        ({"conditions": [{"type": "Complete", "status": "True"}], "completionTime": WHEN}, True, False),
        ({"conditions": [{"type": "FailureTarget", "status": "True"}]}, False, False),
        ({"conditions": [{"type": "Failed", "status": "True", "reason": "R", "message": "M"}]}, False, True),
        ({"conditions": [{"type": "Failed", "status": "False"}]}, False, False),
    ],
)
def test_a_launcher_job_ends_by_its_final_conditions(status: Obj, succeeded: bool, failed: bool) -> None:
    batch = observed("v2beta1", batch_jobs=(made(JOBS, "pi-launcher", status=status),)).launcher_job
    assert batch is not None
    assert (batch.succeeded, batch.failed) == (succeeded, failed)
    assert (batch.reason, batch.message) == (("R", "M") if failed else ("", ""))
    assert batch.completed == (MOMENT if succeeded else None)


def test_nodes_that_leave_and_priorities_are_part_of_the_view() -> None:
    found = caches(gang_scheduler="volcano")
    fill(found.nodes, made(NODES, "a", owner=None, spec={"unschedulable": True}), made(NODES, "b", owner=None))
    fill(found.nodes, made(NODES, "c", owner=None, spec={"taints": [{"key": "team", "effect": "NoExecute"}]}))
    view = observing.observed(a_job(), MPI_KIND, found, Settings())
    assert view.cordoned_nodes == {"a"}
    assert view.leaving_nodes == {"c"}
    tolerant = a_job()
    template = {"spec": {"tolerations": [{"key": "team", "operator": "Exists"}]}}
    workers = replace(tolerant.roles["Worker"], template=template)
    tolerant = replace(tolerant, roles={**tolerant.roles, "Worker": workers})
    assert observing.observed(tolerant, MPI_KIND, found, Settings()).leaving_nodes == frozenset()
    assert PRIORITYCLASSES not in found.held


@pytest.mark.parametrize(
    ("owner", "left"),
    [
        (OWNER, False),
        ({**OWNER, "uid": "before"}, True),
        ({**OWNER, "uid": "before", "name": "other"}, False),
        ({**OWNER, "uid": "before", "kind": "Job"}, False),
        (None, False),
    ],
)
def test_what_an_earlier_job_of_the_name_left_is_recognised(owner: Obj | None, left: bool) -> None:
    found = caches()
    fill(found.held[CONFIGMAPS], made(CONFIGMAPS, "pi-config", owner=owner))
    assert observing.predecessors(a_job(), found) == ({"ConfigMap pi-config": None} if left else {})


def test_the_jobs_own_launcher_pods_are_no_predecessors() -> None:
    found = caches()
    fill(found.pods, made(PODS, "p", owner={"kind": "Job", "name": NAME, "uid": f"not {UID}", "controller": True}))
    assert not observing.predecessors(a_job(), found)
