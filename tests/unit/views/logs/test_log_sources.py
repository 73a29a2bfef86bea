# SPDX-License-Identifier: Apache-2.0
"""Which logs a job has: pods, containers, attempts, ranks, and those of removed pods."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.views.logs import log_sources
from springtide.views.logs.log_sources import LogSource, Wanted

PREFIX = "training.kubeflow.org"


def a_job(kind: str = "PyTorchJob", *roles: str, name: str = "bert") -> dict[str, Any]:
    fields = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}
    specs = {role: {"replicas": 1} for role in roles or ("Master", "Worker")}
    return {"kind": kind, "metadata": {"name": name, "namespace": "team", "uid": "job"}, "spec": {fields[kind]: specs}}


def labels(role: str, index: int) -> dict[str, str]:
    return {f"{PREFIX}/job-name": "bert", f"{PREFIX}/replica-type": role, f"{PREFIX}/replica-index": str(index)}


OWNER = [{"kind": "PyTorchJob", "name": "bert", "uid": "job", "controller": True}]


def a_pod(role: str, index: int, state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    name = f"bert-{role}-{index}"
    reported = {"name": "main", "restartCount": status.pop("restarts", 0), "state": state or {"running": {}}}
    reported |= {"lastState": status.pop("last", {})}
    metadata = {"name": name, "namespace": "team", "uid": f"u-{role}-{index}", "labels": labels(role, index)}
    return {
        "metadata": metadata | {"ownerReferences": OWNER},
        "spec": {"initContainers": [{"name": "init"}], "containers": [{"name": "main"}, {"name": "side"}]},
        "status": {"phase": "Running", "containerStatuses": [reported], **status},
    }


def an_item(role: str, index: int, *names: str, **fields: Any) -> dict[str, Any]:
    name, uid = f"bert-{role}-{index}", fields.pop("uid", f"old-{role}-{index}")
    owner = {"kind": "PyTorchJob", "name": "bert", "uid": fields.pop("owner", "job"), "controller": True}
    owner["kind"] = fields.pop("owner_kind", owner["kind"])
    metadata = {"name": f"{name}.{uid}", "namespace": "team", "labels": labels(role, index), "ownerReferences": [owner]}
    metadata |= {"creationTimestamp": fields.pop("created", "2026-01-01T00:00:00Z")}
    containers = [{"name": each, "restartCount": 0, "attempts": [0]} for each in names or ("main",)]
    about = {"pod": name, "uid": uid, "job": "bert", "removed": "2026-01-02T00:00:00Z", "defaultContainer": "main"}
    return {"metadata": metadata, **about, "containers": containers, **fields}


def pods_of(sources: list[LogSource]) -> list[str]:
    return [source.label for source in sources]


def test_every_pod_has_the_log_of_the_container_that_trains() -> None:
    pods = [a_pod("worker", 10), a_pod("worker", 2), a_pod("master", 0)]
    found = log_sources.of_pods(a_job(), pods, Wanted())
    assert [(each.label, each.container) for each in found] == [
        ("master-0", "main"), ("worker-2", "main"), ("worker-10", "main"),
    ]  # fmt: skip
    assert found[0] == LogSource("bert-master-0", "u-master-0", "main", 0, "master-0", running=True)


def test_an_annotation_names_another_container() -> None:
    pod = a_pod("master", 0)
    pod["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "side"}
    assert log_sources.default_container(pod) == "side"
    pod["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "none"}
    assert log_sources.default_container(pod) == "main"


@pytest.mark.parametrize(
    ("kind", "roles", "rank", "label"),
    [
        ("PyTorchJob", ("Master", "Worker"), 0, "master-0"),
        ("PyTorchJob", ("Master", "Worker"), 2, "worker-1"),
        ("PyTorchJob", ("Worker",), 1, "worker-1"),
        ("TFJob", ("Chief", "PS", "Worker"), 1, "worker-0"),
        ("MPIJob", ("Launcher", "Worker"), 5, "launcher-0"),
    ],
)
def test_a_rank_is_a_pod_or_lines_of_the_launcher(kind: str, roles: tuple[str, ...], rank: int, label: str) -> None:
    job = a_job(kind, *roles)
    pods = [a_pod(role.lower(), index) for role in roles for index in range(3 if role == "Worker" else 1)]
    assert label in pods_of(log_sources.of_pods(job, pods, Wanted(rank=rank)))
    assert len(log_sources.of_pods(job, pods, Wanted(rank=rank))) == 1
    assert log_sources.rank_marks_lines(job) == (kind == "MPIJob")


def test_one_pod_or_one_container_may_be_chosen() -> None:
    pods = [a_pod("master", 0), a_pod("worker", 0)]
    assert pods_of(log_sources.of_pods(a_job(), pods, Wanted("bert-worker-0"))) == ["worker-0"]
    found = log_sources.of_pods(a_job(), pods, Wanted(container="side"))
    assert [(each.container, each.started) for each in found] == [("side", False), ("side", False)]
    assert not log_sources.of_pods(a_job(), pods, Wanted(container="other"))
    assert log_sources.containers(pods) == ["init", "main", "side"]


CRASHED = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("state", "status", "attempt", "started", "running"),
    [
        ({"running": {}}, {}, 0, True, True),
        ({"running": {}}, {"restarts": 3}, 3, True, True),
        (CRASHED, {"restarts": 3}, 3, True, False),
        (
            {"waiting": {"reason": "CrashLoopBackOff"}},
            {"restarts": 3, "last": {"terminated": {"exitCode": 1}}},
            3,
            True,
            False,
        ),
        ({"waiting": {"reason": "ImagePullBackOff"}}, {}, 0, False, False),
    ],
)
def test_a_log_is_that_of_an_attempt(
    state: dict[str, Any], status: dict[str, Any], attempt: int, started: bool, running: bool
) -> None:
    [found] = log_sources.of_pods(a_job(), [a_pod("master", 0, state, **status)], Wanted())
    assert (found.attempt, found.started, found.running) == (attempt, started, running)
    assert found.waits_for == ("" if started else "ImagePullBackOff")


def test_an_initialising_pod_has_the_log_of_its_init_container() -> None:
    waiting = [{"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}}]
    pod = a_pod("worker", 0)
    pod["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "Initialized", "status": "False"}],
        "initContainerStatuses": [{"name": "init", "state": {"running": {}}}],
        "containerStatuses": waiting,
    }
    [found] = log_sources.of_pods(a_job(), [pod], Wanted())
    assert (found.container, found.started) == ("init", True)
    pod["status"] |= {
        "phase": "Failed",
        "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 1}}}],
    }
    assert log_sources.of_pods(a_job(), [pod], Wanted())[0].container == "init"


def test_a_pod_without_a_node_says_why() -> None:
    pod = a_pod("worker", 0)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod["status"] = {"phase": "Pending", "conditions": [condition]}
    [found] = log_sources.of_pods(a_job(), [pod], Wanted())
    assert (found.started, found.waits_for) == (False, "Unschedulable")


# Removed pods


def test_removed_pods_of_the_job_are_shown_beside_those_that_exist() -> None:
    items = [an_item("worker", 1), an_item("worker", 0), an_item("worker", 2, owner="another")]
    found = log_sources.of_removed(a_job(), items, {"old-worker-1"}, Wanted())
    assert [(each.label, each.kept) for each in found] == [("worker-0", "bert-worker-0.old-worker-0")]


@pytest.mark.parametrize(
    ("names", "asked", "container"),
    [
        (("init", "main"), "", "main"),
        (("init", "main"), "init", "init"),
        (("init",), "", "init"),
        (("main",), "x", None),
    ],
)
def test_the_container_of_a_removed_pod(names: tuple[str, ...], asked: str, container: str | None) -> None:
    found = log_sources.of_removed(a_job(), [an_item("worker", 0, *names)], (), Wanted(container=asked))
    assert [each.container for each in found] == ([] if container is None else [container])


def test_a_deleted_job_is_the_newest_that_had_the_name() -> None:
    items = [
        an_item("master", 0, owner="first", uid="a", created="2026-01-01T00:00:00Z"),
        an_item("master", 0, owner="second", uid="b", created="2026-01-03T00:00:00Z"),
        an_item("worker", 0, owner="second", uid="c", created="2026-01-03T00:00:01Z"),
        an_item("launcher", 0, owner="batch", owner_kind="Job", uid="d", created="2026-01-03T00:00:02Z"),
        an_item("launcher", 0, owner="batch", owner_kind="Job", uid="e", created="2026-01-01T00:00:02Z"),
        an_item("worker", 0, owner="second", uid="f", job="other"),
    ]
    uid, found = log_sources.job_of_removed("bert", items)
    assert uid == "second"
    assert [item["uid"] for item in found] == ["b", "c", "d"]
    assert log_sources.job_of_removed("none", items) == ("", [])


def test_ranks_of_a_deleted_job() -> None:
    items = [an_item("master", 0), an_item("worker", 0), an_item("worker", 1)]
    assert pods_of(log_sources.of_deleted_job("bert", items, Wanted(rank=2))) == ["worker-1"]
    assert pods_of(log_sources.of_deleted_job("bert", items, Wanted("bert-worker-0"))) == ["worker-0"]
    launched = [an_item("launcher", 0), *items]
    assert pods_of(log_sources.of_deleted_job("bert", launched, Wanted(rank=2))) == ["launcher-0"]
    assert log_sources.has_launcher(launched)
    assert not log_sources.has_launcher(items)
