# SPDX-License-Identifier: Apache-2.0
"""The MPIJob of `submit mpijob`.

Arena writes `kubeflow.org/v1alpha1`, one template for launcher and workers, which no operator serves any more. This is
the same job in `kubeflow.org/v1`: the launcher runs the command without GPUs, the workers have the resources.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from springtide.manifests.kinds import tensorboard
from springtide.manifests.parts import volumes
from springtide.manifests.parts.labels import CHIEF_POD, job_annotations, job_labels
from springtide.manifests.parts.objects import Obj, filled, metadata
from springtide.manifests.parts.pods import Role, template
from springtide.manifests.parts.resources import GPU, TOPOLOGY_GPU, resources
from springtide.manifests.parts.scheduling import gang_labels
from springtide.manifests.submissions.submission import DEFAULT_SHARED_MEMORY, MpiJob

_TOPOLOGY: Final = "gpu-topology"


def objects(submission: MpiJob) -> list[Obj]:
    first_worker = {
        "mpi_job_name": submission.name,
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
    }
    return [*volumes.config_maps(submission), *tensorboard.objects(submission, first_worker), _job(submission)]


def values(submission: MpiJob) -> Obj:
    """The chart's values of this type."""
    return {
        "cpu": submission.compute.cpu,
        "memory": submission.compute.memory,
        "gputopology": submission.gpu_topology,
        "gputopologyreplica": str(submission.workers) if submission.gpu_topology else "",
        "mountsOnLauncher": submission.mounts_on_launcher,
        "cleanPodPolicy": submission.clean_policy,
    }


def _job(submission: MpiJob) -> Obj:
    annotations = _annotations(submission)
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": metadata(submission, submission.name, job_labels(submission), annotations),
        "spec": {
            # A hostfile without slots starts no rank; without GPUs a worker runs one.
            "slotsPerWorker": submission.gpus or 1,
            "runPolicy": {
                "cleanPodPolicy": submission.clean_policy,
                "backoffLimit": submission.retry,
                **filled(suspend=submission.queue),
            },
            "mpiReplicaSpecs": {"Launcher": _launcher_spec(submission), "Worker": _worker_spec(submission)},
        },
    }


def _launcher_spec(submission: MpiJob) -> Obj:
    role = replace(
        _role(submission),
        labels={CHIEF_POD: f"{submission.name}-launcher"},
        mounts_claims=submission.mounts_on_launcher,
    )
    return _replica_spec(submission, role, 1)


def _worker_spec(submission: MpiJob) -> Obj:
    compute, gpus, topology = submission.compute, submission.gpus, submission.gpu_topology
    gpu = TOPOLOGY_GPU if topology else GPU
    together = {_TOPOLOGY: submission.name, f"{_TOPOLOGY}-replica": str(submission.workers)} if topology else {}
    role = replace(
        _role(submission),
        runs_command=False,
        resources=resources(compute, gpus, submission.devices, submission.rdma, gpu),
        labels={**gang_labels(submission, submission.workers), **together},
    )
    return _replica_spec(submission, role, submission.workers)


def _role(submission: MpiJob) -> Role:
    """What launcher and workers have in common."""
    return Role(
        container="mpi",
        init_compute=submission.compute,
        annotations=_annotations(submission),
        node_selector=submission.node_selector,
        host_network=submission.gpu_topology,
        shared_memory="" if submission.gpu_topology else DEFAULT_SHARED_MEMORY,
    )


def _replica_spec(submission: MpiJob, role: Role, replicas: int) -> Obj:
    return {"replicas": replicas, "restartPolicy": "Never", "template": template(submission, role)}


def _annotations(submission: MpiJob) -> dict[str, str]:
    return job_annotations(submission, submission.workers * submission.gpus)
