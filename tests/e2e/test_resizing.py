# SPDX-License-Identifier: Apache-2.0
"""The host list of an elastic job follows its size, whoever dies meanwhile. Its launcher fails when it is ever given a
host that it cannot reach."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.e2e import environments
from tests.e2e.conftest import Start, a_namespace
from tests.e2e.jobs import Job, mpijob, submitted
from tests.integration.supervisor.conftest import kill
from tests.programs.clusters import OWN_USER
from tests.programs.world import Cluster, node_of

pytestmark = pytest.mark.timeout(300)

QUICK = {"springtide.dev/settle-seconds": "0", "springtide.dev/drain-seconds": "1"}
BOUNDS = ["-np", "2", "--min-np", "1", "--max-np", "5"]
COMMAND = ["/programs/horovodrun", *BOUNDS, "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python"]


@pytest.fixture(scope="module")
def prepared(clusters: Start) -> Cluster:
    cluster = clusters(OWN_USER)
    environments.make(cluster, environments.MPI[:1])
    return cluster


@pytest.fixture
def job(prepared: Cluster) -> Iterator[Job]:
    with a_namespace(prepared) as cluster:
        job = submitted(cluster, mpijob("ring", COMMAND, annotations=QUICK))
        until_hosts(job, 2)
        yield job
        cluster.kubectl("delete", "mpijob", job.name)
        cluster.until(lambda: not job.pods("Worker") and not job.pods("Launcher"), "no pods")


def lists(job: Job) -> list[list[str]]:
    """All host lists the launcher has seen."""
    said = job.cluster.kubectl.run("logs", f"{job.name}-launcher").stdout
    return [line.split()[1:] for line in said.splitlines() if line.startswith("hosts")]


def until_hosts(job: Job, size: int) -> None:
    def seen() -> bool:
        assert "Failed" not in job.conditions(), job.picture()
        found = lists(job)
        return bool(found) and len(found[-1]) == size

    job.cluster.until(seen, f"{size} hosts")


def check(job: Job) -> None:
    """Nobody who left came back, and the pods are those that are listed."""
    seen = lists(job)
    gone: set[str] = set()
    for before, after in pairwise(seen):
        gone |= {*before} - {*after}
        assert not gone & {*after}, seen
    job.cluster.until(lambda: sorted(job.pods("Worker")) == sorted(seen[-1]), "no pods but those listed")


def test_hosts_follow_the_size(job: Job) -> None:
    job.resize(4)
    until_hosts(job, 4)
    job.cluster.kubectl("scale", "mpijob", job.name, "--replicas=1")
    until_hosts(job, 1)
    editor = "sed -i -z 's/\\(Worker:\\n *replicas: \\)1/\\13/'"
    job.cluster.kubectl("edit", "mpijob", job.name, EDITOR=editor)
    until_hosts(job, 3)
    check(job)
    reasons = job.events()
    assert {"ScalingOut", "ScalingIn"} <= set(reasons)


def test_a_size_outside_the_bounds_is_not_run(job: Job) -> None:
    done = job.cluster.kubectl.run("scale", "mpijob", job.name, "--replicas=9")
    if done.returncode == 0:  # nobody refused it
        until_hosts(job, 5)
        assert "9" in json.dumps(job.status["conditions"])
    job.resize(2)
    until_hosts(job, 2)


def test_a_chosen_victim_goes_first(job: Job) -> None:
    job.cluster.kubectl("annotate", "pod", "ring-worker-0", "springtide.dev/victim=true")
    job.resize(1)
    until_hosts(job, 1)
    assert lists(job)[-1] == ["ring-worker-1"]
    check(job)


def test_workers_leave_a_node_that_is_wanted_back(prepared: Cluster) -> None:
    prepared.tide.ok("node", "add", "spot=cpu:8,memory:8Gi,spot,label:cheap=yes")
    cheap = {"matchExpressions": [{"key": "cheap", "operator": "Exists"}]}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": cheap}]}
    }
    manifest = mpijob("ring", COMMAND, annotations=QUICK)
    manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["affinity"] = affinity
    with a_namespace(prepared) as cluster:
        job = submitted(cluster, manifest)
        until_hosts(job, 2)
        before = lists(job)[-1]
        assert {node_of(pod) for pod in job.pods("Worker").values()} == {"spot"}
        prepared.tide.ok("node", "reclaim", "spot", "--notice", "20s")
        until_hosts(job, 2)
        cluster.until(lambda: not {*lists(job)[-1]} & {*before}, "other workers")
        assert min(len(hosts) for hosts in lists(job)) > 0
        check(job)


@pytest.mark.parametrize("seed", range(3))
def test_the_operator_may_be_killed_at_any_moment(job: Job, seed: int) -> None:
    chance = random.Random(seed)
    for size in (4, 1, 3):
        job.resize(size)
        for _ in range(2):
            time.sleep(chance.uniform(0.0, 1.0))
            if operator := job.cluster.place.operator_process():
                kill(operator)
        until_hosts(job, size)
    check(job)
    assert job.cluster.phase("ring-launcher") == "Running"
