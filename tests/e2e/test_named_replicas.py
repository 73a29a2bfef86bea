# SPDX-License-Identifier: Apache-2.0
"""TFJobs and PyTorchJobs whose programs need no framework: restarts of a whole job, autoscaling, dynamic workers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.e2e.jobs import Job, submitted
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(300)
FOR_EVER = "trap 'exit 0' TERM; while :; do sleep 0.2; done"
BUSY = "trap 'exit 0' TERM; while :; do :; done"


def pytorchjob(name: str, roles: dict[str, tuple[int, str]], annotations: Any = None, **spec: Any) -> Obj:
    return named_replicas("PyTorchJob", "pytorchReplicaSpecs", "pytorch", name, roles, annotations, spec)


def tfjob(name: str, roles: dict[str, tuple[int, str]], annotations: Any = None, **spec: Any) -> Obj:
    return named_replicas("TFJob", "tfReplicaSpecs", "tensorflow", name, roles, annotations, spec)


def named_replicas(
    kind: str, field: str, container: str, name: str, roles: dict[str, tuple[int, str]], annotations: Any, spec: Obj
) -> Obj:
    """Roles with the number of their replicas and the shell script that each runs."""
    resources = spec.pop("resources", {})

    def template(script: str) -> Obj:
        main = {"name": container, "image": "busybox", "command": ["sh", "-c", script], "resources": resources}
        return {"spec": {"containers": [main], "terminationGracePeriodSeconds": 2}}

    specs = {
        role: {"replicas": count, "restartPolicy": "OnFailure", "template": template(script)}
        for role, (count, script) in roles.items()
    }
    metadata = {"name": name, "annotations": annotations or {}}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {field: specs, **spec}}


def uids(job: Job) -> dict[str, str]:
    """Of all pods of a job that are not on their way out."""
    pods = job.cluster.pods(f"springtide.dev/job={job.name}")
    alive = {name: pod["metadata"] for name, pod in pods.items() if "deletionTimestamp" not in pod["metadata"]}
    return {name: str(metadata["uid"]) for name, metadata in alive.items()}


def test_a_whole_job_is_restarted_when_one_replica_dies(space: Cluster) -> None:
    whole = {"springtide.dev/restart": "whole-job"}
    job = submitted(space, pytorchjob("whole", {"Master": (1, FOR_EVER), "Worker": (2, FOR_EVER)}, whole))
    job.until("Running")
    space.until(lambda: len(job.workers()) == 2, "two workers")
    before = uids(job)
    space.kubectl("delete", "pod", "whole-worker-1", "--wait=false")

    def anew() -> bool:
        now = uids(job)
        return now.keys() == before.keys() and not set(now.values()) & set(before.values())

    space.until(anew, "all three replicas are others")
    space.until(lambda: "JobRestarted" in job.events(), "an event says so")
    assert "whole-worker-1 was deleted; all replicas are restarted together" in job.messages("JobRestarted")[0]
    job.until("Running")


def test_an_elastic_pytorchjob_follows_its_autoscaler(space: Cluster) -> None:
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 20}},
    }
    policy = {"minReplicas": 1, "maxReplicas": 2, "metrics": [metric]}
    small = {"requests": {"cpu": "50m"}}
    submitted(space, pytorchjob("busy", {"Worker": (1, BUSY)}, elasticPolicy=policy, resources=small))
    job = Job(space, "busy", 150.0, "pytorchjob")
    space.until(lambda: len(job.workers()) == 2, "the load of one worker asks for a second", job.patience)
    scaler = space.get("hpa", "busy")
    assert scaler["spec"]["scaleTargetRef"] == {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "busy"}
    assert job.object()["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    job.patch(runPolicy={"suspend": True})
    space.until(lambda: not space.get("hpa")["items"], "a suspended job has no autoscaler")


def test_a_dynamic_worker_joins_and_leaves_while_the_others_run_on(space: Cluster) -> None:
    roles = {"PS": (1, FOR_EVER), "Worker": (1, f'echo "$TF_CONFIG"; {FOR_EVER}')}
    job = submitted(space, tfjob("dynamic", roles, enableDynamicWorker=True))
    job.until("Running")
    before = uids(job)
    space.kubectl("scale", "tfjob", "dynamic", "--replicas=2")
    space.until(lambda: len(job.workers()) == 2, "two workers")
    assert before.items() <= uids(job).items()
    config = json.loads(space.logs("dynamic-worker-1"))
    assert config["task"] == {"type": "worker", "index": 1}
    assert list(config["cluster"]["worker"]) == ["1"]
    assert len(config["cluster"]["ps"]) == 1
    space.kubectl("scale", "tfjob", "dynamic", "--replicas=1")
    space.until(lambda: uids(job) == before, "the first worker and the PS alone")
    assert not {"Failed", "Restarting"} & set(job.conditions())


def test_a_finished_worker_that_is_deleted_is_not_run_again(space: Cluster) -> None:
    roles = {"Master": (1, FOR_EVER), "Worker": (1, "echo done")}
    job = submitted(space, pytorchjob("once", roles))
    space.until(lambda: space.phase("once-worker-0") == "Succeeded", "the worker has succeeded")
    space.until(lambda: "1 of 2 replicas has succeeded" in str(job.status.get("explanation")), "the job knows")
    space.kubectl("delete", "pod", "once-worker-0")
    space.kubectl("annotate", "pytorchjob", "once", "look=again")
    space.kubectl("delete", "pod", "once-master-0")
    space.until(lambda: space.phase("once-master-0") == "Running", "the master runs again")
    assert space.phase("once-worker-0") == "gone"
