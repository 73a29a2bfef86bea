# SPDX-License-Identifier: Apache-2.0
"""ScaleOut and ScaleIn, `kai.alibabacloud.com/v1alpha1`: one change of the size of a TrainingJob, with a deadline.

Their status has all fields of et-operator's, in its format, and these in addition: `startSize` and `targetSize`, the
numbers of workers before and after, `scriptFailures`, and `toDeletePods` also in a ScaleOut's (always empty there), as
`addPods` in a ScaleIn's.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from msgspec import field

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.fields import Int32, Wire, doc, rules
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.resource import Column, Resource, Version
from springtide.api.kinds.status import ReplicaStatus
from springtide.api.names import PATH_LENGTH

GROUP: Final = "kai.alibabacloud.com"
VERSION: Final = "v1alpha1"

CREATED: Final = "Created"
SCALING: Final = "Scaling"
SCRIPT_EXECUTED: Final = "ScriptExecuted"
SCALE_SUCCEEDED: Final = "ScaleSucceeded"
SCALE_FAILED: Final = "ScaleFailed"
"""The types of conditions of scalers. All but ScriptExecuted are phases, too."""
ENDED: Final = (SCALE_SUCCEEDED, SCALE_FAILED)

STARTED: Final = (SCALING, *ENDED)
"""The phases of a scaler whose spec is immutable."""

DEFAULT_TIMEOUT: Final = 60
"""Seconds."""
UID_VARIABLE: Final = "SPRINGTIDE_SCALER_UID"
"""The variable with the scaler's uid in the environment of its script, which may run a second time: by the uid it
recognizes work that it has done before."""
MOST_ENV_BYTES: Final = 64 * 1024
"""The limit of names and values of all variables together: they are part of the address of one request."""


class Selector(Wire, frozen=True, kw_only=True):
    name: Annotated[str, doc("The name of the TrainingJob, which is in the same namespace.", minLength=1)] = ""


class ToAdd(Wire, frozen=True, kw_only=True):
    count: Annotated[Int32 | None, doc("The number of workers to add.", minimum=1, maximum=MOST_WORKERS)] = None


class ToDelete(Wire, frozen=True, kw_only=True):
    count: Annotated[
        Int32 | None,
        doc("The number of workers to remove; podNames takes precedence.", minimum=0, maximum=MOST_WORKERS),
    ] = None
    pod_names: Annotated[
        tuple[Annotated[str, doc(minLength=1, maxLength=253)], ...],
        doc("The names of the worker pods to remove.", {"x-kubernetes-list-type": "set"}, maxItems=MOST_WORKERS),
    ] = ()


class EnvVar(Wire, frozen=True, kw_only=True):
    name: Annotated[str, doc("The name of the variable.", pattern="^[A-Za-z_][A-Za-z0-9_]*$")] = ""
    value: Annotated[str, doc("Its value.")] = ""


class ScalerSpec(Wire, frozen=True, kw_only=True):
    """What both kinds have."""

    selector: Annotated[Selector, doc("The TrainingJob to resize.", required=["name"])] = field(
        default_factory=Selector
    )
    script: Annotated[
        str,
        doc(
            "The path of a script in the launcher that is run with the pods as its argument; none by default.",
            maxLength=PATH_LENGTH,
        ),
    ] = ""
    timeout: Annotated[
        Int32,
        doc("Seconds that the change may take from its turn on; 60 by default.", minimum=0, default=DEFAULT_TIMEOUT),
    ] = DEFAULT_TIMEOUT
    env: Annotated[tuple[EnvVar, ...], doc("Environment variables of the script.", items={"required": ["name"]})] = ()
    backoff_limit: Annotated[
        Int32, doc("How often a failed script is run again; 0 by default.", minimum=0, default=0)
    ] = 0


class ScaleOutSpec(ScalerSpec, frozen=True, kw_only=True):
    to_add: Annotated[ToAdd, doc("The workers to add.", required=["count"])] = field(default_factory=ToAdd)


_NAMED: Final = rules(
    (
        "(has(self.podNames) && size(self.podNames) > 0) || (has(self.count) && self.count > 0)",
        "must have count, the number of workers to remove, or podNames, their names",
    )
)


class ScaleInSpec(ScalerSpec, frozen=True, kw_only=True):
    to_delete: Annotated[ToDelete, doc("The workers to remove: a number of them, or their names.", _NAMED)] = field(
        default_factory=ToDelete
    )


class ScalerStatus(Wire, frozen=True, kw_only=True):
    """et-operator's definitions require `conditions`, `replicaStatuses` and `restartCount` of every status: each
    write sets all three (`{}` and 0 are written, unlike None)."""

    phase: Annotated[str, doc("Created, Scaling, ScaleSucceeded or ScaleFailed.")] = ""
    conditions: Annotated[
        tuple[Condition, ...], doc("The conditions in the order in which they were last set: the last one is shown.")
    ] = ()
    replica_statuses: Annotated[dict[str, ReplicaStatus] | None, doc("Always empty.")] = None
    start_time: Annotated[datetime | None, doc("When the scaler's turn came.")] = None
    completion_time: Annotated[datetime | None, doc("When the scaler succeeded or failed.")] = None
    last_reconcile_time: Annotated[datetime | None, doc("Always empty.")] = None
    current_scaler: Annotated[str, doc("Always empty.")] = ""
    restart_count: Annotated[Int32 | None, doc("Always 0.")] = None
    add_pods: Annotated[tuple[str, ...], doc("The worker pods that a ScaleOut adds.")] = ()
    to_delete_pods: Annotated[tuple[str, ...], doc("The worker pods that a ScaleIn removes.")] = ()
    start_size: Annotated[Int32 | None, doc("The number of workers when the scaler's turn came.")] = None
    target_size: Annotated[Int32 | None, doc("The number of workers that the job is to have after it.")] = None
    script_failures: Annotated[Int32, doc("How often the script has failed.")] = 0


class ScaleOut(Wire, frozen=True, kw_only=True):
    api_version: Annotated[str, doc("kai.alibabacloud.com/v1alpha1.")] = ""
    kind: Annotated[str, doc("ScaleOut.")] = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[ScaleOutSpec, doc("The change of size.", required=["selector", "toAdd"])] = field(
        default_factory=ScaleOutSpec
    )
    status: Annotated[ScalerStatus, doc("How far the change has come; written by the operator.")] = field(
        default_factory=ScalerStatus
    )


class ScaleIn(Wire, frozen=True, kw_only=True):
    api_version: Annotated[str, doc("kai.alibabacloud.com/v1alpha1.")] = ""
    kind: Annotated[str, doc("ScaleIn.")] = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[ScaleInSpec, doc("The change of size.", required=["selector", "toDelete"])] = field(
        default_factory=ScaleInSpec
    )
    status: Annotated[ScalerStatus, doc("How far the change has come; written by the operator.")] = field(
        default_factory=ScalerStatus
    )


_COLUMNS: Final = (
    Column("Phase", "string", ".status.conditions[-1:].type", "The condition that was set last"),
    Column("Age", "date", ".metadata.creationTimestamp"),
    Column("Job", "string", ".spec.selector.name", "The TrainingJob that is resized", wide=True),
    Column("From", "integer", ".status.startSize", "The number of workers before", wide=True),
    Column("To", "integer", ".status.targetSize", "The number of workers after", wide=True),
)

_BEFORE: Final = "has(oldSelf.status) && has(oldSelf.status.phase) ? oldSelf.status.phase : ''"
_RULES: Final = rules(
    (
        f"!(({_BEFORE}) in [{', '.join(repr(phase) for phase in STARTED)}]) || self.spec == oldSelf.spec",
        "is immutable once the scaler's turn has come; create another one, or delete this one to cancel it",
        ".spec",
        "FieldValueForbidden",
    )
)

SCALE_OUT: Final = Resource(
    group=GROUP,
    kind="ScaleOut",
    plural="scaleouts",
    type=ScaleOut,
    versions=(Version(VERSION, storage=True),),
    description="Adds workers to a TrainingJob: all of them within the timeout, or none.",
    columns=_COLUMNS,
    rules=_RULES,
)
SCALE_IN: Final = Resource(
    group=GROUP,
    kind="ScaleIn",
    plural="scaleins",
    type=ScaleIn,
    versions=(Version(VERSION, storage=True),),
    description="Removes workers from a TrainingJob.",
    columns=_COLUMNS,
    rules=_RULES,
)
