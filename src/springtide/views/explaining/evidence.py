# SPDX-License-Identifier: Apache-2.0
"""What an explanation is made from, and what it consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from springtide.messages import Text
from springtide.views.states import state_of

Obj: TypeAlias = Mapping[str, Any]


class Fact(NamedTuple):
    """Which object's which field says what."""

    object: str
    field: str
    said: Text | str


class Operator(NamedTuple):
    """The operator, as far as its lease or its pod shows it."""

    alive: bool
    fact: Fact


@dataclass(frozen=True, slots=True)
class Evidence:
    """A job and the objects around it, as the API server returns them. Those that were not read, because they explain
    nothing here or because the user may not read them, are missing."""

    job: Obj
    """With `kind`."""
    now: datetime
    pods: Sequence[Obj] = ()
    """The job's own."""
    events: Sequence[Obj] = ()
    """Of the job, its pods and its claims."""
    nodes: Sequence[Obj] | None = None
    """None if unknown."""
    neighbours: Sequence[Obj] | None = None
    """The pods of the whole cluster; None if unknown."""
    claims: Mapping[str, Obj | None] | None = None
    """PersistentVolumeClaims by name, None for one that does not exist; None if unknown."""
    storage_classes: Sequence[Obj] | None = None
    operator: Operator | None = None
    """None if unknown."""
    logs: Mapping[str, str] | None = None
    """The last lines that a container of a pod printed before it ended, by the pod's name."""
    embedded: bool = False
    """The cluster is an embedded one: `tide node` and `tide env` act on it."""

    @property
    def kind(self) -> str:
        return str(self.job["kind"])

    @property
    def state(self) -> str:
        """One of the ten words."""
        return state_of(self.job)

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"].get("namespace") or "default")

    @property
    def spec(self) -> Obj:
        return self.job.get("spec") or {}

    @property
    def status(self) -> Obj:
        return self.job.get("status") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.job["metadata"].get("annotations") or {}

    @property
    def run_policy(self) -> Obj:
        """`runPolicy`, where the kind has one, with the same fields of `spec`."""
        return {**self.spec, **(self.spec.get("runPolicy") or {})}

    @property
    def title(self) -> str:
        """`mpijob/bert`, as kubectl and Fact.object have it."""
        return f"{self.kind.lower()}/{self.name}"

    def condition(self, type_: str) -> Obj | None:
        """The condition of this type that holds."""
        found = (each for each in self.status.get("conditions") or () if each.get("type") == type_)
        return next((each for each in found if each.get("status") == "True"), None)


class Explanation(NamedTuple):
    cause: str
    """In one word, for programs."""
    sentence: Text
    evidence: tuple[Fact, ...]
    command: str
    """The next command to type."""
    also: tuple[Text, ...] = ()
    """What else holds the job up, or will."""


class Cause(NamedTuple):
    """A part of an explanation: why the job is no further, without the job's name and state."""

    word: str
    why: Text
    """A clause."""
    evidence: tuple[Fact, ...]
    command: str
