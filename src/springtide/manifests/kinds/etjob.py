# SPDX-License-Identifier: Apache-2.0
"""The TrainingJob of `submit etjob` and `submit deepspeedjob`, and the Secret with its SSH keys."""

from __future__ import annotations

import base64
from typing import Final, NamedTuple

from springtide.manifests.kinds import tensorboard
from springtide.manifests.parts import volumes
from springtide.manifests.parts.labels import CHIEF_POD, job_annotations, job_labels
from springtide.manifests.parts.objects import Obj, filled, metadata
from springtide.manifests.parts.pods import Role, template
from springtide.manifests.parts.resources import resources
from springtide.manifests.parts.scheduling import gang_labels
from springtide.manifests.submissions.submission import DEFAULT_SHARED_MEMORY, EtJob, LauncherJob

SPOT_INSTANCE: Final = "job-supervisor.kube-ai.io/spot-instance"
MAX_WAIT_TIME: Final = "job-supervisor.kube-ai.io/max-wait-time"
SSH_SECRET: Final = "arena.kubeflow.org/ssh-secret"
_SSH_CONFIG: Final = b"StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
_NCCL_ERRORS: Final = "NCCL_ASYNC_ERROR_HANDLING"


def objects(submission: LauncherJob) -> list[Obj]:
    chief = {CHIEF_POD: _launcher(submission)}
    beside = [*volumes.config_maps(submission), *tensorboard.objects(submission, chief)]
    return [*_secrets(submission), *beside, _job(submission)]


def values(submission: LauncherJob) -> Obj:
    """The chart's values of these types. The keys stay in the Secret."""
    return {
        "cpu": submission.compute.cpu,
        "memory": submission.compute.memory,
        "launcherSelectors": dict(submission.launcher_selector),
        "jobRestartPolicy": submission.job_restart_policy,
        "jobBackoffLimit": submission.job_backoff_limit,
        "sshSecret": submission.ssh_secret,
        "launcherAnnotations": dict(submission.launcher_annotations),
        "workerAnnotations": dict(submission.worker_annotations),
        **_of_type(submission).values,
    }


class _OfType(NamedTuple):
    """What the two types do not have in common."""

    variables: dict[str, str]
    annotations: dict[str, str]
    worker: Obj
    """Fields of the worker's replica spec."""
    values: Obj


def _of_type(submission: LauncherJob) -> _OfType:
    if isinstance(submission, EtJob):
        return _of_etjob(submission)
    # Without it NCCL waits for ever for a rank that has ended.
    return _OfType({_NCCL_ERRORS: submission.variables.get(_NCCL_ERRORS, "1")}, {}, {}, {})


def _of_etjob(submission: EtJob) -> _OfType:
    least, most = submission.min_workers, submission.max_workers
    restarts, waits = submission.worker_restart_policy, submission.max_wait_time
    spot = {SPOT_INSTANCE: "true"} if submission.spot_instance else {}
    waiting = {MAX_WAIT_TIME: str(waits)} if waits > 0 else {}
    return _OfType(
        {"maxWorkers": str(most), "minWorkers": str(least)},
        spot | waiting,
        {**filled(restartPolicy=restarts), "maxReplicas": most, "minReplicas": least},
        {
            "maxWorkers": most,
            "minWorkers": least,
            "enableSpotInstance": submission.spot_instance,
            "maxWaitTime": waits,
            "workerRestartPolicy": restarts,
        },
    )


def _secrets(submission: LauncherJob) -> list[Obj]:
    keys = submission.ssh_keys
    if submission.ssh_secret or keys is None:
        return []
    files = {"config": _SSH_CONFIG, "id_rsa": keys.private, "id_rsa.pub": keys.public}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(submission, submission.name, {}),
        "type": "Opaque",
        "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
    }
    return [secret]


def _job(submission: LauncherJob) -> Obj:
    return {
        "apiVersion": "kai.alibabacloud.com/v1alpha1",
        "kind": "TrainingJob",
        "metadata": metadata(submission, submission.name, job_labels(submission), _annotations(submission)),
        "spec": {
            **_retries(submission),
            "cleanPodPolicy": "Running",
            "etReplicaSpecs": {"launcher": _launcher_spec(submission), "worker": _worker_spec(submission)},
        },
    }


def _retries(submission: LauncherJob) -> Obj:
    """`--retry` starts the job again, which the job does only with a restart policy that says so."""
    if submission.retry:
        return {"backoffLimit": submission.retry, "restartPolicy": submission.job_restart_policy or "OnFailure"}
    return {"backoffLimit": submission.job_backoff_limit, **filled(restartPolicy=submission.job_restart_policy)}


def _launcher_spec(submission: LauncherJob) -> Obj:
    role = Role(
        container="et",
        resources=resources(submission.compute, rdma=submission.rdma),
        init_compute=submission.compute,
        variables=_of_type(submission).variables,
        labels={CHIEF_POD: _launcher(submission)},
        annotations={**_annotations(submission), **submission.launcher_annotations},
        node_selector=submission.launcher_selector,
        shared_memory=DEFAULT_SHARED_MEMORY,
    )
    return {"replicas": 1, "template": template(submission, role)}


def _worker_spec(submission: LauncherJob) -> Obj:
    role = Role(
        container="et",
        runs_command=False,
        resources=resources(submission.compute, submission.gpus, submission.devices, submission.rdma),
        init_compute=submission.compute,
        variables=_of_type(submission).variables,
        labels=gang_labels(submission, submission.workers),
        annotations={**_annotations(submission), **submission.worker_annotations},
        node_selector=submission.node_selector,
        shared_memory=DEFAULT_SHARED_MEMORY,
    )
    return {"replicas": submission.workers, **_of_type(submission).worker, "template": template(submission, role)}


def _launcher(submission: LauncherJob) -> str:
    return f"{submission.name}-launcher"


def _annotations(submission: LauncherJob) -> dict[str, str]:
    own = {**_of_type(submission).annotations, **filled(**{SSH_SECRET: submission.ssh_secret})}
    return job_annotations(submission, submission.workers * submission.gpus, own)
