# SPDX-License-Identifier: Apache-2.0
"""TrainingJob, `kai.alibabacloud.com/v1alpha1`: a launcher that starts ranks on workers, resized by ScaleOut and
ScaleIn.

The spec has the fields of et-operator's. The status has them, too, in its format, and in addition all fields of
`JobStatus` that other kinds have: `state`, `explanation`, `workers`, `progress`, `replicas`, `minReplicas`,
`maxReplicas`, `selector` and `restarts`. The `scale` subresource is new as well.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import field

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.elastic_policy import MOST_WORKERS, ORDERED
from springtide.api.kinds.fields import IMMUTABLE, Int32, Wire, doc, one_of
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import REPLICA_NEEDS, ReplicaSpec, RestartPolicy
from springtide.api.kinds.resource import ELASTIC_COLUMNS, Column, Resource, Scale, Version
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.api.kinds.scalers import GROUP, SCALE_IN, SCALE_OUT, VERSION
from springtide.api.kinds.status import JobStatus

SUSPENDED_ANNOTATION: Final = "job-supervisor.kube-ai.io/job-suspended"
QUEUED_ANNOTATION: Final = "scheduling.x-k8s.io/suspend"
"""The job is suspended while either is "true"; Arena's --queue writes the second."""
MAX_WAIT_TIME_ANNOTATION: Final = "job-supervisor.kube-ai.io/max-wait-time"
"""Seconds that the job may wait until its launcher runs, as a whole number; 0 is no limit."""
LONGEST_WAIT: Final = 2**31 - 1
JOB_STATUS_ANNOTATION: Final = "job-supervisor.kube-ai.io/job-status"
TIMED_OUT: Final = "timeout"
"""Its value for a job that has waited longer than its max-wait-time."""
START_SIZE_ANNOTATION: Final = "springtide.dev/start-size"
START_AT_MINIMUM: Final = "min"
"""Its value for a job that starts with minReplicas when no more workers fit."""
SSH_SECRET_ANNOTATION: Final = "arena.kubeflow.org/ssh-secret"
"""The name of the Secret with SSH keys, instead of the one that the operator makes."""

DEFAULT_BACKOFF_LIMIT: Final = 6

PHASE_CREATED: Final = "Created"
PHASE_RUNNING: Final = "Running"
PHASE_SCALING: Final = "Scaling"
PHASE_SUCCEEDED: Final = "Succeeded"
PHASE_FAILED: Final = "Failed"
PHASE_SUSPENDED: Final = "Suspended"

WORKERS_CREATED: Final = "WorkersCreated"
WORKERS_READY: Final = "WorkersReady"
LAUNCHER_CREATED: Final = "LauncherCreated"
"""Types of conditions that only TrainingJobs have, besides those of scalers."""


class JobRestartPolicy(StrEnum):
    NEVER = "Never"
    ON_FAILURE = "OnFailure"


class LauncherSpec(ReplicaSpec, frozen=True, kw_only=True):
    restart_policy: Annotated[
        str | None,
        doc(
            "Whether a launcher that has disappeared is created again; if it is not given, it is.",
            one_of(RestartPolicy),
        ),
    ] = None


class WorkerSpec(ReplicaSpec, frozen=True, kw_only=True):
    max_replicas: Annotated[
        Int32 | None, doc("The most workers that the job may be resized to; no limit by default.", minimum=1)
    ] = None
    min_replicas: Annotated[
        Int32 | None,
        doc("The fewest workers that the job may be resized to; 1 by default.", minimum=1, maximum=MOST_WORKERS),
    ] = None
    restart_policy: Annotated[
        str | None,
        doc(
            "Which workers are replaced by new ones: none that have ended (Never, the default), those that have failed "
            "(OnFailure), that have failed with an exit code from 129 to 254, as by a signal (ExitCode), or all "
            "(Always).",
            one_of(RestartPolicy),
        ),
    ] = None


class ETReplicaSpecs(Wire, frozen=True, kw_only=True):
    launcher: Annotated[
        LauncherSpec | None,
        doc(
            "The pod that runs horovodrun, mpirun, deepspeed or tiderun.",
            REPLICA_NEEDS,
            properties={"replicas": {"minimum": 1, "maximum": 1}},
        ),
    ] = None
    worker: Annotated[
        WorkerSpec | None,
        doc(
            "The pods that the launcher starts ranks on. Their number is the size of the job.",
            REPLICA_NEEDS | ORDERED,
            properties={"replicas": {"minimum": 1, "maximum": MOST_WORKERS, "default": 1}},
        ),
    ] = None


class TrainingJobSpec(Wire, frozen=True, kw_only=True):
    clean_pod_policy: Annotated[
        str | None,
        doc(
            "Whether workers are deleted when the job has finished: None keeps them, Running (the default) and All "
            "delete them. The launcher is kept.",
            one_of(CleanPodPolicy),
        ),
    ] = None
    et_replica_specs: Annotated[
        ETReplicaSpecs | None,
        doc("The roles of the job: one launcher and its workers.", required=["launcher", "worker"]),
    ] = None
    launcher_attach_mode: Annotated[
        str | None,
        doc(
            "How the launcher reaches its workers: over SSH (ssh, the default) or through the API server (kubexec).",
            one_of(AttachMode) | IMMUTABLE,
            default=AttachMode.SSH.value,
        ),
    ] = None
    slots_per_worker: Annotated[
        Int32 | None,
        doc(
            "The number of ranks (slots) of each worker; by default that of its GPUs (nvidia.com/gpu), or 1.", minimum=1
        ),
    ] = None
    restart_policy: Annotated[
        str | None,
        doc(
            "Whether the whole job is started again when it has failed: Never (the default) or OnFailure.",
            one_of(JobRestartPolicy),
            default=JobRestartPolicy.NEVER.value,
        ),
    ] = None
    backoff_limit: Annotated[
        Int32 | None,
        doc(
            "How often the job is started again with restart policy OnFailure; 6 by default.",
            minimum=0,
            default=DEFAULT_BACKOFF_LIMIT,
        ),
    ] = None


class TrainingJobStatus(JobStatus, frozen=True, kw_only=True):
    """et-operator's definition requires `conditions`, `replicaStatuses` and `restartCount` of every status: each
    write sets all three (0 is written, unlike None)."""

    phase: Annotated[str, doc("Created, Running, Scaling, Succeeded, Failed or Suspended.")] = ""
    conditions: Annotated[
        tuple[Condition, ...],
        doc("The conditions in the order in which they were last set."),
    ] = ()
    current_scaler: Annotated[str, doc("The scaler in progress, as KIND:NAMESPACE/NAME; empty if there is none.")] = ""
    restart_count: Annotated[Int32 | None, doc("How often the whole job was started again.")] = None
    target_workers: Annotated[tuple[str, ...], doc("The worker pods that the job is to have.")] = ()
    current_workers: Annotated[tuple[str, ...], doc("The worker pods that run.")] = ()


class TrainingJob(Wire, frozen=True, kw_only=True):
    api_version: Annotated[str, doc("kai.alibabacloud.com/v1alpha1.")] = ""
    kind: Annotated[str, doc("TrainingJob.")] = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[TrainingJobSpec, doc("The desired state of the job.", required=["etReplicaSpecs"])] = field(
        default_factory=TrainingJobSpec
    )
    status: Annotated[TrainingJobStatus, doc("The observed state of the job; written by the operator.")] = field(
        default_factory=TrainingJobStatus
    )


RESOURCE: Final = Resource(
    group=GROUP,
    kind="TrainingJob",
    plural="trainingjobs",
    type=TrainingJob,
    versions=(Version(VERSION, storage=True),),
    description="An elastic training job: a launcher that starts ranks on workers, whose number scalers change.",
    columns=(Column("Phase", "string", ".status.phase", "The phase of the job"), *ELASTIC_COLUMNS),
    scale=Scale(".spec.etReplicaSpecs.worker.replicas", "spec.etReplicaSpecs.worker.replicas"),
    scalers=(SCALE_OUT, SCALE_IN),
)
