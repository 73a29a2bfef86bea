# SPDX-License-Identifier: Apache-2.0
"""The actions of a plan.

Actions are performed in order. The first failure stops the execution; the next plan starts from what is observed then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from springtide.api.kinds.scalers import ScalerStatus
from springtide.api.kinds.status import JobStatus
from springtide.jobs.observed import Key
from springtide.jobs.scaling.scaler import Scaler


class Secrets(StrEnum):
    """Values that a pure plan cannot hold; they are added when the object is created."""

    SSH_KEYS = "ssh-keys"


@dataclass(frozen=True, slots=True)
class Create:
    """Names are deterministic: if the object already exists and belongs to the job, that is not an error."""

    manifest: Mapping[str, Any]
    secrets: Secrets | None = None
    must_be_new: bool = False
    """An existing object means that the plan was made from a stale view; the action is then rejected."""
    shared: tuple[str, ...] = ()
    """An existing object that belongs to others is used as it is, if its data has these keys."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch. With a resource version the API server rejects it if the plan was made from a stale view; with a
    uid if the object has been replaced by another of the same name."""

    key: Key
    body: Mapping[str, Any]
    resource_version: str | None = None
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes only the object with this uid; its dependents are deleted in the background."""

    key: Key
    uid: str
    grace: int | None = None
    """Seconds; None: the object's own grace period. 0 for a pod on an unresponsive node, where no kubelet would confirm
    the deletion."""


@dataclass(frozen=True, slots=True)
class Event:
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StatusPatch:
    status: JobStatus


@dataclass(frozen=True, slots=True)
class Inquire:
    """Look up the newest Warning event of an object whose status does not explain why it waits. The answer is part of
    the next observation."""

    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    delay: timedelta


@dataclass(frozen=True, slots=True)
class ScalerStatusPatch:
    """The status of a scaler. Rejected if the scaler has changed since it was observed: `scaler.resource_version` is
    the precondition. These are the first actions of a plan, and the others act on the new statuses: after a rejection
    nothing of the plan is executed."""

    scaler: Scaler
    """As it was observed."""
    status: ScalerStatus


@dataclass(frozen=True, slots=True)
class ScalerEvent:
    """An event of a scaler."""

    scaler: Scaler
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class BindScaler:
    """Makes the job the scaler's controller. It follows a write of the scaler's status in the same plan, so the uid is
    its only precondition. Other owner references are kept."""

    scaler: Scaler


@dataclass(frozen=True, slots=True)
class RunScript:
    """Starts a scaler's script in the launcher, in the background: the action is done when the script has been started.
    The result is part of a later observation, in `Observed.scripts`, and causes a plan. If a run of this attempt is
    known, whether it has ended or not, nothing is done."""

    scaler: str
    """Its uid."""
    attempt: int
    """The number of failures before this run: tells its result from that of an earlier run."""
    pod: str
    uid: str
    """Of the pod."""
    container: str
    argv: tuple[str, ...]
    """Executed as it is, without a shell."""
    timeout: timedelta
    """The script is terminated in its container after this time; a run that has not ended some seconds later counts as
    failed."""


Action: TypeAlias = (
    Create
    | Patch
    | Delete
    | Event
    | StatusPatch
    | Inquire
    | RequeueAfter
    | ScalerStatusPatch
    | ScalerEvent
    | BindScaler
    | RunScript
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision and its reason: recorded as an event and as a line of the job's decision log."""

    at: datetime
    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    actions: tuple[Action, ...]
    status: JobStatus
    decisions: tuple[Decision, ...] = ()
