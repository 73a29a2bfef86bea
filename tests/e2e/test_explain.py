# SPDX-License-Identifier: Apache-2.0
"""`tide explain` on a cluster with real scheduler, quotas, taints, volumes, images and nodes: each cause is injected
and explained in both languages, with its evidence and the next command."""

from __future__ import annotations

import json
import os
import re
import signal
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.e2e.jobs import Job, mpijob, submitted
from tests.integration.supervisor.conftest import agents
from tests.programs import clusters as embedded
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(300)

SLEEP = ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]
HAN = re.compile("[\u4e00-\u9fff]")
NODES = ("--node", "one=cpu:4,memory:8Gi", "--node", "two=cpu:4,memory:8Gi,example.com/npu:2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One of its own: its nodes are tainted, cordoned and stopped."""
    with embedded.public_folder() as public, embedded.running(public, *NODES) as running:
        yield running


@pytest.fixture
def space(cluster: Cluster) -> Iterator[Cluster]:
    name = f"why-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield replace(cluster, kubectl=replace(cluster.kubectl, namespace=name))
    cluster.kubectl("delete", "namespace", name, "--wait=false")


def asked(space: Cluster, job: str, *options: str) -> Obj:
    words = [*options, "explain", job, "-n", space.kubectl.namespace, "-o", "json"]
    found = space.tide.run(*words)
    assert found.returncode == 0, found
    document: Obj = json.loads(found.stdout)
    return document


def explained(job: Job, cause: str) -> Obj:
    """The explanation, when it is that of this cause."""
    seen: list[Obj] = []

    def is_it() -> bool:
        seen.append(asked(job.cluster, job.name))
        return bool(seen[-1]["cause"] == cause)

    job.cluster.until(is_it, f"explained by {cause}")
    chinese = asked(job.cluster, job.name, "--lang", "zh")
    assert chinese["cause"] == cause
    assert HAN.search(chinese["message"])
    assert chinese["next"] == seen[-1]["next"]
    print(json.dumps(seen[-1], indent=1), chinese["message"])
    return seen[-1]


def said(found: Obj) -> str:
    """All evidence."""
    return "\n".join(f"{fact['object']} {fact['field']}: {fact['said']}" for fact in found["evidence"])


def role(replicas: int = 1, **container: Any) -> Obj:
    pod, more = container.pop("pod", {}), container.pop("role", {})
    template = {"spec": {"containers": [{"name": "mpi", "image": "any", **container}], **pod}}
    return {"replicas": replicas, "template": template, **more}


def asks(resource: str, amount: object) -> Obj:
    return {"resources": {"limits": {resource: amount}}}


def test_no_such_gpu(space: Cluster) -> None:
    job = submitted(space, mpijob("gpu", SLEEP, image="any", Worker=role(2, **asks("nvidia.com/gpu", 8))))
    found = explained(job, "NoSuchResource")
    assert found["message"] == (
        "Job gpu is queued: no node of the cluster offers nvidia.com/gpu; gpu-worker-0 and 1 more pod request 8 each."
    )
    assert "pod/gpu-worker-0 status.conditions[PodScheduled]: Unschedulable: 0/2 nodes are available" in said(found)
    assert found["next"] == "tide node add gpu-1=nvidia.com/gpu:8"


def test_more_than_the_largest_node_has(space: Cluster) -> None:
    job = submitted(space, mpijob("large", SLEEP, image="any", Worker=role(1, **asks("example.com/npu", 3))))
    found = explained(job, "TooLarge")
    assert "large-worker-0 requests 3 example.com/npu, and the largest node, two, has 2 in all" in found["message"]


def test_what_others_use(space: Cluster) -> None:
    first = submitted(space, mpijob("first", SLEEP, image="any", Worker=role(1, **asks("example.com/npu", 2))))
    first.until("Running")
    job = submitted(space, mpijob("second", SLEEP, image="any", Worker=role(1, **asks("example.com/npu", 1))))
    found = explained(job, "InUse")
    assert "no node has 1 example.com/npu free, which second-worker-0 requests" in found["message"]
    assert "pod/first-worker-0 spec.nodeName: holds 2 example.com/npu on node two" in said(found)
    assert found["next"] == "tide top node"


def test_a_taint(space: Cluster) -> None:
    space.kubectl("taint", "node", "two", "team=vision:NoSchedule")
    try:
        job = submitted(space, mpijob("taint", SLEEP, image="any", Worker=role(1, **asks("example.com/npu", 1))))
        found = explained(job, "Taint")
        assert (
            "node two has the taint team=vision:NoSchedule, which taint-worker-0 does not tolerate" in found["message"]
        )
        assert "node/two spec.taints: team=vision:NoSchedule" in said(found)
        assert found["next"] == "kubectl taint node two team:NoSchedule-"
    finally:
        space.kubectl("taint", "node", "two", "team:NoSchedule-")


def test_a_cordoned_node(space: Cluster) -> None:
    space.kubectl("cordon", "two")
    try:
        job = submitted(space, mpijob("cordon", SLEEP, image="any", Worker=role(1, **asks("example.com/npu", 1))))
        assert explained(job, "Cordoned")["next"] == "kubectl uncordon two"
    finally:
        space.kubectl("uncordon", "two")


def test_labels_that_no_node_has(space: Cluster) -> None:
    worker = role(1, pod={"nodeSelector": {"disk": "nvme"}})
    found = explained(submitted(space, mpijob("labels", SLEEP, image="any", Worker=worker)), "NodeSelector")
    assert "no node has the labels disk=nvme that labels-worker-0 asks for" in found["message"]


def test_a_quota(space: Cluster) -> None:
    space.kubectl("create", "quota", "small", "--hard=pods=2")
    space.until(lambda: space.get("quota", "small").get("status", {}).get("hard"), "the quota counts")
    found = explained(submitted(space, mpijob("many", SLEEP, image="any", workers=3)), "Quota")
    assert f"quota small of namespace {space.kubectl.namespace} allows pods=2; pods=2 is in use" in found["message"]
    assert found["next"] == f"kubectl describe quota small -n {space.kubectl.namespace}"


def test_a_gang(space: Cluster) -> None:
    """Each of its pods would fit alone."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "all"},
        "spec": {"minMember": 3},
    }
    space.kubectl("create", "-f", "-", stdin=json.dumps(group))
    worker = role(3, **asks("example.com/npu", 1))
    worker["template"]["metadata"] = {"labels": {"scheduling.x-k8s.io/pod-group": "all"}}
    found = explained(submitted(space, mpijob("gang", SLEEP, image="any", Worker=worker)), "Gang")
    assert (
        "its pods start as a gang of 3, and the nodes have no room for 3 of them at the same time" in found["message"]
    )
    assert found["next"] == f"kubectl describe podgroup all -n {space.kubectl.namespace}"


def with_claim(name: str, claim: str) -> Obj:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    worker = role(1, volumeMounts=[{"name": "data", "mountPath": "/data"}], pod={"volumes": [volume]})
    return mpijob(name, SLEEP, image="any", Worker=worker)


def test_a_claim_that_is_not_bound(space: Cluster) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    space.kubectl("create", "-f", "-", stdin=json.dumps(claim))
    found = explained(submitted(space, with_claim("volume", "data")), "UnboundClaim")
    assert "volume claim data of volume-worker-0 is not bound: storage class fast does not exist" in found["message"]
    assert "pvc/data status.phase: Pending" in said(found)
    assert found["next"] == f"kubectl describe pvc data -n {space.kubectl.namespace}"


def test_a_claim_that_does_not_exist(space: Cluster) -> None:
    found = explained(submitted(space, with_claim("claim", "nothing")), "NoSuchClaim")
    assert "volume claim nothing of claim-worker-0 does not exist" in found["message"]


def test_an_image_without_environment(space: Cluster) -> None:
    image = f"example.com/{space.kubectl.namespace}/train:1.0"
    found = explained(submitted(space, mpijob("image", ["train-it"], image=image, workers=1)), "NoEnvironment")
    assert f"no environment of this cluster fits image {image} of image-launcher" in found["message"]
    assert found["next"].startswith("tide env create train --pip PACKAGE --image")


@pytest.mark.parametrize(
    ("name", "script", "how"),
    [
        ("code", "echo no such key >&2; exit 3", "exited with code 3"),
        ("signal", "echo no such key >&2; kill -9 $$$$", "was ended by signal SIGKILL, exit code 137"),
    ],
)
def test_a_crash_loop(space: Cluster, name: str, script: str, how: str) -> None:
    worker = role(1, command=["sh", "-c", script], role={"restartPolicy": "OnFailure"})
    found = explained(submitted(space, mpijob(name, SLEEP, image="any", Worker=worker)), "CrashLoop")
    assert f"container mpi of {name}-worker-0 keeps crashing: it {how}" in found["message"]
    assert f"pod/{name}-worker-0 log: no such key" in said(found)
    assert found["next"] == f"kubectl logs {name}-worker-0 -c mpi --previous -n {space.kubectl.namespace}"


def test_a_suspended_job(space: Cluster) -> None:
    job = submitted(space, mpijob("suspended", SLEEP, image="any", runPolicy={"suspend": True}))
    found = explained(job, "Suspended")
    assert said(found) == "mpijob/suspended spec.runPolicy.suspend: true"
    assert found["next"] == f"tide resume suspended -n {space.kubectl.namespace}"


def test_a_size_below_the_bounds_of_the_command_line(space: Cluster) -> None:
    """The webhook refuses other sizes that are out of bounds."""
    discovery = ["--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
    command = ["horovodrun", "-np", "3", "--min-np", "3", "--max-np", "4", *discovery, "python", "train.py"]
    slots: dict[str, Any] = {"slotsPerWorker": 1, "elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}}
    job = submitted(space, mpijob("few", command, image="any", Worker=role(2, command=SLEEP), **slots))
    found = explained(job, "TooFewWorkers")
    assert "2 workers are requested, but the launcher cannot start with fewer than 3" in found["message"]
    assert found["next"] == f"tide scale few --workers 3 -n {space.kubectl.namespace}"


def test_a_job_that_failed_and_one_that_succeeded(space: Cluster) -> None:
    failing = mpijob("fails", ["sh", "-c", "echo no data >&2; exit 5"], image="any", runPolicy={"backoffLimit": 0})
    job = submitted(space, failing)
    job.until("Failed")
    found = explained(job, "Failed")
    assert found["message"] == "Job fails has failed: container mpi of fails-launcher exited with code 5."
    assert "pod/fails-launcher log: no data" in said(found)
    job = submitted(space, mpijob("good", ["true"], image="any"))
    job.until("Succeeded")
    assert explained(job, "Succeeded")["message"].startswith("Job good has succeeded at ")


def test_a_job_that_runs_and_one_that_nobody_manages_here(space: Cluster) -> None:
    job = submitted(space, mpijob("runs", SLEEP, image="any", workers=1))
    job.until("Running")
    assert explained(job, "Running")["message"] == "Job runs is running: The job runs with 1 worker."
    other = mpijob("other", SLEEP, image="any", runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert "kueue.x-k8s.io/multikueue" in explained(submitted(space, other), "ManagedElsewhere")["message"]


def test_the_cluster_is_examined(space: Cluster) -> None:
    found = space.tide.run("doctor", "--cluster", "-n", space.kubectl.namespace)
    assert found.returncode == 0, found
    assert "✓ all 6 CRDs are installed" in found.stdout
    assert "✓ an operator runs (pod/mpi-operator/" in found.stdout
    assert f"✓ you may do all that tide does in namespace {space.kubectl.namespace}" in found.stdout
    assert "✓ all 2 nodes are ready" in found.stdout
    assert "! no node offers nvidia.com/gpu" in found.stdout
    chinese = space.tide.run("--lang", "zh", "doctor", "--cluster")
    assert all(HAN.search(line) for line in chinese.stdout.splitlines()), chinese.stdout


def test_a_node_that_does_not_respond(space: Cluster) -> None:
    job = submitted(space, mpijob("lost", SLEEP, image="any", Worker=role(1, **asks("example.com/npu", 1))))
    job.until("Running")
    agent = agents(space.place)["two"]
    os.kill(agent, signal.SIGSTOP)
    try:
        found = explained(job, "NodeLost")
        assert "node two" in found["message"]
        assert "lost-worker-0" in found["message"]
        assert found["next"] == "tide node list"
    finally:
        os.kill(agent, signal.SIGKILL)  # and it is started again
    ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
    space.until(lambda: space.kubectl("get", "node", "two", "-o", ready) == "True", "the node is back")
