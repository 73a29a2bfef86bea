# SPDX-License-Identifier: Apache-2.0
"""What is known of a job: the status all kinds share.

The first half is upstream's and its clients compare it exactly, `replicaStatuses` above all. The second half is ours:
what `kubectl get` prints, what the scale subresource answers with, and what must outlive a restart of the operator.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import field

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.fields import ANYTHING, Int32, Wire, doc


class ReplicaStatus(Wire, frozen=True, kw_only=True):
    active: Annotated[Int32, doc("Pods that run.")] = 0
    succeeded: Annotated[Int32, doc("Pods that have succeeded.")] = 0
    failed: Annotated[Int32, doc("Pods that have failed.")] = 0
    label_selector: Annotated[dict[str, Any] | None, doc("Deprecated and always empty.", ANYTHING)] = None
    selector: Annotated[str, doc("Always empty for kinds whose clients expect it so.")] = ""


class JobStatus(Wire, frozen=True, kw_only=True):
    conditions: Annotated[
        tuple[Condition, ...],
        doc(
            "What has been found true of the job.",
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    replica_statuses: Annotated[dict[str, ReplicaStatus], doc("Pods of each role, by how they are.")] = field(
        default_factory=dict
    )
    start_time: Annotated[datetime | None, doc("When the job was taken up, or resumed.")] = None
    completion_time: Annotated[datetime | None, doc("When the job succeeded or failed.")] = None
    last_reconcile_time: Annotated[datetime | None, doc("Always empty.")] = None

    state: Annotated[str, doc("The state of the job in one word.")] = ""
    explanation: Annotated[str, doc("The state of the job in one sentence.")] = ""
    workers: Annotated[str, doc("Workers that are ready, of those that are wanted: 3/4.")] = ""
    replicas: Annotated[Int32, doc("Workers that there are.")] = 0
    min_replicas: Annotated[Int32 | None, doc("The fewest workers the job goes on with.")] = None
    max_replicas: Annotated[Int32 | None, doc("The most workers the job makes use of.")] = None
    selector: Annotated[str, doc("The labels of the workers, for autoscalers.")] = ""
    restarts: Annotated[dict[str, Int32], doc("How often pods of each role were replaced after a failure.")] = field(
        default_factory=dict
    )
