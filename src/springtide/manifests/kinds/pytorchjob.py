# SPDX-License-Identifier: Apache-2.0
"""A PyTorchJob. The first of `--workers` is the master, the others are its workers."""

from __future__ import annotations

from dataclasses import replace

from springtide.manifests.kinds import tensorboard
from springtide.manifests.parts import labels, resources, run_policies, scheduling, volumes
from springtide.manifests.parts.objects import Obj, filled, metadata
from springtide.manifests.parts.pods import Role, template
from springtide.manifests.submissions.submission import PyTorchJob


def objects(job: PyTorchJob) -> list[Obj]:
    master = {labels.CHIEF_POD: _master(job)}
    return [*volumes.config_maps(job), *tensorboard.objects(job, master), _job(job)]


def values(job: PyTorchJob) -> Obj:
    """The chart's values of this type, which counts the workers without the master."""
    return {
        "workers": job.workers - 1,
        "cpu": job.compute.cpu,
        "memory": job.compute.memory,
        **run_policies.values(job),
        **filled(nprocPerNode=job.processes_per_node),
    }


def _job(job: PyTorchJob) -> Obj:
    annotations = labels.job_annotations(job, job.workers * job.gpus)
    role = Role(
        container="pytorch",
        resources=resources.resources(job.compute, job.gpus, job.devices, job.rdma),
        init_compute=job.compute,
        variables=_variables(job),
        labels=scheduling.gang_labels(job, job.workers),
        annotations=annotations,
        node_selector=job.node_selector,
        shared_memory=job.shared_memory,
    )
    master = replace(role, labels={**role.labels, labels.CHIEF_POD: _master(job)})
    specs = {"Master": _replicas(job, master, 1, "OnFailure" if job.retry else "Never")}
    if job.workers > 1:
        specs["Worker"] = _replicas(job, role, job.workers - 1, "OnFailure")
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata(job, job.name, labels.job_labels(job), annotations),
        "spec": {
            "runPolicy": {**run_policies.run_policy(job), "backoffLimit": job.retry},
            **filled(nprocPerNode=job.processes_per_node),
            "pytorchReplicaSpecs": specs,
        },
    }


def _variables(job: PyTorchJob) -> dict[str, str]:
    """Operators write PET_NPROC_PER_NODE themselves, from the job's field; old ones know the variable alone."""
    return filled(MASTER_ADDR=_master(job) if job.rdma else "", PET_NPROC_PER_NODE=job.processes_per_node)


def _master(job: PyTorchJob) -> str:
    return f"{job.name}-master-0"


def _replicas(job: PyTorchJob, role: Role, count: int, restart_policy: str) -> Obj:
    return {"replicas": count, "restartPolicy": restart_policy, "template": template(job, role)}
