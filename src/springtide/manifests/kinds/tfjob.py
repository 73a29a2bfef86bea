# SPDX-License-Identifier: Apache-2.0
"""A TFJob: parameter servers, workers, a chief and an evaluator, each with what is its own.

A single worker without parameter servers is a chief alone, which needs no TF_CONFIG.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from springtide.manifests.kinds import tensorboard
from springtide.manifests.parts import affinity, labels, resources, run_policies, scheduling, volumes
from springtide.manifests.parts.environment_variables import NO_DEVICES, VISIBLE_DEVICES
from springtide.manifests.parts.objects import Obj, filled, metadata
from springtide.manifests.parts.pods import Role, template
from springtide.manifests.submissions.submission import TfJob, TfRole
from springtide.messages import Text, text

PS: Final = "PS"
WORKER: Final = "Worker"
CHIEF: Final = "Chief"
EVALUATOR: Final = "Evaluator"
_PREFIXES: Final = {PS: "ps", WORKER: "worker", CHIEF: "chief", EVALUATOR: "evaluator"}
_ALL_WORKERS: Final = "AllWorkers"
_STANDALONE: Final = {"arena.kubeflow.org/disable-tf-config": "true"}
_SEQUENCE: Final = "job-role-sequence"
_SHORT_ROLES: Final = {role[0].lower(): role for role in (PS, WORKER, CHIEF, EVALUATOR)}
_ROLES: Final = _SHORT_ROLES | {role.lower(): role for role in _SHORT_ROLES.values()}


def objects(job: TfJob) -> list[Obj]:
    """Ports that are 0 are the operator's choice: `role_ports.chosen` finds free ones first."""
    return [*volumes.config_maps(job), *tensorboard.objects(job, _chief(job)), _job(job)]


def values(job: TfJob) -> Obj:
    """The chart's values of this type."""
    counts = replica_counts(job)
    roles = _roles(job)
    found: Obj = {
        "tfNodeSelectors": {name: dict(role.node_selector or job.node_selector) for name, role in roles.items()},
        "successPolicy": _success_policy(job),
        "psGPU": job.ps_gpus,
        **run_policies.values(job),
        **filled(startingDeadlineSeconds=job.starting_timeout),
    }
    for name, role in roles.items():
        found |= _role_values(job, _PREFIXES[name], name, role, counts.get(name, 0))
    return found


def _job(job: TfJob) -> Obj:
    counts = replica_counts(job)
    annotations = _annotations(job, counts)
    gang = scheduling.gang_labels(job, sum(counts.values()))
    specs = {
        name: {
            "replicas": count,
            "restartPolicy": _restart_policy(job, name, counts),
            "template": template(job, replace(_role(job, name, counts), labels=gang, annotations=annotations)),
        }
        for name, count in counts.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": metadata(job, job.name, labels.job_labels(job), annotations),
        "spec": {
            "runPolicy": {**run_policies.run_policy(job), **filled(backoffLimit=job.retry)},
            **filled(successPolicy=_success_policy(job)),
            "tfReplicaSpecs": specs,
        },
    }


def replica_counts(job: TfJob) -> dict[str, int]:
    """Of each role that the job has."""
    alone = _standalone(job)
    counts = {
        PS: job.ps,
        WORKER: 0 if alone else job.workers,
        CHIEF: int(job.chief or alone),
        EVALUATOR: int(job.evaluator),
    }
    return {role: count for role, count in counts.items() if count > 0}


def _success_policy(job: TfJob) -> str:
    """Success of the chief, or else of worker 0, is what no policy means."""
    return _ALL_WORKERS if job.success_policy == _ALL_WORKERS else ""


def _chief(job: TfJob) -> dict[str, str]:
    """Labels that the pod of the chief, or else of the first worker, alone has."""
    pods = {"app": labels.chart_labels(job)["app"], "release": job.name}
    if CHIEF in replica_counts(job):
        return {**pods, "tf-replica-type": "chief"}
    return {**pods, "tf-replica-index": "0", "tf-replica-type": "worker"}


def unknown_roles(sequence: str) -> list[str]:
    """Words of `--role-sequence` that are no roles."""
    return [word for word in _words(sequence) if word.lower() not in _ROLES]


def unheeded(job: TfJob) -> list[Text]:
    """Flags that change nothing, for the user to know at submit."""
    found = []
    if job.starting_timeout:
        found.append(text("--starting-timeout has no effect: TFJobs of today's operators have no such deadline"))
    if job.role_sequence:
        found.append(text("--role-sequence has no effect here: all roles are created at once, and wait for each other"))
    if job.worker_role.spread.policy != affinity.NONE and not job.ps:
        found.append(text("--worker-affinity-policy has no effect without --ps"))
    return found


def _standalone(job: TfJob) -> bool:
    return job.ps < 1 and job.workers == 1


def _annotations(job: TfJob, counts: dict[str, int]) -> dict[str, str]:
    alone = _STANDALONE if _standalone(job) else {}
    roles = ",".join(_ROLES.get(word.lower(), word) for word in _words(job.role_sequence))
    sequence = {_SEQUENCE: roles} if roles else {}
    with_gpus = sum(count for role, count in counts.items() if role != PS)
    return labels.job_annotations(job, with_gpus * job.gpus, {**alone, **sequence})


def _words(sequence: str) -> list[str]:
    return [word.strip() for word in sequence.split(",")] if sequence else []


def _restart_policy(job: TfJob, role: str, counts: dict[str, int]) -> str:
    """A pod that never restarts makes no use of `--retry`."""
    return "OnFailure" if job.retry or (role == WORKER and CHIEF in counts) else "Never"


def _role(job: TfJob, name: str, counts: dict[str, int]) -> Role:
    asked = _roles(job)[name]
    gpus = job.ps_gpus if name == PS else job.gpus
    return Role(
        container="tensorflow",
        image=asked.image or (job.image if name == PS else job.worker_role.image),
        gpus=gpus,
        variables={VISIBLE_DEVICES: NO_DEVICES} if name == PS and not gpus else {},
        resources=resources.resources(asked.compute, gpus, job.devices, job.rdma and name != EVALUATOR),
        init_compute=asked.compute,
        node_selector=asked.node_selector or job.node_selector,
        affinity=_affinity(job, name),
        ports=({"containerPort": asked.port, "name": "tfjob-port"},) if asked.port and name != EVALUATOR else (),
        shared_memory=job.shared_memory,
        writes_logs=name == CHIEF or (name == WORKER and CHIEF not in counts),
    )


def _roles(job: TfJob) -> dict[str, TfRole]:
    return {PS: job.ps_role, WORKER: job.worker_role, CHIEF: job.chief_role, EVALUATOR: job.evaluator_role}


def _role_values(job: TfJob, prefix: str, name: str, role: TfRole, count: int) -> Obj:
    numbers = {"workers" if name == WORKER else prefix: count}
    if name != EVALUATOR:
        numbers[f"{prefix}Port"] = role.port
    compute = {
        f"{prefix}CPU": role.compute.cpu,
        f"{prefix}CPULimit": role.compute.cpu_limit,
        f"{prefix}Memory": role.compute.memory,
        f"{prefix}MemoryLimit": role.compute.memory_limit,
    }
    if name not in (PS, WORKER):
        return numbers | compute
    placed = {
        f"{prefix}Image": role.image or job.image,
        f"{prefix}AffinityPolicy": role.spread.policy,
        f"{prefix}AffinityConstraint": role.spread.constraint,
    }
    return numbers | compute | placed


def _affinity(job: TfJob, name: str) -> Obj:
    """Workers are placed by a policy only beside parameter servers."""
    if name == PS:
        return affinity.affinity(job.name, job.ps_role.spread, "ps", "worker")
    if name == WORKER and job.ps:
        return affinity.affinity(job.name, job.worker_role.spread, "worker", "ps")
    return {}
