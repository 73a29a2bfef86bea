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
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    label_selector: Annotated[dict[str, Any] | None, doc("Deprecated and always empty.", ANYTHING)] = None
    selector: Annotated[str, doc("Always empty for kinds whose clients expect it so.")] = ""


class JobStatus(Wire, frozen=True, kw_only=True):
    conditions: Annotated[
        tuple[Condition, ...],
        doc(schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ] = ()
    replica_statuses: dict[str, ReplicaStatus] = field(default_factory=dict)
    start_time: datetime | None = None
    completion_time: datetime | None = None
    last_reconcile_time: datetime | None = None

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
