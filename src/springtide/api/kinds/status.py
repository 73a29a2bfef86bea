# SPDX-License-Identifier: Apache-2.0
"""The status of a job, the same for all kinds.

The first half has upstream's fields, which clients compare exactly, above all `replicaStatuses`. The second half is
ours: the columns of `kubectl get`, the fields of the scale subresource, and what must survive a restart of the
operator.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import field

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.fields import ANYTHING, Int32, Int64, Wire, doc


class ReplicaStatus(Wire, frozen=True, kw_only=True):
    active: Annotated[Int32, doc("The number of pods that run.")] = 0
    succeeded: Annotated[Int32, doc("The number of pods that have succeeded.")] = 0
    failed: Annotated[Int32, doc("The number of pods that have failed.")] = 0
    label_selector: Annotated[dict[str, Any] | None, doc("Deprecated and always empty.", ANYTHING)] = None
    selector: Annotated[str, doc("Always empty; status.selector selects the workers.")] = ""


class TrainingProgress(Wire, frozen=True, kw_only=True):
    step: Annotated[Int64 | None, doc("The step that training has reached, as the program reports it.")] = None
    loss: Annotated[str, doc("The loss at that step, as the program reports it.")] = ""
    ranks: Annotated[Int32 | None, doc("The number of ranks that train together.")] = None
    last_change: Annotated[Int64 | None, doc("Number of the last membership change that was recorded as an event.")] = (
        None
    )
    launcher: Annotated[str, doc("The uid of the launcher pod that reported it.")] = ""
    update_time: Annotated[datetime | None, doc("When the operator last wrote it.")] = None


class Placement(Wire, frozen=True, kw_only=True):
    node: Annotated[
        str, doc("The node of the pod that leads: the launcher, the master or chief, or else worker 0.")
    ] = ""
    host_ip: Annotated[str, doc("The address of that node.")] = field(default="", name="hostIP")
    gpus: Annotated[Int32, doc("The number of GPUs (nvidia.com/gpu) that pods of the job take up on nodes.")] = 0


class JobStatus(Wire, frozen=True, kw_only=True):
    conditions: Annotated[
        tuple[Condition, ...],
        doc(
            "The conditions of the job: Created, Running, Succeeded, Failed, and others that need attention.",
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    replica_statuses: Annotated[dict[str, ReplicaStatus], doc("The number of pods of each role, by phase.")] = field(
        default_factory=dict
    )
    start_time: Annotated[datetime | None, doc("When the operator started the job, or resumed it.")] = None
    completion_time: Annotated[datetime | None, doc("When the job succeeded or failed.")] = None
    last_reconcile_time: Annotated[datetime | None, doc("Always empty.")] = None

    state: Annotated[str, doc("The state of the job in one word.")] = ""
    explanation: Annotated[str, doc("The state in a sentence: what the job waits for, why, and the next step.")] = ""
    workers: Annotated[
        str, doc("The number of workers that train, of those that are wanted, as in 3/4; 0 when the job has finished.")
    ] = ""
    progress: Annotated[
        TrainingProgress | None,
        doc("How far training has come, where the launcher reports it; written every 10 seconds at most."),
    ] = None
    placement: Annotated[
        Placement | None, doc("Where the job runs; for a job that has finished, where its leading pod ran.")
    ] = None
    replicas: Annotated[Int32, doc("The number of worker pods that exist.")] = 0
    min_replicas: Annotated[Int32 | None, doc("The fewest workers that the job trains with.")] = None
    max_replicas: Annotated[Int32 | None, doc("The most workers that the job may be resized to.")] = None
    selector: Annotated[str, doc("The label selector of the workers, for autoscalers.")] = ""
    restarts: Annotated[dict[str, Int32], doc("How often pods of each role were replaced after a failure.")] = field(
        default_factory=dict
    )
