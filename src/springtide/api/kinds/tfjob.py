# SPDX-License-Identifier: Apache-2.0
"""TFJob, `kubeflow.org/v1`: replicas of TensorFlow that find each other by TF_CONFIG."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import field

from springtide.api.kinds.fields import Wire, doc, one_of
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import CHIEF, EVALUATOR, MASTER, PS, WORKER, ReplicaSpecs, roles
from springtide.api.kinds.resource import ELASTIC_COLUMNS, Resource, Scale, Version
from springtide.api.kinds.run_policy import RunLimits, RunPolicy
from springtide.api.kinds.status import JobStatus

ROLES: Final = (CHIEF, MASTER, PS, EVALUATOR, WORKER)
"""In order of creation."""
CONTAINER: Final = "tensorflow"
"""The container that trains."""
PORT_NAME: Final = "tfjob-port"
PORT: Final = 2222


class SuccessPolicy(StrEnum):
    DEFAULT = ""
    ALL_WORKERS = "AllWorkers"


class TFJobSpec(RunLimits, frozen=True, kw_only=True):
    run_policy: Annotated[RunPolicy, doc("Retries, deadline, suspension and clean-up of the job.", default={})] = field(
        default_factory=RunPolicy
    )
    tf_replica_specs: Annotated[
        ReplicaSpecs,
        roles(
            "The roles of the job: Chief or Master, PS, Worker and Evaluator. Their names may be written in any case; "
            "kubectl scale needs `Worker`.",
            ROLES,
            0,
            (
                "!self.exists(r, r.lowerAscii() == 'chief') || !self.exists(r, r.lowerAscii() == 'master')",
                "must not have more than 1 Chief or Master role",
            ),
        ),
    ] = field(default_factory=dict)
    success_policy: Annotated[
        str | None,
        doc(
            "Without Chief and Master: whether the job succeeds with worker 0 (empty) or all workers (AllWorkers).",
            one_of(SuccessPolicy),
        ),
    ] = None
    enable_dynamic_worker: Annotated[
        bool | None, doc("Whether workers may come and go while the job trains. Each knows itself and the PS only.")
    ] = None


class TFJob(Wire, frozen=True, kw_only=True):
    api_version: Annotated[str, doc("kubeflow.org/v1.")] = ""
    kind: Annotated[str, doc("TFJob.")] = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[TFJobSpec, doc("The desired state of the job.", required=["tfReplicaSpecs"])] = field(
        default_factory=TFJobSpec
    )
    status: Annotated[JobStatus, doc("The observed state of the job; written by the operator.")] = field(
        default_factory=JobStatus
    )


RESOURCE: Final = Resource(
    group="kubeflow.org",
    kind="TFJob",
    plural="tfjobs",
    type=TFJob,
    versions=(Version("v1", storage=True),),
    description="A TensorFlow job: replicas in up to five roles that find each other by TF_CONFIG.",
    columns=ELASTIC_COLUMNS,
    scale=Scale(".spec.tfReplicaSpecs.Worker.replicas", "spec.tfReplicaSpecs[Worker].replicas"),
)
