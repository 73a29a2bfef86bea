# SPDX-License-Identifier: Apache-2.0
"""`runPolicy`, the same in all of Kubeflow's kinds: deadline, retries, suspension, scheduling and clean-up."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from springtide.api.kinds.fields import IMMUTABLE, Int32, Int64, ResourceList, Wire, doc, one_of

MPI_OPERATOR: Final = "kubeflow.org/mpi-operator"
TRAINING_OPERATOR: Final = "kubeflow.org/training-operator"
"""The managers that this operator replaces."""
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
"""The manager that runs a job on another cluster."""


class CleanPodPolicy(StrEnum):
    NONE = "None"
    RUNNING = "Running"
    ALL = "All"


class SchedulingPolicy(Wire, frozen=True, kw_only=True):
    min_available: Annotated[
        Int32 | None, doc("The number of pods that must be schedulable at once; all of them by default.")
    ] = None
    queue: Annotated[str | None, doc("The queue of the job's PodGroup.", IMMUTABLE)] = None
    min_resources: Annotated[ResourceList | None, doc("Resources that must be free before any pod is scheduled.")] = (
        None
    )
    priority_class: Annotated[str | None, doc("The PriorityClass of the job's PodGroup.")] = None
    schedule_timeout_seconds: Annotated[Int32 | None, doc("Seconds that the PodGroup may wait to be scheduled.")] = None


class RunLimits(Wire, frozen=True, kw_only=True):
    """The fields of `runPolicy` that earlier versions of Kubeflow's kinds had in `spec`, and manifests still have."""

    clean_pod_policy: Annotated[
        str | None,
        doc(
            "Which pods are deleted when the job has finished: None, Running (workers that still run) or All. "
            "None by default.",
            one_of(CleanPodPolicy),
        ),
    ] = None
    ttl_seconds_after_finished: Annotated[
        Int32 | None, doc("Seconds after which a finished job is deleted; it is kept by default.", minimum=0)
    ] = None
    active_deadline_seconds: Annotated[
        Int64 | None, doc("Seconds that the job may run before it fails.", minimum=0)
    ] = None
    backoff_limit: Annotated[
        Int32 | None, doc("The number of times that a failed launcher or replica is created again.", minimum=0)
    ] = None
    scheduling_policy: Annotated[SchedulingPolicy | None, doc("How the job's pods are scheduled as a gang.")] = None


class RunPolicy(RunLimits, frozen=True, kw_only=True):
    suspend: Annotated[bool | None, doc("Whether the job is suspended. A suspended job has no pods.")] = None
    managed_by: Annotated[
        str | None, doc("The controller that runs the job, if it is not this operator.", IMMUTABLE)
    ] = None


def limits(within: RunLimits, beside: RunLimits) -> RunLimits:
    """The fields in `runPolicy`, and those it lacks from the same names in `spec`."""
    names = RunLimits.__struct_fields__
    return RunLimits(**{name: _first(getattr(within, name), getattr(beside, name)) for name in names})


def _first(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value
