# SPDX-License-Identifier: Apache-2.0
"""A deployment's replica sets: their sizes, revisions and template hashes.

The hash in names and labels is our own: kube-controller-manager hashes a printed Go structure that only Go programs can
reproduce. The hash only has to be deterministic for a template, and valid in a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from springtide.api import whole_numbers
from springtide.kube.resources import Obj

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
HASH_LABEL = "pod-template-hash"

_LONGEST_HISTORY = 2000
_SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no look-alikes, so that a hash never spells a word."""


@dataclass(slots=True)
class ReplicaSet:
    """An existing replica set (`obj`), with its planned size and annotations."""

    obj: Obj
    size: int
    annotations: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, obj: Obj) -> ReplicaSet:
        return cls(obj, obj["spec"]["replicas"])

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"].get("uid", ""))

    @property
    def status(self) -> Obj:
        return self.obj.get("status") or {}

    @property
    def replicas(self) -> int:
        return int(self.status.get("replicas", 0))

    @property
    def available(self) -> int:
        return int(self.status.get("availableReplicas", 0))

    @property
    def idle(self) -> bool:
        """No pods exist and none are wanted, by an up-to-date status."""
        generation = self.obj["metadata"].get("generation", 0)
        return not self.replicas and not self.size and generation <= self.status.get("observedGeneration", 0)

    def age(self) -> tuple[str, str]:
        """Sorts older before newer."""
        return self.obj["metadata"].get("creationTimestamp", ""), self.name

    def annotation(self, name: str) -> str:
        return str((self.obj["metadata"].get("annotations") or {}).get(name, ""))

    def annotate(self, wanted: Mapping[str, str]) -> None:
        self.annotations |= {name: value for name, value in wanted.items() if self.annotation(name) != value}


def total(sets: Iterable[ReplicaSet]) -> int:
    return sum(known.size for known in sets)


def revision_of(obj: Obj) -> int:
    return _number((obj["metadata"].get("annotations") or {}).get(REVISION)) or 0


def desired_replicas(obj: Obj) -> int | None:
    return _number((obj["metadata"].get("annotations") or {}).get(DESIRED_REPLICAS))


def max_replicas(obj: Obj) -> int | None:
    return _number((obj["metadata"].get("annotations") or {}).get(MAX_REPLICAS))


def _number(text: str | None) -> int | None:
    return whole_numbers.parse(text) if text is not None and text.isdecimal() else None


def with_revision(present: Mapping[str, str], wanted: int) -> dict[str, str]:
    """The annotations that make a replica set the newest; its previous revision is added to its history."""
    before = present.get(REVISION)
    number = 0 if not before else _number(before)
    if number is None or number >= wanted:
        return {}
    changed = {REVISION: str(wanted)}
    if before is None:
        return changed
    history = [past for past in present.get(REVISION_HISTORY, "").split(",") if past]
    history.append(before)
    while len(",".join(history)) > _LONGEST_HISTORY:
        history.pop(0)
    return changed | {REVISION_HISTORY: ",".join(history)}


def same_template(one: Obj, other: Obj) -> bool:
    """Equal except for the hash label in a replica set's template."""
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: Obj) -> Obj:
    metadata = template.get("metadata") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != HASH_LABEL}
    parts = {**metadata, "labels": labels}
    return {**template, "metadata": {name: value for name, value in parts.items() if value}}


def template_hash(template: Obj, collisions: int | None) -> str:
    """A short name for a template, different after each collision."""
    data = msgspec.json.encode(_without_hash(template), order="deterministic")
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    return "".join(_SAFE_LETTERS[ord(letter) % len(_SAFE_LETTERS)] for letter in str(_fnv32a(data)))


def _fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value
