# SPDX-License-Identifier: Apache-2.0
"""A node is drained under a job that trains: with notice its workers are replaced before they go, else at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.jobs import Job, mpijob, submitted
from tests.programs.world import Cluster, node_of

pytestmark = pytest.mark.timeout(300)

PROGRAM = (Path(__file__).parents[1] / "integration" / "elastic" / "averages.py").read_text()
OPTIONS = ["-np", "2", "--min-np", "1", "--max-np", "4", "--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
HOST = "kubernetes.io/hostname"
GOING = "two"
"""Workers prefer it; the launcher is on the other one."""


@pytest.fixture
def job(space: Cluster) -> Iterator[Job]:
    expression = {"key": HOST, "operator": "In", "values": [GOING]}
    preferred = [{"weight": 100, "preference": {"matchExpressions": [expression]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    command = ["tiderun", *OPTIONS, "python", "-c", PROGRAM, "100000"]
    worker = {"containers": [{"name": "mpi", "image": "any"}], "affinity": affinity}
    launcher = {"containers": [{"name": "mpi", "image": "any", "command": command}], "nodeSelector": {HOST: "one"}}
    manifest = mpijob("drained", [], Worker={"template": {"spec": worker}}, Launcher={"template": {"spec": launcher}})
    job = submitted(space, manifest)
    space.until(lambda: "TrainingStarted" in job.events(), "ranks train")
    assert nodes(job) == {GOING}
    yield job
    space.tide.ok("node", "uncordon", GOING)
    space.kubectl("delete", "mpijob", job.name)


def nodes(job: Job) -> set[str]:
    return {node_of(pod) for pod in job.pods("Worker").values() if "deletionTimestamp" not in pod["metadata"]}


def until_moved(job: Job) -> None:
    def moved() -> bool:
        assert not {"Failed", "Succeeded"} & set(job.conditions()), job.picture()
        return nodes(job) == {"one"} and job.status["workers"] == "2/2" and job.status["state"] == "Running"

    job.cluster.until(moved, "two workers train elsewhere")


def test_tide_node_drain_gives_notice_and_no_rank_dies(space: Cluster, job: Job) -> None:
    space.tide.ok("node", "cordon", GOING)
    said = space.tide.ok("node", "drain", GOING, "--timeout", "120s")
    names = sorted(f"{space.kubectl.namespace}/drained-worker-{index}" for index in (0, 1))
    for name in names:
        assert f"{name} is replaced by its job before it is deleted" in said
        assert f"{name} is evicted" not in said
        assert f"{name} is gone" in said
    until_moved(job)
    assert {"NodeLeaving", "WorkersMoved", "RankJoined", "RankLeft"} <= set(job.events())
    assert "RankLost" not in job.events()
    assert not job.status.get("restarts")


def test_kubectl_drain_evicts_at_once_and_evicted_workers_have_moved(space: Cluster, job: Job) -> None:
    ours = f"--pod-selector=springtide.dev/job={job.name}"
    space.kubectl("drain", GOING, ours, "--delete-emptydir-data", "--timeout=80s")
    until_moved(job)
    assert any(
        said.endswith(f"was evicted from node {GOING}; a replacement is created")
        for said in job.messages("WorkersMoved")
    )
    assert not job.status.get("restarts")
