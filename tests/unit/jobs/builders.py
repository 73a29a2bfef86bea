# SPDX-License-Identifier: Apache-2.0
"""Clusters in well-known places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.unit.api.builders import a_pytorchjob, a_tfjob, a_trainingjob, an_mpijob
from tests.unit.jobs import toy
from tests.unit.jobs.simulated import Cluster
from tests.unit.jobs.toy import MASTER

from springtide.api.defaults import pytorchjob, tfjob, trainingjob
from springtide.api.defaults.trainingjob import ET
from springtide.api.job import Job, Retries
from springtide.api.kinds.replicas import WORKER
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.api.kinds.trainingjob import TrainingJobStatus
from springtide.jobs.kind import Of
from springtide.jobs.kinds.elastic_training.adapter import ELASTIC_TRAINING_KIND
from springtide.jobs.kinds.pytorch.adapter import PYTORCH_KIND
from springtide.jobs.kinds.tensorflow.adapter import TF_KIND

ELASTIC = (
    *("horovodrun", "-np", "2", "--min-np", "1", "--max-np", "4"),
    *("--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py"),
)


def elastic(workers: int = 2, version: str = "v1", annotations: dict[str, str] | None = None, **spec: Any) -> Cluster:
    """Submitted, nothing done yet."""
    raw = an_mpijob(version, workers=workers, command=ELASTIC, **spec)
    raw["metadata"]["annotations"] = annotations or {}
    return Cluster(raw)


def a_toy(
    workers: int = 2,
    restart: str = "Never",
    success: tuple[str, Of] = (MASTER, Of.ALL),
    elastic: tuple[int, int] | None = (1, 4),
    **run_policy: Any,
) -> Cluster:
    """Submitted, nothing done yet."""
    role, of = success
    template = {"spec": {"containers": [{"name": "main", "image": "toy"}]}}
    roles = {
        name: {"replicas": count, "restartPolicy": restart, "template": template}
        for name, count in ((MASTER, 1), (WORKER, workers))
    }
    spec = {
        "toyReplicaSpecs": roles,
        "runPolicy": {"backoffLimit": 2, **run_policy},
        "successRole": role,
        "successOf": of.name,
    }
    if elastic is not None:
        spec["elasticPolicy"] = dict(zip(("minReplicas", "maxReplicas"), elastic, strict=True))
    raw = {
        "apiVersion": "example.org/v1",
        "kind": "ToyJob",
        "metadata": {"name": "toy", "namespace": "ns", "uid": "u-1"},
        "spec": spec,
    }
    return Cluster(raw, kind=toy.TOY_KIND, read=toy.defaulted, specs="toyReplicaSpecs", decides=role)


def tensorflow(roles: Mapping[str, int], annotations: dict[str, str] | None = None, **spec: Any) -> Cluster:
    """A TFJob, submitted, nothing done yet."""
    raw = a_tfjob(roles, **spec)
    raw["metadata"]["annotations"] = annotations or {}
    decides = next((role for role in ("Chief", "Master") if role in roles), WORKER)
    return Cluster(raw, kind=TF_KIND, read=tfjob.defaulted, specs="tfReplicaSpecs", decides=decides)


def pytorch(roles: Mapping[str, int], annotations: dict[str, str] | None = None, **spec: Any) -> Cluster:
    """A PyTorchJob, submitted, nothing done yet."""
    raw = a_pytorchjob(roles, **spec)
    raw["metadata"]["annotations"] = annotations or {}
    decides = MASTER if MASTER in roles else WORKER
    return Cluster(raw, kind=PYTORCH_KIND, read=pytorchjob.defaulted, specs="pytorchReplicaSpecs", decides=decides)


def elastic_training(
    workers: int = 2,
    run_policy: Mapping[str, Any] | None = None,
    bounds: tuple[int, int | None] = (1, 4),
    command: Sequence[str] = ELASTIC,
    worker: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Cluster:
    """A TrainingJob that replaces all workers, submitted, nothing done yet. The kind has no run policy: its fields
    stand for what takes their place, and for what the kind does not have, but the engine does."""
    replicas = {"minReplicas": bounds[0], "maxReplicas": bounds[1], "restartPolicy": "Always", **(worker or {})}
    raw = a_trainingjob(name="train", workers=workers, command=command, worker=replicas, **fields)
    raw["spec"]["runPolicy"] = dict(run_policy or {})
    over_ssh = raw["spec"].get("launcherAttachMode") != "kubexec"
    return Cluster(
        raw,
        kind=ELASTIC_TRAINING_KIND,
        read=_with_run_policy,
        specs="etReplicaSpecs",
        workers_key="worker",
        over_ssh=over_ssh,
        status=TrainingJobStatus(),
    )


def _with_run_policy(raw: Mapping[str, Any]) -> Job[ET]:
    spec = dict(raw["spec"])
    policy: dict[str, Any] = spec.pop("runPolicy", {})
    job = trainingjob.defaulted({**raw, "spec": spec})
    run = replace(
        job.run,
        suspend=policy.get("suspend", job.run.suspend),
        clean_pod_policy=CleanPodPolicy(policy.get("cleanPodPolicy", job.run.clean_pod_policy)),
        retries=Retries(policy.get("backoffLimit", job.run.retries.by_engine)),
        ttl_seconds_after_finished=policy.get("ttlSecondsAfterFinished"),
        active_deadline_seconds=policy.get("activeDeadlineSeconds"),
    )
    return replace(job, run=run)


def running(cluster: Cluster) -> Cluster:
    """Its launcher runs, and has run for a while."""
    cluster.settle()
    cluster.events.clear()
    return cluster


def reasons(cluster: Cluster) -> list[str]:
    return [event.reason for event in cluster.events]
