# SPDX-License-Identifier: Apache-2.0
"""What a plan is made of. Actions are done in their order, and the first that fails ends the doing: the next plan
starts from what is then observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

from springtide.api.kinds.status import JobStatus
from springtide.jobs.observed import Key


class Secrets(StrEnum):
    """What cannot come from a pure plan and is put into an object as it is created."""

    SSH_KEYS = "ssh-keys"


@dataclass(frozen=True, slots=True)
class Create:
    """Names are deterministic: that it exists already is no failure when it is the job's own."""

    manifest: Mapping[str, Any]
    secrets: Secrets | None = None
    must_be_new: bool = False
    """Unless it does exist: then the plan was made from a stale view, and is refused here."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch. With a resource version it is refused when the plan was made from a stale view, with a uid when
    another object has taken the place of the one that was seen."""

    key: Key
    body: Mapping[str, Any]
    resource_version: str | None = None
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Only the very object that was seen; what is owned by it goes in the background."""

    key: Key
    uid: str
    grace: int | None = None
    """Seconds; None is the object's own. A pod whose node is silent gets none: nobody would confirm its end."""


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
    """Look up the newest Warning event about an object whose status does not say what it waits for. The answer is in
    what is observed next."""

    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    delay: timedelta


Action: TypeAlias = Create | Patch | Delete | Event | StatusPatch | Inquire | RequeueAfter


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that was decided, and why: an event, and a line of the job's own log."""

    at: datetime
    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    actions: tuple[Action, ...]
    status: JobStatus
    decisions: tuple[Decision, ...] = ()
